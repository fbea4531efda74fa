/* SPDX-License-Identifier: MIT */
/* swarm_look.c - looking into machines of a swarm: registers, memory, states, snapshots, metrics, hooks, files. */
#include "swarm.h"

#include <stdlib.h>

/* Turn a status into None or an exception. */
static PyObject *none_or(dm_status status, const dm_error *err)
{
    return status == DM_OK ? Py_NewRef(Py_None) : core_raise(err);
}

/* What is read of machines: how large it is for one, the call that reads it, and the dict of number i. */
typedef struct readout {
    const char *name;
    size_t size;
    dm_status (*get)(dm_swarm *swarm, const uint32_t *machines, size_t count, void *out,
                     dm_error *err);
    PyObject *(*row)(const void *all, Py_ssize_t i);
} readout;

/* A list of a dict for each machine. */
static PyObject *read_each(PyObject *object, PyObject *list, const readout *what)
{
    dm_swarm *swarm = core_swarm_get(object);
    uint32_t *machines = NULL;
    Py_ssize_t count = swarm == NULL ? -1 : core_swarm_numbers(list, what->name, &machines);
    if (count < 0)
        return NULL;
    void *all = calloc((size_t)count + 1, what->size);
    dm_error err;
    dm_status status;
    CORE_SWARM_CALL(object, status, what->get(swarm, machines, (size_t)count, all, &err));
    PyObject *out = status == DM_OK ? PyList_New(0) : core_raise(&err);
    for (Py_ssize_t i = 0; out != NULL && i < count; i++) {
        PyObject *row = what->row(all, i);
        if (row == NULL || PyList_Append(out, row) < 0)
            Py_CLEAR(out);
        Py_XDECREF(row);
    }
    free(machines);
    free(all);
    return out;
}

static dm_status get_registers(dm_swarm *swarm, const uint32_t *machines, size_t count, void *out,
                               dm_error *err)
{
    return dm_swarm_get_registers(swarm, machines, count, out, err);
}

static PyObject *registers_row(const void *all, Py_ssize_t i)
{
    const dm_gb_registers *r = (const dm_gb_registers *)all + i;
    return Py_BuildValue("{sisisisisisisisisisisOsOsOsO}", "a", r->a, "f", r->f, "b", r->b, "c",
                         r->c, "d", r->d, "e", r->e, "h", r->h, "l", r->l, "pc", r->pc, "sp", r->sp,
                         "ime", r->ime ? Py_True : Py_False, "halted",
                         r->halted ? Py_True : Py_False, "stopped", r->stopped ? Py_True : Py_False,
                         "locked", r->locked ? Py_True : Py_False);
}

static PyObject *registers(PyObject *object, PyObject *list)
{
    static const readout what = {"registers", sizeof(dm_gb_registers), get_registers,
                                 registers_row};
    return read_each(object, list, &what);
}

static dm_status get_counters(dm_swarm *swarm, const uint32_t *machines, size_t count, void *out,
                              dm_error *err)
{
    return dm_swarm_get_counters(swarm, machines, count, out, err);
}

static PyObject *counters_row(const void *all, Py_ssize_t i)
{
    const dm_gb_counters *c = (const dm_gb_counters *)all + i;
    return Py_BuildValue("{sKsKsKsK}", "cycles", (unsigned long long)c->cycles, "instructions",
                         (unsigned long long)c->instructions, "halted",
                         (unsigned long long)c->halted, "frames", (unsigned long long)c->frames);
}

static PyObject *counters(PyObject *object, PyObject *list)
{
    static const readout what = {"counters", sizeof(dm_gb_counters), get_counters, counters_row};
    return read_each(object, list, &what);
}

