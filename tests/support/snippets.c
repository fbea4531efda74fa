/* SPDX-License-Identifier: MIT */
/* snippets.c - four kinds of programs, put together from small pieces of machine code. */
#include "tests/support/snippets.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Writing code ---- */

#define DEVICE_ROM (128u * 1024u)
#define WAITING_ROM 0x8000u
#define BODY 0x150u
#define DEVICE_END 0x3E00u

typedef struct writer {
    uint8_t *rom;
    uint32_t at;
    dm_test_random random;
} writer;

static void put(writer *w, const uint8_t *bytes, uint32_t count)
{
    memcpy(w->rom + w->at, bytes, count);
    w->at += count;
}
#define PUT(w, ...) put((w), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Somewhere among `count` addresses from `first`. */
static uint32_t near(writer *w, uint32_t first, uint32_t count)
{
    return first + dm_test_random_below(&w->random, count);
}

/* So many snippets, again and again. */
static void put_loop(writer *w, uint32_t count, void (*put_snippet)(writer *w))
{
    const uint32_t start = w->at;
    for (uint32_t i = 0; i < count; i++)
        put_snippet(w);
    PUT(w, 0xC3, (uint8_t)start, (uint8_t)(start >> 8));
}

/* Makes a program in room for DEVICE_ROM bytes; returns how many of them it is. */
typedef size_t make_program(uint8_t *rom, uint64_t seed);

static void each(dm_rom_case *check, uint32_t frames, uint64_t seeds, const char *kind,
                 make_program *make)
{
    uint8_t *rom = malloc(DEVICE_ROM);
    assert_non_null(rom);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        char name[32];
        const size_t size = make(rom, seed);
        snprintf(name, sizeof name, "%s, seed %u", kind, (unsigned)seed);
        check(name, rom, size, frames, seed);
    }
    free(rom);
}

