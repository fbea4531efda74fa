/* SPDX-License-Identifier: MIT */
/* builtin_case.c - see builtin_case.h. All cases of a table are statements of one kernel, so that the C compiler and
 * NVRTC run once per table. Case number k reads its own columns of x and writes its own of y. */
#include "tests/lang/builtin_case.h"
#include "device/nvrtc.h"
#include "lang/compile.h"
#include "tests/support/test.h"

#include <dotmatrix/device.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 6
#define COLUMNS_MAX 2048

typedef dm_builtin_case builtin_case;

/* ---- Types ---- */

static int components(const char *type, const char **name)
{
    static const struct {
        const char *code, *name;
        int count;
    } types[] = {
        {"s", "float64", 1},
        {"2", "vec2d", 2},
        {"3", "vec3d", 3},
        {"4", "vec4d", 4},
        {"q", "quatd", 4},
        {"6", "spatial_vectord", 6},
        {"m2", "mat22d", 4},
        {"m3", "mat33d", 9},
        {"m4", "mat44d", 16},
        {"t", "transformd", 7},
        {"i", "int32", 1},
        {"b", "bool", 1},
        {"m6", "spatial_matrixd", 36},
        {"m23", "", 6}, /* of results only */
        {"m32", "", 6},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].code, type) == 0) {
            *name = types[i].name;
            return types[i].count;
        }
    *name = "";
    fail_msg("no type %s", type);
    return 0;
}

static bool is_matrix(const char *type)
{
    return type[0] == 'm';
}

/* ---- One kernel of all cases ---- */

typedef struct layout {
    int x[256], x_count[256], y[256], y_count[256];
    int x_columns, y_columns;
} layout;

static char *kernel_text(const builtin_case *cases, int count, layout *at)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    memset(at, 0, sizeof *at);
    dm_buffer_puts(&out, "import warp as wp\n\n\n@wp.kernel\n"
                         "def all_cases(x: wp.array2d(dtype=wp.float64), "
                         "y: wp.array2d(dtype=wp.float64)):\n"
                         "    n = wp.tid()\n");
    for (int k = 0; k < count; k++) {
        char args[64];
        (void)snprintf(args, sizeof args, "%s", cases[k].args);
        char names = 'a';
        const char *type_name = "";
        at->x[k] = at->x_columns;
        for (char *save, *type = strtok_r(args, " ", &save); type != NULL;
             type = strtok_r(NULL, " ", &save), names++) {
            int parts = components(type, &type_name);
            dm_buffer_printf(&out, "    %c%d = wp.%s(", names, k, type_name);
            for (int i = 0; i < parts; i++)
                dm_buffer_printf(&out, "%sx[n, %d]", i > 0 ? ", " : "", at->x_columns++);
            dm_buffer_puts(&out, ")\n");
        }
        at->x_count[k] = at->x_columns - at->x[k];
        dm_buffer_printf(&out, "    r%d = ", k);
        /* wp.dot(a, b): single letters are arguments */
        for (const char *p = cases[k].call; *p != '\0'; p++) {
            bool alone = (p == cases[k].call || strchr("(, -+[", p[-1]) != NULL) &&
                         (p[1] == '\0' || strchr("), [", p[1]) != NULL);
            if (alone && *p >= 'a' && *p < names)
                dm_buffer_printf(&out, "%c%d", *p, k);
            else
                dm_buffer_putc(&out, *p);
        }
        dm_buffer_putc(&out, '\n');
        int parts = components(cases[k].result, &type_name);
        int width = cases[k].result[strlen(cases[k].result) - 1] - '0'; /* of a matrix */
        at->y[k] = at->y_columns;
        at->y_count[k] = parts;
        for (int i = 0; i < parts; i++) {
            dm_buffer_printf(&out, "    y[n, %d] = ", at->y_columns++);
            if (is_matrix(cases[k].result))
                dm_buffer_printf(&out, "r%d[%d, %d]\n", k, i / width, i % width);
            else if (cases[k].result[0] == 's')
                dm_buffer_printf(&out, "r%d\n", k);
            else if (cases[k].result[0] == 'i' || cases[k].result[0] == 'b')
                dm_buffer_printf(&out, "wp.float64(r%d)\n", k);
            else
                dm_buffer_printf(&out, "r%d[%d]\n", k, i);
        }
    }
    assert_true(at->x_columns <= COLUMNS_MAX && at->y_columns <= COLUMNS_MAX);
    char *text = strdup(dm_buffer_text(&out));
    dm_buffer_deinit(&out);
    return text;
}

/* ---- Running it ---- */

typedef struct array2 {
    double *data, *grad;
    long long stride[2];
    int shape[2];
} array2;
typedef struct kernel_args {
    int dim[1];
    array2 x, y;
} kernel_args;

typedef struct running {
    dm_device *device;
    dm_module *module;
    dm_function *forward, *backward;
    layout at;
    double *x, *gx, *y, *gy; /* [SAMPLES][columns] */
} running;

static void compile_text(const char *text, dm_target target, bool all_double, dm_buffer *out)
{
    dm_compilation c;
    dm_error err = {0};
    dm_compile_options options = {.all_double = all_double};
    assert_ok(dm_compilation_init(&c, "cases.py", text, strlen(text), &options, err));
    if (dm_compilation_kernel(&c, 0, &err) != DM_OK) {
        dm_buffer diags = DM_BUFFER_EMPTY;
        dm_lang_print_diags(&c.lang, &diags);
        fail_msg("%s", dm_buffer_text(&diags));
    }
    assert_non_null(c.kernels[0].backward);
    assert_ok(dm_compilation_print(&c, 0, target, out, err));
    dm_compilation_deinit(&c);
}

