# STARFALL's natural reward (docs/games.md): stars caught, and what a life is worth.
import dotmatrix as dm

@dm.memory
class Memory:
    score: int
    lives: int

@dm.program
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    score, lives = dm.u16(m, 0xC001), dm.u8(m, 0xC003)
    out.reward = float(score - mem.score) + 2.0 * float(lives - mem.lives)
    out.terminated = dm.u8(m, 0xC000) == 2
    out.metric("score", float(score))
    mem.score, mem.lives = score, lives
