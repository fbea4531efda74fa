/* SPDX-License-Identifier: MIT */
/* asm_lex.c - one line into tokens.
 *
 * Names that stand for a text (EQUS) are replaced in the line and read again. `%` and `&` begin a
 * number where a value may stand and are operators elsewhere, as in RGBDS. */
#include "romtools/asm_internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct lexer {
    dm_asm *as;
    size_t pos;   /* in as->line */
    size_t words; /* used of as->words */
    unsigned count, expansions;
} lexer;

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '.';
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '#' || c == '@';
}

/* Does a value end with the token before, so that an operator comes next? After a name, which may
 * be a directive's, a space decides: `db %1` but `x%1`. */
static bool after_value(const lexer *lx)
{
    if (lx->count == 0)
        return false;
    int kind = lx->as->tokens[lx->count - 1].kind;
    char before = lx->as->line[lx->pos - 1];
    return (kind == DM_ASM_T_NAME && before != ' ' && before != '\t') || kind == DM_ASM_T_NUMBER ||
           kind == DM_ASM_T_STRING || kind == ')' || kind == ']' || kind == '@';
}

static bool push(lexer *lx, int kind, int32_t number, const char *text, size_t size, size_t offset)
{
    dm_asm *as = lx->as;
    if (lx->count == DM_ASM_TOKENS_MAX) {
        dm_asm_error(as, "the line has more than %d words", DM_ASM_TOKENS_MAX);
        return false;
    }
    dm_asm_token *token = &as->tokens[lx->count++];
    /* Each word takes its length and a NUL: never more than twice the line. */
    char *copy = as->words + lx->words;
    if (text)
        memcpy(copy, text, size);
    copy[text ? size : 0] = 0;
    lx->words += (text ? size : 0) + 1;
    *token = (dm_asm_token){kind, number, copy, (uint32_t)(text ? size : 0), (uint32_t)offset};
    return true;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static bool lex_number(lexer *lx, size_t start, int base)
{
    const char *line = lx->as->line;
    uint64_t value = 0;
    while (digit_value(line[lx->pos]) < base || line[lx->pos] == '_') {
        if (line[lx->pos] != '_')
            value = value * (unsigned)base + (unsigned)digit_value(line[lx->pos]);
        if (value > UINT32_MAX) {
            dm_asm_error(lx->as, "the number does not fit 32 bits");
            return false;
        }
        lx->pos++;
    }
    if (is_name_char(line[lx->pos]) && line[lx->pos] != '.') {
        dm_asm_error(lx->as, "'%c' does not belong in a number of base %d", line[lx->pos], base);
        return false;
    }
    return push(lx, DM_ASM_T_NUMBER, (int32_t)(uint32_t)value, NULL, 0, start);
}

/* `01230123: eight pixels, as the two bytes of a tile row; the low bit's byte comes first. */
static bool lex_pixels(lexer *lx)
{
    const char *line = lx->as->line;
    size_t start = lx->pos++;
    unsigned low = 0, high = 0, pixels = 0;
    for (; line[lx->pos] >= '0' && line[lx->pos] <= '3'; lx->pos++, pixels++) {
        unsigned shade = (unsigned)(line[lx->pos] - '0');
        low = low << 1 | (shade & 1);
        high = high << 1 | shade >> 1;
    }
    if (pixels == 0 || pixels > 8) {
        dm_asm_error(lx->as, "a row of pixels has 1 to 8 digits 0..3");
        return false;
    }
    return push(lx, DM_ASM_T_NUMBER, (int32_t)(high << 8 | low), NULL, 0, start);
}

static bool escape(lexer *lx, char *out)
{
    char c = lx->as->line[lx->pos];
    switch (c) {
    case 'n':
        *out = '\n';
        break;
    case 'r':
        *out = '\r';
        break;
    case 't':
        *out = '\t';
        break;
    case '0':
        *out = 0;
        break;
    case '"':
    case '\'':
    case '\\':
    case '{':
    case '}':
        *out = c;
        break;
    default:
        dm_asm_error(lx->as, "unknown escape in a text");
        return false;
    }
    lx->pos++;
    return true;
}

/* A text in "..."; one character in '...' is a number. */
static bool lex_quoted(lexer *lx)
{
    const char *line = lx->as->line;
    size_t start = lx->pos;
    char quote = line[lx->pos++];
    char text[DM_ASM_LINE_MAX];
    size_t size = 0;
    while (line[lx->pos] && line[lx->pos] != quote) {
        char c = line[lx->pos++];
        if (c == '\\' && !escape(lx, &c))
            return false;
        text[size++] = c;
    }
    if (line[lx->pos] != quote) {
        dm_asm_error(lx->as, "the text is not closed");
        return false;
    }
    lx->pos++;
    if (quote == '"')
        return push(lx, DM_ASM_T_STRING, 0, text, size, start);
    if (size != 1) {
        dm_asm_error(lx->as, "'...' holds one character");
        return false;
    }
    return push(lx, DM_ASM_T_NUMBER, lx->as->charmap[(unsigned char)text[0]], NULL, 0, start);
}

/* The word that follows a position, to see `name EQUS`. */
static bool followed_by(const char *text, const char *word)
{
    text += strspn(text, " \t");
    size_t size = strlen(word);
    return strncasecmp(text, word, size) == 0 && !is_name_char(text[size]);
}

/* A name is left alone where it is being defined or asked about. */
static bool may_expand(const lexer *lx, size_t end)
{
    const dm_asm_token *tokens = lx->as->tokens;
    unsigned n = lx->count;
    if (n > 0 && (dm_asm_is_word(&tokens[n - 1], "DEF") || dm_asm_is_word(&tokens[n - 1], "REDEF")))
        return false;
    if (n > 1 && tokens[n - 1].kind == '(' && dm_asm_is_word(&tokens[n - 2], "DEF"))
        return false;
    return n > 0 || !followed_by(lx->as->line + end, "EQUS");
}

static bool lex_name(lexer *lx)
{
    dm_asm *as = lx->as;
    size_t start = lx->pos, end = start;
    while (is_name_char(as->line[end]))
        end++;
    size_t size = end - start;
    if (!push(lx, DM_ASM_T_NAME, 0, as->line + start, size, start))
        return false;
    lx->pos = end;

    dm_asm_symbol *symbol = dm_asm_symbol_find(as, as->tokens[lx->count - 1].text);
    lx->count--;
    if (!symbol || symbol->kind != DM_ASM_TEXT || symbol->pass != as->pass ||
        !may_expand(lx, end)) {
        lx->count++;
        return true;
    }
    size_t rest = strlen(as->line + end);
    if (++lx->expansions > DM_ASM_EXPANSIONS_MAX ||
        start + symbol->text_size + rest >= DM_ASM_LINE_MAX) {
        dm_asm_error(as, "'%.100s' expands without end", symbol->name);
        return false;
    }
    memmove(as->line + start + symbol->text_size, as->line + end, rest + 1);
    memcpy(as->line + start, symbol->text, symbol->text_size);
    lx->words -= size + 1;
    lx->pos = start;
    return true;
}

static bool lex_punctuation(lexer *lx)
{
    static const struct {
        const char *text;
        int kind;
    } long_ones[] = {
        {">>>", DM_ASM_T_SHR_LOGICAL}, {"<<", DM_ASM_T_SHL},    {">>", DM_ASM_T_SHR},
        {"==", DM_ASM_T_EQ},           {"!=", DM_ASM_T_NE},     {"<=", DM_ASM_T_LE},
        {">=", DM_ASM_T_GE},           {"&&", DM_ASM_T_AND},    {"||", DM_ASM_T_OR},
        {"**", DM_ASM_T_POWER},        {"::", DM_ASM_T_COLONS},
    };
    const char *at = lx->as->line + lx->pos;
    size_t start = lx->pos;
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        size_t size = strlen(long_ones[i].text);
        if (strncmp(at, long_ones[i].text, size) == 0) {
            lx->pos += size;
            return push(lx, long_ones[i].kind, 0, at, size, start);
        }
    }
    if (!strchr("+-*/%&|^~!<>=()[],:@", *at)) {
        if (isprint((unsigned char)*at))
            dm_asm_error(lx->as, "unexpected character '%c'", *at);
        else
            dm_asm_error(lx->as, "unexpected byte $%02X", (unsigned)(unsigned char)*at);
        return false;
    }
    lx->pos++;
    return push(lx, *at, 0, at, 1, start);
}

