/* SPDX-License-Identifier: MIT */
/* Builtins in the other widths. Integers of 8 to 64 bits, against 128-bit arithmetic wrapped to the
 * width; float16, which must be the float32 builtin's value rounded once. All expressions of a type
 * are one kernel; the arguments are a b c, and vectors and matrices of them. test_builtins.c has
 * float64 and the gradients. Atomics, of every type that has them. */
#include "base/buffer.h"
#include "device/nvrtc.h"
#include "tests/lang/kernel_text.h"
#include "tests/support/random.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 32
#define EXPRESSIONS_MAX 96
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

typedef __int128 wide;

/* ---- One kernel of all expressions ---- */

/* `$` in an expression is the type. */
static void put_typed(dm_buffer *out, const char *text, const char *type)
{
    for (; *text != '\0'; text++) {
        if (*text == '$')
            dm_buffer_puts(out, type);
        else
            dm_buffer_putc(out, *text);
    }
}

static bool nvrtc_is_there(void)
{
    char path[DM_PATH_MAX];
    return dm_nvrtc_find(path, NULL) == DM_OK;
}

static void run_all(const char *type, const char *const *expressions, int count, void *x, void *y)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    put_typed(&text,
              "import warp as wp\n\n"
              "vec = wp.types.vector(3, wp.$)\n"
              "two = wp.types.vector(2, wp.$)\n"
              "mat = wp.types.matrix((2, 2), wp.$)\n\n\n"
              "@wp.kernel\n"
              "def all_cases(x: wp.array2d(dtype=wp.$), y: wp.array2d(dtype=wp.$)):\n"
              "    n = wp.tid()\n"
              "    a = x[n, 0]\n    b = x[n, 1]\n    c = x[n, 2]\n"
              "    v = vec(a, b, c)\n    u = vec(b, b, b)\n    m = mat(a, b, c, b)\n",
              type);
    for (int k = 0; k < count; k++) {
        dm_buffer_printf(&text, "    y[n, %d] = ", k);
        put_typed(&text, expressions[k], type);
        dm_buffer_putc(&text, '\n');
    }
    dm_kernel_file *file;
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
    dm_kernel_options options = {.no_backward = true};
    dm_error err = {0};
    if (dm_kernel_file_create(type, text.data, text.size, &options, &file, &err) != DM_OK ||
        dm_kernel_compile(dm_kernel_file_get(file, 0), &err) != DM_OK)
        fail_msg("%s:%d: %s", type, err.line, err.message);
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_ok(dm_kernel_program_create(dm_kernel_file_get(file, 0), device, &program, err));
    assert_ok(dm_kernel_args_create(dm_kernel_file_get(file, 0), &args, err));
    if (nvrtc_is_there()) { /* and it compiles for a GPU */
        char *code = NULL, *log = NULL;
        size_t size;
        bool cached;
        dm_module_desc desc = {.name = "kernel.cu", .log = &log};
        desc.text = dm_kernel_source(dm_kernel_file_get(file, 0), DM_KERNEL_CUDA, NULL);
        assert_ok(dm_nvrtc_compile(&desc, "compute_80", &code, &size, &cached, err));
        free(code);
        free(log);
    }
    dm_kernel_array in = {.data = x, .shape = {SAMPLES, 3}};
    dm_kernel_array out = {.data = y, .shape = {SAMPLES, count}};
    assert_ok(dm_kernel_args_array(args, "x", &in, err));
    assert_ok(dm_kernel_args_array(args, "y", &out, err));
    assert_ok(dm_kernel_launch(program, dm_device_stream(device), DM_KERNEL_FORWARD,
                               (const int[]){SAMPLES}, 1, args, err));
    assert_ok(dm_stream_synchronize(dm_device_stream(device), err));
    dm_kernel_args_destroy(args);
    dm_kernel_program_destroy(program);
    dm_device_close(device);
    dm_kernel_file_destroy(file);
    dm_buffer_deinit(&text);
}

