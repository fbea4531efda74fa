/* SPDX-License-Identifier: MIT */
/* array.c - memory of ours for other libraries, without a copy.
 *
 * An Array has an address, a shape and an owner that it keeps alive. NumPy takes it through
 * __array_interface__, CuPy and Numba through __cuda_array_interface__ (version 3), everything else
 * through DLPack: both kinds of capsule, with `stream`, `max_version`, `dl_device` and `copy`. */
#include "core.h"

#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

/* What a capsule holds: the structure, its shape and strides, and the array or the copy. */
typedef struct export
{
    union {
        dl_managed plain;
        dl_managed_versioned versioned;
    } managed;
    int64_t shape[CORE_ARRAY_DIMENSIONS], strides[CORE_ARRAY_DIMENSIONS];
    PyObject *owner;
    void *copy;
}
export;

/* ---- The type ---- */

typedef struct array {
    PyObject_HEAD PyObject *owner;
    core_layout at;
} array;

static PyTypeObject *array_type;

size_t core_layout_size(const core_layout *layout)
{
    size_t size = layout->bits / 8u;
    for (int i = 0; i < layout->dimensions; i++)
        size *= (size_t)layout->shape[i];
    return size;
}

PyObject *core_array_new(PyObject *owner, const core_layout *layout)
{
    allocfunc make = (allocfunc)(uintptr_t)PyType_GetSlot(array_type, Py_tp_alloc);
    array *self = (array *)make(array_type, 0);
    if (self == NULL)
        return NULL;
    self->owner = Py_NewRef(owner);
    self->at = *layout;
    if (layout->hooks != NULL)
        layout->hooks->taken(owner);
    return (PyObject *)self;
}

const core_layout *core_array_layout(PyObject *object, core_layout *out)
{
    if (!PyObject_TypeCheck(object, array_type))
        return NULL;
    *out = ((array *)object)->at;
    return out;
}

static void array_dealloc(PyObject *object)
{
    array *self = (array *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->owner != NULL && self->at.hooks != NULL)
        self->at.hooks->given_back(self->owner);
    Py_CLEAR(self->owner);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *shape_tuple(const core_layout *at)
{
    PyObject *tuple = PyTuple_New(at->dimensions);
    for (int i = 0; tuple != NULL && i < at->dimensions; i++) {
        PyObject *length = PyLong_FromLongLong(at->shape[i]);
        if (length == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SetItem(tuple, i, length);
    }
    return tuple;
}

static PyObject *get_shape(PyObject *object, void *unused)
{
    (void)unused;
    return shape_tuple(&((array *)object)->at);
}

static PyObject *get_typestr(PyObject *object, void *unused)
{
    (void)unused;
    const core_layout *at = &((array *)object)->at;
    static const char letters[] = "iuf___b";
    return PyUnicode_FromFormat("%c%c%d", at->bits == 8 ? '|' : '<', letters[at->kind],
                                at->bits / 8);
}

static PyObject *get_address(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((array *)object)->at.data);
}

static PyObject *get_device(PyObject *object, void *unused)
{
    (void)unused;
    const core_layout *at = &((array *)object)->at;
    if (at->device == DM_DEVICE_CPU)
        return PyUnicode_FromString("cpu");
    return PyUnicode_FromFormat("cuda:%d", at->device_index);
}

static PyObject *get_nbytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(core_layout_size(&((array *)object)->at));
}

static PyObject *interface(PyObject *object, dm_device_kind kind, const char *name)
{
    const core_layout *at = &((array *)object)->at;
    if (at->device != kind)
        return PyErr_Format(PyExc_AttributeError, "this array lies on %s: it has no %s",
                            at->device == DM_DEVICE_CPU ? "the CPU" : "a GPU", name);
    PyObject *shape = shape_tuple(at), *type = get_typestr(object, NULL), *dict = NULL;
    if (shape != NULL && type != NULL)
        dict = Py_BuildValue("{sOsOs(NO)sOsi}", "shape", shape, "typestr", type, "data",
                             PyLong_FromVoidPtr(at->data), at->read_only ? Py_True : Py_False,
                             "strides", Py_None, "version", 3);
    /* 1 is CUDA's default stream; the consumer waits for it. */
    if (dict != NULL && kind == DM_DEVICE_CUDA) {
        void *native = at->hooks == NULL ? NULL : at->hooks->stream(((array *)object)->owner);
        PyObject *stream = PyLong_FromVoidPtr(native == NULL ? (void *)1 : native);
        if (stream == NULL || PyDict_SetItemString(dict, "stream", stream) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(stream);
    }
    Py_XDECREF(shape);
    Py_XDECREF(type);
    return dict;
}

static PyObject *get_array_interface(PyObject *object, void *unused)
{
    (void)unused;
    return interface(object, DM_DEVICE_CPU, "__array_interface__");
}

static PyObject *get_cuda_interface(PyObject *object, void *unused)
{
    (void)unused;
    return interface(object, DM_DEVICE_CUDA, "__cuda_array_interface__");
}

static PyObject *dlpack_device(PyObject *object, PyObject *unused)
{
    (void)unused;
    const core_layout *at = &((array *)object)->at;
    return Py_BuildValue("(ii)", at->device == DM_DEVICE_CPU ? DL_CPU : DL_CUDA, at->device_index);
}

/* ---- Export ---- */

static void export_free(export *e)
{
    /* A consumer may let go of its tensor on any thread, and after Python has ended. */
    if (e->owner != NULL && Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(e->owner);
        PyGILState_Release(gil);
    }
    free(e->copy);
    free(e);
}

static void delete_plain(dl_managed *managed)
{
    export_free(managed->context);
}

static void delete_versioned(dl_managed_versioned *managed)
{
    export_free(managed->context);
}

/* A consumer renames the capsule that it took: then the tensor is the consumer's. */
static void capsule_free(PyObject *capsule)
{
    export *e = NULL;
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        e = managed == NULL ? NULL : managed->context;
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_managed_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        e = managed == NULL ? NULL : managed->context;
    }
    if (e != NULL)
        export_free(e);
}

