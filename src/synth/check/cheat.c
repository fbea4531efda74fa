/* SPDX-License-Identifier: MIT */
/* cheat.c - the cases of a record's test, and the cheats that they have to notice; see cheat.h. */
#include "synth/check/cheat.h"

#include "kernel/internal.h"
#include "synth/check/sandbox.h"
#include "synth/lesson/test.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS 12
#define MIXED_DRAWS 96 /* for one more case, as long as a mutant or a cheat is not noticed */
#define EDGE_DRAWS 64  /* when only edges are left */
#define EDGE_CASES 2   /* at most so many cases for them alone */
#define MISSED_MAX 2   /* mutants, and a quarter of them, that the test may miss */
#define MARGIN 4       /* times the tolerance */
#define GUARD_BYTE 0x3C
#define OTHER_BYTE 0xC3

const char *const dm_cheat_case_names[DM_CHEAT_CASES] = {
    "ordinary", "ends", "full", "signed", "mixed", "mixed 2", "mixed 3", "mixed 4"};
const int dm_cheat_case_sizes[DM_CHEAT_CASES] = {5, 4, 6, 5, 5, 4, 6, 5};

bool dm_cheat_has_gradients(int number)
{
    return number != DM_TRIAL_ENDS && number < DM_CHEAT_BASE;
}

/* What a test has to notice. */
typedef enum duty_kind { PRETENCE, IGNORED, MUTANT } duty_kind;

typedef struct duty {
    duty_kind kind;
    int number; /* PRETENCE: as in pretend(); IGNORED: the parameter; MUTANT: which */
    int how;    /* IGNORED */
    bool edge;
    bool noticed;
} duty;

