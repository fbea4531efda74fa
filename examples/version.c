/* SPDX-License-Identifier: MIT */
/* version.c - check at start that the library found is the one this program was compiled for.
 *
 *     cc version.c $(pkg-config --cflags --libs dotmatrix) -o version */
#include <dotmatrix/base.h>

#include <stdio.h>

int main(void)
{
    if (dm_version() >> 8 != DM_VERSION >> 8) { /* the ABI may change with the minor version */
        fprintf(stderr, "compiled for dotmatrix %d.%d, found %s\n", DM_VERSION_MAJOR,
                DM_VERSION_MINOR, dm_version_string());
        return 1;
    }
    printf("dotmatrix %s\n", dm_version_string());
    return 0;
}
