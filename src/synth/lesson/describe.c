/* SPDX-License-Identifier: MIT */
/* describe.c - descriptions checked against their kernels, preconditions added; see describe.h. */
#include "synth/lesson/describe.h"

#include "lang/sema/builtins.h"
#include "synth/lesson/roles.h"

#include <ctype.h>
#include <stdio.h>

/* ---- Types ---- */

void dm_synth_type_words(const dm_type *type, dm_buffer *out)
{
    if (type->kind == DM_TYPE_ARRAY) {
        dm_buffer_puts(out, "array of ");
        dm_synth_type_words(type->element, out);
        dm_buffer_printf(out, ", %d dimension%s", type->ndim, type->ndim == 1 ? "" : "s");
        return;
    }
    size_t length = strlen(type->name);
    if (type->kind == DM_TYPE_SCALAR && (type->scalar == DM_F32 || type->scalar == DM_I32))
        dm_buffer_puts(out, type->scalar == DM_F32 ? "float" : "int");
    else if (dm_type_is_numeric(type) && type->scalar == DM_F32 && type->name[length - 1] == 'f')
        dm_buffer_append(out, type->name, length - 1);
    else
        dm_buffer_puts(out, type->name);
}

/* ---- Preconditions ---- */

enum { INDEXES = 1, DIVIDES = 2, LOGARITHM = 4, ROOT = 8 };

typedef struct finder {
    const dm_ir_function *f;
    uint8_t found[DM_SYNTH_PARAMS_MAX];
    int indexed
        [DM_SYNTH_PARAMS_MAX]; /* INDEXES: the array that is indexed by the parameter's elements */
} finder;

/* The parameter that a value is, or is an element of; -1: another value. */
static int source_of(const dm_ir_function *f, dm_val v)
{
    const dm_ir_op *def = f->values[v].def;
    if (def != NULL && def->kind == DM_IR_LOAD)
        return dm_synth_root_of(f, def->args[0]);
    return dm_type_is_scalar(f->values[v].type) ? dm_synth_root_of(f, v) : -1;
}

static void find_indices(finder *s, const dm_ir_op *op)
{
    int array = dm_synth_root_of(s->f, op->args[0]);
    int ndim = s->f->values[op->args[0]].type->ndim;
    for (int i = 1; i <= ndim && i < op->arg_count && array >= 0; i++) {
        const dm_ir_op *def = s->f->values[op->args[i]].def;
        int from = def != NULL && def->kind == DM_IR_LOAD ? source_of(s->f, op->args[i]) : -1;
        if (from >= 0 && (s->found[from] & INDEXES) == 0) {
            s->found[from] |= INDEXES;
            s->indexed[from] = array;
        }
    }
}

static void find_in_call(finder *s, const dm_ir_op *op)
{
    int last = op->arg_count == 0 ? -1 : source_of(s->f, op->args[op->arg_count - 1]);
    if (last < 0)
        return;
    const char *name = op->row->name;
    if (op->row->number == DM_ROW_DIV || op->row->number == DM_ROW_FLOORDIV)
        s->found[last] |= DIVIDES;
    else if (strcmp(name, "log") == 0)
        s->found[last] |= LOGARITHM;
    else if (strcmp(name, "sqrt") == 0)
        s->found[last] |= ROOT;
}

static void find_in(finder *s, const dm_ir_block *block);

/* What a launched kernel asks of its arguments, of the program's. */
static void find_in_launch(finder *s, const dm_ir_op *op)
{
    finder inner = {.f = op->callee};
    find_in(&inner, op->callee->body);
    for (int i = 0; i < op->arg_count && i < DM_SYNTH_PARAMS_MAX; i++) {
        int own = dm_synth_root_of(s->f, op->args[i]);
        if (own < 0)
            continue;
        s->found[own] |= (uint8_t)(inner.found[i] & ~INDEXES);
        int into = (inner.found[i] & INDEXES) == 0
                       ? -1
                       : dm_synth_root_of(s->f, op->args[inner.indexed[i]]);
        if (into >= 0 && (s->found[own] & INDEXES) == 0) {
            s->found[own] |= INDEXES;
            s->indexed[own] = into;
        }
    }
}

static void find_in(finder *s, const dm_ir_block *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_LOAD || op->kind == DM_IR_STORE || op->kind == DM_IR_ATOMIC)
            find_indices(s, op);
        else if (op->kind == DM_IR_CALL)
            find_in_call(s, op);
        else if (op->kind == DM_IR_INVOKE && op->callee->role == DM_IR_KERNEL)
            find_in_launch(s, op);
        find_in(s, op->blocks[0]);
        find_in(s, op->blocks[1]);
    }
}

static void put_precondition(const finder *s, int param, int what, dm_buffer *out)
{
    const dm_ir_value *v = &s->f->values[s->f->body->params[param]];
    bool array = v->type->kind == DM_TYPE_ARRAY;
    const char *subject = array ? "Elements of " : "";
    if ((s->found[param] & what) == 0)
        return;
    dm_buffer_printf(out, "- %s`%s` must ", subject, v->name);
    if (what == INDEXES)
        dm_buffer_printf(out, "be indices into `%s`, from 0 on: they are not checked.\n",
                         s->f->values[s->f->body->params[s->indexed[param]]].name);
    else if (what == DIVIDES)
        dm_buffer_puts(out, "not be zero: the kernel divides by it.\n");
    else if (what == LOGARITHM)
        dm_buffer_puts(out, "be positive: the kernel takes the logarithm.\n");
    else
        dm_buffer_puts(out, "not be negative: the kernel takes the square root.\n");
}

