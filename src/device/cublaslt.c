/* SPDX-License-Identifier: MIT */
/* cublaslt.c - find, open and use cuBLASLt; see cublaslt.h. Reference: NVIDIA, "cuBLAS", the part
 * on cublasLt; enumerations have the values of its interface. */
#include "device/cublaslt.h"

#include "base/file.h"
#include "device/cache.h"
#include "device/cuda_api.h"
#include "device/internal.h"
#include "device/library_find.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { R_32F = 0, R_16BF = 14, COMPUTE_32F = 68 };
enum {
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS = 8,
    DESC_AUX = 11,
    DESC_AUX_LD = 12
};
enum { PREF_WORKSPACE = 1, PREF_ALIGN_A = 5, PREF_ALIGN_D = 8 };
enum {
    EPILOGUE_NONE = 1,
    EPILOGUE_RELU = 2,
    EPILOGUE_BIAS = 4,
    EPILOGUE_GELU_AUX = 32 | 128,
    EPILOGUE_DGELU = 64 | 128,
    EPILOGUE_SUMS = 16,
    EPILOGUE_SUMS_B = 512
};
#define ALIGNMENT 16u

typedef struct algorithm {
    uint64_t data[8];
} algorithm;

typedef struct heuristic {
    algorithm algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} heuristic;

#define LT_FUNCTIONS(F)                                                                            \
    F(create, "cublasLtCreate", (void **handle))                                                   \
    F(destroy, "cublasLtDestroy", (void *handle))                                                  \
    F(desc_create, "cublasLtMatmulDescCreate", (void **desc, int compute, int scale))              \
    F(desc_destroy, "cublasLtMatmulDescDestroy", (void *desc))                                     \
    F(desc_set, "cublasLtMatmulDescSetAttribute",                                                  \
      (void *desc, int which, const void *v, size_t n))                                            \
    F(layout_create, "cublasLtMatrixLayoutCreate",                                                 \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))                      \
    F(layout_destroy, "cublasLtMatrixLayoutDestroy", (void *layout))                               \
    F(pref_create, "cublasLtMatmulPreferenceCreate", (void **pref))                                \
    F(pref_destroy, "cublasLtMatmulPreferenceDestroy", (void *pref))                               \
    F(pref_set, "cublasLtMatmulPreferenceSetAttribute",                                            \
      (void *pref, int which, const void *v, size_t n))                                            \
    F(choose, "cublasLtMatmulAlgoGetHeuristic",                                                    \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int wanted,       \
       heuristic *out, int *count))                                                                \
    F(matmul, "cublasLtMatmul",                                                                    \
      (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,  \
       void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,   \
       const algorithm *algo, void *workspace, size_t workspace_size, void *stream))

/* Descriptors and algorithm of a shape. */
typedef struct plan {
    dm_cublaslt_product key; /* without addresses; of bias and gelu_aux whether they are there */
    void *desc, *a, *b, *d;
    algorithm algo;
    bool usable;
    struct plan *next;
} plan;

struct dm_cublaslt {
    dm_device *device;
    const dm_cuda_api *cuda;
    void *library, *handle;
    plan *plans;
    char name[DM_PATH_MAX + 600];
#define LT_FIELD(field, symbol, parameters) int(*field) parameters;
    LT_FUNCTIONS(LT_FIELD)
#undef LT_FIELD
};

/* ---- Finding it ---- */

static const dm_cuda_library where = {"cublasLt", "cuBLASLt", "DM_CUBLASLT", "nvidia-cublas",
                                      "cublasLtCreate"};

/* cuBLASLt works in the calling thread's context. */
static void *enter(const dm_cublaslt *lt)
{
    void *previous = NULL;
    lt->cuda->context_get(&previous);
    if (previous != lt->device->state)
        lt->cuda->context_set(lt->device->state);
    return previous;
}

static void leave(const dm_cublaslt *lt, void *previous)
{
    if (previous != NULL && previous != lt->device->state)
        lt->cuda->context_set(previous);
}

dm_status dm_cublaslt_find(char path[DM_PATH_MAX], dm_error *err)
{
    const dm_cuda_api *cuda;
    dm_status status = dm_cuda_api_get(&cuda, err);
    return status != DM_OK ? status : dm_cuda_library_find(&where, cuda->version / 1000, path, err);
}

