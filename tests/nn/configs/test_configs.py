"""Networks from descriptions: plain data, YAML, Caffe's prototxt, and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.configs import yamls
from tests.nn.layer_samples import SAMPLES

LENET = """
name: "LeNet"  # after LeCun et al.
layer { name: "data" type: "Input" top: "data"
        input_param { shape: { dim: 2 dim: 1 dim: 9 dim: 9 } } }
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 }
  convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } }
}
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
        pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "norm" type: "LRN" bottom: "pool1" top: "norm" lrn_param { local_size: 3 } }
layer { name: "ip/1" type: "InnerProduct" bottom: "norm" top: "ip1"
        inner_product_param { num_output: 4 } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" relu_param { negative_slope: 0.1 } }
layer { name: "acc" type: "Accuracy" bottom: "ip1" bottom: "label" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip1" bottom: "label" top: "loss" }
"""


def test_a_prototxt_is_a_network():
    net = nn.from_config(LENET)
    x = ag.random.normal(size=(2, 1, 9, 9))
    scores = net(x)
    assert scores.shape == (2, 4)
    assert net.conv1.weight.shape == (3, 1, 3, 3) and net.ip_1.weight.shape == (4, 3 * 5 * 5)
    h = ag.nn.functional.max_pool(net.conv1(x), 2, 2, cover_all=True)
    h = net.ip_1(net.norm(h))
    assert np.allclose(scores, ag.where(h > 0, h, 0.1 * h), atol=1e-5)
    loss = net(x, label=ag.tensor([1, 3]))
    assert np.allclose(loss, nn.functional.cross_entropy(scores, ag.tensor([1, 3])), atol=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in net.parameters())
    step = ag.jit(lambda x: net(x))
    assert np.allclose(step(x), scores, atol=1e-5)
    again = nn.from_config(json.loads(json.dumps(nn.to_config(net))))
    again.load_state_dict(net.state_dict())
    assert np.allclose(again(x), scores, atol=1e-6)


def test_layers_of_caffes():
    text = """input: "data" input_dim: 2 input_dim: 4 input_dim: 5 input_dim: 5
    layers { name: "split" type: SPLIT bottom: "data" top: "a" top: "b" }
    layers { name: "half" type: SLICE bottom: "a" top: "c" top: "d" slice_param { slice_dim: 1 } }
    layers { name: "prod" type: ELTWISE bottom: "c" bottom: "d" top: "e"
             eltwise_param { operation: PROD } }
    layers { name: "ave" type: POOLING bottom: "b" top: "f"
             pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
    layer { name: "up" type: "Deconvolution" bottom: "f" top: "g"
            convolution_param { num_output: 2 kernel_h: 2 kernel_w: 3 stride: 2 bias_term: false } }
    layer { name: "bn" type: "BatchNorm" bottom: "e" top: "h" }
    layer { name: "sc" type: "Scale" bottom: "h" top: "h" scale_param { bias_term: true } }
    layer { name: "glob" type: "Pooling" bottom: "h" top: "i"
            pooling_param { pool: MAX global_pooling: true } }
    layer { name: "flat" type: "Flatten" bottom: "i" top: "j" }
    layer { name: "gone" type: "Silence" bottom: "g" }"""
    net = nn.from_config(text)
    net.eval()
    x = ag.random.normal(size=(2, 4, 5, 5))
    found = net(x)
    assert set(found) == {"g", "j"} and found["j"].shape == (2, 2)
    assert found["g"].shape == (2, 2, 6, 7)
    product = (x[:, :2] * x[:, 2:]).numpy()
    assert np.allclose(found["j"], product.max((2, 3)) / np.sqrt(1 + 1e-5), atol=1e-5)
    padded = np.pad(x.numpy(), [(0, 0)] * 2 + [(1, 1)] * 2)
    ave = padded[:, :, :3, :3].sum((2, 3)) / 9
    up = net.up(nn.from_config(text).ave(x))
    assert up.shape == (2, 2, 6, 7)
    assert np.allclose(net.ave(x)[:, :, 0, 0], ave, atol=1e-5)


@pytest.mark.parametrize(("kind", "given", "expected"), [
    ("TanH", {}, np.tanh), ("AbsVal", {}, np.abs), ("Sigmoid", {}, lambda x: 1 / (1 + np.exp(-x))),
    ("BNLL", {}, lambda x: np.log1p(np.exp(x))), ("Exp", {}, np.exp),
    ("Power", {"power": 2, "scale": 3, "shift": 1}, lambda x: (1 + 3 * x) ** 2),
    ("ELU", {"alpha": 2}, lambda x: np.where(x > 0, x, 2 * np.expm1(x))),
    ("Threshold", {"threshold": 0.5}, lambda x: x > 0.5),
    ("Reshape", {"shape": {"dim": [0, 2, 2]}}, lambda x: x.reshape(-1, 2, 2)),
    ("Softmax", {}, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
])
def test_functions_of_caffes(kind, given, expected):
    net = nn.from_config({"inputs": {"x": [3, 4]}, "layers": [
        {"type": kind, "inputs": ["x"], "outputs": ["y"], **given}]})
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    assert np.allclose(net(x), expected(x), atol=1e-5)


@pytest.mark.parametrize(("kind", "expected"), [
    ("EuclideanLoss", lambda x, t: ((x - t) ** 2).sum() / 6),
    ("SigmoidCrossEntropyLoss", lambda x, t: (np.log1p(np.exp(x)) - x * t).sum() / 3),
])
def test_losses_of_caffes(kind, expected):
    net = nn.from_config({"inputs": {"x": [3, 4], "t": [3, 4]}, "layers": [
        {"type": kind, "inputs": ["x", "t"], "outputs": ["y"]}]})
    x, t = np.random.default_rng(0).random((2, 3, 4)).astype(np.float32)
    assert np.allclose(net(x, t), expected(x, t), atol=1e-5)


def test_plain_yaml_and_json_say_the_same():
    text = """
    # a small net
    - type: Linear
      in_features: 4
      out_features: 8
      activation: relu
    - {type: Dropout, p: 0.25}
    - type: Sequential
      layers:
        - type: Linear
          in_features: 8
          out_features: 2
          bias: false
        - type: Softmax
          dim: 1
    """
    net = nn.from_config(text)
    data = nn.to_config(net)
    assert nn.to_config(nn.from_config(json.dumps(data))) == data
    assert nn.to_config(nn.from_config(data)) == data
    net.eval()
    assert np.allclose(ag.sum(net(ag.ones((3, 4))), 1), 1)
    assert isinstance(net[0][1], nn.ReLU) and net[2][0].bias is None


def test_graphs_of_ag_layers_and_files(tmp_path):
    config = {"inputs": {"x": [1, 3]}, "layers": [
        {"type": "Linear", "in_features": 3, "out_features": 4, "name": "a", "inputs": ["x"],
         "outputs": ["h"], "activation": "tanh"},
        {"type": "Linear", "in_features": 3, "out_features": 4, "name": "b", "inputs": ["x"],
         "outputs": ["k"]},
        {"type": "Eltwise", "inputs": ["h", "k"], "outputs": ["y"], "operation": "SUM"}]}
    for name, text in (("net.json", json.dumps(config)), ("net.prototxt", LENET)):
        (tmp_path / name).write_text(text)
    net = nn.from_config(tmp_path / "net.json")
    x = ag.ones((5, 3))
    assert np.allclose(net(x), ag.tanh(net.a(x)) + net.b(x), atol=1e-6)
    assert nn.from_config(str(tmp_path / "net.prototxt"))(ag.ones((2, 1, 9, 9))).shape == (2, 4)


#: Layers that hold modules or functions that they were given, and one that counts by itself.
REFUSED = frozenset("""
    AdaptiveLogSoftmaxWithLoss Concat ConcatTable DataParallel MixtureOfExperts Parallel
    ParallelTable TransformerDecoder TransformerDecoderLayer TransformerEncoder
    TransformerEncoderLayer
""".split())


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - REFUSED))
def test_every_layer_comes_back(name):
    layer = SAMPLES[name].make("float32")
    data = json.loads(json.dumps(nn.to_config(layer)))
    again = nn.from_config(data)
    assert type(again) is type(layer) and nn.to_config(again) == data and repr(again) == repr(layer)
    again.load_state_dict(layer.state_dict())


def test_every_layer_with_plain_parameters_comes_back():
    for layer in (nn.Linear(3, 4, bias=False), nn.Conv2d(3, 4, 3, stride=2, padding=1),
                  nn.MaxPool2d(2, 1), nn.LeakyReLU(0.3), nn.Flatten(), nn.LayerNorm(4),
                  nn.BatchNorm2d(4, eps=1e-3), nn.Dropout(0.1), nn.ELU(2.0), nn.Softmax(1)):
        data = json.loads(json.dumps(nn.to_config(layer)))
        again = nn.from_config(data)
        assert type(again) is type(layer) and nn.to_config(again) == data
        assert [p.shape for p in again.parameters()] == [p.shape for p in layer.parameters()]


@pytest.mark.parametrize(("config", "message"), [
    ({"type": "Nothing"}, "no layer 'Nothing'"), ({"p": 1}, "no 'type'"), (3, "takes a dict"),
    ("layer { name: 'x' type: }", "line 1: 'type' has no value"),
    ("layer { name: 'x'", "ends within a bracket"), ("layer { }\n}", "line 2"),
    ('layer { name: "c" type: "InnerProduct" bottom: "d" top: "t" '
     'inner_product_param { num_output: 2 } }', "needs the shape of 'd'"),
    ('layer { name: "c" type: "Convolution" bottom: "d" top: "t" }', "no 'num_output'|shape of"),
    ('input: "d"\ninput_dim: 8\nlayer { name: "c" type: "Convolution" bottom: "d" '
     'top: "t" convolution_param { num_output: 2 } }', r"layer 'c': Conv.* shapes \[\(8,\)\]"),
    ([{"type": "ReLU", "activation": "nothing"}], "no activation 'nothing'"),
    ("a: &x 1", "more than plain YAML"), ("- [1, 2", "not closed"),
])
def test_what_cannot_be_read_says_so(config, message):
    with pytest.raises(ValueError, match=message):
        nn.from_config(config)


def test_what_lies_too_deep_says_so(tmp_path):
    deep, config = nn.Linear(2, 2), {"type": "ReLU"}
    for _ in range(1000):
        deep, config = nn.Sequential(deep), {"type": "Sequential", "layers": [config]}
    yaml = "layers:\n" + "".join("  " * i + "- a:\n" for i in range(3000))
    for refused in (lambda: nn.to_config(deep), lambda: ag.save(deep, tmp_path / "deep.ag"),
                    lambda: nn.from_config(config), lambda: nn.from_config("[" * 100_000),
                    lambda: nn.from_config(yaml)):
        with pytest.raises(ag.NestingError, match=r"deep in (each other|config)"):
            refused()


@pytest.mark.parametrize(("name", "content", "message"), [
    ("a.json", b'{"type": ', "JSON, line 1, column 10"), ("b.json", b"\xff{}", "utf-8"),
    ("c.json", b"[1,]", "JSON, line 1"), ("d.yaml", b"- [1, 2", "YAML, line 1"),
    ("e.prototxt", b"layer {", "ends within a bracket"), ("f.prototxt", b"\xfflayer", "utf-8"),
])
def test_files_that_cannot_be_read_are_named(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}: .*{message}"):
        nn.from_config(path)


def test_layers_that_no_memory_holds():
    """NumPy's error of memory is made of more than a text."""
    with pytest.raises(MemoryError, match=r"from_config: .*1000000000"):
        nn.from_config({"type": "Linear", "in_features": 10**9, "out_features": 10**9})


def test_errors_of_parameters_and_of_code():
    with pytest.raises(TypeError, match=r"Linear: .*units"):
        nn.from_config({"type": "Linear", "in_features": 3, "out_features": 2, "units": 4})
    with pytest.raises(TypeError, match=r"only the code of Own.*state_dict"):
        nn.to_config(type("Own", (nn.Module,), {})())


def test_yaml():
    text = "a: [1, 2.5, {b: yes, c: 'x, y'}]\nd:\n- e\n-\n  - 1\n  - null\nf: \"#1\" # no"
    assert yamls.loads(text) == {"a": [1, 2.5, {"b": "yes", "c": "x, y"}], "d": ["e", [1, None]],
                                 "f": "#1"}
    assert yamls.loads("") is None and yamls.loads("- true\n- -3\n") == [True, -3]


@pytest.mark.parametrize(("name", "text", "kind", "message"), [
    ("a.json", '{"type": "Nope"}', ValueError, "there is no layer 'Nope'"),
    ("b.json", "3", ValueError, "takes a dict"),
    ("c.json", '[{"type": "Linear"}]', TypeError, "missing a required argument"),
    ("d.json", '{"type": "Linear", "in_features": 0, "out_features": 1}', ValueError,
     "at least 1"),
    ("e.prototxt", 'layer { name: "x" type: "Foo" }', ValueError, "there is no layer 'Foo'"),
    ("f.yaml", "a: [1", ValueError, "a bracket is not closed"),
])
def test_errors_of_a_description_name_its_file(tmp_path, name, text, kind, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(kind, match=rf"(?s)^from_config: .*{name}: .*{message}"):
        nn.from_config(tmp_path / name)
