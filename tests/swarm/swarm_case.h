/* SPDX-License-Identifier: MIT */
/* swarm_case.h - what tests of swarms share: ROMs, and the same games played by single machines. */
#ifndef DM_TESTS_SWARM_SWARM_CASE_H
#define DM_TESTS_SWARM_SWARM_CASE_H

#include "swarm/internal.h"
#include "tests/support/test.h"

#include <dotmatrix/swarm.h>

/* A micro-ROM or the game by name ("ALU_LOOP"), assembled once and kept. */
dm_swarm_rom_source dm_case_rom(const char *name);
/* All of them. */
extern const char *const dm_case_rom_names[];
extern const size_t dm_case_rom_count;

/* A swarm or a failed test; fields not set are the defaults. */
dm_swarm *dm_case_swarm(dm_device *device, const dm_swarm_desc *desc);
void dm_case_step(dm_swarm *swarm, uint32_t steps);

/* `steps` steps recorded as a graph on a stream of their own, and the graph launched so many `times`. Destroy it after
 * the swarm. */
typedef struct dm_case_graph {
    dm_stream *stream;
    dm_graph *graph;
} dm_case_graph;
dm_case_graph dm_case_step_captured(dm_device *device, dm_swarm *swarm, uint32_t steps, int times);
void dm_case_graph_destroy(dm_case_graph *graph);

/* What the generator of `desc` gives machine i in a step. */
uint32_t dm_case_action(const dm_swarm_desc *desc, uint64_t machine, uint64_t step);

/* Play machine i's game alone: `steps` steps from the start. Pictures of every frame are drawn. */
dm_gb *dm_case_alone(const dm_swarm_desc *desc, uint64_t machine, uint32_t steps);

/* Machine i of the swarm is in the state of `alone`, and shows its picture where it has one. */
void dm_case_same(dm_swarm *swarm, uint32_t machine, dm_gb *alone);

/* Step with made-up actions, then compare every `stride`-th machine with one played alone. */
void dm_case_equality(dm_device *device, const dm_swarm_desc *desc, uint32_t steps,
                      uint32_t stride);

/* Fingerprint of one machine, or of all: state, memory and progress, but not what only drawing
 * changes. */
uint64_t dm_case_machine_hash(dm_swarm *swarm, uint32_t machine);
uint64_t dm_case_fingerprint(dm_swarm *swarm);

#endif
