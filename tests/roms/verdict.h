/* SPDX-License-Identifier: MIT */
/* verdict.h - public test ROMs: which suite one belongs to, how it says its result, what it said.
 *
 *   plan.c     from a path to a plan: the suite, the protocol, what to compare with, or why not
 *   verdict.c  run one ROM by its plan and judge it
 *   picture.c  frames against reference pictures (PNG)
 *   suite.c    the program: walks a folder, runs everything, prints the table
 *
 * The machine under test is a DMG (revision A, B or C). ROMs that need another model are skipped,
 * with the reason in words. */
#ifndef DM_TESTS_ROMS_VERDICT_H
#define DM_TESTS_ROMS_VERDICT_H

#include "base/file.h"

#include <dotmatrix/gb.h>

enum dm_rom_protocol {
    DM_ROM_NOT_RUN,   /* `text` says why */
    DM_ROM_BLARGG,    /* serial text, or DE B0 61 at A001 with the status at A000, or map text */
    DM_ROM_REGISTERS, /* BCDEHL = 3 5 8 13 21 34 behind LD B,B or an illegal opcode */
    DM_ROM_HRAM,      /* FF80 actual, FF81 expected, FF82 = 01 pass, FF fail */
    DM_ROM_PICTURE,   /* the frame equals one of the references */
    DM_ROM_DIGITS,    /* hexadecimal digits drawn at the top left: `text` */
    DM_ROM_SAVE,      /* cartridge RAM equals the file references[0] */
    DM_ROM_MENU       /* the picture after choosing item i of its menu equals references[i] */
};

#define DM_ROM_REFERENCES 4
#define DM_ROM_TEXT_MAX 160

typedef struct dm_rom_plan {
    const char *suite;
    enum dm_rom_protocol protocol;
    uint32_t frames; /* limit; for pictures and digits the moment of comparison */
    bool runs_cgb;   /* a header that asks for a CGB is no reason to skip it */
    bool random_ram; /* wants work RAM as a cold machine has it, not zeroed */
    char text[DM_ROM_TEXT_MAX];
    size_t reference_count;
    char references[DM_ROM_REFERENCES][DM_PATH_MAX];
} dm_rom_plan;

/* Plan the ROM `path` (from `root`, '/' separated). Looks for reference files beside it. */
void dm_rom_plan_make(dm_rom_plan *plan, const char *root, const char *path);

enum dm_rom_verdict { DM_ROM_PASS, DM_ROM_FAIL, DM_ROM_SKIP };

typedef struct dm_rom_result {
    enum dm_rom_verdict verdict;
    char how[DM_ROM_TEXT_MAX]; /* what decided it, or why nothing did; one line */
    double seconds;            /* emulated */
    uint8_t frame[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
} dm_rom_result;

const char *dm_rom_verdict_name(enum dm_rom_verdict verdict);
void dm_rom_judge(const dm_rom_plan *plan, const void *rom, size_t size, dm_rom_result *result);

/* Pictures. Shades are the nearest of FF AA 55 00. DM_EINVAL for another size than the screen's. */
dm_status dm_rom_picture_read(const char *path, uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H],
                              dm_error *err);
dm_status dm_rom_picture_write(const char *path,
                               const uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H],
                               dm_error *err);

#endif
