/* SPDX-License-Identifier: MIT */
/* swarm_desc.c - a swarm's description from Python: device, ROMs, count and a dict of options with the names of
 * dm_swarm_desc. */
#include "swarm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_type { U32, U64, FLAG, NAME } option_type;
typedef dm_status (*parse_name)(const char *, unsigned *, dm_error *);

#define PARSER(what)                                                                               \
    static dm_status parse_##what(const char *name, unsigned *out, dm_error *err)                  \
    {                                                                                              \
        dm_swarm_##what value = 0;                                                                 \
        dm_status status = dm_swarm_##what##_parse(name, &value, err);                             \
        *out = (unsigned)value;                                                                    \
        return status;                                                                             \
    }
PARSER(stage)
PARSER(codec)
PARSER(generator)
PARSER(autoreset)

/* The fields of dm_swarm_desc that are one value, by the names of the header. */
static const struct option {
    const char *name;
    option_type type;
    size_t offset;
    parse_name parse;
} options[] = {
#define OPTION(type, field)                                                                        \
    {                                                                                              \
#field, type, offsetof(dm_swarm_desc, field), NULL                                         \
    }
#define CHOICE(field)                                                                              \
    {                                                                                              \
#field, NAME, offsetof(dm_swarm_desc, field), parse_##field                                \
    }
    OPTION(U32, frames_per_step),
    OPTION(U32, release_after_frames),
    CHOICE(stage),
    CHOICE(codec),
    CHOICE(generator),
    OPTION(U64, seed),
    OPTION(U32, step_limit),
    CHOICE(autoreset),
    OPTION(U32, observations),
    OPTION(FLAG, finals),
    OPTION(FLAG, episodes),
    OPTION(U32, frame_stack),
    OPTION(U32, start),
    OPTION(U32, snapshots),
    OPTION(FLAG, keep_idle_loops),
    OPTION(FLAG, force_dmg),
    OPTION(U32, observation_size),
    OPTION(U64, first_machine),
    OPTION(U32, lanes_per_warp),
    OPTION(U32, block_threads),
    OPTION(U32, blocks_per_multiprocessor),
};

/* What a description points to until the swarm is made. */
typedef struct parts {
    dm_swarm_desc desc;
    dm_swarm_rom_source *roms;
    dm_swarm_region *regions;
    dm_gb_hook *hooks;
    uint16_t *random_bytes;
    PyObject *keep; /* list */
} parts;

static int take_option(dm_swarm_desc *desc, const struct option *o, PyObject *value)
{
    char *field = (char *)desc + o->offset;
    if (o->type == NAME) {
        PyObject *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8String(value) : NULL;
        dm_error err;
        unsigned number = 0;
        if (text == NULL) {
            core_raise_status(DM_EINVAL, "swarm: %s is a name", o->name);
            return -1;
        }
        dm_status status = o->parse(PyBytes_AsString(text), &number, &err);
        Py_DECREF(text);
        if (status != DM_OK) {
            core_raise(&err);
            return -1;
        }
        memcpy(field, &number, sizeof number);
        return 0;
    }
    if (o->type == FLAG) {
        int truth = PyObject_IsTrue(value);
        if (truth >= 0)
            *(bool *)field = truth != 0;
        return truth < 0 ? -1 : 0;
    }
    PyObject *index = PyNumber_Index(value);
    if (index == NULL)
        return -1;
    unsigned long long number = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (PyErr_Occurred() || (o->type == U32 && number > UINT32_MAX)) {
        PyErr_Clear();
        core_raise_status(DM_EINVAL, "swarm: %s does not fit", o->name);
        return -1;
    }
    if (o->type == U64) {
        memcpy(field, &number, sizeof(uint64_t));
    } else {
        uint32_t small = (uint32_t)number;
        memcpy(field, &small, sizeof small);
    }
    return 0;
}

