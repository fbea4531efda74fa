/* SPDX-License-Identifier: MIT */
/* space.c - see space.h. */
#include "train/sweep/space.h"
#include "base/philox.h"

#include <math.h>

/* ---- Sobol's sequence ---- */

/* Primitive polynomials (degree, inner coefficients) and first direction numbers of dimensions 2 to
 * 12: Joe, Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008. */
static const struct {
    uint32_t degree, inner, first[5];
} polynomials[DM_SWEEP_PARAMETERS_MAX - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
};

uint32_t dm_sobol(size_t dimension, uint32_t index)
{
    uint32_t v[32] = {0}, out = 0;
    if (dimension == 0) {
        for (uint32_t i = 0; i < 32; i++)
            v[i] = 1u << (31 - i);
    } else {
        uint32_t s = polynomials[dimension - 1].degree, a = polynomials[dimension - 1].inner;
        for (uint32_t i = 0; i < s; i++)
            v[i] = polynomials[dimension - 1].first[i] << (31 - i);
        for (uint32_t i = s; i < 32; i++) {
            v[i] = v[i - s] ^ (v[i - s] >> s);
            for (uint32_t k = 1; k < s; k++)
                v[i] ^= (a >> (s - 1 - k) & 1) * v[i - k];
        }
    }
    for (uint32_t i = 0; i < 32; i++)
        out ^= (index >> i & 1) * v[i];
    return out;
}

/* ---- Reading ---- */

static dm_status read_range(const json_t *value, bool grid, const char *name, dm_sweep_parameter *p,
                            dm_error *err)
{
    static const char *const members[] = {"low", "high", "log", "integer", "points"};
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        size_t i = 0;
        while (i < 5 && strcmp(key, members[i]) != 0)
            i++;
        if (i == 5)
            return dm_fail(err, DM_EINVAL,
                           "%s: %s has '%.64s'; a range has low, high, log, integer and points",
                           name, p->name, key);
        if (i < 2   ? !json_is_number(member)
            : i < 4 ? !json_is_boolean(member)
                    : !json_is_integer(member))
            return dm_fail(err, DM_EINVAL, "%s: %s: %s is of a wrong kind", name, p->name, key);
    }
    const json_t *low = json_object_get(value, "low"), *high = json_object_get(value, "high");
    json_int_t points = json_integer_value(json_object_get(value, "points"));
    p->low = json_number_value(low);
    p->high = json_number_value(high);
    p->log = json_is_true(json_object_get(value, "log"));
    p->integer = json_is_true(json_object_get(value, "integer"));
    p->points = (uint64_t)points;
    if (low == NULL || high == NULL || !(p->low <= p->high))
        return dm_fail(err, DM_EINVAL, "%s: %s needs low and high, low not above high", name,
                       p->name);
    if (p->log && !(p->low > 0))
        return dm_fail(err, DM_EINVAL, "%s: %s has log, so low must be above 0", name, p->name);
    if (p->integer && (floor(p->low) != p->low || floor(p->high) != p->high))
        return dm_fail(err, DM_EINVAL, "%s: %s: low and high are whole numbers", name, p->name);
    if (points < 0 || points > DM_SWEEP_RUNS_MAX || (grid && points == 0))
        return dm_fail(err, DM_EINVAL, "%s: %s: a range of a grid has 1 to %d points", name,
                       p->name, DM_SWEEP_RUNS_MAX);
    return DM_OK;
}

static dm_status read_parameter(const char *key, json_t *value, bool grid, const char *name,
                                dm_sweep_parameter *p, dm_error *err)
{
    if (key[0] == 0 || strlen(key) >= sizeof p->name)
        return dm_fail(err, DM_EINVAL, "%s: a parameter's name has 1 to %zu characters", name,
                       sizeof p->name - 1);
    snprintf(p->name, sizeof p->name, "%s", key);
    if (json_is_object(value))
        return read_range(value, grid, name, p, err);
    if (!json_is_array(value) || json_array_size(value) == 0)
        return dm_fail(err, DM_EINVAL, "%s: %s is neither a list nor a range with low and high",
                       name, key);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_number(json_array_get(value, i)) && !json_is_string(json_array_get(value, i)))
            return dm_fail(err, DM_EINVAL, "%s: %s has an element that is no number and no text",
                           name, key);
    p->choices = value;
    p->points = json_array_size(value);
    return DM_OK;
}

