/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "romtools/asm.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- bytes that a text must give ---- */

/* Assemble lines in a ROM0 section at $0150 and compare what stands there. */
static void check_bytes(const char *text, const uint8_t *bytes, size_t size)
{
    dm_buffer source = DM_BUFFER_EMPTY;
    dm_buffer_printf(&source, "SECTION \"test\", ROM0[$0150]\n%s\n", text);
    dm_gb_asm_result result;
    dm_error err = {0};
    dm_status status = dm_gb_asm_text("t.asm", source.data, source.size, NULL, &result, &err);
    if (status != DM_OK)
        fail_msg("%s\n%s", text, dm_buffer_text(&result.messages));
    if (memcmp(result.rom + 0x150, bytes, size) != 0 || result.rom[0x150 + size] != 0) {
        print_error("%s\n", text);
        for (size_t i = 0; i < size; i++)
            print_error("%02X wanted, %02X found\n", bytes[i], result.rom[0x150 + i]);
        fail();
    }
    dm_gb_asm_result_deinit(&result);
    dm_buffer_deinit(&source);
}

#define BYTES(text, ...)                                                                           \
    do {                                                                                           \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                             \
        check_bytes(text, bytes_, sizeof bytes_);                                                  \
    } while (0)

/* The value of an expression, stored as two bytes. */
static void check_value(const char *expression, int32_t value)
{
    char text[256];
    snprintf(text, sizeof text, "DEF X EQU %s\n ASSERT X == %d, \"%s\"\n", expression, (int)value,
             "value");
    dm_gb_asm_result result;
    if (dm_gb_asm_text("t.asm", text, strlen(text), NULL, &result, NULL) != DM_OK)
        fail_msg("%s is not %d: %s", expression, (int)value, dm_buffer_text(&result.messages));
    dm_gb_asm_result_deinit(&result);
}

/* The first message has to be exactly this. */
static void check_error(const char *text, const char *message)
{
    dm_gb_asm_result result;
    dm_error err = {0};
    if (dm_gb_asm_text("t.asm", text, strlen(text), NULL, &result, &err) == DM_OK)
        fail_msg("no error in: %s", text);
    assert_null(result.rom);
    assert_true(result.errors > 0);
    const char *messages = dm_buffer_text(&result.messages);
    size_t size = strcspn(messages, "\n");
    if (strlen(message) != size || strncmp(messages, message, size) != 0)
        fail_msg("%s\nwanted: %s\nfound:  %s", text, message, messages);
    assert_string_equal(err.file, "t.asm");
    dm_gb_asm_result_deinit(&result);
}

static void instructions(void **state)
{
    (void)state;
    BYTES("nop", 0x00, 0x00);
    BYTES(" ld bc, $1234", 0x01, 0x34, 0x12);
    BYTES(" LD [$C000],SP", 0x08, 0x00, 0xC0);
    BYTES(" ld a,[hl]\n ld [hl],$12\n ld [bc],a\n ld a,[de]", 0x7E, 0x36, 0x12, 0x02, 0x1A);
    BYTES(" ldh [$FF44],a\n ldh a,[$44]\n ldh [c],a\n ldh a,[c]", 0xE0, 0x44, 0xF0, 0x44, 0xE2,
          0xF2);
    BYTES(" ld [$C000],a\n ld a,[$FF44]", 0xEA, 0x00, 0xC0, 0xFA, 0x44, 0xFF);
    BYTES(" push af\n pop hl\n rst $18\n rst 8", 0xF5, 0xE1, 0xDF, 0xCF);
    BYTES(" bit 7,[hl]\n set 0,a\n res 3,b\n swap c", 0xCB, 0x7E, 0xCB, 0xC7, 0xCB, 0x98, 0xCB,
          0x31);
    BYTES(" add sp,-2\n ld hl,sp+3\n ld hl,sp-3\n ld sp,hl", 0xE8, 0xFE, 0xF8, 0x03, 0xF8, 0xFD,
          0xF9);
    BYTES(" jp nz,$1234\n call c,$4567\n ret nc\n reti\n jp hl", 0xC2, 0x34, 0x12, 0xDC, 0x67, 0x45,
          0xD0, 0xD9, 0xE9);
    BYTES(" stop\n stop $12\n halt", 0x10, 0x00, 0x10, 0x12, 0x76);
}

