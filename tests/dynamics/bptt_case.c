/* SPDX-License-Identifier: MIT */
/* bptt_case.c - see bptt_case.h. */
#include "tests/dynamics/bptt_case.h"

#include "dynamics/device/bptt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE DM_DYNAMICS_TOLERANCE /* of a part's largest gradient */

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    assert_non_null(memory);
    return memory;
}

static dm_dynamics *scaled_model(dm_dynamics_config config)
{
    dm_dynamics *model = dyn_model(config, 3);
    for (uint32_t i = 0; i < config.input; i++) {
        model->shift[i] = 0.2f + 0.01f * (float)(i % 5);
        model->scale[i] = 0.6f + 0.02f * (float)(i % 7);
    }
    return model;
}

/* ---- Sequences ---- */

static void compare(const char *what, uint32_t member, const float *got, const double *want,
                    size_t count)
{
    double distance = count > 0 ? dm_reference_distance(got, want, count) : 0;
    if (!(distance < TOLERANCE))
        fail_msg("%s of member %u: %g away", what, member, distance);
}

void bptt_check_sequences(dm_device *device, dm_dynamics_config config, uint32_t sequences,
                          uint32_t forced, uint32_t steps, bool with_hidden)
{
    dm_dynamics *model = scaled_model(config);
    const dm_dynamics_layout *layout = &model->layout;
    size_t E = config.members, H = config.hidden, rows = E * steps * sequences,
           states = E * sequences * H;
    float *features = dyn_random((size_t)sequences * forced * config.input, 1, 1),
          *hidden = with_hidden ? dyn_random(states, 2, 1) : NULL, *dloss = dyn_random(rows, 3, 1);
    double *loss = zeros(rows, sizeof *loss), *dh0 = zeros(states, sizeof *dh0),
           *grad = zeros(E * layout->total, sizeof *grad);
    float *got_loss = zeros(rows, sizeof *got_loss), *got_dh0 = zeros(states, sizeof *got_dh0),
          *got = zeros(E * layout->stride, sizeof *got);
    assert_ok(dm_reference_gradients(model, sequences, forced, steps, features, hidden, dloss, loss,
                                     dh0, grad, err));
    dm_bptt bptt;
    assert_ok(dm_bptt_init(&bptt, device, model, err));
    /* Twice: nothing is left over from the first time. */
    for (int round = 0; round < 2; round++) {
        assert_ok(dm_bptt_forward(&bptt, sequences, forced, steps, features, hidden, err));
        assert_ok(dm_bptt_write(&bptt, bptt.args.dloss, dloss, rows * sizeof(float), err));
        assert_ok(dm_bptt_backward(&bptt, NULL, err));
    }
    assert_ok(dm_bptt_read(&bptt, bptt.args.loss, got_loss, rows * sizeof(float), err));
    assert_ok(dm_bptt_read(&bptt, bptt.args.grad, got, E * layout->stride * sizeof(float), err));
    assert_ok(dm_bptt_read(&bptt, bptt.args.dout, got_dh0, states * sizeof(float), err));
    compare("losses", 0, got_loss, loss, rows);
    compare("dh0", 0, got_dh0, dh0, states);
    for (uint32_t e = 0; e < E; e++)
        for (int part = 0; part < DM_DYNAMICS_PART_COUNT; part++)
            compare(dm_dynamics_part_names[part], e,
                    got + e * layout->stride + layout->offset[part],
                    grad + e * layout->total + layout->offset[part], layout->count[part]);
    dm_bptt_deinit(&bptt);
    free(features);
    free(hidden);
    free(dloss);
    free(loss);
    free(dh0);
    free(grad);
    free(got_loss);
    free(got_dh0);
    free(got);
    dm_dynamics_destroy(model);
}

/* ---- The cell ---- */

/* The sum of dout * h' of a batch. */
static double cell_value(const dm_ref64_member *m, uint32_t batch, const double *x, const double *h,
                         const double *dout)
{
    size_t I = m->config->input, H = m->config->hidden;
    double *memory = zeros(5 * H, sizeof *memory), sum = 0;
    dm_ref64_tape tape = {memory, memory + H, memory + 2 * H, memory + 3 * H};
    for (size_t k = 0; k < batch; k++) {
        dm_ref64_cell(m, x + k * I, h + k * H, memory + 4 * H, &tape);
        for (size_t i = 0; i < H; i++)
            sum += dout[k * H + i] * memory[4 * H + i];
    }
    free(memory);
    return sum;
}

