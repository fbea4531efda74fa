/* SPDX-License-Identifier: MIT */
/* dynamics_time.c - times of the dynamics kernels over the grids of sizes; on the CPU beside those
 * of the plain loops. */
#include "cli/dynamics/dynamics_bench.h"

#include "base/file.h"
#include "dynamics/encoder.h"
#include "dynamics/encoder_plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT 64 /* of the GRU grid */

static dm_status run_plain_rollout(void *user, dm_error *err)
{
    dm_bench_model *s = user;
    return dm_plain_rollout(s->model, s->features, s->hidden, s->rollout, err);
}

static dm_status launch_rollout(void *user, dm_error *err)
{
    dm_bench_model *s = user;
    return dm_dyn_rollout_launch(s->on, &s->staged, err);
}

static dm_status run_plain_gru(void *user, dm_error *err)
{
    dm_bench_model *s = user;
    return dm_plain_gru(s->model, 0, s->batch, s->x, s->h, s->out, err);
}

static dm_status launch_gru(void *user, dm_error *err)
{
    dm_bench_model *s = user;
    return dm_dyn_gru_launch(s->on, &s->gru, err);
}

/* ---- Few rollouts ---- */

static dm_status measure_rollout(dm_dyn_bench *b, dm_dynamics_config config, uint32_t rollouts,
                                 uint32_t steps, dm_dyn_variant variant, uint32_t cluster_blocks,
                                 uint32_t tile, bool plain, dm_error *err)
{
    static const char *const variants[] = {"cpu", "cluster", "batch", "stream"};
    dm_bench_model s;
    double wall = 0, device = 0, reference = 0;
    dm_status status = dm_bench_model_init(b, &s, config, err);
    if (status == DM_OK)
        status = dm_bench_model_rollout(&s, rollouts, steps, err);
    if (status == DM_OK) {
        s.on->variant = variant;
        s.on->cluster_blocks = cluster_blocks;
        s.on->tile_rollouts = tile;
        status = dm_bench_time_host(dm_bench_rollout, &s, 5000, &wall, err);
    }
    if (status == DM_OK && b->cuda) {
        status = dm_dyn_rollout_stage(s.on, s.features, NULL, s.hidden, s.rollout, &s.staged, err);
        if (status == DM_OK)
            status =
                dm_bench_time_device(b, launch_rollout, &s, rollouts > 64 ? 1 : 10, &device, err);
    }
    if (status == DM_OK && plain)
        status = dm_bench_time_host(run_plain_rollout, &s, 5000, &reference, err);
    const char *name = status == DM_OK ? variants[b->cuda ? s.staged.variant : 0] : "";
    if (status == DM_OK) {
        printf("  %5u x %u x %3u h%-4u %-8s %2u %10.1f us", rollouts, config.members, steps,
               config.hidden, name, b->cuda ? s.staged.launch.cluster_blocks : 1, wall);
        if (b->cuda)
            printf("  device %9.1f us  %8.3f us each", device, device / rollouts);
        if (plain)
            printf("  plain %10.1f us  %5.1fx", reference, reference / wall);
        printf("\n");
        if (steps == 50 && config.hidden == 256 && config.members == 5 &&
            variant == DM_DYN_VARIANT_AUTO && config.kind == DM_DYNAMICS_GRU_RESET_FIRST) {
            if (rollouts == 1) {
                b->few_us = device;
                b->few_wall_us = wall;
            }
            b->many_us = rollouts == 1024 ? device / rollouts : b->many_us;
        }
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "rollouts", rollouts);
        dm_json_uint(&b->json, "members", config.members);
        dm_json_uint(&b->json, "steps", steps);
        dm_json_uint(&b->json, "hidden", config.hidden);
        dm_json_string(&b->json, "variant", name);
        dm_json_uint(&b->json, "cluster_blocks", b->cuda ? s.staged.launch.cluster_blocks : 1);
        dm_json_double(&b->json, "wall_us", wall);
        if (b->cuda)
            dm_json_double(&b->json, "device_us", device);
        if (plain)
            dm_json_double(&b->json, "plain_us", reference);
        dm_json_end_object(&b->json);
    }
    dm_bench_model_deinit(&s);
    return status;
}

