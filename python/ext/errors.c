/* SPDX-License-Identifier: MIT */
/* errors.c - every dm_status is an exception: dotmatrix.Error, and what Python itself would raise. */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct error_row {
    const char *name, *doc;
    PyObject **also; /* the built-in that `except` may name instead */
    PyObject *type;
} error_row;

static error_row rows[DM_STATUS_COUNT] = {
    [DM_EINVAL] = {"InvalidArgument", "An argument or an input is wrong.", &PyExc_ValueError, NULL},
    [DM_ENOMEM] = {"OutOfMemory", "Host or device memory ran out.", &PyExc_MemoryError, NULL},
    [DM_EIO] = {"FileError", "A file could not be read or written.", &PyExc_OSError, NULL},
    [DM_ENOENT] = {"NotFound", "Something named does not exist.", &PyExc_FileNotFoundError, NULL},
    [DM_EFORMAT] = {"FormatError", "A file is damaged or of another format.", &PyExc_ValueError,
                    NULL},
    [DM_EUNSUPPORTED] = {"Unsupported", "Understood, but not possible here.",
                         &PyExc_NotImplementedError, NULL},
    [DM_EUNAVAILABLE] = {"Unavailable", "Missing hardware, or a missing optional component.",
                         &PyExc_RuntimeError, NULL},
    [DM_ECOMPILE] = {"CompileError", "Source text did not compile; `file` and `line` say where.",
                     &PyExc_ValueError, NULL},
    [DM_EDEVICE] = {"DeviceError", "The device or its driver reported an error.",
                    &PyExc_RuntimeError, NULL},
    [DM_EINTERNAL] = {"InternalError", "A bug of the library.", &PyExc_RuntimeError, NULL},
};
static PyObject *base;

int core_errors_add(PyObject *module)
{
    base = PyErr_NewExceptionWithDoc(
        "dotmatrix.Error",
        "What every error of the library is: the message of the C library, with `status` (its "
        "short name), and `file` and `line` of the input where there is one (else None).",
        NULL, NULL);
    if (base == NULL || PyModule_AddObjectRef(module, "Error", base) < 0)
        return -1;
    for (int i = 1; i < DM_STATUS_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "dotmatrix.%s", rows[i].name);
        PyObject *bases = PyTuple_Pack(2, base, *rows[i].also);
        if (bases == NULL)
            return -1;
        rows[i].type = PyErr_NewExceptionWithDoc(name, rows[i].doc, bases, NULL);
        Py_DECREF(bases);
        if (rows[i].type == NULL || PyModule_AddObjectRef(module, rows[i].name, rows[i].type) < 0)
            return -1;
    }
    return 0;
}

PyObject *core_raise(const dm_error *err)
{
    dm_status status =
        err->status > DM_OK && err->status < DM_STATUS_COUNT ? err->status : DM_EINTERNAL;
    PyObject *value = PyObject_CallFunction(rows[status].type, "s", err->message);
    if (value == NULL)
        return NULL;
    PyObject *name = PyUnicode_FromString(dm_status_name(status));
    PyObject *file = err->file[0] ? PyUnicode_DecodeFSDefault(err->file) : Py_NewRef(Py_None);
    PyObject *line = err->line > 0 ? PyLong_FromLong(err->line) : Py_NewRef(Py_None);
    if (name != NULL && file != NULL && line != NULL &&
        PyObject_SetAttrString(value, "status", name) == 0 &&
        PyObject_SetAttrString(value, "file", file) == 0 &&
        PyObject_SetAttrString(value, "line", line) == 0)
        PyErr_SetObject(rows[status].type, value);
    Py_XDECREF(name);
    Py_XDECREF(file);
    Py_XDECREF(line);
    Py_DECREF(value);
    return NULL;
}

PyObject *core_raise_messages(const dm_error *err, const char *messages)
{
    core_raise(err);
    if (messages == NULL)
        return NULL;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = PyUnicode_DecodeUTF8(messages, (Py_ssize_t)strlen(messages), "replace");
    if (text == NULL || value == NULL || PyObject_SetAttrString(value, "messages", text) < 0)
        PyErr_Clear();
    Py_XDECREF(text);
    PyErr_Restore(type, value, trace);
    return NULL;
}

PyObject *core_raise_status(dm_status status, const char *format, ...)
{
    dm_error err = {.status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(err.message, sizeof err.message, format, args);
    va_end(args);
    return core_raise(&err);
}
