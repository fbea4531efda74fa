/* SPDX-License-Identifier: MIT */
/* hook_case.h - hooks for tests of swarms: places that a program meets, and the bits that a swarm has to give. */
#ifndef DM_TESTS_SWARM_HOOK_CASE_H
#define DM_TESTS_SWARM_HOOK_CASE_H

#include "tests/swarm/swarm_case.h"

/* Places that are met in the first frames, up to 64, as many in any bank as in their own; the same each time. */
size_t dm_case_places(const void *rom, size_t size, uint32_t frames,
                      dm_gb_hook places[DM_GB_HOOK_COUNT_MAX]);

/* Step a swarm of `desc`, whose hooks are set, and compare after each step the bits of every `stride`-th machine with
 * those of one played alone. Some have to be met. */
void dm_case_hooks(dm_device *device, const dm_swarm_desc *desc, uint32_t steps, uint32_t stride);

#endif
