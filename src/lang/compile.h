/* SPDX-License-Identifier: MIT */
/* compile.h - the compiler as the rest of the library calls it: open a file, compile kernels of it,
 * print texts. include/dotmatrix/kernel.h is the public API over it. */
#ifndef DM_LANG_COMPILE_H
#define DM_LANG_COMPILE_H

#include "lang/emit/print.h"

typedef struct dm_compile_options {
    dm_module_options module;
    bool no_backward;
    bool lines;
    bool bounds;             /* indices and divisors are checked while the kernel runs */
    int rounds;              /* likewise the rounds of loops; 0: they are not */
    bool all_double;         /* float16 and float32 are float64 */
    dm_workspace *workspace; /* memory of the last compilation; NULL: none is kept */
    /* Called between parsing and names; may change the tree. NULL: nothing is. */
    void (*rewrite)(void *context, dm_lang *lang, dm_ast *tree);
    void *rewrite_context;
} dm_compile_options;

typedef struct dm_compile_kernel {
    dm_function_decl *decl;
    dm_ir_function *forward, *backward; /* NULL after errors */
} dm_compile_kernel;

/* One file. The text must outlive it. One thread at a time; compilations do not share state. */
typedef struct dm_compilation {
    dm_lang lang;
    dm_compile_options options;
    const dm_ast *tree;
    dm_module_unit *module;
    dm_compile_kernel *kernels;
    int kernel_count;
} dm_compilation;

/* Parse, and find the kernels; DM_ECOMPILE when the text is no Python or too deep. The compilation
 * must be deinitialised whatever the result. */
dm_status dm_compilation_init(dm_compilation *c, const char *name, const char *text, size_t size,
                              const dm_compile_options *options, dm_error *err);
void dm_compilation_deinit(dm_compilation *c);
/* Compile one kernel, by its number. Diagnostics gather in c->lang. */
dm_status dm_compilation_kernel(dm_compilation *c, int kernel, dm_error *err);
/* Its text for a target. */
dm_status dm_compilation_print(dm_compilation *c, int kernel, dm_target target, dm_buffer *out,
                               dm_error *err);
/* The same for one pass alone: a text that stands by itself. DM_EINVAL for the backward pass of a
 * kernel that has none. */
dm_status dm_compilation_print_pass(dm_compilation *c, int kernel, dm_target target,
                                    dm_passes passes, dm_buffer *out, dm_error *err);
/* One text with several compiled kernels, given by number. A kernel without a backward pass has its forward pass
 * alone. `local`: in C the entry points are static, since what is appended to the text calls them. */
dm_status dm_compilation_print_list(dm_compilation *c, const int *kernels, int count,
                                    dm_target target, dm_passes passes, bool local, dm_buffer *out,
                                    dm_error *err);
/* One text with all kernels that were compiled. */
dm_status dm_compilation_print_all(dm_compilation *c, dm_target target, dm_buffer *out,
                                   dm_error *err);
/* The kernel of a name, -1 when there is none. */
int dm_compilation_find(const dm_compilation *c, const char *name);
/* Fill `err` with the first error. */
dm_status dm_compilation_fail(dm_compilation *c, dm_error *err);

#endif
