/* SPDX-License-Identifier: MIT */
/* store_case.h - a store's copies and arithmetic beside plain loops, on every device. */
#ifndef DM_TESTS_NN_STORE_CASE_H
#define DM_TESTS_NN_STORE_CASE_H

#include "nn/store.h"

/* Moves, products and copies of slots of several sizes: moves to the bit of a plain loop, products to 1e-13. */
void store_case_compare(const char *device);
/* A model's parts to slots and back, and their moments. */
void store_case_model(const char *device);

#endif
