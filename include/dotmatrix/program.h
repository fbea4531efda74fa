/* SPDX-License-Identifier: MIT */
/* program.h - reward programs: what a step of a Game Boy is worth, written in Python syntax.
 *
 *     import dotmatrix as dm
 *
 *     @dm.memory                     # kept per machine: zero at the start, part of snapshots and saves
 *     class Memory:
 *         score: int
 *
 *     @dm.program(symbols="game.sym")
 *     def step(m: dm.Machine, mem: Memory, out: dm.Out):
 *         score = dm.u16(m, "wScore")
 *         out.reward = float(score - mem.score)
 *         out.terminated = dm.u8(m, "wLives") == 0
 *         mem.score = score
 *
 * A swarm takes one in dm_swarm_desc.program (dotmatrix/swarm.h) and runs it after each step, on its
 * own device. It is compiled alone, in some tenths of a second, and kept in the cache: the emulator's
 * kernels are not compiled again. docs/rewards.md is the tutorial and lists what a program may use.
 *
 *     dm_program *program;
 *     if (dm_program_load("reward.py", NULL, &program, &err) != DM_OK)
 *         puts(program != NULL ? dm_program_messages(program) : err.message);
 *     dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 1024, .program = program};
 *     dm_swarm_create(device, &desc, &swarm, &err);
 *     dm_program_destroy(program);                       // the swarm keeps what it needs
 *
 * Threads: a program never changes once it is loaded; any thread may read it. */
#ifndef DOTMATRIX_PROGRAM_H
#define DOTMATRIX_PROGRAM_H

#include <dotmatrix/base.h>
#include <dotmatrix/gb.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dm_program dm_program;

#define DM_PROGRAM_METRICS_MAX 16 /* of one program, as the next three */
#define DM_PROGRAM_HOOKS_MAX 64
#define DM_PROGRAM_FIELDS_MAX 64
#define DM_PROGRAM_MEMORY_MAX (1u << 20) /* bytes for each machine */

/* Zero is a good default for all of it. */
typedef struct dm_program_options {
    uint32_t first_line;  /* of the text in its file, for messages; 0: 1 */
    const char *function; /* the one decorated with @dm.program that is meant; NULL: there is one */
    const char *symbols;  /* a symbol file instead of the one that the program names */
} dm_program_options;

/* Read and compile a program: DM_ECOMPILE for a mistake in it, with its line. *out is set then all
 * the same, for dm_program_messages, and must be destroyed; for other failures it is NULL. */
DM_API dm_status dm_program_load(const char *path, const dm_program_options *options,
                                 dm_program **out, dm_error *err);
/* The same from memory. `name` is what messages call it; a symbol file is looked for in its folder. */
DM_API dm_status dm_program_create(const char *name, const char *text, size_t size,
                                   const dm_program_options *options, dm_program **out,
                                   dm_error *err);
DM_API void dm_program_destroy(dm_program *program);

/* Everything that was wrong: place, line, caret and hint for each. "" when nothing was. */
DM_API const char *dm_program_messages(const dm_program *program);

/* A place in ROM whose execution a program asks for with dm.hit; its bit is its number here. */
typedef struct dm_program_hook {
    const char *name; /* as the program writes it */
    uint16_t bank, address;
    bool any_bank; /* the program names none */
} dm_program_hook;

/* A name of the symbol file that the program uses. */
typedef struct dm_program_symbol {
    const char *name;
    uint16_t address;
} dm_program_symbol;

typedef struct dm_program_info {
    const char *name, *function;
    uint32_t observation_size; /* floats; 0: the program observes nothing */
    uint32_t memory_bytes;     /* of one machine */
    char memory_hash[33];      /* of the fields' names, types and lengths */
    size_t metric_count, hook_count, symbol_count;
    const char *const *metrics;
    const dm_program_hook *hooks;
    const dm_program_symbol *symbols;
} dm_program_info;

/* Texts belong to the program. */
DM_API dm_program_info dm_program_get_info(const dm_program *program);

/* The text that is compiled: C, or CUDA C++. */
DM_API const char *dm_program_source(const dm_program *program, bool cuda);

/* ---- One machine ---- */

/* A program beside a dm_gb of the caller's, which must outlive it and whose hooks it sets. The machine is run by the
 * caller; a step is whatever was run since the last one. */
typedef struct dm_program_single dm_program_single;

typedef struct dm_program_outcome {
    float reward;
    bool terminated, truncated;
    const float *observations; /* observation_size of them; valid until the next call */
} dm_program_outcome;

/* `seed` and `number` are what a machine of a swarm has; random numbers are made from them. The
 * program is run once for the machine as it is, and that reward is dropped. */
DM_API dm_status dm_program_single_create(const dm_program *program, dm_gb *gb, uint64_t seed,
                                          uint64_t number, dm_program_single **out, dm_error *err);
DM_API void dm_program_single_destroy(dm_program_single *single);
/* Judge what was run; `action` is what the program reads as m.action. */
DM_API dm_status dm_program_single_step(dm_program_single *single, uint32_t action,
                                        dm_program_outcome *out, dm_error *err);
/* A new episode begins with the machine as it is: memory is zeroed, and the program is run once; that reward is
 * dropped. */
DM_API dm_status dm_program_single_reset(dm_program_single *single, dm_error *err);
/* Save the machine's state with the program's memory behind it: dm_gb_load_state and swarms take such a file. */
DM_API dm_status dm_program_single_save_state(dm_program_single *single, const char *path,
                                              dm_error *err);
/* The memory of such a file; *found tells whether there was any. That of a program with other fields is refused. The
 * machine's own state is dm_gb_load_state's. */
DM_API dm_status dm_program_single_load_memory(dm_program_single *single, const char *path,
                                               bool *found, dm_error *err);
/* The value of a metric in the last step. */
DM_API float dm_program_single_metric(const dm_program_single *single, size_t metric);
/* The memory: memory_bytes of them, the caller's to read and write between calls. */
DM_API void *dm_program_single_memory(dm_program_single *single);

#ifdef __cplusplus
}
#endif

#endif
