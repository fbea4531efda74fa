/* SPDX-License-Identifier: MIT */
/* dotmatrix.cu - the hooks that PufferLib 5 calls for an environment on a GPU, over a swarm of STARFALL.
 *
 * It goes into an environment's folder of PufferLib, whose own header there defines Env (with `log` and `num_agents`),
 * Dict and obs_t: unsigned char, OBS_SIZE 1440, one action of 9 values. The ROM and the reward come from the
 * environment: DOTMATRIX_ROM and DOTMATRIX_REWARD. */
#include "dotmatrix_puffer.h"

static dm_puffer dotmatrix_puffer;

Env *puf_vec_create(int count, Dict *, obs_t *observations, float *actions, float *rewards, float *terminals)
{
    static_assert(sizeof(obs_t) == 1, "packed pictures are bytes");
    const char *rom_path = getenv("DOTMATRIX_ROM"), *reward = getenv("DOTMATRIX_REWARD");
    dm_error err;
    dm_program *program = NULL;
    if (reward != NULL)
        dm_puffer_check(dm_program_load(reward, NULL, &program, &err), &err);
    dm_swarm_rom_source rom = dm_swarm_rom_source();
    rom.path = rom_path != NULL ? rom_path : "STARFALL.gb";
    dm_swarm_desc desc = dm_swarm_desc();
    desc.roms = &rom;
    desc.rom_count = 1;
    desc.step_limit = 2000;
    desc.program = program;
    dm_puffer_create(&dotmatrix_puffer, 0, desc, DM_SWARM_PACKEDS, count, observations, actions, rewards, terminals);
    dm_program_destroy(program);
    Env *host = (Env *)calloc((size_t)count, sizeof(Env)), *envs = NULL; /* PufferLib sums their logs */
    for (int i = 0; i < count; i++)
        host[i].num_agents = 1;
    cudaMalloc((void **)&envs, (size_t)count * sizeof(Env));
    cudaMemcpy(envs, host, (size_t)count * sizeof(Env), cudaMemcpyHostToDevice);
    free(host);
    return envs;
}

void puf_bind_stream(cudaStream_t stream)
{
    dm_puffer_bind_stream(&dotmatrix_puffer, stream);
}

void puf_init(Env *, Dict *)
{
}

void puf_reset(Env *)
{
    dm_puffer_reset(&dotmatrix_puffer);
}

void puf_step(Env *)
{
    dm_puffer_step(&dotmatrix_puffer);
}

void puf_close(Env *envs)
{
    cudaFree(envs);
    dm_puffer_close(&dotmatrix_puffer);
}
