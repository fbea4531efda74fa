/* SPDX-License-Identifier: MIT */
/* op_list.c - the cases: each operation with sizes that are small, odd, and larger than a vector.
 */
#include "tests/nn/op_case.h"

#define EXEC dm_nn_exec *exec, const op_case *c, void **p, dm_error *err
#define OPS exec->ops

static dm_status linear(EXEC)
{
    return OPS->linear(exec, &c->size.linear, p[0], p[1], p[2], p[3], p[4], err);
}
static dm_status linear_backward(EXEC)
{
    return OPS->linear_backward(exec, &c->size.linear, p[0], p[1], p[3], p[4], p[5], p[6], p[7],
                                p[8], err);
}
static size_t linear_scratch(const dm_nn_exec *exec, const op_case *c)
{
    return OPS->linear_scratch ? OPS->linear_scratch(exec, &c->size.linear) : 0;
}
#define LINEAR(N_, C_, O_, act, pre, add, bias)                                                    \
    {                                                                                              \
        .name = "linear " #N_ "x" #C_ "x" #O_ " " #act " " #add,                                   \
        .arrays = {{ROLE_INPUT, (N_) * (C_), 0, false},                                            \
                   {ROLE_INPUT, (O_) * (C_), 0, false},                                            \
                   {bias ? ROLE_INPUT : ROLE_ABSENT, O_, 0, false},                                \
                   {ROLE_OUTPUT, (N_) * (O_), 0, false},                                           \
                   {pre ? ROLE_SAVED : ROLE_ABSENT, (N_) * (O_), 0, false},                        \
                   {ROLE_SEED, (N_) * (O_), 0, false},                                             \
                   {add ? ROLE_GRAD_ADD : ROLE_GRAD, (N_) * (C_), 0, false},                       \
                   {ROLE_GRAD_ADD, (O_) * (C_), 1, true},                                          \
                   {bias ? ROLE_GRAD_ADD : ROLE_ABSENT, O_, 2, true}},                             \
        .count = 9, .forward = linear, .backward = linear_backward, .scratch = linear_scratch,     \
        .size.linear = {                                                                           \
            .N = N_,                                                                               \
            .C = C_,                                                                               \
            .O = O_,                                                                               \
            .activation = act,                                                                     \
            .add_dx = add                                                                          \
        }                                                                                          \
    }

static dm_status conv(EXEC)
{
    return OPS->conv(exec, &c->size.conv, p[0], p[1], p[2], p[3], err);
}
static dm_status conv_backward(EXEC)
{
    return OPS->conv_backward(exec, &c->size.conv, p[0], p[1], p[3], p[4], p[5], p[6], p[7], err);
}
static size_t conv_scratch(const dm_nn_exec *exec, const op_case *c)
{
    return OPS->conv_scratch ? OPS->conv_scratch(exec, &c->size.conv) : 0;
}
#define OUT_(n, k, s) (((n) - (k)) / (s) + 1)
#define CONV(B_, I_, H_, W_, O_, K_, S_, act, add)                                                 \
    {                                                                                              \
        .name = "conv " #B_ "x" #I_ "x" #H_ "x" #W_ " to " #O_ ", " #K_ " step " #S_ " " #act,     \
        .arrays = {{ROLE_INPUT, (B_) * (I_) * (H_) * (W_), 0, false},                              \
                   {ROLE_INPUT, (O_) * (I_) * (K_) * (K_), 0, false},                              \
                   {ROLE_INPUT, O_, 0, false},                                                     \
                   {ROLE_OUTPUT, (B_) * (O_)*OUT_(H_, K_, S_) * OUT_(W_, K_, S_), 0, false},       \
                   {ROLE_SEED, (B_) * (O_)*OUT_(H_, K_, S_) * OUT_(W_, K_, S_), 0, false},         \
                   {add ? ROLE_GRAD_ADD : ROLE_GRAD, (B_) * (I_) * (H_) * (W_), 0, false},         \
                   {ROLE_GRAD_ADD, (O_) * (I_) * (K_) * (K_), 1, true},                            \
                   {ROLE_GRAD_ADD, O_, 2, true}},                                                  \
        .count = 8, .forward = conv, .backward = conv_backward, .scratch = conv_scratch,           \
        .size.conv = {                                                                             \
            .B = B_,                                                                               \
            .I = I_,                                                                               \
            .H = H_,                                                                               \
            .W = W_,                                                                               \
            .O = O_,                                                                               \
            .K = K_,                                                                               \
            .stride = S_,                                                                          \
            .activation = act,                                                                     \
            .add_dx = add                                                                          \
        }                                                                                          \
    }

