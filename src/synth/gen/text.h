/* SPDX-License-Identifier: MIT */
/* text.h - short texts that kernels are put together from: names, operators, types.
 *
 * A text knows its length and is copied as a whole, whatever its length, so that writing one takes
 * a few instructions and no calls. */
#ifndef DM_SYNTH_TEXT_H
#define DM_SYNTH_TEXT_H

#include "base/buffer.h"

#define DM_GEN_TEXT_MAX 31

typedef struct dm_gen_text {
    char bytes[DM_GEN_TEXT_MAX]; /* zeros behind its end */
    uint8_t length;
} dm_gen_text;

#define DM_GEN_TEXT(literal)                                                                       \
    {                                                                                              \
        literal, sizeof literal - 1                                                                \
    }

/* Append without a NUL behind; the caller adds it at the end. */
static inline void dm_gen_text_put(dm_buffer *out, const dm_gen_text *text)
{
    if (out->capacity - out->size < sizeof *text && !dm_buffer_reserve(out, sizeof *text))
        return;
    memcpy(out->data + out->size, text, sizeof *text); /* what is too much is written over */
    out->size += text->length;
}

#endif
