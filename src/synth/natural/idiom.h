/* SPDX-License-Identifier: MIT */
/* idiom.h - the library of idioms after parsing, and a kernel while it is composed.
 *
 * Names are numbers (index into dm_natural.names). A value is a list of blocks, a block a list of
 * lines, a line a list of pieces: literal text, or a name whose value stands there. */
#ifndef DM_SYNTH_NATURAL_IDIOM_H
#define DM_SYNTH_NATURAL_IDIOM_H

#include "base/arena.h"
#include "synth/natural/natural.h"

#define DM_NATURAL_NAMES_MAX 4096
#define DM_NATURAL_ARGS_MAX 24
#define DM_NATURAL_BLOCKS_MAX 16 /* that one name gathers */
#define DM_NATURAL_DEPTH_MAX 24  /* of values in values */

typedef struct dm_natural_piece {
    const char *text;
    int length;
    int name; /* whose value stands here; -1: the text */
} dm_natural_piece;

typedef struct dm_natural_line {
    const dm_natural_piece *pieces;
    int count;
    int indent; /* relative to the block */
    int let;    /* `let NAME = ...`: the name, whose value is one of the two below; -1 */
    bool also;  /* as the `let` before: a local if that one is */
    const struct dm_natural_block *own, *in_place; /* the name itself, its expression */
} dm_natural_line;

typedef struct dm_natural_block {
    const dm_natural_line *lines;
    int count;
} dm_natural_block;

typedef enum dm_natural_kind {
    DM_NATURAL_SET,  /* name = block */
    DM_NATURAL_ADD,  /* name += block */
    DM_NATURAL_PICK, /* one of the children, all OPTIONs */
    DM_NATURAL_OPTION,
    DM_NATURAL_USE,  /* a fragment's statements */
    DM_NATURAL_ARG,  /* name, type and meaning of a parameter: lines 0, 1, 2 of the block */
    DM_NATURAL_OUT,  /* the same, of an output */
    DM_NATURAL_VARY, /* a parameter: one value for all, or an array with one for each */
    DM_NATURAL_TUNE, /* a parameter, or a constant of the file */
    DM_NATURAL_WHEN  /* the children, when the name's pick is one of `words` */
} dm_natural_kind;

typedef struct dm_natural_node dm_natural_node;
struct dm_natural_node {
    dm_natural_kind kind;
    int name;
    int weight;   /* of an option */
    bool negated; /* `unless` */
    dm_natural_block block;
    dm_natural_block each, own, element; /* of VARY: as an array; `NAME`, `NAME[$at]` */
    dm_natural_block constant;           /* of TUNE: `NAME` in capitals */
    bool always;                         /* of TUNE: `const`, never a parameter */
    const char *word;                    /* an option's name, a fragment's, a constant's value */
    const char **words;                  /* of WHEN */
    int word_count;
    dm_natural_node *next, *first; /* sibling, child */
    int total;                     /* of the options' weights */
};

typedef struct dm_natural_idiom {
    const char *name;
    int category; /* -1: a fragment, or a program of several kernels */
    int program;  /* the category of such a program; -1: none */
    dm_natural_node *first;
    struct dm_natural_idiom *next;
} dm_natural_idiom;

typedef struct dm_natural_value {
    const dm_natural_block *blocks[DM_NATURAL_BLOCKS_MAX];
    int count;
} dm_natural_value;

typedef struct dm_natural_arg {
    const dm_natural_block *block;
    bool output;
} dm_natural_arg;

/* What an author does alike in a whole file (hand.c). */
typedef struct dm_natural_hand {
    int brackets; /* annotations: wp.array[float], wp.array2d(dtype=float), wp.array(dtype=float, ndim=2) */
    int inline_percent; /* of `let` lines that are written where they are used */
    int load_percent;   /* of elements that are read into a local first */
    int comment_percent;
    bool airy;            /* leaves lines empty between parts */
    bool kernel;          /* calls it NAME_kernel */
    bool marked;          /* `# outputs` before them */
    bool plain_constants; /* without wp.constant */
    int docstring;
    int updates;        /* as they are written, x += a, x = x + a */
    bool named_lengths; /* n = x.shape[0] before a loop */
    bool python_names;  /* min, max, abs without wp. */
    bool widths;        /* wp.float32, wp.int32 */
    int order;          /* of the parameters */
} dm_natural_hand;

