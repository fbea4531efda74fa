/* SPDX-License-Identifier: MIT */
/* cache.h - compiled kernels on disk.
 *
 * An entry is one file, <cache>/kernels/<hash of everything that went in>.<cubin|so>:
 *
 *   +----------------------------+------------------------------------------+
 *   | code (an ELF file as such) | footer: magic, size, hash of the code     |
 *   +----------------------------+------------------------------------------+
 *
 * The footer comes last so that a shared object can be opened in place. Entries are written under
 * another name and renamed, so writers never disturb readers or each other; one that does not match
 * its footer counts as missing and is built and written again. A used entry gets a new time, and
 * the oldest go when all together pass $DM_CACHE_MAX (bytes, or with K, M, G; default 1G; 0 keeps
 * nothing). A cache that cannot be written costs one warning and the time to compile. */
#ifndef DM_DEVICE_CACHE_H
#define DM_DEVICE_CACHE_H

#include "base/file.h"
#include "base/hash.h"

#include <stdbool.h>

#define DM_CACHE_NAME_MAX 64

void dm_cache_name(char out[DM_CACHE_NAME_MAX], dm_hash128 key, const char *extension);

/* Where entries live; not created. */
dm_status dm_cache_folder(char out[DM_PATH_MAX], dm_error *err);

/* The code, without its footer (free() it), and where it lies; false when there is no sound entry.
 */
bool dm_cache_load(const char *name, char **bytes, size_t *size, char path[DM_PATH_MAX]);
/* False when it was not stored. */
bool dm_cache_store(const char *name, const void *bytes, size_t size, char path[DM_PATH_MAX]);

/* Delete the oldest entries until at most `limit` bytes are left. */
dm_status dm_cache_trim(const char *folder, uint64_t limit, dm_error *err);
/* "64M" -> 67108864; false when the text is no size. */
bool dm_cache_parse_size(const char *text, uint64_t *out);

#endif
