# SPDX-License-Identifier: MIT
"""A dataset of ours in the usual tools: load_test.py DIR PAIRS

Loads the pairs with pandas, datasets and DuckDB, as far as they are installed, and sees that every tool has the same
records and fields. One line for each: "pandas 3.1.1 ok" or "pandas is not installed". Exit code 1 when one fails, 77
when none is there.
"""
import glob
import importlib
import json
import math
import os
import sys

FIELDS = ["id", "kind", "kernel_name", "category", "python_source", "cuda_forward", "cuda_backward", "metadata",
          "verification", "canonical"]


def expect(what, is_, should):
    if isinstance(should, float) and is_ is not None and math.isclose(is_, should, rel_tol=1e-12):
        return  # pandas reads the last digit otherwise
    if is_ != should:
        raise AssertionError(f"{what}: {is_!r}, not {should!r}")


def check(rows, wanted):
    """rows: dicts as a tool gives them."""
    expect("rows", len(rows), len(wanted))
    for row, should in zip(rows, wanted):
        for field in FIELDS:
            value = row[field]
            if field in ("metadata", "verification"):
                for key, inner in should[field].items():
                    expect(f"{should['id']}.{field}.{key}", value[key], inner)
            elif should[field] is None:  # tables write what is missing in several ways
                expect(f"{should['id']}.{field}", isinstance(value, str), False)
            else:
                expect(f"{should['id']}.{field}", value, should[field])


def with_pandas(pandas, files, wanted):
    frame = pandas.concat([pandas.read_json(f, lines=True, dtype=False) for f in files], ignore_index=True)
    check(frame.to_dict("records"), wanted)


def with_datasets(datasets, files, wanted):
    data = datasets.load_dataset("json", data_files=files, split="train", cache_dir=os.environ.get("LOAD_TEST_CACHE"))
    check(list(data), wanted)


def with_duckdb(duckdb, files, wanted):
    query = "select * from read_json($1, format='newline_delimited', maximum_object_size=67108864) order by id"
    result = duckdb.execute(query, [files])
    names = [column[0] for column in result.description]
    rows = [dict(zip(names, row)) for row in result.fetchall()]
    check(rows, wanted)
    by_category = duckdb.execute("select category, count(*) from read_json($1) group by category", [files]).fetchall()
    expect("categories", sum(count for _, count in by_category), len(wanted))


def main():
    folder, pairs = sys.argv[1], int(sys.argv[2])
    files = sorted(glob.glob(os.path.join(folder, "pairs-*.jsonl")))
    wanted = [json.loads(line) for name in files for line in open(name, encoding="utf-8")]
    expect("pairs", len(wanted), pairs)
    found = failed = 0
    for name, load in (("pandas", with_pandas), ("datasets", with_datasets), ("duckdb", with_duckdb)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed")
            continue
        found += 1
        try:
            load(module, files, wanted)
            print(f"{name} {module.__version__} ok")
        except Exception as problem:  # whatever a tool says
            failed += 1
            print(f"{name} {module.__version__} failed: {problem}")
    return 1 if failed else 0 if found else 77


sys.exit(main())
