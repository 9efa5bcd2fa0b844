"""Names of other libraries: the error tells what stands for them here, and that exists and runs."""

from __future__ import annotations

import ast
import copy
import importlib
import pickle
import re
import traceback
from typing import Any

import numpy as np
import pytest
import scipy

import agnesi as ag
from agnesi import nn, optim, symbolic
from agnesi.compat import chainer, hints, torch7
from agnesi.compat import theano as theanos
from agnesi.compat.hints import jax, jax_libraries, layers, theano, torch
from agnesi.compat.hints import numpy as numpys
from agnesi.compat.torch7 import nn as torch7nn
from agnesi.core.support import migration_hints
from tests.api.names import foreign

W = ag.tensor([1.0, -2.0], requires_grad=True)
_MODEL = nn.Linear(2, 1)
OWNERS: dict[str, Any] = {
    "module 'agnesi'": ag, "module 'agnesi.nn'": nn, "module 'agnesi.optim'": optim,
    "module 'agnesi.nn.functional'": nn.functional, "module 'agnesi.random'": ag.random,
    "module 'agnesi.optim.lr_scheduler'": optim.lr_scheduler,
    "module 'agnesi.symbolic'": symbolic,
    **{f"module 'agnesi.{name}'": importlib.import_module(f"agnesi.{name}") for name in (
        "accelerator", "amp", "autograd", "compiler", "cuda", "cuda.amp", "data", "distributed",
        "distributions", "distributions.constraints", "fft", "func", "image", "linalg",
        "metrics", "nn.init", "nn.parallel", "nn.utils", "saving", "sklearn", "sparse", "special",
        "testing", "training", "tree",
        "utils", "utils.data", "data.datasets")},
    "Trainer": ag.training.Trainer(_MODEL, optim.SGD(_MODEL.parameters(), 0.1), nn.MSELoss()),
    "SparseTensor": ag.sparse.csr(ag.eye(2)), "COO": ag.eye(2).to_sparse(),
    "DataParallel": ag.distributed.data_parallel(_MODEL, optim.SGD(_MODEL.parameters(), 0.1)),
    **{name: object.__new__(getattr(ag.distributed, name)) for name in (
        "Central", "Mesh", "Pipeline", "ShardedBatches", "Workers", "Zero")},
    "KVStore": ag.distributed.KVStore(), "Group": ag.distributed.init(),
    **{f"module 'agnesi.compat.{name}'": importlib.import_module(f"agnesi.compat.{name}")
       for name in ("chainer", "chainer.functions", "chainer.links", "torch7", "torch7.nn",
                    "autograd.numpy", "chainer.optimizers", "chainer.serializers",
                    "theano.tensor.nnet")},
    "chainer.Variable": chainer.Variable(np.ones(2)),
    "Jit": ag.jit(abs),
    "chainer.Optimizer": chainer.optimizers.SGD(), "theano.Variable": theanos.tensor.vector(),
    "Function": ag.function([], ag.shared(1.0) + 1),
    "chainer.Link": chainer.links.Linear(3, 2), "torch7.Tensor": torch7.Tensor(3),
    "torch7.Module": torch7nn.Linear(3, 2),
    "Distribution": ag.distributions.Normal(0.0, 1.0), "Generator": ag.random.Generator(0),
    "Tensor": W, "Module": nn.ReLU(), "Optimizer": optim.SGD([W], 0.1),
}
for _part in "fft integrate interpolate ndimage optimize signal special stats".split():
    importlib.import_module(f"scipy.{_part}")
