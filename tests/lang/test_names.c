/* SPDX-License-Identifier: MIT */
/* Names of a program that C, CUDA or the text itself uses are changed: every reserved word and every
 * identifier that our kernels' texts hold is tried as a variable, a function, a struct, a field, a
 * parameter. */
#include "base/file.h"
#include "tests/lang/kernel_text.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 4000

typedef struct names {
    char *items[NAMES_MAX];
    size_t count;
} names;

/* Names that Python or the kernels below have for themselves. */
static const char *const spared[] = {
    "k",     "S",      "wp",   "i",      "x",      "y",        "p",     "s",     "v",
    "a",     "b",      "len",  "range",  "float",  "int",      "bool",  "False", "None",
    "True",  "and",    "as",   "assert", "async",  "await",    "break", "class", "continue",
    "def",   "del",    "elif", "else",   "except", "finally",  "for",   "from",  "global",
    "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",   "or",    "pass",
    "raise", "return", "try",  "while",  "with",   "yield"};

static void add_name(names *n, const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof spared / sizeof spared[0]; i++)
        if (strlen(spared[i]) == length && memcmp(spared[i], text, length) == 0)
            return;
    for (size_t i = 0; i < n->count; i++)
        if (strlen(n->items[i]) == length && memcmp(n->items[i], text, length) == 0)
            return;
    assert_true(n->count < NAMES_MAX);
    n->items[n->count++] = strndup(text, length);
}

static void add_reserved(names *n)
{
    static const char *const lists[] = {
#define RESERVED(from, words) words,
#include "lang/emit/reserved.def"
#undef RESERVED
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const char *at = lists[i]; *at != '\0'; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            add_name(n, at, length);
            at += length;
        }
}

/* The identifiers of a text, without those in comments and strings. */
static void add_identifiers(names *n, const char *at)
{
    while (*at != '\0') {
        if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end == NULL ? at + strlen(at) : end + 2;
        } else if (*at == '"') {
            for (at++; *at != '\0' && *at != '"'; at++)
                at += *at == '\\';
            at += *at == '"';
        } else if (isalpha((unsigned char)*at) || *at == '_') {
            size_t length = 1;
            while (isalnum((unsigned char)at[length]) || at[length] == '_')
                length++;
            add_name(n, at, length);
            at += length;
        } else if (isdigit((unsigned char)*at)) {
            while (isalnum((unsigned char)*at) || *at == '.')
                at++;
        } else {
            at++;
        }
    }
}

static void add_texts(names *n)
{
    static const char *const files[] = {"saxpy",  "springs", "rotations", "frames", "matrices",
                                        "chance", "heat",    "shapes",    "loops"};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        char path[DM_PATH_MAX], *source;
        size_t size;
        snprintf(path, sizeof path, "%s/kernels/%s.py", dm_test_source_root(), files[f]);
        assert_ok(dm_file_read(path, DM_LANG_SOURCE_MAX, &source, &size, err));
        for (int form = 0; form < 3; form++) {
            dm_compilation c;
            dm_compile_options options = {.bounds = form == 2};
            dm_buffer text = DM_BUFFER_EMPTY;
            assert_ok(dm_compilation_init(&c, path, source, size, &options, err));
            for (int i = 0; i < c.kernel_count; i++)
                assert_ok(dm_compilation_kernel(&c, i, err));
            assert_ok(
                dm_compilation_print_all(&c, form == 1 ? DM_TARGET_CUDA : DM_TARGET_C, &text, err));
            add_identifiers(n, dm_buffer_text(&text));
            dm_buffer_deinit(&text);
            dm_compilation_deinit(&c);
        }
        free(source);
    }
}

#define HEAD "import warp as wp\n"
#define ARRAY "wp.array(dtype=float)"
#define KERNEL                                                                                     \
    "@wp.kernel\ndef k(x: " ARRAY ", y: " ARRAY "):\n    i = wp.tid()\n    p = wp.vec3(x[i])\n"    \
    "    s = wp.length(p) + wp.min(x[i], 2.0) + wp.sin(x[i])\n"

