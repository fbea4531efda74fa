/* SPDX-License-Identifier: MIT */
/* nvrtc.c - find, open and run NVRTC; see nvrtc.h. Reference: NVIDIA, "NVRTC" (its C interface). */
#include "device/nvrtc.h"

#include "base/buffer.h"
#include "device/cache.h"
#include "device/cuda_api.h"
#include "device/sources.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTIONS_MAX 64

static const char *const base_options[] = {"--std=c++17",
                                           "--fmad=false",
                                           "--ptxas-options=-O3",
                                           "-DDM_MODULE_BUILD=1",
                                           "--device-as-default-execution-space",
                                           "--diag-suppress=177"};

/* ---- Finding it ---- */

typedef struct place {
    char path[DM_PATH_MAX];
    int major; /* 0: unknown */
} place;

typedef struct search {
    int driver_major; /* 0: no driver */
    place best;       /* fits the driver */
    place spare;      /* newer than the driver */
} search;

static struct {
    pthread_once_t once;
    dm_status status;
    dm_error error;
    char path[DM_PATH_MAX];
} found = {.once = PTHREAD_ONCE_INIT};

/* "/x/libnvrtc.so.13.0.88" -> 13 */
static int major_of(const char *path)
{
    const char *mark = strstr(path, "libnvrtc.so.");
    return mark == NULL ? 0 : atoi(mark + strlen("libnvrtc.so."));
}

static void try_file(search *s, const char *path)
{
    if (s->best.path[0] != '\0' || access(path, R_OK) != 0)
        return;
    char *real = realpath(path, NULL);
    if (real != NULL && strlen(real) < DM_PATH_MAX) {
        int major = major_of(real);
        bool fits = s->driver_major == 0 || major == 0 || major <= s->driver_major;
        place *slot = fits ? &s->best : &s->spare;
        if (slot->path[0] == '\0') {
            snprintf(slot->path, sizeof slot->path, "%s", real);
            slot->major = major;
        }
    }
    free(real);
}

/* Every libnvrtc in the folders that match a pattern, newest names first. */
static void try_folders(search *s, const char *format, const char *root)
{
    static const char *const names[] = {"libnvrtc.so.[1-9][0-9]", "libnvrtc.so.[1-9][0-9].*",
                                        "libnvrtc.so"};
    char folder[DM_PATH_MAX], pattern[DM_PATH_MAX];
    if (root == NULL || root[0] == '\0' ||
        snprintf(folder, sizeof folder, format, root) >= (int)sizeof folder)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        glob_t matches;
        if (snprintf(pattern, sizeof pattern, "%s/%s", folder, names[i]) >= (int)sizeof pattern)
            continue;
        if (glob(pattern, 0, NULL, &matches) == 0)
            for (size_t k = matches.gl_pathc; k > 0; k--)
                try_file(s, matches.gl_pathv[k - 1]);
        globfree(&matches);
    }
}

static void try_toolkit(search *s, const char *root)
{
    try_folders(s, "%s/lib64", root);
    try_folders(s, "%s/lib", root);
    try_folders(s, "%s/targets/*/lib", root);
}

static void try_python(search *s, const char *environment)
{
    /* nvidia/cuda_nvrtc/lib in the wheels for CUDA 11 and 12, nvidia/cu13/lib since. */
    try_folders(s, "%s/lib/python3*/site-packages/nvidia/*/lib", environment);
}

static void try_list(search *s, const char *list)
{
    for (const char *p = list == NULL ? "" : list; *p != '\0';) {
        char folder[DM_PATH_MAX];
        size_t length = strcspn(p, ":");
        if (length > 0 && length < sizeof folder) {
            snprintf(folder, sizeof folder, "%.*s", (int)length, p);
            try_folders(s, "%s", folder);
        }
        p += length + (p[length] == ':');
    }
}

/* .venv in this folder and in those above the running program. */
static void try_project(search *s)
{
    char path[DM_PATH_MAX], environment[DM_PATH_MAX + 8];
    try_python(s, ".venv");
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    for (int up = 0; up < 4; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL || slash == path)
            return;
        *slash = '\0';
        snprintf(environment, sizeof environment, "%s/.venv", path);
        try_python(s, environment);
    }
}

