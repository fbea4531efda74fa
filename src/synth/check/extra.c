/* SPDX-License-Identifier: MIT */
/* extra.c - broken, slower and faster forms of a record's program, and its machine code; see extra.h. */
#include "synth/check/extra.h"

#include "device/nvrtc.h"
#include "kernel/internal.h"
#include "lang/compile.h"
#include "synth/check/reject.h"
#include "synth/check/unit.h"
#include "synth/lesson/cost.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES 24
#define TEST_PERCENT 60 /* of repairs that a test finds; the compiler finds the others */

void dm_extra_deinit(dm_extra *extra)
{
    dm_buffer_deinit(&extra->source);
    dm_buffer_deinit(&extra->c_text);
}

void dm_extra_clear(dm_synth_record *r)
{
    r->mutation[0] = '\0';
    r->found_by_test = false;
    dm_buffer_clear(&r->broken);
    dm_buffer_clear(&r->symptom);
    dm_buffer_clear(&r->ptx);
    r->registers = r->shared_bytes = 0;
}

static void take(dm_buffer *to, const dm_buffer *from)
{
    dm_buffer_clear(to);
    dm_buffer_append(to, dm_buffer_text(from), from->size);
}

/* The C text of a program's forward pass and its cost; DM_ECOMPILE when it does not compile silently. */
static dm_status compile_forward(const dm_buffer *source, const char *kernel, dm_buffer *out,
                                 double *cost, dm_error *err)
{
    dm_compilation c;
    dm_compile_options options = {.no_backward = true, .module.keep_loops = true};
    dm_buffer_clear(out);
    dm_status status =
        dm_compilation_init(&c, "kernel.py", dm_buffer_text(source), source->size, &options, err);
    dm_unit unit;
    if (status == DM_OK)
        status = dm_unit_open(&unit, &c, dm_buffer_text(source), kernel, err);
    if (status == DM_OK && c.lang.warning_count > 0)
        status = dm_fail(err, DM_ECOMPILE, "a warning");
    if (status == DM_OK)
        status = dm_unit_print(&unit, DM_TARGET_C, DM_PASS_FORWARD, out, err);
    if (status == DM_OK && cost != NULL)
        *cost = dm_synth_cost(unit.forward);
    dm_compilation_deinit(&c);
    return status;
}

/* ---- Broken forms ---- */

static int count_ways(const char *(*name)(int))
{
    int count = 0;
    while (name(count) != NULL)
        count++;
    return count;
}

dm_status dm_extra_break(const dm_synth_record *r, uint64_t seed, bool can_run, dm_extra *extra,
                         dm_error *err)
{
    dm_buffer whole = DM_BUFFER_EMPTY;
    dm_test_stream random;
    dm_error unused;
    dm_test_stream_seed(&random, seed + 1);
    bool wanted = can_run && dm_test_stream_next(&random) % 100 < TEST_PERCENT;
    dm_status status =
        wanted ? compile_forward(&r->python_source, r->kernel_name, &whole, NULL, err) : DM_OK;
    int ways = count_ways(dm_synth_mutation);
    for (int i = 0; i < TRIES && wanted && status == DM_OK && extra->mutation == NULL; i++) {
        int way = (int)(dm_test_stream_next(&random) % (uint64_t)ways);
        dm_buffer_clear(&extra->source);
        if (!dm_synth_mutate(dm_buffer_text(&r->python_source), r->python_source.size, way,
                             dm_test_stream_next(&random), &extra->source) ||
            compile_forward(&extra->source, r->kernel_name, &extra->c_text, NULL, &unused) != DM_OK)
            continue;
        if (extra->c_text.size != whole.size ||
            memcmp(extra->c_text.data, whole.data, whole.size) != 0)
            extra->mutation = dm_synth_mutation(way);
    }
    if (extra->mutation == NULL)
        dm_buffer_clear(&extra->c_text);
    dm_buffer_deinit(&whole);
    return status;
}

