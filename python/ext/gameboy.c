/* SPDX-License-Identifier: MIT */
/* gameboy.c - dm_gb (dotmatrix/gb.h) as a Python type; dotmatrix.GameBoy gives it PyBoy's habits. */
#include "core.h"

#include <dotmatrix/gb.h>

#include <stdlib.h>
#include <string.h>

enum { PIXELS = DM_GB_SCREEN_W * DM_GB_SCREEN_H };

typedef struct gameboy {
    PyObject_HEAD dm_gb *gb;
    uint8_t *rgba; /* what screen() shows, made when it is called */
    unsigned forks;
    bool running; /* in a call that has released the GIL */
} gameboy;

/* The machine, or NULL with an exception: closed, used after a fork, or by two threads at a time. */
static dm_gb *machine(gameboy *self)
{
    if (self->gb == NULL)
        core_raise_status(DM_EINVAL, "GameBoy: it is closed");
    else if (self->forks != core_forks())
        core_raise_status(DM_EINVAL, "GameBoy: made before a fork; make a new one in this process");
    else if (self->running)
        core_raise_status(DM_EINVAL, "GameBoy: it is running in another thread");
    else
        return self->gb;
    return NULL;
}

static int gameboy_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"rom", "start", "boot_rom", "force_dmg", "keep_idle_loops", NULL};
    gameboy *self = (gameboy *)object;
    PyObject *rom = NULL, *path = NULL;
    const char *boot = NULL;
    Py_ssize_t boot_size = 0;
    int start = 0, force = 0, keep = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|iz#pp:GameBoy", names, &rom, &start, &boot,
                                     &boot_size, &force, &keep))
        return -1;
    if (self->gb != NULL) {
        core_raise_status(DM_EINVAL, "GameBoy: __init__ was called twice");
        return -1;
    }
    dm_gb_options options = {.start = (enum dm_gb_start)start,
                             .boot_rom = boot,
                             .boot_rom_size = (size_t)boot_size,
                             .keep_idle_loops = keep,
                             .force_dmg = force};
    dm_error err = {.status = DM_OK};
    dm_status status;
    if (PyBytes_Check(rom)) {
        char *bytes = NULL;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(rom, &bytes, &size) < 0)
            return -1;
        status = dm_gb_create(bytes, (size_t)size, &options, &self->gb, &err);
    } else {
        if (!PyUnicode_FSConverter(rom, &path))
            return -1;
        const char *name = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS status = dm_gb_create_file(name, &options, &self->gb, &err);
        Py_END_ALLOW_THREADS Py_DECREF(path);
    }
    if (status != DM_OK) {
        core_raise(&err);
        return -1;
    }
    self->forks = core_forks();
    return 0;
}

static void release(gameboy *self)
{
    dm_gb_destroy(self->gb);
    self->gb = NULL;
}

static void gameboy_dealloc(PyObject *object)
{
    gameboy *self = (gameboy *)object;
    PyTypeObject *type = Py_TYPE(object);
    release(self);
    free(self->rgba);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *close_(PyObject *object, PyObject *unused)
{
    (void)unused;
    gameboy *self = (gameboy *)object;
    if (self->running)
        return core_raise_status(DM_EINVAL, "GameBoy: it is running in another thread");
    release(self);
    Py_RETURN_NONE;
}

static PyObject *run_frames(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    unsigned frames = 1;
    int draw = DM_GB_DRAW_LAST;
    if (!PyArg_ParseTuple(args, "I|i:run_frames", &frames, &draw))
        return NULL;
    dm_gb *gb = machine(self);
    if (gb == NULL)
        return NULL;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS dm_gb_run_frames(gb, frames, (enum dm_gb_draw)draw);
    Py_END_ALLOW_THREADS self->running = false;
    Py_RETURN_NONE;
}

static PyObject *run_to(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    unsigned long long cycles = 0;
    PyObject *list = NULL;
    if (!PyArg_ParseTuple(args, "OK:run_to", &list, &cycles))
        return NULL;
    Py_ssize_t count = PySequence_Size(list);
    dm_gb *gb = count < 0 ? NULL : machine(self);
    if (gb == NULL)
        return NULL;
    uint16_t *addresses = malloc((size_t)(count + 1) * sizeof *addresses);
    if (addresses == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        long address = item == NULL ? -1 : PyLong_AsLong(item);
        Py_XDECREF(item);
        if (address < 0 || address > 0xFFFF) {
            free(addresses);
            return PyErr_Occurred() ? NULL : core_raise_status(DM_EINVAL, "run_to: no address");
        }
        addresses[i] = (uint16_t)address;
    }
    bool reached;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS reached = dm_gb_run_to(gb, addresses, (size_t)count, cycles);
    Py_END_ALLOW_THREADS self->running = false;
    free(addresses);
    return PyBool_FromLong(reached);
}

static PyObject *step(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    dm_gb_step(gb);
    Py_RETURN_NONE;
}

static PyObject *reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    dm_gb_reset(gb);
    Py_RETURN_NONE;
}

