/* SPDX-License-Identifier: MIT */
/* paint.h - which characters of a program are keywords, numbers, strings and comments, for showing it in
 * colour. Python and C, told apart by their comments. */
#ifndef DM_SYNTH_PAINT_H
#define DM_SYNTH_PAINT_H

#include <stddef.h>
#include <stdint.h>

enum {
    DM_PAINT_PLAIN,
    DM_PAINT_KEYWORD,
    DM_PAINT_NUMBER,
    DM_PAINT_STRING,
    DM_PAINT_COMMENT,
    DM_PAINT_COUNT
};
/* The escape sequence that starts this colour in a terminal. */
extern const char *const dm_paint_codes[DM_PAINT_COUNT];

/* One value for each byte of the text. */
void dm_paint(const char *text, size_t size, int is_python, uint8_t *out);

#endif
