/* SPDX-License-Identifier: MIT */
/* dynamics.h - recurrent models that predict the course of a training run.
 *
 *   samples of a run ──► encoder: 64 features ──► ensemble of GRUs ──► rollout: y steps ahead
 *                                                      ▲                     │
 *                                                      └── trainer ◄─────────┘
 *
 * An ensemble of E members; each has a GRU cell (x of `input` features, h of `hidden` units), a
 * stochastic state s = softmax of `stochastic` values of h, and a head:
 *
 *     z = sigmoid(Wz x + Uz h + bz)     r = sigmoid(Wr x + Ur h + br)
 *     n = tanh(Wn x + Un (r*h) + bn)    h' = (1 - z)*h + z*n
 *     loss = exp(clamp(w . [h', s'], -10, 10))
 *
 * A rollout feeds the predicted loss back as feature 0 and keeps the other features:
 *
 *     dm_dynamics *model = NULL;
 *     dm_dynamics_forecast *rollout = NULL;
 *     dm_dynamics_create(&(dm_dynamics_config)DM_DYNAMICS_DEFAULT, seed, &model, err);
 *     dm_dynamics_forecast_create(model, 1, 50, &rollout, err);                    // one, 50 steps ahead
 *     dm_dynamics_rollout(model, features, NULL, rollout, err);          // on this CPU
 *     printf("%g +- %g\n", rollout->mean[49], rollout->total[49]);
 *
 * Arrays are row-major float32; [E][Y] means that the last index moves fastest. What `create` gives
 * is the caller's to destroy; NULL is fine there. A model may be read by many threads at a time and
 * changed by one. NaN in the inputs gives NaN in the outputs that depend on them. */
#ifndef DOTMATRIX_DYNAMICS_H
#define DOTMATRIX_DYNAMICS_H

#include <dotmatrix/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The model ---- */

typedef enum dm_dynamics_gru_kind {
    /* As above: r is applied to h before Un. */
    DM_DYNAMICS_GRU_RESET_FIRST,
    /* As in cuDNN and PyTorch: n = tanh(Wn x + bn + r*(Un h + cn)), h' = (1 - z)*n + z*h. */
    DM_DYNAMICS_GRU_RESET_LAST,
} dm_dynamics_gru_kind;

typedef struct dm_dynamics_config {
    uint32_t members;
    uint32_t hidden;
    uint32_t stochastic;
    uint32_t input;
    dm_dynamics_gru_kind kind;
    /* The logits of s are a learned product with h; otherwise h[floor(i * hidden / stochastic)]. */
    bool projection;
} dm_dynamics_config;

#define DM_DYNAMICS_DEFAULT                                                                        \
    {                                                                                              \
        5, 256, 32, 64, DM_DYNAMICS_GRU_RESET_FIRST, false                                         \
    }
#define DM_DYNAMICS_SIZE_MAX 65536 /* of each size */
#define DM_DYNAMICS_MEMBERS_MAX 1024

typedef struct dm_dynamics dm_dynamics;

/* Weights are drawn uniformly within +-sqrt(2 / (fan in + fan out)); biases are 0. The same seed
 * gives the same bits everywhere, and a member's weights do not depend on how many there are. */
DM_API dm_status dm_dynamics_create(const dm_dynamics_config *config, uint64_t seed,
                                    dm_dynamics **out, dm_error *err);
DM_API void dm_dynamics_destroy(dm_dynamics *model);
DM_API const dm_dynamics_config *dm_dynamics_get_config(const dm_dynamics *model);

/* The parts of a member's weights; gates in the order z, r, n. */
typedef enum dm_dynamics_part {
    DM_DYNAMICS_W,          /* [3][hidden][input] */
    DM_DYNAMICS_U,          /* [3][hidden][hidden] */
    DM_DYNAMICS_B,          /* [3][hidden] */
    DM_DYNAMICS_C,          /* [hidden], DM_DYNAMICS_GRU_RESET_LAST only: the recurrent bias of n */
    DM_DYNAMICS_PROJECTION, /* [stochastic][hidden], with config.projection only */
    DM_DYNAMICS_HEAD,       /* [hidden + stochastic] */
    DM_DYNAMICS_PART_COUNT
} dm_dynamics_part;

/* Where a part lies; NULL and a count of 0 for one that this model does not have. May be written.
 */
