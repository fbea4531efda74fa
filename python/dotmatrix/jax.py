# SPDX-License-Identifier: MIT
"""JAX: a swarm that is reset and stepped inside of jit, scan and the like, through an ordered callback.

    from dotmatrix.jax import Env
    env = Env("STARFALL", 1024, obs="vector", reward="reward.py")

    @jax.jit
    def rollout(key):
        def step(obs, key):
            actions = policy(obs, key)
            obs, reward, terminated, truncated = env.step(actions)
            return obs, (obs, reward)
        return jax.lax.scan(step, env.reset(), jax.random.split(key, 100))

Steps happen in the program's order, once each. Arrays pass through host memory: on a GPU a loop outside of jit, with
dm.make(..., obs_as="jax"), has them copied on the device instead. A swarm is a thing with state: do not vmap or
differentiate through it.

Where JAX itself computes on a GPU, a step may stand in jit, but not in scan or another loop: XLA (of JAX 0.11.2) ends
the process over an ordered callback there. Put the loop in Python, or let JAX compute on its CPU.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import numpy
from jax.experimental import io_callback

from . import _core
from .env import make

__all__ = ["Env"]


class Env:
    """`num_envs` machines. Options are those of dotmatrix.make, with one observation."""

    def __init__(
        self, rom: Any = "STARFALL", num_envs: int = 1, *, obs: str = "vector", autoreset: str = "same_step", **options: Any
    ) -> None:
        if not isinstance(obs, str):
            raise _core.InvalidArgument("dotmatrix.jax: one observation")
        self.env = make(rom, num_envs, obs=obs, autoreset=autoreset, finals=False, obs_as="dlpack", **options)
        self.num_envs, self.actions, self.name = num_envs, self.env.actions, obs
        array = self.env.swarm.output(obs)
        self._obs = jax.ShapeDtypeStruct(array.shape, numpy.dtype(array.typestr))
        self._reward = jax.ShapeDtypeStruct((num_envs,), numpy.float32)
        self._flag = jax.ShapeDtypeStruct((num_envs,), numpy.bool_)

    @property
    def swarm(self) -> Any:
        """The Swarm."""
        return self.env.swarm

    def _host(self, name: str, like: jax.ShapeDtypeStruct) -> numpy.ndarray:
        return numpy.frombuffer(self.swarm.download(name), like.dtype).reshape(like.shape)

    def reset(self) -> jax.Array:
        """All machines from their start; the observations."""

        def reset() -> numpy.ndarray:
            self.env.reset()
            return self._host(self.name, self._obs)

        return io_callback(reset, self._obs, ordered=True)

    def step(self, actions: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """(observations, rewards, terminated, truncated)."""

        def step(actions: Any) -> tuple[numpy.ndarray, ...]:
            actions = numpy.ascontiguousarray(actions, numpy.uint8)
            self.swarm.step(actions if self.swarm.device.kind == "cpu" else actions.tobytes())
            return (
                self._host(self.name, self._obs),
                self._host("rewards", self._reward),
                self._host("terminated", self._flag),
                self._host("truncated", self._flag),
            )

        results = (self._obs, self._reward, self._flag, self._flag)
        return tuple(io_callback(step, results, jax.numpy.asarray(actions), ordered=True))

    def close(self) -> None:
        """Free the swarm; twice is fine."""
        self.env.close()

    def __enter__(self) -> Env:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
