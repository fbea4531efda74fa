#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The CUDA texts of a dataset on a GPU, judged by each record's own test: forward and backward.

    gpu_audit.py DATASET [--records N]

Needs NumPy, libcuda and NVRTC (libnvrtc.so of a toolkit, or the one that $DM_NVRTC names); nothing else. Each text is
compiled for the device that is there, launched on the test's cases, and compared as any implementation. Prints what
differs and ends with exit code 1 when something does."""
import argparse
import ctypes
import ctypes.util
import glob
import json
import os
import re
import sys
import time

import numpy as np


class Cuda:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.nvrtc = self.find_nvrtc()
        self.need(self.driver.cuInit(0), "cuInit")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.need(self.driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
        self.need(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device), "context")
        self.need(self.driver.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        name, self.capability = ctypes.create_string_buffer(100), []
        self.driver.cuDeviceGetName(name, 100, device)
        for attribute in (75, 76):  # compute capability
            value = ctypes.c_int()
            self.driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            self.capability.append(value.value)
        self.name = name.value.decode()

    @staticmethod
    def need(code, what):
        if code != 0:
            raise RuntimeError(f"{what}: error {code}")

    @staticmethod
    def find_nvrtc():
        places = [os.environ.get("DM_NVRTC", "")]
        for root in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sys.path):
            places += sorted(glob.glob(f"{root}/lib64/libnvrtc.so*")) if root else []
            places += sorted(glob.glob(f"{root}/nvidia/*/lib/libnvrtc.so*")) if root else []
        for place in [*places, ctypes.util.find_library("nvrtc") or "libnvrtc.so"]:
            try:
                if place and "builtins" not in place:
                    return ctypes.CDLL(place)
            except OSError:
                continue
        sys.exit("no NVRTC: name one with DM_NVRTC")

    def compile(self, text, *entries):
        program, options = ctypes.c_void_p(), (ctypes.c_char_p * 2)(
            b"--gpu-architecture=sm_%d%d" % tuple(self.capability), b"--fmad=false")
        self.need(self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None), "create")
        self.need(self.nvrtc.nvrtcCompileProgram(program, 2, options), "NVRTC")
        size = ctypes.c_size_t()
        self.need(self.nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "size")
        image = ctypes.create_string_buffer(size.value)
        self.need(self.nvrtc.nvrtcGetCUBIN(program, image), "cubin")
        self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        module, functions = ctypes.c_void_p(), []
        self.need(self.driver.cuModuleLoadData(ctypes.byref(module), image), "module")
        for entry in entries:
            functions.append(ctypes.c_void_p())
            code = self.driver.cuModuleGetFunction(ctypes.byref(functions[-1]), module, entry.encode())
            functions[-1] = functions[-1] if code == 0 else None  # a kernel without floats has no way back
        self.need(0 if any(functions) else 500, ", ".join(entries))
        return functions

    def launch(self, function, block, threads):
        memory = ctypes.create_string_buffer(block, len(block))
        params = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        grid = (threads + 63) // 64
        self.need(self.driver.cuLaunchKernel(function, grid, 1, 1, 64, 1, 1, 0, None, params, None), "launch")
        self.need(self.driver.cuCtxSynchronize(), "the kernel")


class OnDevice:
    """What a test's block() asks of an array, for its copy on the device."""

    def __init__(self, cuda, array):
        self.cuda, self.array = cuda, np.ascontiguousarray(array)
        self.pointer = ctypes.c_uint64()
        cuda.need(cuda.driver.cuMemAlloc_v2(ctypes.byref(self.pointer), max(array.nbytes, 1)), "memory")
        cuda.need(cuda.driver.cuMemcpyHtoD_v2(self.pointer, ctypes.c_void_p(self.array.ctypes.data), array.nbytes), "copy")
        self.ctypes = type("address", (), {"data": self.pointer.value})
        self.strides, self.shape = self.array.strides, self.array.shape

    def back(self, array):
        self.cuda.need(self.cuda.driver.cuMemcpyDtoH_v2(ctypes.c_void_p(self.array.ctypes.data), self.pointer,
                                                        array.nbytes), "copy")
        self.cuda.driver.cuMemFree_v2(self.pointer)
        array[...] = self.array


def entry_of(text, name):
    """What a kernel's entry points are called in a CUDA text, before "_forward": its name, or that by Warp's rule."""
    found = re.search(rf"\b{re.escape(name)}_[0-9a-f]{{8}}_cuda_kernel(?=_(forward|backward)\()", text)
    return found.group(0) if found else name


def on_gpu(cuda, test, function):
    parameters = test["PARAMETERS"]

    def call(launch, *args):
        values, grads = args[:len(parameters)], args[len(parameters):] or (None,) * len(parameters)
        moved = [OnDevice(cuda, v) if p[1] else v for p, v in zip(parameters, values)]
        adjoints = [None if g is None else OnDevice(cuda, g) for g in grads]
        cuda.launch(function, test["block"](launch, moved, adjoints), int(np.prod(launch)))
        for p, device, host in zip(parameters, moved, values):
            if p[1]:
                device.back(host)
        for device, host in zip(adjoints, grads):
            if device is not None:
                device.back(host)

    return call


