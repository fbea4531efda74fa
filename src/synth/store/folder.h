/* SPDX-License-Identifier: MIT */
/* folder.h - what of a folder belongs to a dataset, before anything is written there.
 *
 * A folder with a manifest.json of ours is a dataset's: the names of produce.h are its own. Without
 * one those names must be free. Other files may stand beside them and are left alone. */
#ifndef DM_SYNTH_FOLDER_H
#define DM_SYNTH_FOLDER_H

#include "synth/produce.h"

/* DM_EINVAL names the file that is not ours. A folder that does not exist is fine. */
dm_status dm_synth_folder_check(const char *folder, dm_error *err);
/* Remove temporary files that killed runs left among the dataset's own. */
dm_status dm_synth_folder_sweep(const char *folder, dm_error *err);

#endif
