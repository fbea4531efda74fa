# SPDX-License-Identifier: MIT
"""Weights, inputs and results of torch.nn.GRU as raw float32 files, for test_torch.c.

    python3 torch_gru.py FOLDER INPUT HIDDEN BATCH
"""
import sys

import torch

folder, sizes = sys.argv[1], [int(v) for v in sys.argv[2:5]]
torch.manual_seed(1)
gru = torch.nn.GRU(sizes[0], sizes[1])
x, h = torch.randn(1, sizes[2], sizes[0]), torch.rand(1, sizes[2], sizes[1]) * 2 - 1
with torch.no_grad():
    out, _ = gru(x, h)
for name, value in [("wih", gru.weight_ih_l0), ("whh", gru.weight_hh_l0), ("bih", gru.bias_ih_l0),
                    ("bhh", gru.bias_hh_l0), ("x", x), ("h", h), ("out", out)]:
    with open(f"{folder}/{name}.f32", "wb") as file:
        file.write(bytes(value.detach().contiguous().view(-1).untyped_storage()))
