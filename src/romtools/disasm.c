/* SPDX-License-Identifier: MIT */
/* disasm.c - machine code back to text. A row's mnemonic is copied, with the names that stand for
 * operand bytes (n8 n16 a8 a16 e8) replaced by what they hold. */
#include "romtools/disasm.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *mnemonic;
    uint8_t length;
} row;

#define OP(code, mnemonic, length, ...) {mnemonic, length},
#define CB(code, mnemonic, length, ...)
static const row base_rows[256] = {
#include "gb/machine/opcodes.def"
};
#undef OP
#undef CB
#define OP(code, mnemonic, length, ...)
#define CB(code, mnemonic, length, ...) {mnemonic, length},
static const row prefixed_rows[256] = {
#include "gb/machine/opcodes.def"
};
#undef OP
#undef CB

static bool take(const char **text, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(*text, word, size) != 0)
        return false;
    *text += size;
    return true;
}

/* Write the mnemonic with its operands into `line`. */
static void fill(char line[DM_GB_DISASM_MAX], const char *mnemonic, const uint8_t *bytes,
                 uint16_t address)
{
    unsigned low = bytes[1], wide = 0;
    int offset = low < 128 ? (int)low : (int)low - 256;
    unsigned magnitude = (unsigned)(offset < 0 ? -offset : offset);
    bool relative = strncmp(mnemonic, "JR", 2) == 0;
    size_t at = 0;
    if (strstr(mnemonic, "16"))
        wide = low | (unsigned)bytes[2] << 8;
    while (*mnemonic) {
        char *end = line + at;
        size_t room = DM_GB_DISASM_MAX - at;
        int wrote = 1;
        if (take(&mnemonic, "n16") || take(&mnemonic, "a16"))
            wrote = snprintf(end, room, "$%04X", wide);
        else if (take(&mnemonic, "n8"))
            wrote = snprintf(end, room, "$%02X", low);
        else if (take(&mnemonic, "a8"))
            wrote = snprintf(end, room, "$FF%02X", low);
        else if (take(&mnemonic, "+e8")) /* SP+e8 */
            wrote = snprintf(end, room, "%c$%02X", offset < 0 ? '-' : '+', magnitude);
        else if (relative && take(&mnemonic, "e8"))
            wrote = snprintf(end, room, "$%04X", (unsigned)(address + 2 + offset) & 0xFFFF);
        else if (take(&mnemonic, "e8"))
            wrote = snprintf(end, room, "%s$%02X", offset < 0 ? "-" : "", magnitude);
        else
            *end = *mnemonic++;
        at += (size_t)wrote;
    }
    line[at] = 0;
}

unsigned dm_gb_disasm(const uint8_t *bytes, size_t available, uint16_t address, char *out,
                      size_t size)
{
    char line[DM_GB_DISASM_MAX];
    if (available == 0) {
        if (size > 0)
            out[0] = 0;
        return 0;
    }
    const row *found = &base_rows[bytes[0]];
    if (bytes[0] == 0xCB && available > 1)
        found = &prefixed_rows[bytes[1]];
    unsigned length = found->length;
    bool illegal =
        strcmp(found->mnemonic, "ILLEGAL") == 0 || strcmp(found->mnemonic, "PREFIX") == 0;
    if (illegal || length > available) {
        length = 1;
        snprintf(line, sizeof line, "DB $%02X", (unsigned)bytes[0]);
    } else if (bytes[0] == 0x10 && bytes[1] != 0) {
        snprintf(line, sizeof line, "STOP $%02X", (unsigned)bytes[1]);
    } else {
        uint8_t copy[3] = {0};
        memcpy(copy, bytes, length);
        fill(line, found->mnemonic, copy, address);
    }
    snprintf(out, size, "%s", line);
    return length;
}