dm_status dm_bench_part_rollout(dm_dyn_bench *b, dm_error *err)
{
    static const uint32_t steps[] = {10, 25, 50, 100};
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    dm_status status = DM_OK;
    printf("rollouts: rollouts x members x steps\n");
    dm_json_begin_array(&b->json, "rollout");
    for (size_t i = 0; i < 4 && status == DM_OK; i++)
        status = measure_rollout(b, config, 1, steps[i], DM_DYN_VARIANT_AUTO, 0, 0, !b->cuda, err);
    if (b->cuda && status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_VARIANT_CLUSTER, 8, 0, false, err);
    if (b->cuda && status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_VARIANT_STREAM, 0, 0, false, err);
    static const uint32_t hidden[] = {64, 128, 512, 1024, 2048};
    for (size_t i = 0; i < (b->cuda ? 5 : 4) && status == DM_OK; i++) {
        config.hidden = hidden[i];
        status = measure_rollout(b, config, 1, 50, DM_DYN_VARIANT_AUTO, 0, 0,
                                 !b->cuda && hidden[i] <= 512, err);
    }
    config.hidden = 1024;
    if (b->cuda && status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_VARIANT_STREAM, 0, 0, false, err);
    if (b->cuda && status == DM_OK)
        status = measure_rollout(b, config, 16, 50, DM_DYN_VARIANT_AUTO, 0, 0, false, err);
    config.hidden = 256;
    config.kind = DM_DYNAMICS_GRU_RESET_LAST;
    if (status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_VARIANT_AUTO, 0, 0, false, err);
    config.kind = DM_DYNAMICS_GRU_RESET_FIRST;
    config.members = 10;
    if (status == DM_OK)
        status = measure_rollout(b, config, 1, 50, DM_DYN_VARIANT_AUTO, 0, 0, false, err);
    dm_json_end_array(&b->json);
    return status;
}

/* ---- Where a step's time goes ---- */

/* Mean cycles between marks of a step of the cluster kernel (DYN_PROFILE in kernel_cluster.h). */
static dm_status profile_cluster(dm_dyn_bench *b, uint32_t blocks, bool head_each, dm_error *err)
{
    enum { STEPS = 50, MARKS = 16 };
    static const char *const names[MARKS] = {"h is here", "Uz h, Ur h",  "x0",
                                             "r*h sent",  "r*h is here", "n"};
    dm_bench_model s;
    uint32_t marks[STEPS][MARKS];
    double us = 0;
    dm_status status = dm_bench_model_init(b, &s, (dm_dynamics_config)DM_DYNAMICS_DEFAULT, err);
    if (status == DM_OK)
        status = dm_bench_model_rollout(&s, 1, STEPS, err);
    if (status == DM_OK) {
        s.on->variant = DM_DYN_VARIANT_CLUSTER;
        s.on->cluster_blocks = blocks;
        s.on->head_each = head_each;
        status = dm_dyn_rollout_stage(s.on, s.features, NULL, s.hidden, s.rollout, &s.staged, err);
    }
    if (status == DM_OK)
        status = dm_bench_time_device(b, launch_rollout, &s, 10, &us, err);
    if (status == DM_OK) {
        s.on->profile = true;
        status = dm_dyn_rollout_stage(s.on, s.features, NULL, s.hidden, s.rollout, &s.staged, err);
    }
    for (int i = 0; i < 3 && status == DM_OK; i++)
        status = dm_dyn_rollout_launch(s.on, &s.staged, err);
    if (status == DM_OK)
        status = dm_stream_download(s.on->stream, s.on->scratch, 0, marks, sizeof marks, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(s.on->stream, err);
    if (status == DM_OK) {
        printf("  clusters of %2u, head in %s: %.1f us; cycles after h:", blocks,
               head_each ? "every warp" : "a warp of its own", us);
        for (int i = 1; i <= 5; i++) {
            double sum = 0;
            for (int t = 5; t < STEPS - 1; t++)
                sum += (double)(int32_t)(marks[t][i] - marks[t][0]);
            printf("  %s %.0f", names[i], sum / (STEPS - 6));
        }
        double step = (double)(marks[STEPS - 1][0] - marks[5][0]) / (STEPS - 6), head = 0,
               stored = 0;
        for (int t = 5; t < STEPS - 1 && !head_each; t++) {
            head += (double)(int32_t)(marks[t][9] - marks[t][0]) / (STEPS - 6);
            stored += (double)(int32_t)(marks[t][10] - marks[t][0]) / (STEPS - 6);
        }
        printf("; whole step %.0f; head: loss %.0f, stored %.0f\n", step, head, stored);
    }
    dm_bench_model_deinit(&s);
    return status;
}

dm_status dm_bench_part_profile(dm_dyn_bench *b, dm_error *err)
{
    dm_status status = DM_OK;
    for (int i = 0; i < 4 && b->cuda && status == DM_OK; i++)
        status = profile_cluster(b, i & 1 ? 16 : 8, i >= 2, err);
    return status;
}

/* ---- Many rollouts ---- */

dm_status dm_bench_part_batch(dm_dyn_bench *b, dm_error *err)
{
    static const uint32_t counts[] = {4, 16, 64, 256, 1024, 4096, 16384};
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    size_t most = !b->cuda ? 3 : b->quick ? 5 : 7;
    dm_status status = DM_OK;
    printf("many rollouts\n");
    dm_json_begin_array(&b->json, "batch");
    for (size_t i = 0; i < most && status == DM_OK; i++)
        status = measure_rollout(b, config, counts[i], 50, DM_DYN_VARIANT_AUTO, 0, 0, false, err);
    if (b->cuda) {
        static const uint32_t tiles[] = {10, 5, 2};
        for (size_t i = 0; i < 3 && status == DM_OK; i++)
            status =
                measure_rollout(b, config, 1024, 50, DM_DYN_VARIANT_BATCH, 0, tiles[i], false, err);
        if (status == DM_OK)
            status = measure_rollout(b, config, 64, 50, DM_DYN_VARIANT_BATCH, 0, 2, false, err);
        if (status == DM_OK)
            status = measure_rollout(b, config, 64, 50, DM_DYN_VARIANT_CLUSTER, 8, 0, false, err);
    }
    dm_json_end_array(&b->json);
    return status;
}

/* ---- One step ---- */

static dm_status dump_file(const char *folder, const char *name, const void *data, size_t count,
                           dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, name, err);
    return status != DM_OK ? status : dm_file_write(path, data, count * sizeof(float), err);
}

