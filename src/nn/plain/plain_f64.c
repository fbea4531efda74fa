/* SPDX-License-Identifier: MIT */
/* plain_f64.c - the plain operations for double: what finite differences are taken of. */
#define REAL double
#define MATH(function) function
#define PLAIN(name) name##_f64

#include "nn/plain/table.h"
