/* SPDX-License-Identifier: MIT */
/* module.c - what the names of a file stand for. Scopes are made of the whole tree first; a name's
 * value is worked out when it is asked for; see value.h. */
#include "lang/module.h"

#include "base/file.h"
#include "lang/builtins.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVAL_DEPTH_MAX 100
#define IMPORTS_MAX 200
#define IMPORT_LEVELS_MAX 8 /* folders above a file that are searched */

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

static const dm_value *unknown(dm_scope *scope)
{
    return scope->module->unknown;
}

/* ---- Scopes ---- */

static dm_scope *scope_new(dm_lang *lang, dm_module_unit *module, dm_scope *parent)
{
    dm_scope *scope = dm_lang_alloc(lang, sizeof *scope);
    scope->lang = lang;
    scope->module = module;
    scope->parent = parent;
    return scope;
}

static size_t slot_of(const dm_scope *scope, const char *name)
{
    size_t mask = (size_t)scope->capacity - 1, slot = ((uintptr_t)name >> 4) & mask;
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

static void fill_scope(dm_scope *scope, const dm_ast *block);

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
    dm_scope *inner = scope_new(scope->lang, scope->module, scope);
    for (int i = 0; i < ast->count; i++)
        if (ast->items[i]->name != NULL)
            bind_name(inner, ast->items[i]->name, ast->items[i], NULL, -1);
    fill_scope(inner, ast->body);
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
            dm_scope *inner = scope_new(scope->lang, scope->module, scope);
            inner->is_class = true;
            fill_scope(inner, at->body);
        }
        return;
    case DM_AST_IMPORT: {
        const char *dot = strchr(at->other_name, '.');
        const char *name = dot == NULL ? at->other_name
                                       : dm_lang_intern(scope->lang, at->other_name,
                                                        (size_t)(dot - at->other_name));
        bind_name(scope, name, at, NULL, -1);
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
        fill_scope(scope, at->body);
    if (at->other != NULL)
        fill_scope(scope, at->other);
}

static void fill_scope(dm_scope *scope, const dm_ast *block)
{
    for (int i = 0; i < block->count; i++) {
        if (block->items[i]->kind == DM_AST_BLOCK)
            fill_scope(scope, block->items[i]);
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
    module->root = scope_new(lang, module, NULL);
    module->root->file = lang->sources == NULL ? NULL : lang->sources->name;
    for (int i = 0; i < options->define_count; i++) {
        const dm_define *d = &options->defines[i];
        dm_lang_source *source = dm_lang_add_source(lang, "--define", d->text, strlen(d->text));
        dm_binding *made =
            bind_name(module->root, dm_lang_intern_text(lang, d->name), NULL, NULL, -1);
        made->value = dm_scope_eval(module->root, dm_lang_parse_expression(lang, source));
        made->state = DM_BINDING_DONE;
    }
    fill_scope(module->root, tree);
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
        /* Names such as wp.kernel are unmistakable even where the import is out of sight. */
        if (d->kind == DM_AST_ATTRIBUTE && d->a->kind == DM_AST_NAME &&
            (strcmp(d->a->name, "wp") == 0 || strcmp(d->a->name, "warp") == 0))
            return true;
    }
    return false;
}

/* ---- Names ---- */

static const dm_value *eval_depth(dm_scope *scope, const dm_ast *ast, int depth);

/* ---- Imports ---- */

