/* SPDX-License-Identifier: MIT */
/* lex.c - text to tokens: names, numbers, strings, operators, and the block structure that Python writes
 * as indentation (INDENT, DEDENT, NEWLINE). Lines continue inside brackets and after a backslash. A tab
 * moves to the next multiple of eight columns; indentation whose meaning depends on that is refused,
 * as in Python. */
#include "lang/front/lex.h"

#include <stdlib.h>
#include <string.h>

const uint8_t dm_lex_classes[256] = {
    ['0' ... '9'] = DIGIT, ['A' ... 'Z'] = NAME,   ['_'] = NAME,
    ['a' ... 'z'] = NAME,  [0x80 ... 0xFF] = WIDE,
};

/* What a token begins with. */
typedef enum token_start {
    START_OTHER, /* nothing begins with it */
    START_NAME,
    START_NUMBER,
    START_STRING,
    START_OPERATOR,
    START_OPEN, /* a bracket */
    START_CLOSE,
    START_COMMA,
    START_DOT, /* of a number or an operator */
    START_LINE,
    START_SPACE,
    START_COMMENT,
    START_BACKSLASH,
} token_start;
static const uint8_t starts[256] = {
    ['0' ... '9'] = START_NUMBER, ['A' ... 'Z'] = START_NAME,   ['_'] = START_NAME,
    ['a' ... 'z'] = START_NAME,   [0x80 ... 0xFF] = START_NAME, ['"'] = START_STRING,
    ['\''] = START_STRING,        ['\n'] = START_LINE,          [' '] = START_SPACE,
    ['\t'] = START_SPACE,         ['\r'] = START_SPACE,         ['\f'] = START_SPACE,
    ['#'] = START_COMMENT,        ['\\'] = START_BACKSLASH,     ['.'] = START_DOT,
    ['('] = START_OPEN,           [')'] = START_CLOSE,          ['['] = START_OPEN,
    [']'] = START_CLOSE,          ['{'] = START_OPEN,           ['}'] = START_CLOSE,
    [','] = START_COMMA,          [';'] = START_OPERATOR,       ['~'] = START_OPERATOR,
    [':'] = START_OPERATOR,       ['+'] = START_OPERATOR,       ['-'] = START_OPERATOR,
    ['*'] = START_OPERATOR,       ['/'] = START_OPERATOR,       ['%'] = START_OPERATOR,
    ['@'] = START_OPERATOR,       ['&'] = START_OPERATOR,       ['|'] = START_OPERATOR,
    ['^'] = START_OPERATOR,       ['<'] = START_OPERATOR,       ['>'] = START_OPERATOR,
    ['='] = START_OPERATOR,       ['!'] = START_OPERATOR,
};

void dm_lex_make_room(lexer *lx)
{
    dm_buffer *buffer = &lx->lang->tokens;
    buffer->size = (size_t)lx->count * sizeof *lx->tokens;
    size_t more = buffer->size / 2 + lx->source->size / 3 * sizeof *lx->tokens + 1024;
    if (buffer->size + more > DM_LANG_MEMORY_MAX || !dm_buffer_reserve(buffer, more))
        dm_lang_bail(lx->lang, "out of memory");
    lx->tokens = (dm_token *)(void *)buffer->data;
    lx->capacity = (int)(buffer->capacity / sizeof *lx->tokens);
}

static void complain(lexer *lx, const char *start, const char *hint, const char *message)
{
    dm_lang_error(lx->lang, place(lx, start), place(lx, lx->at), hint, "%s", message);
}

static bool starts_name(char c)
{
    return (dm_lex_classes[(unsigned char)c] & (NAME | WIDE)) != 0;
}

/* ---- Indentation ---- */

static void complain_tabs(lexer *lx)
{
    complain(lx, lx->at, "indent with spaces only, or with tabs only",
             "tabs and spaces are mixed in this indentation");
}

/* At the start of a line: skip blank lines, then open or close blocks. As in Python, how lines are
 * nested must not depend on how wide a tab is. */
