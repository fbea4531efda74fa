/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz_texts.h"

#include <stdio.h>
#include <string.h>

static uint32_t below(fuzz_text *m, uint32_t bound)
{
    return dm_test_random_below(&m->random, bound);
}

static void put(fuzz_text *m, const char *text, size_t size)
{
    size_t room = FUZZ_TEXT_MAX - m->size;
    size = size < room ? size : room;
    memcpy(m->text + m->size, text, size);
    m->size += size;
}

static void puts_to(fuzz_text *m, const char *text)
{
    put(m, text, strlen(text));
}

static void repeat(fuzz_text *m, const char *text, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++)
        puts_to(m, text);
}

static const char head[] = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), "
                           "n: int, v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):\n"
                           "    i = wp.tid()\n";

static void make_bytes(fuzz_text *m)
{
    uint32_t kind = below(m, 3), size = below(m, below(m, 10) == 0 ? 100000 : 2000);
    if (below(m, 2) == 0)
        puts_to(m, head);
    for (uint32_t i = 0; i < size; i++) {
        char byte = (char)dm_test_random_byte(&m->random);
        if (kind == 1)
            byte = (char)(' ' + (unsigned char)byte % 95);
        else if (kind == 2 && below(m, 4) != 0)
            byte = "()[]{}:,=\n \t\\'\"#@"[(unsigned char)byte % 17];
        put(m, &byte, 1);
    }
}

static const char *const tokens[] = {
    "x",
    "i",
    "n",
    "v",
    "out",
    "x[i]",
    "v[i]",
    "out[i]",
    "a",
    "b",
    "s",
    "0",
    "1",
    "2.0",
    "1e9",
    "-1",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "=",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "<",
    "<=",
    "==",
    "!=",
    "and",
    "or",
    "not",
    "if",
    "else",
    "elif",
    "for",
    "in",
    "while",
    "return",
    "break",
    "continue",
    "pass",
    "+=",
    "-=",
    "*=",
    "range",
    "range(3)",
    "range(n)",
    "wp.sin",
    "wp.dot",
    "wp.vec3",
    "wp.mat33",
    "wp.quat",
    "wp.length",
    "wp.min",
    "wp.where",
    "float",
    "int",
    "wp.float64",
    "wp.tid()",
    "wp.randf",
    "wp.atomic_add",
    "wp.static",
    "True",
    "None",
    "'s'",
    ".x",
    ".shape",
    "[0]",
    "[-1]",
    "[1:2]",
    "wp.float16",
    "wp.normalize",
    "wp.inverse",
    "wp.printf",
    "wp.expect_eq",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "~",
    "@",
    "->",
    "lambda",
    "assert",
    "global",
    "def",
    "class",
    "import",
    "wp.transform_point",
    "wp.quat_rotate",
    "wp.cross",
    "wp.rand_init(1, i)",
    "s = float(0.0)\n    ",
    "wp.vector(1.0, 2.0)",
    "wp.identity(n=3, dtype=float)",
};
#define TOKEN_COUNT ((uint32_t)(sizeof tokens / sizeof tokens[0]))

static void make_soup(fuzz_text *m)
{
    puts_to(m, head);
    uint32_t lines = 1 + below(m, 30), depth = 1;
    for (uint32_t l = 0; l < lines; l++) {
        repeat(m, "    ", depth);
        uint32_t start = below(m, 8);
        static const char *const starts[] = {
            "a = ", "s += ", "out[i] = ", "if ", "for k in range(", "while ", "v[i][0] = ", ""};
        puts_to(m, starts[start]);
        for (uint32_t t = 1 + below(m, 8); t > 0; t--) {
            puts_to(m, tokens[below(m, TOKEN_COUNT)]);
            if (below(m, 3) != 0)
                puts_to(m, " ");
        }
        puts_to(m, start == 4 ? "):" : start == 3 || start == 5 ? ":" : "");
        puts_to(m, "\n");
        if (start >= 3 && start <= 5 && depth < 6)
            depth++;
        else if (depth > 1 && below(m, 3) == 0)
            depth--;
    }
}

