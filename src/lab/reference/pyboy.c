/* SPDX-License-Identifier: MIT */
/* pyboy.c - a PyBoy worker process from the C side. */
#include "lab/reference/pyboy.h"
#include "base/host/machine.h"
#include "base/terminal/stop.h"
#include "base/thread.h"
#include "device/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_TO_ANSWER 120.0
#define PICTURE ((size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H)
#define ANSWER_MAX (16u << 20)

struct dm_pyboy {
    pid_t pid; /* 0: ended */
    int number;
    char python[512]; /* the interpreter, for messages */
    int to, from;     /* the pipe's ends */
    int output;       /* what it writes to stderr */
    uint8_t *shared;
    size_t shared_size;
    char version[64];
    dm_buffer payload; /* of the last answer */
};

/* ---- Finding Python ---- */

static bool try_venv(char out[DM_PATH_MAX], const char *folder)
{
    return snprintf(out, DM_PATH_MAX, "%s/.venv/bin/python", folder) < DM_PATH_MAX &&
           access(out, X_OK) == 0;
}

void dm_pyboy_find_python(char out[DM_PATH_MAX])
{
    const char *given = getenv("DM_PYTHON");
    if (given != NULL && given[0] != 0) {
        snprintf(out, DM_PATH_MAX, "%s", given);
        return;
    }
    if (try_venv(out, "."))
        return;
    char folder[DM_PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 32);
    folder[length > 0 ? length : 0] = 0;
    for (char *slash; (slash = strrchr(folder, '/')) != NULL && slash != folder;) {
        *slash = 0;
        if (try_venv(out, folder))
            return;
    }
    if (!dm_program_find(out, "python3"))
        snprintf(out, DM_PATH_MAX, "python3");
}

/* ---- The process ---- */

static void end_process(dm_pyboy *p, int *status)
{
    *status = 0;
    if (p->pid <= 0)
        return;
    close(p->to); /* its input ends, so does it */
    for (int i = 0; i < 200 && waitpid(p->pid, status, WNOHANG) == 0; i++) {
        if (i == 199) {
            kill(p->pid, SIGKILL);
            waitpid(p->pid, status, 0);
            break;
        }
        usleep(10000);
    }
    close(p->from);
    dm_stop_child_remove(p->pid);
    p->pid = 0;
}

void dm_pyboy_end(dm_pyboy *p)
{
    if (p == NULL)
        return;
    int status;
    end_process(p, &status);
    if (p->output >= 0)
        close(p->output);
    if (p->shared != NULL)
        munmap(p->shared, p->shared_size);
    dm_buffer_deinit(&p->payload);
    free(p);
}

/* The last line of what it wrote. */
static void last_line(const dm_pyboy *p, char *out, size_t size)
{
    char text[2048];
    off_t end = lseek(p->output, 0, SEEK_END);
    off_t start = end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;
    ssize_t got = pread(p->output, text, sizeof text - 1, start);
    text[got > 0 ? got : 0] = 0;
    for (size_t n = strlen(text); n > 0 && text[n - 1] == '\n';)
        text[--n] = 0;
    const char *line = strrchr(text, '\n');
    snprintf(out, size, "%s", line != NULL ? line + 1 : text);
}

/* It does not answer any more: end it and say so. */
static dm_status lost(dm_pyboy *p, bool hangs, dm_error *err)
{
    char line[512], how[64];
    int number = p->number, status = 0;
    pid_t pid = p->pid;
    if (pid <= 0)
        return dm_fail(err, DM_EUNAVAILABLE, "pyboy worker %d has ended", number);
    if (hangs)
        kill(pid, SIGKILL);
    end_process(p, &status);
    if (hangs)
        snprintf(how, sizeof how, "did not answer in time and was ended");
    else if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(status));
    last_line(p, line, sizeof line);
    if (!hangs && WIFEXITED(status) && WEXITSTATUS(status) == 127 && line[0] == 0)
        return dm_fail(
            err, DM_EUNAVAILABLE,
            "pyboy: the Python interpreter %.400s cannot be run; DM_PYTHON names another",
            p->python);
    return dm_fail(err, DM_EUNAVAILABLE, "pyboy worker %d (process %d, %.300s) %s%s%s", number,
                   (int)pid, p->python, how,
                   line[0] != 0 ? "; the last it wrote: " : " and wrote nothing", line);
}

