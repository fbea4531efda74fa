/* SPDX-License-Identifier: MIT */
/* program.c - reward programs measured on STARFALL: dm-bench-program WHAT DEVICE ROM [MACHINES [STEPS [FRAMES]]]
 *
 *   equal  DEVICE   rewards, ends and returns of rewards/starfall.py on every machine and step beside plain C, and of
 *                   some machines beside the program on a machine alone; a hash that is the same on all devices
 *   edit   DEVICE   from a changed text to the first finished step, in parts
 *   cost   DEVICE   a step with a program beside one with reward_v0, taken in turns
 *   states DEVICE   all machines to bytes and back (dm_swarm_save_states, dm_swarm_load_states)
 *
 * Each prints one JSON object. */
#include "base/hash.h"
#include "base/median.h"
#include "base/thread.h"

#include <dotmatrix/swarm.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 9

static const char program_text[] =
    "import dotmatrix as dm\n"
    "@dm.memory\n"
    "class Memory:\n"
    "    score: int\n"
    "    lives: int\n"
    "    seen: dm.Bitmap(4096)\n"
    "@dm.program\n"
    "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
    "    score, lives = dm.u16(m, 0xC001), dm.u8(m, 0xC003)\n"
    "    new = dm.visit(mem.seen, (dm.u8(m, 0xC004) & 63) * 64 + (score & 63))\n"
    "    out.reward = float(score - mem.score) + %.9f * float(new)\n"
    "    out.reward += 2.0 * float(lives - mem.lives)\n"
    "    out.terminated = dm.u8(m, 0xC000) == 2\n"
    "    out.obs[0] = float(dm.u8(m, 0xC004)) / 160.0\n"
    "    out.metric(\"score\", float(score))\n"
    "    mem.score, mem.lives = score, lives\n";

typedef struct bench {
    dm_device *device;
    const char *rom;
    uint32_t machines, steps, frames;
    uint32_t alone; /* machines that are played alone as well */
} bench;

static void check(dm_status status, const dm_error *err)
{
    if (status == DM_OK)
        return;
    fprintf(stderr, "dm-bench-program: %s\n", err->message);
    exit(1);
}

static double seconds_since(uint64_t start)
{
    return (double)(dm_time_ns() - start) * 1e-9;
}

static dm_program *load_text(double weight)
{
    char text[2048];
    dm_error err = {0};
    dm_program *program = NULL;
    snprintf(text, sizeof text, program_text, weight);
    check(dm_program_create("reward.py", text, strlen(text), NULL, &program, &err), &err);
    return program;
}

static dm_swarm *make(const bench *b, const dm_swarm_desc *desc)
{
    dm_error err = {0};
    dm_swarm *swarm = NULL;
    check(dm_swarm_create(b->device, desc, &swarm, &err), &err);
    return swarm;
}

static void finish(dm_swarm *swarm)
{
    dm_error err = {0};
    check(dm_stream_synchronize(dm_swarm_stream(swarm), &err), &err);
}

/* ---- equal ---- */

typedef struct plain {
    int score, lives;
    bool ended;
    double sum; /* of the episode's rewards */
    uint32_t length;
} plain;

typedef struct alone {
    dm_gb *gb;
    dm_program_single *single;
    uint8_t *start;
    bool ended;
} alone;

typedef struct downloads {
    float *rewards, *returns;
    uint32_t *lengths;
    uint8_t *terminated, *truncated, *bytes, *actions;
} downloads;

#define BYTES 5 /* C000 .. C004 */

static void download_all(dm_swarm *swarm, const bench *b, downloads *d)
{
    dm_error err = {0};
    const size_t n = b->machines;
    check(dm_swarm_download(swarm, DM_SWARM_REWARDS, d->rewards, n * sizeof(float), &err), &err);
    check(dm_swarm_download(swarm, DM_SWARM_RETURNS, d->returns, n * sizeof(float), &err), &err);
    check(dm_swarm_download(swarm, DM_SWARM_LENGTHS, d->lengths, n * sizeof(uint32_t), &err), &err);
    check(dm_swarm_download(swarm, DM_SWARM_TERMINATED, d->terminated, n, &err), &err);
    check(dm_swarm_download(swarm, DM_SWARM_TRUNCATED, d->truncated, n, &err), &err);
    check(dm_swarm_download(swarm, DM_SWARM_REGION_BYTES, d->bytes, n * BYTES, &err), &err);
}

