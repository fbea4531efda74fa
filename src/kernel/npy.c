/* SPDX-License-Identifier: MIT */
/* npy.c - .npy files; see npy.h. The header is a Python dictionary with three known keys:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#include "kernel/npy.h"

#include "base/buffer.h"
#include "base/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 30)

static const struct {
    const char *descr, *name;
    size_t bytes;
} scalars[] = {{"|b1", "bool", 1},    {"|i1", "int8", 1},    {"|u1", "uint8", 1},
               {"<i2", "int16", 2},   {"<u2", "uint16", 2},  {"<i4", "int32", 4},
               {"<u4", "uint32", 4},  {"<i8", "int64", 8},   {"<u8", "uint64", 8},
               {"<f2", "float16", 2}, {"<f4", "float32", 4}, {"<f8", "float64", 8}};

size_t dm_npy_scalar_bytes(dm_kernel_scalar scalar)
{
    return scalar < DM_KERNEL_STRUCT ? scalars[scalar].bytes : 0;
}

const char *dm_npy_scalar_name(dm_kernel_scalar scalar)
{
    return scalar < DM_KERNEL_STRUCT ? scalars[scalar].name : "struct";
}

/* What follows 'key': in the header, or NULL. */
static const char *find_value(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (at == NULL)
        return NULL;
    at += strlen(quoted);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

static dm_status read_shape(const char *at, const char *path, dm_npy *out, dm_error *err)
{
    if (*at++ != '(')
        return dm_fail(err, DM_EFORMAT, "%s: the header has no shape", path);
    out->count = 1;
    for (;;) {
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ')')
            return DM_OK;
        char *end;
        if (!isdigit((unsigned char)*at))
            return dm_fail(err, DM_EFORMAT, "%s: the header's shape is damaged", path);
        unsigned long long size = strtoull(at, &end, 10);
        if (out->ndim == DM_NPY_DIMS_MAX || size > FILE_MAX ||
            (size > 0 && out->count > FILE_MAX / size))
            return dm_fail(err, DM_EFORMAT, "%s: the header's shape is too large", path);
        out->shape[out->ndim++] = (int64_t)size;
        out->count *= (size_t)size;
        at = end;
    }
}

static dm_status read_header(const char *header, const char *path, dm_npy *out, dm_error *err)
{
    const char *descr = find_value(header, "descr"), *order = find_value(header, "fortran_order"),
               *shape = find_value(header, "shape");
    if (descr == NULL || order == NULL || shape == NULL)
        return dm_fail(err, DM_EFORMAT, "%s: the header is damaged", path);
    size_t found = 0;
    bool quoted = descr[0] == '\'' || descr[0] == '"'; /* else the header may end there */
    while (found < DM_KERNEL_STRUCT &&
           !(quoted && strncmp(descr + 1, scalars[found].descr, 3) == 0 && descr[4] == descr[0]))
        found++;
    if (found == DM_KERNEL_STRUCT)
        return dm_fail(err, DM_EUNSUPPORTED, "%s: numbers of type %.12s are not supported", path,
                       descr);
    out->scalar = (dm_kernel_scalar)found;
    dm_status status = read_shape(shape, path, out, err);
    if (status == DM_OK && strncmp(order, "False", 5) != 0 && out->ndim > 1)
        return dm_fail(err, DM_EUNSUPPORTED, "%s: Fortran order is not supported", path);
    return status;
}

dm_status dm_npy_read(const char *path, dm_npy *out, dm_error *err)
{
    char *bytes;
    size_t size, start, length;
    memset(out, 0, sizeof *out);
    dm_status status = dm_file_read(path, FILE_MAX, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    const uint8_t *u = (const uint8_t *)bytes;
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0 || u[6] < 1 || u[6] > 3) {
        free(bytes);
        return dm_fail(err, DM_EFORMAT, "%s is no .npy file", path);
    }
    start = u[6] == 1 ? 10 : 12;
    length = u[6] == 1
                 ? (size_t)u[8] | (size_t)u[9] << 8
                 : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
    char *header = length > size - start ? NULL : malloc(length + 1);
    if (header == NULL) {
        free(bytes);
        return dm_fail(err, DM_EFORMAT, "%s: the header is damaged", path);
    }
    memcpy(header, bytes + start, length);
    header[length] = '\0';
    status = read_header(header, path, out, err);
    free(header);
    out->bytes = out->count * dm_npy_scalar_bytes(out->scalar);
    if (status == DM_OK && out->bytes != size - start - length)
        status = dm_fail(err, DM_EFORMAT, "%s: %zu bytes of numbers, the header says %zu", path,
                         size - start - length, out->bytes);
    if (status == DM_OK) {
        memmove(bytes, bytes + start + length, out->bytes);
        out->data = bytes;
    } else {
        free(bytes);
    }
    return status;
}

dm_status dm_npy_write(const char *path, const dm_npy *npy, dm_error *err)
{
    dm_buffer out = DM_BUFFER_EMPTY, header = DM_BUFFER_EMPTY;
    dm_buffer_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     scalars[npy->scalar].descr);
    for (int i = 0; i < npy->ndim; i++)
        dm_buffer_printf(&header,
                         i + 1 < npy->ndim ? "%lld, "
                         : npy->ndim == 1  ? "%lld,"
                                           : "%lld",
                         (long long)npy->shape[i]);
    dm_buffer_puts(&header, "), }");
    while ((10 + header.size + 1) % 64 != 0)
        dm_buffer_putc(&header, ' ');
    dm_buffer_putc(&header, '\n');
    dm_buffer_append(&out, "\x93NUMPY\x01\x00", 8);
    dm_buffer_putc(&out, (char)(header.size & 0xFF));
    dm_buffer_putc(&out, (char)(header.size >> 8));
    dm_buffer_append(&out, dm_buffer_text(&header), header.size);
    if (npy->bytes > 0)
        dm_buffer_append(&out, npy->data, npy->bytes);
    dm_status status = dm_buffer_check(&out, err);
    if (status == DM_OK)
        status = dm_file_write(path, out.data, out.size, err);
    dm_buffer_deinit(&out);
    dm_buffer_deinit(&header);
    return status;
}

void dm_npy_deinit(dm_npy *npy)
{
    free(npy->data);
    npy->data = NULL;
}
