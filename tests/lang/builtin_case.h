/* SPDX-License-Identifier: MIT */
/* builtin_case.h - calls of builtins with a plain C reference, and the check of a table of them:
 * value, gradient, and that the CUDA text compiles. */
#ifndef DM_TESTS_LANG_BUILTIN_CASE_H
#define DM_TESTS_LANG_BUILTIN_CASE_H

#include <stdbool.h>
#include <stdint.h>

/* The components of the arguments, one argument after the other; those of the result. */
typedef void dm_builtin_reference(const double *x, double *y);

/* Types are written s (scalar), 2 3 4 6 (vec), m2 m3 m4 m6 (mat), q, t, i (integer), b. A result may
 * also be a matrix that is not square: m23 has two rows of three. */
typedef struct dm_builtin_case {
    const char *call;   /* of arguments a b c d */
    const char *args;   /* their types, separated by spaces */
    const char *result; /* type; i and b carry no gradient */
    dm_builtin_reference *plain;
    double low, high; /* of the arguments' numbers */
} dm_builtin_case;

/* Run all cases, which are statements of one kernel, in float64 on random arguments. The value must be that of the
 * reference, the gradient that of central differences. With `all_double` float32 means float64 in the builtins too. */
void dm_test_builtin_cases(const dm_builtin_case *cases, int count, bool all_double);

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))
/* A reference; the body may use x and y. */
#define PLAIN(name, ...)                                                                           \
    static void name(const double *x, double *y)                                                   \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

/* One step of the generator behind wp.rand*, and its numbers: 32 bits, and 0 to 1. */
static inline uint32_t dm_test_pcg(uint32_t state)
{
    uint32_t b = state * 747796405u + 2891336453u;
    uint32_t c = ((b >> ((b >> 28) + 4)) ^ b) * 277803737u;
    return (c >> 22) ^ c;
}

static inline uint32_t dm_test_draw(uint32_t *state)
{
    *state = dm_test_pcg(*state);
    return *state;
}

static inline double dm_test_unit(uint32_t *state)
{
    return (double)(dm_test_draw(state) >> 8) / 16777216.0;
}

#endif
