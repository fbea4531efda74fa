/* SPDX-License-Identifier: MIT */
/* compile.c - the kernel compiler as a dataset uses it: one kernel, one text for each pass. */
#include "synth/check/compile.h"

#include "lang/compile.h"
#include "synth/check/unit.h"
#include "synth/check/warp_name.h"
#include "synth/lesson/describe.h"
#include "synth/lesson/difficulty.h"
#include "synth/lesson/numpy.h"
#include "synth/store/canonical.h"
#include "synth/store/form.h"

#include <stdlib.h>
#include <string.h>

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

static dm_status print_pair(const dm_unit *unit, dm_target target, dm_buffer *forward,
                            dm_buffer *backward, dm_error *err)
{
    dm_status status = dm_unit_print(unit, target, DM_PASS_FORWARD, forward, err);
    if (status == DM_OK && unit->has_backward)
        status = dm_unit_print(unit, target, DM_PASS_BACKWARD, backward, err);
    return status;
}

/* Of a program of several kernels: each of them. */
static dm_status print_ir(const dm_unit *unit, dm_buffer *out, dm_error *err)
{
    const dm_compilation *c = unit->compilation;
    for (int i = 0; i < c->kernel_count; i++) {
        if (c->kernels[i].forward == NULL)
            continue;
        dm_ir_print(c->kernels[i].forward, out);
        if (c->kernels[i].backward != NULL)
            dm_ir_print(c->kernels[i].backward, out);
    }
    return dm_buffer_check(out, err);
}

/* An array of the program's in the reference: its size in each of the launch's dimensions. */
static void put_shape(const dm_unit *u, int array, int dims, dm_buffer *out)
{
    if (array < 0)
        dm_buffer_puts(out, "(1,)");
    else
        dm_buffer_printf(out, "%s.shape[:%d]", u->arrays[array].name, dims);
}

/* The function of launches in Python. */
static void put_reference_launches(const dm_unit *u, dm_buffer *out)
{
    dm_buffer_printf(out, "\n\ndef %s(launch", u->forward->name);
    for (int i = 0; i < u->param_count; i++)
        dm_buffer_printf(out, ", %s", u->arrays[i].name);
    dm_buffer_puts(out, "):\n    \"\"\"The launches in their order; results are written in "
                        "place.\"\"\"\n");
    for (int i = u->param_count; i < u->array_count; i++) {
        const dm_unit_array *a = &u->arrays[i];
        dm_buffer_printf(out, "    %s = np.zeros(", a->name);
        put_shape(u, a->like, a->type->ndim, out);
        dm_buffer_puts(out, ", ");
        dm_synth_numpy_dtype(a->type->element, out);
        dm_buffer_puts(out, ")\n");
    }
    for (int i = 0; i < u->launch_count; i++) {
        const dm_unit_launch *l = &u->launches[i];
        dm_buffer_printf(out, "    %s(", u->compilation->kernels[l->kernel].forward->name);
        put_shape(u, l->over, l->dims, out);
        for (int k = 0; k < l->arg_count; k++)
            dm_buffer_printf(out, ", %s", u->arrays[l->args[k]].name);
        dm_buffer_puts(out, ")\n");
    }
}

static dm_status print_reference(const dm_unit *u, dm_buffer *out, dm_error *err)
{
    const dm_ir_function *kernels[DM_UNIT_LAUNCHES_MAX];
    int count = 0;
    if (u->kernel >= 0)
        return dm_synth_numpy_print(&u->forward, 1, out, err);
    for (int i = 0; i < u->launch_count; i++) {
        const dm_ir_function *f = u->compilation->kernels[u->launches[i].kernel].forward;
        bool known = false;
        for (int k = 0; k < count; k++)
            known |= kernels[k] == f;
        if (!known)
            kernels[count++] = f;
    }
    dm_status status = dm_synth_numpy_print(kernels, count, out, err);
    put_reference_launches(u, out);
    return status == DM_OK ? dm_buffer_check(out, err) : status;
}

static dm_status compile(dm_compilation *c, dm_synth_record *record, int texts, dm_error *err)
{
    dm_unit unit;
    dm_status status =
        dm_unit_open(&unit, c, dm_buffer_text(&record->python_source), record->kernel_name, err);
    if (status != DM_OK)
        return status;
    if (c->lang.warning_count > 0)
        return dm_fail(err, DM_ECOMPILE, "warning: %s", c->lang.diags->message);
    record->has_backward = unit.has_backward;
    record->difficulty = dm_synth_difficulty(unit.forward);
    if (record->line.size > 0)
        dm_synth_describe_preconditions(unit.forward, &record->specification);
    status = dm_synth_describe_check(unit.forward, record, err);
    if (status != DM_OK)
        return status;
    dm_unit_put_launches(&unit, &record->program);
    if ((texts & DM_SYNTH_TEXT_CUDA) != 0)
        status =
            print_pair(&unit, DM_TARGET_CUDA, &record->cuda_forward, &record->cuda_backward, err);
    if (status == DM_OK && (texts & DM_SYNTH_TEXT_C) != 0)
        status = print_pair(&unit, DM_TARGET_C, &record->c_forward, &record->c_backward, err);
    if (status == DM_OK && (texts & DM_SYNTH_TEXT_IR) != 0)
        status = print_ir(&unit, &record->ir, err);
    if (status == DM_OK && (texts & DM_SYNTH_TEXT_REFERENCE) != 0)
        status = print_reference(&unit, &record->reference, err);
    if (status == DM_EUNSUPPORTED)
        status = DM_ECOMPILE; /* the program has no reference, as one that does not compile */
    return status;
}

/* Those of the kernels that were printed, and those of a program of several in C. */
static dm_status name_as_warp(const dm_compilation *c, dm_synth_record *record, dm_error *err)
{
    bool known = false;
    dm_status status = DM_OK;
    for (int i = 0; i < c->kernel_count && status == DM_OK; i++) {
        const dm_ir_function *f = c->kernels[i].forward;
        if (f == NULL || f->entry_name == NULL)
            continue;
        known |= strcmp(f->entry_name, record->kernel_name) == 0;
        status = dm_warp_name_functions(record, f->entry_name, err);
    }
    if (status == DM_OK && !known && record->program.size > 0)
        status = dm_warp_name_functions(record, record->kernel_name, err);
    return status;
}

dm_status dm_synth_compile(dm_synth_compiler *compiler, dm_synth_record *record, int texts,
                           dm_error *err)
{
    dm_compilation *c = &compiler->compilation;
    /* A loop is shown as a loop. */
    dm_compile_options options = {.workspace = &compiler->workspace, .module.keep_loops = true};
    dm_buffer *made[] = {
        &record->cuda_forward, &record->cuda_backward, &record->c_forward, &record->c_backward,
        &record->ir,           &record->reference,     &record->program};
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
    if (status == DM_OK && (texts & DM_SYNTH_WARP_NAMES) != 0)
        status = name_as_warp(c, record, err);
    dm_compilation_deinit(c);
    bool cuda = (texts & DM_SYNTH_TEXT_CUDA) != 0;
    record->forward_lines = dm_synth_lines(cuda ? &record->cuda_forward : &record->c_forward);
    record->backward_lines = dm_synth_lines(cuda ? &record->cuda_backward : &record->c_backward);
    return status;
}