/* A program that does not compile, and what the compiler says. */
static dm_status break_for_compiler(dm_synth_record *r, uint64_t seed, dm_error *err)
{
    dm_synth_record broken;
    dm_test_stream random;
    dm_status status = DM_OK;
    int ways = count_ways(dm_synth_breakage);
    assert(ways > 0);
    dm_synth_record_init(&broken);
    memcpy(broken.kernel_name, r->kernel_name, sizeof broken.kernel_name);
    dm_test_stream_seed(&random, seed + 2);
    for (int i = 0; i < TRIES && status == DM_OK && r->mutation[0] == '\0'; i++) {
        int way = (int)(dm_test_stream_next(&random) % (uint64_t)ways);
        bool compiles = false;
        dm_buffer_clear(&broken.python_source);
        if (!dm_synth_break(dm_buffer_text(&r->python_source), r->python_source.size, way,
                            dm_test_stream_next(&random), &broken.python_source))
            continue;
        status = dm_synth_diagnose(&broken, &broken.diagnostics, &compiles, err);
        if (status != DM_OK || compiles || broken.diagnostics.size == 0)
            continue;
        snprintf(r->mutation, sizeof r->mutation, "%s", dm_synth_breakage(way));
        take(&r->broken, &broken.python_source);
        take(&r->symptom, &broken.diagnostics);
    }
    dm_synth_record_deinit(&broken);
    return status;
}

/* ---- Other forms ---- */

/* Where a record has the form, and its cost. */
static dm_buffer *form_of(dm_synth_record *r, int which, double **cost)
{
    *cost = which == DM_EXTRA_SLOWER     ? &r->slower_cost
            : which == DM_EXTRA_UNROLLED ? &r->unrolled_cost
                                         : &r->unfused_cost;
    return which == DM_EXTRA_SLOWER     ? &r->slower
           : which == DM_EXTRA_UNROLLED ? &r->unrolled
                                        : &r->unfused;
}

void dm_extra_forms(const dm_synth_record *record, dm_extra extras[DM_EXTRA_COUNT])
{
    dm_synth_record view = *record; /* its buffers are only read */
    for (int which = DM_EXTRA_SLOWER; which <= DM_EXTRA_UNFUSED; which++) {
        dm_extra *extra = &extras[which];
        double *cost;
        const dm_buffer *text = form_of(&view, which, &cost);
        dm_error unused;
        if (text->size == 0)
            continue;
        take(&extra->source, text);
        if (compile_forward(&extra->source, record->kernel_name, &extra->c_text, NULL, &unused) !=
            DM_OK)
            dm_buffer_clear(&extra->c_text); /* it is no form of the program then */
    }
}

/* A form stays when its results are the program's and its cost is another: more by a twentieth, or less
 * by a hundredth, since an unrolled loop saves its counting alone. */
static dm_status settle_form(dm_synth_record *r, int which, const char *symptom, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    double *cost, own = 0;
    dm_buffer *form = form_of(r, which, &cost);
    bool holds = symptom != NULL && symptom[0] == '\0';
    dm_status status = DM_OK;
    if (holds)
        status = compile_forward(&r->python_source, r->kernel_name, &text, &own, err);
    if (holds && status == DM_OK)
        status = compile_forward(form, r->kernel_name, &text, cost, err);
    dm_buffer_deinit(&text);
    if (holds && (which == DM_EXTRA_UNROLLED ? own >= 1.01 * *cost : *cost >= 1.05 * own)) {
        r->cost = own;
    } else {
        dm_buffer_clear(form);
        *cost = 0;
    }
    return status;
}

