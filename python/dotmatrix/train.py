# SPDX-License-Identifier: MIT
"""Training: XOR, a CNN on images, a GPT on text, an agent that plays, with the command `dotmatrix`.

    from dotmatrix import train
    run = train.run("xor", out="runs/xor", seed=1, fields={"steps": 2000})
    run.metrics[-1]["loss"]

docs/training.md and docs/agent.md say what the tasks and their fields are. Weights come as safetensors (`weights`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core, command

__all__ = ["TASKS", "Run", "run"]

TASKS = ("xor", "cnn", "gpt", "agent")


class Run:
    """A run's folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if not os.path.isfile(os.path.join(self.path, "metrics.jsonl")):
            raise _core.NotFound(f"{self.path}: there is no run: it has no metrics.jsonl")

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What it wrote down, one dict a line."""
        with open(os.path.join(self.path, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def weights(self, path: str | os.PathLike[str]) -> str:
        """Write its weights as a safetensors file; the path."""
        command.run(["train", "export", self.path, "--out", path])
        return os.fspath(path)

    def __repr__(self) -> str:
        return f"<dotmatrix.train.Run {self.path}>"


def run(
    task: str, *, out: str | os.PathLike[str], seed: int = 1, device: str = "cpu", config: str | os.PathLike[str] | None = None,
    fields: Mapping[str, Any] | None = None, rom: str | os.PathLike[str] | None = None,
    resume: bool = False, progress: bool = False,
) -> Run:  # fmt: skip
    """Train, and give the run when it has ended; `resume` goes on with the one in `out`."""
    if task not in TASKS:
        raise _core.InvalidArgument(f"train: task {task!r}: one of {', '.join(TASKS)}")
    arguments: list[Any] = ["train", task, "--device", device]
    arguments += ["--resume", out] if resume else ["--out", out, "--seed", str(seed)]
    if config is not None:
        arguments += ["--config", config]
    if rom is not None:
        arguments += ["--rom", rom]
    for name, value in (fields or {}).items():
        arguments += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    command.run(arguments, progress=progress)
    return Run(out)
