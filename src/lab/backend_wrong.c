/* SPDX-License-Identifier: MIT */
/* backend_wrong.c - a vector of machines of which every other one has a bug.
 *
 * Machines with an even number are right, those with an odd one are wrong_single's. A comparison
 * that looks at machine 0 alone, or a bundle that keeps the wrong machine, does not survive it. */
#include "lab/backend.h"

#include <stdlib.h>

typedef struct wrong_vec {
    dm_lab_backend *machines;
    uint64_t count;
} wrong_vec;

static dm_status version(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    return dm_lab_wrong.version(kind, out, size, err);
}

static void destroy(void *self)
{
    wrong_vec *w = self;
    for (uint64_t i = 0; i < w->count; i++)
        dm_lab_backend_destroy(&w->machines[i]);
    free(w->machines);
    free(w);
}

static dm_status create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    wrong_vec *w = calloc(1, sizeof *w);
    dm_lab_desc one = *desc;
    dm_status status = DM_OK;
    one.count = 1;
    if (w != NULL)
        w->machines = calloc(desc->count, sizeof *w->machines);
    if (w == NULL || w->machines == NULL) {
        free(w);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    while (w->count < desc->count && status == DM_OK) {
        const dm_lab_kind *kind = w->count % 2 == 1 ? &dm_lab_wrong : &dm_lab_single;
        status = dm_lab_backend_create(kind, &one, &w->machines[w->count++], err);
    }
    if (status != DM_OK) {
        destroy(w);
        return status;
    }
    *self = w;
    return DM_OK;
}

static dm_status step(void *self, const uint8_t *keys, dm_error *err)
{
    wrong_vec *w = self;
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < w->count && status == DM_OK; i++)
        status = dm_lab_backend_step(&w->machines[i], &keys[i], err);
    return status;
}

static dm_status look(void *self, uint64_t machine, dm_lab_view *out, dm_error *err)
{
    const dm_lab_backend *one = &((wrong_vec *)self)->machines[machine];
    return one->kind->look(one->self, 0, out, err);
}

static dm_status read_memory(void *self, uint64_t machine, uint16_t address, uint8_t *to,
                             size_t size, dm_error *err)
{
    const dm_lab_backend *one = &((wrong_vec *)self)->machines[machine];
    return one->kind->read(one->self, 0, address, to, size, err);
}

static dm_status picture(void *self, uint64_t machine, uint8_t *shades, dm_error *err)
{
    const dm_lab_backend *one = &((wrong_vec *)self)->machines[machine];
    return one->kind->picture(one->self, 0, shades, err);
}

static dm_status save(void *self, uint64_t machine, dm_buffer *out, dm_error *err)
{
    const dm_lab_backend *one = &((wrong_vec *)self)->machines[machine];
    return one->kind->save(one->self, 0, out, err);
}

static dm_status fork_machine(void *self, uint64_t machine, const dm_lab_desc *desc,
                              dm_lab_backend *out, dm_error *err)
{
    const dm_lab_backend *one = &((wrong_vec *)self)->machines[machine];
    return one->kind->fork(one->self, 0, desc, out, err);
}

const dm_lab_kind dm_lab_wrong_vec = {
    .name = "wrong_vec",
    .sound = DM_LAB_SOUND_REGISTERS,
    .alone = &dm_lab_wrong,
    .version = version,
    .create = create,
    .destroy = destroy,
    .step = step,
    .look = look,
    .read = read_memory,
    .picture = picture,
    .save = save,
    .fork = fork_machine,
};
