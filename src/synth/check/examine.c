/* SPDX-License-Identifier: MIT */
/* examine.c - run compiled kernels and judge what comes out; see examine.h.
 *
 *   run    outputs finite, the same whatever lies beside the arrays, nothing written there, and
 *          changed by every input; gradients finite; both the same, but for rounding, when the
 *          threads run in the opposite order, so that a GPU gives them too
 *   grad   in float64: the gradient of sum(weight * output) against central differences. Where the
 *          two disagree and the function has an edge (its slopes to the left and to the right
 *          differ, and the gradient lies between them), the place is left out
 *   full   every array of floats that is read has a gradient that is not zero everywhere
 *
 * From level run on a record that has a reference gets the cases of its test (cheat.h). */
#include "synth/check/examine.h"

#include "kernel/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ELEMENTS_MAX 48 /* differences taken for a kernel, about */
#define DRAWS 4         /* an input is drawn again so often until something changes */
#define STEP 1e-6
#define SECONDS_MAX 2 /* of CPU time, for one kernel */
#define GUARD_BYTE 0x3C
#define OTHER_BYTE 0xC3

/* ---- Running ---- */

static void forward(const dm_examine_pass *pass)
{
    const dm_trial *t = pass->trial;
    memcpy(t->now, t->before, t->image_size);
    pass->forward(t->block, 0, 1, 1);
}

/* Run the backward pass after the forward pass: gradients of the weighted sum. */
static void backward(const dm_examine_pass *pass)
{
    const dm_trial *t = pass->trial;
    memcpy(t->grad, t->weights, t->image_size);
    pass->backward(t->block, 0, 1, 1);
}

static bool fail(dm_examine_outcome *o, dm_synth_level level, const char *format, ...)
    DM_PRINTF(3, 4);
static bool fail(dm_examine_outcome *o, dm_synth_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(o->reason, sizeof o->reason, format, args);
    va_end(args);
    o->failed_at = level;
    return false;
}

/* ---- Outputs ---- */

/* The largest number of an image's arrays of floats; not finite when one is not. */
static double largest(const dm_trial *t, const uint8_t *image, bool only_written,
                      const char **where)
{
    double most = 0;
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        if (!p->is_array || (only_written && !p->writes) || !p->floats)
            continue;
        for (size_t e = 0; e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++) {
                double value = p->leaves[k].is_float ? dm_trial_number(image, p, e, k) : 0;
                if (!isfinite(value)) {
                    *where = p->name;
                    return INFINITY;
                }
                most = fmax(most, fabs(value));
            }
    }
    return most;
}

/* Are all outputs the same, number by number? (Bytes between them say nothing.) */
static bool same_outputs(const dm_trial *t, const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        for (size_t e = 0; p->is_array && p->writes && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++) {
                size_t at = dm_trial_at(p, e, k);
                size_t size = (size_t)dm_scalar_bytes((dm_scalar)p->leaves[k].scalar);
                if (memcmp(a + at, b + at, size) != 0)
                    return false;
            }
    }
    return true;
}

/* Every thread by itself, the last one first. */
static void run_reversed(const dm_trial *t, dm_examine_entry entry)
{
    uint64_t threads = 1;
    for (int i = 0; i < t->dimensions; i++)
        threads *= (uint64_t)t->size;
    for (uint64_t i = threads; i-- > 0;)
        entry(t->block, i, i + 1, threads);
}

/* May two numbers be the same sum, added up in another order? */
static bool nearly_same(const dm_trial_leaf *leaf, double a, double b)
{
    if (!leaf->is_float || a == b)
        return a == b;
    double part = leaf->scalar == DM_KERNEL_FLOAT16   ? 1e-2
                  : leaf->scalar == DM_KERNEL_FLOAT32 ? 1e-4
                                                      : 1e-11;
    return fabs(a - b) <= part * fmax(1, fmax(fabs(a), fabs(b)));
}

/* The array whose numbers differ, `only_written` or all with floats; NULL: none. */
static const char *find_difference(const dm_trial *t, const uint8_t *a, const uint8_t *b,
                                   bool only_written)
{
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        bool wanted = p->is_array && (only_written ? p->writes : p->floats);
        for (size_t e = 0; wanted && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++)
                if ((only_written || p->leaves[k].is_float) &&
                    !nearly_same(&p->leaves[k], dm_trial_number(a, p, e, k),
                                 dm_trial_number(b, p, e, k)))
                    return p->name;
    }
    return NULL;
}

/* Does the input change an output? `outputs` are those of the contents as they are, which are put
 * back. */
