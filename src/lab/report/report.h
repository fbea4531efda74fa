/* SPDX-License-Identifier: MIT */
/* report.h - tables, plots and a page from benchmark artifacts (bench.h).
 *
 *   index.html                 everything, self-contained
 *   table.md                   the tables alone
 *   fps_ROM_STAGE.png, .svg    frames per second over the number of machines, for each ROM and stage
 *   speedup_ROM_STAGE.png ...  the same as a multiple of each reference's figure
 *   artifact-1.json ...        the artifacts that the report was made from
 *
 * The folder appears whole, by rename, or not at all. Plots are gnuplot's. */
#ifndef DM_LAB_REPORT_H
#define DM_LAB_REPORT_H

#include <dotmatrix/base.h>

/* DM_EFORMAT: a file is no artifact of this schema, or has a figure whose window was not
 * synchronised; DM_EIO: the folder exists; DM_EUNAVAILABLE: there is no gnuplot. */
dm_status dm_lab_report(const char *const *artifacts, size_t count, const char *out, dm_error *err);

#endif
