/* SPDX-License-Identifier: MIT */
/* state_pyboy.c - reading PyBoy's save states.
 *
 * The file is a stream of little-endian integers without names or tags, in the order in which the
 * parts are read below; only the sound buffer and cartridge RAM vary in length. The layout was
 * learnt by reading PyBoy's public sources and from files it wrote.
 *
 * Both emulators stand between two instructions when they save, so time is easy to carry over:
 * every device is placed by how far it is from its next event. Our picture unit keeps more than
 * PyBoy's (edges of the line, the STAT line, lines of the window); that is worked out by letting
 * the unit run from the top of the frame to where the file stands, with the registers of the file.
 */
#include "gb/host/state_pyboy.h"

#include "gb/cpu/run.h"
#include "gb/host/core.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_SIZE = 6,
    CPU_SIZE = 27,
    DMA_SIZE = 12,
    LCD_SIZE = 0x2000 + 160 + 12 + 144 * 5 + 6 + 3 * 8 + 2,
    SOUND_SIZE = 3 * 8 + 1 + 3 * 8 + 4 * 8 + 3 + 8 + 1, /* without the buffer */
    TONE_SIZE = 60,
    SWEEP_SIZE = TONE_SIZE + 45,
    WAVE_SIZE = 74,
    NOISE_SIZE = 90,
    SCREEN_SIZE = 144 * 160 * 5 + 1,
    RAM_SIZE = 0x2000 + 0x60 + 0x4C + 0x7F + 1,
    TIMER_SIZE = 25,
    CART_SIZE = 4, /* without RAM, clock and what single mappers add */
    CLOCK_SIZE = 33,
    JOYPAD_SIZE = 2,
    SERIAL_SIZE = 36,
    SGB_SIZE = 11 + 0x2000 + 0x800 + 0x80,
    FIXED_SIZE = HEADER_SIZE + CPU_SIZE + DMA_SIZE + LCD_SIZE + SOUND_SIZE + SWEEP_SIZE +
                 TONE_SIZE + WAVE_SIZE + NOISE_SIZE + SCREEN_SIZE + RAM_SIZE + TIMER_SIZE +
                 CART_SIZE + JOYPAD_SIZE + SERIAL_SIZE + SGB_SIZE,
    /* Sound samples in a frame, from which follows the length of the buffer. */
    SAMPLES_AT = HEADER_SIZE + CPU_SIZE + DMA_SIZE + LCD_SIZE + 8,
    /* Versions 7 to 12: parts that all of them have. */
    OLD_LINES_SIZE = 144 * 5,
    OLD_PIXELS = 144 * 160,
    OLD_RAM_SIZE = 0x2000 + 0x60 + 0x4C + 0x7F + 0x34,
    OLD_SIZE = 2 + 16 + 0x2000 + 160 + 11 + OLD_LINES_SIZE + 4 * OLD_PIXELS + OLD_RAM_SIZE + 8 +
               CART_SIZE + JOYPAD_SIZE,
    OLD_CLOCK_SIZE = 6
};
#define OLDEST 7u
#define OLD_NEWEST 12u
#define SAMPLES_MOST 0x10000u /* a frame of 3.9 MHz sound */

/* ---- Reading; the size was checked before ---- */

typedef struct reader {
    const uint8_t *at;
} reader;

static uint8_t get8(reader *r)
{
    return *r->at++;
}

static uint16_t get16(reader *r)
{
    uint16_t low = get8(r);
    return (uint16_t)(low | get8(r) << 8);
}

static uint64_t get64(reader *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 64; i += 8)
        value |= (uint64_t)get8(r) << i;
    return value;
}

static void get_bytes(reader *r, uint8_t *out, size_t size)
{
    memcpy(out, r->at, size);
    r->at += size;
}

static void skip(reader *r, size_t size)
{
    r->at += size;
}

/* A distance in T-cycles, limited to a plausible one. */
static uint32_t distance(uint64_t cycles, uint32_t most)
{
    return cycles < most ? (uint32_t)cycles : most;
}

