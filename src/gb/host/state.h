/* SPDX-License-Identifier: MIT */
/* state.h - save states and battery saves.
 *
 * A save state is everything of a machine that its future depends on: dm_gb_machine field by field
 * and machine memory, in little-endian order whatever the host; docs/save-state.md has the offsets.
 * The ROM is not in it but named by hash and title. A file that is damaged, truncated, of another
 * version or of another ROM is refused with the reason, and nothing has been changed then.
 *
 * A battery save (.sav) is the cartridge's RAM as it is, followed by 48 bytes for a cartridge with
 * a clock, as other emulators write it. */
#ifndef DM_GB_STATE_H
#define DM_GB_STATE_H

#include <dotmatrix/gb.h>

#include "base/buffer.h"
#include "gb/host/rom.h"
#include "gb/machine/machine.h"

/* Raised whenever a field is added, removed or changes its meaning. */
#define DM_GB_STATE_VERSION 3u

/* Bytes of a state of a machine with this ROM. */
size_t dm_gb_state_size(const dm_gb_rom *rom);

/* `ram` is machine memory: DM_GB_CART_RAM bytes and the cartridge's RAM after them; `bytes` has room
 * for dm_gb_state_size. */
void dm_gb_state_write(const dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                       uint8_t *bytes);
void dm_gb_state_save(const dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                      dm_buffer *out);
dm_status dm_gb_state_load(dm_gb_machine *m, uint8_t *ram, const dm_gb_rom *rom, const void *bytes,
                           size_t size, dm_error *err);
dm_status dm_gb_state_save_file(const dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                                const char *path, dm_error *err);

/* A state may be followed by a block, which holds a reward program's memory (src/program/block.c): eight letters, then
 * its size, these twelve bytes included. Returns the size of the state alone; *extra is the block, or NULL. */
#define DM_GB_STATE_EXTRA "DMPROGRM"
#define DM_GB_STATE_EXTRA_HEAD 12u
size_t dm_gb_state_split(const void *bytes, size_t size, const uint8_t **extra, size_t *extra_size);

/* The table of docs/save-state.md, made from what the code does. */
void dm_gb_state_layout(dm_buffer *out);

/* Which bytes of dm_gb_machine the format covers: 1 where a field is saved, 2 where it follows from the
 * ROM or is padding, 0 where no row of FIELDS has it. A test asserts that there is no 0. */
void dm_gb_state_coverage(uint8_t covered[sizeof(dm_gb_machine)]);

/* ---- Battery saves ---- */

/* Bytes of a battery save; 0 when the cartridge has no battery. */
size_t dm_gb_battery_size(const dm_gb_rom *rom);

/* `unix_time` goes into the file for a cartridge with a clock. When loading, the clock is advanced
 * by the seconds from the file's time to `unix_time`; with DM_GB_NO_TIME it stays as it was saved,
 * so that a run can be repeated. */
void dm_gb_battery_save(dm_gb_machine *m, const uint8_t *ram, const dm_gb_rom *rom,
                        int64_t unix_time, dm_buffer *out);
dm_status dm_gb_battery_load(dm_gb_machine *m, uint8_t *ram, const dm_gb_rom *rom,
                             const void *bytes, size_t size, int64_t unix_time, dm_error *err);

#endif
