/* SPDX-License-Identifier: MIT */
/* dynamics.c - models of training runs (dotmatrix/dynamics.h) as Python types: Dynamics, an ensemble;
 * Encoder, a run's samples to features; Trainer, which teaches an ensemble. Arrays come and go as
 * float32 in a row; dotmatrix/dynamics.py gives them shapes. */
#include "core.h"

#include <dotmatrix/dynamics.h>

#include <string.h>

typedef struct model {
    PyObject_HEAD dm_dynamics *model;
    bool running; /* in a call that has released the GIL */
} model;

typedef struct encoder {
    PyObject_HEAD dm_dynamics_encoder *encoder;
} encoder;

typedef struct trainer {
    PyObject_HEAD dm_dynamics_trainer *trainer;
    PyObject *model;
} trainer;

static PyTypeObject *model_type;

static PyObject *none_or(dm_status status, const dm_error *err)
{
    return status == DM_OK ? Py_NewRef(Py_None) : core_raise(err);
}

/* The ensemble, or NULL with an exception. */
static dm_dynamics *get_model(PyObject *object)
{
    model *self = (model *)object;
    if (self->model == NULL)
        core_raise_status(DM_EINVAL, "Dynamics: __init__ was not called");
    else if (self->running)
        core_raise_status(DM_EINVAL, "Dynamics: it is in use by another thread");
    else
        return self->model;
    return NULL;
}

/* float32 of the CPU, `count` of them unless that is 0, then a multiple of `each`; NULL with an
 * exception. */
static const float *floats(PyObject *object, const char *what, size_t count, size_t each,
                           size_t *have, PyObject **holder)
{
    core_layout at;
    *holder = NULL;
    if (!core_import(object, what, &at, holder))
        return NULL;
    *have = at.bits == 32 ? core_layout_size(&at) / 4 : 0;
    if (at.device != DM_DEVICE_CPU || at.kind != CORE_FLOAT || at.bits != 32)
        core_raise_status(DM_EINVAL, "%s: float32 on the CPU is wanted", what);
    else if (count != 0 && *have != count)
        core_raise_status(DM_EINVAL, "%s: %zu numbers are wanted, %zu are given", what, count,
                          *have);
    else if (*have == 0 || *have % each != 0)
        core_raise_status(DM_EINVAL, "%s: rows of %zu numbers are wanted, %zu are given", what,
                          each, *have);
    else
        return at.data;
    Py_CLEAR(*holder);
    return NULL;
}

static PyObject *as_bytes(const float *from, size_t count)
{
    return PyBytes_FromStringAndSize((const char *)from, (Py_ssize_t)(count * sizeof *from));
}

static void free_object(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- Dynamics ---- */

/* Dynamics(path), or Dynamics(members, hidden, stochastic, input, reset_last, projection, seed) */
static int model_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    model *self = (model *)object;
    dm_error err;
    dm_status status;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "_core.Dynamics takes a path or seven numbers");
        return -1;
    }
    if (self->model != NULL) {
        core_raise_status(DM_EINVAL, "Dynamics: __init__ was called twice");
        return -1;
    }
    if (PyTuple_Size(args) == 1) {
        PyObject *path = NULL;
        if (!PyArg_ParseTuple(args, "O&:Dynamics", PyUnicode_FSConverter, &path))
            return -1;
        status = dm_dynamics_load(PyBytes_AsString(path), &self->model, &err);
        Py_DECREF(path);
    } else {
        unsigned members, hidden, stochastic, input;
        int last, projection;
        unsigned long long seed;
        if (!PyArg_ParseTuple(args, "IIIIppK:Dynamics", &members, &hidden, &stochastic, &input,
                              &last, &projection, &seed))
            return -1;
        const dm_dynamics_config config = {.members = members,
                                           .hidden = hidden,
                                           .stochastic = stochastic,
                                           .input = input,
                                           .kind = last ? DM_DYNAMICS_GRU_RESET_LAST
                                                        : DM_DYNAMICS_GRU_RESET_FIRST,
                                           .projection = projection != 0};
        status = dm_dynamics_create(&config, seed, &self->model, &err);
    }
    if (status == DM_OK)
        return 0;
    core_raise(&err);
    return -1;
}

