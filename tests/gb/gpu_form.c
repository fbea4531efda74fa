/* SPDX-License-Identifier: MIT */
#define DM_GB_GPU_FORM 1
#include "tests/gb/gpu_form.h"
#include "gb/cpu/run.h"
#include "gb/simt/staging_local.h"

#include <string.h>

#define PICTURE (DM_GB_SCREEN_W * DM_GB_SCREEN_H)

/* dm_gb_loop, for one whose turns are made on copies and that gets another place now and then
 * (gb/simt/service.h). */
static void moving_loop(dm_gb_lane *lane)
{
    const uint8_t *slots[2][DM_GB_QUICK_SLOTS + 1u];
    dm_gb_slate slate;
    dm_gb_hot hot;
    lane->place.slots = slots[0];
    lane->slate = &slate;
    dm_gb_turns_begin(lane, lane->m, &hot);
    uint32_t turns = 0;
    for (enum dm_gb_need need = DM_GB_NEED_NOTHING; need != DM_GB_NEED_OVER;) {
        need = dm_gb_quick_next(lane->m, &hot, &lane->place, need);
        if (dm_gb_need_turn(need)) {
            dm_gb_visit visit;
            dm_gb_visit_begin(&visit, lane);
            need = dm_gb_mapped_turn(&visit.lane, &hot, need);
            dm_gb_visit_end(&visit, lane);
            if (++turns % 5u == 0) {
                lane->place.slots = slots[lane->place.slots == slots[0]];
                dm_gb_quick_map(lane, lane->m, &lane->place);
            }
        }
    }
    lane->slate = 0;
    lane->place.slots = 0;
}

static void loop(dm_gb_lane *lane, bool moves)
{
    if (moves)
        moving_loop(lane);
    else
        dm_gb_loop(lane);
}

/* What gb/simt/warp.h does, with the lanes of a warp one after the other. `picture` is what it made
 * of the picture, in place of packed pixels. */
static void first_half(dm_gb_lane *lane, bool moves, uint8_t *picture)
{
    dm_gb_machine *m = lane->m;
    const uint32_t lanes = 32;
    m->target = dm_gb_last_picture(lane, m);
    loop(lane, moves);
    if (!m->dma.active)
        dm_gb_ppu_sync(lane, m->target);
    lane->complete = dm_gb_complete_key(lane, &m->ppu);
    for (uint32_t i = lanes; lane->kept_end != 0 && i-- != 0;) {
        dm_gb_share share = dm_gb_share_begin(lane->ram, dm_gb_back_picture(lane), lane->kept, i);
        dm_gb_both notes;
        dm_gb_two_planes two;
        for (uint32_t k = 0; k < DM_GB_PAIRS / DM_GB_SHARED_PAIRS; k++) {
            uint8_t *out = dm_gb_share_next(&share, &notes, &two);
            dm_gb_store_noted(out, notes, two);
        }
    }
    lane->kept_end = 0;
    if (lane->complete != 0)
        memcpy(picture, lane->frames + (m->ppu.front ^ 1u) * PICTURE, PICTURE);
    m->target = lane->run_end;
}

enum dm_test_shown dm_test_gpu_form_run(const dm_test_gpu_form *form, uint32_t cycles)
{
    static uint8_t picture[PICTURE];
    dm_gb_kept kept;
    dm_gb_lane lane = {DM_TEST_GPU_LANE(form), .m = form->m, .kept = &kept};
    dm_gb_drop_picture(&lane, cycles);
    dm_gb_move_target(&lane, lane.m, cycles);
    if (form->halves)
        first_half(&lane, form->moves, picture);
    loop(&lane, form->moves);
    if (form->moves) {
        dm_gb_visit visit;
        dm_gb_visit_begin(&visit, &lane);
        dm_gb_settle(&visit.lane);
        dm_gb_visit_end(&visit, &lane);
    } else {
        dm_gb_settle(&lane);
    }
    if (!dm_gb_shows(&form->m->ppu, lane.complete))
        return DM_TEST_NOT_SHOWN;
    return memcmp(picture, form->frames + form->m->ppu.front * PICTURE, PICTURE) == 0
               ? DM_TEST_SHOWN
               : DM_TEST_SHOWN_STALE;
}
