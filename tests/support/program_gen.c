/* SPDX-License-Identifier: MIT */
#include "tests/support/program_gen.h"
#include "gb/machine/decode.h"
#include "tests/support/random.h"

#include <assert.h>
#include <string.h>

#define CODE_START 0x0150u
#define CODE_LIMIT 0x3F00u
#define SUBROUTINES 6
#define LOOPS_MAX 3
#define CALLS_MAX 64

typedef struct generator {
    dm_program *program;
    dm_test_random random;
    enum dm_program_kind kind;
    uint8_t type;      /* cartridge type */
    uint32_t at;       /* where the next byte goes */
    unsigned loops;    /* loops around this place */
    bool stack_is_own; /* nothing is on the stack: SP may be changed */
    bool in_subroutine;
    struct {
        uint32_t at; /* of the address to fill in */
        unsigned subroutine;
    } calls[CALLS_MAX];
    unsigned call_count;
} generator;

static uint32_t below(generator *g, uint32_t bound)
{
    return dm_test_random_below(&g->random, bound);
}

static bool chance(generator *g, uint32_t percent)
{
    return dm_test_random_chance(&g->random, percent);
}

static uint8_t byte(generator *g)
{
    return dm_test_random_byte(&g->random);
}

static void emit(generator *g, uint32_t value)
{
    g->program->rom[g->at++] = (uint8_t)value;
}

static void emit16(generator *g, uint32_t value)
{
    emit(g, value & 0xFFu);
    emit(g, value >> 8);
}

static void put16(generator *g, uint32_t at, uint32_t value)
{
    g->program->rom[at] = (uint8_t)value;
    g->program->rom[at + 1] = (uint8_t)(value >> 8);
}

static void load_a(generator *g, uint32_t value)
{
    emit(g, 0x3E);
    emit(g, value);
}

/* LDH [n],A with a value */
static void store_high(generator *g, uint32_t low, uint32_t value)
{
    load_a(g, value);
    emit(g, 0xE0);
    emit(g, low);
}

static bool has_ram(const generator *g)
{
    return g->type == 0x03 || g->type == 0x13 || g->type == 0x1B;
}

/* ---- Addresses ---- */

static uint32_t data_address(generator *g)
{
    uint32_t pick = below(g, 16);
    if (pick == 0)
        return 0x8000u + below(g, 0x2000);
    if (pick == 1)
        return 0xFE00u + below(g, 0xA0);
    if (pick < 5)
        return 0xFF80u + below(g, 0x70);
    if (pick < 7 && has_ram(g))
        return 0xA000u + below(g, 0x2000);
    if (pick == 7)
        return 0xE000u + below(g, 0x1000); /* echo of C000..CFFF */
    return 0xC000u + below(g, 0x1000);
}

static uint32_t read_address(generator *g)
{
    return chance(g, 25) ? below(g, 0x8000) : data_address(g);
}

/* ---- One instruction ---- */

static bool writes_memory(uint32_t row)
{
    return DM_GB_ROW_DESTINATION(row) == DM_GB_ARG_MEM ||
           DM_GB_ROW_DESTINATION(row) == DM_GB_ARG_MEM16;
}

/* Neither control flow nor anything that moves SP: may stand anywhere once pointers are set. */
static bool is_plain(uint32_t row)
{
    uint32_t operation = DM_GB_ROW_OPERATION(row);
    if (DM_GB_ROW_DESTINATION(row) == DM_GB_ARG_SP || DM_GB_ROW_SOURCE(row) == DM_GB_ARG_STACK)
        return false;
    switch (operation) {
    case DM_GB_DO_PUSH:
    case DM_GB_DO_JR:
    case DM_GB_DO_JP:
    case DM_GB_DO_JP_HL:
    case DM_GB_DO_CALL:
    case DM_GB_DO_RST:
    case DM_GB_DO_RET_IF:
    case DM_GB_DO_RET:
    case DM_GB_DO_RETI:
    case DM_GB_DO_HALT:
    case DM_GB_DO_STOP:
    case DM_GB_DO_DI:
    case DM_GB_DO_EI:
    case DM_GB_DO_PREFIX:
    case DM_GB_DO_ILLEGAL:
        return false;
    default:
        return true;
    }
}

