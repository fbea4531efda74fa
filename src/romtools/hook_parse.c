/* SPDX-License-Identifier: MIT */
/* hook_parse.c - dm_gb_hook_parse (dotmatrix/gb.h): a hook from text, by way of symbols.h. */
#include "base/require.h"
#include "romtools/symbols.h"

#include <dotmatrix/gb.h>

dm_status dm_gb_hook_parse(const char *symbols, const char *text, dm_gb_hook *out, dm_error *err)
{
    DM_REQUIRE(err, text);
    DM_REQUIRE(err, out);
    dm_symbols known = {0};
    dm_symbol place;
    dm_status status = symbols != NULL ? dm_symbols_read(&known, symbols, err) : DM_OK;
    if (status == DM_OK)
        status = dm_symbols_resolve(symbols != NULL ? &known : NULL, text, &place, err);
    if (status == DM_OK)
        *out = (dm_gb_hook){place.address,
                            place.has_bank ? place.bank : (uint16_t)DM_GB_HOOK_EVERY_BANK};
    if (symbols != NULL)
        dm_symbols_deinit(&known);
    return status;
}
