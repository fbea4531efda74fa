/* SPDX-License-Identifier: MIT */
/* warp_text.h - the CUDA text that NVIDIA Warp itself makes of a record's program, by a Python with warp-lang.
 *
 * One process for a batch of records: Warp takes a second to start and a millisecond for a program. */
#ifndef DM_SYNTH_WARP_TEXT_H
#define DM_SYNTH_WARP_TEXT_H

#include "synth/store/record.h"

/* Fill warp_forward, warp_backward and warp_version. A record that Warp refuses has none of them and
 * its reason in `reasons`. `python`: a program on the PATH or a path; DM_EUNAVAILABLE when it has no
 * warp-lang. */
dm_status dm_synth_warp_texts(const char *python, dm_synth_record *const *records, int count,
                              char (*reasons)[256], dm_error *err);

#endif
