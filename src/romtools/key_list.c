/* SPDX-License-Identifier: MIT */
/* key_list.c - see key_list.h. */
#include "romtools/key_list.h"
#include "base/file.h"
#include "romtools/script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "0x11" */
static bool parse_mask(const char *text, size_t length, uint8_t *out)
{
    unsigned value = 0;
    if (length < 3 || length > 4 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
        return false;
    for (size_t i = 2; i < length; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = memchr(digits, tolower((unsigned char)text[i]), 16);
        if (digit == NULL)
            return false;
        value = value << 4 | (unsigned)(digit - digits);
    }
    *out = (uint8_t)value;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static dm_status parse_line(dm_gb_key_list *list, const char *name, int line, const char *at,
                            const char *end, dm_error *err)
{
    const char *comment = memchr(at, '#', (size_t)(end - at));
    if (comment != NULL)
        end = comment;
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    const size_t length = (size_t)(end - at);
    uint8_t keys = 0;
    if (length == 0)
        return DM_OK;
    if (!parse_mask(at, length, &keys) && !dm_gb_script_keys(at, length, &keys))
        return dm_fail_at(
            err, DM_EFORMAT, name, line,
            "'%.*s' is no action; that is A, B, START, SELECT, UP, DOWN, LEFT, RIGHT, "
            "joined by commas, - for none, or a mask such as 0x11",
            (int)(length > 40 ? 40 : length), at);
    if (list->count == DM_GB_KEY_LIST_MAX)
        return dm_fail_at(err, DM_EFORMAT, name, line, "more than %u actions", DM_GB_KEY_LIST_MAX);
    list->keys[list->count++] = keys;
    return DM_OK;
}

dm_status dm_gb_key_list_parse(dm_gb_key_list *list, const char *name, const char *text,
                               size_t size, dm_error *err)
{
    const char *end = text + size;
    int line = 0;
    list->count = 0;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        dm_status status = parse_line(list, name, ++line, at, stop, err);
        if (status != DM_OK)
            return status;
        at = stop + 1;
    }
    return list->count != 0 ? DM_OK
                            : dm_fail(err, DM_EFORMAT, "%s: there is no action in it", name);
}

dm_status dm_gb_key_list_load(dm_gb_key_list *list, const char *path, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    list->count = 0;
    dm_status status = dm_file_read(path, DM_GB_KEY_LIST_SIZE_MAX, &text, &size, err);
    if (status == DM_OK)
        status = dm_gb_key_list_parse(list, path, text, size, err);
    free(text);
    return status;
}
