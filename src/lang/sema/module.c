/* SPDX-License-Identifier: MIT */
/* module.c - what the names of a file stand for. Scopes are filled from the whole tree first. A name's value
 * is evaluated when it is first used. See value.h. */
#include "lang/sema/module.h"

#include "lang/sema/builtins.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 100
#define MEMBERS_MAX 256 /* of an enumeration that numbers them itself */
#define STARS_MAX 3     /* modules with a star in modules with a star */

/* ---- Values ---- */

dm_value *dm_value_new(dm_lang *lang, dm_value_kind kind)
{
    dm_value *value = dm_lang_alloc(lang, sizeof *value);
    value->kind = kind;
    return value;
}

const dm_value *dm_value_type(dm_lang *lang, const dm_type *type)
{
    dm_value *value = dm_value_new(lang, DM_VALUE_TYPE);
    value->type = type;
    return value;
}

const dm_value *dm_value_text(dm_lang *lang, dm_value_kind kind, const char *text)
{
    dm_value *value = dm_value_new(lang, kind);
    value->text = text;
    return value;
}

const dm_value *dm_value_int(dm_lang *lang, int64_t integer)
{
    dm_value *value = dm_value_new(lang, DM_VALUE_INT);
    value->integer = integer;
    return value;
}

const dm_value *dm_value_real(dm_lang *lang, double real)
{
    dm_value *value = dm_value_new(lang, DM_VALUE_FLOAT);
    value->real = real;
    return value;
}

const dm_value *dm_value_unknown(dm_scope *scope)
{
    return scope->module->unknown;
}

/* ---- Scopes ---- */

dm_scope *dm_scope_new(dm_lang *lang, dm_module_unit *module, dm_scope *parent)
{
    dm_scope *scope = dm_lang_alloc(lang, sizeof *scope);
    scope->lang = lang;
    scope->module = module;
    scope->parent = parent;
    return scope;
}

static size_t slot_of(const dm_scope *scope, const char *name)
{
    size_t mask = (size_t)scope->capacity - 1, slot = dm_lang_name_of(name)->number & mask;
    while (scope->bindings[slot] != NULL && scope->bindings[slot]->name != name)
        slot = (slot + 1) & mask;
    return slot;
}

static void grow_scope(dm_scope *scope)
{
    dm_scope larger = *scope;
    larger.capacity = scope->capacity == 0 ? 16 : scope->capacity * 2;
    larger.bindings = dm_lang_alloc_array(scope->lang, (size_t)larger.capacity, sizeof(void *));
    for (int i = 0; i < scope->capacity; i++)
        if (scope->bindings[i] != NULL)
            larger.bindings[slot_of(&larger, scope->bindings[i]->name)] = scope->bindings[i];
    *scope = larger;
}

static dm_binding *bind_name(dm_scope *scope, const char *name, const dm_ast *ast,
                             const dm_ast *target, int position)
{
    dm_binding *made = dm_lang_alloc(scope->lang, sizeof *made);
    *made = (dm_binding){.name = name, .ast = ast, .target = target, .position = position};
    if (scope->count * 2 >= scope->capacity)
        grow_scope(scope);
    size_t slot = slot_of(scope, name);
    if (scope->bindings[slot] == NULL) {
        scope->bindings[slot] = made;
        scope->count++;
    } else {
        dm_binding *last = scope->bindings[slot];
        while (last->next != NULL)
            last = last->next;
        last->next = made;
        if (name == scope->module->warp)
            scope->module->warp = NULL; /* it stands for several things */
    }
    return made;
}

static void bind_target(dm_scope *scope, const dm_ast *ast, const dm_ast *target)
{
    if (target->kind == DM_AST_NAME)
        bind_name(scope, target->name, ast, target, -1);
    for (int i = 0; target->kind == DM_AST_TUPLE && i < target->count; i++)
        if (target->items[i]->kind == DM_AST_NAME)
            bind_name(scope, target->items[i]->name, ast, target, i);
}

static void add_kernel(dm_scope *scope, const dm_ast *ast)
{
    dm_module_unit *module = scope->module;
    if (module->importing)
        return;
    dm_function_decl *decl = dm_lang_alloc(scope->lang, sizeof *decl);
    *decl = (dm_function_decl){.ast = ast, .scope = scope, .name = ast->name};
    DM_LANG_PUSH_POINTER(scope->lang, module->kernels, module->kernel_count,
                         module->kernel_capacity, decl);
}