/* One thing that programs do with STAT, VRAM, the mapper, the stack or interrupts. */
static void put_device_snippet(writer *w)
{
    static const uint8_t registers[] = {0x42, 0x43, 0x45, 0x47, 0x4A, 0x4B, 0x41, 0x0F};
    const uint8_t byte = dm_test_random_byte(&w->random);
    const uint32_t vram = near(w, 0x8000, 0x2000), any = near(w, 0, 0x10000);
    const uint32_t control = near(w, 0, 0x8000), other = near(w, 0xA000, 0x2000);
    const uint32_t echo = near(w, 0xDFF0, 0x1E20); /* and a little before and behind */
    const uint8_t sound = (uint8_t)near(w, 0x10, 0x30);
    switch (dm_test_random_below(&w->random, 28)) {
    case 0: /* wait until the PPU leaves VRAM alone, then write there */
        PUT(w, 0xF0, 0x41, 0xE6, 0x02, 0x20, 0xFA, 0x21, (uint8_t)vram, (uint8_t)(vram >> 8), 0x22);
        break;
    case 1: /* wait for another mode, at most until it comes */
        PUT(w, 0xF0, 0x41, 0xE6, 0x03, 0xFE, byte & 3, 0x28, 0xF8);
        break;
    case 2:
        PUT(w, 0xF0, 0x41, 0x47, 0xF0, 0x44, 0x4F);
        break;
    case 3:
        PUT(w, 0x21, (uint8_t)vram, (uint8_t)(vram >> 8), 0x7E, 0x34, 0x77);
        break;
    case 4: /* a stack in VRAM */
        PUT(w, 0x31, (uint8_t)vram, (uint8_t)(vram >> 8), 0xC5, 0xD1, 0x31, 0xFE, 0xDF);
        break;
    case 5: /* a stack anywhere: in ROM, where it writes to the mapper, in the echo, in OAM */
        PUT(w, 0x31, (uint8_t)any, (uint8_t)(any >> 8), 0xC5, 0xF5, 0x31, 0xFE, 0xDF);
        if (byte & 1) /* and LD [n16],SP, which writes its bytes in the other order */
            PUT(w, 0x31, byte, (uint8_t)any, 0x08, (uint8_t)control, (uint8_t)(control >> 8), 0x31,
                0xFE, 0xDF);
        break;
    case 6:
    case 7: /* a bank, often the one that is there */
        PUT(w, 0x3E, byte & 7, 0xEA, 0x00, 0x20 | (byte >> 3 & 0x1F), 0xCD, 0x00, 0x40);
        break;
    case 8:
        PUT(w, 0x3E, byte & 1 ? 0x0A : byte, 0xEA, (uint8_t)control, (uint8_t)(control >> 8));
        break;
    case 9:
        PUT(w, 0xFA, (uint8_t)other, (uint8_t)(other >> 8), 0x3C, 0xEA, (uint8_t)other,
            (uint8_t)(other >> 8));
        break;
    case 10:
        PUT(w, 0xFA, (uint8_t)echo, (uint8_t)(echo >> 8), 0x3C, 0xEA, (uint8_t)echo,
            (uint8_t)(echo >> 8));
        break;
    case 11:
        PUT(w, 0xFB);
        break;
    case 12:
        PUT(w, 0xF3, 0x00, 0xFB, 0x00, 0x00);
        break;
    case 13:
        PUT(w, 0xF3);
        break;
    case 14: /* some time */
        PUT(w, 0x06, byte, 0x05, 0x20, 0xFD);
        break;
    case 15:
        PUT(w, 0x3E, byte, 0xE0, registers[byte & 7]);
        break;
    case 16:
        PUT(w, 0x3E, 0x80 | byte, 0xE0, 0x40);
        break;
    case 17:
        if (byte < 40)
            PUT(w, 0x3E, 0xC0, 0xE0, 0x46);
        else if (byte < 60)
            PUT(w, 0x3E, 0x11, 0xE0, 0x40); /* the LCD off */
        break;
    case 18: /* interrupts that come one by one */
        PUT(w, 0x3E, byte & 0x1F, 0xE0, 0xFF, 0xF0, 0x0F);
        break;
    case 19: /* wait for a mode, or for not that one */
        PUT(w, 0xF0, 0x41, 0xE6, 1 + byte % 3, byte & 8 ? 0x28 : 0x20, 0xFA);
        break;
    case 20: /* sound, read back now and then */
        PUT(w, 0x3E, byte, 0xE0, sound, 0x2F, 0xE0, sound ^ 3);
        if (byte & 2)
            PUT(w, 0xF0, byte & 4 ? 0x26 : sound);
        break;
    case 21: /* registers of the picture one after the other, and what they are then */
        PUT(w, 0x3E, byte, 0xE0, 0x45, 0xE0, registers[byte & 3], 0xE0, registers[2 + (byte >> 6)]);
        if (byte & 1)
            PUT(w, 0xF0, 0x40, 0xEE, byte & 0x7F, 0xE0, 0x40, 0xF0, registers[byte >> 4 & 7]);
        break;
    case 22: /* LYC is written, a line before or after this one, and interrupts go on at once */
        PUT(w, 0xF3, 0xF0, 0x44, 0xC6, (uint8_t)((byte & 3) - 1), 0xE0, 0x45);
        if (byte & 8) /* or one of those that are compared at another time */
            PUT(w, 0x3E, byte & 16 ? 0 : 144 + byte % 11, 0xE0, 0x45);
        if (byte & 32)
            PUT(w, 0x06, byte, 0x05, 0x20, 0xFD);
        PUT(w, byte & 4 ? 0xFB : 0x00, 0x04);
        break;
    case 23: /* wait for a line, perhaps with flags from elsewhere; only what comes */
    case 24:
        PUT(w, 0xF0, 0x40, 0xCB, 0xFF, 0xE0, 0x40);
        if (byte & 1)
            PUT(w, 0x18, 0x04);
        PUT(w, 0xF0, 0x44, 0xFE, byte & 2 ? 1 + byte % 153 : 140 + byte % 14,
            0x20 | (byte >> 2 & 0x18), 0xFA);
        if (byte & 4)
            PUT(w, 0xF0, 0x44, 0x47);
        break;
    case 25: /* requests are forgotten or made up, keys asked for, interrupts on again */
        PUT(w, byte & 1 ? 0xF3 : 0x00, 0x3E, byte & 2 ? 0 : byte >> 3, 0xE0, 0x0F);
        if (byte & 4)
            PUT(w, 0x3E, 0x30, 0xE0, 0x00, 0x3E, byte & 0x30, 0xE0, 0x00);
        if (byte & 64)
            PUT(w, 0xF0, 0x0F, 0x47);
        PUT(w, byte & 128 ? 0xFB : 0x00, 0x00, 0x04);
        break;
    case 26: /* keys alone, and what they ask for */
        PUT(w, 0x3E, 0x30, 0xE0, 0x00, 0x3E, byte & 0x30, 0xE0, 0x00, 0xF0, byte & 1 ? 0x0F : 0x00,
            0x57);
        break;
    default:
        PUT(w, 0xFF, 0x7E, 0x2A, 0x12, 0x0B);
        break;
    }
}

