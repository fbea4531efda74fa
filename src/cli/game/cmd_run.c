/* SPDX-License-Identifier: MIT */
/* cmd_run.c - `dotmatrix run`: one Game Boy for some frames; pictures, trace, states (play.h runs
 * it). */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/game/play.h"
#include "cli/game/run_swarm.h"
#include "cli/outputs.h"
#include "cli/report.h"
#include "gb/host/rom.h"

#include <dotmatrix/gb.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAMES_WITH_BAR 5000 /* shorter runs need no progress bar */
#define FRAMES_MAX 1000000000

typedef struct run_options {
    const char *rom, *input, *png, *gif, *save, *load, *boot_rom, *battery;
    int64_t frames, scale, every, trace_limit;
    int start;
    bool trace, serial, json, force_dmg;
    dm_strings breakpoints, peeks, pokes, hooks, states, random;
    const char *symbols, *actions;
    /* A swarm's. */
    int backend;
    int64_t envs, steps, seed, frames_per_step;
    const char *stage, *obs, *action_gen, *record, *mosaic, *reward, *actions_file;
    dm_strings given;
} run_options;

enum { SINGLE, VEC_CPU, VEC_CUDA };
static const char *const backend_names[] = {"single", "vec_cpu", "vec_cuda", NULL};
static const char *const start_names[] = {"post-boot", "boot-rom", "zero", NULL};

static const dm_option rows[] = {
    DM_OPTION_STRING(run_options, rom, "rom", "FILE", NULL, "the game"),
    DM_OPTION_INT(run_options, frames, "frames", "N", 0, FRAMES_MAX, "60", "frames to run"),
    DM_OPTION_STRING(
        run_options, input, "input", "FILE", NULL,
        "keys to press: lines of a frame and A,B,START,SELECT,UP,DOWN,LEFT,RIGHT or -"),
    DM_OPTION_STRING(run_options, png, "png", "FILE", NULL, "write the last screen"),
    DM_OPTION_STRING(run_options, gif, "gif", "FILE", NULL, "write an animation"),
    DM_OPTION_INT(run_options, scale, "scale", "N", 1, DM_GB_PICTURE_SCALE_MAX, "1",
                  "enlarge the pictures so many times"),
    DM_OPTION_INT(run_options, every, "every", "N", 1, 1000000, "2",
                  "frames between the pictures of the animation"),
    DM_OPTION_FLAG(run_options, trace, "trace", "print each instruction"),
    DM_OPTION_INT(run_options, trace_limit, "trace-limit", "N", 1, INT64_MAX, "9223372036854775807",
                  "print so many instructions at most"),
    DM_OPTION_FLAG(run_options, serial, "serial", "print what is sent over the serial port"),
    DM_OPTION_STRING(run_options, save, "save", "FILE", NULL, "save the state at the end"),
    DM_OPTION_STRING(run_options, load, "load", "FILE", NULL, "begin with a saved state"),
    DM_OPTION_STRING(run_options, battery, "battery", "FILE", NULL,
                     "cartridge RAM: read if the file exists, written at the end"),
    DM_OPTION_CHOICE(run_options, start, "start", start_names, "post-boot",
                     "how the machine starts"),
    DM_OPTION_STRING(run_options, boot_rom, "boot-rom", "FILE", NULL,
                     "a boot ROM of 256 bytes; implies --start boot-rom"),
    DM_OPTION_FLAG(run_options, force_dmg, "force-dmg",
                   "run a ROM for the Game Boy Color only as on a DMG"),
    DM_OPTION_STRINGS(run_options, breakpoints, "break", "ADDR",
                      "stop when PC gets there (hexadecimal); repeatable"),
    DM_OPTION_STRINGS(run_options, peeks, "peek", "LO:HI",
                      "print memory from LO to before HI at the end; repeatable"),
    DM_OPTION_STRINGS(run_options, pokes, "poke", "ADDR=VAL",
                      "write a byte before the run; repeatable"),
    DM_OPTION_STRINGS(run_options, hooks, "hook", "PLACE",
                      "say when an instruction began there: BANK:ADDR, ADDR or a name; repeatable"),
    DM_OPTION_STRING(run_options, symbols, "symbols", "FILE", NULL,
                     "names for --hook and --reward: a .sym, .noi or .map"),
    DM_OPTION_STRING(run_options, reward, "reward", "FILE", NULL,
                     "a reward program (docs/rewards.md): say what it gives; one machine stops at "
                     "the episode's end"),
    DM_OPTION_FLAG(run_options, json, "json", "write JSON for programs"),
    DM_OPTION_CHOICE(run_options, backend, "backend", backend_names, "single",
                     "one machine, or a swarm; the options below are a swarm's"),
    DM_OPTION_INT(run_options, envs, "envs", "N", 1, INT32_MAX, "64", "machines"),
    DM_OPTION_INT(run_options, steps, "steps", "N", 1, INT32_MAX, "100", "steps to run"),
    DM_OPTION_INT(run_options, frames_per_step, "frames-per-step", "N", 1, 1024, "24",
                  "frames of a step"),
    DM_OPTION_STRING(run_options, stage, "stage", "NAME", "full_step",
                     "emulate_only, reward_only, obs_only or full_step"),
    DM_OPTION_STRING(run_options, obs, "obs", "LIST", "none",
                     "observations: vector,shades,small,packed"),
    DM_OPTION_STRING(run_options, action_gen, "action-gen", "NAME", "seeded_random",
                     "actions: noop, seeded_random or striped"),
    DM_OPTION_STRING(
        run_options, actions_file, "actions-file", "FILE", NULL,
        "actions instead: a line for each step, with one for all machines or one for each"),
    DM_OPTION_STRINGS(run_options, states, "start-state", "FILE",
                      "a saved state that episodes start from; repeatable: drawn"),
    DM_OPTION_STRINGS(
        run_options, random, "random", "ADDR:COUNT",
        "bytes that are random at each start, as a game's random generator; repeatable"),
    DM_OPTION_STRING(run_options, actions, "actions", "FILE", NULL,
                     "own actions, one a line: A,RIGHT or - or a mask such as 0x11"),
    DM_OPTION_INT(run_options, seed, "seed", "N", 0, INT64_MAX, "0", "of the random actions"),
    DM_OPTION_STRING(run_options, record, "record", "FILE", NULL,
                     "a .gif of all steps or a .png of the last"),
    DM_OPTION_STRING(run_options, mosaic, "mosaic", "N|CxR", "1",
                     "machines in the recorded picture, or a grid of columns and rows, up to 8x8"),
    DM_OPTION_GIVEN(run_options, given),
};

