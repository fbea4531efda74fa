/* SPDX-License-Identifier: MIT */
/* rom_cases.h - the ROMs on which two ways to run a machine are compared. */
#ifndef DM_TESTS_SUPPORT_ROM_CASES_H
#define DM_TESTS_SUPPORT_ROM_CASES_H

#include <stddef.h>
#include <stdint.h>

/* Run `rom` both ways for so many frames; ends the test at the first difference. */
typedef void dm_rom_case(const char *name, const void *rom, size_t size, uint32_t frames,
                         uint64_t seed);

/* A test case that is one of the calls below. */
#define DM_ROM_TEST(name, call)                                                                    \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        call;                                                                                      \
    }

/* Our own ROMs, as the build made them. */
void dm_each_own_rom(dm_rom_case *check, uint32_t frames);
/* Generated programs (program_gen.h), of both kinds. */
void dm_each_program(dm_rom_case *check, uint32_t frames, uint64_t seeds);
/* Games of the folder $DM_TEST_GAMES, or $DM_TEST_ROMS/games; skips the test where there is none.
 */
void dm_each_game(dm_rom_case *check, uint32_t frames);

#endif
