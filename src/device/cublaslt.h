/* SPDX-License-Identifier: MIT */
/* cublaslt.h - large matrix products by NVIDIA's cuBLASLt, opened at run time where it is
 * installed.
 *
 * Matrices are column-major, as cuBLAS has them: d[m][n] = op(a)[m][k] op(b)[k][n]. Descriptors and
 * the chosen algorithm are kept per shape, so that a later call only queues the product.
 *
 * The first call with a large shape times the library's proposals and keeps the fastest in the cache
 * of compiled kernels: on one machine a shape always has the same algorithm, and its sums the same
 * bits. $DM_CUBLASLT_TIMING=0 takes the library's first proposal. */
#ifndef DM_DEVICE_CUBLASLT_H
#define DM_DEVICE_CUBLASLT_H

#include "base/file.h"

#include <dotmatrix/device.h>

typedef struct dm_cublaslt dm_cublaslt;

#define DM_CUBLASLT_WORKSPACE ((size_t)32 << 20)

typedef struct dm_cublaslt_product {
    bool bf16; /* a, b (and d unless d_float); else float */
    bool d_float;
    bool transpose_a, transpose_b;
    bool add;  /* d += */
    bool relu; /* after the bias */
    uint32_t m, n, k, lda, ldb;
    const void *a, *b;
    void *d;               /* leading dimension m */
    const void *bias;      /* [m], of d's type; may be NULL */
    void *gelu_aux;        /* not NULL: GELU; the sum before it goes here, with d's layout */
    const void *dgelu_aux; /* not NULL: d is multiplied with GELU's slope at these sums */
    /* Not NULL, instead of bias: sums over n of d, [m], with dgelu_aux; without, sums over k of b, [n].
     * Of d's type. */
    void *sums;
} dm_cublaslt_product;

/* $DM_CUBLASLT names the library file. DM_EUNAVAILABLE with the reason when there is none. */
dm_status dm_cublaslt_create(dm_device *device, dm_cublaslt **out, dm_error *err);
void dm_cublaslt_destroy(dm_cublaslt *lt);
/* Where it is, without opening it; the same search and the same reasons. */
dm_status dm_cublaslt_find(char path[DM_PATH_MAX], dm_error *err);
/* "cublasLt 13.0 (path)" */
const char *dm_cublaslt_name(const dm_cublaslt *lt);
/* Queue one product. DM_EUNSUPPORTED, with nothing queued, for a shape that the library does not
 * take (or addresses that are not multiples of 16). */
dm_status dm_cublaslt_run(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *product,
                          void *workspace, size_t workspace_size, dm_error *err);

/* Milliseconds of each of the library's first `room` algorithms for a shape, in its order.
 * 0: it cannot. */
dm_status dm_cublaslt_candidates(dm_cublaslt *lt, dm_stream *stream,
                                 const dm_cublaslt_product *product, void *workspace, double *ms,
                                 int room, int *count, dm_error *err);

#endif
