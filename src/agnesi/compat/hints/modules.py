"""PyTorch's names of its smaller modules, by module.

A line is ``names : what to use``, as in :mod:`agnesi.compat.hints.torch`.
"""

AUTOGRAD = """
set_detect_anomaly detect_anomaly anomaly_mode : `ag.ensure(x, ag.isfinite(x).all())`
profiler profile record_function : `ag.jit(f).explain()`
graph saved_tensors_hooks save_on_cpu : `ag.checkpoint(f, x)`, which computes values again
DeviceType NestedIOFunction SavedTensor is_tensor_like
    kineto_available is_multithreading_enabled set_multithreading_enabled enforce_grad_layout_policy
    is_view_replay_enabled ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState
    : nothing: an inside of PyTorch's
"""

UTILS = """
benchmark bottleneck : `timeit`
cpp_extension : `ag.Op`, `ag.op`
hooks : `nn.Module.register_forward_hook`
model_zoo : `ag.saving.load_file(path)`
ThroughputBenchmark : `timeit`
deterministic : nothing: results are the same at every call
swap_tensors : `x.copy_(y)`
cmake_prefix_path generate_methods_for_privateuse1_backend get_cpp_backtrace
    rename_privateuse1_backend set_module collect_env mobile_optimizer : nothing: an inside of
    PyTorch's
"""

DATA = """
DistributedSampler distributed : `ag.distributed.ShardedBatches`
default_convert : `ag.data.default_collate`
IterDataPipe MapDataPipe DFIterDataPipe DataChunk datapipes functional_datapipe
    guaranteed_datapipes_determinism non_deterministic argument_validation runtime_validation
    runtime_validation_disabled : `ag.data.IterableDataset`, `ag.data.Dataset`
"""

FUNC = """
functionalize : nothing: `ag.jit` takes code that changes tensors in place
replace_all_batch_norm_modules_ : `nn.BatchNorm2d(n, track_running_stats=False)`
debug_unwrap : `ag.print`
"""

SPECIAL = """
bessel_jn : `ag.special.jv(n, x)`
airy_ai : `ag.special.airy(x)[0]`
bessel_j0 bessel_j1 bessel_y0 bessel_y1 : `ag.special.j0`, `ag.special.j1`, `ag.special.y0`,
    `ag.special.y1`
modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 : `ag.special.i0`,
    `ag.special.i1`, `ag.special.k0`, `ag.special.k1`
scaled_modified_bessel_k0 scaled_modified_bessel_k1 : `ag.special.k0e`, `ag.special.k1e`
spherical_bessel_j0 : `ag.special.spherical_jn(0, x)`
chebyshev_polynomial_t chebyshev_polynomial_u : `ag.special.eval_chebyt(n, x)`,
    `ag.special.eval_chebyu(n, x)`
chebyshev_polynomial_v chebyshev_polynomial_w : `ag.special.eval_jacobi(n, a, b, x)`
shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u : `ag.special.eval_sh_chebyt(n, x)`,
    `ag.special.eval_sh_chebyu(n, x)`
shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w : `ag.special.eval_jacobi(n, a, b, 2 *
    x - 1)`
hermite_polynomial_h hermite_polynomial_he : `ag.special.eval_hermite(n, x)`,
    `ag.special.eval_hermitenorm(n, x)`
laguerre_polynomial_l : `ag.special.eval_laguerre(n, x)`
legendre_polynomial_p : `ag.special.eval_legendre(n, x)`
legendre chebyt chebyu chebyc chebys jacobi laguerre genlaguerre hermite hermitenorm gegenbauer
    sh_legendre sh_chebyt sh_chebyu sh_jacobi : the values, `ag.special.eval_{0}`
p_roots l_roots h_roots he_roots t_roots u_roots c_roots s_roots j_roots la_roots cg_roots ps_roots
    ts_roots us_roots js_roots : `ag.special.roots_legendre(n)` and its kin
stirling2 : `ag.special.binom(n, k)`, of whose products it is a sum
riccati_jn riccati_yn : `x * ag.special.spherical_jn(n, x)`, `x * ag.special.spherical_yn(n, x)`
errstate seterr geterr SpecialFunctionWarning SpecialFunctionError : `ag.isfinite(x)`
"""

