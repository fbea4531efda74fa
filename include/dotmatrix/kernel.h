/* SPDX-License-Identifier: MIT */
/* kernel.h - kernels written in Python syntax (NVIDIA Warp's dialect), compiled to C and CUDA C++
 * with gradients, and run on a device.
 *
 *     dm_kernel_file *file;
 *     dm_kernel_file_create("scale.py", text, size, NULL, &file, err);   // parse, find kernels
 *     dm_kernel *kernel = dm_kernel_file_find(file, "scale");
 *     dm_kernel_compile(kernel, err);                                    // milliseconds
 *     puts(dm_kernel_source(kernel, DM_KERNEL_CUDA, err));               // its text
 *
 *     dm_kernel_program *program;
 *     dm_kernel_program_create(kernel, device, &program, err);           // cc or NVRTC, cached
 *     dm_kernel_args *args;
 *     dm_kernel_args_create(kernel, &args, err);
 *     dm_kernel_args_array(args, "x", &(dm_kernel_array){.data = x, .shape = {n}}, err);
 *     dm_kernel_args_number(args, "s", 2.0, err);
 *     dm_kernel_launch(program, stream, DM_KERNEL_FORWARD, (int[]){n}, 1, args, err);
 *
 * Backward: give the arrays that take part a `grad` of the same shape, set those of the outputs to
 * the gradient of your loss, those of the inputs to zero, and launch DM_KERNEL_BACKWARD with the
 * same arguments and the arrays as the forward pass left them (or, with `from_inputs`, as they were
 * before it). Gradients are added to what is there; those of elements that the kernel had stored
 * to become zero.
 *
 * Ownership: what `create` gives is the caller's to destroy. Kernels belong to their file and texts
 * to their kernel. A program keeps its device alive. Programs and arguments may outlive their file.
 * Threads: a file and its kernels by one thread at a time; programs by any. */
#ifndef DOTMATRIX_KERNEL_H
#define DOTMATRIX_KERNEL_H

#include <dotmatrix/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dm_kernel_file dm_kernel_file;
typedef struct dm_kernel dm_kernel;
typedef struct dm_kernel_program dm_kernel_program;
typedef struct dm_kernel_args dm_kernel_args;

typedef enum dm_kernel_target { DM_KERNEL_C, DM_KERNEL_CUDA } dm_kernel_target;
typedef enum dm_kernel_pass { DM_KERNEL_FORWARD, DM_KERNEL_BACKWARD } dm_kernel_pass;

typedef struct dm_kernel_options {
    bool no_backward; /* the forward pass only */
    bool warp_compat; /* gradients as Warp's where they differ */
    bool from_inputs; /* the backward pass is launched with the arrays as they were before the
                         forward pass, not as it left them: x[i] = x[i] * x[i] */
    bool lines;       /* comments with the source's lines in the text */
    /* Indices are checked while the kernel runs: an access outside of an array ends the launch with
     * DM_EINVAL. A launch then waits for its end; one thread at a time. */
    bool bounds;
    bool imports;    /* functions of modules that are files beside `name`, a path; else not known */
    bool all_double; /* float16 and float32 become float64, for checks */
    const char *const *defines; /* "NAME=VALUE" for captured names, ended by NULL; may be NULL */
} dm_kernel_options;

/* ---- Compiling ---- */

/* `name` is shown in messages. The text is copied. On DM_ECOMPILE the error has the first message
 * with its line; *out is set all the same when dm_kernel_file_messages has more to say. */
DM_API dm_status dm_kernel_file_create(const char *name, const char *text, size_t size,
                                       const dm_kernel_options *options, dm_kernel_file **out,
                                       dm_error *err);
DM_API void dm_kernel_file_destroy(dm_kernel_file *file);
/* Everything that was wrong so far: place, line, caret, hint for each. Valid until the next call.
 */
DM_API const char *dm_kernel_file_messages(dm_kernel_file *file);
DM_API size_t dm_kernel_file_count(const dm_kernel_file *file);
DM_API dm_kernel *dm_kernel_file_get(dm_kernel_file *file, size_t index);
DM_API dm_kernel *dm_kernel_file_find(dm_kernel_file *file, const char *name); /* NULL: none */

