/* SPDX-License-Identifier: MIT */
/* produce.c - the flow of a production: set-up, shards one after the other, resuming, the manifest.
 * produce_wave.c makes their records. */
#include "synth/produce.h"

#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/stop.h"
#include "synth/produce_internal.h"
#include "synth/store/compress.h"
#include "synth/store/folder.h"
#include "synth/store/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With verification the first wave is small, and each next one twice as large, up to whole batches:
 * so the pace is known after a second, and the progress bar can move while compilers work. */
#define FIRST_SLOTS 8 /* of a thread */

/* ---- Shards ---- */

static dm_status open_shard(dm_synth_producer *p, uint64_t number, uint64_t begin, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    dm_synth_shard_lines lines = {
        .seed = o->seed, .first = begin, .check = dm_synth_produce_check_line, .user = p};
    dm_status status = DM_OK;
    p->first = begin;
    p->replaced_count = 0;
    p->pairs.file = p->rejected.file = -1;
    if (o->rejected)
        status = dm_synth_shard_open_anew(&p->rejected, o->folder, "rejected", number, o->compress,
                                          o->seed, err);
    if (status == DM_OK)
        status =
            dm_synth_shard_open(&p->pairs, o->folder, "pairs", number, o->compress, &lines, err);
    dm_synth_tally_merge(&p->rejected.tally, &p->workers[0].rejected);
    p->workers[0].rejected = (dm_synth_tally){0};
    if (status == DM_OK)
        status = dm_synth_plan_extend(p->plan, begin + p->pairs.lines, p->pool, err);
    return status;
}

/* Is the shard complete as its state says, with its rejected programs? *seconds: time spent so far. */
static dm_status find_shard(dm_synth_producer *p, uint64_t number, bool *whole, double *seconds,
                            dm_error *err)
{
    static const char *const kinds[] = {"pairs", "rejected"};
    const dm_synth_produce_options *o = p->options;
    dm_status status = DM_OK;
    *whole = true;
    *seconds = 0;
    for (int k = 0; k < (o->rejected ? 2 : 1) && status == DM_OK; k++) {
        dm_synth_shard_state state;
        dm_synth_shard_condition condition;
        char name[DM_SYNTH_SHARD_NAME_MAX];
        status =
            dm_synth_shard_check(o->folder, kinds[k], number, o->compress, &state, &condition, err);
        if (status != DM_OK)
            break;
        *whole = *whole && condition == DM_SYNTH_SHARD_WHOLE;
        *seconds += condition != DM_SYNTH_SHARD_NONE ? state.seconds : 0;
        dm_synth_shard_name(name, kinds[k], number, o->compress);
        if (condition == DM_SYNTH_SHARD_CUT)
            dm_log(DM_LOG_WARN, "%s/%s is shorter than it was made; what is missing is made again",
                   o->folder, name);
    }
    return status;
}

static dm_status produce_shard(dm_synth_producer *p, uint64_t number, double seconds,
                               uint64_t *shipped, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    uint64_t begin = number * (uint64_t)o->shard_lines, end = begin + (uint64_t)o->shard_lines;
    uint64_t start = dm_time_ns();
    end = end < o->count ? end : o->count;
    dm_status status = open_shard(p, number, begin, err);
    while (status == DM_OK && begin + p->pairs.lines < end && !dm_stop_requested()) {
        uint64_t first = begin + p->pairs.lines, left = end - first;
        int count = left < (uint64_t)p->wave ? (int)left : p->wave;
        status = dm_synth_produce_wave(p, first, count, err);
        *shipped += status == DM_OK ? (uint64_t)count : 0;
    }
    seconds += (double)(dm_time_ns() - start) / 1e9;
    if (status == DM_OK && begin + p->pairs.lines < end) { /* the next run goes on with it */
        dm_synth_shard_close(&p->pairs);
        dm_synth_shard_close(&p->rejected);
        return DM_OK;
    }
    if (status == DM_OK && o->rejected)
        status = dm_synth_shard_finish(&p->rejected, 0, o->rank, err);
    if (status == DM_OK)
        status = dm_synth_shard_finish(&p->pairs, seconds, o->rank, err);
    dm_synth_shard_close(&p->pairs);
    dm_synth_shard_close(&p->rejected);
    return status;
}

