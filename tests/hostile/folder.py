# SPDX-License-Identifier: MIT
"""The folder in which every hostile call starts: some good files of each kind, and bad ones."""
import os
import shutil
import struct
import subprocess

KERNEL = '''import warp as wp


@wp.kernel
def scale(a: float, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a * x[i]
'''


REWARD = '''import dotmatrix as dm


@dm.memory
class Memory:
    last: int


@dm.program
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    out.reward = float(dm.u8(m, 0xC000) - mem.last)
    mem.last = dm.u8(m, 0xC000)
'''


SLOW = '''import warp as wp


@wp.kernel
def slow(x: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(2000000000):
        s = wp.sin(s + 1.0)
    x[i] = s
'''


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def npy(values):
    """A .npy file of float32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}f", *values))


def make_images(folder):
    """Folders of MNIST's names: one that is right, others wrong in one way each."""
    images = b"\0\0\x08\x03" + struct.pack(">3I", 20, 8, 8) + bytes(n * 11 & 255 for n in range(20 * 64))
    labels = b"\0\0\x08\x01" + struct.pack(">I", 20) + bytes(n % 10 for n in range(20))
    folders = {
        "images": (images, labels),
        "images-cut": (images[:-5], labels),
        "images-mixed": (labels, images),
        "images-short": (images, b"\0\0\x08\x01" + struct.pack(">I", 19) + bytes(19)),
        "images-labels": (images, labels[:-1] + b"\x0a"),
        "images-gz": (b"\x1f\x8b\x08\0" + images, labels),
    }
    for name, files in folders.items():
        os.mkdir(os.path.join(folder, name))
        write(folder, f"{name}/train-images-idx3-ubyte", files[0])
        write(folder, f"{name}/train-labels-idx1-ubyte", files[1])


def make_good(program, folder, roms):
    def run(*args, code=0):
        done = subprocess.run([program, *args], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "DM_PROGRESS": "off", "DM_ROMS": roms})
        if done.returncode != code:
            raise SystemExit(f"hostile: {' '.join(args)} gave exit code {done.returncode}: {done.stderr}")

    write(folder, "k.py", KERNEL)
    write(folder, "slow.py", SLOW)
    write(folder, "x.npy", npy([1.0, 2.0, 3.0, 4.0]))
    write(folder, "losses.txt", "".join(f"{2.0 / (n + 1)}\n" for n in range(8)))
    write(folder, "curve.jsonl", "".join(f'{{"step": {n + 1}, "loss": {2 / (n + 1) ** 0.5:.6f}}}\n' for n in range(120)))
    write(folder, "sweep.json", '{"task": "xor", "search": "grid", "parameters": {"rate": {"low": 0.01, "high": 0.1, '
          '"points": 2}}, "metric": "loss", "steps": 4}\n')
    write(folder, "reward.py", REWARD)
    write(folder, "wrong-reward.py", REWARD.replace("int", "dm.Array(2, int)").replace("mem.last", "mem.last[m.step + 1]"))
    write(folder, "game.sym", "00:c000 wState\n")
    write(folder, "reward.c", "obs[0] = (float)dm_swarm_peek(view, 0xC000u);\nobs[1] = obs[0];\n*terminated = 0;\n")
    write(folder, "keys.txt", "0 A\n1 -\n")
    write(folder, "actions.txt", "A\nNOOP\n" * 4)
    write(folder, "foreign.txt", "not yours\n")
    write(folder, "images.idx", struct.pack(">IIII", 0x0803, 4, 2, 2) + bytes(range(16)))
    write(folder, "labels.idx", struct.pack(">II", 0x0801, 4) + bytes(range(4)))
    write(folder, "small.asm", "SECTION \"code\", ROM0[$150]\nstart:\n    ld a, 5\n    jr start\n")
    run("roms", "build", "ALU_LOOP")
    os.rename(os.path.join(folder, "ALU_LOOP.gb"), os.path.join(folder, "game.gb"))
    run("run", "--rom", "game.gb", "--frames", "2", "--save", "good.state")
    run("run", "--rom", "game.gb", "--backend", "vec_cpu", "--envs", "2", "--steps", "1")
    run("verify", "--rom", "game.gb", "--ref-backend", "single", "--dut-backend", "wrong_single", "--verify-steps", "9",
        "--bundle", "bundle", code=1)
    run("verify", "--rom", "game.gb", "--ref-backend", "single", "--verify-steps", "4", "--record", "good.recorded")
    run("bench", "--backends", "vec_cpu", "--rom", "game.gb", "--env-counts", "1", "--seconds", "0.01", "--repeat", "1",
        "--warmup-steps", "0", "--diverge-frames", "0", "--out", "bench.json")
    run("synth", "produce", "--count", "2", "--out", "dataset", "--verify", "none", "--jobs", "1")
    run("synth", "produce", "--count", "2", "--out", "dataset-c", "--verify", "none", "--jobs", "1", "--device", "cpu")
    run("dynamics", "rollout", "--hidden", "8", "--members", "1", "--stochastic", "1", "--steps", "2", "--save",
        "model.safetensors")
    write(folder, "text.txt", "the quick brown fox jumps over the lazy dog. " * 40)
    tokens = bytes(n * 7 % 50 if n % 2 == 0 else 0 for n in range(800))
    write(folder, "gpt.tok", b"\x88\xd8\x34\x01" + struct.pack("<255i", 1, 400, *[0] * 253) + tokens)
    run("train", "xor", "--steps", "20", "--out", "xor-run")
    run("train", "gpt", "--data", "text.txt", "--steps", "3", "--set", "layers=1", "--set", "width=8", "--set",
        "heads=1", "--set", "context=8", "--set", "batch=2", "--out", "gpt-run")
    make_images(folder)
    run("kernel", "run", "k.py", "--dim", "4", "--arg", "a=2", "--arg", "x=x.npy", "--arg", "out=zeros:4")


