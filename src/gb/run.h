/* SPDX-License-Identifier: MIT */
/* run.h - the run loop of the executor that this text is compiled for (executor.h); kernel text. */
#ifndef DM_GB_RUN_H
#define DM_GB_RUN_H

#include "base/port.h"

#if DM_MANY_LANES
#include "gb/simt/run.h"
#else
#include "gb/cpu/run.h"
#endif

#endif
