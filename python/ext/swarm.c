/* SPDX-License-Identifier: MIT */
/* swarm.c - dm_swarm (dotmatrix/swarm.h) as a Python type: stepping, resets, outputs.
 *
 * Lifetime: an array over an output keeps its swarm alive, and close() with arrays about only marks
 * the swarm: its memory goes with the last of them. */
#include "swarm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static PyTypeObject *swarm_type;

dm_swarm *core_swarm_get(PyObject *object)
{
    core_swarm *self = (core_swarm *)object;
    if (self->closed || self->swarm == NULL)
        core_raise_status(DM_EINVAL, "Swarm: it is closed");
    else if (self->forks != core_forks())
        core_raise_status(DM_EINVAL, "Swarm: made before a fork; make a new one in this process");
    else if (self->running)
        core_raise_status(DM_EINVAL, "Swarm: it is in use by another thread");
    else
        return self->swarm;
    return NULL;
}

/* Put a reference in the place of another. */
static void replace(PyObject **place, PyObject *reference)
{
    PyObject *before = *place;
    *place = reference;
    Py_XDECREF(before);
}

/* ---- Closing ---- */

static void destroy(core_swarm *self)
{
    dm_swarm *swarm = self->swarm;
    self->swarm = NULL;
    if (swarm != NULL && self->forks == core_forks()) {
        Py_BEGIN_ALLOW_THREADS dm_swarm_destroy(swarm);
        Py_END_ALLOW_THREADS for (int i = 0; i < DM_SWARM_OUTPUTS; i++)
            dm_device_buffer_destroy(self->wrapped[i]);
        dm_stream_destroy(self->stream);
    }
    for (int i = 0; i < DM_SWARM_OUTPUTS; i++) {
        self->wrapped[i] = NULL;
        Py_CLEAR(self->bound[i]);
    }
    self->stream = NULL;
    Py_CLEAR(self->held);
    Py_CLEAR(self->device);
    free(self->actions);
    self->actions = NULL;
}

static void swarm_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    destroy((core_swarm *)object);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *close_(PyObject *object, PyObject *unused)
{
    (void)unused;
    core_swarm *self = (core_swarm *)object;
    if (self->running)
        return core_raise_status(DM_EINVAL, "Swarm: it is in use by another thread");
    self->closed = true;
    if (self->arrays == 0)
        destroy(self);
    Py_RETURN_NONE;
}

/* ---- Arrays over outputs ---- */

static void taken(PyObject *owner)
{
    ((core_swarm *)owner)->arrays++;
}

static void given_back(PyObject *owner)
{
    core_swarm *self = (core_swarm *)owner;
    if (--self->arrays == 0 && self->closed)
        destroy(self);
}

static void *native_stream(PyObject *owner)
{
    core_swarm *self = (core_swarm *)owner;
    return self->swarm == NULL ? NULL : dm_stream_native(dm_swarm_stream(self->swarm));
}

/* What is queued on `to` from now on waits for what is queued on `from`. */
static int order_streams(dm_device *device, dm_stream *from, dm_stream *to)
{
    dm_error err;
    dm_event *event = NULL;
    dm_status status = dm_event_create(device, &event, &err);
    if (status == DM_OK)
        status = dm_event_record(event, from, &err);
    if (status == DM_OK)
        status = dm_stream_wait(to, event, &err);
    dm_event_destroy(event);
    if (status == DM_OK)
        return 0;
    core_raise(&err);
    return -1;
}

/* CUDA's streams 1 and 2 in DLPack are the legacy and the per-thread default stream, as in CUDA. */
static int order(PyObject *owner, void *native)
{
    core_swarm *self = (core_swarm *)owner;
    dm_error err;
    dm_stream *theirs = NULL;
    if (self->swarm == NULL || native == native_stream(owner))
        return 0;
    dm_device *device = core_device(self->device);
    if (device == NULL)
        return -1;
    if (native == (void *)1 && native_stream(owner) == NULL)
        return 0;
    if (dm_stream_import(device, native == (void *)1 ? NULL : native, &theirs, &err) != DM_OK) {
        core_raise(&err);
        return -1;
    }
    int result = order_streams(device, dm_swarm_stream(self->swarm), theirs);
    dm_stream_destroy(theirs);
    return result;
}

static const core_hooks hooks = {taken, given_back, native_stream, order};

