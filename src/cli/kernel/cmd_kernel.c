/* SPDX-License-Identifier: MIT */
/* cmd_kernel.c - `dotmatrix kernel`: compile kernels of the dialect, list, check and run those of a
 * file. */
#include "base/file.h"
#include "base/json.h"
#include "base/terminal/color.h"
#include "cli/command.h"
#include "cli/kernel/kernel_run.h"
#include "cli/outputs.h"
#include "device/nvrtc.h"
#include "lang/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_CPU, DEVICE_CUDA, DEVICE_BOTH };
enum { EMIT_SOURCE, EMIT_IR, EMIT_AST, EMIT_JSON, EMIT_PTX, EMIT_CUBIN };

typedef struct kernel_options {
    const char *kernel;
    int device;
    int emit;
    const char *arch;
    bool no_backward, warp_compat, from_inputs, keep_loops, lines, json, bounds, no_bounds;
    dm_strings defines, args, grads;
    const char *out, *dim;
    int64_t seed, size;
    dm_strings given;
} kernel_options;

static const char *const devices[] = {"cpu", "cuda", "both", NULL};
static const char *const emits[] = {"source", "ir", "ast", "json", "ptx", "cubin", NULL};

static const dm_option rows[] = {
    DM_OPTION_STRING(kernel_options, kernel, "kernel", "NAME", NULL, "only this kernel"),
    DM_OPTION_CHOICE(kernel_options, device, "device", devices, "cpu",
                     "compile: C, CUDA C++ or both; run: where; check: cuda needs a GPU"),
    DM_OPTION_CHOICE(kernel_options, emit, "emit", emits, "source", "what to write"),
    DM_OPTION_STRING(kernel_options, arch, "arch", "SM", "90",
                     "of the GPU, for ptx and cubin: 75 to 120"),
    DM_OPTION_FLAG(kernel_options, no_backward, "no-backward", "the forward pass only"),
    DM_OPTION_FLAG(kernel_options, warp_compat, "warp-compat",
                   "gradients as Warp's where they differ"),
    DM_OPTION_FLAG(kernel_options, from_inputs, "from-inputs",
                   "the backward pass gets the arrays as they were before the kernel"),
    DM_OPTION_FLAG(kernel_options, keep_loops, "keep-loops",
                   "short ranges of known length stay loops, as in datasets"),
    DM_OPTION_FLAG(kernel_options, lines, "lines", "comments with the source's lines"),
    DM_OPTION_STRINGS(kernel_options, defines, "define", "NAME=VALUE",
                      "the value of a captured name; repeatable"),
    DM_OPTION_STRING(kernel_options, out, "out", "FILE", NULL,
                     "write there (run: arrays, into this folder), not to the terminal"),
    DM_OPTION_STRING(kernel_options, dim, "dim", "N,M", NULL, "size of the launch"),
    DM_OPTION_STRINGS(kernel_options, args, "arg", "NAME=VALUE",
                      "a number, several for a vector (0,-9.8,0), a .npy file or zeros:NxM; "
                      "repeatable"),
    DM_OPTION_STRINGS(kernel_options, grads, "grad", "NAME=FILE",
                      "the gradient of an array, a .npy file or 'ones'; runs backward too"),
    DM_OPTION_FLAG(kernel_options, bounds, "bounds",
                   "check indices on CUDA, too; the CPU does without --no-bounds"),
    DM_OPTION_FLAG(kernel_options, no_bounds, "no-bounds", "do not check indices, for speed"),
    DM_OPTION_INT(kernel_options, seed, "seed", "S", 0, INT64_MAX, "1", "random arguments"),
    DM_OPTION_INT(kernel_options, size, "size", "N", 1, 1000, "6", "elements per dimension"),
    DM_OPTION_FLAG(kernel_options, json, "json", "write JSON for programs"),
    DM_OPTION_GIVEN(kernel_options, given),
};

/* ---- Shared ---- */

typedef struct session {
    const char *path;
    char *text;
    size_t size;
    dm_compilation c;
    dm_define *defines;
    bool open;
} session;

