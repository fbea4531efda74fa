/* Kernel horner, C by dotmatrix. */
#include <stdint.h>
#include <stdbool.h>
#include <math.h>

typedef struct array2_f32 {
    float *data;
    float *grad; /* 0: none is kept */
    long long stride[2]; /* bytes */
    int shape[2];
} array2_f32;
typedef struct vec3f { float c[3]; } vec3f;
typedef struct Poly {
    vec3f offset;
    int order;
} Poly;
typedef struct array1_vec3f {
    vec3f *data;
    vec3f *grad; /* 0: none is kept */
    long long stride[1]; /* bytes */
    int shape[1];
} array1_vec3f;

static inline float *array2_f32_at(array2_f32 a, int i, int j)
{
    i += i < 0 ? a.shape[0] : 0;
    j += j < 0 ? a.shape[1] : 0;
    return (float *)((char *)a.data + i * a.stride[0] + j * a.stride[1]);
}

static inline vec3f *array1_vec3f_at(array1_vec3f a, int i)
{
    i += i < 0 ? a.shape[0] : 0;
    return (vec3f *)((char *)a.data + i * a.stride[0]);
}

static inline vec3f normalize_vec3f(vec3f v)
{
    float s = v.c[0] * v.c[0];
    for (int i = 1; i < 3; i++) s += v.c[i] * v.c[i];
    const float l = sqrtf(s);
    vec3f r;
    for (int i = 0; i < 3; i++) r.c[i] = l > 0 ? v.c[i] / l : 0;
    return r;
}

static inline vec3f *array1_vec3f_grad_at(array1_vec3f a, int i)
{
    i += i < 0 ? a.shape[0] : 0;
    return (vec3f *)((char *)a.grad + i * a.stride[0]);
}

static inline vec3f vec3f_zero(void)
{
    vec3f r = {0};
    return r;
}

static inline float dot_vec3f(vec3f a, vec3f b)
{
    float s = (float)(a.c[0] * b.c[0]);
    for (int i = 1; i < 3; i++) s = (float)(s + a.c[i] * b.c[i]);
    return s;
}

static inline vec3f div_vec3f_f32(vec3f a, float s)
{
    vec3f r;
    for (int i = 0; i < 3; i++) r.c[i] = (float)(a.c[i] / s);
    return r;
}

static inline vec3f sub_vec3f(vec3f a, vec3f b)
{
    vec3f r;
    for (int i = 0; i < 3; i++) r.c[i] = (float)(a.c[i] - b.c[i]);
    return r;
}

static inline vec3f mul_vec3f_f32(vec3f a, float s)
{
    vec3f r;
    for (int i = 0; i < 3; i++) r.c[i] = (float)(a.c[i] * s);
    return r;
}

static inline float length_vec3f(vec3f v)
{
    float s = v.c[0] * v.c[0];
    for (int i = 1; i < 3; i++) s += v.c[i] * v.c[i];
    return sqrtf(s);
}

static inline int min_i32(int a, int b)
{
    return a < b ? a : b;
}