/* One of the 500 opcodes, its pointer set up before it. */
static void emit_plain(generator *g)
{
    uint32_t code, row;
    do {
        code = below(g, 512);
        row = dm_gb_rows[code];
    } while (!is_plain(row));
    uint32_t mode = DM_GB_ROW_ADDRESS(row);
    uint32_t address = 0;
    if (mode != DM_GB_ADDR_NONE)
        address = writes_memory(row) ? data_address(g) : read_address(g);
    switch (mode) {
    case DM_GB_ADDR_AT_HL:
    case DM_GB_ADDR_AT_HLI:
    case DM_GB_ADDR_AT_HLD:
    case DM_GB_ADDR_AT_BC:
    case DM_GB_ADDR_AT_DE:
        emit(g, mode == DM_GB_ADDR_AT_BC ? 0x01u : mode == DM_GB_ADDR_AT_DE ? 0x11u : 0x21u);
        emit16(g, address);
        break;
    case DM_GB_ADDR_AT_C:
        emit(g, 0x0E);
        emit(g, 0x80u + below(g, 0x70));
        break;
    default:
        break;
    }
    if (code >= 256)
        emit(g, 0xCB);
    emit(g, code);
    if (mode == DM_GB_ADDR_AT_A16) {
        if (DM_GB_ROW_DESTINATION(row) == DM_GB_ARG_MEM16 && (address & 0xFFu) == 0xEFu)
            address--; /* two bytes are written */
        emit16(g, address);
    } else if (mode == DM_GB_ADDR_AT_A8) {
        emit(g, 0x80u + below(g, 0x70));
    } else if (DM_GB_ROW_SOURCE(row) == DM_GB_ARG_IMM16) {
        emit16(g, dm_test_random_word(&g->random) & 0xFFFFu);
    } else if (DM_GB_ROW_SOURCE(row) == DM_GB_ARG_IMM8) {
        emit(g, byte(g));
    }
}

/* ADD, ADC, SUB, SBC of two BCD numbers and DAA. */
static void emit_decimal(generator *g)
{
    static const uint8_t operations[] = {0xC6, 0xCE, 0xD6, 0xDE};
    load_a(g, chance(g, 70) ? below(g, 10) * 16u + below(g, 10) : byte(g));
    emit(g, operations[below(g, 4)]);
    emit(g, chance(g, 70) ? below(g, 10) * 16u + below(g, 10) : byte(g));
    emit(g, 0x27);
}

/* Everything that changes SP, then SP is set again. */
static void emit_stack_pointer(generator *g)
{
    static const uint8_t single[] = {0x33, 0x3B, 0x39, 0xF1, 0xC1, 0xD1, 0xE1};
    unsigned count = 1 + below(g, 4);
    emit(g, 0x31);
    emit16(g, 0xD200u + below(g, 0xC00));
    for (unsigned i = 0; i < count; i++) {
        uint32_t pick = below(g, 10);
        if (pick < sizeof single) {
            emit(g, single[pick]);
        } else if (pick == 7) {
            emit(g, 0xE8);
            emit(g, byte(g));
        } else if (pick == 8) {
            emit(g, 0xF8);
            emit(g, byte(g));
        } else {
            emit(g, 0x21);
            emit16(g, 0xD200u + below(g, 0xC00));
            emit(g, 0xF9);
        }
    }
    emit(g, 0x31);
    emit16(g, 0xD200u + below(g, 0xC00));
}

