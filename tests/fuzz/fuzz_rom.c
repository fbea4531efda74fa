/* SPDX-License-Identifier: MIT */
/* fuzz_rom.c - random ROMs and random input against one machine.
 *
 *   dm-fuzz-rom [--seed S] [--frames N] [--seconds T] [--case I] [--dump FILE] [ROM ...]
 *
 * Case i of a seed is always the same. Its ROM is random bytes, a program of the generator, a
 * program that writes to I/O registers at random, one of the given ROMs with bytes changed, or a
 * file with a header that lies. Every ROM is either refused with a reason of one line or runs on
 * two machines that may not differ:
 *
 *   first     skips idle loops, draws nothing, runs several frames at a time
 *   second    executes every pass of a loop, draws every frame, runs one frame at a time
 *
 * At the end a state of the one is loaded into the other, then a damaged state.
 *
 * Built with -fsanitize=address,undefined it also finds what those find (make fuzz). */
#include "base/file.h"
#include "gb/cpu/run.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "tests/fuzz/fuzz_cases.h"
#include "tests/support/program_gen.h"
#include "tests/support/random.h"
#include "tests/support/same_machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE_FRAMES 24
#define CASE_SECONDS 120 /* longer is a hang */
#define ROM_MAX 0x40000u

typedef struct fuzz_case {
    uint8_t *rom; /* ROM_MAX bytes */
    size_t size;
    uint32_t frames;
    dm_test_random random; /* for input */
} fuzz_case;

typedef struct totals {
    uint64_t frames;       /* of the first machine */
    uint64_t instructions; /* likewise */
    uint64_t stuck;        /* cases that ended in STOP or locked up */
    uint64_t refused;
} totals;

/* ---- What every ROM has to withstand ---- */

static bool time_advanced(const dm_gb *gb, uint64_t frames, char *why, size_t why_size)
{
    uint64_t cycles = dm_gb_get_counters(gb).cycles;
    uint64_t least = frames * DM_GB_FRAME_CYCLES;
    if (cycles >= least && cycles < least + 64)
        return true;
    snprintf(why, why_size, "%llu cycles after %llu frames", (unsigned long long)cycles,
             (unsigned long long)frames);
    return false;
}

/* Offsets of docs/save-state.md. */
#define STATE_HASH 16
#define STATE_HASHED 24
#define STATE_FIELDS_END 400

/* Damage a state: bytes changed, mostly in the header and the registers, or the end cut off; with
 * the hash made right again or not. */
static void damage(dm_test_random *random, uint8_t *bytes, size_t *size)
{
    if (dm_test_random_chance(random, 10))
        *size = dm_test_random_below(random, (uint32_t)*size);
    for (uint32_t n = 1 + dm_test_random_below(random, 6); n > 0 && *size > 0; n--) {
        uint32_t range = dm_test_random_chance(random, 90) ? STATE_FIELDS_END : (uint32_t)*size;
        range = range < *size ? range : (uint32_t)*size;
        uint32_t from = range > 64 && dm_test_random_chance(random, 90) ? 64 : 0;
        bytes[from + dm_test_random_below(random, range - from)] =
            dm_test_random_chance(random, 50) ? dm_test_random_byte(random)
                                              : (uint8_t)dm_test_random_below(random, 4);
    }
    if (*size <= STATE_HASHED || dm_test_random_chance(random, 20))
        return;
    uint64_t hash = dm_hash64(bytes + STATE_HASHED, *size - STATE_HASHED);
    for (unsigned i = 0; i < 8; i++)
        bytes[STATE_HASH + i] = (uint8_t)(hash >> (8 * i));
}

/* Both machines are in the same state. The second takes over a state of the first, then a damaged
 * one: it is refused and changes nothing, or what it makes can run. */
