/* SPDX-License-Identifier: MIT */
/* core.c - the public calls for one machine (dotmatrix/gb.h): creating, running, peek and poke. */
#include "gb/host/core.h"
#include "base/require.h"
#include "gb/cpu/run.h"

#include "base/terminal/log.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(DM_GB_SCREEN_W == 160 && DM_GB_SCREEN_H == 144, "kernel text and header agree");
#define PLACED(field, place) (offsetof(dm_gb_ppu, field) == DM_GB_PPU_##place)
_Static_assert(PLACED(lcdc, LCDC) && PLACED(stat, STAT) && PLACED(scy, SCY) && PLACED(scx, SCX) &&
                   PLACED(lyc, LYC) && PLACED(bgp, BGP) && PLACED(obp0, OBP0) &&
                   PLACED(obp1, OBP1) && PLACED(wy, WY) && PLACED(wx, WX),
               "machine/ppu.h finds registers by their place");
_Static_assert(offsetof(dm_gb_machine, apu) ==
                   sizeof(dm_gb_machine) - sizeof(dm_gb_apu) - sizeof(dm_gb_cart),
               "sound and the cartridge come last: simt/staging.h does not copy them");

static dm_status start(dm_gb *gb, const dm_gb_options *options, dm_error *err)
{
    if (options != NULL)
        gb->options = *options;
    if ((unsigned)gb->options.start > DM_GB_START_ZERO)
        return dm_fail(err, DM_EINVAL, "gb: no such way to start: %d", (int)gb->options.start);
    if (gb->options.start == DM_GB_START_BOOT_ROM) {
        if (gb->options.boot_rom == NULL || gb->options.boot_rom_size != sizeof gb->boot)
            return dm_fail(err, DM_EINVAL, "boot ROM: a DMG's has 256 bytes, this one %zu",
                           gb->options.boot_rom_size);
        memcpy(gb->boot, gb->options.boot_rom, sizeof gb->boot);
    }
    gb->options.boot_rom = NULL; /* the caller's memory may go */
    gb->ram_size = dm_gb_memory_size(gb->rom.ram_size);
    gb->ram = calloc(1, gb->ram_size);
    if (gb->ram == NULL)
        return dm_fail(err, DM_ENOMEM, "gb: no memory for %u bytes of RAM", gb->ram_size);
    gb->serial.bytes = gb->serial_bytes;
    gb->serial.capacity = sizeof gb->serial_bytes;
    gb->context.m = &gb->machine;
    gb->context.ram = gb->ram;
    gb->context.rom = gb->rom.bytes;
    gb->context.boot = gb->boot;
    gb->context.frames = gb->frames[0];
    gb->context.serial = &gb->serial;
    gb->context.skip_idle = !gb->options.keep_idle_loops;
    dm_gb_start_memory(gb->ram, &gb->rom, gb->options.start);
    dm_gb_start_machine(&gb->machine, &gb->rom, gb->options.start);
    dm_gb_map(&gb->context);
    return DM_OK;
}

/* May this ROM run here? */
static dm_status check_rom(const dm_gb_rom *rom, const dm_gb_options *options, dm_error *err)
{
    if ((rom->warnings & DM_GB_ROM_CGB_ONLY) && (options == NULL || !options->force_dmg))
        return dm_fail(err, DM_EUNSUPPORTED,
                       "rom: made for the Game Boy Color only; runs as on a DMG when forced "
                       "(--force-dmg, force_dmg)");
    if (rom->warnings & DM_GB_ROM_SHORTER)
        dm_log(DM_LOG_WARN, "rom: %s: %s", rom->title[0] != '\0' ? rom->title : "(no title)",
               dm_gb_rom_warning_text(DM_GB_ROM_SHORTER));
    return DM_OK;
}

/* Take over `status` of loading the ROM, then start. */
static dm_status finish_create(dm_gb *gb, dm_status status, const dm_gb_options *options,
                               dm_gb **out, dm_error *err)
{
    if (status == DM_OK)
        status = check_rom(&gb->rom, options, err);
    if (status == DM_OK)
        status = start(gb, options, err);
    if (status != DM_OK) {
        dm_gb_destroy(gb);
        return status;
    }
    *out = gb;
    return DM_OK;
}

