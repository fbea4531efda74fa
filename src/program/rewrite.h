/* SPDX-License-Identifier: MIT */
/* rewrite.h - rewrite a program's tree, which uses names of the module dotmatrix, to the plain kernel dialect.
 *
 *   class Memory: score: int              class Memory: score: array(dtype=_dm_T0)
 *   dm.u8(m, "wLives")                    _dm_u8(m, 0xC103)
 *   mem.score                             mem.score[0]
 *   out.obs[3]  out.reward                out.obs[3]  out.reward[0]
 *   dm.visit(mem.seen, n)                 _dm_visit_bit(mem.seen, within(n, 4096))
 *   out.metric("score", x)                _dm_metric(out, 0, x)
 *   dm.hit(m, "GameOver")                 _dm_hit(m, 0)
 *
 * Every new node has the place of the one that it replaces, so that messages show the program's own lines. The
 * functions _dm_... are in prelude.py; rewrite.c generates the kernel that calls the program's function. Files:
 *
 *   rewrite.c        functions, classes, decorators, the kernel     rewrite_body.c   expressions and statements */
#ifndef DM_PROGRAM_REWRITE_H
#define DM_PROGRAM_REWRITE_H

#include "program/internal.h"

#define DM_REWRITE_PARAMS_MAX 32

/* What a parameter is. */
typedef enum dm_role { DM_ROLE_NONE, DM_ROLE_MACHINE, DM_ROLE_MEMORY, DM_ROLE_OUT } dm_role;

typedef struct dm_rewriter {
    dm_lang *lang;
    dm_program_parts *p;
    const char *module; /* what the file calls dotmatrix */
    struct {
        const char *name;
        dm_role role;
    } params[DM_REWRITE_PARAMS_MAX]; /* of the function being rewritten */
    int param_count;
} dm_rewriter;

/* New nodes, in the place of `at`: name, number, _wp.name, callee(items). */
dm_ast *dm_rewrite_node(dm_rewriter *r, dm_ast_kind kind, const dm_ast *at);
dm_ast *dm_rewrite_name(dm_rewriter *r, const char *name, const dm_ast *at);
dm_ast *dm_rewrite_int(dm_rewriter *r, uint64_t value, const dm_ast *at);
dm_ast *dm_rewrite_warp(dm_rewriter *r, const char *name, const dm_ast *at);
dm_ast *dm_rewrite_call(dm_rewriter *r, dm_ast *callee, dm_ast **items, int count,
                        const dm_ast *at);

void dm_rewrite_fail(dm_rewriter *r, const dm_ast *at, const char *hint, const char *text);
/* "did you mean 'u8'?", or NULL. */
const char *dm_rewrite_closest(dm_rewriter *r, const char *name, const char *const *all);

/* The name behind `dm.`; NULL when the node is something else. */
const char *dm_rewrite_module_name(const dm_rewriter *r, const dm_ast *at);
bool dm_rewrite_is_module(const dm_rewriter *r, const dm_ast *at, const char *name);
/* The decorator dm.name of a function or class, with its brackets where it has some; NULL: none. */
const dm_ast *dm_rewrite_decorator(const dm_rewriter *r, const dm_ast *at, const char *name);
dm_program_field *dm_rewrite_field(dm_rewriter *r, const char *name);
/* The number of a hook, which is added where it is new. */
int dm_rewrite_hook(dm_rewriter *r, const dm_ast *at);

/* Rewrite; the node that stands in its place. */
dm_ast *dm_rewrite_expression(dm_rewriter *r, dm_ast *at);
void dm_rewrite_block(dm_rewriter *r, dm_ast *at);

#endif
