# SPDX-License-Identifier: MIT
"""Training steps of our models on the CPU beside JAX's, in turns in one run, from the same weights and batch.

    python3 bench/nn_peer.py cnn batch=64
    python3 bench/nn_peer.py gpt batch=8 time=128 --rounds 8 --json gpt.json

The interpreter needs jax. Each round times some steps of one, then of
the other; the best round of each counts, and the median is shown beside it, and the rate per second of processor time,
which other programs on the machine disturb less. Both begin with the same weights."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "nn"))


class Ours:
    """dm-bench-nn, which waits for numbers of steps. A run gives seconds and seconds of processor time."""

    def __init__(self, program, model, sizes, folder, device, samples):
        self.samples = samples
        words = [f"{k}={v}" for k, v in sizes.items()]
        self.process = subprocess.Popen([program, model, *words, "--dir", folder, "--device", device],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        if not line:
            sys.exit("nn_peer: dm-bench-nn ended")
        return float(line[0]), self.samples * steps / float(line[3])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Jax:
    def __init__(self, model, sizes, weights, x, target):
        import jax.numpy as jnp
        import peer_models
        self.step = peer_models.make_step(model, sizes)
        self.state = peer_models.first_state(weights)
        self.x, self.target = jnp.array(x), jnp.array(target)

    def run(self, steps):
        began, busy = time.perf_counter(), time.process_time()
        for _ in range(steps):
            loss, self.state = self.step(self.state, self.x, self.target)
        loss.block_until_ready()
        return time.perf_counter() - began, time.process_time() - busy

    def close(self):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["xor", "cnn", "gpt", "gru"])
    parser.add_argument("sizes", nargs="*", help="batch=8, time=128, ..., shards=8")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "bench", "dm-bench-nn"))
    parser.add_argument("--device", default="cpu", help="cpu:2 for two threads; JAX takes all that it may use")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a round, for each")
    parser.add_argument("--json", help="write the result here")
    args = parser.parse_args()
    try:
        import jax
        import peer_models
    except ImportError as error:
        sys.exit(f"nn_peer: {error}: install jax, or run this with an interpreter that has it")
    sizes = peer_models.sizes_of(args.model, args.sizes)
    shards = sizes.pop("shards", 0)
    samples = sizes["batch"] * sizes.get("time", 1)
    with tempfile.TemporaryDirectory() as folder:
        weights, x, target = peer_models.write_case(args.model, sizes, folder)
        ours = Ours(args.program, args.model, sizes | {"shards": shards}, folder, args.device, samples)
        peers = {"ours": ours,
                 "jax": Jax(args.model, sizes, weights, x, target)}
        rates, busy, steps = {n: [] for n in peers}, {n: [] for n in peers}, {}
        for name, peer in peers.items():  # compile, warm up, and see how many steps a round has
            peer.run(1)
            steps[name] = max(1, int(args.seconds / peer.run(1)[0]))
        for _ in range(args.rounds):
            for name, peer in peers.items():
                seconds, processor = peer.run(steps[name])
                rates[name].append(samples * steps[name] / seconds)
                busy[name].append(samples * steps[name] / processor)
        for peer in peers.values():
            peer.close()
    unit = "tokens/s" if args.model in ("gpt", "gru") else "samples/s"
    result = {"model": args.model, "sizes": sizes, "shards": shards, "jax": jax.__version__, "cores": os.cpu_count(),
              "unit": unit, "best": {n: max(r) for n, r in rates.items()},
              "median": {n: statistics.median(r) for n, r in rates.items()},
              "processor": {n: max(r) for n, r in busy.items()}, "rounds": rates}
    ratios = {k: result[k]["ours"] / result[k]["jax"] for k in ("best", "median", "processor")}
    result["ratios"] = ratios
    for name in peers:
        print(f"{name:5s} best {result['best'][name]:10.0f} {unit}, median {result['median'][name]:10.0f}, "
              f"{result['processor'][name]:10.0f} per second of processor time")
    print(f"{args.model} {' '.join(f'{k}={v}' for k, v in sizes.items())}: ours / JAX {jax.__version__} = "
          f"{ratios['best']:.2f} (medians {ratios['median']:.2f}, processor time {ratios['processor']:.2f})")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(result, out, indent=1)


if __name__ == "__main__":
    main()