KNOWN: dict[str, Any] = {
    "variable": OWNERS["chainer.Variable"], "expression": OWNERS["theano.Variable"],
    "theano": theanos,
    "shared": theanos.shared(1.0), "nnet": theanos.tensor.nnet, "pickle": pickle,
    "sgd": OWNERS["chainer.Optimizer"], "compiled": OWNERS["Jit"],
    "self": nn.ReLU(),
    "ag": ag, "nn": nn, "optim": optim, "numpy": np, "T": symbolic,
    "f": ag.function([], ag.shared(1.0) + 1), "group": OWNERS["Group"], "model": OWNERS["Module"],
    "layer": _MODEL,
    "trainer": OWNERS["Trainer"], "F": chainer.functions, "L": chainer.links, "chainer": chainer,
    "torch": torch7, "tnn": torch7nn, "tensor": OWNERS["torch7.Tensor"],
    "link": OWNERS["chainer.Link"],
    "module": OWNERS["torch7.Module"], "serializers": chainer.serializers,
    "scipy": scipy,
    "dist": OWNERS["Distribution"], "chain": chainer.Chain(), "np": np,
    "generator": OWNERS["Generator"],
    "optimizer": OWNERS["Optimizer"], "scheduler": optim.lr_scheduler.StepLR(
        optim.SGD([W], 0.1), 1),
}
KNOWN["f"]()
#: Modules of Python's that hints name.
PYTHONS = ("copy", "warnings", "concurrent", "timeit", "itertools", "math", "multiprocessing")
TEXTS = {
    "torch": torch.TORCH, "nn": layers.NN, "functional": layers.FUNCTIONAL, "jax": jax.JAX,
    "lax": jax.LAX, "jax.nn": jax_libraries.FUNCTIONAL, "optax": jax_libraries.LOSSES,
    "numpy": numpys.NUMPY, "theano": theano.TENSOR,
}
ROWS = [(place, *row) for place, text in TEXTS.items() for row in foreign.calls(text)]


def absent(owner: str) -> list[str]:
    """The names of an owner's table that it has not."""
    found = OWNERS[owner]
    return [name for name in migration_hints.table(owner) if not _has(found, name)]


def _has(owner: Any, name: str) -> bool:
    try:
        getattr(owner, name)
    except AttributeError:
        return False
    return True


def _attributes(code: str) -> None:
    """Every attribute of what is known exists, and everything else could be one of a tensor's."""
    for node in ast.walk(ast.parse("a @ b" if code == "@" else code)):
        if not isinstance(node, ast.Attribute):
            continue
        whole = ast.unparse(node)
        root = whole.partition(".")[0]
        if whole == "self.name":
            continue
        if root in KNOWN and re.fullmatch(r"[\w.]+", whole):
            eval(whole, KNOWN)
        elif root not in PYTHONS and isinstance(node.value, ast.Name):
            assert hasattr(ag.Tensor, node.attr), code


def test_every_owner_is_there() -> None:
    assert set(OWNERS) == set(hints.TEXTS)
    assert len(ROWS) > 130 and sum(len(absent(owner)) for owner in OWNERS) > 1100


@pytest.mark.share(2)
@pytest.mark.parametrize("owner", OWNERS)
def test_what_is_told_exists(owner: str) -> None:
    for name in absent(owner):
        with pytest.raises(AttributeError) as caught:
            getattr(OWNERS[owner], name)
        text = str(caught.value)
        assert f"has no attribute {name!r}; use " in text
        codes = re.findall("`([^`]+)`", text.partition("; use ")[2].partition(" for `")[0])
        assert codes or "nothing" in text or "for each of" in text or "optimizer" in text, text
        for code in codes:
            _attributes(re.sub(r"\.\.\.(?=,|\))", "1", code))
        assert "Did you mean" not in "".join(traceback.format_exception(caught.value))


def test_objects_of_subclasses_tell_the_same():
    for kind in (ag.distributed.KVStore, ag.distributions.Normal, ag.training.Trainer):
        mine = type("Mine", (kind,), {})
        owner = next(k.__name__ for k in kind.__mro__ if k.__name__ in OWNERS)
        name = next(iter(absent(owner)))
        with pytest.raises(AttributeError, match=f"'Mine' object has no attribute {name!r}; use "):
            getattr(object.__new__(mine), name)


def test_forms_of_names_tell_what_exists() -> None:
    for forms in (torch.FORMS, jax.FORMS, theano.FORMS, layers.FORMS, jax_libraries.FORMS):
        for _, told in forms:
            for code in re.findall("`([^`]+)`", told):
                _attributes(code)
    for owner, name, words in (
        (ag, "cudnn_convolution", "nn.functional"), (ag, "add_p", "`ag.op`"),
        (ag, "quantized_lstm", "there are no quantized tensors"), (symbolic, "dcols", "`T.col("),
        (nn.functional, "mish_", "inplace=True"), (ag, "sym_max", "`ag.Dim`"),
        (ag, "dmatrices", "`ag.symbolic.matrices("), (symbolic, "transfer", "`ag.Tensor.to`"),
    ):
        with pytest.raises(AttributeError, match=re.escape(words)):
            getattr(owner, name)


