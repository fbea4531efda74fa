# SPDX-License-Identifier: MIT
"""examples/puffer, the hooks of PufferLib 5, compile against the public headers where there is an nvcc. (What they do
is run on a GPU: one captured step after the other gives what a swarm of the CPU gives.)"""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# What PufferLib's environment header defines, by its names.
THEIRS = "struct Log { float n; };\nstruct Env { Log log; int num_agents; };\nstruct Dict { int size; };\ntypedef unsigned char obs_t;\n"


def test_hooks_compile(tmp_path):
    nvcc = shutil.which("nvcc") or next(iter(map(str, pathlib.Path("/usr/local").glob("cuda*/bin/nvcc"))), None)
    if nvcc is None:
        pytest.skip("no nvcc")
    (tmp_path / "env.cu").write_text(THEIRS + '#include "dotmatrix.cu"\n')
    folder = ROOT / "examples" / "puffer"
    result = subprocess.run(
        [nvcc, "-std=c++17", "-arch=sm_90", f"-I{ROOT / 'include'}", f"-I{folder}", "-c", tmp_path / "env.cu", "-o", tmp_path / "env.o"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0 and "warning" not in result.stderr, result.stderr
    symbols = subprocess.run(["nm", "-C", tmp_path / "env.o"], capture_output=True, text=True).stdout
    for name in ("puf_vec_create", "puf_bind_stream", "puf_init", "puf_reset", "puf_step", "puf_close"):
        assert f" T {name}(" in symbols, name
