/* SPDX-License-Identifier: MIT */
/* print_name.c - names in C for what has one in the source, or none: not C's or CUDA's own, and
 * each once in its function and in its text. Which names are taken is noted by stamps in a table
 * that all texts of a workspace use, so that nothing is cleared or searched. */
#include "lang/common.h"
#include "lang/emit/print.h"

#include <pthread.h>
#include <string.h>

/* ---- Names that are taken everywhere ---- */

static const char *const reserved[] = {
    "_Bool",
    "abs",
    "acos",
    "acosh",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asin",
    "asinh",
    "asm",
    "atan",
    "atan2",
    "atanh",
    "atomicAdd",
    "atomicCAS",
    "atomicExch",
    "auto",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "catch",
    "cbrt",
    "ceil",
    "char",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "copysign",
    "cos",
    "cosh",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "erf",
    "erfc",
    "exit",
    "exp",
    "exp2",
    "explicit",
    "expm1",
    "export",
    "extern",
    "fabs",
    "fabsf",
    "false",
    "fdim",
    "float",
    "floor",
    "fma",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "for",
    "free",
    "friend",
    "gamma",
    "goto",
    "gridDim",
    "half",
    "hypot",
    "if",
    "index",
    "inline",
    "int",
    "isfinite",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "long",
    "lrint",
    "lround",
    "main",
    "malloc",
    "max",
    "memcpy",
    "memset",
    "min",
    "modf",
    "mutable",
    "namespace",
    "nan",
    "new",
    "noexcept",
    "norm",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "pow",
    "printf",
    "private",
    "protected",
    "public",
    "puts",
    "rand",
    "register",
    "reinterpret_cast",
    "remainder",
    "restrict",
    "return",
    "rint",
    "rnorm",
    "round",
    "scalbn",
    "short",
    "signbit",
    "signed",
    "sin",
    "sincos",
    "sinh",
    "sizeof",
    "sqrt",
    "static",
    "static_assert",
    "static_cast",
    "strlen",
    "struct",
    "switch",
    "tan",
    "tanh",
    "template",
    "tgamma",
    "this",
    "thread_local",
    "threadIdx",
    "throw",
    "time",
    "true",
    "trunc",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unix",
    "linux",
    "unsigned",
    "using",
    "uint",
    "virtual",
    "void",
    "volatile",
    "warpSize",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "y0",
    "y1",
    "yn",
    "ushort",
    "ulong",
    "int2",
    "int3",
    "int4",
    "float2",
    "float3",
    "float4",
    "double2",
    "double3",
    "double4",
    "uint2",
    "uint3",
    "uint4",
    "dim",
    "dim3",
    "NULL",
    "INFINITY",
    "NAN",
    "HUGE_VAL",
    "M_PI",
    "M_E",
    "I",
    "stdin",
    "stdout",
    "stderr",
    "EOF",
    "div",
    "ldiv",
    "drem",
    "significand",
    "sinf",
    "cosf",
    "expf",
    "logf",
    "sqrtf",
    "powf",
    "task",
    "args",
    "first",
    "last",
    "count",
    "uint64_t",
    "assert",
    "fault",
    "bounds_record",
    "bounds_exit",
    "bounds_fail",
    "bounds_component",
    "bounds_fault",
    "setjmp",
    "longjmp",
    "jmp_buf",
    "tid0",
    "tid1",
    "tid2",
    "tid3",
};

#define RESERVED_SLOTS 1024u
static const char *reserved_slots[RESERVED_SLOTS];
static pthread_once_t reserved_once = PTHREAD_ONCE_INIT;

static uint32_t reserved_hash(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash & (RESERVED_SLOTS - 1);
}

static void fill_reserved(void)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        uint32_t slot = reserved_hash(reserved[i]);
        while (reserved_slots[slot] != NULL)
            slot = (slot + 1) & (RESERVED_SLOTS - 1);
        reserved_slots[slot] = reserved[i];
    }
}

static bool is_reserved(const char *name)
{
    pthread_once(&reserved_once, fill_reserved);
    uint32_t slot = reserved_hash(name);
    for (; reserved_slots[slot] != NULL; slot = (slot + 1) & (RESERVED_SLOTS - 1))
        if (strcmp(reserved_slots[slot], name) == 0)
            return true;
    return false;
}

/* Only letters, digits and '_': others become their code. */
static const char *plain(dm_lang *lang, const char *name)
{
    bool fine = true;
    for (const char *p = name; *p != '\0'; p++)
        fine &= (unsigned char)*p < 0x80;
    if (fine)
        return name;
    const char *text = "u";
    for (const char *p = name; *p != '\0'; p++)
        text = (unsigned char)*p < 0x80 ? dm_lang_format(lang, "%s%c", text, *p)
                                        : dm_lang_format(lang, "%s%02x", text, (unsigned char)*p);
    return dm_lang_intern_text(lang, text);
}