typedef struct range {
    uint32_t low, high; /* the latter is just outside */
} range;

typedef struct poke {
    uint16_t address;
    uint8_t value;
} poke;

/* Everything that a run holds. */
typedef struct session {
    const run_options *options;
    dm_gb *gb;
    dm_gb_script script;
    dm_gb_rom rom; /* only its header is wanted: the title */
    uint16_t *breakpoints;
    range *peeks;
    poke *pokes;
    dm_run_hooks hooks;
    dm_reward_single reward;
    dm_play play;
    double seconds;
} session;

/* ---- Reading the options ---- */

/* Hexadecimal digits, after 0x or $ or bare, up to `end`; false for anything else. */
static bool parse_hex(const char *text, const char *end, uint32_t most, uint32_t *out)
{
    if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    else if (end > text && text[0] == '$')
        text++;
    if (text == end)
        return false;
    uint32_t value = 0;
    for (; text < end; text++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *digit = memchr(digits, *text, 32);
        if (digit == NULL)
            return false;
        value = value << 4 | (uint32_t)((digit - digits) & 15);
        if (value > most)
            return false;
    }
    *out = value;
    return true;
}

static dm_status parse_breakpoint(session *s, size_t i, const char *text, dm_error *err)
{
    uint32_t address;
    if (!parse_hex(text, text + strlen(text), 0xFFFF, &address))
        return dm_fail(err, DM_EINVAL, "--break: '%s' is no address; 0 to FFFF", text);
    s->breakpoints[i] = (uint16_t)address;
    return DM_OK;
}

