/* SPDX-License-Identifier: MIT */
/* trace.c - see trace.h. */
#include "train/trace.h"
#include "base/file.h"
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dm_trace {
    FILE *file;
    char path[DM_PATH_MAX];
    uint64_t first; /* nanoseconds */
    bool begun, failed;
};

dm_status dm_trace_open(const char *path, dm_trace **out, dm_error *err)
{
    dm_trace *t = calloc(1, sizeof *t);
    if (t == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    snprintf(t->path, sizeof t->path, "%s", path);
    t->file = fopen(path, "we");
    if (t->file == NULL) {
        free(t);
        return dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
    }
    t->first = dm_time_ns();
    *out = t;
    return DM_OK;
}

uint64_t dm_trace_now(const dm_trace *t)
{
    return t != NULL ? dm_time_ns() : 0;
}

void dm_trace_span(dm_trace *t, const char *name, uint64_t begun)
{
    if (t == NULL)
        return;
    uint64_t now = dm_time_ns();
    int written = fprintf(
        t->file, "%s{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f}",
        t->begun ? ",\n" : "[\n", name, (double)(begun - t->first) * 1e-3,
        (double)(now - begun) * 1e-3);
    t->failed = t->failed || written < 0;
    t->begun = true;
}

dm_status dm_trace_close(dm_trace *t, dm_error *err)
{
    if (t == NULL)
        return DM_OK;
    bool failed = fputs(t->begun ? "\n]\n" : "[]\n", t->file) < 0 || t->failed;
    failed = fclose(t->file) != 0 || failed;
    dm_status status =
        failed ? dm_fail(err, DM_EIO, "%.900s: could not be written", t->path) : DM_OK;
    free(t);
    return status;
}