/* Shape and type of each output; a picture's stack is a dimension when there is more than one. */
static const struct {
    core_kind kind;
    uint8_t bits;
    int rows, columns;
} output_types[DM_SWARM_OUTPUTS] = {
    [DM_SWARM_REWARDS] = {CORE_FLOAT, 32, 0, 0},
    [DM_SWARM_TERMINATED] = {CORE_BOOL, 8, 0, 0},
    [DM_SWARM_TRUNCATED] = {CORE_BOOL, 8, 0, 0},
    [DM_SWARM_VECTORS] = {CORE_FLOAT, 32, 0, 0},
    [DM_SWARM_SHADES] = {CORE_UINT, 8, 144, 160},
    [DM_SWARM_SMALLS] = {CORE_UINT, 8, 72, 80},
    [DM_SWARM_PACKEDS] = {CORE_UINT, 8, 72, 20},
    [DM_SWARM_REGION_BYTES] = {CORE_UINT, 8, 0, 0},
    [DM_SWARM_FINAL_VECTORS] = {CORE_FLOAT, 32, 0, 0},
    [DM_SWARM_FINAL_SHADES] = {CORE_UINT, 8, 144, 160},
    [DM_SWARM_FINAL_SMALLS] = {CORE_UINT, 8, 72, 80},
    [DM_SWARM_FINAL_PACKEDS] = {CORE_UINT, 8, 72, 20},
    [DM_SWARM_FINAL_REGION_BYTES] = {CORE_UINT, 8, 0, 0},
    [DM_SWARM_RETURNS] = {CORE_FLOAT, 32, 0, 0},
    [DM_SWARM_LENGTHS] = {CORE_UINT, 32, 0, 0},
};

static bool output_kind(int number, dm_swarm_output_kind *out)
{
    if (number >= 0 && number < DM_SWARM_OUTPUTS) {
        *out = (dm_swarm_output_kind)number;
        return true;
    }
    core_raise_status(DM_EINVAL, "Swarm: there is no output %d", number);
    return false;
}

static void output_layout(core_swarm *self, dm_swarm_output_kind kind, core_layout *out)
{
    dm_swarm_info info = dm_swarm_get_info(self->swarm);
    size_t size = dm_swarm_output_size(self->swarm, kind);
    const uint8_t bits = output_types[kind].bits;
    *out = (core_layout){.data = dm_device_buffer_address(dm_swarm_output(self->swarm, kind)),
                         .kind = output_types[kind].kind,
                         .bits = bits,
                         .dimensions = 1,
                         .shape = {(int64_t)info.count},
                         .hooks = &hooks};
    const dm_device_properties *device = dm_device_get_properties(core_device(self->device));
    out->device = device->kind;
    out->device_index = device->index;
    if (output_types[kind].rows != 0) {
        if (info.frame_stack > 1)
            out->shape[out->dimensions++] = info.frame_stack;
        out->shape[out->dimensions++] = output_types[kind].rows;
        out->shape[out->dimensions++] = output_types[kind].columns;
    } else if (kind == DM_SWARM_VECTORS || kind == DM_SWARM_REGION_BYTES ||
               kind == DM_SWARM_FINAL_VECTORS || kind == DM_SWARM_FINAL_REGION_BYTES) {
        out->shape[out->dimensions++] = (int64_t)(size / (bits / 8u));
    }
}

static PyObject *output(PyObject *object, PyObject *number)
{
    dm_swarm *swarm = core_swarm_get(object);
    dm_swarm_output_kind kind;
    long value = PyLong_AsLong(number);
    if (swarm == NULL || PyErr_Occurred() || !output_kind((int)value, &kind))
        return NULL;
    if (dm_swarm_output(swarm, kind) == NULL)
        Py_RETURN_NONE;
    core_layout layout;
    output_layout((core_swarm *)object, kind, &layout);
    return core_array_new(object, &layout);
}

static bool on_our_device(core_swarm *self, const core_layout *at, const char *what)
{
    const dm_device_properties *device = dm_device_get_properties(core_device(self->device));
    if (at->device == device->kind &&
        (at->device == DM_DEVICE_CPU || at->device_index < 0 || at->device_index == device->index))
        return true;
    core_raise_status(DM_EINVAL, "%s: lie on another device than the swarm, %s", what, device->id);
    return false;
}

