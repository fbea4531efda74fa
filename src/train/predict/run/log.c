/* SPDX-License-Identifier: MIT */
/* log.c - what the last turn did and why, for metrics.jsonl. */
#include "train/predict/run/internal.h"

static void log_decision(const dm_predictive *p, dm_json *json)
{
    const dm_forecast *f = &p->c.outlook;
    dm_json_begin_object(json, "decision");
    dm_json_string(json, "phase", dm_predict_phase_names[p->decision.phase]);
    dm_json_uint(json, "steps", p->decision.steps);
    dm_json_string(json, "reason", p->decision.reason);
    dm_json_double(json, "confidence", p->c.confidence_now);
    if (f->steps > 0) {
        dm_json_uint(json, "horizon", f->steps);
        dm_json_double(json, "forecast", (double)f->mean[f->steps - 1]);
        dm_json_double(json, "band", (double)f->band[f->steps - 1]);
    }
    dm_json_end_object(json);
}

void dm_predictive_log(const dm_predictive *p, dm_json *json)
{
    if (p->turn.decided)
        log_decision(p, json);
    if (p->turn.proposed) {
        dm_json_begin_object(json, "proposal");
        dm_json_string(json, "kind", dm_proposal_names[p->proposed.kind]);
        dm_json_uint(json, "length", p->proposed.length);
        dm_json_bool(json, "drawn", p->proposed.drawn);
        dm_json_bool(json, "accepted", p->c.proposal.made != 0);
        dm_json_double(json, "held_out_before", p->proposed.before);
        dm_json_double(json, "held_out_after", p->proposed.after);
        dm_json_string(json, "reason", p->proposed.reason);
        dm_json_end_object(json);
    }
    if (p->turn.judged) {
        dm_json_begin_object(json, "verdict");
        dm_json_bool(json, "undone", p->judged.undone);
        dm_json_double(json, "loss", p->judged.loss);
        dm_json_double(json, "forecast", p->judged.forecast);
        dm_json_double(json, "reward", p->judged.reward);
        dm_json_end_object(json);
    }
    if (p->turn.level >= DM_MONITOR_WARNING) {
        dm_json_begin_object(json, "monitor");
        dm_json_string(json, "level", dm_monitor_level_names[p->turn.level]);
        dm_json_string(json, "reason", p->verdict.reason);
        dm_json_bool(json, "rolled_back", p->turn.rolled_back);
        if (p->c.counts.plain_from > 0)
            dm_json_bool(json, "plain_from_now_on", true);
        dm_json_end_object(json);
    }
}
