# SPDX-License-Identifier: MIT
"""torchrl: a swarm as an EnvBase.

    from dotmatrix.torchrl import Env
    env = Env("STARFALL", 1024, obs="small", device="cuda", reward="reward.py")
    env.rollout(100, break_when_any_done=False)

Tensors are on the swarm's device and are copies, since torchrl keeps them. A partial reset ("_reset") resets those
machines.
"""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from .env import make

__all__ = ["Env"]


class Env(EnvBase):
    """`num_envs` machines. Options are those of dotmatrix.make; several observations have a key each."""

    batch_locked = True

    def __init__(self, rom: Any = "STARFALL", num_envs: int = 1, **options: Any) -> None:
        self.env = make(rom, num_envs, autoreset="disabled", obs_as="torch", **options)
        device = self.env.swarm.device
        place = torch.device("cpu" if device.kind == "cpu" else f"cuda:{device.index}")
        super().__init__(device=place, batch_size=torch.Size([num_envs]))
        first = self._observation()
        self.observation_spec = Composite({name: _spec(value, place) for name, value in first.items()}, shape=[num_envs])
        self.action_spec = Categorical(self.env.actions, shape=(num_envs,), device=place, dtype=torch.int64)
        self.reward_spec = Unbounded((num_envs, 1), device=place)
        flag = Categorical(2, shape=(num_envs, 1), device=place, dtype=torch.bool)
        self.done_spec = Composite(
            {"done": flag, "terminated": flag.clone(), "truncated": flag.clone()}, shape=[num_envs], device=place
        )

    @property
    def swarm(self) -> Any:
        """The Swarm."""
        return self.env.swarm

    def _observation(self) -> dict[str, torch.Tensor]:
        obs = self.env._observation()
        if not isinstance(obs, dict):
            obs = {"observation": obs}
        return {name: value.clone() for name, value in obs.items()}

    def _flags(self, terminated: torch.Tensor, truncated: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            "terminated": terminated.clone()[:, None],
            "truncated": truncated.clone()[:, None],
            "done": (terminated | truncated)[:, None],
        }

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        if mask is None:
            self.env.reset()
        else:
            self.env.reset(options={"reset_mask": mask.reshape(-1).contiguous()})
        none = torch.zeros(self.batch_size, dtype=torch.bool, device=self.device)
        return TensorDict({**self._observation(), **self._flags(none, none)}, self.batch_size, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        _, reward, terminated, truncated, _ = self.env.step(tensordict["action"].to(torch.uint8))
        return TensorDict(
            {**self._observation(), "reward": reward.clone()[:, None], **self._flags(terminated, truncated)},
            self.batch_size,
            device=self.device,
        )

    def _set_seed(self, seed: int | None) -> None:
        """Machines start the same whatever the seed."""

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Free the swarm; twice is fine."""
        self.env.close()
        if not self.is_closed:
            super().close(*args, **kwargs)


def _spec(value: torch.Tensor, device: torch.device) -> Any:
    if value.dtype == torch.float32:
        return Unbounded(value.shape, device=device)
    return Bounded(0, 255, value.shape, device=device, dtype=value.dtype)
