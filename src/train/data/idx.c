/* SPDX-License-Identifier: MIT */
/* idx.c - see idx.h. */
#include "train/data/idx.h"
#include "base/buffer.h"
#include "base/file.h"
#include "train/data/csv.h"
#include "train/data/gz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_U8 8
#define FILE_MAX ((size_t)8 << 30)

typedef struct idx_file {
    char *bytes;
    const uint8_t *values;
    uint32_t shape[3];
} idx_file;

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static dm_status check_idx(const char *path, const uint8_t *bytes, size_t size, int dimensions,
                           idx_file *out, dm_error *err)
{
    size_t header = 4 + 4 * (size_t)dimensions;
    if (size < 4)
        return dm_fail(err, DM_EFORMAT, "%s: %zu bytes are too few for an IDX file", path, size);
    if (bytes[0] != 0 || bytes[1] != 0)
        return dm_fail(err, DM_EFORMAT, "%s: not an IDX file: it begins with %02x %02x at offset 0",
                       path, bytes[0], bytes[1]);
    if (bytes[2] != TYPE_U8)
        return dm_fail(err, DM_EFORMAT,
                       "%s: values of IDX type 0x%02x at offset 2; only bytes (0x08) are read",
                       path, bytes[2]);
    if (bytes[3] != dimensions)
        return dm_fail(err, DM_EFORMAT, "%s: %u dimensions at offset 3, where %s have %d", path,
                       bytes[3], dimensions == 1 ? "labels" : "images", dimensions);
    if (size < header)
        return dm_fail(err, DM_EFORMAT, "%s: ends at offset %zu, within its header of %zu bytes",
                       path, size, header);
    uint64_t total = 1;
    for (int d = 0; d < dimensions; d++) {
        out->shape[d] = big_endian(bytes + 4 + 4 * d);
        if (out->shape[d] == 0)
            return dm_fail(err, DM_EFORMAT, "%s: a dimension of 0 at offset %d", path, 4 + 4 * d);
        if (total > FILE_MAX / out->shape[d])
            return dm_fail(err, DM_EFORMAT, "%s: the dimensions at offset 4 are too large", path);
        total *= out->shape[d];
    }
    if (size != header + total)
        return dm_fail(
            err, DM_EFORMAT, "%s: %s: its header asks for %zu bytes, the file has %zu (offset %zu)",
            path, size < header + total ? "truncated" : "bytes after the end",
            header + (size_t)total, size, size < header + total ? size : header + (size_t)total);
    out->values = bytes + header;
    return DM_OK;
}

static dm_status load_idx(const char *path, int dimensions, idx_file *out, dm_error *err)
{
    size_t size = 0;
    dm_status status = dm_gz_read(path, FILE_MAX, &out->bytes, &size, err);
    if (status == DM_OK)
        status = check_idx(path, (const uint8_t *)out->bytes, size, dimensions, out, err);
    return status;
}

void dm_images_deinit(dm_images *images)
{
    free(images->pixels);
    free(images->labels);
    *images = (dm_images){0};
}

static dm_status allocate(dm_images *images, dm_error *err)
{
    size_t count = images->count;
    images->pixels = malloc(count * images->height * images->width);
    images->labels = malloc(count);
    if (images->pixels != NULL && images->labels != NULL)
        return DM_OK;
    dm_images_deinit(images);
    return dm_fail(err, DM_ENOMEM, "out of memory for %zu images", count);
}

static dm_status join(const idx_file *images, const char *images_path, const idx_file *labels,
                      const char *labels_path, uint32_t classes, dm_images *out, dm_error *err)
{
    uint32_t count = images->shape[0];
    if (labels->shape[0] != count)
        return dm_fail(err, DM_EFORMAT, "%s has %u images, %s has %u labels", images_path, count,
                       labels_path, labels->shape[0]);
    for (uint32_t i = 0; i < count; i++)
        if (labels->values[i] >= classes)
            return dm_fail(err, DM_EFORMAT, "%s: label %u at offset %u; there are %u classes",
                           labels_path, labels->values[i], 8 + i, classes);
    dm_images made = {
        .count = count, .height = images->shape[1], .width = images->shape[2], .classes = classes};
    dm_status status = allocate(&made, err);
    if (status == DM_OK) {
        memcpy(made.pixels, images->values, (size_t)count * made.height * made.width);
        memcpy(made.labels, labels->values, count);
        *out = made;
    }
    return status;
}