static dm_scope *load_file(dm_scope *scope, const char *path)
{
    dm_module_unit *module = scope->module;
    dm_lang *lang = scope->lang;
    char *bytes;
    size_t size;
    for (const dm_imported *i = module->imported; i != NULL; i = i->next)
        if (strcmp(i->path, path) == 0)
            return i->scope;
    dm_imported *made = dm_lang_alloc(lang, sizeof *made);
    *made = (dm_imported){.path = dm_lang_format(lang, "%s", path), .next = module->imported};
    module->imported = made;
    if (module->import_count >= IMPORTS_MAX || !dm_file_exists(path) ||
        dm_file_read(path, DM_LANG_SOURCE_MAX, &bytes, &size, NULL) != DM_OK)
        return NULL;
    module->import_count++;
    char *text = dm_arena_strndup(&lang->arena, bytes, size);
    free(bytes);
    if (text == NULL)
        dm_lang_bail(lang, "out of memory");
    made->scope = scope_new(lang, module, NULL);
    made->scope->file = made->path;
    const dm_ast *tree = dm_lang_parse(lang, dm_lang_add_source(lang, made->path, text, size));
    bool outer = module->importing;
    module->importing = true;
    fill_scope(made->scope, tree);
    module->importing = outer;
    return made->scope;
}

/* `folder`/a/b.py or `folder`/a/b/__init__.py for "a.b" */
static dm_scope *load_in(dm_scope *scope, const char *folder, const char *dotted)
{
    char *name = dm_lang_format(scope->lang, "%s", dotted);
    for (char *p = name; *p != '\0'; p++)
        *p = *p == '.' ? '/' : *p;
    dm_scope *found = NULL;
    if (name[0] != '\0')
        found = load_file(scope, dm_lang_format(scope->lang, "%s/%s.py", folder, name));
    return found != NULL ? found
                         : load_file(scope, dm_lang_format(scope->lang,
                                                           name[0] == '\0' ? "%s%s/__init__.py"
                                                                           : "%s/%s/__init__.py",
                                                           folder, name));
}

/* Cut the last part of a path off; false when there is none. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* The file of a module as it is imported from this scope's file: relative to it, or in its folder
 * or one above. NULL when there is none. */
static dm_scope *load_module(dm_scope *scope, const char *dotted)
{
    dm_scope *root = scope;
    while (root->parent != NULL)
        root = root->parent;
    if (!scope->module->options.imports || root->file == NULL)
        return NULL;
    char *folder = dm_lang_format(scope->lang, "%s", root->file);
    if (!go_up(folder))
        folder = dm_lang_format(scope->lang, ".");
    if (dotted[0] == '.') {
        for (dotted++; *dotted == '.'; dotted++)
            if (!go_up(folder))
                return NULL;
        return load_in(scope, folder, dotted);
    }
    for (int level = 0; level < IMPORT_LEVELS_MAX; level++) {
        dm_scope *found = load_in(scope, folder, dotted);
        if (found != NULL || !go_up(folder))
            return found;
    }
    return NULL;
}

static const dm_value *module_value(dm_scope *scope, const char *dotted)
{
    dm_scope *file = load_module(scope, dotted);
    if (file == NULL)
        return unknown(scope);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_CLASS);
    value->scope = file;
    return value;
}

/* `name` of the module, or the module module.name; NULL when there is neither. */
static const dm_value *imported_name(dm_scope *scope, const char *dotted, const char *name)
{
    dm_scope *file = load_module(scope, dotted);
    const dm_value *found = file == NULL ? NULL : dm_scope_lookup(file, name, DM_POS_NONE);
    if (found != NULL)
        return found;
    size_t length = strlen(dotted);
    const char *inner = dm_lang_format(
        scope->lang, length > 0 && dotted[length - 1] == '.' ? "%s%s" : "%s.%s", dotted, name);
    file = load_module(scope, inner);
    if (file == NULL)
        return NULL;
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_CLASS);
    value->scope = file;
    return value;
}

