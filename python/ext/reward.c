/* SPDX-License-Identifier: MIT */
/* reward.c - dm_program (dotmatrix/program.h) as a Python type: a reward program that was compiled.
 * dotmatrix/programs.py gathers the text of a function. */
#include "core.h"

#include <dotmatrix/program.h>

#include <string.h>

typedef struct reward {
    PyObject_HEAD dm_program *program;
} reward;

static PyTypeObject *reward_type;

bool core_reward(PyObject *object, const dm_program **out)
{
    if (!PyObject_TypeCheck(object, reward_type)) {
        core_raise_status(DM_EINVAL, "program: a _core.Reward");
        return false;
    }
    *out = ((reward *)object)->program;
    return true;
}

/* Reward(name, text, function, symbols); text None: the file `name`. */
static int reward_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    reward *self = (reward *)object;
    PyObject *path = NULL, *symbols = NULL;
    const char *text = NULL, *function = NULL;
    Py_ssize_t size = 0;
    PyObject *symbols_given = Py_None;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "_core.Reward takes (name, text, function, symbols)");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O&z#zO:Reward", PyUnicode_FSConverter, &path, &text, &size,
                          &function, &symbols_given))
        return -1;
    if (symbols_given != Py_None && !PyUnicode_FSConverter(symbols_given, &symbols)) {
        Py_DECREF(path);
        return -1;
    }
    dm_program_options options = {.function = function,
                                  .symbols = symbols == NULL ? NULL : PyBytes_AsString(symbols)};
    dm_error err = {.status = DM_OK};
    dm_program *made = NULL;
    const char *name = PyBytes_AsString(path);
    dm_status status;
    Py_BEGIN_ALLOW_THREADS status =
        text == NULL ? dm_program_load(name, &options, &made, &err)
                     : dm_program_create(name, text, (size_t)size, &options, &made, &err);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    Py_XDECREF(symbols);
    if (status == DM_OK && self->program == NULL) {
        self->program = made;
        return 0;
    }
    if (status == DM_OK)
        core_raise_status(DM_EINVAL, "Reward: __init__ was called twice");
    else
        core_raise_messages(&err, dm_program_messages(made));
    dm_program_destroy(made);
    return -1;
}

static void reward_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    dm_program_destroy(((reward *)object)->program);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static int append(PyObject *list, PyObject *item)
{
    const int status = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return status;
}

static PyObject *get_info(PyObject *object, void *unused)
{
    (void)unused;
    const dm_program_info info = dm_program_get_info(((reward *)object)->program);
    PyObject *metrics = PyList_New(0), *hooks = PyList_New(0), *symbols = PyDict_New();
    int bad = metrics == NULL || hooks == NULL || symbols == NULL;
    for (size_t i = 0; !bad && i < info.metric_count; i++)
        bad = append(metrics, PyUnicode_FromString(info.metrics[i])) < 0;
    for (size_t i = 0; !bad && i < info.hook_count; i++) {
        const dm_program_hook *h = &info.hooks[i];
        PyObject *bank = h->any_bank ? Py_NewRef(Py_None) : PyLong_FromLong(h->bank);
        bad = bank == NULL || append(hooks, Py_BuildValue("(sNi)", h->name, bank, h->address)) < 0;
    }
    for (size_t i = 0; !bad && i < info.symbol_count; i++) {
        PyObject *address = PyLong_FromLong(info.symbols[i].address);
        bad = address == NULL || PyDict_SetItemString(symbols, info.symbols[i].name, address) < 0;
        Py_XDECREF(address);
    }
    PyObject *dict = NULL;
    if (!bad)
        dict = Py_BuildValue("{sssssIsIsssOsOsO}", "name", info.name, "function", info.function,
                             "observation_size", info.observation_size, "memory_bytes",
                             info.memory_bytes, "memory_hash", info.memory_hash, "metrics", metrics,
                             "hooks", hooks, "symbols", symbols);
    Py_XDECREF(metrics);
    Py_XDECREF(hooks);
    Py_XDECREF(symbols);
    return dict;
}

static PyObject *source(PyObject *object, PyObject *cuda)
{
    const int truth = PyObject_IsTrue(cuda);
    return truth < 0
               ? NULL
               : PyUnicode_FromString(dm_program_source(((reward *)object)->program, truth != 0));
}

static PyGetSetDef getset[] = {
    {"info", get_info, NULL, "sizes, metrics, hooks and symbols, as a dict", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"source", source, METH_O, "source($self, cuda, /)\n--\n\nThe C or CUDA C++ that is compiled."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Reward(name, text, function, symbols, /)\n--\n\nA reward program."},
    {Py_tp_init, CORE_SLOT(reward_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(reward_dealloc)},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"dotmatrix._core.Reward", sizeof(reward), 0, Py_TPFLAGS_DEFAULT, slots};

int core_reward_add(PyObject *module)
{
    reward_type = core_type_add(module, &spec);
    return reward_type == NULL ? -1 : 0;
}
