/* SPDX-License-Identifier: MIT */
/* train.c - learning: an objective over a sequence, gradient clipping, Adam and SGD. */
#include "base/require.h"
#include "base/thread.h"
#include "dynamics/backward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_LOG_MAX 10 /* what the head can say */
#define SCALED_MAX 1e30f  /* of a feature: its products with weights have a finite sum */

/* What one thread needs to teach a member. */
typedef struct scratch {
    float *grad; /* [stride] */
    dm_tape tape;
    float *dloss; /* [room of the tape] */
} scratch;

struct dm_dynamics_trainer {
    dm_dynamics *model;
    dm_dynamics_trainer_config config;
    uint64_t updates;
    uint64_t skipped;      /* features that were not finite */
    float *first, *second; /* moments [E][stride] */
    uint32_t room;         /* steps of a sequence */
    float *x;              /* [room][I]: features, shifted and scaled */
    double *objectives;    /* [E] */
    dm_pool *pool;         /* NULL: members one after the other */
    int threads;
    scratch *scratch; /* [threads] */
    /* The observed run: the last `filled` vectors of features, at most window + 1. */
    uint32_t filled;
    float *features; /* [window + 1][I] */
    float *hidden;   /* [window + 1][E][H]: before each of them */
};

/* ---- Creating ---- */

dm_status dm_dynamics_trainer_config_check(const dm_dynamics_trainer_config *c, dm_error *err)
{
    if (c->optimiser != DM_DYNAMICS_OPTIMISER_ADAM && c->optimiser != DM_DYNAMICS_OPTIMISER_SGD)
        return dm_fail(err, DM_EINVAL, "trainer: there is no optimiser %d", (int)c->optimiser);
    if (!(c->learning_rate >= 0) || isinf(c->learning_rate))
        return dm_fail(err, DM_EINVAL, "trainer: a learning rate of %g", (double)c->learning_rate);
    if (!(c->beta1 >= 0 && c->beta1 < 1) || !(c->beta2 >= 0 && c->beta2 < 1) || !(c->epsilon >= 0))
        return dm_fail(err, DM_EINVAL, "trainer: betas of %g and %g, epsilon %g", (double)c->beta1,
                       (double)c->beta2, (double)c->epsilon);
    if (!(c->clip >= 0))
        return dm_fail(err, DM_EINVAL, "trainer: gradients cannot be clipped to %g",
                       (double)c->clip);
    if (c->window < 1 || c->window > 65536)
        return dm_fail(err, DM_EINVAL, "trainer: a window of %u steps; 1 to 65536 are possible",
                       c->window);
    return DM_OK;
}

dm_status dm_dynamics_trainer_config_set_rate(dm_dynamics_trainer_config *config, float rate,
                                              dm_error *err)
{
    dm_dynamics_trainer_config changed = *config;
    changed.learning_rate = rate;
    dm_status status = dm_dynamics_trainer_config_check(&changed, err);
    if (status == DM_OK)
        *config = changed;
    return status;
}

static void scratch_deinit(scratch *w)
{
    free(w->grad);
    free(w->dloss);
    dm_tape_deinit(&w->tape);
    *w = (scratch){0};
}