static PyObject *set_keys(PyObject *object, PyObject *value)
{
    unsigned long keys = PyLong_AsUnsignedLong(value);
    if (keys == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    if (keys > 255)
        return core_raise_status(DM_EINVAL, "set_keys: a mask has 8 bits");
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    dm_gb_set_keys(gb, (uint8_t)keys);
    Py_RETURN_NONE;
}

static PyObject *peek(PyObject *object, PyObject *args)
{
    unsigned address, size = 1;
    if (!PyArg_ParseTuple(args, "I|I:peek", &address, &size))
        return NULL;
    if (address > 0xFFFF || size > 0x10000 - address)
        return core_raise_status(DM_EINVAL, "peek: memory ends at FFFF");
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AsString(bytes);
    for (unsigned i = 0; i < size; i++)
        to[i] = dm_gb_peek(gb, (uint16_t)(address + i));
    return bytes;
}

static PyObject *poke(PyObject *object, PyObject *args)
{
    unsigned address;
    const char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "Iy#:poke", &address, &bytes, &size))
        return NULL;
    if (address > 0xFFFF || size > 0x10000 - (Py_ssize_t)address)
        return core_raise_status(DM_EINVAL, "poke: memory ends at FFFF");
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < size; i++)
        dm_gb_poke(gb, (uint16_t)(address + i), (uint8_t)bytes[i]);
    Py_RETURN_NONE;
}

static PyObject *frame(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    return PyBytes_FromStringAndSize((const char *)dm_gb_frame(gb), PIXELS);
}

/* The picture in colours given as 16 bytes, shade by shade, in memory that stays the same. */
static PyObject *screen(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    const char *palette;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "y#:screen", &palette, &size))
        return NULL;
    if (size != 16)
        return core_raise_status(DM_EINVAL, "screen: a palette has 16 bytes");
    dm_gb *gb = machine(self);
    if (gb == NULL)
        return NULL;
    if (self->rgba == NULL && (self->rgba = malloc(PIXELS * 4)) == NULL)
        return PyErr_NoMemory();
    const uint8_t *shades = dm_gb_frame(gb);
    uint32_t colours[4], *to = (uint32_t *)(void *)self->rgba;
    memcpy(colours, palette, sizeof colours);
    for (int i = 0; i < PIXELS; i++)
        to[i] = colours[shades[i] & 3];
    core_layout layout = {.data = self->rgba,
                          .kind = CORE_UINT,
                          .bits = 8,
                          .dimensions = 3,
                          .shape = {DM_GB_SCREEN_H, DM_GB_SCREEN_W, 4}};
    return core_array_new(object, &layout);
}

static PyObject *registers(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    dm_gb_registers r = dm_gb_get_registers(gb);
    return Py_BuildValue("{sisisisisisisisisisisOsOsOsO}", "a", r.a, "f", r.f, "b", r.b, "c", r.c,
                         "d", r.d, "e", r.e, "h", r.h, "l", r.l, "pc", r.pc, "sp", r.sp, "ime",
                         r.ime ? Py_True : Py_False, "halted", r.halted ? Py_True : Py_False,
                         "stopped", r.stopped ? Py_True : Py_False, "locked",
                         r.locked ? Py_True : Py_False);
}

static PyObject *counters(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    dm_gb_counters c = dm_gb_get_counters(gb);
    return Py_BuildValue("{sKsKsKsK}", "cycles", (unsigned long long)c.cycles, "instructions",
                         (unsigned long long)c.instructions, "halted", (unsigned long long)c.halted,
                         "frames", (unsigned long long)c.frames);
}

static PyObject *serial(PyObject *object, PyObject *args)
{
    int clear = 0;
    if (!PyArg_ParseTuple(args, "|p:serial", &clear))
        return NULL;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    size_t size = 0;
    const uint8_t *bytes = dm_gb_serial_output(gb, &size);
    PyObject *out = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    if (clear && out != NULL)
        dm_gb_serial_clear(gb);
    return out;
}

