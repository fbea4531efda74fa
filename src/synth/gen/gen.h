/* SPDX-License-Identifier: MIT */
/* gen.h - the state of a kernel being generated: what the files of the generator share.
 *
 * Expressions are small trees of nodes that live until their statement is written. Every node knows
 * the range of its components and two sets of the kernel's inputs: those that it surely depends on,
 * and those that it surely has a gradient to. An operation that may lose either (a floor, a branch)
 * removes them from the set, and before an output is written missing inputs are added to its value
 * (dm_gen_complete). So outputs are finite and depend on every input by construction. */
#ifndef DM_SYNTH_GEN_H
#define DM_SYNTH_GEN_H

#include "base/arena.h"
#include "base/philox.h"
#include "synth/gen/generate.h"
#include "synth/gen/text.h"
#include "synth/gen/type.h"
#include "synth/natural/natural.h"

#include <string.h>

typedef enum dm_gen_op {
#define OP(name, form, text, level, masks) DM_GEN_OP_##name,
#include "synth/gen/ops.def"
#undef OP
    DM_GEN_OP_COUNT
} dm_gen_op;

#define DM_GEN_KIDS_MAX 16
#define DM_GEN_NODES_MAX 1024
#define DM_GEN_VARIABLES_MAX 96
#define DM_GEN_FIXED_MAX 32 /* of them: parameters, their fields, coordinates */
#define DM_GEN_PARAMS_MAX 16
#define DM_GEN_FUNCTIONS_MAX 3
#define DM_GEN_FIELDS_MAX 6
#define DM_GEN_RANDOM_WORDS 16
#define DM_GEN_SIZE_MOST 64  /* ranges hold for arrays up to this */
#define DM_GEN_ARGUMENT 2.5f /* functions are made for arguments of at most this */

/* From the least to the largest value of any component. */
typedef struct dm_gen_span {
    float low, high;
} dm_gen_span;

/* Sets of inputs, a bit each: those that a value surely depends on; those it has a gradient to; those
 * that are terms of it, added or subtracted, and could be cancelled by another term. The upper halves
 * of plus and minus are for variables as terms, a bit for several of them. */
typedef struct dm_gen_masks {
    uint32_t depends, live;
    uint32_t plus, minus;
} dm_gen_masks;
#define DM_GEN_NOTHING ((dm_gen_masks){0, 0, 0, 0})

typedef struct dm_gen_node {
    uint8_t op; /* dm_gen_op */
    dm_gen_type type;
    uint8_t count;   /* of operands */
    uint8_t style;   /* of OTHER forms: which spelling, which component */
    int16_t kids[4]; /* the first four; MAKE of matrices has more in gen->more */
    int16_t more;    /* where kids 4.. are; -1 */
    dm_gen_span span;
    dm_gen_masks masks;
    bool stuck;              /* may be one number for all inputs: a floor, a clamp */
    bool constant;           /* made of numbers alone */
    bool uneven;             /* components depend on different inputs, or are zero */
    bool unit;               /* a vector of length 1 */
    float gain;              /* what scaling has left of its slopes, 1 at most */
    const dm_gen_text *name; /* NAME, LOAD, EXTENT, USER */
    int number;              /* CONSTANT: thousandths of a float, or the integer */
} dm_gen_node;

typedef struct dm_gen_variable {
    const dm_gen_text *name;
    dm_gen_type type;
    bool used;
    bool hidden;              /* not to be read now: an accumulator in its loop */
    bool fixed;               /* not to be changed: a parameter, a loop's counter */
    bool index;               /* any array can be indexed with it */
    bool state;               /* of random numbers */
    bool stuck, uneven, unit; /* as of a node */
    float gain;
    dm_gen_span span;
    dm_gen_masks masks;
} dm_gen_variable;

typedef struct dm_gen_param {
    const dm_gen_text *name;
    dm_gen_type type; /* of the elements of an array; structs have the kernel's scalar */
    int dimensions;   /* 0: no array */
    bool output;
} dm_gen_param;

typedef struct dm_gen_function {
    const dm_gen_text *name;
    dm_gen_type result, params[4];
    int param_count;
    dm_gen_span span;
    uint32_t depends, live; /* a bit for each of its parameters */
    bool used;
    float gain;
} dm_gen_function;