static dm_status pool(EXEC)
{
    return OPS->pool(exec, &c->size.pool, p[0], p[1], p[2], err);
}
static dm_status pool_backward(EXEC)
{
    return OPS->pool_backward(exec, &c->size.pool, p[2], p[3], p[4], err);
}
#define POOL(B_, C_, H_, W_, K_, add)                                                              \
    {                                                                                              \
        .name = "pool " #B_ "x" #C_ "x" #H_ "x" #W_ " by " #K_,                                    \
        .arrays = {{ROLE_INPUT, (B_) * (C_) * (H_) * (W_), 0, false},                              \
                   {ROLE_OUTPUT, (B_) * (C_) * ((H_) / (K_)) * ((W_) / (K_)), 0, false},           \
                   {ROLE_BYTES, (B_) * (C_) * ((H_) / (K_)) * ((W_) / (K_)), 0, false},            \
                   {ROLE_SEED, (B_) * (C_) * ((H_) / (K_)) * ((W_) / (K_)), 0, false},             \
                   {add ? ROLE_GRAD_ADD : ROLE_GRAD, (B_) * (C_) * (H_) * (W_), 0, false}},        \
        .count = 5, .forward = pool, .backward = pool_backward, .size.pool = {                     \
            B_,                                                                                    \
            C_,                                                                                    \
            H_,                                                                                    \
            W_,                                                                                    \
            K_,                                                                                    \
            add                                                                                    \
        }                                                                                          \
    }

static dm_status embed(EXEC)
{
    return OPS->embed(exec, &c->size.embed, p[0], p[1], p[2], p[3], err);
}
static dm_status embed_backward(EXEC)
{
    return OPS->embed_backward(exec, &c->size.embed, p[0], p[4], p[5], p[6], err);
}
static size_t embed_scratch(const dm_nn_exec *exec, const op_case *c)
{
    return OPS->embed_scratch ? OPS->embed_scratch(exec, &c->size.embed) : 0;
}
#define EMBED(B_, T_, C_, V_, position)                                                            \
    {                                                                                              \
        .name = "embed " #B_ "x" #T_ "x" #C_ " of " #V_,                                           \
        .arrays = {{ROLE_INDEX, (B_) * (T_), V_, false},                                           \
                   {ROLE_INPUT, (V_) * (C_), 0, false},                                            \
                   {position ? ROLE_INPUT : ROLE_ABSENT, (T_) * (C_), 0, false},                   \
                   {ROLE_OUTPUT, (B_) * (T_) * (C_), 0, false},                                    \
                   {ROLE_SEED, (B_) * (T_) * (C_), 0, false},                                      \
                   {ROLE_GRAD_ADD, (V_) * (C_), 1, true},                                          \
                   {position ? ROLE_GRAD_ADD : ROLE_ABSENT, (T_) * (C_), 2, true}},                \
        .count = 7, .forward = embed, .backward = embed_backward, .scratch = embed_scratch,        \
        .size.embed = {                                                                            \
            B_,                                                                                    \
            T_,                                                                                    \
            C_,                                                                                    \
            V_                                                                                     \
        }                                                                                          \
    }

static dm_status norm(EXEC)
{
    return OPS->norm(exec, &c->size.norm, p[0], p[1], p[2], p[3], p[4] ? p[4] : p[0], p[5], p[6],
                     p[7], err);
}
static dm_status norm_backward(EXEC)
{
    return OPS->norm_backward(exec, &c->size.norm, p[4] ? p[4] : p[0], p[2], p[6], p[7], p[8], p[9],
                              p[10], p[11], err);
}
static size_t norm_scratch(const dm_nn_exec *exec, const op_case *c)
{
    return OPS->norm_scratch ? OPS->norm_scratch(exec, &c->size.norm) : 0;
}
#define NORM(N_, C_, residual, add)                                                                \
    {                                                                                              \
        .name = "norm " #N_ "x" #C_ " " #residual,                                                 \
        .arrays = {{ROLE_INPUT, (N_) * (C_), 0, false},                                            \
                   {residual ? ROLE_INPUT : ROLE_ABSENT, (N_) * (C_), 0, false},                   \
                   {ROLE_INPUT, C_, 0, false},                                                     \
                   {ROLE_INPUT, C_, 0, false},                                                     \
                   {residual ? ROLE_SAVED : ROLE_ABSENT, (N_) * (C_), 0, false},                   \
                   {ROLE_OUTPUT, (N_) * (C_), 0, false},                                           \
                   {ROLE_SAVED, N_, 0, true},                                                      \
                   {ROLE_SAVED, N_, 0, true},                                                      \
                   {ROLE_SEED, (N_) * (C_), 0, false},                                             \
                   {add ? ROLE_GRAD_ADD : ROLE_GRAD, (N_) * (C_), 0, false},                       \
                   {ROLE_GRAD_ADD, C_, 2, true},                                                   \
                   {ROLE_GRAD_ADD, C_, 3, true}},                                                  \
        .count = 12, .forward = norm, .backward = norm_backward, .scratch = norm_scratch,          \
        .size.norm = {                                                                             \
            N_,                                                                                    \
            C_,                                                                                    \
            add                                                                                    \
        }                                                                                          \
    }