static const dm_value *import_value(dm_scope *scope, const char *module)
{
    if (strncmp(module, "warp", 4) == 0 && (module[4] == '\0' || strcmp(module, "warp.types") == 0))
        return dm_value_text(scope->lang, DM_VALUE_MODULE, "warp");
    if (strcmp(module, "numpy") == 0 || strcmp(module, "math") == 0)
        return dm_value_text(scope->lang, DM_VALUE_MODULE, module);
    if (strcmp(module, "typing") == 0 || strcmp(module, "typing_extensions") == 0)
        return dm_value_text(scope->lang, DM_VALUE_MODULE, "typing");
    return module_value(scope, module);
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
        made.type = dm_scope_annotation(scope, field->b);
        if (made.type == NULL || made.type->generic) {
            if (made.type != NULL)
                dm_lang_error(lang, field->pos, field->end, NULL,
                              "the field '%s' needs a concrete type", made.name);
            return unknown(scope);
        }
        bytes += dm_type_bytes(made.type);
        if (bytes > DM_TYPE_BYTES_MAX) {
            dm_lang_error(lang, field->pos, field->end, NULL, "the struct is larger than %d bytes",
                          DM_TYPE_BYTES_MAX);
            return unknown(scope);
        }
        DM_LANG_PUSH(lang, type->fields, type->field_count, capacity, made);
    }
    dm_type_struct_finish(type);
    /* After its fields: types are printed in the order of their numbers. */
    type->number = lang->types->count++;
    return dm_value_type(lang, type);
}

static const dm_value *class_value(dm_scope *scope, const dm_ast *ast)
{
    const dm_ast *call;
    if (dm_ast_decorated(scope, ast, "struct", &call))
        return struct_value(scope, ast);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_CLASS);
    value->scope = scope_new(scope->lang, scope->module, scope);
    value->scope->is_class = true;
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

static const dm_value *item_of(dm_scope *scope, const dm_value *value, int position)
{
    if (position < 0)
        return value;
    if (value->kind == DM_VALUE_ITEMS && position < value->count)
        return value->items[position];
    return unknown(scope);
}

static const dm_value *binding_value(dm_scope *scope, const dm_binding *binding, int depth)
{
    const dm_ast *ast = binding->ast;
    assert(ast != NULL); /* a definition from outside has its value already */
    switch (ast->kind) {
    case DM_AST_ASSIGN:
        return item_of(scope, eval_depth(scope, ast->a, depth), binding->position);
    case DM_AST_ANNOTATED:
        return ast->c == NULL ? unknown(scope) : eval_depth(scope, ast->c, depth);
    case DM_AST_PARAMETER:
        return ast->b == NULL ? unknown(scope) : eval_depth(scope, ast->b, depth);
    case DM_AST_FUNCTION:
        return function_value(scope, ast);
    case DM_AST_CLASS:
        return class_value(scope, ast);
    case DM_AST_IMPORT:
        return import_value(scope, ast->name);
    case DM_AST_FROM: {
        const dm_value *module = import_value(scope, ast->other_name);
        const dm_value *member = module->kind == DM_VALUE_MODULE
                                     ? dm_value_member(scope, module, binding->target->name)
                                     : imported_name(scope, ast->other_name, binding->target->name);
        return member == NULL ? unknown(scope) : member;
    }
    case DM_AST_FOR: { /* the first round stands for all: for dtype in (float, int): ... */
        const dm_value *list = eval_depth(scope, ast->b, depth);
        if (list->kind != DM_VALUE_ITEMS || list->count == 0)
            return unknown(scope);
        return item_of(scope, list->items[0], binding->position);
    }
    default:
        return unknown(scope);
    }
}

static bool is_func(const dm_binding *binding)
{
    return binding->ast != NULL && binding->ast->kind == DM_AST_FUNCTION;
}

