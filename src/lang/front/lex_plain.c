/* SPDX-License-Identifier: MIT */
/* lex_plain.c - the fast path of the lexer: names, short numbers and operators of one byte. Everything
 * else, and every error, is left to lex.c.
 *
 * Whether a name or an operator comes next cannot be predicted, so both are looked up in the same
 * way, without a branch on the kind. Token boundaries are found for 64 bytes at a time (scan.h). */
#include "lang/front/lex.h"

/* 12, 0.25: digits that fit a double exactly, over a power of ten that does too, so that one
 * division rounds as strtod would. */
const char *dm_lex_short_number(const char *start, dm_token *token)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    uint64_t digits = 0;
    const char *p = start; /* the zeros behind the text end all loops */
    for (; is_digit(*p); p++)
        digits = digits * 10 + (uint64_t)(*p - '0');
    const char *point = p;
    if (*p == '.')
        for (p++; is_digit(*p); p++)
            digits = digits * 10 + (uint64_t)(*p - '0');
    size_t places = p == point ? 0 : (size_t)(p - point) - 1;
    const bool zero_first = p == point && *start == '0' && digits != 0; /* an error */
    if (p - start > 15 || places > 9 || zero_first || dm_lex_classes[(unsigned char)*p] != 0 ||
        *p == '.')
        return NULL;
    token->kind = (uint8_t)(p == point ? DM_TOK_INT : DM_TOK_FLOAT);
    if (p == point)
        token->integer = digits;
    else
        token->real = (double)digits / powers[places];
    return p;
}

/* What is done with a byte that a token begins with. */
enum { PLAIN_NOT, PLAIN_TOKEN, PLAIN_NUMBER };
static const uint8_t plain_starts[256] = {
    ['0' ... '9'] = PLAIN_NUMBER, ['A' ... 'Z'] = PLAIN_TOKEN, ['_'] = PLAIN_TOKEN,
    ['a' ... 'z'] = PLAIN_TOKEN,  ['('] = PLAIN_TOKEN,         [')'] = PLAIN_TOKEN,
    ['['] = PLAIN_TOKEN,          [']'] = PLAIN_TOKEN,         [','] = PLAIN_TOKEN,
    [':'] = PLAIN_TOKEN,          ['.'] = PLAIN_TOKEN,         ['+'] = PLAIN_TOKEN,
    ['-'] = PLAIN_TOKEN,          ['*'] = PLAIN_TOKEN,         ['/'] = PLAIN_TOKEN,
    ['%'] = PLAIN_TOKEN,          ['@'] = PLAIN_TOKEN,         ['&'] = PLAIN_TOKEN,
    ['|'] = PLAIN_TOKEN,          ['^'] = PLAIN_TOKEN,         ['~'] = PLAIN_TOKEN,
    ['<'] = PLAIN_TOKEN,          ['>'] = PLAIN_TOKEN,         ['='] = PLAIN_TOKEN,
};

/* A byte that follows another may make it a longer token, a number or a string: kinds of bytes that
 * do, by the first byte (all letters of a name stand for its first), and what kind a byte is. */
enum {
    BEFORE_EQUALS = 1,
    BEFORE_STAR = 2,
    BEFORE_SLASH = 4,
    BEFORE_LESS = 8,
    BEFORE_GREATER = 16,
    BEFORE_POINT = 32,
    BEFORE_DIGIT = 64,
    BEFORE_OTHER = 128
};
static const uint8_t followed_by[256] = {
    ['A' ... 'Z'] = BEFORE_OTHER,
    ['_'] = BEFORE_OTHER,
    ['a' ... 'z'] = BEFORE_OTHER,
    [':'] = BEFORE_EQUALS,
    ['.'] = BEFORE_POINT | BEFORE_DIGIT,
    ['+'] = BEFORE_EQUALS,
    ['-'] = BEFORE_EQUALS | BEFORE_GREATER,
    ['*'] = BEFORE_EQUALS | BEFORE_STAR,
    ['/'] = BEFORE_EQUALS | BEFORE_SLASH,
    ['%'] = BEFORE_EQUALS,
    ['@'] = BEFORE_EQUALS,
    ['&'] = BEFORE_EQUALS,
    ['|'] = BEFORE_EQUALS,
    ['^'] = BEFORE_EQUALS,
    ['<'] = BEFORE_EQUALS | BEFORE_LESS,
    ['>'] = BEFORE_EQUALS | BEFORE_GREATER,
    ['='] = BEFORE_EQUALS,
};
static const uint8_t follows[256] = {
    ['='] = BEFORE_EQUALS,        ['*'] = BEFORE_STAR,
    ['/'] = BEFORE_SLASH,         ['<'] = BEFORE_LESS,
    ['>'] = BEFORE_GREATER,       ['.'] = BEFORE_POINT,
    ['0' ... '9'] = BEFORE_DIGIT, ['"'] = BEFORE_OTHER,
    ['\''] = BEFORE_OTHER,        [0x80 ... 0xFF] = BEFORE_OTHER,
};

