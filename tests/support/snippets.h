/* SPDX-License-Identifier: MIT */
/* snippets.h - programs that do what makes short cuts go wrong, for comparing two ways to run a
 * machine. Beside those of program_gen.h they are narrow: nearly every instruction counts. */
#ifndef DM_TESTS_SUPPORT_SNIPPETS_H
#define DM_TESTS_SUPPORT_SNIPPETS_H

#include "tests/support/rom_cases.h"

/* Programs that look at devices all the time: STAT, VRAM, mappers of all kinds, interrupts, stacks
 * in odd places. */
void dm_each_device_program(dm_rom_case *check, uint32_t frames, uint64_t seeds);
/* Programs that go round in a loop and wait for an interrupt, and write while they do; some leave
 * all as it was in each pass, others nearly. */
void dm_each_waiting_program(dm_rom_case *check, uint32_t frames, uint64_t seeds);
/* Programs that leave pictures alone for some lines and then change what they show: VRAM, OAM in
 * every way there is, registers, the LCD off, STOP. */
void dm_each_picture_program(dm_rom_case *check, uint32_t frames, uint64_t seeds);
/* Programs that copy to OAM, mostly from HRAM, and do something else before that is over. */
void dm_each_transfer_program(dm_rom_case *check, uint32_t frames, uint64_t seeds);

#endif
