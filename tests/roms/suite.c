/* SPDX-License-Identifier: MIT */
/* suite.c - dm-test-roms: run every public test ROM found under $DM_TEST_ROMS.
 *
 * These ROMs are not ours to ship, so the folder is the user's. A table with one line per ROM goes
 * to stdout, then the counts per suite, then `N passed, N failed, N skipped`. With --expect a ROM
 * that passed when the list was written and fails now makes the exit code 1. */
#include "base/buffer.h"
#include "base/json.h"
#include "base/terminal/progress.h"
#include "base/thread.h"
#include "cli/options.h"
#include "tests/roms/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROM_MAX (16u << 20)
#define PATIENCE_S 120 /* without any ROM coming to its end */
#define EXIT_TROUBLE 2 /* 1: something failed or got worse */

typedef struct options {
    const char *filter, *json, *png, *expect, *record;
    bool list, failures, help;
} options;

static const dm_option rows[] = {
    DM_OPTION_STRING(options, filter, "filter", "TEXT", NULL, "only ROMs with this in their path"),
    DM_OPTION_FLAG(options, list, "list", "show how each ROM would be judged; run nothing"),
    DM_OPTION_FLAG(options, failures, "failures",
                   "leave what passed or was skipped out of the table"),
    DM_OPTION_STRING(options, json, "json", "FILE", NULL, "write the results for programs"),
    DM_OPTION_STRING(options, png, "png", "DIR", NULL, "save the last frame of what failed"),
    DM_OPTION_STRING(options, expect, "expect", "FILE", NULL,
                     "a list of known verdicts; exit code 1 only when something got worse"),
    DM_OPTION_STRING(options, record, "record", "FILE", NULL, "write such a list"),
    DM_OPTION_FLAG(options, help, "help", "show this"),
};

typedef struct entry {
    char *path; /* from the root */
    const char *suite;
    volatile bool running;
    enum dm_rom_verdict verdict;
    double seconds;
    char how[DM_ROM_TEXT_MAX];
} entry;

typedef struct session {
    options options;
    const char *root;
    entry *entries;
    size_t count, capacity;
    dm_progress *progress;
} session;

/* ---- finding ---- */

static bool is_rom(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcasecmp(dot, ".gb") == 0 || strcasecmp(dot, ".gbc") == 0);
}

static dm_status collect(const char *root, const dm_dir_entry *found, void *user, dm_error *err)
{
    session *s = user;
    (void)root;
    if (found->is_dir || !is_rom(found->path) ||
        (s->options.filter != NULL && strcasestr(found->path, s->options.filter) == NULL))
        return DM_OK;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity > 0 ? 2 * s->capacity : 256;
        entry *entries = realloc(s->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return dm_fail(err, DM_ENOMEM, "no memory for %zu ROMs", capacity);
        s->entries = entries;
        s->capacity = capacity;
    }
    char *path = strdup(found->path);
    if (path == NULL)
        return dm_fail(err, DM_ENOMEM, "no memory for a path");
    s->entries[s->count++] = (entry){.path = path};
    return DM_OK;
}

/* ---- running ---- */

static void save_frame(const session *s, const entry *e, const dm_rom_result *result)
{
    char name[DM_PATH_MAX], path[DM_PATH_MAX];
    snprintf(name, sizeof name - 4, "%s", e->path);
    for (char *c = name; *c != 0; c++)
        if (*c == '/')
            *c = '_';
    strcat(name, ".png");
    dm_error err;
    if (dm_path_join(path, s->options.png, name, &err) != DM_OK ||
        dm_rom_picture_write(path, result->frame, &err) != DM_OK)
        fprintf(stderr, "dm-test-roms: %s\n", err.message);
}

static void run_one(const session *s, entry *e)
{
    dm_rom_plan plan;
    dm_rom_plan_make(&plan, s->root, e->path);
    e->suite = plan.suite;
    char path[DM_PATH_MAX];
    char *bytes = NULL;
    size_t size = 0;
    dm_error err;
    if (dm_path_join(path, s->root, e->path, &err) != DM_OK ||
        dm_file_read(path, ROM_MAX, &bytes, &size, &err) != DM_OK) {
        e->verdict = DM_ROM_SKIP;
        snprintf(e->how, sizeof e->how, "%.150s", err.message);
        return;
    }
    dm_rom_result result;
    dm_rom_judge(&plan, bytes, size, &result);
    free(bytes);
    e->verdict = result.verdict;
    e->seconds = result.seconds;
    memcpy(e->how, result.how, sizeof e->how);
    if (s->options.png != NULL && result.verdict == DM_ROM_FAIL)
        save_frame(s, e, &result);
}

