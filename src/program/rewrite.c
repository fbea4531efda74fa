/* SPDX-License-Identifier: MIT */
/* rewrite.c - rewrite the top level of a file (functions, the memory's class, the program and its decorator), and make
 * the kernel that calls the program. See rewrite.h. */
#include "program/rewrite.h"

#include "device/sources.h"

#include <string.h>

/* ---- Functions and the memory's class ---- */

static dm_role role_of_annotation(const dm_rewriter *r, const dm_ast *at)
{
    if (dm_rewrite_is_module(r, at, "Machine"))
        return DM_ROLE_MACHINE;
    if (dm_rewrite_is_module(r, at, "Out"))
        return DM_ROLE_OUT;
    if (at != NULL && at->kind == DM_AST_NAME && r->p->memory_class != NULL &&
        strcmp(at->name, r->p->memory_class) == 0)
        return DM_ROLE_MEMORY;
    return DM_ROLE_NONE;
}

static void replace_decorators(dm_rewriter *r, dm_ast *at, const char *name)
{
    dm_ast *list = dm_rewrite_node(r, DM_AST_BLOCK, at);
    list->items = dm_lang_alloc_array(r->lang, 1, sizeof(void *));
    list->items[0] = dm_rewrite_warp(r, name, at);
    list->count = 1;
    at->decorators = list;
}

static void function(dm_rewriter *r, dm_ast *at)
{
    bool program = at == r->p->function_ast;
    r->param_count = 0;
    for (int i = 0; i < at->count; i++) {
        dm_ast *param = at->items[i];
        dm_role have = role_of_annotation(r, param->a);
        if (param->name == NULL || r->param_count == DM_REWRITE_PARAMS_MAX)
            continue;
        r->params[r->param_count].name = param->name;
        r->params[r->param_count++].role = have;
        param->a = have == DM_ROLE_MEMORY ? param->a : dm_rewrite_expression(r, param->a);
        param->b = dm_rewrite_expression(r, param->b);
        if (!program)
            continue;
        if (have == DM_ROLE_NONE || i >= 3) {
            dm_rewrite_fail(
                r, param,
                dm_lang_format(r->lang,
                               "def %s(m: %s.Machine, mem: Memory, out: %s.Out), or without mem",
                               at->name, r->module, r->module),
                "a program takes the machine, its memory and the answer, each with its type");
            return;
        }
        r->p->order[i] = have == DM_ROLE_MACHINE ? 'm' : have == DM_ROLE_MEMORY ? 'k' : 'o';
        r->p->parameter_count = i + 1;
    }
    replace_decorators(r, at, "func");
    dm_rewrite_block(r, at->body);
    r->param_count = 0;
}

/* A field's type: dm.Bitmap(n), dm.HashSet(n), dm.Array(n, type), or a type. */
static bool field_type(dm_rewriter *r, dm_ast *at, dm_program_field *field)
{
    static const struct {
        const char *name;
        dm_program_field_kind kind;
    } kinds[] = {
        {"Bitmap", DM_PROGRAM_BITMAP}, {"HashSet", DM_PROGRAM_SET}, {"Array", DM_PROGRAM_ARRAY}};
    const char *name = dm_rewrite_module_name(r, at->kind == DM_AST_CALL ? at->a : at);
    for (size_t i = 0; name != NULL && i < 3; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        int most = kinds[i].kind == DM_PROGRAM_ARRAY ? 2 : 1;
        if (at->kind != DM_AST_CALL || at->count < 1 || at->count > most ||
            at->items[0]->kind == DM_AST_KEYWORD) {
            dm_lang_error(r->lang, at->pos, at->end, NULL, "%s.%s takes its length%s", r->module,
                          name, most == 2 ? " and the type of an element" : "");
            return false;
        }
        field->kind = kinds[i].kind;
        field->count = at->items[0];
        field->type = at->count == 2 ? dm_rewrite_expression(r, at->items[1])
                      : most == 2    ? dm_rewrite_name(r, "int", at)
                                     : NULL;
        return true;
    }
    field->kind = DM_PROGRAM_VALUE;
    field->type = dm_rewrite_expression(r, at);
    return true;
}

