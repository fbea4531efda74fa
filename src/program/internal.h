/* SPDX-License-Identifier: MIT */
/* internal.h - a reward program inside the library; include/dotmatrix/program.h is the public API.
 *
 *   reward.py ─► tree ─► rewrite.c ─► a kernel of the dialect ─► C | CUDA text ─► a module of its own
 *                            ▲                                                      launched after a step
 *                       prelude.py (what dm.u8 and the like are)
 *
 *   program.c   loading: the passes, the memory's layout, the public API       rewrite.c  names of dotmatrix
 *   names.def   those names                                                    launch.c   on a device
 *   block.c     the memory behind a machine's save state                       single.c   beside one dm_gb
 *
 * One thread of the kernel is one machine. The kernel makes the three arguments of the program's function, which are
 * structs of array views, calls it, and leaves the answer in arrays. Start with program.c. */
#ifndef DM_PROGRAM_INTERNAL_H
#define DM_PROGRAM_INTERNAL_H

#include "base/hash.h"
#include "lang/compile.h"
#include "romtools/symbols.h"

#include <dotmatrix/device.h>
#include <dotmatrix/program.h>

/* What the memory's fields are. */
typedef enum dm_program_field_kind {
    DM_PROGRAM_VALUE, /* score: int */
    DM_PROGRAM_ARRAY, /* dm.Array(8, int) */
    DM_PROGRAM_BITMAP,
    DM_PROGRAM_SET
} dm_program_field_kind;

typedef struct dm_program_field {
    dm_program_field_kind kind;
    const char *name;
    const dm_ast *type, *count; /* as written; NULL: 32 bits, or one */
    const dm_ast *ast;
    /* Found once names are known. */
    uint32_t offset, elements, size; /* in a machine's memory; of one element */
    bool is_bool;
} dm_program_field;

/* Results of rewriting a file; they live as long as the compilation. */
typedef struct dm_program_parts {
    const char *name;   /* of the file */
    const char *wanted; /* the function that is meant; NULL: the only one */
    dm_lang_source *prelude;
    const char *function, *memory_class; /* memory_class NULL: no memory */
    const dm_ast *function_ast, *observations;
    char order[3]; /* of the function's parameters: 'm', 'k' (memory), 'o' */
    int parameter_count;
    dm_program_field fields[DM_PROGRAM_FIELDS_MAX];
    int field_count;
    const char *metrics[DM_PROGRAM_METRICS_MAX];
    int metric_count;
    dm_program_hook hooks[DM_PROGRAM_HOOKS_MAX];
    int hook_count;
    dm_program_symbol *used;
    int used_count, used_capacity;
    uint32_t observed; /* floats, from constant indices */
    bool observes_anywhere;
    dm_symbols symbols;
    bool has_symbols, symbols_given; /* given: instead of the file that the program names */
} dm_program_parts;

/* Rewrite a file's tree to the kernel dialect, and add the kernel; mistakes are reported to `lang`. */
void dm_program_rewrite(dm_lang *lang, dm_ast *tree, dm_program_parts *parts);

/* ---- The argument block ---- (the kernel's parameters, in this order: see kernel_text in rewrite.c) */

/* What this launch does for a machine; a word per machine. */
enum dm_program_turn {
    DM_PROGRAM_STEP, /* a step was made */
    DM_PROGRAM_FRESH, /* it was reset, its memory with it (swarm/program.c); reward and ends are dropped */
    DM_PROGRAM_SKIP /* nothing is done */
};

/* What a machine's program answered. */
typedef struct dm_program_answer {
    float reward;
    uint8_t terminated, truncated, pad[2];
} dm_program_answer;

/* A metric of a machine. */
typedef struct dm_program_metric {
    float value, sum;         /* in this step, and in the episode so far */
    double last_sum, sum_sum; /* over the episodes that ended: of the last value, of the sum */
} dm_program_metric;

/* Device addresses of all that the kernel reads and writes. */
typedef struct dm_program_places {
    uint64_t count;
    void *machines, *memory, *roms;
    uint64_t machine_stride, memory_stride, rom_bytes;
    void *rom_starts; /* uint32_t per ROM: where it begins in `roms` */
    uint32_t rom_count;
    void *turns, *actions; /* uint32_t per machine */
    void *progress;        /* 16 bytes per machine: uint64_t steps, uint32_t of the episode */
    void *hooks;           /* uint64_t per machine; NULL: the program has none */
    void *answers;         /* dm_program_answer */
    void *starts;          /* int32_t per machine: the snapshot of its next episode; -1: drawn */
    float *observations;   /* observation_size floats per machine */
    dm_program_metric *metrics; /* metric_count per machine */
    uint8_t *kept;              /* dm_program_stride bytes per machine */
    uint64_t seed, first_machine;
} dm_program_places;

/* Bytes from one machine's memory to the next one's. */
uint32_t dm_program_stride(const dm_program *program);
dm_program *dm_program_share(dm_program *program); /* one more owner; NULL stays NULL */
dm_hash128 dm_program_memory_hash(const dm_program *program);

/* ---- Memory behind a machine's save state ---- (block.c; docs/save-state.md) */

size_t dm_program_block_size(const dm_program *program); /* 0: no memory */
void dm_program_block_write(const dm_program *program, const void *memory, uint8_t *block);
/* Is the block (NULL: there is none) of this program's memory, and whole? */
dm_status dm_program_block_check(const dm_program *program, const uint8_t *block, size_t size,
                                 dm_error *err);
/* A checked block into dm_program_stride bytes of memory; NULL: zeros. */
void dm_program_block_read(const dm_program *program, const uint8_t *block, void *memory);
/* Repair values that no program could have left, such as a bool of 2, in `count` memories. */
void dm_program_mend(const dm_program *program, uint8_t *memories, uint64_t count);
/* A machine's state with the block behind it as a file, and the memory of such a file. */
dm_status dm_program_save_file(const dm_program *program, const dm_gb *gb, const void *memory,
                               const char *path, dm_error *err);
dm_status dm_program_load_file(const dm_program *program, const char *path, void *memory,
                               bool *found, dm_error *err);

/* A program compiled for a device. */
typedef struct dm_program_kernel dm_program_kernel;
dm_status dm_program_kernel_create(const dm_program *program, dm_device *device,
                                   dm_program_kernel **out, dm_error *err);
void dm_program_kernel_destroy(dm_program_kernel *kernel);
/* Queue one run over all machines. */
dm_status dm_program_kernel_launch(dm_program_kernel *kernel, dm_stream *stream,
                                   const dm_program_places *places, dm_error *err);
/* DM_EINVAL if a launch recorded a fault. Does not wait on the CPU; on CUDA it waits for the stream. */
dm_status dm_program_kernel_check(dm_program_kernel *kernel, dm_stream *stream, dm_error *err);

struct dm_program {
    int owners; /* atomic */
    char *name, *messages, *texts[2];
    const char *entries[2]; /* what the kernel is called in each text */
    dm_arena arena;
    dm_program_info info;
    uint32_t field_count;
    dm_program_field *fields;
    dm_hash128 hash;
};

#endif
