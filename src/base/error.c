/* SPDX-License-Identifier: MIT */
/* error.c - status names, error filling, the version. */
#include <dotmatrix/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef dm_fail
#undef dm_fail_at

static const char *const status_names[] = {
    "ok",
    "invalid argument",
    "out of memory",
    "input/output error",
    "not found",
    "bad format",
    "unsupported",
    "unavailable",
    "does not compile",
    "device error",
    "internal error",
};
_Static_assert(sizeof status_names / sizeof status_names[0] == DM_STATUS_COUNT, "one name each");

uint32_t dm_version(void)
{
    return DM_VERSION;
}

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

const char *dm_version_string(void)
{
    return TEXT_OF(DM_VERSION_MAJOR) "." TEXT_OF(DM_VERSION_MINOR) "." TEXT_OF(DM_VERSION_PATCH);
}

const char *dm_status_name(dm_status status)
{
    return (unsigned)status < DM_STATUS_COUNT ? status_names[status] : "unknown status";
}

/* A message is one line and safe to print: names and texts in it come from files, and may hold
 * line breaks or a terminal's control sequences. */
static void make_one_line(char *message)
{
    for (char *c = message; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = *c == '\n' || *c == '\t' ? ' ' : '?';
}

static dm_status fill(dm_error *err, dm_status status, const char *file, int line,
                      const char *format, va_list args)
{
    if (err == NULL)
        return status;
    err->status = status;
    err->line = line;
    snprintf(err->file, sizeof err->file, "%s", file);
    vsnprintf(err->message, sizeof err->message, format, args);
    make_one_line(err->message);
    return status;
}

dm_status dm_fail(dm_error *err, dm_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, "", 0, format, args);
    va_end(args);
    return status;
}

dm_status dm_fail_at(dm_error *err, dm_status status, const char *file, int line,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, file, line, format, args);
    va_end(args);
    return status;
}

void dm_error_prefix(dm_error *err, const char *format, ...)
{
    if (err == NULL)
        return;
    char message[DM_ERROR_MESSAGE_MAX];
    memcpy(message, err->message, sizeof message);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof err->message)
        snprintf(err->message + length, sizeof err->message - (size_t)length, ": %s", message);
    make_one_line(err->message);
}
