/* SPDX-License-Identifier: MIT */
/* swarm.h - thousands of Game Boys stepped together, on a CPU or a GPU.
 *
 *     dm_device_open("cpu", &device, &err);                        // or "cuda:0"
 *     dm_swarm_rom_source rom = {.path = "game.gb"};
 *     dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 1024,
 *                           .observations = DM_SWARM_OBS_PACKED};
 *     dm_swarm_create(device, &desc, &swarm, &err);
 *     for (int i = 0; i < 100; i++)
 *         dm_swarm_step(swarm, actions, &err);                     // device memory; NULL: made up
 *     dm_swarm_download(swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, &err);
 *     dm_swarm_destroy(swarm);
 *
 * Every machine is exact and independent: it does the same whatever the device, the number of
 * machines, threads or lanes, and the same as a dm_gb (dotmatrix/gb.h) stepped alone.
 *
 * Time: `step`, `reset` and `snapshot` queue work on the swarm's stream and return (on the CPU the
 * work is then done); they allocate nothing and wait for nothing. Functions that read or write host
 * memory say so; those that give values back wait for the stream.
 *
 * Ownership: buffers from dm_swarm_output belong to the swarm unless the caller gave them, and then
 * must live as long as they are bound. The swarm keeps its device alive.
 *
 * Threads: a swarm belongs to one thread at a time; different ones are independent. */
#ifndef DOTMATRIX_SWARM_H
#define DOTMATRIX_SWARM_H

#include <dotmatrix/base.h>
#include <dotmatrix/device.h>
#include <dotmatrix/gb.h>
#include <dotmatrix/program.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dm_swarm dm_swarm;

/* ---- Choices ---- */

/* What a step computes besides the machines, which do the same in all stages. Outputs that a stage does
 * not own are left untouched. */
typedef enum dm_swarm_stage {
    DM_SWARM_FULL_STEP,    /* reward, terminated, truncated, and all observations */
    DM_SWARM_EMULATE_ONLY, /* none of them */
    DM_SWARM_REWARD_ONLY,  /* reward, terminated, truncated */
    DM_SWARM_OBS_ONLY,     /* the observations */
    DM_SWARM_STAGES
} dm_swarm_stage;

/* What an action, one byte per machine, stands for. */
typedef enum dm_swarm_codec {
    DM_SWARM_BUTTONS_V1, /* NOOP A B START SELECT UP DOWN LEFT RIGHT */
    DM_SWARM_POKEMON_V1, /* NOOP A B START UP DOWN LEFT RIGHT */
    DM_SWARM_RAW_KEYS,   /* a mask of DM_GB_KEY_* */
    DM_SWARM_CODECS
} dm_swarm_codec;

/* Actions of steps that are given none, made on the device. */
typedef enum dm_swarm_generator {
    DM_SWARM_NOOP,
    DM_SWARM_SEEDED_RANDOM, /* uniform, from (seed, machine, step) */
    DM_SWARM_STRIPED,       /* (machine + step) modulo the number of actions */
    DM_SWARM_GENERATORS
} dm_swarm_generator;

/* When a machine whose episode is over is reset, as Gymnasium's AutoresetMode has it. */
typedef enum dm_swarm_autoreset {
    DM_SWARM_NEXT_STEP, /* the next step resets it instead: reward 0, flags 0, first observation */
    DM_SWARM_SAME_STEP, /* at once: the step's observation is the first of the next episode */
    DM_SWARM_DISABLED,  /* never: dm_swarm_reset does */
    DM_SWARM_AUTORESETS
} dm_swarm_autoreset;

/* Observations, any set of them. Pictures are what is on the screen when the step ends; stacks hold
 * the last `frame_stack`, newest last. */
#define DM_SWARM_OBS_VECTOR 0x01u  /* obs_v0, or the epilog's: floats */
#define DM_SWARM_OBS_SHADES 0x02u  /* 144 x 160 bytes, 0 (light) to 3 (dark) */
#define DM_SWARM_OBS_SMALL 0x04u   /* 72 x 80 bytes, 0 (light) to 255 (dark): means of 2 x 2 */
#define DM_SWARM_OBS_PACKED 0x08u  /* 72 x 20 bytes, four pixels each, the leftmost lowest */
#define DM_SWARM_OBS_REGIONS 0x10u /* the bytes of `regions`, one after the other */
#define DM_SWARM_OBS_PIXELS (DM_SWARM_OBS_SHADES | DM_SWARM_OBS_SMALL | DM_SWARM_OBS_PACKED)

