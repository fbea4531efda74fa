/* SPDX-License-Identifier: MIT */
/* Configurations of training runs: presets, files, settings, and what is refused. */
#include "base/file.h"
#include "tests/support/tmpdir.h"
#include "train/config.h"

#include <stdlib.h>

static dm_train_config preset(dm_train_task task, const char *name)
{
    dm_train_config config = {0};
    assert_ok(dm_train_config_preset(task, name, &config, err));
    return config;
}

static char *written(const dm_train_config *config)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_train_config_write(config, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return dm_buffer_take(&text);
}

static void presets_have_their_numbers(void **state)
{
    (void)state;
    dm_train_config gpt2 = preset(DM_TRAIN_GPT, "gpt2");
    assert_true(gpt2.layers == 12 && gpt2.heads == 12 && gpt2.width == 768 && gpt2.context == 1024);
    assert_int_equal(gpt2.tokenizer, DM_TOKENIZER_BPE);
    dm_train_config small = preset(DM_TRAIN_GPT, NULL); /* the first */
    assert_true(small.layers == 4 && small.width == 128);
    assert_int_equal(small.schedule, 2);
    dm_train_config cnn = preset(DM_TRAIN_CNN, "default");
    assert_true(cnn.channels == 16 && cnn.kernel == 5 && cnn.pool == 2);
    assert_int_equal(preset(DM_TRAIN_XOR, NULL).hidden, 4);
}

/* Every field of every task has a value in its presets: reading back what is written gives the
 * same, and zeros are only where a preset says so. */
static void what_is_written_reads_back(void **state)
{
    (void)state;
    for (int task = 0; task < DM_TRAIN_TASKS; task++) {
        dm_train_config one = preset((dm_train_task)task, NULL), two = {.task = one.task};
        json_t *object = NULL;
        char *text = written(&one);
        assert_ok(dm_json_parse(text, strlen(text), "written", &object, err));
        assert_ok(dm_train_config_json(&two, object, "written", err));
        assert_memory_equal(&one, &two, sizeof one);
        json_decref(object);
        free(text);
    }
}

static void later_values_count(void **state)
{
    const char *path = dm_test_path(state, "c.json");
    static const char text[] = "{\"task\":\"gpt\",\"layers\":6,\"preset\":\"gpt2\"}";
    assert_ok(dm_file_write(path, text, sizeof text - 1, err));
    dm_train_config config = preset(DM_TRAIN_GPT, NULL);
    assert_ok(dm_train_config_file(&config, path, err));
    assert_true(config.layers == 6 && config.width == 768);
    assert_ok(dm_train_config_set(&config, "layers=3", err));
    assert_ok(dm_train_config_set(&config, "rate=1e-3", err));
    assert_ok(dm_train_config_set(&config, "tokenizer=characters", err));
    assert_true(config.layers == 3 && config.rate == 1e-3);
    assert_int_equal(config.tokenizer, DM_TOKENIZER_CHARACTERS);
    assert_ok(dm_train_config_set(&config, "preset=small", err));
    assert_true(config.layers == 4 && config.width == 128);
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    static const struct {
        dm_train_task task;
        const char *setting, *what;
    } cases[] = {
        {DM_TRAIN_GPT, "layer=3", "gpt has no field 'layer'; did you mean layers?"},
        {DM_TRAIN_XOR, "layers=3", "xor has no field 'layers'"},
        {DM_TRAIN_GPT, "steps", "'steps' is not name=value"},
        {DM_TRAIN_GPT, "=4", "is not name=value"},
        {DM_TRAIN_GPT, "steps=0", "steps is 0; it is a whole number of 1 to 1000000000"},
        {DM_TRAIN_GPT, "steps=1.5", "steps is 1.5"},
        {DM_TRAIN_GPT, "steps=-1", "steps is -1"},
        {DM_TRAIN_GPT, "steps=many", "steps is \"many\""},
        {DM_TRAIN_GPT, "steps=99999999999999999999", "steps is"},
        {DM_TRAIN_GPT, "validation=0.9", "validation is 0.9; it is a number of 0 to 0.5"},
        {DM_TRAIN_GPT, "rate=nan", "rate is \"nan\""},
        {DM_TRAIN_GPT, "optimiser=adamv", "not one of sgd, adamw, adam, muon"},
        {DM_TRAIN_GPT, "optimiser=1", "not one of sgd, adamw, adam, muon"},
        {DM_TRAIN_GPT, "preset=large", "gpt has no preset 'large'; there is small, gpt2"},
        {DM_TRAIN_GPT, "preset=1", "preset is not a name"},
        {DM_TRAIN_GPT, "task=cnn", "another task than gpt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_train_config config = preset(cases[i].task, NULL);
        dm_error err = {0};
        if (dm_train_config_set(&config, cases[i].setting, &err) != DM_EINVAL ||
            strstr(err.message, cases[i].what) == NULL)
            fail_msg("%s: expected '%s', got '%s'", cases[i].setting, cases[i].what, err.message);
    }
}

static void wrong_files_are_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "[1]",
                                        "3",
                                        "{\"steps\":1,\"steps\":2}",
                                        "{\"steps\":",
                                        "{\"steps\":null}",
                                        "{\"steps\":[1]}",
                                        "{\"stepz\":1}"};
    const char *path = dm_test_path(state, "c.json");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dm_train_config config = preset(DM_TRAIN_XOR, NULL);
        assert_ok(dm_file_write(path, texts[i], strlen(texts[i]), err));
        dm_status status = dm_train_config_file(&config, path, NULL);
        if (status != DM_EINVAL && status != DM_EFORMAT)
            fail_msg("%s: %s", texts[i], dm_status_name(status));
    }
    dm_train_config config = preset(DM_TRAIN_XOR, NULL);
    assert_int_not_equal(dm_train_config_file(&config, dm_test_path(state, "none"), NULL), DM_OK);
}

DM_TESTS("train/config", DM_TEST(presets_have_their_numbers), DM_TEST(what_is_written_reads_back),
         DM_TEST_IN_DIR(later_values_count), DM_TEST(wrong_settings_are_refused),
         DM_TEST_IN_DIR(wrong_files_are_refused))
