/* SPDX-License-Identifier: MIT */
/* Every kernel text of the project compiles for every target, GPU or not. */
#include "device/cc.h"
#include "device/kernels.h"
#include "device/nvrtc.h"
#include "device/sources.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFINES_MAX 16

/* A private cache, so that the compilers really run. */
static int setup(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    return 0;
}

/* "A=1 B" -> {"A=1", "B", NULL}; `words` holds the text. */
static void split(const char *defines, char words[512], const char *list[DEFINES_MAX + 1])
{
    size_t count = 0;
    char *save;
    snprintf(words, 512, "%s", defines);
    for (char *w = strtok_r(words, " ", &save); w != NULL && count < DEFINES_MAX;
         w = strtok_r(NULL, " ", &save))
        list[count++] = w;
    list[count] = NULL;
}

/* A cache that is kept beside the tests: its entries are found by content, so that a text is
 * compiled again when anything it is made of has changed, and only then. */
static int setup_kept(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", DM_TEST_BUILD_ROOT "/kernel-cache", 1);
    return 0;
}

static void every_text_for_cuda(void **state)
{
    static const char *const archs[] = {"sm_80", "sm_90", "sm_100"};
    char path[DM_PATH_MAX];
    dm_error err = {0};
    (void)state;
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    for (size_t i = 0; i < dm_kernel_text_count; i++) {
        for (size_t a = 0; a < sizeof archs / sizeof archs[0]; a++) {
            char words[512], *code = NULL, *log = NULL;
            const char *defines[DEFINES_MAX + 1];
            size_t size = 0;
            bool cached;
            split(dm_kernel_texts[i].defines, words, defines);
            dm_module_desc desc = {
                .name = dm_kernel_texts[i].name, .defines = defines, .log = &log};
            if (dm_nvrtc_compile(&desc, archs[a], &code, &size, &cached, &err) != DM_OK)
                fail_msg("%s [%s] for %s: %s\n%s", desc.name, dm_kernel_texts[i].defines, archs[a],
                         err.message, log == NULL ? "" : log);
            assert_memory_equal(code, "\177ELF", 4);
            free(code);
        }
    }
}

/* Once compiled, then from the cache. */
static void compiled_once(void **state)
{
    char path[DM_PATH_MAX], *code;
    dm_error err = {0};
    (void)state;
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    dm_module_desc desc = {.name = "device/selftest_kernels.h"};
    for (int round = 0; round < 2; round++) {
        size_t size = 0;
        bool cached;
        assert_ok(dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, err));
        assert_int_equal(cached, round > 0);
        assert_memory_equal(code, "\177ELF", 4);
        free(code);
    }
}