/* ---- The parts ---- */

/* Values that several parts need. */
typedef struct import {
    dm_gb *gb;
    dm_gb_machine *m;
    uint8_t *ram;
    uint64_t cycles;       /* T-cycles since power-on, by PyBoy's count */
    uint32_t frame_cycles; /* place in the frame */
    uint8_t ly, first_frame, window_on;
} import;

static void read_registers(dm_gb_cpu *cpu, reader *r)
{
    cpu->a = get8(r);
    cpu->f = get8(r) & 0xF0;
    cpu->b = get8(r);
    cpu->c = get8(r);
    cpu->d = get8(r);
    cpu->e = get8(r);
    uint16_t hl = get16(r);
    cpu->h = (uint8_t)(hl >> 8);
    cpu->l = (uint8_t)hl;
    cpu->sp = get16(r);
    cpu->pc = get16(r);
    cpu->ime = get8(r) != 0;
}

static void read_halt(import *in, reader *r)
{
    dm_gb_cpu *cpu = &in->m->cpu;
    if (get8(r) != 0) {
        /* PC stays at the HALT there. */
        cpu->mode = DM_GB_HALTED;
        cpu->pc++;
        cpu->halted_at = in->m->clock - 4u;
    }
    skip(r, 1); /* STOP is never in effect */
    in->ram[DM_GB_IE] = get8(r);
}

static void read_cpu(import *in, reader *r)
{
    dm_gb_machine *m = in->m;
    dm_gb_cpu *cpu = &m->cpu;
    read_registers(cpu, r);
    cpu->ei_delay = get8(r) != 0 && !cpu->ime;
    read_halt(in, r);
    skip(r, 1);
    m->int_flags = get8(r) & 0x1F;
    in->cycles = get64(r);
    m->cycles_low = (uint32_t)in->cycles;
    m->cycles_high = (uint32_t)(in->cycles >> 32);
    m->counted_at = m->clock;
}

static void read_dma(import *in, reader *r)
{
    dm_gb_dma *dma = &in->m->dma;
    bool active = get8(r) != 0;
    skip(r, 1);
    dma->reg = get8(r);
    dma->source = (uint16_t)(dma->reg << 8);
    skip(r, 1);
    /* Its count begins one M-cycle after ours. */
    uint64_t elapsed = in->cycles - get64(r) + 4u;
    if (!active || elapsed >= DM_GB_DMA_CYCLES)
        return;
    dma->active = 1;
    dma->start = in->m->clock - (uint32_t)elapsed;
    dma->next = (uint8_t)dm_gb_dma_done(in->m, in->m->clock);
}

/* VRAM, OAM and the registers, which files of all versions have alike. Returns STAT's mode. */
static uint8_t read_picture_registers(import *in, reader *r)
{
    dm_gb_ppu *ppu = &in->m->ppu;
    get_bytes(r, in->ram + DM_GB_VRAM, 0x2000);
    get_bytes(r, in->ram + DM_GB_OAM, 160);
    ppu->lcdc = get8(r);
    ppu->bgp = get8(r);
    ppu->obp0 = get8(r);
    ppu->obp1 = get8(r);
    uint8_t stat = get8(r);
    ppu->stat = stat & 0x78;
    ppu->lyc_bit = (stat & 4) != 0;
    in->ly = get8(r);
    ppu->lyc = get8(r);
    ppu->scy = get8(r);
    ppu->scx = get8(r);
    ppu->wy = get8(r);
    ppu->wx = get8(r);
    return stat & 3;
}

static void read_lcd(import *in, reader *r)
{
    read_picture_registers(in, r);
    skip(r, 1 + 144 * 5 + 4); /* scroll registers by line, flags of the colour model */
    in->first_frame = get8(r) != 0;
    skip(r, 1 + 8);
    in->frame_cycles = distance(get64(r), DM_GB_FRAME_CYCLES - 1u) & ~3u; /* as accesses are */
    skip(r, 8 + 2);
}

