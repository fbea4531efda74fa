/* SPDX-License-Identifier: MIT */
/* cheat.c - the cases of a record's test, and the cheats that they have to notice; see cheat.h. */
#include "synth/check/cheat.h"

#include "kernel/internal.h"
#include "synth/lesson/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS 12
#define MARGIN 4 /* times the tolerance */
#define GUARD_BYTE 0x3C
#define OTHER_BYTE 0xC3

const char *const dm_cheat_case_names[DM_CHEAT_CASES] = {"ordinary", "ends", "full", "signed"};
const int dm_cheat_case_sizes[DM_CHEAT_CASES] = {5, 4, 6, 5};

bool dm_cheat_has_gradients(int number)
{
    return number != DM_TRIAL_ENDS;
}

typedef struct search {
    const dm_cheat_case *cases;
    dm_cheat_entry forward, backward;
    char *reason;
    size_t size;
} search;

static uint8_t *kept_before(const dm_cheat_case *c)
{
    return c->kept + c->trial->block_size;
}

static uint8_t *kept_outputs(const dm_cheat_case *c)
{
    return kept_before(c) + c->trial->image_size;
}

static uint8_t *kept_gradients(const dm_cheat_case *c)
{
    return kept_outputs(c) + c->trial->image_size;
}

static void run(const search *s, const dm_trial *t)
{
    memcpy(t->now, t->before, t->image_size);
    s->forward(t->block, 0, 1, 1);
}

static bool is_finite(const dm_trial *t, const uint8_t *image)
{
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        for (size_t e = 0; p->is_array && p->floats && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++)
                if (p->leaves[k].is_float && !isfinite(dm_trial_number(image, p, e, k)))
                    return false;
    }
    return true;
}

/* ---- Would the test notice? ---- */

static bool column_differs(const dm_trial_param *p, const dm_trial_column *c, const uint8_t *want,
                           const uint8_t *got)
{
    double most = 0;
    bool is_float = p->leaves[c->first].is_float;
    for (size_t e = 0; e < p->count; e++)
        for (int k = c->first; k < c->first + c->count; k++)
            most = fmax(most, fabs(dm_trial_number(want, p, e, k)));
    for (size_t e = 0; e < p->count; e++)
        for (int k = c->first; k < c->first + c->count; k++) {
            double right = dm_trial_number(want, p, e, k);
            double bound =
                DM_SYNTH_TEST_PART * fabs(right) + DM_SYNTH_TEST_SCALE * most + DM_SYNTH_TEST_LEAST;
            if (!(fabs(dm_trial_number(got, p, e, k) - right) <= (is_float ? MARGIN * bound : 0)))
                return true;
        }
    return false;
}

static bool notices(const dm_cheat_case *c, const uint8_t *got)
{
    for (int i = 0; i < c->trial->param_count; i++) {
        const dm_trial_param *p = &c->trial->params[i];
        for (int k = 0; p->is_array && p->writes && k < p->column_count; k++)
            if (column_differs(p, &p->columns[k], kept_outputs(c), got))
                return true;
    }
    return false;
}

/* ---- Cheats ---- */

typedef enum ignored { AS_ONE, AS_ZERO, AS_LEAST, AS_MOST, IGNORED_COUNT } ignored;

static double ignored_value(const dm_trial *t, const dm_trial_param *p, const dm_trial_leaf *leaf,
                            ignored how)
{
    if (leaf->is_float)
        return how == AS_ONE ? 1 : how == AS_ZERO ? 0 : how == AS_LEAST ? 0.6 : 1.4;
    if (leaf->scalar == DM_KERNEL_BOOL)
        return how == AS_ONE || how == AS_MOST;
    int low = p->is_array ? 0 : 1;
    return how == AS_MOST ? t->size - 1 + low : how == AS_ONE ? 1 : low;
}

static void overwrite(const dm_trial *t, int param, ignored how)
{
    const dm_trial_param *p = &t->params[param];
    uint8_t *memory = p->is_array ? t->before : t->block;
    for (size_t e = 0; e < p->count; e++)
        for (int k = 0; k < p->leaf_count; k++)
            dm_kernel_store_number(memory + dm_trial_at(p, e, k), p->leaves[k].scalar,
                                   ignored_value(t, p, &p->leaves[k], how));
}

static void restore(const dm_cheat_case *c)
{
    memcpy(c->trial->block, c->kept, c->trial->block_size);
    memcpy(c->trial->before, kept_before(c), c->trial->image_size);
}

static bool miss(const search *s, const char *what, const char *name)
{
    snprintf(s->reason, s->size, "the test does not notice %s '%s'", what, name);
    return false;
}

