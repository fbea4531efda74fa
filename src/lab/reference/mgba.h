/* SPDX-License-Identifier: MIT */
/* mgba.h - mGBA's Game Boy (libmgba, in process) as a reference.
 *
 * Built where libmgba's headers are installed (Debian, Ubuntu: `apt install libmgba-dev`). The
 * library itself is opened at run time: a program starts without it. It is a DMG without a boot
 * ROM: it starts in mGBA's post-boot state, with DIV at 0, which is not where a real one is. */
#ifndef DM_LAB_REFERENCE_MGBA_H
#define DM_LAB_REFERENCE_MGBA_H

#include <dotmatrix/gb.h>

typedef struct dm_mgba dm_mgba;

#define DM_MGBA_INSTALL "apt-get install libmgba-dev, and build again"

/* DM_EUNAVAILABLE when the program was built without it or it cannot be opened now. */
dm_status dm_mgba_open(dm_error *err);
/* "0.10.1"; after dm_mgba_open. */
const char *dm_mgba_version(void);

typedef enum dm_mgba_pictures {
    DM_MGBA_NO_PICTURES,   /* none is drawn, which is fastest */
    DM_MGBA_KEEP_COMPLETE, /* each complete one is kept while the next is drawn */
    DM_MGBA_KEEP_NOTHING,  /* drawn only: the buffer holds a whole one right after run_frame */
} dm_mgba_pictures;

/* Opens the library by itself. The ROM is copied. It makes no sound samples, as ours makes none;
 * the sound registers read back as ever. */
dm_status dm_mgba_create(const void *rom, size_t size, dm_mgba_pictures pictures, dm_mgba **out,
                         dm_error *err);
void dm_mgba_destroy(dm_mgba *mgba);
void dm_mgba_reset(dm_mgba *mgba);
/* Make it equal to a machine of ours that has not run: registers, memory, devices. The LCD is off
 * in `like`, or was switched on at that very moment; DIV is 0. */
void dm_mgba_start_like(dm_mgba *mgba, dm_gb *like);

/* DM_GB_KEY_* */
void dm_mgba_set_keys(dm_mgba *mgba, uint8_t keys);
/* One instruction or interrupt dispatch; a HALT passes time inside the call after it. mGBA never
 * returns from a HALT that nothing can end: see dm_mgba_sleeps. */
void dm_mgba_step(dm_mgba *mgba);
/* One instruction or interrupt dispatch; into a HALT, or a while on in it. */
void dm_mgba_step_in(dm_mgba *mgba);
/* To the end of a HALT, before the interrupt that ended it is dispatched. */
void dm_mgba_pass_halt(dm_mgba *mgba);
/* Up to the first instruction boundary at or after so many T-cycles since the reset, or exactly
 * there in a HALT. At most 2^28 ahead. */
void dm_mgba_run_to(dm_mgba *mgba, uint64_t cycles);
/* Up to the next VBlank (or a frame's time with the LCD off). */
void dm_mgba_run_frame(dm_mgba *mgba);

dm_gb_registers dm_mgba_get_registers(const dm_mgba *mgba);
/* Sound samples: 0 as long as none was made. */
unsigned dm_mgba_samples(const dm_mgba *mgba);
/* In HALT with no interrupt enabled: a step would not return. */
bool dm_mgba_sleeps(const dm_mgba *mgba);
/* T-cycles since the reset. */
uint64_t dm_mgba_cycles(const dm_mgba *mgba);

/* RAM is read raw, whatever mode the PPU is in; other addresses as the CPU would. */
uint8_t dm_mgba_peek(dm_mgba *mgba, uint16_t address);
/* RAM raw; other addresses as the CPU would write. */
void dm_mgba_poke(dm_mgba *mgba, uint16_t address, uint8_t value);

/* Draw only the last of the next `frames` frames, and of each as many after them. */
void dm_mgba_draw_last_of(dm_mgba *mgba, uint32_t frames);
/* The last complete picture: 160 x 144 shades, 0 light to 3 dark; all 0 while the LCD is off. */
const uint8_t *dm_mgba_frame(dm_mgba *mgba);

/* Its own state format. */
size_t dm_mgba_state_size(const dm_mgba *mgba);
bool dm_mgba_save(const dm_mgba *mgba, void *bytes);
bool dm_mgba_load(dm_mgba *mgba, const void *bytes);

#endif
