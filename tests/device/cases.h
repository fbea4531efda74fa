/* SPDX-License-Identifier: MIT */
/* cases.h - tests that every device must pass; test_cpu.c and test_gpu.c run them on theirs. Each
 * takes an open device and fails by cmocka's assertions. */
#ifndef DM_TESTS_DEVICE_CASES_H
#define DM_TESTS_DEVICE_CASES_H

#include "tests/support/test.h"

#include <dotmatrix/device.h>

/* Same results as plain C on the host, random inputs, sizes around block edges. */
void dm_case_saxpy(dm_device *device);
void dm_case_philox(dm_device *device);
void dm_case_hash(dm_device *device);
void dm_case_selftest(dm_device *device);
void dm_case_port(dm_device *device);

/* Copies and fills touch exactly the bytes they name; wrong ranges touch nothing. */
void dm_case_slices(dm_device *device);
void dm_case_ranges(dm_device *device);
void dm_case_import_buffer(dm_device *device);
void dm_case_host_memory(dm_device *device);

void dm_case_streams(dm_device *device);
void dm_case_events(dm_device *device);

/* Modules: headers, defines, messages, cache. */
void dm_case_headers_and_defines(dm_device *device);
void dm_case_bad_text(dm_device *device);
void dm_case_bad_header(dm_device *device);
void dm_case_unknown_names(dm_device *device);
void dm_case_bad_launch(dm_device *device);
void dm_case_cache(dm_device *device);
/* Several threads use one device, module and function at once. */
void dm_case_threads(dm_device *device);

/* All of these, for a file that makes tests of them: X(saxpy) X(philox) ... */
/* clang-format off */
#define DM_DEVICE_CASES(X)                                                                         \
    X(saxpy) X(philox) X(hash) X(selftest) X(port)                                                 \
    X(slices) X(ranges) X(import_buffer) X(host_memory)                                            \
    X(streams) X(events)                                                                           \
    X(headers_and_defines) X(bad_text) X(bad_header) X(unknown_names) X(bad_launch) X(cache)       \
    X(threads)
/* clang-format on */

void dm_case_object_outlives_close(const char *id);

/* What the tests call often. */
dm_device_buffer *dm_case_buffer(dm_device *device, size_t size);
void dm_case_upload(dm_device *device, dm_device_buffer *to, const void *from, size_t size);
void dm_case_download(dm_device *device, dm_device_buffer *from, void *to, size_t size);

#endif
