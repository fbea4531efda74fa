/* SPDX-License-Identifier: MIT */
/* The Python package's own tests (python/tests, pytest), file by file, where Python has what they
 * need: NumPy and pytest in .venv or beside python3, or the interpreter that $DM_PYTHON names. */
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first interpreter that can run the tests; NULL: none. */
static const char *interpreter(void)
{
    static char venv[1024];
    snprintf(venv, sizeof venv, "%s/.venv/bin/python3", dm_test_source_root());
    const char *candidates[] = {getenv("DM_PYTHON"), venv, "python3"};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (candidates[i] == NULL)
            continue;
        dm_test_result r;
        const char *const argv[] = {candidates[i], "-c", "import numpy, pytest", NULL};
        dm_test_run(&(dm_test_command){.argv = argv}, &r);
        bool good = r.exit_code == 0;
        dm_test_result_free(&r);
        if (good)
            return candidates[i];
    }
    return NULL;
}

static void run_file(const char *name)
{
#ifdef __SANITIZE_ADDRESS__
    (void)name;
    dm_test_skip("an uninstrumented Python cannot load a sanitized extension");
#else
    const char *python = interpreter();
    if (access(DM_TEST_BUILD_ROOT "/python/dotmatrix/_core.abi3.so", R_OK) != 0)
        dm_test_skip("the package was not built: no Python.h");
    if (python == NULL)
        dm_test_skip("no Python with NumPy and pytest");
    char file[1024];
    snprintf(file, sizeof file, "%s/python/tests/%s", dm_test_source_root(), name);
    setenv("PYTHONPATH", DM_TEST_BUILD_ROOT "/python", 1);
    setenv("DM_BUILD_ROOT", DM_TEST_BUILD_ROOT, 1);
    const char *const argv[] = {python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                                file,   NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
#endif
}

#define PYTHON_TESTS(file)                                                                         \
    static void file(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        run_file("test_" #file ".py");                                                             \
    }
PYTHON_TESTS(adapters)
PYTHON_TESTS(capi)
PYTHON_TESTS(docs)
PYTHON_TESTS(examples)
PYTHON_TESTS(gameboy)
PYTHON_TESTS(gym)
PYTHON_TESTS(hooks)
PYTHON_TESTS(kernels)
PYTHON_TESTS(kernelsets)
PYTHON_TESTS(life)
PYTHON_TESTS(models)
PYTHON_TESTS(package)
PYTHON_TESTS(program)
PYTHON_TESTS(puffer5)
PYTHON_TESTS(pyboy)
PYTHON_TESTS(swarm)

DM_TESTS("python/package", DM_TEST(adapters), DM_TEST(capi), DM_TEST(docs), DM_TEST(examples),
         DM_TEST(gameboy), DM_TEST(gym), DM_TEST(hooks), DM_TEST(kernels), DM_TEST(kernelsets),
         DM_TEST(life), DM_TEST(models), DM_TEST(package), DM_TEST(program), DM_TEST(puffer5),
         DM_TEST(pyboy), DM_TEST(swarm))
