/* SPDX-License-Identifier: MIT */
/* odds.c - choices whose weights are the profile's: made ready once for a generator. */
#include "synth/gen/gen.h"

#include <limits.h>

static const uint8_t operators[] = {DM_GEN_OP_ADD, DM_GEN_OP_SUB,   DM_GEN_OP_MUL, DM_GEN_OP_DIV,
                                    DM_GEN_OP_NEG, DM_GEN_OP_POWER, DM_GEN_OP_MOD};
static const uint8_t functions[] = {
    DM_GEN_OP_SIN,  DM_GEN_OP_COS,   DM_GEN_OP_TAN,   DM_GEN_OP_ASIN,  DM_GEN_OP_ACOS,
    DM_GEN_OP_ATAN, DM_GEN_OP_ATAN2, DM_GEN_OP_SINH,  DM_GEN_OP_COSH,  DM_GEN_OP_TANH,
    DM_GEN_OP_EXP,  DM_GEN_OP_LOG,   DM_GEN_OP_LOG2,  DM_GEN_OP_LOG10, DM_GEN_OP_SQRT,
    DM_GEN_OP_CBRT, DM_GEN_OP_ERF,   DM_GEN_OP_POW,   DM_GEN_OP_ABS,   DM_GEN_OP_FLOOR,
    DM_GEN_OP_CEIL, DM_GEN_OP_ROUND, DM_GEN_OP_SIGN,  DM_GEN_OP_FRAC,  DM_GEN_OP_RADIANS,
    DM_GEN_OP_MIN,  DM_GEN_OP_MAX,   DM_GEN_OP_CLAMP, DM_GEN_OP_LERP,  DM_GEN_OP_SMOOTHSTEP};
static const uint8_t integers[] = {DM_GEN_OP_ADD,         DM_GEN_OP_SUB,     DM_GEN_OP_MUL,
                                   DM_GEN_OP_FLOORDIV,    DM_GEN_OP_MOD,     DM_GEN_OP_BIT_AND,
                                   DM_GEN_OP_BIT_OR,      DM_GEN_OP_BIT_XOR, DM_GEN_OP_SHIFT_LEFT,
                                   DM_GEN_OP_SHIFT_RIGHT, DM_GEN_OP_MIN,     DM_GEN_OP_MAX,
                                   DM_GEN_OP_ABS};
static const uint8_t of_vectors[] = {DM_GEN_OP_DOT, DM_GEN_OP_LENGTH, DM_GEN_OP_LENGTH_SQ,
                                     DM_GEN_OP_COMPONENT};

static const struct {
    const uint8_t *ops;
    int count;
} lists[DM_GEN_OPERATIONS] = {
    [DM_GEN_OPERATORS] = {operators, sizeof operators},
    [DM_GEN_FUNCTIONS] = {functions, sizeof functions},
    [DM_GEN_INTEGERS] = {integers, sizeof integers},
    [DM_GEN_OF_VECTORS] = {of_vectors, sizeof of_vectors},
};

static void add_up(dm_gen_odds *odds, const uint16_t *weights, int count)
{
    odds->total = 0;
    for (int i = 0; i < DM_GEN_ODDS_MAX; i++) {
        odds->total += i < count ? weights[i] : 0;
        odds->sums[i] = i < count ? odds->total : INT_MAX;
    }
}

void dm_gen_prepare(dm_gen *g)
{
    const dm_synth_profile *profile = g->profile;
    uint16_t weights[DM_GEN_ODDS_MAX];
    for (int list = 0; list < DM_GEN_OPERATIONS; list++) {
        for (int i = 0; i < lists[list].count; i++)
            weights[i] = profile->weights[lists[list].ops[i]];
        add_up(&g->operations[list], weights, lists[list].count);
    }
    add_up(&g->scalars, profile->scalars, 3);
    add_up(&g->lines, profile->lines, DM_SYNTH_LINES_MAX);
    add_up(&g->parameters, profile->parameters, DM_SYNTH_PARAMETERS_MAX);
    add_up(&g->sizes, profile->operations, DM_SYNTH_OPERATIONS_MAX);
}

int dm_gen_draw_from(dm_gen *g, const dm_gen_odds *odds)
{
    int drawn = dm_gen_below(g, odds->total), chosen = 0;
    for (int i = 0; i < DM_GEN_ODDS_MAX; i++)
        chosen += odds->sums[i] <= drawn;
    return chosen;
}

int dm_gen_some_size(dm_gen *g)
{
    return 2 + dm_gen_draw_from(g, &g->sizes);
}

dm_gen_op dm_gen_some_operation(dm_gen *g, dm_gen_operations list)
{
    return (dm_gen_op)lists[list].ops[dm_gen_draw_from(g, &g->operations[list])];
}
