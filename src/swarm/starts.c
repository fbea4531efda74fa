/* SPDX-License-Identifier: MIT */
/* starts.c - the set of snapshots that episodes start from (reset.h draws on the device), and whether they differ. */
#include "base/hash.h"
#include "base/philox.h"
#include "base/require.h"
#include "swarm/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The set ---- */

typedef struct start {
    uint32_t snapshot, rom;
    double weight;
} start;

static int by_rom(const void *a, const void *b)
{
    const start *x = a, *y = b;
    if (x->rom != y->rom)
        return x->rom < y->rom ? -1 : 1;
    return x->snapshot < y->snapshot ? -1 : x->snapshot > y->snapshot;
}

static dm_status take(const dm_swarm *swarm, const uint32_t *snapshots, const float *weights,
                      size_t count, start *out, dm_error *err)
{
    for (size_t i = 0; i < count; i++) {
        dm_status status = dm_swarm_check_snapshot_used(swarm, snapshots[i], err);
        if (status != DM_OK)
            return status;
        const double weight = weights == NULL ? 1.0 : (double)weights[i];
        if (!isfinite(weight) || weight <= 0.0)
            return dm_fail(err, DM_EINVAL, "swarm: start %zu has weight %g; it must be above 0", i,
                           weight);
        out[i] = (start){snapshots[i], swarm->snapshot_roms[snapshots[i]], weight};
    }
    qsort(out, count, sizeof *out, by_rom);
    return DM_OK;
}

/* The limit of each start: draws below it, and not below the one before, are its own. */
static void limits_of(const start *starts, size_t count, uint32_t *limits)
{
    for (size_t first = 0, end; first < count; first = end) {
        double all = 0, sum = 0;
        for (end = first; end < count && starts[end].rom == starts[first].rom; end++)
            all += starts[end].weight;
        for (size_t i = first; i < end; i++) {
            sum += starts[i].weight;
            const double limit = sum / all * 4294967296.0;
            limits[i] = limit >= 4294967295.0 ? UINT32_MAX : (uint32_t)limit;
        }
    }
}

dm_status dm_swarm_set_starts(dm_swarm *swarm, const uint32_t *snapshots, const float *weights,
                              size_t count, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE_SOME(err, snapshots, count);
    const size_t roms = swarm->desc.rom_count;
    if (count > swarm->snapshot_count)
        return dm_fail(err, DM_EINVAL, "swarm: %zu starts, but there are %u snapshots", count,
                       swarm->snapshot_count);
    if (count == 0) {
        swarm->args.start_first = NULL;
        return DM_OK;
    }
    start *starts = malloc(count * sizeof *starts);
    uint32_t *words = calloc(2 * count + roms + 1, sizeof *words);
    dm_status status = starts != NULL && words != NULL
                           ? take(swarm, snapshots, weights, count, starts, err)
                           : dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    if (status == DM_OK) {
        uint32_t *limits = words + count, *first = words + 2 * count;
        limits_of(starts, count, limits);
        for (size_t i = 0; i < count; i++) {
            words[i] = starts[i].snapshot;
            first[starts[i].rom + 1]++;
        }
        for (size_t rom = 0; rom < roms; rom++)
            first[rom + 1] += first[rom];
        const struct {
            int array;
            const uint32_t *words;
            size_t count;
        } parts[] = {{DM_SWARM_A_START_SNAPSHOTS, words, count},
                     {DM_SWARM_A_START_LIMITS, limits, count},
                     {DM_SWARM_A_START_FIRST, first, roms + 1}};
        for (int i = 0; i < 3 && status == DM_OK; i++)
            status = dm_stream_upload(swarm->stream, swarm->arrays[parts[i].array], 0,
                                      parts[i].words, parts[i].count * sizeof(uint32_t), err);
    }
    if (status == DM_OK)
        status = dm_stream_synchronize(swarm->stream, err);
    if (status == DM_OK)
        swarm->args.start_first = dm_device_buffer_address(swarm->arrays[DM_SWARM_A_START_FIRST]);
    free(starts);
    free(words);
    return status;
}

