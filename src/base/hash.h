/* SPDX-License-Identifier: MIT */
/* hash.h - content hashes (XXH3 through xxHash): 64 bits for tables and frames, 128 bits for names
 * in caches, where a collision would hand out the wrong thing. Not cryptographic. */
#ifndef DM_BASE_HASH_H
#define DM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t dm_hash64(const void *bytes, size_t size);

typedef struct dm_hash128 {
    uint64_t low, high;
} dm_hash128;

dm_hash128 dm_hash128_of(const void *bytes, size_t size);

#define DM_HASH_HEX_SIZE 33 /* 32 digits and the NUL */
void dm_hash128_hex(dm_hash128 hash, char text[DM_HASH_HEX_SIZE]);

/* Hash of several parts, each prefixed by its length, so that ("ab", "c") differs from ("a", "bc").
 */
typedef struct dm_hasher dm_hasher;
dm_hasher *dm_hasher_create(void); /* NULL when there is no memory */
void dm_hasher_destroy(dm_hasher *hasher);
void dm_hasher_part(dm_hasher *hasher, const void *bytes, size_t size);
void dm_hasher_text(dm_hasher *hasher, const char *text);
/* Bytes without their length: of nothing but these the hash is dm_hash128_of them all together. */
void dm_hasher_bytes(dm_hasher *hasher, const void *bytes, size_t size);
dm_hash128 dm_hasher_finish(const dm_hasher *hasher);

#endif
