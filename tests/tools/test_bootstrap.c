/* SPDX-License-Identifier: MIT */
/* tools/bootstrap with a small package list and a fake apt-get, id and sudo in front of the real
 * ones. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* $d is the test's folder; apt-get writes its arguments to $d/calls and "installs" each package
 * named good-* by making the command that the list's probe looks for. It fails when a package is
 * named bad-*. */
static const char prelude[] =
    "set -u; export d; mkdir -p $d/bin $d/venv\n"
    "cat >$d/bin/apt-get <<'END'\n"
    "#!/bin/sh\n"
    "echo \"$@\" >>$d/calls\n"
    "for a; do case $a in\n"
    "bad-*) exit 100;;\n"
    "good-*) sleep 0.2; printf '#!/bin/sh\\n' >$d/bin/$a; chmod +x $d/bin/$a;;\n"
    "esac; done\n"
    "END\n"
    "printf '#!/bin/sh\\necho ${fake_uid:-0}\\n' >$d/bin/id\n"
    "printf '#!/bin/sh\\nexit 1\\n' >$d/bin/sudo\n"
    "chmod +x $d/bin/*\n"
    "cp $root/tools/requirements.txt $d/venv/made-from\n"
    "export PATH=$d/bin:$PATH DM_BOOTSTRAP_STATE=$d/state DM_BOOTSTRAP_VENV=$d/venv\n"
    "export DM_BOOTSTRAP_PACKAGES=$d/list DM_LIBCUDA=$d/no-driver DM_BOOTSTRAP_NVRTC=$d/toolkit/*\n"
    "unset DM_NVRTC\n"
    "boot=$root/tools/bootstrap\n";

static void shell(void **state, dm_test_result *result, const char *script)
{
    char text[8192];
    int length = snprintf(text, sizeof text, "%s%s", prelude, script);
    assert_in_range(length, 1, sizeof text - 1);
    if (!dm_file_exists(DM_TEST_SOURCE_ROOT "/tools/bootstrap"))
        dm_test_skip("the sources are not here");
    setenv("d", dm_test_dir(state), 1);
    setenv("root", DM_TEST_SOURCE_ROOT, 1);
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){"sh", "-c", text, NULL}}, result);
}

static void says_nothing_when_nothing_is_missing(void **state)
{
    dm_test_result r;
    shell(state, &r, "echo 'required sh cmd:sh' >$d/list; $boot && $boot && cat $d/calls");
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "calls")); /* there is no such file: apt-get was never called */
    assert_null(strstr(r.err, "bootstrap:"));
    dm_test_result_free(&r);
}

static void without_root_it_prints_the_one_command(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "printf 'required good-a cmd:good-a\\nrequired sh cmd:sh\\nrequired good-b cmd:good-b\\n"
          "optional good-c cmd:good-c\\n' >$d/list\n"
          "fake_uid=1000 $boot; echo $?; test -e $d/calls; echo $?");
    assert_string_equal(r.out, "1\n1\n");
    assert_string_equal(r.err, "bootstrap: missing: run  sudo apt-get install "
                               "--no-install-recommends good-a good-b\n");
    dm_test_result_free(&r);
}

static void without_root_optional_parts_are_one_line_once(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "echo 'optional good-c cmd:good-c' >$d/list; export fake_uid=1000; $boot; echo $?; "
          "$boot; echo $?");
    assert_string_equal(r.out, "0\n0\n");
    assert_string_equal(r.err, "bootstrap: optional good-c is not installed: sudo apt-get install "
                               "--no-install-recommends good-c\n");
    dm_test_result_free(&r);
}

static void root_installs_what_is_missing(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "printf 'required sh cmd:sh\\nrequired good-a cmd:good-a\\n' >$d/list\n"
          "$boot; echo $?; grep -c . $d/calls; sed -n 1p $d/calls | grep -c ' update$'; "
          "sed -n 2p $d/calls | grep -c -- ' install --no-install-recommends good-a$'; $boot");
    assert_string_equal(r.out, "0\n2\n1\n1\n");
    assert_string_equal(r.err, "bootstrap: installing good-a\n");
    dm_test_result_free(&r);
}

static void a_failed_install_fails_only_if_required(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "printf 'optional bad-x cmd:bad-x\\noptional good-a cmd:good-a\\n' >$d/list\n"
          "$boot; echo $?; command -v good-a >/dev/null; echo $?\n"
          "echo 'required bad-y cmd:bad-y' >>$d/list; $boot 2>/dev/null; echo $?");
    assert_string_equal(r.out, "0\n0\n1\n");
    assert_non_null(strstr(r.err, "optional bad-x is not installed"));
    assert_null(strstr(r.err, "optional good-a is not"));
    dm_test_result_free(&r);
}

static void check_tools_are_asked_for_only_with_check(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "echo 'check good-lint cmd:good-lint' >$d/list; $boot; command -v good-lint; echo $?; "
          "$boot --check 2>/dev/null; echo $?; command -v good-lint >/dev/null; echo $?");
    assert_non_null(strstr(r.out, "\n0\n0\n"));
    assert_null(strstr(r.err, "good-lint"));
    dm_test_result_free(&r);
}

static void two_at_once_install_once(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "echo 'required good-a cmd:good-a' >$d/list\n"
          "$boot & first=$!; $boot; echo $?; wait $first; echo $?; grep -c install $d/calls");
    assert_string_equal(r.out, "0\n0\n1\n");
    dm_test_result_free(&r);
}

static void works_with_an_empty_environment(void **state)
{
    dm_test_result r;
    shell(state, &r,
          "echo 'required sh cmd:sh' >$d/list\n"
          "env -i PATH=$PATH DM_BOOTSTRAP_STATE=$d/state DM_BOOTSTRAP_VENV=$d/venv CI=true "
          "DM_BOOTSTRAP_PACKAGES=$d/list $boot </dev/null; echo $?");
    assert_string_equal(r.out, "0\n");
    assert_string_equal(r.err, "");
    dm_test_result_free(&r);
}

