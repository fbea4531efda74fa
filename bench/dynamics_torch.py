#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The dynamics kernels beside PyTorch, on one GPU, in one run.

    python3 bench/dynamics_torch.py --binary BUILD/bench/dm-bench-dynamics [--out DIR] [--quick]

Runs dm-bench-dynamics on CUDA (values, times), then PyTorch on the same sizes: the rollout eager and as a
CUDA graph, with all members in one batched product and the constant part of W x hoisted; and cuDNN's GRU
(torch.nn.GRU, one step) in float32 and with TF32, from graphs. Compares our GRU with PyTorch's on inputs
that the program wrote. Prints one table; everything goes to DIR/dynamics.json.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch

E, H, S, I = 5, 256, 32, 64


def device_us(run, calls, samples=9):
    """Median microseconds per call of `run`, which makes `calls` of them."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / calls)
    return statistics.median(times)


def graph_of(run):
    """`run` recorded once."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


class Rollout:
    """R rollouts of the ensemble: h is [E, R, H], weights are [E, H, gates * H]."""

    def __init__(self, rollouts, steps):
        bound = (2 / (2 * H)) ** 0.5
        rand = lambda *shape: (torch.rand(*shape, device="cuda") * 2 - 1) * bound
        self.steps = steps
        self.U_zr, self.U_n = rand(E, H, 2 * H), rand(E, H, H)
        self.base_zr, self.base_n = rand(E, rollouts, 2 * H), rand(E, rollouts, H)
        self.column_zr, self.column_n = rand(E, 1, 2 * H), rand(E, 1, H)
        self.w_h, self.w_s = rand(E, H, 1), rand(E, S, 1)
        self.index = torch.arange(S, device="cuda") * H // S
        self.h0, self.x0 = rand(E, rollouts, H), rand(E, rollouts, 1)
        self.loss = torch.empty(steps, E, rollouts, device="cuda")
        self.entropy, self.norm = torch.empty_like(self.loss), torch.empty_like(self.loss)

    def run(self):
        h, x0 = self.h0, self.x0
        for t in range(self.steps):
            zr = torch.sigmoid(torch.baddbmm(self.base_zr + self.column_zr * x0, h, self.U_zr))
            z, r = zr[..., :H], zr[..., H:]
            n = torch.tanh(torch.baddbmm(self.base_n + self.column_n * x0, r * h, self.U_n))
            h = torch.lerp(h, n, z)
            s = torch.softmax(h.index_select(2, self.index), 2)
            x0 = torch.exp(torch.clamp(torch.bmm(h, self.w_h) + torch.bmm(s, self.w_s), -10, 10))
            self.loss[t] = x0[..., 0]
            self.entropy[t] = -(s * torch.log(s)).sum(2)
            self.norm[t] = torch.linalg.vector_norm(h, dim=2)


def torch_rollouts(quick):
    rows = []
    for rollouts in (1, 64, 1024):
        r = Rollout(rollouts, 50)
        eager = device_us(r.run, 1)
        graph = graph_of(r.run)
        rows.append({"rollouts": rollouts, "eager_us": eager, "graph_us": device_us(graph.replay, 1)})
        if quick:
            break
    return rows


def torch_gru(hidden, batch, tf32):
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    gru = torch.nn.GRU(I, hidden).cuda()
    x, h = torch.randn(1, batch, I, device="cuda"), torch.rand(1, batch, hidden, device="cuda") * 2 - 1
    calls = 3 if batch * hidden * hidden > 1e9 else 20
    many = lambda: [gru(x, h) for _ in range(calls)]
    try:
        return device_us(graph_of(many).replay, calls), "graph"
    except RuntimeError:
        torch.cuda.synchronize()
        return device_us(many, calls), "eager"