static dm_status parse_peek(session *s, size_t i, const char *text, dm_error *err)
{
    const char *end = text + strlen(text), *colon = strchr(text, ':');
    range *r = &s->peeks[i];
    bool good = parse_hex(text, colon != NULL ? colon : end, 0xFFFF, &r->low);
    r->high = r->low + 1;
    if (good && colon != NULL)
        good = parse_hex(colon + 1, end, 0x10000, &r->high) && r->high > r->low;
    if (!good)
        return dm_fail(err, DM_EINVAL, "--peek: '%s' is no range such as C000:C100", text);
    return DM_OK;
}

static dm_status parse_poke(session *s, size_t i, const char *text, dm_error *err)
{
    const char *end = text + strlen(text), *equals = strchr(text, '=');
    uint32_t address, value;
    if (equals == NULL || !parse_hex(text, equals, 0xFFFF, &address) ||
        !parse_hex(equals + 1, end, 0xFF, &value))
        return dm_fail(err, DM_EINVAL, "--poke: '%s' is not of the form C000=2A", text);
    s->pokes[i] = (poke){(uint16_t)address, (uint8_t)value};
    return DM_OK;
}

static dm_status parse_each(session *s, const dm_strings *texts,
                            dm_status (*parse)(session *, size_t, const char *, dm_error *),
                            dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < texts->count && status == DM_OK; i++)
        status = parse(s, i, texts->items[i], err);
    return status;
}

/* ---- Options that do not apply ---- */

enum applies { TO_ONE = 1, TO_MANY = 2, TO_BOTH = 3 };

/* `needs`: an option without which this one does nothing. `instead`: the corresponding option of the
 * other kind of run. NULL: none. */
static const struct applicable {
    const char *name;
    enum applies to;
    const char *needs, *instead;
} applicables[] = {
    {"frames", TO_ONE, NULL, "--steps and --frames-per-step"},
    {"input", TO_ONE, NULL, "--action-gen"},
    {"png", TO_ONE, NULL, "--record FILE.png"},
    {"gif", TO_ONE, NULL, "--record FILE.gif"},
    {"every", TO_ONE, "gif", NULL},
    {"trace", TO_ONE, NULL, NULL},
    {"trace-limit", TO_ONE, "trace", NULL},
    {"serial", TO_ONE, NULL, NULL},
    {"save", TO_ONE, NULL, NULL},
    {"load", TO_ONE, NULL, NULL},
    {"battery", TO_ONE, NULL, NULL},
    {"start", TO_ONE, NULL, NULL},
    {"boot-rom", TO_ONE, NULL, NULL},
    {"break", TO_ONE, NULL, NULL},
    {"peek", TO_ONE, NULL, NULL},
    {"poke", TO_ONE, NULL, NULL},
    {"symbols", TO_BOTH, NULL, NULL},
    {"reward", TO_BOTH, NULL, NULL},
    {"envs", TO_MANY, NULL, NULL},
    {"steps", TO_MANY, NULL, "--frames"},
    {"frames-per-step", TO_BOTH, NULL, "--frames"},
    {"stage", TO_MANY, NULL, NULL},
    {"obs", TO_MANY, NULL, NULL},
    {"action-gen", TO_MANY, NULL, "--input"},
    {"actions", TO_MANY, NULL, "--input"},
    {"start-state", TO_MANY, NULL, "--load"},
    {"random", TO_MANY, NULL, "--poke"},
    {"actions-file", TO_MANY, NULL, "--input"},
    {"seed", TO_MANY, NULL, NULL},
    {"record", TO_MANY, NULL, "--gif or --png"},
    {"mosaic", TO_MANY, "record", NULL},
};

static bool is_given(const run_options *o, const char *name)
{
    for (size_t i = 0; i < o->given.count; i++)
        if (strcmp(o->given.items[i], name) == 0)
            return true;
    return false;
}

