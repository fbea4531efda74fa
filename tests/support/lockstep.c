/* SPDX-License-Identifier: MIT */
#include "tests/support/lockstep.h"
#include "romtools/disasm.h"

#include <stdio.h>
#include <string.h>

dm_status dm_lockstep_create(dm_lockstep *pair, const void *rom, size_t size, bool draw,
                             dm_error *err)
{
    *pair = (dm_lockstep){0};
    dm_status status = dm_gb_create(rom, size, NULL, &pair->ours, err);
    if (status == DM_OK)
        status = dm_mgba_create(rom, size, draw ? DM_MGBA_KEEP_COMPLETE : DM_MGBA_NO_PICTURES,
                                &pair->theirs, err);
    if (status != DM_OK)
        dm_lockstep_destroy(pair);
    return status;
}

void dm_lockstep_destroy(dm_lockstep *pair)
{
    dm_gb_destroy(pair->ours);
    dm_mgba_destroy(pair->theirs);
    *pair = (dm_lockstep){0};
}

static void rebase(dm_lockstep *pair)
{
    pair->our_base = dm_gb_get_counters(pair->ours).cycles;
    pair->their_base = dm_mgba_cycles(pair->theirs);
}

void dm_lockstep_align(dm_lockstep *pair)
{
    static const struct {
        uint16_t address;
        uint8_t value;
    } writes[] = {{0xFF40, 0x00}, {0xFF04, 0x00}, {0xFF0F, 0x01}, {0xFF40, 0x91}};
    dm_gb *gb = pair->ours;
    /* mGBA's cartridge RAM starts as FF. */
    memset(gb->ram + DM_GB_CART_RAM, 0xFF, gb->ram_size - DM_GB_CART_RAM);
    for (unsigned i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        dm_gb_poke(gb, writes[i].address, writes[i].value);
        dm_mgba_poke(pair->theirs, writes[i].address, writes[i].value);
    }
    for (uint32_t address = 0x8000; address < 0xFFFF; address++)
        if (address < 0xA000 || (address >= 0xC000 && address < 0xE000) ||
            (address >= 0xFE00 && address < 0xFEA0) || address >= 0xFF80)
            dm_mgba_poke(pair->theirs, (uint16_t)address, dm_gb_peek(gb, (uint16_t)address));
    rebase(pair);
}

void dm_lockstep_step_ours(dm_lockstep *pair)
{
    dm_gb_step(pair->ours);
    /* No HALT lasts longer than a timer's whole round. */
    for (unsigned i = 0; i < 100000 && dm_gb_get_registers(pair->ours).halted; i++)
        dm_gb_step(pair->ours);
}

void dm_lockstep_step_theirs(dm_lockstep *pair)
{
    dm_mgba_step(pair->theirs);
}

bool dm_lockstep_same_registers(const dm_gb_registers *a, const dm_gb_registers *b)
{
    return a->a == b->a && a->f == b->f && a->b == b->b && a->c == b->c && a->d == b->d &&
           a->e == b->e && a->h == b->h && a->l == b->l && a->pc == b->pc && a->sp == b->sp;
}

static void say(char *out, size_t size, const char *who, const dm_gb_registers *r,
                unsigned long long cycles)
{
    snprintf(out, size,
             "%s: AF=%02X%02X BC=%02X%02X DE=%02X%02X HL=%02X%02X SP=%04X PC=%04X "
             "IME=%d, %llu cycles",
             who, r->a, r->f, r->b, r->c, r->d, r->e, r->h, r->l, r->sp, r->pc, r->ime, cycles);
}

bool dm_lockstep_step(dm_lockstep *pair, char *why, size_t why_size)
{
    uint8_t code[3];
    char text[DM_GB_DISASM_MAX], a[160], b[160];
    pair->pc = dm_gb_get_registers(pair->ours).pc;
    for (unsigned i = 0; i < 3; i++)
        code[i] = dm_gb_peek(pair->ours, (uint16_t)(pair->pc + i));
    dm_lockstep_step_ours(pair);
    dm_lockstep_step_theirs(pair);
    pair->steps++;
    dm_gb_registers ours = dm_gb_get_registers(pair->ours);
    dm_gb_registers theirs = dm_mgba_get_registers(pair->theirs);
    uint64_t our_cycles = dm_gb_get_counters(pair->ours).cycles - pair->our_base;
    uint64_t their_cycles = dm_mgba_cycles(pair->theirs) - pair->their_base;
    if (dm_lockstep_same_registers(&ours, &theirs) && our_cycles == their_cycles) {
        rebase(pair);
        return true;
    }
    dm_gb_disasm(code, sizeof code, pair->pc, text, sizeof text);
    say(a, sizeof a, "ours", &ours, our_cycles);
    say(b, sizeof b, "mGBA", &theirs, their_cycles);
    snprintf(why, why_size, "step %llu, %04X %s\n  %s\n  %s", (unsigned long long)pair->steps,
             pair->pc, text, a, b);
    return false;
}

bool dm_lockstep_pass(dm_lockstep *pair, uint16_t pc)
{
    const unsigned most = 200000;
    uint16_t sp = dm_gb_get_registers(pair->ours).sp;
    dm_gb_registers r = {0};
    unsigned i;
    for (i = 0; i < most && (r.pc != pc || r.sp != sp); i++) {
        dm_gb_step(pair->ours);
        r = dm_gb_get_registers(pair->ours);
    }
    if (i == most)
        return false;
    r = (dm_gb_registers){0};
    for (i = 0; i < most && (r.pc != pc || r.sp != sp); i++) {
        dm_mgba_step(pair->theirs);
        r = dm_mgba_get_registers(pair->theirs);
    }
    rebase(pair);
    return i < most;
}

bool dm_lockstep_same_memory(dm_lockstep *pair, char *why, size_t why_size)
{
    for (uint32_t address = 0x8000; address < 0xFFFF; address++) {
        if ((address >= 0xA000 && address < 0xC000) || (address >= 0xE000 && address < 0xFE00) ||
            (address >= 0xFEA0 && address < 0xFF80))
            continue;
        uint8_t a = dm_gb_peek(pair->ours, (uint16_t)address);
        uint8_t b = dm_mgba_peek(pair->theirs, (uint16_t)address);
        if (a != b) {
            snprintf(why, why_size, "memory at %04X: ours %02X, mGBA %02X", address, a, b);
            return false;
        }
    }
    return true;
}
