/* SPDX-License-Identifier: MIT */
/* product_size.h - the sizes of product_mma.h, for its launches too. */
#ifndef DM_NN_CUDA_PRODUCT_SIZE_H
#define DM_NN_CUDA_PRODUCT_SIZE_H

#define NN_PRODUCT_M 128u /* of a block */
#define NN_PRODUCT_N 64u
#define NN_PRODUCT_K 32u /* of a piece */
#define NN_PRODUCT_THREADS 256u
#define NN_PRODUCT_STAGES 3u
/* Floats of a piece of a, of b, of both. */
#define NN_PRODUCT_A (NN_PRODUCT_M * (NN_PRODUCT_K + 4u))
#define NN_PRODUCT_B (NN_PRODUCT_N * (NN_PRODUCT_K + 4u))
#define NN_PRODUCT_STAGE (NN_PRODUCT_A + NN_PRODUCT_B)

#endif
