/* SPDX-License-Identifier: MIT */
/* optimiser.h - a step of Adam or AdamW in vectors. kernels/nn/optimisers.py compiled to C takes one
 * number at a time and five to seven times as long. No operations are fused here, so that each rounds
 * as in that text: the bits are the same. */

static void adam(const dm_nn_adam *o, uint64_t n, float *w, const float *g, float *m, float *v,
                 float *average)
{
    vec beta1 = vec_all(o->beta1), rest1 = vec_all(1.0f - o->beta1);
    vec beta2 = vec_all(o->beta2), rest2 = vec_all(1.0f - o->beta2);
    vec keep = vec_all(o->keep), take = vec_all(1.0f - o->keep);
    vec shrink = vec_all(o->rate * o->decay);
    for (uint64_t i = 0; i < n; i += LANES) {
        vec at = row_load(w, i, n), d = row_load(g, i, n) * vec_all(o->scale);
        if (!o->shrinks)
            d = d + vec_all(o->decay) * at;
        vec first = beta1 * row_load(m, i, n) + rest1 * d;
        vec second = beta2 * row_load(v, i, n) + rest2 * d * d;
        row_store(m, i, n, first);
        row_store(v, i, n, second);
        if (o->shrinks)
            at = at - shrink * at;
        at = at - vec_all(o->rate) * (first / vec_all(o->correct1)) /
                      (vec_sqrt(second / vec_all(o->correct2)) + vec_all(o->epsilon));
        row_store(w, i, n, at);
        if (average)
            row_store(average, i, n, keep * row_load(average, i, n) + take * at);
    }
}