/* Ours beside PyTorch's: weights in our order of gates. */
static dm_status dump_gru(dm_dyn_bench *b, dm_bench_model *s, dm_error *err)
{
    static const struct {
        const char *name;
        dm_dynamics_part part;
    } parts[] = {
        {"W", DM_DYNAMICS_W}, {"U", DM_DYNAMICS_U}, {"b", DM_DYNAMICS_B}, {"c", DM_DYNAMICS_C}};
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    char name[64];
    dm_status status = dm_dir_create(b->dump, err);
    for (size_t i = 0; i < 4 && status == DM_OK; i++) {
        size_t count;
        const float *data = dm_dynamics_weights(s->model, 0, parts[i].part, &count);
        snprintf(name, sizeof name, "gru_%u_%zu_%s.f32", c->hidden, s->batch, parts[i].name);
        status = dump_file(b->dump, name, data, count, err);
    }
    const struct {
        const char *name;
        const float *data;
        size_t count;
    } arrays[] = {{"x", s->x, s->batch * c->input},
                  {"h", s->h, s->batch * c->hidden},
                  {"out", s->out, s->batch * c->hidden}};
    for (size_t i = 0; i < 3 && status == DM_OK; i++) {
        snprintf(name, sizeof name, "gru_%u_%zu_%s.f32", c->hidden, s->batch, arrays[i].name);
        status = dump_file(b->dump, name, arrays[i].data, arrays[i].count, err);
    }
    return status;
}

