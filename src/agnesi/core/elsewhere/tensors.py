"""Names of other libraries' tensors, which the class is told about when methods are bound.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.core.elsewhere.torch`.
"""

TENSOR = """
cuda cpu ipu xpu mtia pin_memory share_memory_ get_device record_stream : nothing: there is one
    device, the CPU
is_cuda is_cpu is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_pinned is_quantized
    is_set_to is_shared is_vulkan is_xla is_xpu is_distributed is_inference is_conj is_neg :
    nothing: `x.device` is always 'cpu'
is_sparse is_sparse_csr is_coalesced coalesce dense_dim sparse_dim sparse_mask to_dense to_sparse
    to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr to_padded_tensor
    to_mkldnn ccol_indices col_indices crow_indices row_indices indices values smm sspaddmm
    sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ : `ag.sparse.csr`, whose matrices are
    a type of their own
int_repr dequantize q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
    q_zero_point qscheme : nothing: there are no quantized tensors
grad_fn : `x.node`, or print it
grad_dtype output_nr module_load as_subclass reinforce retains_grad volatile hash_tensor :
    `x.grad`, `x.requires_grad`, `x.is_leaf`
dim ndimension : `x.ndim`
H mH adjoint : `x.conj().mT`
at : `x[i] = v`
set_value set_ : `x[...] = value`, or `ag.shared`
get_value : `x.numpy()`
masked_select : `x[mask]`
register_hook register_post_accumulate_grad_hook : `ag.custom_vjp` around the value
retain_grad_ : `x.retain_grad()`
block_until_ready : nothing: results are there when a call returns
flat : `x.ravel()`
flags : `x.is_contiguous()`
strides stride storage_offset dim_order data_ptr const_data_ptr ctypes base : `x.numpy().strides`
    and others of the array
storage storage_type untyped_storage layout : `x.numpy()`, the array that holds the values
detach_ : `x.detach()`
random_ : `ag.random.integers`
normal_ log_normal_ : `nn.init.normal_(x)`
uniform_ : `nn.init.uniform_(x)`
cauchy_ exponential_ geometric_ bernoulli_ : `x.copy_(y)` with draws y of `ag.random`
bernoulli multinomial : `ag.random.bernoulli(x)`, `ag.random.categorical`
new new_empty_strided : `x.new_empty(shape)`
hex tobytes tofile dump dumps : `x.numpy().tobytes()`
type : `x.astype(dtype)`, or `x.dtype`
chalf : `x.astype(ag.complex64)`
byteswap getfield setfield setflags : `x.numpy()`, whose methods these are
fill : `x.fill_(value)`
view_as : `x.reshape_as(y)`
resize_as resize_as_ resize_ resize : `ag.resize(x, shape)`
sum_to_size : `x.sum(axes, keepdims=True)`
svd qr eig symeig lstsq lu lu_solve solve triangular_solve cholesky_inverse cholesky_solve geqrf
    orgqr ormqr logdet : `ag.linalg.svd`, `ag.linalg.qr`, `ag.linalg.eig`, `ag.linalg.solve`:
    linear algebra is in `ag.linalg`
logit : `ag.special.logit(x)`
mvlgamma : `ag.special.multigammaln(x, p)`
igamma igammac : `ag.special.gammainc(x, y)`, `ag.special.gammaincc(x, y)`
baddbmm addbmm addmv addr : `x + a @ b`, `x + ag.outer(a, b)`
corrcoef cov dsplit histogram hsplit i0 isneginf isposinf isreal polygamma put vdot vsplit
    argpartition choose compress partition searchsorted : the function, `ag.{0}`
aminmax as_strided clamp_max clamp_min conj_physical diag_embed diagonal_scatter frac hardshrink
    histc index_copy index_fill index_reduce is_nonzero is_same_size is_signed istft logcumsumexp
    masked_scatter movedim msort narrow_copy nonzero_static prelu renorm repeat_interleave
    resolve_conj resolve_neg scatter_reduce select_scatter sgn slice_inverse slice_scatter
    split_with_sizes stft swapdims take_along_dim tensor_split unflatten unique_consecutive
    unsafe_chunk unsafe_split unsafe_split_with_sizes : as the function
as_strided_scatter index : `x[...]`
absolute_ acosh_ addmm_ arccos_ arccosh_ arcsin_ arcsinh_ arctan2_ arctan_ arctanh_ asinh_ atan2_
    atanh_ bitwise_left_shift_ bitwise_not_ bitwise_right_shift_ copysign_ cumprod_ cumsum_
    deg2rad_ digamma_ eq_ erfc_ erfinv_ fix_ float_power_ fmod_ gcd_ ge_ greater_ greater_equal_
    gt_ heaviside_ hypot_ index_add_ index_put_ lcm_ ldexp_ le_ lerp_ less_ less_equal_ lgamma_
    logical_and_ logical_not_ logical_or_ logical_xor_ lt_ nan_to_num_ ne_ negative_ nextafter_
    not_equal_ rad2deg_ sinc_ true_divide_ xlogy_ : `x.copy_(y)` with the result y of `x.{0}`
squeeze_ swapaxes_ t_ transpose_ unsqueeze_ swapdims_ : `x = x.squeeze()` and the like: names may
    be given again, shapes do not change in place
fill_diagonal_ i0_ polygamma_ put_ : `x.copy_(y)` with the result y of `ag.{0}`, or
    `ag.fill_diagonal(x, value)`, `ag.put(x, i, v)`
map_ map2_ apply_ : `ag.vectorize(f)`
addbmm_ addmv_ addr_ as_strided_ baddbmm_ clamp_max_ clamp_min_ conj_physical_ frac_ igamma_
    igammac_ index_copy_ index_fill_ index_reduce_ logit_ masked_scatter_ mvlgamma_ renorm_
    scatter_reduce_ sgn_ : `x.copy_(y)`, or `x[i] = y`, with what stands for the function
"""