static void model_dealloc(PyObject *object)
{
    dm_dynamics_destroy(((model *)object)->model);
    free_object(object);
}

static PyObject *get_config(PyObject *object, void *unused)
{
    (void)unused;
    const dm_dynamics *m = get_model(object);
    if (m == NULL)
        return NULL;
    const dm_dynamics_config *c = dm_dynamics_get_config(m);
    return Py_BuildValue("{sIsIsIsIsOsO}", "members", c->members, "hidden", c->hidden, "stochastic",
                         c->stochastic, "input", c->input, "reset_last",
                         c->kind == DM_DYNAMICS_GRU_RESET_LAST ? Py_True : Py_False, "projection",
                         c->projection ? Py_True : Py_False);
}

static PyObject *row(PyObject *object, float *data, size_t count)
{
    const core_layout layout = {
        .data = data, .kind = CORE_FLOAT, .bits = 32, .dimensions = 1, .shape = {(int64_t)count}};
    return core_array_new(object, &layout);
}

static PyObject *weights(PyObject *object, PyObject *args)
{
    unsigned member, part;
    if (!PyArg_ParseTuple(args, "II:weights", &member, &part))
        return NULL;
    dm_dynamics *m = get_model(object);
    size_t count = 0;
    float *data = m == NULL ? NULL : dm_dynamics_weights(m, member, (dm_dynamics_part)part, &count);
    if (m == NULL)
        return NULL;
    if (data == NULL)
        return core_raise_status(DM_EINVAL, "weights: member %u has no part %u", member, part);
    return row(object, data, count);
}

static PyObject *shift(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_dynamics *m = get_model(object);
    return m == NULL ? NULL : row(object, dm_dynamics_shift(m), dm_dynamics_get_config(m)->input);
}

static PyObject *scale(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_dynamics *m = get_model(object);
    return m == NULL ? NULL : row(object, dm_dynamics_scale(m), dm_dynamics_get_config(m)->input);
}

static PyObject *save(PyObject *object, PyObject *given)
{
    PyObject *path = NULL;
    const dm_dynamics *m = get_model(object);
    if (m == NULL || !PyUnicode_FSConverter(given, &path))
        return NULL;
    dm_error err;
    const dm_status status = dm_dynamics_save(m, PyBytes_AsString(path), &err);
    Py_DECREF(path);
    return none_or(status, &err);
}

/* gru(member, x, h): h' as bytes */
static PyObject *gru(PyObject *object, PyObject *args)
{
    unsigned member;
    PyObject *x_given, *h_given, *x_holder, *h_holder, *out = NULL;
    size_t x_count, h_count;
    if (!PyArg_ParseTuple(args, "IOO:gru", &member, &x_given, &h_given))
        return NULL;
    const dm_dynamics *m = get_model(object);
    if (m == NULL)
        return NULL;
    const dm_dynamics_config *c = dm_dynamics_get_config(m);
    const float *x = floats(x_given, "gru: x", 0, c->input, &x_count, &x_holder);
    if (x == NULL)
        return NULL;
    const size_t batch = x_count / c->input;
    const float *h = floats(h_given, "gru: h", batch * c->hidden, c->hidden, &h_count, &h_holder);
    if (h != NULL)
        out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(h_count * sizeof(float)));
    dm_error err;
    if (out != NULL) {
        float *to = (float *)(void *)PyBytes_AsString(out);
        if (dm_dynamics_gru(m, member, batch, x, h, to, &err) != DM_OK) {
            Py_CLEAR(out);
            core_raise(&err);
        }
    }
    Py_XDECREF(h_holder);
    Py_DECREF(x_holder);
    return out;
}