static bool same_bits(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* The documented reward from the game's own bytes; false where the program said something else. */
static bool plain_step(plain *p, const uint8_t *bytes, float reward, uint8_t terminated, float sum,
                       uint32_t length)
{
    const int score = bytes[1] | bytes[2] << 8, lives = bytes[3];
    const bool fresh = p->ended;
    const float paid = fresh ? 0.0f : (float)(score - p->score) + 2.0f * (float)(lives - p->lives);
    const bool over = !fresh && bytes[0] == 2;
    p->score = score;
    p->lives = lives;
    p->sum = fresh ? 0 : p->sum + (double)paid;
    p->length = fresh ? 0 : p->length + 1;
    p->ended = over;
    return same_bits(paid, reward) && terminated == over && p->length == length &&
           p->sum == (double)sum; /* whole numbers: a float has them exactly */
}

static void alone_init(alone *a, const bench *b, const dm_program *program, uint64_t number)
{
    dm_error err = {0};
    check(dm_gb_create_file(b->rom, NULL, &a->gb, &err), &err);
    a->start = malloc(dm_gb_state_bytes(a->gb));
    check(dm_gb_save_state_bytes(a->gb, a->start, dm_gb_state_bytes(a->gb), &err), &err);
    check(dm_program_single_create(program, a->gb, 1, number, &a->single, &err), &err);
    a->ended = false;
}

static bool alone_step(alone *a, const bench *b, uint8_t action, float reward, uint8_t terminated)
{
    dm_error err = {0};
    dm_program_outcome o = {0};
    const uint32_t held = b->frames < 8 ? b->frames : 8;
    if (a->ended) {
        check(dm_gb_load_state_bytes(a->gb, a->start, dm_gb_state_bytes(a->gb), &err), &err);
        check(dm_program_single_reset(a->single, &err), &err);
        a->ended = false;
        return reward == 0.0f && terminated == 0;
    }
    dm_gb_set_keys(a->gb, dm_swarm_codec_keys(DM_SWARM_BUTTONS_V1, action));
    dm_gb_run_frames(a->gb, held, DM_GB_DRAW_NEVER);
    dm_gb_set_keys(a->gb, 0);
    if (b->frames > held)
        dm_gb_run_frames(a->gb, b->frames - held, DM_GB_DRAW_NEVER);
    check(dm_program_single_step(a->single, action, &o, &err), &err);
    a->ended = o.terminated;
    return same_bits(o.reward, reward) && o.terminated == (terminated != 0);
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static void equal(const bench *b, const char *path)
{
    dm_error err = {0};
    dm_program *program = NULL;
    check(dm_program_load(path, NULL, &program, &err), &err);
    const dm_swarm_rom_source rom = {.path = b->rom};
    const dm_swarm_region region = {0xC000, BYTES};
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = b->machines,
                                .frames_per_step = b->frames,
                                .seed = 1,
                                .observations = DM_SWARM_OBS_REGIONS,
                                .regions = &region,
                                .region_count = 1,
                                .episodes = true,
                                .program = program};
    dm_swarm *swarm = make(b, &desc);
    const size_t n = b->machines;
    downloads d = {.rewards = malloc(n * sizeof(float)),
                   .returns = malloc(n * sizeof(float)),
                   .lengths = malloc(n * sizeof(uint32_t)),
                   .terminated = malloc(n),
                   .truncated = malloc(n),
                   .bytes = malloc(n * BYTES),
                   .actions = calloc(n, 1)};
    plain *plains = calloc(n, sizeof *plains);
    const size_t alone_count = n < b->alone ? n : b->alone;
    alone *alones = calloc(alone_count + 1, sizeof *alones);
    check(dm_swarm_download(swarm, DM_SWARM_REGION_BYTES, d.bytes, n * BYTES, &err), &err);
    for (size_t i = 0; i < n; i++) {
        plains[i].ended = true; /* the first look is unpaid */
        plain_step(&plains[i], d.bytes + i * BYTES, 0.0f, 0, 0.0f, 0);
    }
    for (size_t i = 0; i < alone_count; i++)
        alone_init(&alones[i], b, program, i);
    uint64_t hash = 0, plain_wrong = 0, alone_wrong = 0, ends = 0;
    uint32_t state = 1;
    double total = 0;
    const uint64_t start = dm_time_ns();
    for (uint32_t step = 0; step < b->steps; step++) {
        /* START is seldom pressed in a game: it ends the wait at the title. */
        for (size_t i = 0; i < n; i++)
            d.actions[i] = (uint8_t)(next_random(&state) % 9);
        check(dm_swarm_step_host(swarm, d.actions, n, &err), &err);
        download_all(swarm, b, &d);
        for (size_t i = 0; i < n; i++) {
            plain_wrong += !plain_step(&plains[i], d.bytes + i * BYTES, d.rewards[i],
                                       d.terminated[i], d.returns[i], d.lengths[i]) ||
                           d.truncated[i] != 0;
            ends += d.terminated[i];
            total += d.terminated[i] ? plains[i].sum : 0;
        }
        for (size_t i = 0; i < alone_count; i++)
            alone_wrong += !alone_step(&alones[i], b, d.actions[i], d.rewards[i], d.terminated[i]);
        const uint64_t parts[5] = {
            hash, dm_hash64(d.rewards, n * sizeof(float)), dm_hash64(d.terminated, n),
            dm_hash64(d.returns, n * sizeof(float)), dm_hash64(d.lengths, n * sizeof(uint32_t))};
        hash = dm_hash64(parts, sizeof parts);
    }
    printf(
        "{\"what\": \"equal\", \"machines\": %u, \"steps\": %u, \"frames\": %u, \"seconds\": %.1f, "
        "\"different_from_plain_c\": %" PRIu64 ", \"different_from_machine_alone\": %" PRIu64
        ", \"episodes\": %" PRIu64 ", \"mean_return\": %.6f, \"hash\": \"%016" PRIx64 "\"}\n",
        b->machines, b->steps, b->frames, seconds_since(start), plain_wrong, alone_wrong, ends,
        ends == 0 ? 0 : total / (double)ends, hash);
    for (size_t i = 0; i < alone_count; i++) {
        dm_program_single_destroy(alones[i].single);
        dm_gb_destroy(alones[i].gb);
        free(alones[i].start);
    }
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
    free(d.rewards), free(d.returns), free(d.lengths), free(d.terminated), free(d.truncated),
        free(d.bytes), free(d.actions), free(alones), free(plains);
}

/* ---- edit ---- */

/* A text that no cache has: the time is in it. */
static dm_program *load_new(int round)
{
    return load_text(0.1 + (double)(dm_time_ns() % 1000000007u) * 1e-10 + round * 1e-3);
}

static void edit(const bench *b)
{
    dm_error err = {0};
    const dm_swarm_rom_source rom = {.path = b->rom};
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = b->machines,
                          .frames_per_step = b->frames,
                          .stage = DM_SWARM_REWARD_ONLY,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .program = load_text(0.1)};
    uint64_t start = dm_time_ns();
    dm_swarm *swarm = make(b, &desc);
    check(dm_swarm_step(swarm, NULL, &err), &err);
    finish(swarm);
    const double first = seconds_since(start);
    double load = 0, set = 0, step = 0, plain_step_time = 0;
    for (int round = 0; round < ROUNDS; round++) {
        start = dm_time_ns();
        check(dm_swarm_step(swarm, NULL, &err), &err);
        finish(swarm);
        plain_step_time += seconds_since(start) / ROUNDS;
        start = dm_time_ns();
        dm_program *program = load_new(round);
        load += seconds_since(start) / ROUNDS;
        start = dm_time_ns();
        check(dm_swarm_set_program(swarm, program, &err), &err);
        set += seconds_since(start) / ROUNDS;
        start = dm_time_ns();
        check(dm_swarm_step(swarm, NULL, &err), &err);
        finish(swarm);
        step += seconds_since(start) / ROUNDS;
        dm_program_destroy(program);
    }
    dm_swarm_destroy(swarm);
    /* As after a restart of the whole: kernels cached, the program new, the swarm created. */
    start = dm_time_ns();
    dm_program *program = load_new(ROUNDS);
    desc.program = program;
    swarm = make(b, &desc);
    check(dm_swarm_step(swarm, NULL, &err), &err);
    finish(swarm);
    const double anew = seconds_since(start);
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
    printf("{\"what\": \"edit\", \"machines\": %u, \"frames\": %u, \"load_s\": %.4f, "
           "\"set_program_s\": %.4f, "
           "\"first_step_s\": %.4f, \"edit_to_first_step_s\": %.4f, \"a_step_before_s\": %.4f, "
           "\"new_swarm_to_first_step_s\": %.4f, \"first_of_all_s\": %.4f}\n",
           b->machines, b->frames, load, set, step, load + set + step, plain_step_time, anew,
           first);
}

