/* SPDX-License-Identifier: MIT */
/* bptt.c - see bptt.h. Everything is queued on one stream; the kernels are those of
 * kernel_bptt.h, the products those of kernel_product.h. */
#include "dynamics/device/bptt.h"

#include "dynamics/device/kernel_bptt.h"
#include "dynamics/device/kernel_product.h"

#include <string.h>

#define BLOCK_THREADS 128
#define ROWS_MAX 0x80000000u /* members times steps times sequences */

/* ---- Kernels ---- */

#define KERNEL(name, type)                                                                         \
    {                                                                                              \
        "dm_bptt_" #name, dm_bptt_##name, sizeof(type)                                             \
    }

static const dm_builtin_kernel builtins[DM_BPTT_KERNELS] = {
    [DM_BPTT_START] = KERNEL(start, dm_bptt_args),
    [DM_BPTT_INPUTS] = KERNEL(inputs, dm_bptt_args),
    [DM_BPTT_GATES] = KERNEL(gates, dm_bptt_args),
    [DM_BPTT_CANDIDATE] = KERNEL(candidate, dm_bptt_args),
    [DM_BPTT_HEAD] = KERNEL(head, dm_bptt_args),
    [DM_BPTT_OBJECTIVE] = KERNEL(objective, dm_bptt_args),
    [DM_BPTT_HEAD_BACKWARD] = KERNEL(head_backward, dm_bptt_args),
    [DM_BPTT_GATES_BACKWARD] = KERNEL(gates_backward, dm_bptt_args),
    [DM_BPTT_RESET_BACKWARD] = KERNEL(reset_backward, dm_bptt_args),
    [DM_BPTT_FEEDBACK] = KERNEL(feedback, dm_bptt_args),
    [DM_BPTT_SUMS] = KERNEL(sums, dm_bptt_args),
    [DM_BPTT_SQUARES] = KERNEL(squares, dm_update_args),
    [DM_BPTT_CLIP] = KERNEL(clip, dm_update_args),
    [DM_BPTT_UPDATE] = KERNEL(update, dm_update_args),
};
static const dm_builtin_kernel product_builtins[] = {KERNEL(product, dm_product_args),
                                                     KERNEL(product_few, dm_product_args)};

static dm_status load_kernels(dm_bptt *b, dm_error *err)
{
    dm_module_desc desc = {.name = "dynamics/device/kernel_bptt.h",
                           .builtins = builtins,
                           .builtin_count = DM_BPTT_KERNELS};
    dm_module_desc product = {.name = "dynamics/device/kernel_product.h",
                              .builtins = product_builtins,
                              .builtin_count = 2};
    dm_status status = dm_module_create(b->device, &desc, &b->module, err);
    if (status == DM_OK)
        status = dm_module_create(b->device, &product, &b->product_module, err);
    for (int i = 0; i < DM_BPTT_KERNELS && status == DM_OK; i++)
        status = dm_module_function(b->module, builtins[i].name, &b->functions[i], err);
    if (status == DM_OK)
        status = dm_module_function(b->product_module, product_builtins[0].name, &b->product, err);
    if (status == DM_OK)
        status =
            dm_module_function(b->product_module, product_builtins[1].name, &b->product_few, err);
    return status;
}

dm_status dm_bptt_launch(dm_bptt *b, dm_bptt_kernel kernel, uint64_t items, const void *args,
                         size_t args_size, dm_error *err)
{
    return dm_function_launch(b->functions[kernel], b->stream, dm_grid_for(items, BLOCK_THREADS),
                              args, args_size, err);
}

dm_status dm_bptt_multiply(dm_bptt *b, const dm_product_args *p, bool few, dm_error *err)
{
    if (few) {
        uint64_t items = p->members * p->N * (p->b_k == 1 ? 32 : 1);
        return dm_function_launch(b->product_few, b->stream, dm_grid_for(items, BLOCK_THREADS), p,
                                  sizeof *p, err);
    }
    uint64_t rows = (p->M + DM_PRODUCT_TILE - 1) / DM_PRODUCT_TILE,
             columns = (p->N + DM_PRODUCT_TILE - 1) / DM_PRODUCT_TILE;
    dm_grid grid =
        dm_grid_for(p->members * rows * columns * DM_PRODUCT_THREADS, DM_PRODUCT_THREADS);
    return dm_function_launch(b->product, b->stream, grid, p, sizeof *p, err);
}

/* ---- Memory ---- */

