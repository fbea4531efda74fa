# SPDX-License-Identifier: MIT
"""Swarms: the same machines as one alone, arrays without copies, states, snapshots, and a safe life."""

import gc
import os
import threading

import numpy as np
import pytest

import dotmatrix as dm

N = 6


@pytest.fixture
def swarm(starfall):
    with dm.Swarm(starfall, N, device="cpu:2", obs=("packed", "shades"), snapshots=2, seed=3) as s:
        yield s


def test_shapes_and_types(swarm):
    assert swarm.rewards.shape == (N,) and swarm.rewards.dtype == np.float32
    assert swarm.terminated.dtype == bool and swarm.truncated.dtype == bool
    assert swarm.observations["packed"].shape == (N, 72, 20)
    assert swarm.observations["shades"].shape == (N, 144, 160)
    assert swarm.output("vector") is None


@pytest.mark.parametrize("obs,shape", [("vector", (N, 32)), ("small", (N, 72, 80)), ("packed", (N, 72, 20))])
def test_one_observation(starfall, obs, shape):
    with dm.Swarm(starfall, N, device="cpu:1", obs=obs) as s:
        assert s.observations.shape == shape


def test_stacks(starfall):
    with dm.Swarm(starfall, N, device="cpu:1", obs="packed", frame_stack=4) as s:
        assert s.observations.shape == (N, 4, 72, 20)


def test_regions(starfall):
    with dm.Swarm(starfall, N, device="cpu:1", obs="regions", regions=[(0xC000, 16), (0xFF80, 4)]) as s:
        s.step()
        assert s.observations.shape == (N, 20)
        assert bytes(s.observations[2][:16]) == s.read(2, 0xC000, 16)


def test_same_as_one_alone(swarm, starfall):
    codec = dm.codec_keys("buttons_v1")
    actions = np.array([0, 1, 3, 6, 7, 8], np.uint8)
    with dm.GameBoy(starfall) as gb:
        for _ in range(10):
            swarm.step(actions)
        for _ in range(10):
            gb.set_keys(codec[3])
            gb.run_frames(8, 0)
            gb.set_keys(0)
            gb.run_frames(16, 1)
        assert (swarm.output("shades")[2] == gb.screen.shades).all()
        assert swarm.read(2, 0xC000, 256) == bytes(gb.memory[0xC000:0xC100])
        assert swarm.registers([2])[0] == gb.registers()


def test_random_actions_repeat(swarm):
    swarm.step()
    swarm.step()
    first = swarm.output("shades").copy()
    swarm.reset()
    swarm.step()
    swarm.step()
    assert (swarm.output("shades") == first).all()


def test_no_copies(swarm):
    rewards = swarm.output("packed")
    address = rewards.ctypes.data
    swarm.step()
    assert swarm.output("packed").ctypes.data == address
    assert swarm._core.output(6).address == address


@pytest.mark.parametrize(
    "make",
    [
        bytes,
        bytearray,
        lambda a: memoryview(bytes(a)),
        lambda a: np.array(a, np.uint8),
        lambda a: np.array(a, np.int64),
        lambda a: np.array(a, np.int32),
        lambda a: np.array(a, np.uint16),
        lambda a: np.array(a, bool).astype(np.int8),
    ],
)
def test_actions_of_all_types(swarm, make):
    swarm.step(make([0, 1, 1, 0, 1, 0]))


@pytest.mark.parametrize(
    "actions,text",
    [
        (np.zeros(N - 1, np.uint8), "5 are given, the swarm has 6"),
        (np.zeros(N, np.float32), "integers, not floats"),
        (np.full(N, -1), "-1 at 0"),
        (np.full(N, 300), "300 at 0"),
        (np.full(N, 9, np.uint8), "9"),
        (np.zeros(2 * N, np.uint8)[::2], "contiguous"),
        ("text", "an array"),
        (7, "an array"),
        (object(), "an array"),
        ([0, 0, 0, 0, 0, 256], "0..255"),
        ([0.5] * N, "0..255"),
        ([0], "1 are given"),
    ],
)
def test_wrong_actions(swarm, actions, text):
    before = swarm.counters([0])
    with pytest.raises(dm.InvalidArgument, match=text):
        swarm.step(actions)
    assert swarm.counters([0]) == before