typedef struct dm_gen_struct {
    const dm_gen_text *name; /* NULL: there is none */
    const dm_gen_text *fields[DM_GEN_FIELDS_MAX];
    dm_gen_type types[DM_GEN_FIELDS_MAX];
    int count;
} dm_gen_struct;

/* The variables in scope in a kernel's or function's body. Those that last as long as the body come
 * first, then a gap; locals start at DM_GEN_FIXED_MAX and are dropped when their block ends. */
typedef struct dm_gen_frame {
    dm_gen_variable variables[DM_GEN_VARIABLES_MAX];
    int count, fixed_count;
    bool kernel;
    uint32_t inputs; /* parameters that outputs must depend on */
    int rank;        /* of the launch */
    int loop_depth;
    int block_depth; /* of blocks, for indentation */
    int block_first; /* the first variable of the innermost block */
} dm_gen_frame;

/* How much of what a category wants; category.c has a row for each. */
typedef struct dm_gen_recipe {
    uint8_t rank[4];                                                 /* of the launch: 1 to 4 */
    uint8_t shapes[DM_GEN_QUAT + 1];                                 /* of values */
    uint8_t arithmetic, math, vector, matrix, select, call, integer; /* operations */
    uint8_t assign, loop, while_, branch, augment, component, draw;  /* statements */
    uint8_t arrays, scalars;                                         /* inputs, at most about */
    uint8_t integers;           /* percent of kernels without floats */
    uint8_t functions, structs; /* percent of kernels with some */
    uint8_t neighbours;         /* percent of loads from beside the thread's element */
    uint8_t indirect;           /* percent of loads through an array of indices */
    uint8_t atomics;            /* percent of kernels that write with atomics */
    uint8_t least;              /* statements */
} dm_gen_recipe;

/* What a name is for (vocabulary.c). */
typedef enum dm_gen_role {
    DM_GEN_ROLE_FLOATS, /* arrays */
    DM_GEN_ROLE_VECTORS,
    DM_GEN_ROLE_MATRICES,
    DM_GEN_ROLE_INTEGERS,
    DM_GEN_ROLE_INDICES,
    DM_GEN_ROLE_SCALAR, /* parameters */
    DM_GEN_ROLE_COUNT,
    DM_GEN_ROLE_OUTPUT,
    DM_GEN_ROLE_LOCAL,
    DM_GEN_ROLE_LOCAL_VECTOR,
    DM_GEN_ROLE_LOCAL_MATRIX,
    DM_GEN_ROLE_LOCAL_INTEGER,
    DM_GEN_ROLE_TOTAL,
    DM_GEN_ROLE_FUNCTION,
    DM_GEN_ROLE_STRUCT,
    DM_GEN_ROLE_FIELD,
    DM_GEN_ROLE_ARGUMENT,
    DM_GEN_ROLE_CONSTANT,
    DM_GEN_ROLE_VERB,
    DM_GEN_ROLE_NOUN,
    DM_GEN_ROLE_KINDS
} dm_gen_role;

#define DM_GEN_WORDS_MAX 48 /* of a role */
#define DM_GEN_POOL_MAX 128

/* Fixed weights, as running sums: a random number below their total chooses the first whose sum is
 * above it. */
#define DM_GEN_ODDS_MAX 32
typedef struct dm_gen_odds {
    int sums[DM_GEN_ODDS_MAX]; /* those behind the last weight are INT_MAX */
    int total;
} dm_gen_odds;

/* Lists of operations that are as common as the profile says. */
typedef enum dm_gen_operations {
    DM_GEN_OPERATORS, /* of floats */
    DM_GEN_FUNCTIONS,
    DM_GEN_INTEGERS,
    DM_GEN_OF_VECTORS, /* a number out of vectors */
    DM_GEN_OPERATIONS
} dm_gen_operations;

struct dm_synth_generator {
    const dm_synth_profile *profile;
    dm_natural *natural; /* NULL: the random style */
    dm_gen_odds operations[DM_GEN_OPERATIONS], scalars, lines, parameters,
        sizes; /* the profile's */
    const dm_gen_recipe *recipe;
    dm_synth_category category;