static const dm_value *resolve(dm_scope *scope, dm_binding *binding, int depth)
{
    if (binding->state == DM_BINDING_BUSY || depth > EVAL_DEPTH_MAX)
        return unknown(scope); /* refers to itself */
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
    while (scope->parent != NULL)
        scope = scope->parent;
    if (!scope->module->options.imports || scope->capacity == 0 || scope->module->starring)
        return NULL;
    const dm_value *found = NULL;
    scope->module->starring = true; /* no chains of stars */
    dm_binding *b = scope->bindings[slot_of(scope, dm_lang_intern_text(scope->lang, "*"))];
    for (; b != NULL && found == NULL; b = b->next) {
        dm_scope *file =
            b->ast->kind == DM_AST_FROM ? load_module(scope, b->ast->other_name) : NULL;
        if (file != NULL)
            found = dm_scope_lookup(file, name, DM_POS_NONE);
    }
    scope->module->starring = false;
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

/* ---- Expressions ---- */

static bool number_of(const dm_value *value, double *out)
{
    if (value->kind == DM_VALUE_INT || value->kind == DM_VALUE_BOOL)
        *out = (double)value->integer;
    else if (value->kind == DM_VALUE_FLOAT)
        *out = value->real;
    else if (value->kind == DM_VALUE_SCALAR)
        *out = dm_type_is_float(value->type) ? value->real : (double)value->integer;
    else
        return false;
    return true;
}

static const dm_value *int_binary(dm_scope *scope, dm_token_kind op, int64_t a, int64_t b)
{
    dm_lang *lang = scope->lang;
    int64_t result = 0;
    bool bad = false;
    switch (op) {
    case DM_TOK_PLUS:
        bad = __builtin_add_overflow(a, b, &result);
        break;
    case DM_TOK_MINUS:
        bad = __builtin_sub_overflow(a, b, &result);
        break;
    case DM_TOK_STAR:
        bad = __builtin_mul_overflow(a, b, &result);
        break;
    case DM_TOK_SLASH:
        return b == 0 ? unknown(scope) : dm_value_real(lang, (double)a / (double)b);
    case DM_TOK_DOUBLESLASH:
        bad = b == 0 || b == -1;
        result =
            bad ? (b == -1 ? -a : 0) : a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
        bad = b == 0;
        break;
    case DM_TOK_PERCENT:
        bad = b == 0 || b == -1;
        result = bad ? 0 : (a % b + b) % b;
        bad = b == 0;
        break;
    case DM_TOK_DOUBLESTAR:
        bad = b < 0;
        result = 1;
        for (int64_t i = 0; !bad && i < b; i++)
            bad = i > 64 || __builtin_mul_overflow(result, a, &result);
        break;
    case DM_TOK_SHIFTLEFT:
        bad = b < 0 || b > 62 || a < 0 || (b > 0 && (a >> (62 - b)) != 0);
        result = bad ? 0 : a << b;
        break;
    case DM_TOK_SHIFTRIGHT:
        bad = b < 0 || b > 63;
        result = bad ? 0 : a >> b;
        break;
    case DM_TOK_AMPERSAND:
        result = a & b;
        break;
    case DM_TOK_PIPE:
        result = a | b;
        break;
    case DM_TOK_CARET:
        result = a ^ b;
        break;
    default:
        bad = true;
        break;
    }
    return bad ? unknown(scope) : dm_value_int(lang, result);
}

static const dm_value *eval_binary(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *a = eval_depth(scope, ast->a, depth), *b = eval_depth(scope, ast->b, depth);
    bool ints = (a->kind == DM_VALUE_INT || a->kind == DM_VALUE_BOOL) &&
                (b->kind == DM_VALUE_INT || b->kind == DM_VALUE_BOOL);
    if (ints)
        return int_binary(scope, ast->op, a->integer, b->integer);
    double x, y;
    if (!number_of(a, &x) || !number_of(b, &y))
        return unknown(scope);
    switch (ast->op) {
    case DM_TOK_PLUS:
        return dm_value_real(scope->lang, x + y);
    case DM_TOK_MINUS:
        return dm_value_real(scope->lang, x - y);
    case DM_TOK_STAR:
        return dm_value_real(scope->lang, x * y);
    case DM_TOK_SLASH:
        return y == 0 ? unknown(scope) : dm_value_real(scope->lang, x / y);
    case DM_TOK_DOUBLESTAR:
        return dm_value_real(scope->lang, pow(x, y));
    default:
        return unknown(scope);
    }
}

static const dm_value *eval_unary(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *a = eval_depth(scope, ast->a, depth);
    if (ast->op == DM_TOK_MINUS && a->kind == DM_VALUE_INT && a->integer != INT64_MIN)
        return dm_value_int(scope->lang, -a->integer);
    if (ast->op == DM_TOK_MINUS && a->kind == DM_VALUE_FLOAT)
        return dm_value_real(scope->lang, -a->real);
    if (ast->op == DM_TOK_TILDE && a->kind == DM_VALUE_INT)
        return dm_value_int(scope->lang, ~a->integer);
    if (ast->op == DM_TOK_NOT && (a->kind == DM_VALUE_INT || a->kind == DM_VALUE_BOOL)) {
        dm_value *value = dm_value_new(scope->lang, DM_VALUE_BOOL);
        value->integer = a->integer == 0;
        return value;
    }
    return unknown(scope);
}

static const dm_value *eval_items(dm_scope *scope, const dm_ast *ast, int depth)
{
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_ITEMS);
    const dm_value **items =
        dm_lang_alloc_array(scope->lang, (size_t)ast->count + 1, sizeof(void *));
    for (int i = 0; i < ast->count; i++)
        items[i] = eval_depth(scope, ast->items[i], depth);
    value->items = items;
    value->count = ast->count;
    return value;
}

