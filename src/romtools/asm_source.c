/* SPDX-License-Identifier: MIT */
/* asm_source.c - where the next line comes from.
 *
 * A stack of frames: files, macro bodies and repeated blocks, each a piece of text and a position
 * in it. Bodies are pieces of the files they stand in; \1, \@ and the like are put in when a line
 * is read. */
#include "base/file.h"
#include "romtools/asm_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static dm_asm_frame *push_frame(dm_asm *as)
{
    if (as->frame_count == DM_ASM_FRAMES_MAX) {
        dm_asm_fatal(as, "macros and repetitions are more than %d deep", DM_ASM_FRAMES_MAX);
        return NULL;
    }
    dm_asm_frame *below = as->frame_count ? &as->frames[as->frame_count - 1] : NULL;
    dm_asm_frame *frame = &as->frames[as->frame_count++];
    *frame = (dm_asm_frame){.ifs = as->if_count, .first_line = 1, .next_line = 1};
    if (below) {
        frame->args = below->args;
        frame->macro = below->macro;
        frame->unique = below->unique;
        frame->file = below->file;
    }
    return frame;
}

/* ---- files ---- */

/* A name that stays inside the folder it is looked up in. */
static bool name_is_tame(const char *name)
{
    if (!*name || *name == '/' || strlen(name) > 255)
        return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t size = strcspn(part, "/");
        if (size == 0 || (size == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    return true;
}

/* Does the file, links followed, really lie under the folder? */
static bool lies_under(const char *path, const char *folder)
{
    char *real_path = realpath(path, NULL), *real_folder = realpath(folder, NULL);
    size_t size = real_folder ? strlen(real_folder) : 0;
    bool inside = real_path && real_folder && strncmp(real_path, real_folder, size) == 0 &&
                  (real_path[size] == '/' || (size == 1 && real_folder[0] == '/'));
    free(real_path);
    free(real_folder);
    return inside;
}

static dm_asm_file *load_file(dm_asm *as, const char *path, dm_error *err)
{
    for (dm_asm_file *file = as->files; file; file = file->next)
        if (strcmp(file->path, path) == 0)
            return file;
    dm_asm_file *file = dm_asm_alloc(as, sizeof *file);
    const char *copy = dm_asm_copy(as, path, strlen(path));
    if (!file || !copy ||
        dm_file_read(path, DM_ASM_FILE_MAX, &file->text, &file->size, err) != DM_OK)
        return NULL;
    file->path = copy;
    file->next = as->files;
    as->files = file;
    return file;
}

void dm_asm_push_text(dm_asm *as, const char *name, const char *text, size_t size)
{
    dm_asm_frame *frame = push_frame(as);
    if (!frame)
        return;
    frame->kind = DM_ASM_FRAME_FILE;
    frame->file = name;
    frame->text = text;
    frame->size = size;
}

void dm_asm_push_file(dm_asm *as, const char *name)
{
    unsigned depth = 0;
    for (unsigned i = 0; i < as->frame_count; i++)
        depth += as->frames[i].kind == DM_ASM_FRAME_FILE;
    if (depth >= DM_ASM_INCLUDES_MAX) {
        dm_asm_fatal(as, "files include each other more than %d deep", DM_ASM_INCLUDES_MAX);
        return;
    }
    if (!name_is_tame(name)) {
        dm_asm_error(as, "'%.200s' is not a name inside the source's folder", name);
        return;
    }
    const char *folders[2] = {as->folder, as->include_dir};
    dm_error err = {0};
    for (unsigned i = 0; i < 2; i++) {
        char path[DM_PATH_MAX];
        if (!folders[i] || dm_path_join(path, folders[i], name, &err) != DM_OK ||
            !dm_file_exists(path))
            continue;
        if (!lies_under(path, folders[i])) {
            dm_asm_error(as, "'%.200s' leads out of the source's folder", name);
            return;
        }
        dm_asm_file *file = load_file(as, path, &err);
        if (file)
            dm_asm_push_text(as, file->path, file->text, file->size);
        else
            dm_asm_error(as, "%.500s", err.message);
        return;
    }
    dm_asm_error(as, "there is no file '%.200s'", name);
}

/* ---- macros and repetitions ---- */

/* Arguments are split at commas outside texts and brackets, and trimmed. */
static bool split_arguments(dm_asm *as, const char *text, dm_asm_args *args)
{
    int depth = 0;
    const char *start = text;
    bool quoted = false;
    if (!text[strspn(text, " \t\r")])
        return true;
    for (const char *at = text;; at++) {
        if (*at && quoted) {
            if (*at == '\\' && at[1])
                at++;
            else if (*at == '"')
                quoted = false;
            continue;
        }
        if (*at == '"')
            quoted = true;
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
        if (*at && (*at != ',' || depth > 0))
            continue;
        const char *from = start + strspn(start, " \t\r"), *to = at;
        while (to > from && isspace((unsigned char)to[-1]))
            to--;
        if (args->count == DM_ASM_ARGS_MAX) {
            dm_asm_error(as, "a macro takes at most %d arguments", DM_ASM_ARGS_MAX);
            return false;
        }
        args->text[args->count] =
            dm_asm_copy(as, from < to ? from : "", from < to ? (size_t)(to - from) : 0);
        if (!args->text[args->count++])
            return false;
        if (!*at)
            return true;
        start = at + 1;
    }
}

void dm_asm_push_macro(dm_asm *as, const dm_asm_symbol *macro, const char *arguments)
{
    dm_asm_args *args = dm_asm_alloc(as, sizeof *args);
    if (!args || !split_arguments(as, arguments, args))
        return;
    dm_asm_frame *frame = push_frame(as);
    if (!frame)
        return;
    frame->kind = DM_ASM_FRAME_MACRO;
    frame->file = macro->file;
    frame->macro = macro->name;
    frame->text = macro->text;
    frame->size = macro->text_size;
    frame->first_line = frame->next_line = macro->line;
    frame->args = args;
    frame->unique = ++as->unique;
}

void dm_asm_push_rept(dm_asm *as, const char *text, size_t size, int line, uint32_t count)
{
    if (count == 0 || size == 0)
        return;
    dm_asm_frame *frame = push_frame(as);
    if (!frame)
        return;
    frame->kind = DM_ASM_FRAME_REPT;
    frame->text = text;
    frame->size = size;
    frame->first_line = frame->next_line = line;
    frame->repeats_left = count - 1;
    frame->unique = ++as->unique;
}

/* ---- lines ---- */

/* The top frame is at its end: start over, or leave it. */
static void end_frame(dm_asm *as)
{
    dm_asm_frame *frame = &as->frames[as->frame_count - 1];
    if (as->if_count > frame->ifs) {
        dm_asm_error(as, "IF without ENDC");
        as->if_count = frame->ifs;
    }
    if (frame->repeats_left > 0) {
        frame->repeats_left--;
        frame->pos = 0;
        frame->next_line = frame->first_line;
        frame->unique = ++as->unique;
        return;
    }
    as->frame_count--;
}

static void take_line(dm_asm_frame *frame, const char **text, size_t *size)
{
    const char *start = frame->text + frame->pos;
    const char *end = memchr(start, '\n', frame->size - frame->pos);
    *text = start;
    *size = end ? (size_t)(end - start) : frame->size - frame->pos;
    frame->pos += *size + (end ? 1 : 0);
    frame->line = frame->next_line++;
    if (*size > 0 && start[*size - 1] == '\r')
        --*size;
}

static bool count_line(dm_asm *as)
{
    if (++as->lines > as->line_limit) {
        dm_asm_fatal(as, "more than %u lines: a repetition or macro without end?",
                     (unsigned)as->line_limit);
        return false;
    }
    return true;
}

bool dm_asm_raw_line(dm_asm *as, const char **text, size_t *size)
{
    while (!as->stop && as->frame_count > 0) {
        dm_asm_frame *frame = &as->frames[as->frame_count - 1];
        if (!count_line(as))
            return false;
        if (frame->pos < frame->size) {
            take_line(frame, text, size);
            return true;
        }
        end_frame(as);
    }
    return false;
}

typedef struct line_out {
    dm_asm *as;
    size_t size;
    bool full;
} line_out;

static void put(line_out *out, const char *text, size_t size)
{
    if (out->size + size >= DM_ASM_LINE_MAX) {
        out->full = true;
        return;
    }
    memcpy(out->as->line + out->size, text, size);
    out->size += size;
}

static void put_number(line_out *out, const char *prefix, uint32_t number)
{
    char digits[32];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(out, prefix, strlen(prefix));
    put(out, digits + at, sizeof digits - at);
}

/* What stands after a backslash: \1..\9, \<12>, \@, \#. Returns how much of `text` it used; 0 when
 * it is none of these. */
static size_t put_argument(line_out *out, const char *text, size_t size)
{
    const dm_asm_frame *frame = &out->as->frames[out->as->frame_count - 1];
    const dm_asm_args *args = frame->args;
    if (size == 0)
        return 0;
    if (*text == '@') {
        put_number(out, "_u", frame->unique);
        return 1;
    }
    if (*text == '#' && args) {
        for (unsigned i = args->shift; i < args->count; i++) {
            put(out, ",", i > args->shift);
            put(out, args->text[i], strlen(args->text[i]));
        }
        return 1;
    }
    unsigned number = 0;
    size_t used = 1;
    if (*text >= '1' && *text <= '9') {
        number = (unsigned)(*text - '0');
    } else if (*text == '<') {
        for (; used < size && isdigit((unsigned char)text[used]) && number < 1000; used++)
            number = number * 10 + (unsigned)(text[used] - '0');
        if (used == 1 || used >= size || text[used] != '>')
            return 0;
        used++;
    }
    if (number == 0)
        return 0;
    if (!args)
        dm_asm_error(out->as, "\\%u outside a macro", number);
    else if (number + args->shift > args->count)
        dm_asm_error(out->as, "macro argument %u is not given", number);
    else
        put(out, args->text[number + args->shift - 1],
            strlen(args->text[number + args->shift - 1]));
    return used;
}

/* _NARG is known only here. */
static size_t put_narg(line_out *out, const char *text, size_t size, size_t at)
{
    const dm_asm_args *args = out->as->frames[out->as->frame_count - 1].args;
    if (!args || size - at < 5 || strncmp(text + at, "_NARG", 5) != 0 ||
        (at > 0 && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')) ||
        (size - at > 5 && (isalnum((unsigned char)text[at + 5]) || text[at + 5] == '_')))
        return 0;
    put_number(out, "", args->count > args->shift ? args->count - args->shift : 0);
    return 5;
}

/* Copy a line without its comment, arguments put in. True when it goes on in the next line. */
static bool expand(line_out *out, const char *text, size_t size)
{
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        size_t used = 0;
        if (c == ';' && !quoted)
            return false;
        if (c == '\'' && !quoted && i + 2 < size && text[i + 2] == '\'') {
            put(out, text + i, 3);
            i += 2;
            continue;
        }
        if (c == '\\') {
            used = put_argument(out, text + i + 1, size - i - 1);
            if (used) {
                i += used;
                continue;
            }
            if (!quoted) {
                size_t rest = i + 1;
                while (rest < size && isspace((unsigned char)text[rest]))
                    rest++;
                if (rest == size || text[rest] == ';')
                    return true;
            } else if (i + 1 < size) {
                put(out, text + i++, 2);
                continue;
            }
        }
        if (c == '"')
            quoted = !quoted;
        used = c == '_' && !quoted ? put_narg(out, text, size, i) : 0;
        if (used)
            i += used - 1;
        else
            put(out, c ? &c : "\x01", 1); /* a NUL would end the line unseen */
    }
    return false;
}

bool dm_asm_next_line(dm_asm *as)
{
    const char *text;
    size_t size;
    line_out out = {.as = as};
    if (!dm_asm_raw_line(as, &text, &size))
        return false;
    bool more = expand(&out, text, size);
    while (more && !as->stop) {
        dm_asm_frame *frame = &as->frames[as->frame_count - 1];
        if (frame->pos >= frame->size || !count_line(as))
            break;
        take_line(frame, &text, &size);
        more = expand(&out, text, size);
    }
    if (out.full) {
        dm_asm_error(as, "the line has more than %d characters", DM_ASM_LINE_MAX - 1);
        out.size = 0;
    }
    as->line[out.size] = 0;
    return true;
}

bool dm_asm_starts_with(const char *text, size_t size, const char *word)
{
    size_t at = 0, length = strlen(word);
    while (at < size && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return size - at >= length && strncasecmp(text + at, word, length) == 0 &&
           (size - at == length ||
            !(isalnum((unsigned char)text[at + length]) || text[at + length] == '_'));
}

bool dm_asm_block(dm_asm *as, const char *nested, const char *end, const char **text, size_t *size,
                  int *line)
{
    dm_asm_frame *frame = &as->frames[as->frame_count - 1];
    const char *row;
    size_t row_size;
    size_t start = frame->pos;
    int opened_at = frame->line;
    unsigned depth = 1;
    *text = frame->text + start;
    *line = frame->next_line;
    while (frame->pos < frame->size && count_line(as)) {
        size_t row_start = frame->pos;
        take_line(frame, &row, &row_size);
        if (nested && dm_asm_starts_with(row, row_size, nested))
            depth++;
        else if (dm_asm_starts_with(row, row_size, end) && --depth == 0) {
            *size = row_start - start;
            return true;
        }
    }
    if (!as->stop)
        dm_asm_error_at(as, frame->file, opened_at, "no %s for this block", end);
    return false;
}

void dm_asm_skip_branch(dm_asm *as)
{
    dm_asm_frame *frame = &as->frames[as->frame_count - 1];
    const char *text;
    size_t size;
    unsigned depth = 0;
    while (frame->pos < frame->size && count_line(as)) {
        size_t start = frame->pos;
        take_line(frame, &text, &size);
        if (dm_asm_starts_with(text, size, "IF")) {
            depth++;
        } else if (depth > 0) {
            depth -= dm_asm_starts_with(text, size, "ENDC");
        } else if (dm_asm_starts_with(text, size, "ELIF") ||
                   dm_asm_starts_with(text, size, "ELSE") ||
                   dm_asm_starts_with(text, size, "ENDC")) {
            frame->pos = start;
            frame->next_line--;
            return;
        }
    }
}
