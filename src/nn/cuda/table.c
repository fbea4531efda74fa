/* SPDX-License-Identifier: MIT */
/* table.c - the CUDA table: compiles the kernels and launches them; see ops.h. */
#include "nn/cuda/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[NN_TEXT_COUNT] = {"linear", "norm",    "embed", "loss", "attention",
                                                 "flash",  "flash90", "gru",   "conv", "conv_cuda"};

static const struct {
    const char *text, *name;
} kernels[NN_K_COUNT] = {
#define NN_KERNEL_ROW(text, name) {#text, "nn_" #name},
    NN_KERNELS(NN_KERNEL_ROW)
#undef NN_KERNEL_ROW
};

static dm_nn_ops table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    table.name = "cuda";
    dm_nn_cuda_linear_fill(&table);
    dm_nn_cuda_norm_fill(&table);
    dm_nn_cuda_embed_fill(&table);
    dm_nn_cuda_attention_fill(&table);
    dm_nn_cuda_gru_fill(&table);
    dm_nn_cuda_loss_fill(&table);
    dm_nn_cuda_conv_fill(&table);
}

dm_status dm_nn_cuda_launch(dm_nn_exec *e, int kernel, dm_grid grid, const void *args, size_t size,
                            dm_error *err)
{
    const dm_nn_cuda *state = e->state;
    dm_nn_profile_begin(state->profile, kernels[kernel].name, 0, 0);
    dm_status status = dm_function_launch(state->kernels[kernel], e->stream, grid, args, size, err);
    dm_nn_profile_end(state->profile);
    return status;
}

dm_grid dm_nn_cuda_loop(uint64_t n)
{
    dm_grid grid = dm_grid_for(n, 256);
    grid.blocks = grid.blocks > 4096 ? 4096 : grid.blocks;
    return grid;
}

bool dm_nn_cuda_vectors(const dm_nn_exec *e, uint64_t columns, const void *const *p, size_t count)
{
    bool fit = columns % (e->type == DM_NN_BF16 ? 8 : 4) == 0;
    for (size_t i = 0; i < count; i++)
        fit = fit && ((uintptr_t)p[i] & 15) == 0;
    return fit;
}

/* flash90.h is for this one architecture. $DM_NN_FLASH=mma does without. */
static bool has_wgmma(const dm_device *device)
{
    const char *wish = getenv("DM_NN_FLASH");
    return strcmp(dm_device_get_properties(device)->arch, "sm_90") == 0 &&
           !(wish != NULL && strcmp(wish, "mma") == 0);
}

/* conv_mma.h's products are of tf32. $DM_NN_CONV=tiled does without. */
static bool has_tf32(const dm_device *device)
{
    const char *wish = getenv("DM_NN_CONV"), *arch = dm_device_get_properties(device)->arch;
    return strncmp(arch, "sm_", 3) == 0 && atoi(arch + 3) >= 80 &&
           !(wish != NULL && strcmp(wish, "tiled") == 0);
}

static dm_status load(dm_nn_cuda *state, dm_nn_type type, dm_error *err)
{
    static const char *const bf16[] = {"NN_BF16=1", NULL}, *const f32[] = {"NN_BF16=0", NULL};
    static const char *const options[] = {"--fmad=true", NULL};
    dm_status status = DM_OK;
    for (size_t i = 0; i < NN_TEXT_COUNT && status == DM_OK; i++) {
        char name[64];
        bool flash90 = strcmp(texts[i], "flash90") == 0;
        if (strncmp(texts[i], "flash", 5) == 0 && type != DM_NN_BF16)
            continue;
        if (flash90 && !(state->flash90 = has_wgmma(state->device)))
            continue;
        snprintf(name, sizeof name, "nn/cuda/%s.h", texts[i]);
        dm_module_desc desc = {
            .name = name, .defines = type == DM_NN_BF16 ? bf16 : f32, .cuda_options = options};
        if (flash90)
            desc.arch = "sm_90a";
        status = dm_module_create(state->device, &desc, &state->modules[i], err);
        for (size_t k = 0; k < NN_K_COUNT && status == DM_OK; k++)
            if (strcmp(kernels[k].text, texts[i]) == 0 &&
                (type == DM_NN_BF16 || k != NN_K_softmax_loss_kept))
                status =
                    dm_module_function(state->modules[i], kernels[k].name, &state->kernels[k], err);
    }
    return status;
}

dm_status dm_nn_cuda_create(dm_device *device, dm_nn_type type, dm_nn_exec *out, dm_error *err)
{
    if (type != DM_NN_F32 && type != DM_NN_BF16)
        return dm_fail(err, DM_EINVAL, "nn: CUDA takes float32 and bfloat16");
    dm_nn_cuda *state = calloc(1, sizeof *state);
    if (state == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    pthread_once(&table_once, fill_table);
    state->device = device;
    *out = (dm_nn_exec){
        .ops = &table, .type = type, .stream = dm_device_stream(device), .state = state};
    state->conv_mma = has_tf32(device);
    dm_status status = load(state, type, err);
    if (status == DM_OK)
        status =
            dm_device_buffer_create(device, NN_SUMS_BLOCKS * 2 * sizeof(float), &state->parts, err);
    if (status != DM_OK) {
        dm_nn_cuda_destroy(out);
        return status;
    }
    dm_error reason = {0};
    if (dm_cublaslt_create(device, &state->products, &reason) == DM_OK)
        snprintf(state->products_text, sizeof state->products_text, "%s",
                 dm_cublaslt_name(state->products));
    else
        snprintf(state->products_text, sizeof state->products_text, "own kernels (%s)",
                 reason.message);
    return DM_OK;
}

void dm_nn_cuda_destroy(dm_nn_exec *exec)
{
    dm_nn_cuda *state = exec->state;
    if (state == NULL)
        return;
    dm_cublaslt_destroy(state->products);
    dm_device_buffer_destroy(state->parts);
    for (size_t i = 0; i < NN_TEXT_COUNT; i++)
        dm_module_destroy(state->modules[i]);
    free(state);
    memset(exec, 0, sizeof *exec);
}

const char *dm_nn_cuda_products(const dm_nn_exec *exec)
{
    return ((const dm_nn_cuda *)exec->state)->products_text;
}
