/* SPDX-License-Identifier: MIT */
/* pyboy.h - one PyBoy worker process, over a pipe and shared memory (pyboy_bridge.py has the
 * protocol).
 *
 * A worker that dies or does not answer in time gives an error that names it, with the last line
 * that it wrote; it is ended then, and every later call fails. Workers end with their parent. */
#ifndef DM_LAB_PYBOY_H
#define DM_LAB_PYBOY_H

#include "base/buffer.h"
#include "base/file.h"

#include <dotmatrix/gb.h>

#define DM_PYBOY_INSTALL "tools/bootstrap --again"

/* How machines are made. */
#define DM_PYBOY_ZERO 2u  /* as DM_GB_START_ZERO, with cycles counted from there */
#define DM_PYBOY_SOUND 4u /* sound registers are right; slower */

typedef struct dm_pyboy dm_pyboy;

/* $DM_PYTHON, else the .venv in the working folder or above this program, else python3. */
void dm_pyboy_find_python(char out[DM_PATH_MAX]);

/* `number` names the worker in messages; `shared` is the room for keys and pictures in bytes. The
 * first answer is awaited by dm_pyboy_ready, so that several can start at a time. */
dm_status dm_pyboy_start(const char *python, int number, size_t shared, dm_pyboy **out,
                         dm_error *err);
/* DM_EUNAVAILABLE when Python has no PyBoy. */
dm_status dm_pyboy_ready(dm_pyboy *pyboy, dm_error *err);
void dm_pyboy_end(dm_pyboy *pyboy);
const char *dm_pyboy_version(const dm_pyboy *pyboy);

/* Add machines. */
dm_status dm_pyboy_make(dm_pyboy *pyboy, const uint8_t *rom, size_t size, uint32_t count,
                        uint32_t flags, dm_error *err);

/* Shared memory: keys[step][machine] for dm_pyboy_step. */
uint8_t *dm_pyboy_shared(dm_pyboy *pyboy);
typedef enum dm_pyboy_draw {
    DM_PYBOY_DRAW_NEVER,
    DM_PYBOY_DRAW_LAST,  /* the last frame of a step */
    DM_PYBOY_DRAW_ALWAYS /* every frame, which is a call each */
} dm_pyboy_draw;
/* Begin `steps` steps of machines first .. first + count - 1; nothing else may be asked before
 * dm_pyboy_wait. */
dm_status dm_pyboy_step(dm_pyboy *pyboy, uint32_t first, uint32_t count, uint32_t steps,
                        uint32_t frames, uint32_t release, dm_pyboy_draw draw, dm_error *err);
dm_status dm_pyboy_wait(dm_pyboy *pyboy, dm_error *err);

dm_status dm_pyboy_look(dm_pyboy *pyboy, uint32_t machine, dm_gb_registers *out, uint64_t *cycles,
                        dm_error *err);
dm_status dm_pyboy_read(dm_pyboy *pyboy, uint32_t machine, uint16_t address, uint8_t *to,
                        size_t size, dm_error *err);
dm_status dm_pyboy_picture(dm_pyboy *pyboy, uint32_t machine, uint8_t *shades, dm_error *err);
dm_status dm_pyboy_save(dm_pyboy *pyboy, uint32_t machine, dm_buffer *out, dm_error *err);

#endif
