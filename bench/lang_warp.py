#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lang_warp.py FILE: Warp's own code generation on the kernels that `dm-bench-lang --write FILE` made.

Only the way from Python to C++ and CUDA source is timed, forward and backward, not the compilers behind it and not the
import of Warp. Needs warp-lang (tools/requirements.txt)."""
import importlib.util
import sys
import time

import warp as wp
from warp._src.context import ModuleBuilder


def main():
    wp.config.quiet = True
    wp.init()
    spec = importlib.util.spec_from_file_location("bench_kernels", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    start = time.perf_counter()
    spec.loader.exec_module(module)
    declared = time.perf_counter()
    unit = wp.get_module("bench_kernels")
    options = dict(unit.options)
    options.setdefault("output_arch", 90)
    sizes = []
    for device in ("cpu", "cuda"):
        builder = ModuleBuilder(unit, options)
        sizes.append(len(builder.codegen(device)))
    done = time.perf_counter()
    count = len(unit.kernels)
    print(f"{count} kernels: declared in {(declared - start) * 1e3 / count:.3f} ms each, both passes to C++ and CUDA in "
          f"{(done - declared) * 1e3 / count:.3f} ms each; {sum(sizes) / count * 1e-3:.1f} kB of text each")


if __name__ == "__main__":
    sys.exit(main())
