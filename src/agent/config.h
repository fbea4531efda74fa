/* SPDX-License-Identifier: MIT */
/* config.h - every number of an agent's training (fields.def), from JSON or "name=value". */
#ifndef DM_AGENT_CONFIG_H
#define DM_AGENT_CONFIG_H

#include "base/json.h"

#define DM_AGENT_TEXT_MAX 512

enum { DM_AGENT_MLP, DM_AGENT_CNN, DM_AGENT_GRU };
enum { DM_AGENT_VECTOR, DM_AGENT_PACKED };

typedef struct dm_agent_config {
#define UINT(name, ...) uint64_t name;
#define REAL(name, ...) double name;
#define CHOICE(name, ...) int name;
#define TEXT(name, ...) char name[DM_AGENT_TEXT_MAX];
#include "agent/fields.def"
#undef UINT
#undef REAL
#undef CHOICE
#undef TEXT
} dm_agent_config;

extern const dm_agent_config dm_agent_config_default;

/* The members of an object over what is there; `name` is for the messages. */
dm_status dm_agent_config_json(dm_agent_config *config, const json_t *object, const char *name,
                               dm_error *err);
dm_status dm_agent_config_file(dm_agent_config *config, const char *path, dm_error *err);
/* "name=value" */
dm_status dm_agent_config_set(dm_agent_config *config, const char *setting, dm_error *err);
/* All fields as members of the object that is open in `json`. */
void dm_agent_config_write(const dm_agent_config *config, dm_json *json);
/* One line per field: name, value, meaning. */
void dm_agent_config_help(const dm_agent_config *config, dm_buffer *out);

#endif