void bptt_check_cell(dm_device *device, dm_dynamics_config config, uint32_t batch)
{
    const double step = 1e-5;
    config.members = 1;
    dm_dynamics *model = dyn_model(config, 9); /* shift 0, scale 1: features are x */
    size_t I = config.input, H = config.hidden, head = model->layout.offset[DM_DYNAMICS_PROJECTION];
    float *x = dyn_random(batch * I, 1, 1), *h = dyn_random(batch * H, 2, 1),
          *dout = dyn_random(batch * H, 3, 1);
    float *grad = zeros(model->layout.stride, sizeof *grad), *dh = zeros(batch * H, sizeof *dh),
          *none = zeros(batch, sizeof *none);
    double *x64 = dyn_to_double(x, batch * I), *h64 = dyn_to_double(h, batch * H),
           *d64 = dyn_to_double(dout, batch * H);
    double *want = zeros(model->layout.total, sizeof *want),
           *want_h = zeros(batch * H, sizeof *h64);
    dm_bptt bptt;
    assert_ok(dm_bptt_init(&bptt, device, model, err));
    assert_ok(dm_bptt_forward(&bptt, batch, 1, 1, x, h, err));
    assert_ok(dm_bptt_write(&bptt, bptt.args.dloss, none, batch * sizeof(float), err));
    assert_ok(dm_bptt_backward(&bptt, dout, err));
    assert_ok(dm_bptt_read(&bptt, bptt.args.grad, grad, model->layout.total * sizeof(float), err));
    assert_ok(dm_bptt_read(&bptt, bptt.args.dout, dh, batch * H * sizeof(float), err));
    dyn_member64 m;
    dyn_member64_init(&m, model, 0);
    for (size_t i = 0; i < head + batch * H; i++) {
        double *at = i < head ? m.weights + i : h64 + i - head, kept = *at;
        *at = kept + step;
        double above = cell_value(&m.member, batch, x64, h64, d64);
        *at = kept - step;
        double below = cell_value(&m.member, batch, x64, h64, d64);
        *at = kept;
        *(i < head ? want + i : want_h + i - head) = (above - below) / (2 * step);
    }
    for (int part = 0; part <= DM_DYNAMICS_C; part++)
        compare(dm_dynamics_part_names[part], 0, grad + model->layout.offset[part],
                want + model->layout.offset[part], model->layout.count[part]);
    compare("dh", 0, dh, want_h, batch * H);
    dyn_member64_deinit(&m);
    dm_bptt_deinit(&bptt);
    free(x);
    free(h);
    free(dout);
    free(grad);
    free(dh);
    free(none);
    free(x64);
    free(h64);
    free(d64);
    free(want);
    free(want_h);
    dm_dynamics_destroy(model);
}

/* ---- Updates ---- */

enum { SEQUENCES = 3, FORCED = 4, STEPS = 6, FROM = 2, UPDATES = 4 };

/* Weights after some updates of one sequence, by either trainer. */
static dm_dynamics *after_updates(dm_device *device, dm_dynamics_config config,
                                  const dm_dynamics_trainer_config *how, const float *features,
                                  const float *targets, float *objective)
{
    dm_dynamics *model = scaled_model(config);
    dm_dynamics_trainer *one = NULL;
    dm_dynamics_batch_trainer *many = NULL;
    if (device == NULL)
        assert_ok(dm_dynamics_trainer_create(model, how, &one, err));
    else
        assert_ok(dm_dynamics_batch_trainer_create(device, model, how, &many, err));
    for (int i = 0; i < UPDATES; i++) {
        if (device == NULL)
            assert_ok(dm_dynamics_trainer_sequence(one, features, FORCED, STEPS, FROM, targets,
                                                   objective, err));
        else
            assert_ok(dm_dynamics_batch_trainer_sequences(many, 1, features, FORCED, STEPS, FROM,
                                                          targets, NULL, objective, err));
    }
    if (many != NULL)
        assert_ok(dm_dynamics_batch_trainer_fetch(many, err));
    dm_dynamics_trainer_destroy(one);
    dm_dynamics_batch_trainer_destroy(many);
    return model;
}

