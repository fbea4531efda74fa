#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyBoy for bench/peer_pyboy.c: one JSON request per line in, one JSON answer per line out.

Request: {"rom": path, "draw": bool, "warmup": frames, "frames": frames, "block": frames, "keys": hex}, where
keys has one mask for each block of frames (warm-up first), bits RIGHT LEFT UP DOWN A B SELECT START from 0.
Answer: {"seconds": processor time of the measured frames, "blank": the last picture has one colour} or {"error": text}. The first line out, without a
request, is {"version": text}.

Without drawing a block is one call of tick(); with drawing PyBoy draws only the last frame of a call, so there
is one call per frame.
"""
import io
import json
import os
import sys
import time
import warnings

warnings.simplefilter("ignore")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever else is printed goes to stderr

BUTTONS = ["right", "left", "up", "down", "a", "b", "select", "start"]

# A boot ROM that does nothing but leave LCD, palette and stack as the real one does: games wait for a VBlank.
BOOT = bytearray(256)
START = bytes([0x31, 0xFE, 0xFF,        # ld sp,$FFFE
               0x3E, 0x91, 0xE0, 0x40,  # LCDC = $91
               0x3E, 0xFC, 0xE0, 0x47,  # BGP = $FC
               0x3E, 0x01,              # a = 1: a DMG
               0xC3, 0xFE, 0x00])       # jp $00FE
BOOT[: len(START)] = START
BOOT[0xFE:0x100] = bytes([0xE0, 0x50])  # ldh [$FF50],a: the boot ROM goes, the game starts at $0100


def answer(**values):
    answers.write(json.dumps(values) + "\n")
    answers.flush()


def play(machine, keys, block, draw, pressed):
    for mask in keys:
        for bit, button in enumerate(BUTTONS):
            change = (mask ^ pressed) >> bit & 1
            if change:
                (machine.button_press if mask >> bit & 1 else machine.button_release)(button)
        pressed = mask
        if draw:
            for _ in range(block):
                machine.tick(1, True, False)
        else:
            machine.tick(block, False, False)
    return pressed


def run(request, boot_path):
    from pyboy import PyBoy

    keys = bytes.fromhex(request["keys"])
    block = request["block"]
    warm = request["warmup"] // block
    with open(request["rom"], "rb") as file:
        rom = io.BytesIO(file.read())
    machine = PyBoy(rom, window="null", sound_emulated=False, bootrom=boot_path, cgb=False, log_level="CRITICAL",
                    ram_file=io.BytesIO(bytes(0x20000)))
    machine.set_emulation_speed(0)
    try:
        pressed = play(machine, keys[:warm], block, request["draw"], 0)
        start = time.process_time()
        play(machine, keys[warm : warm + request["frames"] // block], block, request["draw"], pressed)
        seconds = time.process_time() - start
        screen = machine.screen.ndarray
        return {"seconds": seconds, "blank": bool(request["draw"] and (screen == screen[0, 0]).all())}
    finally:
        machine.stop(save=False)


def main():
    import tempfile

    from importlib.metadata import version

    with tempfile.NamedTemporaryFile(suffix=".bin") as boot:
        boot.write(BOOT)
        boot.flush()
        answer(version=version("pyboy"))
        for line in sys.stdin:
            try:
                answer(**run(json.loads(line), boot.name))
            except Exception as error:  # the benchmark goes on with the other emulators
                answer(error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
