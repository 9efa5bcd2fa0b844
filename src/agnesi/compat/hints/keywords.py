"""Keywords that users of other libraries know, and what stands for them here.

A line is ``words | functions : what to use``: which words, for which functions (forms of names, as
of files), and the text.  The first line that fits counts.  What begins with the name of a
parameter counts only for functions that have it.
"""

KEYWORDS = """
rho decay decay_rate smoothing_constant | RMSprop : `alpha`
decay_steps | CosineAnnealingLR : `T_max`
decay_rate rate | ExponentialLR StepLR MultiStepLR : `gamma`
decay_steps transition_steps | StepLR : `step_size`
gradient_clip_val clipnorm global_clipnorm max_grad_norm grad_clip | Trainer : `clip_norm`
clipnorm clipvalue global_clipnorm gradient_clip_norm max_grad_norm grad_clip | [A-Z]* :
    `nn.utils.clip_grad_norm_(parameters, 1.0)` before `optimizer.step()`
use_ema ema_momentum ema_overwrite_frequency | [A-Z]* : `optim.swa_utils.AveragedModel`
model net module network | SGD ASGD Ada* Adam* *Adam RMSprop Rprop LBFGS Lamb Lion Muon :
    `model.parameters()`, first and without a name
mask wd_mask | AdamW Lamb Lion : groups of parameters with options of their own,
    `[{'params': biases, 'weight_decay': 0.0}]`
max_epochs num_epochs n_epochs | Trainer : `trainer.fit(data, epochs)`
accumulate_grad_batches gradient_accumulation_steps | Trainer : `accumulate`
accelerator strategy num_nodes gpus tpu_cores | Trainer : nothing: there is one device, the CPU;
    processes are those of `agnesi launch`
logger log_every_n_steps enable_progress_bar progress_bar | Trainer : `callbacks`
validation_data val_data validation_dataloaders val_dataloaders eval_set valid | fit : `validation`
validation_split | fit : `ag.data.random_split(dataset, [0.9, 0.1])`
ckpt_path resume_from_checkpoint initial_epoch | fit : `resume`
callbacks verbose | fit : the `callbacks` of `ag.training.Trainer`
x y X data inputs features labels targets tensors arrays | TensorDataset : the arrays one by one,
    without names, `ag.data.TensorDataset(x, y)`
y labels targets | fit : a dataset of pairs, `ag.data.TensorDataset(x, y)`
shuffle | fit : `ag.data.DataLoader(dataset, batch_size, shuffle=True)`
input_signature reduce_retracing jit_compile nopython nogil parallel fastmath example_inputs
    check_trace autograph boundscheck capture_by_value | jit : nothing: the compiler sees to it
cache | jit : `ag.config.cache`
only_inputs | grad : nothing: gradients of what is asked for are computed
maximum_iterations max_steps max_iters | while_loop : `ag.scan` with `length` and `until`
carry initial initial_state | scan : `init`
kernel_initializer bias_initializer kernel_init bias_init weight_init w_init b_init weights_init
    initializer init_method weight_attr bias_attr param_attr embeddings_initializer
    recurrent_initializer | [A-Z]* : functions of `nn.init` on `layer.weight` and `layer.bias`
kernel_regularizer bias_regularizer activity_regularizer regularizer recurrent_regularizer
    | [A-Z]* : the optimizer's `weight_decay`, or a term of the loss
kernel_constraint bias_constraint | [A-Z]* : `nn.utils.parametrize`
input_shape batch_input_shape batch_shape | * : `in_features`
input_shape batch_input_shape batch_shape | Conv* : `in_channels`
data_format channels_last | * : `ag.moveaxis(x, -1, 1)` before: channels are axis 1
axis | BatchNorm* InstanceNorm* GroupNorm : nothing: channels are axis 1
axis normalized_axes reduction_axes | LayerNorm RMSNorm : `normalized_shape`, the sizes of the last
    axes
center scale use_scale create_scale create_offset elementwise | *Norm* : `affine`, for both
center scale use_scale create_scale create_offset | *Norm* : `elementwise_affine`, for both
decay decay_rate | *Norm* : `momentum`, which is 1 - decay
use_running_average training train is_training deterministic inference | [A-Z]* forward :
    `model.train()` and `model.eval()`
input_length | Embedding : nothing: the ids tell
mask_zero | Embedding : `padding_idx`
return_sequences return_state return_hidden | * : nothing: `output, state = layer(x)` has both
recurrent_dropout dropout_rate | * : `dropout`
go_backwards | [A-Z]* : `bidirectional`, or `ag.flip(x, 0)` before
stateful | [A-Z]* : nothing: the state that a call returns is given to the next one
key_dim qkv_features head_dim size_per_head | MultiheadAttention : `embed_dim`, that of all heads
use_causal_mask causal | * : `is_causal`
dim_ff intermediate_dim d_ff ff_dim ffn_dim mlp_dim dim_feed_forward | * : `dim_feedforward`
from_logits | BCELoss : `nn.BCEWithLogitsLoss`
sparse categorical | *Entropy* : nothing: labels and probabilities are both taken
negative_slope slope | ELU CELU : `alpha`
axis | [A-Z]* : `dim`
depth n_classes num_labels | one_hot : `num_classes`
reduction_indices reduction_axes | * : `axis`
output_type | arg* : `x.astype(dtype)` of the result
transpose_a transpose_b adjoint_a adjoint_b | matmul dot bmm mm : `x.mT` of the operand
precision preferred_element_type | * : nothing: products are computed in the operands' dtype
clip_value_min a_min amin min_value minimum lower | clip clamp : `min`
clip_value_max a_max amax max_value maximum upper | clip clamp : `max`
minval min lo | uniform randint : `low`
maxval max hi | uniform randint : `high`
mu mean | normal Normal LogNormal Laplace Cauchy Gumbel StudentT MultivariateNormal : `loc`
std sigma stddev sd | normal Normal LogNormal Laplace Cauchy Gumbel : `scale`
lam lambda_ mu | Poisson Exponential : `rate`
prob p theta | Bernoulli Binomial Geometric Categorical : `probs`
value constant_value fill_value | pad : `constant_values`
bs | * : `batch_size`
pickle_module pickle_protocol _use_new_zipfile_serialization | save : nothing: files hold tensors
    and plain values, no pickles
mmap | load : `ag.saving.open_file(path)`
assign | load_state_dict : nothing: values are copied into the parameters
keep_vars | state_dict : `dict(model.named_parameters())`
remove_duplicate | named_* : nothing: each is told once
norm | clip_grad_norm_ : `norm_type`
some | svd qr : `full_matrices`, its opposite
seed key rng rngs rng_key random_state | * : `generator`, as of `ag.random.default_rng(0)`
seed key rng rngs rng_key random_state | [A-Z]* sample rsample : `ag.manual_seed(0)` before
name scope | Linear Conv* LSTM GRU RNN Embedding Dropout *Norm* *Pool* : nothing: modules are
    named by the attributes that hold them
static_argnums static_argnames static_broadcasted_argnums | jit vmap grad value_and_grad : nothing:
    what is no tensor and no float is static
donate_argnums donate_argnames donate | jit vmap : nothing: memory that nobody reads again is used
    again
holomorphic | grad value_and_grad jac* : `ag.grad(lambda z: f(z).real)(z).conj()`, as gradients are
    the conjugates of JAX's
keep_unused backend inline abstracted_axes fullgraph dynamic in_shardings out_shardings
    compiler_options options axis_name spmd_axis_name allow_int reduce_axes
    is_grads_batched allow_input_downcast profile rebuild_strict unroll
    | jit vmap grad value_and_grad vjp jvp jac* hessian linearize function scan map while_loop
    fori_loop cond : nothing: the compiler sees to it
mode | jit function : `optimizer`, `include` and `exclude`
world_size num_processes nprocs processes | init launch : `size`
backend | init new_group all_reduce all_gather reduce_scatter broadcast all_to_all send recv barrier
    Workers launch : nothing: who launched the processes says whether they share memory or use MPI;
    there are no GPU tensors, which NCCL would need
init_method store device_id pg_options group_name comm use_local_synchronization
    | init new_group : nothing: who launched the processes says what they are
async_op sync_op tag | all_reduce all_gather reduce_scatter broadcast all_to_all send recv barrier :
    nothing: collectives are done when they return; compiled steps overlap them
average | all_reduce : `op='mean'`
dst dest | send : `to`
src | recv : `source`
root_rank | broadcast : `root`
bucket_cap_mb | data_parallel : `bucket_bytes`
device_ids output_device broadcast_buffers find_unused_parameters gradient_as_bucket_view
    static_graph check_reduction process_group init_sync | data_parallel : nothing: it sees to it
mesh_dim_names axis_names | Mesh : `names`
num_replicas seed | ShardedBatches : nothing: it knows all processes
tau communication_period | Central RayCentral : `every`
beta moving_rate elasticity | EASGD : `alpha`
lower | cholesky : `upper`, which is False by default
allow_unused | grad : `disconnected='none'`
allow_unused disconnected_inputs return_disconnected materialize_grads | grad : `disconnected`
inputs | grad : `wrt`
outputs | grad : `cost`
known_grads | grad : `grad_outputs`
gradient backward_fn | op : `vjp`
key rng | normal uniform randint randn rand choice permutation bernoulli categorical exponential
    gamma poisson beta gumbel laplace dirichlet truncated_normal : `generator`, which is state
src dst | broadcast reduce : `root`
out_dims | * : `out_axes`
chunk_size batch_size | vmap map : `ag.map` of batches
fn sequences outputs_info n_steps go_backwards | scan : `ag.symbolic.scan`, which has Theano's words
cond_fun body_fun init_val true_fun false_fun fun fn func f condition body init pred operand
    operands true_fn false_fn cond_fn body_fn carried_inputs xs
    | scan map while_loop fori_loop cond : operands in their order, without names
jit | scan map while_loop fori_loop cond : `ag.jit` around it
in_dim in_size n_in input_dim num_inputs in_feats nin | * : `in_features`
out_dim out_size n_out output_dim units features num_outputs num_output num_hidden nout | * :
    `out_features`
in_dim input_dim in_features | Conv* : `in_channels`
filters num_filters n_filters features out_features num_filter | * : `out_channels`
ksize filter_size filter_shape kernel kernel_shape kernel_dim pool_size pool_shape ws ds | * :
    `kernel_size`
kernel_size filter_size kernel kernel_shape pool_size | * : `ksize`
in_features in_dim input_size nin n_in num_inputs | * : `in_size`
out_features out_dim units output_size nout n_out | * : `out_size`
p rate prob dropout_rate | dropout : `ratio`
padding paddings border_mode | * : `pad`
strides subsample st | * : `stride`
pad paddings border_mode | * : `padding`
dilation_rate kernel_dilation dilate rhs_dilation filter_dilation | * : `dilation`
feature_group_count num_group num_groups | * : `groups`
use_bias nobias with_bias has_bias | * : `bias`, which is True or False
rate dropout_rate ratio prob keep_prob | Dropout* dropout* : `p`, the share that is left out
epsilon | * : `eps`
input_dim vocab_size num_words | Embedding* : `num_embeddings`
output_dim embed_dim d_model | Embedding* : `embedding_dim`
alpha slope leak | LeakyReLU leaky_relu : `negative_slope`
units hidden_dim num_units n_hid hidden | * : `hidden_size`
input_dim in_features | * : `input_size`
d_model dim model_dim | * : `embed_dim`
heads n_heads nhead num_head | * : `num_heads`
learning_rate lr eta stepsize step_size | Adam : `alpha`
learning_rate eta stepsize step_size | * : `lr`
b1 b2 beta1 beta2 beta_1 beta_2 | Adam* : `betas`, two numbers
rho alpha decay_rate | * : `betas`, two numbers
decay l2 wd weight_decay_rate | * : `weight_decay`
params | * : `parameters`, first and without a name
amsgrad dampening | * : a subclass of `optim.Optimizer`
maximize | SGD Adam* : the cost's negative
verbose | *LR : nothing: `scheduler.optimizer.lr` is the rate
inplace | * : `x.copy_(y)` with the result y
device | * : nothing: there is one device, the CPU
proj_size | RNN* GRU* : a layer `ag.nn.Linear` behind it
activation | * : a layer behind it, such as `ag.nn.ReLU()`
padding_mode | *ool* : `ag.pad(x, widths, mode)` before a convolution without padding
ignore_border | *ool* : `cover_all`, which is its opposite
size_average reduce | * : `reduction`
from_logits | *entropy* *Entropy* *WithLogits* : nothing: they are logits
unbiased ddof | * : `correction=1`, or 0
descending reverse | sort : `ag.flip(ag.sort(x), -1)`
descending reverse | argsort : `ag.flip(ag.argsort(x), -1)`
order | reshape ravel flatten : `ag.reshape(x.T, shape[::-1]).T` for order 'F'
order kind | sort argsort : `descending=True` for the largest first
order casting subok signature like extobj | * : nothing: results are tensors in row-major order
where | * : `ag.where(condition, x, y)` of the operand or the result
dtype | * : `x.astype(dtype)` of the operand or the result
overwrite_input assume_unique kind stable max_work check_finite overwrite_a overwrite_b | * :
    nothing: the library sees to it
ndmin | array tensor asarray : `ag.atleast_1d`, `ag.atleast_2d`
copy | array tensor : `ag.asarray(x)`, which does not copy where it need not
retstep | linspace : `(stop - start) / (num - 1)`
excluded otypes | vectorize : nothing: types follow from the function
size fill_value | unique* compress extract mask_indices flatnonzero : `ag.argwhere(x, size=n)`, or
    nothing: sizes may follow from values, compiled too
fill_value mode indices_are_sorted unique_indices wrap_negative_indices | take take_along_axis
    put_along_axis gather scatter* delete : nothing: an index out of range raises
size | * : `shape`
workers | *DataLoader *loader : `num_workers`
out_sharding sharding accuracy lapack_driver lwork driver disp workers method assume_a
    symmetrize_input cudnn_enabled cudnn_enable indices_are_sorted unique_indices _dot_general
    numpy_resid allow_downcast strict tolerate_inplace_aliasing add_names
    null_gradients return_updates | * : nothing: the library sees to it
shape | *_like : `ag.zeros(shape, dtype=x.dtype)`, and likewise `ag.ones`, `ag.full`, `ag.empty`
mean | *std *var : nothing: the mean is computed
corrected | std var : `correction=1`
has_aux | hessian jacobian linearize : a function that returns only what is differentiated
exact extend | factorial* *pascal *hilbert : nothing: results are of the dtype that fits
out_dtype acc_dtype promote_integers index_dtype | * : `x.astype(dtype)` of the operand or the
    result
dimension_numbers | * : `ag.einsum`, which names axes by letters
lower | eigh eigvalsh : `UPLO`
allow_pickle encoding fix_imports mmap_mode max_header_size pickle_module | load save : nothing:
    files hold tensors and plain values, no pickles
obj | save : `what`, first and without a name
align_to_window | stft : nothing: frames begin where the padded signal does
options | linear_cross_entropy LinearCrossEntropyLoss : nothing: `ag.jit` decides how it is computed
grad_variables | backward : `grad_tensors`
unsafe | ParametrizationList : nothing: the first call checks the shapes
copy | meshgrid nan_to_num : nothing: results are new tensors
sparse | meshgrid : `ag.ix_`, or `x[:, None]` and `y`, which broadcast
reverse | cum* : `ag.flip(ag.cumsum(ag.flip(x, 0), 0), 0)`, and likewise others
left right homogeneous_eigvals | eig eigvals : `ag.linalg.eig(x.mT)` for vectors on the left
subset_by_index subset_by_value eigvals_only | * : a slice of the results, or `ag.linalg.eigvalsh`
return_rank | pinv* : `ag.linalg.matrix_rank(x)`
cov full rcond | polyfit : `ag.linalg.lstsq(ag.vander(x, n), y)`
unpack_data unpack_pivots | lu_unpack : nothing: all three factors are given
_weight | Embedding* : `nn.Embedding.from_pretrained(weight)`
process_group | SyncBatchNorm : nothing: it knows all processes
axis | glu : `dim`
axis | one_hot : `ag.moveaxis` of the result
name return_list | [a-z]* : nothing: results have no names
mu nt n alpha beta p1 q1 | *_zeros roots_* : operands in their order, without names
operand operands fun elems z arry matrices lhs rhs pred on_true on_false updates start_indices
    scatter_indices slice_sizes sizes permutation new_sizes padding_config padding_value dimensions
    E seq_of_zeros ind filt prototype equation int_type indices iter file f filename | [a-z]* :
    operands in their order, without names
sorted_sequence | searchsorted : the sorted vector and then the values, without names
lower transposed | solve : `ag.linalg.solve_triangular(a, b, lower=True)`, or
    `ag.linalg.solve(a.T, b)`
lower | inv pinvh : nothing: both triangles are read
pivoting | qr qr_multiply : `scipy.linalg.qr`, of arrays: `x.numpy()`
conjugate | qr_multiply : `ag.linalg.qr(a)`, and the product with its adjoint
sort | schur : `scipy.linalg.schur`, of arrays: `x.numpy()`
type | eigh eigvalsh : `ag.linalg.eigh(ag.linalg.solve(b, a))` and the like
singular tol caxis baxis outaxis | solve_circulant : nothing: vectors of coefficients alone
blocksize | sqrtm : nothing: the library sees to it
tol | lambertw : nothing: it is exact to the last digits
complex | y0_zeros y1_zeros y1p_zeros : nothing: the zeros are real
axes axis keepdims | matmul matvec vecmat vecdot : `ag.einsum`, or `ag.moveaxis` before
ndmax | array : nothing: all nested lists are axes
doc cache | vectorize : nothing: the function is called once for each element
equal_nan | unique : nothing: NaN are one value, as by default
mode | bernoulli categorical choice gumbel : nothing: the library sees to it
assume_unique_indices trim_leading_zeros strip_zeros unroll total_repeat_length sum_match
    check_valid | [a-z]* : nothing: the library sees to it
independent | permutation : `ag.random.permuted(x, axis=1)`
size fill_value | where : `ag.argwhere(x, size=5)`
replace | categorical : `ag.random.choice(n, 3, replace=False)`
lower | truncated_normal : `low`
upper | truncated_normal : `high`
num_keys | sort : `ag.lexsort(keys)`
is_stable | sort : `stable`
rounding_method mode | round : nothing: halves go to the even number
plan xp | *fft* : nothing: the library sees to it
turbo debug max_squarings upper_triangular max_iterations eps tol series_order
    | eigh expm polar solve* log_ndtr : nothing: the library sees to it
nperseg nfft | stft istft : `n_fft`
noverlap | stft istft : `hop_length`, which is the window's length without what overlaps
return_onesided input_onesided | stft istft : `onesided`
padded boundary | stft istft : `center`
scaling | stft istft : `normalized`
fs | stft istft : nothing: frequencies count for each sample
return_matrix | nonzero : `ag.argwhere(x)`
set_instead_of_inc | inc_subtensor : `ag.set_subtensor(x[i], value)`
cost wrt consider_constant disconnected_inputs | hessian : `ag.symbolic.hessian(cost, wrt)`
expression wrt consider_constant disconnected_inputs vectorize | jacobian :
    `ag.symbolic.jacobian(expression, wrt)`
splits_size n_splits | split : `ag.split(x, size, dim=0)`
no_zeros_in_input assert_nonneg | prod bincount : nothing: the library sees to it
stddev | normal* : `std`
in_axis out_axis batch_axis column_axis | kaiming* xavier* orthogonal* : nothing: axis 0 has the
    outputs, axis 1 the inputs
scale | orthogonal* : `gain`
logit_paddings | ctc_loss : `input_lengths`
label_paddings | ctc_loss : `target_lengths`
norm_degree | triplet_margin_loss : `p`
axis | * : `dim`
keepdims | * : `keepdim`
p | multinomial : `pvals`
lmbda n c p q h t | boxcox* expn hyp2f1 kl_div ndtri owens_t rel_entr :
    operands in their order, without names
elems tree in1 in2 l r cond ift iff model predictions dividend divisor tensor_list
    | [a-z]* : operands in their order, without names
fun func fn function | * : `f`
ary ar arr ar1 ar2 a1 a2 arys array a b x y x1 x2 m v M N A input other tensor tensor1 tensor2
    values val vals self mat vec element test_elements condlist choicelist logits labels target
    | [a-z]* : operands in their order, without names
"""
