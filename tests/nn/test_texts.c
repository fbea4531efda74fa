/* SPDX-License-Identifier: MIT */
/* test_texts.c - what is written by hand in src/nn against the texts of kernels/nn and the
 * gradients that the compiler makes of them, for the plain operations and every set of vector
 * instructions. */
#include "tests/nn/text_case.h"

#include "tests/support/test.h"

static void each_table(void (*check)(dm_device *, dm_nn_exec *), bool plain)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:1", &device, err));
    if (plain)
        check(device, &(dm_nn_exec){.ops = &dm_nn_plain_f32, .type = DM_NN_F32});
    for (int i = 0; i < 3; i++)
        if (dm_nn_cpu_named(names[i]))
            check(device, &(dm_nn_exec){.ops = dm_nn_cpu_named(names[i]), .type = DM_NN_F32});
    dm_device_close(device);
}

static void activations_equal_their_texts(void **state)
{
    (void)state;
    each_table(text_case_activations, true);
}

static void losses_equal_their_texts(void **state)
{
    (void)state;
    each_table(text_case_losses, true);
}

static void adam_has_the_bits_of_its_text(void **state)
{
    (void)state;
    each_table(text_case_adam, false);
}

DM_TESTS("nn/texts", DM_TEST(activations_equal_their_texts), DM_TEST(losses_equal_their_texts),
         DM_TEST(adam_has_the_bits_of_its_text));
