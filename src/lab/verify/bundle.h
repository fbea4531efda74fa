/* SPDX-License-Identifier: MIT */
/* bundle.h - a mismatch as a folder that shows it again.
 *
 *   meta.json                  the verification, what differed, where it comes from
 *   rom.gb                     the ROM
 *   diff.txt                   the fields that differ, a line each
 *   trace.txt                  the first differing instruction, and what led there
 *   actions.txt                the actions given, or the differing machine's as they were made up
 *   reference.json, dut.json   registers, counters, hashes of the regions
 *   reference.state, dut.state in the backend's own format
 *   reference_C000.bin ...     regions, at most 1,024 bytes of each, around the first difference;
 *                              named by the address of their first byte
 *   reference.png, dut.png     pictures, where they were compared
 *   start.state                where the run began, with --state
 *   recording.rec              what the reference was, where it was recorded
 *   repro.sh                   dotmatrix replay of this folder
 *
 * The folder appears whole, by rename, or not at all. */
#ifndef DM_LAB_BUNDLE_H
#define DM_LAB_BUNDLE_H

#include "lab/verify/verify.h"

#define DM_LAB_BUNDLE_SCHEMA "dotmatrix-mismatch-1"

/* Can a folder be made there? DM_EIO when it exists or its parent cannot be written. */
dm_status dm_lab_folder_check(const char *path, dm_error *err);

dm_status dm_lab_bundle_write(const char *path, const dm_lab_verify *v,
                              const dm_lab_verdict *verdict, const char *trace, dm_error *err);

/* A bundle read back: `v` points into it. */
typedef struct dm_lab_bundle {
    dm_lab_verify v; /* steps end where the difference was */
    char *rom, *recording, *state;
    uint64_t step, machine;
} dm_lab_bundle;
/* A folder that is no bundle, or of another schema version, is DM_EFORMAT. */
dm_status dm_lab_bundle_load(const char *path, dm_lab_bundle *out, dm_error *err);
void dm_lab_bundle_deinit(dm_lab_bundle *bundle);

#endif
