# SPDX-License-Identifier: MIT
"""Accuracy of the CNN on MNIST's test images beside JAX's, with the same recipe and several seeds each.

    python3 bench/train_cnn_peer.py --data ../shared/data/mnist --seeds 5

`dotmatrix train report cnn` trains ours and prints its configuration; the peer trains the same model with it: AdamW,
the schedule, batches, first weights uniform in +-1/sqrt(inputs), images shuffled anew in each epoch. First weights and
order are each side's own, so the means over the seeds are what is compared. The images are those of `dotmatrix train
data --set mnist5k`, the test images those in --data. The interpreter needs jax."""
import argparse
import gzip
import json
import math
import os
import statistics
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "nn"))


def read_idx(folders, name):
    for folder in folders:
        for path, opener in ((os.path.join(folder, name), open), (os.path.join(folder, name + ".gz"), gzip.open)):
            if os.path.exists(path):
                with opener(path, "rb") as file:
                    raw = file.read()
                dimensions = raw[3]
                shape = np.frombuffer(raw, ">u4", dimensions, 4)
                return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
    sys.exit(f"train_cnn_peer: no {name} in {', '.join(folders)}")


def load(folders, part):
    images = read_idx(folders, f"{part}-images-idx3-ubyte").astype(np.float32)[:, None] / np.float32(255)
    return images, read_idx(folders, f"{part}-labels-idx1-ubyte").astype(np.int32)


def rate_at(c, step):
    """As src/nn/schedule.c has it."""
    if step < c["warmup"]:
        return c["rate"] * (step + 1) / c["warmup"]
    last, done = c["rate"] * c["rate_end"], (step - c["warmup"]) / (c["steps"] - c["warmup"])
    left = {"constant": 1, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[c["schedule"]]
    return c["rate"] if c["schedule"] == "constant" else last + left * (c["rate"] - last)


def train_jax(c, seed, train, test):
    import jax
    import jax.numpy as jnp
    import peer_models
    random = np.random.default_rng(seed)
    shapes = [(16, 1, 5, 5), (16,), (10, 2304), (10,)]
    bounds = [1 / math.sqrt(25)] * 2 + [1 / math.sqrt(2304)] * 2
    w = [jnp.array(random.uniform(-b, b, s).astype(np.float32)) for s, b in zip(shapes, bounds)]
    m, v = [jnp.zeros_like(a) for a in w], [jnp.zeros_like(a) for a in w]
    b1, b2, epsilon, decay = c["beta1"], c["beta2"], c["epsilon"], c["decay"]

    @jax.jit
    def step(w, m, v, t, rate, x, y):
        g = jax.grad(lambda w: peer_models.cnn_loss(w, None, x, y))(w)
        m = [b1 * a + (1 - b1) * d for a, d in zip(m, g)]
        v = [b2 * a + (1 - b2) * d * d for a, d in zip(v, g)]
        c1, c2 = 1 - b1 ** t, 1 - b2 ** t
        w = [a * (1 - rate * decay * (a.ndim > 1)) - rate * (b / c1) / (jnp.sqrt(s / c2) + epsilon)
             for a, b, s in zip(w, m, v)]
        return w, m, v

    order = np.empty(0, np.int64)
    for t in range(c["steps"]):
        while len(order) < c["batch"]:
            order = np.concatenate([order, random.permutation(len(train[0]))])
        chosen, order = order[:c["batch"]], order[c["batch"]:]
        w, m, v = step(w, m, v, jnp.float32(t + 1), jnp.float32(rate_at(c, t)), train[0][chosen], train[1][chosen])
    return accuracy(w, test)


def accuracy(w, test):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def outputs(w, x):
        y = jax.lax.conv_general_dilated(x, w[0], (1, 1), "VALID") + w[1][:, None, None]
        y = jax.nn.relu(y).reshape(-1, 16, 12, 2, 12, 2).max((3, 5))
        return y.reshape(-1, 2304) @ w[2].T + w[3]

    count = 0
    for at in range(0, len(test[0]), 1000):
        count += int((jnp.argmax(outputs(w, test[0][at:at + 1000]), 1) == test[1][at:at + 1000]).sum())
    return count / len(test[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder with the t10k files")
    parser.add_argument("--images", help="the folder with the train files [the cache folder's mnist5k]")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "src", "cli", "dotmatrix"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", help="write the result here")
    args = parser.parse_args()
    try:
        import jax
    except ImportError as error:
        sys.exit(f"train_cnn_peer: {error}: install jax, or run this with an interpreter that has it")
    cache = os.environ.get("DM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dotmatrix")
    folders = [args.images or os.path.join(cache, "data", "mnist5k"), args.data]
    ours = json.loads(subprocess.run(
        [args.program, "train", "report", "cnn", "--json", "--seeds", str(args.seeds), "--device", args.device,
         *[word for folder in folders for word in ("--data", folder)]], check=True, stdout=subprocess.PIPE).stdout)
    config = ours["config"]
    if config["optimiser"] != "adamw" or config["clip"] or config["average"] or config["channels"] != 16:
        sys.exit("train_cnn_peer: the peer knows the preset's optimiser and model only")
    train, test = load(folders, "train"), load(folders, "t10k")
    peer = []
    for seed in range(1, args.seeds + 1):
        peer.append(train_jax(config, seed, train, test))
        print(f"jax  seed {seed}: accuracy {peer[-1]:.4f}", flush=True)
    own = [s["accuracy"] for s in ours["seeds"]]
    for seed, value in enumerate(own, 1):
        print(f"ours seed {seed}: accuracy {value:.4f}")
    points = 100 * (statistics.mean(own) - statistics.mean(peer))
    print(f"{len(train[0])} images, {config['steps']} steps of {config['batch']}; on {len(test[0])}: "
          f"ours {100 * statistics.mean(own):.2f}%, JAX {jax.__version__} {100 * statistics.mean(peer):.2f}%, "
          f"difference {points:+.2f} points")
    if args.json:
        with open(args.json, "w") as out:
            json.dump({"config": config, "ours": own, "jax": peer, "version": jax.__version__, "points": points}, out,
                      indent=1)


if __name__ == "__main__":
    main()
