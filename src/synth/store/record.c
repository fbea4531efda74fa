/* SPDX-License-Identifier: MIT */
/* record.c - the life of a dataset's record, and writing it as a line of JSON; record_read.c reads it.
 *
 * Writing is on the producer's fast path, so lines are built here without the general JSON writer. The
 * texts are ours, and every byte of them is valid JSON or has a short escape. */
#include "synth/store/record.h"

#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

const char *const dm_synth_category_names[] = {
    "arithmetic", "vector", "matrix",   "control_flow", "math",   "atomic", "reduction",
    "stencil",    "struct", "function", "multi_dim",    "random", NULL};
const char *const dm_synth_level_names[] = {"none", "compile", "run", "grad", "full", NULL};
const char *const dm_synth_kind_names[] = {"pair", "rejected", NULL};
const char *const dm_synth_part_names[] = {"train", "validation", "test", NULL};

int dm_synth_name_find(const char *const *names, const char *name)
{
    for (int i = 0; name != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int dm_synth_category_find(const char *name)
{
    return dm_synth_name_find(dm_synth_category_names, name);
}

/* The buffers, so that each is named once. */
#define TEXT_COUNT 21
#define GIVEN_COUNT 7 /* of them: those that are there before anything is compiled */
static void list_texts(dm_synth_record *r, dm_buffer *texts[TEXT_COUNT])
{
    dm_buffer *all[TEXT_COUNT] = {
        &r->python_source, &r->line,    &r->paragraph,    &r->specification, &r->slower,
        &r->unrolled,      &r->unfused, &r->cuda_forward, &r->cuda_backward, &r->c_forward,
        &r->c_backward,    &r->ir,      &r->reference,    &r->test,          &r->broken,
        &r->symptom,       &r->ptx,     &r->program,      &r->warp_forward,  &r->warp_backward,
        &r->diagnostics};
    memcpy(texts, all, sizeof all);
}

void dm_synth_record_init(dm_synth_record *record)
{
    *record = (dm_synth_record){.generation_time_ms = -1};
}

void dm_synth_record_deinit(dm_synth_record *record)
{
    dm_buffer *texts[TEXT_COUNT];
    list_texts(record, texts);
    for (int i = 0; i < TEXT_COUNT; i++)
        dm_buffer_deinit(texts[i]);
}

void dm_synth_record_clear(dm_synth_record *record)
{
    dm_buffer *texts[TEXT_COUNT], kept[TEXT_COUNT];
    list_texts(record, texts);
    for (int i = 0; i < TEXT_COUNT; i++)
        kept[i] = *texts[i];
    dm_synth_record_init(record);
    for (int i = 0; i < TEXT_COUNT; i++) {
        *texts[i] = kept[i];
        dm_buffer_clear(texts[i]);
    }
}

dm_status dm_synth_record_check(dm_synth_record *record, dm_error *err)
{
    dm_buffer *texts[TEXT_COUNT];
    dm_status status = DM_OK;
    list_texts(record, texts);
    for (int i = 0; i < TEXT_COUNT && status == DM_OK; i++)
        status = dm_buffer_check(texts[i], err);
    return status;
}

void dm_synth_record_swap_texts(dm_synth_record *a, dm_synth_record *b)
{
    dm_buffer *first[TEXT_COUNT], *second[TEXT_COUNT];
    list_texts(a, first);
    list_texts(b, second);
    for (int i = GIVEN_COUNT; i < TEXT_COUNT; i++) {
        dm_buffer kept = *first[i];
        *first[i] = *second[i];
        *second[i] = kept;
    }
}

static void take_over(dm_buffer *to, const dm_buffer *from)
{
    dm_buffer_clear(to);
    dm_buffer_append(to, dm_buffer_text(from), from->size);
}

void dm_synth_record_take_found(dm_synth_record *r, const dm_synth_record *from)
{
    r->verification = from->verification;
    take_over(&r->test, &from->test);
    memcpy(r->mutation, from->mutation, sizeof r->mutation);
    r->found_by_test = from->found_by_test;
    take_over(&r->broken, &from->broken);
    take_over(&r->symptom, &from->symptom);
    if (from->slower.size == 0)
        dm_buffer_clear(&r->slower);
    r->cost = from->cost;
    r->slower_cost = from->slower_cost;
    if (from->unrolled.size == 0)
        dm_buffer_clear(&r->unrolled);
    if (from->unfused.size == 0)
        dm_buffer_clear(&r->unfused);
    r->unrolled_cost = from->unrolled_cost;
    r->unfused_cost = from->unfused_cost;
    take_over(&r->warp_forward, &from->warp_forward);
    take_over(&r->warp_backward, &from->warp_backward);
    memcpy(r->warp_version, from->warp_version, sizeof r->warp_version);
    take_over(&r->ptx, &from->ptx);
    r->registers = from->registers;
    r->shared_bytes = from->shared_bytes;
}

int dm_synth_lines(const dm_buffer *text)
{
    enum { TOGETHER = 128 }; /* a byte counts that far, so that 16 bytes are compared at once */
    const char *at = dm_buffer_text(text);
    size_t left = text->size;
    int lines = left > 0 && at[left - 1] != '\n';
    for (; left >= TOGETHER; at += TOGETHER, left -= TOGETHER) {
        uint8_t found = 0;
        for (int i = 0; i < TOGETHER; i++)
            found = (uint8_t)(found + (at[i] == '\n'));
        lines += found;
    }
    for (size_t i = 0; i < left; i++)
        lines += at[i] == '\n';
    return lines;
}

/* ---- Parts ---- */

static dm_synth_part part_of(uint64_t hash)
{
    uint64_t tenth = hash % 10;
    return tenth == 0 ? DM_SYNTH_TEST : tenth == 1 ? DM_SYNTH_VALIDATION : DM_SYNTH_TRAIN;
}

dm_synth_part dm_synth_part_by_record(const dm_synth_record *record)
{
    return part_of(record->canonical.high);
}

dm_synth_part dm_synth_part_by_idiom(const char *idiom)
{
    return idiom[0] == '\0' ? DM_SYNTH_TRAIN : part_of(dm_hash64(idiom, strlen(idiom)));
}

/* ---- Writing ---- */

#define BLOCK 64 /* bytes that are looked at together */

/* Bytes that JSON cannot have in a string as they are, a bit for each of a block. On a processor
 * without SSE2 eight bytes at a time: a byte of zeros(x) has its top bit set where that of x is
 * zero, and the product gathers the eight bits in its top byte. */
#ifdef __SSE2__
static uint64_t special_bits(const char *block)
{
    const __m128i below = _mm_set1_epi8(0x1F), quote = _mm_set1_epi8('"'),
                  slash = _mm_set1_epi8('\\');
    uint64_t bits = 0;
    for (int i = 0; i < BLOCK / 16; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i));
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_min_epu8(x, below), x));
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(found) << (16 * i);
    }
    return bits;
}
#else
static uint64_t zeros(uint64_t x)
{
    const uint64_t all = 0x7F7F7F7F7F7F7F7Fu;
    return ~(((x & all) + all) | x | all);
}

