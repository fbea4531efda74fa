/* Kernel scale, CUDA C++ by dotmatrix. */

typedef struct array1_f32 {
    float *data;
    float *grad; /* 0: none is kept */
    long long stride[1]; /* bytes */
    int shape[1];
} array1_f32;

static __device__ inline float *array1_f32_at(array1_f32 a, int i)
{
    i += i < 0 ? a.shape[0] : 0;
    return (float *)((char *)a.data + i * a.stride[0]);
}

static __device__ inline float *array1_f32_grad_at(array1_f32 a, int i)
{
    i += i < 0 ? a.shape[0] : 0;
    return (float *)((char *)a.grad + i * a.stride[0]);
}

static __device__ inline float atomic_add_f32(float *at, float x)
{
    return atomicAdd(at, x);
}

static __device__ inline void scale_forward_task(int tid0, array1_f32 x, float s, array1_f32 y)
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

static __device__ inline void scale_backward_task(int tid0, array1_f32 x, float s, array1_f32 y)
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

extern "C" __global__ void scale_forward(const scale_args args)
{
    const long long size = (long long)args.dim[0], threads = (long long)gridDim.x * blockDim.x;
    for (long long task = (long long)blockIdx.x * blockDim.x + threadIdx.x; task < size;
         task += threads)
        scale_forward_task((int)(task), args.x, args.s, args.y);
}

extern "C" __global__ void scale_backward(const scale_args args)
{
    const long long size = (long long)args.dim[0], threads = (long long)gridDim.x * blockDim.x;
    for (long long task = (long long)blockIdx.x * blockDim.x + threadIdx.x; task < size;
         task += threads)
        scale_backward_task((int)(task), args.x, args.s, args.y);
}
