/* SPDX-License-Identifier: MIT */
/* hash.c - XXH3, compiled in (no call per hash, and the same code on every machine). */
#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t dm_hash64(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

dm_hash128 dm_hash128_of(const void *bytes, size_t size)
{
    XXH128_hash_t h = XXH3_128bits(bytes, size);
    return (dm_hash128){.low = h.low64, .high = h.high64};
}

void dm_hash128_hex(dm_hash128 hash, char text[DM_HASH_HEX_SIZE])
{
    for (int i = 0; i < 16; i++) {
        text[i] = "0123456789abcdef"[hash.high >> (60 - 4 * i) & 15];
        text[16 + i] = "0123456789abcdef"[hash.low >> (60 - 4 * i) & 15];
    }
    text[32] = '\0';
}

struct dm_hasher {
    XXH3_state_t state; /* wants 64-byte alignment */
};

dm_hasher *dm_hasher_create(void)
{
    dm_hasher *hasher = aligned_alloc(_Alignof(dm_hasher), sizeof *hasher);
    if (hasher != NULL) {
        memset(hasher, 0, sizeof *hasher);
        XXH3_128bits_reset(&hasher->state);
    }
    return hasher;
}

void dm_hasher_destroy(dm_hasher *hasher)
{
    free(hasher);
}

void dm_hasher_part(dm_hasher *hasher, const void *bytes, size_t size)
{
    unsigned char length[8]; /* little-endian, so that a hash means the same everywhere */
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)size >> (8 * i));
    XXH3_128bits_update(&hasher->state, length, sizeof length);
    if (size > 0)
        XXH3_128bits_update(&hasher->state, bytes, size);
}

void dm_hasher_text(dm_hasher *hasher, const char *text)
{
    dm_hasher_part(hasher, text, strlen(text));
}

void dm_hasher_bytes(dm_hasher *hasher, const void *bytes, size_t size)
{
    if (size > 0)
        XXH3_128bits_update(&hasher->state, bytes, size);
}

dm_hash128 dm_hasher_finish(const dm_hasher *hasher)
{
    XXH128_hash_t h = XXH3_128bits_digest(&hasher->state);
    return (dm_hash128){.low = h.low64, .high = h.high64};
}
