/* SPDX-License-Identifier: MIT */
/* setting.h - "name=value" as a command line has it, as a JSON object of one member. */
#ifndef DM_BASE_SETTING_H
#define DM_BASE_SETTING_H

#include <dotmatrix/base.h>

#include <jansson.h>

/* The text after '=' is JSON where it is a number, and a string otherwise. The caller frees `object` (json_decref). */
dm_status dm_setting_parse(const char *setting, json_t **object, dm_error *err);

#endif
