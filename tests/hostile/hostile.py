#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile calls of every subcommand: wrong numbers, wrong files, full disks, too much and too little.

usage: hostile.py DOTMATRIX [--jobs N] [--only TEXT] [--slice K/N] [--patience X] [--list] [--verbose]

Most rows are made from the option rows that `dotmatrix COMMAND --help` prints, so that a new command or option is
tried as soon as its base call stands in rows.BASE. Each row runs in a fresh copy of one folder of good and bad files.
For every row is checked: the exit code is one that the row allows and docs/cli.md lists, no signal, an end soon after
Ctrl-C, one line of message, no file that was there is changed, a failed call leaves nothing behind (a successful one
nothing empty), no temporary files, no more than 20 seconds. `make test` runs every fifth row (test_hostile.c). Rows
that are known to fail are in rows.KNOWN with the reason; they are counted apart, and one that passes has to leave the
list. Exit code 1 when a row fails that is not known to.
"""
import argparse
import concurrent.futures
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import rows
from folder import make_template

LIMIT = 20  # seconds of a call
STRANGER = 65534  # the user nobody
HERE = os.path.dirname(os.path.abspath(__file__))


def documented_codes():
    """The exit codes in the table of docs/cli.md."""
    with open(os.path.join(HERE, "..", "..", "docs", "cli.md"), encoding="utf-8") as file:
        section = file.read().split("## Exit codes", 1)[1].split("\n## ", 1)[0]
    return {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.M)}


def snapshot(folder):
    """What is in a folder: path -> (kind, what it holds)."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(base, name)
            info = os.lstat(path)
            key = os.path.relpath(path, folder)
            if stat.S_ISLNK(info.st_mode):
                found[key] = ("link", os.readlink(path))
            elif stat.S_ISDIR(info.st_mode):
                found[key] = ("folder", "")
            elif stat.S_ISREG(info.st_mode):
                found[key] = ("file", info.st_size, info.st_mtime_ns, info.st_ino)  # a rewrite changes the last two
            else:
                found[key] = ("special", stat.S_IFMT(info.st_mode))
    return found


def call(program, row, folder, scratch, limit):
    """Run one row: (exit code or None when it took too long, stderr, seconds, seconds after the signal)."""
    env = {"PATH": os.environ["PATH"], "HOME": scratch, "TMPDIR": scratch, "DM_PROGRESS": "off", "LC_ALL": "C",
           "DM_CACHE_DIR": os.environ["DM_CACHE_DIR"], "DM_THREADS": "1", "DM_ROMS": rows.ROMS}
    env.update(row.env)
    began = time.monotonic()

    def prepare():
        if row.limit:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (row.limit, row.limit))
        if row.stranger:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
        for number in row.closed:
            os.close(number)

    stopped = 0.0
    with open(row.stdout or os.devnull, "wb") as out, open(os.devnull, "rb") as nothing:
        child = subprocess.Popen([program, *row.args], cwd=folder, env=env, stdin=nothing, stdout=out,
                                 stderr=subprocess.PIPE, start_new_session=True, preexec_fn=prepare)
        try:
            if row.interrupt:
                try:
                    err = child.communicate(timeout=row.interrupt)[1]
                except subprocess.TimeoutExpired:
                    child.send_signal(row.signal)
                    stopped = time.monotonic()
                    err = child.communicate(timeout=limit)[1]
            else:
                err = child.communicate(timeout=limit)[1]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None, child.communicate()[1].decode("utf-8", "replace"), time.monotonic() - began, 0
    ended = time.monotonic()
    return child.returncode, err.decode("utf-8", "replace"), ended - began, ended - stopped if stopped else 0


def check_message(row, code, err):
    faults = []
    lines = [line for line in err.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("dotmatrix")]
    if code not in (0, 1):
        if row.diagnostics or code == 7:
            if not lines:
                faults.append("no message")
        elif len(ours) != 1 or len(lines) != 1:
            faults.append(f"{len(lines)} lines on stderr, {len(ours)} of them ours; one is expected")
    if len(ours) > 1 and not row.diagnostics and code != 7:
        faults.append("more than one error line")
    if row.message and row.message not in err:
        faults.append(f"the message has no '{row.message}'")
    if "(null)" in err or "Assertion" in err or "Sanitizer" in err:
        faults.append("the message shows a bug")
    return faults


def check_files(row, code, before, after):
    faults = []
    for path, what in before.items():
        if any(path == entry or path.startswith(entry + "/") for entry in row.may_change):
            continue
        if after.get(path) != what:
            faults.append(f"{path} was {'changed' if path in after else 'removed'}")
    new = sorted(set(after) - set(before))
    if code not in (0, 130):
        left = [path for path in new if not any(path == e or path.startswith(e + "/") for e in row.may_leave)]
        if left:
            faults.append("left behind: " + " ".join(left[:4]))
    for path in new:
        if code == 0 and after[path][:2] == ("file", 0) and "lock" not in path:
            faults.append(f"{path} is empty")
        kept = any(path == entry or path.startswith(entry + "/") for entry in row.may_leave)
        if re.search(r"\.tmp|\.dotmatrix-temp|~$", path) or path.endswith(".part") and not kept:
            faults.append(f"temporary file {path}")
    return faults