/* NRx1 to NRx4 of a square channel, at `reg`; gives the channel's frequency. */
static uint16_t read_tone(dm_gb_apu *apu, reader *r, uint32_t channel)
{
    uint8_t *reg = apu->regs + 5u * channel;
    uint8_t bit = (uint8_t)(1u << channel);
    uint8_t duty = get8(r);
    reg[1] = (uint8_t)(duty << 6 | (get8(r) & 0x3F));
    uint8_t volume = get8(r), direction = get8(r);
    reg[2] = (uint8_t)(volume << 4 | (direction & 1) << 3 | (get8(r) & 7));
    uint16_t frequency = get16(r) & 0x7FF;
    bool length_on = get8(r) != 0;
    reg[3] = (uint8_t)frequency;
    reg[4] = (uint8_t)((length_on ? 0x40 : 0) | frequency >> 8);
    apu->length_on |= length_on ? bit : 0;
    apu->active |= get8(r) != 0 ? bit : 0;
    apu->length[channel] = (uint16_t)distance(get64(r), 64);
    skip(r, 5 * 8 + 3);
    return frequency;
}

static void read_sweep(dm_gb_apu *apu, reader *r)
{
    read_tone(apu, r, 0);
    uint8_t pace = get8(r) & 7, down = get8(r) & 1, shift = get8(r) & 7;
    apu->regs[DM_GB_NR10] = (uint8_t)(pace << 4 | down << 3 | shift);
    apu->sweep_count = (uint8_t)(7u - distance(get64(r), 7));
    skip(r, 3 * 8 + 1);
    bool on = get8(r) != 0;
    uint16_t shadow = (uint16_t)(get64(r) & 0x7FF);
    if (on && shift != 0) {
        apu->sweep_shadow = shadow;
        apu->sweep_addend = (uint16_t)(shadow >> shift ^ (down ? 0x7FF : 0));
    }
}

static void read_wave(dm_gb_apu *apu, reader *r, uint32_t now)
{
    get_bytes(r, apu->regs + DM_GB_WAVE, 16);
    apu->regs[DM_GB_NR30] = (uint8_t)(get8(r) << 7);
    apu->regs[DM_GB_NR31] = get8(r);
    apu->regs[DM_GB_NR32] = (uint8_t)((get8(r) & 3) << 5);
    uint16_t frequency = get16(r) & 0x7FF;
    bool length_on = get8(r) != 0;
    apu->regs[DM_GB_NR33] = (uint8_t)frequency;
    apu->regs[DM_GB_NR34] = (uint8_t)((length_on ? 0x40 : 0) | frequency >> 8);
    apu->length_on |= length_on ? 4 : 0;
    apu->active |= get8(r) != 0 ? 4 : 0;
    apu->length[2] = (uint16_t)distance(get64(r), 256);
    uint32_t period = dm_gb_apu_wave_period(apu);
    uint32_t wait = distance(get64(r), period);
    skip(r, 8);
    uint8_t position = (uint8_t)(get64(r) & 31);
    if ((apu->active & 4) != 0) {
        apu->wave_next = now + wait;
        apu->wave_read = apu->wave_next - period;
        apu->wave_position = position;
        apu->wave_started = 1;
    }
    skip(r, 1 + 8 + 2 + 8);
}

static void read_noise(dm_gb_apu *apu, reader *r)
{
    apu->regs[DM_GB_NR41] = get8(r) & 0x3F;
    uint8_t volume = get8(r), direction = get8(r);
    apu->regs[DM_GB_NR42] = (uint8_t)(volume << 4 | (direction & 1) << 3 | (get8(r) & 7));
    uint8_t shift = get8(r), narrow = get8(r);
    apu->regs[DM_GB_NR43] = (uint8_t)(shift << 4 | (narrow & 1) << 3 | (get8(r) & 7));
    bool length_on = get8(r) != 0;
    apu->regs[DM_GB_NR44] = length_on ? 0x40 : 0;
    apu->length_on |= length_on ? 8 : 0;
    apu->active |= get8(r) != 0 ? 8 : 0;
    apu->length[3] = (uint16_t)distance(get64(r), 64);
    skip(r, 9 * 8 + 1);
}