static dm_status scratch_init(scratch *w, const dm_dynamics *model, uint32_t steps, dm_error *err)
{
    *w = (scratch){0};
    w->grad = dm_dynamics_alloc(model->layout.stride, sizeof(float));
    w->dloss = dm_dynamics_alloc(steps, sizeof(float));
    dm_status status = dm_tape_init(&w->tape, &model->config, steps, err);
    if (status == DM_OK && (w->grad == NULL || w->dloss == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status != DM_OK)
        scratch_deinit(w);
    return status;
}

/* Make room for sequences of so many steps on so many threads. Unchanged when memory runs out. */
static dm_status make_room(dm_dynamics_trainer *t, uint32_t steps, int threads, dm_error *err)
{
    scratch *made = calloc((size_t)threads, sizeof *made);
    float *x = dm_dynamics_alloc((size_t)steps * t->model->config.input, sizeof(float));
    dm_status status = made != NULL && x != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
    for (int k = 0; k < threads && status == DM_OK; k++)
        status = scratch_init(&made[k], t->model, steps, err);
    scratch *unused = status == DM_OK ? t->scratch : made;
    int unused_count = status == DM_OK ? t->threads : threads;
    for (int k = 0; k < unused_count && unused != NULL; k++)
        scratch_deinit(&unused[k]);
    free(unused);
    free(status == DM_OK ? t->x : x);
    if (status == DM_OK) {
        t->x = x;
        t->scratch = made;
        t->threads = threads;
        t->room = steps;
    }
    return status;
}

static dm_status reserve(dm_dynamics_trainer *t, uint32_t steps, dm_error *err)
{
    return t->room >= steps ? DM_OK : make_room(t, steps, t->threads, err);
}

dm_status dm_dynamics_trainer_set_threads(dm_dynamics_trainer *t, int threads, dm_error *err)
{
    DM_REQUIRE(err, t);
    dm_pool *pool = NULL;
    if (threads < 0 || threads > 4096)
        return dm_fail(err, DM_EINVAL, "trainer: %d threads", threads);
    threads = threads == 0 ? dm_cpu_count() : threads;
    if ((uint32_t)threads > t->model->config.members)
        threads = (int)t->model->config.members;
    dm_status status = threads > 1 ? dm_pool_create(threads, &pool, err) : DM_OK;
    if (status == DM_OK)
        status = make_room(t, t->room, threads, err);
    if (status != DM_OK) {
        dm_pool_destroy(pool);
        return status;
    }
    dm_pool_destroy(t->pool);
    t->pool = pool;
    return DM_OK;
}

dm_status dm_dynamics_trainer_create(dm_dynamics *model, const dm_dynamics_trainer_config *config,
                                     dm_dynamics_trainer **out, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, config);
    DM_REQUIRE(err, out);
    dm_status status = dm_dynamics_trainer_config_check(config, err);
    if (status != DM_OK)
        return status;
    dm_dynamics_trainer *t = calloc(1, sizeof *t);
    if (t == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    size_t weights = model->config.members * model->layout.stride,
           kept = (size_t)config->window + 1;
    t->model = model;
    t->config = *config;
    t->first = dm_dynamics_alloc(weights, sizeof(float));
    t->second = dm_dynamics_alloc(weights, sizeof(float));
    t->objectives = calloc(model->config.members, sizeof *t->objectives);
    t->features = dm_dynamics_alloc(kept * model->config.input, sizeof(float));
    t->hidden =
        dm_dynamics_alloc(kept * model->config.members * model->config.hidden, sizeof(float));
    if (t->first == NULL || t->second == NULL || t->objectives == NULL || t->features == NULL ||
        t->hidden == NULL)
        status =
            dm_fail(err, DM_ENOMEM, "trainer: no memory for the moments of %zu weights", weights);
    if (status == DM_OK)
        status = make_room(t, config->window, 1, err);
    if (status != DM_OK)
        dm_dynamics_trainer_destroy(t);
    else
        *out = t;
    return status;
}

void dm_dynamics_trainer_destroy(dm_dynamics_trainer *t)
{
    if (t == NULL)
        return;
    free(t->first);
    free(t->second);
    for (int k = 0; k < t->threads; k++)
        scratch_deinit(&t->scratch[k]);
    free(t->scratch);
    dm_pool_destroy(t->pool);
    free(t->objectives);
    free(t->features);
    free(t->hidden);
    free(t->x);
    free(t);
}

dm_status dm_dynamics_trainer_set_learning_rate(dm_dynamics_trainer *t, float rate, dm_error *err)
{
    DM_REQUIRE(err, t);
    return dm_dynamics_trainer_config_set_rate(&t->config, rate, err);
}

/* ---- One update ---- */

/* Mean of (log prediction - log target)^2 / 2 over steps [from, steps), and its gradient. */
static double objective_of(scratch *w, const float *targets, size_t target_stride, uint32_t from,
                           uint32_t steps)
{
    double sum = 0, count = steps - from;
    for (uint32_t i = 0; i < steps; i++) {
        double value = (double)targets[i * target_stride],
               target = value <= 0 ? -TARGET_LOG_MAX : log(value);
        target = target < -TARGET_LOG_MAX  ? -TARGET_LOG_MAX
                 : target > TARGET_LOG_MAX ? TARGET_LOG_MAX
                                           : target;
        double away = log((double)w->tape.loss[i]) - target;
        w->dloss[i] = i < from ? 0 : (float)(away / ((double)w->tape.loss[i] * count));
        sum += i < from ? 0 : away * away / (2 * count);
    }
    return sum;
}

static void sgd(float *weights, const float *grad, float *velocity, size_t n, float scale,
                float momentum, float rate)
{
    for (size_t i = 0; i < n; i++) {
        velocity[i] = momentum * velocity[i] + scale * grad[i];
        weights[i] -= rate * velocity[i];
    }
}

/* Move a member's weights against its gradient, which is clipped. */
static void step_member(dm_dynamics_trainer *t, uint32_t member, const float *grad,
                        const dm_simd *simd)
{
    const dm_dynamics_trainer_config *c = &t->config;
    size_t n = t->model->layout.total, at = member * t->model->layout.stride;
    double norm = sqrt((double)simd->dot(grad, grad, n));
    if (!isfinite(norm))
        return;
    float scale = c->clip > 0 && norm > (double)c->clip ? (float)((double)c->clip / norm) : 1;
    float *weights = t->model->weights + at;
    if (c->optimiser == DM_DYNAMICS_OPTIMISER_SGD) {
        sgd(weights, grad, t->first + at, n, scale, c->beta1, c->learning_rate);
        return;
    }
    double steps = (double)t->updates, correct1 = 1 - pow((double)c->beta1, steps),
           correct2 = sqrt(1 - pow((double)c->beta2, steps));
    simd->adam(weights, grad, t->first + at, t->second + at, n, scale, c->beta1, c->beta2,
               (float)((double)c->learning_rate * correct2 / correct1),
               (float)((double)c->epsilon * correct2));
}

static void scale_features(const dm_dynamics *model, const float *features, size_t count, float *x)
{
    size_t I = model->config.input;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < I; i++)
            x[k * I + i] = (features[k * I + i] - model->shift[i]) * model->scale[i];
}