static void run_child(const char *python, const char *text, int in, int out, int output, int shared,
                      size_t size)
{
    char fd[16], bytes[32];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* Ctrl-C is for the parent, which ends us */
    dup2(in, 0);
    dup2(out, 1);
    dup2(output, 2);
    fcntl(shared, F_SETFD, 0);
    snprintf(fd, sizeof fd, "%d", shared);
    snprintf(bytes, sizeof bytes, "%zu", size);
    execlp(python, python, "-c", text, fd, bytes, (char *)NULL);
    _exit(127);
}

static dm_status spawn(dm_pyboy *p, const char *python, dm_error *err)
{
    const char *text = dm_embedded_text("lab/reference/pyboy_bridge.py");
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int shared = memfd_create("dotmatrix-pyboy", MFD_CLOEXEC);
    p->output = memfd_create("dotmatrix-pyboy-output", MFD_CLOEXEC);
    bool good = shared >= 0 && p->output >= 0 && ftruncate(shared, (off_t)p->shared_size) == 0 &&
                pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
    if (good) {
        void *memory = mmap(NULL, p->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
        p->shared = memory == MAP_FAILED ? NULL : memory;
        p->pid = p->shared == NULL ? -1 : fork();
    }
    if (good && p->pid == 0)
        run_child(python, text, in[0], out[1], p->output, shared, p->shared_size);
    int code = errno;
    const int others[] = {in[0], out[1], shared};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] >= 0)
            close(others[i]);
    p->to = in[1];
    p->from = out[0];
    if (p->pid > 0) {
        dm_stop_child_add(p->pid);
        return DM_OK;
    }
    p->pid = 0;
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    return dm_fail(err, DM_EIO, "pyboy: cannot start a worker: %s", strerror(code));
}

dm_status dm_pyboy_start(const char *python, int number, size_t shared, dm_pyboy **out,
                         dm_error *err)
{
    *out = NULL;
    dm_pyboy *p = calloc(1, sizeof *p);
    if (p == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    p->number = number;
    snprintf(p->python, sizeof p->python, "%s", python);
    p->output = -1;
    p->shared_size = shared > PICTURE ? shared : PICTURE;
    signal(SIGPIPE, SIG_IGN);
    dm_status status = spawn(p, python, err);
    if (status != DM_OK) {
        dm_pyboy_end(p);
        return status;
    }
    *out = p;
    return DM_OK;
}

/* ---- Requests and answers ---- */

static double seconds_to_answer(void)
{
    const char *text = getenv("DM_LAB_TIMEOUT");
    double seconds = text != NULL ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : SECONDS_TO_ANSWER;
}

static dm_status receive(dm_pyboy *p, void *to, size_t size, uint64_t deadline, dm_error *err)
{
    uint8_t *at = to;
    while (size > 0) {
        uint64_t now = dm_time_ns();
        struct pollfd fd = {.fd = p->from, .events = POLLIN};
        int left = now < deadline ? (int)((deadline - now) / 1000000) + 1 : 0;
        int ready = poll(&fd, 1, left);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return lost(p, true, err);
        ssize_t got = read(p->from, at, size);
        if (got <= 0)
            return lost(p, false, err);
        at += got;
        size -= (size_t)got;
    }
    return DM_OK;
}

static dm_status await_answer(dm_pyboy *p, dm_status failed, dm_error *err)
{
    if (p->pid <= 0)
        return lost(p, false, err);
    uint64_t deadline = dm_time_ns() + (uint64_t)(seconds_to_answer() * 1e9);
    uint32_t head[2] = {0, 0};
    dm_status status = receive(p, head, sizeof head, deadline, err);
    if (status != DM_OK)
        return status;
    dm_buffer_clear(&p->payload);
    if (head[1] > ANSWER_MAX || head[0] > 1)
        return lost(p, true, err); /* no bridge speaks so */
    if (!dm_buffer_reserve(&p->payload, (size_t)head[1] + 1))
        return dm_fail(err, DM_ENOMEM, "out of memory");
    status = receive(p, p->payload.data, head[1], deadline, err);
    if (status != DM_OK)
        return status;
    p->payload.size = head[1];
    p->payload.data[head[1]] = 0;
    if (head[0] != 0)
        return dm_fail(err, failed, "pyboy: %s", p->payload.data);
    return DM_OK;
}

static dm_status send_bytes(dm_pyboy *p, const void *bytes, size_t size, dm_error *err)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t put = write(p->to, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return lost(p, false, err);
        at += put;
        size -= (size_t)put;
    }
    return DM_OK;
}

