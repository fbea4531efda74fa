/* SPDX-License-Identifier: MIT */
/* draw_form.h - draw noted lines by the GPU's form of the kernel text, compiled for the host. */
#ifndef DM_TESTS_GB_DRAW_FORM_H
#define DM_TESTS_GB_DRAW_FORM_H

#include <stdint.h>

/* Draw those of lines first..end-1 of a picture that are noted, by a lane alone. */
void dm_test_draw_alone(uint8_t *ram, uint8_t *picture, uint32_t first, uint32_t end);

/* Draw all that are noted, and the packed pixels unless NULL, by the 32 lanes of a warp. */
void dm_test_draw_warp(uint8_t *ram, uint8_t *picture, uint8_t *packed);

#endif
