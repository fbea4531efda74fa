/* SPDX-License-Identifier: MIT */
/* lockstep.h - one of our machines beside mGBA's, instruction by instruction.
 *
 * Both start at 0100 with the same registers and, after dm_lockstep_align, the same memory, DIV and
 * place in the frame. A step is one instruction or one interrupt dispatch; HALT is passed over as a
 * whole, since mGBA does that inside one call. */
#ifndef DM_TESTS_SUPPORT_LOCKSTEP_H
#define DM_TESTS_SUPPORT_LOCKSTEP_H

#include "gb/host/core.h"
#include "lab/reference/mgba.h"

typedef struct dm_lockstep {
    dm_gb *ours;
    dm_mgba *theirs;
    uint64_t steps;
    uint64_t our_base, their_base; /* cycles at the last point where both agreed */
    uint16_t pc;                   /* of the step just done */
} dm_lockstep;

dm_status dm_lockstep_create(dm_lockstep *pair, const void *rom, size_t size, bool draw,
                             dm_error *err);
void dm_lockstep_destroy(dm_lockstep *pair);
/* Make memory equal, and restart DIV and the LCD on both sides. */
void dm_lockstep_align(dm_lockstep *pair);

void dm_lockstep_step_ours(dm_lockstep *pair);
void dm_lockstep_step_theirs(dm_lockstep *pair);
/* One step on both sides; false when registers or the step's cycles differ, with the reason. */
bool dm_lockstep_step(dm_lockstep *pair, char *why, size_t why_size);
/* Run each side by itself up to PC = `pc` with SP as it is now; false when one does not get there.
 */
bool dm_lockstep_pass(dm_lockstep *pair, uint16_t pc);
bool dm_lockstep_same_registers(const dm_gb_registers *a, const dm_gb_registers *b);
/* VRAM, WRAM, OAM and HRAM; false with the first difference. */
bool dm_lockstep_same_memory(dm_lockstep *pair, char *why, size_t why_size);

#endif