static void find_once(void)
{
    search s = {0};
    const dm_cuda_api *api;
    if (dm_cuda_api_get(&api, NULL) == DM_OK)
        s.driver_major = api->version / 1000;
    const char *chosen = getenv("DM_NVRTC");
    if (chosen != NULL && access(chosen, R_OK) != 0) {
        found.status = dm_fail(&found.error, DM_EUNAVAILABLE,
                               "no NVRTC: $DM_NVRTC is '%s', which is not found", chosen);
        return;
    }
    if (chosen != NULL)
        try_file(&s, chosen);
    try_toolkit(&s, getenv("CUDA_HOME"));
    try_toolkit(&s, getenv("CUDA_PATH"));
    try_list(&s, getenv("LD_LIBRARY_PATH"));
    try_python(&s, getenv("VIRTUAL_ENV"));
    try_project(&s);
    try_toolkit(&s, "/usr/local/cuda");
    try_toolkit(&s, "/usr/local/cuda-*");
    try_toolkit(&s, "/opt/cuda");
    try_list(&s, "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib");
    const place *chosen_place = s.best.path[0] != '\0' ? &s.best : &s.spare;
    if (chosen_place->path[0] != '\0') {
        snprintf(found.path, sizeof found.path, "%s", chosen_place->path);
        found.status = DM_OK;
        return;
    }
    /* The loader may know a folder that we do not. */
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *symbol = library == NULL ? NULL : dlsym(library, "nvrtcVersion");
        Dl_info info;
        if (symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL) {
            snprintf(found.path, sizeof found.path, "%s", info.dli_fname);
            found.status = DM_OK;
            return;
        }
    }
    found.status = dm_fail(&found.error, DM_EUNAVAILABLE,
                           "no NVRTC: libnvrtc.so is not found (install a CUDA toolkit, or pip "
                           "install nvidia-cuda-nvrtc, or set DM_NVRTC)");
}

dm_status dm_nvrtc_find(char path[DM_PATH_MAX], dm_error *err)
{
    pthread_once(&found.once, find_once);
    if (found.status != DM_OK) {
        if (err != NULL)
            *err = found.error;
        return found.status;
    }
    memcpy(path, found.path, sizeof found.path);
    return DM_OK;
}

/* ---- Opening it ---- */

#define NVRTC_FUNCTIONS(F)                                                                         \
    F(version, "nvrtcVersion", (int *major, int *minor))                                           \
    F(create, "nvrtcCreateProgram",                                                                \
      (void **program, const char *text, const char *name, int count, const char *const *headers,  \
       const char *const *names))                                                                  \
    F(destroy, "nvrtcDestroyProgram", (void **program))                                            \
    F(compile, "nvrtcCompileProgram", (void *program, int count, const char *const *options))      \
    F(log_size, "nvrtcGetProgramLogSize", (void *program, size_t *size))                           \
    F(log, "nvrtcGetProgramLog", (void *program, char *text))                                      \
    F(cubin_size, "nvrtcGetCUBINSize", (void *program, size_t *size))                              \
    F(cubin, "nvrtcGetCUBIN", (void *program, char *bytes))                                        \
    F(ptx_size, "nvrtcGetPTXSize", (void *program, size_t *size))                                  \
    F(ptx, "nvrtcGetPTX", (void *program, char *text))

static struct {
    pthread_once_t once;
    dm_status status;
    dm_error error;
    const char *(*error_string)(int code);
    int (*arch_count)(int *count); /* since 11.2; may be NULL */
    int (*archs)(int *archs);
#define FIELD(field, symbol, parameters) int(*field) parameters;
    NVRTC_FUNCTIONS(FIELD)
#undef FIELD
    int version_number;
} nvrtc = {.once = PTHREAD_ONCE_INIT};

static dm_status open_library(dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_nvrtc_find(path, err);
    if (status != DM_OK)
        return status;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "no NVRTC: %s does not load: %s", path, dlerror());
    void *symbol = dlsym(library, "nvrtcGetNumSupportedArchs");
    memcpy(&nvrtc.arch_count, &symbol, sizeof symbol);
    symbol = dlsym(library, "nvrtcGetSupportedArchs");
    memcpy(&nvrtc.archs, &symbol, sizeof symbol);
    symbol = dlsym(library, "nvrtcGetErrorString");
    memcpy(&nvrtc.error_string, &symbol, sizeof symbol);
#define FIND(field, name, parameters)                                                              \
    if (symbol != NULL) {                                                                          \
        symbol = dlsym(library, name);                                                             \
        memcpy(&nvrtc.field, &symbol, sizeof symbol);                                              \
    }
    NVRTC_FUNCTIONS(FIND)
#undef FIND
    if (symbol == NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "no NVRTC: %s is older than CUDA 11.1", path);
    int major = 0, minor = 0;
    nvrtc.version(&major, &minor);
    nvrtc.version_number = major * 1000 + minor * 10;
    return DM_OK;
}

