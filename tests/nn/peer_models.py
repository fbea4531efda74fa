# SPDX-License-Identifier: MIT
"""The models of peer_case.c in JAX: first weights and a batch by numpy, a step of AdamW as one compiled function.

    python3 tests/nn/peer_models.py gpt batch=2 time=16 --steps 10 --out DIR

writes weights.f32, input.bin, target.bin and losses.f32, the losses of so many steps on the one batch."""
import argparse
import os

import jax
import jax.numpy as jnp
import numpy as np

DEFAULTS = {
    "xor": {"batch": 4},
    "cnn": {"batch": 64},
    "gpt": {"batch": 8, "time": 128, "width": 128, "heads": 4, "layers": 4, "vocabulary": 65},
    "gru": {"batch": 8, "time": 32, "width": 64},
}
# rate, decay, largest norm of the gradients (0: any)
ADAMW = {"xor": (0.05, 0.0, 0.0), "cnn": (1e-3, 0.01, 0.0), "gpt": (1e-3, 0.1, 1.0), "gru": (1e-2, 0.01, 0.0)}


def sizes_of(name, words):
    sizes = dict(DEFAULTS[name])
    for word in words:
        key, value = word.split("=")
        sizes[key] = int(value)
    return sizes


def shapes(name, s):
    """The parameters in the order of dm_nn_model_parameter."""
    if name == "xor":
        return [(4, 2), (4,), (1, 4), (1,)]
    if name == "cnn":
        return [(16, 1, 5, 5), (16,), (10, 2304), (10,)]
    if name == "gru":
        return [(3 * s["width"], 5), (3 * s["width"],), (3 * s["width"], s["width"]), (1, s["width"]), (1,)]
    c = s["width"]
    block = [(c,), (c,), (3 * c, c), (3 * c,), (c, c), (c,), (c,), (c,), (4 * c, c), (4 * c,), (c, 4 * c), (c,)]
    return [(s["vocabulary"], c), (s["time"], c)] + s["layers"] * block + [(c,), (c,)]


def first_weights(name, s, seed=1):
    random = np.random.default_rng(seed)
    weights = []
    for i, shape in enumerate(shapes(name, s)):
        deviation = 0.05 if name == "gpt" else 1 / np.sqrt(np.prod(shape[1:]))
        weights.append((random.standard_normal(shape) * deviation).astype(np.float32))
    if name == "gpt":  # gains begin at 1
        for i in [2 + 12 * layer + k for layer in range(s["layers"]) for k in (0, 6)] + [2 + 12 * s["layers"]]:
            weights[i] += 1
    return weights