dm_device_buffer *dm_swarm_start_choices(const dm_swarm *swarm)
{
    return swarm == NULL ? NULL : swarm->arrays[DM_SWARM_A_START_CHOICES];
}

/* ---- Do they differ? ---- */

/* Hash what is observed of each machine into its number. */
static dm_status look(dm_swarm *swarm, uint8_t *bytes, uint64_t *hashes, size_t count,
                      dm_error *err)
{
    dm_status status = DM_OK;
    for (int kind = DM_SWARM_VECTORS; kind <= DM_SWARM_REGION_BYTES && status == DM_OK; kind++) {
        const size_t size = dm_swarm_output_size(swarm, (dm_swarm_output_kind)kind);
        if (size == 0)
            continue;
        status = dm_swarm_download(swarm, (dm_swarm_output_kind)kind, bytes,
                                   size * swarm->desc.count, err);
        for (size_t i = 0; i < count && status == DM_OK; i++) {
            const uint64_t both[2] = {hashes[i], dm_hash64(bytes + i * size, size)};
            hashes[i] = dm_hash64(both, sizeof both);
        }
    }
    return status;
}

/* From their starts on, let all machines press the same keys, and hash what is observed of the first `count`. */
static dm_status play(dm_swarm *swarm, uint32_t steps, uint8_t *actions, uint8_t *bytes,
                      uint64_t *hashes, size_t count, dm_error *err)
{
    dm_status status = look(swarm, bytes, hashes, count, err);
    for (uint32_t step = 0; step < steps && status == DM_OK; step++) {
        const uint32_t word = dm_random4(swarm->desc.seed, UINT64_MAX, step).v[0];
        memset(actions, (int)dm_random_below(word, swarm->args.action_count), swarm->desc.count);
        status = dm_swarm_step_host(swarm, actions, swarm->desc.count, err);
        if (status == DM_OK)
            status = look(swarm, bytes, hashes, count, err);
    }
    return status;
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t count_different(uint64_t *hashes, size_t count)
{
    size_t different = count != 0 ? 1 : 0;
    qsort(hashes, count, sizeof *hashes, compare_words);
    for (size_t i = 1; i < count; i++)
        different += hashes[i] != hashes[i - 1] ? 1u : 0u;
    return different;
}

dm_status dm_swarm_count_starts(dm_swarm *swarm, uint32_t steps, size_t *different, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, different);
    size_t row = 0;
    const uint64_t count = swarm->desc.count;
    for (int kind = DM_SWARM_VECTORS; kind <= DM_SWARM_REGION_BYTES; kind++) {
        const size_t size = dm_swarm_output_size(swarm, (dm_swarm_output_kind)kind);
        row = size > row ? size : row;
    }
    const bool observes =
        swarm->desc.stage == DM_SWARM_FULL_STEP || swarm->desc.stage == DM_SWARM_OBS_ONLY;
    if (row == 0 || !observes)
        return dm_fail(err, DM_EINVAL, "swarm: starts differ by what is observed, and nothing is");
    uint64_t *hashes = calloc(count, sizeof *hashes);
    uint8_t *actions = malloc(count), *bytes = malloc(count * row);
    dm_status status = hashes != NULL && actions != NULL && bytes != NULL
                           ? dm_swarm_reset(swarm, NULL, NULL, err)
                           : dm_fail(err, DM_ENOMEM, "swarm: out of memory");
    /* A machine whose episode ends goes on, or it would get another start. */
    const uint8_t autoreset = swarm->args.autoreset;
    swarm->args.autoreset = DM_SWARM_RESET_DISABLED;
    if (status == DM_OK)
        status = play(swarm, steps, actions, bytes, hashes, count, err);
    swarm->args.autoreset = autoreset;
    if (status == DM_OK) {
        *different = count_different(hashes, count);
        status = dm_swarm_reset(swarm, NULL, NULL, err);
    }
    free(hashes);
    free(actions);
    free(bytes);
    return status;
}
