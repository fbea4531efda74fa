/* SPDX-License-Identifier: MIT */
/* print_atomic.c - helper functions for atomic operations. Each returns the old value: a single
 * instruction where the target has one, else a compare-and-swap loop. The calls are printed by print_effect.c. What an
 * atomic is in reverse is decided by dm_adjoint_reverse_atomic (lang/adjoint/adjoint_op.c). */
#include "lang/emit/print_help.h"

#include <string.h>

/* The new value, for the kinds that some targets have no instruction for. */
static const char *new_value(const char *kind, bool is_float, bool narrow)
{
    if (strcmp(kind, "add") == 0)
        return "old + x";
    if (strcmp(kind, "sub") == 0)
        return "old - x";
    if (strcmp(kind, "min") == 0)
        return is_float ? (narrow ? "fminf(old, x)" : "fmin(old, x)") : "old < x ? old : x";
    if (strcmp(kind, "max") == 0)
        return is_float ? (narrow ? "fmaxf(old, x)" : "fmax(old, x)") : "old > x ? old : x";
    if (strcmp(kind, "and") == 0)
        return "old & x";
    if (strcmp(kind, "or") == 0)
        return "old | x";
    if (strcmp(kind, "xor") == 0)
        return "old ^ x";
    return "x"; /* exch, cas */
}

static void atomic_loop(dm_printer *pr, const char *name, const char *kind, const dm_type *type)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA,
         wide = dm_scalar_bytes((dm_scalar)type->scalar) == 8;
    bool is_float = dm_type_is_float(type);
    const char *c = type->c_name;
    dm_buffer *out = pr->helpers;
    const char *word = wide ? "unsigned long long" : "unsigned int";
    const char *value = new_value(kind, is_float, !wide);
    if (!cuda) {
        dm_emit(out,
                "static inline %s %s(%s *at, %s x)\n{\n"
                "    union { %s value; %s bits; } before, after;\n"
                "    %s *word = (%s *)(void *)at;\n"
                "    before.bits = __atomic_load_n(word, __ATOMIC_RELAXED);\n"
                "    do {\n"
                "        const %s old = before.value;\n"
                "        %safter.value = %s;\n"
                "    } while (!__atomic_compare_exchange_n(word, &before.bits, after.bits, 1,\n"
                "                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));\n"
                "    return before.value;\n}\n\n",
                c, name, c, c, c, word, word, word, c,
                strcmp(value, "x") == 0 ? "(void)old;\n        " : "", value);
        return;
    }
    dm_emit(out,
            "static __device__ inline %s %s(%s *at, %s x)\n{\n"
            "    union { %s value; %s bits; } before, after;\n"
            "    %s *word = (%s *)at, seen;\n"
            "    before.bits = *(volatile %s *)word;\n"
            "    for (;;) {\n"
            "        const %s old = before.value;\n"
            "        after.value = %s;\n"
            "        seen = atomicCAS(word, before.bits, after.bits);\n"
            "        if (seen == before.bits)\n"
            "            return old;\n"
            "        before.bits = seen;\n"
            "    }\n}\n\n",
            c, name, c, c, c, word, word, word, word, c, value);
}

static void atomic_half(dm_printer *pr, const char *name, const char *kind)
{
    /* Half words have no exchange of their own on every device: the word around them is exchanged.
     */
    bool cuda = pr->options.target == DM_TARGET_CUDA, cas = strcmp(kind, "cas") == 0;
    const char *from = dm_help_half(pr, false), *to = dm_help_half(pr, true);
    dm_emit(
        pr->helpers,
        "%s half %s(half *at, %shalf y)\n{\n"
        "    unsigned int *word = (unsigned int *)((unsigned long long)at & ~3ull);\n"
        "    const unsigned int shift = ((unsigned long long)at & 2ull) != 0 ? 16 : 0;\n"
        "    const float x = %s(y);\n"
        "    unsigned int before = *word;\n"
        "    for (;;) {\n"
        "        half here, next;\n"
        "        here.bits = (unsigned short)(before >> shift);\n"
        "%s"
        "        const float old = %s(here);\n"
        "        (void)old;\n"
        "        next = %s(%s);\n"
        "        const unsigned int after = (before & ~(0xFFFFu << shift)) | (unsigned "
        "int)next.bits << shift;\n"
        "%s"
        "    }\n}\n\n",
        dm_print_qualifier(pr), name, cas ? "half expected, " : "", from,
        cas ? "        if (here.bits != expected.bits)\n            return here;\n" : "", from, to,
        new_value(kind, true, true),
        cuda ? "        const unsigned int seen = atomicCAS(word, before, after);\n"
               "        if (seen == before)\n            return here;\n        before = seen;\n"
             : "        if (__atomic_compare_exchange_n(word, &before, after, 1, __ATOMIC_RELAXED, "
               "__ATOMIC_RELAXED))\n            return here;\n");
}

