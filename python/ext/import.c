/* SPDX-License-Identifier: MIT */
/* import.c - memory of others: an object that has an address for us, whoever made it.
 *
 * Tried in this order: our own arrays, bytes and bytearrays, __cuda_array_interface__,
 * __array_interface__, DLPack, and what memoryview takes (copied: the limited API of 3.10 has no
 * buffers). Only contiguous memory is taken. What must live as long as the address is kept in
 * `holder`. */
#include "core.h"

#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

/* ---- The two interfaces ---- */

static bool take_typestr(const char *text, core_layout *out)
{
    static const struct {
        char letter;
        core_kind kind;
    } kinds[] = {{'i', CORE_INT}, {'u', CORE_UINT}, {'f', CORE_FLOAT}, {'b', CORE_BOOL}};
    if (strlen(text) < 3 || text[0] == '>')
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (text[1] == kinds[i].letter) {
            out->kind = kinds[i].kind;
            out->bits = (uint8_t)(8 * atoi(text + 2));
            return true;
        }
    return false;
}

/* A shape; false with an exception. */
static bool take_shape(PyObject *shape, core_layout *out)
{
    Py_ssize_t count = PyTuple_Size(shape);
    if (count < 0)
        return false;
    if (count > CORE_ARRAY_DIMENSIONS) {
        core_raise_status(DM_EINVAL, "an array of %zd dimensions; at most %d", count,
                          CORE_ARRAY_DIMENSIONS);
        return false;
    }
    out->dimensions = (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        out->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (out->shape[i] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

static bool not_contiguous(void)
{
    core_raise_status(DM_EINVAL, "an array with gaps: make it contiguous first");
    return false;
}

static bool take_interface(PyObject *dict, dm_device_kind device, core_layout *out)
{
    PyObject *shape = PyDict_GetItemString(dict, "shape"),
             *type = PyDict_GetItemString(dict, "typestr"),
             *data = PyDict_GetItemString(dict, "data"),
             *strides = PyDict_GetItemString(dict, "strides");
    int read_only = 0;
    PyObject *address = NULL;
    if (shape == NULL || type == NULL || data == NULL || !PyTuple_Check(data) ||
        !PyArg_ParseTuple(data, "Op", &address, &read_only) || !take_shape(shape, out)) {
        if (!PyErr_Occurred())
            core_raise_status(DM_EINVAL, "an array interface without shape, typestr or data");
        return false;
    }
    PyObject *text = PyUnicode_AsASCIIString(type);
    bool known = text != NULL && take_typestr(PyBytes_AsString(text), out);
    Py_XDECREF(text);
    if (!known) {
        if (!PyErr_Occurred())
            core_raise_status(DM_EINVAL, "an array of another element type");
        return false;
    }
    out->data = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        return false;
    out->read_only = read_only;
    out->device = device;
    if (strides != NULL && strides != Py_None) {
        int64_t want = out->bits / 8;
        for (int i = out->dimensions - 1; i >= 0; i--) {
            long long stride = PyLong_AsLongLong(PyTuple_GetItem(strides, i));
            if (out->shape[i] > 1 && stride != want)
                return not_contiguous();
            want *= out->shape[i];
        }
    }
    return true;
}

/* ---- DLPack ---- */

static bool take_tensor(const dl_tensor *t, core_layout *out)
{
    if (t->ndim < 0 || t->ndim > CORE_ARRAY_DIMENSIONS || t->dtype.lanes != 1) {
        core_raise_status(DM_EINVAL, "an array of %d dimensions; at most %d", t->ndim,
                          CORE_ARRAY_DIMENSIONS);
        return false;
    }
    out->kind = (core_kind)t->dtype.code;
    out->bits = t->dtype.bits;
    out->dimensions = t->ndim;
    int64_t want = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        out->shape[i] = t->shape[i];
        if (t->strides != NULL && t->shape[i] > 1 && t->strides[i] != want)
            return not_contiguous();
        want *= t->shape[i];
    }
    out->data = (char *)t->data + t->byte_offset;
    out->device = t->device.type == DL_CUDA || t->device.type == DL_CUDA_MANAGED ? DM_DEVICE_CUDA
                                                                                 : DM_DEVICE_CPU;
    out->device_index = t->device.id;
    if (t->device.type != DL_CPU && t->device.type != DL_CUDA_HOST &&
        out->device != DM_DEVICE_CUDA) {
        core_raise_status(DM_EUNSUPPORTED, "an array on DLPack's device type %d", t->device.type);
        return false;
    }
    return true;
}

/* The capsule stays as it is and is the holder: its maker frees the tensor with it. */
static bool take_capsule(PyObject *capsule, core_layout *out)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const dl_managed_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        out->read_only = (m->flags & DL_READ_ONLY) != 0;
        return take_tensor(&m->tensor, out);
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        const dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
        return take_tensor(&m->tensor, out);
    }
    core_raise_status(DM_EINVAL, "__dlpack__ gave no DLPack capsule");
    return false;
}

