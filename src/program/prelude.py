# SPDX-License-Identifier: MIT
# What a reward program may call of the module dotmatrix, in the dialect itself. rewrite.c turns dm.name into
# _dm_name, a symbol's name into its address and a field of the memory into an element of an array. Names of
# the form _AT_* are offsets in a dm_gb_machine and in machine memory; program.c gives their values.
import warp as _wp


@_wp.struct
class _dm_Machine:
    cpu: _wp.array(dtype=_wp.uint8)  # a dm_gb_machine
    ram: _wp.array(dtype=_wp.uint8)  # its memory
    rom: _wp.array(dtype=_wp.uint8)  # all ROMs, one after the other
    rom_at: int  # where this machine's begins
    number: _wp.int64
    rom_number: int
    steps: int  # of the episode, this one included
    action: int
    hooks: _wp.uint64
    draws: _wp.uint64  # from what random numbers are made


@_wp.struct
class _dm_Out:
    reward: _wp.array(dtype=float)
    terminated: _wp.array(dtype=bool)
    truncated: _wp.array(dtype=bool)
    start: _wp.array(dtype=int)
    obs: _wp.array(dtype=float)
    metrics: _wp.array(dtype=float)


# ---- Bytes of the machine's own struct ----


@_wp.func
def _dm_word(m: _dm_Machine, at: int):
    return int(m.cpu[at]) | (int(m.cpu[at + 1]) << 8)


@_wp.func
def _dm_long(m: _dm_Machine, at: int):
    return _dm_word(m, at) | (_dm_word(m, at + 2) << 16)


@_wp.func
def _dm_m_a(m: _dm_Machine):
    return int(m.cpu[_AT_A])


@_wp.func
def _dm_m_f(m: _dm_Machine):
    return int(m.cpu[_AT_F])


@_wp.func
def _dm_m_b(m: _dm_Machine):
    return int(m.cpu[_AT_B])


@_wp.func
def _dm_m_c(m: _dm_Machine):
    return int(m.cpu[_AT_C])


@_wp.func
def _dm_m_d(m: _dm_Machine):
    return int(m.cpu[_AT_D])


@_wp.func
def _dm_m_e(m: _dm_Machine):
    return int(m.cpu[_AT_E])


@_wp.func
def _dm_m_h(m: _dm_Machine):
    return int(m.cpu[_AT_H])


@_wp.func
def _dm_m_l(m: _dm_Machine):
    return int(m.cpu[_AT_L])


@_wp.func
def _dm_m_pc(m: _dm_Machine):
    return _dm_word(m, _AT_PC)


@_wp.func
def _dm_m_sp(m: _dm_Machine):
    return _dm_word(m, _AT_SP)


@_wp.func
def _dm_m_keys(m: _dm_Machine):
    return int(m.cpu[_AT_KEYS])


@_wp.func
def _dm_m_frames(m: _dm_Machine):
    return _dm_long(m, _AT_FRAMES)


@_wp.func
def _dm_m_clock(m: _dm_Machine):
    low = _wp.uint64(_wp.uint32(_dm_long(m, _AT_CYCLES)))
    high = _wp.uint64(_wp.uint32(_dm_long(m, _AT_CYCLES + 4)))
    return _wp.int64(low | (high << _wp.uint64(32)))


@_wp.func
def _dm_m_number(m: _dm_Machine):
    return int(m.number)


@_wp.func
def _dm_m_rom(m: _dm_Machine):
    return m.rom_number


@_wp.func
def _dm_m_step(m: _dm_Machine):
    return m.steps


@_wp.func
def _dm_m_action(m: _dm_Machine):
    return m.action


@_wp.func
def _dm_m_hooks(m: _dm_Machine):
    return m.hooks


# ---- Memory, as the CPU would read it; I/O registers read FF ----


