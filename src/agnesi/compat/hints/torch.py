"""PyTorch's names: functions and classes of ``torch`` itself.

A line is ``call | what it is here``, or ``names : what to use``.  Operands are named by what they
are: x and y have shape (3, 4), s (3, 3), v (4,), c (2, 3, 4), d (2, 4, 3), m (3, 3), i, j whole
numbers, b bools.
"""

#: Names that modules of ours have, too, and that mean something else there, or in another order.
ORDERED = """
Variable : `ag.tensor(data, requires_grad=True)`; `ag.shared(value)` of symbolic programs
batch_norm instance_norm : `nn.functional.{0}`, where weight and bias stand behind the running
    mean and variance
embedding embedding_bag : `nn.functional.{0}(indices, weight)`, in this order
solve : `ag.linalg.solve(A, b)`, in this order
lstsq : `ag.linalg.lstsq(A, b)`, in this order
triangular_solve : `ag.linalg.solve_triangular(A, b)`, in this order
"""

TORCH = """
jnp jax : `ag` itself, which has JAX's and NumPy's names
F : `ag.nn.functional`
theano chainer einops torch7 : `import agnesi.compat.{0}`
sklearn : `import agnesi.sklearn`
layers keras models Model : `ag.nn`, whose layers are put into `ag.nn.Sequential`, or a subclass of
    `ag.nn.Module`
losses : `ag.nn.functional`, `ag.nn.MSELoss` and others
optimizers : `ag.optim`
callbacks : `ag.training`
GradientTape : `ag.grad(f)`, or `x.backward()` of a tensor that requires grad
Session placeholder : `ag.symbolic`, `ag.function`
to_tensor constant convert_to_tensor : `ag.tensor(data)`
transforms vision : `ag.image`
datasets : `ag.data.datasets`
compile : `ag.jit(model)`, whose results carry gradients, or `ag.jit` around the whole step
jit : `ag.jit` around the whole step
feature_dropout : `nn.functional.dropout(x, p)`, for other noise multiply by
    `ag.random.bernoulli(1 - p, x.shape)`
abs_ acos_ asin_ atan_ ceil_ clamp_ clip_ cos_ cosh_ erf_ exp2_ exp_ expm1_ fill_ floor_ log10_
    log1p_ log2_ log_ neg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_
    trunc_ zero_ : the method, `x.{0}_()`
acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asinh_ atanh_ deg2rad_ erfc_ fix_ gcd_ i0_
    index_put_ lcm_ ldexp_ nan_to_num_ negative_ rad2deg_ sinc_ xlogy_ : `x.copy_(y)` with the
    result y of `ag.{0}`
addmv_ as_strided_ clamp_max_ clamp_min_ conj_physical_ frac_ logit_ : `x.copy_(y)` with the
    result y of what stands for `torch.{0}`, which is told for that name
detach_ : `x.detach()`
dropout_ alpha_dropout_ feature_dropout_ feature_alpha_dropout_ : `nn.functional.dropout(x, p,
    inplace=True)`
embedding_renorm_ : `w[i] = w[i] * ag.minimum(1, 1 / ag.linalg.norm(w[i], axis=1, keepdims=True))`
detach_copy(x) | x.detach().clone()
diagonal_copy(s) | s.diagonal().clone()
expand_copy(v, (2, 4)) | ag.expand(v, (2, 4)).clone()
permute_copy(x, (1, 0)) | ag.permute(x, (1, 0)).clone()
select_copy(x, 0, 1) | x[1].clone()
slice_copy(x, 0, 0, 2) | x[0:2].clone()
squeeze_copy(x) | ag.squeeze(x).clone()
t_copy(x) | x.T.clone()
transpose_copy(c, 0, 1) | ag.swapaxes(c, 0, 1).clone()
unsqueeze_copy(x, 0) | ag.expand_dims(x, 0).clone()
view_copy(x, (4, 3)) | x.reshape(4, 3).clone()
alias_copy(x) | x.clone()
split_copy split_with_sizes_copy unbind_copy unfold_copy view_as_complex_copy view_as_real_copy
    as_strided_copy : `ag.copy` of each part
ccol_indices_copy col_indices_copy crow_indices_copy indices_copy row_indices_copy values_copy :
    `ag.sparse.csm_indices`, `ag.sparse.csm_indptr`, `ag.sparse.csm_data`
as_strided_scatter : `ag.set_subtensor(x[a:b], y)`
classproperty prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12
    USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH PRIVATE_OPS AVG SUM Tag Capsule : nothing: an
    inside of PyTorch's
AliasDb Argument ArgumentSpec Block CallStack Code CompilationUnit CompleteArgumentSpec
    ConcreteModuleTypeBuilder DeepCopyMemoTable DisableTorchFunction DisableTorchFunctionSubclass
    ExecutionPlan FileCheck FunctionSchema Gradient Graph GraphExecutorState IODescriptor
    LiteScriptModule LockingLogger LoggerBase Node NoopLogger OperatorInfo PyTorchFileReader
    PyTorchFileWriter StaticModule TracingState Use Value ScriptModule : `ag.jit(f)`, and
    `print(f.graph)` for its graph
BenchmarkConfig BenchmarkExecutionStats ThroughputBenchmark : `timeit`
builtins ctypes functools glob importlib math os platform sys textwrap threading warnings
    windows : `import {0}`, which is Python's own
torch : `ag` itself, which has PyTorch's names
constant_pad_nd(x, (1, 2), 5.0) | nn.functional.pad(x, (1, 2), value=5.0)
convolution : `ag.conv1d`, `ag.conv2d`, `ag.conv3d`, `ag.conv_transpose`
alpha_dropout binary_cross_entropy_with_logits celu_ channel_shuffle conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_embedding_loss dropout feature_alpha_dropout
    hinge_embedding_loss kl_div
    margin_ranking_loss poisson_nll_loss relu_ rrelu rrelu_ selu_ threshold_ : `nn.functional.{0}`
conv_tbc : `nn.functional.conv1d`, of (batch, channels, time)
matrix_rank eig : `ag.linalg.{0}`
lstm : `nn.LSTM`
dsmm hsmm hspmm smm saddmm sspaddmm : `ag.sparse.dot` of an `ag.sparse.csr` matrix
symeig geqrf orgqr ormqr lobpcg : `ag.linalg.eig`, `ag.linalg.lstsq`,
    `ag.linalg.solve`, `ag.linalg.eigh`, `ag.linalg.matrix_rank`, `ag.linalg.expm`,
    `ag.linalg.matrix_power`, `ag.linalg.slogdet`, `ag.linalg.qr`, `ag.linalg.lu`,
    `ag.linalg.lu_solve`, `ag.linalg.solve_triangular`, `ag.linalg.svd`: linear algebra is in
    `ag.linalg`
frobenius_norm(x, (0, 1)) | ag.linalg.norm(x)
grid_sampler grid_sampler_2d grid_sampler_3d : `nn.functional.grid_sample(x, grid)`
affine_grid_generator : `nn.functional.affine_grid(theta, size)`
gru gru_cell lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell : `nn.GRU`, `nn.GRUCell`,
    `nn.LSTM`, `nn.LSTMCell`, `nn.RNN`, `nn.RNNCell`
is_conj is_neg is_inference is_distributed is_storage is_vulkan_available : nothing: `ag.Tensor` has
    its values, in the memory of this process
norm_except_dim(x) | ag.linalg.norm(x, axis=1, keepdims=True)
nuclear_norm(s) | ag.linalg.norm(s, 'nuc')
range(1, 4) | ag.arange(1.0, 4 + 1)
convolve2d correlate2d : `ag.fftconvolve(x, k)`, of `ag.flip(k)` for the second, or
    `nn.functional.conv2d`
segment_sum segment_prod segment_max segment_min : `x.scatter_reduce(0, index, src, reduce)` of
    what the segments begin with, or `ag.index_add` for sums
segment_reduce : `ag.add.reduceat(x, starts)`
slice_inverse : `ag.set_subtensor(ag.zeros(shape)[a:b], x)`
unsafe_chunk(x, 2) | ag.chunk(x, 2)
unsafe_split(x, 2) | x.split(2)
unsafe_split_with_sizes(x, [1, 2]) | x.split([1, 2])
to_dlpack : `ag.from_dlpack` of the other library: tensors speak DLPack
typename : `type(x).__name__`
seed default_generator thread_safe_generator : `ag.random.default_generator()`;
    `ag.manual_seed(0)`
fork_rng : `ag.random.fork_rng`
get_num_interop_threads set_num_interop_threads init_num_threads : `ag.set_num_threads(2)`
get_default_device set_default_device get_device get_device_module Stream Event : nothing: there is
    one device, the CPU
set_printoptions get_printoptions : `numpy.set_printoptions`
get_autocast_dtype set_autocast_enabled set_autocast_dtype clear_autocast_cache :
    a block under `ag.autocast("cpu", dtype=ag.bfloat16)`
GradScaler : `ag.amp.GradScaler`
set_anomaly_enabled is_anomaly_enabled is_anomaly_check_nan_enabled : `ag.ensure(x,
    ag.isfinite(x).all())`
is_inference_mode_enabled : `ag.is_grad_enabled()`
use_deterministic_algorithms are_deterministic_algorithms_enabled set_deterministic_debug_mode
    get_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled : nothing: results
    are the same at every call
set_flush_denormal : nothing: denormal numbers are computed as such
set_warn_always is_warn_always_enabled : `warnings.simplefilter`
compiled_with_cxx11_abi has_lapack has_mkl has_openmp has_spectral : `ag.linalg.backend()`
fork wait Future FutureType : `concurrent.futures`
complex32 chalf : `ag.complex64`, `ag.complex128`
float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 bits8
    bits16 bits1x8 bits2x4 bits4x2 bit : `ag.float16`, `ag.bfloat16`: the smallest floats here
int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7 : `ag.int8`,
    `ag.uint8`: the smallest integers here
sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc : `ag.sparse.csr`, `ag.sparse.csc`
sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor : `ag.sparse_csr_tensor`,
    `ag.sparse_csc_tensor`, `ag.sparse_coo_tensor`
layout memory_format legacy_contiguous_format strided jagged : nothing: memory is laid out by the
    compiler, and in row-major order between calls
get_file_path import_ir_module import_ir_module_from_buffer parse_ir parse_schema parse_type_comment
    merge_type_from_type_comment unify_type_list freeze : `ag.jit`, which traces and compiles; there
    is no script
hash_tensor : `hash(x.numpy().tobytes())`
empty_strided empty_permuted : `ag.empty(shape)`
from_file : `ag.from_numpy(numpy.memmap(file))`
nonzero_static : `ag.argwhere(x, size=n)`
OutOfMemoryError : `MemoryError`
AcceleratorError FatalError JITException ErrorReport : `RuntimeError`
BufferDict : `{'name': value}`, a dict
SymInt SymFloat SymBool : `ag.Dim`
mps mtia xpu : nothing: there is one device, the CPU
_dynamo _inductor : `ag.jit`, and `ag.jit(f).explain()`
ao quantization : nothing: there are no quantized tensors; 16 bits are `ag.float16`
multiprocessing : `ag.distributed.launch` for processes that train together; others are Python's
    `multiprocessing`
export onnx package : `ag.jit(f).c_function()`, or a pickle of the function
functorch : `ag.func`
futures : `concurrent.futures`
fx : `print(f.graph)`
hub serialization storage : `ag.saving.load_file(path)`
library classes ops : `ag.Op`, `ag.op`
masked nested : `ag.where(mask, x, 0)`; lists of tensors
return_types types torch_version version cpp cpu monitor : `ag.Tensor`, `ag.__version__`
profiler : `ag.jit(f).explain()`
quasirandom : `ag.random.uniform`; scipy.stats.qmc has quasi-random numbers
_assert _assert_async : an assertion of Python's, or `ag.ensure(x, condition)` where values of
    tensors decide
_utils : `ag.nn.utils.parameters_to_vector`, `ag.nn.utils.vector_to_parameters`
signal : `ag.convolve`, `ag.correlate`, `ag.stft`; windows are `ag.hamming`,
    `ag.hanning`, `ag.blackman`, `ag.kaiser`, `ag.bartlett`
"""

