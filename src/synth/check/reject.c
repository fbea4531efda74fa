/* SPDX-License-Identifier: MIT */
/* reject.c - programs that do not compile; see reject.h.
 *
 * A text is cut into tokens, the tokens that a way of breaking can be applied to are counted, one
 * is drawn, and the text is written again with that one changed. */
#include "synth/check/reject.h"

#include "kernel/internal.h"
#include "lang/compile.h"
#include "synth/check/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum token_kind { WORD, NUMBER, SIGN, NEWLINE } token_kind;

typedef struct token {
    token_kind kind;
    size_t at, size;
} token;

typedef struct program {
    const char *text;
    size_t size;
    token *tokens;
    size_t count;
    size_t body; /* the first token behind the imports */
} program;

/* ---- Tokens ---- */

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static size_t skip_quoted(const program *p, size_t at)
{
    char quote = p->text[at];
    bool triple = at + 2 < p->size && p->text[at + 1] == quote && p->text[at + 2] == quote;
    size_t width = triple ? 3 : 1;
    for (size_t i = at + width; i + width <= p->size; i++)
        if (p->text[i] == quote &&
            (!triple || (p->text[i + 1] == quote && p->text[i + 2] == quote)))
            return i + width;
    return p->size;
}

static size_t next_token(const program *p, size_t at, token *out)
{
    const char *t = p->text;
    size_t end = at;
    if (is_letter(t[at])) {
        while (end < p->size && (is_letter(t[end]) || isdigit((unsigned char)t[end])))
            end++;
        *out = (token){WORD, at, end - at};
    } else if (isdigit((unsigned char)t[at])) {
        while (end < p->size && (isalnum((unsigned char)t[end]) || t[end] == '.' ||
                                 ((t[end] == '-' || t[end] == '+') && t[end - 1] == 'e')))
            end++;
        *out = (token){NUMBER, at, end - at};
    } else {
        end = at + 1;
        *out = (token){t[at] == '\n' ? NEWLINE : SIGN, at, 1};
    }
    return end;
}

static bool read_tokens(program *p)
{
    p->tokens = malloc((p->size + 1) * sizeof *p->tokens);
    for (size_t at = 0; p->tokens != NULL && at < p->size;) {
        char c = p->text[at];
        if (c == '#') {
            while (at < p->size && p->text[at] != '\n')
                at++;
        } else if (c == '"' || c == '\'') {
            at = skip_quoted(p, at);
        } else if (c == ' ' || c == '\t' || c == '\r') {
            at++;
        } else {
            at = next_token(p, at, &p->tokens[p->count++]);
        }
    }
    const char *decorator = p->tokens == NULL ? NULL : memchr(p->text, '@', p->size);
    size_t from = decorator == NULL ? 0 : (size_t)(decorator - p->text);
    while (p->body < p->count && p->tokens[p->body].at < from)
        p->body++;
    return p->tokens != NULL;
}

static bool is(const program *p, size_t i, const char *text)
{
    return i < p->count && p->tokens[i].size == strlen(text) &&
           memcmp(p->text + p->tokens[i].at, text, p->tokens[i].size) == 0;
}

static bool is_word(const program *p, size_t i)
{
    return i < p->count && p->tokens[i].kind == WORD;
}

/* A name of the program's own: no keyword, no part of wp.something, not what is being defined. */
static bool is_name(const program *p, size_t i)
{
    static const char *const others[] = {
        "if",    "elif",   "else", "for",    "in",   "range", "while", "and",      "or",
        "not",   "return", "def",  "class",  "True", "False", "break", "continue", "wp",
        "float", "int",    "bool", "import", "as",   "pass",  "None"};
    if (!is_word(p, i) ||
        (i > 0 && (is(p, i - 1, ".") || is(p, i - 1, "def") || is(p, i - 1, "class"))))
        return false;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        if (is(p, i, others[k]))
            return false;
    return true;
}

