/* SPDX-License-Identifier: MIT */
/* scan.h - classifies the next 64 bytes of a text: one bit mask per class.
 *
 * Token boundaries are unpredictable, so a loop over bytes would mispredict a branch at nearly every
 * one of them. The masks are computed without branches, and the lexer walks their set bits. */
#ifndef DM_LANG_SCAN_H
#define DM_LANG_SCAN_H

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define DM_SCAN_BYTES 64 /* that are read */

typedef struct dm_scan {
    uint64_t names;  /* letters, digits and '_' */
    uint64_t wide;   /* from 128 on: letters and signs beyond ASCII */
    uint64_t spaces; /* ' ' */
} dm_scan;

#ifdef __SSE2__
static inline dm_scan dm_scan_text(const char *text)
{
    dm_scan scan = {0};
    for (int i = 0; i < DM_SCAN_BYTES; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(text + i));
        __m128i letter = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
        __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        __m128i fits = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);
        fits = _mm_or_si128(fits, _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit));
        fits = _mm_or_si128(fits, _mm_cmpeq_epi8(x, _mm_set1_epi8('_')));
        scan.names |= (uint64_t)(unsigned)_mm_movemask_epi8(fits) << i;
        scan.wide |= (uint64_t)(unsigned)_mm_movemask_epi8(x) << i;
        __m128i space = _mm_cmpeq_epi8(x, _mm_set1_epi8(' '));
        scan.spaces |= (uint64_t)(unsigned)_mm_movemask_epi8(space) << i;
    }
    return scan;
}
#else
static inline dm_scan dm_scan_text(const char *text)
{
    dm_scan scan = {0};
    for (int i = 0; i < DM_SCAN_BYTES; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned letter = (c | 0x20u) - 'a', digit = c - (unsigned)'0';
        scan.names |= (uint64_t)(letter < 26 || digit < 10 || c == '_') << i;
        scan.wide |= (uint64_t)(c > 127) << i;
        scan.spaces |= (uint64_t)(c == ' ') << i;
    }
    return scan;
}
#endif

/* The bytes that something other than a space begins at: a name, or a byte that is no name's. */
static inline uint64_t dm_scan_starts(dm_scan scan)
{
    return ~scan.spaces & ~(scan.names & scan.names << 1);
}

/* Bytes of the name at `at`, 0 when there is none; below 64 - at unless it goes on beyond. */
static inline size_t dm_scan_name(dm_scan scan, unsigned at)
{
    uint64_t others = ~(scan.names >> at);
    return others == 0 ? DM_SCAN_BYTES : (size_t)__builtin_ctzll(others);
}

#endif
