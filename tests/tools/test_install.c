/* SPDX-License-Identifier: MIT */
/* The library as its users meet it: installed, found by pkg-config, its headers alone. */
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZE "-fsanitize=address,undefined" /* what links our library must be sanitized too */
#else
#define SANITIZE ""
#endif

/* Run a script with $d the test's folder, $root the sources and $build the build folder. */
static void shell(void **state, dm_test_result *result, const char *script)
{
    setenv("d", dm_test_dir(state), 1);
    setenv("root", DM_TEST_SOURCE_ROOT, 1);
    setenv("build", DM_TEST_BUILD_ROOT, 1);
    setenv("sanitize", SANITIZE, 1);
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){"sh", "-ec", script, NULL}},
                result);
}

static bool have(void **state, const char *program)
{
    char line[128];
    snprintf(line, sizeof line, "test -d $root && test -d $build && command -v %s", program);
    dm_test_result r;
    shell(state, &r, line);
    bool found = r.exit_code == 0;
    dm_test_result_free(&r);
    return found;
}

static void a_program_builds_against_the_installed_library(void **state)
{
    if (!have(state, "meson") || !have(state, "cc") || !have(state, "pkg-config"))
        dm_test_skip("the sources, meson, cc or pkg-config are not here");
    dm_test_result r;
    shell(state, &r,
          "meson install -C \"$build\" --no-rebuild --quiet --destdir \"$d/tree\" >/dev/null\n"
          "pc=$(find \"$d/tree\" -name dotmatrix.pc)\n"
          "export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=\"$d/tree\"\n"
          "lib=${pc%/pkgconfig/*}\n"
          "export LD_LIBRARY_PATH=$lib\n"
          "for example in \"$root\"/examples/*.c; do\n"
          "  cc -Wall -Wextra -Werror $sanitize \"$example\" "
          "$(pkg-config --cflags --libs dotmatrix) -lm -o \"$d/${example##*/}.exe\"\n"
          "  set --\n"
          "  case $example in */swarm.c) set -- \"$build/roms/STARFALL.gb\" cpu 8 2 ;; esac\n"
          "  \"$d/${example##*/}.exe\" \"$@\" >/dev/null\n"
          "done\n"
          "\"$d/version.c.exe\"\n"
          "pkg-config --modversion dotmatrix\n"
          "test -f $lib/libdotmatrix.a\n"
          "$(find \"$d/tree\" -type f -name dotmatrix) --version\n");
    dm_test_expect_exit(&r, 0);
    char expected[128];
    snprintf(expected, sizeof expected, "dotmatrix %s\n%s\ndotmatrix %s\n", dm_version_string(),
             dm_version_string(), dm_version_string());
    assert_string_equal(r.out, expected);
    dm_test_result_free(&r);
}

/* Each public header is listed for installation and compiles alone, as C11 and as C++. */
static void public_headers_stand_alone(void **state)
{
    if (!have(state, "cc"))
        dm_test_skip("the sources or cc are not here");
    dm_test_result r;
    shell(state, &r,
          "cd \"$root/include\"\n"
          "for header in dotmatrix/*.h; do\n"
          "  grep -q \"'$header'\" meson.build || { echo \"$header is not installed\"; exit 1; }\n"
          "  echo \"#include <$header>\" >\"$d/one.c\"\n"
          "  cc -std=c11 -pedantic -Wall -Wextra -Werror -I. -fsyntax-only \"$d/one.c\"\n"
          "  if command -v c++ >/dev/null; then\n"
          "    c++ -std=c++17 -Wall -Wextra -Werror -I. -fsyntax-only -x c++ \"$d/one.c\"\n"
          "  fi\n"
          "done\n");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

/* A private symbol that leaks out could be called by a user's program, or clash with one. */
static void only_our_names_are_exported(void **state)
{
    if (!have(state, "nm"))
        dm_test_skip("the sources or nm are not here");
    dm_test_result r;
    shell(state, &r,
          "nm -D --defined-only \"$build/src/libdotmatrix.so\" | awk '{print $3}' | sort "
          ">\"$d/got\"\n"
          "grep -q '^dm_version$' \"$d/got\"\n"
          "sed -nE '/^DM_API/s/.*[ *](dm_[a-z0-9_]+)\\(.*/\\1/p' \"$root\"/include/dotmatrix/*.h | "
          "sort >\"$d/public\"\n"
          "grep -vE '^(__asan|__ubsan|__odr_asan)' \"$d/got\" | comm -23 - \"$d/public\"\n");
    dm_test_expect_exit(&r, 0);
    assert_string_equal(r.out, "");
    dm_test_result_free(&r);
}

DM_TESTS("tools/install", DM_TEST_IN_DIR(a_program_builds_against_the_installed_library),
         DM_TEST_IN_DIR(public_headers_stand_alone), DM_TEST_IN_DIR(only_our_names_are_exported))
