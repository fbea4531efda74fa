/* SPDX-License-Identifier: MIT */
/* profile.h - a verification as JSON: in mismatch bundles, and in suite files.
 *
 *   {"reference": "mgba_single", "dut": "vec_cpu", "envs": 1, "frames_per_step": 1,
 *    "release_after_frames": 1, "steps": 1024, "compare_every": 1, "settle": 0, "start": "zero",
 *    "force_dmg": false,
 *    "regions": ["C000:C100"], "compare_frame": false, "by": "frame", "ignore": "cycles", "slack": 0,
 *    "codec": "buttons_v1", "action_gen": "noop", "actions_seed": 0}
 *
 * Keys that are missing keep the value that is there; unknown ones are refused. */
#ifndef DM_LAB_PROFILE_H
#define DM_LAB_PROFILE_H

#include "base/json.h"
#include "lab/verify/verify.h"

/* The default verification; the options of `dotmatrix verify` have the same defaults. */
dm_lab_verify dm_lab_profile_default(void);
void dm_lab_profile_write(dm_json *json, const char *key, const dm_lab_verify *v);
/* `name` is for messages. */
dm_status dm_lab_profile_read(const json_t *object, const char *name, dm_lab_verify *v,
                              dm_error *err);

#endif