static size_t make_device_program(uint8_t *rom, uint64_t seed)
{
    static const uint8_t mappers[] = {0x00, 0x02, 0x03, 0x06, 0x10, 0x13, 0x1A, 0x1E};
    writer w = {rom, BODY, dm_test_random_make(seed, 12)};
    memset(rom, 0, DEVICE_ROM);
    for (uint32_t bank = 0; bank < DEVICE_ROM; bank += 0x4000u)
        memcpy(rom + bank, (const uint8_t[]){0x3E, (uint8_t)(bank >> 14), 0xF0, 0x41, 0xC9}, 5);
    memset(rom, 0, 0x100);
    for (uint32_t vector = 0; vector <= 0x60; vector += 8)
        rom[vector] = vector < 0x40 ? 0xC9 : 0xD9;
    if (seed & 4) { /* LYC goes on from line to line */
        const uint8_t step = (uint8_t)near(&w, 1, 40);
        memcpy(rom + 0x48, (const uint8_t[]){0xC3, 0x70, 0x00}, 3);
        memcpy(rom + 0x70,
               (const uint8_t[]){0xF5, 0xF0, 0x45, 0xC6, step, 0xFE, 0x9A, 0x38, 0x01, 0xAF, 0xE0,
                                 0x45, 0xF1, 0xD9},
               14);
    }
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    rom[0x147] = mappers[seed % sizeof mappers];
    rom[0x148] = rom[0x147] == 0x00 ? 0 : 2;
    rom[0x149] = rom[0x147] == 0x06 ? 0 : 3;
    PUT(&w, 0x31, 0xFE, 0xDF, 0x3E, (uint8_t)(seed & 3), 0xE0, 0xFF, 0x3E, seed & 8 ? 0x48 : 0x40,
        0xE0, 0x41, 0xFB);
    const uint32_t start = w.at;
    while (w.at < DEVICE_END)
        put_device_snippet(&w);
    PUT(&w, 0xC3, (uint8_t)start, (uint8_t)(start >> 8));
    return rom[0x148] == 0 ? WAITING_ROM : DEVICE_ROM;
}

void dm_each_device_program(dm_rom_case *check, uint32_t frames, uint64_t seeds)
{
    each(check, frames, seeds, "devices", make_device_program);
}

/* ---- Programs that wait ---- */

#define HELPERS 0x60u /* where small functions are */

