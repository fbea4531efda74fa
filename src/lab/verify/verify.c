/* SPDX-License-Identifier: MIT */
/* verify.c - two backends in lockstep: the loop, the comparisons, slack; see verify.h. */
#include "lab/verify/verify.h"
#include "base/hash.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "lab/verify/recording.h"
#include "lab/verify/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE ((size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H)

/* ---- Names ---- */

static const char *const field_names[] = {"pc", "sp", "a", "f",      "b",     "c", "d",
                                          "e",  "h",  "l", "cycles", "stack", NULL};

dm_status dm_lab_fields_parse(const char *text, uint32_t *mask, dm_error *err)
{
    char words[256], *save = NULL;
    snprintf(words, sizeof words, "%s", text);
    for (char *w = strtok_r(words, ", ", &save); w != NULL; w = strtok_r(NULL, ", ", &save)) {
        unsigned i = 0;
        while (field_names[i] != NULL && strcmp(field_names[i], w) != 0)
            i++;
        if (field_names[i] != NULL)
            *mask |= 1u << i;
        else if (strcmp(w, "registers") == 0)
            *mask |= DM_LAB_REGISTERS;
        else
            return dm_fail(err, DM_EINVAL,
                           "'%.32s' cannot be ignored; pc, sp, a, f, b, c, d, e, h, l, registers, "
                           "cycles, stack",
                           w);
    }
    return DM_OK;
}

void dm_lab_fields_text(uint32_t mask, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; field_names[i] != NULL && used < size; i++)
        if (mask >> i & 1u)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "," : "",
                                     field_names[i]);
}

uint32_t dm_lab_fields_unseen(const dm_lab_kind *reference, const dm_lab_kind *dut)
{
    return reference->look == NULL || dut->look == NULL ? DM_LAB_REGISTERS | DM_LAB_CYCLES : 0;
}

static bool parse_hex(const char *text, char **end, unsigned long *out)
{
    if (strspn(text, "0123456789abcdefABCDEFxX$") == 0)
        return false;
    *out = strtoul(text[0] == '$' ? text + 1 : text, end, 16);
    return *end != text;
}

dm_status dm_lab_region_parse(const char *text, dm_swarm_region *out, dm_error *err)
{
    unsigned long low, high;
    char *end;
    if (!parse_hex(text, &end, &low) || *end != ':' || !parse_hex(end + 1, &end, &high) ||
        *end != 0 || low >= high || high > 0x10000 || high - low > 0x8000)
        return dm_fail(err, DM_EINVAL, "'%.64s' is no region such as C000:C100", text);
    *out = (dm_swarm_region){(uint16_t)low, (uint16_t)(high - low)};
    return DM_OK;
}

/* ---- Comparing ---- */

typedef struct run {
    const dm_lab_verify *v;
    dm_lab_backend sides[2];
    dm_lab_verdict *out;
    uint8_t *keys, *bytes[2], *pictures[2];
    dm_lab_recorder *recorder; /* NULL: none */
} run;

bool dm_lab_views_same(const dm_lab_view *a, const dm_lab_view *b, uint32_t ignore)
{
    const dm_gb_registers *r = &a->registers, *s = &b->registers;
    return (r->pc == s->pc || (ignore & DM_LAB_PC)) && (r->sp == s->sp || (ignore & DM_LAB_SP)) &&
           (r->a == s->a || (ignore & DM_LAB_A)) && (r->f == s->f || (ignore & DM_LAB_F)) &&
           (r->b == s->b || (ignore & DM_LAB_B)) && (r->c == s->c || (ignore & DM_LAB_C)) &&
           (r->d == s->d || (ignore & DM_LAB_D)) && (r->e == s->e || (ignore & DM_LAB_E)) &&
           (r->h == s->h || (ignore & DM_LAB_H)) && (r->l == s->l || (ignore & DM_LAB_L)) &&
           (a->cycles == b->cycles || (ignore & DM_LAB_CYCLES));
}