static bool notices_ignored(const search *s, int param)
{
    for (ignored how = AS_ONE; how < IGNORED_COUNT; how++) {
        bool noticed = false;
        for (int i = 0; i < DM_CHEAT_CASES && !noticed; i++) {
            const dm_cheat_case *c = &s->cases[i];
            overwrite(c->trial, param, how);
            run(s, c->trial);
            noticed = notices(c, c->trial->now);
            restore(c);
        }
        if (!noticed)
            return miss(s, "that an argument is ignored:", s->cases[0].trial->params[param].name);
    }
    return true;
}

static bool same_kind(const dm_trial_param *a, const dm_trial_param *b)
{
    if (a->count != b->count || a->leaf_count != b->leaf_count || a->step != b->step)
        return false;
    for (int k = 0; k < a->leaf_count; k++)
        if (a->leaves[k].scalar != b->leaves[k].scalar)
            return false;
    return true;
}

/* `from`: an array whose contents are given out as all results that can hold them; -1: zeros; -2: the
 * results stay as they were. False: no result can hold them. */
static bool pretend(const dm_trial *t, int from)
{
    bool any = false;
    memcpy(t->now, t->before, t->image_size);
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        if (!p->is_array || !p->writes || from == -2)
            continue;
        if (from == -1)
            memset(t->now + p->offset, 0, p->step * p->count);
        else if (from != i && t->params[from].is_array && same_kind(p, &t->params[from]))
            memcpy(t->now + p->offset, t->before + t->params[from].offset, p->step * p->count);
        else
            continue;
        any = true;
    }
    return any || from == -2;
}

static bool notices_pretence(const search *s, int from)
{
    for (int i = 0; i < DM_CHEAT_CASES; i++) {
        const dm_cheat_case *c = &s->cases[i];
        if (!pretend(c->trial, from) || notices(c, c->trial->now))
            return true;
    }
    return from < 0 ? miss(s, from == -1 ? "zeros" : "that nothing is done", "")
                    : miss(s, "a copy of", s->cases[0].trial->params[from].name);
}

static bool notices_all(const search *s)
{
    const dm_trial *t = s->cases[0].trial;
    bool fine = true;
    for (int from = -2; from < t->param_count && fine; from++)
        fine = notices_pretence(s, from);
    for (int i = 0; i < t->param_count && fine; i++)
        if (!t->params[i].is_array || t->params[i].reads)
            fine = notices_ignored(s, i);
    return fine;
}

/* ---- Drawing ---- */

/* Are the results the same when other bytes lie beside the arrays? */
static bool stays_inside(const search *s, const dm_cheat_case *c)
{
    const dm_trial *t = c->trial;
    bool same = true;
    dm_trial_fill_guards(t, t->before, OTHER_BYTE);
    run(s, t);
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        same &= !p->is_array ||
                memcmp(t->now + p->offset, kept_outputs(c) + p->offset, p->step * p->count) == 0;
    }
    dm_trial_fill_guards(t, t->before, GUARD_BYTE);
    return same;
}

static bool try_case(const search *s, int number, int percent, uint64_t seed)
{
    const dm_cheat_case *c = &s->cases[number];
    dm_trial *t = c->trial;
    dm_trial_draw_case(t, (dm_trial_kind)number, percent, seed);
    dm_trial_fill_guards(t, t->before, GUARD_BYTE);
    memcpy(c->kept, t->block, t->block_size);
    memcpy(kept_before(c), t->before, t->image_size);
    run(s, t);
    if (!dm_trial_guards_hold(t, t->now, GUARD_BYTE)) {
        snprintf(s->reason, s->size, "writes outside of its arrays at size %d", t->size);
        return false;
    }
    memcpy(kept_outputs(c), t->now, t->image_size);
    if (!is_finite(t, t->now)) {
        snprintf(s->reason, s->size, "a result is not finite in case '%s'",
                 dm_cheat_case_names[number]);
        return false;
    }
    bool inside = stays_inside(s, c);
    if (!inside)
        snprintf(s->reason, s->size, "reads outside of its arrays at size %d", t->size);
    return inside;
}

/* Most kernels are not made for negative numbers everywhere: fewer and fewer parameters have some. */
static bool draw_case(const search *s, int number, uint64_t seed)
{
    bool fine = false;
    for (int percent = 70; percent >= 0 && !fine; percent -= 10)
        fine = try_case(s, number, percent, seed + (uint64_t)percent * 0x85EBCA6Bu);
    return fine;
}

