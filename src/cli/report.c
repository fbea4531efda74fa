/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_WIDTH 18

void dm_report_begin(dm_report *report, bool as_json)
{
    *report = (dm_report){.as_json = as_json, .text = DM_BUFFER_EMPTY};
    if (as_json) {
        dm_json_init(&report->json, &report->text, DM_JSON_PRETTY);
        dm_json_begin_object(&report->json, NULL);
    }
}

dm_status dm_report_end(dm_report *report, dm_error *err)
{
    if (report->as_json) {
        dm_json_end_object(&report->json);
        dm_buffer_putc(&report->text, '\n');
    }
    dm_status status = dm_buffer_check(&report->text, err);
    if (status == DM_OK)
        fputs(dm_buffer_text(&report->text), stdout);
    dm_buffer_deinit(&report->text);
    return status;
}

dm_status dm_report_print(dm_json *json, dm_buffer *text, dm_error *err)
{
    dm_json_end_object(json);
    dm_json_finish(json);
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        fputs(dm_buffer_text(text), stdout);
    dm_buffer_deinit(text);
    return status;
}

void dm_report_section(dm_report *report, const char *key)
{
    if (report->as_json)
        dm_json_begin_object(&report->json, key);
    else
        dm_buffer_printf(&report->text, "%s\n", key);
}

void dm_report_section_end(dm_report *report)
{
    if (report->as_json)
        dm_json_end_object(&report->json);
}

void dm_report_list(dm_report *report, const char *key)
{
    if (report->as_json)
        dm_json_begin_array(&report->json, key);
    else
        dm_buffer_printf(&report->text, "%s\n", key);
}

void dm_report_item(dm_report *report, const char *title)
{
    if (report->as_json)
        dm_json_begin_object(&report->json, NULL);
    else if (title != NULL)
        dm_buffer_printf(&report->text, " %s\n", title);
}

void dm_report_item_end(dm_report *report)
{
    dm_report_section_end(report);
}

void dm_report_list_end(dm_report *report)
{
    if (report->as_json)
        dm_json_end_array(&report->json);
}

/* The start of a line of text: indentation, the key with a space for each '_', padding. */
static void append_key(dm_report *report, const char *key)
{
    dm_buffer_puts(&report->text, "  ");
    for (const char *p = key; *p != 0; p++)
        dm_buffer_putc(&report->text, *p == '_' ? ' ' : *p);
    int padding = KEY_WIDTH - (int)strlen(key);
    dm_buffer_printf(&report->text, "%*s", padding > 1 ? padding : 1, "");
}

void dm_report_string(dm_report *report, const char *key, const char *value)
{
    if (value != NULL && value[0] == 0)
        value = NULL;
    if (report->as_json) {
        dm_json_string(&report->json, key, value);
        return;
    }
    append_key(report, key);
    for (const char *p = value != NULL ? value : "-"; *p != 0; p++)
        dm_buffer_putc(&report->text, *p == '\n' ? ' ' : *p); /* a value stays on its line */
    dm_buffer_putc(&report->text, '\n');
}

void dm_report_uint(dm_report *report, const char *key, uint64_t value)
{
    if (report->as_json) {
        dm_json_uint(&report->json, key, value);
        return;
    }
    append_key(report, key);
    dm_buffer_printf(&report->text, "%" PRIu64 "\n", value);
}

void dm_report_bytes(dm_report *report, const char *key, uint64_t value)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    if (report->as_json) {
        dm_json_uint(&report->json, key, value);
        return;
    }
    size_t unit = 0;
    double scaled = (double)value;
    for (; scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        scaled /= 1024;
    append_key(report, key);
    dm_buffer_printf(&report->text, "%.*f %s\n", unit > 0 ? 1 : 0, scaled, units[unit]);
}

void dm_report_bool(dm_report *report, const char *key, bool value)
{
    if (report->as_json)
        dm_json_bool(&report->json, key, value);
    else
        dm_report_string(report, key, value ? "yes" : "no");
}

void dm_report_words(dm_report *report, const char *key, const char *words)
{
    if (!report->as_json) {
        dm_report_string(report, key, words);
        return;
    }
    dm_json_begin_array(&report->json, key);
    while (*words != 0) {
        size_t length = strcspn(words, " ");
        dm_json_string_n(&report->json, NULL, words, length);
        words += length;
        words += strspn(words, " ");
    }
    dm_json_end_array(&report->json);
}
