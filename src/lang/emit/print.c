/* SPDX-License-Identifier: MIT */
/* print.c - functions, entry points and the order of a kernel's text; see print.h. */
#include "lang/emit/print.h"

#include <stdio.h>
#include <string.h>

/* ---- Functions ---- */

static void print_callees(dm_printer *pr, const dm_ir_block *block);

static bool is_printed(const dm_printer *pr, const dm_ir_function *f)
{
    for (int i = 0; i < pr->printed_count; i++)
        if (pr->printed[i] == f)
            return true;
    return false;
}

/* "int tid0, array1_f32 x, float *adj_y" */
static void print_head(dm_printer *pr, const dm_ir_function *f, dm_buffer *head)
{
    const dm_ir_block *body = f->body;
    for (int i = 0; f->role == DM_IR_KERNEL && i < f->tid_count; i++) {
        dm_buffer_puts(head, head->size > 0 ? ", int tid" : "int tid");
        dm_put_number(head, i);
    }
    for (int i = 0; i < body->param_count; i++) {
        dm_val v = body->params[i];
        bool pointer = f->is_backward && f->adjoint_params != NULL && f->adjoint_params[i];
        if (head->size > 0)
            dm_buffer_puts(head, ", ");
        dm_put_name(head, dm_print_type(pr, f->values[v].type));
        dm_buffer_puts(head, pointer ? " *" : " ");
        dm_put_name(head, dm_print_name(pr, v));
        if (pointer) { /* an adjoint that the caller keeps */
            pr->plan[v].name =
                dm_lang_intern_text(pr->lang, dm_lang_format(pr->lang, "(*%s)", pr->plan[v].name));
            pr->plan[v].fixed = true;
        }
    }
    if (head->size == 0)
        dm_buffer_puts(head, "void");
}

static void print_function(dm_printer *pr, const dm_ir_function *f, const char *name)
{
    dm_buffer *text = dm_text_open(pr->lang), *head = dm_text_open(pr->lang);
    const dm_ir_block *body = f->body;
    pr->depth = 1;
    pr->number = 0;
    pr->last_line = 0;
    dm_print_plan(pr, f);
    print_head(pr, f, head);
    pr->out = text;
    for (int i = 0; i < body->param_count; i++)
        if (pr->plan[body->params[i]].uses == 0)
            dm_print_line(pr, "(void)%s;", pr->plan[body->params[i]].name);
    for (int i = 0; f->role == DM_IR_KERNEL && i < f->tid_count; i++)
        if (!f->tid_used[i])
            dm_print_line(pr, "(void)tid%d;", i);
    dm_print_block(pr, body, NULL, NULL);
    dm_buffer_puts(pr->functions, dm_print_qualifier(pr));
    dm_buffer_putc(pr->functions, ' ');
    dm_put_name(pr->functions, dm_print_type(pr, f->result));
    dm_buffer_putc(pr->functions, ' ');
    dm_put_name(pr->functions, name);
    dm_buffer_putc(pr->functions, '(');
    dm_buffer_append(pr->functions, head->data, head->size);
    dm_buffer_puts(pr->functions, ")\n{\n");
    dm_buffer_append(pr->functions, dm_buffer_text(text), text->size);
    dm_buffer_puts(pr->functions, "}\n\n");
    pr->out = NULL;
    dm_text_close(pr->lang, 2);
}

static void print_callee(dm_printer *pr, dm_ir_function *f)
{
    if (is_printed(pr, f))
        return;
    DM_LANG_PUSH_POINTER(pr->lang, pr->printed, pr->printed_count, pr->printed_capacity, f);
    if ((f->kinds & DM_IR_CALLS) != 0)
        print_callees(pr, f->body);
    f->c_name = dm_print_global(pr, f->base_name);
    print_function(pr, f, f->c_name);
}

static void print_callees(dm_printer *pr, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_INVOKE || op->kind == DM_IR_REVERSE)
            print_callee(pr, op->callee);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                print_callees(pr, op->blocks[k]);
    }
}

/* ---- Entry points ---- */

static void print_dim(dm_buffer *out, int i)
{
    dm_buffer_puts(out, "args.dim[");
    dm_put_number(out, i);
    dm_buffer_putc(out, ']');
}