static bool matters(const dm_examine_pass *pass, int param, const uint8_t *outputs, uint8_t *saved)
{
    dm_trial *t = pass->trial;
    bool is_array = t->params[param].is_array, found = false;
    uint8_t *memory = is_array ? t->before : t->block;
    size_t size = is_array ? t->image_size : t->block_size;
    memcpy(saved, memory, size);
    for (uint64_t i = 0; i < DRAWS && !found; i++) {
        dm_trial_draw(t, param, 0x5DEECE66Dull + i);
        forward(pass);
        found = !same_outputs(t, t->now, outputs);
    }
    memcpy(memory, saved, size);
    return found;
}

static bool examine_inputs(const dm_examine_pass *pass, const uint8_t *outputs, uint8_t *saved,
                           dm_examine_outcome *o)
{
    const dm_trial *t = pass->trial;
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        bool is_input = !p->is_array || (p->reads && !p->writes);
        if (is_input && !matters(pass, i, outputs, saved))
            return fail(o, DM_SYNTH_VERIFY_RUN, "no output depends on '%s'", p->name);
    }
    return true;
}

static bool examine_run(const dm_examine_pass *pass, uint8_t *outputs, uint8_t *saved,
                        dm_examine_outcome *o)
{
    const dm_synth_level level = DM_SYNTH_VERIFY_RUN;
    dm_trial *t = pass->trial;
    const char *where = "";
    dm_trial_fill_guards(t, t->before, OTHER_BYTE);
    forward(pass);
    memcpy(outputs, t->now, t->image_size);
    dm_trial_fill_guards(t, t->before, GUARD_BYTE);
    forward(pass);
    if (!dm_trial_guards_hold(t, t->now, GUARD_BYTE))
        return fail(o, level, "writes outside of its arrays");
    if (!same_outputs(t, t->now, outputs))
        return fail(o, level, "reads outside of its arrays");
    if (same_outputs(t, t->now, t->before))
        return fail(o, level, "changes none of its arrays");
    o->output_magnitude = largest(t, t->now, true, &where);
    if (!isfinite(o->output_magnitude))
        return fail(o, level, "'%s' is not finite", where);
    memcpy(outputs, t->now, t->image_size);
    memcpy(t->now, t->before, t->image_size);
    run_reversed(t, pass->forward);
    const char *differs = find_difference(t, t->now, outputs, true);
    if (differs != NULL)
        return fail(o, level, "'%s' depends on the order of the threads", differs);
    if (!examine_inputs(pass, outputs, saved, o))
        return false;
    if (pass->backward == NULL)
        return true;
    forward(pass);
    memcpy(outputs, t->now, t->image_size);
    dm_trial_fill_guards(t, t->weights, GUARD_BYTE);
    backward(pass);
    memcpy(saved, t->grad, t->image_size);
    memcpy(t->now, outputs, t->image_size);
    memcpy(t->grad, t->weights, t->image_size);
    run_reversed(t, pass->backward);
    differs = find_difference(t, t->grad, saved, false);
    if (differs != NULL)
        return fail(o, level, "the gradient of '%s' depends on the order of the threads", differs);
    if (!dm_trial_guards_hold(t, t->grad, GUARD_BYTE))
        return fail(o, level, "the backward pass writes outside of its arrays");
    if (!isfinite(largest(t, t->grad, false, &where)))
        return fail(o, level, "the gradient of '%s' is not finite", where);
    return true;
}

/* ---- Gradients ---- */

/* The weighted sum of b - a, and how much of it may be rounding. */
static double weighted_change(const dm_trial *t, const uint8_t *a, const uint8_t *b, double *noise)
{
    double total = 0, size = 0;
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        for (size_t e = 0; p->is_array && p->writes && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++) {
                if (!p->leaves[k].is_float)
                    continue;
                double from = dm_trial_number(a, p, e, k), to = dm_trial_number(b, p, e, k);
                double weight = dm_trial_number(t->weights, p, e, k);
                /* A number that stays may have lost a change to rounding; once. */
                double rounded = from == to ? fabs(from) / 32 : fmax(fabs(from), fabs(to));
                total += weight * (to - from);
                size += fabs(weight) * (from == to ? rounded : fmax(1, rounded));
            }
    }
    *noise = 32 * DBL_EPSILON * size;
    return total;
}

typedef struct place {
    const dm_trial_param *param;
    size_t element;
    int leaf;
} place;

typedef struct slopes {
    double central, left, right;
    double noise; /* of `central`, from rounding */
} slopes;

