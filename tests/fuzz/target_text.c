/* SPDX-License-Identifier: MIT */
/* target_text.c - texts of the kernel dialect, and datasets of them: records, folders, profiles,
 * and C texts that are taken apart to share a compilation unit. */
#include "base/buffer.h"
#include "lang/compile.h"
#include "synth/audit/validate.h"
#include "synth/check/bundle.h"
#include "synth/gen/profile/profile.h"
#include "synth/store/dataset.h"
#include "synth/store/record.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

#include <stdlib.h>
#include <string.h>

/* ---- Kernels ---- */

void fuzz_run_kernel(const uint8_t *data, size_t size)
{
    dm_compilation c;
    dm_error err = {0};
    dm_compile_options options = {0};
    char *text = malloc(size + 1);
    fuzz_expect(text != NULL, "out of memory");
    memcpy(text, data, size);
    text[size] = '\0';
    dm_status status = dm_compilation_init(&c, "case.py", text, size, &options, &err);
    fuzz_done(status, &err);
    for (int k = 0; status == DM_OK && k < c.kernel_count && k < 8; k++) {
        dm_status compiled = dm_compilation_kernel(&c, k, &err);
        fuzz_done(compiled, &err);
        for (int target = 0; compiled == DM_OK && target < 2; target++) {
            dm_buffer out = DM_BUFFER_EMPTY;
            fuzz_done(
                dm_compilation_print(&c, k, target == 0 ? DM_TARGET_C : DM_TARGET_CUDA, &out, &err),
                &err);
            dm_buffer_deinit(&out);
        }
    }
    dm_compilation_deinit(&c);
    free(text);
}

static const char kernel_text[] =
    "import warp as wp\n\nSCALE = wp.constant(2.0)\n\n\n@wp.struct\nclass Body:\n    x: wp.vec3\n"
    "    m: float\n\n\n@wp.func\ndef pull(a: wp.vec3, s: float):\n    return wp.dot(a, a) * s\n\n\n"
    "@wp.kernel\ndef k(x: wp.array(dtype=float), b: wp.array(dtype=Body), n: int,\n"
    "      out: wp.array2d(dtype=float)):\n    i, j = wp.tid()\n    s = float(0.0)\n"
    "    for t in range(n):\n        if t % 2 == 0 and x[t] > 0.5:\n            s += x[t] * SCALE\n"
    "        elif t > 7:\n            break\n    while s > 1.0:\n        s = s * 0.5\n"
    "    wp.atomic_add(out, i, j, s + pull(b[i].x, b[i].m))\n";

void fuzz_seeds_kernel(void)
{
    fuzz_seed_text("everything", kernel_text);
    fuzz_seed_text("matrix",
                   "import warp as wp\n\n\n@wp.kernel\ndef k(v: wp.array(dtype=wp.mat33), "
                   "out: wp.array(dtype=float)):\n    i = wp.tid()\n    m = v[i]\n"
                   "    m[0, 1] += wp.sin(m[1, 0])\n    out[i] = wp.determinant(m) if i > "
                   "2 else wp.trace(wp.transpose(m) @ m)\n");
}

/* ---- Records ---- */

void fuzz_run_synth_record(const uint8_t *data, size_t size)
{
    dm_synth_record record, again;
    dm_error err = {0};
    dm_synth_record_init(&record);
    dm_synth_record_init(&again);
    dm_status status = dm_synth_record_read(&record, (const char *)data, size, "a.jsonl", 1, &err);
    fuzz_done(status, &err);
    if (status == DM_OK) { /* written and read again it is the same */
        dm_buffer first = DM_BUFFER_EMPTY, second = DM_BUFFER_EMPTY;
        dm_synth_record_write(&record, &first);
        fuzz_need(dm_synth_record_read(&again, first.data, first.size, "again", 1, &err), &err);
        dm_synth_record_write(&again, &second);
        fuzz_expect(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
                    "a record changes when it is written");
        dm_buffer_deinit(&first);
        dm_buffer_deinit(&second);
    }
    dm_synth_record_deinit(&record);
    dm_synth_record_deinit(&again);
}

static void record_lines(dm_buffer *pair, dm_buffer *rejected)
{
    dm_synth_record r;
    dm_synth_record_init(&r);
    strcpy(r.id, "7-00000012");
    strcpy(r.kernel_name, "k");
    r.category = DM_SYNTH_MATRIX;
    dm_buffer_puts(&r.python_source, kernel_text);
    dm_buffer_puts(&r.cuda_forward, "forward\n");
    dm_buffer_puts(&r.cuda_backward, "backward \xC3\xA9\n");
    r.has_backward = true;
    r.forward_lines = r.backward_lines = 1;
    r.generation_time_ms = 0.125;
    r.canonical = (dm_hash128){.low = 1, .high = UINT64_MAX};
    r.verification = (dm_synth_verification){.level = DM_SYNTH_VERIFY_GRAD,
                                             .c_compiled = true,
                                             .ran = true,
                                             .compared = 12,
                                             .gradient_error = 3.5e-9,
                                             .output_magnitude = 2.25};
    dm_synth_record_write(&r, pair);
    dm_synth_record_clear(&r);
    r.kind = DM_SYNTH_REJECTED;
    strcpy(r.id, "7-00000013");
    strcpy(r.kernel_name, "k");
    dm_buffer_puts(&r.python_source, "def k(:\n");
    dm_buffer_puts(&r.diagnostics, "k.py:1:7: error: expected a name\n");
    r.generation_time_ms = -1;
    dm_synth_record_write(&r, rejected);
    dm_synth_record_deinit(&r);
}

