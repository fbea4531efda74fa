/* SPDX-License-Identifier: MIT */
/* compose.c - fill the two sites of skeleton.h. */
#include "swarm/compose.h"

#include <string.h>

static const char dispatch_site[] = "@INSTRUCTION_DISPATCH@";
static const char post_site[] = "@POST_STEP_DISPATCH@";

/* What the compiler's messages call the caller's text. */
#define EPILOG_NAME "epilog"

static const char default_epilog[] = "    *reward = dm_swarm_reward_v0(view);\n"
                                     "    dm_swarm_obs_v0(view, obs);\n"
                                     "    *terminated = false;\n";

static const struct {
    const char *name;
    bool signals, observes;
} stages[] = {
    [DM_SWARM_FULL_STEP] = {"full_step", true, true},
    [DM_SWARM_EMULATE_ONLY] = {"emulate_only", false, false},
    [DM_SWARM_REWARD_ONLY] = {"reward_only", true, false},
    [DM_SWARM_OBS_ONLY] = {"obs_only", false, true},
};

const char *dm_swarm_stage_text(int stage)
{
    return stage >= 0 && stage < DM_SWARM_STAGES ? stages[stage].name : NULL;
}

static void put_dispatch(dm_buffer *out, const dm_swarm_variant *variant)
{
    dm_buffer_printf(out,
                     "dm_simt_run(&args.batch, slot.machine, context, &smem, cycles, running,"
                     " block_service, args.batch.draw[part] != DM_GB_DRAW_NEVER, %s, &cost);",
                     stages[variant->stage].observes ? "args.stack == 1u ? args.packed : 0" : "0");
}

/* Floats before and behind an epilog's observations that it may spoil, if it has an error. */
#define GUARD 256

static void put_guarded(dm_buffer *out)
{
    dm_buffer_printf(
        out,
        "}\n\n"
        "DM_FN bool DM_SWARM_NAME(guarded)(const dm_swarm_view *view, float *reward, float *obs,\n"
        "                                  bool *terminated)\n"
        "{\n"
        "    float room[%d + DM_SWARM_VECTOR + %d];\n"
        "    bool whole = true;\n"
        "    for (uint32_t i = 0; i < %du; i++)\n"
        "        room[i] = room[%du + DM_SWARM_VECTOR + i] = -1.5e30f - (float)i;\n"
        "    for (uint32_t i = 0; i < DM_SWARM_VECTOR; i++)\n"
        "        room[%du + i] = obs[i];\n"
        "    DM_SWARM_NAME(epilog)(view, reward, room + %d, terminated);\n"
        "    for (uint32_t i = 0; i < %du; i++)\n"
        "        whole = whole && room[i] == -1.5e30f - (float)i &&\n"
        "                room[%du + DM_SWARM_VECTOR + i] == -1.5e30f - (float)i;\n"
        "    for (uint32_t i = 0; i < DM_SWARM_VECTOR; i++)\n"
        "        obs[i] = room[%du + i];\n"
        "    return whole;\n",
        GUARD, GUARD, GUARD, GUARD, GUARD, GUARD, GUARD, GUARD, GUARD);
}

/* A call of the epilog; in its guarded form a write outside of its observations is counted as a fault. */
static void put_call(dm_buffer *out, const dm_swarm_variant *variant, const char *indent,
                     const char *arguments)
{
    if (variant->guard)
        dm_buffer_printf(out,
                         "%sif (!DM_SWARM_NAME(guarded)(%s))\n"
                         "%s    dm_atomic_add_u32(&args->faults->observations, 1);\n",
                         indent, arguments, indent);
    else
        dm_buffer_printf(out, "%sDM_SWARM_NAME(epilog)(%s);\n", indent, arguments);
}

/* The epilog runs twice in a stage that observes: to judge the step, and to observe the machine,
 * which a same-step reset may have changed in between. The compiler drops what either does not
 * use. */
