/* SPDX-License-Identifier: MIT */
/* rom_list.h - which ROMs a benchmark runs: files, or all .gb files of folders. */
#ifndef DM_LAB_BENCH_ROM_LIST_H
#define DM_LAB_BENCH_ROM_LIST_H

#include "base/arena.h"

#include <dotmatrix/base.h>

#define DM_ROM_LIST_MAX 1024

typedef struct dm_rom_list {
    const char *paths[DM_ROM_LIST_MAX];
    size_t count;
    dm_arena *arena; /* of the paths */
} dm_rom_list;

/* `path` is a file, whatever its name, or a folder. A folder without ROMs adds none. */
dm_status dm_rom_list_add(dm_rom_list *list, const char *path, dm_error *err);

#endif
