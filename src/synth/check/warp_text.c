/* SPDX-License-Identifier: MIT */
/* warp_text.c - Warp's own CUDA text, by warp_text.py in a process of its own; see warp_text.h. */
#include "synth/check/warp_text.h"

#include "base/file.h"
#include "base/host/machine.h"
#include "base/json.h"
#include "device/cc.h"
#include "device/sources.h"

#include <stdio.h>
#include <stdlib.h>

static dm_status write_programs(const char *path, dm_synth_record *const *records, int count,
                                dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    dm_json_begin_array(&json, NULL);
    for (int i = 0; i < count; i++) {
        dm_json_begin_object(&json, NULL);
        dm_json_string(&json, "name", records[i]->kernel_name);
        dm_json_string(&json, "source", dm_buffer_text(&records[i]->python_source));
        dm_json_end_object(&json);
    }
    dm_json_end_array(&json);
    dm_json_finish(&json);
    return dm_file_write_buffer(path, &text, err);
}

/* The last line of what the program wrote. */
static dm_status fail_with_log(const char *python, const char *log, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(log, 1 << 20, &text, &size, err);
    if (status != DM_OK)
        return status;
    while (size > 0 && text[size - 1] == '\n')
        text[--size] = '\0';
    const char *last = strrchr(text, '\n');
    status = dm_fail(err, DM_EUNAVAILABLE, "--warp-text %s: %s", python,
                     size == 0      ? "it did not run"
                     : last == NULL ? text
                                    : last + 1);
    free(text);
    return status;
}

static void take(dm_buffer *to, const json_t *value)
{
    dm_buffer_clear(to);
    if (json_is_string(value))
        dm_buffer_append(to, json_string_value(value), json_string_length(value));
}

static dm_status read_texts(const char *path, dm_synth_record *const *records, int count,
                            char (*reasons)[256], dm_error *err)
{
    json_t *root = NULL;
    dm_status status = dm_json_load(path, &root, err);
    if (status != DM_OK)
        return status;
    const json_t *texts = json_object_get(root, "texts");
    const char *version = json_string_value(json_object_get(root, "version"));
    if (json_array_size(texts) != (size_t)count || version == NULL)
        status = dm_fail(err, DM_EFORMAT, "%s: not what Warp's texts are written as", path);
    for (int i = 0; i < count && status == DM_OK; i++) {
        const json_t *text = json_array_get(texts, (size_t)i);
        const char *error = json_string_value(json_object_get(text, "error"));
        dm_synth_record *r = records[i];
        take(&r->warp_forward, json_object_get(text, "forward"));
        take(&r->warp_backward, json_object_get(text, "backward"));
        snprintf(r->warp_version, sizeof r->warp_version, "%s",
                 r->warp_forward.size > 0 ? version : "");
        snprintf(reasons[i], sizeof reasons[i], "%s",
                 r->warp_forward.size > 0 ? ""
                 : error == NULL          ? "no text"
                                          : error);
    }
    json_decref(root);
    return status;
}

dm_status dm_synth_warp_texts(const char *python, dm_synth_record *const *records, int count,
                              char (*reasons)[256], dm_error *err)
{
    char folder[DM_PATH_MAX], script[DM_PATH_MAX], in[DM_PATH_MAX], out[DM_PATH_MAX],
        log[DM_PATH_MAX];
    dm_cc program = {.word_count = 1};
    const char *source = dm_embedded_text("synth/check/warp_text.py");
    int code = 0;
    if (strchr(python, '/') != NULL)
        snprintf(program.path, sizeof program.path, "%s", python);
    if (strchr(python, '/') != NULL ? !dm_file_exists(python)
                                    : !dm_program_find(program.path, python))
        return dm_fail(err, DM_EUNAVAILABLE, "--warp-text: there is no program '%s'", python);
    program.words[0] = program.path;
    dm_status status = dm_cc_folder(folder, err);
    if (status != DM_OK)
        return status;
    const char *const arguments[] = {script, in, out, NULL};
    if (status == DM_OK && (status = dm_path_join(script, folder, "warp_text.py", err)) == DM_OK &&
        (status = dm_path_join(in, folder, "in.json", err)) == DM_OK &&
        (status = dm_path_join(out, folder, "out.json", err)) == DM_OK &&
        (status = dm_path_join(log, folder, "log", err)) == DM_OK)
        status = dm_file_write(script, source, strlen(source), err);
    if (status == DM_OK)
        status = write_programs(in, records, count, err);
    if (status == DM_OK)
        status = dm_cc_run(&program, arguments, folder, log, &code, err);
    if (status == DM_OK && code != 0)
        status = fail_with_log(python, log, err);
    if (status == DM_OK)
        status = read_texts(out, records, count, reasons, err);
    dm_dir_remove(folder, NULL);
    return status;
}
