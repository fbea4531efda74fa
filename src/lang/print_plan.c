/* SPDX-License-Identifier: MIT */
/* print_plan.c - which values become part of an expression, which get a variable, and the
 * variables' names. A value with a name of the source gets a variable of that name; a temporary is
 * written where it is used when that is once, in the same block, and nothing in between changes
 * what it reads. A variable is used again for the next value of the same thing (a loop's carried
 * value, a changed component) when the old value is not needed any more. */
#include "lang/builtins.h"
#include "lang/print.h"

#include "base/hash.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

struct dm_name_set {
    const char **names; /* hash table of interned names */
    int *next;          /* the number to try next for each */
    int count, capacity;
};

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

static int set_slot(const struct dm_name_set *set, const char *name)
{
    int mask = set->capacity - 1, slot = (int)(((uintptr_t)name >> 3) & (uintptr_t)mask);
    while (set->names[slot] != NULL && set->names[slot] != name)
        slot = (slot + 1) & mask;
    return slot;
}

static int set_add(dm_lang *lang, struct dm_name_set *set, const char *name)
{
    if (set->count * 2 >= set->capacity) {
        struct dm_name_set larger = {.capacity = set->capacity == 0 ? 32 : set->capacity * 2,
                                     .count = set->count};
        larger.names = dm_lang_alloc_array(lang, (size_t)larger.capacity, sizeof(char *));
        larger.next = dm_lang_alloc_array(lang, (size_t)larger.capacity, sizeof(int));
        for (int i = 0; i < set->capacity; i++) {
            if (set->names[i] == NULL)
                continue;
            int slot = set_slot(&larger, set->names[i]);
            larger.names[slot] = set->names[i];
            larger.next[slot] = set->next[i];
        }
        *set = larger;
    }
    int slot = set_slot(set, name);
    if (set->names[slot] == NULL) {
        set->names[slot] = name;
        set->count++;
    }
    return slot;
}