/* Both trainers end with the same weights; the change is what is compared. */
static void check_optimiser(dm_device *device, dm_dynamics_config config,
                            const dm_dynamics_trainer_config *how, const float *features,
                            const float *targets)
{
    float one = 0, many = 0, again = 0;
    dm_dynamics *start = scaled_model(config);
    dm_dynamics *want = after_updates(NULL, config, how, features, targets, &one);
    dm_dynamics *got = after_updates(device, config, how, features, targets, &many);
    dm_dynamics *same = after_updates(device, config, how, features, targets, &again);
    size_t total = start->layout.total;
    for (uint32_t e = 0; e < config.members; e++) {
        const float *from = dm_dynamics_member(start, e), *w = dm_dynamics_member(want, e),
                    *g = dm_dynamics_member(got, e);
        double furthest = 0, largest = 0, sum = 0;
        for (size_t i = 0; i < total; i++) {
            double away = fabs((double)g[i] - (double)w[i]);
            furthest = fmax(furthest, away);
            largest = fmax(largest, fabs((double)w[i] - (double)from[i]));
            sum += away;
        }
        /* Adam divides by the gradient's size, so single weights with next to none may go apart. */
        bool adam = how->optimiser == DM_DYNAMICS_OPTIMISER_ADAM;
        assert_true(largest > 0);
        assert_true(sum / (double)total < 1e-3 * largest);
        assert_true(adam || furthest < 1e-3 * largest);
        assert_memory_equal(g, dm_dynamics_member(same, e), total * sizeof *g);
    }
    assert_true(fabsf(one - many) <= 1e-4f * fabsf(one));
    assert_true(many == again);
    dm_dynamics_destroy(start);
    dm_dynamics_destroy(want);
    dm_dynamics_destroy(got);
    dm_dynamics_destroy(same);
}

/* The gradient of a batch is the mean of its sequences'. */
static void check_mean(dm_device *device, dm_dynamics_config config, const float *features,
                       const float *targets)
{
    dm_dynamics_trainer_config how = {DM_DYNAMICS_OPTIMISER_SGD, 0.1f, 0, 0, 0, 0, 1};
    dm_dynamics *start = scaled_model(config), *got = scaled_model(config);
    size_t count = config.members * start->layout.stride;
    double *want = dyn_to_double(start->weights, count);
    dm_dynamics_batch_trainer *many = NULL;
    for (size_t r = 0; r < SEQUENCES; r++) {
        dm_dynamics *model = scaled_model(config);
        dm_dynamics_trainer *one = NULL;
        assert_ok(dm_dynamics_trainer_create(model, &how, &one, err));
        assert_ok(dm_dynamics_trainer_sequence(one, features + r * FORCED * config.input, FORCED,
                                               STEPS, FROM, targets + r * STEPS, NULL, err));
        for (size_t i = 0; i < count; i++)
            want[i] += ((double)model->weights[i] - (double)start->weights[i]) / SEQUENCES;
        dm_dynamics_trainer_destroy(one);
        dm_dynamics_destroy(model);
    }
    assert_ok(dm_dynamics_batch_trainer_create(device, got, &how, &many, err));
    assert_ok(dm_dynamics_batch_trainer_sequences(many, SEQUENCES, features, FORCED, STEPS, FROM,
                                                  targets, NULL, NULL, err));
    assert_memory_equal(got->weights, start->weights, count * sizeof(float)); /* not before fetch */
    assert_ok(dm_dynamics_batch_trainer_fetch(many, err));
    double furthest = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        furthest = fmax(furthest, fabs((double)got->weights[i] - want[i]));
        largest = fmax(largest, fabs(want[i] - (double)start->weights[i]));
    }
    assert_true(largest > 0 && furthest < 1e-3 * largest);
    /* NaN in: the members stay as they are. */
    float *bad = dyn_random((size_t)SEQUENCES * FORCED * config.input, 1, 1), objective = 0;
    bad[1] = NAN;
    memcpy(start->weights, got->weights, count * sizeof(float));
    assert_ok(dm_dynamics_batch_trainer_sequences(many, SEQUENCES, bad, FORCED, STEPS, FROM,
                                                  targets, NULL, &objective, err));
    assert_ok(dm_dynamics_batch_trainer_fetch(many, err));
    assert_true(isnan(objective));
    assert_memory_equal(got->weights, start->weights, count * sizeof(float));
    free(bad);
    free(want);
    dm_dynamics_batch_trainer_destroy(many);
    dm_dynamics_destroy(start);
    dm_dynamics_destroy(got);
}

void bptt_check_updates(dm_device *device, dm_dynamics_config config)
{
    float *features = dyn_random((size_t)SEQUENCES * FORCED * config.input, 5, 1);
    float *targets = dyn_random((size_t)SEQUENCES * STEPS, 6, 0.9f);
    for (size_t i = 0; i < (size_t)SEQUENCES * STEPS; i++)
        targets[i] += 1;
    dm_dynamics_trainer_config adam = DM_DYNAMICS_TRAINER_DEFAULT,
                               sgd = DM_DYNAMICS_TRAINER_DEFAULT, clipped;
    sgd.optimiser = DM_DYNAMICS_OPTIMISER_SGD;
    sgd.learning_rate = 0.05f;
    clipped = sgd;
    clipped.clip = 1e-3f;
    check_optimiser(device, config, &adam, features, targets);
    check_optimiser(device, config, &sgd, features, targets);
    check_optimiser(device, config, &clipped, features, targets);
    check_mean(device, config, features, targets);
    free(features);
    free(targets);
}