/* task -> tid0, tid1 ...: the last one runs fastest */
static void print_task_call(const dm_ir_function *f, const char *task, dm_buffer *out)
{
    int count = f->tid_count;
    dm_put_name(out, task);
    dm_buffer_putc(out, '(');
    for (int i = 0; i < count; i++) {
        dm_buffer_puts(out, i > 0 ? ", (int)(task" : "(int)(task");
        for (int k = i + 1; k < count; k++) {
            dm_buffer_puts(out, " / ");
            print_dim(out, k);
        }
        if (i > 0) {
            dm_buffer_puts(out, " % ");
            print_dim(out, i);
        }
        dm_buffer_putc(out, ')');
    }
    for (int i = 0; i < f->body->param_count; i++) {
        dm_buffer_puts(out, count + i > 0 ? ", args." : "args.");
        dm_put_name(out, f->block_names[i]);
    }
    dm_buffer_puts(out, ");\n");
}

static void print_size(const dm_ir_function *f, dm_buffer *out)
{
    dm_buffer_puts(out, "(long long)args.dim[0]");
    for (int i = 1; i < f->tid_count; i++) {
        dm_buffer_puts(out, " * ");
        print_dim(out, i);
    }
}

static void print_entry(dm_printer *pr, const dm_ir_function *f, const char *kernel,
                        const char *pass, const char *task, dm_buffer *out)
{
    if (pr->options.target == DM_TARGET_CUDA) {
        dm_buffer_puts(out, "extern \"C\" __global__ void ");
        dm_put_name(out, kernel);
        dm_buffer_putc(out, '_');
        dm_buffer_puts(out, pass);
        dm_buffer_puts(out, "(const ");
        dm_put_name(out, kernel);
        dm_buffer_puts(out, "_args args)\n{\n    const long long size = ");
        print_size(f, out);
        dm_buffer_puts(out, ", threads = (long long)gridDim.x * blockDim.x;\n");
        if (pr->options.bounds)
            dm_buffer_puts(out, "    bounds_record = args.fault;\n");
        dm_buffer_puts(out, "    for (long long task = (long long)blockIdx.x * blockDim.x + "
                            "threadIdx.x; task < size;\n"
                            "         task += threads)\n        ");
        print_task_call(f, task, out);
        dm_buffer_puts(out, "}\n");
        return;
    }
    dm_emit(out,
            "%s extern const uint64_t %s_%s_args_size;\n"
            "const uint64_t %s_%s_args_size = sizeof(%s_args);\n\n"
            "%s void %s_%s(const void *block, uint64_t first, uint64_t last, uint64_t count);\n"
            "void %s_%s(const void *block, uint64_t first, uint64_t last, uint64_t count)\n{\n"
            "    const %s_args args = *(const %s_args *)block;\n"
            "    const long long size = ",
            "__attribute__((visibility(\"default\")))", kernel, pass, kernel, pass, kernel,
            "__attribute__((visibility(\"default\")))", kernel, pass, kernel, pass, kernel, kernel);
    print_size(f, out);
    if (pr->options.bounds)
        dm_buffer_puts(out, ";\n    bounds_record = args.fault;\n"
                            "    if (setjmp(bounds_exit) != 0)\n        return");
    dm_buffer_puts(
        out,
        ";\n    for (uint64_t thread = first; thread < last; thread++)\n"
        "        for (long long task = (long long)thread; task < size; task += (long long)count)\n"
        "            ");
    print_task_call(f, task, out);
    dm_buffer_puts(out, "}\n");
}

static void print_args(dm_printer *pr, const dm_ir_function *f, const char *kernel, dm_buffer *out)
{
    dm_buffer_puts(out, "typedef struct ");
    dm_put_name(out, kernel);
    dm_buffer_puts(out, "_args {\n    int dim[");
    dm_put_number(out, f->tid_count < 1 ? 1 : f->tid_count);
    dm_buffer_puts(out, "]; /* size of the launch */\n");
    for (int i = 0; i < f->body->param_count; i++) {
        dm_buffer_puts(out, "    ");
        dm_put_name(out, dm_print_type(pr, f->values[f->body->params[i]].type));
        dm_buffer_putc(out, ' ');
        dm_put_name(out, f->block_names[i]);
        dm_buffer_puts(out, ";\n");
    }
    if (pr->options.bounds)
        dm_buffer_puts(out, "    bounds_fault *fault;\n");
    dm_buffer_puts(out, "} ");
    dm_put_name(out, kernel);
    dm_buffer_puts(out, "_args;\n\n");
}

