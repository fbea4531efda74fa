/* SPDX-License-Identifier: MIT */
/* notes.h - notes in the source of a test ROM: what it proves, and what must be true after it ran.
 *
 * Comment lines of the source, read by tests, benchmarks and `dotmatrix roms list`:
 *
 *   ; proves: one sentence, which may go on
 *   ;         in lines that begin with spaces
 *   ; expect frames=10 A=$3C F=$80 SP=$DFFE [$C000]=12 34 [$C010..$C01F]=00 serial="HELLO"
 *   ; and    frame=0123456789abcdef
 *
 * Each `expect` is one run from power-on for `frames` frames; `and` continues it. Registers are A F
 * B C D E H L SP with a number; memory is hexadecimal bytes from an address on, or one byte for a
 * range; `frame` is dm_hash64 of the last picture's 160 x 144 shades (0..3). Buttons are held as
 * keys=20*NONE,5*RIGHT+A,LEFT: frames * buttons, the last ones to the end. */
#ifndef DM_GB_NOTES_H
#define DM_GB_NOTES_H

#include "base/arena.h"

#include "base/buffer.h"

#include <dotmatrix/gb.h>

#include <stdbool.h>

enum dm_gb_notes_register {
    DM_GB_NOTE_A,
    DM_GB_NOTE_F,
    DM_GB_NOTE_B,
    DM_GB_NOTE_C,
    DM_GB_NOTE_D,
    DM_GB_NOTE_E,
    DM_GB_NOTE_H,
    DM_GB_NOTE_L,
    DM_GB_NOTE_SP,
    DM_GB_NOTE_REGISTERS
};

#define DM_GB_NOTES_KEYS 16

typedef struct dm_gb_notes_byte {
    uint16_t address;
    uint8_t value;
} dm_gb_notes_byte;

typedef struct dm_gb_expect {
    int line;
    uint32_t frames;
    struct {
        uint32_t frames; /* 0 in the last one: to the end */
        uint8_t keys;    /* DM_GB_KEY_* */
    } keys[DM_GB_NOTES_KEYS];
    unsigned key_count;
    uint16_t register_mask; /* 1 << enum dm_gb_notes_register */
    uint16_t registers[DM_GB_NOTE_REGISTERS];
    dm_gb_notes_byte *bytes;
    size_t byte_count;
    const char *serial; /* NULL: not asked for */
    bool has_frame;
    uint64_t frame;
} dm_gb_expect;

typedef struct dm_gb_notes {
    const char *proves; /* "" where the source does not say */
    dm_gb_expect *expects;
    size_t expect_count;
    dm_arena arena;
} dm_gb_notes;

/* Read the notes of a source text. `name` is for messages. Give `notes` to deinit whatever came
 * back. */
dm_status dm_gb_notes_parse(const char *name, const char *text, size_t size, dm_gb_notes *notes,
                            dm_error *err);
void dm_gb_notes_deinit(dm_gb_notes *notes);

/* The buttons held in frame `frame`, counted from 0. */
uint8_t dm_gb_expect_keys(const dm_gb_expect *expect, uint32_t frame);
const char *dm_gb_notes_register_name(unsigned index);

/* Run a ROM as an expectation says and append one line to `differences` for each that is found:
 * "[$C000] is $12, expected $34". `*count` is their number. Fails only when the ROM cannot be run.
 */
dm_status dm_gb_expect_check(const dm_gb_expect *expect, const void *rom, size_t rom_size,
                             const dm_gb_options *options, dm_buffer *differences, unsigned *count,
                             dm_error *err);

#endif
