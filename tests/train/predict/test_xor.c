/* SPDX-License-Identifier: MIT */
/* test_xor.c - whole predictive runs of XOR, whose loss falls to 1e-5: there any forecast is easily half of it off, and
 * a monitor that takes that for a divergence would stop runs that are fine. Rate 3 is the best of the tries of
 * docs/prediction.md. */
#include "base/file.h"
#include "base/median.h"
#include "tests/support/test.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 1000 };

typedef struct outcome {
    dm_predict_counts counts; /* zeros for a plain run */
    double loss;              /* held out, at the end */
} outcome;

/* `begun`: 0 a plain run, else one that predicts, by a new ensemble or by the one that is shipped. */
enum { PLAIN, NEW, SHIPPED };

static outcome run_xor(uint64_t seed, const char *schedule, int begun)
{
    char path[DM_PATH_MAX];
    const char *const settings[] = {"steps=1000", "hidden=4", "rate=3", "rate_end=0", schedule};
    outcome out = {0};
    dm_train_config config;
    dm_training *training = NULL;
    assert_ok(dm_path_join(path, dm_test_source_root(), "share/dynamics/curves.safetensors", err));
    dm_training_options options = {.device = "cpu:1", .forecaster = begun == SHIPPED ? path : NULL};
    assert_ok(dm_train_config_preset(DM_TRAIN_XOR, NULL, &config, err));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        assert_ok(dm_train_config_set(&config, settings[i], err));
    config.seed = seed;
    config.predict = begun != PLAIN;
    assert_ok(dm_training_create(&config, &options, &training, err));
    assert_ok(dm_training_run(training, err));
    const dm_training_state *s = dm_training_where(training);
    assert_int_equal(s->progress, STEPS);
    for (size_t i = 0; i < s->metric_count; i++)
        if (strcmp(s->metrics[i].name, "val_loss") == 0)
            out.loss = s->metrics[i].value;
    if (begun != PLAIN)
        out.counts = *dm_predictive_counts(dm_training_predictive(training));
    dm_training_destroy(training);
    return out;
}

enum { SEEDS = 5 };

static void predictive_runs_reach_the_plain_loss_and_are_not_stopped(void **state)
{
    (void)state;
    const char *const schedules[] = {"schedule=constant", "schedule=linear", "schedule=constant",
                                     "schedule=linear"};
    for (int k = 0; k < 4; k++) {
        double plain[SEEDS], got[SEEDS];
        for (uint64_t i = 0; i < SEEDS; i++) {
            outcome o = run_xor(2 + i, schedules[k], k < 2 ? NEW : SHIPPED);
            plain[i] = run_xor(2 + i, schedules[k], PLAIN).loss;
            got[i] = o.loss;
            if (o.counts.plain_from > 0 || o.counts.rollbacks > 0 || o.counts.backward > STEPS)
                fail_msg("%s, seed %d: %d rollbacks, %d backward passes", schedules[k], (int)i + 2,
                         (int)o.counts.rollbacks, (int)o.counts.backward);
        }
        double want = dm_median(plain, SEEDS), have = dm_median(got, SEEDS);
        if (!(have <= 1.01 * want))
            fail_msg("%s: %g, plain runs end at %g", schedules[k], have, want);
    }
}

DM_TESTS("train/predict/xor", DM_TEST(predictive_runs_reach_the_plain_loss_and_are_not_stopped))