    /* Random numbers: Philox in counter mode. */
    uint64_t key, stream;
    uint64_t counter;
    uint32_t words[DM_GEN_RANDOM_WORDS]; /* made together; the last is taken first */
    int words_left;

    dm_gen_node nodes[DM_GEN_NODES_MAX];
    int node_count;
    int16_t more[DM_GEN_NODES_MAX];
    int more_count;

    dm_gen_frame kernel, function;
    dm_gen_frame *frame; /* the one of the two that is grown */
    dm_gen_param params[DM_GEN_PARAMS_MAX];
    int param_count, array_limit, scalar_limit, array_count, scalar_count;
    dm_gen_function functions[DM_GEN_FUNCTIONS_MAX];
    int function_count;
    dm_gen_struct structure;
    int scalar;         /* the kernel's own kind of float, DM_GEN_F32 mostly, or DM_GEN_I32 */
    int budget;         /* lines that the body may still have, its outputs not counted */
    int output_count;   /* that there will be */
    bool output_struct; /* the first of them is a struct */
    bool structured;    /* the next statement is a loop or a branch */
    float cap;          /* values stay below this */
    int call_depth;     /* of calls in arguments of calls */
    bool guarded;       /* not all threads go on */
    bool has_neighbour; /* an element beside the thread's own was read */
    bool has_parity;    /* some threads do other things than others */
    const dm_gen_text *coordinates[4];
    int first_coordinate; /* among the kernel's variables; the others follow */

    uint8_t uses[DM_GEN_ROLE_KINDS][DM_GEN_WORDS_MAX]; /* of words, in this kernel */
    dm_gen_text pool[DM_GEN_POOL_MAX];                 /* names that are put together */
    int pool_used;
    dm_buffer head, body, *out; /* declarations; the body of the kernel; where statements go */
};

typedef struct dm_synth_generator dm_gen;

/* A frame without variables. What was there stays behind its counts. */
static inline void dm_gen_begin(dm_gen_frame *frame, bool kernel)
{
    frame->count = frame->block_first = DM_GEN_FIXED_MAX;
    frame->fixed_count = 0;
    frame->kernel = kernel;
    frame->inputs = 0;
    frame->rank = frame->loop_depth = frame->block_depth = 0;
}

/* Variables from the newest to the oldest, without the gap: last, before, before ..., -1. */
static inline int dm_gen_last(const dm_gen_frame *frame)
{
    return frame->count > DM_GEN_FIXED_MAX ? frame->count - 1 : frame->fixed_count - 1;
}

static inline int dm_gen_before(const dm_gen_frame *frame, int i)
{
    return i == DM_GEN_FIXED_MAX ? frame->fixed_count - 1 : i - 1;
}

/* From the oldest, 0, to the newest: while below count. */
static inline int dm_gen_after(const dm_gen_frame *frame, int i)
{
    return i + 1 == frame->fixed_count ? DM_GEN_FIXED_MAX : i + 1;
}

/* ---- gen.c: random numbers and names ---- */

void dm_gen_seed(dm_gen *g, uint64_t seed, uint64_t slot, int attempt);
void dm_gen_refill(dm_gen *g);

static inline uint32_t dm_gen_word(dm_gen *g)
{
    if (g->words_left == 0)
        dm_gen_refill(g);
    return g->words[--g->words_left];
}

static inline int dm_gen_below(dm_gen *g, int bound)
{
    return (int)dm_random_below(dm_gen_word(g), (uint32_t)bound);
}

static inline int dm_gen_between(dm_gen *g, int low, int high)
{
    return low + dm_gen_below(g, high - low + 1);
}

static inline bool dm_gen_chance(dm_gen *g, int percent)
{
    return dm_gen_below(g, 100) < percent;
}

/* One of the variables that were listed; NULL when there are none. */
typedef struct dm_gen_list {
    dm_gen_variable *items[DM_GEN_VARIABLES_MAX];
    int count;
} dm_gen_list;
static inline dm_gen_variable *dm_gen_one_of(dm_gen *g, const dm_gen_list *list)
{
    if (list->count < 2)
        return list->count == 0 ? NULL : list->items[0];
    return list->items[dm_gen_below(g, list->count)];
}
/* List it if it fits; without a branch, since which ones fit cannot be predicted. */
static inline void dm_gen_list_add(dm_gen_list *list, dm_gen_variable *variable, bool fits)
{
    list->items[list->count] = variable;
    list->count += fits;
}

