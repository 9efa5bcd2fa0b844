"""Golden texts of errors of layers and optimizers: who, what it was given, and what to write."""

from __future__ import annotations

import re
from typing import Any

import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.compat.hints.keywords import KEYWORDS
from tests.errors.lambdas import check

W = ag.ones((2, 3), requires_grad=True)
X = ag.ones((2, 4))
IMAGES = ag.ones((2, 3, 6, 6))
ITERABLE = "optimises an iterable of tensors, not"
NEITHER = "cannot be optimised: parameters are tensors with a value that require grad"



class Named(nn.Module):
    """A user's layer with an option that must be given by name."""

    def __init__(self, size: int, *, also: int, more: int = 0) -> None:
        self.sizes = size, also, more


CASES = [
    (lambda: optim.SGD(W, 0.1), TypeError, f"SGD {ITERABLE} float32[2, 3]: write SGD([w], ...) for "
     "one tensor, SGD(model.parameters(), ...) for a module"),
    (lambda: optim.Adam(nn.ReLU()), TypeError, f"Adam {ITERABLE} ReLU(): write Adam([w], ...) for "
     "one tensor, Adam(model.parameters(), ...) for a module"),
    (lambda: optim.SGD({}, 0.1), TypeError, f"SGD {ITERABLE} {{}}: write SGD(tensors.values(), "
     "...) for a dict of tensors"),
    (lambda: optim.Adam([{"params": [1], "lr": 0.1}]), TypeError, f"Adam: 1 {NEITHER}"),
    (lambda: optim.Adam([{"lr": 0.1}]), TypeError, "Adam: a group of parameters is a dict with "
     "'params', and options such as 'lr', not {'lr': 0.1}"),
    (lambda: optim.SGD([W * 0.1], 0.1), TypeError,
     "SGD: float32[2, 3] cannot be optimised: it is the "
     "result of multiply and gets no gradient of its own; optimise what it was computed from, or "
     "make it a new leaf: w = w.detach().requires_grad_()"),
    (lambda: nn.BatchNorm2d(4)(IMAGES), ag.ShapeError,
     "BatchNorm2d: the input must be (batch, 4, size, size), not float32[2, 3, 6, 6]"),
    (lambda: nn.InstanceNorm2d(4)(IMAGES), ag.ShapeError, "InstanceNorm2d: the input must be "
     "(batch, 4, size, size), or one image without the batch, not float32[2, 3, 6, 6]"),
    (lambda: nn.InstanceNorm1d(3)(IMAGES), ag.ShapeError, "InstanceNorm1d: the input must be "
     "(batch, 3, size), or one image without the batch, not float32[2, 3, 6, 6]"),
    (lambda: nn.LSTM(4, 5)(ag.ones((7, 2, 4)), ag.ones((1, 2, 5))), ValueError,
     "LSTM: the state must be (hidden, cell), two tensors, not float32[1, 2, 5]"),
    (lambda: nn.GRU(4, 5)(ag.ones((7, 2, 4)), ag.ones((1, 3, 5))), ag.ShapeError,
     "GRU: a first state must be (1, 2, 5), not float32[1, 3, 5]"),
    (lambda: nn.GRU(4, 5)(ag.ones((7, 2, 4)), lengths=[3]), ag.ShapeError,
     "GRU: lengths must be (2,), one for each sequence, not int64[1]"),
    (lambda: nn.GRU(4, 5)(ag.ones((7, 2, 4)), lengths=[3, 8]), ValueError,
     "GRU: lengths must be at least 0 and at most 7, not 8"),
    (lambda: nn.GRU(4, 5)(ag.ones((7, 2, 4)), lengths=[3.0, 2.0]), TypeError,
     "GRU: lengths must be integers, not float32[2]"),
    (lambda: nn.LSTM(4, 5, proj_size=5), ValueError,
     "LSTM: proj_size must be smaller than hidden_size=5, not 5"),
    (lambda: nn.LSTMCell(4, 5)(X, ag.ones((2, 5))), ValueError,
     "LSTMCell: the state must be (hidden, cell), two tensors, not float32[2, 5]"),
    (lambda: nn.GRUCell(4, 5)(X, ag.ones(5)), ag.ShapeError,
     "GRUCell: the state of float32[2, 4] must be (2, 5), not float32[5]"),
    (lambda: nn.Sequential([nn.ReLU()]), TypeError, "Sequential: layer 0 is no module and no "
     "function: [ReLU()]; give the layers one by one: Sequential(*layers)"),
    (lambda: nn.AvgPool1d(2, dilation=2), TypeError,
     "AvgPool1d() got an unexpected keyword argument 'dilation'; it takes kernel_size, stride, "
     "padding, cover_all, count_include_pad, divisor_override"),
    (lambda: nn.BatchNorm1d(3)(IMAGES), ag.ShapeError, "BatchNorm1d: the input must be "
     "(batch, 3) or (batch, 3, size), not float32[2, 3, 6, 6]"),
    (lambda: nn.MaxPool2d(2)(X), ag.ShapeError, "max_pool2d(float32[2, 4], 2): the operand must be "
     "(batch, channels, size, size), or one image without the batch, not float32[2, 4]"),
    (lambda: nn.ZeroPad2d(1)(X), ag.ShapeError, "ZeroPad2d: the input must be (batch, channels, "
     "size, size), or one image without the batch, not float32[2, 4]"),
    (lambda: nn.AdaptiveAvgPool2d((1, 2, 3))(IMAGES), ValueError, "adaptive_avg_pool2d(float32[2, "
     "3, 6, 6], (1, 2, 3)): size (1, 2, 3) must be one number, or one for each of 2 axes"),
    (lambda: nn.AdaptiveMaxPool2d((None, 0))(IMAGES), ValueError, "adaptive_max_pool2d(float32[2, "
     "3, 6, 6], (None, 0)): size (6, 0) must be at least 1"),
    (lambda: nn.Conv2d(4, 4, 3)(IMAGES), ag.ShapeError, "conv2d(float32[2, 3, 6, 6], float32[4, 4, "
     "3, 3], float32[4]): the image has 3 channels, the filters take 4"),
    (lambda: nn.Conv2d(4, 4, 3, groups=2)(IMAGES), ag.ShapeError, "conv2d(float32[2, 3, 6, 6], "
     "float32[4, 2, 3, 3], float32[4]): the image has 3 channels, the filters take 2 in each of 2 "
     "groups"),
    (lambda: nn.Conv2d(4, 4, 3, groups=0), ValueError, "Conv2d: groups must be at least 1, not 0"),
    (lambda: nn.GroupNorm(0, 4), ValueError,
     "GroupNorm: num_groups must be at least 1, not 0"),
    (lambda: nn.Conv2d(4, 4, 3, padding="SAME"), ValueError,
     "Conv2d: padding must be 'valid', 'same', 'full' or an integer, or one for each axis, not "
     "'SAME'"),
    (lambda: nn.Conv2d(4, 4, 3, 2, padding="same"), ValueError,
     "Conv2d: padding 'same' goes with stride 1, not (2, 2)"),
    (lambda: nn.Conv2d(3, 4, 3, padding_mode="same"), ValueError, "Conv2d: padding_mode must "
     "be 'zeros', 'reflect', 'replicate' or 'circular', not 'same'"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, 2)(IMAGES, (15, 12)), ValueError, "ConvTranspose2d: of "
     "float32[2, 3, 6, 6] images of sizes (13, 13) to (14, 14) can be made, not of (15, 12)"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, 2)(IMAGES, (15,)), ValueError, "ConvTranspose2d: of "
     "float32[2, 3, 6, 6] images of sizes (13, 13) to (14, 14) can be made, not of (15, 15)"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), ValueError,
     "ConvTranspose2d: padding_mode must be 'zeros', not 'reflect'"),
    (lambda: nn.Linear(3, 4, colour=1), TypeError,
     "Linear() got an unexpected keyword argument 'colour'; it takes in_features, out_features, "
     "bias, dtype"),
    (lambda: nn.MaxPool2d(2, return_indexes=True), TypeError, "MaxPool2d() got an unexpected "
     "keyword argument 'return_indexes'; did you mean `return_indices`?"),
    (lambda: nn.MaxPool2d(2, ceil_mod=True), TypeError,
     "MaxPool2d() got an unexpected keyword argument 'ceil_mod'; it takes kernel_size, stride, "
     "padding, dilation, return_indices, cover_all"),
    (lambda: optim.SGD([W], lr=0.1, momentun=0.9), TypeError,
     "SGD() got an unexpected keyword argument 'momentun'; did you mean `momentum`?"),
    (lambda: optim.lr_scheduler.StepLR(optim.SGD([W]), 2, gama=0.5), TypeError,
     "StepLR() got an unexpected keyword argument 'gama'; did you mean `gamma`?"),
    (lambda: ag.conv2d(IMAGES, IMAGES, strid=2), TypeError, "conv2d(float32[2, 3, 6, 6], "
     "float32[2, 3, 6, 6]): conv2d() got an unexpected keyword argument 'strid'; did you mean "
     "`stride`?"),
    (lambda: ag.zeros(3, dtyp="int64"), TypeError,
     "zeros(3): zeros() got an unexpected keyword argument 'dtyp'; did you mean `dtype`?"),
    (lambda: nn.Conv2d(3, 4, 3, 1, 0, 1, 1, True, "zeros", None, None, 5), TypeError,
     "Conv2d() takes 9 arguments (in_channels, out_channels, kernel_size, stride, padding, "
     "dilation, groups, bias, padding_mode) without a name, not 12; give dtype, algorithm by name"),
    (lambda: nn.MaxPool2d(2, ceil_mode=True, cover_all=True), TypeError,
     "MaxPool2d: `ceil_mode` and `cover_all` are the same; give one of them"),
    (lambda: nn.Linear(2, 3, device="cuda"), ValueError,
     "Linear: there is one device, 'cpu', and not 'cuda'"),
    (lambda: optim.lr_scheduler.StepLR(optim.SGD([W]), 2, 0.5, 1), ValueError, "StepLR: "
     "last_epoch=1 goes on with a training, and the optimizer's groups have no 'initial_lr': "
     "optimizer.load_state_dict brings it back"),
    (lambda: Named(1), TypeError, "Named() needs also, too"),
    (lambda: nn.Conv2d(3), TypeError, "Conv2d() needs out_channels and kernel_size, too"),
    (lambda: nn.Tanh(True), TypeError, "Tanh() takes no arguments, not 1"),
    (lambda: nn.Tanh(colour=1), TypeError, "Tanh() got an unexpected keyword argument 'colour'"),
    (lambda: nn.Linear(3.5, 4), TypeError, "Linear: in_features must be an integer, not 3.5"),
    (lambda: nn.Linear(0, 4), ValueError, "Linear: in_features must be at least 1, not 0"),
    (lambda: nn.Conv2d(3, "a", 3), TypeError, "Conv2d: out_channels must be an integer, not 'a'"),
    (lambda: nn.ConvTranspose1d(-1, 4, 3), ValueError,
     "ConvTranspose1d: in_channels must be at least 1, not -1"),
    (lambda: nn.BatchNorm2d(-1), ValueError,
     "BatchNorm2d: num_features must be at least 1, not -1"),
    (lambda: nn.InstanceNorm1d("a"), TypeError,
     "InstanceNorm1d: num_features must be an integer, not 'a'"),
    (lambda: nn.LayerNorm((3, 2.5)), ValueError,
     "LayerNorm: normalized_shape must be an integer in the place of 2.5, not (3, 2.5)"),
    (lambda: nn.Embedding(-3, 4), ValueError,
     "Embedding: num_embeddings must be at least 0, not -3"),
    (lambda: nn.EmbeddingBag(3, 4.0), TypeError,
     "EmbeddingBag: embedding_dim must be an integer, not 4.0"),
    (lambda: nn.LSTM(3, 0), ValueError, "LSTM: hidden_size must be at least 1, not 0"),
    (lambda: nn.GRU(3, 4, 0), ValueError, "GRU: num_layers must be at least 1, not 0"),
    (lambda: nn.RNNCell(None, 4), TypeError, "RNNCell: input_size must be an integer, not None"),
    (lambda: nn.Bilinear(3, 0, 2), ValueError, "Bilinear: in2_features must be at least 1, not 0"),
    (lambda: optim.Adam([W], betas=(0.9,)), ValueError,
     "Adam: betas must be two numbers, not (0.9,)"),
    (lambda: nn.Conv2d(3, 4, (3, 3, 3)), ValueError,
     "Conv2d: kernel_size (3, 3, 3) must be one number, or one for each of 2 axes"),
    (lambda: nn.ConvTranspose1d(3, 4, 3, (2, 2)), ValueError,
     "ConvTranspose1d: stride (2, 2) must be one number, or one for each of 1 axes"),
    (lambda: nn.Conv3d(3, 4, 3, dilation=0), ValueError,
     "Conv3d: dilation must be at least 1, not 0"),
    (lambda: nn.Conv2d(3, 4, 2.5), TypeError,
     "Conv2d: kernel_size must be an integer, or one for each axis, not 2.5"),
    (lambda: nn.ConvMap2d(3, 4, 2, (3, 3, 3)), ValueError,
     "ConvMap2d: kernel_size (3, 3, 3) must be one number, or one for each of 2 axes"),
    (lambda: ag.sum(X, dim=1, axis=1), TypeError,
     "sum(float32[2, 4]): `dim` and `axis` are the same; give one of them"),
    (lambda: ag.softmax(X, dims=1, unrolled=2), TypeError,
     "softmax(float32[2, 4]): softmax() got an unexpected keyword argument 'unrolled'; it takes x, "
     "axis, out"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES)
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_classes_that_were_called_before_check_their_calls() -> None:
    nn.Linear(2, 3)
    with pytest.raises(TypeError, match=r"^Linear\(\) got an unexpected .*'colour'; it takes "):
        nn.Linear(2, 3, colour=1)
    with pytest.raises(TypeError, match=r"^Linear\(\) needs out_features, too"):
        nn.Linear(2)


def test_other_keywords_are_as_unknown_as_ever() -> None:
    with pytest.raises(TypeError, match=r"'nonsense'; it takes x, axis, dtype, "):
        ag.sum(X, nonsense=1)


def test_what_is_told_of_keywords_exists() -> None:
    for owner, name in re.findall(r"\b(ag|nn|optim)\.([a-zA-Z_0-9]+)", KEYWORDS):
        assert hasattr({"ag": ag, "nn": nn, "optim": optim}[owner], name), name
