# SPDX-License-Identifier: MIT
"""PyTorch's figures for the network of policy=cnn: packed pictures to actions, and epochs of PPO's update.

agent_torch.py [--device cuda] [--rows 65536] [--horizon 16] [--minibatches 16] [--filters 16] [--hidden 256]
               [--actions 9] [--compile]

Prints one line of JSON: samples a second acting and for one epoch, in float32 with PyTorch's defaults for convolutions
(TF32) and for products (as given by --matmul)."""
import argparse
import json
import time

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, filters, hidden, actions, stack):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(stack, filters, 8, 4), nn.ReLU(), nn.Conv2d(filters, 2 * filters, 4, 2),
                                  nn.ReLU(), nn.Flatten(), nn.Linear(2 * filters * 56, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, actions + 1)
        self.stack = stack

    def forward(self, packed):
        x = torch.stack([(packed >> s) & 3 for s in (0, 2, 4, 6)], -1).view(-1, self.stack, 72, 80).float() / 3
        y = self.head(self.body(x))
        return y[:, :-1], y[:, -1]


def loss_of(policy, packed, actions, old, advantages, returns):
    logits, values = policy(packed)
    log = torch.log_softmax(logits, -1)
    chances = log.gather(1, actions[:, None])[:, 0]
    ratio = (chances - old).exp()
    taken = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2)).mean()
    entropy = -(log.exp() * log).sum(-1).mean()
    return taken + 0.25 * ((values - returns) ** 2).mean() - 0.01 * entropy


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="cuda")
    for name, value in (("rows", 65536), ("horizon", 16), ("minibatches", 16), ("filters", 16), ("hidden", 256),
                        ("actions", 9), ("stack", 1), ("shard", 16384)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--compile", action="store_true")
    p.add_argument("--matmul", default="highest")
    a = p.parse_args()
    torch.set_float32_matmul_precision(a.matmul)
    torch.manual_seed(1)
    policy = Policy(a.filters, a.hidden, a.actions, a.stack).to(a.device)
    run = torch.compile(policy) if a.compile else policy
    optimiser = torch.optim.Adam(policy.parameters(), 1e-3, fused=a.device == "cuda")
    samples = a.rows * a.horizon
    packed = torch.randint(0, 256, (samples, a.stack * 1440), dtype=torch.uint8, device=a.device)
    actions = torch.randint(0, a.actions, (samples,), device=a.device)
    old, advantages, returns = (torch.randn(samples, device=a.device) for _ in range(3))

    def sync():
        if a.device == "cuda":
            torch.cuda.synchronize()

    @torch.no_grad()
    def act():
        for t in range(a.horizon):
            for i in range(t * a.rows, (t + 1) * a.rows, min(a.shard, a.rows)):
                logits, _ = run(packed[i:i + min(a.shard, a.rows)])
                torch.multinomial(torch.softmax(logits, -1), 1)

    def epoch():
        order = torch.randperm(samples, device=a.device)
        size = samples // a.minibatches
        for k in range(a.minibatches):
            optimiser.zero_grad(set_to_none=True)
            for i in range(k * size, (k + 1) * size, min(a.shard, size)):
                rows = order[i:i + min(a.shard, size)]
                loss_of(run, packed[rows], actions[rows], old[rows], advantages[rows], returns[rows]).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimiser.step()

    figures = {"compile": a.compile, "matmul": a.matmul, "torch": torch.__version__}
    for name, task in (("inference_per_second", act), ("epoch_per_second", epoch)):
        task()
        best = 1e9
        for _ in range(3):
            sync()
            begin = time.perf_counter()
            task()
            sync()
            best = min(best, time.perf_counter() - begin)
        figures[name] = round(samples / best)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
