# SPDX-License-Identifier: MIT
"""The loop of reinforcement learning over a Swarm: reset, step, close, as Gymnasium's vector environments have it, but
without Gymnasium (dotmatrix.gym adds its spaces and classes)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _core
from .programs import as_program
from .swarm import Swarm

AUTORESETS = ("next_step", "same_step", "disabled")
_NAMES = {"NextStep": "next_step", "SameStep": "same_step", "Disabled": "disabled"}


def rom_path(name: str) -> str:
    """The path of a ROM that the package brings: "STARFALL"."""
    path = os.path.join(os.path.dirname(__file__), "roms", name.upper() + ".gb")
    if not os.path.exists(path):
        folder = os.path.dirname(path)
        there = sorted(f[:-3] for f in os.listdir(folder) if f.endswith(".gb")) if os.path.isdir(folder) else []
        raise _core.NotFound(f"no ROM '{name}' comes with the package; there are {', '.join(there) or 'none'}")
    return path


def reward_path(name: str) -> str:
    """The path of a reward program that the package brings: "starfall"."""
    folder = os.path.join(os.path.dirname(__file__), "rewards")
    path = os.path.join(folder, name.lower() + ".py")
    if not os.path.exists(path):
        there = sorted(f[:-3] for f in os.listdir(folder) if f.endswith(".py")) if os.path.isdir(folder) else []
        raise _core.NotFound(f"no reward '{name}' comes with the package; there are {', '.join(there) or 'none'}")
    return path


class VectorEnv:
    """`num_envs` machines as environments; what make() gives.

        obs, info = env.reset(seed=1)
        obs, reward, terminated, truncated, info = env.step(actions)

    All are arrays over the swarm's own memory, in the format of `obs_as`: the next step writes to them again. `swarm`
    is the Swarm itself. With same-step autoreset info["final_obs"] are the last observations of episodes that ended in
    the step, where info["_final_obs"] is true (`finals=False`: left out). With `episodes=True` info["episode"] has "r"
    and "l", return and length of each machine's episode, which is over where info["_episode"] is true.
    """

    def __init__(
        self, rom: Any, num_envs: int = 1, *, obs: str | Sequence[str] = "packed", autoreset: Any = "next_step",
        render_mode: str | None = None, finals: bool = True, episodes: bool = False, **options: Any,
    ) -> None:
        self.autoreset = _NAMES.get(getattr(autoreset, "value", autoreset), autoreset)
        if self.autoreset not in AUTORESETS:
            raise _core.InvalidArgument(f"autoreset={autoreset!r}: one of {', '.join(AUTORESETS)}")
        if render_mode not in (None, "rgb_array"):
            raise _core.InvalidArgument(f"render_mode={render_mode!r}: None or 'rgb_array'")
        names = (obs,) if isinstance(obs, str) else tuple(obs)
        if not names:
            raise _core.InvalidArgument("obs: an environment observes something")
        pictures = any(name in ("shades", "small", "packed") for name in names)
        hidden = ("shades",) if render_mode == "rgb_array" and not pictures else ()
        self.finals, self.episodes = finals and self.autoreset == "same_step", episodes
        self.swarm = Swarm(
            rom, num_envs, obs=names + hidden, autoreset=self.autoreset, finals=self.finals, episodes=episodes, **options
        )
        self.obs_names = names
        self.num_envs = num_envs
        self.actions = self.swarm.info["actions"]
        self.render_mode = render_mode
        self.closed = False

    def _observation(self, prefix=""):
        if len(self.obs_names) == 1:
            return self.swarm.output(prefix + self.obs_names[0])
        return {name: self.swarm.output(prefix + name) for name in self.obs_names}

    def _info(self):
        """What a step tells beside its arrays, without looking at them: masks say which machines it is about."""
        if not (self.finals or self.episodes):
            return {}
        info = {}
        if self.finals:
            info["final_obs"] = self._observation("final_")
        if self.episodes:
            info["episode"] = {"r": self.swarm.returns, "l": self.swarm.lengths}
        if self.swarm.obs_as != "dlpack":  # which has no operators
            done = self.swarm.terminated | self.swarm.truncated
            info.update({"_" + name: done for name in info})
        return info

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """First observations, and an info dict. Options: "reset_mask" (bool each: only these), "snapshots" (a number
        each: where to start). A machine starts the same whatever the seed; the seed is that of `np_random` alone."""
        options = options or {}
        unknown = set(options) - {"reset_mask", "snapshots"}
        if unknown:
            raise _core.InvalidArgument(f"reset: options 'reset_mask' and 'snapshots', not {sorted(unknown)}")
        mask, snapshots = options.get("reset_mask"), options.get("snapshots")
        if self.swarm.device.kind == "cuda" and (_on_host(mask) or _on_host(snapshots)):
            import numpy

            mask = numpy.ones(self.num_envs, bool) if mask is None else numpy.asarray(mask)
            machines = numpy.flatnonzero(mask)
            self.swarm.reset_machines(machines, None if snapshots is None else numpy.asarray(snapshots)[machines])
        else:
            self.swarm.reset(_as_bytes(mask), _as_words(snapshots))
        return self._observation(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """(obs, reward, terminated, truncated, info)."""
        swarm = self.swarm
        swarm.step(actions)
        return self._observation(), swarm.rewards, swarm.terminated, swarm.truncated, self._info()

    def render(self) -> tuple[Any, ...] | None:
        """With render_mode="rgb_array": a tuple of 144 x 160 x 3 pictures, one a machine."""
        if self.render_mode != "rgb_array":
            return None
        import numpy

        grey = numpy.array([255, 170, 85, 0], numpy.uint8)
        return tuple(
            numpy.repeat(grey[self.swarm.picture(i)][..., None], 3, axis=2) for i in range(self.num_envs)
        )

    def synchronize(self) -> None:
        """Wait for what is queued."""
        self.swarm.synchronize()

    def close(self, **_: Any) -> None:
        """Free the swarm; twice is fine."""
        self.closed = True
        self.swarm.close()

    def __enter__(self) -> VectorEnv:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<dotmatrix environment of {self.num_envs} machines{', closed' if self.closed else ''}>"


def _on_host(array):
    return array is not None and not hasattr(array, "__cuda_array_interface__") and not _is_device_array(array)


def _is_device_array(array):
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and device()[0] == 2


def _as_bytes(mask):
    if isinstance(mask, (list, tuple)):
        return bytes(bool(m) for m in mask)
    return mask


def _as_words(numbers):
    if numbers is None or not _on_host(numbers):
        return numbers
    import numpy

    return numpy.ascontiguousarray(numbers, dtype=numpy.uint32)


def make(
    rom: Any, num_envs: int = 1, *, device: Any = "cpu", obs: str | Sequence[str] = "packed", reward: Any = None,
    autoreset: Any = "next_step", **options: Any,
) -> VectorEnv:
    """An environment in one line.

        env = dm.make("game.gb", num_envs=4096, device="cuda", obs="packed", autoreset="same_step")

    `rom`: a path, bytes, or the name of a ROM that the package brings ("STARFALL"). `reward`: what a step is worth, and
    what ends an episode: a function (dotmatrix.programs), the path of a .py file with one, or "starfall". The other
    options are those of VectorEnv and Swarm.
    """
    if isinstance(rom, str) and rom.isidentifier() and not os.path.exists(rom):
        rom = rom_path(rom)
    if reward is not None:
        options.update(reward_options(reward))
    return VectorEnv(rom, num_envs, device=device, obs=obs, autoreset=autoreset, **options)


def reward_options(reward: Any) -> dict[str, Any]:
    """What `reward=` means to a Swarm: a program (a function, the path of a .py, or the name of one that the
    package brings), or an epilog in C (.c or .h)."""
    path = os.fspath(reward) if isinstance(reward, (str, os.PathLike)) else None
    if path is not None and path.isidentifier() and not os.path.exists(path):
        path = reward = reward_path(path)
    if path is not None and path.endswith((".c", ".h")):
        try:
            with open(path, encoding="utf-8") as file:
                return {"epilog": file.read()}
        except OSError as error:
            raise _core.NotFound(f"reward: {path}: {error.strerror}") from None
    return {"program": as_program(reward)}
