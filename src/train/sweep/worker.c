/* SPDX-License-Identifier: MIT */
/* worker.c - see worker.h. */
#include "train/sweep/worker.h"
#include "base/file.h"
#include "base/terminal/stop.h"
#include "train/trainer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 256 };

/* ---- What is run ---- */

typedef struct words {
    char *items[WORDS_MAX + 1];
    size_t count;
    bool failed;
} words;

static void add(words *w, const char *text)
{
    if (w->count == WORDS_MAX || (w->items[w->count] = strdup(text)) == NULL)
        w->failed = true;
    else
        w->count++;
}

static void release(words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i]);
}

static dm_status task_words(const dm_sweep_spec *spec, const dm_worker_options *options,
                            const json_t *parameters, const char *folder, const char *until,
                            words *w, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, DM_TRAINING_CHECKPOINT, err);
    const char *const head[] = {"dotmatrix",     "train",   spec->task, "--device",
                                options->device, "--until", until};
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        add(w, head[i]);
    if (status != DM_OK || dm_file_exists(path)) {
        add(w, "--resume");
        add(w, folder);
        return status;
    }
    json_t *config = NULL;
    status = dm_path_join(path, folder, "config.json", err);
    if (status == DM_OK)
        status = dm_sweep_spec_config(spec, parameters, &config, err);
    char *text = config != NULL ? json_dumps(config, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
    if (status == DM_OK)
        status = text == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                              : dm_file_write(path, text, strlen(text), err);
    free(text);
    json_decref(config);
    add(w, "--config");
    add(w, path);
    add(w, "--out");
    add(w, folder);
    for (size_t i = 0; i < json_array_size(spec->data); i++) {
        add(w, "--data");
        add(w, json_string_value(json_array_get(spec->data, i)));
    }
    return status;
}

/* A value as a word: texts without quotes. */
static void append_value(dm_buffer *out, const json_t *value)
{
    char *text =
        json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    dm_buffer_puts(out, json_is_string(value) ? json_string_value(value)
                        : text != NULL        ? text
                                              : "");
    free(text);
}

/* The word with {until}, {steps}, {folder} and {NAME} replaced. */
static dm_status fill(const char *word, const json_t *parameters, const char *folder,
                      const char *until, uint64_t steps, dm_buffer *out, dm_error *err)
{
    for (const char *at = word; *at != 0; at++) {
        char name[DM_SWEEP_NAME_MAX];
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        size_t length = end != NULL ? (size_t)(end - at - 1) : 0;
        if (end == NULL || length == 0 || length >= sizeof name) {
            dm_buffer_putc(out, *at);
            continue;
        }
        memcpy(name, at + 1, length);
        name[length] = 0;
        const json_t *value = json_object_get(parameters, name);
        if (value != NULL)
            append_value(out, value);
        else if (strcmp(name, "until") == 0)
            dm_buffer_puts(out, until);
        else if (strcmp(name, "steps") == 0)
            dm_buffer_printf(out, "%" PRIu64, steps);
        else if (strcmp(name, "folder") == 0)
            dm_buffer_puts(out, folder);
        else
            return dm_fail(err, DM_EINVAL, "the command's {%s} is no parameter of the sweep", name);
        at = end;
    }
    return dm_buffer_check(out, err);
}

static dm_status command_words(const dm_sweep_spec *spec, const json_t *parameters,
                               const char *folder, const char *until, words *w, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < json_array_size(spec->command) && status == DM_OK; i++) {
        dm_buffer word = DM_BUFFER_EMPTY;
        status = fill(json_string_value(json_array_get(spec->command, i)), parameters, folder,
                      until, spec->steps, &word, err);
        if (status == DM_OK)
            add(w, dm_buffer_text(&word));
        dm_buffer_deinit(&word);
    }
    return status;
}

/* ---- The process ---- */

/* One CPU each: a thread for work on the CPU, in NumPy's and PyTorch's libraries too. */
static void environment(words *w)
{
    static const char *const own[] = {"DM_THREADS=1", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
                                      "DM_PROGRESS=off"};
    for (size_t i = 0; environ[i] != NULL && w->count < WORDS_MAX - 4; i++) {
        bool replaced = false;
        for (size_t k = 0; k < 4; k++)
            replaced = replaced ||
                       strncmp(environ[i], own[k], (size_t)(strchr(own[k], '=') - own[k]) + 1) == 0;
        if (!replaced)
            add(w, environ[i]);
    }
    for (size_t k = 0; k < 4; k++)
        add(w, own[k]);
}

