/* SPDX-License-Identifier: MIT */
/* unit.c - one kernel, or several with their launches; see unit.h. */
#include "synth/check/unit.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* ---- Words of the function ---- */

typedef struct reader {
    dm_unit *unit;
    const char *at;
    dm_status status;
    dm_error *err;
} reader;

static void complain(reader *r, const char *what)
{
    if (r->status == DM_OK)
        r->status = dm_fail(r->err, DM_ECOMPILE, "launches: %s at '%.*s'", what,
                            (int)strcspn(r->at, "\n"), r->at);
}

static void skip_spaces(reader *r)
{
    while (*r->at == ' ' || *r->at == '\n')
        r->at++;
}

/* The sign or word, when it is next. */
static bool take(reader *r, const char *text)
{
    skip_spaces(r);
    if (strncmp(r->at, text, strlen(text)) != 0)
        return false;
    r->at += strlen(text);
    return true;
}

static void need(reader *r, const char *text)
{
    if (r->status == DM_OK && !take(r, text)) {
        char what[64];
        snprintf(what, sizeof what, "'%s' is missing", text);
        complain(r, what);
    }
}

static void need_name(reader *r, char name[DM_UNIT_NAME_SIZE])
{
    int length = 0;
    skip_spaces(r);
    while ((isalnum((unsigned char)r->at[length]) || r->at[length] == '_') &&
           length + 1 < DM_UNIT_NAME_SIZE)
        length++;
    memcpy(name, r->at, (size_t)length);
    name[length] = '\0';
    if (length == 0 || isdigit((unsigned char)name[0]))
        complain(r, "no name");
    r->at += length;
}

static int find_array(const dm_unit *u, const char *name)
{
    for (int i = 0; i < u->array_count; i++)
        if (strcmp(u->arrays[i].name, name) == 0)
            return i;
    return -1;
}

static int need_array(reader *r)
{
    char name[DM_UNIT_NAME_SIZE];
    need_name(r, name);
    int found = find_array(r->unit, name);
    if (found < 0)
        complain(r, "an unknown name before");
    return found;
}

static void add_array(reader *r, const char *name)
{
    dm_unit *u = r->unit;
    if (find_array(u, name) >= 0 || u->array_count == DM_UNIT_NAMES_MAX) {
        complain(r, "a name twice, or too many");
        return;
    }
    u->arrays[u->array_count] = (dm_unit_array){.like = -1};
    snprintf(u->arrays[u->array_count++].name, DM_UNIT_NAME_SIZE, "%s", name);
}

/* To the comma or bracket that ends an argument. */
static void skip_argument(reader *r)
{
    int depth = 0;
    for (; *r->at != '\0'; r->at++) {
        if (depth == 0 && strchr(",)]", *r->at) != NULL)
            return;
        depth += (strchr("([", *r->at) != NULL) - (strchr(")]", *r->at) != NULL);
    }
    complain(r, "the text ends");
}

/* ---- The function ---- */

static void read_params(reader *r)
{
    char name[DM_UNIT_NAME_SIZE];
    need(r, "(");
    while (r->status == DM_OK && !take(r, ")")) {
        need_name(r, name);
        need(r, ":");
        if (r->status == DM_OK)
            skip_argument(r);
        add_array(r, name);
        if (!take(r, ","))
            skip_spaces(r);
    }
    r->unit->param_count = r->unit->array_count;
    need(r, ":");
}

/* `Y.shape`, `Y.shape[0]` or `1`; *dims: 0 is all. */
static int read_shape(reader *r, int *dims)
{
    *dims = 1;
    if (take(r, "1"))
        return -1;
    int found = need_array(r);
    need(r, ".shape");
    *dims = take(r, "[0]") ? 1 : 0;
    return found;
}

static void read_temporary(reader *r)
{
    char name[DM_UNIT_NAME_SIZE];
    int like = -1, dims;
    need_name(r, name);
    need(r, "=");
    if (take(r, "wp.zeros_like(")) {
        like = need_array(r);
    } else {
        need(r, "wp.zeros(");
        like = read_shape(r, &dims);
        need(r, ",");
        need(r, "dtype=");
        if (r->status == DM_OK)
            skip_argument(r);
    }
    need(r, ")");
    add_array(r, name);
    if (r->status == DM_OK)
        r->unit->arrays[r->unit->array_count - 1].like = like;
}

static void read_list(reader *r, dm_unit_launch *l)
{
    need(r, "[");
    while (r->status == DM_OK && !take(r, "]")) {
        int found = need_array(r);
        if (r->status == DM_OK && l->arg_count == DM_UNIT_NAMES_MAX)
            complain(r, "too many arguments");
        if (r->status == DM_OK)
            l->args[l->arg_count++] = found;
        take(r, ",");
    }
}

