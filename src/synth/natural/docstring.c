/* SPDX-License-Identifier: MIT */
/* docstring.c - a kernel's docstring: none, a sentence, a paragraph, or its parameters. */
#include "synth/natural/idiom.h"

#include <ctype.h>
#include <string.h>

#define COLUMNS 96

/* Words on lines that are not too long; `indent` before all but the first, which begins in `column`. */
static void put_wrapped(const char *text, size_t size, int column, int indent, dm_buffer *out)
{
    for (size_t from = 0; from < size;) {
        size_t end = from;
        while (end < size && text[end] != ' ')
            end++;
        if (from > 0 && column + 1 + (int)(end - from) > COLUMNS) {
            dm_buffer_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (from > 0) {
            dm_buffer_putc(out, ' ');
            column++;
        }
        dm_buffer_append(out, text + from, end - from);
        column += (int)(end - from);
        from = end + 1;
    }
}

static void put_entries(dm_natural *n, dm_buffer *out)
{
    dm_buffer_puts(out, "\n\n    Args:");
    for (int i = 0; i < n->arg_count; i++) {
        const dm_natural_arg *arg = &n->args[n->order[i]];
        size_t begin = out->size + 1;
        dm_buffer_puts(out, "\n        ");
        dm_natural_put_line(n, &arg->block->lines[0], out, 0);
        dm_buffer_puts(out, ": ");
        dm_buffer_clear(&n->scratch);
        dm_natural_put_line(n, &arg->block->lines[2], &n->scratch, 0);
        n->scratch.data[0] = (char)toupper((unsigned char)n->scratch.data[0]);
        put_wrapped(n->scratch.data, n->scratch.size, (int)(out->size - begin), 12, out);
        dm_buffer_putc(out, '.');
    }
    dm_buffer_puts(out, "\n    ");
}

/* "Mean of each row." or "Compute the mean of each row." */
static void put_about(dm_natural *n, dm_buffer *out)
{
    static const char *const nouns[] = {
        "Force",       "Forces",    "Distance", "Distances", "Density",   "Pressure", "Position",
        "Positions",   "Points",    "Mean",     "Sum",       "Sums",      "Value",    "Values",
        "Largest",     "Smallest",  "Squared",  "Average",   "Weighted",  "Gradient", "Covariance",
        "Divergence",  "Vorticity", "Signed",   "Kinetic",   "Potential", "Elastic",  "Reward",
        "Observation", "Torques",   "Area",     "Areas",     "Angular",   "Bounding", "Velocity",
        "Velocities",  "Normals",   "Product",  "Inverse",   "Unit",      "Earliest", "Shortest",
        "Deformation", "Inertia",   "Total",    "Energy",    "Flow",      "Length"};
    dm_buffer_clear(&n->scratch);
    dm_natural_inline(n, DM_NATURAL_ABOUT, &n->scratch);
    char *text = n->scratch.data;
    size_t word = n->scratch.size == 0 ? 0 : strcspn(text, " ");
    bool verb = dm_natural_chance(n, 65);
    for (size_t i = 0; verb && word > 0 && i < sizeof nouns / sizeof nouns[0]; i++)
        if (strlen(nouns[i]) == word && memcmp(nouns[i], text, word) == 0) {
            dm_buffer_puts(out, "Compute the ");
            text[0] = (char)tolower((unsigned char)text[0]);
            break;
        }
    dm_buffer_append(out, dm_buffer_text(&n->scratch), n->scratch.size);
}

/* Which element a thread has can be seen. */
static bool says_little(dm_natural *n)
{
    dm_buffer_clear(&n->scratch);
    dm_natural_inline(n, DM_NATURAL_DETAIL, &n->scratch);
    return n->scratch.size == 0 || strncmp(n->scratch.data, "One thread", 10) == 0 ||
           strncmp(n->scratch.data, "All threads", 11) == 0;
}

void dm_natural_write_docstring(dm_natural *n, dm_buffer *out)
{
    int form = n->hand.docstring;
    if (form == DM_NATURAL_NO_DOCSTRING)
        return;
    if (form == DM_NATURAL_TEXT && says_little(n))
        form = DM_NATURAL_LINE;
    dm_buffer_puts(out, form == DM_NATURAL_REMARK ? "    # " : "    \"\"\"");
    put_about(n, out);
    if (form == DM_NATURAL_REMARK) {
        out->size -= out->data[out->size - 1] == '.';
        dm_buffer_putc(out, '\n');
        return;
    }
    if (form == DM_NATURAL_TEXT && n->is_touched[DM_NATURAL_DETAIL]) {
        dm_buffer_clear(&n->scratch);
        dm_natural_put_sentences(n, DM_NATURAL_DETAIL, " ", "", &n->scratch);
        dm_buffer_puts(out, "\n\n    ");
        put_wrapped(n->scratch.data + 1, n->scratch.size - 1, 4, 4, out);
        dm_buffer_puts(out, "\n    ");
    } else if (form == DM_NATURAL_ENTRIES) {
        put_entries(n, out);
    }
    dm_buffer_puts(out, "\"\"\"\n");
}
