/* SPDX-License-Identifier: MIT */
/* base.h - what every part of the public API shares: status codes, errors, the version.
 *
 * A function that can fail returns a dm_status and takes a `dm_error *` as its last argument. The
 * error belongs to the caller, may be NULL when the text is not wanted, and is written only on
 * failure:
 *
 *     dm_error err;
 *     dm_device *dev = NULL;
 *     if (dm_device_open("cuda:0", &dev, &err) != DM_OK) {
 *         fprintf(stderr, "%s\n", err.message);
 *     }
 *
 * An argument that is NULL and may not be is DM_EINVAL, with the names of the function and the argument; a function
 * that returns no status then does nothing and gives 0 or NULL.
 *
 * Everything here is thread-safe: there is no global error state. */
#ifndef DOTMATRIX_BASE_H
#define DOTMATRIX_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DM_API __attribute__((visibility("default")))
#define DM_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))
#else
#define DM_API
#define DM_PRINTF(fmt_index, first_arg)
#endif

#define DM_VERSION_MAJOR 0
#define DM_VERSION_MINOR 2
#define DM_VERSION_PATCH 0

/* The library's version, `major << 16 | minor << 8 | patch`. While major is 0 the
 * structs of these headers may grow from one version to the next, and nothing is promised between versions: a program
 * can compare this with DM_VERSION at start. */
#define DM_VERSION ((DM_VERSION_MAJOR << 16) | (DM_VERSION_MINOR << 8) | DM_VERSION_PATCH)
DM_API uint32_t dm_version(void);
DM_API const char *dm_version_string(void);

/* The command's exit code for each is in docs/cli.md. */
typedef enum dm_status {
    DM_OK = 0,
    DM_EINVAL,       /* an argument or an input is wrong */
    DM_ENOMEM,       /* host or device memory ran out */
    DM_EIO,          /* a file could not be read or written */
    DM_ENOENT,       /* something named does not exist */
    DM_EFORMAT,      /* a file is damaged or of another format */
    DM_EUNSUPPORTED, /* understood, but not possible here */
    DM_EUNAVAILABLE, /* missing hardware or a missing optional component */
    DM_ECOMPILE,     /* source text did not compile */
    DM_EDEVICE,      /* the device or its driver reported an error */
    DM_EINTERNAL,    /* a bug of ours */
    DM_STATUS_COUNT
} dm_status;

/* A short name: "ok", "invalid argument" ... */
DM_API const char *dm_status_name(dm_status status);

#define DM_ERROR_MESSAGE_MAX 1024
#define DM_ERROR_FILE_MAX 256

typedef struct dm_error {
    dm_status status;
    int line;                           /* line of the input, 1-based; 0 when there is none */
    char file[DM_ERROR_FILE_MAX];       /* name of the input; empty when there is none */
    char message[DM_ERROR_MESSAGE_MAX]; /* one line, without control characters */
} dm_error;

/* Fill `err` (which may be NULL) and return `status`, so that a failure is one statement:
 * `return dm_fail(err, DM_EINVAL, "rom: header says 2 MiB, file has 32 KiB");` */
DM_API dm_status dm_fail(dm_error *err, dm_status status, const char *format, ...) DM_PRINTF(3, 4);

/* The same with the place in an input file. */
DM_API dm_status dm_fail_at(dm_error *err, dm_status status, const char *file, int line,
                            const char *format, ...) DM_PRINTF(5, 6);

#ifdef __clang_analyzer__
/* A static analyzer does not see into another file that these return the status they were given. */
#define dm_fail(err, status, ...) (dm_fail(err, status, __VA_ARGS__), (status))
#define dm_fail_at(err, status, ...) (dm_fail_at(err, status, __VA_ARGS__), (status))
#endif

/* Put "context: " before the message of an error that is being passed on. */
DM_API void dm_error_prefix(dm_error *err, const char *format, ...) DM_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
