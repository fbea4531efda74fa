/* SPDX-License-Identifier: MIT */
/* unit.h - a record's program as the compiler sees it: one kernel, or several with their launches.
 *
 *     def blur(image: wp.array2d(dtype=float), weight: float, blurred: wp.array2d(dtype=float)):
 *         rows = wp.zeros_like(image)
 *         wp.launch(blur_rows, dim=image.shape, inputs=[image, weight], outputs=[rows])
 *         wp.launch(blur_columns, dim=image.shape, inputs=[rows, weight], outputs=[blurred])
 *
 * A program of several kernels has the name of that function. Python runs it; the compiler ignores it.
 * It is read here line by line: a docstring, then temporaries, then launches, nothing else.
 *
 *     X = wp.zeros_like(Y)   X = wp.zeros(Y.shape, dtype=T)   X = wp.zeros(Y.shape[0], dtype=T)
 *     X = wp.zeros(1, dtype=T)
 *     wp.launch(K, dim=Y.shape | Y.shape[0] | 1, inputs=[...], outputs=[...])
 *
 * For the code that inspects kernels (arguments for trials, roles, descriptions, cost) it is a function
 * whose operations are the launches. In C it has entry points like a kernel's: forward makes the
 * temporaries and launches, backward launches the backward passes in reverse order. The CUDA texts hold
 * the kernels alone.
 *
 *   unit.c       reads the function      unit_text.c   writes the entry points */
#ifndef DM_SYNTH_UNIT_H
#define DM_SYNTH_UNIT_H

#include "lang/compile.h"

#define DM_UNIT_NAMES_MAX 24 /* parameters and temporaries */
#define DM_UNIT_LAUNCHES_MAX 8
#define DM_UNIT_NAME_SIZE 64

/* A parameter of the program, or behind them a temporary. */
typedef struct dm_unit_array {
    char name[DM_UNIT_NAME_SIZE];
    const dm_type *type; /* by the kernels that take it */
    int like;            /* of a temporary: whose shape it has; -1: one element */
} dm_unit_array;

typedef struct dm_unit_launch {
    int kernel;    /* of the compilation */
    int over;      /* the array whose shape the launch has; -1: one thread */
    int dims;      /* how many of its dimensions */
    char dim[128]; /* as written */
    int args[DM_UNIT_NAMES_MAX];
    int arg_count;
} dm_unit_launch;

typedef struct dm_unit {
    dm_compilation *compilation;
    int kernel;                    /* a single one; -1: launches */
    const dm_ir_function *forward; /* the kernel's, or the function of launches */
    bool has_backward;
    dm_unit_array arrays[DM_UNIT_NAMES_MAX];
    int param_count, array_count;
    dm_unit_launch launches[DM_UNIT_LAUNCHES_MAX];
    int launch_count;
} dm_unit;

/* Compile what is called `name` in an open compilation of `source`, which ends with a zero: a kernel, or a
 * function that launches some. DM_ECOMPILE says what is wrong. */
dm_status dm_unit_open(dm_unit *unit, dm_compilation *c, const char *source, const char *name,
                       dm_error *err);
/* Its text for one pass. */
dm_status dm_unit_print(const dm_unit *unit, dm_target target, dm_passes pass, dm_buffer *out,
                        dm_error *err);
/* The launches as JSON, for the record; nothing for a single kernel. */
void dm_unit_put_launches(const dm_unit *unit, dm_buffer *out);

/* unit_text.c: C entry points behind the kernels' text. */
void dm_unit_put_entries(const dm_unit *unit, dm_passes pass, dm_buffer *out);

#endif