static dm_status read_count(const json_t *spec, const char *name, dm_sweep_space *out,
                            dm_error *err)
{
    const json_t *count = json_object_get(spec, "count"), *seed = json_object_get(spec, "seed");
    if (seed != NULL && (!json_is_integer(seed) || json_integer_value(seed) < 0))
        return dm_fail(err, DM_EINVAL, "%s: seed is no whole number", name);
    out->seed = seed != NULL ? (uint64_t)json_integer_value(seed) : 1;
    if (out->search == DM_SWEEP_GRID) {
        uint64_t product = 1;
        if (count != NULL)
            return dm_fail(err, DM_EINVAL, "%s: a grid has no count", name);
        for (size_t i = 0; i < out->parameter_count && product <= DM_SWEEP_RUNS_MAX; i++)
            product *= out->parameters[i].points;
        if (product > DM_SWEEP_RUNS_MAX)
            return dm_fail(err, DM_EINVAL, "%s: the grid has more than %d configurations", name,
                           DM_SWEEP_RUNS_MAX);
        out->count = (size_t)product;
        return DM_OK;
    }
    json_int_t number = json_integer_value(count);
    if (!json_is_integer(count) || number < 1 || number > DM_SWEEP_RUNS_MAX)
        return dm_fail(err, DM_EINVAL, "%s: count is a whole number of 1 to %d", name,
                       DM_SWEEP_RUNS_MAX);
    out->count = (size_t)number;
    return DM_OK;
}

dm_status dm_sweep_space_read(const json_t *spec, const char *name, dm_sweep_space *out,
                              dm_error *err)
{
    static const char *const searches[] = {"grid", "random", "sobol"};
    const char *search = json_string_value(json_object_get(spec, "search")), *key;
    const json_t *parameters = json_object_get(spec, "parameters");
    json_t *value;
    int which = 0;
    *out = (dm_sweep_space){0};
    while (which < 3 && (search == NULL || strcmp(searches[which], search) != 0))
        which++;
    if (which == 3)
        return dm_fail(err, DM_EINVAL, "%s: search is grid, random or sobol", name);
    if (!json_is_object(parameters) || json_object_size(parameters) == 0 ||
        json_object_size(parameters) > DM_SWEEP_PARAMETERS_MAX)
        return dm_fail(err, DM_EINVAL, "%s: parameters is an object of 1 to %d members", name,
                       DM_SWEEP_PARAMETERS_MAX);
    out->search = (dm_sweep_search)which;
    json_object_foreach((json_t *)(uintptr_t)parameters, key, value)
    {
        dm_status status = read_parameter(key, value, out->search == DM_SWEEP_GRID, name,
                                          &out->parameters[out->parameter_count++], err);
        if (status != DM_OK)
            return status;
    }
    return read_count(spec, name, out, err);
}

/* ---- Drawing ---- */

/* The value at `u` of [0, 1]; whole numbers are equally likely. */
static json_t *value_at(const dm_sweep_parameter *p, double u)
{
    if (p->choices != NULL) {
        size_t n = json_array_size(p->choices), i = (size_t)(u * (double)n);
        return json_incref(json_array_get(p->choices, i < n ? i : n - 1));
    }
    double low = p->low, high = p->high + (p->integer ? 1 : 0);
    double x = p->log ? low * pow(high / low, u) : low + (high - low) * u;
    if (p->integer)
        return json_integer((json_int_t)fmin(floor(x), p->high));
    return json_real(fmin(fmax(x, p->low), p->high));
}

static json_t *grid_value(const dm_sweep_parameter *p, uint64_t i)
{
    if (p->choices != NULL)
        return json_incref(json_array_get(p->choices, (size_t)i));
    double u = p->points > 1 ? (double)i / (double)(p->points - 1) : 0;
    double x = p->log ? p->low * pow(p->high / p->low, u) : p->low + (p->high - p->low) * u;
    return p->integer ? json_integer((json_int_t)floor(x + 0.5)) : json_real(fmin(x, p->high));
}

json_t *dm_sweep_space_draw(const dm_sweep_space *space, size_t index)
{
    json_t *out = json_object();
    uint64_t rest = index;
    for (size_t i = 0; i < space->parameter_count && out != NULL; i++) {
        const dm_sweep_parameter *p = &space->parameters[i];
        uint32_t word = dm_random4(space->seed, 0x5357454550u + i, index).v[0];
        json_t *value = NULL;
        if (space->search == DM_SWEEP_GRID) {
            value = grid_value(p, rest % p->points);
            rest /= p->points;
        } else {
            if (space->search == DM_SWEEP_SOBOL) /* the shift is the same for all points */
                word =
                    dm_sobol(i, (uint32_t)index) ^ dm_random4(space->seed, 0x534f424f4cu, i).v[0];
            value = value_at(p, ldexp((double)word, -32));
        }
        if (value == NULL || json_object_set_new(out, p->name, value) != 0) {
            json_decref(out);
            out = NULL;
        }
    }
    return out;
}