static PyObject *read_(PyObject *object, PyObject *args)
{
    unsigned machine, address, size = 1;
    if (!PyArg_ParseTuple(args, "II|I:read", &machine, &address, &size))
        return NULL;
    if (address > 0xFFFF || size > 0x10000 - address)
        return core_raise_status(DM_EINVAL, "read: memory ends at FFFF");
    dm_swarm *swarm = core_swarm_get(object);
    PyObject *bytes = swarm == NULL ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL)
        return NULL;
    dm_error err;
    dm_status status;
    void *to = PyBytes_AsString(bytes);
    CORE_SWARM_CALL(object, status,
                    dm_swarm_read(swarm, machine, (uint16_t)address, to, size, &err));
    if (status == DM_OK)
        return bytes;
    Py_DECREF(bytes);
    return core_raise(&err);
}

static PyObject *poke(PyObject *object, PyObject *args)
{
    unsigned machine, address;
    const char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "IIy#:poke", &machine, &address, &bytes, &size))
        return NULL;
    if (address > 0xFFFF || size > 0x10000 - (Py_ssize_t)address)
        return core_raise_status(DM_EINVAL, "poke: memory ends at FFFF");
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL)
        return NULL;
    dm_error err;
    dm_status status = DM_OK;
    for (Py_ssize_t i = 0; i < size && status == DM_OK; i++)
        status = dm_swarm_poke(swarm, machine, (uint16_t)(address + i), (uint8_t)bytes[i], &err);
    return none_or(status, &err);
}

/* Machines (None: all), addresses; false with an exception. *count is that of the machines. */
static bool take_many(PyObject *object, PyObject *machines, PyObject *addresses, const char *what,
                      uint32_t **numbers, size_t *count, uint16_t **places, size_t *place_count)
{
    dm_swarm *swarm = core_swarm_get(object);
    *numbers = NULL;
    *places = NULL;
    if (swarm == NULL)
        return false;
    *count = (size_t)dm_swarm_get_info(swarm).count;
    if (machines != Py_None) {
        const Py_ssize_t n = core_swarm_numbers(machines, what, numbers);
        if (n < 0)
            return false;
        *count = (size_t)n;
    }
    const Py_ssize_t n = core_swarm_addresses(addresses, what, places);
    if (n < 0) {
        free(*numbers);
        return false;
    }
    *place_count = (size_t)n;
    return true;
}

/* read_many(machines or None, addresses): bytes, machine by machine */
static PyObject *read_many(PyObject *object, PyObject *args)
{
    PyObject *machines, *addresses, *bytes = NULL;
    uint32_t *numbers;
    uint16_t *places;
    size_t count, each;
    if (!PyArg_ParseTuple(args, "OO:read_many", &machines, &addresses) ||
        !take_many(object, machines, addresses, "read_many", &numbers, &count, &places, &each))
        return NULL;
    dm_error err;
    dm_status status = DM_OK;
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * each));
    if (bytes != NULL) {
        uint8_t *to = (uint8_t *)PyBytes_AsString(bytes);
        dm_swarm *swarm = ((core_swarm *)object)->swarm;
        CORE_SWARM_CALL(object, status,
                        dm_swarm_read_many(swarm, numbers, count, places, each, to, &err));
    }
    free(numbers);
    free(places);
    if (status == DM_OK)
        return bytes;
    Py_XDECREF(bytes);
    return core_raise(&err);
}

typedef dm_status (*poke_call)(dm_swarm *, const uint32_t *, size_t, const uint16_t *, size_t,
                               const uint8_t *, dm_error *);
static PyObject *poke_all(PyObject *object, PyObject *args, poke_call call)
{
    PyObject *machines, *addresses;
    const char *values;
    Py_ssize_t size;
    uint32_t *numbers;
    uint16_t *places;
    size_t count, each;
    if (!PyArg_ParseTuple(args, "OOy#:poke_many", &machines, &addresses, &values, &size) ||
        !take_many(object, machines, addresses, "poke_many", &numbers, &count, &places, &each))
        return NULL;
    dm_error err;
    dm_status status = DM_OK;
    const bool good = (size_t)size == count * each;
    dm_swarm *swarm = ((core_swarm *)object)->swarm;
    if (good)
        CORE_SWARM_CALL(object, status,
                        call(swarm, numbers, count, places, each, (const uint8_t *)values, &err));
    free(numbers);
    free(places);
    if (!good)
        return core_raise_status(DM_EINVAL, "poke_many: %zu values are wanted, %zd are given",
                                 count * each, size);
    return none_or(status, &err);
}

