/* SPDX-License-Identifier: MIT */
/* program_state.c - a reward program's memory behind a machine's save state.
 *
 *   offset  0  "DMPROGRM"          8  size of the block       12  zero
 *          16  hash of the layout  32  the memory, memory_bytes
 *
 * A program whose memory has other fields refuses the block. A state without one leaves the memory zero. */
#include "gb/host/state.h"
#include "swarm/internal.h"

#include <stdlib.h>
#include <string.h>

#define AT_SIZE 8u
#define AT_LAYOUT 16u
#define AT_MEMORY 32u

static uint32_t memory_bytes(const dm_swarm *swarm)
{
    return swarm->program == NULL ? 0 : dm_program_get_info(swarm->program).memory_bytes;
}

size_t dm_swarm_program_extra_size(const dm_swarm *swarm)
{
    const uint32_t bytes = memory_bytes(swarm);
    return bytes == 0 ? 0 : AT_MEMORY + bytes;
}

static void put_word(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void put_layout(const dm_swarm *swarm, uint8_t *at)
{
    const dm_hash128 hash = dm_program_memory_hash(swarm->program);
    put_word(at, (uint32_t)hash.low);
    put_word(at + 4, (uint32_t)(hash.low >> 32));
    put_word(at + 8, (uint32_t)hash.high);
    put_word(at + 12, (uint32_t)(hash.high >> 32));
}

dm_status dm_swarm_program_save_extra(dm_swarm *swarm, uint32_t machine, uint8_t *extra,
                                      dm_error *err)
{
    const size_t size = dm_swarm_program_extra_size(swarm);
    if (size == 0)
        return DM_OK;
    memset(extra, 0, AT_MEMORY);
    memcpy(extra, DM_GB_STATE_EXTRA, AT_SIZE);
    put_word(extra + AT_SIZE, (uint32_t)size);
    put_layout(swarm, extra + AT_LAYOUT);
    dm_status status = dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_PROGRAM_MEMORY],
                                          (size_t)machine * swarm->args.program_stride,
                                          extra + AT_MEMORY, size - AT_MEMORY, err);
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

dm_status dm_swarm_program_check_extra(const dm_swarm *swarm, const uint8_t *extra, size_t size,
                                       dm_error *err)
{
    uint8_t layout[16], stated[4];
    if (extra == NULL || memory_bytes(swarm) == 0)
        return DM_OK; /* of no use here */
    put_layout(swarm, layout);
    put_word(stated, (uint32_t)dm_swarm_program_extra_size(swarm));
    if (size != dm_swarm_program_extra_size(swarm) || memcmp(extra + AT_SIZE, stated, 4) != 0 ||
        memcmp(extra + AT_LAYOUT, layout, sizeof layout) != 0)
        return dm_fail(
            err, DM_EINVAL,
            "it was saved with a reward program whose memory has other fields than this one's");
    return DM_OK;
}

void dm_swarm_program_mend(const dm_swarm *swarm, uint8_t *memories, uint64_t count)
{
    const dm_program *program = swarm->program;
    const uint32_t stride = swarm->args.program_stride;
    for (uint32_t k = 0; k < program->field_count; k++) {
        const dm_program_field *field = &program->fields[k];
        for (uint64_t i = 0; field->is_bool && i < count; i++)
            for (uint32_t at = 0; at < field->elements; at++) {
                uint8_t *value = memories + i * stride + field->offset + at;
                *value = *value != 0;
            }
    }
}

dm_status dm_swarm_program_load_extra(dm_swarm *swarm, const uint8_t *extra, int array,
                                      uint32_t place, dm_error *err)
{
    const uint32_t stride = swarm->args.program_stride;
    dm_device_buffer *to = swarm->arrays[array];
    if (stride == 0)
        return DM_OK;
    dm_status status = dm_stream_fill(swarm->stream, to, (size_t)place * stride, 0, stride, err);
    if (status != DM_OK || extra == NULL)
        return status;
    uint8_t *memory = calloc(1, stride);
    if (memory == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    memcpy(memory, extra + AT_MEMORY, memory_bytes(swarm));
    dm_swarm_program_mend(swarm, memory, 1);
    status = dm_stream_upload(swarm->stream, to, (size_t)place * stride, memory, stride, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(memory);
    return status;
}