static PyObject *bind(PyObject *object, PyObject *args)
{
    core_swarm *self = (core_swarm *)object;
    int number;
    PyObject *array, *holder = NULL;
    core_layout at;
    dm_swarm_output_kind kind;
    dm_error err;
    if (!PyArg_ParseTuple(args, "iO:bind", &number, &array))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL || !output_kind(number, &kind))
        return NULL;
    dm_device_buffer *buffer = NULL;
    if (array != Py_None) {
        if (!core_import(array, "bind", &at, &holder))
            return NULL;
        size_t want = dm_swarm_output_size(swarm, kind) * dm_swarm_get_info(swarm).count;
        bool good = on_our_device(self, &at, "bind: the array");
        if (good && (at.read_only || core_layout_size(&at) != want)) {
            core_raise_status(DM_EINVAL, "bind: a writable array of %zu bytes is wanted", want);
            good = false;
        }
        if (good && dm_device_buffer_import(core_device(self->device), at.data, want, &buffer,
                                            &err) != DM_OK) {
            core_raise(&err);
            good = false;
        }
        if (!good) {
            Py_DECREF(holder);
            return NULL;
        }
    }
    if (dm_swarm_bind(swarm, kind, buffer, &err) != DM_OK) {
        dm_device_buffer_destroy(buffer);
        Py_XDECREF(holder);
        return core_raise(&err);
    }
    dm_device_buffer_destroy(self->wrapped[kind]);
    self->wrapped[kind] = buffer;
    replace(&self->bound[kind], holder);
    Py_RETURN_NONE;
}

static PyObject *download(PyObject *object, PyObject *number)
{
    dm_swarm *swarm = core_swarm_get(object);
    dm_swarm_output_kind kind;
    long value = PyLong_AsLong(number);
    if (swarm == NULL || PyErr_Occurred() || !output_kind((int)value, &kind))
        return NULL;
    size_t size = dm_swarm_output_size(swarm, kind) * dm_swarm_get_info(swarm).count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL)
        return NULL;
    dm_error err;
    dm_status status;
    char *to = PyBytes_AsString(bytes);
    CORE_SWARM_CALL(object, status, dm_swarm_download(swarm, kind, to, size, &err));
    if (status == DM_OK)
        return bytes;
    Py_DECREF(bytes);
    return core_raise(&err);
}

/* ---- Streams ---- */

static PyObject *set_stream(PyObject *object, PyObject *args)
{
    core_swarm *self = (core_swarm *)object;
    PyObject *number;
    int wait = 1;
    if (!PyArg_ParseTuple(args, "O|p:set_stream", &number, &wait))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    dm_device *device = swarm == NULL ? NULL : core_device(self->device);
    if (device == NULL)
        return NULL;
    dm_error err;
    dm_stream *stream = NULL;
    if (number != Py_None) {
        void *native = PyLong_AsVoidPtr(number);
        if (PyErr_Occurred())
            return NULL;
        if (dm_stream_import(device, native, &stream, &err) != DM_OK)
            return core_raise(&err);
    }
    dm_stream *before = dm_swarm_stream(swarm),
              *after = stream != NULL ? stream : dm_device_stream(device);
    if (wait && dm_device_get_properties(device)->kind == DM_DEVICE_CUDA &&
        order_streams(device, before, after) < 0) {
        dm_stream_destroy(stream);
        return NULL;
    }
    if (dm_swarm_set_stream(swarm, stream, &err) != DM_OK) {
        dm_stream_destroy(stream);
        return core_raise(&err);
    }
    dm_stream_destroy(self->stream);
    self->stream = stream;
    Py_RETURN_NONE;
}

static PyObject *get_stream(PyObject *object, void *unused)
{
    (void)unused;
    return core_swarm_get(object) == NULL ? NULL : PyLong_FromVoidPtr(native_stream(object));
}