/* One thing that a loop does which waits for an interrupt; most leave all as it was. */
static void put_waiting_snippet(writer *w)
{
    const uint8_t byte = dm_test_random_byte(&w->random);
    const uint8_t low = (uint8_t)(0x80u | (byte & 7)), page = byte & 0x80 ? 0xC1 : 0xD1;
    switch (dm_test_random_below(&w->random, 24)) {
    case 0:
    case 1: /* keys, by a function and a stack that is written to */
        PUT(w, 0xC5, 0xCD, HELPERS, 0x00, 0xC1);
        break;
    case 2: /* a byte, the same again and again */
        PUT(w, 0x3E, byte, 0xEA, low, page);
        break;
    case 3: /* two bytes that change places and back */
        PUT(w, 0x21, low, page, 0x2A, 0x46, 0x77, 0x2B, 0x70, 0x46, 0x23, 0x7E, 0x70, 0x2B, 0x77);
        break;
    case 4: /* two that only change places */
        PUT(w, 0x21, low, page, 0x2A, 0x46, 0x77, 0x2B, 0x70);
        break;
    case 5: /* one counts up, the next one down */
        if (byte < 100)
            PUT(w, 0x21, low, page, 0x34, 0x23, 0x35);
        break;
    case 6: /* up and down again */
        PUT(w, 0x21, low, page, 0x34, 0x35);
        break;
    case 7: /* arguments on the stack, as compilers pass them */
        PUT(w, 0x3E, byte, 0xF5, 0x33, 0xF8, 0x00, 0x7E, 0xE8, 0x01);
        break;
    case 8:
        PUT(w, 0x21, 0x34, byte, 0xE5, 0xF8, byte & 3, 0x4E, 0xE8, 0x02);
        break;
    case 9: /* what interrupts have counted */
        PUT(w, 0xFA, 0x00, 0xC1, 0xE6, 0x07, 0xEA, low, page);
        break;
    case 10: /* and now and then something happens */
        PUT(w, 0xFA, 0x00, 0xC1, 0xE6, 0x0F, 0x20, 0x04, 0x21, low, page, 0x34);
        break;
    case 11:
        PUT(w, 0xF0, byte & 1 ? 0x44 : byte & 2 ? 0x41 : 0x42, 0xFE, byte & 0x7F, 0x20, 0x01, 0x04);
        break;
    case 12:
        PUT(w, 0xF5, 0xCB, 0x37, 0xF1);
        break;
    case 13: /* keys without a function */
        PUT(w, 0x3E, byte & 0x30, 0xE0, 0x00, 0xF0, 0x00, 0xF0, 0x00, 0x2F, 0xE6, 0x0F);
        break;
    case 14: /* in high memory, cartridge RAM, or where nothing is */
        PUT(w, 0x3E, byte & 0x0F, 0xE0, 0x80 | (byte & 0x3F));
        break;
    case 15:
        PUT(w, 0x3E, byte, 0xEA, low, byte & 1 ? 0xA1 : 0xFE);
        break;
    case 16:
        if (byte < 60)
            PUT(w, 0xF0, 0x04, 0xEA, low, page); /* DIV */
        break;
    case 17: /* which keys are asked for changes, and nothing else */
        PUT(w, 0xF0, 0x00, 0xEE, 0x30, 0xE0, 0x00, 0xAF);
        break;
    case 18: /* the picture, where the same is already, or another byte */
        PUT(w, 0x3E, byte & 1, 0xEA, low, 0x98);
        break;
    case 19: /* one counts on the stack, in a high byte */
        if (byte < 100)
            PUT(w, 0xF1, 0x3C, 0xF5, 0xAF);
        break;
    case 20: /* the picture scrolls to and fro */
        PUT(w, 0x3E, byte, 0xE0, 0x43, 0xAF, 0xE0, 0x43);
        break;
    default: /* a switch that does nothing */
        PUT(w, 0x21, low, page, 0x7E, 0xFE, byte, 0xC2, (uint8_t)(w->at + 10u),
            (uint8_t)((w->at + 10u) >> 8));
        break;
    }
}

