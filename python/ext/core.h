/* SPDX-License-Identifier: MIT */
/* core.h - the C side of the Python package: thin types over the public API, on CPython's limited API.
 *
 *   module.c    the module `dotmatrix._core`: what it holds, and fork's guard
 *   errors.c    a dm_error becomes a Python exception
 *   array.c     memory of a machine or a swarm as DLPack, __array_interface__, __cuda_array_interface__
 *   import.c    memory of others (DLPack, the same interfaces, bytes) as an address with a shape
 *   device.c    dm_device (dotmatrix/device.h)
 *   gameboy.c   dm_gb (dotmatrix/gb.h); memory.c: its memory in brackets
 *   kernel.c    dm_kernel (dotmatrix/kernel.h): texts, and programs of them
 *   dynamics.c  models of training runs (dotmatrix/dynamics.h)
 *   reward.c    dm_program (dotmatrix/program.h)
 *   swarm.c     dm_swarm (dotmatrix/swarm.h): creating, stepping; swarm_look.c: looking into machines
 *
 * Everything that has a taste (names, defaults, NumPy) is in python/dotmatrix/ *.py above this. One
 * binary serves Python 3.10 and later. The GIL is released while machines run, files are read and
 * kernels compiled. */
#ifndef DM_PYTHON_CORE_H
#define DM_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <dotmatrix/base.h>
#include <dotmatrix/device.h>
#include <dotmatrix/program.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- Errors (errors.c) ---- */

int core_errors_add(PyObject *module);
/* Set the exception that belongs to the status; returns NULL. */
PyObject *core_raise(const dm_error *err);
/* The same, with everything that was wrong as its attribute `messages`; NULL: no more is known. */
PyObject *core_raise_messages(const dm_error *err, const char *messages);
PyObject *core_raise_status(dm_status status, const char *format, ...) DM_PRINTF(2, 3);

/* Functions that fill a slot of a type: the C standard has no object pointer for them. */
#define CORE_SLOT(function) ((void *)(uintptr_t)(function))
#define CORE_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* ---- Lifetime (module.c) ---- */

/* Counts the forks that made this process; an object of another count must not be used. */
unsigned core_forks(void);

/* ---- Arrays (array.c) ---- */

enum { CORE_ARRAY_DIMENSIONS = 5 };

/* What an element is: DLPack's codes. */
typedef enum core_kind { CORE_INT = 0, CORE_UINT = 1, CORE_FLOAT = 2, CORE_BOOL = 6 } core_kind;

typedef struct core_layout {
    void *data;
    core_kind kind;
    uint8_t bits;
    int dimensions;
    int64_t shape[CORE_ARRAY_DIMENSIONS]; /* contiguous, the last index fastest */
    bool read_only;
    dm_device_kind device;
    int device_index;
    const struct core_hooks *hooks; /* of the owner; NULL: none */
} core_layout;

/* What an array's owner wants to know, and knows. */
typedef struct core_hooks {
    void (*taken)(PyObject *owner);      /* one more array looks at its memory */
    void (*given_back)(PyObject *owner); /* one less */
    void *(*stream)(PyObject *owner);    /* CUDA: the one on which the memory is written */
    /* Make this stream of somebody else wait for that one; -1 with an exception. */
    int (*order)(PyObject *owner, void *native);
} core_hooks;

int core_array_add(PyObject *module);
/* An array over memory that `owner` keeps alive. */
PyObject *core_array_new(PyObject *owner, const core_layout *layout);
/* bytes in all */
size_t core_layout_size(const core_layout *layout);
/* The layout of an Array; NULL: it is something else. */
const core_layout *core_array_layout(PyObject *object, core_layout *out);

/* ---- Memory of others (import.c) ---- */

/* Where an object's memory lies, and what keeps it alive (a new reference); false with an exception
 * that begins with `what`. */
bool core_import(PyObject *object, const char *what, core_layout *out, PyObject **holder);
/* Host integers within least..most as numbers of 1 or 4 bytes; false with an exception. */
bool core_integers(const core_layout *at, const char *what, int64_t least, int64_t most,
                   size_t size, void *to);

/* ---- Devices (device.c) ---- */

PyObject *core_devices(PyObject *module, PyObject *unused);
PyObject *core_tools(PyObject *module, PyObject *unused);

int core_device_add(PyObject *module);
/* The device of a _core.Device; NULL with an exception. */
dm_device *core_device(PyObject *object);

/* ---- Types ---- */

int core_gameboy_add(PyObject *module);
int core_swarm_add(PyObject *module);
int core_kernel_add(PyObject *module);
int core_reward_add(PyObject *module);
int core_dynamics_add(PyObject *module);
/* The program of a _core.Reward; false with an exception. */
bool core_reward(PyObject *object, const dm_program **out);
PyObject *core_swarm_warm_up(PyObject *module, PyObject *args);
PyObject *core_codec_actions(PyObject *module, PyObject *args);
PyObject *core_hook_parse(PyObject *module, PyObject *args);

/* A type made from a spec and put into the module under the name behind the last dot. */
PyTypeObject *core_type_add(PyObject *module, PyType_Spec *spec);

#endif
