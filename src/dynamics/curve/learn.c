/* SPDX-License-Identifier: MIT */
/* learn.c - see learn.h.
 *
 *   curves ─► histories ─► rules of the combination ─► features in units ─► scaling ─► members
 *                                                                                       │
 *   calibration curves ─► shrinkage per knot ─► scale of the band ─► its quantiles ◄────┘ */
#include "dynamics/curve/learn.h"
#include "base/philox.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "base/thread.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    J = DM_VIEW_KNOTS,
    I = DM_VIEW_FEATURES,
    PAST = DM_VIEW_PAST,
    STEPS = DM_VIEW_STEPS,
    SHIFTS = 5,     /* histories of a recorded curve: their origins lie between each other's */
    SCALING = 4096, /* views that set the scaling */
    RULE_CURVES = 240,
    BATCH = 32,
    LEAST_SEEN = 12, /* losses before a view that is learnt from */
    VIEWS = 4000,    /* of a lesson: of a longer run the end is learnt from */
};
#define RECORDED_SHARE (1.0 / 3)
#define LEFT_OUT 0.2 /* of the curves, by each member */
/* What each side of the band leaves out in calibration, for a promised 5%: runs of kinds that were
 * not learnt from are further off than those of the calibration. */
#define TAIL 0.04

/* ---- Histories of all curves ---- */

/* A history, and the range [first, end) of its views whose whole future is known. */
typedef struct lesson {
    dm_history history;
    size_t curve, first, end;
    double weight; /* of its curve, in calibration */
} lesson;

typedef struct school {
    const dm_curve *curves;
    const dm_curve_learning *how;
    size_t count, recorded;
    lesson *lessons; /* first those of recorded curves */
    size_t lesson_count, recorded_lessons;
    size_t *learning, *calibrating; /* lessons */
    size_t learning_count, learning_recorded, calibrating_count;
    dm_curve_rules rules;
    dm_dynamics *model;
    dm_pool *pool;
    dm_progress *progress;
    dm_status *status; /* [tasks] */
    dm_error error;
    atomic_flag failed;
} school;

static void fail_task(school *s, const dm_error *error)
{
    if (!atomic_flag_test_and_set(&s->failed))
        s->error = *error;
}

static void open_lessons(void *user, uint64_t begin, uint64_t end, int worker)
{
    school *s = user;
    (void)worker;
    for (uint64_t k = begin; k < end && !dm_stop_requested(); k++) {
        lesson *l = &s->lessons[k];
        dm_error error = {0};
        size_t shift = k < s->recorded_lessons ? k % SHIFTS : 0;
        l->curve = k < s->recorded_lessons ? k / SHIFTS : k - s->recorded_lessons + s->recorded;
        const dm_curve *curve = &s->curves[l->curve];
        if (dm_history_init(&l->history, curve, curve->count - shift, VIEWS, &error) != DM_OK)
            fail_task(s, &error);
        dm_progress_add(s->progress, 1);
        double truth;
        for (size_t i = 0; i < l->history.count; i++) {
            l->first += l->history.views[i].n < LEAST_SEEN;
            l->end += dm_history_truth(&l->history, i, J, &truth);
        }
    }
}

static void combine_lessons(void *user, uint64_t begin, uint64_t end, int worker)
{
    school *s = user;
    (void)worker;
    for (uint64_t k = begin; k < end; k++)
        dm_history_combine(&s->lessons[k].history, &s->rules.view);
}

static dm_status run_tasks(school *s, uint64_t count, dm_pool_task task, dm_error *err)
{
    dm_pool_run(s->pool, count, 1, task, s);
    if (s->error.status != DM_OK) {
        if (err != NULL)
            *err = s->error;
        return s->error.status;
    }
    return DM_OK;
}