/* ---- Integers ---- */

typedef struct width {
    const char *name;
    int bits;
    bool is_signed;
} width;

static const width widths[] = {{"int8", 8, true},     {"uint8", 8, false},  {"int16", 16, true},
                               {"uint16", 16, false}, {"int32", 32, true},  {"uint32", 32, false},
                               {"int64", 64, true},   {"uint64", 64, false}};

/* As a register of this width holds it. */
static wide wrap(const width *w, wide value)
{
    wide size = (wide)1 << w->bits;
    value = ((value % size) + size) % size;
    return w->is_signed && value >= size / 2 ? value - size : value;
}

static wide as(const char *name, wide value)
{
    for (int i = 0; i < COUNT(widths); i++)
        if (strcmp(widths[i].name, name) == 0)
            return wrap(&widths[i], value);
    return value;
}

/* The square, of which the low 64 bits are right; it may not fit otherwise. */
static wide wrapping(wide a)
{
    const uint64_t square = (uint64_t)a * (uint64_t)a;
    return square;
}

static wide least(wide a, wide b)
{
    return a < b ? a : b;
}

static wide most(wide a, wide b)
{
    return a > b ? a : b;
}

typedef wide int_reference(wide a, wide b, wide c);
#define INT(name, expression)                                                                      \
    static wide int_##name(wide a, wide b, wide c)                                                 \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        return expression;                                                                         \
    }
INT(add, a + b)
INT(sub, a - b)
INT(mul, a *b)
INT(div, a / b)
INT(floordiv, a / b - (a % b != 0 && (a % b < 0) != (b < 0)))
INT(mod, a % b)
INT(neg, -a)
INT(same, a)
INT(and, a &b)
INT(or, a | b)
INT(xor, a ^ b)
INT(not, ~a)
INT(left, b *((wide)1 << c))
INT(right, a >> c)
INT(min, least(a, b))
INT(max, most(a, b))
INT(abs, a > 0 ? a : -a)
INT(sign, a < 0 ? -1 : 1)
INT(nonzero, a != 0)
INT(step, a < 0)
INT(clamp, least(most(a, least(b, c)), most(b, c)))
INT(less, a < b)
INT(equal, a == b)
INT(unequal, a != b)
INT(at_least, a >= b)
INT(zero, a == 0)
INT(less_and_unequal, a < b && a != c)
INT(less_or_equal, a < b || a == c)
INT(less_or_unequal, (a < b) != (a != c))
INT(second_by_itself, b *b)
INT(third_by_second, c *b)
INT(dot, a *b + b * b + c * b)
INT(square_length, wrapping(a) + b * b + c * c)
INT(cross_z, a *b - b * b)
INT(largest, most(a, most(b, c)))
INT(smallest, least(a, least(b, c)))
INT(argmax, a >= b && a >= c ? 0 : b >= c ? 1 : 2)
INT(second, b)
INT(third, c)
INT(matrix_product, a *b + b * b)
INT(matrix_vector, c *b + b * b)
INT(trace, a + b)
INT(as_int8, as("int8", a))
INT(as_uint8, as("uint8", a))
INT(as_int16, as("int16", a))
INT(as_uint16, as("uint16", a))
INT(as_int32, as("int32", a))
INT(as_uint32, as("uint32", a))
INT(as_int64, as("int64", a))
INT(as_uint64, as("uint64", a))
INT(as_bool, a != 0)
INT(as_float, b)
INT(not_equal_all, !(a == b && c == b))

