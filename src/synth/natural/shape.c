/* SPDX-License-Identifier: MIT */
/* shape.c - rewrites a body's lines to an author's style, without changing what they compute.
 *
 *   x = x + a            or   x += a
 *   d = a - b            or   wp.length(a - b)     a local that the next line alone reads
 *   mass[tid]            or   m = mass[tid]           an element that the kernel reads alone
 *   range(x.shape[0])    or   n = x.shape[0], range(n)
 *   wp.max(a, b)         or   max(a, b)                                                   */
#include "synth/natural/idiom.h"

#include <ctype.h>
#include <string.h>

#define COLUMNS 88

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next place of a whole word at or behind `from`; NULL. */
static const char *find_word(const char *text, const char *from, const char *word, size_t length)
{
    for (const char *at = from; (at = strstr(at, word)) != NULL; at++)
        if ((at == text || (!is_letter(at[-1]) && at[-1] != '.')) && !is_letter(at[length]))
            return at;
    return NULL;
}

static int count_words(const char *text, const char *word, size_t length)
{
    int count = 0;
    for (const char *at = text; (at = find_word(text, at, word, length)) != NULL; at += length)
        count++;
    return count;
}

/* Is one of the operators outside of brackets? */
static bool has_operator(const char *text, size_t size, const char *operators)
{
    int depth = 0;
    for (size_t i = 0; i < size; i++) {
        depth += (strchr("([", text[i]) != NULL) - (strchr(")]", text[i]) != NULL);
        if (depth == 0 && i > 0 && text[i - 1] == ' ' && strchr(operators, text[i]) != NULL)
            return true;
    }
    return false;
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

/* ---- x = x + a, x += a ---- */

/* Write the line in the other form if it has one. */
static bool put_update(const char *line, size_t length, bool compact, dm_buffer *out)
{
    size_t indent = strspn(line, " ");
    const char *name = line + indent, *end = line + length;
    size_t size = 0;
    while (name + size < end && name[size] != ' ')
        size++;
    const char *rest = name + size;
    if (compact && end - rest > (ptrdiff_t)size + 6 && strncmp(rest, " = ", 3) == 0 &&
        strncmp(rest + 3, name, size) == 0 && rest[3 + size] == ' ' &&
        strchr("+-", rest[4 + size]) != NULL && rest[5 + size] == ' ') {
        const char *value = rest + 6 + size;
        if (has_operator(value, (size_t)(end - value), rest[4 + size] == '-' ? "+-" : "<>=i"))
            return false;
        dm_buffer_append(out, line, indent + size);
        dm_buffer_printf(out, " %c= ", rest[4 + size]);
        dm_buffer_append(out, value, (size_t)(end - value));
        return true;
    }
    if (!compact && memchr(name, '[', size) == NULL && end - rest > 4 && rest[1] != '\0' &&
        strchr("+-", rest[1]) != NULL && rest[2] == '=') {
        const char *value = rest + 4;
        if (has_operator(value, (size_t)(end - value), rest[1] == '-' ? "+-" : "<>=i"))
            return false;
        dm_buffer_append(out, line, indent + size);
        dm_buffer_puts(out, " = ");
        dm_buffer_append(out, name, size);
        dm_buffer_printf(out, " %c ", rest[1]);
        dm_buffer_append(out, value, (size_t)(end - value));
        return true;
    }
    return false;
}

static void write_updates(bool compact, dm_buffer *body, dm_buffer *other)
{
    dm_buffer_clear(other);
    for (const char *line = dm_buffer_text(body); *line != '\0';) {
        size_t length = line_length(line);
        if (!put_update(line, length, compact, other))
            dm_buffer_append(other, line, length);
        dm_buffer_putc(other, '\n');
        line += length + (line[length] == '\n');
    }
    dm_buffer_clear(body);
    dm_buffer_append(body, dm_buffer_text(other), other->size);
}

/* ---- A local that is read once, by the next line ---- */

typedef struct local {
    const char *name, *value, *use;
    size_t name_size, value_size;
} local;

static bool is_pure(const char *value, size_t size)
{
    char text[256];
    if (size >= sizeof text)
        return false;
    memcpy(text, value, size);
    text[size] = '\0';
    return strstr(text, "rand") == NULL && strstr(text, "tid()") == NULL &&
           strstr(text, "atomic") == NULL && strstr(text, "float(0") == NULL &&
           strstr(text, "int(0") == NULL;
}

static bool find_local(const char *text, const char *line, local *found)
{
    char word[64];
    size_t length = line_length(line), indent = strspn(line, " ");
    const char *next = line + length + (line[length] == '\n');
    size_t next_length = line_length(next), size = 0;
    while (is_letter(line[indent + size]))
        size++;
    const char *value = line + indent + size + 3;
    if (size == 0 || size >= sizeof word || length < indent + size + 4 || next_length == 0 ||
        strncmp(value - 3, " = ", 3) != 0 || strspn(next, " ") != indent)
        return false;
    const char *code = next + indent;
    if (*code == '#' || strncmp(code, "for ", 4) == 0 || strncmp(code, "while ", 6) == 0 ||
        strncmp(code, "el", 2) == 0)
        return false;
    memcpy(word, line + indent, size);
    word[size] = '\0';
    const char *use = find_word(text, next, word, size);
    *found = (local){line + indent, value, use, size, length - indent - size - 3};
    return use != NULL && use < next + next_length && count_words(text, word, size) == 2 &&
           use[size] != '[' && use[size] != '.' && is_pure(value, found->value_size);
}

/* Is the use between brackets or commas, or all of a right-hand side? */
static bool stands_alone(const local *l)
{
    char after = l->use[l->name_size];
    const char *before = l->use - 1;
    bool begins = strchr("([", *before) != NULL ||
                  (*before == ' ' && (before[-1] == ',' || before[-1] == '='));
    return begins && (after == '\n' || after == '\0' || strchr("),]", after) != NULL);
}

static void write_in_place(dm_natural *n, dm_buffer *body, dm_buffer *other)
{
    dm_buffer_clear(other);
    const char *text = dm_buffer_text(body);
    for (const char *line = text; *line != '\0';) {
        size_t length = line_length(line);
        const char *next = line + length + (line[length] == '\n');
        local l;
        if (!find_local(text, line, &l) || !dm_natural_chance(n, n->hand.inline_percent)) {
            dm_buffer_append(other, line, (size_t)(next - line));
            line = next;
            continue;
        }
        bool wrap = !stands_alone(&l) && has_operator(l.value, l.value_size, "+-*/<>=%i&|^");
        size_t next_length = line_length(next);
        if (next_length + l.value_size - l.name_size > COLUMNS - (wrap ? 12 : 0) ||
            l.value_size > (wrap ? 30 : 60)) {
            dm_buffer_append(other, line, (size_t)(next - line));
            line = next;
            continue;
        }
        dm_buffer_append(other, next, (size_t)(l.use - next));
        dm_buffer_puts(other, wrap ? "(" : "");
        dm_buffer_append(other, l.value, l.value_size);
        dm_buffer_puts(other, wrap ? ")" : "");
        const char *rest = l.use + l.name_size;
        dm_buffer_append(other, rest, next_length - (size_t)(rest - next));
        dm_buffer_putc(other, '\n');
        line = next + next_length + (next[next_length] == '\n');
    }
    dm_buffer_clear(body);
    dm_buffer_append(body, dm_buffer_text(other), other->size);
}

/* ---- Elements that are read into a local first ---- */

/* A name for an element of `array` that the text has not yet; its length, 0: none. */
static size_t name_element(const char *text, const char *array, size_t size, char *name)
{
    const char *last = array + size;
    while (last > array && last[-1] != '_')
        last--;
    name[0] = (char)tolower((unsigned char)*last);
    for (size_t length = 1; length <= 2; length++) {
        if (length == 2)
            name[1] = 'i';
        name[length] = '\0';
        if (strchr(length == 1 ? "abcdefghmnpqrstuvwxyz" : "fmpruvx", name[0]) != NULL &&
            find_word(text, text, name, length) == NULL)
            return length;
    }
    return 0;
}

/* Is the line before one that stores? Then the loads are over. */
static bool is_after_store(const char *text, const char *line)
{
    if (line == text)
        return true;
    const char *before = line - 1;
    while (before > text && before[-1] != '\n')
        before--;
    return strstr(before, "wp.atomic_") == before + 4 ||
           (strspn(before, " ") == 4 && strcspn(before, "[") < strcspn(before, "=\n"));
}

/* All places of `element` are read as `name`, which is set before the first line at the margin that has
 * one inside. */
static void put_element_local(const char *text, const char *element, const char *name,
                              dm_buffer *out)
{
    size_t size = strlen(element);
    const char *first = find_word(text, text, element, size), *line = first;
    while (line > text && !(line[-1] == '\n' && strspn(line, " ") == 4))
        line--;
    if (strncmp(line + 4, "el", 2) == 0 || is_after_store(text, line)) {
        dm_buffer_puts(out, text);
        return;
    }
    dm_buffer_append(out, text, (size_t)(line - text));
    dm_buffer_printf(out, "    %s = %s\n", name, element);
    while ((first = find_word(text, line, element, size)) != NULL) {
        dm_buffer_append(out, line, (size_t)(first - line));
        dm_buffer_puts(out, name);
        line = first + size;
    }
    dm_buffer_puts(out, line);
}

static bool is_alone(const char *text, const char *element)
{
    char whole[160];
    size_t length = strlen(element);
    if (length + 6 > sizeof whole)
        return true;
    memcpy(whole, " = ", 3);
    memcpy(whole + 3, element, length);
    memcpy(whole + 3 + length, "\n", 2);
    return strstr(text, whole) != NULL;
}

static bool is_repeated(const char *text, const char *element)
{
    return count_words(text, element, strlen(element)) > 1;
}

/* `helpers`: names in use there. */
static void read_elements(dm_natural *n, const char *helpers, dm_buffer *body, dm_buffer *other)
{
    const char *begin = dm_buffer_text(body);
    size_t index = strspn(begin, " "), index_size = 0;
    char thread[32], element[128], name[8];
    while (is_letter(begin[index + index_size]))
        index_size++;
    if (index_size == 0 || index_size >= sizeof thread ||
        strncmp(begin + index + index_size, " = wp.tid()", 11) != 0)
        return;
    memcpy(thread, begin + index, index_size);
    thread[index_size] = '\0';
    for (int i = 0; i < n->arg_count; i++) {
        const dm_natural_block *arg = n->args[i].block;
        dm_buffer_clear(&n->scratch);
        dm_natural_put_line(n, &arg->lines[0], &n->scratch, 0);
        size_t size = n->scratch.size;
        if (n->args[i].output || size + index_size + 3 >= sizeof element)
            continue;
        memcpy(element, dm_buffer_text(&n->scratch), size);
        element[size] = '[';
        memcpy(element + size + 1, thread, index_size);
        memcpy(element + size + 1 + index_size, "]", 2);
        const char *text = dm_buffer_text(body);
        if (find_word(text, text, element, strlen(element)) == NULL || is_alone(text, element) ||
            !dm_natural_chance(n, is_repeated(text, element) ? n->hand.load_percent
                                                             : n->hand.load_percent / 2) ||
            name_element(text, element, size, name) == 0 ||
            find_word(helpers, helpers, name, strlen(name)) != NULL)
            continue;
        bool taken = false;
        for (int k = 0; k < n->arg_count && !taken; k++) {
            dm_buffer_clear(&n->scratch);
            dm_natural_put_line(n, &n->args[k].block->lines[0], &n->scratch, 0);
            taken = strcmp(dm_buffer_text(&n->scratch), name) == 0;
        }
        if (taken)
            continue;
        dm_buffer_clear(other);
        put_element_local(text, element, name, other);
        dm_buffer_clear(body);
        dm_buffer_append(body, dm_buffer_text(other), other->size);
    }
}

/* ---- Locals written out wherever they are read: the slower form ---- */

/* Lines that set a name, or a part of it. */
static int count_sets(const char *text, const char *word, size_t length)
{
    int count = 0;
    for (const char *line = text; *line != '\0'; line += line_length(line) + 1) {
        const char *code = line + strspn(line, " "), *end = line + line_length(line);
        const char *equals = strstr(code, "= "), *at = find_word(code, code, word, length);
        bool loop = strncmp(code, "for ", 4) == 0 && at == code + 4;
        count += loop || (equals != NULL && equals < end && strchr("=<>!", equals[-1]) == NULL &&
                          at != NULL && at < equals && strncmp(code, "if ", 3) != 0 &&
                          (at == code || at[-2] == ','));
        if (*end == '\0')
            break;
    }
    return count;
}

/* Does an expression stay what it is through the whole body? */
static bool is_constant(dm_natural *n, const char *text, const char *value, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t length = 0;
        while (i + length < size && is_letter(value[i + length]))
            length++;
        if (length == 0 || (i > 0 && value[i - 1] == '.') || value[i + length] == '(') {
            i += length + 1;
            continue;
        }
        char word[64];
        if (length >= sizeof word)
            return false;
        memcpy(word, value + i, length);
        word[length] = '\0';
        if (count_sets(text, word, length) > 1)
            return false;
        for (int k = 0; k < n->arg_count; k++) {
            dm_buffer_clear(&n->scratch);
            dm_natural_put_line(n, &n->args[k].block->lines[0], &n->scratch, 0);
            if (n->args[k].output && strcmp(dm_buffer_text(&n->scratch), word) == 0)
                return false;
        }
        i += length;
    }
    return true;
}