static const dm_value *eval_call(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *callee = eval_depth(scope, ast->a, depth);
    const dm_value **args =
        dm_lang_alloc_array(scope->lang, (size_t)ast->count + 1, sizeof(void *));
    const char **names = dm_lang_alloc_array(scope->lang, (size_t)ast->count + 1, sizeof *names);
    for (int i = 0; i < ast->count; i++) {
        const dm_ast *arg = ast->items[i];
        if (arg->kind == DM_AST_STARRED || (arg->kind == DM_AST_KEYWORD && arg->name == NULL))
            return unknown(scope);
        names[i] = arg->kind == DM_AST_KEYWORD ? arg->name : NULL;
        args[i] = eval_depth(scope, arg->kind == DM_AST_KEYWORD ? arg->a : arg, depth);
    }
    return dm_scope_call(scope, callee, args, names, ast->count);
}

/* array[float], vec[3, float], tuple[int, float], Literal[2], a constant's item */
static const dm_value *eval_subscript(dm_scope *scope, const dm_ast *ast, int depth)
{
    const dm_value *base = eval_depth(scope, ast->a, depth);
    const dm_value *args[4];
    const char *names[4] = {0};
    if (base->kind == DM_VALUE_ITEMS && ast->count == 1) {
        const dm_value *index = eval_depth(scope, ast->items[0], depth);
        if (index->kind == DM_VALUE_INT && index->integer >= -base->count &&
            index->integer < base->count)
            return base->items[index->integer < 0 ? index->integer + base->count : index->integer];
        return unknown(scope);
    }
    if (base->kind != DM_VALUE_GENERIC_CLASS || ast->count > 4)
        return unknown(scope);
    for (int i = 0; i < ast->count; i++)
        args[i] = eval_depth(scope, ast->items[i], depth);
    if (strcmp(base->text, "tuple") == 0 || strcmp(base->text, "Tuple") == 0) {
        const dm_type *types[4];
        for (int i = 0; i < ast->count; i++) {
            if (args[i]->kind != DM_VALUE_TYPE)
                return unknown(scope);
            types[i] = args[i]->type;
        }
        return dm_value_type(scope->lang, dm_type_tuple(scope->lang, types, ast->count));
    }
    return dm_scope_call(scope, base, args, names, ast->count);
}