/* One of `count`, 32 at most, by weight; -1 when all are 0. Counts are known where it is called, so
 * that its loops have no branches. */
static inline int dm_gen_pick(dm_gen *g, const uint8_t *weights, int count)
{
    int sums[32], total = 0, chosen = 0;
    for (int i = 0; i < count; i++)
        sums[i] = total += weights[i];
    if (total == 0)
        return -1;
    int drawn = dm_gen_below(g, total);
    for (int i = 0; i < count; i++)
        chosen += sums[i] <= drawn;
    return chosen;
}

/* A name that this kernel does not use yet. */
const dm_gen_text *dm_gen_fresh(dm_gen *g, dm_gen_role role);
/* One that is put together. Lives as long as the kernel. */
const dm_gen_text *dm_gen_join(dm_gen *g, const dm_gen_text *first, char between,
                               const dm_gen_text *second);
extern const dm_gen_text *const dm_gen_vocabulary[DM_GEN_ROLE_KINDS];
extern const int dm_gen_vocabulary_count[DM_GEN_ROLE_KINDS];

/* ---- odds.c: choices by the profile ---- */

/* Once, when the profile is known. */
void dm_gen_prepare(dm_gen *g);
int dm_gen_draw_from(dm_gen *g, const dm_gen_odds *odds);
/* For dm_gen_value: as many operations as values in the profile have, one at least. */
int dm_gen_some_size(dm_gen *g);
dm_gen_op dm_gen_some_operation(dm_gen *g, dm_gen_operations list);

/* ---- node.c: making nodes; range.c, facts.c: what is known of them; write.c: their text ---- */

static inline dm_gen_node *dm_gen_at(dm_gen *g, int node)
{
    return &g->nodes[node];
}
int dm_gen_constant(dm_gen *g, int kind, float value);
int dm_gen_name(dm_gen *g, dm_gen_variable *variable); /* reads it: it counts as used */
int dm_gen_unary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a);
int dm_gen_binary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a, int b);
int dm_gen_ternary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a, int b, int c);
int dm_gen_make(dm_gen *g, dm_gen_type type, const int *kids, int count);
int dm_gen_load(dm_gen *g, int param, const int *indices);
int dm_gen_extent(dm_gen *g, int param, int dimension);
int dm_gen_component(dm_gen *g, int node, int which);
int dm_gen_cast(dm_gen *g, int kind, int node);
int dm_gen_identity(dm_gen *g, dm_gen_type type);
int dm_gen_user(dm_gen *g, const dm_gen_function *function, const int *args);
/* Write an expression. */
void dm_gen_write(dm_gen *g, int node);
static inline void dm_gen_put(dm_gen *g, const dm_gen_text *text)
{
    dm_gen_text_put(g->out, text);
}
/* Where `bytes` can be written, for dm_gen_wrote to count; NULL when there is no memory. */
static inline char *dm_gen_room(dm_gen *g, size_t bytes)
{
    dm_buffer *out = g->out;
    bool fits = out->capacity - out->size >= bytes || dm_buffer_reserve(out, bytes);
    return fits ? out->data + out->size : NULL;
}
static inline void dm_gen_wrote(dm_gen *g, const char *end)
{
    g->out->size = (size_t)(end - g->out->data);
}
/* Text as it is; the length of a literal is known while compiling. No NUL behind it. */
static inline void dm_gen_append(dm_gen *g, const char *text, size_t length)
{
    char *to = dm_gen_room(g, length);
    if (to == NULL)
        return;
    memcpy(to, text, length);
    g->out->size += length;
}

static inline void dm_gen_puts(dm_gen *g, const char *text)
{
    dm_gen_append(g, text, strlen(text));
}
/* The indentation of a new line. */
void dm_gen_indent(dm_gen *g);
/* The next statement begins: nodes are free again. */
void dm_gen_next(dm_gen *g);

static inline float dm_gen_most(dm_gen_span span)
{
    return span.high > -span.low ? span.high : -span.low;
}

