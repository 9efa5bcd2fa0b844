"""The header of a safetensors file: what is where, as JSON behind eight bytes of its length.

The format is public: a little-endian uint64 n, n bytes of JSON that begin with ``{``, then the
tensors' bytes without gaps.  Of each tensor the JSON has ``dtype``, ``shape`` and
``data_offsets``; ``__metadata__`` maps texts to texts.  A header is believed only where all of it
fits together.
"""

from __future__ import annotations

import json
import math
import os
import sys
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, FileFormatError, at

#: The most bytes of a header, as the format's own implementation has it.
MAX_HEADER_BYTES = 100_000_000
#: Bytes of a tensor that have a checksum of their own.
CHECKSUM_BYTES = 1 << 23
METADATA = "__metadata__"
#: Keys of our metadata: checksums of the tensors' pieces, and of the header without its own; and
#: under which older files have CRC-32 sums of the pieces.
SUMS, OWN, OLDER = "agnesi.sums", "agnesi.header", "agnesi.crc32"
_BLANK = "0" * 8
#: How other files begin, and what reads them.
_OTHERS = {
    b"PK\x03\x04": "a zip file, as numpy.savez and torch.save write them: read it with numpy.load, "
    "or write it again with safetensors there",
    b"\x93NUMPY": "a file of numpy.save: read it with numpy.load",
    b"\x80": "a pickle: read it with pickle.load, if it comes from whom you trust",
    b"\x89HDF": "an HDF5 file, as Keras writes them: read it with h5py",
}
#: Endings of files that other programs read by a format of their own, and what writes those.
_FOREIGN = {
    **dict.fromkeys((".npy", ".npz"), "NumPy's files; numpy.save and numpy.savez take tensors"),
    ".onnx": "ONNX; nothing here writes it, and ag.jit(f).c_function() gives C code of a function",
    **dict.fromkeys((".h5", ".hdf5", ".keras"), "Keras's files; h5py takes np.asarray(tensor)"),
    ".mat": "MATLAB's; scipy.io.savemat takes np.asarray(tensor)",
    ".joblib": "joblib's; joblib.dump(model, path) writes one",
    **dict.fromkeys((".json", ".yaml", ".yml"), "texts; json.dumps(nn.to_config(model)) makes one "
                    "of a model's structure"),
    **dict.fromkeys((".csv", ".txt"), "texts; numpy.savetxt takes tensors"),
    **dict.fromkeys((".pb", ".tflite"), "TensorFlow's, which nothing here writes"),
    **dict.fromkeys((".gguf", ".ggml"), "llama.cpp's, which nothing here writes"),
    **dict.fromkeys((".msgpack", ".orbax"), "Flax's, which nothing here writes"),
    **dict.fromkeys((".png", ".jpg", ".jpeg"), "pictures; data.write_image(x, path) writes one"),
}
_TOKENS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "F16": "float16",
    "BF16": "bfloat16", "U32": "uint32", "I32": "int32", "F32": "float32", "U64": "uint64",
    "I64": "int64", "F64": "float64", "C64": "complex64",
}
_NAMES = {name: token for token, name in _TOKENS.items()}


class Entry(NamedTuple):
    """One tensor of a file: its type, and where its bytes are behind the header."""

    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """The header of a file: tensors by name, texts by name, and the offset of the tensors' bytes.
    """

    entries: dict[str, Entry]
    metadata: dict[str, str]
    start: int


def token(dtype: np.dtype, name: str) -> str:
    """The format's name of a dtype."""
    found = _NAMES.get(dtype.name)
    if found is None:
        raise DTypeError(at(f"{name!r} is {dtype}, which safetensors files cannot hold; convert it "
                            f"to one of {', '.join(_NAMES)}"))
    return found


