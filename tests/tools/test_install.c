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

/* Installed in $d/tree and moved to $d/moved: what follows sees no path of the build. */
static const char installed[] =
    "meson install -C \"$build\" --no-rebuild --quiet --destdir \"$d/tree\" >/dev/null\n"
    "bin=$(find \"$d/tree\" -type f -path '*/bin/dotmatrix')\n"
    "mv \"${bin%/bin/dotmatrix}\" \"$d/moved\"\n"
    "pc=$(find \"$d/moved\" -name dotmatrix.pc)\n"
    "export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=${pc%/pkgconfig/*}\n"
    "share=$d/moved/share doc=$d/moved/share/doc/dotmatrix\n"
    "cd /\n";

static void installed_shell(void **state, dm_test_result *result, const char *script)
{
    char text[8192];
    if (!have(state, "meson") || !have(state, "cc") || !have(state, "pkg-config"))
        dm_test_skip("the sources, meson, cc or pkg-config are not here");
    int length = snprintf(text, sizeof text, "%s%s", installed, script);
    assert_in_range(length, 1, sizeof text - 1);
    shell(state, result, text);
}

static void a_program_builds_against_the_installed_library(void **state)
{
    dm_test_result r;
    installed_shell(
        state, &r,
        "for example in $doc/examples/*.c; do\n"
        "  name=$d/${example##*/}.exe\n"
        "  set --\n"
        "  case $example in */swarm.c) set -- $share/dotmatrix/roms/STARFALL.gb cpu 8 2 ;; esac\n"
        "  cc -Wall -Wextra -Werror $sanitize $example "
        "$(pkg-config --cflags --libs dotmatrix) -lm -o $name\n"
        "  $name \"$@\" >/dev/null\n"
        "  if command -v c++ >/dev/null; then\n"
        "    c++ -std=c++17 $sanitize -x c++ $example -x none "
        "$(pkg-config --cflags --libs dotmatrix) -lm -o $name\n"
        "    $name \"$@\" >/dev/null\n"
        "  fi\n"
        "done\n"
        "$d/version.c.exe\n"
        "pkg-config --modversion dotmatrix\n"
        "$d/moved/bin/dotmatrix --version\n");
    dm_test_expect_exit(&r, 0);
    char expected[128];
    snprintf(expected, sizeof expected, "dotmatrix %s\n%s\ndotmatrix %s\n", dm_version_string(),
             dm_version_string(), dm_version_string());
    assert_string_equal(r.out, expected);
    dm_test_result_free(&r);
}

