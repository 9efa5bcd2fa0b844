"""Names of ``jax.nn``, ``jax.tree_util``, ``jax.random``, and of JAX's libraries: Flax, Haiku,
Equinox and Optax.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.compat.hints.torch`.
"""

EQUINOX = """
filter_jit filter_pmap : `ag.jit`: what is no tensor and no float is static
filter_grad filter_value_and_grad : `ag.grad`, `ag.value_and_grad`
filter_vmap filter_jvp filter_vjp : `ag.vmap`, `ag.jvp`, `ag.vjp`
filter partition combine is_array is_inexact_array is_array_like tree_at tree_check
    tree_equal tree_pformat tree_pprint : `ag.tree.map`, `ag.tree.leaves`
tree_serialise_leaves tree_deserialise_leaves : `ag.save`, `ag.load`
inference_mode tree_inference : `model.eval()`
tree_leaves tree_flatten tree_unflatten tree_structure tree_reduce tree_transpose tree_all
    tree_map_with_path tree_flatten_with_path tree_leaves_with_path : `ag.tree`, whose functions
    have these names without `tree_`
ravel_pytree : `nn.utils.parameters_to_vector`, of `ag.tree.leaves(nest)`
optax flax nnx linen haiku equinox : `ag.nn`, `ag.optim`
gaussian_kde rankdata sem : `scipy.stats`
detrend welch csd : `scipy.signal`
"""

NN = """
initializers : `nn.init`
compact nowrap transparent : nothing: layers are made in `__init__`, and `forward` calls them
Conv ConvTranspose ConvLocal : `nn.Conv2d`, `nn.ConvTranspose2d` and their kin; the first argument
    are channels
Conv1DTranspose Conv3DTranspose : `nn.ConvTranspose1d`, `nn.ConvTranspose3d`
Embed Embeddings : `nn.Embedding(num_embeddings, embedding_dim)`
DenseGeneral LinearGeneral Einsum : `nn.Linear`, or `ag.einsum` of an `nn.Parameter`
MultiHeadDotProductAttention MultiHeadAttention SelfAttention : `nn.MultiheadAttention`
dot_product_attention dot_product_attention_weights make_causal_mask make_attention_mask
    combine_masks : `nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)`
OptimizedLSTMCell SimpleCell ConvLSTMCell VanillaRNN RNNCellBase : `nn.LSTMCell`, `nn.RNNCell`
Bidirectional : `nn.LSTM(input_size, hidden_size, bidirectional=True)`
SpectralNorm WeightNorm : `nn.utils.parametrizations.spectral_norm`,
    `nn.utils.parametrizations.weight_norm`
LoRA LoRALinear LoRAParam : `nn.utils.parametrize.register_parametrization`
Param : `nn.Parameter`
Variable BatchStat Cache Intermediate VariableState : `self.register_buffer(name, tensor)`
Rngs RngStream PRNGSequence make_rng next_rng_key maybe_next_rng_key : `ag.manual_seed(0)`:
    generators are state, which `ag.jit` finds
remat checkpoint : `ag.checkpoint(f, *args)`
get_parameter get_state set_state transform transform_with_state without_apply_rng multi_transform
    split merge graphdef pop iter_graph GraphDef State Pytree :
    `nn.utils.stateless.functional_call`, or the model as it is: it holds its parameters
param_with_axes apply_updates ModelAndOptimizer : `ag.optim.Adam(model.parameters())`
MLP Sequential_ BatchApply Stateful Lambda Fn : `nn.Sequential`
max_pool avg_pool : `ag.max_pool`, `ag.avg_pool`: images are (batch, channels, size, ...)
standardize : `nn.functional.layer_norm(x, x.shape[-1:])`
PReLU_ : `nn.PReLU`
"""

