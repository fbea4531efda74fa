/* SPDX-License-Identifier: MIT */
/* rom.c - ROM files and their headers. The layout of the header is in Pan Docs, "The Cartridge
 * Header"; the offsets below are the ones named there. */
#include "gb/host/rom.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOGO = 0x104,
    LOGO_SIZE = 48,
    TITLE = 0x134,
    CGB_FLAG = 0x143,
    SGB_FLAG = 0x146,
    TYPE = 0x147,
    ROM_SIZE = 0x148,
    RAM_SIZE = 0x149,
    VERSION = 0x14C,
    HEADER_CHECKSUM = 0x14D,
    GLOBAL_CHECKSUM = 0x14E, /* big-endian */
};

/* Of the 48 bytes that the boot ROM compares. Only the hash is kept here: the logo is Nintendo's. */
static const uint64_t LOGO_HASH = 0x01e880b4f33a8eb0;

#define COLOR_ONLY 0xC0 /* of the CGB flag; 80 is a game for both */
#define BANK_SIZE 0x4000u
#define MULTICART_SIZE 0x100000u
#define MULTICART_BANK 0x10u

enum type_features { RAM = 1, BATTERY = 2, RTC = 4, RUMBLE = 8, UNSUPPORTED = 16 };

typedef struct cart_type {
    uint8_t type;
    uint8_t mapper;
    uint8_t features;
    const char *name;
} cart_type;

static const cart_type CART_TYPES[] = {
    {0x00, DM_GB_MAPPER_NONE, 0, "ROM ONLY"},
    {0x01, DM_GB_MAPPER_MBC1, 0, "MBC1"},
    {0x02, DM_GB_MAPPER_MBC1, RAM, "MBC1+RAM"},
    {0x03, DM_GB_MAPPER_MBC1, RAM | BATTERY, "MBC1+RAM+BATTERY"},
    {0x05, DM_GB_MAPPER_MBC2, RAM, "MBC2"},
    {0x06, DM_GB_MAPPER_MBC2, RAM | BATTERY, "MBC2+BATTERY"},
    {0x08, DM_GB_MAPPER_NONE, RAM, "ROM+RAM"},
    {0x09, DM_GB_MAPPER_NONE, RAM | BATTERY, "ROM+RAM+BATTERY"},
    {0x0B, 0, UNSUPPORTED, "MMM01"},
    {0x0C, 0, UNSUPPORTED, "MMM01+RAM"},
    {0x0D, 0, UNSUPPORTED, "MMM01+RAM+BATTERY"},
    {0x0F, DM_GB_MAPPER_MBC3, RTC | BATTERY, "MBC3+TIMER+BATTERY"},
    {0x10, DM_GB_MAPPER_MBC3, RTC | RAM | BATTERY, "MBC3+TIMER+RAM+BATTERY"},
    {0x11, DM_GB_MAPPER_MBC3, 0, "MBC3"},
    {0x12, DM_GB_MAPPER_MBC3, RAM, "MBC3+RAM"},
    {0x13, DM_GB_MAPPER_MBC3, RAM | BATTERY, "MBC3+RAM+BATTERY"},
    {0x19, DM_GB_MAPPER_MBC5, 0, "MBC5"},
    {0x1A, DM_GB_MAPPER_MBC5, RAM, "MBC5+RAM"},
    {0x1B, DM_GB_MAPPER_MBC5, RAM | BATTERY, "MBC5+RAM+BATTERY"},
    {0x1C, DM_GB_MAPPER_MBC5, RUMBLE, "MBC5+RUMBLE"},
    {0x1D, DM_GB_MAPPER_MBC5, RUMBLE | RAM, "MBC5+RUMBLE+RAM"},
    {0x1E, DM_GB_MAPPER_MBC5, RUMBLE | RAM | BATTERY, "MBC5+RUMBLE+RAM+BATTERY"},
    {0x20, 0, UNSUPPORTED, "MBC6"},
    {0x22, 0, UNSUPPORTED, "MBC7+SENSOR+RUMBLE+RAM+BATTERY"},
    {0xFC, 0, UNSUPPORTED, "POCKET CAMERA"},
    {0xFD, 0, UNSUPPORTED, "BANDAI TAMA5"},
    {0xFE, 0, UNSUPPORTED, "HuC3"},
    {0xFF, 0, UNSUPPORTED, "HuC1+RAM+BATTERY"},
};

