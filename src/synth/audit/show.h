/* SPDX-License-Identifier: MIT */
/* show.h - a record for the eye: its texts side by side. */
#ifndef DM_SYNTH_SHOW_H
#define DM_SYNTH_SHOW_H

#include "synth/store/record.h"

/* At most `columns` wide (40 at least): the Python text beside what was made of it, as many texts
 * in a row as fit, long lines continued below; in a terminal's colours where they are wanted. */
void dm_synth_show(const dm_synth_record *record, int columns, bool colors, dm_buffer *out);

#endif
