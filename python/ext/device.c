/* SPDX-License-Identifier: MIT */
/* device.c - dm_device (dotmatrix/device.h) as a Python type. */
#include "core.h"

typedef struct device {
    PyObject_HEAD dm_device *device;
    unsigned forks;
} device;

static PyTypeObject *device_type;

dm_device *core_device(PyObject *object)
{
    if (!PyObject_TypeCheck(object, device_type)) {
        core_raise_status(DM_EINVAL, "device: a _core.Device");
        return NULL;
    }
    device *self = (device *)object;
    if (self->device == NULL || self->forks != core_forks()) {
        core_raise_status(DM_EINVAL, "device: opened before a fork; open it again in this process");
        return NULL;
    }
    return self->device;
}

static int device_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"id", NULL};
    device *self = (device *)object;
    const char *id;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:Device", names, &id))
        return -1;
    if (self->device != NULL) {
        core_raise_status(DM_EINVAL, "Device: __init__ was called twice");
        return -1;
    }
    dm_error err;
    dm_status status;
    dm_device *opened = NULL;
    Py_BEGIN_ALLOW_THREADS status = dm_device_open(id, &opened, &err);
    Py_END_ALLOW_THREADS if (status != DM_OK)
    {
        core_raise(&err);
        return -1;
    }
    self->device = opened;
    self->forks = core_forks();
    return 0;
}

static void device_dealloc(PyObject *object)
{
    device *self = (device *)object;
    PyTypeObject *type = Py_TYPE(object);
    /* Threads and contexts of before a fork are not there: leave them. */
    if (self->forks == core_forks())
        dm_device_close(self->device);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *describe(const dm_device_properties *p)
{
    return Py_BuildValue("{sssisssssssKsisisisKsKsi}", "kind",
                         p->kind == DM_DEVICE_CPU ? "cpu" : "cuda", "index", p->index, "id", p->id,
                         "name", p->name, "arch", p->arch, "memory_bytes",
                         (unsigned long long)p->memory_bytes, "multiprocessors", p->multiprocessors,
                         "lanes", p->lanes, "block_threads_max", p->block_threads_max,
                         "shared_bytes_max", (unsigned long long)p->shared_bytes_max, "l2_bytes",
                         (unsigned long long)p->l2_bytes, "clock_khz", p->clock_khz);
}

static PyObject *get_properties(PyObject *object, void *unused)
{
    (void)unused;
    dm_device *opened = core_device(object);
    return opened == NULL ? NULL : describe(dm_device_get_properties(opened));
}

static PyObject *get_kind(PyObject *object, void *unused)
{
    (void)unused;
    dm_device *opened = core_device(object);
    if (opened == NULL)
        return NULL;
    return PyUnicode_FromString(dm_device_get_properties(opened)->kind == DM_DEVICE_CPU ? "cpu"
                                                                                        : "cuda");
}

static PyObject *get_index(PyObject *object, void *unused)
{
    (void)unused;
    dm_device *opened = core_device(object);
    return opened == NULL ? NULL : PyLong_FromLong(dm_device_get_properties(opened)->index);
}

static PyObject *memory_free(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_device *opened = core_device(object);
    uint64_t bytes = 0;
    dm_error err;
    if (opened == NULL)
        return NULL;
    if (dm_device_memory_free(opened, &bytes, &err) != DM_OK)
        return core_raise(&err);
    return PyLong_FromUnsignedLongLong(bytes);
}

static PyObject *selftest(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_device *opened = core_device(object);
    dm_selftest_report report;
    dm_error err;
    dm_status status;
    if (opened == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = dm_device_selftest(opened, &report, &err);
    Py_END_ALLOW_THREADS if (status != DM_OK) return core_raise(&err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < report.count; i++) {
        const dm_selftest_result *r = &report.results[i];
        PyObject *row = Py_BuildValue("{sssOss}", "name", r->name, "passed",
                                      r->passed ? Py_True : Py_False, "detail", r->detail);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *core_devices(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    dm_device_properties found[16];
    size_t count = dm_device_list(found, 16);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count && i < 16; i++) {
        PyObject *row = describe(&found[i]);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* A text, or None when it is empty. */
static PyObject *text(const char *s)
{
    return s[0] == '\0' ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(s);
}

PyObject *core_tools(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    dm_device_tools t;
    Py_BEGIN_ALLOW_THREADS dm_device_tools_find(&t);
    Py_END_ALLOW_THREADS return Py_BuildValue(
        "{sOsisNsNsNsOsisNsNsNsOsNsNsNsN}", "cuda", t.cuda ? Py_True : Py_False, "cuda_version",
        t.cuda_version, "driver_version", text(t.driver_version), "driver_path",
        text(t.driver_path), "cuda_reason", text(t.cuda_reason), "nvrtc",
        t.nvrtc ? Py_True : Py_False, "nvrtc_version", t.nvrtc_version, "nvrtc_path",
        text(t.nvrtc_path), "nvrtc_origin", text(t.nvrtc_origin), "nvrtc_reason",
        text(t.nvrtc_reason), "cc", t.cc ? Py_True : Py_False, "cc_path", text(t.cc_path),
        "cc_version", text(t.cc_version), "cc_reason", text(t.cc_reason), "cache_path",
        text(t.cache_path));
}

static PyGetSetDef getset[] = {
    {"properties", get_properties, NULL, "name, memory, lanes and so on, as a dict", NULL},
    {"kind", get_kind, NULL, "'cpu' or 'cuda'", NULL},
    {"index", get_index, NULL, "CUDA's number; 0 for the CPU", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"memory_free", memory_free, METH_NOARGS, "memory_free($self, /)\n--\n\nBytes free now."},
    {"selftest", selftest, METH_NOARGS,
     "selftest($self, /)\n--\n\nRun the library's test kernels; a list of dicts."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Device(id)\n--\n\nAn open device: 'cpu', 'cpu:N' (N threads), 'cuda', 'cuda:N'."},
    {Py_tp_init, CORE_SLOT(device_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(device_dealloc)},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"dotmatrix._core.Device", sizeof(device), 0, Py_TPFLAGS_DEFAULT, slots};

int core_device_add(PyObject *module)
{
    device_type = core_type_add(module, &spec);
    return device_type == NULL ? -1 : 0;
}