static PyObject *poke_many(PyObject *object, PyObject *args)
{
    return poke_all(object, args, dm_swarm_poke_many);
}

static PyObject *poke_snapshots(PyObject *object, PyObject *args)
{
    return poke_all(object, args, dm_swarm_poke_snapshots);
}

/* set_starts(snapshots, weights or None) */
static PyObject *set_starts(PyObject *object, PyObject *args)
{
    PyObject *list, *weights_given = Py_None, *holder = NULL;
    uint32_t *snapshots = NULL;
    const float *weights = NULL;
    core_layout at;
    if (!PyArg_ParseTuple(args, "O|O:set_starts", &list, &weights_given))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    const Py_ssize_t count =
        swarm == NULL ? -1 : core_swarm_numbers(list, "set_starts: snapshots", &snapshots);
    if (count < 0)
        return NULL;
    bool good = true;
    if (weights_given != Py_None) {
        good = core_import(weights_given, "set_starts: weights", &at, &holder);
        if (good && (at.device != DM_DEVICE_CPU || at.kind != CORE_FLOAT || at.bits != 32 ||
                     core_layout_size(&at) != (size_t)count * 4)) {
            core_raise_status(DM_EINVAL, "set_starts: a weight for each snapshot is wanted");
            good = false;
        }
        weights = good ? at.data : NULL;
    }
    dm_error err;
    PyObject *result = NULL;
    if (good)
        result = none_or(dm_swarm_set_starts(swarm, snapshots, weights, (size_t)count, &err), &err);
    Py_XDECREF(holder);
    free(snapshots);
    return result;
}

static PyObject *count_starts(PyObject *object, PyObject *value)
{
    dm_swarm *swarm = core_swarm_get(object);
    const unsigned long steps = PyLong_AsUnsignedLong(value);
    if (swarm == NULL || PyErr_Occurred())
        return NULL;
    size_t different = 0;
    dm_error err;
    dm_status status;
    CORE_SWARM_CALL(object, status,
                    dm_swarm_count_starts(swarm, (uint32_t)steps, &different, &err));
    return status == DM_OK ? PyLong_FromSize_t(different) : core_raise(&err);
}

static PyObject *picture(PyObject *object, PyObject *number)
{
    dm_swarm *swarm = core_swarm_get(object);
    unsigned long machine = PyLong_AsUnsignedLong(number);
    if (swarm == NULL || PyErr_Occurred())
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    if (bytes == NULL)
        return NULL;
    dm_error err;
    dm_status status;
    uint8_t *to = (uint8_t *)PyBytes_AsString(bytes);
    CORE_SWARM_CALL(object, status, dm_swarm_get_picture(swarm, (uint32_t)machine, to, &err));
    if (status == DM_OK)
        return bytes;
    Py_DECREF(bytes);
    return core_raise(&err);
}

static PyObject *state_bytes(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_swarm *swarm = core_swarm_get(object);
    return swarm == NULL ? NULL : PyLong_FromSize_t(dm_swarm_state_bytes(swarm));
}

static PyObject *save_states(PyObject *object, PyObject *list)
{
    dm_swarm *swarm = core_swarm_get(object);
    uint32_t *machines = NULL;
    Py_ssize_t count = swarm == NULL ? -1 : core_swarm_numbers(list, "save_states", &machines);
    if (count < 0)
        return NULL;
    size_t size = dm_swarm_state_bytes(swarm) * (size_t)count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL) {
        free(machines);
        return NULL;
    }
    dm_error err;
    dm_status status;
    void *to = PyBytes_AsString(bytes);
    CORE_SWARM_CALL(object, status,
                    dm_swarm_save_states(swarm, machines, (size_t)count, to, size, &err));
    free(machines);
    if (status == DM_OK)
        return bytes;
    Py_DECREF(bytes);
    return core_raise(&err);
}

