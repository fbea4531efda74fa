/* SPDX-License-Identifier: MIT */
/* cc.c - run the system's C compiler on kernel text; see cc.h. */
#include "device/cc.h"

#include "base/buffer.h"
#include "base/temp.h"
#include "base/terminal/child.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "device/cache.h"
#include "device/sources.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 256

static const char *const base_flags[] = {"-std=gnu17",
                                         "-O3",
                                         "-march=native",
                                         "-ffp-contract=off",
                                         "-fno-math-errno",
                                         "-fPIC",
                                         "-shared",
                                         "-fvisibility=hidden",
                                         "-w",
                                         "-fdiagnostics-color=never",
                                         "-DDM_MODULE_BUILD=1",
                                         "-I.",
                                         NULL};

/* ---- Finding it ---- */

static bool find_program(const char *name, char out[DM_PATH_MAX])
{
    if (strchr(name, '/') != NULL)
        return snprintf(out, DM_PATH_MAX, "%s", name) < DM_PATH_MAX && access(out, X_OK) == 0;
    const char *path = getenv("PATH");
    const size_t name_size = strlen(name) + 1;
    for (const char *p = path == NULL ? "/usr/bin:/bin" : path; *p != '\0';) {
        size_t length = strcspn(p, ":");
        if (length > 0 && length + name_size + 1 < DM_PATH_MAX) {
            memcpy(out, p, length);
            out[length] = '/';
            memcpy(out + length + 1, name, name_size);
            if (access(out, X_OK) == 0)
                return true;
        }
        p += length + (p[length] == ':');
    }
    return false;
}

/* Cut `text` at its spaces; returns how many words, at most `max`. */
static int split_words(char *text, char **words, int max)
{
    int count = 0;
    char *save;
    for (char *word = strtok_r(text, " \t\n", &save); word != NULL && count < max;
         word = strtok_r(NULL, " \t\n", &save))
        words[count++] = word;
    return count;
}

dm_status dm_cc_find(dm_cc *cc, dm_error *err)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *chosen = getenv("CC");
    if (chosen != NULL && chosen[strspn(chosen, " \t\n")] != '\0') {
        if (snprintf(cc->text, sizeof cc->text, "%s", chosen) >= (int)sizeof cc->text)
            return dm_fail(err, DM_EINVAL, "$CC is too long");
        cc->word_count = split_words(cc->text, cc->words, DM_CC_WORDS_MAX);
        if (find_program(cc->words[0], cc->path))
            return DM_OK;
        return dm_fail(err, DM_EUNAVAILABLE, "no C compiler: $CC is '%s', which is not found",
                       chosen);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (find_program(names[i], cc->path)) {
            snprintf(cc->text, sizeof cc->text, "%s", names[i]);
            cc->words[0] = cc->text;
            cc->word_count = 1;
            return DM_OK;
        }
    }
    return dm_fail(err, DM_EUNAVAILABLE,
                   "no C compiler: neither cc, gcc nor clang is in $PATH (apt install gcc, or set "
                   "CC)");
}

/* ---- Running it ---- */

/* Run argv in `folder` (NULL: here) with its output in the file `log`, messages in English. Its own
 * temporary files go beside the log, since a compiler that is killed leaves them. */
static dm_status run(const char *program, char *const argv[], const char *folder, const char *log,
                     int *exit_code, dm_error *err)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **env = calloc(count + 3, sizeof *env);
    if (env == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0 && strncmp(environ[i], "TMPDIR=", 7) != 0)
            env[kept++] = environ[i];
    char temporary[DM_PATH_MAX + 8] = "TMPDIR=.";
    const char *slash = strrchr(log, '/');
    if (folder == NULL && slash != NULL)
        snprintf(temporary, sizeof temporary, "TMPDIR=%.*s", (int)(slash - log), log);
    env[kept++] = "LC_ALL=C";
    env[kept] = temporary;

    dm_status status = dm_child_run(program, argv, env, folder, log, exit_code, err);
    free(env);
    return status;
}

dm_status dm_cc_folder(char out[DM_PATH_MAX], dm_error *err)
{
    return dm_temp_folder(out, NULL, err);
}

dm_status dm_cc_run(const dm_cc *cc, const char *const *arguments, const char *folder,
                    const char *log, int *exit_code, dm_error *err)
{
    char *argv[DM_CC_WORDS_MAX + 64];
    size_t count = (size_t)cc->word_count;
    memcpy(argv, cc->words, count * sizeof argv[0]);
    for (; *arguments != NULL; arguments++) {
        if (count == sizeof argv / sizeof argv[0] - 1)
            return dm_fail(err, DM_EINVAL, "too many compiler options");
        argv[count++] = (char *)*arguments;
    }
    argv[count] = NULL;
    return run(cc->path, argv, folder, log, exit_code, err);
}

