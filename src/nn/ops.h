/* SPDX-License-Identifier: MIT */
/* ops.h - the operations of neural networks, forward and backward: one table of functions per kind
 * of device (table.h, table.c in each folder).
 *
 *     plain/  <operation>.h   loops that read like the formula, for float and double: the reference
 *     cpu/    <operation>.h   the same for vectors of 4, 8 or 16 floats; one thread per call
 *     cuda/   <operation>.h   kernels; the host side that launches them is in <operation>.c
 *
 * An operation is the same call on every device. It gets an `exec` (where and with which scratch
 * memory it runs), its sizes, and addresses of contiguous row-major arrays. Nothing is allocated
 * and nothing is checked: sizes are checked once, when a model is made (plan.c). Calls on CUDA are
 * queued on the exec's stream. On the CPU a call runs in the caller's thread: a batch is cut into
 * shards and threads take shards, so results do not depend on the number of threads.
 *
 * Letters: B batch, T time, C channels, H heads, V vocabulary, N = rows of a matrix (often B * T).
 *
 * Types: activations (x, y, dy ...) and parameters (w, b) have the exec's type: float, bfloat16
 * (CUDA) or double (plain, for finite differences). Gradients of parameters (dw, db), losses and
 * statistics, called float below, are float with bfloat16 and double with double.
 *
 * Gradients: those of parameters are added to what is there. Those of activations (dx) are written,
 * or added when the sizes say `add_dx`; a NULL dx is not wanted. `dy` is scratch for the call
 * unless said otherwise: its contents are undefined afterwards where the comment says
 * "overwritten". */
#ifndef DM_NN_OPS_H
#define DM_NN_OPS_H

#include <dotmatrix/nn.h>

typedef enum dm_nn_type { DM_NN_F32, DM_NN_BF16, DM_NN_F64 } dm_nn_type;

struct dm_nn_ops;

/* Where operations run. On the CPU one per worker thread, on CUDA one per stream. */
typedef struct dm_nn_exec {
    const struct dm_nn_ops *ops;
    dm_nn_type type;
    dm_stream *stream; /* CUDA only */
    void *scratch;     /* device memory for the call's own use, 256-byte aligned */
    size_t scratch_size;
    void *state; /* the table's own: modules and cuBLASLt on CUDA */
} dm_nn_exec;

/* y[N][O] = act(x[N][C] w[O][C]^T + b[O]); weights as PyTorch's Linear has them. b may be NULL. */
typedef struct dm_nn_linear {
    uint32_t N, C, O;
    dm_nn_activation activation;
    bool add_dx;
    /* CUDA: x is GELU of this [N][C], and dx becomes the gradient of this; NULL: dx is x's. Not with
     * add_dx. */
    const void *dx_pre;
} dm_nn_linear;

/* The loss of proximal policy optimisation for `count` samples, as kernels/agent/ppo.py computes it. Rows of logits
 * and of dlogits lie logits_pitch floats apart, values and dvalues values_pitch. parts[count][5]: the terms of the
 * loss, as in that text, or NULL. */
typedef struct dm_nn_ppo {
    uint64_t count, logits_pitch, values_pitch;
    uint32_t actions;
    float clip, value_clip, value_scale, entropy_scale;
    const float *logits, *values;
    const int32_t *taken;
    const float *chances, *advantages, *returns, *old_values, *weights;
    float *dlogits, *dvalues, *parts;
} dm_nn_ppo;

/* y[B][O][P][Q] = act(w[O][I][K][K] * x[B][I][H][W] + b[O]) without padding; P = (H-K)/stride + 1,
 * Q = (W-K)/stride + 1. */
typedef struct dm_nn_conv {
    uint32_t B, I, H, W, O, K;
    uint32_t stride; /* 1 or more: the output is (H-K)/stride + 1 high */
    dm_nn_activation activation;
    bool add_dx;
    /* CUDA, where a sample fits in shared memory (dm_nn_cuda_takes_packed): x holds packed pictures, four pixels to
     * a byte, the leftmost in the lowest bits, shades 0 to 3 standing for 0 to 1. Sample b is picture rows[b], or b
     * without rows. There is no dx then. */
    bool packed;
    const int32_t *rows;
} dm_nn_conv;

/* y[B][C][H/K][W/K]: the largest of each K x K square; rows and columns that are left over are
 * dropped. */
typedef struct dm_nn_pool {
    uint32_t B, C, H, W, K;
    bool add_dx;
} dm_nn_pool;

/* y[B][T][C] = token[V][C][ids] + position[T][C]; position may be NULL. */
typedef struct dm_nn_embed {
    uint32_t B, T, C, V;
} dm_nn_embed;

/* sum = x + residual (residual may be NULL: then sum is x and is not written);
 * y = (sum - mean) * rstd * gain[C] + bias[C] over each of N rows; epsilon 1e-5. */
typedef struct dm_nn_norm {
    uint32_t N, C;
    bool add_dx;
} dm_nn_norm;

/* Causal attention. qkv[B][T][3][H][D] with D = C/H, y[B][T][H][D]. */
typedef struct dm_nn_attention {
    uint32_t B, T, C, H;
} dm_nn_attention;

