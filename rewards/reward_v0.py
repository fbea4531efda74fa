# reward_v0 and obs_v0 (docs/swarm.md) as a program: the same bits as the ones that are built in.
import dotmatrix as dm

@dm.func
def unit16(value: int):
    return float(value & 0xFFFF) / 65535.0

@dm.func
def unit8(value: int):
    return float(value & 0xFF) / 255.0

@dm.program
def step(m: dm.Machine, out: dm.Out):
    out.reward = unit8(m.a ^ (dm.u8(m, 0xC000) + 3 * dm.u8(m, 0xC001)))
    out.obs[0] = unit8(m.a)
    out.obs[1] = unit8(m.f)
    out.obs[2] = unit8(m.b)
    out.obs[3] = unit8(m.c)
    out.obs[4] = unit8(m.d)
    out.obs[5] = unit8(m.e)
    out.obs[6] = unit8(m.h)
    out.obs[7] = unit8(m.l)
    out.obs[8] = unit16(m.pc)
    out.obs[9] = unit16(m.sp)
    dm.observe(out, 10, m, 0xC000, 16)
    total, parity = int(0), int(0)
    for i in range(16):
        total += dm.u8(m, 0xC000, i)
        parity ^= dm.u8(m, 0xC000, i)
    out.obs[26] = unit8(m.a ^ m.b)
    out.obs[27] = unit8(m.c + m.d)
    out.obs[28] = unit8((m.h << 1) ^ m.l ^ m.e)
    out.obs[29] = unit16(m.pc ^ m.sp)
    out.obs[30] = unit8(total)
    out.obs[31] = unit8(parity + m.f)
