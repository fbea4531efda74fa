/* SPDX-License-Identifier: MIT */
/* state_pyboy.h - states that PyBoy wrote, put into a machine of ours.
 *
 * Such a file does not name its ROM; only its length shows how much cartridge RAM there is.
 * docs/save-state.md lists what is taken over and what cannot be. */
#ifndef DM_GB_STATE_PYBOY_H
#define DM_GB_STATE_PYBOY_H

#include <dotmatrix/gb.h>

/* The version that PyBoy 2.8.1 (tools/requirements.txt) writes. */
#define DM_GB_PYBOY_VERSION 29u

/* Do these look like the first bytes of a PyBoy state, of whatever version? */
bool dm_gb_is_pyboy_state(const void *bytes, size_t size);

/* Versions 7 to 12 and the newest are read. A state of another version, for a Game Boy Color, saved
 * while the boot ROM ran, or of a size that does not fit the cartridge is refused, and the machine
 * is as it was. */
dm_status dm_gb_load_pyboy_state(dm_gb *gb, const void *bytes, size_t size, dm_error *err);

#endif
