/* SPDX-License-Identifier: MIT */
/* core.h - the struct behind the public dm_gb: a ROM, a machine, its memory and its machine context. */
#ifndef DM_GB_CORE_H
#define DM_GB_CORE_H

#include <dotmatrix/gb.h>

#include "gb/host/rom.h"
#include "gb/machine/context.h"

#define DM_GB_SERIAL_MAX 65536u

struct dm_gb {
    dm_gb_rom rom;
    dm_gb_machine machine;
    dm_gb_context context;
    dm_gb_options options;
    dm_gb_hook_table hooks;
    uint64_t hook_bits;
    uint8_t *marked_rom; /* with hooks; NULL: there are none */
    uint8_t boot[256];
    uint8_t *ram; /* machine memory */
    uint32_t ram_size;
    uint8_t frames[2][DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    uint8_t blank[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_gb_serial_log serial;
    uint8_t serial_bytes[DM_GB_SERIAL_MAX];
};

/* Bytes of machine memory that a cartridge with so much RAM needs. */
uint32_t dm_gb_memory_size(uint32_t cart_ram);

/* What a boot ROM leaves in machine memory, which is zeroed but for battery RAM. */
void dm_gb_start_memory(uint8_t *ram, const dm_gb_rom *rom, enum dm_gb_start start);

/* The state in which a machine starts: start.c. */
void dm_gb_start_machine(dm_gb_machine *m, const dm_gb_rom *rom, enum dm_gb_start start);

#endif
