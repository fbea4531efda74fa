/* SPDX-License-Identifier: MIT */
/* provenance.h - where a result comes from: build, host, devices, references. */
#ifndef DM_LAB_PROVENANCE_H
#define DM_LAB_PROVENANCE_H

#include "base/json.h"
#include "lab/backend.h"

/* An object "provenance". `kinds` are the backends that took part; each is asked for its version.
 */
void dm_lab_provenance(dm_json *json, const dm_lab_kind *const *kinds, size_t count);

#endif
