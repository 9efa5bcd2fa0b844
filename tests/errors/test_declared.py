"""What is declared of a parameter is what an error says, where a call fails for another value."""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as TT
from agnesi import (
    data,
    distributed,
    distributions,
    image,
    nn,
    optim,
    saving,
    symbolic,
    training,
    tree,
)
from agnesi.compat import autograd, chainer, torch7
from agnesi.optim import swa_utils
from tests.errors.lambdas import check
from tests.errors.test_arguments import INTERNAL

ROOMS = (nn.utils, nn.init, saving, data, swa_utils, ag.inspect, tree, distributions, image)
WRONG: dict[str, Any] = {"nothing": None, "text": "a", "texts": ["a"], "object": object(),
                         "number": -3, "function": lambda: 0, "class": int, "dict": {"a": 1}}
#: They write, read or wait, or take anything.
ASIDE = ("map", "flatten", "map_leaves", "map_with_path", "is_initialized", "default_collate",
         "register", "register_kl")


def functions() -> Iterator[tuple[str, Any]]:
    for room in ROOMS:
        for name in dir(room):
            f = getattr(room, name)
            if isinstance(f, types.FunctionType) and name[0] != "_" and name not in ASIDE:
                yield name, f


def told(name: str, f: Any, args: list[Any]) -> str:
    """What is wrong with how a call is refused, or nothing."""
    try:
        f(*args)
    except (OSError, ImportError, NotImplementedError):
        return ""
    except (TypeError, ValueError, IndexError) as error:
        text, _, place = str(error).partition("\n  at ")
        internal = [words for words in INTERNAL if words in text and words != "do not fit together"]
        wrong = internal or name not in text or not place.startswith(__file__)
        return f"{name}{args}: {error}" if wrong else ""
    except Exception as error:
        return f"{name}{args}: {error!r}"
    return ""


def test_functions_of_all_rooms_name_themselves(tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a name is that of a file for some
    warnings.simplefilter("ignore")
    found = [text for name, f in functions() for value in WRONG.values()
             for needed in [sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
                                for p in inspect.signature(f).parameters.values())]
             if (text := told(name, f, [value] * max(needed, 1)))]
    assert found == []


V, X = ag.ones(3), ag.ones((2, 3))
LAYER = nn.Linear(3, 2)
A, B = symbolic.dvector("a"), symbolic.dvector("b")
T = TT.dvector("t")


def hooked(hook: Any) -> Any:
    layer = nn.Linear(3, 2)
    layer.register_forward_hook(hook)
    return layer


def assigned(name: str, value: Any) -> Any:
    return lambda: setattr(ag.ones(3, requires_grad=True), name, value)


