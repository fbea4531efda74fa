/* SPDX-License-Identifier: MIT */
/* closest.c - see closest.h. */
#include "base/closest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define WORD_MAX 64 /* longer words get no suggestion */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edits (insert, delete, replace, swap of neighbours) between two words shorter than WORD_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    size_t length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        last[j] = j;
    for (size_t i = 1; a[i - 1] != 0; i++) {
        now[0] = i;
        for (size_t j = 1; j <= length; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[length];
}

const char *dm_closest(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    if (length < 2 || length >= WORD_MAX)
        return NULL;
    const char *best = NULL;
    size_t best_distance = 1 + length / 3; /* two typing errors in a word of six */
    for (; *candidates != NULL; candidates++) {
        if (strlen(*candidates) >= WORD_MAX)
            continue;
        size_t distance = edit_distance(word, *candidates);
        if (strncmp(word, *candidates, length) == 0)
            distance = 1; /* cut short */
        /* Of words as far away, one whose letters were all typed: sin, not sign, for sinn. */
        bool typed_whole = strncmp(word, *candidates, strlen(*candidates)) == 0;
        if (distance < best_distance ||
            (distance == best_distance && (best == NULL || typed_whole))) {
            best = *candidates;
            best_distance = distance;
        }
    }
    return best;
}
