/* SPDX-License-Identifier: MIT */
/* state_pyboy_old.c - reading save states of versions 7 to 12, PyBoy 1.4.1 (7) to 2.4.1 (12).
 *
 * Version 8 brought what a Game Boy Color needs, IF and the picture unit's clocks, 10 a byte to
 * each pixel, 11 another place for the scroll registers by line, 12 counts of cycles. None has the
 * sound. */
#include "gb/cpu/run.h"
#include "gb/host/state_pyboy_read.h"

#include <string.h>

/* Parts that all of these versions have. */
enum {
    OLD_LINES_SIZE = 144 * 5,
    OLD_PIXELS = 144 * 160,
    OLD_RAM_SIZE = 0x2000 + 0x60 + 0x4C + 0x7F + 0x34,
    OLD_SIZE = 2 + 16 + 0x2000 + 160 + 11 + OLD_LINES_SIZE + 4 * OLD_PIXELS + OLD_RAM_SIZE + 8 +
               DM_PYBOY_CART_SIZE + DM_PYBOY_JOYPAD_SIZE,
    OLD_CLOCK_SIZE = 6
};

/* Old files have the time of day at which the clock stood at 0, to 128 seconds: nothing to go by,
 * so that the clock begins at 0. */
void dm_pyboy_read_old_clock(dm_gb_cart *cart, dm_pyboy_reader *r, uint32_t now)
{
    dm_pyboy_skip(r, 4);
    cart->rtc[DM_GB_RTC_DAYS_HIGH] = dm_pyboy_get8(r) != 0 ? DM_GB_RTC_HALT : 0;
    cart->rtc[DM_GB_RTC_DAYS_HIGH] |= dm_pyboy_get8(r) != 0 ? DM_GB_RTC_CARRY : 0;
    cart->rtc_synced = now;
    memcpy(cart->rtc_latched, cart->rtc, sizeof cart->rtc_latched);
}

static size_t old_size(unsigned version)
{
    size_t size = OLD_SIZE;
    if (version >= 8)
        size += 3 + 2 + 2 + 8 + 8 + 1;
    if (version >= 10)
        size += OLD_PIXELS;
    if (version >= 12)
        size += 3 * 8;
    return size;
}

static void read_old_cpu(dm_pyboy_import *in, dm_pyboy_reader *r, unsigned version)
{
    dm_gb_machine *m = in->m;
    dm_gb_cpu *cpu = &m->cpu;
    dm_pyboy_read_registers(cpu, r);
    dm_pyboy_read_halt(in, r);
    if (version >= 8) {
        dm_pyboy_skip(r, 1);
        m->int_flags = dm_pyboy_get8(r) & 0x1F;
    }
    if (version >= 12)
        in->cycles = dm_pyboy_get64(r);
    m->cycles_low = (uint32_t)in->cycles;
    m->cycles_high = (uint32_t)(in->cycles >> 32);
    m->counted_at = m->clock;
}

/* Where a frame stands whose line is `ly`, in a mode that ends after `left` cycles. */
static uint32_t old_frame_cycles(uint8_t ly, uint8_t mode, uint64_t left)
{
    static const uint16_t ends[] = {DM_GB_LINE_CYCLES, DM_GB_LINE_CYCLES, 80, 250};
    uint32_t line = ly < 154u ? ly : 153u;
    uint32_t into = ends[mode] - dm_pyboy_distance(left, ends[mode]);
    into = into < DM_GB_LINE_CYCLES ? into : DM_GB_LINE_CYCLES - 4u;
    return line * DM_GB_LINE_CYCLES + (into & ~3u);
}

static void read_old_lcd(dm_pyboy_import *in, dm_pyboy_reader *r, unsigned version)
{
    const uint8_t mode = dm_pyboy_read_picture_registers(in, r);
    const dm_gb_ppu *ppu = &in->m->ppu;
    uint64_t left = mode == 2 ? 80u : mode == 3 ? 170u : mode == 0 ? 206u : DM_GB_LINE_CYCLES;
    if (version >= 11)
        dm_pyboy_skip(r, OLD_LINES_SIZE);
    if (version >= 8) {
        dm_pyboy_skip(r, version >= 12 ? 2 + 8 : 2);
        uint64_t clock = dm_pyboy_get64(r);
        left = dm_pyboy_get64(r) - clock;
        dm_pyboy_skip(r, 1);
    } else if (mode == 1 && in->ly > DM_GB_VBLANK_LINE) {
        /* LY was already raised when the frame ended, and the request that ended it is not in the
         * file. */
        in->m->int_flags |= in->ly-- == DM_GB_VBLANK_LINE + 1u ? DM_GB_INT_VBLANK : 0;
    }
    in->frame_cycles = old_frame_cycles(in->ly, mode, left);
    in->first_frame = left > DM_GB_LINE_CYCLES; /* LCD on, and no line before the next frame */
    if (in->first_frame)
        in->frame_cycles = (DM_GB_FRAME_CYCLES - dm_pyboy_distance(left, DM_GB_FRAME_CYCLES)) & ~3u;
    in->window_on = (ppu->lcdc & 0x20) != 0 && ppu->wy <= in->ly;
    if (version < 11)
        dm_pyboy_skip(r, OLD_LINES_SIZE);
    dm_pyboy_skip(r, (version >= 10 ? 5u : 4u) * OLD_PIXELS);
}

