/* SPDX-License-Identifier: MIT */
/* The public single-instruction vectors: registers, memory and every M-cycle on the bus.
 *
 * $DM_SM83_VECTORS names the file; without it ../shared/data/sm83-vectors.bin beside the project is
 * tried. The vectors assume 64 KiB of flat memory, so this file gives sm83.h a bus of its own that
 * records what happens on it. */
#include "tests/support/test.h"

#include "base/file.h"
#include "gb/regs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum bus_kind { BUS_IDLE, BUS_READ, BUS_WRITE };

typedef struct bus_cycle {
    uint16_t address;
    uint8_t data, kind;
} bus_cycle;

typedef struct dm_gb_bus {
    uint8_t memory[0x10000];
    bus_cycle cycles[16];
    int count;
    uint8_t ime;
} dm_gb_bus;

static void record(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address, uint32_t data, int kind)
{
    hot->clock += 4;
    if (bus->count < 16)
        bus->cycles[bus->count] = (bus_cycle){(uint16_t)address, (uint8_t)data, (uint8_t)kind};
    bus->count++;
}

static uint32_t dm_gb_bus_read(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address)
{
    record(bus, hot, address, bus->memory[address], BUS_READ);
    return bus->memory[address];
}

static void dm_gb_bus_write(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t address, uint32_t value)
{
    record(bus, hot, address, value, BUS_WRITE);
    bus->memory[address] = (uint8_t)value;
}

static uint32_t dm_gb_bus_fetch8(dm_gb_bus *bus, dm_gb_hot *hot)
{
    uint32_t value = dm_gb_bus_read(bus, hot, hot->pc);
    hot->pc = (hot->pc + 1) & 0xFFFF;
    return value;
}

static uint32_t dm_gb_bus_fetch16(dm_gb_bus *bus, dm_gb_hot *hot)
{
    uint32_t low = dm_gb_bus_fetch8(bus, hot);
    return low | dm_gb_bus_fetch8(bus, hot) << 8;
}

static void dm_gb_bus_idle(dm_gb_bus *bus, dm_gb_hot *hot)
{
    record(bus, hot, 0, 0, BUS_IDLE);
}

static void dm_gb_bus_adjust(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t value)
{
    (void)bus, (void)hot, (void)value;
}

static void dm_gb_bus_loop(dm_gb_bus *bus, dm_gb_hot *hot)
{
    (void)bus, (void)hot;
}

static void dm_gb_bus_control(dm_gb_bus *bus, dm_gb_hot *hot, uint32_t operation)
{
    (void)hot;
    /* EI takes effect after the following instruction, which is not part of its vector. */
    if (operation == DM_GB_DO_DI)
        bus->ime = 0;
    else if (operation == DM_GB_DO_RETI)
        bus->ime = 1;
}

#include "gb/sm83.h"