static void read_sound(import *in, reader *r, uint32_t buffer)
{
    dm_gb_apu *apu = &in->m->apu;
    memset(apu, 0, sizeof *apu);
    apu->synced = in->m->clock;
    skip(r, 3 * 8 + buffer + 1 + 5 * 8);
    uint64_t skipping = get64(r);
    /* PyBoy codes "the next edge is skipped" as 2 and 5, and "the last edge was skipped" as 1. */
    apu->skip = skipping == 2 || skipping == 5 ? DM_GB_APU_SKIP_NEXT
                : skipping == 1                ? DM_GB_APU_SKIPPED
                                               : DM_GB_APU_STEPS;
    apu->step = (uint8_t)(get64(r) & 7);
    skip(r, 1);
    apu->power = get8(r) != 0;
    skip(r, 1);
    for (int i = 0; i < 8; i++)
        apu->regs[DM_GB_NR51] |= get8(r);
    apu->regs[DM_GB_NR50] = get8(r);
    read_sweep(apu, r);
    read_tone(apu, r, 1);
    read_wave(apu, r, in->m->clock);
    read_noise(apu, r);
}

/* The picture is not taken, nor what PyBoy keeps at FEA0..FEFF, where a DMG has nothing. */
static void read_ram(import *in, reader *r)
{
    skip(r, SCREEN_SIZE - 1);
    in->window_on = get8(r) != 0;
    get_bytes(r, in->ram + DM_GB_WRAM, 0x2000);
    skip(r, 0x60);
    uint8_t p1 = get8(r);
    /* Selecting neither row is kept as CF, which selecting both also gives, rarely. */
    in->m->joypad.select = p1 == 0xCF ? 0x30 : p1 & 0x30;
    skip(r, 0x4C - 1);
    get_bytes(r, in->ram + DM_GB_HRAM, 0x7F);
    skip(r, 1);
}

static void read_timer(import *in, reader *r)
{
    dm_gb_timer *timer = &in->m->timer;
    uint32_t now = in->m->clock;
    enum { COUNTING, OVERFLOWED, RELOADED };
    skip(r, 1);
    timer->tima = get8(r);
    timer->div_base = now - get16(r);
    timer->synced = now;
    uint32_t wait = distance(get16(r), 4);
    timer->tma = get8(r);
    timer->tac = get8(r) & 7;
    timer->reload_at = now + 1u; /* no access happens then */
    uint8_t reload = get8(r);
    if (reload == OVERFLOWED) {
        timer->overflowed = 1;
        timer->tima = 0;
        timer->reload_at = now + wait;
    } else if (reload == RELOADED) {
        timer->reload_at = now + wait - 4u;
    }
    skip(r, 2 * 8);
}

/* Banks of 8 KiB that PyBoy saves: at least one, whatever the cartridge has. */
static uint32_t ram_banks(const dm_gb_rom *rom)
{
    switch (rom->ram_code) {
    case 3:
        return 4;
    case 4:
        return 16;
    case 5:
        return 8;
    default:
        return 1;
    }
}

static void read_clock(dm_gb_cart *cart, reader *r, uint32_t now)
{
    skip(r, 8 + 2);
    uint8_t *rtc = cart->rtc;
    rtc[DM_GB_RTC_SECONDS] = get8(r) & 0x3F;
    rtc[DM_GB_RTC_MINUTES] = get8(r) & 0x3F;
    rtc[DM_GB_RTC_HOURS] = get8(r) & 0x1F;
    rtc[DM_GB_RTC_DAYS_LOW] = get8(r);
    rtc[DM_GB_RTC_DAYS_HIGH] = get8(r) & 1;
    rtc[DM_GB_RTC_DAYS_HIGH] |= get8(r) != 0 ? DM_GB_RTC_HALT : 0;
    rtc[DM_GB_RTC_DAYS_HIGH] |= get8(r) != 0 ? DM_GB_RTC_CARRY : 0;
    cart->rtc_fraction = (uint32_t)(get64(r) & ((1u << DM_GB_RTC_SECOND_SHIFT) - 1u));
    cart->rtc_synced = now;
    /* The latched copy is not in the file. */
    memcpy(cart->rtc_latched, rtc, sizeof cart->rtc_latched);
    skip(r, 8);
}

