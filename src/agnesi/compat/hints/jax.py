"""JAX's names: of ``jax``, ``jax.numpy`` and ``jax.lax``.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.compat.hints.torch`, and the axes are those of
:mod:`agnesi.core.support.migration_hints.numpy`.
"""

JAX = """
numpy : `ag` itself
lax : `ag.scan`, `ag.cond`, `ag.while_loop`, `ag.conv2d`
tree_util : `ag.tree`
scipy stats : `ag.special`, `ag.linalg`, `ag.distributions`
flatten_util : `nn.utils.parameters_to_vector`, of `ag.tree.leaves(nest)`
PRNGKey : `ag.manual_seed(0)`: generators are state, which `jit` finds
tree_map : `ag.tree.map`
debug : `ag.print`, `ag.callback`
remat : `ag.checkpoint`
pure_callback : `ag.callback`
Array : `ag.Tensor`
Device Shard NamedSharding P Ref ShapeDtypeStruct typeof : `x.shape`, `x.dtype`: a tensor knows its
    type; there is one device
ad freeze new_ref empty_ref free_ref : `ag.shared(value)`, or any tensor changed in place
allow_f16_reductions default_matmul_precision : nothing: 16-bit floats are added up in float32
array_garbage_collection_guard check_tracer_leaks checking_leaks thread_guard transfer_guard
    transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device
    numpy_dtype_promotion numpy_rank_promotion no_execution no_tracing : nothing: values are in
    this process, and errors tell the line
auto_pcast reshard set_mesh make_mesh shard_map smap remove_size_one_mesh_axis_from_type
    make_user_context pmap : `ag.vmap`: there is one device, whose threads share the work
checkpoint_policies : `ag.checkpoint(f, *args)`
clear_caches : `ag.clear_cache()`
closure_convert : nothing: `ag.jit`, `ag.grad` and `ag.scan` follow closures
copy_to_host_async device_get device_put : nothing: tensors are in this process; `x.numpy()` is the
    array
custom_gradient : `ag.custom_vjp`
debug_infs debug_nans : `ag.ensure(x, ag.isfinite(x).all())`
debug_key_reuse enable_custom_prng legacy_prng_key threefry_partitionable default_prng_impl :
    `ag.random.default_rng(0)`: generators are state
default_backend default_device device_count local_device_count local_devices host_count host_id
    host_ids process_count process_index process_indices devices live_arrays memory : nothing:
    there is one device, the CPU
disable_jit : `ag.config(compile=False)`
ds : `x[i: i + n]`
effects_barrier block_until_ready : nothing: results are there when a call returns
enable_checks : `ag.config.verify`
enable_x64 : `ag.config.default_float`
ensure_compile_time_eval : `numpy`, whose arrays are constants of a traced function
eval_shape make_jaxpr : `ag.jit(f).explain()`
explain_cache_misses log_compiles : `ag.jit(f).explain()`
float0 : `None`: what has no gradient
fwd_and_bwd : `ag.vjp(f, *primals)`
jax2tf_associative_scan_reductions softmax_custom_jvp : nothing: `ag.scan`, `ag.softmax`
linear_transpose : `ag.vjp(f, *primals)`
make_array_from_callback make_array_from_process_local_data make_array_from_single_device_arrays :
    `ag.from_numpy(array)`
named_call named_scope : nothing: nodes know the line that made them
print_environment_info : `ag.linalg.backend()`
"""

JNP = """
array_str array_repr array2string printoptions get_printoptions set_printoptions :
    `numpy.set_printoptions`; `str(x)` of a tensor
ComplexWarning : `numpy.exceptions`
bool_ : `ag.bool`
single csingle cdouble complex_ : `ag.float32`, `ag.complex64`, `ag.complex128`
character complexfloating flexible floating generic inexact integer number object_ signedinteger
    unsignedinteger : `ag.isdtype(x.dtype, 'integral')`, with 'bool', 'real floating', 'complex
    floating' and 'numeric'
float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu : `ag.float16`, `ag.bfloat16`: the
    smallest floats here
int1 int2 int4 uint1 uint2 uint4 : `ag.int8`, `ag.uint8`: the smallest integers here
uint : `ag.uint64`
euler_gamma : `-ag.digamma(1.0)`
fromfile fromstring : `ag.from_numpy(numpy.fromfile(file))`
frompyfunc ufunc : `ag.vectorize(f)`
"""

