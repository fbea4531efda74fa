/* SPDX-License-Identifier: MIT */
/* Stages, rewards, observations, resets, and what is refused, on the CPU. */
#include "tests/swarm/cpu_swarm.h"

#include <string.h>

#define ALL_OBS (DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_PIXELS | DM_SWARM_OBS_REGIONS)
static const dm_swarm_region regions[] = {{0xC000, 16}, {0xFF80, 8}, {0x8000, 5}, {0x0134, 11}};

/* On the CPU an array of the swarm is host memory. */
static const uint8_t *array_of(const dm_swarm *swarm, int array)
{
    return dm_device_buffer_address(swarm->arrays[array]);
}

static uint64_t memory_hash(const dm_swarm *swarm, uint64_t machine)
{
    uint64_t size = swarm->layout.memory_stride;
    return dm_hash64(array_of(swarm, DM_SWARM_A_MEMORY) + machine * size, size);
}

/* ---- Stages ---- */

static void stages_write_only_what_they_own(void **state)
{
    (void)state;
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 5, .stage = (dm_swarm_stage)stage,
                                                      .observations = ALL_OBS, .regions = regions,
                                                      .region_count = 4, .frame_stack = 2));
        for (int kind = 0; kind < DM_SWARM_OUTPUTS; kind++) {
            dm_device_buffer *buffer = dm_swarm_output(swarm, (dm_swarm_output_kind)kind);
            if (dm_device_buffer_size(buffer) > 0)
                memset(dm_device_buffer_address(buffer), 0xA5, dm_device_buffer_size(buffer));
        }
        dm_case_step(swarm, 2);
        for (int kind = 0; kind < DM_SWARM_OUTPUTS; kind++) {
            const dm_device_buffer *buffer = dm_swarm_output(swarm, (dm_swarm_output_kind)kind);
            const uint8_t *at = dm_device_buffer_address(buffer);
            size_t size = dm_device_buffer_size(buffer), poisoned = 0;
            for (size_t i = 0; i < size; i++)
                poisoned += at[i] == 0xA5;
            bool signal = kind <= DM_SWARM_TRUNCATED;
            bool owned = stage == DM_SWARM_FULL_STEP || (stage == DM_SWARM_REWARD_ONLY && signal) ||
                         (stage == DM_SWARM_OBS_ONLY && !signal);
            /* Nothing of an owned array is left as it was but for bytes that happen to be A5. */
            if (owned ? poisoned > size / 20 : poisoned != size)
                fail_msg("%s: output %d has %zu of %zu bytes untouched",
                         dm_swarm_stage_name((dm_swarm_stage)stage), kind, poisoned, size);
        }
        dm_swarm_destroy(swarm);
    }
}

/* ---- What the outputs are ---- */

static void reward_and_vector(void **state)
{
    (void)state;
    dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 3, .observations = DM_SWARM_OBS_VECTOR));
    dm_case_step(swarm, 12);
    assert_int_equal(dm_swarm_output_size(swarm, DM_SWARM_VECTORS), 32 * sizeof(float));
    const float *rewards = (const float *)(const void *)bytes_of(swarm, DM_SWARM_REWARDS);
    for (uint32_t i = 0; i < 3; i++) {
        const float *v = (const float *)(const void *)bytes_of(swarm, DM_SWARM_VECTORS) + 32 * i;
        dm_gb_registers r;
        uint8_t m[16];
        assert_ok(dm_swarm_get_registers(swarm, &i, 1, &r, err));
        assert_ok(dm_swarm_read(swarm, i, 0xC000, m, sizeof m, err));
        assert_true(rewards[i] == (float)((r.a ^ (m[0] + 3 * m[1])) & 0xFF) / 255.0f);
        const uint8_t eight[] = {r.a, r.f, r.b, r.c, r.d, r.e, r.h, r.l};
        unsigned sum = 0, parity = 0;
        for (int k = 0; k < 8; k++)
            assert_true(v[k] == (float)eight[k] / 255.0f);
        assert_true(v[8] == (float)r.pc / 65535.0f && v[9] == (float)r.sp / 65535.0f);
        for (int k = 0; k < 16; k++) {
            assert_true(v[10 + k] == (float)m[k] / 255.0f);
            sum += m[k];
            parity ^= m[k];
        }
        assert_true(v[26] == (float)(r.a ^ r.b) / 255.0f);
        assert_true(v[27] == (float)((r.c + r.d) & 0xFF) / 255.0f);
        assert_true(v[28] == (float)((r.h * 2 ^ r.l ^ r.e) & 0xFF) / 255.0f);
        assert_true(v[29] == (float)(r.pc ^ r.sp) / 65535.0f);
        assert_true(v[30] == (float)(sum & 0xFF) / 255.0f);
        assert_true(v[31] == (float)((parity + r.f) & 0xFF) / 255.0f);
    }
    dm_swarm_destroy(swarm);
}

