/* SPDX-License-Identifier: MIT */
/* unit_text.c - C entry points of a program of several kernels; see unit.h.
 *
 *   NAME_make   an array of zeros in the shape of another
 *   NAME_run    the launches in their order, NAME_run_back the backward passes in the reverse one;
 *               both take where each argument's bytes are
 *   NAME_forward, NAME_backward   as a kernel's, except that the call for the first thread does all
 *
 * The backward pass makes the temporaries again, and writes copies of the results, not the caller's. */
#include "synth/check/unit.h"

#include "synth/lesson/roles.h"

static size_t align_up(size_t offset, size_t align)
{
    return (offset + align - 1) / align * align;
}

static void put_helpers(const char *name, bool back, dm_buffer *out)
{
    dm_buffer_printf(
        out,
        "\n#include <stdlib.h>\n#include <string.h>\n\n"
        "/* An array of zeros: its data, gradient, strides and sizes; those of `like`, or one "
        "element. */\n"
        "static void %s_make(char *array, int ndim, long long bytes, const char *like, int "
        "like_ndim%s)\n{\n"
        "    for (int d = ndim - 1; d >= 0; d--) {\n"
        "        int size = 1;\n"
        "        if (like_ndim > 0)\n"
        "            memcpy(&size, like + 16 + 8 * like_ndim + 4 * d, sizeof size);\n"
        "        memcpy(array + 16 + 8 * d, &bytes, sizeof bytes);\n"
        "        memcpy(array + 16 + 8 * ndim + 4 * d, &size, sizeof size);\n"
        "        bytes *= size;\n"
        "    }\n"
        "    void *data = calloc(1, (size_t)bytes);\n"
        "    memcpy(array, &data, sizeof data);\n"
        "    data = %s;\n"
        "    memcpy(array + 8, &data, sizeof data);\n"
        "}\n\n"
        "static void %s_drop(const char *array)\n{\n"
        "    for (int i = 0; i < 2; i++) {\n"
        "        void *data;\n"
        "        memcpy(&data, array + 8 * i, sizeof data);\n"
        "        free(data);\n"
        "    }\n"
        "}\n\n",
        name, back ? ", int adjoint" : "", back ? "adjoint ? calloc(1, (size_t)bytes) : 0" : "0",
        name);
}

static const dm_ir_function *kernel_of(const dm_unit *u, const dm_unit_launch *l)
{
    return u->compilation->kernels[l->kernel].forward;
}

static void put_launch(const dm_unit *u, const dm_unit_launch *l, const char *pass, dm_buffer *out)
{
    const dm_ir_function *f = kernel_of(u, l);
    dm_buffer_printf(out, "    {\n        %s_args a;\n        memset(&a, 0, sizeof a);\n",
                     f->entry_name);
    if (l->over < 0)
        dm_buffer_puts(out, "        a.dim[0] = 1;\n");
    else
        dm_buffer_printf(out, "        memcpy(a.dim, v[%d] + %d, sizeof a.dim);\n", l->over,
                         16 + 8 * u->arrays[l->over].type->ndim);
    for (int i = 0; i < l->arg_count; i++)
        dm_buffer_printf(out, "        memcpy(&a.%s, v[%d], sizeof a.%s);\n", f->block_names[i],
                         l->args[i], f->block_names[i]);
    dm_buffer_printf(out, "        %s_%s(&a, 0, 1, 1);\n    }\n", f->entry_name, pass);
}

static void put_run(const dm_unit *u, bool back, dm_buffer *out)
{
    dm_buffer_printf(out, "static void %s_run%s(const char *const *v)\n{\n", u->forward->name,
                     back ? "_back" : "");
    for (int i = 0; i < u->launch_count; i++) {
        const dm_unit_launch *l = &u->launches[back ? u->launch_count - 1 - i : i];
        if (!back || u->compilation->kernels[l->kernel].backward != NULL)
            put_launch(u, l, back ? "backward" : "forward", out);
    }
    dm_buffer_puts(out, "}\n\n");
}

