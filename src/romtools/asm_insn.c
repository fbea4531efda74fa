/* SPDX-License-Identifier: MIT */
/* asm_insn.c - instructions, matched against the rows of opcodes.def.
 *
 * There is no other table: a row's mnemonic is taken apart once, and a line's operands are brought
 * into the same spelling. What RGBDS allows besides (`add b`, `[hli]`, `jp [hl]`, ...) is rewritten
 * first. A row's operand is one of
 *
 *   n8 n16 a16 e8        a value          [a16] [a8]   a value in brackets
 *   SP+e8                the stack pointer and a value
 *   0..7, $00..$38       that value       anything else: the same letters
 */
#include "romtools/asm_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum operand_kind {
    OPERAND_LETTERS,
    OPERAND_VALUE,
    OPERAND_MEMORY,
    OPERAND_SP
} operand_kind;

typedef struct operand {
    operand_kind kind;
    char letters[8];
    dm_asm_value value;
} operand;

/* ---- the table ---- */

static void add_row(dm_asm *as, const char *mnemonic, unsigned code, unsigned length, bool prefixed)
{
    if (strcmp(mnemonic, "PREFIX") == 0 || strcmp(mnemonic, "ILLEGAL") == 0)
        return;
    dm_asm_row *row = &as->rows[as->row_count++];
    memset(row, 0, sizeof *row);
    row->code = (uint8_t)code;
    row->length = (uint8_t)length;
    row->prefixed = prefixed;
    size_t name = strcspn(mnemonic, " ");
    memcpy(row->name, mnemonic, name);
    const char *rest = mnemonic + name;
    while (*rest) {
        rest++; /* the space or the comma */
        size_t size = strcspn(rest, ",");
        memcpy(row->operand[row->operands++], rest, size);
        rest += size;
    }
}

void dm_asm_insn_init(dm_asm *as)
{
#define OP(code, mnemonic, length, ...) add_row(as, mnemonic, code, length, false);
#define CB(code, mnemonic, length, ...) add_row(as, mnemonic, code, length, true);
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
}

bool dm_asm_insn_known(const dm_asm *as, const char *name)
{
    static const char *const aliases[] = {"LDI", "LDD", "LDIO", "LDHL"};
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcasecmp(name, aliases[i]) == 0)
            return true;
    for (unsigned i = 0; i < as->row_count; i++)
        if (strcasecmp(name, as->rows[i].name) == 0)
            return true;
    return false;
}

