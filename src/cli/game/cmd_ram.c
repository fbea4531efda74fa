/* SPDX-License-Identifier: MIT */
/* cmd_ram.c - `dotmatrix ram`: find where a game keeps its score, its lives ... (romtools/ram_search.h).
 *
 * A call loads the search, plays some frames from where the last call stopped, drops candidates that did not behave as
 * asked, and saves the search with the memory as the mark "last". */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "gb/host/core.h"
#include "gb/host/picture.h"
#include "romtools/ram_search.h"
#include "romtools/script.h"
#include "romtools/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 1000000
#define LIST_MAX 32768
#define LAST "last" /* the mark of the previous call */

typedef struct ram_options {
    const char *rom, *search, *state, *input, *keep, *since, *mark, *sym, *png;
    int64_t frames, list, equals;
    int kind;
    bool json, force_dmg;
    dm_strings names, given;
} ram_options;

static const dm_option rows[] = {
    DM_OPTION_STRING(ram_options, rom, "rom", "FILE", NULL, "the game"),
    DM_OPTION_STRING(ram_options, search, "search", "FILE", NULL,
                     "the search: goes on if the file exists, else begins; written at the end"),
    DM_OPTION_STRING(ram_options, state, "state", "FILE", NULL,
                     "play from this saved state instead of where the search stands"),
    DM_OPTION_INT(ram_options, frames, "frames", "N", 0, FRAMES_MAX, "0",
                  "play so many frames first"),
    DM_OPTION_STRING(ram_options, input, "input", "FILE", NULL,
                     "keys for these frames, as `dotmatrix run` takes them"),
    DM_OPTION_STRING(ram_options, keep, "keep", "WHAT", NULL,
                     "keep candidates that changed, are unchanged, went up or down"),
    DM_OPTION_INT(ram_options, equals, "equals", "N", 0, 65535, "0",
                  "keep candidates that are N now"),
    DM_OPTION_CHOICE(ram_options, kind, "as", dm_ram_kind_names, "u8",
                     "bytes, words, or packed decimal digits"),
    DM_OPTION_STRING(ram_options, since, "since", "MARK", LAST,
                     "compare with memory as it was at this mark"),
    DM_OPTION_STRING(ram_options, mark, "mark", "NAME", NULL, "remember memory as it is now"),
    DM_OPTION_INT(ram_options, list, "list", "N", 0, LIST_MAX, "16",
                  "print so many candidates at most"),
    DM_OPTION_STRINGS(ram_options, names, "name", "ADDR=NAME",
                      "give an address a name; repeatable"),
    DM_OPTION_STRING(ram_options, sym, "sym", "FILE", NULL, "write the names as a .sym file"),
    DM_OPTION_STRING(ram_options, png, "png", "FILE", NULL, "write the screen"),
    DM_OPTION_FLAG(ram_options, force_dmg, "force-dmg",
                   "run a ROM for the Game Boy Color only as on a DMG"),
    DM_OPTION_FLAG(ram_options, json, "json", "write JSON for programs"),
    DM_OPTION_GIVEN(ram_options, given),
};

typedef struct session {
    const ram_options *options;
    dm_gb *gb;
    dm_gb_script script;
    dm_ram_search search;
    bool goes_on;                /* the file existed */
    uint8_t before[DM_RAM_SIZE]; /* what candidates are compared with */
    uint8_t now[DM_RAM_SIZE];
    bool has_before;
} session;

static bool is_given(const ram_options *o, const char *name)
{
    return dm_options_is_given(&o->given, name);
}

/* ---- Before ---- */