LINALG = """
matrix_exp : `ag.linalg.expm(x)`
eigen eigenvalues eigenvectors : `ag.linalg.eig(x)`, `ag.linalg.eigh(x)` of symmetric matrices
ldl_factor ldl_factor_ex ldl_solve : `ag.linalg.lu_factor(a)`, `ag.linalg.lu_solve`
householder_product : `ag.linalg.qr(x)`
eigh_tridiagonal : `ag.linalg.eigh(a)` of the whole matrix, or `ag.linalg.solve_banded` to solve
hessenberg qz ordqz rsf2csf : `ag.linalg.schur(a)`
funm : `ag.linalg.eigh(a)`, whose eigenvalues the function is taken of, or `ag.linalg.expm`,
    `ag.linalg.logm`, `ag.linalg.sqrtm`
tridiagonal_lu_factor tridiagonal_lu_solve : `ag.linalg.solve_banded`
cossin cdf2rdf : `ag.linalg.svd(x)`, `ag.linalg.eig(x)`
cholesky_banded cho_solve_banded : `ag.linalg.solveh_banded`, or `ag.linalg.cholesky(a)`
eig_banded eigvals_banded eigvalsh_tridiagonal : `ag.linalg.eigh(a)` of the whole matrix
qr_delete qr_insert qr_update : `ag.linalg.qr(x)` once more
ldl : `ag.linalg.lu_factor(a)`
expm_cond : `ag.linalg.expm_frechet(a, b)`
LinAlgWarning : `ag.linalg.LinAlgError`
bandwidth matrix_balance clarkson_woodruff_transform find_best_blas_type get_blas_funcs
    get_lapack_funcs fiedler_companion : nothing: SciPy's does it to `x.numpy()`
solve_discrete_are solve_continuous_are : `ag.linalg.schur(a)` of the Hamiltonian matrix
pivot_to_permutation : `ag.linalg.lu(a)`, which gives the permutation
matrix_dot : `ag.linalg.multi_dot([a, b, c])`
matrix_inverse MatrixInverse : `ag.linalg.inv(a)`
MatrixPinv : `ag.linalg.pinv(a)`
KroneckerProduct : `ag.kron(a, b)`
"""

FFT = """
dct dctn idct idctn : `ag.fft.rfft` of the signal and its mirror, `ag.concat([x, ag.flip(x)])`
"""

DISTRIBUTIONS = """
ExponentialFamily exp_family : `ag.distributions.Distribution`
constraint_registry : `ag.distributions.transforms`, `ag.distributions.constraints`
"""

TESTING = """
gradcheck gradgradcheck check_grad check_gradient check_gradients :
    `ag.testing.check_grads(f, x)`, or `ag.autograd.gradcheck`
make_tensor : `ag.random.uniform(low, high, shape)`
FileCheck : nothing: an inside of PyTorch's
"""

NN_UTILS = """
skip_init : nothing: initial values are drawn when a layer is made
convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format : nothing: compiled code
    chooses how memory is laid out
"""

PARALLEL = """
DistributedDataParallel : `ag.distributed.data_parallel(model, optimizer)`
data_parallel parallel_apply replicate scatter gather : `ag.distributed.data_parallel(model,
    optimizer)`
"""

METRICS = """
AUC ROCAUC RocAuc roc_auc_score : `ag.metrics.AUROC`
F1 F1_score f1_score FBeta : `ag.metrics.F1Score`
MSE mean_squared_error : `ag.metrics.MeanSquaredError`
MAE mean_absolute_error : `ag.metrics.MeanAbsoluteError`
R2 r2_score : `ag.metrics.R2Score`
accuracy_score BinaryAccuracy CategoricalAccuracy SparseCategoricalAccuracy MulticlassAccuracy :
    `ag.metrics.Accuracy`
precision_score recall_score : `ag.metrics.Precision`, `ag.metrics.Recall`
MeanMetric Average AverageMeter : `ag.metrics.Mean`
"""

DATASETS = """
transforms Compose ToTensor Normalize : `ag.image`, and `ag.data.MappedDataset(dataset, f)`
MNIST FashionMNIST CIFAR10 CIFAR100 SVHN ImageNet load_iris load_digits fetch_openml : files that
    are here, by `ag.data.ImageFolder` or `ag.data.read_csv`; nothing is downloaded
DistributedSampler : `ag.distributed.ShardedBatches`
"""

