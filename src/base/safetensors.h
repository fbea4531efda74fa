/* SPDX-License-Identifier: MIT */
/* safetensors.h - named tensors with text metadata in one file.
 *
 * Eight bytes (little endian) give the length of a JSON header; then the header, then the bytes of
 * all tensors one after the other. The header has for every tensor its type, shape and place, and
 * text under "__metadata__". Reading is strict: the tensors cover the data without gap or overlap,
 * each is as long as type and shape say, and nothing follows the last. */
#ifndef DM_BASE_SAFETENSORS_H
#define DM_BASE_SAFETENSORS_H

#include <dotmatrix/base.h>

#include <jansson.h>

#define DM_SAFETENSORS_DIMENSIONS 8

typedef enum dm_safetensors_type {
    DM_SAFETENSORS_F32,
    DM_SAFETENSORS_F64,
    DM_SAFETENSORS_BF16,
    DM_SAFETENSORS_I64,
    DM_SAFETENSORS_U8,
    DM_SAFETENSORS_TYPES
} dm_safetensors_type;

typedef struct dm_safetensor {
    const char *name;
    dm_safetensors_type type;
    int dimensions; /* 0: one value */
    uint64_t shape[DM_SAFETENSORS_DIMENSIONS];
    const void *data;
} dm_safetensor;

/* Replace or create a file atomically. `metadata`: an object of strings, or NULL. */
dm_status dm_safetensors_save(const char *path, const dm_safetensor *tensors, size_t count,
                              const json_t *metadata, dm_error *err);

typedef struct dm_safetensors dm_safetensors;

/* The data of the tensors are the file's bytes, valid until it is closed. */
dm_status dm_safetensors_load(const char *path, dm_safetensors **out, dm_error *err);
void dm_safetensors_close(dm_safetensors *file);
size_t dm_safetensors_count(const dm_safetensors *file);
const dm_safetensor *dm_safetensors_at(const dm_safetensors *file, size_t index); /* by place */
const dm_safetensor *dm_safetensors_find(const dm_safetensors *file, const char *name);
/* NULL when there is none. */
const char *dm_safetensors_metadata(const dm_safetensors *file, const char *key);
/* Copy a float32 tensor that must be there with exactly `count` values, all finite. */
dm_status dm_safetensors_floats(const dm_safetensors *file, const char *name, float *to,
                                size_t count, dm_error *err);

#endif
