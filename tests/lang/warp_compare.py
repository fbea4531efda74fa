#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our kernels (kernels/*.py) in Warp and here, on the CPU: the same values, the same gradients, the same random bits.

    python tests/lang/warp_compare.py [--dotmatrix build/src/cli/dotmatrix] [PATTERN]

Needs warp-lang and numpy (tools/requirements.txt) and a C compiler. Each kernel is run by Warp, and from the C text
that `dotmatrix kernel compile` gives, on the same random arguments. Values must agree within 1e-6, gradients within
1e-4, relative to the largest number of the array; integers must be equal. Where Warp's gradient is known to be wrong
(loops that carry values, in-place changes) the reference is central differences of our own forward pass, in float64,
and the table shows how far Warp is off. With --compat the kernels are compiled with --warp-compat and Warp is right
always, but for `while`, `break` and `continue` (compat=False)."""
import argparse
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import warp as wp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNT = 64  # threads, and length of arrays where a case says nothing else


class Case:
    """dims: of the launch; values: of scalar arguments, or (low, high) for an array's numbers, or an array."""

    def __init__(self, kernel, outputs, dims=(COUNT,), differences=False, compat=True, exact=False, **values):
        self.kernel, self.outputs, self.dims = kernel, outputs.split(), dims
        self.differences, self.compat, self.exact, self.values = differences, compat, exact, values


def ends():
    return np.stack([np.arange(COUNT) % COUNT, (np.arange(COUNT) * 7 + 3) % COUNT], axis=1).astype(np.int32)


CASES = {
    "saxpy.py": [
        Case("saxpy", "out", a=2.5),
        Case("sum_of_squares", "total"),
        Case("clipped", "out", low=0.3, high=0.8),
        Case("scalar_math", "out"),
    ],
    "springs.py": [
        Case("spring_forces", "force", ends=ends(), stiffness=10.0, damping=0.5, force=(0, 0)),
        Case("step", "new_position new_velocity", dt=0.1),
    ],
    "rotations.py": [
        Case("rotate", "out"),
        Case("compose", "out"),
        Case("to_matrix", "out back"),
        Case("move", "out relative"),
        Case("twist", "out"),
    ],
    "frames.py": [
        Case("norms", "out"),
        Case("angles", "out turn"),
        Case("wrenches", "out"),
    ],
    "matrices.py": [
        Case("products", "out"),
        Case("inverses", "out"),
        Case("elastic_energy", "energy", mu=1.5, kappa=3.0),
    ],
    "chance.py": [
        Case("integers", "plain ranged bits", seed=42, exact=True),
        Case("floats", "plain ranged normal", seed=-7),
        Case("shapes", "flat solid", seed=11),
        Case("counts", "few chosen", seed=5, cdf=np.linspace(0.01, 1, COUNT, dtype=np.float32), exact=True),
        Case("clouds", "out", seed=3),
        Case("wind", "out", seed=9),
    ],
    "heat.py": [
        Case("heat", "out", dims=(16, 16), rate=0.1),
        Case("layer", "out", dims=(16, 16), differences=True),
    ],
    "shapes.py": [
        Case("scene", "out", radius=0.4, half=wp.vec3(0.2, 0.3, 0.25)),
        Case("march", "hit", radius=1.5, differences=True, compat=False),
    ],
    "loops.py": [
        Case("product", "out", dims=(32,), n=5, differences=True),
        Case("polynomial", "out", differences=True),
        Case("newton", "out", differences=True, compat=False),
        Case("until_far", "out", dims=(32,), limit=4.0, n=20, differences=True, compat=False),
        Case("in_place", "out", dims=(32,), differences=True),
    ],
}

# ---- Arguments ----


def scalar_of(dtype):
    """numpy's name and the shape of one element."""
    base = getattr(dtype, "_wp_scalar_type_", dtype)
    base = {float: wp.float32, int: wp.int32, bool: wp.bool}.get(base, base)
    return np.dtype(wp.dtype_to_numpy(base)), tuple(getattr(dtype, "_shape_", ()))