/* name: type  ->  name: _wp.array(dtype=type), the type under a name of its own for the kernel as well. */
static void memory_class(dm_rewriter *r, dm_ast *at)
{
    dm_program_parts *p = r->p;
    for (int i = 0; i < at->body->count; i++) {
        dm_ast *line = at->body->items[i];
        if (line->kind == DM_AST_PASS ||
            (line->kind == DM_AST_EXPR && line->a->kind == DM_AST_STRING))
            continue;
        if (line->kind != DM_AST_ANNOTATED || line->a->kind != DM_AST_NAME) {
            dm_rewrite_fail(r, line, "such as score: int",
                            "the memory's class holds fields with a type and nothing else");
            continue;
        }
        if (line->c != NULL) {
            dm_rewrite_fail(r, line, NULL,
                            "memory is zero at the start; a field has no other first value");
            continue;
        }
        if (p->field_count == DM_PROGRAM_FIELDS_MAX) {
            dm_lang_error(r->lang, line->pos, line->end, NULL, "more than %d fields",
                          DM_PROGRAM_FIELDS_MAX);
            return;
        }
        dm_program_field *field = &p->fields[p->field_count];
        *field = (dm_program_field){.name = line->a->name, .ast = line};
        if (dm_rewrite_field(r, field->name) != NULL) {
            dm_lang_error(r->lang, line->pos, line->end, NULL, "a second field '%s'", field->name);
            continue;
        }
        if (!field_type(r, line->b, field))
            continue;
        dm_ast *dtype = dm_rewrite_node(r, DM_AST_KEYWORD, line->b);
        dtype->name = dm_lang_intern_text(r->lang, "dtype");
        dtype->a =
            field->type == NULL
                ? dm_rewrite_warp(r, "uint32", line->b)
                : dm_rewrite_name(r, dm_lang_format(r->lang, "_dm_T%d", p->field_count), line->b);
        line->b = dm_rewrite_call(r, dm_rewrite_warp(r, "array", line->b), &dtype, 1, line->b);
        p->field_count++;
    }
    replace_decorators(r, at, "struct");
}

/* ---- The decorator of the program ---- */

static void read_symbols(dm_rewriter *r, const char *path, const dm_ast *at)
{
    dm_error err = {0};
    const char *slash = strrchr(r->p->name, '/');
    if (path[0] != '/' && slash != NULL)
        path = dm_lang_format(r->lang, "%.*s/%s", (int)(slash - r->p->name), r->p->name, path);
    dm_symbols_deinit(&r->p->symbols);
    r->p->has_symbols = dm_symbols_read(&r->p->symbols, path, &err) == DM_OK;
    if (!r->p->has_symbols)
        dm_lang_error(r->lang, at->pos, at->end, NULL, "%s", err.message);
}

static void read_decorator(dm_rewriter *r, const dm_ast *at)
{
    static const char *const keywords[] = {"symbols", "hooks", "obs", NULL};
    const dm_ast *hooks = NULL;
    for (int i = 0; at->kind == DM_AST_CALL && i < at->count; i++) {
        const dm_ast *item = at->items[i];
        if (item->kind != DM_AST_KEYWORD || item->name == NULL) {
            dm_rewrite_fail(r, item, NULL,
                            "the program's options have names: symbols=, hooks=, obs=");
        } else if (strcmp(item->name, "symbols") == 0) {
            if (item->a->kind != DM_AST_STRING)
                dm_rewrite_fail(r, item->a, NULL, "symbols= is the name of a file");
            else if (!r->p->symbols_given)
                read_symbols(r, item->a->name, item->a);
        } else if (strcmp(item->name, "hooks") == 0) {
            hooks = item->a;
        } else if (strcmp(item->name, "obs") == 0) {
            r->p->observations = item->a;
        } else {
            dm_lang_error(r->lang, item->pos, item->end,
                          dm_rewrite_closest(r, item->name, keywords),
                          "a program has no option '%s'", item->name);
        }
    }
    if (hooks != NULL && hooks->kind != DM_AST_LIST && hooks->kind != DM_AST_TUPLE) {
        dm_rewrite_fail(r, hooks, "such as [\"GameOver\", \"01:4A2F\"]",
                        "hooks= is a list of texts");
        return;
    }
    for (int i = 0; hooks != NULL && i < hooks->count; i++)
        dm_rewrite_hook(r, hooks->items[i]);
}

/* ---- The kernel ---- */

