/* SPDX-License-Identifier: MIT */
/* fuzz_kernel.c - texts of all kinds against the kernel compiler.
 *
 *   dm-fuzz-kernel [--seed S] [--seconds T] [--cases N] [--case I] [--dump FILE] [--cc] [FILE.py
 * ...]
 *
 * Case i of a seed is always the same. Its text is random bytes, a soup of tokens, one of the given
 * files with lines, tokens and bytes changed, something nested deeply, or something that grows:
 * giant constants, loops to unroll, functions that call each other twice. Every text either
 * compiles, for both targets, or is refused with a message of one line; in bounded time and memory.
 * --cc passes what compiles to the C compiler too, with warnings as errors.
 *
 * Built with -fsanitize=address,undefined it also finds what those find (make fuzz-kernel). With
 * -DDM_LIBFUZZER -fsanitize=fuzzer the same file is a libFuzzer target. */
#include "base/file.h"
#include "lang/compile.h"
#include "tests/support/random.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CASE_SECONDS 20 /* of CPU time; longer is a hang */
#define TEXT_MAX ((size_t)2 << 20)
#define KERNELS_MAX 40

typedef struct totals {
    uint64_t cases, refused, kernels, compiled, bytes, slowest;
    double slowest_seconds;
} totals;

typedef struct settings {
    uint64_t seed, cases, only_case;
    bool has_case, cc;
    double seconds;
    const char *dump;
} settings;

/* ---- What every text has to withstand ---- */

/* One reason, one line, no control characters. */
static bool reason_is_good(const dm_error *err)
{
    if (err->message[0] == '\0')
        return false;
    for (const char *at = err->message; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20)
            return false;
    return true;
}

static bool cc_takes(const dm_buffer *text)
{
    FILE *pipe = popen("cc -std=c17 -Wall -Wextra -Werror -fsyntax-only -x c -", "w");
    if (pipe == NULL)
        return true;
    fwrite(text->data, 1, text->size, pipe);
    return pclose(pipe) == 0;
}

static bool run_kernel(dm_compilation *c, int kernel, bool cc, totals *total, dm_buffer *texts,
                       const char **why)
{
    dm_error err = {0};
    dm_buffer out = DM_BUFFER_EMPTY;
    bool good = true;
    total->kernels++;
    if (dm_compilation_kernel(c, kernel, &err) != DM_OK) {
        *why = "a kernel is refused without a good reason";
        return reason_is_good(&err);
    }
    total->compiled++;
    for (int target = 0; good && target < 2; target++) {
        dm_buffer_clear(&out);
        good = dm_compilation_print(c, kernel, target == 0 ? DM_TARGET_C : DM_TARGET_CUDA, &out,
                                    &err) == DM_OK ||
               reason_is_good(&err);
        *why = "a kernel is not printed, without a good reason";
        dm_buffer_append(texts, dm_buffer_text(&out), out.size);
        if (good && target == 0 && cc && !cc_takes(&out)) {
            *why = "the C compiler refuses the text";
            good = false;
        }
    }
    dm_buffer_deinit(&out);
    return good;
}

/* What comes out goes to `texts`, diagnostics last. */
static bool compile_text(const char *text, size_t size, bool cc, dm_workspace *workspace,
                         totals *total, dm_buffer *texts, const char **why)
{
    dm_compilation c;
    dm_error err = {0};
    dm_compile_options options = {.workspace = workspace};
    bool good = true;
    if (dm_compilation_init(&c, "case.py", text, size, &options, &err) != DM_OK) {
        total->refused++;
        *why = "refused without a good reason";
        good = reason_is_good(&err);
    } else {
        int count = c.kernel_count < KERNELS_MAX ? c.kernel_count : KERNELS_MAX;
        for (int k = 0; good && k < count; k++)
            good = run_kernel(&c, k, cc, total, texts, why);
    }
    dm_lang_print_diags(&c.lang, texts);
    dm_compilation_deinit(&c);
    return good;
}

/* False with a reason when something is wrong. The text is also compiled with the memory of all
 * texts before it, of which nothing may show. */
