/* SPDX-License-Identifier: MIT */
/* state_pyboy_read.h - what state_pyboy.c and state_pyboy_old.c share to read a PyBoy state. */
#ifndef DM_GB_STATE_PYBOY_READ_H
#define DM_GB_STATE_PYBOY_READ_H

#include "gb/host/core.h"

/* The old versions that are read. */
#define DM_PYBOY_OLDEST 7u
#define DM_PYBOY_OLD_NEWEST 12u

/* Sizes of parts that all versions have alike. */
enum {
    DM_PYBOY_CART_SIZE = 4, /* without RAM, clock and what single mappers add */
    DM_PYBOY_JOYPAD_SIZE = 2
};

/* A place in the file. Reads are not checked: the file's size was, before. */
typedef struct dm_pyboy_reader {
    const uint8_t *at;
} dm_pyboy_reader;

/* Values that several parts need. */
typedef struct dm_pyboy_import {
    dm_gb *gb;
    dm_gb_machine *m;
    uint8_t *ram;
    uint64_t cycles;       /* T-cycles since power-on, by PyBoy's count */
    uint32_t frame_cycles; /* place in the frame */
    uint8_t ly, first_frame, window_on;
} dm_pyboy_import;

/* ---- state_pyboy.c ---- */

/* Little-endian integers. */
uint8_t dm_pyboy_get8(dm_pyboy_reader *r);
uint16_t dm_pyboy_get16(dm_pyboy_reader *r);
uint64_t dm_pyboy_get64(dm_pyboy_reader *r);
void dm_pyboy_get_bytes(dm_pyboy_reader *r, uint8_t *out, size_t size);
void dm_pyboy_skip(dm_pyboy_reader *r, size_t size);

/* A distance in T-cycles, limited to a plausible one. */
uint32_t dm_pyboy_distance(uint64_t cycles, uint32_t most);

/* A, F, B, C, D, E, HL, SP, PC and IME. */
void dm_pyboy_read_registers(dm_gb_cpu *cpu, dm_pyboy_reader *r);
/* Whether the CPU is halted, STOP, and IE. */
void dm_pyboy_read_halt(dm_pyboy_import *in, dm_pyboy_reader *r);
/* VRAM, OAM and the registers, which files of all versions have alike. Returns STAT's mode. */
uint8_t dm_pyboy_read_picture_registers(dm_pyboy_import *in, dm_pyboy_reader *r);
/* Banks of 8 KiB that PyBoy saves: at least one, whatever the cartridge has. */
uint32_t dm_pyboy_ram_banks(const dm_gb_rom *rom);
/* Cartridge RAM, the clock and the mapper's registers; `old`: as versions 7 to 12 have them. */
void dm_pyboy_read_cart(dm_pyboy_import *in, dm_pyboy_reader *r, bool old);

/* ---- state_pyboy_old.c: versions 7 to 12 ---- */

/* Refuses what does not fit this machine; `bytes` begins with such a version. */
dm_status dm_pyboy_check_old(const dm_gb *gb, const uint8_t *bytes, size_t size, dm_error *err);
/* The whole file, `r` at its first byte. */
void dm_pyboy_read_old(dm_pyboy_import *in, dm_pyboy_reader *r, unsigned version);
/* The cartridge's clock, for dm_pyboy_read_cart. */
void dm_pyboy_read_old_clock(dm_gb_cart *cart, dm_pyboy_reader *r, uint32_t now);

#endif
