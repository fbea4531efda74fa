/* SPDX-License-Identifier: MIT */
/* type.c - how types are written. */
#include "synth/gen/type.h"

#define T DM_GEN_TEXT

const dm_gen_text *dm_gen_type_text(dm_gen_type type)
{
    static const dm_gen_text texts[DM_GEN_STRUCT][DM_GEN_BOOLEAN + 1] = {
        {T("float"), T("wp.float64"), T("wp.float16"), T("int"), T("wp.int64"), T("wp.uint32"),
         T("wp.uint64"), T("bool")},
        {T("wp.vec2"), T("wp.vec2d"), T("wp.vec2h"), T("wp.vec2i"), T("wp.vec2l"), T("wp.vec2ui"),
         T("wp.vec2ul"), T("")},
        {T("wp.vec3"), T("wp.vec3d"), T("wp.vec3h"), T("wp.vec3i"), T("wp.vec3l"), T("wp.vec3ui"),
         T("wp.vec3ul"), T("")},
        {T("wp.vec4"), T("wp.vec4d"), T("wp.vec4h"), T("wp.vec4i"), T("wp.vec4l"), T("wp.vec4ui"),
         T("wp.vec4ul"), T("")},
        {T("wp.mat22"), T("wp.mat22d"), T("wp.mat22h"), T(""), T(""), T(""), T(""), T("")},
        {T("wp.mat33"), T("wp.mat33d"), T("wp.mat33h"), T(""), T(""), T(""), T(""), T("")},
        {T("wp.mat44"), T("wp.mat44d"), T("wp.mat44h"), T(""), T(""), T(""), T(""), T("")},
        {T("wp.quat"), T("wp.quatd"), T("wp.quath"), T(""), T(""), T(""), T(""), T("")},
    };
    return &texts[dm_gen_shape(type)][dm_gen_kind(type)];
}
