/* SPDX-License-Identifier: MIT */
/* print_help.c - types and helper functions of the text, each written once, when it is first used. A
 * helper's name contains the types that it is for, and so identifies it. */
#include "lang/emit/print_help.h"
#include "lang/sema/builtins.h"

#include <string.h>

const char *dm_print_qualifier(const dm_printer *pr)
{
    return pr->options.target == DM_TARGET_CUDA ? "static __device__ inline" : "static inline";
}

static void *allocate(dm_printer *pr, bool own, size_t size)
{
    return own ? dm_lang_alloc(pr->lang, size) : dm_lang_keep(pr->lang, size);
}

/* ---- Types ---- */

static void declare_type(dm_printer *pr, const dm_type *type)
{
    dm_buffer *out = pr->types;
    switch (type->kind) {
    case DM_TYPE_SCALAR:
        if (type->scalar == DM_F16)
            dm_buffer_puts(out, "typedef struct half { unsigned short bits; } half;\n");
        break;
    case DM_TYPE_VEC:
    case DM_TYPE_MAT:
    case DM_TYPE_QUAT:
    case DM_TYPE_TRANSFORM: {
        const char *scalar = dm_print_type(pr, dm_type_scalar(pr->lang, (dm_scalar)type->scalar));
        dm_emit(out, "typedef struct %s { %s c[%d]; } %s;", type->c_name, scalar,
                dm_type_components(type), type->c_name);
        if (type->kind == DM_TYPE_MAT)
            dm_emit(out, " /* %d rows of %d */", type->rows, type->cols);
        dm_buffer_putc(out, '\n');
        break;
    }
    case DM_TYPE_ARRAY: {
        const char *element = dm_print_type(pr, type->element);
        dm_emit(out,
                "typedef struct %s {\n"
                "    %s *data;\n"
                "    %s *grad; /* 0: none is kept */\n"
                "    long long stride[%d]; /* bytes */\n"
                "    int shape[%d];\n"
                "} %s;\n",
                type->c_name, element, element, type->ndim, type->ndim, type->c_name);
        break;
    }
    case DM_TYPE_STRUCT:
    case DM_TYPE_TUPLE:
        for (int i = 0; i < type->field_count; i++)
            dm_print_type(pr, type->fields[i].type);
        dm_emit(out, "typedef struct %s {\n", type->c_name);
        for (int i = 0; i < type->field_count; i++)
            dm_emit(out, "    %s %s;\n", dm_print_type(pr, type->fields[i].type),
                    type->fields[i].c_name);
        if (type->field_count == 0)
            dm_buffer_puts(out, "    char none;\n");
        dm_emit(out, "} %s;\n", type->c_name);
        break;
    default:
        break;
    }
}

/* The text of a type's declaration is made once. The types it contains are declared before it. */
static void declare(dm_printer *pr, dm_type *type)
{
    for (int i = 0; i < type->field_count; i++)
        dm_print_type(pr, type->fields[i].type);
    if (type->kind == DM_TYPE_ARRAY)
        dm_print_type(pr, type->element);
    if (dm_type_is_numeric(type))
        dm_print_type(pr, dm_type_scalar(pr->lang, (dm_scalar)type->scalar));
    if (type->declaration == NULL) {
        dm_buffer *all = pr->types, *text = dm_text_open(pr->lang);
        pr->types = text;
        declare_type(pr, type);
        pr->types = all;
        if (text->failed)
            dm_lang_bail(pr->lang, "out of memory");
        char *kept = allocate(pr, type->own, text->size + 1);
        if (text->size > 0)
            memcpy(kept, text->data, text->size);
        type->declaration = kept;
        type->declaration_length = text->size;
        dm_text_close(pr->lang, 1);
    }
    dm_buffer_append(pr->types, type->declaration, type->declaration_length);
}

/* The helper being made needs this type or helper before it. */
static void need(dm_printer *pr, const dm_type *type, dm_helper *helper)
{
    dm_making *making = pr->making;
    for (int i = 0; i < making->count; i++)
        if (making->needs[i].type == type && making->needs[i].helper == helper)
            return;
    dm_need made = {.type = type, .helper = helper};
    DM_LANG_PUSH(pr->lang, making->needs, making->count, making->capacity, made);
}

