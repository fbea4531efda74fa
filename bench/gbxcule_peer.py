#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gbxcule's warp_vec_cpu beside vec_cpu: the same ROMs, numbers of machines and length of a step, on the same cores.

    git clone https://github.com/bkase/gbxcule     (and a Python with warp-lang, numpy and libcst)
    bench/gbxcule_peer.py --gbxcule DIR --binary build/src/cli/dotmatrix --rom build/roms/WARREN.gb ... --out FILE

Both play random buttons, each machine its own, from the start; windows take turns. Warp runs a kernel for the CPU on
one thread, so vec_cpu is measured with one worker, and with all. Its kernel draws no picture (stage emulate_only).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--gbxcule", required=True, help="its checkout")
    p.add_argument("--commit", help="its commit (default: git's answer)")
    p.add_argument("--binary", required=True, help="dotmatrix")
    p.add_argument("--rom", action="append", required=True)
    p.add_argument("--machines", type=int, default=64)
    p.add_argument("--diverge-frames", type=int, default=240)
    p.add_argument("--seconds", type=float, default=1.0, help="of a window, at least")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--out", required=True)
    return p.parse_args()


OUR_GAMES = {"STARFALL.gb", "WARREN.gb", "SWITCHBACK.gb"}


class Theirs:
    """Their backend after so many frames of random play."""

    def __init__(self, o, rom):
        import numpy as np
        from gbxcule.backends.warp_vec import WarpVecCpuBackend

        self.machines = o.machines
        self.random = np.random.default_rng(1)
        started = time.perf_counter()
        self.backend = WarpVecCpuBackend(rom, num_envs=o.machines, frames_per_step=24, release_after_frames=8,
                                         stage="emulate_only")
        self.backend.reset(seed=1)
        self.frames = 0
        self.steps(1)
        self.build_seconds = time.perf_counter() - started
        self.steps((o.diverge_frames + 23) // 24)

    def steps(self, count):
        import numpy as np

        for _ in range(count):
            self.frames += 24
            self.backend.step(self.random.integers(0, self.backend.num_actions, self.machines).astype(np.int32))

    def counted(self):
        """Frames that our games count themselves (C007), as a check that it plays them at all."""
        return int.from_bytes(self.backend.read_memory(0, 0xC007, 0xC009), "little")

    def window(self, seconds):
        started, frames = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            self.steps(1)
            frames += 24 * self.machines
        return frames / (time.perf_counter() - started)


def ours(o, rom, workers):
    """A window of ours, from the same number of frames on."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "a.json")
        subprocess.run([o.binary, "bench", "--backends", "vec_cpu", "--rom", rom, "--env-counts", str(o.machines),
                        "--workers", str(workers), "--stages", "emulate_only", "--diverge-frames",
                        str(o.diverge_frames), "--diverge-machines", str(o.machines), "--seconds", str(o.seconds),
                        "--warmup-seconds", "0.2", "--repeat", "1", "--out", out], check=True,
                       stdout=subprocess.DEVNULL)
        with open(out) as file:
            artifact = json.load(file)
        return artifact["results"][0]["fps"], artifact["provenance"]


def main():
    o = options()
    o.gbxcule, o.binary, o.out = (os.path.abspath(p) for p in (o.gbxcule, o.binary, o.out))
    o.rom = [os.path.abspath(p) for p in o.rom]
    os.chdir(o.gbxcule)  # it looks for its boot ROM from there
    sys.path.insert(0, os.path.join(o.gbxcule, "src"))
    import warp

    warp.config.quiet = True
    warp.config.enable_backward = False  # of no use here, and half of the time to compile
    commit = o.commit or subprocess.run(["git", "-C", o.gbxcule, "rev-parse", "HEAD"], check=True, text=True,
                                        capture_output=True).stdout.strip()
    results, provenance, all_cores = [], None, os.cpu_count()
    for rom in o.rom:
        row = {"rom": os.path.basename(rom), "machines": o.machines}
        results.append(row)
        try:
            theirs = Theirs(o, rom)
        except ValueError as error:
            row["skipped"] = str(error)
            continue
        row.update({"warp_vec_cpu": []}, **{f"vec_cpu_{n}": [] for n in sorted({1, all_cores})})
        row["warp_vec_cpu_build_seconds"] = theirs.build_seconds
        for _ in range(o.repeat):
            row["warp_vec_cpu"].append(theirs.window(o.seconds))
            for n in sorted({1, all_cores}):
                fps, provenance = ours(o, rom, n)
                row[f"vec_cpu_{n}"].append(fps)
        if row["rom"] in OUR_GAMES and theirs.counted() == 0:
            row["skipped"] = f"the game does not run: it counted none of {theirs.frames} frames"
        print(row, flush=True)
    with open(o.out, "w") as file:
        json.dump({"schema": "dotmatrix-gbxcule-1", "frames_per_step": 24, "diverge_frames": o.diverge_frames,
                   "gbxcule": {"repository": "https://github.com/bkase/gbxcule", "commit": commit,
                               "warp": warp.__version__},
                   "results": results, "provenance": provenance}, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