dm_status dm_bptt_init(dm_bptt *b, dm_device *device, const dm_dynamics *model, dm_error *err)
{
    size_t size = model->config.members * model->layout.stride * sizeof(float);
    *b = (dm_bptt){.device = device, .stream = dm_device_stream(device), .model = model};
    dm_status status = load_kernels(b, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, size, &b->weights, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, size, &b->grad, err);
    if (status == DM_OK) /* what lies between two members stays 0 */
        status = dm_stream_fill(b->stream, b->grad, 0, 0, size, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, 2 * model->config.input * sizeof(float),
                                         &b->scaling, err);
    if (status == DM_OK)
        status = dm_bptt_upload(b, err);
    if (status != DM_OK)
        dm_bptt_deinit(b);
    return status;
}

void dm_bptt_deinit(dm_bptt *b)
{
    if (b->stream != NULL)
        dm_stream_synchronize(b->stream, NULL);
    dm_module_destroy(b->module);
    dm_module_destroy(b->product_module);
    dm_device_buffer_destroy(b->weights);
    dm_device_buffer_destroy(b->grad);
    dm_device_buffer_destroy(b->scaling);
    dm_device_buffer_destroy(b->input);
    dm_device_buffer_destroy(b->tape);
    *b = (dm_bptt){0};
}

dm_status dm_bptt_upload(dm_bptt *b, dm_error *err)
{
    const dm_dynamics *m = b->model;
    size_t half = m->config.input * sizeof(float);
    dm_status status = dm_stream_upload(b->stream, b->weights, 0, m->weights,
                                        m->config.members * m->layout.stride * sizeof(float), err);
    if (status == DM_OK)
        status = dm_stream_upload(b->stream, b->scaling, 0, m->shift, half, err);
    if (status == DM_OK)
        status = dm_stream_upload(b->stream, b->scaling, half, m->scale, half, err);
    return status != DM_OK ? status : dm_stream_synchronize(b->stream, err);
}

static dm_status reserve(dm_bptt *b, dm_device_buffer **buffer, size_t size, dm_error *err)
{
    if (*buffer != NULL && dm_device_buffer_size(*buffer) >= size)
        return DM_OK;
    dm_status status = dm_stream_synchronize(b->stream, err);
    if (status != DM_OK)
        return status;
    dm_device_buffer_destroy(*buffer);
    *buffer = NULL;
    return dm_device_buffer_create(b->device, size, buffer, err);
}

/* The arrays of the tape one after the other; gives the bytes that they need. */
static size_t place_arrays(dm_bptt_args *a, char *memory)
{
    size_t E = a->members, R = a->sequences, T = a->steps, rows = E * T * R;
    size_t I = a->input, H = a->hidden, S = a->stochastic, at = 0;
    const struct {
        float **pointer;
        size_t count;
    } arrays[] = {{&a->h, E * (T + 1) * R * H},
                  {&a->inputs, rows * I},
                  {&a->gates, rows * 3 * H},
                  {&a->q, rows * H},
                  {&a->s, rows * S},
                  {&a->u, rows},
                  {&a->loss, rows},
                  {&a->dloss, rows},
                  {&a->a, rows * 3 * H},
                  {&a->work, rows * H},
                  {&a->du, rows},
                  {&a->ds, rows * S},
                  {&a->fed_back, E * R},
                  {&a->dout, E * R * H},
                  {&a->dh, E * R * H}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if (memory != NULL)
            *arrays[i].pointer = (float *)(void *)(memory + at);
        at += (arrays[i].count * sizeof(float) + 255) / 256 * 256;
    }
    if (memory != NULL)
        a->objective = (double *)(void *)(memory + at);
    return at + E * R * sizeof(double);
}