static void say_registers(const dm_lab_view *a, const dm_lab_view *b, uint32_t ignore,
                          dm_buffer *diff)
{
    const dm_gb_registers *r = &a->registers, *s = &b->registers;
    const struct {
        const char *name;
        unsigned a, b;
        int digits;
    } fields[] = {{"PC", r->pc, s->pc, 4}, {"SP", r->sp, s->sp, 4}, {"A", r->a, s->a, 2},
                  {"F", r->f, s->f, 2},    {"B", r->b, s->b, 2},    {"C", r->c, s->c, 2},
                  {"D", r->d, s->d, 2},    {"E", r->e, s->e, 2},    {"H", r->h, s->h, 2},
                  {"L", r->l, s->l, 2}};
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].a != fields[i].b && !(ignore >> i & 1u))
            dm_buffer_printf(diff, "%s: reference %0*X, under test %0*X\n", fields[i].name,
                             fields[i].digits, fields[i].a, fields[i].digits, fields[i].b);
    static const char flags[] = "ZNHC";
    for (unsigned i = 0; i < 4 && !(ignore & DM_LAB_F); i++)
        if (((r->f ^ s->f) >> (7 - i)) & 1u)
            dm_buffer_printf(diff, "flag %c: reference %d, under test %d\n", flags[i],
                             r->f >> (7 - i) & 1, s->f >> (7 - i) & 1);
    if (a->has_cycles && b->has_cycles && a->cycles != b->cycles && !(ignore & DM_LAB_CYCLES))
        dm_buffer_printf(diff, "cycles: reference %" PRIu64 ", under test %" PRIu64 "\n", a->cycles,
                         b->cycles);
    if (a->has_instructions && b->has_instructions && a->instructions != b->instructions &&
        !(ignore & DM_LAB_CYCLES))
        dm_buffer_printf(diff, "instructions: reference %" PRIu64 ", under test %" PRIu64 "\n",
                         a->instructions, b->instructions);
}

/* How many bytes differ, and the first of them. Dead ones below SP do not count where `ignore`
 * says so. */
static size_t differing(const dm_swarm_region *r, const uint8_t *a, const uint8_t *b, uint16_t sp,
                        uint32_t ignore, size_t *first)
{
    size_t count = 0;
    for (size_t i = 0; i < r->size; i++) {
        bool dead = (ignore & DM_LAB_STACK) != 0 &&
                    (uint16_t)(sp - 1 - (r->address + i)) < DM_LAB_STACK_BYTES;
        if (a[i] != b[i] && !dead && count++ == 0)
            *first = i;
    }
    return count;
}

static void say_bytes(const dm_swarm_region *r, const uint8_t *a, const uint8_t *b, uint16_t sp,
                      uint32_t ignore, dm_buffer *diff)
{
    size_t first = 0, count = differing(r, a, b, sp, ignore, &first);
    if (count == 0)
        return;
    dm_buffer_printf(diff,
                     "memory %04X:%04X: %zu bytes differ, hashes %016" PRIx64 " and %016" PRIx64
                     "; first at %04zX: reference %02X, under test %02X\n",
                     r->address, r->address + r->size, count, dm_hash64(a, r->size),
                     dm_hash64(b, r->size), r->address + first, a[first], b[first]);
}

static void say_picture(const uint8_t *a, const uint8_t *b, dm_buffer *diff)
{
    size_t first = 0, count = 0;
    for (size_t i = 0; i < PICTURE; i++)
        if (a[i] != b[i] && count++ == 0)
            first = i;
    if (count > 0)
        dm_buffer_printf(diff,
                         "picture: %zu pixels differ; first at (%zu, %zu): reference %d, under "
                         "test %d\n",
                         count, first % DM_GB_SCREEN_W, first / DM_GB_SCREEN_W, a[first], b[first]);
}

