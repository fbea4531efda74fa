/* SPDX-License-Identifier: MIT */
/* compress.c - shards that are compressed with zstd; see compress.h. */
#include "synth/store/compress.h"

#include <stdlib.h>
#include <string.h>
#ifdef DM_HAVE_ZSTD
#include <zstd.h>
#endif

#define LEVEL 12 /* texts of kernels: a ninth; 19 takes eight times as long for a tenth less */
#define EXPANDED_MAX ((size_t)1 << 34)

bool dm_synth_is_compressed(const char *path)
{
    size_t size = strlen(path), own = strlen(DM_SYNTH_COMPRESSED);
    return size > own && strcmp(path + size - own, DM_SYNTH_COMPRESSED) == 0;
}

#ifdef DM_HAVE_ZSTD

dm_status dm_synth_compress_check(dm_error *err)
{
    (void)err;
    return DM_OK;
}

dm_status dm_synth_compress_write(const char *path, const char *bytes, size_t size, dm_error *err)
{
    size_t most = ZSTD_compressBound(size);
    char *packed = malloc(most + 1);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    dm_status status = DM_OK;
    if (packed == NULL || context == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        size_t made = ZSTD_compress2(context, packed, most, bytes, size);
        status = ZSTD_isError(made)
                     ? dm_fail(err, DM_EINTERNAL, "%s: %s", path, ZSTD_getErrorName(made))
                     : dm_file_write(path, packed, made, err);
    }
    ZSTD_freeCCtx(context);
    free(packed);
    return status;
}

static dm_status expand(const char *path, char **bytes, size_t *size, dm_error *err)
{
    unsigned long long whole = ZSTD_getFrameContentSize(*bytes, *size);
    if (whole == ZSTD_CONTENTSIZE_ERROR || whole == ZSTD_CONTENTSIZE_UNKNOWN ||
        whole > EXPANDED_MAX)
        return dm_fail(err, DM_EFORMAT, "%s: no zstd file of a known size", path);
    char *text = malloc((size_t)whole + 1);
    if (text == NULL)
        return dm_fail(err, DM_ENOMEM, "%s: out of memory for %llu bytes", path, whole);
    size_t made = ZSTD_decompress(text, (size_t)whole, *bytes, *size);
    if (ZSTD_isError(made) || made != whole) {
        free(text);
        return dm_fail(err, DM_EFORMAT, "%s: %s", path,
                       ZSTD_isError(made) ? ZSTD_getErrorName(made) : "cut off");
    }
    text[made] = '\0';
    free(*bytes);
    *bytes = text;
    *size = made;
    return DM_OK;
}

#else

dm_status dm_synth_compress_check(dm_error *err)
{
    return dm_fail(err, DM_EUNSUPPORTED,
                   "this dotmatrix was built without libzstd; install libzstd-dev and build again");
}

dm_status dm_synth_compress_write(const char *path, const char *bytes, size_t size, dm_error *err)
{
    (void)path;
    (void)bytes;
    (void)size;
    return dm_synth_compress_check(err);
}

static dm_status expand(const char *path, char **bytes, size_t *size, dm_error *err)
{
    (void)path;
    (void)bytes;
    (void)size;
    return dm_synth_compress_check(err);
}

#endif

dm_status dm_synth_compress_read(const char *path, char **bytes, size_t *size, dm_error *err)
{
    dm_status status = dm_file_read(path, 0, bytes, size, err);
    if (status == DM_OK && dm_synth_is_compressed(path)) {
        status = expand(path, bytes, size, err);
        if (status != DM_OK) {
            free(*bytes);
            *bytes = NULL;
            *size = 0;
        }
    }
    return status;
}
