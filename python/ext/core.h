/* SPDX-License-Identifier: MIT */
/* core.h - the C side of the Python package: thin types over the public API, on CPython's limited API.
 *
 *   module.c    the module `dotmatrix._core`: what it holds, and fork's guard
 *   errors.c    a dm_error becomes a Python exception
 *   array.c     memory of a machine or a swarm as DLPack, __array_interface__, __cuda_array_interface__
 *   import.c    memory of others (DLPack, the same interfaces, bytes) as an address with a shape
 *   gameboy.c   dm_gb (dotmatrix/gb.h)
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

#include <stdbool.h>
#include <stdint.h>

/* ---- Errors (errors.c) ---- */

int core_errors_add(PyObject *module);
/* Set the exception that belongs to the status; returns NULL. */
PyObject *core_raise(const dm_error *err);
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
    void *stream; /* CUDA: the stream on which it is written */
} core_layout;

int core_array_add(PyObject *module);
/* An array over memory that `owner` keeps alive. */
PyObject *core_array_new(PyObject *owner, const core_layout *layout);
/* bytes in all */
size_t core_layout_size(const core_layout *layout);

/* ---- Types ---- */

int core_gameboy_add(PyObject *module);

/* A type made from a spec and put into the module under the name behind the last dot. */
PyTypeObject *core_type_add(PyObject *module, PyType_Spec *spec);

#endif