static PyObject *rollout_dict(const dm_dynamics_forecast *r)
{
    const size_t n = r->rollouts, steps = r->steps, all = n * r->members;
    PyObject *metrics =
        PyBytes_FromStringAndSize((const char *)r->metrics, (Py_ssize_t)(n * sizeof *r->metrics));
    PyObject *each = PyBytes_FromStringAndSize((const char *)r->member_metrics,
                                               (Py_ssize_t)(all * sizeof *r->member_metrics));
    return Py_BuildValue(
        "{sNsNsNsNsNsNsNsNsNsNsN}", "loss", as_bytes(r->loss, all * steps), "entropy",
        as_bytes(r->entropy, all * steps), "hidden_norm", as_bytes(r->hidden_norm, all * steps),
        "hidden_last", as_bytes(r->hidden_last, all * r->hidden), "mean",
        as_bytes(r->mean, n * steps), "deviation", as_bytes(r->deviation, n * steps), "total",
        as_bytes(r->total, n * steps), "confidence", as_bytes(r->confidence, n * steps),
        "step_deltas", as_bytes(r->step_deltas, n * (steps - 1)), "metrics", metrics,
        "member_metrics", each);
}

/* rollout(features, steps, hidden or None, device or None): a dict of bytes */
static PyObject *rollout(PyObject *object, PyObject *args)
{
    model *self = (model *)object;
    PyObject *given, *hidden_given, *device_given, *holder, *hidden_holder = NULL, *out = NULL;
    unsigned steps;
    size_t count, hidden_count;
    if (!PyArg_ParseTuple(args, "OIOO:rollout", &given, &steps, &hidden_given, &device_given))
        return NULL;
    dm_dynamics *m = get_model(object);
    if (m == NULL)
        return NULL;
    const dm_dynamics_config *c = dm_dynamics_get_config(m);
    const float *features = floats(given, "rollout: features", 0, c->input, &count, &holder);
    if (features == NULL)
        return NULL;
    const size_t n = count / c->input;
    const float *hidden = NULL;
    dm_device *device = NULL;
    bool good = n <= UINT32_MAX;
    if (good && hidden_given != Py_None)
        good = (hidden = floats(hidden_given, "rollout: hidden", n * c->members * c->hidden,
                                c->hidden, &hidden_count, &hidden_holder)) != NULL;
    if (good && device_given != Py_None)
        good = (device = core_device(device_given)) != NULL;
    dm_dynamics_forecast *r = NULL;
    dm_dynamics_device *on = NULL;
    dm_error err;
    dm_status status = DM_OK;
    if (good) {
        self->running = true;
        Py_BEGIN_ALLOW_THREADS status =
            dm_dynamics_forecast_create(m, (uint32_t)n, steps, &r, &err);
        if (status == DM_OK && device != NULL)
            status = dm_dynamics_device_create(device, m, &on, &err);
        if (status == DM_OK)
            status = device == NULL ? dm_dynamics_rollout(m, features, hidden, r, &err)
                                    : dm_dynamics_device_rollout(on, features, hidden, r, &err);
        dm_dynamics_device_destroy(on);
        Py_END_ALLOW_THREADS self->running = false;
        out = status == DM_OK ? rollout_dict(r) : core_raise(&err);
    }
    dm_dynamics_forecast_destroy(r);
    Py_XDECREF(hidden_holder);
    Py_DECREF(holder);
    return out;
}

static PyObject *fit_scaling(PyObject *object, PyObject *given)
{
    PyObject *holder;
    size_t count;
    dm_dynamics *m = get_model(object);
    if (m == NULL)
        return NULL;
    const size_t input = dm_dynamics_get_config(m)->input;
    const float *features = floats(given, "fit_scaling: features", 0, input, &count, &holder);
    if (features == NULL)
        return NULL;
    dm_error err;
    const dm_status status = dm_dynamics_fit_scaling(m, features, count / input, &err);
    Py_DECREF(holder);
    return none_or(status, &err);
}

/* import_torch(member, weight_ih, weight_hh, bias_ih, bias_hh) */
static PyObject *import_torch(PyObject *object, PyObject *args)
{
    unsigned member;
    PyObject *given[4], *holders[4] = {NULL};
    const float *parts[4] = {NULL};
    size_t have;
    if (!PyArg_ParseTuple(args, "IOOOO:import_torch", &member, &given[0], &given[1], &given[2],
                          &given[3]))
        return NULL;
    dm_dynamics *m = get_model(object);
    if (m == NULL)
        return NULL;
    const dm_dynamics_config *c = dm_dynamics_get_config(m);
    const size_t gates = 3 * (size_t)c->hidden;
    const size_t counts[4] = {gates * c->input, gates * c->hidden, gates, gates};
    bool good = true;
    for (int i = 0; good && i < 4; i++)
        if (i < 2 || given[i] != Py_None)
            good = (parts[i] =
                        floats(given[i], "import_torch", counts[i], 1, &have, &holders[i])) != NULL;
    PyObject *result = NULL;
    dm_error err;
    if (good)
        result = none_or(
            dm_dynamics_import_torch(m, member, parts[0], parts[1], parts[2], parts[3], &err),
            &err);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(holders[i]);
    return result;
}