/* Keep what is known of a side. */
static dm_status keep(run *r, int side, const dm_lab_view *view, dm_lab_side *out, dm_error *err)
{
    dm_lab_backend *b = &r->sides[side];
    const uint8_t *bytes = r->bytes[side];
    out->view = *view;
    for (size_t i = 0; i < r->v->region_count; i++) {
        size_t size = r->v->regions[i].size;
        out->regions[i] = malloc(size);
        if (out->regions[i] == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        memcpy(out->regions[i], bytes, size);
        bytes += size;
    }
    if (r->v->compare_frame) {
        out->picture = malloc(PICTURE);
        if (out->picture == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        memcpy(out->picture, r->pictures[side], PICTURE);
    }
    return b->kind->save != NULL ? b->kind->save(b->self, r->out->machine, &out->state, err)
                                 : DM_OK;
}

static dm_status fetch(run *r, int side, uint64_t machine, dm_lab_view *view, dm_error *err)
{
    dm_lab_backend *b = &r->sides[side];
    uint8_t *to = r->bytes[side];
    *view = (dm_lab_view){0};
    dm_status status = b->kind->look != NULL ? b->kind->look(b->self, machine, view, err) : DM_OK;
    for (size_t i = 0; i < r->v->region_count && status == DM_OK; i++) {
        const dm_swarm_region *region = &r->v->regions[i];
        status = b->kind->read(b->self, machine, region->address, to, region->size, err);
        to += region->size;
    }
    if (status == DM_OK && r->v->compare_frame)
        status = b->kind->picture(b->self, machine, r->pictures[side], err);
    return status;
}

/* ---- Slack: do they meet a little later? ---- */

#define FOLLOW_MAX 512 /* instructions */

/* Step a copy of the machine through the slack. With `views` the state after each instruction is kept
 * there; otherwise it runs `*count` instructions and its regions are read to `bytes`. */
static dm_status follow(run *r, int side, uint64_t machine, dm_lab_view *views, size_t *count,
                        uint8_t *bytes, dm_error *err)
{
    dm_lab_backend *b = &r->sides[side], fork = {0};
    dm_lab_view view;
    size_t most = views != NULL ? FOLLOW_MAX : *count + 1, i = 0;
    dm_status status = b->kind->fork(b->self, machine, &b->desc, &fork, err);
    if (status == DM_OK)
        status = fork.kind->look(fork.self, 0, &view, err);
    uint64_t end = status == DM_OK ? view.cycles + r->v->slack : 0;
    for (; i < most && status == DM_OK && (views == NULL || view.cycles <= end); i++) {
        if (i > 0) {
            fork.kind->step_instruction(fork.self);
            status = fork.kind->look(fork.self, 0, &view, err);
        }
        if (views != NULL)
            views[i] = view;
    }
    *count = i;
    for (size_t k = 0; k < r->v->region_count && views == NULL && status == DM_OK; k++) {
        const dm_swarm_region *region = &r->v->regions[k];
        status = fork.kind->read(fork.self, 0, region->address, bytes, region->size, err);
        bytes += region->size;
    }
    dm_lab_backend_destroy(&fork);
    return status;
}

/* The nearest places (numbers of instructions on) where both have the same registers. */
static bool find_meeting(const run *r, dm_lab_view *const views[2], const size_t counts[2],
                         size_t at[2])
{
    for (size_t sum = 1; sum < counts[0] + counts[1] - 1; sum++)
        for (size_t i = sum < counts[1] ? 0 : sum - counts[1] + 1; i <= sum && i < counts[0]; i++) {
            if (dm_lab_views_same(&views[0][i], &views[1][sum - i], r->v->ignore | DM_LAB_CYCLES)) {
                at[0] = i;
                at[1] = sum - i;
                return true;
            }
        }
    return false;
}

static dm_status meet(run *r, uint64_t machine, dm_lab_view *const views[2],
                      uint8_t *const bytes[2], bool *met, dm_error *err)
{
    size_t counts[2] = {0, 0}, at[2], offset = 0, first;
    dm_status status = follow(r, 0, machine, views[0], &counts[0], NULL, err);
    if (status == DM_OK)
        status = follow(r, 1, machine, views[1], &counts[1], NULL, err);
    if (status != DM_OK || !find_meeting(r, views, counts, at))
        return status;
    for (int side = 0; side < 2 && status == DM_OK; side++) {
        size_t count = at[side];
        status = follow(r, side, machine, NULL, &count, bytes[side], err);
    }
    *met = status == DM_OK;
    for (size_t i = 0; i < r->v->region_count && *met; i++) {
        const dm_swarm_region *region = &r->v->regions[i];
        *met = differing(region, bytes[0] + offset, bytes[1] + offset, views[1][at[1]].registers.sp,
                         r->v->ignore, &first) == 0;
        offset += region->size;
    }
    for (int side = 0; side < 2 && *met; side++) {
        uint64_t after = views[side][at[side]].cycles - views[side][0].cycles;
        r->out->met_most = after > r->out->met_most ? after : r->out->met_most;
    }
    return status;
}

/* Is the difference within the slack? Then it is counted and forgiven. */
static dm_status forgive(run *r, uint64_t machine, dm_error *err)
{
    dm_lab_verdict *out = r->out;
    bool met = false;
    if (r->sides[0].kind->fork == NULL || r->sides[1].kind->fork == NULL)
        return DM_OK;
    size_t size = 1;
    for (size_t i = 0; i < r->v->region_count; i++)
        size += r->v->regions[i].size;
    dm_lab_view *views[2];
    uint8_t *bytes[2];
    for (int i = 0; i < 2; i++) {
        views[i] = malloc(FOLLOW_MAX * sizeof *views[i]);
        bytes[i] = malloc(size);
    }
    dm_status status = views[0] != NULL && views[1] != NULL && bytes[0] != NULL && bytes[1] != NULL
                           ? meet(r, machine, views, bytes, &met, err)
                           : dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < 2; i++) {
        free(views[i]);
        free(bytes[i]);
    }
    if (status == DM_OK && met) {
        dm_buffer_clear(&out->diff);
        out->met++;
    }
    return status;
}

static dm_status compare_machine(run *r, uint64_t machine, uint64_t step, dm_error *err)
{
    dm_lab_verdict *out = r->out;
    dm_lab_view views[2];
    dm_status status = fetch(r, 0, machine, &views[0], err);
    if (status == DM_OK)
        status = fetch(r, 1, machine, &views[1], err);
    if (status != DM_OK)
        return status;
    if (r->recorder != NULL)
        status = dm_lab_recorder_add(r->recorder, step, &views[0], r->bytes[0],
                                     r->v->compare_frame ? r->pictures[0] : NULL, err);
    if (status != DM_OK)
        return status;
    size_t at = 0;
    uint32_t ignore = r->v->ignore;
    if (r->v->slack > 0 && llabs((long long)(views[0].cycles - views[1].cycles)) <= r->v->slack)
        ignore |= DM_LAB_CYCLES;
    say_registers(&views[0], &views[1], ignore, &out->diff);
    for (size_t i = 0; i < r->v->region_count; i++) {
        say_bytes(&r->v->regions[i], r->bytes[0] + at, r->bytes[1] + at, views[1].registers.sp,
                  r->v->ignore, &out->diff);
        at += r->v->regions[i].size;
    }
    bool near = llabs((long long)(views[0].cycles - views[1].cycles)) <= r->v->slack;
    if (out->diff.size > 0 && r->v->slack > 0 && near) {
        status = forgive(r, machine, err);
        if (status != DM_OK)
            return status;
    }
    if (r->v->compare_frame && step > 0)
        say_picture(r->pictures[0], r->pictures[1], &out->diff);
    out->compared++;
    if (out->diff.size == 0)
        return dm_buffer_check(&out->diff, err);
    out->matched = false;
    out->step = step;
    out->machine = machine;
    status = keep(r, 0, &views[0], &out->reference, err);
    return status != DM_OK ? status : keep(r, 1, &views[1], &out->dut, err);
}

static dm_status compare(run *r, uint64_t step, dm_error *err)
{
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < r->v->envs && r->out->matched && status == DM_OK; i++)
        status = compare_machine(r, i, step, err);
    if (status == DM_OK && r->out->matched)
        r->out->last_good = step;
    return status;
}

