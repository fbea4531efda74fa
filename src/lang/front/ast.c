/* SPDX-License-Identifier: MIT */
/* ast.c - the syntax tree as an indented listing. */
#include "lang/front/ast.h"

static void print_node(const dm_ast *at, dm_buffer *out, int depth, const char *role)
{
    static const char *const kinds[] = {
#define X(name) #name,
        DM_AST_KINDS(X)
#undef X
    };
    if (at == NULL)
        return;
    dm_buffer_printf(out, "%*s%s%s", depth * 2, "", role, kinds[at->kind]);
    bool named = at->kind == DM_AST_INT || at->kind == DM_AST_BOOL || at->kind == DM_AST_FLOAT;
    if (at->kind == DM_AST_FLOAT)
        dm_buffer_printf(out, " %.17g", at->real);
    else if (named)
        dm_buffer_printf(out, " %llu", (unsigned long long)at->integer);
    else if (at->name != NULL)
        dm_buffer_printf(out, " %s", at->name);
    if (at->other_name != NULL && (named || at->other_name != at->name))
        dm_buffer_printf(out, " as %s", at->other_name);
    if (at->op != 0)
        dm_buffer_printf(out, " %s", dm_token_name(at->op));
    for (int i = 0; at->ops != NULL && i + 1 < at->count; i++)
        dm_buffer_printf(out, " %s", dm_token_name(at->ops[i]));
    dm_buffer_putc(out, '\n');
    for (int i = 0; at->decorators != NULL && i < at->decorators->count; i++)
        print_node(at->decorators->items[i], out, depth + 1, "@");
    print_node(at->a, out, depth + 1, "");
    print_node(at->b, out, depth + 1, "");
    print_node(at->c, out, depth + 1, "");
    for (int i = 0; i < at->count; i++)
        print_node(at->items[i], out, depth + 1, "");
    print_node(at->body, out, depth + 1, "");
    print_node(at->other, out, depth + 1, "else ");
}

void dm_ast_print(const dm_ast *node_, dm_buffer *out)
{
    print_node(node_, out, 0, "");
}
