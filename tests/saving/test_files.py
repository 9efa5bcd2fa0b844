"""Tensors to safetensors files and back; what is no such file is refused, and changes nothing."""

import json
import os
import threading
import tracemalloc
import zlib

import ml_dtypes
import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, saving
from agnesi.saving import header, pieces, sums

TYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    ml_dtypes.bfloat16,
]


def foreign(entries, data=b"", metadata=None, length=None):
    """A file as other libraries write it, from the JSON of its header."""
    if isinstance(entries, bytes):
        text = entries
    else:
        meta = {} if metadata is None else {"__metadata__": metadata}
        text = json.dumps({**meta, **entries}).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def bits(t):
    return t.dtype, t.shape, np.asarray(t.array).tobytes()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_dtype_and_shape_comes_back(dtype, tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        f"s{len(shape)}.{np.prod(shape)}": ag.tensor((rng.standard_normal(shape) * 9).astype(dtype))
        for shape in [(), (3,), (0, 4), (2, 3, 5), (1,) * 7]
    }
    saving.save_file(arrays, tmp_path / "a.safetensors")
    found = saving.load_file(tmp_path / "a.safetensors")
    assert {n: bits(t) for n, t in found.items()} == {n: bits(t) for n, t in arrays.items()}
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_values_lie_anyhow_and_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(header, "CHECKSUM_BYTES", 64)
    for module in ("files", "pieces"):
        monkeypatch.setattr(f"agnesi.saving.{module}.CHECKSUM_BYTES", 64)
    monkeypatch.setattr("agnesi.saving.pieces.READ_BYTES", 24)
    wide = np.arange(600, dtype=">i4").reshape(20, 30)
    state = {
        "turned": np.arange(60.0).reshape(6, 10).T,
        "strided": wide[::3, ::-2],
        "texts é": [1, 2],
    }
    saving.save_file(state, tmp_path / "a", {"who": "me"})
    with saving.open_file(tmp_path / "a") as file:
        assert file.metadata == {"format": "pt", "who": "me"}
        assert len(file) == 3 and set(file) == set(state)
        for name, value in state.items():
            assert (file.get_tensor(name).numpy() == value).all()
            assert (np.asarray(file[name]) == value).all()
        assert np.asarray(file["strided"], np.float64).dtype == np.float64
        assert repr(file["turned"]) == "StoredTensor('turned', float64[10, 6])"
        with pytest.raises(KeyError, match="no tensor 'other'"):
            file["other"]
    assert list(saving.load_file(tmp_path / "a", ["turned"])) == ["turned"]


def test_files_of_other_libraries(tmp_path):
    path = tmp_path / "a.safetensors"
    data = np.array([1.5, -2.0], "<f4").tobytes() + np.array([7], "<i8").tobytes()
    path.write_bytes(
        foreign({"b": entry("I64", (1,), (8, 16)), "a": entry()}, data, {"format": "pt"})
    )
    found = saving.load_file(path)
    assert found["a"].tolist() == [1.5, -2.0] and found["b"].tolist() == [7]
    path.write_bytes(foreign({}))
    assert saving.load_file(path) == {}


def test_older_files_have_other_checksums(tmp_path):
    data = np.arange(2, dtype="<f4").tobytes()
    told = {"agnesi.crc32": json.dumps({"a": f"{zlib.crc32(data):08x}"})}
    path = tmp_path / "old"
    path.write_bytes(foreign({"a": entry()}, data, told))
    assert saving.load_file(path)["a"].tolist() == [0, 1]
    path.write_bytes(foreign({"a": entry()}, data[::-1], told))
    with pytest.raises(ag.FileFormatError, match="'a' differs from its checksum"):
        saving.load_file(path)


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path):
    path = tmp_path / "a"
    saving.save_file({"a": ag.ones(10_000), "b": ag.ones(10_000)}, path)
    with saving.open_file(path) as file:
        os.truncate(path, 20_000)
        with pytest.raises(ag.FileFormatError, match="was cut off while it was read"):
            file.get_tensor("b")


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_checksums_tell_damage_of_words_rows_and_length(rows):
    _check_sums(rows)