static dm_status set_up(dm_bptt *b, uint32_t sequences, uint32_t forced, uint32_t steps,
                        dm_error *err)
{
    const dm_dynamics_config *c = &b->model->config;
    const size_t *at = b->model->layout.offset;
    double rows = (double)c->members * sequences * ((double)steps + 1);
    if (sequences < 1 || forced < 1 || forced > steps || rows > ROWS_MAX)
        return dm_fail(err, DM_EINVAL, "trainer: %u sequences of %u steps, %u with given features",
                       sequences, steps, forced);
    const float *scaling = dm_device_buffer_address(b->scaling);
    b->args = (dm_bptt_args){.members = c->members,
                             .sequences = sequences,
                             .steps = steps,
                             .forced = forced,
                             .input = c->input,
                             .hidden = c->hidden,
                             .stochastic = c->stochastic,
                             .reset_last = c->kind == DM_DYNAMICS_GRU_RESET_LAST,
                             .projection = c->projection,
                             .stride = b->model->layout.stride,
                             .at_w = at[DM_DYNAMICS_W],
                             .at_b = at[DM_DYNAMICS_B],
                             .at_c = at[DM_DYNAMICS_C],
                             .at_head = at[DM_DYNAMICS_HEAD],
                             .weights = dm_device_buffer_address(b->weights),
                             .grad = dm_device_buffer_address(b->grad),
                             .shift = scaling,
                             .scale = scaling + c->input};
    size_t given = (size_t)sequences * forced * c->input;
    b->input_h0 = given;
    b->input_targets = given + (size_t)sequences * c->members * c->hidden;
    dm_status status =
        reserve(b, &b->input, (b->input_targets + (size_t)sequences * steps) * sizeof(float), err);
    if (status == DM_OK)
        status = reserve(b, &b->tape, place_arrays(&b->args, NULL), err);
    if (status != DM_OK)
        return status;
    place_arrays(&b->args, dm_device_buffer_address(b->tape));
    b->args.features = dm_device_buffer_address(b->input);
    b->args.targets = b->args.features + b->input_targets;
    return DM_OK;
}

static size_t offset_in(const dm_device_buffer *buffer, const void *address)
{
    return (size_t)((const char *)address - (const char *)dm_device_buffer_address(buffer));
}

dm_status dm_bptt_read(dm_bptt *b, const void *from, void *to, size_t size, dm_error *err)
{
    const char *grad = dm_device_buffer_address(b->grad);
    bool in_grad =
        (const char *)from >= grad && (const char *)from < grad + dm_device_buffer_size(b->grad);
    const dm_device_buffer *buffer = in_grad ? b->grad : b->tape;
    dm_status status =
        dm_stream_download(b->stream, buffer, offset_in(buffer, from), to, size, err);
    return status != DM_OK ? status : dm_stream_synchronize(b->stream, err);
}

dm_status dm_bptt_write(dm_bptt *b, void *to, const void *from, size_t size, dm_error *err)
{
    dm_status status =
        dm_stream_upload(b->stream, b->tape, offset_in(b->tape, to), from, size, err);
    return status != DM_OK ? status : dm_stream_synchronize(b->stream, err);
}

/* ---- Products ----
 * Rows of the tape are those of one step, or of `count` steps from t on. */

/* A member's part of the weights as the right side: element (k, n). */
typedef struct factor {
    dm_dynamics_part part;
    size_t offset; /* in the part */
    size_t n_stride, k_stride;
} factor;

/* c[row][n] (+)= sum over k of rows[row][k] * weights; `width` is a row's length. */
static dm_status rows_times_weights(dm_bptt *b, const float *rows, size_t rows_member, size_t width,
                                    size_t count, factor f, size_t K, size_t N, float *c,
                                    size_t c_member, size_t c_width, bool accumulate, dm_error *err)
{
    dm_product_args p = {.members = b->args.members,
                         .accumulate = accumulate,
                         .M = count,
                         .N = N,
                         .K = K,
                         .a = rows,
                         .a_member = rows_member,
                         .a_m = width,
                         .a_k = 1,
                         .b = b->args.weights + b->model->layout.offset[f.part] + f.offset,
                         .b_member = b->args.stride,
                         .b_k = f.k_stride,
                         .b_n = f.n_stride,
                         .c = c,
                         .c_member = c_member,
                         .c_m = c_width};
    return dm_bptt_multiply(b, &p, p.M <= DM_PRODUCT_FEW, err);
}

/* grad[m][n] = sum over all rows of left[row][m] * right[row][n]. */
static dm_status gradient_of(dm_bptt *b, const float *left, size_t left_member, size_t left_width,
                             size_t M, const float *right, size_t right_member, size_t N,
                             dm_dynamics_part part, size_t offset, dm_error *err)
{
    dm_product_args p = {.members = b->args.members,
                         .M = M,
                         .N = N,
                         .K = (uint64_t)b->args.steps * b->args.sequences,
                         .a = left,
                         .a_member = left_member,
                         .a_m = 1,
                         .a_k = left_width,
                         .b = right,
                         .b_member = right_member,
                         .b_k = N,
                         .b_n = 1,
                         .c = b->args.grad + b->model->layout.offset[part] + offset,
                         .c_member = b->args.stride,
                         .c_m = N};
    return dm_bptt_multiply(b, &p, p.M <= DM_PRODUCT_FEW, err);
}

