/* SPDX-License-Identifier: MIT */
/* text_case.c - compile a text, run it forward and backward, run the operation, compare. */
#include "tests/nn/text_case.h"

#include "base/file.h"
#include "base/philox.h"
#include "tests/support/test.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS_MAX = 16 };

/* Arrays on the device, all given back at the end. */
typedef struct room {
    dm_device *device;
    dm_device_buffer *buffers[ARRAYS_MAX];
    int count;
} room;

static void *put(room *r, const void *from, size_t bytes)
{
    assert_true(r->count < ARRAYS_MAX);
    dm_device_buffer **buffer = &r->buffers[r->count++];
    assert_ok(dm_device_buffer_create(r->device, bytes, buffer, err));
    assert_ok(dm_stream_upload(dm_device_stream(r->device), *buffer, 0, from, bytes, err));
    return dm_device_buffer_address(*buffer);
}

static void take(room *r, const void *address, float *to, size_t count)
{
    dm_stream *stream = dm_device_stream(r->device);
    for (int i = 0; i < r->count; i++)
        if (dm_device_buffer_address(r->buffers[i]) == address)
            assert_ok(dm_stream_download(stream, r->buffers[i], 0, to, count * sizeof(float), err));
    assert_ok(dm_stream_synchronize(stream, err));
}

static void leave(room *r)
{
    for (int i = 0; i < r->count; i++)
        dm_device_buffer_destroy(r->buffers[i]);
    r->count = 0;
}

static void random_floats(float *x, size_t n, uint64_t stream, float low, float high)
{
    for (size_t i = 0; i < n; i++)
        x[i] = low + (high - low) * dm_random_unit(dm_random4(7, stream, i).v[0]);
}

typedef struct program {
    dm_kernel_program *program;
    dm_kernel_args *args;
} program;

static program compile(dm_device *device, const char *path, const char *name, bool backward)
{
    char full[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_kernel_file *file = NULL;
    program out = {0};
    assert_ok(dm_path_join(full, dm_test_source_root(), path, err));
    assert_ok(dm_file_read(full, 0, &text, &size, err));
    assert_ok(dm_kernel_file_create(path, text, size, NULL, &file, err));
    dm_kernel *kernel = dm_kernel_file_find(file, name);
    assert_non_null(kernel);
    assert_ok(dm_kernel_compile(kernel, err));
    assert_true(!backward || dm_kernel_has_backward(kernel));
    assert_ok(dm_kernel_program_create(kernel, device, &out.program, err));
    assert_ok(dm_kernel_args_create(kernel, &out.args, err));
    dm_kernel_file_destroy(file);
    free(text);
    return out;
}

static void leave_program(program *p)
{
    dm_kernel_args_destroy(p->args);
    dm_kernel_program_destroy(p->program);
}

static void run_text(dm_device *device, program *p, int count)
{
    static const dm_kernel_pass passes[] = {DM_KERNEL_FORWARD, DM_KERNEL_BACKWARD};
    for (int i = 0; i < 2; i++)
        assert_ok(dm_kernel_launch(p->program, dm_device_stream(device), passes[i], &count, 1,
                                   p->args, err));
    leave_program(p);
}

static void expect_near(const dm_nn_exec *exec, const char *what, const char *which,
                        const float *got, const float *want, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        off += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        size += (double)want[i] * want[i];
    }
    assert_true(size > 0);
    if (!(sqrt(off) <= 1e-6 * sqrt(size))) /* NaN fails */
        fail_msg("%s: %s, %s: off by %g of %g", exec->ops->name, what, which, sqrt(off),
                 sqrt(size));
}

/* ---- Activations: a linear layer of one weight, which is 1 ---- */

enum { NUMBERS = 1003 };

