/* SPDX-License-Identifier: MIT */
/* swarm.h - what swarm.c, swarm_desc.c and swarm_look.c share: the object behind dotmatrix.Swarm. */
#ifndef DM_PYTHON_SWARM_H
#define DM_PYTHON_SWARM_H

#include "core.h"

#include <dotmatrix/swarm.h>

typedef struct core_swarm {
    PyObject_HEAD dm_swarm *swarm;
    PyObject *device;                  /* the _core.Device, kept open */
    PyObject *bound[DM_SWARM_OUTPUTS]; /* the caller's arrays that are written to */
    dm_device_buffer *wrapped[DM_SWARM_OUTPUTS];
    PyObject *held;    /* the last step's actions, while they may be read */
    uint8_t *actions;  /* count bytes: actions of other types, converted */
    dm_stream *stream; /* the caller's, when one was set */
    size_t arrays;     /* that look at its memory */
    unsigned forks, action_count;
    bool closed;  /* destroyed, or will be when the last array is gone */
    bool running; /* in a call that has released the GIL */
} core_swarm;

/* Swarm(device, roms, count, options) */
int core_swarm_init(PyObject *object, PyObject *args, PyObject *kwargs);
/* The swarm, or NULL with an exception: closed, of before a fork, or in use by another thread. */
dm_swarm *core_swarm_get(PyObject *object);
/* Machine numbers: an array of integers or a list, to uint32_t, free() them. -1: an exception. */
Py_ssize_t core_swarm_numbers(PyObject *object, const char *what, uint32_t **out);

/* Addresses likewise. */
Py_ssize_t core_swarm_addresses(PyObject *object, const char *what, uint16_t **out);

/* A call of the library without the GIL; `self` cannot be used meanwhile. */
#define CORE_SWARM_CALL(object, status, call)                                                      \
    do {                                                                                           \
        ((core_swarm *)(object))->running = true;                                                  \
        Py_BEGIN_ALLOW_THREADS status = (call);                                                    \
        Py_END_ALLOW_THREADS((core_swarm *)(object))->running = false;                             \
    } while (0)

extern PyMethodDef core_swarm_look_methods[];

#endif