LAX = """
AccuracyMode Precision PrecisionLike Tolerance DotAlgorithm DotAlgorithmPreset RoundingMethod
    RandomAlgorithm FftType GatherScatterMode : nothing: products are computed in the operands'
    dtype
ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotDimensionNumbers GatherDimensionNumbers
    ScatterDimensionNumbers RaggedDotDimensionNumbers conv_dimension_numbers
    conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple
    padtype_to_pads reduce_window_shape_tuple shape_as_value : `ag.moveaxis` before: images are
    (batch, channels, size, ...)
after_all create_token optimization_barrier : nothing: effects keep their order
all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute precv psend
    pshuffle psum psum_scatter pswapaxes ragged_all_to_all with_sharding_constraint
    sharding_constraint : `ag.distributed.all_reduce`, `ag.distributed.all_gather` and others
    between processes; an axis of the batch is reduced outside of `ag.vmap`
approx_max_k approx_min_k approx_top_k : `ag.topk(x, k)`, which is exact
batch_matmul(c, d) | c @ d
bessel_i0e(x) | ag.special.i0e(x)
bessel_i1e(x) | ag.special.i1e(x)
bitcast_convert_type(x, 'int64') | ag.bitcast(x, 'int64')
broadcast(x, (2,)) | ag.broadcast_to(x, (2, 3, 4))
broadcast_in_dim(v, (3, 4), (1,)) | ag.broadcast_to(v, (3, 4))
broadcast_like broadcast_to_rank : `ag.broadcast_to(x, shape)`
broadcasted_iota('int64', (3, 4), 1) | ag.broadcast_to(ag.arange(4), (3, 4))
clz(j) | 64 - ag.frexp(j.double())[1]
collapse(c, 0, 2) | c.flatten(0, 1)
composite : `ag.OpFromGraph`
conv(c, q, (1,), 'VALID') | ag.conv1d(c, q)
conv_general_dilated(c, q, (1,), [(1, 1)]) | ag.conv1d(c, q, padding=1)
conv_general_dilated_local : `nn.functional.unfold`, then a product
conv_general_dilated_patches : `nn.functional.unfold`
conv_with_general_padding(c, q, (1,), [(1, 1)], None, None) | ag.conv1d(c, q, padding=1)
convert_element_type(x, 'int32') | x.astype('int32')
cumlogsumexp(v) | ag.logaddexp.accumulate(v)
custom_linear_solve custom_root : `ag.custom_vjp` around `ag.while_loop`
dce_sink stage : nothing: what nobody reads is not computed
dot_general(c, d, (((2,), (1,)), ((0,), (0,)))) | ag.einsum('bij,bjk->bik', c, d)
dynamic_index_in_dim(x, 1) | x[1:2]
dynamic_slice_in_dim(x, 1, 2) | x[1:1 + 2]
dynamic_slice : `x[i: i + n]`
dynamic_update_slice : `x[i: i + n] = y`, or `ag.set_subtensor(x[i: i + n], y)`
dynamic_update_index_in_dim(x, v, 1, 0) | ag.set_subtensor(x[1], v)
dynamic_update_slice_in_dim(x, y[:2], 1, 0) | ag.set_subtensor(x[1:1 + 2], y[:2])
erf_inv(t) | ag.erfinv(t)
igamma(t, t) | ag.special.gammainc(t, t)
igammac(t, t) | ag.special.gammaincc(t, t)
igamma_grad_a random_gamma_grad : `ag.grad` of `ag.special.gammainc`
index_in_dim(x, 1) | x[1:2]
index_take : `ag.take(x, index, axis)`
integer_pow(x, 3) | x ** 3
iota('int64', 4) | ag.arange(4)
is_finite(x) | ag.isfinite(x)
logistic(x) | ag.sigmoid(x)
mulhi : `x.astype('int64') * y >> 32`
platform_dependent : nothing: there is one device, the CPU
population_count(j) | ag.bitwise_count(j)
ragged_dot ragged_dot_general scaled_dot : `ag.matmul` of each group
reduce : `ag.add.reduce(x, axis)` and the like of `ag.maximum`, `ag.multiply`
reduce_and(b, (0,)) | ag.all(b, 0)
reduce_or(b, (0,)) | ag.any(b, 0)
reduce_max(x, (0,)) | ag.max(x, axis=0)
reduce_min(x, (0,)) | ag.min(x, axis=0)
reduce_sum(x, (0,)) | ag.sum(x, 0)
reduce_prod(x, (0,)) | ag.prod(x, 0)
reduce_xor(j, (0,)) | ag.bitwise_xor.reduce(j)
reduce_precision : `x.half().float()`
reduce_window : `ag.max_pool`, `ag.avg_pool`, `nn.functional.sum_pool`
rem(x, y) | ag.fmod(x, y)
rev(x, (0,)) | ag.flip(x, 0)
rng_bit_generator rng_uniform : `ag.random.uniform(low, high, size)`
scatter_sub : `ag.subtract.at(x, index, y)`
scatter_mul : `ag.multiply.at(x, index, y)`
scatter_max : `ag.maximum.at(x, index, y)`
scatter_min : `ag.minimum.at(x, index, y)`
scatter_apply : `ag.index_put(x, i, f(x[i]))`
select_n(b, x, y) | ag.where(b, y, x)
shift_left(j, j) | ag.bitwise_left_shift(j, j)
shift_right_arithmetic(j, j) | ag.bitwise_right_shift(j, j)
shift_right_logical(j, j) | ag.bitwise_right_shift(j, j)
slice(x, (0, 1), (2, 3)) | x[0:2, 1:3]
slice_in_dim(x, 1, 3) | x[1:3]
sort_key_val(v, v * v) | (ag.sort(v), (v * v)[ag.argsort(v)])
top_k(v, 2) | ag.topk(v, 2)
"""

#: Names by their form.
FORMS = (
    ("*_p", "`ag.Op`, `ag.op`: an operation is one object, made by its function"),
)
