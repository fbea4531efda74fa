/* SPDX-License-Identifier: MIT */
/* builder.c - compile the kernels of a variant, once each; see builder.h. */
#include "swarm/builder.h"
#include "device/sources.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A loaded variant; alive while a swarm uses it. */
typedef struct dm_swarm_entry {
    const dm_device *device; /* kept alive by the module */
    dm_hash128 key;
    dm_module *module;
    unsigned users;
    struct dm_swarm_entry *next;
} dm_swarm_entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dm_swarm_entry *entries;

dm_status dm_swarm_variant_text(const dm_swarm_variant *variant, char **out, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    const char *skeleton = dm_embedded_text("swarm/skeleton.h");
    *out = NULL;
    if (skeleton == NULL)
        return dm_fail(err, DM_EINTERNAL, "swarm: the library has no skeleton");
    dm_status status = dm_swarm_compose(skeleton, variant, &text, err);
    if (status == DM_OK && (*out = dm_buffer_take(&text)) == NULL)
        status = dm_fail(err, DM_ENOMEM, "swarm: no memory for the kernel's text");
    dm_buffer_deinit(&text);
    return status;
}

dm_hash128 dm_swarm_variant_key(const dm_device *device, const dm_swarm_variant *variant,
                                const dm_swarm_tuning *tuning, const char *text)
{
    const dm_device_properties *p = dm_device_get_properties(device);
    char head[160];
    dm_hash128 hash = dm_hash128_of(text, strlen(text));
    char hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex(hash, hex);
    int length = snprintf(head, sizeof head, "%d %u %s %s %u %u %u", (int)variant->stage,
                          variant->vector_size, hex, p->arch, tuning->block_threads, tuning->blocks,
                          tuning->lanes);
    return dm_hash128_of(head, (size_t)length);
}

static dm_status load(dm_device *device, const dm_swarm_variant *variant,
                      const dm_swarm_tuning *tuning, const char *text, dm_module **out,
                      dm_error *err)
{
    char block[40], blocks[40], lanes[40], name[64];
    const char *defines[4] = {NULL};
    size_t count = 0;
    snprintf(block, sizeof block, "DM_SIMT_THREADS=%u", tuning->block_threads);
    snprintf(blocks, sizeof blocks, "DM_SIMT_BLOCKS=%u", tuning->blocks);
    snprintf(name, sizeof name, "swarm/%s", dm_swarm_stage_text((int)variant->stage));
    snprintf(lanes, sizeof lanes, "DM_SIMT_LANES=%u", tuning->lanes);
    if (tuning->block_threads != 0)
        defines[count++] = block;
    if (tuning->blocks != 0)
        defines[count++] = blocks;
    if (tuning->lanes != 0)
        defines[count++] = lanes;
    dm_module_desc desc = {.name = name, .text = text, .defines = defines};
    if (variant->epilog == NULL && variant->vector_size == DM_SWARM_VECTOR_DEFAULT) {
        desc.builtins = dm_swarm_builtins;
        desc.builtin_count = DM_SWARM_BUILTINS;
    }
    return dm_module_create(device, &desc, out, err);
}

/* The entry for a key, made if need be; the lock is held. */
static dm_status take(dm_device *device, const dm_swarm_variant *variant,
                      const dm_swarm_tuning *tuning, const char *text, dm_swarm_kernels *out,
                      dm_error *err)
{
    dm_hash128 key = dm_swarm_variant_key(device, variant, tuning, text);
    dm_swarm_entry *entry = entries;
    while (entry != NULL &&
           (entry->device != device || entry->key.low != key.low || entry->key.high != key.high))
        entry = entry->next;
    out->was_cached = entry != NULL;
    if (entry == NULL) {
        dm_module *module;
        dm_status status = load(device, variant, tuning, text, &module, err);
        if (status != DM_OK)
            return status;
        out->was_cached = dm_module_was_cached(module);
        entry = calloc(1, sizeof *entry);
        if (entry == NULL) {
            dm_module_destroy(module);
            return dm_fail(err, DM_ENOMEM, "swarm: out of memory");
        }
        *entry = (dm_swarm_entry){device, key, module, 0, entries};
        entries = entry;
    }
    entry->users++;
    out->entry = entry;
    out->key = key;
    return DM_OK;
}

dm_status dm_swarm_build(dm_device *device, const dm_swarm_variant *variant,
                         const dm_swarm_tuning *tuning, dm_swarm_kernels *out, dm_error *err)
{
    char *text, name[64];
    memset(out, 0, sizeof *out);
    dm_status status = dm_swarm_variant_text(variant, &text, err);
    if (status != DM_OK)
        return status;
    pthread_mutex_lock(&lock);
    status = take(device, variant, tuning, text, out, err);
    pthread_mutex_unlock(&lock);
    free(text);
    const char *stage = dm_swarm_stage_text((int)variant->stage);
    if (status == DM_OK) {
        snprintf(name, sizeof name, "dm_swarm_step_%s", stage);
        status = dm_module_function(out->entry->module, name, &out->step, err);
    }
    if (status == DM_OK) {
        snprintf(name, sizeof name, "dm_swarm_reset_%s", stage);
        status = dm_module_function(out->entry->module, name, &out->reset, err);
    }
    if (status == DM_OK) {
        snprintf(name, sizeof name, "dm_swarm_answered_%s", stage);
        status = dm_module_function(out->entry->module, name, &out->answered, err);
    }
    if (status == DM_OK && dm_device_get_properties(device)->kind == DM_DEVICE_CUDA) {
        snprintf(name, sizeof name, "dm_swarm_rebalance_%s", stage);
        status = dm_module_function(out->entry->module, name, &out->rebalance, err);
    }
    if (status != DM_OK)
        dm_swarm_kernels_release(out);
    return status;
}

void dm_swarm_kernels_release(dm_swarm_kernels *kernels)
{
    dm_swarm_entry *entry = kernels->entry;
    kernels->entry = NULL;
    if (entry == NULL)
        return;
    pthread_mutex_lock(&lock);
    bool last = --entry->users == 0;
    for (dm_swarm_entry **at = &entries; last && *at != NULL; at = &(*at)->next) {
        if (*at == entry) {
            *at = entry->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (last) {
        dm_module_destroy(entry->module);
        free(entry);
    }
}