typedef struct search {
    const dm_cheat_case *cases;
    int case_count;
    const dm_cheat_subject *subject;
    dm_sandbox *sandbox;
    duty *duties;
    int duty_count;
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
    s->subject->forward(t->block, 0, 1, 1);
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

/* From AS_CASE on: as in the first case, the second ... */
typedef enum ignored { AS_ONE, AS_ZERO, AS_LEAST, AS_MOST, AS_CASE } ignored;

static double ignored_value(const dm_trial *t, const dm_trial_param *p, const dm_trial_leaf *leaf,
                            int how)
{
    if (leaf->is_float)
        return how == AS_ONE ? 1 : how == AS_ZERO ? 0 : how == AS_LEAST ? 0.6 : 1.4;
    if (leaf->scalar == DM_KERNEL_BOOL)
        return how == AS_ONE || how == AS_MOST;
    int low = p->is_array ? 0 : 1;
    return how == AS_MOST ? t->size - 1 + low : how == AS_ONE ? 1 : low;
}

static void overwrite(const search *s, const dm_trial *t, int param, int how)
{
    const dm_trial_param *p = &t->params[param];
    uint8_t *memory = p->is_array ? t->before : t->block;
    for (size_t e = 0; e < p->count; e++)
        for (int k = 0; k < p->leaf_count; k++)
            dm_kernel_store_number(memory + dm_trial_at(p, e, k), p->leaves[k].scalar,
                                   how >= AS_CASE
                                       ? dm_trial_number(s->cases[how - AS_CASE].kept, p, e, k)
                                       : ignored_value(t, p, &p->leaves[k], how));
}

static void restore(const dm_cheat_case *c)
{
    memcpy(c->trial->block, c->kept, c->trial->block_size);
    memcpy(c->trial->before, kept_before(c), c->trial->image_size);
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

/* ---- Duties ---- */

static bool add_duty(search *s, duty_kind kind, int number, int how, bool edge)
{
    duty *grown = realloc(s->duties, (size_t)(s->duty_count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    s->duties = grown;
    grown[s->duty_count++] = (duty){.kind = kind, .number = number, .how = how, .edge = edge};
    return true;
}

static bool list_duties(search *s)
{
    const dm_trial *t = s->cases[0].trial;
    bool fine = true;
    for (int from = -2; from < t->param_count && fine; from++)
        if (pretend(t, from))
            fine = add_duty(s, PRETENCE, from, 0, false);
    for (int i = 0; i < t->param_count && fine; i++) {
        const dm_trial_param *p = &t->params[i];
        int ways = p->is_array ? (int)AS_CASE : (int)AS_CASE + DM_CHEAT_BASE;
        for (int how = 0; how < ways && fine && (!p->is_array || p->reads); how++)
            fine = add_duty(s, IGNORED, i, how, false);
    }
    for (int i = 0; i < s->subject->mutant_count && fine; i++)
        fine = add_duty(s, MUTANT, i, 0, s->subject->mutants[i].edge);
    return fine;
}

static bool notices_duty(const search *s, const dm_cheat_case *c, const duty *d)
{
    bool found;
    switch (d->kind) {
    case PRETENCE:
        return pretend(c->trial, d->number) && notices(c, c->trial->now);
    case IGNORED:
        overwrite(s, c->trial, d->number, d->how);
        found = !dm_sandbox_run(s->sandbox, c->trial, s->subject->forward) ||
                notices(c, s->sandbox->image);
        restore(c);
        return found;
    case MUTANT:
        break;
    }
    return !dm_sandbox_run(s->sandbox, c->trial, s->subject->mutants[d->number].entry) ||
           notices(c, s->sandbox->image);
}

/* How many more duties a case notices. */
static int notice(search *s, const dm_cheat_case *c, bool edges)
{
    int count = 0;
    for (int i = 0; i < s->duty_count; i++) {
        duty *d = &s->duties[i];
        if (d->noticed || (d->edge && !edges))
            continue;
        d->noticed = notices_duty(s, c, d);
        count += d->noticed;
    }
    return count;
}

static int count_left(const search *s, bool edges)
{
    int count = 0;
    for (int i = 0; i < s->duty_count; i++)
        count += !s->duties[i].noticed && s->duties[i].edge == edges;
    return count;
}

/* The first cheat that no case notices. */
static bool has_missed_cheat(const search *s)
{
    const dm_trial *t = s->cases[0].trial;
    for (int i = 0; i < s->duty_count; i++) {
        const duty *d = &s->duties[i];
        if (d->noticed || d->kind == MUTANT)
            continue;
        const char *what = d->kind == IGNORED ? "that an argument is ignored:"
                           : d->number == -1  ? "zeros"
                           : d->number == -2  ? "that nothing is done"
                                              : "a copy of";
        snprintf(s->reason, s->size, "the test does not notice %s '%s'", what,
                 d->kind == IGNORED || d->number >= 0 ? t->params[d->number].name : "");
        return true;
    }
    return false;
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

/* Does the kernel in float64 give the same of the same decimal numbers? */
static bool agrees_with_wide(const search *s, const dm_cheat_case *c, dm_trial_kind kind,
                             int percent, uint64_t seed)
{
    dm_trial *w = c->wide;
    if (w == NULL || s->subject->wide == NULL)
        return true;
    dm_trial_draw_case(w, kind, percent, seed);
    memcpy(w->now, w->before, w->image_size);
    s->subject->wide(w->block, 0, 1, 1);
    for (int i = 0; i < w->param_count; i++) {
        const dm_trial_param *p = &w->params[i], *narrow = &c->trial->params[i];
        double most = 0;
        for (size_t e = 0; p->is_array && p->writes && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++)
                most = fmax(most, fabs(dm_trial_number(w->now, p, e, k)));
        for (size_t e = 0; p->is_array && p->writes && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++) {
                double right = dm_trial_number(w->now, p, e, k);
                double is = dm_trial_number(kept_outputs(c), narrow, e, k);
                double bound = DM_SYNTH_TEST_PART * fabs(right) + DM_SYNTH_TEST_SCALE * most +
                               DM_SYNTH_TEST_LEAST;
                if (!(fabs(is - right) <= (p->leaves[k].is_float ? bound / 2 : 0)))
                    return false;
            }
    }
    return true;
}

static bool try_case(const search *s, int number, int percent, bool strict, uint64_t seed)
{
    const dm_cheat_case *c = &s->cases[number];
    dm_trial *t = c->trial;
    dm_trial_kind kind = number < DM_CHEAT_BASE ? (dm_trial_kind)number : DM_TRIAL_MIXED;
    dm_trial_draw_case(t, kind, percent, seed);
    dm_trial_fill_guards(t, t->before, GUARD_BYTE);
    memcpy(c->kept, t->block, t->block_size);
    memcpy(kept_before(c), t->before, t->image_size);
    if (!dm_sandbox_run(s->sandbox, t, s->subject->forward)) {
        snprintf(s->reason, s->size, "stopped in case '%s'", dm_cheat_case_names[number]);
        return false;
    }
    feclearexcept(FE_ALL_EXCEPT);
    run(s, t);
    if (strict &&
        fetestexcept(FE_INVALID) != 0) { /* what a minimum may hide: NaN is no number to it */
        snprintf(s->reason, s->size, "the root of a negative number, or the like, in case '%s'",
                 dm_cheat_case_names[number]);
        return false;
    }
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
    if (!stays_inside(s, c)) {
        snprintf(s->reason, s->size, "reads outside of its arrays at size %d", t->size);
        return false;
    }
    if (strict && !agrees_with_wide(s, c, kind, percent, seed)) {
        snprintf(s->reason, s->size, "results depend on rounding in case '%s'",
                 dm_cheat_case_names[number]);
        return false;
    }
    return true;
}

/* Most kernels are not made for negative numbers everywhere: fewer and fewer parameters have some. */
static bool draw_case(const search *s, int number, bool strict, uint64_t seed)
{
    bool fine = false;
    for (int percent = 70; percent >= 0 && !fine; percent -= 10)
        fine = try_case(s, number, percent, strict, seed + (uint64_t)percent * 0x85EBCA6Bu);
    return fine;
}

/* One more case, that notices what those before do not. */
static bool add_mixed_case(search *s, bool edges, int draws, uint64_t *seed)
{
    const dm_cheat_case *c = &s->cases[s->case_count];
    for (int i = 0; i < draws; i++) {
        *seed += 0x9E3779B97F4A7C15u;
        if (!try_case(s, s->case_count, 0, true, *seed) || notice(s, c, edges) == 0)
            continue;
        notice(s, c, true);
        s->case_count++;
        return true;
    }
    return false;
}

static void add_mixed_cases(search *s, uint64_t seed)
{
    while (s->case_count < DM_CHEAT_CASES && count_left(s, false) > 0 &&
           add_mixed_case(s, false, MIXED_DRAWS, &seed))
        continue;
    for (int i = 0; i < EDGE_CASES && s->case_count < DM_CHEAT_CASES && count_left(s, true) > 0;
         i++)
        if (!add_mixed_case(s, true, EDGE_DRAWS, &seed))
            break;
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

bool dm_cheat_compare(const dm_cheat_case *cases, int count, dm_cheat_entry forward, char *symptom,
                      size_t size)
{
    dm_cheat_subject subject = {.forward = forward};
    search s = {.cases = cases, .subject = &subject};
    dm_buffer text = DM_BUFFER_EMPTY;
    bool differs = false;
    for (int i = 0; i < count; i++) {
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
    if (s->subject->backward == NULL || !dm_cheat_has_gradients(number))
        return true;
    run(s, t);
    seed_adjoints(t);
    s->subject->backward(t->block, 0, 1, 1);
    memcpy(kept_gradients(c), t->grad, t->image_size);
    if (!is_finite(t, t->grad))
        snprintf(s->reason, s->size, "a gradient is not finite in case '%s'",
                 dm_cheat_case_names[number]);
    return is_finite(t, t->grad);
}

static void count(const search *s, dm_cheat_found *found)
{
    int missed = 0;
    *found = (dm_cheat_found){.case_count = s->case_count};
    for (int i = 0; i < s->duty_count; i++) {
        const duty *d = &s->duties[i];
        found->cheats += d->kind != MUTANT;
        found->edges += d->edge;
        found->edges_noticed += d->edge && d->noticed;
        if (d->kind != MUTANT || d->edge)
            continue;
        found->mutants++;
        found->noticed += d->noticed;
        if (!d->noticed && missed < (int)(sizeof found->missed / sizeof found->missed[0]))
            found->missed[missed++] = d->number;
    }
}

static bool find_cases(search *s)
{
    bool fine = false;
    for (uint64_t draw = 0; draw < DRAWS && !fine; draw++) {
        uint64_t seed = s->subject->seed + draw * DM_CHEAT_BASE * 0x9E3779B9u;
        fine = true;
        s->case_count = DM_CHEAT_BASE;
        for (int i = 0; i < DM_CHEAT_BASE && fine; i++) /* at last also what rounding changes */
            fine = draw_case(s, i, draw < DRAWS / 2, seed + (uint64_t)i * 0x9E3779B9u);
        for (int i = 0; i < s->duty_count; i++)
            s->duties[i].noticed = false;
        for (int i = 0; i < DM_CHEAT_BASE && fine; i++)
            notice(s, &s->cases[i], true);
        if (fine)
            add_mixed_cases(s, seed);
        fine = fine && !has_missed_cheat(s);
        for (int i = 0; i < DM_CHEAT_BASE && fine; i++)
            fine = find_gradients(s, i);
    }
    return fine;
}

bool dm_cheat_find_cases(const dm_cheat_case cases[DM_CHEAT_CASES], const dm_cheat_subject *subject,
                         dm_cheat_found *found, char *reason, size_t size)
{
    dm_sandbox sandbox;
    search s = {
        .cases = cases, .subject = subject, .sandbox = &sandbox, .reason = reason, .size = size};
    size_t image = 0;
    for (int i = 0; i < DM_CHEAT_CASES; i++)
        image = cases[i].trial->image_size > image ? cases[i].trial->image_size : image;
    if (!dm_sandbox_open(&sandbox, image, cases[0].trial->block_size)) {
        snprintf(reason, size, "no memory for its test");
        return false;
    }
    bool fine = list_duties(&s);
    if (!fine)
        snprintf(reason, size, "no memory for its test");
    fine = fine && find_cases(&s);
    if (fine)
        count(&s, found);
    int missed = fine ? found->mutants - found->noticed : 0;
    if (missed > MISSED_MAX && missed * 4 > found->mutants) {
        snprintf(reason, size, "the test notices only %d of %d changed operators", found->noticed,
                 found->mutants);
        fine = false;
    }
    dm_sandbox_close(&sandbox);
    free(s.duties);
    return fine;
}
