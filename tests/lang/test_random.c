/* SPDX-License-Identifier: MIT */
/* Noise and random numbers. Noise, its octaves and their gradients are compared with a plain C reference. Random draws
 * of many threads are compared one by one with a plain generator, and by mean and mean square with what the
 * distribution has. */
#include "tests/lang/builtin_case.h"
#include "tests/lang/kernel_text.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <string.h>

/* ---- Noise ---- */

/* A unit vector at a corner of the lattice. */
static void corner_gradient(uint32_t seed, int n, const int *corner, double *v)
{
    static const uint32_t primes[] = {73856093, 19349663, 53471161, 10000019};
    uint32_t state = 0;
    for (int i = 0; i < n; i++)
        state ^= (uint32_t)corner[i] * primes[i] + (i == n - 1 ? seed : 0);
    double square = 0;
    for (int i = 0; i < n; i++) {
        v[i] = dm_test_unit(&state) - 0.5;
        square += v[i] * v[i];
    }
    for (int i = 0; i < n; i++)
        v[i] /= n == 1 ? 0.5 : sqrt(square);
}

/* Perlin's noise with the polynomial of the cell that `cell` says, also outside of it. */
static double cell_noise(uint32_t seed, int n, const double *p, const int *cell, const int *period)
{
    double values[16];
    for (int c = 0; c < 1 << n; c++) {
        int corner[4];
        double v[4];
        for (int i = 0; i < n; i++) {
            int low = period[i] == 0 ? cell[i] : cell[i] % period[i];
            corner[i] = (c >> i & 1) == 0 ? low : period[i] == 0 ? low + 1 : (low + 1) % period[i];
        }
        corner_gradient(seed, n, corner, v);
        values[c] = 0;
        for (int i = 0; i < n; i++)
            values[c] += v[i] * (p[i] - cell[i] - (c >> i & 1));
    }
    for (int i = 0; i < n; i++) {
        double t = p[i] - cell[i], fade = 6 * pow(t, 5) - 15 * pow(t, 4) + 10 * pow(t, 3);
        for (int c = 0; c < 1 << (n - i - 1); c++)
            values[c] = values[2 * c] + (values[2 * c + 1] - values[2 * c]) * fade;
    }
    return values[0];
}

static double plain_noise(uint32_t seed, int n, const double *p, const int *period)
{
    int cell[4];
    for (int i = 0; i < n; i++)
        cell[i] = (int)floor(p[i]);
    return cell_noise(seed, n, p, cell, period);
}

