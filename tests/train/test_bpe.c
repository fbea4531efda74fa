/* SPDX-License-Identifier: MIT */
/* Byte-pair encoding: words and merges on a small table, and GPT-2's vocabulary where it is in the
 * cache folder (dotmatrix train data). */
#include "base/file.h"
#include "base/philox.h"
#include "tests/support/test.h"
#include "train/data/bpe.h"

#include <stdio.h>
#include <stdlib.h>

/* GPT-2's order of bytes: '!' is token 0, 'a' is 64; the space is written as U+0120. */
#define A 64
static const char merges[] = "#version: 0.2\na b\nab c\nb c\na a\n\xc4\xa0 a\n";
enum { AB = 256, ABC, BC, AA, SPACE_A };

static void words_end_as_in_gpt2(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words; /* '|' between words */
    } cases[] = {
        {"Hello world", "Hello| world"},
        {"we'll don't I'm you've they're he'd it's",
         "we|'ll| don|'t| I|'m| you|'ve| they|'re| he|'d| it|'s"},
        {"'S 'x", "'|S| '|x"},
        {"abc123 456", "abc|123| 456"},
        {"a  b", "a| | b"},
        {"a   ", "a|   "},
        {"a\n\nb", "a|\n|\n|b"},
        {"a \n b", "a| \n| b"},
        {" !?x", " !?|x"},
        {"\xc3\xa9t\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87",
         "\xc3\xa9t\xc3\xa9| \xe4\xb8\xad\xe6\x96\x87"},
        {"x\xc2\xb2y", "x|\xc2\xb2|y"},                  /* superscript two is a number */
        {"a\xc2\xa0\xc2\xa0z", "a|\xc2\xa0|\xc2\xa0|z"}, /* no-break spaces */
        {"a\xff\xfe"
         "b",
         "a|\xff\xfe|b"},                    /* not UTF-8 */
        {"\xe4\xb8", "\xe4\xb8"},            /* cut off */
        {"\xed\xa0\x80x", "\xed\xa0\x80|x"}, /* a surrogate */
        {"\xc0\xaf", "\xc0\xaf"},            /* longer than needed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[256];
        size_t out = 0, size = strlen(cases[i].text);
        for (size_t at = 0; at < size;) {
            size_t end = dm_bpe_word_end(cases[i].text, size, at);
            assert_true(end > at && end <= size);
            if (at > 0)
                got[out++] = '|';
            memcpy(got + out, cases[i].text + at, end - at);
            out += end - at;
            at = end;
        }
        got[out] = 0;
        assert_string_equal(got, cases[i].words);
    }
}

static void merges_are_applied_in_their_order(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        uint16_t tokens[6];
    } cases[] = {
        {"abc", 1, {ABC}},         {"bc", 1, {BC}},           {"aab", 2, {A, AB}},
        {"aaa", 2, {AA, A}},       {"aaaa", 2, {AA, AA}},     {"abcbc", 2, {ABC, BC}},
        {"a ab", 3, {A, 220, AB}}, {"c a", 2, {66, SPACE_A}}, {"", 0, {0}},
    };
    dm_bpe *bpe = NULL;
    assert_ok(dm_bpe_create(merges, sizeof merges - 1, "merges", &bpe, err));
    assert_int_equal(dm_bpe_vocabulary(bpe), 262);
    assert_int_equal(dm_bpe_end_of_text(bpe), 261);
    for (int pass = 0; pass < 2; pass++) /* the second from the cache */
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            dm_buffer tokens = DM_BUFFER_EMPTY;
            assert_ok(dm_bpe_encode(bpe, cases[i].text, strlen(cases[i].text), &tokens, err));
            assert_int_equal(tokens.size, 2 * cases[i].count);
            assert_memory_equal(tokens.data ? tokens.data : "", cases[i].tokens, tokens.size);
            dm_buffer_deinit(&tokens);
        }
    dm_bpe_destroy(bpe);
}

static void bad_merges_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
        int line;
    } cases[] = {
        {"a b\nab\n", "no two tokens", 2},
        {"ab c\n", "first part is no token", 1},
        {"a b\na cd\n", "second part", 2},
        {"a b\na b\n", "exists already", 2},
        {"a \xe4\xb8\xad\n", "second part", 1},
        {" b\n", "first part", 1},
        {"a b\nb c\nab c\na bc\n", "exists already", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_error err = {0};
        dm_bpe *bpe = NULL;
        assert_int_equal(dm_bpe_create(cases[i].text, strlen(cases[i].text), "m", &bpe, &err),
                         DM_EFORMAT);
        assert_non_null(strstr(err.message, cases[i].what));
        assert_int_equal(err.line, cases[i].line);
    }
}

