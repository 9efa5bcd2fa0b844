"""Tables as datasets: CSV and Parquet files, and frames of pandas, polars or pyarrow."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import FileFormatError, StateError, at, retold, without_line
from agnesi.data.dataset import TensorDataset

Path_ = str | os.PathLike[str]


def from_frame(frame: object, target: str | int | None = None,
               columns: Sequence[str | int] | None = None, dtype: DTypeLike = "float32"
               ) -> TensorDataset:
    """A dataset of a table's columns.

    :param frame: Columns by name: a frame of pandas or polars, a pyarrow table, or a dict of
        arrays.
    :type frame: frame or mapping
    :param target: The column that is to be predicted; samples are pairs then.  Texts become numbers
        of classes, in order; the dataset's ``classes`` names them.
    :param columns: The columns that samples consist of; all others by default.
    :type columns: sequence of str or int, optional
    :param dtype: Of the samples; targets keep theirs.
    :returns: Of a matrix (rows, columns), and a vector of targets.
    :raises KeyError: If there is no such column.
    :raises ValueError: If a column of a sample holds no numbers.
    :raises TypeError: If the columns are no list.
    :see: data.read_csv, data.read_parquet

    >>> from agnesi import data
    >>> rows = {"age": [20, 30], "income": [1.5, 2.5], "kind": ["b", "a"]}
    >>> dataset = data.from_frame(rows, target="kind")
    >>> dataset[0], dataset.classes
    ((tensor([20. ,  1.5]), tensor(1)), ['a', 'b'])
    """
    _check_columns(columns)
    table: Any = frame
    names = {str(name): name for name in (
        table.column_names if hasattr(table, "column_names") else
        table if isinstance(table, Mapping) else table.columns)}
    there = list(names)
    target = None if target is None else str(target)
    chosen = [n for n in there if n != target] if columns is None else [*map(str, columns)]
    missing = [name for name in [*chosen, *([] if target is None else [target])]
               if name not in there]
    if missing:
        raise StateError(at(f"the table has no column {missing}, but {there}"))
    rows = len(_column(table, names[there[0]])) if there else 0
    samples = np.empty((rows, len(chosen)), dtypes.as_dtype(dtype))
    for k, name in enumerate(chosen):
        values = _column(table, names[name])
        if values.dtype.kind not in "biuf":
            sign = next((c for c in (";", "\t", "|") if c in str(name) and len(there) == 1), "")
            help_ = f"read_csv(path, sep={sign!r}) takes it apart" if sign else (
                "encode it, or choose others by columns=")
            raise ValueError(at(f"column {name!r} holds {values.dtype}, no numbers: {help_}"))
        if len(values) != len(samples):
            raise ValueError(at(f"from_frame: columns differ in length: {there[0]!r} has "
                                f"{len(samples)} rows, {name!r} {len(values)}"))
        samples[:, k] = values
    if target is None:
        return TensorDataset(samples)
    values, classes = _column(table, names[target]), None
    if values.dtype.kind not in "biuf":
        known, values = np.unique(values.astype(str), return_inverse=True)
        classes = known.tolist()
    found = TensorDataset(samples, values)
    found.classes = classes
    return found


def _check_columns(columns: Any) -> None:
    if isinstance(columns, str):
        raise TypeError(at(f"columns must be a list of names, such as [{columns!r}], not "
                           f"{columns!r}"))


def _column(frame: Any, name: Any) -> np.ndarray:
    column = frame[name]
    if hasattr(column, "to_numpy"):
        try:
            return np.asarray(column.to_numpy(zero_copy_only=False))  # pyarrow's chunks
        except TypeError:
            return np.asarray(column.to_numpy())
    return np.asarray(column)


def read_csv(path: Path_, target: str | int | None = None,
             columns: Sequence[str | int] | None = None, dtype: DTypeLike = "float32",
             **options: Any) -> TensorDataset:
    """A dataset of a CSV file with a header: by pandas or pyarrow where installed, else by itself.

    :param path: The file.
    :param target: The column that is to be predicted.
    :type target: str or int, optional
    :param columns: The columns that samples consist of; all others by default.
    :type columns: sequence of str or int, optional
    :param dtype: Of the samples.
    :param **options: Passed on to ``pandas.read_csv``, which must be installed then.
    :returns: As :func:`agnesi.data.from_frame` makes it.
    :raises FileNotFoundError: If there is no such file.
    :raises FileFormatError: If rows have different lengths, or it is no text (a ValueError).
    :raises KeyError, ValueError, TypeError: As :func:`agnesi.data.from_frame` raises them.
    :raises ImportError: If there are options, and pandas is not installed.
    :see: data.from_frame, data.read_parquet

    >>> import os, tempfile
    >>> from agnesi import data
    >>> path = os.path.join(tempfile.mkdtemp(), "table.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("x,y,label\\n1,2,0\\n3,4,1\\n")
    >>> data.read_csv(path, target="label").take([0, 1])
    (tensor([[1., 2.],
           [3., 4.]]), tensor([0, 1]))
    """
    path = os.fspath(path)
    frame = _csv_frame(path, options)
    with _of_file("read_csv", path):
        return from_frame(frame, target, columns, dtype)


def _csv_frame(path: str, options: dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError:
        if options:
            raise ImportError(at("options of read_csv are those of pandas, which is not "
                                 "installed")) from None
    else:
        with _read("read_csv", path):
            return _without_index(pandas.read_csv(path, **options), options)
    try:
        from pyarrow import csv as arrow
    except ImportError:
        return _rows(path)
    with _read("read_csv", path):
        return arrow.read_csv(path)


def _without_index(frame: Any, options: dict[str, Any]) -> Any:
    """The frame, if pandas made no index of first fields that the header does not name."""
    index = getattr(frame, "index", None)
    numbers = (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1)
    if index is not None and len(frame) and not numbers and "index_col" not in options:
        count, beyond = len(frame.columns), index.nlevels
        raise ValueError(f"rows have {count + beyond} fields, the header {count}; index_col=False "
                         f"leaves the last out, index_col={beyond - 1} the first")
    return frame


def _rows(path: Path_) -> dict[str, np.ndarray]:
    """Columns of a CSV file: integers, floats, or texts."""
    with _read("read_csv", os.fspath(path)), open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        names = next(reader, [])
        rows = [row for row in reader if row]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise FileFormatError(at(f"{os.fspath(path)}: row {number} has {len(row)} fields, the "
                                     f"header {len(names)}"))
    return {name: _typed([row[k] for row in rows]) for k, name in enumerate(names)}


def _typed(texts: list[str]) -> np.ndarray:
    for kind in (np.int64, np.float64):
        try:
            return np.array([text or "nan" for text in texts], str).astype(kind)
        except ValueError:
            continue
    return np.array(texts, str)


def read_parquet(path: Path_, target: str | None = None, columns: Sequence[str] | None = None,
                 dtype: DTypeLike = "float32") -> TensorDataset:
    """A dataset of a Parquet file, read by pyarrow.

    :param path: The file.
    :param target: The column that is to be predicted.
    :param columns: The columns that samples consist of; all others by default.
    :param dtype: Of the samples.
    :returns: As :func:`agnesi.data.from_frame` makes it.
    :raises FileNotFoundError: If there is no such file.
    :raises FileFormatError: If it is no such file (a ValueError).
    :raises ImportError: If pyarrow is not installed.
    :raises KeyError, ValueError, TypeError: As :func:`agnesi.data.from_frame` raises them.
    :see: data.from_frame, data.read_csv

    >>> from agnesi import data
    >>> try:
    ...     dataset = data.read_parquet("nowhere.parquet")
    ... except (ImportError, FileNotFoundError):
    ...     dataset = None
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(at("Parquet files need pyarrow: pip install pyarrow")) from None
    _check_columns(columns)
    wanted = None if columns is None else [*columns, *([] if target is None else [target])]
    path = os.fspath(path)
    with _read("read_parquet", path):
        table = parquet.read_table(path, columns=wanted)
    with _of_file("read_parquet", path):
        return from_frame(table, target, columns, dtype)


@contextmanager
def _of_file(name: str, path: str) -> Iterator[None]:
    """Add the file's name to errors about a table."""
    try:
        yield
    except (StateError, ValueError) as error:
        message = without_line(error)
        raise retold(error, at(f"{name}: {path}: {message}")) from None


@contextmanager
def _read(name: str, path: str) -> Iterator[None]:
    """Add the file, and the library that reads it, to that library's errors."""
    try:
        yield
    except ValueError as error:
        raise FileFormatError(at(f"{name}: {path}: {error}")) from error
    except OSError as error:
        if error.errno is None and os.path.exists(path):  # of the decoder, and not of the system
            raise FileFormatError(at(f"{name}: {path}: {error}")) from error
        message = str(error) if error.strerror or str(error) != str(path) else f"no file {path}"
        raise type(error)(at(f"{name}: {message}")) from error
