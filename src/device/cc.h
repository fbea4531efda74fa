/* SPDX-License-Identifier: MIT */
/* cc.h - kernel text to a loaded shared object, by the system's C compiler.
 *
 * The texts go to a temporary folder, as they are included; the compiler runs there, so that its
 * messages name our files and lines. Flags: optimised for this very CPU, no contraction of floating
 * point (base/port.h). $CC names the compiler ("clang", "ccache gcc"; default cc, gcc or clang,
 * whichever is found first), $DM_CFLAGS adds flags. The cache's key holds the texts, all flags, the
 * CPU's features and the compiler's path, size and time. */
#ifndef DM_DEVICE_CC_H
#define DM_DEVICE_CC_H

#include "base/file.h"

#include <dotmatrix/device.h>

#define DM_CC_WORDS_MAX 16

typedef struct dm_cc {
    char path[DM_PATH_MAX];       /* of the program */
    char text[DM_PATH_MAX];       /* $CC, cut into words */
    char *words[DM_CC_WORDS_MAX]; /* point into text; words[0] is the name */
    int word_count;
} dm_cc;

/* DM_EUNAVAILABLE, with what to do, when there is none. */
dm_status dm_cc_find(dm_cc *cc, dm_error *err);
/* First line of --version. */
dm_status dm_cc_version(dm_cc *cc, char *out, size_t size, dm_error *err);

/* Run it with `arguments` (ended by NULL) in `folder` (NULL: here); its output goes to the file `log`, in
 * English. */
dm_status dm_cc_run(const dm_cc *cc, const char *const *arguments, const char *folder,
                    const char *log, int *exit_code, dm_error *err);
/* A new folder in $TMPDIR, else /tmp; the caller's to remove. */
dm_status dm_cc_folder(char out[DM_PATH_MAX], dm_error *err);

/* Compile or take from the cache, and dlopen; the handle is the caller's to dlclose. */
dm_status dm_cc_load(const dm_module_desc *desc, void **handle, bool *was_cached, dm_error *err);

#endif