static slopes differences(const dm_examine_pass *pass, const place *at, double h,
                          const uint8_t *outputs, uint8_t *lower)
{
    const dm_trial *t = pass->trial;
    const dm_trial_leaf *leaf = &at->param->leaves[at->leaf];
    uint8_t *number = t->before + dm_trial_at(at->param, at->element, at->leaf);
    double value = dm_kernel_load_number(number, leaf->scalar), unused;
    slopes s;
    dm_kernel_store_number(number, leaf->scalar, value - h);
    forward(pass);
    memcpy(lower, t->now, t->image_size);
    dm_kernel_store_number(number, leaf->scalar, value + h);
    forward(pass);
    dm_kernel_store_number(number, leaf->scalar, value);
    s.central = weighted_change(t, lower, t->now, &s.noise) / (2 * h);
    s.noise /= 2 * h;
    s.left = weighted_change(t, lower, outputs, &unused) / h;
    s.right = weighted_change(t, outputs, t->now, &unused) / h;
    return s;
}

typedef enum verdict { AGREES, EDGE, DISAGREES } verdict;

static verdict compare(const slopes *s, double gradient, double *error)
{
    double scale = fmax(1, fabs(s->central)), off = fabs(s->central - gradient);
    double allowed = DM_EXAMINE_TOLERANCE * scale + s->noise;
    *error = off / scale;
    if (off <= allowed)
        return AGREES;
    /* Outputs that are not finite beside the place, a jump or a bend there. */
    if (!isfinite(s->central))
        return EDGE;
    double low = fmin(s->left, s->right), high = fmax(s->left, s->right);
    bool bends = high - low > allowed;
    return bends && gradient >= low - allowed && gradient <= high + allowed ? EDGE : DISAGREES;
}

static bool examine_place(const dm_examine_pass *pass, const place *at, double gradient,
                          const uint8_t *outputs, uint8_t *lower, dm_examine_outcome *o)
{
    double error = 0;
    verdict found = DISAGREES;
    slopes s = {0};
    if (!isfinite(gradient))
        return fail(o, DM_SYNTH_VERIFY_GRAD, "the gradient of '%s' is not finite in float64",
                    at->param->name);
    /* A smaller step where the function curves too much for the first. */
    static const double steps[] = {STEP, STEP / 16};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && found == DISAGREES; i++) {
        s = differences(pass, at, steps[i], outputs, lower);
        found = compare(&s, gradient, &error);
    }
    if (found == DISAGREES)
        return fail(o, DM_SYNTH_VERIFY_GRAD,
                    "gradient of '%s', element %zu: %.9g, by differences %.9g", at->param->name,
                    at->element, gradient, s.central);
    if (found == AGREES) {
        o->compared++;
        o->gradient_error = fmax(o->gradient_error, error);
    }
    return true;
}

static bool share_factor(size_t a, size_t b)
{
    while (b != 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 1;
}

/* Some of an array's floats: every `step`th. */
static bool examine_array(const dm_examine_pass *pass, const dm_trial_param *p, const uint8_t *grad,
                          size_t most, const uint8_t *outputs, uint8_t *lower,
                          dm_examine_outcome *o)
{
    size_t floats = 0, number = 0;
    for (int k = 0; k < p->leaf_count; k++)
        floats += p->leaves[k].is_float;
    size_t step = floats * p->count / most + 1;
    while (step > 1 && share_factor(step, floats)) /* not always the same components */
        step++;
    assert(step > 0);
    for (size_t e = 0; e < p->count; e++)
        for (int k = 0; k < p->leaf_count; k++) {
            if (!p->leaves[k].is_float || number++ % step != 0)
                continue;
            place at = {.param = p, .element = e, .leaf = k};
            if (!examine_place(pass, &at, dm_trial_number(grad, p, e, k), outputs, lower, o))
                return false;
        }
    return true;
}

static bool examine_grad(const dm_examine_pass *pass, uint8_t *outputs, uint8_t *lower,
                         uint8_t *grad, dm_examine_outcome *o)
{
    dm_trial *t = pass->trial;
    size_t arrays = 0, read = 0;
    forward(pass);
    memcpy(outputs, t->now, t->image_size);
    backward(pass);
    memcpy(grad, t->grad, t->image_size);
    for (int i = 0; i < t->param_count; i++) {
        arrays += t->params[i].is_array && t->params[i].floats;
        read += t->params[i].is_array && t->params[i].floats && t->params[i].reads;
    }
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        if (p->is_array && p->floats &&
            !examine_array(pass, p, grad, ELEMENTS_MAX / arrays + 1, outputs, lower, o))
            return false;
    }
    if (o->compared == 0 && read > 0)
        return fail(o, DM_SYNTH_VERIFY_GRAD, "no gradient could be compared");
    return true;
}