static const struct {
    const char *expression;
    int_reference *plain;
} int_cases[] = {
    {"a + b", int_add},
    {"a - b", int_sub},
    {"a * b", int_mul},
    {"a / b", int_div},
    {"a // b", int_floordiv},
    {"a % b", int_mod},
    {"-a", int_neg},
    {"+a", int_same},
    {"a & b", int_and},
    {"a | b", int_or},
    {"a ^ b", int_xor},
    {"~a", int_not},
    {"b << c", int_left},
    {"a >> c", int_right},
    {"wp.add(a, b)", int_add},
    {"wp.sub(a, b)", int_sub},
    {"wp.mul(a, b)", int_mul},
    {"wp.div(a, b)", int_div},
    {"wp.floordiv(a, b)", int_floordiv},
    {"wp.mod(a, b)", int_mod},
    {"wp.neg(a)", int_neg},
    {"wp.pos(a)", int_same},
    {"wp.bit_and(a, b)", int_and},
    {"wp.bit_or(a, b)", int_or},
    {"wp.bit_xor(a, b)", int_xor},
    {"wp.invert(a)", int_not},
    {"wp.lshift(b, c)", int_left},
    {"wp.rshift(a, c)", int_right},
    {"wp.$(wp.unot(a))", int_zero},
    {"wp.$(wp.unot(a < b))", int_at_least},
    {"wp.$(wp.bit_and(a < b, a != c))", int_less_and_unequal},
    {"wp.$(wp.bit_or(a < b, a == c))", int_less_or_equal},
    {"wp.$(wp.bit_xor(a < b, a != c))", int_less_or_unequal},
    {"wp.min(a, b)", int_min},
    {"wp.max(a, b)", int_max},
    {"wp.abs(a)", int_abs},
    {"wp.sign(a)", int_sign},
    {"wp.nonzero(a)", int_nonzero},
    {"wp.step(a)", int_step},
    {"wp.clamp(a, wp.min(b, c), wp.max(b, c))", int_clamp},
    {"wp.where(a < b, a, b)", int_min},
    {"wp.$(a < b)", int_less},
    {"wp.$(a == b)", int_equal},
    {"wp.$(a != b)", int_unequal},
    {"wp.$(a >= b)", int_at_least},
    {"wp.$(not (a < b))", int_at_least},
    {"wp.bit_and(v, u)[0]", int_and},
    {"wp.bit_or(v, u)[0]", int_or},
    {"wp.bit_xor(v, u)[0]", int_xor},
    {"wp.invert(v)[0]", int_not},
    {"wp.lshift(u, vec(c, c, c))[1]", int_left},
    {"wp.rshift(m, mat(c, c, c, c))[0, 0]", int_right},
    {"(v + u)[0]", int_add},
    {"(v - u)[0]", int_sub},
    {"(v * b)[1]", int_second_by_itself},
    {"(b * v)[2]", int_third_by_second},
    {"(v / b)[0]", int_div},
    {"(-v)[0]", int_neg},
    {"(v % u)[0]", int_mod},
    {"(v & u)[0]", int_and},
    {"(v | u)[0]", int_or},
    {"(v ^ u)[0]", int_xor},
    {"(~v)[0]", int_not},
    {"(u << vec(c, c, c))[1]", int_left},
    {"(v >> vec(c, c, c))[0]", int_right},
    {"wp.cw_mul(v, u)[0]", int_mul},
    {"wp.cw_div(v, u)[0]", int_div},
    {"wp.dot(v, u)", int_dot},
    {"wp.length_sq(v)", int_square_length},
    {"wp.cross(v, u)[2]", int_cross_z},
    {"wp.min(v, u)[0]", int_min},
    {"wp.max(v, u)[0]", int_max},
    {"wp.max(v)", int_largest},
    {"wp.min(v)", int_smallest},
    {"wp.$(wp.argmax(v))", int_argmax},
    {"wp.abs(v)[0]", int_abs},
    {"wp.sign(v)[0]", int_sign},
    {"wp.$(v != u)", int_not_equal_all},
    {"v[-2]", int_second},
    {"v.z", int_third},
    {"(m * m)[0, 1]", int_matrix_product},
    {"(m * two(b, b))[1]", int_matrix_vector},
    {"wp.transpose(m)[1, 0]", int_second},
    {"wp.trace(m)", int_trace},
    {"wp.$(wp.int8(a))", int_as_int8},
    {"wp.$(wp.uint8(a))", int_as_uint8},
    {"wp.$(wp.int16(a))", int_as_int16},
    {"wp.$(wp.uint16(a))", int_as_uint16},
    {"wp.$(wp.int32(a))", int_as_int32},
    {"wp.$(wp.uint32(a))", int_as_uint32},
    {"wp.$(wp.int64(a))", int_as_int64},
    {"wp.$(wp.uint64(a))", int_as_uint64},
    {"wp.$(wp.bool(a))", int_as_bool},
    {"wp.$(wp.float64(b))", int_as_float},
};

