/* SPDX-License-Identifier: MIT */
/* plot.h - figures of one ROM and stage as plots, by gnuplot. */
#ifndef DM_LAB_PLOT_H
#define DM_LAB_PLOT_H

#include "lab/report/figure.h"

/* Is there something that can be compared with a reference? */
bool dm_lab_plot_has_speedup(const dm_lab_group *group);
/* fps_ROM_STAGE and, where there is one, speedup_ROM_STAGE as .png and .svg into the folder. */
dm_status dm_lab_plot(const dm_lab_group *group, const char *folder, dm_error *err);

#endif
