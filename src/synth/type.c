/* SPDX-License-Identifier: MIT */
/* type.c - how types are written. */
#include "synth/type.h"

const char *dm_gen_type_text(dm_gen_type type)
{
    static const char *const texts[DM_GEN_STRUCT][DM_GEN_BOOLEAN + 1] = {
        {"float", "wp.float64", "wp.float16", "int", "wp.int64", "wp.uint32", "wp.uint64", "bool"},
        {"wp.vec2", "wp.vec2d", "wp.vec2h", "wp.vec2i", "wp.vec2l", "wp.vec2ui", "wp.vec2ul", ""},
        {"wp.vec3", "wp.vec3d", "wp.vec3h", "wp.vec3i", "wp.vec3l", "wp.vec3ui", "wp.vec3ul", ""},
        {"wp.vec4", "wp.vec4d", "wp.vec4h", "wp.vec4i", "wp.vec4l", "wp.vec4ui", "wp.vec4ul", ""},
        {"wp.mat22", "wp.mat22d", "wp.mat22h", "", "", "", "", ""},
        {"wp.mat33", "wp.mat33d", "wp.mat33h", "", "", "", "", ""},
        {"wp.mat44", "wp.mat44d", "wp.mat44h", "", "", "", "", ""},
        {"wp.quat", "wp.quatd", "wp.quath", "", "", "", "", ""},
    };
    return texts[dm_gen_shape(type)][dm_gen_kind(type)];
}