/* Old files have the time of day at which the clock stood at 0, to 128 seconds: nothing to go by,
 * so that the clock begins at 0. */
static void read_old_clock(dm_gb_cart *cart, reader *r, uint32_t now)
{
    skip(r, 4);
    cart->rtc[DM_GB_RTC_DAYS_HIGH] = get8(r) != 0 ? DM_GB_RTC_HALT : 0;
    cart->rtc[DM_GB_RTC_DAYS_HIGH] |= get8(r) != 0 ? DM_GB_RTC_CARRY : 0;
    cart->rtc_synced = now;
    memcpy(cart->rtc_latched, cart->rtc, sizeof cart->rtc_latched);
}

static void read_cart(import *in, reader *r, bool old)
{
    const dm_gb_rom *rom = &in->gb->rom;
    dm_gb_cart *cart = &in->m->cart;
    uint32_t now = in->m->clock;
    uint8_t rom_bank = get8(r), ram_bank = get8(r);
    bool ram_enabled = get8(r) != 0;
    uint8_t mode = get8(r);
    memcpy(in->ram + DM_GB_CART_RAM, r->at, rom->ram_size);
    for (uint32_t i = 0; i < rom->ram_size; i++)
        in->ram[DM_GB_CART_RAM + i] |= dm_gb_cart_open_bits(cart);
    skip(r, (size_t)ram_banks(rom) * 0x2000);
    if (rom->has_rtc && old)
        read_old_clock(cart, r, now);
    else if (rom->has_rtc)
        read_clock(cart, r, now);
    bool mbc1 = rom->mapper == DM_GB_MAPPER_MBC1 || rom->mapper == DM_GB_MAPPER_MBC1_MULTI;
    if (mbc1) {
        rom_bank = get8(r);
        ram_bank = get8(r);
    } else if (!old && rom->mapper == DM_GB_MAPPER_MBC5 && get8(r) != 0) {
        ram_bank |= get8(r) != 0 ? 8 : 0;
    }
    /* As a program would have set them. */
    dm_gb_cart_write(cart, now, 0x0000, ram_enabled ? 0x0A : 0x00);
    dm_gb_cart_write(cart, now, 0x2100, rom_bank);
    if (rom->mapper != DM_GB_MAPPER_MBC2)
        dm_gb_cart_write(cart, now, 0x4000, ram_bank);
    if (mbc1)
        dm_gb_cart_write(cart, now, 0x6000, mode);
}

static void read_joypad_and_serial(import *in, reader *r)
{
    dm_gb_serial *serial = &in->m->serial;
    uint8_t directions = get8(r), buttons = get8(r); /* a pressed key is 0 */
    in->m->joypad.keys = (uint8_t)((~directions & 0x0F) | (~buttons & 0x0F) << 4);
    serial->sb = get8(r);
    serial->sc = get8(r) & 0x81;
    bool transferring = get8(r) != 0;
    bool internal = get8(r) != 0;
    skip(r, 2 * 8);
    uint64_t clock = get64(r);
    uint64_t left = get64(r) - clock;
    if (transferring && internal) {
        /* Its transfers are shorter; this one ends when it would have there. */
        uint32_t wait = distance(left, 8u * DM_GB_SERIAL_BIT);
        serial->bits_left = (uint8_t)(1u + (wait > 0 ? wait - 1u : 0u) / DM_GB_SERIAL_BIT);
        serial->next_bit = in->m->clock + wait - (serial->bits_left - 1u) * DM_GB_SERIAL_BIT;
    }
}