#define PLAIN_BYTES 48 /* that tokens begin at, of those looked at */
#define PLAIN_MOST 16  /* bytes of a name */

/* A token that was found lately. */
typedef struct memo {
    uint64_t words[2]; /* its bytes, zeros behind its end */
    const char *name;
    uint32_t number;
    uint8_t kind;
} memo;
#define MEMO_BITS 10

/* The name or operator of `length` bytes, PLAIN_MOST at most; 16 bytes are read. */
static inline const memo *recall(lexer *lx, const char *start, size_t length)
{
    static const uint8_t masks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                      255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t words[2], mask[2];
    memcpy(words, start, sizeof words);
    memcpy(mask, masks + 16 - length, sizeof mask);
    words[0] &= mask[0];
    words[1] &= mask[1];
    uint64_t mixed = (words[0] ^ words[1] * 0xC2B2AE3D27D4EB4Fu) * 0x9E3779B97F4A7C15u;
    memo *found = (memo *)lx->lang->kept->recent + (mixed >> (64 - MEMO_BITS));
    if (found->words[0] != words[0] || found->words[1] != words[1]) {
        const dm_lang_name *name = dm_lang_intern_padded(lx->lang, start, length);
        *found = (memo){{words[0], words[1]},
                        name->text,
                        name->number,
                        name->token != 0 ? name->token : (uint8_t)DM_TOK_NAME};
    }
    return found;
}

void dm_lex_plain(lexer *lx)
{
    static const int16_t nesting[256] = {['('] = 1, ['['] = 1, [')'] = -1, [']'] = -1};
    const char *at = lx->at;
    int depth = lx->depth;
    bool more = true;
    if (lx->lang->kept->recent == NULL)
        lx->lang->kept->recent = dm_lang_keep(lx->lang, sizeof(memo) << MEMO_BITS);
    while (more) {
        const char *text = at;
        dm_scan scan = dm_scan_text(text);
        /* Later ones at the next turn: a name needs room for its end. */
        uint64_t begins = dm_scan_starts(scan) & ~(uint64_t)0 >> (DM_SCAN_BYTES - PLAIN_BYTES);
        more = begins != 0;
        if (lx->capacity - lx->count < PLAIN_BYTES)
            dm_lex_make_room(lx);
        dm_token *token = lx->tokens + lx->count;
        while (begins != 0) {
            unsigned from = (unsigned)__builtin_ctzll(begins);
            unsigned char c = (unsigned char)text[from];
            size_t length = dm_scan_name(scan, from);
            length += length == 0;
            at = text + from;
            token->is_format = false;
            token->pos = place(lx, at);
            begins &= begins - 1;
            if (plain_starts[c] != PLAIN_TOKEN) {
                const char *end =
                    plain_starts[c] == PLAIN_NOT ? NULL : dm_lex_short_number(at, token);
                more = end != NULL;
                if (!more)
                    break;
                at = end;
                token->end = place(lx, at);
                token++;
                if (at - text >= PLAIN_BYTES)
                    break;
                begins = begins >> (at - text) << (at - text);
                continue;
            }
            int by = nesting[c];
            bool another = (followed_by[c] & follows[(unsigned char)at[length]]) != 0;
            bool wrong = (by < 0) & (lx->brackets[depth] != (char)c);
            if (another | wrong | (length > PLAIN_MOST) | (depth == BRACKETS_MAX)) {
                more = false;
                break;
            }
            const memo *found = recall(lx, at, length);
            depth += by;
            /* Not where none is opened, but there it stays unseen. */
            lx->brackets[depth + (by <= 0)] = (char)(c == '(' ? ')' : ']');
            at += length;
            token->kind = found->kind;
            token->end = place(lx, at);
            token->name = found->name;
            token->number = found->number;
            token++;
        }
        lx->count = (int)(token - lx->tokens);
    }
    lx->at = at;
    lx->depth = depth;
}
