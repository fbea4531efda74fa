/* SPDX-License-Identifier: MIT */
/* ref_mgba.h - mGBA's Game Boy (libmgba, in process) as a reference.
 *
 * Only tests and the lab link this: it is built where libmgba is installed (Debian, Ubuntu:
 * `apt install libmgba-dev`). It is a DMG without a boot ROM: it starts in mGBA's post-boot state,
 * with DIV at 0, which is not where a real one is. */
#ifndef DM_LAB_REF_MGBA_H
#define DM_LAB_REF_MGBA_H

#include <dotmatrix/gb.h>

typedef struct dm_mgba dm_mgba;

/* The ROM is copied. Without `draw` no picture is made, which is faster. */
dm_status dm_mgba_create(const void *rom, size_t size, bool draw, dm_mgba **out, dm_error *err);
void dm_mgba_destroy(dm_mgba *mgba);
void dm_mgba_reset(dm_mgba *mgba);
const char *dm_mgba_version(void);

/* DM_GB_KEY_* */
void dm_mgba_set_keys(dm_mgba *mgba, uint8_t keys);
/* One instruction or interrupt dispatch; a HALT passes time inside the call after it. mGBA never
 * returns from a HALT that nothing can end: see dm_mgba_sleeps. */
void dm_mgba_step(dm_mgba *mgba);
/* Up to the next VBlank (or a frame's time with the LCD off). */
void dm_mgba_run_frame(dm_mgba *mgba);

dm_gb_registers dm_mgba_get_registers(const dm_mgba *mgba);
/* In HALT with no interrupt enabled: a step would not return. */
bool dm_mgba_sleeps(const dm_mgba *mgba);
/* T-cycles since the reset. */
uint64_t dm_mgba_cycles(const dm_mgba *mgba);

/* RAM is read raw, whatever mode the PPU is in; other addresses as the CPU would. */
uint8_t dm_mgba_peek(dm_mgba *mgba, uint16_t address);
/* RAM raw; other addresses as the CPU would write. */
void dm_mgba_poke(dm_mgba *mgba, uint16_t address, uint8_t value);

/* The last picture: 160 x 144 shades, 0 light to 3 dark. */
const uint8_t *dm_mgba_frame(dm_mgba *mgba);

#endif
