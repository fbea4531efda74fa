/* SPDX-License-Identifier: MIT */
/* gb.h - one Game Boy (DMG), exact to the M-cycle.
 *
 *     dm_error err;
 *     dm_gb *gb = NULL;
 *     if (dm_gb_create_file("game.gb", NULL, &gb, &err) != DM_OK)
 *         return fail(&err);
 *     dm_gb_set_keys(gb, DM_GB_KEY_START);
 *     dm_gb_run_frames(gb, 60, DM_GB_DRAW_LAST);
 *     const uint8_t *shades = dm_gb_frame(gb);   // 160 x 144 bytes, 0 (light) to 3 (dark)
 *     dm_gb_destroy(gb);
 *
 * A dm_gb belongs to one thread at a time; different ones are independent. Nothing is allocated
 * after creation. A frame is 70,224 T-cycles, whatever the LCD does. */
#ifndef DOTMATRIX_GB_H
#define DOTMATRIX_GB_H

#include <dotmatrix/base.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DM_GB_SCREEN_W 160
#define DM_GB_SCREEN_H 144
#define DM_GB_FRAME_CYCLES 70224u

/* The buttons, as one mask; set bits are pressed. */
#define DM_GB_KEY_RIGHT 0x01u
#define DM_GB_KEY_LEFT 0x02u
#define DM_GB_KEY_UP 0x04u
#define DM_GB_KEY_DOWN 0x08u
#define DM_GB_KEY_A 0x10u
#define DM_GB_KEY_B 0x20u
#define DM_GB_KEY_SELECT 0x40u
#define DM_GB_KEY_START 0x80u

typedef struct dm_gb dm_gb;

typedef enum dm_gb_start {
    DM_GB_START_POST_BOOT, /* as a DMG is when its boot ROM hands over to the game */
    DM_GB_START_BOOT_ROM,  /* run the boot ROM given in the options */
    DM_GB_START_ZERO /* everything zero, LCD off, PC = 0100: for comparisons with references */
} dm_gb_start;

/* Which pictures are made. Not drawing changes nothing that a program can see. A picture that began
 * in a call with DM_GB_DRAW_NEVER is not made: until one that began later is complete, dm_gb_frame
 * gives an older one. */
typedef enum dm_gb_draw {
    DM_GB_DRAW_NEVER,
    DM_GB_DRAW_LAST,  /* only the one that is on the screen when the call returns */
    DM_GB_DRAW_ALWAYS /* every frame */
} dm_gb_draw;

/* Zero is a good default for all of it. */
typedef struct dm_gb_options {
    enum dm_gb_start start;
    const void *boot_rom; /* 256 bytes, copied */
    size_t boot_rom_size;
    bool keep_idle_loops; /* execute idle loops pass by pass; only slower */
    bool force_dmg;       /* run a ROM for the Game Boy Color only as if it were for a DMG */
} dm_gb_options;

/* DM_EFORMAT: not a ROM; DM_EUNSUPPORTED: a cartridge that is not emulated, or one for the Game Boy
 * Color only that is not forced. A ROM shorter than its header says gets FF for the rest and a
 * warning in the log. */
DM_API dm_status dm_gb_create(const void *rom, size_t size, const dm_gb_options *options,
                              dm_gb **out, dm_error *err);
DM_API dm_status dm_gb_create_file(const char *path, const dm_gb_options *options, dm_gb **out,
                                   dm_error *err);
DM_API void dm_gb_destroy(dm_gb *gb);

/* Back to the state after creation; cartridge RAM with a battery is kept. */
DM_API void dm_gb_reset(dm_gb *gb);

DM_API void dm_gb_set_keys(dm_gb *gb, uint8_t keys);

DM_API void dm_gb_run_frames(dm_gb *gb, uint32_t frames, enum dm_gb_draw draw);
/* At least `cycles` T-cycles, up to an instruction boundary. At most 2^28. */
DM_API void dm_gb_run_cycles(dm_gb *gb, uint32_t cycles, enum dm_gb_draw draw);
/* One instruction, one interrupt dispatch, or in HALT one M-cycle. */
DM_API void dm_gb_step(dm_gb *gb);
/* Step until PC is one of the `count` addresses, for at most `cycles` T-cycles; true when one was
 * reached. The instruction at the present PC is executed first. */
DM_API bool dm_gb_run_to(dm_gb *gb, const uint16_t *addresses, size_t count, uint64_t cycles);

/* Hooks: a bit for each, set when an instruction begins at its address (one of the boot ROM does not count). The
 * machine does the same with them as without, at nearly the same speed.
 *
 *     dm_gb_hook over[1];
 *     dm_gb_hook_parse("game.sym", "GameOver", &over[0], &err);   // or NULL and "01:4A2F"
 *     dm_gb_set_hooks(gb, over, 1, &err);
 *     dm_gb_run_frames(gb, 60, DM_GB_DRAW_NEVER);
 *     if (dm_gb_take_hooks(gb) & 1) ... */
#define DM_GB_HOOK_COUNT_MAX 64
#define DM_GB_HOOK_EVERY_BANK 0xFFFFu
typedef struct dm_gb_hook {
    uint16_t address;
    uint16_t bank; /* of ROM, or of cartridge RAM; DM_GB_HOOK_EVERY_BANK: whichever is mapped */
} dm_gb_hook;

/* "01:4A2F" or "4A2F", or a name of a file of symbols (RGBDS's .sym, GBDK's .noi or .map; NULL: none). DM_ENOENT: the
 * name is unknown, and the message has the closest one. */
DM_API dm_status dm_gb_hook_parse(const char *symbols, const char *text, dm_gb_hook *out,
                                  dm_error *err);
