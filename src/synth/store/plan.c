/* SPDX-License-Identifier: MIT */
/* plan.c - a set of canonical forms, filled slot by slot. */
#include "synth/store/plan.h"

#include "synth/store/canonical.h"

#include <stdlib.h>

#define CHUNK 4096 /* slots that are generated at once */

struct dm_synth_plan {
    dm_synth_plan_options options;
    dm_hash128 *table; /* open addressing; zero is no form */
    uint64_t mask;
    uint16_t *attempts;
    uint64_t decided;
};

dm_status dm_synth_plan_create(const dm_synth_plan_options *options, dm_synth_plan **out,
                               dm_error *err)
{
    dm_synth_plan *plan = calloc(1, sizeof *plan);
    uint64_t capacity = 1024;
    while (capacity < options->slots * 2)
        capacity *= 2;
    *out = plan;
    if (plan == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    plan->options = *options;
    plan->mask = capacity - 1;
    plan->table = calloc(capacity, sizeof *plan->table);
    plan->attempts = calloc(options->slots + 1, sizeof *plan->attempts);
    if (plan->table == NULL || plan->attempts == NULL) {
        dm_synth_plan_destroy(plan);
        *out = NULL;
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    return DM_OK;
}

void dm_synth_plan_destroy(dm_synth_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->table);
    free(plan->attempts);
    free(plan);
}

dm_synth_category dm_synth_plan_category(const dm_synth_plan *plan, uint64_t slot)
{
    uint64_t turn = slot % (uint64_t)plan->options.category_count;
    return (dm_synth_category)plan->options.categories[turn];
}

uint64_t dm_synth_plan_decided(const dm_synth_plan *plan)
{
    return plan->decided;
}

int dm_synth_plan_attempt(const dm_synth_plan *plan, uint64_t slot)
{
    return plan->attempts[slot];
}

/* Where the form is, or would be. */
static uint64_t find(const dm_synth_plan *plan, dm_hash128 form)
{
    uint64_t at = form.low & plan->mask;
    for (;; at = (at + 1) & plan->mask) {
        dm_hash128 there = plan->table[at];
        bool empty = there.low == 0 && there.high == 0;
        if (empty || (there.low == form.low && there.high == form.high))
            return at;
    }
}

bool dm_synth_plan_offer(dm_synth_plan *plan, int attempt, dm_hash128 form)
{
    uint64_t at = find(plan, form);
    if (plan->table[at].low != 0 || plan->table[at].high != 0)
        return false;
    plan->table[at] = form;
    plan->attempts[plan->decided++] = (uint16_t)attempt;
    return true;
}

bool dm_synth_plan_spare(const dm_synth_plan *plan, dm_hash128 form, uint64_t shard,
                         uint64_t shards)
{
    dm_hash128 there = plan->table[find(plan, form)];
    return there.low == 0 && there.high == 0 && form.high % shards == shard;
}

/* ---- Deciding by generating ---- */

typedef struct worker {
    dm_synth_generator *generator;
    dm_synth_record record;
    dm_buffer scratch;
    dm_status status;
    dm_error err;
} worker;

typedef struct extension {
    const dm_synth_plan *plan;
    uint64_t first;
    dm_hash128 *forms;
    worker *workers;
} extension;

static dm_status form_of(const dm_synth_plan *plan, worker *w, uint64_t slot, int attempt,
                         dm_hash128 *out)
{
    dm_status status = dm_synth_generate(w->generator, plan->options.seed, slot, attempt,
                                         dm_synth_plan_category(plan, slot), &w->record, &w->err);
    if (status == DM_OK)
        *out = dm_synth_canonical_hash(dm_buffer_text(&w->record.python_source),
                                       w->record.python_source.size, &w->scratch);
    return status;
}

static void find_forms(void *user, uint64_t begin, uint64_t end, int number)
{
    extension *e = user;
    worker *w = &e->workers[number];
    for (uint64_t i = begin; i < end && w->status == DM_OK; i++)
        w->status = form_of(e->plan, w, e->first + i, 0, &e->forms[i]);
}

static dm_status decide(dm_synth_plan *plan, worker *w, dm_hash128 form)
{
    for (int attempt = 0; !dm_synth_plan_offer(plan, attempt, form);) {
        if (++attempt == DM_SYNTH_ATTEMPT_SPARE)
            return dm_fail(&w->err, DM_EUNSUPPORTED, "no new kernel for slot %llu in %d attempts",
                           (unsigned long long)plan->decided, attempt);
        dm_status status = form_of(plan, w, plan->decided, attempt, &form);
        if (status != DM_OK)
            return status;
    }
    return DM_OK;
}

static dm_status extend(dm_synth_plan *plan, uint64_t slots, dm_pool *pool, extension *e,
                        dm_error *err)
{
    int threads = dm_pool_threads(pool);
    while (plan->decided < slots) {
        uint64_t count = slots - plan->decided < CHUNK ? slots - plan->decided : CHUNK;
        e->first = plan->decided;
        dm_pool_run(pool, count, 64, find_forms, e);
        for (int i = 0; i < threads; i++)
            if (e->workers[i].status != DM_OK) {
                *err = e->workers[i].err;
                return e->workers[i].status;
            }
        for (uint64_t i = 0; i < count; i++) {
            dm_status status = decide(plan, &e->workers[0], e->forms[i]);
            if (status != DM_OK) {
                *err = e->workers[0].err;
                return status;
            }
        }
    }
    return DM_OK;
}

dm_status dm_synth_plan_extend(dm_synth_plan *plan, uint64_t slots, dm_pool *pool, dm_error *err)
{
    int threads = dm_pool_threads(pool);
    dm_error unused;
    if (plan->decided >= slots)
        return DM_OK;
    extension e = {.plan = plan};
    e.workers = calloc((size_t)threads, sizeof *e.workers);
    e.forms = calloc(CHUNK, sizeof *e.forms);
    dm_status status = DM_OK;
    if (e.workers == NULL || e.forms == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < threads && status == DM_OK; i++) {
        dm_synth_record_init(&e.workers[i].record);
        status = dm_synth_generator_create(plan->options.profile, &e.workers[i].generator, err);
    }
    if (status == DM_OK)
        status = extend(plan, slots, pool, &e, err != NULL ? err : &unused);
    for (int i = 0; e.workers != NULL && i < threads; i++) {
        dm_synth_generator_destroy(e.workers[i].generator);
        dm_synth_record_deinit(&e.workers[i].record);
        dm_buffer_deinit(&e.workers[i].scratch);
    }
    free(e.workers);
    free(e.forms);
    return status;
}
