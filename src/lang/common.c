/* SPDX-License-Identifier: MIT */
/* common.c - builds the data of common.h: once per process, under pthread_once. */
#include "lang/common.h"

#include "lang/library.h"

#include <pthread.h>
#include <string.h>

static dm_common common;
static bool made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const dm_lang_name *name_of(const char *text)
{
    return dm_lang_name_of(dm_lang_intern_text(&common.lang, text));
}

/* Names that the compiler itself gives, and ones that are common in kernels. */
static const char *const words[] = {"t",  "it",   "n",    "start",  "length", "left", "adj_ret",
                                    "wp", "warp", "tid",  "i",      "j",      "k",    "out",
                                    "x",  "y",    "z",    "p",      "q",      "s",    "idx",
                                    "f",  "w",    "data", "result", "total",  "value"};

/* Operators are names to the lexer. */
static void add_tokens(void)
{
    static const struct {
        const char *spelling;
        uint8_t kind;
    } tokens[] = {
#define X(name, spelling) {spelling, DM_TOK_##name},
        DM_TOKEN_KEYWORDS(X) DM_TOKEN_OPERATORS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        ((dm_lang_name *)name_of(tokens[i].spelling))->token = tokens[i].kind;
}

/* What the name means, in the name; made when new. */
static dm_known_name *know(const char *text)
{
    dm_lang_name *name = (dm_lang_name *)name_of(text);
    if (name->known == NULL) {
        dm_known_name *known = dm_lang_alloc(&common.lang, sizeof *known);
        *known = dm_namespace_read(text);
        known->special = dm_lower_special(text);
        known->row = dm_builtin_find(text);
        name->known = known;
    }
    return (dm_known_name *)name->known;
}

static void know_one(void *context, const char *text)
{
    (void)context;
    know(text);
}

static void add_library(const dm_library_text *file)
{
    dm_lang *lang = &common.lang;
    dm_lang_source *source = dm_lang_add_source(lang, file->name, file->text, strlen(file->text));
    source->library = true;
    const dm_ast *tree = dm_lang_parse(lang, source);
    for (int i = 0; i < tree->count; i++) {
        if (tree->items[i]->kind != DM_AST_FUNCTION)
            continue;
        dm_library_function *function = dm_lang_alloc(lang, sizeof *function);
        dm_known_name *known = know(tree->items[i]->name);
        *function = (dm_library_function){.ast = tree->items[i], .next = known->library};
        known->library = function; /* later ones first, as overloads of the program */
    }
}

static void make(void)
{
    dm_lang *lang = &common.lang;
    dm_lang_init_plain(lang);
    if (setjmp(lang->bail) != 0) {
        dm_lang_deinit(lang);
        return;
    }
    add_tokens();
    int count;
    const dm_builtin *rows = dm_builtin_rows(&count);
    for (int i = 0; i < count; i++)
        know(rows[i].name);
    dm_namespace_names(know_one, NULL);
    for (int i = 0; dm_lower_special_name(i) != NULL; i++)
        know(dm_lower_special_name(i));
    dm_builtin_parse(lang);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        name_of(words[i]);
    for (size_t i = 0; i < dm_library_text_count; i++)
        add_library(&dm_library_texts[i]);
    uint32_t capacity = lang->kept->name_capacity;
    dm_name_slot *names = dm_lang_alloc_array(lang, capacity, sizeof *names);
    memcpy(names, lang->kept->names, capacity * sizeof *names);
    for (uint32_t i = 0; i < capacity; i++)
        if (names[i].name != NULL && names[i].name->token == 0)
            dm_lang_adjoint_name(lang, names[i].name->text);
    for (uint32_t i = 0; i < lang->kept->name_capacity; i++)
        if (lang->kept->names[i].name != NULL)
            dm_print_name_in_c(lang->kept->names[i].name);
    /* The common part is read-only once it is published, so line tables are made now. */
    for (dm_lang_source *s = lang->sources; s != NULL; s = s->next)
        dm_lang_find_lines(lang, s);
    made = lang->error_count == 0;
}

const dm_common *dm_common_get(void)
{
    pthread_once(&once, make);
    return made ? &common : NULL;
}