static void truncate_at(dm_buffer *text, const char *mark)
{
    const char *at = strstr(dm_buffer_text(text), mark);
    if (at != NULL)
        text->size = (size_t)(at - text->data);
    if (text->size > 0)
        text->data[text->size] = '\0';
}

void dm_synth_describe_preconditions(const dm_ir_function *f, dm_buffer *specification)
{
    static const int all[] = {INDEXES, DIVIDES, LOGARITHM, ROOT};
    finder s = {.f = f};
    truncate_at(specification, DM_SYNTH_PRECONDITIONS);
    if (f->body->param_count <= DM_SYNTH_PARAMS_MAX)
        find_in(&s, f->body);
    dm_buffer_puts(specification, DM_SYNTH_PRECONDITIONS);
    size_t before = specification->size;
    for (int i = 0; i < f->body->param_count && i < DM_SYNTH_PARAMS_MAX; i++)
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            put_precondition(&s, i, all[k], specification);
    if (specification->size == before)
        dm_buffer_puts(specification, "- None on single arguments.\n");
    dm_buffer_puts(
        specification,
        "- Arrays are not checked against each other: indices that the kernel forms from\n"
        "  those of the thread must lie in them.\n");
}

/* ---- The check ---- */

typedef struct check {
    const dm_ir_function *f;
    const dm_synth_record *record;
    dm_buffer words;
    int next;  /* parameter of this section */
    int found; /* entries of parameters */
    dm_status status;
    dm_error *err;
} check;

static void complain(check *c, const char *what, const char *where, int length)
{
    if (c->status == DM_OK)
        c->status = dm_fail(c->err, DM_ECOMPILE, "description: %s '%.*s'", what, length, where);
}

/* A constant of the file? */
static bool is_constant(const check *c, const char *name, int length)
{
    char line[128];
    snprintf(line, sizeof line, "\n%.*s = ", length < 100 ? length : 100, name);
    return strstr(dm_buffer_text(&c->record->python_source), line) != NULL;
}

static bool is_param(const check *c, const char *name, int length)
{
    if (is_constant(c, name, length))
        return true;
    for (int i = 0; i < c->f->body->param_count; i++) {
        const char *own = c->f->values[c->f->body->params[i]].name;
        if (own != NULL && strncmp(own, name, (size_t)length) == 0 && own[length] == '\0')
            return true;
    }
    return false;
}

/* Names in back-quotes are parameters, or constants. */
static void check_names(check *c, const dm_buffer *text)
{
    const char *at = dm_buffer_text(text);
    while ((at = strchr(at, '`')) != NULL) {
        const char *end = strpbrk(++at, "`\n");
        if (end == NULL || *end == '\n') {
            complain(c, "a back-quote that is not closed before", at, (int)strcspn(at, "\n"));
            return;
        }
        if (!is_param(c, at, (int)(end - at)))
            complain(c, "the kernel has no argument", at, (int)(end - at));
        at = end + 1;
    }
}

/* "- `name` (type): meaning", the next parameter that is written, or not. */
static void check_entry(check *c, const char *line, int length, bool written)
{
    uint8_t roles[DM_SYNTH_PARAMS_MAX] = {0};
    dm_synth_find_roles(c->f, roles);
    while (c->next < c->f->body->param_count &&
           ((roles[c->next] & DM_SYNTH_WRITES) != 0) != written)
        c->next++;
    if (c->next >= c->f->body->param_count) {
        complain(c, written ? "no result of the kernel:" : "no argument that is only read:", line,
                 length);
        return;
    }
    const dm_ir_value *v = &c->f->values[c->f->body->params[c->next]];
    dm_buffer_clear(&c->words);
    dm_buffer_printf(&c->words, "- `%s` (", v->name);
    dm_synth_type_words(v->type, &c->words);
    dm_buffer_puts(&c->words, "): ");
    if (strncmp(line, dm_buffer_text(&c->words), c->words.size) != 0 ||
        (size_t)length <= c->words.size)
        complain(c, "no entry of the next argument:", line, length);
    c->next++;
    c->found++;
}

static void check_entries(check *c)
{
    const char *line = dm_buffer_text(&c->record->specification);
    enum { NOWHERE, ARGUMENTS, RESULTS } section = NOWHERE;
    while (*line != '\0') {
        int length = (int)strcspn(line, "\n");
        if (length > 1 && line[length - 1] == ':' && isupper((unsigned char)line[0])) {
            c->next = 0;
            section = strncmp(line, "Arguments:", 10) == 0 ? ARGUMENTS
                      : strncmp(line, "Results:", 8) == 0  ? RESULTS
                                                           : NOWHERE;
        } else if (section != NOWHERE && length > 0)
            check_entry(c, line, length, section == RESULTS);
        line += length + (line[length] == '\n');
    }
    if (c->found < c->f->body->param_count)
        complain(c, "an argument without an entry in", dm_buffer_text(&c->record->line), 200);
}

dm_status dm_synth_describe_check(const dm_ir_function *forward, const dm_synth_record *record,
                                  dm_error *err)
{
    check c = {.f = forward, .record = record, .err = err};
    if (record->line.size == 0)
        return DM_OK;
    check_entries(&c);
    check_names(&c, &record->line);
    check_names(&c, &record->paragraph);
    check_names(&c, &record->specification);
    if (memchr(record->line.data, '\n', record->line.size) != NULL ||
        strncmp(dm_buffer_text(&record->paragraph), record->line.data, record->line.size) != 0)
        complain(&c, "the paragraph does not begin with the line", record->line.data,
                 (int)record->line.size);
    dm_buffer_deinit(&c.words);
    return c.status;
}