static void unknown_options_are_refused(void **state)
{
    dm_test_result r;
    shell(state, &r, ": >$d/list; $boot --chekc; echo $?");
    assert_string_equal(r.out, "2\n");
    assert_non_null(strstr(r.err, "unknown option '--chekc'"));
    dm_test_result_free(&r);
}

/* An environment whose pip only notes what it is to install, and a driver of CUDA 13 that is none. */
static const char with_driver[] =
    "test -f $build/tests/libfake-cuda.so || { echo skip; exit 0; }\n"
    "mkdir -p $d/venv/bin; echo 'required sh cmd:sh' >$d/list\n"
    "cat >$d/venv/bin/python <<'END'\n"
    "#!/bin/sh\n"
    "while [ \"$1\" != -r ]; do shift; done\n"
    "grep -E '^[a-z]' $2 >>$d/wheels || exit 1\n"
    "mkdir -p $d/venv/lib/python3.11/site-packages/nvidia/cu13/lib\n"
    ": >$d/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13\n"
    "END\n"
    "chmod +x $d/venv/bin/python; : >$d/wheels\n";

static void driver_shell(void **state, dm_test_result *r, const char *script)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    dm_test_skip("python3 cannot load a stand-in driver that wants a sanitizer's runtime");
#endif
    char text[4096];
    snprintf(text, sizeof text, "build=%s\n%s%s", DM_TEST_BUILD_ROOT, with_driver, script);
    shell(state, r, text);
    if (strcmp(r->out, "skip\n") == 0)
        dm_test_skip("the stand-in driver is not here");
}

static void with_a_driver_and_no_nvrtc_the_wheel_is_installed(void **state)
{
    dm_test_result r;
    driver_shell(state, &r,
                 "export DM_LIBCUDA=$build/tests/libfake-cuda.so\n"
                 "$boot; echo $?; cat $d/wheels; $boot; $boot --again; grep -c . $d/wheels\n");
    assert_string_equal(r.out, "0\nnvidia-cuda-nvrtc==13.0.88\n1\n");
    assert_non_null(strstr(r.err, "bootstrap: installing nvidia-cuda-nvrtc==13.0.88 into .venv\n"));
    dm_test_result_free(&r);
}

static void no_wheel_without_a_driver_or_with_a_toolkit(void **state)
{
    dm_test_result r;
    driver_shell(state, &r,
                 "$boot; cat $d/wheels\n"
                 "mkdir $d/toolkit; : >$d/toolkit/libnvrtc.so.13\n"
                 "DM_LIBCUDA=$build/tests/libfake-cuda.so $boot --again; cat $d/wheels\n");
    assert_string_equal(r.out, "");
    dm_test_result_free(&r);
}

static void a_wheel_that_cannot_be_installed_is_one_line(void **state)
{
    dm_test_result r;
    driver_shell(state, &r,
                 "export DM_LIBCUDA=$build/tests/libfake-cuda.so\n"
                 "printf '#!/bin/sh\\necho no network >&2; exit 1\\n' >$d/venv/bin/python\n"
                 "$boot; echo $?\n");
    assert_string_equal(r.out, "0\n");
    assert_non_null(strstr(r.err, "optional NVRTC is not installed (no network): tools/bootstrap"));
    dm_test_result_free(&r);
}

static void the_package_list_is_well_formed(void **state)
{
    (void)state;
    char *text;
    size_t size;
    int rows = 0;
    if (!dm_file_exists(DM_TEST_SOURCE_ROOT "/tools/packages.txt"))
        dm_test_skip("the sources are not here");
    assert_ok(dm_file_read(DM_TEST_SOURCE_ROOT "/tools/packages.txt", 0, &text, &size, err));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char group[32], package[64], probe[128], more[2];
        if (line[0] == '#')
            continue;
        if (sscanf(line, "%31s %63s %127s %1s", group, package, probe, more) != 3)
            fail_msg("not three words: %s", line);
        bool known = strcmp(group, "required") == 0 || strcmp(group, "optional") == 0 ||
                     strcmp(group, "check") == 0;
        bool probed = strncmp(probe, "cmd:", 4) == 0 || strncmp(probe, "pc:", 3) == 0 ||
                      strncmp(probe, "file:", 5) == 0;
        if (!known || !probed)
            fail_msg("unknown group or probe: %s", line);
        rows++;
    }
    assert_in_range(rows, 10, 100);
    free(text);
}

DM_TESTS("tools/bootstrap", DM_TEST_IN_DIR(says_nothing_when_nothing_is_missing),
         DM_TEST_IN_DIR(without_root_it_prints_the_one_command),
         DM_TEST_IN_DIR(without_root_optional_parts_are_one_line_once),
         DM_TEST_IN_DIR(root_installs_what_is_missing),
         DM_TEST_IN_DIR(a_failed_install_fails_only_if_required),
         DM_TEST_IN_DIR(check_tools_are_asked_for_only_with_check),
         DM_TEST_IN_DIR(two_at_once_install_once), DM_TEST_IN_DIR(works_with_an_empty_environment),
         DM_TEST_IN_DIR(unknown_options_are_refused),
         DM_TEST_IN_DIR(with_a_driver_and_no_nvrtc_the_wheel_is_installed),
         DM_TEST_IN_DIR(no_wheel_without_a_driver_or_with_a_toolkit),
         DM_TEST_IN_DIR(a_wheel_that_cannot_be_installed_is_one_line),
         DM_TEST(the_package_list_is_well_formed))