static void activation_case(dm_device *device, dm_nn_exec *exec, dm_nn_activation activation,
                            const char *name)
{
    float x[NUMBERS], d[NUMBERS], zero[NUMBERS] = {0}, one = 1, want[2][NUMBERS], got[2][NUMBERS];
    room r = {.device = device};
    random_floats(x, NUMBERS, 1, -6, 6);
    random_floats(d, NUMBERS, 2, -1, 1);
    x[0] = 40; /* far out, where exponentials overflow or vanish */
    x[1] = -40;

    program p = compile(device, "kernels/nn/activations.py", name, true);
    void *px = put(&r, x, sizeof x), *py = put(&r, zero, sizeof zero);
    void *dx = put(&r, zero, sizeof zero), *dy = put(&r, d, sizeof d);
    assert_ok(dm_kernel_args_array(
        p.args, "x", &(dm_kernel_array){.data = px, .grad = dx, .shape = {NUMBERS}}, err));
    assert_ok(dm_kernel_args_array(
        p.args, "y", &(dm_kernel_array){.data = py, .grad = dy, .shape = {NUMBERS}}, err));
    run_text(device, &p, NUMBERS);
    take(&r, py, want[0], NUMBERS);
    take(&r, dx, want[1], NUMBERS);

    dm_nn_linear op = {.N = NUMBERS, .C = 1, .O = 1, .activation = activation};
    exec->scratch_size = exec->ops->linear_scratch ? exec->ops->linear_scratch(exec, &op) : 0;
    void *scratch = exec->scratch_size > 0 ? calloc(1, exec->scratch_size) : NULL;
    exec->scratch = scratch ? put(&r, scratch, exec->scratch_size) : NULL;
    void *w = put(&r, &one, sizeof one), *dw = put(&r, zero, sizeof one);
    void *pre = activation == DM_NN_GELU ? put(&r, zero, sizeof zero) : NULL;
    dx = put(&r, zero, sizeof zero);
    dy = put(&r, d, sizeof d);
    assert_ok(exec->ops->linear(exec, &op, px, w, NULL, py, pre, err));
    assert_ok(exec->ops->linear_backward(exec, &op, px, w, py, pre, dy, dx, dw, NULL, err));
    take(&r, py, got[0], NUMBERS);
    take(&r, dx, got[1], NUMBERS);
    expect_near(exec, name, "result", got[0], want[0], NUMBERS);
    expect_near(exec, name, "gradient", got[1], want[1], NUMBERS);
    free(scratch);
    leave(&r);
}

void text_case_activations(dm_device *device, dm_nn_exec *exec)
{
    activation_case(device, exec, DM_NN_RELU, "relu");
    activation_case(device, exec, DM_NN_TANH, "tanh");
    activation_case(device, exec, DM_NN_SIGMOID, "sigmoid");
    activation_case(device, exec, DM_NN_GELU, "gelu");
}

/* ---- Losses ---- */

enum { ROWS = 37, CLASSES = 51, PITCH = 64 };

/* `columns` numbers in a row; class targets where there are CLASSES of them. */
static void loss_case(dm_device *device, dm_nn_exec *exec, const char *name, int columns)
{
    float y[ROWS * PITCH], targets[ROWS * PITCH], ones[ROWS], zero[ROWS * PITCH] = {0};
    float want[2][ROWS * PITCH] = {{0}}, got[2][ROWS * PITCH] = {{0}};
    int32_t classes[ROWS];
    bool softmax = strcmp(name, "softmax") == 0;
    size_t count = (size_t)ROWS * (size_t)columns;
    room r = {.device = device};
    random_floats(y, count, 3, -5, 5);
    random_floats(targets, count, 4, 0, 1);
    for (int i = 0; i < ROWS; i++) {
        ones[i] = 1;
        classes[i] = i % 9 == 4 ? -1 : i * 7 % CLASSES;
    }

    program p = compile(device, "kernels/nn/losses.py", name, true);
    void *py = put(&r, y, count * sizeof *y), *dy = put(&r, zero, count * sizeof *y);
    void *losses = put(&r, zero, sizeof ones), *dlosses = put(&r, ones, sizeof ones);
    void *target =
        softmax ? put(&r, classes, sizeof classes) : put(&r, targets, count * sizeof *targets);
    dm_kernel_array rows = {.data = target, .shape = {ROWS, softmax ? 0 : columns}};
    assert_ok(dm_kernel_args_array(
        p.args, "y", &(dm_kernel_array){.data = py, .grad = dy, .shape = {ROWS, columns}}, err));
    assert_ok(dm_kernel_args_array(p.args, "target", &rows, err));
    assert_ok(dm_kernel_args_array(
        p.args, "losses", &(dm_kernel_array){.data = losses, .grad = dlosses, .shape = {ROWS}},
        err));
    if (softmax)
        assert_ok(dm_kernel_args_number(p.args, "classes", CLASSES, err));
    run_text(device, &p, ROWS);
    take(&r, losses, want[0], ROWS);
    take(&r, dy, want[1], count);

    if (softmax) {
        dm_nn_softmax_loss op = {ROWS, CLASSES, (uint32_t)columns, 1};
        assert_ok(exec->ops->softmax_loss(exec, &op, py, target, losses, err));
    } else {
        dm_nn_value_loss op = {ROWS, (uint32_t)columns, 1};
        assert_ok((strcmp(name, "square") == 0 ? exec->ops->square_loss : exec->ops->sigmoid_loss)(
            exec, &op, py, target, losses, err));
    }
    take(&r, losses, got[0], ROWS);
    take(&r, py, got[1], count);
    expect_near(exec, name, "losses", got[0], want[0], ROWS);
    expect_near(exec, name, "gradient", got[1], want[1], count);
    leave(&r);
}