/* Arrays that a step writes, machine by machine. */
typedef enum dm_swarm_output_kind {
    DM_SWARM_REWARDS,    /* float */
    DM_SWARM_TERMINATED, /* uint8_t, 0 or 1 */
    DM_SWARM_TRUNCATED,  /* uint8_t, 0 or 1 */
    DM_SWARM_VECTORS,    /* float[observation_size] */
    DM_SWARM_SHADES,     /* uint8_t[frame_stack][144][160] */
    DM_SWARM_SMALLS,     /* uint8_t[frame_stack][72][80] */
    DM_SWARM_PACKEDS,    /* uint8_t[frame_stack][72][20] */
    DM_SWARM_REGION_BYTES,
    /* With desc.finals, for machines that same-step autoreset has just put back: the observation as it was before that.
     * Others keep what was there. */
    DM_SWARM_FINAL_VECTORS,
    DM_SWARM_FINAL_SHADES,
    DM_SWARM_FINAL_SMALLS,
    DM_SWARM_FINAL_PACKEDS,
    DM_SWARM_FINAL_REGION_BYTES,
    /* With desc.episodes, of the episode that the step belongs to, the step included; 0 after a reset. */
    DM_SWARM_RETURNS, /* float: the sum of its rewards */
    DM_SWARM_LENGTHS, /* uint32_t: its steps */
    DM_SWARM_OUTPUTS
} dm_swarm_output_kind;

/* Names as the command and files use them; an unknown one is DM_EINVAL and lists those there are.
 */
DM_API const char *dm_swarm_stage_name(dm_swarm_stage stage);
DM_API const char *dm_swarm_codec_name(dm_swarm_codec codec);
DM_API const char *dm_swarm_generator_name(dm_swarm_generator generator);
DM_API const char *dm_swarm_autoreset_name(dm_swarm_autoreset autoreset);
DM_API dm_status dm_swarm_stage_parse(const char *name, dm_swarm_stage *out, dm_error *err);
DM_API dm_status dm_swarm_codec_parse(const char *name, dm_swarm_codec *out, dm_error *err);
DM_API dm_status dm_swarm_generator_parse(const char *name, dm_swarm_generator *out, dm_error *err);
DM_API dm_status dm_swarm_autoreset_parse(const char *name, dm_swarm_autoreset *out, dm_error *err);
/* One bit of DM_SWARM_OBS_*; regions, which are described by their ranges, have no name. */
DM_API const char *dm_swarm_observation_name(uint32_t bit);
DM_API dm_status dm_swarm_observation_parse(const char *name, uint32_t *bit, dm_error *err);
/* Actions of a codec: 9, 8 or 256. */
DM_API uint32_t dm_swarm_codec_actions(dm_swarm_codec codec);
/* The keys that an action presses. */
DM_API uint8_t dm_swarm_codec_keys(dm_swarm_codec codec, uint32_t action);

/* ---- Creating ---- */

typedef struct dm_swarm_rom_source {
    const char *path;  /* a file, or */
    const void *bytes; /* the ROM itself; copied */
    size_t size;
    const char *state; /* a file of dm_gb_save_state to start from; NULL: as `start` says */
} dm_swarm_rom_source;

/* Bytes address .. address + size - 1; not the registers FF00..FF7F. */
typedef struct dm_swarm_region {
    uint16_t address, size;
} dm_swarm_region;