/* Every kind of picture, from single machines that draw every frame; stacks newest last. */
static void pictures_and_regions(void **state)
{
    enum { DEPTH = 3, STEPS = 9 };
    (void)state;
    dm_swarm_desc desc = GAME(.count = 4, .frames_per_step = 10, .observations = ALL_OBS,
                              .regions = regions, .region_count = 4, .frame_stack = DEPTH);
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    dm_case_step(swarm, STEPS);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < DEPTH; k++) {
            dm_gb *alone = dm_case_alone(&desc, i, STEPS - DEPTH + 1 + k);
            const uint8_t *p = dm_gb_frame(alone);
            size_t at = i * DEPTH + k;
            const uint8_t *shades = bytes_of(swarm, DM_SWARM_SHADES) + at * 160 * 144;
            const uint8_t *small = bytes_of(swarm, DM_SWARM_SMALLS) + at * 80 * 72;
            const uint8_t *packed = bytes_of(swarm, DM_SWARM_PACKEDS) + at * 20 * 72;
            assert_memory_equal(shades, p, 160 * 144);
            for (int y = 0; y < 72; y++) {
                for (int x = 0; x < 80; x++) {
                    const uint8_t *q = p + 2 * y * 160 + 2 * x;
                    int s = q[0] + q[1] + q[160] + q[161];
                    assert_int_equal(small[y * 80 + x], (85 * s + 2) / 4);
                    assert_int_equal(packed[y * 20 + x / 4] >> (2 * (x % 4)) & 3, (s + 2) / 4);
                }
            }
            if (k == DEPTH - 1) {
                const uint8_t *bytes = bytes_of(swarm, DM_SWARM_REGION_BYTES) + i * 40;
                for (int r = 0; r < 4; r++) {
                    for (uint32_t b = 0; b < regions[r].size; b++) {
                        uint16_t at_byte = (uint16_t)(regions[r].address + b);
                        /* A DMA under way would be met by a peek at ROM. */
                        uint8_t byte = at_byte < 0x4000 ? ((const uint8_t *)game.bytes)[at_byte]
                                                        : dm_gb_peek(alone, at_byte);
                        assert_int_equal(*bytes++, byte);
                    }
                }
            }
            dm_gb_destroy(alone);
        }
    }
    dm_swarm_destroy(swarm);
}

static void callers_buffers(void **state)
{
    (void)state;
    float rewards[6], later[6];
    dm_device_buffer *first = NULL, *second = NULL, *wrong = NULL;
    assert_ok(dm_device_buffer_import(device, rewards, sizeof rewards, &first, err));
    assert_ok(dm_device_buffer_import(device, later, sizeof later, &second, err));
    assert_ok(dm_device_buffer_import(device, later, sizeof later - 4, &wrong, err));
    dm_swarm_desc desc = GAME(.count = 6);
    dm_swarm *plain = dm_case_swarm(device, &desc);
    desc.outputs[DM_SWARM_REWARDS] = first;
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    assert_ptr_equal(dm_swarm_output(swarm, DM_SWARM_REWARDS), first);
    dm_case_step(swarm, 1);
    dm_case_step(plain, 1);
    assert_memory_equal(rewards, bytes_of(plain, DM_SWARM_REWARDS), sizeof rewards);
    assert_ok(dm_swarm_bind(swarm, DM_SWARM_REWARDS, second, err));
    dm_case_step(swarm, 1);
    dm_case_step(plain, 1);
    assert_memory_equal(later, bytes_of(plain, DM_SWARM_REWARDS), sizeof later);
    dm_error err = {0};
    assert_int_equal(dm_swarm_bind(swarm, DM_SWARM_REWARDS, wrong, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "24 bytes, the buffer has 20"));
    assert_int_equal(dm_swarm_bind(swarm, DM_SWARM_SHADES, second, &err), DM_EINVAL);
    assert_int_equal(dm_swarm_bind(swarm, DM_SWARM_REWARDS, NULL, &err), DM_EINVAL);
    dm_swarm_destroy(swarm);
    dm_swarm_destroy(plain);
    desc.outputs[DM_SWARM_REWARDS] = wrong;
    assert_int_equal(dm_swarm_create(device, &desc, &swarm, &err), DM_EINVAL);
    assert_null(swarm);
    dm_device_buffer_destroy(first);
    dm_device_buffer_destroy(second);
    dm_device_buffer_destroy(wrong);
}