static void close_session(session *s)
{
    if (s->open)
        dm_compilation_deinit(&s->c);
    for (int i = 0; s->defines != NULL && i < s->c.options.module.define_count; i++)
        free((char *)s->defines[i].name);
    free(s->defines);
    free(s->text);
}

static void show_diags(session *s)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_lang_print_diags(&s->c.lang, &text);
    dm_color_print_diagnostics(stderr, dm_buffer_text(&text));
    dm_buffer_deinit(&text);
}

/* "NAME=VALUE" cut in two; the copies are the session's. */
static dm_status read_defines(session *s, const kernel_options *o, dm_compile_options *options,
                              dm_error *err)
{
    s->defines = calloc(o->defines.count + 1, sizeof *s->defines);
    if (s->defines == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    options->module.defines = s->defines;
    for (size_t i = 0; i < o->defines.count; i++) {
        char *copy = strdup(o->defines.items[i]), *equals = copy == NULL ? NULL : strchr(copy, '=');
        if (equals == NULL || equals == copy || equals[1] == 0) {
            free(copy);
            return dm_fail(err, DM_EINVAL, "--define wants NAME=VALUE, not '%.200s'",
                           o->defines.items[i]);
        }
        *equals = '\0';
        s->defines[i] = (dm_define){.name = copy, .text = equals + 1};
        options->module.define_count = (int)i + 1;
        s->c.options.module.define_count = (int)i + 1;
    }
    return DM_OK;
}

static dm_status open_session(session *s, const kernel_options *o, const char *path, dm_error *err)
{
    dm_compile_options options = {.no_backward = o->no_backward, .lines = o->lines};
    options.module.warp_compat = o->warp_compat;
    options.module.from_inputs = o->from_inputs;
    options.module.keep_loops = o->keep_loops;
    options.module.imports = true;
    memset(s, 0, sizeof *s);
    s->path = path;
    dm_status status = dm_file_read(path, DM_LANG_SOURCE_MAX, &s->text, &s->size, err);
    if (status == DM_OK)
        status = read_defines(s, o, &options, err);
    if (status != DM_OK)
        return status;
    s->open = true;
    status = dm_compilation_init(&s->c, path, s->text, s->size, &options, err);
    if (status == DM_ECOMPILE)
        show_diags(s);
    return status;
}

static int line_of(session *s, int kernel)
{
    const dm_lang_source *source;
    int line, column;
    dm_lang_locate(&s->c.lang, s->c.kernels[kernel].decl->ast->pos, &source, &line, &column);
    return line;
}

static dm_status finish(dm_buffer *out, const char *path, dm_error *err)
{
    dm_status status = dm_buffer_check(out, err);
    if (status == DM_OK && path != NULL)
        status = dm_file_write(path, dm_buffer_text(out), out->size, err);
    else if (status == DM_OK)
        fwrite(dm_buffer_text(out), 1, out->size, stdout);
    dm_buffer_deinit(out);
    return status;
}

/* ---- list ---- */

static void add_params(dm_json *json, const dm_ast *ast, session *s)
{
    dm_json_begin_array(json, "parameters");
    for (int i = 0; i < ast->count; i++) {
        const dm_ast *param = ast->items[i];
        dm_json_begin_object(json, NULL);
        dm_json_string(json, "name", param->name);
        if (param->a != NULL)
            dm_json_string_n(json, "annotation", s->text + param->a->pos,
                             param->a->end - param->a->pos);
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}

/* An annotation may go over several lines. */
static void put_on_one_line(dm_buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool space = text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r';
        if (!space)
            dm_buffer_putc(out, text[i]);
        else if (i > 0 && strchr(" \t\n\r([", text[i - 1]) == NULL)
            dm_buffer_putc(out, ' ');
    }
}

static dm_status list(session *s, const kernel_options *o, dm_error *err)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    if (s->c.kernel_count == 0)
        return dm_fail(err, DM_EFORMAT, "%s: the file has no kernels", s->path);
    if (o->json) {
        dm_json json;
        dm_json_init(&json, &out, DM_JSON_PRETTY);
        dm_json_begin_array(&json, NULL);
        for (int i = 0; i < s->c.kernel_count; i++) {
            const dm_ast *ast = s->c.kernels[i].decl->ast;
            dm_json_begin_object(&json, NULL);
            dm_json_string(&json, "name", ast->name);
            dm_json_int(&json, "line", line_of(s, i));
            add_params(&json, ast, s);
            dm_json_end_object(&json);
        }
        dm_json_end_array(&json);
        dm_json_finish(&json);
    } else {
        for (int i = 0; i < s->c.kernel_count; i++) {
            const dm_ast *ast = s->c.kernels[i].decl->ast;
            dm_buffer_printf(&out, "%s(", ast->name);
            for (int p = 0; p < ast->count; p++) {
                const dm_ast *param = ast->items[p];
                dm_buffer_printf(&out, "%s%s", p > 0 ? ", " : "",
                                 param->name == NULL ? "*" : param->name);
                if (param->a != NULL) {
                    dm_buffer_puts(&out, ": ");
                    put_on_one_line(&out, s->text + param->a->pos, param->a->end - param->a->pos);
                }
            }
            dm_buffer_printf(&out, ")  line %d\n", line_of(s, i));
        }
    }
    return finish(&out, o->out, err);
}

