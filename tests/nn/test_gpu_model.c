/* SPDX-License-Identifier: MIT */
/* test_gpu_model.c - whole models on a GPU beside the same ones on the CPU: losses, weights, the same
 * bits in two runs, and what happens when something is wrong. */
#include "tests/device/gpu.h"
#include "tests/nn/model_case.h"

#include <math.h>
#include <string.h>

static dm_nn_model *model_on(dm_device *device, const dm_nn_model_desc *desc)
{
    dm_nn_model *model = NULL;
    assert_ok(dm_nn_model_create(device, desc, &model, err));
    return model;
}

static dm_device *cpu(void)
{
    static dm_device *device;
    if (!device)
        assert_ok(dm_device_open("cpu", &device, err));
    return device;
}

/* Heads of 32, a vocabulary that is padded, sizes that are no multiples of tiles. */
enum { WORDS = 1500 };
static const dm_nn_layer words_layers[] = {GPT_LAYERS(WORDS, WIDE, 0.1f)};

static int32_t words[TOKENS], following[TOKENS];

static dm_nn_model_desc words_desc(dm_nn_precision precision)
{
    words_text(words, following, WORDS);
    return (dm_nn_model_desc){
        .layers = words_layers,
        .layer_count = sizeof words_layers / sizeof words_layers[0],
        .input = {LONG},
        .batch = TEXTS,
        .loss = DM_NN_LOSS_SOFTMAX,
        .seed = 11,
        .precision = precision,
        .optimiser = {
            .kind = DM_NN_ADAMW, .rate = 1e-3f, .decay = 0.1f, .clip = 1, .average = 0.9f}};
}

/* The parts of a parameter that say something: [0, from) and [to, count).
 *
 * Of a bias before attention the middle third belongs to the keys. Softmax does not see what is the
 * same for all keys of a row, so its gradient is zero, and what is computed is what rounding left
 * over. Adam divides it by its own size: two right devices move it by the whole rate, each its own
 * way. Its gradient must be next to nothing; where it went is not compared. */
typedef struct compared {
    size_t from, to;
} compared;

static compared what_counts(const dm_nn_model_desc *desc, const dm_nn_parameter *p)
{
    char *end = NULL;
    unsigned long layer = strtoul(p->name, &end, 10);
    if (layer + 1 < desc->layer_count && desc->layers[layer + 1].kind == DM_NN_LAYER_ATTENTION &&
        strcmp(end, ".bias") == 0)
        return (compared){p->count / 3, p->count / 3 * 2};
    return (compared){p->count, p->count};
}

static double norm_of(const float *x, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += (double)x[i] * x[i];
    return sqrt(sum);
}

/* All parts of parameter k; what is off is printed. Returns how many are. */
static int compare_parameter(const dm_nn_model_desc *desc, dm_nn_model *host, dm_nn_model *gpu,
                             size_t k, double tolerance)
{
    const dm_nn_parameter *p = dm_nn_model_parameter(host, k);
    compared c = what_counts(desc, p);
    float *a = malloc(p->count * sizeof(float)), *b = malloc(p->count * sizeof(float));
    int wrong = 0;
    for (int part = DM_NN_VALUE; part <= DM_NN_GRADIENT; part++) {
        if (part == DM_NN_AVERAGE && !(desc->optimiser.average > 0))
            continue;
        assert_ok(dm_nn_model_read(host, k, (dm_nn_part)part, a, err));
        assert_ok(dm_nn_model_read(gpu, k, (dm_nn_part)part, b, err));
        double off = 0, size = 0;
        for (size_t i = 0; i < p->count; i++) {
            if (i >= c.from && i < c.to)
                continue;
            off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
            size += (double)a[i] * a[i];
        }
        if (!(sqrt(off) <= 30 * tolerance * sqrt(size) + 1e-9)) {
            print_message("%s, part %d: off by %g of %g\n", p->name, part, sqrt(off), sqrt(size));
            wrong++;
        }
        double left = norm_of(a, c.from, c.to), left_gpu = norm_of(b, c.from, c.to);
        if (part == DM_NN_GRADIENT && !(fmax(left, left_gpu) <= tolerance * sqrt(size))) {
            print_message("%s: the keys' gradient is %g and %g, not 0, beside %g\n", p->name, left,
                          left_gpu, sqrt(size));
            wrong++;
        }
    }
    free(a);
    free(b);
    return wrong;
}

