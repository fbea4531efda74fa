/* SPDX-License-Identifier: MIT */
/* machine.c - reads /proc, /sys and /etc/os-release. */
#include "base/host/machine.h"

#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* In the order they are reported; x86 first, then Arm. */
static const char *const known_features[] = {
    "sse4_2",   "avx",      "fma",         "bmi2",        "avx2",        "avx512f",
    "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16",
    "asimd",    "asimdhp",  "sve",         "sve2",        "bf16",
};

/* The value after "key<spaces>:" when the line starts with the key; the newline is cut off. */
static const char *value_after(char *line, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0)
        return NULL;
    char *p = line + length;
    p += strspn(p, " \t");
    if (*p != ':' && *p != '=')
        return NULL;
    p++;
    p += strspn(p, " \t\"");
    p[strcspn(p, "\"\n")] = 0;
    return p;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = list; (p = strstr(p, word)) != NULL; p += length) {
        bool starts = p == list || p[-1] == ' ';
        if (starts && (p[length] == ' ' || p[length] == 0))
            return true;
    }
    return false;
}

static void copy_features(dm_machine *machine, const char *flags)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof known_features / sizeof known_features[0]; i++) {
        if (!has_word(flags, known_features[i]))
            continue;
        int n = snprintf(machine->cpu_features + used, sizeof machine->cpu_features - used, "%s%s",
                         used > 0 ? " " : "", known_features[i]);
        if (n < 0 || (size_t)n >= sizeof machine->cpu_features - used) {
            machine->cpu_features[used] = 0;
            return;
        }
        used += (size_t)n;
    }
}

static void read_cpu(dm_machine *machine)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL)
        return;
    char *line = NULL;
    size_t capacity = 0;
    const char *value;
    while (getline(&line, &capacity, file) > 0) {
        if (machine->cpu_model[0] == 0 && (value = value_after(line, "model name")) != NULL)
            snprintf(machine->cpu_model, sizeof machine->cpu_model, "%s", value);
        else if (machine->cpu_features[0] == 0 && ((value = value_after(line, "flags")) != NULL ||
                                                   (value = value_after(line, "Features")) != NULL))
            copy_features(machine, value);
    }
    free(line);
    fclose(file);
}

/* A file that holds one number, such as a control group's limit; `otherwise` for "max" or no file.
 */
static uint64_t read_number(const char *path, uint64_t otherwise)
{
    FILE *file = fopen(path, "re");
    char text[64] = "";
    if (file == NULL)
        return otherwise;
    char *end = text;
    uint64_t value = fgets(text, sizeof text, file) != NULL ? strtoull(text, &end, 10) : 0;
    fclose(file);
    return end == text ? otherwise : value;
}

static void read_memory(dm_machine *machine)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    const char *value;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if ((value = value_after(line, "MemTotal")) != NULL)
            machine->memory_bytes = strtoull(value, NULL, 10) * 1024;
        else if ((value = value_after(line, "MemAvailable")) != NULL)
            machine->memory_available_bytes = strtoull(value, NULL, 10) * 1024;
    }
    if (file != NULL)
        fclose(file);
    uint64_t limit = read_number("/sys/fs/cgroup/memory.max", UINT64_MAX);
    uint64_t used = read_number("/sys/fs/cgroup/memory.current", 0);
    if (limit < machine->memory_bytes) {
        machine->memory_bytes = limit;
        uint64_t left = limit > used ? limit - used : 0;
        if (left < machine->memory_available_bytes)
            machine->memory_available_bytes = left;
    }
}

static void read_system(dm_machine *machine)
{
    struct utsname kernel;
    char name[64] = "";
    FILE *file = fopen("/etc/os-release", "re");
    char line[256];
    const char *value;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if ((value = value_after(line, "PRETTY_NAME")) != NULL)
            snprintf(name, sizeof name, "%s", value);
    if (file != NULL)
        fclose(file);
    if (uname(&kernel) != 0)
        return;
    snprintf(machine->architecture, sizeof machine->architecture, "%.31s", kernel.machine);
    snprintf(machine->os, sizeof machine->os, "%.60s%s%.20s %.40s", name, name[0] ? ", " : "",
             kernel.sysname, kernel.release);
}

void dm_machine_query(dm_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->cores = dm_cpu_count();
    read_cpu(machine);
    read_memory(machine);
    read_system(machine);
}

bool dm_program_find(char out[DM_PATH_MAX], const char *name)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != 0) {
        size_t length = strcspn(path, ":"), rest = strlen(name);
        if (length > 0 && length + 1 + rest < DM_PATH_MAX) {
            memcpy(out, path, length);
            out[length] = '/';
            memcpy(out + length + 1, name, rest + 1);
            if (access(out, X_OK) == 0)
                return true;
        }
        path += length;
        path += *path == ':';
    }
    out[0] = 0;
    return false;
}
