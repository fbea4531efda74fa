# SPDX-License-Identifier: MIT
"""warp_text.py IN OUT: Warp's own CUDA text of programs. IN is a list of {"name", "source"}; OUT gets the version and
a list of {"forward", "backward"} or {"error"}. What the programs have in common with all others (Warp's macros) is left
out; structs and functions stand before both passes. Needs warp-lang."""
import importlib.util
import json
import os
import re
import sys
import tempfile

try:
    import warp as wp
    from warp._src.context import ModuleBuilder
except ImportError as problem:
    sys.exit(f"no warp-lang in {sys.executable}: {problem}")


def split(text, name):
    """What stands before the kernel, and its two passes; of a program of several kernels all of it as the first."""
    starts = [m.start() for m in re.finditer(r'extern "C" __global__', text)]
    if not any(f"{name}_" in text[s:s + 300] for s in starts):
        return [text[re.search(r"#define adj_int\(.*\n", text).end():].strip() + "\n", None]
    forward = next(s for s in starts if f"{name}_" in text[s:s + 300] and "_cuda_kernel_forward" in text[s:s + 400])
    backward = next((s for s in starts if s > forward and "_cuda_kernel_backward" in text[s:s + 400]), len(text))
    begin = re.search(r"#define adj_int\(.*\n", text)
    shared = text[begin.end():forward].strip()
    shared = re.sub(r"\n{3,}", "\n\n", shared)
    return [shared + "\n\n" * bool(shared) + part.strip() + "\n" if part.strip() else None
            for part in (text[forward:backward], text[backward:])]


def generate(program, folder, number):
    path = os.path.join(folder, f"program_{number}.py")
    with open(path, "w") as file:
        file.write(program["source"])
    module_name = f"program_{number}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    unit = wp.get_module(module_name)
    options = dict(unit.options)
    options.setdefault("output_arch", 90)
    forward, backward = split(ModuleBuilder(unit, options).codegen("cuda"), program["name"])
    return {"forward": forward, "backward": backward}


def main():
    wp.config.quiet = True
    programs, made = json.load(open(sys.argv[1])), []
    with tempfile.TemporaryDirectory() as folder:
        for number, program in enumerate(programs):
            try:
                made.append(generate(program, folder, number))
            except Exception as problem:  # one program that Warp refuses is no reason to lose the others
                made.append({"error": " ".join(str(problem).split())[:300]})
    with open(sys.argv[2], "w") as file:
        json.dump({"version": wp.config.version, "texts": made}, file)


if __name__ == "__main__":
    main()