static void reserve_names(dm_printer *pr)
{
    for (const dm_type *t = pr->lang->seen_types; t != NULL; t = t->next_seen)
        dm_print_global(pr, t->c_name);
}

/* What one thread does is a function of this name. Hardly any program has a name like it. */
static const char *task_name(dm_printer *pr, const char *kernel, const char *pass)
{
    dm_buffer *text = dm_text_open(pr->lang);
    dm_put_name(text, kernel);
    dm_buffer_putc(text, '_');
    dm_buffer_puts(text, pass);
    dm_buffer_puts(text, "_task");
    bool plain = kernel[dm_lang_name_of(kernel)->length - 1] != '_';
    const char *name = plain && !dm_lang_is_name(pr->lang, text->data, text->size)
                           ? dm_lang_lone_name(pr->lang, text->data, text->size)
                           : dm_print_global(pr, dm_lang_intern(pr->lang, text->data, text->size));
    dm_text_close(pr->lang, 1);
    return name;
}

void dm_print_kernel(dm_lang *lang, const dm_ir_function *forward, const dm_ir_function *backward,
                     const dm_print_options *options, dm_buffer *out)
{
    dm_printer *pr = dm_lang_alloc(lang, sizeof *pr);
    *pr = (dm_printer){.lang = lang, .options = *options, .stamp = ++lang->kept->texts};
    lang->text_open = 0;
    pr->types = dm_text_open(lang);
    pr->helpers = dm_text_open(lang);
    pr->functions = dm_text_open(lang);
    pr->temporary = dm_lang_intern_text(lang, "t");
    bool cuda = options->target == DM_TARGET_CUDA;
    const dm_ir_function *passes[2] = {forward, backward};
    const char *kernel = dm_print_global(pr, forward->base_name);
    ((dm_ir_function *)forward)->entry_name = kernel;
    dm_buffer *entries = dm_text_open(pr->lang);
    reserve_names(pr);
    const dm_ir_function *first = NULL; /* of those in this text */
    for (int p = 0; p < 2; p++) {
        dm_ir_function *f = (dm_ir_function *)passes[p];
        if (f == NULL || options->passes == (p == 0 ? DM_PASS_BACKWARD : DM_PASS_FORWARD))
            continue;
        const char *pass = p == 0 ? "forward" : "backward";
        const char *task = task_name(pr, kernel, pass);
        memset(f->tid_used, 0, sizeof f->tid_used);
        if ((f->kinds & DM_IR_CALLS) != 0)
            print_callees(pr, f->body);
        print_function(pr, f, task);
        if (first == NULL) {
            int count = f->body->param_count;
            f->block_names = dm_lang_alloc_array(lang, (size_t)count + 1, sizeof *f->block_names);
            for (int i = 0; i < count; i++)
                f->block_names[i] = pr->plan[f->body->params[i]].name;
            print_args(pr, first = f, kernel, entries);
        } else { /* the block's fields have the names that the first pass gave them */
            f->block_names = first->block_names;
            dm_buffer_putc(entries, '\n');
        }
        print_entry(pr, f, kernel, pass, task, entries);
    }
    dm_buffer_puts(out, "/* Kernel ");
    dm_put_name(out, forward->name);
    dm_buffer_puts(out, cuda ? ", CUDA C++ by dotmatrix. */\n" : ", C by dotmatrix. */\n");
    if (!cuda) {
        dm_buffer_puts(out, "#include <stdint.h>\n#include <stdbool.h>\n");
        if (pr->uses_math)
            dm_buffer_puts(out, "#include <math.h>\n");
        if (pr->uses_stdio)
            dm_buffer_puts(out, "#include <stdio.h>\n");
        if (options->bounds)
            dm_buffer_puts(out, "#include <setjmp.h>\n");
    }
    dm_buffer_putc(out, '\n');
    if (options->bounds)
        dm_print_bounds_head(pr, out);
    dm_buffer_append(out, dm_buffer_text(pr->types), pr->types->size);
    if (pr->types->size > 0)
        dm_buffer_putc(out, '\n');
    dm_buffer_append(out, dm_buffer_text(pr->helpers), pr->helpers->size);
    dm_buffer_append(out, dm_buffer_text(pr->functions), pr->functions->size);
    dm_buffer_append(out, dm_buffer_text(entries), entries->size);
    dm_text_close(lang, 4);
}
