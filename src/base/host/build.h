/* SPDX-License-Identifier: MIT */
/* build.h - how this library was built; filled in by Meson (build.c.in). */
#ifndef DM_BASE_HOST_BUILD_H
#define DM_BASE_HOST_BUILD_H

extern const char
    dm_build_commit[]; /* "05ec2bf01234", with "-dirty" after local changes; or "unknown" */
extern const char dm_build_type[];     /* "release", "debug" ... */
extern const char dm_build_compiler[]; /* "gcc 12.2.0" */

#endif
