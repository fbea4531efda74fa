# Renegade Rush, a homebrew game (MIT, tools/games.tsv), ROM with the SHA-256
# 0511a3de1bb59a5bd8bcf4e1463df7ea03a2aae66f30542b85ee51aa25f527a6. C621 holds the money as BCD, C629 the hearts; both
# addresses were found with `dotmatrix ram` (docs/rewards.md).
import dotmatrix as dm

@dm.memory
class Memory:
    money: int
    hearts: int

@dm.program
def step(m: dm.Machine, mem: Memory, out: dm.Out):
    money, hearts = dm.bcd_le(m, 0xC621, 2), dm.u8(m, 0xC629)
    if mem.hearts > 0:  # a drive is under way
        out.reward = float(money - mem.money) / 10.0 + float(hearts - mem.hearts)
        out.terminated = hearts == 0
    out.metric("money", float(money))
    mem.money, mem.hearts = money, hearts