/* Does a launch write the parameter? */
static bool is_written(const dm_unit *u, int param)
{
    uint8_t roles[DM_SYNTH_PARAMS_MAX] = {0};
    dm_synth_find_roles(u->forward, roles);
    return (roles[param] & DM_SYNTH_WRITES) != 0;
}

static void put_make(const dm_unit *u, const char *prefix, int array, int like, const char *adjoint,
                     dm_buffer *out)
{
    const dm_type *type = u->arrays[array].type;
    const dm_type *from = like < 0 ? NULL : u->arrays[like].type;
    dm_buffer_printf(out, "    %s_make(%s%s, %d, %lld, ", u->forward->name, prefix,
                     u->arrays[array].name, type->ndim, (long long)dm_type_bytes(type->element));
    if (from == NULL)
        dm_buffer_printf(out, "0, 0%s);\n", adjoint);
    else
        dm_buffer_printf(out, "v[%d], %d%s);\n", like, from->ndim, adjoint);
}

/* `const char *const v[]`: the parameters in the block, the temporaries; results as copies of their own. */
static void put_values(const dm_unit *u, const char *name, bool copies, dm_buffer *out)
{
    size_t offset = sizeof(int);
    dm_buffer_printf(out, "    const char *const %s[] = {", name);
    for (int i = 0; i < u->array_count; i++) {
        const dm_type *type = u->arrays[i].type;
        dm_buffer_puts(out, i > 0 ? ", " : "");
        if (i >= u->param_count) {
            dm_buffer_printf(out, "t_%s", u->arrays[i].name);
            continue;
        }
        offset = align_up(offset, (size_t)dm_type_align(type));
        if (copies && is_written(u, i))
            dm_buffer_printf(out, "c_%s", u->arrays[i].name);
        else
            dm_buffer_printf(out, "args + %zu", offset);
        offset += (size_t)dm_type_bytes(type);
    }
    dm_buffer_puts(out, "};\n");
}

static void put_entry(const dm_unit *u, bool back, dm_buffer *out)
{
    const char *name = u->forward->name, *pass = back ? "backward" : "forward";
    dm_buffer_printf(
        out,
        "__attribute__((visibility(\"default\"))) void %s_%s(const void *block, uint64_t "
        "first, uint64_t last, uint64_t count);\n"
        "void %s_%s(const void *block, uint64_t first, uint64_t last, uint64_t count)\n"
        "{\n    const char *args = block;\n",
        name, pass, name, pass);
    for (int i = 0; i < u->array_count; i++)
        if (i >= u->param_count || (back && is_written(u, i)))
            dm_buffer_printf(out, "    char %c_%s[%d];\n", i >= u->param_count ? 't' : 'c',
                             u->arrays[i].name, (int)dm_type_bytes(u->arrays[i].type));
    put_values(u, "v", false, out);
    if (back)
        put_values(u, "forward", true, out);
    dm_buffer_puts(out, "    (void)last;\n    (void)count;\n    if (first > 0)\n        return;\n");
    for (int i = u->param_count; i < u->array_count; i++)
        put_make(u, "t_", i, u->arrays[i].like, back ? ", 1" : "", out);
    for (int i = 0; back && i < u->param_count; i++)
        if (is_written(u, i))
            put_make(u, "c_", i, i, ", 0", out);
    dm_buffer_printf(out, "    %s_run(%s);\n", name, back ? "forward" : "v");
    if (back)
        dm_buffer_printf(out, "    %s_run_back(v);\n", name);
    for (int i = 0; i < u->array_count; i++)
        if (i >= u->param_count || (back && is_written(u, i)))
            dm_buffer_printf(out, "    %s_drop(%c_%s);\n", name, i >= u->param_count ? 't' : 'c',
                             u->arrays[i].name);
    dm_buffer_puts(out, "}\n");
}

void dm_unit_put_entries(const dm_unit *u, dm_passes pass, dm_buffer *out)
{
    bool back = pass == DM_PASS_BACKWARD;
    if (back || u->array_count > u->param_count)
        put_helpers(u->forward->name, back, out);
    else
        dm_buffer_puts(out, "\n#include <string.h>\n\n");
    put_run(u, false, out);
    if (back)
        put_run(u, true, out);
    put_entry(u, back, out);
}
