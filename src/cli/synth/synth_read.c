/* SPDX-License-Identifier: MIT */
/* synth_read.c - validate, show and stats of `dotmatrix synth`. */
#include "cli/synth/synth_read.h"

#include "base/file.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/terminal/color.h"
#include "synth/audit/page.h"
#include "synth/audit/show.h"
#include "synth/audit/summary.h"
#include "synth/audit/validate.h"
#include "synth/store/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of the terminal, or of $COLUMNS where there is none. */
static int columns_of_output(int otherwise)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int value = columns == NULL ? 0 : atoi(columns);
    return value > 0 && value < 10000 ? value : otherwise;
}

static dm_status put(dm_buffer *text, dm_error *err)
{
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        fwrite(dm_buffer_text(text), 1, text->size, stdout);
    dm_buffer_deinit(text);
    return status;
}

/* ---- validate ---- */

static void print_json(const dm_synth_report *r, dm_buffer *out)
{
    dm_json json;
    dm_json_init(&json, out, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_bool(&json, "valid", r->problem_count == 0);
    dm_json_bool(&json, "ours", r->ours);
    dm_json_uint(&json, "records", r->records);
    dm_json_uint(&json, "pairs", r->pairs);
    dm_json_uint(&json, "rejected", r->rejected);
    dm_json_uint(&json, "verified", r->verified);
    dm_json_uint(&json, "distinct", r->distinct);
    dm_json_begin_object(&json, "by_category");
    for (int i = 0; i < DM_SYNTH_CATEGORY_COUNT; i++)
        dm_json_uint(&json, dm_synth_category_names[i], r->by_category[i]);
    dm_json_end_object(&json);
    dm_json_uint(&json, "problem_count", r->problem_count);
    dm_json_begin_array(&json, "problems");
    for (uint64_t i = 0; i < r->problem_count && i < DM_SYNTH_PROBLEMS_MAX; i++)
        dm_json_string(&json, NULL, r->problems[i]);
    dm_json_end_array(&json);
    dm_json_string(&json, "notes", dm_buffer_text(&r->notes));
    dm_json_end_object(&json);
    dm_json_finish(&json);
}

static void print_report(const dm_synth_report *r, dm_synth_level level, dm_buffer *out)
{
    for (uint64_t i = 0; i < r->problem_count && i < DM_SYNTH_PROBLEMS_MAX; i++)
        dm_buffer_printf(out, "%s\n", r->problems[i]);
    if (r->problem_count > DM_SYNTH_PROBLEMS_MAX)
        dm_buffer_printf(out, "... and %" PRIu64 " more\n",
                         r->problem_count - DM_SYNTH_PROBLEMS_MAX);
    dm_buffer_append(out, dm_buffer_text(&r->notes), r->notes.size);
    dm_buffer_printf(
        out,
        "%" PRIu64 " records, %" PRIu64 " pairs with %" PRIu64 " distinct forms, %" PRIu64
        " rejected programs; %" PRIu64 " verified at level %s: %" PRIu64 " problem%s\n",
        r->records, r->pairs, r->distinct, r->rejected, r->verified, dm_synth_level_names[level],
        r->problem_count, r->problem_count == 1 ? "" : "s");
}

dm_status dm_cli_synth_validate(const dm_synth_read_options *o, bool *negative, dm_error *err)
{
    dm_synth_report report;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_synth_validate_options options = {.path = o->in,
                                         .level = o->level,
                                         .sample = (uint64_t)o->sample,
                                         .seed = (uint64_t)o->seed,
                                         .jobs = (int)o->jobs};
    dm_status status = dm_synth_validate(&options, &report, err);
    if (status == DM_OK && o->json)
        print_json(&report, &text);
    else if (status == DM_OK)
        print_report(&report, o->level, &text);
    *negative = status == DM_OK && report.problem_count > 0;
    dm_synth_report_free(&report);
    if (status == DM_OK)
        return put(&text, err);
    dm_buffer_deinit(&text);
    return status;
}

/* ---- show and stats ---- */

/* One line for each record: its id, what it is, how long its text, its name. */
static dm_status list_file(const dm_synth_dataset *dataset, size_t number, dm_synth_record *record,
                           uint64_t *count, dm_error *err)
{
    dm_synth_file file;
    dm_status status = dm_synth_file_read(&file, dataset, number, err);
    for (size_t i = 0; status == DM_OK && i < file.count && !ferror(stdout); i++) {
        status = dm_synth_record_read(record, file.lines[i], dm_synth_file_line(&file, i),
                                      dataset->files[number], (int)i + 1, err);
        if (status != DM_OK)
            break;
        printf("%-20s %-13s %3d lines  %s\n", record->id,
               record->kind == DM_SYNTH_PAIR ? dm_synth_category_names[record->category]
                                             : "rejected",
               dm_synth_lines(&record->python_source), record->kernel_name);
        ++*count;
    }
    dm_synth_file_free(&file);
    return status;
}

static dm_status list_records(const dm_synth_dataset *dataset, const char *path, dm_error *err)
{
    dm_synth_record record;
    uint64_t count = 0;
    dm_status status = DM_OK;
    dm_synth_record_init(&record);
    for (size_t i = 0; i < dataset->file_count && status == DM_OK; i++)
        status = list_file(dataset, i, &record, &count, err);
    dm_synth_record_deinit(&record);
    return status == DM_OK && count == 0 ? dm_fail(err, DM_EFORMAT, "%s: no records", path)
                                         : status;
}

const char *const dm_synth_colors[] = {"auto", "always", "never", NULL};

static bool wants_colors(const dm_synth_read_options *o)
{
    return o->color == 1 || (o->color == 0 && dm_color_wanted(STDOUT_FILENO));
}

/* One of all records, each as likely; the same for the same seed. */
static dm_status find_any(const dm_synth_dataset *dataset, const dm_synth_read_options *o,
                          dm_synth_record *record, dm_error *err)
{
    uint64_t count = 0;
    dm_status status = DM_OK;
    for (int pass = 0; pass < 2 && status == DM_OK; pass++) {
        uint64_t chosen = count == 0 ? 0 : dm_random4((uint64_t)o->seed, 0, 0).v[0] % count,
                 number = 0;
        for (size_t i = 0; i < dataset->file_count && status == DM_OK; i++) {
            dm_synth_file file;
            status = dm_synth_file_read(&file, dataset, i, err);
            for (size_t k = 0; status == DM_OK && k < file.count; k++, number++)
                if (pass == 1 && number == chosen)
                    status =
                        dm_synth_record_read(record, file.lines[k], dm_synth_file_line(&file, k),
                                             dataset->files[i], (int)k + 1, err);
            dm_synth_file_free(&file);
        }
        count = number;
        if (status == DM_OK && count == 0)
            status = dm_fail(err, DM_EFORMAT, "%s: no records", o->in);
    }
    return status;
}

dm_status dm_cli_synth_report(const dm_synth_read_options *o, dm_error *err)
{
    dm_buffer page = DM_BUFFER_EMPTY;
    dm_status status = dm_synth_page(o->in, &page, err);
    bool said = false; /* first, so that a failure leaves nothing behind; main reports it */
    if (status == DM_OK) {
        printf("%s: %zu bytes\n", o->out, page.size);
        said = fflush(stdout) == 0;
    }
    if (said)
        status = dm_file_write(o->out, dm_buffer_text(&page), page.size, err);
    dm_buffer_deinit(&page);
    return status;
}

dm_status dm_cli_synth_show(const dm_synth_read_options *o, dm_error *err)
{
    dm_synth_dataset dataset;
    dm_synth_record record;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_status status = dm_synth_dataset_open(&dataset, o->in, err);
    if (status != DM_OK)
        return status;
    if (o->id == NULL && !o->random) {
        status = list_records(&dataset, o->in, err);
        dm_synth_dataset_close(&dataset);
        return status;
    }
    dm_synth_record_init(&record);
    status = o->random ? find_any(&dataset, o, &record, err)
                       : dm_synth_dataset_find(&dataset, o->id, &record, err);
    if (status == DM_ENOENT && !o->random)
        status = dm_fail(err, DM_ENOENT,
                         "%s: no record has the id '%.100s'; dotmatrix synth show %s lists them",
                         o->in, o->id, o->in);
    if (status == DM_OK) {
        dm_synth_show(&record, columns_of_output(160), wants_colors(o), &text);
        status = put(&text, err);
    }
    dm_synth_record_deinit(&record);
    dm_synth_dataset_close(&dataset);
    return status;
}

dm_status dm_cli_synth_stats(const dm_synth_read_options *o, dm_error *err)
{
    dm_synth_summary summary;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_status status = dm_synth_summarise(o->in, &summary, err);
    if (status == DM_OK && summary.records == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: no records", o->in);
    if (status != DM_OK)
        return status;
    dm_synth_summary_print(&summary, columns_of_output(80), &text);
    status = put(&text, err);
    if (status == DM_OK && o->png != NULL)
        status = dm_synth_summary_plot(&summary, o->png, err);
    return status;
}
