/* SPDX-License-Identifier: MIT */
/* Two hundred generated pairs on a GPU: both passes give what the CPU gives. */
#include "base/thread.h"
#include "device/nvrtc.h"
#include "lang/compile.h"
#include "synth/check/bundle.h"
#include "synth/check/compile.h"
#include "synth/check/trial.h"
#include "synth/check/verify.h"
#include "synth/gen/generate.h"
#include "tests/device/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 200
#define UNIT 8 /* pairs that are compiled together */
#define UNITS (PAIRS / UNIT)
#define SIZE 7
#define SEEDS 3 /* arguments that are tried */

typedef struct pair {
    dm_synth_record record;
    dm_trial *trials[SEEDS];
    char symbols[2][2][300]; /* [CPU, GPU][pass] */
    char *c_text;            /* both passes */
    dm_module *module;       /* on the CPU */
    dm_status status;
    dm_error error;
} pair;

typedef struct unit {
    char *text; /* CUDA, of its pairs */
    dm_status status;
    dm_error error;
} unit;

static pair pairs[PAIRS];
static unit units[UNITS];

/* ---- Making ---- */

static void make_trials(pair *p, uint64_t slot, char entry[256])
{
    dm_compilation c;
    dm_compile_options options = {0};
    const dm_buffer *text = &p->record.python_source;
    assert_ok(dm_compilation_init(&c, "kernel.py", text->data, text->size, &options, err));
    int kernel = dm_compilation_find(&c, p->record.kernel_name);
    dm_buffer printed = DM_BUFFER_EMPTY;
    assert_ok(dm_compilation_kernel(&c, kernel, err));
    assert_ok(dm_compilation_print_pass(&c, kernel, DM_TARGET_C, DM_PASS_FORWARD, &printed, err));
    snprintf(entry, 256, "%.250s", c.kernels[kernel].forward->entry_name);
    for (uint64_t i = 0; i < SEEDS; i++)
        assert_ok(
            dm_trial_create(c.kernels[kernel].forward, SIZE, 1000 * i + slot, &p->trials[i], err));
    dm_buffer_deinit(&printed);
    dm_compilation_deinit(&c);
}

static void add_texts(dm_bundle *bundle, pair *p, int on, const char *entry)
{
    const dm_synth_record *r = &p->record;
    const dm_buffer *texts[2][2] = {{&r->c_forward, &r->c_backward},
                                    {&r->cuda_forward, &r->cuda_backward}};
    for (int pass = 0; pass < 2; pass++) {
        char name[300];
        p->symbols[on][pass][0] = '\0';
        if (texts[on][pass]->size == 0)
            continue;
        assert_ok(dm_bundle_add(bundle, texts[on][pass]->data, texts[on][pass]->size, err));
        snprintf(name, sizeof name, "%.250s_%s", entry, pass == 0 ? "forward" : "backward");
        snprintf(p->symbols[on][pass], sizeof p->symbols[on][pass], "%s",
                 dm_bundle_name(bundle, name));
    }
}

/* Pairs that pass level `run`: what a dataset ships. */
static void choose_pairs(void)
{
    dm_synth_profile *profile;
    dm_synth_generator *generator;
    dm_synth_compiler *compiler;
    dm_synth_verifier *verifier;
    dm_synth_verify_options options = {.level = DM_SYNTH_VERIFY_RUN};
    assert_ok(dm_synth_profile_create(NULL, &profile, err));
    assert_ok(dm_synth_generator_create(profile, &generator, err));
    assert_ok(dm_synth_compiler_create(&compiler, err));
    assert_ok(dm_synth_verifier_create(&options, &verifier, err));
    uint64_t slot = 0;
    for (int count = 0; count < PAIRS;) {
        dm_synth_record *list[PAIRS];
        dm_synth_result results[PAIRS];
        int wanted = PAIRS - count;
        for (int i = 0; i < wanted; i++, slot++) {
            dm_synth_record *r = list[i] = &pairs[count + i].record;
            assert_ok(dm_synth_generate(generator, 200, slot, 0,
                                        (dm_synth_category)(slot % DM_SYNTH_CATEGORY_COUNT), r,
                                        err));
            assert_ok(dm_synth_compile(compiler, r, DM_SYNTH_TEXT_C, err));
        }
        assert_ok(dm_synth_verify_batch(verifier, list, wanted, results, err));
        int kept = 0;
        for (int i = 0; i < wanted; i++) { /* those that pass move to the front */
            dm_synth_record swap = pairs[count + kept].record;
            if (!results[i].passed)
                continue;
            pairs[count + kept].record = pairs[count + i].record;
            pairs[count + i].record = swap;
            kept++;
        }
        count += kept;
    }
    for (int i = 0; i < PAIRS; i++)
        assert_ok(dm_synth_compile(compiler, &pairs[i].record, DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_CUDA,
                                   err));
    dm_synth_verifier_destroy(verifier);
    dm_synth_compiler_destroy(compiler);
    dm_synth_generator_destroy(generator);
    dm_synth_profile_destroy(profile);
}

