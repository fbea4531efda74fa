# SPDX-License-Identifier: MIT
"""2048 by Sanqui (2048gb.gb of docs/games.md, Zlib, SHA-256
3ea2376b15b34bd26b10e6b31d2753bf8b086098dbdb5ee84d9c0f03d66d3d7f), for an agent (docs/agent.md). Its score is the
reward; a step that moves nothing costs 8 points.

C800: 16 cells, row by row: 0 empty, else the power of two, bit 7 while it moves. FFB0: the score, three bytes of two
digits, the high one first. FFA6: tiles glide before one's eyes, which this ends at once, so that two frames are a step.
The game is over when no way moves a tile; so is one in which twenty steps moved nothing.

The policy sees for each cell one of 12 numbers, whether LEFT, RIGHT, UP and DOWN move something, what rows and what
columns would merge (as a logarithm), and how many cells are empty."""
import dotmatrix as dm


@dm.memory
class Memory:
    score: int
    cells: int
    idle: int


@dm.func
def tile_at(m: dm.Machine, cell: int) -> int:
    return int(dm.u8(m, 0xC800 + cell)) & 127


@dm.func
def line(m: dm.Machine, first: int, stride: int) -> int:
    # Four cells: 1 when something moves to lower addresses, 2 when to higher ones; 4 times what merges.
    moves = int(0)
    gain = int(0)
    last = int(0)
    before = int(-1)
    for i in range(4):
        tile = tile_at(m, first + stride * i)
        if i > 0:
            if tile != 0 and (before == 0 or before == tile):
                moves |= 1
            if before != 0 and (tile == 0 or before == tile):
                moves |= 2
        before = tile
        if tile != 0:
            if tile == last:
                gain += 1 << (tile + 1)
                last = 0
            else:
                last = tile
    return moves + 4 * gain


@dm.program(obs=199)
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    score = int(dm.bcd(m, 0xFFB0, 3))
    cells = int(dm.hash(m, 0xC800, 16))
    if m.step == 0:
        mem.score = score
        mem.idle = 0
    out.reward = float(score - mem.score) / 16.0
    mem.idle += 1
    if cells != mem.cells:
        mem.idle = 0
    if mem.idle > 0:
        out.reward = -0.5
    out.metric("score", float(score))
    mem.score = score
    mem.cells = cells
    dm.poke(m, 0xFFA6, 0)

    empty = float(0.0)
    for i in range(16):
        tile = tile_at(m, i)
        dm.one_hot(out, 12 * i, 12, tile)
        if tile == 0:
            empty += 1.0
    ways = int(0)
    for axis in range(2):
        moves = int(0)
        gain = int(0)
        for i in range(4):
            found = line(m, 4 * i, 1)
            if axis == 1:
                found = line(m, i, 4)
            moves |= found & 3
            gain += found >> 2
        ways |= moves
        out.obs[192 + 2 * axis] = float(moves & 1)
        out.obs[193 + 2 * axis] = float(moves >> 1)
        out.obs[196 + axis] = dm.log(1.0 + float(gain)) / 8.0
    out.obs[198] = empty / 8.0
    out.terminated = ways == 0 or mem.idle >= 20
