/* SPDX-License-Identifier: MIT */
/* dynamics.c - how fast and how right the dynamics kernels are, as a program of its own that needs
 * nothing but the driver and NVRTC (`dotmatrix dynamics bench` is the same).
 *
 *   dm-bench-dynamics [--device cpu|cuda:0] [--only PART,...] [--json FILE] [--dump FOLDER]
 * [--quick]
 *
 * Parts: check_gru, check_batch, check_cluster, check_train (values), profile (where a step of the
 * cluster kernel spends its cycles), rollout (few: latency), batch (many rollouts), gru (one step
 * over the grid of sizes), train (updates of the weights), encoder, memory. bench/dynamics_torch.py
 * runs this and puts PyTorch beside it. Exit code 1 when a value is wrong or something failed. */
#include "base/file.h"
#include "cli/dynamics/dynamics_bench.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *json_path = NULL;
    dm_dyn_bench b = {.device_id = "cpu:1"};
    dm_error err = {0};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--device") == 0 && more) {
            b.device_id = argv[++i];
        } else if (strcmp(argv[i], "--only") == 0 && more) {
            b.only = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0 && more) {
            json_path = argv[++i];
        } else if (strcmp(argv[i], "--dump") == 0 && more) {
            b.dump = argv[++i];
        } else if (strcmp(argv[i], "--quick") == 0) {
            b.quick = true;
        } else {
            fprintf(stderr,
                    "usage: dm-bench-dynamics [--device ID] [--only PART,...] [--json FILE] "
                    "[--dump FOLDER] [--quick]\n");
            return 2;
        }
    }
    dm_buffer json = DM_BUFFER_EMPTY;
    dm_status status = dm_dyn_bench_run(&b, &json, &err);
    if (status == DM_OK && json_path != NULL)
        status = dm_file_write(json_path, json.data, json.size, &err);
    dm_buffer_deinit(&json);
    if (status != DM_OK)
        fprintf(stderr, "dm-bench-dynamics: %s\n", err.message);
    if (b.wrong > 0)
        printf("%d values WRONG\n", b.wrong);
    return status == DM_OK && b.wrong == 0 ? 0 : 1;
}
