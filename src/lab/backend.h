/* SPDX-License-Identifier: MIT */
/* backend.h - one interface to everything that runs Game Boys and can be inspected: ours and others'.
 *
 *   verify/  two backends in lockstep; bundles, recordings, traces     reference/  other emulators
 *   bench/   backends take turns; figures as JSON                      report/     tables and plots
 *
 * Each of these takes the backend as a parameter. A backend holds `count` machines of one ROM; a step
 * runs each of them for `frames_per_step` frames of 70,224 T-cycles under one mask of keys.
 *
 *   single         one machine of ours, alone (dotmatrix/gb.h)
 *   vec_cpu        a swarm on threads         vec_cuda      a swarm on a GPU
 *   mgba_single    libmgba, one machine       mgba_vec_mt   many, on threads
 *   pyboy_single   PyBoy, one machine         pyboy_vec_mp  many, in worker processes
 *   gambatte       Debian's libretro core     libretro:PATH any other; pictures and work RAM only
 *   wrong_single   ours with a bug put in: tests the harness
 *   wrong_vec      many, of which those with odd numbers have it
 *   recorded       a reference's side of a verification, from a file (recording.h)
 *
 * Machines that are compared must start equal; dm_lab_start says how (docs/verify.md).
 *
 * A backend belongs to one thread at a time. */
#ifndef DM_LAB_BACKEND_H
#define DM_LAB_BACKEND_H

#include "base/buffer.h"

#include <dotmatrix/gb.h>
#include <dotmatrix/swarm.h>

typedef enum dm_lab_start {
    DM_LAB_START_ZERO,      /* everything 0, LCD off, PC = 0100, DIV = 0 */
    DM_LAB_START_POST_BOOT, /* as after the boot ROM, with LCD and DIV started again at 0 */
    DM_LAB_START_GAME,      /* however the backend starts a game by itself; for benchmarks */
    DM_LAB_START_STATE,     /* where the save state in `state` was made; backends of ours only */
    DM_LAB_STARTS
} dm_lab_start;
/* Names, ended by NULL. */
extern const char *const dm_lab_start_names[];

#define DM_LAB_REGIONS_MAX 16

typedef struct dm_lab_desc {
    const uint8_t *rom;
    size_t rom_size;
    uint64_t count;
    uint32_t frames_per_step;
    uint32_t release_after_frames; /* the keys are up after so many; at most frames_per_step */
    dm_lab_start start;
    const char *state;    /* of DM_LAB_START_STATE: a file of dm_gb_save_state */
    bool force_dmg;       /* as in dm_gb_options */
    bool keep_idle_loops; /* likewise; of ours */
    bool draw;            /* a picture is wanted after each step */
    bool draw_every;      /* and all those within it are drawn too; with `draw` */
    bool exact; /* stop at the instruction boundary that ours stops at; false: as fast as it goes */
    /* Memory that will be read after each step; a hint. At most DM_LAB_REGIONS_MAX. */
    const dm_swarm_region *regions;
    size_t region_count;
    int workers; /* threads or processes; 0: one per CPU */
    /* Only for swarms: what a step computes besides. Zero is full_step without observations. */
    dm_swarm_stage stage;
    uint32_t observations;
    dm_swarm_generator generator; /* for steps that are given no keys */
    dm_swarm_codec codec;         /* of its actions */
    uint64_t seed;
    const dm_gb_hook *hooks; /* that its step watches */
    size_t hook_count;
    /* On CUDA, as in dm_swarm_desc; 0: chosen by the number of machines. */
    uint32_t lanes_per_warp, block_threads, blocks_per_multiprocessor;
    const char *recording; /* of `recorded`: its file */
    uint32_t copies;       /* room for so many machines in copy_from */
    const char *core;      /* the kind's, set by dm_lab_backend_create */
} dm_lab_desc;

/* What can be seen of one machine. */
typedef struct dm_lab_view {
    dm_gb_registers registers;
    bool has_cycles, has_instructions;
    uint64_t cycles, instructions; /* since the start */
    uint64_t halted;               /* cycles in HALT; where instructions are counted */
} dm_lab_view;

/* The launch of a step on the device. Zeros where it does not apply. */
typedef struct dm_lab_launch {
    uint32_t lanes_per_warp, block_threads;
    int registers;        /* of a thread */
    uint64_t local_bytes; /* likewise */
    uint64_t bytes_per_machine;
} dm_lab_launch;

typedef struct dm_lab_backend dm_lab_backend;