@pytest.mark.parametrize("place", TEXTS)
def test_what_stands_for_a_call_runs(place: str) -> None:
    """The answers are compared where the other libraries are: ``benchmarks/tests``."""
    known = {**foreign.operands(ag.tensor), "ag": ag, "nn": nn, "numpy": np}
    for where, call, code in ROWS:
        if where == place:
            found = eval(code, dict(known))
            assert found is not None, call


def test_other_names_are_as_unknown_as_ever() -> None:
    for owner, found in OWNERS.items():
        with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$") as caught:
            found.nonsense  # noqa: B018
        if not owner.startswith("module"):
            assert caught.value.name == "nonsense" and caught.value.obj is found


def test_no_name_is_guessed_for_one_that_is_known() -> None:
    for name in ("cast", "abs_", "range", "quint8"):
        with pytest.raises(AttributeError, match="; use ") as caught:
            getattr(ag, name)
        assert "Did you mean" not in "".join(traceback.format_exception(caught.value))


def test_classes_are_named_as_they_are() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.hidden(x)

    with pytest.raises(AttributeError, match=r"^'Net' object has no attribute 'hidden'$"):
        Net()(W)
    with pytest.raises(AttributeError, match=r"^'SGD' object .* 'minimize'; use `loss.back"):
        optim.SGD([W], 0.1).minimize  # noqa: B018


def test_objects_are_copied_and_pickled_as_before() -> None:
    for found in (W, nn.Linear(2, 3), optim.SGD([W], 0.1)):
        assert type(copy.deepcopy(found)) is type(found)
        assert type(pickle.loads(pickle.dumps(found))) is type(found)


KEYWORDS = [
    (lambda: ag.jit(lambda x: x, static_argnums=0), "jit", "static_argnums", "nothing: what is no"),
    (lambda: ag.grad(ag.sin, holomorphic=True), "grad", "holomorphic", "`ag.grad(lambda z"),
    (lambda: ag.jit(lambda x: x, donate_argnums=0), "jit", "donate_argnums", "nothing: memory"),
    (lambda: ag.function([], ag.shared(1.0), mode="FAST_RUN"), "function", "mode", "`optimizer`"),
    (lambda: ag.grad(lambda x: x, allow_int=True), "grad", "allow_int", "nothing: the compiler"),
    (lambda: nn.Linear(in_dim=3, out_features=2), "Linear", "in_dim", "`in_features`"),
    (lambda: nn.Conv2d(3, filters=2, kernel_size=3), "Conv2d", "filters", "`out_channels`"),
    (lambda: nn.Dropout(rate=0.5), "Dropout", "rate", "`p`"),
    (lambda: optim.Adam([W], learning_rate=1), "Adam", "learning_rate", "`lr`"),
    (lambda: ag.scan(fn=1), "scan", "fn", "`ag.symbolic.scan`"),
    (lambda: nn.Linear(3, 2, kernel_initializer=1), "Linear", "kernel_initializer", "functions of"),
    (lambda: nn.Conv2d(3, 2, 3, data_format="x"), "Conv2d", "data_format", "`ag.moveaxis(x, -1"),
    (lambda: nn.LayerNorm(3, center=True), "LayerNorm", "center", "`elementwise_affine`"),
    (lambda: nn.LSTM(3, 2, return_sequences=True), "LSTM", "return_sequences", "nothing: `output"),
    (lambda: nn.Linear(3, 2)(W, training=True), "forward", "training", "`model.train()` and"),
    (lambda: optim.RMSprop([W], rho=0.9), "RMSprop", "rho", "`alpha`"),
    (lambda: optim.SGD([W], 0.1, clipnorm=1), "SGD", "clipnorm", "`nn.utils.clip_grad_norm_("),
    (lambda: OWNERS["Trainer"].fit([], 1, validation_data=[]), "fit", "validation_data",
     "`validation`"),
    (lambda: ag.data.TensorDataset(x=W, y=W), "TensorDataset", "x", "the arrays one by one"),
    (lambda: ag.matmul(W, W, transpose_b=True), "matmul", "transpose_b", "`x.mT`"),
    (lambda: ag.random.uniform(minval=0), "uniform", "minval", "`low`"),
    (lambda: ag.distributions.Normal(mean=0, scale=1), "Normal", "mean", "`loc`"),
    (lambda: ag.std(W, mean=W), "std", "mean", "nothing: the mean is computed"),
    (lambda: ag.zeros_like(W, shape=(2,)), "zeros_like", "shape", "`ag.zeros(shape, dtype=x"),
    (lambda: ag.linalg.pinvh(W, return_rank=True), "pinvh", "return_rank", "`ag.linalg.matrix_r"),
    (lambda: ag.hessian(fun=len), "hessian", "fun", "`f`"),
    (lambda: ag.load("x", mmap=True), "load", "mmap", "`ag.saving.open_file(path)`"),
    (lambda: ag.linalg.qr(W, pivoting=True), "qr", "pivoting", "`scipy.linalg.qr`"),
    (lambda: ag.unique(W, equal_nan=True), "unique", "equal_nan", "nothing: NaN are one value"),
    (lambda: ag.vecdot(W, W, keepdims=True), "vecdot", "keepdims", "`ag.einsum`"),
    (lambda: ag.random.truncated_normal(lower=0), "truncated_normal", "lower", "`low`"),
    (lambda: nn.functional.cosine_similarity(W, W, axis=1), "cosine_similarity", "axis", "`dim`"),
    (lambda: ag.stft(W, nperseg=4), "stft", "nperseg", "`n_fft`"),
    (lambda: ag.hessian(cost=W, wrt=W), "hessian", "cost", "`ag.symbolic.hessian(cost, wrt)`"),
    (lambda: ag.fft.fft(W, plan=None), "fft", "plan", "nothing: the library sees to it"),
    (lambda: ag.special.owens_t(h=W, a=W), "owens_t", "h", "operands in their order"),
]