/* A def: kernels are listed; other functions are searched for kernels inside. */
static void fill_function(dm_scope *scope, const dm_ast *ast)
{
    const dm_ast *call;
    bind_name(scope, ast->name, ast, NULL, -1);
    if (dm_ast_decorated(scope, ast, "kernel", &call)) {
        add_kernel(scope, ast);
        return;
    }
    if (ast->decorators != NULL && dm_ast_decorated(scope, ast, "func", &call))
        return;
    bool grad = dm_ast_decorated(scope, ast, "func_grad", &call);
    if (grad || dm_ast_decorated(scope, ast, "func_replay", &call)) {
        if (call == NULL || call->count != 1 || call->items[0]->kind != DM_AST_NAME)
            return;
        dm_custom *made = dm_lang_alloc(scope->lang, sizeof *made);
        *made = (dm_custom){.target = call->items[0]->name,
                            .scope = scope,
                            .ast = ast,
                            .is_replay = !grad,
                            .next = scope->module->customs};
        scope->module->customs = made;
        return;
    }
    dm_scope *inner = dm_scope_new(scope->lang, scope->module, scope);
    for (int i = 0; i < ast->count; i++)
        if (ast->items[i]->name != NULL)
            bind_name(inner, ast->items[i]->name, ast->items[i], NULL, -1);
    dm_scope_fill(inner, ast->body);
}

static void fill_statement(dm_scope *scope, const dm_ast *at)
{
    switch (at->kind) {
    case DM_AST_ASSIGN:
        for (int i = 0; i < at->count; i++)
            bind_target(scope, at, at->items[i]);
        break;
    case DM_AST_ANNOTATED:
        if (at->a->kind == DM_AST_NAME)
            bind_name(scope, at->a->name, at, NULL, -1);
        break;
    case DM_AST_FOR:
        bind_target(scope, at, at->a);
        break;
    case DM_AST_FUNCTION:
        if (at->name != NULL)
            fill_function(scope, at);
        return;
    case DM_AST_CLASS:
        if (at->name != NULL)
            bind_name(scope, at->name, at, NULL, -1);
        const dm_ast *call;
        if (!dm_ast_decorated(scope, at, "struct", &call)) {
            dm_scope *inner = dm_scope_new(scope->lang, scope->module, scope);
            inner->is_class = true;
            dm_scope_fill(inner, at->body);
        }
        return;
    case DM_AST_IMPORT: {
        const char *dot = strchr(at->other_name, '.');
        const char *name = dot == NULL ? at->other_name
                                       : dm_lang_intern(scope->lang, at->other_name,
                                                        (size_t)(dot - at->other_name));
        dm_binding *made = bind_name(scope, name, at, NULL, -1);
        if (scope == scope->module->root && strcmp(at->name, "warp") == 0 &&
            scope->bindings[slot_of(scope, name)] == made)
            scope->module->warp = name;
        break;
    }
    case DM_AST_FROM:
        for (int i = 0; i < at->count; i++)
            bind_name(scope, at->items[i]->other_name, at, at->items[i], -1);
        break;
    default:
        break;
    }
    if (at->body != NULL)
        dm_scope_fill(scope, at->body);
    if (at->other != NULL)
        dm_scope_fill(scope, at->other);
}

void dm_scope_fill(dm_scope *scope, const dm_ast *block)
{
    for (int i = 0; i < block->count; i++) {
        if (block->items[i]->kind == DM_AST_BLOCK)
            dm_scope_fill(scope, block->items[i]);
        else
            fill_statement(scope, block->items[i]);
    }
}

dm_module_unit *dm_module_new(dm_lang *lang, const dm_ast *tree, const dm_module_options *options)
{
    dm_module_unit *module = dm_lang_alloc(lang, sizeof *module);
    module->lang = lang;
    module->options = *options;
    module->unknown = dm_value_text(lang, DM_VALUE_UNKNOWN, "its value is not known here");
    module->root = dm_scope_new(lang, module, NULL);
    module->root->file = lang->sources == NULL ? NULL : lang->sources->name;
    for (int i = 0; i < options->define_count; i++) {
        const dm_define *d = &options->defines[i];
        dm_lang_source *source = dm_lang_add_source(lang, "--define", d->text, strlen(d->text));
        dm_binding *made =
            bind_name(module->root, dm_lang_intern_text(lang, d->name), NULL, NULL, -1);
        made->value = dm_scope_eval(module->root, dm_lang_parse_expression(lang, source));
        made->state = DM_BINDING_DONE;
    }
    dm_scope_fill(module->root, tree);
    return module;
}

/* ---- Members ---- */