def batch(name, s, seed=2):
    random = np.random.default_rng(seed)
    b = s["batch"]
    if name == "xor":
        x = np.array([[i // 2 % 2, i % 2] for i in range(b)], np.float32)
        return x, np.array([[i // 2 % 2 ^ i % 2] for i in range(b)], np.float32)
    if name == "cnn":
        return random.random((b, 1, 28, 28), np.float32), random.integers(0, 10, b, np.int32)
    if name == "gru":
        x = random.standard_normal((b, s["time"], 5)).astype(np.float32)
        return x, np.tanh(np.cumsum(x[:, :, :1], 1) / 3).astype(np.float32)
    text = random.integers(0, s["vocabulary"], (b, s["time"] + 1), np.int32)
    return text[:, :-1].copy(), text[:, 1:].copy()


def norm(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gain + bias


def attention(qkv, heads):
    b, t, width = qkv.shape
    d = width // 3 // heads
    q, k, v = jnp.moveaxis(qkv.reshape(b, t, 3, heads, d), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(d)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(b, t, width // 3)


def cross_entropy(logits, target):
    chosen = jnp.take_along_axis(logits, target[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


def xor_loss(w, s, x, target):
    y = jnp.tanh(x @ w[0].T + w[1]) @ w[2].T + w[3]
    return (jax.nn.softplus(y) - y * target).mean()


def cnn_loss(w, s, x, target):
    # Channels last is the faster layout for XLA on a CPU; a maximum over reshaped axes is faster than reduce_window.
    y = jax.lax.conv_general_dilated(x.reshape(-1, 28, 28, 1), w[0].transpose(2, 3, 1, 0), (1, 1), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = jax.nn.relu(y + w[1])
    y = y.reshape(-1, 12, 2, 12, 2, 16).max((2, 4))
    return cross_entropy(y.transpose(0, 3, 1, 2).reshape(-1, 2304) @ w[2].T + w[3], target)


def gpt_loss(w, s, x, target):
    y = w[0][x] + w[1]
    for i in range(2, 2 + 12 * s["layers"], 12):
        n1, b1, wa, ba, wp, bp, n2, b2, wf, bf, wo, bo = w[i:i + 12]
        y = y + attention(norm(y, n1, b1) @ wa.T + ba, s["heads"]) @ wp.T + bp
        y = y + jax.nn.gelu(norm(y, n2, b2) @ wf.T + bf, approximate=True) @ wo.T + bo
    return cross_entropy(norm(y, w[-2], w[-1]) @ w[0].T, target)


def gru_loss(w, s, x, target):
    a = x @ w[0].T + w[1]
    uz, ur, un = jnp.split(w[2], 3)

    def step(h, a):
        az, ar, an = jnp.split(a, 3, -1)
        z, r = jax.nn.sigmoid(az + h @ uz.T), jax.nn.sigmoid(ar + h @ ur.T)
        h = (1 - z) * h + z * jnp.tanh(an + (r * h) @ un.T)
        return h, h

    _, h = jax.lax.scan(step, jnp.zeros((x.shape[0], s["width"])), jnp.moveaxis(a, 1, 0))
    return ((jnp.moveaxis(h, 0, 1) @ w[3].T + w[4] - target) ** 2).mean()


LOSSES = {"xor": xor_loss, "cnn": cnn_loss, "gpt": gpt_loss, "gru": gru_loss}


def make_step(name, s):
    """step(state, x, target) -> loss, state; the state is (weights, first moments, second moments, steps)."""
    rate, decay, clip = ADAMW[name]

    def step(state, x, target):
        w, m, v, t = state
        loss, g = jax.value_and_grad(lambda w: LOSSES[name](w, s, x, target))(w)
        t = t + 1
        if clip:
            size = jnp.sqrt(sum((d * d).sum() for d in g))
            g = [d * jnp.minimum(1, clip / size) for d in g]
        m = [0.9 * a + 0.1 * d for a, d in zip(m, g)]
        v = [0.999 * a + 0.001 * d * d for a, d in zip(v, g)]
        c1, c2 = 1 - 0.9 ** t, 1 - 0.999 ** t
        w = [a * (1 - rate * decay * (a.ndim > 1)) - rate * (b / c1) / (jnp.sqrt(c / c2) + 1e-8)
             for a, b, c in zip(w, m, v)]
        return loss, (w, m, v, t)

    return jax.jit(step, donate_argnums=0)


def first_state(weights):
    w = [jnp.array(a) for a in weights]
    return w, [jnp.zeros_like(a) for a in w], [jnp.zeros_like(a) for a in w], jnp.float32(0)


def write_case(name, s, folder):
    """Weights and batch, as peer_case.c and dm-bench-nn read them."""
    weights, (x, target) = first_weights(name, s), batch(name, s)
    np.concatenate([a.ravel() for a in weights]).tofile(os.path.join(folder, "weights.f32"))
    x.tofile(os.path.join(folder, "input.bin"))
    target.tofile(os.path.join(folder, "target.bin"))
    return weights, x, target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=sorted(DEFAULTS))
    parser.add_argument("sizes", nargs="*", help="batch=8, time=128, ...")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    s = sizes_of(args.model, args.sizes)
    weights, x, target = write_case(args.model, s, args.out)
    step, state, losses = make_step(args.model, s), first_state(weights), []
    for _ in range(args.steps):
        loss, state = step(state, x, target)
        losses.append(float(loss))
    np.array(losses, np.float32).tofile(os.path.join(args.out, "losses.f32"))


if __name__ == "__main__":
    main()
