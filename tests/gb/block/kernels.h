/* SPDX-License-Identifier: MIT */
/* kernels.h - kernels of one Game Boy as a GPU runs them, in blocks of lanes on the host (base/block_host.h). */
#ifndef DM_TESTS_GB_BLOCK_KERNELS_H
#define DM_TESTS_GB_BLOCK_KERNELS_H

#include <dotmatrix/device.h>

#include <stdint.h>

/* For the stand-in driver. */
extern const dm_builtin_kernel dm_gb_block_vectors, dm_gb_block_run[2];

/* Render those of lines first..end-1 of a picture that have line registers in their place, by a lane alone. */
void dm_test_render_alone(uint8_t *ram, uint8_t *picture, uint32_t first, uint32_t end);

/* Render all that have, and the packed pixels unless NULL, by the 32 lanes of a warp. */
void dm_test_render_warp(uint8_t *ram, uint8_t *picture, uint8_t *packed);

#endif
