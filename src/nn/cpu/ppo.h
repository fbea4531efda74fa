/* SPDX-License-Identifier: MIT */
/* ppo.h - the gradient of proximal policy optimisation's loss, LANES samples at a time. kernels/agent/ppo.py compiled
 * to C computes the same one sample at a time and takes ten times as long; tests/agent/test_texts.c compares both with
 * the plain loss. */

enum { PPO_ACTIONS_MAX = 64 };

/* Numbers of some samples, zeros behind. */
VEC_FN vec ppo_some(const float *from, size_t n)
{
    return n == LANES ? vec_load(from) : vec_load_some(from, n);
}

/* Slopes of the value's loss, and half of it. */
VEC_FN vec ppo_value(const dm_nn_ppo *o, vec value, vec target, vec old, vec *half)
{
    vec off = value - target, loss = off * off, slope = off + off;
    if (o->value_clip > 0) {
        vec clip = vec_all(o->value_clip), moved = value - old;
        vec held = old + vec_min(clip, vec_max(vec_all(0) - clip, moved)) - target;
        ivec more = held * held > loss;
        ivec moves = (moved < clip) & (moved > vec_all(0) - clip);
        loss = vec_pick(more, held * held, loss);
        slope = vec_pick(more, vec_pick(moves, held + held, vec_all(0)), slope);
    }
    *half = vec_all(0.5f) * loss;
    return slope;
}

VEC_FN void ppo_some_samples(const dm_nn_ppo *o, size_t first, size_t some)
{
    const size_t A = o->actions;
    float table[PPO_ACTIONS_MAX][LANES], row[LANES] = {0}, numbers[5][LANES];
    vec chances[PPO_ACTIONS_MAX], most, total = vec_all(0), entropy = vec_all(0);
    memset(table, 0, A * sizeof table[0]);
    if (A == 0)
        return;
    for (size_t r = 0; r < some; r++)
        for (size_t a = 0; a < A; a++)
            table[a][r] = o->logits[(first + r) * o->logits_pitch + a];
    most = vec_load(table[0]);
    for (size_t a = 1; a < A; a++)
        most = vec_max(most, vec_load(table[a]));
    for (size_t a = 0; a < A; a++) {
        chances[a] = vec_exp(vec_load(table[a]) - most);
        total += chances[a];
    }
    vec_store(row, total);
    for (size_t r = 0; r < LANES; r++)
        row[r] = logf(row[r]);
    vec norm = most + vec_load(row), share = vec_all(1) / total;
    for (size_t a = 0; a < A; a++) {
        chances[a] *= share;
        entropy -= chances[a] * (vec_load(table[a]) - norm);
    }
    memset(row, 0, sizeof row);
    for (size_t r = 0; r < some; r++)
        row[r] = table[o->taken[first + r]][r];
    vec change = vec_load(row) - norm - ppo_some(o->chances + first, some);
    vec ratio = vec_exp(change), weight = ppo_some(o->weights + first, some);
    vec near = vec_min(vec_all(1 + o->clip), vec_max(vec_all(1 - o->clip), ratio));
    vec gain = vec_all(0) - ppo_some(o->advantages + first, some);
    vec policy = gain * ratio, held = gain * near;
    vec slope = vec_pick(policy >= held, weight * policy, vec_all(0));
    vec pull = weight * vec_all(o->entropy_scale);
    for (size_t a = 0; a < A; a++)
        vec_store(table[a], chances[a] * (pull * (vec_load(table[a]) - norm + entropy) - slope));
    vec_store(row, slope);
    for (size_t r = 0; r < some; r++) {
        float *to = o->dlogits + (first + r) * o->logits_pitch;
        for (size_t a = 0; a < A; a++)
            to[a] = table[a][r];
        to[o->taken[first + r]] += row[r];
    }
    memset(row, 0, sizeof row);
    for (size_t r = 0; r < some; r++)
        row[r] = o->values[(first + r) * o->values_pitch];
    vec half, dvalue = ppo_value(o, vec_load(row), ppo_some(o->returns + first, some),
                                 ppo_some(o->old_values + first, some), &half);
    vec_store(row, weight * vec_all(0.5f * o->value_scale) * dvalue);
    for (size_t r = 0; r < some; r++)
        o->dvalues[(first + r) * o->values_pitch] = row[r];
    if (o->parts == NULL)
        return;
    vec_store(numbers[0], weight * vec_pick(policy >= held, policy, held));
    vec_store(numbers[1], weight * half);
    vec_store(numbers[2], weight * entropy);
    vec_store(numbers[3], weight * (ratio - vec_all(1) - change));
    vec_store(numbers[4], vec_pick(ratio == near, vec_all(0), weight));
    for (size_t r = 0; r < some; r++)
        for (size_t i = 0; i < 5; i++)
            o->parts[(first + r) * 5 + i] = numbers[i][r];
}

static dm_status ppo(const dm_nn_ppo *o, dm_error *err)
{
    if (o->actions > PPO_ACTIONS_MAX)
        return dm_fail(err, DM_EUNSUPPORTED, "nn: %u actions; at most %d", o->actions,
                       PPO_ACTIONS_MAX);
    size_t n = 0;
    for (; n + LANES <= o->count; n += LANES)
        ppo_some_samples(o, n, LANES);
    if (n < o->count)
        ppo_some_samples(o, n, o->count - n);
    return DM_OK;
}
