/* SPDX-License-Identifier: MIT */
/* Runs of training: what is learned, that bits repeat and do not depend on threads, that a run goes
 * on where it was, what its files hold, and what is refused. */
#include "base/file.h"
#include "base/json.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"
#include "tests/train/trainer_case.h"
#include "train/sample.h"
#include "train/task/gpt.h"
#include "train/trainer.h"
#include "train/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Learning and repeating ---- */

static void xor_is_solved_and_bits_repeat(void **state)
{
    (void)state;
    trainer_solves_xor("cpu:1");
}

static void images_are_learned(void **state)
{
    trainer_learns_images(state, "cpu:1");
}

static void text_is_learned(void **state)
{
    trainer_learns_text(state, "cpu:1");
}

static void resumed_runs_have_the_same_bits(void **state)
{
    trainer_resumes(state, "cpu:1", "cpu:3");
}

static void other_seeds_have_other_bits(void **state)
{
    const char *data = small_data(state, DM_TRAIN_GPT);
    dm_train_config config = trainer_config(DM_TRAIN_GPT);
    dm_training_options options = trainer_options("cpu:1", &data, NULL);
    dm_training_state one, two;
    config.steps = 3;
    trainer_whole(&config, &options, &one);
    config.seed = 2;
    trainer_whole(&config, &options, &two);
    assert_true(one.loss != two.loss);
}

/* Every token of the part to train on is seen once in an epoch, but for less than two windows. */
static void an_epoch_covers_the_text(void **state)
{
    const char *data = small_data(state, DM_TRAIN_GPT);
    dm_train_config config = trainer_config(DM_TRAIN_GPT);
    dm_task task;
    dm_task_init(&task, &config);
    assert_ok(task.kind->load(&task, &data, 1, err));
    assert_ok(task.kind->describe(&task, err));
    int32_t input[16], target[16];
    uint32_t starts[2] = {0, 0};
    for (uint64_t epoch = 0; epoch < 2; epoch++)
        for (uint64_t i = 0; i < task.samples; i++) {
            task.kind->sample(&task, epoch * task.samples + i, input, target);
            assert_memory_equal(input + 1, target, 15 * sizeof input[0]);
            starts[epoch] += (uint32_t)input[0];
        }
    assert_true(starts[0] != starts[1]); /* another shift */
    dm_task_deinit(&task);
}

/* ---- Weights ---- */

static void weights_go_out_and_in(void **state)
{
    const char *data = small_data(state, DM_TRAIN_GPT), *run = dm_test_path(state, "run");
    const char *file = dm_test_path(state, "w.safetensors");
    dm_train_config config = trainer_config(DM_TRAIN_GPT);
    dm_training_options options = trainer_options("cpu:1", &data, run);
    trainer_whole(&config, &options, NULL);
    char checkpoint[DM_PATH_MAX];
    assert_ok(dm_path_join(checkpoint, run, DM_TRAINING_CHECKPOINT, err));
    assert_ok(dm_weights_export(checkpoint, false, file, err));
    dm_safetensors *tensors = NULL;
    assert_ok(dm_safetensors_load(file, &tensors, err));
    assert_int_equal(dm_safetensors_count(tensors), 2 + 12 * 2 + 2);
    const dm_safetensor *t = dm_safetensors_find(tensors, "transformer.h.1.attn.c_attn.weight");
    assert_non_null(t);
    assert_true(t->shape[0] == 16 && t->shape[1] == 48); /* [inputs][outputs] */
    t = dm_safetensors_find(tensors, "transformer.wpe.weight");
    assert_true(t != NULL && t->shape[0] == 16 && t->shape[1] == 16);
    dm_safetensors_close(tensors);
    /* A run that begins with them begins with their loss. */
    dm_training *training = NULL, *was = NULL;
    dm_metric one[4], two[4];
    size_t count = 0;
    dm_training_options imported = trainer_options("cpu:1", &data, NULL);
    imported.import = file;
    assert_ok(dm_training_create(&config, &imported, &training, err));
    assert_ok(dm_training_evaluate(training, one, &count, err));
    dm_training_options again = trainer_options("cpu:1", (const char *[]){NULL}, run);
    assert_ok(dm_training_resume(&again, -1, 0, &was, err));
    assert_ok(dm_training_evaluate(was, two, &count, err));
    assert_true(one[0].value == two[0].value);
    dm_training_destroy(training);
    dm_training_destroy(was);
    assert_int_equal(dm_weights_export(checkpoint, true, file, NULL), DM_EINVAL);
}