/* `form` with every '#' replaced by a name and every '$' by its number, for the names from..to-1. */
static void put_each(dm_buffer *out, const names *n, size_t from, size_t to, const char *form)
{
    for (size_t i = from; i < to; i++)
        for (const char *at = form; *at != '\0'; at++) {
            if (*at == '#')
                dm_buffer_puts(out, n->items[i]);
            else if (*at == '$')
                dm_buffer_printf(out, "%zu", i + 1);
            else
                dm_buffer_putc(out, *at);
        }
}

static void compiles(void **state, dm_buffer *source)
{
    dm_buffer_putc(source, '\0');
    assert_false(source->failed);
    dm_test_compiles(state, source->data, false);
    dm_buffer_deinit(source);
}

/* Each kind of thing: what stands before and behind, and what each name gives. */
static const struct {
    const char *head, *each, *middle, *each_again, *end;
} kinds[] = {
    {KERNEL, "    # = x[i] * $.0\n    y[$] = # * s\n", "", "", ""},
    {"", "@wp.func\ndef #(a: float, b: float):\n    return a * b * $.0\n", KERNEL,
     "    y[$] = #(x[i], s)\n", ""},
    {"@wp.struct\nclass S:\n", "    #: float\n",
     "@wp.kernel\ndef k(a: wp.array(dtype=S), y: " ARRAY "):\n    i = wp.tid()\n    v = a[i]\n",
     "    y[$] = v.# * a[i].#\n    a[i].# = y[0]\n", ""},
    {"", "@wp.struct\nclass #:\n    a: float\n",
     "@wp.kernel\ndef k(x: " ARRAY ", y: " ARRAY "):\n    i = wp.tid()\n",
     "    p$ = #(x[$])\n    y[$] = p$.a\n", ""},
    {"@wp.kernel\ndef k(y: " ARRAY, ", #: float", "):\n    i = wp.tid()\n", "    y[$] = # * #\n",
     ""},
};

static void every_word_as_every_thing(void **state)
{
    enum { SOME = 400 }; /* in one text */
    static names n;
    add_reserved(&n);
    assert_true(n.count > 800);
    add_texts(&n);
    assert_true(n.count > 1000);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t from = 0; from < n.count; from += SOME) {
            size_t to = from + SOME < n.count ? from + SOME : n.count;
            dm_buffer out = DM_BUFFER_EMPTY;
            dm_buffer_puts(&out, HEAD);
            dm_buffer_puts(&out, kinds[i].head);
            put_each(&out, &n, from, to, kinds[i].each);
            dm_buffer_puts(&out, kinds[i].middle);
            put_each(&out, &n, from, to, kinds[i].each_again);
            dm_buffer_puts(&out, kinds[i].end);
            compiles(state, &out);
        }
    for (size_t i = 0; i < n.count; i++)
        free(n.items[i]);
}