dm_status dm_cc_version(dm_cc *cc, char *out, size_t size, dm_error *err)
{
    char folder[DM_PATH_MAX], log[DM_PATH_MAX];
    dm_status status = dm_cc_folder(folder, err);
    if (status != DM_OK)
        return status;
    static const char *const arguments[] = {"--version", NULL};
    int code = 1;
    char *text = NULL;
    size_t length;
    status = dm_path_join(log, folder, "log", err);
    if (status == DM_OK)
        status = dm_cc_run(cc, arguments, NULL, log, &code, err);
    if (status == DM_OK)
        status = dm_file_read(log, 0, &text, &length, err);
    if (status == DM_OK && code != 0)
        status = dm_fail(err, DM_EUNAVAILABLE, "%s --version failed", cc->path);
    if (status == DM_OK)
        snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    dm_dir_remove(folder, NULL);
    return status;
}

/* ---- Compiling ---- */

typedef struct arguments {
    char *items[ARGUMENTS_MAX];
    int count;
    char extra[DM_PATH_MAX]; /* $DM_CFLAGS, cut into words */
    dm_buffer defines;       /* "-Dname" texts, each with its NUL */
} arguments;

static dm_status add_argument(arguments *args, const char *text, dm_error *err)
{
    if (args->count >= ARGUMENTS_MAX - 1)
        return dm_fail(err, DM_EINVAL, "too many compiler options");
    args->items[args->count++] = (char *)text;
    args->items[args->count] = NULL;
    return DM_OK;
}

static dm_status add_list(arguments *args, const char *const *list, dm_error *err)
{
    dm_status status = DM_OK;
    for (; list != NULL && *list != NULL && status == DM_OK; list++)
        status = add_argument(args, *list, err);
    return status;
}

static dm_status add_defines(arguments *args, const char *const *list, dm_error *err)
{
    for (const char *const *d = list; d != NULL && *d != NULL; d++) {
        dm_buffer_printf(&args->defines, "-D%s", *d);
        dm_buffer_append(&args->defines, "", 1);
    }
    dm_status status = dm_buffer_check(&args->defines, err);
    const char *p = args->defines.data;
    for (const char *const *d = list; d != NULL && *d != NULL && status == DM_OK; d++) {
        status = add_argument(args, p, err);
        p += strlen(p) + 1;
    }
    return status;
}

/* Everything of the command line but the file names. */
static dm_status make_arguments(arguments *args, const dm_cc *cc, const dm_module_desc *desc,
                                dm_error *err)
{
    memset(args, 0, sizeof *args);
    dm_status status = DM_OK;
    for (int i = 0; i < cc->word_count && status == DM_OK; i++)
        status = add_argument(args, cc->words[i], err);
    if (status == DM_OK)
        status = add_list(args, base_flags, err);
    if (status == DM_OK)
        status = add_defines(args, desc->defines, err);
    if (status == DM_OK)
        status = add_list(args, desc->cpu_options, err);
    const char *extra = getenv("DM_CFLAGS");
    if (status == DM_OK && extra != NULL) {
        char *words[64];
        if (snprintf(args->extra, sizeof args->extra, "%s", extra) >= (int)sizeof args->extra)
            return dm_fail(err, DM_EINVAL, "$DM_CFLAGS is too long");
        int count = split_words(args->extra, words, 64);
        for (int i = 0; i < count && status == DM_OK; i++)
            status = add_argument(args, words[i], err);
    }
    return status;
}

/* What -march=native looks at: two machines that share a home folder must not share entries. */
static void hash_cpu(dm_hasher *hasher)
{
    char line[8192];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL && line[0] != '\n')
        if (strncmp(line, "model", 5) == 0 || strncmp(line, "flags", 5) == 0 ||
            strncmp(line, "Features", 8) == 0 || strncmp(line, "CPU ", 4) == 0)
            dm_hasher_text(hasher, line);
    if (file != NULL)
        fclose(file);
}

