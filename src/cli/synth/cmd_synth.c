/* SPDX-License-Identifier: MIT */
/* cmd_synth.c - `dotmatrix synth`: datasets of kernels. */
#include "cli/command.h"
#include "cli/synth/synth_read.h"
#include "synth/check/compile.h"
#include "synth/produce.h"

#include <stdio.h>
#include <string.h>

enum { DEVICE_CUDA, DEVICE_CPU, DEVICE_BOTH };

typedef struct synth_options {
    const char *warp;
    bool warp_names;
    const char *out, *categories, *kinds, *profile, *in, *png;
    int device, verify, level, style, compress, color;
    bool random, list;
    int64_t count, seed, jobs, shard_lines, programs, rank, ranks, sample;
    bool timing, json;
    dm_strings given;
} synth_options;

static const char *const compressions[] = {"none", "zstd", NULL};
static const char *const devices[] = {"cuda", "cpu", "both", NULL};

static const dm_option rows[] = {
    DM_OPTION_INT(synth_options, count, "count", "N", 1, 1000000000, "1000", "pairs to make"),
    DM_OPTION_STRING(synth_options, out, "out", "DIR", NULL,
                     "produce: the dataset; one that was begun is continued. report: the page"),
    DM_OPTION_STRING(synth_options, categories, "categories", "LIST", "all",
                     "separated by commas; they take turns"),
    DM_OPTION_CHOICE(synth_options, device, "device", devices, "both", "CUDA C++, C or both"),
    DM_OPTION_INT(synth_options, seed, "seed", "S", 0, INT64_MAX, "1", "of all that is random"),
    DM_OPTION_INT(synth_options, jobs, "jobs", "J", 0, 1024, "0", "threads; 0: one per CPU"),
    DM_OPTION_CHOICE(synth_options, verify, "verify", dm_synth_level_names, "full",
                     "what every pair must pass"),
    DM_OPTION_STRING(synth_options, kinds, "kinds", "LIST", "pairs",
                     "pairs, and c, ir, reference, rejected, repairs, slower, ptx besides"),
    DM_OPTION_INT(synth_options, programs, "programs", "PERCENT", 0, 100, "0",
                  "of the pairs: several kernels with their launches"),
    DM_OPTION_CHOICE(synth_options, style, "style", dm_synth_style_names, "natural",
                     "grown at random, or composed from idioms with a purpose"),
    DM_OPTION_STRING(synth_options, profile, "profile", "FILE", NULL,
                     "weights of sizes and features (tools/kernel-corpus writes them)"),
    DM_OPTION_INT(synth_options, shard_lines, "shard-lines", "N", 1, 1000000, "1000",
                  "pairs of a file"),
    DM_OPTION_CHOICE(synth_options, compress, "compress", compressions, "none",
                     "of complete files: zstd makes them a ninth as large"),
    DM_OPTION_STRING(synth_options, warp, "warp-text", "PYTHON", NULL,
                     "Warp's own CUDA texts besides, by a Python that has warp-lang"),
    DM_OPTION_FLAG(
        synth_options, warp_names, "warp-names",
        "functions in CUDA and C called as Warp calls them, NAME_HASH_cuda_kernel_forward"),
    DM_OPTION_FLAG(synth_options, timing, "timing",
                   "measured times in the records, which then differ from run to run"),
    DM_OPTION_INT(synth_options, rank, "rank", "R", -1, 1000000, "-1",
                  "this process among several; default as MPI or Slurm say"),
    DM_OPTION_INT(synth_options, ranks, "ranks", "N", 1, 1000000, "1", "how many there are"),
    DM_OPTION_STRING(synth_options, in, "in", "DIR", NULL,
                     "the dataset; also a file, and data of others"),
    DM_OPTION_CHOICE(synth_options, level, "level", dm_synth_level_names, "full",
                     "how far pairs are compiled and run"),
    DM_OPTION_INT(synth_options, sample, "sample", "N", 0, INT64_MAX, "0",
                  "so many pairs are compiled and run; 0: all"),
    DM_OPTION_STRING(synth_options, png, "png", "FILE", NULL, "a picture, by gnuplot"),
    DM_OPTION_FLAG(synth_options, random, "random", "show one that --seed draws"),
    DM_OPTION_FLAG(synth_options, list, "list", "list all records, as show does without ID"),
    DM_OPTION_CHOICE(synth_options, color, "color", dm_synth_colors, "auto",
                     "texts in colours; auto: on a terminal"),
    DM_OPTION_GIVEN(synth_options, given),
    DM_OPTION_FLAG(synth_options, json, "json", "write JSON for programs"),
};

/* ---- produce ---- */

