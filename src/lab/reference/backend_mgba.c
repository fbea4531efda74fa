/* SPDX-License-Identifier: MIT */
/* backend_mgba.c - libmgba as a backend: one machine, or many on threads.
 *
 * An exact step goes instruction by instruction up to the first boundary at or after the end of the
 * frame in T-cycles, which is where ours stops. Otherwise it is mGBA's own runFrame, which ends
 * with a VBlank and is faster. */
#include "base/thread.h"
#include "gb/host/core.h"
#include "lab/backend.h"
#include "lab/reference/mgba.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if DM_HAVE_MGBA

typedef struct machine {
    dm_mgba *mgba;
    uint64_t target; /* where the steps so far ended, in cycles since the start */
    uint64_t base;   /* cycles at the start */
} machine;

typedef struct mgba {
    dm_lab_desc desc;
    dm_pool *pool;
    machine *machines;
    /* The step under way. */
    const uint8_t *keys;
} mgba;

static dm_status version(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    (void)kind;
    dm_status status = dm_mgba_open(err);
    if (status == DM_OK)
        snprintf(out, size, "%s", dm_mgba_version());
    return status;
}

static void destroy(void *self)
{
    mgba *m = self;
    for (uint64_t i = 0; i < m->desc.count && m->machines != NULL; i++)
        dm_mgba_destroy(m->machines[i].mgba);
    free(m->machines);
    dm_pool_destroy(m->pool);
    free(m);
}

static dm_status create_machine(mgba *m, machine *one, dm_gb *like, dm_error *err)
{
    const dm_lab_desc *d = &m->desc;
    /* An exact step ends amid a picture, a fast one after its last. */
    dm_mgba_pictures pictures = !d->draw   ? DM_MGBA_NO_PICTURES
                                : d->exact ? DM_MGBA_KEEP_COMPLETE
                                           : DM_MGBA_KEEP_NOTHING;
    dm_status status = dm_mgba_create(d->rom, d->rom_size, pictures, &one->mgba, err);
    if (status != DM_OK)
        return status;
    if (d->start != DM_LAB_START_GAME)
        dm_mgba_start_like(one->mgba, like);
    one->base = dm_mgba_cycles(one->mgba);
    return DM_OK;
}

static dm_status create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    dm_status status = dm_mgba_open(err);
    if (status != DM_OK)
        return status;
    mgba *m = calloc(1, sizeof *m);
    if (m == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    m->desc = *desc;
    m->machines = calloc(desc->count, sizeof *m->machines);
    dm_gb *like = NULL;
    if (m->machines == NULL)
        status = dm_fail(err, DM_ENOMEM, "mgba: no memory for %llu machines",
                         (unsigned long long)desc->count);
    if (status == DM_OK)
        status = dm_pool_create(desc->count == 1 ? 1 : desc->workers, &m->pool, err);
    if (status == DM_OK)
        status = dm_lab_start_machine(desc, &like, err);
    for (uint64_t i = 0; i < desc->count && status == DM_OK; i++)
        status = create_machine(m, &m->machines[i], like, err);
    dm_gb_destroy(like);
    if (status != DM_OK) {
        destroy(m);
        return status;
    }
    *self = m;
    return DM_OK;
}

static void frames_exact(machine *one, uint32_t frames)
{
    one->target += (uint64_t)frames * DM_GB_FRAME_CYCLES;
    dm_mgba_run_to(one->mgba, one->base + one->target);
}

static void frames_fast(machine *one, uint32_t frames)
{
    for (uint32_t i = 0; i < frames && !dm_mgba_sleeps(one->mgba); i++)
        dm_mgba_run_frame(one->mgba);
}

static void step_part(void *user, uint64_t begin, uint64_t end, int worker)
{
    mgba *m = user;
    const dm_lab_desc *d = &m->desc;
    void (*frames)(machine *, uint32_t) = d->exact ? frames_exact : frames_fast;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        machine *one = &m->machines[i];
        if (d->draw && !d->exact)
            dm_mgba_draw_last_of(one->mgba, d->draw_every ? 1 : d->frames_per_step);
        dm_mgba_set_keys(one->mgba, m->keys[i]);
        frames(one, d->release_after_frames);
        dm_mgba_set_keys(one->mgba, 0);
        frames(one, d->frames_per_step - d->release_after_frames);
    }
}

static dm_status step(void *self, const uint8_t *keys, dm_error *err)
{
    mgba *m = self;
    (void)err;
    m->keys = keys;
    dm_pool_run(m->pool, m->desc.count, 1, step_part, m);
    return DM_OK;
}

