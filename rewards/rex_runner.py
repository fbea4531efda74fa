# SPDX-License-Identifier: MIT
"""Rex Runner GB (rex-runner-gb.gb of gbdev's database, MIT, SHA-256
91bd12159d30e86cf4eb0312f28ff1c394e701085d6a8ca641ed92b2bcc8429c), for an agent (docs/agent.md).

Its score is the reward, ten points for one; its end costs two.

C1A3: the score, three bytes of two digits, the low one first. C1A7: speed. C100: what the sprites will be, four bytes
each: line, column, tile, flags. 0 to 3 are the runner, 4 and 5 say that it is over, 10 to 39 are cacti and birds, those
that are not there at line EF or FF. A jump begins when A is released; until then it gains height.

The policy sees the runner's height, what it gained in the last step, whether it ducks, for how long A is held, the
speed, and of the next two obstacles: is there one, how far, how wide, from which height to which."""
import dotmatrix as dm


@dm.memory
class Memory:
    score: int
    line: int
    held: int


@dm.func
def obstacle(m: dm.Machine, out: dm.Out, after: int, first: int) -> int:
    # The nearest one whose columns begin after `after`; gives its last column.
    near = int(999)
    for i in range(10, 40):
        line = int(dm.u8(m, 0xC100 + 4 * i))
        column = int(dm.u8(m, 0xC101 + 4 * i))
        if line < 160 and column > after and column < near:
            near = column
    last = near
    top = int(160)
    bottom = int(0)
    for i in range(10, 40):
        line = int(dm.u8(m, 0xC100 + 4 * i))
        column = int(dm.u8(m, 0xC101 + 4 * i))
        if line < 160 and column >= near and column < near + 40:
            last = max(last, column)
            top = min(top, line)
            bottom = max(bottom, line)
    if near == 999:
        out.obs[first + 1] = 2.0
        return near
    out.obs[first] = 1.0
    out.obs[first + 1] = float(near - 32) / 64.0
    out.obs[first + 2] = float(last - near) / 32.0
    out.obs[first + 3] = float(136 - top) / 32.0
    out.obs[first + 4] = float(136 - bottom) / 32.0
    return last


@dm.program(obs=15)
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    score = int(dm.bcd_le(m, 0xC1A3, 3))
    line = int(dm.u8(m, 0xC100))
    over = dm.u8(m, 0xC110) == 0x48
    if m.step == 0:
        mem.score = score
        mem.line = line
        mem.held = 0
    out.reward = float(score - mem.score) / 10.0
    if over:
        out.reward = -2.0
    out.terminated = over
    out.metric("score", float(score))
    if m.keys & 16 != 0:
        mem.held += 1
    else:
        mem.held = 0

    for i in range(15):
        out.obs[i] = 0.0
    out.obs[0] = float(136 - line) / 32.0
    out.obs[1] = float(mem.line - line) / 16.0
    out.obs[2] = float(int(dm.u8(m, 0xC102)) & 15 == 8)
    out.obs[3] = float(min(mem.held, 4)) / 4.0
    out.obs[4] = float(int(dm.u8(m, 0xC1A7)) - 10) / 10.0
    last = obstacle(m, out, 8, 5)
    if last < 999:
        last = obstacle(m, out, last + 8, 10)
    else:
        out.obs[11] = 2.0
    mem.score = score
    mem.line = line
