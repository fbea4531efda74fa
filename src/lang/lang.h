/* SPDX-License-Identifier: MIT */
/* lang.h - the kernel compiler: NVIDIA Warp's Python dialect to C and CUDA C, with gradients.
 *
 *   text ──► tokens ──► tree ──► names ──► IR ──► backward IR ──► C, CUDA C
 *        lex        parse    module    lower   adjoint        print
 *        front/     front/   sema/     ir/     adjoint/       emit/
 *
 * A pass is a file, or a few that begin with its name (lower_call.c, adjoint_loop.c) and share a
 * header of that name. compile.c is the list of passes: start reading there.
 *
 *   context.c   memory, interned names, diagnostics: what every pass shares (this header)
 *   common.h    what every compilation shares: known names, and our own texts, parsed once
 *   library/    builtins written in the dialect itself; their gradients are derived as a user function's
 *
 *   front/      text to tree: lex.c, parse.c; ast.h has the tree, one row per kind of node
 *   sema/       what names stand for: module.c (scopes), namespace.c (Warp's own names), import.c;
 *               type.h: interned types; value.h, eval.c, python.c: what is known while compiling;
 *               builtins.h: a builtin is a row (signature, C text, adjoint) of builtins.def
 *   ir/         ir.h: SSA values, structured control flow; ops.def: one row per operation;
 *               lower.h: tree to IR, with types found on the way; exits.c: break, continue, return
 *               become plain data flow; dce.c removes what nothing needs
 *   adjoint/    adjoint.h: IR to backward IR; activity.c: which values a gradient can flow through;
 *               hazard.c: which reads the backward pass cannot repeat; tidy.c: fewer variables
 *   emit/       print.h: IR to text
 *
 * One compilation is one dm_lang: one arena, one thread. Data that compilations share is never
 * changed. A pass reports an error with dm_lang_error and goes on. When memory runs out, or after
 * too many errors, it leaves through dm_lang_bail (a longjmp to compile.c), so that no pass checks
 * an allocation. */
#ifndef DM_LANG_LANG_H
#define DM_LANG_LANG_H

#include "base/arena.h"
#include "base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AddressSanitizer watches every single allocation. */
#if defined(__SANITIZE_ADDRESS__)
#define DM_LANG_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DM_LANG_ASAN 1
#endif
#endif

/* A place in the input: an offset into all sources laid one after the other. */
typedef uint32_t dm_pos;
#define DM_POS_NONE UINT32_MAX
#define DM_POS_COMMON 0xFF000000u /* from here on: texts of ours, see common.h */

typedef struct dm_lang_source {
    const char *name;
    const char *text;
    size_t size;
    dm_pos base;
    bool library;    /* ours: diagnostics inside it are shown at the call instead */
    uint32_t *lines; /* offsets of line starts, made when first asked for */
    uint32_t line_count;
    struct dm_lang_source *next;
} dm_lang_source;

typedef enum dm_severity { DM_SEVERITY_ERROR, DM_SEVERITY_WARNING } dm_severity;

typedef struct dm_diag {
    dm_severity severity;
    dm_pos pos, end;
    const char *message;
    const char *hint; /* may be NULL */
    struct dm_diag *next;
} dm_diag;

#define DM_LANG_ERRORS_MAX 20
#define DM_LANG_DEPTH_MAX 200  /* nesting of expressions and blocks */
#define DM_LANG_CHAIN_MAX 2000 /* operands of a + b + c ... */
#define DM_LANG_SOURCE_MAX ((size_t)16 << 20)
#define DM_LANG_MEMORY_MAX ((size_t)512 << 20)

/* A place in the table of names. */
typedef struct dm_name_slot {
    uint32_t hash;
    struct dm_lang_name *name; /* NULL: free */
} dm_name_slot;

/* An interned name. Names of the common part (common.h) also say what they mean in every program. */
typedef struct dm_lang_name {
    uint32_t length;
    uint32_t number;                   /* the common ones first, then those of the workspace */
    const struct dm_known_name *known; /* what it is in Warp's namespace; NULL: nothing there */
    const char *adjoint;               /* "adj_" and the name, once it was asked for */
    uint8_t token;                     /* a keyword's dm_token_kind; 0: no keyword */
    uint8_t in_c;                      /* may it be a name in C, too? a dm_name_in_c */
    char text[];
} dm_lang_name;