static PyObject *dlpack(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    array *self = (array *)object;
    const core_layout *at = &self->at;
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy))
        return NULL;
    int major = 0, minor = 0;
    if (version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor))
        return NULL;
    int want_type = at->device == DM_DEVICE_CPU ? DL_CPU : DL_CUDA, want_id = at->device_index;
    int have_type = want_type, have_id = want_id;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &want_type, &want_id))
        return NULL;
    int copying = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (copying < 0)
        return NULL;
    if (want_type != have_type || want_id != have_id)
        return PyErr_Format(PyExc_BufferError,
                            "this array lies on device (%d, %d): move it after importing it",
                            have_type, have_id);
    if (copying && at->device != DM_DEVICE_CPU)
        return PyErr_Format(PyExc_BufferError, "copy=True on a GPU: copy after importing it");
    if (at->device == DM_DEVICE_CPU && stream != Py_None)
        return PyErr_Format(PyExc_BufferError, "an array on the CPU has no stream");
    if (at->read_only && !copying && major < 1)
        return PyErr_Format(PyExc_BufferError, "a read-only array needs DLPack 1 or copy=True");

    /* The consumer's stream waits for ours. -1: it takes care of that itself. */
    if (at->device == DM_DEVICE_CUDA && at->hooks != NULL) {
        long long native = stream == Py_None ? 1 : PyLong_AsLongLong(stream);
        if (native == -1 && PyErr_Occurred())
            return NULL;
        if (native != -1 && at->hooks->order(self->owner, (void *)(intptr_t)native) < 0)
            return NULL;
    }
    export *e = calloc(1, sizeof *e);
    if (e == NULL)
        return PyErr_NoMemory();
    void *data = at->data;
    if (copying) {
        size_t size = core_layout_size(at);
        e->copy = malloc(size == 0 ? 1 : size);
        if (e->copy == NULL) {
            free(e);
            return PyErr_NoMemory();
        }
        memcpy(e->copy, at->data, size);
        data = e->copy;
    } else {
        e->owner = Py_NewRef(object);
    }
    dl_tensor tensor = {.data = data,
                        .device = {have_type, have_id},
                        .ndim = at->dimensions,
                        .dtype = {(uint8_t)at->kind, at->bits, 1},
                        .shape = e->shape,
                        .strides = e->strides};
    int64_t stride = 1;
    for (int i = at->dimensions - 1; i >= 0; i--) {
        e->shape[i] = at->shape[i];
        e->strides[i] = stride;
        stride *= at->shape[i];
    }
    const char *name;
    if (major >= 1) {
        dl_managed_versioned *managed = &e->managed.versioned;
        managed->version.major = 1;
        managed->context = e;
        managed->deleter = delete_versioned;
        managed->flags = copying ? DL_COPIED : at->read_only ? DL_READ_ONLY : 0;
        managed->tensor = tensor;
        name = "dltensor_versioned";
    } else {
        e->managed.plain = (dl_managed){tensor, e, delete_plain};
        name = "dltensor";
    }
    PyObject *capsule = PyCapsule_New(&e->managed, name, capsule_free);
    if (capsule == NULL)
        export_free(e);
    return capsule;
}

static PyObject *tobytes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const core_layout *at = &((array *)object)->at;
    if (at->device != DM_DEVICE_CPU)
        return PyErr_Format(PyExc_BufferError, "this array lies on a GPU");
    return PyBytes_FromStringAndSize(at->data, (Py_ssize_t)core_layout_size(at));
}

static PyObject *repr(PyObject *object)
{
    PyObject *shape = get_shape(object, NULL), *type = get_typestr(object, NULL),
             *device = get_device(object, NULL), *text = NULL;
    if (shape != NULL && type != NULL && device != NULL)
        text = PyUnicode_FromFormat("<dotmatrix.Array %S %S on %S>", shape, type, device);
    Py_XDECREF(shape);
    Py_XDECREF(type);
    Py_XDECREF(device);
    return text;
}

static PyGetSetDef getset[] = {
    {"shape", get_shape, NULL, "lengths, as a tuple", NULL},
    {"typestr", get_typestr, NULL, "element type as NumPy spells it: '|u1', '<f4'", NULL},
    {"address", get_address, NULL, "address of the first element, on its device", NULL},
    {"device", get_device, NULL, "'cpu' or 'cuda:N'", NULL},
    {"nbytes", get_nbytes, NULL, "bytes in all", NULL},
    {"__array_interface__", get_array_interface, NULL, "for NumPy", NULL},
    {"__cuda_array_interface__", get_cuda_interface, NULL, "for CuPy and Numba", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"__dlpack__", CORE_METHOD(dlpack), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule over this memory; versioned when max_version is (1, 0) or later."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nDLPack's (device type, number): (1, 0) is the CPU."},
    {"tobytes", tobytes, METH_NOARGS,
     "tobytes($self, /)\n--\n\nA copy of the elements; only on the CPU."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Memory of a machine or a swarm, for other libraries without a copy: DLPack,\n"
                "__array_interface__, __cuda_array_interface__. Keeps its owner alive."},
    {Py_tp_dealloc, CORE_SLOT(array_dealloc)},
    {Py_tp_repr, CORE_SLOT(repr)},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"dotmatrix._core.Array", sizeof(array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int core_array_add(PyObject *module)
{
    array_type = core_type_add(module, &spec);
    return array_type == NULL ? -1 : 0;
}
