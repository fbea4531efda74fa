# SPDX-License-Identifier: MIT
"""A GPT's weights as others read them: safetensors' own loader, and the forward pass as Hugging Face's GPT2LMHeadModel
defines it, in numpy float64. Its loss on the run's validation text must be that of `dotmatrix train eval`.

    python3 tests/train/weights_peer.py runs/gpt-1 --data tinyshakespeare.txt

for a run of characters. Needs numpy and safetensors from PyPI."""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def norm(w, name, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"] + w[name + ".bias"]


def linear(w, name, x):
    """Conv1D: weights are [inputs][outputs]."""
    return x @ w[name + ".weight"] + w[name + ".bias"]


def attention(w, name, x, heads):
    t, c = x.shape
    q, k, v = (a.reshape(t, heads, c // heads).transpose(1, 0, 2)
               for a in np.split(linear(w, name + ".c_attn", x), 3, -1))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(c // heads)
    scores = np.where(np.tril(np.ones((t, t), bool)), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    y = scores / scores.sum(-1, keepdims=True) @ v
    return linear(w, name + ".c_proj", y.transpose(1, 0, 2).reshape(t, c))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def loss_of(w, config, tokens, target):
    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][:len(tokens)]
    for i in range(config["layers"]):
        block = f"transformer.h.{i}."
        x = x + attention(w, block + "attn", norm(w, block + "ln_1", x), config["heads"])
        x = x + linear(w, block + "mlp.c_proj", gelu(linear(w, block + "mlp.c_fc", norm(w, block + "ln_2", x))))
    logits = norm(w, "transformer.ln_f", x) @ w["transformer.wte.weight"].T
    logits -= logits.max(-1, keepdims=True)
    return (np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(target)), target]).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="a run's folder")
    parser.add_argument("--data", required=True, help="its text")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "src", "cli", "dotmatrix"))
    args = parser.parse_args()
    try:
        from safetensors.numpy import load_file
    except ImportError as error:
        sys.exit(f"weights_peer: {error}: install safetensors, or run this with an interpreter that has it")
    w = {name: a.astype(np.float64) for name, a in load_file(os.path.join(args.run, "model.safetensors")).items()}
    with open(os.path.join(args.run, "run.json"), encoding="utf-8") as file:
        config = json.load(file)["config"]
    with open(args.data, "rb") as file:
        text = np.frombuffer(file.read(), np.uint8)
    tokens = np.searchsorted(np.unique(text), text)
    train, t = len(tokens) - int(len(tokens) * config["validation"]), config["context"]
    windows = (len(tokens) - train - 1) // t
    if config["eval_windows"]:
        windows = min(windows, config["eval_windows"])
    starts = [train + i * t for i in range(windows)]
    theirs = float(np.mean([loss_of(w, config, tokens[s:s + t], tokens[s + 1:s + t + 1]) for s in starts]))
    ours = json.loads(subprocess.run([args.program, "train", "eval", args.run, "--json", "--data", args.data],
                                     check=True, stdout=subprocess.PIPE).stdout)["val_loss"]
    print(f"{sum(a.size for a in w.values())} weights in {len(w)} tensors; {windows} windows of {t}: "
          f"loss {ours:.6f}, by the file in numpy {theirs:.6f}, difference {abs(ours - theirs):.1e}")
    sys.exit(0 if abs(ours - theirs) < 1e-4 else 1)


if __name__ == "__main__":
    main()