/* Ten losses, the last norm, outputs, and what the parameters became. */
static void check_beside_cpu(const dm_nn_model_desc *desc, const void *x, const void *y,
                             double tolerance)
{
    dm_nn_model_desc plain = *desc;
    plain.precision = DM_NN_FLOAT32;
    dm_nn_model *host = model_on(cpu(), &plain), *gpu = model_on(dm_test_gpu_device, desc);
    assert_int_equal(dm_nn_model_size(host), dm_nn_model_size(gpu));
    size_t outputs = dm_nn_model_rows(host) * dm_nn_model_outputs(host);
    float *out[2] = {malloc(outputs * sizeof(float)), malloc(outputs * sizeof(float))};
    float loss[2], norm[2];
    double off = 0, size = 0;
    assert_ok(dm_nn_model_evaluate(host, x, y, out[0], &loss[0], err));
    assert_ok(dm_nn_model_evaluate(gpu, x, y, out[1], &loss[1], err));
    for (size_t i = 0; i < outputs; i++) {
        off += ((double)out[0][i] - out[1][i]) * ((double)out[0][i] - out[1][i]);
        size += (double)out[0][i] * out[0][i];
    }
    if (!(sqrt(off) <= tolerance * (sqrt(size) + 1)))
        fail_msg("outputs are off by %g of %g", sqrt(off), sqrt(size));
    for (int i = 0; i < 10; i++) {
        assert_ok(dm_nn_model_step(host, x, y, &loss[0], err));
        assert_ok(dm_nn_model_step(gpu, x, y, &loss[1], err));
        if (!(fabs((double)loss[0] - (double)loss[1]) <= tolerance * fabs((double)loss[0])))
            fail_msg("step %d: the losses are %.7g and %.7g", i, (double)loss[0], (double)loss[1]);
    }
    assert_ok(dm_nn_model_loss(host, NULL, &norm[0], err));
    assert_ok(dm_nn_model_loss(gpu, NULL, &norm[1], err));
    if (!(fabs((double)norm[0] - (double)norm[1]) <= 20 * tolerance * (double)norm[0]))
        fail_msg("the norms are %.7g and %.7g", (double)norm[0], (double)norm[1]);
    int wrong = 0;
    for (size_t k = 0; k < dm_nn_model_parameter_count(host); k++)
        wrong += compare_parameter(desc, host, gpu, k, tolerance);
    free(out[0]);
    free(out[1]);
    dm_nn_model_destroy(host);
    dm_nn_model_destroy(gpu);
    assert_int_equal(wrong, 0);
}

static void words_in_float32(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_nn_model_desc desc = words_desc(DM_NN_FLOAT32);
    check_beside_cpu(&desc, words, following, 1e-4);
    desc.microbatches = 4;
    check_beside_cpu(&desc, words, following, 1e-4);
}

static void words_in_bfloat16(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_nn_model_desc desc = words_desc(DM_NN_BFLOAT16);
    /* Elements whose gradient is smaller than what bfloat16 rounds away would move by the whole
     * rate, either way. */
    desc.optimiser.epsilon = 1e-4f;
    check_beside_cpu(&desc, words, following, 1e-2);
}

static void odd_sizes(void **state)
{
    (void)state;
    dm_test_gpu();
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_model_desc desc = gpt_desc(0, (dm_nn_optimiser){.kind = DM_NN_SGD, .rate = 0.1f});
    check_beside_cpu(&desc, ids, next, 1e-4);
    desc.precision = DM_NN_BFLOAT16;
    check_beside_cpu(&desc, ids, next, 2e-2);
}

