/* SPDX-License-Identifier: MIT */
/* symbols.h - names of addresses, as assemblers and linkers write them down.
 *
 *   RGBDS .sym    "01:4A2F GameOver"; ';' begins a comment; "BOOT:0000" and banks of three digits too
 *   GBDK .noi     "DEF _score 0xC0A0"; a bank stands above the address: 0x14A2F
 *   GBDK .map     "     0000C0A0  _score     game": a number, then a name
 *   RGBDS .map    "$c0a0 = wScore" in "ROMX bank #1:"
 *
 * Lines of any form may stand in one file; others are passed over, but a file without any symbol is refused.
 * Of a name given twice the first counts. GBDK's names are found with and without their "_". */
#ifndef DM_ROMTOOLS_SYMBOLS_H
#define DM_ROMTOOLS_SYMBOLS_H

#include "base/arena.h"
#include "base/buffer.h"

#include <dotmatrix/base.h>

#include <stdbool.h>

typedef struct dm_symbol {
    const char *name;
    uint16_t bank, address;
    bool has_bank; /* the file names one; else `bank` is 0 */
} dm_symbol;

typedef struct dm_symbols {
    dm_symbol *items; /* sorted by name */
    size_t count;
    dm_arena arena;
} dm_symbols;

/* `name` is what messages call the file; nothing of the text is kept. The result must be given to
 * dm_symbols_deinit whatever came back. DM_EFORMAT: no line holds a symbol. */
dm_status dm_symbols_parse(dm_symbols *symbols, const char *name, const char *text, size_t size,
                           dm_error *err);
dm_status dm_symbols_read(dm_symbols *symbols, const char *path, dm_error *err);
void dm_symbols_deinit(dm_symbols *symbols);

/* NULL when there is none of that name. */
const dm_symbol *dm_symbols_find(const dm_symbols *symbols, const char *name);

/* A place as a user writes it: "wScore", "wScore+3", "C0A0", "$C0A0", "0xC0A0" or "01:4A2F". `symbols` may be
 * NULL. DM_ENOENT for a name that is unknown, with the closest one there is; out->name is then `text`. */
dm_status dm_symbols_resolve(const dm_symbols *symbols, const char *text, dm_symbol *out,
                             dm_error *err);

/* As a .sym file, by bank and address. */
dm_status dm_symbols_write(const dm_symbol *items, size_t count, const char *title, dm_buffer *out,
                           dm_error *err);

#endif
