/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "tests/support/test.h"

#include <string.h>

/* XXH3 of the empty input, seed 0, as xxHash's own documentation and tools give it. Cache names
 * outlive the program, so a change of the function has to show. */
static void known_answers(void **state)
{
    (void)state;
    assert_true(dm_hash64("", 0) == UINT64_C(0x2d06800538d394c2));
    char hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex(dm_hash128_of("", 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
}

static void hex_is_high_then_low_padded(void **state)
{
    (void)state;
    char hex[DM_HASH_HEX_SIZE];
    dm_hash128_hex((dm_hash128){.low = 0x1f, .high = 0xa}, hex);
    assert_string_equal(hex, "000000000000000a000000000000001f");
}

static void every_byte_counts(void **state)
{
    (void)state;
    unsigned char bytes[600] = {0};
    uint64_t plain = dm_hash64(bytes, sizeof bytes);
    dm_hash128 wide = dm_hash128_of(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        assert_false(dm_hash64(bytes, sizeof bytes) == plain);
        dm_hash128 h = dm_hash128_of(bytes, sizeof bytes);
        assert_false(h.low == wide.low && h.high == wide.high);
        bytes[i] = 0;
    }
    assert_true(dm_hash64(bytes, sizeof bytes) == plain);
    assert_false(dm_hash64(bytes, sizeof bytes - 1) == plain);
}

static dm_hash128 hash_two(const char *a, const char *b)
{
    dm_hasher *hasher = dm_hasher_create();
    assert_non_null(hasher);
    dm_hasher_text(hasher, a);
    dm_hasher_text(hasher, b);
    dm_hash128 h = dm_hasher_finish(hasher);
    dm_hasher_destroy(hasher);
    return h;
}

static void parts_do_not_run_together(void **state)
{
    (void)state;
    dm_hash128 a = hash_two("ab", "c"), b = hash_two("a", "bc"), c = hash_two("ab", "c");
    dm_hash128 d = hash_two("abc", ""), e = hash_two("", "abc");
    assert_memory_equal(&a, &c, sizeof a);
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &d, sizeof a);
    assert_memory_not_equal(&d, &e, sizeof a);
}

/* The documented form: each part after its length in 8 little-endian bytes. */
static void hasher_equals_the_flat_hash(void **state)
{
    (void)state;
    dm_hash128 flat = dm_hash128_of("\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c", 19);
    dm_hash128 parts = hash_two("ab", "c");
    assert_memory_equal(&flat, &parts, sizeof flat);
}

static void bytes_do_run_together(void **state)
{
    (void)state;
    char block[1500];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 7);
    dm_hash128 flat = dm_hash128_of(block, sizeof block);
    for (size_t cut = 0; cut <= sizeof block; cut += 250) {
        dm_hasher *hasher = dm_hasher_create();
        dm_hasher_bytes(hasher, block, cut);
        dm_hasher_bytes(hasher, block + cut, sizeof block - cut);
        dm_hash128 pieces = dm_hasher_finish(hasher);
        assert_memory_equal(&flat, &pieces, sizeof flat);
        dm_hasher_destroy(hasher);
    }
}

static void finish_can_be_asked_twice(void **state)
{
    (void)state;
    dm_hasher *hasher = dm_hasher_create();
    char block[1000];
    memset(block, 'z', sizeof block);
    dm_hasher_part(hasher, block, sizeof block);
    dm_hash128 a = dm_hasher_finish(hasher), b = dm_hasher_finish(hasher);
    assert_memory_equal(&a, &b, sizeof a);
    dm_hasher_part(hasher, NULL, 0); /* an empty part is a part */
    b = dm_hasher_finish(hasher);
    assert_memory_not_equal(&a, &b, sizeof a);
    dm_hasher_destroy(hasher);
    dm_hasher_destroy(NULL);
}

DM_TESTS("base/hash", DM_TEST(known_answers), DM_TEST(hex_is_high_then_low_padded),
         DM_TEST(every_byte_counts), DM_TEST(parts_do_not_run_together),
         DM_TEST(hasher_equals_the_flat_hash), DM_TEST(bytes_do_run_together),
         DM_TEST(finish_can_be_asked_twice))
