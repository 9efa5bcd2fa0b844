"""Names of programs of several processes: of torch.distributed, Horovod, DeepSpeed, MXNet, mpi4py,
Ray and ChainerMN.

A line is ``names : what to use``, as in :mod:`agnesi.compat.hints.torch`.
"""

DISTRIBUTED = """
init_process_group init_distributed initialize Init init_collective_group create_collective_group
    create_communicator rendezvous : `ag.distributed.init()`, in processes that
    `ag.distributed.launch` starts
destroy_process_group Finalize abort : `ag.distributed.shutdown()`
Abort : `raise SystemExit(1)`: `ag.distributed.launch` ends the others
Get_rank get_group_rank get_node_local_rank : `ag.distributed.rank()`
size local_size Get_size get_collective_group_size num_workers get_pg_count :
    `ag.distributed.world_size()`
local_rank get_local_rank intra_rank cross_rank cross_size : `ag.distributed.rank()`
get_global_rank get_process_group_ranks : `ag.distributed.new_group(ranks)`, which was given them
allreduce Allreduce allreduce_ grouped_allreduce allreduce_async allreduce_multigpu Iallreduce
    all_reduce_coalesced reduce Reduce metric_average Adasum grouped_allreduce_ allreduce_grad :
    `ag.distributed.all_reduce`
allgather Allgather Allgatherv grouped_allgather all_gather_into_tensor all_gather_coalesced
    all_gather_single gather Gather Gatherv allgather_async : `ag.distributed.all_gather`
alltoall Alltoall Alltoallv all_to_all_single alltoall_async : `ag.distributed.all_to_all`
reducescatter Reduce_scatter reduce_scatter_tensor reduce_scatter_single grouped_reducescatter
    Reduce_scatter_block : `ag.distributed.reduce_scatter`
bcast Bcast broadcast_ Ibcast broadcast_async bcast_data : `ag.distributed.broadcast`
scatter Scatter Scatterv : `ag.distributed.broadcast`, of which each takes its part
Barrier monitored_barrier join : `ag.distributed.barrier`
Scan Exscan : `ag.cumsum(ag.distributed.all_gather(x, axis=None), axis=0)`
all_gather_object broadcast_object_list gather_object scatter_object_list send_object_list
    recv_object_list allgather_object broadcast_object scatter_dataset : `ag.distributed.all_gather`
    of tensors; `ag.distributed.Workers.run` takes and gives what can be pickled
isend irecv batch_isend_irecv P2POp Send Recv Isend Irecv Sendrecv sendrecv Probe Iprobe :
    `ag.distributed.send`, `ag.distributed.recv`
Request Work poll synchronize : nothing: compiled steps of `ag.distributed.data_parallel` overlap
    what they reduce
ReduceOp reduce_op SUM MAX MIN PROD Sum Average Min Max Product :
    a text, as `ag.distributed.all_reduce(x, "max")`
DistributedOptimizer broadcast_parameters broadcast_optimizer_state broadcast_variables
    create_multi_node_optimizer prepare_model DataParallelTrainer TorchTrainer DistributedTrainer
    GradBucket BuiltinCommHookType Reducer : `ag.distributed.data_parallel(model, optimizer)`
DistributedDataParallel DDP : `ag.distributed.data_parallel`
FullyShardedDataParallel fully_shard FSDP zero DeepSpeedEngine ZeroRedundancyOptimizer
    MixedPrecision ShardingStrategy StateDictType CPUOffload BackwardPrefetch
    size_based_auto_wrap_policy : `ag.distributed.Zero`
save_checkpoint load_checkpoint checkpoint checkpointing : `ag.distributed.save_sharded`,
    `ag.distributed.load_sharded`
Compression : `ag.distributed.data_parallel(model, optimizer, compress=True)`
SyncBatchNorm : `ag.distributed.data_parallel(model, optimizer, share_batch_norm=True)`
PipelineModule pipe pipelining : `ag.distributed.Pipeline`
DistributedSampler create_multi_node_iterator : `ag.distributed.ShardedBatches`
create_multi_node_evaluator : `ag.distributed.all_reduce(x, "mean")`
init_device_mesh DeviceMesh device_mesh : `ag.distributed.Mesh`
tensor DTensor distribute_tensor : `ag.distributed.shard(x, axes, mesh)`
Split Create_group Dup Comm ProcessGroup ProcessSet add_process_set new_subgroups split_group
    new_subgroups_by_enumeration shrink_group Intercomm group : `ag.distributed.new_group(ranks)`
GroupMember COMM_NULL : `ag.distributed.new_group(ranks)`, which is false outside of the group
COMM_WORLD COMM_SELF global_process_set default_pg : nothing: `group=None` is all processes,
    `ag.distributed.new_group` some of them
create kvstore kv KVStoreDist dist_sync dist_device_sync : `ag.distributed.KVStore()`
dist_async : `ag.distributed.Central`
set_optimizer : `ag.distributed.KVStore(update)`
nccl is_nccl_available nccl_built ProcessGroupNCCL NCCLGroup NcclCommunicator NCCLBackend
    PyNcclCommunicator NCCL cuda_ipc IPCHandle IpcHandle CudaIPCHandle cudaIpcGetMemHandle
    ipc_handle cuda is_xccl_available cuda_built :
    nothing: there are no GPU tensors, so neither NCCL nor CUDA IPC has anything to do; processes
    share memory, or use MPI
gloo ucc ProcessGroupGloo ProcessGroupMPI is_gloo_available is_mpi_available get_backend
    is_ucc_available is_backend_available is_torchelastic_launched mpi_built gloo_built
    mpi_enabled mpi_threads_supported get_backend_config get_default_backend_for_device :
    nothing: who launched the processes says whether they share memory or
    use MPI
Is_initialized : `ag.distributed.is_initialized()`
spawn run elastic start_processes : `ag.distributed.launch`
remote ActorPool ScalingConfig : `ag.distributed.RayWorkers`
get_context : `ag.distributed.rank()`, `ag.distributed.world_size()`
get put wait Win : `ag.distributed.SharedHandle(x)`
Store TCPStore FileStore HashStore PrefixStore rpc : `ag.distributed.Central.notes`, a dict that all
    share
DistBackendError DistError DistNetworkError DistStoreError QueueEmptyError :
    `ag.distributed.CollectiveError`
default_pg_timeout : `ag.distributed.init(timeout=300)`
autograd : nothing: collectives have derivatives
Wtime : `timeit`
Backend BackendConfig AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions
    BroadcastOptions DebugLevel GatherOptions GroupName Logger ProcessGroupGloo ProcessGroupNCCL
    RankType ReduceOptions ReduceScatterOptions ScatterOptions algorithms breakpoint c10d_logger
    config constants distributed_c10d get_debug_level log logging logging_handlers record_comm
    register_rendezvous_handler remote_device set_debug_level set_debug_level_from_env
    supports_complex utils start_timeline stop_timeline add_config_arguments comm moe File Status
    ANY_SOURCE ANY_TAG : nothing: what it sets or tells is not there
"""