/* ---- Running ---- */

static dm_status create(run *r, dm_error *err)
{
    const dm_lab_verify *v = r->v;
    const dm_lab_kind *kinds[2] = {v->reference, v->dut};
    size_t bytes = 1;
    for (size_t i = 0; i < v->region_count; i++)
        bytes += v->regions[i].size;
    dm_lab_desc desc = {.rom = v->rom,
                        .rom_size = v->rom_size,
                        .count = v->envs,
                        .frames_per_step = v->frames_per_step,
                        .release_after_frames = v->release_after_frames,
                        .start = v->start,
                        .state = v->state,
                        .force_dmg = v->force_dmg,
                        .draw = v->compare_frame,
                        .exact = true,
                        .regions = v->regions,
                        .region_count = v->region_count,
                        .recording = v->recording};
    uint32_t unseen = dm_lab_fields_unseen(v->reference, v->dut);
    if (unseen != 0 && !v->compare_frame && v->region_count == 0)
        return dm_fail(err, DM_EINVAL,
                       "%s shows no registers: compare pictures, or memory from C000 to E000",
                       (v->reference->look == NULL ? v->reference : v->dut)->name);
    if ((v->ignore & unseen) != unseen)
        return dm_fail(err, DM_EINVAL, "registers and cycles of %s must be ignored: it has none",
                       (v->reference->look == NULL ? v->reference : v->dut)->name);
    r->keys = malloc(v->envs);
    dm_status status = r->keys != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < 2 && status == DM_OK; i++) {
        r->bytes[i] = malloc(bytes);
        r->pictures[i] = calloc(1, PICTURE);
        if (r->bytes[i] == NULL || r->pictures[i] == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
        else
            status = dm_lab_backend_create(kinds[i], &desc, &r->sides[i], err);
    }
    return status;
}