static const cart_type *find_type(uint8_t type)
{
    for (size_t i = 0; i < sizeof CART_TYPES / sizeof CART_TYPES[0]; i++)
        if (CART_TYPES[i].type == type)
            return &CART_TYPES[i];
    return NULL;
}

const char *dm_gb_mapper_name(enum dm_gb_mapper mapper)
{
    static const char *const names[DM_GB_MAPPER_COUNT] = {"none", "MBC1", "MBC1 multicart",
                                                          "MBC2", "MBC3", "MBC5"};
    return (unsigned)mapper < DM_GB_MAPPER_COUNT ? names[mapper] : "unknown";
}

const char *dm_gb_rom_warning_text(enum dm_gb_rom_warning warning)
{
    switch (warning) {
    case DM_GB_ROM_LARGER:
        return "the file is larger than the header says; all of it is used";
    case DM_GB_ROM_SIZE_UNKNOWN:
        return "the header's ROM size is unknown; the file's size is used";
    case DM_GB_ROM_RAM_UNKNOWN:
        return "the header's RAM size is unknown";
    case DM_GB_ROM_RAM_ASSUMED:
        return "the type has RAM but the header gives no size; 8 KiB assumed";
    case DM_GB_ROM_RAM_IGNORED:
        return "the header gives a RAM size but the type has no RAM";
    case DM_GB_ROM_BAD_LOGO:
        return "the logo is wrong; a real Game Boy would not start this";
    case DM_GB_ROM_BAD_CHECKSUM:
        return "the header checksum is wrong; a real Game Boy would not start this";
    case DM_GB_ROM_BAD_GLOBAL_SUM:
        return "the global checksum is wrong";
    case DM_GB_ROM_CGB_ONLY:
        return "made for the Game Boy Color only; it runs only when forced, as on a DMG";
    case DM_GB_ROM_SHORTER:
        return "the file is shorter than the header says; the rest reads as FF";
    case DM_GB_ROM_WARNINGS:
        break;
    }
    return "unknown warning";
}

/* "2 MiB", "32 KiB", "512 bytes" */
static const char *size_text(char out[32], uint32_t size)
{
    if (size >= 0x100000u && size % 0x100000u == 0)
        snprintf(out, 32, "%u MiB", size >> 20);
    else if (size >= 0x400u && size % 0x400u == 0)
        snprintf(out, 32, "%u KiB", size >> 10);
    else
        snprintf(out, 32, "%u bytes", size);
    return out;
}

/* Bytes that a ROM size code stands for; 0 for one that does not exist. */
static uint32_t rom_size_of(uint8_t code)
{
    if (code <= 8)
        return 0x8000u << code;
    switch (code) { /* seen in old lists only */
    case 0x52:
        return 72 * BANK_SIZE;
    case 0x53:
        return 80 * BANK_SIZE;
    case 0x54:
        return 96 * BANK_SIZE;
    default:
        return 0;
    }
}

static bool logo_right(const uint8_t *bytes)
{
    return dm_hash64(bytes + LOGO, LOGO_SIZE) == LOGO_HASH;
}

/* An MBC1 multicart holds four games of 256 KiB, each with a header of its own. */
static bool is_multicart(const dm_gb_rom *rom)
{
    return rom->size == MULTICART_SIZE && logo_right(rom->bytes) &&
           logo_right(rom->bytes + MULTICART_BANK * BANK_SIZE);
}

static void read_title(dm_gb_rom *rom)
{
    /* The last byte became the CGB flag, which has its top bit set. */
    size_t length = rom->cgb_flag & 0x80 ? DM_GB_TITLE_MAX - 1 : DM_GB_TITLE_MAX;
    size_t end = 0;
    for (size_t i = 0; i < length; i++) {
        uint8_t c = rom->bytes[TITLE + i];
        if (c == 0)
            break;
        rom->title[i] = c >= 0x20 && c < 0x7F ? (char)c : '?';
        if (c != ' ')
            end = i + 1;
    }
    rom->title[end] = '\0';
}