static uint64_t draw64(dm_test_random *random)
{
    uint64_t high = dm_test_random_word(random);
    return high << 32 | dm_test_random_word(random);
}

static void put_number(const width *w, uint8_t *at, wide value)
{
    uint64_t bits = (uint64_t)value;
    memcpy(at, &bits, (size_t)w->bits / 8); /* the low bytes come first */
}

static wide get_number(const width *w, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)w->bits / 8);
    return wrap(w, (wide)bits);
}

/* a: any number where all operations wrap, else one whose products fit. b is small and not 0, c a
 * count for shifts. */
static void draw_numbers(const width *w, dm_test_random *random, int sample, wide out[3])
{
    bool wraps = w->bits < 32 || !w->is_signed;
    wide low = wrap(w, (wide)1 << (w->bits - 1)), high = low < 0 ? -low - 1 : 2 * low - 1;
    wide edges[] = {0, 1, -1, wraps ? high : 9, wraps && low < 0 ? low + 1 : 5};
    int64_t small = (int64_t)1 << (w->bits / 2 - 2);
    wide drawn = (wide)draw64(random);
    out[0] = sample < COUNT(edges) ? edges[sample] : wraps ? drawn : drawn % small;
    if (!wraps && (drawn & 1024) != 0)
        out[0] = -out[0];
    out[1] = 1 + (wide)(draw64(random) % (uint64_t)small);
    if (w->is_signed && (drawn & 2048) != 0)
        out[1] = -out[1];
    out[2] = (wide)(draw64(random) % (uint64_t)(w->bits / 2));
    for (int i = 0; i < 3; i++)
        out[i] = wrap(w, out[i]);
}

static void check_integers(const width *w)
{
    static uint8_t x[SAMPLES * 3 * 8], y[SAMPLES * EXPRESSIONS_MAX * 8];
    const char *expressions[COUNT(int_cases)];
    size_t bytes = (size_t)w->bits / 8;
    dm_test_random random = dm_test_random_make((uint64_t)w->bits, w->is_signed);
    for (int i = 0; i < SAMPLES; i++) {
        wide numbers[3];
        draw_numbers(w, &random, i, numbers);
        for (int k = 0; k < 3; k++)
            put_number(w, x + (size_t)(i * 3 + k) * bytes, numbers[k]);
    }
    for (int k = 0; k < COUNT(int_cases); k++)
        expressions[k] = int_cases[k].expression;
    run_all(w->name, expressions, COUNT(int_cases), x, y);
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < COUNT(int_cases); k++) {
            wide n[3];
            for (int p = 0; p < 3; p++)
                n[p] = get_number(w, x + (size_t)(i * 3 + p) * bytes);
            wide is = get_number(w, y + (size_t)(i * COUNT(int_cases) + k) * bytes);
            wide should = wrap(w, int_cases[k].plain(n[0], n[1], n[2]));
            if (is != should)
                fail_msg("%s: %s of %lld %lld %lld is %lld, not %lld", w->name, expressions[k],
                         (long long)n[0], (long long)n[1], (long long)n[2], (long long)is,
                         (long long)should);
        }
}