static uint64_t slots_of(const dm_synth_produce_options *o, uint64_t shard)
{
    uint64_t left = o->count - shard * (uint64_t)o->shard_lines;
    return left < (uint64_t)o->shard_lines ? left : (uint64_t)o->shard_lines;
}

static dm_status produce_all(dm_synth_producer *p, dm_synth_produced *produced, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    uint64_t shards = dm_synth_shard_count(o), own = 0, start = dm_time_ns();
    dm_status status = DM_OK;
    for (uint64_t i = (uint64_t)o->rank; i < shards; i += (uint64_t)o->ranks)
        own += slots_of(o, i);
    if (!o->quiet)
        p->progress = dm_progress_start("produce", "pairs", own);
    for (uint64_t i = (uint64_t)o->rank; i < shards && status == DM_OK && !dm_stop_requested();
         i += (uint64_t)o->ranks) {
        bool whole;
        double seconds;
        status = find_shard(p, i, &whole, &seconds, err);
        if (status == DM_OK && whole)
            dm_progress_add(p->progress, slots_of(o, i));
        else if (status == DM_OK)
            status = produce_shard(p, i, seconds, &produced->shipped, err);
    }
    dm_progress_finish(p->progress);
    produced->seconds = (double)(dm_time_ns() - start) / 1e9;
    return status;
}

/* ---- Set-up ---- */

static void add_progress(void *user, uint64_t pairs)
{
    dm_synth_producer *p = user;
    if (!p->replacing) /* another attempt at a pair that was counted */
        dm_progress_add(p->progress, pairs);
}

static dm_status set_up_workers(dm_synth_producer *p, dm_error *err)
{
    const dm_synth_produce_options *o = p->options;
    dm_status status = dm_pool_create(o->jobs, &p->pool, err);
    if (status != DM_OK)
        return status;
    p->threads = dm_pool_threads(p->pool);
    p->workers = calloc((size_t)p->threads, sizeof *p->workers);
    if (p->workers == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_synth_verify_options verify = {.level = o->level,
                                      .seed = o->seed,
                                      .repairs = o->repairs,
                                      .warp = o->warp,
                                      .ptx = o->ptx,
                                      .warp_names = (o->texts & DM_SYNTH_WARP_NAMES) != 0,
                                      .progress = add_progress,
                                      .user = p};
    for (int i = 0; i < p->threads && status == DM_OK; i++) {
        dm_synth_produce_worker *w = &p->workers[i];
        dm_synth_record_init(&w->texts);
        status = dm_synth_generator_create(p->profile, &w->generator, err);
        if (status == DM_OK)
            status = dm_synth_compiler_create(&w->compiler, err);
        if (status == DM_OK && o->level > DM_SYNTH_VERIFY_NONE)
            status = dm_synth_verifier_create(&verify, &w->verifier, err);
    }
    if (status != DM_OK)
        return status;
    p->batch = p->workers[0].verifier == NULL ? 1 : dm_synth_verifier_batch(p->workers[0].verifier);
    p->capacity = p->threads * (p->workers[0].verifier == NULL ? DM_SYNTH_WAVE_SLOTS : p->batch);
    p->wave = p->workers[0].verifier == NULL ? p->capacity : p->threads * FIRST_SLOTS;
    p->slots = calloc((size_t)p->capacity, sizeof *p->slots);
    p->lines = calloc((size_t)p->capacity, sizeof(const dm_buffer *));
    if (p->slots == NULL || p->lines == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < p->capacity; i++) {
        dm_synth_record_init(&p->slots[i].record);
        dm_synth_record_init(&p->slots[i].rejected);
    }
    return DM_OK;
}

static void tear_down(dm_synth_producer *p)
{
    for (int i = 0; p->slots != NULL && i < p->capacity; i++) {
        dm_synth_record_deinit(&p->slots[i].record);
        dm_synth_record_deinit(&p->slots[i].rejected);
        dm_buffer_deinit(&p->slots[i].line);
        dm_buffer_deinit(&p->slots[i].rejected_line);
    }
    for (int i = 0; p->workers != NULL && i < p->threads; i++) {
        dm_synth_generator_destroy(p->workers[i].generator);
        dm_synth_compiler_destroy(p->workers[i].compiler);
        dm_synth_verifier_destroy(p->workers[i].verifier);
        dm_synth_record_deinit(&p->workers[i].texts);
        dm_buffer_deinit(&p->workers[i].scratch);
    }
    free(p->slots);
    free(p->lines);
    free(p->workers);
    free(p->replaced);
    dm_synth_plan_destroy(p->plan);
    dm_pool_destroy(p->pool);
    dm_synth_profile_destroy(p->profile);
    if (p->lock >= 0)
        close(p->lock);
}

/* Two processes may not write the same shards. The lock goes with the process: a child that runs
 * kernels does not have it, and may outlive a killed parent for a moment. */
static dm_status take_lock(dm_synth_producer *p, dm_error *err)
{
    char name[64], path[DM_PATH_MAX];
    snprintf(name, sizeof name, "state/lock-%d-of-%d", p->options->rank, p->options->ranks);
    dm_status status = dm_path_join(path, p->options->folder, name, err);
    if (status != DM_OK)
        return status;
    p->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->lock < 0)
        return dm_fail(err, DM_EIO, "cannot open %s: %s", path, strerror(errno));
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(p->lock, F_SETLK, &whole) != 0)
        return dm_fail(err, DM_EINVAL, "%s is being produced by another process",
                       p->options->folder);
    return DM_OK;
}