static bool states_hold(dm_test_random *random, dm_gb *gb[2], char *why, size_t why_size)
{
    dm_error err = {0};
    dm_buffer state = DM_BUFFER_EMPTY;
    dm_gb_run_frames(gb[0], 1, DM_GB_DRAW_NEVER);
    dm_gb_state_save(&gb[0]->machine, gb[0]->ram, &gb[0]->rom, &state);
    size_t size = state.size;
    if (dm_gb_state_load(&gb[1]->machine, gb[1]->ram, &gb[1]->rom, state.data, size, &err) !=
        DM_OK) {
        snprintf(why, why_size, "a good state is refused: %.200s", err.message);
        dm_buffer_deinit(&state);
        return false;
    }
    dm_gb_map(&gb[1]->context);
    gb[1]->serial.size = gb[0]->serial.size;
    dm_gb_run_frames(gb[0], 1, DM_GB_DRAW_NEVER);
    dm_gb_run_frames(gb[1], 1, DM_GB_DRAW_ALWAYS);
    bool good = dm_same_machine(gb[0], gb[1], why, why_size);
    damage(random, (uint8_t *)state.data, &size);
    dm_status status =
        dm_gb_state_load(&gb[1]->machine, gb[1]->ram, &gb[1]->rom, state.data, size, &err);
    if (good && status != DM_OK) {
        good = fuzz_reason_is_good(&err) && dm_same_machine(gb[0], gb[1], why, why_size);
    } else if (good) {
        dm_gb_map(&gb[1]->context);
        gb[1]->context.skip_idle = 1;
        dm_gb_run_frames(gb[1], 2, DM_GB_DRAW_ALWAYS);
    }
    dm_buffer_deinit(&state);
    return good;
}

/* False with a reason when something is wrong. */
static bool run_case(fuzz_case *c, totals *total, char *why, size_t why_size)
{
    dm_error err = {0};
    dm_gb *gb[2] = {NULL, NULL};
    static const enum dm_gb_start starts[] = {DM_GB_START_POST_BOOT, DM_GB_START_POST_BOOT,
                                              DM_GB_START_ZERO};
    enum dm_gb_start start = starts[dm_test_random_below(&c->random, 3)];
    bool good = true;
    for (unsigned i = 0; i < 2; i++) {
        dm_gb_options options = {.start = start, .keep_idle_loops = i == 1, .force_dmg = true};
        dm_status status = dm_gb_create(c->rom, c->size, &options, &gb[i], &err);
        if (status != DM_OK) {
            total->refused++;
            good = gb[i] == NULL && i == 0 && fuzz_reason_is_good(&err);
            if (!good)
                snprintf(why, why_size, "refused without a good reason");
            dm_gb_destroy(gb[0]);
            return good;
        }
    }
    for (uint32_t done = 0; good && done < c->frames;) {
        uint32_t now = 1 + dm_test_random_below(&c->random, 3);
        uint8_t keys = dm_test_random_chance(&c->random, 50) ? 0 : dm_test_random_byte(&c->random);
        dm_gb_set_keys(gb[0], keys);
        dm_gb_set_keys(gb[1], keys);
        dm_gb_run_frames(gb[0], now, DM_GB_DRAW_NEVER);
        for (uint32_t i = 0; i < now; i++)
            dm_gb_run_frames(gb[1], 1, DM_GB_DRAW_ALWAYS);
        done += now;
        total->frames += now;
        good = time_advanced(gb[0], done, why, why_size) &&
               dm_same_machine(gb[0], gb[1], why, why_size);
        const uint8_t *shades = dm_gb_frame(gb[1]);
        for (unsigned i = 0; good && i < DM_GB_SCREEN_W * DM_GB_SCREEN_H; i++)
            if (shades[i] > 3) {
                snprintf(why, why_size, "shade %u at pixel %u", shades[i], i);
                good = false;
            }
    }
    dm_gb_registers registers = dm_gb_get_registers(gb[0]);
    total->instructions += dm_gb_get_counters(gb[0]).instructions;
    total->stuck += registers.stopped || registers.locked;
    if (good && dm_test_random_chance(&c->random, 40))
        good = states_hold(&c->random, gb, why, why_size);
    dm_gb_destroy(gb[0]);
    dm_gb_destroy(gb[1]);
    return good;
}

/* ---- Making ROMs ---- */

static const uint8_t illegal[] = {0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD};

