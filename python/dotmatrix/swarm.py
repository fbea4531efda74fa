# SPDX-License-Identifier: MIT
"""A swarm: many machines stepped together on one device, as dotmatrix/swarm.h has it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _core
from .arrays import choose_format, convert, current_stream, prepare_actions
from .programs import as_program

OUTPUTS = {
    "rewards": 0,
    "terminated": 1,
    "truncated": 2,
    "vector": 3,
    "shades": 4,
    "small": 5,
    "packed": 6,
    "regions": 7,
    "final_vector": 8,
    "final_shades": 9,
    "final_small": 10,
    "final_packed": 11,
    "final_regions": 12,
    "returns": 13,
    "lengths": 14,
}
OBSERVATIONS = {"vector": 1, "shades": 2, "small": 4, "packed": 8, "regions": 16}
STARTS = {"post_boot": 0, "boot_rom": 1, "zero": 2}

_devices = {}


def device(id: str | _core.Device = "cpu") -> _core.Device:
    """An open device: "cpu", "cpu:N" (N threads), "cuda", "cuda:N"; opened once in a process."""
    if isinstance(id, _core.Device):
        return id
    key = (os.getpid(), str(id))
    if key not in _devices:
        _devices[key] = _core.Device(str(id))
    return _devices[key]


_open = device  # where an argument has that name


def devices() -> list[dict[str, Any]]:
    """What devices there are, as dicts: the CPU, then CUDA's."""
    return _core.devices()


def codec_keys(codec: str) -> tuple[int, ...]:
    """The keys that each action of a codec presses: a tuple of masks (bit 0 right, left, up, down, A, B, select,
    start)."""
    return tuple(_core.codec_actions(codec))


def _rom(source, state=None):
    if isinstance(source, tuple):
        return _rom(*source)
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    return (source if isinstance(source, bytes) else os.fspath(source), None if state is None else os.fspath(state))


def _pokes(addresses, values, count):
    import numpy

    addresses = list(addresses)
    values = numpy.broadcast_to(numpy.asarray(values, numpy.uint8), (count, len(addresses)))
    return addresses, values.tobytes()


def _hook(symbols, hook):
    return _core.hook_parse(symbols, hook) if isinstance(hook, str) else tuple(hook)


def _describe(roms, obs, start, options):
    names = (obs,) if isinstance(obs, str) else tuple(obs or ())
    for name in names:
        if name not in OBSERVATIONS:
            raise _core.InvalidArgument(f"obs={name!r}: one of {', '.join(OBSERVATIONS)}")
    if start not in STARTS:
        raise _core.InvalidArgument(f"start={start!r}: one of {', '.join(STARTS)}")
    if isinstance(roms, (str, bytes, bytearray, memoryview, os.PathLike)) or isinstance(roms, tuple):
        roms = [roms]
    if options.get("program") is not None:
        options = dict(options, program=as_program(options["program"])._core)
    if options.get("action_keys") is not None:
        options = dict(options, action_keys=bytes(options["action_keys"]))
    symbols = options.pop("symbols", None)
    if options.get("hooks") is not None:
        options = dict(options, hooks=[_hook(symbols, hook) for hook in options["hooks"]])
    options = dict(options, start=STARTS[start], observations=sum(OBSERVATIONS[name] for name in names))
    return names, [_rom(rom) for rom in roms], options