static void lex_indentation(lexer *lx)
{
    for (;;) {
        int column = 0, characters;
        for (; memcmp(lx->at, "    ", 4) == 0; column += 4)
            lx->at += 4;
        characters = column;
        while (lx->at < lx->end && (*lx->at == ' ' || *lx->at == '\t' || *lx->at == '\f')) {
            column = *lx->at == '\t' ? (column / 8 + 1) * 8 : *lx->at == '\f' ? 0 : column + 1;
            characters = *lx->at == '\f' ? 0 : characters + 1;
            lx->at++;
        }
        if (lx->at < lx->end && *lx->at == '#')
            while (lx->at < lx->end && *lx->at != '\n')
                lx->at++;
        if (lx->at < lx->end && (*lx->at == '\n' || *lx->at == '\r')) {
            lx->at++;
            continue;
        }
        if (lx->at == lx->end)
            return;
        if (column > lx->indents[lx->indent_count - 1]) {
            if (lx->indent_count == INDENTS_MAX) {
                complain(lx, lx->at, NULL, "too many nested blocks");
                dm_lang_bail(lx->lang, "too many nested blocks");
            }
            if (characters <= lx->characters[lx->indent_count - 1])
                complain_tabs(lx);
            lx->characters[lx->indent_count] = characters;
            lx->indents[lx->indent_count++] = column;
            add(lx, DM_TOK_INDENT, lx->at);
            return;
        }
        while (column < lx->indents[lx->indent_count - 1]) {
            lx->indent_count--;
            add(lx, DM_TOK_DEDENT, lx->at);
        }
        if (column != lx->indents[lx->indent_count - 1]) {
            complain(lx, lx->at, "indent it as far as one of the lines above",
                     "this indentation matches no outer block");
            if (lx->indent_count > 1) { /* the outermost stays 0 */
                lx->indents[lx->indent_count - 1] = column;
                lx->characters[lx->indent_count - 1] = characters;
            }
        } else if (characters != lx->characters[lx->indent_count - 1]) {
            complain_tabs(lx);
        }
        return;
    }
}

/* ---- Numbers ---- */

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static void lex_integer(lexer *lx, const char *start, uint64_t base)
{
    uint64_t value = 0;
    bool overflow = false;
    const char *digits = lx->at;
    for (; lx->at < lx->end; lx->at++) {
        if (*lx->at == '_')
            continue;
        uint64_t digit = (uint64_t)digit_value(*lx->at);
        if (digit >= base)
            break;
        overflow |= value > (UINT64_MAX - digit) / base;
        value = value * base + digit;
    }
    if (lx->at == digits)
        complain(lx, start, NULL, "this number has no digits");
    if (overflow)
        complain(lx, start, NULL, "this integer does not fit 64 bits");
    if (base == 10 && *digits == '0' && value != 0)
        complain(lx, start, "octal numbers begin with 0o", "an integer cannot begin with 0");
    add(lx, DM_TOK_INT, start)->integer = value;
}

/* Digits, '.', exponent; '_' between digits is allowed and dropped. */
static void lex_real(lexer *lx, const char *start)
{
    char text[128];
    size_t length = 0;
    bool cut = false;
    for (; lx->at < lx->end; lx->at++) {
        char c = *lx->at;
        bool sign = (c == '+' || c == '-') && (lx->at[-1] == 'e' || lx->at[-1] == 'E');
        if (!is_digit(c) && c != '.' && c != '_' && c != 'e' && c != 'E' && !sign)
            break;
        if (c == '_')
            continue;
        if (length < sizeof text - 1)
            text[length++] = c;
        else
            cut = true;
    }
    text[length] = '\0';
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || cut)
        complain(lx, start, NULL, cut ? "this number has too many digits" : "malformed number");
    add(lx, DM_TOK_FLOAT, start)->real = value;
}

static void lex_number(lexer *lx)
{
    const char *start = lx->at;
    dm_token number;
    const char *end = dm_lex_short_number(start, &number);
    if (end != NULL) {
        lx->at = end;
        add(lx, number.kind, start)->integer = number.integer; /* or the bits of a float */
        return;
    }
    char second = lx->at + 1 < lx->end ? (char)(lx->at[1] | 0x20) : 0;
    if (*start == '0' && (second == 'x' || second == 'o' || second == 'b')) {
        lx->at += 2;
        lex_integer(lx, start, second == 'x' ? 16 : second == 'o' ? 8 : 2);
    } else {
        const char *p = start;
        while (p < lx->end && (is_digit(*p) || *p == '_'))
            p++;
        if (p < lx->end && (*p == '.' || *p == 'e' || *p == 'E'))
            lex_real(lx, start);
        else
            lex_integer(lx, start, 10);
    }
    if (lx->at < lx->end && starts_name(*lx->at)) {
        const char *tail = lx->at;
        while (lx->at < lx->end && (starts_name(*lx->at) || is_digit(*lx->at)))
            lx->at++;
        if (lx->at - tail != 1 || (*tail | 0x20) != 'j') /* complex numbers are never used */
            complain(lx, start, NULL, "a name cannot follow a number directly");
    }
}

