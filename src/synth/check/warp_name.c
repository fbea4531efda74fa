/* SPDX-License-Identifier: MIT */
/* warp_name.c - functions of CUDA and C texts by the names that Warp would give them; see warp_name.h. */
#include "synth/check/warp_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DIGITS 8

static bool is_part_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void own_hash(const dm_synth_record *r, char out[DIGITS + 1])
{
    char all[DM_HASH_HEX_SIZE];
    dm_hash128_hex(r->canonical, all);
    snprintf(out, DIGITS + 1, "%.8s", all);
}

/* The digits in `NAME_DIGITS_cuda_kernel_forward` of Warp's text; NULL: it has no such kernel. */
static const char *find_hash(const dm_synth_record *r, const char *name, size_t length)
{
    static const char end[] = "_cuda_kernel_forward(";
    const char *text = dm_buffer_text(&r->warp_forward), *stop = text + r->warp_forward.size;
    const char *at = text;
    while ((at = memmem(at, (size_t)(stop - at), end, sizeof end - 1)) != NULL) {
        const char *digits = at - DIGITS, *start = digits - 1 - length;
        if ((size_t)(at - text) > length + DIGITS + 1 && memcmp(start, name, length) == 0 &&
            digits[-1] == '_' && !is_part_of_name(start[-1]))
            return digits;
        at += sizeof end - 1;
    }
    return NULL;
}

void dm_warp_name_put(const dm_synth_record *r, const char *entry, bool cuda,
                      char out[DM_WARP_NAME_MAX])
{
    char own[DIGITS + 1];
    const char *hash = find_hash(r, entry, strlen(entry));
    own_hash(r, own);
    snprintf(out, DM_WARP_NAME_MAX, "%.250s_%.8s%s", entry, hash == NULL ? own : hash,
             cuda ? "_cuda_kernel" : "_cpu");
}

typedef struct replacement {
    char from[DM_WARP_NAME_MAX + 16], to[DM_WARP_NAME_MAX + 16];
} replacement;

/* Every whole name. */
static dm_status replace(dm_buffer *text, const replacement *names, int count, dm_error *err)
{
    dm_buffer made = DM_BUFFER_EMPTY;
    const char *p = dm_buffer_text(text), *end = p + text->size;
    while (p < end) {
        const char *start = p;
        while (p < end && !is_part_of_name(*p))
            p++;
        dm_buffer_append(&made, start, (size_t)(p - start));
        start = p;
        while (p < end && is_part_of_name(*p))
            p++;
        size_t length = (size_t)(p - start);
        int found = 0;
        while (found < count && (strlen(names[found].from) != length ||
                                 memcmp(names[found].from, start, length) != 0))
            found++;
        if (found < count)
            dm_buffer_puts(&made, names[found].to);
        else
            dm_buffer_append(&made, start, length);
    }
    dm_status status = dm_buffer_check(&made, err);
    if (status == DM_OK) {
        dm_buffer_clear(text);
        dm_buffer_append(text, dm_buffer_text(&made), made.size);
        status = dm_buffer_check(text, err);
    }
    dm_buffer_deinit(&made);
    return status;
}

dm_status dm_warp_name_functions(dm_synth_record *r, const char *entry, dm_error *err)
{
    static const char *const passes[2] = {"_forward", "_backward"};
    dm_buffer *const texts[2][2] = {{&r->c_forward, &r->c_backward},
                                    {&r->cuda_forward, &r->cuda_backward}};
    dm_status status = DM_OK;
    for (int cuda = 0; cuda < 2; cuda++) {
        replacement names[4];
        int count = 0;
        char stem[DM_WARP_NAME_MAX];
        dm_warp_name_put(r, entry, cuda == 1, stem);
        for (int pass = 0; pass < 2; pass++) {
            replacement *n = &names[count++];
            snprintf(n->from, sizeof n->from, "%.250s%s", entry, passes[pass]);
            snprintf(n->to, sizeof n->to, "%s%s", stem, passes[pass]);
            if (cuda == 1)
                continue;
            n = &names[count++];
            snprintf(n->from, sizeof n->from, "%.250s%s_task", entry, passes[pass]);
            snprintf(n->to, sizeof n->to, "%s_kernel%s", stem, passes[pass]);
        }
        for (int i = 0; i < 2 && status == DM_OK; i++)
            if (texts[cuda][i]->size > 0)
                status = replace(texts[cuda][i], names, count, err);
    }
    return status;
}

static void take_hashes(const dm_synth_record *r, const char *mark, dm_buffer *text)
{
    char *begin = text->data, *at = begin, *end = begin + text->size;
    size_t length = strlen(mark);
    while (text->size > 0 && (at = memmem(at, (size_t)(end - at), mark, length)) != NULL) {
        char *name = at;
        while (name > begin && is_part_of_name(name[-1]))
            name--;
        const char *hash = find_hash(r, name, (size_t)(at - name));
        if (hash != NULL)
            memcpy(at + 1, hash, DIGITS);
        at += length;
    }
}

void dm_warp_name_take_hashes(dm_synth_record *r)
{
    dm_buffer *const texts[] = {&r->cuda_forward, &r->cuda_backward, &r->c_forward,
                                &r->c_backward,   &r->test,          &r->ptx};
    char own[DIGITS + 1], mark[2][32];
    own_hash(r, own);
    snprintf(mark[0], sizeof mark[0], "_%s_cuda_kernel", own);
    snprintf(mark[1], sizeof mark[1], "_%s_cpu", own);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int k = 0; k < 2; k++)
            take_hashes(r, mark[k], texts[i]);
}
