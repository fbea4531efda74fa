/* SPDX-License-Identifier: MIT */
/* file.c - whole files and folders over POSIX calls.
 *
 * Everything under a folder is reached through that folder's descriptor (openat, unlinkat), so that
 * neither a link nor a rename by another process can lead a removal out of its tree. */
#include "base/file.h"
#include "base/buffer.h"
#include "base/terminal/stop.h"
#include "base/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP 65536                 /* first room for a file whose size is unknown */
#define ENDLESS_LIMIT ((size_t)1 << 30) /* of what is no regular file and was given no limit */
#define TEMP_TRIES 100

/* "cannot read PATH: No such file or directory". A very long path is cut, never the reason. */
static dm_status fail_errno(dm_error *err, const char *what, const char *path, int error)
{
    dm_status status = error == ENOENT ? DM_ENOENT : error == ENOMEM ? DM_ENOMEM : DM_EIO;
    char reason[128];
    return dm_fail(err, status, "cannot %s %.800s: %s", what, path,
                   strerror_r(error, reason, sizeof reason));
}

static dm_status fail_limit(dm_error *err, const char *path, size_t limit)
{
    return dm_fail(err, DM_EINVAL, "%.800s: larger than the limit of %zu bytes", path, limit);
}

/* ---- whole files ---- */

static ssize_t read_some(int fd, void *bytes, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, bytes, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Read to the end whatever the size was said to be: /proc files say 0, pipes say nothing, and a
 * file may grow meanwhile. One byte beyond the limit is asked for, to see that there is none. */
static dm_status read_all(int fd, const char *path, size_t expected, size_t limit, dm_buffer *out,
                          dm_error *err)
{
    size_t room = expected > 0 ? expected + 1 : READ_STEP;
    for (;;) {
        if (!dm_buffer_reserve(out, room))
            return dm_fail(err, DM_ENOMEM, "cannot read %.800s: out of memory after %zu bytes",
                           path, out->size);
        room = out->capacity - out->size - 1;
        if (limit > 0 && room - 1 > limit - out->size)
            room = limit - out->size + 1;
        ssize_t got = read_some(fd, out->data + out->size, room);
        if (got < 0)
            return fail_errno(err, "read", path, errno);
        if (got == 0)
            break;
        out->size += (size_t)got;
        if (limit > 0 && out->size > limit)
            return fail_limit(err, path, limit);
        room = READ_STEP;
    }
    out->data[out->size] = 0;
    return DM_OK;
}

dm_status dm_file_read(const char *path, size_t limit, char **bytes, size_t *size, dm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "read", path, errno);
    dm_buffer buffer = DM_BUFFER_EMPTY;
    dm_status status = DM_OK;
    struct stat st;
    if (fstat(fd, &st) != 0) {
        status = fail_errno(err, "read", path, errno);
    } else {
        uint64_t expected = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
        if (limit == 0 && !S_ISREG(st.st_mode)) /* /dev/zero has no end */
            limit = ENDLESS_LIMIT;
        if (limit > 0 && expected > limit)
            status = fail_limit(err, path, limit);
        else
            status = read_all(fd, path, (size_t)expected, limit, &buffer, err);
    }
    close(fd);
    if (status != DM_OK) {
        dm_buffer_deinit(&buffer);
        return status;
    }
    *size = buffer.size;
    *bytes = dm_buffer_take(&buffer);
    return DM_OK;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        bytes += put;
        size -= (size_t)put;
    }
    return 0;
}

/* A pipe, a terminal, /dev/null: there is nothing to replace, so the bytes just go there. */
static dm_status write_device(const char *path, const char *bytes, size_t size, dm_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail_errno(err, "write", path, errno);
    int error = write_all(fd, bytes, size);
    if (close(fd) != 0 && error == 0 && errno != EINTR)
        error = errno;
    return error == 0 ? DM_OK : fail_errno(err, "write", path, error);
}

