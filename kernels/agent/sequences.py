# SPDX-License-Identifier: MIT
"""What a policy with memory needs besides samples: where its memory is empty, and machines with all their steps.

dotmatrix kernel compile kernels/agent/sequences.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def starts_of(flags: wp.array(dtype=wp.uint8), starts: wp.array(dtype=wp.uint8)):
    # After a step that began an episode the observation is its first.
    n = wp.tid()
    starts[n] = wp.uint8(0)
    if (int(flags[n]) & 4) != 0:
        starts[n] = wp.uint8(1)


@wp.kernel(enable_backward=False)
def sequences(machines: wp.array(dtype=int), steps: int, order: wp.array(dtype=int)):
    # Samples lie [T][N]; order: all steps of the first machine, then of the next.
    i, t = wp.tid()
    order[i * steps + t] = t * machines.shape[0] + machines[i]


@wp.kernel(enable_backward=False)
def gather_starts(order: wp.array(dtype=int), first: int, starts: wp.array(dtype=wp.uint8),
                  to_starts: wp.array(dtype=wp.uint8)):
    n = wp.tid()
    to_starts[n] = starts[order[first + n]]