bool dm_asm_lex(dm_asm *as)
{
    lexer lx = {.as = as};
    as->at = 0;
    for (;;) {
        lx.pos += strspn(as->line + lx.pos, " \t\r");
        char c = as->line[lx.pos], next = c ? as->line[lx.pos + 1] : (char)0;
        size_t start = lx.pos;
        bool good;
        /* as->words holds each word and a NUL; expansions give back what they took. */
        if (!c || c == ';')
            break;
        if (is_name_start(c)) {
            good = lex_name(&lx);
        } else if (c == '0' && (next == 'x' || next == 'X')) {
            lx.pos += 2;
            good = lex_number(&lx, start, 16);
        } else if (isdigit((unsigned char)c)) {
            good = lex_number(&lx, start, 10);
        } else if (c == '$' && digit_value(next) < 16) {
            lx.pos++;
            good = lex_number(&lx, start, 16);
        } else if (c == '%' && !after_value(&lx) && digit_value(next) < 2) {
            lx.pos++;
            good = lex_number(&lx, start, 2);
        } else if (c == '&' && !after_value(&lx) && digit_value(next) < 8) {
            lx.pos++;
            good = lex_number(&lx, start, 8);
        } else if (c == '`') {
            good = lex_pixels(&lx);
        } else if (c == '"' || c == '\'') {
            good = lex_quoted(&lx);
        } else {
            good = lex_punctuation(&lx);
        }
        if (!good) {
            as->tokens[0] = (dm_asm_token){.kind = DM_ASM_T_END, .text = ""};
            return false;
        }
    }
    as->tokens[lx.count] =
        (dm_asm_token){.kind = DM_ASM_T_END, .text = "", .offset = (uint32_t)lx.pos};
    return true;
}

bool dm_asm_accept(dm_asm *as, int kind)
{
    if (dm_asm_peek(as)->kind != kind)
        return false;
    as->at += kind != DM_ASM_T_END; /* the end stays where it is */
    return true;
}

bool dm_asm_expect(dm_asm *as, int kind, const char *what)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (dm_asm_accept(as, kind))
        return true;
    if (token->kind == DM_ASM_T_END)
        dm_asm_error(as, "expected %s at the end of the line", what);
    else if (token->kind == DM_ASM_T_NUMBER)
        dm_asm_error(as, "expected %s before %d", what, (int)token->number);
    else
        dm_asm_error(as, "expected %s before '%.100s'", what, token->text);
    return false;
}

bool dm_asm_is_word(const dm_asm_token *token, const char *word)
{
    return token->kind == DM_ASM_T_NAME && strcasecmp(token->text, word) == 0;
}
