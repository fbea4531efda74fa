/* SPDX-License-Identifier: MIT */
/* compile.c - the kernel compiler as a dataset uses it: one kernel, one text for each pass. */
#include "synth/check/compile.h"

#include "lang/compile.h"
#include "synth/lesson/describe.h"
#include "synth/lesson/difficulty.h"
#include "synth/lesson/numpy.h"
#include "synth/store/canonical.h"
#include "synth/store/form.h"

#include <stdlib.h>

struct dm_synth_compiler {
    dm_compilation compilation;
    dm_workspace workspace;
    dm_synth_forms forms;
};

dm_status dm_synth_compiler_create(dm_synth_compiler **out, dm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_workspace_init(&(*out)->workspace);
    return DM_OK;
}

void dm_synth_compiler_destroy(dm_synth_compiler *compiler)
{
    if (compiler == NULL)
        return;
    dm_workspace_deinit(&compiler->workspace);
    dm_synth_forms_deinit(&compiler->forms);
    free(compiler);
}

static dm_status print_pair(dm_compilation *c, int kernel, dm_target target, dm_buffer *forward,
                            dm_buffer *backward, dm_error *err)
{
    dm_status status = dm_compilation_print_pass(c, kernel, target, DM_PASS_FORWARD, forward, err);
    if (status == DM_OK && c->kernels[kernel].backward != NULL)
        status = dm_compilation_print_pass(c, kernel, target, DM_PASS_BACKWARD, backward, err);
    return status;
}

static dm_status compile(dm_compilation *c, dm_synth_record *record, int texts, dm_error *err)
{
    int kernel = dm_compilation_find(c, record->kernel_name);
    if (kernel < 0)
        return dm_fail(err, DM_ECOMPILE, "no kernel is called '%s'", record->kernel_name);
    dm_status status = dm_compilation_kernel(c, kernel, err);
    if (status != DM_OK)
        return status;
    if (c->lang.warning_count > 0)
        return dm_fail(err, DM_ECOMPILE, "warning: %s", c->lang.diags->message);
    const dm_compile_kernel *k = &c->kernels[kernel];
    record->has_backward = k->backward != NULL;
    record->difficulty = dm_synth_difficulty(k->forward);
    if (record->line.size > 0)
        dm_synth_describe_preconditions(k->forward, &record->specification);
    status = dm_synth_describe_check(k->forward, record, err);
    if (status != DM_OK)
        return status;
    if ((texts & DM_SYNTH_TEXT_CUDA) != 0)
        status = print_pair(c, kernel, DM_TARGET_CUDA, &record->cuda_forward,
                            &record->cuda_backward, err);
    if (status == DM_OK && (texts & DM_SYNTH_TEXT_C) != 0)
        status = print_pair(c, kernel, DM_TARGET_C, &record->c_forward, &record->c_backward, err);
    if (status == DM_OK && (texts & DM_SYNTH_TEXT_IR) != 0) {
        dm_ir_print(k->forward, &record->ir);
        if (k->backward != NULL)
            dm_ir_print(k->backward, &record->ir);
        status = dm_buffer_check(&record->ir, err);
    }
    if (status == DM_OK && (texts & DM_SYNTH_TEXT_REFERENCE) != 0)
        status = dm_synth_numpy_print(k->forward, &record->reference, err);
    if (status == DM_EUNSUPPORTED)
        status = DM_ECOMPILE; /* the program has no reference, as one that does not compile */
    return status;
}

dm_status dm_synth_compile(dm_synth_compiler *compiler, dm_synth_record *record, int texts,
                           dm_error *err)
{
    dm_compilation *c = &compiler->compilation;
    /* A loop is shown as a loop. */
    dm_compile_options options = {.workspace = &compiler->workspace, .module.keep_loops = true};
    dm_buffer *made[] = {&record->cuda_forward, &record->cuda_backward,
                         &record->c_forward,    &record->c_backward,
                         &record->ir,           &record->reference};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        dm_buffer_clear(made[i]);
    dm_status status = dm_compilation_init(c, "kernel.py", dm_buffer_text(&record->python_source),
                                           record->python_source.size, &options, err);
    bool parsed = status == DM_OK;
    if (parsed)
        status = compile(c, record, texts, err);
    if ((texts & DM_SYNTH_FORM) != 0 &&
        !(parsed && dm_synth_form_hash(&compiler->forms, &c->lang, &record->canonical)))
        record->canonical =
            dm_synth_canonical_hash(dm_buffer_text(&record->python_source),
                                    record->python_source.size, &compiler->forms.form);
    dm_compilation_deinit(c);
    bool cuda = (texts & DM_SYNTH_TEXT_CUDA) != 0;
    record->forward_lines = dm_synth_lines(cuda ? &record->cuda_forward : &record->c_forward);
    record->backward_lines = dm_synth_lines(cuda ? &record->cuda_backward : &record->c_backward);
    return status;
}
