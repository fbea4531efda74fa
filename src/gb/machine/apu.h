/* SPDX-License-Identifier: MIT */
/* apu.h - sound as a program can read it back; kernel text. No samples are made.
 *
 * What a DMG lets a program see of its sound: the registers through their masks, which channels are
 * on (NR52), and wave RAM while channel 3 plays it. So only what leads to those is computed: the
 * length counters, channel 1's sweep, the DACs and the place where channel 3 reads. Envelopes, duty
 * and noise cannot be seen and are not kept.
 *
 * Two clocks drive it:
 *
 *   the sequencer  steps at each falling edge of bit 12 of the counter behind DIV (512 Hz):
 *                  length counters at every other step, the sweep at every fourth
 *   channel 3      reads a sample each 2 * (2048 - frequency) T-cycles
 *
 * dm_gb_apu_sync brings both up to `now`: a loop over the steps that have passed (nine in a frame,
 * none when nothing is running that they could change) and one division for channel 3. Every entry
 * below syncs first; the caller syncs at least every 2^30 T-cycles and before the counter behind
 * DIV is set to anything (dm_gb_apu_div_reset). `div` is always the 16-bit counter at `now`.
 *
 * Facts: Pan Docs; blargg's dmg_sound tests; SameBoy's notes on the DIV bit at power-on and on the
 * sweep's adder. */
#ifndef DM_GB_APU_H
#define DM_GB_APU_H

#include "base/port.h"

enum dm_gb_apu_register { /* offset from FF10 */
                          DM_GB_NR10 = 0x00,
                          DM_GB_NR11 = 0x01,
                          DM_GB_NR12 = 0x02,
                          DM_GB_NR13 = 0x03,
                          DM_GB_NR14 = 0x04,
                          DM_GB_NR21 = 0x06,
                          DM_GB_NR22 = 0x07,
                          DM_GB_NR23 = 0x08,
                          DM_GB_NR24 = 0x09,
                          DM_GB_NR30 = 0x0A,
                          DM_GB_NR31 = 0x0B,
                          DM_GB_NR32 = 0x0C,
                          DM_GB_NR33 = 0x0D,
                          DM_GB_NR34 = 0x0E,
                          DM_GB_NR41 = 0x10,
                          DM_GB_NR42 = 0x11,
                          DM_GB_NR43 = 0x12,
                          DM_GB_NR44 = 0x13,
                          DM_GB_NR50 = 0x14,
                          DM_GB_NR51 = 0x15,
                          DM_GB_NR52 = 0x16,
                          DM_GB_WAVE = 0x20
};

/* After power-on with bit 12 of the counter set, the first falling edge does nothing. */
enum dm_gb_apu_skip { DM_GB_APU_STEPS, DM_GB_APU_SKIP_NEXT, DM_GB_APU_SKIPPED };

#define DM_GB_APU_STEP_CYCLES 8192u /* from one falling edge of bit 12 to the next */
#define DM_GB_APU_STEP_BIT 0x1000u
#define DM_GB_APU_WAVE_DELAY 6u /* T-cycles from a trigger to the start of the first period */

typedef struct dm_gb_apu {
    uint32_t synced;
    uint32_t wave_next;    /* when channel 3 reads its next sample; meaningful while it is on */
    uint32_t wave_read;    /* when it last did; likewise */
    uint16_t length[4];    /* steps until a channel goes off, if its bit in length_on is set */
    uint16_t sweep_shadow; /* frequency that the sweep started from */
    uint16_t sweep_addend; /* what it adds next, as the one's complement where it subtracts */
    uint8_t regs[0x30];    /* FF10..FF3F as written */
    uint8_t power;         /* NR52 bit 7: 0 or 1 */
    uint8_t active;        /* bits 0..3: channels that are on */
    uint8_t length_on;     /* bits 0..3: NRx4 bit 6 */
    uint8_t step;          /* sequencer steps done, modulo 8; odd: the last one clocked lengths */
    uint8_t skip;          /* enum dm_gb_apu_skip */
    uint8_t sweep_count;   /* counts up; at 7 the sweep is due */
    uint8_t wave_position; /* 0..31, the sample that was last read */
    uint8_t wave_started;  /* a sample was read since the trigger */
} dm_gb_apu;