/* Zero is a good default for all but the ROM and the count. */
typedef struct dm_swarm_desc {
    const dm_swarm_rom_source *roms; /* machine i runs ROM i modulo rom_count */
    size_t rom_count;
    uint64_t count;                /* machines */
    uint32_t frames_per_step;      /* 0: 24; at most 1024 */
    uint32_t release_after_frames; /* the action's keys are up after so many; 0: 8, or all */
    dm_swarm_stage stage;
    dm_swarm_codec codec;
    /* Own actions instead of the codec's: the keys that each presses, copied. Generators draw from them too. */
    const uint8_t *action_keys;
    size_t action_key_count; /* 0: the codec's; at most 256 */
    dm_swarm_generator generator;
    uint64_t seed;
    uint32_t step_limit; /* truncates an episode after so many steps; 0: never */
    dm_swarm_autoreset autoreset;
    uint32_t observations; /* DM_SWARM_OBS_* */
    bool
        finals; /* all observations also as they were at the end of an episode; for DM_SWARM_SAME_STEP */
    bool episodes;        /* returns and lengths of episodes */
    uint32_t frame_stack; /* 0: 1 */
    const dm_swarm_region *regions;
    size_t region_count; /* at most 16 */
    const dm_gb_hook
        *hooks;        /* places in the program to be watched, in each ROM (dm_gb_hook_parse) */
    size_t hook_count; /* at most 64 */
    enum dm_gb_start start;
    const void *boot_rom; /* 256 bytes, for DM_GB_START_BOOT_ROM */
    size_t boot_rom_size;
    uint32_t snapshots; /* room for so many besides the start of each ROM */
    /* Addresses (C000-FDFF, FF80-FFFE) whose bytes get random values, 1 to 255, at each reset of a machine, made from
     * (seed, machine, how often it was reset): those of a game's random generator make many games of one snapshot. */
    const uint16_t *random_bytes;
    size_t random_count;       /* at most 64 */
    bool keep_idle_loops;      /* see dm_gb_options */
    bool force_dmg;            /* likewise */
    const char *epilog;        /* body of a function, docs/swarm.md; NULL: reward_v0 and obs_v0 */
    uint32_t observation_size; /* floats that the epilog observes; 0: 32, or the program's */
    /* A reward program instead of an epilog (dotmatrix/program.h); the swarm keeps what it needs of it. */
    const dm_program *program;
    /* Buffers of the caller for some outputs; NULL: the swarm makes its own. */
    dm_device_buffer *outputs[DM_SWARM_OUTPUTS];
    /* A part of a larger swarm: its machines are numbered from here in random actions. */
    uint64_t first_machine;
    /* Speed only, on CUDA; 0: chosen by the number of machines. */
    uint32_t lanes_per_warp;            /* 1 to 32 */
    uint32_t block_threads;             /* a multiple of 32, up to 256; 1,024 with one lane */
    uint32_t blocks_per_multiprocessor; /* a promise to the compiler */
} dm_swarm_desc;

/* DM_EINVAL: a field of the description; DM_ENOMEM: does not fit, and the message says how many
 * machines would. The first observation is there when it returns. */
DM_API dm_status dm_swarm_create(dm_device *device, const dm_swarm_desc *desc, dm_swarm **out,
                                 dm_error *err);
/* Waits for the swarm's stream. */
DM_API void dm_swarm_destroy(dm_swarm *swarm);
/* Compile the kernels that a swarm of this description needs, and nothing else, into the cache. */
DM_API dm_status dm_swarm_warm_up(dm_device *device, const dm_swarm_desc *desc, dm_error *err);

typedef struct dm_swarm_info {
    uint64_t count;
    uint32_t rom_count, frames_per_step, release_after_frames, frame_stack, snapshots;
    dm_swarm_stage stage;
    dm_swarm_codec codec;
    uint64_t bytes_per_machine; /* device memory that grows with the count */
    uint64_t bytes_shared;      /* and the rest: ROMs, snapshots */
    uint32_t lanes_per_warp, block_threads;
    bool kernels_were_cached; /* nothing had to be compiled */
    char kernel_key[33];      /* names the compiled variant */
} dm_swarm_info;
DM_API dm_swarm_info dm_swarm_get_info(const dm_swarm *swarm);
/* Of the step kernel. */
DM_API dm_status dm_swarm_kernel_properties(const dm_swarm *swarm, dm_function_properties *out,
                                            dm_error *err);

/* Queue on this stream of the swarm's device from now on; NULL: the device's own. */
DM_API dm_status dm_swarm_set_stream(dm_swarm *swarm, dm_stream *stream, dm_error *err);
DM_API dm_stream *dm_swarm_stream(const dm_swarm *swarm);

/* ---- Stepping ---- */

/* One step of every machine. `actions` is device memory, one byte per machine; NULL: the
 * generator's. An action out of range is taken as NOOP and counted (dm_swarm_get_faults). On a driver
 * error machines may be mid-step; reset them. */
DM_API dm_status dm_swarm_step(dm_swarm *swarm, const uint8_t *actions, dm_error *err);
/* The same with actions in host memory, which must stay valid until the stream has passed the step. An
 * action out of range is DM_EINVAL and nothing is stepped. */
DM_API dm_status dm_swarm_step_host(dm_swarm *swarm, const uint8_t *actions, size_t count,
                                    dm_error *err);

/* Reset machines with a mask byte other than 0 (NULL: all) to the snapshots of these numbers (NULL:
 * each to the one it was last reset to), which then are their start. Both are device memory with
 * one element per machine. A snapshot that is empty or of another ROM is counted as a fault and
 * that machine left alone. Resetting all also starts the random actions again. */
DM_API dm_status dm_swarm_reset(dm_swarm *swarm, const uint8_t *mask, const uint32_t *snapshots,
                                dm_error *err);
