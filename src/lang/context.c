/* SPDX-License-Identifier: MIT */
/* context.c - memory, interned names, sources and diagnostics of one compilation; see lang.h. */
#include "lang/common.h"
#include "lang/front/intern.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_INITIAL 256u
#define PIECE ((size_t)8 << 10) /* bytes that are taken from the arena and zeroed at once */
#define KEPT_MAX ((size_t)4 << 20)
#define LINE_SHOWN_MAX 160 /* bytes of a source line that a diagnostic shows */

void dm_lang_init_plain(dm_lang *lang)
{
    memset(lang, 0, sizeof *lang);
    dm_arena_init(&lang->arena, DM_LANG_MEMORY_MAX);
    dm_arena_init(&lang->own_kept.arena, DM_LANG_MEMORY_MAX);
    lang->kept = &lang->own_kept;
    lang->library_call = DM_POS_NONE;
}

void dm_lang_init(dm_lang *lang)
{
    dm_lang_init_plain(lang);
    lang->common = dm_common_get();
}

void dm_lang_forget(dm_kept *kept)
{
    dm_arena arena = kept->arena;
    dm_arena_reset(&arena);
    *kept = (dm_kept){.arena = arena};
}

void dm_lang_init_in(dm_lang *lang, dm_workspace *workspace)
{
    dm_lang_init(lang);
    if (workspace == NULL)
        return;
    assert(!workspace->busy);
    workspace->busy = true;
    lang->workspace = workspace;
    lang->arena = workspace->arena;
    if (workspace->kept.arena.used > KEPT_MAX)
        dm_lang_forget(&workspace->kept);
    lang->kept = &workspace->kept;
    lang->scratch = workspace->scratch;
    lang->texts = workspace->texts;
    lang->text_count = workspace->text_count;
    lang->tokens = workspace->tokens;
    lang->copy = workspace->copy;
}

static void free_texts(dm_buffer **texts, int count)
{
    for (int i = 0; i < count; i++) {
        dm_buffer_deinit(texts[i]);
        free(texts[i]);
    }
    free(texts);
}

void dm_lang_deinit(dm_lang *lang)
{
    dm_workspace *workspace = lang->workspace;
    if (workspace != NULL) {
        dm_arena_reset(&lang->arena);
        workspace->arena = lang->arena;
        workspace->scratch = lang->scratch;
        workspace->texts = lang->texts;
        workspace->text_count = lang->text_count;
        workspace->tokens = lang->tokens;
        workspace->copy = lang->copy;
        workspace->busy = false;
    } else {
        dm_arena_deinit(&lang->own_kept.arena);
        dm_buffer_deinit(&lang->tokens);
        dm_buffer_deinit(&lang->copy);
        dm_buffer_deinit(&lang->scratch);
        free_texts(lang->texts, lang->text_count);
        dm_arena_deinit(&lang->arena);
    }
    dm_lang_init_plain(lang); /* a second time does nothing */
}

void dm_workspace_init(dm_workspace *workspace)
{
    *workspace = (dm_workspace){0};
    dm_arena_init(&workspace->arena, DM_LANG_MEMORY_MAX);
    dm_arena_init(&workspace->kept.arena, DM_LANG_MEMORY_MAX);
}

void dm_workspace_deinit(dm_workspace *workspace)
{
    assert(!workspace->busy);
    dm_buffer_deinit(&workspace->scratch);
    dm_buffer_deinit(&workspace->tokens);
    dm_buffer_deinit(&workspace->copy);
    free_texts(workspace->texts, workspace->text_count);
    dm_arena_deinit(&workspace->arena);
    dm_arena_deinit(&workspace->kept.arena);
    *workspace = (dm_workspace){0};
}

_Noreturn void dm_lang_bail(dm_lang *lang, const char *reason)
{
    lang->bail_reason = reason;
    longjmp(lang->bail, 1);
}

/* ---- Memory ---- */

/* A piece of the arena to take small allocations from; false: this one is not small. */
static bool take_piece(dm_arena *arena, size_t size, unsigned char **room, unsigned char **room_end)
{
#ifdef DM_LANG_ASAN /* which sees each allocation by itself */
    (void)arena, (void)size, (void)room, (void)room_end;
    return false;
#else
    unsigned char *piece = size < PIECE / 4 ? dm_arena_alloc(arena, PIECE) : NULL;
    if (piece == NULL)
        return false;
    *room = piece;
    *room_end = piece + PIECE;
    return true;
#endif
}

void *dm_lang_alloc_slow(dm_lang *lang, size_t size)
{
    if (take_piece(&lang->arena, size, &lang->room, &lang->room_end))
        return dm_lang_alloc(lang, size);
    void *memory = dm_arena_alloc(&lang->arena, size);
    if (memory == NULL)
        dm_lang_bail(lang, "out of memory");
    return memory;
}