const char *dm_print_type(dm_printer *pr, const dm_type *type)
{
    if (type->declared != pr->stamp) {
        ((dm_type *)type)->declared = pr->stamp;
        declare(pr, (dm_type *)type);
    }
    if (pr->making != NULL)
        need(pr, type, NULL);
    return type->c_name;
}

/* ---- Making a helper ---- */

/* A helper has one text for each language, with checks and without. */
static int key_of(const dm_printer *pr, int which)
{
    return which * 4 + (pr->options.target == DM_TARGET_CUDA) + 2 * pr->options.bounds;
}

/* The helper in a list; NULL: it was never made. */
dm_helper *dm_helper_find(const dm_printer *pr, dm_helper *list, int which, const void *other)
{
    int key = key_of(pr, which);
    while (list != NULL && (list->key != key || list->other != other))
        list = list->next;
    return list;
}

/* A new one in a list; its usual name is `first`_`second`. */
dm_helper *dm_helper_add(dm_printer *pr, dm_helper **list, bool own, int which, const void *other,
                         const char *first, const char *second)
{
    dm_helper *made = allocate(pr, own, sizeof *made);
    const char *name = second == NULL ? first : dm_lang_format(pr->lang, "%s_%s", first, second);
    *made = (dm_helper){.next = *list,
                        .key = key_of(pr, which),
                        .other = other,
                        .own = own,
                        .usual = dm_lang_intern_text(pr->lang, name)};
    *list = made;
    return made;
}

/* The helper is in the text from here on, under this name. */
static void enter(dm_printer *pr, dm_helper *h, const char *name)
{
    h->printed = pr->stamp;
    h->name = name;
    dm_print_note_helper(pr, name);
}

/* Make sure the helper is in the text: a helper whose text is known is copied. False: the caller
 * must write the text, under the helper's name, between `begin` and `end`. */
bool dm_helper_is_there(dm_printer *pr, dm_helper *h)
{
    if (pr->making != NULL)
        need(pr, NULL, h);
    if (h->printed == pr->stamp)
        return true;
    if (dm_print_is_helper(pr, h->usual)) { /* by one for a type of the same name */
        h->printed = pr->stamp;
        h->name = h->usual;
        return true;
    }
    enter(pr, h, h->usual);
    if (h->text == NULL)
        return false;
    dm_making *outer = pr->making;
    pr->making = NULL;
    for (int i = 0; i < h->need_count; i++) {
        if (h->needs[i].type != NULL)
            dm_print_type(pr, h->needs[i].type);
        else
            dm_helper_is_there(pr, h->needs[i].helper); /* its text is known, too */
    }
    pr->making = outer;
    dm_buffer_append(pr->helpers, h->text, h->length);
    if (outer != NULL) /* it stands before the outer one's */
        outer->start = pr->helpers->size;
    return true;
}

void dm_helper_begin(dm_printer *pr, dm_making *making, dm_helper *h)
{
    *making = (dm_making){.helper = h, .start = pr->helpers->size, .outer = pr->making};
    pr->making = making;
}

/* The text is written: keep it where it has its usual name. */
const char *dm_helper_end(dm_printer *pr)
{
    dm_making *making = pr->making;
    dm_helper *h = making->helper;
    pr->making = making->outer;
    if (pr->making != NULL)
        pr->making->start = pr->helpers->size;
    bool complete = h->name == h->usual && !pr->helpers->failed;
    for (int i = 0; i < making->count; i++)
        complete &= making->needs[i].helper == NULL || making->needs[i].helper->text != NULL;
    if (complete) {
        size_t length = pr->helpers->size - making->start;
        size_t needs = (size_t)making->count * sizeof *making->needs;
        char *text = allocate(pr, h->own, length + 1);
        dm_need *kept = allocate(pr, h->own, needs + 1);
        memcpy(text, pr->helpers->data + making->start, length);
        if (needs > 0)
            memcpy(kept, making->needs, needs);
        h->needs = kept;
        h->need_count = making->count;
        h->length = length;
        h->text = text;
    }
    return h->name;
}

/* The helper of a type, made an entry of the type's list when new. */
dm_helper *dm_helper_of_type(dm_printer *pr, const dm_type *type, int which, const char *word)
{
    dm_helper *h = dm_helper_find(pr, type->helpers, which, NULL);
    return h != NULL ? h
                     : dm_helper_add(pr, &((dm_type *)type)->helpers, type->own, which, NULL,
                                     type->suffix, word);
}

