/* SPDX-License-Identifier: MIT */
/* plan.c - which suite a ROM belongs to, told by the folders it lies in, and how to judge it. */
#include "tests/roms/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SECONDS(n) ((uint32_t)((n)*4194304.0 / DM_GB_FRAME_CYCLES + 1))

/* Suites by the beginning of a folder's name; the first row that fits counts. */
typedef struct suite {
    const char *folder;
    const char *name;
    enum dm_rom_protocol protocol;
    uint32_t frames;
} suite;

static const suite suites[] = {
    {"blargg", "blargg", DM_ROM_BLARGG, SECONDS(120)},
    {"mooneye-wilbertpol", "mooneye-wilbertpol", DM_ROM_REGISTERS, SECONDS(60)},
    {"mooneye-test-suite-wilbertpol", "mooneye-wilbertpol", DM_ROM_REGISTERS, SECONDS(60)},
    {"mooneye", "mooneye", DM_ROM_REGISTERS, SECONDS(60)},
    {"samesuite", "samesuite", DM_ROM_REGISTERS, SECONDS(30)},
    {"same-suite", "samesuite", DM_ROM_REGISTERS, SECONDS(30)},
    {"age-test-roms", "age", DM_ROM_REGISTERS, SECONDS(30)},
    {"misc-gb-tests", "misc-gb-tests", DM_ROM_REGISTERS, SECONDS(60)},
    {"gbmicrotest", "gbmicrotest", DM_ROM_HRAM, 30},
    {"dmg-acid2", "dmg-acid2", DM_ROM_PICTURE, 60},
    {"mealybug-tearoom-tests", "mealybug", DM_ROM_PICTURE, 60},
    {"scribbltests", "scribbltests", DM_ROM_PICTURE, 60},
    {"daid", "daid", DM_ROM_PICTURE, 60},
    {"turtle-tests", "turtle", DM_ROM_PICTURE, 60},
    {"bully", "bully", DM_ROM_PICTURE, 60},
    {"strikethrough", "strikethrough", DM_ROM_PICTURE, 60},
    {"little-things-gb", "little-things", DM_ROM_PICTURE, 60},
    {"casualpokeplayer", "casualpokeplayer", DM_ROM_PICTURE, SECONDS(10)},
    {"rtc3test", "rtc3test", DM_ROM_MENU, SECONDS(28)},
    {"gambatte", "gambatte", DM_ROM_DIGITS, 15},
    {"gbc-hw-tests", "gbc-hw-tests", DM_ROM_SAVE, SECONDS(30)},
};

/* What is known of single ROMs: parts of their paths, and why they are not run. */
static const struct {
    const char *suite, *part, *reason;
} excluded[] = {
    {"mooneye", "/misc/", "for CGB or AGB"},
    {"mooneye", "/utils/", "a tool, not a test"},
    {"mooneye", "/madness/", "for an MGB"},
    {"mooneye-wilbertpol", "/misc/", "for CGB or AGB"},
    {"mooneye-wilbertpol", "/utils/", "a tool, not a test"},
    {"mooneye-wilbertpol", "/madness/", "for an MGB"},
    {"mooneye-wilbertpol", "/logic-analysis/", "for a logic analyser"},
    {"mooneye-wilbertpol", "/manual-only/", "judged by eye; no reference"},
    {"samesuite", "/sgb/", "needs an SGB"},
    {"samesuite", "/dma/", "needs a CGB"},
    {"samesuite", "/ppu/", "needs a CGB"},
    {"age", "/cgb/", "needs a CGB"},
    {"daid", "rom_and_ram", "shows facts, has no right answer"},
    {"daid", "gbc", "needs a CGB"},
    {"casualpokeplayer", "sgb-ext", "needs an SGB"},
    {"rtc3test", "/shootout/", "an older release of rtc3test.gb; pictures of a CGB"},
    {"little-things", "tellinglys", "waits for buttons"},
};

