/* SPDX-License-Identifier: MIT */
/* Gradients of statements: loops with carried values, while, break, continue, early return,
 * in-place changes, functions, structs, atomics. Each kernel's backward pass against differences in
 * float64. */
#include "device/nvrtc.h"
#include "kernel/check.h"
#include "tests/lang/gradient_cases.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_case(const dm_gradient_case *c)
{
    char text[4096];
    dm_check_result result;
    dm_error err = {0};
    dm_check_options options = {.seed = 7};
    snprintf(text, sizeof text, "import warp as wp\n%s", c->text);
    if (dm_kernel_check(c->name, text, strlen(text), c->name, &options, &result, &err) != DM_OK)
        fail_msg("%s: %s:%d %s", c->name, err.file, err.line, err.message);
    if (!result.checked || result.compared < 6)
        fail_msg("%s: not checked: %s", c->name, result.reason);
    if (!(result.gradient_error < 1e-5))
        fail_msg("%s: gradient is off by %g: %s", c->name, result.gradient_error, result.worst);
}

static void statements(void **state)
{
    (void)state;
    for (size_t i = 0; i < dm_gradient_case_count; i++)
        check_case(&dm_gradient_cases[i]);
}

/* Both passes of every case compile for a GPU. */
static void cases_compile_for_cuda(void **state)
{
    (void)state;
    char path[DM_PATH_MAX];
    dm_error missing = {0};
    if (dm_nvrtc_find(path, &missing) != DM_OK)
        dm_test_skip("%s", missing.message);
    for (size_t i = 0; i < dm_gradient_case_count; i++) {
        char text[4096], *code = NULL, *log = NULL;
        dm_kernel_file *file;
        size_t size;
        bool cached;
        snprintf(text, sizeof text, "import warp as wp\n%s", dm_gradient_cases[i].text);
        assert_ok(dm_kernel_file_create("t", text, strlen(text), NULL, &file, err));
        dm_kernel *kernel = dm_kernel_file_find(file, dm_gradient_cases[i].name);
        assert_ok(dm_kernel_compile(kernel, err));
        dm_module_desc desc = {.name = "kernel.cu", .log = &log};
        desc.text = dm_kernel_source(kernel, DM_KERNEL_CUDA, NULL);
        assert_non_null(desc.text);
        assert_ok(dm_nvrtc_compile(&desc, "compute_80", &code, &size, &cached, err));
        free(code);
        free(log);
        dm_kernel_file_destroy(file);
    }
}

static dm_status check_file(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    char path[DM_PATH_MAX], *text;
    size_t size, length = strlen(entry->path);
    int *checked = user;
    if (entry->is_dir || length < 3 || strcmp(entry->path + length - 3, ".py") != 0)
        return DM_OK;
    assert_ok(dm_path_join(path, root, entry->path, err));
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    dm_kernel_file *file;
    assert_ok(dm_kernel_file_create(path, text, size, NULL, &file, err));
    for (size_t i = 0; i < dm_kernel_file_count(file); i++) {
        const char *name = dm_kernel_name(dm_kernel_file_get(file, i));
        dm_check_result result;
        dm_check_options options = {.seed = 3, .elements_max = 24};
        assert_ok(dm_kernel_check(path, text, size, name, &options, &result, err));
        if (!(result.gradient_error < 1e-5))
            fail_msg("%s, %s: gradient is off by %g: %s", entry->path, name, result.gradient_error,
                     result.worst);
        (*checked)++;
    }
    dm_kernel_file_destroy(file);
    free(text);
    (void)err;
    return DM_OK;
}

/* The ready-to-run examples. */
static void example_kernels(void **state)
{
    (void)state;
    char folder[DM_PATH_MAX];
    int checked = 0;
    assert_ok(dm_path_join(folder, dm_test_source_root(), "kernels", err));
    if (!dm_dir_exists(folder))
        dm_test_skip("the sources are not here");
    assert_ok(dm_dir_walk(folder, check_file, &checked, err));
    assert_true(checked > 20);
}

/* A custom gradient is used as it is, right or not. */
static void custom_gradients_count(void **state)
{
    (void)state;
    const char *text = "import warp as wp\n"
                       "@wp.func\n"
                       "def f(x: float):\n"
                       "    return x * x\n"
                       "@wp.func_grad(f)\n"
                       "def f_grad(x: float, g: float):\n"
                       "    wp.adjoint[x] += 100.0 * g\n"
                       "@wp.kernel\n"
                       "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                       "    i = wp.tid()\n"
                       "    y[i] = f(x[i])\n";
    dm_check_result result;
    dm_check_options options = {.seed = 7};
    assert_ok(dm_kernel_check("t", text, strlen(text), "k", &options, &result, err));
    assert_true(result.gradient_error > 5);
}

/* The check itself notices a wrong gradient: what Warp makes of an array that is overwritten. */
static void wrong_gradients_are_noticed(void **state)
{
    (void)state;
    const char *text = "import warp as wp\n"
                       "@wp.kernel\n"
                       "def overwritten(x: wp.array(dtype=float)):\n"
                       "    i = wp.tid()\n"
                       "    x[i] = x[i] * x[i]\n"; /* reads x again after it was written */
    dm_check_result result;
    dm_check_options options = {.seed = 7, .warp_compat = true};
    assert_ok(dm_kernel_check("t", text, strlen(text), "overwritten", &options, &result, err));
    assert_true(result.gradient_error > 1e-2);
}

static void no_backward_has_a_reason(void **state)
{
    (void)state;
    const char *text =
        "import warp as wp\n"
        "@wp.kernel\n"
        "def slots(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n"
        "    k = wp.atomic_add(n, 0, 1)\n"
        "    y[k % 6] = x[i]\n";
    dm_check_result result;
    dm_check_options options = {.seed = 7};
    assert_ok(dm_kernel_check("t", text, strlen(text), "slots", &options, &result, err));
    assert_false(result.has_backward);
    assert_non_null(strstr(result.reason, "atomic"));
}

DM_TESTS("lang/gradients", DM_TEST(statements), DM_TEST(example_kernels),
         DM_TEST(cases_compile_for_cuda), DM_TEST(custom_gradients_count),
         DM_TEST(wrong_gradients_are_noticed), DM_TEST(no_backward_has_a_reason))
