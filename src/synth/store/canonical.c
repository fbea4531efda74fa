/* SPDX-License-Identifier: MIT */
/* canonical.c - a kernel's text without names, constants, comments and spacing.
 *
 * One walk over the bytes. Lines keep their indentation as a count of columns, which delimits blocks;
 * everything inside of brackets counts as one line. The ends of words are unpredictable, so sixteen
 * bytes are classified at a time, on a copy of the text that can be read beyond its end. */
#include "synth/store/canonical.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NAMES_MAX 256 /* names beyond are written out: forms of such texts stay distinct */
#define WORDS_MAX 64  /* that are kept */
#define SLOTS 512     /* of the table: a power of two */
#define KEPT 0xFFFF   /* instead of a number: a word that means something by itself */

/* The first sixteen bytes of a name, zeros behind its end. */
typedef struct key {
    uint64_t low, high;
} key;
#define KEY_BYTES 16

typedef struct word {
    key key;
    const char *text; /* all of it */
    size_t length;
    uint16_t number; /* in the order of appearance, or KEPT */
} word;

/* Names that have come, and words that are kept. */
typedef struct names {
    int name_count, word_count;
    uint16_t table[SLOTS]; /* place in words + 1, by hash */
    word words[NAMES_MAX + WORDS_MAX];
} names;

/* A byte of text becomes three of the form at most: a short name does. */
#define GROWTH 3
#define ROOM 32 /* that is written beyond the form, and read beyond the text */

enum { SIGN, LETTER, DIGIT, SPACE, NEWLINE, DOT, COMMENT, QUOTE };

static int class_of(char c)
{
    static const uint8_t classes[256] = {['\n'] = NEWLINE,
                                         [' '] = SPACE,
                                         ['\t'] = SPACE,
                                         ['\r'] = SPACE,
                                         ['\\'] = SPACE,
                                         ['0' ... '9'] = DIGIT,
                                         ['a' ... 'z'] = LETTER,
                                         ['A' ... 'Z'] = LETTER,
                                         ['_'] = LETTER,
                                         [128 ... 255] = LETTER,
                                         ['.'] = DOT,
                                         ['#'] = COMMENT,
                                         ['"'] = QUOTE,
                                         ['\''] = QUOTE};
    return classes[(unsigned char)c];
}

static bool is_letter(char c)
{
    return class_of(c) == LETTER;
}

static bool is_digit(char c)
{
    return class_of(c) == DIGIT;
}

/* ---- Names ---- */

/* How many of the next sixteen bytes are letters and digits, before the first that is not. */
#ifdef __SSE2__
static size_t name_bytes(const char *at)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i letter = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    __m128i fits = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);
    fits = _mm_or_si128(fits, _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit));
    fits = _mm_or_si128(fits, _mm_cmpeq_epi8(x, _mm_set1_epi8('_')));
    unsigned bits = (unsigned)_mm_movemask_epi8(_mm_or_si128(fits, x)); /* from 128 on letters */
    return (size_t)__builtin_ctz(~bits);
}
#else
static size_t name_bytes(const char *at)
{
    size_t count = 0;
    while (count < KEY_BYTES && (is_letter(at[count]) || is_digit(at[count])))
        count++;
    return count;
}
#endif

static uint64_t load_little(const char *at)
{
    uint64_t x;
    memcpy(&x, at, 8);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? x : __builtin_bswap64(x);
}

static key key_of(const char *at, size_t length)
{
    key k = {load_little(at), load_little(at + 8)};
    if (length < 8)
        k = (key){k.low & (((uint64_t)1 << (8 * length)) - 1), 0};
    else if (length < KEY_BYTES)
        k.high &= ((uint64_t)1 << (8 * (length - 8))) - 1;
    return k;
}

static bool is_one_of(const char *name, const char *words, size_t length)
{
    for (; *words != '\0'; words += length)
        if (*name == *words && memcmp(name, words, length) == 0)
            return true;
    return false;
}