/* Names that the text makes of others. */
static void made_names(void **state)
{
    static const char *const sources[] = {
        /* entry points, the argument block, what one thread does */
        HEAD "@wp.struct\nclass k_args:\n    a: float\n"
             "@wp.func\ndef k_forward(a: float):\n    return a * a\n"
             "@wp.func\ndef k_backward(a: float):\n    return a + a\n"
             "@wp.func\ndef k_forward_task(a: float):\n    return a + a\n"
             "@wp.func\ndef k_forward_args_size(a: float):\n    return a + a\n"
             "@wp.func\ndef adj_k_forward(a: float):\n    return a * 3.0\n"
             "@wp.kernel\ndef k(x: wp.array(dtype=k_args), y: " ARRAY "):\n    i = wp.tid()\n"
             "    y[i] = k_forward(x[i].a) + k_backward(x[i].a) * k_forward_task(x[i].a)\n"
             "    y[i] = y[i] + k_forward_args_size(y[i]) + adj_k_forward(x[i].a)\n",
        /* helpers of a struct, of arrays and of builtins */
        HEAD "@wp.struct\nclass P:\n    a: float\n    b: wp.vec3\n"
             "@wp.struct\nclass P_zero:\n    a: float\n"
             "@wp.struct\nclass vec3f:\n    a: float\n"
             "@wp.func\ndef P_make(a: float):\n    return P(a, wp.vec3(a))\n"
             "@wp.func\ndef array1_P_at(a: float):\n    return a * a\n"
             "@wp.kernel\ndef k(x: wp.array(dtype=P), q: wp.array(dtype=P_zero), "
             "w: wp.array(dtype=vec3f), y: " ARRAY "):\n    i = wp.tid()\n"
             "    length_vec3f = P_make(x[i].a)\n    atomic_add_f32 = array1_P_at(x[i].a)\n"
             "    array1_f32_at = wp.length(length_vec3f.b) + q[i].a + w[i].a\n"
             "    x[i] = length_vec3f\n    y[i] += array1_f32_at * atomic_add_f32\n",
        /* a variable called like the builtin that gives it, like ones that the text numbers */
        HEAD "@wp.kernel\ndef k(x: " ARRAY ", y: " ARRAY
             "):\n    tid0 = wp.tid()\n    t = x[tid0]\n"
             "    t_1 = t * t\n    smoothstep = wp.smoothstep(0.0, 1.0, t_1)\n"
             "    sin = wp.sin(smoothstep)\n    adj_sin = sin * t\n    adj_t = adj_sin * t_1\n"
             "    next_t = adj_t\n    for j in range(x.shape[0]):\n        next_t = adj_t * x[j]\n"
             "        adj_t = next_t + t\n    y[tid0] = adj_t * next_t\n",
        /* letters beyond ASCII */
        HEAD "@wp.struct\nclass Größe:\n    länge: float\n"
             "@wp.func\ndef größer(ä: float):\n    return ä * ä\n"
             "@wp.kernel\ndef k(x: wp.array(dtype=Größe), y: " ARRAY "):\n    i = wp.tid()\n"
             "    λ = größer(x[i].länge)\n    y[i] = λ\n",
        /* the adjoint of a parameter, set in branches and loops */
        HEAD "@wp.func\ndef f(x: float, n: int):\n    return x * x\n"
             "@wp.func_grad(f)\ndef f_grad(x: float, n: int, adj_ret: float):\n"
             "    if n > 0:\n        wp.adjoint[x] += 2.0 * x * adj_ret\n"
             "    else:\n        for j in range(n):\n            wp.adjoint[x] += adj_ret\n"
             "    k = int(0)\n    while k < n:\n        if k == 2:\n            break\n"
             "        wp.adjoint[x] += 0.5 * adj_ret\n        k += 1\n"
             "@wp.kernel\ndef k(x: " ARRAY ", y: " ARRAY ", n: int):\n    i = wp.tid()\n"
             "    y[i] = f(x[i], n)\n",
        /* kernels that share a struct, a function and helpers */
        HEAD "@wp.struct\nclass P:\n    a: float\n    v: wp.vec3\n"
             "@wp.func\ndef square(p: P):\n    return p.a * p.a\n"
             "@wp.kernel\ndef first(x: wp.array(dtype=P), y: " ARRAY "):\n    i = wp.tid()\n"
             "    y[i] = square(x[i])\n"
             "@wp.kernel\ndef second(x: wp.array(dtype=P), y: " ARRAY "):\n    i = wp.tid()\n"
             "    y[i] = square(x[i]) + wp.length(x[i].v)\n"
             "def outer():\n    @wp.kernel\n    def first(y: " ARRAY
             "):\n        y[wp.tid()] = 1.0\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        dm_test_compiles(state, sources[i], true);
}

DM_TESTS("lang/names", DM_TEST_IN_DIR(every_word_as_every_thing), DM_TEST_IN_DIR(made_names))
