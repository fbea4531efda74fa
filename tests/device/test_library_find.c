/* SPDX-License-Identifier: MIT */
/* Where NVRTC and cuBLASLt are found: in made-up Python environments, toolkits and files. Nothing
 * is opened, so the files may be empty; a file that the tests do not make is real and later. */
#include "base/file.h"
#include "device/library_find.h"
#include "device/nvrtc.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const dm_cuda_library nvrtc = {"nvrtc", "NVRTC", "DM_TEST_NVRTC", "nvidia-cuda-nvrtc",
                                      "nvrtcVersion"};
static const dm_cuda_library cublas = {"cublasLt", "cuBLASLt", "DM_TEST_CUBLASLT", "nvidia-cublas",
                                       "cublasLtCreate"};

#define PACKAGES "venv/lib/python3.11/site-packages/"

static const char *put(void **state, const char *name, const char *text)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s", dm_test_path(state, name));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_ok(dm_dir_create(path, err));
    *slash = '/';
    assert_ok(dm_file_write(path, text, strlen(text), err));
    return path;
}

static void only(void **state, const char *variable, const char *folder)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH",
                                            "VIRTUAL_ENV", NULL};
    for (int i = 0; variables[i] != NULL; i++)
        unsetenv(variables[i]);
    unsetenv("DM_TEST_NVRTC");
    if (variable != NULL)
        setenv(variable, dm_test_path(state, folder), 1);
}

/* The library is found where `expected` says, and has this origin. */
static void finds(void **state, const dm_cuda_library *library, int driver, const char *expected,
                  const char *origin)
{
    char path[DM_PATH_MAX], got[512], real[DM_PATH_MAX];
    assert_ok(dm_cuda_library_find(library, driver, path, err));
    assert_non_null(realpath(dm_test_path(state, expected), real));
    assert_string_equal(path, real);
    dm_cuda_library_origin(library, path, got, sizeof got);
    if (strstr(got, origin) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", got, origin);
}

static void wheels_are_found_and_named(void **state)
{
    put(state, PACKAGES "nvidia/cu13/lib/libnvrtc.so.13", "");
    put(state, PACKAGES "nvidia/cu13/lib/libcublasLt.so.13", "");
    put(state, PACKAGES "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "");
    put(state, PACKAGES "nvidia/cublas/lib/libcublasLt.so.12", "");
    put(state, PACKAGES "nvidia_cuda_nvrtc-13.0.88.dist-info/RECORD",
        "nvidia/cu13/lib/libnvrtc.so.13,sha256=x,1\n");
    put(state, PACKAGES "nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/RECORD",
        "nvidia/cuda_nvrtc/lib/libnvrtc.so.12,sha256=x,1\n");
    put(state, PACKAGES "nvidia_cublas-13.1.0.3.dist-info/RECORD",
        "nvidia/cu13/lib/libcublasLt.so.13,,\n");
    put(state, PACKAGES "nvidia_cublas-13.1.0.3.dist-info/direct_url.json",
        "{\"url\": \"https://me:secret@files.example/a.whl\", \"archive_info\": {}}");
    only(state, "VIRTUAL_ENV", "venv");
    finds(state, &nvrtc, 13, PACKAGES "nvidia/cu13/lib/libnvrtc.so.13",
          "wheel nvidia-cuda-nvrtc 13.0.88 from the package index");
    finds(state, &nvrtc, 12, PACKAGES "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
          "wheel nvidia-cuda-nvrtc-cu12 12.8.93 from the package index");
    finds(state, &cublas, 13, PACKAGES "nvidia/cu13/lib/libcublasLt.so.13",
          "wheel nvidia-cublas 13.1.0.3 from https://files.example/a.whl");
    finds(state, &cublas, 12, PACKAGES "nvidia/cublas/lib/libcublasLt.so.12", "Python packages in");
}

static void toolkits_and_files_come_first(void **state)
{
    put(state, PACKAGES "nvidia/cu13/lib/libnvrtc.so.13", "");
    put(state, "cuda-13.2/lib64/libnvrtc.so.13.2", "");
    put(state, "mine/libnvrtc.so.12", "");
    only(state, "VIRTUAL_ENV", "venv");
    setenv("CUDA_HOME", dm_test_path(state, "cuda-13.2"), 1);
    finds(state, &nvrtc, 13, "cuda-13.2/lib64/libnvrtc.so.13.2", "/cuda-13.2");
    setenv("DM_TEST_NVRTC", dm_test_path(state, "mine/libnvrtc.so.12"), 1);
    finds(state, &nvrtc, 13, "mine/libnvrtc.so.12", "$DM_TEST_NVRTC");
    only(state, "LD_LIBRARY_PATH", "mine");
    finds(state, &nvrtc, 13, "mine/libnvrtc.so.12", "folder ");
}

static void a_chosen_file_that_is_missing_is_told(void **state)
{
    char path[DM_PATH_MAX];
    dm_error err = {0};
    only(state, "DM_TEST_NVRTC", "none");
    assert_int_equal(dm_cuda_library_find(&nvrtc, 13, path, &err), DM_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "no NVRTC: $DM_TEST_NVRTC is '"));
}

/* A GPU newer than NVRTC: text for the newest that it knows, or one line that says what to do. */
static void a_gpu_that_nvrtc_does_not_know(void **state)
{
    char path[DM_PATH_MAX], *code = NULL;
    size_t size = 0;
    bool cached;
    dm_error err = {0};
    (void)state;
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    const dm_module_desc desc = {.name = "k.cu", .text = "extern \"C\" __global__ void k() {}\n"};
    assert_ok(dm_nvrtc_compile(&desc, "sm_990", &code, &size, &cached, err));
    assert_non_null(strstr(code, ".version"));
    assert_non_null(strstr(code, ".entry k"));
    free(code);
    code = NULL;
    assert_int_equal(dm_nvrtc_compile(&desc, "sm_990a", &code, &size, &cached, &err),
                     DM_EUNAVAILABLE);
    assert_null(code);
    assert_non_null(
        strstr(err.message, "is too old for the GPU, it does not know sm_990a; install"));
}

DM_TESTS("device/library_find", DM_TEST_IN_DIR(wheels_are_found_and_named),
         DM_TEST_IN_DIR(toolkits_and_files_come_first),
         DM_TEST_IN_DIR(a_chosen_file_that_is_missing_is_told),
         DM_TEST(a_gpu_that_nvrtc_does_not_know));
