/* SPDX-License-Identifier: MIT */
/* sources.c - find the headers of a kernel text, and the errors in a compiler's output. */
#include "device/sources.h"

#include "base/terminal/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *dm_embedded_text(const char *name)
{
    size_t low = 0, high = dm_embedded_source_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, dm_embedded_sources[middle].name);
        if (order == 0)
            return dm_embedded_sources[middle].text;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- Headers ---- */

/* The name in `#include "name"` or `#include <name>` when the line is one; NULL otherwise. */
static const char *include_name(const char *line, size_t *length)
{
    const char *p = line + strspn(line, " \t");
    if (*p++ != '#')
        return NULL;
    p += strspn(p, " \t");
    if (strncmp(p, "include", 7) != 0)
        return NULL;
    p += 7;
    p += strspn(p, " \t");
    if (*p != '"' && *p != '<')
        return NULL;
    char end = *p++ == '<' ? '>' : '"';
    *length = strcspn(p, "\"<>\n");
    return p[*length] == end ? p : NULL;
}

static bool name_is(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

/* Headers are written below a folder of ours when the CPU's compiler runs: no way out of it. */
static bool safe_name(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strlen(name) > 200)
        return false;
    for (const char *p = name; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "../", 3) == 0 || strcmp(p, "..") == 0)
            return false;
    }
    for (const char *p = name; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr("_-./+", *p) == NULL)
            return false;
    return true;
}

static const dm_source *find_header(const dm_module_desc *desc, const char *name, size_t length)
{
    for (size_t i = 0; i < desc->header_count; i++)
        if (name_is(desc->headers[i].name, name, length))
            return &desc->headers[i];
    for (size_t i = 0; i < dm_embedded_source_count; i++)
        if (name_is(dm_embedded_sources[i].name, name, length))
            return &dm_embedded_sources[i];
    return NULL;
}

static dm_status add_header(dm_source_set *set, const dm_source *header, dm_error *err)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->headers[i].name, header->name) == 0)
            return DM_OK;
    if (set->count == set->capacity) {
        size_t capacity = set->capacity == 0 ? 16 : set->capacity * 2;
        dm_source *grown = realloc(set->headers, capacity * sizeof *grown);
        if (grown == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        set->headers = grown;
        set->capacity = capacity;
    }
    set->headers[set->count++] = *header;
    return DM_OK;
}

static dm_status scan(dm_source_set *set, const dm_module_desc *desc, const char *text,
                      dm_error *err)
{
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t length;
        const char *name = include_name(line, &length);
        const dm_source *header = name == NULL ? NULL : find_header(desc, name, length);
        if (header != NULL) {
            dm_status status = add_header(set, header, err);
            if (status != DM_OK)
                return status;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return DM_OK;
}

dm_status dm_source_set_init(dm_source_set *set, const dm_module_desc *desc, dm_error *err)
{
    memset(set, 0, sizeof *set);
    set->main.name = desc->name;
    set->main.text = desc->text != NULL ? desc->text : dm_embedded_text(desc->name);
    if (set->main.text == NULL)
        return dm_fail(err, DM_ENOENT, "the library has no kernel text called '%s'", desc->name);
    for (size_t i = 0; i < desc->header_count; i++)
        if (!safe_name(desc->headers[i].name))
            return dm_fail(err, DM_EINVAL,
                           "header '%s': a name is a relative path of letters, digits and _-.+",
                           desc->headers[i].name);
    dm_status status = scan(set, desc, set->main.text, err);
    /* The list grows while it is walked. */
    for (size_t i = 0; i < set->count && status == DM_OK; i++)
        status = scan(set, desc, set->headers[i].text, err);
    if (status != DM_OK)
        dm_source_set_deinit(set);
    return status;
}

void dm_source_set_deinit(dm_source_set *set)
{
    free(set->headers);
    memset(set, 0, sizeof *set);
}

static void hash_list(dm_hasher *hasher, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++)
        dm_hasher_text(hasher, *list);
    dm_hasher_text(hasher, "--");
}

void dm_source_set_hash(const dm_source_set *set, const dm_module_desc *desc, dm_hasher *hasher)
{
    dm_hasher_text(hasher, set->main.name);
    dm_hasher_text(hasher, set->main.text);
    for (size_t i = 0; i < set->count; i++) {
        dm_hasher_text(hasher, set->headers[i].name);
        dm_hasher_text(hasher, set->headers[i].text);
    }
    hash_list(hasher, desc->defines);
}

/* ---- Errors ---- */

/* Does this line of output name an error? "name:12:3: error: text" (gcc, clang) or "name(12):
 * error: text" (NVRTC). Fills the place and points at the text. */
static const char *error_line(const char *line, size_t length, char file[DM_ERROR_FILE_MAX],
                              int *number)
{
    static const char *const marks[] = {": error: ", ": fatal error: ", ": catastrophic error: "};
    const char *mark = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0] && mark == NULL; i++) {
        mark = memmem(line, length, marks[i], strlen(marks[i]));
        if (mark != NULL)
            length = (size_t)(mark - line);
    }
    if (mark == NULL)
        return NULL;
    const char *text = strstr(mark, "error: ") + 7;
    size_t name = length;
    *number = 0;
    if (length > 0 && line[length - 1] == ')') {
        while (name > 0 && line[name - 1] != '(')
            name--;
        *number = atoi(line + name);
        name = name > 0 ? name - 1 : 0;
    } else {
        /* From the back: up to two ":number" groups, the first of them the line. */
        for (int group = 0; group < 2; group++) {
            size_t digits = name;
            while (digits > 0 && isdigit((unsigned char)line[digits - 1]))
                digits--;
            if (digits == name || digits == 0 || line[digits - 1] != ':')
                break;
            *number = atoi(line + digits);
            name = digits - 1;
        }
    }
    if (name >= DM_ERROR_FILE_MAX)
        name = DM_ERROR_FILE_MAX - 1;
    memcpy(file, line, name);
    file[name] = '\0';
    return text;
}

dm_status dm_compile_fail(const dm_module_desc *desc, const char *log, dm_error *err)
{
    if (desc->log != NULL)
        *desc->log = strdup(log);
    dm_log(DM_LOG_DEBUG, "%s: compiler output:\n%s", desc->name, log);
    for (const char *line = log; line != NULL && *line != '\0';) {
        char file[DM_ERROR_FILE_MAX];
        int number;
        const char *text = error_line(line, strcspn(line, "\n"), file, &number);
        if (text != NULL) {
            size_t rest = strlen(text);
            while (rest > 0 && isspace((unsigned char)text[rest - 1]))
                rest--;
            return dm_fail_at(err, DM_ECOMPILE, file, number, "%s:%d: %.*s", file, number,
                              (int)(rest > 900 ? 900 : rest), text);
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return dm_fail_at(err, DM_ECOMPILE, desc->name, 0, "%s does not compile: %s", desc->name, log);
}