/* One instruction where there is one. */
static bool atomic_simple(dm_printer *pr, const char *name, const char *kind, const dm_type *type)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA, is_float = dm_type_is_float(type);
    const char *c = type->c_name;
    dm_buffer *out = pr->helpers;
    if (cuda && strcmp(kind, "add") == 0) {
        bool plain = type->scalar != DM_I64;
        dm_emit(out, "static __device__ inline %s %s(%s *at, %s x)\n{\n    return ", c, name, c, c);
        if (plain)
            dm_buffer_puts(out, "atomicAdd(at, x);\n}\n\n");
        else
            dm_buffer_puts(
                out,
                "(long long)atomicAdd((unsigned long long *)at, (unsigned long long)x);\n}\n\n");
        return true;
    }
    if (!cuda && !is_float &&
        (strcmp(kind, "add") == 0 || strcmp(kind, "sub") == 0 || strcmp(kind, "and") == 0 ||
         strcmp(kind, "or") == 0 || strcmp(kind, "xor") == 0 || strcmp(kind, "exch") == 0)) {
        dm_emit(out,
                "static inline %s %s(%s *at, %s x)\n{\n    return __atomic_%s%s(at, x, "
                "__ATOMIC_RELAXED);\n}\n\n",
                c, name, c, c, kind[0] == 'e' ? "exchange" : "fetch_",
                kind[0] == 'e' ? "_n" : kind);
        return true;
    }
    return false;
}

static void atomic_cas(dm_printer *pr, const char *name, const dm_type *type)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA,
         wide = dm_scalar_bytes((dm_scalar)type->scalar) == 8;
    const char *c = type->c_name, *word = wide ? "unsigned long long" : "unsigned int";
    dm_emit(
        pr->helpers,
        "%s %s %s(%s *at, %s expected, %s x)\n{\n"
        "    union { %s value; %s bits; } before, after;\n"
        "    before.value = expected;\n    after.value = x;\n%s    return before.value;\n}\n\n",
        dm_print_qualifier(pr), c, name, c, c, c, c, word,
        cuda
            ? dm_lang_format(pr->lang,
                             "    before.bits = atomicCAS((%s *)at, before.bits, after.bits);\n",
                             word)
            : dm_lang_format(
                  pr->lang,
                  "    __atomic_compare_exchange_n((%s *)(void *)at, &before.bits, after.bits, 0,\n"
                  "                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);\n",
                  word));
}

const char *dm_help_atomic(dm_printer *pr, const char *kind, const dm_type *type)
{
    static const char *const names[] = {"atomic_add", "atomic_sub",  "atomic_min",
                                        "atomic_max", "atomic_and",  "atomic_or",
                                        "atomic_xor", "atomic_exch", "atomic_cas"};
    int number = 0;
    while (strcmp(names[number] + 7, kind) != 0)
        number++;
    dm_helper *h = dm_helper_find(pr, type->helpers, HELP_ATOMIC + number, NULL);
    if (h == NULL)
        h = dm_helper_add(pr, &((dm_type *)type)->helpers, type->own, HELP_ATOMIC + number, NULL,
                          names[number], type->suffix);
    dm_making making;
    pr->uses_math = true;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name, *c = dm_print_type(pr, type);
    if (type->kind == DM_TYPE_STRUCT || type->kind == DM_TYPE_TUPLE) {
        /* Only adding gradients: the fields that hold floats. */
        dm_buffer *text = dm_text_open(pr->lang);
        for (int i = 0; i < type->field_count; i++)
            if (type->fields[i].type->floats)
                dm_emit(text, "    %s(&at->%s, x.%s);\n",
                        dm_help_atomic(pr, kind, type->fields[i].type), type->fields[i].c_name,
                        type->fields[i].c_name);
        dm_emit(pr->helpers, "%s void %s(%s *at, %s x)\n{\n%s}\n\n", dm_print_qualifier(pr), name,
                c, c, dm_buffer_text(text));
        dm_text_close(pr->lang, 1);
        return dm_helper_end(pr);
    }
    if (dm_type_is_numeric(type)) {
        const char *part =
            dm_help_atomic(pr, kind, dm_type_scalar(pr->lang, (dm_scalar)type->scalar));
        bool cas = strcmp(kind, "cas") == 0;
        dm_emit(pr->helpers,
                "%s %s %s(%s *at, %s%s x)\n{\n    %s r;\n    for (int i = 0; i < %d; i++)\n"
                "        r.c[i] = %s(&at->c[i], %sx.c[i]);\n    return r;\n}\n\n",
                dm_print_qualifier(pr), c, name, c,
                cas ? dm_lang_format(pr->lang, "%s expected, ", c) : "", c, c,
                dm_type_components(type), part, cas ? "expected.c[i], " : "");
        return dm_helper_end(pr);
    }
    if (type->scalar == DM_F16)
        atomic_half(pr, name, kind);
    else if (strcmp(kind, "cas") == 0)
        atomic_cas(pr, name, type);
    else if (!atomic_simple(pr, name, kind, type))
        atomic_loop(pr, name, kind, type);
    return dm_helper_end(pr);
}