static size_t make_waiting_program(uint8_t *rom, uint64_t seed)
{
    static const uint8_t count_up[] = {0xF5, 0xE5, 0x21, 0x00, 0xC1, 0x34, 0xE1, 0xF1, 0xD9};
    static const uint8_t keys[] = {0x3E, 0x20, 0xE0, 0x00, 0xF0, 0x00, 0xF0, 0x00, 0x2F,
                                   0xE6, 0x0F, 0xCB, 0x37, 0x47, 0x3E, 0x10, 0xE0, 0x00,
                                   0xF0, 0x00, 0xF0, 0x00, 0x2F, 0xE6, 0x0F, 0xB0, 0x47,
                                   0x3E, 0x30, 0xE0, 0x00, 0x78, 0xC9};
    writer w = {rom, BODY, dm_test_random_make(seed, 13)};
    memset(rom, 0, WAITING_ROM);
    for (uint32_t vector = 0x40; vector <= 0x58; vector += 8)
        memcpy(rom + vector, (const uint8_t[]){0xC3, 0xA0, 0x00}, 3);
    memcpy(rom + HELPERS, keys, sizeof keys);
    memcpy(rom + 0xA0, count_up, sizeof count_up);
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    rom[0x147] = 0x08; /* with RAM */
    rom[0x149] = 2;
    PUT(&w, 0x31, 0xFE, 0xDF, 0x3E, (uint8_t)(seed % 8), 0xE0, 0xFF, 0x3E, 0x04 | (seed & 3), 0xE0,
        0x07, 0x3E, 0x40, 0xE0, 0x41, 0xFB);
    put_loop(&w, near(&w, 1, 12), put_waiting_snippet);
    return WAITING_ROM;
}

void dm_each_waiting_program(dm_rom_case *check, uint32_t frames, uint64_t seeds)
{
    each(check, frames, seeds, "waiting", make_waiting_program);
}

/* ---- Programs that disturb pictures ---- */

#define HIGH_CODE 0x3F00u /* what is copied to FF80: OAM DMA of page A and a wait for its end */
#define PICTURE_END 0x1000u

/* Wait for a mode of the picture unit. */
static void put_mode(writer *w, uint8_t mode)
{
    PUT(w, 0xF0, 0x41, 0xE6, 0x03, 0xFE, mode, 0x20, 0xF8);
}