static bool starts_line(const program *p, size_t i)
{
    return i == 0 || p->tokens[i - 1].kind == NEWLINE;
}

/* ---- Ways ---- */

/* Can token `i` be changed in this way? */
typedef bool (*way_fits)(const program *p, size_t i);
/* Write its replacement, or nothing. */
typedef void (*way_write)(const program *p, size_t i, dm_buffer *out);

static void copy(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_append(out, p->text + p->tokens[i].at, p->tokens[i].size);
}

static bool fits_used_name(const program *p, size_t i)
{
    return is_name(p, i) && !starts_line(p, i) && p->tokens[i].size > 2 && !is(p, i + 1, ":") &&
           !is(p, i + 1, "=");
}

/* Two letters change places, or the last one is lost. */
static void misspell(const program *p, size_t i, dm_buffer *out)
{
    const char *word = p->text + p->tokens[i].at;
    size_t size = p->tokens[i].size;
    if (size >= 4 && word[size - 2] != word[size - 3]) {
        dm_buffer_append(out, word, size - 3);
        dm_buffer_putc(out, word[size - 2]);
        dm_buffer_putc(out, word[size - 3]);
        dm_buffer_putc(out, word[size - 1]);
    } else {
        dm_buffer_append(out, word, size - 1);
    }
}

static bool fits_builtin(const program *p, size_t i)
{
    return is_word(p, i) && i > 1 && is(p, i - 1, ".") && is(p, i - 2, "wp") && is(p, i + 1, "(");
}

static bool fits_dtype(const program *p, size_t i)
{
    return is_word(p, i) && i > 1 &&
           ((is(p, i - 1, "=") && is(p, i - 2, "dtype")) ||
            (is(p, i - 1, ".") && is(p, i - 2, "wp") && i > 3 && is(p, i - 3, "=") &&
             is(p, i - 4, "dtype")));
}

static bool fits_float(const program *p, size_t i)
{
    return p->tokens[i].kind == NUMBER &&
           memchr(p->text + p->tokens[i].at, '.', p->tokens[i].size) != NULL;
}

static void write_integer(const program *p, size_t i, dm_buffer *out)
{
    const char *text = p->text + p->tokens[i].at;
    size_t whole = (size_t)((const char *)memchr(text, '.', p->tokens[i].size) - text);
    dm_buffer_append(out, text, whole);
}

static bool fits_operator(const program *p, size_t i)
{
    return p->tokens[i].kind == SIGN && i > 0 && i + 1 < p->count &&
           strchr("+-*", p->text[p->tokens[i].at]) != NULL &&
           (is_name(p, i - 1) || p->tokens[i - 1].kind == NUMBER) &&
           (is_name(p, i + 1) || p->tokens[i + 1].kind == NUMBER);
}

static void write_integer_operand(const program *p, size_t i, dm_buffer *out)
{
    copy(p, i, out);
    dm_buffer_puts(out, " 2 *");
}

static bool fits_colon(const program *p, size_t i)
{
    return is(p, i, ":") && i + 1 < p->count && p->tokens[i + 1].kind == NEWLINE;
}

static bool fits_close(const program *p, size_t i)
{
    return is(p, i, ")") || is(p, i, "]");
}

static void write_nothing(const program *p, size_t i, dm_buffer *out)
{
    (void)p;
    (void)i;
    (void)out;
}

/* The comma that ends an argument inside of wp.f(a, b): what is behind it is lost up to the next.
 */
static bool fits_argument(const program *p, size_t i)
{
    size_t k = i;
    int depth = 0;
    if (!is(p, i, ","))
        return false;
    while (k > 0 && p->tokens[k].kind != NEWLINE && !(depth == 0 && is(p, k, "("))) {
        depth += is(p, k, ")") || is(p, k, "]");
        depth -= is(p, k, "(") || is(p, k, "[");
        k--;
    }
    return k > 0 && is(p, k, "(") && is_word(p, k - 1) && (k < 2 || !is(p, k - 2, "def")) &&
           is_word(p, i + 1) && (is(p, i + 2, ")") || is(p, i + 2, ","));
}

