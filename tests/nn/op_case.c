/* SPDX-License-Identifier: MIT */
/* op_case.c - running a case and comparing what it gives; op_list.c has the cases. */
#include "tests/nn/op_case.h"

#include "base/philox.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(uint64_t seed, int array, size_t i)
{
    return dm_random4(seed, (uint64_t)array, i).v[0] / 4294967296.0;
}

static bool is_integer(op_role role)
{
    return role == ROLE_INDEX || role == ROLE_FLAG || role == ROLE_BYTES;
}

static size_t element_size(const op_array *a, dm_nn_type type)
{
    if (a->role == ROLE_INDEX)
        return 4;
    if (a->role == ROLE_FLAG || a->role == ROLE_BYTES)
        return 1;
    return type == DM_NN_F64 ? 8 : type == DM_NN_BF16 && !a->stays_float ? 2 : 4;
}

static uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float out;
    memcpy(&out, &bits, 4);
    return out;
}

/* What an array holds before the run. Inputs are rounded to what bfloat16 can hold, so that all
 * types begin with the same numbers. */
static double before(const op_case *c, const op_run *run, int k, size_t i)
{
    const op_array *a = &c->arrays[k];
    double u = uniform(run->seed, k, i);
    switch (a->role) {
    case ROLE_INDEX:
        return floor(u * (a->of + c->with_none)) - c->with_none;
    case ROLE_FLAG:
        return u < 0.2;
    case ROLE_CONSTANT:
        return from_bf16(to_bf16((float)u));
    case ROLE_INPUT:
    case ROLE_GRAD_ADD:
    case ROLE_SEED:
        break;
    default:
        return a->role == ROLE_BYTES ? 255 : NAN;
    }
    double x = c->in_place && a->role == ROLE_SEED ? 1 : from_bf16(to_bf16((float)(2 * u - 1)));
    return x + (k == run->changed && i == run->at ? run->by : 0);
}

static void put(void *to, const op_array *a, dm_nn_type type, size_t i, double x)
{
    if (a->role == ROLE_INDEX)
        ((int32_t *)to)[i] = (int32_t)x;
    else if (is_integer(a->role))
        ((uint8_t *)to)[i] = (uint8_t)x;
    else if (type == DM_NN_F64)
        ((double *)to)[i] = x;
    else if (element_size(a, type) == 2)
        ((uint16_t *)to)[i] = to_bf16((float)x);
    else
        ((float *)to)[i] = (float)x;
}

static double get(const void *from, const op_array *a, dm_nn_type type, size_t i)
{
    if (a->role == ROLE_INDEX)
        return ((const int32_t *)from)[i];
    if (is_integer(a->role))
        return ((const uint8_t *)from)[i];
    if (type == DM_NN_F64)
        return ((const double *)from)[i];
    return element_size(a, type) == 2 ? from_bf16(((const uint16_t *)from)[i])
                                      : ((const float *)from)[i];
}

void op_case_run(const op_case *c, const op_run *run, op_result *out)
{
    dm_nn_type type = run->exec->type;
    dm_device_buffer *buffers[OP_ARRAYS + 1] = {NULL};
    void *host[OP_ARRAYS] = {NULL}, *p[OP_ARRAYS] = {NULL};
    dm_stream *stream = run->exec->stream;
    for (int k = 0; k < c->count; k++) {
        const op_array *a = &c->arrays[k];
        if (a->role == ROLE_ABSENT)
            continue;
        size_t size = a->count * element_size(a, type);
        host[k] = malloc(size);
        for (size_t i = 0; i < a->count; i++)
            put(host[k], a, type, i, before(c, run, k, i));
        p[k] = host[k];
        if (run->device) {
            assert_ok(dm_device_buffer_create(run->device, size, &buffers[k], err));
            assert_ok(dm_stream_upload(stream, buffers[k], 0, host[k], size, err));
            p[k] = dm_device_buffer_address(buffers[k]);
        }
    }
    dm_nn_exec exec = *run->exec;
    exec.scratch_size = c->scratch ? c->scratch(&exec, c) : 0;
    void *scratch = NULL;
    if (exec.scratch_size > 0 && run->device) {
        assert_ok(
            dm_device_buffer_create(run->device, exec.scratch_size, &buffers[OP_ARRAYS], err));
        exec.scratch = dm_device_buffer_address(buffers[OP_ARRAYS]);
    } else if (exec.scratch_size > 0) {
        exec.scratch_size = (exec.scratch_size + 255) / 256 * 256;
        exec.scratch = scratch = aligned_alloc(256, exec.scratch_size);
        memset(scratch, 0xFF, exec.scratch_size);
    }
    assert_ok(c->forward(&exec, c, p, err));
    if (run->backward)
        assert_ok(c->backward(&exec, c, p, err));
    for (int k = 0; k < c->count; k++) {
        const op_array *a = &c->arrays[k];
        out->value[k] = NULL;
        if (a->role == ROLE_ABSENT)
            continue;
        if (run->device) {
            size_t size = a->count * element_size(a, type);
            assert_ok(dm_stream_download(stream, buffers[k], 0, host[k], size, err));
            assert_ok(dm_stream_synchronize(stream, err));
        }
        out->value[k] = malloc(a->count * sizeof(double));
        for (size_t i = 0; i < a->count; i++)
            out->value[k][i] = get(host[k], a, type, i);
        free(host[k]);
    }
    for (int k = 0; k <= OP_ARRAYS; k++)
        dm_device_buffer_destroy(buffers[k]);
    free(scratch);
}

