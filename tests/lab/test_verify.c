/* SPDX-License-Identifier: MIT */
/* `dotmatrix verify` and `dotmatrix replay` from outside. What needs a reference that is not
 * installed is skipped. */
#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "cli/command.h"
#include "lab/backend.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char program[] = DM_TEST_BUILD_ROOT "/src/cli/dotmatrix";

static const char *rom(const char *name)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, name);
    return path;
}

static void need(const dm_lab_kind *kind)
{
    char version[128];
    dm_error why;
    if (kind->version(kind, version, sizeof version, &why) != DM_OK)
        dm_test_skip("%s: %s", kind->name, why.message);
}

/* The command's arguments, in the test's folder. */
static void run_in(void **state, dm_test_result *r, const char *const *env,
                   const char *const *arguments)
{
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state), .env = env}, arguments,
                          r);
}
#define command(r, ...) run_in(state, r, NULL, (const char *const[]){__VA_ARGS__, NULL})

static void expect_error(void **state, int code, const char *text, const char *const *arguments)
{
    dm_test_result r;
    run_in(state, &r, NULL, arguments);
    dm_test_expect_exit(&r, code);
    if (strstr(r.err, text) == NULL)
        fail_msg("'%s' is not in: %s", text, r.err);
    dm_test_result_free(&r);
}
#define refuses(code, text, ...)                                                                   \
    expect_error(state, code, text, (const char *const[]){__VA_ARGS__, NULL})

static void agree(void **state, const char *name, const char *reference)
{
    dm_test_result r;
    command(&r, "verify", "--rom", rom(name), "--ref-backend", reference, "--mem-region",
            "C000:C100", "--frames-per-step", "1", "--verify-steps", "256", "--compare-every", "1");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "256 steps of 1 frames, 257 comparisons"));
    assert_null(strstr(r.out, "not compared"));
    dm_test_result_free(&r);
}

static void loops_agree_with_mgba(void **state)
{
    need(&dm_lab_mgba_single);
    agree(state, "ALU_LOOP", "mgba_single");
    agree(state, "MEM_RWB", "mgba_single");
    agree(state, "BG_SCROLL_ANIM", "mgba_single"); /* HALT, VBlank interrupts */
}

static void loops_agree_with_pyboy(void **state)
{
    need(&dm_lab_pyboy_single);
    agree(state, "ALU_LOOP", "pyboy_single");
    agree(state, "MEM_RWB", "pyboy_single");
}

static void pictures_and_random_keys_agree_with_mgba(void **state)
{
    need(&dm_lab_mgba_single);
    dm_test_result r;
    command(&r, "verify", "--rom", rom("STARFALL"), "--ref-backend", "mgba_vec_mt", "--envs", "3",
            "--frames-per-step", "8", "--release-after-frames", "4", "--verify-steps", "40",
            "--action-gen", "seeded_random", "--actions-seed", "7", "--compare-frame",
            "--mem-region", "C000:E000", "--settle", "3"); /* the LCD was just switched on */
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "114 comparisons"));
    dm_test_result_free(&r);
}

static void vectors_agree_with_pyboy(void **state)
{
    need(&dm_lab_pyboy_vec);
    dm_test_result r;
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", "pyboy_vec_mp", "--envs", "5",
            "--verify-steps", "20", "--mem-region", "C000:C100", "--action-gen", "striped");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "105 comparisons"));
    dm_test_result_free(&r);
}

static void instructions_agree_with_mgba(void **state)
{
    need(&dm_lab_mgba_single);
    dm_test_result r;
    command(&r, "verify", "--rom", rom("CB_BITOPS"), "--dut-backend", "single", "--by",
            "instruction", "--verify-steps", "5");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "instructions"));
    dm_test_result_free(&r);
    refuses(DM_EXIT_INPUT, "--by instruction needs", "verify", "--rom", rom("CB_BITOPS"), "--by",
            "instruction");
}

static void read_text(void **state, const char *name, char **text)
{
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, name), 0, text, &size, err));
}

