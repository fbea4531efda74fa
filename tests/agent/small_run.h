/* SPDX-License-Identifier: MIT */
/* small_run.h - a small run on STARFALL, of numbers or of pictures. */
#ifndef DM_TESTS_AGENT_SMALL_RUN_H
#define DM_TESTS_AGENT_SMALL_RUN_H

#include "agent/run.h"
#include "base/file.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <stdio.h>
#include <string.h>

/* `more`: settings, ended by NULL; may be NULL. */
static inline dm_agent_config dm_test_small_run(void **state, const char *const *more)
{
    static const char *const settings[] = {"machines=32",          "horizon=8",  "hidden=32",
                                           "minibatches=2",        "epochs=2",   "starts=16",
                                           "held_out=4",           "steps=5120", "limit=30",
                                           "checkpoint_seconds=0", "act_rows=8", "learn_rows=16"};
    dm_agent_config config = dm_agent_config_default;
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_source_root(), "examples/agents/starfall.json", err));
    assert_ok(dm_agent_config_file(&config, path, err));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        assert_ok(dm_agent_config_set(&config, settings[i], err));
    for (size_t i = 0; more != NULL && more[i] != NULL; i++)
        assert_ok(dm_agent_config_set(&config, more[i], err));
    assert_ok(dm_path_join(path, dm_test_source_root(), "tests/agent/starfall.epilog", err));
    assert_ok(dm_agent_config_set(&config, "observation=20", err));
    assert_true(strlen(path) < sizeof config.reward);
    memcpy(config.reward, path, strlen(path) + 1);
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    snprintf(config.rom, sizeof config.rom, "%s", dm_test_path(state, "STARFALL.gb"));
    assert_ok(dm_file_write(config.rom, rom.bytes, rom.size, err));
    return config;
}

#endif
