/* Kernel scale, C by dotmatrix. */
#include <stdint.h>
#include <stdbool.h>
#include <math.h>

typedef struct array1_f32 {
    float *data;
    float *grad; /* 0: none is kept */
    long long stride[1]; /* bytes */
    int shape[1];
} array1_f32;

static inline float *array1_f32_at(array1_f32 a, int i)
{
    i += i < 0 ? a.shape[0] : 0;
    return (float *)((char *)a.data + i * a.stride[0]);
}

static inline float *array1_f32_grad_at(array1_f32 a, int i)
{
    i += i < 0 ? a.shape[0] : 0;
    return (float *)((char *)a.grad + i * a.stride[0]);
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

static inline void scale_forward_task(int tid0, array1_f32 x, float s, array1_f32 y)
{
    /* 5: i = wp.tid() */
    const int i = tid0;
    /* 6: if i < x.shape[0]: */
    if (i < x.shape[0]) {
        /* 7: y[i] = wp.sin(x[i]) * s */
        *array1_f32_at(y, i) = sinf(*array1_f32_at(x, i)) * s;
        /* 6: if i < x.shape[0]: */
    }
}

static inline void scale_backward_task(int tid0, array1_f32 x, float s, array1_f32 y)
{
    const int i = tid0;
    if (i < x.shape[0]) {
        const float t = y.grad ? *array1_f32_grad_at(y, i) : 0.0f;
        if (y.grad)
            *array1_f32_grad_at(y, i) = 0.0f;
        if (x.grad)
            atomic_add_f32(array1_f32_grad_at(x, i), t * s * cosf(*array1_f32_at(x, i)));
    }
}

typedef struct scale_args {
    int dim[1]; /* size of the launch */
    array1_f32 x;
    float s;
    array1_f32 y;
} scale_args;

__attribute__((visibility("default"))) extern const uint64_t scale_forward_args_size;
const uint64_t scale_forward_args_size = sizeof(scale_args);

__attribute__((visibility("default"))) void scale_forward(const void *block, uint64_t first, uint64_t last, uint64_t count);
void scale_forward(const void *block, uint64_t first, uint64_t last, uint64_t count)
{
    const scale_args args = *(const scale_args *)block;
    const long long size = (long long)args.dim[0];
    for (uint64_t thread = first; thread < last; thread++)
        for (long long task = (long long)thread; task < size; task += (long long)count)
            scale_forward_task((int)(task), args.x, args.s, args.y);
}

__attribute__((visibility("default"))) extern const uint64_t scale_backward_args_size;
const uint64_t scale_backward_args_size = sizeof(scale_args);

__attribute__((visibility("default"))) void scale_backward(const void *block, uint64_t first, uint64_t last, uint64_t count);
void scale_backward(const void *block, uint64_t first, uint64_t last, uint64_t count)
{
    const scale_args args = *(const scale_args *)block;
    const long long size = (long long)args.dim[0];
    for (uint64_t thread = first; thread < last; thread++)
        for (long long task = (long long)thread; task < size; task += (long long)count)
            scale_backward_task((int)(task), args.x, args.s, args.y);
}
