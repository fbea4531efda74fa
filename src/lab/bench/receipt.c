/* SPDX-License-Identifier: MIT */
/* receipt.c - the state of the machines that a figure was measured on.
 *
 * A GPU is fastest when the machines of a warp execute the same instructions. The receipt says how
 * far apart they were: the number of different PCs, of machines of a warp that shared one, and of
 * different states. */
#include "base/hash.h"
#include "lab/bench/subject.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_MAX 4096u /* machines looked at */
#define HASHED_MAX 16u /* machines whose hashes go into the artifact's */
#define WORK_RAM 0xC000u
#define WORK_RAM_SIZE 0x2000u

static int compare_pcs(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many of them differ; sorts them. */
static uint64_t different_pcs(uint16_t *pcs, uint64_t count)
{
    uint64_t different = count > 0;
    qsort(pcs, count, sizeof *pcs, compare_pcs);
    for (uint64_t i = 1; i < count; i++)
        different += pcs[i] != pcs[i - 1];
    return different;
}

static uint64_t different_hashes(uint64_t *hashes, uint64_t count)
{
    uint64_t different = count > 0;
    qsort(hashes, count, sizeof *hashes, compare_hashes);
    for (uint64_t i = 1; i < count; i++)
        different += hashes[i] != hashes[i - 1];
    return different;
}

static uint64_t hash_state(const dm_gb_registers *r, uint64_t memory)
{
    uint64_t words[3] = {(uint64_t)r->a << 56 | (uint64_t)r->f << 48 | (uint64_t)r->b << 40 |
                             (uint64_t)r->c << 32 | (uint64_t)r->d << 24 | (uint64_t)r->e << 16 |
                             (uint64_t)r->h << 8 | r->l,
                         (uint64_t)r->sp << 16 | r->pc, memory};
    return dm_hash64(words, sizeof words);
}

/* Of a backend that shows no registers: its work RAM and pictures, where it shows those. */
static dm_status look_at_memory(dm_lab_bench_subject *s, bool with_states, dm_error *err)
{
    static uint8_t memory[WORK_RAM_SIZE], picture[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_lab_bench_row *r = &s->row;
    uint64_t hash;
    if (!with_states)
        return DM_OK;
    r->hashed = 1;
    if (s->backend.kind->read(s->backend.self, 0, WORK_RAM, memory, sizeof memory, NULL) == DM_OK) {
        hash = dm_hash64(memory, sizeof memory);
        r->memory_hash = dm_hash64(&hash, sizeof hash);
    }
    if (!r->draws)
        return DM_OK;
    dm_status status = s->backend.kind->picture(s->backend.self, 0, picture, err);
    hash = dm_hash64(picture, sizeof picture);
    r->picture_hash = dm_hash64(&hash, sizeof hash);
    return status;
}

dm_status dm_lab_bench_count_blank(dm_lab_bench_subject *s, dm_error *err)
{
    static uint8_t picture[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_lab_bench_row *r = &s->row;
    dm_status status = DM_OK;
    r->blank = 0;
    for (uint64_t i = 0; i < r->hashed && status == DM_OK; i++) {
        status = s->backend.kind->picture(s->backend.self, i, picture, err);
        r->blank += memcmp(picture, picture + 1, sizeof picture - 1) == 0;
    }
    return status;
}

dm_status dm_lab_bench_look(dm_lab_bench_subject *s, bool with_states, dm_error *err)
{
    static uint16_t pcs[SEEN_MAX];
    static uint64_t states[SEEN_MAX], memories[HASHED_MAX], pictures[HASHED_MAX];
    static uint8_t memory[WORK_RAM_SIZE], picture[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_lab_bench_row *r = &s->row;
    const dm_lab_kind *kind = s->backend.kind;
    void *self = s->backend.self;
    dm_status status = DM_OK;
    if (kind->look == NULL)
        return look_at_memory(s, with_states, err);
    r->seen = r->machines < SEEN_MAX ? r->machines : SEEN_MAX;
    r->hashed = r->machines < HASHED_MAX ? r->machines : HASHED_MAX;
    s->instructions = s->halted = s->cycles = 0;
    for (uint64_t i = 0; i < r->seen && status == DM_OK; i++) {
        dm_lab_view view = {0};
        status = kind->look(self, i, &view, err);
        pcs[i] = view.registers.pc;
        s->instructions += view.has_instructions ? view.instructions : 0;
        s->halted += view.halted;
        s->cycles += view.cycles;
        if (status != DM_OK || !with_states)
            continue;
        status = kind->read(self, i, WORK_RAM, memory, sizeof memory, err);
        uint64_t hash = dm_hash64(memory, sizeof memory);
        states[i] = hash_state(&view.registers, hash);
        if (i >= r->hashed)
            continue;
        memories[i] = hash;
        if (status == DM_OK && r->draws)
            status = kind->picture(self, i, picture, err);
        pictures[i] = dm_hash64(picture, sizeof picture);
    }
    if (status != DM_OK)
        return status;
    if (with_states) {
        r->memory_hash = dm_hash64(memories, r->hashed * sizeof memories[0]);
        r->picture_hash = dm_hash64(pictures, r->hashed * sizeof pictures[0]);
        r->state_hash = dm_hash64(states, r->seen * sizeof states[0]);
        r->different = different_hashes(states, r->seen); /* sorts them */
    }
    uint64_t groups = 0;
    for (uint64_t i = 0; i < r->seen; i += 32)
        groups += different_pcs(pcs + i, r->seen - i < 32 ? r->seen - i : 32);
    r->lanes_same_pc = (double)r->seen / (double)groups;
    r->unique_pcs = different_pcs(pcs, r->seen);
    return DM_OK;
}
