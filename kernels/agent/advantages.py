# SPDX-License-Identifier: MIT
"""Advantages of a rollout of T steps of N machines, one thread per machine, from the last step to the first.

values[t] is the critic's word on observation t, and has one row more than the rest. flags[t] says how step t ended: 1
the episode is over for good, 2 it was cut off, 4 the step only began the next episode. After an episode's last step the
next observation is its final one: values[t + 1] is what a cut-off episode would still have got. The step after that is
the one that resets: nothing is learned from it.

dotmatrix kernel compile kernels/agent/advantages.py"""
import warp as wp


@wp.kernel
def gae(rewards: wp.array2d(dtype=float), values: wp.array2d(dtype=float), flags: wp.array2d(dtype=wp.uint8),
        gamma: float, decay: float, advantages: wp.array2d(dtype=float), returns: wp.array2d(dtype=float)):
    # Generalised advantage estimation (Schulman et al. 2016); decay is its lambda.
    n = wp.tid()
    steps = rewards.shape[0]
    total = float(0.0)
    for i in range(steps):
        t = steps - 1 - i
        flag = int(flags[t, n])
        v = values[t, n]
        after = values[t + 1, n]
        if flag & 1:
            after = 0.0
        if flag & 3:
            total = 0.0
        total = rewards[t, n] + gamma * after - v + gamma * decay * total
        if flag & 4:
            total = 0.0
        advantages[t, n] = total
        returns[t, n] = v + total


@wp.kernel
def vtrace(rewards: wp.array2d(dtype=float), values: wp.array2d(dtype=float), flags: wp.array2d(dtype=wp.uint8),
           ratios: wp.array2d(dtype=float), gamma: float, decay: float, ratio_max: float, trace_max: float,
           advantages: wp.array2d(dtype=float), returns: wp.array2d(dtype=float)):
    # V-trace (Espeholt et al. 2018): ratios are the policy's probability of the action over the one that it was drawn
    # with. With ratios of 1 the returns are gae's.
    n = wp.tid()
    steps = rewards.shape[0]
    total = float(0.0)
    for i in range(steps):
        t = steps - 1 - i
        flag = int(flags[t, n])
        v = values[t, n]
        after = values[t + 1, n]
        if flag & 1:
            after = 0.0
        if flag & 3:
            total = 0.0
        ratio = wp.min(ratios[t, n], ratio_max)
        trace = decay * wp.min(ratios[t, n], trace_max)
        advantage = ratio * (rewards[t, n] + gamma * (after + total) - v)
        total = ratio * (rewards[t, n] + gamma * after - v) + gamma * trace * total
        if flag & 4:
            total = 0.0
            advantage = 0.0
        advantages[t, n] = advantage
        returns[t, n] = v + total


@wp.kernel(enable_backward=False)
def lucky(flags: wp.array2d(dtype=wp.uint8), advantages: wp.array2d(dtype=float), weights: wp.array2d(dtype=float)):
    # Of actions that the policy was forced to only those are learned from that came out better than expected: the
    # others would only say that random play is bad.
    t, n = wp.tid()
    if (int(flags[t, n]) & 16) != 0 and advantages[t, n] <= 0.0:
        weights[t, n] = 0.0
