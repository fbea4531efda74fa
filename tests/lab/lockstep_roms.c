/* SPDX-License-Identifier: MIT */
/* lockstep_roms.c - whole ROMs beside mGBA, by their streams of instructions.
 *
 *   dm-lockstep-roms [--frames N] [--seed S] ROM ...
 *
 * Both sides start aligned and get the same random keys at the same cycle. As long as the
 * registers after each instruction agree nothing is said. Real programs look at LY, STAT and DIV,
 * and references differ there by a few cycles, so a difference is not the end: both streams are
 * read on until they meet again, and the difference is put down to its cause: the device register
 * that was read last before it, an interrupt that came at another instruction, or a HALT. A ROM
 * whose streams do not meet again within WINDOW instructions has diverged. */
#include "base/file.h"
#include "tests/support/lockstep.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 4096u
#define RING 8192u /* at least WINDOW + 1, a power of two */

typedef struct stream {
    dm_gb_registers seen[RING]; /* after each instruction */
    uint16_t read[RING];        /* device register read by it; 0: none */
    uint8_t opcode[RING];
    uint64_t cycles[RING];
    uint64_t first, end; /* numbers of the instructions kept */
} stream;

typedef struct keys_plan {
    dm_test_random random;
    uint64_t next;
    uint8_t keys;
} keys_plan;

typedef struct run {
    dm_lockstep pair;
    stream ours, theirs;
    keys_plan our_keys, their_keys;
    uint64_t our_start, their_start;
    unsigned causes[0x200]; /* by register FF00..FFFF; then the others */
} run;

enum { CAUSE_INTERRUPT = 0x100, CAUSE_HALT, CAUSE_OTHER };

/* Keys change every 20 frames or so, by time, so that both sides see the same. */
static bool keys_due(keys_plan *plan, uint64_t cycles)
{
    if (cycles < plan->next)
        return false;
    plan->keys = dm_test_random_chance(&plan->random, 40)
                     ? 0
                     : (uint8_t)(1u << dm_test_random_below(&plan->random, 8));
    plan->next += (uint64_t)DM_GB_FRAME_CYCLES * (5 + dm_test_random_below(&plan->random, 30));
    return true;
}

/* The device register that the instruction at PC would read, or 0. */
static uint16_t device_read(dm_gb *gb, const dm_gb_registers *r)
{
    uint8_t opcode = dm_gb_peek(gb, r->pc);
    uint16_t address = 0;
    uint16_t hl = (uint16_t)(r->h << 8 | r->l);
    if (opcode == 0xF0)
        address = (uint16_t)(0xFF00u | dm_gb_peek(gb, (uint16_t)(r->pc + 1)));
    else if (opcode == 0xF2)
        address = (uint16_t)(0xFF00u | r->c);
    else if (opcode == 0xFA)
        address = (uint16_t)(dm_gb_peek(gb, (uint16_t)(r->pc + 1)) |
                             dm_gb_peek(gb, (uint16_t)(r->pc + 2)) << 8);
    else if (opcode == 0x0A)
        address = (uint16_t)(r->b << 8 | r->c);
    else if (opcode == 0x1A)
        address = (uint16_t)(r->d << 8 | r->e);
    else if (opcode == 0x2A || opcode == 0x3A || opcode == 0xCB || (opcode & 0xC7u) == 0x46u ||
             (opcode & 0xC7u) == 0x86u)
        address = hl;
    return address >= 0xFF00 && address < 0xFF80 ? address : 0;
}

static void read_ours(run *r)
{
    stream *s = &r->ours;
    uint32_t at = (uint32_t)(s->end % RING);
    dm_gb *gb = r->pair.ours;
    uint64_t cycles = dm_gb_get_counters(gb).cycles - r->our_start;
    if (keys_due(&r->our_keys, cycles))
        dm_gb_set_keys(gb, r->our_keys.keys);
    dm_gb_registers before = dm_gb_get_registers(gb);
    s->opcode[at] = dm_gb_peek(gb, before.pc);
    s->read[at] = device_read(gb, &before);
    dm_lockstep_step_ours(&r->pair);
    s->seen[at] = dm_gb_get_registers(gb);
    s->cycles[at] = dm_gb_get_counters(gb).cycles - r->our_start;
    s->end++;
}

static void read_theirs(run *r)
{
    stream *s = &r->theirs;
    uint32_t at = (uint32_t)(s->end % RING);
    uint64_t cycles = dm_mgba_cycles(r->pair.theirs) - r->their_start;
    if (keys_due(&r->their_keys, cycles))
        dm_mgba_set_keys(r->pair.theirs, r->their_keys.keys);
    unsigned tries = 0;
    do {
        if (dm_mgba_sleeps(r->pair.theirs))
            break;
        dm_mgba_step(r->pair.theirs);
        s->seen[at] = dm_mgba_get_registers(r->pair.theirs);
    } while (s->seen[at].halted && tries++ < 100000);
    s->end++;
}

static const dm_gb_registers *ours_at(run *r, uint64_t number)
{
    while (r->ours.end <= number)
        read_ours(r);
    return &r->ours.seen[number % RING];
}