static void read_launch(reader *r)
{
    char name[DM_UNIT_NAME_SIZE];
    dm_unit *u = r->unit;
    if (u->launch_count == DM_UNIT_LAUNCHES_MAX) {
        complain(r, "too many launches");
        return;
    }
    dm_unit_launch *l = &u->launches[u->launch_count++];
    need_name(r, name);
    need(r, ",");
    need(r, "dim=");
    const char *from = r->at;
    l->over = read_shape(r, &l->dims);
    snprintf(l->dim, sizeof l->dim, "%.*s", (int)(r->at - from), from);
    need(r, ",");
    need(r, "inputs=");
    read_list(r, l);
    if (take(r, ",") && take(r, "outputs=")) {
        read_list(r, l);
        take(r, ",");
    }
    need(r, ")");
    l->kernel = dm_compilation_find(u->compilation, name);
    if (r->status == DM_OK && l->kernel < 0)
        complain(r, "no kernel of that name is launched before");
}

static void read_function(reader *r)
{
    read_params(r);
    if (take(r, "\"\"\"")) {
        const char *end = strstr(r->at, "\"\"\"");
        r->at = end == NULL ? r->at + strlen(r->at) : end + 3;
    }
    for (skip_spaces(r); r->status == DM_OK && *r->at != '\0'; skip_spaces(r)) {
        if (*r->at == '#')
            r->at += strcspn(r->at, "\n");
        else if (take(r, "wp.launch("))
            read_launch(r);
        else
            read_temporary(r);
    }
    if (r->status == DM_OK && r->unit->launch_count == 0)
        complain(r, "nothing is launched");
}

/* ---- Types, by the kernels ---- */

static const dm_ir_function *launched(const dm_unit *u, const dm_unit_launch *l)
{
    return u->compilation->kernels[l->kernel].forward;
}

static dm_status check_launch(dm_unit *u, dm_unit_launch *l, dm_error *err)
{
    dm_status status = dm_compilation_kernel(u->compilation, l->kernel, err);
    if (status != DM_OK)
        return status;
    const dm_ir_function *f = launched(u, l);
    if (f->body->param_count != l->arg_count)
        return dm_fail(err, DM_ECOMPILE, "launches: %s takes %d arguments, not %d", f->name,
                       f->body->param_count, l->arg_count);
    for (int i = 0; i < l->arg_count; i++) {
        const dm_type *type = dm_ir_type(f, f->body->params[i]);
        dm_unit_array *a = &u->arrays[l->args[i]];
        bool temporary = l->args[i] >= u->param_count;
        if ((a->type != NULL && a->type != type) || (temporary && type->kind != DM_TYPE_ARRAY))
            return dm_fail(err, DM_ECOMPILE, "launches: %s takes another type than '%s'", f->name,
                           a->name);
        a->type = type;
    }
    return DM_OK;
}

static dm_status check_shapes(dm_unit *u, dm_error *err)
{
    for (int i = 0; i < u->array_count; i++) {
        const dm_unit_array *a = &u->arrays[i];
        const dm_type *like = a->like < 0 ? NULL : u->arrays[a->like].type;
        if (a->type == NULL)
            return dm_fail(err, DM_ECOMPILE, "launches: no kernel takes '%s'", a->name);
        if (i >= u->param_count &&
            (like == NULL ? a->type->ndim != 1
                          : like->kind != DM_TYPE_ARRAY || like->ndim < a->type->ndim))
            return dm_fail(err, DM_ECOMPILE, "launches: the shape of '%s' does not fit", a->name);
    }
    for (int i = 0; i < u->launch_count; i++) {
        dm_unit_launch *l = &u->launches[i];
        int wanted = launched(u, l)->tid_count < 1 ? 1 : launched(u, l)->tid_count;
        if (l->over >= 0 && u->arrays[l->over].type->kind != DM_TYPE_ARRAY)
            return dm_fail(err, DM_ECOMPILE, "launches: '%s' is no array", u->arrays[l->over].name);
        if (l->dims == 0)
            l->dims = u->arrays[l->over].type->ndim;
        if (l->dims != wanted)
            return dm_fail(err, DM_ECOMPILE, "launches: %s has threads of %d dimensions, not %d",
                           launched(u, l)->name, wanted, l->dims);
    }
    return DM_OK;
}

/* The launches as operations of a function. */
static void make_function(dm_unit *u, const char *name)
{
    dm_lang *lang = &u->compilation->lang;
    dm_val values[DM_UNIT_NAMES_MAX] = {0};
    dm_ir_function *f = dm_ir_function_new(lang, dm_lang_intern_text(lang, name));
    dm_ir_builder b = {.lang = lang, .function = f, .block = f->body};
    f->role = DM_IR_KERNEL;
    f->entry_name = f->name;
    f->tid_count = 1;
    for (int i = 0; i < u->array_count; i++)
        values[i] = i < u->param_count ? dm_ir_param(f, f->body, u->arrays[i].type,
                                                     dm_lang_intern_text(lang, u->arrays[i].name))
                                       : dm_ir_simple(&b, DM_IR_ZERO, NULL, 0, u->arrays[i].type);
    for (int i = 0; i < u->launch_count; i++) {
        const dm_unit_launch *l = &u->launches[i];
        dm_val args[DM_UNIT_NAMES_MAX];
        for (int k = 0; k < l->arg_count; k++)
            args[k] = values[l->args[k]];
        dm_ir_op *op = dm_ir_op_new(&b, DM_IR_INVOKE, args, l->arg_count, NULL);
        op->callee = (dm_ir_function *)launched(u, l);
    }
    u->forward = f;
}