static void launch(running *r, dm_function *function)
{
    array2 x = {r->x, r->gx, {r->at.x_columns * 8, 8}, {SAMPLES, r->at.x_columns}};
    array2 y = {r->y, r->gy, {r->at.y_columns * 8, 8}, {SAMPLES, r->at.y_columns}};
    kernel_args args = {{SAMPLES}, x, y};
    assert_ok(dm_function_launch(function, dm_device_stream(r->device), dm_grid_for(SAMPLES, 64),
                                 &args, sizeof args, err));
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void close_to(const char *what, const char *call, double is, double should, double tolerance)
{
    if (fabs(is - should) <= tolerance * (1 + fabs(should)) || (isnan(is) && isnan(should)))
        return;
    fail_msg("%s of %s: %.17g, not %.17g", what, call, is, should);
}

static void check_values(const running *r, const builtin_case *cases, int count)
{
    for (int k = 0; k < count; k++)
        for (int n = 0; n < SAMPLES; n++) {
            double should[36];
            cases[k].plain(r->x + n * r->at.x_columns + r->at.x[k], should);
            for (int i = 0; i < r->at.y_count[k]; i++)
                close_to("value", cases[k].call, r->y[n * r->at.y_columns + r->at.y[k] + i],
                         should[i], 1e-11);
        }
}

/* Column j of every case is moved at once: a case sees its own columns only. */
static void check_gradients(running *r, const builtin_case *cases, int count)
{
    const double h = 1e-6;
    int widest = 0;
    size_t y_size = (size_t)(SAMPLES * r->at.y_columns);
    double *weights = malloc(y_size * sizeof *weights), *up = malloc(y_size * sizeof *up);
    uint64_t seed = 7;
    for (size_t i = 0; i < y_size; i++)
        weights[i] = r->gy[i] = uniform(&seed) * 2 - 1;
    launch(r, r->backward);
    for (int k = 0; k < count; k++)
        widest = r->at.x_count[k] > widest ? r->at.x_count[k] : widest;
    for (int j = 0; j < widest; j++) {
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < count; k++)
                for (int n = 0; n < SAMPLES && j < r->at.x_count[k]; n++)
                    r->x[n * r->at.x_columns + r->at.x[k] + j] += side == 0 ? h : -2 * h;
            launch(r, r->forward);
            if (side == 0)
                memcpy(up, r->y, y_size * sizeof *up);
        }
        for (int k = 0; k < count; k++)
            for (int n = 0; n < SAMPLES && j < r->at.x_count[k]; n++) {
                int column = n * r->at.x_columns + r->at.x[k] + j;
                double slope = 0;
                r->x[column] += h;
                bool flows = cases[k].result[0] != 'i' && cases[k].result[0] != 'b';
                for (int i = 0; flows && i < r->at.y_count[k]; i++) {
                    int o = n * r->at.y_columns + r->at.y[k] + i;
                    slope += weights[o] * (up[o] - r->y[o]) / (2 * h);
                }
                close_to("gradient", cases[k].call, r->gx[column], slope, 2e-7);
            }
    }
    free(weights);
    free(up);
}

void dm_test_builtin_cases(const dm_builtin_case *cases, int count, bool all_double)
{
    running r = {0};
    char *text = kernel_text(cases, count, &r.at);
    dm_buffer source = DM_BUFFER_EMPTY, cuda = DM_BUFFER_EMPTY;
    compile_text(text, DM_TARGET_C, all_double, &source);
    compile_text(text, DM_TARGET_CUDA, all_double, &cuda);
    char path[4096];
    dm_error none = {0};
    if (dm_nvrtc_find(path, &none) == DM_OK) {
        char *code = NULL, *log = NULL;
        size_t size;
        bool cached;
        dm_module_desc desc = {.name = "cases", .text = dm_buffer_text(&cuda), .log = &log};
        assert_ok(dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, err));
        free(code);
        free(log);
    }
    assert_ok(dm_device_open("cpu:1", &r.device, err));
    static const char *const options[] = {"-O1", NULL};
    dm_module_desc desc = {
        .name = "cases", .text = dm_buffer_text(&source), .cpu_options = options};
    assert_ok(dm_module_create(r.device, &desc, &r.module, err));
    assert_ok(dm_module_function(r.module, "all_cases_forward", &r.forward, err));
    assert_ok(dm_module_function(r.module, "all_cases_backward", &r.backward, err));
    size_t x_size = (size_t)(SAMPLES * r.at.x_columns), y_size = (size_t)(SAMPLES * r.at.y_columns);
    r.x = calloc(x_size, sizeof *r.x);
    r.gx = calloc(x_size, sizeof *r.gx);
    r.y = calloc(y_size, sizeof *r.y);
    r.gy = calloc(y_size, sizeof *r.gy);
    uint64_t seed = 1;
    for (int n = 0; n < SAMPLES; n++)
        for (int k = 0; k < count; k++)
            for (int j = 0; j < r.at.x_count[k]; j++)
                r.x[n * r.at.x_columns + r.at.x[k] + j] =
                    cases[k].low + (cases[k].high - cases[k].low) * uniform(&seed);
    launch(&r, r.forward);
    check_values(&r, cases, count);
    check_gradients(&r, cases, count);
    dm_module_destroy(r.module);
    dm_device_close(r.device);
    dm_buffer_deinit(&source);
    dm_buffer_deinit(&cuda);
    free(text);
    free(r.x);
    free(r.gx);
    free(r.y);
    free(r.gy);
}