/* Create a new file in `folder` under a name that does not exist yet. */
static int open_temp(int folder, char name[64])
{
    static atomic_uint counter;
    for (int i = 0; i < TEMP_TRIES; i++) {
        /* The clock keeps apart processes of equal number that share a disk. */
        snprintf(name, 64, ".dm-%ld-%u-%llx.tmp", (long)getpid(), atomic_fetch_add(&counter, 1),
                 (unsigned long long)dm_time_ns());
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Write `name` in the open folder by way of a temporary; an errno, 0 when done. */
static int replace_file(int folder, const char *name, const char *bytes, size_t size)
{
    char temp[64];
    int fd = open_temp(folder, temp);
    if (fd < 0)
        return errno;
    int error = write_all(fd, bytes, size);
    struct stat old;
    if (error == 0 && fstatat(folder, name, &old, 0) == 0 && fchmod(fd, old.st_mode & 07777) != 0)
        error = errno;
    if (error == 0 && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && error == 0 && errno != EINTR)
        error = errno;
    if (error == 0 && renameat(folder, temp, folder, name) != 0)
        error = errno;
    if (error != 0)
        unlinkat(folder, temp, 0);
    else
        fsync(folder); /* makes the rename last; some file systems cannot, which is no failure */
    return error;
}

dm_status dm_file_write(const char *path, const void *bytes, size_t size, dm_error *err)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return fail_errno(err, "write", path, EISDIR);
    if (exists && !S_ISREG(st.st_mode))
        return write_device(path, bytes, size, err);

    /* Through a link the file it leads to is replaced, not the link; one that leads nowhere is no
     * name of a file. */
    if (!exists && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return fail_errno(err, "write", path,
                          stat(path, &st) != 0 && errno == ELOOP ? ELOOP : ENOENT);
    char *real = exists ? realpath(path, NULL) : NULL;
    const char *target = real != NULL ? real : path;
    const char *slash = strrchr(target, '/');
    const char *name = slash != NULL ? slash + 1 : target;
    char folder[DM_PATH_MAX] = ".";
    int error = 0;
    if (slash != NULL) {
        size_t length = slash == target ? 1 : (size_t)(slash - target);
        if (length >= sizeof folder) {
            error = ENAMETOOLONG;
        } else {
            memcpy(folder, target, length);
            folder[length] = 0;
        }
    }
    if (error == 0 && *name == 0)
        error = *path == 0 ? ENOENT : EISDIR;
    if (error == 0) {
        int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            error = errno;
        } else {
            dm_stop_hold(); /* the temporary file must not stay behind */
            error = replace_file(fd, name, bytes, size);
            dm_stop_release();
            close(fd);
        }
    }
    free(real);
    return error == 0 ? DM_OK : fail_errno(err, "write", path, error);
}

dm_status dm_file_write_buffer(const char *path, dm_buffer *text, dm_error *err)
{
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(text), text->size, err);
    dm_buffer_deinit(text);
    return status;
}

bool dm_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* ---- folders ---- */

bool dm_dir_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int create_one(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return 0;
    int error = errno; /* EEXIST mostly, but also EROFS or EACCES for a parent that is there */
    return dm_dir_exists(path) ? 0 : error == EEXIST ? ENOTDIR : error;
}

dm_status dm_dir_create(const char *path, dm_error *err)
{
    char part[DM_PATH_MAX];
    size_t length = strlen(path);
    if (length == 0)
        return fail_errno(err, "create folder", "''", ENOENT);
    if (length >= sizeof part)
        return fail_errno(err, "create folder", path, ENAMETOOLONG);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        part[i] = 0;
        int error = create_one(part);
        if (error != 0)
            return fail_errno(err, "create folder", part, error);
        part[i] = path[i];
    }
    return DM_OK;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Open a folder under `parent` for reading, without following a link. */
static DIR *open_folder(int parent, const char *name, int flags)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0)
        return NULL;
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return dir;
}

/* Empty the folder `name` of `parent`, then remove it. `path` is its full name for messages; each
 * level holds one descriptor, so a tree deeper than the process may open files is refused. */
static dm_status remove_tree(int parent, const char *name, dm_buffer *path, dm_error *err)
{
    DIR *dir = open_folder(parent, name, O_NOFOLLOW);
    if (dir == NULL)
        return fail_errno(err, "remove folder", dm_buffer_text(path), errno);
    dm_status status = DM_OK;
    size_t length = path->size;
    while (status == DM_OK) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                status = fail_errno(err, "remove folder", dm_buffer_text(path), errno);
            break;
        }
        if (is_dot(entry->d_name))
            continue;
        dm_buffer_printf(path, "/%s", entry->d_name);
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0 && errno != ENOENT) {
            int error = errno; /* EISDIR on Linux, EPERM by POSIX: see what it is */
            struct stat st;
            if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISDIR(st.st_mode))
                status = remove_tree(dirfd(dir), entry->d_name, path, err);
            else
                status = fail_errno(err, "remove", dm_buffer_text(path), error);
        }
        if (path->data != NULL) {
            path->size = length;
            path->data[length] = 0;
        }
    }
    closedir(dir);
    if (status == DM_OK && unlinkat(parent, name, AT_REMOVEDIR) != 0)
        status = fail_errno(err, "remove folder", dm_buffer_text(path), errno);
    return status;
}

dm_status dm_dir_remove(const char *path, dm_error *err)
{
    /* "link/" would be followed in spite of O_NOFOLLOW: the slashes at the end go first. */
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    dm_buffer name = DM_BUFFER_EMPTY;
    dm_buffer_append(&name, path, length);
    dm_status status = dm_buffer_check(&name, err);
    if (status == DM_OK) {
        const char *slash = strrchr(name.data, '/');
        const char *last = slash != NULL ? slash + 1 : name.data;
        char *copy = strdup(name.data);
        if (*last == 0 || is_dot(last))
            status = dm_fail(err, DM_EINVAL, "will not remove the folder '%s'", path);
        else if (copy == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
        else
            status = remove_tree(AT_FDCWD, copy, &name, err);
        if (copy != NULL)
            dm_stop_folder_remove(copy);
        free(copy);
    }
    dm_buffer_deinit(&name);
    return status;
}

/* ---- walking ---- */

typedef struct walk {
    const char *root;
    dm_dir_visitor visit;
    void *user;
    dm_buffer path; /* of the current entry, from the root */
} walk;

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
}

