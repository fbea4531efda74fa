# SPDX-License-Identifier: MIT
"""PPO in one file: an agent learns STARFALL with torch, on a CPU or a GPU.

    python ppo_starfall.py                              # 256 games on the CPU: some minutes
    python ppo_starfall.py --device cuda --envs 4096    # some seconds

Emulator, reward and observation run where the network does; observations, rewards and actions are torch tensors over
the swarm's own memory, so nothing is copied between them. A player that walks under the lowest star gets about 74
points; the run ends when the mean score of the episodes that ended in an update is above --target.
"""

import argparse
import json
import os
import tempfile
import time

import torch
from torch import nn

import dotmatrix as dm

# NONE, LEFT, RIGHT, A+LEFT, A+RIGHT as masks of keys
KEYS = [0, 2, 1, 18, 17]
THINGS = 0xC020
RANDOM = [0xC009, 0xC00A]  # the game's random generator: other values make another game


@dm.memory
class Memory:
    score: int
    lives: int


@dm.program(obs=20)
def starfall(m: dm.Machine, mem: Memory, out: dm.Out):
    score, lives = dm.u16(m, 0xC001), dm.u8(m, 0xC003)
    out.reward = float(score - mem.score) + float(lives - mem.lives)
    out.terminated = dm.u8(m, 0xC000) == 2
    out.metric("score", float(score))
    mem.score, mem.lives = score, lives

    basket = dm.u8(m, 0xC004)
    out.obs[0] = float(basket) / 136.0
    out.obs[1] = float(dm.u16(m, 0xC013)) / 768.0
    out.obs[2] = float(dm.u8(m, 0xC015)) / 72.0
    out.obs[3] = float(dm.u8(m, 0xC017)) / 152.0
    for i in range(4):  # things, the lowest first
        kind, x, y = dm.u8(m, THINGS + 4 * i), dm.u8(m, THINGS + 4 * i + 1), dm.u8(m, THINGS + 4 * i + 2)
        if kind == 0:
            y = 0
        rank = 0
        for j in range(4):
            other = dm.u8(m, THINGS + 4 * j + 2)
            if dm.u8(m, THINGS + 4 * j) == 0:
                other = 0
            if other > y or (other == y and j < i):
                rank = rank + 1
        at = 4 + 4 * rank
        out.obs[at] = float(kind == 1)
        out.obs[at + 1] = float(kind == 2)
        out.obs[at + 2] = float(x - basket - 8) / 76.0 if kind != 0 else 0.0
        out.obs[at + 3] = float(y) / 128.0


def started_game(path):
    """A state in which the game has begun, in a file."""
    with dm.GameBoy(dm.rom_path("STARFALL")) as gb:
        gb.tick(88, False)
        gb.button("start", 4)
        gb.tick(12, False)
        gb.save_state(path)
    return path


def network(outputs, scale):
    def linear(inputs, outputs, gain):
        layer = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        return layer

    return nn.Sequential(linear(20, 64, 2**0.5), nn.Tanh(), linear(64, 64, 2**0.5), nn.Tanh(), linear(64, outputs, scale))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--target", type=float, default=74.0, help="end when the mean score is above this")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="torch's, on the CPU")
    parser.add_argument("--json", help="write what came out to this file")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    place = torch.device("cuda" if args.device.startswith("cuda") else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        env = dm.make(
            (dm.rom_path("STARFALL"), started_game(os.path.join(folder, "start.state"))), args.envs, device=args.device,
            obs="vector", obs_as="torch", reward=starfall, autoreset="same_step", action_keys=KEYS, random_bytes=RANDOM,
            frames_per_step=4, release_after_frames=4, seed=args.seed, step_limit=4000,
        )  # fmt: skip
    actor, critic = network(len(KEYS), 0.01).to(place), network(1, 1.0).to(place)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=args.rate, eps=1e-5)

    shape = (args.horizon, args.envs)
    observations = torch.zeros(*shape, 20, device=place)
    actions = torch.zeros(shape, dtype=torch.long, device=place)
    log_probs, rewards, dones, values = (torch.zeros(shape, device=place) for _ in range(4))

    obs, _ = env.reset(seed=args.seed)
    began, steps, score, reached = time.perf_counter(), 0, 0.0, None
    for update in range(1, args.updates + 1):
        with torch.no_grad():
            for t in range(args.horizon):
                observations[t] = obs  # the swarm writes to obs again
                chosen = torch.distributions.Categorical(logits=actor(obs))
                actions[t] = chosen.sample()
                log_probs[t], values[t] = chosen.log_prob(actions[t]), critic(obs)[:, 0]
                obs, reward, terminated, truncated, _ = env.step(actions[t])
                rewards[t], dones[t] = reward, (terminated | truncated).float()
            advantages, last, value = torch.zeros_like(rewards), 0.0, critic(obs)[:, 0]
            for t in reversed(range(args.horizon)):
                alive = 1.0 - dones[t]
                delta = rewards[t] + 0.99 * alive * value - values[t]
                last = delta + 0.99 * 0.95 * alive * last
                advantages[t], value = last, values[t]
        steps += args.horizon * args.envs
        flat = [x.reshape(-1, *x.shape[2:]) for x in (observations, actions, log_probs, advantages, advantages + values)]
        for _ in range(4):
            for batch in torch.randperm(args.horizon * args.envs, device=place).chunk(4):
                o, a, old, advantage, target = (x[batch] for x in flat)
                chosen = torch.distributions.Categorical(logits=actor(o))
                ratio = (chosen.log_prob(a) - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                loss = policy + 0.5 * ((critic(o)[:, 0] - target) ** 2).mean() - 0.01 * chosen.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        metric = env.swarm.metrics(restart=True)["score"]
        seconds = time.perf_counter() - began
        if metric["episodes"]:
            score = metric["last"]
        if update % 5 == 0 or update == args.updates:
            print(f"update {update:4}  {steps / 1e6:6.2f}M steps  {steps / seconds:9,.0f} steps/s  score {score:6.1f}", flush=True)
        if score > args.target:
            reached = seconds
            print(f"mean score {score:.1f} after {steps / 1e6:.2f}M steps and {seconds:.1f} s")
            break
    env.close()
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"device": args.device, "envs": args.envs, "steps": steps, "seconds": time.perf_counter() - began,
                       "score": score, "reached_after_s": reached}, file)  # fmt: skip
    return 0 if reached is not None else 1


if __name__ == "__main__":
    raise SystemExit(main())