static uint64_t special_bits(const char *block)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t bits = 0;
    for (int i = 0; i < BLOCK / 8; i++) {
        uint64_t x;
        memcpy(&x, block + 8 * i, 8);
        if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
            x = __builtin_bswap64(x);
        uint64_t found = zeros(x & ones * 0xE0) | zeros(x ^ ones * '"') | zeros(x ^ ones * '\\');
        bits |= (found >> 7) * 0x0102040810204080u >> 56 << (8 * i);
    }
    return bits;
}
#endif

static char *put_escape(char *to, unsigned char c)
{
    static const char letters[0x20] = {['\t'] = 't', ['\r'] = 'r'}, digits[] = "0123456789abcdef";
    *to++ = '\\';
    if (c == '\n') { /* nearly always */
        *to++ = 'n';
        return to;
    }
    if (c >= 0x20 || letters[c] != 0) {
        *to++ = c >= 0x20 ? (char)c : letters[c];
        return to;
    }
    const char code[5] = {'u', '0', '0', digits[c >> 4], digits[c & 15]};
    memcpy(to, code, sizeof code);
    return to + sizeof code;
}

/* `size` bytes of a block as JSON has them. Runs of plain bytes, which are short, are copied
 * without asking how short: BLOCK bytes behind the block can be read, and written behind what is
 * returned. */
