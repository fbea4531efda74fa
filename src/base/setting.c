/* SPDX-License-Identifier: MIT */
/* setting.c - see setting.h. */
#include "base/setting.h"

#include <string.h>

dm_status dm_setting_parse(const char *setting, json_t **object, dm_error *err)
{
    char key[64];
    *object = NULL;
    const char *equals = strchr(setting, '=');
    if (equals == NULL || equals == setting || (size_t)(equals - setting) >= sizeof key)
        return dm_fail(err, DM_EINVAL, "'%.64s' is not name=value", setting);
    memcpy(key, setting, (size_t)(equals - setting));
    key[equals - setting] = 0;
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    if (!json_is_number(value)) {
        json_decref(value);
        value = json_string(equals + 1);
    }
    *object = json_object();
    dm_status status = DM_OK;
    if (value == NULL || *object == NULL || json_object_set(*object, key, value) != 0)
        status = dm_fail(err, DM_EINVAL, "'%.64s' is not name=value", setting);
    json_decref(value);
    return status;
}