static bool write_one_out(dm_natural *n, dm_buffer *body, dm_buffer *other)
{
    const char *text = dm_buffer_text(body);
    for (const char *line = text; *line != '\0'; line += line_length(line) + 1) {
        char word[64];
        size_t length = line_length(line), size = 0;
        while (is_letter(line[4 + size]) && size + 1 < sizeof word)
            size++;
        const char *value = line + 7 + size;
        if (strspn(line, " ") != 4 || size == 0 || length < size + 8 || length > size + 70 ||
            strncmp(value - 3, " = ", 3) != 0)
            continue;
        memcpy(word, line + 4, size);
        word[size] = '\0';
        size_t value_size = length - size - 7;
        if (count_words(text, word, size) < 3 || count_sets(text, word, size) != 1 ||
            !is_pure(value, value_size) || !is_constant(n, text, value, value_size))
            continue;
        dm_buffer_clear(other);
        dm_buffer_append(other, text, (size_t)(line - text));
        const char *from = line + length + 1, *at;
        bool wrap = has_operator(value, value_size, "+-*/<>=%i&|^") || value[0] == '-';
        for (; (at = find_word(text, from, word, size)) != NULL; from = at + size) {
            dm_buffer_append(other, from, (size_t)(at - from));
            dm_buffer_puts(other, wrap ? "(" : "");
            dm_buffer_append(other, value, value_size);
            dm_buffer_puts(other, wrap ? ")" : "");
        }
        dm_buffer_puts(other, from);
        for (const char *l = dm_buffer_text(other); *l != '\0'; l += line_length(l) + 1)
            if (line_length(l) > 118)
                return false;
        dm_buffer_clear(body);
        dm_buffer_append(body, dm_buffer_text(other), other->size);
        return true;
    }
    return false;
}

