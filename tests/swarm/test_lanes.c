/* SPDX-License-Identifier: MIT */
/* Where the memory of a machine of a large swarm is (gb/batch_context.h). */
#include "gb/batch.h"
#include "tests/support/test.h"

static void memory_of_the_last_machines(void **state)
{
    (void)state;
    enum { MACHINES = 1 << 20, BASE = 1 << 12 };
    static const dm_gb_batch_rom rom;
    /* Nothing is read there. */
    const dm_gb_batch batch = {.machines = (uint8_t *)(uintptr_t)BASE,
                               .memory = (uint8_t *)(uintptr_t)BASE,
                               .frames = (uint8_t *)(uintptr_t)BASE,
                               .roms = &rom,
                               .rom_count = 1,
                               .machine_stride = 1024,
                               .memory_stride = 65536};
    for (uint64_t machine = 1; machine < MACHINES; machine = machine * 3 + 1) {
        dm_gb_context context = {0};
        dm_simt_context_init(&context, &batch, (uint32_t)machine);
        assert_int_equal((uintptr_t)context.m, BASE + machine * batch.machine_stride);
        assert_int_equal((uintptr_t)context.ram, BASE + machine * batch.memory_stride);
        assert_int_equal((uintptr_t)context.frames, BASE + machine * DM_GB_FRAMES_SIZE);
    }
}

DM_TESTS("swarm/lanes", cmocka_unit_test(memory_of_the_last_machines));
