/* SPDX-License-Identifier: MIT */
/* folder.c - see folder.h. */
#include "synth/store/folder.h"

#include "base/file.h"
#include "base/json.h"
#include "synth/store/compress.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_temporary(const char *name) /* base/file.c's */
{
    size_t size = strlen(name);
    return size > 8 && strncmp(name, ".dm-", 4) == 0 && strcmp(name + size - 4, ".tmp") == 0;
}

/* "pairs-00003.jsonl", "rejected-00003.jsonl.part" */
static bool is_shard(const char *name)
{
    const char *at = strncmp(name, "pairs-", 6) == 0      ? name + 6
                     : strncmp(name, "rejected-", 9) == 0 ? name + 9
                                                          : NULL;
    if (at == NULL || !isdigit((unsigned char)*at))
        return false;
    at += strspn(at, "0123456789");
    return strcmp(at, ".jsonl") == 0 || strcmp(at, ".jsonl.part") == 0 ||
           strcmp(at, ".jsonl" DM_SYNTH_COMPRESSED) == 0;
}

/* Call `visit` for each name in a folder until it returns false; one that is not there has none. */
typedef bool (*name_visitor)(const char *folder, const char *name, void *user);
static dm_status each_name(const char *folder, name_visitor visit, void *user, dm_error *err)
{
    DIR *dir = opendir(folder);
    if (dir == NULL && errno == ENOENT)
        return DM_OK;
    if (dir == NULL)
        return dm_fail(err, DM_EIO, "cannot read the folder %s: %s", folder, strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !visit(folder, entry->d_name, user))
            break;
    closedir(dir);
    return DM_OK;
}

/* ---- Whose folder? ---- */

static bool find_other_state(const char *folder, const char *name, void *user)
{
    (void)folder;
    *(bool *)user = strncmp(name, "lock-", 5) != 0 && !is_temporary(name);
    return !*(bool *)user;
}

/* The folder state/ alone is what a kill before the manifest leaves, with locks in it. */
static bool is_begun_state(const char *folder, const char *name)
{
    char path[DM_PATH_MAX];
    struct stat file;
    bool other = false;
    return strcmp(name, "state") == 0 && dm_path_join(path, folder, name, NULL) == DM_OK &&
           lstat(path, &file) == 0 && S_ISDIR(file.st_mode) &&
           each_name(path, find_other_state, &other, NULL) == DM_OK && !other;
}

static bool find_taken(const char *folder, const char *name, void *user)
{
    char *taken = user;
    if (strcmp(name, "stats.json") != 0 && strcmp(name, "failed") != 0 &&
        strcmp(name, "state") != 0 && !is_shard(name))
        return true;
    if (is_begun_state(folder, name))
        return true;
    snprintf(taken, DM_PATH_MAX, "%s", name);
    return false;
}

/* A JSON object with a member of this type and, if `text` is given, that text. */
static dm_status check_json(const char *path, const char *key, const char *text, dm_error *err)
{
    json_t *root = NULL;
    dm_error why = {0};
    dm_status status = dm_json_load(path, &root, &why);
    const json_t *value = json_object_get(root, key);
    const char *is = json_string_value(value);
    bool own =
        status == DM_OK && value != NULL && (text == NULL || (is != NULL && !strcmp(is, text)));
    json_decref(root);
    if (own)
        return DM_OK;
    return dm_fail(err, DM_EINVAL,
                   "%s is not of a dataset of kernels%s%s; move it away or choose another folder",
                   path, status == DM_OK ? "" : ": ", why.message);
}

dm_status dm_synth_folder_check(const char *folder, dm_error *err)
{
    char manifest[DM_PATH_MAX], stats[DM_PATH_MAX], taken[DM_PATH_MAX] = "";
    dm_status status = dm_path_join(manifest, folder, "manifest.json", err);
    if (status == DM_OK)
        status = dm_path_join(stats, folder, "stats.json", err);
    if (status == DM_OK && access(manifest, F_OK) != 0)
        status = each_name(folder, find_taken, taken, err);
    /* Another rank may have begun the dataset meanwhile. */
    if (status == DM_OK && taken[0] != '\0' && access(manifest, F_OK) != 0)
        return dm_fail(err, DM_EINVAL,
                       "%s/%s is there and no manifest.json: it is not of a dataset of kernels; "
                       "move it away or choose another folder",
                       folder, taken);
    if (status == DM_OK && access(manifest, F_OK) == 0)
        status = check_json(manifest, "format", DM_SYNTH_FORMAT, err);
    if (status == DM_OK && access(stats, F_OK) == 0)
        status = check_json(stats, "total_pairs", NULL, err);
    return status;
}

/* ---- What killed runs left ---- */

static bool remove_temporary(const char *folder, const char *name, void *user)
{
    char path[DM_PATH_MAX];
    (void)user;
    if (is_temporary(name) && dm_path_join(path, folder, name, NULL) == DM_OK)
        unlink(path);
    return true;
}

dm_status dm_synth_folder_sweep(const char *folder, dm_error *err)
{
    static const char *const own[] = {"", "state", "failed"};
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof own / sizeof own[0] && status == DM_OK; i++) {
        char path[DM_PATH_MAX];
        status =
            i == 0 ? dm_path_join(path, "", folder, err) : dm_path_join(path, folder, own[i], err);
        if (status == DM_OK)
            status = each_name(path, remove_temporary, NULL, err);
    }
    return status;
}
