/* SPDX-License-Identifier: MIT */
#include "tests/support/killed.h"

#include "base/file.h"
#include "base/philox.h"
#include "base/thread.h"
#include "tests/support/command.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 200

void dm_test_same_file(const char *folder, const char *other, const char *name)
{
    char path[DM_PATH_MAX], *a = NULL, *b = NULL;
    size_t size_a = 0, size_b = 0;
    assert_ok(dm_path_join(path, folder, name, err));
    assert_ok(dm_file_read(path, 0, &a, &size_a, err));
    assert_ok(dm_path_join(path, other, name, err));
    assert_ok(dm_file_read(path, 0, &b, &size_b, err));
    if (size_a != size_b || memcmp(a, b, size_a) != 0)
        fail_msg("%s differs between %s and %s", name, folder, other);
    free(a);
    free(b);
}

bool dm_test_ends_within(const char *const *arguments, double seconds)
{
    dm_test_result r;
    const dm_test_command command = {.seconds = seconds};
    dm_test_run_dotmatrix(&command, arguments, &r);
    bool ended = !r.timed_out;
    if (ended)
        dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    return ended;
}

void dm_test_killed_runs_end_alike(void **state, const dm_test_killed *k)
{
    char name[64], checkpoint[DM_PATH_MAX];
    snprintf(name, sizeof name, "%s-whole", k->name);
    const char *reference = dm_test_path(state, name), *folder = NULL;
    uint64_t begun = dm_time_ns();
    assert_true(k->run(k->context, reference, 2, 600));
    double seconds = (double)(dm_time_ns() - begun) * 1e-9;
    int kills = 0, folders = 0;
    for (int i = 0; i < TRIES; i++) {
        if (folder == NULL) {
            snprintf(name, sizeof name, "%s-killed-%d", k->name, folders++);
            folder = dm_test_path(state, name);
        }
        dm_philox4 r = dm_random4(k->seed, 1, (uint64_t)i);
        /* The last time it may come to its end. */
        double share = k->from + (k->to - k->from) * (double)dm_random_unit(r.v[0]);
        double moment = kills < DM_TEST_KILLS ? 0.003 + seconds * share : 600;
        bool ended = k->run(k->context, folder, 1 + dm_random_below(r.v[1], 3), moment);
        /* Kills before the first checkpoint do not count. */
        assert_ok(dm_path_join(checkpoint, folder, "checkpoint.safetensors", err));
        kills += !ended && dm_file_exists(checkpoint);
        if (!ended)
            continue;
        for (const char *const *file = k->files; *file != NULL; file++)
            dm_test_same_file(reference, folder, *file);
        folder = NULL;
        if (kills == DM_TEST_KILLS)
            return;
    }
    fail_msg("%s was killed %d times only, of %d", k->name, kills, DM_TEST_KILLS);
}
