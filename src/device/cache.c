/* SPDX-License-Identifier: MIT */
/* cache.c - compiled kernels on disk; the format is in cache.h. */
#include "device/cache.h"

#include "base/terminal/log.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((uint64_t)1 << 30)
#define ENTRY_SIZE_MAX ((size_t)1 << 30)

typedef struct footer {
    char magic[8];
    uint64_t size;
    uint64_t hash_low, hash_high; /* of the code */
    uint64_t name_hash;           /* of the entry's name: a file under another's name is not it */
} footer;

static const char footer_magic[8] = {'d', 'm', 'k', 'e', 'r', 'n', '0', '1'};

static footer footer_for(const char *name, const void *bytes, size_t size)
{
    footer f;
    dm_hash128 hash = dm_hash128_of(bytes, size);
    memcpy(f.magic, footer_magic, sizeof f.magic);
    f.size = size;
    f.hash_low = hash.low;
    f.hash_high = hash.high;
    f.name_hash = dm_hash64(name, strlen(name));
    return f;
}

void dm_cache_name(char out[DM_CACHE_NAME_MAX], dm_hash128 key, const char *extension)
{
    char hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex(key, hex);
    snprintf(out, DM_CACHE_NAME_MAX, "%s.%s", hex, extension);
}

dm_status dm_cache_folder(char out[DM_PATH_MAX], dm_error *err)
{
    char root[DM_PATH_MAX];
    dm_status status = dm_path_cache(root, err);
    return status != DM_OK ? status : dm_path_join(out, root, "kernels", err);
}

bool dm_cache_parse_size(const char *text, uint64_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift != 0;
    if (*end != '\0' || value > UINT64_MAX >> shift)
        return false;
    *out = (uint64_t)value << shift;
    return true;
}

static uint64_t size_limit(void)
{
    static atomic_bool warned;
    uint64_t limit = DEFAULT_LIMIT;
    const char *text = getenv("DM_CACHE_MAX");
    if (text != NULL && !dm_cache_parse_size(text, &limit) && !atomic_exchange(&warned, true))
        dm_log(DM_LOG_WARN, "DM_CACHE_MAX=%s is no size (try 512M); using 1G", text);
    return limit;
}

bool dm_cache_load(const char *name, char **bytes, size_t *size, char path[DM_PATH_MAX])
{
    char folder[DM_PATH_MAX];
    *bytes = NULL;
    if (dm_cache_folder(folder, NULL) != DM_OK || dm_path_join(path, folder, name, NULL) != DM_OK ||
        !dm_file_exists(path))
        return false;
    size_t whole;
    if (dm_file_read(path, ENTRY_SIZE_MAX, bytes, &whole, NULL) != DM_OK)
        return false;
    footer found, expected;
    if (whole > sizeof found) {
        *size = whole - sizeof found;
        memcpy(&found, *bytes + *size, sizeof found);
        expected = footer_for(name, *bytes, *size);
        if (memcmp(&found, &expected, sizeof found) == 0) {
            utimensat(AT_FDCWD, path, NULL, 0); /* mark it as used; a failure does not matter */
            return true;
        }
    }
    dm_log(DM_LOG_INFO, "kernel cache: %s is damaged, compiling again", path);
    free(*bytes);
    *bytes = NULL;
    return false;
}

static bool warn_unwritable(const dm_error *err)
{
    static atomic_bool warned;
    if (!atomic_exchange(&warned, true))
        dm_log(DM_LOG_WARN, "kernel cache: %s; kernels are compiled anew in each run",
               err->message);
    return false;
}

bool dm_cache_store(const char *name, const void *bytes, size_t size, char path[DM_PATH_MAX])
{
    char folder[DM_PATH_MAX];
    dm_error err = {0};
    uint64_t limit = size_limit();
    if (size + sizeof(footer) > limit || size + sizeof(footer) > ENTRY_SIZE_MAX)
        return false;
    if (dm_cache_folder(folder, &err) != DM_OK || dm_dir_create(folder, &err) != DM_OK ||
        dm_path_join(path, folder, name, &err) != DM_OK)
        return warn_unwritable(&err);
    char *whole = malloc(size + sizeof(footer));
    if (whole == NULL)
        return false;
    footer f = footer_for(name, bytes, size);
    memcpy(whole, bytes, size);
    memcpy(whole + size, &f, sizeof f);
    dm_status status = dm_file_write(path, whole, size + sizeof f, &err);
    free(whole);
    if (status != DM_OK)
        return warn_unwritable(&err);
    dm_cache_trim(folder, limit, NULL);
    return true;
}

/* ---- Keeping it small ---- */

typedef struct entry {
    char *name;
    uint64_t size;
    int64_t modified_ns;
} entry;

typedef struct entry_list {
    entry *items;
    size_t count, capacity;
    uint64_t bytes;
} entry_list;

static dm_status collect(const char *root, const dm_dir_entry *found, void *user, dm_error *err)
{
    (void)root;
    entry_list *list = user;
    if (found->is_dir)
        return DM_OK;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        entry *grown = realloc(list->items, capacity * sizeof *grown);
        if (grown == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        list->items = grown;
        list->capacity = capacity;
    }
    entry *e = &list->items[list->count];
    e->name = strdup(found->path);
    e->size = found->size;
    e->modified_ns = found->modified_ns;
    if (e->name == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    list->count++;
    list->bytes += found->size;
    return DM_OK;
}

static int older_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->modified_ns > y->modified_ns) - (x->modified_ns < y->modified_ns);
}

dm_status dm_cache_trim(const char *folder, uint64_t limit, dm_error *err)
{
    entry_list list = {0};
    dm_status status = dm_dir_walk(folder, collect, &list, err);
    if (status == DM_OK && list.bytes > limit) {
        qsort(list.items, list.count, sizeof list.items[0], older_first);
        for (size_t i = 0; i < list.count && list.bytes > limit; i++) {
            char path[DM_PATH_MAX];
            /* Another process may have been first. */
            if (dm_path_join(path, folder, list.items[i].name, NULL) == DM_OK)
                unlink(path);
            list.bytes -= list.items[i].size;
        }
    }
    for (size_t i = 0; i < list.count; i++)
        free(list.items[i].name);
    free(list.items);
    return status;
}