class Program:
    """A program of several kernels: temporaries, then the launches of its record, one after the other."""

    def __init__(self, cuda, test, record):
        self.cuda, self.test, self.program = cuda, test, record["program"]
        self.kernels = list(dict.fromkeys(launch["kernel"] for launch in self.program["launches"]))
        self.forward = self.load(record["cuda_forward"], "_forward")
        self.backward = self.load(record["cuda_backward"], "_backward") if record["cuda_backward"] else {}

    def load(self, text, end):
        return dict(zip(self.kernels, self.cuda.compile(text, *(entry_of(text, name) + end for name in self.kernels))))

    def launch(self, functions, launch, values, grads):
        parameters, function = self.test["PARAMETERS"], functions.get(launch["kernel"])
        if function is None:
            return
        name, _, index = launch["dim"].partition(".shape")
        shape = (1,) if name == "1" else values[name].shape[:self.ranks[name]]
        shape = shape[:1] if index else shape
        self.test["PARAMETERS"] = [(n, self.ranks[n], self.dtypes[n], False) for n in launch["arguments"]]
        block = self.test["block"](shape, [values[n] for n in launch["arguments"]],
                                   [grads.get(n) for n in launch["arguments"]])
        self.test["PARAMETERS"] = parameters
        self.cuda.launch(function, block, int(np.prod(shape)))

    def values(self, args):
        parameters, made = self.test["PARAMETERS"], {}
        self.ranks, self.dtypes = {p[0]: p[1] for p in parameters}, {p[0]: p[2] for p in parameters}
        for p, value in zip(parameters, args):
            made[p[0]] = OnDevice(self.cuda, value) if p[1] else value
        for t in self.program["temporaries"]:
            rank, like = t["dimensions"], t["like"]
            dtype = np.dtype(self.element(t["element"]))
            made[t["name"]] = OnDevice(self.cuda, np.zeros(made[like].shape[:rank] if like else (1,), dtype))
            self.ranks[t["name"]], self.dtypes[t["name"]] = rank, dtype
        return made

    def element(self, name):
        scalars = {"f": np.float32, "i": np.int32}
        if name in ("float32", "int32"):
            return getattr(np, name)
        if name.startswith("vec"):
            return (scalars[name[4]], (int(name[3]),))
        return self.test[name]

    def forwards(self, launch, *args):
        values = self.values(args)
        for one in self.program["launches"]:
            self.launch(self.forward, one, values, {})
        for p, host in zip(self.test["PARAMETERS"], args):
            if p[1]:
                values[p[0]].back(host)

    def backwards(self, launch, *args):
        """Temporaries are made again, with results of their own; then the launches in the reverse order."""
        parameters = self.test["PARAMETERS"]
        own, adjoints = args[:len(parameters)], args[len(parameters):]
        values = self.values([np.zeros_like(v) if p[3] else v for p, v in zip(parameters, own)])
        for one in self.program["launches"]:
            self.launch(self.forward, one, values, {})
        for p, value in zip(parameters, own):
            if p[3]:
                values[p[0]] = OnDevice(self.cuda, value)
        grads = {p[0]: OnDevice(self.cuda, g) for p, g in zip(parameters, adjoints) if g is not None}
        for t in self.program["temporaries"]:
            if t["element"] != "int32":
                grads[t["name"]] = OnDevice(self.cuda, np.zeros_like(values[t["name"]].array))
        for one in reversed(self.program["launches"]):
            self.launch(self.backward, one, values, grads)
        for p, host in zip(parameters, adjoints):
            if host is not None:
                grads[p[0]].back(host)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--records", type=int, default=1000000)
    options = parser.parse_args()
    cuda, start = Cuda(), time.time()
    records = [json.loads(line) for name in sorted(glob.glob(os.path.join(options.dataset, "pairs-*.jsonl")))
               for line in open(name)]
    records = [r for r in records if r.get("test") and r["cuda_forward"]][:options.records]
    if not records:
        sys.exit(f"{options.dataset}: no record has a test and CUDA texts")
    wrong = backward = programs = 0
    for record in records:
        test = {"__name__": "test"}
        exec(compile(record["test"], "test", "exec"), test)
        try:
            if record.get("program"):
                program = Program(cuda, test, record)
                passes = [program.forwards, program.backwards][:2 if record["cuda_backward"] else 1]
                programs += 1
            else:
                texts = [(record["cuda_forward"], "_forward"), (record["cuda_backward"], "_backward")]
                plain = re.sub(r"_[0-9a-f]{8}_cpu$", "", test["ENTRY"])
                passes = [on_gpu(cuda, test, cuda.compile(text, entry_of(text, plain) + end)[0])
                          for text, end in texts if text]
            backward += bool(record["cuda_backward"])
            problems = test["check"](*passes)
        except RuntimeError as error:
            problems = [str(error)]
        if problems:
            wrong += 1
            print(f"{record['id']} {record['idiom']}: {problems[0]}")
    print(f"{cuda.name}: {len(records)} records, {backward} with a backward pass, {programs} of several kernels: "
          f"{wrong} differ; {time.time() - start:.1f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