static char *put_block(char *to, const char *block, size_t size)
{
    uint64_t bits = special_bits(block);
    size_t done = 0;
    if (size < BLOCK)
        bits &= ((uint64_t)1 << size) - 1;
    for (; bits != 0; bits &= bits - 1) {
        size_t at = (size_t)__builtin_ctzll(bits);
        memcpy(to, block + done, BLOCK);
        to = put_escape(to + (at - done), (unsigned char)block[at]);
        done = at + 1;
    }
    memcpy(to, block + done, BLOCK);
    return to + (size - done);
}

/* Text that BLOCK more bytes can be read behind. */
static void put_blocks(dm_buffer *out, const char *text, size_t size)
{
    const size_t most = 6 * BLOCK + BLOCK; /* of a block: every byte is \u00XX */
    for (size_t i = 0; i < size; i += BLOCK) {
        size_t count = size - i < BLOCK ? size - i : BLOCK;
        if (out->capacity - out->size <= most && !dm_buffer_reserve(out, most))
            return;
        out->size = (size_t)(put_block(out->data + out->size, text + i, count) - out->data);
    }
}

static void put_quoted(dm_buffer *out, const char *text, size_t size)
{
    char tail[3 * BLOCK] = {0};
    size_t whole = size < 2 * BLOCK ? 0 : size / BLOCK * BLOCK - BLOCK;
    memcpy(tail, text + whole, size - whole);
    dm_buffer_putc(out, '"');
    put_blocks(out, text, whole);
    put_blocks(out, tail, size - whole);
    dm_buffer_putc(out, '"');
}

/* An empty text is null: it is not there. */
static void put_text(dm_buffer *out, const dm_buffer *text)
{
    if (text->size == 0)
        dm_buffer_puts(out, "null");
    else
        put_quoted(out, text->data, text->size);
}

static void put_bool(dm_buffer *out, bool value)
{
    if (value)
        dm_buffer_puts(out, "true");
    else
        dm_buffer_puts(out, "false");
}