/* Some time, nearly always lines without a disturbance, then one. */
static void put_picture_snippet(writer *w)
{
    static const uint8_t registers[] = {0x42, 0x43, 0x47, 0x48, 0x49, 0x4A, 0x4B, 0x4B};
    const uint8_t byte = dm_test_random_byte(&w->random), low = dm_test_random_byte(&w->random);
    const uint32_t vram = near(w, 0x8000, 0x2000);
    const uint8_t lcdc = (uint8_t)(0x80u | (low & 0x7Fu) | (byte & 6 ? 3 : 0));
    if (byte & 1)
        PUT(w, 0x06, low, 0x05, 0x20, 0xFD);
    else if (byte & 2)
        PUT(w, 0x01, 0x00, low & 0x07, 0x0B, 0x78, 0xB1, 0x20, 0xFB);
    switch (dm_test_random_below(&w->random, 20)) {
    case 0: /* VRAM, when it is open */
    case 1:
        put_mode(w, byte & 4 ? 0 : 2);
        PUT(w, 0x3E, low, 0x21, (uint8_t)vram, (uint8_t)(vram >> 8), 0x22, 0x22, 0x22, 0x22);
        break;
    case 2: /* all of tile 0, read and then written to; perhaps twice on a line */
        if (byte & 16) {
            put_mode(w, 2);
            PUT(w, 0x21, (uint8_t)vram, (uint8_t)(vram >> 8), 0x7E, 0x2F, 0x77, 0x2C, 0x34);
        }
        PUT(w, 0x21, 0x00, byte & 8 ? 0x80 : 0x90);
        put_mode(w, byte & 4 ? 0 : 2);
        if (byte & 32) /* first with what is there */
            PUT(w, 0x7E, 0x77, 0x2F);
        else
            PUT(w, 0x46);
        for (uint32_t i = 0; i < 16; i++)
            PUT(w, 0x22);
        break;
    case 3: /* by a stack */
        PUT(w, 0x31, (uint8_t)vram, (uint8_t)(vram >> 8), 0xC5, 0xE5, 0x31, 0xFE, 0xDF);
        break;
    case 4: /* OAM, in mode 0 or whenever */
    case 5:
        if (byte & 4)
            put_mode(w, 0);
        PUT(w, 0x3E, low, 0x21, byte % 160, 0xFE, 0x22, 0x22, 0x22, 0x22);
        break;
    case 6: /* OAM damaged in mode 2 */
        put_mode(w, 2);
        if (byte & 4)
            PUT(w, 0x11, low, 0xFE, 0x13, 0x13);
        else
            PUT(w, 0x31, low & 3, 0xFE, 0xC5, 0x31, 0xFE, 0xDF);
        break;
    case 7:
        put_mode(w, 2);
        PUT(w, 0x21, low, 0xFE, 0x7E, 0x7E);
        break;
    case 8: /* OAM DMA from VRAM, which leaves the program its ROM */
        PUT(w, 0x3E, 0x80 | (low & 0x1F), 0xE0, 0x46);
        break;
    case 9: /* and from elsewhere; with ROM back comes the old screen */
    case 10:
        PUT(w, 0x3E, low & 0x3F, 0xCD, 0x80, 0xFF);
        break;
    case 11:
        if (byte & 4)
            PUT(w, 0x3E, 0x13, 0xE0, 0x40, 0x06, low, 0x05, 0x20, 0xFD, 0x3E, lcdc, 0xE0, 0x40);
        break;
    case 12: /* STOP, until some key is down */
        if (byte & 4)
            PUT(w, 0xAF, 0xE0, 0x00, 0x10, 0x00);
        break;
    case 13:
        PUT(w, 0x3E, lcdc, 0xE0, 0x40);
        break;
    case 14: /* in mode 0, which disturbs no line */
        put_mode(w, 0);
        PUT(w, 0x3E, lcdc, 0xE0, 0x40);
        break;
    case 15:
        PUT(w, 0xF0, 0x41, 0xE6, 0x03);
        break;
    case 16:
        put_mode(w, byte & 4 ? 0 : 2);
        PUT(w, 0x3E, low, 0xE0, registers[byte & 7]);
        break;
    case 17: /* the whole of a frame without any */
        PUT(w, 0x01, 0x00, 0x0A, 0x0B, 0x78, 0xB1, 0x20, 0xFB);
        break;
    default:
        PUT(w, 0x3E, low, 0xE0, registers[byte & 7]);
        break;
    }
}

