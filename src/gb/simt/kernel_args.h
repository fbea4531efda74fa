/* SPDX-License-Identifier: MIT */
/* kernel_args.h - the argument blocks of kernel_run.h, for its callers; kernel text.
 *
 * Machine i has machines[i], `memory_stride` bytes of machine memory at memory + i * memory_stride,
 * and where pictures are wanted two of them at frames + i * DM_GB_FRAMES_SIZE. All share the ROM.
 */
#ifndef DM_SIMT_KERNEL_ARGS_H
#define DM_SIMT_KERNEL_ARGS_H

#include "gb/machine/machine.h"
#include "gb/simt/uop.h"

#define DM_GB_FRAMES_SIZE (2u * DM_GB_SCREEN_W * DM_GB_SCREEN_H)

typedef struct dm_gb_run_args {
    dm_gb_machine *machines;
    uint8_t *memory;
    const uint8_t *rom;         /* padded to a power of two (rom.h) */
    const uint32_t *predecoded; /* of dm_gb_predecode_rom */
    const dm_gb_uop *uops;      /* all of them (uop_decode.h) */
    uint8_t *frames;            /* NULL: nothing is drawn */
    const uint8_t *keys; /* one mask per machine, held during the whole run; NULL: as they were */
    uint64_t memory_stride;
    uint32_t count;     /* machines */
    uint32_t cycles;    /* T-cycles past each machine's last target */
    uint32_t draw;      /* enum dm_gb_draw */
    uint32_t skip_idle; /* 0 or 1 */
} dm_gb_run_args;

typedef struct dm_gb_predecode_args {
    const uint8_t *rom;
    uint32_t *words; /* `size` of them, and DM_GB_SPARE_WORDS */
    uint64_t size;   /* of the ROM */
} dm_gb_predecode_args;

#endif
