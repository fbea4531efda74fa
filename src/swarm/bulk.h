/* SPDX-License-Identifier: MIT */
/* bulk.h - bytes of many machines at once, read and poked on the device; kernel text.
 *
 * A byte is found by its address as the CPU would find it, with the banks that are mapped now, but never blocked. The
 * registers FF00..FF7F are not memory: reading one would bring its device up to date (read.c does that for one
 * machine). */
#ifndef DM_SWARM_BULK_H
#define DM_SWARM_BULK_H

#include "swarm/memory.h"

/* Machines, or snapshots: two arrays at fixed strides. */
typedef struct dm_swarm_bulk_args {
    uint8_t *machines, *memory;
    const dm_gb_batch_rom *roms;
    const uint32_t *rom_of; /* of each snapshot; NULL: machine i has ROM i % rom_count */
    const uint32_t *which;  /* numbers of the machines or snapshots; NULL: the first `count` */
    const uint16_t *addresses;
    uint8_t *bytes; /* address_count for each */
    /* Gather and scatter: the machines' copies, one after the other; the swarm's program memory and pictures. */
    uint8_t *states, *memories, *kept, *program_memory, *frames;
    uint64_t machine_stride, memory_stride, program_stride;
    uint32_t count, address_count, rom_count;
} dm_swarm_bulk_args;

DM_FN uint64_t dm_swarm_bulk_number(const dm_swarm_bulk_args *args, uint64_t i)
{
    return args->which != 0 ? args->which[i] : i;
}

DM_FN const dm_gb_cart *dm_swarm_bulk_cart(const dm_swarm_bulk_args *args, uint64_t number)
{
    return &((const dm_gb_machine *)(const void *)(args->machines + number * args->machine_stride))
                ->cart;
}

DM_FN uint8_t dm_swarm_bulk_byte(const dm_swarm_bulk_args *args, uint64_t number, uint32_t address)
{
    const dm_gb_cart *cart = dm_swarm_bulk_cart(args, number);
    if (address < 0x8000u) {
        const uint32_t rom =
            args->rom_of != 0 ? args->rom_of[number] : (uint32_t)(number % args->rom_count);
        const uint32_t bank = address < 0x4000u ? cart->rom_low : cart->rom_high;
        return args->roms[rom].bytes[bank + (address & 0x3FFFu)];
    }
    const uint32_t offset = dm_swarm_memory_offset(cart, address);
    if (offset == DM_SWARM_NO_MEMORY)
        return address >= 0xFEA0u && address < 0xFF00u ? (uint8_t)0 : (uint8_t)0xFF;
    const uint8_t value = args->memory[number * args->memory_stride + offset];
    return address >> 13 == 5u ? (uint8_t)(value | dm_gb_cart_open_bits(cart)) : value;
}

DM_KERNEL(dm_swarm_bulk_read, dm_swarm_bulk_args)
{
    const uint64_t all = (uint64_t)args.count * args.address_count;
    for (uint64_t i = dm_thread_index(); i < all; i += dm_thread_count())
        args.bytes[i] =
            dm_swarm_bulk_byte(&args, dm_swarm_bulk_number(&args, i / args.address_count),
                               args.addresses[i % args.address_count]);
}

/* One thread for each machine, so that of an address given twice the last value counts. */
DM_KERNEL(dm_swarm_bulk_poke, dm_swarm_bulk_args)
{
    for (uint64_t i = dm_thread_index(); i < args.count; i += dm_thread_count()) {
        const uint64_t number = dm_swarm_bulk_number(&args, i);
        const dm_gb_cart *cart = dm_swarm_bulk_cart(&args, number);
        for (uint32_t k = 0; k < args.address_count; k++) {
            const uint32_t address = args.addresses[k];
            const uint32_t offset = dm_swarm_memory_offset(cart, address);
            const uint32_t open = address >> 13 == 5u ? dm_gb_cart_open_bits(cart) : 0u;
            if (offset != DM_SWARM_NO_MEMORY)
                args.memory[number * args.memory_stride + offset] =
                    (uint8_t)(args.bytes[i * args.address_count + k] | open);
        }
    }
}

/* The eight bytes that a thread moves. */
typedef struct dm_swarm_bulk_words {
    uint64_t *here, *there; /* in the machine, and where machines lie side by side */
} dm_swarm_bulk_words;

DM_FN dm_swarm_bulk_words dm_swarm_bulk_part(uint8_t *machines, uint8_t *side_by_side,
                                             uint64_t stride, uint64_t number, uint64_t k,
                                             uint64_t word)
{
    dm_swarm_bulk_words words;
    words.here = (uint64_t *)(void *)(machines + number * stride) + word;
    words.there = (uint64_t *)(void *)(side_by_side + k * stride) + word;
    return words;
}

/* Word i of all: for each machine those of its state, its memory and its program's memory. */
DM_FN dm_swarm_bulk_words dm_swarm_bulk_words_of(const dm_swarm_bulk_args *args, uint64_t i)
{
    const uint64_t state = args->machine_stride / 8u, memory = args->memory_stride / 8u;
    const uint64_t each = state + memory + args->program_stride / 8u;
    const uint64_t k = i / each, word = i % each, number = dm_swarm_bulk_number(args, k);
    if (word < state)
        return dm_swarm_bulk_part(args->machines, args->states, args->machine_stride, number, k,
                                  word);
    if (word < state + memory)
        return dm_swarm_bulk_part(args->memory, args->memories, args->memory_stride, number, k,
                                  word - state);
    return dm_swarm_bulk_part(args->program_memory, args->kept, args->program_stride, number, k,
                              word - state - memory);
}

DM_FN uint64_t dm_swarm_bulk_word_count(const dm_swarm_bulk_args *args)
{
    return args->count * ((args->machine_stride + args->memory_stride + args->program_stride) / 8u);
}

/* Chosen machines side by side: eight bytes by each thread. */
DM_KERNEL(dm_swarm_bulk_gather, dm_swarm_bulk_args)
{
    const uint64_t all = dm_swarm_bulk_word_count(&args);
    for (uint64_t i = dm_thread_index(); i < all; i += dm_thread_count()) {
        const dm_swarm_bulk_words words = dm_swarm_bulk_words_of(&args, i);
        *words.there = *words.here;
    }
}

/* Copy them back; no number is given twice. Pictures become shades of 0. */
DM_KERNEL(dm_swarm_bulk_scatter, dm_swarm_bulk_args)
{
    const uint64_t all = dm_swarm_bulk_word_count(&args);
    for (uint64_t i = dm_thread_index(); i < all; i += dm_thread_count()) {
        const dm_swarm_bulk_words words = dm_swarm_bulk_words_of(&args, i);
        *words.here = *words.there;
    }
    const uint64_t picture = args.frames != 0 ? DM_GB_FRAMES_SIZE / 8u : 0u;
    for (uint64_t i = dm_thread_index(); i < args.count * picture; i += dm_thread_count()) {
        const uint64_t number = dm_swarm_bulk_number(&args, i / picture);
        ((uint64_t *)(void *)(args.frames + number * DM_GB_FRAMES_SIZE))[i % picture] = 0;
    }
}

#endif
