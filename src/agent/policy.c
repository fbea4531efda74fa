/* SPDX-License-Identifier: MIT */
/* policy.c - see policy.h. */
#include "agent/policy.h"

#include "base/philox.h"
#include "device/internal.h"

#include <math.h>
#include <string.h>

/* ---- Layers ---- */

static void add_layer(dm_agent_tower *tower, dm_nn_layer layer)
{
    tower->layers[tower->layer_count++] = layer;
}

/* Two convolutions and a linear layer: 80 x 72 become 19 x 17, then 8 x 7 (as Mnih et al. 2013, for our pictures). */
static void add_convolutions(const dm_agent_config *config, dm_agent_tower *tower)
{
    uint32_t filters = (uint32_t)config->filters;
    add_layer(tower, (dm_nn_layer){.kind = DM_NN_LAYER_CONV,
                                   .size = filters,
                                   .kernel = 8,
                                   .stride = 4,
                                   .activation = DM_NN_RELU});
    add_layer(tower, (dm_nn_layer){.kind = DM_NN_LAYER_CONV,
                                   .size = 2 * filters,
                                   .kernel = 4,
                                   .stride = 2,
                                   .activation = DM_NN_RELU});
    add_layer(tower, (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR,
                                   .size = (uint32_t)config->hidden,
                                   .activation = DM_NN_RELU});
}

/* `head`: deviation of the last layer's weights times the square root of its inputs. */
static void make_layers(const dm_agent_config *config, dm_agent_policy *policy,
                        dm_agent_tower *tower, float head)
{
    uint32_t hidden = (uint32_t)config->hidden;
    if (config->policy == DM_AGENT_CNN)
        add_convolutions(config, tower);
    for (uint64_t i = 0; i < config->layers && config->policy == DM_AGENT_MLP; i++)
        add_layer(tower, (dm_nn_layer){
                             .kind = DM_NN_LAYER_LINEAR, .size = hidden, .activation = DM_NN_TANH});
    if (config->policy == DM_AGENT_GRU) {
        add_layer(tower, (dm_nn_layer){
                             .kind = DM_NN_LAYER_LINEAR, .size = hidden, .activation = DM_NN_TANH});
        add_layer(tower, (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 3 * hidden});
        policy->state_layer = tower->layer_count;
        add_layer(tower, (dm_nn_layer){.kind = DM_NN_LAYER_GRU, .size = hidden});
    }
    add_layer(tower, (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR,
                                   .size = dm_agent_tower_outputs(policy, tower),
                                   .init = head / sqrtf((float)hidden)});
}

