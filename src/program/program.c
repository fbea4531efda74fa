/* SPDX-License-Identifier: MIT */
/* program.c - the public calls of include/dotmatrix/program.h: compile a program's text to texts for C and CUDA. */
#include "program/internal.h"

#include "base/file.h"
#include "base/require.h"
#include "gb/machine/machine.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (1u << 20)    /* of a program's file */
#define ROUNDS_MAX (1 << 20)   /* of all loops in a step of one machine */
#define OBSERVATIONS_MAX 1024u /* as in src/swarm/compose.h */
#define KERNEL "_dm_program"

/* ---- What prelude.py leaves open ---- */

#define AT(name, member)                                                                           \
    {                                                                                              \
        "_AT_" #name, offsetof(dm_gb_machine, member)                                              \
    }
static const struct {
    const char *name;
    uint64_t value;
} numbers[] = {
    AT(A, cpu.a),
    AT(F, cpu.f),
    AT(B, cpu.b),
    AT(C, cpu.c),
    AT(D, cpu.d),
    AT(E, cpu.e),
    AT(H, cpu.h),
    AT(L, cpu.l),
    AT(PC, cpu.pc),
    AT(SP, cpu.sp),
    AT(KEYS, joypad.keys),
    AT(FRAMES, ppu.frames),
    AT(CYCLES, cycles_low),
    AT(RAM_WINDOW, cart.ram_window),
    AT(RAM_SIZE, cart.ram_size),
    AT(MAPPER, cart.mapper),
    AT(ROM_LOW, cart.rom_low),
    AT(ROM_HIGH, cart.rom_high),
    {"_AT_WRAM", DM_GB_WRAM},
    {"_AT_HRAM", DM_GB_HRAM},
    {"_AT_OAM", DM_GB_OAM},
    {"_AT_VRAM", DM_GB_VRAM},
    {"_AT_CART_RAM", DM_GB_CART_RAM},
    {"_MBC2", DM_GB_MAPPER_MBC2},
};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

/* ---- The memory's layout ---- */

static uint32_t align_up(uint64_t offset, uint32_t align)
{
    return (uint32_t)((offset + align - 1) / align * align);
}

/* A length: what stands in the brackets, as a number. */
static bool read_length(dm_compilation *c, const dm_ast *at, uint32_t most, uint32_t *out)
{
    const dm_value *value = dm_scope_eval(c->module->root, at);
    if (value->kind == DM_VALUE_INT && value->integer >= 1 && value->integer <= most) {
        *out = (uint32_t)value->integer;
        return true;
    }
    dm_lang_error(&c->lang, at->pos, at->end, NULL,
                  "this must be a number known here, from 1 to %u", most);
    return false;
}

static bool has_array(const dm_type *type)
{
    bool found = type->kind == DM_TYPE_ARRAY;
    for (int i = 0; i < type->field_count; i++)
        found = found || has_array(type->fields[i].type);
    return found;
}

/* Size and length of a field; false after an error. */
static bool measure(dm_compilation *c, dm_program_field *f, int number, uint32_t *align)
{
    uint32_t length = 1;
    if (f->count != NULL && !read_length(c, f->count, DM_PROGRAM_MEMORY_MAX * 8, &length))
        return false;
    f->size = *align = 4;
    f->elements = f->kind == DM_PROGRAM_BITMAP ? (length + 31) / 32 : length;
    if (f->type == NULL)
        return true;
    char name[32];
    snprintf(name, sizeof name, "_dm_T%d", number);
    const dm_value *value =
        dm_scope_lookup(c->module->root, dm_lang_intern_text(&c->lang, name), DM_POS_NONE);
    if (value == NULL || value->kind != DM_VALUE_TYPE || value->type->generic ||
        has_array(value->type)) {
        dm_lang_error(&c->lang, f->ast->pos, f->ast->end,
                      "a number, a vector, dm.Array(n, type), dm.Bitmap(n) or dm.HashSet(n)",
                      "the field '%s' has no type that memory can hold", f->name);
        return false;
    }
    if (value->type->scalar == DM_BOOL && dm_type_is_numeric(value->type)) {
        dm_lang_error(&c->lang, f->ast->pos, f->ast->end, NULL, "'%s': use a vector of integers",
                      f->name);
        return false;
    }
    f->is_bool = dm_type_is_scalar(value->type) && value->type->scalar == DM_BOOL;
    f->size = (uint32_t)dm_type_bytes(value->type);
    *align = (uint32_t)dm_type_align(value->type);
    return true;
}

