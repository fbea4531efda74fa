/* SPDX-License-Identifier: MIT */
/* reference_decl.h - what reference_text.h defines; included once per number type, with REAL the
 * type and REF(name) the prefix. */

/* One member's weights with their sizes; the parts lie as dm_dynamics_layout says. */
typedef struct REF(member) {
    const dm_dynamics_config *config;
    const dm_dynamics_layout *layout;
    const REAL *weights;
    REAL feedback_shift, feedback_scale; /* of feature 0 */
} REF(member);

/* What backward needs of one step of the cell: all [H]. */
typedef struct REF(tape) {
    REAL *z, *r, *n;
    REAL *v; /* Un h + cn, DM_DYNAMICS_GRU_RESET_LAST only */
} REF(tape);

/* A sequence of `steps`: the first `forced` get x[forced][I]; each later one gets the last of those
 * with feature 0 replaced by the loss predicted one step before, shifted and scaled. */
typedef struct REF(sequence) {
    uint32_t steps, forced;
    const REAL *x;                      /* [forced][I], as it enters the cell */
    const REAL *h0;                     /* [H]; NULL: zeros */
    REAL *loss, *entropy, *hidden_norm; /* [steps]; the last two may be NULL */
    REAL *h;                            /* [steps + 1][H], written; the first is h0 */
    REAL *inputs;                       /* [steps][I], written: what entered each step */
    REAL *gates;                        /* [steps][4][H], written: z, r, n, v */
    REAL *s;                            /* [steps][S], written */
} REF(sequence);

void REF(cell)(const REF(member) * member, const REAL *x, const REAL *h, REAL *out,
               const REF(tape) * tape);
void REF(sequence_forward)(const REF(member) * member, const REF(sequence) * sequence);

/* Gradients of sum(dloss[t] * loss[t]) after sequence_forward: added to `grad` (laid out as the
 * weights); dh0[H] and dx[forced][I] are written and may be NULL. `scratch` has 8 H + I + S
 * elements. */
void REF(sequence_backward)(const REF(member) * member, const REF(sequence) * sequence,
                            const REAL *dloss, REAL *grad, REAL *dh0, REAL *dx, REAL *scratch);
