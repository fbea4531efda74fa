# SPDX-License-Identifier: MIT
"""Adapters to libraries of reinforcement learning: each beside a plain Swarm, and one short training where that is
quick. A library that is not installed skips its tests."""

import numpy as np
import pytest

import dotmatrix as dm

N, LIMIT = 6, 5
COMMON = {"device": "cpu:1", "step_limit": LIMIT, "frames_per_step": 4}


@pytest.fixture
def actions():
    return np.random.default_rng(1).integers(0, 9, (2 * LIMIT + 3, N))


@pytest.fixture
def expected(starfall, actions):
    """What a swarm without autoreset gives for these actions, machines being reset by hand when their time is over."""
    rows = []
    with dm.Swarm(starfall, N, obs="vector", autoreset="disabled", **COMMON) as swarm:
        for row in actions:
            swarm.step(row.astype(np.uint8))
            last, done = swarm.output("vector").copy(), (swarm.terminated | swarm.truncated).copy()
            result = swarm.rewards.copy(), swarm.terminated.copy(), swarm.truncated.copy()
            if done.any():
                swarm.reset(done)
            rows.append((swarm.output("vector").copy(), *result, last))
    assert sum(r[3].any() for r in rows) == 2
    return rows


def test_sb3_is_the_swarm(starfall, actions, expected):
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from dotmatrix.sb3 import VecEnv

    env = VecEnv(starfall, N, obs="vector", **COMMON)
    assert env.reset().shape == (N, 32)
    for row, (obs, reward, terminated, truncated, last) in zip(actions, expected):
        got, got_reward, done, infos = env.step(row)
        assert (got == obs).all() and (got_reward == reward).all() and (done == (terminated | truncated)).all()
        for i, info in enumerate(infos):
            assert ("terminal_observation" in info) == done[i]
            if done[i]:
                assert (info["terminal_observation"] == last[i]).all()
                assert info["TimeLimit.truncated"] == (truncated[i] and not terminated[i])
                assert info["episode"]["l"] == LIMIT
    assert env.get_attr("num_envs", [0, 2]) == [N, N] and env.env_is_wrapped(object) == [False] * N
    env.close()
    env.close()


def test_sb3_learns_something(starfall):
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from stable_baselines3.common.vec_env import VecMonitor

    from dotmatrix.sb3 import VecEnv

    env = VecMonitor(VecEnv(starfall, 4, obs="vector", **COMMON))
    model = sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    model.learn(128)
    assert model.num_timesteps == 128 and len(model.ep_info_buffer) > 0
    model.env.close()


def test_sb3_dictionaries_and_pictures(starfall):
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from dotmatrix.sb3 import VecEnv

    env = VecEnv(starfall, 2, obs=("small", "vector"), render_mode="rgb_array", **COMMON)
    obs = env.reset()
    for _ in range(LIMIT):
        obs, _, done, infos = env.step(np.zeros(2, int))
    assert done.all() and infos[0]["terminal_observation"]["small"].shape == (72, 80)
    assert obs["vector"].shape == (2, 32) and env.get_images()[1].shape == (144, 160, 3)
    env.close()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """PufferLib links its `resources` into the folder that it is imported in."""
    monkeypatch.chdir(tmp_path)


def test_puffer_is_the_swarm(starfall, actions, expected, elsewhere):
    vector = pytest.importorskip("pufferlib.vector", reason="PufferLib 3 is not installed")
    from dotmatrix.puffer import PufferEnv

    env = vector.make(PufferEnv, env_kwargs=dict(COMMON, rom=starfall, num_envs=N, obs="vector"))
    first, _ = env.reset()
    with dm.Swarm(starfall, N, obs="vector", **COMMON) as fresh:
        assert (first == fresh.output("vector")).all()
    where = env.observations.ctypes.data
    for row, (obs, reward, terminated, truncated, _) in zip(actions, expected):
        got, got_reward, got_terminated, got_truncated, infos = env.step(row.astype(np.int32))
        assert got.ctypes.data == where and env.swarm._core.output(3).address == where  # no copy
        assert (got == obs).all() and (got_reward == reward).all()
        assert (got_terminated == terminated).all() and (got_truncated == truncated).all()
        assert len(infos) == int((terminated | truncated).any())
    env.close()


def test_puffer_serial(starfall, elsewhere):
    vector = pytest.importorskip("pufferlib.vector", reason="PufferLib 3 is not installed")
    from dotmatrix.puffer import PufferEnv

    env = vector.make(
        PufferEnv, env_kwargs=dict(COMMON, rom=starfall, num_envs=2, obs="vector"), backend=vector.Serial, num_envs=2
    )
    env.async_reset(0)
    obs = env.recv()[0]
    assert obs.shape == (4, 32) and obs.any()
    before = obs.copy()
    env.send(np.zeros(4, np.int32))
    assert (env.recv()[0] != before).any()
    env.close()


def test_rsl_rl_is_the_swarm(starfall, actions, expected):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("rsl_rl", reason="RSL-RL is not installed")
    from dotmatrix.rsl_rl import VecEnv

    env = VecEnv(starfall, N, **COMMON)
    assert env.get_observations()["policy"].shape == (N, 32) and env.num_actions == 9
    for row, (obs, reward, terminated, truncated, _) in zip(actions, expected):
        logits = torch.nn.functional.one_hot(torch.tensor(row), 9).float()
        got, got_reward, done, extras = env.step(logits)
        assert (got["policy"].numpy() == obs).all() and (got_reward.numpy() == reward).all()
        assert (done.numpy() == (terminated | truncated)).all()
        assert (extras["time_outs"].numpy() == (truncated & ~terminated)).all()
    env.close()


