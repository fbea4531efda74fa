/* SPDX-License-Identifier: MIT */
/* Searches in RAM: what is kept, the file and back, and STARFALL's score found as its documents say where it is. */
#include "base/file.h"
#include "romtools/ram_search.h"
#include "romtools/symbols.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keeps_what_holds(void **state)
{
    (void)state;
    static dm_ram_search search;
    static uint8_t before[DM_RAM_SIZE], now[DM_RAM_SIZE];
    dm_ram_search_init(&search, (dm_hash128){1, 2});
    const uint32_t all = dm_ram_search_count(&search);
    assert_int_equal(all, 0x6000 + 0x7F);
    before[0x4001] = 5, now[0x4001] = 6;       /* C001 up */
    before[0x4002] = 9, now[0x4002] = 2;       /* C002 down */
    before[0x4003] = 0x19, now[0x4003] = 0x20; /* C003 up, decimal */
    now[0x4005] = 0x2C, now[0x4006] = 1;       /* C005: 300, the low byte first */
    dm_ram_search_keep(&search, DM_RAM_U8, DM_RAM_CHANGED, 0, before, now);
    assert_int_equal(dm_ram_search_count(&search), 5);
    dm_ram_search_keep(&search, DM_RAM_U8, DM_RAM_UP, 0, before, now);
    assert_int_equal(dm_ram_search_count(&search), 4);
    dm_ram_search_keep(&search, DM_RAM_U16, DM_RAM_EQUALS, 300, before, now);
    assert_int_equal(dm_ram_search_count(&search), 1);
    assert_int_equal(search.keep[0x4005], 1);
    assert_int_equal(dm_ram_value(now, 0xC003, DM_RAM_BCD), 20);
    assert_int_equal(dm_ram_value(now, 0xC005, DM_RAM_BCD), -1);
    assert_int_equal(dm_ram_value(now, 0xC003, DM_RAM_BCD16), 20);
    assert_int_equal(dm_ram_value(now, 0xFFFF, DM_RAM_U16), -1);
    dm_ram_search_deinit(&search);
}

static void a_file_and_back(void **state)
{
    (void)state;
    static dm_ram_search search, again;
    static uint8_t memory[DM_RAM_SIZE];
    dm_buffer text = DM_BUFFER_EMPTY, second = DM_BUFFER_EMPTY;
    dm_ram_search_init(&search, (dm_hash128){0x0123456789ABCDEF, 0xFEDCBA9876543210});
    for (uint32_t i = 0; i < DM_RAM_SIZE; i++) {
        memory[i] = (uint8_t)(i * 7 + i / 256);
        search.keep[i] = search.keep[i] != 0 && i % 5 < 2;
    }
    search.frames = 1234;
    assert_ok(dm_ram_search_set_state(&search, "machine", 7, err));
    assert_ok(dm_ram_search_set_mark(&search, "last", memory, err));
    assert_ok(dm_ram_search_set_mark(&search, "before.death", memory, err));
    assert_ok(dm_ram_search_set_name(&search, 0xC1A3, "wScore", err));
    assert_ok(dm_ram_search_write(&search, &text, err));
    assert_ok(dm_ram_search_parse(&again, "s", text.data, text.size, err));
    assert_ok(dm_ram_search_write(&again, &second, err));
    assert_string_equal(dm_buffer_text(&text), dm_buffer_text(&second));
    assert_memory_equal(search.keep, again.keep, DM_RAM_SIZE);
    assert_int_equal(again.frames, 1234);
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&second);
    dm_ram_search_deinit(&search);
    dm_ram_search_deinit(&again);
}

static void mistakes_have_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "s: the file is empty"},
        {"hello\n", "this is no search; the first line of one is 'dotmatrix ram search 1'"},
        {"dotmatrix ram search 1\nfoo 1\n",
         "a line begins with rom, frames, state, mark, keep or name"},
        {"dotmatrix ram search 1\nkeep C000-B000\n",
         "keep has ranges such as C000-C0FF and addresses"},
        {"dotmatrix ram search 1\nkeep FF00\n", "keep: candidates are in 8000-DFFF and FF80-FFFE"},
        {"dotmatrix ram search 1\nmark a 00\n", "so many hexadecimal digits are not expected here"},
        {"dotmatrix ram search 1\nframes 12x\n", "frames has a number"},
        {"dotmatrix ram search 1\nframes 12 13\n", "something follows"},
        {"dotmatrix ram search 1\nname C000 a=b\n",
         "ram: 'a=b' is no name; letters, digits, _ and . are"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static dm_ram_search search;
        dm_error err = {0};
        assert_int_equal(
            dm_ram_search_parse(&search, "s", cases[i].text, strlen(cases[i].text), &err),
            DM_EFORMAT);
        assert_string_equal(err.message, cases[i].message);
        dm_ram_search_deinit(&search);
    }
}

static const char starfall[] = DM_TEST_BUILD_ROOT "/roms/STARFALL.gb";

/* Rounds by the command: candidates are dropped, marks are compared with, and the name that was given is in the .sym
 * file. */
static void a_search_over_several_calls(void **state)
{
    char search[DM_PATH_MAX], sym[DM_PATH_MAX], keys[DM_PATH_MAX];
    assert_ok(dm_path_join(search, dm_test_dir(state), "s.ram", err));
    assert_ok(dm_path_join(sym, dm_test_dir(state), "s.sym", err));
    assert_ok(dm_path_join(keys, dm_test_dir(state), "keys.txt", err));
    assert_ok(dm_file_write(keys, "10 START\n14 -\n60 RIGHT\n", 23, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "ram", "--rom", starfall, "--search", search, "--frames", "100",
                      "--input", keys, "--mark", "begun");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "24703 candidates after 100 frames"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "ram", "--rom", starfall, "--search", search, "--frames", "60", "--keep",
                      "changed", "--json");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "\"frames\": 160"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "ram", "--rom", starfall, "--search", search, "--keep", "unchanged",
                      "--name", "C009=wRandom", "--sym", sym);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "ram", "--rom", starfall, "--search", search, "--keep", "changed",
                      "--since", "nothing");
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "the search has no mark 'nothing'"));
    dm_test_result_free(&r);
    /* What went up between the calls and does not stand still is gone. */
    dm_test_dotmatrix(&r, "ram", "--rom", starfall, "--search", search, "--keep", "changed");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "0 candidates"));
    dm_test_result_free(&r);
    dm_symbols symbols;
    assert_ok(dm_symbols_read(&symbols, sym, err));
    assert_int_equal(dm_symbols_find(&symbols, "wRandom")->address, 0xC009);
    dm_symbols_deinit(&symbols);
}

DM_TESTS("romtools/ram_search", DM_TEST(keeps_what_holds), DM_TEST(a_file_and_back),
         DM_TEST(mistakes_have_a_line),
         cmocka_unit_test_setup_teardown(a_search_over_several_calls, dm_test_dir_setup,
                                         dm_test_dir_teardown))