static void images(void **state)
{
    (void)state;
    dm_test_gpu();
    static const dm_nn_layer layers[] = {
        {.kind = DM_NN_LAYER_CONV, .size = 4, .kernel = 3, .activation = DM_NN_RELU},
        {.kind = DM_NN_LAYER_POOL, .kernel = 2},
        {.kind = DM_NN_LAYER_LINEAR, .size = 10}};
    enum { IMAGES = 6, SIDE = 9 };
    static float x[IMAGES][SIDE * SIDE];
    static int32_t y[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        y[i] = i % 10;
        for (int k = 0; k < SIDE * SIDE; k++)
            x[i][k] = (float)((i * 31 + k * 17) % 23) / 23;
    }
    dm_nn_model_desc desc = {.layers = layers,
                             .layer_count = 3,
                             .input = {1, SIDE, SIDE},
                             .batch = IMAGES,
                             .shards = 1,
                             .loss = DM_NN_LOSS_SOFTMAX,
                             .optimiser = {.kind = DM_NN_ADAM, .rate = 1e-3f, .epsilon = 1e-4f}};
    check_beside_cpu(&desc, x, y, 1e-4);
    desc.precision = DM_NN_BFLOAT16;
    check_beside_cpu(&desc, x, y, 2e-2);
}

static void recurrent(void **state)
{
    (void)state;
    dm_test_gpu();
    static float x[3][7][2], y[3][7][3];
    recurrent_data(x, y);
    dm_nn_model_desc desc = {.layers = recurrent_layers,
                             .layer_count = 5,
                             .input = {2, 7},
                             .batch = 3,
                             .loss = DM_NN_LOSS_SQUARE,
                             .optimiser = {.kind = DM_NN_ADAM, .rate = 1e-3f, .epsilon = 1e-4f}};
    check_beside_cpu(&desc, x, y, 1e-4);
}

static void xor_is_solved(void **state)
{
    (void)state;
    dm_test_gpu();
    int solved = 0, seeds = 20;
    if (getenv("DM_TEST_NO_TIMING")) /* under compute-sanitizer */
        seeds = 1;
    for (int seed = 1; seed <= seeds; seed++)
        solved += solves_xor(dm_test_gpu_device, (uint64_t)seed);
    if (solved < seeds - 1 || solved == 0)
        fail_msg("XOR was solved with %d of %d seeds", solved, seeds);
}

static void same_bits_in_two_runs(void **state)
{
    (void)state;
    dm_test_gpu();
    for (int precision = DM_NN_FLOAT32; precision <= DM_NN_BFLOAT16; precision++) {
        dm_nn_model_desc desc = words_desc((dm_nn_precision)precision);
        dm_nn_model *one = model_on(dm_test_gpu_device, &desc),
                    *two = model_on(dm_test_gpu_device, &desc);
        for (int i = 0; i < 20; i++) {
            assert_ok(dm_nn_model_step(one, words, following, NULL, err));
            assert_ok(dm_nn_model_step(two, words, following, NULL, err));
        }
        for (size_t k = 0; k < dm_nn_model_parameter_count(one); k++) {
            size_t count = dm_nn_model_parameter(one, k)->count;
            float *a = malloc(count * sizeof(float)), *b = malloc(count * sizeof(float));
            for (int part = DM_NN_VALUE; part <= DM_NN_GRADIENT; part++) {
                assert_ok(dm_nn_model_read(one, k, (dm_nn_part)part, a, err));
                assert_ok(dm_nn_model_read(two, k, (dm_nn_part)part, b, err));
                assert_memory_equal(a, b, count * sizeof(float));
            }
            free(a);
            free(b);
        }
        dm_nn_model_destroy(one);
        dm_nn_model_destroy(two);
    }
}

