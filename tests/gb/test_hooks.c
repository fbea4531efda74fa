/* SPDX-License-Identifier: MIT */
/* Hooks are exact: after runs of any length the bits are those of a trace that looks at every instruction, of the CPU's
 * loop and of the GPU's paths in blocks on the host, on our ROMs, on generated programs, some of which do little else
 * than meet devices or wait, and on the games of the folder $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where there is one.
 * Machines with hooks do the same as without. */
#include "gb/host/hooks.h"
#include "tests/gb/block/twin.h"
#include "tests/support/random.h"
#include "tests/support/rom_cases.h"
#include "tests/support/same_machine.h"
#include "tests/support/snippets.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_SEEDS 24
#define OWN_FRAMES 20
#define GAME_FRAMES 300
#define DEVICE_SEEDS 40
#define DEVICE_FRAMES 4
#define WAITING_SEEDS 60
#define WAITING_FRAMES 6

/* ---- The trace ---- */

static uint32_t bank_of(const dm_gb *gb, uint16_t pc)
{
    return dm_gb_bank_at(&gb->machine.cart, pc);
}

/* Step up to so many cycles after the start; the places where instructions began, to `see`. */
static void trace(dm_gb *gb, uint64_t end, void (*see)(void *to, uint16_t pc, uint32_t bank),
                  void *to)
{
    for (dm_gb_counters c = dm_gb_get_counters(gb); c.cycles < end;) {
        const uint16_t pc = gb->machine.cpu.pc;
        const uint32_t bank = bank_of(gb, pc);
        const uint64_t before = c.instructions;
        dm_gb_step(gb);
        c = dm_gb_get_counters(gb);
        if (c.instructions != before) /* no interrupt, and not in HALT */
            see(to, pc, bank);
    }
}

typedef struct watch {
    const dm_gb_hook *hooks;
    size_t count;
    uint64_t bits;
} watch;

static void see_hooks(void *to, uint16_t pc, uint32_t bank)
{
    watch *w = to;
    for (size_t i = 0; i < w->count; i++)
        if (w->hooks[i].address == pc &&
            (w->hooks[i].bank == bank || w->hooks[i].bank == DM_GB_HOOK_EVERY_BANK ||
             (pc >= 0x8000 && pc >> 13 != 5)))
            w->bits |= (uint64_t)1 << i;
}

/* ---- Which places ---- */

typedef struct choice {
    dm_test_random random;
    uint64_t seen;
    uint32_t count;
    dm_gb_hook hooks[DM_GB_HOOK_COUNT_MAX];
} choice;

/* A sample of all instructions, of which most are in loops, and of the first ones. */
static void see_places(void *to, uint16_t pc, uint32_t bank)
{
    choice *c = to;
    const dm_gb_hook here = {pc, (uint16_t)bank};
    const uint32_t most = DM_GB_HOOK_COUNT_MAX - 16;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->hooks[i].address == pc && c->hooks[i].bank == bank)
            return;
    c->seen++;
    if (c->count < most)
        c->hooks[c->count++] = here;
    else if (dm_test_random_below(&c->random, (uint32_t)(c->seen < 4000 ? c->seen : 4000)) < most)
        c->hooks[dm_test_random_below(&c->random, most)] = here;
}

/* Places of the program, operands beside them, and some that are not in it. */
static void choose_more(choice *c, const dm_gb *gb)
{
    const uint32_t seen = c->count;
    assert_int_not_equal(seen, 0);
    while (c->count < DM_GB_HOOK_COUNT_MAX) {
        dm_gb_hook hook = c->hooks[dm_test_random_below(&c->random, seen)];
        const uint32_t kind = dm_test_random_below(&c->random, 4);
        if (kind == 0)
            hook.bank = DM_GB_HOOK_EVERY_BANK;
        else if (kind == 1)
            hook.address = (uint16_t)dm_test_random_below(&c->random, 0x10000);
        else if ((hook.address & 0x3FFFu) < 0x3FF0u)
            hook.address = (uint16_t)(hook.address + kind - 1u);
        if (hook.bank != DM_GB_HOOK_EVERY_BANK)
            hook.bank = (uint16_t)(hook.bank % (gb->rom.size >> 14));
        c->hooks[c->count++] = hook;
    }
}

/* ---- Side by side ---- */

static uint32_t run_length(dm_test_random *random)
{
    return 4u * (1u + dm_test_random_below(random, dm_test_random_chance(random, 30)
                                                       ? 100
                                                       : DM_GB_FRAME_CYCLES / 2u));
}

static uint64_t met; /* bits of all comparisons */