/* Files of GPT2Model lack the prefix and have masks; more positions than the model has are cut. */
static void others_names_are_read(void **state)
{
    enum { V = 7, C = 4, T = 6 };
    dm_train_config config = trainer_config(DM_TRAIN_GPT);
    config.layers = 1;
    config.width = C;
    config.context = 3;
    dm_task task;
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    dm_task_init(&task, &config);
    task.vocabulary = V;
    assert_ok(task.kind->describe(&task, err));
    assert_ok(dm_device_open("cpu:1", &device, err));
    dm_nn_model_desc desc = dm_task_model(&task, 1);
    assert_ok(dm_nn_model_create(device, &desc, &model, err));
    float values[256];
    for (int i = 0; i < 256; i++)
        values[i] = (float)i;
    dm_safetensor rows[] = {
        {"wte.weight", DM_SAFETENSORS_F32, 2, {V, C}, values},
        {"wpe.weight", DM_SAFETENSORS_F32, 2, {T, C}, values},
        {"h.0.ln_1.weight", DM_SAFETENSORS_F32, 1, {C}, values},
        {"h.0.ln_1.bias", DM_SAFETENSORS_F32, 1, {C}, values},
        {"h.0.attn.bias", DM_SAFETENSORS_F32, 4, {1, 1, 2, 2}, values},
        {"h.0.attn.c_attn.weight", DM_SAFETENSORS_F32, 2, {C, 3 * C}, values},
        {"h.0.attn.c_attn.bias", DM_SAFETENSORS_F32, 1, {3 * C}, values},
        {"h.0.attn.c_proj.weight", DM_SAFETENSORS_F32, 2, {C, C}, values},
        {"h.0.attn.c_proj.bias", DM_SAFETENSORS_F32, 1, {C}, values},
        {"h.0.ln_2.weight", DM_SAFETENSORS_F32, 1, {C}, values},
        {"h.0.ln_2.bias", DM_SAFETENSORS_F32, 1, {C}, values},
        {"h.0.mlp.c_fc.weight", DM_SAFETENSORS_F32, 2, {C, 4 * C}, values},
        {"h.0.mlp.c_fc.bias", DM_SAFETENSORS_F32, 1, {4 * C}, values},
        {"h.0.mlp.c_proj.weight", DM_SAFETENSORS_F32, 2, {4 * C, C}, values},
        {"h.0.mlp.c_proj.bias", DM_SAFETENSORS_F32, 1, {C}, values},
        {"ln_f.weight", DM_SAFETENSORS_F32, 1, {C}, values},
        {"ln_f.bias", DM_SAFETENSORS_F32, 1, {C}, values},
    };
    const size_t count = sizeof rows / sizeof rows[0];
    const char *path = dm_test_path(state, "hf.safetensors");
    assert_ok(dm_safetensors_save(path, rows, count, NULL, err));
    assert_ok(dm_weights_load(path, &task, model, err));
    float got[3 * C * C];
    for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++)
        if (strcmp(dm_nn_model_parameter(model, k)->name, "2.weight") == 0) {
            assert_ok(dm_nn_model_read(model, k, DM_NN_VALUE, got, err));
            for (int o = 0; o < 3 * C; o++)
                for (int i = 0; i < C; i++)
                    assert_true(got[o * C + i] == (float)(i * 3 * C + o));
        }
    static const struct {
        size_t row;
        dm_safetensor instead;
        const char *what;
    } wrong[] = {
        {0, {"wte.weight", DM_SAFETENSORS_F32, 2, {V + 1, C}, NULL}, "wte.weight is 8x4, the"},
        {1, {"wpe.weight", DM_SAFETENSORS_F32, 2, {2, C}, NULL}, "wpe.weight is 2x4, the"},
        {2, {"h.0.ln_3.weight", DM_SAFETENSORS_F32, 1, {C}, NULL}, "no parameter of this model"},
        {2, {"h.0.attn.bias2", DM_SAFETENSORS_F32, 1, {C}, NULL}, "no parameter of this model"},
        {3, {"h.0.ln_1.bias", DM_SAFETENSORS_I64, 1, {C}, NULL}, "whole numbers"},
        {5, {"h.0.attn.c_attn.weight", DM_SAFETENSORS_F32, 2, {3 * C, C}, NULL}, "is 12x4"},
        {15, {"lm_head.weight", DM_SAFETENSORS_F32, 2, {V, C}, NULL}, "only tied weights"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        dm_error err = {0};
        dm_safetensor kept = rows[wrong[i].row];
        rows[wrong[i].row] = wrong[i].instead;
        rows[wrong[i].row].data = values;
        assert_ok(dm_safetensors_save(path, rows, count, NULL, err));
        rows[wrong[i].row] = kept;
        if (dm_weights_load(path, &task, model, &err) != DM_EFORMAT ||
            strstr(err.message, wrong[i].what) == NULL)
            fail_msg("expected '%s', got '%s'", wrong[i].what, err.message);
    }
    dm_error err = {0};
    assert_ok(dm_safetensors_save(path, rows, count - 1, NULL, err));
    assert_int_equal(dm_weights_load(path, &task, model, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "there is no transformer.ln_f.bias"));
    values[5] = NAN;
    assert_ok(dm_safetensors_save(path, rows, count, NULL, err));
    assert_int_equal(dm_weights_load(path, &task, model, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "value 5 is not finite"));
    dm_nn_model_destroy(model);
    dm_device_close(device);
    dm_task_deinit(&task);
}

