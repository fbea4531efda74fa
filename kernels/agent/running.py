# SPDX-License-Identifier: MIT
"""Running means and deviations of observations and rewards over the whole run; normalise.py sums them.

A row of `state` is count, mean, and the sum of squares off the mean.

dotmatrix kernel compile kernels/agent/running.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def see(x: wp.array2d(dtype=float), order: wp.array(dtype=int), first: int, in_order: int,
        state: wp.array2d(dtype=float), limit: float, y: wp.array2d(dtype=float)):
    # Row r is observation first + r, or the one that order names there: (x - mean) / deviation, at most `limit` far
    # from 0 (0: any). As it is before anything was counted. A number that never changed is 0.
    r, c = wp.tid()
    i = first + r
    if in_order != 0:
        i = order[first + r]
    v = x[i, c]
    if state[c, 0] > 0.0:
        v = (v - state[c, 1]) / wp.sqrt(state[c, 2] / state[c, 0] + 1.0e-8)
        if limit > 0.0:
            v = wp.clamp(v, -limit, limit)
    y[r, c] = v


@wp.kernel(enable_backward=False)
def discounted(rewards: wp.array2d(dtype=float), flags: wp.array2d(dtype=wp.uint8), gamma: float,
               running: wp.array(dtype=float), totals: wp.array2d(dtype=float)):
    # What an episode's rewards came to until each step, older ones discounted; a thread per machine. running: the
    # total of the episode that goes on. Steps that only begin an episode (flag 4) count nothing.
    n = wp.tid()
    total = running[n]
    for t in range(rewards.shape[0]):
        if (int(flags[t, n]) & 4) != 0:
            total = 0.0
        else:
            total = gamma * total + rewards[t, n]
        totals[t, n] = total
    running[n] = total


@wp.kernel(enable_backward=False)
def divide(rewards: wp.array2d(dtype=float), state: wp.array2d(dtype=float), limit: float):
    # Rewards over the deviation of `totals`, at most `limit` far from 0 (0: any). The mean stays: it is what the
    # episode's length is worth.
    t, n = wp.tid()
    v = rewards[t, n] / wp.sqrt(state[0, 2] / wp.max(state[0, 0], 1.0) + 1.0e-8)
    if limit > 0.0:
        v = wp.clamp(v, -limit, limit)
    rewards[t, n] = v