typedef struct request {
    char op;
    char zero[3];
    uint32_t a, b, c, size;
} request;
_Static_assert(sizeof(request) == 20, "as pyboy_bridge.py reads it");

static dm_status send_request(dm_pyboy *p, request r, const void *payload, dm_error *err)
{
    if (p->pid <= 0)
        return lost(p, false, err);
    dm_status status = send_bytes(p, &r, sizeof r, err);
    return status != DM_OK ? status : send_bytes(p, payload, r.size, err);
}

static dm_status ask(dm_pyboy *p, request r, const void *payload, dm_error *err)
{
    dm_status status = send_request(p, r, payload, err);
    return status != DM_OK ? status : await_answer(p, DM_EUNSUPPORTED, err);
}

/* ---- What can be asked ---- */

dm_status dm_pyboy_ready(dm_pyboy *p, dm_error *err)
{
    dm_status status = await_answer(p, DM_EUNAVAILABLE, err);
    if (status == DM_OK)
        snprintf(p->version, sizeof p->version, "%s", dm_buffer_text(&p->payload));
    return status;
}

const char *dm_pyboy_version(const dm_pyboy *p)
{
    return p->version;
}

uint8_t *dm_pyboy_shared(dm_pyboy *p)
{
    return p->shared;
}

/* With DM_PYBOY_ZERO: count from 2,506 down and jump, in 70,224 cycles, which is one frame of an
 * LCD that is off, so that machines begin on the edge of a frame; A is 1 at the end, all else 0.
 * Otherwise LCD, palette and stack are left as the real one does: games wait for a VBlank. */
static void make_boot_rom(uint8_t boot[256], bool zero)
{
    static const uint8_t frame[] = {0x01, 0xCA, 0x09,             /* ld bc,2506 */
                                    0x0B, 0x78, 0xB1, 0x20, 0xFB, /* dec, test, jr nz */
                                    0x00, 0x00, 0x00, 0x00, 0x3C, /* nop, inc a */
                                    0xC3, 0xFE, 0x00};            /* jp $00FE */
    static const uint8_t game[] = {0x31, 0xFE, 0xFF,              /* ld sp,$FFFE */
                                   0x3E, 0x91, 0xE0, 0x40,        /* LCDC = $91 */
                                   0x3E, 0xFC, 0xE0, 0x47,        /* BGP = $FC */
                                   0x3E, 0x01, 0xC3, 0xFE, 0x00}; /* a = 1; jp $00FE */
    memset(boot, 0, 256);
    if (zero)
        memcpy(boot, frame, sizeof frame);
    else
        memcpy(boot, game, sizeof game);
    boot[0xFE] = 0xE0; /* ldh [$FF50],a: it goes, the game starts at $0100 */
    boot[0xFF] = 0x50;
}

