/* SPDX-License-Identifier: MIT */
/* bus.h - the bus of sm83.h as a CPU has it; kernel text.
 *
 * Plain memory is found through a table of pages of 4 KiB; the rest takes the slow path (machine/bus.h). Instructions
 * are fetched from `hot.code` where all their bytes are plain memory. */
#ifndef DM_GB_CPU_BUS_H
#define DM_GB_CPU_BUS_H

#include "gb/machine/bus.h"
#include "gb/machine/regs.h"

typedef dm_gb_context dm_gb_bus;

/* ---- The memory map ---- */

/* On RAM pages with hooks no code is plain, so that run.h compares every instruction's address. */
DM_FN_SLOW void dm_gb_map_hooked_ram(dm_gb_context *context)
{
    for (uint32_t page = 8; page < 16; page++)
        if ((context->hooks->ram_pages >> page & 1u) != 0)
            context->code_end[page] = 0;
}

/* Point every 4 KiB page at its memory. */
DM_FN_SLOW void dm_gb_map_pages(dm_gb_context *context)
{
    const dm_gb_machine *m = dm_gb_m(context);
    const dm_gb_cart *cart = &m->cart;
    /* Where instructions are taken from. */
    const uint8_t *code = context->hooks != 0 ? context->hooks->marked : context->rom;
    for (uint32_t page = 0; page < 16; page++) {
        context->read_page[page] = 0;
        context->write_page[page] = 0;
        context->code_end[page] = 0;
    }
    if (m->dma.active)
        return;
    context->code_page[0] = 0;
    for (uint32_t page = m->boot_mapped ? 1 : 0; page < 4; page++) {
        context->read_page[page] = context->rom + cart->rom_low;
        context->code_page[page] = code + cart->rom_low;
    }
    for (uint32_t page = 4; page < 8; page++) {
        context->read_page[page] = context->rom + cart->rom_high - 0x4000;
        context->code_page[page] = code + cart->rom_high - 0x4000;
    }
    if (!dm_gb_lcd_on(m)) {
        for (uint32_t page = 8; page < 10; page++)
            context->read_page[page] = context->write_page[page] =
                context->ram + DM_GB_VRAM - 0x8000;
    }
    if (cart->ram_window != DM_GB_NO_RAM) {
        for (uint32_t page = 10; page < 12; page++)
            context->read_page[page] = context->write_page[page] =
                context->ram + DM_GB_CART_RAM + cart->ram_window - 0xA000;
    }
    for (uint32_t page = 12; page < 14; page++)
        context->read_page[page] = context->write_page[page] = context->ram + DM_GB_WRAM - 0xC000;
    context->read_page[14] = context->write_page[14] = context->ram + DM_GB_WRAM - 0xE000;
    /* An instruction has up to three bytes. */
    for (uint32_t page = 0; page < 15; page++)
        if (context->read_page[page] != 0)
            context->code_end[page] =
                (uint16_t)(((page < 8 ? page | 3u : page | 1u) << 12) + 0xFFEu);
    context->code_end[14] = 0xEFFE; /* what follows is echo too, but FE00 is not */
    for (uint32_t page = 8; page < 16; page++)
        context->code_page[page] = context->read_page[page];
    if (DM_UNLIKELY(context->hooks != 0 && context->hooks->ram_pages != 0))
        dm_gb_map_hooked_ram(context);
}

DM_FN void dm_gb_map(dm_gb_context *context)
{
    dm_gb_map_pages(context);
}

/* ---- Accesses ---- */

/* Find the code at PC again: it jumped, or something may have changed the map. */
DM_FN void dm_gb_hot_remap(dm_gb_hot *hot, dm_gb_context *context)
{
    uint32_t page = hot->pc >> 12;
    hot->code = context->code_page[page];
    context->code_limit = context->code_end[page];
}

