/* SPDX-License-Identifier: MIT */
/* vocabulary.c - the words that generated kernels use, by what they name. No word has two roles, so
 * that two names of a kernel are equal only if they are the same word. */
#include "synth/gen/gen.h"

#define T DM_GEN_TEXT
static const dm_gen_text floats[] = {
    T("density"),    T("pressure"),   T("temperature"), T("energy"),    T("mass"),
    T("charge"),     T("height"),     T("intensity"),   T("weights"),   T("values"),
    T("samples"),    T("signal"),     T("heat"),        T("stiffness"), T("damping"),
    T("radii"),      T("distances"),  T("speeds"),      T("angles"),    T("potential"),
    T("moisture"),   T("levels"),     T("loads"),       T("costs"),     T("scores"),
    T("errors"),     T("residuals"),  T("rates"),       T("depths"),    T("widths"),
    T("areas"),      T("volumes"),    T("phases"),      T("gains"),     T("losses"),
    T("rewards"),    T("brightness"), T("strain"),      T("viscosity"), T("elevation"),
    T("salinity"),   T("porosity"),   T("amplitude"),   T("voltage"),   T("current"),
    T("resistance"), T("flux"),       T("entropy")};
static const dm_gen_text vectors[] = {
    T("positions"), T("velocities"), T("forces"),    T("normals"),       T("directions"),
    T("points"),    T("vertices"),   T("gradients"), T("momenta"),       T("colors"),
    T("offsets"),   T("tangents"),   T("rays"),      T("origins"),       T("impulses"),
    T("targets"),   T("anchors"),    T("corners"),   T("displacements"), T("accelerations"),
    T("centers"),   T("axes"),       T("winds"),     T("currents"),      T("spins"),
    T("field")};
static const dm_gen_text matrices[] = {
    T("rotations"),   T("frames"),       T("inertia"), T("stresses"),   T("transforms"),
    T("tensors"),     T("jacobians"),    T("metrics"), T("covariance"), T("bases"),
    T("hessians"),    T("deformation"),  T("shears"),  T("couplings"),  T("operators"),
    T("projections"), T("orientations"), T("poses"),   T("curvatures")};
static const dm_gen_text integers[] = {T("labels"),  T("states"),  T("ids"),     T("flags"),
                                       T("ages"),    T("groups"),  T("tickets"), T("codes"),
                                       T("counts"),  T("ranks"),   T("keys"),    T("votes"),
                                       T("colours"), T("buckets"), T("marks"),   T("tags")};
static const dm_gen_text indices[] = {T("indices"), T("neighbors"), T("parents"), T("links"),
                                      T("order"),   T("mapping"),   T("cells"),   T("owners"),
                                      T("sources"), T("slots"),     T("lookup"),  T("edges")};
static const dm_gen_text scalars[] = {
    T("dt"),        T("scale"),     T("alpha"),   T("beta"),   T("gamma"),    T("mu"),
    T("sigma"),     T("epsilon"),   T("rate"),    T("factor"), T("strength"), T("threshold"),
    T("bias"),      T("radius"),    T("decay"),   T("omega"),  T("friction"), T("tension"),
    T("spacing"),   T("softening"), T("kappa"),   T("tau"),    T("margin"),   T("cutoff"),
    T("step_size"), T("blend"),     T("falloff"), T("drag"),   T("eta"),      T("lam"),
    T("theta"),     T("amount")};
static const dm_gen_text counts[] = {
    T("n"),         T("limit"), T("count_max"), T("seed"),   T("width"), T("steps"), T("stride"),
    T("num_items"), T("size"),  T("period"),    T("offset"), T("salt"),  T("key")};
static const dm_gen_text outputs[] = {
    T("out"),       T("result"),     T("output"),       T("dest"),       T("accumulated"),
    T("updated"),   T("response"),   T("total_energy"), T("new_values"), T("filtered"),
    T("combined"),  T("estimate"),   T("next_state"),   T("blended"),    T("smoothed"),
    T("projected"), T("integrated"), T("measured"),     T("histogram"),  T("sums"),
    T("features"),  T("predicted"),  T("corrected"),    T("balance"),    T("solution")};
static const dm_gen_text locals[] = {T("value"),
                                     T("a"),
                                     T("b"),
                                     T("delta"),
                                     T("diff"),
                                     T("ratio"),
                                     T("term"),
                                     T("weight"),
                                     T("mix"),
                                     T("base"),
                                     T("shift"),
                                     T("product"),
                                     T("current_value"),
                                     T("scaled"),
                                     T("inner"),
                                     T("outer"),
                                     T("bend"),
                                     T("local"),
                                     T("coef"),
                                     T("norm"),
                                     T("inverse_mass"),
                                     T("slope"),
                                     T("level"),
                                     T("spread"),
                                     T("excess"),
                                     T("gap"),
                                     T("phase"),
                                     T("pull"),
                                     T("push"),
                                     T("share"),
                                     T("trend"),
                                     T("peak"),
                                     T("e"),
                                     T("f"),
                                     T("r"),
                                     T("d")};
static const dm_gen_text local_vectors[] = {
    T("v"),    T("direction"),  T("force"), T("velocity"), T("position"), T("normal"),
    T("axis"), T("offset_vec"), T("edge"),  T("ray"),      T("pos"),      T("vel"),
    T("dir"),  T("push_dir"),   T("point"), T("impulse"),  T("drift"),    T("flow")};
