/* SPDX-License-Identifier: MIT */
/* driver.c - runs fuzz targets (fuzz.h).
 *
 *   dm-fuzz --list
 *   dm-fuzz --target NAME [--corpus DIR] [--seconds T] [--seed S] [--artifacts DIR] [FILE ...]
 *   dm-fuzz --write-seeds DIR
 *
 * Every file of the corpus (or the FILEs alone) is run as it is; then, for the seconds given, with
 * bytes, words and pieces changed at random. Input i of a seed is the same for the same corpus. An
 * input is kept in the folder of artifacts while it runs, so that it is there after a crash.
 *
 * Compiled with -DDM_LIBFUZZER the same file is libFuzzer's LLVMFuzzerTestOneInput for the target
 * $DM_FUZZ_TARGET, guided by coverage; the options are libFuzzer's then. `--list` and
 * `--write-seeds` work there too. */
#include "base/terminal/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "tests/support/random.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const fuzz_target fuzz_targets[] = {
#define TARGET(name, limit, words) {#name, limit, fuzz_run_##name, fuzz_seeds_##name, words},
#include "tests/fuzz/targets.def"
#undef TARGET
};
const size_t fuzz_target_count = sizeof fuzz_targets / sizeof fuzz_targets[0];

const fuzz_target *fuzz_target_find(const char *name)
{
    for (size_t i = 0; i < fuzz_target_count; i++)
        if (strcmp(fuzz_targets[i].name, name) == 0)
            return &fuzz_targets[i];
    return NULL;
}

/* ---- What targets use ---- */

void fuzz_expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "dm-fuzz: %s\n", what);
    abort();
}

void fuzz_done(dm_status status, const dm_error *err)
{
    if (status == DM_OK)
        return;
    fuzz_expect(status > DM_OK && status < DM_STATUS_COUNT, "a status that does not exist");
    fuzz_expect(status != DM_EINTERNAL, "an internal error");
    fuzz_expect(err->message[0] != '\0', "refused without a reason");
    fuzz_expect(err->status == status, "the error has another status than the call");
    for (const char *at = err->message; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20) {
            fprintf(stderr, "dm-fuzz: %s\n", err->message);
            fuzz_expect(false, "a message with control characters");
        }
}

void fuzz_need(dm_status status, const dm_error *err)
{
    if (status != DM_OK)
        fprintf(stderr, "dm-fuzz: %s\n", err->message);
    fuzz_expect(status == DM_OK, "what the target needs cannot be made");
}

void fuzz_touch(const void *bytes, size_t size)
{
    static volatile uint8_t sum;
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++)
        all = (uint8_t)(all ^ ((const uint8_t *)bytes)[i]);
    sum = all;
    (void)sum;
}

const char *fuzz_file(int which, const void *data, size_t size)
{
    static int files[4] = {-1, -1, -1, -1};
    static char paths[4][32];
    if (files[which] < 0) {
        files[which] = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(paths[which], sizeof paths[which], "/proc/self/fd/%d", files[which]);
    }
    fuzz_expect(files[which] >= 0 && ftruncate(files[which], 0) == 0 &&
                    pwrite(files[which], data, size, 0) == (ssize_t)size,
                "a file in memory cannot be written");
    return paths[which];
}

static char folder[128];

static void remove_folder(void)
{
    dm_dir_remove(folder, NULL);
}

const char *fuzz_folder(void)
{
    static pid_t owner;
    if (owner != getpid()) {
        const char *root = getenv("TMPDIR");
        if (root == NULL || strlen(root) > 64)
            root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(folder, sizeof folder, "%s/dm-fuzz-XXXXXX", root);
        fuzz_expect(mkdtemp(folder) != NULL, "no folder for files can be made");
        owner = getpid();
        atexit(remove_folder);
        return folder;
    }
    dm_error err;
    fuzz_need(dm_dir_remove(folder, &err), &err);
    fuzz_need(dm_dir_create(folder, &err), &err);
    return folder;
}

static size_t mark_at(const uint8_t *data, size_t size, const char *const *names, size_t *length,
                      int *which)
{
    if (size < 4 || memcmp(data, "=== ", 4) != 0)
        return 0;
    for (int i = 0; names[i] != NULL; i++) {
        size_t n = strlen(names[i]);
        if (size >= 5 + n && memcmp(data + 4, names[i], n) == 0 && data[4 + n] == '\n') {
            *length = 5 + n;
            *which = i;
            return 1;
        }
    }
    return 0;
}