const dm_value *dm_value_member(dm_scope *scope, const dm_value *value, const char *name)
{
    dm_lang *lang = scope->lang;
    if (value->kind == DM_VALUE_CLASS) {
        if (value->scope->capacity == 0)
            return NULL;
        size_t slot = slot_of(value->scope, name);
        return value->scope->bindings[slot] == NULL
                   ? NULL
                   : dm_scope_lookup(value->scope, name, DM_POS_NONE);
    }
    if (value->kind == DM_VALUE_TYPE && dm_type_is_numeric(value->type)) {
        if (strcmp(name, "_wp_scalar_type_") == 0 || strcmp(name, "dtype") == 0)
            return dm_value_type(lang, dm_type_scalar(lang, (dm_scalar)value->type->scalar));
        if (strcmp(name, "_length_") == 0)
            return dm_value_int(lang, dm_type_components(value->type));
    }
    if (value->kind == DM_VALUE_TYPE && value->type->kind == DM_TYPE_ARRAY &&
        strcmp(name, "dtype") == 0)
        return dm_value_type(lang, value->type->element);
    if (value->kind != DM_VALUE_MODULE) {
        /* Members of an enumeration's member. */
        if ((value->kind == DM_VALUE_INT || value->kind == DM_VALUE_FLOAT) &&
            strcmp(name, "value") == 0)
            return value;
        return NULL;
    }
    return strcmp(value->text, "warp") == 0 ? dm_namespace_warp(lang, name)
                                            : dm_namespace_other(lang, value->text, name);
}

bool dm_ast_decorated(dm_scope *scope, const dm_ast *ast, const char *name, const dm_ast **call)
{
    *call = NULL;
    for (int i = 0; ast->decorators != NULL && i < ast->decorators->count; i++) {
        const dm_ast *d = ast->decorators->items[i];
        if (d->kind == DM_AST_CALL) {
            *call = d;
            d = d->a;
        }
        if ((d->kind != DM_AST_ATTRIBUTE && d->kind != DM_AST_NAME) || strcmp(d->name, name) != 0)
            continue;
        const dm_value *value = dm_scope_eval(scope, d);
        if (value->kind == DM_VALUE_BUILTIN)
            return true;
        /* Names such as wp.kernel are taken for Warp's even where the import is not seen. */
        if (d->kind == DM_AST_ATTRIBUTE && d->a->kind == DM_AST_NAME &&
            (strcmp(d->a->name, "wp") == 0 || strcmp(d->a->name, "warp") == 0))
            return true;
    }
    return false;
}

/* ---- What a binding says ---- */

/* What a field is called in C, unlike those before it. */
static const char *field_name(dm_lang *lang, const dm_type *type, const char *name)
{
    const char *c_name = dm_print_field_name(lang, name);
    for (int i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].c_name, c_name) == 0) {
            c_name = dm_lang_format(lang, "%s_", c_name);
            i = -1;
        }
    return c_name;
}

static const dm_value *struct_value(dm_scope *scope, const dm_ast *ast)
{
    dm_lang *lang = scope->lang;
    dm_type *type = dm_type_struct(lang, ast->name);
    type->scope = scope;
    int capacity = 0;
    int64_t bytes = 0;
    for (int i = 0; i < ast->body->count; i++) {
        const dm_ast *field = ast->body->items[i];
        if (field->kind != DM_AST_ANNOTATED || field->a->kind != DM_AST_NAME)
            continue;
        dm_field made = {.name = field->a->name, .initial = field->c};
        made.c_name = field_name(lang, type, made.name);
        made.type = dm_scope_annotation(scope, field->b);
        if (made.type == NULL || made.type->generic) {
            if (made.type != NULL)
                dm_lang_error(lang, field->pos, field->end, NULL,
                              "the field '%s' needs a concrete type", made.name);
            return dm_value_unknown(scope);
        }
        bytes += dm_type_bytes(made.type);
        if (bytes > DM_TYPE_BYTES_MAX) {
            dm_lang_error(lang, field->pos, field->end, NULL, "the struct is larger than %d bytes",
                          DM_TYPE_BYTES_MAX);
            return dm_value_unknown(scope);
        }
        DM_LANG_PUSH(lang, type->fields, type->field_count, capacity, made);
    }
    dm_type_struct_finish(type);
    return dm_value_type(lang, type);
}

