/* SPDX-License-Identifier: MIT */
/* vocabulary.c - the words that generated kernels use, by what they name. No word has two roles, so
 * that two names of a kernel are equal only if they are the same word. */
#include "synth/gen.h"

static const char *const floats[] = {
    "density",   "pressure",   "temperature", "energy",     "mass",      "charge",    "height",
    "intensity", "weights",    "values",      "samples",    "signal",    "heat",      "stiffness",
    "damping",   "radii",      "distances",   "speeds",     "angles",    "potential", "moisture",
    "levels",    "loads",      "costs",       "scores",     "errors",    "residuals", "rates",
    "depths",    "widths",     "areas",       "volumes",    "phases",    "gains",     "losses",
    "rewards",   "brightness", "strain",      "viscosity",  "elevation", "salinity",  "porosity",
    "amplitude", "voltage",    "current",     "resistance", "flux",      "entropy",   NULL};
static const char *const vectors[] = {
    "positions",     "velocities",    "forces",   "normals", "directions", "points",
    "vertices",      "gradients",     "momenta",  "colors",  "offsets",    "tangents",
    "rays",          "origins",       "impulses", "targets", "anchors",    "corners",
    "displacements", "accelerations", "centers",  "axes",    "winds",      "currents",
    "spins",         "field",         NULL};
static const char *const matrices[] = {
    "rotations", "frames",      "inertia",      "stresses", "transforms",  "tensors", "jacobians",
    "metrics",   "covariance",  "bases",        "hessians", "deformation", "shears",  "couplings",
    "operators", "projections", "orientations", "poses",    "curvatures",  NULL};
static const char *const integers[] = {"labels",  "states",  "ids",    "flags", "ages", "groups",
                                       "tickets", "codes",   "counts", "ranks", "keys", "votes",
                                       "colours", "buckets", "marks",  "tags",  NULL};
static const char *const indices[] = {"indices", "neighbors", "parents", "links",   "order",
                                      "mapping", "cells",     "owners",  "sources", "slots",
                                      "lookup",  "edges",     NULL};
static const char *const scalars[] = {
    "dt",      "scale",  "alpha",    "beta",      "gamma",     "mu",        "sigma",
    "epsilon", "rate",   "factor",   "strength",  "threshold", "bias",      "radius",
    "decay",   "omega",  "friction", "tension",   "spacing",   "softening", "kappa",
    "tau",     "margin", "cutoff",   "step_size", "blend",     "falloff",   "drag",
    "eta",     "lam",    "theta",    "amount",    NULL};
static const char *const counts[] = {"n",      "limit",  "count_max", "seed", "width",
                                     "steps",  "stride", "num_items", "size", "period",
                                     "offset", "salt",   "key",       NULL};
static const char *const outputs[] = {
    "out",          "result",     "output",     "dest",     "accumulated", "updated",    "response",
    "total_energy", "new_values", "filtered",   "combined", "estimate",    "next_state", "blended",
    "smoothed",     "projected",  "integrated", "measured", "histogram",   "sums",       "features",
    "predicted",    "corrected",  "balance",    "solution", NULL};
static const char *const locals[] = {"value",
                                     "a",
                                     "b",
                                     "delta",
                                     "diff",
                                     "ratio",
                                     "term",
                                     "weight",
                                     "mix",
                                     "base",
                                     "shift",
                                     "product",
                                     "current_value",
                                     "scaled",
                                     "inner",
                                     "outer",
                                     "bend",
                                     "local",
                                     "coef",
                                     "norm",
                                     "inverse_mass",
                                     "slope",
                                     "level",
                                     "spread",
                                     "excess",
                                     "gap",
                                     "phase",
                                     "pull",
                                     "push",
                                     "share",
                                     "trend",
                                     "peak",
                                     "e",
                                     "f",
                                     "r",
                                     "d",
                                     NULL};
static const char *const local_vectors[] = {
    "v",          "direction", "force", "velocity", "position", "normal", "axis",
    "offset_vec", "edge",      "ray",   "pos",      "vel",      "dir",    "push_dir",
    "point",      "impulse",   "drift", "flow",     NULL};
static const char *const local_matrices[] = {"mat",    "rotation", "frame",     "stress", "basis",
                                             "tensor", "jacobian", "transform", "metric", "shear",
                                             "pose",   "spin",     "coupling",  NULL};