void dm_print_name_in_c(dm_lang_name *name)
{
    /* Two underscores and a leading one before a capital are the compiler's. */
    bool taken =
        is_reserved(name->text) || strstr(name->text, "__") != NULL || name->text[0] == '_';
    for (const char *p = name->text; *p != '\0'; p++)
        taken |= (unsigned char)*p >= 0x80;
    name->in_c = taken ? DM_NAME_TAKEN : DM_NAME_FINE;
}

/* Another name where C does not take the wanted one. */
static const char *changed(dm_lang *lang, const char *wanted)
{
    wanted = plain(lang, wanted);
    if (!is_reserved(wanted) && strstr(wanted, "__") == NULL && wanted[0] != '_')
        return wanted;
    const char *text = wanted;
    while (*text == '_')
        text++;
    char *copy = dm_lang_format(
        lang, "%s_",
        *text == '\0' || (*text >= '0' && *text <= '9') ? dm_lang_format(lang, "v%s", text) : text);
    for (char *p; (p = strstr(copy, "__")) != NULL;)
        memmove(p, p + 1, strlen(p));
    return dm_lang_intern_text(lang, copy);
}

/* ---- Names that are taken here ---- */

typedef enum where { FUNCTION, TEXT } where;

/* What a workspace notes about a name. */
struct dm_name_mark {
    uint32_t taken[2];     /* stamps of the last function and of the last text that have it */
    int next[2];           /* there: the number to try next behind it */
    uint32_t helper;       /* the stamp of the last text with a helper of this name */
    int count;             /* of `numbered` */
    const char **numbered; /* name_1, name_2 ... */
};

static struct dm_name_mark *mark_of(dm_printer *pr, const char *name)
{
    dm_kept *kept = pr->lang->kept;
    uint32_t number = dm_lang_name_of(name)->number;
    if (number >= kept->mark_capacity) {
        uint32_t capacity = number + number / 2 + 64;
        struct dm_name_mark *larger = dm_lang_keep(pr->lang, capacity * sizeof *larger);
        if (kept->mark_capacity > 0)
            memcpy(larger, kept->marks, kept->mark_capacity * sizeof *larger);
        kept->marks = larger;
        kept->mark_capacity = capacity;
    }
    return &kept->marks[number];
}

/* name_n. The first few are kept. */
static const char *numbered(dm_printer *pr, const char *name, int n)
{
    enum { KEPT = 64 };
    struct dm_name_mark *mark = mark_of(pr, name);
    if (n <= mark->count)
        return mark->numbered[n - 1];
    const char *made = dm_lang_intern_text(pr->lang, dm_lang_format(pr->lang, "%s_%d", name, n));
    mark = mark_of(pr, name); /* the table may have moved */
    if (n == mark->count + 1 && n <= KEPT) {
        if ((mark->count & (mark->count - 1)) == 0) { /* full: 0, 1, 2, 4 ... */
            const char **larger =
                dm_lang_keep(pr->lang, (size_t)(mark->count * 2 + 1) * sizeof *larger);
            if (mark->count > 0)
                memcpy(larger, mark->numbered, (size_t)mark->count * sizeof *larger);
            mark->numbered = larger;
        }
        mark->numbered[mark->count++] = made;
    }
    return made;
}

static uint32_t stamp_of(const dm_printer *pr, where place)
{
    return place == TEXT ? pr->stamp : pr->function_stamp;
}

static bool is_taken(dm_printer *pr, where place, const char *name)
{
    const struct dm_name_mark *mark = mark_of(pr, name);
    return mark->taken[TEXT] == pr->stamp || mark->taken[place] == stamp_of(pr, place);
}

static struct dm_name_mark *take(dm_printer *pr, where place, const char *name)
{
    struct dm_name_mark *mark = mark_of(pr, name);
    if (mark->taken[place] != stamp_of(pr, place)) {
        mark->taken[place] = stamp_of(pr, place);
        mark->next[place] = 0;
    }
    return mark;
}

static const char *fresh(dm_printer *pr, where place, const char *wanted)
{
    const dm_lang_name *known = dm_lang_name_of(wanted);
    if (known->in_c == DM_NAME_NOT_SEEN)
        dm_print_name_in_c((dm_lang_name *)known);
    if (known->in_c == DM_NAME_TAKEN)
        wanted = changed(pr->lang, wanted);
    const char *name = wanted;
    while (is_taken(pr, place, name))
        name = numbered(pr, wanted, ++take(pr, place, wanted)->next[place]);
    take(pr, place, name);
    return name;
}

const char *dm_print_fresh(dm_printer *pr, const char *wanted)
{
    return fresh(pr, FUNCTION, wanted);
}

const char *dm_print_global(dm_printer *pr, const char *wanted)
{
    return fresh(pr, TEXT, wanted);
}

bool dm_print_is_helper(dm_printer *pr, const char *name)
{
    return mark_of(pr, name)->helper == pr->stamp;
}

void dm_print_note_helper(dm_printer *pr, const char *name)
{
    mark_of(pr, name)->helper = pr->stamp;
}