/* ---- compile ---- */

/* The diagnostics that came with one kernel. */
static void add_messages(session *s, dm_json *json, const dm_diag *from)
{
    dm_json_begin_array(json, "diagnostics");
    for (const dm_diag *d = from; d != NULL; d = d->next) {
        const dm_lang_source *source;
        int line, column;
        dm_lang_locate(&s->c.lang, d->pos, &source, &line, &column);
        dm_json_begin_object(json, NULL);
        dm_json_string(json, "severity", d->severity == DM_SEVERITY_ERROR ? "error" : "warning");
        dm_json_string(json, "message", d->message);
        dm_json_int(json, "line", line);
        dm_json_int(json, "column", column);
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}

static dm_status add_text(session *s, dm_json *json, const char *key, int kernel, dm_target target,
                          dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_status status = dm_compilation_print(&s->c, kernel, target, &text, err);
    if (status == DM_OK)
        dm_json_string_n(json, key, dm_buffer_text(&text), text.size);
    dm_buffer_deinit(&text);
    return status;
}

/* One object a line: name, line, ok, has_backward, diagnostics, c, cuda. */
static dm_status emit_json(session *s, int kernel, dm_buffer *out, dm_error *err)
{
    dm_json json;
    const dm_diag *last = s->c.lang.last_diag;
    dm_json_init(&json, out, DM_JSON_COMPACT);
    s->c.lang.error_count = 0; /* a limit for each kernel, not for the file */
    bool ok = dm_compilation_kernel(&s->c, kernel, err) == DM_OK;
    const dm_compile_kernel *k = &s->c.kernels[kernel];
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "name", k->decl->name);
    dm_json_int(&json, "line", line_of(s, kernel));
    dm_json_bool(&json, "ok", ok);
    if (!ok)
        dm_json_string(&json, "error", err->message);
    if (ok)
        dm_json_bool(&json, "has_backward", k->backward != NULL);
    if (ok && k->backward == NULL && k->forward->no_backward != NULL)
        dm_json_string(&json, "no_backward", k->forward->no_backward);
    add_messages(s, &json, last == NULL ? s->c.lang.diags : last->next);
    dm_status status = ok ? add_text(s, &json, "c", kernel, DM_TARGET_C, err) : DM_OK;
    if (ok && status == DM_OK)
        status = add_text(s, &json, "cuda", kernel, DM_TARGET_CUDA, err);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return status;
}

static dm_status emit_code(session *s, const kernel_options *o, dm_buffer *out, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    char arch[64], *code = NULL, *log = NULL;
    size_t size;
    bool cached;
    dm_status status = dm_compilation_print_all(&s->c, DM_TARGET_CUDA, &text, err);
    snprintf(arch, sizeof arch, "%s%.32s", o->emit == EMIT_PTX ? "compute_" : "sm_", o->arch);
    dm_module_desc desc = {.name = "kernel.cu", .text = dm_buffer_text(&text), .log = &log};
    if (status == DM_OK)
        status = dm_nvrtc_compile(&desc, arch, &code, &size, &cached, err);
    if (status == DM_OK)
        dm_buffer_append(out, code, o->emit == EMIT_PTX ? strlen(code) : size);
    free(code);
    free(log);
    dm_buffer_deinit(&text);
    return status;
}

