# SPDX-License-Identifier: MIT
"""Activations, one thread per number; their gradients are made by the compiler.

The operations of src/nn apply them where a product stores its sums, which spares a pass over memory: those
are written by hand, and tests/nn/test_texts.c compares them with these, forward and backward.

dotmatrix kernel compile kernels/nn/activations.py"""
import warp as wp


@wp.kernel
def relu(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.max(x[i], 0.0)


@wp.kernel
def tanh(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.tanh(x[i])


@wp.kernel
def sigmoid(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 1.0 / (1.0 + wp.exp(-x[i]))


@wp.kernel
def gelu(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # GPT-2's, by tanh; 0.7978845608 is the square root of 2 / pi.
    i = wp.tid()
    v = x[i]
    u = 0.7978845608 * (v + 0.044715 * v * v * v)
    y[i] = 0.5 * v * (1.0 + wp.tanh(u))