static PyObject *load_states(PyObject *object, PyObject *args)
{
    PyObject *list;
    const char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "Oy#:load_states", &list, &bytes, &size))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    uint32_t *machines = NULL;
    Py_ssize_t count = swarm == NULL ? -1 : core_swarm_numbers(list, "load_states", &machines);
    if (count < 0)
        return NULL;
    dm_error err;
    dm_status status;
    CORE_SWARM_CALL(
        object, status,
        dm_swarm_load_states(swarm, machines, (size_t)count, bytes, (size_t)size, &err));
    free(machines);
    return none_or(status, &err);
}

static PyObject *snapshot(PyObject *object, PyObject *args)
{
    unsigned machine, number;
    if (!PyArg_ParseTuple(args, "II:snapshot", &machine, &number))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    dm_error err;
    return swarm == NULL ? NULL : none_or(dm_swarm_snapshot(swarm, machine, number, &err), &err);
}

static PyObject *snapshot_load(PyObject *object, PyObject *args)
{
    unsigned rom, number;
    PyObject *path = NULL;
    if (!PyArg_ParseTuple(args, "IO&I:snapshot_load", &rom, PyUnicode_FSConverter, &path, &number))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    dm_error err;
    dm_status status = DM_OK;
    if (swarm != NULL)
        status = dm_swarm_snapshot_load(swarm, rom, PyBytes_AsString(path), number, &err);
    Py_DECREF(path);
    return swarm == NULL ? NULL : none_or(status, &err);
}

static PyObject *save_machine(PyObject *object, PyObject *args)
{
    unsigned machine;
    PyObject *path = NULL;
    if (!PyArg_ParseTuple(args, "IO&:save_machine", &machine, PyUnicode_FSConverter, &path))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    dm_error err;
    dm_status status = DM_OK;
    const char *name = PyBytes_AsString(path);
    if (swarm != NULL)
        CORE_SWARM_CALL(object, status, dm_swarm_save_machine(swarm, machine, name, &err));
    Py_DECREF(path);
    return swarm == NULL ? NULL : none_or(status, &err);
}

/* ---- What steps have left ---- */

static PyObject *faults(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_swarm *swarm = core_swarm_get(object);
    dm_swarm_faults counts;
    dm_error err;
    dm_status status;
    if (swarm == NULL)
        return NULL;
    CORE_SWARM_CALL(object, status, dm_swarm_get_faults(swarm, &counts, &err));
    if (status != DM_OK)
        return core_raise(&err);
    return Py_BuildValue("{sIsIsI}", "actions", counts.actions, "resets", counts.resets,
                         "observations", counts.observations);
}

/* metrics(count, restart): name, step, last, sum, episodes of each. */
static PyObject *metrics(PyObject *object, PyObject *args)
{
    unsigned count;
    int restart = 0;
    if (!PyArg_ParseTuple(args, "I|p:metrics", &count, &restart))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    dm_swarm_metric_sums sums[DM_PROGRAM_METRICS_MAX];
    if (swarm == NULL)
        return NULL;
    if (count > DM_PROGRAM_METRICS_MAX)
        return core_raise_status(DM_EINVAL, "metrics: at most %d", DM_PROGRAM_METRICS_MAX);
    dm_error err;
    dm_status status;
    CORE_SWARM_CALL(object, status, dm_swarm_get_metrics(swarm, sums, count, restart != 0, &err));
    PyObject *list = status == DM_OK ? PyList_New(0) : core_raise(&err);
    for (unsigned i = 0; list != NULL && i < count; i++) {
        PyObject *row = Py_BuildValue("{sssdsdsdsK}", "name", sums[i].name, "step", sums[i].step,
                                      "last", sums[i].last, "sum", sums[i].sum, "episodes",
                                      (unsigned long long)sums[i].episodes);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* hooks(): a uint64_t per machine, as bytes. */
static PyObject *get_hooks(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL)
        return NULL;
    const size_t count = (size_t)dm_swarm_get_info(swarm).count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(uint64_t)));
    if (bytes == NULL)
        return NULL;
    dm_error err;
    dm_status status;
    uint64_t *to = (uint64_t *)(void *)PyBytes_AsString(bytes);
    CORE_SWARM_CALL(object, status, dm_swarm_get_hooks(swarm, to, count, &err));
    if (status == DM_OK)
        return bytes;
    Py_DECREF(bytes);
    return core_raise(&err);
}