enum {
    DM_NATURAL_NO_DOCSTRING,
    DM_NATURAL_LINE,
    DM_NATURAL_REMARK,
    DM_NATURAL_TEXT,
    DM_NATURAL_ENTRIES
};

enum { /* names that the writer asks for, in this order in the table */
       DM_NATURAL_NAME,
       DM_NATURAL_ABOUT,
       DM_NATURAL_DETAIL,
       DM_NATURAL_NOTES,
       DM_NATURAL_HELPERS,
       DM_NATURAL_BODY,
       DM_NATURAL_KERNELS, /* of a program */
       DM_NATURAL_LAUNCHES,
       DM_NATURAL_KNOWN
};

struct dm_natural {
    dm_arena arena;
    const char *names[DM_NATURAL_NAMES_MAX];
    int name_count;
    dm_natural_idiom *all;
    dm_natural_idiom **by_category[DM_SYNTH_CATEGORY_COUNT];
    int count[DM_SYNTH_CATEGORY_COUNT];
    dm_natural_idiom **programs[DM_SYNTH_CATEGORY_COUNT];
    int program_count[DM_SYNTH_CATEGORY_COUNT];
    int programs_percent;
    bool wants_slower;

    /* Of the kernel that is composed. */
    uint64_t key, stream, counter;
    uint32_t words[4];
    int words_left;
    dm_natural_value values[DM_NATURAL_NAMES_MAX];
    const char *picked[DM_NATURAL_NAMES_MAX]; /* an option's name */
    int touched[DM_NATURAL_NAMES_MAX], touched_count;
    bool is_touched[DM_NATURAL_NAMES_MAX];
    dm_natural_arg args[DM_NATURAL_ARGS_MAX];
    int arg_count;
    int order[DM_NATURAL_ARGS_MAX]; /* of args in the signature */
    const dm_natural_node *constants[DM_NATURAL_ARGS_MAX];
    int constant_count;
    const dm_natural_line *lets[DM_NATURAL_NAMES_MAX]; /* that a name is written in place of */
    bool all_in_place;                                 /* every `let` is written where it is used */
    bool in_place;                                     /* the last `let` was */
    dm_natural_hand hand;
    const char *unknown; /* a name that has no value, or another mistake in an idiom; NULL */
    dm_buffer scratch;
};

/* parse.c: `text` must outlive the library. */
dm_status dm_natural_parse(dm_natural *n, const char *file, const char *text, size_t size,
                           dm_error *err);

/* compose.c */
int dm_natural_below(dm_natural *n, int bound);
bool dm_natural_chance(dm_natural *n, int percent);
void dm_natural_compose(dm_natural *n, const dm_natural_idiom *idiom);
const dm_natural_idiom *dm_natural_find(const dm_natural *n, const char *name);
/* The number of a name; 0 when no idiom uses it. */
int dm_natural_name_number(const dm_natural *n, const char *name);

/* hand.c: an author for the kernel that was composed, and the order of its parameters. */
void dm_natural_draw_hand(dm_natural *n);

/* write.c: a name's value in one line; as a block with `indent` columns before each line. */
void dm_natural_inline(dm_natural *n, int name, dm_buffer *out);
void dm_natural_put_line(dm_natural *n, const dm_natural_line *line, dm_buffer *out, int depth);
void dm_natural_write_name(dm_natural *n, dm_buffer *out);
void dm_natural_put_block(dm_natural *n, int name, int indent, dm_buffer *out);
void dm_natural_write_program(dm_natural *n, dm_buffer *out);

/* write_launches.c: a program of several kernels. */
void dm_natural_write_launches(dm_natural *n, dm_buffer *out);

/* shape.c */
void dm_natural_shape_body(dm_natural *n, const char *helpers, dm_buffer *body);
/* Every local that stays what it is stands where it is read. */
void dm_natural_write_out(dm_natural *n, dm_buffer *body);
void dm_natural_drop_prefixes(dm_buffer *text);

/* docstring.c */
void dm_natural_write_docstring(dm_natural *n, dm_buffer *out);
void dm_natural_put_sentences(dm_natural *n, int name, const char *before, const char *after,
                              dm_buffer *out);

/* words.c */
void dm_natural_write_words(dm_natural *n, dm_buffer *line, dm_buffer *paragraph,
                            dm_buffer *specification);

#endif