DM_API float *dm_dynamics_weights(dm_dynamics *model, uint32_t member, dm_dynamics_part part,
                                  size_t *count);

/* What enters the cell is (feature - shift) * scale, also for the loss that a rollout feeds back.
 * Arrays of `input`; 0 and 1 in a new model. Both may be written. */
DM_API float *dm_dynamics_shift(dm_dynamics *model);
DM_API float *dm_dynamics_scale(dm_dynamics *model);

/* A safetensors file: tensors "member.0.W" and so on, "shift" and "scale"; the configuration is its
 * metadata. A damaged file, or one of another form, is DM_EFORMAT and changes nothing. */
DM_API dm_status dm_dynamics_save(const dm_dynamics *model, const char *path, dm_error *err);
DM_API dm_status dm_dynamics_load(const char *path, dm_dynamics **out, dm_error *err);

/* Take over one layer of torch.nn.GRU (gates in the order r, z, n) as a member of a
 * DM_DYNAMICS_GRU_RESET_LAST model: weight_ih [3*hidden][input], weight_hh [3*hidden][hidden], bias_ih and
 * bias_hh [3*hidden] (both may be NULL). */
DM_API dm_status dm_dynamics_import_torch(dm_dynamics *model, uint32_t member,
                                          const float *weight_ih, const float *weight_hh,
                                          const float *bias_ih, const float *bias_hh,
                                          dm_error *err);

/* ---- One step of the cell ---- */

/* out[batch][hidden] from x[batch][input] (as it enters the cell: not shifted or scaled) and
 * h[batch][hidden] with a member's weights. `out` may be `h`. */
DM_API dm_status dm_dynamics_gru(const dm_dynamics *model, uint32_t member, size_t batch,
                                 const float *x, const float *h, float *out, dm_error *err);

/* ---- Rollouts ---- */

/* What the losses of one trajectory tell. Zero where there are too few steps. */
typedef struct dm_dynamics_metrics {
    float loss_variance;         /* population variance over the steps */
    float trajectory_smoothness; /* mean |second difference| */
    float step_delta_mean;       /* mean |loss[t+1] - loss[t]| */
} dm_dynamics_metrics;

/* Results of R rollouts of Y steps; all arrays belong to this struct. */
typedef struct dm_dynamics_forecast {
    uint32_t rollouts, members, steps, hidden;
    float *loss;        /* [R][E][Y] */
    float *entropy;     /* [R][E][Y], of the stochastic state, in nats */
    float *hidden_norm; /* [R][E][Y], L2 */
    float *hidden_last; /* [R][E][hidden], after the last step */
    /* Over the members: */
    float *mean;        /* [R][Y] */
    float *deviation;   /* [R][Y], population standard deviation */
    float *total;       /* [R][Y], deviation * (1 + 0.1 sqrt(y)), y = 1 .. Y steps ahead */
    float *confidence;  /* [R][Y], 1 / (1 + total) */
    float *step_deltas; /* [R][Y-1], |mean[t+1] - mean[t]| */
    dm_dynamics_metrics *member_metrics; /* [R][E] */
    dm_dynamics_metrics *metrics;        /* [R], of the mean trajectory */
} dm_dynamics_forecast;

DM_API dm_status dm_dynamics_forecast_create(const dm_dynamics *model, uint32_t rollouts,
                                             uint32_t steps, dm_dynamics_forecast **out,
                                             dm_error *err);
DM_API void dm_dynamics_forecast_destroy(dm_dynamics_forecast *rollout);

/* features[R][input] as the encoder gives them; hidden[R][E][hidden], NULL for zeros. On one CPU
 * thread, with the widest vector instructions that this machine has. */
DM_API dm_status dm_dynamics_rollout(const dm_dynamics *model, const float *features,
                                     const float *hidden, dm_dynamics_forecast *out, dm_error *err);

/* ---- The encoder ---- */

/* What is known of a training run after one of its steps. */
typedef struct dm_dynamics_sample {
    uint64_t step; /* t, from 1 */
    float loss;
    float gradient_norm;
    float first_mean, first_std;   /* over the optimiser's first moments */
    float second_mean, second_std; /* over its second moments */
    float learning_rate;           /* effective */
    float beta1, beta2;
    uint32_t phase; /* 0 warm-up, 1 full, 2 predict, 3 correct */
    uint32_t phase_step;
} dm_dynamics_sample;