static dm_status check_options(const dm_synth_produce_options *o, dm_error *err)
{
    if (o->count == 0 || o->shard_lines <= 0 || o->category_count <= 0)
        return dm_fail(err, DM_EINVAL, "nothing to produce");
    if ((o->texts & (DM_SYNTH_TEXT_CUDA | DM_SYNTH_TEXT_C)) == 0)
        return dm_fail(err, DM_EINVAL, "records need texts for a device");
    if (o->compress && dm_synth_compress_check(err) != DM_OK)
        return DM_EUNSUPPORTED;
    if (o->warp != NULL && o->level == DM_SYNTH_VERIFY_NONE)
        return dm_fail(err, DM_EINVAL, "--warp-text needs --verify compile at least");
    if (o->rank < 0 || o->ranks <= 0 || o->rank >= o->ranks)
        return dm_fail(err, DM_EINVAL, "rank %d of %d", o->rank, o->ranks);
    return DM_OK;
}

dm_status dm_synth_produce(const dm_synth_produce_options *options, dm_synth_produced *produced,
                           dm_error *err)
{
    char state[DM_PATH_MAX];
    dm_synth_producer p = {.options = options, .lock = -1};
    *produced = (dm_synth_produced){0};
    dm_status status = check_options(options, err);
    if (status == DM_OK)
        status = dm_path_join(state, options->folder, "state", err);
    if (status == DM_OK)
        status = dm_synth_profile_create(options->profile, &p.profile, err);
    if (status == DM_OK) {
        p.profile->style = options->style;
        p.profile->slower = options->slower;
        p.profile->programs = options->programs;
    }
    if (status == DM_OK)
        status = dm_synth_folder_check(options->folder, err);
    if (status == DM_OK)
        status = dm_synth_manifest_compare(options, p.profile, err);
    if (status == DM_OK)
        status = dm_dir_create(state, err);
    if (status == DM_OK)
        status = take_lock(&p, err);
    if (status == DM_OK && options->ranks == 1) /* else another rank may be writing */
        status = dm_synth_folder_sweep(options->folder, err);
    if (status == DM_OK)
        status = dm_synth_manifest_begin(options, p.profile, err);
    if (status == DM_OK)
        status = set_up_workers(&p, err);
    if (status == DM_OK) {
        dm_synth_plan_options plan = {.seed = options->seed,
                                      .slots = options->count,
                                      .categories = options->categories,
                                      .category_count = options->category_count,
                                      .profile = p.profile};
        status = dm_synth_plan_create(&plan, &p.plan, err);
    }
    if (status == DM_OK)
        status = produce_all(&p, produced, err);
    if (status == DM_OK && dm_stop_requested())
        dm_stop_kept("%llu pairs are in %s; the same call goes on with them",
                     (unsigned long long)produced->shipped, options->folder);
    else if (status == DM_OK)
        status = dm_synth_manifest_finish(options, p.profile, produced, err);
    tear_down(&p);
    return status;
}

void dm_synth_ranks(int *rank, int *ranks)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    *rank = 0;
    *ranks = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *own = getenv(names[i][0]), *all = getenv(names[i][1]);
        if (own == NULL || all == NULL || atoi(all) < 1 || atoi(own) < 0 || atoi(own) >= atoi(all))
            continue;
        *rank = atoi(own);
        *ranks = atoi(all);
        return;
    }
}