DM_API dm_status dm_kernel_compile(dm_kernel *kernel, dm_error *err);
DM_API const char *dm_kernel_name(const dm_kernel *kernel);
DM_API int dm_kernel_line(const dm_kernel *kernel);
/* The rest after dm_kernel_compile. */
DM_API bool dm_kernel_has_backward(const dm_kernel *kernel);
/* Why there is no backward pass; NULL when there is one or none was asked for. */
DM_API const char *dm_kernel_no_backward(const dm_kernel *kernel);
/* The text for a target, both passes; NULL with an error. */
DM_API const char *dm_kernel_source(dm_kernel *kernel, dm_kernel_target target, dm_error *err);

/* Scalars as numpy names them. */
typedef enum dm_kernel_scalar {
    DM_KERNEL_BOOL,
    DM_KERNEL_INT8,
    DM_KERNEL_UINT8,
    DM_KERNEL_INT16,
    DM_KERNEL_UINT16,
    DM_KERNEL_INT32,
    DM_KERNEL_UINT32,
    DM_KERNEL_INT64,
    DM_KERNEL_UINT64,
    DM_KERNEL_FLOAT16,
    DM_KERNEL_FLOAT32,
    DM_KERNEL_FLOAT64,
    DM_KERNEL_STRUCT, /* no scalar: bytes */
} dm_kernel_scalar;

typedef struct dm_kernel_param {
    const char *name;
    const char *type; /* as text: "array(ndim=1, dtype=vec3f)" */
    bool is_array;
    int ndim;                /* of an array */
    dm_kernel_scalar scalar; /* of the parameter or of the array's elements */
    int components;          /* 3 for a vec3, 9 for a mat33, 1 for a scalar */
    size_t element_size;     /* bytes of one element, or of the parameter */
    size_t offset;           /* in the argument block */
} dm_kernel_param;

/* How many coordinates tid() gives: the launch has at least that many dimensions. */
DM_API int dm_kernel_dimensions(const dm_kernel *kernel);
DM_API size_t dm_kernel_param_count(const dm_kernel *kernel);
DM_API const dm_kernel_param *dm_kernel_param_get(const dm_kernel *kernel, size_t index);

/* ---- Running ---- */

DM_API dm_status dm_kernel_program_create(dm_kernel *kernel, dm_device *device,
                                          dm_kernel_program **out, dm_error *err);
DM_API void dm_kernel_program_destroy(dm_kernel_program *program);

typedef struct dm_kernel_array {
    void *data, *grad; /* device addresses; grad may be NULL */
    int64_t shape[4];
    int64_t strides[4]; /* bytes; all 0: contiguous */
} dm_kernel_array;

/* Arguments: all must be set before a launch, except arrays that stay without data. */
DM_API dm_status dm_kernel_args_create(const dm_kernel *kernel, dm_kernel_args **out,
                                       dm_error *err);
DM_API void dm_kernel_args_destroy(dm_kernel_args *args);
DM_API dm_status dm_kernel_args_array(dm_kernel_args *args, const char *name,
                                      const dm_kernel_array *array, dm_error *err);
/* A scalar parameter, converted to its type. */
DM_API dm_status dm_kernel_args_number(dm_kernel_args *args, const char *name, double value,
                                       dm_error *err);
/* Any parameter that is no array, as it lies in memory; `size` is checked. */
DM_API dm_status dm_kernel_args_bytes(dm_kernel_args *args, const char *name, const void *bytes,
                                      size_t size, dm_error *err);

/* One task per point of `dim`; queued on the stream. When the launch has more dimensions than the
 * kernel asks for with tid(), the kernel sees the leading ones. */
DM_API dm_status dm_kernel_launch(const dm_kernel_program *program, dm_stream *stream,
                                  dm_kernel_pass pass, const int *dim, int ndim,
                                  const dm_kernel_args *args, dm_error *err);

#ifdef __cplusplus
}
#endif

#endif