static bool fits_open_call(const program *p, size_t i)
{
    return is(p, i, "(") && i > 1 && is_word(p, i - 1) && is(p, i - 2, ".") && is_name(p, i + 1);
}

static void write_extra_argument(const program *p, size_t i, dm_buffer *out)
{
    copy(p, i, out);
    copy(p, i + 1, out);
    dm_buffer_puts(out, ", ");
}

static bool fits_index(const program *p, size_t i)
{
    return is(p, i, "]") && i > 2 && is_name(p, i - 1) && is(p, i - 2, "[");
}

static void write_extra_index(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_puts(out, ", ");
    copy(p, i - 1, out);
    dm_buffer_puts(out, ", ");
    copy(p, i - 1, out);
    copy(p, i, out);
}

static bool fits_line(const program *p, size_t i)
{
    return starts_line(p, i) && is_word(p, i) && p->text[p->tokens[i].at - 1] == ' ';
}

static void write_indent(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_puts(out, "  ");
    copy(p, i, out);
}

static bool fits_member(const program *p, size_t i)
{
    return is_word(p, i) && i > 1 && is(p, i - 1, ".") && is_name(p, i - 2) &&
           p->tokens[i].size > 2 && !is(p, i + 1, "(");
}

static bool fits_assignment(const program *p, size_t i)
{
    return is(p, i, "=") && i > 0 && is_name(p, i - 1) && starts_line(p, i - 1) &&
           !is(p, i + 1, "=");
}

static void write_comparison(const program *p, size_t i, dm_buffer *out)
{
    (void)p;
    (void)i;
    dm_buffer_puts(out, ":=");
}

static bool fits_condition(const program *p, size_t i)
{
    return (is(p, i, "if") || is(p, i, "while") || is(p, i, "elif")) && starts_line(p, i);
}

static void write_vector_condition(const program *p, size_t i, dm_buffer *out)
{
    copy(p, i, out);
    dm_buffer_puts(out, " wp.vec3(1.0, 2.0, 3.0) <");
}

typedef struct way {
    const char *name;
    way_fits fits;
    way_write write;
    int lost; /* tokens behind it that go with it */
} way;

static const way ways[] = {
    {"name misspelt", fits_used_name, misspell, 0},
    {"builtin misspelt", fits_builtin, misspell, 0},
    {"type misspelt", fits_dtype, misspell, 0},
    {"integer among floats", fits_float, write_integer, 0},
    {"integer operand", fits_operator, write_integer_operand, 0},
    {"colon lost", fits_colon, write_nothing, 0},
    {"bracket lost", fits_close, write_nothing, 0},
    {"argument lost", fits_argument, write_nothing, 1},
    {"argument twice", fits_open_call, write_extra_argument, 0},
    {"index too many", fits_index, write_extra_index, 0},
    {"indented too far", fits_line, write_indent, 0},
    {"member misspelt", fits_member, misspell, 0},
    {"another language's assignment", fits_assignment, write_comparison, 0},
    {"vector as condition", fits_condition, write_vector_condition, 0},
};
#define WAY_COUNT ((int)(sizeof ways / sizeof ways[0]))

/* ---- Mutations ---- */

static char sign_of(const program *p, size_t i)
{
    return p->tokens[i].kind == SIGN ? p->text[p->tokens[i].at] : '\0';
}

static bool is_operand(const program *p, size_t i)
{
    return is_name(p, i) || p->tokens[i].kind == NUMBER || is(p, i, ")") || is(p, i, "]") ||
           is(p, i, "wp") || is(p, i, "(") || is(p, i, "float");
}

