/* SPDX-License-Identifier: MIT */
/* print_name.c - C names for variables, functions, structs and fields. A name of the source is kept
 * unless it is reserved (reserved.def) or already used in its function or in the text. Used names are
 * marked with the number of the function or text, so nothing is cleared between texts. */
#include "lang/common.h"
#include "lang/emit/print.h"

#include <pthread.h>
#include <string.h>

/* ---- Names that are taken everywhere ---- */

static const char *const reserved[] = {
#define RESERVED(from, words) words,
#include "lang/emit/reserved.def"
#undef RESERVED
};

typedef struct word {
    const char *text;
    size_t length;
} word;

#define RESERVED_SLOTS 4096u
static word reserved_slots[RESERVED_SLOTS];
static pthread_once_t reserved_once = PTHREAD_ONCE_INIT;

/* Where the word is in the table, or would be. */
static word *reserved_slot(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    word *slot = &reserved_slots[hash & (RESERVED_SLOTS - 1)];
    while (slot->text != NULL && (slot->length != length || memcmp(slot->text, text, length) != 0))
        slot = slot == &reserved_slots[RESERVED_SLOTS - 1] ? reserved_slots : slot + 1;
    return slot;
}

static void fill_reserved(void)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        for (const char *at = reserved[i]; *at != '\0';) {
            size_t length = strcspn(at, " ");
            *reserved_slot(at, length) = (word){at, length};
            at += length + strspn(at + length, " ");
        }
}

static bool is_reserved(const char *name)
{
    if (strncmp(name, "array", 5) == 0 && name[5] >= '1' && name[5] <= '4' && name[6] == '_')
        return true; /* types of arrays are declared when they are first used */
    pthread_once(&reserved_once, fill_reserved);
    return reserved_slot(name, strlen(name))->text != NULL || name[0] == '_' ||
           strncmp(name, "cuda", 4) == 0 || strncmp(name, "CUDA", 4) == 0 ||
           strstr(name, "__") != NULL;
}

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool all_plain(const char *name)
{
    while (is_plain((unsigned char)*name))
        name++;
    return *name == '\0';
}

/* Only letters, digits and '_': letters beyond ASCII become their code, the '.' of the adjoint of a
 * variable in a custom gradient (lower_grad.c) becomes '_'. */
static const char *plain(dm_lang *lang, const char *name)
{
    if (all_plain(name))
        return name;
    bool wide = false;
    for (const char *p = name; *p != '\0'; p++)
        wide |= (unsigned char)*p >= 0x80;
    const char *text = wide ? "u" : "";
    for (const char *p = name; *p != '\0'; p++)
        text = (unsigned char)*p >= 0x80
                   ? dm_lang_format(lang, "%s%02x", text, (unsigned char)*p)
                   : dm_lang_format(lang, "%s%c", text, is_plain((unsigned char)*p) ? *p : '_');
    return dm_lang_intern_text(lang, text);
}

void dm_print_name_in_c(dm_lang_name *name)
{
    bool taken = is_reserved(name->text) || !all_plain(name->text);
    name->in_c = taken ? DM_NAME_TAKEN : DM_NAME_FINE;
}

/* Another name where C does not take the wanted one. */
static const char *changed(dm_lang *lang, const char *wanted)
{
    wanted = plain(lang, wanted);
    if (!is_reserved(wanted))
        return wanted;
    const char *text = wanted;
    while (*text == '_')
        text++;
    char *copy = dm_lang_format(
        lang, "%s_",
        *text == '\0' || (*text >= '0' && *text <= '9') ? dm_lang_format(lang, "v%s", text) : text);
    for (char *p; (p = strstr(copy, "__")) != NULL;)
        memmove(p, p + 1, strlen(p));
    return dm_lang_intern_text(lang, is_reserved(copy) ? dm_lang_format(lang, "v_%s", copy) : copy);
}

/* Does the name begin like one of a type that is made here: vec3f, array2_f32, tuple_f32_i32? */
static bool like_type(const char *name)
{
    static const char *const starts[] = {"array", "vec", "mat", "quat", "transform", "tuple_"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        size_t length = strlen(starts[i]);
        if (strncmp(name, starts[i], length) != 0)
            continue;
        const char *rest = name + length;
        if (i > 2 || (*rest >= '0' && *rest <= '9'))
            return true;
    }
    return false;
}

const char *dm_print_struct_name(dm_lang *lang, const char *wanted)
{
    static const char *const helpers[] = {"make",       "zero", "at",   "grad_at", "adjoint",
                                          "accumulate", "get",  "with", "cast"};
    enum { SHORT = 8 };
    const char *name = changed(lang, wanted), *last = strrchr(name, '_');
    bool taken = like_type(name);
    /* Helpers use short words for their parameters and variables. */
    taken |= strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") == strlen(name) &&
             strlen(name) <= SHORT;
    if (last != NULL) {
        taken |= like_type(last + 1) || strncmp(last, "_view", 5) == 0 ||
                 strncmp(last, "_slice", 6) == 0 || strspn(last + 1, "fiu0123456789") > 1;
        for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++)
            taken |= strcmp(last + 1, helpers[i]) == 0;
    }
    return taken ? dm_lang_intern_text(lang, dm_lang_format(lang, "%s_", name)) : name;
}

