/* SPDX-License-Identifier: MIT */
/* same_machine.h - are two machines in the same state?
 *
 * dm_gb_run leaves nothing lazy behind, so machines that did the same are equal byte for byte. Only
 * what belongs to pictures may differ between one that draws and one that does not. */
#ifndef DM_TESTS_SUPPORT_SAME_MACHINE_H
#define DM_TESTS_SUPPORT_SAME_MACHINE_H

#include "gb/host/core.h"

#include <stddef.h>

/* False when they differ; `why` then names the first difference. */
bool dm_same_machine(const dm_gb *a, const dm_gb *b, char *why, size_t why_size);

#endif