/* The recurrent part of a GRU over T steps. a[B][T][3H] = W x + b comes from a linear layer; u[3H][H].
 *     z = sigmoid(a_z + Uz h)   r = sigmoid(a_r + Ur h)   n = tanh(a_n + Un (r h))   h' = (1-z) h + z n
 * h0[B][H] may be NULL (zeros). starts[B][T] (bytes, may be NULL): where it is not 0 an episode
 * begins, and the state before that step is zero. */
typedef struct dm_nn_gru {
    uint32_t B, T, H;
} dm_nn_gru;

/* MinGRU: a[B][T][2H] gives z = sigmoid(a_z) and n = a_n; h' = (1-z) h + z n. No weights of its
 * own. */
typedef dm_nn_gru dm_nn_mingru;

/* Softmax cross-entropy of logits[N][P], of whose P columns the first V count; target[N] (int32;
 * -1: the row does not count). losses[N] are float. With `scale` != 0 the logits become their
 * gradient times scale: (softmax - onehot) * scale, columns from V on 0. */
typedef struct dm_nn_softmax_loss {
    uint32_t N, V, P;
    float scale;
} dm_nn_softmax_loss;

/* losses[N]: the mean over C of (y - target)^2; or of the cross-entropy of sigmoid(y) with target.
 * y is overwritten with the gradient of the loss times scale when scale != 0. target[N][C] is
 * float. */
typedef struct dm_nn_value_loss {
    uint32_t N, C;
    float scale;
} dm_nn_value_loss;

/* A step of Adam, or of AdamW when the weights shrink by rate * decay; correct1 and correct2 are 1 -
 * beta ^ step. Gradients are multiplied by `scale` first. `keep` is of the averages. */
typedef struct dm_nn_adam {
    float scale, rate, beta1, beta2, epsilon, decay, correct1, correct2, keep;
    bool shrinks;
} dm_nn_adam;

