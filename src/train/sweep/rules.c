/* SPDX-License-Identifier: MIT */
/* rules.c - see rules.h. */
#include "train/sweep/rules.h"
#include "base/closest.h"

#include <math.h>

const char *const dm_sweep_rule_names[] = {"all", "halving", "forecast", NULL};

const dm_sweep_rules dm_sweep_rules_default = {
#define UINT(name, value, ...) value,
#define REAL(name, value, ...) value,
#include "train/sweep/rules.def"
#undef UINT
#undef REAL
};

typedef struct field {
    const char *name;
    bool whole;
    size_t offset;
    double low, high;
} field;

#define AT(name) offsetof(dm_sweep_rules, name)
#define UINT(name, value, low, high, help) {#name, true, AT(name), low, high},
#define REAL(name, value, low, high, help) {#name, false, AT(name), low, high},
static const field fields[] = {
#include "train/sweep/rules.def"
};
#undef UINT
#undef REAL
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static dm_status put(const field *f, const json_t *value, const char *name, dm_sweep_rules *out,
                     dm_error *err)
{
    void *at = (char *)out + f->offset;
    double number = json_number_value(value);
    bool good = f->whole ? json_is_integer(value) : json_is_number(value);
    if (!good || !(number >= f->low && number <= f->high))
        return dm_fail(err, DM_EINVAL, "%s: %s is not %s of %g to %g", name, f->name,
                       f->whole ? "a whole number" : "a number", f->low, f->high);
    if (f->whole)
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
    else
        *(double *)at = number;
    return DM_OK;
}

dm_status dm_sweep_rules_read(const json_t *object, const char *name, dm_sweep_rules *out,
                              dm_error *err)
{
    const char *names[FIELD_COUNT + 1] = {NULL}, *key;
    json_t *value;
    if (object == NULL)
        return DM_OK;
    if (!json_is_object(object))
        return dm_fail(err, DM_EFORMAT, "%s: rules is no object", name);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        names[i] = fields[i].name;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (i < FIELD_COUNT && strcmp(fields[i].name, key) != 0)
            i++;
        const char *guess = i < FIELD_COUNT ? NULL : dm_closest(key, names);
        if (i == FIELD_COUNT)
            return dm_fail(err, DM_EINVAL, "%s: a sweep has no rule '%.64s'%s%s%s", name, key,
                           guess != NULL ? "; did you mean " : "", guess != NULL ? guess : "",
                           guess != NULL ? "?" : "");
        dm_status status = put(&fields[i], value, name, out, err);
        if (status != DM_OK)
            return status;
    }
    return DM_OK;
}

size_t dm_sweep_checks(const dm_sweep_rules *rules, uint64_t steps, uint64_t *stride)
{
    *stride = (steps + rules->checks - 1) / rules->checks;
    return (size_t)((steps + *stride - 1) / *stride);
}

size_t dm_sweep_check_at(size_t checks, double share)
{
    double at = floor(share * (double)checks + 0.5);
    return at < 1 ? 1 : at > (double)checks ? checks : (size_t)at;
}