/* ---- Forward ---- */

/* Inputs and W x of `count` steps from t on. */
static dm_status enter(dm_bptt *b, uint32_t t, uint32_t count, dm_error *err)
{
    dm_bptt_args *a = &b->args;
    size_t R = a->sequences, I = a->input, H = a->hidden, T = a->steps;
    a->t = t;
    a->step_count = count;
    dm_status status =
        dm_bptt_launch(b, DM_BPTT_INPUTS, (uint64_t)a->members * count * R * I, a, sizeof *a, err);
    return status != DM_OK
               ? status
               : rows_times_weights(b, a->inputs + t * R * I, T * R * I, I, count * R,
                                    (factor){DM_DYNAMICS_W, 0, I, 1}, I, 3 * H,
                                    a->gates + t * R * 3 * H, T * R * 3 * H, 3 * H, false, err);
}

static dm_status step_forward(dm_bptt *b, uint32_t t, dm_error *err)
{
    dm_bptt_args *a = &b->args;
    size_t R = a->sequences, H = a->hidden, S = a->stochastic, T = a->steps;
    uint64_t cells = (uint64_t)a->members * R;
    const float *h = a->h + t * R * H;
    float *gates = a->gates + t * R * 3 * H, *q = a->q + t * R * H;
    dm_status status = t >= a->forced ? enter(b, t, 1, err) : DM_OK;
    a->t = t;
    if (status == DM_OK) /* Uz h, Ur h */
        status = rows_times_weights(b, h, (T + 1) * R * H, H, R, (factor){DM_DYNAMICS_U, 0, H, 1},
                                    H, 2 * H, gates, T * R * 3 * H, 3 * H, true, err);
    if (status == DM_OK)
        status = dm_bptt_launch(b, DM_BPTT_GATES, cells * H, a, sizeof *a, err);
    factor Un = {DM_DYNAMICS_U, 2 * H * H, H, 1};
    if (status == DM_OK && a->reset_last)
        status =
            rows_times_weights(b, h, (T + 1) * R * H, H, R, Un, H, H, q, T * R * H, H, false, err);
    else if (status == DM_OK)
        status = rows_times_weights(b, q, T * R * H, H, R, Un, H, H, gates + 2 * H, T * R * 3 * H,
                                    3 * H, true, err);
    if (status == DM_OK)
        status = dm_bptt_launch(b, DM_BPTT_CANDIDATE, cells * H, a, sizeof *a, err);
    if (status == DM_OK && a->projection)
        status = rows_times_weights(b, h + R * H, (T + 1) * R * H, H, R,
                                    (factor){DM_DYNAMICS_PROJECTION, 0, H, 1}, H, S,
                                    a->s + t * R * S, T * R * S, S, false, err);
    return status != DM_OK ? status
                           : dm_bptt_launch(b, DM_BPTT_HEAD, cells * 32, a, sizeof *a, err);
}

dm_status dm_bptt_forward(dm_bptt *b, uint32_t sequences, uint32_t forced, uint32_t steps,
                          const float *features, const float *hidden, dm_error *err)
{
    dm_status status = set_up(b, sequences, forced, steps, err);
    if (status != DM_OK)
        return status;
    dm_bptt_args *a = &b->args;
    uint64_t states = (uint64_t)a->members * sequences * a->hidden;
    status = dm_stream_upload(b->stream, b->input, 0, features, b->input_h0 * sizeof(float), err);
    if (status == DM_OK && hidden != NULL) {
        a->h0 = a->features + b->input_h0;
        status = dm_stream_upload(b->stream, b->input, b->input_h0 * sizeof(float), hidden,
                                  states * sizeof(float), err);
    }
    if (status == DM_OK)
        status = dm_bptt_launch(b, DM_BPTT_START, states, a, sizeof *a, err);
    if (status == DM_OK)
        status = enter(b, 0, forced, err);
    for (uint32_t t = 0; t < steps && status == DM_OK; t++)
        status = step_forward(b, t, err);
    return status;
}

/* ---- Backward ---- */