const char *fuzz_folder_of(const uint8_t *data, size_t size, const char *const *names)
{
    const char *root = fuzz_folder();
    size_t begin = 0, length = 0;
    int which = 0, next = 0;
    for (size_t at = 0; at <= size; at++) {
        bool mark = at < size && (at == 0 || data[at - 1] == '\n') &&
                    mark_at(data + at, size - at, names, &length, &next) != 0;
        if (!mark && at < size)
            continue;
        if (at > begin || mark) {
            char path[256];
            size_t end = mark && at > begin ? at - 1 : at; /* the line's newline is the mark's */
            if (end > begin) {
                snprintf(path, sizeof path, "%s/%s", root, names[which]);
                FILE *f = fopen(path, "wb");
                fuzz_expect(f != NULL && fwrite(data + begin, 1, end - begin, f) == end - begin,
                            "a file cannot be written");
                fclose(f);
            }
        }
        if (mark) {
            which = next;
            begin = at + length;
            at = begin - 1;
        }
    }
    return root;
}

/* ---- The first corpus ---- */

static const char *seed_folder; /* of the target whose seeds are written */

void fuzz_seed(const char *name, const void *bytes, size_t size)
{
    char path[DM_PATH_MAX];
    dm_error err;
    fuzz_need(dm_path_join(path, seed_folder, name, &err), &err);
    fuzz_need(dm_file_write(path, bytes, size, &err), &err);
}

void fuzz_seed_text(const char *name, const char *text)
{
    fuzz_seed(name, text, strlen(text));
}

void fuzz_seed_file(const char *name, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    dm_error err;
    fuzz_need(dm_file_read(path, 0, &bytes, &size, &err), &err);
    fuzz_seed(name, bytes, size);
    free(bytes);
}

static int write_seeds(const char *root)
{
    for (size_t i = 0; i < fuzz_target_count; i++) {
        char path[DM_PATH_MAX];
        dm_error err;
        fuzz_need(dm_path_join(path, root, fuzz_targets[i].name, &err), &err);
        fuzz_need(dm_dir_create(path, &err), &err);
        seed_folder = path;
        fuzz_targets[i].seeds();
    }
    return 0;
}

static int list(void)
{
    for (size_t i = 0; i < fuzz_target_count; i++)
        puts(fuzz_targets[i].name);
    return 0;
}

/* A file may ask for more memory than there is: that is refused, not a finding. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:detect_stack_use_after_return=1";
}

__attribute__((visibility("default"))) const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:halt_on_error=1";
}

static void run(const fuzz_target *target, const uint8_t *data, size_t size)
{
    target->run(data, size < target->size_max ? size : target->size_max);
}

#ifdef DM_LIBFUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fuzz_target *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (*argc > 1 && strcmp((*argv)[1], "--list") == 0)
        exit(list());
    if (*argc > 2 && strcmp((*argv)[1], "--write-seeds") == 0)
        exit(write_seeds((*argv)[2]));
    const char *name = getenv("DM_FUZZ_TARGET");
    chosen = name == NULL ? NULL : fuzz_target_find(name);
    if (chosen == NULL) {
        fprintf(stderr, "dm-fuzz: $DM_FUZZ_TARGET must name one of:\n");
        list();
        exit(2);
    }
    dm_log_set_level(DM_LOG_ERROR);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run(chosen, data, size);
    return 0;
}

#else

/* ---- Changing inputs at random ---- */

#define CASE_SECONDS 20 /* longer is a hang */
#define INPUTS_MAX 4096

typedef struct corpus {
    uint8_t *bytes[INPUTS_MAX];
    size_t sizes[INPUTS_MAX];
    char *names[INPUTS_MAX];
    uint32_t count;
} corpus;

typedef struct mutant {
    const fuzz_target *target;
    const corpus *inputs;
    dm_test_random random;
    uint8_t *data; /* room for size_max */
    size_t size;
} mutant;

static uint32_t below(mutant *m, size_t bound)
{
    return dm_test_random_below(&m->random, (uint32_t)bound);
}

/* Replace m->data[at .. at + cut) by other bytes, as far as there is room. */
static void put(mutant *m, size_t at, size_t cut, const uint8_t *with, size_t size)
{
    if (m->size - cut + size > m->target->size_max)
        size = m->target->size_max - (m->size - cut);
    memmove(m->data + at + size, m->data + at + cut, m->size - at - cut);
    memcpy(m->data + at, with, size);
    m->size = m->size - cut + size;
}