static void open_once(void)
{
    nvrtc.status = open_library(&nvrtc.error);
}

static dm_status nvrtc_open(dm_error *err)
{
    pthread_once(&nvrtc.once, open_once);
    if (nvrtc.status != DM_OK && err != NULL)
        *err = nvrtc.error;
    return nvrtc.status;
}

dm_status dm_nvrtc_version(int *version, dm_error *err)
{
    dm_status status = nvrtc_open(err);
    *version = nvrtc.version_number;
    return status;
}

/* ---- Compiling ---- */

typedef struct option_list {
    const char *items[OPTIONS_MAX];
    int count;
    dm_buffer texts; /* made-up options, each with its NUL */
} option_list;

static dm_status add_option(option_list *list, const char *text, dm_error *err)
{
    if (list->count == OPTIONS_MAX)
        return dm_fail(err, DM_EINVAL, "too many compiler options");
    list->items[list->count++] = text;
    return DM_OK;
}

static dm_status make_options(option_list *list, const dm_module_desc *desc, const char *arch,
                              dm_error *err)
{
    memset(list, 0, sizeof *list);
    size_t made = 1;
    dm_buffer_printf(&list->texts, "--gpu-architecture=%s", arch);
    dm_buffer_append(&list->texts, "", 1);
    for (const char *const *d = desc->defines; d != NULL && *d != NULL; d++, made++) {
        dm_buffer_printf(&list->texts, "-D%s", *d);
        dm_buffer_append(&list->texts, "", 1);
    }
    const char *extra = getenv("DM_CUDA_OPTIONS");
    for (const char *p = extra == NULL ? "" : extra + strspn(extra, " "); *p != '\0'; made++) {
        size_t length = strcspn(p, " ");
        dm_buffer_append(&list->texts, p, length);
        dm_buffer_append(&list->texts, "", 1);
        p += length + strspn(p + length, " ");
    }
    dm_status status = dm_buffer_check(&list->texts, err);
    const char *text = list->texts.data;
    for (size_t i = 0; i < made && status == DM_OK; i++) {
        status = add_option(list, text, err);
        text += strlen(text) + 1;
    }
    for (size_t i = 0; i < sizeof base_options / sizeof base_options[0] && status == DM_OK; i++)
        status = add_option(list, base_options[i], err);
    for (const char *const *o = desc->cuda_options; o != NULL && *o != NULL && status == DM_OK; o++)
        status = add_option(list, *o, err);
    return status;
}

