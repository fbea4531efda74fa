/* SPDX-License-Identifier: MIT */
/* arena.h - many small allocations freed together.
 *
 *     chunk 0 (full)        chunk 1 (current)
 *   +---------------+     +--------+----------+
 *   | used          | <-- | used   | free     |
 *   +---------------+     +--------+----------+
 *                                  ^ cursor
 *
 * An arena belongs to one thread. Allocation returns NULL when memory runs out or `limit` is
 * reached; everything handed out stays valid until reset or deinit. */
#ifndef DM_BASE_ARENA_H
#define DM_BASE_ARENA_H

#include <stddef.h>

typedef struct dm_arena_chunk dm_arena_chunk;

typedef struct dm_arena {
    dm_arena_chunk *current;
    size_t used;  /* bytes handed out, padding included */
    size_t limit; /* 0: no limit */
} dm_arena;

void dm_arena_init(dm_arena *arena, size_t limit);
void dm_arena_deinit(dm_arena *arena);
/* Forget every allocation but keep the largest chunk for reuse. */
void dm_arena_reset(dm_arena *arena);

/* Zeroed, aligned for any type; size 0 gives a pointer too. */
void *dm_arena_alloc(dm_arena *arena, size_t size);
/* NULL also when count * size overflows. */
void *dm_arena_alloc_array(dm_arena *arena, size_t count, size_t size);
/* A copy of exactly `length` bytes, NUL-terminated. */
char *dm_arena_strndup(dm_arena *arena, const char *text, size_t length);

#endif
