/* SPDX-License-Identifier: MIT */
/* builtins.c - parses the rows of builtins.def once, finds them by name and matches calls; see
 * builtins.h. A malformed row is a bug of ours and asserts; tests/lang/test_builtins.c reads them all. */
#include "lang/sema/builtins.h"

#include "lang/common.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static dm_builtin rows[] = {
#define BUILTIN(signature_, text_, adjoint_)                                                       \
    {.signature = signature_, .text = text_, .adjoint = adjoint_},
#include "lang/sema/builtins.def"
#undef BUILTIN
};
#define ROW_COUNT ((int)(sizeof rows / sizeof rows[0]))

#define TABLE_SIZE 2048u
static dm_builtin *table[TABLE_SIZE];
static const dm_builtin *numbered[DM_ROW_COUNT];
static char pool[1 << 16]; /* names and adjoint expressions */
static size_t pool_used;

static const char *keep(const char *text, size_t length)
{
    assert(pool_used + length + 1 <= sizeof pool);
    char *copy = pool + pool_used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    pool_used += length + 1;
    return copy;
}

/* ---- Reading a signature ---- */

static void skip_spaces(const char **at)
{
    while (**at == ' ')
        (*at)++;
}

static bool take(const char **at, const char *text)
{
    skip_spaces(at);
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

static const char *read_word(const char **at)
{
    skip_spaces(at);
    const char *start = *at;
    while (isalnum((unsigned char)**at) || **at == '_')
        (*at)++;
    assert(*at > start);
    return keep(start, (size_t)(*at - start));
}

static int scalar_of(const char *word)
{
    static const char *const names[] = {"bool", "i8",  "u8",  "i16", "u16", "i32",
                                        "u32",  "i64", "u64", "f16", "f32", "f64"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(names[i], word) == 0)
            return i;
    return -1;
}

static void read_scalar(const char **at, dm_pattern *out)
{
    const char *word = read_word(at);
    int fixed = scalar_of(word);
    if (fixed >= 0) {
        out->fixed = (uint8_t)fixed;
    } else {
        assert(word[1] == '\0' && strchr("FISB", word[0]) != NULL);
        out->scalar = word[0];
    }
}

static void read_length(const char **at, char *name, int *number)
{
    const char *word = read_word(at);
    if (isdigit((unsigned char)word[0]))
        *number = atoi(word);
    else
        *name = word[0];
}

static dm_pattern read_pattern(const char **at)
{
    dm_pattern p = {.kind = DM_TYPE_SCALAR, .cols = 1};
    if (take(at, "vec[")) {
        p.kind = DM_TYPE_VEC;
        read_length(at, &p.rows_name, &p.rows);
        take(at, ",");
        read_scalar(at, &p);
        take(at, "]");
    } else if (take(at, "mat[")) {
        p.kind = DM_TYPE_MAT;
        read_length(at, &p.rows_name, &p.rows);
        take(at, ",");
        read_length(at, &p.cols_name, &p.cols);
        take(at, ",");
        read_scalar(at, &p);
        take(at, "]");
    } else if (take(at, "quat[")) {
        p.kind = DM_TYPE_QUAT;
        p.rows = 4;
        read_scalar(at, &p);
        take(at, "]");
    } else if (take(at, "transform[")) {
        p.kind = DM_TYPE_TRANSFORM;
        p.rows = 7;
        read_scalar(at, &p);
        take(at, "]");
    } else if (take(at, "array")) {
        p.kind = DM_TYPE_ARRAY;
        if (isdigit((unsigned char)**at))
            p.ndim = *(*at)++ - '0';
        take(at, "[");
        const char *word = read_word(at);
        p.element = word[0];
        if (scalar_of(word) >= 0) {
            p.element = 0;
            p.fixed = (uint8_t)scalar_of(word);
        }
        take(at, "]");
    } else if (take(at, "str")) {
        p.kind = DM_TYPE_STRING;
    } else if (take(at, "None")) {
        p.kind = DM_TYPE_NONE;
    } else {
        const char *word = *at;
        skip_spaces(&word);
        if ((word[0] == 'X' || word[0] == 'Y') && !isalnum((unsigned char)word[1])) {
            p.kind = DM_TYPE_ANY;
            p.element = word[0];
            *at = word + 1;
        } else {
            read_scalar(at, &p);
        }
    }
    return p;
}

static void read_adjoints(dm_builtin *row)
{
    for (const char *at = row->adjoint; at != NULL && *at != '\0';) {
        const char *name = read_word(&at);
        int i = 0;
        while (i < row->param_count && strcmp(row->params[i].name, name) != 0)
            i++;
        assert(i < row->param_count);
        take(&at, ":");
        skip_spaces(&at);
        size_t length = strcspn(at, ";");
        row->params[i].adjoint = keep(at, length);
        at += length;
        take(&at, ";");
        skip_spaces(&at);
    }
}

/* How tightly an expression text binds; the numbers are print_expr.c's. */
static int precedence_of(const char *text)
{
    static const struct {
        const char *op;
        int level;
    } levels[] = {{" * ", 13},  {" / ", 13}, {" % ", 13},  {" + ", 12}, {" - ", 12},  {" << ", 11},
                  {" >> ", 11}, {" < ", 10}, {" <= ", 10}, {" > ", 10}, {" >= ", 10}, {" == ", 9},
                  {" != ", 9},  {" & ", 8},  {" ^ ", 7},   {" | ", 6},  {" && ", 5},  {" || ", 4}};
    if (text == NULL || text[0] == '{')
        return 16;
    if (strstr(text, " ? ") != NULL)
        return 3;
    if (text[0] == '$')
        for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
            if (strstr(text, levels[i].op) != NULL)
                return levels[i].level;
    return text[0] == '-' || text[0] == '!' || text[0] == '~' || text[0] == '(' ? 14 : 16;
}

static void read_row(dm_builtin *row)
{
    const char *at = row->signature;
    row->name = read_word(&at);
    take(&at, "(");
    while (!take(&at, ")")) {
        assert(row->param_count < DM_BUILTIN_PARAMS_MAX);
        dm_builtin_param *param = &row->params[row->param_count++];
        param->name = read_word(&at);
        take(&at, ":");
        param->pattern = read_pattern(&at);
        if (take(&at, "=")) {
            skip_spaces(&at);
            size_t length = strcspn(at, ",)");
            param->initial = keep(at, length);
            at += length;
        }
        take(&at, ",");
    }
    bool has_result = take(&at, "->");
    assert(has_result);
    (void)has_result;
    row->result = read_pattern(&at);
    for (int i = 0; i < row->param_count; i++)
        row->may_read |= row->params[i].pattern.kind == DM_TYPE_ARRAY ||
                         row->params[i].pattern.kind == DM_TYPE_ANY;
    read_adjoints(row);
    row->precedence = precedence_of(row->text);
}

static uint32_t slot_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash & (TABLE_SIZE - 1);
}