static bool examine_zeros(const dm_trial *t, const uint8_t *grad, dm_examine_outcome *o)
{
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        bool zero = p->is_array && p->reads && p->floats;
        for (size_t e = 0; zero && e < p->count; e++)
            for (int k = 0; zero && k < p->leaf_count; k++)
                zero = !p->leaves[k].is_float || dm_trial_number(grad, p, e, k) == 0;
        if (zero)
            return fail(o, DM_SYNTH_VERIFY_FULL, "the gradient of '%s' is zero everywhere",
                        p->name);
    }
    return true;
}

/* ---- One kernel ---- */

static bool examine_one(const dm_examine_job *job, dm_examine_outcome *o)
{
    if (job->compared != NULL)
        return !dm_cheat_compare(job->cases, job->case_count, job->compared, o->reason,
                                 sizeof o->reason);
    const dm_trial *single = job->single.trial, *wide = job->wide.trial;
    size_t size = single->image_size + single->block_size;
    if (wide != NULL && wide->image_size > size)
        size = wide->image_size;
    uint8_t *scratch = malloc(3 * size);
    if (scratch == NULL)
        return fail(o, DM_SYNTH_VERIFY_RUN, "out of memory");
    bool fine = examine_run(&job->single, scratch, scratch + size, o);
    if (fine && job->level >= DM_SYNTH_VERIFY_GRAD && wide != NULL && job->wide.backward != NULL) {
        uint8_t *grad = scratch + 2 * size;
        fine = examine_grad(&job->wide, scratch, scratch + size, grad, o);
        if (fine && job->level == DM_SYNTH_VERIFY_FULL)
            fine = examine_zeros(wide, grad, o);
    }
    free(scratch);
    dm_cheat_subject subject = {.forward = job->single.forward,
                                .backward = job->single.backward,
                                .wide = job->wide.forward,
                                .mutants = job->mutants,
                                .mutant_count = job->mutant_count,
                                .seed = job->seed};
    if (fine && job->cases[0].trial != NULL &&
        !dm_cheat_find_cases(job->cases, &subject, &o->found, o->reason, sizeof o->reason)) {
        o->failed_at = DM_SYNTH_VERIFY_RUN;
        return false;
    }
    return fine;
}

/* ---- The process ---- */

/* What both processes see. */
typedef struct board {
    int begun;    /* jobs */
    int finished; /* jobs */
    dm_examine_outcome outcomes[];
} board;

static void start_clock(int seconds)
{
    struct itimerval limit = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static void work(const dm_examine_job *jobs, int count, board *shared)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
    struct rlimit no_core = {0, 0};
    int nowhere = open("/dev/null", O_RDWR);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    for (int i = shared->begun; i < count; i++) {
        shared->begun = i + 1;
        start_clock(SECONDS_MAX);
        shared->outcomes[i].passed = examine_one(&jobs[i], &shared->outcomes[i]);
        shared->finished = i + 1;
    }
    _exit(0);
}

static dm_status run_process(const dm_examine_job *jobs, int count, board *shared, dm_error *err)
{
    int status;
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return dm_fail(err, DM_EIO, "no process to run kernels in: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* no process is left to read results */
        if (getppid() != parent)
            _exit(0);
        work(jobs, count, shared);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return dm_fail(err, DM_EIO, "waiting for kernels: %s", strerror(errno));
    if (shared->finished == count)
        return DM_OK;
    if (shared->begun == shared->finished)
        return dm_fail(err, DM_EIO, "the process that runs kernels ended before its work");
    dm_examine_outcome *o = &shared->outcomes[shared->begun - 1];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM)
        fail(o, DM_SYNTH_VERIFY_RUN, "does not end within %d seconds", SECONDS_MAX);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return dm_fail(err, DM_EIO, "the process that runs kernels was killed");
    else
        fail(o, DM_SYNTH_VERIFY_RUN, "crashes: %s",
             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ends the process");
    shared->finished = shared->begun;
    return DM_OK;
}

dm_status dm_examine(const dm_examine_job *jobs, int count, dm_examine_outcome *outcomes,
                     dm_error *err)
{
    size_t size = sizeof(board) + (size_t)count * sizeof *outcomes;
    board *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = DM_OK;
    while (shared->finished < count && status == DM_OK)
        status = run_process(jobs, count, shared, err);
    memcpy(outcomes, shared->outcomes, (size_t)count * sizeof *outcomes);
    munmap(shared, size);
    return status;
}