static size_t make_picture_program(uint8_t *rom, uint64_t seed)
{
    static const uint8_t transfer[] = {0xE0, 0x46, 0x3E, 0x29, 0x3D, 0x20, 0xFD, 0xC9};
    writer w = {rom, BODY, dm_test_random_make(seed, 14)};
    for (uint32_t i = 0; i < WAITING_ROM; i++)
        rom[i] = i < PICTURE_END ? 0 : dm_test_random_byte(&w.random);
    for (uint32_t i = PICTURE_END; i < HIGH_CODE; i += 4) /* as sprites: on the screen */
        rom[i] %= 160, rom[i + 1] %= 176;
    if (seed & 1) /* both maps, when that is in VRAM: tile 0 everywhere */
        memset(rom + PICTURE_END + 0x1800, 0, 0x800);
    for (uint32_t vector = 0; vector <= 0x60; vector += 8)
        rom[vector] = vector < 0x40 ? 0xC9 : 0xD9;
    memcpy(rom + HIGH_CODE, transfer, sizeof transfer);
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    rom[0x147] = rom[0x148] = rom[0x149] = 0;
    /* The LCD off, FF80 and VRAM filled, sprites, the LCD on. */
    PUT(&w, 0x31, 0xFE, 0xDF, 0x3E, 0x11, 0xE0, 0x40, 0x21, 0x00, HIGH_CODE >> 8, 0x0E, 0x80, 0x2A,
        0xE2, 0x0C, 0x79, 0xFE, 0x90, 0x20, 0xF8);
    PUT(&w, 0x21, 0x00, 0x80, 0x11, 0x00, 0x10, 0x1A, 0x22, 0x13, 0x7C, 0xFE, 0xA0, 0x20, 0xF8);
    PUT(&w, 0x3E, 0x20, 0xCD, 0x80, 0xFF, 0x3E, (uint8_t)(0x83 | (seed << 4)), 0xE0, 0x40, 0x3E,
        (uint8_t)(seed & 3), 0xE0, 0xFF, 0x3E, 0x48, 0xE0, 0x41, 0xFB);
    put_loop(&w, near(&w, 2, 60), put_picture_snippet);
    return WAITING_ROM;
}

void dm_each_picture_program(dm_rom_case *check, uint32_t frames, uint64_t seeds)
{
    each(check, frames, seeds, "pictures", make_picture_program);
}

/* ---- Programs that copy to OAM ---- */

#define TRANSFER_END 0xC00u
#define TRANSFER_ROUTINE 0x5Cu /* bytes of it, at most; above them is memory */

/* One thing that a routine in HRAM does while it waits for a transfer. */
static void put_transfer_step(writer *w)
{
    static const uint8_t reads[] = {0x44, 0x44, 0x41, 0x00, 0x46, 0x0F, 0x04, 0x45, 0xF0};
    static const uint8_t writes[] = {0x42, 0x43, 0x45, 0x47, 0x4B, 0x25, 0x00, 0x41, 0xF0};
    const uint8_t byte = dm_test_random_byte(&w->random);
    const uint32_t any = near(w, 0, 0xFF00), control = near(w, 0, 0x8000);
    switch (dm_test_random_below(&w->random, 14)) {
    case 0:
        PUT(w, 0xF0, reads[byte % 9], 0xE0, 0xF0 | (byte >> 5));
        break;
    case 1:
    case 2:
        PUT(w, 0x3E, byte, 0xE0, writes[byte % 9]);
        break;
    case 3:
        PUT(w, 0xFA, (uint8_t)any, (uint8_t)(any >> 8), 0xE0, 0xF1);
        break;
    case 4:
        PUT(w, 0xEA, (uint8_t)any, (uint8_t)(any >> 8));
        break;
    case 5: /* to a mapper, often what it knows */
        PUT(w, 0x3E, byte & 3, 0xEA, (uint8_t)control, byte & 4 ? 0x20 : (uint8_t)(control >> 8));
        break;
    case 6:
        PUT(w, byte & 1 ? 0xFB : 0xF3, 0x00);
        break;
    case 7: /* the transfer stands still meanwhile; VBlank ends that */
        if (byte < 60)
            PUT(w, 0x3E, 0x01, 0xE0, 0xFF, 0xF0, 0x40, 0xCB, 0xFF, 0xE0, 0x40, 0x76, 0x00);
        break;
    case 8: /* another one */
        if (byte < 80)
            PUT(w, 0x3E, (uint8_t)(byte << 1), 0xE0, 0x46);
        break;
    case 9:
        PUT(w, 0xC5, 0xC1);
        break;
    case 10:
        PUT(w, 0x11, byte, 0xFE, 0x13);
        break;
    case 11: /* wait until LY changes */
        PUT(w, 0xF0, 0x44, 0x47, 0xF0, 0x44, 0xB8, 0x28, 0xFB);
        break;
    default: /* some time */
        PUT(w, 0x3E, 1 + byte % 24, 0x3D, 0x20, 0xFD);
        break;
    }
}

