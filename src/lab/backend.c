/* SPDX-License-Identifier: MIT */
/* backend.c - the table of backends, and the state in which they start. */
#include "lab/backend.h"
#include "gb/host/core.h"

#include <stdio.h>
#include <string.h>

const char *const dm_lab_start_names[] = {"zero", "post-boot", "game", "state", NULL};

static const dm_lab_kind *const kinds[] = {
    &dm_lab_single,   &dm_lab_vec_cpu,      &dm_lab_vec_cuda,  &dm_lab_mgba_single,
    &dm_lab_mgba_vec, &dm_lab_pyboy_single, &dm_lab_pyboy_vec, &dm_lab_gambatte,
    &dm_lab_wrong,    &dm_lab_wrong_vec,    &dm_lab_recorded,
};
#define KINDS (sizeof kinds / sizeof kinds[0])
#define CORE_PREFIX "libretro:" /* and the path of a core */

const char *dm_lab_kind_list(void)
{
    static char list[512];
    if (list[0] == 0) {
        for (size_t i = 0; i < KINDS; i++) {
            strncat(list, kinds[i]->name, sizeof list - strlen(list) - 1);
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        }
        strncat(list, CORE_PREFIX "PATH", sizeof list - strlen(list) - 1);
    }
    return list;
}

/* A kind of its own for each core; they stay as long as the program. */
static dm_status find_core(const char *name, const dm_lab_kind **out, dm_error *err)
{
    static dm_lab_kind cores[DM_LAB_CORES_MAX];
    static char names[DM_LAB_CORES_MAX][1024];
    size_t i = 0;
    if (name[sizeof CORE_PREFIX - 1] == 0 || strlen(name) >= sizeof names[0])
        return dm_fail(err, DM_EINVAL, "libretro: the path of a core is missing, or too long");
    while (i < DM_LAB_CORES_MAX && names[i][0] != 0 && strcmp(names[i], name) != 0)
        i++;
    if (i == DM_LAB_CORES_MAX)
        return dm_fail(err, DM_EINVAL, "libretro: at most %d cores", DM_LAB_CORES_MAX);
    snprintf(names[i], sizeof names[i], "%s", name);
    cores[i] = dm_lab_gambatte;
    cores[i].name = names[i];
    cores[i].install = NULL;
    cores[i].core = names[i] + sizeof CORE_PREFIX - 1;
    *out = &cores[i];
    return DM_OK;
}

dm_status dm_lab_kind_find(const char *name, const dm_lab_kind **out, dm_error *err)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            *out = kinds[i];
            return DM_OK;
        }
    }
    if (strncmp(name, CORE_PREFIX, sizeof CORE_PREFIX - 1) == 0)
        return find_core(name, out, err);
    return dm_fail(err, DM_EINVAL, "'%.64s' is no backend; there are %s", name, dm_lab_kind_list());
}

dm_status dm_lab_backend_create(const dm_lab_kind *kind, const dm_lab_desc *desc,
                                dm_lab_backend *out, dm_error *err)
{
    *out = (dm_lab_backend){.kind = kind, .desc = *desc};
    out->desc.core = kind->core;
    if (kind->is_single && desc->count != 1)
        return dm_fail(err, DM_EINVAL, "%s has one machine, not %llu", kind->name,
                       (unsigned long long)desc->count);
    if (desc->count == 0 || desc->count > UINT32_MAX || desc->frames_per_step == 0 ||
        desc->frames_per_step > 1024 || desc->release_after_frames > desc->frames_per_step)
        return dm_fail(err, DM_EINVAL, "%s: no machines, or keys held longer than a step",
                       kind->name);
    if (desc->start == DM_LAB_START_STATE && desc->state == NULL)
        return dm_fail(err, DM_EINVAL, "%s: a start at a save state needs its file", kind->name);
    if (desc->start == DM_LAB_START_STATE && kind->is_reference)
        return dm_fail(err, DM_EUNSUPPORTED, "%s cannot begin at a save state of ours", kind->name);
    dm_status status = kind->create(&out->desc, &out->self, err);
    if (status == DM_EUNAVAILABLE && kind->install != NULL && err != NULL) {
        char why[512];
        snprintf(why, sizeof why, "%.500s", err->message);
        dm_fail(err, status, "%s (install it: %s)", why, kind->install);
    }
    return status;
}

void dm_lab_backend_destroy(dm_lab_backend *backend)
{
    if (backend->self != NULL)
        backend->kind->destroy(backend->self);
    *backend = (dm_lab_backend){0};
}

dm_status dm_lab_backend_step(dm_lab_backend *backend, const uint8_t *keys, dm_error *err)
{
    return backend->kind->step(backend->self, keys, err);
}

dm_status dm_lab_backend_synchronize(dm_lab_backend *backend, dm_error *err)
{
    if (backend->kind->synchronize == NULL)
        return DM_OK;
    return backend->kind->synchronize(backend->self, err);
}

dm_status dm_lab_start_machine(const dm_lab_desc *desc, dm_gb **out, dm_error *err)
{
    dm_gb_options options = {.start = desc->start == DM_LAB_START_ZERO ? DM_GB_START_ZERO
                                                                       : DM_GB_START_POST_BOOT,
                             .force_dmg = desc->force_dmg,
                             .keep_idle_loops = desc->keep_idle_loops};
    dm_status status = dm_gb_create(desc->rom, desc->rom_size, &options, out, err);
    if (status == DM_OK && desc->start == DM_LAB_START_STATE) {
        status = dm_gb_load_state(*out, desc->state, err);
        if (status != DM_OK) {
            dm_gb_destroy(*out);
            *out = NULL;
        }
    }
    if (status != DM_OK || desc->start != DM_LAB_START_POST_BOOT)
        return status;
    /* References are somewhere else in the picture and in DIV's count: both begin anew. */
    static const struct {
        uint16_t address;
        uint8_t value;
    } writes[] = {{0xFF40, 0x00}, {0xFF04, 0x00}, {0xFF0F, 0x01}, {0xFF40, 0x91}};
    for (unsigned i = 0; i < sizeof writes / sizeof writes[0]; i++)
        dm_gb_poke(*out, writes[i].address, writes[i].value);
    return DM_OK;
}