static dm_status check_options(const ram_options *o, dm_error *err)
{
    if (o->rom == NULL)
        return dm_fail(err, DM_EINVAL, "--rom is missing: which game?");
    if (o->search == NULL)
        return dm_fail(err, DM_EINVAL, "--search is missing: where is the search to be kept?");
    static const dm_option_need needs[] = {{"input", "frames"}, {"since", "keep"}};
    dm_status status =
        dm_options_check_needs(&o->given, needs, sizeof needs / sizeof needs[0], err);
    const dm_output files[] = {{"rom", o->rom, true},     {"state", o->state, true},
                               {"input", o->input, true}, {"search", o->search, false},
                               {"sym", o->sym, false},    {"png", o->png, false}};
    return status == DM_OK ? dm_outputs_check(files, sizeof files / sizeof files[0], err) : status;
}

static dm_status parse_relation(const char *word, dm_ram_relation *out, dm_error *err)
{
    static const char *const words[] = {"changed", "unchanged", "up", "down"};
    for (int i = 0; i < 4; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (dm_ram_relation)i;
            return DM_OK;
        }
    return dm_fail(err, DM_EINVAL, "--keep: '%.40s'; there are changed, unchanged, up and down",
                   word);
}

static void look(dm_gb *gb, uint8_t memory[DM_RAM_SIZE])
{
    for (uint32_t i = 0; i < DM_RAM_SIZE; i++) {
        const uint32_t at = DM_RAM_FIRST + i;
        memory[i] = at >= 0xFE00 && at < 0xFF80 ? 0 : dm_gb_peek(gb, (uint16_t)at);
    }
}

static dm_status load_search(session *s, dm_error *err)
{
    const ram_options *o = s->options;
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(o->search, DM_RAM_FILE_MAX, &text, &size, err);
    if (status == DM_OK)
        status = dm_ram_search_parse(&s->search, o->search, text, size, err);
    free(text);
    const dm_hash128 rom = s->gb->rom.hash;
    if (status == DM_OK && (s->search.rom.low != rom.low || s->search.rom.high != rom.high))
        status = dm_fail(err, DM_EINVAL, "%s: a search in another ROM than %s", o->search, o->rom);
    if (status == DM_OK && o->state == NULL && s->search.state != NULL) {
        status = dm_gb_load_state_bytes(s->gb, s->search.state, s->search.state_size, err);
        if (status != DM_OK)
            dm_error_prefix(err, "%s", o->search);
    }
    return status;
}

static dm_status begin(session *s, dm_error *err)
{
    const ram_options *o = s->options;
    const dm_gb_options options = {.force_dmg = o->force_dmg};
    dm_status status = dm_gb_create_file(o->rom, &options, &s->gb, err);
    if (status != DM_OK)
        return status;
    s->goes_on = dm_file_exists(o->search);
    if (s->goes_on)
        status = load_search(s, err);
    else
        dm_ram_search_init(&s->search, s->gb->rom.hash);
    if (status == DM_OK && o->state != NULL)
        status = dm_gb_load_state(s->gb, o->state, err);
    if (status == DM_OK && o->input != NULL)
        status = dm_gb_script_load(&s->script, o->input, err);
    return status;
}

/* ---- The call ---- */

static void play(session *s)
{
    const uint64_t frames = (uint64_t)s->options->frames;
    size_t next = 0;
    for (uint64_t done = 0; done < frames;) {
        while (next < s->script.count && s->script.lines[next].frame <= done)
            dm_gb_set_keys(s->gb, s->script.lines[next++].keys);
        uint64_t until = next < s->script.count ? s->script.lines[next].frame : frames;
        until = until < frames ? until : frames;
        dm_gb_run_frames(s->gb, (uint32_t)(until - done),
                         s->options->png != NULL ? DM_GB_DRAW_LAST : DM_GB_DRAW_NEVER);
        done = until;
    }
    s->search.frames += frames;
}

