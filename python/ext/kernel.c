/* SPDX-License-Identifier: MIT */
/* kernel.c - dm_kernel (dotmatrix/kernel.h) as two Python types: Kernel, a text that was compiled, and
 * Program, that text on a device. dotmatrix/kernel.py gathers the text and describes the arrays. */
#include "core.h"

#include <dotmatrix/kernel.h>

#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 4 };

typedef struct kernel {
    PyObject_HEAD dm_kernel_file *file;
    dm_kernel *kernel;
} kernel;

typedef struct program {
    PyObject_HEAD PyObject *kernel; /* whose parameters the arguments have */
    PyObject *device;
    dm_kernel_program *program;
    dm_stream *stream; /* the caller's that was used last */
    void *native;
    unsigned forks;
} program;

static PyTypeObject *kernel_type, *program_type;

/* ---- A text ---- */

static const struct flag {
    const char *name;
    size_t offset;
} flags[] = {
    {"no_backward", offsetof(dm_kernel_options, no_backward)},
    {"warp_compat", offsetof(dm_kernel_options, warp_compat)},
    {"from_inputs", offsetof(dm_kernel_options, from_inputs)},
    {"bounds", offsetof(dm_kernel_options, bounds)},
    {"imports", offsetof(dm_kernel_options, imports)},
    {"lines", offsetof(dm_kernel_options, lines)},
    {"all_double", offsetof(dm_kernel_options, all_double)},
};

static int take_flags(PyObject *dict, dm_kernel_options *out)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        size_t i = 0;
        const size_t count = sizeof flags / sizeof flags[0];
        while (i < count && PyUnicode_CompareWithASCIIString(key, flags[i].name) != 0)
            i++;
        if (i == count) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "kernel: there is no option %R", key);
            return -1;
        }
        int truth = PyObject_IsTrue(value);
        if (truth < 0)
            return -1;
        *(bool *)((char *)out + flags[i].offset) = truth != 0;
    }
    return 0;
}

static int kernel_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "text", "kernel", "options", NULL};
    kernel *self = (kernel *)object;
    PyObject *path = NULL, *dict;
    const char *text, *which;
    Py_ssize_t size;
    dm_kernel_options options = {.no_backward = false};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&s#sO!:Kernel", names, PyUnicode_FSConverter,
                                     &path, &text, &size, &which, &PyDict_Type, &dict))
        return -1;
    dm_error err = {.status = DM_OK};
    int result = self->file != NULL ? -1 : take_flags(dict, &options);
    if (self->file != NULL)
        core_raise_status(DM_EINVAL, "Kernel: __init__ was called twice");
    if (result == 0) {
        dm_status status = dm_kernel_file_create(PyBytes_AsString(path), text, (size_t)size,
                                                 &options, &self->file, &err);
        if (status == DM_OK) {
            self->kernel = dm_kernel_file_find(self->file, which);
            if (self->kernel == NULL)
                status = dm_fail(&err, DM_ENOENT, "%s: has no kernel '%s'", PyBytes_AsString(path),
                                 which);
            else
                status = dm_kernel_compile(self->kernel, &err);
        }
        if (status != DM_OK) {
            core_raise_messages(&err,
                                self->file == NULL ? NULL : dm_kernel_file_messages(self->file));
            result = -1;
        }
    }
    Py_XDECREF(path);
    return result;
}

static void kernel_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    dm_kernel_file_destroy(((kernel *)object)->file);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The kernel, or NULL with an exception. */
static dm_kernel *kernel_get(PyObject *object)
{
    dm_kernel *found = ((kernel *)object)->kernel;
    if (found == NULL)
        core_raise_status(DM_EINVAL, "Kernel: it did not compile");
    return found;
}

static PyObject *source(PyObject *object, PyObject *target)
{
    dm_kernel *k = kernel_get(object);
    long which = PyLong_AsLong(target);
    if (k == NULL || PyErr_Occurred())
        return NULL;
    dm_error err = {.status = DM_OK};
    const char *text = dm_kernel_source(k, which == 0 ? DM_KERNEL_C : DM_KERNEL_CUDA, &err);
    return text == NULL ? core_raise(&err) : PyUnicode_FromString(text);
}

/* Names as NumPy's typestr has them; bytes for structs. */
static const char *const typestrs[] = {
    [DM_KERNEL_BOOL] = "b1",    [DM_KERNEL_INT8] = "i1",    [DM_KERNEL_UINT8] = "u1",
    [DM_KERNEL_INT16] = "i2",   [DM_KERNEL_UINT16] = "u2",  [DM_KERNEL_INT32] = "i4",
    [DM_KERNEL_UINT32] = "u4",  [DM_KERNEL_INT64] = "i8",   [DM_KERNEL_UINT64] = "u8",
    [DM_KERNEL_FLOAT16] = "f2", [DM_KERNEL_FLOAT32] = "f4", [DM_KERNEL_FLOAT64] = "f8",
    [DM_KERNEL_STRUCT] = "V",
};

