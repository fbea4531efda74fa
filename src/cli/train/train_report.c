/* SPDX-License-Identifier: MIT */
/* train_report.c - dotmatrix train report: one task with several seeds, in memory. */
#include "base/hash.h"
#include "base/terminal/progress.h"
#include "cli/places.h"
#include "cli/train/train.h"
#include "lab/provenance.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What became of one seed. */
typedef struct seed_result {
    uint64_t seed;
    dm_metric metrics[DM_TASK_METRICS_MAX];
    size_t metric_count;
    double loss, seconds, units;
    char bits[DM_HASH_HEX_SIZE]; /* hash of all weights */
    bool repeats;                /* the second time gave the same bits */
} seed_result;

static dm_status hash_weights(dm_nn_model *model, char hex[DM_HASH_HEX_SIZE], dm_error *err)
{
    dm_hasher *hasher = dm_hasher_create();
    dm_status status = hasher == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    for (size_t k = 0; k < dm_nn_model_parameter_count(model) && status == DM_OK; k++) {
        size_t count = dm_nn_model_parameter(model, k)->count;
        float *values = malloc(count * sizeof *values);
        status = values == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                : dm_nn_model_read(model, k, DM_NN_VALUE, values, err);
        if (status == DM_OK)
            dm_hasher_part(hasher, values, count * sizeof *values);
        free(values);
    }
    if (status == DM_OK)
        dm_hash128_hex(dm_hasher_finish(hasher), hex);
    dm_hasher_destroy(hasher);
    return status;
}

static void count_step(void *user, const dm_training_state *state)
{
    (void)state;
    dm_progress_add(user, 1);
}

static dm_status train_seed(const dm_train_options *o, const dm_train_config *config,
                            dm_progress *progress, seed_result *out, dm_error *err)
{
    char forecaster[DM_PATH_MAX];
    dm_training *training = NULL;
    dm_training_options options = {.device = o->device,
                                   .forecaster =
                                       dm_place_curve_model(forecaster) ? forecaster : NULL,
                                   .data = o->data.items,
                                   .data_count = o->data.count,
                                   .watch = count_step,
                                   .user = progress};
    dm_status status = dm_training_create(config, &options, &training, err);
    if (status == DM_OK)
        status = dm_training_run(training, err);
    if (status == DM_OK)
        status = hash_weights(dm_training_model(training), out->bits, err);
    if (status == DM_OK) {
        const dm_training_state *s = dm_training_where(training);
        out->seed = config->seed;
        out->loss = s->loss;
        out->seconds = s->seconds;
        out->units = (double)s->units;
        out->metric_count = s->metric_count;
        memcpy(out->metrics, s->metrics, s->metric_count * sizeof *s->metrics);
    }
    dm_training_destroy(training);
    return status;
}

static dm_status train_all(const dm_train_options *o, const dm_train_config *config,
                           seed_result *results, dm_error *err)
{
    dm_status status = DM_OK;
    uint64_t times = o->twice ? 2 : 1;
    dm_progress *progress =
        dm_progress_start("training", "steps", config->steps * (uint64_t)o->seeds * times);
    for (int64_t i = 0; i < o->seeds && status == DM_OK && !dm_stop_requested(); i++) {
        dm_train_config one = *config;
        one.seed = (uint64_t)i + 1;
        status = train_seed(o, &one, progress, &results[i], err);
        if (status == DM_OK && o->twice) {
            seed_result again = {0};
            status = train_seed(o, &one, progress, &again, err);
            results[i].repeats = strcmp(again.bits, results[i].bits) == 0;
        }
    }
    dm_progress_finish(progress);
    return status;
}

/* ---- Telling ---- */

static void mean_of(const seed_result *results, size_t count, size_t metric, double *mean,
                    double *deviation)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += results[i].metrics[metric].value;
    *mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        double d = results[i].metrics[metric].value - *mean;
        squares += d * d;
    }
    *deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static size_t count_repeats(const seed_result *results, size_t count)
{
    size_t repeats = 0;
    for (size_t i = 0; i < count; i++)
        repeats += results[i].repeats;
    return repeats;
}