/* The next of "a,b,c"; false behind the last. */
static bool next_item(const char **list, char *out, size_t size)
{
    size_t length = strcspn(*list, ",");
    if (**list == '\0')
        return false;
    snprintf(out, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static dm_status read_categories(const char *list, dm_synth_produce_options *o, dm_error *err)
{
    char name[64];
    bool all = strcmp(list, "all") == 0;
    dm_status status = dm_options_check_list("categories", list, err);
    if (status != DM_OK)
        return status;
    for (int i = 0; all && i < DM_SYNTH_CATEGORY_COUNT; i++)
        o->categories[o->category_count++] = i;
    while (!all && next_item(&list, name, sizeof name)) {
        int found = dm_synth_category_find(name);
        if (found < 0) {
            const char *meant = dm_closest(name, dm_synth_category_names);
            return dm_fail(err, DM_EINVAL, "no category is called '%s'%s%s%s", name,
                           meant == NULL ? "" : "; did you mean ", meant == NULL ? "" : meant,
                           meant == NULL ? "" : "?");
        }
        for (int i = 0; i < o->category_count; i++)
            if (o->categories[i] == found)
                return dm_fail(err, DM_EINVAL, "category '%s' is named twice", name);
        o->categories[o->category_count++] = found;
    }
    if (o->category_count == 0)
        return dm_fail(err, DM_EINVAL, "--categories names none");
    return DM_OK;
}

static dm_status read_kinds(const char *list, dm_synth_produce_options *o, dm_error *err)
{
    static const char *const kinds[] = {"pairs",   "c",      "ir",  "reference", "rejected",
                                        "repairs", "slower", "ptx", NULL};
    char name[64];
    bool pairs = false;
    dm_status status = dm_options_check_list("kinds", list, err);
    if (status != DM_OK)
        return status;
    while (next_item(&list, name, sizeof name)) {
        if (strcmp(name, "pairs") == 0) {
            pairs = true;
        } else if (strcmp(name, "c") == 0) {
            o->texts |= DM_SYNTH_TEXT_C;
        } else if (strcmp(name, "ir") == 0) {
            o->texts |= DM_SYNTH_TEXT_IR;
        } else if (strcmp(name, "reference") == 0) {
            o->texts |= DM_SYNTH_TEXT_REFERENCE;
        } else if (strcmp(name, "repairs") == 0) {
            o->repairs = true;
        } else if (strcmp(name, "slower") == 0) {
            o->slower = true;
        } else if (strcmp(name, "ptx") == 0) {
            o->ptx = true;
        } else if (strcmp(name, "rejected") == 0) {
            o->rejected = true;
        } else {
            const char *meant = dm_closest(name, kinds);
            return dm_fail(err, DM_EINVAL, "no kind is called '%s'%s%s%s", name,
                           meant == NULL ? "" : "; did you mean ", meant == NULL ? "" : meant,
                           meant == NULL ? "" : "?");
        }
    }
    if (!pairs)
        return dm_fail(err, DM_EINVAL, "--kinds has to name pairs");
    return DM_OK;
}

static dm_status produce(const synth_options *s, bool *negative, dm_error *err)
{
    (void)negative;
    dm_synth_produced made;
    dm_synth_produce_options o = {.folder = s->out,
                                  .count = (uint64_t)s->count,
                                  .seed = (uint64_t)s->seed,
                                  .timing = s->timing,
                                  .level = (dm_synth_level)s->verify,
                                  .style = (dm_synth_style)s->style,
                                  .profile = s->profile,
                                  .shard_lines = (int)s->shard_lines,
                                  .compress = s->compress == 1,
                                  .warp = s->warp,
                                  .programs = (int)s->programs,
                                  .jobs = (int)s->jobs};
    o.texts = s->device == DEVICE_CUDA  ? DM_SYNTH_TEXT_CUDA
              : s->device == DEVICE_CPU ? DM_SYNTH_TEXT_C
                                        : DM_SYNTH_TEXT_CUDA | DM_SYNTH_TEXT_C;
    if (o.style == DM_SYNTH_STYLE_NATURAL)
        o.texts |= DM_SYNTH_TEXT_REFERENCE;
    if (s->warp_names)
        o.texts |= DM_SYNTH_WARP_NAMES;
    if (s->out == NULL)
        return dm_fail(err, DM_EINVAL, "produce needs --out DIR");
    if (s->programs > 0 && o.style != DM_SYNTH_STYLE_NATURAL)
        return dm_fail(err, DM_EINVAL, "--programs: the random style has single kernels alone");
    dm_synth_ranks(&o.rank, &o.ranks);
    if (s->rank >= 0) {
        o.rank = (int)s->rank;
        o.ranks = (int)s->ranks;
    }
    if (o.rank >= o.ranks)
        return dm_fail(err, DM_EINVAL, "--rank %d: ranks are 0 to %d", o.rank, o.ranks - 1);
    dm_status status = read_categories(s->categories, &o, err);
    if (status == DM_OK)
        status = read_kinds(s->kinds, &o, err);
    if (status == DM_OK)
        status = dm_synth_produce(&o, &made, err);
    if (status != DM_OK)
        return status;
    printf("%llu pairs in %.1f s, %.0f a second", (unsigned long long)made.shipped, made.seconds,
           made.seconds > 0 ? (double)made.shipped / made.seconds : 0);
    if (made.failed > 0)
        printf("; %llu failed, see %s/failed", (unsigned long long)made.failed, s->out);
    if (made.missing > 0)
        printf("; %llu of %llu shards are still to be made by other ranks",
               (unsigned long long)made.missing, (unsigned long long)made.shards);
    printf("\n");
    return DM_OK;
}

/* ---- Reading ---- */

/* The dataset is --in or the argument behind the action, the id the one behind that. */
static dm_status read_dataset(const synth_options *s, const dm_strings *arguments, bool *negative,
                              dm_error *err)
{
    const char *action = arguments->items[0];
    size_t next = 1;
    dm_synth_read_options o = {.in = s->in,
                               .png = s->png,
                               .level = (dm_synth_level)s->level,
                               .sample = s->sample,
                               .seed = s->seed,
                               .jobs = s->jobs,
                               .json = s->json,
                               .random = s->random,
                               .list = s->list,
                               .color = s->color,
                               .out = s->out};
    if (o.in == NULL && next < arguments->count)
        o.in = arguments->items[next++];
    if (o.in == NULL)
        return dm_fail(err, DM_EINVAL, "%s needs a dataset: dotmatrix synth %s DIR", action,
                       action);
    bool show = strcmp(action, "show") == 0;
    if (show && next < arguments->count)
        o.id = arguments->items[next++];
    if (o.random + o.list + (o.id != NULL) > 1)
        return dm_fail(err, DM_EINVAL, "show takes one of an ID, --random and --list");
    if (strcmp(action, "report") == 0 && o.out == NULL)
        return dm_fail(err, DM_EINVAL, "report needs --out FILE");
    if (next < arguments->count)
        return dm_fail(err, DM_EINVAL, "unexpected argument '%.200s': --in names the dataset",
                       arguments->items[next]);
    return show                              ? dm_cli_synth_show(&o, err)
           : strcmp(action, "report") == 0   ? dm_cli_synth_report(&o, err)
           : strcmp(action, "validate") == 0 ? dm_cli_synth_validate(&o, negative, err)
                                             : dm_cli_synth_stats(&o, err);
}

/* ---- The command ---- */

static dm_status run(const void *values, const dm_strings *arguments, bool *negative, dm_error *err)
{
    static const dm_option_need needs[] = {{"rank", "ranks"}, {"ranks", "rank"}};
    const synth_options *options = values;
    dm_status status =
        dm_options_check_needs(&options->given, needs, sizeof needs / sizeof needs[0], err);
    if (status != DM_OK)
        return status;
    return strcmp(arguments->items[0], "produce") == 0
               ? produce(options, negative, err)
               : read_dataset(options, arguments, negative, err);
}

static const dm_action actions[] = {
    {"produce", "", 0, 0, "Make a dataset, or go on with one that was begun",
     "out count style categories kinds programs device verify shard-lines profile compress "
     "warp-text warp-names timing "
     "rank "
     "ranks seed jobs",
     "dotmatrix synth produce --count 10000 --out data"},
    {"validate", "[DIR]", 0, 1, "Read every record of a dataset; compile and run its pairs",
     "in level sample seed jobs json", "dotmatrix synth validate data --sample 100"},
    {"show", "[DIR] [ID]", 0, 2, "Show a record, source and C side by side; without ID list them",
     "in random list color seed", "dotmatrix synth show data 1-00000017"},
    {"stats", "[DIR]", 0, 1, "Count what is in a dataset", "in png",
     "dotmatrix synth stats data --png data.png"},
    {"report", "[DIR]", 0, 1, "Write a page: counts, verification, an example of each idiom",
     "in out", "dotmatrix synth report data --out data.html"},
};

const dm_command dm_command_synth = {
    .name = "synth",
    .summary = "Produce, validate and look at datasets of kernels",
    .arguments = "produce|validate|show|stats|report [DIR [ID]]",
    .arguments_min = 1,
    .arguments_max = 3,
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(synth_options),
    .run = run,
};