void bptt_check_online(dm_device *device)
{
    enum { RUNS = 2, LENGTH = 6 };
    dm_dynamics_config config = {2, 21, 4, 5, DM_DYNAMICS_GRU_RESET_LAST, false};
    dm_dynamics_trainer_config how = {DM_DYNAMICS_OPTIMISER_SGD, 0.1f, 0, 0, 0, 5, 1};
    size_t states = (size_t)config.members * config.hidden;
    dm_dynamics *model = scaled_model(config), *twin = scaled_model(config);
    dm_dynamics_batch_trainer *many = NULL;
    dm_dynamics_trainer *one = NULL;
    float *features = dyn_random((size_t)LENGTH * config.input, 8, 0.5f);
    float *hidden = zeros(RUNS * states, sizeof *hidden);
    assert_ok(dm_dynamics_batch_trainer_create(device, model, &how, &many, err));
    assert_ok(dm_dynamics_trainer_create(twin, &how, &one, err));
    for (size_t t = 0; t < LENGTH; t++)
        features[t * config.input] += 1; /* losses */
    assert_int_equal(dm_dynamics_batch_trainer_hidden(many, 0, hidden, NULL),
                     DM_EINVAL); /* none yet */
    for (uint32_t t = 0; t < LENGTH; t++) {
        const float *x = features + t * config.input, *before = x - config.input;
        float batch[RUNS][5], next[RUNS], got = 0, want = 0;
        assert_ok(dm_dynamics_trainer_observe(one, x, &want, err));
        if (t == 0)
            continue;
        for (int k = 0; k < RUNS; k++) { /* the same run twice: its mean gradient is one's */
            memcpy(batch[k], before, sizeof batch[k]);
            next[k] = x[0];
        }
        assert_ok(dm_dynamics_batch_trainer_sequences(many, RUNS, &batch[0][0], 1, 1, 0, next,
                                                      t == 1 ? NULL : hidden, &got, err));
        assert_ok(dm_dynamics_batch_trainer_hidden(many, 1, hidden, err));
        assert_true(fabsf(got - want) <= 1e-4f * fabsf(want));
        const float *wanted = dm_dynamics_trainer_hidden(one);
        for (size_t i = 0; i < RUNS * states; i++)
            assert_true(fabsf(hidden[i] - wanted[i % states]) < 1e-5f);
    }
    assert_int_equal(dm_dynamics_batch_trainer_hidden(many, 2, hidden, NULL), DM_EINVAL);
    dm_dynamics_batch_trainer_destroy(many);
    dm_dynamics_trainer_destroy(one);
    dm_dynamics_destroy(model);
    dm_dynamics_destroy(twin);
    free(features);
    free(hidden);
}

void bptt_check_learning(dm_device *device)
{
    enum { CURVES = 8, LENGTH = 12, GIVEN = 8, ROUNDS = 150 };
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){2, 24, 4, 2, DM_DYNAMICS_GRU_RESET_FIRST, false}, 4);
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_dynamics_batch_trainer *trainer = NULL;
    float features[CURVES][GIVEN][2], targets[CURVES][LENGTH], first = 0, last = 0;
    for (int k = 0; k < CURVES; k++) {
        for (int t = 0; t <= LENGTH; t++) {
            float loss = 0.5f + 2 * powf((float)(t + 1), -0.2f - 0.1f * (float)k);
            if (t < GIVEN) {
                features[k][t][0] = loss;
                features[k][t][1] = 0.1f * (float)k;
            }
            if (t > 0)
                targets[k][t - 1] = loss;
        }
    }
    how.learning_rate = 1e-2f;
    assert_ok(dm_dynamics_batch_trainer_create(device, model, &how, &trainer, err));
    for (int i = 0; i < ROUNDS; i++)
        assert_ok(dm_dynamics_batch_trainer_sequences(trainer, CURVES, &features[0][0][0], GIVEN,
                                                      LENGTH, 0, &targets[0][0], NULL,
                                                      i == 0 ? &first : &last, err));
    if (!(last < 0.05f * first))
        fail_msg("objective %g at first, %g after %d updates", (double)first, (double)last, ROUNDS);
    dm_dynamics_batch_trainer_destroy(trainer);
    dm_dynamics_destroy(model);
}