/* The bundle has what it should, and shows the mismatch again, by itself and elsewhere. */
static void check_bundle(void **state, const char *reference)
{
    static const char *const files[] = {
        "meta.json",      "rom.gb",        "diff.txt",  "trace.txt",          "actions.txt",
        "reference.json", "dut.json",      "dut.state", "reference_C000.bin", "dut_C000.bin",
        "dut_8000.bin",   "reference.png", "dut.png",   "repro.sh",           "reference.state"};
    char path[256], *text;
    struct stat info;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "b/%s", files[i]);
        if (stat(dm_test_path(state, path), &info) != 0)
            fail_msg("%s is missing", path);
        if (strcmp(files[i], "dut_8000.bin") == 0)
            assert_int_equal(info.st_size, 1024); /* of 8,192 */
    }
    read_text(state, "b/meta.json", &text);
    assert_non_null(strstr(text, "\"step\": 1"));
    assert_non_null(strstr(text, reference));
    assert_non_null(strstr(text, "\"compiler\""));
    free(text);
    dm_test_result r;
    assert_int_equal(rename(dm_test_path(state, "b"), dm_test_path(state, "moved")), 0);
    const char *argv[] = {dm_test_path(state, "moved/repro.sh"), NULL};
    dm_test_run(&(dm_test_command){.argv = argv, .folder = "/"}, &r);
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "MISMATCH after step 1, machine 0 (wrong_single against"));
    assert_non_null(strstr(r.out, "first differing instruction: 017D SWAP A"));
    dm_test_result_free(&r);
    command(&r, "replay", "moved", "--dut-backend", "single");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "no mismatch"));
    dm_test_result_free(&r);
}

static void catch_the_wrong_one(void **state, const char *reference)
{
    dm_test_result r;
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", reference, "--dut-backend",
            "wrong_single", "--mem-region", "C000:C100", "--mem-region", "8000:A000",
            "--compare-frame", "--bundle", "b");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "MISMATCH after step 1"));
    assert_non_null(strstr(r.out, "A: reference C7, under test 3D"));
    assert_non_null(strstr(r.out, "repro.sh"));
    dm_test_result_free(&r);
    check_bundle(state, reference);
}

static void the_wrong_one_is_caught(void **state)
{
    catch_the_wrong_one(state, "single");
}

static void mgba_catches_the_wrong_one(void **state)
{
    need(&dm_lab_mgba_single);
    catch_the_wrong_one(state, "mgba_single");
}

/* Machines 1 and 3 of a vector are wrong: it is machine 1 that is found, kept and shown again. */
static void the_wrong_machine_of_a_vector_is_found(void **state)
{
    dm_test_result r;
    char *text;
    command(&r, "verify", "--rom", rom("PPU_WINDOW"), "--ref-backend", "vec_cpu", "--dut-backend",
            "wrong_vec", "--envs", "4", "--verify-steps", "50", "--action-gen", "striped",
            "--mem-region", "C000:C100", "--bundle", "none");
    dm_test_expect_exit(&r, 0); /* no SWAP in it */
    dm_test_result_free(&r);
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", "vec_cpu", "--dut-backend",
            "wrong_vec", "--envs", "4", "--action-gen", "striped", "--bundle", "b");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "MISMATCH after step 1, machine 1 (wrong_vec against vec_cpu)"));
    dm_test_result_free(&r);
    read_text(state, "b/meta.json", &text);
    assert_non_null(strstr(text, "\"machine\": 1,"));
    free(text);
    read_text(state, "b/actions.txt", &text);
    assert_string_equal(text, "# machine 1; made up by striped, seed 0\nA\n");
    free(text);
    command(&r, "replay", "b");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "machine 1 (wrong_vec against vec_cpu)"));
    assert_non_null(strstr(r.out, "first differing instruction: 017D SWAP A"));
    dm_test_result_free(&r);
    command(&r, "replay", "b", "--dut-backend", "vec_cpu");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

