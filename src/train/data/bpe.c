/* SPDX-License-Identifier: MIT */
/* bpe.c - see bpe.h.
 *
 * Two open-addressed tables: pairs of tokens to the merged token, and words to their tokens. A word
 * that is not in the cache is a linked list of tokens with a heap of the merges that are possible:
 * O(n log n) for a word of n bytes, however long. */
#include "train/data/bpe.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdlib.h>

#define TOKENS_MAX 65535
#define CACHE_SLOTS (1u << 16)
#define CACHE_WORD_MAX 48 /* bytes; longer ones are rare */
#define NONE UINT32_MAX

typedef struct cached {
    uint8_t size;  /* of the word; 0: free */
    uint8_t count; /* of its tokens */
    char word[CACHE_WORD_MAX];
    uint16_t tokens[CACHE_WORD_MAX];
} cached;

typedef struct node {
    uint32_t token, previous, next; /* NONE: no neighbour; token NONE: joined to the one before */
} node;

typedef struct candidate {
    uint32_t merged; /* lower is earlier in the list of merges */
    uint32_t at;     /* the left node */
    uint32_t left, right;
} candidate;

struct dm_bpe {
    uint32_t count;   /* tokens without <|endoftext|> */
    dm_buffer bytes;  /* of all tokens, one after the other */
    uint32_t *offset; /* count + 1 */
    uint64_t *pairs;  /* left << 32 | right << 16 | merged, +1 so that 0 is free */
    uint32_t pair_mask;
    uint32_t *words; /* hash table: bytes to token + 1, used while loading */
    uint16_t byte_token[256];
    cached *cache;
    node *nodes;
    candidate *heap;
    size_t node_capacity, heap_count;
};

/* ---- Tables ---- */

static uint32_t pair_slot(const dm_bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << 16 | right;
    return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & bpe->pair_mask;
}

/* The token that a pair merges to, or NONE. */
static uint32_t pair_find(const dm_bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << 32 | (uint64_t)right << 16;
    for (uint32_t s = pair_slot(bpe, left, right); bpe->pairs[s] != 0; s = (s + 1) & bpe->pair_mask)
        if (((bpe->pairs[s] - 1) & ~UINT64_C(0xFFFF)) == key)
            return (uint32_t)(bpe->pairs[s] - 1) & 0xFFFF;
    return NONE;
}

static void pair_put(dm_bpe *bpe, uint32_t left, uint32_t right, uint32_t merged)
{
    uint32_t s = pair_slot(bpe, left, right);
    while (bpe->pairs[s] != 0)
        s = (s + 1) & bpe->pair_mask;
    bpe->pairs[s] = ((uint64_t)left << 32 | (uint64_t)right << 16 | merged) + 1;
}

/* The slot that holds a token with these bytes, or the free one where it would be. */
static uint32_t *word_slot(dm_bpe *bpe, const char *bytes, size_t size)
{
    uint32_t s = (uint32_t)dm_hash64(bytes, size) & bpe->pair_mask;
    for (; bpe->words[s] != 0; s = (s + 1) & bpe->pair_mask) {
        uint32_t token = bpe->words[s] - 1;
        if (bpe->offset[token + 1] - bpe->offset[token] == size &&
            memcmp(bpe->bytes.data + bpe->offset[token], bytes, size) == 0)
            break;
    }
    return &bpe->words[s];
}

/* The token goes to the free slot of its bytes; false when they are a token already. */
static bool token_add(dm_bpe *bpe, const char *bytes, size_t size)
{
    uint32_t *slot = word_slot(bpe, bytes, size);
    if (*slot != 0)
        return false;
    dm_buffer_append(&bpe->bytes, bytes, size);
    *slot = ++bpe->count;
    bpe->offset[bpe->count] = (uint32_t)bpe->bytes.size;
    return true;
}

/* ---- Loading ---- */

/* GPT-2 writes bytes as printable characters: 33-126, 161-172 and 174-255 as themselves, the others
 * in rising order as U+0100 and up. Token i is the i-th byte in the order of that list. */
static void add_bytes(dm_bpe *bpe)
{
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < 256; b++) {
            bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            if (plain == (pass == 0)) {
                char byte = (char)b;
                bpe->byte_token[b] = (uint16_t)bpe->count;
                token_add(bpe, &byte, 1);
            }
        }
}