/* What merging is by definition: join all occurrences of the earliest pair, left to right. */
static size_t plain_merge(uint16_t *t, size_t n)
{
    static const uint16_t rules[][2] = {{A, A + 1}, {AB, A + 2}, {A + 1, A + 2}, {A, A}};
    for (;;) {
        size_t best = 4;
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t r = 0; r < best; r++)
                if (t[i] == rules[r][0] && t[i + 1] == rules[r][1])
                    best = r;
        if (best == 4)
            return n;
        size_t out = 0;
        for (size_t i = 0; i < n; i++) {
            if (i + 1 < n && t[i] == rules[best][0] && t[i + 1] == rules[best][1]) {
                t[out++] = (uint16_t)(256 + best);
                i++;
            } else {
                t[out++] = t[i];
            }
        }
        n = out;
    }
}

static void long_words_equal_the_definition(void **state)
{
    (void)state;
    dm_bpe *bpe = NULL;
    assert_ok(dm_bpe_create(merges, sizeof merges - 1, "merges", &bpe, err));
    for (uint64_t i = 0; i < 300; i++) {
        char word[400];
        uint16_t plain[400];
        size_t size = 1 + dm_random_below(dm_random4(1, i, 999).v[0], 399);
        for (size_t j = 0; j < size; j++) {
            word[j] = (char)('a' + dm_random_below(dm_random4(1, i, j).v[0], 3));
            plain[j] = (uint16_t)(A + word[j] - 'a');
        }
        size_t count = plain_merge(plain, size);
        dm_buffer tokens = DM_BUFFER_EMPTY, text = DM_BUFFER_EMPTY;
        assert_ok(dm_bpe_encode(bpe, word, size, &tokens, err));
        assert_int_equal(tokens.size, 2 * count);
        assert_memory_equal(tokens.data, plain, tokens.size);
        assert_ok(
            dm_bpe_decode(bpe, (const uint16_t *)(const void *)tokens.data, count, &text, err));
        assert_int_equal(text.size, size);
        assert_memory_equal(text.data, word, size);
        dm_buffer_deinit(&tokens);
        dm_buffer_deinit(&text);
    }
    const uint16_t outside = 262;
    dm_buffer text = DM_BUFFER_EMPTY;
    assert_int_equal(dm_bpe_decode(bpe, &outside, 1, &text, NULL), DM_EINVAL);
    dm_buffer_deinit(&text);
    dm_bpe_destroy(bpe);
}

static dm_bpe *gpt2(void)
{
    char cache[DM_PATH_MAX], folder[DM_PATH_MAX], file[DM_PATH_MAX];
    dm_bpe *bpe = NULL;
    assert_ok(dm_path_cache(cache, err));
    assert_ok(dm_path_join(folder, cache, "data/gpt2", err));
    assert_ok(dm_path_join(file, folder, "vocab.bpe", err));
    if (!dm_file_exists(file))
        return NULL;
    assert_ok(dm_bpe_load(folder, &bpe, err));
    return bpe;
}

static void random_bytes_decode_to_themselves(void **state)
{
    (void)state;
    dm_bpe *bpe = gpt2();
    if (bpe == NULL)
        dm_test_skip("GPT-2's vocabulary is not in the cache folder (dotmatrix train data)");
    assert_int_equal(dm_bpe_vocabulary(bpe), 50257);
    for (uint64_t i = 0; i < 200; i++) {
        char bytes[500];
        dm_buffer tokens = DM_BUFFER_EMPTY, text = DM_BUFFER_EMPTY;
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (char)dm_random4(2, i, j).v[0];
        assert_ok(dm_bpe_encode(bpe, bytes, sizeof bytes, &tokens, err));
        assert_ok(dm_bpe_decode(bpe, (const uint16_t *)(const void *)tokens.data, tokens.size / 2,
                                &text, err));
        assert_int_equal(text.size, sizeof bytes);
        assert_memory_equal(text.data, bytes, sizeof bytes);
        dm_buffer_deinit(&tokens);
        dm_buffer_deinit(&text);
    }
    dm_bpe_destroy(bpe);
}

static void tinyshakespeare_has_338025_tokens(void **state)
{
    (void)state;
    char path[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_bpe *bpe = gpt2();
    if (bpe == NULL)
        dm_test_skip("GPT-2's vocabulary is not in the cache folder (dotmatrix train data)");
    assert_ok(dm_path_join(path, dm_test_source_root(), "../shared/data/tinyshakespeare.txt", err));
    if (!dm_file_exists(path)) {
        dm_bpe_destroy(bpe);
        dm_test_skip("no tinyshakespeare.txt in the shared data");
    }
    dm_buffer tokens = DM_BUFFER_EMPTY;
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    assert_ok(dm_bpe_encode(bpe, text, size, &tokens, err));
    assert_int_equal(tokens.size / 2, 338025);
    dm_buffer_deinit(&tokens);
    free(text);
    dm_bpe_destroy(bpe);
}

DM_TESTS("train/bpe", DM_TEST(words_end_as_in_gpt2), DM_TEST(merges_are_applied_in_their_order),
         DM_TEST(bad_merges_are_refused), DM_TEST(long_words_equal_the_definition),
         DM_TEST(random_bytes_decode_to_themselves), DM_TEST(tinyshakespeare_has_338025_tokens))
