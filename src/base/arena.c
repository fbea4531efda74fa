/* SPDX-License-Identifier: MIT */
/* arena.c - chunks of growing size, filled from the front.
 *
 * Under ASan what is not handed out is poisoned, padding included, so that a read past the end of
 * an allocation is found although malloc knows only the chunk. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define ALIGNMENT _Alignof(max_align_t)
#define CHUNK_FIRST ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)1 << 20) /* larger only for one large allocation */

struct dm_arena_chunk {
    dm_arena_chunk *previous;
    size_t capacity;
    size_t used;
    _Alignas(max_align_t) unsigned char bytes[];
};

void dm_arena_init(dm_arena *arena, size_t limit)
{
    *arena = (dm_arena){.limit = limit};
}

static void free_chunks(dm_arena_chunk *chunk, const dm_arena_chunk *except)
{
    while (chunk != NULL) {
        dm_arena_chunk *previous = chunk->previous;
        if (chunk != except)
            free(chunk);
        chunk = previous;
    }
}

void dm_arena_deinit(dm_arena *arena)
{
    free_chunks(arena->current, NULL);
    arena->current = NULL;
    arena->used = 0;
}

void dm_arena_reset(dm_arena *arena)
{
    dm_arena_chunk *largest = arena->current;
    for (dm_arena_chunk *c = arena->current; c != NULL; c = c->previous)
        if (c->capacity > largest->capacity)
            largest = c;
    free_chunks(arena->current, largest);
    if (largest != NULL) {
        largest->previous = NULL;
        largest->used = 0;
        ASAN_POISON_MEMORY_REGION(largest->bytes, largest->capacity);
    }
    arena->current = largest;
    arena->used = 0;
}

/* Put a chunk with room for `size` in front. */
static dm_arena_chunk *add_chunk(dm_arena *arena, size_t size)
{
    size_t capacity = arena->current == NULL ? CHUNK_FIRST : 2 * arena->current->capacity;
    if (capacity > CHUNK_MAX)
        capacity = CHUNK_MAX;
    if (capacity < size)
        capacity = size;
    if (capacity > SIZE_MAX - sizeof(dm_arena_chunk))
        return NULL;
    dm_arena_chunk *chunk = malloc(sizeof *chunk + capacity);
    if (chunk == NULL)
        return NULL;
    chunk->previous = arena->current;
    chunk->capacity = capacity;
    chunk->used = 0;
    ASAN_POISON_MEMORY_REGION(chunk->bytes, capacity);
    arena->current = chunk;
    return chunk;
}

void *dm_arena_alloc(dm_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    size_t padded = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->limit > 0 && (arena->used > arena->limit || padded > arena->limit - arena->used))
        return NULL;
    dm_arena_chunk *chunk = arena->current;
    if (chunk == NULL || padded > chunk->capacity - chunk->used)
        chunk = add_chunk(arena, padded);
    if (chunk == NULL)
        return NULL;
    unsigned char *bytes = chunk->bytes + chunk->used;
    ASAN_UNPOISON_MEMORY_REGION(bytes, size);
    memset(bytes, 0, size);
    chunk->used += padded;
    arena->used += padded;
    return bytes;
}

void *dm_arena_alloc_array(dm_arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    return dm_arena_alloc(arena, total);
}

char *dm_arena_strndup(dm_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = dm_arena_alloc(arena, length + 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}
