/* SPDX-License-Identifier: MIT */
/* table.h - all operations for one set of vector instructions: cpu_portable.c, cpu_avx2.c and
 * cpu_avx512.c define CPU_TABLE and CPU_NAME, and include this. Where a size is rare (pooling by
 * other than 2) the plain text serves, compiled with the same instructions. */
#include "nn/cpu/cpu.h"

#include "base/simd_vec.h"

#include <math.h>
#include <string.h>

#define REAL float
#define MATH(function) function##f
#define PLAIN(name) name##_plain
#include "nn/plain/pool.h"

#include "nn/cpu/product.h"

#include "nn/cpu/activation.h"
#include "nn/cpu/elementwise.h"

#include "nn/cpu/attention.h"
#include "nn/cpu/conv.h"
#include "nn/cpu/embed.h"
#include "nn/cpu/linear.h"
#include "nn/cpu/loss.h"
#include "nn/cpu/norm.h"
#include "nn/cpu/optimiser.h"
#include "nn/cpu/pool.h"
#include "nn/cpu/ppo.h"
#include "nn/cpu/sums.h"

#include "nn/cpu/gru.h"

const dm_nn_ops CPU_TABLE = {
    .name = CPU_NAME,
    .linear_scratch = linear_scratch,
    .conv_scratch = conv_scratch,
    .attention_scratch = attention_scratch,
    .gru_scratch = gru_scratch,
    .linear = linear,
    .linear_backward = linear_backward,
    .conv = conv,
    .conv_backward = conv_backward,
    .pool = pool,
    .pool_backward = pool_backward,
    .embed = embed,
    .embed_backward = embed_backward,
    .norm = norm,
    .norm_backward = norm_backward,
    .attention = attention,
    .attention_backward = attention_backward,
    .gru = gru,
    .gru_backward = gru_backward,
    .mingru = mingru,
    .mingru_backward = mingru_backward,
    .softmax_loss = softmax_loss,
    .square_loss = square_loss,
    .sigmoid_loss = sigmoid_loss,
    .add = add,
    .blend = blend,
    .narrow = narrow,
    .widen = widen,
    .gather = gather,
    .sums = sums,
    .adam = adam,
    .ppo = ppo,
};