static const dm_gen_text local_matrices[] = {
    T("mat"),       T("rotation"), T("frame"), T("stress"), T("basis"), T("tensor"),  T("jacobian"),
    T("transform"), T("metric"),   T("shear"), T("pose"),   T("spin"),  T("coupling")};
static const dm_gen_text local_integers[] = {
    T("index"), T("count"), T("bucket"),    T("code"),   T("parity"),     T("cell"),  T("rank"),
    T("mask"),  T("label"), T("iteration"), T("ticket"), T("hash_value"), T("place"), T("lane")};
static const dm_gen_text totals[] = {T("total"),    T("acc"),       T("running"), T("accum"),
                                     T("best"),     T("sum_value"), T("mean"),    T("partial"),
                                     T("moment"),   T("integral"),  T("tally"),   T("response_sum"),
                                     T("weighted"), T("series")};
static const dm_gen_text functions[] = {
    T("kernel_weight"), T("attenuate"),    T("squash"),     T("smooth_min"),  T("compute_term"),
    T("falloff_at"),    T("spring_force"), T("activation"), T("remap"),       T("potential_at"),
    T("evaluate"),      T("mix_values"),   T("soft_limit"), T("apply_drag"),  T("curve"),
    T("distance_to"),   T("contribution"), T("penalty"),    T("interpolate"), T("shape_function"),
    T("energy_of"),     T("sample_at"),    T("rotate_by"),  T("transfer")};
static const dm_gen_text structs[] = {
    T("Particle"), T("Body"),   T("Params"),  T("Material"), T("Cell"),       T("Spring"),
    T("Config"),   T("Sample"), T("Contact"), T("Joint"),    T("State"),      T("Fluid"),
    T("Agent"),    T("Light"),  T("Segment"), T("Voxel"),    T("Constraint"), T("Neuron")};
static const dm_gen_text fields[] = {
    T("inv_mass"), T("rest_length"), T("young"),       T("poisson"),     T("age_value"),
    T("ka"),       T("kd"),          T("friction_k"),  T("temp"),        T("pos_now"),
    T("pos_old"),  T("vel_now"),     T("size_value"),  T("albedo"),      T("roughness"),
    T("torque"),   T("heading"),     T("fuel"),        T("gain"),        T("bias_term"),
    T("extent"),   T("weight_in"),   T("limit_value"), T("target_value")};
static const dm_gen_text arguments[] = {
    T("arg"),    T("lhs"),        T("rhs"),         T("amount_in"), T("val"),         T("item"),
    T("dist"),   T("from_value"), T("to_value"),    T("coeff"),     T("input_value"), T("first"),
    T("second"), T("third"),      T("power_level"), T("query")};
static const dm_gen_text constants[] = {T("GRAVITY"), T("STIFFNESS"), T("DAMPING"), T("SCALE"),
                                        T("BIAS"),    T("LIMIT"),     T("RATE"),    T("OMEGA"),
                                        T("WEIGHT"),  T("FACTOR"),    T("SHIFT"),   T("DECAY")};
static const dm_gen_text verbs[] = {
    T("compute"),      T("update"),    T("apply"),      T("integrate"),  T("accumulate"),
    T("evaluate_all"), T("advance"),   T("scatter"),    T("gather"),     T("transform_all"),
    T("project"),      T("blend_all"), T("diffuse"),    T("relax"),      T("sample"),
    T("estimate_all"), T("resolve"),   T("filter_all"), T("propagate"),  T("combine"),
    T("assemble"),     T("correct"),   T("predict"),    T("reduce_all"), T("normalize_all"),
    T("simulate")};
static const dm_gen_text nouns[] = {
    T("particles"), T("cloth"),    T("fields"),   T("grid"),   T("mesh_data"),    T("bodies"),
    T("layers"),    T("signals"),  T("springs"),  T("fluid"),  T("rods"),         T("agents"),
    T("contacts"),  T("pixels"),   T("waves"),    T("nodes"),  T("features_map"), T("energies"),
    T("orbits"),    T("tracks"),   T("surfaces"), T("voxels"), T("cells_state"),  T("beams"),
    T("bonds"),     T("clusters"), T("streams"),  T("tissue"), T("terrain"),      T("plasma")};

#define COUNT(words) (int)(sizeof words / sizeof words[0])
#define ROLE(role, words) [DM_GEN_ROLE_##role] = words
#define SIZE(role, words) [DM_GEN_ROLE_##role] = COUNT(words)
#define ROLES(X)                                                                                   \
    X(FLOATS, floats), X(VECTORS, vectors), X(MATRICES, matrices), X(INTEGERS, integers),          \
        X(INDICES, indices), X(SCALAR, scalars), X(COUNT, counts), X(OUTPUT, outputs),             \
        X(LOCAL, locals), X(LOCAL_VECTOR, local_vectors), X(LOCAL_MATRIX, local_matrices),         \
        X(LOCAL_INTEGER, local_integers), X(TOTAL, totals), X(FUNCTION, functions),                \
        X(STRUCT, structs), X(FIELD, fields), X(ARGUMENT, arguments), X(CONSTANT, constants),      \
        X(VERB, verbs), X(NOUN, nouns)

const dm_gen_text *const dm_gen_vocabulary[DM_GEN_ROLE_KINDS] = {ROLES(ROLE)};
const int dm_gen_vocabulary_count[DM_GEN_ROLE_KINDS] = {ROLES(SIZE)};
