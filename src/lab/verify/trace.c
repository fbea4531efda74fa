/* SPDX-License-Identifier: MIT */
/* trace.c - two machines side by side, instruction by instruction. */
#include "lab/verify/trace.h"
#include "romtools/disasm.h"

#include <inttypes.h>
#include <string.h>

static const dm_lab_kind *stand_in(const dm_lab_kind *kind)
{
    return kind->step_instruction != NULL ? kind : kind->alone;
}

dm_status dm_lab_trace_create(dm_lab_trace *trace, const dm_lab_verify *v, bool *has_both,
                              dm_error *err)
{
    *trace = (dm_lab_trace){.ignore = v->ignore};
    const dm_lab_kind *kinds[2] = {stand_in(v->reference), stand_in(v->dut)};
    dm_lab_desc desc = {.rom = v->rom,
                        .rom_size = v->rom_size,
                        .count = 1,
                        .frames_per_step = v->frames_per_step,
                        .release_after_frames = v->release_after_frames,
                        .start = v->start,
                        .state = v->state,
                        .force_dmg = v->force_dmg,
                        .exact = true};
    dm_status status = DM_OK;
    for (int i = 0; i < 2 && status == DM_OK; i++)
        if (kinds[i] != NULL && kinds[i]->step_instruction != NULL)
            status = dm_lab_backend_create(kinds[i], &desc, &trace->sides[i], err);
    *has_both = trace->sides[0].kind != NULL && trace->sides[1].kind != NULL;
    if (status != DM_OK)
        dm_lab_trace_destroy(trace);
    return status;
}

void dm_lab_trace_destroy(dm_lab_trace *trace)
{
    for (int i = 0; i < 2; i++)
        if (trace->sides[i].kind != NULL)
            dm_lab_backend_destroy(&trace->sides[i]);
}

dm_status dm_lab_trace_skip(dm_lab_trace *trace, uint8_t keys, dm_error *err)
{
    dm_status status = DM_OK;
    for (int i = 0; i < 2 && status == DM_OK; i++) {
        if (trace->sides[i].kind == NULL)
            continue;
        trace->frame +=
            i == 0 || trace->sides[0].kind == NULL ? trace->sides[i].desc.frames_per_step : 0;
        status = dm_lab_backend_step(&trace->sides[i], &keys, err);
    }
    return status;
}

static dm_status one_instruction(dm_lab_trace *trace, int side, dm_error *err)
{
    dm_lab_backend *b = &trace->sides[side];
    dm_lab_trace_line *line = &trace->lines[side][trace->count % DM_LAB_TRACE_LINES];
    dm_lab_view before;
    dm_status status = b->kind->look(b->self, 0, &before, err);
    line->pc = before.registers.pc;
    for (unsigned i = 0; i < sizeof line->code && status == DM_OK; i++)
        status = b->kind->read(b->self, 0, (uint16_t)(line->pc + i), &line->code[i], 1, err);
    if (status != DM_OK)
        return status;
    b->kind->step_instruction(b->self);
    return b->kind->look(b->self, 0, &line->after, err);
}

/* Up to the end of the frame on the side that there is (both where there are both). */
static dm_status frame_by_instruction(dm_lab_trace *trace, uint8_t keys, bool *same, dm_error *err)
{
    uint64_t end = (trace->frame + 1) * DM_GB_FRAME_CYCLES, before = 0;
    bool ended = false;
    for (int i = 0; i < 2; i++)
        if (trace->sides[i].kind != NULL)
            trace->sides[i].kind->set_keys(trace->sides[i].self, keys);
    *same = true;
    while (!ended && *same) {
        const dm_lab_view *seen[2] = {NULL, NULL};
        for (int i = 0; i < 2; i++) {
            if (trace->sides[i].kind == NULL)
                continue;
            dm_status status = one_instruction(trace, i, err);
            if (status != DM_OK)
                return status;
            seen[i] = &trace->lines[i][trace->count % DM_LAB_TRACE_LINES].after;
        }
        trace->count++;
        if (seen[0] != NULL && seen[1] != NULL)
            *same = dm_lab_views_same(seen[0], seen[1], trace->ignore);
        const dm_lab_view *one = seen[1] != NULL ? seen[1] : seen[0];
        if (one == NULL)
            break; /* neither side can */
        uint64_t now = one->cycles;
        ended = now >= end || now == before; /* the latter: nothing moves any more */
        before = now;
    }
    trace->frame += *same;
    return DM_OK;
}