/* ---- Rows ---- */

static void expand(dm_printer *pr, dm_buffer *out, const dm_bind *bind)
{
    const dm_builtin *row = bind->row;
    const dm_type *scalar = dm_bind_type(bind, 'F');
    if (scalar == NULL)
        scalar = dm_bind_type(bind, 'S');
    for (const dm_piece *piece = row->pieces; piece < row->pieces + row->piece_count; piece++) {
        const dm_type *type = NULL;
        switch (piece->kind) {
        case DM_PIECE_TEXT:
            dm_buffer_append(out, piece->text, piece->length);
            break;
        case DM_PIECE_PARAM:
            type = bind->args[piece->index];
            break;
        case DM_PIECE_RESULT:
            type = bind->result;
            break;
        case DM_PIECE_SUFFIX:
            if (scalar == NULL || scalar->scalar == DM_F32)
                dm_buffer_putc(out, 'f');
            break;
        case DM_PIECE_BLOCK:
            dm_buffer_puts(out, pr->options.target == DM_TARGET_CUDA ? "(int)blockDim.x" : "1");
            break;
        default:
            type = dm_bind_type(bind, (char)piece->index);
            if (type == NULL)
                dm_emit(out, "%d", dm_bind_number(bind, (char)piece->index));
            break;
        }
        if (type != NULL)
            dm_buffer_puts(out, dm_print_type(pr, type));
    }
}

static const char *row_name(dm_printer *pr, const dm_bind *bind)
{
    const dm_builtin *row = bind->row;
    const char *text = row->name[0] == '_' ? row->name + 1 : row->name;
    for (int i = 0; i < row->param_count; i++)
        if (i == 0 || bind->args[i] != bind->args[i - 1])
            text = dm_lang_format(pr->lang, "%s_%s", text, bind->args[i]->suffix);
    return text;
}

const char *dm_help_row(dm_printer *pr, const dm_bind *bind)
{
    const dm_builtin *row = bind->row;
    dm_helper *h = dm_helper_find(pr, bind->helpers, HELP_ROW, NULL);
    if (h != NULL && h->printed == pr->stamp)
        return h->name;
    if (h == NULL)
        h = dm_helper_add(pr, &((dm_bind *)bind)->helpers, bind->own, HELP_ROW, NULL,
                          row_name(pr, bind), NULL);
    if (!dm_print_is_helper(pr, h->usual)) {
        if (dm_helper_is_there(pr, h))
            return h->name;
    } else { /* max(v) and max(v, v) would have one name */
        const char *name = h->usual;
        for (int n = 2; dm_print_is_helper(pr, name); n++)
            name = dm_lang_intern_text(pr->lang, dm_lang_format(pr->lang, "%s_%d", h->usual, n));
        enter(pr, h, name);
    }
    dm_making making;
    dm_helper_begin(pr, &making, h);
    dm_buffer *body = dm_text_open(pr->lang);
    expand(pr, body, bind);
    dm_buffer *head = dm_text_open(pr->lang);
    for (int i = 0; i < row->param_count; i++)
        dm_emit(head, "%s%s %s", i > 0 ? ", " : "", dm_print_type(pr, bind->args[i]),
                row->params[i].name);
    dm_emit(pr->helpers, "%s %s %s(%s)\n", dm_print_qualifier(pr), dm_print_type(pr, bind->result),
            h->name, row->param_count == 0 ? "void" : dm_buffer_text(head));
    dm_buffer_append(pr->helpers, body->data, body->size);
    dm_buffer_putc(pr->helpers, '\n');
    dm_text_close(pr->lang, 1);
    dm_text_close(pr->lang, 1);
    return dm_helper_end(pr);
}

/* ---- Values of composite types ---- */