/* The same for machines[0..count), in host memory; checked first: a number out of range or a
 * snapshot that does not match is DM_EINVAL and nothing is reset. `snapshots` may be NULL. */
DM_API dm_status dm_swarm_reset_host(dm_swarm *swarm, const uint32_t *machines,
                                     const uint32_t *snapshots, size_t count, dm_error *err);

typedef struct dm_swarm_faults {
    uint32_t actions; /* out of range */
    uint32_t resets;  /* to a snapshot that does not match */
    /* Calls of the epilog that wrote outside of its observation_size floats, on the CPU: those
     * writes went nowhere, and the next step or download is DM_EINVAL. (Up to 256 floats away;
     * on CUDA nothing is checked.) */
    uint32_t observations;
} dm_swarm_faults;
/* Counts since creation. Waits. */
DM_API dm_status dm_swarm_get_faults(dm_swarm *swarm, dm_swarm_faults *out, dm_error *err);

/* ---- A reward program ---- */

/* Replace the program (NULL is DM_EINVAL). The new one is compiled alone, in some tenths of a second. Machines,
 * episodes and start states stay. The program's memory is zeroed, that of start states too, as are metrics and counts
 * of episodes, and the program is run for each machine as after a reset. It
 * must observe as many floats as the last one and have the same hooks, and the swarm must have been created with a
 * program. Waits. */
DM_API dm_status dm_swarm_set_program(dm_swarm *swarm, const dm_program *program, dm_error *err);

typedef struct dm_swarm_metric_sums {
    const char *name; /* the program's */
    double step;      /* mean over the machines of its value in the last step */
    double last,
        sum; /* means over the episodes that ended: of the value in the last step, of the sum of all steps */
    uint64_t episodes;
} dm_swarm_metric_sums;
/* One for each metric of the program, `count` of them. `restart`: episodes are counted anew. Waits. */
DM_API dm_status dm_swarm_get_metrics(dm_swarm *swarm, dm_swarm_metric_sums *out, size_t count,
                                      bool restart, dm_error *err);

/* ---- Outputs ---- */

/* Bytes per machine; 0 when the swarm does not have this output. */
DM_API size_t dm_swarm_output_size(const dm_swarm *swarm, dm_swarm_output_kind kind);
/* The array now bound; NULL when the swarm does not have it. */
DM_API dm_device_buffer *dm_swarm_output(const dm_swarm *swarm, dm_swarm_output_kind kind);
/* Write this output to the caller's buffer from the next step on; NULL: back to the swarm's own. */
DM_API dm_status dm_swarm_bind(dm_swarm *swarm, dm_swarm_output_kind kind, dm_device_buffer *buffer,
                               dm_error *err);
/* All of an output to host memory of exactly its size. Waits. */
DM_API dm_status dm_swarm_download(dm_swarm *swarm, dm_swarm_output_kind kind, void *to,
                                   size_t size, dm_error *err);

/* ---- Hooks ---- */

/* For each machine bit i: an instruction began at hook i in the last step. After a reset: none. Waits. */
DM_API dm_status dm_swarm_get_hooks(dm_swarm *swarm, uint64_t *bits, size_t count, dm_error *err);
/* The same on the device, one uint64_t per machine; NULL in a swarm without hooks. */
DM_API dm_device_buffer *dm_swarm_hook_bits(const dm_swarm *swarm);

/* ---- Looking into machines ---- (all wait for the stream) */

DM_API dm_status dm_swarm_get_registers(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                        dm_gb_registers *out, dm_error *err);
DM_API dm_status dm_swarm_get_counters(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                       dm_gb_counters *out, dm_error *err);
/* Memory as dm_gb_peek gives it. */
DM_API dm_status dm_swarm_read(dm_swarm *swarm, uint32_t machine, uint16_t address, void *to,
                               size_t size, dm_error *err);
/* As dm_gb_poke. */
DM_API dm_status dm_swarm_poke(dm_swarm *swarm, uint32_t machine, uint16_t address, uint8_t value,
                               dm_error *err);
/* Many machines in one call: the bytes at `addresses` of machines[i] begin at to[i x address_count], values likewise.
 * `machines` NULL: all of them. Registers (FF00-FF7F) are not among them, and only RAM is poked: 8000-FE9F, FF80-FFFE.
 * All is checked before one byte changes. The first call compiles a small kernel on CUDA. */
DM_API dm_status dm_swarm_read_many(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                    const uint16_t *addresses, size_t address_count, uint8_t *to,
                                    dm_error *err);
DM_API dm_status dm_swarm_poke_many(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                    const uint16_t *addresses, size_t address_count,
                                    const uint8_t *values, dm_error *err);
