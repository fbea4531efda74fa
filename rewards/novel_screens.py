# Exploration: a step is worth 1 when it ends on a screen that this episode has not seen. A screen is the visible part
# of the background's map in tiles; scrolling by whole tiles makes new ones. Full after some 1,600 screens.
import dotmatrix as dm

@dm.memory
class Memory:
    screens: dm.HashSet(2048)
    count: int

@dm.program
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    if dm.visit(mem.screens, dm.screen_hash(m)):
        out.reward = 1.0
        mem.count += 1
    out.metric("screens", float(mem.count))