static const char *const local_integers[] = {"index",  "count",      "bucket", "code",  "parity",
                                             "cell",   "rank",       "mask",   "label", "iteration",
                                             "ticket", "hash_value", "place",  "lane",  NULL};
static const char *const totals[] = {"total",     "acc",          "running",  "accum",  "best",
                                     "sum_value", "mean",         "partial",  "moment", "integral",
                                     "tally",     "response_sum", "weighted", "series", NULL};
static const char *const functions[] = {
    "kernel_weight", "attenuate",    "squash",     "smooth_min",  "compute_term",
    "falloff_at",    "spring_force", "activation", "remap",       "potential_at",
    "evaluate",      "mix_values",   "soft_limit", "apply_drag",  "curve",
    "distance_to",   "contribution", "penalty",    "interpolate", "shape_function",
    "energy_of",     "sample_at",    "rotate_by",  "transfer",    NULL};
static const char *const structs[] = {"Particle", "Body",       "Params", "Material", "Cell",
                                      "Spring",   "Config",     "Sample", "Contact",  "Joint",
                                      "State",    "Fluid",      "Agent",  "Light",    "Segment",
                                      "Voxel",    "Constraint", "Neuron", NULL};
static const char *const fields[] = {
    "inv_mass",   "rest_length", "young",        "poisson", "age_value", "ka",         "kd",
    "friction_k", "temp",        "pos_now",      "pos_old", "vel_now",   "size_value", "albedo",
    "roughness",  "torque",      "heading",      "fuel",    "gain",      "bias_term",  "extent",
    "weight_in",  "limit_value", "target_value", NULL};
static const char *const arguments[] = {
    "arg",    "lhs",        "rhs",         "amount_in", "val",         "item",
    "dist",   "from_value", "to_value",    "coeff",     "input_value", "first",
    "second", "third",      "power_level", "query",     NULL};
static const char *const constants[] = {"GRAVITY", "STIFFNESS", "DAMPING", "SCALE",  "BIAS",
                                        "LIMIT",   "RATE",      "OMEGA",   "WEIGHT", "FACTOR",
                                        "SHIFT",   "DECAY",     NULL};
static const char *const verbs[] = {
    "compute",       "update",   "apply",    "integrate",     "accumulate", "evaluate_all",
    "advance",       "scatter",  "gather",   "transform_all", "project",    "blend_all",
    "diffuse",       "relax",    "sample",   "estimate_all",  "resolve",    "filter_all",
    "propagate",     "combine",  "assemble", "correct",       "predict",    "reduce_all",
    "normalize_all", "simulate", NULL};
static const char *const nouns[] = {
    "particles", "cloth",    "fields",   "grid",   "mesh_data",    "bodies",
    "layers",    "signals",  "springs",  "fluid",  "rods",         "agents",
    "contacts",  "pixels",   "waves",    "nodes",  "features_map", "energies",
    "orbits",    "tracks",   "surfaces", "voxels", "cells_state",  "beams",
    "bonds",     "clusters", "streams",  "tissue", "terrain",      "plasma",
    NULL};

#define COUNT(words) ((int)(sizeof words / sizeof words[0]) - 1)
#define ROLE(role, words) [DM_GEN_ROLE_##role] = words
#define SIZE(role, words) [DM_GEN_ROLE_##role] = COUNT(words)
#define ROLES(X)                                                                                   \
    X(FLOATS, floats), X(VECTORS, vectors), X(MATRICES, matrices), X(INTEGERS, integers),          \
        X(INDICES, indices), X(SCALAR, scalars), X(COUNT, counts), X(OUTPUT, outputs),             \
        X(LOCAL, locals), X(LOCAL_VECTOR, local_vectors), X(LOCAL_MATRIX, local_matrices),         \
        X(LOCAL_INTEGER, local_integers), X(TOTAL, totals), X(FUNCTION, functions),                \
        X(STRUCT, structs), X(FIELD, fields), X(ARGUMENT, arguments), X(CONSTANT, constants),      \
        X(VERB, verbs), X(NOUN, nouns)

const char *const *const dm_gen_vocabulary[DM_GEN_ROLE_KINDS] = {ROLES(ROLE)};
const int dm_gen_vocabulary_count[DM_GEN_ROLE_KINDS] = {ROLES(SIZE)};
