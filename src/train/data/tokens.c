/* SPDX-License-Identifier: MIT */
/* tokens.c - see tokens.h. */
#include "train/data/tokens.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "DMTOKEN1"
#define HEADER 32
#define LLMC_MAGIC 20240520
#define LLMC_HEADER 1024

static uint64_t get(const char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return value;
}

static void put(dm_buffer *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        dm_buffer_putc(out, (char)(value >> (8 * i)));
}

void dm_tokens_deinit(dm_tokens *tokens)
{
    free(tokens->data);
    *tokens = (dm_tokens){0};
}

dm_status dm_tokens_save(const dm_tokens *tokens, const char *path, dm_error *err)
{
    dm_buffer file = DM_BUFFER_EMPTY;
    size_t size = tokens->count * sizeof(uint16_t);
    dm_buffer_puts(&file, MAGIC);
    put(&file, tokens->vocabulary, 4);
    put(&file, 0, 4);
    put(&file, tokens->count, 8);
    put(&file, dm_hash64(tokens->data, size), 8);
    dm_buffer_append(&file, tokens->data, size);
    dm_status status = dm_buffer_check(&file, err);
    if (status == DM_OK)
        status = dm_file_write(path, file.data, file.size, err);
    dm_buffer_deinit(&file);
    return status;
}

/* Take the tokens behind a header out of the file's bytes, after checking them. */
static dm_status take(const char *path, const char *bytes, size_t size, size_t header,
                      uint64_t count, uint32_t vocabulary, dm_tokens *out, dm_error *err)
{
    if (vocabulary == 0 || vocabulary > 65536)
        return dm_fail(err, DM_EFORMAT, "%s: a vocabulary of %" PRIu32 " at offset 8", path,
                       vocabulary);
    if (count == 0 || count > (SIZE_MAX - header) / 2 || size != header + 2 * count)
        return dm_fail(err, DM_EFORMAT,
                       "%s: %" PRIu64 " tokens by its header, %zu bytes after offset %zu", path,
                       count, size - header, header);
    uint16_t *data = malloc((size_t)count * 2);
    if (data == NULL)
        return dm_fail(err, DM_ENOMEM, "%s: out of memory for %" PRIu64 " tokens", path, count);
    memcpy(data, bytes + header, (size_t)count * 2);
    for (size_t i = 0; i < count; i++)
        if (data[i] >= vocabulary) {
            dm_status status =
                dm_fail(err, DM_EFORMAT, "%s: token %u at offset %zu; the vocabulary has %" PRIu32,
                        path, data[i], header + 2 * i, vocabulary);
            free(data);
            return status;
        }
    *out = (dm_tokens){data, (size_t)count, vocabulary};
    return DM_OK;
}

static dm_status read_ours(const char *path, const char *bytes, size_t size, dm_tokens *out,
                           dm_error *err)
{
    if (size < HEADER)
        return dm_fail(err, DM_EFORMAT, "%s: ends at offset %zu, within its header", path, size);
    if (get(bytes + 12, 4) != 0)
        return dm_fail(err, DM_EFORMAT, "%s: not zero at offset 12", path);
    dm_status status =
        take(path, bytes, size, HEADER, get(bytes + 16, 8), (uint32_t)get(bytes + 8, 4), out, err);
    if (status == DM_OK && dm_hash64(out->data, out->count * 2) != get(bytes + 24, 8)) {
        dm_tokens_deinit(out);
        status = dm_fail(err, DM_EFORMAT, "%s: damaged: the tokens' hash is not that at offset 24",
                         path);
    }
    return status;
}

static dm_status read_llmc(const char *path, const char *bytes, size_t size, dm_tokens *out,
                           dm_error *err)
{
    if (size < LLMC_HEADER)
        return dm_fail(err, DM_EFORMAT, "%s: ends at offset %zu, within its header", path, size);
    if (get(bytes + 4, 4) != 1)
        return dm_fail(err, DM_EFORMAT,
                       "%s: version %" PRIu64 " at offset 4; only version 1 (GPT-2) is read", path,
                       get(bytes + 4, 4));
    return take(path, bytes, size, LLMC_HEADER, get(bytes + 8, 4), DM_TOKENS_GPT2_VOCABULARY, out,
                err);
}

dm_status dm_tokens_load(const char *path, dm_tokens *out, dm_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, 0, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    if (size >= 8 && memcmp(bytes, MAGIC, 8) == 0)
        status = read_ours(path, bytes, size, out, err);
    else if (size >= 4 && get(bytes, 4) == LLMC_MAGIC)
        status = read_llmc(path, bytes, size, out, err);
    else
        status = dm_fail(err, DM_EFORMAT, "%s: not a token file: neither %s nor %d at offset 0",
                         path, MAGIC, LLMC_MAGIC);
    free(bytes);
    return status;
}

dm_status dm_tokens_from_text(const char *text, size_t size, dm_tokens *out, dm_alphabet *alphabet,
                              dm_error *err)
{
    uint16_t index[256] = {0};
    if (size == 0)
        return dm_fail(err, DM_EFORMAT, "the text is empty");
    for (size_t i = 0; i < size; i++)
        index[(unsigned char)text[i]] = 1;
    *alphabet = (dm_alphabet){0};
    for (int b = 0; b < 256; b++)
        if (index[b] != 0) {
            index[b] = (uint16_t)alphabet->count;
            alphabet->byte[alphabet->count++] = (uint8_t)b;
        }
    uint16_t *data = malloc(size * 2);
    if (data == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for %zu characters", size);
    for (size_t i = 0; i < size; i++)
        data[i] = index[(unsigned char)text[i]];
    *out = (dm_tokens){data, size, alphabet->count};
    return DM_OK;
}
