# SPDX-License-Identifier: MIT
"""Reward programs from Python: files, functions of this module and of a notebook, errors with the user's lines, metrics
and hooks."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import dotmatrix as dm

HERE = pathlib.Path(__file__)
SCORE, LIVES = 0xC001, 0xC003
N = 8
OPTIONS = {"device": "cpu:1", "frames_per_step": 24, "obs": "packed"}


@dm.memory
class Memory:
    score: int
    lives: int


@dm.func
def worth(lives: int):
    return 2.0 * float(lives)


@dm.program
def natural(m: dm.Machine, mem: Memory, out: dm.Out):
    score, lives = dm.u16(m, SCORE), dm.u8(m, LIVES)
    out.reward = float(score - mem.score) + worth(lives - mem.lives)
    out.terminated = dm.u8(m, 0xC000) == 2
    out.metric("score", float(score))
    mem.score, mem.lives = score, lives


def plain(m: dm.Machine, out: dm.Out):
    out.reward = float(dm.u8(m, SCORE))
    out.obs[0] = float(dm.u8(m, LIVES))
    out.obs[1] = float(m.step)


@dm.program
def wrong(m: dm.Machine, out: dm.Out):
    out.reward = dm.u8(m, SCORE)  # an int: the line of this mistake is asked for
    out.rewrad = 1.0


def play(env, steps=40):
    rng = np.random.default_rng(3)
    env.reset()
    rows = []
    for _ in range(steps):
        obs, reward, terminated, _, _ = env.step(rng.integers(0, 9, N).astype(np.uint8))
        rows.append((obs.copy(), reward.copy(), terminated.copy()))
    return rows


def same(a, b):
    return all((x == y).all() for left, right in zip(a, b) for x, y in zip(left, right))


def test_a_function_is_the_file(starfall):
    with dm.make(starfall, N, reward="starfall", **OPTIONS) as file, dm.make(starfall, N, reward=natural, **OPTIONS) as function:
        a, b = play(file, 120), play(function, 120)
        assert same(a, b)
        assert any(r.any() for _, r, _ in a)


def test_a_path(starfall, tmp_path):
    path = tmp_path / "reward.py"
    path.write_text(pathlib.Path(dm.reward_path("starfall")).read_text())
    with dm.make(starfall, N, reward=path, **OPTIONS) as one, dm.make(starfall, N, reward=str(path), **OPTIONS) as two:
        assert same(play(one), play(two))


def test_a_plain_function(starfall):
    """Without a decorator; what it observes is what step() gives."""
    with dm.make(starfall, N, reward=plain, **dict(OPTIONS, obs="vector")) as env:
        rows = play(env, 5)
        assert rows[-1][0].shape == (N, 2)
        assert (rows[-1][0][:, 1] == 5).all()
        for i in range(N):
            assert rows[-1][1][i] == env.swarm.read(i, SCORE)[0]
            assert rows[-1][0][i, 0] == env.swarm.read(i, LIVES)[0]


def test_a_function_of_a_function(starfall):
    """Constants around it are picked up."""
    factor = 2.5

    def scaled(m: dm.Machine, out: dm.Out):
        out.reward = factor * float(dm.u8(m, SCORE + 2))

    with dm.make(starfall, N, reward=scaled, **OPTIONS) as env:
        rows = play(env, 30)
        assert rows[-1][1][0] == 2.5 * env.swarm.read(0, SCORE + 2)[0] and rows[-1][1].any()


NOTEBOOK = """
import linecache, sys
import dotmatrix as dm
cells = {
    "<ipython-input-1-a>": "WEIGHT = 3.0\\n@dm.memory\\nclass Kept:\\n    last: dm.Array(2, int)\\n    seen: dm.Bitmap(256)\\n",
    "<ipython-input-2-b>": '''
@dm.program
def cell(m: dm.Machine, mem: Kept, out: dm.Out):
    if dm.visit(mem.seen, dm.u8(m, 0xC003)):
        out.reward = WEIGHT
    mem.last[1] = 4
'''}
for name, text in cells.items():
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), globals())
with dm.make(sys.argv[1], 8, reward=cell, generator="seeded_random", device="cpu:1") as env:
    env.reset()
    print(sorted({float(r) for _ in range(60) for r in env.step(None)[1]}))