/* Watch these instead of those before; 0: none. DM_EINVAL: too many, or the ROM has no such bank. */
DM_API dm_status dm_gb_set_hooks(dm_gb *gb, const dm_gb_hook *hooks, size_t count, dm_error *err);
/* Bit i: hook i was met since the hooks were set or last taken; then all are 0 again. */
DM_API uint64_t dm_gb_take_hooks(dm_gb *gb);

#define DM_GB_STOP_FRAMES 16384u
/* Run `frames` frames, at most DM_GB_STOP_FRAMES, as dm_gb_run_frames does, to the same cycle, but
 * stop before each instruction at one of these places: true, with its index in *which. 0 frames
 * goes on from there with what is left of the frames; false: they are over. Slower than hooks, since
 * each instruction is a run of its own.
 *
 *     const dm_gb_hook stops[] = {{0x0150, 0}, {0x4000, 3}};
 *     size_t which;
 *     for (uint32_t frames = 60; dm_gb_run_stops(gb, frames, DM_GB_DRAW_LAST, stops, 2, &which);
 *          frames = 0)
 *         hits[which]++; */
DM_API bool dm_gb_run_stops(dm_gb *gb, uint32_t frames, enum dm_gb_draw draw,
                            const dm_gb_hook *stops, size_t count, size_t *which);

/* The last complete picture that was drawn, 160 x 144 shades; all 0 while the LCD is off. Valid
 * until the next call that runs. */
DM_API const uint8_t *dm_gb_frame(dm_gb *gb);

typedef struct dm_gb_registers {
    uint8_t a, f, b, c, d, e, h, l;
    uint16_t pc, sp;
    bool ime, halted, stopped, locked;
} dm_gb_registers;

DM_API dm_gb_registers dm_gb_get_registers(const dm_gb *gb);

typedef struct dm_gb_counters {
    uint64_t cycles;       /* T-cycles since power-on */
    uint64_t instructions; /* executed */
    uint64_t halted;       /* T-cycles of `cycles` that passed in HALT */
    uint64_t frames;       /* VBlanks */
} dm_gb_counters;

DM_API dm_gb_counters dm_gb_get_counters(const dm_gb *gb);

/* Memory as the CPU would read it now, but without side effects and never blocked. */
DM_API uint8_t dm_gb_peek(dm_gb *gb, uint16_t address);
/* Write RAM, or a register as the CPU would. ROM is left alone: its addresses reach the mapper. */
DM_API void dm_gb_poke(dm_gb *gb, uint16_t address, uint8_t value);

/* The bank that an address shows now: of ROM (16 KiB each) below 8000, of cartridge RAM (8 KiB each)
 * at A000..BFFF, else 0; -1 where the mapper shows no RAM. */
DM_API int32_t dm_gb_bank(const dm_gb *gb, uint16_t address);

/* Memory of a bank, mapped or not: `size` bytes from `address` on, all of them within one of ROM
 * 0000..3FFF or 4000..7FFF (any bank of ROM at either), video RAM 8000..9FFF (bank 0), cartridge RAM
 * A000..BFFF, work RAM C000..DFFF (bank 0; 1 from D000 on, as symbol files have it). DM_EINVAL: there
 * is no such bank, or not so many bytes. ROM is not written: DM_EUNSUPPORTED. */
DM_API dm_status dm_gb_read_bank(const dm_gb *gb, uint32_t bank, uint16_t address, void *to,
                                 size_t size, dm_error *err);
DM_API dm_status dm_gb_write_bank(dm_gb *gb, uint32_t bank, uint16_t address, const void *from,
                                  size_t size, dm_error *err);

/* What was sent over the serial port since creation or the last clear; not NUL-terminated. */
DM_API const uint8_t *dm_gb_serial_output(const dm_gb *gb, size_t *size);
DM_API void dm_gb_serial_clear(dm_gb *gb);

/* Save states: the whole machine in one file (docs/save-state.md), without its pictures: the one
 * under way when a state is loaded begins where the beam stands. A file that is damaged, truncated,
 * of another version or of another ROM is refused with the reason, and the machine is as it was.
 * States of PyBoy 1.4.1 to 2.4.1 and of 2.8.1 can be loaded too. */
DM_API dm_status dm_gb_save_state(dm_gb *gb, const char *path, dm_error *err);
DM_API dm_status dm_gb_load_state(dm_gb *gb, const char *path, dm_error *err);

/* The same in memory: a state has dm_gb_state_bytes bytes, always as many for one ROM, and `size`
 * must be just that when saving. Loading takes what loading a file takes.
 *
 *     size_t size = dm_gb_state_bytes(gb);
 *     void *before = malloc(size);
 *     dm_gb_save_state_bytes(gb, before, size, &err);
 *     dm_gb_run_frames(gb, 60, DM_GB_DRAW_NEVER);       // try something
 *     dm_gb_load_state_bytes(gb, before, size, &err);   // and go back */
DM_API size_t dm_gb_state_bytes(const dm_gb *gb);
DM_API dm_status dm_gb_save_state_bytes(const dm_gb *gb, void *to, size_t size, dm_error *err);
DM_API dm_status dm_gb_load_state_bytes(dm_gb *gb, const void *bytes, size_t size, dm_error *err);

/* Cartridge RAM that a battery keeps, as .sav files hold it, with the clock's 48 bytes where there
 * is one. Loading advances the clock by the time since the file was saved; with DM_GB_NO_TIME it
 * goes on where it stood, so that a run can be repeated. */
#define DM_GB_NO_TIME INT64_MIN
DM_API dm_status dm_gb_save_battery(dm_gb *gb, const char *path, int64_t unix_time, dm_error *err);
DM_API dm_status dm_gb_load_battery(dm_gb *gb, const char *path, int64_t unix_time, dm_error *err);

#ifdef __cplusplus
}
#endif

#endif