static void gpt2_has_its_number_of_weights(void **state)
{
    (void)state;
    dm_train_config config;
    dm_task task;
    dm_device *device = NULL;
    dm_nn_memory memory;
    assert_ok(dm_train_config_preset(DM_TRAIN_GPT, "gpt2", &config, err));
    dm_task_init(&task, &config);
    task.vocabulary = 50257;
    assert_ok(task.kind->describe(&task, err));
    assert_ok(dm_device_open("cpu:1", &device, err));
    dm_nn_model_desc desc = dm_task_model(&task, 0);
    assert_ok(dm_nn_model_memory(device, &desc, &memory, err));
    assert_int_equal(memory.numbers, 124439808);
    dm_device_close(device);
    dm_task_deinit(&task);
}

/* ---- What stops a run ---- */

static void numbers_that_are_none_stop_it(void **state)
{
    const char *data = small_data(state, DM_TRAIN_CNN), *run = dm_test_path(state, "run");
    dm_train_config config = trainer_config(DM_TRAIN_CNN);
    dm_training *training = NULL;
    dm_error err = {0};
    config.rate = 1e6;
    config.schedule = DM_NN_SCHEDULE_CONSTANT;
    config.optimiser = DM_NN_SGD;
    config.checkpoint_every = 1;
    config.average = 0;
    dm_training_options options = trainer_options("cpu:1", &data, run);
    assert_ok(dm_training_create(&config, &options, &training, err));
    assert_int_equal(dm_training_run(training, &err), DM_EINVAL);
    if (strstr(err.message, "is not a number") == NULL ||
        strstr(err.message, "first such output is layer") == NULL ||
        strstr(err.message, "layer 2's (4)") == NULL ||
        strstr(err.message, "the checkpoint of step") == NULL)
        fail_msg("%s", err.message);
    dm_training_destroy(training);
}

