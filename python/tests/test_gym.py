# SPDX-License-Identifier: MIT
"""make(), and Gymnasium's contract: spaces, autoreset modes, checkers, registered ids."""

import os

import numpy as np
import pytest

import dotmatrix as dm

gymnasium = pytest.importorskip("gymnasium")
import dotmatrix.gym as dmgym  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

N = 3


def test_three_lines(starfall):
    env = dm.make(starfall, num_envs=N, device="cpu:1", obs="packed", autoreset="same_step")
    obs, info = env.reset(seed=1)
    obs, reward, terminated, truncated, info = env.step(np.zeros(N, np.uint8))
    assert obs.shape == (N, 72, 20) and reward.dtype == np.float32
    assert terminated.dtype == truncated.dtype == bool
    env.close()
    env.close()
    with pytest.raises(dm.InvalidArgument, match="closed"):
        env.step(None)


def test_make_by_name():
    with dm.make("starfall", 1, device="cpu:1") as env:
        assert env.reset()[0].shape == (1, 72, 20)
    with pytest.raises(dm.NotFound, match="STARFALL"):
        dm.make("tetris", 1)


def test_several_observations(starfall):
    with dm.make(starfall, N, device="cpu:1", obs=("small", "vector"), frame_stack=2) as env:
        obs, _ = env.reset()
        assert obs["small"].shape == (N, 2, 72, 80) and obs["vector"].shape == (N, 32)


@pytest.mark.parametrize("obs", ["packed", "small", "shades", "vector", ("packed", "vector")])
def test_spaces_hold_what_comes(starfall, obs):
    env = dmgym.VectorEnv(N, starfall, obs=obs, device="cpu:1")
    first, _ = env.reset(seed=2)
    assert env.observation_space.contains(first)
    env.action_space.seed(1)
    for _ in range(5):
        second, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(second)
    assert env.single_action_space.n == 9 and env.num_envs == N
    env.close()


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled", *AutoresetMode])
def test_autoreset_modes(starfall, mode):
    env = dmgym.VectorEnv(2, starfall, obs="packed", device="cpu:1", autoreset=mode, step_limit=3)
    name = getattr(mode, "name", str(mode)).lower()
    assert env.metadata["autoreset_mode"].name.lower() == name
    first = env.reset()[0].copy()
    ends, same = [], []
    for _ in range(8):
        obs, reward, terminated, truncated, info = env.step(np.zeros(2, np.int64))
        ends.append(bool(truncated[0]))
        same.append(bool((obs == first).all()))
    if name == "next_step":  # the step after the end gives the first observation
        assert ends[:4] == [False, False, True, False] and same[3]
    elif name == "same_step":
        assert ends[:6] == [False, False, True] * 2 and same[2]
    else:
        assert ends[2] and ends[3]
    env.close()


def test_reset_mask(starfall):
    env = dmgym.VectorEnv(2, starfall, device="cpu:1", autoreset="disabled")
    env.reset()
    for _ in range(3):
        env.step(np.zeros(2, int))
    env.reset(options={"reset_mask": np.array([True, False])})
    a, b = env.swarm.counters([0, 1])
    assert a["cycles"] < b["cycles"]
    with pytest.raises(dm.InvalidArgument, match="reset_mask"):
        env.reset(options={"mask": 1})
    env.close()


def test_reset_to_snapshots(starfall):
    with dm.make(starfall, 2, device="cpu:1", snapshots=1, autoreset="disabled") as env:
        env.reset()
        for _ in range(4):
            env.step([8, 8])
        env.swarm.snapshot(1, 1)
        env.reset(options={"snapshots": [1, 1]})
        assert env.swarm.read(0, 0xC000, 64) == env.swarm.read(1, 0xC000, 64)


def test_render(starfall):
    env = dmgym.VectorEnv(2, starfall, obs="vector", device="cpu:1", render_mode="rgb_array")
    env.reset()
    for _ in range(5):
        env.step([0, 0])
    pictures = env.render()
    assert len(pictures) == 2 and pictures[0].shape == (144, 160, 3) and pictures[0].std() > 0
    assert "shades" not in env.observation_space.spaces if hasattr(env.observation_space, "spaces") else True
    env.close()