/* ---- Versions 7 to 12 ----
 *
 * PyBoy 1.4.1 (7) to 2.4.1 (12). Version 8 brought what a Game Boy Color needs, IF and the picture
 * unit's clocks, 10 a byte to each pixel, 11 another place for the scroll registers by line, 12
 * counts of cycles. None has the sound. */

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

static void read_old_cpu(import *in, reader *r, unsigned version)
{
    dm_gb_machine *m = in->m;
    dm_gb_cpu *cpu = &m->cpu;
    read_registers(cpu, r);
    read_halt(in, r);
    if (version >= 8) {
        skip(r, 1);
        m->int_flags = get8(r) & 0x1F;
    }
    if (version >= 12)
        in->cycles = get64(r);
    m->cycles_low = (uint32_t)in->cycles;
    m->cycles_high = (uint32_t)(in->cycles >> 32);
    m->counted_at = m->clock;
}

/* Where a frame stands whose line is `ly`, in a mode that ends after `left` cycles. */
static uint32_t old_frame_cycles(uint8_t ly, uint8_t mode, uint64_t left)
{
    static const uint16_t ends[] = {DM_GB_LINE_CYCLES, DM_GB_LINE_CYCLES, 80, 250};
    uint32_t line = ly < 154u ? ly : 153u;
    uint32_t into = ends[mode] - distance(left, ends[mode]);
    into = into < DM_GB_LINE_CYCLES ? into : DM_GB_LINE_CYCLES - 4u;
    return line * DM_GB_LINE_CYCLES + (into & ~3u);
}

static void read_old_lcd(import *in, reader *r, unsigned version)
{
    const uint8_t mode = read_picture_registers(in, r);
    const dm_gb_ppu *ppu = &in->m->ppu;
    uint64_t left = mode == 2 ? 80u : mode == 3 ? 170u : mode == 0 ? 206u : DM_GB_LINE_CYCLES;
    if (version >= 11)
        skip(r, OLD_LINES_SIZE);
    if (version >= 8) {
        skip(r, version >= 12 ? 2 + 8 : 2);
        uint64_t clock = get64(r);
        left = get64(r) - clock;
        skip(r, 1);
    } else if (mode == 1 && in->ly > DM_GB_VBLANK_LINE) {
        /* LY was already raised when the frame ended, and the request that ended it is not in the
         * file. */
        in->m->int_flags |= in->ly-- == DM_GB_VBLANK_LINE + 1u ? DM_GB_INT_VBLANK : 0;
    }
    in->frame_cycles = old_frame_cycles(in->ly, mode, left);
    in->first_frame = left > DM_GB_LINE_CYCLES; /* LCD on, and no line before the next frame */
    if (in->first_frame)
        in->frame_cycles = (DM_GB_FRAME_CYCLES - distance(left, DM_GB_FRAME_CYCLES)) & ~3u;
    in->window_on = (ppu->lcdc & 0x20) != 0 && ppu->wy <= in->ly;
    if (version < 11)
        skip(r, OLD_LINES_SIZE);
    skip(r, (version >= 10 ? 5u : 4u) * OLD_PIXELS);
}

static void read_old_ram(import *in, reader *r)
{
    dm_gb_machine *m = in->m;
    uint8_t io[0x4C];
    get_bytes(r, in->ram + DM_GB_WRAM, 0x2000);
    skip(r, 0x60);
    get_bytes(r, io, sizeof io);
    get_bytes(r, in->ram + DM_GB_HRAM, 0x7F);
    skip(r, 0x34);
    m->joypad.select = (io[0] | 0x0F) == 0xCF ? 0x30 : io[0] & 0x30;
    m->serial.sb = io[1];
    m->serial.sc = io[2] & 1; /* transfers are not timed there */
    m->dma.reg = io[0x46];
    m->dma.source = (uint16_t)(m->dma.reg << 8);
}

/* DIV and TIMA count apart there. DIV as it reads is kept; where the cycles to TIMA's next count
 * lie within one of DIV, they are TIMA's. */