dm_status dm_gb_create(const void *rom, size_t size, const dm_gb_options *options, dm_gb **out,
                       dm_error *err)
{
    DM_REQUIRE_SOME(err, rom, size);
    DM_REQUIRE(err, out);
    *out = NULL;
    dm_gb *gb = calloc(1, sizeof *gb);
    if (gb == NULL)
        return dm_fail(err, DM_ENOMEM, "gb: no memory for a machine");
    return finish_create(gb, dm_gb_rom_init(&gb->rom, rom, size, err), options, out, err);
}

dm_status dm_gb_create_file(const char *path, const dm_gb_options *options, dm_gb **out,
                            dm_error *err)
{
    DM_REQUIRE(err, path);
    DM_REQUIRE(err, out);
    *out = NULL;
    dm_gb *gb = calloc(1, sizeof *gb);
    if (gb == NULL)
        return dm_fail(err, DM_ENOMEM, "gb: no memory for a machine");
    const dm_status loaded = dm_gb_rom_load(&gb->rom, path, err);
    const dm_status status = finish_create(gb, loaded, options, out, err);
    if (loaded == DM_OK && status != DM_OK)
        dm_error_prefix(err, "%s", path);
    return status;
}

void dm_gb_destroy(dm_gb *gb)
{
    if (gb == NULL)
        return;
    dm_gb_rom_deinit(&gb->rom);
    free(gb->marked_rom);
    free(gb->ram);
    free(gb);
}

void dm_gb_reset(dm_gb *gb)
{
    if (gb == NULL)
        return;
    memset(gb->ram, 0, gb->rom.has_battery ? DM_GB_CART_RAM : gb->ram_size);
    gb->serial.size = 0;
    dm_gb_start_memory(gb->ram, &gb->rom, gb->options.start);
    dm_gb_start_machine(&gb->machine, &gb->rom, gb->options.start);
    dm_gb_map(&gb->context);
}

void dm_gb_set_keys(dm_gb *gb, uint8_t keys)
{
    if (gb == NULL)
        return;
    dm_gb_joypad_set(&gb->machine, gb->machine.joypad.select, keys);
}

void dm_gb_run_cycles(dm_gb *gb, uint32_t cycles, enum dm_gb_draw draw)
{
    if (gb == NULL)
        return;
    gb->context.draw = (uint8_t)draw;
    gb->context.single_frame = 1;
    dm_gb_drop_picture(&gb->context, cycles);
    dm_gb_run(&gb->context, cycles);
}

void dm_gb_run_frames(dm_gb *gb, uint32_t frames, enum dm_gb_draw draw)
{
    if (gb == NULL)
        return;
    /* Times are compared modulo 2^32, so a run may last a few thousand frames at most. */
    const uint32_t most = 1024;
    while (frames > 0) {
        uint32_t now = frames < most ? frames : most;
        bool last = now == frames;
        if (!last && frames - now == 1)
            now--; /* so that the last run sees the whole of its last picture */
        dm_gb_run_cycles(gb, now * DM_GB_FRAME_CYCLES,
                         last || draw != DM_GB_DRAW_LAST ? draw : DM_GB_DRAW_NEVER);
        frames -= now;
    }
}

void dm_gb_step(dm_gb *gb)
{
    if (gb == NULL)
        return;
    uint32_t target = gb->machine.target;
    gb->context.draw = DM_GB_DRAW_ALWAYS;
    gb->machine.target = gb->machine.clock;
    dm_gb_run(&gb->context, 1);
    gb->machine.target = dm_gb_before(target, gb->machine.clock) ? gb->machine.clock : target;
}

