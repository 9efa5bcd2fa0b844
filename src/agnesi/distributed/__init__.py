"""Several processes: collectives as operations, data parallel training, shards, launching."""

from agnesi.core.errors import CollectiveError as CollectiveError
from agnesi.core.exports import shown as _shown
from agnesi.distributed.collectives import all_gather as all_gather
from agnesi.distributed.collectives import all_reduce as all_reduce
from agnesi.distributed.collectives import all_to_all as all_to_all
from agnesi.distributed.collectives import barrier as barrier
from agnesi.distributed.collectives import broadcast as broadcast
from agnesi.distributed.collectives import recv as recv
from agnesi.distributed.collectives import reduce_scatter as reduce_scatter
from agnesi.distributed.collectives import send as send
from agnesi.distributed.group import Group as Group
from agnesi.distributed.launch import launch as launch
from agnesi.distributed.launch import restart_count as restart_count
from agnesi.distributed.parallel import DataParallel as DataParallel
from agnesi.distributed.parallel import data_parallel as data_parallel
from agnesi.distributed.workers import Workers as Workers
from agnesi.distributed.world import init as init
from agnesi.distributed.world import make_group as make_group
from agnesi.distributed.world import new_group as new_group
from agnesi.distributed.world import rank as rank
from agnesi.distributed.world import shutdown as shutdown
from agnesi.distributed.world import world_size as world_size


def __dir__() -> list[str]:
    return _shown(__name__)
