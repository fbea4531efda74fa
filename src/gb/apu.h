/* SPDX-License-Identifier: MIT */
/* apu.h - sound as a program can read it back; kernel text. No samples are made. */
#ifndef DM_GB_APU_H
#define DM_GB_APU_H

#include "base/port.h"

typedef struct dm_gb_apu {
    uint32_t synced;
    uint8_t regs[0x30]; /* FF10..FF3F as written */
} dm_gb_apu;

/* `div` is the 16-bit counter behind DIV at time `now`. */
DM_FN_SLOW void dm_gb_apu_sync(dm_gb_apu *apu, uint32_t now, uint16_t div)
{
    (void)div;
    apu->synced = now;
}

DM_FN_SLOW uint8_t dm_gb_apu_read(dm_gb_apu *apu, uint32_t now, uint16_t div, uint32_t address)
{
    dm_gb_apu_sync(apu, now, div);
    return apu->regs[address - 0xFF10];
}

DM_FN_SLOW void dm_gb_apu_write(dm_gb_apu *apu, uint32_t now, uint16_t div, uint32_t address,
                                uint8_t value)
{
    dm_gb_apu_sync(apu, now, div);
    apu->regs[address - 0xFF10] = value;
}

/* Called before DIV is cleared: `div` is the counter's old value at `now`. */
DM_FN_SLOW void dm_gb_apu_div_reset(dm_gb_apu *apu, uint32_t now, uint16_t div)
{
    dm_gb_apu_sync(apu, now, div);
}

#endif