static void describe_field(const dm_program_field *f, const dm_compilation *c, int number,
                           dm_hasher *hasher)
{
    char name[32], line[160];
    snprintf(name, sizeof name, "_dm_T%d", number);
    const dm_value *value =
        f->type == NULL
            ? NULL
            : dm_scope_lookup(c->module->root, dm_lang_intern_text((dm_lang *)&c->lang, name),
                              DM_POS_NONE);
    snprintf(line, sizeof line, "%d %.60s %u %u", (int)f->kind,
             value == NULL ? "" : value->type->name, f->elements, f->size);
    dm_hasher_text(hasher, f->name);
    dm_hasher_text(hasher, line);
}

/* Offsets of all fields; the size in *bytes. */
static bool lay_out(dm_compilation *c, dm_program_parts *p, uint32_t *bytes, dm_hasher *hasher)
{
    uint64_t end = 0;
    for (int i = 0; i < p->field_count; i++) {
        dm_program_field *f = &p->fields[i];
        uint32_t align;
        if (!measure(c, f, i, &align))
            return false;
        f->offset = align_up(end, align);
        end = f->offset + (uint64_t)f->elements * f->size;
        if (end > DM_PROGRAM_MEMORY_MAX) {
            dm_lang_error(&c->lang, f->ast->pos, f->ast->end, NULL,
                          "with '%s' the memory has more than %u bytes for each machine", f->name,
                          DM_PROGRAM_MEMORY_MAX);
            return false;
        }
        describe_field(f, c, i, hasher);
    }
    *bytes = align_up(end, 8);
    return true;
}

/* ---- Observations ---- */

static bool count_observations(dm_compilation *c, dm_program_parts *p)
{
    uint32_t given;
    if (p->observations == NULL) {
        if (!p->observes_anywhere)
            return true;
        dm_lang_error(&c->lang, p->function_ast->pos, p->function_ast->pos + 1,
                      "say how many: @dm.program(obs=20)",
                      "how many floats does it observe? an index of out.obs is not a number");
        return false;
    }
    if (!read_length(c, p->observations, OBSERVATIONS_MAX, &given))
        return false;
    if (p->observed > given) {
        dm_lang_error(&c->lang, p->observations->pos, p->observations->end, NULL,
                      "obs=%u, and out.obs is written up to index %u", given, p->observed - 1);
        return false;
    }
    p->observed = given;
    return true;
}

/* ---- Compiling ---- */

static char *keep(dm_program *program, const char *text)
{
    return dm_arena_strndup(&program->arena, text, strlen(text));
}

