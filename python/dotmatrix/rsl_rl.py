# SPDX-License-Identifier: MIT
"""RSL-RL: a swarm as its VecEnv.

    from rsl_rl.runners import OnPolicyRunner
    from dotmatrix.rsl_rl import VecEnv

    runner = OnPolicyRunner(VecEnv("STARFALL", 1024, obs="vector", reward="reward.py"), config, device="cpu")

RSL-RL's actions are real numbers. Each action has one here, and the largest is taken; with `keys=True` each of the
eight buttons has one, and those above 0 are held.
"""

from __future__ import annotations

from typing import Any

import torch
from rsl_rl.env import VecEnv as Base
from tensordict import TensorDict

from .env import make

__all__ = ["VecEnv"]


class VecEnv(Base):
    """`num_envs` machines for RSL-RL. Options are those of dotmatrix.make. Observations are the group "policy"."""

    def __init__(
        self, rom: Any = "STARFALL", num_envs: int = 1, *, obs: str = "vector", keys: bool = False, step_limit: int = 0, **options: Any
    ) -> None:
        if keys:
            options["codec"] = "raw"
        self.env = make(rom, num_envs, obs=obs, autoreset="same_step", finals=False, obs_as="torch", step_limit=step_limit, **options)
        device = self.env.swarm.device
        self.device = torch.device("cpu" if device.kind == "cpu" else f"cuda:{device.index}")
        self.keys = keys
        self.num_envs = num_envs
        self.num_actions = 8 if keys else self.env.actions
        self.max_episode_length = step_limit or 1 << 30
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long, device=self.device)
        self.cfg = {"rom": str(rom) if not isinstance(rom, bytes) else "bytes", "obs": obs, "step_limit": step_limit, **options}
        self._bits = torch.tensor([1 << i for i in range(8)], dtype=torch.int32, device=self.device)
        self._obs, _ = self.env.reset()

    @property
    def swarm(self) -> Any:
        """The Swarm."""
        return self.env.swarm

    def get_observations(self) -> TensorDict:
        """The observations now, as floats: bytes are divided by 255."""
        obs = self._obs if self._obs.dtype == torch.float32 else self._obs.float() / 255
        obs = obs.reshape(self.num_envs, -1).clone()
        return TensorDict({"policy": obs}, batch_size=[self.num_envs], device=self.device)

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """(observations, rewards, dones, extras); extras["time_outs"] are episodes that only time ended."""
        chosen = ((actions > 0).int() * self._bits).sum(1) if self.keys else actions.argmax(1)
        self._obs, reward, terminated, truncated, _ = self.env.step(chosen.to(torch.uint8))
        done = terminated | truncated
        self.episode_length_buf = torch.where(done, 0, self.episode_length_buf + 1)
        return self.get_observations(), reward.clone(), done.long(), {"time_outs": (truncated & ~terminated).float()}

    def close(self) -> None:
        """Free the swarm; twice is fine."""
        self.env.close()
