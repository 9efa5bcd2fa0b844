"""Torch7's files: known bytes, values back and forth, every module, hostile files."""

from __future__ import annotations

import contextlib
import inspect
import struct

import numpy as np
import pytest

import agnesi as ag
from agnesi.compat import torch7 as torch
from agnesi.compat.torch7 import nn

MODES = ("binary", "ascii", "b32", "b64")


def packed(*parts):
    """Binary: ints of 4 bytes, longs as ("q", n), floats of 8, texts with their lengths."""
    found = b""
    for p in parts:
        if isinstance(p, bytes):
            found += struct.pack("<i", len(p)) + p
        elif isinstance(p, float):
            found += struct.pack("<d", p)
        else:
            found += struct.pack("<q", p[1]) if isinstance(p, tuple) else struct.pack("<i", p)
    return found


#: {1.5, x = true} as Torch7 writes it, and a view of two elements of a storage.
TABLE = packed(3, 1, 2, 1, 1.0, 1, 1.5, 2, b"x", 5, 1)
TENSOR = packed(4, 1, b"V 1", b"torch.DoubleTensor", 1, ("q", 2), ("q", 2), ("q", 2),
                4, 2, b"V 1", b"torch.DoubleStorage", ("q", 4), 1.0, 2.0, 3.0, 4.0)
TEXT = (b"4\n1\n3\nV 1\n16\ntorch.LongTensor\n2\n2 2\n2 1\n1\n4\n2\n3\nV 1\n17\ntorch.LongStorage"
        b"\n4\n1 2 3 4\n")


def test_known_bytes():
    assert torch.deserialize(TABLE) == {1: 1.5, "x": True}
    assert torch.serialize({1: 1.5, "x": True}) == TABLE
    x = torch.deserialize(TENSOR)
    assert x.type() == "torch.DoubleTensor" and x.totable() == [2, 4] and len(x.storage()) == 4
    assert torch.serialize(x) == TENSOR
    y = torch.deserialize(TEXT, "ascii")
    assert y.type() == "torch.LongTensor" and y.totable() == [[1, 2], [3, 4]]
    assert torch.serialize(y, "ascii") == TEXT


@pytest.mark.parametrize("mode", MODES)
def test_values_come_back(mode, tmp_path):
    x = torch.randn(3, 4)
    value = {"a": [1, 2.5, "text\nof \udcff lines", True, [], {"b": -0.25}], "x": x,
             "row": x.select(1, 2),
             "s": torch.LongStorage([5, 6]), 3: "three", 0.5: False,
             **{n: torch.Tensor([[1, 0], [2, 3]], dtype=n) for n in
                ("uint8", "int8", "int16", "int32", "int64", "float32")},
             "empty": torch.Tensor(), "odd": torch.Tensor([np.inf, -np.inf, 1e-300])}
    value["a"].append(value["a"])
    path = tmp_path / "x.t7"
    torch.save(path, value, mode)
    found = torch.load(path, mode)
    assert found["a"][:6] == value["a"][:6] and found["a"][6] is found["a"]
    assert list(found) == list(value) and found[3] == "three" and found["s"] == [5, 6]
    for name, t in value.items():
        if torch.isTensor(t):
            assert found[name].type() == t.type()
            assert np.array_equal(found[name].array, t.array), name
    found["row"].fill(7)
    assert found["x"].array[1].tolist() == [7] * 4
    assert isinstance(found["a"][0], int) and isinstance(found["a"][3], bool)


