/* SPDX-License-Identifier: MIT */
/* dynamics_bench.h - how fast and how right the dynamics kernels are: `dotmatrix dynamics bench`
 * and `check`, and the program dm-bench-dynamics.
 *
 *   dynamics_bench.c   what the parts share: models, timing; runs the parts that were asked for
 *   dynamics_check.c   values against the float64 reference, over sizes and kernels
 *   dynamics_time.c    rollouts, steps of batches, encoders, memory
 *   dynamics_updates.c updates of the weights
 *
 * Device times are those of launches recorded in a graph and replayed, between two events: no host
 * in between; medians of nine. */
#ifndef DM_CLI_DYNAMICS_BENCH_H
#define DM_CLI_DYNAMICS_BENCH_H

#include "base/json.h"
#include "dynamics/device/model.h"
#include "dynamics/reference_model.h"

typedef struct dm_dyn_bench {
    const char *device_id; /* "cpu:1", "cuda:0" */
    const char *only;      /* parts, separated by commas; NULL: all */
    const char *dump; /* folder for a few GRU steps, for comparison with PyTorch; may be NULL */
    bool quick;       /* fewer sizes */
    /* Filled while it runs. */
    dm_device *device;
    bool cuda;
    dm_json json;
    int wrong;                  /* values outside the tolerance */
    double few_us, few_wall_us; /* 1 x 5 x 50, h 256: on the device, and with copies */
    double many_us;             /* one of 1,024 such, on the device */
} dm_dyn_bench;

/* Every name of `only` is a part's, and there is one; NULL: all. */
dm_status dm_dyn_bench_check_parts(const char *only, dm_error *err);
/* Prints tables to stdout and puts everything as JSON into `out`. */
dm_status dm_dyn_bench_run(dm_dyn_bench *bench, dm_buffer *out, dm_error *err);

/* ---- For the parts ---- */

/* A model on the device, with inputs and results. */
typedef struct dm_bench_model {
    dm_dynamics *model;
    dm_dynamics_device *on;
    float *features, *hidden;
    dm_dynamics_forecast *rollout;
    dm_dyn_rollout staged;
    dm_dyn_gru gru;
    float *x, *h, *out;
    size_t batch;
} dm_bench_model;

dm_status dm_bench_model_init(dm_dyn_bench *b, dm_bench_model *s, dm_dynamics_config config,
                              dm_error *err);
void dm_bench_model_deinit(dm_bench_model *s);
/* Random inputs, and room for results. */
dm_status dm_bench_model_rollout(dm_bench_model *s, uint32_t rollouts, uint32_t steps,
                                 dm_error *err);
dm_status dm_bench_model_gru(dm_bench_model *s, size_t batch, dm_error *err);

typedef dm_status (*dm_bench_work)(void *user, dm_error *err);
dm_status dm_bench_rollout(void *model, dm_error *err); /* a dm_bench_work */
dm_status dm_bench_gru(void *model, dm_error *err);

/* Microseconds of a call on the host, the least of nine samples: others may use the machine. A
 * sample takes at least `least_us`. */
dm_status dm_bench_time_host(dm_bench_work run, void *user, double least_us, double *us,
                             dm_error *err);
/* Median microseconds, on the device, of what `launch` queues; a graph of `count` of it. */
dm_status dm_bench_time_device(dm_dyn_bench *b, dm_bench_work launch, void *user, int count,
                               double *us, dm_error *err);

dm_status dm_bench_check_gru(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_check_batch(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_check_cluster(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_check_train(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_profile(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_rollout(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_batch(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_gru(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_train(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_encoder(dm_dyn_bench *b, dm_error *err);
dm_status dm_bench_part_memory(dm_dyn_bench *b, dm_error *err);

#endif
