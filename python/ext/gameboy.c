/* SPDX-License-Identifier: MIT */
/* gameboy.c - dm_gb (dotmatrix/gb.h) as a Python type; dotmatrix.GameBoy gives it PyBoy's habits. */
#include "gameboy.h"

#include <stdlib.h>
#include <string.h>

enum { PIXELS = DM_GB_SCREEN_W * DM_GB_SCREEN_H };

typedef struct gameboy {
    PyObject_HEAD dm_gb *gb;
    uint8_t *rgba;     /* what screen() shows, made when it is called */
    dm_gb_hook *stops; /* where run_stops stops */
    size_t stop_count;
    unsigned long long ticks; /* frames that tick() has run */
    unsigned forks;
    bool running; /* in a call that has released the GIL */
    bool busy;    /* hooks or buttons to be released: tick() is _tick() */
} gameboy;

dm_gb *core_gameboy_get(PyObject *object)
{
    gameboy *self = (gameboy *)object;
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
    free(self->stops);
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

/* Long runs in pieces, between which Python may stop them. False: with an exception. */
static bool run_pieces(gameboy *self, dm_gb *gb, uint32_t frames, enum dm_gb_draw draw)
{
    enum { PIECE = 1024 };
    bool good = true;
    self->running = true;
    while (good && frames > PIECE + 1u) { /* so that the last piece sees all of its picture */
        Py_BEGIN_ALLOW_THREADS dm_gb_run_frames(gb, PIECE,
                                                draw == DM_GB_DRAW_LAST ? DM_GB_DRAW_NEVER : draw);
        Py_END_ALLOW_THREADS frames -= PIECE;
        self->ticks += PIECE;
        good = PyErr_CheckSignals() == 0;
    }
    if (good) {
        Py_BEGIN_ALLOW_THREADS dm_gb_run_frames(gb, frames, draw);
        Py_END_ALLOW_THREADS self->ticks += frames;
    }
    self->running = false;
    return good;
}

static PyObject *run_frames(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    unsigned frames = 1;
    int draw = DM_GB_DRAW_LAST;
    if (!PyArg_ParseTuple(args, "I|i:run_frames", &frames, &draw))
        return NULL;
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL || !run_pieces(self, gb, frames, (enum dm_gb_draw)draw))
        return NULL;
    Py_RETURN_NONE;
}

/* tick(count=1, render=True, sound=True): the loop of every script, so it is all in C. */
static PyObject *tick(PyObject *object, PyObject *const *args, Py_ssize_t given, PyObject *names)
{
    gameboy *self = (gameboy *)object;
    PyObject *values[3] = {NULL, NULL, NULL};
    if (given > 3) {
        PyErr_SetString(PyExc_TypeError, "tick() takes count, render and sound");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < given; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++) {
        static const char *const known[] = {"count", "render", "sound"};
        int at = -1;
        for (int k = 0; k < 3; k++)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), known[k]) == 0)
                at = k;
        if (at < 0 || values[at] != NULL) {
            PyErr_Format(PyExc_TypeError, "tick() takes count, render and sound, once each; not %R",
                         PyTuple_GetItem(names, i));
            return NULL;
        }
        values[at] = args[given + i];
    }
    unsigned long long count = 1;
    if (values[0] != NULL) {
        PyObject *number = PyNumber_Index(values[0]);
        if (number == NULL)
            return NULL;
        count = PyLong_AsUnsignedLongLong(number);
        Py_DECREF(number);
        if (PyErr_Occurred() || count > UINT32_MAX) {
            PyErr_Clear();
            return core_raise_status(DM_EINVAL, "tick: a number of frames from 0 to 2^32 - 1");
        }
    }
    const int render = values[1] == NULL ? 1 : PyObject_IsTrue(values[1]);
    dm_gb *gb = render < 0 ? NULL : core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    if (self->busy)
        return PyObject_CallMethod(object, "_tick", "KO", count, render ? Py_True : Py_False);
    if (!run_pieces(self, gb, (uint32_t)count, render ? DM_GB_DRAW_LAST : DM_GB_DRAW_NEVER))
        return NULL;
    Py_RETURN_TRUE;
}

