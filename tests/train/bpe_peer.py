# SPDX-License-Identifier: MIT
"""GPT-2's byte-pair encoding beside another implementation's: tiktoken's merges, cut into words by the regex module
with GPT-2's own expression. Both read the vocabulary of `dotmatrix train data --set gpt2`.

    python3 tests/train/bpe_peer.py ../shared/data/tinyshakespeare.txt

compares the files named, bytes drawn at random (most of them no valid UTF-8: a byte that is part of no character counts
as one that is neither letter, number nor space), and characters drawn at random. Needs tiktoken and regex from PyPI."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def bytes_of_characters():
    """GPT-2 writes each byte of a token as one visible character."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in visible}
    for n, b in enumerate(b for b in range(256) if b not in visible):
        table[chr(256 + n)] = b
    return table


def peer(folder):
    import regex
    import tiktoken
    table = bytes_of_characters()
    with open(os.path.join(folder, "encoder.json"), encoding="utf-8") as file:
        ranks = {bytes(table[c] for c in token): n for token, n in json.load(file).items() if token != "<|endoftext|>"}
    encoding = tiktoken.Encoding("gpt2-local", pat_str=WORDS, mergeable_ranks=ranks,
                                 special_tokens={"<|endoftext|>": 50256})
    cut = regex.compile(WORDS)

    def encode(data):
        tokens = []
        # A byte that is part of no character becomes a surrogate, which is no letter, number or space.
        for word in cut.findall(data.decode("utf-8", "surrogateescape")):
            tokens += encoding._encode_single_piece(word.encode("utf-8", "surrogateescape"))
        return tokens

    def encode_whole(data):
        return encoding.encode_ordinary(data.decode("utf-8"))

    return encode, encode_whole, tiktoken.__version__


def ours(program, data, folder):
    text, tokens = os.path.join(folder, "text"), os.path.join(folder, "tokens")
    with open(text, "wb") as file:
        file.write(data)
    subprocess.run([program, "train", "data", "--text", text, "--out", tokens], check=True, stdout=subprocess.DEVNULL)
    with open(tokens, "rb") as file:
        return np.frombuffer(file.read(), np.uint16, offset=32).tolist()


def random_characters(draw, count):
    """Of planes 0 to 2, without surrogates, so that letters, numbers and spaces of all scripts come up."""
    import unicodedata
    found = []
    while len(found) < count:
        c = chr(draw.choice([draw.randrange(0x80), draw.randrange(0x3000), draw.randrange(0x2FFFF)]))
        if unicodedata.category(c) not in ("Cs", "Cn"):
            found.append(c)
    return "".join(found).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "src", "cli", "dotmatrix"))
    parser.add_argument("--vocabulary", help="the folder of vocab.bpe and encoder.json [the cache folder's gpt2]")
    parser.add_argument("--bytes", type=int, default=300000, help="how many random bytes, and characters")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    cache = os.environ.get("DM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dotmatrix")
    try:
        encode, encode_whole, version = peer(args.vocabulary or os.path.join(cache, "data", "gpt2"))
    except (ImportError, FileNotFoundError) as error:
        sys.exit(f"bpe_peer: {error}: needs tiktoken, regex and dotmatrix train data --set gpt2")
    draw = random.Random(args.seed)
    cases = [(path, open(path, "rb").read(), True) for path in args.files]
    cases += [(f"{args.bytes} random bytes", draw.randbytes(args.bytes), False),
              (f"{args.bytes} random bytes below 128", bytes(b & 127 for b in draw.randbytes(args.bytes)), True),
              (f"{args.bytes} random characters", random_characters(draw, args.bytes), False)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, data, whole in cases:
            own, other = ours(args.program, data, folder), encode(data)
            same = own == other and (not whole or own == encode_whole(data))
            wrong += not same
            print(f"{name}: {len(own)} tokens, tiktoken {version} {len(other)}: {'identical' if same else 'DIFFERENT'}")
            if not same:
                at = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), min(len(own), len(other)))
                print(f"  first at token {at}: {own[at - 2:at + 4]} and {other[at - 2:at + 4]}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
