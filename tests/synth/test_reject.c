/* SPDX-License-Identifier: MIT */
/* Programs broken on purpose: every way finds a place, the compiler refuses the result. */
#include "synth/check/reject.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const char text[] = "import warp as wp\n"
                           "\n"
                           "\n"
                           "@wp.struct\n"
                           "class Body:\n"
                           "    place: wp.vec3\n"
                           "    weight: float\n"
                           "\n"
                           "\n"
                           "@wp.func\n"
                           "def blend(first: float, second: float):\n"
                           "    return first * 0.25 + second\n"
                           "\n"
                           "\n"
                           "@wp.kernel\n"
                           "def push(body: wp.array(dtype=Body), speed: wp.array(dtype=wp.vec3), "
                           "limit: float, out: wp.array(dtype=float)):\n"
                           "    \"\"\"A docstring: (with brackets.\"\"\"\n"
                           "    index = wp.tid()\n"
                           "    one = body[index]  # a comment with speed\n"
                           "    total = float(0.0)\n"
                           "    for k in range(3):\n"
                           "        total += wp.max(one.weight, limit) * 2.0\n"
                           "    if total > limit:\n"
                           "        total = blend(total, limit) + limit * total\n"
                           "    out[index] = total + wp.dot(one.place, speed[index])\n";

static void fill(dm_synth_record *r)
{
    dm_synth_record_init(r);
    snprintf(r->id, sizeof r->id, "1-7");
    snprintf(r->kernel_name, sizeof r->kernel_name, "push");
    r->category = DM_SYNTH_STRUCT;
    dm_buffer_puts(&r->python_source, text);
}

static void the_text_is_good(void **state)
{
    (void)state;
    dm_synth_record r;
    dm_buffer said = DM_BUFFER_EMPTY;
    bool compiles;
    fill(&r);
    assert_ok(dm_synth_diagnose(&r, &said, &compiles, err));
    if (!compiles)
        fail_msg("%s", said.data);
    assert_int_equal(said.size, 0);
    dm_buffer_deinit(&said);
    dm_synth_record_deinit(&r);
}

/* Every way fits somewhere in this text, and the compiler finds what it did, most of the time. */
static void every_way_breaks(void **state)
{
    (void)state;
    for (int way = 0; dm_synth_breakage(way) != NULL; way++) {
        int refused = 0;
        for (uint64_t seed = 0; seed < 16; seed++) {
            dm_synth_record r;
            dm_buffer said = DM_BUFFER_EMPTY;
            bool compiles;
            fill(&r);
            dm_buffer_clear(&r.python_source);
            if (!dm_synth_break(text, sizeof text - 1, way, seed, &r.python_source))
                fail_msg("%s fits nowhere", dm_synth_breakage(way));
            assert_string_not_equal(r.python_source.data, text);
            assert_ok(dm_synth_diagnose(&r, &said, &compiles, err));
            refused += !compiles;
            if (!compiles)
                assert_non_null(strstr(said.data, "kernel.py:"));
            dm_buffer_deinit(&said);
            dm_synth_record_deinit(&r);
        }
        if (refused < 4)
            fail_msg("%s: only %d of 16 are refused", dm_synth_breakage(way), refused);
    }
}

static void the_same_seed_the_same_program(void **state)
{
    (void)state;
    dm_synth_record pair, a, b;
    bool made;
    int different = 0;
    fill(&pair);
    dm_synth_record_init(&a);
    dm_synth_record_init(&b);
    for (uint64_t seed = 0; seed < 20; seed++) {
        assert_ok(dm_synth_reject(&pair, seed, &a, &made, err));
        assert_true(made);
        assert_ok(dm_synth_reject(&pair, seed, &b, &made, err));
        assert_string_equal(a.python_source.data, b.python_source.data);
        assert_string_equal(a.diagnostics.data, b.diagnostics.data);
        assert_int_equal(a.kind, DM_SYNTH_REJECTED);
        assert_string_equal(a.id, "1-7r");
        assert_int_equal(a.category, DM_SYNTH_STRUCT);
        assert_ok(dm_synth_reject(&pair, seed + 100, &b, &made, err));
        different += strcmp(a.python_source.data, b.python_source.data) != 0;
    }
    assert_true(different > 10);
    dm_synth_record_deinit(&pair);
    dm_synth_record_deinit(&a);
    dm_synth_record_deinit(&b);
}

static void what_cannot_be_broken(void **state)
{
    (void)state;
    dm_synth_record pair, out;
    bool made = true;
    dm_synth_record_init(&pair);
    dm_synth_record_init(&out);
    assert_ok(dm_synth_reject(&pair, 1, &out, &made, err));
    assert_false(made);
    dm_synth_record_deinit(&pair);
    dm_synth_record_deinit(&out);
}

DM_TESTS("synth/reject", DM_TEST(the_text_is_good), DM_TEST(every_way_breaks),
         DM_TEST(the_same_seed_the_same_program), DM_TEST(what_cannot_be_broken))