static PyObject *synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_swarm *swarm = core_swarm_get(object);
    dm_error err;
    dm_status status;
    if (swarm == NULL)
        return NULL;
    CORE_SWARM_CALL(object, status, dm_stream_synchronize(dm_swarm_stream(swarm), &err));
    if (status != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

/* ---- Stepping ---- */

/* Host memory of `count` actions, converted to bytes where they are something else. */
static const uint8_t *host_actions(core_swarm *self, const core_layout *at, uint64_t count)
{
    if (at->kind == CORE_UINT && at->bits == 8)
        return at->data;
    if (self->actions == NULL && (self->actions = malloc((size_t)count)) == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    return core_integers(at, "actions", 0, 255, 1, self->actions) ? self->actions : NULL;
}

static PyObject *step(PyObject *object, PyObject *given)
{
    core_swarm *self = (core_swarm *)object;
    dm_swarm *swarm = core_swarm_get(object);
    dm_error err;
    dm_status status;
    if (swarm == NULL)
        return NULL;
    if (given == Py_None) {
        CORE_SWARM_CALL(object, status, dm_swarm_step(swarm, NULL, &err));
        if (status != DM_OK)
            return core_raise(&err);
        Py_RETURN_NONE;
    }
    core_layout at;
    PyObject *holder = NULL;
    if (!core_import(given, "actions", &at, &holder))
        return NULL;
    const uint64_t count = dm_swarm_get_info(swarm).count;
    const size_t have = at.bits < 8 ? 0 : core_layout_size(&at) / (at.bits / 8u);
    const uint8_t *actions = NULL;
    if (have != count)
        core_raise_status(DM_EINVAL, "actions: %zu are given, the swarm has %llu machines", have,
                          (unsigned long long)count);
    else if (at.device == DM_DEVICE_CPU)
        actions = host_actions(self, &at, count);
    else if (!on_our_device(self, &at, "actions"))
        actions = NULL;
    else if (at.kind != CORE_UINT || at.bits != 8)
        core_raise_status(DM_EINVAL, "actions: on a GPU they are uint8");
    else
        actions = at.data;
    if (actions == NULL) {
        Py_DECREF(holder);
        return NULL;
    }
    if (at.device == DM_DEVICE_CPU)
        CORE_SWARM_CALL(object, status, dm_swarm_step_host(swarm, actions, (size_t)count, &err));
    else
        CORE_SWARM_CALL(object, status, dm_swarm_step(swarm, actions, &err));
    replace(&self->held, holder); /* the stream may still read them */
    if (status != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

/* The quick way for who has checked them: the address of `count` bytes on the swarm's device. */
static PyObject *step_at(PyObject *object, PyObject *address)
{
    dm_swarm *swarm = core_swarm_get(object);
    const uint8_t *actions = PyLong_AsVoidPtr(address);
    dm_error err;
    dm_status status;
    if (swarm == NULL || PyErr_Occurred())
        return NULL;
    CORE_SWARM_CALL(object, status, dm_swarm_step(swarm, actions, &err));
    if (status != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

Py_ssize_t core_swarm_numbers(PyObject *object, const char *what, uint32_t **out)
{
    core_layout at;
    PyObject *holder = NULL;
    Py_ssize_t count = -1;
    *out = NULL;
    if (PyList_Check(object) || PyTuple_Check(object)) {
        count = PySequence_Size(object);
        *out = calloc((size_t)count + 1, sizeof **out);
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *item = PySequence_GetItem(object, i),
                     *index = item == NULL ? NULL : PyNumber_Index(item);
            unsigned long long value = index == NULL ? 0 : PyLong_AsUnsignedLongLong(index);
            Py_XDECREF(item);
            Py_XDECREF(index);
            if (PyErr_Occurred() || value > UINT32_MAX) {
                PyErr_Clear();
                core_raise_status(DM_EINVAL, "%s: no number at %zd", what, i);
                free(*out);
                return -1;
            }
            (*out)[i] = (uint32_t)value;
        }
        return count;
    }
    if (!core_import(object, what, &at, &holder))
        return -1;
    if (at.device != DM_DEVICE_CPU) {
        core_raise_status(DM_EINVAL, "%s: on the CPU, please", what);
    } else {
        count = (Py_ssize_t)(core_layout_size(&at) / (at.bits / 8u));
        *out = calloc((size_t)count + 1, sizeof **out);
        if (!core_integers(&at, what, 0, UINT32_MAX, 4, *out)) {
            free(*out);
            count = -1;
        }
    }
    Py_DECREF(holder);
    return count;
}

Py_ssize_t core_swarm_addresses(PyObject *object, const char *what, uint16_t **out)
{
    uint32_t *numbers = NULL;
    const Py_ssize_t count = core_swarm_numbers(object, what, &numbers);
    if (count < 0)
        return -1;
    *out = calloc((size_t)count + 1, sizeof **out);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (numbers[i] > 0xFFFF) {
            core_raise_status(DM_EINVAL, "%s: an address lies in 0..0xFFFF", what);
            free(numbers);
            free(*out);
            *out = NULL;
            return -1;
        }
        (*out)[i] = (uint16_t)numbers[i];
    }
    free(numbers);
    return count;
}

/* One element of `bits` per machine on the swarm's device; -1 with an exception. */
static int device_array(PyObject *object, PyObject *given, const char *what, uint8_t bits,
                        core_layout *at, PyObject **holder)
{
    core_swarm *self = (core_swarm *)object;
    at->data = NULL;
    *holder = NULL;
    if (given == Py_None)
        return 0;
    if (!core_import(given, what, at, holder))
        return -1;
    if (!on_our_device(self, at, what))
        return -1;
    const size_t have = core_layout_size(at) / (bits / 8u);
    if (at->kind == CORE_FLOAT || at->bits != bits ||
        have != dm_swarm_get_info(self->swarm).count) {
        core_raise_status(DM_EINVAL, "%s: %llu integers of %u bits are wanted", what,
                          (unsigned long long)dm_swarm_get_info(self->swarm).count, bits);
        return -1;
    }
    return 0;
}

static PyObject *reset(PyObject *object, PyObject *args)
{
    PyObject *mask = Py_None, *snapshots = Py_None, *mask_holder = NULL, *snapshots_holder = NULL;
    core_layout mask_at, snapshots_at;
    if (!PyArg_ParseTuple(args, "|OO:reset", &mask, &snapshots))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL)
        return NULL;
    dm_error err;
    dm_status status = DM_OK;
    bool good = device_array(object, mask, "reset: mask", 8, &mask_at, &mask_holder) == 0 &&
                device_array(object, snapshots, "reset: snapshots", 32, &snapshots_at,
                             &snapshots_holder) == 0;
    if (good)
        CORE_SWARM_CALL(object, status,
                        dm_swarm_reset(swarm, mask_at.data, snapshots_at.data, &err));
    Py_XDECREF(snapshots_holder);
    if (good)
        replace(&((core_swarm *)object)->held, mask_holder);
    else
        Py_XDECREF(mask_holder);
    if (!good)
        return NULL;
    if (status != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *reset_host(PyObject *object, PyObject *args)
{
    PyObject *list, *snapshots = Py_None;
    uint32_t *machines = NULL, *starts = NULL;
    if (!PyArg_ParseTuple(args, "O|O:reset_host", &list, &snapshots))
        return NULL;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL)
        return NULL;
    Py_ssize_t count = core_swarm_numbers(list, "reset: machines", &machines), more = count;
    if (count < 0)
        return NULL;
    if (snapshots != Py_None)
        more = core_swarm_numbers(snapshots, "reset: snapshots", &starts);
    PyObject *result = NULL;
    if (more == count) {
        dm_error err;
        dm_status status;
        CORE_SWARM_CALL(object, status,
                        dm_swarm_reset_host(swarm, machines, starts, (size_t)count, &err));
        result = status == DM_OK ? Py_NewRef(Py_None) : core_raise(&err);
    } else if (more >= 0) {
        core_raise_status(DM_EINVAL, "reset: %zd machines, %zd snapshots", count, more);
    }
    free(machines);
    if (more >= 0)
        free(starts);
    return result;
}

static PyObject *set_program(PyObject *object, PyObject *program)
{
    const dm_program *given = NULL;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL || !core_reward(program, &given))
        return NULL;
    dm_error err;
    dm_status status;
    CORE_SWARM_CALL(object, status, dm_swarm_set_program(swarm, given, &err));
    if (status != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *hook_bits(PyObject *object, PyObject *unused)
{
    (void)unused;
    core_swarm *self = (core_swarm *)object;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL)
        return NULL;
    dm_device_buffer *buffer = dm_swarm_hook_bits(swarm);
    if (buffer == NULL)
        Py_RETURN_NONE;
    const dm_device_properties *device = dm_device_get_properties(core_device(self->device));
    const core_layout layout = {.data = dm_device_buffer_address(buffer),
                                .kind = CORE_UINT,
                                .bits = 64,
                                .dimensions = 1,
                                .shape = {(int64_t)dm_swarm_get_info(swarm).count},
                                .read_only = true,
                                .device = device->kind,
                                .device_index = device->index,
                                .hooks = &hooks};
    return core_array_new(object, &layout);
}

static PyObject *get_info(PyObject *object, void *unused)
{
    (void)unused;
    dm_swarm *swarm = core_swarm_get(object);
    if (swarm == NULL)
        return NULL;
    dm_swarm_info i = dm_swarm_get_info(swarm);
    return Py_BuildValue(
        "{sKsIsIsIsIsIsssssIsKsKsIsIsOss}", "count", (unsigned long long)i.count, "rom_count",
        i.rom_count, "frames_per_step", i.frames_per_step, "release_after_frames",
        i.release_after_frames, "frame_stack", i.frame_stack, "snapshots", i.snapshots, "stage",
        dm_swarm_stage_name(i.stage), "codec", dm_swarm_codec_name(i.codec), "actions",
        ((core_swarm *)object)->action_count, "bytes_per_machine",
        (unsigned long long)i.bytes_per_machine, "bytes_shared", (unsigned long long)i.bytes_shared,
        "lanes_per_warp", i.lanes_per_warp, "block_threads", i.block_threads, "kernels_were_cached",
        i.kernels_were_cached ? Py_True : Py_False, "kernel_key", i.kernel_key);
}

static PyObject *get_closed(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((core_swarm *)object)->closed);
}

static PyGetSetDef getset[] = {
    {"info", get_info, NULL, "what dm_swarm_get_info says, as a dict", NULL},
    {"stream", get_stream, NULL, "the CUstream it queues on, as a number", NULL},
    {"closed", get_closed, NULL, "True after close()", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
/* Those of swarm_look.c come behind. */
static PyMethodDef methods[64] = {
    {"close", close_, METH_NOARGS, "close($self, /)\n--\n\nFree it; twice is fine."},
    {"output", output, METH_O, "output($self, kind, /)\n--\n\nAn Array over an output, or None."},
    {"bind", bind, METH_VARARGS, "bind($self, kind, array, /)\n--\n\nWrite an output there."},
    {"download", download, METH_O, "download($self, kind, /)\n--\n\nAn output as bytes. Waits."},
    {"set_stream", set_stream, METH_VARARGS,
     "set_stream($self, native, order=True, /)\n--\n\nQueue there; after what was queued before."},
    {"synchronize", synchronize, METH_NOARGS, "synchronize($self, /)\n--\n\nWait for the stream."},
    {"step", step, METH_O, "step($self, actions, /)\n--\n\nOne step; None: the generator's."},
    {"step_at", step_at, METH_O, "step_at($self, address, /)\n--\n\nActions on the device."},
    {"reset", reset, METH_VARARGS,
     "reset($self, mask=None, snapshots=None, /)\n--\n\nWith arrays on the swarm's device."},
    {"reset_host", reset_host, METH_VARARGS,
     "reset_host($self, machines, snapshots=None, /)\n--\n\nThese machines; checked first."},
    {"set_program", set_program, METH_O, "set_program($self, reward, /)\n--\n\nAnother. Waits."},
    {"hook_bits", hook_bits, METH_NOARGS, "hook_bits($self, /)\n--\n\nAn Array, or None."},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Swarm(device, roms, count, options, /)\n--\n\ndm_swarm; see dotmatrix.Swarm."},
    {Py_tp_init, CORE_SLOT(core_swarm_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(swarm_dealloc)},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"dotmatrix._core.Swarm", sizeof(core_swarm), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int core_swarm_add(PyObject *module)
{
    size_t at = 0;
    while (methods[at].ml_name != NULL)
        at++;
    for (size_t i = 0; core_swarm_look_methods[i].ml_name != NULL; i++)
        methods[at++] = core_swarm_look_methods[i];
    swarm_type = core_type_add(module, &spec);
    return swarm_type == NULL ? -1 : 0;
}

/* codec_actions(name): (number of actions, the keys of each as bytes). */
PyObject *core_codec_actions(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    dm_swarm_codec codec;
    dm_error err;
    if (!PyArg_ParseTuple(args, "s:codec_actions", &name))
        return NULL;
    if (dm_swarm_codec_parse(name, &codec, &err) != DM_OK)
        return core_raise(&err);
    uint8_t keys[256];
    uint32_t count = dm_swarm_codec_actions(codec);
    for (uint32_t i = 0; i < count; i++)
        keys[i] = dm_swarm_codec_keys(codec, i);
    return PyBytes_FromStringAndSize((const char *)keys, count);
}
