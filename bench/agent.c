/* SPDX-License-Identifier: MIT */
/* agent.c - how fast agents learn: rounds of training by a configuration, with the shares of the game, of acting and of
 * learning; the first two rounds, in which kernels are compiled, algorithms chosen and graphs captured, do not count.
 *
 *     dm-bench-agent [--parts K | --kernels] DEVICE FOLDER ROUNDS CONFIG.json [NAME=VALUE ...]
 *
 * One line of JSON. FOLDER is made anew. With --parts K the machines are shared out to K learners that run at the same
 * time, each on a stream of its own: how much is gained when one part plays while another learns. --kernels: without
 * graphs, and the networks' kernels of a round by the time that they take. */
#include "agent/learner_internal.h"
#include "agent/run.h"
#include "base/file.h"
#include "base/thread.h"
#include "nn/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 16 };

typedef struct part {
    dm_agent_run *run;
    dm_agent_figures figures;
    double world, act, learn; /* seconds */
    dm_status status;
    dm_error err;
} part;

typedef struct bench {
    const char *device, *folder;
    dm_agent_config config; /* of a part */
    long rounds;            /* of the next call of `play` */
    part parts[PARTS_MAX];
} bench;

static void begin(void *user, uint64_t first, uint64_t last, int worker)
{
    bench *b = user;
    (void)worker;
    for (uint64_t i = first; i < last; i++) {
        part *p = &b->parts[i];
        dm_agent_config config = b->config;
        char folder[DM_PATH_MAX];
        config.seed += i;
        if (snprintf(folder, sizeof folder, i == 0 ? "%s" : "%s-%d", b->folder, (int)i) >=
            (int)sizeof folder)
            p->status = dm_fail(&p->err, DM_EINVAL, "the folder's name is too long");
        if (p->status == DM_OK)
            p->status = dm_agent_run_begin(b->device, &config, folder, &p->run, &p->err);
    }
}

static void play(void *user, uint64_t first, uint64_t last, int worker)
{
    bench *b = user;
    (void)worker;
    for (uint64_t i = first; i < last; i++) {
        part *p = &b->parts[i];
        p->world = p->act = p->learn = 0;
        for (long r = 0; r < b->rounds && p->status == DM_OK; r++) {
            p->status = dm_agent_learner_round(dm_agent_run_learner(p->run), &p->figures, &p->err);
            p->world += p->figures.seconds_world;
            p->act += p->figures.seconds_act;
            p->learn += p->figures.seconds_learn;
        }
    }
}

static int failed(const bench *b, uint64_t parts)
{
    for (uint64_t i = 0; i < parts; i++)
        if (b->parts[i].status != DM_OK) {
            fprintf(stderr, "dm-bench-agent: %s\n", b->parts[i].err.message);
            return 1;
        }
    return 0;
}

/* One more round, kernel by kernel. */
static dm_status kernels(dm_agent_run *run, dm_error *err)
{
    static dm_nn_profile_row rows[256];
    dm_agent_learner *l = dm_agent_run_learner(run);
    dm_agent_figures f;
    size_t count = 0;
    dm_status status = dm_nn_profile_start(&l->workers[0].exec, 65536, err);
    if (status == DM_OK)
        status = dm_agent_learner_round(l, &f, err);
    if (status == DM_OK)
        status = dm_nn_profile_stop(&l->workers[0].exec, rows, 256, &count, err);
    for (size_t i = 0; i < count && i < 256 && status == DM_OK; i++)
        printf("%9.3f ms %6u calls  %s\n", rows[i].ms, rows[i].calls, rows[i].name);
    return status;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: dm-bench-agent [--parts K | --kernels] DEVICE FOLDER ROUNDS CONFIG.json "
            "[NAME=VALUE ...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static bench b;
    uint64_t parts = 1;
    dm_pool *pool = NULL;
    dm_error err = {0};
    bool by_kernel = argc > 1 && strcmp(argv[1], "--kernels") == 0;
    if (by_kernel) {
        argv++;
        argc--;
    }
    if (argc > 2 && strcmp(argv[1], "--parts") == 0) {
        parts = (uint64_t)atol(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc < 5 || parts < 1 || parts > PARTS_MAX)
        return usage();
    b.device = argv[1];
    b.folder = argv[2];
    b.config = dm_agent_config_default;
    long rounds = atol(argv[3]);
    dm_status status = dm_agent_config_file(&b.config, argv[4], &err);
    for (int i = 5; i < argc && status == DM_OK; i++)
        status = dm_agent_config_set(&b.config, argv[i], &err);
    if (status == DM_OK && b.config.machines % parts != 0)
        status = dm_fail(&err, DM_EINVAL, "the machines are no multiple of the parts");
    b.config.machines /= parts;
    if (by_kernel)
        b.config.graphs = 0;
    if (status == DM_OK)
        status = dm_pool_create((int)parts, &pool, &err);
    if (status != DM_OK) {
        fprintf(stderr, "dm-bench-agent: %s\n", err.message);
        return 1;
    }
    dm_pool_run(pool, parts, 1, begin, &b);
    b.rounds = 2;
    if (failed(&b, parts))
        return 1;
    dm_pool_run(pool, parts, 1, play, &b);
    b.rounds = rounds;
    uint64_t before = dm_time_ns();
    if (rounds > 0 && !failed(&b, parts))
        dm_pool_run(pool, parts, 1, play, &b);
    double wall = (double)(dm_time_ns() - before) / 1e9, world = 0, act = 0, learn = 0;
    if (failed(&b, parts))
        return 1;
    for (uint64_t i = 0; i < parts; i++) {
        world += b.parts[i].world / (double)parts;
        act += b.parts[i].act / (double)parts;
        learn += b.parts[i].learn / (double)parts;
    }
    const dm_agent_config *c = &b.config;
    const dm_agent_figures *f = &b.parts[0].figures;
    double samples = (double)(parts * c->machines * c->horizon) * (double)(rounds > 0 ? rounds : 1);
    printf("{\"rom\": \"%s\", \"machines\": %" PRIu64 ", \"parts\": %" PRIu64
           ", \"horizon\": %" PRIu64 ", \"epochs\": %" PRIu64
           ", \"steps_per_second\": %.0f, \"world_share\": %.3f, "
           "\"act_share\": %.3f, \"learn_share\": %.3f, \"world_steps_per_second\": %.0f, "
           "\"inference_per_second\": %.0f, \"epoch_per_second\": %.0f, \"entropy\": %.4f, "
           "\"explained\": %.3f}\n",
           c->rom, parts * c->machines, parts, c->horizon, c->epochs, samples / wall, world / wall,
           act / wall, learn / wall, samples / world, samples / act,
           samples * (double)c->epochs / learn, f->entropy, f->explained);
    if (by_kernel && kernels(b.parts[0].run, &err) != DM_OK) {
        fprintf(stderr, "dm-bench-agent: %s\n", err.message);
        return 1;
    }
    for (uint64_t i = 0; i < parts; i++)
        dm_agent_run_close(b.parts[i].run);
    dm_pool_destroy(pool);
    return 0;
}
