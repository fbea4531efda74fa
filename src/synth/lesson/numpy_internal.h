/* SPDX-License-Identifier: MIT */
/* numpy_internal.h - what the NumPy printer's files share. */
#ifndef DM_SYNTH_NUMPY_INTERNAL_H
#define DM_SYNTH_NUMPY_INTERNAL_H

#include "synth/lesson/numpy.h"

/* How tightly Python's operators bind. */
enum {
    DM_PY_ANY,
    DM_PY_CHOICE, /* a if c else b */
    DM_PY_OR,
    DM_PY_AND,
    DM_PY_NOT,
    DM_PY_COMPARE,
    DM_PY_BIT_OR,
    DM_PY_BIT_XOR,
    DM_PY_BIT_AND,
    DM_PY_SHIFT,
    DM_PY_SUM,
    DM_PY_PRODUCT,
    DM_PY_SIGN,
    DM_PY_PRIMARY
};

/* Functions that the text defines when it uses them, in numpy_expr.c. */
typedef struct dm_numpy_helper {
    const char *name, *text;
} dm_numpy_helper;
extern const dm_numpy_helper dm_numpy_helpers[]; /* ends with NULL */

typedef struct dm_numpy_plan {
    const char *name; /* the variable that holds it; NULL: an expression, or not defined yet */
    int uses;
    bool inlined; /* written where it is used */
} dm_numpy_plan;

#define DM_NUMPY_FUNCTIONS_MAX 64

typedef struct dm_numpy_writer {
    const dm_ir_function *f;
    dm_numpy_plan *plan;
    dm_buffer *out;
    int depth;
    bool wraps; /* integers of this program may leave 32 bits */
    uint64_t helpers;
    const dm_ir_function *functions[DM_NUMPY_FUNCTIONS_MAX]; /* those it calls, callees first */
    char function_names[DM_NUMPY_FUNCTIONS_MAX][80];
    int function_count;
    dm_buffer structs;
    dm_lang *lang;    /* whose memory names take */
    uint64_t written; /* parameters that the function writes, a bit each */
    dm_status status;
    dm_error *err;
} dm_numpy_writer;

void dm_numpy_unknown(dm_numpy_writer *w, const char *what);
void dm_numpy_value(dm_numpy_writer *w, dm_val v, int level);
void dm_numpy_op(dm_numpy_writer *w, const dm_ir_op *op, int level);
/* An element of an array, with what of it is meant. */
void dm_numpy_place(dm_numpy_writer *w, const dm_ir_op *op);
void dm_numpy_use(dm_numpy_writer *w, const char *helper);
const char *dm_numpy_function(const dm_numpy_writer *w, const dm_ir_function *f);
/* Can no store change what is loaded here? */
bool dm_numpy_is_constant(const dm_numpy_writer *w, dm_val array);

#endif