def test_single_env_checker(starfall):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("dotmatrix/GameBoy-v0", rom=starfall, obs="small", render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


def test_passive_checker(starfall):
    from gymnasium.wrappers import PassiveEnvChecker

    env = PassiveEnvChecker(dmgym.Env(starfall, obs="packed"))
    env.reset(seed=1)
    for _ in range(3):
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert isinstance(reward, float) and isinstance(terminated, bool)
    env.close()


def test_registered_ids():
    env = gymnasium.make("dotmatrix/Starfall-v0")
    env.reset(seed=1)
    env.close()
    envs = gymnasium.make_vec("dotmatrix/Starfall-v0", num_envs=4, obs="small", device="cpu:1")
    assert type(envs).__module__ == "dotmatrix.gym" and envs.num_envs == 4
    obs, _ = envs.reset(seed=3)
    assert obs.shape == (4, 72, 80)
    envs.close()


def test_vectors_of_single_envs():
    envs = gymnasium.make_vec("dotmatrix/Starfall-v0", num_envs=2, vectorization_mode="sync")
    obs, _ = envs.reset(seed=3)
    assert obs.shape == (2, 72, 20)
    envs.step(envs.action_space.sample())
    envs.close()


def test_single_as_vector(starfall):
    """The same machine in both: the single one is the vector's first."""
    one, many = dmgym.Env(starfall, obs="small"), dmgym.VectorEnv(2, starfall, obs="small", device="cpu:1")
    a, b = one.reset()[0], many.reset()[0]
    assert (a == b[0]).all()
    for action in (8, 0, 7, 3):
        a = one.step(action)
        b = many.step([action, 0])
        assert (a[0] == b[0][0]).all() and a[1] == b[1][0]
    one.close()
    many.close()


@pytest.mark.parametrize("options,text", [({"autoreset": "never"}, "next_step"), ({"render_mode": "human"}, "rgb_array"),
                                          ({"obs": ()}, "observes"), ({"reward": "x.c"}, "x.c"), ({"reward": 7}, "a function")])
def test_wrong(starfall, options, text):
    with pytest.raises(dm.Error, match=text):
        dm.make(starfall, 1, device="cpu:1", **options)


@pytest.mark.skipif("DM_TEST_SLOW" not in os.environ, reason="compiles the emulator with its epilog: a minute; DM_TEST_SLOW=1")
def test_epilog_as_reward(starfall, tmp_path):
    (tmp_path / "score.c").write_text("*reward = (float)dm_swarm_peek(view, 0xC003);\n*terminated = dm_swarm_peek(view, 0xC000) == 1;\n")
    with dm.make(starfall, 1, device="cpu:1", reward=tmp_path / "score.c", autoreset="disabled") as env:
        env.reset()
        for action in (0, 3, 3, 3):
            _, reward, terminated, _, _ = env.step([action])
        assert terminated[0] and reward[0] == env.swarm.read(0, 0xC003)[0]


@pytest.mark.parametrize("obs", ["packed", "vector", ("small", "vector")])
def test_final_observations(starfall, obs):
    """What same-step autoreset replaces is in final_obs, as a swarm without autoreset shows it."""
    options = dict(device="cpu:1", obs=obs, frames_per_step=8, step_limit=4)
    with dmgym.VectorEnv(N, starfall, autoreset="same_step", episodes=True, **options) as env, dm.make(
        starfall, N, autoreset="disabled", **options
    ) as plain:
        env.reset(seed=1)
        plain.reset()
        for step in range(1, 9):
            row = np.array([step % 9, 3, (2 * step) % 9], np.uint8)
            _, reward, terminated, truncated, info = env.step(row)
            expected, *_ = plain.step(row)
            done = step % 4 == 0
            assert (info["_final_obs"] == done).all() and (info["_episode"] == done).all()
            assert (info["episode"]["l"] == (step - 1) % 4 + 1).all()
            if done:
                for name in (obs,) if isinstance(obs, str) else obs:
                    got = info["final_obs"] if isinstance(obs, str) else info["final_obs"][name]
                    want = expected if isinstance(obs, str) else expected[name]
                    assert got.shape == want.shape and (got == want).all()
                assert env.observation_space.contains(info["final_obs"])
                plain.reset()


def test_no_finals(starfall):
    for options in ({"autoreset": "same_step", "finals": False}, {"autoreset": "next_step"}):
        with dm.make(starfall, N, device="cpu:1", obs="vector", **options) as env:
            env.reset()
            assert env.step(np.zeros(N, np.uint8))[-1] == {}
            assert env.swarm.output("final_vector") is None and env.swarm.returns is None


def test_returns(starfall):
    with dm.make(starfall, N, device="cpu:1", reward="starfall", episodes=True, step_limit=50) as env:
        env.reset()
        total = np.zeros(N, np.float32)
        for _ in range(50):
            _, reward, _, truncated, info = env.step(np.array([3, 4, 7], np.uint8))
            total += reward
        assert np.allclose(info["episode"]["r"], total, atol=1e-4)


def test_plain_arrays(starfall):
    """obs_as="dlpack", what there is without NumPy."""
    with dm.make(starfall, N, device="cpu:1", obs="vector", obs_as="dlpack", autoreset="same_step", episodes=True) as env:
        env.reset()
        info = env.step(bytes(N))[-1]
        assert set(info) == {"final_obs", "episode"} and isinstance(info["final_obs"], dm.Array)
