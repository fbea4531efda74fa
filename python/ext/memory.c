/* SPDX-License-Identifier: MIT */
/* memory.c - GameBoy.memory: one address, a slice, or a bank with either; read and assigned to.
 *
 *     memory[0xC000]             what the CPU would read there now
 *     memory[0xC000:0xC010]      a list; with a step, too
 *     memory[3, 0x4000:0x4010]   the same of a bank, mapped or not
 *     memory[0xC000:0xC010] = 0  or as many values as there are addresses */
#include "gameboy.h"

#include <stdlib.h>

enum { ADDRESSES = 0x10000 };

typedef struct memory {
    PyObject_HEAD PyObject *gameboy;
} memory;

static PyTypeObject *memory_type;

PyObject *core_memory_new(PyObject *gameboy)
{
    allocfunc make = (allocfunc)(uintptr_t)PyType_GetSlot(memory_type, Py_tp_alloc);
    memory *self = (memory *)make(memory_type, 0);
    if (self != NULL)
        self->gameboy = Py_NewRef(gameboy);
    return (PyObject *)self;
}

static void memory_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    Py_CLEAR(((memory *)object)->gameboy);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* What stands in the brackets. */
typedef struct where {
    bool slice, banked;
    uint32_t bank;
    Py_ssize_t first, count, step;
} where;

static bool wrong(const char *why)
{
    core_raise_status(DM_EINVAL, "memory: %s", why);
    return false;
}

static bool take_slice(PyObject *slice, where *out)
{
    Py_ssize_t stop;
    if (PySlice_Unpack(slice, &out->first, &stop, &out->step) < 0)
        return false;
    if (stop == PY_SSIZE_T_MAX && !out->banked)
        stop = ADDRESSES;
    if (out->first < 0 || out->first > ADDRESSES || stop < 0 || stop > ADDRESSES || out->step < 1)
        return wrong(out->banked ? "a slice of a bank has both ends, and goes forwards"
                                 : "a slice lies in 0..0x10000 and goes forwards");
    out->slice = true;
    out->count = stop > out->first ? (stop - out->first + out->step - 1) / out->step : 0;
    return true;
}

static bool take_address(PyObject *index, where *out)
{
    PyObject *number = PyNumber_Index(index);
    if (number == NULL)
        return false;
    const long address = PyLong_AsLong(number);
    Py_DECREF(number);
    if (address < 0 || address >= ADDRESSES) {
        PyErr_Clear();
        return wrong("an address lies in 0..0xFFFF");
    }
    out->first = (Py_ssize_t)address;
    out->count = out->step = 1;
    return true;
}

static bool take_where(PyObject *key, where *out)
{
    *out = (where){.slice = false};
    if (PyTuple_Check(key)) {
        if (PyTuple_Size(key) != 2)
            return wrong("a bank and an address are wanted");
        PyObject *bank = PyNumber_Index(PyTuple_GetItem(key, 0));
        if (bank == NULL)
            return false;
        const long number = PyLong_AsLong(bank);
        Py_DECREF(bank);
        if (number < 0 || number > 0xFFFF) {
            PyErr_Clear();
            return wrong(number == -1 ? "the boot ROM is not read this way"
                                      : "there is no such bank");
        }
        out->banked = true;
        out->bank = (uint32_t)number;
        key = PyTuple_GetItem(key, 1);
    }
    PyTypeObject *type = Py_TYPE(key);
    return type == &PySlice_Type ? take_slice(key, out) : take_address(key, out);
}

/* The bytes of `w` into `to`; false with an exception. */
static bool read_all(dm_gb *gb, const where *w, uint8_t *to)
{
    dm_error err;
    for (Py_ssize_t i = 0; i < w->count; i++) {
        const uint16_t address = (uint16_t)(w->first + i * w->step);
        if (!w->banked)
            to[i] = dm_gb_peek(gb, address);
        else if (dm_gb_read_bank(gb, w->bank, address, &to[i], 1, &err) != DM_OK)
            return core_raise(&err) != NULL;
    }
    return true;
}

