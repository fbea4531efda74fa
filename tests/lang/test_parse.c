/* SPDX-License-Identifier: MIT */
/* Tokens and syntax trees: Python's block structure and expressions, and what is no Python. */
#include "lang/front/ast.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

/* The listing of a text, then its diagnostics. The caller frees it. */
static char *listing(const char *text, size_t size)
{
    dm_lang lang;
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_lang_init(&lang);
    if (setjmp(lang.bail) == 0) {
        dm_ast *tree = dm_lang_parse(&lang, dm_lang_add_source(&lang, "t.py", text, size));
        dm_ast_print(tree, &out);
    } else {
        dm_buffer_printf(&out, "bail: %s\n", lang.bail_reason);
    }
    dm_lang_print_diags(&lang, &out);
    dm_lang_deinit(&lang);
    dm_buffer_putc(&out, '\0');
    return dm_buffer_take(&out);
}

static void expect_listing(const char *text, const char *expected)
{
    char *found = listing(text, strlen(text));
    assert_string_equal(found, expected);
    free(found);
}

/* The text must be refused with this message. */
static void expect_error(const char *text, size_t size, const char *message)
{
    char *found = listing(text, size);
    if (strstr(found, message) == NULL)
        fail_msg("no '%s' in:\n%s", message, found);
    free(found);
}

static void precedence(void **state)
{
    (void)state;
    expect_listing("x = -a ** 2 + b * c\n", "BLOCK\n"
                                            "  ASSIGN\n"
                                            "    BINARY '+'\n"
                                            "      UNARY '-'\n"
                                            "        BINARY '**'\n"
                                            "          NAME a\n"
                                            "          INT 2\n"
                                            "      BINARY '*'\n"
                                            "        NAME b\n"
                                            "        NAME c\n"
                                            "    NAME x\n");
    expect_listing("not a < b <= c or d and e\n", "BLOCK\n"
                                                  "  EXPR\n"
                                                  "    BOOLEAN 'or'\n"
                                                  "      UNARY 'not'\n"
                                                  "        COMPARE '<' '<='\n"
                                                  "          NAME a\n"
                                                  "          NAME b\n"
                                                  "          NAME c\n"
                                                  "      BOOLEAN 'and'\n"
                                                  "        NAME d\n"
                                                  "        NAME e\n");
    expect_listing("a - b - c << 1\n", "BLOCK\n"
                                       "  EXPR\n"
                                       "    BINARY '<<'\n"
                                       "      BINARY '-'\n"
                                       "        BINARY '-'\n"
                                       "          NAME a\n"
                                       "          NAME b\n"
                                       "        NAME c\n"
                                       "      INT 1\n");
}

static void blocks_and_decorators(void **state)
{
    (void)state;
    expect_listing("@wp.kernel\n"
                   "def f(a: wp.array(dtype=float), n: int = 3):\n"
                   "    i = wp.tid()  # thread\n"
                   "\n"
                   "    if i < n: a[i] = 1.0; return\n"
                   "    elif a[i,\n"
                   "0] > \\\n"
                   "  .5e1:\n"
                   "    \tpass\n"
                   "# at the margin\n"
                   "    else:\n"
                   "        a[i:] += 0xFF_F\n",
                   "BLOCK\n"
                   "  FUNCTION f\n"
                   "    @ATTRIBUTE kernel\n"
                   "      NAME wp\n"
                   "    PARAMETER a\n"
                   "      CALL\n"
                   "        ATTRIBUTE array\n"
                   "          NAME wp\n"
                   "        KEYWORD dtype\n"
                   "          NAME float\n"
                   "    PARAMETER n\n"
                   "      NAME int\n"
                   "      INT 3\n"
                   "    BLOCK\n"
                   "      ASSIGN\n"
                   "        CALL\n"
                   "          ATTRIBUTE tid\n"
                   "            NAME wp\n"
                   "        NAME i\n"
                   "      IF\n"
                   "        COMPARE '<'\n"
                   "          NAME i\n"
                   "          NAME n\n"
                   "        BLOCK\n"
                   "          ASSIGN\n"
                   "            FLOAT 1\n"
                   "            SUBSCRIPT\n"
                   "              NAME a\n"
                   "              NAME i\n"
                   "          RETURN\n"
                   "        else BLOCK\n"
                   "          IF\n"
                   "            COMPARE '>'\n"
                   "              SUBSCRIPT\n"
                   "                NAME a\n"
                   "                NAME i\n"
                   "                INT 0\n"
                   "              FLOAT 5\n"
                   "            BLOCK\n"
                   "              PASS\n"
                   "            else BLOCK\n"
                   "              AUGMENTED '+'\n"
                   "                SUBSCRIPT\n"
                   "                  NAME a\n"
                   "                  SLICE\n"
                   "                    NAME i\n"
                   "                INT 4095\n");
}

