/* SPDX-License-Identifier: MIT */
/* warp_name.h - functions of a record's CUDA and C texts, named as NVIDIA Warp's code generation names them.
 *
 *     CUDA  NAME_HASH_cuda_kernel_forward, _backward    the entry points
 *     C     NAME_HASH_cpu_forward, _backward            the entry points, which take a range of threads
 *           NAME_HASH_cpu_kernel_forward, _backward     what one thread does
 *
 * HASH is eight hexadecimal digits: Warp's own where the record has Warp's text of the kernel, else the
 * first of the record's canonical form. Everything else in the texts keeps its name. */
#ifndef DM_SYNTH_WARP_NAME_H
#define DM_SYNTH_WARP_NAME_H

#include "synth/store/record.h"

#define DM_WARP_NAME_MAX 300

/* What stands before "_forward" and "_backward" in the names of the entry points of a kernel that are
 * `entry`_forward and `entry`_backward otherwise. */
void dm_warp_name_put(const dm_synth_record *record, const char *entry, bool cuda,
                      char out[DM_WARP_NAME_MAX]);
/* Give a kernel's functions these names in the record's CUDA and C texts. */
dm_status dm_warp_name_functions(dm_synth_record *record, const char *entry, dm_error *err);
/* Warp's texts came after the names were given: its hashes in place of the canonical form's, in the texts,
 * the test and the PTX. */
void dm_warp_name_take_hashes(dm_synth_record *record);

#endif