#define DM_DYNAMICS_ENCODER_FEATURES 64 /* one by one in docs/dynamics.md */
#define DM_DYNAMICS_ENCODER_LOSSES 256  /* the longest window of losses */
#define DM_DYNAMICS_ENCODER_NORMS 64    /* and of gradient norms */

typedef struct dm_dynamics_encoder dm_dynamics_encoder;

/* Windows of `losses` and `norms` samples: 1 to the maxima above. */
DM_API dm_status dm_dynamics_encoder_create(uint32_t losses, uint32_t norms,
                                            dm_dynamics_encoder **out, dm_error *err);
DM_API void dm_dynamics_encoder_destroy(dm_dynamics_encoder *encoder);
/* Forget everything. */
DM_API void dm_dynamics_encoder_reset(dm_dynamics_encoder *encoder);
/* Take one sample in and give the features of the run so far; the time does not depend on the
 * length of the run or of the windows. All features are finite: a value that is not is passed over,
 * the last one that was stands in its place, and values are limited to +-1e30. */
DM_API void dm_dynamics_encoder_update(dm_dynamics_encoder *encoder,
                                       const dm_dynamics_sample *sample,
                                       float features[DM_DYNAMICS_ENCODER_FEATURES]);
/* How many samples had a value that is not finite. */
DM_API uint64_t dm_dynamics_encoder_passed(const dm_dynamics_encoder *encoder);
/* All that an encoder knows, for checkpoints: bytes that an encoder of the same windows and the same
 * version of the library goes on from to the same bits. Others are DM_EFORMAT and change nothing. */
DM_API size_t dm_dynamics_encoder_state_size(const dm_dynamics_encoder *encoder);
DM_API void dm_dynamics_encoder_state_get(const dm_dynamics_encoder *encoder, void *bytes);
DM_API dm_status dm_dynamics_encoder_state_set(dm_dynamics_encoder *encoder, const void *bytes,
                                               size_t size, dm_error *err);

/* Set a model's shift and scale so that features[count][input] come out with mean 0 and standard
 * deviation 1; a feature that never changes gets scale 1. Rows that are not finite are passed over.
 */
DM_API dm_status dm_dynamics_fit_scaling(dm_dynamics *model, const float *features, size_t count,
                                         dm_error *err);

/* ---- Learning ---- */

typedef enum dm_dynamics_optimiser {
    DM_DYNAMICS_OPTIMISER_ADAM,
    DM_DYNAMICS_OPTIMISER_SGD
} dm_dynamics_optimiser;

typedef struct dm_dynamics_trainer_config {
    dm_dynamics_optimiser optimiser;
    float learning_rate;
    float beta1, beta2, epsilon; /* Adam's; beta1 is SGD's momentum */
    float clip;                  /* largest norm of a member's gradient; 0: no limit */
    uint32_t window;             /* steps that dm_dynamics_trainer_observe goes back through */
} dm_dynamics_trainer_config;

#define DM_DYNAMICS_TRAINER_DEFAULT                                                                \
    {                                                                                              \
        DM_DYNAMICS_OPTIMISER_ADAM, 1e-3f, 0.9f, 0.999f, 1e-8f, 5, 1                               \
    }

/* Changes the weights of `model`, which must outlive it. */
typedef struct dm_dynamics_trainer dm_dynamics_trainer;
DM_API dm_status dm_dynamics_trainer_create(dm_dynamics *model,
                                            const dm_dynamics_trainer_config *config,
                                            dm_dynamics_trainer **out, dm_error *err);
DM_API void dm_dynamics_trainer_destroy(dm_dynamics_trainer *trainer);
/* Teach members side by side; 0: one thread per CPU that this process may use. A new trainer has
 * one. The same bits with any number. */
DM_API dm_status dm_dynamics_trainer_set_threads(dm_dynamics_trainer *trainer, int threads,
                                                 dm_error *err);
/* For schedules; a rate that is negative or not finite is DM_EINVAL and changes nothing. */
DM_API dm_status dm_dynamics_trainer_set_learning_rate(dm_dynamics_trainer *trainer, float rate,
                                                       dm_error *err);

