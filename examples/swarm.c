/* SPDX-License-Identifier: MIT */
/* swarm.c - a thousand Game Boys from the public API: random play, mean reward, one picture.
 *
 *   example-swarm GAME.gb [DEVICE] [MACHINES] [STEPS]      (cpu, 1000, 20) */
#include <dotmatrix/swarm.h>

#include <stdio.h>
#include <stdlib.h>

/* The picture of a machine at a quarter of its size, dark as '#'. */
static void show(const uint8_t *shades)
{
    for (int y = 0; y < DM_GB_SCREEN_H; y += 8) {
        for (int x = 0; x < DM_GB_SCREEN_W; x += 4)
            putchar(" .+#"[shades[y * DM_GB_SCREEN_W + x] & 3]);
        putchar('\n');
    }
}

/* Prints what went wrong. */
static int fail(const dm_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 1;
}

/* `rewards` has room for one of each machine. */
static int play(dm_swarm *swarm, long machines, long steps, float *rewards)
{
    static uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    dm_error err;
    /* NULL: the swarm's own random actions; a policy would pass its actions on the device. */
    for (long i = 0; i < steps; i++)
        if (dm_swarm_step(swarm, NULL, &err) != DM_OK)
            return fail(&err);
    size_t size = (size_t)machines * sizeof *rewards;
    if (dm_swarm_download(swarm, DM_SWARM_REWARDS, rewards, size, &err) != DM_OK ||
        dm_swarm_get_picture(swarm, 0, shades, &err) != DM_OK)
        return fail(&err);
    double sum = 0;
    for (long i = 0; i < machines; i++)
        sum += (double)rewards[i];
    show(shades);
    printf("mean reward of the last step: %.4f\n", sum / (double)machines);
    return 0;
}

static int make_and_play(dm_device *device, const char *game, long machines, long steps)
{
    dm_error err;
    dm_swarm *swarm;
    const dm_swarm_rom_source rom = {.path = game};
    const dm_swarm_desc desc = {.roms = &rom,
                                .rom_count = 1,
                                .count = machines < 1 ? 0 : (uint64_t)machines,
                                .generator = DM_SWARM_SEEDED_RANDOM,
                                .seed = 1,
                                .step_limit = 1000,
                                .observations = DM_SWARM_OBS_PACKED};
    if (dm_swarm_create(device, &desc, &swarm, &err) != DM_OK)
        return fail(&err);
    printf("%ld machines of %llu bytes on %s\n", machines,
           (unsigned long long)dm_swarm_get_info(swarm).bytes_per_machine,
           dm_device_get_properties(device)->name);
    float *rewards = (float *)malloc((size_t)machines * sizeof *rewards);
    int result = rewards == NULL ? 1 : play(swarm, machines, steps, rewards);
    free(rewards);
    dm_swarm_destroy(swarm);
    return result;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s GAME.gb [DEVICE] [MACHINES] [STEPS]\n", argv[0]);
        return 2;
    }
    const char *id = argc > 2 ? argv[2] : "cpu";
    long machines = argc > 3 ? atol(argv[3]) : 1000, steps = argc > 4 ? atol(argv[4]) : 20;
    dm_error err;
    dm_device *device;
    if (dm_device_open(id, &device, &err) != DM_OK)
        return fail(&err);
    int result = make_and_play(device, argv[1], machines, steps);
    dm_device_close(device);
    return result;
}