/* Code and data for FF80, which waits long enough for one transfer. */
static void put_transfer_routine(writer *w)
{
    static const uint8_t begin[][4] = {{0xE0, 0x46}, {0x0E, 0x46, 0xE2}, {0x21, 0x46, 0xFF, 0x77}};
    const uint32_t start = w->at, kind = dm_test_random_below(&w->random, 3);
    if (dm_test_random_chance(&w->random, 70)) /* handlers are in ROM, so they do not do well */
        PUT(w, 0xF3);
    put(w, begin[kind], 2 + kind);
    for (uint32_t steps = dm_test_random_below(&w->random, 4); steps != 0; steps--)
        put_transfer_step(w);
    assert_true(w->at - start < TRANSFER_ROUTINE);
    PUT(w, 0x3E, 0x28, 0x3D, 0x20, 0xFD, 0xC9);
}

static void put_transfer_snippet(writer *w)
{
    const uint8_t byte = dm_test_random_byte(&w->random), low = dm_test_random_byte(&w->random);
    const uint8_t pages[] = {0xC0, 0xC1, 0xDF, 0xE1, 0xFE, 0x80 | (byte & 31), 0xA0, byte};
    switch (dm_test_random_below(&w->random, 8)) {
    case 0: /* what may be copied */
        PUT(w, 0x3E, byte, 0x21, low, 0xC0 | (byte & 1), 0x22, 0x2F, 0x22, 0x3C, 0x22);
        break;
    case 1:
        PUT(w, 0x06, low, 0x05, 0x20, 0xFD);
        break;
    case 2:
        PUT(w, 0x3E, byte & 0x1F, 0xE0, byte & 32 ? 0xFF : 0x0F, 0xFB);
        break;
    case 3:
        PUT(w, 0x3E, 0x80 | low, 0xE0, 0x40);
        break;
    case 4: /* not from HRAM */
        if (byte < 100)
            PUT(w, 0x3E, pages[low & 7], 0xE0, 0x46);
        break;
    case 5:
        PUT(w, 0x3E, 0x08 | byte, 0xE0, 0x41, 0x3E, low & 3, 0xEA, 0x00, 0x20);
        break;
    default:
        PUT(w, 0x3E, pages[low & 7], 0xCD, 0x80, 0xFF);
        break;
    }
}

static size_t make_transfer_program(uint8_t *rom, uint64_t seed)
{
    writer w = {rom, HIGH_CODE, dm_test_random_make(seed, 15)};
    for (uint32_t i = 0; i < DEVICE_ROM; i++)
        rom[i] = i < TRANSFER_END ? 0 : dm_test_random_byte(&w.random) % 176;
    for (uint32_t vector = 0; vector <= 0x60; vector += 8)
        rom[vector] = vector < 0x40 ? 0xC9 : 0xD9;
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    rom[0x147] = seed & 1 ? 0x1A : 0x02; /* with RAM */
    rom[0x148] = 2;
    rom[0x149] = 2;
    put_transfer_routine(&w);
    w.at = BODY;
    PUT(&w, 0x31, 0xFE, 0xDF, 0x3E, 0x0A, 0xEA, 0x00, 0x00, 0x21, 0x00, HIGH_CODE >> 8, 0x0E, 0x80,
        0x2A, 0xE2, 0x0C, 0x79, 0xFE, 0x80 + TRANSFER_ROUTINE + 6, 0x20, 0xF8);
    put_loop(&w, near(&w, 8, 120), put_transfer_snippet);
    assert_true(w.at < TRANSFER_END);
    return DEVICE_ROM;
}

void dm_each_transfer_program(dm_rom_case *check, uint32_t frames, uint64_t seeds)
{
    each(check, frames, seeds, "transfers", make_transfer_program);
}
