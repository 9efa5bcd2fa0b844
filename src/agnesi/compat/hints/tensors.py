"""Names of other libraries' tensors, which the class gets when methods are bound.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.compat.hints.torch`.
"""

TENSOR = """
save : `ag.save(x, path)`, which `ag.load(path)` gives back
ipu xpu mtia pin_memory record_stream : nothing: there is one device, the CPU
is_ipu is_maia is_mtia is_pinned is_set_to is_vulkan is_distributed is_inference is_conj
    is_neg : nothing: `x.device` is always 'cpu'
is_coalesced coalesce dense_dim sparse_dim sparse_mask to_sparse_bsc to_sparse_bsr
    to_padded_tensor to_mkldnn ccol_indices
    col_indices crow_indices row_indices smm sspaddmm sparse_resize_
    sparse_resize_and_clear_ resize_as_sparse_ : `ag.sparse_coo_tensor` and `ag.sparse.csr`, whose
    tensors are types of their own
indices values : `x.max(dim=1)`, which gives both as PyTorch does where the axis has that name; of
    a sparse tensor `ag.sparse_coo_tensor`
int_repr dequantize q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
    q_zero_point qscheme : nothing: there are no quantized tensors
grad_dtype output_nr module_load as_subclass reinforce volatile hash_tensor : `x.grad`,
    `x.requires_grad`, `x.is_leaf`
at : `x[i] = v`, or `ag.set_subtensor(x[i], v)` and `ag.inc_subtensor(x[i], v)`, which leave `x`
    as it is
to_numpy asnumpy : `x.numpy()`
iloc loc iat : `x[i]`, whose axes have numbers and no names
apply map applymap : a function of `x` itself, or `ag.vmap(f)(x)` for one of its rows
append extend : `ag.concat([x, y])`
assign assign_add assign_sub : `x[...] = value`, `x += value`
set_value set_ : `x[...] = value`, or `ag.shared`
get_value : `x.numpy()`
retain_grad_ : `x.retain_grad()`
block_until_ready : nothing: results are there when a call returns
flat : `x.ravel()`
flags : `x.is_contiguous()`
strides storage_offset dim_order data_ptr const_data_ptr ctypes base : `x.numpy().strides` and
    others of the array
storage storage_type untyped_storage layout : `x.numpy()`, the array that holds the values
new new_empty_strided : `x.new_empty(shape)`
hex tobytes tofile dump dumps : `x.numpy().tobytes()`
chalf : `x.astype(ag.complex64)`
float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 complex64 complex128 :
    `x.astype(ag.{0})`
byteswap getfield setfield setflags : `x.numpy()`, whose methods these are
fill : `x.fill_(value)`
resize_as resize : `ag.resize(x, shape)`
eig symeig : `ag.linalg.eig(x)`, `ag.linalg.eigh(x)`
lstsq solve : `ag.linalg.{0}(A, x)`, in this order
triangular_solve : `ag.linalg.solve_triangular(A, x)`, in this order
cholesky_inverse cholesky_solve lu_solve : `ag.{0}`, the function
geqrf orgqr ormqr : `ag.linalg.qr(x)`
histogram put argpartition choose compress partition searchsorted : the function, `ag.{0}`
nonzero_static slice_inverse
    unsafe_chunk unsafe_split unsafe_split_with_sizes : as the function
as_strided_scatter index : `x[...]`
polygamma_ : `x.copy_(y)` with the result y of `ag.{0}`, or `ag.fill_diagonal(x, value)`, `ag.put(x,
    i, v)`
map_ map2_ apply_ : `ag.vectorize(f)`
as_strided_ : `x.copy_(y)`, or `x[i] = y`, with what stands for the
    function
"""
