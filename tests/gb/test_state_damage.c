/* SPDX-License-Identifier: MIT */
/* Save states whose hash is right but which no machine wrote: each is refused with one line, or
 * does no harm. A machine that took one runs its frames in their time, and the sanitizers see the
 * rest. DM_STATE_SEEDS=N tries N of them. */
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "tests/support/program_gen.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEDS 300
#define FRAMES 10
#define SECONDS_EACH 20 /* far too long for ten frames, under sanitizers too */
#define FIELDS_MAX 400

/* Where the saved fields are, as the format's own table says. */
typedef struct place {
    unsigned at, size;
    char name[40];
} place;

static place places[FIELDS_MAX];
static size_t place_count;

static void find_places(void)
{
    dm_buffer table = DM_BUFFER_EMPTY;
    dm_gb_state_layout(&table);
    dm_buffer_putc(&table, '\0');
    assert_false(table.failed);
    place_count = 0;
    char *save = NULL;
    for (char *row = strtok_r(table.data, "\n", &save); row != NULL;
         row = strtok_r(NULL, "\n", &save)) {
        unsigned at, size, count = 1;
        place p = {0};
        if (sscanf(row, "| %u | %u x %u | `%39[^`]`", &at, &size, &count, p.name) != 4 &&
            (count = 1, sscanf(row, "| %u | %u | `%39[^`]`", &at, &size, p.name) != 3))
            continue;
        for (unsigned i = 0; i < count; i++) {
            assert_true(place_count < FIELDS_MAX);
            p.at = at + i * size;
            p.size = size;
            places[place_count++] = p;
        }
    }
    dm_buffer_deinit(&table);
    assert_true(place_count > 150);
}

static uint32_t load(const uint8_t *at, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

static void store(uint8_t *at, unsigned size, uint32_t value)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* Change one field: a little, at random, or to a time near or far from the clock. */
static void damage(uint8_t *state, const place *p, dm_test_random *random)
{
    uint8_t *at = state + p->at;
    uint32_t value = load(at, p->size), clock = load(state + places[0].at, 4);
    switch (dm_test_random_below(random, 7)) {
    case 0:
        value ^= 1u << dm_test_random_below(random, 8 * p->size);
        break;
    case 1:
        value += dm_test_random_below(random, 17) - 8u;
        break;
    case 2:
        value = clock + dm_test_random_below(random, 2000) - 1000u;
        break;
    case 3:
        value = clock + (1u << dm_test_random_below(random, 32));
        break;
    case 4:
        value = 1u << dm_test_random_below(random, 8 * p->size);
        break;
    case 5:
        value = dm_test_random_chance(random, 50) ? 0 : 0xFFFFFFFFu;
        break;
    default:
        value = dm_test_random_word(random);
        break;
    }
    store(at, p->size, value);
}

/* A machine somewhere in a program that uses the devices. */
static dm_gb *somewhere(dm_test_random *random)
{
    static const char *const names[] = {"DMA_OAM_COPY",   "PPU_SPRITES",  "PPU_STAT_IRQ",
                                        "PPU_WINDOW",     "SERIAL_HELLO", "TIMER_IRQ_HALT",
                                        "BG_SCROLL_ANIM", "MBC3_RAM",     "STARFALL"};
    const uint32_t count = sizeof names / sizeof names[0];
    static dm_program program;
    dm_gb *gb = NULL;
    uint32_t which = dm_test_random_below(random, count + 3);
    if (which < count) {
        char path[512];
        snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, names[which]);
        assert_ok(dm_gb_create_file(path, NULL, &gb, err));
    } else {
        dm_program_make(&program, dm_test_random_word(random), DM_PROGRAM_TIMING);
        assert_ok(dm_gb_create(program.rom, program.size, NULL, &gb, err));
    }
    dm_gb_run_cycles(gb, 1u + dm_test_random_below(random, 300000), DM_GB_DRAW_ALWAYS);
    return gb;
}

static char seed_text[64]; /* of the seed that is being tried */

static void too_long(int signal_number)
{
    (void)signal_number;
    _exit(write(STDOUT_FILENO, seed_text, strlen(seed_text)) < 0 ? 2 : 1);
}

/* True when the state was refused. */
static bool try_seed(uint64_t seed)
{
    dm_test_random random = dm_test_random_make(seed, 23);
    dm_gb *gb = somewhere(&random);
    dm_buffer state = DM_BUFFER_EMPTY;
    dm_gb_state_save(&gb->machine, gb->ram, &gb->rom, &state);
    assert_false(state.failed);
    uint8_t *bytes = (uint8_t *)state.data;
    char names[200] = "";
    for (uint32_t i = 0, n = 1 + dm_test_random_below(&random, 3); i < n; i++) {
        const place *p = &places[dm_test_random_below(&random, (uint32_t)place_count)];
        damage(bytes, p, &random);
        strcat(strcat(names, " "), p->name);
    }
    uint64_t hash = dm_hash64(bytes + 24, state.size - 24);
    store(bytes + 16, 4, (uint32_t)hash);
    store(bytes + 20, 4, (uint32_t)(hash >> 32));
    dm_error err = {0};
    dm_gb_machine before = gb->machine;
    dm_status status = dm_gb_state_load(&gb->machine, gb->ram, &gb->rom, bytes, state.size, &err);
    dm_buffer_deinit(&state);
    if (status != DM_OK) {
        if (err.message[0] == '\0' || strchr(err.message, '\n') != NULL)
            fail_msg("seed %llu:%s: refused with '%s'", (unsigned long long)seed, names,
                     err.message);
        assert_memory_equal(&gb->machine, &before, sizeof before);
    } else {
        uint64_t from = dm_gb_get_counters(gb).cycles;
        gb->machine.counted_at = gb->machine.clock; /* a count of the past, not of this run */
        dm_gb_run_frames(gb, FRAMES / 2, DM_GB_DRAW_ALWAYS);
        dm_gb_run_frames(gb, FRAMES / 2, DM_GB_DRAW_LAST);
        uint64_t ran = dm_gb_get_counters(gb).cycles - from;
        if (ran + 5000 < FRAMES * DM_GB_FRAME_CYCLES || ran > FRAMES * DM_GB_FRAME_CYCLES + 5000)
            fail_msg("seed %llu:%s: ran %llu cycles", (unsigned long long)seed, names,
                     (unsigned long long)ran);
        const uint8_t *shades = dm_gb_frame(gb);
        for (uint32_t i = 0; i < DM_GB_SCREEN_W * DM_GB_SCREEN_H; i++)
            assert_true(shades[i] <= 3);
    }
    dm_gb_destroy(gb);
    return status != DM_OK;
}

static void refused_or_harmless(void **state)
{
    (void)state;
    const char *text = getenv("DM_STATE_SEEDS");
    uint64_t seeds = text != NULL ? strtoull(text, NULL, 10) : SEEDS, refused = 0;
    find_places();
    signal(SIGALRM, too_long);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        snprintf(seed_text, sizeof seed_text, "seed %llu does not end\n", (unsigned long long)seed);
        alarm(SECONDS_EACH);
        refused += try_seed(seed);
    }
    alarm(0);
    print_message("%llu of %llu refused\n", (unsigned long long)refused, (unsigned long long)seeds);
    /* Both happen, or the test is worth nothing. */
    assert_true(refused > seeds / 10 && refused < seeds - seeds / 10);
}

DM_TESTS("gb/state_damage", DM_TEST(refused_or_harmless))
