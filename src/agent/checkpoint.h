/* SPDX-License-Identifier: MIT */
/* checkpoint.h - a learner's weights and state to and from a file; the world has files of its own. */
#ifndef DM_AGENT_CHECKPOINT_H
#define DM_AGENT_CHECKPOINT_H

#include "agent/learner.h"

/* `config`: JSON text. Replaced atomically. */
dm_status dm_agent_checkpoint_save(dm_agent_learner *learner, const char *path, const char *config,
                                   dm_error *err);
/* DM_EFORMAT for a file that is none, damaged, or of another network. */
dm_status dm_agent_checkpoint_load(dm_agent_learner *learner, const char *path, dm_error *err);

#endif
