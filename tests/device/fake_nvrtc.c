/* SPDX-License-Identifier: MIT */
/* fake_nvrtc.c - a stand-in for NVRTC beside the stand-in for the driver: every text "compiles" to the same few bytes,
 * which fake_cuda.c takes for a module. For tests that run kernels on the host and ask nothing of the compiler. */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static const char image[] = "\177ELF: nothing";

EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int code)
{
    return code == 0 ? "no error" : "an error";
}

EXPORT int nvrtcCreateProgram(void **program, const char *text, const char *name, int count,
                              const char *const *headers, const char *const *names)
{
    static int the_program;
    (void)text, (void)name, (void)count, (void)headers, (void)names;
    *program = &the_program;
    return 0;
}

EXPORT int nvrtcDestroyProgram(void **program)
{
    *program = NULL;
    return 0;
}

EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
    (void)program, (void)count, (void)options;
    return 0;
}

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size)
{
    (void)program;
    *size = 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *program, char *text)
{
    (void)program;
    *text = '\0';
    return 0;
}

EXPORT int nvrtcGetCUBINSize(void *program, size_t *size)
{
    (void)program;
    *size = sizeof image;
    return 0;
}

EXPORT int nvrtcGetCUBIN(void *program, char *bytes)
{
    (void)program;
    memcpy(bytes, image, sizeof image);
    return 0;
}

EXPORT int nvrtcGetPTXSize(void *program, size_t *size)
{
    return nvrtcGetCUBINSize(program, size);
}

EXPORT int nvrtcGetPTX(void *program, char *text)
{
    return nvrtcGetCUBIN(program, text);
}