IMAGE = """
Compose : `ag.data.MappedDataset(dataset, f)`, of a function `f` that calls one after the other
ToTensor to_tensor PILToTensor pil_to_tensor : `ag.data.read_image(path)`, or `ag.tensor(array)`
ToPILImage to_pil_image save_image : `ag.data.write_image(image, path)`
Normalize normalize : `(image - mean[:, None, None]) / std[:, None, None]`
RandomCrop CenterCrop RandomResizedCrop FiveCrop : `image[..., top:bottom, left:right]`
RandomHorizontalFlip RandomVerticalFlip : `ag.flip(image, -1)`, or -2 for rows, where
    `ag.random.uniform() < 0.5`
RandomRotation RandomAffine : `ag.image.rotate`
ColorJitter Grayscale RandomGrayscale adjust_hue : `ag.image.rgb_to_hsv`, `ag.image.rgb_to_grey`
GaussianBlur : `ag.image.convolve(image, ag.image.gaussian_kernel(3))`
Pad : `ag.pad`
RandomErasing : `image[..., top:bottom, left:right] = 0`
resize Resize : `ag.image.scale`, or `ag.nn.functional.interpolate`
rotate_ : `ag.image.rotate`
gaussian_blur blur : `ag.image.convolve(image, ag.image.gaussian_kernel(3))`
rgb_to_grayscale to_grayscale : `ag.image.rgb_to_grey`
imread open read : `ag.data.read_image(path)`
imsave save write : `ag.data.write_image(image, path)`
show : `ag.image.imshow`
hflip vflip : `ag.flip(image, -1)`, or -2 for rows
crop center_crop : `image[..., top:bottom, left:right]`
pad : `ag.pad`
adjust_brightness adjust_contrast adjust_saturation adjust_gamma autocontrast equalize :
    `ag.clip(image * 1.5, 0, 1)`, arithmetic
invert solarize posterize : `1 - image`
make_grid : `ag.concatenate(images, -1)`
affine warp perspective : `ag.image.rotate`, or `ag.nn.functional.grid_sample`
RandomApply RandomChoice Lambda : `ag.data.MappedDataset(dataset, f)`, of a function of the image
"""

DISTRIBUTION = """
prob pdf pmf : `ag.exp(dist.log_prob(x))`
logpdf logpmf log_pdf log_likelihood : `dist.log_prob(x)`
rvs draw : `dist.sample((n,))`
ppf quantile inverse_cdf : `dist.icdf(q)`
std : `dist.stddev`
var : `dist.variance`
parameters params : `dist.arg_constraints`
"""

SAVING = """
save save_model save_weights : `ag.save(model.state_dict(), path)`
load load_model load_weights : `ag.load(path)`
to_onnx export_onnx onnx export save_onnx : `ag.saving.Graph`, which files of ours hold; there are
    none of ONNX
load_onnx from_onnx : nothing: files of ONNX are not read
load_state_dict state_dict : `model.load_state_dict(ag.load(path))`, `model.state_dict()`
safe_open : `ag.saving.open_file(path)`
save_safetensors : `ag.saving.save_file(tensors, path)`
load_safetensors : `ag.saving.load_file(path)`
"""

SKLEARN = """
MLPClassifier NeuralNetClassifier NeuralNetBinaryClassifier KerasClassifier :
    `Classifier(hidden_layer_sizes=(100,))`, or `Classifier(module)`
MLPRegressor NeuralNetRegressor KerasRegressor : `Regressor(hidden_layer_sizes=(100,))`, or
    `Regressor(module)`
NeuralNet : `Classifier(module)`, `Regressor(module)`
"""

TRAINING = """
LRFinder LearningRateFinder lr_find : `ag.training.find_lr(trainer, data)`
TensorBoard TensorBoardCallback SummaryWriter : `ag.training.TensorBoardLogger(folder)`
ReduceLROnPlateau LearningRateScheduler LearningRateMonitor LRScheduler : a schedule of
    `ag.optim.lr_scheduler`, as `Trainer(..., schedule=...)`
TQDMProgressBar ProgressBar ProgbarLogger ProgressBarLogger : `ag.training.Progress()`
Checkpoint BackupAndRestore : `ag.training.ModelCheckpoint(folder)`
LambdaCallback : a subclass of `ag.training.Callback`
Timer : `ag.training.TimeBudget(seconds)`
"""