/* ---- Actions ---- */

static void codecs(void **state)
{
    (void)state;
    assert_int_equal(dm_swarm_codec_actions(DM_SWARM_BUTTONS_V1), 9);
    assert_int_equal(dm_swarm_codec_actions(DM_SWARM_POKEMON_V1), 8);
    assert_int_equal(dm_swarm_codec_keys(DM_SWARM_BUTTONS_V1, 4), DM_GB_KEY_SELECT);
    assert_int_equal(dm_swarm_codec_keys(DM_SWARM_BUTTONS_V1, 8), DM_GB_KEY_RIGHT);
    assert_int_equal(dm_swarm_codec_keys(DM_SWARM_POKEMON_V1, 4), DM_GB_KEY_UP);
    assert_int_equal(dm_swarm_codec_keys(DM_SWARM_RAW_KEYS, 0xA5), 0xA5);
    assert_int_equal(dm_swarm_codec_keys(DM_SWARM_POKEMON_V1, 8), 0);
    dm_swarm_codec codec;
    dm_error err = {0};
    assert_ok(dm_swarm_codec_parse("pokemon_v1", &codec, err));
    assert_int_equal(codec, DM_SWARM_POKEMON_V1);
    assert_int_equal(dm_swarm_codec_parse("pokemon_v2", &codec, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "buttons_v1, pokemon_v1, raw"));
    uint32_t bit = 0;
    for (uint32_t each = DM_SWARM_OBS_VECTOR; each <= DM_SWARM_OBS_PACKED; each <<= 1) {
        assert_ok(dm_swarm_observation_parse(dm_swarm_observation_name(each), &bit, err));
        assert_int_equal(bit, each);
    }
    assert_int_equal(dm_swarm_observation_parse("regions", &bit, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "vector, shades, small, packed"));
    assert_int_equal(bit, DM_SWARM_OBS_PACKED); /* as it was */
    dm_swarm_stage stage;
    assert_int_equal(dm_swarm_stage_parse("half_step", &stage, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "emulate_only"));
}

static void actions_from_the_host(void **state)
{
    (void)state;
    dm_swarm_desc desc = GAME(.count = 9);
    dm_swarm *given = dm_case_swarm(device, &desc), *made = dm_case_swarm(device, &desc);
    uint8_t actions[9];
    for (uint64_t step = 0; step < 10; step++) {
        for (uint64_t i = 0; i < 9; i++)
            actions[i] = (uint8_t)dm_case_action(&desc, i, step);
        assert_ok(dm_swarm_step_host(given, actions, 9, err));
        dm_case_step(made, 1);
    }
    uint64_t hash = dm_case_fingerprint(given);
    assert_true(hash == dm_case_fingerprint(made));
    dm_error err = {0};
    actions[7] = 9;
    assert_int_equal(dm_swarm_step_host(given, actions, 9, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "action 9 of machine 7; buttons_v1 has 0 to 8"));
    assert_int_equal(dm_swarm_step_host(given, actions, 8, &err), DM_EINVAL);
    assert_true(hash == dm_case_fingerprint(given));
    /* On the device it counts as NOOP and is counted. */
    dm_swarm_faults faults = {99, 99, 99};
    assert_ok(dm_swarm_get_faults(given, &faults, err));
    assert_int_equal(faults.actions, 0);
    assert_ok(dm_swarm_step(given, actions, err));
    assert_ok(dm_swarm_get_faults(given, &faults, err));
    assert_int_equal(faults.actions, 1);
    assert_int_equal(faults.resets, 0);
    actions[7] = 0;
    assert_ok(dm_swarm_step(made, actions, err));
    assert_true(dm_case_fingerprint(made) == dm_case_fingerprint(given));
    dm_swarm_destroy(given);
    dm_swarm_destroy(made);
}