@_wp.func
def _dm_peek(m: _dm_Machine, wide: int):
    address = wide & 0xFFFF
    if address >= 0xC000:
        if address < 0xFE00:
            return int(m.ram[_AT_WRAM + (address & 0x1FFF)])
        if address >= 0xFF80:
            return int(m.ram[_AT_HRAM + address - 0xFF80])
        if address < 0xFEA0:
            return int(m.ram[_AT_OAM + (address & 0xFF)])
        return 0xFF
    if address >= 0xA000:
        window = _dm_long(m, _AT_RAM_WINDOW)
        if window == -1:
            return 0xFF
        value = int(m.ram[_AT_CART_RAM + ((window | (address & 0x1FFF)) & (_dm_long(m, _AT_RAM_SIZE) - 1))])
        if int(m.cpu[_AT_MAPPER]) == _MBC2:
            value = value | 0xF0
        return value
    if address >= 0x8000:
        return int(m.ram[_AT_VRAM + (address & 0x1FFF)])
    low = _dm_long(m, _AT_ROM_LOW)
    if address >= 0x4000:
        low = _dm_long(m, _AT_ROM_HIGH)
    return int(m.rom[m.rom_at + low + (address & 0x3FFF)])


@_wp.func
def _dm_u8(m: _dm_Machine, address: int, index: int = 0):
    return _dm_peek(m, address + index)


@_wp.func
def _dm_i8(m: _dm_Machine, address: int, index: int = 0):
    return (_dm_peek(m, address + index) ^ 0x80) - 0x80


@_wp.func
def _dm_u16(m: _dm_Machine, address: int, index: int = 0):
    at = address + 2 * index
    return _dm_peek(m, at) | (_dm_peek(m, at + 1) << 8)


@_wp.func
def _dm_u16_be(m: _dm_Machine, address: int, index: int = 0):
    at = address + 2 * index
    return _dm_peek(m, at + 1) | (_dm_peek(m, at) << 8)


@_wp.func
def _dm_u24(m: _dm_Machine, address: int, index: int = 0):
    at = address + 3 * index
    return _dm_peek(m, at) | (_dm_peek(m, at + 1) << 8) | (_dm_peek(m, at + 2) << 16)


@_wp.func
def _dm_u32(m: _dm_Machine, address: int, index: int = 0):
    at = address + 4 * index
    return _wp.int64(_wp.uint32(_dm_u16(m, at) | (_dm_u16(m, at + 2) << 16)))


@_wp.func
def _dm_bcd(m: _dm_Machine, address: int, size: int = 1):
    value = int(0)
    for i in range(_wp.min(size, 4)):
        byte = _dm_peek(m, address + i)
        value = value * 100 + (byte >> 4) * 10 + (byte & 15)
    return value


@_wp.func
def _dm_bcd_le(m: _dm_Machine, address: int, size: int = 1):
    value = int(0)
    count = _wp.min(size, 4)
    for i in range(count):
        byte = _dm_peek(m, address + count - 1 - i)
        value = value * 100 + (byte >> 4) * 10 + (byte & 15)
    return value


@_wp.func
def _dm_bits(m: _dm_Machine, address: int, first: int, count: int = 1):
    return (_dm_peek(m, address) >> (first & 7)) & ((1 << (count & 15)) - 1)


@_wp.func
def _dm_bit(m: _dm_Machine, address: int, number: int):
    return ((_dm_peek(m, address + (number >> 3)) >> (number & 7)) & 1) != 0


@_wp.func
def _dm_count_bits(m: _dm_Machine, address: int, size: int):
    count = int(0)
    for i in range(size):
        byte = _dm_peek(m, address + i)
        byte = byte - ((byte >> 1) & 0x55)
        byte = (byte & 0x33) + ((byte >> 2) & 0x33)
        count = count + ((byte + (byte >> 4)) & 15)
    return count


@_wp.func
def _dm_hash(m: _dm_Machine, address: int, size: int):
    value = _wp.uint32(2166136261)
    for i in range(size):
        value = (value ^ _wp.uint32(_dm_peek(m, address + i))) * _wp.uint32(16777619)
    return int((value ^ (value >> _wp.uint32(16))) & _wp.uint32(0x7FFFFFFF))


@_wp.func
def _dm_screen_hash(m: _dm_Machine, address: int = 0x9800):
    value = _wp.uint32(2166136261)
    for y in range(18):
        for x in range(20):
            value = (value ^ _wp.uint32(_dm_peek(m, address + 32 * y + x))) * _wp.uint32(16777619)
    return int((value ^ (value >> _wp.uint32(16))) & _wp.uint32(0x7FFFFFFF))