static char *copy_unit(dm_bundle *bundle)
{
    size_t size;
    char *copy = strdup(dm_bundle_text(bundle, &size));
    assert_non_null(copy);
    return copy;
}

static void make_units(void)
{
    dm_bundle *cpu, *gpu;
    assert_ok(dm_bundle_create(&cpu, err));
    assert_ok(dm_bundle_create(&gpu, err));
    for (int u = 0; u < UNITS; u++) {
        dm_bundle_clear(gpu);
        for (int i = u * UNIT; i < (u + 1) * UNIT; i++) {
            char entry[256];
            make_trials(&pairs[i], (uint64_t)i, entry);
            dm_bundle_clear(cpu);
            add_texts(cpu, &pairs[i], 0, entry);
            add_texts(gpu, &pairs[i], 1, entry);
            pairs[i].c_text = copy_unit(cpu);
        }
        units[u].text = copy_unit(gpu);
    }
    dm_bundle_destroy(cpu);
    dm_bundle_destroy(gpu);
}

/* ---- Compiling, on all CPUs ---- */

/* GPU code goes into the cache, from where the module is made below. */
static void compile_units(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        dm_module_desc desc = {.name = "pairs", .text = units[i].text};
        char *code = NULL;
        size_t size;
        bool was_cached;
        units[i].status = dm_nvrtc_compile(&desc, user, &code, &size, &was_cached, &units[i].error);
        free(code);
    }
}

static void compile_pairs(void *user, uint64_t begin, uint64_t end, int worker)
{
    static const char *const options[] = {"-O0", "-fwrapv", NULL};
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        dm_module_desc desc = {.name = "pair", .text = pairs[i].c_text, .cpu_options = options};
        pairs[i].status = dm_module_create(user, &desc, &pairs[i].module, &pairs[i].error);
    }
}

static void compile_all(dm_device *cpu)
{
    dm_pool *pool;
    char arch[32];
    snprintf(arch, sizeof arch, "%s", dm_device_get_properties(dm_test_gpu_device)->arch);
    assert_ok(dm_pool_create(0, &pool, err));
    dm_pool_run(pool, UNITS, 1, compile_units, arch);
    dm_pool_run(pool, PAIRS, 1, compile_pairs, cpu);
    dm_pool_destroy(pool);
    for (int i = 0; i < UNITS; i++)
        if (units[i].status != DM_OK)
            fail_msg("unit %d: %s", i, units[i].error.message);
    for (int i = 0; i < PAIRS; i++)
        if (pairs[i].status != DM_OK)
            fail_msg("%s: %s", pairs[i].record.id, pairs[i].error.message);
}

/* ---- Running ---- */

/* Both passes; `now` and `grad` of the trial are what they leave. */
static void run_pair(dm_device *device, dm_module *module, const pair *p, int on, dm_trial *t)
{
    dm_device_buffer *now, *grad;
    dm_stream *stream = dm_device_stream(device);
    uint8_t *block = malloc(t->block_size + 8);
    uint64_t tasks = 1;
    assert_non_null(block);
    for (int i = 0; i < t->dimensions; i++)
        tasks *= SIZE;
    assert_ok(dm_device_buffer_create(device, t->image_size, &now, err));
    assert_ok(dm_device_buffer_create(device, t->image_size, &grad, err));
    dm_trial_bind(t, block, dm_device_buffer_address(now), dm_device_buffer_address(grad));
    assert_ok(dm_stream_upload(stream, now, 0, t->before, t->image_size, err));
    assert_ok(dm_stream_upload(stream, grad, 0, t->weights, t->image_size, err));
    for (int pass = 0; pass < 2 && p->symbols[on][pass][0] != '\0'; pass++) {
        dm_function *function;
        assert_ok(dm_module_function(module, p->symbols[on][pass], &function, err));
        assert_ok(dm_function_launch(function, stream, dm_grid_for(tasks, 64), block, t->block_size,
                                     err));
        if (pass == 0)
            assert_ok(dm_stream_download(stream, now, 0, t->now, t->image_size, err));
    }
    assert_ok(dm_stream_download(stream, grad, 0, t->grad, t->image_size, err));
    assert_ok(dm_stream_synchronize(stream, err));
    dm_device_buffer_destroy(now);
    dm_device_buffer_destroy(grad);
    free(block);
}