static void put_post_step(dm_buffer *out, const dm_swarm_variant *variant)
{
    dm_buffer_puts(out,
                   "DM_FN void DM_SWARM_NAME(epilog)(const dm_swarm_view *view, float *reward,\n"
                   "                                 float *obs, bool *terminated)\n"
                   "{\n"
                   "    (void)view, (void)reward, (void)obs, (void)terminated;\n");
    if (variant->epilog != NULL)
        dm_buffer_printf(out, "#line 1 \"%s\"\n%s\n#line 1 \"post-step\"\n", EPILOG_NAME,
                         variant->epilog);
    else
        dm_buffer_puts(out, default_epilog);
    if (variant->guard)
        put_guarded(out);
    dm_buffer_puts(out, "}\n\n"
                        "DM_FN void DM_SWARM_NAME(post)(const dm_swarm_args *args,\n"
                        "                               const dm_simt_slot *slot,\n"
                        "                               dm_swarm_outcome *outcome)\n"
                        "{\n"
                        "    if (slot->valid && !outcome->fresh) {\n"
                        "        float obs[DM_SWARM_VECTOR];\n"
                        "        outcome->view.episode_steps =\n"
                        "            args->progress[slot->machine].episode_steps + 1u;\n");
    if (variant->guard) /* the guarded form copies them in */
        dm_buffer_puts(out, "        for (uint32_t i = 0; i < DM_SWARM_VECTOR; i++)\n"
                            "            obs[i] = 0.0f;\n");
    put_call(out, variant, "        ",
             "&outcome->view, &outcome->reward, obs, &outcome->terminated");
    dm_buffer_puts(out, "    }\n"
                        "    dm_swarm_count(args, slot, outcome);\n");
    if (stages[variant->stage].observes) {
        dm_buffer_puts(out, "#if DM_SWARM_FINALS\n"
                            "    if (args->finals != 0) {\n"
                            "        float reward = 0.0f;\n"
                            "        bool terminated = false;\n"
                            "        if (slot->valid && outcome->over && args->vectors != 0)\n");
        put_call(out, variant, "            ",
                 "&outcome->view, &reward, args->vectors + outcome->view.machine * "
                 "DM_SWARM_VECTOR, &terminated");
        dm_buffer_puts(out, "        dm_swarm_keep_final(args, slot, outcome);\n"
                            "    }\n"
                            "#endif\n");
    }
    dm_buffer_puts(out, "    dm_swarm_restart(args, slot, outcome);\n");
    if (stages[variant->stage].signals)
        dm_buffer_puts(out, "    dm_swarm_signal(args, slot, outcome);\n");
    if (stages[variant->stage].observes) {
        dm_buffer_puts(out, "    if (outcome->fresh)\n"
                            "        outcome->view.episode_steps = 0;\n"
                            "    if (slot->valid && args->vectors != 0) {\n"
                            "        float reward = 0.0f;\n"
                            "        bool terminated = false;\n");
        put_call(out, variant, "        ",
                 "&outcome->view, &reward, args->vectors + outcome->view.machine * "
                 "DM_SWARM_VECTOR, &terminated");
        dm_buffer_puts(out, "    }\n"
                            "    dm_swarm_observe_pixels(args, slot, &outcome->view, "
                            "outcome->fresh);\n");
    }
    dm_buffer_puts(out, "}\n\n"
                        "DM_FN void DM_SWARM_NAME(end)(const dm_swarm_args *args,\n"
                        "                              const dm_simt_slot *slot,\n"
                        "                              dm_swarm_outcome *outcome)\n"
                        "{\n"
                        "    dm_swarm_count(args, slot, outcome);\n");
    if (stages[variant->stage].observes)
        dm_buffer_puts(out, "#if DM_SWARM_FINALS\n"
                            "    if (args->finals != 0)\n"
                            "        dm_swarm_keep_final(args, slot, outcome);\n"
                            "#endif\n");
    dm_buffer_puts(out, "    dm_swarm_restart(args, slot, outcome);\n"
                        "    dm_swarm_count_metrics(args, slot, outcome);\n");
    if (stages[variant->stage].signals)
        dm_buffer_puts(out, "    dm_swarm_signal(args, slot, outcome);\n");
    if (stages[variant->stage].observes)
        dm_buffer_puts(
            out, "    dm_swarm_observe_pixels(args, slot, &outcome->view, outcome->fresh);\n");
    dm_buffer_puts(out, "}");
}

/* A word of capitals between at signs. */
static const char *find_site(const char *text, size_t *length)
{
    for (const char *at = strchr(text, '@'); at != NULL; at = strchr(at + 1, '@')) {
        size_t word = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (word > 0 && at[1 + word] == '@') {
            *length = word + 2;
            return at;
        }
    }
    return NULL;
}

dm_status dm_swarm_compose(const char *skeleton, const dm_swarm_variant *variant, dm_buffer *out,
                           dm_error *err)
{
    const char *name = dm_swarm_stage_text((int)variant->stage);
    if (name == NULL)
        return dm_fail(err, DM_EINVAL, "swarm: there is no stage %d", (int)variant->stage);
    if (variant->vector_size == 0 || variant->vector_size > DM_SWARM_VECTOR_MAX)
        return dm_fail(err, DM_EINVAL, "swarm: a vector observation has 1 to %u floats, not %u",
                       DM_SWARM_VECTOR_MAX, variant->vector_size);
    size_t begin = out->size, length;
    int dispatches = 0, posts = 0;
    if (variant->hooks)
        dm_buffer_puts(out, "#define DM_GB_HOOKS 1\n");
    if (variant->finals)
        dm_buffer_puts(out, "#define DM_SWARM_FINALS 1\n");
    dm_buffer_printf(out,
                     "#define DM_SWARM_STAGE %s\n"
                     "#define DM_SWARM_VECTOR %u\n",
                     name, variant->vector_size);
    for (const char *site; (site = find_site(skeleton, &length)) != NULL;
         skeleton = site + length) {
        dm_buffer_append(out, skeleton, (size_t)(site - skeleton));
        if (length == strlen(dispatch_site) && memcmp(site, dispatch_site, length) == 0) {
            put_dispatch(out, variant);
            dispatches++;
        } else if (length == strlen(post_site) && memcmp(site, post_site, length) == 0) {
            put_post_step(out, variant);
            posts++;
        } else {
            dm_buffer_append(out, site, length);
        }
    }
    dm_buffer_printf(out, "%s#undef DM_SWARM_STAGE\n#undef DM_SWARM_VECTOR\n", skeleton);
    if (dm_buffer_check(out, err) != DM_OK)
        return DM_ENOMEM;
    const char *left = find_site(out->data + begin, &length);
    if (left != NULL)
        return dm_fail(err, DM_EINVAL, "swarm: the site %.*s is left over in the %s kernel",
                       (int)length, left, name);
    if (dispatches != 1 || posts != 1)
        return dm_fail(
            err, DM_EINVAL,
            "swarm: the skeleton has %d instruction and %d post-step sites, not one each",
            dispatches, posts);
    return DM_OK;
}
