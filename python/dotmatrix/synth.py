# SPDX-License-Identifier: MIT
"""Datasets of kernels: Python in the kernel dialect with the C and CUDA C++ that it becomes, each pair verified.

    from dotmatrix import synth
    synth.produce("data", count=1000)
    synth.validate("data")["valid"]
    for record in synth.records("data"): ...

docs/dataset.md has what a record holds. The command `dotmatrix` does the work (dotmatrix.command).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from . import command

__all__ = ["produce", "records", "stats", "validate"]


def produce(
    out: str | os.PathLike[str], *, count: int = 1000, categories: Sequence[str] = (), device: str = "both", seed: int = 1,
    jobs: int = 0, verify: str = "full", kinds: Sequence[str] = ("pairs",), style: str = "natural",
    shard_lines: int = 1000, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Make a dataset in the folder `out`, or go on with one that was begun; what stats.json says of it then."""
    arguments = [
        "synth", "produce", "--out", out, "--count", str(count), "--device", device, "--seed", str(seed), "--jobs", str(jobs),
        "--verify", verify, "--kinds", ",".join(kinds), "--style", style, "--shard-lines", str(shard_lines),
    ]  # fmt: skip
    if categories:
        arguments += ["--categories", ",".join(categories)]
    command.run(arguments, progress=progress)
    return stats(out)


def validate(
    path: str | os.PathLike[str], *, level: str = "full", sample: int = 0, seed: int = 1, jobs: int = 0, progress: bool = False
) -> dict[str, Any]:
    """Read every record of a dataset, compile and run its pairs (`sample` of them; 0: all), and say what is wrong:
    "valid", "problems" and counts."""
    arguments = ["synth", "validate", path, "--json", "--level", level, "--sample", str(sample), "--seed", str(seed), "--jobs", str(jobs)]
    return json.loads(command.run(arguments, progress=progress, answers=(0, 1)))


def stats(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What stats.json of a dataset says."""
    with open(os.path.join(path, "stats.json"), encoding="utf-8") as file:
        return json.load(file)


def records(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The records of a dataset, in order."""
    for name in sorted(os.listdir(path)):
        if name.endswith(".jsonl"):
            with open(os.path.join(path, name), encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)