/* One text of all kernels that were compiled, so that what several of them use is in it once. */
static dm_status emit_all(session *s, const kernel_options *o, dm_buffer *out, dm_error *err)
{
    dm_status status = DM_OK;
    if (o->emit == EMIT_PTX || o->emit == EMIT_CUBIN)
        return emit_code(s, o, out, err);
    if (o->device != DEVICE_CUDA)
        status = dm_compilation_print_all(&s->c, DM_TARGET_C, out, err);
    if (status == DM_OK && o->device != DEVICE_CPU)
        status = dm_compilation_print_all(&s->c, DM_TARGET_CUDA, out, err);
    return status;
}

/* Compile one kernel, and write what is written for each. */
static dm_status emit_one(session *s, int kernel, const kernel_options *o, dm_buffer *out,
                          dm_error *err)
{
    if (o->emit == EMIT_JSON)
        return emit_json(s, kernel, out, err);
    dm_status status = dm_compilation_kernel(&s->c, kernel, err);
    const dm_compile_kernel *k = &s->c.kernels[kernel];
    if (status == DM_OK && o->emit == EMIT_IR) {
        dm_ir_print(k->forward, out);
        if (k->backward != NULL)
            dm_ir_print(k->backward, out);
    }
    return status;
}

static dm_status compile(session *s, const kernel_options *o, dm_error *err)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_status status = DM_OK, first = DM_OK;
    int only = -1, done = 0;
    if (o->kernel != NULL && (only = dm_compilation_find(&s->c, o->kernel)) < 0)
        return dm_fail(err, DM_EINVAL, "--kernel: %s has no kernel '%.100s'", s->path, o->kernel);
    if (o->emit == EMIT_SOURCE && o->device == DEVICE_BOTH && o->out != NULL)
        return dm_fail(err, DM_EINVAL,
                       "one file cannot hold C and CUDA C++: give --device cpu or "
                       "--device cuda with --out");
    if (o->emit == EMIT_AST) {
        dm_ast_print(s->c.tree, &out);
        return finish(&out, o->out, err);
    }
    for (int i = 0; i < s->c.kernel_count; i++) {
        dm_error problem = {0};
        if (only >= 0 && i != only)
            continue;
        status = emit_one(s, i, o, &out, &problem);
        if (first == DM_OK && status != DM_OK) {
            first = status;
            *err = problem;
        }
        done += status == DM_OK;
    }
    if (o->emit != EMIT_JSON)
        show_diags(s);
    if (s->c.kernel_count == 0)
        first = dm_fail(err, DM_EFORMAT, "%s: the file has no kernels", s->path);
    status = DM_OK;
    if (done > 0 && (o->emit == EMIT_SOURCE || o->emit == EMIT_PTX || o->emit == EMIT_CUBIN))
        status = emit_all(s, o, &out, err);
    if (status != DM_OK || (done == 0 && first != DM_OK)) {
        dm_buffer_deinit(&out);
        return status != DM_OK ? status : first;
    }
    status = finish(&out, o->out, err);
    return status == DM_OK ? first : status;
}

/* The definitions as a list that ends with NULL; free() it. */
static const char **define_list(const kernel_options *o)
{
    const char **list = calloc(o->defines.count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < o->defines.count; i++)
        list[i] = o->defines.items[i];
    return list;
}

static dm_status run_program(const kernel_options *o, const char *path, dm_error *err)
{
    char *text;
    size_t size;
    if (o->device == DEVICE_BOTH)
        return dm_fail(err, DM_EINVAL, "--device cpu or cuda");
    dm_status status = dm_file_read(path, DM_LANG_SOURCE_MAX, &text, &size, err);
    if (status != DM_OK)
        return status;
    const char **defines = define_list(o);
    dm_kernel_run run = {.file = path,
                         .text = text,
                         .size = size,
                         .kernel = o->kernel,
                         .device = o->device == DEVICE_CUDA ? "cuda:0" : "cpu",
                         .dim = o->dim,
                         .args = &o->args,
                         .grads = &o->grads,
                         .out = o->out,
                         .defines = defines,
                         .warp_compat = o->warp_compat,
                         .from_inputs = o->from_inputs,
                         .bounds = !o->no_bounds && (o->bounds || o->device == DEVICE_CPU)};
    status = dm_cli_kernel_run(&run, err);
    free(defines);
    free(text);
    return status;
}