/* With what candidates are compared: copied, since marks move. */
static dm_status find_before(session *s, dm_error *err)
{
    const char *since = s->options->since;
    const dm_ram_mark *mark = dm_ram_search_mark(&s->search, since);
    s->has_before = mark != NULL;
    if (mark != NULL)
        memcpy(s->before, mark->memory, DM_RAM_SIZE);
    else if (s->options->keep != NULL)
        return dm_fail(err, DM_EINVAL,
                       s->goes_on ? "--since: the search has no mark '%.40s'"
                                  : "--keep: the search begins here; there is nothing to compare "
                                    "with before the second call (mark '%.40s')",
                       since);
    return DM_OK;
}

static dm_status sift(session *s, dm_error *err)
{
    const ram_options *o = s->options;
    dm_ram_relation relation = DM_RAM_EQUALS;
    dm_status status = o->keep != NULL ? parse_relation(o->keep, &relation, err) : DM_OK;
    if (status == DM_OK)
        status = find_before(s, err);
    if (status == DM_OK)
        play(s);
    look(s->gb, s->now);
    const dm_ram_kind kind = (dm_ram_kind)o->kind;
    if (status == DM_OK && o->keep != NULL)
        dm_ram_search_keep(&s->search, kind, relation, 0, s->before, s->now);
    if (status == DM_OK && is_given(o, "equals"))
        dm_ram_search_keep(&s->search, kind, DM_RAM_EQUALS, (int32_t)o->equals, s->now, s->now);
    return status;
}

static dm_status take_names(session *s, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < s->options->names.count && status == DM_OK; i++) {
        const char *text = s->options->names.items[i], *equals = strchr(text, '=');
        char place[16];
        dm_symbol found;
        if (equals == NULL || (size_t)(equals - text) >= sizeof place)
            return dm_fail(err, DM_EINVAL, "--name: '%.40s' is not ADDR=NAME", text);
        snprintf(place, sizeof place, "%.*s", (int)(equals - text), text);
        status = dm_symbols_resolve(NULL, place, &found, err);
        if (status == DM_OK)
            status = dm_ram_search_set_name(&s->search, found.address, equals + 1, err);
        if (status != DM_OK)
            dm_error_prefix(err, "--name");
    }
    return status;
}

/* ---- After ---- */

static dm_status write_sym(const session *s, dm_error *err)
{
    const dm_ram_search *search = &s->search;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_symbol *items = calloc(search->name_count + 1, sizeof *items);
    if (items == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < search->name_count; i++)
        items[i] = (dm_symbol){.name = search->names[i].name, .address = search->names[i].address};
    dm_status status =
        dm_symbols_write(items, search->name_count, "Found with dotmatrix ram", &text, err);
    if (status == DM_OK)
        status = dm_file_write(s->options->sym, text.data, text.size, err);
    dm_buffer_deinit(&text);
    free(items);
    return status;
}

static dm_status write_png(const session *s, dm_error *err)
{
    dm_buffer bytes = DM_BUFFER_EMPTY;
    dm_status status = dm_gb_picture_png(dm_gb_frame(s->gb), 2, &bytes, err);
    if (status == DM_OK)
        status = dm_file_write(s->options->png, bytes.data, bytes.size, err);
    dm_buffer_deinit(&bytes);
    return status;
}

static dm_status write_search(session *s, dm_error *err)
{
    const size_t size = dm_gb_state_bytes(s->gb);
    void *state = malloc(size);
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_status status = state == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                     : dm_gb_save_state_bytes(s->gb, state, size, err);
    if (status == DM_OK)
        status = dm_ram_search_set_state(&s->search, state, size, err);
    if (status == DM_OK)
        status = dm_ram_search_set_mark(&s->search, LAST, s->now, err);
    if (status == DM_OK && s->options->mark != NULL)
        status = dm_ram_search_set_mark(&s->search, s->options->mark, s->now, err);
    if (status == DM_OK)
        status = dm_ram_search_write(&s->search, &text, err);
    if (status == DM_OK)
        status = dm_file_write(s->options->search, text.data, text.size, err);
    dm_buffer_deinit(&text);
    free(state);
    return status;
}

