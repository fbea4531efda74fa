/* SPDX-License-Identifier: MIT */
/* python.c - functions of Python, math, numpy and Warp that are called on constants outside of
 * kernels: `STEPS = round(1.0 / DT)`. The result is Python's. A function that is not known here
 * gives UNKNOWN, which is an error only where a kernel uses it. */
#include "lang/sema/module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double to_radians = 0.017453292519943295, to_degrees = 57.29577951308232;

static double radians(double x)
{
    return x * to_radians;
}

static double degrees(double x)
{
    return x * to_degrees;
}

static double half_away(double x) /* as Warp rounds */
{
    return round(x);
}

static double half_even(double x) /* as Python and numpy do */
{
    return nearbyint(x);
}

static double sign(double x) /* Warp's: 1 at 0 */
{
    return x < 0 ? -1.0 : 1.0;
}

static double floor_mod(double x, double y) /* the sign is that of y */
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* Who has a function, and of what kind the result is. */
enum { MATH = 1, NUMPY = 2, WARP = 4, TO_INT = 8 };

static const struct {
    const char *name;
    int where;
    double (*one)(double);
    double (*two)(double, double);
} functions[] = {
    {"sqrt", MATH | NUMPY | WARP, sqrt, NULL},
    {"cbrt", MATH | NUMPY | WARP, cbrt, NULL},
    {"sin", MATH | NUMPY | WARP, sin, NULL},
    {"cos", MATH | NUMPY | WARP, cos, NULL},
    {"tan", MATH | NUMPY | WARP, tan, NULL},
    {"asin", MATH | WARP, asin, NULL},
    {"acos", MATH | WARP, acos, NULL},
    {"atan", MATH | WARP, atan, NULL},
    {"arcsin", NUMPY, asin, NULL},
    {"arccos", NUMPY, acos, NULL},
    {"arctan", NUMPY, atan, NULL},
    {"sinh", MATH | NUMPY | WARP, sinh, NULL},
    {"cosh", MATH | NUMPY | WARP, cosh, NULL},
    {"tanh", MATH | NUMPY | WARP, tanh, NULL},
    {"exp", MATH | NUMPY | WARP, exp, NULL},
    {"exp2", MATH | NUMPY, exp2, NULL},
    {"expm1", MATH | NUMPY, expm1, NULL},
    {"log2", MATH | NUMPY | WARP, log2, NULL},
    {"log10", MATH | NUMPY | WARP, log10, NULL},
    {"log1p", MATH | NUMPY, log1p, NULL},
    {"log", MATH | NUMPY | WARP, log, NULL},
    {"floor", MATH | TO_INT, floor, NULL},
    {"ceil", MATH | TO_INT, ceil, NULL},
    {"trunc", MATH | TO_INT, trunc, NULL},
    {"floor", NUMPY | WARP, floor, NULL},
    {"ceil", NUMPY | WARP, ceil, NULL},
    {"trunc", NUMPY | WARP, trunc, NULL},
    {"round", WARP, half_away, NULL},
    {"round", NUMPY, half_even, NULL},
    {"rint", NUMPY | WARP, half_even, NULL},
    {"fabs", MATH | NUMPY, fabs, NULL},
    {"sign", WARP, sign, NULL},
    {"radians", MATH | NUMPY | WARP, radians, NULL},
    {"deg2rad", NUMPY, radians, NULL},
    {"degrees", MATH | NUMPY | WARP, degrees, NULL},
    {"rad2deg", NUMPY, degrees, NULL},
    {"erf", MATH | WARP, erf, NULL},
    {"erfc", MATH | WARP, erfc, NULL},
    {"pow", MATH | WARP, NULL, pow},
    {"power", NUMPY, NULL, pow},
    {"atan2", MATH | WARP, NULL, atan2},
    {"arctan2", NUMPY, NULL, atan2},
    {"hypot", MATH | NUMPY, NULL, hypot},
    {"fmod", MATH | NUMPY, NULL, fmod},
    {"copysign", MATH | NUMPY, NULL, copysign},
};

/* A number that is no larger than the largest exact integer, as one. */
static const dm_value *whole(dm_scope *scope, double x)
{
    return fabs(x) < 9007199254740992.0 ? dm_value_int(scope->lang, (int64_t)x)
                                        : dm_value_unknown(scope);
}

static const dm_value *call_function(dm_scope *scope, int where, const char *name,
                                     const dm_value *const *args, int count)
{
    double x[2] = {0, 0};
    for (int i = 0; i < count; i++)
        if (i == 2 || !dm_value_number(args[i], &x[i]))
            return dm_value_unknown(scope);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if ((functions[i].where & where) == 0 || strcmp(functions[i].name, name) != 0 ||
            count != (functions[i].one != NULL ? 1 : 2))
            continue;
        if (where == WARP) { /* in float32, as called from Python */
            x[0] = (double)(float)x[0];
            x[1] = (double)(float)x[1];
        }
        double result = count == 1 ? functions[i].one(x[0]) : functions[i].two(x[0], x[1]);
        if (!isfinite(result)) /* Python raises an error */
            return dm_value_unknown(scope);
        if ((functions[i].where & TO_INT) != 0)
            return whole(scope, result);
        return dm_value_real(scope->lang, where == WARP ? (double)(float)result : result);
    }
    return dm_value_unknown(scope);
}

/* ---- Python's own ---- */

static bool is_int(const dm_value *value)
{
    return value->kind == DM_VALUE_INT || value->kind == DM_VALUE_BOOL;
}

