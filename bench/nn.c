/* SPDX-License-Identifier: MIT */
/* nn.c - dm-bench-nn: how fast the CPU's operations and models are.
 *
 *     dm-bench-nn product                      GFLOP/s of linear layers on one thread, and the peak
 *     dm-bench-nn gpt batch=8 --steps 50       steps of a model (xor, cnn, gpt, gru) on a batch of
 *                                              its own; bench/nn_peer.py puts JAX beside it
 *     dm-bench-nn gpt batch=8 --dir DIR        weights and batch from DIR; for each line "n" of the
 *                                              input n steps, answered by "seconds loss
 *                                              samples/s samples/CPU-second"
 *
 * Times of products are the thread's own, so that other programs disturb them less. */
#include "base/file.h"
#include "base/thread.h"
#include "nn/ops.h"
#include "tests/nn/peer_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Products ---- */

/* Multiply-adds in registers only: 12 chains hide the latency and fit in 16 registers. */
#if defined(__x86_64__)
#define PEAK(name, isa, type, set, fma, sum, lanes)                                                \
    __attribute__((target(isa))) static double name(void)                                          \
    {                                                                                              \
        type x[12], a = set(0.5f), b = set(0.25f);                                                 \
        double best = 0;                                                                           \
        for (int i = 0; i < 12; i++)                                                               \
            x[i] = set((float)i);                                                                  \
        for (int repeat = 0; repeat < 20; repeat++) {                                              \
            double began = thread_seconds();                                                       \
            for (int n = 0; n < 200000; n++) {                                                     \
                _Pragma("GCC unroll 12") for (int i = 0; i < 12; i++) x[i] = fma(x[i], a, b);      \
            }                                                                                      \
            double rate = 200000.0 * 12 * 2 * lanes / (thread_seconds() - began);                  \
            best = rate > best ? rate : best;                                                      \
        }                                                                                          \
        float out[lanes], total = 0;                                                               \
        for (int i = 1; i < 12; i++)                                                               \
            x[0] = sum(x[0], x[i]);                                                                \
        memcpy(out, &x[0], sizeof out);                                                            \
        for (int i = 0; i < lanes; i++)                                                            \
            total += out[i];                                                                       \
        return total == 1.5f ? 0 : best; /* the results are needed */                              \
    }
PEAK(peak_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, 16)
PEAK(peak_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, 8)
#endif

/* GFLOP/s that one thread could do with the table's instructions; 0: not known. */
static double peak(const dm_nn_ops *ops)
{
#if defined(__x86_64__)
    if (strcmp(ops->name, "cpu-avx512") == 0)
        return peak_avx512() * 1e-9;
    if (strcmp(ops->name, "cpu-avx2") == 0)
        return peak_avx2() * 1e-9;
#endif
    (void)ops;
    return 0;
}

static float *numbers(size_t count)
{
    float *x = aligned_alloc(256, (count * sizeof *x + 255) / 256 * 256);
    for (size_t i = 0; x && i < count; i++)
        x[i] = (float)(i * 2654435761u % 1024) / 1024 - 0.5f;
    return x;
}

static int bench_products(void)
{
    static const struct {
        const char *name;
        uint32_t N, C, O;
    } cases[] = {{"1024 x 1024 x 1024", 1024, 1024, 1024},
                 {"qkv of 128", 128, 128, 384},
                 {"up of 128", 128, 128, 512},
                 {"down of 128", 128, 512, 128},
                 {"65 classes", 128, 128, 65},
                 {"50,257 classes", 128, 128, 50257},
                 {"2304 to 10", 64, 2304, 10},
                 {"up of 768", 256, 768, 3072}};
    dm_nn_exec exec = {.ops = dm_nn_cpu(), .type = DM_NN_F32};
    double most = peak(exec.ops);
    printf("%s: GFLOP/s of one thread", exec.ops->name);
    if (most > 0)
        printf(", whose peak is %.1f", most);
    printf("\n%-20s %9s %9s%s\n", "linear layer", "forward", "backward",
           most > 0 ? "   of peak" : "");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dm_nn_linear op = {.N = cases[k].N, .C = cases[k].C, .O = cases[k].O};
        size_t N = op.N, C = op.C, O = op.O;
        exec.scratch_size = exec.ops->linear_scratch(&exec, &op);
        float *x = numbers(N * C), *w = numbers(O * C), *y = numbers(N * O), *dx = numbers(N * C);
        float *dw = numbers(O * C), *scratch = numbers(exec.scratch_size / sizeof(float) + 64);
        if (!x || !w || !y || !dx || !dw || !scratch)
            return fprintf(stderr, "dm-bench-nn: no memory\n"), 1;
        exec.scratch = scratch;
        double flops = 2.0 * (double)N * (double)C * (double)O, best[2] = {0, 0};
        int repeats = (int)(1e8 / flops) + 1;
        for (int round = 0; round < 16; round++)
            for (int pass = 0; pass < 2; pass++) {
                double began = thread_seconds();
                for (int i = 0; i < repeats; i++)
                    if (pass == 0)
                        exec.ops->linear(&exec, &op, x, w, NULL, y, NULL, NULL);
                    else
                        exec.ops->linear_backward(&exec, &op, x, w, y, NULL, y, dx, dw, NULL, NULL);
                double rate = (1 + pass) * flops * repeats / (thread_seconds() - began) * 1e-9;
                best[pass] = rate > best[pass] ? rate : best[pass];
            }
        printf("%-20s %9.1f %9.1f", cases[k].name, best[0], best[1]);
        if (most > 0)
            printf(" %4.0f %3.0f%%", 100 * best[0] / most, 100 * best[1] / most);
        printf("\n");
        free(x);
        free(w);
        free(y);
        free(dx);
        free(dw);
        free(scratch);
    }
    return 0;
}

