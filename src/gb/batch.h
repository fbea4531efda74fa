/* SPDX-License-Identifier: MIT */
/* batch.h - how the executor that this text is compiled for (executor.h) runs many machines; kernel text. */
#ifndef DM_GB_BATCH_H
#define DM_GB_BATCH_H

#include "base/port.h"

#if DM_MANY_LANES
#include "gb/simt/simt.h"
#else
#include "gb/cpu/batch.h"
#endif

#endif