/* Words that mean something by themselves, by their length. */
static bool is_kept(const char *name, size_t length)
{
    static const char *const words[] = {
        [2] = "ifinorasiswp",
        [3] = "defforandnotintlenabsminmax",
        [4] = "elifelsefromboolpassndim",
        [5] = "classwhilebreakrangefloatprintrounddtypeshape",
        [6] = "returnimportassertlength",
        [8] = "continue",
    };
    return length < sizeof words / sizeof words[0] && words[length] != NULL &&
           is_one_of(name, words[length], length);
}

/* The number of a name, in the order of appearance; KEPT when it has none. */
static int number_of(names *n, const char *name, size_t length, key k)
{
    uint64_t hash = (k.low ^ k.high * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    for (uint64_t slot = hash >> 55;; slot = (slot + 1) % SLOTS) {
        if (n->table[slot] == 0) {
            bool kept = is_kept(name, length);
            if (!kept && (n->name_count == NAMES_MAX || length > UINT16_MAX))
                return KEPT;
            n->words[n->word_count++] =
                (word){k, name, length, (uint16_t)(kept ? KEPT : n->name_count++)};
            n->table[slot] = (uint16_t)n->word_count;
            return n->words[n->word_count - 1].number;
        }
        const word *there = &n->words[n->table[slot] - 1];
        if (there->key.low == k.low && there->key.high == k.high &&
            (length < KEY_BYTES ||
             (there->length == length && memcmp(there->text, name, length) == 0)))
            return there->number;
    }
}

static void store_little(char *to, uint64_t x)
{
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        x = __builtin_bswap64(x);
    memcpy(to, &x, 8);
}

/* A name's end. */
static const char *skip_name(const char *at, const char *end)
{
    size_t length = name_bytes(at);
    if (length == KEY_BYTES)
        while (at + length < end && (is_letter(at[length]) || is_digit(at[length])))
            length++;
    return at + length;
}

/* As it is, sixteen bytes at least: what is too much is written over. */
static char *put_plain(char *to, const char *text, size_t length)
{
    memcpy(to, text, KEY_BYTES);
    if (length > KEY_BYTES)
        memcpy(to, text, length);
    return to + length;
}

/* Put a space between a word and a letter before it. Without a branch, since it is unpredictable. */
static char *put_gap(char *to, bool is_word, char last)
{
    *to = ' ';
    return to + (is_word & is_letter(last));
}

/* Write a name: a sign that no text has and two that make its number, or, if `kept`, the name as it
 * is. `last` is the last byte that was written, before and after, since reading it again would
 * wait for it. */
static char *put_name(names *n, char *to, const char *name, size_t length, bool kept, char *last)
{
    key k = key_of(name, length);
    int number = kept ? KEPT : number_of(n, name, length, k);
    kept = number == KEPT;
    uint64_t sign =
        '$' | (uint64_t)(0x40 + number / 64) << 8 | (uint64_t)(0x40 + number % 64) << 16;
    to = put_gap(to, kept, *last);
    *last = (char)(kept ? name[length - 1] : 0x40 + number % 64);
    store_little(to, kept ? k.low : sign);
    store_little(to + 8, k.high);
    if (kept && length > KEY_BYTES)
        memcpy(to, name, length);
    return to + (kept ? length : 3);
}

/* wp.something, the commonest of all. */
static bool is_builtin(const char *at)
{
    return memcmp(at, "wp.", 3) == 0 && at[3] >= 'a' && at[3] <= 'z';
}

/* Is it the sign of a constant? */
static bool is_truth(const char *name, size_t length)
{
    return (length == 4 && memcmp(name, "True", 4) == 0) ||
           (length == 5 && memcmp(name, "False", 5) == 0);
}

/* ---- Everything else ---- */

static const char *skip_literal(const char *at, const char *end)
{
    for (; at < end; at++) {
        bool exponent = (*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E');
        if (!is_letter(*at) && !is_digit(*at) && *at != '.' && !exponent)
            break;
    }
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    char quote = *at;
    bool triple = end - at >= 3 && at[1] == quote && at[2] == quote;
    at += triple ? 3 : 1;
    while (at < end) {
        if (*at == '\\' && end - at > 1) {
            at += 2;
            continue;
        }
        if (*at == quote && (!triple || (end - at >= 3 && at[1] == quote && at[2] == quote)))
            return at + (triple ? 3 : 1);
        at++;
    }
    return at;
}

static const char *skip_comment(const char *at, const char *end)
{
    while (at < end && *at != '\n')
        at++;
    return at;
}

static const char *skip_indentation(const char *at)
{
    while (load_little(at) == 0x2020202020202020u)
        at += 8;
    if (memcmp(at, "    ", 4) == 0)
        at += 4;
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Does a line that begins like this say anything? A docstring does not. */
static bool is_said(const char *at, const char *end)
{
    return at < end && class_of(*at) != NEWLINE && *at != '\r' && class_of(*at) != COMMENT &&
           class_of(*at) != QUOTE;
}

/* The form of a text that ROOM bytes can be read behind, from `to` on; returns its end. */
static char *walk(names *n, const char *at, const char *end, char *to)
{
    static const int nesting[128] = {
        ['('] = 1, ['['] = 1, ['{'] = 1, [')'] = -1, [']'] = -1, ['}'] = -1};
    int brackets = 0;
    bool line_begun = false; /* something of this line was written */
    char last = '\0';        /* that was written */
    bool module = false;     /* a name that ends with wp was written, and perhaps a dot */
    while (at < end) {
        if (!line_begun && brackets <= 0) {
            const char *first = skip_indentation(at);
            size_t columns = (size_t)(first - at);
            line_begun = is_said(first, end);
            at = first;
            if (line_begun) {
                *to++ = '\n';
                *to = (char)(columns < 100 ? columns : 100);
                to += columns > 0;
                last = to[-1];
            } else if (at == end) {
                break;
            }
        }
        switch (class_of(*at)) {
        case NEWLINE:
            at++;
            line_begun &= brackets > 0;
            continue;
        case SPACE:
            at++;
            break;
        case LETTER: {
            const char *name = at;
            if (is_builtin(name)) {
                at = skip_name(name + 3, end);
                to = put_plain(put_gap(to, true, last), name, 3);
                to = put_plain(to, name + 3, (size_t)(at - (name + 3)));
                last = at[-1];
            } else {
                at = skip_name(name, end);
                size_t length = (size_t)(at - name);
                bool component = length == 1 && *name >= 'w' && *name <= 'z'; /* v.x */
                if (is_truth(name, length))
                    *to++ = last = '#';
                else
                    to = put_name(n, to, name, length, last == '.' && (component || module), &last);
            }
            module = last == 'p' && at[-1] == 'p' && at - name >= 2 && at[-2] == 'w';
            break;
        }
        case COMMENT:
            at = skip_comment(at, end);
            break;
        case QUOTE: /* a docstring vanishes */
            at = skip_string(at, end);
            if (line_begun)
                *to++ = last = '#';
            break;
        case DOT:
            if (!is_digit(at[1])) {
                module &= last == 'p';
                *to++ = last = *at++;
                break;
            }
            /* fall through */
        case DIGIT:
            at = skip_literal(at, end);
            *to++ = last = '#';
            break;
        default: {
            int by = nesting[*at & 127];
            brackets += by;
            to -= (by < 0) & (last == ','); /* a last comma says nothing */
            *to++ = last = *at++;
        }
        }
        if (*at == ' ' && line_begun) /* behind most tokens */
            at++;
    }
    return to;
}

void dm_synth_canonical_form(const char *text, size_t size, dm_buffer *out)
{
    size_t longest = GROWTH * size + ROOM;
    if (size > SIZE_MAX / 8 || !dm_buffer_reserve(out, longest + size + ROOM))
        return;
    char *start = out->data + out->size, *copy = start + longest;
    names n;
    n.name_count = n.word_count = 0;
    memset(n.table, 0, sizeof n.table);
    memcpy(copy, text, size);
    memset(copy + size, 0, ROOM);
    char *end = walk(&n, copy, copy + size, start);
    out->size += (size_t)(end - start);
    out->data[out->size] = '\0';
}

dm_hash128 dm_synth_canonical_hash(const char *text, size_t size, dm_buffer *scratch)
{
    dm_buffer_clear(scratch);
    dm_synth_canonical_form(text, size, scratch);
    return dm_hash128_of(dm_buffer_text(scratch), scratch->size);
}
