# SPDX-License-Identifier: MIT
"""Exploring a ROM: find where a game keeps its score, watch a place in its code, keep a picture and a state.

    python explore_rom.py                       # STARFALL
    python explore_rom.py game.gb --out findings

The search is what people do by hand: play a little, and keep the addresses whose bytes did what the score does.
"""

import argparse
import pathlib

import dotmatrix as dm


def play(gb, frames):
    """Walk from wall to wall; any game that wants LEFT and RIGHT will do."""
    for i in range(frames // 20):
        gb.button("left" if (i // 4) % 2 else "right", 20)
        gb.tick(20, False)


def search(gb, rounds=8):
    """Addresses of work RAM that never fall, seldom stay behind, and rise by little: a score, a counter."""
    candidates = set(range(0xC000, 0xE000))
    risen = {address: 0 for address in candidates}
    before = gb.memory[0xC000:0xE000]
    for _ in range(rounds):
        play(gb, 40)
        now = gb.memory[0xC000:0xE000]
        for address in list(candidates):
            change = now[address - 0xC000] - before[address - 0xC000]
            if not 0 <= change <= 8:
                candidates.discard(address)
            risen[address] += change > 0
        before = now
    return sorted((a for a in candidates if risen[a]), key=lambda a: -risen[a])[:8]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rom", nargs="?", default=dm.rom_path("STARFALL"))
    parser.add_argument("--out", help="a folder for a picture and a state")
    args = parser.parse_args()

    with dm.GameBoy(args.rom) as gb:
        print(f"{gb.cartridge_title}: {len(gb.symbols.names)} symbols, ROM bank {gb.bank(0x4000)} at 4000")
        gb.tick(100)
        gb.button("start", 4)
        gb.tick(20)
        start = gb.save_state()

        found = search(gb)
        print("bytes that count up:", ", ".join(f"{a:04X} ({gb.memory[a]})" for a in found) or "none")

        gb.load_state(start)
        where = gb.registers()["pc"]
        for _ in range(2000):  # a place that is executed often: the PC after each frame's interrupt
            gb.step()
        seen = {}
        for _ in range(400):
            gb.step()
            pc = gb.registers()["pc"]
            seen[pc] = seen.get(pc, 0) + 1
        where = max(seen, key=seen.get)
        hits = []
        gb.hook_register(None, where, hits.append, None)
        gb.tick(30)
        gb.hook_deregister(None, where)
        print(f"{where:04X} was executed {len(hits)} times in 30 frames")

        gb.tick(1)
        dark = int((gb.screen.shades == 3).sum())
        print(f"{dark} of {144 * 160} pixels are black")
        if args.out:
            folder = pathlib.Path(args.out)
            folder.mkdir(parents=True, exist_ok=True)
            gb.save_state(folder / "game.state")
            try:
                gb.screen.image.save(folder / "game.png")
            except dm.Unavailable as error:
                print(error)


if __name__ == "__main__":
    main()
