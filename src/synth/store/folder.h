/* SPDX-License-Identifier: MIT */
/* folder.h - which files of a folder belong to a dataset; checked before anything is written there.
 *
 * In a folder with a manifest.json of ours the names listed in produce.h belong to the dataset. In any
 * other folder those names must be free. Other files are left alone. */
#ifndef DM_SYNTH_FOLDER_H
#define DM_SYNTH_FOLDER_H

#include "synth/produce.h"

/* DM_EINVAL names the file that is not ours. A folder that does not exist is fine. */
dm_status dm_synth_folder_check(const char *folder, dm_error *err);
/* Remove temporary files that killed runs left among the dataset's own. */
dm_status dm_synth_folder_sweep(const char *folder, dm_error *err);

#endif
