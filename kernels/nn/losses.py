# SPDX-License-Identifier: MIT
"""Losses of rows, one thread per row; the gradients of the outputs y are made by the compiler.

The operations of src/nn turn the outputs into their gradient in the pass that computes the loss: those are
written by hand, and tests/nn/test_texts.c compares them with these, forward and backward.

dotmatrix kernel compile kernels/nn/losses.py"""
import warp as wp


@wp.kernel
def square(y: wp.array2d(dtype=float), target: wp.array2d(dtype=float), losses: wp.array(dtype=float)):
    # The mean of the squares of the differences.
    n = wp.tid()
    total = float(0.0)
    for c in range(y.shape[1]):
        d = y[n, c] - target[n, c]
        total += d * d
    losses[n] = total / float(y.shape[1])


@wp.kernel
def sigmoid(y: wp.array2d(dtype=float), target: wp.array2d(dtype=float), losses: wp.array(dtype=float)):
    # The mean cross-entropy of the targets, 0 to 1, with the sigmoids of y, arranged so that exp gets no
    # positive number.
    n = wp.tid()
    total = float(0.0)
    for c in range(y.shape[1]):
        v = y[n, c]
        total += wp.max(v, 0.0) - v * target[n, c] + wp.log(1.0 + wp.exp(-wp.abs(v)))
    losses[n] = total / float(y.shape[1])


@wp.kernel
def softmax(y: wp.array2d(dtype=float), target: wp.array(dtype=int), classes: int, losses: wp.array(dtype=float)):
    # The cross-entropy of class target[n] with the softmax of the first `classes` columns; rows whose target
    # is -1 have none.
    n = wp.tid()
    if target[n] < 0:
        losses[n] = 0.0
    else:
        most = y[n, 0]
        for v in range(1, classes):
            most = wp.max(most, y[n, v])
        total = float(0.0)
        for v in range(classes):
            total += wp.exp(y[n, v] - most)
        losses[n] = most + wp.log(total) - y[n, target[n]]