static void split(school *s)
{
    bool both = s->count < 10;
    for (size_t k = 0; k < s->lesson_count; k++) {
        size_t curve = s->lessons[k].curve; /* drawn ones come family by family: at random */
        bool later = curve < s->recorded ? curve % 5 == 4
                                         : dm_random4(s->how->seed + 3, 0, curve).v[0] % 5 == 0;
        if (both || !later) {
            s->learning_recorded += k < s->recorded_lessons;
            s->learning[s->learning_count++] = k;
        }
        if (both || later)
            s->calibrating[s->calibrating_count++] = k;
    }
    size_t recorded = 0;
    for (size_t c = 0; c < s->calibrating_count; c++)
        recorded += s->calibrating[c] < s->recorded_lessons;
    for (size_t c = 0; c < s->calibrating_count; c++) {
        size_t others = s->calibrating_count - recorded;
        bool real = s->calibrating[c] < s->recorded_lessons;
        double share = recorded == 0 || others == 0 ? 1
                       : real                       ? RECORDED_SHARE
                                                    : 1 - RECORDED_SHARE;
        s->lessons[s->calibrating[c]].weight = share / (double)(real ? recorded : others);
    }
}

static dm_status fit_rules(school *s, dm_error *err)
{
    dm_history *sample = malloc(RULE_CURVES * sizeof *sample);
    size_t count = s->learning_count < RULE_CURVES ? s->learning_count : RULE_CURVES;
    if (sample == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t k = 0; k < count; k++)
        sample[k] = s->lessons[s->learning[k * s->learning_count / count]].history;
    s->rules.view = dm_view_rules_default();
    dm_view_rules_fit(&s->rules.view, sample, count);
    free(sample);
    return DM_OK;
}

/* ---- Examples ---- */

/* A random view: of a recorded curve a third of the time, views and curves evenly. `left_out` with
 * a member's number keeps some curves from it. */
static const lesson *draw(const school *s, uint64_t stream, uint64_t index, size_t *view)
{
    for (uint32_t attempt = 0;; attempt++) {
        dm_philox4 r = dm_random4(s->how->seed + 1, stream << 8 | (attempt & 255), index);
        size_t others = s->learning_count - s->learning_recorded, k;
        bool recorded = others == 0 || (s->learning_recorded > 0 &&
                                        (double)dm_random_unit(r.v[0]) < RECORDED_SHARE);
        if (recorded)
            k = dm_random_below(r.v[1], (uint32_t)s->learning_recorded);
        else
            k = s->learning_recorded + dm_random_below(r.v[1], (uint32_t)others);
        const lesson *l = &s->lessons[s->learning[k]];
        double kept = (double)dm_random_unit(dm_random4(s->how->seed + 2, stream, l->curve).v[0]);
        bool usable = l->end > l->first && (kept >= LEFT_OUT || attempt > 200);
        if (!usable && attempt < 100000)
            continue;
        *view = l->first + dm_random_below(r.v[2], (uint32_t)(l->end - l->first));
        return l;
    }
}

