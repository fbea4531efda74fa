/* SPDX-License-Identifier: MIT */
/* The public single-instruction vectors: registers, memory and every M-cycle on the bus, by both
 * dispatchers and by the kernel on any device.
 *
 * $DM_SM83_VECTORS names the file; without it ../shared/data/sm83-vectors.bin beside the project is
 * tried. kernel_vectors.h has the bus on which they run. */
#include "base/file.h"
#include "gb/machine/kernel_vectors.h"
#include "tests/device/cases.h"
#include "tests/gb/device/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const dm_builtin_kernel dm_gb_vectors_builtin = {"dm_gb_vectors", dm_gb_vectors,
                                                 sizeof(dm_gb_vectors_args)};

/* ---- The file ---- */

typedef struct vector_set {
    uint32_t count;
    dm_gb_vector *before, *after;
    uint16_t *opcodes; /* CB00 + opcode with the prefix */
} vector_set;

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static const uint8_t *read_state(const uint8_t *p, dm_gb_vector *v)
{
    v->a = p[0];
    v->b = p[1];
    v->c = p[2];
    v->d = p[3];
    v->e = p[4];
    v->f = p[5];
    v->h = p[6];
    v->l = p[7];
    v->pc = u16(p + 8);
    v->sp = u16(p + 10);
    v->ime = p[12];
    v->cells = p[13];
    assert_true(v->cells <= DM_GB_VECTOR_CELLS);
    p += 14;
    for (uint32_t i = 0; i < v->cells; i++, p += 3) {
        v->address[i] = u16(p);
        v->value[i] = p[2];
    }
    return p;
}

static const uint8_t *read_cycles(const uint8_t *p, dm_gb_vector *v)
{
    v->cycle_count = *p++;
    assert_true(v->cycle_count <= DM_GB_VECTOR_CYCLES);
    for (uint32_t i = 0; i < v->cycle_count; i++, p += 4)
        v->cycles[i] = (dm_gb_vector_cycle){u16(p), p[2], p[3]};
    return p;
}

static void load(vector_set *set)
{
    const char *path = getenv("DM_SM83_VECTORS");
    char beside[DM_PATH_MAX];
    assert_ok(dm_path_join(beside, dm_test_source_root(), "../shared/data/sm83-vectors.bin", err));
    if (path == NULL && dm_file_exists(beside))
        path = beside;
    if (path == NULL)
        dm_test_skip("no SM83 vectors; DM_SM83_VECTORS names the file");
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    const uint8_t *p = (const uint8_t *)bytes;
    assert_true(size > 12 && memcmp(p, "SM83VEC1", 8) == 0);
    set->count = (uint32_t)u16(p + 8) | (uint32_t)u16(p + 10) << 16;
    assert_true(set->count > 0);
    set->before = calloc(set->count, sizeof *set->before);
    set->after = calloc(set->count, sizeof *set->after);
    set->opcodes = calloc(set->count, sizeof *set->opcodes);
    assert_true(set->before != NULL && set->after != NULL && set->opcodes != NULL);
    p += 12;
    for (uint32_t i = 0; i < set->count; i++) {
        const uint8_t *end = p + 4 + u16(p + 2);
        set->opcodes[i] = (uint16_t)((p[0] ? 0xCB00 : 0) | p[1]);
        assert_ptr_equal(read_cycles(read_state(read_state(p + 4, &set->before[i]), &set->after[i]),
                                     &set->after[i]),
                         end);
        p = end;
    }
    assert_int_equal(p - (const uint8_t *)bytes, size);
    free(bytes);
}

static void unload(vector_set *set)
{
    free(set->before);
    free(set->after);
    free(set->opcodes);
}

/* ---- Comparing ---- */

/* NULL when the vector passes, else what differs. */
static const char *difference(dm_gb_vector *got, const dm_gb_vector *want, uint16_t opcode)
{
    /* The vectors go on idling after HALT and STOP. */
    while ((opcode == 0x76 || opcode == 0x10) && got->cycle_count < want->cycle_count)
        got->cycles[got->cycle_count++] = (dm_gb_vector_cycle){0, 0, DM_GB_VECTOR_IDLE};
    if ((got->faults & DM_GB_VECTOR_NO_CELL) != 0)
        return "access to a cell that is not listed";
    if (got->a != want->a || got->b != want->b || got->c != want->c || got->d != want->d ||
        got->e != want->e || got->h != want->h || got->l != want->l)
        return "registers";
    if (got->f != want->f)
        return "flags";
    if (got->pc != want->pc)
        return "PC";
    if (got->sp != want->sp)
        return "SP";
    if (got->ime != want->ime)
        return "IME";
    if (got->cells != want->cells)
        return "cells";
    for (uint32_t i = 0; i < want->cells; i++) {
        uint32_t cell = dm_gb_vector_cell(got, want->address[i]);
        if (cell == DM_GB_VECTOR_CELLS || got->value[cell] != want->value[i])
            return "memory";
    }
    if (got->faults != 0 || got->cycle_count != want->cycle_count)
        return "number of M-cycles";
    for (uint32_t i = 0; i < got->cycle_count; i++) {
        const dm_gb_vector_cycle *a = &got->cycles[i], *b = &want->cycles[i];
        if (a->kind != b->kind)
            return "kind of bus cycle";
        if (a->kind != DM_GB_VECTOR_IDLE && (a->address != b->address || a->data != b->data))
            return "address or data of a bus cycle";
    }
    return NULL;
}