static const dm_value *class_value(dm_scope *scope, const dm_ast *ast)
{
    const dm_ast *call;
    if (dm_ast_decorated(scope, ast, "struct", &call))
        return struct_value(scope, ast);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_CLASS);
    value->scope = dm_scope_new(scope->lang, scope->module, scope);
    value->scope->is_class = true;
    for (int i = 0; i < ast->count; i++) {
        const dm_ast *base = ast->items[i];
        bool named = base->kind == DM_AST_NAME || base->kind == DM_AST_ATTRIBUTE;
        value->scope->is_flag |= named && strstr(base->name, "Flag") != NULL;
    }
    for (int i = 0; i < ast->body->count; i++) {
        const dm_ast *at = ast->body->items[i];
        for (int t = 0; at->kind == DM_AST_ASSIGN && t < at->count; t++)
            bind_target(value->scope, at, at->items[t]);
        if (at->kind == DM_AST_ANNOTATED && at->a->kind == DM_AST_NAME && at->c != NULL)
            bind_name(value->scope, at->a->name, at, NULL, -1);
        if (at->kind == DM_AST_FUNCTION && at->name != NULL)
            bind_name(value->scope, at->name, at, NULL, -1);
    }
    return value;
}

static const dm_value *function_value(dm_scope *scope, const dm_ast *ast)
{
    const dm_ast *call;
    bool kernel = dm_ast_decorated(scope, ast, "kernel", &call);
    if (!kernel && !dm_ast_decorated(scope, ast, "func", &call)) {
        dm_value *none = dm_value_new(scope->lang, DM_VALUE_UNKNOWN);
        none->text = "it is a Python function without @wp.func";
        return none;
    }
    dm_value *value = dm_value_new(scope->lang, kernel ? DM_VALUE_KERNEL : DM_VALUE_FUNCTION);
    value->function = dm_lang_alloc(scope->lang, sizeof *value->function);
    *value->function = (dm_function_decl){.ast = ast, .scope = scope, .name = ast->name};
    value->function->is_library = scope == scope->module->library;
    return value;
}

static const dm_value *resolve(dm_scope *scope, dm_binding *binding, int depth);

static const dm_value *item_of(dm_scope *scope, const dm_value *value, int position)
{
    if (position < 0)
        return value;
    if (value->kind == DM_VALUE_ITEMS && position < value->count)
        return value->items[position];
    return dm_value_unknown(scope);
}

/* enum.auto() */
static bool is_auto(const dm_ast *ast)
{
    return ast->kind == DM_AST_CALL && ast->count == 0 &&
           (ast->a->kind == DM_AST_NAME || ast->a->kind == DM_AST_ATTRIBUTE) &&
           strcmp(ast->a->name, "auto") == 0;
}

static int by_place(const void *a, const void *b)
{
    dm_pos x = (*(dm_binding *const *)a)->ast->pos, y = (*(dm_binding *const *)b)->ast->pos;
    return (x > y) - (x < y);
}

/* The value of an enum member with auto(): one more than the largest before `pos`, or the next bit.
 * Earlier members are evaluated in order, so that the recursion stays shallow. */
static const dm_value *next_member(dm_scope *scope, dm_pos pos, int depth)
{
    if (scope->count > MEMBERS_MAX)
        return dm_value_unknown(scope);
    dm_binding **before = dm_lang_alloc_array(scope->lang, MEMBERS_MAX, sizeof(void *));
    int64_t largest = 0;
    size_t count = 0;
    for (int i = 0; i < scope->capacity; i++)
        for (dm_binding *b = scope->bindings[i]; b != NULL; b = b->next)
            if (b->ast != NULL && b->ast->kind == DM_AST_ASSIGN && b->ast->pos < pos &&
                count < MEMBERS_MAX)
                before[count++] = b;
    qsort(before, count, sizeof(void *), by_place);
    for (size_t i = 0; i < count; i++) {
        const dm_value *value = resolve(scope, before[i], depth);
        if (value->kind != DM_VALUE_INT)
            return dm_value_unknown(scope);
        largest = value->integer > largest ? value->integer : largest;
    }
    if (largest >= INT32_MAX)
        return dm_value_unknown(scope);
    int64_t next = largest + 1;
    if (scope->is_flag)
        for (next = 1; next <= largest;)
            next *= 2;
    return dm_value_int(scope->lang, next);
}