static dm_status measure_gru(dm_dyn_bench *b, dm_bench_model *s, size_t batch,
                             dm_dynamics_gru_kind kind, int block, dm_error *err)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(s->model);
    double wall = 0, device = 0, plain = 0;
    dm_status status = dm_bench_model_gru(s, batch, err);
    s->on->gru_block = block;
    if (status == DM_OK && !b->cuda)
        status = dm_bench_time_host(dm_bench_gru, s, 3000, &wall, err);
    if (status == DM_OK && !b->cuda && (double)batch * c->hidden * c->hidden < 2e7)
        status = dm_bench_time_host(run_plain_gru, s, 3000, &plain, err);
    if (status == DM_OK && b->cuda) {
        status = dm_dyn_gru_stage(s->on, 0, batch, s->x, s->h, &s->gru, err);
        double work_size = (double)batch * c->hidden * c->hidden;
        if (status == DM_OK)
            status = dm_bench_time_device(b, launch_gru, s, work_size > 1e9 ? 3 : 20, &device, err);
    }
    if (status == DM_OK && b->dump != NULL && kind == DM_DYNAMICS_GRU_RESET_LAST && block == 0 &&
        c->hidden == 256 && batch <= 64) {
        status = dm_bench_gru(s, err);
        if (status == DM_OK)
            status = dump_gru(b, s, err);
    }
    if (status != DM_OK)
        return status;
    double macs = (double)batch * 3 * c->hidden * (c->hidden + (double)c->input);
    double us = b->cuda ? device : wall;
    printf("  h%-5u batch %-5zu %-5s %4d %10.1f us %8.2f TFLOP/s", c->hidden, batch,
           kind == DM_DYNAMICS_GRU_RESET_LAST ? "last" : "first", block, us, 2e-6 * macs / us);
    if (plain > 0)
        printf("  plain %10.1f us %6.1fx", plain, plain / us);
    printf("\n");
    dm_json_begin_object(&b->json, NULL);
    dm_json_uint(&b->json, "hidden", c->hidden);
    dm_json_uint(&b->json, "batch", batch);
    dm_json_string(&b->json, "kind", kind == DM_DYNAMICS_GRU_RESET_LAST ? "last" : "first");
    dm_json_int(&b->json, "block", block);
    dm_json_double(&b->json, b->cuda ? "device_us" : "wall_us", us);
    if (plain > 0)
        dm_json_double(&b->json, "plain_us", plain);
    dm_json_end_object(&b->json);
    return DM_OK;
}

dm_status dm_bench_part_gru(dm_dyn_bench *b, dm_error *err)
{
    static const uint32_t hidden[] = {64, 128, 256, 512, 1024, 2048, 4096};
    static const size_t batches[] = {1, 8, 16, 32, 64, 128, 256, 1024, 4096};
    static const int blocks[] = {-1, 32, 64, 128};
    dm_status status = DM_OK;
    printf("one step of a batch, input %d\n", INPUT);
    dm_json_begin_array(&b->json, "gru");
    for (size_t i = 0; i < 7 && status == DM_OK; i++) {
        if (!b->cuda && hidden[i] > 1024)
            break;
        for (int kind = 1; kind >= 0 && status == DM_OK; kind--) {
            dm_bench_model s;
            dm_dynamics_config config = {1, hidden[i], 1, INPUT, (dm_dynamics_gru_kind)kind, false};
            status = dm_bench_model_init(b, &s, config, err);
            for (size_t k = 0; k < 9 && status == DM_OK; k++) {
                if (!b->cuda && batches[k] * hidden[i] > 1u << 16)
                    break;
                status = measure_gru(b, &s, batches[k], (dm_dynamics_gru_kind)kind, 0, err);
                /* Other shapes, to see whether the choice by size is right. */
                for (size_t m = 0; m < 4 && b->cuda && !b->quick && status == DM_OK; m++)
                    if ((batches[k] >= 8 || blocks[m] == -1) &&
                        (blocks[m] != -1 || batches[k] <= 256))
                        status = measure_gru(b, &s, batches[k], (dm_dynamics_gru_kind)kind,
                                             blocks[m], err);
            }
            dm_bench_model_deinit(&s);
        }
    }
    dm_json_end_array(&b->json);
    return status;
}

/* ---- Encoders ---- */

typedef struct encoder_work {
    dm_dynamics_encoder *encoder;
    dm_dynamics_encoders *many;
    dm_dynamics_sample *samples;
    size_t count, next;
    uint32_t losses, norms;
    float features[DM_DYNAMICS_ENCODER_FEATURES];
    float *all; /* of many */
} encoder_work;