static PyObject *get_params(PyObject *object, void *unused)
{
    (void)unused;
    dm_kernel *k = kernel_get(object);
    PyObject *list = k == NULL ? NULL : PyList_New(0);
    for (size_t i = 0; list != NULL && i < dm_kernel_param_count(k); i++) {
        const dm_kernel_param *p = dm_kernel_param_get(k, i);
        PyObject *row = Py_BuildValue("{sssssOsisssisn}", "name", p->name, "type", p->type,
                                      "is_array", p->is_array ? Py_True : Py_False, "ndim", p->ndim,
                                      "scalar", typestrs[p->scalar], "components", p->components,
                                      "element_size", (Py_ssize_t)p->element_size);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *get_dimensions(PyObject *object, void *unused)
{
    (void)unused;
    dm_kernel *k = kernel_get(object);
    return k == NULL ? NULL : PyLong_FromLong(dm_kernel_dimensions(k));
}

static PyObject *get_no_backward(PyObject *object, void *unused)
{
    (void)unused;
    dm_kernel *k = kernel_get(object);
    if (k == NULL)
        return NULL;
    if (dm_kernel_has_backward(k))
        Py_RETURN_NONE;
    const char *why = dm_kernel_no_backward(k);
    return PyUnicode_FromString(why == NULL ? "none was asked for" : why);
}

/* ---- A program ---- */

static int program_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    program *self = (program *)object;
    PyObject *of, *on;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Program takes (kernel, device)");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!O:Program", kernel_type, &of, &on))
        return -1;
    dm_kernel *k = kernel_get(of);
    dm_device *device = k == NULL ? NULL : core_device(on);
    if (device == NULL)
        return -1;
    if (self->program != NULL) {
        core_raise_status(DM_EINVAL, "Program: __init__ was called twice");
        return -1;
    }
    dm_error err;
    dm_status status;
    dm_kernel_program *made = NULL;
    Py_BEGIN_ALLOW_THREADS status = dm_kernel_program_create(k, device, &made, &err);
    Py_END_ALLOW_THREADS if (status != DM_OK)
    {
        core_raise(&err);
        return -1;
    }
    self->program = made;
    self->kernel = Py_NewRef(of);
    self->device = Py_NewRef(on);
    self->forks = core_forks();
    return 0;
}

