/* SPDX-License-Identifier: MIT */
/* gameboy.h - what gameboy.c and memory.c share: the object behind dotmatrix.GameBoy. */
#ifndef DM_PYTHON_GAMEBOY_H
#define DM_PYTHON_GAMEBOY_H

#include "core.h"

#include <dotmatrix/gb.h>

/* The machine, or NULL with an exception: closed, used after a fork, or by two threads at a time. */
dm_gb *core_gameboy_get(PyObject *object);

int core_memory_add(PyObject *module);
/* GameBoy.memory: a view of the machine, which it keeps alive. */
PyObject *core_memory_new(PyObject *gameboy);

#endif