/* Bits that always read as 1. */
DM_TABLE uint8_t dm_gb_apu_read_mask[0x20] = {
    0x80, 0x3F, 0x00, 0xFF, 0xBF, /* NR10..NR14 */
    0xFF, 0x3F, 0x00, 0xFF, 0xBF, /* FF15, NR21..NR24 */
    0x7F, 0xFF, 0x9F, 0xFF, 0xBF, /* NR30..NR34 */
    0xFF, 0xFF, 0x00, 0x00, 0xBF, /* FF1F, NR41..NR44 */
    0x00, 0x00, 0x70,             /* NR50..NR52 */
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
};

/* ---- Channel 1's sweep ---- */

DM_FN uint32_t dm_gb_apu_frequency(const dm_gb_apu *apu, uint32_t low_register)
{
    return apu->regs[low_register] | ((uint32_t)(apu->regs[low_register + 1u] & 7u) << 8);
}

/* The adder works one step ahead: what it will add is computed now, and a sum above 7FF switches
 * the channel off at once. (On hardware a few cycles later, which no program has been seen to
 * need.) */
DM_FN void dm_gb_apu_sweep_prepare(dm_gb_apu *apu)
{
    uint32_t frequency = dm_gb_apu_frequency(apu, DM_GB_NR13);
    uint32_t addend = frequency >> (apu->regs[DM_GB_NR10] & 7u);
    if (apu->regs[DM_GB_NR10] & 8u)
        addend ^= 0x7FFu;
    else if (frequency + addend > 0x7FFu)
        apu->active &= (uint8_t)~1u;
    apu->sweep_shadow = (uint16_t)frequency;
    apu->sweep_addend = (uint16_t)addend;
}

/* Take the prepared sum, if the sweep is due and has a period. */
DM_FN void dm_gb_apu_sweep_take(dm_gb_apu *apu)
{
    uint32_t nr10 = apu->regs[DM_GB_NR10];
    if (apu->sweep_count != 7u || !(nr10 & 0x70u))
        return;
    if (nr10 & 7u) {
        uint32_t frequency = apu->sweep_shadow + apu->sweep_addend + ((nr10 >> 3) & 1u);
        apu->regs[DM_GB_NR13] = (uint8_t)frequency;
        apu->regs[DM_GB_NR14] = (uint8_t)((apu->regs[DM_GB_NR14] & ~7u) | ((frequency >> 8) & 7u));
    }
    dm_gb_apu_sweep_prepare(apu);
    apu->sweep_count = (uint8_t)(((nr10 >> 4) & 7u) ^ 7u);
}

DM_FN void dm_gb_apu_sweep_trigger(dm_gb_apu *apu)
{
    uint32_t nr10 = apu->regs[DM_GB_NR10];
    apu->sweep_shadow = 0;
    apu->sweep_addend = 0;
    if (nr10 & 7u)
        dm_gb_apu_sweep_prepare(apu);
    apu->sweep_count = (uint8_t)(((nr10 >> 4) & 7u) ^ 7u);
}

DM_FN void dm_gb_apu_sweep_write(dm_gb_apu *apu, uint8_t value)
{
    apu->regs[DM_GB_NR10] = value;
    /* Leaving negate mode after it was used: the complement is now added as it stands. */
    if (!(value & 8u) && (uint32_t)apu->sweep_shadow + apu->sweep_addend + 1u > 0x7FFu)
        apu->active &= (uint8_t)~1u;
    dm_gb_apu_sweep_take(apu);
}

/* ---- Time ---- */

DM_FN void dm_gb_apu_clock_lengths(dm_gb_apu *apu)
{
    for (uint32_t i = 0; i < 4u; i++) {
        if (!(((uint32_t)apu->length_on >> i) & 1u) || apu->length[i] == 0)
            continue;
        apu->length[i]--;
        if (apu->length[i] == 0)
            apu->active &= (uint8_t) ~(1u << i);
    }
}

