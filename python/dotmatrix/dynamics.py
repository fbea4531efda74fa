# SPDX-License-Identifier: MIT
"""Models that predict the course of a training run: an encoder of its samples, an ensemble of recurrent models,
rollouts.

    encoder, model = dynamics.Encoder(), dynamics.Model(members=5, hidden=64)
    trainer = dynamics.Trainer(model)
    for step, loss in enumerate(losses, 1):
        features = encoder.update(step=step, loss=loss)
        trainer.observe(features)
    future = model.rollout(features, steps=50, hidden=trainer.hidden)
    future.mean[0], future.total[0]              # 50 losses ahead, and how sure

Arrays are NumPy's, float32. docs/dynamics.md says what the features and the model are.
"""

from __future__ import annotations

import os
from typing import Any

import numpy

from . import _core
from .swarm import device as open_device

__all__ = ["FEATURES", "Encoder", "Model", "Rollout", "Trainer"]

FEATURES = 64
PARTS = ("W", "U", "B", "C", "projection", "head")


def _row(array: Any) -> numpy.ndarray:
    return numpy.ascontiguousarray(array, numpy.float32)


class Encoder:
    """Samples of a training run to 64 features. `losses` and `norms` are the longest windows it looks back."""

    def __init__(self, losses: int = 256, norms: int = 64) -> None:
        self._core = _core.Encoder(losses, norms)

    def update(
        self, *, step: int, loss: float, gradient_norm: float = 0.0, first_mean: float = 0.0, first_std: float = 0.0,
        second_mean: float = 0.0, second_std: float = 0.0, learning_rate: float = 0.0, beta1: float = 0.9,
        beta2: float = 0.999, phase: int = 1, phase_step: int = 0,
    ) -> numpy.ndarray:  # fmt: skip
        """Take one sample in (steps count from 1); the features of the run so far."""
        return numpy.frombuffer(
            self._core.update(
                step, loss, gradient_norm, first_mean, first_std, second_mean, second_std, learning_rate, beta1, beta2,
                phase, phase_step,
            ),
            numpy.float32,
        )  # fmt: skip

    def reset(self) -> None:
        """Forget everything."""
        self._core.reset()

    @property
    def passed(self) -> int:
        """How many samples had a value that is not finite."""
        return self._core.passed

    @property
    def state(self) -> bytes:
        """All that it knows; may be set."""
        return self._core.get_state()

    @state.setter
    def state(self, state: bytes) -> None:
        self._core.set_state(bytes(state))


class Rollout:
    """What Model.rollout gives, for R rollouts of Y steps by E members: `loss`, `entropy`, `hidden_norm` [R, E, Y],
    `hidden_last` [R, E, hidden], over the members `mean`, `deviation`, `total`, `confidence` [R, Y], `step_deltas`
    [R, Y-1]; `metrics` [R, 3] and `member_metrics` [R, E, 3]: variance, smoothness, mean step."""

    def __init__(self, parts: dict[str, bytes], count: int, members: int, steps: int, hidden: int) -> None:
        for name, data in parts.items():
            shape: tuple[int, ...] = (count, steps)
            if name in ("loss", "entropy", "hidden_norm"):
                shape = (count, members, steps)
            elif name == "hidden_last":
                shape = (count, members, hidden)
            elif name == "step_deltas":
                shape = (count, steps - 1)
            elif name == "metrics":
                shape = (count, 3)
            elif name == "member_metrics":
                shape = (count, members, 3)
            setattr(self, name, numpy.frombuffer(data, numpy.float32).reshape(shape))