static dm_status attention(EXEC)
{
    return OPS->attention(exec, &c->size.attention, p[0], p[1], p[2], err);
}
static dm_status attention_backward(EXEC)
{
    return OPS->attention_backward(exec, &c->size.attention, p[0], p[1], p[2], p[3], p[4], err);
}
static size_t attention_scratch(const dm_nn_exec *exec, const op_case *c)
{
    return OPS->attention_scratch ? OPS->attention_scratch(exec, &c->size.attention) : 0;
}
#define ATTENTION(B_, T_, C_, H_)                                                                  \
    {                                                                                              \
        .name = "attention " #B_ "x" #T_ "x" #C_ ", " #H_ " heads",                                \
        .arrays = {{ROLE_INPUT, (B_) * (T_)*3 * (C_), 0, false},                                   \
                   {ROLE_OUTPUT, (B_) * (T_) * (C_), 0, false},                                    \
                   {ROLE_SAVED, (B_) * (H_) * (T_), 0, true},                                      \
                   {ROLE_SEED, (B_) * (T_) * (C_), 0, false},                                      \
                   {ROLE_GRAD, (B_) * (T_)*3 * (C_), 0, false}},                                   \
        .count = 5, .forward = attention, .backward = attention_backward,                          \
        .scratch = attention_scratch, .size.attention = {                                          \
            B_,                                                                                    \
            T_,                                                                                    \
            C_,                                                                                    \
            H_                                                                                     \
        }                                                                                          \
    }

static dm_status gru(EXEC)
{
    return OPS->gru(exec, &c->size.gru, p[0], p[1], p[2], p[3], p[4], p[5], err);
}
static dm_status gru_backward(EXEC)
{
    return OPS->gru_backward(exec, &c->size.gru, p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
                             p[9], err);
}
static size_t gru_scratch(const dm_nn_exec *exec, const op_case *c)
{
    return OPS->gru_scratch ? OPS->gru_scratch(exec, &c->size.gru) : 0;
}
#define GRU(B_, T_, H_, first, flags)                                                              \
    {                                                                                              \
        .name = "gru " #B_ "x" #T_ "x" #H_ " " #first " " #flags,                                  \
        .arrays = {{ROLE_INPUT, (B_) * (T_)*3 * (H_), 0, false},                                   \
                   {ROLE_INPUT, 3 * (H_) * (H_), 0, false},                                        \
                   {first ? ROLE_INPUT : ROLE_ABSENT, (B_) * (H_), 0, false},                      \
                   {flags ? ROLE_FLAG : ROLE_ABSENT, (B_) * (T_), 0, false},                       \
                   {ROLE_OUTPUT, (B_) * (T_) * (H_), 0, false},                                    \
                   {ROLE_SAVED, (B_) * (T_)*3 * (H_), 0, false},                                   \
                   {ROLE_SEED, (B_) * (T_) * (H_), 0, false},                                      \
                   {ROLE_GRAD, (B_) * (T_)*3 * (H_), 0, false},                                    \
                   {ROLE_GRAD_ADD, 3 * (H_) * (H_), 1, true},                                      \
                   {first ? ROLE_GRAD : ROLE_ABSENT, (B_) * (H_), 2, false}},                      \
        .count = 10, .forward = gru, .backward = gru_backward, .scratch = gru_scratch,             \
        .steps = T_, .size.gru = {                                                                 \
            B_,                                                                                    \
            T_,                                                                                    \
            H_                                                                                     \
        }                                                                                          \
    }

