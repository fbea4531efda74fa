# SPDX-License-Identifier: MIT
"""The package as a whole: its selftest, its tools, and NVIDIA's wheels beside it."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import dotmatrix as dm
from dotmatrix import selftest

PACKAGE = pathlib.Path(dm.__file__).parent


def test_selftest(capsys):
    assert selftest.main(["cpu:2"]) == 0
    out = capsys.readouterr().out
    assert "6 of 6 ok" in out and "FAIL" not in out


def test_selftest_of_no_device(capsys):
    assert selftest.main(["abacus"]) == 2
    assert "abacus" in capsys.readouterr().err


def test_selftest_tells_what_fails(capsys, monkeypatch):
    monkeypatch.setattr(selftest, "rom_path", lambda name: "/nowhere.gb")
    assert selftest.main(["cpu:1"]) == 1
    assert "FAIL  one machine: " in capsys.readouterr().out


def test_tools():
    tools = dm.tools()
    assert tools["cache_path"] and isinstance(tools["cuda"], bool)
    assert tools["cuda"] or tools["cuda_reason"]
    assert tools["nvrtc"] or tools["nvrtc_reason"]


@pytest.mark.parametrize("folder", ["cuda_nvrtc", "cu13"])
def test_nvrtc_of_a_wheel(tmp_path, folder):
    """site-packages/nvidia/cuda_nvrtc/lib (CUDA 12) and nvidia/cu13/lib, beside site-packages/dotmatrix."""
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGE, packages / "dotmatrix", ignore=shutil.ignore_patterns("*.p", "__pycache__"))
    library = packages / "nvidia" / folder / "lib" / "libnvrtc.so.12"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "DM_")) and k not in ("LD_LIBRARY_PATH", "VIRTUAL_ENV")}
    out = subprocess.run(
        [sys.executable, "-B", "-c", "import dotmatrix; t = dotmatrix.tools(); print(t['nvrtc_path'], t['nvrtc_reason'])"],
        env=dict(keep, PYTHONPATH=str(packages)), cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert str(library.resolve()) in out


def test_imports_nothing_large():
    """`import dotmatrix` needs the standard library alone."""
    code = "import sys, dotmatrix; print([m for m in ('numpy', 'torch', 'gymnasium', 'jax', 'cupy', 'PIL') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-B", "-c", code], env=dict(os.environ, PYTHONPATH=str(PACKAGE.parent)),
                         capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert out.strip() == "[]"