void text_case_losses(dm_device *device, dm_nn_exec *exec)
{
    loss_case(device, exec, "square", 19);
    loss_case(device, exec, "sigmoid", 19);
    loss_case(device, exec, "softmax", CLASSES);
    loss_case(device, exec, "softmax", PITCH);
}

/* ---- Optimisers ---- */

static void step_text(dm_device *device, const char *name, const dm_nn_adam *o, void *const p[5],
                      void *control)
{
    static const char *const arrays[] = {"w", "g", "m", "v"};
    const struct {
        const char *name;
        float value;
    } numbers[] = {{"rate", o->rate},        {"beta1", o->beta1}, {"beta2", o->beta2},
                   {"epsilon", o->epsilon},  {"decay", o->decay}, {"correct1", o->correct1},
                   {"correct2", o->correct2}};
    int count = NUMBERS;
    dm_kernel_array two = {.data = control, .shape = {2}};
    program step = compile(device, "kernels/nn/optimisers.py", name, false);
    for (int i = 0; i < 4; i++)
        assert_ok(dm_kernel_args_array(step.args, arrays[i],
                                       &(dm_kernel_array){.data = p[i], .shape = {NUMBERS}}, err));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_ok(dm_kernel_args_number(step.args, numbers[i].name, (double)numbers[i].value, err));
    assert_ok(dm_kernel_args_array(step.args, "control", &two, err));
    assert_ok(dm_kernel_launch(step.program, dm_device_stream(device), DM_KERNEL_FORWARD, &count, 1,
                               step.args, err));
    program mean = compile(device, "kernels/nn/optimisers.py", "average", false);
    assert_ok(dm_kernel_args_array(mean.args, "mean",
                                   &(dm_kernel_array){.data = p[4], .shape = {NUMBERS}}, err));
    assert_ok(dm_kernel_args_array(mean.args, "w",
                                   &(dm_kernel_array){.data = p[0], .shape = {NUMBERS}}, err));
    assert_ok(dm_kernel_args_array(mean.args, "control", &two, err));
    assert_ok(dm_kernel_args_number(mean.args, "keep", (double)o->keep, err));
    assert_ok(dm_kernel_launch(mean.program, dm_device_stream(device), DM_KERNEL_FORWARD, &count, 1,
                               mean.args, err));
    leave_program(&step);
    leave_program(&mean);
}

static bool same_bits(const void *a, const void *b)
{
    return memcmp(a, b, NUMBERS * sizeof(float)) == 0;
}

void text_case_adam(dm_device *device, dm_nn_exec *exec)
{
    assert_non_null(exec->ops->adam);
    for (int shrinks = 0; shrinks < 2; shrinks++) {
        float start[5][NUMBERS], want[NUMBERS], got[NUMBERS];
        void *text[5], *hand[5];
        room r = {.device = device};
        for (int i = 0; i < 5; i++) { /* second moments are not negative */
            random_floats(start[i], NUMBERS, 10 + (uint64_t)i, i == 3 ? 0 : -1, 1);
            text[i] = put(&r, start[i], sizeof start[i]);
            hand[i] = put(&r, start[i], sizeof start[i]);
        }
        void *control = put(&r, (float[]){0.7f, 1}, 2 * sizeof(float));
        for (int step = 1; step <= 2; step++) {
            dm_nn_adam o = {.scale = 0.7f,
                            .rate = 0.01f,
                            .beta1 = 0.9f,
                            .beta2 = 0.999f,
                            .epsilon = 1e-8f,
                            .decay = 0.1f,
                            .correct1 = step == 1 ? 0.1f : 0.19f,
                            .correct2 = step == 1 ? 0.001f : 0.001999f,
                            .keep = 0.99f,
                            .shrinks = shrinks == 1};
            step_text(device, shrinks ? "adamw" : "adam", &o, text, control);
            exec->ops->adam(&o, NUMBERS, hand[0], hand[1], hand[2], hand[3], hand[4]);
        }
        for (int i = 0; i < 5; i++) {
            take(&r, text[i], want, NUMBERS);
            take(&r, hand[i], got, NUMBERS);
            if (!same_bits(want, got))
                fail_msg("%s: %s: other bits than the text's in array %d", exec->ops->name,
                         shrinks ? "adamw" : "adam", i);
            assert_true(i == 1 || !same_bits(want, start[i]));
        }
        leave(&r);
    }
}