/* One of the target's words, with \n, \r, \\ and \xHH read as in C. */
static size_t pick_word(mutant *m, uint8_t out[64])
{
    const char *words = m->target->words;
    size_t count = 1, size = 0;
    for (const char *c = words; *c != '\0'; c++)
        count += *c == ' ';
    for (uint32_t skip = below(m, count); skip > 0; skip--)
        words = strchr(words, ' ') + 1;
    for (; *words != '\0' && *words != ' ' && size < 64; words++) {
        char c = *words;
        if (c == '\\' && words[1] == 'x') {
            c = (char)strtol((char[]){words[2], words[3], '\0'}, NULL, 16);
            words += 3;
        } else if (c == '\\') {
            words++;
            c = *words == 'n' ? '\n' : *words == 'r' ? '\r' : *words;
        }
        out[size++] = (uint8_t)c;
    }
    return size;
}

static const char *const numbers[] = {"0",
                                      "-1",
                                      "1",
                                      "255",
                                      "65536",
                                      "2147483648",
                                      "4294967295",
                                      "9223372036854775807",
                                      "18446744073709551616",
                                      "1e308",
                                      "1e-400",
                                      "0.1"};

/* A run of digits in a text becomes a number at the edge of some type. */
static void change_number(mutant *m)
{
    size_t at = below(m, m->size), end;
    while (at < m->size && (m->data[at] < '0' || m->data[at] > '9'))
        at++;
    for (end = at; end < m->size && m->data[end] >= '0' && m->data[end] <= '9';)
        end++;
    const char *number = numbers[below(m, sizeof numbers / sizeof numbers[0])];
    if (at < m->size)
        put(m, at, end - at, (const uint8_t *)number, strlen(number));
}

/* An integer of 1, 2, 4 or 8 bytes at the edge of its type, or near what was there. */
static void change_integer(mutant *m)
{
    static const uint64_t edges[] = {0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, UINT64_MAX};
    size_t width = (size_t)1 << below(m, 4);
    if (m->size < width)
        return;
    size_t at = below(m, m->size - width + 1);
    uint64_t value = 0;
    memcpy(&value, m->data + at, width);
    if (below(m, 2) == 0)
        value += below(m, 33) - UINT64_C(16);
    else
        value = edges[below(m, sizeof edges / sizeof edges[0])];
    memcpy(m->data + at, &value, width);
}

static void change(mutant *m)
{
    uint8_t bytes[64];
    size_t size = m->size == 0 ? 0 : 1 + below(m, m->size < 32 ? m->size : 32);
    size_t at = below(m, m->size - size + 1);
    const corpus *c = m->inputs;
    uint32_t other = below(m, c->count);
    switch (m->size == 0 ? 4 + below(m, 2) : below(m, 9)) {
    case 0:
        m->data[below(m, m->size)] ^= (uint8_t)(1u << below(m, 8));
        break;
    case 1:
        m->data[below(m, m->size)] = dm_test_random_byte(&m->random);
        break;
    case 2:
        put(m, at, size, bytes, 0);
        break;
    case 3: /* twice */
        memcpy(bytes, m->data + at, size);
        put(m, below(m, m->size + 1), 0, bytes, size);
        break;
    case 4:
        size = pick_word(m, bytes);
        put(m, below(m, m->size + 1), 0, bytes, size);
        break;
    case 5: /* a piece of another input */
        if (c->sizes[other] > 0) {
            size_t from = below(m, c->sizes[other]);
            size_t n = 1 + below(m, c->sizes[other] - from);
            put(m, below(m, m->size + 1), 0, c->bytes[other] + from, n);
        }
        break;
    case 6:
        change_number(m);
        break;
    case 7:
        change_integer(m);
        break;
    default:
        m->size = below(m, 8) == 0 ? below(m, m->size + 1) : m->size;
    }
}

/* ---- The corpus ---- */