/* One update of every member from a sequence: the first `forced` steps get features[forced][input]
 * (at least 1), the later ones the last of those with their own predictions fed back. Step t
 * predicts targets[t], the loss one step later. The objective is the mean of (log prediction - log
 * target)^2 / 2 over the steps from `from` on, gradients go back through all of them;
 * `objective`, which may be NULL, gets its mean over the members before the update. A member whose
 * gradient is not finite stays as it was. */
DM_API dm_status dm_dynamics_trainer_sequence(dm_dynamics_trainer *trainer, const float *features,
                                              uint32_t forced, uint32_t steps, uint32_t from,
                                              const float *targets, float *objective,
                                              dm_error *err);

/* Follow a run: call it with the features after every step of the run. The first call only begins;
 * each later one teaches the members that feature 0 is what they should have predicted, through the
 * last `window` steps, and moves their hidden states on. Features that are not finite, or that the
 * model's scale makes so, are skipped: nothing changes but their count, and the objective is 0. */
DM_API dm_status dm_dynamics_trainer_observe(dm_dynamics_trainer *trainer, const float *features,
                                             float *objective, dm_error *err);
/* How many features dm_dynamics_trainer_observe has skipped. */
DM_API uint64_t dm_dynamics_trainer_skipped(const dm_dynamics_trainer *trainer);
/* The hidden states [E][hidden] before the last features: what a rollout from those begins with. */
DM_API const float *dm_dynamics_trainer_hidden(const dm_dynamics_trainer *trainer);
/* All that a trainer knows besides the model's weights, as dm_dynamics_encoder_state_get has it: moments,
 * hidden states, the features it looks back on. */
DM_API size_t dm_dynamics_trainer_state_size(const dm_dynamics_trainer *trainer);
DM_API void dm_dynamics_trainer_state_get(const dm_dynamics_trainer *trainer, void *bytes);
DM_API dm_status dm_dynamics_trainer_state_set(dm_dynamics_trainer *trainer, const void *bytes,
                                               size_t size, dm_error *err);
/* Begin another run; weights and the optimiser's state stay. */
DM_API void dm_dynamics_trainer_restart(dm_dynamics_trainer *trainer);

/* ---- Forecasts of a curve ---- */

/* A curve model is an ensemble that was taught on many runs (`dotmatrix dynamics learn`): it
 * corrects a combination of plain forecasts of the log loss, in units of the run's own errors, and
 * has a band that 90% of what came true lay in (docs/dynamics.md). One step is one sample. */
DM_API bool dm_dynamics_forecasts_curves(const dm_dynamics *model);

enum {
    DM_DYNAMICS_CURVE_LAST,   /* the last loss */
    DM_DYNAMICS_CURVE_MEAN,   /* mean of the logarithms of the last 16 */
    DM_DYNAMICS_CURVE_LINEAR, /* straight line through the logarithms of the last 50 */
    DM_DYNAMICS_CURVE_POWER,  /* a (t + t0)^-b + c, fitted to the last 512 */
    DM_DYNAMICS_CURVE_BASELINES
};
#define DM_DYNAMICS_CURVE_STEPS_MAX 100000

/* Losses 1 .. steps ahead; all arrays belong to this struct and are finite. */
typedef struct dm_dynamics_curve_forecast {
    uint32_t steps, members;
    size_t seen, skipped;     /* losses that were used; that are not finite or not above 0 */
    float *mean, *low, *high; /* [steps]: the forecast and its 90% band */
    float *member;            /* [members][steps] */
    float *combination;       /* [steps]: without the ensemble */
    float *baseline[DM_DYNAMICS_CURVE_BASELINES]; /* [steps] */
} dm_dynamics_curve_forecast;

/* From samples[count] of a run, oldest first; only losses are needed, learning rate and gradient
 * norm help (0: not known). DM_EINVAL for another model or fewer than 2 usable losses. Any number
 * of threads may do this with one model. */
DM_API dm_status dm_dynamics_curve_forecast_create(const dm_dynamics *model,
                                                   const dm_dynamics_sample *samples, size_t count,
                                                   uint32_t steps, dm_dynamics_curve_forecast **out,
                                                   dm_error *err);
DM_API void dm_dynamics_curve_forecast_destroy(dm_dynamics_curve_forecast *forecast);

/* ---- On a device ---- */

