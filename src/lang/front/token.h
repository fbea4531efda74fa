/* SPDX-License-Identifier: MIT */
/* token.h - tokens: the output of the lexer (lex.h), the input of the parser (parse.h). */
#ifndef DM_LANG_TOKEN_H
#define DM_LANG_TOKEN_H

#include "lang/lang.h"

/* Operators and keywords have a row each: TOKEN(name, spelling). */
/* clang-format off */
#define DM_TOKEN_OPERATORS(X) \
    X(LPAREN, "(") X(RPAREN, ")") X(LBRACKET, "[") X(RBRACKET, "]") X(LBRACE, "{") \
    X(RBRACE, "}") X(COMMA, ",") X(COLON, ":") X(SEMICOLON, ";") X(DOT, ".") \
    X(ELLIPSIS, "...") X(ARROW, "->") X(PLUS, "+") X(MINUS, "-") X(STAR, "*") X(SLASH, "/") \
    X(DOUBLESLASH, "//") X(PERCENT, "%") X(DOUBLESTAR, "**") X(AT, "@") X(AMPERSAND, "&") \
    X(PIPE, "|") X(CARET, "^") X(TILDE, "~") X(SHIFTLEFT, "<<") X(SHIFTRIGHT, ">>") \
    X(LESS, "<") X(GREATER, ">") X(LESSEQUAL, "<=") X(GREATEREQUAL, ">=") X(EQUAL, "==") \
    X(NOTEQUAL, "!=") X(ASSIGN, "=") X(PLUSASSIGN, "+=") X(MINUSASSIGN, "-=") \
    X(STARASSIGN, "*=") X(SLASHASSIGN, "/=") X(DOUBLESLASHASSIGN, "//=") \
    X(PERCENTASSIGN, "%=") X(DOUBLESTARASSIGN, "**=") X(ATASSIGN, "@=") \
    X(AMPERSANDASSIGN, "&=") X(PIPEASSIGN, "|=") X(CARETASSIGN, "^=") \
    X(SHIFTLEFTASSIGN, "<<=") X(SHIFTRIGHTASSIGN, ">>=") X(WALRUS, ":=") X(NOT_SIGN, "!")
#define DM_TOKEN_KEYWORDS(X) \
    X(AND, "and") X(AS, "as") X(ASSERT, "assert") X(ASYNC, "async") X(AWAIT, "await") \
    X(BREAK, "break") X(CLASS, "class") X(CONTINUE, "continue") X(DEF, "def") X(DEL, "del") \
    X(ELIF, "elif") X(ELSE, "else") X(EXCEPT, "except") X(FALSE, "False") \
    X(FINALLY, "finally") X(FOR, "for") X(FROM, "from") X(GLOBAL, "global") X(IF, "if") \
    X(IMPORT, "import") X(IN, "in") X(IS, "is") X(LAMBDA, "lambda") X(NONE, "None") \
    X(NONLOCAL, "nonlocal") X(NOT, "not") X(OR, "or") X(PASS, "pass") X(RAISE, "raise") \
    X(RETURN, "return") X(TRUE, "True") X(TRY, "try") X(WHILE, "while") X(WITH, "with") \
    X(YIELD, "yield")
/* clang-format on */

typedef enum dm_token_kind {
    DM_TOK_END,
    DM_TOK_NEWLINE,
    DM_TOK_INDENT,
    DM_TOK_DEDENT,
    DM_TOK_NAME,
    DM_TOK_INT,
    DM_TOK_FLOAT,
    DM_TOK_STRING,
#define X(name, spelling) DM_TOK_##name,
    DM_TOKEN_OPERATORS(X) DM_TOKEN_KEYWORDS(X)
#undef X
} dm_token_kind;

typedef struct dm_token {
    uint8_t kind;
    bool is_format; /* STRING: an f-string, whose value is not known */
    dm_pos pos, end;
    uint32_t number; /* NAME, keywords and operators: of the interned name that is their text */
    union {
        const char *name; /* NAME, interned; STRING, its unescaped text */
        uint64_t integer; /* INT */
        double real;      /* FLOAT */
    };
} dm_token;

/* The tokens of a source, ended by END; what is not a token is reported and left out. */
dm_token *dm_lang_lex(dm_lang *lang, const dm_lang_source *source, int *count);
/* "'+='", "a name", "the end of the line": for messages. */
const char *dm_token_name(dm_token_kind kind);
const char *dm_token_spelling(dm_token_kind kind); /* of operators and keywords */

#endif