static dm_status fit_scaling(school *s, dm_error *err)
{
    float *rows = malloc((size_t)SCALING * I * sizeof *rows);
    if (rows == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (uint64_t k = 0; k < SCALING; k++) {
        size_t view;
        const lesson *l = draw(s, 1u << 20, k, &view);
        memcpy(rows + k * I, l->history.views[view].features, I * sizeof *rows);
    }
    dm_status status = dm_dynamics_fit_scaling(s->model, rows, SCALING, err);
    free(rows);
    return status;
}

/* ---- Members ---- */

static float rate_at(const dm_curve_learning *how, uint64_t update, uint64_t updates)
{
    double u = (double)update / (double)updates;
    double warm = fmin(1, (double)(update + 1) / (0.02 * (double)updates + 1));
    return (float)((double)how->rate * warm * (0.01 + 0.495 * (1 + cos(3.141592653589793 * u))));
}

/* The first answers are small: what is learnt is a correction. */
static void quieten(dm_dynamics *model)
{
    for (uint32_t e = 0; e < model->config.members; e++) {
        size_t count;
        float *head = dm_dynamics_weights(model, e, DM_DYNAMICS_HEAD, &count);
        for (size_t i = 0; i < count; i++)
            head[i] *= 0.1f;
    }
}

/* A model of one member, for a thread of its own. */
static dm_status take_member(const dm_dynamics *model, uint32_t e, dm_dynamics **out, dm_error *err)
{
    dm_dynamics_config config = model->config;
    config.members = 1;
    dm_status status = dm_dynamics_create(&config, 0, out, err);
    if (status != DM_OK)
        return status;
    memcpy((*out)->weights, dm_dynamics_member(model, e), model->layout.stride * sizeof(float));
    memcpy((*out)->shift, model->shift, I * sizeof(float));
    memcpy((*out)->scale, model->scale, I * sizeof(float));
    return DM_OK;
}

static void teach_members(void *user, uint64_t begin, uint64_t end, int worker)
{
    school *s = user;
    (void)worker;
    for (uint64_t e = begin; e < end; e++) {
        dm_dynamics *member = NULL;
        dm_dynamics_trainer *trainer = NULL;
        dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
        float features[PAST * I], targets[STEPS];
        dm_error error = {0};
        how.clip = 1;
        dm_status status = take_member(s->model, (uint32_t)e, &member, &error);
        if (status == DM_OK)
            status = dm_dynamics_trainer_create(member, &how, &trainer, &error);
        for (uint64_t u = 0; u < s->how->updates && status == DM_OK && !dm_stop_requested(); u++) {
            size_t view;
            const lesson *l = draw(s, e, u, &view);
            dm_history_example(&l->history, view, features, targets);
            status = dm_dynamics_trainer_set_learning_rate(
                trainer, rate_at(s->how, u, s->how->updates), &error);
            if (status == DM_OK)
                status = dm_dynamics_trainer_sequence(trainer, features, PAST, STEPS, PAST - 1,
                                                      targets, NULL, &error);
            dm_progress_add(s->progress, 1);
        }
        if (status == DM_OK)
            memcpy(s->model->weights + e * s->model->layout.stride, member->weights,
                   s->model->layout.stride * sizeof(float));
        else
            fail_task(s, &error);
        dm_dynamics_trainer_destroy(trainer);
        dm_dynamics_destroy(member);
    }
}

/* Teach all members on a device, from batches that they share. A batch counts as one update for each
 * of its sequences. */
static dm_status teach_batches(school *s, dm_device *device, dm_error *err)
{
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_dynamics_batch_trainer *trainer = NULL;
    uint64_t batches = (s->how->updates + BATCH - 1) / BATCH;
    float *features = malloc((size_t)BATCH * PAST * I * sizeof *features);
    float *targets = malloc((size_t)BATCH * STEPS * sizeof *targets);
    dm_status status = features != NULL && targets != NULL
                           ? dm_dynamics_batch_trainer_create(device, s->model, &how, &trainer, err)
                           : dm_fail(err, DM_ENOMEM, "out of memory");
    for (uint64_t b = 0; b < batches && status == DM_OK && !dm_stop_requested(); b++) {
        for (uint64_t k = 0; k < BATCH; k++) {
            size_t view;
            const lesson *l = draw(s, 0, b * BATCH + k, &view);
            dm_history_example(&l->history, view, features + k * PAST * I, targets + k * STEPS);
        }
        status = dm_dynamics_batch_trainer_set_learning_rate(trainer,
                                                             4 * rate_at(s->how, b, batches), err);
        if (status == DM_OK)
            status = dm_dynamics_batch_trainer_sequences(trainer, BATCH, features, PAST, STEPS,
                                                         PAST - 1, targets, NULL, NULL, err);
        dm_progress_add(s->progress, (uint64_t)BATCH * s->model->config.members);
    }
    if (status == DM_OK)
        status = dm_dynamics_batch_trainer_fetch(trainer, err);
    dm_dynamics_batch_trainer_destroy(trainer);
    free(features);
    free(targets);
    return status;
}

/* ---- Calibration ---- */

/* The finished members' outputs for the views of a calibration lesson. */
typedef struct answers {
    const lesson *lesson;
    size_t count;
    float *units; /* [count][E][J] */
    double error; /* RMS of the combination at knots 5 and 10 */
} answers;

typedef struct calibration {
    school *school;
    answers *all;
    size_t count, examples;
} calibration;

static void answer(void *user, uint64_t begin, uint64_t end, int worker)
{
    calibration *c = user;
    school *s = c->school;
    (void)worker;
    for (uint64_t k = begin; k < end; k++) {
        answers *a = &c->all[k];
        const lesson *l = a->lesson = &s->lessons[s->calibrating[k]];
        dm_error error = {0};
        a->count = l->end > l->first ? l->end - l->first : 0;
        if (a->count == 0)
            continue;
        float *sequences = malloc(a->count * PAST * I * sizeof *sequences);
        a->units = malloc(a->count * s->model->config.members * J * sizeof *a->units);
        dm_status status = sequences != NULL && a->units != NULL
                               ? DM_OK
                               : dm_fail(&error, DM_ENOMEM, "out of memory");
        for (size_t i = 0; i < a->count && status == DM_OK; i++)
            dm_history_sequence(&l->history, l->first + i, sequences + i * PAST * I);
        if (status == DM_OK)
            status = dm_curve_units(s->model, a->count, sequences, a->units, &error);
        if (status != DM_OK)
            fail_task(s, &error);
        free(sequences);
    }
}

/* The log loss that came true at a knot, alone. */
static double single(const lesson *l, size_t view, size_t knot)
{
    return l->history.y[l->history.views[view].n + knot * DM_VIEW_STRIDE - 1];
}

static double member_mean(const school *s, const float *units, size_t knot)
{
    double sum = 0;
    for (size_t e = 0; e < s->model->config.members; e++)
        sum += (double)units[e * J + knot] / s->model->config.members;
    return sum;
}

/* Fit the shrinkage of the members' outputs: least squares in log loss, each curve weighted by the
 * inverse of the combination's error on it. */
static void fit_shrink(calibration *c)
{
    school *s = c->school;
    size_t E = s->model->config.members;
    for (size_t k = 0; k < c->count; k++) {
        answers *a = &c->all[k];
        for (size_t i = 0; i < a->count; i++)
            for (size_t j = 4; j < J; j += 5) {
                size_t view = a->lesson->first + i;
                double away =
                    single(a->lesson, view, j + 1) - a->lesson->history.views[view].mean[j];
                a->error += away * away / (2 * (double)a->count);
            }
        a->error = sqrt(a->error);
    }
    for (size_t j = 0; j < J; j++) {
        double with = 0, squares = 1e-9;
        for (size_t k = 0; k < c->count; k++)
            for (size_t i = 0; i < c->all[k].count; i++) {
                const answers *a = &c->all[k];
                const dm_view *v = &a->lesson->history.views[a->lesson->first + i];
                double says = v->unit * member_mean(s, a->units + i * E * J, j), truth;
                double weight = a->lesson->weight / ((double)a->count * (a->error + 1e-3));
                dm_history_truth(&a->lesson->history, a->lesson->first + i, j + 1, &truth);
                with += weight * says * fmin(fmax(truth - v->mean[j], -1), 1);
                squares += weight * says * says;
            }
        s->rules.shrink[j] = (float)fmin(fmax(with / squares, 0), 1.2);
    }
}

/* Solves A x = b of DM_BAND_TERMS unknowns, A symmetric and positive: elimination. */
static void eliminate(double A[DM_BAND_TERMS][DM_BAND_TERMS], double b[DM_BAND_TERMS])
{
    for (size_t p = 0; p < DM_BAND_TERMS; p++)
        for (size_t r = 0; r < DM_BAND_TERMS; r++) {
            if (r == p)
                continue;
            double f = A[r][p] / A[p][p];
            for (size_t q = p; q < DM_BAND_TERMS; q++)
                A[r][q] -= f * A[p][q];
            b[r] -= f * b[p];
        }
    for (size_t p = 0; p < DM_BAND_TERMS; p++)
        b[p] /= A[p][p];
}

static double residual(const calibration *c, const answers *a, size_t i, size_t j)
{
    const school *s = c->school;
    size_t E = s->model->config.members, view = a->lesson->first + i;
    const dm_view *v = &a->lesson->history.views[view];
    double mean =
        v->mean[j] + (double)s->rules.shrink[j] * v->unit * member_mean(s, a->units + i * E * J, j);
    return single(a->lesson, view, j + 1) - mean;
}

/* Regression of the logarithm of what was left on the terms. */
static void fit_scale(calibration *c, size_t j)
{
    school *s = c->school;
    size_t E = s->model->config.members;
    double A[DM_BAND_TERMS][DM_BAND_TERMS] = {{0}}, b[DM_BAND_TERMS] = {0};
    for (size_t k = 0; k < c->count; k++)
        for (size_t i = 0; i < c->all[k].count; i++) {
            const answers *a = &c->all[k];
            const dm_view *v = &a->lesson->history.views[a->lesson->first + i];
            double terms[DM_BAND_TERMS], weight = a->lesson->weight / (double)a->count;
            double left = log(fabs(residual(c, a, i, j)) + 0.2 * v->noise + 1e-3);
            dm_curve_band_terms(v, E, a->units + i * E * J, j, terms);
            for (size_t p = 0; p < DM_BAND_TERMS; p++) {
                for (size_t q = 0; q < DM_BAND_TERMS; q++)
                    A[p][q] += weight * terms[p] * terms[q];
                b[p] += weight * terms[p] * left;
            }
        }
    for (size_t p = 0; p < DM_BAND_TERMS; p++)
        A[p][p] += 1e-3 * (A[p][p] + 1e-6);
    eliminate(A, b);
    for (size_t p = 0; p < DM_BAND_TERMS; p++)
        s->rules.band[j][p] = (float)fmin(fmax(b[p], -100), 100);
}

typedef struct weighted {
    double value, weight;
} weighted;

static int ascending(const void *a, const void *b)
{
    double x = ((const weighted *)a)->value, y = ((const weighted *)b)->value;
    return (x > y) - (x < y);
}

static double quantile(const weighted *sorted, size_t count, double at)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        all += sorted[i].weight;
    for (size_t i = 0; i < count; i++) {
        sum += sorted[i].weight;
        if (sum >= at * all)
            return sorted[i].value;
    }
    return count > 0 ? sorted[count - 1].value : 0;
}