/* Where a line or a word of a text starts and how long it is. */
static void pick_line(fuzz_text *m, size_t *at, size_t *size)
{
    *at = m->size == 0 ? 0 : below(m, (uint32_t)m->size);
    while (*at > 0 && m->text[*at - 1] != '\n')
        (*at)--;
    const char *end = memchr(m->text + *at, '\n', m->size - *at);
    *size = end == NULL ? m->size - *at : (size_t)(end - (m->text + *at)) + 1;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static void pick_word(fuzz_text *m, size_t *at, size_t *size)
{
    *at = m->size == 0 ? 0 : below(m, (uint32_t)m->size);
    while (*at < m->size && !is_word(m->text[*at]))
        (*at)++;
    size_t end = *at;
    while (end < m->size && is_word(m->text[end]))
        end++;
    *size = end - *at;
}

static void replace(fuzz_text *m, size_t at, size_t size, const char *with, size_t with_size)
{
    if (m->size - size + with_size > FUZZ_TEXT_MAX)
        return;
    memmove(m->text + at + with_size, m->text + at + size, m->size - at - size);
    memcpy(m->text + at, with, with_size);
    m->size = m->size - size + with_size;
}

static void make_mutant(fuzz_text *m)
{
    unsigned which = below(m, m->given->count);
    put(m, m->given->bytes[which], m->given->sizes[which]);
    for (uint32_t n = 1 + below(m, below(m, 3) == 0 ? 20 : 3); n > 0; n--) {
        char copy[256];
        size_t at, size, to, to_size;
        uint32_t what = below(m, 8);
        if (what < 3) { /* a word becomes another of the same text, or a token */
            pick_word(m, &at, &size);
            pick_word(m, &to, &to_size);
            size = size < sizeof copy ? size : sizeof copy;
            memcpy(copy, m->text + at, size);
            const char *token = tokens[below(m, TOKEN_COUNT)];
            if (below(m, 2) == 0)
                replace(m, to, to_size, copy, size);
            else
                replace(m, to, to_size, token, strlen(token));
        } else if (what == 3) { /* a line goes */
            pick_line(m, &at, &size);
            replace(m, at, size, "", 0);
        } else if (what == 4) { /* a line comes again, somewhere else */
            pick_line(m, &at, &size);
            size = size < sizeof copy ? size : sizeof copy;
            memcpy(copy, m->text + at, size);
            pick_line(m, &to, &to_size);
            replace(m, to, 0, copy, size);
        } else if (what == 5) { /* a line moves in or out */
            pick_line(m, &at, &size);
            if (below(m, 2) == 0)
                replace(m, at, 0, "    ", 4);
            else if (size > 4 && memcmp(m->text + at, "    ", 4) == 0)
                replace(m, at, 4, "", 0);
        } else if (m->size > 0) { /* a byte */
            char byte = below(m, 2) == 0 ? (char)dm_test_random_byte(&m->random)
                                         : "()[],:=+-*/.<>0159xyzn \n"[below(m, 24)];
            at = below(m, (uint32_t)m->size);
            replace(m, at, below(m, 2), &byte, below(m, 4) == 0 ? 0 : 1);
        }
    }
    if (below(m, 20) == 0)
        m->size = below(m, (uint32_t)m->size + 1);
}

static void make_deep(fuzz_text *m)
{
    static const uint32_t depths[] = {10, 50, 90, 150, 199, 200, 201, 1000, 20000};
    uint32_t depth = depths[below(m, 9)];
    static const struct {
        const char *open, *inner, *close;
    } nests[] = {
        {"(", "x[i]", ")"},
        {"wp.sin(", "x[i]", ")"},
        {"-", "x[i]", ""},
        {"not ", "True", ""},
        {"x[", "i", "]"},
        {"[", "1", "]"},
        {"x[i] + (", "1.0", ")"},
        {"1.0 if n > 0 else ", "2.0", ""},
        {"x[i] * ", "2.0", ""},
        {"x[i] ** ", "2.0", ""},
        {"n < ", "2", ""},
        {"wp.vec3(", "1.0", ")"},
        {"wp.where(n > 0, 1.0, ", "2.0", ")"},
        {"float(", "1", ")"},
        {"x[i].", "x", ""},
        {"lambda: ", "1", ""},
        {"{1: ", "2", "}"},
        {"f\"{", "1", "}\""},
    };
    uint32_t which = below(m, 21);
    puts_to(m, head);
    if (which < 18) {
        puts_to(m, "    out[i] = ");
        repeat(m, nests[which].open, depth);
        puts_to(m, nests[which].inner);
        repeat(m, nests[which].close, depth);
        puts_to(m, "\n");
        return;
    }
    if (depth > 1000) /* each level is a line of its own: quadratic in the depth */
        depth = 1000;
    for (uint32_t d = 1; d <= depth; d++) {
        repeat(m, which == 20 ? " " : "    ", which == 20 ? d + 3 : d);
        puts_to(m, which == 18   ? "if n > 0:\n"
                   : which == 19 ? "for q in range(n):\n"
                                 : "while n > 0:\n");
    }
    repeat(m, which == 20 ? " " : "    ", which == 20 ? depth + 4 : depth + 1);
    puts_to(m, "out[i] = x[i]\n");
}

static void printf_to(fuzz_text *m, const char *format, unsigned a, unsigned b) DM_PRINTF(2, 0);
static void printf_to(fuzz_text *m, const char *format, unsigned a, unsigned b)
{
    char line[256];
    /* cppcheck-suppress wrongPrintfScanfArgNum ; some texts want one number only */
    (void)snprintf(line, sizeof line, format, a, b);
    puts_to(m, line);
}

static void make_growth(fuzz_text *m)
{
    uint32_t what = below(m, 14), n = 1 + below(m, 40);
    switch (what) {
    case 0: /* long numbers */
        puts_to(m, head);
        puts_to(m, "    out[i] = ");
        repeat(m, "9", 1 + below(m, 5000));
        puts_to(m, below(m, 2) == 0 ? ".0\n" : "\n");
        puts_to(m, "    a = 1e99999 + 0x");
        repeat(m, "f", n);
        puts_to(m, "\n    b = 1 << 63 << 63\n    c = -9223372036854775808 // -1\n");
        break;
    case 1: /* a long line */
        puts_to(m, head);
        puts_to(m, "    out[i] = x[i]");
        repeat(m, " + 1.0", 1 + below(m, 150000));
        puts_to(m, "\n");
        break;
    case 2: /* loops that unroll: 16 to the power of n */
        puts_to(m, head);
        for (uint32_t d = 1; d <= n % 12; d++) {
            repeat(m, "    ", d);
            printf_to(m, "for k%u in range(16):\n", d, 0);
        }
        repeat(m, "    ", n % 12 + 1);
        puts_to(m, "out[i] = out[i] + x[k1]\n");
        break;
    case 3: /* 2 to the power of n calls */
        puts_to(m, "import warp as wp\n\n\n@wp.func\ndef f0(a: float):\n    return a\n\n\n");
        for (uint32_t f = 1; f <= n; f++) {
            printf_to(m, "@wp.func\ndef f%u(a: float):\n", f, 0);
            printf_to(m, "    return f%u(a) + f%u(a * 2.0)\n\n\n", f - 1, f - 1);
        }
        puts_to(m, head + sizeof "import warp as wp\n\n\n" - 1);
        printf_to(m, "    out[i] = f%u(x[i])\n", n, 0);
        break;
    case 4: /* recursion */
        puts_to(m, "import warp as wp\n@wp.func\ndef f(a: float):\n    return g(a)\n@wp.func\n"
                   "def g(a: float):\n    return f(a)\n");
        puts_to(m, head);
        puts_to(m, "    out[i] = f(x[i])\n");
        break;
    case 5: /* types that contain each other */
        puts_to(m, "import warp as wp\n@wp.struct\nclass A:\n    b: 'B'\n@wp.struct\nclass B:\n"
                   "    a: A\nC = D\nD = C\n");
        puts_to(m,
                "@wp.kernel\ndef k(a: A, c: C, out: wp.array(dtype=B)):\n    out[0] = a.b.a.b\n");
        break;
    case 6: /* a generic function for ever more types */
        puts_to(m, "import warp as wp\nfrom typing import Any\n@wp.func\ndef f(a: Any):\n"
                   "    return wp.vector(a, a)\n");
        puts_to(m, head);
        puts_to(m, "    a = x[i]\n");
        for (uint32_t k = 0; k < n; k++)
            puts_to(m, "    b = f(a)\n");
        break;
    case 7: /* large vectors and matrices */
        puts_to(m, "import warp as wp\n");
        printf_to(m, "V = wp.types.vector(length=%u, dtype=float)\n", 1u << below(m, 31), 0);
        printf_to(m, "M = wp.types.matrix(shape=(%u, %u), dtype=float)\n", 1u << below(m, 16),
                  1u << below(m, 16));
        puts_to(m, head);
        puts_to(m,
                "    a = V()\n    m = M()\n    out[i] = wp.dot(a, a) + a[3] + wp.trace(m * m)\n");
        break;
    case 8: /* structs of structs */
        puts_to(m, "import warp as wp\n@wp.struct\nclass S0:\n    a: float\n");
        for (uint32_t s = 1; s <= n; s++) {
            printf_to(m, "@wp.struct\nclass S%u:\n    a: S%u\n", s, s - 1);
            printf_to(m, "    b: S%u\n    c: S%u\n", s - 1, s - 1);
        }
        printf_to(m, "@wp.kernel\ndef k(s: S%u, out: wp.array(dtype=S%u)):\n    out[0] = s\n", n,
                  n);
        break;
    case 9: /* tuples that double */
        puts_to(m, head);
        puts_to(m, "    a = (x[i], x[i])\n");
        for (uint32_t k = 0; k < n; k++)
            puts_to(m, "    a = (a, a)\n");
        puts_to(m, "    out[i] = a[0]\n");
        break;
    case 10: /* constants that grow */
        puts_to(m, "import warp as wp\nA0 = 'aaaaaaaaaaaaaaaa'\nB0 = 10\n");
        for (uint32_t k = 1; k <= n; k++) {
            printf_to(m, "A%u = A%u", k, k - 1);
            printf_to(m, " + A%u\nB%u", k - 1, k);
            printf_to(m, " = B%u * B%u\n", k - 1, k - 1);
        }
        puts_to(m, head);
        printf_to(m, "    print(A%u)\n    out[i] = float(B%u)\n", n, n);
        break;
    case 11: /* many names */
        puts_to(m, head);
        for (uint32_t k = 0; k < n * 200; k++)
            printf_to(m, "    a%u = x[i] + %u.0\n", k, k);
        break;
    case 12: /* many branches that all change many variables */
        puts_to(m, head);
        for (uint32_t k = 0; k < n; k++)
            printf_to(m, "    a%u = float(%u)\n", k, k);
        for (uint32_t k = 0; k < n * 4; k++) {
            printf_to(m, "    if n > %u:\n        a%u = x[i]\n", k, k % n);
            printf_to(m, "    for q in range(%u):\n        a%u += x[q]\n", 17 + k % 5, (k * 7) % n);
        }
        puts_to(m, "    out[i] = a0\n");
        break;
    default: /* long names and texts */
        puts_to(m, head);
        puts_to(m, "    ");
        repeat(m, "abcdefgh", 1 + below(m, 100000));
        puts_to(m, " = x[i]\n    print(\"");
        repeat(m, "%d\\n", 1 + below(m, 10000));
        puts_to(m, "\")\n");
        break;
    }
}

void fuzz_text_make(fuzz_text *m, uint64_t seed, uint64_t index)
{
    m->random = dm_test_random_make(seed, index);
    m->size = 0;
    uint32_t pick = below(m, 100);
    if (m->given->count > 0 && pick < 60)
        make_mutant(m);
    else if (pick < 82)
        make_soup(m);
    else if (pick < 90)
        make_bytes(m);
    else if (pick < 95)
        make_deep(m);
    else
        make_growth(m);
}
