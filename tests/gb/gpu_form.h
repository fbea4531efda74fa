/* SPDX-License-Identifier: MIT */
/* gpu_form.h - run a machine by the GPU's form of the kernel text, compiled for the host. */
#ifndef DM_TESTS_GB_GPU_FORM_H
#define DM_TESTS_GB_GPU_FORM_H

#include "gb/machine.h"

#include <stdbool.h>

typedef struct dm_test_gpu_form {
    dm_gb_machine *m;
    uint8_t *ram;
    const uint8_t *rom;
    const uint32_t *rom_words; /* NULL: instructions are read by bytes */
    uint8_t *frames;           /* two pictures; NULL: nothing is drawn */
    bool skip_polls;
    uint8_t draw; /* enum dm_gb_draw */
    bool halves;  /* stop when the last picture is complete and draw it, as warps do */
    bool moves;   /* the map is made again before each instruction, as for who gets another place */
} dm_test_gpu_form;

/* As dm_gb_run_cycles. */
void dm_test_gpu_form_run(const dm_test_gpu_form *form, uint32_t cycles);

#endif