static bool run_text(const char *text, size_t size, bool cc, totals *total, const char **why)
{
    static dm_workspace workspace;
    static bool started;
    if (!started)
        dm_workspace_init(&workspace);
    started = true;
    dm_buffer alone = DM_BUFFER_EMPTY, after = DM_BUFFER_EMPTY;
    totals ignored = {0};
    total->cases++;
    total->bytes += size;
    bool good = compile_text(text, size, cc, NULL, total, &alone, why) &&
                compile_text(text, size, false, &workspace, &ignored, &after, why);
    if (good && (alone.size != after.size ||
                 memcmp(dm_buffer_text(&alone), dm_buffer_text(&after), alone.size) != 0)) {
        *why = "what was compiled before shows";
        good = false;
    }
    dm_buffer_deinit(&alone);
    dm_buffer_deinit(&after);
    return good;
}

#ifdef DM_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *why = "";
    totals total = {0};
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!run_text(text, size, false, &total, &why)) {
        fprintf(stderr, "fuzz_kernel: %s\n", why);
        abort();
    }
    free(text);
    return 0;
}

#else

/* ---- Making texts ---- */

typedef struct given_files {
    char **bytes;
    size_t *sizes;
    unsigned count;
} given_files;

typedef struct maker {
    dm_test_random random;
    char *text; /* TEXT_MAX */
    size_t size;
    const given_files *given;
} maker;

static uint32_t below(maker *m, uint32_t bound)
{
    return dm_test_random_below(&m->random, bound);
}

static void put(maker *m, const char *text, size_t size)
{
    size_t room = TEXT_MAX - m->size;
    size = size < room ? size : room;
    memcpy(m->text + m->size, text, size);
    m->size += size;
}

static void puts_to(maker *m, const char *text)
{
    put(m, text, strlen(text));
}

static void repeat(maker *m, const char *text, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++)
        puts_to(m, text);
}

static const char head[] = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), "
                           "n: int, v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):\n"
                           "    i = wp.tid()\n";

static void make_bytes(maker *m)
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

static void make_soup(maker *m)
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
static void pick_line(maker *m, size_t *at, size_t *size)
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

static void pick_word(maker *m, size_t *at, size_t *size)
{
    *at = m->size == 0 ? 0 : below(m, (uint32_t)m->size);
    while (*at < m->size && !is_word(m->text[*at]))
        (*at)++;
    size_t end = *at;
    while (end < m->size && is_word(m->text[end]))
        end++;
    *size = end - *at;
}

static void replace(maker *m, size_t at, size_t size, const char *with, size_t with_size)
{
    if (m->size - size + with_size > TEXT_MAX)
        return;
    memmove(m->text + at + with_size, m->text + at + size, m->size - at - size);
    memcpy(m->text + at, with, with_size);
    m->size = m->size - size + with_size;
}

static void make_mutant(maker *m)
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

static void make_deep(maker *m)
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

static void printf_to(maker *m, const char *format, unsigned a, unsigned b) DM_PRINTF(2, 0);
static void printf_to(maker *m, const char *format, unsigned a, unsigned b)
{
    char line[256];
    /* cppcheck-suppress wrongPrintfScanfArgNum ; some texts want one number only */
    (void)snprintf(line, sizeof line, format, a, b);
    puts_to(m, line);
}

static void make_growth(maker *m)
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

static void make_case(maker *m, uint64_t seed, uint64_t index)
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

/* ---- The program ---- */

/* What the signal handler says: made beforehand, since it may not format. */
static char death_text[96];
static size_t death_size;

static void death(int signal_number)
{
    if (write(STDERR_FILENO, death_text, death_size) != (ssize_t)death_size)
        _exit(3);
    _exit(signal_number == SIGVTALRM ? 2 : 4);
}

