/* SPDX-License-Identifier: MIT */
/* dynamics_check.c - values of the dynamics kernels against the float64 reference. */
#include "cli/dynamics_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report_distance(dm_dyn_bench *b, const char *what, double distance)
{
    bool good = distance <= DM_DYNAMICS_TOLERANCE;
    b->wrong += !good;
    printf("  %-52s %9.2e%s\n", what, distance, good ? "" : "   WRONG");
    dm_json_begin_object(&b->json, NULL);
    dm_json_string(&b->json, "what", what);
    dm_json_double(&b->json, "distance", distance);
    dm_json_end_object(&b->json);
}

typedef struct rollout_case {
    dm_dynamics_config config;
    uint32_t rollouts, steps;
    dm_dyn_road road;
    uint32_t cluster_blocks;
    uint32_t tile; /* rollouts per thread; clusters: 1 for the head in every warp */
} rollout_case;

static dm_status check_rollout(dm_dyn_bench *b, const rollout_case *k, dm_error *err)
{
    static const char *const roads[] = {"auto", "cluster", "batch", "stream"};
    dm_bench_model s;
    dm_reference_results want = {0};
    char what[128];
    dm_status status = dm_bench_model_init(b, &s, k->config, err);
    if (status == DM_OK)
        status = dm_bench_model_rollout(&s, k->rollouts, k->steps, err);
    if (status == DM_OK) {
        s.on->road = k->road;
        s.on->cluster_blocks = k->cluster_blocks;
        s.on->tile_rollouts = k->tile;
        s.on->head_each = k->road == DM_DYN_ROAD_CLUSTER && k->tile != 0;
        status = dm_bench_rollout(&s, err);
    }
    if (status == DM_OK)
        status =
            dm_reference_rollout(s.model, s.features, s.hidden, k->rollouts, k->steps, &want, err);
    snprintf(what, sizeof what, "rollout %ux%ux%u h%u s%u i%u %s%s %s %u/%u", k->rollouts,
             k->config.members, k->steps, k->config.hidden, k->config.stochastic, k->config.input,
             k->config.kind == DM_GRU_RESET_LAST ? "last" : "first",
             k->config.projection ? "+proj" : "", roads[k->road], k->cluster_blocks, k->tile);
    if (status == DM_OK)
        report_distance(b, what, dm_reference_rollout_distance(s.rollout, &want));
    else
        dm_error_prefix(err, "%s", what);
    if (status == DM_OK) {
        /* The same bits again. */
        size_t bytes = (size_t)k->rollouts * k->config.members * k->steps * sizeof(float);
        float *first = malloc(bytes);
        if (first != NULL) {
            memcpy(first, s.rollout->loss, bytes);
            status = dm_bench_rollout(&s, err);
            if (memcmp(first, s.rollout->loss, bytes) != 0) {
                printf("  %-52s other bits the second time   WRONG\n", what);
                b->wrong++;
            }
        }
        free(first);
    }
    dm_reference_results_deinit(&want);
    dm_bench_model_deinit(&s);
    return status;
}

static dm_status check_gru(dm_dyn_bench *b, uint32_t hidden, uint32_t input, size_t batch,
                           dm_gru_kind kind, int block, dm_error *err)
{
    dm_bench_model s;
    char what[128];
    dm_status status =
        dm_bench_model_init(b, &s, (dm_dynamics_config){1, hidden, 1, input, kind, false}, err);
    double *want = malloc(batch * hidden * sizeof *want);
    if (status == DM_OK)
        status = want != NULL ? dm_bench_model_gru(&s, batch, err)
                              : dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK) {
        s.on->gru_block = block;
        status = dm_bench_gru(&s, err);
    }
    if (status == DM_OK)
        status = dm_reference_gru(s.model, 0, batch, s.x, s.h, want, err);
    snprintf(what, sizeof what, "gru h%u i%u batch %zu %s %d", hidden, input, batch,
             kind == DM_GRU_RESET_LAST ? "last" : "first", block);
    if (status == DM_OK)
        report_distance(b, what, dm_reference_distance(s.out, want, batch * hidden));
    else
        dm_error_prefix(err, "%s", what);
    free(want);
    dm_bench_model_deinit(&s);
    return status;
}

static dm_status check_rollouts(dm_dyn_bench *b, const char *key, const rollout_case *cases,
                                size_t count, dm_error *err)
{
    dm_status status = DM_OK;
    printf("values: distance from float64, of the largest magnitude (limit %g)\n",
           DM_DYNAMICS_TOLERANCE);
    dm_json_begin_array(&b->json, key);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = check_rollout(b, &cases[i], err);
    dm_json_end_array(&b->json);
    return status;
}