/* Machine 0 writes its last observation, 1 behind it, 2 far behind, 3 before the first: the three are
 * counted, nothing else is spoiled, and it is an error from then on. */
static void an_epilog_that_writes_elsewhere_is_an_error(void **state)
{
    (void)state;
    static const char epilog[] =
        "static const int places[4] = {3, 4, 200, -1};\n"
        "*reward = 1.0f; obs[0] = 5.0f; obs[1] = 6.0f; obs[2] = 7.0f; obs[3] = 8.0f;\n"
        "obs[places[view->machine & 3u]] = 9.0f;";
    dm_swarm_desc desc = GAME(.count = 4, .epilog = epilog, .observation_size = 4,
                              .observations = DM_SWARM_OBS_VECTOR);
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    dm_swarm_faults faults;
    float vectors[16];
    dm_error err = {0};
    assert_ok(dm_swarm_get_faults(swarm, &faults, err)); /* observed once, at creation */
    assert_int_equal(faults.observations, 3);
    assert_int_equal(dm_swarm_download(swarm, DM_SWARM_VECTORS, vectors, sizeof vectors, &err),
                     DM_EINVAL);
    for (int i = 0; i < 16; i++)
        assert_true(vectors[i] == (i == 3 ? 9.0f : 5.0f + (float)(i % 4)));
    assert_int_equal(dm_swarm_step(swarm, NULL, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "outside of its 4 observations"));
    dm_swarm_destroy(swarm);
}

/* ---- Episodes ---- */

static const dm_swarm_progress *progress_of(const dm_swarm *swarm)
{
    return dm_device_buffer_address(swarm->arrays[DM_SWARM_A_PROGRESS]);
}

static void autoreset_modes(void **state)
{
    (void)state;
    for (int mode = 0; mode < DM_SWARM_AUTORESETS; mode++) {
        dm_swarm_desc desc =
            GAME(.count = 2, .step_limit = 3, .autoreset = (dm_swarm_autoreset)mode,
                 .observations = DM_SWARM_OBS_SHADES, .frame_stack = 2);
        dm_swarm *swarm = dm_case_swarm(device, &desc), *start = dm_case_swarm(device, &desc);
        const uint8_t *truncated = bytes_of(swarm, DM_SWARM_TRUNCATED);
        for (int step = 1; step <= 3; step++) {
            dm_case_step(swarm, 1);
            assert_int_equal(truncated[0], step == 3);
            assert_int_equal(bytes_of(swarm, DM_SWARM_TERMINATED)[0], 0);
        }
        dm_gb *view = NULL;
        dm_gb *alone = dm_case_alone(&desc, 1, 3);
        if (mode == DM_SWARM_SAME_STEP) {
            /* Already at the start, with its picture in the whole stack. */
            assert_int_equal(progress_of(swarm)[1].episode_steps, 0);
            assert_ok(dm_swarm_fetch(swarm, 1, &view, err));
            assert_int_equal(view->machine.cycles_low, 0);
            assert_memory_equal(bytes_of(swarm, DM_SWARM_SHADES), bytes_of(start, DM_SWARM_SHADES),
                                2 * DM_SWARM_PICTURE);
        } else {
            dm_case_same(swarm, 1, alone);
            dm_case_step(swarm, 1);
        }
        if (mode == DM_SWARM_NEXT_STEP) {
            assert_int_equal(truncated[1], 0);
            assert_true(((float *)(void *)bytes_of(swarm, DM_SWARM_REWARDS))[1] == 0.0f);
            assert_ok(dm_swarm_fetch(swarm, 1, &view, err));
            assert_int_equal(view->machine.cycles_low, 0);
            assert_memory_equal(bytes_of(swarm, DM_SWARM_SHADES), bytes_of(start, DM_SWARM_SHADES),
                                2 * DM_SWARM_PICTURE);
        } else if (mode == DM_SWARM_DISABLED) {
            assert_int_equal(truncated[1], 1);
            assert_int_equal(progress_of(swarm)[1].episode_steps, 4);
        }
        dm_gb_destroy(alone);
        dm_swarm_destroy(swarm);
        dm_swarm_destroy(start);
    }
}

