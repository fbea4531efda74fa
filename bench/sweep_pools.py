# SPDX-License-Identifier: MIT
"""Pools of 64 configurations, all trained to their end, and what each rule of `dotmatrix train sweep`
would have cost and found on them.

    python3 bench/sweep_pools.py --text tinyshakespeare.txt --pools 10 --out runs/pools

A pool is bench/sweep/TASK.json with another seed of the search. Pools that are there already are
kept; a pool that was interrupted goes on. The last lines of the output are the tables; the forecasts
for a pool learn from the other pools of its task, never from itself. Then each task's pools are
replayed with the other task's as history, which the calibration has to notice. The rules' defaults were
chosen on the pools of the seeds 1 to 3; the tables are of others."""

import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def pool(options, task, seed):
    folder = options.out / f"{task}-{seed}"
    if (folder / "curves.jsonl").exists():
        return folder
    command = [options.dotmatrix, "train", "sweep", "--workers", str(options.workers)]
    if (folder / "spec.json").exists():
        command += ["--resume", str(folder)]
    else:
        spec = json.loads((HERE / "sweep" / f"{task}.json").read_text())
        spec["seed"] = seed
        path = options.out / f"{task}-{seed}.json"
        path.write_text(json.dumps(spec))
        command += [str(path), "--out", str(folder)]
        if task == "gpt":
            command += ["--data", options.text]
    subprocess.run(command, check=True)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dotmatrix", default=str(HERE.parent / "build/src/cli/dotmatrix"))
    parser.add_argument("--text", required=True, help="what the GPTs are trained on")
    parser.add_argument("--pools", type=int, default=10, help="of each task")
    parser.add_argument("--first", type=int, default=101, help="seed of the first pool")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/pools"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pools = {task: [pool(options, task, seed) for seed in range(options.first, options.first + options.pools)] for task in ("cnn", "gpt")}
    for task, other in (("cnn", "gpt"), ("gpt", "cnn")):
        replay = [options.dotmatrix, "train", "sweep"]
        for folder in pools[task]:
            replay += ["--replay", str(folder)]
        print(f"\n{task}: history from the other pools of the task", flush=True)
        subprocess.run(replay, check=True)
        for folder in pools[other]:
            replay += ["--history", str(folder)]
        print(f"\n{task}: history from {other}", flush=True)
        subprocess.run(replay, check=True)


if __name__ == "__main__":
    main()
