# SPDX-License-Identifier: MIT
"""One step of an optimiser for an array of parameters: one thread per parameter.

`control` is made where the gradients are summed: control[0] is what they are multiplied with first (1 over the rows
of a batch, less when they are clipped by their norm); when control[1] is 0, the loss or the norm is no number, and
nothing changes.

On the CPU Adam and AdamW are stepped by src/nn/cpu/optimiser.h, which is several times as fast and gives the bits of
these texts (tests/nn/test_texts.c).

dotmatrix kernel compile kernels/nn/optimisers.py"""
import warp as wp


@wp.kernel
def sgd(w: wp.array(dtype=float), g: wp.array(dtype=float), velocity: wp.array(dtype=float),
        control: wp.array(dtype=float), rate: float, momentum: float, decay: float):
    i = wp.tid()
    if control[1] == 0.0:
        return
    d = g[i] * control[0] + decay * w[i]
    v = momentum * velocity[i] + d
    velocity[i] = v
    w[i] = w[i] - rate * v


@wp.kernel
def adam(w: wp.array(dtype=float), g: wp.array(dtype=float), m: wp.array(dtype=float), v: wp.array(dtype=float),
         control: wp.array(dtype=float), rate: float, beta1: float, beta2: float, epsilon: float, decay: float,
         correct1: float, correct2: float):
    # correct1 and correct2 are 1 - beta ** step.
    i = wp.tid()
    if control[1] == 0.0:
        return
    d = g[i] * control[0] + decay * w[i]
    first = beta1 * m[i] + (1.0 - beta1) * d
    second = beta2 * v[i] + (1.0 - beta2) * d * d
    m[i] = first
    v[i] = second
    w[i] = w[i] - rate * (first / correct1) / (wp.sqrt(second / correct2) + epsilon)


@wp.kernel
def adamw(w: wp.array(dtype=float), g: wp.array(dtype=float), m: wp.array(dtype=float), v: wp.array(dtype=float),
          control: wp.array(dtype=float), rate: float, beta1: float, beta2: float, epsilon: float, decay: float,
          correct1: float, correct2: float):
    i = wp.tid()
    if control[1] == 0.0:
        return
    d = g[i] * control[0]
    first = beta1 * m[i] + (1.0 - beta1) * d
    second = beta2 * v[i] + (1.0 - beta2) * d * d
    m[i] = first
    v[i] = second
    shrunk = w[i] - rate * decay * w[i]
    w[i] = shrunk - rate * (first / correct1) / (wp.sqrt(second / correct2) + epsilon)


@wp.kernel
def muon_momentum(u: wp.array(dtype=float), g: wp.array(dtype=float), velocity: wp.array(dtype=float),
                  control: wp.array(dtype=float), momentum: float):
    # u is what src/nn/muon.c makes orthogonal, matrix by matrix, before muon_update (Nesterov's form).
    i = wp.tid()
    if control[1] == 0.0:
        return
    d = g[i] * control[0]
    v = momentum * velocity[i] + d
    velocity[i] = v
    u[i] = d + momentum * v


@wp.kernel
def muon_update(w: wp.array(dtype=float), u: wp.array(dtype=float), control: wp.array(dtype=float), rate: float,
                decay: float):
    i = wp.tid()
    if control[1] == 0.0:
        return
    shrunk = w[i] - rate * decay * w[i]
    w[i] = shrunk - rate * u[i]


@wp.kernel
def average(mean: wp.array(dtype=float), w: wp.array(dtype=float), control: wp.array(dtype=float), keep: float):
    # The running average of weights: keep of what it was, the rest of what they are.
    i = wp.tid()
    if control[1] == 0.0:
        return
    mean[i] = keep * mean[i] + (1.0 - keep) * w[i]
