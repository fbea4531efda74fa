# SPDX-License-Identifier: MIT
"""Kernel datasets in the tools of others."""

import json
import os
import subprocess

import pytest

from dotmatrix import kernelsets

COMMAND = os.path.join(os.environ.get("DM_BUILD_ROOT", "build"), "src", "cli", "dotmatrix")
pytestmark = pytest.mark.skipif(not os.path.exists(COMMAND), reason="the command is not built")


def produce(folder, *more):
    subprocess.run(
        [COMMAND, "synth", "produce", "--count", "60", "--verify", "none", "--jobs", "1", "--out", folder, *more],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def folder(tmp_path):
    produce(tmp_path / "set", "--shard-lines", "40")
    return tmp_path / "set"


def test_records_of_plain_shards(folder):
    rows = list(kernelsets.records(folder))
    assert [r["id"] for r in rows[:2]] == ["1-00000000", "1-00000001"] and len(rows) == 60
    assert len(list(kernelsets.records(folder / "pairs-00001.jsonl"))) == 20
    with pytest.raises(FileNotFoundError, match="no rejected"):
        kernelsets.files(folder, "rejected")


def test_records_of_compressed_shards(folder, tmp_path):
    done = subprocess.run(
        [COMMAND, "synth", "produce", "--count", "60", "--verify", "none", "--out", tmp_path / "packed", "--compress", "zstd"],
        capture_output=True,
        text=True,
    )
    if "without libzstd" in done.stderr:
        pytest.skip("built without libzstd")
    try:
        packed = list(kernelsets.records(tmp_path / "packed"))
    except RuntimeError as problem:
        pytest.skip(str(problem))
    assert packed == list(kernelsets.records(folder))


def test_parquet_has_a_row_for_each_record(folder, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert kernelsets.to_parquet(folder, tmp_path / "set.parquet") == 60
    rows = parquet.read_table(tmp_path / "set.parquet").to_pylist()
    assert rows[7]["description"] == list(kernelsets.records(folder))[7]["description"]


def test_splits_put_families_in_one_part(folder):
    pytest.importorskip("datasets")
    sets = kernelsets.load(folder, split_by="idiom")
    families = {part: set(rows["idiom"]) for part, rows in sets.items()}
    assert sum(len(rows) for rows in sets.values()) == 60
    assert not families["train"] & families.get("test", set())
    with pytest.raises(ValueError, match="split_by"):
        kernelsets.load(folder, split_by="colour")


def test_every_record_has_what_is_promised(folder):
    for record in kernelsets.records(folder):
        assert record["description"]["line"] and record["reference"].startswith("import")
        assert record["split"]["record"] in kernelsets.PARTS and 1 <= record["difficulty"] <= 5
        json.dumps(record)