static void rest_of_python_is_passed_over(void **state)
{
    (void)state;
    expect_listing("from __future__ import annotations\n"
                   "import warp as wp, os\n"
                   "try:\n"
                   "    x = {a: [b for b in c if d] for a in e}\n"
                   "except (A, B) as err:\n"
                   "    raise\n"
                   "finally:\n"
                   "    with open('f') as g, h: pass\n"
                   "f = lambda x, y=(1, 2): x if y else f'{x:>3}' \"s\"\n"
                   "match x:\n"
                   "    case 1:\n"
                   "        pass\n"
                   "match = 3\n"
                   "async def g(*a, k=1, **b): yield a\n",
                   "BLOCK\n"
                   "  FROM as __future__\n"
                   "    NAME annotations\n"
                   "  IMPORT warp as wp\n"
                   "  IMPORT os\n"
                   "  OPAQUE 'try'\n"
                   "    BLOCK\n"
                   "      BLOCK\n"
                   "        ASSIGN\n"
                   "          OPAQUE a dictionary or set\n"
                   "          NAME x\n"
                   "      BLOCK\n"
                   "        OPAQUE 'raise'\n"
                   "      BLOCK\n"
                   "        OPAQUE 'with'\n"
                   "          BLOCK\n"
                   "            BLOCK\n"
                   "              PASS\n"
                   "  ASSIGN\n"
                   "    OPAQUE a lambda\n"
                   "    NAME f\n"
                   "  OPAQUE 'match'\n"
                   "  ASSIGN\n"
                   "    INT 3\n"
                   "    NAME match\n"
                   "  FUNCTION g\n"
                   "    PARAMETER a '*'\n"
                   "    PARAMETER k\n"
                   "      INT 1\n"
                   "    PARAMETER b '**'\n"
                   "    BLOCK\n"
                   "      EXPR\n"
                   "        OPAQUE yield\n");
}

static void errors_show_the_place(void **state)
{
    (void)state;
    expect_listing("x = 1 +\n"
                   "y = (2\n"
                   "z = 3)\n"
                   "w = 4\n",
                   "BLOCK\n"
                   "  ASSIGN\n"
                   "    BINARY '+'\n"
                   "      INT 1\n"
                   "      OPAQUE nothing\n"
                   "    NAME x\n"
                   "  ASSIGN\n"
                   "    INT 2\n"
                   "    NAME y\n"
                   "  ASSIGN\n"
                   "    INT 4\n"
                   "    NAME w\n"
                   "t.py:1:8: error: expected an expression, found the end of the line\n"
                   "    x = 1 +\n"
                   "           ^\n"
                   "t.py:3:1: error: expected ')', found a name\n"
                   "    z = 3)\n"
                   "    ^\n");
}

#define EXPECT_ERROR(text, message) expect_error(text, sizeof text - 1, message)

static void bad_text_is_refused(void **state)
{
    (void)state;
    EXPECT_ERROR("x = \0 1\n", "1:5: error: a NUL byte is not text");
    EXPECT_ERROR("caf\xE9 = 1\n", "not UTF-8");
    EXPECT_ERROR("x = 'abc\n", "this string is not closed");
    EXPECT_ERROR("x = 0x\n", "no digits");
    EXPECT_ERROR("x = 12ab\n", "a name cannot follow a number");
    EXPECT_ERROR("x = 99999999999999999999\n", "does not fit 64 bits");
    EXPECT_ERROR("x = 1.5.2\n", "malformed number");
    EXPECT_ERROR("x = 012\n", "an integer cannot begin with 0");
    EXPECT_ERROR("x = 0_00_7\n", "an integer cannot begin with 0");
    EXPECT_ERROR("x = ?\n", "no meaning here");
    EXPECT_ERROR("x = )\n", "closes nothing");
    EXPECT_ERROR("x = (1\n", "a bracket is not closed");
    EXPECT_ERROR("if x:\npass\n", "expected an indented block");
    EXPECT_ERROR("if x:\n    a = 1\n  b = 2\n", "matches no outer block");
    EXPECT_ERROR("  x = 1\n", "indented too far");
    EXPECT_ERROR("def (x): pass\n", "expected the function's name");
    EXPECT_ERROR("@wp.kernel\nx = 1\n", "expected 'def' or 'class' after a decorator");
}

