/* SPDX-License-Identifier: MIT */
/* rom.h - ROM files: reading one, what its header says, and the cartridge that it makes.
 *
 * A dm_gb_rom owns a copy of the bytes, padded with FF to a power of two of at least 32 KiB, so
 * that cart.h can mask every offset. It is read-only after loading and may be shared by any number
 * of machines and threads. Any bytes may be given: a file that cannot be run is refused with a reason of
 * one line, and oddities that do no harm are bits of `warnings`. */
#ifndef DM_GB_ROM_H
#define DM_GB_ROM_H

#include "base/buffer.h"
#include "base/hash.h"
#include "base/json.h"
#include "gb/machine/cart.h"

#define DM_GB_ROM_SIZE_MIN 0x150u    /* up to the end of the header */
#define DM_GB_ROM_SIZE_MAX 0x800000u /* 512 banks, as many as an MBC5 reaches */
#define DM_GB_TITLE_MAX 16

/* What is odd about a ROM; dm_gb_rom_warning has the words. */
enum dm_gb_rom_warning {
    DM_GB_ROM_LARGER = 1 << 0,         /* than the header says; the file's size is used */
    DM_GB_ROM_SIZE_UNKNOWN = 1 << 1,   /* no such ROM size code; likewise */
    DM_GB_ROM_RAM_UNKNOWN = 1 << 2,    /* no such RAM size code */
    DM_GB_ROM_RAM_ASSUMED = 1 << 3,    /* a type with RAM, but no size: 8 KiB */
    DM_GB_ROM_RAM_IGNORED = 1 << 4,    /* a RAM size, but a type without RAM */
    DM_GB_ROM_BAD_LOGO = 1 << 5,       /* a real Game Boy would not start it */
    DM_GB_ROM_BAD_CHECKSUM = 1 << 6,   /* header checksum; likewise */
    DM_GB_ROM_BAD_GLOBAL_SUM = 1 << 7, /* nothing checks it */
    DM_GB_ROM_CGB_ONLY = 1 << 8,       /* asks for a Game Boy Color */
    DM_GB_ROM_SHORTER = 1 << 9,        /* than the header says; the rest reads as FF */
    DM_GB_ROM_WARNINGS = 10
};

typedef struct dm_gb_rom {
    uint8_t *bytes;
    uint32_t size;      /* padded; a power of two */
    uint32_t file_size; /* as it was given */
    dm_hash128 hash;    /* of the file's bytes */

    char title[DM_GB_TITLE_MAX + 1]; /* printable ASCII, others as '?' */
    uint8_t type;                    /* byte 0147 */
    uint8_t cgb_flag, sgb_flag;      /* bytes 0143 and 0146 */
    uint8_t size_code, ram_code;     /* bytes 0148 and 0149 */
    uint8_t version;                 /* byte 014C */
    uint8_t header_checksum, header_checksum_right;
    uint16_t global_checksum, global_checksum_right;
    const char *type_name; /* "MBC1+RAM+BATTERY" */

    uint8_t mapper; /* enum dm_gb_mapper */
    uint8_t has_battery, has_rtc, has_rumble;
    uint32_t ram_size;
    uint32_t warnings; /* enum dm_gb_rom_warning */
} dm_gb_rom;

/* Both leave `rom` empty when they fail. A ROM for the Color only is read, with its warning:
 * whether it may run is decided where a machine is made (force_dmg of dm_gb_options). */
dm_status dm_gb_rom_init(dm_gb_rom *rom, const void *bytes, size_t size, dm_error *err);
dm_status dm_gb_rom_load(dm_gb_rom *rom, const char *path, dm_error *err);
void dm_gb_rom_deinit(dm_gb_rom *rom);

/* The cartridge as it is when the machine is switched on at time `now`, its clock at zero. */
void dm_gb_rom_cart(const dm_gb_rom *rom, uint32_t now, dm_gb_cart *cart);

const char *dm_gb_mapper_name(enum dm_gb_mapper mapper);
/* The words for one bit of `warnings`. */
const char *dm_gb_rom_warning_text(enum dm_gb_rom_warning warning);

/* A few lines about the header, for people. */
void dm_gb_rom_report(const dm_gb_rom *rom, dm_buffer *out);
/* The same as one JSON object, for programs; `path` may be NULL. */
void dm_gb_rom_report_json(const dm_gb_rom *rom, const char *path, dm_json *json);

#endif
