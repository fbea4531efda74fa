/* SPDX-License-Identifier: MIT */
#include "tests/support/same_machine.h"

#include <stdio.h>
#include <string.h>

typedef struct field {
    const char *name;
    size_t offset, size;
} field;

#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(dm_gb_machine, name), sizeof((dm_gb_machine *)0)->name                     \
    }

/* In the order of the struct; only for messages. */
static const field fields[] = {
    FIELD(clock),
    FIELD(next_event),
    FIELD(target),
    FIELD(cycles_low),
    FIELD(cycles_high),
    FIELD(instructions_low),
    FIELD(instructions_high),
    FIELD(halted_low),
    FIELD(halted_high),
    FIELD(counted_at),
    FIELD(cpu.pc),
    FIELD(cpu.sp),
    FIELD(cpu.mode),
    FIELD(cpu.halted_at),
    FIELD(cpu.wake_at),
    FIELD(cpu),
    FIELD(int_flags),
    FIELD(boot_mapped),
    FIELD(profile),
    FIELD(timer.div_base),
    FIELD(timer.synced),
    FIELD(timer.reload_at),
    FIELD(timer),
    FIELD(serial),
    FIELD(dma),
    FIELD(ppu.lcdc),
    FIELD(ppu.stat),
    FIELD(ppu.line),
    FIELD(ppu.first_line),
    FIELD(ppu.line_start),
    FIELD(ppu.next_dot),
    FIELD(ppu.mode0_dot),
    FIELD(ppu.edge),
    FIELD(ppu.mode_int),
    FIELD(ppu.compare),
    FIELD(ppu.lyc_bit),
    FIELD(ppu.lyc_line),
    FIELD(ppu.stat_line),
    FIELD(ppu.window_on),
    FIELD(ppu.window_line),
    FIELD(ppu.closed),
    FIELD(ppu.new_screen),
    FIELD(ppu.blank),
    FIELD(ppu.sprites),
    FIELD(ppu.sprite),
    FIELD(ppu),
    FIELD(joypad),
    FIELD(apu),
    FIELD(cart),
};

static dm_gb_machine without_picture(const dm_gb_machine *m)
{
    dm_gb_machine copy = *m;
    copy.ppu.drawing = 0;
    copy.ppu.drawn = 0;
    copy.ppu.front = 0;
    return copy;
}

static bool same_registers(const dm_gb *a, const dm_gb *b, char *why, size_t why_size)
{
    dm_gb_machine x = without_picture(&a->machine), y = without_picture(&b->machine);
    if (memcmp(&x, &y, sizeof x) == 0)
        return true;
    size_t at = 0;
    while (((const uint8_t *)&x)[at] == ((const uint8_t *)&y)[at])
        at++;
    const char *name = "?";
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (at >= fields[i].offset && at < fields[i].offset + fields[i].size) {
            name = fields[i].name;
            break;
        }
    snprintf(why, why_size,
             "%s (byte %zu of the machine): %02X and %02X; pc %04X and %04X, clock %u and %u", name,
             at, ((const uint8_t *)&x)[at], ((const uint8_t *)&y)[at], x.cpu.pc, y.cpu.pc, x.clock,
             y.clock);
    return false;
}

bool dm_same_machine(const dm_gb *a, const dm_gb *b, char *why, size_t why_size)
{
    if (!same_registers(a, b, why, why_size))
        return false;
    if (a->ram_size != b->ram_size || memcmp(a->ram, b->ram, a->ram_size) != 0) {
        uint32_t at = 0;
        while (at < a->ram_size && a->ram[at] == b->ram[at])
            at++;
        snprintf(why, why_size, "machine memory at %04X: %02X and %02X", at, a->ram[at],
                 b->ram[at]);
        return false;
    }
    if (a->serial.size != b->serial.size) {
        snprintf(why, why_size, "serial output: %u and %u bytes", a->serial.size, b->serial.size);
        return false;
    }
    return true;
}