void dm_natural_write_out(dm_natural *n, dm_buffer *body)
{
    dm_buffer other = DM_BUFFER_EMPTY;
    for (int i = 0; i < 8 && write_one_out(n, body, &other); i++)
        ;
    dm_buffer_deinit(&other);
}

/* ---- Shapes, builtins ---- */

/* The first `range(x.shape[0])`: a local before its loop. */
static void name_length(dm_natural *n, dm_buffer *body, dm_buffer *other)
{
    static const char *const names[] = {"n", "num", "count"};
    const char *text = dm_buffer_text(body), *loop = strstr(text, " in range(");
    const char *name = names[dm_natural_below(n, 3)];
    if (loop == NULL)
        return;
    const char *value = loop + 10;
    size_t size = 0;
    while (is_letter(value[size]) || strchr(".[]", value[size]) != NULL)
        size++;
    const char *line = loop;
    while (line > text && line[-1] != '\n')
        line--;
    if (value[size] != ')' || memchr(value, '[', size) == NULL ||
        find_word(text, text, name, strlen(name)) != NULL || strspn(line, " ") != 4)
        return;
    for (int i = 0; i < n->arg_count; i++) { /* a parameter of that name */
        dm_buffer_clear(&n->scratch);
        dm_natural_put_line(n, &n->args[i].block->lines[0], &n->scratch, 0);
        if (strcmp(dm_buffer_text(&n->scratch), name) == 0)
            return;
    }
    dm_buffer_clear(other);
    dm_buffer_append(other, text, (size_t)(line - text));
    dm_buffer_printf(other, "    %s = %.*s\n", name, (int)size, value);
    dm_buffer_append(other, line, (size_t)(value - line));
    dm_buffer_puts(other, name);
    dm_buffer_puts(other, value + size);
    dm_buffer_clear(body);
    dm_buffer_append(body, dm_buffer_text(other), other->size);
}

/* Python's own names for what both have. */
void dm_natural_drop_prefixes(dm_buffer *text)
{
    static const char *const names[] = {"wp.min(", "wp.max(", "wp.abs("};
    if (text->data == NULL)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *at = strstr(text->data, names[i]);
        while (at != NULL) {
            memmove(at, at + 3, text->size - (size_t)(at + 3 - text->data) + 1);
            text->size -= 3;
            at = strstr(at, names[i]);
        }
    }
}

void dm_natural_shape_body(dm_natural *n, const char *helpers, dm_buffer *body)
{
    dm_buffer other = DM_BUFFER_EMPTY;
    if (n->hand.updates != 0)
        write_updates(n->hand.updates == 1, body, &other);
    if (n->hand.named_lengths)
        name_length(n, body, &other);
    write_in_place(n, body, &other);
    read_elements(n, helpers, body, &other);
    dm_buffer_deinit(&other);
}