#define FIRST DM_GRU_RESET_FIRST
#define LAST DM_GRU_RESET_LAST

dm_status dm_bench_check_cluster(dm_dyn_bench *b, dm_error *err)
{
    static const rollout_case cases[] = {
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 16, 0},
        {{5, 256, 32, 64, LAST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{3, 100, 40, 70, FIRST, false}, 3, 21, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{2, 300, 7, 5, LAST, false}, 2, 20, DM_DYN_ROAD_CLUSTER, 16, 0},
        {{2, 512, 32, 1100, FIRST, false}, 2, 20, DM_DYN_ROAD_CLUSTER, 16, 0},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 8, 1},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 16, 1},
        {{5, 256, 32, 64, LAST, false}, 1, 50, DM_DYN_ROAD_CLUSTER, 8, 1},
        {{3, 512, 40, 70, LAST, false}, 3, 21, DM_DYN_ROAD_CLUSTER, 16, 1},
        {{2, 1000, 32, 64, FIRST, false}, 2, 15, DM_DYN_ROAD_CLUSTER, 0, 0},
        {{1, 2048, 40, 70, LAST, false}, 2, 8, DM_DYN_ROAD_CLUSTER, 0, 0},
        {{1, 1, 1, 1, FIRST, false}, 1, 1, DM_DYN_ROAD_CLUSTER, 8, 0},
        {{5, 256, 32, 64, FIRST, false}, 20, 50, DM_DYN_ROAD_CLUSTER, 8, 0},
    };
    return check_rollouts(b, "check_cluster", cases, sizeof cases / sizeof cases[0], err);
}

dm_status dm_bench_check_batch(dm_dyn_bench *b, dm_error *err)
{
    static const rollout_case cases[] = {
        {{5, 256, 32, 64, FIRST, false}, 45, 20, DM_DYN_ROAD_BATCH, 0, 10},
        {{5, 256, 32, 64, LAST, false}, 45, 20, DM_DYN_ROAD_BATCH, 0, 10},
        {{2, 256, 32, 64, FIRST, false}, 9, 20, DM_DYN_ROAD_BATCH, 0, 2},
        {{2, 200, 19, 3, FIRST, false}, 23, 20, DM_DYN_ROAD_BATCH, 0, 5},
        {{2, 50, 9, 64, FIRST, false}, 41, 20, DM_DYN_ROAD_BATCH, 0, 10},
        {{1, 500, 32, 64, FIRST, false}, 21, 10, DM_DYN_ROAD_BATCH, 0, 5},
        {{1, 500, 32, 64, LAST, false}, 21, 10, DM_DYN_ROAD_BATCH, 0, 5},
        {{2, 256, 32, 64, FIRST, true}, 2, 20, DM_DYN_ROAD_STREAM, 0, 0},
        {{2, 130, 32, 64, LAST, true}, 2, 20, DM_DYN_ROAD_STREAM, 0, 0},
        {{1, 1500, 32, 64, FIRST, false}, 1, 10, DM_DYN_ROAD_AUTO, 0, 0},
        {{5, 256, 32, 64, FIRST, false}, 300, 5, DM_DYN_ROAD_AUTO, 0, 0},
    };
    return check_rollouts(b, "check_batch", cases, sizeof cases / sizeof cases[0], err);
}

dm_status dm_bench_check_gru(dm_dyn_bench *b, dm_error *err)
{
    static const struct {
        uint32_t hidden, input;
        size_t batch;
        int block;
    } cases[] = {{256, 64, 1, 0},    {256, 64, 2, 0},    {255, 63, 3, 0},    {64, 64, 8, 0},
                 {100, 5, 13, -1},   {4096, 64, 4, 0},   {1, 1, 1, 0},       {256, 64, 70, 32},
                 {100, 7, 33, 32},   {256, 64, 200, 64}, {333, 65, 150, 64}, {512, 64, 300, 128},
                 {99, 33, 257, 128}, {4100, 64, 24, 0},  {1, 1, 50, 128}};
    dm_status status = DM_OK;
    printf("values: distance from float64, of the largest magnitude (limit %g)\n",
           DM_DYNAMICS_TOLERANCE);
    dm_json_begin_array(&b->json, "check_gru");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && status == DM_OK; i++)
        for (int kind = 0; kind < 2 && status == DM_OK; kind++)
            status = check_gru(b, cases[i].hidden, cases[i].input, cases[i].batch,
                               (dm_gru_kind)kind, cases[i].block, err);
    dm_json_end_array(&b->json);
    return status;
}
