"""Tables and files of known datasets: as their publishers wrote them, missing, or damaged."""

import gzip
import io
import sys
import tarfile
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import data
from agnesi.data import datasets, tables

COLUMNS = {"x": [1, 2, 3], "y": [0.5, 1.5, 2.5], "kind": ["b", "a", "b"], "on": [True, False, True]}


def test_columns_become_a_matrix_and_targets():
    whole = data.from_frame(COLUMNS, target="kind")
    x, y = whole.take(slice(None))
    assert x.tolist() == [[1, 0.5, 1], [2, 1.5, 0], [3, 2.5, 1]] and x.dtype == ag.float32
    assert y.tolist() == [1, 0, 1] and whole.classes == ["a", "b"]
    some = data.from_frame(COLUMNS, target="x", columns=["y"], dtype="float64")
    assert some.take([1])[0].tolist() == [[1.5]] and some[1][1].dtype == ag.int64
    assert data.from_frame(COLUMNS, columns=["x"])[0][0].tolist() == [1]
    with pytest.raises(ValueError, match="column 'kind' holds"):
        data.from_frame(COLUMNS)
    with pytest.raises(KeyError, match=r"no column \['z'\], but \['x'"):
        data.from_frame(COLUMNS, target="z", columns=["x"])


class Column:
    """A column of a frame, as pandas or pyarrow have them."""

    def __init__(self, values, arrow):
        self.values, self.arrow = np.asarray(values), arrow

    def to_numpy(self, **keywords):
        if keywords and not self.arrow:
            raise TypeError("to_numpy() got an unexpected keyword argument")
        return self.values


@pytest.mark.parametrize("arrow", [False, True])
def test_frames_of_other_libraries(arrow):
    class Frame:
        def __getitem__(self, name):
            return Column(COLUMNS[name], arrow)

    setattr(Frame, "column_names" if arrow else "columns", list(COLUMNS))
    assert data.from_frame(Frame(), target="kind").take([0])[0].tolist() == [[1, 0.5, 1]]


def test_csv_files_by_whatever_is_installed(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text('x,name,y\n1,"a, b",2.5\n2,c,\n', encoding="utf-8-sig")
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = data.read_csv(path, target="name")
    assert found.classes == ["a, b", "c"]
    np.testing.assert_equal(found.take([0, 1])[0].numpy(), [[1, 2.5], [2, np.nan]])
    assert data.read_csv(path, columns=["x"])[1][0].tolist() == [2]
    with pytest.raises(ImportError, match="pandas"):
        data.read_csv(path, sep=";")
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(ag.FileFormatError, match="row 3 has 1 fields, the header 2"):
        data.read_csv(path)
    asked = []
    frame = types.SimpleNamespace(read_csv=lambda p, **options: asked.append(options) or COLUMNS)
    monkeypatch.setitem(sys.modules, "pandas", frame)
    assert data.read_csv(path, target="kind", sep=";").classes == ["a", "b"]
    assert asked == [{"sep": ";"}]
    monkeypatch.setitem(sys.modules, "pandas", None)
    arrow = types.ModuleType("pyarrow")
    arrow.csv = types.SimpleNamespace(read_csv=lambda p: COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    assert data.read_csv(path, target="kind").classes == ["a", "b"]


def test_parquet_files_by_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pyarrow"):
        data.read_parquet("x.parquet")
    asked = []
    arrow = types.ModuleType("pyarrow")
    arrow.parquet = types.SimpleNamespace(
        read_table=lambda path, columns: asked.append((path, columns)) or COLUMNS
    )
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    assert len(data.read_parquet("x.parquet", target="kind", columns=["y"])) == 3
    assert asked == [("x.parquet", ["y", "kind"])]
    assert tables._typed(["1", "2"]).dtype == np.int64 and tables._typed([]).dtype == np.int64


def test_scikit_learns_datasets():
    found = {
        name: getattr(datasets, name)()
        for name in ("digits", "iris", "wine", "breast_cancer", "diabetes")
    }
    assert [len(d) for d in found.values()] == [1797, 150, 178, 569, 442]
    assert found["digits"][0][0].dtype == ag.float32 and found["iris"][0][1].dtype == ag.int64
    assert found["diabetes"].classes is None and found["diabetes"][0][1].dtype == ag.float32


def idx(array):
    code = {"u1": 8, "i2": 11, "f4": 13}[array.dtype.str[1:]]
    sizes = b"".join(n.to_bytes(4, "big") for n in array.shape)
    return (
        bytes([0, 0, code, array.ndim])
        + sizes
        + array.astype(array.dtype.newbyteorder(">")).tobytes()
    )


def test_mnist(tmp_path):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (5, 28, 28), np.uint8), np.arange(5, dtype=np.uint8)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(images))
    with pytest.raises(FileNotFoundError, match=r"no train-labels-idx1-ubyte.*get it from"):
        datasets.mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    x, y = datasets.mnist(tmp_path).take([3, 1])
    assert (x.numpy() == images[[3, 1]]).all() and y.tolist() == [3, 1]
    with pytest.raises(ValueError, match="split must be one of train, test"):
        datasets.mnist(tmp_path, "validation")
    path = tmp_path / "numbers"
    for array in (np.arange(6, dtype=np.int16).reshape(2, 3) - 3, np.float32([1.5]).reshape(1, 1)):
        path.write_bytes(idx(array))
        found = datasets.read_idx(path)
        assert (found == array).all() and found.dtype == array.dtype
    whole = path.read_bytes()
    for bad, told in [
        (whole[:-1], "cut off"),
        (whole + b"x", "damaged"),
        (b"", "no IDX"),
        (b"\1" + whole[1:], "no IDX"),
        (bytes([0, 0, 8, 200]), "no IDX"),
        (bytes([0, 0, 13, 2]) + b"\xff" * 8, "takes 737869762"),
        (bytes([0, 0, 8, 9]) + b"\xff" * 32 + bytes(4), "damaged"),
    ]:
        path.write_bytes(bad)
        with pytest.raises(ag.FileFormatError, match=told):
            datasets.read_idx(path)
    packed = tmp_path / "numbers.gz"
    squeezed = bytearray(gzip.compress(whole))
    squeezed[10:14] = b"\xff" * 4  # no block of zlib's begins so
    for bad in (gzip.compress(whole)[:-9], b"no gzip file", bytes(squeezed)):
        packed.write_bytes(bad)
        with pytest.raises(ag.FileFormatError, match="damaged"):
            datasets.read_idx(packed)


