"""Tensors in a file of the safetensors format: written piece by piece, read when requested."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Self

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support.atomic import file_error, replacing
from agnesi.core.support.config import config
from agnesi.core.support.errors import StateError, at
from agnesi.core.support.host import cores
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.loading import Stored
from agnesi.ops.base.convert import check_unmasked
from agnesi.saving.header import (
    CHECKSUM_BYTES,
    METADATA,
    OLDER,
    OWN,
    SUMS,
    Header,
    check_ending,
    pieces,
    plan,
    read,
    refusal,
    written,
)
from agnesi.saving.pieces import MOST_THREADS, SHARED_BYTES, Source, bytes_of, cut, flat, write
from agnesi.saving.sums import Cyclic, Lanes

Path_ = str | os.PathLike[str]


def save_file(tensors: Mapping[str, Any], path: Path_,
              metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a safetensors file; it appears complete or not at all.

    The file can be read by everything that reads safetensors (PyTorch's and JAX's libraries do).
    Its metadata has checksums, which :func:`load_file` compares.  Nothing is copied but tensors
    that are not in row-major order, one at a time.

    :param tensors: Values by name, as ``state_dict()`` gives them.
    :type tensors: mapping of str to array_like
    :param path: The file, conventionally ``*.safetensors``; an old one is replaced.
    :param metadata: Texts to keep with them; ``{"format": "pt"}`` is there if nothing else is said.
    :type metadata: mapping of str to str, optional
    :raises TypeError: If the tensors are no mapping of names, or of a dtype that the format lacks.
    :raises ValueError: If the path ends as files of another format do (``.onnx``, ``.npz``, ...).
    :raises OSError: If the file cannot be written; an old one stays.
    :see: saving.load_file, saving.open_file, saving.save_checkpoint

    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.safetensors")
    >>> net = ag.nn.Linear(3, 2)
    >>> ag.saving.save_file(net.state_dict(), path)
    >>> sorted(ag.saving.load_file(path))
    ['bias', 'weight']
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(at(f"save_file writes a mapping of names to tensors, not {typed(tensors)}; "
                           "state_dict() of a module is one"))
    texts = {"format": "pt", **(metadata or {})}
    for where, name in [*(("tensors", n) for n in tensors), *texts.items()]:
        if not (isinstance(name, str) and isinstance(where, str)) or name == METADATA:
            what = "a name of a tensor" if where == "tensors" else f"metadata[{typed(where)}]"
            other = f" other than {METADATA!r}" * (name == METADATA)
            raise TypeError(at(f"save_file: {what} must be a text{other}, not {typed(name)}"))
    check_ending(path)
    arrays = {name: _array(name, value) for name, value in tensors.items()}
    entries = plan(arrays)
    sums: dict[str, list[int]] = {}
    with replacing(path) as file, ThreadPoolExecutor(1) as pool:
        file.write(written(entries, texts))
        for name in entries:
            sums[name] = write(file, flat(arrays[name]), pool)
        file.seek(0)
        file.write(written(entries, texts, sums))


def _array(name: str, value: Any) -> np.ndarray:
    check_unmasked(value)
    data = value.array if isinstance(value, Tensor) else np.asarray(value)
    if data is None:
        raise TypeError(at(f"save_file: {name!r} has no value: save outside of compiled and "
                           "symbolic functions"))
    return np.asarray(data)


class StoredTensor(Stored):
    """A tensor of an open file: an array_like that is read when it is converted."""

    __slots__ = ("_file", "name")

    def __init__(self, file: TensorFile, name: str) -> None:
        self._file, self.name = file, name
        self.shape, self.dtype = file.header.entries[name].shape, file.header.entries[name].dtype

    def check(self) -> None:
        self._file.verify()

    def fill(self, array: np.ndarray) -> None:
        straight = array.dtype == self.dtype and array.flags.c_contiguous
        held = array if straight else np.empty(self.shape, self.dtype)
        self._file.read_into(self.name, held)
        if not straight:
            np.copyto(array, held, casting="same_kind")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        found = np.empty(self.shape, self.dtype)
        self.fill(found)
        return found if dtype is None else found.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"StoredTensor({self.name!r}, {typed(self)})"


class TensorFile(Mapping[str, Stored], AbstractContextManager["TensorFile"]):
    """Tensors of an open safetensors file by name, each read when it is requested.

    A mapping whose values have ``shape`` and ``dtype`` and become arrays where arrays are wanted;
    ``load_state_dict`` takes it as it is, reads straight into the memory of its tensors, and
    compares the file's checksums before anything changes.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Attributes
    ----------
    metadata : dict of str to str
        Texts that were kept with the tensors.

    Raises
    ------
    FileFormatError
        If the file is none of this format, cut off, or damaged.
    OSError
        If it cannot be read.

    See Also
    --------
    saving.open_file, saving.load_file

    Examples
    --------
    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.safetensors")
    >>> ag.saving.save_file({"a": ag.arange(3)}, path, {"made by": "me"})
    >>> with ag.saving.TensorFile(path) as file:
    ...     file["a"].shape, file.get_tensor("a"), file.metadata["made by"]
    ((3,), tensor([0, 1, 2]), 'me')
    """

    def __init__(self, path: Path_) -> None:
        self.name = os.fspath(path)
        self._file = _opened(self.name)
        try:
            size = os.fstat(self._file.fileno()).st_size
            self.header: Header = read(self._file, size, self.name)
            self._sums = self._declared_sums()
        except BaseException:
            self._file.close()
            raise
        older = SUMS not in self.header.metadata
        self._source = Source(self._file, Cyclic if older else Lanes)
        self._threads = min(MOST_THREADS, cores(config.threads))
        self._pool = ThreadPoolExecutor(self._threads)
        self._verified = False

    @property
    def metadata(self) -> dict[str, str]:
        return {k: v for k, v in self.header.metadata.items() if k not in (SUMS, OLDER, OWN)}

    def __getitem__(self, name: str) -> Stored:
        if name not in self.header.entries:
            raise StateError(at(f"{self.name} has no tensor {name!r}, but {list(self)}"))
        return StoredTensor(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.header.entries)

    def __len__(self) -> int:
        return len(self.header.entries)

    def get_tensor(self, name: str) -> Tensor:
        """Read one tensor.

        :param name: Its name in the file.
        :returns: Of its dtype and shape there.
        :raises KeyError: If there is none of this name.
        :raises FileFormatError: If its bytes differ from their checksum.
        """
        return wrap(np.asarray(self[name]))

    def read_into(self, name: str, array: np.ndarray) -> None:
        """Read one tensor into an array of its dtype and shape that is in row-major order.

        :param name: Its name in the file.
        :param array: Where to.
        :raises FileFormatError: If its bytes differ from their checksum.
        """
        begin = self.header.start + self.header.entries[name].begin
        known = self._verified or not self._sums  # then threads share smaller pieces
        size = SHARED_BYTES if known else CHECKSUM_BYTES
        self._compare([(name, k, partial(self._source.read, begin + a, piece, known))
                       for k, (a, piece) in enumerate(cut(bytes_of(array), size))])
        if sys.byteorder == "big":
            array.byteswap(inplace=True)

    def verify(self) -> None:
        """Compare all tensors with their checksums, once; files of other libraries have none.

        :raises FileFormatError: If bytes differ from their checksum; it names the tensor.
        """
        if self._verified or not self._sums:
            return
        start, checksum = self.header.start, self._source.checksum
        jobs: list[tuple[str, int, Callable[[], int]]] = [
            (name, k, partial(checksum, start + begin, min(CHECKSUM_BYTES, e.end - begin)))
            for name, e in self.header.entries.items()
            for k, begin in enumerate(range(e.begin, e.end, CHECKSUM_BYTES))
        ]
        self._compare(jobs[::-1])  # what is read first afterwards is still in the caches
        self._verified = True

    def _compare(self, jobs: list[tuple[str, int, Callable[[], int]]]) -> None:
        """Run jobs that give checksums of pieces, several at the same time."""
        run = self._pool.map if self._threads > 1 and len(jobs) > 1 else map
        try:
            for (name, k, _), found in zip(jobs, run(lambda job: job[2](), jobs), strict=True):
                if self._sums and not self._verified and self._sums[name][k] != found:
                    raise refusal(self.name, f"is damaged: {name!r} differs from its checksum")
        except EOFError:
            raise refusal(self.name, "was cut off while it was read") from None

    def _declared_sums(self) -> dict[str, list[int]]:
        """The checksums in the file, one for each piece."""
        key = SUMS if SUMS in self.header.metadata else OLDER
        text = self.header.metadata.get(key)
        if text is None:
            return {}
        try:
            found = {n: [int(s, 16) for s in v.split()] for n, v in json.loads(text).items()}
        except (ValueError, AttributeError, RecursionError):
            found = {}
        if {n: len(v) for n, v in found.items()} != {
            n: pieces(e.end - e.begin) for n, e in self.header.entries.items()
        }:
            raise refusal(self.name, f"is damaged: its {key} are not those of its tensors")
        return found

    def close(self) -> None:
        """Close the file; its tensors cannot be read any more."""
        self._pool.shutdown()
        self._source.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TensorFile({self.name!r}, {len(self)} tensors)"


def _opened(name: str) -> Any:
    """A file open for reading; what is no plain file is refused, as reading could wait for ever."""
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise refusal(name, "is no file")
        return open(name, "rb", buffering=0)
    except OSError as error:
        raise file_error(error, f"{name!r} cannot be read") from None


def open_file(path: Path_) -> TensorFile:
    """Open a safetensors file, whose tensors are read one by one when they are requested.

    :param path: The file.
    :returns: A mapping of names to array_likes, to be used in a ``with`` statement.
    :raises FileFormatError: If the file is none of this format, cut off, or damaged.
    :raises OSError: If it cannot be read.
    :see: saving.load_file, saving.save_file

    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.safetensors")
    >>> ag.saving.save_file(ag.nn.Linear(3, 2).state_dict(), path)
    >>> net = ag.nn.Linear(3, 2)
    >>> with ag.saving.open_file(path) as file:
    ...     keys = net.load_state_dict(file)
    """
    return TensorFile(path)


def load_file(path: Path_, names: Iterable[str] | None = None) -> dict[str, Tensor]:
    """Read tensors from a safetensors file; nothing in it can run code.

    :param path: The file; also one that another library wrote.
    :param names: Which tensors; all by default.
    :returns: By name, as ``load_state_dict`` takes them.
    :rtype: dict of str to Tensor
    :raises FileFormatError: If the file is none of this format, cut off, or damaged (a ValueError).
    :raises KeyError: If it lacks one of the names.
    :raises OSError: If it cannot be read.
    :see: saving.save_file, saving.open_file, saving.rename

    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.safetensors")
    >>> ag.saving.save_file({"a": ag.arange(3), "b": ag.ones(2)}, path)
    >>> ag.saving.load_file(path, ["a"])
    {'a': tensor([0, 1, 2])}
    """
    with TensorFile(path) as file:
        return {name: file.get_tensor(name) for name in (file if names is None else names)}