static void random_bytes(fuzz_case *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        c->rom[i] = dm_test_random_byte(&c->random);
}

/* A header that can be run, of any mapper. */
static void good_header(fuzz_case *c)
{
    static const uint8_t types[] = {0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x08, 0x09, 0x0F, 0x10,
                                    0x11, 0x12, 0x13, 0x19, 0x1A, 0x1B, 0x1C, 0x1D, 0x1E};
    uint8_t type = types[dm_test_random_below(&c->random, sizeof types)];
    dm_program_header(c->rom, c->size, type, (uint8_t)dm_test_random_below(&c->random, 6));
}

static size_t random_size(fuzz_case *c)
{
    return (size_t)0x8000 << dm_test_random_below(&c->random, 4);
}

/* Random bytes; opcodes that lock up are rare, or nothing would run for long. */
static void make_noise(fuzz_case *c)
{
    c->size = random_size(c);
    random_bytes(c, 0, c->size);
    if (dm_test_random_chance(&c->random, 90))
        for (size_t i = 0; i < c->size; i++)
            if (memchr(illegal, c->rom[i], sizeof illegal) != NULL)
                c->rom[i] = (uint8_t)(c->rom[i] & 0x3Fu);
    memset(c->rom + 0x100, 0, 0x50);
    good_header(c);
}

static void make_program(fuzz_case *c)
{
    static dm_program program;
    uint64_t seed = dm_test_random_word(&c->random);
    dm_program_make(&program, seed,
                    dm_test_random_chance(&c->random, 50) ? DM_PROGRAM_TIMING : DM_PROGRAM_PLAIN);
    memcpy(c->rom, program.rom, program.size);
    c->size = program.size;
    for (uint32_t flips = dm_test_random_below(&c->random, 20); flips > 0; flips--)
        c->rom[program.body +
               dm_test_random_below(&c->random, (uint32_t)(program.code_end - program.body))] =
            dm_test_random_byte(&c->random);
}

/* Programs that play with the devices: registers written and read at random, idle loops,
 * interrupts on, HALT, DMA; for ever. */