const char *dm_print_field_name(dm_lang *lang, const char *wanted)
{
    return changed(lang, wanted);
}

/* ---- Names that are taken here ---- */

typedef enum where { FUNCTION, TEXT } where;

/* What a workspace notes about a name. */
struct dm_name_mark {
    uint32_t taken[2];     /* stamps of the last function and of the last text that have it */
    int next[2];           /* there: the number to try next behind it */
    uint32_t helper;       /* the stamp of the last text with a helper of this name */
    uint32_t avoided;      /* the number of the last text that does without it */
    int count;             /* of `numbered` */
    const char **numbered; /* name_1, name_2 ... */
};

static struct dm_name_mark *mark_of(dm_printer *pr, const char *name)
{
    dm_kept *kept = pr->lang->kept;
    uint32_t number = dm_lang_name_of(name)->number;
    if (number >= kept->mark_capacity) {
        uint32_t capacity = number + number / 2 + 64;
        struct dm_name_mark *larger = dm_lang_keep(pr->lang, capacity * sizeof *larger);
        if (kept->mark_capacity > 0)
            memcpy(larger, kept->marks, kept->mark_capacity * sizeof *larger);
        kept->marks = larger;
        kept->mark_capacity = capacity;
    }
    return &kept->marks[number];
}

/* name_n. The first few are kept. */
static const char *numbered(dm_printer *pr, const char *name, int n)
{
    enum { KEPT = 64 };
    struct dm_name_mark *mark = mark_of(pr, name);
    if (n <= mark->count)
        return mark->numbered[n - 1];
    const char *made = dm_lang_intern_text(pr->lang, dm_lang_format(pr->lang, "%s_%d", name, n));
    mark = mark_of(pr, name); /* the table may have moved */
    if (n == mark->count + 1 && n <= KEPT) {
        if ((mark->count & (mark->count - 1)) == 0) { /* full: 0, 1, 2, 4 ... */
            const char **larger =
                dm_lang_keep(pr->lang, (size_t)(mark->count * 2 + 1) * sizeof *larger);
            if (mark->count > 0)
                memcpy(larger, mark->numbered, (size_t)mark->count * sizeof *larger);
            mark->numbered = larger;
        }
        mark->numbered[mark->count++] = made;
    }
    return made;
}

static uint32_t stamp_of(const dm_printer *pr, where place)
{
    return place == TEXT ? pr->stamp : pr->function_stamp;
}

static bool is_taken(dm_printer *pr, where place, const char *name)
{
    const struct dm_name_mark *mark = mark_of(pr, name);
    return mark->taken[TEXT] == pr->stamp || mark->taken[place] == stamp_of(pr, place) ||
           mark->avoided == pr->attempts_of;
}

/* A name of the program equals a helper's, which shows only when the helper is first used. The text
 * is then printed again, and the program's name is changed. */
static void clash(dm_printer *pr, struct dm_name_mark *mark)
{
    mark->avoided = pr->attempts_of;
    pr->clashes = true;
}

static struct dm_name_mark *take(dm_printer *pr, where place, const char *name)
{
    struct dm_name_mark *mark = mark_of(pr, name);
    if (mark->taken[place] != stamp_of(pr, place)) {
        mark->taken[place] = stamp_of(pr, place);
        mark->next[place] = 0;
    }
    return mark;
}

static const char *fresh(dm_printer *pr, where place, const char *wanted)
{
    const dm_lang_name *known = dm_lang_name_of(wanted);
    if (known->in_c == DM_NAME_NOT_SEEN)
        dm_print_name_in_c((dm_lang_name *)known);
    if (known->in_c == DM_NAME_TAKEN)
        wanted = changed(pr->lang, wanted);
    const char *name = wanted;
    while (is_taken(pr, place, name))
        name = numbered(pr, wanted, ++take(pr, place, wanted)->next[place]);
    struct dm_name_mark *mark = take(pr, place, name);
    if (mark->helper == pr->stamp)
        clash(pr, mark);
    return name;
}

const char *dm_print_fresh(dm_printer *pr, const char *wanted)
{
    return fresh(pr, FUNCTION, wanted);
}

const char *dm_print_global(dm_printer *pr, const char *wanted)
{
    return fresh(pr, TEXT, wanted);
}

bool dm_print_is_helper(dm_printer *pr, const char *name)
{
    return mark_of(pr, name)->helper == pr->stamp;
}

void dm_print_note_helper(dm_printer *pr, const char *name)
{
    struct dm_name_mark *mark = mark_of(pr, name);
    mark->helper = pr->stamp;
    /* Stamps of functions are later than that of their text. */
    if (mark->avoided != pr->attempts_of &&
        (mark->taken[TEXT] == pr->stamp || mark->taken[FUNCTION] > pr->stamp))
        clash(pr, mark);
}