static PyObject *subscript(PyObject *object, PyObject *key)
{
    where w;
    dm_gb *gb = core_gameboy_get(((memory *)object)->gameboy);
    if (gb == NULL || !take_where(key, &w))
        return NULL;
    uint8_t one;
    if (!w.slice)
        return read_all(gb, &w, &one) ? PyLong_FromLong(one) : NULL;
    uint8_t *bytes = malloc((size_t)w.count + 1);
    if (bytes == NULL)
        return PyErr_NoMemory();
    PyObject *list = read_all(gb, &w, bytes) ? PyList_New(w.count) : NULL;
    for (Py_ssize_t i = 0; list != NULL && i < w.count; i++)
        if (PyList_SetItem(list, i, PyLong_FromLong(bytes[i])) < 0)
            Py_CLEAR(list);
    free(bytes);
    return list;
}

/* A value of 0..255; -1 with an exception. */
static int take_byte(PyObject *value)
{
    PyObject *number = PyNumber_Index(value);
    if (number == NULL)
        return -1;
    const long byte = PyLong_AsLong(number);
    Py_DECREF(number);
    if (byte >= 0 && byte <= 255)
        return (int)byte;
    PyErr_Clear();
    core_raise_status(DM_EINVAL, "memory: a value lies in 0..255");
    return -1;
}

/* The values to be written, one for each address. */
static bool take_values(const where *w, PyObject *value, uint8_t *out)
{
    if (!w->slice || PyIndex_Check(value)) {
        const int byte = take_byte(value);
        for (Py_ssize_t i = 0; byte >= 0 && i < w->count; i++)
            out[i] = (uint8_t)byte;
        return byte >= 0;
    }
    PyObject *list = PySequence_List(value);
    if (list == NULL)
        return false;
    const Py_ssize_t count = PyList_Size(list);
    bool good = count == w->count;
    if (!good)
        core_raise_status(DM_EINVAL, "memory: %zd addresses, %zd values", w->count, count);
    for (Py_ssize_t i = 0; good && i < count; i++) {
        const int byte = take_byte(PyList_GetItem(list, i));
        good = byte >= 0;
        out[i] = (uint8_t)byte;
    }
    Py_DECREF(list);
    return good;
}

static int assign(PyObject *object, PyObject *key, PyObject *value)
{
    where w;
    dm_gb *gb = core_gameboy_get(((memory *)object)->gameboy);
    if (gb == NULL || !take_where(key, &w))
        return -1;
    if (value == NULL) {
        wrong("nothing is deleted");
        return -1;
    }
    uint8_t *bytes = malloc((size_t)w.count + 1);
    if (bytes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    dm_error err;
    bool good = take_values(&w, value, bytes);
    for (Py_ssize_t i = 0; good && i < w.count; i++) {
        const uint16_t address = (uint16_t)(w.first + i * w.step);
        if (!w.banked) {
            dm_gb_poke(gb, address, bytes[i]);
        } else if (dm_gb_write_bank(gb, w.bank, address, &bytes[i], 1, &err) != DM_OK) {
            core_raise(&err);
            good = false;
        }
    }
    free(bytes);
    return good ? 0 : -1;
}

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "memory[address], memory[first:last], memory[bank, address or slice], and assignment.\n\n"
     "Addresses read as the CPU would read them now, without side effects; a slice is a list. A "
     "write\n"
     "to a register or to ROM is one of the CPU's; cartridge RAM of a bank is reached mapped or "
     "not."},
    {Py_tp_dealloc, CORE_SLOT(memory_dealloc)},
    {Py_mp_subscript, CORE_SLOT(subscript)},
    {Py_mp_ass_subscript, CORE_SLOT(assign)},
    {0, NULL},
};
static PyType_Spec spec = {"dotmatrix._core.Memory", sizeof(memory), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int core_memory_add(PyObject *module)
{
    memory_type = core_type_add(module, &spec);
    return memory_type == NULL ? -1 : 0;
}