static void read_checksums(dm_gb_rom *rom)
{
    uint32_t header = 0, global = 0;
    for (size_t i = TITLE; i < HEADER_CHECKSUM; i++)
        header = header - rom->bytes[i] - 1;
    for (size_t i = 0; i < rom->file_size; i++)
        global += rom->bytes[i];
    global -= (uint32_t)rom->bytes[GLOBAL_CHECKSUM] + rom->bytes[GLOBAL_CHECKSUM + 1];
    rom->header_checksum = rom->bytes[HEADER_CHECKSUM];
    rom->header_checksum_right = (uint8_t)header;
    rom->global_checksum =
        (uint16_t)(rom->bytes[GLOBAL_CHECKSUM] << 8 | rom->bytes[GLOBAL_CHECKSUM + 1]);
    rom->global_checksum_right = (uint16_t)global;
    if (rom->header_checksum != rom->header_checksum_right)
        rom->warnings |= DM_GB_ROM_BAD_CHECKSUM;
    if (rom->global_checksum != rom->global_checksum_right)
        rom->warnings |= DM_GB_ROM_BAD_GLOBAL_SUM;
}

static void read_ram_size(dm_gb_rom *rom, bool has_ram)
{
    static const uint32_t sizes[] = {0, 0x800, 0x2000, 0x8000, 0x20000, 0x10000};
    bool known = rom->ram_code < sizeof sizes / sizeof sizes[0];
    if (!known)
        rom->warnings |= DM_GB_ROM_RAM_UNKNOWN;
    if (rom->mapper == DM_GB_MAPPER_MBC2) {
        rom->ram_size = 512; /* in the mapper itself */
    } else if (!has_ram) {
        if (rom->ram_code != 0)
            rom->warnings |= DM_GB_ROM_RAM_IGNORED;
    } else if (!known || rom->ram_code == 0) {
        rom->warnings |= DM_GB_ROM_RAM_ASSUMED;
        rom->ram_size = 0x2000;
    } else {
        rom->ram_size = sizes[rom->ram_code];
    }
}

static dm_status read_header(dm_gb_rom *rom, dm_error *err)
{
    rom->type = rom->bytes[TYPE];
    rom->cgb_flag = rom->bytes[CGB_FLAG];
    rom->sgb_flag = rom->bytes[SGB_FLAG];
    rom->size_code = rom->bytes[ROM_SIZE];
    rom->ram_code = rom->bytes[RAM_SIZE];
    rom->version = rom->bytes[VERSION];

    const cart_type *type = find_type(rom->type);
    if (type == NULL)
        return dm_fail(err, DM_EUNSUPPORTED, "rom: cartridge type 0x%02X is unknown", rom->type);
    rom->type_name = type->name;
    if (type->features & UNSUPPORTED)
        return dm_fail(err, DM_EUNSUPPORTED, "rom: cartridge type 0x%02X (%s) is not supported",
                       rom->type, type->name);

    uint32_t header_size = rom_size_of(rom->size_code);
    if (header_size == 0)
        rom->warnings |= DM_GB_ROM_SIZE_UNKNOWN;
    else if (header_size > rom->file_size)
        rom->warnings |= DM_GB_ROM_SHORTER;
    else if (header_size < rom->file_size)
        rom->warnings |= DM_GB_ROM_LARGER;

    rom->mapper = type->mapper;
    rom->has_battery = (type->features & BATTERY) != 0;
    rom->has_rtc = (type->features & RTC) != 0;
    rom->has_rumble = (type->features & RUMBLE) != 0;
    read_ram_size(rom, (type->features & RAM) != 0);
    read_title(rom);
    read_checksums(rom);
    if (!logo_right(rom->bytes))
        rom->warnings |= DM_GB_ROM_BAD_LOGO;
    if (rom->cgb_flag == COLOR_ONLY)
        rom->warnings |= DM_GB_ROM_CGB_ONLY;
    if (rom->mapper == DM_GB_MAPPER_MBC1 && is_multicart(rom))
        rom->mapper = DM_GB_MAPPER_MBC1_MULTI;
    return DM_OK;
}

/* What kind of archive begins like this, NULL for none. A ROM may begin with any bytes, but then
 * has the logo. */