"""


def test_a_notebook(starfall):
    """The source of a cell is in linecache alone, as IPython has it, and __main__ is no file."""
    result = subprocess.run(
        [sys.executable, "-B", "-c", NOTEBOOK, starfall], capture_output=True, text=True, timeout=60,
        env=dict(os.environ, PYTHONPATH=str(pathlib.Path(dm.__file__).parents[1])),
    )  # fmt: skip
    assert result.stdout.strip() == "[0.0, 3.0]", result.stderr


def test_mistakes_name_the_users_line(starfall):
    with pytest.raises(dm.CompileError) as caught:
        dm.make(starfall, N, reward=wrong, **OPTIONS)
    lines = HERE.read_text().splitlines()
    found = re.search(re.escape(str(HERE)) + r":(\d+):(\d+):", str(caught.value))
    assert found is not None, str(caught.value)
    line = lines[int(found[1]) - 1]
    assert "out.reward = dm.u8" in line or "out.rewrad" in line
    assert "did you mean 'reward'" in str(caught.value)


def test_mistakes_of_a_file(starfall, tmp_path):
    path = tmp_path / "reward.py"
    path.write_text("import dotmatrix as dm\n\n@dm.program\ndef step(m: dm.Machine, out: dm.Out):\n    out.reward = dm.u9(m, 1)\n")
    with pytest.raises(dm.CompileError) as caught:
        dm.make(starfall, N, reward=path, **OPTIONS)
    assert f"{path}:5:" in str(caught.value) and caught.value.line == 5 and caught.value.file == str(path)


def test_no_such_file(starfall):
    with pytest.raises(dm.NotFound, match="nowhere.py"):
        dm.make(starfall, N, reward="/nowhere.py", **OPTIONS)
    with pytest.raises(dm.NotFound, match="there are starfall"):
        dm.make(starfall, N, reward="tetris", **OPTIONS)
    with pytest.raises(dm.InvalidArgument, match="a function, a program"):
        dm.make(starfall, N, reward=7, **OPTIONS)


def test_symbols(starfall, roms):
    @dm.program(symbols=roms / "STARFALL.sym", hooks=["MoveCatcher"])
    def by_name(m: dm.Machine, out: dm.Out):
        out.reward = float(dm.u8(m, "wLives"))
        out.metric("hit", 1.0 if dm.hit(m, "MoveCatcher") else 0.0)

    if "wLives" not in (roms / "STARFALL.sym").read_text():
        pytest.skip("STARFALL's symbols have no wLives")
    with dm.make(starfall, N, reward=by_name, **OPTIONS) as env:
        play(env, 30)
        assert by_name.info["symbols"] == {"wLives": LIVES} and by_name.info["hooks"][0][0] == "MoveCatcher"
        assert set(env.swarm.metrics()) == {"hit"}


def test_metrics(starfall):
    with dm.Swarm(starfall, N, program=natural, device="cpu:1", step_limit=10) as swarm:
        for _ in range(25):
            swarm.step(None)
        found = swarm.metrics(restart=True)["score"]
        assert found["episodes"] == 2 * N and found["last"] >= 0
        assert swarm.metrics()["score"]["episodes"] == 0
    with dm.Swarm(starfall, N, device="cpu:1") as swarm:
        assert swarm.metrics() == {}


def test_another_program(starfall):
    def one(m: dm.Machine, out: dm.Out):
        out.reward = 1.0

    def two(m: dm.Machine, out: dm.Out):
        out.reward = 2.0

    with dm.Swarm(starfall, N, program=one, device="cpu:1") as swarm:
        swarm.step(None)
        assert (swarm.rewards == 1).all()
        swarm.set_program(two)
        swarm.step(None)
        assert (swarm.rewards == 2).all()


def test_a_refused_program_changes_nothing(starfall):
    def measured(m: dm.Machine, out: dm.Out):
        out.metric("ones", 1.0)

    def watching(m: dm.Machine, out: dm.Out):
        if dm.hit(m, "00:0150"):
            out.reward = 1.0

    with dm.Swarm(starfall, N, program=measured, device="cpu:1") as swarm:
        with pytest.raises(dm.InvalidArgument, match="hooks"):
            swarm.set_program(watching)
        swarm.step(None)
        assert swarm.program.info["metrics"] == ["ones"] and swarm.metrics()["ones"]["step"] == 1


def test_hooks_of_a_swarm(starfall, roms):
    with dm.Swarm(starfall, N, device="cpu:1", symbols=roms / "STARFALL.sym", hooks=["MainLoop", (0, 0x7FF0)]) as swarm:
        for _ in range(5):
            swarm.step(None)
        assert (swarm.hooks() == 1).all() and (np.asarray(swarm.hook_bits) == 1).all()
    with dm.Swarm(starfall, N, device="cpu:1") as swarm:
        assert swarm.hook_bits is None
    with pytest.raises(dm.NotFound, match="MainLop"):
        dm.Swarm(starfall, N, symbols=roms / "STARFALL.sym", hooks=["MainLop"])


def test_texts():
    assert "reward" in natural.c and "__global__" in natural.cuda
    assert natural.info["metrics"] == ["score"] and natural.info["memory_bytes"] == 8


def test_programs_are_not_called():
    with pytest.raises(TypeError, match="runs on a swarm"):
        natural(None, None)
    with pytest.raises(TypeError, match="reward program only"):
        dm.u8(None, 0xC000)


def test_names_are_the_librarys():
    """Every name that a program may call is one of the module."""
    table = HERE.parents[2] / "src" / "program" / "names.def"
    for name in re.findall(r"^NAME\((\w+),", table.read_text(), re.M):
        assert name in dm.__all__ and getattr(dm, name).__doc__.startswith("In a reward program"), name


def test_array_has_two_meanings(starfall):
    with dm.Swarm(starfall, 1, obs="vector", obs_as="dlpack", device="cpu:1") as swarm:
        assert isinstance(swarm.rewards, dm.Array) and not isinstance(3, dm.Array)
    assert repr(dm.Array(3, int)) == "dm.Array(3, int)"


def test_starfall_of_gymnasium():
    gymnasium = pytest.importorskip("gymnasium")
    import dotmatrix.gym  # noqa: F401

    env = gymnasium.make_vec("dotmatrix/Starfall-v0", num_envs=2, obs="packed", device="cpu:1")
    env.reset()
    assert env.unwrapped.swarm.program.info["metrics"] == ["score"]
    env.close()