STORE = """
pushpull : `push` and `pull`
broadcast : `init` and `pull`
set_optimizer set_updater _set_updater : `ag.distributed.KVStore(update)`
rank : `ag.distributed.rank()`
num_workers : `ag.distributed.world_size()`
row_sparse_pull : `pull`
barrier : `ag.distributed.barrier()`
set_gradient_compression : `ag.distributed.data_parallel(model, optimizer, compress=True)`
save_optimizer_states load_optimizer_states : `ag.distributed.save_sharded`,
    `ag.distributed.load_sharded`
type : nothing: there is one kind
"""

GROUP = """
Get_rank get_rank : `rank`
Get_size get_size : `size`
allreduce Allreduce all_reduce Reduce : `ag.distributed.all_reduce(x, group=group)`
allgather Allgather all_gather gather Gather : `ag.distributed.all_gather(x, group=group)`
bcast Bcast broadcast scatter Scatter : `ag.distributed.broadcast(x, group=group)`
alltoall Alltoall all_to_all : `ag.distributed.all_to_all(x, group=group)`
reduce_scatter Reduce_scatter : `ag.distributed.reduce_scatter(x, group=group)`
send Send isend Isend : `ag.distributed.send(x, 1, group=group)`
recv Recv irecv Irecv : `ag.distributed.recv(x, 0, group=group)`
Barrier : `barrier`
Split Dup Create_group : `ag.distributed.new_group(ranks, group)`
Abort Free : `close`
name : nothing: groups have no names
"""

PARALLEL = """
module forward train eval named_parameters parameters state_dict load_state_dict :
    nothing: the model itself has it, which `data_parallel` leaves as it is
no_sync require_backward_grad_sync : nothing: only `optimizer.step()` communicates
join : nothing: a process without examples takes part by `split`
step zero_grad backward allreduce_grads synchronize : `optimizer.step()`, which sums gradients first
"""

ZERO = """
forward train eval parameters named_parameters buffers : `module()`, which gives the model
backward : `loss.backward()`
no_sync reduce sync all_reduce_gradients require_backward_grad_sync : nothing: only `step()`
    communicates
consolidate_state_dict full_state_dict optim_state_dict full_optim_state_dict : `state_dict()`,
    which is whole in all processes
save_checkpoint load_checkpoint : `ag.distributed.save_sharded`, `ag.distributed.load_sharded`
param_groups lr add_param_group : `optimizer`, that of the shards
clip_grad_norm_ clip_grad_norm : nothing: each process has the gradients of its shards only
summon_full_params gather unshard : `state_dict()`
"""

PIPELINE = """
parameters named_parameters state_dict load_state_dict train eval modules : `stage`, the layers of
    this process, has it
forward step train_batch run schedule : `backward(x, target, loss)`
zero_grad : `stage.zero_grad()`
"""

MESH = """
get_group get_all_groups get_slice : `group("data")`
get_rank get_local_rank get_coordinate coordinate local_rank : `at`
size axis_sizes devices mesh ndim mesh_dim_names axis_names dim_names : `shape`
"""

CENTRAL = """
sync_params push pull pushpull exchange update join : `sync()`
send_req init_shared_params lock : `notes()`, a dict that all share
worker_id rank : `ag.distributed.rank()`
"""

BATCHES = """
set_epoch : nothing: each pass over the loader has an order of its own
num_replicas num_samples total_size : `ag.distributed.world_size()`, `len`
"""

WORKERS = """
submit apply apply_async call execute : `run`
starmap imap imap_unordered map_async : `map`
join terminate shutdown kill : `close`
"""