void op_result_free(op_result *result)
{
    for (int k = 0; k < OP_ARRAYS; k++)
        free(result->value[k]);
    *result = (op_result){{NULL}};
}

static int find_role(const op_case *c, op_role role)
{
    for (int k = 0; k < c->count; k++)
        if (c->arrays[k].role == role)
            return k;
    return -1;
}

double op_result_loss(const op_case *c, const op_result *result, uint64_t seed)
{
    int output = find_role(c, ROLE_OUTPUT), weights = find_role(c, ROLE_SEED);
    op_run run = {.seed = seed, .changed = -1};
    double sum = 0;
    for (size_t i = 0; i < c->arrays[output].count; i++)
        sum += result->value[output][i] * (weights < 0 ? 1 : before(c, &run, weights, i));
    return sum;
}

op_distance op_case_distance(const op_case *c, dm_nn_exec *exec, dm_device *device, uint64_t seed)
{
    op_result want = {{NULL}}, got = {{NULL}};
    dm_nn_exec plain = {.ops = &dm_nn_plain_f64, .type = DM_NN_F64};
    op_run run = {.exec = &plain, .seed = seed, .backward = true, .changed = -1};
    op_case_run(c, &run, &want);
    run.exec = exec;
    run.device = device;
    op_case_run(c, &run, &got);
    op_distance worst = {-1, -1};
    for (int k = 0; k < c->count; k++) {
        const op_array *a = &c->arrays[k];
        bool written = a->role == ROLE_OUTPUT || a->role == ROLE_SAVED || a->role == ROLE_BYTES ||
                       a->role == ROLE_GRAD || a->role == ROLE_GRAD_ADD || (c->in_place && k == 0);
        if (!written)
            continue;
        double off = 0, norm = 0;
        for (size_t i = 0; i < a->count; i++) {
            off += (got.value[k][i] - want.value[k][i]) * (got.value[k][i] - want.value[k][i]);
            norm += want.value[k][i] * want.value[k][i];
        }
        double distance = sqrt(off) / (sqrt(norm) + 0.02 * sqrt((double)a->count));
        if (!(distance <= worst.distance)) /* also when it is no number */
            worst = (op_distance){k, isnan(distance) ? INFINITY : distance};
    }
    assert_true(worst.array >= 0);
    op_result_free(&want);
    op_result_free(&got);
    return worst;
}

static double bf16_limit(const op_case *c)
{
    return 5 * ldexp(1, -8) * sqrt(c->steps > 0 ? c->steps : 1);
}

bool op_case_is_right(const op_case *c, dm_nn_exec *exec, dm_device *device, uint64_t seed,
                      double *worst)
{
    const op_distance d = op_case_distance(c, exec, device, seed);
    const double limit = exec->type == DM_NN_BF16 ? bf16_limit(c) : 1e-5;
    if (worst != NULL && d.distance > *worst)
        *worst = d.distance;
    if (d.distance <= limit)
        return true;
    print_message("%s, seed %d: array %d is off by %g, limit %g\n", c->name, (int)seed, d.array,
                  d.distance, limit);
    return false;
}

void op_case_compare(const op_case *c, dm_nn_exec *exec, dm_device *device, uint64_t seed,
                     double tolerance)
{
    op_distance worst = op_case_distance(c, exec, device, seed);
    if (worst.distance > tolerance)
        fail_msg("%s: %s, array %d: off by %g", exec->ops->name, c->name, worst.array,
                 worst.distance);
}