dm_status dm_pyboy_make(dm_pyboy *p, const uint8_t *rom, size_t size, uint32_t count,
                        uint32_t flags, dm_error *err)
{
    const uint32_t most = 64; /* a time: each takes some 30 ms */
    uint8_t *payload = malloc(256 + size);
    dm_status status = DM_OK;
    if (payload == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    make_boot_rom(payload, (flags & DM_PYBOY_ZERO) != 0);
    memcpy(payload + 256, rom, size);
    for (uint32_t done = 0; done < count && status == DM_OK; done += most) {
        uint32_t now = count - done < most ? count - done : most;
        status = ask(p, (request){.op = 'C', .a = now, .b = flags, .size = (uint32_t)size + 256},
                     payload, err);
    }
    free(payload);
    return status;
}

dm_status dm_pyboy_step(dm_pyboy *p, uint32_t first, uint32_t count, uint32_t steps,
                        uint32_t frames, uint32_t release, dm_pyboy_draw draw, dm_error *err)
{
    uint32_t payload[3] = {frames, release, draw};
    if ((uint64_t)count * steps > p->shared_size)
        return dm_fail(err, DM_EINTERNAL, "pyboy: keys do not fit into shared memory");
    return send_request(
        p, (request){.op = 'S', .a = first, .b = count, .c = steps, .size = sizeof payload},
        payload, err);
}

dm_status dm_pyboy_wait(dm_pyboy *p, dm_error *err)
{
    return await_answer(p, DM_EUNSUPPORTED, err);
}

/* The answer must have exactly so many bytes. */
static dm_status ask_for(dm_pyboy *p, request r, size_t size, dm_error *err)
{
    dm_status status = ask(p, r, NULL, err);
    if (status == DM_OK && p->payload.size != size)
        status = dm_fail(err, DM_EINTERNAL, "pyboy: an answer of %zu bytes instead of %zu",
                         p->payload.size, size);
    return status;
}

dm_status dm_pyboy_look(dm_pyboy *p, uint32_t machine, dm_gb_registers *out, uint64_t *cycles,
                        dm_error *err)
{
    dm_status status = ask_for(p, (request){.op = 'L', .a = machine}, 24, err);
    if (status != DM_OK)
        return status;
    const uint8_t *b = (const uint8_t *)p->payload.data;
    *out = (dm_gb_registers){.a = b[0],
                             .f = b[1],
                             .b = b[2],
                             .c = b[3],
                             .d = b[4],
                             .e = b[5],
                             .h = b[6],
                             .l = b[7],
                             .pc = (uint16_t)(b[8] | b[9] << 8),
                             .sp = (uint16_t)(b[10] | b[11] << 8)};
    memcpy(cycles, b + 16, sizeof *cycles);
    return DM_OK;
}

dm_status dm_pyboy_read(dm_pyboy *p, uint32_t machine, uint16_t address, uint8_t *to, size_t size,
                        dm_error *err)
{
    dm_status status = ask_for(
        p, (request){.op = 'M', .a = machine, .b = address, .c = (uint32_t)size}, size, err);
    if (status == DM_OK)
        memcpy(to, p->payload.data, size);
    return status;
}

dm_status dm_pyboy_picture(dm_pyboy *p, uint32_t machine, uint8_t *shades, dm_error *err)
{
    dm_status status = ask_for(p, (request){.op = 'P', .a = machine}, 0, err);
    if (status == DM_OK)
        memcpy(shades, p->shared, PICTURE);
    return status;
}

dm_status dm_pyboy_save(dm_pyboy *p, uint32_t machine, dm_buffer *out, dm_error *err)
{
    dm_status status = ask(p, (request){.op = 'W', .a = machine}, NULL, err);
    if (status == DM_OK)
        dm_buffer_append(out, p->payload.data, p->payload.size);
    return status != DM_OK ? status : dm_buffer_check(out, err);
}