TRAINER = """
find_lr lr_find lr_finder : `ag.training.find_lr(trainer, data)`
train run fit_generator fit_transform training_step : `trainer.fit(data, epochs=1)`
compile : `ag.training.Trainer(model, optimizer, loss)`, which takes them
summary : `print(trainer.model)`
train_on_batch : `trainer.fit((x, y), epochs=1)`
test validate score test_on_batch : `trainer.evaluate(data)`
predict_on_batch predict_proba : `trainer.predict(x)`
load load_checkpoint resume : `trainer.load_state_dict(state)`
save_checkpoint save_model : `trainer.save(path)`
"""

CUDA = """
seed seed_all initial_seed : `ag.manual_seed(0)`
current_device get_device_name get_device_properties get_device_capability set_device device_of
    Event Stream ExternalStream stream current_stream default_stream set_stream nvtx CUDAGraph graph
    graphs memory memory_stats memory_summary mem_get_info ipc_collect get_arch_list init
    set_per_process_memory_fraction utilization temperature power_draw comm nccl profiler
    caching_allocator_alloc caching_allocator_delete caching_allocator_enable current_device_idx
    can_device_access_peer change_current_allocator check_error clock_rate cudart cudaStatus
    current_blas_handle current_solver_handle current_device_index device_index empty_host_cache
    device_memory_used get_allocator_backend get_gencode_flags get_per_process_memory_fraction
    get_stream_from_external get_sync_debug_mode graph_pool_handle host_memory_stats
    is_current_stream_capturing is_tf32_supported list_gpu_processes make_graphed_callables
    max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached
    memory_reserved memory_snapshot memory_usage reset_accumulated_memory_stats get_memory_info
    reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats
    set_device_idx set_device_index set_sync_debug_mode use_mem_pool CUDAPluggableAllocator
    GreenContext MemPool StreamContext AcceleratorError CudaError DeferredCudaCallError empty_cache
    OutOfMemoryError : nothing: there is one device, the CPU, as `ag.cuda.is_available()` tells
"""

AMP = """
is_autocast_available amp_definitely_not_available : `ag.cuda.is_available()`
"""

COMPILER = """
config : `ag.config`
set_default_backend get_default_backend set_enable_guard_collectives wrap_numpy
    keep_portable_guards_unsafe skip_guard_on_inbuilt_nn_modules_unsafe
    skip_guard_on_all_nn_modules_unsafe keep_tensor_guards_unsafe skip_guard_on_globals_unsafe
    skip_all_guards_unsafe nested_compile_region : nothing: the compiler sees to it
save_cache_artifacts load_cache_artifacts load_compiled_function : `ag.config.cache`, the folder in
    which compiled code is kept, or a pickle of the function
compile : `ag.jit(f)`
is_exporting : nothing: `ag.jit` runs the same code, print and
    branches included, so it need not know
disable : the function outside of `ag.jit`, or `ag.config(compile=False)` around its calls
reset : `ag.jit(f)` once more, which has no versions yet
allow_in_graph substitute_in_graph assume_constant_result : `ag.jit(f)`, which takes any function
    of Python's, or `ag.Op` for code of your own
list_backends set_stance cudagraph_mark_step_begin : `ag.jit(f).explain()`; there is one backend
"""

CONSTRAINTS = """
dependent dependent_property is_dependent : `ag.distributions.constraints.real` or another one: a
    plain property gives what depends on the parameters
cat stack multinomial MixtureSameFamilyConstraint : `ag.distributions.constraints.independent`
"""

JIT = """
lower trace hlo compiler_ir as_text get_concrete_function experimental_get_compiler_ir code
    graph_for inspect_llvm inspect_asm inspect_types : `compiled.explain()`, or `compiled.ir` and
    `compiled.asm`, after a call
csource source c_source : `ag.jit(f).c_function()`
save export to_onnx onnx : `pickle.dumps(compiled)`, or `ag.save(graph, path)` of a declared graph
grad value_and_grad vmap : `ag.grad(f)`, `ag.value_and_grad(f)`, `ag.vmap(f)`
clear_cache reset : `ag.jit(f)` once more
compile warmup : a call with such arguments, which compiles
"""
