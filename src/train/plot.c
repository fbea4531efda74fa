/* SPDX-License-Identifier: MIT */
/* plot.c - see plot.h. */
#include "train/plot.h"
#include "base/file.h"
#include "base/host/gnuplot.h"
#include "base/json.h"

#include <stdlib.h>

static const char *const names[] = {"loss", "val_loss"};
enum { NAME_COUNT = 2 };

/* The points of every name, "step value" a line; an unfinished last line is passed over. */
static dm_status read_points(const char *path, dm_buffer points[NAME_COUNT], dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, 0, &text, &size, err);
    int number = 0;
    for (const char *at = text, *end; status == DM_OK && at < text + size; at = end + 1) {
        json_t *line = NULL;
        end = memchr(at, '\n', (size_t)(text + size - at));
        if (end == NULL)
            break;
        number++;
        if (dm_json_parse(at, (size_t)(end - at), path, &line, NULL) != DM_OK)
            status = dm_fail_at(err, DM_EFORMAT, path, number, "not a line of metrics");
        for (int i = 0; i < NAME_COUNT && status == DM_OK; i++) {
            const json_t *value = json_object_get(line, names[i]);
            if (json_is_number(value))
                dm_buffer_printf(&points[i], "%lld %.9g\n",
                                 (long long)json_integer_value(json_object_get(line, "step")),
                                 json_number_value(value));
        }
        json_decref(line);
    }
    free(text);
    return status;
}

static void write_script(dm_buffer *script, const char *picture, const dm_buffer *points)
{
    size_t length = strlen(picture);
    bool png = length > 4 && strcmp(picture + length - 4, ".png") == 0;
    const char *separator = "plot ";
    dm_buffer_printf(script, "set terminal %s size 900,600\nset output ", png ? "pngcairo" : "svg");
    dm_gnuplot_quote(script, picture);
    dm_buffer_puts(script, "\nset grid\nset xlabel 'step'\nset ylabel 'loss'\n");
    for (int i = 0; i < NAME_COUNT; i++)
        dm_buffer_printf(script, "$%s << EOD\n%sEOD\n", names[i], dm_buffer_text(&points[i]));
    for (int i = 0; i < NAME_COUNT; i++)
        if (points[i].size > 0) {
            dm_buffer_printf(script, "%s$%s using 1:2 with lines lw 2 title '%s'", separator,
                             names[i], i == 0 ? "training" : "validation");
            separator = ", ";
        }
    dm_buffer_puts(script, "\n");
}

dm_status dm_plot_losses(const char *metrics, const char *picture, dm_error *err)
{
    dm_buffer points[NAME_COUNT] = {DM_BUFFER_EMPTY, DM_BUFFER_EMPTY}, script = DM_BUFFER_EMPTY;
    dm_status status = read_points(metrics, points, err);
    if (status == DM_OK && points[0].size + points[1].size == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: no losses to draw", metrics);
    if (status == DM_OK) {
        write_script(&script, picture, points);
        status = dm_gnuplot_run(&script, picture, err);
        if (status == DM_OK)
            status = dm_gnuplot_check_file(picture, err);
    }
    for (int i = 0; i < NAME_COUNT; i++)
        dm_buffer_deinit(&points[i]);
    dm_buffer_deinit(&script);
    return status;
}