/* `results` were run from `before`. */
static uint32_t count_failures(const vector_set *set, dm_gb_vector *results)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const char *what = difference(&results[i], &set->after[i], set->opcodes[i]);
        if (what != NULL && failed++ < 20)
            print_error("vector %u, opcode %04X: %s\n", i, set->opcodes[i], what);
    }
    print_message("%u vectors, %u failed\n", set->count, failed);
    return failed;
}

/* ---- Both dispatchers of the project: a switch over constant rows, and the table ---- */

static void step_by_switch(dm_gb_bus *bus, dm_gb_hot *hot)
{
    switch (dm_gb_bus_fetch8(bus, hot)) {
#define OP(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    case code:                                                                                     \
        if (DM_GB_DO_##operation == DM_GB_DO_PREFIX)                                               \
            goto prefix;                                                                           \
        dm_gb_exec(bus, hot, DM_GB_ROW(operation, source, destination, address, length, extra));   \
        return;
#define CB(...)
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
    }
prefix:
    switch (dm_gb_bus_fetch8(bus, hot)) {
#define OP(...)
#define CB(code, mnemonic, length, cycles, taken, operation, source, destination, address, extra)  \
    case code:                                                                                     \
        dm_gb_exec(bus, hot, DM_GB_ROW(operation, source, destination, address, length, extra));   \
        return;
#include "gb/machine/opcodes.def"
#undef OP
#undef CB
    }
}

static void run_on_host(void (*step)(dm_gb_bus *, dm_gb_hot *))
{
    vector_set set;
    load(&set);
    dm_gb_vector *results = calloc(set.count, sizeof *results);
    assert_non_null(results);
    memcpy(results, set.before, set.count * sizeof *results);
    for (uint32_t i = 0; i < set.count; i++) {
        dm_gb_hot hot;
        dm_gb_vector_load(&results[i], &hot);
        step(&results[i], &hot);
        dm_gb_vector_store(&results[i], &hot);
    }
    uint32_t failed = count_failures(&set, results);
    free(results);
    unload(&set);
    assert_int_equal(failed, 0);
}

static void by_table(dm_gb_bus *bus, dm_gb_hot *hot)
{
    dm_gb_vector_by_table(bus, hot);
}

static void vectors_pass_by_switch(void **state)
{
    (void)state;
    run_on_host(step_by_switch);
}

static void vectors_pass_by_table(void **state)
{
    (void)state;
    run_on_host(by_table);
}

/* A wrong result in any part of a vector is noticed. */
static void differences_are_found(void **state)
{
    (void)state;
    dm_gb_vector want = {.cells = 1, .cycle_count = 1, .address = {0x1234}, .value = {5}};
    want.cycles[0] = (dm_gb_vector_cycle){0x1234, 5, DM_GB_VECTOR_READ};
    dm_gb_vector got = want;
    assert_null(difference(&got, &want, 0));
    static const size_t places[] = {offsetof(dm_gb_vector, a),
                                    offsetof(dm_gb_vector, f),
                                    offsetof(dm_gb_vector, pc),
                                    offsetof(dm_gb_vector, sp),
                                    offsetof(dm_gb_vector, ime),
                                    offsetof(dm_gb_vector, cells),
                                    offsetof(dm_gb_vector, cycle_count),
                                    offsetof(dm_gb_vector, faults),
                                    offsetof(dm_gb_vector, address),
                                    offsetof(dm_gb_vector, value),
                                    offsetof(dm_gb_vector, cycles),
                                    offsetof(dm_gb_vector, cycles[0].data),
                                    offsetof(dm_gb_vector, cycles[0].kind)};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        got = want;
        ((uint8_t *)&got)[places[i]] ^= 1;
        if (difference(&got, &want, 0) == NULL)
            fail_msg("byte %zu is not compared", places[i]);
    }
}

void dm_case_gb_vectors(dm_device *device, const char *const *defines)
{
    vector_set set;
    load(&set);
    size_t size = set.count * sizeof(dm_gb_vector);
    dm_module *module;
    dm_function *function;
    dm_module_desc desc = {.name = "gb/machine/kernel_vectors.h", .defines = defines};
    assert_ok(dm_module_create(device, &desc, &module, err));
    assert_ok(dm_module_function(module, "dm_gb_vectors", &function, err));
    dm_device_buffer *buffer = dm_case_buffer(device, size);
    dm_case_upload(device, buffer, set.before, size);
    dm_gb_vectors_args args = {dm_device_buffer_address(buffer), set.count};
    assert_ok(dm_function_launch(function, dm_device_stream(device), dm_grid_for(set.count, 128),
                                 &args, sizeof args, err));
    dm_case_download(device, buffer, set.before, size);
    uint32_t failed = count_failures(&set, set.before);
    dm_device_buffer_destroy(buffer);
    dm_module_destroy(module);
    unload(&set);
    assert_int_equal(failed, 0);
}

DM_TESTS("gb/sm83", DM_TEST(vectors_pass_by_switch), DM_TEST(vectors_pass_by_table),
         DM_TEST(differences_are_found))
