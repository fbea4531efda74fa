/* SPDX-License-Identifier: MIT */
/* number.c - scalars in memory, of every type that kernels have, from and to double. */
#include "kernel/internal.h"

#include <math.h>
#include <string.h>

static uint16_t half_of(double value)
{
    _Static_assert(sizeof(float) == 4, "float32");
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7FFFFFFFu;
    if (rest > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u);
    if (rest >= 0x477FF000u)
        return (uint16_t)(sign | 0x7C00u);
    if (rest < 0x38800000u) {
        float sum;
        memcpy(&sum, &rest, sizeof sum);
        sum += 0.5f;
        memcpy(&rest, &sum, sizeof rest);
        return (uint16_t)(sign | (rest - 0x3F000000u));
    }
    return (uint16_t)(sign | ((rest + 0xFFFu + (rest >> 13 & 1u) - 0x38000000u) >> 13));
}

void dm_kernel_store_number(void *to, dm_kernel_scalar scalar, double value)
{
#define STORE(type)                                                                                \
    do {                                                                                           \
        type converted = (type)value;                                                              \
        memcpy(to, &converted, sizeof converted);                                                  \
    } while (0)
    switch (scalar) {
    case DM_KERNEL_BOOL:
        *(uint8_t *)to = value != 0;
        break;
    case DM_KERNEL_INT8:
        STORE(int8_t);
        break;
    case DM_KERNEL_UINT8:
        STORE(uint8_t);
        break;
    case DM_KERNEL_INT16:
        STORE(int16_t);
        break;
    case DM_KERNEL_UINT16:
        STORE(uint16_t);
        break;
    case DM_KERNEL_INT32:
        STORE(int32_t);
        break;
    case DM_KERNEL_UINT32:
        STORE(uint32_t);
        break;
    case DM_KERNEL_INT64:
        STORE(int64_t);
        break;
    case DM_KERNEL_UINT64:
        STORE(uint64_t);
        break;
    case DM_KERNEL_FLOAT16: {
        uint16_t bits = half_of(value);
        memcpy(to, &bits, sizeof bits);
        break;
    }
    case DM_KERNEL_FLOAT32:
        STORE(float);
        break;
    default:
        STORE(double);
        break;
    }
#undef STORE
}

static double load_half(const void *from)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                    : ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

double dm_kernel_load_number(const void *from, dm_kernel_scalar scalar)
{
#define LOAD(type)                                                                                 \
    do {                                                                                           \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return (double)value;                                                                      \
    } while (0)
    switch (scalar) {
    case DM_KERNEL_BOOL:
    case DM_KERNEL_UINT8:
        LOAD(uint8_t);
    case DM_KERNEL_INT8:
        LOAD(int8_t);
    case DM_KERNEL_INT16:
        LOAD(int16_t);
    case DM_KERNEL_UINT16:
        LOAD(uint16_t);
    case DM_KERNEL_INT32:
        LOAD(int32_t);
    case DM_KERNEL_UINT32:
        LOAD(uint32_t);
    case DM_KERNEL_INT64:
        LOAD(int64_t);
    case DM_KERNEL_UINT64:
        LOAD(uint64_t);
    case DM_KERNEL_FLOAT16:
        return load_half(from);
    case DM_KERNEL_FLOAT32:
        LOAD(float);
    default:
        LOAD(double);
    }
#undef LOAD
}

bool dm_kernel_number_fits(dm_kernel_scalar scalar, double value)
{
    static const double lowest[] = {0, -128, 0, -32768, 0, -2147483648.0, 0, -9.2233720368547758e18,
                                    0};
    static const double highest[] = {1,
                                     127,
                                     255,
                                     32767,
                                     65535,
                                     2147483647.0,
                                     4294967295.0,
                                     9.2233720368547748e18,
                                     1.8446744073709550e19};
    return scalar > DM_KERNEL_UINT64 || (value >= lowest[scalar] && value <= highest[scalar]);
}