def test_masked_reset(swarm):
    for _ in range(5):
        swarm.step()
    mask = np.array([1, 0, 0, 1, 0, 0], np.uint8)
    swarm.reset(mask)
    cycles = [c["cycles"] for c in swarm.counters(list(range(N)))]
    assert cycles[0] == cycles[3] < cycles[1]


def test_snapshots(swarm):
    for _ in range(5):
        swarm.step()
    swarm.snapshot(2, 1)
    numbers = np.full(N, 1, np.uint32)
    swarm.step()
    swarm.reset(None, numbers)
    assert len({c["cycles"] for c in swarm.counters(list(range(N)))}) == 1
    memory = [swarm.read(i, 0xC000, 64) for i in range(N)]
    assert len(set(memory)) == 1
    swarm.reset_machines([0], [0])
    assert swarm.read(0, 0xC000, 64) != memory[1] or swarm.counters([0]) != swarm.counters([1])


@pytest.mark.parametrize("call", [lambda s: s.reset_machines([N]), lambda s: s.reset_machines([0], [2]),
                                  lambda s: s.reset_machines([0, 1], [0]), lambda s: s.snapshot(N, 1),
                                  lambda s: s.reset(np.zeros(N, np.float32)), lambda s: s.reset(np.zeros(3, np.uint8)),
                                  lambda s: s.read(N, 0), lambda s: s.read(0, 0xFFFF, 2), lambda s: s.registers([N]),
                                  lambda s: s.registers([-1]), lambda s: s.load_states([0], b"x"),
                                  lambda s: s.output("sound"), lambda s: s.picture(N)])
def test_wrong_numbers(swarm, call):
    with pytest.raises(dm.InvalidArgument):
        call(swarm)


def test_states(swarm):
    for _ in range(3):
        swarm.step()
    size = swarm.state_bytes
    states = swarm.save_states([1, 4])
    assert len(states) == 2 * size
    swarm.load_states([0, 2], states)
    assert swarm.read(0, 0xC000, 512) == swarm.read(1, 0xC000, 512)
    assert swarm.read(2, 0xC000, 512) == swarm.read(4, 0xC000, 512)


def test_state_of_a_swarm_in_a_gameboy(swarm, gb):
    swarm.step()
    gb.load_state(swarm.save_states([3]))
    assert bytes(gb.memory[0xC000:0xC100]) == swarm.read(3, 0xC000, 256)


def test_poke_and_read(swarm):
    swarm.poke(1, 0xC300, 7)
    swarm.poke(1, 0xC301, b"\x01\x02")
    assert swarm.read(1, 0xC300, 3) == b"\x07\x01\x02"
    assert swarm.read(0, 0xC300, 3) != b"\x07\x01\x02"


def test_save_and_load(swarm, tmp_path):
    swarm.step()
    swarm.save(tmp_path / "swarm.bin")
    before = swarm.output("shades").copy(), swarm.counters([0])
    swarm.step()
    swarm.load(tmp_path / "swarm.bin")
    assert swarm.counters([0]) == before[1]
    (tmp_path / "bad.bin").write_bytes(b"no swarm")
    with pytest.raises(dm.FormatError):
        swarm.load(tmp_path / "bad.bin")
    with pytest.raises(OSError):
        swarm.save("/nowhere/at/all")


def test_machine_file(swarm, tmp_path):
    swarm.step()
    swarm.save_machine(0, tmp_path / "one.state")
    swarm.snapshot_load(0, tmp_path / "one.state", 2)
    swarm.reset_machines([5], [2])
    assert swarm.read(5, 0xC000, 256) == swarm.read(0, 0xC000, 256)


def test_bind(swarm):
    mine = np.full((N, 72, 20), 99, np.uint8)
    swarm.bind("packed", mine)
    swarm.step()
    assert swarm.output("packed").ctypes.data == mine.ctypes.data
    assert (mine != 99).any()
    swarm.bind("packed", None)
    assert swarm.output("packed").ctypes.data != mine.ctypes.data
    with pytest.raises(dm.InvalidArgument, match="writable array"):
        swarm.bind("packed", np.zeros(3, np.uint8))