/* The sorted names in a folder; an errno, 0 when done. */
static int list_names(DIR *dir, name_list *list)
{
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL)
            break;
        if (is_dot(entry->d_name))
            continue;
        if (list->count == list->capacity) {
            size_t capacity = list->capacity == 0 ? 32 : 2 * list->capacity;
            char **names = realloc(list->names, capacity * sizeof *names);
            if (names == NULL)
                return ENOMEM;
            list->names = names;
            list->capacity = capacity;
        }
        list->names[list->count] = strdup(entry->d_name);
        if (list->names[list->count] == NULL)
            return ENOMEM;
        list->count++;
    }
    if (errno != 0)
        return errno;
    if (list->count > 1)
        qsort(list->names, list->count, sizeof *list->names, compare_names);
    return 0;
}

static dm_status walk_folder(walk *w, DIR *dir, dm_error *err);

static dm_status walk_entry(walk *w, int folder, const char *name, dm_error *err)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? DM_OK /* gone since it was listed */
                               : fail_errno(err, "look at", w->path.data, errno);
    dm_dir_entry entry = {
        .path = w->path.data,
        .is_dir = S_ISDIR(st.st_mode),
        .is_link = S_ISLNK(st.st_mode),
        .size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
        .modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
    };
    dm_status status = w->visit(w->root, &entry, w->user, err);
    if (status != DM_OK || !entry.is_dir)
        return status;
    DIR *dir = open_folder(folder, name, O_NOFOLLOW);
    if (dir == NULL)
        return errno == ENOENT ? DM_OK : fail_errno(err, "read folder", w->path.data, errno);
    return walk_folder(w, dir, err);
}

/* Closes `dir`. */
static dm_status walk_folder(walk *w, DIR *dir, dm_error *err)
{
    name_list list = {0};
    size_t length = w->path.size;
    int error = list_names(dir, &list);
    dm_status status = DM_OK;
    if (error != 0)
        status = fail_errno(err, "read folder", length > 0 ? w->path.data : w->root, error);
    for (size_t i = 0; i < list.count && status == DM_OK; i++) {
        dm_buffer_printf(&w->path, "%s%s", length > 0 ? "/" : "", list.names[i]);
        status = dm_buffer_check(&w->path, err);
        if (status == DM_OK)
            status = walk_entry(w, dirfd(dir), list.names[i], err);
        if (w->path.data != NULL) {
            w->path.size = length;
            w->path.data[length] = 0;
        }
    }
    free_names(&list);
    closedir(dir);
    return status;
}

dm_status dm_dir_walk(const char *root, dm_dir_visitor visit, void *user, dm_error *err)
{
    DIR *dir = open_folder(AT_FDCWD, root, 0);
    if (dir == NULL)
        return fail_errno(err, "read folder", root, errno);
    walk w = {.root = root, .visit = visit, .user = user, .path = DM_BUFFER_EMPTY};
    dm_status status = walk_folder(&w, dir, err);
    dm_buffer_deinit(&w.path);
    return status;
}

/* ---- paths ---- */

dm_status dm_path_join(char out[DM_PATH_MAX], const char *folder, const char *name, dm_error *err)
{
    size_t length = strlen(folder);
    const char *slash = length == 0 || folder[length - 1] == '/' ? "" : "/";
    int needed = snprintf(out, DM_PATH_MAX, "%s%s%s", folder, slash, name);
    if (needed < 0 || needed >= DM_PATH_MAX)
        return dm_fail(err, DM_EINVAL, "path is longer than %d bytes: %.200s...", DM_PATH_MAX - 1,
                       folder);
    return DM_OK;
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != 0 ? value : NULL;
}

dm_status dm_path_cache(char out[DM_PATH_MAX], dm_error *err)
{
    const char *dir = environment("DM_CACHE_DIR");
    if (dir != NULL)
        return dm_path_join(out, "", dir, err);
    dir = environment("XDG_CACHE_HOME");
    if (dir != NULL && dir[0] == '/') /* the XDG specification: a relative one is ignored */
        return dm_path_join(out, dir, "dotmatrix", err);
    dir = environment("HOME");
    if (dir != NULL)
        return dm_path_join(out, dir, ".cache/dotmatrix", err);
    return dm_fail(err, DM_EUNAVAILABLE, "no place for the cache: set DM_CACHE_DIR or HOME");
}
