/* SPDX-License-Identifier: MIT */
/* dynamics_check.c - values of the dynamics kernels against the float64 reference. */
#include "cli/dynamics/dynamics_bench.h"
#include "dynamics/device/bptt.h"

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
    dm_dyn_variant variant;
    uint32_t cluster_blocks;
    uint32_t tile; /* rollouts per thread; clusters: 1 for the head in every warp */
} rollout_case;

static dm_status check_rollout(dm_dyn_bench *b, const rollout_case *k, dm_error *err)
{
    static const char *const variants[] = {"auto", "cluster", "batch", "stream"};
    dm_bench_model s;
    dm_reference_results want = {0};
    char what[128];
    dm_status status = dm_bench_model_init(b, &s, k->config, err);
    if (status == DM_OK)
        status = dm_bench_model_rollout(&s, k->rollouts, k->steps, err);
    if (status == DM_OK) {
        s.on->variant = k->variant;
        s.on->cluster_blocks = k->cluster_blocks;
        s.on->tile_rollouts = k->tile;
        s.on->head_each = k->variant == DM_DYN_VARIANT_CLUSTER && k->tile != 0;
        status = dm_bench_rollout(&s, err);
    }
    if (status == DM_OK)
        status =
            dm_reference_rollout(s.model, s.features, s.hidden, k->rollouts, k->steps, &want, err);
    snprintf(what, sizeof what, "rollout %ux%ux%u h%u s%u i%u %s%s %s %u/%u", k->rollouts,
             k->config.members, k->steps, k->config.hidden, k->config.stochastic, k->config.input,
             k->config.kind == DM_DYNAMICS_GRU_RESET_LAST ? "last" : "first",
             k->config.projection ? "+proj" : "", variants[k->variant], k->cluster_blocks, k->tile);
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
                           dm_dynamics_gru_kind kind, int block, dm_error *err)
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
             kind == DM_DYNAMICS_GRU_RESET_LAST ? "last" : "first", block);
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

#define FIRST DM_DYNAMICS_GRU_RESET_FIRST
#define LAST DM_DYNAMICS_GRU_RESET_LAST

dm_status dm_bench_check_cluster(dm_dyn_bench *b, dm_error *err)
{
    static const rollout_case cases[] = {
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_VARIANT_CLUSTER, 8, 0},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_VARIANT_CLUSTER, 16, 0},
        {{5, 256, 32, 64, LAST, false}, 1, 50, DM_DYN_VARIANT_CLUSTER, 8, 0},
        {{3, 100, 40, 70, FIRST, false}, 3, 21, DM_DYN_VARIANT_CLUSTER, 8, 0},
        {{2, 300, 7, 5, LAST, false}, 2, 20, DM_DYN_VARIANT_CLUSTER, 16, 0},
        {{2, 512, 32, 1100, FIRST, false}, 2, 20, DM_DYN_VARIANT_CLUSTER, 16, 0},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_VARIANT_CLUSTER, 8, 1},
        {{5, 256, 32, 64, FIRST, false}, 1, 50, DM_DYN_VARIANT_CLUSTER, 16, 1},
        {{5, 256, 32, 64, LAST, false}, 1, 50, DM_DYN_VARIANT_CLUSTER, 8, 1},
        {{3, 512, 40, 70, LAST, false}, 3, 21, DM_DYN_VARIANT_CLUSTER, 16, 1},
        {{2, 1000, 32, 64, FIRST, false}, 2, 15, DM_DYN_VARIANT_CLUSTER, 0, 0},
        {{1, 2048, 40, 70, LAST, false}, 2, 8, DM_DYN_VARIANT_CLUSTER, 0, 0},
        {{1, 1, 1, 1, FIRST, false}, 1, 1, DM_DYN_VARIANT_CLUSTER, 8, 0},
        {{5, 256, 32, 64, FIRST, false}, 20, 50, DM_DYN_VARIANT_CLUSTER, 8, 0},
    };
    return check_rollouts(b, "check_cluster", cases, sizeof cases / sizeof cases[0], err);
}

dm_status dm_bench_check_batch(dm_dyn_bench *b, dm_error *err)
{
    static const rollout_case cases[] = {
        {{5, 256, 32, 64, FIRST, false}, 45, 20, DM_DYN_VARIANT_BATCH, 0, 10},
        {{5, 256, 32, 64, LAST, false}, 45, 20, DM_DYN_VARIANT_BATCH, 0, 10},
        {{2, 256, 32, 64, FIRST, false}, 9, 20, DM_DYN_VARIANT_BATCH, 0, 2},
        {{2, 200, 19, 3, FIRST, false}, 23, 20, DM_DYN_VARIANT_BATCH, 0, 5},
        {{2, 50, 9, 64, FIRST, false}, 41, 20, DM_DYN_VARIANT_BATCH, 0, 10},
        {{1, 500, 32, 64, FIRST, false}, 21, 10, DM_DYN_VARIANT_BATCH, 0, 5},
        {{1, 500, 32, 64, LAST, false}, 21, 10, DM_DYN_VARIANT_BATCH, 0, 5},
        {{2, 256, 32, 64, FIRST, true}, 2, 20, DM_DYN_VARIANT_STREAM, 0, 0},
        {{2, 130, 32, 64, LAST, true}, 2, 20, DM_DYN_VARIANT_STREAM, 0, 0},
        {{1, 1500, 32, 64, FIRST, false}, 1, 10, DM_DYN_VARIANT_AUTO, 0, 0},
        {{5, 256, 32, 64, FIRST, false}, 300, 5, DM_DYN_VARIANT_AUTO, 0, 0},
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
                               (dm_dynamics_gru_kind)kind, cases[i].block, err);
    dm_json_end_array(&b->json);
    return status;
}