def make_arguments(kernel, case, rng):
    """name -> (type, numpy array or scalar), in the order of the parameters."""
    made = {}
    for arg in kernel.adj.args:
        given = case.values.get(arg.label)
        if not isinstance(arg.type, wp.array):
            made[arg.label] = (arg.type, given)
            continue
        number, element = scalar_of(arg.type.dtype)
        shape = tuple(case.dims) if arg.type.ndim == len(case.dims) else (case.dims[0],) * arg.type.ndim
        if case.kernel in ("product", "until_far", "in_place"):
            shape = (COUNT,)
        if isinstance(given, np.ndarray):
            data = given
        elif arg.label in case.outputs or not np.issubdtype(number, np.floating):
            data = np.zeros(shape + element, number)
        else:
            low, high = given if given is not None else (0.1, 0.9)
            data = rng.uniform(low, high, shape + element).astype(number)
        made[arg.label] = (arg.type, data)
    return made


# ---- Warp ----


def run_warp(kernel, case, arguments, weights):
    values = []
    arrays = {}
    for name, (kind, data) in arguments.items():
        if isinstance(kind, wp.array):
            floats = np.issubdtype(data.dtype, np.floating)
            arrays[name] = wp.array(data, dtype=kind.dtype, requires_grad=floats, device="cpu")
            values.append(arrays[name])
        else:
            values.append(data)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=case.dims, inputs=values, device="cpu")
    out = {name: a.numpy().copy() for name, a in arrays.items()}
    floats = {n: a for n, a in arrays.items() if a.requires_grad}
    for name, w in weights.items():
        floats[name].grad.assign(w)
    tape.backward()
    return out, {name: a.grad.numpy().copy() for name, a in floats.items() if name not in case.outputs}


# ---- Here ----


class Ours:
    """The shared object of one kernel's C text."""

    def __init__(self, text, name, folder):
        source, library = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".so")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        command = [os.environ.get("CC", "cc"), "-std=c17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", source, "-lm"]
        subprocess.run(command + ["-o", library], check=True)
        lib = ctypes.CDLL(library)
        self.forward = getattr(lib, name + "_forward")
        self.backward = getattr(lib, name + "_backward", None)
        for entry in (self.forward, self.backward):
            if entry is not None:
                entry.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64]

    @staticmethod
    def block(case, arguments, grads):
        """int dim[n], then the parameters, laid out as C does."""
        out = bytearray()

        def put(data, align):
            out.extend(bytes(-len(out) % align))
            out.extend(data)

        put(np.array(case.dims, np.int32).tobytes(), 4)
        for name, (kind, data) in arguments.items():
            if not isinstance(kind, wp.array):
                number, shape = scalar_of(kind)
                put(np.array(data if not shape else list(data), number).tobytes(), number.itemsize)
                continue
            grad = grads[name].ctypes.data if name in grads else 0
            put(np.array([data.ctypes.data, grad], np.uint64).tobytes(), 8)
            put(np.array(data.strides[: kind.ndim], np.int64).tobytes(), 8)
            put(np.array(data.shape[: kind.ndim], np.int32).tobytes(), 4)
            out.extend(bytes(-len(out) % 8))
        out.extend(bytes(-len(out) % 8))
        return bytes(out)

    def run(self, entry, case, arguments, grads):
        count = int(np.prod(case.dims))
        entry(self.block(case, arguments, grads), 0, count, count)


def run_ours(ours, case, arguments, weights):
    copies = {n: (k, d.copy() if isinstance(d, np.ndarray) else d) for n, (k, d) in arguments.items()}
    floats = {n: d for n, (k, d) in copies.items() if isinstance(d, np.ndarray) and np.issubdtype(d.dtype, np.floating)}
    ours.run(ours.forward, case, copies, {})
    out = {n: d.copy() for n, (k, d) in copies.items() if isinstance(d, np.ndarray)}
    grads = {n: np.zeros_like(d) for n, d in floats.items()}
    for name, w in weights.items():
        grads[name][...] = w
    if ours.backward is None or not weights:
        return out, {}
    ours.run(ours.backward, case, copies, grads)
    return out, {n: g for n, g in grads.items() if n not in case.outputs}


