/* SPDX-License-Identifier: MIT */
/* print_bounds.c - indices that are checked while a kernel runs. The argument block ends with the
 * address of a bounds_fault; the first access outside of an array fills it in, and its thread ends:
 * by longjmp to the entry point in C, by `exit` on CUDA. src/kernel/kernel.c reads the record. */
#include "lang/emit/print.h"

static const char *array_name(const dm_printer *pr, dm_val v)
{
    const dm_ir_value *value = &pr->f->values[v];
    while (value->name == NULL && value->def != NULL && value->def->arg_count > 0)
        value = &pr->f->values[value->def->args[0]];
    return value->name == NULL ? "an array" : value->name;
}

void dm_print_site(dm_printer *pr, dm_buffer *out, const dm_ir_op *op)
{
    const dm_lang_source *source;
    int line, column;
    dm_lang_locate(pr->lang, op->pos, &source, &line, &column);
    dm_emit(out, ", %d, \"%.60s\"", line, array_name(pr, op->args[0]));
}

void dm_print_check_shape(dm_printer *pr, dm_buffer *out, int count, int ndim)
{
    (void)pr;
    dm_buffer_puts(out, "    if (");
    for (int i = 0; i < count; i++)
        dm_emit(out, "%s%c < -a.shape[%d] || %c >= a.shape[%d]", i > 0 ? " || " : "", "ijkl"[i], i,
                "ijkl"[i], i);
    dm_emit(out, ")\n        bounds_fail(line, array, %d", count);
    for (int i = 0; i < 4; i++)
        dm_emit(out, i < count ? ", %c" : ", 0", "ijkl"[i]);
    for (int i = 0; i < 4; i++)
        dm_emit(out, i < ndim ? ", a.shape[%d]" : ", 0", i);
    dm_buffer_puts(out, ");\n");
}

void dm_print_component(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, dm_val index, int count)
{
    dm_buffer_puts(out, "bounds_component(");
    dm_print_value(pr, out, index, 3);
    dm_emit(out, ", %d", count);
    dm_print_site(pr, out, op);
    dm_buffer_putc(out, ')');
}

void dm_print_bounds_head(dm_printer *pr, dm_buffer *out)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA;
    dm_buffer_puts(out, "typedef struct bounds_fault {\n"
                        "    int set, line, count, index[4], shape[4];\n"
                        "    char array[64];\n} bounds_fault;\n");
    dm_buffer_puts(out, cuda ? "static __device__ bounds_fault *bounds_record;\n\n"
                             : "static _Thread_local bounds_fault *bounds_record;\n"
                               "static _Thread_local jmp_buf bounds_exit;\n\n");
    dm_emit(out,
            "%s void bounds_fail(int line, const char *array, int count, int i, int j, int k, int "
            "l,\n                                 int s0, int s1, int s2, int s3)\n{\n"
            "    bounds_fault *f = bounds_record;\n"
            "    if (%s == 0) {\n"
            "        const int index[4] = {i, j, k, l}, shape[4] = {s0, s1, s2, s3};\n"
            "        f->line = line;\n        f->count = count;\n"
            "        for (int n = 0; n < 4; n++) {\n            f->index[n] = index[n];\n"
            "            f->shape[n] = shape[n];\n        }\n"
            "        for (int n = 0; n < 63 && array[n] != 0; n++)\n"
            "            f->array[n] = array[n];\n    }\n"
            "    %s;\n}\n\n",
            cuda ? "static __device__ __noinline__"
                 : "__attribute__((noreturn, noinline, cold, unused)) static",
            cuda ? "atomicExch(&f->set, 1)" : "__atomic_exchange_n(&f->set, 1, __ATOMIC_RELAXED)",
            cuda ? "asm volatile(\"exit;\")" : "longjmp(bounds_exit, 1)");
    dm_emit(out,
            "%s%s int bounds_component(int i, int count, int line, const char *array)\n{\n"
            "    if (i < -count || i >= count)\n"
            "        bounds_fail(line, array, 1, i, 0, 0, 0, count, 0, 0, 0);\n"
            "    return i < 0 ? i + count : i;\n}\n\n",
            cuda ? "" : "__attribute__((unused)) ", dm_print_qualifier(pr));
}
