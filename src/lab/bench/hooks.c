/* SPDX-License-Identifier: MIT */
/* hooks.c - places to watch in a program that comes without symbols: the functions that it calls.
 *
 * A swarm with hooks looks at each instruction's address; what that costs is measured on functions
 * that are really called, spread evenly over those found. */
#include "lab/bench/subject.h"

#include <string.h>

#define HOOK_FRAMES 600 /* the program is followed for so long */
#define START_EVERY 30  /* frames in which START changes, so that a game begins */
#define FUNCTIONS_MAX 4096u

/* Addresses that a CALL went to, in the order in which they were first called. */
static size_t find_functions(dm_gb *gb, uint16_t found[FUNCTIONS_MAX])
{
    static bool known[0x10000];
    size_t count = 0;
    memset(known, 0, sizeof known);
    while (dm_gb_get_counters(gb).cycles < (uint64_t)HOOK_FRAMES * DM_GB_FRAME_CYCLES) {
        dm_gb_registers before = dm_gb_get_registers(gb);
        uint8_t opcode = dm_gb_peek(gb, before.pc);
        bool start = (dm_gb_get_counters(gb).frames / START_EVERY) % 2 != 0;
        dm_gb_set_keys(gb, start ? DM_GB_KEY_START : 0);
        dm_gb_step(gb);
        dm_gb_registers after = dm_gb_get_registers(gb);
        bool is_call = (opcode & 0xE7u) == 0xC4 || opcode == 0xCD;
        if (is_call && after.sp == (uint16_t)(before.sp - 2u) && !known[after.pc] &&
            count < FUNCTIONS_MAX) {
            known[after.pc] = true;
            found[count++] = after.pc;
        }
    }
    return count;
}

dm_status dm_lab_bench_find_hooks(dm_lab_bench_game *g, dm_error *err)
{
    static uint16_t found[FUNCTIONS_MAX];
    dm_gb_options options = {.force_dmg = g->bench->force_dmg};
    dm_gb *gb = NULL;
    g->hook_count = g->bench->hooks;
    if (g->hook_count == 0)
        return DM_OK;
    dm_status status = dm_gb_create(g->rom, g->rom_size, &options, &gb, err);
    size_t functions = status == DM_OK ? find_functions(gb, found) : 0;
    dm_gb_destroy(gb);
    if (status == DM_OK && functions == 0)
        return dm_fail(err, DM_EUNSUPPORTED, "--hooks: the program calls no function");
    for (size_t i = 0; i < g->hook_count && status == DM_OK; i++)
        g->hooks[i] = (dm_gb_hook){found[i * functions / g->hook_count], DM_GB_HOOK_EVERY_BANK};
    return status;
}