SAMPLES = {
    "AddConstant": (2,), "MulConstant": (2,), "Bottle": (nn.Linear(2, 2),), "Clamp": (-1, 1),
    "Constant": (torch.ones(2),), "Collapse": (2,), "CMul": (2, 3), "CAdd": (2, 3),
    "Decorator": (nn.Linear(2, 2),), "DontCast": (nn.Linear(2, 2),), "GPU": (nn.Linear(2, 2),),
    "MapTable": (nn.Linear(2, 2),), "NaN": (nn.Linear(2, 2),), "Profile": (nn.Linear(2, 2),),
    "WeightNorm": (nn.Linear(2, 2),), "Padding": (1, 2), "Power": (2,), "Narrow": (1, 1, 1),
    "Replicate": (2,), "Select": (1, 1), "Unsqueeze": (1,), "Normalize": (2,), "Threshold": (),
    "Reshape": (2, 3), "View": (-1, 6), "Transpose": ((1, 2),), "SpatialZeroPadding": (1, 1, 1, 1),
    "SpatialReflectionPadding": (1, 1, 1, 1), "SpatialReplicationPadding": (1, 1, 1, 1),
    "VolumetricReplicationPadding": (1, 1, 1, 1, 1, 1), "L1Penalty": (0.1,),
    "SpatialConvolutionMap": (nn.tables.full(2, 3), 2, 2), "Convert": ("bf", "bf"),
    "SpatialFullConvolutionMap": (nn.tables.full(2, 3), 2, 2),
    "SpatialMaxUnpooling": (nn.SpatialMaxPooling(2, 2),),
    "VolumetricMaxUnpooling": (nn.VolumetricMaxPooling(2, 2, 2),),
    "CriterionTable": (nn.MSECriterion(),), "ModuleCriterion": (nn.MSECriterion(),),
    "WeightedMSECriterion": (torch.ones(2),), "SpatialUpSamplingBilinear": (2,), "UpSampling": (2,),
    "SpatialConvolutionLocal": (1, 2, 4, 4, 2, 2), "MaskedSelect": (),
}
KINDS = sorted(n for n, c in vars(nn).items() if inspect.isclass(c)
               and issubclass(c, (nn.Module, nn.Criterion)))


