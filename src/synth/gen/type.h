/* SPDX-License-Identifier: MIT */
/* type.h - the types that generated kernels use: a shape and a scalar in one byte. */
#ifndef DM_SYNTH_TYPE_H
#define DM_SYNTH_TYPE_H

#include "synth/gen/text.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DM_GEN_F32,
    DM_GEN_F64,
    DM_GEN_F16,
    DM_GEN_I32,
    DM_GEN_I64,
    DM_GEN_U32,
    DM_GEN_U64,
    DM_GEN_BOOLEAN,
    DM_GEN_SCALAR_KINDS
};
enum {
    DM_GEN_SCALAR,
    DM_GEN_VEC2,
    DM_GEN_VEC3,
    DM_GEN_VEC4,
    DM_GEN_MAT22,
    DM_GEN_MAT33,
    DM_GEN_MAT44,
    DM_GEN_QUAT,
    DM_GEN_STRUCT, /* the kernel's struct */
    DM_GEN_KINDS
};

typedef uint8_t dm_gen_type;

static inline dm_gen_type dm_gen_type_of(int shape, int scalar)
{
    return (dm_gen_type)(shape << 4 | scalar);
}

static inline int dm_gen_shape(dm_gen_type type)
{
    return type >> 4;
}

static inline int dm_gen_kind(dm_gen_type type)
{
    return type & 15;
}

static inline bool dm_gen_kind_is_float(int kind)
{
    return kind <= DM_GEN_F16;
}

static inline bool dm_gen_is_vec(dm_gen_type type)
{
    return dm_gen_shape(type) >= DM_GEN_VEC2 && dm_gen_shape(type) <= DM_GEN_VEC4;
}

static inline bool dm_gen_is_mat(dm_gen_type type)
{
    return dm_gen_shape(type) >= DM_GEN_MAT22 && dm_gen_shape(type) <= DM_GEN_MAT44;
}

/* Rows of a matrix, components of a vector. */
static inline int dm_gen_rows(dm_gen_type type)
{
    int shape = dm_gen_shape(type);
    return shape == DM_GEN_QUAT     ? 4
           : shape >= DM_GEN_STRUCT ? 1
           : shape >= DM_GEN_MAT22  ? shape - DM_GEN_MAT22 + 2
           : shape >= DM_GEN_VEC2   ? shape - DM_GEN_VEC2 + 2
                                    : 1;
}

/* As the dialect writes it: "float", "wp.float64", "wp.vec3d". Not for structs. */
const dm_gen_text *dm_gen_type_text(dm_gen_type type);

#endif
