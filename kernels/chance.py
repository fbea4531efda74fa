# SPDX-License-Identifier: MIT
"""Random numbers, samples of shapes, noise. A stream is a number: the same seed gives the same numbers everywhere."""
import warp as wp


@wp.kernel
def integers(seed: int, plain: wp.array(dtype=int), ranged: wp.array(dtype=int), bits: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    plain[i] = wp.randi(state)
    ranged[i] = wp.randi(state, -5, 12)
    bits[i] = wp.randu(state) ^ wp.randu(state, wp.uint32(3), wp.uint32(1000))


@wp.kernel
def floats(seed: int, plain: wp.array(dtype=float), ranged: wp.array(dtype=float), normal: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed + i)
    plain[i] = wp.randf(state)
    ranged[i] = wp.randf(state, -2.0, 3.0)
    normal[i] = wp.randn(state)


@wp.kernel
def shapes(seed: int, flat: wp.array(dtype=wp.vec2), solid: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    flat[i] = wp.sample_triangle(state) + wp.sample_unit_disk(state) + wp.sample_unit_ring(state) + wp.sample_unit_square(state)
    s = wp.sample_unit_sphere(state) + wp.sample_unit_sphere_surface(state) + wp.sample_unit_cube(state)
    solid[i] = s + wp.sample_unit_hemisphere(state) + wp.sample_unit_hemisphere_surface(state)


@wp.kernel
def counts(seed: int, few: wp.array(dtype=wp.uint32), cdf: wp.array(dtype=float), chosen: wp.array(dtype=int)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    few[i] = wp.poisson(state, 3.0)
    chosen[i] = wp.sample_cdf(state, cdf)


@wp.kernel
def clouds(seed: int, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed)
    x = p[i] * 3.0
    flat = wp.noise(state, x[0]) + wp.noise(state, wp.vec2(x[0], x[1])) + wp.pnoise(state, wp.vec2(x[1], x[2]), 2, 3)
    out[i] = flat + wp.noise(state, x) + wp.noise(state, wp.vec4(x[0], x[1], x[2], 0.5)) + wp.pnoise(state, x, 2, 3, 4)


@wp.kernel
def wind(seed: int, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    state = wp.rand_init(seed)
    flat = wp.curlnoise(state, wp.vec2(p[i][0], p[i][1]))
    out[i] = wp.curlnoise(state, p[i]) + wp.vec3(flat[0], flat[1], 0.0)