static dm_status check_applicable(const run_options *o, dm_error *err)
{
    bool many = o->backend != SINGLE;
    for (size_t i = 0; i < sizeof applicables / sizeof applicables[0]; i++) {
        const struct applicable *a = &applicables[i];
        if (!is_given(o, a->name))
            continue;
        if (!(a->to & (many ? TO_MANY : TO_ONE)))
            return dm_fail(err, DM_EINVAL, "--%s is for %s, and --backend %s runs %s%s%s", a->name,
                           many ? "one machine" : "a swarm", backend_names[o->backend],
                           many ? "a swarm" : "one machine",
                           a->instead != NULL ? "; there is " : "",
                           a->instead != NULL ? a->instead : "");
        if (a->needs != NULL && !is_given(o, a->needs))
            return dm_fail(err, DM_EINVAL, "--%s does nothing without --%s", a->name, a->needs);
    }
    if (o->actions_file != NULL && (is_given(o, "action-gen") || is_given(o, "seed")))
        return dm_fail(err, DM_EINVAL, "--actions-file and --%s: the file has all actions",
                       is_given(o, "seed") ? "seed" : "action-gen");
    if (is_given(o, "symbols") && o->hooks.count == 0 && o->reward == NULL)
        return dm_fail(err, DM_EINVAL, "--symbols does nothing without --hook or --reward");
    if (!many && is_given(o, "frames-per-step") && o->reward == NULL)
        return dm_fail(err, DM_EINVAL,
                       "--frames-per-step is for a swarm or --reward, and --backend single runs "
                       "one machine; there is "
                       "--frames");
    if (is_given(o, "scale") && o->png == NULL && o->gif == NULL && o->record == NULL)
        return dm_fail(err, DM_EINVAL, "--scale does nothing without %s",
                       many ? "--record" : "--png or --gif");
    if (o->boot_rom != NULL && is_given(o, "start") && o->start != DM_GB_START_BOOT_ROM)
        return dm_fail(err, DM_EINVAL, "--boot-rom starts with the boot ROM, --start %s without",
                       start_names[o->start]);
    const dm_output files[] = {{"rom", o->rom, true},
                               {"input", o->input, true},
                               {"boot-rom", o->boot_rom, true},
                               {"symbols", o->symbols, true},
                               {"actions", o->actions, true},
                               {"reward", o->reward, true},
                               {"actions-file", o->actions_file, true},
                               {"png", o->png, false},
                               {"gif", o->gif, false},
                               {"save", o->save, false},
                               {"battery", o->battery, false},
                               {"record", o->record, false}};
    return dm_outputs_check(files, sizeof files / sizeof files[0], err);
}