static void emit_bank_switch(generator *g)
{
    uint32_t pick = below(g, 8);
    if (pick == 0) {
        /* Off and on again; a write in between is lost. What a read would give is not certain. */
        load_a(g, byte(g) & 0xF0u);
        emit(g, 0xEA);
        emit16(g, below(g, 0x2000));
        emit(g, 0xEA);
        emit16(g, 0xA000u + below(g, 0x2000));
        load_a(g, 0x0A);
        emit(g, 0xEA);
        emit16(g, below(g, 0x2000));
    } else if (pick < 5) {
        load_a(g, chance(g, 80) ? below(g, 9) : byte(g));
        emit(g, 0xEA);
        emit16(g, 0x2000u + below(g, 0x2000));
    } else if (pick < 7) {
        load_a(g, below(g, 4));
        emit(g, 0xEA);
        emit16(g, 0x4000u + below(g, 0x2000));
    } else {
        load_a(g, g->type == 0x03 ? below(g, 2) : 0u);
        emit(g, 0xEA);
        emit16(g, 0x6000u + below(g, 0x2000));
    }
}

/* Start the timer anew. A write to TAC moves DIV in mGBA (docs/accuracy.md): DIV comes after it,
 * and TIMA last, so that nothing from before shows. */
static void emit_timer(generator *g)
{
    static const uint8_t stop[] = {
        0xAF,                   /* XOR A */
        0xE0, 0x07, 0xE0, 0x05, /* TAC, TIMA */
        0xE0, 0x0F, 0xE0, 0xFA, /* IF, the count of timer interrupts */
    };
    for (size_t i = 0; i < sizeof stop; i++)
        emit(g, stop[i]);
    store_high(g, 0x07, 0x04u | below(g, 4));
    emit(g, 0xE0);
    emit(g, 0x04);
    store_high(g, 0x05, byte(g));
    emit(g, 0x87); /* ADD A,A: flags */
}

/* HALT, then what depends on its length is set again: DM_PROGRAM_HALT_SIZE bytes. */
static void emit_halt(generator *g)
{
    uint32_t start = g->at;
    emit(g, 0x76);
    emit(g, 0x00);
    emit_timer(g);
    assert(g->at - start == DM_PROGRAM_HALT_SIZE);
    (void)start;
}

/* Timer, interrupts, HALT. IE stays 04 and the timer runs, so that HALT always ends. */
static void emit_timing(generator *g)
{
    switch (below(g, 9)) {
    case 0:
        emit(g, 0xFB);
        break;
    case 1:
        emit(g, 0xF3);
        break;
    case 2:
    case 3:
        emit_halt(g);
        break;
    case 4: /* DIV TIMA TMA TAC */
        emit(g, 0xF0);
        emit(g, 0x04u + below(g, 4));
        break;
    case 5:
        emit(g, 0xF0);
        emit(g, 0x0F);
        break;
    case 6:
        if (chance(g, 30)) {
            store_high(g, 0x05, byte(g));
        } else if (chance(g, 50)) {
            store_high(g, 0x06, below(g, 0xC0)); /* larger: nothing but interrupts would run */
        } else {
            /* The edge that the write makes must not overflow TIMA: mGBA is late then. */
            store_high(g, 0x05, below(g, 0xC0));
            store_high(g, 0x04, byte(g));
        }
        break;
    case 7:
        emit(g, 0xF3);
        emit_timer(g);
        break;
    default:
        /* Far from an overflow: a request while one is being dispatched is counted differently. */
        store_high(g, 0x05, below(g, 0x80));
        store_high(g, 0x0F, chance(g, 50) ? 0x00 : 0x04);
        break;
    }
}

/* ---- Blocks ---- */

static void emit_block(generator *g, unsigned length, unsigned depth);

static void emit_loop(generator *g, unsigned depth)
{
    uint32_t counter = 0xF0u + g->loops;
    store_high(g, counter, 1 + below(g, 6));
    uint32_t head = g->at;
    g->loops++;
    emit_block(g, 2 + below(g, 6), depth + 1);
    g->loops--;
    emit(g, 0xF0);
    emit(g, counter);
    emit(g, 0x3D);
    emit(g, 0xE0);
    emit(g, counter);
    emit(g, 0xC2); /* JP NZ: a body may be longer than JR reaches */
    emit16(g, head);
}