/* ---- All of them ---- */

static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

static bool take_bytes(PyObject *object, core_layout *out)
{
    Py_ssize_t size = PyBytes_Check(object) ? PyBytes_Size(object) : PyByteArray_Size(object);
    *out = (core_layout){.data = PyBytes_Check(object) ? PyBytes_AsString(object)
                                                       : PyByteArray_AsString(object),
                         .kind = CORE_UINT,
                         .bits = 8,
                         .dimensions = 1,
                         .shape = {size},
                         .read_only = PyBytes_Check(object)};
    return true;
}

bool core_import(PyObject *object, const char *what, core_layout *out, PyObject **holder)
{
    memset(out, 0, sizeof *out);
    *holder = NULL;
    bool good = false;
    PyObject *value;
    if (core_array_layout(object, out) != NULL) {
        good = true;
    } else if (PyBytes_Check(object) || PyByteArray_Check(object)) {
        good = take_bytes(object, out);
    } else if ((value = attribute(object, "__cuda_array_interface__")) != NULL) {
        good = take_interface(value, DM_DEVICE_CUDA, out);
        out->device_index = -1; /* the interface does not say */
        Py_DECREF(value);
    } else if (!PyErr_Occurred() && (value = attribute(object, "__array_interface__")) != NULL) {
        good = take_interface(value, DM_DEVICE_CPU, out);
        Py_DECREF(value);
    } else if (!PyErr_Occurred() && (value = attribute(object, "__dlpack__")) != NULL) {
        *holder = PyObject_CallNoArgs(value);
        Py_DECREF(value);
        good = *holder != NULL && take_capsule(*holder, out);
    } else if (!PyErr_Occurred()) {
        PyObject *view = PyMemoryView_FromObject(object);
        *holder = view == NULL ? NULL : PyBytes_FromObject(view);
        Py_XDECREF(view);
        good = *holder != NULL && take_bytes(*holder, out);
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            core_raise_status(DM_EINVAL,
                              "%s: an array (DLPack, NumPy, CUDA array interface) or bytes", what);
        }
    }
    if (!good) {
        Py_CLEAR(*holder);
        return false;
    }
    if (*holder == NULL)
        *holder = Py_NewRef(object);
    return true;
}

/* One host integer, as it lies in memory. */
static int64_t integer_at(const core_layout *at, int64_t i)
{
    const char *p = (const char *)at->data + i * (at->bits / 8);
#define READ(type)                                                                                 \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, p, sizeof value);                                                           \
        return (int64_t)value;                                                                     \
    }
    bool is_signed = at->kind == CORE_INT;
    switch (at->bits) {
    case 8:
        if (is_signed)
            READ(int8_t)
        READ(uint8_t)
    case 16:
        if (is_signed)
            READ(int16_t)
        READ(uint16_t)
    case 32:
        if (is_signed)
            READ(int32_t)
        READ(uint32_t)
    default:
        READ(int64_t)
    }
#undef READ
}

bool core_integers(const core_layout *at, const char *what, int64_t least, int64_t most,
                   size_t size, void *to)
{
    if (at->kind != CORE_INT && at->kind != CORE_UINT && at->kind != CORE_BOOL) {
        core_raise_status(DM_EINVAL, "%s: integers, not floats", what);
        return false;
    }
    const int64_t count = (int64_t)(core_layout_size(at) / (at->bits / 8u));
    for (int64_t i = 0; i < count; i++) {
        int64_t value = integer_at(at, i);
        if (value < least || value > most) {
            core_raise_status(DM_EINVAL, "%s: %lld at %lld; %lld to %lld", what, (long long)value,
                              (long long)i, (long long)least, (long long)most);
            return false;
        }
        if (size == 1)
            ((uint8_t *)to)[i] = (uint8_t)value;
        else
            ((uint32_t *)to)[i] = (uint32_t)value;
    }
    return true;
}
