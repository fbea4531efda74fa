/* SPDX-License-Identifier: MIT */
/* library_find.c - see library_find.h. */
#include "device/library_find.h"

#include "base/json.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAJOR_MAX 99

typedef struct search {
    const dm_cuda_library *library;
    int driver_major;        /* 0: no driver */
    char best[DM_PATH_MAX];  /* fits the driver */
    char spare[DM_PATH_MAX]; /* newer than the driver */
} search;

/* "/x/libnvrtc.so.13.0.88" -> 13; 0: its name does not say */
static int major_of(const search *s, const char *path)
{
    char mark[64];
    snprintf(mark, sizeof mark, "lib%s.so.", s->library->stem);
    const char *at = strstr(path, mark);
    return at == NULL ? 0 : atoi(at + strlen(mark));
}

static void try_file(search *s, const char *path)
{
    if (s->best[0] != '\0' || access(path, R_OK) != 0)
        return;
    char *real = realpath(path, NULL);
    if (real != NULL && strlen(real) < DM_PATH_MAX) {
        int major = major_of(s, real);
        bool fits = s->driver_major == 0 || major == 0 || major <= s->driver_major;
        char *slot = fits ? s->best : s->spare;
        if (slot[0] == '\0')
            snprintf(slot, DM_PATH_MAX, "%s", real);
    }
    free(real);
}

/* The library in the folders that match a pattern, newest first. */
static void try_folders(search *s, const char *format, const char *root)
{
    static const char *const endings[] = {".[1-9][0-9]", ".[1-9][0-9].*", ""};
    char folder[DM_PATH_MAX], pattern[DM_PATH_MAX];
    if (root == NULL || root[0] == '\0' ||
        snprintf(folder, sizeof folder, format, root) >= (int)sizeof folder)
        return;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        glob_t matches;
        if (snprintf(pattern, sizeof pattern, "%s/lib%s.so%s", folder, s->library->stem,
                     endings[i]) >= (int)sizeof pattern)
            continue;
        if (glob(pattern, 0, NULL, &matches) == 0)
            for (int major = MAJOR_MAX; major >= 0; major--)
                for (size_t k = matches.gl_pathc; k > 0; k--)
                    if (major_of(s, matches.gl_pathv[k - 1]) == major)
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

/* The folders of NVIDIA's wheels; PyTorch's bring them too. */
static void try_python(search *s, const char *root)
{
    try_folders(s, "%s/lib/python3*/*-packages/nvidia/*/lib", root);
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

/* As a Python package's part, this code lies in site-packages/dotmatrix; the wheels of NVIDIA lie beside. */
static void try_package(search *s)
{
    static const char anchor = 0;
    Dl_info info;
    char folder[DM_PATH_MAX];
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL)
        return;
    snprintf(folder, sizeof folder, "%s", info.dli_fname);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder)
            return;
        *slash = '\0';
    }
    try_folders(s, "%s/nvidia/*/lib", folder);
}

/* The loader may know a folder that we do not. */
static bool ask_loader(const dm_cuda_library *library, char path[DM_PATH_MAX])
{
    static const char *const endings[] = {".13", ".12", ".11.2", ""};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "lib%s.so%s", library->stem, endings[i]);
        void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        void *symbol = handle == NULL ? NULL : dlsym(handle, library->symbol);
        Dl_info info;
        if (symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL) {
            snprintf(path, DM_PATH_MAX, "%s", info.dli_fname);
            return true;
        }
    }
    return false;
}

dm_status dm_cuda_library_find(const dm_cuda_library *library, int driver_major,
                               char path[DM_PATH_MAX], dm_error *err)
{
    search s = {.library = library, .driver_major = driver_major};
    const char *chosen = getenv(library->variable), *home = getenv("HOME");
    char local[DM_PATH_MAX] = "";
    if (chosen != NULL && access(chosen, R_OK) != 0)
        return dm_fail(err, DM_EUNAVAILABLE, "no %s: $%s is '%s', which is not found",
                       library->name, library->variable, chosen);
    if (chosen != NULL)
        try_file(&s, chosen);
    try_toolkit(&s, getenv("CUDA_HOME"));
    try_toolkit(&s, getenv("CUDA_PATH"));
    try_list(&s, getenv("LD_LIBRARY_PATH"));
    try_package(&s);
    try_python(&s, getenv("VIRTUAL_ENV"));
    try_project(&s);
    try_toolkit(&s, "/usr/local/cuda");
    try_toolkit(&s, "/usr/local/cuda-*");
    try_toolkit(&s, "/opt/cuda");
    try_list(&s, "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib");
    if (home != NULL && snprintf(local, sizeof local, "%s/.local", home) < (int)sizeof local)
        try_python(&s, local);
    try_python(&s, "/usr/local");
    try_python(&s, "/usr");
    try_python(&s, "/opt/*");
    const char *best = s.best[0] != '\0' ? s.best : s.spare;
    if (best[0] != '\0') {
        memcpy(path, best, DM_PATH_MAX);
        return DM_OK;
    }
    if (ask_loader(library, path))
        return DM_OK;
    return dm_fail(
        err, DM_EUNAVAILABLE,
        "no %s: lib%s.so is not found (install a CUDA toolkit, or pip install %s, or set "
        "%s)",
        library->name, library->stem, library->wheel, library->variable);
}