def test_bound_memory_lives(swarm):
    swarm.bind("packed", np.zeros((N, 72, 20), np.uint8))
    gc.collect()
    swarm.step()
    assert swarm.output("packed").any()


def test_picture(swarm):
    swarm.step()
    assert (swarm.picture(4) == swarm.output("shades")[4]).all()


def test_faults(swarm):
    assert swarm.faults() == {"actions": 0, "resets": 0, "observations": 0}
    swarm.reset(None, np.full(N, 2, np.uint32))  # an empty snapshot
    assert swarm.faults()["resets"] == N


def test_info(swarm):
    info = swarm.info
    assert info["count"] == N and info["codec"] == "buttons_v1" and info["actions"] == 9


def test_download(swarm):
    swarm.step()
    assert swarm.download("packed") == swarm.output("packed").tobytes()


@pytest.mark.parametrize("options,text", [({"stage": "some"}, "full_step"), ({"codec": "x"}, "buttons_v1"),
                                          ({"autoreset": "x"}, "next_step"), ({"colour": 1}, "no option 'colour'"),
                                          ({"frame_stack": 2**40}, "does not fit"), ({"frame_stack": 10000}, "stack"),
                                          ({"obs": "sound"}, "one of vector"), ({"start": "x"}, "post_boot"),
                                          ({"obs_as": "x"}, "torch, numpy"), ({"epilog": "reward = ;"}, "epilog|pointer|reward")])
def test_wrong_options(starfall, options, text):
    with pytest.raises(dm.Error, match=text):
        dm.Swarm(starfall, N, device="cpu:1", **options)


def test_no_machines(starfall):
    with pytest.raises(dm.InvalidArgument, match="at least 1"):
        dm.Swarm(starfall, 0)


def test_no_such_device(starfall):
    with pytest.raises(dm.Error):
        dm.Swarm(starfall, 1, device="abacus")


def test_two_roms(roms):
    with dm.Swarm([str(roms / "STARFALL.gb"), (roms / "ALU_LOOP.gb").read_bytes()], 4, device="cpu:1") as s:
        s.step()
        assert s.registers([0]) == s.registers([2]) != s.registers([1])


def test_step_limit_truncates(starfall):
    with dm.Swarm(starfall, 2, device="cpu:1", step_limit=3, autoreset="same_step") as s:
        flags = []
        for _ in range(6):
            s.step()
            flags.append(bool(s.truncated[0]))
        assert flags == [False, False, True] * 2


def test_close_and_use(swarm):
    array = swarm.output("packed")
    swarm.step()
    copy = array.copy()
    swarm.close()
    swarm.close()
    assert (array == copy).all()  # the memory is there while somebody looks at it
    for call in (swarm.step, swarm.reset, swarm.faults, lambda: swarm.rewards, lambda: swarm.info):
        with pytest.raises(dm.InvalidArgument, match="closed"):
            call()
    assert "closed" in repr(swarm)


def test_array_keeps_its_swarm(starfall):
    array = dm.Swarm(starfall, 2, device="cpu:1", obs="packed").observations
    gc.collect()
    assert array.shape == (2, 72, 20) and array.sum() >= 0


def test_fork_is_an_error(swarm):
    child = os.fork()
    if child == 0:
        try:
            swarm.step()
        except dm.InvalidArgument as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    swarm.step()