static void make_devices(fuzz_case *c)
{
    dm_test_random *random = &c->random;
    c->size = random_size(c);
    random_bytes(c, 0, c->size);
    memset(c->rom, 0xC9, 0x40); /* RST: return */
    for (unsigned i = 0x40; i < 0x100; i++)
        c->rom[i] = i % 8 == 0 ? (uint8_t)(0x04u + 8u * dm_test_random_below(random, 4)) : 0xD9;
    memset(c->rom + 0x100, 0, 0x50);
    good_header(c);
    memcpy(c->rom + 0x100, "\x00\xC3\x50\x01", 4);
    size_t at = 0x150;
    uint8_t *rom = c->rom;
    const uint8_t hot[] = {0x40, 0x41, 0x44, 0x45, 0x43, 0x4A, 0x4B, 0x46, 0x07, 0x05, 0x0F, 0xFF};
    while (at < 0x1F00) {
        uint8_t reg = dm_test_random_chance(random, 60)
                          ? hot[dm_test_random_below(random, sizeof hot)]
                          : (uint8_t)dm_test_random_below(random, 0x80);
        uint8_t value = dm_test_random_byte(random);
        uint32_t pick = dm_test_random_below(random, 100);
        if (reg == 0x40 && dm_test_random_chance(random, 85))
            value |= 0x80; /* the LCD is on most of the time */
        if (pick < 40) {
            rom[at++] = 0x3E;
            rom[at++] = value;
            rom[at++] = 0xE0;
            rom[at++] = reg;
        } else if (pick < 55) { /* LDH A,[n]; CP v; JR cc back: an idle loop, left in time */
            uint8_t polled = dm_test_random_chance(random, 60) ? 0x44
                             : dm_test_random_chance(random, 50)
                                 ? 0x41
                                 : hot[dm_test_random_below(random, sizeof hot)];
            rom[at++] = 0xF0;
            rom[at++] = polled;
            rom[at++] = dm_test_random_chance(random, 50) ? 0xFE : 0xE6;
            rom[at++] = dm_test_random_chance(random, 50) ? (uint8_t)(value & 0x9Fu)
                                                          : (uint8_t)(value & 3u);
            rom[at++] = (uint8_t)(0x20u + 8u * dm_test_random_below(random, 4));
            rom[at++] = 0xFA;
        } else if (pick < 60) { /* a loop on memory that an interrupt changes, or none */
            rom[at++] = 0xFA;
            rom[at++] = value;
            rom[at++] = (uint8_t)(0xC0u + dm_test_random_below(random, 0x40));
            rom[at++] = 0xB7;
            rom[at++] = 0x28;
            rom[at++] = (uint8_t)(dm_test_random_chance(random, 20) ? 0xFA : 0x00);
        } else if (pick < 66) {
            rom[at++] = dm_test_random_chance(random, 70) ? 0xFB : 0xF3;
        } else if (pick < 69) {
            rom[at++] = 0x76;
            rom[at++] = 0x00;
        } else if (pick < 80) { /* a pointer anywhere, then an access */
            rom[at++] = 0x21;
            rom[at++] = value;
            rom[at++] = dm_test_random_byte(random);
            rom[at++] = dm_test_random_chance(random, 50) ? 0x22 : 0x7E;
        } else if (pick < 84) { /* a delay */
            rom[at++] = 0x06;
            rom[at++] = value;
            rom[at++] = 0x05;
            rom[at++] = 0x20;
            rom[at++] = 0xFD;
        } else if (pick < 86) {
            rom[at++] = 0x31;
            rom[at++] = value;
            rom[at++] = dm_test_random_byte(random);
        } else {
            uint8_t opcode = dm_test_random_byte(random);
            if (memchr(illegal, opcode, sizeof illegal) == NULL && opcode != 0x10)
                rom[at++] = opcode;
        }
    }
    memcpy(rom + at, "\xC3\x50\x01", 3);
    memset(rom + at + 3, 0, 0x2000 - at - 3);
    if (dm_test_random_chance(random, 30))
        for (uint32_t flips = dm_test_random_below(random, 8); flips > 0; flips--)
            rom[0x150 + dm_test_random_below(random, 0x1DB0)] = dm_test_random_byte(random);
}

/* Anything may be wrong: the size, the type, the codes. */
static void make_liar(fuzz_case *c)
{
    uint32_t pick = dm_test_random_below(&c->random, 4);
    c->size = pick == 0   ? dm_test_random_below(&c->random, 0x400)
              : pick == 1 ? dm_test_random_below(&c->random, ROM_MAX)
              : pick == 2 ? 0x8000u
                          : 0x14Fu + dm_test_random_below(&c->random, 4);
    random_bytes(c, 0, c->size);
    if (c->size >= 0x150 && dm_test_random_chance(&c->random, 50)) {
        good_header(c);
        c->rom[0x147u + dm_test_random_below(&c->random, 3)] = dm_test_random_byte(&c->random);
    }
}

static void make_mutant(fuzz_case *c, const fuzz_given *given)
{
    unsigned which = dm_test_random_below(&c->random, given->count);
    c->size = given->sizes[which];
    memcpy(c->rom, given->bytes[which], c->size);
    if (c->size == 0)
        return;
    for (uint32_t flips = dm_test_random_below(&c->random, 40); flips > 0; flips--) {
        uint32_t range = dm_test_random_chance(&c->random, 50) ? 0x1000u : (uint32_t)c->size;
        range = range < c->size ? range : (uint32_t)c->size;
        c->rom[dm_test_random_below(&c->random, range)] = dm_test_random_byte(&c->random);
    }
    if (dm_test_random_chance(&c->random, 10))
        c->size = dm_test_random_below(&c->random, (uint32_t)c->size + 1);
}