# -- writing ------------------------------------------------------------------------------------
def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a path at which everybody looks for another format."""
    kind = _FOREIGN.get(os.path.splitext(os.fspath(path))[1].lower())
    if kind is not None:
        raise ValueError(at(f"save: {str(path)!r} ends as {kind}; what would be written is a "
                            "safetensors file: name it *.safetensors or *.agnesi"))


def plan(arrays: Mapping[str, np.ndarray]) -> dict[str, Entry]:
    """Places of arrays in a file: wide elements first, so that all are aligned."""
    found, end = {}, 0
    for name in sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize):
        array = arrays[name]
        token(array.dtype, name)
        found[name] = Entry(array.dtype, array.shape, end, end + array.nbytes)
        end += array.nbytes
    return found


def written(entries: Mapping[str, Entry], metadata: Mapping[str, str],
            sums: Mapping[str, Iterable[int]] | None = None) -> bytes:
    """A header; without the checksums as long as with them, in ``sums``."""
    texts = {
        name: " ".join(f"{n:08x}" for n in sums[name]) if sums is not None else
        " ".join([_BLANK] * pieces(e.end - e.begin))
        for name, e in entries.items()
    }
    header: dict[str, Any] = {METADATA: {
        **metadata, SUMS: json.dumps(texts, ensure_ascii=False, separators=(",", ":")), OWN: _BLANK,
    }}
    for name, e in entries.items():
        header[name] = {"dtype": token(e.dtype, name), "shape": list(e.shape),
                      "data_offsets": [e.begin, e.end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(at(f"names and metadata take {len(text)} bytes; the header of a "
                            f"safetensors file has at most {MAX_HEADER_BYTES}"))
    if sums is not None:
        own = f"{zlib.crc32(text):08x}"
        text = text.replace(_marked(_BLANK), _marked(own), 1)
    return len(text).to_bytes(8, "little") + text


def pieces(nbytes: int) -> int:
    """How many checksums a tensor has."""
    return -(-nbytes // CHECKSUM_BYTES)


def _marked(own: str) -> bytes:
    return f'"{OWN}":"{own}"'.encode()


# -- reading ------------------------------------------------------------------------------------
def read(file: Any, size: int, name: str) -> Header:
    """The header of an open file of so many bytes, once all of it is found to be true."""
    start = file.read(8)
    if len(start) < 8:
        raise refusal(name, f"is no safetensors file: its {size} bytes are fewer than the eight "
                            "of a header's length")
    length = int.from_bytes(start, "little")
    if length > min(MAX_HEADER_BYTES, size - 8):
        for begin, what in _OTHERS.items():
            if start.startswith(begin):
                raise refusal(name, f"is no safetensors file: it begins as {what}")
    if length > MAX_HEADER_BYTES:
        raise refusal(name, f"is no safetensors file: its first eight bytes tell of a header of "
                            f"{length} bytes; {MAX_HEADER_BYTES} are allowed")
    if length > size - 8:
        raise refusal(name, f"is cut off: its header has {length} bytes, {size - 8} are there")
    text = file.read(length)
    if len(text) < length or not text.startswith(b"{"):
        raise refusal(name, "is no safetensors file: its header is no JSON object")
    parsed = _parsed(text, name)
    metadata = parsed.pop(METADATA, {})
    if not (isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())):
        raise refusal(name, f"has {METADATA} that are not texts by name")
    _check_own(text, metadata, name)
    entries = {key: _entry(key, value, name) for key, value in parsed.items()}
    _check_places(entries, size - 8 - length, name)
    return Header(entries, metadata, 8 + length)


def refusal(name: str, reason: str) -> FileFormatError:
    """The error of a file that is refused."""
    return FileFormatError(at(f"{name} {reason}"))


def _parsed(text: bytes, name: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    try:
        found: dict[str, Any] = json.loads(text.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise refusal(name, f"is no safetensors file: its header is no JSON ({error})") from None
    return found


def _check_own(text: bytes, metadata: Mapping[str, str], name: str) -> None:
    own = metadata.get(OWN)
    blank = b"" if own is None else text.replace(_marked(own), _marked(_BLANK), 1)
    if own is not None and own != f"{zlib.crc32(blank):08x}":
        raise refusal(name, "is damaged: its header differs from its checksum")


def _entry(key: str, value: Any, name: str) -> Entry:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise refusal(name, f"tells no dtype, shape and data_offsets of {key!r}")
    kind, shape, places = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(kind, str) or kind not in _TOKENS:
        raise refusal(name, f"has {key!r} of dtype {str(kind)[:40]}; there are "
                            f"{', '.join(_TOKENS)} here")
    if not (_are_sizes(shape) and len(shape) <= 64 and _are_sizes(places) and len(places) == 2):
        raise refusal(name, f"has {key!r} whose shape or data_offsets are no sizes")
    dtype = dtypes.as_dtype(_TOKENS[kind])
    nbytes = math.prod(shape) * dtype.itemsize
    if places[1] - places[0] != nbytes:
        raise refusal(name, f"has {key!r} of {dtype}{shape}, which is {nbytes} bytes, at "
                            f"data_offsets {places}")
    if max(shape, default=0) > sys.maxsize:
        raise refusal(name, f"has {key!r} of shape {shape}, beyond any memory")
    return Entry(dtype, tuple(shape), *places)


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(n) is int and n >= 0 for n in values)


def _check_places(entries: Mapping[str, Entry], size: int, name: str) -> None:
    """Tensors' bytes are contiguous, and are all of the file."""
    end = 0
    for key, e in sorted(entries.items(), key=lambda pair: (pair[1].begin, pair[1].end)):
        if e.begin != end:
            raise refusal(name, f"has {key!r} at byte {e.begin}, though the tensors before it end "
                                f"at {end}: they overlap, or leave a gap")
        end = e.end
    if end != size:
        cut = "is cut off" if end > size else "has bytes that belong to no tensor"
        raise refusal(name, f"{cut}: its tensors have {end} bytes, {size} are there")