static inline const dm_lang_name *dm_lang_name_of(const char *interned)
{
    return (const dm_lang_name *)(const void *)(interned - offsetof(dm_lang_name, text));
}

/* Readable bytes, counted from the start of a text that is looked up as a name (PADDING) and of an
 * interned name (ROOM), however short it is: both are read in pieces of a fixed size. */
#define DM_NAME_PADDING 16
#define DM_NAME_ROOM 32

/* Append an interned name. Nearly all are short: one copy of a fixed size, and no call. */
static inline void dm_put_name(dm_buffer *out, const char *interned)
{
    size_t length = dm_lang_name_of(interned)->length;
    if (length > DM_NAME_ROOM || out->capacity - out->size <= DM_NAME_ROOM || out->failed) {
        dm_buffer_append(out, interned, length);
        return;
    }
    memcpy(out->data + out->size, interned, DM_NAME_ROOM);
    out->size += length;
    out->data[out->size] = 0;
}

typedef enum dm_name_in_c { DM_NAME_NOT_SEEN, DM_NAME_FINE, DM_NAME_TAKEN } dm_name_in_c;

typedef struct dm_common dm_common;

/* What one compilation of a workspace leaves to the next: names, types that no program declared,
 * calls of builtins, texts of helpers. It is a cache: the output does not depend on it, and it is
 * emptied when it has grown large. */
typedef struct dm_kept {
    dm_arena arena;
    unsigned char *room, *room_end; /* zeroed bytes of the arena that are free */
    dm_name_slot *names;            /* hash table of interned names, the common ones included */
    uint32_t name_capacity, name_count;
    void *recent;               /* tokens that were found lately, see lex.c */
    struct dm_name_mark *marks; /* by a name's number, see print_name.c */
    uint32_t mark_capacity;
    struct dm_number_text *numbers;      /* see print_expr.c */
    const struct dm_value **warp_values; /* by a common name's number, see namespace.c */
    struct dm_type_table *types;
    struct dm_bind **binds; /* hash table of calls of builtins, see builtins.h */
    uint32_t compilations;  /* so far: the stamp of what was seen in one */
    uint32_t texts;         /* texts and functions printed so far, likewise */
} dm_kept;

/* Memory that compilations reuse. One compilation at a time. */
typedef struct dm_workspace {
    dm_arena arena;
    dm_kept kept;
    dm_buffer scratch;
    dm_buffer **texts;
    int text_count;
    dm_buffer tokens, copy;
    bool busy;
} dm_workspace;

/* Begin anew with nothing kept. */
void dm_lang_forget(dm_kept *kept);
void dm_workspace_init(dm_workspace *workspace);
void dm_workspace_deinit(dm_workspace *workspace);

typedef struct dm_lang {
    dm_arena arena;
    dm_workspace *workspace;        /* where its memory came from; NULL: its own */
    dm_kept *kept, own_kept;        /* of the workspace, or its own */
    unsigned char *room, *room_end; /* zeroed bytes of the arena that are free */
    dm_lang_source *sources;
    dm_lang_source *last_source;
    dm_diag *diags, *last_diag;
    int error_count, warning_count;
    dm_pos library_call;     /* where ours was called from, while library code is compiled */
    bool keep_inserts;       /* a component that was set is read from the whole, as Warp does */
    const dm_common *common; /* NULL: this is its own */
    struct dm_type_table *types;
    struct dm_type *own_types;  /* structs, tuples and what is made of them */
    struct dm_type *seen_types; /* numeric ones that were asked for, and structs */
    struct dm_bind *own_binds;  /* calls of builtins with such types */
    dm_buffer scratch;          /* of dm_lang_format */
    dm_buffer **texts;          /* pieces of text being made, the last opened last */
    int text_count, text_open;
    dm_buffer tokens, copy; /* of the source being parsed: see lex.c */
    jmp_buf bail;
    const char *bail_reason;
} dm_lang;

/* `common` is NULL afterwards when memory ran out; that is checked before parsing. */
void dm_lang_init(dm_lang *lang);
/* The same with memory of a workspace (NULL: none). */
void dm_lang_init_in(dm_lang *lang, dm_workspace *workspace);
void dm_lang_init_plain(dm_lang *lang); /* without the common part: for making it */
void dm_lang_deinit(dm_lang *lang);
_Noreturn void dm_lang_bail(dm_lang *lang, const char *reason);

