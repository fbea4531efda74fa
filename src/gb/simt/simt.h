/* SPDX-License-Identifier: MIT */
/* simt.h - how a GPU runs many Game Boys: start here; kernel text.
 *
 * A thread runs a machine. The threads of a warp execute one instruction stream together, so the speed depends on how
 * much of it the lanes share. A step of a block, with time downwards:
 *
 *   lane 0    lane 1    lane 2    lane 3
 *   fast      fast      fast      fast      an instruction each, the same code for all (fast.h), DM_SIMT_ROUNDS times
 *   fast      trap      fast      fast      lane 1 accesses a device: it traps before anything has changed, and waits
 *   fast      .         trap      fast
 *   ---- vote: do enough lanes wait for those that can go on? (DM_SIMT_PATIENCE) ----
 *   .         service   service   .         the slow path, on a staged copy of the machine (staging.h): queued writes,
 *   .         |         |         .         the one access, events that are due (dm_gb_service, run.h)
 *   fast      replay    fast      fast      a read is replayed with its answer; a write was the last effect
 *   ...
 *   over      fast      fast      over      the run's target is reached: the lane waits for the others
 *   ---- picture: the warp renders the logged lines of its machines, one machine after the other (render.h) ----
 *
 * Which lanes run, wait and service depends on how many machines there are (swarm/launch_config.c):
 *
 *   lanes of a warp   a lane runs       it waits for          and is serviced by (mode/: a file each)
 *   1                 fast_scalar.h     nothing               itself; the machine is staged in shared memory
 *   up to 15          fast.h            lanes of its warp     itself, with the other waiting lanes of its warp
 *   16 or 32          fast.h            machines of its block any warp of the block: its registers wait in its lane
 *                                       (or of its warp)      context, traps are sorted by kind (service.h), and
 *                                                             survivors move into fewer warps (compact)
 *
 * Words:
 *
 *   fast path, slow path   an instruction on plain memory, straight-line; the exact interpreter for everything (sm83.h)
 *   uop                    an opcode as steering bits for the fast path (uop.h)
 *   predecoded             ROM with an instruction word for each address (predecode.h)
 *   page table, attributes   where each page of the address space lies; what is plain there (page_table.h)
 *   smem                   a handle to page tables, uops and attributes in shared memory (smem.h)
 *   predict                what a device will answer, without bringing it up to date (predict.h)
 *   write queue            writes to devices with their time, applied at the next service (write_queue.h)
 *   special access         one that the page table cannot serve
 *   trap, replay           why the fast path stopped (enum dm_gb_trap); the instruction begins again with its answer
 *   service                the slow path taken for a lane that trapped
 *   hot, cold              a lane's registers; its state that is seldom used
 *   machine context        what a machine needs while it runs: state, memory, maps (machine/context.h)
 *   lane context           where hot, cold and context of a machine are kept while another warp services it
 *   staging                a copy of the machine in nearer memory (staging.h, staging_local.h)
 *   slot, compact          a machine's number in its block (lanes.h); survivors moved into fewer warps
 *   rebalance              machines sorted by load and action before a launch (rebalance.h)
 *   line log, line registers   finished scanlines with the registers that draw them (line_log.h), for the renderer
 *   patience, rounds, halves   how many must wait before a service; instructions between votes; a run up to its last
 *                          picture, and the rest
 *
 * On the CPU a warp is one lane and a run is dm_gb_run (cpu/run.h). Tests run all this in blocks of lanes on the host
 * (base/block_host.h). */
#ifndef DM_SIMT_SIMT_H
#define DM_SIMT_SIMT_H

#include "gb/simt/lanes.h"
#include "gb/simt/rebalance.h"
#include "gb/simt/render_packed.h"
#include "gb/simt/service.h"

/* Waiting lanes are serviced when one waits for this many that can still execute: lanes of a warp, or machines of
 * a block that services together. */
#ifndef DM_SIMT_PATIENCE
#define DM_SIMT_PATIENCE 2
#endif
#ifndef DM_SIMT_PATIENCE_BLOCK
#define DM_SIMT_PATIENCE_BLOCK 2
#endif

/* Rounds between votes. A block has to meet for a vote, which costs more than machines that wait where a step takes as
 * long as its slowest block. */
#ifndef DM_SIMT_ROUNDS
#define DM_SIMT_ROUNDS (!DM_SIMT_BLOCK_SERVICE ? 4 : DM_SIMT_THREADS > 128 ? 128 : 256)
#endif

/* Blocks whose warps have at least BLOCK_SERVICE_LANES machines service together (service.h), unless one of the
 * machines took BLOCK_SERVICE_MOST services a frame in the last step: its own warp services such a machine sooner. */
#ifndef DM_SIMT_BLOCK_SERVICE_LANES
#define DM_SIMT_BLOCK_SERVICE_LANES 16
#endif
#define DM_SIMT_BLOCK_SERVICE (DM_SIMT_LANES >= DM_SIMT_BLOCK_SERVICE_LANES)
#ifndef DM_SIMT_BLOCK_SERVICE_MOST
#define DM_SIMT_BLOCK_SERVICE_MOST 100
#endif

/* Fill in the context of a machine; dm_simt_context (mode/) says where the context is. */
DM_FN void dm_simt_context_fill(dm_gb_context *context, const dm_gb_batch *batch, uint32_t machine)
{
    dm_simt_context_init(context, batch, machine);
    context->cold = &dm_simt_lane_context_of(batch, machine)->cold;
    context->line_log = &dm_simt_lane_context_of(batch, machine)->line_log;
}

