/* SPDX-License-Identifier: MIT */
/* bundle.h - many kernel texts as one compilation unit.
 *
 * A compiler's start costs more than a kernel does, so the verifier gives it many kernels at once.
 * Each text stands alone and brings its own types and helpers; put after each other they would
 * define the same names again. A bundle takes every text apart into its declarations at file level
 * and writes those that it has not had yet:
 *
 *     text 0   vec3f  dot_vec3f  blend  step_forward
 *     text 1   vec3f  dot_vec3f  blend' step_forward'        (blend' differs from blend)
 *     unit     vec3f  dot_vec3f  blend  step_forward  blend__b1  step_forward__b1
 *
 * A declaration is the same one when its words are, and those of everything it names. The first
 * declaration of a name keeps it, so that a name that collides with one of the system's headers is
 * found; a later, different one gets a new name. A word of a text that is not declared in it but by
 * another text is renamed as well: a helper that a text lacks stays missing. So the unit compiles
 * when every text alone does, and what is wrong with one text is wrong with the unit. */
#ifndef DM_SYNTH_BUNDLE_H
#define DM_SYNTH_BUNDLE_H

#include "base/buffer.h"

typedef struct dm_bundle dm_bundle;

dm_status dm_bundle_create(dm_bundle **out, dm_error *err);
void dm_bundle_destroy(dm_bundle *bundle);
/* Empty it, keeping its memory. */
void dm_bundle_clear(dm_bundle *bundle);

/* Add a text, which need not outlive the call. DM_EUNSUPPORTED, with the bundle unchanged, for a text
 * that cannot be cut (unbalanced braces, macros); the caller compiles it alone. */
dm_status dm_bundle_add(dm_bundle *bundle, const char *text, size_t size, dm_error *err);
/* The unit's name for `name` of the text that was added last. */
const char *dm_bundle_name(const dm_bundle *bundle, const char *name);

/* The unit. Valid until the next call. */
const char *dm_bundle_text(dm_bundle *bundle, size_t *size);

#endif