def size_on_disk(folder):
    """Bytes that a folder takes in pages of memory, which is what a tmpfs counts."""
    total = 1 << 16
    for base, folders, files in os.walk(folder):
        total += 4096 * (1 + len(folders))
        for name in files:
            info = os.lstat(os.path.join(base, name))
            total += 4096 + (info.st_size + 4095) // 4096 * 4096
    return total


def mount_small(folder, size):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True, capture_output=True)


def fill(folder, left):
    """Take all of a disk but `left` bytes."""
    room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - left
    with open(os.path.join(folder, "filler"), "wb") as file:
        file.write(bytes(max(0, room)))


def can_mount():
    with tempfile.TemporaryDirectory(prefix="dm-hostile-") as folder:
        if os.geteuid() != 0 or shutil.which("mount") is None:
            return False
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=False, capture_output=True)
        if done.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return done.returncode == 0


def try_row(program, template, codes, row, patience=1.0):
    """The faults of one row, and how long it took."""
    top = tempfile.mkdtemp(prefix="dm-hostile-")
    folder, scratch = os.path.join(top, "here"), os.path.join(top, "scratch")
    mounted = False
    try:
        os.mkdir(scratch)
        if row.stranger:
            os.chmod(top, 0o755)
            os.chmod(scratch, 0o777)
        if row.disk:
            os.mkdir(folder)
            mount_small(folder, size_on_disk(template) + row.disk)
            mounted = True
        damaged = any("damaged/" in word for word in row.args)
        shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True,
                        ignore=None if damaged else shutil.ignore_patterns("damaged"))
        if row.disk:
            fill(folder, row.disk)
        before = snapshot(folder)
        code, err, seconds, late = call(program, row, folder, scratch, LIMIT * patience)
        if code is None:
            return [f"took more than {LIMIT * patience:g} seconds"], seconds, err
        faults = []
        if code < 0:
            faults.append(f"ended by signal {-code}")
        elif code not in codes or code >= 128 and not row.interrupt:
            faults.append(f"exit code {code} is not documented")
        if code not in row.codes:
            faults.append(f"exit code {code}, expected {' or '.join(map(str, sorted(row.codes)))}")
        if late > row.within * patience:
            faults.append(f"ended {late:.1f} s after the signal")
        faults += check_message(row, code, err)
        faults += check_files(row, code, before, snapshot(folder))
        left = [name for name in os.listdir(scratch) if name not in (".cache", ".rustup")]  # pip asks rustc
        if left:
            faults.append("in TMPDIR: " + " ".join(left[:4]))
        if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
            faults.append("/dev/full is no device any more")
        return faults, seconds, err
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=False)
        shutil.rmtree(top, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only rows whose name has this text")
    parser.add_argument("--slice", default="0/1", metavar="K/N", help="every Nth row, the Kth first")
    parser.add_argument("--patience", type=float, default=1, help="on a busy machine: how many times longer all may take")
    parser.add_argument("--list", action="store_true", help="print the rows, run none")
    parser.add_argument("--verbose", action="store_true", help="print every row with its message and time")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    rows.ROMS = os.path.join(HERE, "..", "..", "roms")
    for key in rows.untried(program):
        print(f"FAILED: {key}: rows.BASE has no call of it")
    first, step = (int(part) for part in options.slice.split("/"))
    table = [row for row in rows.make(program) if options.only in row.name][first::step]
    root, disks = os.geteuid() == 0, can_mount()
    every = len(table)
    table = [row for row in table if (disks or not row.disk) and (root or not row.stranger)]
    if len(table) < every and not options.list:
        print(f"skipped: {every - len(table)} rows that need root: other users, disks of a given size")
    if options.list:
        for row in table:
            print(row.name)
        return 0
    if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"  # thousands of small folders
    codes = documented_codes()
    failed, known = len(rows.untried(program)), 0
    with tempfile.TemporaryDirectory(prefix="dm-hostile-") as top:
        os.environ.setdefault("DM_CACHE_DIR", os.path.join(top, "cache"))
        template = os.path.join(top, "template")
        make_template(program, template, rows.ROMS, rows.READERS)
        os.chmod(top, 0o755)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = pool.map(lambda row: try_row(program, template, codes, row, options.patience), table)
            for row, (faults, seconds, err) in zip(table, results):
                reason = rows.known(row.name)
                if faults and reason:
                    known += 1
                    print(f"known: {row.name}: {'; '.join(faults)} ({reason})")
                elif faults or reason:
                    failed += 1
                    print(f"FAILED: {row.name}: {'; '.join(faults) or 'passes now, take it off the list: ' + reason}")
                if options.verbose or faults and not reason:
                    print(f"    {seconds:.1f} s: {err.strip()[:400]}", flush=True)
    if not table:
        print("no rows")
        return 1
    print(f"{len(table) + len(rows.untried(program)) - failed - known} passed, {failed} failed" + (f", {known} known failures" if known else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
