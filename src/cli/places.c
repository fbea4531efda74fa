/* SPDX-License-Identifier: MIT */
/* places.c - see places.h. */
#include "cli/places.h"

#include <string.h>
#include <unistd.h>

bool dm_place_find(char out[DM_PATH_MAX], const char *const *names)
{
    char folder[DM_PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    for (char *slash; (slash = strrchr(folder, '/')) != NULL && slash != folder;) {
        *slash = 0;
        for (size_t i = 0; names[i] != NULL; i++)
            if (dm_path_join(out, folder, names[i], NULL) == DM_OK && access(out, R_OK) == 0)
                return true;
    }
    return false;
}

bool dm_place_curve_model(char out[DM_PATH_MAX])
{
    static const char *const names[] = {"share/dotmatrix/dynamics/curves.safetensors",
                                        "share/dynamics/curves.safetensors", NULL};
    return dm_place_find(out, names);
}