static void program_dealloc(PyObject *object)
{
    program *self = (program *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->forks == core_forks()) {
        dm_stream_destroy(self->stream);
        dm_kernel_program_destroy(self->program);
    }
    Py_CLEAR(self->kernel);
    Py_CLEAR(self->device);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Up to four numbers of a tuple. */
static bool take_numbers(PyObject *tuple, int64_t *to, int *count)
{
    Py_ssize_t size = PyTuple_Size(tuple);
    if (size < 0)
        return false;
    if (size > DIMENSIONS) {
        core_raise_status(DM_EINVAL, "kernel: %zd dimensions; at most %d", size, DIMENSIONS);
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        to[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (to[i] == -1 && PyErr_Occurred())
            return false;
    }
    *count = (int)size;
    return true;
}

/* An argument is bytes, as they lie in memory, or (data, grad, shape, strides in bytes). */
static bool take_argument(dm_kernel_args *args, const char *name, PyObject *value)
{
    dm_error err;
    dm_status status;
    if (PyBytes_Check(value)) {
        status = dm_kernel_args_bytes(args, name, PyBytes_AsString(value),
                                      (size_t)PyBytes_Size(value), &err);
    } else {
        unsigned long long data, grad;
        PyObject *shape, *strides;
        int have, also;
        dm_kernel_array array = {NULL, NULL, {0}, {0}};
        if (!PyArg_ParseTuple(value, "KKO!O!:argument", &data, &grad, &PyTuple_Type, &shape,
                              &PyTuple_Type, &strides) ||
            !take_numbers(shape, array.shape, &have) ||
            !take_numbers(strides, array.strides, &also))
            return false;
        array.data = (void *)(uintptr_t)data;
        array.grad = (void *)(uintptr_t)grad;
        status = dm_kernel_args_array(args, name, &array, &err);
    }
    if (status == DM_OK)
        return true;
    core_raise(&err);
    return false;
}

static bool take_arguments(dm_kernel *k, PyObject *list, dm_kernel_args *args)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return false;
    if ((size_t)count != dm_kernel_param_count(k)) {
        core_raise_status(DM_EINVAL, "%s: takes %zu arguments, %zd are given", dm_kernel_name(k),
                          dm_kernel_param_count(k), count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!take_argument(args, dm_kernel_param_get(k, (size_t)i)->name, PyList_GetItem(list, i)))
            return false;
    return true;
}

/* The caller's stream, or the device's own for None; NULL with an exception. */
static dm_stream *stream_of(program *self, dm_device *device, PyObject *number)
{
    if (number == Py_None)
        return dm_device_stream(device);
    void *native = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred())
        return NULL;
    if (self->stream != NULL && self->native == native)
        return self->stream;
    dm_error err;
    dm_stream *stream = NULL;
    if (dm_stream_import(device, native, &stream, &err) != DM_OK) {
        core_raise(&err);
        return NULL;
    }
    dm_stream_destroy(self->stream);
    self->stream = stream;
    self->native = native;
    return stream;
}

static PyObject *launch(PyObject *object, PyObject *args)
{
    program *self = (program *)object;
    int pass, ndim, dim[DIMENSIONS], wait;
    int64_t wide[DIMENSIONS] = {0};
    PyObject *list, *dims, *native;
    if (!PyArg_ParseTuple(args, "iO!O!Op:launch", &pass, &PyTuple_Type, &dims, &PyList_Type, &list,
                          &native, &wait) ||
        !take_numbers(dims, wide, &ndim))
        return NULL;
    for (int i = 0; i < ndim; i++) {
        if (wide[i] < 0 || wide[i] > INT32_MAX)
            return core_raise_status(DM_EINVAL, "launch: a dimension of %lld", (long long)wide[i]);
        dim[i] = (int)wide[i];
    }
    if (self->program == NULL || self->forks != core_forks())
        return core_raise_status(DM_EINVAL, "Program: made before a fork; make a new one");
    dm_device *device = core_device(self->device);
    dm_stream *stream = device == NULL ? NULL : stream_of(self, device, native);
    dm_kernel *k = kernel_get(self->kernel);
    if (stream == NULL || k == NULL)
        return NULL;
    dm_error err;
    dm_kernel_args *block = NULL;
    dm_status status = dm_kernel_args_create(k, &block, &err);
    if (status != DM_OK)
        return core_raise(&err);
    if (!take_arguments(k, list, block)) {
        dm_kernel_args_destroy(block);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status =
        dm_kernel_launch(self->program, stream, pass == 0 ? DM_KERNEL_FORWARD : DM_KERNEL_BACKWARD,
                         dim, ndim, block, &err);
    if (status == DM_OK && wait)
        status = dm_stream_synchronize(stream, &err);
    Py_END_ALLOW_THREADS dm_kernel_args_destroy(block);
    if (status != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

/* ---- The types ---- */

static PyGetSetDef kernel_getset[] = {
    {"params", get_params, NULL, "one dict each: name, type, is_array, ndim, scalar ...", NULL},
    {"dimensions", get_dimensions, NULL, "how many coordinates tid() gives", NULL},
    {"no_backward", get_no_backward, NULL, "why there is no backward pass; None: there is", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef kernel_methods[] = {
    {"source", source, METH_O, "source($self, target, /)\n--\n\nThe text for 0: C, 1: CUDA."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(name, text, kernel, options)\n--\n\nA kernel of a text, compiled."},
    {Py_tp_init, CORE_SLOT(kernel_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(kernel_dealloc)},
    {Py_tp_getset, kernel_getset},
    {Py_tp_methods, kernel_methods},
    {0, NULL},
};
static PyType_Spec kernel_spec = {"dotmatrix._core.Kernel", sizeof(kernel), 0, Py_TPFLAGS_DEFAULT,
                                  kernel_slots};

static PyMethodDef program_methods[] = {
    {"launch", launch, METH_VARARGS,
     "launch($self, pass, dim, arguments, stream, wait, /)\n--\n\n"
     "Pass 0: forward, 1: backward. An argument is bytes or (data, grad, shape, strides)."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot program_slots[] = {
    {Py_tp_doc, "Program(kernel, device)\n--\n\nA kernel on a device."},
    {Py_tp_init, CORE_SLOT(program_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(program_dealloc)},
    {Py_tp_methods, program_methods},
    {0, NULL},
};
static PyType_Spec program_spec = {"dotmatrix._core.Program", sizeof(program), 0,
                                   Py_TPFLAGS_DEFAULT, program_slots};

int core_kernel_add(PyObject *module)
{
    kernel_type = core_type_add(module, &kernel_spec);
    program_type = core_type_add(module, &program_spec);
    return kernel_type == NULL || program_type == NULL ? -1 : 0;
}
