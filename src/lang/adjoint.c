/* SPDX-License-Identifier: MIT */
/* adjoint.c - the backward pass; not there yet. */
#include "lang/module.h"

dm_ir_function *dm_adjoint(dm_module_unit *module, dm_ir_function *f)
{
    (void)module;
    (void)f;
    return NULL;
}