/* A region of 8 KiB of which the last but one byte differs: the dumps are its last 1,024 bytes. */
static void a_dump_is_around_the_first_difference(void **state)
{
    static const char source[] = "INCLUDE \"micro.inc\"\n"
                                 "HEADER \"DUMP\", ROM\n"
                                 "  begin\n"
                                 "  ld a, $12\n"
                                 "  swap a\n"
                                 "  ld [$DFF0], a\n"
                                 ".done\n"
                                 "  jr .done\n";
    dm_test_result r;
    char *bytes;
    size_t size;
    assert_ok(dm_file_write(dm_test_path(state, "DUMP.asm"), source, sizeof source - 1, err));
    static const char include[] = DM_TEST_SOURCE_ROOT "/roms/include";
    command(&r, "roms", "build", "--include", include, "--out", ".", "DUMP.asm");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    command(&r, "verify", "--rom", "DUMP.gb", "--ref-backend", "single", "--dut-backend",
            "wrong_single", "--verify-steps", "2", "--mem-region", "C000:E000", "--bundle", "b");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "first at DFF0: reference 21, under test 12"));
    dm_test_result_free(&r);
    static const char *const names[2] = {"b/reference_DC00.bin", "b/dut_DC00.bin"};
    for (int i = 0; i < 2; i++) {
        assert_ok(dm_file_read(dm_test_path(state, names[i]), 0, &bytes, &size, err));
        assert_int_equal(size, 1024);
        assert_int_equal(bytes[0x3F0], i == 0 ? 0x21 : 0x12);
        free(bytes);
    }
}

static void a_given_action_file_is_replayed(void **state)
{
    dm_test_result r;
    char *text;
    assert_ok(
        dm_file_write(dm_test_path(state, "a.txt"), "A # first\n\n3\nNOOP\nright\n", 24, err));
    command(&r, "verify", "--rom", rom("MEM_RWB"), "--ref-backend", "single", "--dut-backend",
            "wrong_single", "--verify-steps", "4", "--compare-every", "3", "--actions-file",
            "a.txt", "--bundle", "b", "--mem-region", "C000:C100");
    dm_test_expect_exit(&r, 1);
    dm_test_result_free(&r);
    read_text(state, "b/actions.txt", &text);
    assert_string_equal(text, "A\nSTART\nNOOP\n");
    free(text);
    command(&r, "replay", "b");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "SWAP [HL]"));
    dm_test_result_free(&r);
}

static void bad_actions_are_refused(void **state)
{
    const char *bad = dm_test_path(state, "bad.txt"), *few = dm_test_path(state, "few.txt");
    const char *wide = dm_test_path(state, "wide.txt");
    assert_ok(dm_file_write(bad, "A\nJUMP\n", 7, err));
    assert_ok(dm_file_write(few, "A\nB\n", 4, err));
    assert_ok(dm_file_write(wide, "A B\n", 4, err));
    refuses(DM_EXIT_INPUT, "bad.txt:2: 'JUMP' is no action", "verify", "--rom", rom("ALU_LOOP"),
            "--ref-backend", "single", "--actions-file", bad);
    refuses(DM_EXIT_INPUT, "actions for 2 steps, 1024 are needed", "verify", "--rom",
            rom("ALU_LOOP"), "--ref-backend", "single", "--actions-file", few);
    refuses(DM_EXIT_INPUT, "wide.txt:1: more than 1 actions", "verify", "--rom", rom("ALU_LOOP"),
            "--ref-backend", "single", "--actions-file", wide);
    refuses(DM_EXIT_INPUT, "wide.txt:1: 2 actions for 3 machines", "verify", "--rom",
            rom("ALU_LOOP"), "--ref-backend", "vec_cpu", "--envs", "3", "--actions-file", wide);
}

static void bad_input_is_refused(void **state)
{
    refuses(DM_EXIT_USAGE, "is no backend; there are single, vec_cpu", "verify", "--rom",
            rom("ALU_LOOP"), "--ref-backend", "vba");
    refuses(DM_EXIT_USAGE, "--rom is missing", "verify");
    refuses(DM_EXIT_INPUT, "no.gb", "verify", "--rom", "no.gb", "--ref-backend", "single");
    refuses(DM_EXIT_USAGE, "is no region", "verify", "--rom", rom("ALU_LOOP"), "--mem-region",
            "C100:C000");
    refuses(DM_EXIT_USAGE, "cannot be ignored", "verify", "--rom", rom("ALU_LOOP"), "--ignore",
            "sp,ly");
    refuses(DM_EXIT_USAGE, "single has one machine, not 2", "verify", "--rom", rom("ALU_LOOP"),
            "--ref-backend", "single", "--envs", "2");
    assert_ok(dm_dir_create(dm_test_path(state, "there"), err));
    refuses(DM_EXIT_IO, "exists already", "verify", "--rom", rom("ALU_LOOP"), "--ref-backend",
            "single", "--bundle", "there");
    refuses(DM_EXIT_INPUT, "no such folder", "replay", "nowhere");
    refuses(DM_EXIT_INPUT, "meta.json", "replay", "there");
    assert_ok(dm_file_write(dm_test_path(state, "there/meta.json"),
                            "{\"schema\": \"dotmatrix-mismatch-99\"}", 35, err));
    refuses(DM_EXIT_INPUT, "schema 'dotmatrix-mismatch-99'", "replay", "there");
    refuses(DM_EXIT_USAGE, "nothing would be compared", "verify", "--rom", rom("ALU_LOOP"),
            "--settle", "2000");
}

