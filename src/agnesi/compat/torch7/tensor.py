"""Torch7's tensors: views of a storage, whose methods change them and whose numbers begin at 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

from agnesi.core.support.errors import at, no_attribute, typed

#: Torch7's types, by the dtypes of elements.
NAMES = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
         "float32": "Float", "float64": "Double"}
_DTYPES = {name.lower(): dtype for dtype, name in NAMES.items()}
#: The dtype of tensors that name none, which :func:`setdefaulttensortype` changes.
DEFAULT = ["float64"]


def dtype_of(name: str) -> str:
    """The dtype of a type such as "torch.FloatTensor"."""
    short = name.removeprefix("torch.").removesuffix("Tensor").removesuffix("Storage").lower()
    short = "float" if short == "cuda" else short
    if short not in _DTYPES:
        raise TypeError(f"there is no type {name!r}; there are {sorted(NAMES.values())}")
    return _DTYPES[short]


class Storage:
    """A stretch of memory that tensors look into.

    Parameters
    ----------
    data : int or sequence
        A size, or the elements.
    dtype : dtype, optional
    """

    def __init__(self, data: Any = 0, dtype: Any = None) -> None:
        kind = dtype or DEFAULT[0]
        self.data = np.zeros(data, kind) if isinstance(data, int) else np.array(data, kind)

    def size(self) -> int:
        """How many elements there are."""
        return len(self.data)

    def resize(self, size: int) -> Storage:
        """Another size; what fits stays."""
        if size != len(self.data):
            kept = self.data
            self.data = np.zeros(size, kept.dtype)
            n = min(size, len(kept))
            self.data[:n] = kept[:n]
        return self

    def fill(self, value: float) -> Storage:
        """One value everywhere."""
        self.data.fill(value)
        return self

    def copy(self, other: Storage) -> Storage:
        """Take the elements of another storage of the same size."""
        np.copyto(self.data, other.data, casting="unsafe")
        return self

    def totable(self) -> list[Any]:
        """The elements as a list."""
        return list(self)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data.tolist())

    def __getitem__(self, i: int) -> Any:
        return self.data[self._place(i)].item()

    def __setitem__(self, i: int, value: Any) -> None:
        self.data[self._place(i)] = value

    def _place(self, i: int) -> int:
        if not isinstance(i, (int, float, np.number)):
            raise TypeError(at(f"storage[{i!r}]: its {len(self.data)} elements have numbers, from "
                               "1"))
        if not 1 <= i <= len(self.data):
            raise IndexError(at(f"storage[{i}]: its {len(self.data)} elements count from 1"))
        return int(i) - 1

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (Storage, list, tuple)) else False

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        lines = [f" {v}" for v in self]
        return "\n".join([*lines, f"[torch.{NAMES[self.data.dtype.name]}Storage of size "
                                  f"{len(self.data)}]"])


def sizes_of(args: Any) -> tuple[int, ...]:
    """Sizes that are given one by one, or as a storage or sequence."""
    if len(args) == 1 and isinstance(args[0], (Storage, Sequence)):
        args = tuple(args[0])
    for n in args:
        if isinstance(n, (str, bytes)):
            raise TypeError(f"sizes are numbers, not {n!r}")
    return tuple(int(n) for n in args)


def _strides(sizes: Sequence[int]) -> tuple[int, ...]:
    found, step = [], 1
    for n in reversed(sizes):
        found.append(step)
        step *= n
    return tuple(reversed(found))


def _reach(sizes: Any, strides: Any) -> int:
    """How many elements a storage needs for sizes and strides."""
    sizes = sizes_of([sizes])
    given = _filled(sizes, sizes_of([strides]))
    return 1 + sum((n - 1) * s for n, s in zip(sizes, given, strict=True)) if all(sizes) else 0


def _filled(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides, negative ones of which are those of contiguous tensors."""
    found: list[int] = []
    for step, after in zip(strides[::-1], (None, *sizes[::-1]), strict=False):
        whole = 1 if after is None else after * found[-1]
        found.append(whole if step < 0 else step)
    return tuple(found[::-1])