static void integers_of_every_width(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(widths); i++)
        check_integers(&widths[i]);
}

/* ---- float16 ---- */

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double size = exponent == 0    ? ldexp(fraction, -24)
                  : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                   : ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

/* The nearest half, by search: the even one of two that are equally near. */
static uint16_t nearest_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value))
        return 0x7E00;
    if (size >= 65520)
        return sign | 0x7C00;
    uint16_t low = 0, high = 0x7BFF; /* the largest that is not above */
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high + 1) / 2);
        if (half_value(middle) <= size)
            low = middle;
        else
            high = (uint16_t)(middle - 1);
    }
    double under = size - half_value(low);
    double over = low == 0x7BFF ? 65536 - size : half_value((uint16_t)(low + 1)) - size;
    bool up = over < under || (over == under && (low & 1) != 0);
    return (uint16_t)(sign | (low + up));
}

/* One operation each: it is done in float32 and rounded. */
static const char *const half_cases[] = {
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a // b",
    "a % b",
    "-a",
    "a ** b",
    "wp.sin(a)",
    "wp.cos(a)",
    "wp.tan(a)",
    "wp.asin(a)",
    "wp.acos(a)",
    "wp.atan(a)",
    "wp.atan2(a, b)",
    "wp.sinh(a)",
    "wp.cosh(a)",
    "wp.tanh(a)",
    "wp.exp(a)",
    "wp.log(a)",
    "wp.log2(a)",
    "wp.log10(a)",
    "wp.sqrt(a)",
    "wp.cbrt(a)",
    "wp.erf(a)",
    "wp.erfc(a)",
    "wp.floor(a)",
    "wp.ceil(a)",
    "wp.trunc(a)",
    "wp.round(a)",
    "wp.rint(a)",
    "wp.frac(a)",
    "wp.abs(-a)",
    "wp.sign(-a)",
    "wp.step(-a)",
    "wp.nonzero(a)",
    "wp.min(a, b)",
    "wp.max(a, b)",
    "wp.clamp(a, b, c)",
    "wp.where(a < b, a, c)",
    "wp.$(a < b)",
    "wp.$(wp.int32(a))",
    "wp.$(wp.float64(a))",
    "(v + u)[0]",
    "(v - u)[0]",
    "(v * b)[0]",
    "(v / b)[0]",
    "(-v)[0]",
    "wp.cw_mul(v, u)[0]",
    "wp.cw_div(v, u)[0]",
    "wp.dot(v, u)",
    "wp.length(v)",
    "wp.length_sq(v)",
    "wp.normalize(v)[1]",
    "wp.cross(v, vec(c, a, b))[2]",
    "wp.min(v, u)[0]",
    "wp.max(v)",
    "wp.abs(-v)[1]",
    "(m * m)[0, 1]",
    "(m + m)[1, 0]",
    "wp.transpose(m)[1, 0]",
    "wp.determinant(m)",
    "wp.trace(m)",
};

static void halves_are_floats_rounded(void **state)
{
    (void)state;
    static uint16_t x[SAMPLES * 3], y[SAMPLES * EXPRESSIONS_MAX];
    static float wide_x[SAMPLES * 3], wide_y[SAMPLES * EXPRESSIONS_MAX];
    int count = COUNT(half_cases);
    dm_test_random random = dm_test_random_make(16, 0);
    for (int i = 0; i < SAMPLES * 3; i++) { /* inside of every function's domain */
        double unit = (double)(draw64(&random) >> 11) * 0x1p-53;
        x[i] = nearest_half(0.05 + 0.9 * unit);
        wide_x[i] = (float)half_value(x[i]);
    }
    run_all("float16", half_cases, count, x, y);
    run_all("float32", half_cases, count, wide_x, wide_y);
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < count; k++) {
            uint16_t should = nearest_half((double)wide_y[i * count + k]);
            if (y[i * count + k] != should)
                fail_msg("%s of %g %g %g is %.8g, not %.8g", half_cases[k], half_value(x[i * 3]),
                         half_value(x[i * 3 + 1]), half_value(x[i * 3 + 2]),
                         half_value(y[i * count + k]), half_value(should));
        }
}

