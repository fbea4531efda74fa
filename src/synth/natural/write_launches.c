/* SPDX-License-Identifier: MIT */
/* write_launches.c - a composed program of several kernels: their texts, and the function that makes
 * temporaries and launches them (check/unit.h). */
#include "synth/natural/idiom.h"

#include <string.h>

#define COLUMNS 100

/* "array2 float" as the kernels of this program write it. */
static void put_type(const char *text, size_t size, bool brackets, dm_buffer *out)
{
    bool array = size > 6 && memcmp(text, "array", 5) == 0;
    size_t from = !array ? 0 : text[5] == ' ' ? 6 : 7;
    if (array && from == 7)
        dm_buffer_printf(out, "wp.array%cd%s", text[5], brackets ? "[" : "(dtype=");
    else if (array)
        dm_buffer_puts(out, brackets ? "wp.array[" : "wp.array(dtype=");
    bool own = (text[from] >= 'A' && text[from] <= 'Z') ||
               (size - from == 5 && memcmp(text + from, "float", 5) == 0) ||
               (size - from == 3 && memcmp(text + from, "int", 3) == 0);
    dm_buffer_printf(out, "%s%.*s", own ? "" : "wp.", (int)(size - from), text + from);
    if (array)
        dm_buffer_putc(out, brackets ? ']' : ')');
}

static void put_function(dm_natural *n, bool brackets, dm_buffer *out)
{
    bool first = true;
    dm_buffer_puts(out, "def ");
    dm_natural_inline(n, DM_NATURAL_NAME, out);
    dm_buffer_putc(out, '(');
    for (int k = 0; k < n->arg_count; k++) {
        const dm_natural_arg *arg = &n->args[n->order[k]];
        dm_buffer_puts(out, first ? "" : ", ");
        dm_natural_put_line(n, &arg->block->lines[0], out, 0);
        dm_buffer_puts(out, ": ");
        dm_buffer_clear(&n->scratch);
        dm_natural_put_line(n, &arg->block->lines[1], &n->scratch, 0);
        put_type(dm_buffer_text(&n->scratch), n->scratch.size, brackets, out);
        first = false;
    }
    dm_buffer_puts(out, "):\n    \"\"\"");
    dm_natural_inline(n, DM_NATURAL_ABOUT, out);
    dm_buffer_puts(out, "\"\"\"\n");
    dm_natural_put_block(n, DM_NATURAL_LAUNCHES, 4, out);
}

/* A long line that ends in a list of arguments: one on each line. */
static void put_broken(const char *line, int length, dm_buffer *out)
{
    const char *open = memchr(line, '(', (size_t)length);
    int indent = (int)strspn(line, " "), depth = 0;
    const char *end = line + length;
    while (end > line && *end != ')')
        end--;
    if (length <= COLUMNS || open == NULL || end <= open ||
        (strncmp(line + indent, "def ", 4) != 0 && strncmp(line + indent, "wp.launch(", 10) != 0)) {
        dm_buffer_printf(out, "%.*s\n", length, line);
        return;
    }
    dm_buffer_printf(out, "%.*s\n%*s", (int)(open + 1 - line), line, indent + 4, "");
    for (const char *at = open + 1; at < end; at++) {
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        dm_buffer_putc(out, *at);
        if (*at == ',' && depth == 0) {
            dm_buffer_printf(out, "\n%*s", indent + 4, "");
            at += at[1] == ' ';
        }
    }
    dm_buffer_printf(out, ",\n%*s%.*s\n", indent, "", (int)(line + length - end), end);
}

void dm_natural_write_launches(dm_natural *n, dm_buffer *out)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    const char *picked = n->picked[dm_natural_name_number(n, "brackets")];
    bool brackets = picked != NULL && strcmp(picked, "square") == 0;
    n->hand.kernel = false; /* the name is that of a function */
    dm_buffer_puts(&text, "import warp as wp\n\n\n");
    if (n->is_touched[DM_NATURAL_HELPERS]) {
        dm_natural_put_block(n, DM_NATURAL_HELPERS, 0, &text);
        dm_buffer_puts(&text, "\n\n");
    }
    dm_natural_put_block(n, DM_NATURAL_KERNELS, 0, &text);
    dm_buffer_puts(&text, "\n\n");
    put_function(n, brackets, &text);
    const char *line = dm_buffer_text(&text);
    while (*line != '\0') {
        int length = (int)strcspn(line, "\n");
        put_broken(line, length, out);
        line += length + (line[length] == '\n');
    }
    dm_buffer_deinit(&text);
}
