/* SPDX-License-Identifier: MIT */
/* log.c - all writing to stderr: log lines, and a status line (the progress bar) below them.
 *
 * On a terminal the status line is the last line and has no newline. A message that comes while it
 * is shown erases it, writes itself with a newline, and draws the status again, all in one write.
 */
#include "base/terminal/log.h"
#include "base/buffer.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"
#define LEVEL_UNSET (-1)

static const char *const level_names[] = {"error", "warn", "info", "debug"};
#define LEVEL_COUNT (sizeof level_names / sizeof level_names[0])

static atomic_int current_level = LEVEL_UNSET;
static pthread_mutex_t stderr_mutex = PTHREAD_MUTEX_INITIALIZER;
static char status_line[DM_LOG_STATUS_MAX]; /* under the mutex; empty: none is shown */

static void write_stderr(const dm_buffer *text)
{
    ssize_t put;
    do {
        put = write(STDERR_FILENO, dm_buffer_text(text), text->size);
    } while (put < 0 && errno == EINTR);
    /* There is nowhere to report that stderr cannot be written. */
}

bool dm_log_parse_level(const char *name, dm_log_level *out)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *out = (dm_log_level)i;
            return true;
        }
    }
    return false;
}

void dm_log_set_level(dm_log_level level)
{
    atomic_store(&current_level, (int)level);
}

dm_log_level dm_log_get_level(void)
{
    int level = atomic_load(&current_level);
    if (level != LEVEL_UNSET)
        return (dm_log_level)level;
    const char *name = getenv("DM_LOG");
    dm_log_level wanted = DM_LOG_WARN;
    bool good = name == NULL || *name == 0 || dm_log_parse_level(name, &wanted);
    /* Of several threads that come first together only one sets the level and warns. */
    if (atomic_compare_exchange_strong(&current_level, &level, (int)wanted) && !good)
        dm_log(DM_LOG_WARN, "DM_LOG=%.40s is no level: error, warn, info or debug", name);
    return (dm_log_level)atomic_load(&current_level);
}

/* Bytes from an input (a ROM's title, a file name) must not steer the terminal. */
static void defuse(dm_buffer *line, size_t from)
{
    for (size_t i = from; i < line->size; i++) {
        unsigned char c = (unsigned char)line->data[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F)
            line->data[i] = '?';
    }
}

void dm_log(dm_log_level level, const char *format, ...)
{
    if (level > dm_log_get_level())
        return;
    int saved_errno = errno;
    dm_buffer line = DM_BUFFER_EMPTY;
    pthread_mutex_lock(&stderr_mutex);
    if (status_line[0] != 0)
        dm_buffer_puts(&line, ERASE_LINE);
    size_t start = line.size;
    dm_buffer_printf(&line, "dotmatrix: %s: ", level_names[level]);
    va_list args;
    va_start(args, format);
    dm_buffer_vprintf(&line, format, args);
    va_end(args);
    while (line.size > start && line.data[line.size - 1] == '\n')
        line.size--;
    defuse(&line, start);
    dm_buffer_putc(&line, '\n');
    dm_buffer_puts(&line, status_line);
    write_stderr(&line);
    pthread_mutex_unlock(&stderr_mutex);
    dm_buffer_deinit(&line);
    errno = saved_errno;
}

void dm_log_status(const char *text)
{
    dm_buffer line = DM_BUFFER_EMPTY;
    pthread_mutex_lock(&stderr_mutex);
    size_t length = strnlen(text, sizeof status_line - 1);
    if (length > 0 || status_line[0] != 0) {
        memcpy(status_line, text, length);
        status_line[length] = 0;
        dm_buffer_puts(&line, ERASE_LINE);
        dm_buffer_puts(&line, status_line);
        write_stderr(&line);
    }
    pthread_mutex_unlock(&stderr_mutex);
    dm_buffer_deinit(&line);
}

void dm_log_line(const char *text)
{
    dm_buffer line = DM_BUFFER_EMPTY;
    pthread_mutex_lock(&stderr_mutex);
    if (status_line[0] != 0)
        dm_buffer_puts(&line, ERASE_LINE);
    dm_buffer_puts(&line, text);
    dm_buffer_putc(&line, '\n');
    dm_buffer_puts(&line, status_line);
    write_stderr(&line);
    pthread_mutex_unlock(&stderr_mutex);
    dm_buffer_deinit(&line);
}