/* Rounding to even, subnormal numbers, overflow and signs, by values known beforehand. */
static void halves_round_as_they_should(void **state)
{
    (void)state;
    static const char *const expressions[] = {"a + b", "a * b", "a - b", "-a"};
    static const struct {
        double a, b, sum, product, difference;
    } known[] = {
        {2048, 1, 2048, 2048, 2047},                        /* 2049 lies between 2048 and 2050 */
        {2050, 1, 2052, 2050, 2049 + 0},                    /* 2051: up, to the even one */
        {65504, 32, INFINITY, INFINITY, 65472},             /* 65536 is too large */
        {65504, 8, 65504, INFINITY, 65504},                 /* 65512 is not */
        {0x1p-14, 0x1p-10, 0x1.1p-10, 0x1p-24, -0x1.ep-11}, /* the smallest number */
        {0x1p-14, 0x1p-11, 0x1.2p-11, 0, -0x1.cp-12},       /* half of it: to even, 0 */
        {0x1.8p-13, 0x1p-12, 0x1.cp-12, 0x1p-24, -0x1p-14},
    };
    uint16_t x[SAMPLES * 3] = {0}, y[SAMPLES * 4];
    for (int i = 0; i < COUNT(known); i++) {
        x[i * 3] = nearest_half(known[i].a);
        x[i * 3 + 1] = nearest_half(known[i].b);
        assert_true(half_value(x[i * 3]) == known[i].a && half_value(x[i * 3 + 1]) == known[i].b);
    }
    run_all("float16", expressions, COUNT(expressions), x, y);
    for (int i = 0; i < COUNT(known); i++) {
        double should[] = {known[i].sum, known[i].product, known[i].difference, -known[i].a};
        for (int k = 0; k < 4; k++) {
            double nearest = half_value(nearest_half(should[k]));
            if (half_value(y[i * 4 + k]) != nearest)
                fail_msg("%s of %g %g is %.8g, not %.8g", expressions[k], known[i].a, known[i].b,
                         half_value(y[i * 4 + k]), nearest);
        }
    }
}

/* ---- Atomics ---- */

#define PAIRS 12

INT(stored, b)
INT(stored_where_expected, a == c ? b : a)

/* What is there afterwards: of a what was there, b the value, c what cas expects. */
static const struct {
    const char *name;
    int_reference *plain;
    bool floats;
} atomic_kinds[] = {
    {"add", int_add, true},  {"sub", int_sub, true},     {"min", int_min, true},
    {"max", int_max, true},  {"exch", int_stored, true}, {"cas", int_stored_where_expected, true},
    {"and", int_and, false}, {"or", int_or, false},      {"xor", int_xor, false},
};

/* Floats are compared on whole numbers, which they hold exactly. */
static const struct {
    width as;
    bool is_float;
} atomic_types[] = {{{"int32", 32, true}, false},  {{"uint32", 32, false}, false},
                    {{"int64", 64, true}, false},  {{"uint64", 64, false}, false},
                    {{"float16", 16, true}, true}, {{"float32", 32, true}, true},
                    {{"float64", 64, true}, true}};

static void put_place(const width *w, bool is_float, void *array, int i, wide value)
{
    uint8_t *at = (uint8_t *)array + i * (w->bits / 8);
    double real = (double)value;
    float single = (float)real;
    uint16_t half = nearest_half(real);
    const void *bits = w->bits == 64 ? (void *)&real : w->bits == 32 ? (void *)&single : &half;
    if (is_float)
        memcpy(at, bits, (size_t)w->bits / 8);
    else
        put_number(w, at, value);
}

