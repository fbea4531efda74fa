/* SPDX-License-Identifier: MIT */
/* compile.c - the list of passes: which function runs when. Callers start at dm_compilation_init.
 *
 *   a file       dm_lang_parse        text to tokens to tree
 *                dm_module_new        scopes, and the kernels in them
 *   a kernel     dm_lower_kernel      tree to IR; functions that it calls are lowered when they are
 *                                     first called, types and constants worked out on the way
 *                dm_passes_lowered    over each function: dead code is removed
 *                dm_passes_backward   over each function with floats: its reverse
 *   a text       dm_print_kernels     IR to C or CUDA C++
 *
 * Every public function here catches dm_lang_bail and turns it into a status. */
#include "lang/compile.h"

#include "lang/adjoint/adjoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dm_status dm_compilation_fail(dm_compilation *c, dm_error *err)
{
    const dm_diag *diag = c->lang.diags;
    while (diag != NULL && diag->severity != DM_SEVERITY_ERROR)
        diag = diag->next;
    if (diag == NULL)
        return dm_fail(err, DM_ECOMPILE, "%s",
                       c->lang.bail_reason == NULL ? "could not be compiled" : c->lang.bail_reason);
    const dm_lang_source *source;
    int line, column;
    dm_lang_locate(&c->lang, diag->pos, &source, &line, &column);
    return dm_fail_at(err, DM_ECOMPILE, source == NULL ? "" : source->name, line, "%s",
                      diag->message);
}

/* ---- Passes over functions ---- */

void dm_passes_lowered(dm_ir_function *f)
{
    dm_ir_dce(f);
}

dm_ir_function *dm_passes_backward(dm_module_unit *module, dm_ir_function *f)
{
    dm_lang *lang = module->lang;
    if (f->backward != NULL || f->no_backward != NULL)
        return f->backward;
    if (!dm_adjoint_has_floats(f)) {
        f->no_backward = "it has no floats";
        return NULL;
    }
    dm_ir_function *plain = dm_ir_without_exits(lang, f);
    if (plain != f)
        dm_ir_dce(plain);
    dm_adjoint_source source = {.plain = plain};
    source.known = dm_ir_find_hazards(lang, plain);
    source.active = dm_ir_find_active(lang, plain);
    dm_ir_function *made = dm_adjoint(module, f, &source);
    if (made == NULL)
        return NULL;
    dm_ir_dce(made);
    if (made->has_singles)
        dm_ir_tidy(made);
    return made;
}

dm_ir_function *dm_passes_replay(dm_module_unit *module, dm_ir_function *f)
{
    if (f->replay != NULL)
        return f->replay;
    f->replay = dm_adjoint_custom_replay(module, f);
    if (f->replay != NULL)
        return f->replay;
    dm_ir_function *made = dm_adjoint_replay(module, f, dm_ir_find_hazards(module->lang, f));
    dm_ir_dce(made);
    return made;
}

/* ---- Files, kernels, texts ---- */

