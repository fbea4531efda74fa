/* SPDX-License-Identifier: MIT */
/* progress.c - the progress bar.
 *
 * A small thread draws, so that adding is one atomic add and the clock also moves while a long
 * piece of work adds nothing. stderr itself belongs to log.c, which keeps messages above the bar.
 */
#include "base/terminal/progress.h"
#include "base/terminal/log.h"
#include "base/thread.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 2.0             /* before a wait is shown */
#define TERMINAL_PERIOD_NS 100000000 /* ten times a second */
#define LOG_PERIOD_NS 5000000000     /* every five seconds, unless $DM_PROGRESS says otherwise */
#define LOG_PERIOD_SECONDS_MAX 86400
#define BAR_MIN 8
#define BAR_MAX 40
#define COLUMNS_DEFAULT 80
#define NO_LIMIT 0

struct dm_progress {
    bool is_wait; /* of dm_progress_start_wait */
    char label[64], unit[32];
    uint64_t total;
    uint64_t started_ns;
    uint64_t period_ns;
    atomic_uint_fast64_t done;
    /* What is under way; under the mutex. */
    uint64_t expected, expected_after, expected_ns;
    double expected_seconds;
    bool terminal;
    bool has_thread;
    bool finished; /* under the mutex, as the label is */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
};

/* ---- the text ---- */

/* 0.25, 7.5, 300, 1.2k, 12.3k, 123k, 4.5M: at most five characters. */
static void format_count(char out[16], double value)
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (value >= 999.5 && i + 1 < sizeof suffixes / sizeof suffixes[0]) {
        value /= 1000;
        i++;
    }
    int decimals = value >= 99.95 ? 0 : 1;
    if (i == 0 && (value == floor(value) || value >= 99.95))
        decimals = 0;
    else if (i == 0 && value < 0.995)
        decimals = 2;
    snprintf(out, 16, "%.*f%s", decimals, value, suffixes[i]);
}

/* 4s, 3m05s, 1h02m, 2d03h */
static void format_time(char out[16], double seconds)
{
    if (!(seconds < 100.0 * 86400)) {
        snprintf(out, 16, ">99d");
        return;
    }
    unsigned s = (unsigned)(seconds + 0.5);
    if (s < 60)
        snprintf(out, 16, "%us", s);
    else if (s < 3600)
        snprintf(out, 16, "%um%02us", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, 16, "%uh%02um", s / 3600, s / 60 % 60);
    else
        snprintf(out, 16, "%ud%02uh", s / 86400, s / 3600 % 24);
}

/* Columns that a text takes: one per character, which is true but for wide scripts. */
static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text != 0; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static void cut(char *text, size_t columns)
{
    size_t n = 0;
    for (; *text != 0; text++) {
        bool starts_character = ((unsigned char)*text & 0xC0) != 0x80;
        if (starts_character && n++ == columns) {
            *text = 0;
            return;
        }
    }
}

static void format_bar(char *out, uint64_t done, uint64_t total, size_t cells)
{
    size_t filled = done >= total ? cells : (size_t)((double)done / (double)total * (double)cells);
    if (done < total && filled == cells)
        filled = cells - 1;
    for (size_t i = 0; i < cells; i++)
        out[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    out[cells] = 0;
}

void dm_progress_format(char *out, size_t size, const char *label, const char *unit, uint64_t done,
                        uint64_t total, double seconds, int columns)
{
    char count[96], rate[64] = "", time[32] = "", number[16], number2[16];
    if (unit == NULL)
        unit = "";
    const char *space = *unit != 0 ? " " : "";
    double per_second = seconds > 0 && done > 0 ? (double)done / seconds : 0;

    format_count(number, (double)done);
    if (total > 0) {
        format_count(number2, (double)total);
        int percent = done >= total ? 100 : (int)((double)done / (double)total * 100);
        if (done < total && percent > 99)
            percent = 99;
        snprintf(count, sizeof count, "%3d%%  %s/%s%s%.24s", percent, number, number2, space, unit);
    } else {
        snprintf(count, sizeof count, "%s%s%.24s", number, space, unit);
    }
    if (per_second > 0) {
        format_count(number, per_second);
        snprintf(rate, sizeof rate, "  %s%s%.24s/s", number, space, unit);
    }
    if (total > 0 && done >= total) {
        format_time(number, seconds);
        snprintf(time, sizeof time, "  in %s", number);
    } else if (total > 0 && per_second > 0) {
        format_time(number, (double)(total - done) / per_second);
        snprintf(time, sizeof time, "  %s left", number);
    }

    /* The last column stays free: some terminals wrap when it is written. What does not fit goes,
     * the least important first: bar, rate, time, the end of the rest. */
    size_t room = columns > 1 ? (size_t)columns - 1 : columns == 1 ? 1 : SIZE_MAX;
    size_t needed = width(label) + 2 + width(count) + width(rate) + width(time);
    char bar[BAR_MAX + 1] = "";
    if (columns > 0 && total > 0 && needed + 4 + BAR_MIN <= room) {
        size_t cells = room - needed - 4;
        format_bar(bar, done, total, cells > BAR_MAX ? BAR_MAX : cells);
        snprintf(out, size, "%s  [%s]  %s%s%s", label, bar, count, rate, time);
        return;
    }
    const char *shown = count;
    while (*shown == ' ')
        shown++; /* the percentage lines up only beside a bar */
    needed -= (size_t)(shown - count);
    if (needed > room)
        rate[0] = 0;
    if (width(label) + 2 + width(shown) + width(rate) + width(time) > room)
        time[0] = 0;
    snprintf(out, size, "%s  %s%s%s", label, shown, rate, time);
    cut(out, room);
}

/* ---- drawing ---- */

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return COLUMNS_DEFAULT;
}

