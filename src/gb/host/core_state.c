/* SPDX-License-Identifier: MIT */
/* core_state.c - the public calls that save and load states and battery RAM (dotmatrix/gb.h). */
#include "base/file.h"
#include "base/require.h"
#include "gb/cpu/run.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "gb/host/state_pyboy.h"

#include <stdlib.h>

dm_status dm_gb_save_state(dm_gb *gb, const char *path, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE(err, path);
    return dm_gb_state_save_file(&gb->machine, gb->ram, &gb->rom, path, err);
}

dm_status dm_gb_load_state(dm_gb *gb, const char *path, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE(err, path);
    char *bytes = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, 4u << 20, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    status = dm_gb_load_state_bytes(gb, bytes, size, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", path);
    free(bytes);
    return status;
}

size_t dm_gb_state_bytes(const dm_gb *gb)
{
    if (gb == NULL)
        return 0;
    return dm_gb_state_size(&gb->rom);
}

dm_status dm_gb_save_state_bytes(const dm_gb *gb, void *to, size_t size, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE(err, to);
    if (size != dm_gb_state_size(&gb->rom))
        return dm_fail(err, DM_EINVAL, "state: room for %zu bytes; a state of this machine has %zu",
                       size, dm_gb_state_size(&gb->rom));
    dm_gb_state_write(&gb->machine, gb->ram, &gb->rom, to);
    return DM_OK;
}

static uint32_t word_at(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t dm_gb_state_split(const void *bytes, size_t size, const uint8_t **extra, size_t *extra_size)
{
    const uint8_t *at = bytes;
    *extra = NULL;
    *extra_size = 0;
    if (size < 16 || memcmp(at, "DMGBSTAT", 8) != 0)
        return size;
    const size_t own = word_at(at + 12);
    if (own >= size || size - own < DM_GB_STATE_EXTRA_HEAD ||
        memcmp(at + own, DM_GB_STATE_EXTRA, 8) != 0 || word_at(at + own + 8) != size - own)
        return size;
    *extra = at + own;
    *extra_size = size - own;
    return own;
}

dm_status dm_gb_load_state_bytes(dm_gb *gb, const void *bytes, size_t size, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE_SOME(err, bytes, size);
    if (dm_gb_is_pyboy_state(bytes, size))
        return dm_gb_load_pyboy_state(gb, bytes, size, err);
    const uint8_t *extra;
    size_t extra_size;
    size = dm_gb_state_split(bytes, size, &extra, &extra_size);
    dm_status status = dm_gb_state_load(&gb->machine, gb->ram, &gb->rom, bytes, size, err);
    if (status == DM_OK)
        dm_gb_map(&gb->context);
    return status;
}

dm_status dm_gb_save_battery(dm_gb *gb, const char *path, int64_t unix_time, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE(err, path);
    if (dm_gb_battery_size(&gb->rom) == 0)
        return dm_fail(err, DM_EINVAL, "battery: \"%s\" (%s) has no battery", gb->rom.title,
                       gb->rom.type_name);
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_gb_battery_save(&gb->machine, gb->ram, &gb->rom, unix_time, &out);
    dm_status status = dm_buffer_check(&out, err);
    if (status == DM_OK)
        status = dm_file_write(path, out.data, out.size, err);
    dm_buffer_deinit(&out);
    return status;
}

dm_status dm_gb_load_battery(dm_gb *gb, const char *path, int64_t unix_time, dm_error *err)
{
    DM_REQUIRE(err, gb);
    DM_REQUIRE(err, path);
    char *bytes = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, 1u << 20, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    status = dm_gb_battery_load(&gb->machine, gb->ram, &gb->rom, bytes, size, unix_time, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", path);
    free(bytes);
    return status;
}