/* Where a machine is and which path executes it: a file each for one machine a warp and for several. */
#if DM_SIMT_LANES == 1
#include "gb/simt/mode/alone.h"
#else
#include "gb/simt/mode/shared.h"
#endif

/* When enough lanes of the warp wait for those that can go on, each services its machine. False: all are over. */
DM_FN bool dm_simt_service_warp(dm_gb_context *context, dm_gb_hot *hot, enum dm_gb_trap *trap,
                                dm_simt_cost *cost)
{
    const bool waits = dm_gb_trap_waits(*trap);
    const uint32_t waiting = dm_warp_vote(DM_SIMT_MEMBERS, waits);
    const uint32_t able = dm_warp_vote(DM_SIMT_MEMBERS, dm_gb_trap_runs(*trap));
    if (waiting != 0 && dm_popcount_u32(waiting) * DM_SIMT_PATIENCE >= dm_popcount_u32(able)) {
        if (waits) {
            dm_gb_hot copy = *hot;
            *trap = dm_simt_service_own(context, &copy, *trap);
            *hot = copy;
            cost->services++;
        }
        dm_warp_converge(DM_SIMT_MEMBERS);
    }
    return (able | waiting) != 0;
}

#if DM_SIMT_BLOCK_SERVICE
#include "gb/simt/mode/loop_block.h"
#else
#include "gb/simt/mode/loop_warp.h"
#endif

/* The first half of a run ends when the last picture is complete (dm_gb_last_picture), on all
 * machines, so that warps can draw it. Where no picture is wanted there is only the second half. */
DM_FN uint32_t dm_simt_halves(dm_gb_context *context, bool valid, bool draws)
{
    if (valid && draws)
        dm_simt_machine(context)->target = dm_gb_last_picture(context, dm_simt_machine(context));
    return draws ? 2u : 1u;
}

/* Draw the lines that the warp's machines have logged (render.h) up to their targets, one machine
 * after the other, with all lanes. Where a picture is complete its packed pixels are stored too,
 * unless `packed` is NULL: the observation need not read the picture again then (dm_simt_packed). */
DM_FN_SLOW void dm_simt_render(const dm_gb_batch *batch, uint32_t machine, dm_gb_context *context,
                               bool valid, uint8_t *packed)
{
    if (DM_SIMT_HAS_MACHINE(valid))
        dm_simt_ppu_sync(context, valid);
    const bool draws = valid && context->log_end != 0;
    const uint32_t complete =
        packed != 0 && draws ? dm_gb_complete_key(context, &dm_simt_machine(context)->ppu) : 0u;
    uint32_t lanes = dm_ballot(draws);
    const uint32_t packs = dm_ballot(complete != 0);
    const uint32_t fronts = dm_ballot(draws && dm_simt_machine(context)->ppu.front != 0);
    dm_warp_sync();
    for (; lanes != 0; lanes &= lanes - 1u) {
        const uint32_t number = dm_ffs_u32(lanes) - 1u;
        const uint32_t others = dm_from_lane(machine, number);
        dm_gb_context other;
        dm_simt_context_init(&other, batch, others);
        dm_simt_render_picture(
            other.ram, other.frames + ((fronts >> number & 1u) != 0 ? 0u : DM_GB_PICTURE_SIZE),
            &dm_simt_lane_context_of(batch, others)->line_log,
            (packs >> number & 1u) != 0 ? packed + (uint64_t)others * DM_GB_PACKED_SIZE : 0);
    }
    dm_warp_sync();
    context->log_end = 0;
    if (complete != 0)
        context->complete = complete;
    if (valid)
        dm_simt_machine(context)->target = context->run_end;
}

/* Is the picture on the screen one whose packed pixels were stored when it was rendered? */
DM_FN bool dm_simt_packed(const dm_gb_context *context, const dm_gb_machine *m)
{
    return dm_gb_shows(&m->ppu, context->complete);
}

DM_FN dm_gb_smem dm_simt_smem(const dm_gb_batch *batch)
{
    return dm_gb_smem_open(batch->lowest, batch->uops);
}

/* Run `cycles` T-cycles past the last target. Every thread of the block calls this; one without a
 * machine has `valid` false. `draws`: some picture of the run is wanted; `packed`: where packed pixels of the last one
 * go, DM_GB_PACKED_SIZE bytes for each machine of the batch, or NULL. */
DM_FN void dm_simt_run(const dm_gb_batch *batch, uint32_t machine, dm_gb_context *context,
                       const dm_gb_smem *smem, uint32_t cycles, bool valid, bool block_service,
                       bool draws, uint8_t *packed, dm_simt_cost *cost)
{
    /* Packed pixels are stored by words, but a caller's buffer may begin at any byte. */
    if ((uintptr_t)packed % sizeof(uint32_t) != 0)
        packed = 0;
    if (valid)
        dm_gb_move_target(context, dm_simt_machine(context), cycles);
    DM_NO_UNROLL
    for (uint32_t halves = dm_simt_halves(context, valid, draws); halves != 0; halves--) {
        dm_simt_loop(batch, machine, context, smem, valid, block_service, cost);
        if (draws)
            dm_simt_render(batch, machine, context, valid, packed);
    }
    if (DM_SIMT_HAS_MACHINE(valid))
        dm_simt_sync_end(context, valid);
}

#endif