@_wp.func
def _dm_unit(m: _dm_Machine, address: int, index: int = 0):
    return float(_dm_peek(m, address + index)) / 255.0


# Writes RAM; ROM, I/O registers and RAM that is switched off are left alone.
@_wp.func
def _dm_poke(m: _dm_Machine, wide: int, value: int):
    address = wide & 0xFFFF
    byte = _wp.uint8(value & 0xFF)
    if address >= 0xC000:
        if address < 0xFE00:
            m.ram[_AT_WRAM + (address & 0x1FFF)] = byte
        elif address >= 0xFF80 and address < 0xFFFF:
            m.ram[_AT_HRAM + address - 0xFF80] = byte
        elif address < 0xFEA0:
            m.ram[_AT_OAM + (address & 0xFF)] = byte
    elif address >= 0xA000:
        window = _dm_long(m, _AT_RAM_WINDOW)
        if window != -1:
            m.ram[_AT_CART_RAM + ((window | (address & 0x1FFF)) & (_dm_long(m, _AT_RAM_SIZE) - 1))] = byte
    elif address >= 0x8000:
        m.ram[_AT_VRAM + (address & 0x1FFF)] = byte


# ---- Hooks, chance ----


@_wp.func
def _dm_hit(m: _dm_Machine, hook: int):
    return ((m.hooks >> _wp.uint64(hook)) & _wp.uint64(1)) != _wp.uint64(0)


@_wp.func
def _dm_rng(m: _dm_Machine, stream: int = 0):
    z = m.draws + _wp.uint64(stream + 1) * _wp.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _wp.uint64(30))) * _wp.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _wp.uint64(27))) * _wp.uint64(0x94D049BB133111EB)
    return _wp.uint32((z ^ (z >> _wp.uint64(31))) & _wp.uint64(0xFFFFFFFF))


@_wp.func
def _dm_random(m: _dm_Machine, stream: int = 0):
    return float(_dm_rng(m, stream) >> _wp.uint32(8)) * 5.9604644775390625e-08


# ---- Sets of numbers that were seen ----


@_wp.func
def _dm_visit_bit(words: _wp.array(dtype=_wp.uint32), number: int):
    bit = _wp.uint32(1) << _wp.uint32(number & 31)
    word = words[number >> 5]
    words[number >> 5] = word | bit
    return (word & bit) == _wp.uint32(0)


@_wp.func
def _dm_seen_bit(words: _wp.array(dtype=_wp.uint32), number: int):
    return ((words[number >> 5] >> _wp.uint32(number & 31)) & _wp.uint32(1)) != _wp.uint32(0)


@_wp.func
def _dm_find(slots: _wp.array(dtype=_wp.uint32), key: int):
    size = _wp.uint32(slots.shape[0])
    mixed = _wp.uint32(key) * _wp.uint32(0x9E3779B1)
    at = int((mixed ^ (mixed >> _wp.uint32(15))) % size)
    for i in range(64):
        held = slots[at]
        if held == _wp.uint32(0) or held == _wp.uint32(key) + _wp.uint32(1):
            return at
        at = at + 1
        if at == slots.shape[0]:
            at = 0
    return -1


@_wp.func
def _dm_visit_key(slots: _wp.array(dtype=_wp.uint32), key: int):
    at = _dm_find(slots, key)
    if at < 0:
        return False
    if slots[at] != _wp.uint32(0):
        return False
    slots[at] = _wp.uint32(key) + _wp.uint32(1)
    return True


@_wp.func
def _dm_seen_key(slots: _wp.array(dtype=_wp.uint32), key: int):
    at = _dm_find(slots, key)
    if at < 0:
        return False
    return slots[at] != _wp.uint32(0)


# ---- Observations ----


@_wp.func
def _dm_metric(out: _dm_Out, number: int, value: float):
    out.metrics[number] = value


@_wp.func
def _dm_one_hot(out: _dm_Out, first: int, count: int, value: int):
    for i in range(count):
        hot = float(0.0)
        if i == value:
            hot = 1.0
        out.obs[first + i] = hot


@_wp.func
def _dm_observe(out: _dm_Out, first: int, m: _dm_Machine, address: int, count: int):
    for i in range(count):
        out.obs[first + i] = float(_dm_peek(m, address + i)) / 255.0
