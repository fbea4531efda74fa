/* SPDX-License-Identifier: MIT */
/* executor.h - what the devices ask of the executor; kernel text.
 *
 * The devices call these functions; gb/cpu and gb/simt each define them, since an executor decides when a picture is
 * drawn, where plain memory is found, and how idle loops are recognised. What else gb/machine asks of an executor is in
 * context.h and regs.h (structs) and in sm83.h (the bus). */
#ifndef DM_GB_MACHINE_EXECUTOR_H
#define DM_GB_MACHINE_EXECUTOR_H

#include "gb/machine/context.h"

/* ---- The memory map ---- */

/* Map again: a bank, the boot ROM, DMA or the LCD has changed which addresses are plain memory. */
DM_FN void dm_gb_map(dm_gb_context *context);

/* ---- Lines ----
 * An executor may log finished lines and render them when the picture is complete. */

/* Draw the present line with the registers as they are, or log it; false: it has to be made dot by dot. */
DM_FN bool dm_gb_draw_at_once(dm_gb_context *context);

/* At the start of a line: can it and the following ones be logged, if nothing changes on any of them? */
DM_FN bool dm_gb_can_log_lines(const dm_gb_context *context);

/* Log the lines from the present one to the one before `end`; the window is on from line `window` on. */
DM_FN void dm_gb_log_all_lines(dm_gb_context *context, uint32_t end, uint32_t window);

/* Draw the logged lines now: something that they depend on is about to change. */
DM_FN void dm_gb_render_logged(dm_gb_context *context);

/* ---- Idle loops ---- */

/* Before a write by the slow path. */
DM_FN void dm_gb_idle_before_write(dm_gb_context *context, uint32_t address);

/* After a write to a register. */
DM_FN void dm_gb_idle_after_write(dm_gb_context *context, uint32_t now, uint32_t address);

/* No event is due, and the CPU's registers are in the machine: a chance to skip time. True: time has passed. */
DM_FN bool dm_gb_idle_watch_due(dm_gb_context *context);

#endif
