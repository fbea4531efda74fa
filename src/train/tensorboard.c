/* SPDX-License-Identifier: MIT */
/* tensorboard.c - see tensorboard.h. */
#include "train/tensorboard.h"
#include "base/buffer.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct dm_tensorboard {
    FILE *file;
    char path[DM_PATH_MAX];
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* protobuf's wire types */

uint32_t dm_crc32c(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82F63B78) & (0 - (crc & 1)));
    }
    return ~crc;
}

static uint32_t masked(const void *bytes, size_t size)
{
    uint32_t crc = dm_crc32c(bytes, size);
    return (crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8);
}

static void put_fixed(dm_buffer *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        dm_buffer_putc(out, (char)(value >> (8 * i)));
}

static void put_varint(dm_buffer *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        dm_buffer_putc(out, (char)(value | 128));
    dm_buffer_putc(out, (char)value);
}

static void put_key(dm_buffer *out, unsigned field, unsigned type)
{
    put_varint(out, field << 3 | type);
}

static void put_bytes(dm_buffer *out, unsigned field, const void *bytes, size_t size)
{
    put_key(out, field, BYTES);
    put_varint(out, size);
    dm_buffer_append(out, bytes, size);
}

static void begin_event(dm_buffer *event, uint64_t step)
{
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    memcpy(&bits, &seconds, sizeof bits);
    put_key(event, 1, FIXED64);
    put_fixed(event, bits, 8);
    put_key(event, 2, VARINT);
    put_varint(event, step);
}

static dm_status put_record(dm_tensorboard *board, const dm_buffer *event, dm_error *err)
{
    dm_buffer record = DM_BUFFER_EMPTY;
    put_fixed(&record, event->size, 8);
    put_fixed(&record, masked(record.data, 8), 4);
    dm_buffer_append(&record, event->data, event->size);
    put_fixed(&record, masked(event->data, event->size), 4);
    dm_status status = dm_buffer_check(event, err);
    if (status == DM_OK)
        status = dm_buffer_check(&record, err);
    if (status == DM_OK && (fwrite(record.data, 1, record.size, board->file) != record.size ||
                            fflush(board->file) != 0))
        status = dm_fail(err, DM_EIO, "%s: %s", board->path, strerror(errno));
    dm_buffer_deinit(&record);
    return status;
}

dm_status dm_tensorboard_open(const char *folder, dm_tensorboard **out, dm_error *err)
{
    static unsigned number; /* several files in one second */
    char name[128];
    dm_tensorboard *board = calloc(1, sizeof *board);
    if (board == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    snprintf(name, sizeof name, "events.out.tfevents.%lld.dotmatrix.%ld.%u", (long long)time(NULL),
             (long)getpid(), __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
    dm_status status = dm_path_join(board->path, folder, name, err);
    if (status == DM_OK && (board->file = fopen(board->path, "wbe")) == NULL)
        status = dm_fail(err, DM_EIO, "%s: %s", board->path, strerror(errno));
    if (status == DM_OK) {
        dm_buffer event = DM_BUFFER_EMPTY;
        begin_event(&event, 0);
        put_bytes(&event, 3, "brain.Event:2", 13);
        status = put_record(board, &event, err);
        dm_buffer_deinit(&event);
    }
    if (status == DM_OK)
        *out = board;
    else
        dm_tensorboard_close(board);
    return status;
}

dm_status dm_tensorboard_write(dm_tensorboard *board, uint64_t step, const dm_metric *values,
                               size_t count, dm_error *err)
{
    dm_buffer event = DM_BUFFER_EMPTY, summary = DM_BUFFER_EMPTY, value = DM_BUFFER_EMPTY;
    for (size_t i = 0; i < count; i++) {
        float number = (float)values[i].value;
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        dm_buffer_clear(&value);
        put_bytes(&value, 1, values[i].name, strlen(values[i].name));
        put_key(&value, 2, FIXED32);
        put_fixed(&value, bits, 4);
        put_bytes(&summary, 1, value.data, value.size);
    }
    begin_event(&event, step);
    put_bytes(&event, 5, dm_buffer_text(&summary), summary.size);
    dm_status status = dm_buffer_check(&summary, err);
    if (status == DM_OK)
        status = put_record(board, &event, err);
    dm_buffer_deinit(&event);
    dm_buffer_deinit(&summary);
    dm_buffer_deinit(&value);
    return status;
}

const char *dm_tensorboard_path(const dm_tensorboard *board)
{
    return board->path;
}

void dm_tensorboard_close(dm_tensorboard *board)
{
    if (board == NULL)
        return;
    if (board->file != NULL)
        fclose(board->file);
    free(board);
}