/* A trace, a machine of the CPU and one of a GPU side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    const uint64_t end = (uint64_t)frames * DM_GB_FRAME_CYCLES;
    const dm_gb_options keep = {.keep_idle_loops = true};
    choice c = {.random = dm_test_random_make(seed, 23)};
    const dm_block_mode *mode =
        &dm_block_hook_modes[dm_test_random_chance(&c.random, 70)
                                 ? 0
                                 : dm_test_random_below(&c.random, DM_BLOCK_HOOK_MODES)];
    dm_gb *traced, *hooked;
    char why[256];
    assert_ok(dm_gb_create(rom, size, &keep, &traced, err));
    assert_ok(dm_gb_create(rom, size, NULL, &hooked, err));
    const uint64_t start = dm_gb_get_counters(traced).cycles;
    trace(traced, start + end / 2u, see_places, &c);
    dm_gb_destroy(traced);
    assert_ok(dm_gb_create(rom, size, &keep, &traced, err));
    if (dm_test_random_chance(&c.random, 30))
        c.count = c.count < 3 ? c.count : 3;
    else
        choose_more(&c, hooked);
    assert_ok(dm_gb_set_hooks(hooked, c.hooks, c.count, err));
    dm_twin *twin = dm_twin_create(hooked, mode, dm_test_random_chance(&c.random, 80));
    dm_twin_set_hooks(twin, hooked, c.hooks, c.count);
    for (uint64_t done = 0; done < end;) {
        const uint32_t cycles = run_length(&c.random);
        const uint8_t keys =
            dm_test_random_chance(&c.random, 50) ? 0 : dm_test_random_byte(&c.random);
        watch w = {c.hooks, c.count, 0};
        done += cycles;
        dm_gb_set_keys(traced, keys);
        dm_gb_set_keys(hooked, keys);
        trace(traced, start + done, see_hooks, &w);
        dm_gb_run_cycles(hooked, cycles, DM_GB_DRAW_NEVER);
        dm_twin_run(twin, mode, cycles, DM_GB_DRAW_NEVER, keys);
        const uint64_t bits[2] = {dm_gb_take_hooks(hooked), twin->hook_bits};
        for (int i = 0; i < 2; i++)
            for (uint32_t k = 0; k < c.count; k++)
                if (((bits[i] ^ w.bits) >> k & 1u) != 0)
                    fail_msg("%s, seed %llu, frame %u, %s: hook %u, %02X:%04X, is %u; PC %04X",
                             name, (unsigned long long)seed, (unsigned)(done / DM_GB_FRAME_CYCLES),
                             i == 0 ? "CPU" : mode->name, k, c.hooks[k].bank, c.hooks[k].address,
                             (unsigned)(bits[i] >> k & 1u), hooked->machine.cpu.pc);
        met |= w.bits;
        traced->machine.target = hooked->machine.target; /* of the last step, which is shorter */
        if (!dm_same_machine(hooked, traced, why, sizeof why))
            fail_msg("%s, seed %llu: %s", name, (unsigned long long)seed, why);
        if (memcmp(&twin->m, &hooked->machine, sizeof twin->m) != 0 ||
            memcmp(twin->ram, hooked->ram, hooked->ram_size) != 0)
            fail_msg("%s, seed %llu: a machine with hooks goes another way: %s", name,
                     (unsigned long long)seed, mode->name);
    }
    dm_twin_destroy(twin);
    dm_gb_destroy(traced);
    dm_gb_destroy(hooked);
}

static int begin(void **state)
{
    (void)state;
    met = 0;
    return 0;
}

static int some_were_met(void **state)
{
    (void)state;
    return met != 0 ? 0 : -1;
}

DM_ROM_TEST(our_roms, dm_each_own_rom(compare, OWN_FRAMES))
DM_ROM_TEST(programs, dm_each_program(compare, 4, PROGRAM_SEEDS))
DM_ROM_TEST(devices, dm_each_device_program(compare, DEVICE_FRAMES, DEVICE_SEEDS))
DM_ROM_TEST(waiting, dm_each_waiting_program(compare, WAITING_FRAMES, WAITING_SEEDS))
DM_ROM_TEST(games, dm_each_game(compare, GAME_FRAMES))

/* ---- What is asked for ---- */

static void parsing(void **state)
{
    (void)state;
    dm_error err = {0};
    dm_gb_hook hook;
    assert_ok(dm_gb_hook_parse(NULL, "01:4A2F", &hook, err));
    assert_int_equal(hook.address, 0x4A2F);
    assert_int_equal(hook.bank, 1);
    assert_ok(dm_gb_hook_parse(NULL, "4A2F", &hook, err));
    assert_int_equal(hook.bank, DM_GB_HOOK_EVERY_BANK);
    assert_int_equal(dm_gb_hook_parse(NULL, "GameOver", &hook, &err), DM_ENOENT);
}

static void impossible_ones_are_refused(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    dm_error err = {0};
    dm_gb *gb;
    dm_gb_hook many[DM_GB_HOOK_COUNT_MAX + 1] = {{0x150, 0}};
    const dm_gb_hook beyond = {0x4000, 2};
    assert_ok(dm_gb_create(rom, sizeof rom, NULL, &gb, err));
    assert_int_equal(dm_gb_set_hooks(gb, many, DM_GB_HOOK_COUNT_MAX + 1, &err), DM_EINVAL);
    assert_int_equal(dm_gb_set_hooks(gb, &beyond, 1, &err), DM_EINVAL);
    assert_string_equal(err.message, "hook 02:4000: the ROM has banks 00 to 01");
    dm_gb_destroy(gb);
}

#define MEETS(test) cmocka_unit_test_setup_teardown(test, begin, some_were_met)

DM_TESTS("gb/hooks", MEETS(our_roms), MEETS(programs), MEETS(devices), MEETS(waiting),
         DM_TEST(games), DM_TEST(parsing), DM_TEST(impossible_ones_are_refused))