FUNCTIONAL = """
get_scaled_dot_general_config scaled_dot_general scaled_matmul : `ag.matmul`
logsumexp(v) | ag.logsumexp(v)
dot_product_attention : `nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)`, whose
    heads are before the positions
hard_sigmoid(x) | nn.functional.hardsigmoid(x)
hard_silu(x) | nn.functional.hardswish(x)
hard_swish(x) | nn.functional.hardswish(x)
hard_tanh(x) | nn.functional.hardtanh(x)
identity(x) | x
log1mexp(p) | ag.log(-ag.expm1(-p))
logmeanexp(v) | ag.logsumexp(v) - ag.log(v.numel())
soft_sign(x) | nn.functional.softsign(x)
sparse_plus(x) | ag.where(x < 1, ag.clip(x + 1, 0) ** 2 / 4, x)
sparse_sigmoid(x) | ag.clip((x + 1) / 2, 0, 1)
swish(x) | nn.functional.silu(x)
squareplus(x) | (x + ag.sqrt(x ** 2 + 4)) / 2
standardize(x) | nn.functional.layer_norm(x, x.shape[-1:])
"""

INIT = """
Initializer : `nn.init.normal_(tensor)` and its kin, which write into a parameter
glorot_normal glorot_uniform : `nn.init.xavier_normal_(tensor)`, `nn.init.xavier_uniform_(tensor)`
he_normal he_uniform : `nn.init.kaiming_normal_(tensor)`, `nn.init.kaiming_uniform_(tensor)`
lecun_normal lecun_uniform : `nn.init.kaiming_normal_(tensor, nonlinearity='linear')`,
    `nn.init.kaiming_uniform_(tensor, nonlinearity='linear')`
variance_scaling : `nn.init.fans(tensor)`, and `nn.init.normal_(tensor, std=scale)`
ones zeros : `nn.init.ones_(tensor)`, `nn.init.zeros_(tensor)`
truncated_normal trunc_normal : `nn.init.trunc_normal_(tensor)`
delta_orthogonal : `nn.init.dirac_(tensor)`, `nn.init.orthogonal_(tensor)`
zeros_init ones_init : `nn.init.zeros_(tensor)`, `nn.init.ones_(tensor)`
"""

TREE = """
tree_map : `ag.tree.map`
tree_leaves tree_flatten tree_unflatten tree_structure tree_reduce tree_transpose tree_all
    tree_map_with_path tree_flatten_with_path tree_leaves_with_path : `ag.tree`, whose functions
    have these names without `tree_`
register_pytree_node register_pytree_with_keys register_pytree_node_class
    register_pytree_with_keys_class register_static static Partial : `ag.tree.register(kind, take,
    build)`
PyTreeDef KeyEntry KeyPath DictKey GetAttrKey SequenceKey FlattenedIndexKey :
    `ag.tree.structure(nest)`, `ag.tree.keystr(path)`
treedef_children treedef_is_leaf treedef_tuple all_leaves is_tree_node default_registry
    flatten_one_level flatten_one_level_with_keys : `ag.tree.flatten(nest, is_leaf)`
broadcast tree_broadcast : `ag.tree.map`
reduce_associative tree_reduce_associative : `ag.tree.reduce(f, nest)`
ravel_pytree : `nn.utils.parameters_to_vector`, of `ag.tree.leaves(nest)`
map_structure : `ag.tree.map`
"""

RANDOM = """
key_data key_impl key_dtype wrap_key_data clone : `ag.manual_seed(0)`: generators are state
bits : `ag.random.integers(0, 2**32, size)`
rademacher : `2 * ag.random.bernoulli(0.5, shape) - 1`
ball : `ag.random.normal(size=shape)`, divided by its norm
orthogonal : `nn.init.orthogonal_(tensor)`
maxwell double_sided_maxwell : `ag.random.chisquare(3, shape) ** 0.5`
t : `ag.random.standard_t(df, shape)`
weibull_min : `scale * ag.random.weibull(concentration, shape)`
loggamma : `ag.log(ag.random.gamma(a, size=shape))`
generalized_normal random_gamma_p : `ag.random.gamma`
truncated_normal_ : `ag.random.truncated_normal`
"""