static dm_status mingru(EXEC)
{
    return OPS->mingru(exec, &c->size.gru, p[0], p[1], p[2], p[3], err);
}
static dm_status mingru_backward(EXEC)
{
    return OPS->mingru_backward(exec, &c->size.gru, p[0], p[1], p[2], p[3], p[4], p[5], p[6], err);
}
#define MINGRU(B_, T_, H_, first, flags)                                                           \
    {                                                                                              \
        .name = "mingru " #B_ "x" #T_ "x" #H_ " " #first " " #flags,                               \
        .arrays = {{ROLE_INPUT, (B_) * (T_)*2 * (H_), 0, false},                                   \
                   {first ? ROLE_INPUT : ROLE_ABSENT, (B_) * (H_), 0, false},                      \
                   {flags ? ROLE_FLAG : ROLE_ABSENT, (B_) * (T_), 0, false},                       \
                   {ROLE_OUTPUT, (B_) * (T_) * (H_), 0, false},                                    \
                   {ROLE_SEED, (B_) * (T_) * (H_), 0, false},                                      \
                   {ROLE_GRAD, (B_) * (T_)*2 * (H_), 0, false},                                    \
                   {first ? ROLE_GRAD : ROLE_ABSENT, (B_) * (H_), 1, false}},                      \
        .count = 7, .forward = mingru, .backward = mingru_backward, .steps = T_, .size.gru = {     \
            B_,                                                                                    \
            T_,                                                                                    \
            H_                                                                                     \
        }                                                                                          \
    }

/* A loss is run twice: first without a scale for the loss, then with 1 for the gradient. */
static dm_status softmax(EXEC)
{
    dm_nn_softmax_loss size = c->size.softmax;
    size.scale = 0;
    return OPS->softmax_loss(exec, &size, p[0], p[1], p[2], err);
}
static dm_status softmax_backward(EXEC)
{
    return OPS->softmax_loss(exec, &c->size.softmax, p[0], p[1], p[2], err);
}
#define SOFTMAX(N_, V_, P_, none)                                                                  \
    {                                                                                              \
        .name = "softmax " #N_ "x" #V_ " of " #P_,                                                 \
        .arrays = {{ROLE_INPUT, (N_) * (P_), 0, false},                                            \
                   {ROLE_INDEX, N_, V_, false},                                                    \
                   {ROLE_OUTPUT, N_, 0, true}},                                                    \
        .count = 3, .in_place = true, .with_none = none, .forward = softmax,                       \
        .backward = softmax_backward, .size.softmax = {                                            \
            N_,                                                                                    \
            V_,                                                                                    \
            P_,                                                                                    \
            1                                                                                      \
        }                                                                                          \
    }

static dm_status square(EXEC)
{
    return OPS->square_loss(exec, &(dm_nn_value_loss){c->size.value.N, c->size.value.C, 0}, p[0],
                            p[1], p[2], err);
}
static dm_status square_backward(EXEC)
{
    return OPS->square_loss(exec, &c->size.value, p[0], p[1], p[2], err);
}
static dm_status sigmoid(EXEC)
{
    return OPS->sigmoid_loss(exec, &(dm_nn_value_loss){c->size.value.N, c->size.value.C, 0}, p[0],
                             p[1], p[2], err);
}
static dm_status sigmoid_backward(EXEC)
{
    return OPS->sigmoid_loss(exec, &c->size.value, p[0], p[1], p[2], err);
}
#define VALUE(loss, N_, C_)                                                                        \
    {                                                                                              \
        .name = #loss " loss " #N_ "x" #C_,                                                        \
        .arrays = {{ROLE_INPUT, (N_) * (C_), 0, false},                                            \
                   {ROLE_CONSTANT, (N_) * (C_), 0, true},                                          \
                   {ROLE_OUTPUT, N_, 0, true}},                                                    \
        .count = 3, .in_place = true, .forward = loss, .backward = loss##_backward,                \
        .size.value = {                                                                            \
            N_,                                                                                    \
            C_,                                                                                    \
            1                                                                                      \
        }                                                                                          \
    }