static PyGetSetDef model_getset[] = {
    {"config", get_config, NULL, "sizes and kind, as a dict", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef model_methods[] = {
    {"weights", weights, METH_VARARGS,
     "weights($self, member, part, /)\n--\n\nAn Array over them."},
    {"shift", shift, METH_NOARGS, "shift($self, /)\n--\n\nAn Array over it."},
    {"scale", scale, METH_NOARGS, "scale($self, /)\n--\n\nAn Array over it."},
    {"save", save, METH_O, "save($self, path, /)\n--\n\nAs safetensors."},
    {"gru", gru, METH_VARARGS, "gru($self, member, x, h, /)\n--\n\nOne step, as bytes."},
    {"rollout", rollout, METH_VARARGS,
     "rollout($self, features, steps, hidden, device, /)\n--\n\nA dict of bytes."},
    {"fit_scaling", fit_scaling, METH_O, "fit_scaling($self, features, /)\n--\n\nShift and scale."},
    {"import_torch", import_torch, METH_VARARGS,
     "import_torch($self, member, weight_ih, weight_hh, bias_ih, bias_hh, /)\n--\n\nA layer of "
     "it."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot model_slots[] = {
    {Py_tp_doc, "Dynamics(path), or Dynamics(members, hidden, stochastic, input, reset_last, "
                "projection, seed); see dotmatrix.dynamics.Model."},
    {Py_tp_init, CORE_SLOT(model_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(model_dealloc)},
    {Py_tp_getset, model_getset},
    {Py_tp_methods, model_methods},
    {0, NULL},
};
static PyType_Spec model_spec = {"dotmatrix._core.Dynamics", sizeof(model), 0, Py_TPFLAGS_DEFAULT,
                                 model_slots};

/* ---- Encoder ---- */

static int encoder_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"losses", "norms", NULL};
    encoder *self = (encoder *)object;
    unsigned losses = DM_DYNAMICS_ENCODER_LOSSES, norms = DM_DYNAMICS_ENCODER_NORMS;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|II:Encoder", names, &losses, &norms))
        return -1;
    dm_error err;
    dm_dynamics_encoder *made = NULL;
    if (dm_dynamics_encoder_create(losses, norms, &made, &err) != DM_OK) {
        core_raise(&err);
        return -1;
    }
    dm_dynamics_encoder_destroy(self->encoder);
    self->encoder = made;
    return 0;
}

static void encoder_dealloc(PyObject *object)
{
    dm_dynamics_encoder_destroy(((encoder *)object)->encoder);
    free_object(object);
}

/* update(step, loss, gradient_norm, first_mean, first_std, second_mean, second_std, learning_rate,
 * beta1, beta2, phase, phase_step): the features as bytes */
static PyObject *update(PyObject *object, PyObject *args)
{
    dm_dynamics_sample s = {0};
    unsigned long long step;
    if (!PyArg_ParseTuple(args, "KfffffffffII:update", &step, &s.loss, &s.gradient_norm,
                          &s.first_mean, &s.first_std, &s.second_mean, &s.second_std,
                          &s.learning_rate, &s.beta1, &s.beta2, &s.phase, &s.phase_step))
        return NULL;
    s.step = step;
    float features[DM_DYNAMICS_ENCODER_FEATURES];
    dm_dynamics_encoder_update(((encoder *)object)->encoder, &s, features);
    return as_bytes(features, DM_DYNAMICS_ENCODER_FEATURES);
}

static PyObject *encoder_reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_dynamics_encoder_reset(((encoder *)object)->encoder);
    Py_RETURN_NONE;
}

static PyObject *get_passed(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(dm_dynamics_encoder_passed(((encoder *)object)->encoder));
}

static PyObject *get_state(PyObject *object, PyObject *unused)
{
    (void)unused;
    const dm_dynamics_encoder *e = ((encoder *)object)->encoder;
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)dm_dynamics_encoder_state_size(e));
    if (out != NULL)
        dm_dynamics_encoder_state_get(e, PyBytes_AsString(out));
    return out;
}