/* ---- Strings ---- */

static void put_escape(lexer *lx, dm_buffer *out)
{
    static const char letters[] = "abfnrtv0\\'\"", values[] = "\a\b\f\n\r\t\v\0\\'\"";
    char c = *lx->at++;
    if (c == '\n')
        return;
    const char *found = c == '\0' ? NULL : strchr(letters, c);
    if (found != NULL) {
        dm_buffer_putc(out, values[found - letters]);
    } else if (c == 'x' && lx->end - lx->at >= 2 && digit_value(lx->at[0]) < 16 &&
               digit_value(lx->at[1]) < 16) {
        dm_buffer_putc(out, (char)(digit_value(lx->at[0]) * 16 + digit_value(lx->at[1])));
        lx->at += 2;
    } else {
        dm_buffer_putc(out, '\\');
        dm_buffer_putc(out, c);
    }
}

/* From the opening quote; `start` is where the prefix is. */
static void lex_string(lexer *lx, const char *start, bool raw, bool format)
{
    char quote = *lx->at;
    bool triple = lx->end - lx->at >= 3 && lx->at[1] == quote && lx->at[2] == quote;
    lx->at += triple ? 3 : 1;
    dm_buffer text = DM_BUFFER_EMPTY;
    bool closed = false;
    while (lx->at < lx->end && !closed) {
        char c = *lx->at;
        if (c == quote &&
            (!triple || (lx->end - lx->at >= 3 && lx->at[1] == quote && lx->at[2] == quote))) {
            lx->at += triple ? 3 : 1;
            closed = true;
        } else if (c == '\n' && !triple) {
            break;
        } else if (c == '\\' && lx->at + 1 < lx->end) {
            lx->at++;
            if (raw) {
                dm_buffer_putc(&text, '\\');
                dm_buffer_putc(&text, *lx->at++);
            } else {
                put_escape(lx, &text);
            }
        } else {
            dm_buffer_putc(&text, c);
            lx->at++;
        }
    }
    /* Strings matter little here; one with a NUL inside is cut there. */
    const char *kept = dm_lang_intern_text(lx->lang, text.failed ? "" : dm_buffer_text(&text));
    dm_buffer_deinit(&text);
    if (!closed)
        complain(lx, start, NULL, "this string is not closed");
    dm_token *token = add(lx, DM_TOK_STRING, start);
    token->name = kept;
    token->is_format = format;
}

/* ---- Names and operators ---- */

static bool is_string_prefix(const char *start, size_t length, bool *raw, bool *format)
{
    if (length > 2)
        return false;
    *raw = *format = false;
    for (size_t i = 0; i < length; i++) {
        char c = (char)(start[i] | 0x20);
        if (strchr("rbuft", c) == NULL)
            return false;
        *raw |= c == 'r';
        *format |= c == 'f' || c == 't';
    }
    return true;
}

