/* SPDX-License-Identifier: MIT */
/* dotmatrix_puffer.h - a swarm behind the hooks of PufferLib 5's environments on a GPU (CUDA C++).
 *
 * PufferLib owns the arrays: observations, actions (floats), rewards, terminals (floats). The swarm
 * writes observations and rewards straight into them; two kernels of a few lines turn actions into
 * bytes and the two flags into terminals. Everything is queued on PufferLib's stream and can be
 * captured in its graph. dotmatrix.cu has the hooks themselves.
 *
 *   nvcc ... -I<prefix>/include dotmatrix.cu -L<prefix>/lib -ldotmatrix */
#ifndef DOTMATRIX_PUFFER_H
#define DOTMATRIX_PUFFER_H

#include <dotmatrix/swarm.h>

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct dm_puffer {
    dm_device *device;
    dm_swarm *swarm;
    dm_stream *stream;
    dm_device_buffer *observations, *rewards, *bytes; /* `bytes`: actions as the swarm takes them */
    const float *actions;
    float *terminals;
    const unsigned char *keys; /* on the device: the byte of each action; NULL: the number itself */
    int count;
} dm_puffer;

static inline void dm_puffer_check(dm_status status, const dm_error *err)
{
    if (status == DM_OK)
        return;
    fprintf(stderr, "dotmatrix: %s\n", err->message);
    exit(1);
}

__global__ static void dm_puffer_take_actions(const float *from, const unsigned char *keys,
                                              unsigned char *to, int count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        to[i] = keys != NULL ? keys[(int)from[i]] : (unsigned char)from[i];
}

__global__ static void dm_puffer_give_ends(const unsigned char *terminated,
                                           const unsigned char *truncated, float *to, int count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        to[i] = terminated[i] | truncated[i] ? 1.0f : 0.0f;
}

/* `desc` says everything but the count, the autoreset and the arrays; `kind` is the one observation
 * (DM_SWARM_PACKEDS, DM_SWARM_VECTORS ...), whose elements PufferLib's obs_t must be. */
static inline void dm_puffer_create(dm_puffer *p, int device_index, dm_swarm_desc desc,
                                    dm_swarm_output_kind kind, int count, void *observations,
                                    const float *actions, float *rewards, float *terminals)
{
    dm_error err;
    char id[16];
    *p = dm_puffer();
    p->count = count;
    p->actions = actions;
    p->terminals = terminals;
    desc.count = (uint64_t)count;
    desc.autoreset = DM_SWARM_SAME_STEP;
    desc.observations = 1u << (kind - DM_SWARM_VECTORS);
    snprintf(id, sizeof id, "cuda:%d", device_index);
    dm_puffer_check(dm_device_open(id, &p->device, &err), &err);
    dm_puffer_check(dm_swarm_create(p->device, &desc, &p->swarm, &err), &err);
    const size_t size = dm_swarm_output_size(p->swarm, kind) * (size_t)count;
    dm_puffer_check(dm_device_buffer_import(p->device, observations, size, &p->observations, &err),
                    &err);
    dm_puffer_check(dm_device_buffer_import(p->device, rewards, sizeof(float) * (size_t)count,
                                            &p->rewards, &err),
                    &err);
    dm_puffer_check(dm_device_buffer_create(p->device, (size_t)count, &p->bytes, &err), &err);
    dm_puffer_check(dm_swarm_bind(p->swarm, kind, p->observations, &err), &err);
    dm_puffer_check(dm_swarm_bind(p->swarm, DM_SWARM_REWARDS, p->rewards, &err), &err);
}

/* PufferLib's stream, before anything is captured. */
static inline void dm_puffer_bind_stream(dm_puffer *p, cudaStream_t stream)
{
    dm_error err;
    dm_stream *theirs = NULL;
    dm_puffer_check(dm_stream_synchronize(dm_swarm_stream(p->swarm), &err), &err);
    dm_puffer_check(dm_stream_import(p->device, (void *)stream, &theirs, &err), &err);
    dm_puffer_check(dm_swarm_set_stream(p->swarm, theirs, &err), &err);
    dm_stream_destroy(p->stream);
    p->stream = theirs;
}

static inline void dm_puffer_reset(dm_puffer *p)
{
    dm_error err;
    cudaStream_t stream = (cudaStream_t)dm_stream_native(dm_swarm_stream(p->swarm));
    dm_puffer_check(dm_swarm_reset(p->swarm, NULL, NULL, &err), &err);
    cudaMemsetAsync(p->terminals, 0, sizeof(float) * (size_t)p->count, stream);
    cudaMemsetAsync(dm_device_buffer_address(p->rewards), 0, sizeof(float) * (size_t)p->count,
                    stream);
}

static inline void dm_puffer_step(dm_puffer *p)
{
    dm_error err;
    cudaStream_t stream = (cudaStream_t)dm_stream_native(dm_swarm_stream(p->swarm));
    const unsigned blocks = ((unsigned)p->count + 255u) / 256u;
    unsigned char *bytes = (unsigned char *)dm_device_buffer_address(p->bytes);
    dm_puffer_take_actions<<<blocks, 256, 0, stream>>>(p->actions, p->keys, bytes, p->count);
    dm_puffer_check(dm_swarm_step(p->swarm, bytes, &err), &err);
    dm_puffer_give_ends<<<blocks, 256, 0, stream>>>(
        (const unsigned char *)dm_device_buffer_address(
            dm_swarm_output(p->swarm, DM_SWARM_TERMINATED)),
        (const unsigned char *)dm_device_buffer_address(
            dm_swarm_output(p->swarm, DM_SWARM_TRUNCATED)),
        p->terminals, p->count);
}

static inline void dm_puffer_close(dm_puffer *p)
{
    dm_swarm_destroy(p->swarm);
    dm_device_buffer_destroy(p->observations);
    dm_device_buffer_destroy(p->rewards);
    dm_device_buffer_destroy(p->bytes);
    dm_stream_destroy(p->stream);
    dm_device_close(p->device);
    *p = dm_puffer();
}

#endif