bool dm_gb_run_to(dm_gb *gb, const uint16_t *addresses, size_t count, uint64_t cycles)
{
    if (gb == NULL || (addresses == NULL && count != 0))
        return false;
    uint64_t end = dm_gb_get_counters(gb).cycles + cycles;
    do {
        dm_gb_step(gb);
        for (size_t i = 0; i < count; i++)
            if (gb->machine.cpu.pc == addresses[i] && gb->machine.cpu.mode == DM_GB_RUNNING)
                return true;
    } while (dm_gb_get_counters(gb).cycles < end);
    return false;
}

const uint8_t *dm_gb_frame(dm_gb *gb)
{
    if (gb == NULL)
        return NULL;
    return gb->machine.ppu.blank ? gb->blank : gb->frames[gb->machine.ppu.front];
}

dm_gb_registers dm_gb_get_registers(const dm_gb *gb)
{
    if (gb == NULL)
        return (dm_gb_registers){0};
    const dm_gb_cpu *cpu = &gb->machine.cpu;
    return (dm_gb_registers){.a = cpu->a,
                             .f = cpu->f,
                             .b = cpu->b,
                             .c = cpu->c,
                             .d = cpu->d,
                             .e = cpu->e,
                             .h = cpu->h,
                             .l = cpu->l,
                             .pc = cpu->pc,
                             .sp = cpu->sp,
                             .ime = cpu->ime != 0,
                             .halted = cpu->mode == DM_GB_HALTED,
                             .stopped = cpu->mode == DM_GB_STOPPED,
                             .locked = cpu->mode == DM_GB_LOCKED};
}

static uint64_t wide(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

dm_gb_counters dm_gb_get_counters(const dm_gb *gb)
{
    if (gb == NULL)
        return (dm_gb_counters){0};
    const dm_gb_machine *m = &gb->machine;
    return (dm_gb_counters){.cycles = wide(m->cycles_low, m->cycles_high),
                            .instructions = wide(m->instructions_low, m->instructions_high),
                            .halted = wide(m->halted_low, m->halted_high),
                            .frames = m->ppu.frames};
}

uint8_t dm_gb_peek(dm_gb *gb, uint16_t address)
{
    if (gb == NULL)
        return 0;
    if (address < 0x100 && gb->machine.boot_mapped)
        return gb->boot[address];
    if (address < 0xFE00)
        return dm_gb_dma_source(&gb->context, address);
    if (address < 0xFEA0)
        return dm_gb_ram_load(&gb->context, DM_GB_OAM + (address & 0xFFu));
    if (address < 0xFF00)
        return 0;
    if (address >= 0xFF80)
        return dm_gb_ram_load(&gb->context, DM_GB_HRAM + address - 0xFF80u);
    /* Reading a register syncs its device, so it is read from a copy. */
    dm_gb_machine copy = gb->machine;
    dm_gb_context context = gb->context;
    context.m = &copy;
    copy.ppu.drawing = 0;
    return (uint8_t)dm_gb_io_read(&context, copy.clock, address);
}

void dm_gb_poke(dm_gb *gb, uint16_t address, uint8_t value)
{
    if (gb == NULL)
        return;
    dm_gb_context *context = &gb->context;
    if (address >= 0x8000 && address < 0xA000)
        dm_gb_ram_store(context, DM_GB_VRAM + (address & 0x1FFFu), value);
    else if (address >= 0xFE00 && address < 0xFEA0)
        dm_gb_ram_store(context, DM_GB_OAM + (address & 0xFFu), value);
    else if (address >= 0xC000 && address < 0xFE00)
        dm_gb_ram_store(context, DM_GB_WRAM + (address & 0x1FFFu), value);
    else if (address >= 0xFF80 && address < 0xFFFF)
        dm_gb_ram_store(context, DM_GB_HRAM + address - 0xFF80u, value);
    else
        dm_gb_slow_write(context, gb->machine.clock, address, value);
}

const uint8_t *dm_gb_serial_output(const dm_gb *gb, size_t *size)
{
    if (gb == NULL)
        return NULL;
    *size = gb->serial.size < gb->serial.capacity ? gb->serial.size : gb->serial.capacity;
    return gb->serial_bytes;
}

void dm_gb_serial_clear(dm_gb *gb)
{
    if (gb == NULL)
        return;
    gb->serial.size = 0;
}
