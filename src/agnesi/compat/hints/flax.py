"""Names of Flax's nnx.

A line is ``names : what to use``; operands are named as in :mod:`agnesi.compat.hints.torch`.
"""

NNX = """
Optimizer optimizer OptState OptVariable OptArray : `ag.optim.Adam(model.parameters())`
TrainState : the model and its optimizer, which hold their state
Metric MultiMetric metrics : `ag.metrics`
Initializer : `nn.init`
EMA : `optim.swa_utils.AveragedModel`
InstanceNorm : `nn.InstanceNorm2d` and its kin, with the number of channels
Dict : `nn.ModuleDict`
List : `nn.ModuleList`
tabulate display : `nn.summary(model, x)`
elu celu gelu glu leaky_relu log_softmax one_hot relu relu6 selu sigmoid silu softmax softplus
    tanh : `nn.functional.{0}`
log_sigmoid : `nn.functional.logsigmoid(x)`
pool min_pool : `ag.max_pool`, `ag.avg_pool`: images are (batch, channels, size, ...)
jit jit_partial cached_partial pmap shard_map : `ag.jit`, which finds the state of modules
grad value_and_grad vmap vjp jvp custom_vjp scan cond switch while_loop fori_loop : `ag.{0}`
eval_shape make_jaxpr : `ag.jit(f).graph`, once it was called
checkify : `ag.ensure(condition, message)`
clone : `copy.deepcopy(model)`
state update variables iter_children recursive_map map_state filter_state merge_state split_state
    to_flat_state from_flat_state to_pure_dict replace_by_pure_dict restore_int_paths FlatState
    GraphState to_tree from_tree flatten unflatten as_pure pure prefix map vars_as :
    `model.state_dict()`, `model.load_state_dict(state)`, and `ag.tree` of its nest
graph graphlib graphdef GraphDef object Object Pytree data dataclass static Static Data
    register_data_type is_data has_data check_pytree : a subclass of `nn.Module`, whose attributes
    are followed
All Not Nothing Everything OfType PathContains WithTag : a condition in
    `[p for p in model.parameters()]`
DiffState : `ag.grad`, or `requires_grad_(False)` of what stays
RngCount RngKey RngState fork_rngs reseed restore_rngs split_rngs with_rngs :
    `ag.manual_seed(0)`: generators are state, which `ag.jit` finds
Perturbation capture perturb sow : `register_forward_hook` of a module
Carry StateAxes StateSharding M A : `ag.scan`, `ag.vmap`
PARTITION_NAME abstract_with_sharding get_abstract_model get_named_sharding get_partition_spec
    logical_axis_rules use_eager_sharding with_partitioning transform_metadata : nothing: there is
    one device
as_abstract VariableMetadata register_variable_name set_metadata variable_name_from_type
    variable_type_from_name with_metadata with_attributes with_vars wrappers traversals :
    attributes of an `nn.Module`
MergeContext SplitContext UpdateContext current_update_context merge_context split_context
    update_context find_duplicates set_graph_mode set_graph_updates NodeStates PureState compat
    call cycles view view_info unpack : nothing: modules are objects, and change in place
warnings : `import warnings`, which is Python's own
"""