static void print_text(const dm_train_options *o, int which, const seed_result *results,
                       size_t count)
{
    static const char *const units[DM_TRAIN_TASKS] = {"rows", "images", "tokens"};

    for (size_t i = 0; i < count; i++) {
        const seed_result *r = &results[i];
        printf("seed %2" PRIu64 ": loss %.4f", r->seed, r->loss);
        for (size_t m = 0; m < r->metric_count; m++)
            printf(", %s %.4f", r->metrics[m].name, r->metrics[m].value);
        printf("; %.1f s, %.0f %s/s; bits %.16s%s\n", r->seconds, r->units / r->seconds,
               units[which], r->bits,
               !o->twice    ? ""
               : r->repeats ? ", the same twice"
                            : ", DIFFERENT twice");
    }
    for (size_t m = 0; m < results[0].metric_count; m++) {
        double mean, deviation;
        size_t whole = 0;
        mean_of(results, count, m, &mean, &deviation);
        printf("%s: %.4f +- %.4f", results[0].metrics[m].name, mean, deviation);
        for (size_t i = 0; i < count; i++)
            whole += results[i].metrics[m].value == 1;
        if (which == DM_TRAIN_XOR && strcmp(results[0].metrics[m].name, "accuracy") == 0)
            printf(", solved with %zu of %zu seeds", whole, count);
        printf("\n");
    }
    if (o->twice)
        printf("identical bits in two runs: %zu of %zu seeds\n", count_repeats(results, count),
               count);
}

static void print_json(const dm_train_options *o, const dm_train_config *config,
                       const seed_result *results, size_t count)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_begin_object(&json, "config");
    dm_train_config_write(config, &json);
    dm_json_end_object(&json);
    dm_json_begin_array(&json, "seeds");
    for (size_t i = 0; i < count; i++) {
        const seed_result *r = &results[i];
        dm_json_begin_object(&json, NULL);
        dm_json_uint(&json, "seed", r->seed);
        dm_json_double(&json, "loss", r->loss);
        for (size_t m = 0; m < r->metric_count; m++)
            dm_json_double(&json, r->metrics[m].name, r->metrics[m].value);
        dm_json_double(&json, "seconds", r->seconds);
        dm_json_double(&json, "per_second", r->units / r->seconds);
        dm_json_string(&json, "bits", r->bits);
        if (o->twice)
            dm_json_bool(&json, "repeats", r->repeats);
        dm_json_end_object(&json);
    }
    dm_json_end_array(&json);
    for (size_t m = 0; m < results[0].metric_count; m++) {
        double mean, deviation;
        mean_of(results, count, m, &mean, &deviation);
        dm_json_begin_object(&json, results[0].metrics[m].name);
        dm_json_double(&json, "mean", mean);
        dm_json_double(&json, "deviation", deviation);
        dm_json_end_object(&json);
    }
    dm_lab_provenance(&json, NULL, 0);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    fputs(dm_buffer_text(&text), stdout);
    dm_buffer_deinit(&text);
}

dm_status dm_train_report(const dm_train_options *o, const char *task, bool *negative,
                          dm_error *err)
{
    static const char *const others[] = {"tasks", "quick", "workers", "replay", "out"};
    int which = 0;
    dm_train_config config;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (dm_train_given(o, others[i]))
            return dm_fail(err, DM_EINVAL,
                           "--%s is for the report of all tasks: no task is named then", others[i]);
    while (which < DM_TRAIN_TASKS && strcmp(dm_train_task_names[which], task) != 0)
        which++;
    if (which == DM_TRAIN_TASKS)
        return dm_fail(err, DM_EINVAL, "report: '%.64s' is not one of xor, cnn, gpt", task);
    size_t count = (size_t)o->seeds;
    seed_result *results = calloc(count, sizeof *results);
    dm_status status = results == NULL
                           ? dm_fail(err, DM_ENOMEM, "out of memory")
                           : dm_train_read_config(o, (dm_train_task)which, &config, err);
    if (status == DM_OK)
        status = train_all(o, &config, results, err);
    if (status == DM_OK && !dm_stop_requested()) {
        if (o->json)
            print_json(o, &config, results, count);
        else
            print_text(o, which, results, count);
        *negative = o->twice && count_repeats(results, count) != count;
    }
    free(results);
    return status;
}