static const char *archive_name(const uint8_t *bytes, size_t size)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *name;
    } archives[] = {
        {"PK\x03\x04", 4, "ZIP"}, {"PK\x05\x06", 4, "ZIP"},        {"\x1F\x8B", 2, "gzip"},
        {"7z\xBC\xAF", 4, "7z"},  {"\xFD\x37zXZ", 5, "xz"},        {"BZh", 3, "bzip2"},
        {"Rar!", 4, "RAR"},       {"\x28\xB5\x2F\xFD", 4, "zstd"},
    };
    if (size >= DM_GB_ROM_SIZE_MIN && logo_right(bytes))
        return NULL;
    for (size_t i = 0; i < sizeof archives / sizeof archives[0]; i++)
        if (size >= archives[i].size && memcmp(bytes, archives[i].magic, archives[i].size) == 0)
            return archives[i].name;
    return NULL;
}

dm_status dm_gb_rom_init(dm_gb_rom *rom, const void *bytes, size_t size, dm_error *err)
{
    *rom = (dm_gb_rom){0};
    const char *archive = archive_name(bytes, size);
    if (archive != NULL)
        return dm_fail(err, DM_EFORMAT, "rom: a %s archive, not a ROM: unpack it first", archive);
    if (size < DM_GB_ROM_SIZE_MIN)
        return dm_fail(err, DM_EFORMAT, "rom: %zu bytes are too few, the header alone ends at %u",
                       size, DM_GB_ROM_SIZE_MIN);
    if (size > DM_GB_ROM_SIZE_MAX)
        return dm_fail(err, DM_EFORMAT, "rom: %zu bytes are too many, the largest ROM has 8 MiB",
                       size);
    const uint32_t header_size = rom_size_of(((const uint8_t *)bytes)[ROM_SIZE]);
    uint32_t padded = 2 * BANK_SIZE;
    while (padded < size || padded < header_size)
        padded *= 2;
    rom->bytes = malloc(padded);
    if (rom->bytes == NULL)
        return dm_fail(err, DM_ENOMEM, "rom: no memory for %u bytes", padded);
    memcpy(rom->bytes, bytes, size);
    memset(rom->bytes + size, 0xFF, padded - size);
    rom->size = padded;
    rom->file_size = (uint32_t)size;
    rom->hash = dm_hash128_of(bytes, size);
    dm_status status = read_header(rom, err);
    if (status != DM_OK)
        dm_gb_rom_deinit(rom);
    return status;
}