class Swarm:
    """`count` machines on one device.

        swarm = dm.Swarm("game.gb", 1024, device="cuda", obs="packed")
        for _ in range(100):
            swarm.step(actions)              # one byte each; None: made up by the generator
        swarm.rewards, swarm.observations    # written again by each step: no copies

    `roms` is a path, the ROM's bytes, a tuple (ROM, path of a state to start from), or a list of these: machine i runs
    ROM i modulo their number. `obs` names observations: "vector", "shades", "small", "packed", "regions". The other
    options are the fields of dm_swarm_desc (docs/swarm.md): frames_per_step, release_after_frames, stage, codec,
    generator, seed, step_limit, autoreset, finals, episodes, frame_stack, regions [(address, size)], start, boot_rom,
    snapshots, random_bytes [addresses that get random values at each reset], action_keys [the keys of each action,
    instead of a codec's], keep_idle_loops, force_dmg, epilog, program, hooks, observation_size, first_machine,
    lanes_per_warp, block_threads, blocks_per_multiprocessor.

    `program` is a reward program (dm.program), a function or the path of a .py. `hooks` are places whose execution is
    noted, names of the file `symbols` or "01:4A2F", or pairs (bank or None, address); see hooks().

    `obs_as`: what arrays are: "torch", "numpy", "cupy", "jax", "dlpack"; None: NumPy on the CPU, torch on a GPU.

    On a GPU work is queued on the caller's current stream (torch's or CuPy's) and nothing waits, but the methods that
    give values back. A swarm belongs to one thread at a time.
    """

    def __init__(
        self, roms: Any, count: int, *, device: Any = "cpu", obs: str | Sequence[str] = (), obs_as: str | None = None,
        start: str = "post_boot", **options: Any,
    ) -> None:
        self.device = _open(device)
        self.obs_as = choose_format(obs_as, self.device.kind)
        self.program = None if options.get("program") is None else as_program(options["program"])
        self.obs_names, sources, options = _describe(roms, obs, start, options)
        self._core = _core.Swarm(self.device, sources, count, options)
        self._kind = self.device.kind
        self._index = self.device.index
        self._stream = None  # the native stream that was set, None: the device's own
        self._follow = self._kind == "cuda" and self.obs_as in ("torch", "cupy")
        self._views = {}
        self._held = None
        self.count = count

    @staticmethod
    def warm_up(
        roms: Any, count: int, *, device: Any = "cpu", obs: str | Sequence[str] = (), start: str = "post_boot", **options: Any
    ) -> None:
        """Compile the kernels that a swarm of this description needs, and nothing else, into the cache."""
        _, sources, options = _describe(roms, obs, start, options)
        _core.swarm_warm_up(_open(device), sources, count, options)

    # ---- Arrays ----

    def output(self, name: str) -> Any:
        """The array now bound to an output ("rewards", "packed" ...) in the format of `obs_as`; None: not there."""
        if name not in OUTPUTS:
            raise _core.InvalidArgument(f"output {name!r}: one of {', '.join(OUTPUTS)}")
        if self._core.closed:
            raise _core.InvalidArgument("Swarm: it is closed")
        if name not in self._views or self.obs_as == "jax":
            self._views[name] = convert(self._core.output(OUTPUTS[name]), self.obs_as)
        return self._views[name]

    @property
    def rewards(self) -> Any:
        """float32[count]"""
        return self.output("rewards")

    @property
    def terminated(self) -> Any:
        """bool[count]"""
        return self.output("terminated")

    @property
    def truncated(self) -> Any:
        """bool[count]"""
        return self.output("truncated")

    @property
    def final_observations(self) -> Any:
        """With finals=True and same-step autoreset: the observation before the reset, of machines whose episode ended
        in the last step; others keep what was there. As `observations`."""
        if len(self.obs_names) == 1:
            return self.output("final_" + self.obs_names[0])
        return {name: self.output("final_" + name) for name in self.obs_names} or None

    @property
    def returns(self) -> Any:
        """float32[count] with episodes=True: the sum of the rewards of the episode, the last step included; else
        None."""
        return self.output("returns")

    @property
    def lengths(self) -> Any:
        """uint32[count] with episodes=True: the steps of the episode, the last one included; else None."""
        return self.output("lengths")

    @property
    def observations(self) -> Any:
        """The observation, or a dict of them when `obs` names several; None when it names none."""
        if len(self.obs_names) == 1:
            return self.output(self.obs_names[0])
        return {name: self.output(name) for name in self.obs_names} or None

    def bind(self, name: str, array: Any) -> None:
        """Write this output to an array of the caller's from the next step on; None: back to the swarm's own."""
        self._core.bind(OUTPUTS[name], array)
        self._views.pop(name, None)

    def download(self, name: str) -> bytes:
        """An output as bytes. Waits."""
        return self._core.download(OUTPUTS[name])

    # ---- Streams ----

    @property
    def stream(self) -> int:
        """The CUDA stream that the swarm queues on, as a number."""
        return self._core.stream

    def set_stream(self, native: int | None, order: bool = True) -> None:
        """Queue on this CUDA stream (a number; None: the device's own) from now on, behind what was queued before. The
        swarm then no longer follows the caller's current stream."""
        self._core.set_stream(native, order)
        self._stream = native
        self._follow = False

    def _join_stream(self):
        stream = current_stream(self.obs_as, self._index)
        if stream != self._stream:
            order = True
            if self.obs_as == "torch":
                import torch

                order = not torch.cuda.is_current_stream_capturing()  # torch has synchronised before it captures
            self._core.set_stream(stream, order)
            self._stream = stream

    def synchronize(self) -> None:
        """Wait for what is queued."""
        self._core.synchronize()

    # ---- Stepping ----

    def step(self, actions: Any = None) -> None:
        """One step of every machine. `actions`: one integer each, any array or bytes; None: the generator's. On a GPU
        an action out of range is NOOP and counted in `faults`; in host memory it is an error and nothing is stepped."""
        if self._follow:
            self._join_stream()
        actions, address = prepare_actions(actions, self._kind)
        if address is None:
            self._core.step(actions)
            return
        if actions.numel() != self.count:
            raise _core.InvalidArgument(f"actions: {actions.numel()} are given, the swarm has {self.count} machines")
        if actions.device.index != self._index:
            raise _core.InvalidArgument(f"actions: lie on {actions.device}, the swarm on cuda:{self._index}")
        self._core.step_at(address)
        self._held = actions  # torch must not reuse the memory on another stream meanwhile

    def reset(self, mask: Any = None, snapshots: Any = None) -> None:
        """Reset machines with a mask byte other than 0 (None: all) to the snapshots of these numbers (None: each to the
        one it was last reset to). Both are arrays on the swarm's device, of bytes or bools and of 32-bit integers."""
        if self._follow:
            self._join_stream()
        if mask is None and snapshots is None:
            self._core.reset()
        else:
            self._core.reset(mask, snapshots)
            self._held = (mask, snapshots)

    def reset_machines(self, machines: Any, snapshots: Any = None) -> None:
        """Reset these machines; checked first, nothing is reset when a number is wrong."""
        self._core.reset_host(machines, snapshots)

    def faults(self) -> dict[str, int]:
        """How many actions, resets and observations were wrong since creation, as a dict. Waits."""
        return self._core.faults()

    # ---- Programs and hooks ----

    def set_program(self, program: Any) -> None:
        """Another reward program from now on; machines and episodes stay, its memory and metrics begin at zero. It is
        compiled alone, in some tenths of a second."""
        program = as_program(program)
        self._core.set_program(program._core)
        self.program = program

    def metrics(self, restart: bool = False) -> dict[str, dict[str, Any]]:
        """The program's metrics, a dict by name: `step` (mean over the machines in the last step), `last` and `sum`
        (means over the episodes that ended) and `episodes`. `restart`: episodes are counted anew. Waits."""
        if self.program is None:
            return {}
        found = self._core.metrics(len(self.program.info["metrics"]), restart)
        return {row.pop("name"): row for row in found}

    def hooks(self) -> Any:
        """For each machine a number whose bit i is set when hook i was met in the last step; NumPy's uint64. Waits."""
        import numpy

        return numpy.frombuffer(self._core.hooks(), numpy.uint64)

    @property
    def hook_bits(self) -> Any:
        """The same on the device in the format of `obs_as`, without waiting; None without hooks."""
        return convert(self._core.hook_bits(), self.obs_as)

    # ---- Looking into machines; all wait ----

    def registers(self, machines: Any) -> list[dict[str, Any]]:
        """The processor's registers, one dict a machine."""
        return self._core.registers(machines)

    def counters(self, machines: Any) -> list[dict[str, int]]:
        """Cycles, instructions, halted, frames: one dict a machine."""
        return self._core.counters(machines)

    def read(self, machine: int, address: int, size: int = 1) -> bytes:
        """Memory as bytes, as GameBoy.memory gives it."""
        return self._core.read(machine, address, size)

    def poke(self, machine: int, address: int, data: int | bytes) -> None:
        """Write a number or bytes."""
        self._core.poke(machine, address, bytes((data,)) if isinstance(data, int) else bytes(data))

    def read_many(self, addresses: Any, machines: Any = None) -> Any:
        """The bytes at these addresses of many machines (None: all): a NumPy array [machines, addresses]."""
        import numpy

        addresses = list(addresses)
        data = numpy.frombuffer(self._core.read_many(machines, addresses), numpy.uint8)
        return data.reshape(-1, len(addresses)) if addresses else data.reshape(-1, 0)

    def poke_many(self, addresses: Any, values: Any, machines: Any = None) -> None:
        """Write RAM of many machines (None: all): `values` [machines, addresses], or one for each address."""
        self._core.poke_many(machines, *_pokes(addresses, values, self.count if machines is None else len(machines)))

    def poke_snapshots(self, snapshots: Any, addresses: Any, values: Any) -> None:
        """The same in snapshots of these numbers."""
        self._core.poke_snapshots(snapshots, *_pokes(addresses, values, len(snapshots)))

    def picture(self, machine: int) -> Any:
        """144 x 160 shades, 0 (light) to 3 (dark), as a NumPy array of its own."""
        import numpy

        return numpy.frombuffer(self._core.picture(machine), dtype=numpy.uint8).reshape(144, 160)

    @property
    def state_bytes(self) -> int:
        """Bytes of one machine's state."""
        return self._core.state_bytes()

    def save_states(self, machines: Any) -> bytes:
        """The states of machines as bytes, one after the other, `state_bytes` each."""
        return self._core.save_states(machines)

    def load_states(self, machines: Any, states: bytes) -> None:
        """Put machines into states; all are checked before one machine changes."""
        self._core.load_states(machines, bytes(states))

    def save_machine(self, machine: int, path: str | os.PathLike[str]) -> None:
        """One machine as a file that GameBoy.load_state reads."""
        self._core.save_machine(machine, path)

    # ---- Snapshots and files ----

    def set_starts(self, snapshots: Any, weights: Any = None) -> None:
        """From now on autoreset, and resets that name no snapshot, draw from these, each by its weight. None of them:
        each machine starts from the snapshot that it was last reset to, as at first."""
        if weights is not None:
            import numpy

            weights = numpy.ascontiguousarray(weights, numpy.float32)
        self._core.set_starts(snapshots, weights)

    def count_starts(self, steps: int = 10) -> int:
        """How many different games there are: all machines are reset, then press the same keys for so many steps; those
        that were observed alike all the time were the same. All are reset again."""
        return self._core.count_starts(steps)

    def snapshot(self, machine: int, number: int) -> None:
        """Keep a machine as it is as snapshot `number`, on the device. Numbers from 0 are the ROMs' starts, the
        `snapshots` of the constructor follow."""
        self._core.snapshot(machine, number)

    def snapshot_load(self, rom: int, path: str | os.PathLike[str], number: int) -> None:
        """A snapshot from a file of save_machine."""
        self._core.snapshot_load(rom, path, number)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The whole swarm in one file. Waits."""
        self._core.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """The swarm from a file of save; anything but a file of such a swarm is refused and changes nothing."""
        self._core.load(path)

    # ---- Life ----

    @property
    def info(self) -> dict[str, Any]:
        """Count, sizes, codec and the kernel's figures, as a dict."""
        return self._core.info

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._core.closed

    def close(self) -> None:
        """Free the swarm; twice is fine. Its memory goes when no array looks at it any more."""
        self._views = {}
        self._held = None
        self._core.close()

    def __enter__(self) -> Swarm:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        if self._core.closed:
            return "<dotmatrix.Swarm, closed>"
        return f"<dotmatrix.Swarm of {self.count} machines on {self.device.properties['id']}>"