/* ---- Files ---- */

typedef dm_status (*file_call)(dm_swarm *, const char *, dm_error *);
static PyObject *with_file(PyObject *object, PyObject *given, file_call call)
{
    PyObject *path = NULL;
    if (!PyUnicode_FSConverter(given, &path))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    dm_error err;
    dm_status status = DM_OK;
    const char *name = PyBytes_AsString(path);
    if (swarm != NULL)
        CORE_SWARM_CALL(object, status, call(swarm, name, &err));
    Py_DECREF(path);
    return swarm == NULL ? NULL : none_or(status, &err);
}

static PyObject *save(PyObject *object, PyObject *path)
{
    return with_file(object, path, dm_swarm_save);
}

static PyObject *load(PyObject *object, PyObject *path)
{
    return with_file(object, path, dm_swarm_load);
}

PyMethodDef core_swarm_look_methods[] = {
    {"metrics", metrics, METH_VARARGS,
     "metrics($self, count, restart=False, /)\n--\n\nOf the program, a dict each. Waits."},
    {"hooks", get_hooks, METH_NOARGS, "hooks($self, /)\n--\n\nuint64 each, as bytes. Waits."},
    {"faults", faults, METH_NOARGS, "faults($self, /)\n--\n\nCounts since creation. Waits."},
    {"registers", registers, METH_O, "registers($self, machines, /)\n--\n\nOne dict each. Waits."},
    {"counters", counters, METH_O, "counters($self, machines, /)\n--\n\nOne dict each. Waits."},
    {"read", read_, METH_VARARGS,
     "read($self, machine, address, size=1, /)\n--\n\nMemory as bytes. Waits."},
    {"read_many", read_many, METH_VARARGS,
     "read_many($self, machines, addresses, /)\n--\n\nBytes, machine by machine. Waits."},
    {"poke_many", poke_many, METH_VARARGS,
     "poke_many($self, machines, addresses, values, /)\n--\n\nWrite. Waits."},
    {"poke_snapshots", poke_snapshots, METH_VARARGS,
     "poke_snapshots($self, snapshots, addresses, values, /)\n--\n\nWrite. Waits."},
    {"set_starts", set_starts, METH_VARARGS,
     "set_starts($self, snapshots, weights=None, /)\n--\n\nWhere episodes start."},
    {"count_starts", count_starts, METH_O,
     "count_starts($self, steps, /)\n--\n\nHow many different games there are. Waits."},
    {"poke", poke, METH_VARARGS, "poke($self, machine, address, data, /)\n--\n\nWrite. Waits."},
    {"picture", picture, METH_O, "picture($self, machine, /)\n--\n\n144 x 160 shades. Waits."},
    {"state_bytes", state_bytes, METH_NOARGS, "state_bytes($self, /)\n--\n\nOf one machine."},
    {"save_states", save_states, METH_O, "save_states($self, machines, /)\n--\n\nAs bytes. Waits."},
    {"load_states", load_states, METH_VARARGS,
     "load_states($self, machines, data, /)\n--\n\nFrom bytes; all are checked first. Waits."},
    {"snapshot", snapshot, METH_VARARGS,
     "snapshot($self, machine, number, /)\n--\n\nKeep a machine as it is. Queued."},
    {"snapshot_load", snapshot_load, METH_VARARGS,
     "snapshot_load($self, rom, path, number, /)\n--\n\nFrom a file of save_machine."},
    {"save_machine", save_machine, METH_VARARGS,
     "save_machine($self, machine, path, /)\n--\n\nA file that a GameBoy loads."},
    {"save", save, METH_O, "save($self, path, /)\n--\n\nThe whole swarm in one file. Waits."},
    {"load", load, METH_O, "load($self, path, /)\n--\n\nThe swarm from a file of save. Waits."},
    {NULL, NULL, 0, NULL},
};