static PyObject *set_state(PyObject *object, PyObject *bytes)
{
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return NULL;
    dm_error err;
    return none_or(
        dm_dynamics_encoder_state_set(((encoder *)object)->encoder, data, (size_t)size, &err),
        &err);
}

static PyGetSetDef encoder_getset[] = {
    {"passed", get_passed, NULL, "samples with a value that is not finite", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef encoder_methods[] = {
    {"update", update, METH_VARARGS,
     "update($self, step, loss, gradient_norm, first_mean, first_std, second_mean, second_std, "
     "learning_rate, beta1, beta2, phase, phase_step, /)\n--\n\nThe features, as bytes."},
    {"reset", encoder_reset, METH_NOARGS, "reset($self, /)\n--\n\nForget everything."},
    {"get_state", get_state, METH_NOARGS, "get_state($self, /)\n--\n\nAll it knows, as bytes."},
    {"set_state", set_state, METH_O, "set_state($self, state, /)\n--\n\nBack to it."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot encoder_slots[] = {
    {Py_tp_doc, "Encoder(losses=256, norms=64)\n--\n\nSee dotmatrix.dynamics.Encoder."},
    {Py_tp_init, CORE_SLOT(encoder_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(encoder_dealloc)},
    {Py_tp_getset, encoder_getset},
    {Py_tp_methods, encoder_methods},
    {0, NULL},
};
static PyType_Spec encoder_spec = {"dotmatrix._core.Encoder", sizeof(encoder), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, encoder_slots};

/* ---- Trainer ---- */

/* Trainer(model, sgd, learning_rate, beta1, beta2, epsilon, clip, window) */
static int trainer_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    trainer *self = (trainer *)object;
    PyObject *of;
    int sgd;
    dm_dynamics_trainer_config c = {0};
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "_core.Trainer takes positional arguments");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!pfffffI:Trainer", model_type, &of, &sgd, &c.learning_rate,
                          &c.beta1, &c.beta2, &c.epsilon, &c.clip, &c.window))
        return -1;
    c.optimiser = sgd ? DM_DYNAMICS_OPTIMISER_SGD : DM_DYNAMICS_OPTIMISER_ADAM;
    dm_dynamics *m = get_model(of);
    dm_error err;
    if (m == NULL)
        return -1;
    if (self->trainer != NULL) {
        core_raise_status(DM_EINVAL, "Trainer: __init__ was called twice");
        return -1;
    }
    if (dm_dynamics_trainer_create(m, &c, &self->trainer, &err) != DM_OK) {
        core_raise(&err);
        return -1;
    }
    self->model = Py_NewRef(of);
    return 0;
}

static void trainer_dealloc(PyObject *object)
{
    trainer *self = (trainer *)object;
    dm_dynamics_trainer_destroy(self->trainer);
    Py_CLEAR(self->model);
    free_object(object);
}

/* sequence(features, steps, from, targets): the objective */
static PyObject *sequence(PyObject *object, PyObject *args)
{
    trainer *self = (trainer *)object;
    PyObject *given, *targets_given, *holder, *targets_holder = NULL, *out = NULL;
    unsigned steps, from;
    size_t count, have;
    if (!PyArg_ParseTuple(args, "OIIO:sequence", &given, &steps, &from, &targets_given))
        return NULL;
    const dm_dynamics *m = get_model(self->model);
    if (m == NULL)
        return NULL;
    const size_t input = dm_dynamics_get_config(m)->input;
    const float *features = floats(given, "sequence: features", 0, input, &count, &holder);
    if (features == NULL)
        return NULL;
    const float *targets =
        floats(targets_given, "sequence: targets", steps, 1, &have, &targets_holder);
    float objective = 0.0f;
    dm_error err;
    dm_status status;
    if (targets != NULL) {
        ((model *)self->model)->running = true;
        Py_BEGIN_ALLOW_THREADS status =
            dm_dynamics_trainer_sequence(self->trainer, features, (uint32_t)(count / input), steps,
                                         from, targets, &objective, &err);
        Py_END_ALLOW_THREADS((model *)self->model)->running = false;
        out = status == DM_OK ? PyFloat_FromDouble((double)objective) : core_raise(&err);
    }
    Py_XDECREF(targets_holder);
    Py_DECREF(holder);
    return out;
}

static PyObject *observe(PyObject *object, PyObject *given)
{
    trainer *self = (trainer *)object;
    PyObject *holder;
    size_t count;
    const dm_dynamics *m = get_model(self->model);
    if (m == NULL)
        return NULL;
    const size_t input = dm_dynamics_get_config(m)->input;
    const float *features = floats(given, "observe: features", input, 1, &count, &holder);
    if (features == NULL)
        return NULL;
    float objective = 0.0f;
    dm_error err;
    const dm_status status = dm_dynamics_trainer_observe(self->trainer, features, &objective, &err);
    Py_DECREF(holder);
    return status == DM_OK ? PyFloat_FromDouble((double)objective) : core_raise(&err);
}

static PyObject *hidden(PyObject *object, PyObject *unused)
{
    (void)unused;
    trainer *self = (trainer *)object;
    const dm_dynamics *m = get_model(self->model);
    if (m == NULL)
        return NULL;
    const dm_dynamics_config *c = dm_dynamics_get_config(m);
    return as_bytes(dm_dynamics_trainer_hidden(self->trainer), (size_t)c->members * c->hidden);
}

static PyObject *set_threads(PyObject *object, PyObject *value)
{
    const long threads = PyLong_AsLong(value);
    if (threads == -1 && PyErr_Occurred())
        return NULL;
    dm_error err;
    return none_or(
        dm_dynamics_trainer_set_threads(((trainer *)object)->trainer, (int)threads, &err), &err);
}

static PyObject *set_rate(PyObject *object, PyObject *value)
{
    const double rate = PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        return NULL;
    dm_error err;
    return none_or(
        dm_dynamics_trainer_set_learning_rate(((trainer *)object)->trainer, (float)rate, &err),
        &err);
}

static PyObject *restart(PyObject *object, PyObject *unused)
{
    (void)unused;
    dm_dynamics_trainer_restart(((trainer *)object)->trainer);
    Py_RETURN_NONE;
}

static PyObject *get_skipped(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(dm_dynamics_trainer_skipped(((trainer *)object)->trainer));
}

static PyGetSetDef trainer_getset[] = {
    {"skipped", get_skipped, NULL, "features that observe() has skipped", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef trainer_methods[] = {
    {"sequence", sequence, METH_VARARGS,
     "sequence($self, features, steps, from, targets, /)\n--\n\nOne update; the objective."},
    {"observe", observe, METH_O, "observe($self, features, /)\n--\n\nFollow a run."},
    {"hidden", hidden, METH_NOARGS, "hidden($self, /)\n--\n\nHidden states, as bytes."},
    {"set_threads", set_threads, METH_O, "set_threads($self, threads, /)\n--\n\n0: all."},
    {"set_learning_rate", set_rate, METH_O,
     "set_learning_rate($self, rate, /)\n--\n\nFrom now on."},
    {"restart", restart, METH_NOARGS, "restart($self, /)\n--\n\nBegin another run."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot trainer_slots[] = {
    {Py_tp_doc, "Trainer(model, sgd, learning_rate, beta1, beta2, epsilon, clip, window, /)\n--\n\n"
                "See dotmatrix.dynamics.Trainer."},
    {Py_tp_init, CORE_SLOT(trainer_init)},
    {Py_tp_new, CORE_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, CORE_SLOT(trainer_dealloc)},
    {Py_tp_getset, trainer_getset},
    {Py_tp_methods, trainer_methods},
    {0, NULL},
};
static PyType_Spec trainer_spec = {"dotmatrix._core.Trainer", sizeof(trainer), 0,
                                   Py_TPFLAGS_DEFAULT, trainer_slots};

int core_dynamics_add(PyObject *module)
{
    model_type = core_type_add(module, &model_spec);
    return model_type == NULL || core_type_add(module, &encoder_spec) == NULL ||
                   core_type_add(module, &trainer_spec) == NULL
               ? -1
               : 0;
}
