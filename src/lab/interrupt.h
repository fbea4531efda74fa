/* SPDX-License-Identifier: MIT */
/* interrupt.h - Ctrl-C as a flag that long work looks at between its steps. */
#ifndef DM_LAB_INTERRUPT_H
#define DM_LAB_INTERRUPT_H

#include <stdbool.h>

/* SIGINT and SIGTERM raise the flag from now on; a second one ends the program as usual. */
void dm_lab_interrupt_watch(void);
bool dm_lab_interrupted(void);

#endif
