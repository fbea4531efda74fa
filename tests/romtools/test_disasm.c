/* SPDX-License-Identifier: MIT */
#include "romtools/asm.h"
#include "romtools/disasm.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static void shows(const char *text, unsigned length, const uint8_t bytes[3], size_t available)
{
    char line[DM_GB_DISASM_MAX];
    assert_int_equal(dm_gb_disasm(bytes, available, 0x0150, line, sizeof line), length);
    assert_string_equal(line, text);
}

static void resolves_operands(void **state)
{
    (void)state;
    shows("NOP", 1, (const uint8_t[3]){0x00}, 3);
    shows("JR NZ,$0150", 2, (const uint8_t[3]){0x20, 0xFE}, 3);
    shows("JR $01D1", 2, (const uint8_t[3]){0x18, 0x7F}, 3);
    shows("LDH [$FF44],A", 2, (const uint8_t[3]){0xE0, 0x44}, 3);
    shows("LD A,[$C012]", 3, (const uint8_t[3]){0xFA, 0x12, 0xC0}, 3);
    shows("LD HL,SP-$03", 2, (const uint8_t[3]){0xF8, 0xFD}, 3);
    shows("LD HL,SP+$7F", 2, (const uint8_t[3]){0xF8, 0x7F}, 3);
    shows("ADD SP,-$80", 2, (const uint8_t[3]){0xE8, 0x80}, 3);
    shows("BIT 7,[HL]", 2, (const uint8_t[3]){0xCB, 0x7E}, 3);
    shows("STOP", 2, (const uint8_t[3]){0x10, 0x00}, 3);
    shows("STOP $11", 2, (const uint8_t[3]){0x10, 0x11}, 3);
    shows("DB $D3", 1, (const uint8_t[3]){0xD3}, 3);
}

static void cut_off_bytes_are_data(void **state)
{
    (void)state;
    shows("DB $CB", 1, (const uint8_t[3]){0xCB, 0x7E}, 1);
    shows("DB $C3", 1, (const uint8_t[3]){0xC3, 0x50, 0x01}, 2);
    shows("JP $0150", 3, (const uint8_t[3]){0xC3, 0x50, 0x01}, 3);
    char line[4] = "xx";
    assert_int_equal(dm_gb_disasm((const uint8_t *)"", 0, 0, line, sizeof line), 0);
    assert_string_equal(line, "");
    assert_int_equal(dm_gb_disasm((const uint8_t *)"\xC3\x50\x01", 3, 0, line, sizeof line), 3);
    assert_string_equal(line, "JP ");
}

/* Every opcode with random operands, to text and back. */
static void assembling_gives_the_bytes_back(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 8; round++) {
        uint8_t code[512 * 3];
        size_t size = 0;
        for (unsigned i = 0; i < 512; i++) {
            if (i == 0xCB) /* the prefix */
                continue;
            uint8_t bytes[3];
            for (int k = 0; k < 3; k++) {
                seed = seed * 1664525u + 1013904223u;
                bytes[k] = (uint8_t)(seed >> 24);
            }
            bytes[0] = (uint8_t)(i < 256 ? i : 0xCB);
            if (i >= 256)
                bytes[1] = (uint8_t)i;
            char line[DM_GB_DISASM_MAX];
            unsigned length = dm_gb_disasm(bytes, 3, 0, line, sizeof line);
            assert_in_range(length, 1, 3);
            memcpy(code + size, bytes, length);
            size += length;
        }
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_buffer_puts(&text, "SECTION \"s\", ROM0[$1000]\n");
        for (size_t at = 0; at < size;) {
            char line[DM_GB_DISASM_MAX];
            unsigned used = dm_gb_disasm(code + at, size - at, (uint16_t)(0x1000 + at), line, 24);
            assert_in_range(used, 1, 3);
            dm_buffer_printf(&text, " %s\n", line);
            at += used;
        }
        dm_gb_asm_result result;
        if (dm_gb_asm_text("t.asm", text.data, text.size, NULL, &result, NULL) != DM_OK)
            fail_msg("%s", dm_buffer_text(&result.messages));
        assert_memory_equal(result.rom + 0x1000, code, size);
        dm_gb_asm_result_deinit(&result);
        dm_buffer_deinit(&text);
    }
}

DM_TESTS("romtools/disasm", DM_TEST(resolves_operands), DM_TEST(cut_off_bytes_are_data),
         DM_TEST(assembling_gives_the_bytes_back));