static dm_status read_options(session *s, dm_error *err)
{
    const run_options *o = s->options;
    if (o->rom == NULL)
        return dm_fail(err, DM_EINVAL, "--rom is missing: which game?");
    if (o->trace && o->json)
        return dm_fail(err, DM_EINVAL, "--trace and --json both write to standard output");
    if (o->start == DM_GB_START_BOOT_ROM && o->boot_rom == NULL)
        return dm_fail(err, DM_EINVAL, "--start boot-rom needs --boot-rom FILE");
    s->breakpoints = calloc(o->breakpoints.count + 1, sizeof *s->breakpoints);
    s->peeks = calloc(o->peeks.count + 1, sizeof *s->peeks);
    s->pokes = calloc(o->pokes.count + 1, sizeof *s->pokes);
    if (s->breakpoints == NULL || s->peeks == NULL || s->pokes == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = parse_each(s, &o->breakpoints, parse_breakpoint, err);
    if (status == DM_OK)
        status = parse_each(s, &o->peeks, parse_peek, err);
    if (status == DM_OK)
        status = parse_each(s, &o->pokes, parse_poke, err);
    if (status == DM_OK)
        status = dm_run_hooks_parse(&s->hooks, &o->hooks, o->symbols, err);
    if (status == DM_OK && o->input != NULL)
        status = dm_gb_script_load(&s->script, o->input, err);
    return status;
}

/* ---- Before and after the run ---- */

static dm_status create(session *s, dm_error *err)
{
    const run_options *o = s->options;
    dm_gb_options options = {.start = (enum dm_gb_start)o->start, .force_dmg = o->force_dmg};
    char *boot = NULL;
    dm_status status = dm_gb_rom_load(&s->rom, o->rom, err);
    if (status == DM_OK && o->boot_rom != NULL)
        status = dm_file_read(o->boot_rom, 1u << 16, &boot, &options.boot_rom_size, err);
    if (status == DM_OK && o->boot_rom != NULL) {
        options.start = DM_GB_START_BOOT_ROM;
        options.boot_rom = boot;
        if (options.boot_rom_size != 256)
            status = dm_fail(err, DM_EFORMAT, "%s: a boot ROM has 256 bytes, this file %zu",
                             o->boot_rom, options.boot_rom_size);
    }
    if (status == DM_OK)
        status = dm_gb_create_file(o->rom, &options, &s->gb, err);
    free(boot);
    return status;
}

static dm_status start_reward(session *s, dm_error *err)
{
    const run_options *o = s->options;
    dm_program *program = NULL;
    dm_status status = dm_reward_load(o->reward, o->symbols, &program, err);
    if (status == DM_OK && o->hooks.count != 0 && dm_program_get_info(program).hook_count != 0)
        status =
            dm_fail(err, DM_EINVAL,
                    "--hook: the program of --reward has hooks of its own; a machine has one set");
    if (status == DM_OK)
        status =
            dm_reward_single_init(&s->reward, program, s->gb, (uint32_t)o->frames_per_step, err);
    /* A state that was saved with the program's memory goes on with it. */
    bool found;
    if (status == DM_OK && o->load != NULL)
        status = dm_program_single_load_memory(s->reward.single, o->load, &found, err);
    s->reward.says = !o->json;
    dm_program_destroy(program);
    return status;
}

static dm_status prepare(session *s, dm_error *err)
{
    const run_options *o = s->options;
    dm_status status = create(s, err);
    /* A cartridge's clock continues from its saved time, so that the same run gives the same result. */
    if (status == DM_OK && o->battery != NULL && dm_file_exists(o->battery))
        status = dm_gb_load_battery(s->gb, o->battery, DM_GB_NO_TIME, err);
    else if (status == DM_OK && o->battery != NULL && !s->rom.has_battery)
        status = dm_fail(err, DM_EINVAL, "--battery: this cartridge (%s) has no battery",
                         s->rom.type_name);
    if (status == DM_OK && o->load != NULL)
        status = dm_gb_load_state(s->gb, o->load, err);
    for (size_t i = 0; i < o->pokes.count && status == DM_OK; i++)
        dm_gb_poke(s->gb, s->pokes[i].address, s->pokes[i].value);
    if (status == DM_OK && o->hooks.count != 0)
        status = dm_gb_set_hooks(s->gb, s->hooks.places, o->hooks.count, err);
    if (status == DM_OK && o->reward != NULL)
        status = start_reward(s, err);
    if (status == DM_OK && o->gif != NULL)
        status = dm_gb_gif_create((unsigned)o->scale, &s->play.gif, err);
    return status;
}

static dm_status write_files(session *s, dm_error *err)
{
    const run_options *o = s->options;
    dm_buffer bytes = DM_BUFFER_EMPTY;
    dm_status status = DM_OK;
    if (o->png != NULL) {
        status = dm_gb_picture_png(dm_gb_frame(s->gb), (unsigned)o->scale, &bytes, err);
        if (status == DM_OK)
            status = dm_file_write(o->png, bytes.data, bytes.size, err);
        dm_buffer_clear(&bytes);
    }
    if (status == DM_OK && o->gif != NULL) {
        status = dm_gb_gif_finish(s->play.gif, &bytes, err);
        if (status == DM_OK)
            status = dm_file_write(o->gif, bytes.data, bytes.size, err);
    }
    dm_buffer_deinit(&bytes);
    if (status == DM_OK && o->save != NULL)
        status = o->reward != NULL ? dm_program_single_save_state(s->reward.single, o->save, err)
                                   : dm_gb_save_state(s->gb, o->save, err);
    if (status == DM_OK && o->battery != NULL)
        status = dm_gb_save_battery(s->gb, o->battery, (int64_t)time(NULL), err);
    return status;
}

/* ---- The answer ---- */

static const char *end_name(enum dm_play_end end)
{
    switch (end) {
    case DM_PLAY_BREAKPOINT:
        return "breakpoint";
    case DM_PLAY_LOCKED:
        return "locked";
    case DM_PLAY_EPISODE:
        return "episode";
    case DM_PLAY_ALL_FRAMES:
        break;
    }
    return "end";
}

static double halt_share(const dm_gb_counters *c)
{
    return c->cycles > 0 ? (double)c->halted / (double)c->cycles : 0;
}

static double fps(const session *s)
{
    return s->seconds > 0 ? (double)s->play.done / s->seconds : 0;
}

static void print_memory(dm_gb *gb, range r)
{
    for (uint32_t line = r.low; line < r.high; line += 16) {
        printf("%04X ", line);
        for (uint32_t at = line; at < line + 16 && at < r.high; at++)
            printf(" %02X", dm_gb_peek(gb, (uint16_t)at));
        printf("\n");
    }
}

static void print_text(session *s, const dm_gb_counters *c)
{
    dm_gb_registers r = dm_gb_get_registers(s->gb);
    if (s->play.sent_line_open)
        printf("\n");
    for (size_t i = 0; i < s->options->peeks.count; i++)
        print_memory(s->gb, s->peeks[i]);
    dm_run_hooks_print(&s->hooks, "frame", 1);
    if (s->options->reward != NULL)
        dm_reward_tally_print(&s->reward.tally, s->reward.metrics, s->reward.info.metric_count);
    if (s->play.end == DM_PLAY_BREAKPOINT)
        printf("breakpoint at %04X, cycle %" PRIu64 "\n", r.pc, c->cycles);
    else if (s->play.end == DM_PLAY_EPISODE)
        printf("the episode ended in frame %" PRIu64 "\n", s->play.done);
    else if (r.locked)
        printf("locked up by an illegal opcode at %04X\n", r.pc);
    printf("%" PRIu64 " frames, %.0f frames/s, %" PRIu64 " instructions, %.1f%% in HALT, PC %04X\n",
           s->play.done, fps(s), c->instructions, 100 * halt_share(c), r.pc);
}

static void write_registers(dm_json *json, const dm_gb_registers *r)
{
    dm_json_begin_object(json, "registers");
    dm_json_uint(json, "pc", r->pc);
    dm_json_uint(json, "sp", r->sp);
    dm_json_uint(json, "a", r->a);
    dm_json_uint(json, "f", r->f);
    dm_json_uint(json, "b", r->b);
    dm_json_uint(json, "c", r->c);
    dm_json_uint(json, "d", r->d);
    dm_json_uint(json, "e", r->e);
    dm_json_uint(json, "h", r->h);
    dm_json_uint(json, "l", r->l);
    dm_json_bool(json, "ime", r->ime);
    dm_json_bool(json, "halted", r->halted);
    dm_json_bool(json, "stopped", r->stopped);
    dm_json_bool(json, "locked", r->locked);
    dm_json_end_object(json);
}

static void write_memory(dm_json *json, session *s)
{
    dm_json_begin_array(json, "memory");
    for (size_t i = 0; i < s->options->peeks.count; i++) {
        range r = s->peeks[i];
        dm_json_begin_object(json, NULL);
        dm_json_uint(json, "address", r.low);
        dm_json_begin_array(json, "bytes");
        for (uint32_t at = r.low; at < r.high; at++)
            dm_json_uint(json, NULL, dm_gb_peek(s->gb, (uint16_t)at));
        dm_json_end_array(json);
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}

static dm_status print_json(session *s, const dm_gb_counters *c, dm_error *err)
{
    dm_gb_registers r = dm_gb_get_registers(s->gb);
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "title", s->rom.title);
    dm_json_uint(&json, "frames", s->play.done);
    dm_json_double(&json, "seconds", s->seconds);
    dm_json_double(&json, "fps", fps(s));
    dm_json_string(&json, "stopped", end_name(s->play.end));
    dm_json_uint(&json, "cycles", c->cycles);
    dm_json_uint(&json, "instructions", c->instructions);
    dm_json_double(&json, "halt_share", halt_share(c));
    write_registers(&json, &r);
    write_memory(&json, s);
    dm_run_hooks_json(&s->hooks, "frame", &json);
    if (s->options->reward != NULL)
        dm_reward_tally_json(&s->reward.tally, s->reward.metrics, s->reward.info.metric_count,
                             &json);
    if (s->options->serial)
        dm_json_string_n(&json, "serial", dm_buffer_text(&s->play.sent), s->play.sent.size);
    return dm_report_print(&json, &text, err);
}

/* ---- The whole ---- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static dm_status play(session *s, dm_error *err)
{
    const run_options *o = s->options;
    dm_play *p = &s->play;
    p->gb = s->gb;
    p->frames = (uint64_t)o->frames;
    p->script = &s->script;
    p->every = (uint32_t)o->every;
    p->hooks = o->hooks.count != 0 ? &s->hooks : NULL;
    p->reward = o->reward != NULL ? &s->reward : NULL;
    p->draw_last = o->png != NULL;
    p->breakpoints = s->breakpoints;
    p->breakpoint_count = o->breakpoints.count;
    p->trace = o->trace ? stdout : NULL;
    p->trace_limit = (uint64_t)o->trace_limit;
    p->serial = o->serial && !o->json ? stdout : NULL;
    if (o->frames >= FRAMES_WITH_BAR && !o->trace)
        p->progress = dm_progress_start("run", "frames", p->frames);
    double start = seconds_now();
    dm_status status = dm_play_run(p, err);
    s->seconds = seconds_now() - start;
    dm_progress_finish(p->progress);
    return status;
}

/* Counts of this run alone, without those in a loaded state. */
static dm_gb_counters minus(dm_gb_counters a, dm_gb_counters b)
{
    a.cycles -= b.cycles;
    a.instructions -= b.instructions;
    a.halted -= b.halted;
    a.frames -= b.frames;
    return a;
}

static void deinit(session *s)
{
    dm_reward_single_deinit(&s->reward);
    dm_gb_gif_destroy(s->play.gif);
    dm_buffer_deinit(&s->play.sent);
    dm_gb_destroy(s->gb);
    dm_gb_rom_deinit(&s->rom);
    dm_gb_script_deinit(&s->script);
    free(s->breakpoints);
    free(s->peeks);
    free(s->pokes);
}

static dm_status run_swarm(const run_options *o, dm_error *err)
{
    const dm_run_swarm swarm = {.rom = o->rom,
                                .cuda = o->backend == VEC_CUDA,
                                .envs = o->envs,
                                .steps = o->steps,
                                .frames_per_step = o->frames_per_step,
                                .seed = o->seed,
                                .mosaic = o->mosaic,
                                .scale = o->scale,
                                .stage = o->stage,
                                .obs = o->obs,
                                .action_gen = o->action_gen,
                                .record = o->record,
                                .hooks = &o->hooks,
                                .symbols = o->symbols,
                                .actions = o->actions,
                                .states = &o->states,
                                .random = &o->random,
                                .reward = o->reward,
                                .actions_file = o->actions_file,
                                .json = o->json,
                                .force_dmg = o->force_dmg};
    return dm_run_swarm_run(&swarm, err);
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    (void)arguments;
    (void)negative;
    const run_options *o = values;
    dm_status status = check_applicable(o, err);
    if (status == DM_OK && o->backend != SINGLE)
        return run_swarm(o, err);
    session s = {.options = o};
    dm_gb_counters before = {0};
    if (status == DM_OK)
        status = read_options(&s, err);
    if (status == DM_OK)
        status = prepare(&s, err);
    if (status == DM_OK) {
        before = dm_gb_get_counters(s.gb);
        status = play(&s, err);
    }
    if (status == DM_OK)
        status = write_files(&s, err);
    if (status == DM_OK) {
        dm_gb_counters done = minus(dm_gb_get_counters(s.gb), before);
        if (s.options->json)
            status = print_json(&s, &done, err);
        else
            print_text(&s, &done);
    }
    deinit(&s);
    return status;
}

const dm_command dm_command_run = {
    .name = "run",
    .summary = "Run one Game Boy or a swarm: pictures, trace, memory, save states",
    .arguments = "",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(run_options),
    .run = run,
    .examples =
        "dotmatrix run --rom game.gb --frames 600 --input keys.txt --gif play.gif\n"
        "dotmatrix run --rom game.gb --backend vec_cpu --reward reward.py\n"
        "dotmatrix run --rom game.gb --backend vec_cpu --envs 16 --record all.gif --mosaic 4x4\n",
};
