/* SPDX-License-Identifier: MIT */
/* tokens.h - sequences of tokens: our token files, llm.c's, and text as characters.
 *
 * Ours, little endian: "DMTOKEN1", u32 vocabulary, u32 zero, u64 count, u64 XXH3 of the tokens,
 * then count u16. llm.c's: 256 i32, of which the first three are 20240520, 1 and the count, then
 * count u16; its vocabulary is GPT-2's. Files must be exactly as long as they say, and every token
 * must be below the vocabulary. */
#ifndef DM_TRAIN_TOKENS_H
#define DM_TRAIN_TOKENS_H

#include <dotmatrix/base.h>

#define DM_TOKENS_GPT2_VOCABULARY 50257

typedef struct dm_tokens {
    uint16_t *data;
    size_t count;
    uint32_t vocabulary;
} dm_tokens;

void dm_tokens_deinit(dm_tokens *tokens);
dm_status dm_tokens_save(const dm_tokens *tokens, const char *path, dm_error *err);
/* Either format, told apart by its first bytes. */
dm_status dm_tokens_load(const char *path, dm_tokens *out, dm_error *err);

/* The bytes that a text uses, in rising order; token i is byte[i]. */
typedef struct dm_alphabet {
    uint32_t count;
    uint8_t byte[256];
} dm_alphabet;

/* A text as the indices of its bytes. */
dm_status dm_tokens_from_text(const char *text, size_t size, dm_tokens *out, dm_alphabet *alphabet,
                              dm_error *err);

#endif
