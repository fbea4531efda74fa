/* SPDX-License-Identifier: MIT */
/* natural.h - kernels with a purpose: programs composed from a library of idioms of GPU code.
 *
 * An idiom (idioms/, one file for each category) is a small declarative text: what the kernel is for, its
 * parameters with meaning and unit, its body, and `pick`s: boundaries, force laws, ways to store the
 * result. Picks contribute lines, parameters, helpers and sentences together, so that names, comments
 * and descriptions say what the program does. idioms/README.md has the grammar.
 *
 *   idiom.h     the parsed form         parse.c    text to tree
 *   compose.c   picks are drawn, what they contribute is gathered
 *   hand.c      an author: annotations, comments, docstrings, the order of parameters
 *   write.c     the program's text      docstring.c, words.c  what is said of it
 *   shape.c     the body's lines in the author's form         generate.c  one record
 *   write_launches.c  the text of a program of several kernels
 *
 * A seed, a slot and an attempt always give the same kernel. One library serves many threads, a composer
 * one. */
#ifndef DM_SYNTH_NATURAL_H
#define DM_SYNTH_NATURAL_H

#include "synth/store/record.h"

/* Bump when the same seed gives another kernel. */
#define DM_SYNTH_NATURAL_GENERATOR 7

typedef struct dm_natural dm_natural;

dm_status dm_natural_create(dm_natural **out, dm_error *err);
void dm_natural_destroy(dm_natural *natural);

/* How many idioms a category has. */
int dm_natural_count(const dm_natural *natural, int category);

/* Should `slower` be filled, too: the same program with every expression that has a name written out
 * where it is used? */
void dm_natural_set_slower(dm_natural *natural, bool slower);

/* So many of a hundred kernels are programs of several, in the categories that have some. */
void dm_natural_set_programs(dm_natural *natural, int percent);

/* Fill python_source, kernel_name, category, idiom and the descriptions; id and attempt are the caller's. */
dm_status dm_natural_generate(dm_natural *natural, uint64_t seed, uint64_t slot, int attempt,
                              int category, dm_synth_record *record, dm_error *err);

#endif
