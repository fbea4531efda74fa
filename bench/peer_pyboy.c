/* SPDX-License-Identifier: MIT */
/* peer_pyboy.c - PyBoy in a Python process that lives as long as the benchmark and measures itself
 * (pyboy_run.py has the protocol: a line of JSON each way). */
#include "base/json.h"
#include "base/machine.h"
#include "bench/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *dm_bench_python;

static pid_t child = -1;
static FILE *to_child, *from_child;

static void close_pyboy(void)
{
    if (to_child != NULL)
        fclose(to_child); /* its input ends, so does it */
    if (from_child != NULL)
        fclose(from_child);
    if (child > 0)
        waitpid(child, NULL, 0);
    to_child = from_child = NULL;
    child = -1;
}

static dm_status spawn(const char *python, dm_error *err)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return dm_fail(err, DM_EIO, "pyboy: no pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return dm_fail(err, DM_EIO, "pyboy: no pipe: %s", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN);
    child = fork();
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl(python, python, DM_BENCH_SOURCE_ROOT "/bench/pyboy_run.py", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_child = fdopen(in[1], "w");
    from_child = fdopen(out[0], "r");
    if (child < 0 || to_child == NULL || from_child == NULL)
        return dm_fail(err, DM_EIO, "pyboy: cannot start %s: %s", python, strerror(errno));
    return DM_OK;
}

/* The next line of the child; the caller owns one reference. */
static dm_status read_answer(json_t **out, dm_error *err)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = getline(&line, &capacity, from_child);
    dm_status status = length > 0 ? dm_json_parse(line, (size_t)length, "pyboy", out, err)
                                  : dm_fail(err, DM_EUNAVAILABLE, "pyboy: the process has ended");
    free(line);
    return status;
}

static dm_status open_pyboy(char *version, size_t size, dm_error *err)
{
    const char *python = dm_bench_python;
    if (python == NULL)
        python = DM_BENCH_SOURCE_ROOT "/.venv/bin/python";
    if (access(python, X_OK) != 0)
        return dm_fail(err, DM_EUNAVAILABLE, "PyBoy is not installed in .venv");
    json_t *hello = NULL;
    dm_status status = spawn(python, err);
    if (status == DM_OK)
        status = read_answer(&hello, err);
    if (status != DM_OK) {
        close_pyboy();
        return status;
    }
    const char *text = json_string_value(json_object_get(hello, "version"));
    snprintf(version, size, "%s", text != NULL ? text : "unknown");
    json_decref(hello);
    return DM_OK;
}

static void write_request(const dm_bench_job *job, dm_buffer *out)
{
    dm_buffer keys = DM_BUFFER_EMPTY;
    for (uint32_t i = 0; i < (job->warmup + job->frames) / DM_BENCH_KEY_FRAMES; i++)
        dm_buffer_printf(&keys, "%02x", job->keys[i]);
    dm_json json;
    dm_json_init(&json, out, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "rom", job->path);
    dm_json_bool(&json, "draw", job->draw);
    dm_json_uint(&json, "warmup", job->warmup);
    dm_json_uint(&json, "frames", job->frames);
    dm_json_uint(&json, "block", DM_BENCH_KEY_FRAMES);
    dm_json_string(&json, "keys", dm_buffer_text(&keys));
    dm_json_end_object(&json);
    dm_json_finish(&json);
    out->failed |= keys.failed;
    dm_buffer_deinit(&keys);
}

static dm_status pass(const dm_bench_job *job, dm_bench_pass *out, dm_error *err)
{
    dm_buffer request = DM_BUFFER_EMPTY;
    json_t *answer = NULL;
    write_request(job, &request);
    dm_status status = dm_buffer_check(&request, err);
    if (status == DM_OK && (fputs(dm_buffer_text(&request), to_child) < 0 || fflush(to_child) != 0))
        status = dm_fail(err, DM_EUNAVAILABLE, "pyboy: the process has ended");
    dm_buffer_deinit(&request);
    if (status == DM_OK)
        status = read_answer(&answer, err);
    if (status != DM_OK)
        return status;
    const char *failed = json_string_value(json_object_get(answer, "error"));
    out->seconds = json_number_value(json_object_get(answer, "seconds"));
    out->blank = json_is_true(json_object_get(answer, "blank"));
    if (failed != NULL)
        status = dm_fail(err, DM_EUNSUPPORTED, "pyboy: %s", failed);
    else if (out->seconds <= 0)
        status = dm_fail(err, DM_EINTERNAL, "pyboy: an answer without a time");
    json_decref(answer);
    return status;
}

const dm_bench_peer dm_bench_pyboy = {
    .name = "pyboy",
    .install = "tools/bootstrap --again",
    .sound = "off",
    .open = open_pyboy,
    .pass = pass,
    .close = close_pyboy,
};