static dm_status fit_quantiles(calibration *c, dm_error *err)
{
    school *s = c->school;
    size_t E = s->model->config.members;
    weighted *w = malloc((c->examples + 1) * sizeof *w);
    if (w == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t j = 0; j < J; j++) {
        size_t n = 0;
        for (size_t k = 0; k < c->count; k++)
            for (size_t i = 0; i < c->all[k].count; i++) {
                const answers *a = &c->all[k];
                dm_knots knots;
                dm_curve_knots(&a->lesson->history.views[a->lesson->first + i], &s->rules, E,
                               a->units + i * E * J, &knots);
                w[n++] = (weighted){residual(c, a, i, j) / knots.scale[j],
                                    a->lesson->weight / (double)a->count};
            }
        qsort(w, n, sizeof *w, ascending);
        s->rules.low[j] = (float)fmax(fmin(quantile(w, n, TAIL), 0), (double)-DM_BAND_MAX);
        s->rules.high[j] = (float)fmin(fmax(quantile(w, n, 1 - TAIL), 0), (double)DM_BAND_MAX);
    }
    free(w);
    return DM_OK;
}

static void sum_up(const calibration *c, dm_curve_learnt *out)
{
    const school *s = c->school;
    size_t E = s->model->config.members, curves = 0, lessons = 0;
    double inside = 0, all = 0;
    for (size_t k = 0; k < c->count; k++) {
        const answers *a = &c->all[k];
        double squares = 0;
        for (size_t i = 0; i < a->count; i++)
            for (size_t j = 4; j < J; j += 5) {
                dm_knots knots;
                double left = residual(c, a, i, j);
                dm_curve_knots(&a->lesson->history.views[a->lesson->first + i], &s->rules, E,
                               a->units + i * E * J, &knots);
                double units = left / knots.scale[j];
                inside += units >= (double)s->rules.low[j] && units <= (double)s->rules.high[j];
                all++;
                squares += left * left;
            }
        if (a->count == 0)
            continue;
        lessons++;
        /* Lessons of one recorded curve follow each other. */
        curves += k == 0 || c->all[k - 1].lesson->curve != a->lesson->curve;
        out->error += sqrt(squares / (2 * (double)a->count));
        out->combination_error += a->error;
    }
    out->error /= fmax((double)lessons, 1);
    out->combination_error /= fmax((double)lessons, 1);
    out->coverage = all > 0 ? inside / all : 0;
    out->calibration_curves = curves;
    out->calibration_examples = c->examples;
}

