/* SPDX-License-Identifier: MIT */
#include "tests/swarm/episode_case.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *take(dm_swarm *swarm, int kind)
{
    const size_t size = swarm->desc.count * dm_swarm_output_size(swarm, (dm_swarm_output_kind)kind);
    uint8_t *bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    if (size != 0)
        assert_ok(dm_swarm_download(swarm, (dm_swarm_output_kind)kind, bytes, size, err));
    return bytes;
}

/* Output `kind` of machines in the mask, if any, equals another swarm's. */
static void same(dm_swarm *a, int kind, dm_swarm *b, int other, const uint8_t *mask, uint32_t step)
{
    const size_t size = dm_swarm_output_size(a, (dm_swarm_output_kind)kind);
    uint8_t *x = take(a, kind), *y = take(b, other);
    assert_int_equal(size, dm_swarm_output_size(b, (dm_swarm_output_kind)other));
    for (uint64_t i = 0; i < a->desc.count; i++)
        if ((mask == NULL || mask[i] != 0) && memcmp(x + i * size, y + i * size, size) != 0)
            fail_msg("step %u, machine %llu: output %d is not output %d of the other swarm", step,
                     (unsigned long long)i, kind, other);
    free(x);
    free(y);
}

/* Returns and lengths from rewards and ends. */
typedef struct books {
    float *sums;
    uint32_t *lengths;
    uint8_t *ended; /* in the last step */
} books;

static uint64_t keep_books(books *b, dm_swarm *swarm, uint8_t *mask, uint32_t *machines)
{
    uint8_t *terminated = take(swarm, DM_SWARM_TERMINATED),
            *returns = take(swarm, DM_SWARM_RETURNS), *truncated = take(swarm, DM_SWARM_TRUNCATED),
            *lengths = take(swarm, DM_SWARM_LENGTHS), *rewards = take(swarm, DM_SWARM_REWARDS);
    uint32_t ends = 0;
    for (uint64_t i = 0; i < swarm->desc.count; i++) {
        float reward;
        memcpy(&reward, rewards + i * sizeof reward, sizeof reward);
        b->sums[i] = (b->ended[i] ? 0.0f : b->sums[i]) + reward;
        b->lengths[i] = (b->ended[i] ? 0u : b->lengths[i]) + 1u;
        b->ended[i] = mask[i] = terminated[i] | truncated[i];
        if (mask[i] != 0)
            machines[ends++] = (uint32_t)i;
    }
    assert_memory_equal(returns, b->sums, swarm->desc.count * sizeof *b->sums);
    assert_memory_equal(lengths, b->lengths, swarm->desc.count * sizeof *b->lengths);
    free(terminated);
    free(truncated);
    free(returns);
    free(lengths);
    free(rewards);
    return ends;
}

void dm_case_episodes(dm_device *device, const dm_swarm_desc *desc, uint32_t steps)
{
    dm_swarm_desc same_step = *desc, by_hand = *desc;
    const uint64_t count = desc->count;
    same_step.autoreset = DM_SWARM_SAME_STEP;
    same_step.finals = same_step.episodes = true;
    by_hand.autoreset = DM_SWARM_DISABLED;
    dm_swarm *a = dm_case_swarm(device, &same_step), *b = dm_case_swarm(device, &by_hand);
    books kept = {calloc(count, sizeof(float)), calloc(count, sizeof(uint32_t)), calloc(count, 1)};
    uint8_t *mask = calloc(count, 1);
    uint32_t *machines = calloc(count, sizeof *machines);
    uint64_t ends = 0, steps_with_some = 0;
    for (uint32_t step = 0; step < steps; step++) {
        dm_case_step(a, 1);
        dm_case_step(b, 1);
        const uint64_t now = keep_books(&kept, a, mask, machines);
        ends += now;
        steps_with_some += now != 0 && now != count ? 1u : 0u;
        for (int kind = DM_SWARM_VECTORS; kind <= DM_SWARM_REGION_BYTES; kind++)
            same(a, kind - DM_SWARM_VECTORS + DM_SWARM_FINAL_VECTORS, b, kind, mask, step);
        assert_ok(dm_swarm_reset_host(b, machines, NULL, now, err));
        for (int kind = DM_SWARM_VECTORS; kind <= DM_SWARM_REGION_BYTES; kind++)
            same(a, kind, b, kind, NULL, step);
        if (step % 5 == 2) { /* so that episodes end at different times */
            for (uint32_t i = 0; i < count / 4u + 1u; i++) {
                machines[i] = (uint32_t)((i * 7u + step * 3u) % count);
                kept.ended[machines[i]] = 1; /* the next step is the first one */
            }
            assert_ok(dm_swarm_reset_host(a, machines, NULL, count / 4u + 1u, err));
            assert_ok(dm_swarm_reset_host(b, machines, NULL, count / 4u + 1u, err));
        }
    }
    assert_int_not_equal(ends, 0);
    assert_int_not_equal(steps_with_some, 0);
    free(kept.sums);
    free(kept.lengths);
    free(kept.ended);
    free(mask);
    free(machines);
    dm_swarm_destroy(a);
    dm_swarm_destroy(b);
}
