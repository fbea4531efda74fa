/* SPDX-License-Identifier: MIT */
/* epilog.h - what an epilog may look at, and the default one: reward_v0 and obs_v0; kernel text.
 *
 * An epilog is the body of
 *
 *     void epilog(const dm_swarm_view *view, float *reward, float *obs, bool *terminated)
 *
 * and is run once per machine after each step, and for the observation of a machine that was just
 * reset. It may write its three results in every stage. Results that the stage does not own are
 * dropped, and the compiler removes the code that computes only those. */
#ifndef DM_SWARM_EPILOG_H
#define DM_SWARM_EPILOG_H

#include "gb/batch.h"
#include "swarm/args.h"

typedef struct dm_swarm_view {
    const dm_gb_context *context; /* for dm_swarm_peek: on a GPU it may have no machine any more */
    const dm_gb_machine *m;
    uint64_t machine;       /* its number */
    uint32_t episode_steps; /* since its reset, this one included; 0: it was just reset */
    uint32_t action;        /* of this step */
} dm_swarm_view;

/* Memory as the CPU would read it, never blocked; I/O registers read FF. */
DM_FN uint32_t dm_swarm_peek(const dm_swarm_view *view, uint32_t address)
{
    const dm_gb_context *context = view->context;
    const dm_gb_cart *cart = &view->m->cart;
    address &= 0xFFFFu;
    if (address < 0x8000u)
        return context
            ->rom[(address < 0x4000u ? cart->rom_low : cart->rom_high) + (address & 0x3FFFu)];
    if (address < 0xA000u)
        return dm_gb_ram_load(context, DM_GB_VRAM + (address & 0x1FFFu));
    if (address < 0xC000u) {
        uint32_t offset = dm_gb_cart_ram_offset(cart, address);
        if (offset == DM_GB_NO_RAM)
            return 0xFFu;
        return (uint32_t)(dm_gb_ram_load(context, DM_GB_CART_RAM + offset) |
                          dm_gb_cart_open_bits(cart));
    }
    if (address < 0xFE00u)
        return dm_gb_ram_load(context, DM_GB_WRAM + (address & 0x1FFFu));
    if (address < 0xFEA0u)
        return dm_gb_ram_load(context, DM_GB_OAM + (address & 0xFFu));
    return address < 0xFF80u ? 0xFFu : dm_gb_ram_load(context, DM_GB_HRAM + address - 0xFF80u);
}

/* Integers divided by their largest value: one rounded division, the same on both devices. */
DM_FN float dm_swarm_unit8(uint32_t value)
{
    return (float)(value & 0xFFu) / 255.0f;
}

DM_FN float dm_swarm_unit16(uint32_t value)
{
    return (float)(value & 0xFFFFu) / 65535.0f;
}

DM_FN float dm_swarm_reward_v0(const dm_swarm_view *view)
{
    uint32_t mix = dm_swarm_peek(view, 0xC000u) + 3u * dm_swarm_peek(view, 0xC001u);
    return dm_swarm_unit8(view->m->cpu.a ^ mix);
}

/* 0-7 A F B C D E H L, 8 PC, 9 SP, 10-25 bytes C000-C00F, 26-31 mixes of those, each scaled to
 * [0, 1]. */
DM_FN void dm_swarm_obs_v0(const dm_swarm_view *view, float *obs)
{
    const dm_gb_cpu *cpu = &view->m->cpu;
    uint32_t sum = 0, parity = 0;
    obs[0] = dm_swarm_unit8(cpu->a);
    obs[1] = dm_swarm_unit8(cpu->f);
    obs[2] = dm_swarm_unit8(cpu->b);
    obs[3] = dm_swarm_unit8(cpu->c);
    obs[4] = dm_swarm_unit8(cpu->d);
    obs[5] = dm_swarm_unit8(cpu->e);
    obs[6] = dm_swarm_unit8(cpu->h);
    obs[7] = dm_swarm_unit8(cpu->l);
    obs[8] = dm_swarm_unit16(cpu->pc);
    obs[9] = dm_swarm_unit16(cpu->sp);
    for (uint32_t i = 0; i < 16u; i++) {
        uint32_t byte = dm_swarm_peek(view, 0xC000u + i);
        sum += byte;
        parity ^= byte;
        obs[10u + i] = dm_swarm_unit8(byte);
    }
    obs[26] = dm_swarm_unit8((uint32_t)cpu->a ^ cpu->b);
    obs[27] = dm_swarm_unit8((uint32_t)cpu->c + cpu->d);
    obs[28] = dm_swarm_unit8(((uint32_t)cpu->h << 1) ^ cpu->l ^ cpu->e);
    obs[29] = dm_swarm_unit16((uint32_t)cpu->pc ^ cpu->sp);
    obs[30] = dm_swarm_unit8(sum);
    obs[31] = dm_swarm_unit8(parity + cpu->f);
}

#endif