static void runs_that_cannot_be_are_refused(void **state)
{
    dm_error err = {0};
    dm_training *training = NULL;
    const char *text = small_data(state, DM_TRAIN_GPT), *none = NULL;
    const char *run = dm_test_path(state, "run");
    dm_train_config gpt = trainer_config(DM_TRAIN_GPT), xor_ = trainer_config(DM_TRAIN_XOR);
    dm_training_options options = trainer_options("cpu:1", &text, run);
    assert_int_equal(dm_training_create(&xor_, &options, &training, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "--data"));
    dm_train_config wrong = gpt;
    wrong.heads = 3;
    assert_int_equal(dm_training_create(&wrong, &options, &training, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "3 heads do not divide"));
    wrong = gpt;
    wrong.context = 4000;
    assert_int_equal(dm_training_create(&wrong, &options, &training, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "too few"));
    assert_false(dm_dir_exists(run)); /* nothing was begun */
    trainer_whole(&gpt, &options, NULL);
    assert_int_equal(dm_training_create(&gpt, &options, &training, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "has a checkpoint: --resume"));
    /* Other data, or a checkpoint of something else. */
    assert_ok(dm_file_write(text, "abcabcabc", 9, err));
    dm_training_options resumed = trainer_options("cpu:1", &none, run);
    assert_int_equal(dm_training_resume(&resumed, DM_TRAIN_GPT, 0, &training, &err), DM_EINVAL);
    small_text(state, "text.txt");
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(text, 0, &bytes, &size, err));
    bytes[17] = 'z';
    assert_ok(dm_file_write(text, bytes, size, err));
    free(bytes);
    assert_int_equal(dm_training_resume(&resumed, DM_TRAIN_GPT, 0, &training, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "the data are not those of the run"));
    assert_int_equal(dm_training_resume(&resumed, DM_TRAIN_XOR, 0, &training, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "a checkpoint of gpt, not of xor"));
    dm_training_options empty = trainer_options("cpu:1", &none, dm_test_path(state, "nothing"));
    assert_int_equal(dm_training_resume(&empty, -1, 0, &training, &err), DM_ENOENT);
}

static void wrong_data_are_refused(void **state)
{
    dm_error err = {0};
    dm_training *training = NULL;
    const char *path = dm_test_path(state, "file"), *folder = dm_test_path(state, "images");
    dm_train_config gpt = trainer_config(DM_TRAIN_GPT), cnn = trainer_config(DM_TRAIN_CNN);
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } texts[] = {
        {"", 0, "empty"},
        {"DMTOKEN1", 8, "within its header"},
        {"\x88\xd8\x34\x01", 4, "within its header"},
        {"short", 5, "too few"},
        {"\x1f\x8b garbage", 10, "file"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dm_training_options options = trainer_options("cpu:1", &path, NULL);
        assert_ok(dm_file_write(path, texts[i].bytes, texts[i].size, err));
        if (dm_training_create(&gpt, &options, &training, &err) == DM_OK ||
            strstr(err.message, texts[i].what) == NULL)
            fail_msg("expected '%s', got '%s'", texts[i].what, err.message);
    }
    dm_training_options options = trainer_options("cpu:1", &path, NULL);
    assert_int_equal(dm_training_create(&cnn, &options, &training, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "file"));
    options = trainer_options("cpu:1", &folder, NULL);
    small_images(state, "images", "train", 20);
    assert_int_equal(remove(dm_test_path(state, "images/train-labels-idx1-ubyte")), 0);
    assert_int_equal(dm_training_create(&cnn, &options, &training, &err), DM_ENOENT);
    assert_non_null(strstr(err.message, "has images but no train-labels-idx1-ubyte"));
    small_images(state, "images", "train", 20);
    cnn.classes = 3;
    assert_int_equal(dm_training_create(&cnn, &options, &training, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "label 3 at offset"));
    cnn.classes = 4;
    cnn.kernel = 12;
    assert_int_equal(dm_training_create(&cnn, &options, &training, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "does not fit images of 12x12"));
}

/* ---- Text ---- */

