"""Several processes: collectives as operations, data parallel training, shards, launching.

In: tensors of each process, a module and its optimizer. Out: what all processes have in common.
What must hold: collectives meet in the order of the program, with derivatives too; a process that
fails, or meets another call, is an error in all of them and no wait.
"""

from agnesi.api.processes.handles import SharedHandle as SharedHandle
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import CollectiveError as CollectiveError
from agnesi.distributed.agreement import same_state as same_state
from agnesi.distributed.batches import ShardedBatches as ShardedBatches
from agnesi.distributed.blocks import map_blocks as map_blocks
from agnesi.distributed.central import ASGD as ASGD
from agnesi.distributed.central import EASGD as EASGD
from agnesi.distributed.central import Central as Central
from agnesi.distributed.central import Rule as Rule
from agnesi.distributed.checkpoints import load_sharded as load_sharded
from agnesi.distributed.checkpoints import save_sharded as save_sharded
from agnesi.distributed.collectives import all_gather as all_gather
from agnesi.distributed.collectives import all_reduce as all_reduce
from agnesi.distributed.collectives import all_to_all as all_to_all
from agnesi.distributed.collectives import barrier as barrier
from agnesi.distributed.collectives import broadcast as broadcast
from agnesi.distributed.collectives import recv as recv
from agnesi.distributed.collectives import reduce_scatter as reduce_scatter
from agnesi.distributed.collectives import send as send
from agnesi.distributed.mesh import Mesh as Mesh
from agnesi.distributed.mesh import shard as shard
from agnesi.distributed.mesh import unshard as unshard
from agnesi.distributed.parallel import DataParallel as DataParallel
from agnesi.distributed.parallel import data_parallel as data_parallel
from agnesi.distributed.pipeline import Pipeline as Pipeline
from agnesi.distributed.processes.group import Group as Group
from agnesi.distributed.processes.launch import launch as launch
from agnesi.distributed.processes.launch import restart_count as restart_count
from agnesi.distributed.processes.workers import Workers as Workers
from agnesi.distributed.processes.world import init as init
from agnesi.distributed.processes.world import is_available as is_available
from agnesi.distributed.processes.world import is_initialized as is_initialized
from agnesi.distributed.processes.world import make_group as make_group
from agnesi.distributed.processes.world import new_group as new_group
from agnesi.distributed.processes.world import rank as rank
from agnesi.distributed.processes.world import shutdown as shutdown
from agnesi.distributed.processes.world import world_size as world_size
from agnesi.distributed.ray import RayWorkers as RayWorkers
from agnesi.distributed.ray_central import RayCentral as RayCentral
from agnesi.distributed.store import KVStore as KVStore
from agnesi.distributed.tensor_parallel import ColumnLinear as ColumnLinear
from agnesi.distributed.tensor_parallel import RowLinear as RowLinear
from agnesi.distributed.tensor_parallel import ShardedEmbedding as ShardedEmbedding
from agnesi.distributed.zero import Zero as Zero

#: PyTorch's names.
get_rank, get_world_size = rank, world_size

_strictly(__name__)