const char *dm_help_make(dm_printer *pr, const dm_type *type)
{
    dm_helper *h = dm_helper_of_type(pr, type, HELP_MAKE, "make");
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    bool fields = type->kind == DM_TYPE_STRUCT || type->kind == DM_TYPE_TUPLE;
    int count = fields ? type->field_count : dm_type_components(type);
    const char *scalar =
        fields ? "" : dm_print_type(pr, dm_type_scalar(pr->lang, (dm_scalar)type->scalar));
    const char *type_name = dm_print_type(pr, type);
    dm_buffer *out = pr->helpers;
    dm_emit(out, "%s %s %s(", dm_print_qualifier(pr), type_name, name);
    for (int i = 0; i < count; i++)
        dm_emit(out, "%s%s x%d", i > 0 ? ", " : "",
                fields ? dm_print_type(pr, type->fields[i].type) : scalar, i);
    dm_emit(out, ")\n{\n    %s r;\n", type_name);
    for (int i = 0; i < count; i++) {
        if (fields)
            dm_emit(out, "    r.%s = x%d;\n", type->fields[i].c_name, i);
        else
            dm_emit(out, "    r.c[%d] = x%d;\n", i, i);
    }
    dm_buffer_puts(out, "    return r;\n}\n\n");
    return dm_helper_end(pr);
}

const char *dm_help_zero(dm_printer *pr, const dm_type *type)
{
    dm_helper *h = dm_helper_of_type(pr, type, HELP_ZERO, "zero");
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    const char *type_name = dm_print_type(pr, type);
    dm_emit(pr->helpers, "%s %s %s(void)\n{\n    %s r = {0};\n    return r;\n}\n\n",
            dm_print_qualifier(pr), type_name, name, type_name);
    return dm_helper_end(pr);
}

static const char half_to_float_c[] =
    "static inline float f32_from_half(half h)\n"
    "{\n"
    "    const unsigned int sign = (unsigned int)(h.bits & 0x8000u) << 16;\n"
    "    const unsigned int exponent = (h.bits >> 10) & 31u, fraction = h.bits & 1023u;\n"
    "    union { unsigned int bits; float value; } r;\n"
    "    if (exponent == 31u)\n"
    "        r.bits = sign | 0x7F800000u | fraction << 13;\n"
    "    else if (exponent != 0u)\n"
    "        r.bits = sign | (exponent + 112u) << 23 | fraction << 13;\n"
    "    else {\n"
    "        r.value = (float)fraction * 5.9604645e-08f;\n"
    "        r.bits |= sign;\n"
    "    }\n"
    "    return r.value;\n"
    "}\n\n";

static const char half_from_float_c[] =
    "static inline half half_from_f32(float x)\n"
    "{\n"
    "    union { float value; unsigned int bits; } u;\n"
    "    half r;\n"
    "    u.value = x;\n"
    "    const unsigned int sign = u.bits >> 16 & 0x8000u;\n"
    "    unsigned int rest = u.bits & 0x7FFFFFFFu;\n"
    "    if (rest > 0x7F800000u) {\n"
    "        rest = 0x7E00u; /* not a number */\n"
    "    } else if (rest >= 0x477FF000u) {\n"
    "        rest = 0x7C00u; /* too large */\n"
    "    } else if (rest < 0x38800000u) {\n"
    "        u.bits = rest;\n"
    "        u.value += 0.5f; /* the sum's last bits are the result, rounded to even */\n"
    "        rest = u.bits - 0x3F000000u;\n"
    "    } else {\n"
    "        rest = (rest + 0xFFFu + (rest >> 13 & 1u) - 0x38000000u) >> 13;\n"
    "    }\n"
    "    r.bits = (unsigned short)(sign | rest);\n"
    "    return r;\n"
    "}\n\n";

static const char half_to_float_cuda[] =
    "static __device__ inline float f32_from_half(half h)\n"
    "{\n"
    "    float r;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(h.bits));\n"
    "    return r;\n"
    "}\n\n";

static const char half_from_float_cuda[] =
    "static __device__ inline half half_from_f32(float x)\n"
    "{\n"
    "    half r;\n"
    "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r.bits) : \"f\"(x));\n"
    "    return r;\n"
    "}\n\n";

const char *dm_help_half(dm_printer *pr, bool to_half)
{
    bool cuda = pr->options.target == DM_TARGET_CUDA;
    const dm_type *half = dm_type_scalar(pr->lang, DM_F16),
                  *full = dm_type_scalar(pr->lang, DM_F32);
    const dm_type *from = to_half ? full : half, *to = to_half ? half : full;
    dm_helper *h = dm_helper_find(pr, to->helpers, HELP_CAST, from);
    if (h == NULL)
        h = dm_helper_add(pr, &((dm_type *)to)->helpers, false, HELP_CAST, from,
                          to_half ? "half_from_f32" : "f32_from_half", NULL);
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    dm_print_type(pr, half);
    dm_buffer_puts(pr->helpers, to_half ? (cuda ? half_from_float_cuda : half_from_float_c)
                                        : (cuda ? half_to_float_cuda : half_to_float_c));
    return dm_helper_end(pr);
}