static const dm_builtin *find_row(const char *name)
{
    for (uint32_t slot = slot_of(name); table[slot] != NULL; slot = (slot + 1) & (TABLE_SIZE - 1))
        if (strcmp(table[slot]->name, name) == 0)
            return table[slot];
    return NULL;
}

static void read_rows(void)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        read_row(&rows[i]);
        uint32_t slot = slot_of(rows[i].name);
        while (table[slot] != NULL && strcmp(table[slot]->name, rows[i].name) != 0)
            slot = (slot + 1) & (TABLE_SIZE - 1);
        if (table[slot] == NULL) {
            table[slot] = &rows[i];
        } else {
            dm_builtin *last = table[slot];
            while (last->next != NULL)
                last = last->next;
            last->next = &rows[i];
        }
    }
    static const char *const names[] = {
#define X(number, name) [DM_ROW_##number] = name,
        DM_ROWS(X)
#undef X
    };
    for (int n = DM_ROW_OTHER + 1; n < DM_ROW_COUNT; n++) {
        dm_builtin *row = (dm_builtin *)find_row(names[n]);
        assert(row != NULL);
        numbered[n] = row;
        for (; row != NULL; row = row->next)
            row->number = (dm_row_number)n;
    }
    for (int i = 0; i < ROW_COUNT; i++)
        if (strncmp(rows[i].name, "_warp_", 6) == 0)
            for (dm_builtin *row = (dm_builtin *)find_row(rows[i].name + 6); row != NULL;
                 row = row->next)
                row->compat = find_row(rows[i].name);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const dm_builtin *dm_builtin_rows(int *count)
{
    pthread_once(&once, read_rows);
    *count = ROW_COUNT;
    return rows;
}