dm_status dm_compilation_init(dm_compilation *c, const char *name, const char *text, size_t size,
                              const dm_compile_options *options, dm_error *err)
{
    memset(c, 0, sizeof *c);
    dm_lang_init_in(&c->lang, options->workspace);
    c->options = *options;
    c->lang.keep_inserts = options->module.warp_compat;
    if (c->lang.common == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    if (size > DM_LANG_SOURCE_MAX)
        return dm_fail(err, DM_EINVAL, "%s: larger than %zu bytes", name, DM_LANG_SOURCE_MAX);
    if (setjmp(c->lang.bail) != 0)
        return dm_compilation_fail(c, err);
    dm_types_init(&c->lang, options->all_double);
    dm_ast *tree = dm_lang_parse(&c->lang, dm_lang_add_source(&c->lang, name, text, size));
    c->tree = tree;
    if (options->rewrite != NULL && c->lang.error_count == 0)
        options->rewrite(options->rewrite_context, &c->lang, tree);
    if (c->lang.error_count > 0)
        return dm_compilation_fail(c, err);
    c->module = dm_module_new(&c->lang, c->tree, &options->module);
    c->kernel_count = c->module->kernel_count;
    c->kernels = dm_lang_alloc_array(&c->lang, (size_t)c->kernel_count + 1, sizeof *c->kernels);
    for (int i = 0; i < c->kernel_count; i++)
        c->kernels[i].decl = c->module->kernels[i];
    return DM_OK;
}

void dm_compilation_deinit(dm_compilation *c)
{
    dm_lang_deinit(&c->lang);
}

dm_status dm_compilation_kernel(dm_compilation *c, int kernel, dm_error *err)
{
    dm_compile_kernel *k = &c->kernels[kernel];
    int errors = c->lang.error_count;
    if (k->forward != NULL)
        return DM_OK;
    if (setjmp(c->lang.bail) != 0)
        return dm_compilation_fail(c, err);
    dm_ir_function *forward = dm_lower_kernel(c->module, k->decl);
    if (forward == NULL || c->lang.error_count != errors)
        return dm_compilation_fail(c, err);
    if (!c->options.no_backward)
        k->backward = dm_passes_backward(c->module, forward);
    if (c->lang.error_count != errors)
        return dm_compilation_fail(c, err);
    k->forward = forward;
    return DM_OK;
}

static dm_status print_items(dm_compilation *c, const dm_print_item *items, int count,
                             dm_target target, dm_passes passes, bool local, dm_buffer *out,
                             dm_error *err)
{
    dm_print_options options = {.target = target,
                                .passes = passes,
                                .local = local,
                                .lines = c->options.lines,
                                .bounds = c->options.bounds,
                                .rounds = c->options.rounds};
    if (setjmp(c->lang.bail) != 0) {
        c->lang.arena.limit = DM_LANG_MEMORY_MAX;
        return dm_compilation_fail(c, err);
    }
    /* No memory limit while printing (the passes stayed below it): a printer that left through
     * dm_lang_bail would not close its buffers. */
    c->lang.arena.limit = 0;
    dm_print_kernels(&c->lang, items, count, &options, out);
    c->lang.arena.limit = DM_LANG_MEMORY_MAX;
    return dm_buffer_check(out, err);
}

dm_status dm_compilation_print_pass(dm_compilation *c, int kernel, dm_target target,
                                    dm_passes passes, dm_buffer *out, dm_error *err)
{
    const dm_compile_kernel *k = &c->kernels[kernel];
    if (k->forward == NULL)
        return dm_fail(err, DM_EINVAL, "the kernel was not compiled");
    if (k->backward == NULL && passes == DM_PASS_BACKWARD)
        return dm_fail(err, DM_EINVAL, "the kernel has no backward pass");
    dm_print_item item = {k->forward, k->backward};
    return print_items(c, &item, 1, target, passes, false, out, err);
}

dm_status dm_compilation_print(dm_compilation *c, int kernel, dm_target target, dm_buffer *out,
                               dm_error *err)
{
    return dm_compilation_print_pass(c, kernel, target, DM_PASS_BOTH, out, err);
}

dm_status dm_compilation_print_list(dm_compilation *c, const int *kernels, int count,
                                    dm_target target, dm_passes passes, bool local, dm_buffer *out,
                                    dm_error *err)
{
    dm_print_item *items = calloc((size_t)count + 1, sizeof *items);
    if (items == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < count; i++)
        items[i] = (dm_print_item){c->kernels[kernels[i]].forward, c->kernels[kernels[i]].backward};
    dm_status status = count == 0 ? dm_fail(err, DM_EINVAL, "no kernel was compiled")
                                  : print_items(c, items, count, target, passes, local, out, err);
    free(items);
    return status;
}

dm_status dm_compilation_print_all(dm_compilation *c, dm_target target, dm_buffer *out,
                                   dm_error *err)
{
    int *kernels = calloc((size_t)c->kernel_count + 1, sizeof *kernels), count = 0;
    if (kernels == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (int i = 0; i < c->kernel_count; i++)
        if (c->kernels[i].forward != NULL)
            kernels[count++] = i;
    dm_status status =
        dm_compilation_print_list(c, kernels, count, target, DM_PASS_BOTH, false, out, err);
    free(kernels);
    return status;
}

int dm_compilation_find(const dm_compilation *c, const char *name)
{
    for (int i = 0; i < c->kernel_count; i++)
        if (strcmp(c->kernels[i].decl->name, name) == 0)
            return i;
    return -1;
}