static dm_status run_steps(run *r, dm_progress *bar, dm_error *err)
{
    const dm_lab_verify *v = r->v;
    dm_lab_verdict *out = r->out;
    dm_status status = v->settle == 0 ? compare(r, 0, err) : DM_OK;
    for (uint64_t step = 0; step < v->steps && out->matched && status == DM_OK; step++) {
        if (dm_stop_requested()) {
            out->interrupted = true;
            break;
        }
        dm_lab_actions_keys(&v->actions, 0, v->envs, step, r->keys);
        status = dm_lab_backend_step(&r->sides[0], r->keys, err);
        if (status == DM_OK)
            status = dm_lab_backend_step(&r->sides[1], r->keys, err);
        uint64_t done = step + 1;
        if (status == DM_OK && done >= v->settle &&
            (done % v->compare_every == 0 || done == v->steps))
            status = compare(r, done, err);
        out->steps_done = done;
        dm_progress_add(bar, 1);
    }
    return status;
}

/* Registers after every instruction; memory and picture at the end. */
static dm_status run_instructions(run *r, dm_progress *bar, dm_error *err)
{
    const dm_lab_verify *v = r->v;
    dm_lab_verdict *out = r->out;
    dm_lab_trace trace;
    bool has_both, same = true;
    dm_status status = dm_lab_trace_create(&trace, v, &has_both, err);
    if (status != DM_OK)
        return status;
    if (!has_both || v->envs != 1 || trace.sides[0].kind != v->reference ||
        trace.sides[1].kind != v->dut)
        status = dm_fail(err, DM_EUNSUPPORTED,
                         "--by instruction needs two machines that can: single, mgba_single, "
                         "wrong_single");
    for (uint64_t step = 0; step < v->steps && same && status == DM_OK; step++) {
        if (dm_stop_requested()) {
            out->interrupted = true;
            break;
        }
        uint8_t keys;
        dm_lab_actions_keys(&v->actions, 0, 1, step, &keys);
        status = dm_lab_trace_step(&trace, keys, &same, err);
        out->steps_done = step + 1;
        out->last_good = step;
        dm_progress_add(bar, 1);
    }
    /* The verdict is made of the machines as they stand. */
    out->instructions = trace.count;
    for (int i = 0; i < 2 && status == DM_OK; i++) {
        dm_lab_backend_destroy(&r->sides[i]);
        r->sides[i] = trace.sides[i];
        trace.sides[i] = (dm_lab_backend){0};
    }
    if (status == DM_OK)
        status = compare_machine(r, 0, out->steps_done, err);
    dm_lab_trace_destroy(&trace);
    return status;
}

dm_status dm_lab_verify_run(const dm_lab_verify *v, const char *label, dm_lab_verdict *out,
                            dm_error *err)
{
    run r = {.v = v, .out = out};
    *out = (dm_lab_verdict){.matched = true};
    char name[160];
    dm_status status = v->recording != NULL
                           ? dm_lab_recording_check(v->recording, v, name, sizeof name, err)
                           : DM_OK;
    if (status == DM_OK)
        status = create(&r, err);
    if (status == DM_OK && v->record != NULL)
        status = dm_lab_recorder_create(v, &r.recorder, err);
    dm_progress *bar =
        status == DM_OK && label != NULL ? dm_progress_start(label, "steps", v->steps) : NULL;
    if (status == DM_OK)
        status = v->by_instruction ? run_instructions(&r, bar, err) : run_steps(&r, bar, err);
    dm_progress_finish(bar);
    if (status == DM_OK && r.recorder != NULL && out->matched && !out->interrupted)
        status = dm_lab_recorder_write(r.recorder, v->record, err);
    dm_lab_recorder_destroy(r.recorder);
    for (int i = 0; i < 2; i++) {
        dm_lab_backend_destroy(&r.sides[i]);
        free(r.bytes[i]);
        free(r.pictures[i]);
    }
    free(r.keys);
    if (status != DM_OK)
        dm_lab_verdict_deinit(out);
    return status;
}

static void deinit_side(dm_lab_side *side)
{
    for (size_t i = 0; i < DM_LAB_REGIONS_MAX; i++)
        free(side->regions[i]);
    free(side->picture);
    dm_buffer_deinit(&side->state);
}

void dm_lab_verdict_deinit(dm_lab_verdict *verdict)
{
    deinit_side(&verdict->reference);
    deinit_side(&verdict->dut);
    dm_buffer_deinit(&verdict->diff);
    *verdict = (dm_lab_verdict){0};
}