static int take_regions(parts *p, PyObject *list)
{
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0)
        return -1;
    p->regions = calloc((size_t)count + 1, sizeof *p->regions);
    for (Py_ssize_t i = 0; i < count; i++) {
        unsigned address = 0, size = 0;
        PyObject *item = PySequence_GetItem(list, i);
        int good = item != NULL && PyArg_ParseTuple(item, "II:regions", &address, &size);
        Py_XDECREF(item);
        if (!good)
            return -1;
        if (address > 0xFFFF || size > 0xFFFF) {
            core_raise_status(DM_EINVAL, "swarm: region %zd: (address, size) lie in 0..65535", i);
            return -1;
        }
        p->regions[i] = (dm_swarm_region){(uint16_t)address, (uint16_t)size};
    }
    p->desc.regions = p->regions;
    p->desc.region_count = (size_t)count;
    return 0;
}

/* (bank or None, address) each */
static int take_hooks(parts *p, PyObject *list)
{
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0)
        return -1;
    p->hooks = calloc((size_t)count + 1, sizeof *p->hooks);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bank = NULL, *item = PySequence_GetItem(list, i);
        unsigned address = 0;
        int good = item != NULL && PyArg_ParseTuple(item, "OI:hooks", &bank, &address);
        long number = good && bank != Py_None ? PyLong_AsLong(bank) : DM_GB_HOOK_EVERY_BANK;
        Py_XDECREF(item);
        if (!good || PyErr_Occurred())
            return -1;
        if (address > 0xFFFF || number < 0 || number > 0xFFFF) {
            core_raise_status(DM_EINVAL, "swarm: hook %zd: there is no such place", i);
            return -1;
        }
        p->hooks[i] = (dm_gb_hook){(uint16_t)address, (uint16_t)number};
    }
    p->desc.hooks = p->hooks;
    p->desc.hook_count = (size_t)count;
    return 0;
}

/* (path or bytes, path of a state or None) */
static int take_rom(parts *p, PyObject *item, dm_swarm_rom_source *out)
{
    PyObject *rom = NULL, *state = NULL, *path = NULL;
    if (!PyArg_ParseTuple(item, "OO:rom", &rom, &state))
        return -1;
    if (PyBytes_Check(rom)) {
        char *bytes = NULL;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(rom, &bytes, &size) < 0 || PyList_Append(p->keep, rom) < 0)
            return -1;
        out->bytes = bytes;
        out->size = (size_t)size;
    } else {
        if (!PyUnicode_FSConverter(rom, &path) || PyList_Append(p->keep, path) < 0)
            return -1;
        out->path = PyBytes_AsString(path);
        Py_DECREF(path);
    }
    if (state != Py_None) {
        if (!PyUnicode_FSConverter(state, &path) || PyList_Append(p->keep, path) < 0)
            return -1;
        out->state = PyBytes_AsString(path);
        Py_DECREF(path);
    }
    return 0;
}

static int take_roms(parts *p, PyObject *list)
{
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0)
        return -1;
    p->roms = calloc((size_t)count + 1, sizeof *p->roms);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        int bad = item == NULL || take_rom(p, item, &p->roms[i]) < 0;
        Py_XDECREF(item);
        if (bad)
            return -1;
    }
    p->desc.roms = p->roms;
    p->desc.rom_count = (size_t)count;
    return 0;
}

static int take_text(parts *p, PyObject *value, const char **out)
{
    PyObject *bytes = PyUnicode_AsUTF8String(value);
    if (bytes == NULL || PyList_Append(p->keep, bytes) < 0)
        return -1;
    *out = PyBytes_AsString(bytes);
    Py_DECREF(bytes);
    return 0;
}

/* The keys of each action, as bytes. */
static int take_actions(parts *p, PyObject *value)
{
    char *bytes = NULL;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(value, &bytes, &size) < 0 || PyList_Append(p->keep, value) < 0)
        return -1;
    p->desc.action_keys = (const uint8_t *)bytes;
    p->desc.action_key_count = (size_t)size;
    return 0;
}

static int take_random(parts *p, PyObject *list)
{
    p->random_bytes = NULL;
    const Py_ssize_t count = core_swarm_addresses(list, "swarm: random_bytes", &p->random_bytes);
    p->desc.random_bytes = p->random_bytes;
    p->desc.random_count = count < 0 ? 0 : (size_t)count;
    return count < 0 ? -1 : 0;
}

