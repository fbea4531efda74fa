/* SPDX-License-Identifier: MIT */
/* nvrtc.c - find, open and run NVRTC; see nvrtc.h. Reference: NVIDIA, "NVRTC" (its C interface). */
#include "device/nvrtc.h"

#include "base/buffer.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "device/cache.h"
#include "device/cuda_api.h"
#include "device/library_find.h"
#include "device/sources.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
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

static const dm_cuda_library library = {"nvrtc", "NVRTC", "DM_NVRTC", "nvidia-cuda-nvrtc",
                                        "nvrtcVersion"};

static struct {
    pthread_once_t once;
    dm_status status;
    dm_error error;
    char path[DM_PATH_MAX];
} found = {.once = PTHREAD_ONCE_INIT};

static void find_once(void)
{
    const dm_cuda_api *api;
    int driver = dm_cuda_api_get(&api, NULL) == DM_OK ? api->version / 1000 : 0;
    found.status = dm_cuda_library_find(&library, driver, found.path, &found.error);
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

void dm_nvrtc_origin(char *out, size_t size)
{
    char path[DM_PATH_MAX];
    out[0] = '\0';
    if (dm_nvrtc_find(path, NULL) == DM_OK)
        dm_cuda_library_origin(&library, path, out, size);
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
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "no NVRTC: %s does not load: %s", path, dlerror());
    void *symbol = dlsym(handle, "nvrtcGetNumSupportedArchs");
    memcpy(&nvrtc.arch_count, &symbol, sizeof symbol);
    symbol = dlsym(handle, "nvrtcGetSupportedArchs");
    memcpy(&nvrtc.archs, &symbol, sizeof symbol);
    symbol = dlsym(handle, "nvrtcGetErrorString");
    memcpy(&nvrtc.error_string, &symbol, sizeof symbol);
#define FIND(field, name, parameters)                                                              \
    if (symbol != NULL) {                                                                          \
        symbol = dlsym(handle, name);                                                              \
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
    /* The log has the errors of the text; a wrong option leaves it empty. */
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

/* Once a process: kernels for a GPU that this NVRTC does not know. */
static void warn_older(const char *arch, const char *instead)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        dm_log(
            DM_LOG_WARN,
            "NVRTC %d.%d (%s) is older than this GPU (%s): kernels are made for %s and the driver "
            "translates them; pip install -U %s",
            nvrtc.version_number / 1000, nvrtc.version_number % 1000 / 10, found.path, arch,
            instead, library.wheel);
}

/* Does this NVRTC know an architecture, "sm_90", "sm_100a", "compute_80"? True when it cannot say. */
static bool knows_arch(const char *arch)
{
    const char *digits = strchr(arch, '_');
    int count = 0, known[256], wanted = digits == NULL ? 0 : atoi(digits + 1);
    if (wanted == 0 || nvrtc.arch_count == NULL || nvrtc.archs == NULL ||
        nvrtc.arch_count(&count) != 0 || count > 256 || nvrtc.archs(known) != 0)
        return true;
    for (int i = 0; i < count; i++)
        if (known[i] == wanted)
            return true;
    return false;
}

static dm_status compile_program(void *program, const dm_module_desc *desc, const char *arch,
                                 char **code, size_t *size, dm_error *err)
{
    option_list options;
    char older[32];
    if (older_arch(arch, older)) {
        warn_older(arch, older);
        arch = older;
    } else if (!knows_arch(arch)) {
        return dm_fail(err, DM_EUNAVAILABLE,
                       "NVRTC %d.%d (%s) is too old for the GPU, it does not know %s; install a "
                       "newer one: pip install "
                       "-U %s, or set %s",
                       nvrtc.version_number / 1000, nvrtc.version_number % 1000 / 10, found.path,
                       arch, library.wheel, library.variable);
    }
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
        dm_progress *wait = dm_progress_start_wait("compiling for the GPU", desc->name);
        status = compile_program(program, desc, arch, code, size, err);
        dm_progress_finish(wait);
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
