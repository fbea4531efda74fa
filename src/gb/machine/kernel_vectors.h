/* SPDX-License-Identifier: MIT */
/* kernel_vectors.h - single instructions on a recording bus; kernel text.
 *
 * The public single-step test vectors give registers and the few memory cells that one instruction
 * accesses, and expect registers, cells and every M-cycle on the bus. One thread runs one vector with
 * dm_gb_exec (sm83.h). Memory is the list of cells; an access to any other is a fault of the vector.
 */
#ifndef DM_GB_KERNEL_VECTORS_H
#define DM_GB_KERNEL_VECTORS_H

#include "gb/machine/regs.h"

#define DM_GB_VECTOR_CELLS 8u
#define DM_GB_VECTOR_CYCLES 16u

enum dm_gb_vector_kind { DM_GB_VECTOR_IDLE, DM_GB_VECTOR_READ, DM_GB_VECTOR_WRITE };

/* What went wrong besides a different result. */
#define DM_GB_VECTOR_NO_CELL 1u     /* an access to a cell that is not listed */
#define DM_GB_VECTOR_MANY_CYCLES 2u /* more than there is room for */

typedef struct dm_gb_vector_cycle {
    uint16_t address;
    uint8_t data, kind; /* enum dm_gb_vector_kind */
} dm_gb_vector_cycle;

/* A machine before or after one instruction. */
typedef struct dm_gb_vector {
    uint8_t a, b, c, d, e, f, h, l;
    uint16_t pc, sp;
    uint8_t ime;
    uint8_t cells;
    uint8_t cycle_count; /* M-cycles, 0 before */
    uint8_t faults;      /* DM_GB_VECTOR_... */
    uint16_t address[DM_GB_VECTOR_CELLS];
    uint8_t value[DM_GB_VECTOR_CELLS];
    dm_gb_vector_cycle cycles[DM_GB_VECTOR_CYCLES];
} dm_gb_vector;

/* ---- The bus that sm83.h asks for ---- */

typedef dm_gb_vector dm_gb_bus;

DM_FN void dm_gb_vector_record(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address, uint32_t data,
                               uint32_t kind)
{
    dm_gb_hot_tick(hot);
    if (bus->cycle_count == DM_GB_VECTOR_CYCLES) {
        bus->faults |= DM_GB_VECTOR_MANY_CYCLES;
        return;
    }
    dm_gb_vector_cycle *cycle = &bus->cycles[bus->cycle_count++];
    cycle->address = (uint16_t)address;
    cycle->data = (uint8_t)data;
    cycle->kind = (uint8_t)kind;
}

/* The cell's index; DM_GB_VECTOR_CELLS when there is none. */
DM_FN uint32_t dm_gb_vector_cell(dm_gb_bus *bus, uint32_t address)
{
    for (uint32_t i = 0; i < bus->cells; i++)
        if (bus->address[i] == address)
            return i;
    bus->faults |= DM_GB_VECTOR_NO_CELL;
    return DM_GB_VECTOR_CELLS;
}

DM_FN uint32_t dm_gb_bus_read(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address)
{
    uint32_t cell = dm_gb_vector_cell(bus, address);
    uint32_t value = cell < DM_GB_VECTOR_CELLS ? bus->value[cell] : 0xFFu;
    dm_gb_vector_record(bus, hot, address, value, DM_GB_VECTOR_READ);
    return value;
}

DM_FN void dm_gb_bus_write(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    uint32_t cell = dm_gb_vector_cell(bus, address);
    if (cell < DM_GB_VECTOR_CELLS)
        bus->value[cell] = (uint8_t)value;
    dm_gb_vector_record(bus, hot, address, value, DM_GB_VECTOR_WRITE);
}

DM_FN uint32_t dm_gb_bus_load(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address, uint32_t count)
{
    uint32_t value = 0;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++)
        value |= dm_gb_bus_read(bus, hot, (address + i) & 0xFFFFu) << (8u * i);
    return value;
}

DM_FN void dm_gb_bus_store(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address, uint32_t value,
                           uint32_t count, bool push)
{
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t byte = push ? count - 1u - i : i;
        dm_gb_bus_write(bus, hot, (address + byte) & 0xFFFFu, value >> (8u * byte) & 0xFFu);
    }
}

