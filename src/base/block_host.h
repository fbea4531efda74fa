/* SPDX-License-Identifier: MIT */
/* block_host.h - a block of threads on the host, for tests; included by port.h where DM_HOST_BLOCK is 1.
 *
 * Each thread of the block is a fiber with a stack of its own. It runs until it calls a function that several lanes
 * enter together (a vote, a barrier), leaves its value there and is resumed when all of them have come. So code for
 * warps and blocks runs as it is on a GPU, except that a fiber is never interrupted elsewhere. Fibers run in ascending
 * order in one phase between such meetings and in descending order in the next, so that a missing barrier between a
 * store and another lane's load gives a wrong result.
 *
 * One block at a time, on one thread of the host. Lanes that wait for each other in different places end the
 * program with a message: on a GPU that would be a hang. */
#ifndef DM_BASE_BLOCK_HOST_H
#define DM_BASE_BLOCK_HOST_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define DM_HOST_THREADS 1024u
#define DM_HOST_STACK ((size_t)128 * 1024)

/* AddressSanitizer must be told before and after each switch of stacks; in `fake` it keeps what it knows of the stack
 * that is left. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define DM_HOST_LEAVE(fake, bottom, size) __sanitizer_start_switch_fiber(fake, bottom, size)
#define DM_HOST_ARRIVE(fake, bottom, size) __sanitizer_finish_switch_fiber(fake, bottom, size)
#else
#define DM_HOST_LEAVE(fake, bottom, size) ((void)0)
#define DM_HOST_ARRIVE(fake, bottom, size) ((void)0)
#endif

enum dm_host_state { DM_HOST_READY, DM_HOST_IN_WARP, DM_HOST_IN_BLOCK, DM_HOST_DONE };

typedef struct dm_host_thread {
    jmp_buf at; /* where it waits */
    ucontext_t start;
    char *stack;
    void *fake;
    enum dm_host_state state;
    uint32_t mask;  /* in a warp: the lanes that meet */
    uint32_t value; /* what the thread brings */
    uint32_t from;  /* in a warp: the lane whose value it wants */
    uint32_t votes, answer;
} dm_host_thread;

static struct dm_host_block {
    jmp_buf scheduler;
    ucontext_t
        outside; /* for starting fibers; all later switches are jumps, which ask nothing of the system */
    dm_host_thread threads[DM_HOST_THREADS];
    char *stacks;
    const void *outside_stack; /* of the scheduler; known to AddressSanitizer alone */
    size_t outside_size;
    void *fake;
    uint32_t count, current;
    uint64_t first, total; /* of the grid: this block's first thread, and all */
    void (*enter)(const void *args);
    const void *args;
} dm_host_block;

#define DM_HOST_FN static __attribute__((unused, noinline))

/* _longjmp by its symbol: with _FORTIFY_SOURCE, Ubuntu's default, glibc's header puts one there that refuses to jump to
 * another stack. */
extern void dm_host_jump(jmp_buf to, int value) __asm__("_longjmp") __attribute__((noreturn));

DM_HOST_FN void __attribute__((noreturn)) dm_host_to_scheduler(void **fake)
{
    (void)fake;
    DM_HOST_LEAVE(fake, dm_host_block.outside_stack, dm_host_block.outside_size);
    dm_host_jump(dm_host_block.scheduler, 1);
}

DM_HOST_FN dm_host_thread *dm_host_meet(enum dm_host_state where, uint32_t mask, uint32_t value,
                                        uint32_t from)
{
    dm_host_thread *self = &dm_host_block.threads[dm_host_block.current];
    self->state = where;
    self->mask = mask;
    self->value = value;
    self->from = from;
    if (_setjmp(self->at) == 0)
        dm_host_to_scheduler(&self->fake);
    DM_HOST_ARRIVE(self->fake, NULL, NULL);
    return self;
}

/* Lanes of a warp that wait with the same mask, if all of that mask do; else 0. */
DM_HOST_FN uint32_t dm_host_warp_ready(const dm_host_thread *warp, uint32_t lane)
{
    const uint32_t mask = warp[lane].mask;
    uint32_t here = 0;
    for (uint32_t i = 0; i < 32u; i++) {
        if ((mask >> i & 1u) == 0 || warp[i].state == DM_HOST_DONE)
            continue;
        if (warp[i].state != DM_HOST_IN_WARP || warp[i].mask != mask)
            return 0;
        here |= 1u << i;
    }
    return here;
}

