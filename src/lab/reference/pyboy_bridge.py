# SPDX-License-Identifier: MIT
"""PyBoy behind a pipe: the worker process of src/lab/reference/pyboy.c, which carries this text and starts it.

    python -c TEXT FD SIZE

FD is shared memory of SIZE bytes: keys of a step come in there, pictures go out. Requests on standard input, answers
on standard output, all little-endian:

    request  op (1 byte), 3 bytes 0, a, b, c, size (4 bytes each), then size bytes
    answer   status (4 bytes, 0: done, 1: failed), size (4 bytes), then size bytes; a text when it failed

The first answer, without a request, is PyBoy's version.

    C  make a machines; b: 1 LCD on at the start, 2 zeroed registers and DIV, 4 sound; payload: boot ROM (256), ROM
    S  c steps of machines a .. a + b - 1; payload: frames, frames until the keys are up, draw (4 bytes each; 1: the
       last frame, 2: every one);
       keys[step][machine] in shared memory
    L  machine a: A F B C D E H L PC SP IME-unknown and cycles (8 bytes)
    M  machine a: c bytes from address b on
    P  machine a: its picture, 160 x 144 shades, into shared memory
    W  machine a: PyBoy's own state

A frame is PyBoy's: it ends at 70,224 cycles or when the LCD is switched. Several frames are one call of tick(), which
draws the last of them at most; to draw every one it is called for each.
"""
import io
import mmap
import os
import signal
import struct
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
requests = os.fdopen(os.dup(0), "rb")
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # whatever else is printed goes to stderr

BUTTONS = ["right", "left", "up", "down", "a", "b", "select", "start"]
SHADES = bytes([3] * 60 + [2] * 60 + [1] * 80 + [0] * 56)  # PyBoy's greys are 00, 55, 99, FF


def answer(status, payload=b""):
    answers.write(struct.pack("<II", status, len(payload)) + payload)
    answers.flush()


class Worker:
    def __init__(self, shared):
        self.shared = shared
        self.machines = []
        self.pressed = []

    def create(self, count, flags, payload):
        from pyboy import PyBoy

        boot, rom = payload[:256], payload[256:]
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            file.write(boot)
            file.flush()
            for _ in range(count):
                machine = PyBoy(io.BytesIO(rom), window="null", sound_emulated=bool(flags & 4), bootrom=file.name,
                                cgb=False, log_level="CRITICAL", ram_file=io.BytesIO(bytes(0x20000)))
                machine.set_emulation_speed(0)
                if flags & 2:
                    zero(machine)
                self.machines.append(machine)
                self.pressed.append(0)

    def hold(self, i, mask):
        change = mask ^ self.pressed[i]
        if not change:
            return
        machine = self.machines[i]
        for bit, button in enumerate(BUTTONS):
            if change >> bit & 1:
                (machine.button_press if mask >> bit & 1 else machine.button_release)(button)
        self.pressed[i] = mask

    def step(self, first, count, steps, payload):
        frames, release, draw = struct.unpack("<III", payload)
        rest = frames - release
        for number in range(steps):
            keys = self.shared[number * count:(number + 1) * count]
            for k in range(count):
                i = first + k
                tick = self.machines[i].tick
                self.hold(i, keys[k])
                if draw == 2:
                    for _ in range(release):
                        tick(1, True, False)
                else:
                    tick(release, bool(draw and not rest), False)
                if not rest:
                    continue
                self.hold(i, 0)
                if draw == 2:
                    for _ in range(rest):
                        tick(1, True, False)
                else:
                    tick(rest, bool(draw), False)

    def look(self, i):
        machine = self.machines[i]
        r = machine.register_file
        return struct.pack("<8BHHxxxxQ", r.A, r.F, r.B, r.C, r.D, r.E, r.HL >> 8, r.HL & 0xFF, r.PC, r.SP,
                           machine._cycles())

    def picture(self, i):
        self.shared[:160 * 144] = self.machines[i].screen.ndarray[:144, :160, 0].tobytes().translate(SHADES)

    def state(self, i):
        file = io.BytesIO()
        self.machines[i].save_state(file)
        return file.getvalue()

    def serve(self, op, a, b, c, payload):
        if op == b"C":
            self.create(a, b, payload)
        elif op == b"S":
            self.step(a, b, c, payload)
        elif op == b"L":
            return self.look(a)
        elif op == b"M":
            return bytes(self.machines[a].memory[b:b + c])
        elif op == b"P":
            self.picture(a)
        elif op == b"W":
            return self.state(a)
        else:
            raise ValueError("unknown request %r" % op)
        return b""


def zero(machine):
    """Run the boot ROM, which takes exactly one frame, and leave everything 0."""
    machine.tick(1, False, False)
    r = machine.register_file
    if r.PC != 0x100:
        raise RuntimeError("the boot ROM ended at %04X" % r.PC)
    r.A = r.F = r.B = r.C = r.D = r.E = r.HL = r.SP = 0
    machine.memory[0xFF04] = 0


def main():
    from importlib.metadata import version

    import pyboy  # noqa: F401  (fails here when it is not installed)

    with mmap.mmap(int(sys.argv[1]), int(sys.argv[2])) as shared:
        worker = Worker(shared)
        answer(0, version("pyboy").encode())
        while True:
            head = requests.read(20)
            if len(head) < 20:
                return
            op, a, b, c, size = struct.unpack("<cxxxIIII", head)
            payload = requests.read(size)
            try:
                answer(0, worker.serve(op, a, b, c, payload))
            except Exception as error:
                answer(1, f"{type(error).__name__}: {error}".encode())


try:
    main()
except ImportError as missing:
    answer(1, str(missing).encode())