/* ---- Where it came from ---- */

/* Was this file installed by the wheel with this .dist-info folder? Its RECORD lists its files. */
static bool lists(const char *facts, const char *file)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size;
    if (dm_path_join(path, facts, "RECORD", NULL) != DM_OK ||
        dm_file_read(path, 16u << 20, &text, &size, NULL) != DM_OK)
        return false;
    bool listed = strstr(text, file) != NULL;
    free(text);
    return listed;
}

/* The wheel's source: direct_url.json is there unless it came from an index. A password in it is left out. */
static void wheel_source(const char *facts, char *out, size_t size)
{
    char path[DM_PATH_MAX];
    json_t *root = NULL;
    snprintf(out, size, "the package index");
    if (dm_path_join(path, facts, "direct_url.json", NULL) != DM_OK || !dm_file_exists(path) ||
        dm_json_load(path, &root, NULL) != DM_OK)
        return;
    const char *url = json_string_value(json_object_get(root, "url"));
    const char *host = url == NULL ? NULL : strstr(url, "://");
    const char *at = host == NULL ? NULL : strchr(host, '@');
    if (at != NULL && at < host + 3 + strcspn(host + 3, "/"))
        snprintf(out, size, "%.*s%s", (int)(host + 3 - url), url, at + 1);
    else if (url != NULL)
        snprintf(out, size, "%s", url);
    json_decref(root);
}

/* "/p/site-packages/nvidia/cu13/lib/libnvrtc.so.13": the wheel in /p/site-packages that has it. */
static bool wheel_of(const char *path, char *out, size_t size)
{
    const char *packages = strstr(path, "-packages/nvidia/");
    if (packages == NULL)
        return false;
    int root = (int)(packages - path) + (int)strlen("-packages");
    char pattern[DM_PATH_MAX];
    glob_t matches;
    bool found = false;
    snprintf(pattern, sizeof pattern, "%.*s/nvidia_*.dist-info", root, path);
    if (glob(pattern, 0, NULL, &matches) == 0)
        for (size_t i = 0; i < matches.gl_pathc && !found; i++) {
            char name[128], source[512];
            if (!lists(matches.gl_pathv[i], path + root + 1))
                continue;
            snprintf(name, sizeof name, "%s", matches.gl_pathv[i] + root + 1);
            name[strlen(name) - strlen(".dist-info")] = '\0';
            for (char *c = name; *c != '\0'; c++)
                *c = *c == '_' ? '-' : *c;
            char *version = strrchr(name, '-');
            if (version != NULL)
                *version = ' ';
            wheel_source(matches.gl_pathv[i], source, sizeof source);
            snprintf(out, size, "wheel %s from %s", name, source);
            found = true;
        }
    globfree(&matches);
    if (!found)
        snprintf(out, size, "Python packages in %.*s", root, path);
    return true;
}

void dm_cuda_library_origin(const dm_cuda_library *library, const char *path, char *out,
                            size_t size)
{
    const char *chosen = getenv(library->variable);
    char *real = chosen == NULL ? NULL : realpath(chosen, NULL);
    const char *cuda = strstr(path, "/cuda"), *slash = strrchr(path, '/');
    if (real != NULL && strcmp(real, path) == 0)
        snprintf(out, size, "$%s", library->variable);
    else if (wheel_of(path, out, size))
        ;
    else if (cuda != NULL)
        snprintf(out, size, "toolkit %.*s", (int)(cuda + 1 + strcspn(cuda + 1, "/") - path), path);
    else
        snprintf(out, size, "folder %.*s", slash == NULL ? 1 : (int)(slash - path),
                 slash == NULL ? "." : path);
    free(real);
}
