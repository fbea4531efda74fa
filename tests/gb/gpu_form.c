/* SPDX-License-Identifier: MIT */
#define DM_GB_GPU_FORM 1
#include "tests/gb/gpu_form.h"
#include "gb/cpu/run.h"
#include "gb/simt/staging_local.h"

#include <string.h>

#define PICTURE (DM_GB_SCREEN_W * DM_GB_SCREEN_H)

/* dm_gb_loop, for one whose turns are made on copies and that gets another place now and then
 * (gb/simt/service.h). */
static void moving_loop(dm_gb_context *context)
{
    const uint8_t *pages[2][DM_GB_PAGES + 1u];
    dm_gb_cold cold;
    dm_gb_hot hot;
    context->smem.pages = pages[0];
    context->cold = &cold;
    dm_gb_service_begin(context, context->m, &hot);
    uint32_t services = 0;
    for (enum dm_gb_trap trap = DM_GB_TRAP_NONE; trap != DM_GB_TRAP_OVER;) {
        trap = dm_gb_fast_next(context->m, &hot, &context->smem, trap);
        if (dm_gb_trap_waits(trap)) {
            dm_gb_staged staged;
            dm_gb_staged_begin(&staged, context);
            trap = dm_gb_service_mapped(&staged.context, &hot, trap);
            dm_gb_staged_end(&staged, context);
            if (++services % 5u == 0) {
                context->smem.pages = pages[context->smem.pages == pages[0]];
                dm_gb_page_table_fill(context, context->m, &context->smem);
            }
        }
    }
    context->cold = 0;
    context->smem.pages = 0;
}

static void loop(dm_gb_context *context, bool moves)
{
    if (moves)
        moving_loop(context);
    else
        dm_gb_loop(context);
}

/* What gb/simt/warp.h does, with the lanes of a warp one after the other. `picture` is what it made
 * of the picture, in place of packed pixels. */
static void first_half(dm_gb_context *context, bool moves, uint8_t *picture)
{
    dm_gb_machine *m = context->m;
    const uint32_t lanes = 32;
    m->target = dm_gb_last_picture(context, m);
    loop(context, moves);
    if (!m->dma.active)
        dm_gb_ppu_sync(context, m->target);
    context->complete = dm_gb_complete_key(context, &m->ppu);
    for (uint32_t i = lanes; context->log_end != 0 && i-- != 0;) {
        dm_gb_share share =
            dm_gb_share_begin(context->ram, dm_gb_back_picture(context), context->line_log, i);
        dm_gb_both registers;
        dm_gb_two_planes two;
        for (uint32_t k = 0; k < DM_GB_PAIRS / DM_GB_SHARED_PAIRS; k++) {
            uint8_t *out = dm_gb_share_next(&share, &registers, &two);
            dm_gb_store_logged(out, registers, two);
        }
    }
    context->log_end = 0;
    if (context->complete != 0)
        memcpy(picture, context->frames + (m->ppu.front ^ 1u) * PICTURE, PICTURE);
    m->target = context->run_end;
}

enum dm_test_shown dm_test_gpu_form_run(const dm_test_gpu_form *form, uint32_t cycles)
{
    static uint8_t picture[PICTURE];
    dm_gb_line_log line_log;
    dm_gb_context context = {DM_TEST_GPU_LANE(form), .m = form->m, .line_log = &line_log};
    dm_gb_drop_picture(&context, cycles);
    dm_gb_move_target(&context, context.m, cycles);
    if (form->halves)
        first_half(&context, form->moves, picture);
    loop(&context, form->moves);
    if (form->moves) {
        dm_gb_staged staged;
        dm_gb_staged_begin(&staged, &context);
        dm_gb_sync_end(&staged.context);
        dm_gb_staged_end(&staged, &context);
    } else {
        dm_gb_sync_end(&context);
    }
    if (!dm_gb_shows(&form->m->ppu, context.complete))
        return DM_TEST_NOT_SHOWN;
    return memcmp(picture, form->frames + form->m->ppu.front * PICTURE, PICTURE) == 0
               ? DM_TEST_SHOWN
               : DM_TEST_SHOWN_STALE;
}
