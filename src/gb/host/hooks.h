/* SPDX-License-Identifier: MIT */
/* hooks.h - the tables of hooks (gb/hooks.h) that executors are given, made on the host. */
#ifndef DM_GB_HOST_HOOKS_H
#define DM_GB_HOST_HOOKS_H

#include "gb/hooks.h"
#include "gb/host/rom.h"

#include <dotmatrix/gb.h>

/* Check the hooks for this ROM and fill the table, without marks. DM_EINVAL: too many, or the ROM has no such bank. */
dm_status dm_gb_hook_table_init(dm_gb_hook_table *table, const dm_gb_hook *hooks, size_t count,
                                const dm_gb_rom *rom, dm_error *err);

/* CPU: write the ROM with marks and the numbers to `room` of dm_gb_hooks_marked_size bytes; the table points there. */
size_t dm_gb_hooks_marked_size(const dm_gb_rom *rom);
void dm_gb_hooks_mark_rom(dm_gb_hook_table *table, const dm_gb_rom *rom, uint8_t *room);
/* GPU: mark them among the ROM's words (simt/predecode.h). */
void dm_gb_hooks_mark_words(const dm_gb_hook_table *table, const dm_gb_rom *rom, uint32_t *words);

#endif
