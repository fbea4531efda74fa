/* SPDX-License-Identifier: MIT */
/* print_bounds.c - runtime checks of a kernel: indices, divisors of integers and, where a limit is set, rounds of
 * loops. The argument block ends with the address of a bounds_fault. The first failed check fills it in and ends its
 * thread: by longjmp to the entry point in C, by `exit` on CUDA. src/kernel/fault.c reads the record. */
#include "lang/emit/print.h"

#include <string.h>

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

static int line_of(const dm_printer *pr, const dm_ir_op *op)
{
    const dm_lang_source *source;
    int line, column;
    dm_lang_locate(pr->lang, op->pos, &source, &line, &column);
    return line;
}

/* "div", "mod" or "floordiv" of integers by something that may be 0 or -1; NULL: another call. */
static const char *division(const dm_printer *pr, const dm_ir_op *op)
{
    static const char *const rows[] = {"div", "mod", "floordiv"};
    int64_t divisor;
    if (op->arg_count != 2 || !dm_type_is_int(pr->f->values[op->args[0]].type) ||
        !dm_type_is_int(pr->f->values[op->args[1]].type))
        return NULL;
    if (dm_ir_const_int(pr->f, op->args[1], &divisor) && divisor != 0 && divisor != -1)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(op->row->name, rows[i]) == 0)
            return rows[i];
    return NULL;
}

bool dm_print_checked_call(dm_printer *pr, dm_buffer *out, const dm_ir_op *op)
{
    const char *name = division(pr, op);
    if (name != NULL)
        dm_emit(out, "bounds_%s_%s(", name, pr->f->values[op->args[0]].type->suffix);
    else if (strcmp(op->row->name, "within") == 0)
        dm_buffer_puts(out, "bounds_within(");
    else
        return false;
    dm_print_value(pr, out, op->args[0], 3);
    dm_buffer_puts(out, ", ");
    dm_print_value(pr, out, op->args[1], 3);
    dm_emit(out, ", %d)", line_of(pr, op));
    return true;
}

void dm_print_round(dm_printer *pr, const dm_ir_op *op)
{
    if (pr->options.bounds && pr->options.rounds > 0)
        dm_print_line(pr, "bounds_round(%d);", line_of(pr, op));
}

/* Checked division for each integer type. INT_MIN / -1 gives INT_MIN: the dialect's integers wrap. */
static void print_divisions(dm_buffer *out, const char *qualifier)
{
    static const struct {
        const char *type, *suffix;
        bool is_signed;
    } types[] = {{"signed char", "i8", true}, {"unsigned char", "u8", false},
                 {"short", "i16", true},      {"unsigned short", "u16", false},
                 {"int", "i32", true},        {"unsigned int", "u32", false},
                 {"long long", "i64", true},  {"unsigned long long", "u64", false}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const char *t = types[i].type, *s = types[i].suffix;
        const char *minus =
            types[i].is_signed ? "    if (b == -1)\n        return (%s)(0 - a);\n" : "";
        const char *none = types[i].is_signed ? "    if (b == -1)\n        return 0;\n" : "";
        const char *zero =
            "    if (b == 0)\n        bounds_fail(line, \"an integer is divided by zero\", 0, "
            "0, 0, 0, 0, 0, 0, 0, 0);\n";
        dm_emit(out, "%s %s bounds_div_%s(%s a, %s b, int line)\n{\n%s", qualifier, t, s, t, t,
                zero);
        dm_emit(out, minus, t);
        dm_emit(out, "    return (%s)(a / b);\n}\n\n", t);
        dm_emit(out, "%s %s bounds_mod_%s(%s a, %s b, int line)\n{\n%s", qualifier, t, s, t, t,
                zero);
        dm_buffer_puts(out, none);
        dm_emit(out, "    return (%s)(a %% b);\n}\n\n", t);
        dm_emit(out, "%s %s bounds_floordiv_%s(%s a, %s b, int line)\n{\n%s", qualifier, t, s, t, t,
                zero);
        dm_emit(out, minus, t);
        dm_emit(out,
                types[i].is_signed
                    ? "    return (%s)(a / b - (a %% b != 0 && (a %% b < 0) != (b < 0)));\n}\n\n"
                    : "    return (%s)(a / b);\n}\n\n",
                t);
    }
}

static void print_rounds(const dm_printer *pr, dm_buffer *out, const char *qualifier)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA;
    const char *counter = cuda ? "bounds_rounds[threadIdx.x]" : "bounds_rounds";
    dm_emit(out, "%s;\n\n",
            cuda ? "static __shared__ int bounds_rounds[1024]"
                 : "static _Thread_local int bounds_rounds");
    dm_emit(out, "%s void bounds_begin(void)\n{\n    %s = 0;\n}\n\n", qualifier, counter);
    dm_emit(out,
            "%s void bounds_round(int line)\n{\n    if (++%s > %d)\n"
            "        bounds_fail(line, \"loops take more than %d rounds\", 0, 0, 0, 0, 0, 0, 0, 0, "
            "0);\n}\n\n",
            qualifier, counter, pr->options.rounds, pr->options.rounds);
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
    const char *qualifier = dm_lang_format(pr->lang, "%s%s", cuda ? "" : "__attribute__((unused)) ",
                                           dm_print_qualifier(pr));
    dm_emit(out,
            "%s int bounds_within(int i, int count, int line)\n{\n    if (i < 0 || i >= count)\n"
            "        bounds_fail(line, \"\", 1, i, 0, 0, 0, count, 0, 0, 0);\n    return i;\n}\n\n",
            qualifier);
    print_divisions(out, qualifier);
    if (pr->options.rounds > 0)
        print_rounds(pr, out, qualifier);
}
