# SPDX-License-Identifier: MIT
"""One step of an optimiser for one array of parameters: one thread per parameter.

`scale` is what the gradient is multiplied with first: 1, or less when gradients are clipped by their norm.

dotmatrix kernel compile kernels/nn/optimisers.py"""
import warp as wp


@wp.kernel
def sgd(w: wp.array(dtype=float), g: wp.array(dtype=float), velocity: wp.array(dtype=float), scale: float, rate: float,
        momentum: float, decay: float):
    i = wp.tid()
    d = g[i] * scale + decay * w[i]
    v = momentum * velocity[i] + d
    velocity[i] = v
    w[i] = w[i] - rate * v


@wp.kernel
def adamw(w: wp.array(dtype=float), g: wp.array(dtype=float), m: wp.array(dtype=float), v: wp.array(dtype=float),
          scale: float, rate: float, beta1: float, beta2: float, epsilon: float, decay: float, correct1: float,
          correct2: float):
    # correct1 and correct2 are 1 - beta ** step.
    i = wp.tid()
    d = g[i] * scale
    first = beta1 * m[i] + (1.0 - beta1) * d
    second = beta2 * v[i] + (1.0 - beta2) * d * d
    m[i] = first
    v[i] = second
    shrunk = w[i] - rate * decay * w[i]
    w[i] = shrunk - rate * (first / correct1) / (wp.sqrt(second / correct2) + epsilon)


@wp.kernel
def average(mean: wp.array(dtype=float), w: wp.array(dtype=float), keep: float):
    # The running average of weights: keep of what it was, the rest of what they are.
    i = wp.tid()
    mean[i] = keep * mean[i] + (1.0 - keep) * w[i]
