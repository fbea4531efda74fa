/* SPDX-License-Identifier: MIT */
/* kernel_text.c - see kernel_text.h. */
#include "tests/lang/kernel_text.h"

#include "base/buffer.h"
#include "base/file.h"
#include "device/nvrtc.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/kernel.h>
#include <stdlib.h>
#include <string.h>

static void compile_c(void **state, const char *source, const dm_buffer *text)
{
    const char *path = dm_test_path(state, "k.c");
    const char *cc = getenv("CC");
    assert_ok(dm_file_write(path, text->data, text->size, err));
    const char *const argv[] = {
        cc == NULL ? "cc" : cc, "-std=c17",      "-Wall", "-Wextra", "-Werror",
        "-Wno-unused-function", "-fsyntax-only", path,    NULL};
    dm_test_result result;
    dm_test_run(&(dm_test_command){.argv = argv}, &result);
    if (result.exit_code != 0)
        fail_msg("%.2000s\nfor:\n%.2000s", result.err, source);
    dm_test_result_free(&result);
}

static void compile_cuda(const char *source, dm_buffer *text)
{
    char path[DM_PATH_MAX], *code = NULL, *log = NULL;
    size_t size;
    bool cached;
    if (dm_nvrtc_find(path, NULL) != DM_OK)
        return;
    dm_module_desc desc = {.name = "kernel.cu", .text = dm_buffer_text(text), .log = &log};
    if (dm_nvrtc_compile(&desc, "compute_80", &code, &size, &cached, NULL) != DM_OK)
        fail_msg("%.2000s\nfor:\n%.2000s", log == NULL ? "" : log, source);
    free(code);
    free(log);
}

void dm_test_compiles(void **state, const char *source, bool backward)
{
    for (int target = 0; target < 2; target++) {
        dm_compilation c;
        dm_compile_options options = {.no_backward = !backward};
        dm_buffer text = DM_BUFFER_EMPTY;
        assert_ok(dm_compilation_init(&c, "k.py", source, strlen(source), &options, err));
        for (int i = 0; i < c.kernel_count; i++)
            assert_ok(dm_compilation_kernel(&c, i, err));
        assert_ok(
            dm_compilation_print_all(&c, target == 0 ? DM_TARGET_C : DM_TARGET_CUDA, &text, err));
        dm_compilation_deinit(&c);
        if (target == 0)
            compile_c(state, source, &text);
        else
            compile_cuda(source, &text);
        dm_buffer_deinit(&text);
    }
}

void dm_test_run_kernel(const char *source, float *y, int count)
{
    dm_kernel_options options = {.no_backward = true};
    dm_kernel_file *file;
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
    dm_error error = {0};
    if (dm_kernel_file_create("k.py", source, strlen(source), &options, &file, &error) != DM_OK ||
        dm_kernel_file_count(file) != 1 ||
        dm_kernel_compile(dm_kernel_file_get(file, 0), &error) != DM_OK)
        fail_msg("%d: %s\nfor:\n%s", error.line, error.message, source);
    dm_kernel_array array = {.data = y, .shape = {count}};
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_ok(dm_kernel_program_create(dm_kernel_file_get(file, 0), device, &program, err));
    assert_ok(dm_kernel_args_create(dm_kernel_file_get(file, 0), &args, err));
    assert_ok(dm_kernel_args_array(args, "y", &array, err));
    assert_ok(dm_kernel_launch(program, dm_device_stream(device), DM_KERNEL_FORWARD,
                               (const int[]){count}, 1, args, err));
    assert_ok(dm_stream_synchronize(dm_device_stream(device), err));
    dm_kernel_args_destroy(args);
    dm_kernel_program_destroy(program);
    dm_device_close(device);
    dm_kernel_file_destroy(file);
}

void dm_test_run_arrays(void **state, const char *text, const char *type,
                        const dm_test_array *arrays, int threads, dm_error *launched)
{
    dm_kernel_options options = {.no_backward = true, .bounds = launched != NULL};
    dm_kernel_file *file;
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
    dm_error error = {0};
    dm_buffer source = DM_BUFFER_EMPTY;
    dm_buffer_puts(&source, "import warp as wp\n\n\n@wp.kernel\n");
    for (; *text != '\0'; text++)
        if (*text == '$')
            dm_buffer_puts(&source, type);
        else
            dm_buffer_putc(&source, *text);
    const char *all = dm_buffer_text(&source);
    dm_test_compiles(state, all, false);
    if (dm_kernel_file_create("k.py", all, source.size, &options, &file, &error) != DM_OK ||
        dm_kernel_compile(dm_kernel_file_get(file, 0), &error) != DM_OK)
        fail_msg("%d: %s\nfor:\n%s", error.line, error.message, all);
    assert_ok(dm_device_open("cpu:2", &device, err));
    assert_ok(dm_kernel_program_create(dm_kernel_file_get(file, 0), device, &program, err));
    assert_ok(dm_kernel_args_create(dm_kernel_file_get(file, 0), &args, err));
    for (; arrays->name != NULL; arrays++) {
        dm_kernel_array one = {.data = arrays->data, .shape = {arrays->shape[0], arrays->shape[1]}};
        assert_ok(dm_kernel_args_array(args, arrays->name, &one, err));
    }
    dm_status status = dm_kernel_launch(program, dm_device_stream(device), DM_KERNEL_FORWARD,
                                        (const int[]){threads}, 1, args, &error);
    if (launched == NULL && status != DM_OK)
        fail_msg("%s\nfor:\n%s", error.message, all);
    if (launched != NULL)
        *launched = error;
    assert_ok(dm_stream_synchronize(dm_device_stream(device), err));
    dm_kernel_args_destroy(args);
    dm_kernel_program_destroy(program);
    dm_device_close(device);
    dm_kernel_file_destroy(file);
    dm_buffer_deinit(&source);
}

char *dm_test_diagnostics(const char *source)
{
    dm_compilation c;
    dm_compile_options options = {0};
    dm_buffer out = DM_BUFFER_EMPTY;
    if (dm_compilation_init(&c, "k.py", source, strlen(source), &options, NULL) == DM_OK)
        for (int i = 0; i < c.kernel_count; i++)
            (void)dm_compilation_kernel(&c, i, NULL);
    dm_lang_print_diags(&c.lang, &out);
    dm_compilation_deinit(&c);
    dm_buffer_putc(&out, '\0');
    return dm_buffer_take(&out);
}