/* The helper that makes one type of another, an entry of the list of the first. */
static dm_helper *of_cast(dm_printer *pr, const dm_type *from, const dm_type *to)
{
    dm_helper *h = dm_helper_find(pr, to->helpers, HELP_CAST, from);
    return h != NULL
               ? h
               : dm_helper_add(pr, &((dm_type *)to)->helpers, to->own || from->own, HELP_CAST, from,
                               dm_lang_format(pr->lang, "%s_from", to->suffix), from->suffix);
}

const char *dm_help_cast(dm_printer *pr, const dm_type *from, const dm_type *to)
{
    bool scalar = dm_type_is_scalar(to);
    if (scalar && to->scalar == DM_F16 && from->scalar == DM_F32)
        return dm_help_half(pr, true);
    if (scalar && from->scalar == DM_F16 && to->scalar == DM_F32)
        return dm_help_half(pr, false);
    dm_helper *h = of_cast(pr, from, to);
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    const char *to_name = dm_print_type(pr, to), *from_name = dm_print_type(pr, from);
    const dm_type *to_scalar = dm_type_scalar(pr->lang, (dm_scalar)to->scalar);
    const char *in = scalar ? "x" : "x.c[i]", *open = "", *close = "";
    if (from->scalar == DM_F16) {
        open = dm_lang_format(pr->lang, "%s%s(", open, dm_help_half(pr, false));
        close = ")";
    }
    const char *convert =
        dm_lang_format(pr->lang, "(%s)%s%s%s", to->scalar == DM_F16 ? "float" : to_scalar->c_name,
                       open, in, close);
    if (to->scalar == DM_BOOL)
        convert = dm_lang_format(pr->lang, "%s%s%s != 0", open, in, close);
    if (to->scalar == DM_F16)
        convert = dm_lang_format(pr->lang, "%s(%s)", dm_help_half(pr, true), convert);
    dm_buffer *out = pr->helpers;
    if (scalar)
        dm_emit(out, "%s %s %s(%s x)\n{\n    return %s;\n}\n\n", dm_print_qualifier(pr), to_name,
                name, from_name, convert);
    else
        dm_emit(out,
                "%s %s %s(%s x)\n{\n    %s r;\n    for (int i = 0; i < %d; i++)\n"
                "        r.c[i] = %s;\n    return r;\n}\n\n",
                dm_print_qualifier(pr), to_name, name, from_name, to_name, dm_type_components(to),
                convert);
    return dm_helper_end(pr);
}

/* Negative indices count from the end. */
const char *dm_help_extract(dm_printer *pr, const dm_type *type)
{
    dm_helper *h = dm_helper_of_type(pr, type, HELP_GET, "get");
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    const char *scalar = dm_print_type(pr, dm_type_scalar(pr->lang, (dm_scalar)type->scalar));
    int count = dm_type_components(type);
    dm_emit(pr->helpers, "%s %s %s(%s v, int i)\n{\n    return v.c[i < 0 ? i + %d : i];\n}\n\n",
            dm_print_qualifier(pr), scalar, name, dm_print_type(pr, type), count);
    return dm_helper_end(pr);
}

/* ---- Arrays ---- */

static const char indices_text[] = "ijkl";

