"""Keywords that users of other libraries know, and what stands for them here.

A line is ``words | functions : what to use``: which words, for which functions (forms of names, as
of files), and what is told.  The first line that fits counts.  What begins with the name of a
parameter counts only for functions that have it.
"""

KEYWORDS = """
static_argnums static_argnames static_broadcasted_argnums | jit vmap grad value_and_grad : nothing:
    what is no tensor and no float is static
donate_argnums donate_argnames donate | jit vmap : nothing: memory that nobody reads again is used
    again
keep_unused backend inline abstracted_axes fullgraph dynamic in_shardings out_shardings
    compiler_options options axis_name spmd_axis_name allow_int holomorphic reduce_axes
    is_grads_batched allow_input_downcast profile rebuild_strict unroll
    | jit vmap grad value_and_grad vjp jvp jac* hessian linearize function scan map while_loop
    fori_loop cond : nothing: the compiler sees to it
mode | jit function : `optimizer`, `include` and `exclude`
world_size num_processes nprocs processes | init launch : `size`
backend init_method store device_id pg_options group_name comm use_local_synchronization
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
from_logits | *entropy* : nothing: they are logits
unbiased ddof | * : `correction=1`, or 0
descending reverse | sort : `ag.flip(ag.sort(x), -1)`
descending reverse | argsort : `ag.flip(ag.argsort(x), -1)`
order | reshape ravel flatten : `ag.reshape(x.T, shape[::-1]).T` for order 'F'
order casting subok signature like extobj | * : nothing: results are tensors in row-major order
where | * : `ag.where(condition, x, y)` of the operand or the result
dtype | * : `x.astype(dtype)` of the operand or the result
overwrite_input assume_unique kind stable max_work check_finite overwrite_a overwrite_b | * :
    nothing: the library sees to it
ndmin | array tensor asarray : `ag.atleast_1d`, `ag.atleast_2d`
copy | array tensor : `ag.asarray(x)`, which does not copy where it need not
retstep | linspace : `(stop - start) / (num - 1)`
excluded otypes | vectorize : nothing: types follow from the function
size | * : `shape`
ary ar arr ar1 ar2 a1 a2 arys array a b x y x1 x2 m v M N A input other tensor tensor1 tensor2
    values val vals self mat vec element test_elements condlist choicelist logits labels target
    | [a-z]* : operands in their order, without names
"""