static void make_case(fuzz_case *c, uint64_t seed, uint64_t index, const fuzz_given *given)
{
    c->random = dm_test_random_make(seed, index);
    uint32_t pick = dm_test_random_below(&c->random, 100);
    c->frames = 1 + dm_test_random_below(&c->random, 2 * CASE_FRAMES);
    if (given->count > 0 && pick < 25)
        make_mutant(c, given);
    else if (pick < 60)
        make_devices(c);
    else if (pick < 75)
        make_program(c);
    else if (pick < 93)
        make_noise(c);
    else
        make_liar(c);
}

/* ---- The program ---- */

typedef struct settings {
    uint64_t seed, frames, only_case;
    bool has_case;
    double seconds;
    const char *dump;
} settings;

static int usage(void)
{
    fprintf(stderr, "usage: dm-fuzz-rom [--seed S] [--frames N] [--seconds T] [--case I] "
                    "[--dump FILE] [ROM ...]\n");
    return 2;
}

/* Options come first; *files: the first ROM. */
static int parse(int argc, char **argv, settings *s, int *files)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (i + 1 == argc)
            return usage();
        const char *name = argv[i] + 2;
        char *end = argv[++i];
        errno = 0;
        if (strcmp(name, "dump") == 0) {
            s->dump = argv[i];
            continue;
        }
        if (strcmp(name, "seed") == 0) {
            s->seed = strtoull(argv[i], &end, 0);
        } else if (strcmp(name, "frames") == 0) {
            s->frames = strtoull(argv[i], &end, 0);
        } else if (strcmp(name, "seconds") == 0) {
            s->seconds = strtod(argv[i], &end);
        } else if (strcmp(name, "case") == 0) {
            s->only_case = strtoull(argv[i], &end, 0);
            s->has_case = true;
        }
        if (end == argv[i] || *end != '\0' || errno != 0)
            return usage();
    }
    *files = i;
    return 0;
}

int main(int argc, char **argv)
{
    settings s = {.seed = 1, .frames = 2000};
    fuzz_given given;
    int files, bad = parse(argc, argv, &s, &files);
    if (bad != 0)
        return bad;
    fuzz_case c = {.rom = malloc(ROM_MAX)};
    if (c.rom == NULL || !fuzz_given_read(argv + files, argc - files, ROM_MAX, &given))
        return 2;
    fuzz_watch_install();
    totals total = {0};
    uint64_t failed = 0, index = s.has_case ? s.only_case : 0;
    double begun = fuzz_now(), told = begun;
    for (; total.frames < s.frames; index++) {
        char why[256] = "";
        make_case(&c, s.seed, index, &given);
        if (s.dump != NULL && s.has_case) {
            dm_error err;
            if (dm_file_write(s.dump, c.rom, c.size, &err) != DM_OK)
                fprintf(stderr, "fuzz_rom: %s\n", err.message);
        }
        fuzz_watch(CASE_SECONDS, "\nfuzz_rom: died in --seed %llu --case %llu\n",
                   (unsigned long long)s.seed, (unsigned long long)index);
        if (!run_case(&c, &total, why, sizeof why)) {
            printf("fuzz_rom: seed %llu case %llu: %s\n", (unsigned long long)s.seed,
                   (unsigned long long)index, why);
            fflush(stdout);
            failed++;
        }
        fuzz_watch_end();
        double now = fuzz_now();
        if (now - told > 30) {
            told = now;
            printf("fuzz_rom: %llu frames, %llu cases, %llu failed\n",
                   (unsigned long long)total.frames, (unsigned long long)index + 1,
                   (unsigned long long)failed);
            fflush(stdout);
        }
        if (s.has_case || (s.seconds > 0 && now - begun > s.seconds) || failed > 20)
            break;
    }
    printf("fuzz_rom: seed %llu: %llu frames, %llu ROMs (%llu refused, %llu ended in STOP or a "
           "lock-up), %.1f million instructions, %llu failed, %.0f s\n",
           (unsigned long long)s.seed, (unsigned long long)total.frames, (unsigned long long)index,
           (unsigned long long)total.refused, (unsigned long long)total.stuck,
           (double)total.instructions * 1e-6, (unsigned long long)failed, fuzz_now() - begun);
    fuzz_given_free(&given);
    free(c.rom);
    return failed == 0 ? 0 : 1;
}
