/* SPDX-License-Identifier: MIT */
/* rom_list.c - which ROMs a benchmark runs. */
#include "lab/bench/rom_list.h"

#include "base/file.h"

#include <string.h>
#include <strings.h>

static dm_status add_file(dm_rom_list *list, const char *path, dm_error *err)
{
    if (list->count == DM_ROM_LIST_MAX)
        return dm_fail(err, DM_EINVAL, "more than %d ROMs", DM_ROM_LIST_MAX);
    const char *copy = dm_arena_strndup(list->arena, path, strlen(path));
    if (copy == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    list->paths[list->count++] = copy;
    return DM_OK;
}

static dm_status add_if_rom(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    const char *dot = strrchr(entry->path, '.');
    if (entry->is_dir || dot == NULL || strcasecmp(dot, ".gb") != 0)
        return DM_OK;
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, root, entry->path, err);
    return status == DM_OK ? add_file(user, path, err) : status;
}

dm_status dm_rom_list_add(dm_rom_list *list, const char *path, dm_error *err)
{
    return dm_dir_exists(path) ? dm_dir_walk(path, add_if_rom, list, err)
                               : add_file(list, path, err);
}
