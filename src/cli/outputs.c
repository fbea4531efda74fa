/* SPDX-License-Identifier: MIT */
/* outputs.c - see outputs.h. */
#include "cli/outputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void folder_of(const char *path, char folder[DM_PATH_MAX])
{
    snprintf(folder, DM_PATH_MAX, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, DM_PATH_MAX, ".");
    else
        slash[slash == folder ? 1 : 0] = 0;
}

static dm_status check_place(const char *path, dm_error *err)
{
    char folder[DM_PATH_MAX];
    folder_of(path, folder);
    if (!dm_dir_exists(folder))
        return dm_fail(err, DM_EIO, "%s: there is no folder %s", path, folder);
    if (path[0] == 0 || dm_dir_exists(path))
        return dm_fail(err, DM_EIO, "%s: a folder cannot be written to", path);
    if (access(folder, W_OK) != 0 && !dm_file_exists(path))
        return dm_fail(err, DM_EIO, "%s: the folder %s cannot be written to: %s", path, folder,
                       strerror(errno));
    return DM_OK;
}

/* The canonical path of a file, which need not exist yet: its folder's real path and its name. */
static bool true_name(const char *path, char out[DM_PATH_MAX])
{
    char folder[DM_PATH_MAX], real[PATH_MAX];
    const char *name = strrchr(path, '/');
    folder_of(path, folder);
    if (realpath(path, real) != NULL)
        return snprintf(out, DM_PATH_MAX, "%s", real) < DM_PATH_MAX;
    return realpath(folder, real) != NULL &&
           snprintf(out, DM_PATH_MAX, "%s/%s", real, name != NULL ? name + 1 : path) < DM_PATH_MAX;
}

static bool is_same(const char *a, const char *b)
{
    char name[2][DM_PATH_MAX];
    return strcmp(a, b) == 0 ||
           (true_name(a, name[0]) && true_name(b, name[1]) && strcmp(name[0], name[1]) == 0);
}

/* An input is the file of an option or a positional argument. */
static dm_status fail_overwrite(const dm_output *written, const dm_output *read, dm_error *err)
{
    bool is_argument = strchr(read->option, ' ') != NULL;
    return dm_fail(err, DM_EINVAL, "--%s would overwrite %s%s, %s", written->option,
                   is_argument ? "" : "the file of --", read->option, read->path);
}

dm_status dm_outputs_check(const dm_output *outputs, size_t count, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++)
        if (outputs[i].path != NULL && !outputs[i].is_read)
            status = check_place(outputs[i].path, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        for (size_t j = 0; j < i && status == DM_OK; j++) {
            const dm_output *a = &outputs[j], *b = &outputs[i];
            if (a->path == NULL || b->path == NULL || (a->is_read && b->is_read) ||
                !is_same(a->path, b->path))
                continue;
            if (a->is_read || b->is_read)
                status = fail_overwrite(a->is_read ? b : a, a->is_read ? a : b, err);
            else
                status = dm_fail(err, DM_EINVAL, "--%s and --%s both write %s", a->option,
                                 b->option, a->path);
        }
    }
    return status;
}
