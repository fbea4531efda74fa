/* SPDX-License-Identifier: MIT */
/* print_help.h - helper functions of a text between print_help.c, which says how they are made and
 * kept, and print_atomic.c. A function that gives a helper's name goes
 *
 *     dm_helper *h = dm_helper_of_type(pr, type, WHICH, "word");     its entry in the type's list
 *     if (dm_helper_is_there(pr, h))                                 copied where it is known
 *         return h->name;
 *     dm_helper_begin(pr, &making, h);                               else written to pr->helpers
 *     ...
 *     return dm_helper_end(pr); */
#ifndef DM_LANG_PRINT_HELP_H
#define DM_LANG_PRINT_HELP_H

#include "lang/emit/print.h"

/* Which helper of a list; a view for each number of indices, a slice for each mask, an atomic for
 * each kind. */
enum {
    HELP_ROW,
    HELP_MAKE,
    HELP_ZERO,
    HELP_AT,
    HELP_GRAD_AT,
    HELP_ACCUMULATE,
    HELP_CAST,
    HELP_GET,
    HELP_ADJOINT,
    HELP_VIEW,
    HELP_SLICE = HELP_VIEW + 8,
    HELP_ATOMIC = HELP_SLICE + 16,
};

/* The helper in a list; NULL: it was never made. */
dm_helper *dm_helper_find(const dm_printer *pr, dm_helper *list, int which, const void *other);
/* A new one in a list; its usual name is `first`_`second`. `own`: of this compilation alone. */
dm_helper *dm_helper_add(dm_printer *pr, dm_helper **list, bool own, int which, const void *other,
                         const char *first, const char *second);
/* The helper of a type, made an entry of the type's list when new. */
dm_helper *dm_helper_of_type(dm_printer *pr, const dm_type *type, int which, const char *word);
bool dm_helper_is_there(dm_printer *pr, dm_helper *h);
void dm_helper_begin(dm_printer *pr, dm_making *making, dm_helper *h);
const char *dm_helper_end(dm_printer *pr);
/* From float32 to float16, or back. */
const char *dm_help_half(dm_printer *pr, bool to_half);

#endif