DM_FN uint32_t dm_gb_bus_fetch8(dm_gb_bus *bus, dm_gb_hot *hot)
{
    uint32_t value = dm_gb_bus_read(bus, hot, hot->pc);
    hot->pc = (hot->pc + 1u) & 0xFFFFu;
    return value;
}

DM_FN uint32_t dm_gb_bus_fetch16(dm_gb_bus *bus, dm_gb_hot *hot)
{
    uint32_t low = dm_gb_bus_fetch8(bus, hot);
    return low | (dm_gb_bus_fetch8(bus, hot) << 8);
}

DM_FN void dm_gb_bus_idle(dm_gb_bus *bus, dm_gb_hot *hot)
{
    dm_gb_vector_record(bus, hot, 0, 0, DM_GB_VECTOR_IDLE);
}

DM_FN void dm_gb_bus_adjust(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t value)
{
    (void)bus;
    (void)hot;
    (void)value;
}

DM_FN void dm_gb_bus_jump(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t from)
{
    (void)from;
    (void)bus;
    (void)hot;
}

DM_FN void dm_gb_bus_loop(dm_gb_bus *bus, dm_gb_hot *hot)
{
    (void)bus;
    (void)hot;
}

DM_FN void dm_gb_bus_control(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t operation)
{
    (void)hot;
    /* EI takes effect after the following instruction, which is not part of its vector. */
    if (operation == DM_GB_DO_DI)
        bus->ime = 0;
    else if (operation == DM_GB_DO_RETI)
        bus->ime = 1;
}

#include "gb/machine/sm83.h"

/* ---- One vector ---- */

DM_FN void dm_gb_vector_load(const dm_gb_vector *v, dm_gb_hot *hot)
{
    dm_gb_machine m;
    dm_gb_context context = {0};
    m.clock = 0;
    m.next_event = 0;
    m.dma.active = 0;
    m.boot_mapped = 0;
    m.cart.rom_low = 0;
    m.cart.rom_high = 0;
    m.cart.ram_window = 0;
    m.cpu.a = v->a;
    m.cpu.b = v->b;
    m.cpu.c = v->c;
    m.cpu.d = v->d;
    m.cpu.e = v->e;
    m.cpu.f = v->f;
    m.cpu.h = v->h;
    m.cpu.l = v->l;
    m.cpu.pc = v->pc;
    m.cpu.sp = v->sp;
    dm_gb_hot_load(hot, &m, &context);
}

DM_FN void dm_gb_vector_store(dm_gb_vector *v, const dm_gb_hot *hot)
{
    dm_gb_machine m;
    m.next_event = 0;
    m.instructions_low = 0;
    m.instructions_high = 0;
    dm_gb_hot_store(hot, &m);
    v->a = m.cpu.a;
    v->b = m.cpu.b;
    v->c = m.cpu.c;
    v->d = m.cpu.d;
    v->e = m.cpu.e;
    v->f = m.cpu.f;
    v->h = m.cpu.h;
    v->l = m.cpu.l;
    v->pc = m.cpu.pc;
    v->sp = m.cpu.sp;
}

DM_FN void dm_gb_vector_by_table(dm_gb_vector *v, dm_gb_hot *hot)
{
    uint32_t row = dm_gb_rows[dm_gb_bus_fetch8(v, hot)];
    if (DM_GB_ROW_OPERATION(row) == DM_GB_DO_PREFIX)
        row = dm_gb_rows[256u + dm_gb_bus_fetch8(v, hot)];
    dm_gb_exec(v, hot, row);
}

typedef struct dm_gb_vectors_args {
    dm_gb_vector *vectors; /* the machines before; the kernel replaces them by the machines after */
    uint64_t count;
} dm_gb_vectors_args;

DM_KERNEL_BOUNDS(dm_gb_vectors, dm_gb_vectors_args, 128, 1)
{
    for (uint64_t i = dm_thread_index(); i < args.count; i += dm_thread_count()) {
        dm_gb_vector *v = args.vectors + i;
        dm_gb_hot hot;
        dm_gb_vector_load(v, &hot);
        dm_gb_vector_by_table(v, &hot);
        dm_gb_vector_store(v, &hot);
    }
}

#endif