/* Addresses and banks (-1: any) where run_stops stops. */
static PyObject *set_stops(PyObject *object, PyObject *list)
{
    gameboy *self = (gameboy *)object;
    const Py_ssize_t count = PySequence_Size(list);
    if (count < 0 || core_gameboy_get(object) == NULL)
        return NULL;
    dm_gb_hook *stops = calloc((size_t)count + 1, sizeof *stops);
    bool good = stops != NULL;
    if (!good)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < count; i++) {
        unsigned address = 0;
        int bank = 0;
        PyObject *item = PySequence_GetItem(list, i);
        good = item != NULL && PyArg_ParseTuple(item, "Ii:set_stops", &address, &bank);
        Py_XDECREF(item);
        if (good && address > 0xFFFF) {
            core_raise_status(DM_EINVAL, "set_stops: an address lies in 0..0xFFFF");
            good = false;
        }
        if (good)
            stops[i] =
                (dm_gb_hook){(uint16_t)address, bank < 0 ? DM_GB_HOOK_EVERY_BANK : (uint16_t)bank};
    }
    if (!good) {
        free(stops);
        return NULL;
    }
    free(self->stops);
    self->stops = stops;
    self->stop_count = (size_t)count;
    Py_RETURN_NONE;
}

static PyObject *run_stops(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    unsigned frames = 0;
    int draw = DM_GB_DRAW_LAST;
    if (!PyArg_ParseTuple(args, "I|i:run_stops", &frames, &draw))
        return NULL;
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    if (frames > DM_GB_STOP_FRAMES)
        return core_raise_status(DM_EINVAL, "run_stops: at most %u frames", DM_GB_STOP_FRAMES);
    size_t which = 0;
    bool stopped;
    self->running = true;
    Py_BEGIN_ALLOW_THREADS stopped =
        dm_gb_run_stops(gb, frames, (enum dm_gb_draw)draw, self->stops, self->stop_count, &which);
    Py_END_ALLOW_THREADS self->running = false;
    self->ticks += frames;
    if (!stopped)
        Py_RETURN_NONE;
    return PyLong_FromSize_t(which);
}

static PyObject *bank(PyObject *object, PyObject *value)
{
    const long address = PyLong_AsLong(value);
    if (address < 0 || address > 0xFFFF)
        return PyErr_Occurred()
                   ? NULL
                   : core_raise_status(DM_EINVAL, "bank: an address lies in 0..0xFFFF");
    dm_gb *gb = core_gameboy_get(object);
    return gb == NULL ? NULL : PyLong_FromLong(dm_gb_bank(gb, (uint16_t)address));
}

static PyObject *run_to(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    unsigned long long cycles = 0;
    PyObject *list = NULL;
    if (!PyArg_ParseTuple(args, "OK:run_to", &list, &cycles))
        return NULL;
    Py_ssize_t count = PySequence_Size(list);
    dm_gb *gb = count < 0 ? NULL : core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    dm_gb_step(gb);
    Py_RETURN_NONE;
}

static PyObject *reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < size; i++)
        dm_gb_poke(gb, (uint16_t)(address + i), (uint8_t)bytes[i]);
    Py_RETURN_NONE;
}

static PyObject *frame(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    return PyBytes_FromStringAndSize((const char *)dm_gb_frame(gb), PIXELS);
}

/* The picture in colours given as 16 bytes, shade by shade, in memory that stays the same. */
static PyObject *rgba(PyObject *object, PyObject *args)
{
    gameboy *self = (gameboy *)object;
    const char *palette;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "y#:rgba", &palette, &size))
        return NULL;
    if (size != 16)
        return core_raise_status(DM_EINVAL, "rgba: a palette has 16 bytes");
    dm_gb *gb = core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
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
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    size_t size = 0;
    const uint8_t *bytes = dm_gb_serial_output(gb, &size);
    PyObject *out = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    if (clear && out != NULL)
        dm_gb_serial_clear(gb);
    return out;
}

static PyObject *save_state(PyObject *object, PyObject *args)
{
    PyObject *path = NULL;
    if (!PyArg_ParseTuple(args, "|O&:save_state", PyUnicode_FSConverter, &path))
        return NULL;
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL) {
        Py_XDECREF(path);
        return NULL;
    }
    dm_error err;
    if (path != NULL) {
        const dm_status status = dm_gb_save_state(gb, PyBytes_AsString(path), &err);
        Py_DECREF(path);
        if (status != DM_OK)
            return core_raise(&err);
        Py_RETURN_NONE;
    }
    size_t size = dm_gb_state_bytes(gb);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL)
        return NULL;
    if (dm_gb_save_state_bytes(gb, PyBytes_AsString(bytes), size, &err) != DM_OK) {
        Py_DECREF(bytes);
        return core_raise(&err);
    }
    return bytes;
}

