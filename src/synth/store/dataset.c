/* SPDX-License-Identifier: MIT */
/* dataset.c - a dataset on disk, as its readers see it; see dataset.h. */
#include "synth/store/dataset.h"

#include "synth/store/compress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static dm_status add_file(dm_synth_dataset *d, const char *name, dm_error *err)
{
    char **grown = realloc(d->files, (d->file_count + 1) * sizeof *grown);
    char *copy = strdup(name);
    if (grown != NULL)
        d->files = grown;
    if (grown == NULL || copy == NULL) {
        free(copy);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    d->files[d->file_count++] = copy;
    return DM_OK;
}

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), own = strlen(end);
    return size > own && strcasecmp(name + size - own, end) == 0;
}

static dm_status visit(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    (void)root;
    if (entry->is_dir || (!ends_with(entry->path, ".jsonl") && !ends_with(entry->path, ".json") &&
                          !ends_with(entry->path, ".jsonl" DM_SYNTH_COMPRESSED)))
        return DM_OK;
    return add_file(user, entry->path, err);
}

/* A shard's name may not lead out of the folder. */
static dm_status take_shards(dm_synth_dataset *d, dm_error *err)
{
    json_t *shards = json_object_get(d->manifest, "shards"), *shard;
    size_t i;
    if (!json_is_array(shards))
        return dm_fail(err, DM_EFORMAT, "%s/manifest.json: no list of shards", d->folder);
    dm_status status = DM_OK;
    json_array_foreach(shards, i, shard)
    {
        const char *name = json_string_value(json_object_get(shard, "file"));
        if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL || name[0] == '.')
            return dm_fail(err, DM_EFORMAT, "%s/manifest.json: shard %zu has no file name",
                           d->folder, i);
        status = add_file(d, name, err);
        if (status != DM_OK)
            break;
    }
    return status;
}

dm_status dm_synth_dataset_open(dm_synth_dataset *d, const char *path, dm_error *err)
{
    char manifest[DM_PATH_MAX];
    memset(d, 0, sizeof *d);
    dm_status status;
    if (dm_file_exists(path)) {
        const char *slash = strrchr(path, '/');
        size_t size = slash == NULL ? 0 : (size_t)(slash - path) + 1;
        if (size >= sizeof d->folder)
            return dm_fail(err, DM_EINVAL, "%s: too long", path);
        memcpy(d->folder, path, size);
        return add_file(d, path + size, err);
    }
    if (!dm_dir_exists(path) || strlen(path) >= sizeof d->folder)
        return dm_fail(err, DM_ENOENT, "%s: no such folder or file", path);
    memcpy(d->folder, path, strlen(path) + 1);
    status = dm_path_join(manifest, path, "manifest.json", err);
    if (status == DM_OK && dm_file_exists(manifest)) {
        status = dm_json_load(manifest, &d->manifest, err);
        if (status == DM_OK)
            status = take_shards(d, err);
    } else if (status == DM_OK) {
        status = dm_dir_walk(path, visit, d, err);
        if (status == DM_OK && d->file_count == 0)
            status = dm_fail(err, DM_ENOENT, "%s: no manifest.json, no .jsonl or .json file", path);
    }
    if (status != DM_OK)
        dm_synth_dataset_close(d);
    return status;
}

void dm_synth_dataset_close(dm_synth_dataset *d)
{
    for (size_t i = 0; i < d->file_count; i++)
        free(d->files[i]);
    free(d->files);
    json_decref(d->manifest);
    memset(d, 0, sizeof *d);
}

dm_status dm_synth_file_read(dm_synth_file *f, const dm_synth_dataset *d, size_t number,
                             dm_error *err)
{
    char path[DM_PATH_MAX];
    memset(f, 0, sizeof *f);
    dm_status status = dm_path_join(path, d->folder, d->files[number], err);
    if (status == DM_OK)
        status = dm_synth_compress_read(path, &f->bytes, &f->size, err);
    if (status != DM_OK)
        return status;
    size_t count = 1;
    for (const char *p = f->bytes; (p = memchr(p, '\n', f->size - (size_t)(p - f->bytes))) != NULL;
         p++)
        count++;
    f->lines = calloc(count, sizeof *f->lines);
    if (f->lines == NULL) {
        dm_synth_file_free(f);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    const char *end = f->bytes + f->size;
    for (const char *p = f->bytes; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        f->lines[f->count++] = p;
        p = newline == NULL ? end : newline + 1;
    }
    return DM_OK;
}

void dm_synth_file_free(dm_synth_file *f)
{
    free(f->bytes);
    free(f->lines);
    memset(f, 0, sizeof *f);
}

dm_status dm_synth_dataset_find(const dm_synth_dataset *d, const char *id, dm_synth_record *record,
                                dm_error *err)
{
    dm_status status = DM_OK;
    dm_buffer start = DM_BUFFER_EMPTY;
    dm_buffer_printf(&start, "{\"id\": \"%s\",", id);
    status = dm_buffer_check(&start, err);
    bool found = false;
    for (size_t i = 0; i < d->file_count && status == DM_OK && !found; i++) {
        dm_synth_file f;
        status = dm_synth_file_read(&f, d, i, err);
        for (size_t k = 0; status == DM_OK && k < f.count && !found; k++) {
            size_t size = dm_synth_file_line(&f, k);
            assert(f.lines[k] != NULL);
            found =
                size > start.size && memcmp(f.lines[k], dm_buffer_text(&start), start.size) == 0;
            if (found)
                status =
                    dm_synth_record_read(record, f.lines[k], size, d->files[i], (int)k + 1, err);
        }
        dm_synth_file_free(&f);
    }
    dm_buffer_deinit(&start);
    return status == DM_OK && !found ? dm_fail(err, DM_ENOENT, "no record has the id '%s'", id)
                                     : status;
}
