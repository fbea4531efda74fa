/* SPDX-License-Identifier: MIT */
/* lex.h - the lexer, shared by its two files: lex_plain.c scans the tokens that nearly all text consists
 * of, lex.c all others. There is no other scanner of the dialect. */
#ifndef DM_LANG_LEX_H
#define DM_LANG_LEX_H

#include "lang/front/scan.h"
#include "lang/front/token.h"

#define INDENTS_MAX 200
#define BRACKETS_MAX 1000

typedef struct lexer {
    dm_lang *lang;
    const dm_lang_source *source;
    const char *text; /* a copy of the source, with zeros behind it that may be read */
    const char *at, *end;
    dm_pos shift;     /* from the lower half of an address in the text to its place */
    dm_token *tokens; /* in the buffer of the compilation */
    int count, capacity;
    int indents[INDENTS_MAX];    /* columns of the open blocks, tabs to the next eighth column */
    int characters[INDENTS_MAX]; /* the same with a tab as one column */
    int indent_count;
    char brackets[BRACKETS_MAX + 2]; /* the closing ones that are awaited, from 1 on */
    int depth;
} lexer;

#define COPY_PADDING (DM_SCAN_BYTES + DM_NAME_PADDING)

/* Bytes of names; digits cannot start one. Bytes of UTF-8 are looked at more closely. */
enum { NAME = 1, DIGIT = 2, WIDE = 4 };
extern const uint8_t dm_lex_classes[256];

void dm_lex_make_room(lexer *lx); /* for more tokens */

static inline dm_pos place(const lexer *lx, const char *at)
{
    return lx->shift + (dm_pos)(uintptr_t)at;
}

static inline dm_token *add(lexer *lx, dm_token_kind kind, const char *start)
{
    if (lx->count == lx->capacity)
        dm_lex_make_room(lx);
    dm_token *token = &lx->tokens[lx->count++];
    token->kind = (uint8_t)kind;
    token->is_format = false;
    token->pos = place(lx, start);
    token->end = place(lx, lx->at);
    return token;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 12, 0.25: gives the token its kind and value. The number's end; NULL: it is another kind. */
const char *dm_lex_short_number(const char *start, dm_token *token);
/* Names, short numbers and operators of one byte, up to something else. */
void dm_lex_plain(lexer *lx);

#endif