/* A binary operator, not half of ** // += or ->. */
static bool fits_arithmetic(const program *p, size_t i)
{
    return sign_of(p, i) != '\0' && strchr("+-*/", sign_of(p, i)) != NULL && i > 0 &&
           i + 1 < p->count && is_operand(p, i - 1) && !is(p, i - 1, "(") && is_operand(p, i + 1) &&
           !is(p, i + 1, ")");
}

static void write_other_operator(const program *p, size_t i, dm_buffer *out)
{
    static const char from[] = "+-*/", to[] = "-+/*";
    dm_buffer_putc(out, to[strchr(from, sign_of(p, i)) - from]);
}

static bool fits_comparison(const program *p, size_t i)
{
    return (sign_of(p, i) == '<' || sign_of(p, i) == '>') &&
           !is(p, i + 1, sign_of(p, i) == '<' ? "<" : ">");
}

static void write_turned(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_putc(out, sign_of(p, i) == '<' ? '>' : '<');
}

static bool fits_update(const program *p, size_t i)
{
    return (sign_of(p, i) == '+' || sign_of(p, i) == '-') && is(p, i + 1, "=");
}

static const char *const pairs_of_functions[][2] = {
    {"min", "max"}, {"sin", "cos"}, {"floor", "ceil"}, {"exp", "log"}, {"length", "length_sq"}};

static const char *other_function(const program *p, size_t i)
{
    for (size_t k = 0;
         fits_builtin(p, i) && k < sizeof pairs_of_functions / sizeof pairs_of_functions[0]; k++)
        for (int side = 0; side < 2; side++)
            if (is(p, i, pairs_of_functions[k][side]))
                return pairs_of_functions[k][1 - side];
    return NULL;
}

static bool fits_function(const program *p, size_t i)
{
    return other_function(p, i) != NULL;
}

static void write_other_function(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_puts(out, other_function(p, i));
}

static bool fits_factor(const program *p, size_t i)
{
    return fits_float(p, i) && (i == 0 || !is(p, i - 1, "("));
}

static void write_doubled(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_puts(out, "(2.0 * ");
    copy(p, i, out);
    dm_buffer_putc(out, ')');
}

static void write_index_before(const program *p, size_t i, dm_buffer *out)
{
    dm_buffer_puts(out, " - 1");
    copy(p, i, out);
}

/* f(a, b): the comma between two names that are all the arguments. */
static bool fits_two_arguments(const program *p, size_t i)
{
    return i > 1 && is_name(p, i) && is(p, i - 1, "(") && is_word(p, i - 2) && is(p, i + 1, ",") &&
           i + 3 < p->count && is_name(p, i + 2) && is(p, i + 3, ")");
}

static void write_swapped(const program *p, size_t i, dm_buffer *out)
{
    copy(p, i + 2, out);
    dm_buffer_puts(out, ", ");
    copy(p, i, out);
}

static bool fits_minus(const program *p, size_t i)
{
    return sign_of(p, i) == '-' && i > 0 && i + 1 < p->count &&
           (is(p, i - 1, "(") || is(p, i - 1, "=") || is(p, i - 1, ",")) && is_operand(p, i + 1);
}

static const way mutations[] = {
    {"another operator", fits_arithmetic, write_other_operator, 0},
    {"comparison turned around", fits_comparison, write_turned, 0},
    {"assignment in place of an update", fits_update, write_nothing, 0},
    {"another function", fits_function, write_other_function, 0},
    {"a constant twice as large", fits_factor, write_doubled, 0},
    {"index off by one", fits_index, write_index_before, 0},
    {"arguments swapped", fits_two_arguments, write_swapped, 2},
    {"sign lost", fits_minus, write_nothing, 0},
};
#define MUTATION_COUNT ((int)(sizeof mutations / sizeof mutations[0]))

const char *dm_synth_mutation(int number)
{
    return number < MUTATION_COUNT ? mutations[number].name : NULL;
}

/* ---- Applying ---- */

const char *dm_synth_breakage(int number)
{
    return number < WAY_COUNT ? ways[number].name : NULL;
}