/* A printable form back to bytes; false when a character is not one of the 256. */
static bool unprint(const dm_bpe *bpe, const char *text, size_t size, dm_buffer *out)
{
    dm_buffer_clear(out);
    for (size_t i = 0; i < size; i++) {
        unsigned char a = (unsigned char)text[i];
        uint32_t c = a;
        if (a >= 0xC2 && a <= 0xC5 && i + 1 < size) /* two bytes reach U+017F */
            c = (uint32_t)(a & 0x1F) << 6 | ((unsigned char)text[++i] & 0x3F);
        else if (a >= 0x80)
            return false;
        bool plain = (c >= 33 && c <= 126) || (c >= 161 && c <= 172) || (c >= 174 && c <= 255);
        if (!plain && (c < 256 || c >= 256 + 68))
            return false;
        dm_buffer_putc(out, plain ? (char)c : bpe->bytes.data[188 + (c - 256)]);
    }
    return size > 0;
}

/* The token of a printable form, or NONE. */
static uint32_t token_of(dm_bpe *bpe, const char *text, size_t size, dm_buffer *scratch)
{
    if (!unprint(bpe, text, size, scratch))
        return NONE;
    return *word_slot(bpe, scratch->data, scratch->size) - 1; /* 0 - 1 is NONE */
}

static dm_status add_merge(dm_bpe *bpe, const char *line, const char *end, const char *name,
                           int number, dm_buffer *scratch, dm_error *err)
{
    const char *space = memchr(line, ' ', (size_t)(end - line));
    if (space == NULL)
        return dm_fail_at(err, DM_EFORMAT, name, number, "no two tokens");
    uint32_t left = token_of(bpe, line, (size_t)(space - line), scratch);
    uint32_t right = token_of(bpe, space + 1, (size_t)(end - space - 1), scratch);
    if (left == NONE || right == NONE)
        return dm_fail_at(err, DM_EFORMAT, name, number, "its %s part is no token at this place",
                          left == NONE ? "first" : "second");
    if (bpe->count >= TOKENS_MAX)
        return dm_fail_at(err, DM_EFORMAT, name, number, "more than %d tokens", TOKENS_MAX);
    dm_buffer_clear(scratch);
    dm_buffer_append(scratch, bpe->bytes.data + bpe->offset[left],
                     bpe->offset[left + 1] - bpe->offset[left]);
    dm_buffer_append(scratch, bpe->bytes.data + bpe->offset[right],
                     bpe->offset[right + 1] - bpe->offset[right]);
    uint32_t merged = bpe->count;
    if (!token_add(bpe, scratch->data, scratch->size))
        return dm_fail_at(err, DM_EFORMAT, name, number, "it makes a token that exists already");
    pair_put(bpe, left, right, merged);
    return DM_OK;
}

static dm_status add_merges(dm_bpe *bpe, const char *text, size_t size, const char *name,
                            dm_error *err)
{
    dm_buffer scratch = DM_BUFFER_EMPTY;
    dm_status status = DM_OK;
    int number = 0;
    for (const char *at = text, *stop = text + size; at < stop && status == DM_OK;) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        const char *next = end != NULL ? end + 1 : stop;
        end = end != NULL ? end : stop;
        number++;
        if (end > at && !(number == 1 && strncmp(at, "#version", 8) == 0))
            status = add_merge(bpe, at, end, name, number, &scratch, err);
        at = next;
    }
    dm_buffer_deinit(&scratch);
    return status == DM_OK ? dm_buffer_check(&bpe->bytes, err) : status;
}