static void other_spellings(void **state)
{
    (void)state;
    BYTES(" ld [hli],a\n ld [hl+],a\n ldi [hl],a", 0x22, 0x22, 0x22);
    BYTES(" ld a,[hld]\n ld a,[hl-]\n ldd a,[hl]", 0x3A, 0x3A, 0x3A);
    BYTES(" add b\n add a,b\n sub b\n sub a,b\n cp 3\n cp a,3", 0x80, 0x80, 0x90, 0x90, 0xFE, 0x03,
          0xFE, 0x03);
    BYTES(" ldh [$ff00+c],a\n ld [$FF00+C],a\n ld a,[c]\n ldio a,[$10]", 0xE2, 0xE2, 0xF2, 0xF0,
          0x10);
    BYTES(" jp [hl]\n ldhl sp,5", 0xE9, 0xF8, 0x05);
    BYTES(" xor a\n and [hl]\n or $FF\n adc $10\n sbc c", 0xAF, 0xA6, 0xF6, 0xFF, 0xCE, 0x10, 0x99);
}

static void relative_jumps(void **state)
{
    (void)state;
    BYTES("Here: jr Here\n jr nz,Here\n jr There\n nop\nThere:", 0x18, 0xFE, 0x20, 0xFC, 0x18, 0x01,
          0x00);
    BYTES(" jr @\n jr @+2", 0x18, 0xFE, 0x18, 0x00);
    BYTES("A1:\n.x: jr .x\nB1:\n.x: jr .x\n jr A1.x", 0x18, 0xFE, 0x18, 0xFE, 0x18, 0xFA);
    check_error("SECTION \"a\",ROM0[0]\n jr @+130\n", "t.asm:2: error: the distance 128 is not in "
                                                      "-128..127");
}

static void data(void **state)
{
    (void)state;
    BYTES(" db 1,-1,$FF,\"AB\",'C',\"D\"+1", 1, 0xFF, 0xFF, 'A', 'B', 'C', 'E');
    BYTES(" dw $1234,-2", 0x34, 0x12, 0xFE, 0xFF);
    BYTES(" ds 2,7\n db 1\n ds 1\n db 9", 7, 7, 1, 0, 9);
    BYTES(" dw `01230123,`3,`22222222", 0x55, 0x33, 0x01, 0x01, 0x00, 0xFF);
    BYTES(" db \"a\\n\\\"\\\\;\" ; comment", 'a', '\n', '"', '\\', ';');
    BYTES(" db ';', ',' ; x", ';', ',');
    BYTES(" charmap \"A\",1\n db \"AB\",'A'", 1, 'B', 1);
    BYTES(" db 1, \\\n 2 ; more\n db 3,", 1, 2, 3);
    BYTES(" db HIGH(Label),LOW(Label)\nLabel:", 0x01, 0x52);
}

static void expressions(void **state)
{
    (void)state;
    check_value("1+2*3", 7);
    check_value("(1+2)*3", 9);
    check_value("2*3**2", 18);
    check_value("-2**2", -4);
    check_value("2**3**2", 512);
    check_value("10-4-3", 3);
    check_value("1<<4+1", 17);     /* shifts bind tighter than + */
    check_value("$F0|$0F+1", 256); /* so do & | ^ */
    check_value("7&3*2", 6);
    check_value("1+1==2&&3>2", 1);
    check_value("1||0&&0", 1);
    check_value("!0+~0", 0);
    check_value("-7/2", -4);
    check_value("-7%2", 1);
    check_value("7%-2", -1);
    check_value("-8>>1", -4);
    check_value("-8>>>28", 15);
    check_value("1<<-1", 0);
    check_value("%1010&%0110", 2);
    check_value("&17", 15);
    check_value("0x10+1_000", 1016);
    check_value("$7FFFFFFF+1", INT32_MIN);
    check_value("$80000000/-1", INT32_MIN);
    check_value("HIGH($1234)<<8|LOW($1234)", 0x1234);
    check_value("STRLEN(\"abc\")", 3);
    check_value("DEF(NOPE)", 0);
}