/* Length of the UTF-8 sequence at `at`, 0 when it is malformed. */
static size_t utf8_length(const char *at, const char *end)
{
    unsigned char c = (unsigned char)*at;
    size_t length = c < 0x80                ? 1
                    : c >= 0xC2 && c < 0xE0 ? 2
                    : c >= 0xE0 && c < 0xF0 ? 3
                    : c >= 0xF0 && c < 0xF5 ? 4
                                            : 0;
    if (length == 0 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

/* The rest of a name that has letters beyond ASCII. Bytes that are no UTF-8 are errors. */
static void lex_wide_name(lexer *lx)
{
    while (lx->at < lx->end && dm_lex_classes[(unsigned char)*lx->at] != 0) {
        size_t bytes = 1;
        if (dm_lex_classes[(unsigned char)*lx->at] == WIDE) {
            bytes = utf8_length(lx->at, lx->end);
            if (bytes == 0) {
                lx->at++;
                complain(lx, lx->at - 1, "the text must be UTF-8", "this byte is not UTF-8");
            }
        }
        lx->at += bytes;
    }
}

/* Count letters and digits from `text` on, eight at a time: a loop over bytes mispredicts its end
 * for nearly every name. */
static size_t name_length(const char *text)
{
    for (size_t length = 0;; length += 8) {
        unsigned others = 0;
        for (unsigned i = 0; i < 8; i++)
            others |=
                (unsigned)((dm_lex_classes[(unsigned char)text[length + i]] & (NAME | DIGIT)) == 0)
                << i;
        if (others != 0)
            return length + (size_t)__builtin_ctz(others);
    }
}

static void lex_name(lexer *lx)
{
    const char *start = lx->at;
    size_t length = name_length(start);
    lx->at += length;
    if (dm_lex_classes[(unsigned char)*lx->at] == WIDE) {
        lex_wide_name(lx);
        length = (size_t)(lx->at - start);
    }
    bool raw, format;
    if ((*lx->at == '"' || *lx->at == '\'') && is_string_prefix(start, length, &raw, &format)) {
        lex_string(lx, start, raw, format);
        return;
    }
    const dm_lang_name *name = dm_lang_intern_padded(lx->lang, start, length);
    dm_token *token = add(lx, name->token != 0 ? (dm_token_kind)name->token : DM_TOK_NAME, start);
    token->name = name->text;
    token->number = name->number;
}

/* All operators are among the names. */
static void add_operator(lexer *lx, dm_token_kind kind, const char *start)
{
    dm_token *token = add(lx, kind, start);
    token->name = dm_lang_intern_text(lx->lang, dm_token_spelling(kind));
    token->number = dm_lang_name_of(token->name)->number;
}

static void lex_open(lexer *lx)
{
    char c = *lx->at++;
    if (lx->depth == BRACKETS_MAX)
        dm_lang_bail(lx->lang, "too many nested brackets");
    lx->brackets[++lx->depth] = (char)(c == '(' ? ')' : c + 2);
    add_operator(lx,
                 c == '('   ? DM_TOK_LPAREN
                 : c == '[' ? DM_TOK_LBRACKET
                            : DM_TOK_LBRACE,
                 lx->at - 1);
}

static void lex_close(lexer *lx)
{
    char c = *lx->at++;
    if (lx->brackets[lx->depth] == c)
        lx->depth--;
    else
        complain(lx, lx->at - 1, NULL, "this bracket closes nothing");
    add_operator(lx,
                 c == ')'   ? DM_TOK_RPAREN
                 : c == ']' ? DM_TOK_RBRACKET
                            : DM_TOK_RBRACE,
                 lx->at - 1);
}

/* `op`, or `assign` where '=' follows. */
static dm_token_kind or_assign(lexer *lx, dm_token_kind op, dm_token_kind assign)
{
    if (lx->at == lx->end || *lx->at != '=')
        return op;
    lx->at++;
    return assign;
}

static bool take(lexer *lx, char c)
{
    if (lx->at == lx->end || *lx->at != c)
        return false;
    lx->at++;
    return true;
}

/* The longest spelling that matches. */
static dm_token_kind operator_kind(lexer *lx)
{
    switch (*lx->at++) {
    case ';':
        return DM_TOK_SEMICOLON;
    case '~':
        return DM_TOK_TILDE;
    case ':':
        return or_assign(lx, DM_TOK_COLON, DM_TOK_WALRUS);
    case '.':
        if (lx->end - lx->at < 2 || lx->at[0] != '.' || lx->at[1] != '.')
            return DM_TOK_DOT;
        lx->at += 2;
        return DM_TOK_ELLIPSIS;
    case '+':
        return or_assign(lx, DM_TOK_PLUS, DM_TOK_PLUSASSIGN);
    case '-':
        return take(lx, '>') ? DM_TOK_ARROW : or_assign(lx, DM_TOK_MINUS, DM_TOK_MINUSASSIGN);
    case '*':
        return take(lx, '*') ? or_assign(lx, DM_TOK_DOUBLESTAR, DM_TOK_DOUBLESTARASSIGN)
                             : or_assign(lx, DM_TOK_STAR, DM_TOK_STARASSIGN);
    case '/':
        return take(lx, '/') ? or_assign(lx, DM_TOK_DOUBLESLASH, DM_TOK_DOUBLESLASHASSIGN)
                             : or_assign(lx, DM_TOK_SLASH, DM_TOK_SLASHASSIGN);
    case '%':
        return or_assign(lx, DM_TOK_PERCENT, DM_TOK_PERCENTASSIGN);
    case '@':
        return or_assign(lx, DM_TOK_AT, DM_TOK_ATASSIGN);
    case '&':
        return or_assign(lx, DM_TOK_AMPERSAND, DM_TOK_AMPERSANDASSIGN);
    case '|':
        return or_assign(lx, DM_TOK_PIPE, DM_TOK_PIPEASSIGN);
    case '^':
        return or_assign(lx, DM_TOK_CARET, DM_TOK_CARETASSIGN);
    case '<':
        return take(lx, '<') ? or_assign(lx, DM_TOK_SHIFTLEFT, DM_TOK_SHIFTLEFTASSIGN)
                             : or_assign(lx, DM_TOK_LESS, DM_TOK_LESSEQUAL);
    case '>':
        return take(lx, '>') ? or_assign(lx, DM_TOK_SHIFTRIGHT, DM_TOK_SHIFTRIGHTASSIGN)
                             : or_assign(lx, DM_TOK_GREATER, DM_TOK_GREATEREQUAL);
    case '=':
        return or_assign(lx, DM_TOK_ASSIGN, DM_TOK_EQUAL);
    case '!':
        return or_assign(lx, DM_TOK_NOT_SIGN, DM_TOK_NOTEQUAL);
    default:
        return DM_TOK_END;
    }
}

static void lex_operator(lexer *lx)
{
    const char *start = lx->at;
    dm_token_kind kind = operator_kind(lx);
    add_operator(lx, kind, start);
}

static void lex_line_end(lexer *lx)
{
    const char *start = lx->at++;
    if (lx->depth > 0)
        return;
    if (lx->count > 0 && lx->tokens[lx->count - 1].kind != DM_TOK_NEWLINE)
        add(lx, DM_TOK_NEWLINE, start)->end = place(lx, start);
    lex_indentation(lx);
}

/* False at the end of the text. */
static bool lex_token(lexer *lx)
{
    lx->at += *lx->at == ' '; /* there is one between most tokens */
    switch ((token_start)starts[(unsigned char)*lx->at]) {
    case START_NAME:
        lex_name(lx);
        break;
    case START_DOT:
        if (is_digit(lx->at[1]))
            lex_number(lx);
        else
            lex_operator(lx);
        break;
    case START_OPERATOR:
        lex_operator(lx);
        break;
    case START_OPEN:
        lex_open(lx);
        break;
    case START_CLOSE:
        lex_close(lx);
        break;
    case START_COMMA:
        lx->at++;
        add_operator(lx, DM_TOK_COMMA, lx->at - 1);
        break;
    case START_NUMBER:
        lex_number(lx);
        break;
    case START_STRING:
        lex_string(lx, lx->at, false, false);
        break;
    case START_LINE:
        lex_line_end(lx);
        break;
    case START_SPACE:
        lx->at++;
        break;
    case START_COMMENT:
        while (lx->at < lx->end && *lx->at != '\n')
            lx->at++;
        break;
    case START_BACKSLASH:
        if (lx->at[1] == '\n' || lx->at[1] == '\r') {
            lx->at += lx->at[1] == '\r' && lx->at + 2 < lx->end ? 3 : 2;
            break;
        } /* fall through */
    default:
        if (lx->at >= lx->end)
            return false;
        lx->at++;
        complain(lx, lx->at - 1, NULL,
                 lx->at[-1] == '\0' ? "a NUL byte is not text"
                                    : "this character has no meaning here");
        break;
    }
    return true;
}

dm_token *dm_lang_lex(dm_lang *lang, const dm_lang_source *source, int *count)
{
    static const char zeros[COPY_PADDING];
    lexer state, *lx = &state;
    dm_buffer_clear(&lang->copy);
    dm_buffer_append(&lang->copy, source->text, source->size);
    dm_buffer_append(&lang->copy, zeros, sizeof zeros);
    if (lang->copy.failed)
        dm_lang_bail(lang, "out of memory");
    /* Field by field: the arrays need no clearing. */
    lx->lang = lang;
    lx->source = source;
    lx->text = lx->at = lang->copy.data;
    lx->end = lx->text + source->size;
    lx->shift = source->base - (dm_pos)(uintptr_t)lx->text;
    lx->count = lx->depth = 0;
    lx->brackets[0] = '\0'; /* closes nothing */
    lx->indents[0] = lx->characters[0] = 0;
    lx->indent_count = 1;
    dm_buffer_clear(&lang->tokens);
    dm_lex_make_room(lx);
    if (source->size >= 3 && memcmp(source->text, "\xEF\xBB\xBF", 3) == 0)
        lx->at += 3;
    lex_indentation(lx);
    do
        dm_lex_plain(lx);
    while (lex_token(lx));
    if (lx->depth > 0)
        complain(lx, lx->at, NULL, "a bracket is not closed");
    if (lx->count > 0 && lx->tokens[lx->count - 1].kind != DM_TOK_NEWLINE)
        add(lx, DM_TOK_NEWLINE, lx->at);
    for (; lx->indent_count > 1; lx->indent_count--)
        add(lx, DM_TOK_DEDENT, lx->at);
    add(lx, DM_TOK_END, lx->at);
    *count = lx->count;
    return lx->tokens;
}
