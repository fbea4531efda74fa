# SPDX-License-Identifier: MIT
"""dotmatrix.dynamics beside plain NumPy, and the parts that the command does: synth and train."""

import numpy as np
import pytest

import dotmatrix as dm
from dotmatrix import command, dynamics, synth, train

RNG = np.random.default_rng(5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.fixture
def model():
    return dynamics.Model(members=3, hidden=16, stochastic=4, input=8, seed=7)


def test_gru_is_numpys(model):
    x, h = RNG.normal(size=(5, 8)).astype(np.float32), RNG.normal(size=(5, 16)).astype(np.float32)
    for member in range(3):
        (wz, wr, wn), (uz, ur, un), (bz, br, bn) = (model.weights(member, p) for p in ("W", "U", "B"))
        z, r = sigmoid(x @ wz.T + h @ uz.T + bz), sigmoid(x @ wr.T + h @ ur.T + br)
        n = np.tanh(x @ wn.T + (r * h) @ un.T + bn)
        assert np.allclose(model.gru(member, x, h), (1 - z) * h + z * n, atol=1e-5)


def test_rollout(model):
    features = np.abs(RNG.normal(size=(2, 8))).astype(np.float32)
    out = model.rollout(features, steps=6)
    assert out.loss.shape == (2, 3, 6) and out.hidden_last.shape == (2, 3, 16) and out.metrics.shape == (2, 3)
    assert np.allclose(out.mean, out.loss.mean(1), rtol=1e-5)
    assert np.allclose(out.deviation, out.loss.std(1), rtol=1e-4, atol=1e-6)
    assert np.allclose(out.confidence, 1 / (1 + out.total), rtol=1e-5)
    assert np.allclose(out.step_deltas, np.abs(np.diff(out.mean)), rtol=1e-4, atol=1e-6)
    one = model.rollout(features[1], steps=6)
    assert (one.loss[0] == out.loss[1]).all()
    on = model.rollout(features, steps=6, device="cpu")
    assert np.allclose(on.loss, out.loss, rtol=1e-4)


def test_rollout_goes_on(model):
    features = np.ones(8, np.float32)
    whole, first = model.rollout(features, steps=5), model.rollout(features, steps=2)
    features[0] = 0  # feature 0 is the loss that is fed back, each member's own
    assert np.allclose(first.loss, whole.loss[:, :, :2])


def test_scaling(model):
    features = RNG.normal(3, 2, size=(500, 8)).astype(np.float32)
    model.fit_scaling(features)
    scaled = (features - model.shift) * model.scale
    assert np.allclose(scaled.mean(0), 0, atol=1e-3) and np.allclose(scaled.std(0), 1, atol=1e-2)
    model.scale[:] = 2  # the model's own memory
    assert (model.scale == 2).all()


def test_save_and_load(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    again = dynamics.Model.load(tmp_path / "model.safetensors")
    assert again.config == model.config
    x = np.ones(8, np.float32)
    assert (again.rollout(x).loss == model.rollout(x).loss).all()
    (tmp_path / "broken").write_bytes(b"no tensors here, only text that is long enough")
    with pytest.raises(dm.FormatError):
        dynamics.Model.load(tmp_path / "broken")


def test_torchs_layer():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    layer = torch.nn.GRU(8, 16)
    model = dynamics.Model(1, 16, 4, 8, reset_last=True)
    model.import_torch(0, layer)
    x, h = torch.randn(1, 5, 8), torch.randn(1, 5, 16)
    assert np.allclose(model.gru(0, x[0].numpy(), h[0].numpy()), layer(x, h)[0][0].detach().numpy(), atol=1e-5)


def test_learns_a_curve():
    """A run whose loss falls by a rule: after following it, the model predicts it better than before."""
    losses = (2 * 0.97 ** np.arange(120) + 0.1).astype(np.float32)
    encoder, model = dynamics.Encoder(), dynamics.Model(members=3, hidden=32, stochastic=8, seed=1)
    features = np.stack([encoder.update(step=i + 1, loss=float(loss)) for i, loss in enumerate(losses)])
    assert features.shape == (120, dynamics.FEATURES) and np.isfinite(features).all() and encoder.passed == 0
    model.fit_scaling(features)
    trainer = dynamics.Trainer(model, learning_rate=3e-3)
    first = trainer.sequence(features[:100], losses[1:101])
    for _ in range(30):
        last = trainer.sequence(features[:100], losses[1:101])
    assert last < first / 3
    for row in features:
        trainer.observe(row)
    assert trainer.skipped == 0 and trainer.hidden.shape == (1, 3, 32)
    trainer.restart()


def test_encoders_state():
    one, two = dynamics.Encoder(), dynamics.Encoder()
    for i in range(20):
        one.update(step=i + 1, loss=1 / (i + 1))
    two.state = one.state
    assert (one.update(step=21, loss=0.3) == two.update(step=21, loss=0.3)).all()
    with pytest.raises(dm.FormatError):
        two.state = b"short"
    one.update(step=22, loss=float("nan"))
    assert one.passed == 1
    one.reset()
    assert one.passed == 0


def test_wrong_models(model):
    with pytest.raises(dm.InvalidArgument, match="rows of 8"):
        model.rollout(np.ones(7, np.float32))
    with pytest.raises(dm.InvalidArgument, match="hidden"):
        model.rollout(np.ones(8, np.float32), hidden=np.ones(5, np.float32))
    with pytest.raises(dm.InvalidArgument, match="one of W, U"):
        model.weights(0, "Q")
    with pytest.raises(dm.InvalidArgument, match="has no part"):
        model.weights(9, "W")
    with pytest.raises(dm.InvalidArgument):
        dynamics.Model(members=0)
    with pytest.raises(dm.InvalidArgument, match="adam"):
        dynamics.Trainer(model, optimiser="magic")


@pytest.fixture
def binary():
    try:
        return command.find()
    except dm.Unavailable:
        pytest.skip("the command dotmatrix is not here")


def test_dataset(binary, tmp_path):
    found = synth.produce(tmp_path / "data", count=12, device="cpu", verify="none", seed=3)
    rows = list(synth.records(tmp_path / "data"))
    assert len(rows) == 12 and len({r["id"] for r in rows}) == 12 and found == synth.stats(tmp_path / "data")
    report = synth.validate(tmp_path / "data", level="compile", sample=2)
    assert report["valid"] and report["pairs"] == 12
    path = next((tmp_path / "data").glob("*.jsonl"))
    path.write_text(path.read_text()[:-200])
    assert not synth.validate(tmp_path / "data", level="none")["valid"]


def test_command_errors(binary, tmp_path):
    with pytest.raises(dm.InvalidArgument, match="verify"):
        synth.produce(tmp_path / "data", count=1, verify="perhaps")
    with pytest.raises(dm.InvalidArgument, match="one of xor"):
        train.run("go", out=tmp_path / "run")
    with pytest.raises(dm.NotFound, match="no run"):
        train.Run(tmp_path)


def test_no_command(monkeypatch):
    monkeypatch.setenv("DM_COMMAND", "/nowhere/dotmatrix")
    with pytest.raises(dm.Unavailable, match="/nowhere/dotmatrix"):
        command.run(["info"])


def test_training(binary, tmp_path):
    run = train.run("xor", out=tmp_path / "xor", seed=2, fields={"steps": 300})
    assert run.metrics[-1]["loss"] < run.metrics[0]["loss"]
    path = run.weights(tmp_path / "xor.safetensors")
    assert open(path, "rb").read(8)
