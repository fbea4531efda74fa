# SPDX-License-Identifier: MIT
"""Forecasts measured on runs that nobody has seen: settings of CNN and GPT runs drawn from a seed, trained, and
forecast by the model that comes with the program, beside the held-out synthetic families drawn from the same seed.

    python3 bench/forecast_fresh.py --text tinyshakespeare.txt --seed 900001 --runs 28 --out runs/fresh

Use a new seed each time the forecaster was changed: a seed whose results were looked at is not held out any more.
Writes the curves, table.txt and table.json of `dotmatrix dynamics evaluate`."""

import argparse
import json
import os
import pathlib
import random
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILIES = ["two-phase", "step-decay", "noisy", "log-linear", "rise-fall"]  # not learnt from


def log_uniform(rng, low, high):
    return float(f"{low * (high / low) ** rng.random():.4g}")


def settings(rng, task):
    every = rng.choice([1, 1, 1, 2, 3, 5])
    samples = rng.randrange(250, 520)
    optimiser = rng.choice(["adamw", "adamw", "adam", "sgd"])
    rates = {"sgd": (0.01, 0.1), "adam": (0.0004, 0.01), "adamw": (0.0004, 0.01)}[optimiser]
    fields = dict(steps=samples * every, log_every=every, optimiser=optimiser, rate=log_uniform(rng, *rates),
                  schedule=rng.choice(["constant", "linear", "cosine"]), warmup=rng.choice([0, 10, 30, 60]),
                  seed=rng.randrange(1000, 1000000), batch=rng.choice([4, 6, 8, 12, 16, 24, 32]))
    if task == "cnn":
        fields.update(channels=rng.randrange(3, 11), kernel=rng.choice([3, 5, 5, 7]))
    else:
        fields.update(layers=rng.choice([1, 2, 2, 3]), heads=rng.choice([2, 4]), width=rng.choice([24, 32, 48, 64]),
                      context=rng.choice([32, 48, 64]), batch=min(fields["batch"], 12))
    return fields


def train(options, index):
    task = ["cnn", "gpt"][index % 2]
    path = options.out / f"{task}-{index:02d}.csv"
    if path.exists():
        return path
    folder = options.out / "run"
    command = [options.dotmatrix, "train", task, "--device", "cpu:1", "--out", str(folder)]
    if task == "gpt":
        command += ["--data", options.text]
    for key, value in settings(random.Random(f"{options.seed} {index}"), task).items():
        command += ["--set", f"{key}={value}"]
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, DM_PROGRESS="off"))
    if done.returncode != 0 and not (folder / "metrics.jsonl").exists():
        raise SystemExit(done.stderr)
    lines = ["step,loss,norm,rate"]
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("norm") is not None and row.get("loss") is not None:
            lines.append(f"{row['step']},{row['loss']:.5g},{row['norm']:.4g},{row['rate']:.4g}")
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dotmatrix", default=str(ROOT / "build/src/cli/dotmatrix"))
    parser.add_argument("--text", required=True, help="what the GPTs are trained on")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=int, default=28)
    parser.add_argument("--model", help="another curve model than the program's")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/fresh"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    curves = [train(options, index) for index in range(options.runs)]
    evaluate = [options.dotmatrix, "dynamics", "evaluate", *map(str, curves), "--synthetic", "20", "--seed",
                str(options.seed)]
    for family in FAMILIES:
        evaluate += ["--family", family]
    if options.model:
        evaluate += ["--model", options.model]
    for form, name in (([], "table.txt"), (["--json"], "table.json")):
        text = subprocess.run(evaluate + form, check=True, capture_output=True, text=True).stdout
        (options.out / name).write_text(text)
    print((options.out / "table.txt").read_text())


if __name__ == "__main__":
    main()