/* What messages call "_dm_u8" is dm.u8 in the program. */
static void say_names(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, "_dm_", 4) == 0) {
            memcpy(to, "dm.", 3);
            to += 3;
            at += 4;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

static dm_status take_messages(dm_program *program, dm_compilation *c, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_lang_print_diags(&c->lang, &text);
    program->messages = dm_buffer_take(&text);
    dm_buffer_deinit(&text);
    if (program->messages != NULL)
        say_names(program->messages);
    if (err != NULL)
        say_names(err->message);
    return DM_OK;
}

static dm_status take_info(dm_program *program, const dm_program_parts *p, uint32_t bytes,
                           const dm_hasher *hasher, dm_error *err)
{
    dm_program_info *info = &program->info;
    const char **metrics =
        dm_arena_alloc_array(&program->arena, (size_t)p->metric_count + 1, sizeof *metrics);
    dm_program_hook *hooks =
        dm_arena_alloc_array(&program->arena, (size_t)p->hook_count + 1, sizeof *hooks);
    dm_program_symbol *used =
        dm_arena_alloc_array(&program->arena, (size_t)p->used_count + 1, sizeof *used);
    program->fields =
        dm_arena_alloc_array(&program->arena, (size_t)p->field_count + 1, sizeof *program->fields);
    info->name = program->name;
    info->function = keep(program, p->function);
    bool good = metrics != NULL && hooks != NULL && used != NULL && program->fields != NULL &&
                info->function != NULL;
    for (int i = 0; good && i < p->metric_count; i++)
        good = (metrics[i] = keep(program, p->metrics[i])) != NULL;
    for (int i = 0; good && i < p->hook_count; i++) {
        hooks[i] = p->hooks[i];
        good = (hooks[i].name = keep(program, p->hooks[i].name)) != NULL;
    }
    for (int i = 0; good && i < p->used_count; i++) {
        used[i] = p->used[i];
        good = (used[i].name = keep(program, p->used[i].name)) != NULL;
    }
    for (int i = 0; good && i < p->field_count; i++) {
        program->fields[i] = p->fields[i];
        good = (program->fields[i].name = keep(program, p->fields[i].name)) != NULL;
    }
    if (!good)
        return dm_fail(err, DM_ENOMEM, "program: out of memory");
    program->field_count = (uint32_t)p->field_count;
    program->hash = dm_hasher_finish(hasher);
    dm_hash128_hex(program->hash, info->memory_hash);
    info->memory_bytes = bytes;
    info->observation_size = p->observed;
    info->metrics = metrics;
    info->metric_count = (size_t)p->metric_count;
    info->hooks = hooks;
    info->hook_count = (size_t)p->hook_count;
    info->symbols = used;
    info->symbol_count = (size_t)p->used_count;
    return DM_OK;
}

static dm_status print_texts(dm_program *program, dm_compilation *c, int kernel, dm_error *err)
{
    dm_status status = DM_OK;
    for (int i = 0; i < 2 && status == DM_OK; i++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        status = dm_compilation_print(c, kernel, i == 0 ? DM_TARGET_C : DM_TARGET_CUDA, &text, err);
        if (status == DM_OK && (program->texts[i] = dm_buffer_take(&text)) == NULL)
            status = dm_fail(err, DM_ENOMEM, "program: out of memory");
        dm_buffer_deinit(&text);
        char entry[128];
        if (status == DM_OK) {
            snprintf(entry, sizeof entry, "%.100s_forward", c->kernels[kernel].forward->entry_name);
            program->entries[i] = keep(program, entry);
        }
        if (status == DM_OK && program->entries[i] == NULL)
            status = dm_fail(err, DM_ENOMEM, "program: out of memory");
    }
    return status;
}

static void rewrite(void *context, dm_lang *lang, dm_ast *tree)
{
    dm_program_rewrite(lang, tree, context);
}

/* Lengths, sizes and counts, once names are resolved; errors go to the compilation. */
static dm_status find_sizes(dm_compilation *c, dm_program_parts *p, uint32_t *bytes,
                            dm_hasher *hasher, dm_error *err)
{
    if (setjmp(c->lang.bail) != 0)
        return dm_compilation_fail(c, err);
    return lay_out(c, p, bytes, hasher) && count_observations(c, p) ? DM_OK
                                                                    : dm_compilation_fail(c, err);
}

static dm_status compile(dm_program *program, const char *text, size_t size, dm_program_parts *p,
                         dm_compilation *c, dm_hasher *hasher, dm_error *err)
{
    char values[NUMBERS][24];
    dm_define defines[NUMBERS];
    uint32_t bytes = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(values[i], sizeof values[i], "%llu", (unsigned long long)numbers[i].value);
        defines[i] = (dm_define){numbers[i].name, values[i]};
    }
    dm_compile_options options = {.no_backward = true,
                                  .bounds = true,
                                  .rounds = ROUNDS_MAX,
                                  .rewrite = rewrite,
                                  .rewrite_context = p};
    options.module.imports = true;
    options.module.keep_loops = true;
    options.module.defines = defines;
    options.module.define_count = (int)NUMBERS;
    dm_status status = dm_compilation_init(c, program->name, text, size, &options, err);
    if (status == DM_OK)
        status = find_sizes(c, p, &bytes, hasher, err);
    int kernel = status == DM_OK ? dm_compilation_find(c, KERNEL) : -1;
    if (status == DM_OK && kernel < 0)
        status = dm_fail(err, DM_EINTERNAL, "program: it has no kernel");
    if (status == DM_OK)
        status = dm_compilation_kernel(c, kernel, err);
    if (status == DM_OK)
        status = print_texts(program, c, kernel, err);
    take_messages(program, c, status == DM_OK ? NULL : err);
    return status == DM_OK ? take_info(program, p, bytes, hasher, err) : status;
}