/* One update of all members. */
typedef struct lesson {
    dm_dynamics_trainer *trainer;
    uint32_t forced, steps, from;
    const float *h0; /* [E][H]; NULL: zeros */
    const float *targets;
    size_t target_stride;
    float *moved; /* [E][H]: the hidden states after the steps; NULL: not wanted */
} lesson;

/* Forward, backward and update of one member; gives its objective. t->x holds the inputs. */
static double teach(const lesson *l, uint32_t member, scratch *w)
{
    dm_dynamics *model = l->trainer->model;
    size_t H = model->config.hidden;
    const dm_simd *simd = dm_simd_best();
    dm_cell cell = dm_cell_of(model, member, simd);
    dm_tape_forward(&w->tape, &cell, l->trainer->x, l->forced, l->steps,
                    l->h0 != NULL ? l->h0 + member * H : NULL, model->shift[0], model->scale[0]);
    double objective = objective_of(w, l->targets, l->target_stride, l->from, l->steps);
    memset(w->grad, 0, model->layout.stride * sizeof(float));
    dm_tape_backward(&w->tape, &cell, &model->layout, l->forced, l->steps, w->dloss,
                     model->scale[0], w->grad);
    step_member(l->trainer, member, w->grad, simd);
    if (l->moved != NULL)
        memcpy(l->moved + member * H, w->tape.h + l->steps * H, H * sizeof(float));
    return objective;
}