/* 160 x 144 shades; DM_EINVAL in a swarm without pictures. */
DM_API dm_status dm_swarm_get_picture(dm_swarm *swarm, uint32_t machine, uint8_t *shades,
                                      dm_error *err);
/* One machine as a file that dm_gb_load_state reads. */
DM_API dm_status dm_swarm_save_machine(dm_swarm *swarm, uint32_t machine, const char *path,
                                       dm_error *err);
/* Chosen machines to and from memory of count x dm_swarm_state_bytes bytes: the state of machines[i]
 * begins at i times that, as dm_gb_load_state_bytes reads it, with zeros behind those of ROMs whose
 * states are shorter. Loading puts each machine in the state given for it, with a blank screen until
 * it has drawn a picture; episode and stacks go on. All states are checked before one machine
 * changes.
 *
 *     const uint32_t best = 7, others[2] = {3, 4};       // 3 and 4 go on from where 7 is
 *     size_t size = dm_swarm_state_bytes(swarm);
 *     uint8_t *states = malloc(2 * size);
 *     dm_swarm_save_states(swarm, &best, 1, states, size, &err);
 *     memcpy(states + size, states, size);
 *     dm_swarm_load_states(swarm, others, 2, states, 2 * size, &err); */
DM_API size_t dm_swarm_state_bytes(const dm_swarm *swarm);
DM_API dm_status dm_swarm_save_states(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                      void *to, size_t size, dm_error *err);
DM_API dm_status dm_swarm_load_states(dm_swarm *swarm, const uint32_t *machines, size_t count,
                                      const void *states, size_t size, dm_error *err);

/* ---- Snapshots ----
 * Numbers 0 .. rom_count-1 are the starts of the ROMs; `desc.snapshots` more follow, empty. */

/* Keep a machine as it is, with its picture, as a snapshot. Queued; copies on the device. */
DM_API dm_status dm_swarm_snapshot(dm_swarm *swarm, uint32_t machine, uint32_t snapshot,
                                   dm_error *err);
/* From a file of dm_gb_save_state, of the given ROM. */
DM_API dm_status dm_swarm_snapshot_load(dm_swarm *swarm, uint32_t rom, const char *path,
                                        uint32_t snapshot, dm_error *err);

/* As dm_swarm_poke_many. */
DM_API dm_status dm_swarm_poke_snapshots(dm_swarm *swarm, const uint32_t *snapshots, size_t count,
                                         const uint16_t *addresses, size_t address_count,
                                         const uint8_t *values, dm_error *err);

/* ---- Where episodes start ----
 * From the snapshot that a machine was last reset to; or from a set. */

/* From now on autoreset, and resets that name no snapshot, draw from these: each by its weight, or all the same
 * (`weights` NULL), on the device, from (seed, machine, how often it was reset). Machines of a ROM that none of them is
 * of start as before. 0 snapshots: no set. The set is not part of dm_swarm_save.
 *
 *     const uint32_t levels[3] = {1, 2, 3};
 *     const float weights[3] = {1, 1, 4};
 *     dm_swarm_set_starts(swarm, levels, weights, 3, &err);
 *     dm_swarm_reset(swarm, NULL, NULL, &err); */
DM_API dm_status dm_swarm_set_starts(dm_swarm *swarm, const uint32_t *snapshots,
                                     const float *weights, size_t count, dm_error *err);
/* While there is a set: a uint32_t per machine on the device, the snapshot that it starts its next episodes from, or
 * UINT32_MAX, which all of them are at first: drawn. Kernels of the caller may write it between steps; a snapshot that
 * does not match counts as a fault and one is drawn. */
DM_API dm_device_buffer *dm_swarm_start_choices(const dm_swarm *swarm);
/* How many different games do the machines play? All are reset, then all press the same keys for `steps` steps.
 * Machines with the same observations in every step count as one. All are reset again at the end. */
DM_API dm_status dm_swarm_count_starts(dm_swarm *swarm, uint32_t steps, size_t *different,
                                       dm_error *err);

/* ---- The whole swarm ----
 * Machines, pictures, observation stacks, progress and snapshots in one file, with a hash. Loading
 * wants a swarm of the same ROMs, count and observations; anything else, or a damaged file, is
 * refused with the reason and changes nothing. */
DM_API dm_status dm_swarm_save(dm_swarm *swarm, const char *path, dm_error *err);
DM_API dm_status dm_swarm_load(dm_swarm *swarm, const char *path, dm_error *err);

#ifdef __cplusplus
}
#endif

#endif