dm_status dm_gb_rom_load(dm_gb_rom *rom, const char *path, dm_error *err)
{
    *rom = (dm_gb_rom){0};
    char *bytes = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, DM_GB_ROM_SIZE_MAX, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    status = dm_gb_rom_init(rom, bytes, size, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", path);
    free(bytes);
    return status;
}

void dm_gb_rom_deinit(dm_gb_rom *rom)
{
    free(rom->bytes);
    *rom = (dm_gb_rom){0};
}

void dm_gb_rom_cart(const dm_gb_rom *rom, uint32_t now, dm_gb_cart *cart)
{
    /* All of it, padding too: a machine may be compared byte by byte. */
    memset(cart, 0, sizeof *cart);
    cart->mapper = rom->mapper;
    cart->has_rtc = rom->has_rtc;
    cart->has_rumble = rom->has_rumble;
    cart->has_battery = rom->has_battery;
    cart->rom_mask = rom->size - 1;
    cart->ram_size = rom->ram_size;
    dm_gb_cart_reset(cart, now);
}

void dm_gb_rom_report(const dm_gb_rom *rom, dm_buffer *out)
{
    char rom_text[32], ram_text[32], hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex(rom->hash, hex);
    const char *cgb = rom->cgb_flag == COLOR_ONLY ? "only" : rom->cgb_flag & 0x80 ? "yes" : "no";
    dm_buffer_printf(out, "title            %s\n", rom->title[0] ? rom->title : "(none)");
    dm_buffer_printf(out, "type             0x%02X %s (mapper: %s)\n", rom->type, rom->type_name,
                     dm_gb_mapper_name((enum dm_gb_mapper)rom->mapper));
    dm_buffer_printf(out, "ROM              %s, %u banks\n", size_text(rom_text, rom->file_size),
                     (rom->file_size + BANK_SIZE - 1) / BANK_SIZE);
    dm_buffer_printf(out, "RAM              %s%s\n",
                     rom->ram_size ? size_text(ram_text, rom->ram_size) : "none",
                     rom->has_battery ? ", battery" : "");
    dm_buffer_printf(out, "clock, rumble    %s, %s\n", rom->has_rtc ? "yes" : "no",
                     rom->has_rumble ? "yes" : "no");
    dm_buffer_printf(out, "Color, Super GB  %s, %s\n", cgb, rom->sgb_flag == 0x03 ? "yes" : "no");
    dm_buffer_printf(out, "version          %u\n", rom->version);
    dm_buffer_printf(out, "header checksum  0x%02X, %s", rom->header_checksum,
                     rom->warnings & DM_GB_ROM_BAD_CHECKSUM ? "wrong: should be " : "right");
    if (rom->warnings & DM_GB_ROM_BAD_CHECKSUM)
        dm_buffer_printf(out, "0x%02X", rom->header_checksum_right);
    dm_buffer_printf(out, "\nglobal checksum  0x%04X, %s", rom->global_checksum,
                     rom->warnings & DM_GB_ROM_BAD_GLOBAL_SUM ? "wrong: should be " : "right");
    if (rom->warnings & DM_GB_ROM_BAD_GLOBAL_SUM)
        dm_buffer_printf(out, "0x%04X", rom->global_checksum_right);
    dm_buffer_printf(out, "\nlogo             %s\n",
                     rom->warnings & DM_GB_ROM_BAD_LOGO ? "wrong" : "right");
    dm_buffer_printf(out, "XXH3-128         %s\n", hex);
    for (int i = 0; i < DM_GB_ROM_WARNINGS; i++)
        if (rom->warnings & (1u << i))
            dm_buffer_printf(out, "warning: %s\n",
                             dm_gb_rom_warning_text((enum dm_gb_rom_warning)(1 << i)));
}

void dm_gb_rom_report_json(const dm_gb_rom *rom, const char *path, dm_json *json)
{
    char hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex(rom->hash, hex);
    dm_json_begin_object(json, NULL);
    if (path != NULL)
        dm_json_string(json, "path", path);
    dm_json_string(json, "title", rom->title);
    dm_json_uint(json, "type", rom->type);
    dm_json_string(json, "type_name", rom->type_name);
    dm_json_string(json, "mapper", dm_gb_mapper_name((enum dm_gb_mapper)rom->mapper));
    dm_json_uint(json, "rom_bytes", rom->file_size);
    dm_json_uint(json, "ram_bytes", rom->ram_size);
    dm_json_bool(json, "battery", rom->has_battery);
    dm_json_bool(json, "clock", rom->has_rtc);
    dm_json_bool(json, "rumble", rom->has_rumble);
    dm_json_bool(json, "color", rom->cgb_flag & 0x80);
    dm_json_bool(json, "color_only", rom->warnings & DM_GB_ROM_CGB_ONLY);
    dm_json_bool(json, "super", rom->sgb_flag == 0x03);
    dm_json_uint(json, "version", rom->version);
    dm_json_uint(json, "header_checksum", rom->header_checksum);
    dm_json_bool(json, "header_checksum_right", !(rom->warnings & DM_GB_ROM_BAD_CHECKSUM));
    dm_json_uint(json, "global_checksum", rom->global_checksum);
    dm_json_bool(json, "global_checksum_right", !(rom->warnings & DM_GB_ROM_BAD_GLOBAL_SUM));
    dm_json_bool(json, "logo_right", !(rom->warnings & DM_GB_ROM_BAD_LOGO));
    dm_json_string(json, "xxh3_128", hex);
    dm_json_begin_array(json, "warnings");
    for (int i = 0; i < DM_GB_ROM_WARNINGS; i++)
        if (rom->warnings & (1u << i))
            dm_json_string(json, NULL, dm_gb_rom_warning_text((enum dm_gb_rom_warning)(1 << i)));
    dm_json_end_array(json);
    dm_json_end_object(json);
}