static bool apply(const way *w, const char *text, size_t size, uint64_t seed, dm_buffer *out)
{
    program p = {.text = text, .size = size};
    size_t places = 0;
    dm_test_stream random;
    dm_test_stream_seed(&random, seed);
    bool fine = read_tokens(&p);
    for (size_t i = p.body; fine && i < p.count; i++)
        places += w->fits(&p, i);
    size_t chosen = places == 0 ? 0 : dm_test_stream_next(&random) % places;
    for (size_t i = p.body; fine && places > 0 && i < p.count; i++) {
        if (!w->fits(&p, i) || chosen-- > 0)
            continue;
        size_t end = p.tokens[i + (size_t)w->lost].at + p.tokens[i + (size_t)w->lost].size;
        dm_buffer_append(out, text, p.tokens[i].at);
        w->write(&p, i, out);
        dm_buffer_append(out, text + end, size - end);
        break;
    }
    free(p.tokens);
    return fine && places > 0;
}

bool dm_synth_break(const char *text, size_t size, int number, uint64_t seed, dm_buffer *out)
{
    return apply(&ways[number], text, size, seed, out);
}

bool dm_synth_mutate(const char *text, size_t size, int number, uint64_t seed, dm_buffer *out)
{
    return apply(&mutations[number], text, size, seed, out);
}

/* ---- Records ---- */

static dm_status diagnose(const char *text, size_t size, const char *kernel, dm_buffer *diagnostics,
                          bool *compiles, dm_error *err)
{
    dm_compilation c;
    dm_compile_options options = {0};
    dm_buffer_clear(diagnostics);
    dm_status status = dm_compilation_init(&c, "kernel.py", text, size, &options, err);
    dm_unit unit;
    if (status == DM_OK)
        status = dm_unit_open(&unit, &c, text, kernel, err);
    *compiles = status == DM_OK;
    dm_lang_print_diags(&c.lang, diagnostics);
    dm_compilation_deinit(&c);
    if (status != DM_OK && status != DM_ECOMPILE && status != DM_EINVAL)
        return status;
    return dm_buffer_check(diagnostics, err);
}

dm_status dm_synth_diagnose(const dm_synth_record *record, dm_buffer *diagnostics, bool *compiles,
                            dm_error *err)
{
    return diagnose(dm_buffer_text(&record->python_source), record->python_source.size,
                    record->kernel_name, diagnostics, compiles, err);
}

dm_status dm_synth_reject(const dm_synth_record *pair, uint64_t seed, dm_synth_record *out,
                          bool *made, dm_error *err)
{
    enum { TRIES = 24 };
    dm_status status = DM_OK;
    dm_test_stream random;
    uint64_t own = dm_hash64(dm_buffer_text(&pair->python_source), pair->python_source.size);
    dm_test_stream_seed(&random, seed ^ own);
    dm_synth_record_clear(out);
    out->kind = DM_SYNTH_REJECTED;
    out->category = pair->category;
    memcpy(out->kernel_name, pair->kernel_name, sizeof out->kernel_name);
    snprintf(out->id, sizeof out->id, "%.*sr", (int)sizeof out->id - 2, pair->id);
    *made = false;
    for (int i = 0; i < TRIES && !*made && status == DM_OK; i++) {
        int number = (int)(dm_test_stream_next(&random) % WAY_COUNT);
        uint64_t place = dm_test_stream_next(&random);
        bool compiles = false;
        dm_buffer_clear(&out->python_source);
        if (!dm_synth_break(dm_buffer_text(&pair->python_source), pair->python_source.size, number,
                            place, &out->python_source))
            continue;
        status = dm_synth_diagnose(out, &out->diagnostics, &compiles, err);
        *made = status == DM_OK && !compiles && out->diagnostics.size > 0;
    }
    return status == DM_OK ? dm_buffer_check(&out->python_source, err) : status;
}