/* One falling edge of bit 12, while the power is on. */
DM_FN_SLOW void dm_gb_apu_step(dm_gb_apu *apu)
{
    if (apu->skip == DM_GB_APU_SKIP_NEXT) {
        apu->skip = DM_GB_APU_SKIPPED;
        return;
    }
    if (apu->skip == DM_GB_APU_SKIPPED)
        apu->skip = DM_GB_APU_STEPS; /* `step` is ahead by one since power-on */
    else
        apu->step = (uint8_t)((apu->step + 1u) & 7u);
    if (apu->step & 1u)
        dm_gb_apu_clock_lengths(apu);
    if ((apu->step & 3u) == 3u) {
        apu->sweep_count = (uint8_t)((apu->sweep_count + 1u) & 7u);
        dm_gb_apu_sweep_take(apu);
    }
}

/* Can a step change more than the counters of the sequencer itself? */
DM_FN bool dm_gb_apu_steps_matter(const dm_gb_apu *apu)
{
    bool matter = apu->skip != DM_GB_APU_STEPS || (apu->regs[DM_GB_NR10] & 0x70u);
    for (uint32_t i = 0; i < 4u; i++)
        matter = matter || ((((uint32_t)apu->length_on >> i) & 1u) && apu->length[i] != 0);
    return matter;
}

DM_FN void dm_gb_apu_run_steps(dm_gb_apu *apu, uint32_t count)
{
    while (count != 0 && dm_gb_apu_steps_matter(apu)) {
        dm_gb_apu_step(apu);
        count--;
    }
    uint32_t end = apu->step + count;
    apu->sweep_count =
        (uint8_t)((apu->sweep_count + ((end + 1u) >> 2) - ((apu->step + 1u) >> 2)) & 7u);
    apu->step = (uint8_t)(end & 7u);
}

DM_FN uint32_t dm_gb_apu_wave_period(const dm_gb_apu *apu)
{
    return 2u * (2048u - dm_gb_apu_frequency(apu, DM_GB_NR33));
}

/* What is left of channel 3 once it is off cannot be seen again; zeros make the state independent
 * of when it was last synced. */
DM_FN void dm_gb_apu_wave_forget(dm_gb_apu *apu)
{
    apu->wave_next = 0;
    apu->wave_read = 0;
    apu->wave_position = 0;
    apu->wave_started = 0;
}

DM_FN_SLOW void dm_gb_apu_sync(dm_gb_apu *apu, uint32_t now, uint16_t div)
{
    uint32_t elapsed = now - apu->synced;
    apu->synced = now;
    if (!apu->power)
        return;
    /* Multiples of 8192 that the counter met after `synced`, the present one included. */
    uint32_t since_edge = div & (DM_GB_APU_STEP_CYCLES - 1u);
    if (elapsed > since_edge)
        dm_gb_apu_run_steps(apu, 1u + (elapsed - since_edge - 1u) / DM_GB_APU_STEP_CYCLES);
    if (!(apu->active & 4u)) {
        dm_gb_apu_wave_forget(apu);
    } else if ((int32_t)(now - apu->wave_next) >= 0) {
        uint32_t period = dm_gb_apu_wave_period(apu);
        uint32_t reads = (now - apu->wave_next) / period;
        apu->wave_read = apu->wave_next + reads * period;
        apu->wave_next = apu->wave_read + period;
        apu->wave_position = (uint8_t)((apu->wave_position + reads + 1u) & 31u);
        apu->wave_started = 1;
    }
}

/* Called before DIV is cleared: `div` is the counter's old value at `now`. Clearing bit 12 is a
 * falling edge too. */
DM_FN_SLOW void dm_gb_apu_div_reset(dm_gb_apu *apu, uint32_t now, uint16_t div)
{
    dm_gb_apu_sync(apu, now, div);
    if (apu->power && (div & DM_GB_APU_STEP_BIT))
        dm_gb_apu_step(apu);
}

