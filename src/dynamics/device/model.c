/* SPDX-License-Identifier: MIT */
/* model.c - what a model needs on a device; see model.h. */
#include "dynamics/device/model.h"
#include "base/require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFINES_MAX 8

/* ---- Creating ---- */

dm_status dm_dynamics_device_create(dm_device *device, const dm_dynamics *model,
                                    dm_dynamics_device **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, out);
    dm_dynamics_device *on = calloc(1, sizeof *on);
    if (on == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    on->device = device;
    on->stream = dm_device_stream(device);
    on->model = model;
    dm_status status = dm_dynamics_device_upload(on, err);
    if (status != DM_OK)
        dm_dynamics_device_destroy(on);
    else
        *out = on;
    return status;
}

static void drop_forms(dm_dynamics_device *on)
{
    for (int i = 0; i < DM_DYN_FORM_COUNT; i++) {
        dm_device_buffer_destroy(on->forms[i]);
        on->forms[i] = NULL;
    }
}

void dm_dynamics_device_destroy(dm_dynamics_device *on)
{
    if (on == NULL)
        return;
    dm_stream_synchronize(on->stream, NULL);
    drop_forms(on);
    dm_device_buffer_destroy(on->scaling);
    dm_device_buffer_destroy(on->input);
    dm_device_buffer_destroy(on->output);
    dm_device_buffer_destroy(on->scratch);
    dm_device_host_free(on->device, on->host_input);
    dm_device_host_free(on->device, on->host_output);
    for (size_t i = 0; i < on->kernel_count; i++)
        dm_module_destroy(on->kernels[i].module);
    free(on);
}

/* ---- Memory ---- */

dm_status dm_dyn_reserve(dm_dynamics_device *on, dm_device_buffer **buffer, size_t size,
                         dm_error *err)
{
    if (*buffer != NULL && dm_device_buffer_size(*buffer) >= size)
        return DM_OK;
    dm_status status = dm_stream_synchronize(on->stream, err);
    if (status != DM_OK)
        return status;
    dm_device_buffer_destroy(*buffer);
    *buffer = NULL;
    return dm_device_buffer_create(on->device, size, buffer, err);
}

dm_status dm_dyn_reserve_host(dm_dynamics_device *on, void **memory, size_t *capacity, size_t size,
                              dm_error *err)
{
    if (*capacity >= size)
        return DM_OK;
    dm_status status = dm_stream_synchronize(on->stream, err);
    if (status != DM_OK)
        return status;
    dm_device_host_free(on->device, *memory);
    *memory = NULL;
    *capacity = 0;
    status = dm_device_host_alloc(on->device, size, memory, err);
    if (status == DM_OK)
        *capacity = size;
    return status;
}

static dm_status upload(dm_dynamics_device *on, dm_device_buffer **buffer, const void *from,
                        size_t size, dm_error *err)
{
    dm_status status = dm_dyn_reserve(on, buffer, size, err);
    if (status == DM_OK)
        status = dm_stream_upload(on->stream, *buffer, 0, from, size, err);
    /* `from` may go when this returns. */
    return status != DM_OK ? status : dm_stream_synchronize(on->stream, err);
}

/* ---- Forms of the weights ---- */

/* U of every member with rows and columns up to P: [E][3][P][P]. */
static void pack_rows(const dm_dynamics *model, size_t P, float *to)
{
    size_t H = model->config.hidden;
    for (uint32_t e = 0; e < model->config.members; e++) {
        const float *U = dm_dynamics_member(model, e) + model->layout.offset[DM_DYNAMICS_U];
        for (size_t row = 0; row < 3 * H; row++)
            memcpy(to + ((e * 3 + row / H) * P + row % H) * P, U + row * H, H * sizeof *to);
    }
}

/* [E][k][gate][position]: a thread of kernel_batch.h owns units i * 64 + column, up to four of
 * which lie side by side. */
static void pack_columns(const dm_dynamics *model, size_t P, float *to)
{
    size_t H = model->config.hidden, N = P / 64, V = N < 4 ? N : 4;
    for (uint32_t e = 0; e < model->config.members; e++) {
        const float *U = dm_dynamics_member(model, e) + model->layout.offset[DM_DYNAMICS_U];
        for (size_t gate = 0; gate < 3; gate++) {
            for (size_t unit = 0; unit < H; unit++) {
                size_t i = unit / 64, column = unit % 64;
                size_t position = i / V * 64 * V + column * V + i % V;
                for (size_t k = 0; k < H; k++)
                    to[((e * P + k) * 3 + gate) * P + position] = U[(gate * H + unit) * H + k];
            }
        }
    }
}

