/* SPDX-License-Identifier: MIT */
/* numpy.h - a kernel as plain Python with NumPy, printed from its IR: the reference of a record.
 *
 *     def heat_thread(thread, u, dt, u_next):        one thread
 *         i = thread[0]
 *         ...
 *
 *     def heat(launch, u, dt, u_next):               the launch: one thread after the other, in place
 *         for thread in np.ndindex(*launch):
 *             heat_thread(thread, u, dt, u_next)
 *
 * Arrays are ndarrays whose last axes are the element's (vec3: 3, mat33: 3, 3); a struct is an aligned
 * structured dtype, so that its bytes are C's. Numbers of 32 bits stay so. Values are never changed in
 * place: only stores change arrays.
 *
 *   numpy.c        functions, blocks, control flow
 *   numpy_expr.c   values as expressions
 *   numpy_rows.def builtins */
#ifndef DM_SYNTH_NUMPY_H
#define DM_SYNTH_NUMPY_H

#include "lang/ir/ir.h"

/* One kernel or several. DM_EUNSUPPORTED names a builtin that is not known here. */
dm_status dm_synth_numpy_print(const dm_ir_function *const *kernels, int count, dm_buffer *out,
                               dm_error *err);
/* A type as what np.dtype takes: "np.float32", "(np.float32, (3,))", a struct's name. */
void dm_synth_numpy_dtype(const dm_type *type, dm_buffer *out);
/* The definition of a struct's dtype, and of those in it, where `out` does not have them yet. */
void dm_synth_numpy_struct(const dm_type *type, dm_buffer *out);

#endif
