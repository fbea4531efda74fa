/* SPDX-License-Identifier: MIT */
/* verify_suite.h - many verifications from one file (roms/suite.json), and the output of a single one. */
#ifndef DM_CLI_VERIFY_SUITE_H
#define DM_CLI_VERIFY_SUITE_H

#include "lab/verify/verify.h"

typedef struct dm_verify_suite {
    const char *file;       /* the suite */
    const char *roms;       /* the folder of the ROMs that it names */
    const char *only;       /* one ROM; NULL: all */
    const dm_lab_kind *dut; /* who is under test */
    /* Only against this one; NULL: all that the suite names. One of ours is not named there: every
     * ROM is compared with it in full. */
    const char *reference;
    /* A folder that the references' sides are written to, or taken from; NULL: none. */
    const char *record, *recorded;
    const char *bundles; /* the folder for mismatches */
} dm_verify_suite;

/* A table with a row for each ROM and reference; *negative when one differs. A reference that is
 * not installed is DM_EUNAVAILABLE, after the others were run. */
dm_status dm_verify_suite_run(const dm_verify_suite *suite, bool *negative, dm_error *err);

/* On a mismatch: explain it on stdout and write the bundle `path`. */
dm_status dm_verify_tell(const dm_lab_verify *v, const dm_lab_verdict *verdict, const char *path,
                         dm_error *err);
/* "not compared: cycles; first compared after 20 steps", or "". */
void dm_verify_left_out(const dm_lab_verify *v, const dm_lab_verdict *verdict, char *out,
                        size_t size);
/* FOLDER/NAME-YYYYMMDD-HHMMSS, with a number where that exists. */
void dm_verify_bundle_name(char *out, size_t size, const char *folder, const char *rom);

#endif
