#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyBoy for test_state_pyboy.c: runs ROMs, saves their states, and writes down what it sees.

    pyboy_state.py FRAMES MORE ROM...

For each ROM it runs FRAMES frames, START held from frame 60 to 63 and RIGHT from 100 on, and writes ROM.state,
then ROM.before: the registers A F B C D E H L, PC and SP with their low bytes first, and 64 KiB of memory. After
MORE frames it writes ROM.after, of the same form.
"""
import io
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")

# Leaves LCD, palette and stack as a DMG's boot ROM does, in as few steps as possible.
BOOT = bytes([0x31, 0xFE, 0xFF,        # ld sp,$FFFE
              0x3E, 0x91, 0xE0, 0x40,  # LCDC = $91
              0x3E, 0xFC, 0xE0, 0x47,  # BGP = $FC
              0x3E, 0x01,              # a = 1: a DMG
              0xC3, 0xFE, 0x00])       # jp $00FE
BOOT = BOOT.ljust(0xFE, b"\0") + bytes([0xE0, 0x50])  # ldh [$FF50],a: the game starts at $0100


def dump(machine, path):
    r = machine.register_file
    registers = bytes([r.A, r.F, r.B, r.C, r.D, r.E, r.HL >> 8, r.HL & 0xFF,
                       r.PC & 0xFF, r.PC >> 8, r.SP & 0xFF, r.SP >> 8])
    with open(path, "wb") as file:
        file.write(registers + bytes(machine.memory[0:0x10000]))


def run(rom, frames, more, boot):
    from pyboy import PyBoy

    with open(rom, "rb") as file:
        image = io.BytesIO(file.read())
    machine = PyBoy(image, window="null", sound_emulated=True, bootrom=boot, cgb=False, log_level="CRITICAL",
                    ram_file=io.BytesIO(bytes(0x20000)))
    machine.set_emulation_speed(0)
    for frame in range(frames):
        if frame == 60:
            machine.button_press("start")
        if frame == 64:
            machine.button_release("start")
        if frame == 100:
            machine.button_press("right")
        machine.tick(1, False, False)
    with open(rom + ".state", "wb") as file:
        machine.save_state(file)
    dump(machine, rom + ".before")
    machine.tick(more, False, False)
    dump(machine, rom + ".after")
    machine.stop(save=False)


def main():
    with tempfile.NamedTemporaryFile(suffix=".bin") as boot:
        boot.write(BOOT)
        boot.flush()
        for rom in sys.argv[3:]:
            run(rom, int(sys.argv[1]), int(sys.argv[2]), boot.name)


if __name__ == "__main__":
    main()