const char *dm_help_at(dm_printer *pr, const dm_type *array, bool gradient)
{
    dm_helper *h = dm_helper_of_type(pr, array, gradient ? HELP_GRAD_AT : HELP_AT,
                                     gradient ? "grad_at" : "at");
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name, *member = gradient ? "grad" : "data";
    const char *element = dm_print_type(pr, array->element), *type = dm_print_type(pr, array);
    dm_buffer *out = pr->helpers;
    if (array->ndim == 1 && !pr->options.bounds) { /* nearly always */
        dm_emit(out,
                "%s %s *%s(%s a, int i)\n{\n"
                "    i += i < 0 ? a.shape[0] : 0;\n"
                "    return (%s *)((char *)a.%s + i * a.stride[0]);\n}\n\n",
                dm_print_qualifier(pr), element, name, type, element, member);
        return dm_helper_end(pr);
    }
    dm_emit(out, "%s %s *%s(%s a", dm_print_qualifier(pr), element, name, type);
    for (int i = 0; i < array->ndim; i++)
        dm_emit(out, ", int %c", indices_text[i]);
    dm_buffer_puts(out, pr->options.bounds ? ", int line, const char *array)\n{\n" : ")\n{\n");
    if (pr->options.bounds)
        dm_print_check_shape(pr, out, array->ndim, array->ndim);
    for (int i = 0; i < array->ndim; i++)
        dm_emit(out, "    %c += %c < 0 ? a.shape[%d] : 0;\n", indices_text[i], indices_text[i], i);
    dm_emit(out, "    return (%s *)((char *)a.%s", element, member);
    for (int i = 0; i < array->ndim; i++)
        dm_emit(out, " + %c * a.stride[%d]", indices_text[i], i);
    dm_buffer_puts(out, ");\n}\n\n");
    return dm_helper_end(pr);
}

const char *dm_help_view(dm_printer *pr, const dm_type *array, int indices)
{
    static const char *const views[] = {"view0", "view1", "view2", "view3", "view4"};
    const dm_type *result = dm_type_array(pr->lang, array->ndim - indices, array->element);
    dm_helper *h = dm_helper_of_type(pr, array, HELP_VIEW + indices, views[indices]);
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    const char *type = dm_print_type(pr, array), *result_name = dm_print_type(pr, result);
    const char *element = dm_print_type(pr, array->element);
    dm_buffer *out = pr->helpers;
    dm_emit(out, "%s %s %s(%s a", dm_print_qualifier(pr), result_name, name, type);
    for (int i = 0; i < indices; i++)
        dm_emit(out, ", int %c", indices_text[i]);
    dm_buffer_puts(out, pr->options.bounds ? ", int line, const char *array)\n{\n" : ")\n{\n");
    if (pr->options.bounds)
        dm_print_check_shape(pr, out, indices, array->ndim);
    dm_emit(out, "    %s r;\n    long long offset = 0;\n", result_name);
    for (int i = 0; i < indices; i++)
        dm_emit(out, "    offset += (%c < 0 ? %c + a.shape[%d] : %c) * a.stride[%d];\n",
                indices_text[i], indices_text[i], i, indices_text[i], i);
    dm_emit(out,
            "    r.data = (%s *)((char *)a.data + offset);\n"
            "    r.grad = a.grad ? (%s *)((char *)a.grad + offset) : 0;\n",
            element, element);
    for (int i = 0; i < result->ndim; i++)
        dm_emit(out, "    r.shape[%d] = a.shape[%d];\n    r.stride[%d] = a.stride[%d];\n", i,
                i + indices, i, i + indices);
    dm_buffer_puts(out, "    return r;\n}\n\n");
    return dm_helper_end(pr);
}

const char *dm_help_adjoint(dm_printer *pr, const dm_type *array)
{
    dm_helper *h = dm_helper_of_type(pr, array, HELP_ADJOINT, "adjoint");
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *type = dm_print_type(pr, array);
    dm_emit(pr->helpers, "%s %s %s(%s a)\n{\n    a.data = a.grad;\n    return a;\n}\n\n",
            dm_print_qualifier(pr), type, h->name, type);
    return dm_helper_end(pr);
}