static void masked_reset_touches_only_its_machines(void **state)
{
    enum { COUNT = 20 };
    (void)state;
    dm_swarm_rom_source roms[] = {game, joy};
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = 2,
                          .count = COUNT,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .snapshots = 3,
                          .observations = DM_SWARM_OBS_PACKED | DM_SWARM_OBS_VECTOR};
    dm_swarm *swarm = dm_case_swarm(device, &desc);
    dm_case_step(swarm, 4);
    assert_ok(dm_swarm_snapshot(swarm, 6, 2, err));
    uint64_t kept = memory_hash(swarm, 6);
    dm_case_step(swarm, 4);
    uint64_t before[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        before[i] = dm_case_machine_hash(swarm, i);
    static uint8_t packed[COUNT * DM_SWARM_PACKED];
    memcpy(packed, bytes_of(swarm, DM_SWARM_PACKEDS), sizeof packed);
    const uint32_t machines[] = {3, 10, 12}, slots[] = {1, 2, 0};
    assert_ok(dm_swarm_reset_host(swarm, machines, slots, 3, err));
    for (uint32_t i = 0; i < COUNT; i++) {
        bool reset = i == 3 || i == 10 || i == 12;
        assert_int_equal(dm_case_machine_hash(swarm, i) == before[i], !reset);
        if (!reset)
            assert_memory_equal(packed + i * DM_SWARM_PACKED,
                                bytes_of(swarm, DM_SWARM_PACKEDS) + i * DM_SWARM_PACKED,
                                DM_SWARM_PACKED);
    }
    assert_true(kept == memory_hash(swarm, 10));
    assert_memory_equal(array_of(swarm, DM_SWARM_A_FRAMES) + 10 * DM_GB_FRAMES_SIZE,
                        array_of(swarm, DM_SWARM_A_SNAP_FRAMES) + 2 * DM_GB_FRAMES_SIZE,
                        DM_GB_FRAMES_SIZE);
    /* Without numbers: each to where it was last reset to. */
    dm_case_step(swarm, 2);
    assert_ok(dm_swarm_reset_host(swarm, machines, NULL, 3, err));
    assert_true(kept == memory_hash(swarm, 10));

    dm_error err = {0};
    uint64_t all = dm_case_fingerprint(swarm);
    static const struct {
        uint32_t machine, slot;
        const char *message;
    } bad[] = {{COUNT, 0, "machine 20; there are 0 to 19"},
               {0, 5, "snapshot 5; there are 0 to 4"},
               {0, 4, "snapshot 4 is empty"},
               {0, 1, "snapshot 1 is of ROM 1, machine 0 runs ROM 0"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(dm_swarm_reset_host(swarm, &bad[i].machine, &bad[i].slot, 1, &err),
                         DM_EINVAL);
        if (strstr(err.message, bad[i].message) == NULL)
            fail_msg("%s", err.message);
    }
    /* The same from device memory: counted, and not done. */
    uint8_t mask[COUNT] = {0};
    uint32_t wanted[COUNT] = {0};
    dm_swarm_faults faults;
    mask[0] = mask[1] = mask[2] = 1;
    wanted[0] = 77;
    wanted[1] = 0;
    wanted[2] = 3;
    assert_ok(dm_swarm_reset(swarm, mask, wanted, err));
    assert_true(all == dm_case_fingerprint(swarm));
    assert_ok(dm_swarm_get_faults(swarm, &faults, err));
    assert_int_equal(faults.resets, 3);
    dm_swarm_destroy(swarm);
}

/* A full reset repeats the run. */
static void reset_repeats(void **state)
{
    (void)state;
    dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 6, .observations = DM_SWARM_OBS_PACKED));
    dm_case_step(swarm, 7);
    uint64_t first = dm_case_fingerprint(swarm);
    assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
    assert_true(dm_case_fingerprint(swarm) != first);
    dm_case_step(swarm, 7);
    assert_true(dm_case_fingerprint(swarm) == first);
    dm_swarm_destroy(swarm);
}

/* ---- What is refused ---- */