def test_gil_is_released(starfall):
    with dm.Swarm(starfall, 256, device="cpu:1", frames_per_step=600) as s:
        ticks, done = [], threading.Event()

        def count():
            while not done.is_set():
                ticks.append(1)
                done.wait(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        s.step()
        seen = len(ticks)
        done.set()
        thread.join()
        assert seen > 2


def test_two_threads_are_told(starfall):
    with dm.Swarm(starfall, 256, device="cpu:1", frames_per_step=600) as s:
        started = threading.Event()

        def run():
            started.set()
            s.step()

        thread = threading.Thread(target=run)
        thread.start()
        started.wait()
        errors = 0
        while thread.is_alive():
            try:
                s.registers([0])
            except dm.InvalidArgument as error:
                assert "another thread" in str(error)
                errors += 1
        thread.join()
        assert errors > 0


def test_stages(starfall):
    with dm.Swarm(starfall, 2, device="cpu:1", obs="packed", stage="emulate_only") as s:
        before = s.observations.copy()
        s.step()
        assert (s.observations == before).all() and s.counters([0])[0]["frames"] > 0


def test_warm_up(starfall):
    dm.Swarm.warm_up(starfall, 4, device="cpu:1")


def test_devices():
    assert dm.devices()[0]["kind"] == "cpu"
    assert dm.device("cpu").properties["name"]
    assert all(test["passed"] for test in dm.device("cpu:1").selftest())


def test_dlpack_format(starfall):
    with dm.Swarm(starfall, 2, device="cpu:1", obs="packed", obs_as="dlpack") as s:
        array = s.observations
        assert isinstance(array, dm.Array) and array.shape == (2, 72, 20) and array.device == "cpu"
        assert np.from_dlpack(array).ctypes.data == array.address


def test_actions_are_keys():
    keys = dm.codec_keys("buttons_v1")
    assert len(keys) == 9 and keys[0] == 0 and len(set(keys)) == 9
    assert len(dm.codec_keys("raw")) == 256


# ---- Many machines at once, starts ----


def test_read_and_poke_many(swarm):
    swarm.step(np.arange(N, dtype=np.uint8))
    addresses = [0xC000, 0xC007, 0xFF80]
    got = swarm.read_many(addresses)
    assert got.shape == (N, 3)
    for i in range(N):
        assert [swarm.read(i, a)[0] for a in addresses] == list(got[i])
    swarm.poke_many([0xC100, 0xC200], [[i, 2 * i] for i in range(N)])
    assert (swarm.read_many([0xC200])[:, 0] == 2 * np.arange(N)).all()
    swarm.poke_many([0xC100], [77], machines=[1, 3])
    assert list(swarm.read_many([0xC100], [0, 1, 3])[:, 0]) == [0, 77, 77]
    with pytest.raises(dm.InvalidArgument):
        swarm.read_many([0xFF40])
    with pytest.raises(dm.InvalidArgument, match="0..0xFFFF"):
        swarm.read_many([0x10000])
    with pytest.raises(ValueError):
        swarm.poke_many([0xC100, 0xC101], [1, 2, 3])


def test_starts_are_drawn(starfall):
    with dm.Swarm(starfall, 64, device="cpu:1", obs="vector", snapshots=3, step_limit=2, autoreset="same_step") as s:
        for i in (1, 2, 3):
            s.step(None)
            s.snapshot(0, i)
            s.poke_snapshots([i], [0xC123], [i])
        s.set_starts([1, 3], [1, 3])
        s.reset()
        found = np.bincount(s.read_many([0xC123])[:, 0], minlength=4)
        assert found[0] == found[2] == 0 and 0 < found[1] < found[3]
        with pytest.raises(dm.InvalidArgument, match="a weight for each"):
            s.set_starts([1, 2], [1])
        s.set_starts([])


def test_random_bytes_make_games(starfall):
    options = dict(device="cpu:1", obs="vector", frames_per_step=24)
    with dm.Swarm(starfall, 16, **options) as same, dm.Swarm(starfall, 16, random_bytes=[0xC009, 0xC123], **options) as other:
        assert same.count_starts(3) == 1
        assert len(set(other.read_many([0xC123])[:, 0])) > 4


def test_own_actions(starfall):
    with dm.Swarm(starfall, 2, device="cpu:1", obs="vector", action_keys=[0, 2, 17]) as s, dm.Swarm(
        starfall, 2, device="cpu:1", obs="vector", codec="raw"
    ) as raw:
        assert s.info["actions"] == 3
        for i in range(12):
            s.step([i % 3, 2])
            raw.step([[0, 2, 17][i % 3], 17])
        assert (s.observations == raw.observations).all()
        with pytest.raises(dm.InvalidArgument):
            s.step([3, 0])