static void constants(void **state)
{
    (void)state;
    BYTES("DEF A1 EQU 3\nB1 EQU A1*2\n db A1,B1,C1\nDEF C1 EQU 9", 3, 6, 9);
    BYTES("DEF n = 1\nREPT 3\n db n\nDEF n = n*2\nENDR", 1, 2, 4);
    BYTES("DEF s EQUS \"db 1,\"\n s 2\nREDEF s EQUS \"db 4,\"\n s 5", 1, 2, 4, 5);
    BYTES("RSRESET\nDEF x RB 2\nDEF y RW 1\nv RB\n db x,y,v,_RS\n RSSET 9\nDEF w RB\n db w", 0, 2,
          4, 5, 9);
    BYTES("IF DEF(LATER)\n db 1\nELSE\n db 2\nENDC\nDEF LATER EQU 1\n", 2);
}

static void macros_take_arguments(void **state)
{
    (void)state;
    BYTES("MACRO two\n db \\2,\\1\nENDM\n two 1, 2 ; c\n two \"a,b\",$10", 2, 1, 0x10, 'a', ',',
          'b');
    BYTES("two: MACRO\n db _NARG\n shift\n db \\1,_NARG\nENDM\n two 7,8", 2, 8, 1);
    BYTES("MACRO spin\n.l\\@: jr .l\\@\nENDM\nG: spin\n spin", 0x18, 0xFE, 0x18, 0xFE);
    BYTES("MACRO fill\nREPT \\1\n db \\2\nENDR\nENDM\n fill 3,5", 5, 5, 5);
    BYTES("MACRO all\n db \\#\nENDM\n all 1,2,3", 1, 2, 3);
    BYTES("MACRO count\nIF \\1 > 0\n db \\1\n count \\1-1\nENDC\nENDM\n count 3", 3, 2, 1);
}

static void conditions(void **state)
{
    (void)state;
    BYTES("IF 0\n db 1\nELIF 0\n db 2\nELIF 1\n db 3\nELIF 1\n db 4\nELSE\n db 5\nENDC\n db 6", 3,
          6);
    BYTES("IF 1\nIF 0\n db 1\nELSE\n db 2\nENDC\nELSE\nIF 1\n db 3\nENDC\n db 4\nENDC", 2);
    BYTES("REPT 2\nREPT 2\n db 1\nENDR\n db 2\nENDR", 1, 1, 2, 1, 1, 2);
    BYTES("REPT 0\n garbage !!\nENDR\nIF 0\n garbage $$\nENDC\n db 1", 1);
}

/* ---- sections ---- */

static void places_sections(void **state)
{
    (void)state;
    static const char source[] = "SECTION \"entry\", ROM0[$100]\n nop\n jp Main\n"
                                 "SECTION \"small\", ROM0\nSmall: db BANK(Far),1\n"
                                 "SECTION \"main\", ROM0\nMain:: ld a,[Counter]\n.loop jr .loop\n"
                                 "SECTION \"far\", ROMX, BANK[3]\nFar: dw Far, SIZEOF(\"main\")\n"
                                 "SECTION \"aligned\", ROMX, ALIGN[8]\n ds 3\nBack:\n"
                                 "SECTION \"vars\", WRAM0\nOther: ds 16\nCounter: db\n"
                                 "SECTION \"fast\", HRAM[$FF90]\nFast: dw\nLast:\n";
    dm_gb_asm_result result;
    assert_ok(dm_gb_asm_text("t.asm", source, sizeof source - 1, NULL, &result, err));
    assert_int_equal(result.rom_size, 0x10000);
    assert_memory_equal(result.rom + 0x100, "\x00\xC3\x50\x01", 4);
    assert_memory_equal(result.rom + 0x150, "\xFA\x10\xC0\x18\xFE\x03\x01", 7);
    assert_memory_equal(result.rom + 0xC000, "\x00\x40\x05\x00", 4);
    const dm_gb_asm_symbol *label = dm_gb_asm_find(&result, "Main.loop");
    assert_non_null(label);
    assert_int_equal(label->address, 0x153);
    assert_int_equal(dm_gb_asm_find(&result, "Far")->bank, 3);
    assert_int_equal(dm_gb_asm_find(&result, "Last")->address, 0xFF92);
    assert_int_equal(dm_gb_asm_find(&result, "Counter")->address, 0xC010);
    assert_null(dm_gb_asm_find(&result, "Nobody"));
    dm_buffer symbols = DM_BUFFER_EMPTY;
    dm_gb_asm_write_symbols(&result, &symbols);
    assert_non_null(strstr(symbols.data, "03:4000 Far\n"));
    assert_non_null(strstr(symbols.data, "00:0150 Main\n00:0153 Main.loop\n"));
    dm_buffer_deinit(&symbols);
    dm_gb_asm_result_deinit(&result);
}