/* ---- The whole ---- */

static const char *find_function(const char *text, const char *name)
{
    char start[DM_UNIT_NAME_SIZE + 8];
    snprintf(start, sizeof start, "\ndef %.63s(", name);
    const char *at = strstr(text, start);
    return at == NULL ? NULL : at + strlen(start) - 1;
}

dm_status dm_unit_open(dm_unit *u, dm_compilation *c, const char *source, const char *name,
                       dm_error *err)
{
    *u = (dm_unit){.compilation = c, .kernel = dm_compilation_find(c, name)};
    if (u->kernel >= 0) {
        dm_status status = dm_compilation_kernel(c, u->kernel, err);
        u->forward = c->kernels[u->kernel].forward;
        u->has_backward = c->kernels[u->kernel].backward != NULL;
        return status;
    }
    const char *text = find_function(source, name);
    if (text == NULL)
        return dm_fail(err, DM_ECOMPILE, "there is no kernel '%s'", name);
    reader r = {.unit = u, .at = text, .err = err};
    read_function(&r);
    for (int i = 0; i < u->launch_count && r.status == DM_OK; i++) {
        r.status = check_launch(u, &u->launches[i], err);
        u->has_backward |= r.status == DM_OK && c->kernels[u->launches[i].kernel].backward != NULL;
    }
    if (r.status == DM_OK)
        r.status = check_shapes(u, err);
    if (r.status != DM_OK)
        return r.status;
    if (setjmp(c->lang.bail) != 0)
        return dm_compilation_fail(c, err);
    make_function(u, name);
    return DM_OK;
}

dm_status dm_unit_print(const dm_unit *u, dm_target target, dm_passes pass, dm_buffer *out,
                        dm_error *err)
{
    int kernels[DM_UNIT_LAUNCHES_MAX], count = 0;
    if (u->kernel >= 0)
        return dm_compilation_print_pass(u->compilation, u->kernel, target, pass, out, err);
    for (int i = 0; i < u->launch_count; i++) {
        int kernel = u->launches[i].kernel;
        bool known = pass == DM_PASS_BACKWARD && target == DM_TARGET_CUDA &&
                     u->compilation->kernels[kernel].backward == NULL;
        for (int k = 0; k < count; k++)
            known |= kernels[k] == kernel;
        if (!known)
            kernels[count++] = kernel;
    }
    /* The way back makes the temporaries again. */
    bool both = pass == DM_PASS_BACKWARD && target == DM_TARGET_C;
    dm_status status =
        dm_compilation_print_list(u->compilation, kernels, count, target,
                                  both ? DM_PASS_BOTH : pass, target == DM_TARGET_C, out, err);
    if (status == DM_OK && target == DM_TARGET_C)
        dm_unit_put_entries(u, pass, out);
    return status == DM_OK ? dm_buffer_check(out, err) : status;
}

void dm_unit_put_launches(const dm_unit *u, dm_buffer *out)
{
    if (u->kernel >= 0)
        return;
    dm_buffer_puts(out, "{\"temporaries\": [");
    for (int i = u->param_count; i < u->array_count; i++) {
        const dm_unit_array *a = &u->arrays[i];
        dm_buffer_printf(out, "%s{\"name\": \"%s\", \"element\": \"%s\", \"dimensions\": %d, ",
                         i > u->param_count ? ", " : "", a->name, a->type->element->name,
                         a->type->ndim);
        if (a->like < 0)
            dm_buffer_puts(out, "\"like\": null}");
        else
            dm_buffer_printf(out, "\"like\": \"%s\"}", u->arrays[a->like].name);
    }
    dm_buffer_puts(out, "], \"launches\": [");
    for (int i = 0; i < u->launch_count; i++) {
        const dm_unit_launch *l = &u->launches[i];
        dm_buffer_printf(out, "%s{\"kernel\": \"%s\", \"dim\": \"%s\", \"arguments\": [",
                         i > 0 ? ", " : "", launched(u, l)->name, l->dim);
        for (int k = 0; k < l->arg_count; k++)
            dm_buffer_printf(out, "%s\"%s\"", k > 0 ? ", " : "", u->arrays[l->args[k]].name);
        dm_buffer_puts(out, "]}");
    }
    dm_buffer_puts(out, "]}");
}
