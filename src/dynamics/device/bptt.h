/* SPDX-License-Identifier: MIT */
/* bptt.h - gradients of sequences on a device: forward with a tape, then backward through
 * all steps, for all members and a batch of sequences at once. */
#ifndef DM_DYNAMICS_DEVICE_BPTT_H
#define DM_DYNAMICS_DEVICE_BPTT_H

#include "dynamics/device/bptt_args.h"
#include "dynamics/internal.h"

typedef enum dm_bptt_kernel {
    DM_BPTT_START,
    DM_BPTT_INPUTS,
    DM_BPTT_GATES,
    DM_BPTT_CANDIDATE,
    DM_BPTT_HEAD,
    DM_BPTT_OBJECTIVE,
    DM_BPTT_HEAD_BACKWARD,
    DM_BPTT_GATES_BACKWARD,
    DM_BPTT_RESET_BACKWARD,
    DM_BPTT_FEEDBACK,
    DM_BPTT_SUMS,
    DM_BPTT_SQUARES,
    DM_BPTT_CLIP,
    DM_BPTT_UPDATE,
    DM_BPTT_KERNELS
} dm_bptt_kernel;

typedef struct dm_bptt {
    dm_device *device;
    dm_stream *stream;
    const dm_dynamics *model;
    dm_module *module, *product_module;
    dm_function *functions[DM_BPTT_KERNELS], *product, *product_few;
    dm_device_buffer *weights, *grad; /* [E][stride]: the device's own weights */
    dm_device_buffer *scaling;        /* [2][I] */
    dm_device_buffer *input;          /* features, targets, h0 */
    dm_device_buffer *tape;           /* all arrays of dm_bptt_args */
    size_t input_h0, input_targets;   /* where they begin in `input`, in elements */
    dm_bptt_args args;
} dm_bptt;

/* Takes over weights, shift and scale of the model, which must outlive it. */
dm_status dm_bptt_init(dm_bptt *b, dm_device *device, const dm_dynamics *model, dm_error *err);
void dm_bptt_deinit(dm_bptt *b);
dm_status dm_bptt_upload(dm_bptt *b, dm_error *err);

/* features[R][forced][I], hidden[R][E][H] or NULL for zeros. Leaves losses and the tape on the
 * device. More than 2^31 rows of members, steps and sequences are DM_EINVAL. */
dm_status dm_bptt_forward(dm_bptt *b, uint32_t sequences, uint32_t forced, uint32_t steps,
                          const float *features, const float *hidden, dm_error *err);
/* Gradients to b->grad, from args.dloss and the gradient of the last hidden state, dh_last[E][R][H] (on
 * the host; NULL: zeros). args.dout is then the gradient of the first hidden state. */
dm_status dm_bptt_backward(dm_bptt *b, const float *dh_last, dm_error *err);

/* `few`: by the kernel for up to DM_PRODUCT_FEW rows. */
dm_status dm_bptt_multiply(dm_bptt *b, const dm_product_args *p, bool few, dm_error *err);
/* A kernel with one thread per item, in blocks of 128. */
dm_status dm_bptt_launch(dm_bptt *b, dm_bptt_kernel kernel, uint64_t items, const void *args,
                         size_t args_size, dm_error *err);
/* Wait, and copy from any address of the tape or the gradients. */
dm_status dm_bptt_read(dm_bptt *b, const void *from, void *to, size_t size, dm_error *err);
/* Copy to an address of the tape. */
dm_status dm_bptt_write(dm_bptt *b, void *to, const void *from, size_t size, dm_error *err);

#endif