STAX = """
AvgPool MaxPool SumPool GeneralConv : `nn.AvgPool2d`, `nn.MaxPool2d`, `nn.Conv2d`, or those of
    other numbers of axes
serial Exp elementwise : `nn.Sequential`, of modules and functions
FanOut FanInSum parallel shape_dependent : `forward` of an `nn.Module`, which takes and adds tensors
FanInConcat : `ag.cat(tensors, dim=-1)`
GeneralConvTranspose : `nn.ConvTranspose2d`
glorot glorot_normal : `nn.init.xavier_normal_(parameter)`
"""
OPTIMIZERS = """
momentum nesterov : `ag.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True)`
rmsprop_momentum : `ag.optim.RMSprop(model.parameters(), momentum=0.9)`
clip_grads l2_norm : `nn.utils.clip_grad_norm_(parameters, max_norm)`, which returns the norm
inverse_time_decay polynomial_decay piecewise_constant make_schedule : a schedule of
    `ag.optim.lr_scheduler`
pack_optimizer_state unpack_optimizer_state JoinPoint : `optimizer.state_dict()`
"""
OPTAX = """
adam adamw sgd rmsprop adagrad adadelta adamax nadam radam lion lamb adafactor rprop : the class of
    this name: `ag.optim.Adam(model.parameters(), lr)`; nests are `ag.tree.leaves(nest)`
adamaxw nadamw amsgrad yogi adabelief adan novograd sm3 fromage lars noisy_sgd sign_sgd signum
    optimistic_adam optimistic_adam_v2 optimistic_gradient_descent polyak_sgd rmsprop_ : a subclass
    of `ag.optim.Optimizer`, or `ag.optim.AdamW`
lbfgs backtracking_linesearch zoom_linesearch scale_by_lbfgs scale_by_backtracking_linesearch
    scale_by_zoom_linesearch value_and_grad_from_state : `ag.optim.LBFGS(model.parameters(),
    line_search_fn='strong_wolfe')`
apply_updates incremental_update periodic_update : `optimizer.step()`, which writes into the
    parameters; averages are `ag.optim.swa_utils.AveragedModel`
chain named_chain identity stateless with_extra_args_support scale scale_by_learning_rate
    scale_by_schedule init_empty_state set_to_zero : one optimizer after
    `nn.utils.clip_grad_norm_(parameters, max_norm)`, and a schedule of `ag.optim.lr_scheduler`
masked multi_transform partition selective_transform conditionally_mask conditionally_transform
    freeze : groups of parameters, `ag.optim.Adam([{'params': some, 'lr': 0.1}])`, or
    `p.requires_grad_(False)`
inject_hyperparams inject_stateful_hyperparams : `optimizer.lr = 0.1`, which compiles nothing again
MultiSteps ApplyEvery apply_every microbatch : `loss.backward()` several times before
    `optimizer.step()`
lookahead ema measure_with_ema bias_correction LookaheadParams : `ag.optim.swa_utils.AveragedModel`
clip clip_by_global_norm clip_by_block_rms adaptive_grad_clip per_example_global_norm_clip
    per_example_layer_norm_clip global_norm : `nn.utils.clip_grad_norm_(parameters, max_norm)`,
    `nn.utils.clip_grad_value_(parameters, 1.0)`
add_decayed_weights : `weight_decay` of `ag.optim.AdamW`
add_noise : `p.grad.add_(ag.random.normal(size=p.shape))`
apply_if_finite zero_nans skip_not_finite skip_large_updates : `ag.amp.GradScaler`, or
    `ag.where(ag.isfinite(p.grad), p.grad, 0)`
keep_params_nonnegative : `p.data.clamp_(min=0)`
tree_utils tree : `ag.tree`
losses : `nn.functional`
schedules : `ag.optim.lr_scheduler`
constant_schedule : `lr=0.1` of the optimizer
exponential_decay : `ag.optim.lr_scheduler.ExponentialLR`
cosine_decay_schedule : `ag.optim.lr_scheduler.CosineAnnealingLR`
sgdr_schedule : `ag.optim.lr_scheduler.CosineAnnealingWarmRestarts`
linear_schedule polynomial_schedule : `ag.optim.lr_scheduler.LinearLR`,
    `ag.optim.lr_scheduler.PolynomialLR`
piecewise_constant_schedule piecewise_interpolate_schedule : `ag.optim.lr_scheduler.MultiStepLR`
join_schedules warmup_constant_schedule warmup_cosine_decay_schedule
    warmup_exponential_decay_schedule : `ag.optim.lr_scheduler.SequentialLR`, of
    `ag.optim.lr_scheduler.LinearLR` and another one
cosine_onecycle_schedule linear_onecycle_schedule : `ag.optim.lr_scheduler.OneCycleLR`
power_iteration matrix_inverse_pth_root nnls : `ag.linalg.svd`, `ag.linalg.lstsq`
GradientTransformation GradientTransformationExtraArgs OptState Params Updates Schedule
    ScalarOrSchedule TransformInitFn TransformUpdateFn TransformUpdateExtraArgsFn WrappedSchedule
    StatefulSchedule MaskOrFn MaskedNode NonNegativeParams ShouldSkipUpdateFunction
    ZoomLinesearchInfo assignment contrib experimental second_order perturbations projections
    transforms microbatching : `ag.optim.Optimizer`
centralize flatten monitor snapshot trace stateless_with_tree_map tree_map_params
    update_infinity_moment update_moment update_moment_per_elem_norm scale_gradient multi_normal :
    a subclass of `ag.optim.Optimizer`, or `p.grad` before `optimizer.step()`
"""

