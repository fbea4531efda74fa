# SPDX-License-Identifier: MIT
"""Kernel datasets in the tools of others: plain or compressed records, Parquet files, `datasets` with splits.

    from dotmatrix import kernelsets
    for record in kernelsets.records("data"): ...             # also of data/pairs-00000.jsonl.zst
    kernelsets.to_parquet("data", "data.parquet")             # needs pyarrow
    sets = kernelsets.load("data", split_by="idiom")          # needs datasets: train, validation, test

`split_by="record"` deals records out by their form, `"idiom"` whole families, so that the test set has kernels of kinds
that the training set never shows. Compressed shards need Python 3.14, the package zstandard, or the program zstd.
docs/dataset.md has what a record holds.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

__all__ = ["files", "load", "records", "to_parquet"]

PARTS = ("train", "validation", "test")


def files(path: str | os.PathLike[str], kind: str = "pairs") -> list[str]:
    """The shards of a dataset, in order: of `pairs`, or of `rejected` programs. A file is a shard itself."""
    if os.path.isfile(path):
        return [os.fspath(path)]
    names = [n for n in os.listdir(path) if n.startswith(kind + "-") and n.endswith((".jsonl", ".jsonl.zst"))]
    if not names:
        raise FileNotFoundError(f"{os.fspath(path)}: no {kind}-*.jsonl or .jsonl.zst; is it a dataset of kernels?")
    return [os.path.join(path, name) for name in sorted(names)]


def _expand(name: str) -> str:
    """The text of a file compressed with zstd, by whatever there is."""
    with open(name, "rb") as file:
        packed = file.read()
    try:
        from compression import zstd  # Python 3.14

        return zstd.decompress(packed).decode()
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard.ZstdDecompressor().decompress(packed).decode()
    except ImportError:
        pass
    try:
        return subprocess.run(["zstd", "-dc", name], check=True, capture_output=True).stdout.decode()
    except FileNotFoundError:
        raise RuntimeError(f"{name}: nothing here reads zstd: pip install zstandard") from None


def records(path: str | os.PathLike[str], kind: str = "pairs") -> Iterator[dict[str, Any]]:
    """The records of a dataset or of a shard, in order."""
    for name in files(path, kind):
        if name.endswith(".zst"):
            lines = _expand(name).splitlines()
            yield from map(json.loads, lines)
            continue
        with open(name, encoding="utf-8") as file:
            yield from map(json.loads, file)


def _fill(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every row with the fields of all: what some records do not have is None."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in names} for row in rows]


def to_parquet(path: str | os.PathLike[str], out: str | os.PathLike[str], kind: str = "pairs") -> int:
    """Write a Parquet file, compressed with zstd, with a column for each field; how many rows it has."""
    import pyarrow
    import pyarrow.parquet

    rows = _fill(list(records(path, kind)))
    if not rows:
        raise ValueError(f"{os.fspath(path)}: no records")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), out, compression="zstd")
    return len(rows)


def load(path: str | os.PathLike[str], split_by: str = "record") -> Any:
    """A `datasets.DatasetDict` with `train`, `validation` and `test`; parts without a record are left out."""
    import datasets

    if split_by not in ("record", "idiom"):
        raise ValueError(f"split_by is 'record' or 'idiom', not {split_by!r}")
    rows = _fill(list(records(path)))
    parts = {part: [row for row in rows if row["split"][split_by] == part] for part in PARTS}
    return datasets.DatasetDict({part: datasets.Dataset.from_list(own) for part, own in parts.items() if own})