/* The machine's clock was moved by `delta` without time passing for the APU. */
DM_FN void dm_gb_apu_shift_time(dm_gb_apu *apu, uint32_t delta)
{
    apu->synced += delta;
    if (apu->active & 4u) {
        apu->wave_next += delta;
        apu->wave_read += apu->wave_started ? delta : 0;
    }
}

/* ---- Wave RAM ---- */

/* Which byte of wave RAM the CPU reaches: its own choice while channel 3 is off, else the byte that
 * the channel reads in this very cycle. -1 where there is none. */
DM_FN int32_t dm_gb_apu_wave_index(const dm_gb_apu *apu, uint32_t now, uint32_t address)
{
    if (!(apu->active & 4u))
        return (int32_t)(address & 15u);
    if (apu->wave_started && now - apu->wave_read < 2u)
        return (int32_t)(apu->wave_position >> 1);
    return -1;
}

/* A trigger while channel 3 is on starts it again, and in the cycle before a read it also
 * overwrites the first bytes of wave RAM with those about to be read. (Most DMG-CPU-B; others
 * differ.) */
DM_FN void dm_gb_apu_wave_trigger(dm_gb_apu *apu, uint32_t now)
{
    if ((apu->active & 4u) && apu->wave_next - now == 2u) {
        uint32_t byte = ((apu->wave_position + 1u) >> 1) & 15u;
        if (byte < 4u) {
            apu->regs[DM_GB_WAVE] = apu->regs[DM_GB_WAVE + byte];
        } else {
            for (uint32_t i = 0; i < 4u; i++)
                apu->regs[DM_GB_WAVE + i] = apu->regs[DM_GB_WAVE + (byte & ~3u) + i];
        }
    }
    dm_gb_apu_wave_forget(apu);
    apu->wave_next = now + DM_GB_APU_WAVE_DELAY + dm_gb_apu_wave_period(apu);
}

/* ---- Registers ---- */

DM_FN bool dm_gb_apu_dac_on(const dm_gb_apu *apu, uint32_t channel)
{
    if (channel == 2u)
        return apu->regs[DM_GB_NR30] >> 7;
    return (apu->regs[channel * 5u + 2u] & 0xF8u) != 0;
}

/* NRx4: the length counter's bit and the trigger. The register holds the value already. */
DM_FN void dm_gb_apu_write_control(dm_gb_apu *apu, uint32_t now, uint32_t channel, uint8_t value)
{
    uint8_t bit = (uint8_t)(1u << channel);
    bool trigger = (value & 0x80u) != 0;
    uint16_t full = channel == 2u ? 256 : 64;
    if (trigger) {
        if (channel == 2u)
            dm_gb_apu_wave_trigger(apu, now);
        if (dm_gb_apu_dac_on(apu, channel))
            apu->active |= bit;
        if (apu->length[channel] == 0) {
            apu->length[channel] = full;
            apu->length_on &= (uint8_t)~bit;
        }
        if (channel == 0)
            dm_gb_apu_sweep_trigger(apu);
    }
    /* Switching the counter on in the half of its period that has no clock left clocks it. */
    if ((value & 0x40u) && !(apu->length_on & bit) && (apu->step & 1u) && apu->length[channel]) {
        apu->length[channel]--;
        if (apu->length[channel] == 0) {
            if (trigger)
                apu->length[channel] = (uint16_t)(full - 1u);
            else
                apu->active &= (uint8_t)~bit;
        }
    }
    apu->length_on = (uint8_t)((apu->length_on & ~bit) | (value & 0x40u ? bit : 0));
}