LOSSES = """
convex_kl_divergence generalized_kl_divergence kl_divergence_with_log_targets cosine_distance
    ntxent multiclass_sparsemax_loss sparsemax_loss make_fenchel_young_loss ranking_softmax_loss
    multiclass_generalized_dice_loss dice_loss binary_dice_loss multiclass_hinge_loss
    multiclass_perceptron_loss perceptron_loss safe_softmax_cross_entropy poly_loss_cross_entropy
    ctc_loss_with_forward_probs : `nn.functional.kl_div`, `nn.functional.multi_margin_loss`,
    `nn.functional.cross_entropy` and others, or the formula: `ag.jit` makes one loop of it
cosine_similarity ctc_loss triplet_margin_loss : `nn.functional.cosine_similarity`,
    `nn.functional.ctc_loss`, `nn.functional.triplet_margin_loss`
kl_divergence(x, t) | ag.sum(t * (ag.log(t) - x), -1)
l2_loss(x, y) | nn.functional.mse_loss(x, y, reduction='none') / 2
log_cosh(x, y) | ag.log(ag.cosh(x - y))
huber_loss(x, y) | nn.functional.huber_loss(x, y, reduction='none')
hinge_loss(x, y) | ag.clip(1 - x * y, 0)
sigmoid_binary_cross_entropy(x, t) | nn.functional.binary_cross_entropy_with_logits(x, t,
    reduction='none')
sigmoid_focal_loss : `nn.functional.binary_cross_entropy_with_logits(x, t, reduction='none')`, times
    `(1 - p) ** 2` of the probability of the target
smooth_labels(x, 0.1) | 0.9 * x + 0.1 / x.shape[-1]
softmax_cross_entropy(x, t) | nn.functional.cross_entropy(x, t, axis=-1, reduction='none')
softmax_cross_entropy_with_integer_labels(s, k) | nn.functional.cross_entropy(s, k, axis=-1,
    reduction='none')
squared_error(x, y) | nn.functional.mse_loss(x, y, reduction='none')
"""

#: Names of Optax by their form.
FORMS = (
    ("scale_by_*", "`ag.optim.Adam`, or a subclass of `ag.optim.Optimizer`"),
    ("*State", "`optimizer.state_dict()`: an optimizer holds its state"),
    ("safe_*", "`ag.where`, or the function without `safe_`"),
    ("normalize_by_*", "`nn.utils.clip_grad_norm_(parameters, max_norm)`"),
)
