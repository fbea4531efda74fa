/* SPDX-License-Identifier: MIT */
/* buffer.h - a growing byte buffer that is also the string builder.
 *
 * Appending never fails visibly: when memory runs out the buffer turns `failed`, keeps what it had
 * and ignores further appends, so that a long sequence needs one check at its end. `data` is always
 * NUL-terminated once something was appended; dm_buffer_text never returns NULL. */
#ifndef DM_BASE_BUFFER_H
#define DM_BASE_BUFFER_H

#include <dotmatrix/base.h>

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

typedef struct dm_buffer {
    char *data;
    size_t size;
    size_t capacity;
    bool failed;
} dm_buffer;

#define DM_BUFFER_EMPTY ((dm_buffer){0})

void dm_buffer_deinit(dm_buffer *buffer);
/* Empty it, keeping its memory; a failed buffer is good again. */
void dm_buffer_clear(dm_buffer *buffer);
/* Make room for `size` more bytes; false when there is no memory. */
bool dm_buffer_reserve(dm_buffer *buffer, size_t size);

/* The bytes may not be the buffer's own. Inline, since writing text is what most of a compilation
 * does: there is nearly always room. */
void dm_buffer_append_slow(dm_buffer *buffer, const void *bytes, size_t size);
static inline void dm_buffer_append(dm_buffer *buffer, const void *bytes, size_t size)
{
    if (size >= buffer->capacity - buffer->size || buffer->failed) { /* the NUL has to fit too */
        dm_buffer_append_slow(buffer, bytes, size);
        return;
    }
    char *to = buffer->data + buffer->size;
    if (size > 0)
        memcpy(to, bytes, size);
    to[size] = 0;
    buffer->size += size;
}
static inline void dm_buffer_putc(dm_buffer *buffer, char c)
{
    dm_buffer_append(buffer, &c, 1);
}
static inline void dm_buffer_puts(dm_buffer *buffer, const char *text)
{
    dm_buffer_append(buffer, text, strlen(text));
}
void dm_buffer_printf(dm_buffer *buffer, const char *format, ...) DM_PRINTF(2, 3);
void dm_buffer_vprintf(dm_buffer *buffer, const char *format, va_list args) DM_PRINTF(2, 0);

const char *dm_buffer_text(const dm_buffer *buffer);
/* Give the bytes (NUL-terminated, to be freed with free()) to the caller and empty the buffer;
 * NULL if the buffer failed. */
char *dm_buffer_take(dm_buffer *buffer);

/* DM_OK, or DM_ENOMEM with a message when the buffer failed. */
dm_status dm_buffer_check(const dm_buffer *buffer, dm_error *err);

#endif