/* A Python that cannot do it, from which a worker is started. */
static void python_that(void **state, const char *script)
{
    assert_ok(dm_file_write(dm_test_path(state, "python"), script, strlen(script), err));
    assert_int_equal(chmod(dm_test_path(state, "python"), 0755), 0);
}

static void pyboy_fails(void **state, const char *script, bool waits, const char *text)
{
    char python[DM_PATH_MAX + 16];
    dm_test_result r;
    python_that(state, script);
    snprintf(python, sizeof python, "DM_PYTHON=%s", dm_test_path(state, "python"));
    run_in(state, &r,
           (const char *const[]){python, waits ? "DM_LAB_TIMEOUT=0.5" : "DM_LAB_TIMEOUT=30", NULL},
           (const char *const[]){"verify", "--rom", rom("ALU_LOOP"), "--ref-backend",
                                 "pyboy_single", NULL});
    dm_test_expect_exit(&r, DM_EXIT_MISSING);
    if (strstr(r.err, text) == NULL)
        fail_msg("'%s' is not in: %s", text, r.err);
    assert_non_null(strstr(r.err, "tools/bootstrap --again"));
    assert_true(r.seconds < 20);
    dm_test_result_free(&r);
}

static void workers_that_fail_are_named(void **state)
{
    pyboy_fails(state, "#!/bin/sh\necho I am broken >&2\nexit 3\n", false,
                "ended with exit code 3; the last it wrote: I am broken");
    pyboy_fails(state, "#!/nowhere/sh\n", false, "cannot be run; DM_PYTHON names another");
    pyboy_fails(state, "#!/bin/sh\nkill -9 $$\n", false, "was ended by signal 9 and wrote nothing");
    pyboy_fails(state, "#!/bin/sh\necho thinking >&2\nexec sleep 100\n", true,
                "did not answer in time and was ended; the last it wrote: thinking");
    /* An answer that is no answer. */
    pyboy_fails(state, "#!/bin/sh\necho what is it that you want from me\nexec sleep 100\n", true,
                "did not answer in time");
    pyboy_fails(state, "#!/bin/sh\nexec python3 -S -c \"$2\" $3 $4\n", false, "No module named");
}

/* One of two workers is killed at work: it is named, and the other one ends, too. */
static void a_worker_that_dies_ends_the_rest(void **state)
{
    need(&dm_lab_pyboy_vec);
    static const char script[] =
        "\"$0\" verify --rom \"$1\" --ref-backend pyboy_vec_mp --envs 4 --verify-steps 10000000 & "
        "p=$!; "
        "until set -- $(cat /proc/$p/task/$p/children) && [ $# = 2 ]; do sleep 0.1; done; sleep 1; "
        "kill -9 $2; wait $p; code=$?; "
        "[ -e /proc/$1/exe ] && echo worker $1 is still there; exit $code";
    const char *argv[] = {"sh", "-c", script, program, rom("MEM_RWB"), NULL};
    dm_test_result r;
    if (dm_cpu_count() < 2)
        dm_test_skip("one CPU, hence one worker");
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, DM_EXIT_MISSING);
    assert_non_null(strstr(r.err, "pyboy worker 1 (process"));
    assert_non_null(strstr(r.err, "was ended by signal 9"));
    assert_string_equal(r.out, "");
    dm_test_result_free(&r);
}

static void ctrl_c_ends_cleanly(void **state)
{
    static const char script[] =
        "\"$0\" verify --rom \"$1\" --ref-backend single --verify-steps 100000000 "
        "& p=$!; (sleep 0.5; while kill -INT $p 2>/dev/null; do sleep 3; done) & wait $p";
    const char *argv[] = {"sh", "-c", script, program, rom("MEM_RWB"), NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, DM_EXIT_INTERRUPTED);
    assert_non_null(strstr(r.err, "dotmatrix verify: interrupted; "));
    dm_test_result_free(&r);
}

