# SPDX-License-Identifier: MIT
"""python -m dotmatrix.selftest [device ...]: does the package work here? One line for each thing tried.

Exit status: 0 when all that can run here gives the right results, 1 when something does not, 2 for an unknown device.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from . import _core
from .env import make, rom_path
from .gameboy import GameBoy
from .swarm import Swarm, device, devices

Check = Callable[[], str]



def _library() -> str:
    return f"version {_core.version()}, {len(devices())} devices"


def _compilers() -> str:
    tools = _core.tools()
    cc = tools["cc_version"] or tools["cc_reason"]
    cuda = f"CUDA {tools['cuda_version'] // 1000}" if tools["cuda"] else tools["cuda_reason"]
    nvrtc = tools["nvrtc_origin"] or tools["nvrtc_reason"]
    return f"cc: {cc}; driver: {cuda}; NVRTC: {nvrtc}"


def _one_machine() -> str:
    with GameBoy(rom_path("STARFALL")) as gb:
        gb.tick(120)
        before, state = gb.frame(), gb.save_state()
        gb.tick(60)
        gb.load_state(state)
        gb.tick(60)
        after = gb.frame()
        gb.load_state(state)
        gb.tick(60)
        if gb.frame() != after or len(set(before)) < 2:
            raise AssertionError("a machine put back to a state went another way")
        start = time.perf_counter()
        gb.tick(600, False)
        return f"{600 / (time.perf_counter() - start):,.0f} frames/s"


def _kernels(id: str) -> str:
    results = device(id).selftest()
    wrong = [f"{r['name']}: {r['detail']}" for r in results if not r["passed"]]
    if wrong:
        raise AssertionError("; ".join(wrong))
    return f"{len(results)} test kernels"


def _swarm(id: str) -> str:
    """Machines of a swarm do what one does alone, given the same keys."""
    rom, count = rom_path("STARFALL"), 32
    with Swarm(rom, count, device=id, obs="shades", obs_as="dlpack") as swarm, GameBoy(rom) as gb:
        for _ in range(8):
            swarm.step(bytes([8]) * count)
            gb.set_keys(1)
            gb.run_frames(8, 0)
            gb.set_keys(0)
            gb.run_frames(16, 1)
        pictures, size = swarm.download("shades"), 160 * 144
        if any(pictures[i * size : (i + 1) * size] != gb.frame() for i in range(count)):
            raise AssertionError("a machine of a swarm shows another picture than one alone")
        if swarm.registers([count - 1])[0] != gb.registers():
            raise AssertionError("a machine of a swarm has other registers than one alone")
        start = time.perf_counter()
        for _ in range(4):
            swarm.step(None)
        swarm.synchronize()
        return f"{count} machines, {4 * count * 24 / (time.perf_counter() - start):,.0f} frames/s"


def _three_lines(id: str) -> str:
    env = make("STARFALL", num_envs=4, device=id, obs="packed", autoreset="same_step")
    obs, _ = env.reset(seed=1)
    obs, reward, terminated, truncated, _ = env.step(bytes(4))
    shape, kind = tuple(obs.shape), type(obs)
    env.close()
    if shape != (4, 72, 20) or tuple(reward.shape) != (4,):
        raise AssertionError(f"observations of shape {shape}")
    return f"observations are {kind.__module__}.{kind.__qualname__}"


def run(ids: list[str]) -> int:
    """Run every check on these devices; the number that failed."""
    checks: list[tuple[str, Check]] = [("library", _library), ("tools", _compilers), ("one machine", _one_machine)]
    for id in ids:
        checks.append((f"{id}: kernels", lambda id=id: _kernels(id)))
        checks.append((f"{id}: swarm", lambda id=id: _swarm(id)))
        checks.append((f"{id}: environment", lambda id=id: _three_lines(id)))
    failed = 0
    for name, check in checks:
        try:
            print(f"ok    {name}: {check()}", flush=True)
        except (AssertionError, _core.Error) as error:
            failed += 1
            print(f"FAIL  {name}: {error}", flush=True)
    print(f"selftest: {len(checks) - failed} of {len(checks)} ok")
    return failed


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    ids = sys.argv[1:] if arguments is None else arguments
    try:
        for id in ids:
            device(id)
    except _core.Error as error:
        print(f"selftest: {error}", file=sys.stderr)
        return 2
    if not ids:
        ids = ["cpu"] + (["cuda"] if any(d["kind"] == "cuda" for d in devices()) else [])
    return 1 if run(ids) else 0


if __name__ == "__main__":
    sys.exit(main())