/* Bounds that leave the array are cut to it; `mask` has a bit for each plain index. */
const char *dm_help_slice(dm_printer *pr, const dm_type *array, int mask)
{
    int stays = 0;
    for (int i = 0; i < array->ndim; i++)
        stays += (mask >> i & 1) == 0;
    const dm_type *result = dm_type_array(pr->lang, stays, array->element);
    dm_helper *h =
        dm_helper_of_type(pr, array, HELP_SLICE + mask, dm_lang_format(pr->lang, "slice%d", mask));
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    const char *type = dm_print_type(pr, array), *result_name = dm_print_type(pr, result);
    const char *element = dm_print_type(pr, array->element);
    dm_buffer *out = pr->helpers;
    dm_emit(out, "%s %s %s(%s a", dm_print_qualifier(pr), result_name, name, type);
    for (int i = 0; i < array->ndim; i++)
        dm_emit(out, ", int first%d, int last%d, int step%d", i, i, i);
    dm_buffer_puts(out, pr->options.bounds ? ", int line, const char *array)\n{\n" : ")\n{\n");
    dm_emit(out, "    %s r;\n    long long offset = 0;\n", result_name);
    if (pr->options.bounds)
        dm_buffer_puts(out, "    (void)line;\n    (void)array;\n");
    for (int i = 0, to = 0; i < array->ndim; i++) {
        dm_emit(out, "    first%d += first%d < 0 ? a.shape[%d] : 0;\n", i, i, i);
        if ((mask >> i & 1) == 0) /* a slice may begin before the first */
            dm_emit(out, "    first%d = first%d > 0 ? first%d : 0;\n", i, i, i);
        dm_emit(out, "    offset += first%d * a.stride[%d];\n", i, i);
        if ((mask >> i & 1) != 0 && pr->options.bounds)
            dm_emit(
                out,
                "    if ((unsigned)first%d >= (unsigned)a.shape[%d])\n"
                "        bounds_fail(line, array, 1, first%d, 0, 0, 0, a.shape[%d], 0, 0, 0);\n",
                i, i, i, i);
        if ((mask >> i & 1) != 0) {
            dm_emit(out, "    (void)last%d;\n    (void)step%d;\n", i, i);
            continue;
        }
        dm_emit(out,
                "    last%d += last%d < 0 ? a.shape[%d] : 0;\n"
                "    last%d = last%d < a.shape[%d] ? last%d : a.shape[%d];\n"
                "    r.shape[%d] = last%d > first%d ? (last%d - first%d - 1) / step%d + 1 : 0;\n"
                "    r.stride[%d] = step%d * a.stride[%d];\n",
                i, i, i, i, i, i, i, i, to, i, i, i, i, i, to, i, i);
        to++;
    }
    dm_emit(out,
            "    r.data = (%s *)((char *)a.data + offset);\n"
            "    r.grad = a.grad ? (%s *)((char *)a.grad + offset) : 0;\n"
            "    return r;\n}\n\n",
            element, element);
    return dm_helper_end(pr);
}

/* to += x, for the parts that hold floats */
const char *dm_help_accumulate(dm_printer *pr, const dm_type *type)
{
    dm_helper *h = dm_helper_of_type(pr, type, HELP_ACCUMULATE, "accumulate");
    dm_making making;
    if (dm_helper_is_there(pr, h))
        return h->name;
    dm_helper_begin(pr, &making, h);
    const char *name = h->name;
    const char *c = dm_print_type(pr, type);
    dm_buffer *text = dm_text_open(pr->lang);
    if (type->kind == DM_TYPE_STRUCT || type->kind == DM_TYPE_TUPLE) {
        for (int i = 0; i < type->field_count; i++) {
            const dm_type *field = type->fields[i].type;
            if (!field->floats)
                continue;
            if (dm_type_is_scalar(field) && field->scalar != DM_F16)
                dm_emit(text, "    to->%s += x.%s;\n", type->fields[i].c_name,
                        type->fields[i].c_name);
            else
                dm_emit(text, "    %s(&to->%s, x.%s);\n", dm_help_accumulate(pr, field),
                        type->fields[i].c_name, type->fields[i].c_name);
        }
    } else if (dm_type_is_numeric(type) && type->scalar != DM_F16) {
        dm_emit(text, "    for (int i = 0; i < %d; i++)\n        to->c[i] += x.c[i];\n",
                dm_type_components(type));
    } else if (dm_type_is_numeric(type)) {
        dm_emit(text, "    for (int i = 0; i < %d; i++)\n        %s(&to->c[i], x.c[i]);\n",
                dm_type_components(type), dm_help_accumulate(pr, dm_type_scalar(pr->lang, DM_F16)));
    } else {
        dm_emit(text, "    *to = %s(%s(*to) + %s(x));\n", dm_help_half(pr, true),
                dm_help_half(pr, false), dm_help_half(pr, false));
    }
    dm_emit(pr->helpers, "%s void %s(%s *to, %s x)\n{\n%s}\n\n", dm_print_qualifier(pr), name, c, c,
            dm_buffer_text(text));
    dm_text_close(pr->lang, 1);
    return dm_helper_end(pr);
}