static const op_case cases[] = {
    LINEAR(1, 1, 1, DM_NN_LINEAR, false, false, true),
    LINEAR(4, 2, 4, DM_NN_TANH, false, false, true),
    LINEAR(5, 7, 3, DM_NN_SIGMOID, false, true, true),
    LINEAR(13, 17, 19, DM_NN_GELU, true, false, true),
    LINEAR(67, 37, 53, DM_NN_RELU, false, true, false),
    LINEAR(130, 96, 72, DM_NN_GELU, true, true, true),
    LINEAR(31, 300, 10, DM_NN_LINEAR, false, false, true),
    LINEAR(1, 257, 1, DM_NN_GELU, true, false, true),
    LINEAR(251, 1, 2, DM_NN_TANH, false, true, true),
    LINEAR(3, 5, 521, DM_NN_SIGMOID, false, false, true),
    LINEAR(23, 521, 547, DM_NN_RELU, false, true, true),
    LINEAR(263, 65, 79, DM_NN_GELU, true, false, false),
    LINEAR(16, 64, 64, DM_NN_TANH, false, false, true),
    CONV(2, 1, 7, 7, 3, 5, 1, DM_NN_RELU, false),
    CONV(3, 2, 9, 11, 5, 3, 2, DM_NN_LINEAR, true),
    CONV(2, 1, 28, 28, 16, 5, 1, DM_NN_RELU, false),
    CONV(1, 1, 1, 1, 1, 1, 1, DM_NN_TANH, false),
    CONV(1, 3, 13, 37, 7, 5, 1, DM_NN_SIGMOID, true),
    CONV(3, 5, 8, 6, 13, 2, 1, DM_NN_RELU, true),
    CONV(2, 2, 17, 19, 3, 3, 4, DM_NN_RELU, false),
    CONV(5, 4, 23, 41, 17, 7, 1, DM_NN_LINEAR, false),
    POOL(2, 3, 6, 6, 2, false),
    POOL(1, 2, 7, 11, 3, true),
    POOL(1, 1, 1, 1, 1, false),
    POOL(3, 5, 2, 2, 2, false),
    POOL(2, 2, 24, 24, 2, false),
    POOL(1, 3, 13, 75, 2, true),
    POOL(2, 1, 9, 67, 2, false),
    EMBED(1, 1, 1, 1, false),
    EMBED(3, 7, 13, 5, true),
    EMBED(2, 33, 32, 50, true),
    EMBED(5, 3, 131, 7, false),
    EMBED(2, 333, 24, 3, true),
    EMBED(3, 128, 8, 1, false),
    EMBED(4, 97, 5, 40, false),
    NORM(1, 2, false, false),
    NORM(5, 13, true, false),
    NORM(37, 64, false, true),
    NORM(9, 131, true, true),
    NORM(3, 3, true, true),
    NORM(2, 768, false, false),
    NORM(300, 40, true, true),
    NORM(67, 1000, false, true),
    NORM(35, 1032, true, false),
    ATTENTION(1, 1, 2, 1),
    ATTENTION(2, 7, 6, 3),
    ATTENTION(1, 37, 32, 2),
    ATTENTION(2, 130, 64, 2),
    ATTENTION(1, 65, 64, 1),
    ATTENTION(1, 300, 128, 2),
    ATTENTION(2, 1, 64, 1),
    ATTENTION(2, 64, 128, 2),
    ATTENTION(1, 192, 64, 1),
    ATTENTION(1, 449, 192, 3),
    ATTENTION(2, 71, 256, 2),
    ATTENTION(3, 17, 3, 3),
    ATTENTION(1, 31, 26, 2),
    ATTENTION(1, 521, 21, 1),
    GRU(1, 1, 1, false, false),
    GRU(2, 5, 3, true, true),
    GRU(3, 7, 19, true, true),
    GRU(1, 11, 64, false, true),
    GRU(13, 3, 131, true, false),
    MINGRU(2, 6, 5, true, true),
    MINGRU(3, 9, 33, false, true),
    MINGRU(1, 1, 1, true, false),
    MINGRU(5, 7, 64, true, true),
    SOFTMAX(1, 2, 2, false),
    SOFTMAX(7, 13, 16, true),
    SOFTMAX(33, 300, 320, true),
    SOFTMAX(1, 1, 1, false),
    SOFTMAX(3, 1031, 1031, true),
    SOFTMAX(5, 2041, 2048, true),
    SOFTMAX(7, 9001, 9008, true),
    SOFTMAX(3, 20000, 20480, false),
    VALUE(square, 5, 3),
    VALUE(sigmoid, 7, 1),
    VALUE(sigmoid, 6, 19),
    VALUE(square, 1, 1),
    VALUE(square, 3, 67),
    VALUE(sigmoid, 2, 131),
    LINEAR(1024, 256, 128, DM_NN_RELU, false, true, true),
};

size_t op_case_count(void)
{
    return sizeof cases / sizeof cases[0];
}

const op_case *op_case_get(size_t index)
{
    return &cases[index];
}