/* Steps that nobody waits for: the first that came to no number is named when somebody asks, and
 * neither it nor those after it changed anything. */
static void no_number_changes_nothing(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_error err;
    dm_nn_model_desc desc = xor_desc(1);
    dm_nn_model *model = model_on(dm_test_gpu_device, &desc);
    float input[4][2] = {{0, 0}, {0, NAN}, {1, 0}, {1, 1}}, before[8], after[8];
    assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
    assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
    assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, before, err));
    assert_ok(dm_nn_model_step(model, input, xor_target, NULL, err));
    assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
    assert_int_equal(dm_nn_model_loss(model, NULL, NULL, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "step 3"));
    assert_int_equal(dm_nn_model_steps(model), 2);
    assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, after, err));
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(dm_nn_model_step(model, input, xor_target, after, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "layer 0"));
    assert_ok(dm_nn_model_step(model, xor_input, xor_target, after, err));
    assert_int_equal(dm_nn_model_steps(model), 3);
    dm_nn_model_destroy(model);
}

static void too_large_says_what_fits(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_error err;
    dm_nn_model *model = NULL;
    dm_nn_model_desc desc = words_desc(DM_NN_BFLOAT16);
    dm_nn_memory one;
    desc.batch = 1 << 10;
    assert_ok(dm_nn_model_memory(dm_test_gpu_device, &desc, &one, err));
    uint64_t all = dm_device_get_properties(dm_test_gpu_device)->memory_bytes;
    uint32_t times = 2;
    while (one.activations * times < 2 * all && times < (1u << 21))
        times *= 2;
    desc.batch *= times;
    assert_int_equal(dm_nn_model_create(dm_test_gpu_device, &desc, &model, &err), DM_ENOMEM);
    assert_non_null(strstr(err.message, "it would fit with"));
}

static void averages(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_nn_model_desc desc = words_desc(DM_NN_BFLOAT16);
    dm_nn_model *model = model_on(dm_test_gpu_device, &desc);
    float loss[3];
    for (int i = 0; i < 20; i++)
        assert_ok(dm_nn_model_step(model, words, following, NULL, err));
    assert_ok(dm_nn_model_evaluate(model, words, following, NULL, &loss[0], err));
    assert_ok(dm_nn_model_swap_average(model, err));
    assert_ok(dm_nn_model_evaluate(model, words, following, NULL, &loss[1], err));
    assert_ok(dm_nn_model_swap_average(model, err));
    assert_ok(dm_nn_model_evaluate(model, words, following, NULL, &loss[2], err));
    assert_true(loss[0] != loss[1]);
    assert_true(loss[0] == loss[2]);
    dm_nn_model_destroy(model);
}

/* Tall and wide matrices, tied weights; what bfloat16 rounds off is turned with the rest. */
static void muon(void **state)
{
    (void)state;
    dm_test_gpu();
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_optimiser o = {
        .kind = DM_NN_MUON, .rate = 0.01f, .decay = 0.1f, .clip = 1, .average = 0.9f};
    dm_nn_model_desc desc = words_desc(DM_NN_FLOAT32), odd = gpt_desc(0, o);
    desc.optimiser = o;
    check_beside_cpu(&desc, words, following, 5e-4);
    check_beside_cpu(&odd, ids, next, 5e-4);
    desc.precision = odd.precision = DM_NN_BFLOAT16;
    check_beside_cpu(&desc, words, following, 5e-2);
    check_beside_cpu(&odd, ids, next, 5e-2);
}

DM_TESTS("gpu/nn_model", DM_TEST(words_in_float32), DM_TEST(words_in_bfloat16), DM_TEST(odd_sizes),
         DM_TEST(images), DM_TEST(recurrent), DM_TEST(xor_is_solved),
         DM_TEST(same_bits_in_two_runs), DM_TEST(no_number_changes_nothing),
         DM_TEST(too_large_says_what_fits), DM_TEST(averages), DM_TEST(muon))
