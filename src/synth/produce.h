/* SPDX-License-Identifier: MIT */
/* produce.h - datasets of kernels: generated, compiled, verified, written. Start here, then record.h.
 *
 *   gen/, natural/: Python text ─► check/compile.h: C and CUDA texts ─► check/verify.h ─► store/: shards
 *                                    └─► lesson/: descriptions, test, difficulty, cost
 *
 * A dataset has `count` slots, which take turns over the categories. Each slot gives one pair (Python
 * text and compiled texts), which depends on the options alone, not on threads, processes or
 * interruptions. Shards hold a fixed range of slots, so that several processes (ranks) each make
 * whole ones:
 *
 *   manifest.json             what it was made with; at the end every shard with its checksum
 *   stats.json                counts, and how long it took
 *   pairs-00000.jsonl ...     records, one a line (record.h)
 *   rejected-00000.jsonl ...  programs that do not compile, when asked for
 *   failed/<id>-<attempt>.json  pairs that failed their verification: reports for the compiler
 *   state/                    of the complete shards, for resuming
 *
 * A folder that has been begun is continued, by the same options only.
 *
 *     gen/      random kernels: a seed, a slot and an attempt give a text
 *     natural/  kernels with a purpose, from a library of idioms, and their descriptions
 *     lesson/   other parts of a record: descriptions checked, reference, test, difficulty, cost
 *     check/    compiling a text, running it, gradients against finite differences
 *     store/    records, shards, the manifest, canonical forms, counts
 *     audit/    any dataset: validation, summary, web page */
#ifndef DM_SYNTH_PRODUCE_H
#define DM_SYNTH_PRODUCE_H

#include "synth/gen/profile/profile.h"
#include "synth/store/record.h"

#define DM_SYNTH_FORMAT "dotmatrix-kernels-2"

typedef struct dm_synth_produce_options {
    const char *folder;
    uint64_t count, seed;
    int categories[DM_SYNTH_CATEGORY_COUNT]; /* dm_synth_category, each once */
    int category_count;
    int texts;        /* DM_SYNTH_TEXT_..., of compile.h */
    bool rejected;    /* rejected programs, too */
    const char *warp; /* a Python with warp-lang: Warp's own texts besides; NULL: none */
    int programs;     /* percent of the pairs that are several kernels with their launches */
    bool repairs, slower, ptx; /* in the records, from level run on: see record.h */
    bool timing;               /* measured times in the records; they then differ from run to run */
    dm_synth_level level;
    dm_synth_style style;
    const char *profile; /* a file; NULL: the built-in one */
    int shard_lines;
    bool compress;   /* shards by zstd (store/compress.h) */
    int jobs;        /* threads; 0: one per CPU */
    int rank, ranks; /* this process, and how many there are; 0, 1 when alone */
    bool quiet;      /* no progress bar */
    bool (*refuse)(const dm_synth_record *record); /* a check besides; for tests; may be NULL */
} dm_synth_produce_options;

typedef struct dm_synth_produced {
    uint64_t shipped;         /* by this run */
    uint64_t shards, missing; /* of the dataset; those that are not complete yet */
    uint64_t failed;          /* pairs set aside, in all runs */
    double seconds;           /* of this run */
} dm_synth_produced;

dm_status dm_synth_produce(const dm_synth_produce_options *options, dm_synth_produced *produced,
                           dm_error *err);

/* Rank and number of processes, as mpirun, mpiexec and srun tell them; 0 of 1 when they do not. */
void dm_synth_ranks(int *rank, int *ranks);

#endif
