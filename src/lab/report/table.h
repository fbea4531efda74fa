/* SPDX-License-Identifier: MIT */
/* table.h - figures as tables, in Markdown and in HTML. */
#ifndef DM_LAB_TABLE_H
#define DM_LAB_TABLE_H

#include "base/buffer.h"
#include "lab/report/figure.h"

typedef enum dm_lab_markup { DM_LAB_MARKDOWN, DM_LAB_HTML } dm_lab_markup;

/* "STARFALL, emulate_only", or of which games it is the mean. */
void dm_lab_table_title(const dm_lab_group *group, char *out, size_t size);
/* A row for each number of machines. */
void dm_lab_table_put(dm_buffer *out, const dm_lab_group *group, dm_lab_markup markup);
/* The games of a mean: a row for each, at `envs` machines, with the receipt of its measurement. */
void dm_lab_table_put_games(dm_buffer *out, const dm_lab_group *mean, uint64_t envs,
                            dm_lab_markup markup);

#endif
