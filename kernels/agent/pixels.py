# SPDX-License-Identifier: MIT
"""Pictures as the swarm packs them (four pixels a byte, the leftmost lowest) become a network's input.

dotmatrix kernel compile kernels/agent/pixels.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def unpack(packed: wp.array2d(dtype=wp.uint8), order: wp.array(dtype=int), first: int, in_order: int,
           pixels: wp.array2d(dtype=float)):
    # Row r is picture first + r, or the one that order names there: shades 0 to 3 as 0 to 1. A thread per byte.
    r, c = wp.tid()
    i = first + r
    if in_order != 0:
        i = order[first + r]
    four = int(packed[i, c])
    pixels[r, 4 * c] = float(four & 3) / 3.0
    pixels[r, 4 * c + 1] = float((four >> 2) & 3) / 3.0
    pixels[r, 4 * c + 2] = float((four >> 4) & 3) / 3.0
    pixels[r, 4 * c + 3] = float((four >> 6) & 3) / 3.0