typedef struct dm_lab_kind {
    const char *name;
    const char *install; /* the command that installs it; NULL: always there */
    const char *sound;   /* what it does about sound in a benchmark */
    bool is_reference;   /* other people's */
    bool is_single;      /* has exactly one machine */
    bool always_draws;   /* every frame; it cannot leave that out */
    const char *core;    /* of a libretro core: its file; NULL: Debian's gambatte */
    /* A backend of a single machine like these that can be stepped by instruction; NULL: there is
     * none, or this one can. */
    const struct dm_lab_kind *alone;
    /* The version of what it runs on, "0.10.1"; DM_EUNAVAILABLE when it is not there. */
    dm_status (*version)(const struct dm_lab_kind *kind, char *out, size_t size, dm_error *err);
    dm_status (*create)(const dm_lab_desc *desc, void **self, dm_error *err);
    void (*destroy)(void *self);
    /* One step of all machines; keys[machine], or NULL for the generator's keys (swarms only). May
     * return before the work is done. */
    dm_status (*step)(void *self, const uint8_t *keys, dm_error *err);
    /* Wait for all steps; NULL: they are done when `step` returns. */
    dm_status (*synchronize)(void *self, dm_error *err);
    /* These wait. A backend that shows no registers has no `look`, and saves no state. */
    dm_status (*look)(void *self, uint64_t machine, dm_lab_view *out, dm_error *err);
    dm_status (*read)(void *self, uint64_t machine, uint16_t address, uint8_t *to, size_t size,
                      dm_error *err);
    dm_status (*picture)(void *self, uint64_t machine, uint8_t *shades, dm_error *err);
    /* The state in the backend's own format. */
    dm_status (*save)(void *self, uint64_t machine, dm_buffer *out, dm_error *err);
    /* Of a single machine, where it can: hold keys, and execute one instruction (a HALT or an
     * interrupt dispatch counts as one). NULL: it cannot. */
    void (*set_keys)(void *self, uint8_t keys);
    void (*step_instruction)(void *self);
    /* A single machine, stepped by instruction, that goes on where `machine` is; its cycles count
     * on. NULL: it cannot. */
    dm_status (*fork)(void *self, uint64_t machine, const dm_lab_desc *desc, dm_lab_backend *out,
                      dm_error *err);
    /* In a swarm that has not run: machine i becomes a copy of machine i modulo `few` of the swarm
     * `others`, on whatever device. More than `few` machines need desc.copies. NULL: it cannot. */
    dm_status (*copy_from)(void *self, void *others, uint64_t few, dm_error *err);
    /* NULL: it has nothing to tell. */
    dm_status (*launch)(void *self, dm_lab_launch *out, dm_error *err);
} dm_lab_kind;

struct dm_lab_backend {
    const dm_lab_kind *kind;
    void *self;
    dm_lab_desc desc;
};

/* An unknown name is DM_EINVAL and lists those there are. libretro:PATH is a kind of its own for
 * each path, at most DM_LAB_CORES_MAX of them. */
#define DM_LAB_CORES_MAX 8
dm_status dm_lab_kind_find(const char *name, const dm_lab_kind **out, dm_error *err);
/* For help and messages: "single, vec_cpu, ...". */
const char *dm_lab_kind_list(void);

/* The ROM must live as long as the backend. A reference that is not installed is DM_EUNAVAILABLE,
 * with the command that installs it. */
dm_status dm_lab_backend_create(const dm_lab_kind *kind, const dm_lab_desc *desc,
                                dm_lab_backend *out, dm_error *err);
void dm_lab_backend_destroy(dm_lab_backend *backend);
/* A step of all machines, and the wait for it. */
dm_status dm_lab_backend_step(dm_lab_backend *backend, const uint8_t *keys, dm_error *err);
dm_status dm_lab_backend_synchronize(dm_lab_backend *backend, dm_error *err);

/* A machine of ours in the state that `desc->start` names; other backends are made equal to it. */
dm_status dm_lab_start_machine(const dm_lab_desc *desc, dm_gb **out, dm_error *err);

/* The sound unit's registers read back as they should; no samples are made. */
#define DM_LAB_SOUND_REGISTERS "registers, no samples"

extern const dm_lab_kind dm_lab_single, dm_lab_wrong, dm_lab_wrong_vec, dm_lab_vec_cpu,
    dm_lab_vec_cuda, dm_lab_mgba_single, dm_lab_mgba_vec, dm_lab_pyboy_single, dm_lab_pyboy_vec,
    dm_lab_gambatte, dm_lab_recorded;

#endif
