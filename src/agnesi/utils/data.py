"""PyTorch's path to datasets and loaders, which :mod:`agnesi.data` has."""

from agnesi.core.support.errors import explain_missing as _explain_missing
from agnesi.core.support.exports import shown as _shown
from agnesi.core.support.paths import add_paths as _add_paths
from agnesi.data import BatchSampler as BatchSampler
from agnesi.data import ChainDataset as ChainDataset
from agnesi.data import ConcatDataset as ConcatDataset
from agnesi.data import DataLoader as DataLoader
from agnesi.data import Dataset as Dataset
from agnesi.data import IterableDataset as IterableDataset
from agnesi.data import RandomSampler as RandomSampler
from agnesi.data import Sampler as Sampler
from agnesi.data import SequentialSampler as SequentialSampler
from agnesi.data import StackDataset as StackDataset
from agnesi.data import Subset as Subset
from agnesi.data import SubsetRandomSampler as SubsetRandomSampler
from agnesi.data import TensorDataset as TensorDataset
from agnesi.data import WeightedRandomSampler as WeightedRandomSampler
from agnesi.data import default_collate as default_collate
from agnesi.data import get_worker_info as get_worker_info
from agnesi.data import random_split as random_split


def __dir__() -> list[str]:
    return _shown(__name__)


_add_paths(__name__, "dataloader dataset distributed sampler")
_explain_missing(__name__)
