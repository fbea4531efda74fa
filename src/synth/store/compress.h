/* SPDX-License-Identifier: MIT */
/* compress.h - shards that are compressed with zstd: "pairs-00000.jsonl.zst" in place of
 * "pairs-00000.jsonl".
 *
 * A shard is written plain, as a part, and compressed when it is complete. Sizes and checksums of a
 * dataset are those of the lines. A build without libzstd says so. */
#ifndef DM_SYNTH_COMPRESS_H
#define DM_SYNTH_COMPRESS_H

#include "base/file.h"

#define DM_SYNTH_COMPRESSED ".zst"

bool dm_synth_is_compressed(const char *path);
/* Was this program built with libzstd? DM_EUNSUPPORTED when not. */
dm_status dm_synth_compress_check(dm_error *err);
/* Write the bytes to `path`, compressed, all or nothing. */
dm_status dm_synth_compress_write(const char *path, const char *bytes, size_t size, dm_error *err);
/* dm_file_read, and what is compressed is expanded; DM_EFORMAT when that fails. */
dm_status dm_synth_compress_read(const char *path, char **bytes, size_t *size, dm_error *err);

#endif