/* ---- Gradients ---- */

/* The furthest part of any member's gradient. */
static double gradient_distance(const dm_dynamics *model, const float *got, const double *want)
{
    const dm_dynamics_layout *l = &model->layout;
    double furthest = 0;
    for (size_t e = 0; e < model->config.members; e++) {
        for (int part = 0; part < DM_DYNAMICS_PART_COUNT; part++) {
            double distance =
                dm_reference_distance(got + e * l->stride + l->offset[part],
                                      want + e * l->total + l->offset[part], l->count[part]);
            furthest = distance > furthest ? distance : furthest;
        }
    }
    return furthest;
}

static dm_status run_gradients(dm_bptt *bptt, dm_bench_model *s, uint32_t sequences,
                               uint32_t forced, uint32_t steps, const float *dloss, float *got,
                               dm_error *err)
{
    size_t rows = (size_t)sequences * steps * s->model->config.members;
    dm_status status = dm_bptt_forward(bptt, sequences, forced, steps, s->features, s->hidden, err);
    if (status == DM_OK)
        status = dm_bptt_write(bptt, bptt->args.dloss, dloss, rows * sizeof(float), err);
    if (status == DM_OK)
        status = dm_bptt_backward(bptt, NULL, err);
    size_t count = s->model->config.members * s->model->layout.stride;
    return status != DM_OK ? status
                           : dm_bptt_read(bptt, bptt->args.grad, got, count * sizeof(float), err);
}

static dm_status check_train(dm_dyn_bench *b, dm_dynamics_config config, uint32_t sequences,
                             uint32_t forced, uint32_t steps, dm_error *err)
{
    dm_bench_model s;
    dm_bptt bptt = {0};
    size_t E = config.members, rows = E * steps * sequences;
    dm_status status = dm_bench_model_init(b, &s, config, err);
    /* Features of sequences are those of as many rollouts. */
    if (status == DM_OK)
        status = dm_bench_model_rollout(&s, sequences * forced, steps, err);
    if (status == DM_OK)
        status = dm_bptt_init(&bptt, b->device, s.model, err);
    float *dloss = malloc(rows * sizeof *dloss), *got = NULL, *again = NULL;
    double *loss = malloc(rows * sizeof *loss), *grad = NULL,
           *dh0 = malloc(E * sequences * config.hidden * sizeof *dh0);
    if (status == DM_OK) {
        got = malloc(E * s.model->layout.stride * sizeof *got);
        again = malloc(E * s.model->layout.stride * sizeof *again);
        grad = calloc(E * s.model->layout.total, sizeof *grad);
        if (dloss == NULL || got == NULL || again == NULL || loss == NULL || grad == NULL ||
            dh0 == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < rows && status == DM_OK; i++)
        dloss[i] = 0.1f * (float)((int)(i % 17) - 8);
    if (status == DM_OK)
        status = run_gradients(&bptt, &s, sequences, forced, steps, dloss, got, err);
    if (status == DM_OK)
        status = run_gradients(&bptt, &s, sequences, forced, steps, dloss, again, err);
    if (status == DM_OK)
        status = dm_reference_gradients(s.model, sequences, forced, steps, s.features, s.hidden,
                                        dloss, loss, dh0, grad, err);
    if (status == DM_OK) {
        char what[128];
        snprintf(what, sizeof what, "gradients %ux%ux%u h%u s%u i%u %s%s", sequences,
                 config.members, steps, config.hidden, config.stochastic, config.input,
                 config.kind == DM_DYNAMICS_GRU_RESET_LAST ? "last" : "first",
                 config.projection ? "+proj" : "");
        report_distance(b, what, gradient_distance(s.model, got, grad));
        for (size_t e = 0; e < E; e++) {
            size_t at = e * s.model->layout.stride;
            if (memcmp(got + at, again + at, s.model->layout.total * sizeof *got) == 0)
                continue;
            printf("  %-52s other bits the second time   WRONG\n", what);
            b->wrong++;
        }
    }
    free(dloss);
    free(got);
    free(again);
    free(loss);
    free(grad);
    free(dh0);
    dm_bptt_deinit(&bptt);
    dm_bench_model_deinit(&s);
    return status;
}

dm_status dm_bench_check_train(dm_dyn_bench *b, dm_error *err)
{
    static const struct {
        dm_dynamics_config config;
        uint32_t sequences, forced, steps;
    } cases[] = {
        {{2, 256, 32, 64, FIRST, false}, 1, 1, 10},  {{2, 256, 32, 64, LAST, false}, 3, 5, 10},
        {{2, 100, 40, 70, FIRST, true}, 20, 4, 8},   {{1, 130, 7, 5, LAST, true}, 70, 3, 6},
        {{1, 512, 32, 64, FIRST, false}, 9, 2, 4},   {{1, 1, 1, 1, FIRST, false}, 1, 1, 2},
        {{1, 30, 100, 20, FIRST, false}, 65, 1, 20},
    };
    dm_status status = DM_OK;
    printf("values: distance from float64, of the largest magnitude (limit %g)\n",
           DM_DYNAMICS_TOLERANCE);
    dm_json_begin_array(&b->json, "check_train");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && status == DM_OK; i++)
        status = check_train(b, cases[i].config, cases[i].sequences, cases[i].forced,
                             cases[i].steps, err);
    dm_json_end_array(&b->json);
    return status;
}
