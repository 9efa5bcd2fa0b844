"""Known datasets: scikit-learn's, and readers of the files of others that the user has.

Nothing is downloaded: where files are missing, the error says which, and where they come from.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import FileFormatError, at, no_attribute, shown
from agnesi.data.dataset import TensorDataset
from agnesi.data.text import WordTokenizer

_Path = str | os.PathLike[str]


# -- scikit-learn's -----------------------------------------------------------------------------
def _of_sklearn(name: str, dtype: str) -> TensorDataset:
    try:
        from sklearn import datasets
    except ImportError:
        raise ImportError(at(f"datasets.{name} comes with scikit-learn: "
                             "pip install 'agnesi[sklearn]'")) from None
    bunch = getattr(datasets, f"load_{name}")()
    targets = np.asarray(bunch.target)
    if targets.dtype.kind == "f":
        targets = targets.astype(dtype)
    found = TensorDataset(np.asarray(bunch.data, dtype), targets)
    names = bunch.get("target_names")
    found.classes = None if names is None else [str(n) for n in names]
    return found


def digits(dtype: str = "float32") -> TensorDataset:
    """1 797 handwritten digits of 8x8 pixels from 0 to 16, from scikit-learn.

    :param dtype: Of the samples.
    :returns: Of images (64,) and labels.
    :raises ImportError: If scikit-learn is not installed.
    :see: data.datasets.iris, data.datasets.mnist

    >>> from agnesi.data import datasets
    >>> len(datasets.digits())
    1797
    """
    return _of_sklearn("digits", dtype)


def iris(dtype: str = "float32") -> TensorDataset:
    """Measures of 150 irises of three species, from scikit-learn.

    :param dtype: Of the samples.
    :returns: Of measures (4,) and labels; ``classes`` names the species.
    :raises ImportError: If scikit-learn is not installed.
    :see: data.datasets.wine, data.datasets.digits

    >>> from agnesi.data import datasets
    >>> datasets.iris().classes
    ['setosa', 'versicolor', 'virginica']
    """
    return _of_sklearn("iris", dtype)


def wine(dtype: str = "float32") -> TensorDataset:
    """Chemical analyses of 178 wines of three growers, from scikit-learn.

    :param dtype: Of the samples.
    :returns: Of measures (13,) and labels.
    :raises ImportError: If scikit-learn is not installed.
    :see: data.datasets.iris, data.datasets.digits

    >>> from agnesi.data import datasets
    >>> datasets.wine()[0][0].shape
    (13,)
    """
    return _of_sklearn("wine", dtype)


def breast_cancer(dtype: str = "float32") -> TensorDataset:
    """Measures of 569 tumours, malignant (0) or benign (1), from scikit-learn.

    :param dtype: Of the samples.
    :returns: Of measures (30,) and labels.
    :raises ImportError: If scikit-learn is not installed.
    :see: data.datasets.iris, data.datasets.digits

    >>> from agnesi.data import datasets
    >>> datasets.breast_cancer().classes
    ['malignant', 'benign']
    """
    return _of_sklearn("breast_cancer", dtype)


def diabetes(dtype: str = "float32") -> TensorDataset:
    """Measures of 442 patients and the progress of their diabetes, from scikit-learn.

    :param dtype: Of samples and targets.
    :returns: Of measures (10,) and numbers.
    :raises ImportError: If scikit-learn is not installed.
    :see: data.datasets.iris, data.datasets.digits

    >>> from agnesi.data import datasets
    >>> datasets.diabetes()[0][1].dtype
    dtype('float32')
    """
    return _of_sklearn("diabetes", dtype)


# -- files that the user has --------------------------------------------------------------------
def _split(split: str, known: tuple[str, ...]) -> str:
    if split not in known:
        raise ValueError(at(f"split must be one of {', '.join(known)}, not {shown(split)}"))
    return split


def _missing(name: str, folder: Path, files: str, source: str) -> FileNotFoundError:
    return FileNotFoundError(at(f"{name}: there is no {files} in {folder}; get it from {source}"))


def mnist(folder: _Path, split: str = "train") -> TensorDataset:
    """MNIST, or what has its format (Fashion-MNIST, KMNIST): from IDX files, also ``.gz``.

    :param folder: Where ``train-images-idx3-ubyte`` and its kin are.
    :param split: Which part.
    :type split: {"train", "test"}
    :returns: Of images, uint8 (28, 28), and labels.
    :raises FileNotFoundError: If a file is missing.
    :raises FileFormatError: If a file is no IDX file, or cut off.
    :raises ValueError: If ``split`` is none of the two.
    :see: data.datasets.cifar10, data.datasets.read_idx

    >>> from agnesi.data import datasets
    >>> try:
    ...     train = datasets.mnist("/nowhere")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:42])
    mnist: there is no train-images-idx3-ubyte
    """
    begin = {"train": "train", "test": "t10k"}[_split(split, ("train", "test"))]
    arrays = []
    for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        names = [f"{begin}-{kind}", f"{begin}-{kind.replace('-idx', '.idx')}"]
        path = next((p for n in names for end in ("", ".gz")
                     if (p := Path(folder) / f"{n}{end}").is_file()), None)
        if path is None:
            raise _missing("mnist", Path(folder), f"{names[0]}[.gz]",
                           "https://yann.lecun.com/exdb/mnist, or a mirror of it")
        arrays.append(read_idx(path))
    return TensorDataset(arrays[0], arrays[1].astype(np.int64))


_IDX = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: _Path) -> np.ndarray:
    """An array from an IDX file, the format of MNIST's.

    :param path: The file; one that ends in ``.gz`` is unpacked.
    :returns: Of the file's type and shape.
    :raises FileFormatError: If it is no IDX file, or cut off.
    :see: data.datasets.mnist

    >>> import os, tempfile
    >>> from agnesi.data import datasets
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers-idx1-ubyte")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    >>> datasets.read_idx(path)
    array([7, 8, 9], dtype=uint8)
    """
    name = os.fspath(path)
    try:
        with (gzip.open if name.endswith(".gz") else open)(name, "rb") as file:
            data = file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(at(f"{name} is damaged: {error}")) from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX or len(data) < 4 + 4 * data[3]:
        raise FileFormatError(at(f"{name} is no IDX file"))
    dtype, ndim = np.dtype(_IDX[data[2]]), data[3]
    shape = [int.from_bytes(data[4 + 4 * k : 8 + 4 * k], "big") for k in range(ndim)]
    count, have = int(np.prod(shape, dtype=object)), len(data) - 4 - 4 * ndim
    if count * dtype.itemsize != have:
        raise FileFormatError(at(f"{name} is cut off or damaged: {dtype}{shape} takes "
                                 f"{count * dtype.itemsize} bytes, {have} are there"))
    try:
        found = np.frombuffer(data, dtype, count, 4 + 4 * ndim).reshape(shape)
    except ValueError as error:  # of more axes than arrays have, and of sizes beside 0
        raise FileFormatError(at(f"{name} is damaged: {dtype}{shape}: {error}")) from None
    return found.astype(dtype.newbyteorder("="))


_CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html (the binary version: pickles may run code)"


def cifar10(folder: _Path, split: str = "train") -> TensorDataset:
    """CIFAR-10 from its binary version, as an archive or unpacked.

    :like: mnist
    :param folder: Where ``cifar-10-binary.tar.gz`` or ``data_batch_1.bin`` and its kin are.
    :returns: Of images, uint8 (3, 32, 32), and labels.
    :raises FileFormatError: If a file is cut off.
    :see: data.datasets.cifar100, data.datasets.mnist

    >>> from agnesi.data import datasets
    >>> try:
    ...     train = datasets.cifar10("/nowhere")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:37])
    cifar10: there is no data_batch_1.bin
    """
    names = ["test_batch.bin"] if _split(split, ("train", "test")) == "test" else [
        f"data_batch_{k}.bin" for k in range(1, 6)]
    return _cifar("cifar10", folder, "cifar-10-binary.tar.gz", names, 1)


def cifar100(folder: _Path, split: str = "train") -> TensorDataset:
    """CIFAR-100 with its fine labels from its binary version, as an archive or unpacked.

    :like: cifar10
    :param folder: Where ``cifar-100-binary.tar.gz`` or ``train.bin`` and ``test.bin`` are.
    :see: data.datasets.cifar10, data.datasets.mnist

    >>> from agnesi.data import datasets
    >>> try:
    ...     test = datasets.cifar100("/nowhere", "test")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:30])
    cifar100: there is no test.bin
    """
    names = [f"{_split(split, ('train', 'test'))}.bin"]
    return _cifar("cifar100", folder, "cifar-100-binary.tar.gz", names, 2)


def _cifar(kind: str, folder: _Path, archive: str, names: list[str], labels: int) -> TensorDataset:
    """Rows of label bytes (the last one counts) and 3x32x32 pixels."""
    size, parts = labels + 3072, []
    for name in names:
        data = _file(Path(folder), archive, name)
        if data is None:
            raise _missing(kind, Path(folder), f"{name}, nor {archive},", _CIFAR)
        if not data or len(data) % size:
            raise FileFormatError(at(f"{kind}: {name} is cut off: it has {len(data)} bytes, no "
                                     f"multiple of {size}"))
        parts.append(np.frombuffer(data, np.uint8).reshape(-1, size))
    rows = np.concatenate(parts)
    images = rows[:, labels:].reshape(-1, 3, 32, 32)
    return TensorDataset(images, rows[:, labels - 1].astype(np.int64))


def _file(folder: Path, archive: str, name: str) -> bytes | None:
    """A file of a folder, of a folder in it, or of an archive in it."""
    found = next((p for p in (folder / name, *folder.glob(f"*/{name}")) if p.is_file()), None)
    if found is not None:
        return found.read_bytes()
    return next((data for _, data in _members(
        folder / archive, lambda path: path.endswith(f"/{name}"))), None)


def _members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Plain files of an archive whose paths are wanted; nothing is unpacked to disk."""
    if not archive.is_file():
        return
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and wanted(f"/{member.name}"):
                    file: Any = tar.extractfile(member)
                    yield member.name, file.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise FileFormatError(at(f"{archive} is damaged: {error}")) from None