static dm_status make_key(const dm_source_set *set, const dm_module_desc *desc,
                          const option_list *options, dm_hash128 *key, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_nvrtc_find(path, err);
    if (status != DM_OK)
        return status;
    struct stat info = {0};
    if (stat(path, &info) != 0)
        return dm_fail(err, DM_EUNAVAILABLE, "no NVRTC: %s is gone", path);
    dm_hasher *hasher = dm_hasher_create();
    if (hasher == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    int64_t identity[3] = {(int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
                           (int64_t)info.st_mtim.tv_nsec};
    dm_hasher_text(hasher, "cuda module 1");
    dm_source_set_hash(set, desc, hasher);
    for (int i = 0; i < options->count; i++)
        dm_hasher_text(hasher, options->items[i]);
    dm_hasher_text(hasher, path);
    dm_hasher_part(hasher, identity, sizeof identity);
    *key = dm_hasher_finish(hasher);
    dm_hasher_destroy(hasher);
    return DM_OK;
}

static dm_status nvrtc_fail(int code, const char *what, dm_error *err)
{
    return dm_fail(err, DM_EDEVICE, "%s: %s", what, nvrtc.error_string(code));
}

static dm_status report_log(void *program, const dm_module_desc *desc, int code, dm_error *err)
{
    size_t size = 0;
    if (nvrtc.log_size(program, &size) != 0 || size == 0)
        size = 1;
    char *log = calloc(1, size + 1);
    if (log == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    nvrtc.log(program, log);
    /* The log tells of the text's errors; a wrong option leaves it empty. */
    dm_status status =
        log[0] == '\0' ? nvrtc_fail(code, desc->name, err) : dm_compile_fail(desc, log, err);
    free(log);
    return status;
}

static dm_status take_code(void *program, const char *arch, char **code, size_t *size,
                           dm_error *err)
{
    bool cubin = strncmp(arch, "sm_", 3) == 0;
    int result = cubin ? nvrtc.cubin_size(program, size) : nvrtc.ptx_size(program, size);
    if (result != 0)
        return nvrtc_fail(result, "nvrtc: size of the code", err);
    *code = malloc(*size);
    if (*code == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    result = cubin ? nvrtc.cubin(program, *code) : nvrtc.ptx(program, *code);
    if (result == 0)
        return DM_OK;
    free(*code);
    *code = NULL;
    return nvrtc_fail(result, "nvrtc: the code", err);
}

/* A GPU newer than this NVRTC: "sm_120" -> "compute_100", the newest that it knows and the GPU
 * runs. The driver translates that text when it is loaded. False when NVRTC knows the architecture.
 */
static bool older_arch(const char *arch, char out[32])
{
    char *end;
    int wanted = strncmp(arch, "sm_", 3) == 0 ? (int)strtol(arch + 3, &end, 10) : 0;
    int count = 0, best = 0, known[256];
    if (wanted == 0 || *end != '\0' || nvrtc.arch_count == NULL || nvrtc.archs == NULL ||
        nvrtc.arch_count(&count) != 0 || count > 256 || nvrtc.archs(known) != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (known[i] <= wanted && known[i] > best)
            best = known[i];
    if (best == 0 || best == wanted)
        return false;
    snprintf(out, 32, "compute_%d", best);
    return true;
}

static dm_status compile_program(void *program, const dm_module_desc *desc, const char *arch,
                                 char **code, size_t *size, dm_error *err)
{
    option_list options;
    char older[32];
    if (older_arch(arch, older))
        arch = older;
    dm_status status = make_options(&options, desc, arch, err);
    if (status == DM_OK) {
        int result = nvrtc.compile(program, options.count, options.items);
        status = result == 0 ? take_code(program, arch, code, size, err)
                             : report_log(program, desc, result, err);
    }
    dm_buffer_deinit(&options.texts);
    return status;
}

static dm_status compile(const dm_source_set *set, const dm_module_desc *desc, const char *arch,
                         char **code, size_t *size, dm_error *err)
{
    dm_status status = nvrtc_open(err);
    if (status != DM_OK)
        return status;
    const char **texts = calloc(2 * set->count + 1, sizeof *texts);
    if (texts == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    const char **names = texts + set->count;
    for (size_t i = 0; i < set->count; i++) {
        texts[i] = set->headers[i].text;
        names[i] = set->headers[i].name;
    }
    void *program = NULL;
    int result =
        nvrtc.create(&program, set->main.text, set->main.name, (int)set->count, texts, names);
    if (result != 0) {
        status = nvrtc_fail(result, desc->name, err);
    } else {
        status = compile_program(program, desc, arch, code, size, err);
        nvrtc.destroy(&program);
    }
    free(texts);
    return status;
}

dm_status dm_nvrtc_compile(const dm_module_desc *desc, const char *arch, char **code, size_t *size,
                           bool *was_cached, dm_error *err)
{
    dm_source_set set;
    option_list options;
    dm_hash128 key = {0, 0};
    char entry[DM_CACHE_NAME_MAX], path[DM_PATH_MAX];
    *code = NULL;
    *was_cached = false;
    dm_status status = dm_source_set_init(&set, desc, err);
    if (status != DM_OK)
        return status;
    status = make_options(&options, desc, arch, err);
    if (status == DM_OK)
        status = make_key(&set, desc, &options, &key, err);
    if (status == DM_OK) {
        dm_cache_name(entry, key, "cubin");
        *was_cached = dm_cache_load(entry, code, size, path);
        if (!*was_cached) {
            status = compile(&set, desc, arch, code, size, err);
            if (status == DM_OK)
                dm_cache_store(entry, *code, *size, path);
        }
    }
    dm_buffer_deinit(&options.texts);
    dm_source_set_deinit(&set);
    return status;
}

dm_status dm_nvrtc_check(const char *name, const char *text, const char *const *options,
                         dm_error *err)
{
    enum { INVALID_OPTION = 5 };
    dm_module_desc desc = {.name = name};
    dm_status status = nvrtc_open(err);
    if (status != DM_OK)
        return status;
    int count = 0;
    while (options[count] != NULL)
        count++;
    void *program = NULL;
    int result = nvrtc.create(&program, text, name, 0, NULL, NULL);
    if (result != 0)
        return nvrtc_fail(result, name, err);
    result = nvrtc.compile(program, count, options);
    if (result == INVALID_OPTION)
        status = dm_fail(err, DM_EINVAL, "%s: %s", name, nvrtc.error_string(result));
    else if (result != 0)
        status = report_log(program, &desc, result, err);
    nvrtc.destroy(&program);
    return status;
}