static void every_text_for_the_cpu(void **state)
{
    dm_cc cc;
    dm_error err = {0};
    (void)state;
    if (dm_cc_find(&cc, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    for (size_t i = 0; i < dm_kernel_text_count; i++) {
        char words[512], *log = NULL;
        const char *defines[DEFINES_MAX + 1];
        void *handle;
        bool cached;
        if (dm_kernel_texts[i].cuda_only)
            continue;
        split(dm_kernel_texts[i].defines, words, defines);
        dm_module_desc desc = {.name = dm_kernel_texts[i].name, .defines = defines, .log = &log};
        if (dm_cc_load(&desc, &handle, &cached, &err) != DM_OK)
            fail_msg("%s [%s]: %s\n%s", desc.name, dm_kernel_texts[i].defines, err.message,
                     log == NULL ? "" : log);
        dlclose(handle);
    }
}

/* nvcc takes the same texts, for those who build them into programs of their own. */
static void every_text_for_nvcc(void **state)
{
    char folder[DM_PATH_MAX], nvcc[DM_PATH_MAX];
    static const char *const places[] = {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"};
    size_t place = 0;
    while (place < 2 && !dm_file_exists(places[place]))
        place++;
    assert_ok(dm_path_join(folder, dm_test_source_root(), "src", err));
    if (place == 2 || !dm_dir_exists(folder))
        dm_test_skip("no nvcc in its usual place, or no source tree");
    snprintf(nvcc, sizeof nvcc, "%s", places[place]);
    for (size_t i = 0; i < dm_kernel_text_count; i++) {
        char path[DM_PATH_MAX], words[512];
        const char *defines[DEFINES_MAX + 1], *argv[DEFINES_MAX * 2 + 16];
        size_t count = 0;
        assert_ok(dm_path_join(path, folder, dm_kernel_texts[i].name, err));
        split(dm_kernel_texts[i].defines, words, defines);
        const char *fixed[] = {
            nvcc, "-std=c++17", "-arch=sm_90", "-I", folder,
            "-x", "cu",         "-ptx",        "-o", dm_test_path(state, "out.ptx"),
            path};
        for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++)
            argv[count++] = fixed[k];
        for (size_t k = 0; defines[k] != NULL; k++) {
            argv[count++] = "-D";
            argv[count++] = defines[k];
        }
        argv[count] = NULL;
        dm_test_result r;
        dm_test_run(&(dm_test_command){.argv = argv}, &r);
        if (r.exit_code != 0)
            fail_msg("%s: %s%s", path, r.out, r.err);
        dm_test_result_free(&r);
    }
}

/* What NVRTC says reaches the caller; the GPU tests run the same cases where there is a GPU. */
static void cuda_errors(void **state)
{
    char path[DM_PATH_MAX], *code = NULL, *log = NULL;
    size_t size;
    bool cached;
    dm_error err = {0};
    (void)state;
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    dm_source header = {"my/x.h", "\n\nint y = nope;\n"};
    dm_module_desc desc = {.name = "a kernel",
                           .text =
                               "#include \"base/port.h\"\n\nDM_FN int f(void) { return nope; }\n",
                           .log = &log};
    assert_int_equal(dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, &err), DM_ECOMPILE);
    assert_string_equal(err.file, "a kernel");
    assert_int_equal(err.line, 3);
    assert_non_null(strstr(err.message, "nope"));
    assert_null(code);
    free(log);
    desc = (dm_module_desc){
        .name = "b", .text = "#include \"my/x.h\"\n", .headers = &header, .header_count = 1};
    assert_int_equal(dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, &err), DM_ECOMPILE);
    assert_string_equal(err.file, "my/x.h");
    assert_int_equal(err.line, 3);
    desc = (dm_module_desc){.name = "c", .text = "\n#include \"no/such.h\"\n"};
    assert_int_equal(dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, &err), DM_ECOMPILE);
    assert_int_equal(err.line, 2);
    desc = (dm_module_desc){.name = "d", .text = "int x;\n"};
    assert_int_not_equal(dm_nvrtc_compile(&desc, "sm_banana", &code, &size, &cached, &err), DM_OK);
    print_message("wrong architecture: %s\n", err.message);
    assert_true(err.message[0] != '\0');
}

static void other_architectures(void **state)
{
    char path[DM_PATH_MAX], *code;
    size_t size;
    bool cached;
    (void)state;
    dm_error err = {0};
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    dm_module_desc desc = {.name = "device/selftest_kernels.h"};
    assert_ok(dm_nvrtc_compile(&desc, "sm_90a", &code, &size, &cached, err));
    assert_memory_equal(code, "\177ELF", 4);
    free(code);
    /* Newer than NVRTC knows: PTX text, for the driver to translate. */
    assert_ok(dm_nvrtc_compile(&desc, "sm_999", &code, &size, &cached, err));
    assert_non_null(strstr(code, ".visible .entry dm_selftest_saxpy"));
    assert_int_equal(code[size - 1], 0);
    free(code);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, dm_test_dir_teardown)
#define KEPT(name) cmocka_unit_test_setup_teardown(name, setup_kept, dm_test_dir_teardown)
DM_TESTS("device/kernels", KEPT(every_text_for_cuda), KEPT(every_text_for_the_cpu),
         T(compiled_once), T(every_text_for_nvcc), T(cuda_errors), T(other_architectures))