void fuzz_seeds_synth_record(void)
{
    dm_buffer pair = DM_BUFFER_EMPTY, rejected = DM_BUFFER_EMPTY;
    record_lines(&pair, &rejected);
    fuzz_seed("pair", pair.data, pair.size);
    fuzz_seed("rejected", rejected.data, rejected.size);
    dm_buffer_deinit(&pair);
    dm_buffer_deinit(&rejected);
}

/* ---- Folders ---- */

void fuzz_run_synth_dataset(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"manifest.json",        "stats.json",  "pairs-00000.jsonl",
                                        "rejected-00000.jsonl", "others.json", NULL};
    const char *folder = fuzz_folder_of(data, size, names);
    dm_synth_dataset dataset;
    dm_error err = {0};
    dm_status status = dm_synth_dataset_open(&dataset, folder, &err);
    fuzz_done(status, &err);
    if (status == DM_OK) {
        for (size_t i = 0; i < dataset.file_count; i++) {
            dm_synth_file file;
            status = dm_synth_file_read(&file, &dataset, i, &err);
            fuzz_done(status, &err);
            if (status != DM_OK)
                continue;
            for (size_t k = 0; k < file.count; k++)
                fuzz_touch(file.lines[k], dm_synth_file_line(&file, k));
            dm_synth_file_free(&file);
        }
        dm_synth_record record;
        dm_synth_record_init(&record);
        status = dm_synth_dataset_find(&dataset, "7-00000012", &record, &err);
        fuzz_done(status, &err);
        dm_synth_record_deinit(&record);
        dm_synth_dataset_close(&dataset);
    }
    dm_synth_report report;
    const dm_synth_validate_options options = {.path = folder, .jobs = 1, .quiet = true};
    fuzz_done(dm_synth_validate(&options, &report, &err), &err);
    dm_synth_report_free(&report);
}

void fuzz_seeds_synth_dataset(void)
{
    dm_buffer pair = DM_BUFFER_EMPTY, rejected = DM_BUFFER_EMPTY, out = DM_BUFFER_EMPTY;
    record_lines(&pair, &rejected);
    dm_buffer_printf(&out,
                     "=== manifest.json\n{\"format\": \"dotmatrix-kernels-2\", \"seed\": 7, "
                     "\"count\": 1, \"shards\": [{\"file\": \"pairs-00000.jsonl\", \"lines\": 1, "
                     "\"bytes\": %zu, \"checksum\": \"00\"}]}\n=== pairs-00000.jsonl\n%s",
                     pair.size, dm_buffer_text(&pair));
    fuzz_seed("ours", out.data, out.size);
    dm_buffer_clear(&out);
    dm_buffer_printf(&out, "=== pairs-00000.jsonl\n%s%s", dm_buffer_text(&pair),
                     dm_buffer_text(&rejected));
    fuzz_seed("others-lines", out.data, out.size);
    fuzz_seed_text("others-list", "=== others.json\n[{\"id\": 1, \"python_source\": \"import warp "
                                  "as wp\\n\", \"cuda_forward\": \"x\"}, {\"code\": 2}]");
    dm_buffer_deinit(&pair);
    dm_buffer_deinit(&rejected);
    dm_buffer_deinit(&out);
}

/* ---- Profiles ---- */

void fuzz_run_synth_profile(const uint8_t *data, size_t size)
{
    dm_synth_profile *profile = NULL;
    dm_error err = {0};
    dm_status status = dm_synth_profile_create(fuzz_file(0, data, size), &profile, &err);
    fuzz_done(status, &err);
    if (status == DM_OK)
        fuzz_touch(profile, sizeof *profile);
    dm_synth_profile_destroy(profile);
}

void fuzz_seeds_synth_profile(void)
{
    fuzz_seed_file("ours", DM_FUZZ_SOURCE_ROOT "/src/synth/gen/profile/profile.json");
}

/* ---- Texts taken apart ---- */

void fuzz_run_synth_bundle(const uint8_t *data, size_t size)
{
    dm_bundle *bundle = NULL;
    dm_error err = {0};
    static const char first[] = "typedef struct pair { float c[2]; } pair;\n"
                                "static inline float one(pair p)\n{\n    return p.c[0];\n}\n";
    fuzz_need(dm_bundle_create(&bundle, &err), &err);
    fuzz_need(dm_bundle_add(bundle, first, sizeof first - 1, &err), &err);
    for (int i = 0; i < 2; i++) {
        size_t before, after;
        dm_bundle_text(bundle, &before);
        dm_status status = dm_bundle_add(bundle, (const char *)data, size, &err);
        fuzz_done(status, &err);
        const char *text = dm_bundle_text(bundle, &after);
        fuzz_expect(status == DM_OK || before == after, "a text that was refused is in the unit");
        fuzz_touch(text, after);
        dm_bundle_name(bundle, "one");
    }
    dm_bundle_destroy(bundle);
}

void fuzz_seeds_synth_bundle(void)
{
    fuzz_seed_text("c", "/* k */\n#include <math.h>\n\ntypedef struct pair { float c[2]; } pair;\n"
                        "static inline float one(pair p) { return -p.c[1]; } // other\n"
                        "const int table[] = {1, '}', 3};\nvoid k(pair p, char *s)\n{\n"
                        "    s = \"{\\\"\";\n    one(p);\n}\n");
}
