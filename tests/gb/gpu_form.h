/* SPDX-License-Identifier: MIT */
/* gpu_form.h - run a machine by the GPU's form of the kernel text, compiled for the host. */
#ifndef DM_TESTS_GB_GPU_FORM_H
#define DM_TESTS_GB_GPU_FORM_H

#include "gb/machine/machine.h"

#include <stdbool.h>

typedef struct dm_test_gpu_form {
    dm_gb_machine *m;
    uint8_t *ram;
    const uint8_t *rom;
    const uint32_t *predecoded; /* gb/simt/predecode.h */
    uint8_t *frames;            /* two pictures; NULL: nothing is drawn */
    bool skip_idle;
    uint8_t draw; /* enum dm_gb_draw */
    bool halves;  /* stop when the last picture is complete and draw it, as warps do */
    bool moves;   /* the map is made again before each instruction, as for who gets another place */
} dm_test_gpu_form;

/* The fields of its dm_gb_context. */
#define DM_TEST_GPU_LANE(form)                                                                     \
    .home = (form)->m, .ram = (form)->ram, .rom = (form)->rom, .predecoded = (form)->predecoded,   \
    .frames = (form)->frames, .draw = (form)->draw, .single_frame = 1,                             \
    .skip_idle = (form)->skip_idle

/* What became of the picture that was drawn at the end of the first half: it was complete and is on
 * the screen, it is there but was not complete, or neither. */
enum dm_test_shown { DM_TEST_NOT_SHOWN, DM_TEST_SHOWN, DM_TEST_SHOWN_STALE };

/* As dm_gb_run_cycles. */
enum dm_test_shown dm_test_gpu_form_run(const dm_test_gpu_form *form, uint32_t cycles);

/* The same for a machine that is a copy while it runs (gb/simt/staging.h); without halves and moves. */
void dm_test_gpu_shared_run(const dm_test_gpu_form *form, uint32_t cycles);

#endif