dm_status dm_extra_settle(dm_synth_record *r, const dm_extra extras[DM_EXTRA_COUNT],
                          const char *const symptoms[DM_EXTRA_COUNT], uint64_t seed, bool repairs,
                          dm_error *err)
{
    const char *symptom = symptoms[DM_EXTRA_BROKEN];
    dm_status status = DM_OK;
    if (repairs && symptom != NULL && symptom[0] != '\0') {
        snprintf(r->mutation, sizeof r->mutation, "%s", extras[DM_EXTRA_BROKEN].mutation);
        r->found_by_test = true;
        take(&r->broken, &extras[DM_EXTRA_BROKEN].source);
        dm_buffer_clear(&r->symptom);
        dm_buffer_puts(&r->symptom, symptom);
    } else if (repairs) {
        status = break_for_compiler(r, seed, err);
    }
    r->cost = 0;
    for (int which = DM_EXTRA_SLOWER; which <= DM_EXTRA_UNFUSED && status == DM_OK; which++)
        status = settle_form(r, which, symptoms[which], err);
    return status;
}

/* ---- Machine code ---- */

static uint64_t number_at(const char *bytes, size_t at, int size)
{
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)bytes[at + (size_t)i];
    return value;
}

/* .nv.info: a form, an attribute and a length, then so many bytes where the form is 4. Attribute 0x2F is
 * a symbol's number of registers. */
static int read_registers(const char *info, size_t size)
{
    int most = -1;
    for (size_t at = 0; at + 4 <= size;) {
        size_t length = info[at] == 4 ? number_at(info, at + 2, 2) : 0;
        if (info[at] == 4 && info[at + 1] == 0x2F && length == 8 && at + 12 <= size) {
            int registers = (int)number_at(info, at + 8, 4);
            most = registers > most ? registers : most;
        }
        at += 4 + length;
    }
    return most;
}

/* A cubin is ELF; .nv.shared.NAME is as large as the shared memory. */
static bool read_cubin(const char *code, size_t size, const char *entry, int *registers,
                       int *shared)
{
    char shared_name[320];
    snprintf(shared_name, sizeof shared_name, ".nv.shared.%.280s_forward", entry);
    *registers = -1;
    *shared = 0;
    if (size < 64 || memcmp(code,
                            "\x7f"
                            "ELF",
                            4) != 0)
        return false;
    size_t table = number_at(code, 0x28, 8), count = number_at(code, 0x3C, 2);
    size_t names = number_at(code, 0x3E, 2);
    if (table > size || count * 64 > size - table || names >= count)
        return false;
    size_t strings = number_at(code, table + names * 64 + 0x18, 8);
    for (size_t i = 0; i < count; i++) {
        size_t header = table + i * 64, name = strings + number_at(code, header, 4);
        size_t offset = number_at(code, header + 0x18, 8),
               bytes = number_at(code, header + 0x20, 8);
        if (name >= size || memchr(code + name, '\0', size - name) == NULL)
            return false;
        if (strcmp(code + name, ".nv.info") == 0 && offset <= size && bytes <= size - offset)
            *registers = read_registers(code + offset, bytes);
        else if (strcmp(code + name, shared_name) == 0)
            *shared = (int)bytes;
    }
    return *registers > 0;
}

dm_status dm_extra_machine_code(dm_synth_record *r, const char *entry, dm_error *err)
{
    char *code = NULL;
    size_t size;
    bool cached;
    dm_module_desc desc = {.name = r->kernel_name, .text = dm_buffer_text(&r->cuda_forward)};
    dm_buffer_clear(&r->ptx);
    dm_status status = dm_nvrtc_compile(&desc, "compute_90", &code, &size, &cached, err);
    if (status != DM_OK)
        return status;
    dm_buffer_append(&r->ptx, code, strnlen(code, size));
    free(code);
    code = NULL;
    status = dm_nvrtc_compile(&desc, "sm_90", &code, &size, &cached, err);
    if (status == DM_OK && !read_cubin(code, size, entry, &r->registers, &r->shared_bytes))
        status = dm_fail(err, DM_EFORMAT, "the machine code of %s is of an unknown form",
                         r->kernel_name);
    free(code);
    return status;
}