/* What one run wrote down stands for its reference in another. */
static void recordings_stand_for_references(void **state)
{
#define PROFILE                                                                                    \
    "--rom", rom("PPU_WINDOW"), "--mem-region", "C000:C100", "--mem-region", "8000:A000",          \
        "--compare-frame", "--verify-steps", "30"
    dm_test_result r;
    char *bytes;
    size_t size;
    command(&r, "verify", PROFILE, "--ref-backend", "single", "--record", "a.rec");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    command(&r, "verify", PROFILE, "--recorded", "a.rec");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "vec_cpu agrees with recorded: 30 steps"));
    dm_test_result_free(&r);
    command(&r, "verify", PROFILE, "--recorded", "a.rec", "--dut-backend", "wrong_single", "--rom",
            rom("PPU_WINDOW"), "--action-gen", "noop");
    dm_test_expect_exit(&r, 0); /* it has no SWAP */
    dm_test_result_free(&r);
    refuses(DM_EXIT_USAGE, "another profile", "verify", PROFILE, "--recorded", "a.rec",
            "--action-gen", "seeded_random", "--actions-seed", "3");
    refuses(DM_EXIT_USAGE, "another ROM", "verify", PROFILE, "--recorded", "a.rec", "--rom",
            rom("PPU_SPRITES"));
    refuses(DM_EXIT_USAGE, "in the place of a reference", "verify", PROFILE, "--recorded", "a.rec",
            "--ref-backend", "single");
    refuses(DM_EXIT_USAGE, "which recording", "verify", PROFILE, "--ref-backend", "recorded");
    refuses(DM_EXIT_USAGE, "one machine, by frames", "verify", PROFILE, "--ref-backend", "vec_cpu",
            "--envs", "2", "--record", "b.rec");
    assert_ok(dm_file_read(dm_test_path(state, "a.rec"), 0, &bytes, &size, err));
    bytes[size / 2] ^= 1;
    assert_ok(dm_file_write(dm_test_path(state, "a.rec"), bytes, size, err));
    refuses(DM_EXIT_INPUT, "damaged or cut off", "verify", PROFILE, "--recorded", "a.rec");
    assert_ok(dm_file_write(dm_test_path(state, "a.rec"), bytes, 10, err));
    refuses(DM_EXIT_INPUT, "not a recording", "verify", PROFILE, "--recorded", "a.rec");
    free(bytes);
#undef PROFILE
}

static void a_mismatch_with_a_recording_can_be_replayed(void **state)
{
    dm_test_result r;
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", "single", "--verify-steps",
            "9", "--record", "a.rec");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--recorded", "a.rec", "--verify-steps", "9",
            "--dut-backend", "wrong_single", "--bundle", "b");
    dm_test_expect_exit(&r, 1);
    dm_test_result_free(&r);
    assert_int_equal(unlink(dm_test_path(state, "a.rec")), 0);
    command(&r, "replay", "b");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "wrong_single against recorded"));
    dm_test_result_free(&r);
    command(&r, "replay", "b", "--ref-backend", "single");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "first differing instruction: 017D SWAP A"));
    dm_test_result_free(&r);
}

/* The frame ends in the middle of what an interrupt does, a few cycles apart (docs/verify.md). */
static void slack_lets_them_meet_and_counts_it(void **state)
{
    need(&dm_lab_mgba_single);
    dm_test_result r;
    command(&r, "verify", "--rom", rom("STARFALL"), "--mem-region", "C000:E000", "--verify-steps",
            "40", "--action-gen", "seeded_random", "--slack", "32");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "1 met only later, up to 8 cycles"));
    dm_test_result_free(&r);
    command(&r, "verify", "--rom", rom("STARFALL"), "--mem-region", "C000:E000", "--verify-steps",
            "40", "--action-gen", "seeded_random", "--bundle", "b");
    dm_test_expect_exit(&r, 1);
    dm_test_result_free(&r);
    /* It does not excuse what is wrong. */
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", "single", "--dut-backend",
            "wrong_single", "--slack", "456", "--bundle", "c");
    dm_test_expect_exit(&r, 1);
    dm_test_result_free(&r);
}

