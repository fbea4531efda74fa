/* SPDX-License-Identifier: MIT */
/* golden.h - compare an output with a file kept in tests/golden.
 *
 *     dm_golden_text("cli/help.txt", result.out);
 *
 * A difference fails the test and shows the first line (or byte) that differs. With
 * DM_UPDATE_GOLDEN=1 the file is written instead; look at the change before committing it.
 * $DM_TEST_GOLDEN names another folder, for a run away from the source tree. */
#ifndef DM_TESTS_SUPPORT_GOLDEN_H
#define DM_TESTS_SUPPORT_GOLDEN_H

#include "base/buffer.h"
#include "tests/support/test.h"

void dm_golden_text(const char *name, const char *text);
void dm_golden_bytes(const char *name, const void *bytes, size_t size);

/* The comparison alone: true when the file at `path` holds exactly these bytes, else the difference
 * is described in `report`. */
bool dm_golden_compare(const char *path, const void *bytes, size_t size, bool is_text,
                       dm_buffer *report);

#endif
