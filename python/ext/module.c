/* SPDX-License-Identifier: MIT */
/* module.c - `dotmatrix._core`: what it holds, and the guard against fork.
 *
 * Threads of the library and CUDA contexts do not survive a fork, so objects made before one are an
 * error in the child. pthread_atfork counts; asking costs one load. */
#include "gameboy.h"

#include <pthread.h>
#include <string.h>

static unsigned forks;

unsigned core_forks(void)
{
    return forks;
}

static void forked(void)
{
    forks++;
}

PyTypeObject *core_type_add(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL)
        return NULL;
    if (PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type) < 0) {
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type; /* kept for the life of the process */
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(dm_version_string());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version()\n--\n\nThe library's version."},
    {"devices", core_devices, METH_NOARGS, "devices()\n--\n\nEvery device here, as dicts."},
    {"tools", core_tools, METH_NOARGS,
     "tools()\n--\n\nWhat kernels can be built and run with here."},
    {"swarm_warm_up", core_swarm_warm_up, METH_VARARGS,
     "swarm_warm_up(device, roms, count, options)\n--\n\nCompile its kernels into the cache."},
    {"codec_actions", core_codec_actions, METH_VARARGS,
     "codec_actions(name)\n--\n\nThe keys that each action of a codec presses, as bytes."},
    {"hook_parse", core_hook_parse, METH_VARARGS,
     "hook_parse(symbols, text)\n--\n\n(bank or None, address) of a name or \"01:4A2F\"."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef module = {.m_base = PyModuleDef_HEAD_INIT,
                             .m_name = "dotmatrix._core",
                             .m_doc = "The C library's types; use those of dotmatrix.",
                             .m_size = -1,
                             .m_methods = functions};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    static bool watching;
    if (!watching)
        watching = pthread_atfork(NULL, NULL, forked) == 0;
    PyObject *self = PyModule_Create(&module);
    if (self == NULL)
        return NULL;
    if (core_errors_add(self) < 0 || core_array_add(self) < 0 || core_device_add(self) < 0 ||
        core_gameboy_add(self) < 0 || core_memory_add(self) < 0 || core_swarm_add(self) < 0 ||
        core_kernel_add(self) < 0 || core_reward_add(self) < 0 || core_dynamics_add(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return self;
}