static const dm_gb_registers *theirs_at(run *r, uint64_t number)
{
    while (r->theirs.end <= number)
        read_theirs(r);
    return &r->theirs.seen[number % RING];
}

static bool is_dispatch(const dm_gb_registers *before, const dm_gb_registers *after)
{
    return after->pc >= 0x40 && after->pc <= 0x60 && after->pc % 8 == 0 &&
           after->sp == (uint16_t)(before->sp - 2) && !after->ime;
}

static unsigned cause_of(run *r, uint64_t a, uint64_t b)
{
    const stream *s = &r->ours;
    if (a > s->first && s->opcode[a % RING] == 0x76)
        return CAUSE_HALT;
    if (a > s->first && b > r->theirs.first &&
        (is_dispatch(&s->seen[(a - 1) % RING], &s->seen[a % RING]) ||
         is_dispatch(&r->theirs.seen[(b - 1) % RING], &r->theirs.seen[b % RING])))
        return CAUSE_INTERRUPT;
    for (uint64_t back = 0; back < 12 && back <= a - s->first; back++) {
        if (s->read[(a - back) % RING] != 0)
            return s->read[(a - back) % RING] & 0xFFu;
        if (back > 0 && s->opcode[(a - back) % RING] == 0x76)
            return CAUSE_HALT;
    }
    return CAUSE_OTHER;
}

/* Find the nearest place where both streams agree for a few instructions. */
static bool meet_again(run *r, uint64_t *a, uint64_t *b)
{
    for (uint64_t apart = 1; apart < WINDOW; apart++)
        for (uint64_t i = 0; i <= apart; i++) {
            bool same = true;
            for (uint64_t k = 0; same && k < 4; k++)
                same = dm_lockstep_same_registers(ours_at(r, *a + i + k),
                                                  theirs_at(r, *b + apart - i + k));
            if (same) {
                *a += i;
                *b += apart - i;
                return true;
            }
        }
    return false;
}

static const char *cause_name(unsigned cause, char text[16])
{
    if (cause == CAUSE_INTERRUPT)
        return "interrupt";
    if (cause == CAUSE_HALT)
        return "HALT";
    if (cause == CAUSE_OTHER)
        return "other";
    snprintf(text, 16, "FF%02X", cause);
    return text;
}

static void run_rom(run *r, const char *name, uint64_t frames, uint64_t seed)
{
    uint64_t a = 0, b = 0, first = 0, meetings = 0;
    bool met = true;
    unsigned last = CAUSE_OTHER;
    char text[16];
    r->our_start = dm_gb_get_counters(r->pair.ours).cycles;
    r->their_start = dm_mgba_cycles(r->pair.theirs);
    r->our_keys = r->their_keys = (keys_plan){.random = dm_test_random_make(seed, 3)};
    uint64_t cycles = 0;
    while (cycles < frames * DM_GB_FRAME_CYCLES) {
        const dm_gb_registers *ours = ours_at(r, a), *theirs = theirs_at(r, b);
        cycles = r->ours.cycles[a % RING];
        if (!dm_lockstep_same_registers(ours, theirs)) {
            last = cause_of(r, a, b);
            r->causes[last]++;
            if (meetings++ == 0)
                first = a;
            met = meet_again(r, &a, &b);
            if (!met)
                break;
        }
        /* Keep a little of the past for the causes. */
        r->ours.first = a > 16 ? a - 16 : 0;
        r->theirs.first = b > 16 ? b - 16 : 0;
        a++;
        b++;
    }
    printf("%-28s %10llu instructions, %5llu frames, first difference at %llu, %llu differences%s",
           name, (unsigned long long)a, (unsigned long long)(cycles / DM_GB_FRAME_CYCLES),
           (unsigned long long)first, (unsigned long long)meetings, met ? "" : ", DIVERGED by ");
    if (!met)
        printf("%s at PC %04X", cause_name(last, text), r->ours.seen[(a - 1) % RING].pc);
    printf(";");
    for (unsigned i = 0; i <= CAUSE_OTHER; i++)
        if (r->causes[i] > 0)
            printf(" %s:%u", cause_name(i, text), r->causes[i]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t frames = 1000, seed = 1;
    run *r = malloc(sizeof *r);
    if (r == NULL)
        return 2;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--frames") == 0 && i + 1 < argc) {
            frames = strtoull(argv[++i], NULL, 0);
            continue;
        }
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
            continue;
        }
        dm_error err;
        char *bytes;
        size_t size;
        memset(r, 0, sizeof *r);
        if (dm_file_read(argv[i], 0, &bytes, &size, &err) != DM_OK ||
            dm_lockstep_create(&r->pair, bytes, size, false, &err) != DM_OK) {
            fprintf(stderr, "dm-lockstep-roms: %s\n", err.message);
            continue;
        }
        dm_lockstep_align(&r->pair);
        const char *slash = strrchr(argv[i], '/');
        run_rom(r, slash != NULL ? slash + 1 : argv[i], frames, seed);
        dm_lockstep_destroy(&r->pair);
        free(bytes);
    }
    free(r);
    return 0;
}
