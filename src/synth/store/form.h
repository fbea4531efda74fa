/* SPDX-License-Identifier: MIT */
/* form.h - the canonical form of a text that the compiler has read, from its tokens.
 *
 * canonical.h finds the tokens of any text by itself. Here the compiler's tokens are used again, whose
 * names are compared by address: that takes a third of the time. */
#ifndef DM_SYNTH_FORM_H
#define DM_SYNTH_FORM_H

#include "base/hash.h"
#include "lang/lang.h"

/* What is known of the names of a workspace; starts as zeros. */
typedef struct dm_synth_forms {
    struct dm_form_name *names; /* by their numbers */
    uint32_t capacity;
    uint32_t stamp;        /* of the text at hand */
    uint32_t compilations; /* of the workspace, when it was last seen */
    dm_buffer form;
} dm_synth_forms;

void dm_synth_forms_deinit(dm_synth_forms *forms);

/* The hash of the form of the source that `lang` has parsed last; equal to dm_synth_canonical_hash.
 * False: use that function, since the text has strings, continued lines or very many names, or
 * memory ran out. */
bool dm_synth_form_hash(dm_synth_forms *forms, const dm_lang *lang, dm_hash128 *out);

#endif