static bool set_has(const struct dm_name_set *set, const char *name)
{
    return set != NULL && set->capacity > 0 && set->names[set_slot(set, name)] != NULL;
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

static const char *fresh(dm_printer *pr, struct dm_name_set *set, const char *wanted)
{
    dm_lang *lang = pr->lang;
    const dm_lang_name *known = dm_lang_name_of(wanted);
    if (known->in_c == DM_NAME_NOT_SEEN)
        dm_print_name_in_c((dm_lang_name *)known);
    if (known->in_c == DM_NAME_TAKEN)
        wanted = changed(lang, wanted);
    const char *name = wanted;
    if (set_has(set, name) || set_has(pr->globals, name)) {
        int slot = set_add(lang, set, wanted);
        do {
            name =
                dm_lang_intern_text(lang, dm_lang_format(lang, "%s_%d", wanted, ++set->next[slot]));
        } while (set_has(set, name) || set_has(pr->globals, name));
    }
    set_add(lang, set, name);
    return name;
}

const char *dm_print_fresh(dm_printer *pr, const char *wanted)
{
    return fresh(pr, pr->locals, wanted);
}

struct dm_name_set *dm_print_names(dm_lang *lang)
{
    return dm_lang_alloc(lang, sizeof(struct dm_name_set));
}

const char *dm_print_global(dm_printer *pr, const char *wanted)
{
    return fresh(pr, pr->globals, wanted);
}

/* ---- Planning ---- */

/* An operation that writes memory or a slot. */
typedef struct written {
    int number;
    dm_val slot; /* or tape; NONE: memory */
} written;

typedef struct planner {
    dm_printer *pr;
    const dm_ir_function *f;
    dm_plan *plan;
    int block_count, op_count;
    written *writes;
    int write_count, write_capacity;
    const dm_ir_op **ends; /* the ends of blocks that hand values over */
    int end_count, end_capacity;
} planner;

static bool reads_memory(const dm_ir_op *op)
{
    if (op->kind != DM_IR_CALL)
        return op->kind == DM_IR_INVOKE || dm_ir_infos[op->kind].effect == DM_IR_READS;
    for (int i = 0; op->row->may_read && i < op->row->param_count; i++)
        if (op->bind->args[i]->kind == DM_TYPE_ARRAY)
            return true;
    return false;
}

static void count_block(planner *p, const dm_ir_block *block, const dm_ir_op *loop);

/* The kinds that count_kind has something to do for. */
#define COUNTED                                                                                    \
    (DM_IR_NESTS | DM_IR_BIT(INSERT) | DM_IR_BIT(SETFIELD) | DM_IR_BIT(TID) | DM_IR_BIT(SET) |     \
     DM_IR_BIT(ADD) | DM_IR_BIT(RECORD) | DM_IR_BIT(INVOKE) | DM_IR_BIT(STORE) |                   \
     DM_IR_BIT(ATOMIC))

static void change(planner *p, const dm_val *values, int count)
{
    for (int i = 0; i < count; i++)
        p->plan[values[i]].changes = true;
}

/* What operations of each kind say about the plan besides using their arguments. */
static void count_kind(planner *p, dm_ir_op *op, const dm_ir_op *loop, int at)
{
    dm_val slot = DM_VAL_NONE;
    switch (op->kind) {
    case DM_IR_IF:
        count_block(p, op->blocks[0], loop);
        count_block(p, op->blocks[1], loop);
        for (int k = 0; k < 2; k++) {
            const dm_ir_op *end = dm_ir_terminator(op->blocks[k]);
            if (end != NULL && end->kind == DM_IR_YIELD)
                change(p, end->args, end->arg_count);
        }
        return;
    case DM_IR_FOR:
        count_block(p, op->blocks[0], op);
        change(p, op->args + 3, op->arg_count - 3);
        return;
    case DM_IR_WHILE:
        count_block(p, op->blocks[0], op);
        count_block(p, op->blocks[1], op);
        change(p, op->args, op->arg_count);
        return;
    case DM_IR_INSERT:
    case DM_IR_SETFIELD:
        p->plan[op->args[0]].changes = p->plan[op->result].changes = true;
        return;
    case DM_IR_TID:
        ((dm_ir_function *)p->f)->tid_used[op->index] = true;
        return;
    case DM_IR_SET:
    case DM_IR_ADD:
    case DM_IR_RECORD:
        slot = op->args[0];
        break;
    case DM_IR_INVOKE:
        if (!op->callee->has_effects)
            return;
        break;
    case DM_IR_STORE: /* gradients are not read by anything that could be moved */
    case DM_IR_ATOMIC:
        break;
    default:
        return;
    }
    written made = {.number = at, .slot = slot};
    DM_LANG_PUSH(p->pr->lang, p->writes, p->write_count, p->write_capacity, made);
}

/* First walk: number the operations, count uses, note writes and variables that change. */
static void count_block(planner *p, const dm_ir_block *block, const dm_ir_op *loop)
{
    int number = ++p->block_count;
    for (int i = 0; i < block->param_count; i++) {
        dm_plan *plan = &p->plan[block->params[i]];
        plan->def_block = number;
        plan->loop = loop;
    }
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        int at = p->op_count++;
        for (int r = 0; r < op->result_count; r++) {
            dm_plan *plan = &p->plan[op->result + r];
            plan->def_block = number;
            plan->def_number = at;
            plan->loop = loop;
        }
        for (int a = 0; a < op->arg_count; a++) {
            if (op->args[a] == DM_VAL_NONE)
                continue;
            dm_plan *plan = &p->plan[op->args[a]];
            plan->use_block = plan->uses == 0 || plan->use_block == number ? number : 0;
            plan->uses++;
            plan->last = at;
        }
        op->inside = 0;
        if (dm_ir_is_in(COUNTED, op->kind)) {
            count_kind(p, op, loop, at);
            op->inside = p->op_count - at - 1;
        }
    }
    const dm_ir_op *end = block->count > 0 ? block->ops[block->count - 1] : NULL;
    if (end != NULL && end->arg_count > 0 && dm_ir_is_terminator(end->kind))
        DM_LANG_PUSH_POINTER(p->pr->lang, p->ends, p->end_count, p->end_capacity, end);
}