/* A machine that never comes back is our bug: name its ROM and give up. */
static const session *watched;

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(EXIT_TROUBLE);
}

static void give_up(int signal_number)
{
    (void)signal_number;
    for (size_t i = 0; i < watched->count; i++) {
        if (watched->entries[i].running) {
            say("\ndm-test-roms: no end of ");
            say(watched->entries[i].path);
        }
    }
    say("\n");
    _exit(EXIT_TROUBLE);
}

static void run_range(void *user, uint64_t begin, uint64_t end, int worker)
{
    session *s = user;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        s->entries[i].running = true;
        run_one(s, &s->entries[i]);
        s->entries[i].running = false;
        alarm(PATIENCE_S); /* from here again */
        dm_progress_add(s->progress, 1);
    }
}

static dm_status run_all(session *s, dm_error *err)
{
    if (s->options.png != NULL && dm_dir_create(s->options.png, err) != DM_OK)
        return err->status;
    dm_pool *pool = NULL;
    dm_status status = dm_pool_create(0, &pool, err);
    if (status != DM_OK)
        return status;
    watched = s;
    signal(SIGALRM, give_up);
    alarm(PATIENCE_S);
    s->progress = dm_progress_start("test ROMs", "ROMs", s->count);
    dm_pool_run(pool, s->count, 1, run_range, s);
    alarm(0);
    dm_progress_finish(s->progress);
    dm_pool_destroy(pool);
    return DM_OK;
}

/* ---- reporting ---- */

static void print_table(const session *s)
{
    int width = 4;
    for (size_t i = 0; i < s->count; i++) {
        int length = (int)strlen(s->entries[i].path);
        width = length > width && length <= 72 ? length : width;
    }
    for (size_t i = 0; i < s->count; i++) {
        const entry *e = &s->entries[i];
        if (s->options.failures && e->verdict != DM_ROM_FAIL)
            continue;
        printf("%-18s %-*s  %s %6.1f s  %s\n", e->suite, width, e->path,
               dm_rom_verdict_name(e->verdict), e->seconds, e->how);
    }
}

static void count(const session *s, const char *suite, unsigned counts[3])
{
    counts[0] = counts[1] = counts[2] = 0;
    for (size_t i = 0; i < s->count; i++)
        if (suite == NULL || strcmp(s->entries[i].suite, suite) == 0)
            counts[s->entries[i].verdict]++;
}

static void print_summary(const session *s)
{
    unsigned counts[3];
    printf("\n%-18s %6s %6s %7s\n", "suite", "passed", "failed", "skipped");
    for (size_t i = 0; i < s->count; i++) {
        const char *suite = s->entries[i].suite;
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(s->entries[j].suite, suite) == 0;
        if (seen)
            continue;
        count(s, suite, counts);
        printf("%-18s %6u %6u %7u\n", suite, counts[0], counts[1], counts[2]);
    }
}

