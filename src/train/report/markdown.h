/* SPDX-License-Identifier: MIT */
/* markdown.h - a page of HTML from the Markdown that the report writes: headings, tables, lists, paragraphs, **bold**,
 * `code`, and pictures, which are put into the page where they are SVG. */
#ifndef DM_TRAIN_REPORT_MARKDOWN_H
#define DM_TRAIN_REPORT_MARKDOWN_H

#include "base/buffer.h"

/* `folder`: where the pictures are. */
dm_status dm_markdown_page(const char *markdown, const char *title, const char *folder,
                           dm_buffer *out, dm_error *err);

/* The same text with lines of prose of at most 120 characters where a space allows it; tables, headings and pictures
 * stay. A line is never broken within **bold** or `code`. */
void dm_markdown_fill(const char *markdown, dm_buffer *out);

#endif