/* A slow write may move the next event. Returns the time in relation to it. */
DM_FN_SLOW uint64_t dm_gb_timed_write(dm_gb_context *context, uint64_t time, uint32_t address,
                                      uint32_t value)
{
    uint32_t now = dm_gb_time_clock(time, dm_gb_m(context));
    dm_gb_slow_write(context, now, address, value);
    return dm_gb_time_make(now, time, dm_gb_m(context));
}

/* Does the compiler know that this holds? LDH then needs no test of the page. */
#define DM_GB_KNOWN(condition) (__builtin_constant_p(condition) && (condition))

DM_FN uint32_t dm_gb_bus_read(dm_gb_context *context, dm_gb_hot *hot, uint32_t address)
{
    const uint8_t *page = DM_GB_KNOWN(address >= 0xFF00u) ? 0 : context->read_page[address >> 12];
    uint32_t value;
    if (DM_LIKELY(page != 0))
        value = page[address];
    else if (address >= 0xFF80u)
        value = dm_gb_ram_load(context, DM_GB_HRAM + address - 0xFF80u);
    else
        value = dm_gb_slow_read(context, dm_gb_hot_clock(hot, dm_gb_m(context)), address);
    dm_gb_hot_tick(hot);
    return value;
}

DM_FN void dm_gb_bus_write(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    uint8_t *page = DM_GB_KNOWN(address >= 0xFF00u) ? 0 : context->write_page[address >> 12];
    context->idle_pc = DM_GB_NO_IDLE;
    if (DM_LIKELY(page != 0)) {
        page[address] = (uint8_t)value;
    } else if (address - 0xFF80u < 0x7Fu) {
        dm_gb_ram_store(context, DM_GB_HRAM + address - 0xFF80u, value);
    } else {
        hot->time = dm_gb_timed_write(context, hot->time, address, value);
        dm_gb_hot_remap(hot, context);
    }
    dm_gb_hot_tick(hot);
}

/* Are the two bytes at an address in HRAM, below IE? */
DM_FN bool dm_gb_in_hram(uint32_t address)
{
    return address - 0xFF80u < 0x7Eu;
}

/* Are they on one page? */
DM_FN bool dm_gb_one_page(uint32_t address)
{
    return (address & 0xFFFu) != 0xFFFu;
}

DM_FN_SLOW uint32_t dm_gb_slow_pop(dm_gb_context *context, uint64_t time, uint32_t address)
{
    dm_gb_hot hot;
    hot.time = time;
    uint32_t low = dm_gb_bus_read(context, &hot, address);
    return low | (dm_gb_bus_read(context, &hot, (address + 1u) & 0xFFFFu) << 8);
}

DM_FN uint32_t dm_gb_bus_pop(dm_gb_context *context, dm_gb_hot *hot, uint32_t address)
{
    const uint8_t *page = context->read_page[address >> 12];
    uint32_t value;
    if (DM_UNLIKELY(page == 0) && dm_gb_in_hram(address))
        page = context->ram + DM_GB_HRAM - 0xFF80;
    if (DM_LIKELY(page != 0 && dm_gb_one_page(address))) {
        page += address;
        value = page[0] | ((uint32_t)page[1] << 8);
    } else {
        value = dm_gb_slow_pop(context, hot->time, address);
    }
    hot->time += 2u * DM_GB_TIME_CYCLE;
    return value;
}

DM_FN_SLOW uint64_t dm_gb_slow_push(dm_gb_context *context, uint64_t time, uint32_t address,
                                    uint32_t value)
{
    dm_gb_hot hot;
    hot.time = time;
    hot.pc = 0;
    dm_gb_bus_write(context, &hot, (address + 1u) & 0xFFFFu, value >> 8);
    dm_gb_bus_write(context, &hot, address, value & 0xFFu);
    return hot.time;
}