dm_status dm_lab_trace_step(dm_lab_trace *trace, uint8_t keys, bool *same, dm_error *err)
{
    const dm_lab_desc *d =
        &(trace->sides[0].kind != NULL ? &trace->sides[0] : &trace->sides[1])->desc;
    dm_status status = DM_OK;
    *same = true;
    for (uint32_t i = 0; i < d->frames_per_step && *same && status == DM_OK; i++)
        status = frame_by_instruction(trace, i < d->release_after_frames ? keys : 0, same, err);
    return status;
}

static void print_line(const dm_lab_trace_line *line, dm_buffer *out)
{
    char text[DM_GB_DISASM_MAX];
    const dm_gb_registers *r = &line->after.registers;
    dm_gb_disasm(line->code, sizeof line->code, line->pc, text, sizeof text);
    dm_buffer_printf(out,
                     "  %04X  %-18s AF=%02X%02X BC=%02X%02X DE=%02X%02X HL=%02X%02X SP=%04X "
                     "cycle %" PRIu64 "\n",
                     line->pc, text, r->a, r->f, r->b, r->c, r->d, r->e, r->h, r->l, r->sp,
                     line->after.cycles);
}

void dm_lab_trace_print(const dm_lab_trace *trace, dm_buffer *out)
{
    static const char *const titles[2] = {"reference", "under test"};
    uint64_t shown = trace->count < DM_LAB_TRACE_LINES ? trace->count : DM_LAB_TRACE_LINES;
    for (int side = 0; side < 2; side++) {
        if (trace->sides[side].kind == NULL)
            continue;
        dm_buffer_printf(out, "%s (%s), the last %" PRIu64 " instructions, registers after each:\n",
                         titles[side], trace->sides[side].kind->name, shown);
        for (uint64_t i = trace->count - shown; i < trace->count; i++)
            print_line(&trace->lines[side][i % DM_LAB_TRACE_LINES], out);
    }
}

static void explain_end(const dm_lab_trace *t, bool has_both, bool same, uint64_t step,
                        dm_buffer *out)
{
    const dm_lab_trace_line *last = &t->lines[1][(t->count - 1) % DM_LAB_TRACE_LINES];
    char text[DM_GB_DISASM_MAX];
    if (!has_both) {
        dm_buffer_puts(out, "one side cannot be stepped by instruction; the other one's trace up "
                            "to the comparison:\n");
    } else if (same) {
        dm_buffer_printf(out,
                         "instruction by instruction the machines do not differ up to step "
                         "%" PRIu64 ": the difference is in what was compared besides the "
                         "processor, or in the vector around the machine\n",
                         step);
    } else {
        dm_gb_disasm(last->code, sizeof last->code, last->pc, text, sizeof text);
        dm_buffer_printf(out,
                         "first differing instruction: %04X %s, instruction %" PRIu64
                         " of the trace, frame %" PRIu64 "\n",
                         last->pc, text, t->count, t->frame);
    }
    dm_lab_trace_print(t, out);
}

dm_status dm_lab_trace_explain(const dm_lab_verify *v, const dm_lab_verdict *verdict,
                               dm_buffer *out, dm_error *err)
{
    dm_lab_trace trace;
    bool has_both, same = true;
    dm_status status = dm_lab_trace_create(&trace, v, &has_both, err);
    if (status != DM_OK)
        return status;
    uint64_t step = 0;
    for (; step < verdict->step && same && status == DM_OK; step++) {
        uint8_t keys;
        dm_lab_actions_keys(&v->actions, verdict->machine, 1, step, &keys);
        if (step < verdict->last_good || (!has_both && step + 1 < verdict->step))
            status = dm_lab_trace_skip(&trace, keys, err);
        else if (trace.sides[0].kind != NULL || trace.sides[1].kind != NULL)
            status = dm_lab_trace_step(&trace, keys, &same, err);
    }
    if (status == DM_OK && trace.count > 0)
        explain_end(&trace, has_both, same, step, out);
    dm_lab_trace_destroy(&trace);
    return status;
}
