/* SPDX-License-Identifier: MIT */
/* token.c - names and spellings of the token kinds. */
#include "lang/front/token.h"

const char *dm_token_name(dm_token_kind kind)
{
    switch (kind) {
    case DM_TOK_END:
        return "the end of the file";
    case DM_TOK_NEWLINE:
        return "the end of the line";
    case DM_TOK_INDENT:
        return "an indented block";
    case DM_TOK_DEDENT:
        return "the end of a block";
    case DM_TOK_NAME:
        return "a name";
    case DM_TOK_INT:
    case DM_TOK_FLOAT:
        return "a number";
    case DM_TOK_STRING:
        return "a string";
#define X(name, spelling)                                                                          \
    case DM_TOK_##name:                                                                            \
        return "'" spelling "'";
        DM_TOKEN_OPERATORS(X)
        DM_TOKEN_KEYWORDS(X)
#undef X
    }
    return "?";
}

const char *dm_token_spelling(dm_token_kind kind)
{
    static const char *const spellings[] = {
#define X(name, spelling) [DM_TOK_##name] = spelling,
        DM_TOKEN_OPERATORS(X) DM_TOKEN_KEYWORDS(X)
#undef X
    };
    return spellings[kind] == NULL ? "?" : spellings[kind];
}