static inline float atomic_add_f32(float *at, float x)
{
    union { float value; unsigned int bits; } before, after;
    unsigned int *word = (unsigned int *)(void *)at;
    before.bits = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        const float old = before.value;
        after.value = old + x;
    } while (!__atomic_compare_exchange_n(word, &before.bits, after.bits, 1,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return before.value;
}

static inline float *array2_f32_grad_at(array2_f32 a, int i, int j)
{
    i += i < 0 ? a.shape[0] : 0;
    j += j < 0 ? a.shape[1] : 0;
    return (float *)((char *)a.grad + i * a.stride[0] + j * a.stride[1]);
}

static inline float term(float p, float x, float c)
{
    /* 10: return p * x + c */
    return p * x + c;
}

static inline void horner_forward_task(int tid0, array2_f32 c, Poly q, array1_vec3f y)
{
    /* 14: i = wp.tid() */
    const int i = tid0;
    /* 16: for k in range(q.order): */
    float p = 0.0f;
    for (int k = 0; k < q.order; k++) {
        /* 17: if c[i, k] > 100.0: */
        if (*array2_f32_at(c, i, k) > 100.0f) {
            /* 18: break */
            break;
        }
        /* 19: p = term(p, q.offset[0], c[i, k]) */
        p = term(p, q.offset.c[0], *array2_f32_at(c, i, k));
    }
    /* 20: v = q.offset */
    vec3f v = q.offset;
    /* 21: v[1] = p */
    v.c[1] = p;
    /* 22: y[i] = wp.normalize(v) */
    *array1_vec3f_at(y, i) = normalize_vec3f(v);
}

static inline void adj_term(float p, float x, float c, float *adj_p, float *adj_x, float *adj_c, float adj_ret)
{
    (void)c;
    (*adj_c) += adj_ret;
    (*adj_p) += adj_ret * x;
    (*adj_x) += adj_ret * p;
}

static inline void horner_backward_task(int tid0, array2_f32 c, Poly q, array1_vec3f y)
{
    const int i = tid0;
    const int t = q.order;
    int left = 0;
    float p = 0.0f;
    int k = 0;
    while (left == 0 && k < t) {
        int t_1;
        float t_2;
        if (*array2_f32_at(c, i, k) > 100.0f) {
            t_1 = 2;
            t_2 = p;
        } else {
            t_1 = 0;
            t_2 = term(p, q.offset.c[0], *array2_f32_at(c, i, k));
        }
        left = t_1 >= 2 ? t_1 : 0;
        p = t_2;
        k += 1;
    }
    vec3f t_3 = q.offset;
    t_3.c[1] = p;
    const vec3f t_4 = normalize_vec3f(t_3);
    const vec3f t_5 = y.grad ? *array1_vec3f_grad_at(y, i) : vec3f_zero();
    if (y.grad)
        *array1_vec3f_grad_at(y, i) = vec3f_zero();
    vec3f t_6 = {0};
    float adj_p = (dot_vec3f(t_3, t_3) > 0.0f ? div_vec3f_f32(sub_vec3f(t_5, mul_vec3f_f32(t_4, dot_vec3f(t_4, t_5))), length_vec3f(t_3)) : t_6).c[1];
    int left_1 = 0;
    int k_1 = 0;
    int n = 0;
    while (left_1 == 0 && k_1 < t) {
        int t_7;
        if (*array2_f32_at(c, i, k_1) > 100.0f) {
            t_7 = 2;
        } else {
            t_7 = 0;
        }
        left_1 = t_7 >= 2 ? t_7 : 0;
        k_1 += 1;
        n += 1;
    }
    float tape_p[32];
    int tape_k[32];
    for (int start = (n - 1) / 32 * 32; start > -1; start += -32) {
        float p_1 = 0.0f;
        int k_2 = 0;
        for (int it = 0; it < start; it++) {
            float t_8;
            if (*array2_f32_at(c, i, k_2) > 100.0f) {
                t_8 = p_1;
            } else {
                t_8 = term(p_1, q.offset.c[0], *array2_f32_at(c, i, k_2));
            }
            p_1 = t_8;
            k_2 += 1;
        }
        const int length = min_i32(n - start, 32);
        for (int it_1 = 0; it_1 < length; it_1++) {
            tape_p[it_1] = p_1;
            tape_k[it_1] = k_2;
            float t_9;
            if (*array2_f32_at(c, i, k_2) > 100.0f) {
                t_9 = p_1;
            } else {
                t_9 = term(p_1, q.offset.c[0], *array2_f32_at(c, i, k_2));
            }
            p_1 = t_9;
            k_2 += 1;
        }
        for (int it_2 = length - 1; it_2 > -1; it_2--) {
            const float p_2 = tape_p[it_2];
            const int k_3 = tape_k[it_2];
            const float t_10 = adj_p;
            adj_p = 0.0f;
            if (*array2_f32_at(c, i, k_3) > 100.0f) {
                adj_p += t_10;
            } else {
                float adj_t = 0.0f;
                float adj_t_1 = 0.0f;
                adj_term(p_2, q.offset.c[0], *array2_f32_at(c, i, k_3), &adj_p, &adj_t, &adj_t_1, t_10);
                if (c.grad)
                    atomic_add_f32(array2_f32_grad_at(c, i, k_3), adj_t_1);
            }
        }
    }
}

typedef struct horner_args {
    int dim[1]; /* size of the launch */
    array2_f32 c;
    Poly q;
    array1_vec3f y;
} horner_args;

__attribute__((visibility("default"))) extern const uint64_t horner_forward_args_size;
const uint64_t horner_forward_args_size = sizeof(horner_args);

__attribute__((visibility("default"))) void horner_forward(const void *block, uint64_t first, uint64_t last, uint64_t count);
void horner_forward(const void *block, uint64_t first, uint64_t last, uint64_t count)
{
    const horner_args args = *(const horner_args *)block;
    const long long size = (long long)args.dim[0];
    for (uint64_t thread = first; thread < last; thread++)
        for (long long task = (long long)thread; task < size; task += (long long)count)
            horner_forward_task((int)(task), args.c, args.q, args.y);
}

__attribute__((visibility("default"))) extern const uint64_t horner_backward_args_size;
const uint64_t horner_backward_args_size = sizeof(horner_args);

__attribute__((visibility("default"))) void horner_backward(const void *block, uint64_t first, uint64_t last, uint64_t count);
void horner_backward(const void *block, uint64_t first, uint64_t last, uint64_t count)
{
    const horner_args args = *(const horner_args *)block;
    const long long size = (long long)args.dim[0];
    for (uint64_t thread = first; thread < last; thread++)
        for (long long task = (long long)thread; task < size; task += (long long)count)
            horner_backward_task((int)(task), args.c, args.q, args.y);
}