/* Along one axis the noise of a cell is a polynomial of degree six: differences of sixth order are exact. */
static double noise_slope(uint32_t seed, int n, const double *p, int axis)
{
    static const double weights[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    static const int none[4];
    const double h = 0.1;
    int cell[4];
    double slope = 0;
    for (int i = 0; i < n; i++)
        cell[i] = (int)floor(p[i]);
    for (int k = 1; k <= 3; k++)
        for (int side = -1; side <= 1; side += 2) {
            double q[4];
            memcpy(q, p, (size_t)n * sizeof *q);
            q[axis] += side * k * h;
            slope += side * weights[k - 1] * cell_noise(seed, n, q, cell, none) / h;
        }
    return slope;
}

static void curl(uint32_t seed, int n, const double *p, int octaves, double lacunarity, double gain,
                 double *y)
{
    double amplitude = 1, frequency = 1;
    memset(y, 0, (n == 2 ? 2 : 3) * sizeof *y);
    for (int o = 0; o < octaves; o++) {
        double q[4];
        for (int i = 0; i < n; i++)
            q[i] = frequency * p[i];
        uint32_t a = seed, b = dm_test_pcg(a + dm_test_pcg(10019689)),
                 c = dm_test_pcg(b + dm_test_pcg(13112221));
        if (n == 2) {
            y[0] -= amplitude * noise_slope(a, n, q, 1);
            y[1] += amplitude * noise_slope(a, n, q, 0);
        } else {
            y[0] += amplitude * (noise_slope(c, n, q, 1) - noise_slope(b, n, q, 2));
            y[1] += amplitude * (noise_slope(a, n, q, 2) - noise_slope(c, n, q, 0));
            y[2] += amplitude * (noise_slope(b, n, q, 0) - noise_slope(a, n, q, 1));
            seed = c;
        }
        amplitude *= gain;
        frequency *= lacunarity;
    }
}

#define PERIOD(...) ((const int[4]){__VA_ARGS__})
PLAIN(noise1, y[0] = plain_noise(7, 1, x, PERIOD(0)))
PLAIN(noise2, y[0] = plain_noise(7, 2, x, PERIOD(0)))
PLAIN(noise3, y[0] = plain_noise(7, 3, x, PERIOD(0)))
PLAIN(noise4, y[0] = plain_noise(7, 4, x, PERIOD(0)))
PLAIN(pnoise1, y[0] = plain_noise(7, 1, x, PERIOD(2)))
PLAIN(pnoise2, y[0] = plain_noise(7, 2, x, PERIOD(2, 3)))
PLAIN(pnoise3, y[0] = plain_noise(7, 3, x, PERIOD(2, 3, 4)))
PLAIN(pnoise4, y[0] = plain_noise(7, 4, x, PERIOD(2, 3, 4, 1)))
PLAIN(curl2, curl(9, 2, x, 1, 2, 0.5, y))
PLAIN(curl3, curl(9, 3, x, 1, 2, 0.5, y))
PLAIN(curl4, curl(9, 4, x, 1, 2, 0.5, y))
PLAIN(octaves2, curl(9, 2, x, 3, 1.75, 0.25, y))
PLAIN(octaves3, curl(9, 3, x, 3, 1.75, 0.25, y))
PLAIN(octaves4, curl(9, 4, x, 2, 1.75, 0.25, y))

#define SEED7 "wp.uint32(7)"
#define SEED9 "wp.uint32(9)"
static const dm_builtin_case noise_cases[] = {
    {"wp.noise(" SEED7 ", a)", "s", "s", noise1, -9, 9},
    {"wp.noise(" SEED7 ", a)", "2", "s", noise2, -9, 9},
    {"wp.noise(" SEED7 ", a)", "3", "s", noise3, -9, 9},
    {"wp.noise(" SEED7 ", a)", "4", "s", noise4, -9, 9},
    {"wp.pnoise(" SEED7 ", a, 2)", "s", "s", pnoise1, -9, 9},
    {"wp.pnoise(" SEED7 ", a, 2, 3)", "2", "s", pnoise2, -9, 9},
    {"wp.pnoise(" SEED7 ", a, 2, 3, 4)", "3", "s", pnoise3, -9, 9},
    {"wp.pnoise(" SEED7 ", a, 2, 3, 4, 1)", "4", "s", pnoise4, -9, 9},
    {"wp.curlnoise(" SEED9 ", a)", "2", "2", curl2, -9, 9},
    {"wp.curlnoise(" SEED9 ", a)", "3", "3", curl3, -9, 9},
    {"wp.curlnoise(" SEED9 ", a)", "4", "3", curl4, -9, 9},
    {"wp.curlnoise(" SEED9 ", a, wp.uint32(3), 1.75, 0.25)", "2", "2", octaves2, -9, 9},
    {"wp.curlnoise(" SEED9 ", a, wp.uint32(3), 1.75, 0.25)", "3", "3", octaves3, -9, 9},
    {"wp.curlnoise(" SEED9 ", a, wp.uint32(2), 1.75, 0.25)", "4", "3", octaves4, -9, 9},
};

static void noises(void **state)
{
    (void)state;
    dm_test_builtin_cases(noise_cases, COUNT(noise_cases), true);
}

/* ---- Random numbers ---- */

#define DRAWS 4096

/* Each draws from where the one before left the state. */
static const char draws_text[] = "def k(cdf: wp.array(dtype=float), y: wp.array2d(dtype=float)):\n"
                                 "    i = wp.tid()\n"
                                 "    s = wp.rand_init(42, i)\n"
                                 "    y[i, 0] = wp.randn(s)\n"
                                 "    triangle = wp.sample_triangle(s)\n"
                                 "    ring = wp.sample_unit_ring(s)\n"
                                 "    disk = wp.sample_unit_disk(s)\n"
                                 "    square = wp.sample_unit_square(s)\n"
                                 "    for j in range(2):\n"
                                 "        y[i, 1 + j] = triangle[j]\n"
                                 "        y[i, 3 + j] = ring[j]\n"
                                 "        y[i, 5 + j] = disk[j]\n"
                                 "        y[i, 7 + j] = square[j]\n"
                                 "    surface = wp.sample_unit_sphere_surface(s)\n"
                                 "    ball = wp.sample_unit_sphere(s)\n"
                                 "    dome = wp.sample_unit_hemisphere_surface(s)\n"
                                 "    half = wp.sample_unit_hemisphere(s)\n"
                                 "    cube = wp.sample_unit_cube(s)\n"
                                 "    for j in range(3):\n"
                                 "        y[i, 9 + j] = surface[j]\n"
                                 "        y[i, 12 + j] = ball[j]\n"
                                 "        y[i, 15 + j] = dome[j]\n"
                                 "        y[i, 18 + j] = half[j]\n"
                                 "        y[i, 21 + j] = cube[j]\n"
                                 "    y[i, 24] = float(wp.sample_cdf(s, cdf))\n"
                                 "    y[i, 25] = float(wp.poisson(s, 3.0))\n"
                                 "    y[i, 26] = float(wp.poisson(s, 10.0))\n"
                                 "    y[i, 27] = float(wp.poisson(s, 80.0))\n"
                                 "    y[i, 28] = float(wp.poisson(s, 0.0))\n"
                                 "    y[i, 29] = float(wp.randu(s, wp.uint32(3), wp.uint32(13)))\n"
                                 "    y[i, 30] = wp.randf(s)\n";

/* What each number is, its mean and the mean of its square. */
static const struct {
    const char *name;
    double mean, square;
} drawn[] = {
    {"randn", 0, 1},
    {"triangle", 1.0 / 3, 1.0 / 6},
    {"triangle", 1.0 / 3, 1.0 / 6},
    {"ring", 0, 0.5},
    {"ring", 0, 0.5},
    {"disk", 0, 0.25},
    {"disk", 0, 0.25},
    {"square", 0, 1.0 / 12},
    {"square", 0, 1.0 / 12},
    {"sphere surface", 0, 1.0 / 3},
    {"sphere surface", 0, 1.0 / 3},
    {"sphere surface", 0, 1.0 / 3},
    {"sphere", 0, 0.2},
    {"sphere", 0, 0.2},
    {"sphere", 0, 0.2},
    {"hemisphere surface", 0, 1.0 / 3},
    {"hemisphere surface", 0, 1.0 / 3},
    {"hemisphere surface", 0.5, 1.0 / 3},
    {"hemisphere", 0, 0.2},
    {"hemisphere", 0, 0.2},
    {"hemisphere", 0.375, 0.2},
    {"cube", 0, 1.0 / 12},
    {"cube", 0, 1.0 / 12},
    {"cube", 0, 1.0 / 12},
    {"cdf", 0.3 * 1 + 0.2 * 2 + 0.4 * 3, 0.3 * 1 + 0.2 * 4 + 0.4 * 9},
    {"poisson 3", 3, 12},
    {"poisson 10", 10, 110},
    {"poisson 80", 80, 6480},
    {"poisson 0", 0, 0},
    {"randu", 7.5, 64.5}, /* 3 to 12 */
    {"randf", 0.5, 1.0 / 3},
};

static const double tau = 6.28318530717958647692;

static void on_sphere(uint32_t *state, bool half, double radius_power, double *y)
{
    double height = half ? 1 - dm_test_unit(state) : 1 - 2 * dm_test_unit(state);
    double angle = tau * dm_test_unit(state), across = sqrt(1 - height * height);
    double radius = radius_power == 0 ? 1 : pow(dm_test_unit(state), radius_power);
    y[0] = radius * cos(angle) * across;
    y[1] = radius * sin(angle) * across;
    y[2] = radius * height;
}

/* Hoermann's PTRS, with the logarithm of the factorial from the C library. */
static double poisson_of_many(uint32_t *state, double mean)
{
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    for (;;) {
        double u = dm_test_unit(state) - 0.5, v = dm_test_unit(state), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        double scale = 1.1239 + 1.1328 / (b - 3.4);
        if (log(v * scale / (a / (us * us) + b)) <= k * log(mean) - mean - lgamma(k + 1))
            return k;
    }
}

static double poisson_of_few(uint32_t *state, double mean)
{
    double product = 1;
    for (int k = 0;; k++) {
        product *= dm_test_unit(state);
        if (product <= exp(-mean))
            return k;
    }
}

static void plain_draws(int thread, const float *cdf, int cdf_size, double *y)
{
    uint32_t s = dm_test_pcg(42 + dm_test_pcg((uint32_t)thread));
    double u = dm_test_unit(&s), v = dm_test_unit(&s);
    y[0] = sqrt(-2 * log(u + 5.96e-8)) * cos(tau * v);
    u = sqrt(dm_test_unit(&s));
    y[1] = 1 - u;
    y[2] = dm_test_unit(&s) * u;
    v = tau * dm_test_unit(&s);
    y[3] = cos(v);
    y[4] = sin(v);
    u = sqrt(dm_test_unit(&s));
    v = tau * dm_test_unit(&s);
    y[5] = u * cos(v);
    y[6] = u * sin(v);
    for (int j = 7; j < 9; j++)
        y[j] = dm_test_unit(&s) - 0.5;
    on_sphere(&s, false, 0, y + 9);
    on_sphere(&s, false, 1.0 / 3, y + 12);
    on_sphere(&s, true, 0, y + 15);
    on_sphere(&s, true, 1.0 / 3, y + 18);
    for (int j = 21; j < 24; j++)
        y[j] = dm_test_unit(&s) - 0.5;
    u = dm_test_unit(&s);
    for (y[24] = 0; y[24] < cdf_size - 1 && (double)cdf[(int)y[24]] < u;)
        y[24]++;
    y[25] = poisson_of_few(&s, 3);
    y[26] = poisson_of_many(&s, 10);
    y[27] = poisson_of_many(&s, 80);
    y[28] = 0;
    y[29] = dm_test_draw(&s) % 10 + 3;
    y[30] = dm_test_unit(&s);
}

static void random_draws(void **state)
{
    static float y[DRAWS][COUNT(drawn)];
    float cdf[] = {0.1f, 0.4f, 0.6f, 1.0f};
    memset(y, 0xFF, sizeof y);
    const dm_test_array arrays[] = {
        {"cdf", cdf, {COUNT(cdf)}}, {"y", y, {DRAWS, COUNT(drawn)}}, {0}};
    dm_test_run_arrays(state, draws_text, "", arrays, DRAWS, NULL);
    for (int i = 0; i < DRAWS; i++) {
        double should[COUNT(drawn)];
        plain_draws(i, cdf, COUNT(cdf), should);
        for (int j = 0; j < COUNT(drawn); j++)
            if (!(fabs((double)y[i][j] - should[j]) <= 2e-5))
                fail_msg("%s, thread %d, number %d: %g, not %g", drawn[j].name, i, j,
                         (double)y[i][j], should[j]);
    }
    for (int j = 0; j < COUNT(drawn); j++)
        for (int power = 1; power <= 2; power++) { /* five standard errors */
            double mean = 0, spread = 0, should = power == 1 ? drawn[j].mean : drawn[j].square;
            for (int i = 0; i < DRAWS; i++)
                mean += pow((double)y[i][j], power) / DRAWS;
            for (int i = 0; i < DRAWS; i++)
                spread += pow(pow((double)y[i][j], power) - mean, 2) / DRAWS;
            if (!(fabs(mean - should) <= 5 * sqrt(spread / DRAWS)))
                fail_msg("%s, number %d, power %d: the mean is %g, not %g", drawn[j].name, j, power,
                         mean, should);
        }
}

/* ---- Streams of random numbers, in loops ---- */

static const char streams_text[] =
    "def k(y: wp.array2d(dtype=wp.float64)):\n"
    "    n = wp.tid()\n"
    "    s = wp.rand_init(42, n)\n"
    "    y[n, 0] = wp.float64(wp.randi(s))\n"
    "    y[n, 1] = wp.float64(wp.randi(s, -5, 12))\n"
    "    y[n, 2] = wp.float64(wp.randu(s))\n"
    "    y[n, 3] = wp.float64(wp.randf(s))\n"
    "    y[n, 4] = wp.float64(wp.randf(s, -2.0, 3.0))\n"
    "    total = wp.float64(0.0)\n"
    "    for k in range(n + 2):\n" /* the state changes in the loop and is used behind it */
    "        total += wp.float64(wp.randi(s, 0, 1000))\n"
    "    while wp.randi(s, 0, 10) != 0:\n"
    "        total += wp.float64(1000000.0)\n"
    "    y[n, 5] = total\n"
    "    y[n, 6] = wp.float64(wp.randu(s))\n";

static void plain_streams(int n, double *y)
{
    uint32_t s = dm_test_pcg(42u + dm_test_pcg((uint32_t)n));
    y[0] = (int32_t)dm_test_draw(&s);
    y[1] = (int32_t)(dm_test_draw(&s) % 17u) - 5;
    y[2] = dm_test_draw(&s);
    y[3] = dm_test_unit(&s);
    y[4] = (float)((float)(dm_test_draw(&s) >> 8) / 16777216.0f * 5.0f) + -2.0f;
    y[5] = 0;
    for (int k = 0; k < n + 2; k++)
        y[5] += (double)(dm_test_draw(&s) % 1000u);
    while (dm_test_draw(&s) % 10u != 0)
        y[5] += 1000000;
    y[6] = dm_test_draw(&s);
}

enum { THREADS = 6, NUMBERS = 7 };

static void random_streams(void **state)
{
    double y[THREADS][NUMBERS];
    memset(y, 0xFF, sizeof y);
    const dm_test_array arrays[] = {{"y", y, {THREADS, NUMBERS}}, {0}};
    dm_test_run_arrays(state, streams_text, "", arrays, THREADS, NULL);
    for (int n = 0; n < THREADS; n++) {
        double should[NUMBERS];
        plain_streams(n, should);
        for (int i = 0; i < NUMBERS; i++)
            if (y[n][i] != should[i])
                fail_msg("thread %d, draw %d: %.17g, not %.17g", n, i, y[n][i], should[i]);
    }
}

DM_TESTS("lang/random", DM_TEST(noises), DM_TEST_IN_DIR(random_draws),
         DM_TEST_IN_DIR(random_streams))
