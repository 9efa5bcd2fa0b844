"""Data: datasets of arrays, files, texts and streams, and the loader that makes batches of them.

In: arrays, files, texts, streams. Out: batches of tensors.
What must hold: batches do not depend on the number of workers; an epoch that was left goes on where
it was.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.data.collate import PadCollate as PadCollate
from agnesi.data.collate import default_collate as default_collate
from agnesi.data.dataset import ConcatDataset as ConcatDataset
from agnesi.data.dataset import Dataset as Dataset
from agnesi.data.dataset import MappedDataset as MappedDataset
from agnesi.data.dataset import StackDataset as StackDataset
from agnesi.data.dataset import Subset as Subset
from agnesi.data.dataset import TensorDataset as TensorDataset
from agnesi.data.dataset import random_split as random_split
from agnesi.data.images import ImageFolder as ImageFolder
from agnesi.data.images import read_image as read_image
from agnesi.data.images import write_image as write_image
from agnesi.data.loader import DataLoader as DataLoader
from agnesi.data.orders import Blocks as Blocks
from agnesi.data.samplers import BatchSampler as BatchSampler
from agnesi.data.samplers import BucketBatchSampler as BucketBatchSampler
from agnesi.data.samplers import RandomSampler as RandomSampler
from agnesi.data.samplers import Sampler as Sampler
from agnesi.data.samplers import SequentialSampler as SequentialSampler
from agnesi.data.samplers import SubsetRandomSampler as SubsetRandomSampler
from agnesi.data.samplers import WeightedRandomSampler as WeightedRandomSampler
from agnesi.data.streams import ChainDataset as ChainDataset
from agnesi.data.streams import IterableDataset as IterableDataset
from agnesi.data.streams import MappedStream as MappedStream
from agnesi.data.tables import from_frame as from_frame
from agnesi.data.tables import read_csv as read_csv
from agnesi.data.tables import read_parquet as read_parquet
from agnesi.data.text import CharTokenizer as CharTokenizer
from agnesi.data.text import TextDataset as TextDataset
from agnesi.data.text import TokenWindows as TokenWindows
from agnesi.data.text import WordTokenizer as WordTokenizer
from agnesi.data.worker import WorkerInfo as WorkerInfo
from agnesi.data.worker import get_worker_info as get_worker_info

if TYPE_CHECKING:
    from agnesi.data import datasets as datasets
else:

    def __getattr__(name: str) -> Any:
        if name == "datasets":
            return import_module("agnesi.data.datasets")
        raise _no_attribute("module 'agnesi.data'", name)


_strictly(__name__)
