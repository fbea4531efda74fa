# SPDX-License-Identifier: MIT
"""skrl: a swarm as one of its wrapped environments.

    from dotmatrix.skrl import wrap
    env = wrap("STARFALL", 1024, obs="vector", device="cuda", reward="reward.py")

The agent's tensors are on the swarm's device; rewards and flags have the shape (num_envs, 1), as skrl wants them.
"""

from __future__ import annotations

from typing import Any

import torch
from skrl.envs.wrappers.torch import Wrapper

from .gym import VectorEnv

__all__ = ["Environment", "wrap"]


class Environment(Wrapper):
    """A dotmatrix.gym.VectorEnv with skrl's methods. Observations are floats in a row: bytes are divided by 255."""

    def __init__(self, env: VectorEnv) -> None:
        device = env.swarm.device
        env.device = torch.device("cpu" if device.kind == "cpu" else f"cuda:{device.index}")
        super().__init__(env)
        self._last: tuple[torch.Tensor, dict[str, Any]] | None = None

    @property
    def observation_space(self) -> Any:
        """The space of one machine's observation."""
        from gymnasium import spaces

        space = self._env.single_observation_space
        if space.dtype.kind == "f":
            return space
        return spaces.Box(0.0, 1.0, (int(torch.tensor(space.shape).prod()),))

    @property
    def action_space(self) -> Any:
        """The space of one machine's action."""
        return self._env.single_action_space

    def _flat(self, obs: torch.Tensor) -> torch.Tensor:
        obs = obs.clone() if obs.dtype == torch.float32 else obs.float() / 255
        return obs.reshape(self.num_envs, -1)

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """The observations; machines start once, and reset themselves from then on."""
        if self._last is None:
            obs, info = self._env.reset()
            self._last = self._flat(obs), info
        return self._last

    def step(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Any]:
        """(observations, rewards, terminated, truncated, info)."""
        obs, reward, terminated, truncated, info = self._env.step(actions.reshape(-1).to(torch.uint8))
        self._last = self._flat(obs), info
        return self._last[0], reward.clone()[:, None], terminated.clone()[:, None], truncated.clone()[:, None], info

    def state(self) -> torch.Tensor | None:
        """None: there is no state beside the observations."""
        return None

    def render(self, *_: Any, **__: Any) -> Any:
        """With render_mode="rgb_array": a picture of each machine."""
        return self._env.render()

    def close(self) -> None:
        """Free the swarm; twice is fine."""
        self._env.close()


def wrap(rom: Any = "STARFALL", num_envs: int = 1, **options: Any) -> Environment:
    """An environment for skrl's trainers. Options are those of dotmatrix.make."""
    options.setdefault("autoreset", "same_step")
    options.setdefault("finals", False)
    return Environment(VectorEnv(num_envs, rom, obs_as="torch", **options))