/* The sanitizers end in abort(), so that the case is named. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1:handle_abort=0:handle_segv=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:abort_on_error=1:print_stacktrace=1";
}

/* By CPU time: the machine may be busy with other things. */
static void watch(uint64_t seed, uint64_t index)
{
    int size =
        snprintf(death_text, sizeof death_text, "fuzz_kernel: died in --seed %llu --case %llu\n",
                 (unsigned long long)seed, (unsigned long long)index);
    death_size = (size_t)size;
    struct itimerval limit = {.it_value = {.tv_sec = CASE_SECONDS}};
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static bool read_number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool read_settings(int argc, char **argv, settings *out, int *files)
{
    *out = (settings){.seed = 1, .cases = UINT64_MAX, .seconds = 10};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        uint64_t number = 0;
        if (strcmp(argv[i], "--cc") == 0) {
            out->cc = true;
            continue;
        }
        if (i + 1 >= argc)
            return false;
        const char *value = argv[++i];
        if (strcmp(argv[i - 1], "--dump") == 0) {
            out->dump = value;
            continue;
        }
        if (!read_number(value, &number))
            return false;
        if (strcmp(argv[i - 1], "--seed") == 0) {
            out->seed = number;
        } else if (strcmp(argv[i - 1], "--seconds") == 0) {
            out->seconds = (double)number;
        } else if (strcmp(argv[i - 1], "--cases") == 0) {
            out->cases = number;
            out->seconds = 1e9;
        } else if (strcmp(argv[i - 1], "--case") == 0) {
            out->only_case = number;
            out->has_case = true;
        } else {
            return false;
        }
    }
    *files = i;
    return true;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool read_files(char **paths, int count, given_files *out)
{
    dm_error err = {0};
    *out = (given_files){.bytes = calloc((size_t)count + 1, sizeof *out->bytes),
                         .sizes = calloc((size_t)count + 1, sizeof *out->sizes)};
    if (out->bytes == NULL || out->sizes == NULL)
        return false;
    for (int i = 0; i < count; i++) {
        if (dm_file_read(paths[i], TEXT_MAX, &out->bytes[i], &out->sizes[i], &err) != DM_OK) {
            fprintf(stderr, "fuzz_kernel: %s\n", err.message);
            return false;
        }
        out->count++;
    }
    return true;
}

static int fuzz(const settings *s, maker *m)
{
    totals total = {0};
    double start = now();
    uint64_t index = s->has_case ? s->only_case : 0;
    int code = 0;
    for (; code == 0 && index < s->cases && now() - start < s->seconds; index++) {
        const char *why = "";
        make_case(m, s->seed, index);
        if (s->dump != NULL) {
            dm_error err = {0};
            if (dm_file_write(s->dump, m->text, m->size, &err) != DM_OK)
                fprintf(stderr, "fuzz_kernel: %s\n", err.message);
        }
        watch(s->seed, index);
        m->text[m->size] = '\0';
        double before = now();
        if (!run_text(m->text, m->size, s->cc, &total, &why)) {
            fprintf(stderr, "fuzz_kernel: %s: --seed %llu --case %llu\n", why,
                    (unsigned long long)s->seed, (unsigned long long)index);
            code = 1;
        }
        if (now() - before > total.slowest_seconds) {
            total.slowest_seconds = now() - before;
            total.slowest = index;
        }
        if (s->has_case)
            break;
    }
    double seconds = now() - start;
    printf("%llu texts, %.1f MB, %llu refused as a whole; %llu of %llu kernels compiled; %.1f s, "
           "the slowest %.2f s (--case %llu)\n",
           (unsigned long long)total.cases, (double)total.bytes * 1e-6,
           (unsigned long long)total.refused, (unsigned long long)total.compiled,
           (unsigned long long)total.kernels, seconds, total.slowest_seconds,
           (unsigned long long)total.slowest);
    return code;
}

int main(int argc, char **argv)
{
    settings s;
    int files;
    given_files given;
    if (!read_settings(argc, argv, &s, &files)) {
        fprintf(stderr, "usage: dm-fuzz-kernel [--seed S] [--seconds T] [--cases N] [--case I] "
                        "[--dump FILE] [--cc] [FILE.py ...]\n");
        return 2;
    }
    maker m = {.text = malloc(TEXT_MAX + 1), .given = &given};
    if (m.text == NULL || !read_files(argv + files, argc - files, &given))
        return 2;
    signal(SIGVTALRM, death);
    signal(SIGABRT, death);
#ifndef __SANITIZE_ADDRESS__ /* which has a handler of its own, and aborts after it */
    static char other_stack[1 << 16];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_handler = death, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
#endif
    signal(SIGPIPE, SIG_IGN);
    int code = fuzz(&s, &m);
    for (unsigned i = 0; i < given.count; i++)
        free(given.bytes[i]);
    free((void *)given.bytes);
    free(given.sizes);
    free(m.text);
    return code;
}

#endif
