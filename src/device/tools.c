/* SPDX-License-Identifier: MIT */
/* tools.c - what this machine can build and run kernels with, for `dotmatrix info` and artifacts.
 */
#include "device/cache.h"
#include "device/cc.h"
#include "device/cuda_api.h"
#include "device/nvrtc.h"

#include <dotmatrix/device.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Cut to what fits. */
static void copy_text(char *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..." -> "580.159.04": the first word
 * that is digits and dots. */
static void read_driver_version(char *out, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file == NULL)
        return;
    if (fgets(line, sizeof line, file) != NULL) {
        char *save;
        for (char *word = strtok_r(line, " \t\n", &save); word != NULL;
             word = strtok_r(NULL, " \t\n", &save)) {
            if (isdigit((unsigned char)word[0]) && strchr(word, '.') != NULL &&
                word[strspn(word, "0123456789.")] == '\0') {
                copy_text(out, size, word);
                break;
            }
        }
    }
    fclose(file);
}

static void find_cuda(dm_device_tools *out)
{
    const dm_cuda_api *api;
    dm_error err = {0};
    out->cuda = dm_cuda_api_get(&api, &err) == DM_OK;
    out->cuda_version = api->version;
    copy_text(out->driver_path, sizeof out->driver_path, api->path);
    copy_text(out->cuda_reason, sizeof out->cuda_reason, out->cuda ? "" : err.message);
    read_driver_version(out->driver_version, sizeof out->driver_version);
}

static void find_nvrtc(dm_device_tools *out)
{
    char path[DM_PATH_MAX] = "";
    dm_error err = {0};
    out->nvrtc =
        dm_nvrtc_find(path, &err) == DM_OK && dm_nvrtc_version(&out->nvrtc_version, &err) == DM_OK;
    copy_text(out->nvrtc_path, sizeof out->nvrtc_path, path);
    dm_nvrtc_origin(out->nvrtc_origin, sizeof out->nvrtc_origin);
    copy_text(out->nvrtc_reason, sizeof out->nvrtc_reason, out->nvrtc ? "" : err.message);
}

static void find_cc(dm_device_tools *out)
{
    dm_cc cc;
    dm_error err = {0};
    out->cc = dm_cc_find(&cc, &err) == DM_OK &&
              dm_cc_version(&cc, out->cc_version, sizeof out->cc_version, &err) == DM_OK;
    copy_text(out->cc_path, sizeof out->cc_path, out->cc ? cc.path : "");
    copy_text(out->cc_reason, sizeof out->cc_reason, out->cc ? "" : err.message);
}

void dm_device_tools_find(dm_device_tools *out)
{
    if (out == NULL)
        return;
    char cache[DM_PATH_MAX] = "";
    memset(out, 0, sizeof *out);
    find_cuda(out);
    find_nvrtc(out);
    find_cc(out);
    if (dm_cache_folder(cache, NULL) == DM_OK)
        copy_text(out->cache_path, sizeof out->cache_path, cache);
}