static dm_status look(void *self, uint64_t number, dm_lab_view *out, dm_error *err)
{
    const machine *one = &((mgba *)self)->machines[number];
    (void)err;
    *out = (dm_lab_view){.registers = dm_mgba_get_registers(one->mgba),
                         .has_cycles = true,
                         .cycles = dm_mgba_cycles(one->mgba) - one->base};
    return DM_OK;
}

static dm_status read_memory(void *self, uint64_t number, uint16_t address, uint8_t *to,
                             size_t size, dm_error *err)
{
    machine *one = &((mgba *)self)->machines[number];
    (void)err;
    for (size_t i = 0; i < size; i++)
        to[i] = dm_mgba_peek(one->mgba, (uint16_t)(address + i));
    return DM_OK;
}

static dm_status picture(void *self, uint64_t number, uint8_t *shades, dm_error *err)
{
    (void)err;
    memcpy(shades, dm_mgba_frame(((mgba *)self)->machines[number].mgba),
           (size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    return DM_OK;
}

static dm_status save(void *self, uint64_t number, dm_buffer *out, dm_error *err)
{
    const dm_mgba *one = ((mgba *)self)->machines[number].mgba;
    size_t size = dm_mgba_state_size(one);
    void *bytes = malloc(size);
    dm_status status = DM_OK;
    if (bytes == NULL || !dm_mgba_save(one, bytes))
        status = dm_fail(err, DM_ENOMEM, "mgba: its state cannot be saved");
    else
        dm_buffer_append(out, bytes, size);
    free(bytes);
    return status != DM_OK ? status : dm_buffer_check(out, err);
}

static void set_keys(void *self, uint8_t keys)
{
    dm_mgba_set_keys(((mgba *)self)->machines[0].mgba, keys);
}

static void instruction(void *self)
{
    dm_mgba *one = ((mgba *)self)->machines[0].mgba;
    if (dm_mgba_sleeps(one))
        return;
    if (!dm_mgba_get_registers(one).halted)
        dm_mgba_step_in(one);
    dm_mgba_pass_halt(one);
}

static dm_status fork_machine(void *self, uint64_t number, const dm_lab_desc *desc,
                              dm_lab_backend *out, dm_error *err)
{
    const machine *from = &((mgba *)self)->machines[number];
    dm_lab_desc one = *desc;
    dm_buffer state = DM_BUFFER_EMPTY;
    one.count = 1;
    dm_status status = save(self, number, &state, err);
    if (status == DM_OK)
        status = dm_lab_backend_create(&dm_lab_mgba_single, &one, out, err);
    if (status == DM_OK) {
        machine *to = &((mgba *)out->self)->machines[0];
        /* The clock is in the state, but for what it counted before. */
        if (!dm_mgba_load(to->mgba, state.data))
            status = dm_fail(err, DM_EINTERNAL, "mgba: refuses a state that it saved");
        to->base = dm_mgba_cycles(to->mgba) - (dm_mgba_cycles(from->mgba) - from->base);
    }
    dm_buffer_deinit(&state);
    return status;
}

/* clang-format off */
/* Of one machine and of many. */
#define FUNCTIONS                                                                                                      \
    .destroy = destroy, .step = step, .look = look, .read = read_memory, .picture = picture, .save = save,             \
    .fork = fork_machine
#define FUNCTIONS_OF_ONE .set_keys = set_keys, .step_instruction = instruction, FUNCTIONS
/* clang-format on */

#else

static dm_status version(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    (void)kind;
    (void)out;
    (void)size;
    return dm_fail(err, DM_EUNAVAILABLE, "libmgba was not there when dotmatrix was built");
}

static dm_status create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    (void)desc;
    (void)self;
    return version(NULL, NULL, 0, err);
}

#define FUNCTIONS .destroy = NULL
#define FUNCTIONS_OF_ONE FUNCTIONS

#endif

const dm_lab_kind dm_lab_mgba_single = {.name = "mgba_single",
                                        .install = DM_MGBA_INSTALL,
                                        .sound = DM_LAB_SOUND_REGISTERS,
                                        .is_reference = true,
                                        .is_single = true,
                                        .version = version,
                                        .create = create,
                                        FUNCTIONS_OF_ONE};

const dm_lab_kind dm_lab_mgba_vec = {.name = "mgba_vec_mt",
                                     .install = DM_MGBA_INSTALL,
                                     .sound = DM_LAB_SOUND_REGISTERS,
                                     .is_reference = true,
                                     .alone = &dm_lab_mgba_single,
                                     .version = version,
                                     .create = create,
                                     FUNCTIONS};
