# SPDX-License-Identifier: MIT
"""Stable-Baselines3's PPO on STARFALL: the reward is a Python function, the environment a swarm.

    pip install stable-baselines3
    python sb3_starfall.py --steps 300000

The same observations and reward as ppo_starfall.py, whose loop is written out.
"""

import argparse
import os
import tempfile
import time

from ppo_starfall import KEYS, RANDOM, started_game, starfall
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import dotmatrix as dm
from dotmatrix.sb3 import VecEnv


class Scores(BaseCallback):
    """The mean score of the episodes since the last rollout."""

    def __init__(self, swarm):
        super().__init__()
        self.swarm, self.last = swarm, 0.0

    def _on_rollout_end(self):
        score = self.swarm.metrics(restart=True)["score"]
        if score["episodes"]:
            self.last = score["last"]
            print(f"{self.num_timesteps:8} steps  score {self.last:6.1f}", flush=True)

    def _on_step(self):
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = started_game(os.path.join(folder, "start.state"))
        env = VecEnv(
            (dm.rom_path("STARFALL"), start), args.envs, obs="vector", reward=starfall, device=args.device, frames_per_step=4,
            release_after_frames=4, step_limit=4000, action_keys=KEYS, random_bytes=RANDOM,
        )  # fmt: skip
    model = PPO(
        "MlpPolicy", env, n_steps=128, batch_size=min(2048, 128 * args.envs), n_epochs=4, learning_rate=1e-3,
        ent_coef=0.01, device="cpu", seed=1,
    )  # fmt: skip
    scores, began = Scores(env.swarm), time.perf_counter()
    model.learn(args.steps, callback=scores)
    seconds = time.perf_counter() - began
    print(f"score {scores.last:.1f} after {model.num_timesteps} steps and {seconds:.1f} s")
    env.close()


if __name__ == "__main__":
    main()
