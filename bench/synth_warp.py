#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""synth_warp.py FOLDER: Warp's own code generation on the kernels that `dm-bench-synth --warp PYTHON` made.

Only the way from Python to CUDA source is timed, forward and backward, not the compiler behind it and not the import of
Warp or of the file. Kernels that Warp refuses are counted, with the reason of the first. Needs warp-lang
(tools/requirements.txt)."""
import glob
import importlib.util
import os
import sys
import time

import warp as wp
from warp._src.context import ModuleBuilder


def main():
    wp.config.quiet = True
    wp.init()
    seconds, size, done, refused, reason = 0.0, 0, 0, 0, ""
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            unit = wp.get_module(name)
            options = dict(unit.options)
            options.setdefault("output_arch", 90)
            start = time.process_time()
            size += len(ModuleBuilder(unit, options).codegen("cuda"))
            seconds += time.process_time() - start
            done += 1
        except Exception as problem:
            refused += 1
            reason = reason or f"{name}: {problem}"
    each = seconds / max(done, 1)
    print(f"Warp {wp.config.version}, {done} of the same kernels to CUDA, both passes: {each * 1e6:.0f} us each, "
          f"{1 / each if each else 0:.0f} a second, {size / max(done, 1) * 1e-3:.1f} kB")
    if refused:
        print(f"  refused {refused}, the first: {' '.join(reason.split())[:300]}")


if __name__ == "__main__":
    sys.exit(main())