def axis_of(dim: Any, count: int, more: bool = False) -> int:
    """An axis from 0 of a dimension from 1, of ``count``; negative ones count from the end, and
    others are one further where there is a batch (``more``)."""
    if isinstance(dim, bool) or not isinstance(dim, (int, float, np.integer)) or dim != int(dim):
        raise TypeError(f"a dimension is a number from 1, not {dim!r}")
    place = int(dim) + int(more and dim > 0)
    if not 1 <= place <= count and not -count <= place < 0:
        raise IndexError(f"dimension {place} is out of range: there are {count}, counted from 1")
    return place - 1 if place > 0 else count + place


def places_of(numbers: Any, count: int, dim: int = 1) -> Any:
    """Places from 0 of numbers from 1 to ``count``, the size of a dimension."""
    given = np.asarray(numbers)
    found = given.astype(np.int64)
    if (wrong := given[given != found]).size:
        raise IndexError(f"{wrong.flat[0]} is no whole number: numbers of dimension {dim} run from "
                         f"1 to {count}")
    if found.size and not 1 <= np.min(found) <= np.max(found) <= count:
        wrong = found[(found < 1) | (found > count)].flat[0]
        raise IndexError(f"{wrong} is out of range for dimension {dim}, whose numbers run from 1 "
                         f"to {count}")
    return found - 1