static void put_int(dm_buffer *out, int value)
{
    char digits[16], *at = digits + sizeof digits;
    unsigned left = value < 0 ? 0 : (unsigned)value; /* counts are never negative */
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    dm_buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

/* A number of three digits: what is measured has no more. Negative: null. */
static void put_figure(dm_buffer *out, double value)
{
    if (value >= 0 && isfinite(value))
        dm_buffer_printf(out, "%.2e", value);
    else
        dm_buffer_puts(out, "null");
}

const char *dm_synth_record_device(const dm_synth_record *record)
{
    bool c = record->c_forward.size > 0;
    return record->cuda_forward.size == 0 ? "cpu" : c ? "both" : "cuda";
}

static void put_metadata(dm_buffer *out, const dm_synth_record *record)
{
    dm_buffer_puts(out, ", \"metadata\": {\"device\": \"");
    dm_buffer_puts(out, dm_synth_record_device(record));
    dm_buffer_puts(out, "\", \"has_backward\": ");
    put_bool(out, record->has_backward);
    dm_buffer_puts(out, ", \"forward_lines\": ");
    put_int(out, record->forward_lines);
    dm_buffer_puts(out, ", \"backward_lines\": ");
    put_int(out, record->backward_lines);
    dm_buffer_puts(out, ", \"generation_time_ms\": ");
    put_figure(out, record->generation_time_ms);
    dm_buffer_puts(out, ", \"attempt\": ");
    put_int(out, record->attempt);
    dm_buffer_putc(out, '}');
}

static void put_verification(dm_buffer *out, const dm_synth_verification *v)
{
    dm_buffer_puts(out, ", \"verification\": {\"level\": \"");
    dm_buffer_puts(out, dm_synth_level_names[v->level]);
    dm_buffer_puts(out, "\", \"c_compiled\": ");
    put_bool(out, v->c_compiled);
    dm_buffer_puts(out, ", \"cuda_compiled\": ");
    put_bool(out, v->cuda_compiled);
    dm_buffer_puts(out, ", \"ran\": ");
    put_bool(out, v->ran);
    dm_buffer_puts(out, ", \"compared\": ");
    put_int(out, v->compared);
    dm_buffer_puts(out, ", \"gradient_error\": ");
    put_figure(out, v->compared > 0 ? v->gradient_error : -1);
    dm_buffer_puts(out, ", \"output_magnitude\": ");
    put_figure(out, v->ran ? v->output_magnitude : -1);
    dm_buffer_putc(out, '}');
}

static void put_lesson(dm_buffer *out, const dm_synth_record *record)
{
    dm_buffer_puts(out, ", \"idiom\": ");
    if (record->idiom[0] == '\0')
        dm_buffer_puts(out, "null");
    else
        put_quoted(out, record->idiom, strlen(record->idiom));
    dm_buffer_puts(out, ", \"difficulty\": ");
    put_int(out, record->difficulty);
    dm_buffer_puts(out, ", \"split\": {\"record\": \"");
    dm_buffer_puts(out, dm_synth_part_names[dm_synth_part_by_record(record)]);
    dm_buffer_puts(out, "\", \"idiom\": \"");
    dm_buffer_puts(out, dm_synth_part_names[dm_synth_part_by_idiom(record->idiom)]);
    dm_buffer_puts(out, "\"}, \"description\": ");
    if (record->line.size == 0) {
        dm_buffer_puts(out, "null");
        return;
    }
    dm_buffer_puts(out, "{\"line\": ");
    put_text(out, &record->line);
    dm_buffer_puts(out, ", \"paragraph\": ");
    put_text(out, &record->paragraph);
    dm_buffer_puts(out, ", \"specification\": ");
    put_text(out, &record->specification);
    dm_buffer_putc(out, '}');
}

static void put_power(dm_buffer *out, const dm_synth_verification *v)
{
    dm_buffer_puts(out, ", \"test_power\": {\"cheats\": ");
    put_int(out, v->cheats);
    dm_buffer_puts(out, ", \"mutants\": ");
    put_int(out, v->mutants);
    dm_buffer_puts(out, ", \"noticed\": ");
    put_int(out, v->noticed);
    dm_buffer_puts(out, ", \"edges\": ");
    put_int(out, v->edges);
    dm_buffer_puts(out, ", \"edges_noticed\": ");
    put_int(out, v->edges_noticed);
    dm_buffer_putc(out, '}');
}

/* Another form of the program, with what it costs and what the program does. */
static void put_form(dm_buffer *out, const char *key, const dm_buffer *text, double cost,
                     const char *other, double other_cost)
{
    if (text->size == 0)
        return;
    dm_buffer_printf(out, ", \"%s\": {\"python_source\": ", key);
    put_text(out, text);
    dm_buffer_printf(out, ", \"cost\": %.0f, \"%s\": %.0f}", cost, other, other_cost);
}

/* What `--kinds` adds; left out where there is none. */
static void put_extras(dm_buffer *out, const dm_synth_record *record)
{
    if (record->mutation[0] != '\0') {
        dm_buffer_puts(out, ", \"repair\": {\"mutation\": ");
        put_quoted(out, record->mutation, strlen(record->mutation));
        dm_buffer_puts(out, record->found_by_test
                                ? ", \"found_by\": \"test\", \"broken_source\": "
                                : ", \"found_by\": \"compiler\", \"broken_source\": ");
        put_text(out, &record->broken);
        dm_buffer_puts(out, ", \"symptom\": ");
        put_text(out, &record->symptom);
        dm_buffer_putc(out, '}');
    }
    put_form(out, "slower", &record->slower, record->slower_cost, "faster_cost", record->cost);
    put_form(out, "unfused", &record->unfused, record->unfused_cost, "faster_cost", record->cost);
    put_form(out, "unrolled", &record->unrolled, record->unrolled_cost, "slower_cost",
             record->cost);
    if (record->warp_forward.size > 0) {
        dm_buffer_puts(out, ", \"warp_cuda_forward\": ");
        put_text(out, &record->warp_forward);
        dm_buffer_puts(out, ", \"warp_cuda_backward\": ");
        put_text(out, &record->warp_backward);
        dm_buffer_puts(out, ", \"warp_version\": ");
        put_quoted(out, record->warp_version, strlen(record->warp_version));
    }
    if (record->ptx.size > 0) {
        dm_buffer_puts(out, ", \"ptx\": ");
        put_text(out, &record->ptx);
        dm_buffer_printf(out, ", \"resources\": {\"registers\": %d, \"shared_bytes\": %d}",
                         record->registers, record->shared_bytes);
    }
}

static void put_texts(dm_buffer *out, const dm_synth_record *record)
{
    dm_buffer_puts(out, ", \"device\": \"");
    dm_buffer_puts(out, dm_synth_record_device(record));
    dm_buffer_puts(out, "\", \"cuda_forward\": ");
    put_text(out, &record->cuda_forward);
    dm_buffer_puts(out, ", \"cuda_backward\": ");
    put_text(out, &record->cuda_backward);
    if (record->c_forward.size > 0) {
        dm_buffer_puts(out, ", \"c_forward\": ");
        put_text(out, &record->c_forward);
        dm_buffer_puts(out, ", \"c_backward\": ");
        put_text(out, &record->c_backward);
    }
    if (record->ir.size > 0) {
        dm_buffer_puts(out, ", \"ir\": ");
        put_text(out, &record->ir);
    }
    if (record->program.size > 0) {
        dm_buffer_puts(out, ", \"program\": ");
        dm_buffer_append(out, record->program.data, record->program.size);
    }
    dm_buffer_puts(out, ", \"reference\": ");
    put_text(out, &record->reference);
    dm_buffer_puts(out, ", \"test\": ");
    put_text(out, &record->test);
    if (record->verification.cheats > 0)
        put_power(out, &record->verification);
    put_extras(out, record);
}

void dm_synth_record_write(const dm_synth_record *record, dm_buffer *out)
{
    char hash[DM_HASH_HEX_SIZE];
    dm_hash128_hex(record->canonical, hash);
    dm_buffer_puts(out, "{\"id\": ");
    put_quoted(out, record->id, strlen(record->id));
    dm_buffer_puts(out, ", \"kind\": \"");
    dm_buffer_puts(out, dm_synth_kind_names[record->kind]);
    dm_buffer_puts(out, "\", \"kernel_name\": ");
    put_quoted(out, record->kernel_name, strlen(record->kernel_name));
    dm_buffer_puts(out, ", \"category\": \"");
    if (record->category >= 0)
        dm_buffer_puts(out, dm_synth_category_names[record->category]);
    dm_buffer_putc(out, '"');
    if (record->kind == DM_SYNTH_PAIR)
        put_lesson(out, record);
    dm_buffer_puts(out, ", \"python_source\": ");
    put_text(out, &record->python_source);
    if (record->kind == DM_SYNTH_PAIR) {
        put_texts(out, record);
        put_metadata(out, record);
        put_verification(out, &record->verification);
    } else {
        dm_buffer_puts(out, ", \"diagnostics\": ");
        put_text(out, &record->diagnostics);
    }
    dm_buffer_puts(out, ", \"canonical\": \"");
    dm_buffer_append(out, hash, DM_HASH_HEX_SIZE - 1);
    dm_buffer_puts(out, "\"}\n");
}
