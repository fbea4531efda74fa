/* SPDX-License-Identifier: MIT */
/* record.h - one entry of a kernel dataset, and its line of JSON.
 *
 * A record is a kernel in Python syntax with what the compiler made of it. Every text stands alone:
 * `cuda_forward` and `cuda_backward` each hold the types and helpers that they need, so that either
 * compiles by itself.
 *
 *     dm_synth_record record;
 *     dm_synth_record_init(&record);
 *     dm_synth_record_read(&record, line, size, "pairs-00000.jsonl", 12, err);
 *     puts(dm_buffer_text(&record.python_source));
 *     dm_synth_record_deinit(&record);
 *
 * A record is reused (dm_synth_record_clear) so that its buffers stay warm. One thread at a time.
 * docs/dataset.md describes the fields. */
#ifndef DM_SYNTH_RECORD_H
#define DM_SYNTH_RECORD_H

#include "base/buffer.h"
#include "base/hash.h"

/* What a kernel is about; the order is the order in which a dataset takes turns. */
typedef enum dm_synth_category {
    DM_SYNTH_ARITHMETIC,
    DM_SYNTH_VECTOR,
    DM_SYNTH_MATRIX,
    DM_SYNTH_CONTROL_FLOW,
    DM_SYNTH_MATH,
    DM_SYNTH_ATOMIC,
    DM_SYNTH_REDUCTION,
    DM_SYNTH_STENCIL,
    DM_SYNTH_STRUCT,
    DM_SYNTH_FUNCTION,
    DM_SYNTH_MULTI_DIM,
    DM_SYNTH_RANDOM,
    DM_SYNTH_CATEGORY_COUNT
} dm_synth_category;

/* "arithmetic", "control_flow" ...; a list that ends with NULL. */
extern const char *const dm_synth_category_names[];
/* -1 when there is none of that name. */
int dm_synth_category_find(const char *name);
/* The same in any list that ends with NULL; -1 for no name. */
int dm_synth_name_find(const char *const *names, const char *name);

/* How much of a record was checked; each level holds the ones before it. */
typedef enum dm_synth_level {
    DM_SYNTH_VERIFY_NONE,
    DM_SYNTH_VERIFY_COMPILE, /* C by cc, CUDA by NVRTC, where the record has those texts */
    DM_SYNTH_VERIFY_RUN,     /* on the CPU: outputs finite, and changed by every input */
    DM_SYNTH_VERIFY_GRAD,    /* the backward pass in float64 against central differences */
    DM_SYNTH_VERIFY_FULL     /* all of it, and no gradient that is zero everywhere */
} dm_synth_level;
extern const char *const dm_synth_level_names[]; /* "none", "compile" ..., ends with NULL */

/* What the verifier found; the same in every run, whatever the batch and the thread. */
typedef struct dm_synth_verification {
    dm_synth_level level; /* passed up to here */
    bool c_compiled, cuda_compiled;
    bool ran;
    int compared;            /* gradients that were compared with differences */
    double gradient_error;   /* |difference - gradient| / max(1, |difference|), the worst */
    double output_magnitude; /* the largest |output| of the run */
    /* Of the record's test (check/cheat.h); cheats are 0: they were not planted. */
    int cheats;               /* planted, all of them noticed */
    int mutants, noticed;     /* kernels with one operator changed */
    int edges, edges_noticed; /* with < in place of <=, and the like */
} dm_synth_verification;

typedef enum dm_synth_kind {
    DM_SYNTH_PAIR,
    DM_SYNTH_REJECTED /* a program that does not compile: no texts, but diagnostics */
} dm_synth_kind;
extern const char *const dm_synth_kind_names[]; /* "pair", "rejected", ends with NULL */

#define DM_SYNTH_ID_MAX 64
#define DM_SYNTH_NAME_MAX 64

/* Which part of a dataset a record is in, when it is split by record and when it is split by idiom. */
typedef enum dm_synth_part { DM_SYNTH_TRAIN, DM_SYNTH_VALIDATION, DM_SYNTH_TEST } dm_synth_part;
extern const char *const dm_synth_part_names[]; /* "train", "validation", "test", ends with NULL */

