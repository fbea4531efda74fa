/* SPDX-License-Identifier: MIT */
/* actions.c - keys for each machine and step. */
#include "lab/actions.h"
#include "base/file.h"
#include "base/philox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILE_MAX (256u << 20)
#define GIVEN_MAX ((uint64_t)1 << 30)

/* By the codec's numbers; those of raw_keys have none. */
static const char *const buttons[] = {"NOOP", "A",    "B",    "START", "SELECT",
                                      "UP",   "DOWN", "LEFT", "RIGHT", NULL};
static const char *const pokemon[] = {"NOOP", "A",    "B",     "START", "UP",
                                      "DOWN", "LEFT", "RIGHT", NULL};
static const char *const none[] = {NULL};

static const char *const *names_of(dm_swarm_codec codec)
{
    return codec == DM_SWARM_BUTTONS_V1 ? buttons : codec == DM_SWARM_POKEMON_V1 ? pokemon : none;
}

const char *dm_lab_action_text(dm_swarm_codec codec, uint8_t action, char out[DM_LAB_ACTION_SIZE])
{
    bool named = codec != DM_SWARM_RAW_KEYS && action < dm_swarm_codec_actions(codec);
    snprintf(out, DM_LAB_ACTION_SIZE, "%s", named ? names_of(codec)[action] : "");
    if (!named)
        snprintf(out, DM_LAB_ACTION_SIZE, "%u", action);
    return out;
}

static bool parse_action(dm_swarm_codec codec, const char *word, uint8_t *out)
{
    char *end;
    const char *const *names = names_of(codec);
    unsigned long number = strtoul(word, &end, 10);
    if (end != word && *end == 0 && number < dm_swarm_codec_actions(codec)) {
        *out = (uint8_t)number;
        return true;
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcasecmp(word, names[i]) == 0) {
            *out = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static dm_status fail_action(const dm_lab_actions *a, const char *path, int line, const char *word,
                             dm_error *err)
{
    dm_buffer list = DM_BUFFER_EMPTY;
    for (const char *const *name = names_of(a->codec); *name != NULL; name++)
        dm_buffer_printf(&list, "%s, ", *name);
    dm_status status = dm_fail_at(
        err, DM_EFORMAT, path, line, "'%.32s' is no action of %s; %s0 to %u", word,
        dm_swarm_codec_name(a->codec), dm_buffer_text(&list), dm_swarm_codec_actions(a->codec) - 1);
    dm_buffer_deinit(&list);
    return status;
}

/* One line into given[step]; *found tells whether it held any. */
static dm_status parse_line(dm_lab_actions *a, const char *path, int number, char *line,
                            uint64_t step, bool *found, dm_error *err)
{
    uint64_t count = 0;
    char *save = NULL;
    uint8_t *row = a->given + step * a->machines;
    line[strcspn(line, "#")] = 0;
    for (char *word = strtok_r(line, " \t\r,", &save); word != NULL;
         word = strtok_r(NULL, " \t\r,", &save)) {
        uint8_t action;
        if (!parse_action(a->codec, word, &action))
            return fail_action(a, path, number, word, err);
        if (count == a->machines)
            return dm_fail_at(err, DM_EFORMAT, path, number, "more than %llu actions in a line",
                              (unsigned long long)a->machines);
        row[count++] = action;
    }
    *found = count > 0;
    if (count > 1 && count != a->machines)
        return dm_fail_at(err, DM_EFORMAT, path, number,
                          "%llu actions for %llu machines; one for all, or one for each",
                          (unsigned long long)count, (unsigned long long)a->machines);
    if (count == 1)
        memset(row, row[0], a->machines);
    return DM_OK;
}

dm_status dm_lab_actions_load(dm_lab_actions *a, const char *path, uint64_t steps,
                              uint64_t machines, dm_error *err)
{
    char *text = NULL;
    size_t size;
    dm_status status = dm_file_read(path, FILE_MAX, &text, &size, err);
    if (status != DM_OK)
        return status;
    *a = (dm_lab_actions){.codec = a->codec, .steps = steps, .machines = machines};
    /* A step takes two bytes at least: a short file asks for no more memory than it can fill. */
    uint64_t rows = steps < size / 2 + 1 ? steps : size / 2 + 1;
    if (machines > GIVEN_MAX / (rows + 1))
        status = dm_fail(err, DM_EINVAL, "%s: more than 1 GiB of actions for %llu machines", path,
                         (unsigned long long)machines);
    else
        a->given = calloc(rows + 1, machines); /* a line too many is still parsed */
    if (status == DM_OK && a->given == NULL)
        status = dm_fail(err, DM_ENOMEM, "%s: no memory for its actions", path);
    if (status == DM_OK && memchr(text, 0, size) != NULL)
        status = dm_fail(err, DM_EFORMAT, "%s: not a text", path);
    uint64_t step = 0;
    int number = 0;
    for (char *line = text; status == DM_OK && line != NULL;) {
        char *next = strchr(line, '\n');
        bool found = false;
        if (next != NULL)
            *next++ = 0;
        status = parse_line(a, path, ++number, line, step, &found, err);
        step += found && step < steps;
        line = next;
    }
    if (status == DM_OK && step < steps)
        status = dm_fail(err, DM_EFORMAT, "%s: actions for %llu steps, %llu are needed", path,
                         (unsigned long long)step, (unsigned long long)steps);
    free(text);
    if (status != DM_OK)
        dm_lab_actions_deinit(a);
    return status;
}

void dm_lab_actions_deinit(dm_lab_actions *a)
{
    free(a->given);
    a->given = NULL;
}

uint8_t dm_lab_action(const dm_lab_actions *a, uint64_t machine, uint64_t step)
{
    if (a->given != NULL)
        return a->given[step * a->machines + machine];
    if (a->generator == DM_SWARM_SEEDED_RANDOM)
        return (uint8_t)dm_random_below(dm_random4(a->seed, machine, step).v[0],
                                        dm_swarm_codec_actions(a->codec));
    if (a->generator == DM_SWARM_STRIPED)
        return (uint8_t)((machine + step) % dm_swarm_codec_actions(a->codec));
    return 0;
}

void dm_lab_actions_keys(const dm_lab_actions *a, uint64_t first, uint64_t count, uint64_t step,
                         uint8_t *keys)
{
    for (uint64_t i = 0; i < count; i++)
        keys[i] = dm_swarm_codec_keys(a->codec, dm_lab_action(a, first + i, step));
}