static void read_old_ram(dm_pyboy_import *in, dm_pyboy_reader *r)
{
    dm_gb_machine *m = in->m;
    uint8_t io[0x4C];
    dm_pyboy_get_bytes(r, in->ram + DM_GB_WRAM, 0x2000);
    dm_pyboy_skip(r, 0x60);
    dm_pyboy_get_bytes(r, io, sizeof io);
    dm_pyboy_get_bytes(r, in->ram + DM_GB_HRAM, 0x7F);
    dm_pyboy_skip(r, 0x34);
    m->joypad.select = (io[0] | 0x0F) == 0xCF ? 0x30 : io[0] & 0x30;
    m->serial.sb = io[1];
    m->serial.sc = io[2] & 1; /* transfers are not timed there */
    m->dma.reg = io[0x46];
    m->dma.source = (uint16_t)(m->dma.reg << 8);
}

/* DIV and TIMA count apart there. DIV as it reads is kept; where the cycles to TIMA's next count
 * lie within one of DIV, they are TIMA's. */
static void read_old_timer(dm_pyboy_import *in, dm_pyboy_reader *r, unsigned version)
{
    static const uint16_t dividers[] = {1024, 16, 64, 256};
    dm_gb_timer *timer = &in->m->timer;
    uint8_t div = dm_pyboy_get8(r);
    timer->tima = dm_pyboy_get8(r);
    uint32_t low = dm_pyboy_get16(r) & 0xFFu, counted = dm_pyboy_get16(r);
    timer->tma = dm_pyboy_get8(r);
    timer->tac = dm_pyboy_get8(r) & 7;
    uint32_t divider = dividers[timer->tac & 3];
    if ((timer->tac & 4) != 0 && divider <= 256)
        low = (low & ~(divider - 1u)) | (counted & (divider - 1u));
    timer->div_base = in->m->clock - ((uint32_t)div << 8 | low);
    timer->synced = in->m->clock;
    timer->reload_at = in->m->clock + 1u; /* no access happens then */
    if (version >= 12)
        dm_pyboy_skip(r, 8);
}

void dm_pyboy_read_old(dm_pyboy_import *in, dm_pyboy_reader *r, unsigned version)
{
    dm_pyboy_skip(r, version >= 8 ? 5 : 2);
    read_old_cpu(in, r, version);
    read_old_lcd(in, r, version);
    dm_gb_apu_reset(&in->m->apu, in->m->clock, true);
    read_old_ram(in, r);
    read_old_timer(in, r, version);
    dm_pyboy_read_cart(in, r, true);
    uint8_t directions = dm_pyboy_get8(r), buttons = dm_pyboy_get8(r); /* a pressed key is 0 */
    in->m->joypad.keys = (uint8_t)((~directions & 0x0F) | (~buttons & 0x0F) << 4);
}

dm_status dm_pyboy_check_old(const dm_gb *gb, const uint8_t *bytes, size_t size, dm_error *err)
{
    const dm_gb_rom *rom = &gb->rom;
    unsigned version = bytes[0];
    uint32_t ram = dm_pyboy_ram_banks(rom) * 0x2000u;
    size_t wanted = old_size(version) + ram + (rom->has_rtc ? OLD_CLOCK_SIZE : 0);
    if (rom->mapper == DM_GB_MAPPER_MBC1 || rom->mapper == DM_GB_MAPPER_MBC1_MULTI)
        wanted += 2;
    if (size > 4 && version >= 8 && bytes[4] != 0)
        return dm_fail(err, DM_EINVAL, "PyBoy state: of a Game Boy Color, this machine is a DMG");
    if (size > 1 && bytes[1] != 0)
        return dm_fail(err, DM_EINVAL, "PyBoy state: saved while the boot ROM was running");
    if (size != wanted || rom->ram_size > ram)
        return dm_fail(err, DM_EINVAL,
                       "PyBoy state: %zu bytes, but a version %u has %zu for \"%s\" (%s, %u KiB of "
                       "RAM): of another ROM, or damaged",
                       size, version, wanted, rom->title, rom->type_name, rom->ram_size / 1024u);
    return DM_OK;
}
