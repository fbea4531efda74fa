/* SPDX-License-Identifier: MIT */
/* print_line.h - pieces of a line, for the files that print statements; see print.h. Printing dominates
 * the time of a compilation, so these functions are inline and take no format string. */
#ifndef DM_LANG_PRINT_LINE_H
#define DM_LANG_PRINT_LINE_H

#include "lang/emit/print.h"

#define ANY_LEVEL 3 /* of dm_print_value: brackets are not needed */

static inline void start_line(dm_printer *pr)
{
    static const char spaces[] = "                                                                ";
    int columns = pr->depth * 4, all = (int)sizeof spaces - 1;
    for (; columns > all; columns -= all)
        dm_buffer_append(pr->out, spaces, (size_t)all);
    dm_buffer_append(pr->out, spaces, (size_t)columns);
}

/* "type name", or "const type name" where no other value takes the variable over. */
static inline void put_variable(dm_printer *pr, const char *type, dm_val v, bool constant)
{
    if (constant && !pr->plan[v].changes)
        dm_buffer_puts(pr->out, "const ");
    dm_put_name(pr->out, type);
    dm_buffer_putc(pr->out, ' ');
    dm_put_name(pr->out, dm_print_name(pr, v));
}

/* A text that was made before, and what closes the line. */
static inline void end_with_text(dm_printer *pr, const dm_buffer *text, const char *end)
{
    dm_buffer_append(pr->out, text->data, text->size);
    dm_buffer_puts(pr->out, end);
}

/* The rest of a line: an expression, and what closes the line. */
static inline void end_with_value(dm_printer *pr, dm_val v, const char *end)
{
    dm_print_value(pr, pr->out, v, ANY_LEVEL);
    dm_buffer_puts(pr->out, end);
}

#endif