/* Release the lanes whose meeting is complete; false: there are none. */
DM_HOST_FN bool dm_host_release(void)
{
    dm_host_thread *all = dm_host_block.threads;
    const uint32_t count = dm_host_block.count;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        dm_host_thread *warp = all + i / 32u * 32u;
        const uint32_t here =
            all[i].state == DM_HOST_IN_WARP ? dm_host_warp_ready(warp, i % 32u) : 0u;
        uint32_t votes = 0;
        for (uint32_t k = 0; k < 32u; k++)
            if ((here >> k & 1u) != 0 && warp[k].value != 0)
                votes |= 1u << k;
        for (uint32_t k = 0; k < 32u; k++)
            if ((here >> k & 1u) != 0) {
                warp[k].votes = votes;
                warp[k].answer = warp[warp[k].from].value;
                warp[k].state = DM_HOST_READY;
                any = true;
            }
    }
    uint32_t waiting = 0, votes = 0, alive = 0;
    for (uint32_t i = 0; i < count; i++) {
        alive += all[i].state != DM_HOST_DONE ? 1u : 0u;
        waiting += all[i].state == DM_HOST_IN_BLOCK ? 1u : 0u;
        votes += all[i].state == DM_HOST_IN_BLOCK && all[i].value != 0 ? 1u : 0u;
    }
    for (uint32_t i = 0; waiting == alive && i < count; i++)
        if (all[i].state == DM_HOST_IN_BLOCK) {
            all[i].votes = votes;
            all[i].state = DM_HOST_READY;
            any = true;
        }
    return any;
}

DM_HOST_FN void dm_host_fiber(void)
{
    dm_host_thread *self = &dm_host_block.threads[dm_host_block.current];
    DM_HOST_ARRIVE(NULL, &dm_host_block.outside_stack, &dm_host_block.outside_size);
    if (_setjmp(self->at) == 0) {
        DM_HOST_LEAVE(&self->fake, dm_host_block.outside_stack, dm_host_block.outside_size);
        swapcontext(&self->start, &dm_host_block.outside);
    }
    DM_HOST_ARRIVE(self->fake, NULL, NULL);
    dm_host_block.enter(dm_host_block.args);
    dm_host_block.threads[dm_host_block.current].state = DM_HOST_DONE;
    dm_host_to_scheduler(NULL);
}

/* Prepare a thread to start at the beginning of the kernel. */
DM_HOST_FN void dm_host_begin(uint32_t number, char *stack)
{
    dm_host_thread *thread = &dm_host_block.threads[number];
    dm_host_block.current = number;
    getcontext(&thread->start);
    thread->start.uc_stack.ss_sp = stack;
    thread->start.uc_stack.ss_size = DM_HOST_STACK;
    thread->start.uc_link = NULL;
    thread->stack = stack;
    makecontext(&thread->start, dm_host_fiber, 0);
    DM_HOST_LEAVE(&dm_host_block.fake, stack, DM_HOST_STACK);
    swapcontext(&dm_host_block.outside, &thread->start);
    DM_HOST_ARRIVE(dm_host_block.fake, NULL, NULL);
    thread->state = DM_HOST_READY;
}

/* Resume it until it waits or ends. */
DM_HOST_FN void dm_host_resume(uint32_t number)
{
    dm_host_block.current = number;
    if (_setjmp(dm_host_block.scheduler) == 0) {
        DM_HOST_LEAVE(&dm_host_block.fake, dm_host_block.threads[number].stack, DM_HOST_STACK);
        dm_host_jump(dm_host_block.threads[number].at, 1);
    }
    DM_HOST_ARRIVE(dm_host_block.fake, NULL, NULL);
}

DM_HOST_FN void dm_host_run_block(void)
{
    const uint32_t count = dm_host_block.count;
    for (uint32_t i = count; i < (count + 31u) / 32u * 32u; i++)
        dm_host_block.threads[i].state = DM_HOST_DONE;
    for (uint32_t i = 0; i < count; i++)
        dm_host_begin(i, dm_host_block.stacks + i * DM_HOST_STACK);
    bool up = true;
    do {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t thread = up ? i : count - 1u - i;
            if (dm_host_block.threads[thread].state != DM_HOST_READY)
                continue;
            dm_host_resume(thread);
        }
        up = !up;
    } while (dm_host_release());
    for (uint32_t i = 0; i < count; i++)
        if (dm_host_block.threads[i].state != DM_HOST_DONE) {
            fprintf(stderr, "block_host.h: thread %u waits for others that do not come\n", i);
            abort();
        }
}

/* Threads first..last-1 of a grid of `total`, in blocks of `block_threads`. */
DM_HOST_FN void dm_host_run(void (*enter)(const void *args), const void *args,
                            uint32_t block_threads, uint64_t first, uint64_t last, uint64_t total)
{
    dm_host_block.enter = enter;
    dm_host_block.args = args;
    dm_host_block.total = total;
    dm_host_block.stacks = malloc(block_threads * DM_HOST_STACK);
    if (dm_host_block.stacks == NULL)
        abort();
    for (; first < last; first += block_threads) {
        const uint64_t left = last - first;
        dm_host_block.count = left < block_threads ? (uint32_t)left : block_threads;
        dm_host_block.first = first;
        dm_host_run_block();
    }
    free(dm_host_block.stacks);
}

#endif