def ptb(folder: _Path, split: str = "train", tokenizer: object = None
        ) -> tuple[np.ndarray, Any]:
    """The Penn Treebank's words as numbers, sentences ended by ``<eos>``.

    :param folder: Where ``simple-examples.tgz`` or ``ptb.train.txt`` and its kin are.
    :param split: Which part.
    :type split: {"train", "valid", "test"}
    :param tokenizer: Has ``encode(text)``; by default words of the training part are numbered.
    :returns tokens: All words in their order, as :class:`agnesi.data.TokenWindows` takes them.
    :rtype: numpy.ndarray of int64
    :returns tokenizer: What numbered them.
    :rtype: object
    :raises FileNotFoundError: If a file is missing.
    :raises FileFormatError: If a file is no text.
    :raises ValueError: If ``split`` is none of the three.
    :see: data.datasets.imdb

    >>> from agnesi.data import datasets
    >>> try:
    ...     tokens, tokenizer = datasets.ptb("/nowhere")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:30])
    ptb: there is no ptb.train.txt
    """
    _split(split, ("train", "valid", "test"))
    text = _ptb_text(folder, split)
    coder: Any = tokenizer
    if tokenizer is None:
        coder = WordTokenizer([text if split == "train" else _ptb_text(folder, "train")])
    return np.asarray(coder.encode(text), np.int64), coder