const dm_builtin *dm_builtin_find(const char *name)
{
    pthread_once(&once, read_rows);
    return find_row(name);
}

const dm_builtin *dm_builtin_row(dm_row_number number)
{
    return numbered[number]; /* common.c has parsed all rows before */
}

/* ---- Adjoints and defaults as trees ---- */

static uint32_t find_mentions(const dm_builtin *row, const dm_ast *at)
{
    uint32_t found = 0;
    if (at == NULL)
        return 0;
    if (at->kind == DM_AST_NAME) {
        for (int i = 0; i < row->param_count; i++)
            found |= at->name == row->params[i].name ? 1u << i : 0;
        return strcmp(at->name, "ret") == 0 ? DM_MENTIONS_RET : found;
    }
    found = find_mentions(row, at->a) | find_mentions(row, at->b) | find_mentions(row, at->c);
    for (int i = 0; i < at->count; i++)
        found |= find_mentions(row, at->items[i]);
    return found;
}

static const dm_ast *parse_text(dm_lang *lang, const char *name, const char *text)
{
    if (text == NULL)
        return NULL;
    dm_lang_source *source = dm_lang_add_source(lang, name, text, strlen(text));
    source->library = true;
    return dm_lang_parse_expression(lang, source);
}

void dm_builtin_parse(dm_lang *lang)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        dm_builtin *row = &rows[i];
        dm_builtin_read_text(lang, row);
        for (int k = 0; k < row->param_count; k++)
            row->params[k].name = dm_lang_intern_text(lang, row->params[k].name);
        for (int k = 0; k < row->param_count; k++) {
            dm_builtin_param *param = &row->params[k];
            param->initial_tree = parse_text(lang, "default", param->initial);
            param->adjoint_tree = parse_text(lang, "adjoint", param->adjoint);
            param->mentions = find_mentions(row, param->adjoint_tree);
        }
        dm_builtin_read_adjoints(lang, row);
    }
}

/* ---- Matching a call ---- */

#define BIND_SLOTS 2048u

static bool class_holds(char letter, dm_scalar scalar)
{
    switch (letter) {
    case 'F':
        return dm_scalar_is_float(scalar);
    case 'I':
        return dm_scalar_is_int(scalar);
    case 'S':
        return dm_scalar_is_float(scalar) || dm_scalar_is_int(scalar);
    default: /* B */
        return true;
    }
}

static int type_slot(char letter)
{
    switch (letter) {
    case 'F':
        return 0;
    case 'S':
        return 1;
    case 'I':
        return 2;
    case 'B':
        return 3;
    case 'X':
        return 4;
    case 'Y':
        return 5;
    default:
        return -1;
    }
}

static int number_slot(char letter)
{
    return letter == 'N' ? 0 : letter == 'R' ? 1 : letter == 'C' ? 2 : letter == 'K' ? 3 : -1;
}

const dm_type *dm_bind_type(const dm_bind *bind, char letter)
{
    int slot = type_slot(letter);
    return slot < 0 ? NULL : bind->types[slot];
}

int dm_bind_number(const dm_bind *bind, char letter)
{
    int slot = number_slot(letter);
    return slot < 0 ? 0 : bind->numbers[slot];
}

static bool bind_type(dm_bind *bind, char letter, const dm_type *type)
{
    const dm_type **slot = &bind->types[type_slot(letter)];
    if (*slot == NULL)
        *slot = type;
    return *slot == type;
}

static bool bind_length(dm_bind *bind, char name, int number, int length)
{
    if (name == 0)
        return number == length;
    int *slot = &bind->numbers[number_slot(name)];
    if (*slot == 0)
        *slot = length;
    return *slot == length;
}

static bool match_scalar(dm_lang *lang, const dm_pattern *p, dm_scalar scalar, dm_bind *bind)
{
    if (p->scalar == 0)
        return dm_type_scalar(lang, (dm_scalar)p->fixed)->scalar == scalar;
    return class_holds(p->scalar, scalar) &&
           bind_type(bind, p->scalar, dm_type_scalar(lang, scalar));
}