/* On a terminal the last line is drawn over, until it is final. */
static void show(const dm_progress *p, const char *line, bool final)
{
    if (p->terminal && !final) {
        dm_log_status(line);
        return;
    }
    if (p->terminal)
        dm_log_status("");
    dm_log_line(line);
}

static void draw_wait(dm_progress *p, bool final, double seconds)
{
    char line[DM_LOG_STATUS_MAX], time[16];
    if (seconds < WAIT_SECONDS)
        return;
    format_time(time, seconds);
    snprintf(line, sizeof line, final ? "%.80s: done in %s" : "%.80s ... %s", p->label, time);
    show(p, line, final);
}

/* What is done, with the part of the work under way that is over by its pace. */
static uint64_t done_by_now(const dm_progress *p)
{
    uint64_t done = atomic_load(&p->done);
    if (p->expected == 0)
        return done;
    double part = (double)(dm_time_ns() - p->expected_ns) * 1e-9 / p->expected_seconds;
    uint64_t most = p->expected_after + p->expected - 1;
    uint64_t guess = part >= 1 ? most : p->expected_after + (uint64_t)((double)p->expected * part);
    guess = guess < most ? guess : most;
    return done > guess ? done : guess;
}

static void draw(dm_progress *p, bool final)
{
    char line[DM_LOG_STATUS_MAX];
    double seconds = (double)(dm_time_ns() - p->started_ns) * 1e-9;
    if (p->is_wait) {
        draw_wait(p, final, seconds);
        return;
    }
    dm_progress_format(line, sizeof line, p->label, p->unit,
                       final ? atomic_load(&p->done) : done_by_now(p), p->total, seconds,
                       p->terminal ? terminal_columns() : NO_LIMIT);
    show(p, line, final);
}

static void *draw_until_finished(void *argument)
{
    dm_progress *p = argument;
    uint64_t first = p->is_wait ? (uint64_t)(WAIT_SECONDS * 1e9) + 1000000 : p->period_ns;
    uint64_t next = p->started_ns + first;
    pthread_mutex_lock(&p->mutex);
    while (!p->finished) {
        struct timespec until = {.tv_sec = (time_t)(next / 1000000000),
                                 .tv_nsec = (long)(next % 1000000000)};
        if (pthread_cond_timedwait(&p->wake, &p->mutex, &until) != ETIMEDOUT)
            continue;
        draw(p, false);
        next = dm_time_ns() + p->period_ns;
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static bool silenced(void)
{
    const char *value = getenv("DM_PROGRESS");
    return value != NULL && (strcmp(value, "off") == 0 || strcmp(value, "0") == 0);
}

/* $DM_PROGRESS as seconds; what is no such number changes nothing. */
static uint64_t log_period(void)
{
    const char *value = getenv("DM_PROGRESS");
    if (value == NULL)
        return LOG_PERIOD_NS;
    char *end;
    double seconds = strtod(value, &end);
    bool good = *end == '\0' && seconds >= 0.01 && seconds <= LOG_PERIOD_SECONDS_MAX;
    return good ? (uint64_t)(seconds * 1e9) : LOG_PERIOD_NS;
}

static bool on_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

static dm_progress *start(const char *label, const char *unit, uint64_t total, bool is_wait)
{
    if (silenced())
        return NULL;
    dm_progress *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    snprintf(p->label, sizeof p->label, "%s", label);
    snprintf(p->unit, sizeof p->unit, "%s", unit != NULL ? unit : "");
    p->total = total;
    p->is_wait = is_wait;
    p->started_ns = dm_time_ns();
    p->terminal = on_terminal();
    p->period_ns = p->terminal ? TERMINAL_PERIOD_NS : log_period();
    pthread_mutex_init(&p->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    /* Without the thread only the final line is drawn, which is no reason to fail. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->has_thread = pthread_create(&p->thread, NULL, draw_until_finished, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p;
}

dm_progress *dm_progress_start(const char *label, const char *unit, uint64_t total)
{
    return start(label, unit, total, false);
}

static atomic_bool waits_shown;

void dm_progress_show_waits(void)
{
    atomic_store(&waits_shown, true);
}

dm_progress *dm_progress_start_wait(const char *what, const char *name)
{
    char label[128];
    if (!atomic_load(&waits_shown))
        return NULL;
    snprintf(label, sizeof label, "%s %.80s", what, name != NULL ? name : "");
    return start(label, NULL, 0, true);
}

void dm_progress_add(dm_progress *progress, uint64_t amount)
{
    if (progress != NULL)
        atomic_fetch_add_explicit(&progress->done, amount, memory_order_relaxed);
}

void dm_progress_expect(dm_progress *progress, uint64_t amount, double seconds)
{
    if (progress == NULL)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->expected = seconds > 0 ? amount : 0;
    progress->expected_after = atomic_load(&progress->done);
    progress->expected_ns = dm_time_ns();
    progress->expected_seconds = seconds;
    pthread_mutex_unlock(&progress->mutex);
}

void dm_progress_label(dm_progress *progress, const char *label)
{
    if (progress == NULL)
        return;
    pthread_mutex_lock(&progress->mutex);
    snprintf(progress->label, sizeof progress->label, "%s", label);
    pthread_mutex_unlock(&progress->mutex);
}

void dm_progress_finish(dm_progress *progress)
{
    if (progress == NULL)
        return;
    if (progress->has_thread) {
        pthread_mutex_lock(&progress->mutex);
        progress->finished = true;
        pthread_cond_signal(&progress->wake);
        pthread_mutex_unlock(&progress->mutex);
        pthread_join(progress->thread, NULL);
    }
    draw(progress, true);
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
}
