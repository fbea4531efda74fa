/* SPDX-License-Identifier: MIT */
/* summary.h - a dataset's distributions: categories, lengths of the texts, errors of gradients; as bars
 * of characters and as a picture by gnuplot. */
#ifndef DM_SYNTH_SUMMARY_H
#define DM_SYNTH_SUMMARY_H

#include "base/buffer.h"
#include "synth/store/record.h"

#define DM_SYNTH_BINS_MAX 16

typedef struct dm_synth_histogram {
    const char *title;
    const char *labels[DM_SYNTH_BINS_MAX];
    uint64_t counts[DM_SYNTH_BINS_MAX];
    int bins;
    uint64_t total, least, most; /* of what was measured; total 0: nothing */
} dm_synth_histogram;

typedef struct dm_synth_summary {
    uint64_t records, pairs, rejected, with_backward, bytes;
    dm_synth_histogram categories, python, forward, backward, errors;
} dm_synth_summary;

/* Read all records of a dataset (a folder or a file). */
dm_status dm_synth_summarise(const char *path, dm_synth_summary *summary, dm_error *err);
/* At most `columns` wide. */
void dm_synth_summary_print(const dm_synth_summary *summary, int columns, dm_buffer *out);
/* One picture with all of it. DM_EUNAVAILABLE when there is no gnuplot. */
dm_status dm_synth_summary_plot(const dm_synth_summary *summary, const char *png, dm_error *err);

#endif
