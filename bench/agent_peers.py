# SPDX-License-Identifier: MIT
"""The same loop with a learner in PyTorch or JAX (jit-compiled): machines of dotmatrix, PPO with two networks of 64-64
tanh units; in turns with dm-bench-agent, so that both see the same machine.

agent_peers.py ROM --peer torch [--bench build/bench/dm-bench-agent] [--config examples/agents/starfall.json]
               [--rounds 10] [--turns 3]

The interpreter needs the peer and dotmatrix (PYTHONPATH=build/python). Prints medians of ours, the peer's and their
ratio: steps a second of the whole loop, of the game, of acting, and samples a second of one epoch."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np

import dotmatrix as dm

N, T, EPOCHS, MINIBATCHES, WIDTH, ACTIONS = 256, 64, 4, 4, 20, 5
KEYS = np.array([0, 2, 1, 16 | 2, 16 | 1], np.uint8)


def learner_of_jax():
    import jax
    import jax.numpy as jnp

    def layers(key, sizes):
        keys = jax.random.split(key, len(sizes))
        return [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]

    def run(net, x):
        for w, b in net[:-1]:
            x = jnp.tanh(x @ w + b)
        return x @ net[-1][0] + net[-1][1]

    @jax.jit
    def act(params, x, key):
        log = jax.nn.log_softmax(run(params[0], x))
        action = jax.random.categorical(key, log)
        return action, jnp.take_along_axis(log, action[:, None], 1)[:, 0], run(params[1], x)[:, 0]

    def loss_of(params, x, action, old, advantage, target):
        log = jax.nn.log_softmax(run(params[0], x))
        ratio = jnp.exp(jnp.take_along_axis(log, action[:, None], 1)[:, 0] - old)
        taken = jnp.maximum(-advantage * ratio, -advantage * jnp.clip(ratio, 0.8, 1.2)).mean()
        entropy = -(jnp.exp(log) * log).sum(-1).mean()
        return taken + 0.25 * ((run(params[1], x)[:, 0] - target) ** 2).mean() - 0.01 * entropy

    @jax.jit
    def update(params, moments, step, key, x, action, old, values, rewards, ends):
        def back(carry, row):
            total = row[0] + 0.99 * row[2] * (1 - row[3]) - row[1] + 0.99 * 0.95 * (1 - row[3]) * carry
            return total, total
        _, advantage = jax.lax.scan(back, jnp.zeros(N), (rewards, values[:-1], values[1:], ends), reverse=True)
        target = (advantage + values[:-1]).reshape(-1)
        advantage = ((advantage - advantage.mean()) / (advantage.std() + 1e-8)).reshape(-1)
        x, action, old = x.reshape(-1, WIDTH), action.reshape(-1), old.reshape(-1)

        def minibatch(state, rows):
            params, moments, step = state
            gradient = jax.grad(loss_of)(params, x[rows], action[rows], old[rows], advantage[rows], target[rows])
            norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(gradient)))
            gradient = jax.tree.map(lambda g: g * jnp.minimum(1, 0.5 / norm), gradient)
            first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
            second = jax.tree.map(lambda m, g: 0.999 * m + 0.001 * g * g, moments[1], gradient)
            step = step + 1
            params = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**step)) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-5),
                                  params, first, second)
            return (params, (first, second), step), None

        order = jnp.concatenate([jax.random.permutation(k, N * T) for k in jax.random.split(key, EPOCHS)])
        (params, moments, step), _ = jax.lax.scan(minibatch, (params, moments, step),
                                                  order.reshape(EPOCHS * MINIBATCHES, -1))
        return params, moments, step

    class Learner:
        def __init__(self):
            self.key = jax.random.key(1)
            self.params = [layers(self.key, (WIDTH, 64, 64, ACTIONS)), layers(self.key, (WIDTH, 64, 64, 1))]
            zeros = jax.tree.map(jnp.zeros_like, self.params)
            self.moments, self.step = (zeros, zeros), 0.0

        def act(self, x):
            self.key, key = jax.random.split(self.key)
            return (np.asarray(v) for v in act(self.params, x, key))

        def update(self, *rollout):
            self.key, key = jax.random.split(self.key)
            self.params, self.moments, self.step = jax.block_until_ready(
                update(self.params, self.moments, self.step, key, *rollout))

    return Learner()


def learner_of_torch():
    import torch
    from torch import nn

    torch.set_num_threads(2)
    torch.manual_seed(1)

    def net(outputs):
        return nn.Sequential(nn.Linear(WIDTH, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))

    class Learner:
        def __init__(self):
            self.actor, self.critic = net(ACTIONS), net(1)
            self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
            self.optimiser = torch.optim.Adam(self.parameters, 1e-3, eps=1e-5, fused=True)

        @torch.inference_mode()
        def act(self, x):
            x = torch.from_numpy(x)
            log = torch.log_softmax(self.actor(x), -1)
            action = torch.multinomial(log.exp(), 1)
            return action[:, 0].numpy(), log.gather(1, action)[:, 0].numpy(), self.critic(x)[:, 0].numpy()

        def update(self, x, action, old, values, rewards, ends):
            total, advantage = np.zeros(N, np.float32), np.zeros((T, N), np.float32)
            for t in reversed(range(T)):
                on = 1 - ends[t]
                total = rewards[t] + 0.99 * values[t + 1] * on - values[t] + 0.99 * 0.95 * on * total
                advantage[t] = total
            target = torch.from_numpy((advantage + values[:-1]).reshape(-1))
            advantage = torch.from_numpy(((advantage - advantage.mean()) / (advantage.std() + 1e-8)).reshape(-1))
            x, action = torch.from_numpy(x.reshape(-1, WIDTH)), torch.from_numpy(action.reshape(-1).astype(np.int64))
            old = torch.from_numpy(old.reshape(-1))
            for _ in range(EPOCHS):
                for rows in torch.randperm(N * T).view(MINIBATCHES, -1):
                    log = torch.log_softmax(self.actor(x[rows]), -1)
                    ratio = (log.gather(1, action[rows, None])[:, 0] - old[rows]).exp()
                    a = advantage[rows]
                    loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean()
                    loss = loss + 0.25 * ((self.critic(x[rows])[:, 0] - target[rows]) ** 2).mean()
                    loss = loss + 0.01 * (log.exp() * log).sum(-1).mean()
                    self.optimiser.zero_grad(set_to_none=True)
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.parameters, 0.5)
                    self.optimiser.step()

    return Learner()


class Loop:
    def __init__(self, rom, program, folder, learner):
        self.learner = learner
        gb = dm.GameBoy(rom)
        gb.tick(88)
        gb.button_press("start")
        gb.tick(4)
        gb.button_release("start")
        gb.tick(8)
        state = os.path.join(folder, "start.state")
        with open(state, "wb") as file:
            file.write(gb.save_state())
        self.swarm = dm.Swarm((rom, state), N, device="cpu:2", obs="vector", frames_per_step=4, release_after_frames=4,
                              codec="raw", autoreset="same_step", program=program)

    def round(self):
        spent = [0.0, 0.0, 0.0]
        x = np.zeros((T, N, WIDTH), np.float32)
        action, old = np.zeros((T, N), np.int32), np.zeros((T, N), np.float32)
        values, rewards, ends = np.zeros((T + 1, N), np.float32), np.zeros((T, N), np.float32), np.zeros((T, N), np.float32)
        for t in range(T + 1):
            begin = time.perf_counter()
            seen = np.array(self.swarm.output("vector"))
            a, chance, value = self.learner.act(seen)
            values[t] = value
            spent[1] += time.perf_counter() - begin
            if t == T:
                break
            x[t], action[t], old[t] = seen, a, chance
            begin = time.perf_counter()
            self.swarm.step(KEYS[a])
            rewards[t], ends[t] = self.swarm.output("rewards"), self.swarm.output("terminated")
            spent[0] += time.perf_counter() - begin
        begin = time.perf_counter()
        self.learner.update(x, action, old, values, rewards, ends)
        spent[2] += time.perf_counter() - begin
        return spent

    def figures(self, rounds):
        spent = np.sum([self.round() for _ in range(rounds)], 0)
        samples = rounds * N * T
        return {"loop": samples / spent.sum(), "game": samples / spent[0], "acting": samples / spent[1],
                "epoch": samples * EPOCHS / spent[2]}


def ours(options, folder, turn):
    given = [f"rom={options.rom}", f"reward={options.program}"]
    line = subprocess.run([options.bench, "cpu:2", f"{folder}/run{turn}", str(options.rounds), options.config, given[0],
                           given[1]], check=True, capture_output=True, text=True).stdout
    f = json.loads(line)
    return {"loop": f["steps_per_second"], "game": f["world_steps_per_second"], "acting": f["inference_per_second"],
            "epoch": f["epoch_per_second"]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("rom")
    p.add_argument("--peer", choices=("torch", "jax"), default="torch")
    p.add_argument("--bench", default="build/bench/dm-bench-agent")
    p.add_argument("--config", default="examples/agents/starfall.json")
    p.add_argument("--program", default="examples/agents/starfall.py")
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--turns", type=int, default=3)
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(options.rom, options.program, folder,
                    learner_of_torch() if options.peer == "torch" else learner_of_jax())
        loop.figures(2)
        theirs, mine = [], []
        for turn in range(options.turns):
            theirs.append(loop.figures(options.rounds))
            mine.append(ours(options, folder, turn))
    for name in ("loop", "game", "acting", "epoch"):
        a, b = (statistics.median(f[name] for f in figures) for figures in (mine, theirs))
        print(f"{name:7} {a:12,.0f} {b:12,.0f} {a / b:6.2f}")


if __name__ == "__main__":
    main()
