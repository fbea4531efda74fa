/* SPDX-License-Identifier: MIT */
/* sha256.h - SHA-256 (FIPS 180-4), for files whose sums others publish. */
#ifndef DM_BASE_SHA256_H
#define DM_BASE_SHA256_H

#include <stddef.h>

#define DM_SHA256_HEX_SIZE 65 /* 64 digits and the NUL */
void dm_sha256_hex(const void *bytes, size_t size, char text[DM_SHA256_HEX_SIZE]);

#endif