static const dm_value *eval_depth(dm_scope *scope, const dm_ast *ast, int depth)
{
    dm_lang *lang = scope->lang;
    dm_value *made;
    if (depth > EVAL_DEPTH_MAX)
        return unknown(scope);
    depth++;
    switch (ast->kind) {
    case DM_AST_NONE:
        return dm_value_new(lang, DM_VALUE_NONE);
    case DM_AST_BOOL:
        made = dm_value_new(lang, DM_VALUE_BOOL);
        made->integer = (int64_t)ast->integer;
        return made;
    case DM_AST_INT:
        return dm_value_int(lang, (int64_t)ast->integer);
    case DM_AST_FLOAT:
        return dm_value_real(lang, ast->real);
    case DM_AST_STRING:
        return dm_value_text(lang, DM_VALUE_STRING, ast->name);
    case DM_AST_NAME: {
        const dm_value *value = dm_scope_lookup(scope, ast->name, ast->pos);
        if (value == NULL && scope == scope->module->library) /* ours leave "wp." out */
            value = dm_namespace_warp(lang, ast->name);
        if (value == NULL)
            value = dm_namespace_python(lang, ast->name);
        if (value == NULL && strcmp(ast->name, "Any") == 0)
            value = dm_value_type(lang, lang->types->any);
        return value == NULL ? unknown(scope) : value;
    }
    case DM_AST_ATTRIBUTE: {
        const dm_value *base = eval_depth(scope, ast->a, depth);
        const dm_value *member = dm_value_member(scope, base, ast->name);
        return member == NULL ? unknown(scope) : member;
    }
    case DM_AST_UNARY:
        return eval_unary(scope, ast, depth);
    case DM_AST_BINARY:
        return eval_binary(scope, ast, depth);
    case DM_AST_TUPLE:
    case DM_AST_LIST:
        return eval_items(scope, ast, depth);
    case DM_AST_CALL:
        return eval_call(scope, ast, depth);
    case DM_AST_SUBSCRIPT:
        return eval_subscript(scope, ast, depth);
    default:
        return unknown(scope);
    }
}

const dm_value *dm_scope_eval(dm_scope *scope, const dm_ast *ast)
{
    return eval_depth(scope, ast, 0);
}

/* ---- Types from calls ---- */

typedef struct call_args {
    const dm_value *const *args;
    const char *const *names;
    int count;
} call_args;

/* The argument at a position or of a name; NULL when it is not given. */
static const dm_value *find_arg(const call_args *call, int position, const char *name)
{
    for (int i = 0; i < call->count; i++) {
        if (call->names[i] == NULL ? i == position : strcmp(call->names[i], name) == 0)
            return call->args[i];
    }
    return NULL;
}

static bool is_any(const dm_value *value)
{
    return value->kind == DM_VALUE_UNKNOWN ||
           (value->kind == DM_VALUE_TYPE && value->type->kind == DM_TYPE_ANY);
}

/* The scalar that a dtype argument names, or a wildcard; -1 when it is no scalar. */
static int dtype_scalar(const dm_value *value)
{
    if (value == NULL)
        return DM_F32;
    if (is_any(value))
        return DM_ANY_SCALAR;
    return value->kind == DM_VALUE_TYPE && value->type->kind == DM_TYPE_SCALAR ? value->type->scalar
                                                                               : -1;
}

/* A length: 0 for Any; -1 when it is no length. */
static int length_of(const dm_value *value)
{
    if (is_any(value))
        return 0;
    return value->kind == DM_VALUE_INT && value->integer > 0 && value->integer < 4096
               ? (int)value->integer
               : -1;
}

