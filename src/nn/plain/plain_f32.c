/* SPDX-License-Identifier: MIT */
/* plain_f32.c - the plain operations for float. */
#define REAL float
#define MATH(function) function##f
#define PLAIN(name) name##_f32

#include "nn/plain/table.h"
