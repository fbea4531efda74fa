/* SPDX-License-Identifier: MIT */
/* paint.c - programs in colour; see paint.h. */
#include "synth/audit/paint.h"

#include <ctype.h>
#include <string.h>

const char *const dm_paint_codes[DM_PAINT_COUNT] = {"\033[0m", "\033[34m", "\033[36m", "\033[33m",
                                                    "\033[32m"};

static int is_keyword(const char *word, size_t length)
{
    static const char *const words[] = {
        "def",    "class",   "return",   "if",    "elif",   "else",     "for",        "while",
        "in",     "range",   "break",    "and",   "or",     "not",      "import",     "as",
        "static", "const",   "int",      "float", "double", "void",     "struct",     "inline",
        "extern", "typedef", "continue", "char",  "long",   "unsigned", "__device__", "__global__",
        "True",   "False",   "None",     "lambda"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
            return 1;
    return 0;
}

/* The end of what begins with a quote. */
static size_t end_of_string(const char *text, size_t size, size_t at)
{
    char quote = text[at];
    size_t width = at + 2 < size && text[at + 1] == quote && text[at + 2] == quote ? 3 : 1;
    for (size_t i = at + width; i + width <= size; i++) {
        if (text[i] == '\\')
            i++;
        else if (width == 1 && text[i] == '\n')
            return i;
        else if (text[i] == quote && (width == 1 || (text[i + 1] == quote && text[i + 2] == quote)))
            return i + width;
    }
    return size;
}

static size_t end_of_comment(const char *text, size_t size, size_t at)
{
    size_t i = at + 1;
    if (text[at] == '/' && at + 1 < size && text[at + 1] == '*') {
        while (i < size && !(text[i - 1] == '*' && text[i] == '/' && i > at + 2))
            i++;
        return i < size ? i + 1 : size;
    }
    while (i < size && text[i] != '\n')
        i++;
    return i;
}

void dm_paint(const char *text, size_t size, int is_python, uint8_t *out)
{
    for (size_t at = 0, end; at < size; at = end) {
        int paint = DM_PAINT_PLAIN;
        unsigned char c = (unsigned char)text[at];
        end = at + 1;
        if ((is_python && c == '#') ||
            (!is_python && c == '/' && end < size && (text[end] == '/' || text[end] == '*'))) {
            paint = DM_PAINT_COMMENT;
            end = end_of_comment(text, size, at);
        } else if (c == '"' || (is_python && c == '\'')) {
            paint = DM_PAINT_STRING;
            end = end_of_string(text, size, at);
        } else if (isdigit(c)) {
            paint = DM_PAINT_NUMBER;
            while (end < size && (isalnum((unsigned char)text[end]) || text[end] == '.'))
                end++;
        } else if (isalpha(c) || c == '_') {
            while (end < size && (isalnum((unsigned char)text[end]) || text[end] == '_'))
                end++;
            paint = is_keyword(text + at, end - at) ? DM_PAINT_KEYWORD : DM_PAINT_PLAIN;
        }
        memset(out + at, paint, end - at);
    }
}
