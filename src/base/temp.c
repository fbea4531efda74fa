/* SPDX-License-Identifier: MIT */
/* temp.c - see temp.h. */
#include "base/temp.h"
#include "base/terminal/stop.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX ".dotmatrix-temp-"
#define YOUNG_SECONDS 10 /* a new folder's process may be between making and locking it */

static const char *place(const char *parent)
{
    if (parent != NULL)
        return parent;
    const char *chosen = getenv("TMPDIR");
    return chosen != NULL && chosen[0] != 0 ? chosen : "/tmp";
}

/* PREFIX and the six characters of mkdtemp. */
static bool is_ours(const char *name)
{
    size_t prefix = strlen(PREFIX);
    if (strncmp(name, PREFIX, prefix) != 0 || strlen(name) != prefix + 6)
        return false;
    for (const char *c = name + prefix; *c != 0; c++)
        if (!isalnum((unsigned char)*c))
            return false;
    return true;
}

/* Whether the open folder is this user's, old enough, and its process is gone. */
static bool is_left(int folder)
{
    struct stat st;
    if (fstat(folder, &st) != 0 || st.st_uid != geteuid() ||
        time(NULL) - st.st_mtime < YOUNG_SECONDS)
        return false;
    return flock(folder, LOCK_EX | LOCK_NB) == 0;
}

void dm_temp_sweep(const char *parent)
{
    const char *root = place(parent);
    DIR *dir = opendir(root);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[DM_PATH_MAX];
        if (!is_ours(entry->d_name) || dm_path_join(path, root, entry->d_name, NULL) != DM_OK)
            continue;
        int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0 && is_left(folder))
            dm_dir_remove(path, NULL);
        if (folder >= 0)
            close(folder);
    }
    if (dir != NULL)
        closedir(dir);
}

dm_status dm_temp_folder(char out[DM_PATH_MAX], const char *parent, dm_error *err)
{
    const char *root = place(parent);
    dm_temp_sweep(parent);
    if (snprintf(out, DM_PATH_MAX, "%s/" PREFIX "XXXXXX", root) >= DM_PATH_MAX - 300 ||
        mkdtemp(out) == NULL)
        return dm_fail(err, DM_EIO, "cannot make a temporary folder in %s: %s", root,
                       strerror(errno));
    dm_stop_folder_add(out);
    return DM_OK;
}

dm_status dm_temp_folder_keep(const char *folder, const char *path, dm_error *err)
{
    if (rename(folder, path) != 0)
        return dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
    dm_stop_folder_remove(folder);
    return DM_OK;
}