def make_bad(folder):
    write(folder, "empty", b"")
    write(folder, "garbage", bytes((n * 167 + n // 7) & 255 for n in range(3000)))
    write(folder, "nul", b"\0" * 5000)
    write(folder, "long-line", b"9" * 200000)
    write(folder, "huge-numbers", "99999999999999999999 1e999 -1e999 nan\n" * 3)
    write(folder, "deep.json", "[" * 100000)
    write(folder, "wrong.json", '{"schema": "other-7", "results": 5, "steps": -1, "tests": {}}\n')
    write(folder, "number.json", "1e99\n")
    for name in ("game.gb", "k.py", "x.npy", "good.state", "good.recorded", "bench.json", "model.safetensors",
                 "gpt.tok"):
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        write(folder, "truncated-" + name, content[:len(content) * 2 // 3])
    os.mkdir(os.path.join(folder, "folder"))
    write(folder, "folder/foreign.txt", "not yours either\n")
    os.symlink("loop", os.path.join(folder, "loop"))
    os.symlink("nowhere/at/all", os.path.join(folder, "dangling"))
    for name in ("full", "full.png", "full.svg", "full.gif", "full.npy"):
        os.symlink("/dev/full", os.path.join(folder, name))
    shutil.copytree(os.path.join(folder, "bundle"), os.path.join(folder, "bundle-broken"))
    write(folder, "bundle-broken/meta.json", b"{\"rom\": 7")
    shutil.copytree(os.path.join(folder, "bundle"), os.path.join(folder, "bundle-no-rom"))
    os.remove(os.path.join(folder, "bundle-no-rom", "rom.gb"))
    shutil.copytree(os.path.join(folder, "bundle"), os.path.join(folder, "bundle-no-actions"))
    write(folder, "bundle-no-actions/actions.txt", b"")
    shutil.copytree(os.path.join(folder, "dataset"), os.path.join(folder, "dataset-cut"))
    path = os.path.join(folder, "dataset-cut", "pairs-00000.jsonl")
    os.truncate(path, os.path.getsize(path) // 2)
    shutil.copytree(os.path.join(folder, "dataset"), os.path.join(folder, "dataset-no-manifest"))
    os.remove(os.path.join(folder, "dataset-no-manifest", "manifest.json"))


    path = os.path.join(folder, "gpt-run", "checkpoint.safetensors")
    with open(path, "rb") as file:
        content = file.read()
    changed = bytearray(content)
    changed[-9] ^= 1
    for name, bad in (("gpt-cut", content[:len(content) // 2]), ("gpt-garbage", b"garbage" * 99), ("gpt-empty", b""),
                      ("gpt-changed", bytes(changed))):
        os.mkdir(os.path.join(folder, name))
        write(folder, f"{name}/checkpoint.safetensors", bad)


def damage(content):
    """One file's content in several ways of being wrong."""
    middle = len(content) // 2
    return {"cut-1": content[:1], "cut-16": content[:min(16, middle)], "cut-third": content[:len(content) // 3],
            "cut-last": content[:-1], "flipped": content[:middle] + bytes([content[middle] ^ 0x5A]) + content[middle + 1:],
            "longer": content + b"\0more", "twice": content + content, "crlf": content.replace(b"\n", b"\r\n")}


def make_damaged(folder, names):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        for how, bad in damage(content).items():
            os.makedirs(os.path.join(folder, "damaged", how), exist_ok=True)
            write(folder, os.path.join("damaged", how, name.replace("/", "-")), bad)


def make_template(program, folder, roms, damaged):
    os.makedirs(folder)
    make_good(program, folder, roms)
    make_bad(folder)
    make_damaged(folder, damaged)
