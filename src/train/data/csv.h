/* SPDX-License-Identifier: MIT */
/* csv.h - tables of numbers as comma-separated text, gzip or plain.
 *
 * Every row has the same number of fields and every field is a finite number; spaces around it and
 * quotes "1.5" are allowed, \r\n ends a line too, empty lines are passed over. The first line may
 * be a header. Anything else is refused with line and column. */
#ifndef DM_TRAIN_CSV_H
#define DM_TRAIN_CSV_H

#include <dotmatrix/base.h>

typedef enum dm_csv_header {
    DM_CSV_HEADER_AUTO, /* the first line is one when none of its fields is a number */
    DM_CSV_HEADER_NO,
    DM_CSV_HEADER_YES,
} dm_csv_header;

typedef struct dm_csv {
    float *values; /* rows x columns */
    size_t rows, columns;
    size_t first_line; /* of the file, 1-based, that holds row 0 (with no empty lines between) */
    char *names;       /* the header's fields, each NUL-terminated, or NULL */
} dm_csv;

dm_status dm_csv_load(const char *path, dm_csv_header header, dm_csv *out, dm_error *err);
void dm_csv_deinit(dm_csv *csv);
/* The column of a name, or of a number (0-based, negative from the end). */
dm_status dm_csv_column(const dm_csv *csv, const char *name, size_t *column, dm_error *err);

#endif