dm_status dm_images_load_idx(const char *images_path, const char *labels_path, uint32_t classes,
                             dm_images *out, dm_error *err)
{
    idx_file images = {0}, labels = {0};
    dm_status status = load_idx(images_path, 3, &images, err);
    if (status == DM_OK)
        status = load_idx(labels_path, 1, &labels, err);
    if (status == DM_OK)
        status = join(&images, images_path, &labels, labels_path, classes, out, err);
    free(images.bytes);
    free(labels.bytes);
    return status;
}

static dm_status from_table(const dm_csv *csv, const char *path, uint32_t max_value,
                            dm_images *images, dm_error *err)
{
    size_t size = csv->columns - 1;
    for (size_t r = 0; r < csv->rows; r++) {
        const float *row = csv->values + r * csv->columns;
        for (size_t c = 0; c < size; c++) {
            if (row[c] < 0 || row[c] > (float)max_value || row[c] != floorf(row[c]))
                return dm_fail(err, DM_EFORMAT,
                               "%s:%zu: column %zu: %g is no pixel (an integer of 0 to %u)", path,
                               csv->first_line + r, c + 1, (double)row[c], max_value);
            images->pixels[r * size + c] = (uint8_t)lrintf(row[c] * 255.0f / (float)max_value);
        }
        float label = row[size];
        if (label < 0 || label >= (float)images->classes || label != floorf(label))
            return dm_fail(err, DM_EFORMAT, "%s:%zu: label %g; there are %u classes", path,
                           csv->first_line + r, (double)label, images->classes);
        images->labels[r] = (uint8_t)label;
    }
    return DM_OK;
}

dm_status dm_images_load_csv(const char *path, uint32_t height, uint32_t width, uint32_t max_value,
                             uint32_t classes, dm_images *out, dm_error *err)
{
    dm_csv csv = {0};
    dm_status status = dm_csv_load(path, DM_CSV_HEADER_AUTO, &csv, err);
    if (status != DM_OK)
        return status;
    dm_images made = {
        .count = (uint32_t)csv.rows, .height = height, .width = width, .classes = classes};
    if (csv.columns != (size_t)height * width + 1)
        status =
            dm_fail(err, DM_EFORMAT, "%s: rows of %zu columns; %ux%u pixels and a label are %u",
                    path, csv.columns, height, width, height * width + 1);
    else
        status = allocate(&made, err);
    if (status == DM_OK)
        status = from_table(&csv, path, max_value, &made, err);
    if (status == DM_OK)
        *out = made;
    else
        dm_images_deinit(&made);
    dm_csv_deinit(&csv);
    return status;
}

static void put_header(dm_buffer *out, int dimensions, const uint32_t *shape)
{
    const char magic[4] = {0, 0, TYPE_U8, (char)dimensions};
    dm_buffer_append(out, magic, 4);
    for (int d = 0; d < dimensions; d++)
        for (int shift = 24; shift >= 0; shift -= 8)
            dm_buffer_putc(out, (char)(shape[d] >> shift));
}

static dm_status save(const char *path, int dimensions, const uint32_t *shape,
                      const uint8_t *values, size_t size, dm_error *err)
{
    dm_buffer file = DM_BUFFER_EMPTY;
    put_header(&file, dimensions, shape);
    dm_buffer_append(&file, values, size);
    dm_status status = dm_buffer_check(&file, err);
    if (status == DM_OK)
        status = dm_file_write(path, file.data, file.size, err);
    dm_buffer_deinit(&file);
    return status;
}

dm_status dm_images_save_idx(const dm_images *images, const char *images_path,
                             const char *labels_path, dm_error *err)
{
    const uint32_t shape[3] = {images->count, images->height, images->width};
    dm_status status = save(images_path, 3, shape, images->pixels,
                            (size_t)images->count * images->height * images->width, err);
    if (status == DM_OK)
        status = save(labels_path, 1, shape, images->labels, images->count, err);
    return status;
}
