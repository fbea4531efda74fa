# SPDX-License-Identifier: MIT
# Random numbers: a permuted congruential generator of 32 bits of state (M. Jarzynski, M. Olano, "Hash Functions for
# GPU Rendering", JCGT 9(3), 2020). Every draw replaces the caller's state; the streams are Warp's, bit for bit.


def rand_init(seed: int32):
    return _pcg(uint32(seed))


def rand_init(seed: int32, offset: int32):
    return _pcg(uint32(seed) + _pcg(uint32(offset)))


def randu(state: uint32):
    s = _pcg(state)
    return s, s


def randu(state: uint32, low: uint32, high: uint32):
    s = _pcg(state)
    return s % (high - low) + low, s


def randi(state: uint32):
    s = _pcg(state)
    return int32(s), s


def randi(state: uint32, low: int32, high: int32):
    s = _pcg(state)
    return int32(s % uint32(high - low) + uint32(low)), s


def randf(state: uint32):
    s = _pcg(state)
    return float32(s >> uint32(8)) * 5.9604644775390625e-08, s


def randf(state: uint32, low: float32, high: float32):
    s = _pcg(state)
    return (high - low) * (float32(s >> uint32(8)) * 5.9604644775390625e-08) + low, s


def randn(state: uint32):
    s = state
    u = randf(s) + 5.96e-8
    v = randf(s)
    return sqrt(-2.0 * log(u)) * cos(6.2831853071795864769 * v), s


def sample_cdf(state: uint32, cdf: Any):
    s = state
    u = randf(s)
    return lower_bound(cdf, u), s


def sample_triangle(state: uint32):
    s = state
    r = sqrt(randf(s))
    v = randf(s) * r
    return vec2(1.0 - r, v), s


def sample_unit_ring(state: uint32):
    s = state
    theta = randf(s, 0.0, 6.2831853071795864769)
    return vec2(cos(theta), sin(theta)), s


def sample_unit_disk(state: uint32):
    s = state
    r = sqrt(randf(s))
    theta = randf(s, 0.0, 6.2831853071795864769)
    return vec2(r * cos(theta), r * sin(theta)), s


def sample_unit_sphere_surface(state: uint32):
    s = state
    phi = acos(1.0 - 2.0 * randf(s))
    theta = randf(s, 0.0, 6.2831853071795864769)
    return vec3(cos(theta) * sin(phi), sin(theta) * sin(phi), cos(phi)), s


def sample_unit_sphere(state: uint32):
    s = state
    phi = acos(1.0 - 2.0 * randf(s))
    theta = randf(s, 0.0, 6.2831853071795864769)
    r = pow(randf(s), 0.33333333333333333)
    return vec3(r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi)), s


def sample_unit_hemisphere_surface(state: uint32):
    s = state
    phi = acos(1.0 - randf(s))
    theta = randf(s, 0.0, 6.2831853071795864769)
    return vec3(cos(theta) * sin(phi), sin(theta) * sin(phi), cos(phi)), s


def sample_unit_hemisphere(state: uint32):
    s = state
    phi = acos(1.0 - randf(s))
    theta = randf(s, 0.0, 6.2831853071795864769)
    r = pow(randf(s), 0.33333333333333333)
    return vec3(r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi)), s


def sample_unit_square(state: uint32):
    s = state
    x = randf(s) - 0.5
    y = randf(s) - 0.5
    return vec2(x, y), s


def sample_unit_cube(state: uint32):
    s = state
    x = randf(s) - 0.5
    y = randf(s) - 0.5
    z = randf(s) - 0.5
    return vec3(x, y, z), s


# The logarithm of k! by Stirling's series, shifted up to 7.
def _log_factorial(k: float32):
    x = k + 1.0
    shift = float32(1.0)
    while x < 7.0:
        shift = shift * x
        x = x + 1.0
    y = 1.0 / (x * x)
    series = (0.083333333333 - y * (0.0027777777778 - y * (0.00079365079365 - y * 0.00059523809524))) / x
    return (x - 0.5) * log(x) - x + 0.91893853320467 + series - log(shift)