/* The tokens of a text; the compilation is left to the caller. */
static const dm_token *lex(dm_lang *lang, const dm_buffer *text, int *count)
{
    dm_lang_init(lang);
    assert_int_equal(setjmp(lang->bail), 0);
    return dm_lang_lex(lang, dm_lang_add_source(lang, "t.py", text->data, text->size), count);
}

/* Two lists of the same tokens, the second `shift` bytes later. */
static void expect_shifted(const dm_token *a, const dm_token *b, int count, int shift,
                           const char *text)
{
    for (int i = 1; i < count; i++) {
        assert_int_equal(b[i].kind, a[i].kind);
        assert_int_equal(b[i].pos, a[i].pos + (unsigned)shift);
        assert_int_equal(b[i].end, a[i].end + (unsigned)shift);
        if (b[i].kind == DM_TOK_INT || b[i].kind == DM_TOK_FLOAT)
            assert_true(b[i].integer == a[i].integer);
        if (b[i].kind == DM_TOK_NAME) { /* the place says which name it must be */
            size_t length = b[i].end - b[i].pos;
            assert_int_equal(strlen(b[i].name), length);
            assert_memory_equal(b[i].name, text + b[i].pos, length);
        }
    }
}

/* The lexer looks at stretches of bytes at once: what a token is may not depend on where in a
 * stretch it stands, nor on what is beside it. */
static void tokens_do_not_depend_on_their_place(void **state)
{
    (void)state;
    static const char body[] =
        "a sixteen_letters_ seventeen_letters a_name_that_is_much_longer_than_any_stretch_of_bytes_"
        "that_is_looked_at_once x.y x .y 1 12.5 .5 1. 1e3 0x1F 1_000 123456789012345678 1..real "
        "a+=b a-=b a*=b a/=b a//=b a%=b a**=b a@=b a&=b a|=b a^=b a<<=b a>>=b a:=b a!=b a==b a<=b "
        "a>=b a<b a>b a=b a->b a-b a*b a**b a/b a//b a%b a@b a&b a|b a^b ~a a<<b a>>b "
        "[a](b){c},d;e "
        "... f'x' r\"y\" 'a' b'' \xC3\xA9 n\xC3\xA9 if is not in\tdef\rx#c\n (y) \\\n z a[-1:2]";
    for (int shift = 1; shift < 80; shift++) {
        dm_lang first, second;
        dm_buffer text = DM_BUFFER_EMPTY, shifted = DM_BUFFER_EMPTY;
        int count, shifted_count;
        dm_buffer_printf(&text, "(%s)\n", body);
        dm_buffer_printf(&shifted, "(%*s%s)\n", shift, "", body);
        const dm_token *tokens = lex(&first, &text, &count);
        const dm_token *others = lex(&second, &shifted, &shifted_count);
        assert_int_equal(shifted_count, count);
        expect_shifted(tokens, others, count, shift, shifted.data);
        dm_lang_deinit(&first);
        dm_lang_deinit(&second);
        dm_buffer_deinit(&text);
        dm_buffer_deinit(&shifted);
    }
}

/* Deep nesting and long lines end with an error or a tree, never with a full stack. */
static void depth_is_bounded(void **state)
{
    (void)state;
    static const char *const openers[] = {"(",        "[",      "-",     "not ", "a(",   "a[",
                                          "lambda: ", "1 if ",  "1 ** ", "{",    "x = ", "1 + ",
                                          "a.",       "await ", "f()(",  "*",    "x: "};
    for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        for (int n = 0; n < 100000; n++)
            dm_buffer_puts(&text, openers[i]);
        free(listing(text.data, text.size));
        dm_buffer_deinit(&text);
    }
    dm_buffer blocks = DM_BUFFER_EMPTY;
    for (int n = 0; n < 1000; n++)
        dm_buffer_printf(&blocks, "%*sif x:\n", n, "");
    expect_error(blocks.data, blocks.size, "too many nested blocks");
    dm_buffer_deinit(&blocks);
}

static void errors_are_bounded(void **state)
{
    (void)state;
    dm_buffer text = DM_BUFFER_EMPTY;
    for (int n = 0; n < 1000; n++)
        dm_buffer_puts(&text, "x = = 1\n");
    expect_error(text.data, text.size, "bail: too many errors");
    dm_buffer_deinit(&text);
}

DM_TESTS("lang/parse", DM_TEST(precedence), DM_TEST(blocks_and_decorators),
         DM_TEST(rest_of_python_is_passed_over), DM_TEST(errors_show_the_place),
         DM_TEST(bad_text_is_refused), DM_TEST(tokens_do_not_depend_on_their_place),
         DM_TEST(depth_is_bounded), DM_TEST(errors_are_bounded))
