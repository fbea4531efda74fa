/* SPDX-License-Identifier: MIT */
/* program_gen.h - random Game Boy programs that are valid: they never leave their code, never lock
 * up, and end in a known endless loop.
 *
 * A program is a whole ROM. It switches the LCD and sound off, gives every register a value and
 * then runs a random body: all opcodes of opcodes.def, with pointers into plain memory, forward
 * jumps, bounded loops, calls and RSTs, a balanced stack, and bank switching where the cartridge
 * has banks. What a program does depends on (seed, kind) alone.
 *
 *   code    0150..3FFF, all in bank 0      stack   D000..DFFF
 *   data    C000..CFFF, FF80..FFEF, cartridge RAM, VRAM (the LCD is off), OAM
 *   FFF0..FFF7 loop counters               FFF8..FFFC interrupt counters (timing programs) */
#ifndef DM_TESTS_SUPPORT_PROGRAM_GEN_H
#define DM_TESTS_SUPPORT_PROGRAM_GEN_H

#include <stddef.h>
#include <stdint.h>

enum dm_program_kind {
    DM_PROGRAM_PLAIN, /* nothing in it depends on time */
    DM_PROGRAM_TIMING /* timer interrupts, EI, DI, HALT; reads of DIV, TIMA and IF */
};

#define DM_PROGRAM_SIZE 0x20000u /* 8 banks */

/* A timing program's HALT is followed by code that sets the timer, A and the flags anew; after so
 * many bytes nothing depends on how long the HALT took. */
#define DM_PROGRAM_HALT_SIZE 22u

typedef struct dm_program {
    uint8_t rom[DM_PROGRAM_SIZE];
    size_t size;       /* 32 KiB without a mapper, else all of it */
    uint16_t body;     /* after the set-up: devices are in a known state */
    uint16_t end;      /* of the endless loop */
    uint16_t code_end; /* first byte after the code */
} dm_program;

void dm_program_make(dm_program *program, uint64_t seed, enum dm_program_kind kind);

/* Fill the header of a ROM in: type and RAM codes, size code, checksum, and the logo left out. */
void dm_program_header(uint8_t *rom, size_t size, uint8_t type, uint8_t ram_code);

#endif