@pytest.mark.parametrize(("call", "function", "word", "told"), KEYWORDS)
def test_keywords_of_other_libraries(call: Any, function: str, word: str, told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(
            f"{function}() got an unexpected keyword argument {word!r}; use {told}")):
        call()


def test_what_is_told_of_keywords_exists() -> None:
    for _, _, told in migration_hints._keywords():
        for code in re.findall("`([^`]+)`", told):
            if "." in code and not code.startswith(("agnesi ", "output")):
                _attributes(code)


def test_no_parameter_is_told_that_there_is_not() -> None:
    for wrong in (lambda: nn.Dropout(filters=3), lambda: nn.AvgPool1d(2, dilation=2),
                  lambda: ag.sum(W, learning_rate=1)):
        told = r"unexpected keyword argument '\w+'(; it takes [\w, ]+)?\n  at "
        with pytest.raises(TypeError, match=told):
            wrong()


def test_what_is_told_is_right() -> None:
    parameters = [ag.ones(3, requires_grad=True), ag.ones(4, requires_grad=True)]

    @ag.jit
    def clipped(limit: Any) -> Any:
        for p in parameters:
            p.zero_grad()
        sum((p * p).sum() for p in parameters).backward()
        norm = ag.sqrt(sum((p.grad**2).sum() for p in parameters))
        for p in parameters:
            p.grad = p.grad * ag.minimum(1.0, limit / norm)
        return norm, [p.grad for p in parameters]

    norm, grads = clipped(1.0)
    np.testing.assert_allclose(norm, np.sqrt(28), rtol=1e-6)
    np.testing.assert_allclose(sum((g**2).sum() for g in grads), 1, rtol=1e-6)


@pytest.mark.parametrize(("name", "there"), [
    ("one_hot", "nn.functional"), ("kl_div", "nn.functional"), ("ModuleDict", "nn"),
    ("cholesky_ex", "linalg"), ("expit", "special"), ("Linear", "nn"),
])
def test_names_of_other_modules_are_told_before_what_else_stands_for_them(name, there):
    with pytest.raises(AttributeError, match=rf"use `ag\.{there}\.{name}`"):
        eval(f"ag.{name}", {"ag": ag})


@pytest.mark.parametrize(("ask", "told"), [
    (lambda: ag.onehot, "`ag.nn.functional.one_hot`"), (lambda: nn.onehot, "functional.one_hot`"),
    (lambda: ag.DataLOADER, "`ag.data.DataLoader`"), (lambda: ag.Sgd, "`ag.optim.SGD`"),
    (lambda: ag.crossentropy, "`cross_entropy`"),
])
def test_names_spelt_otherwise_in_another_module(ask: Any, told: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(told)):
        ask()


def test_names_that_only_look_alike_are_no_guess() -> None:
    for name in ("steplr_", "castx", "loaderdata"):
        assert "did you mean" not in migration_hints.elsewhere("module 'agnesi'", name)
