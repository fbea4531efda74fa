# Exploration: a step is worth the number of bytes of work RAM that hold a value this episode has not seen there. Values
# are counted in eight classes by their upper three bits, so that counters and noise wear out soon.
import dotmatrix as dm

@dm.memory
class Memory:
    seen: dm.Bitmap(8192 * 8)
    count: int

@dm.program
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    new = int(0)
    for i in range(8192):
        if dm.visit(mem.seen, i * 8 + (dm.u8(m, 0xC000, i) >> 5)):
            new += 1
    mem.count += new
    out.reward = float(new) / 8192.0
    out.metric("values", float(mem.count))