static dm_status write_json(const session *s, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_array(&json, NULL);
    for (size_t i = 0; i < s->count; i++) {
        const entry *e = &s->entries[i];
        dm_json_begin_object(&json, NULL);
        dm_json_string(&json, "suite", e->suite);
        dm_json_string(&json, "rom", e->path);
        dm_json_string(&json, "verdict", dm_rom_verdict_name(e->verdict));
        dm_json_string(&json, "how", e->how);
        dm_json_double(&json, "seconds", e->seconds);
        dm_json_end_object(&json);
    }
    dm_json_end_array(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_file_write(s->options.json, text.data, text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

/* ---- known verdicts: lines of "pass PATH" or "fail PATH"; '#' begins a comment ---- */

static dm_status write_record(const session *s, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_buffer_puts(&text, "# Verdicts on public test ROMs: dm-test-roms --record writes this.\n");
    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].verdict != DM_ROM_SKIP)
            dm_buffer_printf(&text, "%s %s\n", dm_rom_verdict_name(s->entries[i].verdict),
                             s->entries[i].path);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_file_write(s->options.record, text.data, text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

static int by_path(const void *key, const void *item)
{
    return strcmp(key, ((const entry *)item)->path);
}

static int by_paths(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

/* One line of the list; ROMs that are not here are passed over. */
static dm_status compare_line(const session *s, char *line, int number, unsigned *worse,
                              unsigned *better, dm_error *err)
{
    bool pass = strncmp(line, "pass ", 5) == 0;
    if (line[0] == '#' || line[0] == 0)
        return DM_OK;
    if (!pass && strncmp(line, "fail ", 5) != 0)
        return dm_fail_at(err, DM_EFORMAT, s->options.expect, number,
                          "%s:%d: a line is \"pass PATH\" or \"fail PATH\"", s->options.expect,
                          number);
    const entry *e = bsearch(line + 5, s->entries, s->count, sizeof *s->entries, by_path);
    if (e == NULL)
        return DM_OK;
    if (pass && e->verdict != DM_ROM_PASS) {
        printf("worse: %s passed before: %s\n", e->path, e->how);
        ++*worse;
    } else if (!pass && e->verdict == DM_ROM_PASS) {
        printf("better: %s passes now\n", e->path);
        ++*better;
    }
    return DM_OK;
}

static dm_status compare(session *s, unsigned *worse, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(s->options.expect, 0, &text, &size, err);
    if (status != DM_OK)
        return status;
    qsort(s->entries, s->count, sizeof *s->entries, by_paths);
    unsigned better = 0;
    int number = 0;
    char *rest = text, *line;
    while (status == DM_OK && (line = strsep(&rest, "\n")) != NULL)
        status = compare_line(s, line, ++number, worse, &better, err);
    free(text);
    if (status == DM_OK)
        printf("against %s: %u worse, %u better\n", s->options.expect, *worse, better);
    return status;
}

static dm_status report(session *s, bool *failed, dm_error *err)
{
    unsigned counts[3], worse = 0;
    print_table(s);
    print_summary(s);
    count(s, NULL, counts);
    dm_status status = DM_OK;
    if (s->options.json != NULL)
        status = write_json(s, err);
    if (status == DM_OK && s->options.expect != NULL)
        status = compare(s, &worse, err);
    if (status == DM_OK && s->options.record != NULL)
        status = write_record(s, err);
    printf("%u passed, %u failed, %u skipped\n", counts[0], counts[1], counts[2]);
    *failed = s->options.expect != NULL ? worse > 0 : counts[1] > 0;
    return status;
}

static void list(const session *s)
{
    static const char *const protocols[] = {"not run", "text",   "registers",     "memory",
                                            "picture", "digits", "cartridge RAM", "menu"};
    for (size_t i = 0; i < s->count; i++) {
        dm_rom_plan plan;
        dm_rom_plan_make(&plan, s->root, s->entries[i].path);
        printf("%-18s %s: %s%s%s\n", plan.suite, s->entries[i].path, protocols[plan.protocol],
               plan.text[0] != 0 ? ": " : "", plan.text);
    }
}

static dm_status work(session *s, bool *failed, dm_error *err)
{
    s->root = getenv("DM_TEST_ROMS");
    if (s->root == NULL || s->root[0] == 0) {
        printf("DM_TEST_ROMS is not set: it names the folder with public test ROMs\n"
               "0 passed, 0 failed, 1 skipped\n");
        return DM_OK;
    }
    dm_status status = dm_dir_walk(s->root, collect, s, err);
    if (status == DM_OK && s->options.list) {
        list(s);
        return DM_OK;
    }
    if (status == DM_OK)
        status = run_all(s, err);
    return status == DM_OK ? report(s, failed, err) : status;
}

int main(int argc, char **argv)
{
    session s = {0};
    dm_error err = {0};
    dm_strings none = {0};
    dm_option_set set = {rows, sizeof rows / sizeof rows[0], &s.options};
    bool failed = false;
    dm_status status = dm_options_parse(&set, 1, argc - 1, argv + 1, &none, &err);
    if (status == DM_OK && none.count > 0)
        status = dm_fail(&err, DM_EINVAL, "unexpected argument: %s", none.items[0]);
    if (status == DM_OK && s.options.help) {
        dm_buffer help = DM_BUFFER_EMPTY;
        dm_options_help(&help, &set, 1);
        printf("DM_TEST_ROMS=FOLDER dm-test-roms [options]\n%s", dm_buffer_text(&help));
        dm_buffer_deinit(&help);
    } else if (status == DM_OK)
        status = work(&s, &failed, &err);
    if (status != DM_OK)
        fprintf(stderr, "dm-test-roms: %s\n", err.message);
    dm_options_deinit(&set, 1, &none);
    for (size_t i = 0; i < s.count; i++)
        free(s.entries[i].path);
    free(s.entries);
    return status != DM_OK ? EXIT_TROUBLE : failed ? 1 : 0;
}
