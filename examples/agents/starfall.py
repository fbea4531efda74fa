# SPDX-License-Identifier: MIT
"""STARFALL for an agent (docs/agent.md). The policy sees 20 numbers: the basket, the speed, when and near where the
next thing appears, and the four things that fall, the lowest first: is it a star, an ember, how far is it from the
basket, how low. The memory's addresses are those of docs/games.md."""
import dotmatrix as dm


@dm.memory
class Memory:
    worth: int


@dm.program(obs=20)
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    score = int(dm.u16(m, 0xC001))
    worth = score + int(dm.u8(m, 0xC003))
    if m.step == 0:
        mem.worth = worth
    out.reward = float(worth - mem.worth)
    out.terminated = dm.u8(m, 0xC000) == 2
    out.metric("score", float(score))
    mem.worth = worth

    basket = float(dm.u8(m, 0xC004))
    out.obs[0] = (basket - 68.0) / 68.0
    out.obs[1] = float(dm.u16(m, 0xC013)) / 768.0
    out.obs[2] = float(dm.u8(m, 0xC015)) / 72.0
    out.obs[3] = (float(dm.u8(m, 0xC017)) - 76.0) / 76.0
    for i in range(16):
        out.obs[4 + i] = 0.0
    for i in range(4):
        thing = 0xC020 + 4 * i
        kind = int(dm.u8(m, thing))
        if kind != 0:
            line = int(dm.u8(m, thing + 2))
            place = 4
            for k in range(4):
                other = int(dm.u8(m, 0xC022 + 4 * k))
                if int(dm.u8(m, 0xC020 + 4 * k)) != 0 and (other > line or (other == line and k < i)):
                    place += 4
            out.obs[place] = float(kind == 1)
            out.obs[place + 1] = float(kind == 2)
            out.obs[place + 2] = (float(dm.u8(m, thing + 1)) + 4.0 - basket - 12.0) / 80.0
            out.obs[place + 3] = float(line) / 128.0