def differences(ours, case, arguments, weights):
    """Central differences of the weighted outputs, one number at a time."""
    slopes = {}
    for name, (_, data) in arguments.items():
        if not isinstance(data, np.ndarray) or name in case.outputs or not np.issubdtype(data.dtype, np.floating):
            continue
        slopes[name] = np.zeros_like(data)
        h = 1e-6 if data.dtype == np.float64 else 1e-3
        for at in np.ndindex(data.shape):
            sums = []
            for side in (h, -h):
                moved = {n: (k, d.copy() if isinstance(d, np.ndarray) else d) for n, (k, d) in arguments.items()}
                moved[name][1][at] += side
                ours.run(ours.forward, case, moved, {})
                sums.append(sum(float(np.sum(w.astype(np.float64) * moved[n][1])) for n, w in weights.items()))
            slopes[name][at] = (sums[0] - sums[1]) / (2 * h)
    return slopes


# ---- Comparing ----


def apart(a, b):
    if not np.issubdtype(a.dtype, np.floating):
        return 0.0 if np.array_equal(a, b) else float("inf")
    return float(np.max(np.abs(a.astype(np.float64) - b))) / max(1e-3, float(np.max(np.abs(b)))) if a.size else 0.0


def compare(path, module, case, compiled, folder, compat):
    kernel = getattr(module, case.kernel)
    rng = np.random.default_rng(1)
    arguments = make_arguments(kernel, case, rng)
    weights = {n: rng.uniform(-1, 1, arguments[n][1].shape).astype(arguments[n][1].dtype)
               for n in case.outputs if np.issubdtype(arguments[n][1].dtype, np.floating)}
    ours = Ours(compiled["c"], case.kernel, folder)
    value_w, gradient_w = run_warp(kernel, case, arguments, weights)
    value_o, gradient_o = run_ours(ours, case, arguments, weights)
    value = max(apart(value_o[n], value_w[n]) for n in value_w)
    gradient = max((apart(gradient_o[n], gradient_w[n]) for n in gradient_o), default=0.0)
    note, fine = "", value <= (0.0 if case.exact else 1e-6)
    if case.differences and not (compat and case.compat):
        slopes = differences(ours, case, arguments, weights)
        warp_off = max(apart(gradient_w[n], slopes[n]) for n in slopes)
        ours_off = max(apart(gradient_o[n], slopes[n]) for n in slopes)
        exact = all(a[1].dtype != np.float32 for a in arguments.values() if isinstance(a[1], np.ndarray))
        note = f"central differences: we are {ours_off:.1e} off, Warp {warp_off:.1e}"
        fine = fine and ours_off <= (1e-6 if exact else 1e-2)
    else:
        fine = fine and gradient <= 1e-4
    print(f"{'ok  ' if fine else 'FAIL'} {os.path.basename(path):14s} {case.kernel:16s} values {value:.1e}   gradients "
          f"{gradient:.1e}   {note}")
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--compat", action="store_true", help="with --warp-compat: gradients as Warp's everywhere")
    parser.add_argument("--dotmatrix", default=os.path.join(ROOT, "build/src/cli/dotmatrix"))
    options = parser.parse_args()
    wp.config.quiet = True
    wp.init()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for file, cases in CASES.items():
            path = os.path.join(ROOT, "kernels", file)
            spec = importlib.util.spec_from_file_location("kernels_" + file[:-3], path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            command = [options.dotmatrix, "kernel", "compile", path, "--emit", "json"] + (["--warp-compat"] if options.compat else [])
            r = subprocess.run(command, capture_output=True, text=True)
            compiled = {k["name"]: k for k in map(json.loads, r.stdout.splitlines())}
            for case in cases:
                if options.pattern not in case.kernel and options.pattern not in file:
                    continue
                if not compiled.get(case.kernel, {}).get("ok"):
                    print(f"FAIL {file} {case.kernel}: {compiled.get(case.kernel, {}).get('error', r.stderr)}")
                    failed += 1
                    continue
                failed += not compare(path, module, case, compiled[case.kernel], folder, options.compat)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
