/* SPDX-License-Identifier: MIT */
/* Runs of the command that are killed with SIGKILL at random moments, ten times in all, and resumed
 * each time with another number of threads: what they leave at their end is what an uninterrupted
 * run leaves. Checkpoints are frequent, so that many kills fall into the writing of one.
 *
 * With $DM_TEST_KILL_DATA (a folder with mnist/ and tinyshakespeare.txt; `make test-kill`) the CNN and
 * the GPT are those of the presets, for some hundred steps. */
#include "base/file.h"
#include "base/philox.h"
#include "base/thread.h"
#include "tests/support/command.h"
#include "tests/support/killed.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct plan {
    const char *task;
    const char *settings[10];
} plan;

static const plan small[DM_TRAIN_TASKS] = {
    {"xor", {"steps=120", "checkpoint_every=1"}},
    {"cnn",
     {"steps=90", "batch=16", "channels=4", "classes=4", "eval_every=20", "checkpoint_every=1",
      "average=0.9", "log_every=3"}},
    {"gpt",
     {"steps=60", "batch=4", "layers=2", "heads=2", "width=16", "context=16", "eval_every=10",
      "eval_windows=8", "checkpoint_every=1", "log_every=2"}},
};

static const plan whole[DM_TRAIN_TASKS] = {
    {"xor", {"checkpoint_every=3"}},
    {"cnn", {"steps=400", "checkpoint_every=9", "eval_every=150"}},
    {"gpt", {"steps=60", "checkpoint_every=4", "eval_every=25", "eval_windows=16"}},
};

/* dotmatrix train TASK, begun in `folder` or gone on with there; killed after `seconds`. Returns
 * whether it came to its end. */
static bool run(const plan *p, const char *data, const char *folder, uint32_t threads,
                double seconds)
{
    char device[16], checkpoint[DM_PATH_MAX];
    const char *arguments[64] = {"train", p->task, "--device", device};
    size_t count = 4;
    snprintf(device, sizeof device, "cpu:%u", threads);
    assert_ok(dm_path_join(checkpoint, folder, "checkpoint.safetensors", err));
    bool resume = dm_file_exists(checkpoint);
    arguments[count++] = resume ? "--resume" : "--out";
    arguments[count++] = folder;
    if (!resume && data != NULL) {
        arguments[count++] = "--data";
        arguments[count++] = data;
    }
    for (int i = 0; !resume && i < 10 && p->settings[i] != NULL; i++) {
        arguments[count++] = "--set";
        arguments[count++] = p->settings[i];
    }
    return dm_test_ends_within(arguments, seconds);
}

typedef struct begun {
    const plan *plan;
    const char *data;
} begun;

static bool run_plan(const void *context, const char *folder, uint32_t threads, double seconds)
{
    const begun *b = context;
    return run(b->plan, b->data, folder, threads, seconds);
}

static void killed_runs_end_alike(void **state, const plan *p, const char *data, uint64_t seed)
{
    static const char *const files[] = {"checkpoint.safetensors", "metrics.jsonl",
                                        "model.safetensors", NULL};
    const begun context = {p, data};
    dm_test_killed_runs_end_alike(state, &(dm_test_killed){.name = p->task,
                                                           .run = run_plan,
                                                           .context = &context,
                                                           .seed = seed,
                                                           .to = 0.2,
                                                           .files = files});
}

static void ten_kills(void **state, dm_train_task task)
{
    const char *from = getenv("DM_TEST_KILL_DATA");
    char path[DM_PATH_MAX];
    if (from == NULL) {
        killed_runs_end_alike(state, &small[task], small_data(state, task), 7 + (uint64_t)task);
        return;
    }
    assert_ok(
        dm_path_join(path, from, task == DM_TRAIN_CNN ? "mnist" : "tinyshakespeare.txt", err));
    killed_runs_end_alike(state, &whole[task], task == DM_TRAIN_XOR ? NULL : path, dm_time_ns());
}

static void a_killed_xor_ends_with_the_same_bits(void **state)
{
    ten_kills(state, DM_TRAIN_XOR);
}

static void a_killed_cnn_ends_with_the_same_bits(void **state)
{
    ten_kills(state, DM_TRAIN_CNN);
}

static void a_killed_gpt_ends_with_the_same_bits(void **state)
{
    ten_kills(state, DM_TRAIN_GPT);
}

DM_TESTS("train/kill", DM_TEST_IN_DIR(a_killed_xor_ends_with_the_same_bits),
         DM_TEST_IN_DIR(a_killed_cnn_ends_with_the_same_bits),
         DM_TEST_IN_DIR(a_killed_gpt_ends_with_the_same_bits))