static void bad_descriptions(void **state)
{
    (void)state;
    static const dm_swarm_region io = {0xFF40, 4}, beyond = {0xFFF0, 20}, none = {0xC000, 0};
    const dm_swarm_rom_source empty = {0}, missing = {.path = "/nowhere.gb"},
                              rubbish = {.bytes = "x", .size = 1};
    const struct {
        dm_swarm_desc desc;
        dm_status status;
        const char *message;
    } cases[] = {
        {GAME(.count = 0), DM_EINVAL, "0 machines"},
        {{.count = 1}, DM_EINVAL, "no ROM"},
        {{.count = 1, .roms = &empty, .rom_count = 1}, DM_EINVAL, "neither path nor bytes"},
        {{.count = 1, .roms = &missing, .rom_count = 1}, DM_ENOENT, "nowhere.gb"},
        {{.count = 1, .roms = &rubbish, .rom_count = 1}, DM_EFORMAT, ""},
        {GAME(.count = 1, .stage = (dm_swarm_stage)4), DM_EINVAL, "no stage 4"},
        {GAME(.count = 1, .codec = (dm_swarm_codec)9), DM_EINVAL, "no action codec 9"},
        {GAME(.count = 1, .autoreset = (dm_swarm_autoreset)9), DM_EINVAL, "no autoreset mode 9"},
        {GAME(.count = 1, .observations = 0x100), DM_EINVAL, "unknown bits"},
        {GAME(.count = 1, .frames_per_step = 5000), DM_EINVAL, "at most 1024"},
        {GAME(.count = 1, .frames_per_step = 4, .release_after_frames = 5), DM_EINVAL,
         "5 frames of 4"},
        {GAME(.count = 1, .frame_stack = 1000), DM_EINVAL, "at most 64"},
        {GAME(.count = 1, .snapshots = UINT32_MAX), DM_EINVAL, "too many"},
        {GAME(.count = 1, .observation_size = 8), DM_EINVAL, "needs an epilog"},
        {GAME(.count = 1, .observations = DM_SWARM_OBS_REGIONS), DM_EINVAL, "go together"},
        {GAME(.count = 1, .observations = DM_SWARM_OBS_REGIONS, .regions = &io, .region_count = 1),
         DM_EINVAL, "FF40"},
        {GAME(.count = 1, .observations = DM_SWARM_OBS_REGIONS, .regions = &beyond,
              .region_count = 1),
         DM_EINVAL, "FFF0"},
        {GAME(.count = 1, .observations = DM_SWARM_OBS_REGIONS, .regions = &none,
              .region_count = 1),
         DM_EINVAL, "0 bytes"},
        {GAME(.count = 1, .start = DM_GB_START_BOOT_ROM), DM_EINVAL, "256 bytes"},
        {GAME(.count = 1, .block_threads = 33), DM_EINVAL, "multiple of 32"},
        {GAME(.count = 1, .block_threads = 288), DM_EINVAL, "up to 256, or to 1024 with one lane"},
        {GAME(.count = 1, .lanes_per_warp = 1, .block_threads = 1056), DM_EINVAL, "up to 1024"},
        {GAME(.count = 1000000000), DM_ENOMEM, "enough for"},
        {GAME(.count = UINT64_MAX), DM_ENOMEM, "enough for"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_swarm *swarm = NULL;
        dm_error err = {0};
        dm_status status = dm_swarm_create(device, &cases[i].desc, &swarm, &err);
        if (status != cases[i].status || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s: %s", i, dm_status_name(status), err.message);
        assert_null(swarm);
    }
}

/* A game without cartridge RAM takes about 17 KB; pictures are paid for only when wanted. */
static void bytes_per_machine(void **state)
{
    (void)state;
    dm_swarm *swarm = dm_case_swarm(device, &GAME(.count = 2));
    uint64_t bytes = dm_swarm_get_info(swarm).bytes_per_machine;
    assert_in_range(bytes, 16704, 17400);
    dm_swarm_destroy(swarm);
    swarm = dm_case_swarm(device, &GAME(.count = 2, .observations = DM_SWARM_OBS_PACKED));
    assert_int_equal(dm_swarm_get_info(swarm).bytes_per_machine, bytes + 2 * 160 * 144 + 1440);
    dm_swarm_destroy(swarm);
}

DM_TESTS("swarm/swarm", SWARM_TEST(stages_write_only_what_they_own), SWARM_TEST(reward_and_vector),
         SWARM_TEST(pictures_and_regions), SWARM_TEST(callers_buffers), SWARM_TEST(codecs),
         SWARM_TEST(actions_from_the_host), SWARM_TEST(an_epilog_that_writes_elsewhere_is_an_error),
         SWARM_TEST(autoreset_modes), SWARM_TEST(masked_reset_touches_only_its_machines),
         SWARM_TEST(reset_repeats), SWARM_TEST(bad_descriptions), SWARM_TEST(bytes_per_machine));