static void add_input(corpus *c, const char *path)
{
    char *bytes;
    size_t size;
    dm_error err;
    fuzz_need(dm_file_read(path, 0, &bytes, &size, &err), &err);
    fuzz_expect(c->count < INPUTS_MAX, "too many inputs");
    /* A copy of exactly its size, so that the sanitizer sees reads behind it. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    fuzz_expect(copy != NULL, "out of memory");
    memcpy(copy, bytes, size);
    free(bytes);
    c->bytes[c->count] = copy;
    c->sizes[c->count] = size;
    c->names[c->count++] = strdup(path);
}

static dm_status visit(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    char path[DM_PATH_MAX];
    if (entry->is_dir)
        return DM_OK;
    dm_status status = dm_path_join(path, root, entry->path, err);
    if (status == DM_OK)
        add_input(user, path);
    return status;
}

/* ---- Running ---- */

static struct {
    int file; /* where the running input is kept; -1: nowhere */
    char path[DM_PATH_MAX];
} now = {.file = -1};

static void took_too_long(int number)
{
    static const char text[] = "dm-fuzz: an input takes longer than 20 seconds\n";
    (void)number;
    if (write(2, text, sizeof text - 1) > 0)
        abort();
}

static void keep(const uint8_t *data, size_t size)
{
    if (now.file >= 0 && (ftruncate(now.file, 0) != 0 || pwrite(now.file, data, size, 0) < 0))
        fuzz_expect(false, "the running input cannot be kept");
}

static void run_timed(const fuzz_target *target, const uint8_t *data, size_t size)
{
    keep(data, size);
    alarm(CASE_SECONDS);
    run(target, data, size);
    alarm(0);
}

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t mutate(const fuzz_target *target, const corpus *inputs, uint64_t seed, double until)
{
    uint64_t count = 0;
    uint8_t *room = malloc(target->size_max);
    fuzz_expect(room != NULL, "out of memory");
    while (clock_now() < until) {
        mutant m = {.target = target,
                    .inputs = inputs,
                    .random = dm_test_random_make(seed, count),
                    .data = room};
        uint32_t from = below(&m, inputs->count);
        m.size = inputs->sizes[from] < target->size_max ? inputs->sizes[from] : target->size_max;
        memcpy(room, inputs->bytes[from], m.size);
        for (uint32_t n = 1 + below(&m, below(&m, 4) == 0 ? 16 : 3); n > 0; n--)
            change(&m);
        uint8_t *exact = malloc(m.size > 0 ? m.size : 1);
        fuzz_expect(exact != NULL, "out of memory");
        memcpy(exact, room, m.size);
        run_timed(target, exact, m.size);
        free(exact);
        count++;
    }
    free(room);
    return count;
}

static int usage(void)
{
    fputs("usage: dm-fuzz --target NAME [--corpus DIR] [--seconds T] [--seed S] [--artifacts DIR] "
          "[FILE ...]\n       dm-fuzz --list | --write-seeds DIR\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static corpus inputs;
    const fuzz_target *target = NULL;
    const char *artifacts = NULL;
    double seconds = 0;
    uint64_t seed = 1;
    dm_error err = {0};
    int at = 1;
    while (at < argc) {
        const char *value = at + 1 < argc ? argv[at + 1] : NULL;
        if (strcmp(argv[at], "--list") == 0)
            return list();
        if (argv[at][0] == '-' && value == NULL)
            return usage();
        if (strcmp(argv[at], "--write-seeds") == 0)
            return write_seeds(value);
        if (strcmp(argv[at], "--target") == 0 && (target = fuzz_target_find(value)) == NULL)
            return fprintf(stderr, "dm-fuzz: no target '%s'; --list has them\n", value), 2;
        if (strcmp(argv[at], "--corpus") == 0)
            fuzz_need(dm_dir_walk(value, visit, &inputs, &err), &err);
        else if (strcmp(argv[at], "--seconds") == 0)
            seconds = strtod(value, NULL);
        else if (strcmp(argv[at], "--seed") == 0)
            seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[at], "--artifacts") == 0)
            artifacts = value;
        else if (argv[at][0] != '-')
            add_input(&inputs, argv[at]);
        else if (strcmp(argv[at], "--target") != 0)
            return usage();
        at += argv[at][0] == '-' ? 2 : 1;
    }
    if (target == NULL || inputs.count == 0)
        return usage();
    if (artifacts != NULL) {
        snprintf(now.path, sizeof now.path, "%s/%s-running", artifacts, target->name);
        fuzz_need(dm_dir_create(artifacts, &err), &err);
        now.file = open(now.path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
        fuzz_expect(now.file >= 0, "the folder of artifacts cannot be written");
    }
    dm_log_set_level(DM_LOG_ERROR);
    signal(SIGALRM, took_too_long);
    double until = clock_now() + seconds;
    for (uint32_t i = 0; i < inputs.count; i++)
        run_timed(target, inputs.bytes[i], inputs.sizes[i]);
    uint64_t mutants = mutate(target, &inputs, seed, until);
    fprintf(stderr, "%s: %u inputs, %llu changed ones\n", target->name, inputs.count,
            (unsigned long long)mutants);
    if (now.file >= 0)
        unlink(now.path);
    for (uint32_t i = 0; i < inputs.count; i++) {
        free(inputs.bytes[i]);
        free(inputs.names[i]);
    }
    return 0;
}

#endif
