/* SPDX-License-Identifier: MIT */
#include "tests/swarm/swarm_case.h"
#include "base/philox.h"
#include "romtools/asm.h"
#include "tests/support/same_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dm_case_rom_names[] = {"ALU16_SP",        "ALU_FLAGS",           "ALU_LOOP",
                                         "BG_SCROLL_ANIM",  "BG_SCROLL_SIGNED",    "BG_STATIC",
                                         "CB_BITOPS",       "DMA_OAM_COPY",        "EI_DELAY",
                                         "FLOW_STACK",      "LOADS_BASIC",         "MBC1_RAM",
                                         "MBC1_SWITCH",     "JOY_DIVERGE_PERSIST", "MBC3_RAM",
                                         "MBC3_SWITCH",     "MBC5_SWITCH",         "MEM_RWB",
                                         "PPU_SPRITES",     "PPU_STAT_IRQ",        "PPU_WINDOW",
                                         "TIMER_DIV_BASIC", "TIMER_IRQ_HALT",      "SERIAL_HELLO",
                                         "STARFALL"};
const size_t dm_case_rom_count = sizeof dm_case_rom_names / sizeof dm_case_rom_names[0];

dm_swarm_rom_source dm_case_rom(const char *name)
{
    static struct {
        char name[32];
        dm_gb_asm_result result;
    } kept[32];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i].name, name) == 0)
            return (dm_swarm_rom_source){.bytes = kept[i].result.rom,
                                         .size = kept[i].result.rom_size};
    assert_true(count < sizeof kept / sizeof kept[0]);
    char path[1024], include[1024];
    const char *folder = strcmp(name, "STARFALL") == 0 ? "game" : "micro";
    snprintf(path, sizeof path, "%s/roms/%s/%s.asm", dm_test_source_root(), folder, name);
    snprintf(include, sizeof include, "%s/roms/include", dm_test_source_root());
    const dm_gb_asm_options options = {.include_dir = include};
    assert_ok(dm_gb_asm_file(path, &options, &kept[count].result, err));
    snprintf(kept[count].name, sizeof kept[count].name, "%s", name);
    count++;
    return dm_case_rom(name);
}

dm_swarm *dm_case_swarm(dm_device *device, const dm_swarm_desc *desc)
{
    dm_swarm *swarm = NULL;
    assert_ok(dm_swarm_create(device, desc, &swarm, err));
    return swarm;
}

void dm_case_step(dm_swarm *swarm, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++)
        assert_ok(dm_swarm_step(swarm, NULL, err));
}

dm_case_graph dm_case_step_captured(dm_device *device, dm_swarm *swarm, uint32_t steps, int times)
{
    dm_case_graph made = {0};
    assert_ok(dm_stream_create(device, &made.stream, err));
    assert_ok(dm_swarm_set_stream(swarm, made.stream, err));
    assert_ok(dm_graph_capture_begin(made.stream, err));
    dm_case_step(swarm, steps);
    assert_ok(dm_graph_capture_end(made.stream, &made.graph, err));
    for (int i = 0; i < times; i++)
        assert_ok(dm_graph_launch(made.graph, made.stream, err));
    return made;
}

void dm_case_graph_destroy(dm_case_graph *graph)
{
    dm_graph_destroy(graph->graph);
    dm_stream_destroy(graph->stream);
}

uint32_t dm_case_action(const dm_swarm_desc *desc, uint64_t machine, uint64_t step)
{
    uint32_t actions = dm_swarm_codec_actions(desc->codec);
    if (desc->generator == DM_SWARM_SEEDED_RANDOM)
        return dm_random_below(dm_random4(desc->seed, machine, step).v[0], actions);
    return desc->generator == DM_SWARM_STRIPED ? (uint32_t)((machine + step) % actions) : 0;
}

dm_gb *dm_case_alone(const dm_swarm_desc *desc, uint64_t machine, uint32_t steps)
{
    const dm_swarm_rom_source *rom = &desc->roms[machine % desc->rom_count];
    const dm_gb_options options = {.start = desc->start};
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create(rom->bytes, rom->size, &options, &gb, err));
    uint32_t frames = desc->frames_per_step == 0 ? 24 : desc->frames_per_step;
    uint32_t pressed = desc->release_after_frames;
    if (pressed == 0)
        pressed = frames < 8 ? frames : 8;
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t action = dm_case_action(desc, machine, step);
        dm_gb_set_keys(gb, dm_swarm_codec_keys(desc->codec, action));
        dm_gb_run_frames(gb, pressed, DM_GB_DRAW_ALWAYS);
        if (frames > pressed) {
            dm_gb_set_keys(gb, 0);
            dm_gb_run_frames(gb, frames - pressed, DM_GB_DRAW_ALWAYS);
        }
    }
    return gb;
}

void dm_case_same(dm_swarm *swarm, uint32_t machine, dm_gb *alone)
{
    dm_gb *view = NULL;
    char why[256] = "";
    assert_ok(dm_swarm_fetch(swarm, machine, &view, err));
    dm_gb_serial_clear(alone); /* a swarm keeps no log of it */
    if (!dm_same_machine(alone, view, why, sizeof why))
        fail_msg("machine %u is not as when played alone: %s", machine, why);
    if (swarm->arrays[DM_SWARM_A_FRAMES] == NULL)
        return;
    static uint8_t shades[DM_SWARM_PICTURE];
    assert_ok(dm_swarm_get_picture(swarm, machine, shades, err));
    if (memcmp(shades, dm_gb_frame(alone), sizeof shades) != 0)
        fail_msg("machine %u shows another picture than when played alone", machine);
}

void dm_case_equality(dm_device *device, const dm_swarm_desc *desc, uint32_t steps, uint32_t stride)
{
    dm_swarm *swarm = dm_case_swarm(device, desc);
    dm_case_step(swarm, steps);
    for (uint32_t i = 0; i < desc->count; i += stride) {
        dm_gb *alone = dm_case_alone(desc, i, steps);
        dm_case_same(swarm, i, alone);
        dm_gb_destroy(alone);
    }
    dm_swarm_destroy(swarm);
}

uint64_t dm_case_machine_hash(dm_swarm *swarm, uint32_t machine)
{
    dm_gb *view = NULL;
    dm_swarm_progress progress;
    assert_ok(dm_swarm_fetch(swarm, machine, &view, err));
    assert_ok(dm_stream_download(swarm->stream, swarm->arrays[DM_SWARM_A_PROGRESS],
                                 machine * sizeof progress, &progress, sizeof progress, err));
    assert_ok(dm_stream_synchronize(swarm->stream, err));
    dm_gb_machine m = view->machine;
    m.ppu.drawn = m.ppu.drawing = m.ppu.front = 0;
    uint64_t hashes[] = {dm_hash64(&m, sizeof m), dm_hash64(view->ram, view->ram_size),
                         dm_hash64(&progress, sizeof progress)};
    return dm_hash64(hashes, sizeof hashes);
}

uint64_t dm_case_fingerprint(dm_swarm *swarm)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < swarm->desc.count; i++)
        hash = hash * 31 + dm_case_machine_hash(swarm, i);
    return hash;
}
