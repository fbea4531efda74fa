#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile calls of every subcommand: wrong numbers, wrong files, full disks, too much and too little.

usage: hostile.py DOTMATRIX [--jobs N] [--only TEXT] [--list] [--verbose]

Most rows are made from the option rows that `dotmatrix COMMAND --help` prints, so that a new command or option is
tried as soon as its base call stands in rows.BASE. Each row runs in a fresh copy of one folder of good and bad files.
For every row is checked: the exit code is one that the row allows and docs/cli.md lists, no signal, one line of
message, no file that was there is changed, a failed call leaves nothing behind (a successful one nothing empty), no
temporary files, no more than 20 seconds. Rows that are known to fail are in rows.KNOWN with the reason; they are
counted apart, and one that passes has to leave the list. Exit code 1 when a row fails that is not known to.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
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
                with open(path, "rb") as file:
                    found[key] = ("file", info.st_size, hashlib.sha256(file.read()).hexdigest())
            else:
                found[key] = ("special", stat.S_IFMT(info.st_mode))
    return found


def call(program, row, folder, scratch):
    """Run one row: (exit code or None when it took too long, stderr, seconds)."""
    env = {"PATH": os.environ["PATH"], "HOME": scratch, "TMPDIR": scratch, "DM_PROGRESS": "off", "LC_ALL": "C",
           "DM_CACHE_DIR": os.environ["DM_CACHE_DIR"], "DM_THREADS": "1", "DM_ROMS": rows.ROMS}
    env.update(row.env)
    began = time.monotonic()
    with open(row.stdout or os.devnull, "wb") as out, open(os.devnull, "rb") as nothing:
        child = subprocess.Popen([program, *row.args], cwd=folder, env=env, stdin=nothing, stdout=out,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            if row.interrupt:
                try:
                    err = child.communicate(timeout=row.interrupt)[1]
                except subprocess.TimeoutExpired:
                    child.send_signal(row.signal)
                    err = child.communicate(timeout=LIMIT)[1]
            else:
                err = child.communicate(timeout=LIMIT)[1]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None, child.communicate()[1].decode("utf-8", "replace"), time.monotonic() - began
    return child.returncode, err.decode("utf-8", "replace"), time.monotonic() - began


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
        if code == 0 and after[path][0] == "file" and after[path][1] == 0 and "lock" not in path:
            faults.append(f"{path} is empty")
        if re.search(r"\.tmp|\.part|~$", path):
            faults.append(f"temporary file {path}")
    return faults


def try_row(program, template, codes, row):
    """The faults of one row, and how long it took."""
    top = tempfile.mkdtemp(prefix="dm-hostile-")
    folder, scratch = os.path.join(top, "here"), os.path.join(top, "scratch")
    try:
        shutil.copytree(template, folder, symlinks=True)
        os.mkdir(scratch)
        before = snapshot(folder)
        code, err, seconds = call(program, row, folder, scratch)
        if code is None:
            return [f"took more than {LIMIT} seconds"], seconds, err
        faults = []
        if code < 0:
            faults.append(f"ended by signal {-code}")
        elif code not in codes or code >= 128 and not row.interrupt:
            faults.append(f"exit code {code} is not documented")
        if code not in row.codes:
            faults.append(f"exit code {code}, expected {' or '.join(map(str, sorted(row.codes)))}")
        faults += check_message(row, code, err)
        faults += check_files(row, code, before, snapshot(folder))
        left = [name for name in os.listdir(scratch) if name != ".cache"]
        if left:
            faults.append("in TMPDIR: " + " ".join(left[:4]))
        if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
            faults.append("/dev/full is no device any more")
        return faults, seconds, err
    finally:
        shutil.rmtree(top, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only rows whose name has this text")
    parser.add_argument("--list", action="store_true", help="print the rows, run none")
    parser.add_argument("--verbose", action="store_true", help="print every row with its message and time")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    rows.ROMS = os.path.join(HERE, "..", "..", "roms")
    table = [row for row in rows.make(program) if options.only in row.name]
    if options.list:
        for row in table:
            print(row.name)
        return 0
    codes = documented_codes()
    failed = known = 0
    with tempfile.TemporaryDirectory(prefix="dm-hostile-") as top:
        os.environ.setdefault("DM_CACHE_DIR", os.path.join(top, "cache"))
        template = os.path.join(top, "template")
        make_template(program, template, rows.ROMS)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = pool.map(lambda row: try_row(program, template, codes, row), table)
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
    print(f"{len(table) - failed - known} passed, {failed} failed, {known} known failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