static void json_tells_the_same(void **state)
{
    dm_test_result r;
    json_t *root;
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", "single", "--verify-steps",
            "3", "--json", "--ignore", "cycles");
    dm_test_expect_exit(&r, 0);
    assert_ok(dm_json_parse(r.out, r.out_size, "out", &root, err));
    assert_true(json_is_true(json_object_get(root, "matched")));
    assert_int_equal(json_integer_value(json_object_get(root, "comparisons")), 4);
    const json_t *profile = json_object_get(root, "verify");
    assert_string_equal(json_string_value(json_object_get(profile, "ignore")), "cycles");
    json_decref(root);
    dm_test_result_free(&r);
}

/* Both sides begin at a save state; what differs from there on goes into a bundle with it. */
static void a_state_and_a_codec_can_be_chosen(void **state)
{
    dm_test_result r;
    command(&r, "run", "--rom", rom("STARFALL"), "--frames", "300", "--save", "s.state");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    command(&r, "verify", "--rom", rom("STARFALL"), "--ref-backend", "single", "--state", "s.state",
            "--codec", "pokemon_v1", "--action-gen", "seeded_random", "--verify-steps", "64",
            "--mem-region", "C000:C100", "--compare-frame");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "64 steps of 1 frames, 65 comparisons"));
    dm_test_result_free(&r);
    command(&r, "run", "--rom", rom("ALU_LOOP"), "--frames", "2", "--save", "b.state");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    command(&r, "verify", "--rom", rom("ALU_LOOP"), "--ref-backend", "single", "--dut-backend",
            "wrong_single", "--state", "b.state", "--codec", "raw", "--action-gen", "seeded_random",
            "--bundle", "b");
    dm_test_expect_exit(&r, DM_EXIT_NEGATIVE);
    dm_test_result_free(&r);
    assert_int_equal(unlink(dm_test_path(state, "b.state")), 0); /* the bundle has its own */
    command(&r, "replay", "b");
    dm_test_expect_exit(&r, DM_EXIT_NEGATIVE);
    assert_non_null(strstr(r.out, "MISMATCH after step 1"));
    dm_test_result_free(&r);
    refuses(DM_EXIT_INPUT, "cannot begin at a save state of ours", "verify", "--rom",
            rom("STARFALL"), "--state", "s.state");
    refuses(DM_EXIT_USAGE, "one of them", "verify", "--rom", rom("STARFALL"), "--state", "s.state",
            "--start", "zero");
    refuses(DM_EXIT_USAGE, "codec", "verify", "--rom", rom("STARFALL"), "--codec", "keys");
    assert_ok(dm_file_write(dm_test_path(state, "a.txt"), "SELECT\n", 7, err));
    refuses(DM_EXIT_INPUT, "'SELECT' is no action of pokemon_v1", "verify", "--rom",
            rom("STARFALL"), "--codec", "pokemon_v1", "--actions-file", "a.txt");
}

DM_TESTS("lab/verify", DM_TEST_IN_DIR(loops_agree_with_mgba),
         DM_TEST_IN_DIR(loops_agree_with_pyboy),
         DM_TEST_IN_DIR(pictures_and_random_keys_agree_with_mgba),
         DM_TEST_IN_DIR(vectors_agree_with_pyboy), DM_TEST_IN_DIR(instructions_agree_with_mgba),
         DM_TEST_IN_DIR(the_wrong_one_is_caught), DM_TEST_IN_DIR(mgba_catches_the_wrong_one),
         DM_TEST_IN_DIR(the_wrong_machine_of_a_vector_is_found),
         DM_TEST_IN_DIR(a_dump_is_around_the_first_difference),
         DM_TEST_IN_DIR(a_given_action_file_is_replayed), DM_TEST_IN_DIR(bad_actions_are_refused),
         DM_TEST_IN_DIR(bad_input_is_refused), DM_TEST_IN_DIR(workers_that_fail_are_named),
         DM_TEST_IN_DIR(a_worker_that_dies_ends_the_rest), DM_TEST_IN_DIR(ctrl_c_ends_cleanly),
         DM_TEST_IN_DIR(json_tells_the_same), DM_TEST_IN_DIR(recordings_stand_for_references),
         DM_TEST_IN_DIR(a_mismatch_with_a_recording_can_be_replayed),
         DM_TEST_IN_DIR(slack_lets_them_meet_and_counts_it),
         DM_TEST_IN_DIR(a_state_and_a_codec_can_be_chosen));
