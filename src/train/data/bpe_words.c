/* SPDX-License-Identifier: MIT */
/* bpe_words.c - where words end: GPT-2's regular expression, by hand. */
#include "train/data/bpe.h"

typedef enum class {
    OTHER,
    L, /* letter */
    N, /* number */
    S, /* white space */
} class;

typedef struct range {
    uint32_t first, last;
    class kind;
} range;

#define RANGE(first, last, kind) {first, last, kind},
static const range ranges[] = {
#include "train/data/unicode.def"
};
#undef RANGE
#define RANGE_COUNT (sizeof ranges / sizeof ranges[0])

static class class_of(uint32_t c)
{
    if (c < 128) {
        if ((c | 32) >= 'a' && (c | 32) <= 'z')
            return L;
        if (c >= '0' && c <= '9')
            return N;
        return c == ' ' || (c >= 9 && c <= 13) ? S : OTHER;
    }
    size_t low = 0, high = RANGE_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < RANGE_COUNT && c >= ranges[low].first ? ranges[low].kind : OTHER;
}

/* The class of the character at `at` (below size) and its length in bytes. */
static class next(const unsigned char *text, size_t size, size_t at, size_t *length)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = text[at];
    *length = 1;
    if (first < 0x80)
        return class_of(first);
    size_t bytes = first >= 0xF8   ? 0
                   : first >= 0xF0 ? 4
                   : first >= 0xE0 ? 3
                   : first >= 0xC0 ? 2
                                   : 0;
    if (bytes == 0 || bytes > size - at)
        return OTHER;
    uint32_t c = first & (0x7Fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((text[at + i] & 0xC0) != 0x80)
            return OTHER;
        c = c << 6 | (text[at + i] & 0x3F);
    }
    if (c < least[bytes] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return OTHER;
    *length = bytes;
    return class_of(c);
}

/* 's 't 're 've 'm 'll 'd: the end of the contraction at an apostrophe, or 0. */
static size_t contraction(const unsigned char *text, size_t size, size_t at)
{
    unsigned char a = at + 1 < size ? text[at + 1] : 0, b = at + 2 < size ? text[at + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l'))
        return at + 3;
    return 0;
}

size_t dm_bpe_word_end(const char *bytes, size_t size, size_t at)
{
    const unsigned char *text = (const unsigned char *)bytes;
    size_t length, end;
    if (text[at] == '\'' && (end = contraction(text, size, at)) != 0)
        return end;
    /* One space belongs to what follows it, unless that is space too. */
    size_t begin = text[at] == ' ' && at + 1 < size ? at + 1 : at;
    class kind = next(text, size, begin, &length);
    if (kind == S && begin != at)
        kind = next(text, size, begin = at, &length);
    size_t last = begin; /* where the last character of the run begins */
    for (end = begin + length; end < size && next(text, size, end, &length) == kind; end += length)
        last = end;
    /* Spaces before something else leave their last one to it. */
    if (kind == S && end < size && last > at)
        end = last;
    return end;
}