static const dm_value *binding_value(dm_scope *scope, const dm_binding *binding, int depth)
{
    const dm_ast *ast = binding->ast;
    assert(ast != NULL); /* a definition from outside has its value already */
    switch (ast->kind) {
    case DM_AST_ASSIGN:
        if (scope->is_class && is_auto(ast->a))
            return next_member(scope, ast->pos, depth);
        return item_of(scope, dm_scope_eval_at(scope, ast->a, depth), binding->position);
    case DM_AST_ANNOTATED:
        return ast->c == NULL ? dm_value_unknown(scope) : dm_scope_eval_at(scope, ast->c, depth);
    case DM_AST_PARAMETER:
        return ast->b == NULL ? dm_value_unknown(scope) : dm_scope_eval_at(scope, ast->b, depth);
    case DM_AST_FUNCTION:
        return function_value(scope, ast);
    case DM_AST_CLASS:
        return class_value(scope, ast);
    case DM_AST_IMPORT:
        return dm_import_value(scope, ast->name);
    case DM_AST_FROM: {
        const dm_value *module = dm_import_value(scope, ast->other_name);
        const dm_value *member =
            module->kind == DM_VALUE_MODULE
                ? dm_value_member(scope, module, binding->target->name)
                : dm_import_name(scope, ast->other_name, binding->target->name);
        return member == NULL ? dm_value_unknown(scope) : member;
    }
    case DM_AST_FOR: { /* the first round stands for all: for dtype in (float, int): ... */
        const dm_value *list = dm_scope_eval_at(scope, ast->b, depth);
        if (list->kind != DM_VALUE_ITEMS || list->count == 0)
            return dm_value_unknown(scope);
        return item_of(scope, list->items[0], binding->position);
    }
    default:
        return dm_value_unknown(scope);
    }
}

static bool is_func(const dm_binding *binding)
{
    return binding->ast != NULL && binding->ast->kind == DM_AST_FUNCTION;
}

static const dm_value *resolve(dm_scope *scope, dm_binding *binding, int depth)
{
    if (binding->state == DM_BINDING_BUSY || depth > DEPTH_MAX)
        return dm_value_unknown(scope); /* refers to itself */
    if (binding->state == DM_BINDING_NEW) {
        binding->state = DM_BINDING_BUSY;
        binding->value = binding_value(scope, binding, depth + 1);
        binding->state = DM_BINDING_DONE;
    }
    return binding->value;
}

/* Functions of one name are overloads of each other, and @func_grad, @func_replay belong to them.
 */
static const dm_value *with_overloads(dm_scope *scope, dm_binding *first, const dm_value *value,
                                      int depth)
{
    dm_value *head = NULL;
    for (dm_binding *b = first; b != NULL; b = b->next) {
        if (!is_func(b))
            continue;
        const dm_value *one = resolve(scope, b, depth);
        if (one->kind != DM_VALUE_FUNCTION)
            continue;
        dm_value *copy = dm_value_new(scope->lang, DM_VALUE_FUNCTION);
        copy->function = one->function;
        copy->next = head; /* later ones first: they replace equal earlier ones */
        head = copy;
    }
    return head == NULL ? value : head;
}

/* A name that came with `from module import *`. */
static const dm_value *starred_name(dm_scope *scope, const char *name)
{
    assert(scope != NULL);
    while (scope->parent != NULL)
        scope = scope->parent;
    if (scope->capacity == 0 || scope->module->starring == STARS_MAX)
        return NULL;
    const dm_value *found = NULL;
    scope->module->starring++;
    dm_binding *b = scope->bindings[slot_of(scope, dm_lang_intern_text(scope->lang, "*"))];
    for (; b != NULL && found == NULL; b = b->next) {
        if (b->ast->kind != DM_AST_FROM)
            continue;
        const dm_value *module = dm_import_value(scope, b->ast->other_name);
        if (module->kind == DM_VALUE_MODULE && strcmp(module->text, "warp") == 0) {
            if (dm_namespace_has(name) || dm_namespace_unsupported(name))
                found = dm_namespace_warp(scope->lang, name);
        } else if (module->kind == DM_VALUE_CLASS) {
            found = dm_scope_lookup(module->scope, name, DM_POS_NONE);
        }
    }
    scope->module->starring--;
    return found;
}

const dm_value *dm_scope_lookup(dm_scope *scope, const char *name, dm_pos pos)
{
    const dm_scope *start = scope;
    for (; scope != NULL; scope = scope->parent) {
        if (scope->capacity == 0 || (scope->is_class && scope != start))
            continue;
        dm_binding *first = scope->bindings[slot_of(scope, name)];
        if (first == NULL)
            continue;
        /* The last one before the place, else the first after it. */
        dm_binding *chosen = first;
        for (dm_binding *b = first->next; b != NULL; b = b->next)
            if (b->ast == NULL || b->ast->pos < pos)
                chosen = b;
        const dm_value *value = resolve(scope, chosen, 0);
        return is_func(chosen) && first->next != NULL ? with_overloads(scope, first, value, 0)
                                                      : value;
    }
    return starred_name((dm_scope *)start, name);
}
