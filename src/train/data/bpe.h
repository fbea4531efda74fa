/* SPDX-License-Identifier: MIT */
/* bpe.h - GPT-2's byte-pair encoding.
 *
 * A text is cut into words as GPT-2's regular expression does,
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * and within a word the adjacent pair that is first in the list of merges is joined until none is
 * left. Tokens 0 .. 255 are bytes in GPT-2's order, 256 + i is the result of merge i, and the last
 * is <|endoftext|>, which no text encodes to. A byte that is not part of valid UTF-8 counts as a
 * character of its own that is neither letter, number nor space, so every sequence of bytes can be
 * encoded and decodes to itself.
 *
 * Encoding keeps a cache of words, so one dm_bpe serves one thread at a time. */
#ifndef DM_TRAIN_BPE_H
#define DM_TRAIN_BPE_H

#include "base/buffer.h"

typedef struct dm_bpe dm_bpe;

/* `merges`: the text of a vocab.bpe. A line whose parts are no tokens yet, or whose result is one
 * already, is refused; `name` is for the messages. */
dm_status dm_bpe_create(const char *merges, size_t size, const char *name, dm_bpe **out,
                        dm_error *err);
/* The files vocab.bpe and encoder.json in a folder; the second must say the same as the first. */
dm_status dm_bpe_load(const char *folder, dm_bpe **out, dm_error *err);
void dm_bpe_destroy(dm_bpe *bpe);

uint32_t dm_bpe_vocabulary(const dm_bpe *bpe); /* with <|endoftext|> */
uint16_t dm_bpe_end_of_text(const dm_bpe *bpe);

/* Append tokens (u16) to `tokens`. */
dm_status dm_bpe_encode(dm_bpe *bpe, const char *text, size_t size, dm_buffer *tokens,
                        dm_error *err);
/* Append bytes to `text`; DM_EINVAL for a token outside the vocabulary. */
dm_status dm_bpe_decode(const dm_bpe *bpe, const uint16_t *tokens, size_t count, dm_buffer *text,
                        dm_error *err);

/* Where the word that begins at `at` ends; apart, so that it can be tested. */
size_t dm_bpe_word_end(const char *text, size_t size, size_t at);

#endif