/* As compare() of harness.py says it; a NaN is wrong, too. */
static bool describe_difference(const dm_cheat_case *c, const char *name, const dm_trial_param *p,
                                const dm_trial_column *column, const uint8_t *got, dm_buffer *out)
{
    double most = 0, first_got = 0, first_want = 0;
    size_t wrong = 0, number = 0, at = 0;
    const uint8_t *want = kept_outputs(c);
    bool is_float = p->leaves[column->first].is_float;
    for (size_t e = 0; e < p->count; e++)
        for (int k = column->first; k < column->first + column->count; k++)
            most = fmax(most, fabs(dm_trial_number(want, p, e, k)));
    for (size_t e = 0; e < p->count; e++)
        for (int k = column->first; k < column->first + column->count; k++, number++) {
            double right = dm_trial_number(want, p, e, k), is = dm_trial_number(got, p, e, k);
            double bound = is_float ? DM_SYNTH_TEST_PART * fabs(right) +
                                          DM_SYNTH_TEST_SCALE * most + DM_SYNTH_TEST_LEAST
                                    : 0;
            if (fabs(is - right) <= bound)
                continue;
            if (wrong++ == 0) {
                at = number;
                first_got = is;
                first_want = right;
            }
        }
    if (wrong > 0)
        dm_buffer_printf(
            out, "case %s: %s%s%s: %zu of %zu numbers are wrong; number %zu is %.7g, not %.7g\n",
            name, p->name, column->path[0] == '\0' ? "" : ".", column->path, wrong, number, at,
            first_got, first_want);
    return wrong > 0;
}

bool dm_cheat_compare(const dm_cheat_case cases[DM_CHEAT_CASES], dm_cheat_entry forward,
                      char *symptom, size_t size)
{
    search s = {cases, forward, NULL, symptom, size};
    dm_buffer text = DM_BUFFER_EMPTY;
    bool differs = false;
    for (int i = 0; i < DM_CHEAT_CASES; i++) {
        const dm_cheat_case *c = &cases[i];
        restore(c);
        run(&s, c->trial);
        for (int k = 0; k < c->trial->param_count; k++) {
            const dm_trial_param *p = &c->trial->params[k];
            for (int j = 0; p->is_array && p->writes && j < p->column_count; j++)
                differs |= describe_difference(c, dm_cheat_case_names[i], p, &p->columns[j],
                                               c->trial->now, &text);
        }
    }
    snprintf(symptom, size, "%s", dm_buffer_text(&text));
    char *last = strrchr(symptom, '\n'); /* whole lines */
    if (last != NULL)
        last[1] = '\0';
    dm_buffer_deinit(&text);
    return differs;
}

static void seed_adjoints(const dm_trial *t)
{
    memset(t->grad, 0, t->image_size);
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        for (int c = 0; p->is_array && p->writes && c < p->column_count; c++) {
            size_t number = 0;
            for (size_t e = 0; e < p->count; e++)
                for (int k = p->columns[c].first; k < p->columns[c].first + p->columns[c].count;
                     k++)
                    if (p->leaves[k].is_float)
                        dm_kernel_store_number(t->grad + dm_trial_at(p, e, k), p->leaves[k].scalar,
                                               dm_synth_test_weight(number++));
        }
    }
}

static bool find_gradients(const search *s, int number)
{
    const dm_cheat_case *c = &s->cases[number];
    dm_trial *t = c->trial;
    if (s->backward == NULL || !dm_cheat_has_gradients(number))
        return true;
    run(s, t);
    seed_adjoints(t);
    s->backward(t->block, 0, 1, 1);
    memcpy(kept_gradients(c), t->grad, t->image_size);
    if (!is_finite(t, t->grad))
        snprintf(s->reason, s->size, "a gradient is not finite in case '%s'",
                 dm_cheat_case_names[number]);
    return is_finite(t, t->grad);
}

bool dm_cheat_find_cases(const dm_cheat_case cases[DM_CHEAT_CASES], dm_cheat_entry forward,
                         dm_cheat_entry backward, uint64_t seed, char *reason, size_t size)
{
    search s = {cases, forward, backward, reason, size};
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        bool fine = true;
        for (int i = 0; i < DM_CHEAT_CASES && fine; i++)
            fine = draw_case(&s, i, seed + (draw * DM_CHEAT_CASES + (uint64_t)i) * 0x9E3779B9u);
        fine = fine && notices_all(&s);
        for (int i = 0; i < DM_CHEAT_CASES && fine; i++)
            fine = find_gradients(&s, i);
        if (fine)
            return true;
    }
    return false;
}