/* The first write behind a number. */
static int first_write(const planner *p, int number)
{
    int low = 0, high = p->write_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (p->writes[middle].number <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is what `op` reads written between two numbers? */
static bool written_between(const planner *p, const dm_ir_op *op, int from, int to)
{
    bool slot = op->kind == DM_IR_GET || op->kind == DM_IR_RECALL;
    dm_val which = slot ? op->args[0] : DM_VAL_NONE;
    int at = first_write(p, from);
    for (int steps = 0; at < p->write_count && p->writes[at].number < to; at++) {
        if (p->writes[at].slot == which)
            return true;
        if (++steps > 64)
            return true; /* far apart: a variable is as good */
    }
    return false;
}

/* Written wherever they are used, and never. */
#define CHEAP (DM_IR_BIT(CONST) | DM_IR_BIT(TEXT) | DM_IR_BIT(DIM) | DM_IR_BIT(SHAPE))
#define VARIABLES                                                                                  \
    (DM_IR_BIT(ZERO) | DM_IR_BIT(GRAD) | DM_IR_BIT(INSERT) | DM_IR_BIT(SETFIELD))

/* Second walk, backwards: users are decided before what they use. */
static void decide_block(planner *p, const dm_ir_block *block, int *number);

static bool is_expression_if(const planner *p, const dm_ir_op *op)
{
    if (op->kind != DM_IR_IF || op->result_count != 1 || p->plan[op->result].uses != 1 ||
        op->path != NULL)
        return false;
    for (int k = 0; k < 2; k++) {
        const dm_ir_block *block = op->blocks[k];
        if (block == NULL || block->count == 0 || block->ops[block->count - 1]->kind != DM_IR_YIELD)
            return false;
        for (int i = 0; i + 1 < block->count; i++) {
            const dm_ir_op *inner = block->ops[i];
            if (inner->result_count != 1 || !p->plan[inner->result].inlined)
                return false;
        }
    }
    return true;
}

/* Is the operation part of the expression that uses its result? */
static bool is_inlined(const planner *p, const dm_ir_op *op, const dm_plan *plan, int end)
{
    if (dm_ir_is_in(CHEAP, op->kind))
        return true;
    bool once = plan->uses == 1 && plan->use_block == plan->def_block;
    dm_ir_effect effect = dm_ir_infos[op->kind].effect;
    if (!once || dm_ir_is_in(VARIABLES, op->kind))
        return false;
    if (p->f->values[op->result].name != NULL && !(p->f->is_backward && effect == DM_IR_PURE))
        return false;
    if (op->kind == DM_IR_IF) {
        static const dm_ir_op load = {.kind = DM_IR_LOAD};
        return is_expression_if(p, op) && !written_between(p, &load, end, plan->last);
    }
    if (effect != DM_IR_PURE && effect != DM_IR_READS &&
        !(op->kind == DM_IR_INVOKE && !op->callee->has_effects))
        return false;
    return !reads_memory(op) || !written_between(p, op, end, plan->last);
}

static void decide_op(planner *p, const dm_ir_op *op, int at, int end)
{
    int last = at;
    if (op->result_count == 1) {
        dm_plan *plan = &p->plan[op->result];
        plan->inlined = is_inlined(p, op, plan, end);
        if (plan->inlined)
            last = plan->last;
    }
    assert(op->arg_count == 0 || op->args != NULL);
    if (last == at && op->kind != DM_IR_FOR)
        return; /* as count_block has it */
    /* A loop's bounds are asked for in each round. */
    for (int a = 0; a < op->arg_count; a++) {
        dm_val v = op->args[a];
        int until = op->kind == DM_IR_FOR && a < 3 ? end : last;
        if (v != DM_VAL_NONE && p->plan[v].last < until)
            p->plan[v].last = until;
    }
}

static void decide_block(planner *p, const dm_ir_block *block, int *number)
{
    for (int i = block->count - 1; i >= 0; i--) {
        const dm_ir_op *op = block->ops[i];
        int end = *number;
        for (int k = 1; k >= 0; k--)
            if (op->blocks[k] != NULL)
                decide_block(p, op->blocks[k], number);
        int at = --*number;
        decide_op(p, op, at, end - 1);
    }
}

/* A value is now needed up to `last`, and with it what it is an expression of. */
static void needed_until(planner *p, dm_val v, int last)
{
    if (p->plan[v].last < last)
        p->plan[v].last = last;
    const dm_ir_op *def = p->f->values[v].def;
    if (def != NULL && p->plan[v].inlined && def->blocks[0] == NULL)
        for (int i = 0; i < def->arg_count; i++)
            needed_until(p, def->args[i], last);
}

static bool any_write_between(const planner *p, int from, int to)
{
    int at = first_write(p, from);
    return at < p->write_count && p->writes[at].number < to;
}

/* Third: a value whose only use is the end of its block is written there. */
static void fold_into_end(planner *p, const dm_ir_op *end)
{
    for (int a = 0; a < end->arg_count; a++) {
        dm_val v = end->args[a];
        dm_plan *plan = &p->plan[v];
        const dm_ir_op *def = p->f->values[v].def;
        if (def == NULL || plan->inlined || plan->uses != 1 || def->result_count != 1 ||
            !(dm_ir_infos[def->kind].effect == DM_IR_PURE ||
              (def->kind == DM_IR_INVOKE && !def->callee->has_effects)) ||
            def->kind == DM_IR_INSERT || def->kind == DM_IR_SETFIELD || def->kind == DM_IR_ZERO ||
            plan->use_block != plan->def_block ||
            any_write_between(p, plan->def_number, plan->last))
            continue;
        plan->inlined = true;
        needed_until(p, v, plan->last);
    }
}

void dm_print_plan(dm_printer *pr, const dm_ir_function *f)
{
    dm_lang *lang = pr->lang;
    planner p = {.pr = pr, .f = f};
    p.plan = dm_lang_alloc_array(lang, (size_t)f->value_count + 1, sizeof *p.plan);
    count_block(&p, f->body, NULL);
    int number = p.op_count;
    decide_block(&p, f->body, &number);
    for (int i = p.end_count - 1; i >= 0; i--) /* outer ones first */
        fold_into_end(&p, p.ends[i]);
    pr->f = f;
    pr->plan = p.plan;
    pr->locals = dm_lang_alloc(lang, sizeof *pr->locals);
}