void *dm_lang_keep(dm_lang *lang, size_t size)
{
    dm_kept *kept = lang->kept;
    if (size < (size_t)(kept->room_end - kept->room) ||
        take_piece(&kept->arena, size, &kept->room, &kept->room_end)) {
        unsigned char *memory = kept->room;
        kept->room = memory + (size + 7) / 8 * 8;
        return memory;
    }
    void *memory = dm_arena_alloc(&kept->arena, size);
    if (memory == NULL)
        dm_lang_bail(lang, "out of memory");
    return memory;
}

void *dm_lang_alloc_array(dm_lang *lang, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        dm_lang_bail(lang, "out of memory");
    return dm_lang_alloc(lang, total);
}

void dm_lang_grow(dm_lang *lang, void **items, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return;
    int larger = *capacity < 8 ? 8 : *capacity * 2;
    void *memory = dm_lang_alloc_array(lang, (size_t)larger, size);
    if (count > 0)
        memcpy(memory, *items, (size_t)count * size);
    *items = memory;
    *capacity = larger;
}

static void put_unsigned(dm_buffer *out, unsigned long long value)
{
    char digits[24], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    dm_buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

void dm_put_number(dm_buffer *out, long long value)
{
    if (value >= 0 && value < 10) {
        dm_buffer_putc(out, (char)('0' + value));
        return;
    }
    if (value < 0)
        dm_buffer_putc(out, '-');
    put_unsigned(out, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value);
}

void dm_emit_list(dm_buffer *out, const char *format, va_list args)
{
    for (const char *p = format; *p != '\0'; p++) {
        const char *plain = p;
        p = strchrnul(p, '%');
        if (p > plain)
            dm_buffer_append(out, plain, (size_t)(p - plain));
        if (*p == '\0')
            break;
        const char *conversion = p++;
        bool wide = p[0] == 'l' && p[1] == 'l';
        p += wide ? 2 : 0;
        switch (*p) {
        case 's':
            dm_buffer_puts(out, va_arg(args, const char *));
            break;
        case 'c':
            dm_buffer_putc(out, (char)va_arg(args, int));
            break;
        case 'd':
            dm_put_number(out, wide ? va_arg(args, long long) : va_arg(args, int));
            break;
        case 'u':
            put_unsigned(out, wide ? va_arg(args, unsigned long long) : va_arg(args, unsigned));
            break;
        case '%':
            dm_buffer_putc(out, '%');
            break;
        default: /* the rest the long way */
            dm_buffer_vprintf(out, conversion, args);
            return;
        }
    }
}

void dm_emit(dm_buffer *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    dm_emit_list(out, format, args);
    va_end(args);
}

char *dm_lang_format(dm_lang *lang, const char *format, ...)
{
    va_list args;
    dm_buffer *text = &lang->scratch;
    dm_buffer_clear(text);
    va_start(args, format);
    dm_emit_list(text, format, args);
    va_end(args);
    if (text->failed)
        dm_lang_bail(lang, "out of memory");
    char *copy = dm_lang_alloc(lang, text->size + 1);
    if (text->size > 0)
        memcpy(copy, text->data, text->size);
    return copy;
}

dm_buffer *dm_text_open(dm_lang *lang)
{
    if (lang->text_open == lang->text_count) {
        size_t bytes = ((size_t)lang->text_count + 1) * sizeof(void *);
        dm_buffer **larger = realloc(lang->texts, bytes);
        dm_buffer *text = calloc(1, sizeof *text);
        if (larger != NULL)
            lang->texts = larger;
        if (larger == NULL || text == NULL) {
            free(text);
            dm_lang_bail(lang, "out of memory");
        }
        lang->texts[lang->text_count++] = text;
    }
    dm_buffer *text = lang->texts[lang->text_open++];
    dm_buffer_clear(text);
    return text;
}

void dm_text_close(dm_lang *lang, int count)
{
    lang->text_open -= count;
}

/* ---- Names ---- */

static void grow_names(dm_lang *lang)
{
    dm_kept *kept = lang->kept;
    if (kept->names == NULL && lang->common != NULL) { /* begin with the common ones */
        const dm_kept *common = lang->common->lang.kept;
        kept->names = dm_lang_keep(lang, common->name_capacity * sizeof *kept->names);
        memcpy(kept->names, common->names, common->name_capacity * sizeof *kept->names);
        kept->name_capacity = common->name_capacity;
        kept->name_count = common->name_count;
    }
    if (kept->name_count * 2 < kept->name_capacity)
        return;
    uint32_t capacity = kept->name_capacity == 0 ? NAMES_INITIAL : kept->name_capacity * 2;
    dm_name_slot *table = dm_lang_keep(lang, capacity * sizeof *table);
    for (uint32_t i = 0; kept->names != NULL && i < kept->name_capacity; i++) {
        if (kept->names[i].name == NULL)
            continue;
        uint32_t slot = kept->names[i].hash & (capacity - 1);
        while (table[slot].name != NULL)
            slot = (slot + 1) & (capacity - 1);
        table[slot] = kept->names[i];
    }
    kept->names = table;
    kept->name_capacity = capacity;
}

const dm_lang_name *dm_lang_intern_padded(dm_lang *lang, const char *text, size_t length)
{
    dm_kept *kept = lang->kept;
    if (kept->name_count * 2 >= kept->name_capacity)
        grow_names(lang);
    dm_name_key key = dm_name_key_of(text, length);
    uint32_t slot = dm_name_slot_of(kept, text, length, &key);
    if (kept->names[slot].name != NULL)
        return kept->names[slot].name;
    dm_lang_name *name = dm_lang_keep(lang, sizeof *name + length + DM_NAME_ROOM);
    name->length = (uint32_t)length;
    name->number = kept->name_count++;
    memcpy(name->text, text, length);
    kept->names[slot] = (dm_name_slot){.hash = key.hash, .name = name};
    return name;
}

const char *dm_lang_intern(dm_lang *lang, const char *text, size_t length)
{
    char padded[DM_NAME_PADDING] = {0};
    if (length < sizeof padded) {
        if (length > 0)
            memcpy(padded, text, length);
        text = padded;
    }
    return dm_lang_intern_padded(lang, text, length)->text;
}

const char *dm_lang_intern_text(dm_lang *lang, const char *text)
{
    return dm_lang_intern(lang, text, strlen(text));
}

const char *dm_lang_lone_name(dm_lang *lang, const char *text, size_t length)
{
    dm_lang_name *name = dm_lang_alloc(lang, sizeof *name + length + DM_NAME_ROOM);
    name->length = (uint32_t)length;
    memcpy(name->text, text, length);
    return name->text;
}

bool dm_lang_is_name(const dm_lang *lang, const char *text, size_t length)
{
    char padded[DM_NAME_PADDING] = {0};
    const char *readable = length < sizeof padded ? memcpy(padded, text, length) : text;
    dm_name_key key = dm_name_key_of(readable, length);
    return lang->kept->names != NULL &&
           lang->kept->names[dm_name_slot_of(lang->kept, readable, length, &key)].name != NULL;
}

const char *dm_lang_adjoint_name(dm_lang *lang, const char *name)
{
    dm_lang_name *known = (dm_lang_name *)dm_lang_name_of(name);
    if (known->adjoint != NULL)
        return known->adjoint;
    const char *made = dm_lang_intern_text(lang, dm_lang_format(lang, "adj_%s", name));
    /* The common ones are not changed; nearly all of them have it. */
    if (lang->common == NULL || known->number >= lang->common->lang.kept->name_count)
        known->adjoint = made;
    return made;
}

/* ---- Sources ---- */

dm_lang_source *dm_lang_add_source(dm_lang *lang, const char *name, const char *text, size_t size)
{
    dm_lang_source *source = dm_lang_alloc(lang, sizeof *source);
    *source = (dm_lang_source){.name = name, .text = text, .size = size};
    if (lang->last_source == NULL) {
        source->base = lang->common == NULL ? DM_POS_COMMON : 0;
        lang->sources = source;
    } else {
        const dm_lang_source *last = lang->last_source;
        size_t end = lang->common == NULL ? UINT32_MAX : DM_POS_COMMON;
        if (size > end - 16 - last->base - last->size)
            dm_lang_bail(lang, "too much source text");
        source->base = last->base + (dm_pos)last->size + 1;
        lang->last_source->next = source;
    }
    lang->last_source = source;
    return source;
}

const dm_lang_source *dm_lang_find_source(const dm_lang *lang, dm_pos pos)
{
    bool shared = pos >= DM_POS_COMMON && pos != DM_POS_NONE && lang->common != NULL;
    const dm_lang_source *found = shared ? lang->common->lang.sources : lang->sources;
    for (const dm_lang_source *s = found; s != NULL && s->base <= pos; s = s->next)
        found = s;
    return found;
}

void dm_lang_find_lines(dm_lang *lang, dm_lang_source *source)
{
    uint32_t count = 1;
    for (size_t i = 0; i < source->size; i++)
        count += source->text[i] == '\n';
    source->lines = dm_lang_alloc_array(lang, count, sizeof *source->lines);
    source->line_count = 1;
    for (size_t i = 0; i < source->size; i++)
        if (source->text[i] == '\n')
            source->lines[source->line_count++] = (uint32_t)i + 1;
}

void dm_lang_locate(dm_lang *lang, dm_pos pos, const dm_lang_source **source, int *line,
                    int *column)
{
    dm_lang_source *s = (dm_lang_source *)dm_lang_find_source(lang, pos);
    *source = s;
    *line = 1;
    *column = 1;
    if (s == NULL || pos == DM_POS_NONE)
        return;
    if (s->lines == NULL)
        dm_lang_find_lines(lang, s);
    uint32_t offset = pos - s->base, low = 0, high = s->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    *line = (int)low + 1;
    *column = (int)(offset - s->lines[low]) + 1;
}

/* ---- Diagnostics ---- */

static void add_diag(dm_lang *lang, dm_severity severity, dm_pos pos, dm_pos end, const char *hint,
                     const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    /* An error inside our own library is reported at the call: the arguments were wrong. */
    const dm_lang_source *source = dm_lang_find_source(lang, pos);
    if (source != NULL && source->library && lang->library_call != DM_POS_NONE)
        pos = end = lang->library_call;
    for (const dm_diag *d = lang->diags; d != NULL; d = d->next)
        if (d->pos == pos && d->severity == severity)
            return; /* one per place: what follows from the first is noise */
    dm_diag *diag = dm_lang_alloc(lang, sizeof *diag);
    *diag = (dm_diag){.severity = severity,
                      .pos = pos,
                      .end = end < pos ? pos : end,
                      .message = dm_lang_format(lang, "%s", text),
                      .hint = hint};
    if (lang->last_diag == NULL)
        lang->diags = diag;
    else
        lang->last_diag->next = diag;
    lang->last_diag = diag;
    if (severity == DM_SEVERITY_WARNING)
        lang->warning_count++;
    else if (++lang->error_count >= DM_LANG_ERRORS_MAX)
        dm_lang_bail(lang, "too many errors");
}

void dm_lang_error(dm_lang *lang, dm_pos pos, dm_pos end, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_diag(lang, DM_SEVERITY_ERROR, pos, end, hint, format, args);
    va_end(args);
}

void dm_lang_warning(dm_lang *lang, dm_pos pos, dm_pos end, const char *hint, const char *format,
                     ...)
{
    va_list args;
    va_start(args, format);
    if (lang->warning_count < DM_LANG_ERRORS_MAX)
        add_diag(lang, DM_SEVERITY_WARNING, pos, end, hint, format, args);
    va_end(args);
}

/* Bytes that would disturb a terminal become '?'. */
static void put_shown(dm_buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        dm_buffer_putc(out, c == '\t' ? ' ' : c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
}

static void print_line(dm_lang *lang, dm_buffer *out, const dm_diag *diag)
{
    const dm_lang_source *source;
    int line, column;
    dm_lang_locate(lang, diag->pos, &source, &line, &column);
    const char *start = source->text + source->lines[line - 1];
    size_t length = 0, limit = source->size - source->lines[line - 1];
    while (length < limit && start[length] != '\n')
        length++;
    size_t at = (size_t)column - 1, first = 0;
    if (at > LINE_SHOWN_MAX / 2)
        first = at - LINE_SHOWN_MAX / 2;
    size_t shown = length - first < LINE_SHOWN_MAX ? length - first : LINE_SHOWN_MAX;
    dm_buffer_puts(out, "    ");
    put_shown(out, start + first, shown);
    dm_buffer_puts(out, "\n    ");
    for (size_t i = first; i < at; i++)
        dm_buffer_putc(out, ' ');
    dm_buffer_putc(out, '^');
    for (size_t i = at + 1; i < first + shown && i < at + (diag->end - diag->pos); i++)
        dm_buffer_putc(out, '~');
    dm_buffer_putc(out, '\n');
}

void dm_lang_print_diags(dm_lang *lang, dm_buffer *out)
{
    for (const dm_diag *diag = lang->diags; diag != NULL; diag = diag->next) {
        const dm_lang_source *source;
        int line, column;
        dm_lang_locate(lang, diag->pos, &source, &line, &column);
        bool placed = source != NULL && diag->pos != DM_POS_NONE;
        if (placed)
            dm_buffer_printf(out, "%s:%d:%d: ", source->name, line, column);
        dm_buffer_puts(out, diag->severity == DM_SEVERITY_ERROR ? "error: " : "warning: ");
        put_shown(out, diag->message, strlen(diag->message));
        dm_buffer_putc(out, '\n');
        if (placed)
            print_line(lang, out, diag);
        if (diag->hint != NULL)
            dm_buffer_printf(out, "    hint: %s\n", diag->hint);
    }
}