def test_rsl_rl_keys(starfall):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("rsl_rl", reason="RSL-RL is not installed")
    from dotmatrix.rsl_rl import VecEnv

    env = VecEnv(starfall, 2, keys=True, **COMMON)
    buttons = -torch.ones(2, 8)
    buttons[1, 0] = buttons[1, 4] = 1.0  # right and A
    env.step(buttons)
    with dm.Swarm(starfall, 2, obs="vector", codec="raw", **COMMON) as plain:
        plain.step(np.array([0, 17], np.uint8))
        assert (plain.output("vector") == env.get_observations()["policy"].numpy()).all()
    env.close()


def test_rsl_rl_runner(starfall, tmp_path):
    pytest.importorskip("rsl_rl", reason="RSL-RL is not installed")
    from rsl_rl.runners import OnPolicyRunner

    from dotmatrix.rsl_rl import VecEnv

    model = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "tanh"}
    config = {
        "num_steps_per_env": 8, "save_interval": 100, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 1, "num_mini_batches": 2},
        "actor": dict(model, distribution_cfg={"class_name": "GaussianDistribution", "init_std": 1.0}), "critic": model,
    }  # fmt: skip
    env = VecEnv(starfall, N, **COMMON)
    OnPolicyRunner(env, config, log_dir=None, device="cpu").learn(2)
    env.close()


def test_skrl_is_the_swarm(starfall, actions, expected):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("skrl", reason="skrl is not installed")
    from dotmatrix.skrl import wrap

    env = wrap(starfall, N, obs="vector", **COMMON)
    first, _ = env.reset()
    assert first.shape == (N, 32) and env.num_envs == N and env.action_space.n == 9 and env.num_agents == 1
    assert env.observation_space.shape == (32,) and env.state() is None and env.device == torch.device("cpu")
    for row, (obs, reward, terminated, truncated, _) in zip(actions, expected):
        got = env.step(torch.tensor(row)[:, None])
        assert (got[0].numpy() == obs).all() and (got[1].numpy() == reward[:, None]).all()
        assert (got[2].numpy() == terminated[:, None]).all() and (got[3].numpy() == truncated[:, None]).all()
    assert env.reset()[0] is got[0]
    env.close()


def test_skrl_trains(starfall):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("skrl", reason="skrl is not installed")
    from skrl.agents.torch.dqn import DQN, DQN_CFG
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import DeterministicMixin, Model
    from skrl.trainers.torch import SequentialTrainer, SequentialTrainerCfg

    from dotmatrix.skrl import wrap

    class Net(DeterministicMixin, Model):
        def __init__(self, env):
            Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device=env.device)
            DeterministicMixin.__init__(self)
            self.net = torch.nn.Linear(32, 9)

        def compute(self, inputs, role):
            return self.net(inputs["observations"]), {}

    env = wrap(starfall, N, obs="vector", **COMMON)
    cfg = DQN_CFG()
    cfg.batch_size, cfg.learning_starts, cfg.random_timesteps = 8, 4, 4
    cfg.experiment.write_interval = cfg.experiment.checkpoint_interval = 0
    agent = DQN(
        models={"q_network": Net(env), "target_q_network": Net(env)}, memory=RandomMemory(memory_size=64, num_envs=N),
        cfg=cfg, observation_space=env.observation_space, action_space=env.action_space, device=env.device,
    )  # fmt: skip
    trainer = SequentialTrainer(env=env, agents=agent, cfg=SequentialTrainerCfg(timesteps=12, disable_progressbar=True))
    trainer.train()
    env.close()


def test_torchrl_is_the_swarm(starfall, actions, expected):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("torchrl", reason="torchrl is not installed")
    from dotmatrix.torchrl import Env

    env = Env(starfall, N, obs="vector", **COMMON)
    td = env.reset()
    for row, (obs, reward, terminated, truncated, last) in zip(actions, expected):
        td["action"] = torch.tensor(row)
        stepped, td = env.step_and_maybe_reset(td)
        assert (stepped["next", "observation"].numpy() == last).all()
        assert (stepped["next", "reward"].numpy() == reward[:, None]).all()
        assert (stepped["next", "done"].numpy() == (terminated | truncated)[:, None]).all()
        assert (td["observation"].numpy() == obs).all()
    env.close()


@pytest.mark.parametrize("obs", ["vector", "small", ("packed", "vector")])
def test_torchrl_specs(starfall, obs):
    pytest.importorskip("torchrl", reason="torchrl is not installed")
    from torchrl.envs.utils import check_env_specs

    from dotmatrix.torchrl import Env

    env = Env(starfall, 2, obs=obs, **COMMON)
    check_env_specs(env)
    rollout = env.rollout(2 * LIMIT, break_when_any_done=False)
    assert rollout.shape == (2, 2 * LIMIT) and rollout["next", "done"].sum() == 4
    env.close()


def test_jax_is_the_swarm(starfall, actions, expected):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from dotmatrix.jax import Env

    with Env(starfall, N, **COMMON) as env:

        @jax.jit
        def run(actions):
            return jax.lax.scan(lambda obs, a: (lambda r: (r[0], r))(env.step(a)), env.reset(), actions)

        last, (obs, reward, terminated, truncated) = run(jax.numpy.asarray(actions))
        last.block_until_ready()
        for i, row in enumerate(expected):
            for got, want in zip((obs, reward, terminated, truncated), row):
                assert (np.asarray(got[i]) == want).all()


def test_jax_outside_of_jit(starfall, actions, expected):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with dm.make(starfall, N, obs="vector", autoreset="same_step", obs_as="jax", **COMMON) as env:
        env.reset()
        for row, (obs, reward, *_) in zip(actions, expected):
            got = env.step(jax.numpy.asarray(row))
            assert (np.asarray(got[0]) == obs).all() and (np.asarray(got[1]) == reward).all()
