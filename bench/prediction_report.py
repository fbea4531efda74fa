# SPDX-License-Identifier: MIT
"""What training costs until a target loss: constant rate, linear decay, decay with averaged weights, Muon,
and the predictive trainer, on XOR, the CNN and a small GPT.

    python3 bench/prediction_report.py --text tinyshakespeare.txt --out runs/prediction

Each method's rate is the best of the same tries on seed 1; the figures are of other seeds: medians and
ranges. The target is the median final validation loss of linear decay, plus 1%. A step's backward pass
counts as two forward passes; every forward pass of a proposal's check and of CORRECT is counted,
evaluations (the same for all) are not. FLOPs are those passes times the model's products. Seconds are
those of the steps and checks, scaled to where the target was reached. Writes table.md and runs.json."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

# Fields; rates that are tried; evaluations; FLOPs of a forward pass of a batch.
TASKS = {
    "xor": dict(fields=dict(steps=1000, hidden=4, log_every=1), rates=[0.1, 0.3, 1, 3, 10], every=10,
                flops=2 * 4 * (2 * 4 + 4)),
    "cnn": dict(fields=dict(steps=400, channels=8, batch=32, log_every=1), rates=[0.001, 0.003, 0.006, 0.012, 0.025],
                every=10, flops=2 * 32 * (25 * 8 * 24 * 24 + 8 * 144 * 10)),
    "gpt": dict(fields=dict(steps=400, layers=2, width=48, heads=4, context=64, batch=8, eval_windows=64,
                            log_every=1, warmup=40),
                rates=[0.001, 0.002, 0.004, 0.008, 0.016], every=10,
                flops=2 * 8 * 64 * (2 * 12 * 48 * 48 + 65 * 48 + 2 * 2 * 32 * 48)),
}

# "tail" is an average over about the last tenth of the steps.
METHODS = {
    "constant rate": dict(schedule="constant"),
    "linear decay": dict(schedule="linear", rate_end=0),
    "linear decay + average": dict(schedule="linear", rate_end=0, average=0.98),
    "Muon, linear decay": dict(schedule="linear", rate_end=0, optimiser="muon"),
    "predictive, constant": dict(schedule="constant", predict=1),
    "predictive, linear decay": dict(schedule="linear", rate_end=0, predict=1),
}


def train(options, task, fields, seed, name):
    """One run: its validation losses with what they had cost, in forward passes of a batch."""
    folder = options.out / "runs" / name
    if not (folder / "run.json").exists():
        command = [options.dotmatrix, "train", task, "--out", str(folder), "--seed", str(seed), "--device", "cpu:1"]
        if task == "gpt":
            command += ["--data", options.text]
        for key, value in fields.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, DM_PROGRESS="off"))
        if done.returncode != 0:
            return dict(failed=done.stderr.strip().splitlines()[-1])
    points = []
    backward = forward = 0
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        backward, forward = row.get("backward", row["step"]), row.get("forward", 0)
        if row.get("val_loss") is not None:
            points.append((backward, 3 * backward + forward, row["val_loss"]))
    seconds = json.loads((folder / "run.json").read_text())["result"]["seconds"]
    return dict(points=points, final=points[-1][2], backward=backward, passes=3 * backward + forward, seconds=seconds)


def until(run, target):
    for backward, passes, loss in run["points"]:
        if loss <= target:
            return dict(backward=backward, passes=passes, seconds=run["seconds"] * passes / run["passes"])
    return None


def spread(values, form):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def measure(options, task):
    about = TASKS[task]
    results = {}
    for method, changes in METHODS.items():
        fields = dict(about["fields"], **changes, eval_every=about["every"], checkpoint_every=0)
        label = method.replace(", ", "-").replace(" + ", "-").replace(" ", "-")
        tries = []
        for rate in about["rates"]:
            run = train(options, task, dict(fields, rate=rate), 1, f"{task}-{label}-rate{rate}")
            tries.append((run.get("final", float("inf")), rate))
        rate = min(tries)[1]
        runs = [train(options, task, dict(fields, rate=rate), seed, f"{task}-{label}-seed{seed}")
                for seed in range(2, 2 + options.seeds)]
        results[method] = dict(rate=rate, runs=[r for r in runs if "failed" not in r],
                               failed=[r["failed"] for r in runs if "failed" in r])
        print(task, method, "rate", rate, flush=True)
    return results


def table(task, results):
    finals = [r["final"] for r in results["linear decay"]["runs"]]
    target = 1.01 * statistics.median(finals)
    lines = [f"### {task}: until validation loss {target:.4g}", "",
             "| | rate | final loss | backward passes in all | reached by | backward passes until then | GFLOP | seconds |",
             "|---|---|---|---|---|---|---|---|"]
    for method, result in results.items():
        runs = result["runs"]
        there = [u for u in (until(r, target) for r in runs) if u is not None]
        row = [method, f"{result['rate']:g}", spread([r["final"] for r in runs], "{:.4g}") if runs else "-",
               spread([r["backward"] for r in runs], "{:.0f}") if runs else "-",
               f"{len(there)} of {len(runs) + len(result['failed'])}"]
        if there:
            row += [spread([u["backward"] for u in there], "{:.0f}"),
                    spread([u["passes"] * TASKS[task]["flops"] * 1e-9 for u in there], "{:.3g}"),
                    spread([u["seconds"] for u in there], "{:.2g}")]
        else:
            row += ["-", "-", "-"]
        lines.append("| " + " | ".join(row) + " |")
    for method, result in results.items():
        if result["failed"]:
            lines += ["", f"{method}: {len(result['failed'])} of {len(result['failed']) + len(result['runs'])} runs "
                          f"failed, the first with: {result['failed'][0]}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dotmatrix", default=str(HERE.parent / "build/src/cli/dotmatrix"))
    parser.add_argument("--text", required=True, help="what the GPT is trained on")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", default="xor,cnn,gpt")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/prediction"))
    options = parser.parse_args()
    (options.out / "runs").mkdir(parents=True, exist_ok=True)
    results = {task: measure(options, task) for task in options.tasks.split(",")}
    text = "\n".join(table(task, result) for task, result in results.items())
    (options.out / "table.md").write_text(text)
    (options.out / "runs.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
