/* SPDX-License-Identifier: MIT */
/* test.c - the test of a record as a Python program; see test.h. */
#include "synth/lesson/test.h"

#include "device/sources.h"
#include "synth/lesson/numpy.h"

#include <stdio.h>

/* ---- Before the cases ---- */

static void put_floats(const dm_trial_param *p, dm_buffer *out)
{
    bool first = true;
    dm_buffer_printf(out, "\"%s\": [", p->name);
    for (int i = 0; i < p->column_count; i++) {
        if (!p->leaves[p->columns[i].first].is_float)
            continue;
        dm_buffer_printf(out, "%s\"%s\"", first ? "" : ", ", p->columns[i].path);
        first = false;
    }
    dm_buffer_putc(out, ']');
}

void dm_synth_test_begin(const dm_ir_function *f, const char *entry, const dm_trial *t,
                         dm_buffer *out)
{
    dm_buffer_printf(
        out,
        "\"\"\"Test of implementations of the kernel %s.\n\n"
        "    python test.py module.py     with %s(launch, arguments ...), and maybe\n"
        "                                 %s_backward(launch, arguments ..., adjoints ...)\n"
        "    python test.py library.so    c_forward and c_backward, compiled\n"
        "\"\"\"\n"
        "import numpy as np\n\n",
        f->name, f->name, f->name);
    for (int i = 0; i < t->param_count; i++)
        dm_synth_numpy_struct(f->values[f->body->params[i]].type, out);
    dm_buffer_printf(out, "KERNEL, ENTRY = \"%s\", \"%s\"\nPARAMETERS = [\n", f->name, entry);
    for (int i = 0; i < t->param_count; i++) {
        const dm_type *type = f->values[f->body->params[i]].type;
        const dm_trial_param *p = &t->params[i];
        dm_buffer_printf(out, "    (\"%s\", %d, ", p->name, p->ndim);
        dm_synth_numpy_dtype(type->kind == DM_TYPE_ARRAY ? type->element : type, out);
        dm_buffer_printf(out, ", %s),\n", p->is_array && p->writes ? "True" : "False");
    }
    dm_buffer_puts(out, "]\nFLOATS = {");
    bool first = true;
    for (int i = 0; i < t->param_count; i++) {
        if (!t->params[i].is_array)
            continue;
        dm_buffer_puts(out, first ? "" : ", ");
        put_floats(&t->params[i], out);
        first = false;
    }
    dm_buffer_puts(out, "}\n");
}

/* ---- Cases ---- */

static void put_number(const dm_trial_leaf *leaf, double value, bool given, dm_buffer *out)
{
    if (leaf->scalar == DM_KERNEL_BOOL)
        dm_buffer_puts(out, value != 0 ? "True" : "False");
    else if (!leaf->is_float)
        dm_buffer_printf(out, "%.0f", value);
    else
        dm_buffer_printf(out,
                         given                               ? "%.4g"
                         : leaf->scalar == DM_KERNEL_FLOAT64 ? "%.12g"
                                                             : "%.7g",
                         value);
}

static void put_column(const dm_trial_param *p, const dm_trial_column *c, const uint8_t *image,
                       bool given, dm_buffer *out)
{
    bool alone = !p->is_array && c->count == 1;
    dm_buffer_puts(out, alone ? "" : "[");
    for (size_t e = 0; e < p->count; e++)
        for (int k = c->first; k < c->first + c->count; k++) {
            dm_buffer_puts(out, e + (size_t)(k - c->first) > 0 ? ", " : "");
            put_number(&p->leaves[k], dm_trial_number(image, p, e, k), given, out);
        }
    dm_buffer_puts(out, alone ? "" : "]");
}

static void put_param(const dm_trial_param *p, const uint8_t *image, bool given, bool only_floats,
                      dm_buffer *out)
{
    bool plain = p->column_count == 1 && p->columns[0].path[0] == '\0', first = true;
    dm_buffer_printf(out, "\"%s\": ", p->name);
    if (plain) {
        put_column(p, &p->columns[0], image, given, out);
        return;
    }
    dm_buffer_putc(out, '{');
    for (int i = 0; i < p->column_count; i++) {
        if (only_floats && !p->leaves[p->columns[i].first].is_float)
            continue;
        dm_buffer_printf(out, "%s\"%s\": ", first ? "" : ", ", p->columns[i].path);
        put_column(p, &p->columns[i], image, given, out);
        first = false;
    }
    dm_buffer_putc(out, '}');
}

enum { INPUTS, OUTPUTS, GRADIENTS };

static void put_set(const dm_synth_test_case *c, int what, dm_buffer *out)
{
    static const char *const titles[] = {"inputs", "outputs", "gradients"};
    const dm_trial *t = c->trial;
    dm_buffer_printf(out, "        \"%s\": ", titles[what]);
    if (what == GRADIENTS && c->gradients == NULL) {
        dm_buffer_puts(out, "None,\n");
        return;
    }
    dm_buffer_puts(out, "{\n");
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        const uint8_t *image = what == INPUTS    ? (p->is_array ? c->before : c->block)
                               : what == OUTPUTS ? c->outputs
                                                 : c->gradients;
        if ((what == OUTPUTS && !(p->is_array && p->writes)) ||
            (what == GRADIENTS && !(p->is_array && p->floats && p->reads && !p->writes)))
            continue;
        dm_buffer_puts(out, "            ");
        put_param(p, image, what == INPUTS, what == GRADIENTS, out);
        dm_buffer_puts(out, ",\n");
    }
    dm_buffer_puts(out, "        },\n");
}

void dm_synth_test_write(const dm_synth_test_case *cases, int count, dm_buffer *out)
{
    dm_buffer_puts(out, "CASES = [\n");
    for (int i = 0; i < count; i++) {
        const dm_trial *t = cases[i].trial;
        dm_buffer_printf(out, "    {\n        \"name\": \"%s\", \"size\": %d, \"launch\": [",
                         cases[i].name, t->size);
        for (int d = 0; d < t->dimensions; d++)
            dm_buffer_printf(out, "%s%d", d > 0 ? ", " : "", t->size);
        dm_buffer_puts(out, "],\n");
        for (int what = INPUTS; what <= GRADIENTS; what++)
            put_set(&cases[i], what, out);
        dm_buffer_puts(out, "    },\n");
    }
    dm_buffer_puts(out, "]\n\n");
    dm_buffer_puts(out, dm_embedded_text("synth/lesson/harness.py"));
}
