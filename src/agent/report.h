/* SPDX-License-Identifier: MIT */
/* report.h - what a training run came to, as files in its folder:
 *
 *     curve.png, curve.svg    the score over the steps, from metrics.jsonl (gnuplot's)
 *     report.json             scores and figures
 *     index.html              all of it, with the animations found in the folder */
#ifndef DM_AGENT_REPORT_H
#define DM_AGENT_REPORT_H

#include "agent/run.h"

typedef struct dm_agent_summary {
    const char *folder, *device;
    const dm_agent_config *config;
    uint64_t steps, different_starts; /* 0: not counted */
    double seconds, shares[3];        /* of this sitting; the game's, acting's, learning's */
    uint64_t steps_of_sitting;
    bool has_scores;
    dm_agent_score training, held_out, random; /* random: random keys on the held-out starts */
    /* Animations in the folder and the scores of their games; NULL: none. */
    const char *before, *after;
    dm_agent_filmed before_film, after_film;
} dm_agent_summary;

/* Without gnuplot DM_EUNAVAILABLE, after all but the curves was written. */
dm_status dm_agent_report(const dm_agent_summary *summary, dm_error *err);

#endif
