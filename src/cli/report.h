/* SPDX-License-Identifier: MIT */
/* report.h - the values that a command prints: as aligned text or, with --json, as JSON.
 *
 * A command gives each value once, with its key; the form decides how it looks:
 *
 *     cpu                                "cpu": {
 *       model   Example 3000               "model": "Example 3000",
 *       cores   8                          "cores": 8
 *                                        } */
#ifndef DM_CLI_REPORT_H
#define DM_CLI_REPORT_H

#include "base/json.h"

typedef struct dm_report {
    bool as_json;
    dm_buffer text;
    dm_json json;
} dm_report;

void dm_report_begin(dm_report *report, bool as_json);
/* Print to stdout and release; DM_ENOMEM when memory ran out on the way. */
dm_status dm_report_end(dm_report *report, dm_error *err);

/* The end of an object that a command wrote itself: print it to stdout and release `text`. */
dm_status dm_report_print(dm_json *json, dm_buffer *text, dm_error *err);

void dm_report_section(dm_report *report, const char *key);
void dm_report_section_end(dm_report *report);
/* A list of items: an array of objects in JSON. In text `title`, unless it is NULL, heads each
 * item. */
void dm_report_list(dm_report *report, const char *key);
void dm_report_item(dm_report *report, const char *title);
void dm_report_item_end(dm_report *report);
void dm_report_list_end(dm_report *report);

void dm_report_string(dm_report *report, const char *key,
                      const char *value); /* NULL or "": unknown */
void dm_report_uint(dm_report *report, const char *key, uint64_t value);
void dm_report_bytes(dm_report *report, const char *key, uint64_t value); /* text: "3.8 GiB" */
void dm_report_bool(dm_report *report, const char *key, bool value);      /* text: yes, no */
/* Words separated by spaces: an array of strings in JSON. */
void dm_report_words(dm_report *report, const char *key, const char *words);

#endif