static dm_status calibrate(school *s, dm_curve_learnt *learnt, dm_error *err)
{
    calibration c = {.school = s, .count = s->calibrating_count};
    c.all = calloc(c.count + 1, sizeof *c.all);
    if (c.all == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_pool_run(s->pool, c.count, 1, answer, &c);
    dm_status status = s->error.status;
    if (status != DM_OK && err != NULL)
        *err = s->error;
    for (size_t k = 0; k < c.count; k++)
        c.examples += c.all[k].count;
    if (status == DM_OK) {
        fit_shrink(&c);
        for (size_t j = 0; j < J; j++)
            fit_scale(&c, j);
        status = fit_quantiles(&c, err);
    }
    if (status == DM_OK)
        sum_up(&c, learnt);
    if (status == DM_OK)
        status = dm_curve_rules_set(s->model, &s->rules, err);
    for (size_t k = 0; k < c.count; k++)
        free(c.all[k].units);
    free(c.all);
    return status;
}

/* ---- All of it ---- */

static dm_status check_curves(const dm_curve *curves, size_t count, dm_error *err)
{
    if (count == 0)
        return dm_fail(err, DM_EINVAL, "there are no curves to learn from");
    for (size_t c = 0; c < count; c++)
        if (curves[c].count < DM_CURVE_LEAST)
            return dm_fail(err, DM_EINVAL, "%s: %zu losses; at least %d are needed to learn from",
                           curves[c].name, curves[c].count, DM_CURVE_LEAST);
    return DM_OK;
}

static dm_status enrol(school *s, int threads, dm_error *err)
{
    const dm_curve_learning *how = s->how;
    dm_dynamics_config config = {
        how->members, how->hidden, how->stochastic, I, DM_DYNAMICS_GRU_RESET_FIRST, false};
    s->recorded_lessons = s->recorded * SHIFTS;
    s->lesson_count = s->recorded_lessons + s->count - s->recorded;
    s->lessons = calloc(s->lesson_count, sizeof *s->lessons);
    s->learning = calloc(s->lesson_count, sizeof *s->learning);
    s->calibrating = calloc(s->lesson_count, sizeof *s->calibrating);
    if (s->lessons == NULL || s->learning == NULL || s->calibrating == NULL)
        return dm_fail(err, DM_ENOMEM, "no memory for %zu curves", s->count);
    dm_status status = dm_pool_create(threads, &s->pool, err);
    if (status == DM_OK)
        status = dm_dynamics_create(&config, how->seed, &s->model, err);
    s->progress = dm_progress_start("fitting baselines", "curves", s->lesson_count);
    if (status == DM_OK)
        status = run_tasks(s, s->lesson_count, open_lessons, err);
    dm_progress_finish(s->progress);
    if (dm_stop_requested())
        return status;
    if (status == DM_OK) {
        split(s);
        status = fit_rules(s, err);
    }
    return status == DM_OK ? run_tasks(s, s->lesson_count, combine_lessons, err) : status;
}

static dm_status teach(school *s, dm_device *device, dm_error *err)
{
    bool batches = s->how->batches || dm_device_get_properties(device)->kind == DM_DEVICE_CUDA;
    quieten(s->model);
    dm_status status = fit_scaling(s, err);
    s->progress =
        dm_progress_start("learning", "updates", s->how->updates * (uint64_t)s->how->members);
    if (status == DM_OK && batches)
        status = teach_batches(s, device, err);
    else if (status == DM_OK)
        status = run_tasks(s, s->how->members, teach_members, err);
    dm_progress_finish(s->progress);
    return status;
}

dm_status dm_curve_learn(const dm_curve *curves, size_t count, const dm_curve_learning *how,
                         dm_dynamics **out, dm_curve_learnt *learnt, dm_error *err)
{
    uint64_t begun = dm_time_ns();
    school s = {.curves = curves, .count = count, .how = how, .failed = ATOMIC_FLAG_INIT};
    dm_device *device = NULL;
    *out = NULL;
    *learnt = (dm_curve_learnt){.curves = count};
    s.recorded = how->recorded < count ? how->recorded : count;
    dm_status status = check_curves(curves, count, err);
    if (status == DM_OK)
        status = dm_device_open(how->device, &device, err);
    if (status == DM_OK) {
        const dm_device_properties *p = dm_device_get_properties(device);
        status = enrol(&s, p->kind == DM_DEVICE_CPU ? p->multiprocessors : 0, err);
    }
    for (size_t k = 0; k < s.learning_count; k++) {
        const lesson *l = &s.lessons[s.learning[k]];
        learnt->examples += l->end > l->first ? l->end - l->first : 0;
    }
    if (status == DM_OK && !dm_stop_requested())
        status = teach(&s, device, err);
    if (status == DM_OK && !dm_stop_requested())
        status = calibrate(&s, learnt, err);
    for (size_t k = 0; k < s.lesson_count && s.lessons != NULL; k++)
        dm_history_deinit(&s.lessons[k].history);
    free(s.lessons);
    free(s.learning);
    free(s.calibrating);
    dm_pool_destroy(s.pool);
    dm_device_close(device);
    learnt->seconds = (double)(dm_time_ns() - begun) * 1e-9;
    if (status != DM_OK || dm_stop_requested())
        dm_dynamics_destroy(s.model);
    else
        *out = s.model;
    return status;
}

/* ---- One run ---- */

dm_status dm_curve_follow(dm_dynamics *model, const dm_curve *curve, uint32_t passes, float rate,
                          dm_error *err)
{
    dm_curve_rules rules;
    dm_history h = {0};
    dm_dynamics_trainer *trainer = NULL;
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    float features[PAST * I], targets[STEPS];
    dm_status status = dm_curve_rules_get(model, &rules, err);
    how.learning_rate = rate;
    how.clip = 1;
    if (status == DM_OK)
        status = dm_dynamics_trainer_create(model, &how, &trainer, err);
    if (status == DM_OK)
        status = dm_history_init(&h, curve, curve->count, VIEWS, err);
    if (status == DM_OK)
        dm_history_combine(&h, &rules.view);
    for (uint32_t p = 0; p < passes && status == DM_OK; p++)
        for (size_t i = 0; i < h.count && status == DM_OK && !dm_stop_requested(); i++) {
            double truth;
            uint32_t known = 0;
            while (known < J && dm_history_truth(&h, i, known + 1, &truth))
                known++;
            if (h.views[i].n < LEAST_SEEN || known == 0)
                continue;
            dm_history_example(&h, i, features, targets);
            status = dm_dynamics_trainer_sequence(trainer, features, PAST, PAST - 1 + known,
                                                  PAST - 1, targets, NULL, err);
        }
    dm_history_deinit(&h);
    dm_dynamics_trainer_destroy(trainer);
    return status;
}
