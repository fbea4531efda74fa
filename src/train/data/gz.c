/* SPDX-License-Identifier: MIT */
/* gz.c - see gz.h. */
#include "train/data/gz.h"
#include "base/buffer.h"
#include "base/file.h"

#include <stdlib.h>
#include <zlib.h>

#define CHUNK (256u << 10)

static dm_status inflate_all(z_stream *z, const char *path, size_t limit, dm_buffer *out,
                             dm_error *err)
{
    size_t total = z->avail_in;
    for (;;) {
        if (!dm_buffer_reserve(out, CHUNK))
            return dm_fail(err, DM_ENOMEM, "%s: out of memory after %zu bytes", path, out->size);
        z->next_out = (unsigned char *)out->data + out->size;
        z->avail_out = CHUNK;
        int code = inflate(z, Z_NO_FLUSH);
        size_t offset = total - z->avail_in;
        out->size += CHUNK - z->avail_out;
        if (out->size > limit)
            return dm_fail(err, DM_EFORMAT, "%s: inflates to more than %zu bytes", path, limit);
        if (code == Z_STREAM_END) {
            if (z->avail_in == 0)
                return DM_OK;
            /* Several members one after the other are one file. */
            if (z->avail_in < 2 || z->next_in[0] != 0x1f || z->next_in[1] != 0x8b)
                return dm_fail(err, DM_EFORMAT,
                               "%s: %u bytes after the end of the gzip stream at offset %zu", path,
                               z->avail_in, offset);
            inflateReset(z);
        } else if (code == Z_BUF_ERROR || (code == Z_OK && z->avail_in == 0 && z->avail_out > 0)) {
            return dm_fail(err, DM_EFORMAT, "%s: the gzip stream ends early at offset %zu", path,
                           offset);
        } else if (code != Z_OK) {
            return dm_fail(err, DM_EFORMAT, "%s: the gzip stream is damaged before offset %zu (%s)",
                           path, offset, z->msg != NULL ? z->msg : "bad data");
        }
    }
}

dm_status dm_gz_read(const char *path, size_t limit, char **bytes, size_t *size, dm_error *err)
{
    char *raw = NULL;
    size_t raw_size = 0;
    dm_status status = dm_file_read(path, limit, &raw, &raw_size, err);
    if (status != DM_OK)
        return status;
    if (raw_size < 2 || (unsigned char)raw[0] != 0x1f || (unsigned char)raw[1] != 0x8b) {
        *bytes = raw;
        *size = raw_size;
        return DM_OK;
    }
    z_stream z = {.next_in = (unsigned char *)raw, .avail_in = (unsigned)raw_size};
    dm_buffer out = DM_BUFFER_EMPTY;
    if (raw_size > UINT32_MAX)
        status = dm_fail(err, DM_EFORMAT, "%s: a gzip file of 4 GiB or more", path);
    else if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
        status = dm_fail(err, DM_ENOMEM, "%s: out of memory", path);
    else {
        status = inflate_all(&z, path, limit, &out, err);
        inflateEnd(&z);
    }
    free(raw);
    if (status == DM_OK && dm_buffer_reserve(&out, 1)) {
        out.data[out.size] = 0;
        *size = out.size;
        *bytes = dm_buffer_take(&out);
        if (*bytes == NULL)
            status = dm_fail(err, DM_ENOMEM, "%s: out of memory", path);
    }
    dm_buffer_deinit(&out);
    return status;
}
