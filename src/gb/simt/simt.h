/* SPDX-License-Identifier: MIT */
/* simt.h - how a GPU runs many Game Boys: start here; kernel text.
 *
 * A thread runs a machine. The threads of a warp execute one instruction stream together, so what decides the
 * speed is how much of their way the lanes share. A step of a block, with time downwards:
 *
 *   lane 0    lane 1    lane 2    lane 3
 *   fast      fast      fast      fast      an instruction each, the same code for all (fast.h), DM_SIMT_ROUNDS times
 *   fast      trap      fast      fast      lane 1 meets a device: it traps, nothing has changed yet, and it waits
 *   fast      .         trap      fast
 *   ---- vote: do enough lanes wait for those that can go on? (DM_SIMT_PATIENCE) ----
 *   .         service   service   .         the slow path, on a staged copy of the machine (staging.h): due events,
 *   .         |         |         .         queued writes, one access; then dm_gb_service answers the trap
 *   fast      replay    fast      fast      a read is replayed with its answer; a write was the last effect
 *   ...
 *   over      fast      fast      over      the run's target is reached: the lane waits for the others
 *   ---- picture: the warp renders the logged lines of its machines, one machine after the other (render.h) ----
 *
 * Who runs, waits and services depends on how many machines there are (swarm/launch_config.c):
 *
 *   lanes of a warp   a lane runs       it waits for          and is serviced by
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

/* Blocks of warps with at least so many lanes service together (service.h), unless one of their machines took this many
 * services a frame in the last step: such a machine wants each of them soon, and its own warp is sooner. */
#ifndef DM_SIMT_BLOCK_SERVICE_LANES
#define DM_SIMT_BLOCK_SERVICE_LANES 16
#endif
#define DM_SIMT_BLOCK_SERVICE (DM_SIMT_LANES >= DM_SIMT_BLOCK_SERVICE_LANES)
#ifndef DM_SIMT_BLOCK_SERVICE_MOST
#define DM_SIMT_BLOCK_SERVICE_MOST 100
#endif

/* Lanes that take part in the loop: those with machines, or all where the others help. (A constant, since
 * converging with another mask takes fourteen instructions.) */
#define DM_SIMT_MEMBERS                                                                            \
    (DM_SIMT_BLOCK_SERVICE || DM_SIMT_LANES == 32 ? 0xFFFFFFFFu : (1u << DM_SIMT_LANES % 32) - 1u)

/* The context of a machine, ready for dm_gb_map: in its lane context, or `spare`. */
DM_FN dm_gb_context *dm_simt_context(const dm_gb_batch *batch, uint32_t machine,
                                     dm_gb_context *spare)
{
    dm_gb_context *context = spare;
#if DM_SIMT_BLOCK_SERVICE
    context = &dm_simt_lane_context_of(batch, machine)->context;
    *context = *spare;
#endif
    dm_simt_context_init(context, batch, machine);
    context->cold = &dm_simt_lane_context_of(batch, machine)->cold;
    context->line_log = &dm_simt_lane_context_of(batch, machine)->line_log;
    return context;
}

/* The machine, or its copy where it runs as one; not in a service. */
DM_FN dm_gb_machine *dm_simt_machine(const dm_gb_context *context)
{
#if DM_GB_STAGE_LOCAL
    return context->home;
#else
    return dm_gb_m(context);
#endif
}

/* A machine is about to run, if `running`, where it is or as a copy, and has run. */
DM_FN void dm_simt_stage_in(dm_gb_context *context, bool running)
{
#if DM_GB_STAGE_SHARED
    dm_gb_stage_slot(context);
    if (running)
        dm_gb_stage_begin(context);
#endif
    if (running)
        dm_gb_map(context);
}

DM_FN void dm_simt_stage_out(dm_gb_context *context)
{
#if DM_GB_STAGE_SHARED
    dm_gb_stage_end(context);
#else
    (void)context;
#endif
}

/* Some instructions by the fast path for every lane that can; returns what this one needs now. A
 * machine alone in its warp goes on until it needs something. */
DM_FN enum dm_gb_trap dm_simt_rounds(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                     enum dm_gb_trap trap, uint32_t *executed)
{
#if DM_SIMT_LANES == 1
    return dm_gb_fast_scalar(m, hot, smem, trap, executed);
#else
    uint32_t count = 0;
    DM_NO_UNROLL
    for (uint32_t round = 0; round < DM_SIMT_ROUNDS; round++) {
        if (dm_gb_trap_runs(trap)) {
            trap = dm_gb_fast_next(m, hot, smem, trap);
            count++;
        }
        dm_warp_converge(DM_SIMT_MEMBERS);
    }
    *executed += count;
    return trap;
#endif
}

/* A service of this lane's machine. */
DM_FN_SLOW enum dm_gb_trap dm_simt_service_own(dm_gb_context *context, dm_gb_hot *hot,
                                               enum dm_gb_trap trap)
{
#if DM_GB_STAGE_LOCAL
    return dm_simt_service_staged(context, hot, trap);
#else
    return dm_gb_service_mapped(context, hot, trap);
#endif
}

/* Is the block serviced together? All its threads ask. */
DM_FN bool dm_simt_block_service(const dm_gb_batch *batch, uint32_t machine, bool valid)
{
#if DM_SIMT_BLOCK_SERVICE
    const uint32_t frames = (batch->cycles[0] + batch->cycles[1]) / DM_GB_FRAME_CYCLES;
    return dm_block_count(valid &&
                          batch->services[machine] / DM_SIMT_BLOCK_SERVICE_MOST >= frames) == 0;
#else
    (void)batch;
    (void)machine;
    (void)valid;
    return false;
#endif
}