static PyObject *load_state(PyObject *object, PyObject *from)
{
    dm_gb *gb = core_gameboy_get(object);
    if (gb == NULL)
        return NULL;
    dm_error err;
    dm_status status;
    if (PyBytes_Check(from)) {
        char *bytes = NULL;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(from, &bytes, &size) < 0)
            return NULL;
        status = dm_gb_load_state_bytes(gb, bytes, (size_t)size, &err);
    } else {
        PyObject *path = NULL;
        if (!PyUnicode_FSConverter(from, &path))
            return NULL;
        status = dm_gb_load_state(gb, PyBytes_AsString(path), &err);
        Py_DECREF(path);
    }
    if (status != DM_OK)
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
    dm_gb *gb = core_gameboy_get(object);
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

static PyObject *get_memory(PyObject *object, void *unused)
{
    (void)unused;
    return core_memory_new(object);
}

static PyObject *get_frame_count(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((gameboy *)object)->ticks);
}

static PyObject *get_busy(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((gameboy *)object)->busy);
}

static int set_busy(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    const int truth = value == NULL ? 0 : PyObject_IsTrue(value);
    if (truth >= 0)
        ((gameboy *)object)->busy = truth != 0;
    return truth < 0 ? -1 : 0;
}

static PyGetSetDef getset[] = {
    {"closed", get_closed, NULL, "True after close()", NULL},
    {"memory", get_memory, NULL,
     "The memory: memory[address], memory[first:last], memory[bank, address or slice], and "
     "assignment",
     NULL},
    {"frame_count", get_frame_count, NULL, "How many frames have been run since it was made", NULL},
    {"_busy", get_busy, set_busy, "tick() is left to _tick()", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"close", close_, METH_NOARGS, "close($self, /)\n--\n\nFree the machine; twice is fine."},
    {"tick", CORE_METHOD(tick), METH_FASTCALL | METH_KEYWORDS,
     "tick($self, count=1, render=True, sound=True)\n--\n\n"
     "Run `count` frames; with `render` the last one is drawn. Sound is not made. Always True."},
    {"set_stops", set_stops, METH_O,
     "set_stops($self, stops, /)\n--\n\n(address, bank) each; bank -1 is any. For run_stops."},
    {"run_stops", run_stops, METH_VARARGS,
     "run_stops($self, frames, draw=1, /)\n--\n\n"
     "Run frames up to a stop: its index, or None: the frames are over. 0 frames goes on."},
    {"bank", bank, METH_O, "bank($self, address, /)\n--\n\nThe bank mapped there; -1: no RAM."},
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
    {"rgba", rgba, METH_VARARGS,
     "rgba($self, palette, /)\n--\n\n144 x 160 x 4 bytes in the palette's colours; one memory."},
    {"registers", registers, METH_NOARGS, "registers($self, /)\n--\n\nThe CPU's, as a dict."},
    {"counters", counters, METH_NOARGS, "counters($self, /)\n--\n\nCycles, frames and so on."},
    {"serial", serial, METH_VARARGS, "serial($self, clear=False, /)\n--\n\nWhat was sent."},
    {"save_state", save_state, METH_VARARGS,
     "save_state($self, path=None, /)\n--\n\nTo a file, or as bytes."},
    {"load_state", load_state, METH_O,
     "load_state($self, state, /)\n--\n\n"
     "Back to bytes of save_state, or a file, or a state of PyBoy."},
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

PyObject *core_hook_parse(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *given, *symbols = NULL;
    const char *text;
    if (!PyArg_ParseTuple(args, "Os:hook_parse", &given, &text) ||
        (given != Py_None && !PyUnicode_FSConverter(given, &symbols)))
        return NULL;
    dm_error err;
    dm_gb_hook hook;
    const dm_status status =
        dm_gb_hook_parse(symbols == NULL ? NULL : PyBytes_AsString(symbols), text, &hook, &err);
    Py_XDECREF(symbols);
    if (status != DM_OK)
        return core_raise(&err);
    if (hook.bank == DM_GB_HOOK_EVERY_BANK)
        return Py_BuildValue("(Oi)", Py_None, hook.address);
    return Py_BuildValue("(ii)", hook.bank, hook.address);
}

int core_gameboy_add(PyObject *module)
{
    return core_type_add(module, &spec) == NULL ? -1 : 0;
}