DM_FN void dm_gb_apu_write_power(dm_gb_apu *apu, uint16_t div, uint8_t value)
{
    uint8_t power = value >> 7;
    if (power == apu->power)
        return;
    apu->power = power;
    /* Power off and power on both clear everything but wave RAM and, on a DMG, the length counters. */
    for (uint32_t i = 0; i <= DM_GB_NR52; i++)
        apu->regs[i] = 0;
    apu->active = 0;
    apu->length_on = 0;
    apu->sweep_shadow = 0;
    apu->sweep_addend = 0;
    apu->sweep_count = 0;
    dm_gb_apu_wave_forget(apu);
    apu->step = 0;
    apu->skip = DM_GB_APU_STEPS;
    if (power && (div & DM_GB_APU_STEP_BIT)) {
        apu->step = 1;
        apu->skip = DM_GB_APU_SKIP_NEXT;
    }
}

DM_FN_SLOW uint8_t dm_gb_apu_read(dm_gb_apu *apu, uint32_t now, uint16_t div, uint32_t address)
{
    dm_gb_apu_sync(apu, now, div);
    uint32_t reg = address - 0xFF10u;
    if (reg >= DM_GB_WAVE) {
        int32_t index = dm_gb_apu_wave_index(apu, now, address);
        return index < 0 ? (uint8_t)0xFF : apu->regs[DM_GB_WAVE + index];
    }
    if (reg == DM_GB_NR52)
        return (uint8_t)(0x70u | ((uint32_t)apu->power << 7) | apu->active);
    return apu->regs[reg] | dm_gb_apu_read_mask[reg];
}

DM_FN_SLOW void dm_gb_apu_write(dm_gb_apu *apu, uint32_t now, uint16_t div, uint32_t address,
                                uint8_t value)
{
    dm_gb_apu_sync(apu, now, div);
    uint32_t reg = address - 0xFF10u;
    if (reg >= DM_GB_WAVE) {
        int32_t index = dm_gb_apu_wave_index(apu, now, address);
        if (index >= 0)
            apu->regs[DM_GB_WAVE + index] = value;
        return;
    }
    if (reg == DM_GB_NR52) {
        dm_gb_apu_write_power(apu, div, value);
        return;
    }
    if (reg > DM_GB_NR52)
        return;
    uint32_t channel = reg / 5u; /* 4 for NR50 and NR51 */
    uint32_t kind = reg % 5u;    /* the x of NRnx */
    /* Of a DMG without power only the length counters can be written. */
    if (channel < 4u && kind == 1u) {
        apu->length[channel] = (uint16_t)(channel == 2u ? 256u - value : 64u - (value & 0x3Fu));
    }
    if (!apu->power)
        return;
    if (reg == DM_GB_NR10) {
        dm_gb_apu_sweep_write(apu, value);
        return;
    }
    apu->regs[reg] = value;
    if (channel >= 4u)
        return;
    if (kind == 4u)
        dm_gb_apu_write_control(apu, now, channel, value);
    else if ((kind == 2u || reg == DM_GB_NR30) && !dm_gb_apu_dac_on(apu, channel))
        apu->active &= (uint8_t) ~(1u << channel);
}

/* ---- Start ---- */

/* Without `post_boot` silence and no power; with it what the boot ROM of a DMG leaves: the second
 * note of its chime still on channel 1. It switched the sound on 2,833 steps before its end. */
DM_FN_SLOW void dm_gb_apu_reset(dm_gb_apu *apu, uint32_t now, bool post_boot)
{
    for (uint32_t i = 0; i < 0x30u; i++)
        apu->regs[i] = 0;
    for (uint32_t i = 0; i < 4u; i++)
        apu->length[i] = 0;
    apu->synced = now;
    apu->power = 0;
    dm_gb_apu_write_power(apu, 0, 0x80);
    apu->power = post_boot;
    if (!post_boot)
        return;
    apu->regs[DM_GB_NR11] = 0x80;
    apu->regs[DM_GB_NR12] = 0xF3;
    apu->regs[DM_GB_NR13] = 0xC1;
    apu->regs[DM_GB_NR14] = 0x87;
    apu->regs[DM_GB_NR50] = 0x77;
    apu->regs[DM_GB_NR51] = 0xF3;
    apu->length[0] = 64;
    apu->active = 1;
    apu->step = 2833u & 7u;
}

#endif
