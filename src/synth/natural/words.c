/* SPDX-License-Identifier: MIT */
/* words.c - a composed kernel described: a line, a paragraph and a specification (lesson/describe.h).
 *
 * All three are made of what was composed: the idiom's sentences, those that its picks bring, and the
 * meanings of the parameters that are there. */
#include "synth/natural/idiom.h"

#include <ctype.h>
#include <stdio.h>

/* "array2 vec3" as lesson/describe.c calls it. */
static void put_type_words(const char *text, size_t size, dm_buffer *out)
{
    if (size < 6 || memcmp(text, "array", 5) != 0) {
        dm_buffer_append(out, text, size);
        return;
    }
    int ndim = text[5] == ' ' ? 1 : text[5] - '0';
    size_t from = text[5] == ' ' ? 6 : 7;
    dm_buffer_puts(out, "array of ");
    dm_buffer_append(out, text + from, size - from);
    dm_buffer_printf(out, ", %d dimension%s", ndim, ndim == 1 ? "" : "s");
}

static void put_entries(dm_natural *n, bool outputs, dm_buffer *out)
{
    for (int i = 0; i < n->arg_count; i++) {
        const dm_natural_arg *arg = &n->args[n->order[i]];
        if (arg->output != outputs)
            continue;
        dm_buffer_puts(out, "- `");
        dm_natural_put_line(n, &arg->block->lines[0], out, 0);
        dm_buffer_puts(out, "` (");
        dm_buffer_clear(&n->scratch);
        dm_natural_put_line(n, &arg->block->lines[1], &n->scratch, 0);
        put_type_words(dm_buffer_text(&n->scratch), n->scratch.size, out);
        dm_buffer_puts(out, "): ");
        dm_natural_put_line(n, &arg->block->lines[2], out, 0);
        dm_buffer_putc(out, '\n');
    }
}

/* One line for each block of a value. */
void dm_natural_put_sentences(dm_natural *n, int name, const char *before, const char *after,
                              dm_buffer *out)
{
    if (!n->is_touched[name])
        return;
    const dm_natural_value v = n->values[name];
    for (int i = 0; i < v.count; i++) {
        if (v.blocks[i]->count == 0)
            continue;
        dm_buffer_puts(out, before);
        for (int k = 0; k < v.blocks[i]->count; k++) {
            dm_buffer_puts(out, k > 0 ? " " : "");
            dm_natural_put_line(n, &v.blocks[i]->lines[k], out, 0);
        }
        dm_buffer_puts(out, after);
    }
}

/* Sentences call a parameter `mass`; where it has become a constant it is `MASS`. */
static void name_constants(dm_natural *n, dm_buffer *text)
{
    for (int i = 0; i < n->constant_count; i++) {
        char quoted[160];
        const dm_natural_line *name = &n->constants[i]->block.lines[0];
        int length =
            snprintf(quoted, sizeof quoted, "`%.*s`", name->pieces[0].length, name->pieces[0].text);
        for (char *at = text->data; (at = strstr(at, quoted)) != NULL;)
            for (int k = 0; k < length; k++, at++)
                *at = (char)toupper((unsigned char)*at);
    }
}

void dm_natural_write_words(dm_natural *n, dm_buffer *line, dm_buffer *paragraph,
                            dm_buffer *specification)
{
    dm_natural_put_sentences(n, DM_NATURAL_ABOUT, "", "", line);
    dm_buffer_append(paragraph, dm_buffer_text(line), line->size);
    dm_natural_put_sentences(n, DM_NATURAL_DETAIL, " ", "", paragraph);
    dm_natural_put_sentences(n, DM_NATURAL_NOTES, " ", "", paragraph);
    dm_buffer_append(specification, dm_buffer_text(line), line->size);
    dm_buffer_puts(specification, "\n\nArguments:\n");
    put_entries(n, false, specification);
    dm_buffer_puts(specification, "\nResults:\n");
    put_entries(n, true, specification);
    if (n->constant_count > 0)
        dm_buffer_puts(specification, "\nConstants:\n");
    for (int i = 0; i < n->constant_count; i++) {
        dm_buffer_puts(specification, "- `");
        dm_natural_put_line(n, &n->constants[i]->constant.lines[0], specification, 0);
        dm_buffer_printf(specification, "` (%s): ", n->constants[i]->word);
        dm_natural_put_line(n, &n->constants[i]->block.lines[2], specification, 0);
        dm_buffer_putc(specification, '\n');
    }
    dm_buffer_puts(specification, "\nBehaviour:\n");
    dm_natural_put_sentences(n, DM_NATURAL_DETAIL, "- ", "\n", specification);
    dm_natural_put_sentences(n, DM_NATURAL_NOTES, "- ", "\n", specification);
    name_constants(n, paragraph);
    name_constants(n, specification);
}
