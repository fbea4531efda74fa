# SPDX-License-Identifier: MIT
"""Means and variances, in a fixed order: each thread sums the rows of one part, then one adds up the parts.

dotmatrix kernel compile kernels/agent/normalise.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def part_sums(x: wp.array2d(dtype=float), weights: wp.array(dtype=float), rows: int, sums: wp.array3d(dtype=float)):
    # For part p and column c: the rows' weights, their mean, and the sum of squares of what they are off it.
    p, c = wp.tid()
    first = p * rows
    last = wp.min(first + rows, x.shape[0])
    count = float(0.0)
    mean = float(0.0)
    squares = float(0.0)
    for r in range(first, last):
        if weights[r] > 0.0:
            count += 1.0
            off = x[r, c] - mean
            mean += off / count
            squares += off * (x[r, c] - mean)
    sums[p, c, 0] = count
    sums[p, c, 1] = mean
    sums[p, c, 2] = squares


@wp.kernel(enable_backward=False)
def add_parts(sums: wp.array3d(dtype=float), state: wp.array2d(dtype=float)):
    # state[c] is count, mean, squares of all that was seen before; the parts are added to it (Chan et al. 1979).
    c = wp.tid()
    count = state[c, 0]
    mean = state[c, 1]
    squares = state[c, 2]
    for p in range(sums.shape[0]):
        more = sums[p, c, 0]
        if more > 0.0:
            off = sums[p, c, 1] - mean
            both = count + more
            squares += sums[p, c, 2] + off * off * (count * (more / both))
            mean += off * (more / both)
            count = both
    state[c, 0] = count
    state[c, 1] = mean
    state[c, 2] = squares


@wp.kernel(enable_backward=False)
def standardise(x: wp.array2d(dtype=float), state: wp.array2d(dtype=float), limit: float, y: wp.array2d(dtype=float)):
    # y = (x - mean) / deviation, at most `limit` far from 0 (0: any).
    r, c = wp.tid()
    deviation = wp.sqrt(state[c, 2] / wp.max(state[c, 0], 1.0)) + 1.0e-8
    v = (x[r, c] - state[c, 1]) / deviation
    if limit > 0.0:
        v = wp.clamp(v, -limit, limit)
    y[r, c] = v


@wp.kernel(enable_backward=False)
def account(rewards: wp.array2d(dtype=float), flags: wp.array2d(dtype=wp.uint8), scale: float,
            scaled: wp.array2d(dtype=float), weights: wp.array2d(dtype=float), score: wp.array(dtype=float),
            length: wp.array(dtype=float), practice: wp.array(dtype=float), game: wp.array2d(dtype=float),
            has_scores: int, ended: wp.array2d(dtype=float), bad: wp.array(dtype=int)):
    # What a rollout's episodes came to, a thread per machine. score and length are of the episode that goes on, and
    # practice is 1 when it does not count. game: the game's own scores. ended: how many episodes ended, the sum of
    # their scores, of their lengths, of all rewards, how many steps count. bad: the first step whose reward is no
    # number, else -1.
    n = wp.tid()
    p = practice[n]
    s = score[n]
    l = length[n]
    count = float(0.0)
    scores = float(0.0)
    lengths = float(0.0)
    total = float(0.0)
    steps = float(0.0)
    wrong = int(-1)
    for t in range(rewards.shape[0]):
        flag = int(flags[t, n])
        reward = rewards[t, n]
        if not wp.isfinite(reward):
            if wrong < 0:
                wrong = t
        scaled[t, n] = scale * reward
        if flag & 4:
            weights[t, n] = 0.0
            s = 0.0
            l = 0.0
            p = 0.0
            if flag & 8:
                p = 1.0
        else:
            weights[t, n] = 1.0
            steps += 1.0
            total += reward
            s += reward
            l += 1.0
        if (flag & 3) != 0 and p == 0.0:
            if has_scores != 0:
                s = game[t, n]
            count += 1.0
            scores += s
            lengths += l
    score[n] = s
    length[n] = l
    practice[n] = p
    ended[n, 0] = count
    ended[n, 1] = scores
    ended[n, 2] = lengths
    ended[n, 3] = total
    ended[n, 4] = steps
    bad[n] = wrong


@wp.kernel(enable_backward=False)
def tally(ended: wp.array2d(dtype=float), bad: wp.array(dtype=int), rows: int, sums: wp.array2d(dtype=float)):
    # For part p of the machines: the sums of account's `ended`, then 1 + the first machine with a bad reward, else 0.
    p = wp.tid()
    first = p * rows
    last = wp.min(first + rows, bad.shape[0])
    a = float(0.0)
    b = float(0.0)
    c = float(0.0)
    d = float(0.0)
    e = float(0.0)
    wrong = int(-1)
    for n in range(first, last):
        a += ended[n, 0]
        b += ended[n, 1]
        c += ended[n, 2]
        d += ended[n, 3]
        e += ended[n, 4]
        if wrong < 0 and bad[n] >= 0:
            wrong = n
    sums[p, 0] = a
    sums[p, 1] = b
    sums[p, 2] = c
    sums[p, 3] = d
    sums[p, 4] = e
    sums[p, 5] = float(wrong + 1)
