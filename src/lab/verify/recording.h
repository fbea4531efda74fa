/* SPDX-License-Identifier: MIT */
/* recording.h - what a reference did, in a file, so that a machine without it can be compared.
 *
 * A verification records its reference at each comparison (dm_lab_recorder). On another machine the
 * backend `recorded` replaces the reference; another ROM or profile is refused.
 *
 *   "dotmatrix-recording-1\n"
 *   JSON in one line: profile (profile.h), reference, version, rom_hash, bytes
 *   for each comparison, numbers little-endian: step (8 bytes), A F B C D E H L (1 each), PC, SP
 *   (2 each), cycles (8), has_cycles (4), changes (4), then so many times offset (4) and value (1)
 *   of bytes that differ from the comparison before (at first from 0): the regions one after the
 *   other, then the picture where it is compared
 *   XXH3 of all that (8) */
#ifndef DM_LAB_RECORDING_H
#define DM_LAB_RECORDING_H

#include "lab/verify/verify.h"

#define DM_LAB_RECORDING_SCHEMA "dotmatrix-recording-1"

typedef struct dm_lab_recorder dm_lab_recorder;

/* Only verifications of one machine by frames can be recorded. */
dm_status dm_lab_recorder_create(const dm_lab_verify *v, dm_lab_recorder **out, dm_error *err);
void dm_lab_recorder_destroy(dm_lab_recorder *recorder);
/* One comparison; `picture` is NULL where it is not compared. */
dm_status dm_lab_recorder_add(dm_lab_recorder *recorder, uint64_t step, const dm_lab_view *view,
                              const uint8_t *regions, const uint8_t *picture, dm_error *err);
dm_status dm_lab_recorder_write(dm_lab_recorder *recorder, const char *path, dm_error *err);

/* Does the file fit this verification? Its reference's name and version go to `name`. */
dm_status dm_lab_recording_check(const char *path, const dm_lab_verify *v, char *name, size_t size,
                                 dm_error *err);

#endif
