/* SPDX-License-Identifier: MIT */
#include "tests/swarm/hook_case.h"
#include "gb/hooks.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>

size_t dm_case_places(const void *rom, size_t size, uint32_t frames,
                      dm_gb_hook places[DM_GB_HOOK_COUNT_MAX])
{
    static uint8_t known[8][0x10000]; /* by bank modulo 8 */
    dm_test_random random = dm_test_random_make(size, 5);
    size_t count = 0, seen = 0;
    dm_gb *gb;
    memset(known, 0, sizeof known);
    assert_ok(dm_gb_create(rom, size, NULL, &gb, err));
    const uint64_t end = dm_gb_get_counters(gb).cycles + (uint64_t)frames * DM_GB_FRAME_CYCLES;
    while (dm_gb_get_counters(gb).cycles < end) {
        const uint16_t pc = gb->machine.cpu.pc;
        const uint32_t bank = dm_gb_bank_at(&gb->machine.cart, pc);
        const bool every = pc >= 0x8000 || dm_test_random_chance(&random, 50);
        const dm_gb_hook hook = {pc, every ? DM_GB_HOOK_EVERY_BANK : (uint16_t)bank};
        dm_gb_step(gb);
        if (known[bank % 8][pc]++ != 0) {
            known[bank % 8][pc] = 1;
            continue;
        }
        seen++;
        if (count < DM_GB_HOOK_COUNT_MAX)
            places[count++] = hook;
        else if (dm_test_random_below(&random, (uint32_t)seen) < DM_GB_HOOK_COUNT_MAX)
            places[dm_test_random_below(&random, DM_GB_HOOK_COUNT_MAX)] = hook;
    }
    dm_gb_destroy(gb);
    return count;
}

/* One step of a machine alone, as swarm_case.c has it; the bits met. */
static uint64_t step_alone(dm_gb *gb, const dm_swarm_desc *desc, uint64_t machine, uint32_t step)
{
    const uint32_t action = dm_case_action(desc, machine, step);
    dm_gb_set_keys(gb, dm_swarm_codec_keys(desc->codec, action));
    dm_gb_run_frames(gb, desc->release_after_frames, DM_GB_DRAW_NEVER);
    dm_gb_set_keys(gb, 0);
    dm_gb_run_frames(gb, desc->frames_per_step - desc->release_after_frames, DM_GB_DRAW_NEVER);
    return dm_gb_take_hooks(gb);
}

void dm_case_hooks(dm_device *device, const dm_swarm_desc *desc, uint32_t steps, uint32_t stride)
{
    dm_swarm *swarm = dm_case_swarm(device, desc);
    uint64_t *bits = malloc(desc->count * steps * sizeof *bits), met = 0;
    assert_non_null(bits);
    for (uint32_t step = 0; step < steps; step++) {
        assert_ok(dm_swarm_step(swarm, NULL, err));
        assert_ok(dm_swarm_get_hooks(swarm, bits + step * desc->count, desc->count, err));
    }
    for (uint64_t i = 0; i < desc->count; i += stride) {
        const dm_swarm_rom_source *rom = &desc->roms[i % desc->rom_count];
        dm_gb *gb;
        assert_ok(dm_gb_create(rom->bytes, rom->size, NULL, &gb, err));
        assert_ok(dm_gb_set_hooks(gb, desc->hooks, desc->hook_count, err));
        for (uint32_t step = 0; step < steps; step++) {
            const uint64_t alone = step_alone(gb, desc, i, step),
                           here = bits[step * desc->count + i];
            if (alone != here)
                fail_msg("machine %llu, step %u: hooks %016llx, and %016llx alone",
                         (unsigned long long)i, step, (unsigned long long)here,
                         (unsigned long long)alone);
            met |= alone;
        }
        dm_case_same(swarm, (uint32_t)i, gb);
        dm_gb_destroy(gb);
    }
    assert_int_not_equal(met, 0);
    /* A reset forgets them. */
    assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
    assert_ok(dm_swarm_get_hooks(swarm, bits, desc->count, err));
    for (uint64_t i = 0; i < desc->count; i++)
        assert_true(bits[i] == 0);
    free(bits);
    dm_swarm_destroy(swarm);
}