static const dm_value *array_type(dm_scope *scope, const char *name, const call_args *call,
                                  bool named_first)
{
    dm_lang *lang = scope->lang;
    const dm_value *dtype = find_arg(call, named_first ? 99 : 0, "dtype");
    const dm_value *ndim = find_arg(call, named_first ? 99 : 1, "ndim");
    if (dtype == NULL)
        dtype = find_arg(call, 0, "dtype");
    const char *digit = strpbrk(name, "1234");
    int dimensions = digit != NULL ? *digit - '0' : 1;
    if (ndim != NULL && ndim->kind == DM_VALUE_INT && ndim->integer >= 1 && ndim->integer <= 4)
        dimensions = (int)ndim->integer;
    else if (ndim != NULL && is_any(ndim))
        dimensions = 0;
    else if (ndim != NULL && ndim->kind == DM_VALUE_INT)
        return unknown(scope);
    const dm_type *element = dm_type_scalar(lang, DM_F32);
    if (dtype == NULL ? call->count == 0 : is_any(dtype))
        element = lang->types->any;
    else if (dtype != NULL && dtype->kind == DM_VALUE_TYPE)
        element = dtype->type;
    else if (dtype != NULL)
        return unknown(scope);
    return dm_value_type(lang, dm_type_array(lang, dimensions, element));
}

static const dm_value *numeric_type(dm_scope *scope, const char *name, const call_args *call)
{
    dm_lang *lang = scope->lang;
    if (strcmp(name, "quaternion") == 0 || strcmp(name, "transformation") == 0) {
        int scalar = dtype_scalar(find_arg(call, 0, "dtype"));
        if (scalar < 0)
            return unknown(scope);
        return dm_value_type(lang, name[0] == 'q' ? dm_type_quat(lang, (dm_scalar)scalar)
                                                  : dm_type_transform(lang, (dm_scalar)scalar));
    }
    if (name[0] == 'v') {
        const dm_value *length = find_arg(call, 0, "length"), *dtype = find_arg(call, 1, "dtype");
        int rows = length == NULL ? -1 : length_of(length), scalar = dtype_scalar(dtype);
        if (rows < 0 || scalar < 0 || dtype == NULL)
            return unknown(scope);
        return dm_value_type(lang, dm_type_vec(lang, rows, (dm_scalar)scalar));
    }
    const dm_value *shape = find_arg(call, 0, "shape"), *dtype = find_arg(call, 1, "dtype");
    int rows = 0, cols = 0, scalar = dtype_scalar(dtype);
    if (shape != NULL && shape->kind == DM_VALUE_ITEMS && shape->count == 2) {
        rows = length_of(shape->items[0]);
        cols = length_of(shape->items[1]);
    } else if (shape != NULL && shape->kind == DM_VALUE_INT && call->count == 3) {
        rows = length_of(shape); /* mat[3, 3, float] */
        cols = length_of(call->args[1]);
        scalar = dtype_scalar(call->args[2]);
        dtype = call->args[2];
    } else if (shape == NULL || !is_any(shape)) {
        return unknown(scope);
    }
    if (rows < 0 || cols < 0 || scalar < 0 || dtype == NULL)
        return unknown(scope);
    return dm_value_type(lang, dm_type_mat(lang, rows, cols, (dm_scalar)scalar));
}

/* wp.float64(0.1), int(x): a typed constant */
static const dm_value *scalar_constant(dm_scope *scope, const dm_type *type, const call_args *call)
{
    double number = 0;
    if (call->count > 1 || (call->count == 1 && !number_of(call->args[0], &number)))
        return unknown(scope);
    bool python = call->count == 1 && call->args[0]->kind != DM_VALUE_SCALAR;
    if (python && type->scalar == DM_F32)
        return dm_value_real(scope->lang, number);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_SCALAR);
    value->type = type;
    if (dm_type_is_float(type))
        value->real = number;
    else if (call->count == 1 && (call->args[0]->kind == DM_VALUE_INT))
        value->integer = call->args[0]->integer;
    else
        value->integer = fabs(number) < 9e18 ? (int64_t)number : 0;
    return value;
}

