/* SPDX-License-Identifier: MIT */
/* names.c - stages, codecs, generators, autoreset modes and observations by name; what the actions press. */
#include "base/require.h"
#include "swarm/internal.h"

#include <string.h>

static const char *const stage_names[] = {"full_step", "emulate_only", "reward_only", "obs_only"};
static const char *const codec_names[] = {"buttons_v1", "pokemon_v1", "raw"};
static const char *const generator_names[] = {"noop", "seeded_random", "striped"};
static const char *const autoreset_names[] = {"next_step", "same_step", "disabled"};

_Static_assert(sizeof stage_names / sizeof *stage_names == DM_SWARM_STAGES, "a name each");
_Static_assert(sizeof codec_names / sizeof *codec_names == DM_SWARM_CODECS, "a name each");
_Static_assert(sizeof generator_names / sizeof *generator_names == DM_SWARM_GENERATORS,
               "a name each");
_Static_assert(sizeof autoreset_names / sizeof *autoreset_names == DM_SWARM_AUTORESETS,
               "a name each");
/* Kernel text has its own names for these. */
_Static_assert((int)DM_SWARM_GEN_STRIPED == (int)DM_SWARM_STRIPED &&
                   (int)DM_SWARM_GEN_RANDOM == (int)DM_SWARM_SEEDED_RANDOM,
               "kernel text and header agree");
_Static_assert((int)DM_SWARM_RESET_SAME_STEP == (int)DM_SWARM_SAME_STEP &&
                   (int)DM_SWARM_RESET_DISABLED == (int)DM_SWARM_DISABLED,
               "kernel text and header agree");

static dm_status parse(const char *what, const char *name, const char *const *names, int count,
                       int *out, dm_error *err)
{
    char list[256] = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = i;
            return DM_OK;
        }
        strncat(list, i == 0 ? "" : ", ", sizeof list - strlen(list) - 1);
        strncat(list, names[i], sizeof list - strlen(list) - 1);
    }
    return dm_fail(err, DM_EINVAL, "%s '%s' is unknown; there are %s", what, name, list);
}

static const char *name_of(int value, const char *const *names, int count)
{
    return value >= 0 && value < count ? names[value] : "unknown";
}

#define NAMES(type, table, count)                                                                  \
    const char *dm_swarm_##type##_name(dm_swarm_##type value)                                      \
    {                                                                                              \
        return name_of((int)value, table, count);                                                  \
    }                                                                                              \
    dm_status dm_swarm_##type##_parse(const char *name, dm_swarm_##type *out, dm_error *err)       \
    {                                                                                              \
        DM_REQUIRE(err, name);                                                                     \
        DM_REQUIRE(err, out);                                                                      \
        int value = 0;                                                                             \
        dm_status status = parse(#type, name, table, count, &value, err);                          \
        if (status == DM_OK)                                                                       \
            *out = (dm_swarm_##type)value;                                                         \
        return status;                                                                             \
    }

NAMES(stage, stage_names, DM_SWARM_STAGES)
NAMES(codec, codec_names, DM_SWARM_CODECS)
NAMES(generator, generator_names, DM_SWARM_GENERATORS)
NAMES(autoreset, autoreset_names, DM_SWARM_AUTORESETS)

/* Regions are not among them: their name does not say which. */
static const struct {
    const char *name;
    uint32_t bit;
} observations[] = {{"vector", DM_SWARM_OBS_VECTOR},
                    {"shades", DM_SWARM_OBS_SHADES},
                    {"small", DM_SWARM_OBS_SMALL},
                    {"packed", DM_SWARM_OBS_PACKED}};
#define OBSERVATIONS (sizeof observations / sizeof *observations)

const char *dm_swarm_observation_name(uint32_t bit)
{
    for (size_t i = 0; i < OBSERVATIONS; i++)
        if (observations[i].bit == bit)
            return observations[i].name;
    return "unknown";
}

dm_status dm_swarm_observation_parse(const char *name, uint32_t *bit, dm_error *err)
{
    DM_REQUIRE(err, name);
    DM_REQUIRE(err, bit);
    const char *names[OBSERVATIONS];
    int value = 0;
    for (size_t i = 0; i < OBSERVATIONS; i++)
        names[i] = observations[i].name;
    dm_status status = parse("observation", name, names, OBSERVATIONS, &value, err);
    if (status == DM_OK)
        *bit = observations[value].bit;
    return status;
}

static const uint8_t buttons_v1[] = {0,
                                     DM_GB_KEY_A,
                                     DM_GB_KEY_B,
                                     DM_GB_KEY_START,
                                     DM_GB_KEY_SELECT,
                                     DM_GB_KEY_UP,
                                     DM_GB_KEY_DOWN,
                                     DM_GB_KEY_LEFT,
                                     DM_GB_KEY_RIGHT};
static const uint8_t pokemon_v1[] = {0,
                                     DM_GB_KEY_A,
                                     DM_GB_KEY_B,
                                     DM_GB_KEY_START,
                                     DM_GB_KEY_UP,
                                     DM_GB_KEY_DOWN,
                                     DM_GB_KEY_LEFT,
                                     DM_GB_KEY_RIGHT};

uint32_t dm_swarm_codec_actions(dm_swarm_codec codec)
{
    switch (codec) {
    case DM_SWARM_BUTTONS_V1:
        return sizeof buttons_v1;
    case DM_SWARM_POKEMON_V1:
        return sizeof pokemon_v1;
    case DM_SWARM_RAW_KEYS:
        return 256;
    case DM_SWARM_CODECS:
        break;
    }
    return 0;
}

uint8_t dm_swarm_codec_keys(dm_swarm_codec codec, uint32_t action)
{
    if (action >= dm_swarm_codec_actions(codec))
        return 0;
    return codec == DM_SWARM_RAW_KEYS     ? (uint8_t)action
           : codec == DM_SWARM_BUTTONS_V1 ? buttons_v1[action]
                                          : pokemon_v1[action];
}