/* Of samesuite's sound tests the others read PCM12 and PCM34, which a DMG does not have. */
static const char *const samesuite_dmg[] = {"channel_3_wave_ram_dac_on_rw",
                                            "channel_3_wave_ram_locked_write"};

static void refuse(dm_rom_plan *plan, const char *format, ...) DM_PRINTF(2, 3);

static void refuse(dm_rom_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plan->protocol = DM_ROM_NOT_RUN;
    vsnprintf(plan->text, sizeof plan->text, format, args);
    va_end(args);
}

static const suite *find_suite(const char *path)
{
    for (const char *part = path; strchr(part, '/') != NULL; part = strchr(part, '/') + 1)
        for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
            if (strncasecmp(part, suites[i].folder, strlen(suites[i].folder)) == 0)
                return &suites[i];
    return NULL;
}

/* ---- models ---- */

/* The model that a name's last part stands for, "GS" in "di_timing-GS"; NULL: every model. In
 * mooneye's groups G is DMG and MGB, S is SGB and SGB2, C is CGB and AGB and AGS, A the last two.
 */
static const char *model_suffix(const char *stem)
{
    const char *suffix = strrchr(stem, '-');
    if (suffix == NULL)
        return NULL;
    suffix++;
    static const char *const models[] = {"dmg", "mgb", "sgb", "cgb", "agb", "ags", "ncm"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strncmp(suffix, models[i], 3) == 0)
            return suffix;
    return suffix[0] != 0 && suffix[strspn(suffix, "GSCA")] == 0 ? suffix : NULL;
}

static bool fits_dmg(const char *suffix)
{
    if (suffix[strspn(suffix, "GSCA")] == 0)
        return strchr(suffix, 'G') != NULL;
    return strncmp(suffix, "dmg", 3) == 0 && strncmp(suffix, "dmg0", 4) != 0;
}

static void check_model(dm_rom_plan *plan, const char *stem)
{
    const char *suffix = model_suffix(stem);
    if (suffix != NULL && !fits_dmg(suffix) && strstr(stem, "-dmgC-") == NULL)
        refuse(plan, "for another model: %s", suffix);
}

/* ---- references ---- */

static void add_reference(dm_rom_plan *plan, const char *folder, const char *before,
                          const char *stem, const char *after)
{
    char name[DM_PATH_MAX], path[DM_PATH_MAX];
    int length = snprintf(name, sizeof name, "%s%s%s", before, stem, after);
    if (plan->reference_count == DM_ROM_REFERENCES || length >= (int)sizeof name ||
        dm_path_join(path, folder, name, NULL) != DM_OK || !dm_file_exists(path))
        return;
    memcpy(plan->references[plan->reference_count++], path, sizeof path);
}

static void find_pictures(dm_rom_plan *plan, const char *folder, const char *stem)
{
    /* The ways in which collections name the picture of a DMG: before and after the ROM's name. */
    static const char *const forms[][2] = {{"", "-dmg.png"},
                                           {"", "-dmg-cgb.png"},
                                           {"", "-dmgC.png"},
                                           {"", "_dmg08.png"},
                                           {"", ".dmg.png"},
                                           {"", "_0.dmg.png"},
                                           {"", "_1.dmg.png"},
                                           {"", "_2.dmg.png"},
                                           {"", "-expected.png"},
                                           {"expected/DMG-blob/", ".png"},
                                           {"expected/DMG-CPU B/", ".png"}};
    char base[DM_PATH_MAX];
    snprintf(base, sizeof base, "%s", stem);
    char *nocgb = strstr(base, "-nocgb"); /* age: NAME-nocgb.gb has NAME-dmgC.png */
    if (nocgb != NULL)
        *nocgb = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        add_reference(plan, folder, forms[i][0], base, forms[i][1]);
    if (plan->reference_count == 0)
        add_reference(plan, folder, "", base, ".png");
    if (plan->reference_count == 0)
        add_reference(plan, folder, "screenshots/", "expected", ".png");
}

