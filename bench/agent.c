/* SPDX-License-Identifier: MIT */
/* agent.c - how fast agents learn: rounds of training by a configuration, with the shares of the game, of acting and of
 * learning; the first round, in which kernels are compiled and algorithms chosen, does not count.
 *
 *     dm-bench-agent DEVICE FOLDER ROUNDS CONFIG.json [NAME=VALUE ...]
 *
 * One line of JSON. FOLDER is made anew. */
#include "agent/run.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>

static int die(const dm_error *err)
{
    fprintf(stderr, "dm-bench-agent: %s\n", err->message);
    return 1;
}

int main(int argc, char **argv)
{
    dm_agent_config config = dm_agent_config_default;
    dm_agent_run *run = NULL;
    dm_error err = {0};
    dm_agent_figures f;
    double world = 0, act = 0, learn = 0, wall = 0;
    if (argc < 5) {
        fprintf(stderr,
                "usage: dm-bench-agent DEVICE FOLDER ROUNDS CONFIG.json [NAME=VALUE ...]\n");
        return 2;
    }
    long rounds = atol(argv[3]);
    if (dm_agent_config_file(&config, argv[4], &err) != DM_OK)
        return die(&err);
    for (int i = 5; i < argc; i++)
        if (dm_agent_config_set(&config, argv[i], &err) != DM_OK)
            return die(&err);
    if (dm_agent_run_begin(argv[1], &config, argv[2], &run, &err) != DM_OK)
        return die(&err);
    for (long i = 0; i <= rounds; i++) {
        uint64_t begin = dm_time_ns();
        if (dm_agent_learner_round(dm_agent_run_learner(run), &f, &err) != DM_OK)
            return die(&err);
        if (i == 0)
            continue;
        wall += (double)(dm_time_ns() - begin) / 1e9;
        world += f.seconds_world;
        act += f.seconds_act;
        learn += f.seconds_learn;
    }
    double samples = (double)(config.machines * config.horizon) * (double)(rounds > 0 ? rounds : 1);
    printf("{\"rom\": \"%s\", \"machines\": %llu, \"horizon\": %llu, \"epochs\": %llu, "
           "\"steps_per_second\": %.0f, \"world_share\": %.3f, \"act_share\": %.3f, "
           "\"learn_share\": %.3f, \"world_steps_per_second\": %.0f, "
           "\"inference_per_second\": %.0f, \"epoch_per_second\": %.0f, \"entropy\": %.4f, "
           "\"explained\": %.3f}\n",
           config.rom, (unsigned long long)config.machines, (unsigned long long)config.horizon,
           (unsigned long long)config.epochs, samples / wall, world / wall, act / wall,
           learn / wall, samples / world, samples / act, samples * (double)config.epochs / learn,
           f.entropy, f.explained);
    dm_agent_run_close(run);
    return 0;
}
