# SPDX-License-Identifier: MIT
"""One machine here and in PyBoy, side by side: the same loop, ticks a second.

    pip install pyboy numpy
    python beside_pyboy.py [game.gb ...] [--json FILE]

Both run without pictures, then with a picture and a look at memory each tick, in turns; the best of each counts.
"""

import argparse
import json
import time

import pyboy

import dotmatrix as dm


def blind(gb, ticks):
    for _ in range(ticks):
        gb.tick(1, False)


def long_ticks(gb, ticks):
    for _ in range(ticks // 24):
        gb.tick(24, False)


def looking(gb, ticks):
    for _ in range(ticks):
        gb.tick(1, True)
        gb.memory[0xC000]
        gb.screen.ndarray


LOOPS = {"tick(1, False)": (blind, 1), "tick(24, False)": (long_ticks, 24), "tick(), memory, screen": (looking, 1)}


def rate(gb, loop, seconds):
    """Frames a second of a loop that takes about so long."""
    ticks = 48
    while True:
        began = time.perf_counter()
        loop(gb, ticks)
        took = time.perf_counter() - began
        if took >= seconds:
            return ticks / took
        ticks = int(ticks * min(10, max(1.5, 1.2 * seconds / max(took, 1e-6)))) // 24 * 24


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roms", nargs="*", default=[dm.rom_path("STARFALL")])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    table = []
    for rom in args.roms:
        ours, theirs = dm.GameBoy(rom), pyboy.PyBoy(rom, window="null", sound_emulated=False, log_level="ERROR")
        for gb in ours, theirs:
            gb.tick(120, False)
        for name, (loop, _) in LOOPS.items():
            best = [0.0, 0.0]
            for _ in range(args.rounds):
                for i, gb in enumerate((ours, theirs)):
                    best[i] = max(best[i], rate(gb, loop, args.seconds))
            table.append({"rom": str(rom), "loop": name, "dotmatrix": best[0], "pyboy": best[1], "ratio": best[0] / best[1]})
            print(f"{str(rom).rsplit('/', 1)[-1]:16} {name:24} dotmatrix {best[0]:12,.0f}  PyBoy {best[1]:10,.0f}  {best[0] / best[1]:6.1f} times")
        theirs.stop(save=False)
        ours.close()
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