static uint16_t bfloat(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return 0x7FC0; /* NaN */
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

static float from_bfloat(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void split(const float *from, size_t n, uint16_t *high, uint16_t *low)
{
    for (size_t i = 0; i < n; i++) {
        high[i] = bfloat(from[i]);
        low[i] = bfloat(from[i] - from_bfloat(high[i]));
    }
}

/* [E][high, low][3 H][Ip + Hp]: rows of W and U one after the other, padded to multiples of 32. */
static void pack_split(const dm_dynamics *model, uint16_t *to)
{
    size_t H = model->config.hidden, I = model->config.input;
    size_t Ip = (I + 31) / 32 * 32, K = Ip + (H + 31) / 32 * 32;
    for (uint32_t e = 0; e < model->config.members; e++) {
        const float *member = dm_dynamics_member(model, e);
        uint16_t *high = to + e * 2 * 3 * H * K, *low = high + 3 * H * K;
        for (size_t row = 0; row < 3 * H; row++) {
            split(member + model->layout.offset[DM_DYNAMICS_W] + row * I, I, high + row * K,
                  low + row * K);
            split(member + model->layout.offset[DM_DYNAMICS_U] + row * H, H, high + row * K + Ip,
                  low + row * K + Ip);
        }
    }
}

static dm_status make_form(dm_dynamics_device *on, dm_dyn_form form, size_t P, dm_error *err)
{
    const dm_dynamics *model = on->model;
    size_t E = model->config.members, H = model->config.hidden, I = model->config.input;
    if (form == DM_DYN_FORM_PLAIN)
        return upload(on, &on->forms[form], model->weights,
                      E * model->layout.stride * sizeof(float), err);
    size_t size = form == DM_DYN_FORM_SPLIT
                      ? E * 2 * 3 * H * ((I + 31) / 32 * 32 + (H + 31) / 32 * 32) * sizeof(uint16_t)
                      : E * 3 * P * P * sizeof(float);
    void *packed = dm_dynamics_alloc(size, 1);
    if (packed == NULL)
        return dm_fail(err, DM_ENOMEM, "dynamics: no memory for %zu bytes of weights", size);
    if (form == DM_DYN_FORM_ROWS)
        pack_rows(model, P, packed);
    else if (form == DM_DYN_FORM_COLUMNS)
        pack_columns(model, P, packed);
    else
        pack_split(model, packed);
    dm_status status = upload(on, &on->forms[form], packed, size, err);
    free(packed);
    return status;
}

dm_status dm_dyn_form_get(dm_dynamics_device *on, dm_dyn_form form, uint32_t padding, void **out,
                          dm_error *err)
{
    dm_status status = DM_OK;
    if (on->forms[form] == NULL || on->form_padding[form] != padding) {
        status = make_form(on, form, padding, err);
        on->form_padding[form] = padding;
    }
    if (status == DM_OK)
        *out = dm_device_buffer_address(on->forms[form]);
    return status;
}

dm_status dm_dynamics_device_upload(dm_dynamics_device *on, dm_error *err)
{
    DM_REQUIRE(err, on);
    size_t I = on->model->config.input;
    float *scaling = malloc(2 * I * sizeof *scaling);
    if (scaling == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    memcpy(scaling, on->model->shift, I * sizeof *scaling);
    memcpy(scaling + I, on->model->scale, I * sizeof *scaling);
    dm_status status = upload(on, &on->scaling, scaling, 2 * I * sizeof *scaling, err);
    free(scaling);
    drop_forms(on);
    return status;
}

/* ---- Kernels ---- */

static dm_status load_kernel(dm_dynamics_device *on, dm_dyn_kernel *kernel, const char *text,
                             const char *defines, const char *name, dm_error *err)
{
    char words[128], *save = NULL;
    const char *list[DEFINES_MAX + 1];
    size_t count = 0;
    snprintf(words, sizeof words, "%s", defines);
    for (char *w = strtok_r(words, " ", &save); w != NULL && count < DEFINES_MAX;
         w = strtok_r(NULL, " ", &save))
        list[count++] = w;
    list[count] = NULL;
    dm_module_desc desc = {.name = text, .defines = list};
    dm_status status = dm_module_create(on->device, &desc, &kernel->module, err);
    if (status == DM_OK)
        status = dm_module_function(kernel->module, name, &kernel->function, err);
    if (status != DM_OK) {
        dm_module_destroy(kernel->module);
        kernel->module = NULL;
    }
    return status;
}

dm_status dm_dyn_kernel_get(dm_dynamics_device *on, const char *text, const char *defines,
                            const char *name, const dm_function **out, dm_error *err)
{
    char key[160];
    int prefix = snprintf(key, sizeof key, "%s %s ", text, defines);
    snprintf(key + prefix, sizeof key - (size_t)prefix, "%s", name);
    const dm_dyn_kernel *relative = NULL; /* another kernel of the same module */
    for (size_t i = 0; i < on->kernel_count; i++) {
        if (strcmp(on->kernels[i].key, key) == 0) {
            *out = on->kernels[i].function;
            return DM_OK;
        }
        if (strncmp(on->kernels[i].key, key, (size_t)prefix) == 0 && on->kernels[i].module != NULL)
            relative = &on->kernels[i];
    }
    if (on->kernel_count == DM_DYN_KERNELS_MAX)
        return dm_fail(err, DM_EINTERNAL, "dynamics: more than %d kernels", DM_DYN_KERNELS_MAX);
    dm_dyn_kernel *kernel = &on->kernels[on->kernel_count];
    *kernel = (dm_dyn_kernel){0};
    dm_status status = relative != NULL
                           ? dm_module_function(relative->module, name, &kernel->function, err)
                           : load_kernel(on, kernel, text, defines, name, err);
    if (status != DM_OK)
        return status;
    memcpy(kernel->key, key, sizeof key);
    on->kernel_count++;
    *out = kernel->function;
    return DM_OK;
}