/* ---- cost ---- */

static double timed(dm_swarm *swarm, uint32_t steps)
{
    dm_error err = {0};
    const uint64_t start = dm_time_ns();
    for (uint32_t i = 0; i < steps; i++)
        check(dm_swarm_step(swarm, NULL, &err), &err);
    finish(swarm);
    return seconds_since(start) / steps;
}

static void cost(const bench *b)
{
    const dm_swarm_rom_source rom = {.path = b->rom};
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = b->machines,
                          .frames_per_step = b->frames,
                          .stage = DM_SWARM_REWARD_ONLY,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .autoreset = DM_SWARM_DISABLED}; /* the same machines in both */
    dm_swarm *usual = make(b, &desc);
    dm_program *program = load_text(0.1);
    desc.program = program;
    dm_swarm *with = make(b, &desc);
    double usual_times[ROUNDS], with_times[ROUNDS];
    timed(usual, b->steps);
    timed(with, b->steps);
    for (int round = 0; round < ROUNDS; round++) {
        usual_times[round] = timed(usual, b->steps);
        with_times[round] = timed(with, b->steps);
    }
    const double a = dm_median(usual_times, ROUNDS), c = dm_median(with_times, ROUNDS);
    printf("{\"what\": \"cost\", \"machines\": %u, \"frames\": %u, \"reward_v0_step_s\": %.6f, "
           "\"program_step_s\": %.6f, \"cost_percent\": %.2f}\n",
           b->machines, b->frames, a, c, 100 * (c / a - 1));
    dm_swarm_destroy(usual);
    dm_swarm_destroy(with);
    dm_program_destroy(program);
}

