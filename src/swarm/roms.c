/* SPDX-License-Identifier: MIT */
/* roms.c - a swarm's ROMs: opened on the host, and what kernels read of them on the device: bytes, predecoded
 * instructions, hooks. */
#include "gb/host/hooks.h"
#include "gb/simt/predecode.h"
#include "gb/simt/uop_decode.h"
#include "swarm/internal.h"

#include <stdlib.h>

static dm_status open_rom(const dm_swarm_desc *d, const dm_swarm_rom_source *source, dm_gb **out,
                          dm_error *err)
{
    dm_gb_options options = {.start = d->start,
                             .boot_rom = d->boot_rom,
                             .boot_rom_size = d->boot_rom_size,
                             .keep_idle_loops = d->keep_idle_loops,
                             .force_dmg = d->force_dmg};
    dm_status status;
    if (source->path != NULL)
        status = dm_gb_create_file(source->path, &options, out, err);
    else if (source->bytes != NULL)
        status = dm_gb_create(source->bytes, source->size, &options, out, err);
    else
        status = dm_fail(err, DM_EINVAL, "swarm: a ROM has neither path nor bytes");
    if (status == DM_OK && source->state != NULL)
        status = dm_gb_load_state(*out, source->state, err);
    return status;
}

dm_status dm_swarm_open_roms(dm_swarm *swarm, dm_error *err)
{
    const dm_swarm_desc *d = &swarm->desc;
    swarm->views = calloc(d->rom_count, sizeof(dm_gb *));
    if (swarm->views == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    dm_status status = DM_OK;
    for (size_t i = 0; i < d->rom_count && status == DM_OK; i++) {
        status = open_rom(d, &d->roms[i], &swarm->views[i], err);
        if (status != DM_OK && d->rom_count > 1)
            dm_error_prefix(err, "ROM %zu", i);
    }
    return status;
}

/* The instructions of a ROM as words (gb/simt/predecode.h). */
static dm_status upload_words(dm_swarm *swarm, const dm_gb_rom *rom, const dm_gb_hook_table *hooks,
                              size_t offset, dm_error *err)
{
    const size_t count = dm_gb_predecoded_size(rom->size);
    uint32_t *words = malloc(count * sizeof *words);
    if (words == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    for (size_t i = 0; i < count; i++)
        words[i] = dm_gb_predecode_at(rom->bytes, rom->size, i);
    if (hooks != NULL)
        dm_gb_hooks_mark_words(hooks, rom, words);
    dm_status status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_PREDECODED],
                                        offset * sizeof *words, words, count * sizeof *words, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(words);
    return status;
}

/* The CPU's copy of a ROM with its hooks marked, at `offset` bytes of all of them. */
static dm_status upload_marked(dm_swarm *swarm, const dm_gb_rom *rom, size_t offset,
                               dm_gb_hook_table *hooks, dm_error *err)
{
    dm_device_buffer *to = swarm->arrays[DM_SWARM_A_MARKED_ROMS];
    const size_t size = dm_gb_hooks_marked_size(rom);
    uint8_t *room = malloc(size);
    if (room == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    dm_gb_hooks_mark_rom(hooks, rom, room);
    const uint8_t *there = (const uint8_t *)dm_device_buffer_address(to) + offset;
    hooks->marked = there + (hooks->marked - room);
    hooks->numbers = there + (hooks->numbers - room);
    dm_status status = dm_stream_upload(swarm->stream, to, offset, room, size, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(room);
    return status;
}

/* The hooks of ROM i, whose bytes begin at `offset` among those of all and its words at `words`. */
static dm_status upload_hooks(dm_swarm *swarm, size_t i, size_t offset, const uint32_t *words,
                              dm_gb_hook_table *table, dm_error *err)
{
    const dm_swarm_desc *d = &swarm->desc;
    const dm_gb_rom *rom = &swarm->views[i]->rom;
    dm_status status = dm_gb_hook_table_init(table, d->hooks, d->hook_count, rom, err);
    if (status != DM_OK)
        return dm_error_prefix(err, "swarm: ROM %zu", i), status;
    table->predecoded = words;
    if (swarm->arrays[DM_SWARM_A_MARKED_ROMS] != NULL)
        status = upload_marked(swarm, rom, 2 * offset, table, err);
    if (status == DM_OK)
        status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_HOOK_TABLES],
                                  i * sizeof *table, table, sizeof *table, err);
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

/* Behind the words of all ROMs. */
static dm_status upload_uops(dm_swarm *swarm, size_t offset, dm_error *err)
{
    dm_device_buffer *words = swarm->arrays[DM_SWARM_A_PREDECODED];
    dm_gb_uop uops[DM_GB_UOPS];
    for (uint32_t i = 0; i < DM_GB_UOPS; i++)
        uops[i] = dm_gb_uop_table_at(i);
    offset *= sizeof(uint32_t);
    swarm->args.batch.uops = (void *)((uint8_t *)dm_device_buffer_address(words) + offset);
    dm_status status = dm_stream_upload(swarm->stream, words, offset, uops, sizeof uops, err);
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

dm_status dm_swarm_upload_roms(dm_swarm *swarm, dm_error *err)
{
    const dm_device_buffer *tables = swarm->arrays[DM_SWARM_A_HOOK_TABLES];
    size_t count = swarm->desc.rom_count, offset = 0, word = 0;
    dm_device_buffer *words = swarm->arrays[DM_SWARM_A_PREDECODED];
    const uint8_t *bytes_at = dm_device_buffer_address(swarm->arrays[DM_SWARM_A_ROM_BYTES]);
    const uint32_t *words_at = words == NULL ? NULL : dm_device_buffer_address(words);
    dm_gb_batch_rom *table = calloc(count, sizeof *table);
    if (table == NULL)
        return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    dm_status status = DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        const dm_gb_rom *rom = &swarm->views[i]->rom;
        table[i].bytes = bytes_at + offset;
        table[i].predecoded = words == NULL ? NULL : words_at + word;
        dm_gb_hook_table hooks;
        if (tables != NULL) {
            table[i].hooks = (const dm_gb_hook_table *)dm_device_buffer_address(tables) + i;
            status = upload_hooks(swarm, i, offset, table[i].predecoded, &hooks, err);
            if (status != DM_OK)
                break;
        }
        status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_ROM_BYTES], offset,
                                  rom->bytes, rom->size, err);
        if (status == DM_OK && words != NULL)
            status = upload_words(swarm, rom, tables != NULL ? &hooks : NULL, word, err);
        offset += rom->size;
        word += dm_gb_predecoded_size(rom->size);
    }
    if (status == DM_OK && words != NULL)
        status = upload_uops(swarm, word, err);
    if (status == DM_OK)
        status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_ROMS], 0, table,
                                  count * sizeof *table, err);
    if (status == DM_OK)
        status = dm_stream_upload(swarm->stream, swarm->arrays[DM_SWARM_A_BOOT], 0,
                                  swarm->views[0]->boot, sizeof swarm->views[0]->boot, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    free(table);
    return status;
}