/* wp.vec3(1.0, 2.0, 3.0) outside of kernels */
static const dm_value *numeric_constant(dm_scope *scope, const dm_type *type, const call_args *call)
{
    int components = dm_type_components(type), given = 0;
    if (components > 256)
        return unknown(scope);
    double *numbers = dm_lang_alloc_array(scope->lang, (size_t)components + 1, sizeof *numbers);
    for (int i = 0; i < call->count; i++) {
        const dm_value *arg = call->args[i];
        const dm_value *const *items = arg->kind == DM_VALUE_ITEMS ? arg->items : &arg;
        int count = arg->kind == DM_VALUE_ITEMS ? arg->count : 1;
        for (int k = 0; k < count; k++) {
            if (items[k]->kind == DM_VALUE_NUMBERS) {
                for (int n = 0; n < items[k]->count && given < components; n++)
                    numbers[given++] = items[k]->numbers[n];
            } else if (given >= components || !number_of(items[k], &numbers[given++])) {
                return unknown(scope);
            }
        }
    }
    if (given == 1)
        for (int i = 1; i < components; i++)
            numbers[i] = numbers[0];
    else if (given != components && given != 0)
        return unknown(scope);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_NUMBERS);
    value->type = type;
    value->numbers = numbers;
    value->count = components;
    return value;
}

static const dm_value *python_call(dm_scope *scope, const char *name, const call_args *call)
{
    static const struct {
        const char *name;
        double (*function)(double);
    } functions[] = {{"sqrt", sqrt},   {"sin", sin},   {"cos", cos},
                     {"tan", tan},     {"exp", exp},   {"log", log},
                     {"floor", floor}, {"ceil", ceil}, {"radians", NULL}};
    const char *dot = strrchr(name, '.');
    double x;
    if (strcmp(name, "constant") == 0 && call->count == 1)
        return call->args[0];
    if (call->count != 1 || dot == NULL || !number_of(call->args[0], &x))
        return unknown(scope);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, dot + 1) == 0)
            return dm_value_real(scope->lang, functions[i].function == NULL
                                                  ? x * 0.017453292519943295
                                                  : functions[i].function(x));
    return unknown(scope);
}

const dm_value *dm_scope_call(dm_scope *scope, const dm_value *callee, const dm_value *const *args,
                              const char *const *names, int count)
{
    call_args call = {.args = args, .names = names, .count = count};
    switch (callee->kind) {
    case DM_VALUE_GENERIC_CLASS:
        if (strstr(callee->text, "array") != NULL)
            return array_type(scope, callee->text, &call, false);
        if (strcmp(callee->text, "ref") == 0)
            return unknown(scope);
        return numeric_type(scope, callee->text, &call);
    case DM_VALUE_TYPE:
        if (callee->type->kind == DM_TYPE_SCALAR && !callee->type->generic)
            return scalar_constant(scope, callee->type, &call);
        if (dm_type_is_numeric(callee->type) && !callee->type->generic)
            return numeric_constant(scope, callee->type, &call);
        return unknown(scope);
    case DM_VALUE_BUILTIN:
        return python_call(scope, callee->text, &call);
    default:
        return unknown(scope);
    }
}

const dm_type *dm_scope_annotation(dm_scope *scope, const dm_ast *ast)
{
    dm_lang *lang = scope->lang;
    if (ast->kind == DM_AST_STRING) { /* "MyStruct" */
        dm_lang_source *source =
            dm_lang_add_source(lang, "annotation", ast->name, strlen(ast->name));
        ast = dm_lang_parse_expression(lang, source);
    }
    const dm_value *value = dm_scope_eval(scope, ast);
    if (value->kind == DM_VALUE_TYPE)
        return value->type;
    if (value->kind == DM_VALUE_GENERIC_CLASS && strstr(value->text, "array") != NULL) {
        call_args none = {0};
        return array_type(scope, value->text, &none, true)->type;
    }
    if (value->kind == DM_VALUE_NONE)
        return lang->types->none;
    /* A captured parameter such as dtype: whatever the caller gives. */
    if (value == scope->module->unknown && ast->kind == DM_AST_NAME &&
        dm_scope_lookup(scope, ast->name, ast->pos) != NULL)
        return lang->types->any;
    dm_lang_error(lang, ast->pos, ast->end, NULL,
                  "this annotation is not a type that is known here");
    return NULL;
}
