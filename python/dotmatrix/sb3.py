# SPDX-License-Identifier: MIT
"""Stable-Baselines3: a swarm as its VecEnv.

    from stable_baselines3 import PPO
    from dotmatrix.sb3 import VecEnv

    model = PPO("MlpPolicy", VecEnv("STARFALL", 64, obs="vector", reward="reward.py"))

Arrays are NumPy's and copies, since SB3 keeps them. The last observation of an episode is
infos[i]["terminal_observation"], and infos[i]["TimeLimit.truncated"] says that only time ran out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from stable_baselines3.common.vec_env import VecEnv as Base

from .gym import VectorEnv

__all__ = ["VecEnv"]


class VecEnv(Base):
    """`num_envs` machines for Stable-Baselines3. Options are those of dotmatrix.make."""

    def __init__(self, rom: Any = "STARFALL", num_envs: int = 1, **options: Any) -> None:
        options.setdefault("device", "cpu")
        # Machines are reset here, once their last observation has been kept.
        self.env = VectorEnv(num_envs, rom, autoreset="disabled", **dict(options, obs_as=_host(options)))
        self._actions: numpy.ndarray | None = None
        self._returns = numpy.zeros(num_envs)
        self._lengths = numpy.zeros(num_envs, int)
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)

    @property
    def swarm(self) -> Any:
        """The Swarm."""
        return self.env.swarm

    def _observation(self, obs: Any) -> Any:
        if isinstance(obs, dict):
            return {name: _to_host(array) for name, array in obs.items()}
        return _to_host(obs)

    def reset(self) -> Any:
        """All machines from their start; the observations."""
        obs, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0, 0
        return self._observation(obs)

    def step_async(self, actions: numpy.ndarray) -> None:
        """Keep the actions for step_wait."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, numpy.ndarray, numpy.ndarray, list[dict[str, Any]]]:
        """(observations, rewards, dones, infos)."""
        obs, reward, terminated, truncated, _ = self.env.step(numpy.ascontiguousarray(self._actions, numpy.uint8))
        reward, terminated, truncated = _to_host(reward), _to_host(terminated), _to_host(truncated)
        done = terminated | truncated
        obs = self._observation(obs)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._returns += reward
        self._lengths += 1
        over = numpy.flatnonzero(done)
        for i in over:
            last = {name: array[i].copy() for name, array in obs.items()} if isinstance(obs, dict) else obs[i].copy()
            infos[i] = {
                "terminal_observation": last,
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                "episode": {"r": float(self._returns[i]), "l": int(self._lengths[i]), "t": 0.0},
            }
        if len(over):
            first, _ = self.env.reset(options={"reset_mask": done})
            obs = self._observation(first)
            self._returns[over], self._lengths[over] = 0, 0
        return obs, reward, done, infos

    def close(self) -> None:
        """Free the swarm; twice is fine."""
        self.env.close()

    def get_images(self) -> Sequence[numpy.ndarray | None]:
        """With render_mode="rgb_array": a picture of each machine."""
        pictures = self.env.render()
        return pictures if pictures is not None else [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environment, once for each index."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment, which all machines share."""
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the environment, once; its result for each index."""
        result = getattr(self.env, method_name)(*args, **kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False each: machines have no wrappers."""
        return [False for _ in self._get_indices(indices)]


def _host(options: dict[str, Any]) -> str:
    return "numpy" if str(options["device"]).startswith("cpu") else "torch"


def _to_host(array: Any) -> numpy.ndarray:
    if isinstance(array, numpy.ndarray):
        return array.copy()
    return array.detach().cpu().numpy()
