/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "tests/support/test.h"

#include <string.h>

static void zeroed_aligned_and_apart(void **state)
{
    (void)state;
    dm_arena arena;
    dm_arena_init(&arena, 0);
    for (int round = 0; round < 2; round++) {
        unsigned char *previous = NULL;
        size_t previous_size = 0;
        for (size_t size = 0; size < 2000; size++) {
            unsigned char *p = dm_arena_alloc(&arena, size);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xA5, size);
            /* the neighbour was not touched */
            for (size_t i = 0; previous != NULL && i < previous_size; i++)
                assert_int_equal(previous[i], 0xA5);
            previous = p;
            previous_size = size;
        }
        dm_arena_reset(&arena); /* the second round gets used memory, zeroed again */
    }
    dm_arena_deinit(&arena);
}

static void everything_stays_valid(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static uint32_t *pointers[COUNT];
    dm_arena arena;
    dm_arena_init(&arena, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        pointers[i] = dm_arena_alloc_array(&arena, 25, sizeof(uint32_t));
        for (int j = 0; j < 25; j++)
            pointers[i][j] = i;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        for (int j = 0; j < 25; j++)
            assert_int_equal(pointers[i][j], i);
    assert_true(arena.used >= COUNT * 100);
    dm_arena_deinit(&arena);
    assert_int_equal(arena.used, 0);
}

static void limit_is_kept(void **state)
{
    (void)state;
    dm_arena arena;
    dm_arena_init(&arena, 1024);
    assert_null(dm_arena_alloc(&arena, 1025));
    assert_non_null(dm_arena_alloc(&arena, 1000)); /* 1008 with padding */
    assert_null(dm_arena_alloc(&arena, 17));
    assert_non_null(dm_arena_alloc(&arena, 16));
    assert_int_equal(arena.used, 1024);
    assert_null(dm_arena_alloc(&arena, 1));
    assert_null(dm_arena_strndup(&arena, "", 0));
    dm_arena_reset(&arena);
    assert_non_null(dm_arena_alloc(&arena, 1024));
    dm_arena_deinit(&arena);
}

static void huge_sizes_give_null(void **state)
{
    (void)state;
    dm_arena arena;
    dm_arena_init(&arena, 0);
    assert_non_null(dm_arena_alloc(&arena, 10));
    size_t used = arena.used;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 15, SIZE_MAX - 40,
                                   SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_null(dm_arena_alloc(&arena, sizes[i]));
        assert_null(dm_arena_strndup(&arena, "x", sizes[i]));
    }
    assert_null(dm_arena_alloc_array(&arena, SIZE_MAX / 2 + 1, 2)); /* would wrap to 0 */
    assert_null(dm_arena_alloc_array(&arena, SIZE_MAX / 4 + 2, 4)); /* would wrap to 4 */
    assert_null(dm_arena_alloc_array(&arena, 3, SIZE_MAX / 2));
    assert_int_equal(arena.used, used);
    assert_non_null(dm_arena_alloc(&arena, 10)); /* and the arena is still good */
    dm_arena_deinit(&arena);
}

static void a_large_one_gets_its_chunk(void **state)
{
    (void)state;
    dm_arena arena;
    dm_arena_init(&arena, 0);
    char *small = dm_arena_alloc(&arena, 10);
    size_t size = (size_t)5 << 20;
    char *large = dm_arena_alloc(&arena, size);
    assert_non_null(large);
    memset(large, 1, size);
    memset(small, 2, 10);
    /* reset keeps the large chunk: the next large allocation is the same memory */
    assert_non_null(dm_arena_alloc(&arena, 1 << 20));
    dm_arena_reset(&arena);
    assert_int_equal(arena.used, 0);
    assert_ptr_equal(dm_arena_alloc(&arena, size), large);
    dm_arena_deinit(&arena);
}

static void strndup_copies_exactly(void **state)
{
    (void)state;
    dm_arena arena;
    dm_arena_init(&arena, 0);
    assert_string_equal(dm_arena_strndup(&arena, "kernel", 3), "ker");
    assert_memory_equal(dm_arena_strndup(&arena, "a\0b", 3), "a\0b\0", 4);
    assert_string_equal(dm_arena_strndup(&arena, NULL, 0), "");
    dm_arena_deinit(&arena);
}

static void empty_arena_can_be_reset_and_ended(void **state)
{
    (void)state;
    dm_arena arena;
    dm_arena_init(&arena, 0);
    dm_arena_reset(&arena);
    dm_arena_deinit(&arena);
    dm_arena_deinit(&arena);
}

DM_TESTS("base/arena", DM_TEST(zeroed_aligned_and_apart), DM_TEST(everything_stays_valid),
         DM_TEST(limit_is_kept), DM_TEST(huge_sizes_give_null), DM_TEST(a_large_one_gets_its_chunk),
         DM_TEST(strndup_copies_exactly), DM_TEST(empty_arena_can_be_reset_and_ended))