/* ---- Models ---- */

typedef struct options {
    const char *model, *folder, *threads;
    const char *words[8];
    int word_count, steps;
} options;

static dm_status read_part(const options *o, const char *name, size_t size, void **out,
                           dm_error *err)
{
    char path[DM_PATH_MAX];
    size_t found = 0;
    if (!o->folder)
        return (*out = calloc(1, size)) ? DM_OK : dm_fail(err, DM_ENOMEM, "no memory");
    dm_status status = dm_path_join(path, o->folder, name, err);
    if (status == DM_OK)
        status = dm_file_read(path, 0, (char **)out, &found, err);
    if (status == DM_OK && found != size)
        return dm_fail(err, DM_EFORMAT, "%s: %zu bytes, not %zu", path, found, size);
    return status;
}

static dm_status run_steps(dm_nn_model *model, const peer_case *c, const void *input,
                           const void *target, int steps, dm_error *err)
{
    float loss = 0;
    struct timespec cpu[2];
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
    uint64_t began = dm_time_ns();
    dm_status status = DM_OK;
    for (int i = 0; i < steps && status == DM_OK; i++)
        status = dm_nn_model_step(model, input, target, &loss, err);
    double seconds = (double)(dm_time_ns() - began) * 1e-9;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
    double busy =
        (double)(cpu[1].tv_sec - cpu[0].tv_sec) + 1e-9 * (double)(cpu[1].tv_nsec - cpu[0].tv_nsec);
    double samples = (double)c->samples * steps;
    if (status == DM_OK)
        printf("%.6f %.7g %.0f %.0f\n", seconds, loss, samples / seconds, samples / busy);
    fflush(stdout);
    return status;
}

static dm_status bench_model(const options *o, dm_error *err)
{
    peer_case c;
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    void *input = NULL, *target = NULL;
    char path[DM_PATH_MAX], line[64];
    dm_status status = peer_case_init(&c, o->model, o->words, o->word_count, err);
    if (status == DM_OK)
        status = dm_device_open(o->threads, &device, err);
    if (status == DM_OK)
        status = dm_nn_model_create(device, &c.desc, &model, err);
    if (status == DM_OK && o->folder)
        status = dm_path_join(path, o->folder, "weights.f32", err);
    if (status == DM_OK && o->folder)
        status = peer_case_load(model, path, err);
    if (status == DM_OK)
        status = read_part(o, "input.bin", c.input_size, &input, err);
    if (status == DM_OK)
        status = read_part(o, "target.bin", c.target_size, &target, err);
    for (int round = 0; status == DM_OK && !o->folder && round < 4; round++)
        status = run_steps(model, &c, input, target, o->steps, err);
    while (status == DM_OK && o->folder && fgets(line, sizeof line, stdin))
        status = run_steps(model, &c, input, target, atoi(line), err);
    free(input);
    free(target);
    dm_nn_model_destroy(model);
    dm_device_close(device);
    return status;
}

int main(int argc, char **argv)
{
    options o = {.threads = "cpu", .steps = 20};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc)
            o.folder = argv[++i];
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            o.steps = atoi(argv[++i]);
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            o.threads = argv[++i];
        else if (!o.model && argv[i][0] != '-')
            o.model = argv[i];
        else if (strchr(argv[i], '=') && o.word_count < 8)
            o.words[o.word_count++] = argv[i];
        else
            o.model = NULL, i = argc;
    if (!o.model) {
        fprintf(stderr, "usage: dm-bench-nn product\n"
                        "       dm-bench-nn MODEL [batch=8 ...] [--steps N | --dir DIR] "
                        "[--device cpu:2]\n"
                        "models: xor, cnn, gpt, gru\n");
        return 2;
    }
    if (strcmp(o.model, "product") == 0)
        return bench_products();
    dm_error err = {0};
    if (bench_model(&o, &err) == DM_OK)
        return 0;
    fprintf(stderr, "dm-bench-nn: %s\n", err.message);
    return 1;
}