/* Its text: parameters as dm_program_places has them, one view of each for the machine of this thread. */
static void kernel_text(dm_rewriter *r, dm_buffer *out)
{
    const dm_program_parts *p = r->p;
    dm_buffer_puts(out,
                   "@_wp.kernel\ndef _dm_program("
                   "machines: _wp.array2d(dtype=_wp.uint8), ram: _wp.array2d(dtype=_wp.uint8), "
                   "roms: _wp.array(dtype=_wp.uint8), rom_starts: _wp.array(dtype=_wp.uint32), "
                   "turns: _wp.array(dtype=_wp.uint32), actions: _wp.array(dtype=_wp.uint32), "
                   "steps: _wp.array(dtype=_wp.uint64), episodes: _wp.array(dtype=_wp.uint32), "
                   "hooks: _wp.array(dtype=_wp.uint64), rewards: _wp.array2d(dtype=float), "
                   "terminated: _wp.array2d(dtype=bool), truncated: _wp.array2d(dtype=bool), "
                   "starts: _wp.array2d(dtype=int), "
                   "obs: _wp.array2d(dtype=float), metrics: _wp.array2d(dtype=float)");
    for (int i = 0; i < p->field_count; i++)
        if (p->fields[i].type != NULL)
            dm_buffer_printf(out, ", f%d: _wp.array2d(dtype=_dm_T%d)", i, i);
        else
            dm_buffer_printf(out, ", f%d: _wp.array2d(dtype=_wp.uint32)", i);
    dm_buffer_puts(
        out,
        ", seed: _wp.uint64, first: _wp.int64):\n"
        "    i = _wp.tid()\n"
        "    turn = int(turns[i])\n"
        "    if turn == 2:\n"
        "        return\n"
        "    m = _dm_Machine()\n"
        "    m.cpu = machines[i]\n"
        "    m.ram = ram[i]\n"
        "    m.rom = roms\n"
        "    m.rom_number = i % rom_starts.shape[0]\n"
        "    m.rom_at = int(rom_starts[m.rom_number])\n"
        "    m.number = first + _wp.int64(i)\n"
        "    m.action = int(actions[i])\n"
        "    m.draws = seed * _wp.uint64(0xD1342543DE82EF95) + "
        "_wp.uint64(m.number) * _wp.uint64(0xA0761D6478BD642F) + "
        "steps[i] * _wp.uint64(0xE7037ED1A0B428DB)\n"
        "    m.draws = (m.draws ^ (m.draws >> _wp.uint64(29))) * _wp.uint64(0xBF58476D1CE4E5B9)\n"
        "    if turn == 0:\n"
        "        m.steps = int(episodes[i]) + 1\n"
        "        if hooks.shape[0] > 0:\n"
        "            m.hooks = hooks[i]\n"
        "    for j in range(metrics.shape[1]):\n"
        "        metrics[i, j] = 0.0\n"
        "    rewards[i, 0] = 0.0\n"
        "    terminated[i, 0] = False\n"
        "    truncated[i, 0] = False\n"
        "    out = _dm_Out()\n"
        "    out.reward = rewards[i]\n"
        "    out.terminated = terminated[i]\n"
        "    out.truncated = truncated[i]\n"
        "    out.start = starts[i]\n"
        "    out.obs = obs[i]\n"
        "    out.metrics = metrics[i]\n");
    if (p->memory_class != NULL)
        dm_buffer_printf(out, "    k = %s()\n", p->memory_class);
    for (int i = 0; i < p->field_count; i++)
        dm_buffer_printf(out, "    k.%s = f%d[i]\n", p->fields[i].name, i);
    dm_buffer_printf(out, "    %s(", p->function);
    for (int i = 0; i < p->parameter_count; i++)
        dm_buffer_printf(out, "%s%s", i > 0 ? ", " : "",
                         p->order[i] == 'm'   ? "m"
                         : p->order[i] == 'k' ? "k"
                                              : "out");
    dm_buffer_puts(out, ")\n"
                        "    if turn == 1:\n"
                        "        rewards[i, 0] = 0.0\n"
                        "        terminated[i, 0] = False\n"
                        "        truncated[i, 0] = False\n");
}

/* ---- The whole ---- */

/* @dm.func, @wp.func */
static bool is_helper(const dm_ast *at)
{
    for (int i = 0; at->kind == DM_AST_FUNCTION && at->name != NULL && at->decorators != NULL &&
                    i < at->decorators->count;
         i++) {
        const dm_ast *d = at->decorators->items[i];
        if (d->kind == DM_AST_ATTRIBUTE && strcmp(d->name, "func") == 0)
            return true;
    }
    return false;
}

static void find_module(dm_rewriter *r, const dm_ast *tree)
{
    r->module = "dm";
    for (int i = 0; i < tree->count; i++) {
        const dm_ast *at = tree->items[i];
        if (at->kind == DM_AST_IMPORT && strcmp(at->name, "dotmatrix") == 0)
            r->module = at->other_name;
        if (at->kind == DM_AST_FROM && strcmp(at->other_name, "dotmatrix") == 0)
            dm_rewrite_fail(r, at, "import dotmatrix as dm",
                            "programs name the module: dm.u8, not u8");
    }
}

