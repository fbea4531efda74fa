/* SPDX-License-Identifier: MIT */
/* The sample in docs/kernel-sample: 200 records that read, with all that docs/dataset.md says of them. */
#include "synth/store/compress.h"
#include "synth/store/dataset.h"
#include "tests/support/test.h"

static void the_sample_reads(void **state)
{
    (void)state;
    char folder[DM_PATH_MAX];
    dm_synth_dataset set;
    dm_synth_file file;
    dm_synth_record r;
    if (dm_synth_compress_check(NULL) != DM_OK)
        dm_test_skip("built without libzstd");
    assert_ok(dm_path_join(folder, dm_test_source_root(), "docs/kernel-sample", err));
    assert_ok(dm_synth_dataset_open(&set, folder, err));
    assert_int_equal(set.file_count, 1);
    assert_ok(dm_synth_file_read(&file, &set, 0, err));
    assert_int_equal(file.count, 200);
    dm_synth_record_init(&r);
    for (size_t i = 0; i < file.count; i++) {
        assert_ok(dm_synth_record_read(&r, file.lines[i], dm_synth_file_line(&file, i), "sample",
                                       (int)i + 1, err));
        assert_true(r.line.size > 0 && r.reference.size > 0 && r.test.size > 0 && r.ir.size > 0 &&
                    r.mutation[0] != '\0' && r.verification.level == DM_SYNTH_VERIFY_FULL);
    }
    dm_synth_record_deinit(&r);
    dm_synth_file_free(&file);
    dm_synth_dataset_close(&set);
}

DM_TESTS("synth/sample", DM_TEST(the_sample_reads))