static int take_boot(parts *p, PyObject *value)
{
    char *bytes = NULL;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(value, &bytes, &size) < 0 || PyList_Append(p->keep, value) < 0)
        return -1;
    p->desc.boot_rom = bytes;
    p->desc.boot_rom_size = (size_t)size;
    return 0;
}

static int take_one(parts *p, const char *name, PyObject *value)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].name, name) == 0)
            return take_option(&p->desc, &options[i], value);
    if (strcmp(name, "regions") == 0)
        return take_regions(p, value);
    if (strcmp(name, "epilog") == 0)
        return take_text(p, value, &p->desc.epilog);
    if (strcmp(name, "boot_rom") == 0)
        return take_boot(p, value);
    if (strcmp(name, "hooks") == 0)
        return take_hooks(p, value);
    if (strcmp(name, "action_keys") == 0)
        return take_actions(p, value);
    if (strcmp(name, "random_bytes") == 0)
        return take_random(p, value);
    if (strcmp(name, "program") == 0)
        return core_reward(value, &p->desc.program) && PyList_Append(p->keep, value) == 0 ? 0 : -1;
    core_raise_status(DM_EINVAL, "swarm: there is no option '%s'", name);
    return -1;
}

static int take_options(parts *p, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (value == Py_None)
            continue;
        PyObject *name = PyUnicode_AsUTF8String(key);
        int status = name == NULL ? -1 : take_one(p, PyBytes_AsString(name), value);
        Py_XDECREF(name);
        if (status < 0)
            return -1;
    }
    return 0;
}

static void free_parts(parts *p)
{
    free(p->roms);
    free(p->regions);
    free(p->hooks);
    free(p->random_bytes);
    Py_CLEAR(p->keep);
}

/* Device, ROMs, count and options to a description; -1 with an exception. */
static int take_all(parts *p, PyObject *args, dm_device **device, PyObject **device_object)
{
    PyObject *roms, *dict;
    unsigned long long count;
    memset(p, 0, sizeof *p);
    p->keep = PyList_New(0);
    if (p->keep == NULL ||
        !PyArg_ParseTuple(args, "OOKO!:Swarm", device_object, &roms, &count, &PyDict_Type, &dict))
        return -1;
    *device = core_device(*device_object);
    p->desc.count = count;
    return *device == NULL || take_roms(p, roms) < 0 || take_options(p, dict) < 0 ? -1 : 0;
}

int core_swarm_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    core_swarm *self = (core_swarm *)object;
    parts p;
    PyObject *device_object = NULL;
    dm_device *device = NULL;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "_core.Swarm takes (device, roms, count, options)");
        return -1;
    }
    if (self->swarm != NULL || self->closed) {
        core_raise_status(DM_EINVAL, "Swarm: __init__ was called twice");
        return -1;
    }
    int result = take_all(&p, args, &device, &device_object);
    if (result == 0) {
        dm_error err;
        dm_status status;
        dm_swarm *made = NULL;
        Py_BEGIN_ALLOW_THREADS status = dm_swarm_create(device, &p.desc, &made, &err);
        Py_END_ALLOW_THREADS if (status != DM_OK)
        {
            core_raise(&err);
            result = -1;
        }
        else
        {
            self->swarm = made;
            self->device = Py_NewRef(device_object);
            self->action_count = p.desc.action_key_count != 0
                                     ? (unsigned)p.desc.action_key_count
                                     : dm_swarm_codec_actions(p.desc.codec);
            self->forks = core_forks();
        }
    }
    free_parts(&p);
    return result;
}

/* swarm_warm_up(device, roms, count, options): the kernels, compiled into the cache. */
PyObject *core_swarm_warm_up(PyObject *module, PyObject *args)
{
    (void)module;
    parts p;
    PyObject *device_object = NULL, *result = NULL;
    dm_device *device = NULL;
    if (take_all(&p, args, &device, &device_object) == 0) {
        dm_error err;
        dm_status status;
        Py_BEGIN_ALLOW_THREADS status = dm_swarm_warm_up(device, &p.desc, &err);
        Py_END_ALLOW_THREADS result = status == DM_OK ? Py_NewRef(Py_None) : core_raise(&err);
    }
    free_parts(&p);
    return result;
}
