/* SPDX-License-Identifier: MIT */
/* start.c - the state in which a machine starts.
 *
 * Post-boot values of a DMG as mooneye's boot_regs, boot_hwio and boot_div tests (dmgABC) find
 * them, and the place in the frame as gbmicrotest's poweron tests find it. */
#include "gb/cpu/run.h"
#include "gb/host/core.h"

#include <string.h>

uint32_t dm_gb_memory_size(uint32_t cart_ram)
{
    return DM_GB_CART_RAM + cart_ram;
}

static void start_post_boot(dm_gb_machine *m)
{
    m->cpu = (dm_gb_cpu){.a = 0x01,
                         .f = 0xB0,
                         .c = 0x13,
                         .e = 0xD8,
                         .h = 0x01,
                         .l = 0x4D,
                         .pc = 0x0100,
                         .sp = 0xFFFE};
    m->int_flags = DM_GB_INT_VBLANK;
    m->timer.div_base = m->clock - 0xABCCu;
    m->dma.reg = 0xFF;
    m->ppu.lcdc = 0x91;
    m->ppu.bgp = 0xFC;
    m->ppu.obp0 = 0xFF;
    m->ppu.obp1 = 0xFF;
    /* In line 153, LY already reads 0. */
    m->ppu.line = 153;
    m->ppu.line_start = m->clock - 404u;
    m->ppu.edge = 4;
    m->ppu.next_dot = DM_GB_LINE_CYCLES;
    m->ppu.compare = 0;
    m->ppu.mode_int = 1;
    m->ppu.lyc_bit = 1;
    m->ppu.lyc_line = 1;
    m->ppu.blank = 0;
}

/* What SameBoy has at power-on too: DIV has counted 8 cycles before the first fetch, and these
 * registers, which no reset clears, mostly come up as FF on a DMG. */
static void start_power_on(dm_gb_machine *m)
{
    m->boot_mapped = 1;
    m->timer.div_base = m->clock - 8u;
    m->dma.reg = 0xFF;
    m->ppu.obp0 = 0xFF;
    m->ppu.obp1 = 0xFF;
}

/* The boot ROM shows the 48 bytes at 0104 of the cartridge: each bit twice as wide and twice as
 * high, as tiles 1 to 24 in two rows of the map. It shows a small trademark sign of its own behind
 * them, tile 25; that tile is blank here, since only the boot ROM has it. */
void dm_gb_start_memory(uint8_t *ram, const dm_gb_rom *rom, enum dm_gb_start start)
{
    if (start != DM_GB_START_POST_BOOT)
        return;
    uint8_t *out = ram + DM_GB_VRAM + 0x10;
    for (uint32_t i = 0; i < 96; i++) {
        uint32_t nibble = (uint32_t)rom->bytes[0x104 + i / 2] >> (i % 2 == 0 ? 4 : 0);
        uint32_t row = 0;
        for (uint32_t bit = 0; bit < 4; bit++)
            row |= ((nibble >> bit) & 1u) * 3u << (2 * bit);
        out[0] = out[2] = (uint8_t)row;
        out += 4;
    }
    for (uint32_t i = 0; i < 12; i++) {
        ram[DM_GB_VRAM + 0x1904 + i] = (uint8_t)(1 + i);
        ram[DM_GB_VRAM + 0x1924 + i] = (uint8_t)(13 + i);
    }
    ram[DM_GB_VRAM + 0x1910] = 25;
}

void dm_gb_start_machine(dm_gb_machine *m, const dm_gb_rom *rom, enum dm_gb_start start)
{
    memset(m, 0, sizeof *m);
    m->profile = (uint8_t)start;
    m->timer.reload_at = 1; /* no access happens then */
    m->joypad.select = start == DM_GB_START_POST_BOOT ? 0x00 : 0x30;
    m->ppu.blank = 1;
    m->ppu.mode_int = DM_GB_NONE;
    dm_gb_rom_cart(rom, m->clock, &m->cart);
    dm_gb_apu_reset(&m->apu, m->clock, start == DM_GB_START_POST_BOOT);
    if (start == DM_GB_START_POST_BOOT)
        start_post_boot(m);
    else if (start == DM_GB_START_BOOT_ROM)
        start_power_on(m);
    else
        m->cpu.pc = 0x0100;
}