static void teach_some(void *user, uint64_t begin, uint64_t end, int worker)
{
    const lesson *l = user;
    for (uint64_t e = begin; e < end; e++)
        l->trainer->objectives[e] = teach(l, (uint32_t)e, &l->trainer->scratch[worker]);
}

/* The mean objective. A member's bits do not depend on the threads, nor does the sum's order. */
static float teach_all(lesson *l)
{
    dm_dynamics_trainer *t = l->trainer;
    uint32_t E = t->model->config.members;
    double sum = 0;
    t->updates++;
    if (t->pool != NULL)
        dm_pool_run(t->pool, E, 1, teach_some, l);
    else
        teach_some(l, 0, E, 0);
    for (uint32_t e = 0; e < E; e++)
        sum += t->objectives[e];
    return (float)(sum / (double)E);
}

dm_status dm_dynamics_trainer_sequence(dm_dynamics_trainer *t, const float *features,
                                       uint32_t forced, uint32_t steps, uint32_t from,
                                       const float *targets, float *objective, dm_error *err)
{
    DM_REQUIRE(err, t);
    DM_REQUIRE(err, features);
    DM_REQUIRE(err, targets);
    if (forced < 1 || forced > steps || from >= steps)
        return dm_fail(err, DM_EINVAL,
                       "trainer: %u steps, %u of them with given features, scored from %u", steps,
                       forced, from);
    dm_status status = reserve(t, steps, err);
    if (status != DM_OK)
        return status;
    scale_features(t->model, features, forced, t->x);
    lesson l = {.trainer = t,
                .forced = forced,
                .steps = steps,
                .from = from,
                .targets = targets,
                .target_stride = 1};
    float mean = teach_all(&l);
    if (objective != NULL)
        *objective = mean;
    return DM_OK;
}

/* ---- Following a run ---- */

/* Would these features, scaled, leave the hidden states finite? */
static bool usable(const dm_dynamics *model, const float *features)
{
    for (size_t i = 0; i < model->config.input; i++)
        if (!(fabsf((features[i] - model->shift[i]) * model->scale[i]) <= SCALED_MAX))
            return false;
    return true;
}

dm_status dm_dynamics_trainer_observe(dm_dynamics_trainer *t, const float *features,
                                      float *objective, dm_error *err)
{
    DM_REQUIRE(err, t);
    DM_REQUIRE(err, features);
    size_t I = t->model->config.input, E = t->model->config.members, H = t->model->config.hidden;
    uint32_t window = t->config.window, count = t->filled;
    (void)err;
    if (objective != NULL)
        *objective = 0;
    if (!usable(t->model, features)) {
        t->skipped++;
        return DM_OK;
    }
    if (count == window + 1) { /* the oldest goes */
        memmove(t->features, t->features + I, window * I * sizeof(float));
        memmove(t->hidden, t->hidden + E * H, window * E * H * sizeof(float));
        count = window;
    }
    memcpy(t->features + count * I, features, I * sizeof(float));
    t->filled = count + 1;
    if (count == 0) {
        memset(t->hidden, 0, E * H * sizeof(float));
        return DM_OK;
    }
    scale_features(t->model, t->features, count, t->x);
    /* Features k were to predict feature 0 of features k + 1. */
    lesson l = {.trainer = t,
                .forced = count,
                .steps = count,
                .h0 = t->hidden,
                .targets = t->features + I,
                .target_stride = I,
                .moved = t->hidden + count * E * H};
    float mean = teach_all(&l);
    if (objective != NULL)
        *objective = mean;
    return DM_OK;
}

uint64_t dm_dynamics_trainer_skipped(const dm_dynamics_trainer *t)
{
    if (t == NULL)
        return 0;
    return t->skipped;
}