class Model:
    """An ensemble of recurrent models. The same seed gives the same weights everywhere."""

    def __init__(
        self, members: int = 5, hidden: int = 256, stochastic: int = 32, input: int = FEATURES, *, reset_last: bool = False,
        projection: bool = False, seed: int = 0,
    ) -> None:  # fmt: skip
        self._core = _core.Dynamics(members, hidden, stochastic, input, reset_last, projection, seed)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """A model from a safetensors file of save()."""
        self = cls.__new__(cls)
        self._core = _core.Dynamics(path)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a safetensors file."""
        self._core.save(path)

    @property
    def config(self) -> dict[str, Any]:
        """Its sizes and kind."""
        return self._core.config

    def weights(self, member: int, part: str) -> numpy.ndarray:
        """A part of a member's weights over the model's own memory, so that it may be written: "W" [3, hidden, input],
        "U" [3, hidden, hidden] and "B" [3, hidden] with the gates z, r, n; "C" [hidden] with reset_last; "projection"
        [stochastic, hidden]; "head" [hidden + stochastic]."""
        if part not in PARTS:
            raise _core.InvalidArgument(f"weights: part {part!r}: one of {', '.join(PARTS)}")
        hidden = self.config["hidden"]
        shape = {"W": (3, hidden, -1), "U": (3, hidden, hidden), "B": (3, hidden), "projection": (-1, hidden)}.get(part, (-1,))
        return numpy.asarray(self._core.weights(member, PARTS.index(part))).reshape(shape)

    @property
    def shift(self) -> numpy.ndarray:
        """What is taken from each feature; over the model's own memory."""
        return numpy.asarray(self._core.shift())

    @property
    def scale(self) -> numpy.ndarray:
        """What each feature is then multiplied with; over the model's own memory."""
        return numpy.asarray(self._core.scale())

    def fit_scaling(self, features: Any) -> None:
        """Set shift and scale so that these features [count, input] come out with mean 0 and deviation 1."""
        self._core.fit_scaling(_row(features))

    def gru(self, member: int, x: Any, h: Any) -> numpy.ndarray:
        """One step of a member's cell: h' [batch, hidden] from x [batch, input] and h [batch, hidden]."""
        h = _row(h)
        return numpy.frombuffer(self._core.gru(member, _row(x), h), numpy.float32).reshape(h.shape)

    def import_torch(self, member: int, layer: Any) -> None:
        """Take over a torch.nn.GRU of one layer as a member of a model made with reset_last=True."""
        parts = [getattr(layer, name, None) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]
        self._core.import_torch(member, *(None if p is None else _row(p.detach().cpu().numpy()) for p in parts))

    def rollout(self, features: Any, steps: int = 50, hidden: Any = None, device: Any = None) -> Rollout:
        """Predict `steps` losses from features [input] or [R, input]; `hidden` [R, members, hidden], None: zeros. On
        the CPU, or on a device."""
        features, config = _row(features), self.config
        parts = self._core.rollout(
            features, steps, None if hidden is None else _row(hidden), None if device is None else open_device(device)
        )
        return Rollout(parts, features.size // config["input"], config["members"], steps, config["hidden"])


class Trainer:
    """Teaches a model: on sequences, or while a run goes on. Options are those of dm_dynamics_trainer_config."""

    def __init__(
        self, model: Model, *, optimiser: str = "adam", learning_rate: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
        epsilon: float = 1e-8, clip: float = 5.0, window: int = 1, threads: int = 1,
    ) -> None:  # fmt: skip
        if optimiser not in ("adam", "sgd"):
            raise _core.InvalidArgument(f"optimiser={optimiser!r}: 'adam' or 'sgd'")
        self.model = model
        self._core = _core.Trainer(model._core, optimiser == "sgd", learning_rate, beta1, beta2, epsilon, clip, window)
        self._core.set_threads(threads)

    def sequence(self, features: Any, targets: Any, start: int = 0) -> float:
        """One update from a run's features [forced, input] and the losses [steps] that follow each; the objective over
        the steps from `start` on."""
        targets = _row(targets)
        return self._core.sequence(_row(features), targets.size, start, targets)

    def observe(self, features: Any) -> float:
        """Follow a run: call it with the features after every step; the objective."""
        return self._core.observe(_row(features))

    @property
    def hidden(self) -> numpy.ndarray:
        """The hidden states [1, members, hidden] with which a rollout from the last features begins."""
        config = self.model.config
        return numpy.frombuffer(self._core.hidden(), numpy.float32).reshape(1, config["members"], config["hidden"])

    @property
    def skipped(self) -> int:
        """How many features observe() has skipped, since they were not finite."""
        return self._core.skipped

    def set_learning_rate(self, rate: float) -> None:
        """From now on."""
        self._core.set_learning_rate(rate)

    def restart(self) -> None:
        """Begin another run; weights stay."""
        self._core.restart()