CASES = [
    (lambda: ag.vmap(lambda x, i: x[i])(X, ag.tensor([0, 5])), IndexError,
     "getitem(float32[3], int64[]): index 5 is out of bounds for axis 0 with size 3"),
    (lambda: ag.add(ag.arange(3), ag.ones(4)), ag.ShapeError, "add(int64[3], float32[4]): sizes 3 "
     "and 4 differ on axis -1 and neither is 1: shapes (3,) and (4,) do not broadcast"),
    (lambda: ag.cdist(X, ag.ones((4, 2))), ag.ShapeError,
     "cdist(float32[2, 3], float32[4, 2]): sizes 3 and 2 differ, and neither is 1"),
    (lambda: ag.matvec(X, ag.ones((4, 2))), ag.ShapeError, "matvec(float32[2, 3], float32[4, 2]): "
     "inner sizes differ: 3 (last axis of (2, 3)) and 2 (last axis of (4, 2))"),
    (lambda: ag.clip(X, min=ag.ones(4)), ag.ShapeError,
     "clip(float32[2, 3], float32[4]): sizes 3 and 4 differ on axis -1 and neither is 1: shapes "
     "(2, 3) and (4,) and () do not broadcast"),
    (lambda: torch7.Tensor(3, 4).narrow(1, 2, 9), IndexError, "Tensor.narrow: 2 to 10 is out of "
     "range for dimension 1, whose numbers run from 1 to 3"),
    (lambda: autograd.grad(lambda x: x, 1)(1.0), TypeError,
     "grad: argnum names argument 1, but <lambda> was given 1 by position"),
    (lambda: chainer.optimizers.SGD(0.1).update(), AttributeError,
     "SGD has no parameters yet: call optimizer.setup(model) first"),
    (lambda: training.History([{"loss": 1.0}])["loss"], TypeError, "History is a list of rows: "
     "history.column('loss') gives one number of all epochs, which tell ['loss']"),
    (lambda: next(iter(data.DataLoader(range(4), batch_sampler=[0]))), TypeError, "DataLoader: "
     "batch_sampler must give lists of the numbers of each batch's samples, not 0"),
    (lambda: saving.Checkpoints(".").save(1, {}), TypeError, "Checkpoints.save() takes 1 positional"
     " arguments but 2 were given; it is called as Checkpoints.save(step, **parts)"),
    (lambda: nn.init.fans(3), TypeError, "fans: tensor must be agnesi's Tensor, not 3"),
    (lambda: nn.summary(3, V), TypeError, "summary: model must be agnesi's Module, not 3"),
    (lambda: saving.open_file(3), TypeError, "open_file: path must be a string or a path, not 3"),
    (lambda: nn.Linear(3, 2, dtype=int), ag.DTypeError, "Linear: uniform((2, 3), "
     "-0.5773502691896257, 0.5773502691896257): random floats have a float dtype, not int64"),
    (lambda: tree.register(3, 4, 5), TypeError, "register: kind must be a class, not 3"),
    (lambda: distributions.register_kl("a", "b"), TypeError,
     "register_kl: type_p must be a class, not 'a'"),
    (lambda: distributed.map_blocks(3, [V]), TypeError,
     "map_blocks: function must be a function, not 3"),
    (lambda: ag.vectorize(3), TypeError, "vectorize: pyfunc must be a function, not 3"),
    (lambda: ag.scan(lambda c, x: (c, x), 0.0, V, until=3), TypeError,
     "scan: until must be a function or None, not 3"),
    (lambda: nn.AdaptiveAvgPool2d("a"), TypeError,
     "AdaptiveAvgPool2d: output_size must be an integer, or one for each axis, not 'a'"),
    (lambda: ag.zeros(b"ab"), TypeError, "zeros(b'ab'): a size must be an integer, not b'ab'"),
    (lambda: X.reshape(3, -2), ag.ShapeError, "reshape(float32[2, 3], 3, -2): 6 elements of "
     "shape (2, 3) do not fit the shape (3, -2) of -6"),
    (lambda: ag.max(X, 0, keepdim="a"), TypeError,
     "max(float32[2, 3], 0): keepdim must be True or False, not 'a'"),
    (lambda: nn.LSTM(3, 4)("a"), ag.DTypeError, "LSTM: cannot make a tensor from 'a': its elements "
     "have dtype <U1; tensors hold bool, integer, float and complex numbers"),
    (lambda: LAYER((X, V)), ag.ShapeError, "linear((float32[2, 3], float32[3]), float32[2, 3], "
     "float32[2]): cannot make a tensor from (float32[2, 3], float32[3]): its parts differ in "
     "shape; take one of them, or nn.functional.pad_sequence fills them up"),
    (lambda: hooked(lambda module, args: None)(V), TypeError, "Linear, a forward hook: <lambda>() "
     "takes 2 positional arguments but 3 were given; it is called as hook(module, args, output)"),
    (lambda: next(iter(data.DataLoader([4, 5], sampler=[7]))), IndexError, "DataLoader: the "
     "dataset, [4, 5], has not all of the samples [7], which are numbers from 0 on, by the sampler "
     "if there is one"),
    (lambda: training.Trainer(LAYER, optim.SGD(nn.Linear(2, 2).parameters(), 0.1), nn.MSELoss()),
     ValueError, "Trainer: the optimizer has none of the model's parameters: make it with "
     "model.parameters()"),
    (lambda: tree.map(3, [V]), TypeError, "map: function must be a function, not 3"),
    (lambda: ag.random.randint(0, 9, size=-1), ValueError,
     "randint(0, 9): sizes must not be negative: (-1,)"),
    (lambda: nn.ModuleDict([LAYER]), TypeError, "ModuleDict takes a dict, or pairs of a name and a "
     "value, not [Linear(3, 2)]; a list has no names: take ModuleList"),
    (lambda: nn.ReLU().add_module("a.b", LAYER), ValueError,
     "ReLU.add_module: name must be a string without dots, not 'a.b'"),
    (lambda: nn.ModuleDict({"a.b": LAYER}), ValueError,
     "ModuleDict.update: name must be a string without dots, not 'a.b'"),
    (lambda: nn.functional.kl_div(X, [None], reduction="sum"), ag.DTypeError,
     "kl_div(float32[2, 3], [None]): cannot make a tensor from [None]: its elements have dtype "
     "object; tensors hold bool, integer, float and complex numbers"),
    (lambda: data.from_frame("a"), TypeError,
     "from_frame: frame cannot be 'a', which has no 'columns'"),
    (lambda: nn.functional.batch_norm(X, V, ag.ones(4)), ag.ShapeError, "batch_norm(float32[2, 3], "
     "float32[3], float32[4]): running_var needs one number per channel of x (2, 3), shape (3,), "
     "not float32[4]"),
    (lambda: nn.functional.batch_norm(X, V, training=True), ValueError, "batch_norm(float32[2, 3], "
     "float32[3]): give running_var, too, or none of running_mean and running_var"),
    (lambda: nn.functional.linear(X, ag.ones((4, 5))), ag.ShapeError, "linear(float32[2, 3], "
     "float32[4, 5]): features differ: 3 (axis -1 of x (2, 3)) and 5 (axis 1 of weight (4, 5))"),
    (lambda: nn.functional.one_hot(ag.arange(3), -2), ValueError, "one_hot(int64[3], -2): "
     "num_classes must be at least 1, or -1 for as many as there are labels, not -2"),
    (lambda: nn.MultiheadAttention(4, 2)(*map(ag.ones, [(5, 1, 4), (5, 1, 4), (6, 1, 4)])),
     ag.ShapeError, "MultiheadAttention: keys and values must have one length, and all three the "
     "same batch, not float32[5, 1, 4], float32[5, 1, 4], float32[6, 1, 4]"),
    (lambda: ag.ones(3).__delitem__(0), TypeError,
     "elements of float32[3] cannot be deleted: ag.delete(x, index) gives the others"),
    (assigned("shape", (1, 3)), AttributeError,
     "shape of float32[3] cannot be set: write x = x.reshape(shape)"),
    (assigned("is_cpu", False), AttributeError, "is_cpu of float32[3] cannot be set"),
    (assigned("data", 3), TypeError, "data(float32[3], 3): x.data of float32[3] is a tensor, "
     "not 3; x.data.fill_(value) writes one number everywhere"),
    (assigned("name", 3), TypeError, "the name of float32[3] must be a string or None, not 3"),
    (lambda: ag.vmap(lambda x: {0: 1}[x])(V), ag.TraceError, "a dict has no key float32[]: tensors "
     "are keys by identity, not by value; write d[x.item()], or take ag.tensor(values)[x]"),
    (lambda: ag.jacrev(lambda x: x > 0)(V), TypeError, "jacrev: <lambda> must return float or "
     "complex tensors, not bool[3], which has no gradient"),
    (lambda: ag.function([A, B], A * 2, givens={A: B}), ValueError, "function: givens replaces a, "
     "which is among the inputs, too: take it out of one of them"),
    (lambda: theano.function(T, T), TypeError,
     "function: inputs must be a list of variables: write [t]"),
    (lambda: theano.grad(T * 2, T), TypeError,
     "grad: cost must be a scalar, not TensorType(float64, vector); sum it up"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES, ids=range(len(CASES)))
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_what_compares_has_no_truth_in_theano() -> None:
    for made in (T.sum() > 0, TT.gt(T.sum(), 0), TT.eq(T, np.ones(3))):
        with pytest.raises(TypeError, match="do not support boolean operations"):
            bool(made)


def test_optimizers_keep_what_they_say_of_parameters() -> None:
    with pytest.raises(TypeError, match="Adam optimises an iterable of tensors"):
        optim.Adam(LAYER)
