# SPDX-License-Identifier: MIT
"""The loss of proximal policy optimisation, one thread per sample; its gradient is made by the compiler.

A sample is an observation, what was done, and what came of it. Its weight is 0 when nothing is to be learned from it,
as at the step that only begins an episode. On CUDA this text runs; src/nn/cpu/ppo.h is the same by hand for the CPU,
and tests compare the two.

dotmatrix kernel compile kernels/agent/ppo.py"""
import warp as wp


@wp.func
def largest(logits: wp.array2d(dtype=float), n: int) -> float:
    most = logits[n, 0]
    for a in range(1, logits.shape[1]):
        most = wp.max(most, logits[n, a])
    return most


@wp.func
def exponentials(logits: wp.array2d(dtype=float), n: int, most: float) -> float:
    # The sum under the softmax, each logit less the largest, so that none overflows.
    total = float(0.0)
    for a in range(logits.shape[1]):
        total += wp.exp(logits[n, a] - most)
    return total


@wp.kernel
def ppo(logits: wp.array2d(dtype=float), values: wp.array(dtype=float), actions: wp.array(dtype=int),
        chances: wp.array(dtype=float), advantages: wp.array(dtype=float), returns: wp.array(dtype=float),
        old_values: wp.array(dtype=float), weights: wp.array(dtype=float), clip: float, value_clip: float,
        value_scale: float, schedule: wp.array(dtype=float), losses: wp.array(dtype=float), parts: wp.array2d(dtype=float)):
    # schedule[0]: the weight of the entropy. chances: the logarithm of the probability that the action was drawn with.
    # parts: the policy's loss, the value's, the entropy, the old policy's divergence from the new one (an estimate that
    # is never negative), whether the ratio was clipped. value_clip 0: values are not.
    n = wp.tid()
    count = logits.shape[1]
    most = largest(logits, n)
    total = exponentials(logits, n, most)
    norm = most + wp.log(total)
    entropy = float(0.0)
    for a in range(count):
        chance = logits[n, a] - norm
        entropy -= wp.exp(chance) * chance

    change = logits[n, actions[n]] - norm - chances[n]
    ratio = wp.exp(change)
    near = wp.clamp(ratio, 1.0 - clip, 1.0 + clip)
    policy = wp.max(-advantages[n] * ratio, -advantages[n] * near)

    off = values[n] - returns[n]
    value = off * off
    if value_clip > 0.0:
        held = old_values[n] + wp.clamp(values[n] - old_values[n], -value_clip, value_clip) - returns[n]
        value = wp.max(value, held * held)

    losses[n] = weights[n] * (policy + value_scale * 0.5 * value - schedule[0] * entropy)
    clipped = float(0.0)
    if ratio != near:
        clipped = 1.0
    parts[n, 0] = weights[n] * policy
    parts[n, 1] = weights[n] * 0.5 * value
    parts[n, 2] = weights[n] * entropy
    parts[n, 3] = weights[n] * (ratio - 1.0 - change)
    parts[n, 4] = weights[n] * clipped


@wp.kernel(enable_backward=False)
def sample(logits: wp.array2d(dtype=float), values: wp.array(dtype=float), seeds: wp.array(dtype=int), step: int, first: int,
           forced: wp.array(dtype=int), has_forced: int, actions: wp.array(dtype=int), chances: wp.array(dtype=float), to_values: wp.array(dtype=float)):
    # Draws an action from the softmax of the logits: the number is a function of seeds[step] and the machine. Where
    # `forced` has one, that is taken.
    n = wp.tid()
    to_values[n] = values[n]
    count = logits.shape[1]
    most = largest(logits, n)
    total = exponentials(logits, n, most)
    state = wp.rand_init(seeds[step], first + n)
    left = wp.randf(state) * total
    below = float(0.0)
    chosen = int(-1)
    for a in range(count):
        below += wp.exp(logits[n, a] - most)
        if chosen < 0 and left < below:
            chosen = a
    if chosen < 0:
        chosen = count - 1
    if has_forced != 0:
        if forced[n] >= 0:
            chosen = forced[n]
    actions[n] = chosen
    chances[n] = logits[n, chosen] - most - wp.log(total)


@wp.kernel(enable_backward=False)
def look(values: wp.array(dtype=float), to_values: wp.array(dtype=float)):
    n = wp.tid()
    to_values[n] = values[n]


@wp.kernel(enable_backward=False)
def ratios(logits: wp.array2d(dtype=float), values: wp.array(dtype=float), actions: wp.array(dtype=int),
           chances: wp.array(dtype=float), to_ratios: wp.array(dtype=float), to_values: wp.array(dtype=float)):
    # How much more probable the policy makes what was done than it was when it was drawn, for V-trace.
    n = wp.tid()
    most = largest(logits, n)
    total = exponentials(logits, n, most)
    to_ratios[n] = wp.exp(logits[n, actions[n]] - most - wp.log(total) - chances[n])
    to_values[n] = values[n]


@wp.kernel(enable_backward=False)
def greedy(logits: wp.array2d(dtype=float), actions: wp.array(dtype=int)):
    # The most probable action, the first among equals.
    n = wp.tid()
    chosen = int(0)
    for a in range(1, logits.shape[1]):
        if logits[n, a] > logits[n, chosen]:
            chosen = a
    actions[n] = chosen


@wp.func
def scatter(x: wp.uint32, key: wp.uint32) -> wp.uint32:
    h = (x ^ key) * wp.uint32(0x9E3779B1)
    h = (h ^ (h >> wp.uint32(15))) * wp.uint32(0x85EBCA77)
    return h ^ (h >> wp.uint32(13))


@wp.kernel(enable_backward=False)
def shuffle(seeds: wp.array(dtype=wp.uint32), epoch: int, count: wp.uint32, half: wp.uint32, order: wp.array(dtype=int)):
    # A permutation of 0 .. count - 1 (at most 4 to the power of `half`), each element by itself: six rounds of a
    # Feistel network on 2 * half bits, again while the result is too large. From an element below count the walk comes
    # back to one; from another it need not.
    i = wp.tid()
    if wp.uint32(i) >= count or half > wp.uint32(16):
        return
    seed = seeds[epoch]
    mask = (wp.uint32(1) << half) - wp.uint32(1)
    x = wp.uint32(i)
    again = bool(True)
    while again:
        for r in range(6):
            right = x & mask
            left = x >> half
            x = (right << half) | (left ^ (scatter(right, seed + wp.uint32(r)) & mask))
        again = x >= count
    order[i] = int(x)


@wp.kernel(enable_backward=False)
def gather(order: wp.array(dtype=int), first: int, actions: wp.array(dtype=int), chances: wp.array(dtype=float),
           advantages: wp.array(dtype=float), returns: wp.array(dtype=float), values: wp.array(dtype=float),
           weights: wp.array(dtype=float), to_actions: wp.array(dtype=int), to_chances: wp.array(dtype=float),
           to_advantages: wp.array(dtype=float), to_returns: wp.array(dtype=float), to_values: wp.array(dtype=float),
           to_weights: wp.array(dtype=float)):
    # The samples order[first ..] of a rollout, one after the other.
    n = wp.tid()
    i = order[first + n]
    to_actions[n] = actions[i]
    to_chances[n] = chances[i]
    to_advantages[n] = advantages[i]
    to_returns[n] = returns[i]
    to_values[n] = values[i]
    to_weights[n] = weights[i]