static dm_status make_key(const dm_source_set *set, const dm_module_desc *desc, const dm_cc *cc,
                          const arguments *args, dm_hash128 *key, dm_error *err)
{
    struct stat info;
    if (stat(cc->path, &info) != 0)
        return dm_fail(err, DM_EUNAVAILABLE, "%s: %s", cc->path, strerror(errno));
    dm_hasher *hasher = dm_hasher_create();
    if (hasher == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    int64_t identity[3] = {(int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
                           (int64_t)info.st_mtim.tv_nsec};
    dm_hasher_text(hasher, "cpu module 1");
    dm_source_set_hash(set, desc, hasher);
    dm_hasher_text(hasher, cc->path);
    dm_hasher_part(hasher, identity, sizeof identity);
    for (int i = 0; i < args->count; i++)
        dm_hasher_text(hasher, args->items[i]);
    hash_cpu(hasher);
    *key = dm_hasher_finish(hasher);
    dm_hasher_destroy(hasher);
    return DM_OK;
}

static dm_status write_text(const char *folder, const char *name, const char *text, size_t size,
                            dm_error *err)
{
    char path[DM_PATH_MAX], parent[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, name, err);
    if (status != DM_OK)
        return status;
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    status = dm_dir_create(parent, err);
    if (status != DM_OK)
        return status;
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(text, 1, size, file) != size) {
        if (file != NULL)
            fclose(file);
        return dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
    }
    return fclose(file) == 0 ? DM_OK : dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
}

/* The headers as they are included, the text itself as module.c under its own name (#line). */
static dm_status write_sources(const dm_source_set *set, const char *folder, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < set->count && status == DM_OK; i++)
        status = write_text(folder, set->headers[i].name, set->headers[i].text,
                            strlen(set->headers[i].text), err);
    if (status != DM_OK)
        return status;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_buffer_puts(&text, "#line 1 \"");
    for (const char *p = set->main.name; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            dm_buffer_putc(&text, '\\');
        dm_buffer_putc(&text, *p == '\n' ? ' ' : *p);
    }
    dm_buffer_puts(&text, "\"\n");
    dm_buffer_puts(&text, set->main.text);
    dm_buffer_putc(&text, '\n');
    status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = write_text(folder, "module.c", text.data, text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

/* "./base/port.h" is our "base/port.h". */
static void strip_here(char *log)
{
    char *to = log;
    for (const char *p = log; *p != '\0';) {
        bool start = p == log || p[-1] == '\n' || p[-1] == ' ';
        if (start && p[0] == '.' && p[1] == '/')
            p += 2;
        else
            *to++ = *p++;
    }
    *to = '\0';
}

static dm_status compile(const dm_cc *cc, arguments *args, const dm_source_set *set,
                         const dm_module_desc *desc, const char *folder, dm_error *err)
{
    static const char *const files[] = {"module.c", "-o", "module.so", "-lm", NULL};
    char log[DM_PATH_MAX], *text = NULL;
    size_t size;
    int code = 0;
    dm_status status = write_sources(set, folder, err);
    if (status == DM_OK)
        status = dm_path_join(log, folder, "module.log", err);
    if (status == DM_OK)
        status = add_list(args, files, err);
    dm_progress *wait = dm_progress_start_wait("compiling", desc->name);
    if (status == DM_OK)
        status = run(cc->path, args->items, folder, log, &code, err);
    dm_progress_finish(wait);
    if (status == DM_OK)
        status = dm_file_read(log, 0, &text, &size, err);
    if (status == DM_OK && code != 0) {
        strip_here(text);
        status = dm_compile_fail(desc, text, err);
    }
    free(text);
    return status;
}

/* ---- Loading ---- */

static dm_status open_object(const char *path, const char *name, void **handle, dm_error *err)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*handle != NULL)
        return DM_OK;
    return dm_fail(err, DM_EIO, "%s: cannot load the compiled kernels: %s", name, dlerror());
}

static dm_status build(const dm_cc *cc, arguments *args, const dm_source_set *set,
                       const dm_module_desc *desc, const char *entry, void **handle, dm_error *err)
{
    char folder[DM_PATH_MAX], object[DM_PATH_MAX], cached[DM_PATH_MAX];
    char *bytes = NULL;
    size_t size;
    dm_status status = dm_cc_folder(folder, err);
    if (status != DM_OK)
        return status;
    status = compile(cc, args, set, desc, folder, err);
    if (status == DM_OK)
        status = dm_path_join(object, folder, "module.so", err);
    if (status == DM_OK)
        status = dm_file_read(object, 0, &bytes, &size, err);
    if (status == DM_OK) {
        /* From the cache, where profilers find the file later; else from here, deleted below. */
        bool stored = dm_cache_store(entry, bytes, size, cached);
        if (!stored || open_object(cached, desc->name, handle, NULL) != DM_OK)
            status = open_object(object, desc->name, handle, err);
    }
    free(bytes);
    dm_dir_remove(folder, NULL);
    return status;
}

dm_status dm_cc_load(const dm_module_desc *desc, void **handle, bool *was_cached, dm_error *err)
{
    dm_cc cc;
    dm_source_set set;
    arguments args;
    dm_hash128 key = {0, 0};
    char entry[DM_CACHE_NAME_MAX], path[DM_PATH_MAX];
    char *bytes = NULL;
    size_t size;
    *handle = NULL;
    *was_cached = false;
    dm_status status = dm_source_set_init(&set, desc, err);
    if (status != DM_OK)
        return status;
    status = dm_cc_find(&cc, err);
    if (status != DM_OK) {
        dm_source_set_deinit(&set);
        return status;
    }
    status = make_arguments(&args, &cc, desc, err);
    if (status == DM_OK)
        status = make_key(&set, desc, &cc, &args, &key, err);
    if (status == DM_OK) {
        dm_cache_name(entry, key, "so");
        if (dm_cache_load(entry, &bytes, &size, path))
            *was_cached = open_object(path, desc->name, handle, NULL) == DM_OK;
        free(bytes);
        if (!*was_cached)
            status = build(&cc, &args, &set, desc, entry, handle, err);
    }
    dm_buffer_deinit(&args.defines);
    dm_source_set_deinit(&set);
    return status;
}
