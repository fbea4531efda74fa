# SPDX-License-Identifier: MIT
"""Simple rules play the games that agents learn, from as many starts: what an agent's score is compared with.

    python examples/agents/scripted.py rex_runner GAME.gb
    python examples/agents/scripted.py merge_2048 GAME.gb

A rule sees the numbers that the agent sees (the reward program's observation) and knows nothing else. Starts are made
as the agent's configuration says, with random numbers of Python's. Games that have not ended are cut off."""
import json
import os
import random
import statistics
import sys

import dotmatrix as dm
import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = {"NONE": 0, "RIGHT": 1, "LEFT": 2, "UP": 4, "DOWN": 8, "A": 16, "B": 32, "SELECT": 64, "START": 128}


def rex_runner(obs):
    """On the ground, jump over the next obstacle when it is near, further away the faster it comes, and duck under a
    bird that flies high. The distances are the best of twenty that were tried."""
    height, there, far, bottom = obs[0], obs[5], obs[6] * 64.0, obs[9] * 32.0
    if height > 0 or not there or far > 9.0 + 10.0 * obs[4]:
        return "NONE"
    return "DOWN" if bottom >= 16 else "A"


def merge_2048(obs):
    """The first of DOWN, LEFT, RIGHT and UP that moves something: the largest gather in a corner."""
    for name, moves in (("DOWN", 195), ("LEFT", 192), ("RIGHT", 193), ("UP", 194)):
        if obs[moves] > 0:
            return name
    return "NONE"


def at_random(actions):
    return lambda obs: random.choice(actions)


def mask(keys):
    return sum(KEYS[key] for key in keys.split("+"))


def start_states(rom, config, count):
    with dm.GameBoy(rom) as gb:
        for part in config["start"].split(","):
            frames, keys = part.split("*")
            gb.set_keys(mask(keys))
            gb.tick(int(frames), False)
        gb.set_keys(0)
        begun = gb.save_state()
        for _ in range(count):
            gb.load_state(begun)
            gb.tick(random.randint(0, config.get("wait", 0)), False)
            for part in filter(None, config.get("random", "").split(",")):
                address, length = part.split(":")
                for i in range(int(length)):
                    gb.memory[int(address, 16) + i] = random.randint(1, 255)
            yield gb.save_state()


def digits(low, middle, high):
    return sum(int(f"{byte:02x}") * 100**i for i, byte in enumerate((low, middle, high)))


# The rule, where the score lies, and what it is.
GAMES = {
    "rex_runner": (rex_runner, (0xC1A3, 0xC1A4, 0xC1A5), digits),
    "merge_2048": (merge_2048, (0xFFB2, 0xFFB1, 0xFFB0), digits),
}


def play(rom, config, rule, count, frames):
    """A swarm in which every game is over, or was cut off; and how many were."""
    swarm = dm.Swarm(rom, count, obs="vector", program=dm.Program(os.path.join(HERE, config["reward"])),
                     frames_per_step=config["frames"], release_after_frames=config.get("release") or config["frames"],
                     codec="raw", autoreset="disabled")
    states = [state.ljust(swarm.state_bytes, b"\0") for state in start_states(rom, config, count)]
    swarm.load_states(numpy.arange(count, dtype=numpy.uint32), b"".join(states))
    over = [False] * count
    keys = [0] * count
    for _ in range(frames // config["frames"]):
        swarm.step(keys)
        seen = swarm.observations.tolist()
        over = [a or bool(b) for a, b in zip(over, swarm.terminated)]
        if all(over):
            break
        keys = [0 if over[n] else mask(rule(seen[n])) for n in range(count)]
    return swarm, over.count(False)


def main():
    name, rom = sys.argv[1], sys.argv[2]
    count, frames = 64, 16000
    rule, where, score = GAMES[name]
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as file:
        config = json.load(file)
    random.seed(1)
    for what, player in (("the rule", rule), ("random keys", at_random(config["actions"].split(",")))):
        swarm, left = play(rom, config, player, count, frames)
        scores = [score(*row) for row in swarm.read_many(where).tolist()]
        print(f"{what}: mean {statistics.mean(scores):.1f}, median {statistics.median(scores):g}, {min(scores)} to "
              f"{max(scores)} in {count} games; {left} were cut off after {frames} frames")


if __name__ == "__main__":
    main()