static void loads_code_for_ram(void **state)
{
    (void)state;
    BYTES("Copy:\nLOAD \"hram\", HRAM[$FF80]\nRun: call Run\nRunEnd:\nENDL\nEnd:\n db RunEnd-Run\n "
          "dw End",
          0xCD, 0x80, 0xFF, 3, 0x53, 0x01);
}

static void differences_are_known_early(void **state)
{
    (void)state;
    static const char source[] = "SECTION \"f\", ROM0\nStart: db 1,2,3\nEnd:\n"
                                 "REPT End-Start\n db 9\nENDR\n ds 8-(@-Start), $EE\n";
    dm_gb_asm_result result;
    assert_ok(dm_gb_asm_text("t.asm", source, sizeof source - 1, NULL, &result, err));
    assert_memory_equal(result.rom + 0x150, "\x01\x02\x03\x09\x09\x09\xEE\xEE", 8);
    dm_gb_asm_result_deinit(&result);
}

static void fills_the_header(void **state)
{
    (void)state;
    static const char source[] = "HEADER \"HELLO\", MBC1_RAM_BATTERY, 32\n"
                                 "SECTION \"e\", ROM0[$100]\n jr @\nSECTION \"x\", ROMX, BANK[5]\n "
                                 "db 1\n";
    dm_gb_asm_result result;
    assert_ok(dm_gb_asm_text("t.asm", source, sizeof source - 1, NULL, &result, err));
    const uint8_t *rom = result.rom;
    assert_int_equal(result.rom_size, 8 * 0x4000);
    assert_memory_equal(rom + 0x134, "HELLO\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(rom[0x147], 0x03);
    assert_int_equal(rom[0x148], 2);
    assert_int_equal(rom[0x149], 3);
    /* Pan Docs: checksum = checksum - byte - 1 over 0134..014C. By hand: minus the sum of HELLO
     * (372), of 3+2+3, and of 25 ones: -405 = $6B modulo 256. */
    assert_int_equal(rom[0x14D], 0x6B);
    unsigned sum = 0;
    for (size_t i = 0; i < result.rom_size; i++)
        sum += i == 0x14E || i == 0x14F ? 0 : rom[i];
    assert_int_equal(rom[0x14E] << 8 | rom[0x14F], sum & 0xFFFF);
    dm_gb_asm_result_deinit(&result);
}

/* ---- errors ---- */

static void errors_name_the_place(void **state)
{
    (void)state;
#define S "SECTION \"a\",ROM0[0]\n"
    check_error(S " frobnicate\n",
                "t.asm:2: error: unknown instruction, directive or macro 'frobnicate'");
    check_error(S " ld a,256\n", "t.asm:2: error: the value 256 is not in -128..255");
    check_error(S " ld a,Nope\n", "t.asm:2: error: 'Nope' is not defined");
    check_error(S " ld bc,hl\n", "t.asm:2: error: LD does not take these operands");
    check_error(S " bit 8,a\n", "t.asm:2: error: BIT does not take these operands");
    check_error(S " ld a,b+1\n", "t.asm:2: error: expected the line's end before '+'");
    check_error(S " ld a,1+b\n", "t.asm:2: error: register b in an expression");
    check_error(S "X:\nX:\n", "t.asm:3: error: 'X' is already defined");
    check_error(" nop\n", "t.asm:1: error: this needs a SECTION before it");
    check_error("SECTION \"w\",WRAM0\n db 1\n",
                "t.asm:2: error: WRAM0 cannot hold bytes given in advance");
    check_error(S " db \"abc\n", "t.asm:2: error: the text is not closed");
    check_error(S " db 1/0\n", "t.asm:2: error: division by zero");
    check_error(S " db $G\n", "t.asm:2: error: unexpected character '$'");
    check_error(S " db 12f\n", "t.asm:2: error: 'f' does not belong in a number of base 10");
    check_error(S "IF 1\n", "t.asm:2: error: IF without ENDC");
    check_error(S "ELSE\n", "t.asm:2: error: ELSE without IF");
    check_error(S "REPT 3\n nop\n", "t.asm:2: error: no ENDR for this block");
    check_error(S "MACRO m\n nop\n", "t.asm:2: error: no ENDM for this block");
    check_error(S "MACRO m\n nop 1\nENDM\n\n m\n",
                "t.asm:3: error: NOP does not take these operands (in macro m, called at t.asm:6)");
    check_error(S " ASSERT 1 == 2, \"no\"\n", "t.asm:2: error: assertion failed: no");
    check_error(
        S "IF Later\nENDC\nLater:\n",
        "t.asm:2: error: the condition has to be known here, but depends on what comes later");
    check_error(S " ds 5\nSECTION \"b\",ROM0[4]\n db 1\n",
                "t.asm:3: error: section 'b' overlaps section 'a'");
    check_error("SECTION \"b\",ROM0[$3FFF]\n dw 1\n",
                "t.asm:1: error: section 'b' runs past $3FFF");
    check_error("SECTION \"b\",ROM0[$4000]\n", "t.asm:1: error: the address is not in $0..$3FFF");
    check_error("SECTION \"b\",ROM0\n ds $4000\n",
                "t.asm:1: error: no room for section 'b' (16384 bytes) in ROM0");
    check_error("HEADER \"A\",ROM,3\n",
                "t.asm:1: error: the RAM size is 0, 2, 8, 32, 64 or 128 KiB");
    check_error("INCLUDE \"x.inc\"\n", "t.asm:1: error: there is no file 'x.inc'");
    check_error("INCLUDE \"../x.inc\"\n",
                "t.asm:1: error: '../x.inc' is not a name inside the source's folder");
    check_error("INCLUDE \"/etc/passwd\"\n",
                "t.asm:1: error: '/etc/passwd' is not a name inside the source's folder");
}

static void reports_several_errors(void **state)
{
    (void)state;
    static const char source[] = "SECTION \"a\",ROM0[0]\n foo\n nop\n bar\n ld a,[bc+]\n db ,\n";
    dm_gb_asm_result result;
    dm_error err = {0};
    assert_int_equal(dm_gb_asm_text("t.asm", source, sizeof source - 1, NULL, &result, &err),
                     DM_ECOMPILE);
    assert_int_equal(result.errors, 4);
    assert_int_equal(err.line, 2);
    assert_non_null(strstr(result.messages.data, "t.asm:4: error"));
    assert_non_null(strstr(result.messages.data, "t.asm:6: error"));
    dm_gb_asm_result_deinit(&result);
    /* An error in the second pass moves the labels behind it; they are not errors too. */
    static const char late[] = "SECTION \"a\",ROM0[0]\n ld a,1+Nope\nA1:\nA2:\n ld a,300\n";
    assert_int_equal(dm_gb_asm_text("t.asm", late, sizeof late - 1, NULL, &result, &err),
                     DM_ECOMPILE);
    assert_int_equal(result.errors, 2);
    dm_gb_asm_result_deinit(&result);
}

static void nothing_runs_for_ever(void **state)
{
    (void)state;
    check_error(S "MACRO m\n m\nENDM\n m\n", "t.asm:3: error: macros and repetitions are more than "
                                             "64 deep (in macro m, called at t.asm:3)");
    check_error("REPT 2000000000\n\nENDR\n",
                "t.asm:2: error: more than 1000000 lines: a repetition or macro without end?");
    check_error("DEF a EQUS \"a a\"\n a\n", "t.asm:1: error: 'a' is a register's name");
    check_error(S "DEF q EQUS \"q q\"\n q\n", "t.asm:3: error: 'q' expands without end");
    check_error(S "REPT 20000\n db 1\nENDR\n", "t.asm:3: error: section 'a' is larger than ROM0");
    check_error(S " ds 2000000000,1\n", "t.asm:2: error: the count 2000000000 is not in 0..32768");
    char deep[512] = S " db ";
    memset(deep + strlen(deep), '(', 300);
    check_error(deep, "t.asm:2: error: the expression is nested too deeply");
    memset(strchr(deep, '('), '-', 300);
    check_error(deep, "t.asm:2: error: the expression is nested too deeply");
    char *longest = malloc(10000);
    memset(longest, 'x', 9999);
    longest[9999] = 0;
    check_error(longest, "t.asm:1: error: the line has more than 4095 characters");
    free(longest);
#undef S
}

/* ---- files ---- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, folder, name, err));
    assert_ok(dm_file_write(path, text, strlen(text), err));
}

static void includes_stay_in_their_folder(void **state)
{
    const char *folder = dm_test_dir(state);
    char path[DM_PATH_MAX], shared[DM_PATH_MAX], link[DM_PATH_MAX];
    snprintf(shared, sizeof shared, "%s/shared", folder);
    snprintf(path, sizeof path, "%s/src", folder);
    assert_ok(dm_dir_create(shared, err));
    assert_ok(dm_dir_create(path, err));
    snprintf(link, sizeof link, "%s/src/out.inc", folder);
    write_text(shared, "s.inc", "DEF S EQU 5\n");
    write_text(path, "a.inc", "DEF A1 EQU 4\n");
    write_text(path, "self.inc", "INCLUDE \"self.inc\"\n");
    assert_int_equal(symlink("../shared/s.inc", link), 0);
    write_text(path, "m.asm",
               "INCLUDE \"a.inc\"\nINCLUDE \"s.inc\"\nSECTION \"x\",ROM0[0]\n db "
               "A1,S\n");
    write_text(path, "bad.asm", "INCLUDE \"out.inc\"\nINCLUDE \"self.inc\"\n");
    dm_gb_asm_options options = {.include_dir = shared};
    dm_gb_asm_result result;
    strcat(path, "/m.asm");
    assert_ok(dm_gb_asm_file(path, &options, &result, err));
    assert_memory_equal(result.rom, "\x04\x05", 2);
    dm_gb_asm_result_deinit(&result);

    snprintf(path, sizeof path, "%s/src/bad.asm", folder);
    assert_int_equal(dm_gb_asm_file(path, &options, &result, NULL), DM_ECOMPILE);
    assert_non_null(strstr(result.messages.data, ":1: error: 'out.inc' leads out of the source's"));
    assert_non_null(strstr(result.messages.data, "self.inc:1: error: files include each other"));
    dm_gb_asm_result_deinit(&result);

    strcat(path, "x");
    assert_int_equal(dm_gb_asm_file(path, NULL, &result, NULL), DM_ENOENT);
    dm_gb_asm_result_deinit(&result);
}

/* ---- any input ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Damage a source that uses everything: change, repeat, drop or join pieces of it. Nothing is asked
 * of the result but that there is one, with a reason where it is an error. */
static void survives_damaged_sources(void **state)
{
    (void)state;
    static const char good[] =
        "HEADER \"FUZZ\", MBC1_RAM, 8\nDEF n = 3\nDEF s EQUS \"ld a,\"\nCHARMAP \"A\", 1\n"
        "MACRO twice\nREPT 2\n \\1\n db \\2, _NARG\nENDR\n.l\\@: jr .l\\@\nENDM\n"
        "SECTION \"a\", ROM0[$150]\nMain::\n s 5\n twice nop, 4\n.loop: jr nz, .loop\n"
        "IF n > 2 && DEF(n)\n ldh [$FF00+c], a\nELIF 0\n add b\nELSE\n halt\nENDC\n"
        " ld hl, sp+3\n ld [hli], a\n db \"text\\n\", 'c', `11, %101, &17, $FF\n"
        " dw Main, @ - Main, HIGH(Main) << 8 | LOW(Main), -n ** 2 % 7\n ds 4, $EE\n"
        "RSRESET\nDEF f RB 2\nDEF g RW 1\n ASSERT f + g == 2, \"rs\"\n"
        " LOAD \"h\", HRAM[$FF80]\nInH: call InH\n ENDL\n PUSHS\nSECTION \"b\", ROMX, BANK[2]\n"
        "Far: db BANK(Far), SIZEOF(\"a\"), STRLEN(\"xyz\")\n POPS\n jp Far\n"
        "SECTION \"w\", WRAM0, ALIGN[4]\nvar: ds 2\n";
    static const char *const pieces[] = {"\\1",     "REPT 99\n", "ENDR\n", "IF 1\n", "ENDC\n", "\"",
                                         "((((",    "MACRO x\n", "ENDM\n", " x\n",   "EQUS",   "[",
                                         "$FFFFFF", "\\\n",      "-",      "**",     "::",     ";",
                                         "\n",      ",",         "@",      "SHIFT\n"};
    dm_gb_asm_result whole;
    if (dm_gb_asm_text("good.asm", good, sizeof good - 1, NULL, &whole, NULL) != DM_OK)
        fail_msg("%s", dm_buffer_text(&whole.messages));
    dm_gb_asm_result_deinit(&whole);
    uint32_t seed = 12345;
    unsigned assembled = 0, refused = 0;
    dm_gb_asm_options options = {.line_limit = 5000};
    for (int round = 0; round < 4000; round++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_buffer_append(&text, good, sizeof good - 1);
        for (uint32_t changes = 1 + next_random(&seed) % 4; changes > 0; changes--) {
            size_t at = next_random(&seed) % text.size;
            size_t length = next_random(&seed) % 40;
            length = length < text.size - at ? length : text.size - at - 1;
            dm_buffer edited = DM_BUFFER_EMPTY;
            dm_buffer_append(&edited, text.data, at);
            switch (next_random(&seed) % 5) {
            case 0:
                dm_buffer_putc(&edited, (char)next_random(&seed));
                dm_buffer_append(&edited, text.data + at + 1, text.size - at - 1);
                break;
            case 1: /* drop */
                dm_buffer_append(&edited, text.data + at + length, text.size - at - length);
                break;
            case 2: /* repeat */
                dm_buffer_append(&edited, text.data + at, length);
                dm_buffer_append(&edited, text.data + at, text.size - at);
                break;
            case 3: /* something from elsewhere */
                dm_buffer_append(&edited, text.data + next_random(&seed) % (text.size - length),
                                 length);
                dm_buffer_append(&edited, text.data + at, text.size - at);
                break;
            default:
                dm_buffer_puts(&edited,
                               pieces[next_random(&seed) % (sizeof pieces / sizeof pieces[0])]);
                dm_buffer_append(&edited, text.data + at, text.size - at);
                break;
            }
            dm_buffer_deinit(&text);
            text = edited;
        }
        dm_gb_asm_result result;
        dm_error err = {0};
        dm_status status =
            dm_gb_asm_text("fuzz.asm", text.data, text.size, &options, &result, &err);
        if (status == DM_OK) {
            assembled++;
            assert_non_null(result.rom);
        } else {
            refused++;
            assert_int_equal(status, DM_ECOMPILE);
            assert_true(result.errors > 0 && err.message[0] && result.messages.size > 0);
        }
        dm_gb_asm_result_deinit(&result);
        dm_buffer_deinit(&text);
    }
    /* Both must happen, or the loop tests little. */
    if (assembled < 100 || refused < 1000)
        fail_msg("%u assembled, %u refused", assembled, refused);
}

DM_TESTS("romtools/asm", DM_TEST(instructions), DM_TEST(other_spellings), DM_TEST(relative_jumps),
         DM_TEST(data), DM_TEST(expressions), DM_TEST(constants), DM_TEST(macros_take_arguments),
         DM_TEST(conditions), DM_TEST(places_sections), DM_TEST(loads_code_for_ram),
         DM_TEST(differences_are_known_early), DM_TEST(fills_the_header),
         DM_TEST(errors_name_the_place), DM_TEST(reports_several_errors),
         DM_TEST(nothing_runs_for_ever), DM_TEST_IN_DIR(includes_stay_in_their_folder),
         DM_TEST(survives_damaged_sources));