#: Names by their form: what they have in common.
FORMS = (
    ("sym_*", "`ag.Dim`: sizes are numbers or symbols, and Python's operators take both"),
    ("*qparams*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("*quant*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("q_*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("q[us]*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("qint*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("per_*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("fbgemm_*", "nothing: there are no quantized tensors; `ag.matmul` multiplies"),
    ("fused_moving_avg*", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("int_repr", "nothing: there are no quantized tensors; 16 bits are `ag.float16`"),
    ("mkldnn_*", "functions of `nn.functional`: kernels are generated"),
    ("cudnn_*", "functions of `nn.functional`: kernels are generated"),
    ("miopen_*", "functions of `nn.functional`: kernels are generated"),
    ("native_*", "functions of `nn.functional`: kernels are generated"),
    ("batch_norm_*", "`nn.functional.batch_norm`"),
    ("*autocast*", "`ag.is_autocast_enabled('cpu')`, a block under `ag.autocast('cpu')`"),
    ("*Storage*", "`x.numpy()`, the array that holds the values"),
    ("*Tensor", "`ag.tensor(data, dtype)`"),
    ("*Type", "`ag.Tensor`: there is no script with types of its own; see `ag.jit`"),
    ("Script*", "`ag.jit`, which traces and compiles; there is no script"),
    ("*Dispatch*", "`ag.Op`, `ag.op`: an operation is one object"),
    ("*max_pool*", "`nn.functional.max_pool1d`, `nn.functional.max_pool2d` and so on"),
    ("*avg_pool*", "`nn.functional.avg_pool1d`, `nn.functional.adaptive_avg_pool1d` and so on"),
    ("resize_*", "`ag.resize(x, shape)`"),
    ("sparse_resize*", "`ag.sparse.coo`"),
)
