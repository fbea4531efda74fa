/* SPDX-License-Identifier: MIT */
/* machine.h - the host as results should describe it: processor, memory, programs and libraries
 * found. */
#ifndef DM_BASE_HOST_MACHINE_H
#define DM_BASE_HOST_MACHINE_H

#include "base/file.h"

typedef struct dm_machine {
    char cpu_model[128];
    char architecture[32];  /* "x86_64" */
    char cpu_features[256]; /* of those that matter to our kernels, separated by spaces: "avx2 fma"
                             */
    int cores;              /* that this process may use */
    uint64_t memory_bytes;  /* in the machine, or the control group's limit when that is less */
    uint64_t memory_available_bytes;
    char os[128]; /* "Debian GNU/Linux 12 (bookworm), Linux 6.1.0" */
} dm_machine;

/* What cannot be found out is left empty or zero. */
void dm_machine_query(dm_machine *machine);

/* Look a program up on $PATH; false when it is not there. */
bool dm_program_find(char out[DM_PATH_MAX], const char *name);

#endif