static inline bool dm_gen_has_zero(dm_gen_span span, float margin)
{
    return span.low < margin && span.high > -margin;
}

/* ---- expression.c: values by type ---- */

/* A value of about `size` operations. */
int dm_gen_value(dm_gen *g, dm_gen_type type, int size);
/* A leaf: a variable, an element, a number. */
int dm_gen_leaf(dm_gen *g, dm_gen_type type);
/* A call of a function; -1 when it takes a struct and there is none. */
int dm_gen_call_of(dm_gen *g, dm_gen_function *function, int size);
/* `certain`: both answers surely occur among the threads. */
int dm_gen_condition(dm_gen *g, int size, bool *certain);
/* The same value as another type, by a dot product, a component, a cast ... */
int dm_gen_adapt(dm_gen *g, int node, dm_gen_type type);
/* Scaled, so that no component is beyond the limit. */
int dm_gen_fit(dm_gen *g, int node, float limit);
/* Two values of a type as one, by a sum, a difference or a product. */
int dm_gen_join_values(dm_gen *g, int a, int b);
/* Make `node` use the variables from `first` on that nothing has used yet. */
int dm_gen_use_all(dm_gen *g, int node, int first);
/* Make it depend on, and have a gradient to, all inputs of the frame. */
int dm_gen_complete(dm_gen *g, int node);

/* ---- input.c: parameters of the kernel and how they are indexed ---- */

int dm_gen_new_array(dm_gen *g, dm_gen_type type, int dimensions, bool output);
dm_gen_variable *dm_gen_new_scalar(dm_gen *g, dm_gen_type type);
/* A variable that lasts as long as the frame; NULL when there is no room. */
dm_gen_variable *dm_gen_new_fixed(dm_gen_frame *frame, const dm_gen_text *name, dm_gen_type type,
                                  dm_gen_span span, dm_gen_masks masks);
/* An element of an input array of this type, of a new one when `fresh`; -1 when there is none. */
int dm_gen_element(dm_gen *g, dm_gen_type type, bool fresh);
/* An element of this array. */
int dm_gen_element_of(dm_gen *g, int param);
/* The thread's own coordinate. */
int dm_gen_coordinate(dm_gen *g, int dimension);
/* An integer that indexes a dimension of an array. */
int dm_gen_index(dm_gen *g, int param, int dimension);
/* A value of an input, whatever its type: an element, the name, a field. */
int dm_gen_input(dm_gen *g, int param);
/* The thread's own element of an output: its text. */
void dm_gen_write_slot(dm_gen *g, int param);

/* ---- statement.c ---- */

dm_gen_variable *dm_gen_new_variable(dm_gen *g, const dm_gen_text *name, dm_gen_type type,
                                     dm_gen_span span, dm_gen_masks masks);
/* Everything that is known of a node is true of the variable now. */
void dm_gen_take(dm_gen_variable *v, const dm_gen_node *n);
/* A local with a value, written; its role follows from the type. */
dm_gen_variable *dm_gen_assign(dm_gen *g, const dm_gen_text *name, int node);
/* One statement that leaves at least one more local. */
void dm_gen_statement(dm_gen *g, int size);
/* A local with a random number; false when there is no state. */
bool dm_gen_draw(dm_gen *g);
/* A kind of value that the recipe likes. */
dm_gen_type dm_gen_some_type(dm_gen *g);
dm_gen_role dm_gen_local_role(dm_gen_type type);

/* ---- declare.c: functions and structs ---- */

void dm_gen_declare_function(dm_gen *g);
void dm_gen_declare_struct(dm_gen *g);
/* The kernel gets an instance of the struct: a parameter, an array's element or a local. */
void dm_gen_use_struct(dm_gen *g);
/* Store a struct that was made here to an output of its type. */
void dm_gen_store_struct(dm_gen *g);

/* ---- category.c ---- */

extern const dm_gen_recipe dm_gen_recipes[DM_SYNTH_CATEGORY_COUNT];

/* ---- output.c: how a kernel ends ---- */

/* Plan how many outputs a body of so many lines has; returns the lines left for the rest. */
int dm_gen_choose_outputs(dm_gen *g, int lines);
void dm_gen_outputs(dm_gen *g);

#endif
