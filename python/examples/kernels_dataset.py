# SPDX-License-Identifier: MIT
"""A dataset of kernels, made and verified here, as one of Hugging Face's `datasets`.

    pip install datasets
    python kernels_dataset.py --count 200 --out kernels
"""

import argparse
import pathlib
import tempfile
import time

from dotmatrix import synth


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--out", help="the folder; without it one that is thrown away")
    args = parser.parse_args()
    from datasets import load_dataset

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.out or temporary)
        began = time.perf_counter()
        synth.produce(folder / "pairs", count=args.count, progress=True)
        report = synth.validate(folder / "pairs", sample=10)
        print(f"{report['pairs']} pairs, {report['distinct']} distinct, valid: {report['valid']}, {time.perf_counter() - began:.1f} s")

        rows = load_dataset("json", data_files=str(folder / "pairs" / "*.jsonl"), split="train", cache_dir=str(folder / "cache"))
        print(rows)
        first = rows[0]
        print(f"{first['id']}, {first['category']}: {first['kernel_name']}")
        short = rows.filter(lambda row: len(str(row)) < 20000)
        print(f"{len(short)} of {len(rows)} records have less than 20,000 characters")
        assert len(rows) == args.count


if __name__ == "__main__":
    main()
