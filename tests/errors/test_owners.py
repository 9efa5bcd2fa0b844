"""Errors name whom the user called, the argument at fault, and types as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import distributions, metrics, nn, optim, symbolic, training

A, V, W = ag.arange(12.0).reshape(3, 4), ag.ones(3), ag.ones(4)
LEAF, MODEL = ag.ones(3, requires_grad=True), nn.Linear(3, 1)
NO_TENSOR = "its elements have dtype <U1; tensors hold bool, integer, float and complex numbers"


def shared_update() -> None:
    x, s = symbolic.dvector("x"), ag.shared(np.zeros(3), name="s")
    ag.function([x], x, updates={s: s.sum()})


def listed_update() -> None:
    x, s = symbolic.dvector("x"), ag.shared(np.zeros(3), name="s")
    ag.function([x], x, updates=[s, s + 1])


def pulled() -> None:
    ag.vjp(lambda x: (x, x), V)[1](V)


CASES = [
    (lambda: V + "a", ag.DTypeError, f"add(float32[3], 'a'): cannot make a tensor from 'a': "
     f"{NO_TENSOR}"),
    (lambda: V < None, ag.DTypeError, "less(float32[3], None): cannot make a tensor from None"),
    (lambda: nn.functional.batch_norm(A, W, W, weight="a"), ag.DTypeError,
     "batch_norm(float32[3, 4], float32[4], float32[4]): weight: cannot make a tensor from 'a': "
     f"{NO_TENSOR}"),
    (lambda: nn.functional.layer_norm(A, 4, eps=-1), ValueError,
     "layer_norm(float32[3, 4], 4): eps must be at least 0, not -1"),
    (lambda: ag.sum(A, keepdims="yes"), TypeError,
     "sum(float32[3, 4]): keepdims must be True or False, not 'yes'"),
    (lambda: nn.functional.dropout(A, generator=3), TypeError, "dropout(float32[3, 4]): generator "
     "must be a Generator, such as ag.random.Generator(0) or None, not 3"),
    (lambda: ag.grad(lambda x: x.sum(), has_aux="yes")(V), TypeError,
     "grad: has_aux must be True or False, not 'yes'"),
    (lambda: nn.Linear(4, 2)(V), ag.ShapeError, "linear(float32[3], float32[2, 4], float32[2]): "
     "features differ: 3 (axis -1 of x (3,)) and 4 (axis 1 of weight (2, 4))"),
    (lambda: distributions.Normal(0.0, 1.0).sample("3"), TypeError,
     "Normal.sample: a size must be an integer, not '3'"),
    (lambda: distributions.MultivariateNormal(ag.zeros(2), ag.ones((2, 2))), ValueError,
     "MultivariateNormal: covariance_matrix must be a symmetric positive definite matrix, not "
     "[[1. 1.]\n [1. 1.]]"),
    (lambda: distributions.MultivariateNormal(ag.zeros(2), ag.ones((2, 2)), validate_args=False),
     np.linalg.LinAlgError,
     "MultivariateNormal: cholesky(float32[2, 2]): Matrix is not positive definite"),
    (lambda: ag.vmap(lambda x, y: x + y)(A, V[:2]), ag.ShapeError,
     "vmap: y has 2 examples on axis 0, others have 3"),
    (lambda: ag.vmap(lambda x, y: x)(A, y={"a": V[:2]}), ag.ShapeError,
     "vmap: y['a'] has 2 examples on axis 0, others have 3"),
    (lambda: ag.jacobian(lambda x: x.sum(), argnums=2)(V), ValueError,
     "jacobian: argnums names argument 2, but the function was given 1"),
    (pulled, ValueError, "vjp: the cotangent is float32[3], but <lambda> returned (float32[3], "
     "float32[3]); give a cotangent of the same nest"),
    (lambda: symbolic.scan(lambda a: a, symbolic.dvector("x"), 0.0), TypeError,
     "scan: <lambda>() takes 1 positional argument but 2 were given; it is called as fn(*rows, "
     "*earlier values, *non_sequences): 1, 1 and 0 of them"),
    (shared_update, ag.ShapeError, "the update of 's', "),
    (listed_update, TypeError, "function: updates must be a dict, or pairs (variable, new value), "
     "not [float64["),
    (lambda: nn.Sequential([nn.Linear(4, 2), nn.ReLU]), TypeError, "Sequential: layer 0 is no "
     "module and no function: [Linear(4, 2), <class ReLU>]; give the layers one by one"),
    (lambda: ag.zeros(3, 4, dtype="float33"), ag.DTypeError,
     "zeros(3, 4): unsupported dtype 'float33'; choose one of bool, int8"),
    (lambda: ag.jit(lambda x: {0: 1}[x.sum()])(V), ag.TraceError, "a dict has no key float32[]: "
     "tensors are keys by identity, not by value; write d[x.item()], or take ag.tensor(values)[x]"),
    (lambda: nn.CrossEntropyLoss()(ag.tensor([0, 1, 2]), A), ag.ShapeError,
     "the logits come first, and then their target, not int64[3] and float32[3, 4]"),
    (lambda: V[:"2"], TypeError, "a slice goes from integer to integer, not '2'"),
    (lambda: nn.Bilinear(3, 4, 2)(A, A), ag.ShapeError, "Bilinear: the weight ("),
    (lambda: optim.lr_scheduler.LambdaLR(optim.SGD([LEAF], 0.1), lambda e: "0.5").step(), TypeError,
     "LambdaLR: lr_lambda must return a number, the factor of the rate, not '0.5'"),
    (lambda: metrics.R2Score().update("a", "b"), ag.DTypeError, "R2Score.update: "
     "cannot make a tensor from 'a'"),
    (lambda: training.Trainer(MODEL, optim.SGD(MODEL.parameters(), 0.1), nn.MSELoss()).predict("x"),
     TypeError, "Trainer.predict: data must be a DataLoader, a dataset or a tuple of arrays, not "
     "'x'"),
    (lambda: training.find_lr(nn.Linear(4, 2), 3), TypeError,
     "find_lr: trainer must be agnesi's Trainer, not Linear(4, 2)"),
    (lambda: ag.config("float64"), TypeError,
     "config takes names as in threads=4, not 'float64'"),
    (lambda: (lambda x: ag.function([x], x))(symbolic.vector("x"))(A), TypeError,
     "input x of function is 1-dimensional; float32[3, 4] does not fit"),
    (lambda: ag.jit(lambda x: x.eval())(V), ag.TraceError, "eval() needs the value of "
     "<vector argument 0: float32[3]>, which does not exist yet"),
    (lambda: ag.function([], [], allow_unused=True), TypeError, "function() got an unexpected "
     "keyword argument 'allow_unused'; it takes inputs, outputs, updates"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES, ids=range(len(CASES)))
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind) as caught:
        wrong()
    told, _, place = str(caught.value).partition("\n  at ")
    assert text in told
    assert place.startswith(f"{__file__}:")


def test_what_is_no_number_is_equal_to_no_tensor() -> None:
    assert (V == "a") is False and (V != None) is True and V not in ({}, set())  # noqa: E711


@pytest.mark.parametrize(("module", "name"), [
    ("rewrite", "rewrite_rule"), ("testing", "check_grads"), ("tree", "leaves_with_path"),
    ("distributed", "Pipeline"), ("func", "functional_call"), ("inspect", "to_dot")])
def test_names_of_modules_are_told_where_they_are_looked_for_at_the_top(
        module: str, name: str) -> None:
    with pytest.raises(AttributeError, match=f"use `ag.{module}.{name}`"):
        eval(f"ag.{name}")


def test_a_jitted_function_is_told_by_its_name() -> None:
    @ag.jit
    def doubled(x: Any) -> Any:
        return x * 2

    with pytest.raises(AttributeError, match="the jitted function doubled has no attribute 'no'"):
        _ = doubled.no