typedef struct dm_nn_ops {
    const char *name; /* "plain", "cpu-avx2", "cuda" */

    /* Bytes of scratch that the larger of the forward and backward call needs, for these sizes. */
    size_t (*linear_scratch)(const dm_nn_exec *, const dm_nn_linear *);
    size_t (*conv_scratch)(const dm_nn_exec *, const dm_nn_conv *);
    size_t (*embed_scratch)(const dm_nn_exec *, const dm_nn_embed *);
    size_t (*norm_scratch)(const dm_nn_exec *, const dm_nn_norm *);
    size_t (*attention_scratch)(const dm_nn_exec *, const dm_nn_attention *);
    size_t (*gru_scratch)(const dm_nn_exec *, const dm_nn_gru *);

    /* `pre` [N][O]: the sum before GELU, kept for its gradient; NULL for other activations. */
    dm_status (*linear)(dm_nn_exec *, const dm_nn_linear *, const void *x, const void *w,
                        const void *b, void *y, void *pre, dm_error *err);
    /* dy is overwritten by the gradient before the activation. dx, dw and db may be NULL; arguments
     * that only the missing ones need may then be NULL too. */
    dm_status (*linear_backward)(dm_nn_exec *, const dm_nn_linear *, const void *x, const void *w,
                                 const void *y, const void *pre, void *dy, void *dx, void *dw,
                                 void *db, dm_error *err);

    dm_status (*conv)(dm_nn_exec *, const dm_nn_conv *, const void *x, const void *w, const void *b,
                      void *y, dm_error *err);
    /* dy is overwritten. */
    dm_status (*conv_backward)(dm_nn_exec *, const dm_nn_conv *, const void *x, const void *w,
                               const void *y, void *dy, void *dx, void *dw, void *db,
                               dm_error *err);

    /* from[B][C][H/K][W/K] (uint8): which element of its square was the largest, the first among
     * equals. */
    dm_status (*pool)(dm_nn_exec *, const dm_nn_pool *, const void *x, void *y, uint8_t *from,
                      dm_error *err);
    dm_status (*pool_backward)(dm_nn_exec *, const dm_nn_pool *, const uint8_t *from,
                               const void *dy, void *dx, dm_error *err);

    /* ids[B][T] are int32 in 0..V-1 (checked when data is loaded). */
    dm_status (*embed)(dm_nn_exec *, const dm_nn_embed *, const int32_t *ids, const void *token,
                       const void *position, void *y, dm_error *err);
    /* In a fixed order: the same bits every time. */
    dm_status (*embed_backward)(dm_nn_exec *, const dm_nn_embed *, const int32_t *ids,
                                const void *dy, void *dtoken, void *dposition, dm_error *err);

    /* mean[N], rstd[N] are float. `sum` may be `x`. */
    dm_status (*norm)(dm_nn_exec *, const dm_nn_norm *, const void *x, const void *residual,
                      const void *gain, const void *bias, void *sum, void *y, void *mean,
                      void *rstd, dm_error *err);
    /* dx is the gradient of `sum` by way of y. dy is kept. */
    dm_status (*norm_backward)(dm_nn_exec *, const dm_nn_norm *, const void *sum, const void *gain,
                               const void *mean, const void *rstd, const void *dy, void *dx,
                               void *dgain, void *dbias, dm_error *err);

    /* lse[B][H][T] (float): the logarithm of each row's sum of exponentials. */
    dm_status (*attention)(dm_nn_exec *, const dm_nn_attention *, const void *qkv, void *y,
                           void *lse, dm_error *err);
    /* Writes dqkv. dy is kept. */
    dm_status (*attention_backward)(dm_nn_exec *, const dm_nn_attention *, const void *qkv,
                                    const void *y, const void *lse, const void *dy, void *dqkv,
                                    dm_error *err);

    /* h[B][T][H]: the state after each step. tape[B][T][3H]: z, r, n for the backward pass. */
    dm_status (*gru)(dm_nn_exec *, const dm_nn_gru *, const void *a, const void *u, const void *h0,
                     const uint8_t *starts, void *h, void *tape, dm_error *err);
    /* dh is overwritten. Writes da; adds to du; writes dh0 unless it is NULL. */
    dm_status (*gru_backward)(dm_nn_exec *, const dm_nn_gru *, const void *u, const void *h0,
                              const uint8_t *starts, const void *h, const void *tape, void *dh,
                              void *da, void *du, void *dh0, dm_error *err);
    dm_status (*mingru)(dm_nn_exec *, const dm_nn_mingru *, const void *a, const void *h0,
                        const uint8_t *starts, void *h, dm_error *err);
    dm_status (*mingru_backward)(dm_nn_exec *, const dm_nn_mingru *, const void *a, const void *h0,
                                 const uint8_t *starts, const void *h, void *dh, void *da,
                                 void *dh0, dm_error *err);

    dm_status (*softmax_loss)(dm_nn_exec *, const dm_nn_softmax_loss *, void *logits,
                              const int32_t *target, void *losses, dm_error *err);
    dm_status (*square_loss)(dm_nn_exec *, const dm_nn_value_loss *, void *y, const void *target,
                             void *losses, dm_error *err);
    dm_status (*sigmoid_loss)(dm_nn_exec *, const dm_nn_value_loss *, void *y, const void *target,
                              void *losses, dm_error *err);

    /* y[n] = a[n] + b[n]; y may be a or b. */
    dm_status (*add)(dm_nn_exec *, uint64_t n, const void *a, const void *b, void *y,
                     dm_error *err);
    /* y[n] = p a[n] + q b[n]; b may be NULL, y may be a. */
    dm_status (*blend)(dm_nn_exec *, uint64_t n, double p, const void *a, double q, const void *b,
                       void *y, dm_error *err);
    /* x[n] is float: y = x / (sqrt(sums[1]) + 1e-7), where sums may be NULL: then y = x. */
    dm_status (*narrow)(dm_nn_exec *, uint64_t n, const void *x, const void *sums, void *y,
                        dm_error *err);
    /* y[n] is float: y = scale x. */
    dm_status (*widen)(dm_nn_exec *, uint64_t n, double scale, const void *x, void *y,
                       dm_error *err);
    /* y[i][C] = x[index[i]][C] for N rows. */
    dm_status (*gather)(dm_nn_exec *, uint32_t N, uint32_t C, const void *x, const int32_t *index,
                        void *y, dm_error *err);
    /* out[0] = the sum, out[1] = the sum of squares of n floats; in a fixed order. */
    dm_status (*sums)(dm_nn_exec *, uint64_t n, const void *x, void *out, dm_error *err);

    /* The CPU's: weights, gradients, moments and averages (or NULL) of n parameters. NULL: there is
     * only the text of kernels/nn/optimisers.py, which gives the same bits. */
    void (*adam)(const dm_nn_adam *, uint64_t n, float *w, const float *g, float *m, float *v,
                 float *average);
    /* The CPU's: the slopes of the loss of kernels/agent/ppo.py. NULL: there is only the text. */
    dm_status (*ppo)(const dm_nn_ppo *, dm_error *err);
} dm_nn_ops;

/* The tables. The plain ones take F32 and F64; the CPU's F32. */
extern const dm_nn_ops dm_nn_plain_f32, dm_nn_plain_f64;
/* The best for this machine, or the one that $DM_SIMD names. */
const dm_nn_ops *dm_nn_cpu(void);
const dm_nn_ops *
dm_nn_cpu_named(const char *name); /* "portable", "avx2", "avx512"; NULL: not here */
/* CUDA: compiles the kernels (cached on disk), opens cuBLASLt where it is there. */
dm_status dm_nn_cuda_create(dm_device *device, dm_nn_type type, dm_nn_exec *out, dm_error *err);
void dm_nn_cuda_destroy(dm_nn_exec *exec);
/* Whether a convolution may be given packed pictures. */
bool dm_nn_cuda_takes_packed(const dm_nn_exec *exec, const dm_nn_conv *conv);
/* Which library large products use on CUDA: "cublasLt 13.0 (path)" or "own kernels (reason)". */
const char *dm_nn_cuda_products(const dm_nn_exec *exec);

#endif