const float *dm_dynamics_trainer_hidden(const dm_dynamics_trainer *t)
{
    if (t == NULL)
        return NULL;
    size_t last = t->filled > 0 ? t->filled - 1 : 0;
    return t->hidden + last * t->model->config.members * t->model->config.hidden;
}

void dm_dynamics_trainer_restart(dm_dynamics_trainer *t)
{
    if (t == NULL)
        return;
    t->filled = 0;
    memset(t->hidden, 0,
           t->model->config.members * (size_t)t->model->config.hidden * sizeof(float));
}

/* ---- State, for checkpoints ---- */

typedef struct state_head {
    uint64_t updates, skipped, filled;
    uint64_t window, members, input, hidden, stride; /* of whom it is */
} state_head;

/* The arrays behind the head, in their order. */
typedef struct state_part {
    float *at;
    size_t count;
} state_part;

enum { STATE_PARTS = 4 };

static void state_parts(const dm_dynamics_trainer *t, state_part parts[STATE_PARTS])
{
    const dm_dynamics_config *c = &t->model->config;
    size_t weights = c->members * t->model->layout.stride, kept = (size_t)t->config.window + 1;
    parts[0] = (state_part){t->first, weights};
    parts[1] = (state_part){t->second, weights};
    parts[2] = (state_part){t->features, kept * c->input};
    parts[3] = (state_part){t->hidden, kept * c->members * c->hidden};
}

static state_head state_head_of(const dm_dynamics_trainer *t)
{
    const dm_dynamics_config *c = &t->model->config;
    return (state_head){t->updates, t->skipped, t->filled, t->config.window,
                        c->members, c->input,   c->hidden, t->model->layout.stride};
}

size_t dm_dynamics_trainer_state_size(const dm_dynamics_trainer *trainer)
{
    if (trainer == NULL)
        return 0;
    state_part parts[STATE_PARTS];
    size_t size = sizeof(state_head);
    state_parts(trainer, parts);
    for (size_t i = 0; i < STATE_PARTS; i++)
        size += parts[i].count * sizeof(float);
    return size;
}

void dm_dynamics_trainer_state_get(const dm_dynamics_trainer *trainer, void *bytes)
{
    if (trainer == NULL || bytes == NULL)
        return;
    state_part parts[STATE_PARTS];
    state_head head = state_head_of(trainer);
    char *to = bytes;
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    state_parts(trainer, parts);
    for (size_t i = 0; i < STATE_PARTS; i++) {
        memcpy(to, parts[i].at, parts[i].count * sizeof(float));
        to += parts[i].count * sizeof(float);
    }
}

dm_status dm_dynamics_trainer_state_set(dm_dynamics_trainer *trainer, const void *bytes,
                                        size_t size, dm_error *err)
{
    DM_REQUIRE(err, trainer);
    DM_REQUIRE(err, bytes);
    state_part parts[STATE_PARTS];
    state_head head, own = state_head_of(trainer);
    const char *from = bytes;
    if (size != dm_dynamics_trainer_state_size(trainer))
        return dm_fail(err, DM_EFORMAT, "trainer: a state of %zu bytes, not %zu", size,
                       dm_dynamics_trainer_state_size(trainer));
    memcpy(&head, from, sizeof head);
    from += sizeof head;
    own.updates = head.updates;
    own.skipped = head.skipped;
    own.filled = head.filled;
    if (memcmp(&head, &own, sizeof head) != 0 || head.filled > head.window + 1)
        return dm_fail(err, DM_EFORMAT, "trainer: a state of another model or window");
    trainer->updates = head.updates;
    trainer->skipped = head.skipped;
    trainer->filled = (uint32_t)head.filled;
    state_parts(trainer, parts);
    for (size_t i = 0; i < STATE_PARTS; i++) {
        memcpy(parts[i].at, from, parts[i].count * sizeof(float));
        from += parts[i].count * sizeof(float);
    }
    return DM_OK;
}
