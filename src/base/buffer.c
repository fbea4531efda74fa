/* SPDX-License-Identifier: MIT */
/* buffer.c - the growing byte buffer. Capacity doubles, and one byte beyond `size` is always the
 * NUL. */
#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

void dm_buffer_deinit(dm_buffer *buffer)
{
    free(buffer->data);
    *buffer = DM_BUFFER_EMPTY;
}

void dm_buffer_clear(dm_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
    if (buffer->data != NULL)
        buffer->data[0] = 0;
}

bool dm_buffer_reserve(dm_buffer *buffer, size_t size)
{
    if (buffer->failed)
        return false;
    if (size >= SIZE_MAX - buffer->size) { /* the NUL has to fit too */
        buffer->failed = true;
        return false;
    }
    size_t needed = buffer->size + size + 1;
    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : buffer->capacity;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    char *data = realloc(buffer->data, capacity);
    if (data == NULL && capacity > needed) {
        capacity = needed; /* doubling was too greedy: try the exact size */
        data = realloc(buffer->data, capacity);
    }
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    buffer->data[buffer->size] = 0;
    return true;
}

void dm_buffer_append_slow(dm_buffer *buffer, const void *bytes, size_t size)
{
    if (!dm_buffer_reserve(buffer, size))
        return;
    if (size > 0)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = 0;
}

void dm_buffer_vprintf(dm_buffer *buffer, const char *format, va_list args)
{
    if (!dm_buffer_reserve(buffer, 0))
        return;
    va_list again;
    va_copy(again, args);
    size_t room = buffer->capacity - buffer->size;
    int length = vsnprintf(buffer->data + buffer->size, room, format, args);
    if (length < 0) {
        buffer->data[buffer->size] = 0;
        buffer->failed = true;
    } else if ((size_t)length < room) {
        buffer->size += (size_t)length;
    } else {
        buffer->data[buffer->size] = 0; /* undo the cut text, should memory run out now */
        if (dm_buffer_reserve(buffer, (size_t)length)) {
            vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, again);
            buffer->size += (size_t)length;
        }
    }
    va_end(again);
}

void dm_buffer_printf(dm_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    dm_buffer_vprintf(buffer, format, args);
    va_end(args);
}

const char *dm_buffer_text(const dm_buffer *buffer)
{
    return buffer->data != NULL ? buffer->data : "";
}

char *dm_buffer_take(dm_buffer *buffer)
{
    dm_buffer_reserve(buffer, 0); /* an empty buffer gives an empty text, not NULL */
    char *data = buffer->data;
    if (buffer->failed) {
        free(data);
        data = NULL;
    }
    *buffer = DM_BUFFER_EMPTY;
    return data;
}

dm_status dm_buffer_check(const dm_buffer *buffer, dm_error *err)
{
    if (buffer->failed)
        return dm_fail(err, DM_ENOMEM, "out of memory after %zu bytes of text", buffer->size);
    return DM_OK;
}
