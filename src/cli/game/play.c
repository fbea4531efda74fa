/* SPDX-License-Identifier: MIT */
/* play.c - see play.h. */
#include "cli/game/play.h"

#include "romtools/disasm.h"

#include <inttypes.h>

/* Frames between two looks at the serial port and the progress bar. */
#define STRETCH 256u

/* A picture is complete when the two frames before it were drawn: a run's frames and the screen's
 * do not begin at the same time. */
#define FRAMES_OF_A_PICTURE 2u

/* ---- Serial ---- */

static void show_byte(dm_play *play, uint8_t byte)
{
    if ((byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t')
        putc(byte, play->serial);
    else
        fprintf(play->serial, "\\x%02X", byte);
    play->sent_line_open = byte != '\n';
}

static dm_status take_serial(dm_play *play, dm_error *err)
{
    size_t size;
    const uint8_t *bytes = dm_gb_serial_output(play->gb, &size);
    if (size == 0)
        return DM_OK;
    if (play->serial == NULL)
        dm_buffer_append(&play->sent, bytes, size);
    for (size_t i = 0; i < size && play->serial != NULL; i++)
        show_byte(play, bytes[i]);
    dm_gb_serial_clear(play->gb);
    return dm_buffer_check(&play->sent, err);
}

/* ---- One instruction at a time ---- */

static bool is_breakpoint(const dm_play *play, const dm_gb_registers *r)
{
    if (!r->halted && !r->stopped && !r->locked)
        for (size_t i = 0; i < play->breakpoint_count; i++)
            if (play->breakpoints[i] == r->pc)
                return true;
    return false;
}

static void trace_line(const dm_play *play, const uint8_t bytes[3], const dm_gb_registers *r,
                       uint64_t cycle, bool executed, uint16_t pc_after)
{
    char code[16] = "", text[DM_GB_DISASM_MAX] = "";
    if (executed) {
        unsigned length = dm_gb_disasm(bytes, 3, r->pc, text, sizeof text);
        for (unsigned i = 0; i < length && i < 3; i++)
            snprintf(code + 3 * i, sizeof code - 3 * i, "%02X ", bytes[i]);
    } else {
        snprintf(text, sizeof text, "interrupt to $%04X", pc_after);
    }
    fprintf(play->trace,
            "%10" PRIu64 "  %04X  %-9s %-20s A=%02X F=%c%c%c%c BC=%02X%02X DE=%02X%02X "
            "HL=%02X%02X SP=%04X\n",
            cycle, r->pc, code, text, r->a, r->f & 0x80 ? 'Z' : '-', r->f & 0x40 ? 'N' : '-',
            r->f & 0x20 ? 'H' : '-', r->f & 0x10 ? 'C' : '-', r->b, r->c, r->d, r->e, r->h, r->l,
            r->sp);
}

/* The registers shown are those before the instruction. HALT and STOP show once, not while they
 * last: no instruction is executed then and PC stays. */
static void trace_step(dm_play *play)
{
    dm_gb_registers before = dm_gb_get_registers(play->gb);
    dm_gb_counters counters = dm_gb_get_counters(play->gb);
    uint8_t bytes[3];
    for (unsigned i = 0; i < 3; i++)
        bytes[i] = dm_gb_peek(play->gb, (uint16_t)(before.pc + i));
    dm_gb_step(play->gb);
    bool executed = dm_gb_get_counters(play->gb).instructions != counters.instructions;
    uint16_t pc = dm_gb_get_registers(play->gb).pc;
    if (!executed && pc == before.pc)
        return;
    trace_line(play, bytes, &before, counters.cycles, executed, pc);
    play->traced++;
}

static bool is_tracing(const dm_play *play)
{
    return play->trace != NULL && play->traced < play->trace_limit;
}

/* Up to T-cycle `end`; false at a breakpoint. */
static bool step_until(dm_play *play, uint64_t end)
{
    while (dm_gb_get_counters(play->gb).cycles < end) {
        if (is_tracing(play))
            trace_step(play);
        else
            dm_gb_step(play->gb);
        dm_gb_registers r = dm_gb_get_registers(play->gb);
        if (is_breakpoint(play, &r))
            return false;
        if (r.locked)
            return true;
    }
    return true;
}

/* ---- Frames ---- */

/* Press what the script says for the frame that comes next; returns the frame up to which that
 * holds. */
static uint64_t press(dm_play *play)
{
    const dm_gb_script *script = play->script;
    for (;
         play->script_next < script->count && script->lines[play->script_next].frame <= play->done;
         play->script_next++) {
        play->keys = script->lines[play->script_next].keys;
        dm_gb_set_keys(play->gb, play->keys);
    }
    return play->script_next < script->count ? script->lines[play->script_next].frame : UINT64_MAX;
}

/* The frame after which the screen is looked at next. */
static uint64_t next_look(const dm_play *play)
{
    if (play->gif == NULL)
        return play->draw_last ? play->frames : UINT64_MAX;
    uint64_t look = play->done - play->done % play->every + play->every;
    return look < play->frames ? look : play->frames;
}

/* Run frames without a change of keys, at most up to `until`. */
static void run_stretch(dm_play *play, uint64_t until)
{
    uint64_t look = next_look(play);
    enum dm_gb_draw draw = DM_GB_DRAW_ALWAYS;
    if (look - play->done > FRAMES_OF_A_PICTURE) {
        look -= FRAMES_OF_A_PICTURE;
        draw = DM_GB_DRAW_NEVER;
    }
    uint64_t frames = (until < look ? until : look) - play->done;
    if (play->reward != NULL) { /* to the step's end */
        const uint64_t left = play->reward->frames - play->done % play->reward->frames;
        frames = frames < left ? frames : left;
    }
    if (play->stepped) {
        /* Stepping has gone past the frame's end by part of an instruction: fall in step again. */
        uint64_t end = play->start + (play->done + 1) * DM_GB_FRAME_CYCLES;
        dm_gb_run_cycles(play->gb, (uint32_t)(end - dm_gb_get_counters(play->gb).cycles), draw);
        play->stepped = false;
        frames = 1;
    } else {
        const uint64_t most = play->hooks != NULL ? 1 : STRETCH;
        frames = frames < most ? frames : most;
        dm_gb_run_frames(play->gb, (uint32_t)frames, draw);
    }
    play->done += frames;
}

static dm_status look(dm_play *play, uint64_t *looked, dm_error *err)
{
    if (play->gif == NULL || play->done == *looked ||
        (play->done % play->every != 0 && play->done != play->frames))
        return DM_OK;
    uint64_t frames = play->done - *looked;
    *looked = play->done;
    return dm_gb_gif_add(play->gif, dm_gb_frame(play->gb), (uint32_t)frames, err);
}

dm_status dm_play_run(dm_play *play, dm_error *err)
{
    uint64_t looked = 0;
    dm_status status = DM_OK;
    play->start = dm_gb_get_counters(play->gb).cycles;
    play->end = DM_PLAY_ALL_FRAMES;
    while (play->done < play->frames && play->end == DM_PLAY_ALL_FRAMES && status == DM_OK) {
        uint64_t keys_end = press(play), before = play->done;
        if (play->breakpoint_count > 0 || is_tracing(play)) {
            play->stepped = true;
            if (step_until(play, play->start + (play->done + 1) * DM_GB_FRAME_CYCLES))
                play->done++;
            else
                play->end = DM_PLAY_BREAKPOINT;
        } else {
            run_stretch(play, keys_end < play->frames ? keys_end : play->frames);
        }
        if (play->end == DM_PLAY_ALL_FRAMES && dm_gb_get_registers(play->gb).locked)
            play->end = DM_PLAY_LOCKED;
        if (play->hooks != NULL)
            dm_run_hooks_note(play->hooks, dm_gb_take_hooks(play->gb), before);
        status = take_serial(play, err);
        if (status == DM_OK && play->reward != NULL && play->done != before &&
            play->done % play->reward->frames == 0)
            status = dm_reward_single_step(play->reward, play->keys, err);
        if (play->reward != NULL && play->reward->over)
            play->end = DM_PLAY_EPISODE;
        if (status == DM_OK)
            status = look(play, &looked, err);
        dm_progress_add(play->progress, play->done - before);
    }
    /* Stopped early, or nothing was run: the GIF still shows what there is. */
    if (status == DM_OK && play->gif != NULL && (looked < play->done || play->done == 0))
        status = dm_gb_gif_add(play->gif, dm_gb_frame(play->gb),
                               play->done > looked ? (uint32_t)(play->done - looked) : 1, err);
    return status;
}