/* ---- states ---- */

static void states(const bench *b)
{
    dm_error err = {0};
    const dm_swarm_rom_source rom = {.path = b->rom};
    dm_program *program = load_text(0.1);
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = b->machines,
                                .frames_per_step = b->frames,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .observations = DM_SWARM_OBS_PACKED,
                                .program = program};
    dm_swarm *swarm = make(b, &desc);
    const size_t n = b->machines, size = n * dm_swarm_state_bytes(swarm);
    uint32_t *machines = malloc(n * sizeof *machines);
    uint8_t *bytes = malloc(size), *again = malloc(size);
    for (uint32_t i = 0; i < n; i++)
        machines[i] = (uint32_t)(n - 1 - i);
    memset(bytes, 0, size), memset(again, 0, size); /* pages are there before the clock starts */
    double save = 0, load = 0;
    bool same = true;
    for (int round = 0; round < 3; round++) { /* the last one counts */
        check(dm_swarm_step(swarm, NULL, &err), &err);
        finish(swarm);
        uint64_t start = dm_time_ns();
        check(dm_swarm_save_states(swarm, machines, n, bytes, size, &err), &err);
        save = seconds_since(start);
        check(dm_swarm_step(swarm, NULL, &err), &err);
        finish(swarm);
        start = dm_time_ns();
        check(dm_swarm_load_states(swarm, machines, n, bytes, size, &err), &err);
        load = seconds_since(start);
        check(dm_swarm_save_states(swarm, machines, n, again, size, &err), &err);
        same = same && memcmp(bytes, again, size) == 0;
    }
    printf("{\"what\": \"states\", \"machines\": %u, \"bytes_each\": %zu, \"save_s\": %.4f, "
           "\"load_s\": %.4f, \"same\": %s}\n",
           b->machines, size / n, save, load, same ? "true" : "false");
    free(machines), free(bytes), free(again);
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
}

static uint32_t number(int argc, char **argv, int at, uint32_t otherwise)
{
    const long value = argc > at ? strtol(argv[at], NULL, 10) : 0;
    return value > 0 && value <= INT32_MAX ? (uint32_t)value : otherwise;
}

int main(int argc, char **argv)
{
    dm_error err = {0};
    if (argc < 4) {
        fprintf(stderr,
                "usage: dm-bench-program equal|edit|cost|states cpu|cuda ROM [MACHINES [STEPS "
                "[FRAMES [PROGRAM [ALONE]]]]]\n");
        return 2;
    }
    bench b = {.rom = argv[3],
               .machines = number(argc, argv, 4, 1024),
               .steps = number(argc, argv, 5, 100),
               .frames = number(argc, argv, 6, 24),
               .alone = number(argc, argv, 8, 16)};
    check(dm_device_open(argv[2], &b.device, &err), &err);
    if (strcmp(argv[1], "equal") == 0)
        equal(&b, argc > 7 ? argv[7] : "rewards/starfall.py");
    else if (strcmp(argv[1], "edit") == 0)
        edit(&b);
    else if (strcmp(argv[1], "cost") == 0)
        cost(&b);
    else if (strcmp(argv[1], "states") == 0)
        states(&b);
    else
        check(dm_fail(&err, DM_EINVAL, "'%s' is none of equal, edit, cost, states", argv[1]), &err);
    dm_device_close(b.device);
    return 0;
}