/* len of a tuple, a list, a string or a vector. */
static const dm_value *length_of(dm_scope *scope, const dm_value *value)
{
    switch (value->kind) {
    case DM_VALUE_ITEMS:
        return dm_value_int(scope->lang, value->count);
    case DM_VALUE_STRING: {
        int characters = 0;
        for (const char *p = value->text; *p != '\0'; p++)
            characters += ((unsigned char)*p & 0xC0) != 0x80;
        return dm_value_int(scope->lang, characters);
    }
    case DM_VALUE_NUMBERS:
        return dm_value_int(scope->lang, value->type->rows);
    case DM_VALUE_TYPE:
        return dm_type_is_numeric(value->type) ? dm_value_int(scope->lang, value->type->rows)
                                               : dm_value_unknown(scope);
    default:
        return dm_value_unknown(scope);
    }
}

/* round(x), an integer, and round(x, digits): half to even. */
static const dm_value *round_of(dm_scope *scope, const dm_value *const *args, int count)
{
    double x;
    if (count == 1 && is_int(args[0]))
        return dm_value_int(scope->lang, args[0]->integer);
    if (!dm_value_number(args[0], &x))
        return dm_value_unknown(scope);
    if (count == 1)
        return whole(scope, half_even(x));
    if (args[1]->kind != DM_VALUE_INT || args[1]->integer < 0 || args[1]->integer > 15)
        return dm_value_unknown(scope);
    /* Correctly rounded from the decimal digits, which is what Python does. */
    const char *text = dm_lang_format(scope->lang, "%.*f", (int)args[1]->integer, x);
    return dm_value_real(scope->lang, strtod(text, NULL));
}

/* min, max, sum of arguments or of the items of the only one. */
static const dm_value *reduce(dm_scope *scope, const char *name, const dm_value *const *args,
                              int count)
{
    if (count == 1 && args[0]->kind == DM_VALUE_ITEMS) {
        count = args[0]->count;
        args = args[0]->items;
    } else if (name[0] == 's' || count == 1) {
        return dm_value_unknown(scope);
    }
    if (count == 0)
        return name[0] == 's' ? dm_value_int(scope->lang, 0) : dm_value_unknown(scope);
    const dm_value *best = args[0];
    bool ints = true;
    int64_t integers = 0;
    double total = 0, now, number;
    for (int i = 0; i < count; i++) {
        if (!dm_value_number(args[i], &number) || !dm_value_number(best, &now))
            return dm_value_unknown(scope);
        if (is_int(args[i]))
            ints &= !__builtin_add_overflow(integers, args[i]->integer, &integers);
        else
            ints = false;
        total += number;
        if (name[1] == 'i' ? number < now : number > now)
            best = args[i];
    }
    if (name[0] != 's')
        return best;
    return ints ? dm_value_int(scope->lang, integers) : dm_value_real(scope->lang, total);
}

static const dm_value *absolute(dm_scope *scope, const dm_value *value)
{
    double x;
    if (is_int(value) && value->integer != INT64_MIN)
        return dm_value_int(scope->lang, value->integer < 0 ? -value->integer : value->integer);
    return dm_value_number(value, &x) ? dm_value_real(scope->lang, fabs(x))
                                      : dm_value_unknown(scope);
}

static const dm_value *call_own(dm_scope *scope, const char *name, const dm_value *const *args,
                                int count)
{
    double x, y;
    if (strcmp(name, "len") == 0 && count == 1)
        return length_of(scope, args[0]);
    if (strcmp(name, "round") == 0 && (count == 1 || count == 2))
        return round_of(scope, args, count);
    if (strcmp(name, "abs") == 0 && count == 1)
        return absolute(scope, args[0]);
    if ((strcmp(name, "min") == 0 || strcmp(name, "max") == 0 || strcmp(name, "sum") == 0) &&
        count > 0)
        return reduce(scope, name, args, count);
    if (strcmp(name, "pow") == 0 && count == 2) {
        if (is_int(args[0]) && is_int(args[1]) && args[1]->integer >= 0)
            return dm_value_binary(scope, DM_TOK_DOUBLESTAR, args[0], args[1]);
        if (dm_value_number(args[0], &x) && dm_value_number(args[1], &y) && isfinite(pow(x, y)))
            return dm_value_real(scope->lang, pow(x, y));
    }
    return dm_value_unknown(scope);
}

const dm_value *dm_python_call(dm_scope *scope, const char *name, bool warp,
                               const dm_value *const *args, int count)
{
    const char *dot = strrchr(name, '.');
    double x, y;
    if (strcmp(name, "constant") == 0 && count == 1)
        return args[0];
    if (dot == NULL && !warp)
        return call_own(scope, name, args, count);
    const char *own = dot == NULL ? name : dot + 1;
    bool numpy = name[0] == 'n' && dot != NULL;
    if (numpy && count == 1 && (strcmp(own, "abs") == 0 || strcmp(own, "absolute") == 0))
        return absolute(scope, args[0]);
    if (numpy && count == 2 && (strcmp(own, "minimum") == 0 || strcmp(own, "maximum") == 0))
        return reduce(scope, own, args, count);
    if (numpy && count == 2 && strcmp(own, "mod") == 0 && dm_value_number(args[0], &x) &&
        dm_value_number(args[1], &y) && y != 0)
        return dm_value_real(scope->lang, floor_mod(x, y));
    return call_function(scope, dot == NULL ? WARP : numpy ? NUMPY : MATH, own, args, count);
}