@pytest.mark.share(4)
@pytest.mark.parametrize("name", KINDS)
def test_every_module_comes_back(name):
    kind = getattr(nn, name)
    needed = [p for p in inspect.signature(kind).parameters.values()
              if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    module = kind(*SAMPLES.get(name, (2,) * len(needed)))
    for w in module.parameters()[0] if issubclass(kind, nn.Module) else ():
        w.uniform(1, 2)
    found = torch.deserialize(torch.serialize(module))
    assert type(found) is type(module)
    kept = {k: v for k, v in vars(module).items()
            if torch.isTensor(v) or isinstance(v, (int, float, str, bool))}
    for key, v in kept.items():
        again = getattr(found, key)
        assert np.array_equal(again.array, v.array) if torch.isTensor(v) else again == v, key
    if issubclass(kind, nn.Module):
        for a, b in zip(found.parameters()[0], module.parameters()[0], strict=True):
            assert np.array_equal(a.array, b.array)


def test_networks_compute_the_same():
    net = nn.Sequential().add(nn.SpatialConvolution(1, 3, 3, 3, 1, 1, 1)).add(nn.ReLU())
    net.add(nn.SpatialBatchNormalization(3)).add(nn.SpatialMaxPooling(2, 2, 2, 2).ceil())
    net.add(nn.View(-1).setNumInputDims(3)).add(nn.Dropout(0.0)).add(nn.Linear(27, 2))
    shared = nn.Linear(2, 2, False)
    net.add(nn.ConcatTable().add(shared).add(nn.Sequential().add(shared).add(nn.Tanh())))
    net.add(nn.JoinTable(2)).add(nn.LogSoftMax())
    x = torch.randn(4, 1, 5, 5)
    net.forward(x)
    net.evaluate()
    expected = net.forward(x).array.copy()
    for mode in MODES:
        found = torch.deserialize(torch.serialize(net, mode), mode)
        assert found.modules[0].train is False
        np.testing.assert_array_equal(found.forward(x).array, expected)
        table = found.get(8)
        assert table.get(1) is table.get(2).get(1)


def test_a_module_as_torch7_keeps_it():
    w, b = torch.Tensor([[1, 2, 3], [4, 5, 6]]), torch.Tensor([1, -1])
    fields = {"weight": w, "bias": b, "gradWeight": w.clone(), "gradBias": b.clone(),
              "output": torch.Tensor(), "gradInput": torch.Tensor(), "_type": "torch.DoubleTensor",
              "train": False}
    body = torch.serialize(fields)
    data = packed(4, 999, b"V 1", b"nn.Linear") + body
    found = torch.deserialize(data)
    assert found.forward(torch.ones(3)).totable() == [7, 14] and found.train is False
    old = torch.deserialize(packed(4, 999, b"nn.Linear") + body)  # before versions were written
    assert old.weight.totable() == w.totable()


HOSTILE = {
    "empty": (b"", "is cut off"), "kind": (packed(77), "no kind 77"),
    "function": (packed(8, 1, b"code"), "a function, whose Lua code is not executed"),
    "cut": (TENSOR[:-5], "is cut off"), "long text": (packed(2, 2**31 - 1), "is cut off"),
    "negative text": (packed(2, -5), "is cut off"),
    "entries": (packed(3, 1, 2**30), "a table of 1073741824 entries"),
    "nil key": (packed(3, 1, 1, 0, 0), "keys are not numbers"),
    "class": (packed(4, 1, b"V 1", b"os.execute", 3, 2, 0), "the class 'os.execute'"),
    "no module": (packed(4, 1, b"V 1", b"nn.functional", 3, 2, 0), "the class 'nn.functional'"),
    "no fields": (packed(4, 1, b"V 1", b"nn.Linear", 0), "holds no table"),
    "no weight": (packed(4, 1, b"V 1", b"nn.Linear", 3, 2, 0), "do not fit together"),
    "no size": (packed(4, 1, b"V 1", b"nn.SpatialMaxPooling", 3, 2, 0), "without its field 'kW'"),
    "itself": (packed(4, 1, b"V 1", b"nn.Bottle", 3, 2, 1, 2, b"module", 4, 1), "holds itself"),
    "axes": (packed(4, 1, b"V 1", b"torch.ByteTensor", 2**20), "of 1048576 axes"),
    "outside": (TENSOR.replace(packed(("q", 2), ("q", 2), ("q", 2)),
                               packed(("q", 3), ("q", 2), ("q", 2))), "in a storage of 4"),
    "before": (TENSOR.replace(packed(("q", 2), ("q", 2), ("q", 2)),
                              packed(("q", 2), ("q", -2), ("q", 2))), "in a storage of 4"),
    "huge": (TENSOR.replace(packed(("q", 2), ("q", 2), ("q", 2)),
                            packed(("q", 2**62), ("q", 0), ("q", 2))), "of sizes"),
    "storage": (packed(4, 1, b"V 1", b"torch.IntStorage", ("q", 2**62)), "is cut off"),
    "other storage": (TENSOR.replace(b"DoubleStorage", b"LongerStorage"), "no file of Torch7's"),
    "deep": (b"".join(packed(3, i, 1, 1, 1.0) for i in range(1, 5000)), "nested deeper"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name, tmp_path):
    data, words = HOSTILE[name]
    path = tmp_path / "bad.t7"
    path.write_bytes(data)
    with pytest.raises(ag.FileFormatError, match=words) as caught:
        torch.load(path)
    assert "bad.t7" in str(caught.value) and "test_torch7_files.py" in str(caught.value)


def test_any_bytes_give_one_clear_error():
    random = np.random.default_rng(0)
    net = nn.Sequential().add(nn.Linear(2, 2)).add(nn.Dropout(0.2))
    for mode in ("binary", "ascii"):
        good = torch.serialize([net, {"x": torch.ones(2, 2)}, "text"], mode)
        for _ in range(300):
            data = bytearray(good)
            for _ in range(random.integers(1, 4)):
                data[random.integers(len(data))] = random.integers(256)
            end = random.integers(len(data) + 1) if random.random() < 0.3 else None
            with contextlib.suppress(ag.FileFormatError):
                torch.deserialize(bytes(data[:end]), mode)


def test_what_is_no_value_of_theirs():
    with pytest.raises(TypeError, match=r"hold numbers, texts.*not"):
        torch.serialize([object()])
    with pytest.raises(TypeError, match="Own is no module of nn"):
        torch.serialize({"net": nn.Sequential().add(type("Own", (nn.Linear,), {})(2, 2))})
    with pytest.raises(ValueError, match="no mode 'text'"):
        torch.serialize(1, "text")
    with pytest.raises(OSError, match="cannot be read"):
        torch.load("/nowhere/x.t7")
