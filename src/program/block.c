/* SPDX-License-Identifier: MIT */
/* block.c - a program's memory behind a machine's save state (gb/host/state.h).
 *
 *   offset  0  "DMPROGRM"          8  size of the block       12  XXH3-64 of the memory, its low half
 *          16  hash of the layout  32  the memory, memory_bytes
 *
 * Numbers are little-endian. A program whose memory has other fields refuses the block, and so does one whose memory
 * was damaged. */
#include "base/file.h"
#include "base/require.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "program/internal.h"

#include <stdlib.h>
#include <string.h>

#define AT_SIZE 8u
#define AT_CHECK 12u
#define AT_LAYOUT 16u
#define AT_MEMORY 32u
#define STATE_FILE_MAX (4u << 20)

size_t dm_program_block_size(const dm_program *program)
{
    const uint32_t bytes = dm_program_get_info(program).memory_bytes;
    return bytes == 0 ? 0 : AT_MEMORY + bytes;
}

static void put_word(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void put_layout(const dm_program *program, uint8_t *at)
{
    const dm_hash128 hash = program->hash;
    put_word(at, hash.low);
    put_word(at + 4, hash.low >> 32);
    put_word(at + 8, hash.high);
    put_word(at + 12, hash.high >> 32);
}

void dm_program_block_write(const dm_program *program, const void *memory, uint8_t *block)
{
    const size_t size = dm_program_block_size(program);
    if (size == 0)
        return;
    memcpy(block, DM_GB_STATE_EXTRA, AT_SIZE);
    put_word(block + AT_SIZE, size);
    put_word(block + AT_CHECK, dm_hash64(memory, size - AT_MEMORY));
    put_layout(program, block + AT_LAYOUT);
    memcpy(block + AT_MEMORY, memory, size - AT_MEMORY);
}

dm_status dm_program_block_check(const dm_program *program, const uint8_t *block, size_t size,
                                 dm_error *err)
{
    const size_t own = dm_program_block_size(program);
    uint8_t layout[16], word[4];
    if (block == NULL || own == 0)
        return DM_OK; /* of no use here */
    put_layout(program, layout);
    put_word(word, own);
    if (size != own || memcmp(block + AT_SIZE, word, sizeof word) != 0 ||
        memcmp(block + AT_LAYOUT, layout, sizeof layout) != 0)
        return dm_fail(
            err, DM_EINVAL,
            "it was saved with a reward program whose memory has other fields than this one's");
    put_word(word, dm_hash64(block + AT_MEMORY, own - AT_MEMORY));
    if (memcmp(block, DM_GB_STATE_EXTRA, AT_SIZE) != 0 ||
        memcmp(block + AT_CHECK, word, sizeof word) != 0)
        return dm_fail(err, DM_EFORMAT, "the reward program's memory in it is damaged");
    return DM_OK;
}

void dm_program_block_read(const dm_program *program, const uint8_t *block, void *memory)
{
    memset(memory, 0, dm_program_stride(program));
    if (block == NULL)
        return;
    memcpy(memory, block + AT_MEMORY, program->info.memory_bytes);
    dm_program_mend(program, memory, 1);
}

void dm_program_mend(const dm_program *program, uint8_t *memories, uint64_t count)
{
    const uint32_t stride = dm_program_stride(program);
    for (uint32_t k = 0; k < program->field_count; k++) {
        const dm_program_field *field = &program->fields[k];
        for (uint64_t i = 0; field->is_bool && i < count; i++)
            for (uint32_t at = 0; at < field->elements; at++) {
                uint8_t *value = memories + i * stride + field->offset + at;
                *value = *value != 0;
            }
    }
}

/* ---- Files of one machine ---- */

dm_status dm_program_save_file(const dm_program *program, const dm_gb *gb, const void *memory,
                               const char *path, dm_error *err)
{
    const size_t own = dm_gb_state_size(&gb->rom), block = dm_program_block_size(program);
    uint8_t *bytes = malloc(own + block);
    if (bytes == NULL)
        return dm_fail(err, DM_ENOMEM, "program: out of memory");
    dm_gb_state_write(&gb->machine, gb->ram, &gb->rom, bytes);
    dm_program_block_write(program, memory, bytes + own);
    dm_status status = dm_file_write(path, bytes, own + block, err);
    free(bytes);
    return status;
}

dm_status dm_program_load_file(const dm_program *program, const char *path, void *memory,
                               bool *found, dm_error *err)
{
    char *bytes = NULL;
    size_t size = 0, block_size;
    const uint8_t *block = NULL;
    *found = false;
    dm_status status = dm_file_read(path, STATE_FILE_MAX, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    dm_gb_state_split(bytes, size, &block, &block_size);
    status = dm_program_block_check(program, block, block_size, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", path);
    *found = status == DM_OK && block != NULL && dm_program_block_size(program) != 0;
    if (*found)
        dm_program_block_read(program, block, memory);
    free(bytes);
    return status;
}
