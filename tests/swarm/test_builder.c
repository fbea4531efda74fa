/* SPDX-License-Identifier: MIT */
/* The kernel text of each stage: sites replaced, compiled for every target, told apart. */
#include "device/cc.h"
#include "device/sources.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int setup(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    return 0;
}

static dm_swarm_variant variant_of(int stage)
{
    return (dm_swarm_variant){.stage = (dm_swarm_stage)stage,
                              .vector_size = DM_SWARM_VECTOR_DEFAULT};
}

static void sites_are_replaced(void **state)
{
    (void)state;
    const char *skeleton = dm_embedded_text("swarm/skeleton.h");
    assert_non_null(strstr(skeleton, "@INSTRUCTION_DISPATCH@"));
    assert_non_null(strstr(skeleton, "@POST_STEP_DISPATCH@"));
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        dm_swarm_variant variant = variant_of(stage);
        char *text = NULL;
        assert_ok(dm_swarm_variant_text(&variant, &text, err));
        assert_null(strchr(text, '@'));
        assert_non_null(strstr(text, dm_swarm_stage_name((dm_swarm_stage)stage)));
        free(text);
    }
}

static void bad_templates(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"int x;\n", "0 instruction and 0 post-step"},
        {"@INSTRUCTION_DISPATCH@\n", "1 instruction and 0 post-step"},
        {"@POST_STEP_DISPATCH@ @POST_STEP_DISPATCH@ @INSTRUCTION_DISPATCH@", "and 2 post-step"},
        {"@POST_STEP_DISPATCH@ @INSTRUCTION_DISPATCH@ @MORE@", "@MORE@ is left over"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_buffer out = DM_BUFFER_EMPTY;
        dm_error err = {0};
        dm_swarm_variant variant = variant_of(DM_SWARM_FULL_STEP);
        assert_int_equal(dm_swarm_compose(cases[i].text, &variant, &out, &err), DM_EINVAL);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s", i, err.message);
        dm_buffer_deinit(&out);
    }
    /* A site in the caller's text. */
    dm_swarm_variant variant = {
        .stage = DM_SWARM_FULL_STEP, .vector_size = 32, .epilog = "*reward = @WHAT@;"};
    char *text = NULL;
    dm_error err = {0};
    assert_int_equal(dm_swarm_variant_text(&variant, &text, &err), DM_EINVAL);
    assert_null(text);
    assert_non_null(strstr(err.message, "@WHAT@"));
    variant = (dm_swarm_variant){.stage = (dm_swarm_stage)17, .vector_size = 32};
    assert_int_equal(dm_swarm_variant_text(&variant, &text, &err), DM_EINVAL);
    variant = (dm_swarm_variant){.stage = DM_SWARM_FULL_STEP, .vector_size = 0};
    assert_int_equal(dm_swarm_variant_text(&variant, &text, &err), DM_EINVAL);
}

/* Stage, vector size, epilog and tuning each give another key. */
static void keys_differ(void **state)
{
    (void)state;
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:1", &device, err));
    static const dm_swarm_variant variants[] = {
        {.stage = DM_SWARM_FULL_STEP, .vector_size = 32},
        {.stage = DM_SWARM_EMULATE_ONLY, .vector_size = 32},
        {.stage = DM_SWARM_REWARD_ONLY, .vector_size = 32},
        {.stage = DM_SWARM_OBS_ONLY, .vector_size = 32},
        {.stage = DM_SWARM_FULL_STEP, .vector_size = 16},
        {.stage = DM_SWARM_FULL_STEP, .vector_size = 32, .epilog = "*reward = 1.0f;"},
        {.stage = DM_SWARM_FULL_STEP, .vector_size = 32, .epilog = "*reward = 2.0f;"}};
    enum { COUNT = sizeof variants / sizeof variants[0] };
    dm_hash128 keys[COUNT + 1];
    for (int i = 0; i <= COUNT; i++) {
        const dm_swarm_variant *v = &variants[i < COUNT ? i : 0];
        const dm_swarm_tuning tuning = {i < COUNT ? 0 : 64, 0, 0};
        char *text = NULL;
        assert_ok(dm_swarm_variant_text(v, &text, err));
        keys[i] = dm_swarm_variant_key(device, v, &tuning, text);
        free(text);
        for (int j = 0; j < i; j++)
            assert_true(keys[i].low != keys[j].low || keys[i].high != keys[j].high);
    }
    dm_device_close(device);
}

/* The compiler really runs, in a cache of its own, but on the machine's small loop and without
 * optimising: test_kernels.c compiles the kernels as they are used. */
static void warm_up_compiles_one_variant(void **state)
{
    (void)state;
    dm_cc cc;
    dm_error err = {0};
    if (dm_cc_find(&cc, &err) != DM_OK)
        dm_test_skip("%s", err.message);
    dm_device *device = NULL;
    setenv("DM_CFLAGS", "-O0 -DDM_GB_SMALL_LOOP=1", 1);
    assert_ok(dm_device_open("cpu:1", &device, err));
    dm_swarm_rom_source rom = dm_case_rom("ALU_LOOP");
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = 3,
                          .stage = DM_SWARM_REWARD_ONLY,
                          .epilog = "*reward = 0.5f;"};
    assert_ok(dm_swarm_warm_up(device, &desc, err));
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    assert_true(dm_swarm_get_info(swarm).kernels_were_cached);
    /* Another swarm shares it; another epilog is another kernel. */
    dm_swarm *second = dm_case_swarm(device, &desc);
    assert_true(second->kernels.entry == swarm->kernels.entry);
    dm_swarm_destroy(second);
    desc.epilog = NULL;
    second = dm_case_swarm(device, &desc);
    assert_string_not_equal(dm_swarm_get_info(second).kernel_key,
                            dm_swarm_get_info(swarm).kernel_key);
    dm_swarm_destroy(second);
    /* The epilog's reward, and nobody else's, arrives. */
    float rewards[3] = {0};
    dm_case_step(swarm, 1);
    assert_ok(dm_swarm_download(swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
    assert_true(rewards[0] == 0.5f && rewards[2] == 0.5f);
    dm_swarm_destroy(swarm);
    dm_device_close(device);
    unsetenv("DM_CFLAGS");
}

#define BUILDER_TEST(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, setup, dm_test_dir_teardown)
DM_TESTS("swarm/builder", BUILDER_TEST(sites_are_replaced), BUILDER_TEST(bad_templates),
         BUILDER_TEST(keys_differ), BUILDER_TEST(warm_up_compiles_one_variant));