typedef struct dm_synth_record {
    dm_synth_kind kind;
    char id[DM_SYNTH_ID_MAX]; /* "<seed>-<slot>", unique in a dataset */
    char kernel_name[DM_SYNTH_NAME_MAX];
    int category;                  /* dm_synth_category; -1 when the record named another one */
    char idiom[DM_SYNTH_NAME_MAX]; /* of the natural style: the family; "": none */
    int difficulty;                /* 1 to 5 (lesson/difficulty.h); 0: not compiled yet */
    dm_buffer line, paragraph, specification; /* descriptions; all empty: there are none */
    dm_buffer python_source; /* a whole file: imports, structs, functions, one kernel */
    dm_buffer cuda_forward;  /* empty: not there */
    dm_buffer cuda_backward; /* empty also when the kernel has no backward pass */
    dm_buffer c_forward, c_backward;
    dm_buffer ir;        /* both passes, as `dotmatrix kernel compile --emit ir` */
    dm_buffer program;   /* of several kernels: temporaries and launches, as JSON */
    dm_buffer reference; /* the kernel as plain Python with NumPy (lesson/numpy.h) */
    dm_buffer test;      /* a program that tests implementations (lesson/test.h) */
    /* A broken form of the program, to be mended: what was done, the text, and what the compiler or the
     * test says of it. */
    char mutation[DM_SYNTH_NAME_MAX]; /* "": there is none */
    bool found_by_test;
    dm_buffer broken, symptom;
    /* A form with the same results that computes more; costs are static (lesson/cost.h). */
    dm_buffer slower;
    double cost, slower_cost;
    /* The same with a loop unrolled, which costs less, and with one split in two (lesson/rewrite.h). */
    dm_buffer unrolled, unfused;
    double unrolled_cost, unfused_cost;
    dm_buffer warp_forward, warp_backward; /* NVIDIA Warp's own text (check/warp_text.h) */
    char warp_version[32];
    dm_buffer ptx;               /* of cuda_forward */
    int registers, shared_bytes; /* of its machine code */
    dm_buffer diagnostics;       /* of a rejected program */
    bool has_backward;
    int forward_lines, backward_lines; /* of the CUDA texts, or of C where there is no CUDA */
    double generation_time_ms;         /* measured; negative: not kept (docs/dataset.md) */
    int attempt;          /* which try of the slot this is; not the first after a duplicate */
    dm_hash128 canonical; /* of the Python text, names and constants erased (canonical.h) */
    dm_synth_verification verification;
} dm_synth_record;

void dm_synth_record_init(dm_synth_record *record);
void dm_synth_record_deinit(dm_synth_record *record);
/* Empty it, keeping its memory. */
void dm_synth_record_clear(dm_synth_record *record);
/* DM_ENOMEM when one of its buffers failed. */
dm_status dm_synth_record_check(dm_synth_record *record, dm_error *err);
/* Exchange what was made of their Python texts: all buffers but python_source. */
void dm_synth_record_swap_texts(dm_synth_record *a, dm_synth_record *b);

/* Take over from `from` what running and other compilers gave: verification, test, repair, which slower
 * form there is, PTX and resources. */
void dm_synth_record_take_found(dm_synth_record *record, const dm_synth_record *from);

/* Append one line of JSON, with its newline. Equal records give equal bytes. */
void dm_synth_record_write(const dm_synth_record *record, dm_buffer *out);
/* The reverse; `line` may end with a newline. A line that is not exactly such a record (a field is
 * missing, of another type or not known) is DM_EFORMAT at file:number. */
dm_status dm_synth_record_read(dm_synth_record *record, const char *line, size_t size,
                               const char *file, int number, dm_error *err);

/* A tenth of the records are for validation and a tenth for tests, by their canonical form; and of the
 * idioms (of the records without one, all are for training), by their names. */
dm_synth_part dm_synth_part_by_record(const dm_synth_record *record);
dm_synth_part dm_synth_part_by_idiom(const char *idiom);

/* "cpu", "cuda" or "both": the devices that it has texts for. */
const char *dm_synth_record_device(const dm_synth_record *record);

/* Lines of a text; a last one without a newline counts too. */
int dm_synth_lines(const dm_buffer *text);

#endif
