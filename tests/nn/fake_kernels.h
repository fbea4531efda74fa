/* SPDX-License-Identifier: MIT */
/* fake_kernels.h - the stand-in driver (fake_cuda.h) with every kernel of networks, none of which does anything: for
 * tests of the host's side. */
#ifndef DM_TESTS_NN_FAKE_KERNELS_H
#define DM_TESTS_NN_FAKE_KERNELS_H

#include "tests/device/fake_cuda.h"

/* And these other kernels. Products are the networks' own. Skips the test where there is no NVRTC. */
const fake_cuda *dm_test_fake_kernels(const char *const *others, size_t count);

#endif