static void read_old_timer(import *in, reader *r, unsigned version)
{
    static const uint16_t dividers[] = {1024, 16, 64, 256};
    dm_gb_timer *timer = &in->m->timer;
    uint8_t div = get8(r);
    timer->tima = get8(r);
    uint32_t low = get16(r) & 0xFFu, counted = get16(r);
    timer->tma = get8(r);
    timer->tac = get8(r) & 7;
    uint32_t divider = dividers[timer->tac & 3];
    if ((timer->tac & 4) != 0 && divider <= 256)
        low = (low & ~(divider - 1u)) | (counted & (divider - 1u));
    timer->div_base = in->m->clock - ((uint32_t)div << 8 | low);
    timer->synced = in->m->clock;
    timer->reload_at = in->m->clock + 1u; /* no access happens then */
    if (version >= 12)
        skip(r, 8);
}

static void read_old(import *in, reader *r, unsigned version)
{
    skip(r, version >= 8 ? 5 : 2);
    read_old_cpu(in, r, version);
    read_old_lcd(in, r, version);
    dm_gb_apu_reset(&in->m->apu, in->m->clock, true);
    read_old_ram(in, r);
    read_old_timer(in, r, version);
    read_cart(in, r, true);
    uint8_t directions = get8(r), buttons = get8(r); /* a pressed key is 0 */
    in->m->joypad.keys = (uint8_t)((~directions & 0x0F) | (~buttons & 0x0F) << 4);
}

/* ---- Together ---- */

/* Bring the picture unit to where the file's stands. PyBoy's line begins 8 dots later than ours,
 * and in the first frame after switching on its lines come 4 cycles earlier, VBlank 8. */
static void place_picture(import *in)
{
    dm_gb_machine *m = in->m;
    dm_gb_ppu *ppu = &m->ppu;
    uint8_t requests = m->int_flags;
    ppu->mode_int = DM_GB_NONE;
    if (!dm_gb_lcd_on(m)) {
        bool lyc_bit = ppu->lyc_bit != 0;
        dm_gb_lcd_stop(m);
        ppu->lyc_line = ppu->lyc_bit = lyc_bit;
        return;
    }
    dm_gb_context context = in->gb->context;
    context.m = m;
    context.ram = in->ram;
    context.frames = NULL;
    context.draw = DM_GB_DRAW_NEVER;
    uint32_t into_frame = in->frame_cycles + 8u;
    if (in->first_frame) {
        into_frame += in->ly >= DM_GB_VBLANK_LINE ? 8u : 4u;
        dm_gb_lcd_start(&context, m->clock - into_frame + 8u);
    } else {
        ppu->line_start = m->clock - into_frame;
        ppu->next_dot = 3;
        ppu->mode_int = 1;
        dm_gb_start_frame(&context);
        dm_gb_stat_update(m);
        ppu->blank = 0;
    }
    dm_gb_ppu_sync(&context, m->clock);
    dm_gb_mode0_sync(&context, m->clock);
    if (ppu->line < DM_GB_VBLANK_LINE)
        ppu->window_on = in->window_on;
    ppu->frames = 0;
    m->int_flags = requests;
}

bool dm_gb_is_pyboy_state(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    if (size < FIXED_SIZE / 2 || at[0] < 2 || at[0] >= ' ')
        return false;
    if (at[0] >= OLDEST && at[0] <= OLD_NEWEST)
        return at[1] <= 1 && (at[0] == OLDEST || at[4] <= 1);
    return at[1] <= 1 && at[5] <= 1; /* the boot ROM is on, it is a Game Boy Color */
}

