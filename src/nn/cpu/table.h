/* SPDX-License-Identifier: MIT */
/* table.h - all operations for one set of vector instructions: cpu_portable.c, cpu_avx2.c and
 * cpu_avx512.c define CPU_TABLE and CPU_NAME, and include this. Operations that no vector version
 * is written of are the plain text, compiled with the same instructions. */
#include "nn/cpu/cpu.h"

#include "base/simd_vec.h"

#include <math.h>
#include <string.h>

#define REAL float
#define MATH(function) function##f
#define PLAIN(name) name##_plain
static float sigmoid_plain(float x)
{
    float e = expf(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
#include "nn/plain/embed.h"
#include "nn/plain/gru.h"
#include "nn/plain/pool.h"
#include "nn/plain/small.h"
#include "nn/plain/value_loss.h"

#include "nn/cpu/product.h"

#include "nn/cpu/activation.h"

#include "nn/cpu/attention.h"
#include "nn/cpu/conv.h"
#include "nn/cpu/linear.h"
#include "nn/cpu/loss.h"
#include "nn/cpu/norm.h"
#include "nn/cpu/sums.h"

const dm_nn_ops CPU_TABLE = {
    .name = CPU_NAME,
    .linear_scratch = linear_scratch,
    .conv_scratch = conv_scratch,
    .attention_scratch = attention_scratch,
    .linear = linear,
    .linear_backward = linear_backward,
    .conv = conv,
    .conv_backward = conv_backward,
    .pool = pool_plain,
    .pool_backward = pool_backward_plain,
    .embed = embed_plain,
    .embed_backward = embed_backward_plain,
    .norm = norm,
    .norm_backward = norm_backward,
    .attention = attention,
    .attention_backward = attention_backward,
    .gru = gru_plain,
    .gru_backward = gru_backward_plain,
    .mingru = mingru_plain,
    .mingru_backward = mingru_backward_plain,
    .softmax_loss = softmax_loss,
    .square_loss = square_loss_plain,
    .sigmoid_loss = sigmoid_loss_plain,
    .add = add_plain,
    .gather = gather_plain,
    .sums = sums,
};
