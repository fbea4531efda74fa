/* SPDX-License-Identifier: MIT */
/* table.h - all plain operations for one type of number: plain_f32.c and plain_f64.c define REAL,
 * MATH and PLAIN, and include this. */
#include "nn/ops.h"

#include <math.h>
#include <stddef.h>

#include "nn/plain/activation.h"

#include "nn/plain/attention.h"
#include "nn/plain/conv.h"
#include "nn/plain/embed.h"
#include "nn/plain/gru.h"
#include "nn/plain/linear.h"
#include "nn/plain/loss.h"
#include "nn/plain/norm.h"
#include "nn/plain/pool.h"
#include "nn/plain/small.h"
#include "nn/plain/sums.h"
#include "nn/plain/value_loss.h"

const dm_nn_ops PLAIN(dm_nn_plain) = {
    .name = "plain",
    .linear = PLAIN(linear),
    .linear_backward = PLAIN(linear_backward),
    .conv = PLAIN(conv),
    .conv_backward = PLAIN(conv_backward),
    .pool = PLAIN(pool),
    .pool_backward = PLAIN(pool_backward),
    .embed = PLAIN(embed),
    .embed_backward = PLAIN(embed_backward),
    .norm = PLAIN(norm),
    .norm_backward = PLAIN(norm_backward),
    .attention = PLAIN(attention),
    .attention_backward = PLAIN(attention_backward),
    .gru = PLAIN(gru),
    .gru_backward = PLAIN(gru_backward),
    .mingru = PLAIN(mingru),
    .mingru_backward = PLAIN(mingru_backward),
    .softmax_loss = PLAIN(softmax_loss),
    .square_loss = PLAIN(square_loss),
    .sigmoid_loss = PLAIN(sigmoid_loss),
    .add = PLAIN(add),
    .blend = PLAIN(blend),
    .narrow = PLAIN(narrow),
    .widen = PLAIN(widen),
    .gather = PLAIN(gather),
    .sums = PLAIN(sums),
};
