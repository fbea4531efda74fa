# SPDX-License-Identifier: MIT
# Vectors and interpolation, of what is not a row of builtins.def.


def smoothstep(a: Float, b: Float, x: Float):
    t = clamp((x - a) / (b - a), type(x)(0.0), type(x)(1.0))
    return t * t * (type(x)(3.0) - type(x)(2.0) * t)


def lerp(a: Any, b: Any, t: Float):
    return a * (type(t)(1.0) - t) + b * t
