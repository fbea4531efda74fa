# SPDX-License-Identifier: MIT
"""Gymnasium 1.x: a VectorEnv of many machines, an Env of one, and their registered ids.

    import gymnasium
    envs = gymnasium.make_vec("dotmatrix/Starfall-v0", num_envs=64, obs="small")
    env = gymnasium.make("dotmatrix/GameBoy-v0", rom="game.gb", render_mode="rgb_array")
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from . import env as _env
from .swarm import OUTPUTS

_MODES = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP, "disabled": AutoresetMode.DISABLED}


def _space(name, swarm):
    """The space of one machine's observation."""
    shape = tuple(swarm._core.output(OUTPUTS[name]).shape[1:])
    if name == "vector":
        return spaces.Box(-numpy.inf, numpy.inf, shape, numpy.float32)
    return spaces.Box(0, 3 if name == "shades" else 255, shape, numpy.uint8)


def _observation_space(env):
    parts = {name: _space(name, env.swarm) for name in env.obs_names}
    return parts[env.obs_names[0]] if len(parts) == 1 else spaces.Dict(parts)


class VectorEnv(_env.VectorEnv, gymnasium.vector.VectorEnv):
    """dotmatrix's vector environment as Gymnasium's. Rewards are float32, as the device makes them; with
    `obs_as="torch"` all arrays are tensors."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 2.5, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs: int = 1, rom: Any = "STARFALL", **options: Any) -> None:
        if isinstance(rom, str) and rom.isidentifier():
            rom = _env.rom_path(rom)
        reward = options.pop("reward", None)
        if reward is not None:
            options.update(_env.reward_options(reward))
        _env.VectorEnv.__init__(self, rom, num_envs, **options)
        self.metadata = dict(
            type(self).metadata,
            autoreset_mode=_MODES[self.autoreset],
            render_fps=60 / self.swarm.info["frames_per_step"],
        )
        self.single_observation_space = _observation_space(self)
        self.single_action_space = spaces.Discrete(self.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """See dotmatrix.env.VectorEnv.reset."""
        if seed is not None:
            self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(
                seed if isinstance(seed, int) else int(seed[0])
            )
        return _env.VectorEnv.reset(self, seed=seed, options=options)

    def close_extras(self, **_: Any) -> None:
        """Nothing beyond close()."""

    def close(self, **_: Any) -> None:
        """Free the swarm; twice is fine."""
        _env.VectorEnv.close(self)


class Env(gymnasium.Env):
    """One machine as a Gymnasium environment; arrays are NumPy's and copies, so that they can be kept."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 2.5}

    def __init__(self, rom: Any = "STARFALL", render_mode: str | None = None, **options: Any) -> None:
        options.setdefault("device", "cpu:1")
        self._vector = VectorEnv(1, rom, autoreset="disabled", render_mode=render_mode, obs_as="numpy", **options)
        self.render_mode = render_mode
        self.metadata = {k: v for k, v in self._vector.metadata.items() if k != "autoreset_mode"}
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    @property
    def swarm(self) -> Any:
        """The Swarm of one machine."""
        return self._vector.swarm

    @staticmethod
    def _first(obs):
        return {k: v[0].copy() for k, v in obs.items()} if isinstance(obs, dict) else obs[0].copy()

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """The first observation, and an info dict."""
        super().reset(seed=seed)
        obs, info = self._vector.reset(options=options)
        return self._first(obs), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """(obs, reward, terminated, truncated, info)."""
        obs, reward, terminated, truncated, info = self._vector.step(numpy.array([action]))
        return self._first(obs), float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Any:
        """A 144 x 160 x 3 picture."""
        pictures = self._vector.render()
        return pictures[0] if pictures else None

    def close(self) -> None:
        """Free the machine; twice is fine."""
        self._vector.close()


def register() -> None:
    """Register the ids; Gymnasium calls this by itself where the package is installed."""
    for id, kwargs in (("dotmatrix/GameBoy-v0", {}), ("dotmatrix/Starfall-v0", {"rom": "STARFALL", "reward": "starfall"})):
        if id not in gymnasium.registry:
            gymnasium.register(
                id,
                entry_point="dotmatrix.gym:Env",
                vector_entry_point="dotmatrix.gym:VectorEnv",
                kwargs=kwargs,
                disable_env_checker=True,
            )


register()