static void find_program(dm_rewriter *r, const dm_ast *tree)
{
    dm_program_parts *p = r->p;
    const dm_ast *first = NULL;
    int found = 0;
    for (int i = 0; i < tree->count; i++) {
        dm_ast *at = tree->items[i];
        if (at->kind == DM_AST_CLASS && at->name != NULL &&
            dm_rewrite_decorator(r, at, "memory") != NULL) {
            if (p->memory_class != NULL)
                dm_rewrite_fail(r, at, NULL, "a second class with @memory; a program has one");
            else
                p->memory_class = at->name;
        }
        if (at->kind != DM_AST_FUNCTION || at->name == NULL ||
            dm_rewrite_decorator(r, at, "program") == NULL)
            continue;
        found++;
        first = first == NULL ? at : first;
        if (p->wanted == NULL || strcmp(p->wanted, at->name) == 0)
            p->function_ast = p->function_ast == NULL ? at : p->function_ast;
    }
    if (p->function_ast == NULL) {
        const dm_ast *at = first != NULL ? first : tree;
        dm_lang_error(
            r->lang, first != NULL ? at->pos : 0, first != NULL ? at->pos + 1 : 0,
            dm_lang_format(r->lang,
                           "@%s.program, and below it def step(m: %s.Machine, out: %s.Out):",
                           r->module, r->module, r->module),
            p->wanted != NULL ? "there is no program '%s'" : "there is no program in this file",
            p->wanted != NULL ? p->wanted : "");
    } else if (found > 1 && p->wanted == NULL) {
        dm_rewrite_fail(r, p->function_ast, "say which one is meant",
                        "there are several programs in this file");
    } else {
        p->function = p->function_ast->name;
    }
}

/* Put statements before and behind the file's own. */
static void join(dm_rewriter *r, dm_ast *tree, const dm_ast *before, const dm_ast *behind)
{
    dm_program_parts *p = r->p;
    int count = 0;
    dm_ast **items = dm_lang_alloc_array(
        r->lang, (size_t)(before->count + tree->count + behind->count + p->field_count) + 1,
        sizeof(void *));
    for (int i = 0; i < before->count; i++)
        items[count++] = before->items[i];
    for (int i = 0; i < p->field_count; i++) {
        if (p->fields[i].type == NULL)
            continue;
        dm_ast *made = dm_rewrite_node(r, DM_AST_ASSIGN, p->fields[i].ast);
        made->items = dm_lang_alloc_array(r->lang, 1, sizeof(void *));
        made->items[0] =
            dm_rewrite_name(r, dm_lang_format(r->lang, "_dm_T%d", i), p->fields[i].ast);
        made->count = 1;
        made->a = (dm_ast *)p->fields[i].type;
        items[count++] = made;
    }
    for (int i = 0; i < tree->count; i++)
        items[count++] = tree->items[i];
    for (int i = 0; i < behind->count; i++)
        items[count++] = behind->items[i];
    tree->items = items;
    tree->count = count;
}

static dm_ast *parse_ours(dm_rewriter *r, const char *name, const char *text)
{
    dm_lang_source *source = dm_lang_add_source(r->lang, name, text, strlen(text));
    return dm_lang_parse(r->lang, source);
}

void dm_program_rewrite(dm_lang *lang, dm_ast *tree, dm_program_parts *parts)
{
    dm_rewriter r = {.lang = lang, .p = parts};
    find_module(&r, tree);
    find_program(&r, tree);
    if (lang->error_count > 0)
        return;
    read_decorator(&r, dm_rewrite_decorator(&r, parts->function_ast, "program"));
    for (int i = 0; i < tree->count; i++)
        if (tree->items[i]->kind == DM_AST_CLASS &&
            dm_rewrite_decorator(&r, tree->items[i], "memory") != NULL)
            memory_class(&r, tree->items[i]);
    for (int i = 0; i < tree->count; i++) {
        dm_ast *at = tree->items[i];
        if (at == parts->function_ast || is_helper(at))
            function(&r, at);
        else if (at->kind == DM_AST_ASSIGN)
            at->a = dm_rewrite_expression(&r, at->a);
    }
    if (lang->error_count > 0)
        return;
    dm_buffer *text = dm_text_open(lang);
    kernel_text(&r, text);
    const char *kept = dm_lang_format(lang, "%s", dm_buffer_text(text));
    dm_text_close(lang, 1);
    const dm_ast *prelude = parse_ours(&r, "prelude", dm_embedded_text("program/prelude.py"));
    const dm_ast *kernel = parse_ours(&r, "kernel", kept);
    join(&r, tree, prelude, kernel);
}