/* Zeroed memory of this compilation, aligned to 8 bytes; never NULL. */
void *dm_lang_alloc_slow(dm_lang *lang, size_t size);
static inline void *dm_lang_alloc(dm_lang *lang, size_t size)
{
    unsigned char *memory = lang->room;
    if (size >= (size_t)(lang->room_end - memory))
        return dm_lang_alloc_slow(lang, size);
    lang->room = memory + (size + 7) / 8 * 8;
    return memory;
}
void *dm_lang_alloc_array(dm_lang *lang, size_t count, size_t size);
/* The same, kept for later compilations. */
void *dm_lang_keep(dm_lang *lang, size_t size);
/* One pointer per distinct spelling: names are compared by address. */
const char *dm_lang_intern(dm_lang *lang, const char *text, size_t length);
const char *dm_lang_intern_text(dm_lang *lang, const char *text);
/* The same for a text that no other name of this compilation equals. It is not kept for later
 * compilations, so that names which occur once do not fill the table. */
const char *dm_lang_lone_name(dm_lang *lang, const char *text, size_t length);
/* Is there a name with this text? */
bool dm_lang_is_name(const dm_lang *lang, const char *text, size_t length);
/* "adj_x" for an interned "x", interned. */
const char *dm_lang_adjoint_name(dm_lang *lang, const char *name);
/* The same where DM_NAME_PADDING bytes may be read from `text` on, however short it is. */
const dm_lang_name *dm_lang_intern_padded(dm_lang *lang, const char *text, size_t length);
/* printf for the few conversions that texts are made of (%s %d %u %c %lld %llu %%; others go the
 * long way): most of a compilation's time is writing text. */
void dm_emit(dm_buffer *out, const char *format, ...) DM_PRINTF(2, 3);
void dm_put_number(dm_buffer *out, long long number); /* %lld, without a format to read */
void dm_emit_list(dm_buffer *out, const char *format, va_list args) DM_PRINTF(2, 0);
char *dm_lang_format(dm_lang *lang, const char *format, ...) DM_PRINTF(2, 3);

/* Open an empty buffer for a piece of text; close the last `count` that were opened. Their memory
 * is reused, and freed with the compilation. */
dm_buffer *dm_text_open(dm_lang *lang);
void dm_text_close(dm_lang *lang, int count);

/* A growing array in the arena: `items` has room for `count + 1` after the call. */
void dm_lang_grow(dm_lang *lang, void **items, int count, int *capacity, size_t size);
#define DM_LANG_PUSH(lang, items, count, capacity, item)                                           \
    do {                                                                                           \
        if ((count) >= (capacity))                                                                 \
            dm_lang_grow(lang, (void **)&(items), count, &(capacity), sizeof *(items));            \
        (items)[(count)++] = (item);                                                               \
    } while (0)
/* The same for an array of pointers. */
#define DM_LANG_PUSH_POINTER(lang, items, count, capacity, item)                                   \
    do {                                                                                           \
        if ((count) >= (capacity))                                                                 \
            dm_lang_grow(lang, (void **)&(items), count, &(capacity), sizeof(void *));             \
        (items)[(count)++] = (item);                                                               \
    } while (0)

/* The text must live as long as the compilation. */
dm_lang_source *dm_lang_add_source(dm_lang *lang, const char *name, const char *text, size_t size);
void dm_lang_find_lines(dm_lang *lang, dm_lang_source *source);
const dm_lang_source *dm_lang_find_source(const dm_lang *lang, dm_pos pos);
/* 1-based; the column counts bytes. */
void dm_lang_locate(dm_lang *lang, dm_pos pos, const dm_lang_source **source, int *line,
                    int *column);

void dm_lang_error(dm_lang *lang, dm_pos pos, dm_pos end, const char *hint, const char *format, ...)
    DM_PRINTF(5, 6);
void dm_lang_warning(dm_lang *lang, dm_pos pos, dm_pos end, const char *hint, const char *format,
                     ...) DM_PRINTF(5, 6);
/* "file:3:9: error: ...", the line, a caret and the hint, for each diagnostic. */
void dm_lang_print_diags(dm_lang *lang, dm_buffer *out);

#endif