class View:
    """The state of a tensor: a storage, the offset of the first element, sizes and strides.

    Attributes
    ----------
    array : numpy.ndarray
        The elements, on the memory of the storage.
    """

    def __init__(self, *args: Any, dtype: Any = None) -> None:
        kind = dtype or DEFAULT[0]
        if len(args) > 1 and isinstance(args[0], Storage):
            if isinstance(args[1], int):
                self.set(*args)
            else:
                self._look(Storage(0, kind), 0, (0,), (1,))
                self.set(Storage(_reach(args[0], args[1]), kind), 1, *args)
            return
        if len(args) == 1 and isinstance(args[0], View):
            args = (args[0].array,)
        if len(args) == 1 and isinstance(args[0], Storage) and args[0].data.dtype == kind \
                and args[0].data.dtype != np.int64:
            self._look(args[0], 0, (len(args[0]),), (1,))
            return
        if len(args) == 1 and not isinstance(args[0], (int, Storage)):
            try:
                array = np.ascontiguousarray(args[0], kind)
            except (TypeError, ValueError):
                raise ValueError(f"the elements must be numbers, in rows of one length, not "
                                 f"{typed(args[0])}") from None
            sizes = array.shape
            storage = Storage(0, kind)
            storage.data = array.reshape(-1) if args[0] is not array else array.reshape(-1).copy()
        else:
            sizes = sizes_of(args)
            if any(n < 0 for n in sizes):
                raise ValueError(f"sizes must not be negative: {sizes}")
            storage = Storage(int(np.prod(sizes)) if sizes else 0, kind)
        self._look(storage, 0, sizes, _strides(sizes))

    def _look(self, storage: Storage, offset: int, sizes: Sequence[int],
              strides: Sequence[int]) -> None:
        self._storage, self._offset = storage, offset
        self._sizes, self._steps = tuple(sizes), tuple(strides)
        self._seen: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, whose elements are those of its own storage."""
        return {**self.__dict__, "_seen": None}

    def __typed__(self) -> str:
        """The type and sizes, as errors describe them."""
        sizes = "x".join(map(str, self._sizes)) or "0"
        return f"{NAMES[self.array.dtype.name]}Tensor of {sizes}"

    @property
    def array(self) -> Any:
        data = self._storage.data
        if self._seen is None or self._seen[0] is not data:
            step = data.itemsize
            empty = not self._sizes and self._offset >= len(data)
            seen = data[:0] if empty else as_strided(data[self._offset:], self._sizes,
                                                     [s * step for s in self._steps])
            self._seen = data, seen
        return self._seen[1]

    def _other(self, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> Any:
        found = type(self).__new__(type(self))
        found._look(self._storage, offset, sizes, strides)
        return found

    def _of(self, view: Any) -> Any:
        """The tensor of a NumPy view of the same memory."""
        data = self._storage.data
        offset = (view.__array_interface__["data"][0]
                  - data.__array_interface__["data"][0]) // data.itemsize
        return self._other(offset, view.shape, [s // data.itemsize for s in view.strides])

    # -- what it is ---------------------------------------------------------------------------
    def storage(self) -> Storage:
        """The memory that it looks into."""
        return self._storage

    def storageOffset(self) -> int:
        """The place in the storage where it begins, from 1."""
        return self._offset + 1

    def stride(self, dim: int | None = None) -> Any:
        """The stride of an axis in elements, or the strides of all."""
        return Storage(list(self._steps), "int64") if dim is None else self._steps[self._axis(dim)]

    def size(self, dim: int | None = None) -> Any:
        """The size of an axis, or all sizes."""
        return Storage(list(self._sizes), "int64") if dim is None else self._sizes[self._axis(dim)]

    def dim(self) -> int:
        """How many axes there are."""
        return len(self._sizes)

    nDimension = dim

    def nElement(self) -> int:
        """How many elements there are."""
        return int(np.prod(self._sizes)) if self._sizes else 0

    numel = nElement

    def isContiguous(self) -> bool:
        """Return whether elements are contiguous."""
        return bool(self.array.flags.c_contiguous)

    def isSameSizeAs(self, other: View) -> bool:
        """Return whether another one has the same sizes."""
        return self._sizes == other._sizes

    def isSize(self, sizes: Any) -> bool:
        """Return whether it has these sizes."""
        return self._sizes == sizes_of([sizes])

    def isSetTo(self, other: View) -> bool:
        """Return whether another one looks at the same elements."""
        return self._storage is other._storage and (self._offset, self._sizes, self._steps) == (
            other._offset, other._sizes, other._steps)

    def elementSize(self) -> int:
        """How many bytes an element has."""
        return int(self._storage.data.itemsize)

    def totable(self) -> Any:
        """The elements as lists of lists."""
        return self.array.tolist()

    # -- where it looks ------------------------------------------------------------------------
    def set(self, source: Any = None, offset: int = 1, *sizes: Any) -> Any:
        """Look where another tensor looks, or into a storage from an offset on: ``sizes`` and
        ``strides`` as sequences, or a size and a stride for each axis in turn."""
        if source is None:
            self._look(Storage(0, self.array.dtype), 0, (), ())
        elif isinstance(source, View):
            self._look(source._storage, source._offset, source._sizes, source._steps)
        else:
            if not isinstance(source, Storage):
                raise TypeError(f"it takes a tensor or a storage, not {typed(source)}")
            wide: tuple[int, ...]
            steps: tuple[int, ...]
            if not sizes:
                wide, steps = (len(source) - offset + 1,), (1,)
            elif isinstance(sizes[0], (Storage, Sequence)):
                wide = sizes_of(sizes[:1])
                steps = _filled(wide, sizes_of(sizes[1:]) or (-1,) * len(wide))
            else:
                wide = tuple(map(int, sizes[::2]))
                steps = _filled(wide, (*map(int, sizes[1::2]), -1)[:len(wide)])
            self._look(source, offset - 1, wide, steps)
        return self

    def resize(self, *sizes: Any) -> Any:
        """Other sizes, in the memory that there is if that suffices; elements keep no order."""
        wide = sizes_of(sizes)
        if wide == self._sizes:
            return self
        if any(n < 0 for n in wide):
            raise ValueError(f"sizes must not be negative: {wide}")
        count = int(np.prod(wide)) if wide else 0
        if self._offset + count > len(self._storage):
            self._storage.resize(self._offset + count)
        self._look(self._storage, self._offset, wide, _strides(wide))
        return self

    def resizeAs(self, other: View) -> Any:
        """The sizes of another one."""
        return self.resize(*other._sizes)

    def select(self, dim: int, index: int) -> Any:
        """The slice at an index of an axis, without it."""
        self._check(dim, index, index)
        return self._of(np.moveaxis(self.array, dim - 1, 0)[index - 1, ...])

    def _check(self, dim: int, first: int = 1, last: int = 1) -> None:
        """Refuse an axis that is not there, and numbers that are beyond it."""
        if not 1 <= dim <= len(self._sizes):
            raise IndexError(f"dimension {dim} is out of range: there are {len(self._sizes)}, "
                             "counted from 1")
        if first < 1 or last > max(self._sizes[dim - 1], 1):
            numbers = f"{first}" if first == last else f"{first} to {last}"
            raise IndexError(f"{numbers} is out of range for dimension {dim}, whose numbers run "
                             f"from 1 to {self._sizes[dim - 1]}")

    def _axis(self, dim: int) -> int:
        """An axis from 0, which is there."""
        self._check(dim)
        return dim - 1

    def narrow(self, dim: int, index: int, size: int) -> Any:
        """A stretch of an axis."""
        self._check(dim, index, index + size - 1)
        return self._of(np.moveaxis(np.moveaxis(self.array, dim - 1, 0)[
            index - 1:index - 1 + size], 0, dim - 1))

    def sub(self, *bounds: int) -> Any:
        """Stretches of axes, by their first and last numbers; negative ones count from the end."""
        if len(bounds) % 2 or len(bounds) > 2 * len(self._sizes):
            raise ValueError("sub takes the first and the last number of each axis in turn, of at "
                             f"most {len(self._sizes)} axes")
        found = self
        for dim, pair in enumerate(zip(bounds[::2], bounds[1::2], strict=True), 1):
            first, last = (n if n > 0 else self._sizes[dim - 1] + n + 1 for n in pair)
            found = found.narrow(dim, first, last - first + 1)
        return found

    def transpose(self, first: int, second: int) -> Any:
        """Two axes in each other's place, on the same memory."""
        self._check(first)
        self._check(second)
        return self._of(self.array.swapaxes(first - 1, second - 1))

    def permute(self, *dims: int) -> Any:
        """Axes in another order, on the same memory."""
        if sorted(dims) != list(range(1, len(self._sizes) + 1)):
            raise ValueError(f"each of the {len(self._sizes)} dimensions must be named once, not "
                             f"{dims}")
        return self._of(self.array.transpose([d - 1 for d in dims]))

    def split(self, size: int, dim: int = 1) -> list[Any]:
        """Stretches of an axis of a size, the last of which may be smaller."""
        total = self._sizes[self._axis(dim)]
        if size < 1:
            raise ValueError(f"the size of the stretches must be at least 1, not {size}")
        return [self.narrow(dim, at + 1, min(size, total - at)) for at in range(0, total, size)]

    def chunk(self, count: int, dim: int = 1) -> list[Any]:
        """As many stretches of an axis, of equal sizes if that is possible."""
        if count < 1:
            raise ValueError(f"the number of stretches must be at least 1, not {count}")
        return self.split(-(-self._sizes[self._axis(dim)] // count), dim)

    def t(self) -> Any:
        """The transposed matrix, on the same memory."""
        if len(self._sizes) != 2:
            raise ValueError("only matrices have it; transpose(dim1, dim2) swaps two dimensions of "
                             "others")
        return self.transpose(1, 2)

    def unfold(self, dim: int, size: int, step: int) -> Any:
        """Windows along an axis, as a new last axis, on the same memory."""
        room = self._sizes[self._axis(dim)]
        if not 1 <= size <= room or step < 1:
            raise ValueError(f"windows of {size} with steps of {step} do not fit dimension {dim}, "
                             f"whose size is {room}")
        count = (room - size) // step + 1
        sizes, strides = list(self._sizes), list(self._steps)
        stride = strides[dim - 1]
        sizes[dim - 1], strides[dim - 1] = count, stride * step
        return self._other(self._offset, [*sizes, size], [*strides, stride])

    def expand(self, *sizes: Any) -> Any:
        """Axes of size 1 as larger ones, without more memory."""
        return self._of(np.broadcast_to(self.array, sizes_of(sizes)))

    def expandAs(self, other: View) -> Any:
        """The same, to the sizes of another one."""
        return self.expand(*other._sizes)

    def view(self, *sizes: Any) -> Any:
        """The elements in other sizes, on the same memory, which must be contiguous."""
        if not self.isContiguous():
            raise ValueError(f"view({sizes}) of a tensor that is not contiguous: use "
                             "x.contiguous().view(...)")
        found = self.array.reshape(sizes_of(sizes))
        return self._other(self._offset, found.shape, _strides(found.shape))

    def viewAs(self, other: View) -> Any:
        """The elements in the sizes of another one, on the same memory."""
        return self.view(*other._sizes)

    def squeeze(self, dim: int | None = None) -> Any:
        """Without axes of size 1, on the same memory."""
        if dim is not None and self._sizes[self._axis(dim)] != 1:
            return self
        return self._of(self.array.squeeze(None if dim is None else dim - 1))

    def contiguous(self) -> Any:
        """The tensor itself if it is contiguous, else a copy."""
        return self if self.isContiguous() else self.clone()

    def clone(self) -> Any:
        """A copy."""
        return type(self)(np.array(self.array), dtype=self.array.dtype)

    def copy(self, other: View) -> Any:
        """Take the elements of another one, in its own type."""
        source = other.array
        if source.size != self.array.size:
            raise ValueError(f"copy() of {source.size} elements into {self.array.size}")
        np.copyto(self.array, source.reshape(self._sizes), casting="unsafe")
        return self

    def type(self, name: str | None = None) -> Any:
        """Its type's name, or the tensor as another type."""
        if name is None:
            return f"torch.{NAMES[self.array.dtype.name]}Tensor"
        kind = dtype_of(name)
        return self if kind == self.array.dtype else type(self)(self.array.astype(kind), dtype=kind)

    def typeAs(self, other: View) -> Any:
        """The tensor as the type of another one."""
        return self.type(other.type())

    def numpy(self) -> Any:
        """The elements as a NumPy array, on the same memory."""
        return self.array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.array, dtype) if copy or dtype else self.array

    def __len__(self) -> int:
        return self._sizes[0] if self._sizes else 0

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(1, len(self) + 1))

    def _key(self, key: Any) -> Any:
        if isinstance(key, View):
            return key.array.astype(bool)
        if isinstance(key, int):
            if key == 0:
                raise IndexError("0 is no index: numbers run from 1")
            return key - 1 if key > 0 else key
        if isinstance(key, (list, tuple)):
            return tuple(slice(None) if k == [] or k == () else self._key(k) if isinstance(k, int)
                         else slice(k[0] - 1, k[-1]) for k in key)
        raise TypeError(f"{key!r} is no index: numbers from 1, lists of them, [first, last], masks")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("torch7.Tensor", name, self)

    def __getitem__(self, key: Any) -> Any:
        found = self.array[self._key(key)]
        if np.ndim(found) == 0:
            return found.item()
        return type(self)(found, dtype=found.dtype) if isinstance(key, View) else self._of(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[self._key(key)] = value.array if isinstance(value, View) else value

    def __repr__(self) -> str:
        wide = "x".join(map(str, self._sizes)) or "0"
        word = "size" if self.dim() == 1 else "dimension"
        return f"{self.array}\n[{self.type()} of {word} {wide}]"


for _name in NAMES.values():
    setattr(View, _name.lower(),
            lambda self, *device, _name=_name: self.type(f"torch.{_name}Tensor"))
View.real = View.double  # type: ignore[attr-defined]
View.cuda = View.float  # type: ignore[attr-defined]
