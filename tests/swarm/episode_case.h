/* SPDX-License-Identifier: MIT */
/* episode_case.h - what a swarm says at the end of episodes: final observations, returns and lengths. */
#ifndef DM_TESTS_SWARM_EPISODE_CASE_H
#define DM_TESTS_SWARM_EPISODE_CASE_H

#include "tests/swarm/swarm_case.h"

/* Step a swarm of `desc` with same-step autoreset beside one without, whose machines are put back by hand: before that
 * they show the final observations. Returns and lengths are added up on the host. Some episodes have to end. */
void dm_case_episodes(dm_device *device, const dm_swarm_desc *desc, uint32_t steps);

#endif
