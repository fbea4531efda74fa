/* SPDX-License-Identifier: MIT */
/* profile.c - events around launches; see profile.h. */
#include "nn/profile.h"

#include "nn/cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char name[80];
    double flops, bytes;
    dm_event *begin, *end;
} entry;

struct dm_nn_profile {
    dm_stream *stream;
    entry *entries;
    size_t count, capacity;
};

static void destroy(dm_nn_profile *p)
{
    for (size_t i = 0; i < p->capacity; i++) {
        dm_event_destroy(p->entries[i].begin);
        dm_event_destroy(p->entries[i].end);
    }
    free(p->entries);
    free(p);
}

dm_status dm_nn_profile_start(dm_nn_exec *exec, size_t capacity, dm_error *err)
{
    dm_nn_cuda *state = exec->state;
    dm_nn_profile *p = calloc(1, sizeof *p);
    if (!p || !(p->entries = calloc(capacity, sizeof *p->entries))) {
        free(p);
        return dm_fail(err, DM_ENOMEM, "nn: no memory for a profile");
    }
    p->stream = exec->stream;
    p->capacity = capacity;
    dm_status status = DM_OK;
    for (size_t i = 0; i < capacity && status == DM_OK; i++) {
        status = dm_event_create(state->device, &p->entries[i].begin, err);
        if (status == DM_OK)
            status = dm_event_create(state->device, &p->entries[i].end, err);
    }
    if (status != DM_OK) {
        destroy(p);
        return status;
    }
    state->profile = p;
    return DM_OK;
}

void dm_nn_profile_begin(dm_nn_profile *p, const char *name, double flops, double bytes)
{
    if (!p || p->count == p->capacity)
        return;
    entry *e = &p->entries[p->count];
    snprintf(e->name, sizeof e->name, "%s", name);
    e->flops = flops;
    e->bytes = bytes;
    (void)dm_event_record(e->begin, p->stream, NULL);
}

void dm_nn_profile_end(dm_nn_profile *p)
{
    if (!p || p->count == p->capacity)
        return;
    (void)dm_event_record(p->entries[p->count].end, p->stream, NULL);
    p->count++;
}

static int longest_first(const void *a, const void *b)
{
    double x = ((const dm_nn_profile_row *)a)->ms, y = ((const dm_nn_profile_row *)b)->ms;
    return (x < y) - (x > y);
}

dm_status dm_nn_profile_stop(dm_nn_exec *exec, dm_nn_profile_row *rows, size_t room, size_t *count,
                             dm_error *err)
{
    dm_nn_cuda *state = exec->state;
    dm_nn_profile *p = state->profile;
    *count = 0;
    if (!p)
        return DM_OK;
    state->profile = NULL;
    dm_status status = dm_stream_synchronize(p->stream, err);
    for (size_t i = 0; i < p->count && status == DM_OK; i++) {
        const entry *e = &p->entries[i];
        size_t k = 0;
        double ms = 0;
        status = dm_event_elapsed(e->begin, e->end, &ms, err);
        while (k < *count && strcmp(rows[k].name, e->name) != 0)
            k++;
        if (k == room)
            continue;
        if (k == *count) {
            rows[(*count)++] = (dm_nn_profile_row){.calls = 0};
            snprintf(rows[k].name, sizeof rows[k].name, "%s", e->name);
        }
        rows[k].calls++;
        rows[k].ms += ms;
        rows[k].flops += e->flops;
        rows[k].bytes += e->bytes;
    }
    qsort(rows, *count, sizeof *rows, longest_first);
    destroy(p);
    return status;
}
