/* SPDX-License-Identifier: MIT */
/* executor.h - the executor that this text is compiled for: gb/cpu runs one machine, gb/simt runs many; kernel text.
 *
 * This file and run.h are the only places that choose. An executor has structs of its own for what a machine needs
 * while it runs: dm_gb_context and dm_gb_hot. machine/context.h, machine/regs.h and machine/executor.h say what the
 * text in gb/machine asks of it. */
#ifndef DM_GB_EXECUTOR_H
#define DM_GB_EXECUTOR_H

#include "base/port.h"

#if DM_MANY_LANES
#include "gb/simt/context.h"
#include "gb/simt/regs.h"
#else
#include "gb/cpu/context.h"
#include "gb/cpu/regs.h"
#endif

#endif
