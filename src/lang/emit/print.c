/* SPDX-License-Identifier: MIT */
/* print.c - functions, entry points and the order of the text; see print.h. */
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

/* Is the name that of an entry point or of the argument block of the kernel? */
static bool belongs_to(const char *name, const char *kernel)
{
    static const char *const words[] = {"_args", "_forward", "_backward", "_forward_args_size",
                                        "_backward_args_size"};
    uint32_t length = dm_lang_name_of(kernel)->length;
    if (strncmp(name, kernel, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(name + length, words[i]) == 0)
            return true;
    return false;
}

static const char *function_name(dm_printer *pr, const char *wanted)
{
    for (;;) {
        const char *name = dm_print_global(pr, wanted);
        bool free = true;
        for (int i = 0; i < pr->item_count; i++)
            free &= !belongs_to(name, pr->items[i].forward->entry_name);
        if (free)
            return name;
    }
}

static void print_callee(dm_printer *pr, dm_ir_function *f)
{
    if (is_printed(pr, f))
        return;
    DM_LANG_PUSH_POINTER(pr->lang, pr->printed, pr->printed_count, pr->printed_capacity, f);
    if ((f->kinds & DM_IR_CALLS) != 0)
        print_callees(pr, f->body);
    f->c_name = function_name(pr, f->base_name);
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

/* Each task counts its rounds from 0. */
static void print_begin(const dm_printer *pr, dm_buffer *out)
{
    if (pr->options.bounds && pr->options.rounds > 0)
        dm_buffer_puts(out, "bounds_begin(), ");
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
        print_begin(pr, out);
        print_task_call(f, task, out);
        dm_buffer_puts(out, "}\n");
        return;
    }
    if (!pr->options.local)
        dm_emit(
            out,
            "%s extern const uint64_t %s_%s_args_size;\n"
            "const uint64_t %s_%s_args_size = sizeof(%s_args);\n\n"
            "%s void %s_%s(const void *block, uint64_t first, uint64_t last, uint64_t count);\n",
            "__attribute__((visibility(\"default\")))", kernel, pass, kernel, pass, kernel,
            "__attribute__((visibility(\"default\")))", kernel, pass);
    dm_emit(out,
            "%svoid %s_%s(const void *block, uint64_t first, uint64_t last, uint64_t count)\n{\n"
            "    const %s_args args = *(const %s_args *)block;\n"
            "    const long long size = ",
            pr->options.local ? "static " : "", kernel, pass, kernel, kernel);
    print_size(f, out);
    if (pr->options.bounds)
        dm_buffer_puts(out, ";\n    bounds_record = args.fault;\n"
                            "    if (setjmp(bounds_exit) != 0)\n        return");
    dm_buffer_puts(
        out,
        ";\n    for (uint64_t thread = first; thread < last; thread++)\n"
        "        for (long long task = (long long)thread; task < size; task += (long long)count)\n"
        "            ");
    print_begin(pr, out);
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

/* The name <kernel><pass><word>. Programs hardly ever use such a name; only if this one might is it
 * made unique. */
static const char *made_name(dm_printer *pr, const char *kernel, const char *pass, const char *word)
{
    dm_buffer *text = dm_text_open(pr->lang);
    dm_put_name(text, kernel);
    dm_buffer_puts(text, pass);
    dm_buffer_puts(text, word);
    bool plain = kernel[dm_lang_name_of(kernel)->length - 1] != '_';
    const char *name = plain && !dm_lang_is_name(pr->lang, text->data, text->size)
                           ? dm_lang_lone_name(pr->lang, text->data, text->size)
                           : dm_print_global(pr, dm_lang_intern(pr->lang, text->data, text->size));
    dm_text_close(pr->lang, 1);
    return name;
}

/* The name of a kernel, with which those of its entry points and of its argument block begin. */
static const char *kernel_name(dm_printer *pr, const char *wanted)
{
    for (;;) {
        const char *name = dm_print_global(pr, wanted);
        bool free = true;
        for (const dm_type *t = pr->lang->seen_types; t != NULL; t = t->next_seen)
            free &= !belongs_to(t->c_name, name);
        if (free)
            return name;
    }
}

/* The functions of a kernel, its argument block and its entry points. */
static void print_kernel(dm_printer *pr, const dm_print_item *item, dm_buffer *entries)
{
    const dm_ir_function *passes[2] = {item->forward, item->backward};
    const dm_ir_function *first = NULL; /* of those in this text */
    const char *kernel = item->forward->entry_name;
    for (int p = 0; p < 2; p++) {
        dm_ir_function *f = (dm_ir_function *)passes[p];
        dm_passes other = p == 0 ? DM_PASS_BACKWARD : DM_PASS_FORWARD;
        if (f == NULL || pr->options.passes == other)
            continue;
        const char *pass = p == 0 ? "forward" : "backward";
        const char *task = made_name(pr, kernel, p == 0 ? "_forward" : "_backward", "_task");
        memset(f->tid_used, 0, sizeof f->tid_used);
        if ((f->kinds & DM_IR_CALLS) != 0)
            print_callees(pr, f->body);
        print_function(pr, f, task);
        if (entries->size > 0)
            dm_buffer_putc(entries, '\n');
        if (first == NULL) {
            int count = f->body->param_count;
            f->block_names =
                dm_lang_alloc_array(pr->lang, (size_t)count + 1, sizeof *f->block_names);
            for (int i = 0; i < count; i++)
                f->block_names[i] = pr->plan[f->body->params[i]].name;
            print_args(pr, first = f, kernel, entries);
        } else { /* the block's fields have the names that the first pass gave them */
            f->block_names = first->block_names;
        }
        print_entry(pr, f, kernel, pass, task, entries);
    }
}

static void print_head_lines(dm_printer *pr, const dm_print_item *items, int count, dm_buffer *out)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA;
    dm_buffer_puts(out, count == 1 ? "/* Kernel " : "/* Kernels ");
    for (int i = 0; i < count; i++) {
        dm_buffer_puts(out, i > 0 ? ", " : "");
        dm_put_name(out, items[i].forward->name);
    }
    dm_buffer_puts(out, cuda ? ", CUDA C++ by dotmatrix. */\n" : ", C by dotmatrix. */\n");
    if (!cuda) {
        dm_buffer_puts(out, "#include <stdint.h>\n#include <stdbool.h>\n");
        if (pr->uses_math)
            dm_buffer_puts(out, "#include <math.h>\n");
        if (pr->uses_stdio)
            dm_buffer_puts(out, "#include <stdio.h>\n");
        if (pr->options.bounds)
            dm_buffer_puts(out, "#include <setjmp.h>\n");
    }
    dm_buffer_putc(out, '\n');
    if (pr->options.bounds)
        dm_print_bounds_head(pr, out);
}

/* One attempt; false: names clash (print_name.c). */
static bool print_text(dm_printer *pr, const dm_print_item *items, int count, dm_buffer *out)
{
    dm_lang *lang = pr->lang;
    pr->items = items;
    pr->item_count = count;
    lang->text_open = 0;
    pr->types = dm_text_open(lang);
    pr->helpers = dm_text_open(lang);
    pr->functions = dm_text_open(lang);
    dm_buffer *entries = dm_text_open(lang);
    for (int i = 0; i < count; i++)
        ((dm_ir_function *)items[i].forward)->entry_name =
            kernel_name(pr, items[i].forward->base_name);
    reserve_names(pr);
    for (int i = 0; i < count; i++)
        print_kernel(pr, &items[i], entries);
    if (!pr->clashes) {
        print_head_lines(pr, items, count, out);
        dm_buffer_append(out, dm_buffer_text(pr->types), pr->types->size);
        if (pr->types->size > 0)
            dm_buffer_putc(out, '\n');
        dm_buffer_append(out, dm_buffer_text(pr->helpers), pr->helpers->size);
        dm_buffer_append(out, dm_buffer_text(pr->functions), pr->functions->size);
        dm_buffer_append(out, dm_buffer_text(entries), entries->size);
    }
    dm_text_close(lang, 4);
    return !pr->clashes;
}

void dm_print_kernels(dm_lang *lang, const dm_print_item *items, int count,
                      const dm_print_options *options, dm_buffer *out)
{
    enum { ATTEMPTS = 16 };
    dm_printer *pr = dm_lang_alloc(lang, sizeof *pr);
    uint32_t first = lang->kept->texts + 1;
    for (int i = 0; i < ATTEMPTS; i++) {
        *pr = (dm_printer){.lang = lang,
                           .options = *options,
                           .stamp = ++lang->kept->texts,
                           .attempts_of = first,
                           .temporary = dm_lang_intern_text(lang, "t")};
        if (print_text(pr, items, count, out))
            return;
    }
    dm_lang_bail(lang,
                 "names of the program clash with those of helpers, whatever they are called");
}
