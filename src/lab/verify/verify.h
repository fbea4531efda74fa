/* SPDX-License-Identifier: MIT */
/* verify.h - two backends in lockstep: the reference, and the device under test (dut).
 *
 * Both start equal and get the same keys. After every `compare_every` steps the registers of each
 * machine are compared, the T-cycles since the start, the given regions of memory and, if asked
 * for, the picture. At the first difference it stops and describes it (bundle.h keeps it).
 *
 * By instruction (one machine, if both backends can): registers and cycles after each instruction.
 *
 * Known differences of a reference may be left out, field by field, or compared only from some step
 * on; the verdict says so. */
#ifndef DM_LAB_VERIFY_H
#define DM_LAB_VERIFY_H

#include "lab/actions.h"
#include "lab/backend.h"

/* What can be left out of a comparison. */
enum {
    DM_LAB_PC = 1 << 0,
    DM_LAB_SP = 1 << 1,
    DM_LAB_A = 1 << 2,
    DM_LAB_F = 1 << 3,
    DM_LAB_B = 1 << 4,
    DM_LAB_C = 1 << 5,
    DM_LAB_D = 1 << 6,
    DM_LAB_E = 1 << 7,
    DM_LAB_H = 1 << 8,
    DM_LAB_L = 1 << 9,
    DM_LAB_CYCLES = 1 << 10,
    DM_LAB_STACK = 1 << 11, /* the DM_LAB_STACK_BYTES below SP, which hold nothing any more */
    DM_LAB_REGISTERS = (1 << 10) - 1,
};
#define DM_LAB_STACK_BYTES 64u
/* "cycles,f" to a mask; DM_EINVAL for an unknown name. */
dm_status dm_lab_fields_parse(const char *text, uint32_t *mask, dm_error *err);
void dm_lab_fields_text(uint32_t mask, char *out, size_t size);
/* The fields that a backend cannot show and that must be left out: registers and cycles, or none. */
uint32_t dm_lab_fields_unseen(const dm_lab_kind *reference, const dm_lab_kind *dut);
/* Registers, and cycles where `ignore` does not say otherwise. */
bool dm_lab_views_same(const dm_lab_view *a, const dm_lab_view *b, uint32_t ignore);
/* "C000:C100", the end just outside. */
dm_status dm_lab_region_parse(const char *text, dm_swarm_region *out, dm_error *err);

typedef struct dm_lab_verify {
    const dm_lab_kind *reference, *dut;
    const uint8_t *rom;
    size_t rom_size;
    uint64_t envs;
    uint32_t frames_per_step, release_after_frames;
    uint64_t steps, compare_every;
    uint64_t settle; /* steps before the first comparison */
    dm_lab_start start;
    const char *state; /* of DM_LAB_START_STATE: its file */
    bool force_dmg;    /* as in dm_gb_options */
    dm_swarm_region regions[DM_LAB_REGIONS_MAX];
    size_t region_count;
    bool compare_frame;
    bool by_instruction;
    uint32_t ignore; /* DM_LAB_PC ... */
    /* A difference is forgiven if one side reaches the other's state within so many cycles; such
     * cases are counted and reported. 0: never. */
    uint32_t slack;
    dm_lab_actions actions;
    const char *recording; /* of the reference `recorded`: its file */
    const char *record;    /* write the reference's side there (recording.h); NULL: nowhere */
} dm_lab_verify;

/* One side at the moment of a difference. */
typedef struct dm_lab_side {
    dm_lab_view view;
    uint8_t *regions[DM_LAB_REGIONS_MAX]; /* bytes of each */
    uint8_t *picture;                     /* NULL: not compared */
    dm_buffer state;                      /* the backend's own format; may be empty */
} dm_lab_side;

typedef struct dm_lab_verdict {
    bool matched, interrupted;
    uint64_t steps_done, compared; /* the latter counts comparisons of a machine */
    uint64_t instructions;         /* compared one by one */
    uint64_t met, met_most;        /* met only later, and after how many cycles at most */
    /* The first difference. */
    uint64_t step; /* steps done when it was seen; 0: the starts differ */
    uint64_t machine;
    uint64_t last_good; /* steps done at the last comparison without one */
    dm_lab_side reference, dut;
    dm_buffer diff; /* a line for each field that differs */
} dm_lab_verdict;

/* DM_OK: it ran, and the verdict says whether they agree. `label` is for the progress bar; NULL:
 * none. The caller releases the verdict. */
dm_status dm_lab_verify_run(const dm_lab_verify *v, const char *label, dm_lab_verdict *out,
                            dm_error *err);
void dm_lab_verdict_deinit(dm_lab_verdict *verdict);

#endif