dm_status dm_bpe_create(const char *merges, size_t size, const char *name, dm_bpe **out,
                        dm_error *err)
{
    size_t lines = 257;
    for (size_t i = 0; i < size; i++)
        lines += merges[i] == '\n';
    if (lines > TOKENS_MAX + 2)
        return dm_fail(err, DM_EFORMAT, "%s: %zu merges; 16-bit tokens allow %d", name, lines - 257,
                       TOKENS_MAX - 256);
    dm_bpe *bpe = calloc(1, sizeof *bpe);
    if (bpe == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    size_t slots = 1024;
    while (slots < lines * 3)
        slots *= 2;
    bpe->pair_mask = (uint32_t)slots - 1;
    bpe->offset = calloc(lines + 2, sizeof *bpe->offset);
    bpe->pairs = calloc(slots, sizeof *bpe->pairs);
    bpe->words = calloc(slots, sizeof *bpe->words);
    bpe->cache = calloc(CACHE_SLOTS, sizeof *bpe->cache);
    dm_status status = DM_OK;
    if (!bpe->offset || !bpe->pairs || !bpe->words || !bpe->cache) {
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    } else {
        add_bytes(bpe);
        status = add_merges(bpe, merges, size, name, err);
    }
    if (status == DM_OK)
        *out = bpe;
    else
        dm_bpe_destroy(bpe);
    return status;
}

void dm_bpe_destroy(dm_bpe *bpe)
{
    if (bpe == NULL)
        return;
    dm_buffer_deinit(&bpe->bytes);
    free(bpe->offset);
    free(bpe->pairs);
    free(bpe->words);
    free(bpe->cache);
    free(bpe->nodes);
    free(bpe->heap);
    free(bpe);
}

static dm_status check_encoder(dm_bpe *bpe, const json_t *encoder, const char *path, dm_error *err)
{
    dm_buffer scratch = DM_BUFFER_EMPTY;
    dm_status status = DM_OK;
    const char *key;
    json_t *value;
    if (json_object_size(encoder) != (size_t)bpe->count + 1)
        status = dm_fail(err, DM_EFORMAT, "%s: %zu tokens, where the merges make %u", path,
                         json_object_size(encoder), bpe->count + 1);
    json_object_foreach((json_t *)encoder, key, value)
    {
        if (status != DM_OK)
            break;
        uint32_t token = strcmp(key, "<|endoftext|>") == 0
                             ? bpe->count
                             : token_of(bpe, key, strlen(key), &scratch);
        if (token == NONE || !json_is_integer(value) || json_integer_value(value) != token)
            status =
                dm_fail(err, DM_EFORMAT, "%s: token '%s' is not as the merges make it", path, key);
    }
    dm_buffer_deinit(&scratch);
    return status;
}

dm_status dm_bpe_load(const char *folder, dm_bpe **out, dm_error *err)
{
    char merges[DM_PATH_MAX], encoder[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    json_t *json = NULL;
    dm_bpe *bpe = NULL;
    dm_status status = dm_path_join(merges, folder, "vocab.bpe", err);
    if (status == DM_OK)
        status = dm_path_join(encoder, folder, "encoder.json", err);
    if (status == DM_OK)
        status = dm_file_read(merges, 16u << 20, &text, &size, err);
    if (status == DM_OK)
        status = dm_bpe_create(text, size, merges, &bpe, err);
    if (status == DM_OK)
        status = dm_json_load(encoder, &json, err);
    if (status == DM_OK)
        status = check_encoder(bpe, json, encoder, err);
    json_decref(json);
    free(text);
    if (status == DM_OK)
        *out = bpe;
    else
        dm_bpe_destroy(bpe);
    return status;
}

uint32_t dm_bpe_vocabulary(const dm_bpe *bpe)
{
    return bpe->count + 1;
}

uint16_t dm_bpe_end_of_text(const dm_bpe *bpe)
{
    return (uint16_t)bpe->count;
}

/* ---- Encoding ---- */

static bool before(const candidate *a, const candidate *b)
{
    return a->merged != b->merged ? a->merged < b->merged : a->at < b->at;
}

static void heap_push(dm_bpe *bpe, uint32_t at)
{
    const node *n = &bpe->nodes[at];
    if (n->next == NONE)
        return;
    uint32_t right = bpe->nodes[n->next].token, merged = pair_find(bpe, n->token, right);
    if (merged == NONE)
        return;
    candidate c = {merged, at, n->token, right};
    size_t i = bpe->heap_count++;
    for (; i > 0 && before(&c, &bpe->heap[(i - 1) / 2]); i = (i - 1) / 2)
        bpe->heap[i] = bpe->heap[(i - 1) / 2];
    bpe->heap[i] = c;
}

static candidate heap_pop(dm_bpe *bpe)
{
    candidate top = bpe->heap[0], last = bpe->heap[--bpe->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= bpe->heap_count)
            break;
        if (child + 1 < bpe->heap_count && before(&bpe->heap[child + 1], &bpe->heap[child]))
            child++;
        if (!before(&bpe->heap[child], &last))
            break;
        bpe->heap[i] = bpe->heap[child];
        i = child;
    }
    bpe->heap[i] = last;
    return top;
}

static bool make_room(dm_bpe *bpe, size_t size)
{
    if (size <= bpe->node_capacity)
        return true;
    size_t capacity = size < 256 ? 256 : 2 * size;
    node *nodes = realloc(bpe->nodes, capacity * sizeof *nodes);
    if (nodes != NULL)
        bpe->nodes = nodes;
    /* A pair at the start for every node, and two for every merge. */
    candidate *heap = realloc(bpe->heap, 3 * capacity * sizeof *heap);
    if (heap != NULL)
        bpe->heap = heap;
    if (nodes == NULL || heap == NULL)
        return false;
    bpe->node_capacity = capacity;
    return true;
}

/* Join what can be joined; node 0 stays the first. */
static void merge_word(dm_bpe *bpe, const char *word, uint32_t size)
{
    bpe->heap_count = 0;
    for (uint32_t i = 0; i < size; i++)
        bpe->nodes[i] = (node){bpe->byte_token[(unsigned char)word[i]], i > 0 ? i - 1 : NONE,
                               i + 1 < size ? i + 1 : NONE};
    for (uint32_t i = 0; i + 1 < size; i++)
        heap_push(bpe, i);
    while (bpe->heap_count > 0) {
        candidate c = heap_pop(bpe);
        node *left = &bpe->nodes[c.at];
        /* Entries of pairs that are no more are still in the heap. */
        if (left->token != c.left || left->next == NONE || bpe->nodes[left->next].token != c.right)
            continue;
        node *right = &bpe->nodes[left->next];
        left->token = c.merged;
        right->token = NONE;
        left->next = right->next;
        if (left->next != NONE)
            bpe->nodes[left->next].previous = c.at;
        heap_push(bpe, c.at);
        if (left->previous != NONE)
            heap_push(bpe, left->previous);
    }
}

static bool encode_word(dm_bpe *bpe, const char *word, size_t size, dm_buffer *tokens)
{
    cached *slot = NULL;
    if (size <= CACHE_WORD_MAX) {
        slot = &bpe->cache[dm_hash64(word, size) & (CACHE_SLOTS - 1)];
        if (slot->size == size && memcmp(slot->word, word, size) == 0) {
            dm_buffer_append(tokens, slot->tokens, slot->count * sizeof(uint16_t));
            return true;
        }
    }
    if (size >= NONE || !make_room(bpe, size))
        return false;
    merge_word(bpe, word, (uint32_t)size);
    if (slot != NULL) { /* it takes the place of the word that was there */
        slot->size = (uint8_t)size;
        slot->count = 0;
        memcpy(slot->word, word, size);
    }
    for (uint32_t at = 0; at != NONE; at = bpe->nodes[at].next) {
        uint16_t token = (uint16_t)bpe->nodes[at].token;
        dm_buffer_append(tokens, &token, sizeof token);
        if (slot != NULL)
            slot->tokens[slot->count++] = token;
    }
    return true;
}

dm_status dm_bpe_encode(dm_bpe *bpe, const char *text, size_t size, dm_buffer *tokens,
                        dm_error *err)
{
    for (size_t at = 0; at < size;) {
        size_t end = dm_bpe_word_end(text, size, at);
        if (!encode_word(bpe, text + at, end - at, tokens))
            return dm_fail(err, DM_ENOMEM, "out of memory for a word of %zu bytes", end - at);
        at = end;
    }
    return dm_buffer_check(tokens, err);
}

dm_status dm_bpe_decode(const dm_bpe *bpe, const uint16_t *tokens, size_t count, dm_buffer *text,
                        dm_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] > bpe->count)
            return dm_fail(err, DM_EINVAL, "token %u at place %zu; the vocabulary has %u",
                           tokens[i], i, bpe->count + 1);
        if (tokens[i] == bpe->count)
            dm_buffer_puts(text, "<|endoftext|>");
        else
            dm_buffer_append(text, bpe->bytes.data + bpe->offset[tokens[i]],
                             bpe->offset[tokens[i] + 1] - bpe->offset[tokens[i]]);
    }
    return dm_buffer_check(text, err);
}
