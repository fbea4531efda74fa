/* SPDX-License-Identifier: MIT */
/* shard.c - files of records, written so that a kill leaves whole lines; see shard.h. */
#include "synth/store/shard.h"

#include "base/terminal/log.h"
#include "synth/gen/generate.h"
#include "synth/store/compress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

void dm_synth_shard_name(char out[DM_SYNTH_SHARD_NAME_MAX], const char *kind, uint64_t number,
                         bool compressed)
{
    snprintf(out, DM_SYNTH_SHARD_NAME_MAX, "%s-%05llu.jsonl%s", kind, (unsigned long long)number,
             compressed ? DM_SYNTH_COMPRESSED : "");
}

static dm_status system_fail(dm_error *err, const char *what, const char *path)
{
    return dm_fail(err, DM_EIO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Where the shard is when complete, and while it is written. */
static dm_status paths(const char *folder, const char *kind, uint64_t number, bool compressed,
                       char complete[DM_PATH_MAX], char part[DM_PATH_MAX], dm_error *err)
{
    char name[DM_SYNTH_SHARD_NAME_MAX], unfinished[DM_SYNTH_SHARD_NAME_MAX + 8];
    dm_synth_shard_name(name, kind, number, false);
    snprintf(unfinished, sizeof unfinished, "%s.part", name);
    dm_synth_shard_name(name, kind, number, compressed);
    dm_status status = dm_path_join(complete, folder, name, err);
    return status == DM_OK ? dm_path_join(part, folder, unfinished, err) : status;
}

static dm_status state_path(const char *folder, const char *kind, uint64_t number,
                            char out[DM_PATH_MAX], dm_error *err)
{
    char name[DM_SYNTH_SHARD_NAME_MAX + 8];
    snprintf(name, sizeof name, "state/%s-%05llu.json", kind, (unsigned long long)number);
    return dm_path_join(out, folder, name, err);
}

/* ---- Whose file? ---- */

static bool is_there(const char *path)
{
    struct stat file;
    return lstat(path, &file) == 0;
}

static dm_status check_regular(const char *path, dm_error *err)
{
    struct stat file;
    if (lstat(path, &file) != 0)
        return system_fail(err, "look at", path);
    if (!S_ISREG(file.st_mode))
        return dm_fail(err, DM_EINVAL, "%s is no regular file; move it away", path);
    return DM_OK;
}

/* Does a line, perhaps cut off, begin as the line of this id does? `id` may be a prefix of an id. */
static bool starts_with_id(const char *line, size_t size, const char *id, const char *behind)
{
    char start[DM_SYNTH_ID_MAX + 16];
    size_t length = (size_t)snprintf(start, sizeof start, "{\"id\": \"%s%s", id, behind);
    return memcmp(line, start, size < length ? size : length) == 0;
}

static dm_status fail_foreign(dm_error *err, const char *path, uint64_t line)
{
    return dm_fail(err, DM_EINVAL,
                   "%s: line %llu is not of this dataset; move the file away or choose another "
                   "folder",
                   path, (unsigned long long)line);
}

/* ---- State ---- */

static dm_status write_state(const dm_synth_shard *s, const dm_synth_shard_state *state,
                             dm_error *err)
{
    char path[DM_PATH_MAX], hash[DM_HASH_HEX_SIZE];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_hash128_hex(state->checksum, hash);
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_uint(&json, "lines", state->lines);
    dm_json_uint(&json, "bytes", state->bytes);
    dm_json_string(&json, "checksum", hash);
    dm_json_double(&json, "seconds", state->seconds);
    dm_json_int(&json, "rank", state->rank);
    dm_synth_tally_write(&state->tally, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = state_path(s->folder, s->kind, s->number, path, err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(&text), text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status read_state(json_t *root, const char *path, dm_synth_shard_state *state,
                            dm_error *err)
{
    const char *hash = json_string_value(json_object_get(root, "checksum"));
    unsigned long long high = 0, low = 0;
    bool good = hash != NULL && sscanf(hash, "%16llx%16llx", &high, &low) == 2 &&
                dm_synth_tally_read(&state->tally, root);
    state->lines = (uint64_t)json_integer_value(json_object_get(root, "lines"));
    state->bytes = (uint64_t)json_integer_value(json_object_get(root, "bytes"));
    state->checksum = (dm_hash128){.low = low, .high = high};
    state->seconds = json_number_value(json_object_get(root, "seconds"));
    state->rank = (int)json_integer_value(json_object_get(root, "rank"));
    if (!good)
        return dm_fail_at(err, DM_EFORMAT, path, 0, "not the state of a shard");
    return DM_OK;
}

/* The state of a shard that has its complete name; `*there` is false without a state. An unreadable
 * state counts as none, and the lines are then read instead. */
static dm_status find_state(const char *folder, const char *kind, uint64_t number, bool compressed,
                            char shard[DM_PATH_MAX], dm_synth_shard_state *state, bool *there,
                            dm_error *err)
{
    char path[DM_PATH_MAX], part[DM_PATH_MAX];
    json_t *root = NULL;
    dm_error why = {0};
    *there = false;
    dm_status status = state_path(folder, kind, number, path, err);
    if (status == DM_OK)
        status = paths(folder, kind, number, compressed, shard, part, err);
    if (status != DM_OK || !dm_file_exists(path) || !dm_file_exists(shard))
        return status;
    status = dm_json_load(path, &root, &why);
    if (status == DM_OK)
        status = read_state(root, path, state, &why);
    json_decref(root);
    *there = status == DM_OK;
    if (status == DM_EFORMAT) {
        dm_log(DM_LOG_WARN, "%s: %s; its shard is looked at again", path, why.message);
        return DM_OK;
    }
    if (status != DM_OK && err != NULL)
        *err = why;
    return status;
}

dm_status dm_synth_shard_load(const char *folder, const char *kind, uint64_t number,
                              bool compressed, dm_synth_shard_state *state, bool *complete,
                              dm_error *err)
{
    char shard[DM_PATH_MAX];
    struct stat file;
    dm_status status = find_state(folder, kind, number, compressed, shard, state, complete, err);
    if (status == DM_OK && *complete && !compressed)
        *complete = stat(shard, &file) == 0 && (uint64_t)file.st_size == state->bytes;
    return status;
}

dm_status dm_synth_shard_check(const char *folder, const char *kind, uint64_t number,
                               bool compressed, dm_synth_shard_state *state,
                               dm_synth_shard_condition *condition, dm_error *err)
{
    char shard[DM_PATH_MAX], found[DM_HASH_HEX_SIZE], wanted[DM_HASH_HEX_SIZE], *text = NULL;
    size_t size = 0;
    bool there;
    *condition = DM_SYNTH_SHARD_NONE;
    dm_status status = find_state(folder, kind, number, compressed, shard, state, &there, err);
    if (status != DM_OK || !there)
        return status;
    status = check_regular(shard, err);
    if (status == DM_OK)
        status = dm_synth_compress_read(shard, &text, &size, err);
    if (status != DM_OK)
        return status;
    dm_hash128_hex(dm_hash128_of(text, size), found);
    dm_hash128_hex(state->checksum, wanted);
    free(text);
    *condition = size < state->bytes ? DM_SYNTH_SHARD_CUT : DM_SYNTH_SHARD_WHOLE;
    if (size > state->bytes)
        return dm_fail(err, DM_EFORMAT,
                       "%s was changed: it has %zu bytes and was made with %llu; remove it to have "
                       "it made again",
                       shard, size, (unsigned long long)state->bytes);
    if (size == state->bytes && strcmp(found, wanted) != 0)
        return dm_fail(err, DM_EFORMAT,
                       "%s was changed: its checksum is %s and was %s; remove it to have it made "
                       "again",
                       shard, found, wanted);
    return DM_OK;
}

/* ---- Writing ---- */

/* Count the lines that are whole and right, and find where they end. A file system that lost the
 * last writes leaves zeros. */
static dm_status take_stock(dm_synth_shard *s, const char *path, bool is_part, const char *text,
                            size_t size, const dm_synth_shard_lines *lines, dm_error *err)
{
    dm_synth_record record;
    dm_status status = DM_OK;
    dm_error why = {0};
    dm_synth_record_init(&record);
    for (size_t at = 0; at < size;) {
        char id[DM_SYNTH_ID_MAX];
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end == NULL ? size - at : (size_t)(end + 1 - (text + at));
        dm_synth_id(id, lines->seed, lines->first + s->lines);
        if (text[at] == '\0' && is_part)
            break;
        if (!starts_with_id(text + at, length, id, "\"")) {
            status = fail_foreign(err, path, s->lines + 1);
            break;
        }
        if (end == NULL)
            break;
        status = dm_synth_record_read(&record, text + at, length, path, (int)s->lines + 1, &why);
        if (status == DM_OK)
            status = lines->check(lines->user, &record, text + at, length, &why);
        if (status == DM_EFORMAT && is_part) {
            dm_log(DM_LOG_WARN, "%s: line %llu: %s; made again from there", path,
                   (unsigned long long)s->lines + 1, why.message);
            status = DM_OK;
            break;
        }
        if (status != DM_OK) {
            dm_fail(err, status, "%s: line %llu: %s%s", path, (unsigned long long)s->lines + 1,
                    why.message,
                    status == DM_EFORMAT ? "; remove the file to have it made again" : "");
            break;
        }
        dm_synth_tally_add(&s->tally, &record);
        s->lines++;
        at += length;
        s->bytes = at;
    }
    dm_synth_record_deinit(&record);
    return status;
}

static dm_status open_part(dm_synth_shard *s, const char *part, dm_error *err)
{
    s->file = open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (s->file < 0)
        return system_fail(err, "open", part);
    if (ftruncate(s->file, (off_t)s->bytes) != 0 || lseek(s->file, 0, SEEK_END) < 0)
        return system_fail(err, "write", part);
    return DM_OK;
}

static dm_status start(dm_synth_shard *s, const char *folder, const char *kind, uint64_t number,
                       bool compressed, char complete[DM_PATH_MAX], char part[DM_PATH_MAX],
                       dm_error *err)
{
    *s = (dm_synth_shard){
        .folder = folder, .kind = kind, .compressed = compressed, .number = number, .file = -1};
    s->hasher = dm_hasher_create();
    if (s->hasher == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return paths(folder, kind, number, compressed, complete, part, err);
}

dm_status dm_synth_shard_open(dm_synth_shard *s, const char *folder, const char *kind,
                              uint64_t number, bool compressed, const dm_synth_shard_lines *lines,
                              dm_error *err)
{
    char complete[DM_PATH_MAX], part[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_status status = start(s, folder, kind, number, compressed, complete, part, err);
    if (status != DM_OK)
        return status;
    bool has_part = is_there(part), has_complete = is_there(complete);
    const char *there = has_complete ? complete : part;
    if (has_part && has_complete)
        return dm_fail(err, DM_EINVAL, "%s and %s are both there; move one of them away", complete,
                       part);
    if (has_part || has_complete) {
        status = check_regular(there, err);
        if (status == DM_OK)
            status = dm_synth_compress_read(there, &text, &size, err);
        if (status == DM_OK)
            status = take_stock(s, there, has_part, text, size, lines, err);
        if (status == DM_OK)
            dm_hasher_bytes(s->hasher, text, s->bytes);
        if (status == DM_OK && has_complete && compressed) /* its lines, plain */
            status = dm_file_write(part, text, size, err);
        free(text);
    }
    if (status == DM_OK && has_complete && compressed && unlink(complete) != 0)
        status = system_fail(err, "remove", complete);
    if (status == DM_OK && has_complete && !compressed && rename(complete, part) != 0)
        status = system_fail(err, "rename", complete);
    return status == DM_OK ? open_part(s, part, err) : status;
}

/* A file of records with ids of this seed, or an empty one. */
static dm_status check_own(const char *path, uint64_t seed, dm_error *err)
{
    char id[DM_SYNTH_ID_MAX], *text = NULL;
    size_t size = 0;
    if (!is_there(path))
        return DM_OK;
    dm_status status = check_regular(path, err);
    if (status == DM_OK)
        status = dm_synth_compress_read(path, &text, &size, err);
    if (status != DM_OK)
        return status;
    dm_synth_id(id, seed, 0);
    *strchr(id, '-') = '\0';
    if (size > 0 && text[0] != '\0' && !starts_with_id(text, size, id, "-"))
        status = fail_foreign(err, path, 1);
    free(text);
    return status;
}

dm_status dm_synth_shard_open_anew(dm_synth_shard *s, const char *folder, const char *kind,
                                   uint64_t number, bool compressed, uint64_t seed, dm_error *err)
{
    char complete[DM_PATH_MAX], part[DM_PATH_MAX];
    dm_status status = start(s, folder, kind, number, compressed, complete, part, err);
    if (status == DM_OK)
        status = check_own(complete, seed, err);
    if (status == DM_OK)
        status = check_own(part, seed, err);
    return status == DM_OK ? open_part(s, part, err) : status;
}

void dm_synth_shard_close(dm_synth_shard *s)
{
    if (s->file >= 0)
        close(s->file);
    s->file = -1;
    dm_hasher_destroy(s->hasher);
    s->hasher = NULL;
}

/* All of several pieces; they are used up. */
static dm_status write_all(int file, struct iovec *pieces, int count, const char *kind,
                           dm_error *err)
{
    while (count > 0) {
        ssize_t written = writev(file, pieces, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return system_fail(err, "write", kind);
        size_t done = (size_t)written;
        for (; count > 0 && done >= pieces->iov_len; count--)
            done -= pieces++->iov_len;
        if (count > 0) {
            pieces->iov_base = (char *)pieces->iov_base + done;
            pieces->iov_len -= done;
        }
    }
    return DM_OK;
}

dm_status dm_synth_shard_append(dm_synth_shard *s, const dm_buffer *const *lines, int count,
                                dm_error *err)
{
    struct iovec pieces[64];
    for (int at = 0, used; at < count; at += used) {
        uint64_t bytes = 0;
        for (used = 0; used < 64 && at + used < count; used++) {
            const dm_buffer *line = lines[at + used];
            pieces[used] = (struct iovec){.iov_base = line->data, .iov_len = line->size};
            dm_hasher_bytes(s->hasher, line->data, line->size);
            bytes += line->size;
        }
        dm_status status = write_all(s->file, pieces, used, s->kind, err);
        if (status != DM_OK)
            return status;
        /* The disk begins now, so that the shard's end need not wait for it; only fsync counts. */
        sync_file_range(s->file, (off_t)s->bytes, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
        s->lines += (uint64_t)used;
        s->bytes += bytes;
    }
    return DM_OK;
}

/* The whole part, compressed under the complete name; the part goes when that is on disk. */
static dm_status pack(const char *part, const char *complete, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(part, 0, &text, &size, err);
    if (status == DM_OK)
        status = dm_synth_compress_write(complete, text, size, err);
    free(text);
    if (status == DM_OK && unlink(part) != 0)
        status = system_fail(err, "remove", part);
    return status;
}

dm_status dm_synth_shard_finish(dm_synth_shard *s, double seconds, int rank, dm_error *err)
{
    char complete[DM_PATH_MAX], part[DM_PATH_MAX];
    struct stat file;
    bool compressed = s->compressed;
    dm_status status = paths(s->folder, s->kind, s->number, compressed, complete, part, err);
    if (status == DM_OK && (fsync(s->file) != 0 || fstat(s->file, &file) != 0))
        status = system_fail(err, "write", part);
    if (status == DM_OK && (uint64_t)file.st_size != s->bytes)
        status = dm_fail(err, DM_EIO, "%s: %lld bytes, %llu were written", part,
                         (long long)file.st_size, (unsigned long long)s->bytes);
    if (status == DM_OK) {
        dm_synth_shard_state state = {.lines = s->lines,
                                      .bytes = s->bytes,
                                      .checksum = dm_hasher_finish(s->hasher),
                                      .seconds = seconds,
                                      .rank = rank,
                                      .tally = s->tally};
        status = write_state(s, &state, err);
    }
    dm_synth_shard_close(s);
    if (status == DM_OK && compressed)
        return pack(part, complete, err);
    if (status == DM_OK && rename(part, complete) != 0)
        status = system_fail(err, "rename", part);
    return status;
}