bool dm_asm_is_register(const char *name)
{
    static const char *const names[] = {"A",  "B",  "C",  "D",  "E", "H",  "L",   "AF", "BC",
                                        "DE", "HL", "SP", "NZ", "Z", "NC", "HLI", "HLD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* ---- a line's operands ---- */

static void set_letters(operand *out, const char *text)
{
    size_t size = strlen(text);
    size = size < sizeof out->letters ? size : sizeof out->letters - 1;
    memset(out->letters, 0, sizeof out->letters);
    for (size_t i = 0; i < size; i++)
        out->letters[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
    out->kind = OPERAND_LETTERS;
}

static bool is_register_token(const dm_asm_token *token)
{
    return token->kind == DM_ASM_T_NAME && dm_asm_is_register(token->text);
}

/* '[' has been read. [HL+], [HLI], [$FF00+C] and [C] are letters, anything else is a value. */
static bool parse_memory(dm_asm *as, operand *out)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (token->kind == DM_ASM_T_NUMBER && token->number == 0xFF00 && token[1].kind == '+' &&
        dm_asm_is_word(&token[2], "C")) {
        as->at += 3;
        set_letters(out, "[C]");
    } else if (is_register_token(token)) {
        static const char *const forms[][2] = {{"HL+", "[HL+]"}, {"HL-", "[HL-]"}, {"HLI", "[HL+]"},
                                               {"HLD", "[HL-]"}, {"HL", "[HL]"},   {"BC", "[BC]"},
                                               {"DE", "[DE]"},   {"C", "[C]"}};
        char letters[8] = "";
        strncat(letters, token->text, 3);
        as->at++;
        if (dm_asm_accept(as, '+'))
            strcat(letters, "+");
        else if (dm_asm_accept(as, '-'))
            strcat(letters, "-");
        out->letters[0] = 0;
        for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
            if (strcasecmp(letters, forms[i][0]) == 0)
                set_letters(out, forms[i][1]);
        if (!out->letters[0]) {
            dm_asm_error(as, "[%s] is no address", letters);
            return false;
        }
    } else {
        out->kind = OPERAND_MEMORY;
        if (!dm_asm_expr(as, &out->value))
            return false;
    }
    return dm_asm_expect(as, ']', "']'");
}

static bool parse_operand(dm_asm *as, operand *out)
{
    const dm_asm_token *token = dm_asm_peek(as);
    if (dm_asm_accept(as, '['))
        return parse_memory(as, out);
    if (!is_register_token(token)) {
        out->kind = OPERAND_VALUE;
        return dm_asm_expr(as, &out->value);
    }
    as->at++;
    set_letters(out, token->text);
    if (strcmp(out->letters, "SP") == 0 && (token[1].kind == '+' || token[1].kind == '-')) {
        out->kind = OPERAND_SP;
        dm_asm_accept(as, '+');
        return dm_asm_expr(as, &out->value);
    }
    return true;
}

static bool parse_operands(dm_asm *as, operand operands[2], unsigned *count)
{
    *count = 0;
    if (dm_asm_peek(as)->kind == DM_ASM_T_END)
        return true;
    do {
        if (*count == 2) {
            dm_asm_error(as, "more than two operands");
            return false;
        }
        if (!parse_operand(as, &operands[(*count)++]))
            return false;
    } while (dm_asm_accept(as, ','));
    return dm_asm_expect(as, DM_ASM_T_END, "the line's end");
}

/* ---- other spellings ---- */

static bool is_alu(const char *name)
{
    static const char *const names[] = {"ADD", "ADC", "SUB", "SBC", "AND", "XOR", "OR", "CP"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_letters(const operand *op, const char *letters)
{
    return op->kind == OPERAND_LETTERS && strcmp(op->letters, letters) == 0;
}

static void rewrite(char name[8], operand operands[2], unsigned *count)
{
    if (is_alu(name) && *count == 1) { /* add b -> add a,b */
        operands[1] = operands[0];
        set_letters(&operands[0], "A");
        *count = 2;
    }
    bool up = strcmp(name, "LDI") == 0, down = strcmp(name, "LDD") == 0;
    if (up || down) { /* ldi a,[hl] -> ld a,[hl+] */
        for (unsigned i = 0; i < *count; i++)
            if (is_letters(&operands[i], "[HL]"))
                set_letters(&operands[i], up ? "[HL+]" : "[HL-]");
            else if (!is_letters(&operands[i], "A"))
                return;
        strcpy(name, "LD");
    }
    if (strcmp(name, "LDIO") == 0)
        strcpy(name, "LDH");
    if (strcmp(name, "LD") == 0 && *count == 2 && /* ld [c],a */
        (is_letters(&operands[0], "[C]") || is_letters(&operands[1], "[C]")))
        strcpy(name, "LDH");
    if (strcmp(name, "JP") == 0 && *count == 1 && is_letters(&operands[0], "[HL]"))
        set_letters(&operands[0], "HL");
    if (strcmp(name, "LDHL") == 0 && *count == 2 && is_letters(&operands[0], "SP") &&
        operands[1].kind == OPERAND_VALUE) { /* ldhl sp,3 */
        set_letters(&operands[0], "HL");
        operands[1].kind = OPERAND_SP;
        strcpy(name, "LD");
    }
}

/* ---- matching ---- */

static bool fixed_value(const char *spelling, int32_t *value)
{
    if (spelling[0] == '$')
        *value = (int32_t)strtol(spelling + 1, NULL, 16);
    else if (spelling[0] >= '0' && spelling[0] <= '7')
        *value = spelling[0] - '0';
    else
        return false;
    return true;
}

static bool is_placeholder(const char *spelling)
{
    return strcmp(spelling, "n8") == 0 || strcmp(spelling, "n16") == 0 ||
           strcmp(spelling, "a16") == 0 || strcmp(spelling, "e8") == 0;
}

static bool operand_matches(const operand *op, const char *spelling)
{
    int32_t value;
    switch (op->kind) {
    case OPERAND_LETTERS:
        return strcmp(op->letters, spelling) == 0;
    case OPERAND_MEMORY:
        return strcmp(spelling, "[a16]") == 0 || strcmp(spelling, "[a8]") == 0;
    case OPERAND_SP:
        return strcmp(spelling, "SP+e8") == 0;
    default:
        /* What is not known yet has the same length whatever it will be. */
        return fixed_value(spelling, &value)
                   ? op->value.kind != DM_ASM_KNOWN || op->value.number == value
                   : is_placeholder(spelling);
    }
}

static const dm_asm_row *find_row(const dm_asm *as, const char *name, const operand operands[2],
                                  unsigned count)
{
    for (unsigned i = 0; i < as->row_count; i++) {
        const dm_asm_row *row = &as->rows[i];
        if (row->operands != count || strcmp(row->name, name) != 0)
            continue;
        unsigned matching = 0;
        while (matching < count && operand_matches(&operands[matching], row->operand[matching]))
            matching++;
        if (matching == count)
            return row;
    }
    return NULL;
}

/* ---- bytes ---- */

static bool in_range(dm_asm *as, const char *what, int32_t value, int32_t low, int32_t high)
{
    if (value >= low && value <= high)
        return true;
    if (as->pass == 2)
        dm_asm_error(as, "%s %d is not in %d..%d", what, (int)value, (int)low, (int)high);
    return false;
}

static void emit_operand(dm_asm *as, const dm_asm_row *row, const char *spelling, const operand *op,
                         int32_t next)
{
    int32_t value = op->value.number;
    if (op->value.kind != DM_ASM_KNOWN)
        value = 0; /* the first pass; no error and the same length */
    if (strcmp(spelling, "n8") == 0) {
        in_range(as, "the value", value, -128, 255);
        dm_asm_emit(as, value);
    } else if (strcmp(spelling, "n16") == 0 || strcmp(spelling, "a16") == 0 ||
               strcmp(spelling, "[a16]") == 0) {
        in_range(as, "the value", value, -32768, 65535);
        dm_asm_emit(as, value);
        dm_asm_emit(as, value >> 8);
    } else if (strcmp(spelling, "[a8]") == 0) {
        if (value < 0 || value > 0xFF)
            in_range(as, "the address", value, 0xFF00, 0xFFFF);
        dm_asm_emit(as, value);
    } else if (strcmp(spelling, "e8") == 0 || strcmp(spelling, "SP+e8") == 0) {
        if (strcmp(row->name, "JR") == 0) {
            value -= next;
            in_range(as, "the distance", value, -128, 127);
        } else {
            in_range(as, "the value", value, -128, 127);
        }
        dm_asm_emit(as, value);
    }
}

static void emit_row(dm_asm *as, const dm_asm_row *row, const operand operands[2])
{
    int32_t next = dm_asm_here(as).number + row->length;
    if (row->prefixed)
        dm_asm_emit(as, 0xCB);
    dm_asm_emit(as, row->code);
    for (unsigned i = 0; i < row->operands; i++)
        emit_operand(as, row, row->operand[i], &operands[i], next);
}

/* STOP is followed by a byte that it skips: 0 unless one is given. */
static void emit_stop(dm_asm *as, const operand *op, unsigned count)
{
    int32_t value = count && op->value.kind == DM_ASM_KNOWN ? op->value.number : 0;
    in_range(as, "the value", value, -128, 255);
    dm_asm_emit(as, 0x10);
    dm_asm_emit(as, value);
}

void dm_asm_insn(dm_asm *as)
{
    const char *spelled = dm_asm_peek(as)->text;
    char name[8] = "";
    for (size_t i = 0; i < 7 && spelled[i]; i++)
        name[i] = (char)(spelled[i] >= 'a' && spelled[i] <= 'z' ? spelled[i] - 32 : spelled[i]);
    as->at++;
    operand operands[2];
    memset(operands, 0, sizeof operands);
    unsigned count;
    if (!parse_operands(as, operands, &count))
        return;
    if (strcmp(name, "STOP") == 0 && count <= 1 && (!count || operands[0].kind == OPERAND_VALUE)) {
        emit_stop(as, &operands[0], count);
        return;
    }
    rewrite(name, operands, &count);
    const dm_asm_row *row = find_row(as, name, operands, count);
    if (row)
        emit_row(as, row, operands);
    else
        dm_asm_error(as, "%s does not take %s", name, count ? "these operands" : "no operand");
}