/* Functions and sums round otherwise there. A kernel may compute in a narrower type than that of
 * the array, so the narrowest of all its parameters counts. */
static double tolerance(const dm_trial *t)
{
    for (int i = 0; i < t->param_count; i++)
        for (int k = 0; k < t->params[i].leaf_count; k++)
            if (t->params[i].leaves[k].scalar == DM_KERNEL_FLOAT16)
                return 2e-2;
    return 1e-3;
}

/* "out[3]: 1.5, on the CPU 2"; "" when all numbers agree. */
static void compare(const dm_trial *t, const uint8_t *gpu, const uint8_t *cpu, bool only_floats,
                    char out[160])
{
    const double part = tolerance(t);
    out[0] = '\0';
    for (int i = 0; i < t->param_count; i++) {
        const dm_trial_param *p = &t->params[i];
        bool wanted = p->is_array && (only_floats ? p->floats : p->writes);
        for (size_t e = 0; wanted && e < p->count; e++)
            for (int k = 0; k < p->leaf_count; k++) {
                if (only_floats && !p->leaves[k].is_float)
                    continue;
                double a = dm_trial_number(gpu, p, e, k), b = dm_trial_number(cpu, p, e, k);
                if (a == b || (isnan(a) && isnan(b)) ||
                    (p->leaves[k].is_float && fabs(a - b) <= part * fmax(1, fabs(b))))
                    continue;
                snprintf(out, 160, "%s[%zu]: %.9g, on the CPU %.9g", p->name, e, a, b);
                return;
            }
    }
}

static bool same_on_both(dm_device *cpu, dm_module *module, const pair *p, dm_trial *t,
                         char why[200])
{
    char found[160];
    uint8_t *now = malloc(t->image_size), *grad = malloc(t->image_size);
    assert_true(now != NULL && grad != NULL);
    run_pair(cpu, p->module, p, 0, t);
    memcpy(now, t->now, t->image_size);
    memcpy(grad, t->grad, t->image_size);
    run_pair(dm_test_gpu_device, module, p, 1, t);
    compare(t, t->now, now, false, found);
    if (found[0] != '\0')
        snprintf(why, 200, "%s", found);
    else if (compare(t, t->grad, grad, true, found), found[0] != '\0')
        snprintf(why, 200, "gradient of %s", found);
    free(now);
    free(grad);
    return found[0] == '\0';
}

/* An argument may lie where a branch or a rounding to integer goes the other way for the last bit:
 * then other arguments must agree, and few pairs may need them. */
static void same_as_cpu(void **state)
{
    (void)state;
    dm_device *cpu;
    dm_device_tools tools;
    int again = 0;
    dm_test_gpu();
    dm_device_tools_find(&tools);
    if (!tools.cc)
        dm_test_skip("%s", tools.cc_reason);
    choose_pairs();
    make_units();
    assert_ok(dm_device_open("cpu:1", &cpu, err));
    compile_all(cpu);
    for (int u = 0; u < UNITS; u++) {
        dm_module *module;
        dm_module_desc desc = {.name = "pairs", .text = units[u].text};
        assert_ok(dm_module_create(dm_test_gpu_device, &desc, &module, err));
        for (int i = u * UNIT; i < (u + 1) * UNIT; i++) {
            char why[200] = "";
            bool same = false;
            for (int k = 0; k < SEEDS && !same; k++) {
                same = same_on_both(cpu, module, &pairs[i], pairs[i].trials[k], why);
                again += !same;
            }
            if (!same)
                fail_msg("%s: %s\n%s", pairs[i].record.id, why,
                         dm_buffer_text(&pairs[i].record.python_source));
        }
        dm_module_destroy(module);
    }
    dm_device_close(cpu);
    if (again > PAIRS / 20)
        fail_msg("%d of %d pairs differ at first", again, PAIRS);
}

static void close_all(void **state)
{
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        for (int k = 0; k < SEEDS; k++)
            dm_trial_destroy(pairs[i].trials[k]);
        dm_module_destroy(pairs[i].module);
        free(pairs[i].c_text);
        dm_synth_record_deinit(&pairs[i].record);
    }
    for (int i = 0; i < UNITS; i++)
        free(units[i].text);
    dm_test_gpu();
    dm_device_close(dm_test_gpu_device);
    dm_test_gpu_device = NULL;
}

DM_TESTS("gpu/synth", DM_TEST(same_as_cpu), DM_TEST(close_all))