def _ptb_text(folder: _Path, split: str) -> str:
    name = f"ptb.{split}.txt"
    data = _file(Path(folder), "simple-examples.tgz", name)
    if data is None:
        raise _missing("ptb", Path(folder), f"{name}, nor simple-examples.tgz,",
                       "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz")
    return _text(data, name).replace("\n", " <eos> ")


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(at(f"{name} is no text: {error}")) from None


def imdb(folder: _Path, split: str = "train") -> tuple[list[str], np.ndarray]:
    """Film reviews of the Large Movie Review Dataset, bad (0) or good (1).

    :param folder: Where ``aclImdb_v1.tar.gz`` or the folder ``aclImdb`` is; or that folder itself.
    :param split: Which part.
    :type split: {"train", "test"}
    :returns texts: The reviews, as :class:`agnesi.data.TextDataset` takes them.
    :rtype: list of str
    :returns labels: One for each.
    :rtype: numpy.ndarray of int64
    :raises FileNotFoundError: If the files are missing.
    :raises FileFormatError: If a file is no text.
    :raises ValueError: If ``split`` is none of the two.
    :see: data.datasets.ptb

    >>> from agnesi.data import datasets
    >>> try:
    ...     texts, labels = datasets.imdb("/nowhere")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:34])
    imdb: there is no aclImdb/train, n
    """
    _split(split, ("train", "test"))
    texts, labels = [], []
    for label, kind in enumerate(("neg", "pos")):
        for name, data in _reviews(Path(folder), f"{split}/{kind}"):
            texts.append(_text(data, name))
            labels.append(label)
    if not texts:
        raise _missing("imdb", Path(folder), f"aclImdb/{split}, nor aclImdb_v1.tar.gz,",
                       "https://ai.stanford.edu/~amaas/data/sentiment")
    return texts, np.array(labels, np.int64)


def _reviews(folder: Path, part: str) -> list[tuple[str, bytes]]:
    for place in (folder / part, folder / "aclImdb" / part):
        if place.is_dir():
            return [(p.name, p.read_bytes()) for p in sorted(place.glob("*.txt"))]
    return sorted(_members(folder / "aclImdb_v1.tar.gz",
                           lambda path: f"/{part}/" in path and path.endswith(".txt")))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute("module 'agnesi.data.datasets'", name)


_strictly(__name__)
