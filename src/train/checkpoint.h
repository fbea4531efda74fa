/* SPDX-License-Identifier: MIT */
/* checkpoint.h - all that a run needs to continue with the same bits, in one safetensors file.
 *
 * The caller gives the tensors (weights, optimiser state); the metadata says where the run is. The
 * file is replaced atomically, so a kill leaves the old checkpoint or the new one. A hash over the
 * metadata and the tensors is checked on loading, so that no run resumes from a damaged file. */
#ifndef DM_TRAIN_CHECKPOINT_H
#define DM_TRAIN_CHECKPOINT_H

#include "base/safetensors.h"

typedef struct dm_checkpoint {
    const char *model;  /* "xor", "cnn", "gpt", "agent" */
    const char *config; /* JSON text */
    uint64_t step;      /* that were done */
    /* For readers: training resumes from `step` and the configuration. epoch, position: of the next element in the
     * order of the data (order.h); an agent's position is the number of its optimiser's steps. */
    uint64_t seed, epoch, position;
} dm_checkpoint;

dm_status dm_checkpoint_save(const char *path, const dm_checkpoint *where,
                             const dm_safetensor *tensors, size_t count, dm_error *err);
/* The strings and tensors belong to `*file`, which the caller closes. DM_EFORMAT for a file that is
 * no checkpoint, of another model (`model` NULL: any), or damaged. */
dm_status dm_checkpoint_load(const char *path, const char *model, dm_checkpoint *where,
                             dm_safetensors **file, dm_error *err);

#endif