static dm_status step_backward(dm_bptt *b, uint32_t t, dm_error *err)
{
    dm_bptt_args *a = &b->args;
    size_t R = a->sequences, H = a->hidden, S = a->stochastic, T = a->steps;
    uint64_t cells = (uint64_t)a->members * R;
    const float *da = a->a + t * R * 3 * H;
    float *work = a->work + t * R * H;
    a->t = t;
    dm_status status = dm_bptt_launch(b, DM_BPTT_HEAD_BACKWARD, cells * 32, a, sizeof *a, err);
    if (status == DM_OK && a->projection)
        status = rows_times_weights(b, a->ds + t * R * S, T * R * S, S, R,
                                    (factor){DM_DYNAMICS_PROJECTION, 0, 1, H}, S, H, a->dout, R * H,
                                    H, true, err);
    if (status == DM_OK)
        status = dm_bptt_launch(b, DM_BPTT_GATES_BACKWARD, cells * H, a, sizeof *a, err);
    factor Un = {DM_DYNAMICS_U, 2 * H * H, 1, H};
    if (status == DM_OK && a->reset_last)
        status = rows_times_weights(b, work, T * R * H, H, R, Un, H, H, a->dh, R * H, H, true, err);
    else if (status == DM_OK)
        status = rows_times_weights(b, da + 2 * H, T * R * 3 * H, 3 * H, R, Un, H, H, work,
                                    T * R * H, H, false, err);
    if (status == DM_OK && !a->reset_last)
        status = dm_bptt_launch(b, DM_BPTT_RESET_BACKWARD, cells * H, a, sizeof *a, err);
    if (status == DM_OK)
        status =
            rows_times_weights(b, da, T * R * 3 * H, 3 * H, R, (factor){DM_DYNAMICS_U, 0, 1, H},
                               2 * H, H, a->dh, R * H, H, true, err);
    if (status == DM_OK)
        status = dm_bptt_launch(b, DM_BPTT_FEEDBACK, cells * 32, a, sizeof *a, err);
    float *swap = a->dout; /* of the step before, it is the gradient after */
    a->dout = a->dh;
    a->dh = swap;
    return status;
}

/* Sums over all steps and sequences. */
static dm_status gradients(dm_bptt *b, dm_error *err)
{
    dm_bptt_args *a = &b->args;
    size_t R = a->sequences, I = a->input, H = a->hidden, S = a->stochastic, T = a->steps;
    size_t rows = T * R, before = (T + 1) * R * H;
    dm_status status = gradient_of(b, a->a, rows * 3 * H, 3 * H, 3 * H, a->inputs, rows * I, I,
                                   DM_DYNAMICS_W, 0, err);
    if (status == DM_OK)
        status = gradient_of(b, a->a, rows * 3 * H, 3 * H, 2 * H, a->h, before, H, DM_DYNAMICS_U, 0,
                             err);
    if (status == DM_OK && a->reset_last)
        status =
            gradient_of(b, a->work, rows * H, H, H, a->h, before, H, DM_DYNAMICS_U, 2 * H * H, err);
    else if (status == DM_OK)
        status = gradient_of(b, a->a + 2 * H, rows * 3 * H, 3 * H, H, a->q, rows * H, H,
                             DM_DYNAMICS_U, 2 * H * H, err);
    if (status == DM_OK && a->projection)
        status = gradient_of(b, a->ds, rows * S, S, S, a->h + R * H, before, H,
                             DM_DYNAMICS_PROJECTION, 0, err);
    size_t width = 3 * H + (a->reset_last ? H : 0) + H + S;
    return status != DM_OK ? status
                           : dm_bptt_launch(b, DM_BPTT_SUMS, a->members * width, a, sizeof *a, err);
}

dm_status dm_bptt_backward(dm_bptt *b, const float *dh_last, dm_error *err)
{
    dm_bptt_args *a = &b->args;
    size_t cells = (size_t)a->members * a->sequences, states = cells * a->hidden * sizeof(float);
    dm_status status = dm_stream_fill(b->stream, b->tape, offset_in(b->tape, a->fed_back), 0,
                                      cells * sizeof(float), err);
    if (status == DM_OK)
        status = dh_last != NULL ? dm_bptt_write(b, a->dout, dh_last, states, err)
                                 : dm_stream_fill(b->stream, b->tape, offset_in(b->tape, a->dout),
                                                  0, states, err);
    for (uint32_t t = a->steps; t-- > 0 && status == DM_OK;)
        status = step_backward(b, t, err);
    return status != DM_OK ? status : gradients(b, err);
}
