/* SPDX-License-Identifier: MIT */
/* sources.h - the texts a module is made of: its own, the caller's headers, the library's own.
 *
 * The library carries its kernel texts as strings (tools/embed-sources writes embedded.c from the
 * files listed in the modules' meson.build); the name of a text is its path under src/ or include/,
 * which is also how it is included: #include "base/port.h". */
#ifndef DM_DEVICE_SOURCES_H
#define DM_DEVICE_SOURCES_H

#include "base/hash.h"

#include <dotmatrix/device.h>

extern const dm_source dm_embedded_sources[]; /* sorted by name */
extern const size_t dm_embedded_source_count;

/* The text of an embedded source; NULL when there is none of that name. */
const char *dm_embedded_text(const char *name);

/* A text and every header that it may include, directly or not, each once. */
typedef struct dm_source_set {
    dm_source main;
    dm_source *headers;
    size_t count;
    size_t capacity;
} dm_source_set;

/* Points into `desc` and the embedded sources, copies nothing. Every #include line counts,
 * even one in an #if that will be false; a header that is not found is left for the compiler to
 * report. */
dm_status dm_source_set_init(dm_source_set *set, const dm_module_desc *desc, dm_error *err);
void dm_source_set_deinit(dm_source_set *set);

/* Add everything that decides what the compiler sees: texts, names, defines. */
void dm_source_set_hash(const dm_source_set *set, const dm_module_desc *desc, dm_hasher *hasher);

/* Report a compiler's output to the caller: fills `err` (DM_ECOMPILE) with the place of the
 * first error and as much of the log from there as fits, and hands the whole log to desc->log. */
dm_status dm_compile_fail(const dm_module_desc *desc, const char *log, dm_error *err);

#endif