static dm_status run_update(void *user, dm_error *err)
{
    (void)err;
    encoder_work *w = user;
    for (int i = 0; i < 64; i++) {
        dm_dynamics_encoder_update(w->encoder, &w->samples[w->next], w->features);
        w->next = (w->next + 1) % w->count;
    }
    return DM_OK;
}

static dm_status run_from_scratch(void *user, dm_error *err)
{
    (void)err;
    encoder_work *w = user;
    dm_plain_encode(w->samples, w->count, w->losses, w->norms, w->features);
    return DM_OK;
}

static dm_status run_many(void *user, dm_error *err)
{
    encoder_work *w = user;
    return dm_dynamics_encoders_update(w->many, w->samples, NULL, err);
}

static dm_dynamics_sample bench_sample(size_t i)
{
    float wave = 1 + 0.1f * sinf((float)(i * i % 1000));
    return (dm_dynamics_sample){.step = i + 1,
                                .loss = (2.5f * powf((float)i + 1, -0.3f) + 0.2f) * wave,
                                .gradient_norm = 1 + 0.5f * wave,
                                .first_mean = 1e-3f * wave,
                                .first_std = 2e-3f,
                                .second_mean = 1e-6f * wave,
                                .second_std = 3e-6f,
                                .learning_rate = 1e-3f,
                                .beta1 = 0.9f,
                                .beta2 = 0.999f,
                                .phase = (uint32_t)(i / 100 % 4),
                                .phase_step = (uint32_t)(i % 100)};
}

/* One encoder after `history` samples: an update, and the features from scratch. */
static dm_status measure_encoder(dm_dyn_bench *b, size_t history, dm_error *err)
{
    encoder_work w = {.count = history + 1,
                      .losses = DM_DYNAMICS_ENCODER_LOSSES,
                      .norms = DM_DYNAMICS_ENCODER_NORMS};
    double update = 0, scratch = 0;
    w.samples = malloc(w.count * sizeof *w.samples);
    dm_status status = w.samples != NULL
                           ? dm_dynamics_encoder_create(w.losses, w.norms, &w.encoder, err)
                           : dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < w.count && status == DM_OK; i++) {
        w.samples[i] = bench_sample(i);
        dm_dynamics_encoder_update(w.encoder, &w.samples[i], w.features);
    }
    if (status == DM_OK)
        status = dm_bench_time_host(run_update, &w, 2000, &update, err);
    if (status == DM_OK)
        status = dm_bench_time_host(run_from_scratch, &w, 2000, &scratch, err);
    update /= 64;
    if (status == DM_OK) {
        printf("  history %3zu  update %7.3f us  from scratch %8.3f us  %6.1fx\n", history, update,
               scratch, scratch / update);
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "history", history);
        dm_json_double(&b->json, "update_us", update);
        dm_json_double(&b->json, "scratch_us", scratch);
        dm_json_end_object(&b->json);
    }
    dm_dynamics_encoder_destroy(w.encoder);
    free(w.samples);
    return status;
}

/* Many encoders on the device, each with a full window; with the copy of the samples. */
static dm_status measure_encoders(dm_dyn_bench *b, size_t count, dm_error *err)
{
    encoder_work w = {.count = count};
    double us = 0;
    w.samples = malloc(count * sizeof *w.samples);
    dm_status status = w.samples != NULL
                           ? dm_dynamics_encoders_create(b->device, count, 256, 64, &w.many, err)
                           : dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t t = 0; t < 300 && status == DM_OK; t++) {
        for (size_t i = 0; i < count; i++)
            w.samples[i] = bench_sample(t == 0 ? i : i + t);
        status = t < 260 || t % 10 == 0 ? dm_dynamics_encoders_update(w.many, w.samples, NULL, err)
                                        : DM_OK;
        if (count > 4096 && t >= 40)
            break; /* the time does not depend on it */
    }
    if (status == DM_OK)
        status = dm_bench_time_host(run_many, &w, 5000, &us, err);
    if (status == DM_OK) {
        printf("  %6zu encoders  %10.1f us  %8.4f us each\n", count, us, us / (double)count);
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "encoders", count);
        dm_json_double(&b->json, "wall_us", us);
        dm_json_end_object(&b->json);
    }
    dm_dynamics_encoders_destroy(w.many);
    free(w.samples);
    return status;
}