# Few: products of uniform numbers. Many: transformed rejection (W. Hoermann, "The transformed rejection method for
# generating Poisson random variables", Insurance: Mathematics and Economics 12, 1993).
def poisson(state: uint32, lam: float32):
    s = state
    k = uint32(0)
    if lam >= 10.0:
        b = 0.931 + 2.53 * sqrt(lam)
        a = -0.059 + 0.02483 * b
        done = bool(False)
        while not done:
            u = randf(s) - 0.5
            v = randf(s)
            us = 0.5 - abs(u)
            x = floor((2.0 * a / us + b) * u + lam + 0.43)
            if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2.0):
                k = uint32(x)
                done = True
            elif x >= 0.0 and (us >= 0.013 or v <= us):
                scale = log(1.1239 + 1.1328 / (b - 3.4)) - log(a / (us * us) + b)
                if log(v) + scale <= x * log(lam) - lam - _log_factorial(x):
                    k = uint32(x)
                    done = True
    elif lam > 0.0:
        least = exp(-lam)
        product = randf(s)
        while product > least:
            k = k + uint32(1)
            product = product * randf(s)
    return k, s


def noise(state: uint32, x: float32):
    return _noise(state, vector(x, length=1, dtype=float32), vector(0, length=1, dtype=int32))


def noise(state: uint32, xy: vec2):
    return _noise(state, xy, vec2i(0, 0))


def noise(state: uint32, xyz: vec3):
    return _noise(state, xyz, vec3i(0, 0, 0))


def noise(state: uint32, xyzt: vec4):
    return _noise(state, xyzt, vec4i(0, 0, 0, 0))


def pnoise(state: uint32, x: float32, px: int32):
    return _noise(state, vector(x, length=1, dtype=float32), vector(px, length=1, dtype=int32))


def pnoise(state: uint32, xy: vec2, px: int32, py: int32):
    return _noise(state, xy, vec2i(px, py))


def pnoise(state: uint32, xyz: vec3, px: int32, py: int32, pz: int32):
    return _noise(state, xyz, vec3i(px, py, pz))


def pnoise(state: uint32, xyzt: vec4, px: int32, py: int32, pz: int32, pt: int32):
    return _noise(state, xyzt, vec4i(px, py, pz, pt))


# Octaves of the curl of noise: no divergence. In three dimensions of three fields, each seeded from the one before.
def curlnoise(state: uint32, xy: vec2, octaves: uint32 = uint32(1), lacunarity: float32 = 2.0, gain: float32 = 0.5):
    total = vec2(0.0, 0.0)
    frequency = float32(1.0)
    amplitude = float32(1.0)
    for _ in range(int32(octaves)):
        total = total + amplitude * _noise_gradient(state, frequency * xy, vec2i(0, 0))
        amplitude = amplitude * gain
        frequency = frequency * lacunarity
    return vec2(-total[1], total[0])


def curlnoise(state: uint32, xyz: vec3, octaves: uint32 = uint32(1), lacunarity: float32 = 2.0, gain: float32 = 0.5):
    s = state
    total = vec3(0.0, 0.0, 0.0)
    frequency = float32(1.0)
    amplitude = float32(1.0)
    for _ in range(int32(octaves)):
        a = _noise_gradient(s, frequency * xyz, vec3i(0, 0, 0))
        s = rand_init(int32(s), 10019689)
        b = _noise_gradient(s, frequency * xyz, vec3i(0, 0, 0))
        s = rand_init(int32(s), 13112221)
        c = _noise_gradient(s, frequency * xyz, vec3i(0, 0, 0))
        total = total + amplitude * vec3(c[1] - b[2], a[2] - c[0], b[0] - a[1])
        amplitude = amplitude * gain
        frequency = frequency * lacunarity
    return total


def curlnoise(state: uint32, xyzt: vec4, octaves: uint32 = uint32(1), lacunarity: float32 = 2.0, gain: float32 = 0.5):
    s = state
    total = vec3(0.0, 0.0, 0.0)
    frequency = float32(1.0)
    amplitude = float32(1.0)
    for _ in range(int32(octaves)):
        a = _noise_gradient(s, frequency * xyzt, vec4i(0, 0, 0, 0))
        s = rand_init(int32(s), 10019689)
        b = _noise_gradient(s, frequency * xyzt, vec4i(0, 0, 0, 0))
        s = rand_init(int32(s), 13112221)
        c = _noise_gradient(s, frequency * xyzt, vec4i(0, 0, 0, 0))
        total = total + amplitude * vec3(c[1] - b[2], a[2] - c[0], b[0] - a[1])
        amplitude = amplitude * gain
        frequency = frequency * lacunarity
    return total