/* A kernel in which each kind has a row of `a`. */
static void put_atomics(dm_buffer *text, bool is_float)
{
    dm_buffer_puts(text, "def k(a: wp.array2d(dtype=wp.$), b: wp.array(dtype=wp.$),\n"
                         "      c: wp.array(dtype=wp.$), old: wp.array2d(dtype=wp.$)):\n"
                         "    i = wp.tid()\n");
    for (int k = 0; k < COUNT(atomic_kinds); k++)
        if (!is_float || atomic_kinds[k].floats)
            dm_buffer_printf(text, "    old[%d, i] = wp.atomic_%s(a, %d, i, %sb[i])\n", k,
                             atomic_kinds[k].name, k,
                             strcmp(atomic_kinds[k].name, "cas") == 0 ? "c[i], " : "");
}

static void check_atomics(void **state, const width *w, bool is_float)
{
    enum { PLACES = COUNT(atomic_kinds) * PAIRS };
    wide top = is_float ? 512 : (wide)1 << (w->bits - 1);
    const wide pairs[PAIRS][2] = {{5, 9},   {9, 5},  {-5, 9},         {9, -5},
                                  {-5, -9}, {0, 0},  {7, 7},          {top, 1},
                                  {0, -1},  {-1, 0}, {top - 1, -top}, {0x5A5, 0x0FF}};
    /* Room for the largest type. */
    int64_t a[PLACES] = {0}, left[PLACES], old[PLACES] = {0}, returned[PLACES], b[PAIRS], c[PAIRS];
    int rows = 0;
    for (int k = 0; k < COUNT(atomic_kinds); k++)
        for (int i = 0; i < PAIRS && (!is_float || atomic_kinds[k].floats); i++) {
            /* cas finds every other one */
            wide n[] = {wrap(w, pairs[i][0]), wrap(w, pairs[i][1]), wrap(w, pairs[i][0] + i % 2)};
            put_place(w, is_float, a, k * PAIRS + i, n[0]);
            put_place(w, is_float, b, i, n[1]);
            put_place(w, is_float, c, i, n[2]);
            put_place(w, is_float, returned, k * PAIRS + i, n[0]);
            put_place(w, is_float, left, k * PAIRS + i, atomic_kinds[k].plain(n[0], n[1], n[2]));
            rows = k + 1;
        }
    dm_buffer text = DM_BUFFER_EMPTY;
    put_atomics(&text, is_float);
    dm_test_run_arrays(state, dm_buffer_text(&text), w->name,
                       (const dm_test_array[]){{"a", a, {rows, PAIRS}},
                                               {"b", b, {PAIRS}},
                                               {"c", c, {PAIRS}},
                                               {"old", old, {rows, PAIRS}},
                                               {0}},
                       PAIRS, NULL);
    dm_buffer_deinit(&text);
    for (int p = 0; p < rows * PAIRS; p++) {
        size_t bytes = (size_t)w->bits / 8, at = (size_t)p * bytes;
        const char *kind = atomic_kinds[p / PAIRS].name;
        if (memcmp((char *)old + at, (char *)returned + at, bytes) != 0)
            fail_msg("%s: atomic_%s of pair %d returned another number", w->name, kind, p % PAIRS);
        if (memcmp((char *)a + at, (char *)left + at, bytes) != 0)
            fail_msg("%s: atomic_%s of pair %d left another number", w->name, kind, p % PAIRS);
    }
}

/* atomic_add, atomic_min ... return what was there and leave the new number. */
static void atomics_of_every_type(void **state)
{
    for (int i = 0; i < COUNT(atomic_types); i++)
        check_atomics(state, &atomic_types[i].as, atomic_types[i].is_float);
}

DM_TESTS("lang/widths", DM_TEST(integers_of_every_width), DM_TEST(halves_are_floats_rounded),
         DM_TEST(halves_round_as_they_should), DM_TEST_IN_DIR(atomics_of_every_type))