static void use_pictures(dm_rom_plan *plan, const char *folder, const char *stem)
{
    plan->protocol = DM_ROM_PICTURE;
    find_pictures(plan, folder, stem);
    if (plan->reference_count == 0)
        refuse(plan, "no reference picture for a DMG");
}

/* ---- suites with rules of their own ---- */

static void plan_gambatte(dm_rom_plan *plan, const char *folder, const char *stem)
{
    plan->runs_cgb = true;
    find_pictures(plan, folder, stem);
    if (plan->reference_count > 0) {
        plan->protocol = DM_ROM_PICTURE;
        return;
    }
    const char *model = strstr(stem, "dmg08");
    const char *out = model != NULL ? strstr(model, "_out") : NULL;
    if (out == NULL) {
        refuse(plan, "no result for a DMG in its name");
        return;
    }
    out += strlen("_out");
    size_t digits = strspn(out, "0123456789ABCDEF");
    if (strncmp(out, "audio", 5) == 0)
        refuse(plan, "judged by sound");
    else if (digits == 0 || digits > 16)
        refuse(plan, "its result is not in digits");
    else
        snprintf(plan->text, sizeof plan->text, "%.*s", (int)digits, out);
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void plan_by_suite(dm_rom_plan *plan, const char *path, const char *folder, const char *stem)
{
    if (strcmp(plan->suite, "gambatte") == 0) {
        plan_gambatte(plan, folder, stem);
        return;
    }
    check_model(plan, stem);
    if (plan->protocol == DM_ROM_NOT_RUN)
        return;
    if (plan->protocol == DM_ROM_PICTURE)
        use_pictures(plan, folder, stem);
    else if (plan->protocol == DM_ROM_MENU) {
        add_reference(plan, folder, stem, "-basic-tests", "-dmg.png");
        add_reference(plan, folder, stem, "-range-tests", "-dmg.png");
        add_reference(plan, folder, stem, "-sub-second-writes", "-dmg.png");
        if (plan->reference_count != 3)
            refuse(plan, "no reference pictures for a DMG");
    } else if (strstr(path, "/manual-only/") != NULL || strncmp(stem, "m3-bg-", 6) == 0) {
        plan->frames = 60;
        use_pictures(plan, folder, stem);
    } else if (strcmp(plan->suite, "samesuite") == 0 && strstr(path, "/apu/") != NULL &&
               !is_one_of(stem, samesuite_dmg, sizeof samesuite_dmg / sizeof samesuite_dmg[0]))
        refuse(plan, "needs a CGB");
    else if (plan->protocol == DM_ROM_SAVE) {
        plan->runs_cgb = true;
        add_reference(plan, folder, "", "real_gb", ".sav");
        if (plan->reference_count == 0)
            refuse(plan, "no capture of a DMG");
    }
    plan->random_ram = strcmp(plan->suite, "bully") == 0;
    if (strcmp(stem, "statcount-auto") == 0)
        plan->frames = 300;
}

void dm_rom_plan_make(dm_rom_plan *plan, const char *root, const char *path)
{
    memset(plan, 0, sizeof *plan);
    const suite *row = find_suite(path);
    if (row == NULL) {
        plan->suite = "other";
        refuse(plan, "no suite known by its folder");
        return;
    }
    plan->suite = row->name;
    plan->protocol = row->protocol;
    plan->frames = row->frames;
    for (size_t i = 0; i < sizeof excluded / sizeof excluded[0]; i++) {
        if (strcmp(excluded[i].suite, row->name) == 0 && strstr(path, excluded[i].part) != NULL) {
            refuse(plan, "%s", excluded[i].reason);
            return;
        }
    }
    char folder[DM_PATH_MAX], stem[DM_PATH_MAX];
    if (dm_path_join(folder, root, path, NULL) != DM_OK) {
        refuse(plan, "path too long");
        return;
    }
    char *slash = strrchr(folder, '/');
    snprintf(stem, sizeof stem, "%s", slash + 1);
    *slash = 0;
    char *dot = strrchr(stem, '.');
    if (dot != NULL)
        *dot = 0;
    plan_by_suite(plan, path, folder, stem);
}