/* One loop for both ways of service, by the warp or by the block: a second copy of the fast path would not fit into the
 * instruction cache beside the first. Blocks that are serviced together also compact (dm_simt_compact). */
DM_FN void dm_simt_loop(const dm_gb_batch *batch, uint32_t own, dm_gb_context *context,
                        const dm_gb_smem *smem, const bool valid, bool block_service,
                        dm_simt_cost *total)
{
    dm_gb_machine *m = dm_simt_machine(context);
    dm_gb_hot hot = {0};
    dm_simt_cost cost = *total;
    enum dm_gb_trap trap = valid ? DM_GB_TRAP_NONE : DM_GB_TRAP_OVER;
    if (valid) {
        context->smem = *smem;
        dm_gb_service_begin(context, m, &hot);
    }
#if DM_SIMT_BLOCK_SERVICE
    uint32_t machine = own;
    int alive = block_service ? dm_block_count(valid) : 0;
#else
    (void)batch;
    (void)own;
    (void)block_service;
#endif
    /* Lanes that no machine is given to wait at the end, so that branches of the others are no
     * forks. */
    for (bool on = (DM_SIMT_MEMBERS >> dm_lane() & 1u) != 0; on;) {
        trap = dm_simt_rounds(m, &hot, smem, trap, &cost.instructions);
        const bool waits = dm_gb_trap_waits(trap);
#if DM_SIMT_BLOCK_SERVICE
        if (block_service) {
            const int waiting = dm_block_count(waits);
            if (alive == 0)
                break;
            if (waiting * DM_SIMT_PATIENCE_BLOCK < alive - waiting)
                continue;
            dm_gb_hot copy = hot;
            trap = dm_simt_service_block(batch, machine, &copy, trap);
            cost.services += waits ? 1u : 0u;
            if (waits && trap == DM_GB_TRAP_OVER)
                dm_simt_lane_context_of(batch, machine)->cost = cost;
            const int left = dm_block_count(trap != DM_GB_TRAP_OVER);
            if (dm_simt_fewer_warps(alive, left)) {
                trap = dm_simt_compact(batch, &machine, *smem, &copy, &cost, trap, left);
                m = dm_gb_batch_machine(batch, machine);
            }
            hot = copy;
            alive = left;
            continue;
        }
#endif
        const uint32_t waiting = dm_warp_vote(DM_SIMT_MEMBERS, waits);
        const uint32_t able = dm_warp_vote(DM_SIMT_MEMBERS, dm_gb_trap_runs(trap));
        on = (able | waiting) != 0;
        if (waiting != 0 && dm_popcount_u32(waiting) * DM_SIMT_PATIENCE >= dm_popcount_u32(able)) {
            if (waits) {
                dm_gb_hot copy = hot;
                trap = dm_simt_service_own(context, &copy, trap);
                hot = copy;
                cost.services++;
            }
            dm_warp_converge(DM_SIMT_MEMBERS);
        }
    }
#if DM_SIMT_BLOCK_SERVICE
    if (block_service && valid)
        cost = dm_simt_lane_context_of(batch, own)->cost;
#endif
    *total = cost;
    dm_warp_sync();
}

/* What only lanes with machines do. Where each warp has one machine the test is of the lane's
 * number alone, and functions ask for `valid` themselves: then the compiler sees that everything
 * called from here is for one lane, whose branches are no forks, and leaves out what joins them
 * again. */
#if DM_SIMT_LANES == 1
#define DM_SIMT_HAS_MACHINE(valid) (dm_lane() == 0)
#else
#define DM_SIMT_HAS_MACHINE(valid) (valid)
#endif

/* The end of a run: like a service it goes over all devices, so it works on a copy where services do. */
DM_FN_SLOW void dm_simt_sync_end(dm_gb_context *context, bool valid)
{
    if (!valid)
        return;
#if DM_GB_STAGE_LOCAL
    dm_gb_staged staged;
    dm_gb_staged_begin(&staged, context);
    dm_gb_sync_end(&staged.context);
    dm_gb_staged_end(&staged, context);
#else
    dm_gb_sync_end(context);
#endif
}

/* The picture unit up to the machine's target, likewise. Mostly the last service has done it. */
DM_FN_SLOW void dm_simt_ppu_sync(dm_gb_context *context, bool valid)
{
    const dm_gb_machine *m = dm_simt_machine(context);
    if (!valid || m->dma.active || !dm_gb_ppu_behind(&m->ppu, m->target))
        return;
#if DM_GB_STAGE_LOCAL
    dm_gb_staged staged;
    dm_gb_staged_begin(&staged, context);
    dm_gb_ppu_sync(&staged.context, dm_gb_m(&staged.context)->target);
    dm_gb_staged_end(&staged, context);
#else
    dm_gb_ppu_sync(context, dm_gb_m(context)->target);
#endif
}

/* The first half of a run ends when the last picture is complete (dm_gb_last_picture), on all
 * machines, so that warps can draw it. Where no picture is wanted there is only the second half. */
DM_FN uint32_t dm_simt_halves(dm_gb_context *context, bool valid, bool draws)
{
    if (valid && draws)
        dm_simt_machine(context)->target = dm_gb_last_picture(context, dm_simt_machine(context));
    return draws ? 2u : 1u;
}

/* Draw the lines that the warp's machines have kept (gb/simt/render.h) up to their targets, one
 * machine after the other, with all lanes. Where the picture is complete its packed pixels come with it, unless
 * `packed` is NULL, which saves reading it again (dm_simt_packed). */
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

/* Were the packed pixels of what is on the screen now made when it was rendered? */
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
    /* They are stored by words, but a caller's buffer may begin at any byte. */
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
