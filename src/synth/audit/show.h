/* SPDX-License-Identifier: MIT */
/* show.h - prints a record's texts side by side. */
#ifndef DM_SYNTH_SHOW_H
#define DM_SYNTH_SHOW_H

#include "synth/store/record.h"

/* At most `columns` wide (40 at least): the Python text beside the compiled texts, as many in a row as
 * fit, long lines wrapped; with terminal colours if asked for. */
void dm_synth_show(const dm_synth_record *record, int columns, bool colors, dm_buffer *out);

#endif
