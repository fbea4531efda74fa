/* SPDX-License-Identifier: MIT */
/* notes_check.c - run a ROM and compare with what its source expects. */
#include "base/hash.h"
#include "romtools/notes.h"

#include <string.h>

static void compare_registers(const dm_gb_expect *expect, const dm_gb *gb, dm_buffer *out,
                              unsigned *count)
{
    dm_gb_registers r = dm_gb_get_registers(gb);
    const uint16_t values[DM_GB_NOTE_REGISTERS] = {r.a, r.f, r.b, r.c, r.d, r.e, r.h, r.l, r.sp};
    for (unsigned i = 0; i < DM_GB_NOTE_REGISTERS; i++) {
        if (!(expect->register_mask >> i & 1) || values[i] == expect->registers[i])
            continue;
        dm_buffer_printf(out, "%s is $%02X, expected $%02X\n", dm_gb_notes_register_name(i),
                         (unsigned)values[i], (unsigned)expect->registers[i]);
        ++*count;
    }
}

static void compare_memory(const dm_gb_expect *expect, dm_gb *gb, dm_buffer *out, unsigned *count)
{
    for (size_t i = 0; i < expect->byte_count; i++) {
        const dm_gb_notes_byte *byte = &expect->bytes[i];
        uint8_t value = dm_gb_peek(gb, byte->address);
        if (value == byte->value)
            continue;
        dm_buffer_printf(out, "[$%04X] is $%02X, expected $%02X\n", (unsigned)byte->address,
                         (unsigned)value, (unsigned)byte->value);
        ++*count;
    }
}

static void compare_output(const dm_gb_expect *expect, dm_gb *gb, dm_buffer *out, unsigned *count)
{
    size_t size;
    const uint8_t *bytes = dm_gb_serial_output(gb, &size);
    if (expect->serial &&
        (size != strlen(expect->serial) || memcmp(bytes, expect->serial, size) != 0)) {
        dm_buffer_printf(out, "serial output is \"%.*s\", expected \"%s\"\n", (int)size,
                         (const char *)bytes, expect->serial);
        ++*count;
    }
    uint64_t frame = dm_hash64(dm_gb_frame(gb), (size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    if (expect->has_frame && frame != expect->frame) {
        dm_buffer_printf(out, "frame is %016llx, expected %016llx\n", (unsigned long long)frame,
                         (unsigned long long)expect->frame);
        ++*count;
    }
}

dm_status dm_gb_expect_check(const dm_gb_expect *expect, const void *rom, size_t rom_size,
                             const dm_gb_options *options, dm_buffer *differences, unsigned *count,
                             dm_error *err)
{
    dm_gb *gb = NULL;
    *count = 0;
    dm_status status = dm_gb_create(rom, rom_size, options, &gb, err);
    if (status != DM_OK)
        return status;
    for (uint32_t frame = 0; frame < expect->frames; frame++) {
        dm_gb_set_keys(gb, dm_gb_expect_keys(expect, frame));
        /* A picture is complete in the frame after the one it was asked for. */
        bool near_end = frame + 3 >= expect->frames;
        dm_gb_run_frames(gb, 1, near_end ? DM_GB_DRAW_ALWAYS : DM_GB_DRAW_NEVER);
    }
    compare_registers(expect, gb, differences, count);
    compare_memory(expect, gb, differences, count);
    compare_output(expect, gb, differences, count);
    dm_gb_destroy(gb);
    return dm_buffer_check(differences, err);
}