/* A jump over a block: JR or JP with any condition or none, or JP HL. */
static void emit_skip(generator *g, unsigned depth)
{
    static const uint8_t jr[] = {0x18, 0x20, 0x28, 0x30, 0x38};
    static const uint8_t jp[] = {0xC3, 0xC2, 0xCA, 0xD2, 0xDA};
    uint32_t kind = below(g, 3);
    uint32_t hole;
    if (kind == 0) {
        emit(g, jr[below(g, 5)]);
        hole = g->at;
        emit(g, 0);
        /* At most four plain instructions of six bytes: within reach. */
        for (unsigned i = 1 + below(g, 4); i > 0; i--)
            emit_plain(g);
        g->program->rom[hole] = (uint8_t)(g->at - hole - 1);
        return;
    }
    if (kind == 1) {
        emit(g, jp[below(g, 5)]);
        hole = g->at;
        emit16(g, 0);
    } else {
        emit(g, 0x21);
        hole = g->at;
        emit16(g, 0);
        emit(g, 0xE9);
    }
    emit_block(g, 1 + below(g, 6), depth + 1);
    put16(g, hole, g->at);
}

static void emit_call(generator *g)
{
    static const uint8_t call[] = {0xCD, 0xC4, 0xCC, 0xD4, 0xDC};
    if (g->in_subroutine || g->call_count == CALLS_MAX || chance(g, 40)) {
        emit(g, 0xC7u + 8u * below(g, 8)); /* RST */
        return;
    }
    emit(g, call[below(g, 5)]);
    g->calls[g->call_count].at = g->at;
    g->calls[g->call_count].subroutine = below(g, SUBROUTINES);
    g->call_count++;
    emit16(g, 0);
}

static void emit_push(generator *g, unsigned depth)
{
    bool own = g->stack_is_own;
    emit(g, 0xC5u + 16u * below(g, 4));
    g->stack_is_own = false;
    emit_block(g, below(g, 4), depth + 1);
    g->stack_is_own = own;
    emit(g, 0xC1u + 16u * below(g, 4));
}

/* What `pick`, 60 to 99, stands for; false when that is not possible here. */
static bool emit_special(generator *g, uint32_t pick, unsigned depth)
{
    if (pick < 66)
        emit_decimal(g);
    else if (pick < 72)
        emit_push(g, depth);
    else if (pick < 78)
        emit_call(g);
    else if (pick < 84)
        emit_skip(g, depth);
    else if (pick < 89 && g->loops < LOOPS_MAX)
        emit_loop(g, depth);
    else if (pick < 93 && g->stack_is_own)
        emit_stack_pointer(g);
    else if (pick < 97 && g->type != 0)
        emit_bank_switch(g);
    else
        return false;
    return true;
}

static void emit_block(generator *g, unsigned length, unsigned depth)
{
    for (unsigned i = 0; i < length && g->at < CODE_LIMIT; i++) {
        uint32_t pick = below(g, 100);
        if (g->kind == DM_PROGRAM_TIMING && chance(g, 20))
            emit_timing(g);
        else if (pick < 60 || depth > 3 || !emit_special(g, pick, depth))
            emit_plain(g);
    }
}

/* ---- The whole ---- */

void dm_program_header(uint8_t *rom, size_t size, uint8_t type, uint8_t ram_code)
{
    uint8_t code = 0;
    while (((size_t)0x8000 << code) < size)
        code++;
    rom[0x147] = type;
    rom[0x148] = code;
    rom[0x149] = ram_code;
    uint8_t sum = 0;
    for (unsigned i = 0x134; i < 0x14D; i++)
        sum = (uint8_t)(sum - rom[i] - 1);
    rom[0x14D] = sum;
}

