/* SPDX-License-Identifier: MIT */
/* form.c - the canonical form from tokens; canonical.c says what it is.
 *
 * Whether a name or an operator comes next is unpredictable, so both are names here, and one table
 * says what each becomes. */
#include "synth/store/form.h"

#include "lang/front/token.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 256 /* as in canonical.c */
#define BYTES 16      /* that are copied at least */

enum {
    NUMBERED = 1,  /* a name of the program's own */
    WORD = 2,      /* starts with a letter */
    COMPONENT = 4, /* x, y, z, w */
    ENDS_WP = 8,
    CLOSES = 16, /* a bracket */
    DOT = 32,
    LONG = 64, /* longer than is counted here */
    SEEN = 128,
};

/* Small, since all names of a workspace have one. */
struct dm_form_name {
    uint32_t stamp; /* of the last text that it has a number in */
    uint16_t number;
    uint8_t facts, length;
};

/* Words that mean something by themselves; canonical.c has the same. */
static bool is_kept(const char *name)
{
    static const char *const words[] = {
        "if",    "in",    "or",    "as",     "is",     "wp",     "def",    "for",     "and",
        "not",   "int",   "len",   "abs",    "min",    "max",    "elif",   "else",    "from",
        "bool",  "pass",  "ndim",  "class",  "while",  "break",  "range",  "float",   "print",
        "round", "dtype", "shape", "return", "import", "assert", "length", "continue"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static bool is_letter(char c)
{
    unsigned letter = ((unsigned char)c | 0x20u) - 'a';
    return (letter < 26) | (c == '_') | ((unsigned char)c > 127);
}

static void look_at(struct dm_form_name *known, const char *text)
{
    size_t length = dm_lang_name_of(text)->length;
    bool word = is_letter(text[0]);
    known->length = (uint8_t)length;
    known->facts = (uint8_t)(SEEN | (word ? WORD : 0) | (word && !is_kept(text) ? NUMBERED : 0) |
                             (length == 1 && text[0] >= 'w' && text[0] <= 'z' ? COMPONENT : 0) |
                             (length >= 2 && strcmp(text + length - 2, "wp") == 0 ? ENDS_WP : 0) |
                             (length == 1 && strchr(")]}", text[0]) != NULL ? CLOSES : 0) |
                             (strcmp(text, ".") == 0 ? DOT : 0) | (length > UINT8_MAX ? LONG : 0));
}

void dm_synth_forms_deinit(dm_synth_forms *forms)
{
    free(forms->names);
    dm_buffer_deinit(&forms->form);
    *forms = (dm_synth_forms){0};
}

static void forget(dm_synth_forms *forms)
{
    if (forms->names != NULL)
        memset(forms->names, 0, forms->capacity * sizeof *forms->names);
}

/* Room for all names of the workspace; what is known is forgotten when the workspace has begun
 * anew. */
static bool prepare(dm_synth_forms *forms, const dm_kept *kept, size_t size)
{
    if (kept->compilations <= forms->compilations)
        forget(forms);
    forms->compilations = kept->compilations;
    if (kept->name_count > forms->capacity) {
        uint32_t capacity = kept->name_count * 2;
        struct dm_form_name *larger = calloc(capacity, sizeof *larger);
        if (larger == NULL)
            return false;
        if (forms->names != NULL)
            memcpy(larger, forms->names, forms->capacity * sizeof *larger);
        free(forms->names);
        forms->names = larger;
        forms->capacity = capacity;
    }
    if (++forms->stamp == 0) { /* all stamps were used */
        forget(forms);
        forms->stamp = 1;
    }
    dm_buffer_clear(&forms->form);
    return dm_buffer_reserve(&forms->form, 3 * size + 64);
}

/* Where lines begin. `columns` are those of the open blocks. */
typedef struct lines {
    const char *text;
    dm_pos base;
    uint8_t columns[64];
    int depth;
} lines;

/* The blocks that open and close before a line, then its indentation. NULL: nested too deeply. */
static const dm_token *begin_line(lines *l, const dm_token *t, char **to)
{
    for (; t->kind == DM_TOK_INDENT || t->kind == DM_TOK_DEDENT; t++) {
        if (t->kind == DM_TOK_DEDENT) {
            l->depth--;
            continue;
        }
        const char *first = l->text + (t->pos - l->base), *start = first;
        while (start > l->text && start[-1] != '\n')
            start--;
        if (++l->depth == (int)sizeof l->columns)
            return NULL;
        l->columns[l->depth] = (uint8_t)(first - start < 100 ? first - start : 100);
    }
    if (t->kind != DM_TOK_END) {
        *(*to)++ = '\n';
        **to = (char)l->columns[l->depth];
        *to += l->columns[l->depth] > 0;
    }
    return t;
}

static uint64_t little(uint64_t x)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? x : __builtin_bswap64(x);
}

/* The end of the form; NULL: see dm_synth_form_hash. */
static char *write_form(dm_synth_forms *forms, const dm_lang *lang, char *to)
{
    enum { NAMED, CONSTANT, OTHER };
    static const uint8_t sorts[256] = {
        [DM_TOK_INT] = CONSTANT,   [DM_TOK_FLOAT] = CONSTANT, [DM_TOK_TRUE] = CONSTANT,
        [DM_TOK_FALSE] = CONSTANT, [DM_TOK_STRING] = OTHER,   [DM_TOK_NEWLINE] = OTHER,
        [DM_TOK_INDENT] = OTHER,   [DM_TOK_DEDENT] = OTHER,   [DM_TOK_END] = OTHER};
    lines l = {.text = lang->last_source->text, .base = lang->last_source->base};
    unsigned names = 0;
    bool module = false; /* the last name ends with wp, and nothing or a dot is behind it */
    const uint32_t stamp = forms->stamp;
    const dm_token *t = begin_line(&l, (const dm_token *)(const void *)lang->tokens.data, &to);
    char last = '\n';
    while (t != NULL) {
        if (sorts[t->kind] != NAMED) {
            if (sorts[t->kind] == CONSTANT) {
                *to++ = last = '#';
                t++;
            } else if (t->kind == DM_TOK_NEWLINE) {
                t = begin_line(&l, t + 1, &to);
                last = to[-1];
            } else {
                break;
            }
            continue;
        }
        struct dm_form_name *known = &forms->names[t->number];
        if (known->facts == 0)
            look_at(known, t->name);
        unsigned facts = known->facts, number = known->stamp == stamp ? known->number : names;
        bool kept_here = (last == '.') & (((facts & COMPONENT) != 0) | module);
        bool numbered = ((facts & NUMBERED) != 0) & !kept_here;
        names += numbered & (known->stamp != stamp);
        known->number = (uint16_t)(numbered ? number : known->number);
        known->stamp = numbered ? stamp : known->stamp;
        to -= ((facts & CLOSES) != 0) & (last == ','); /* a last comma says nothing */
        *to = ' ';
        to += ((facts & WORD) != 0) & !numbered & is_letter(last); /* words are apart */
        module &= (last == 'p') & ((facts & DOT) != 0);
        if (numbered) {
            uint64_t mark = '$' | (0x40 + number / 64) << 8 | (0x40 + number % 64) << 16;
            mark = little(mark);
            memcpy(to, &mark, sizeof mark);
            to += 3;
        } else {
            memcpy(to, t->name, BYTES); /* so much can be read of any name */
            if (known->length > BYTES)
                memcpy(to, t->name, known->length);
            to += known->length;
        }
        last = to[-1];
        module |= ((facts & ENDS_WP) != 0) & (last == 'p');
        if ((facts & LONG) != 0)
            return NULL;
        t++;
    }
    return t == NULL || t->kind != DM_TOK_END || names > NAMES_MAX ? NULL : to;
}

bool dm_synth_form_hash(dm_synth_forms *forms, const dm_lang *lang, dm_hash128 *out)
{
    const dm_lang_source *source = lang->last_source;
    if (memchr(source->text, '\\', source->size) != NULL || /* a line that goes on is two there */
        !prepare(forms, lang->kept, source->size))
        return false;
    char *end = write_form(forms, lang, forms->form.data);
    if (end == NULL)
        return false;
    *out = dm_hash128_of(forms->form.data, (size_t)(end - forms->form.data));
    return true;
}