/* The text moved down to its line in the file. */
static char *placed(const char *text, size_t size, uint32_t first_line, size_t *out_size)
{
    size_t lines = first_line > 1 ? first_line - 1 : 0;
    char *made = malloc(lines + size + 1);
    if (made == NULL)
        return NULL;
    memset(made, '\n', lines);
    memcpy(made + lines, text, size);
    made[lines + size] = '\0';
    *out_size = lines + size;
    return made;
}

static dm_status load(dm_program *program, const char *text, size_t size,
                      const dm_program_options *o, dm_error *err)
{
    dm_compilation *c = calloc(1, sizeof *c);
    dm_program_parts *p = calloc(1, sizeof *p);
    dm_hasher *hasher = dm_hasher_create();
    size_t all = 0;
    char *moved = placed(text, size, o->first_line, &all);
    dm_status status = DM_OK;
    if (c == NULL || p == NULL || hasher == NULL || moved == NULL || program->name == NULL) {
        status = dm_fail(err, DM_ENOMEM, "program: out of memory");
    } else {
        p->name = program->name;
        p->wanted = o->function;
        p->has_symbols = p->symbols_given = o->symbols != NULL;
        if (p->symbols_given)
            status = dm_symbols_read(&p->symbols, o->symbols, err);
        if (status == DM_OK) {
            status = compile(program, moved, all, p, c, hasher, err);
            dm_compilation_deinit(c);
        }
        dm_symbols_deinit(&p->symbols);
    }
    dm_hasher_destroy(hasher);
    free(moved);
    free(p);
    free(c);
    return status;
}

dm_status dm_program_create(const char *name, const char *text, size_t size,
                            const dm_program_options *options, dm_program **out, dm_error *err)
{
    DM_REQUIRE(err, name);
    DM_REQUIRE_SOME(err, text, size);
    DM_REQUIRE(err, out);
    static const dm_program_options none;
    *out = NULL;
    if (size > TEXT_MAX || (options != NULL && options->first_line > TEXT_MAX))
        return dm_fail(err, DM_EINVAL, "%s: a program has at most %u bytes", name, TEXT_MAX);
    dm_program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return dm_fail(err, DM_ENOMEM, "program: out of memory");
    dm_arena_init(&program->arena, 0);
    program->owners = 1;
    program->name = strdup(name);
    dm_status status = load(program, text, size, options == NULL ? &none : options, err);
    if (status != DM_OK && (status != DM_ECOMPILE || program->messages == NULL)) {
        dm_program_destroy(program);
        program = NULL;
    }
    *out = program;
    return status;
}

dm_status dm_program_load(const char *path, const dm_program_options *options, dm_program **out,
                          dm_error *err)
{
    DM_REQUIRE(err, path);
    DM_REQUIRE(err, out);
    char *text = NULL;
    size_t size = 0;
    *out = NULL;
    dm_status status = dm_file_read(path, TEXT_MAX, &text, &size, err);
    if (status == DM_OK)
        status = dm_program_create(path, text, size, options, out, err);
    free(text);
    return status;
}

/* ---- The rest ---- */

dm_program *dm_program_share(dm_program *program)
{
    if (program != NULL)
        __atomic_add_fetch(&program->owners, 1, __ATOMIC_RELAXED);
    return program;
}

void dm_program_destroy(dm_program *program)
{
    if (program == NULL || __atomic_sub_fetch(&program->owners, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    dm_arena_deinit(&program->arena);
    free(program->messages);
    free(program->texts[0]);
    free(program->texts[1]);
    free(program->name);
    free(program);
}

const char *dm_program_messages(const dm_program *program)
{
    return program == NULL || program->messages == NULL ? "" : program->messages;
}

dm_program_info dm_program_get_info(const dm_program *program)
{
    const dm_program_info none = {0};
    return program == NULL ? none : program->info;
}

const char *dm_program_source(const dm_program *program, bool cuda)
{
    return program == NULL ? NULL : program->texts[cuda ? 1 : 0];
}

uint32_t dm_program_stride(const dm_program *program)
{
    return align_up(program->info.memory_bytes, 16);
}

dm_hash128 dm_program_memory_hash(const dm_program *program)
{
    return program->hash;
}