/* RST targets: something that shows in the registers, then return. Interrupt vectors: count. */
static void emit_vectors(generator *g)
{
    static const uint8_t single[] = {0x04, 0x0D, 0x17, 0x1C, 0x27, 0x2F, 0x3F, 0x8A};
    for (unsigned i = 0; i < 8; i++) {
        g->at = i * 8u;
        emit(g, single[i]);
        emit(g, i == 3 ? 0xC8 : 0x00); /* RET Z in one of them */
        emit(g, 0xC9);
    }
    for (unsigned i = 0; i < 5; i++) {
        g->at = 0x40u + i * 8u;
        emit(g, 0xE5); /* PUSH HL */
        emit(g, 0x21);
        emit16(g, 0xFFF8u + i);
        emit(g, 0x34); /* INC [HL] */
        emit(g, 0xE1);
        emit(g, 0xD9); /* RETI; the flags differ after an interrupt: that shows, too */
    }
}

static void emit_start(generator *g)
{
    g->at = 0x100;
    emit(g, 0x00);
    emit(g, 0xC3);
    emit16(g, CODE_START);
    g->at = CODE_START;
    emit(g, 0xF3);
    store_high(g, 0x40, 0x00); /* LCD off */
    store_high(g, 0x26, 0x00); /* sound off */
    store_high(g, 0xFF, 0x00); /* IE */
    store_high(g, 0x0F, 0x00); /* IF */
    store_high(g, 0x07, 0x00); /* TAC */
    for (uint32_t i = 0; i < 5; i++)
        store_high(g, 0xF8u + i, 0x00);
    emit(g, 0x31);
    emit16(g, 0xD200u + below(g, 0xC00));
    if (has_ram(g)) {
        load_a(g, 0x0A);
        emit(g, 0xEA);
        emit16(g, 0x0000);
    }
    for (uint32_t opcode = 0x01; opcode <= 0x21; opcode += 0x10) {
        emit(g, opcode);
        emit16(g, dm_test_random_word(&g->random) & 0xFFFFu);
    }
    if (g->kind == DM_PROGRAM_TIMING) {
        store_high(g, 0x06, below(g, 0xC0)); /* TMA */
        store_high(g, 0xFF, 0x04);
        emit_timer(g);
    }
    emit(g, 0x3E);
    emit(g, byte(g));
    emit(g, 0x87); /* ADD A,A: flags */
    g->program->body = (uint16_t)g->at;
}

void dm_program_make(dm_program *program, uint64_t seed, enum dm_program_kind kind)
{
    static const uint8_t types[] = {0x00, 0x03, 0x13, 0x1B};
    generator g = {.program = program,
                   .random = dm_test_random_make(seed, 0x9E0u + (uint64_t)kind),
                   .kind = kind,
                   .stack_is_own = true};
    g.type = types[below(&g, 4)];
    program->size = g.type == 0 ? 0x8000u : DM_PROGRAM_SIZE;
    for (size_t i = 0; i < DM_PROGRAM_SIZE; i++)
        program->rom[i] = byte(&g); /* reads of ROM see something */
    memset(program->rom + 0x100, 0, 0x50);
    dm_program_header(program->rom, program->size, g.type, has_ram(&g) ? 3 : 0);
    emit_vectors(&g);
    emit_start(&g);
    emit_block(&g, 40 + below(&g, 120), 0);
    program->end = (uint16_t)(g.at + 1);
    emit(&g, 0xF3);
    emit(&g, 0x18);
    emit(&g, 0xFE);
    g.in_subroutine = true;
    g.stack_is_own = false;
    /* Loop counters of the caller stay alone. */
    g.loops = LOOPS_MAX;
    uint32_t starts[SUBROUTINES];
    for (unsigned i = 0; i < SUBROUTINES; i++) {
        starts[i] = g.at;
        emit_block(&g, 2 + below(&g, 8), 2);
        if (chance(&g, 50)) {
            emit(&g, 0xC0u + 8u * below(&g, 4)); /* RET cc */
            emit_block(&g, 1 + below(&g, 4), 2);
        }
        emit(&g, 0xC9);
    }
    for (unsigned i = 0; i < g.call_count; i++)
        put16(&g, g.calls[i].at, starts[g.calls[i].subroutine]);
    program->code_end = (uint16_t)g.at;
}