static PyObject *save_state(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    size_t size = dm_gb_state_bytes(gb);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL)
        return NULL;
    dm_error err;
    if (dm_gb_save_state_bytes(gb, PyBytes_AsString(bytes), size, &err) != DM_OK) {
        Py_DECREF(bytes);
        return core_raise(&err);
    }
    return bytes;
}

static PyObject *load_state(PyObject *object, PyObject *args)
{
    const char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "y#:load_state", &bytes, &size))
        return NULL;
    dm_gb *gb = machine((gameboy *)object);
    if (gb == NULL)
        return NULL;
    dm_error err;
    if (dm_gb_load_state_bytes(gb, bytes, (size_t)size, &err) != DM_OK)
        return core_raise(&err);
    Py_RETURN_NONE;
}

typedef dm_status (*battery_call)(dm_gb *, const char *, int64_t, dm_error *);
static PyObject *battery(PyObject *object, PyObject *args, battery_call call)
{
    PyObject *path = NULL;
    long long time = DM_GB_NO_TIME;
    if (!PyArg_ParseTuple(args, "O&|L", PyUnicode_FSConverter, &path, &time))
        return NULL;
    dm_gb *gb = machine((gameboy *)object);
    dm_error err;
    bool good = gb != NULL && call(gb, PyBytes_AsString(path), time, &err) == DM_OK;
    Py_DECREF(path);
    if (gb == NULL)
        return NULL;
    if (!good)
        return core_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *save_battery(PyObject *object, PyObject *args)
{
    return battery(object, args, dm_gb_save_battery);
}

static PyObject *load_battery(PyObject *object, PyObject *args)
{
    return battery(object, args, dm_gb_load_battery);
}

static PyObject *get_closed(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((gameboy *)object)->gb == NULL);
}

static PyGetSetDef getset[] = {
    {"closed", get_closed, NULL, "True after close()", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"close", close_, METH_NOARGS, "close($self, /)\n--\n\nFree the machine; twice is fine."},
    {"run_frames", run_frames, METH_VARARGS,
     "run_frames($self, frames, draw=1, /)\n--\n\nRun; draw 0: no picture, 1: the last, 2: all."},
    {"run_to", run_to, METH_VARARGS,
     "run_to($self, addresses, cycles, /)\n--\n\nStep until PC is one of them; True: it is."},
    {"step", step, METH_NOARGS, "step($self, /)\n--\n\nOne instruction."},
    {"reset", reset, METH_NOARGS, "reset($self, /)\n--\n\nThe state after creation."},
    {"set_keys", set_keys, METH_O, "set_keys($self, mask, /)\n--\n\nThe keys that are down."},
    {"peek", peek, METH_VARARGS,
     "peek($self, address, size=1, /)\n--\n\nBytes as the CPU would read them."},
    {"poke", poke, METH_VARARGS, "poke($self, address, data, /)\n--\n\nWrite bytes."},
    {"frame", frame, METH_NOARGS, "frame($self, /)\n--\n\n144 x 160 shades as bytes."},
    {"screen", screen, METH_VARARGS,
     "screen($self, palette, /)\n--\n\n144 x 160 x 4 bytes in the palette's colours; one memory."},
    {"registers", registers, METH_NOARGS, "registers($self, /)\n--\n\nThe CPU's, as a dict."},
    {"counters", counters, METH_NOARGS, "counters($self, /)\n--\n\nCycles, frames and so on."},
    {"serial", serial, METH_VARARGS, "serial($self, clear=False, /)\n--\n\nWhat was sent."},
    {"save_state", save_state, METH_NOARGS, "save_state($self, /)\n--\n\nThe machine as bytes."},
    {"load_state", load_state, METH_VARARGS,
     "load_state($self, data, /)\n--\n\nBack to bytes of save_state, or a state of PyBoy."},
    {"save_battery", save_battery, METH_VARARGS,
     "save_battery($self, path, unix_time=NO_TIME, /)\n--\n\nCartridge RAM as a .sav file."},
    {"load_battery", load_battery, METH_VARARGS,
     "load_battery($self, path, unix_time=NO_TIME, /)\n--\n\nCartridge RAM from a .sav file."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "GameBoy(rom, start=0, boot_rom=None, force_dmg=False, keep_idle_loops=False)\n--\n\n"
     "One machine; `rom` is a path or bytes."},
    {Py_tp_init, CORE_SLOT(gameboy_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(gameboy_dealloc)},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"dotmatrix._core.GameBoy", sizeof(gameboy), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

int core_gameboy_add(PyObject *module)
{
    return core_type_add(module, &spec) == NULL ? -1 : 0;
}
