/* SPDX-License-Identifier: MIT */
/* phase.c - see phase.h. */
#include "train/predict/phase.h"

#include <math.h>
#include <string.h>

const char *const dm_predict_phase_names[DM_PHASES] = {"warmup", "full", "predict", "correct"};

void dm_predict_phases_init(dm_predict_phases *phases)
{
    memset(phases, 0, sizeof *phases);
}

void dm_predict_phases_step(dm_predict_phases *phases)
{
    phases->steps[phases->phase]++;
    if (phases->left > 0)
        phases->left--;
}

void dm_predict_phases_cut(dm_predict_phases *phases)
{
    phases->left = 0;
}

void dm_predict_phases_answer(dm_predict_phases *phases, bool accepted)
{
    phases->refused = accepted ? 0 : phases->refused + 1;
    phases->refused_now = !accepted;
}

/* clamp(most * confidence^2 * (1 - min(0.1 * in a row, 0.5)), least, most) */
uint64_t dm_predict_length(const dm_predict_rules *rules, double confidence, uint64_t in_row)
{
    double most = (double)rules->predict_most, least = (double)rules->predict_least;
    double shrink = 1 - fmin(0.1 * (double)in_row, 0.5);
    double length = most * confidence * confidence * shrink;
    return (uint64_t)llround(fmin(fmax(length, least), most));
}

static dm_predict_decision full(dm_predict_phases *p, const dm_predict_rules *rules, bool warned,
                                const char *reason)
{
    uint64_t doubles = p->refused < rules->full_doubles ? p->refused : rules->full_doubles;
    p->in_row = p->refused_now = 0;
    return (dm_predict_decision){DM_PHASE_FULL, (rules->full_steps * (warned ? 2 : 1)) << doubles,
                                 reason};
}

static dm_predict_decision choose(dm_predict_phases *p, const dm_predict_rules *rules,
                                  const dm_predict_view *view)
{
    if (p->decisions == 0 && rules->warmup_steps > 0)
        return (dm_predict_decision){DM_PHASE_WARMUP, rules->warmup_steps, "the run begins"};
    if (!p->first_full) {
        p->first_full = 1;
        return full(p, rules, view->warned, "first after the warm-up");
    }
    if (p->phase == DM_PHASE_PREDICT && rules->correct_steps > 0)
        return (dm_predict_decision){DM_PHASE_CORRECT, rules->correct_steps, "after a prediction"};
    if (view->warned)
        return full(p, rules, true, "the monitor warns");
    if (!(view->confidence >= rules->confidence_needed))
        return full(p, rules, false, "too little confidence");
    if (p->refused_now && rules->full_doubles > 0)
        return full(p, rules, false, "a proposal was refused");
    if (p->in_row >= rules->predictions_in_row)
        return full(p, rules, false, "enough predictions in a row");
    uint64_t length =
        view->length > 0 ? view->length : dm_predict_length(rules, view->confidence, p->in_row);
    p->in_row++;
    return (dm_predict_decision){DM_PHASE_PREDICT, length, "confident"};
}

dm_predict_decision dm_predict_decide(dm_predict_phases *phases, const dm_predict_rules *rules,
                                      const dm_predict_view *view)
{
    dm_predict_decision decision = choose(phases, rules, view);
    phases->decisions++;
    phases->phase = decision.phase;
    phases->left = phases->length = decision.steps;
    return decision;
}