def compare(folder):
    """Our GRU steps, as the program wrote them, against PyTorch's in float64 and float32 (cuDNN)."""
    worst = []
    torch.backends.cudnn.allow_tf32 = False
    for name in sorted(os.listdir(folder)):
        if not name.endswith("_out.f32"):
            continue
        _, hidden, batch, _ = name.split("_")
        hidden, batch = int(hidden), int(batch)
        read = lambda part: torch.frombuffer(
            bytearray(open(os.path.join(folder, f"gru_{hidden}_{batch}_{part}.f32"), "rb").read()), dtype=torch.float32)
        W, U, b, c = read("W"), read("U"), read("b"), read("c")
        order = lambda t: t.view(3, -1)[[1, 0, 2]].reshape(-1)  # z, r, n -> r, z, n
        for dtype in (torch.float64, torch.float32):
            gru = torch.nn.GRU(I, hidden).to("cuda", dtype)
            with torch.no_grad():
                gru.weight_ih_l0.copy_(order(W).view(3 * hidden, I))
                gru.weight_hh_l0.copy_(order(U).view(3 * hidden, hidden))
                gru.bias_ih_l0.copy_(order(b))
                gru.bias_hh_l0.zero_()
                gru.bias_hh_l0[2 * hidden:].copy_(c)
                out, _ = gru(read("x").view(1, batch, I).to("cuda", dtype), read("h").view(1, batch, hidden).to("cuda", dtype))
            got = read("out").view(batch, hidden).to("cuda", dtype)
            worst.append({"hidden": hidden, "batch": batch, "dtype": str(dtype),
                          "distance": float((got - out[0]).abs().max() / out.abs().max())})
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", default="runs/dynamics")
    parser.add_argument("--only", default="rollout,batch,gru", help="parts of the program to run")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    dump, ours_path = tempfile.mkdtemp(), os.path.join(args.out, "ours.json")
    command = [args.binary, "--device", "cuda:0", "--json", ours_path, "--dump", dump, "--only", args.only] + (["--quick"] if args.quick else [])
    code = subprocess.call(command)
    result = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "gpu": torch.cuda.get_device_name(0)}
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    sys.stdout.flush()
    with torch.no_grad():
        result["rollouts"] = torch_rollouts(args.quick)
        result["compare"] = compare(dump)
        ours = json.load(open(ours_path)) if os.path.exists(ours_path) else {}
        result["gru"] = []
        for row in ours.get("gru", []):
            if row["kind"] == "last" and row["block"] == 0:
                (plain, how), (tf32, _) = (torch_gru(row["hidden"], row["batch"], t) for t in (False, True))
                result["gru"].append({"hidden": row["hidden"], "batch": row["batch"], "fp32_us": plain, "tf32_us": tf32, "how": how})
    result["ours"] = ours
    json.dump(result, open(os.path.join(args.out, "dynamics.json"), "w"), indent=1)

    print(f"PyTorch {result['torch']}, cuDNN {result['cudnn']}, {result['gpu']}")
    for row in result["compare"]:
        print(f"  gru h{row['hidden']} batch {row['batch']}: {row['distance']:.2e} from PyTorch's in {row['dtype']}")
    mine = {(r["rollouts"], r["steps"], r["hidden"], r["members"]): r for part in ("batch", "rollout") for r in ours.get(part, [])[::-1]}
    print("rollouts of 5 x 50, h 256: PyTorch eager, PyTorch graph, ours (device), ours (with copies)")
    for row in result["rollouts"]:
        r = mine.get((row["rollouts"], 50, H, E))
        if r:
            print(f"  {row['rollouts']:5d}  {row['eager_us']:10.1f} {row['graph_us']:10.1f} {r['device_us']:9.1f} {r['wall_us']:9.1f} us"
                  f"   eager/ours {row['eager_us'] / r['device_us']:.0f}x, graph/ours {row['graph_us'] / r['device_us']:.1f}x")
    print("one GRU step, reset last: cuDNN float32, cuDNN TF32, ours; ours / cuDNN float32")
    last = {(r["hidden"], r["batch"]): r["device_us"] for r in ours.get("gru", []) if r["kind"] == "last" and r["block"] == 0}
    first = {(r["hidden"], r["batch"]): r["device_us"] for r in ours.get("gru", []) if r["kind"] == "first" and r["block"] == 0}
    for row in result["gru"]:
        key = (row["hidden"], row["batch"])
        print(f"  h{key[0]:<5d} batch {key[1]:<5d} {row['fp32_us']:9.1f} {row['tf32_us']:9.1f} {last[key]:9.1f}   "
              f"{last[key] / row['fp32_us']:.2f}  (tf32 {last[key] / row['tf32_us']:.2f}; reset first {first.get(key, 0):.1f} us) {row['how']}")
    return code


if __name__ == "__main__":
    sys.exit(main())