dm_status dm_bench_part_encoder(dm_dyn_bench *b, dm_error *err)
{
    static const size_t histories[] = {0, 10, 50, 100, 200, 256, 300, 400, 500};
    static const size_t counts[] = {1, 64, 1024, 16384, 65536};
    dm_status status = DM_OK;
    printf("encoder\n");
    dm_json_begin_array(&b->json, "encoder");
    for (size_t i = 0; i < sizeof histories / sizeof histories[0] && status == DM_OK; i++)
        status = measure_encoder(b, histories[i], err);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == DM_OK; i++)
        status = b->cuda || counts[i] <= 1024 ? measure_encoders(b, counts[i], err) : DM_OK;
    dm_json_end_array(&b->json);
    return status;
}

/* ---- Memory ---- */

typedef struct upload_work {
    dm_dynamics_device *on;
} upload_work;

static dm_status run_upload(void *user, dm_error *err)
{
    upload_work *w = user;
    void *address;
    dm_status status = dm_dynamics_device_upload(w->on, err);
    return status != DM_OK ? status : dm_dyn_form_get(w->on, DM_DYN_FORM_PLAIN, 0, &address, err);
}

/* Bytes of weights, of shared memory and registers per block, and what an upload costs. */
static dm_status measure_memory(dm_dyn_bench *b, uint32_t hidden, uint32_t members, dm_error *err)
{
    dm_bench_model s;
    dm_function_properties properties = {0};
    double upload = 0;
    dm_status status = dm_bench_model_init(
        b, &s, (dm_dynamics_config){members, hidden, 32, 64, DM_DYNAMICS_GRU_RESET_FIRST, false},
        err);
    if (status == DM_OK)
        status = dm_bench_model_rollout(&s, 1, 10, err);
    upload_work w = {s.on};
    if (status == DM_OK && b->cuda)
        status = dm_bench_time_host(run_upload, &w, 1000, &upload, err);
    if (status == DM_OK && b->cuda)
        status = dm_dyn_rollout_stage(s.on, s.features, NULL, s.hidden, s.rollout, &s.staged, err);
    if (status == DM_OK && b->cuda)
        status = dm_function_get_properties(s.staged.launch.function, &properties, err);
    if (status == DM_OK) {
        uint64_t weights = s.model->layout.total * sizeof(float);
        uint64_t shared = properties.shared_bytes + s.staged.launch.grid.shared_bytes;
        uint64_t registers =
            (uint64_t)properties.registers * 4 * s.staged.launch.grid.block_threads;
        printf("  h%-5u members %-3u weights %10llu bytes each", hidden, members,
               (unsigned long long)weights);
        if (b->cuda)
            printf("  shared %6llu  registers %6llu bytes a block  upload %8.1f us",
                   (unsigned long long)shared, (unsigned long long)registers, upload);
        printf("\n");
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "hidden", hidden);
        dm_json_uint(&b->json, "members", members);
        dm_json_uint(&b->json, "member_bytes", weights);
        dm_json_uint(&b->json, "total_bytes", weights * members);
        if (b->cuda) {
            dm_json_uint(&b->json, "block_shared_bytes", shared);
            dm_json_uint(&b->json, "block_register_bytes", registers);
            dm_json_uint(&b->json, "block_local_bytes", properties.local_bytes);
            dm_json_uint(&b->json, "cluster_blocks", s.staged.launch.cluster_blocks);
            dm_json_double(&b->json, "upload_us", upload);
        }
        dm_json_end_object(&b->json);
    }
    dm_bench_model_deinit(&s);
    return status;
}

dm_status dm_bench_part_memory(dm_dyn_bench *b, dm_error *err)
{
    static const uint32_t hidden[] = {64, 128, 256, 512, 1024, 2048}, members[] = {1, 5, 10};
    dm_status status = DM_OK;
    printf("memory\n");
    dm_json_begin_array(&b->json, "memory");
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0] && status == DM_OK; i++)
        for (size_t k = 0; k < 3 && status == DM_OK; k++)
            if (hidden[i] <= 256 || k == 1)
                status = measure_memory(b, hidden[i], members[k], err);
    dm_json_end_array(&b->json);
    return status;
}
