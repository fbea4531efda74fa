# SPDX-License-Identifier: MIT
"""What happens around a step of the swarm: keys, episodes that begin and end, rewards, and the archive of states that
episodes may begin from (src/agent/world_swarm.h).

A reward program gives rewards and ends itself, and its metric `score` is the game's score. An epilog's observation is
what the policy sees, then the game's score, then what the reward is the change of. A thread per machine, but for
`archive`.

dotmatrix kernel compile kernels/agent/world.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def begin(actions: wp.array(dtype=int), keys_of: wp.array(dtype=wp.uint8), over: wp.array(dtype=wp.uint8),
          seeds: wp.array(dtype=int), step: int,
          starts: int, held_out: int, curriculum: float, archive: wp.array(dtype=int), filled: wp.array(dtype=int),
          choices: int, stir: int, keys: wp.array(dtype=wp.uint8), mask: wp.array(dtype=wp.uint8),
          numbers: wp.array(dtype=int), practice: wp.array(dtype=wp.uint8), kept: wp.array(dtype=int),
          age: wp.array(dtype=int), stirred: wp.array(dtype=int), forced: wp.array(dtype=int)):
    # Before the step: what is pressed, which machines begin an episode after it, and from which snapshot. filled:
    # where the archive's next state goes, how many it has. stirred: for how many steps from the next one on a machine
    # does what `forced` says, -1 for nothing.
    n = wp.tid()
    keys[n] = keys_of[actions[n]]
    mask[n] = over[n]
    if over[n] != wp.uint8(0):
        state = wp.rand_init(seeds[step], n)
        number = 1 + n % starts
        practice[n] = wp.uint8(0)
        stirred[n] = 0
        forced[n] = -1
        if held_out == 0:
            number = 1 + wp.randi(state, 0, starts)
            if wp.randf(state) < curriculum and filled[1] > 0:
                number = archive[wp.randi(state, 0, filled[1])]
                practice[n] = wp.uint8(1)
                if stir > 0:
                    stirred[n] = wp.randi(state, 0, stir + 1)
                    if stirred[n] > 0:
                        forced[n] = wp.randi(state, 0, choices)
        numbers[n] = number
        kept[n] = 0
        age[n] = 0
        over[n] = wp.uint8(0)


@wp.kernel(enable_backward=False)
def after(vectors: wp.array2d(dtype=float), given: wp.array(dtype=float), programmed: int,
          metric: wp.array(dtype=float), has_metric: int,
          terminated: wp.array(dtype=wp.uint8), truncated: wp.array(dtype=wp.uint8), mask: wp.array(dtype=wp.uint8),
          limit: int, practice_limit: int, before: int, keeps: int, potential: wp.array(dtype=float),
          practice: wp.array(dtype=wp.uint8), over: wp.array(dtype=wp.uint8), age: wp.array(dtype=int),
          stirred: wp.array(dtype=int), forced: wp.array(dtype=int), kept: wp.array(dtype=int), own: wp.array2d(dtype=int), rewards: wp.array(dtype=float),
          scores: wp.array(dtype=float), flags: wp.array(dtype=wp.uint8), keep_in: wp.array(dtype=int),
          ended: wp.array(dtype=wp.uint8)):
    # After it. flags are world.h's. keep_in: the snapshot that the machine is kept in, -1 for none; own: its two, the
    # older first when both are in use. ended: episodes that are over for good, whose older state goes to the archive
    # (not those that practise: from the same states they would fill it).
    n = wp.tid()
    gained = given[n]
    if programmed == 0:
        width = vectors.shape[1]
        gained = vectors[n, width - 1] - potential[n]
        potential[n] = vectors[n, width - 1]
        scores[n] = vectors[n, width - 2]
    if has_metric != 0:
        scores[n] = metric[n]
    keep_in[n] = -1
    ended[n] = wp.uint8(0)
    if mask[n] != wp.uint8(0):
        rewards[n] = 0.0
        flags[n] = wp.uint8(4) + wp.uint8(8) * practice[n]
    else:
        age[n] = age[n] + 1
        rewards[n] = gained
        most = limit
        if practice[n] != wp.uint8(0):
            most = practice_limit
        flag = int(0)
        if terminated[n] != wp.uint8(0):
            flag = 1
            if practice[n] == wp.uint8(0):
                ended[n] = wp.uint8(1)
        else:
            if truncated[n] != wp.uint8(0) or (most > 0 and age[n] >= most):
                flag = 2
        flags[n] = wp.uint8(flag)
        if stirred[n] > 0:
            flags[n] = wp.uint8(flag + 16)
            stirred[n] = stirred[n] - 1
            if stirred[n] == 0:
                forced[n] = -1
        if flag != 0:
            over[n] = wp.uint8(1)
        else:
            if keeps != 0 and age[n] % before == 0:
                if kept[n] == 2:
                    older = own[n, 0]
                    own[n, 0] = own[n, 1]
                    own[n, 1] = older
                else:
                    kept[n] = kept[n] + 1
                keep_in[n] = own[n, kept[n] - 1]


@wp.kernel(enable_backward=False)
def archive(ended: wp.array(dtype=wp.uint8), kept: wp.array(dtype=int), own: wp.array2d(dtype=int),
            places: wp.array(dtype=int), filled: wp.array(dtype=int)):
    # One thread: the older snapshots of machines whose episodes ended trade places with the archive's oldest.
    i = wp.tid()
    next = filled[0]
    count = filled[1]
    for n in range(ended.shape[0]):
        if ended[n] != wp.uint8(0) and kept[n] == 2:
            oldest = places[next]
            places[next] = own[n, 0]
            own[n, 0] = oldest
            kept[n] = 0
            next = next + 1
            if count < places.shape[0]:
                count = count + 1
            if next == places.shape[0]:
                next = 0
    filled[0] = next
    filled[1] = count


@wp.kernel(enable_backward=False)
def observe(vectors: wp.array2d(dtype=float), observations: wp.array2d(dtype=float)):
    n, c = wp.tid()
    observations[n, c] = vectors[n, c]


@wp.kernel(enable_backward=False)
def first_potential(vectors: wp.array2d(dtype=float), potential: wp.array(dtype=float)):
    n = wp.tid()
    potential[n] = vectors[n, vectors.shape[1] - 1]


@wp.kernel(enable_backward=False)
def keep(words: wp.array2d(dtype=wp.uint32), numbers: wp.array(dtype=int), snapshots: wp.array2d(dtype=wp.uint32)):
    # Machine n's words to the snapshot that is named, if one is. A thread per word.
    n, w = wp.tid()
    number = numbers[n]
    if number >= 0:
        snapshots[number, w] = words[n, w]
