/* SPDX-License-Identifier: MIT */
/* libretro.h - an emulator behind the libretro interface (https://docs.libretro.com), a file opened
 * at run time.
 *
 * A core is one machine for the whole process. It shows pictures and, if it supports that, work RAM,
 * but no registers and no cycles. It starts as after the boot ROM, draws every frame and makes sound
 * samples; most cores ignore the interface's requests to leave these out. */
#ifndef DM_LAB_REFERENCE_LIBRETRO_H
#define DM_LAB_REFERENCE_LIBRETRO_H

#include <dotmatrix/gb.h>

#define DM_LIBRETRO_GAMBATTE_INSTALL "apt-get install libretro-gambatte"

/* Open the core and begin the game. `path` NULL: Debian's gambatte. DM_EUNAVAILABLE when there is
 * no such core, or when a machine of one runs already. */
dm_status dm_libretro_begin(const char *path, const void *rom, size_t size, dm_error *err);
void dm_libretro_end(void);
/* "gambatte v0.5.0"; the core is opened, and closed when no machine of it runs. */
dm_status dm_libretro_version(const char *path, char *out, size_t size, dm_error *err);

/* DM_GB_KEY_* */
void dm_libretro_set_keys(uint8_t keys);
void dm_libretro_run_frame(void);
/* 160 x 144 shades, 0 light to 3 dark, of the last frame; all 0 before the first. DM_EUNSUPPORTED
 * when its pictures have another size. */
dm_status dm_libretro_picture(uint8_t *shades, dm_error *err);
/* Of C000..DFFF; DM_EUNSUPPORTED elsewhere, or when the core does not show it. */
dm_status dm_libretro_read(uint16_t address, uint8_t *to, size_t size, dm_error *err);

#endif