static void collect(void *user, const char *text, size_t size)
{
    dm_buffer_append(user, text, size);
}

static void text_is_sampled(void **state)
{
    const char *data = small_data(state, DM_TRAIN_GPT), *run = dm_test_path(state, "run");
    dm_train_config config = trainer_config(DM_TRAIN_GPT);
    dm_training_options options = trainer_options("cpu:1", &data, run);
    config.steps = 60;
    trainer_whole(&config, &options, NULL);
    dm_buffer texts[3] = {{0}};
    dm_sample_options sample = {
        .device = "cpu:1", .prompt = "the ", .tokens = 40, .temperature = 0.8, .seed = 5};
    for (int i = 0; i < 3; i++) {
        sample.seed = i == 2 ? 6 : 5;
        assert_ok(dm_sample(run, &sample, collect, &texts[i], err));
        assert_int_equal(texts[i].size, 44); /* longer than the context of 16 */
        assert_memory_equal(texts[i].data, "the ", 4);
    }
    assert_string_equal(texts[0].data, texts[1].data);
    assert_string_not_equal(texts[0].data, texts[2].data);
    for (int i = 0; i < 3; i++)
        dm_buffer_deinit(&texts[i]);
    dm_error err = {0};
    sample.prompt = "cat\xc3\xa9";
    assert_int_equal(dm_sample(run, &sample, collect, &texts[0], &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "byte 3 of the text (0xc3)"));
    dm_train_config xor_ = trainer_config(DM_TRAIN_XOR);
    const char *none = NULL, *other = dm_test_path(state, "xor");
    options = trainer_options("cpu:1", &none, other);
    trainer_whole(&xor_, &options, NULL);
    assert_int_equal(dm_sample(other, &sample, collect, &texts[0], &err), DM_EUNSUPPORTED);
}

static void refused_proposals_leave_a_plain_run(void **state)
{
    trainer_refused_is_plain(state, "cpu:1");
}

static void tokens_are_drawn_by_their_odds(void **state)
{
    (void)state;
    const float logits[4] = {0, logf(3), -1000, logf(4)};
    uint32_t order[4], counts[4] = {0};
    assert_int_equal(dm_sample_token(logits, 4, 0, 0, 0xffffffff, order), 3);
    assert_int_equal(dm_sample_token(logits, 4, 5, 1, 0xffffffff, order), 3);
    for (uint32_t i = 0; i < 8000; i++)
        counts[dm_sample_token(logits, 4, 1, 0, i * 536870u, order)]++;
    assert_in_range(counts[0], 980, 1020);
    assert_in_range(counts[1], 2980, 3020);
    assert_int_equal(counts[2], 0);
    memset(counts, 0, sizeof counts);
    for (uint32_t i = 0; i < 7000; i++)
        counts[dm_sample_token(logits, 4, 1, 2, i * 613566u, order)]++;
    assert_in_range(counts[1], 2980, 3020);
    assert_in_range(counts[3], 3980, 4020);
}

DM_TESTS("train/trainer", DM_TEST(xor_is_solved_and_bits_repeat),
         DM_TEST_IN_DIR(images_are_learned), DM_TEST_IN_DIR(text_is_learned),
         DM_TEST_IN_DIR(resumed_runs_have_the_same_bits),
         DM_TEST_IN_DIR(refused_proposals_leave_a_plain_run),
         DM_TEST_IN_DIR(other_seeds_have_other_bits), DM_TEST_IN_DIR(an_epoch_covers_the_text),
         DM_TEST_IN_DIR(weights_go_out_and_in), DM_TEST_IN_DIR(others_names_are_read),
         DM_TEST(gpt2_has_its_number_of_weights), DM_TEST_IN_DIR(numbers_that_are_none_stop_it),
         DM_TEST_IN_DIR(runs_that_cannot_be_are_refused), DM_TEST_IN_DIR(wrong_data_are_refused),
         DM_TEST_IN_DIR(text_is_sampled), DM_TEST(tokens_are_drawn_by_their_odds))