static dm_status plan_tower(const dm_agent_world *world, const dm_agent_tower *tower, uint32_t rows,
                            uint32_t steps, const dm_nn_exec *exec, dm_nn_plan *out, dm_error *err)
{
    dm_nn_model_desc desc = {.layers = tower->layers,
                             .layer_count = tower->layer_count,
                             .batch = rows / steps,
                             .microbatches = 1,
                             .shards = 1,
                             .loss = DM_NN_LOSS_SQUARE,
                             .optimiser = {.kind = DM_NN_ADAM, .rate = 1}};
    memcpy(desc.input, world->observation, sizeof desc.input);
    if (desc.input[1] == 0) /* rows of numbers: `steps` of them in a sequence */
        desc.input[1] = steps > 1 ? steps : 0;
    return dm_nn_plan_init(&desc, exec, out, err);
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

dm_status dm_agent_policy_init(const dm_agent_config *config, const dm_agent_world *world,
                               uint32_t steps, uint32_t act_rows, uint32_t learn_rows,
                               const dm_nn_exec *exec, dm_agent_policy *out, dm_error *err)
{
    *out =
        (dm_agent_policy){.actions = world->actions,
                          .numbers = dm_agent_world_numbers(world),
                          .act_rows = act_rows,
                          .learn_rows = learn_rows,
                          .tower_count = config->shared || config->policy != DM_AGENT_MLP ? 1 : 2,
                          .steps = config->policy == DM_AGENT_GRU ? steps : 1};
    dm_status status = DM_OK;
    if (config->policy == DM_AGENT_CNN && world->observation[1] < 36)
        return dm_fail(err, DM_EINVAL, "agent: policy cnn looks at pictures: obs=packed");
    if (config->policy == DM_AGENT_GRU && world->packed)
        return dm_fail(err, DM_EINVAL, "agent: policy gru sees numbers: obs=vector");
    if (config->policy == DM_AGENT_GRU)
        out->state = (uint32_t)config->hidden;
    for (uint32_t i = 0; i < out->tower_count && status == DM_OK; i++) {
        dm_agent_tower *tower = &out->towers[i];
        tower->logits = i == 0;
        tower->value = out->tower_count == 1 || i == 1;
        make_layers(config, out, tower, tower->logits ? 0.01f : 1);
        status = plan_tower(world, tower, act_rows, 1, exec, &tower->act, err);
        if (status == DM_OK)
            status = plan_tower(world, tower, learn_rows, out->steps, exec, &tower->learn, err);
        tower->first = out->parameter_room;
        out->parameter_room += tower->act.parameter_room;
        out->shard_bytes[i] = largest(tower->act.shard_bytes, tower->learn.shard_bytes);
        out->scratch_bytes = largest(out->scratch_bytes,
                                     largest(tower->act.scratch_bytes, tower->learn.scratch_bytes));
    }
    if (status != DM_OK) {
        dm_agent_policy_deinit(out);
        return status;
    }
    const dm_nn_planned *first = &out->towers[0].learn.layers[0];
    dm_nn_conv conv = {.B = learn_rows,
                       .I = first->in.C,
                       .H = first->in.H,
                       .W = first->in.W,
                       .O = first->out.C,
                       .K = first->layer.kernel,
                       .stride = first->layer.stride};
    out->packed = world->packed && exec->stream && first->layer.kind == DM_NN_LAYER_CONV &&
                  dm_nn_cuda_takes_packed(exec, &conv);
    return DM_OK;
}

void dm_agent_policy_deinit(dm_agent_policy *policy)
{
    for (uint32_t i = 0; i < policy->tower_count; i++) {
        dm_nn_plan_deinit(&policy->towers[i].act);
        dm_nn_plan_deinit(&policy->towers[i].learn);
    }
    *policy = (dm_agent_policy){0};
}

/* ---- The first weights: normal, biases 0 ---- */

static void first_weights(const dm_agent_tower *tower, uint64_t seed, uint64_t stream, float *to)
{
    for (size_t l = 0; l < tower->act.layer_count; l++) {
        const dm_nn_planned *p = &tower->act.layers[l];
        if (p->weight == DM_NN_NONE)
            continue;
        const dm_nn_parameter *w = &tower->act.parameters[p->weight];
        uint32_t inputs = 1;
        for (int i = 1; i < 4 && w->shape[i] > 0; i++)
            inputs *= w->shape[i];
        bool last = l + 1 == tower->act.layer_count;
        float deviation = p->layer.init > 0 ? p->layer.init : 1 / sqrtf((float)inputs);
        if (!last && p->layer.activation == DM_NN_RELU)
            deviation *= 1.41421356f;
        float *values = to + tower->act.offsets[p->weight];
        for (size_t i = 0; i < w->count; i++) {
            dm_philox4 r = dm_random4(seed, stream + l, i);
            float u = dm_random_unit(r.v[0]), v = dm_random_unit(r.v[1]);
            values[i] = deviation * sqrtf(-2 * logf(1 - u)) * cosf(6.2831853f * v);
        }
    }
}

void dm_agent_policy_first_weights(const dm_agent_policy *policy, uint64_t seed, float *weights)
{
    memset(weights, 0, policy->parameter_room * sizeof *weights);
    for (uint32_t i = 0; i < policy->tower_count; i++)
        first_weights(&policy->towers[i], seed, UINT64_C(1000) * (i + 1),
                      weights + policy->towers[i].first);
}

/* ---- Running ---- */

static dm_nn_shard shard_of(const dm_agent_policy *policy, const dm_agent_tower *tower,
                            char *memory, const float *weights, dm_agent_sight input,
                            const dm_agent_memory *before)
{
    return (dm_nn_shard){.memory = memory,
                         .weights = weights + tower->first,
                         .input = input.at,
                         .rows = input.rows,
                         .packed = policy->packed,
                         .state = before ? before->states : NULL,
                         .starts = before ? before->starts : NULL};
}

const float *dm_agent_policy_states(const dm_agent_policy *policy,
                                    char *const memory[DM_AGENT_TOWERS])
{
    const dm_nn_planned *layer = &policy->towers[0].act.layers[policy->state_layer];
    return (const float *)(const void *)(memory[0] + layer->value);
}

dm_status dm_agent_policy_forward(const dm_agent_policy *policy, bool learn, dm_nn_exec *exec,
                                  char *const memory[DM_AGENT_TOWERS], const float *weights,
                                  dm_agent_sight input, const dm_agent_memory *before,
                                  dm_agent_rows *logits, dm_agent_rows *values, dm_error *err)
{
    dm_status status = DM_OK;
    for (uint32_t i = 0; i < policy->tower_count && status == DM_OK; i++) {
        const dm_agent_tower *tower = &policy->towers[i];
        const dm_nn_plan *plan = learn ? &tower->learn : &tower->act;
        const dm_nn_planned *last = &plan->layers[plan->layer_count - 1];
        dm_nn_shard shard = shard_of(policy, tower, memory[i], weights, input, before);
        float *y = (float *)(void *)(memory[i] + last->value);
        status = dm_nn_shard_forward(plan, exec, &shard, err);
        if (tower->logits)
            *logits = (dm_agent_rows){y, last->pitch};
        if (tower->value)
            *values = (dm_agent_rows){y + (tower->logits ? policy->actions : 0), last->pitch};
    }
    return status;
}

dm_status dm_agent_policy_backward(const dm_agent_policy *policy, dm_nn_exec *exec,
                                   char *const memory[DM_AGENT_TOWERS], const float *weights,
                                   dm_agent_sight input, const dm_agent_memory *before,
                                   float *const slopes[DM_AGENT_TOWERS], float *gradients,
                                   dm_error *err)
{
    dm_status status = DM_OK;
    for (uint32_t i = 0; i < policy->tower_count && status == DM_OK; i++) {
        const dm_agent_tower *tower = &policy->towers[i];
        const dm_nn_plan *plan = &tower->learn;
        const dm_nn_planned *last = &plan->layers[plan->layer_count - 1];
        dm_nn_shard shard = shard_of(policy, tower, memory[i], weights, input, before);
        shard.gradients = gradients + tower->first;
        size_t bytes = dm_nn_shape_rows(last->out) * last->pitch * sizeof(float);
        char *to = memory[i] + (plan->in_place ? last->value : last->grad);
        if (exec->stream)
            status = exec->stream->device->ops->copy(exec->stream, to, slopes[i], bytes, err);
        else
            memcpy(to, slopes[i], bytes);
        if (status == DM_OK)
            status = dm_nn_shard_backward(plan, exec, &shard, err);
    }
    return status;
}
