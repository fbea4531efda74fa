# SPDX-License-Identifier: MIT
"""The same bits as the C library: a C program over its public headers, compiled here, beside the same in Python."""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest
from conftest import BUILD

import dotmatrix as dm
from dotmatrix.swarm import OUTPUTS

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = r"""
#include <dotmatrix/gb.h>
#include <dotmatrix/swarm.h>
#include <stdio.h>
#include <stdlib.h>
#define DO(call) do { if ((call) != DM_OK) { fputs(err.message, stderr); exit(1); } } while (0)
static dm_error err;
static void put(FILE *to, const void *bytes, size_t size) { if (fwrite(bytes, 1, size, to) != size) exit(2); }

int main(int count, char **argument)
{
    FILE *to = fopen(argument[2], "wb");
    dm_device *device = NULL;
    dm_swarm *swarm = NULL;
    dm_program *program = NULL;
    if (count > 3)
        DO(dm_program_load(argument[3], NULL, &program, &err));
    DO(dm_device_open("cpu:2", &device, &err));
    const dm_swarm_rom_source rom = {.path = argument[1]};
    const dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 6, .generator = DM_SWARM_SEEDED_RANDOM, .seed = 5,
        .step_limit = 11, .autoreset = DM_SWARM_SAME_STEP, .finals = true, .episodes = true, .frame_stack = 2,
        .observations = DM_SWARM_OBS_SHADES | DM_SWARM_OBS_SMALL | DM_SWARM_OBS_PACKED | (program ? 0 : DM_SWARM_OBS_VECTOR),
        .program = program};
    DO(dm_swarm_create(device, &desc, &swarm, &err));
    for (int step = 0; step < 40; step++) {
        DO(dm_swarm_step(swarm, NULL, &err));
        for (int kind = 0; kind < DM_SWARM_OUTPUTS; kind++) {
            size_t size = 6 * dm_swarm_output_size(swarm, (dm_swarm_output_kind)kind);
            void *bytes = malloc(size + 1);
            if (size != 0)
                DO(dm_swarm_download(swarm, (dm_swarm_output_kind)kind, bytes, size, &err));
            put(to, bytes, size);
            free(bytes);
        }
    }
    const uint32_t all[6] = {0, 1, 2, 3, 4, 5};
    size_t size = 6 * dm_swarm_state_bytes(swarm);
    void *states = malloc(size);
    DO(dm_swarm_save_states(swarm, all, 6, states, size, &err));
    put(to, states, size);
    dm_gb *gb = NULL;
    DO(dm_gb_create_file(argument[1], NULL, &gb, &err));
    for (uint32_t i = 0; i < 50; i++) {
        dm_gb_set_keys(gb, (uint8_t)(1u << (i % 8)));
        dm_gb_run_frames(gb, 1 + i % 5, DM_GB_DRAW_LAST);
        put(to, dm_gb_frame(gb), DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    }
    size = dm_gb_state_bytes(gb);
    void *state = malloc(size);
    DO(dm_gb_save_state_bytes(gb, state, size, &err));
    put(to, state, size);
    return fclose(to);
}
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    compiler, library = shutil.which("cc"), BUILD / "src" / "libdotmatrix.so"
    if compiler is None or not library.exists():
        pytest.skip("no C compiler, or no library")
    folder = tmp_path_factory.mktemp("capi")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(
        [compiler, "-std=c17", f"-I{ROOT / 'include'}", "-o", folder / "program", folder / "program.c", library,
         f"-Wl,-rpath,{library.parent}"], check=True,
    )  # fmt: skip
    return folder / "program"


def in_python(rom, reward):
    obs = ("shades", "small", "packed") + (() if reward else ("vector",))
    parts = []
    with dm.Swarm(
        rom, 6, device="cpu:2", obs=obs, generator="seeded_random", seed=5, step_limit=11, autoreset="same_step", finals=True,
        episodes=True, frame_stack=2, program=reward,
    ) as swarm:  # fmt: skip
        for _ in range(40):
            swarm.step()
            for name in OUTPUTS:
                array = swarm.output(name)
                if array is not None:
                    parts.append(np.ascontiguousarray(array).tobytes())
        parts.append(swarm.save_states(list(range(6))))
    with dm.GameBoy(rom) as gb:
        for i in range(50):
            gb.set_keys(1 << i % 8)
            gb.tick(1 + i % 5)
            parts.append(gb.frame())
        parts.append(gb.save_state())
    return b"".join(parts)


@pytest.mark.parametrize("reward", [None, "starfall"])
def test_bit_for_bit(binary, starfall, tmp_path, reward):
    path = None if reward is None else dm.reward_path(reward)
    subprocess.run([binary, starfall, tmp_path / "out", *([path] if path else [])], check=True)
    expected = (tmp_path / "out").read_bytes()
    got = in_python(starfall, path)
    assert len(got) == len(expected) > 1 << 20
    assert got == expected