static bool match(dm_lang *lang, const dm_pattern *p, const dm_type *type, dm_bind *bind)
{
    if (p->kind == DM_TYPE_ANY)
        return bind_type(bind, p->element, type);
    if (p->kind != type->kind)
        return false;
    switch (p->kind) {
    case DM_TYPE_SCALAR:
        return match_scalar(lang, p, (dm_scalar)type->scalar, bind);
    case DM_TYPE_ARRAY:
        if (p->ndim != 0 && p->ndim != type->ndim)
            return false;
        if (p->element == 0)
            return type->element == dm_type_scalar(lang, (dm_scalar)p->fixed);
        if (strchr("FISB", p->element) != NULL)
            return type->element->kind == DM_TYPE_SCALAR &&
                   class_holds(p->element, (dm_scalar)type->element->scalar) &&
                   bind_type(bind, p->element, type->element);
        return bind_type(bind, p->element, type->element);
    case DM_TYPE_STRING:
        return true;
    default:
        return bind_length(bind, p->rows_name, p->rows, type->rows) &&
               bind_length(bind, p->cols_name, p->cols, type->cols) &&
               match_scalar(lang, p, (dm_scalar)type->scalar, bind);
    }
}

static const dm_type *result_type(dm_lang *lang, const dm_pattern *p, const dm_bind *bind)
{
    dm_scalar scalar = (dm_scalar)p->fixed;
    if (p->scalar != 0)
        scalar = (dm_scalar)dm_bind_type(bind, p->scalar)->scalar;
    int height = p->rows_name == 0 ? p->rows : dm_bind_number(bind, p->rows_name);
    int width = p->cols_name == 0 ? p->cols : dm_bind_number(bind, p->cols_name);
    switch (p->kind) {
    case DM_TYPE_NONE:
        return lang->types->none;
    case DM_TYPE_ANY:
        return dm_bind_type(bind, p->element);
    case DM_TYPE_VEC:
        return dm_type_vec(lang, height, scalar);
    case DM_TYPE_MAT:
        return dm_type_mat(lang, height, width, scalar);
    case DM_TYPE_QUAT:
        return dm_type_quat(lang, scalar);
    case DM_TYPE_TRANSFORM:
        return dm_type_transform(lang, scalar);
    default:
        return dm_type_scalar(lang, scalar);
    }
}

static bool match_row(dm_lang *lang, const dm_builtin *row, const dm_type *const *args, int count,
                      dm_bind *bind)
{
    if (count != row->param_count)
        return false;
    memset(bind->types, 0, sizeof bind->types);
    memset(bind->numbers, 0, sizeof bind->numbers);
    for (int i = 0; i < count; i++)
        if (!match(lang, &row->params[i].pattern, args[i], bind))
            return false;
    bind->row = row;
    bind->result = result_type(lang, &row->result, bind);
    return true;
}

const dm_bind *dm_builtin_bind(dm_lang *lang, const dm_builtin *first, const dm_type *const *args,
                               int count)
{
    size_t bytes = (size_t)count * sizeof(void *);
    uintptr_t hash = (uintptr_t)(first - rows) * 31;
    bool own = false;
    for (int i = 0; i < count; i++) {
        hash = hash * 5 + ((uintptr_t)args[i] >> 4);
        own |= args[i]->own;
    }
    if (lang->kept->binds == NULL)
        lang->kept->binds = dm_lang_keep(lang, BIND_SLOTS * sizeof(void *));
    dm_bind **slot =
        own ? &lang->own_binds : &lang->kept->binds[(hash ^ hash >> 8) & (BIND_SLOTS - 1)];
    for (const dm_bind *b = *slot; b != NULL; b = b->next) {
        bool same = (b->first == first) & (b->count == count);
        for (int i = 0; same && i < count; i++)
            same = b->args[i] == args[i];
        if (same) {
            dm_type_see(lang, b->result);
            return b;
        }
    }
    dm_bind found = {.first = first, .count = count, .own = own, .next = *slot};
    for (const dm_builtin *row = first; row != NULL; row = row->next) {
        if (!match_row(lang, row, args, count, &found))
            continue;
        dm_bind *kept = own ? dm_lang_alloc(lang, sizeof *kept + bytes)
                            : dm_lang_keep(lang, sizeof *kept + bytes);
        *kept = found;
        if (count > 0)
            memcpy(kept->args, args, bytes);
        *slot = kept;
        return kept;
    }
    return NULL;
}