static dm_status check_old(const dm_gb *gb, const uint8_t *bytes, size_t size, dm_error *err)
{
    const dm_gb_rom *rom = &gb->rom;
    unsigned version = bytes[0];
    uint32_t ram = ram_banks(rom) * 0x2000u;
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

static dm_status check(const dm_gb *gb, const uint8_t *bytes, size_t size, dm_error *err)
{
    const dm_gb_rom *rom = &gb->rom;
    if (size > 0 && bytes[0] >= OLDEST && bytes[0] <= OLD_NEWEST)
        return check_old(gb, bytes, size, err);
    if (size < 1 || bytes[0] != DM_GB_PYBOY_VERSION)
        return dm_fail(err, DM_EINVAL,
                       "PyBoy state: version %u; versions %u to %u (PyBoy 1.4.1 to 2.4.1) and %u "
                       "(PyBoy 2.8.1) can be read",
                       size < 1 ? 0u : (unsigned)bytes[0], OLDEST, OLD_NEWEST, DM_GB_PYBOY_VERSION);
    if (size < FIXED_SIZE)
        return dm_fail(err, DM_EINVAL, "PyBoy state: truncated: %zu bytes of at least %d", size,
                       FIXED_SIZE);
    if (bytes[5] != 0)
        return dm_fail(err, DM_EINVAL, "PyBoy state: of a Game Boy Color, this machine is a DMG");
    if (bytes[1] != 0)
        return dm_fail(err, DM_EINVAL, "PyBoy state: saved while the boot ROM was running");
    reader r = {bytes + SAMPLES_AT};
    uint64_t samples = get64(&r);
    if (samples > SAMPLES_MOST)
        return dm_fail(err, DM_EINVAL, "PyBoy state: damaged: %llu sound samples in a frame",
                       (unsigned long long)samples);
    uint32_t ram = ram_banks(rom) * 0x2000u;
    size_t extra = rom->has_rtc ? CLOCK_SIZE : 0;
    if (rom->mapper == DM_GB_MAPPER_MBC1 || rom->mapper == DM_GB_MAPPER_MBC1_MULTI)
        extra += 2;
    else if (rom->mapper == DM_GB_MAPPER_MBC5)
        extra += rom->has_rumble ? 2 : 1;
    size_t wanted = FIXED_SIZE + 2u * ((size_t)samples + 1u) + ram + extra;
    if (size != wanted || rom->ram_size > ram)
        return dm_fail(err, DM_EINVAL,
                       "PyBoy state: %zu bytes, but %zu for \"%s\" (%s, %u KiB of RAM): of another "
                       "ROM, or damaged",
                       size, wanted, rom->title, rom->type_name, rom->ram_size / 1024u);
    return DM_OK;
}

dm_status dm_gb_load_pyboy_state(dm_gb *gb, const void *bytes, size_t size, dm_error *err)
{
    dm_status status = check(gb, bytes, size, err);
    if (status != DM_OK)
        return status;
    uint8_t *ram = calloc(1, gb->ram_size);
    if (ram == NULL)
        return dm_fail(err, DM_ENOMEM, "PyBoy state: no memory for %u bytes", gb->ram_size);
    dm_gb_machine m;
    dm_gb_start_machine(&m, &gb->rom, DM_GB_START_ZERO);
    m.profile = gb->machine.profile;
    m.target = m.clock;
    m.next_event = m.clock;
import in = {.gb = gb, .m = & m, .ram = ram };
    unsigned version = *(const uint8_t *)bytes;
    reader r = {bytes};
    if (version <= OLD_NEWEST) {
        read_old(&in, &r, version);
    } else {
        r.at += SAMPLES_AT;
        uint32_t buffer = 2u * ((uint32_t)get64(&r) + 1u);
        r.at = (const uint8_t *)bytes + HEADER_SIZE;
        read_cpu(&in, &r);
        read_dma(&in, &r);
        read_lcd(&in, &r);
        read_sound(&in, &r, buffer);
        read_ram(&in, &r);
        read_timer(&in, &r);
        read_cart(&in, &r, false);
        read_joypad_and_serial(&in, &r);
    }
    place_picture(&in);
    gb->machine = m;
    memcpy(gb->ram, ram, gb->ram_size);
    free(ram);
    dm_gb_map(&gb->context);
    return DM_OK;
}
