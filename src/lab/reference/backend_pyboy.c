/* SPDX-License-Identifier: MIT */
/* backend_pyboy.c - PyBoy as a backend: one machine, or many spread over worker processes.
 *
 * Machine i lives in worker i modulo the number of workers. Its frames are its own: they end at
 * 70,224 cycles as ours do, on the same instruction boundary, as long as the LCD is not switched
 * (docs/verify.md). */
#include "base/thread.h"
#include "lab/backend.h"
#include "lab/reference/pyboy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 256

typedef struct pyboy {
    dm_lab_desc desc;
    dm_pyboy *workers[WORKERS_MAX];
    uint64_t worker_count;
    uint64_t base; /* cycles at the start */
} pyboy;

static void destroy(void *self)
{
    pyboy *p = self;
    for (uint64_t i = 0; i < p->worker_count; i++)
        dm_pyboy_end(p->workers[i]);
    free(p);
}

static uint64_t machines_of(const pyboy *p, uint64_t worker)
{
    return (p->desc.count - worker + p->worker_count - 1) / p->worker_count;
}

static dm_status start_workers(pyboy *p, dm_error *err)
{
    char python[DM_PATH_MAX];
    dm_pyboy_find_python(python);
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < p->worker_count && status == DM_OK; i++)
        status = dm_pyboy_start(python, (int)i, machines_of(p, i), &p->workers[i], err);
    for (uint64_t i = 0; i < p->worker_count && status == DM_OK; i++)
        status = dm_pyboy_ready(p->workers[i], err);
    return status;
}

/* Making a machine takes a while; the workers do it side by side. */
typedef struct making {
    pyboy *p;
    dm_status status[WORKERS_MAX];
    dm_error errors[WORKERS_MAX];
} making;

static void make_part(void *user, uint64_t begin, uint64_t end, int worker)
{
    making *m = user;
    const dm_lab_desc *d = &m->p->desc;
    uint32_t flags =
        (d->start == DM_LAB_START_ZERO ? DM_PYBOY_ZERO : 0) | (d->exact ? DM_PYBOY_SOUND : 0);
    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        m->status[i] = dm_pyboy_make(m->p->workers[i], d->rom, d->rom_size,
                                     (uint32_t)machines_of(m->p, i), flags, &m->errors[i]);
}

static dm_status make_machines(pyboy *p, dm_error *err)
{
    dm_pool *pool;
    making *m = calloc(1, sizeof *m);
    if (m == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    m->p = p;
    dm_status status = dm_pool_create((int)p->worker_count, &pool, err);
    if (status == DM_OK) {
        dm_pool_run(pool, p->worker_count, 1, make_part, m);
        dm_pool_destroy(pool);
    }
    for (uint64_t i = 0; i < p->worker_count && status == DM_OK; i++) {
        status = m->status[i];
        if (status != DM_OK && err != NULL)
            *err = m->errors[i];
    }
    free(m);
    return status;
}

static dm_status create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    if (desc->start == DM_LAB_START_POST_BOOT)
        return dm_fail(err, DM_EUNSUPPORTED,
                       "pyboy cannot be started as after the boot ROM; --start zero");
    pyboy *p = calloc(1, sizeof *p);
    if (p == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    p->desc = *desc;
    p->worker_count = (uint64_t)(desc->workers > 0 ? desc->workers : dm_cpu_count());
    if (p->worker_count > desc->count)
        p->worker_count = desc->count;
    if (p->worker_count > WORKERS_MAX)
        p->worker_count = WORKERS_MAX;
    dm_gb_registers registers;
    dm_status status = start_workers(p, err);
    if (status == DM_OK)
        status = make_machines(p, err);
    if (status == DM_OK)
        status = dm_pyboy_look(p->workers[0], 0, &registers, &p->base, err);
    if (status != DM_OK) {
        destroy(p);
        return status;
    }
    *self = p;
    return DM_OK;
}

static dm_status version(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    (void)kind;
    char python[DM_PATH_MAX];
    dm_pyboy *worker;
    dm_pyboy_find_python(python);
    dm_status status = dm_pyboy_start(python, 0, 0, &worker, err);
    if (status != DM_OK)
        return status;
    status = dm_pyboy_ready(worker, err);
    if (status == DM_OK)
        snprintf(out, size, "%s", dm_pyboy_version(worker));
    dm_pyboy_end(worker);
    return status;
}

static dm_status step(void *self, const uint8_t *keys, dm_error *err)
{
    pyboy *p = self;
    const dm_lab_desc *d = &p->desc;
    dm_status status = DM_OK;
    uint64_t n = p->worker_count, begun = 0;
    dm_pyboy_draw draw = !d->draw        ? DM_PYBOY_DRAW_NEVER
                         : d->draw_every ? DM_PYBOY_DRAW_ALWAYS
                                         : DM_PYBOY_DRAW_LAST;
    for (uint64_t w = 0; w < n && status == DM_OK; w++) {
        uint64_t count = machines_of(p, w);
        uint8_t *shared = dm_pyboy_shared(p->workers[w]);
        for (uint64_t i = 0; i < count; i++)
            shared[i] = keys[i * n + w];
        status = dm_pyboy_step(p->workers[w], 0, (uint32_t)count, 1, d->frames_per_step,
                               d->release_after_frames, draw, err);
        begun += status == DM_OK;
    }
    for (uint64_t w = 0; w < begun; w++) {
        dm_status one = dm_pyboy_wait(p->workers[w], status == DM_OK ? err : NULL);
        status = status == DM_OK ? one : status;
    }
    return status;
}

static dm_status look(void *self, uint64_t machine, dm_lab_view *out, dm_error *err)
{
    pyboy *p = self;
    uint64_t n = p->worker_count;
    *out = (dm_lab_view){.has_cycles = true};
    dm_status status = dm_pyboy_look(p->workers[machine % n], (uint32_t)(machine / n),
                                     &out->registers, &out->cycles, err);
    out->cycles -= p->base;
    return status;
}

static dm_status read_memory(void *self, uint64_t machine, uint16_t address, uint8_t *to,
                             size_t size, dm_error *err)
{
    pyboy *p = self;
    uint64_t n = p->worker_count;
    return dm_pyboy_read(p->workers[machine % n], (uint32_t)(machine / n), address, to, size, err);
}

static dm_status picture(void *self, uint64_t machine, uint8_t *shades, dm_error *err)
{
    pyboy *p = self;
    uint64_t n = p->worker_count;
    return dm_pyboy_picture(p->workers[machine % n], (uint32_t)(machine / n), shades, err);
}

static dm_status save(void *self, uint64_t machine, dm_buffer *out, dm_error *err)
{
    pyboy *p = self;
    uint64_t n = p->worker_count;
    return dm_pyboy_save(p->workers[machine % n], (uint32_t)(machine / n), out, err);
}

/* clang-format off */
/* Of one machine and of many. No sound in benchmarks; exact steps have it. */
#define KIND                                                                                                           \
    .install = DM_PYBOY_INSTALL, .sound = "off", .is_reference = true, .version = version, .create = create,           \
    .destroy = destroy, .step = step, .look = look, .read = read_memory, .picture = picture, .save = save
/* clang-format on */

const dm_lab_kind dm_lab_pyboy_single = {.name = "pyboy_single", .is_single = true, KIND};

const dm_lab_kind dm_lab_pyboy_vec = {.name = "pyboy_vec_mp", KIND};