def _check_sums(rows):
    size = 4 * sums.LANES
    data = np.random.default_rng(0).integers(0, 256, rows * size + 7, np.uint8)
    want = sums.lanes(memoryview(data))
    parts = sums.Lanes()
    for begin in range(0, len(data), size):
        parts.add(memoryview(data)[begin : begin + size])
    assert parts.value() == want
    damaged = [data[:-1], np.append(data, 0).astype(np.uint8)]
    for place in range(0, len(data), max(1, len(data) // 50)):
        damaged.append(data.copy())
        damaged[-1][place] ^= 0x80
    if rows > 1:
        damaged.append(np.concatenate([data[size : 2 * size], data[:size], data[2 * size :]]))
    assert want not in {sums.lanes(memoryview(np.ascontiguousarray(d))) for d in damaged}
    return want


@pytest.mark.parametrize("rows", [3, 4, 9])
def test_native_checksums_are_those_of_numpy(monkeypatch, rows):
    with ag.config(compile=False):
        by_numpy = _check_sums(rows)
    monkeypatch.setattr(sums, "_waited", sums._WAITING_BYTES + 1)
    assert sums._native(np.zeros(1, "<u4")) is not None
    assert _check_sums(rows) == by_numpy


def test_tensors_are_read_straight_into_modules(tmp_path):
    net = nn.Sequential(nn.Linear(300, 200), nn.BatchNorm1d(200))
    saving.save_file(net.state_dict(copy=False), tmp_path / "net")
    other = nn.Sequential(nn.Linear(300, 200), nn.BatchNorm1d(200)).to("float64")
    weight = other[0].weight
    before = (weight * 2).sum()
    with saving.open_file(tmp_path / "net") as file:
        other.load_state_dict(file)
    assert other[0].weight is weight and weight.dtype == ag.float64
    assert (weight.numpy() == net[0].weight.numpy()).all()
    assert float((weight * 2).sum()) != float(before)
    small = nn.Sequential(nn.Linear(300, 200), nn.BatchNorm1d(100))
    with saving.open_file(tmp_path / "net") as file, pytest.raises(ValueError, match="has shape"):
        small.load_state_dict(file)


def test_saving_and_loading_take_the_memory_of_one_tensor(tmp_path):
    nbytes = 1 << 22
    net = nn.ModuleList([nn.Linear(1024, 1024, bias=False) for _ in range(4)])
    net[0].weight.array = np.asfortranarray(net[0].weight.array)
    tracemalloc.start()
    try:
        saving.save_file(net.state_dict(copy=False), tmp_path / "net")
        saved = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        with saving.open_file(tmp_path / "net") as file:
            net.load_state_dict(file)
        loaded = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(saved, loaded) <= 1.1 * nbytes + (1 << 18) * 4


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "fewer than the eight"),
        (b"\x80\x04\x95", "fewer than the eight"),
        (b"PK\x03\x04" + b"\0" * 40, "begins as a zip file"),
        ((1 << 63).to_bytes(8, "little"), "header of 9223372036854775808 bytes"),
        (foreign({}, length=1), "no JSON"),
        (foreign(b"[1, 2]"), "no JSON object"),
        (foreign(b'{"a": 1'), "no JSON"),
        (foreign(b'{"a":' * 50_000), "no JSON"),
        (foreign(b'{"\xff": 1}'), "no JSON"),
        (foreign(b'{"a":' + b"9" * 5000 + b"}"), "no JSON"),
        (foreign(b'{"a":{}, "a":{}}'), "occurs twice"),
        (foreign({"a": 3}), "no dtype, shape and data_offsets"),
        (foreign({"a": {"dtype": "F32", "shape": [2]}}, b"\0" * 8), "no dtype, shape"),
        (foreign({"a": entry("F99")}, b"\0" * 8), "dtype F99"),
        (foreign({"a": entry(dtype=[1])}, b"\0" * 8), "dtype"),
        (foreign({"a": entry(shape=(-2,))}, b"\0" * 8), "no sizes"),
        (foreign({"a": entry(shape=(2.0,))}, b"\0" * 8), "no sizes"),
        (foreign({"a": entry(shape=(True, 2))}, b"\0" * 8), "no sizes"),
        (foreign({"a": entry(shape=(1,) * 65)}, b"\0" * 8), "no sizes"),
        (foreign({"a": entry(offsets=(0, 8, 9))}, b"\0" * 8), "no sizes"),
        (foreign({"a": entry(shape=(1 << 62, 1 << 62))}, b"\0" * 8), "data_offsets"),
        (foreign({"a": entry(shape=(0, 1 << 90), offsets=(0, 0))}), "beyond any memory"),
        (foreign({"a": entry(offsets=(8, 0))}, b"\0" * 8), "data_offsets"),
        (foreign({"a": entry(), "b": entry(offsets=(4, 12))}, b"\0" * 12), "overlap"),
        (
            foreign({"a": entry(), "b": entry(offsets=(12, 20))}, b"\0" * 20),
            "overlap, or leave a gap",
        ),
        (foreign({"a": entry()}, b"\0" * 7), "is cut off"),
        (foreign({"a": entry()}, b"\0" * 9), "belong to no tensor"),
        (
            foreign({"a": entry(offsets=(1 << 70, (1 << 70) + 8))}, b"\0" * 8),
            "overlap, or leave a gap",
        ),
        (foreign({}, metadata={"a": 1}), "not texts"),
        (foreign({}, metadata=[]), "not texts"),
        (foreign({}, metadata={"agnesi.header": "zzzz"}), "header differs"),
        (foreign({"a": entry()}, b"\0" * 8, {"agnesi.crc32": "{"}), "not those of its tensors"),
        (
            foreign({"a": entry()}, b"\0" * 8, {"agnesi.crc32": '{"a": ""}'}),
            "not those of its tensors",
        ),
        (
            foreign({"a": entry()}, b"\0" * 8, {"agnesi.crc32": '{"a": "x"}'}),
            "not those of its tensors",
        ),
        (foreign({"a": entry()}, b"\0" * 8, {"agnesi.crc32": '{"a": "1"}'}), "'a' differs"),
    ],
)
def test_hostile_files_are_refused(content, told, tmp_path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(saving.FileFormatError, match=r"bad\.safetensors") as error:
        saving.load_file(path)
    assert told in str(error.value)
    assert len(str(error.value)) < 1000
    net = nn.ParameterDict({"a": ag.ones(2)})
    with pytest.raises(saving.FileFormatError), saving.open_file(path) as file:
        net.load_state_dict(file)
    assert net["a"].tolist() == [1, 1]


def test_endings_of_other_formats_are_refused(tmp_path):
    net = nn.Linear(2, 2)
    for name, told in (("m.onnx", "ONNX"), ("w.npz", "numpy.savez"), ("M.H5", "h5py"),
                       ("net.json", "to_config")):
        for save in (lambda p: ag.save(net, p), lambda p: saving.save_checkpoint(p, model=net),
                     lambda p: saving.save_file(net.state_dict(), p)):
            with pytest.raises(ValueError, match=told) as error:
                save(tmp_path / name)
            assert "safetensors" in str(error.value)
    for name in ("m.pt", "m.pth", "m.ckpt", "m", "m.v2"):  # PyTorch's users take any name
        ag.save(net.state_dict(), tmp_path / name)
        assert sorted(ag.load(tmp_path / name)) == ["bias", "weight"]
    assert len(list(tmp_path.iterdir())) == 5


def test_what_is_no_file_is_no_hang(tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(saving.FileFormatError, match="no file"):
            saving.load_file(tmp_path / "pipe")
    with pytest.raises(saving.FileFormatError, match="no file"):
        saving.load_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        saving.load_file(tmp_path / "nothing")


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    saving.save_file({"a": ag.ones(2)}, path)

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise OSError("the disk is gone")

    for bad, told in [
        ({"a": np.ones(2, complex)}, "complex128"),
        ({"a": np.array("x")}, "'a' is <U1"),
        ([1], "mapping"),
        ({3: ag.ones(1)}, "must be a text"),
        ({"a": ag.symbolic.vector()}, "no value"),
        ({"a": Broken()}, "disk"),
        ({"__metadata__": ag.ones(1)}, "__metadata__"),
    ]:
        with pytest.raises((TypeError, OSError), match=told):
            saving.save_file(bad, path)
    with pytest.raises(TypeError, match="must be a text"):
        saving.save_file({}, path, {"a": 1})
    with pytest.raises(OSError):
        saving.save_file({}, tmp_path / "no" / "folder")
    assert saving.load_file(path)["a"].tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["a"]


def test_files_are_shared_as_others_are(tmp_path):
    saving.save_file({}, tmp_path / "a")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_names_change_by_patterns():
    state = {
        "bert.layer.0.q.weight": 1,
        "bert.layer.1.q.weight": 2,
        "bert.layers": 3,
        "cls.bias": 4,
    }
    assert saving.rename(
        state, {"bert.layer.*.q": "blocks.*.query", "bert.layers": "n", "cls": None}
    ) == {"blocks.0.query.weight": 1, "blocks.1.query.weight": 2, "n": 3}
    assert saving.rename({"module.a": 1, "module.b.c": 2}, {"module": ""}) == {"a": 1, "b.c": 2}
    assert saving.rename({"h.0.a": 1, "b.c": 2}, {"h.*.": "k.*.", "b.": ""}) == {"k.0.a": 1, "c": 2}
    assert saving.rename({"a": 1, "b": 2}, lambda n: n.upper() if n == "a" else None) == {"A": 1}
    with pytest.raises(KeyError, match="'a' and 'b' both become 'b'"):
        saving.rename({"a": 1, "b": 2}, {"a": "b"})
    with pytest.raises(KeyError, match=r"\['x\.y'\] fit none"):
        saving.rename({"a": 1}, {"x.y": "b"})
    with pytest.raises(ValueError, match="more"):
        saving.rename({"a": 1}, {"a": "b.*"})


def test_one_thread_reads_where_the_configuration_says_one(tmp_path, monkeypatch):
    threads, fill = set(), pieces.Source._fill

    def noted(source, place, data):
        threads.add(threading.get_ident())
        fill(source, place, data)

    monkeypatch.setattr(pieces.Source, "_fill", noted)
    for module in ("header", "files", "pieces"):
        monkeypatch.setattr(f"agnesi.saving.{module}.CHECKSUM_BYTES", 1 << 16)
    values = np.arange(1 << 20)
    saving.save_file({"a": values}, tmp_path / "a")
    with ag.config(threads=1):
        assert (saving.load_file(tmp_path / "a")["a"].numpy() == values).all()
    assert threads == {threading.get_ident()}


def test_a_file_that_ends_within_a_tensor_is_refused_where_it_is_read(tmp_path):
    saving.save_file({"a": np.arange(1 << 16)}, tmp_path / "a")
    with saving.open_file(tmp_path / "a") as file:
        file.verify()
        os.truncate(tmp_path / "a", os.path.getsize(tmp_path / "a") - 9)
        with pytest.raises(saving.FileFormatError, match="was cut off while it was read"):
            file.get_tensor("a")