def test_parquet_files_that_are_damaged_are_named(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"a": np.arange(50.0), "y": np.arange(50)}), path)
    whole = path.read_bytes()
    for k in range(4, len(whole), 20):
        path.write_bytes(whole[:k] + b"\xff" * 20 + whole[k + 20 :])
        try:
            data.read_parquet(path, target="y")
        except ag.FileFormatError as error:
            assert f"read_parquet: {path}: " in str(error)


def archive(path, files):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("labels", [1, 2])
def test_cifar(labels, tmp_path):
    read = datasets.cifar10 if labels == 1 else datasets.cifar100
    rows = np.random.default_rng(0).integers(0, 10, (10, labels + 3072), np.uint8)
    with pytest.raises(FileNotFoundError, match="binary version"):
        read(tmp_path)
    names = [f"data_batch_{k}.bin" for k in range(1, 6)] if labels == 1 else ["train.bin"]
    parts = dict(zip(names, np.split(rows, len(names)), strict=True))
    archive(
        tmp_path / f"cifar-{10 if labels == 1 else 100}-binary.tar.gz",
        {f"cifar/{name}": part.tobytes() for name, part in parts.items()},
    )
    x, y = read(tmp_path).take(slice(None))
    assert x.shape == (10, 3, 32, 32) and (x.numpy().reshape(10, -1) == rows[:, labels:]).all()
    assert y.tolist() == rows[:, labels - 1].tolist()
    inside = tmp_path / "inside" / "cifar-batches"
    inside.mkdir(parents=True)
    for name, part in parts.items():
        (inside / name).write_bytes(part.tobytes())
    assert read(inside.parent)[7][1].tolist() == rows[7, labels - 1]
    (inside / names[0]).write_bytes(b"x" * 100)
    with pytest.raises(ag.FileFormatError, match="cut off"):
        read(inside)
    packed = next(tmp_path.glob("*.tar.gz"))
    packed.write_bytes(packed.read_bytes()[:200])
    with pytest.raises(ag.FileFormatError, match="damaged"):
        read(tmp_path)


def test_ptb(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ptb\.test\.txt"):
        datasets.ptb(tmp_path, "test")
    archive(
        tmp_path / "simple-examples.tgz",
        {
            "./simple-examples/data/ptb.train.txt": b" the cat \n the dog \n",
            "./simple-examples/data/ptb.test.txt": b" the cow \n",
        },
    )
    tokens, tokenizer = datasets.ptb(tmp_path)
    assert tokenizer.decode(tokens) == "the cat <eos> the dog <eos>"
    test, _ = datasets.ptb(tmp_path, "test")
    assert (datasets.ptb(tmp_path, "test", tokenizer)[0] == test).all()
    assert tokenizer.decode(test) == "the <unk> <eos>"
    (tmp_path / "ptb.train.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ag.FileFormatError, match="is no text"):
        datasets.ptb(tmp_path)


def test_imdb(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"aclImdb_v1\.tar\.gz"):
        datasets.imdb(tmp_path)
    files = {
        "aclImdb/train/pos/0_9.txt": "good é".encode(),
        "aclImdb/train/neg/0_1.txt": b"bad",
        "aclImdb/train/unsup/0_0.txt": b"neither",
        "aclImdb/test/pos/0_8.txt": b"fine",
        "aclImdb/train/pos.feat": b"no text",
    }
    archive(tmp_path / "aclImdb_v1.tar.gz", files)
    want = ["bad", "good é"], [0, 1]
    texts, labels = datasets.imdb(tmp_path)
    assert (texts, labels.tolist()) == want
    for name, content in files.items():
        path = tmp_path / "unpacked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for place in (tmp_path / "unpacked", tmp_path / "unpacked" / "aclImdb"):
        texts, labels = datasets.imdb(place)
        assert (texts, labels.tolist()) == want


def test_errors_of_a_table_name_its_file(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(ValueError, match=r"read_csv: .*some\.csv: column 'b' holds"):
        data.read_csv(path)
    with pytest.raises(KeyError, match=r"read_csv: .*some\.csv: the table has no column \['c'\]"):
        data.read_csv(path, target="c")


@pytest.mark.parametrize("rows", ["1,2,3\n4\n", "7,2,3\n9,5,6\n", "x,2,3\ny,5,6\n", "1,2,3,4\n"])
def test_fields_that_a_header_does_not_name_are_no_index(tmp_path, rows):
    """pandas makes an index of the first ones, which no sample has then."""
    path = tmp_path / "some.csv"
    path.write_text("a,b\n" + rows)
    with pytest.raises(ValueError, match=r"some\.csv: rows have [34] fields, the header"):
        data.read_csv(path)
    if rows[0] in "7x":
        assert data.read_csv(path, index_col=0)[1][0].tolist() == [5, 6]