/* Both dispatchers of the project: a switch over constant rows, and the table. */
static void step_by_switch(dm_gb_bus *bus, dm_gb_hot *hot)
{
    switch (dm_gb_bus_fetch8(bus, hot)) {
#define OP(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    case code:                                                                                     \
        if (DM_GB_DO_##operation == DM_GB_DO_PREFIX)                                               \
            goto prefix;                                                                           \
        dm_gb_exec(bus, hot, DM_GB_ROW(operation, source, destination, address, length, extra));   \
        return;
#define CB(...)
#include "gb/opcodes.def"
#undef OP
#undef CB
    }
prefix:
    switch (dm_gb_bus_fetch8(bus, hot)) {
#define OP(...)
#define CB(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    case code:                                                                                     \
        dm_gb_exec(bus, hot, DM_GB_ROW(operation, source, destination, address, length, extra));   \
        return;
#include "gb/opcodes.def"
#undef OP
#undef CB
    }
}

static void step_by_table(dm_gb_bus *bus, dm_gb_hot *hot)
{
    uint32_t row = dm_gb_rows[dm_gb_bus_fetch8(bus, hot)];
    if (DM_GB_ROW_OPERATION(row) == DM_GB_DO_PREFIX)
        row = dm_gb_rows[256 + dm_gb_bus_fetch8(bus, hot)];
    dm_gb_exec(bus, hot, row);
}

typedef struct vector_state {
    uint8_t a, b, c, d, e, f, h, l;
    uint16_t pc, sp;
    uint8_t ime, cells;
    const uint8_t *cell;
} vector_state;

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static const uint8_t *read_state(const uint8_t *p, vector_state *s)
{
    memcpy(s, p, 8);
    s->pc = u16(p + 8);
    s->sp = u16(p + 10);
    s->ime = p[12];
    s->cells = p[13];
    s->cell = p + 14;
    return p + 14 + 3 * s->cells;
}

/* NULL when the vector passes, else what differs. */
static const char *check(const uint8_t *record_bytes, void (*step)(dm_gb_bus *, dm_gb_hot *))
{
    static dm_gb_bus bus;
    vector_state before, after;
    const uint8_t *cycles = read_state(read_state(record_bytes + 4, &before), &after);
    dm_gb_machine m = {0};
    dm_gb_hot hot;

    bus.count = 0;
    bus.ime = before.ime;
    for (int i = 0; i < before.cells; i++)
        bus.memory[u16(before.cell + 3 * i)] = before.cell[3 * i + 2];
    m.cpu = (dm_gb_cpu){.b = before.b,
                        .c = before.c,
                        .d = before.d,
                        .e = before.e,
                        .h = before.h,
                        .l = before.l,
                        .f = before.f,
                        .a = before.a,
                        .pc = before.pc,
                        .sp = before.sp};
    dm_gb_hot_load(&hot, &m, NULL);
    step(&bus, &hot);
    /* The vectors go on idling after HALT and STOP. */
    bool sleeps = record_bytes[0] == 0 && (record_bytes[1] == 0x76 || record_bytes[1] == 0x10);
    while (sleeps && bus.count < cycles[0] && bus.count < 16)
        record(&bus, &hot, 0, 0, BUS_IDLE);
    dm_gb_hot_store(&hot, &m);

    const dm_gb_cpu *cpu = &m.cpu;
    if (cpu->a != after.a || cpu->b != after.b || cpu->c != after.c || cpu->d != after.d ||
        cpu->e != after.e || cpu->h != after.h || cpu->l != after.l)
        return "registers";
    if (cpu->f != after.f)
        return "flags";
    if (cpu->pc != after.pc)
        return "PC";
    if (cpu->sp != after.sp)
        return "SP";
    if (bus.ime != after.ime)
        return "IME";
    for (int i = 0; i < after.cells; i++)
        if (bus.memory[u16(after.cell + 3 * i)] != after.cell[3 * i + 2])
            return "memory";
    if (bus.count != cycles[0])
        return "number of M-cycles";
    for (int i = 0; i < bus.count; i++) {
        const uint8_t *want = cycles + 1 + 4 * i;
        bus_cycle got = bus.cycles[i];
        if (got.kind != want[3])
            return "kind of bus cycle";
        if (got.kind != BUS_IDLE && (got.address != u16(want) || got.data != want[2]))
            return "address or data of a bus cycle";
    }
    return NULL;
}

static void run_vectors(void (*step)(dm_gb_bus *, dm_gb_hot *))
{
    const char *path = getenv("DM_SM83_VECTORS");
    char beside[DM_PATH_MAX];
    snprintf(beside, sizeof beside, "%s/../shared/data/sm83-vectors.bin", DM_TEST_SOURCE_ROOT);
    if (path == NULL && dm_file_exists(beside))
        path = beside;
    if (path == NULL)
        dm_test_skip("no SM83 vectors; DM_SM83_VECTORS names the file");

    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    const uint8_t *p = (const uint8_t *)bytes;
    assert_true(size > 12 && memcmp(p, "SM83VEC1", 8) == 0);
    uint32_t count = (uint32_t)u16(p + 8) | (uint32_t)u16(p + 10) << 16, failed = 0;
    p += 12;
    for (uint32_t i = 0; i < count; i++) {
        const char *what = check(p, step);
        if (what != NULL && failed++ < 20)
            printf("vector %u, opcode %s%02X: %s\n", i, p[0] ? "CB " : "", p[1], what);
        p += 4 + u16(p + 2);
    }
    assert_int_equal(p - (const uint8_t *)bytes, size);
    printf("%u vectors, %u failed\n", count, failed);
    free(bytes);
    assert_int_equal(failed, 0);
}

static void vectors_pass_by_switch(void **state)
{
    (void)state;
    run_vectors(step_by_switch);
}

static void vectors_pass_by_table(void **state)
{
    (void)state;
    run_vectors(step_by_table);
}

DM_TESTS("gb/sm83", DM_TEST(vectors_pass_by_switch), DM_TEST(vectors_pass_by_table))