static dm_status run_check(const kernel_options *o, const char *path, bool *negative, dm_error *err)
{
    char *text;
    size_t size;
    dm_status status = dm_file_read(path, DM_LANG_SOURCE_MAX, &text, &size, err);
    if (status != DM_OK)
        return status;
    const char **defines = define_list(o);
    dm_kernel_check_run run = {.file = path,
                               .text = text,
                               .size = size,
                               .kernel = o->kernel,
                               .seed = (uint64_t)o->seed,
                               .extent = (int)o->size,
                               .json = o->json,
                               .need_gpu = o->device != DEVICE_CPU,
                               .defines = defines,
                               .warp_compat = o->warp_compat,
                               .from_inputs = o->from_inputs};
    status = dm_cli_kernel_check(&run, negative, err);
    free(defines);
    free(text);
    return status;
}

/* Refuse options that have no effect beside the others, and two outputs that are one file. */
static dm_status check_use(const kernel_options *o, const char *path, const char *action,
                           dm_error *err)
{
    if (strcmp(action, "run") == 0) {
        if (o->bounds && o->no_bounds)
            return dm_fail(err, DM_EINVAL, "--bounds and --no-bounds exclude each other");
        return DM_OK;
    }
    bool code = o->emit == EMIT_PTX || o->emit == EMIT_CUBIN;
    if (strcmp(action, "compile") == 0 && !code && dm_options_is_given(&o->given, "arch"))
        return dm_fail(err, DM_EINVAL, "--arch does nothing without --emit ptx or cubin");
    if (strcmp(action, "compile") == 0 && o->emit != EMIT_SOURCE &&
        dm_options_is_given(&o->given, "device"))
        return dm_fail(err, DM_EINVAL, "--device is for --emit source, not for --emit %s",
                       emits[o->emit]);
    const dm_output files[] = {{"the kernels", path, true}, {"out", o->out, false}};
    return dm_outputs_check(files, sizeof files / sizeof files[0], err);
}

static const dm_action actions[] = {
    {"compile", "FILE", 1, 1, "Write C or CUDA C++, forward and backward",
     "kernel emit device arch out no-backward keep-loops lines define warp-compat from-inputs",
     "dotmatrix kernel compile reward.py --device cuda --out reward.cu"},
    {"list", "FILE", 1, 1, "Name the kernels of a file with their parameters", "define out json",
     "dotmatrix kernel list reward.py"},
    {"check", "FILE", 1, 1, "Compare gradients with differences, and a GPU with the CPU",
     "kernel device define warp-compat from-inputs seed size json",
     "dotmatrix kernel check reward.py --size 8"},
    {"run", "FILE", 1, 1, "Run a kernel on numbers and .npy files",
     "kernel dim arg grad device out define warp-compat from-inputs bounds no-bounds",
     "dotmatrix kernel run scale.py --dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:4"},
};

static dm_status run_kernel(const void *values, const dm_strings *arguments, bool *negative,
                            dm_error *err)
{
    const kernel_options *options = values;
    const char *action = arguments->items[0], *path = arguments->items[1];
    session s;
    dm_status status = check_use(options, path, action, err);
    if (status != DM_OK)
        return status;
    if (strcmp(action, "run") == 0)
        return run_program(options, path, err);
    if (strcmp(action, "check") == 0)
        return run_check(options, path, negative, err);
    bool listing = strcmp(action, "list") == 0;
    status = open_session(&s, options, path, err);
    if (status == DM_OK)
        status = listing ? list(&s, options, err) : compile(&s, options, err);
    close_session(&s);
    return status;
}

const dm_command dm_command_kernel = {
    .name = "kernel",
    .summary = "Compile, check and run kernels written in Python syntax",
    .arguments = "compile|list|check|run FILE",
    .arguments_min = 2,
    .arguments_max = 2,
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(kernel_options),
    .run = run_kernel,
};
