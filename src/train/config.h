/* SPDX-License-Identifier: MIT */
/* config.h - the configuration of a training run: every number of it is a field of a JSON file.
 *
 *     {"task": "gpt", "preset": "small", "layers": 6, "rate": 0.002}
 *
 * A preset (presets.json) gives every field its value; the file's fields override it, and single
 * settings ("layers=6") override those. An unknown field is refused with the closest name, a value
 * out of range with the range. The configuration that is written back has all fields and no preset,
 * so that a run does not depend on later changes of a preset. */
#ifndef DM_TRAIN_CONFIG_H
#define DM_TRAIN_CONFIG_H

#include "base/json.h"

#include "train/predict/rules.h"

#include <dotmatrix/nn.h>

typedef enum dm_train_task {
    DM_TRAIN_XOR,
    DM_TRAIN_CNN,
    DM_TRAIN_GPT,
    DM_TRAIN_TASKS
} dm_train_task;

enum { DM_TOKENIZER_CHARACTERS, DM_TOKENIZER_BPE };

typedef struct dm_train_config {
    dm_train_task task;
#define UINT(name, ...) uint64_t name;
#define REAL(name, ...) double name;
#define CHOICE(name, ...) int name; /* the nn enumeration of that name, or DM_TOKENIZER_ */
#include "train/fields.def"
#undef UINT
#undef REAL
#undef CHOICE
    dm_predict_rules rules; /* "predict.NAME": used with predict = 1 */
} dm_train_config;

/* "xor", "cnn", "gpt"; ends with NULL. */
extern const char *const dm_train_task_names[];

/* The task's first preset, or the one of a name ("small", "gpt2"). */
dm_status dm_train_config_preset(dm_train_task task, const char *name, dm_train_config *out,
                                 dm_error *err);
/* A JSON object over what is there; `name` is for the messages. "preset" counts before all other
 * fields, "task" must be the configuration's own. */
dm_status dm_train_config_json(dm_train_config *config, const json_t *object, const char *name,
                               dm_error *err);
dm_status dm_train_config_file(dm_train_config *config, const char *path, dm_error *err);
/* "name=value", also "preset=NAME". */
dm_status dm_train_config_set(dm_train_config *config, const char *setting, dm_error *err);
/* Members of the object that is open in `json`: "task" and all fields of the task. */
void dm_train_config_write(const dm_train_config *config, dm_json *json);
/* One line per field of the task: name, value, meaning. */
void dm_train_config_help(const dm_train_config *config, dm_buffer *out);

#endif