static const char *name_of(const dm_ram_search *search, uint16_t address)
{
    for (size_t i = 0; i < search->name_count; i++)
        if (search->names[i].address == address)
            return search->names[i].name;
    return "";
}

static void print_text(const session *s)
{
    const uint32_t count = dm_ram_search_count(&s->search);
    printf("%u candidate%s after %" PRIu64 " frames\n", count, count == 1 ? "" : "s",
           s->search.frames);
    int64_t left = s->options->list;
    for (uint32_t i = 0; i < DM_RAM_SIZE && left > 0; i++) {
        const uint16_t at = (uint16_t)(DM_RAM_FIRST + i);
        if (s->search.keep[i] == 0)
            continue;
        const int32_t now = dm_ram_value(s->now, at, (dm_ram_kind)s->options->kind);
        printf("%04X  ", at);
        if (s->has_before)
            printf("%5d -> ", dm_ram_value(s->before, at, (dm_ram_kind)s->options->kind));
        printf("%5d  %s\n", now, name_of(&s->search, at));
        left--;
    }
    if (count > (uint32_t)s->options->list)
        printf("... (--list N shows more)\n");
}

static dm_status print_json(const session *s, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_uint(&json, "frames", s->search.frames);
    dm_json_uint(&json, "count", dm_ram_search_count(&s->search));
    dm_json_begin_array(&json, "candidates");
    int64_t left = s->options->list;
    for (uint32_t i = 0; i < DM_RAM_SIZE && left > 0; i++) {
        const uint16_t at = (uint16_t)(DM_RAM_FIRST + i);
        if (s->search.keep[i] == 0)
            continue;
        dm_json_begin_object(&json, NULL);
        dm_json_uint(&json, "address", at);
        dm_json_int(&json, "value", dm_ram_value(s->now, at, (dm_ram_kind)s->options->kind));
        if (s->has_before)
            dm_json_int(&json, "before",
                        dm_ram_value(s->before, at, (dm_ram_kind)s->options->kind));
        if (name_of(&s->search, at)[0] != '\0')
            dm_json_string(&json, "name", name_of(&s->search, at));
        dm_json_end_object(&json);
        left--;
    }
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        fputs(dm_buffer_text(&text), stdout);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    (void)arguments;
    static session s; /* two copies of RAM are much for a stack */
    s = (session){.options = values};
    dm_status status = check_options(s.options, err);
    if (status == DM_OK)
        status = begin(&s, err);
    if (status == DM_OK)
        status = sift(&s, err);
    if (status == DM_OK)
        status = take_names(&s, err);
    if (status == DM_OK && !s.options->json)
        print_text(&s);
    else if (status == DM_OK)
        status = print_json(&s, err);
    const bool said =
        fflush(stdout) == 0 && ferror(stdout) == 0; /* if not, the command will fail */
    if (status == DM_OK && said && s.options->sym != NULL)
        status = write_sym(&s, err);
    if (status == DM_OK && said && s.options->png != NULL)
        status = write_png(&s, err);
    if (status == DM_OK && said) /* last: a call that failed has not been */
        status = write_search(&s, err);
    *negative = status == DM_OK && dm_ram_search_count(&s.search) == 0;
    dm_gb_destroy(s.gb);
    dm_gb_script_deinit(&s.script);
    dm_ram_search_deinit(&s.search);
    return status;
}

const dm_command dm_command_ram = {
    .name = "ram",
    .summary = "Find where a game keeps its score: changed, up, down, equals, between marks",
    .arguments = "",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(ram_options),
    .run = run,
    .examples =
        "dotmatrix ram --rom game.gb --search score.ram --frames 600 --input keys.txt\n"
        "dotmatrix ram --rom game.gb --search score.ram --frames 300 --input more.txt --keep up\n"
        "dotmatrix ram --rom game.gb --search score.ram --equals 12 --as bcd --name C1A3=wScore "
        "--sym game.sym\n",
};