DM_FN void dm_gb_bus_push(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    uint8_t *page = context->write_page[address >> 12];
    context->idle_pc = DM_GB_NO_IDLE;
    if (DM_UNLIKELY(page == 0) && dm_gb_in_hram(address))
        page = context->ram + DM_GB_HRAM - 0xFF80;
    if (DM_LIKELY(page != 0 && dm_gb_one_page(address))) {
        page += address;
        page[0] = (uint8_t)value;
        page[1] = (uint8_t)(value >> 8);
        hot->time += 2u * DM_GB_TIME_CYCLE;
    } else {
        hot->time = dm_gb_slow_push(context, hot->time, address, value);
        dm_gb_hot_remap(hot, context);
    }
}

/* `count` bytes, 0 to 2, the low one first. */
DM_FN uint32_t dm_gb_bus_load(dm_gb_context *context, dm_gb_hot *hot, uint32_t address,
                              uint32_t count)
{
    if (count == 2u)
        return dm_gb_bus_pop(context, hot, address);
    return count == 1u ? dm_gb_bus_read(context, hot, address) : 0u;
}

/* Likewise; `push`: two, the high one first. */
DM_FN void dm_gb_bus_store(dm_gb_context *context, dm_gb_hot *hot, uint32_t address, uint32_t value,
                           uint32_t count, bool push)
{
    if (push && count != 0) {
        dm_gb_bus_push(context, hot, address, value);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        dm_gb_bus_write(context, hot, (address + i) & 0xFFFFu, value >> (8u * i) & 0xFFu);
}

/* ---- Instructions ---- */

DM_FN uint32_t dm_gb_fetch(dm_gb_context *context, dm_gb_hot *hot)
{
    uint32_t value = dm_gb_bus_read(context, hot, hot->pc);
    hot->pc = (hot->pc + 1u) & 0xFFFFu;
    return value;
}

/* The loop dispatches only where `code` holds the whole instruction; elsewhere hot.careful is set. */

DM_FN uint32_t dm_gb_bus_fetch8(dm_gb_context *context, dm_gb_hot *hot)
{
    if (hot->careful)
        return dm_gb_fetch(context, hot);
    uint32_t value = hot->code[hot->pc];
    dm_gb_hot_tick(hot);
    hot->pc++;
    return value;
}

DM_FN uint32_t dm_gb_bus_fetch16(dm_gb_context *context, dm_gb_hot *hot)
{
    if (hot->careful) {
        uint32_t low = dm_gb_fetch(context, hot);
        return low | (dm_gb_fetch(context, hot) << 8);
    }
    const uint8_t *at = hot->code + hot->pc;
    uint32_t value = at[0] | ((uint32_t)at[1] << 8);
    hot->time += 2u * DM_GB_TIME_CYCLE;
    hot->pc += 2u;
    return value;
}

DM_FN void dm_gb_bus_jump(dm_gb_context *context, dm_gb_hot *hot, uint32_t from)
{
    /* Page F holds several kinds of memory. */
    if (from == DM_GB_FAR || DM_UNLIKELY(((from ^ hot->pc) & 0xF000u) != 0 || hot->pc >= 0xF000u))
        dm_gb_hot_remap(hot, context);
}

DM_FN void dm_gb_bus_idle(dm_gb_context *context, dm_gb_hot *hot)
{
    (void)context;
    dm_gb_hot_tick(hot);
}

DM_FN void dm_gb_bus_adjust(dm_gb_context *context, dm_gb_hot *hot, uint32_t value)
{
    if (DM_UNLIKELY((value & 0xFF00u) == 0xFE00u))
        dm_gb_oam_bug_write(context, dm_gb_hot_clock(hot, dm_gb_m(context)));
}

DM_FN void dm_gb_bus_control(dm_gb_context *context, dm_gb_hot *hot, uint32_t operation)
{
    uint32_t now = dm_gb_hot_clock(hot, dm_gb_m(context));
    hot->pc = (hot->pc + dm_gb_control(context, now, operation)) & 0xFFFFu;
    hot->time = dm_gb_time_make(now, hot->time, dm_gb_m(context));
    dm_gb_hot_remap(hot, context);
}

#endif