dm_status dm_cublaslt_create(dm_device *device, dm_cublaslt **out, dm_error *err)
{
    const dm_cuda_api *cuda;
    *out = NULL;
    char path[DM_PATH_MAX], origin[512];
    dm_status status = dm_cublaslt_find(path, err);
    if (status == DM_OK)
        status = dm_cuda_api_get(&cuda, err);
    if (status != DM_OK)
        return status;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return dm_fail(err, DM_EUNAVAILABLE, "no cuBLASLt: %s does not load: %s", path, dlerror());
    dm_cublaslt *lt = calloc(1, sizeof *lt);
    if (lt == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    lt->device = device;
    lt->cuda = cuda;
    lt->library = library;
    void *symbol = library;
#define LT_FIND(field, text, parameters)                                                           \
    if (symbol != NULL) {                                                                          \
        symbol = dlsym(library, text);                                                             \
        memcpy(&lt->field, &symbol, sizeof symbol);                                                \
    }
    LT_FUNCTIONS(LT_FIND)
#undef LT_FIND
    size_t (*version)(void) = NULL;
    void *version_symbol = dlsym(library, "cublasLtGetVersion");
    memcpy(&version, &version_symbol, sizeof version_symbol);
    int code = -1;
    if (symbol != NULL && version != NULL) {
        void *previous = enter(lt);
        code = lt->create(&lt->handle);
        leave(lt, previous);
    }
    if (code != 0) {
        lt->handle = NULL;
        dm_cublaslt_destroy(lt);
        return dm_fail(err, DM_EUNAVAILABLE, "cublasLt does not start: status %d", code);
    }
    size_t number = version(); /* 130100 for 13.1 */
    dm_cuda_library_origin(&where, path, origin, sizeof origin);
    snprintf(lt->name, sizeof lt->name, "cublasLt %zu.%zu (%s, %s)", number / 10000,
             number / 100 % 100, path, origin);
    *out = lt;
    return DM_OK;
}

static void plan_destroy(dm_cublaslt *lt, plan *p)
{
    void *layouts[] = {p->a, p->b, p->d};
    for (size_t i = 0; i < 3; i++)
        if (layouts[i] != NULL)
            lt->layout_destroy(layouts[i]);
    if (p->desc != NULL)
        lt->desc_destroy(p->desc);
    free(p);
}

void dm_cublaslt_destroy(dm_cublaslt *lt)
{
    if (lt == NULL)
        return;
    for (plan *p = lt->plans; p != NULL;) {
        plan *next = p->next;
        plan_destroy(lt, p);
        p = next;
    }
    if (lt->handle != NULL) {
        void *previous = enter(lt);
        lt->destroy(lt->handle);
        leave(lt, previous);
    }
    free(lt); /* the library stays open: it keeps state of the context */
}

const char *dm_cublaslt_name(const dm_cublaslt *lt)
{
    return lt->name;
}

/* ---- Products ---- */

static const void *bias_of(const dm_cublaslt_product *s)
{
    return s->sums != NULL ? s->sums : s->bias;
}

static const void *aux_of(const dm_cublaslt_product *s)
{
    return s->gelu_aux != NULL ? s->gelu_aux : s->dgelu_aux;
}

/* Make the descriptors of a shape, and ask for the library's best algorithms, at most `room`. */
static int describe(dm_cublaslt *lt, plan *p, const dm_cublaslt_product *s, heuristic *best,
                    int room, int *count)
{
    const void *aux = aux_of(s), *bias = bias_of(s);
    int type = s->bf16 ? R_16BF : R_32F, d_type = s->bf16 && !s->d_float ? R_16BF : R_32F;
    int transpose_a = s->transpose_a, transpose_b = s->transpose_b, epilogue = 0;
    epilogue |= s->bias != NULL ? EPILOGUE_BIAS : 0;
    epilogue |= s->relu ? EPILOGUE_RELU : 0;
    epilogue |= s->gelu_aux != NULL ? EPILOGUE_GELU_AUX : 0;
    epilogue |= s->dgelu_aux != NULL ? EPILOGUE_DGELU : 0;
    if (s->sums != NULL)
        epilogue |= s->dgelu_aux != NULL ? EPILOGUE_SUMS : EPILOGUE_SUMS_B;
    epilogue = epilogue == 0 ? EPILOGUE_NONE : epilogue;
    int64_t aux_ld = s->m;
    int code = lt->desc_create(&p->desc, COMPUTE_32F, R_32F);
    code = code != 0 ? code : lt->desc_set(p->desc, DESC_TRANSA, &transpose_a, sizeof transpose_a);
    code = code != 0 ? code : lt->desc_set(p->desc, DESC_TRANSB, &transpose_b, sizeof transpose_b);
    code = code != 0 ? code : lt->desc_set(p->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code == 0 && bias != NULL)
        code = lt->desc_set(p->desc, DESC_BIAS, &bias, sizeof bias);
    if (code == 0 && aux != NULL)
        code = lt->desc_set(p->desc, DESC_AUX, &aux, sizeof aux);
    if (code == 0 && aux != NULL)
        code = lt->desc_set(p->desc, DESC_AUX_LD, &aux_ld, sizeof aux_ld);
    uint32_t a_rows = s->transpose_a ? s->k : s->m, a_columns = s->transpose_a ? s->m : s->k;
    uint32_t b_rows = s->transpose_b ? s->n : s->k, b_columns = s->transpose_b ? s->k : s->n;
    code = code != 0 ? code : lt->layout_create(&p->a, type, a_rows, a_columns, s->lda);
    code = code != 0 ? code : lt->layout_create(&p->b, type, b_rows, b_columns, s->ldb);
    code = code != 0 ? code : lt->layout_create(&p->d, d_type, s->m, s->n, s->m);
    void *pref = NULL;
    code = code != 0 ? code : lt->pref_create(&pref);
    size_t workspace = DM_CUBLASLT_WORKSPACE;
    uint32_t alignment = ALIGNMENT;
    code = code != 0 ? code : lt->pref_set(pref, PREF_WORKSPACE, &workspace, sizeof workspace);
    for (int which = PREF_ALIGN_A; which <= PREF_ALIGN_D && code == 0; which++)
        code = lt->pref_set(pref, which, &alignment, sizeof alignment);
    *count = 0;
    code = code != 0
               ? code
               : lt->choose(lt->handle, p->desc, p->a, p->b, p->d, p->d, pref, room, best, count);
    if (pref != NULL)
        lt->pref_destroy(pref);
    return code != 0 ? code : *count == 0 ? -1 : best[0].state;
}

static bool same(const dm_cublaslt_product *x, const dm_cublaslt_product *y)
{
    return x->bf16 == y->bf16 && x->d_float == y->d_float && x->transpose_a == y->transpose_a &&
           x->transpose_b == y->transpose_b && x->relu == y->relu && x->m == y->m && x->n == y->n &&
           x->k == y->k && (x->bias != NULL) == (y->bias != NULL) &&
           (x->gelu_aux != NULL) == (y->gelu_aux != NULL) &&
           (x->dgelu_aux != NULL) == (y->dgelu_aux != NULL) &&
           (x->sums != NULL) == (y->sums != NULL);
}

static int multiply(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *s, plan *p,
                    const algorithm *algo, void *workspace)
{
    const void *aux = aux_of(s), *bias = bias_of(s);
    const float one = 1, beta = s->add ? 1 : 0;
    int code = 0;
    if (bias != NULL)
        code = lt->desc_set(p->desc, DESC_BIAS, &bias, sizeof bias);
    if (code == 0 && aux != NULL)
        code = lt->desc_set(p->desc, DESC_AUX, &aux, sizeof aux);
    return code != 0
               ? code
               : lt->matmul(lt->handle, p->desc, &one, s->a, p->a, s->b, p->b, &beta, s->d, p->d,
                            s->d, p->d, algo, workspace, DM_CUBLASLT_WORKSPACE, stream->native);
}

/* ---- Which algorithm ----
 * The library's first proposal is not always its fastest. Of a large product each proposal is timed
 * once; what was chosen is kept on disk, so that later runs on this kind of GPU have the same bits. */

enum { PROPOSALS = 16, ROUNDS = 3 };
#define LARGE 1e9 /* multiplications */

/* Milliseconds of `count` algorithms, the least of ROUNDS in turns; 0: it cannot. */
static dm_status time_all(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *s, plan *p,
                          const heuristic *all, int count, void *workspace, double *ms,
                          dm_error *err)
{
    dm_event *begin = NULL, *end = NULL;
    dm_status status = dm_event_create(lt->device, &begin, err);
    if (status == DM_OK)
        status = dm_event_create(lt->device, &end, err);
    for (int i = 0; i < count; i++)
        ms[i] = all[i].state == 0 && multiply(lt, stream, s, p, &all[i].algo, workspace) == 0;
    for (int i = 0; i < ROUNDS * count && status == DM_OK; i++) {
        int k = i % count;
        double taken = 0;
        if (ms[k] <= 0)
            continue;
        status = dm_event_record(begin, stream, err);
        (void)multiply(lt, stream, s, p, &all[k].algo, workspace);
        if (status == DM_OK)
            status = dm_event_record(end, stream, err);
        if (status == DM_OK)
            status = dm_event_synchronize(end, err);
        if (status == DM_OK)
            status = dm_event_elapsed(begin, end, &taken, err);
        ms[k] = i < count || taken < ms[k] ? taken : ms[k];
    }
    dm_event_destroy(begin);
    dm_event_destroy(end);
    return status;
}

static bool choice_name(const dm_cublaslt *lt, const dm_cublaslt_product *s, char out[])
{
    char shape[200];
    const dm_device_properties *gpu = &lt->device->properties;
    dm_hasher *hasher = dm_hasher_create();
    if (hasher == NULL)
        return false;
    snprintf(shape, sizeof shape, "%u %u %u %u %u %d%d%d%d%d%d%d%d%d", s->m, s->n, s->k, s->lda,
             s->ldb, s->bf16, s->d_float, s->transpose_a, s->transpose_b, s->relu, s->bias != NULL,
             s->gelu_aux != NULL, s->dgelu_aux != NULL, s->sums != NULL);
    const char *const texts[] = {"product 1", lt->name, gpu->name, gpu->arch, shape};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        dm_hasher_text(hasher, texts[i]);
    dm_cache_name(out, dm_hasher_finish(hasher), "algorithm");
    dm_hasher_destroy(hasher);
    return true;
}

static void choose(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *s, plan *p,
                   const heuristic *all, int count, void *workspace)
{
    char name[DM_CACHE_NAME_MAX], path[DM_PATH_MAX], *bytes = NULL;
    const char *wish = getenv("DM_CUBLASLT_TIMING");
    double ms[PROPOSALS] = {0};
    size_t size = 0;
    if (count < 2 || (double)s->m * s->n * s->k < LARGE || (wish && strcmp(wish, "0") == 0))
        return;
    if (!choice_name(lt, s, name))
        return;
    if (dm_cache_load(name, &bytes, &size, path)) {
        if (size == sizeof p->algo)
            memcpy(&p->algo, bytes, size);
        free(bytes);
        return;
    }
    dm_cublaslt_product trial = *s;
    dm_device_buffer *room = NULL;
    if (s->add) { /* a sum must not be added twice */
        if (dm_device_buffer_create(lt->device,
                                    (size_t)s->m * s->n * (s->bf16 && !s->d_float ? 2 : 4), &room,
                                    NULL) != DM_OK)
            return;
        trial.d = dm_device_buffer_address(room);
    }
    int best = 0;
    dm_status status = time_all(lt, stream, &trial, p, all, count, workspace, ms, NULL);
    for (int i = 1; i < count; i++)
        if (ms[i] > 0 && (ms[best] <= 0 || ms[i] < 0.99 * ms[best]))
            best = i;
    dm_device_buffer_destroy(room);
    /* A choice that cannot be stored is not used: the next run might choose another, with other bits. */
    if (status == DM_OK && dm_cache_store(name, &all[best].algo, sizeof all[best].algo, path))
        p->algo = all[best].algo;
}

static plan *find_plan(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *product,
                       void *workspace)
{
    plan *p = lt->plans;
    while (p != NULL && !same(&p->key, product))
        p = p->next;
    if (p != NULL || (p = calloc(1, sizeof *p)) == NULL)
        return p;
    p->key = *product;
    heuristic all[PROPOSALS] = {0};
    int count;
    p->usable = describe(lt, p, product, all, PROPOSALS, &count) == 0;
    p->algo = all[0].algo;
    if (p->usable)
        choose(lt, stream, product, p, all, count, workspace);
    p->next = lt->plans;
    lt->plans = p;
    return p;
}

dm_status dm_cublaslt_run(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *s,
                          void *workspace, size_t workspace_size, dm_error *err)
{
    uint32_t step = s->bf16 ? 8 : 4;
    uintptr_t addresses = (uintptr_t)s->a | (uintptr_t)s->b | (uintptr_t)s->d | (uintptr_t)s->bias |
                          (uintptr_t)s->gelu_aux | (uintptr_t)s->dgelu_aux | (uintptr_t)s->sums |
                          (uintptr_t)workspace;
    if ((addresses & (ALIGNMENT - 1)) != 0 || s->m % step != 0 || s->lda % step != 0 ||
        s->ldb % step != 0 || workspace_size < DM_CUBLASLT_WORKSPACE)
        return dm_fail(err, DM_EUNSUPPORTED, "cublasLt: not in pieces of 16 bytes");
    void *previous = enter(lt);
    plan *p = find_plan(lt, stream, s, workspace);
    int code = p == NULL || !p->usable ? -1 : 0;
    if (code == 0)
        code = multiply(lt, stream, s, p, &p->algo, workspace);
    leave(lt, previous);
    return code == 0 ? DM_OK : dm_fail(err, DM_EUNSUPPORTED, "cublasLt: status %d", code);
}

dm_status dm_cublaslt_candidates(dm_cublaslt *lt, dm_stream *stream, const dm_cublaslt_product *s,
                                 void *workspace, double *ms, int room, int *count, dm_error *err)
{
    heuristic all[PROPOSALS];
    plan *p = calloc(1, sizeof *p);
    *count = 0;
    if (p == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    void *previous = enter(lt);
    int code = describe(lt, p, s, all, room < PROPOSALS ? room : PROPOSALS, count);
    dm_status status = code == 0 ? time_all(lt, stream, s, p, all, *count, workspace, ms, err)
                                 : dm_fail(err, DM_EUNSUPPORTED, "cublasLt: status %d", code);
    leave(lt, previous);
    plan_destroy(lt, p);
    return status;
}