/* Without the shared library the linker takes the archive; what that needs comes from --static. */
static void a_program_links_the_archive(void **state)
{
    dm_test_result r;
    installed_shell(state, &r,
                    "rm $LD_LIBRARY_PATH/libdotmatrix.so*\n"
                    "cc $sanitize $doc/examples/swarm.c "
                    "$(pkg-config --static --cflags --libs dotmatrix) -o $d/swarm\n"
                    "$d/swarm $share/dotmatrix/roms/STARFALL.gb cpu 8 2 >/dev/null\n"
                    "! grep -nE '(^|[ =]|-[IL])/|\\.so' $pc\n");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

static void the_installed_command_finds_its_roms(void **state)
{
    dm_test_result r;
    installed_shell(state, &r,
                    "$d/moved/bin/dotmatrix roms list | grep -c STARFALL\n"
                    "$d/moved/bin/dotmatrix bench --backends vec_cpu --env-counts 1 --repeat 1 "
                    "--steps 1 --diverge-frames 1 | grep -c STARFALL\n"
                    "cmp $build/roms/ALU_LOOP.gb $share/dotmatrix/roms/ALU_LOOP.gb\n"
                    "test -f $doc/docs/cli.md && test -f $doc/CHANGELOG.md\n"
                    "test -f $doc/kernels/saxpy.py\n");
    dm_test_expect_exit(&r, 0);
    assert_string_equal(r.out, "1\n1\n");
    dm_test_result_free(&r);
}

/* A machine that has what was installed and nothing else: the sources and the build are hidden. */
static void the_installed_command_needs_no_checkout(void **state)
{
    if (!have(state, "unshare --version >/dev/null && unshare -rm true"))
        dm_test_skip("no mount namespaces here: unshare -rm");
    dm_test_result r;
    installed_shell(state, &r,
                    "case $d in \"$root\"/*) echo inside; exit 0 ;; esac\n"
                    "export HOME=$d/home DM_CACHE_DIR=$d/cache; mkdir $d/home $d/empty\n"
                    "cat >$d/script <<'END'\n"
                    "mount --bind $d/empty $root\n"
                    "test ! -e $root/meson.build\n"
                    "$d/moved/bin/dotmatrix bench --backends vec_cpu --env-counts 1 --repeat 1 "
                    "--steps 1 --diverge-frames 1 | grep -c STARFALL\n"
                    "$d/moved/bin/dotmatrix kernel compile $doc/kernels/saxpy.py >/dev/null\n"
                    "cc $doc/examples/version.c $sanitize $(pkg-config --cflags --libs dotmatrix) "
                    "-o $d/version\n"
                    "$d/version\n"
                    "END\n"
                    "export d doc share root\n"
                    "unshare -rm sh -ec '. $d/script'\n");
    dm_test_expect_exit(&r, 0);
    if (strcmp(r.out, "inside\n") == 0)
        dm_test_skip("the tests' folder lies within the sources");
    assert_string_equal(r.out, "1\ndotmatrix 0.2.0\n");
    dm_test_result_free(&r);
}

/* The headers of docs/swarm.md's epilog, as C and as C++, without the sources. */
static void an_epilog_compiles_against_the_installed_headers(void **state)
{
    dm_test_result r;
    installed_shell(state, &r,
                    "printf '%s\\n' '#include \"swarm/epilog.h\"' "
                    "'void epilog(const dm_swarm_view *view, float *reward);' "
                    "'void epilog(const dm_swarm_view *view, float *reward)' "
                    "'{ *reward = (float)dm_swarm_peek(view, 0xC001); }' >$d/epilog.c\n"
                    "flags=\"-I$(pkg-config --variable=epilogdir dotmatrix) "
                    "$(pkg-config --cflags dotmatrix)\"\n"
                    "cc -std=c17 $flags -fsyntax-only $d/epilog.c\n"
                    "! command -v c++ >/dev/null || c++ $flags -fsyntax-only -x c++ $d/epilog.c\n");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

/* Every option of `run --help` stands in the page, and completes. */
static void the_man_page_and_the_completion_have_the_options(void **state)
{
    dm_test_result r;
    installed_shell(
        state, &r,
        "page=$share/man/man1/dotmatrix.1 words=$share/bash-completion/completions/dotmatrix\n"
        "for option in $($d/moved/bin/dotmatrix run --help | grep -oE '^  --[a-z-]+'); do\n"
        "  grep -q -e \"$option\" $words || { echo \"no $option in $words\"; exit 1; }\n"
        "  roff=$(echo $option | sed 's/-/\\\\\\\\-/g')\n"
        "  grep -q -e \"fB$roff\\\\\\\\fR\" $page || { echo \"no $option in $page\"; exit 1; }\n"
        "done\n"
        "! grep 'words=.*--[ \"]' $words\n" /* rows that are no option have no name */
        "! grep -nF 'fB\\-\\-\\fR' $page\n"
        "if command -v groff >/dev/null; then groff -man -Tascii -ww $page 2>&1 >/dev/null; fi\n"
        "bash -c '. '$words'; COMP_WORDS=(dotmatrix run --fra) COMP_CWORD=2; _dotmatrix; "
        "echo $COMPREPLY; COMP_WORDS=(dotmatrix ver) COMP_CWORD=1; _dotmatrix; echo $COMPREPLY'\n");
    dm_test_expect_exit(&r, 0);
    assert_string_equal(r.out, "--frames\nverify\n");
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
         DM_TEST_IN_DIR(a_program_links_the_archive),
         DM_TEST_IN_DIR(the_installed_command_finds_its_roms),
         DM_TEST_IN_DIR(the_installed_command_needs_no_checkout),
         DM_TEST_IN_DIR(an_epilog_compiles_against_the_installed_headers),
         DM_TEST_IN_DIR(the_man_page_and_the_completion_have_the_options),
         DM_TEST_IN_DIR(public_headers_stand_alone), DM_TEST_IN_DIR(only_our_names_are_exported))
