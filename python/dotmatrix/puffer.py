# SPDX-License-Identifier: MIT
"""PufferLib 3: a swarm as a native PufferEnv, without emulation.

    import pufferlib.vector
    from dotmatrix.puffer import PufferEnv

    env = pufferlib.vector.make(PufferEnv, env_kwargs={"rom": "STARFALL", "num_envs": 1024})

The swarm writes to PufferLib's own buffers. (For PufferLib 5, whose environments are C or CUDA, see
examples/puffer.)
"""

from __future__ import annotations

from typing import Any

import numpy
import pufferlib

from . import _core
from .gym import VectorEnv

__all__ = ["PufferEnv"]

_SHARED = {"rewards": "rewards", "terminals": "terminated", "truncations": "truncated"}


class PufferEnv(pufferlib.PufferEnv):
    """`num_envs` machines, as many agents. Options are those of dotmatrix.make, on the CPU."""

    def __init__(
        self, rom: Any = "STARFALL", num_envs: int = 1, obs: str = "small", buf: Any = None, seed: int = 0, **options: Any
    ) -> None:
        if not isinstance(obs, str):
            raise _core.InvalidArgument("PufferEnv: one observation, PufferLib has no more")
        self.env = VectorEnv(num_envs, rom, obs=obs, autoreset="same_step", finals=False, obs_as="numpy", seed=seed, **options)
        self.single_observation_space = self.env.single_observation_space
        self.single_action_space = self.env.single_action_space
        self.num_agents = num_envs
        super().__init__(buf)
        for theirs, ours in (*_SHARED.items(), ("observations", obs)):
            self.env.swarm.bind(ours, getattr(self, theirs))
        self._returns = numpy.zeros(num_envs)
        self._lengths = numpy.zeros(num_envs, int)

    @property
    def swarm(self) -> Any:
        """The Swarm."""
        return self.env.swarm

    def reset(self, seed: int | None = None) -> tuple[numpy.ndarray, list[dict[str, Any]]]:
        """All machines from their start; (observations, [])."""
        self.env.reset()
        self.rewards[:], self.terminals[:], self.truncations[:] = 0, False, False
        self._returns[:], self._lengths[:] = 0, 0
        return self.observations, []

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, list[dict[str, Any]]]:
        """(observations, rewards, terminals, truncations, infos); infos has one dict when episodes ended."""
        self.actions[:] = actions
        self.env.swarm.step(self.actions)
        self._returns += self.rewards
        self._lengths += 1
        over = self.terminals | self.truncations
        infos = []
        if over.any():
            infos.append(
                {"episode_return": float(self._returns[over].mean()), "episode_length": float(self._lengths[over].mean())}
            )
            self._returns[over], self._lengths[over] = 0, 0
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def close(self) -> None:
        """Free the swarm; twice is fine."""
        self.env.close()