/* After fork: only calls that are safe there. */
static void become(const char *program, const words *w, const words *env, int out, int log,
                   pid_t parent)
{
    int null = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(log, 2) < 0)
        _exit(127);
    execvpe(program, w->items, env->items);
    _exit(127);
}

static dm_status spawn(const char *program, const words *w, int out, int log, dm_worker *worker,
                       dm_error *err)
{
    words env = {.count = 0};
    pid_t parent = getpid();
    environment(&env);
    if (w->failed || env.failed) {
        release(&env);
        return dm_fail(err, DM_EINVAL, "a run's command has too many words, or no memory");
    }
    worker->pid = fork();
    if (worker->pid == 0)
        become(program, w, &env, out, log, parent);
    release(&env);
    if (worker->pid < 0) {
        worker->pid = 0;
        return dm_fail(err, DM_EIO, "a run's process: %s", strerror(errno));
    }
    dm_stop_child_add(worker->pid);
    return DM_OK;
}

static int open_in(const char *folder, const char *name, dm_error *err)
{
    char path[DM_PATH_MAX];
    if (dm_path_join(path, folder, name, err) != DM_OK)
        return -1;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
        dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
    return file;
}

dm_status dm_worker_start(const dm_sweep_spec *spec, const dm_worker_options *options,
                          const json_t *parameters, const char *folder, size_t until,
                          dm_worker *worker, dm_error *err)
{
    char step[24];
    words w = {.count = 0};
    uint64_t last = (uint64_t)until * spec->stride;
    snprintf(step, sizeof step, "%" PRIu64, last < spec->steps ? last : spec->steps);
    dm_status status = dm_dir_create(folder, err);
    if (status == DM_OK && spec->task != NULL)
        status = task_words(spec, options, parameters, folder, step, &w, err);
    else if (status == DM_OK)
        status = command_words(spec, parameters, folder, step, &w, err);
    const char *program = spec->task != NULL ? options->program : w.items[0];
    assert(status != DM_OK || program != NULL); /* a command has words (spec.c) */
    int log = status == DM_OK ? open_in(folder, "log.txt", err) : -1;
    /* A task writes its metrics itself. */
    int out = log >= 0 && spec->task == NULL ? open_in(folder, "metrics.jsonl", err) : log;
    if (status == DM_OK)
        status = out < 0 ? DM_EIO : spawn(program, &w, out, log, worker, err);
    if (out >= 0 && out != log)
        close(out);
    if (log >= 0)
        close(log);
    release(&w);
    return status;
}

bool dm_worker_ended(dm_worker *worker, int *code)
{
    int status;
    if (worker->pid == 0 || waitpid(worker->pid, &status, WNOHANG) != worker->pid)
        return false;
    dm_stop_child_remove(worker->pid);
    worker->pid = 0;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void dm_worker_kill(dm_worker *worker)
{
    int status;
    if (worker->pid == 0)
        return;
    kill(-worker->pid, SIGKILL);
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    dm_stop_child_remove(worker->pid);
    worker->pid = 0;
}

/* ---- What it said ---- */

dm_status dm_worker_values(const dm_sweep_spec *spec, const char *folder, size_t until,
                           double *values, dm_error *err)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < until; i++)
        values[i] = NAN;
    dm_status status = dm_path_join(path, folder, "metrics.jsonl", err);
    if (status == DM_OK)
        status = dm_file_read(path, (size_t)1 << 30, &text, &size, err);
    for (char *at = text; status == DM_OK && at < text + size;) {
        char *end = memchr(at, '\n', (size_t)(text + size - at));
        end = end != NULL ? end : text + size;
        /* A program may print other lines too. */
        json_t *object = json_loadb(at, (size_t)(end - at), 0, NULL);
        const json_t *step = json_object_get(object, "step"),
                     *value = json_object_get(object, spec->metric);
        json_int_t number = json_integer_value(step);
        uint64_t check = number > 0 ? ((uint64_t)number + spec->stride - 1) / spec->stride : 0;
        if (json_is_integer(step) && check > 0 && check <= until && value != NULL)
            values[check - 1] = json_is_number(value) ? json_number_value(value) : NAN;
        json_decref(object);
        at = end + 1;
    }
    free(text);
    return status;
}

void dm_worker_last_words(const char *folder, char *out, size_t size)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t length = 0;
    out[0] = 0;
    if (dm_path_join(path, folder, "log.txt", NULL) != DM_OK ||
        dm_file_read(path, (size_t)1 << 26, &text, &length, NULL) != DM_OK)
        return;
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = 0;
    const char *line = strrchr(text, '\n');
    snprintf(out, size, "%s", line != NULL ? line + 1 : text);
    free(text);
}
