# SPDX-License-Identifier: MIT
"""The examples, as they are: those that take seconds are run, the others begin."""

import importlib
import os
import pathlib
import subprocess
import sys

import pytest

import dotmatrix as dm

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
PACKAGES = pathlib.Path(dm.__file__).parents[1]


def run(name, *arguments, needs=(), limit=120):
    for module in needs:
        pytest.importorskip(module, reason=f"{module} is not installed")
    result = subprocess.run(
        [sys.executable, "-B", EXAMPLES / f"{name}.py", *map(str, arguments)], capture_output=True, text=True, timeout=limit,
        env=dict(os.environ, PYTHONPATH=str(PACKAGES), OMP_NUM_THREADS="1"),
    )  # fmt: skip
    return result.returncode, result.stdout, result.stderr


def test_kernel_gradient():
    code, out, error = run("kernel_gradient")
    assert code == 0 and out.startswith("loss"), error


def test_explore_rom(tmp_path):
    code, out, error = run("explore_rom", "--out", tmp_path)
    assert code == 0 and "STARFALL" in out and "was executed" in out, error
    with dm.GameBoy(dm.rom_path("STARFALL")) as gb:
        gb.load_state(tmp_path / "game.state")


def test_ppo_begins(tmp_path):
    code, out, error = run("ppo_starfall", "--envs", 16, "--horizon", 8, "--updates", 5, "--json", tmp_path / "x", needs=["torch"])
    assert code == 1 and "update    5" in out and (tmp_path / "x").exists(), error


def test_sb3_begins():
    code, out, error = run("sb3_starfall", "--envs", 4, "--steps", 512, needs=["stable_baselines3"])
    assert code == 0 and "score" in out, error


def test_dataset(monkeypatch):
    from dotmatrix import command

    try:
        command.find()
    except dm.Unavailable:
        pytest.skip("the command dotmatrix is not here")
    code, out, error = run("kernels_dataset", "--count", 12, needs=["datasets"])
    assert code == 0 and "12 pairs" in out, error


def test_beside_pyboy(tmp_path):
    code, out, error = run("beside_pyboy", "--seconds", 0.02, "--rounds", 1, needs=["pyboy"])
    assert code == 0 and out.count("times") == 3, error


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_help(path):
    """Each says at its top what it does and how it is called."""
    text = path.read_text()
    assert text.startswith("# SPDX-License-Identifier: MIT\n\"\"\"") and f"python {path.name}" in text
    importlib.util.spec_from_file_location(path.stem, path)
    compile(text, path, "exec")