/* A model on a device: its weights there, and kernels that are compiled at their first use. The
 * model must outlive this. On the CPU device the calls are those above. One thread at a time. */
typedef struct dm_dynamics_device dm_dynamics_device;

DM_API dm_status dm_dynamics_device_create(dm_device *device, const dm_dynamics *model,
                                           dm_dynamics_device **out, dm_error *err);
DM_API void dm_dynamics_device_destroy(dm_dynamics_device *on);
/* Take over weights, shift and scale that have changed. */
DM_API dm_status dm_dynamics_device_upload(dm_dynamics_device *on, dm_error *err);

/* As dm_dynamics_rollout, with host memory; one launch for all members and steps. */
DM_API dm_status dm_dynamics_device_rollout(dm_dynamics_device *on, const float *features,
                                            const float *hidden, dm_dynamics_forecast *out,
                                            dm_error *err);
/* As dm_dynamics_gru, with host memory. */
DM_API dm_status dm_dynamics_device_gru(dm_dynamics_device *on, uint32_t member, size_t batch,
                                        const float *x, const float *h, float *out, dm_error *err);

/* Learning on a device, from many sequences at a time. The weights are the device's while it
 * learns; the model, which must outlive it, gets them by fetch. The config's window is not used.
 * Sums have a fixed order: the same calls give the same bits on the same device. */
typedef struct dm_dynamics_batch_trainer dm_dynamics_batch_trainer;
DM_API dm_status dm_dynamics_batch_trainer_create(dm_device *device, dm_dynamics *model,
                                                  const dm_dynamics_trainer_config *config,
                                                  dm_dynamics_batch_trainer **out, dm_error *err);
DM_API void dm_dynamics_batch_trainer_destroy(dm_dynamics_batch_trainer *trainer);
DM_API dm_status dm_dynamics_batch_trainer_set_learning_rate(dm_dynamics_batch_trainer *trainer,
                                                             float rate, dm_error *err);
/* One update of every member, as dm_dynamics_trainer_sequence, from the mean gradient of `sequences`
 * sequences: features[sequences][forced][input], targets[sequences][steps],
 * hidden[sequences][E][hidden] (NULL: zeros). `objective`, which may be NULL, gets its mean over
 * members and sequences before the update. */
DM_API dm_status dm_dynamics_batch_trainer_sequences(dm_dynamics_batch_trainer *trainer,
                                                     uint32_t sequences, const float *features,
                                                     uint32_t forced, uint32_t steps, uint32_t from,
                                                     const float *targets, const float *hidden,
                                                     float *objective, dm_error *err);
/* hidden[sequences][E][hidden] after the first `steps` steps of the last sequences, with the
 * weights before their update: what the next window of a run begins with. */
DM_API dm_status dm_dynamics_batch_trainer_hidden(dm_dynamics_batch_trainer *trainer,
                                                  uint32_t steps, float *hidden, dm_error *err);
/* Copy the weights into the model; dm_dynamics_device_upload takes them over from there. */
DM_API dm_status dm_dynamics_batch_trainer_fetch(dm_dynamics_batch_trainer *trainer, dm_error *err);

/* Many encoders on a device, one per run that is watched. */
typedef struct dm_dynamics_encoders dm_dynamics_encoders;
DM_API dm_status dm_dynamics_encoders_create(dm_device *device, size_t count, uint32_t losses,
                                             uint32_t norms, dm_dynamics_encoders **out,
                                             dm_error *err);
DM_API void dm_dynamics_encoders_destroy(dm_dynamics_encoders *encoders);
/* Every encoder takes one of samples[count]; features[count][64] may be NULL: they stay on the
 * device. */
DM_API dm_status dm_dynamics_encoders_update(dm_dynamics_encoders *encoders,
                                             const dm_dynamics_sample *samples, float *features,
                                             dm_error *err);
/* Update and rollout in one go: rollout k begins with the features of encoder k, which do not leave
 * the device in between. The model's input must be 64, out->rollouts the number of encoders, and
 * both must be on the same device. */
DM_API dm_status dm_dynamics_device_forecast(dm_dynamics_device *on, dm_dynamics_encoders *encoders,
                                             const dm_dynamics_sample *samples, const float *hidden,
                                             dm_dynamics_forecast *out, dm_error *err);

#ifdef __cplusplus
}
#endif

#endif
