"""Every public function with a number of Python's in each of its places: compiled code gives the
values and dtypes of the eager call, and refuses what it refuses, a constant or an argument.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.tree import flatten
from agnesi.nn import functional as F
from tests.errors.test_arguments import example, functions
from tests.share import EVERY

NUMBERS = (0.5, 2, True, 0.5 + 0.25j, 0, -1.5)
#: They compile, write files, take functions, give what no call repeats, or have an example whose
#: tensors belong to a trace.
ASIDE = frozenset("""Lop Rop callback checkpoint checkpoint_sequential clone compile elementwise
                  empty empty_like fork function grad jit load memory_stats op print rand reduction
                  shared""".split())
#: They ask for values, where memory lies, or how many results there are.
EAGER = frozenset("""bytes inc_subtensor lstsq may_share_memory null_space orth
                  set_subtensor shares_memory""".split())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("run", ["eager", "jit", "function"])
def test_floats_of_losses_and_of_modes_give_way(run: str, dtype: str) -> None:
    def values(x: Any) -> list[Any]:
        return [F.l1_loss(x, 1.5), F.l1_loss(1.5, x), F.huber_loss(x, 1.5), F.kl_div(x, 0.5),
                F.hinge_embedding_loss(1.5, x), F.poisson_nll_loss(1.5, x),
                F.binary_cross_entropy(x, 0.5), *ag.special.pro_ang1(1, 1, 1.5, x),
                *ag.special.mathieu_cem(1.0, 0.5, x)]

    x = ag.full(3, 0.25, dtype=dtype)
    if run == "function":
        symbol = ag.symbolic.tensor(dtype, (3,))
        found = ag.function([symbol], values(symbol))(x)
    else:
        found = (ag.jit(values) if run == "jit" else values)(x)
    assert [v.dtype for v in found] == [np.dtype(dtype)] * len(found)


def calls(f: Any) -> Iterator[tuple[Any, Any, Callable[..., Any], list[Any]]]:
    """The place and the number, a function of the number and of tensors, and these."""
    found = example(f)
    for i, p in enumerate(inspect.signature(f).parameters.values() if found else ()):
        args, keywords = list(found[0]), dict(found[1])  # type: ignore[index]
        place: Any = i
        if i >= len(args) or p.kind is p.KEYWORD_ONLY:
            if p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY, p.VAR_KEYWORD):
                continue
            place = p.name
        at = [k for k, v in enumerate(args) if isinstance(v, ag.Tensor) and k != place]

        def call(number: Any, *xs: Any, place: Any = place, at: Any = at, args: Any = args,
                 keywords: Any = keywords) -> Any:
            args, keywords = list(args), dict(keywords)
            for k, x in zip(at, xs, strict=True):
                args[k] = x.clone() if f.__name__.endswith("_") else x  # they write into it
            (keywords if isinstance(place, str) else args)[place] = number
            return f(*args, **keywords)

        for number in NUMBERS:
            yield place, number, call, [args[k] for k in at]


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the error."""
    ag.manual_seed(3)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return [v.to_dense() if isinstance(v, ag.Tensor) and v.is_sparse else v
                    for v in flatten(f(*args))[0]]
    except Exception as error:
        return error


def difference(eager: Any, found: Any) -> str:
    """What a compiled call gives otherwise, or nothing."""
    if isinstance(eager, Exception) or isinstance(found, Exception):
        both = isinstance(eager, Exception) and isinstance(found, Exception)
        return "" if both else f"{eager!r} | {found!r}"
    if len(eager) != len(found):
        return f"{len(eager)} results | {len(found)}"
    for a, b in zip(eager, found, strict=True):
        if isinstance(a, ag.Tensor) and getattr(b, "dtype", None) != a.dtype:
            return f"{a!r} | {b!r}"
        x, y = (np.asarray(v.detach() if isinstance(v, ag.Tensor) else v) for v in (a, b))
        if x.dtype.kind in "biufc" and not (x.shape == y.shape and np.allclose(
                x, y, rtol=2e-2 if x.itemsize == 2 else 1e-5, atol=1e-6,
                equal_nan=True)):
            return f"{a!r} | {b!r}"
    return ""


@pytest.mark.share(4)
@pytest.mark.parametrize("part", range(6))
def test_compiled_calls_give_what_eager_ones_give(part: int) -> None:
    warnings.simplefilter("ignore")
    wrong, count = [], 0
    rows = [(n, f) for n, f in functions() if n not in ASIDE | EAGER]
    for name, f in rows[part::6 if EVERY else 400]:
        for place, number, call, xs in calls(f):
            eager = outcome(call, number, *xs)
            constant = ag.jit(lambda *xs, call=call, number=number: call(number, *xs))
            for way, found in (("constant", outcome(constant, *xs)),
                               ("argument", outcome(ag.jit(call), number, *xs))):
                count += 1
                if text := difference(eager, found):
                    wrong.append((name, place, number, way, text[:300]))
    assert count > 0
    assert wrong == []


def written(x: Any, path: tuple[Any, ...]) -> Any:
    """A call with the tensor at a place written as lists of numbers."""
    if not path:
        return x.numpy().tolist()
    if isinstance(x, dict):
        return x | {path[0]: written(x[path[0]], path[1:])}
    return type(x)(written(v, path[1:]) if i == path[0] else v for i, v in enumerate(x))


def doubles(x: Any) -> Any:
    """Arguments of doubles that float32 does not hold."""
    if isinstance(x, ag.Tensor) and not x.is_sparse and x.array is not None:
        return ag.tensor(x.numpy().astype("f8") + 0.0123456789) if x.dtype.kind == "f" else x
    if isinstance(x, dict):
        return {k: doubles(v) for k, v in x.items()}
    return type(x)(map(doubles, x)) if type(x) in (list, tuple) else x


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where tensors of doubles stand."""
    if isinstance(x, ag.Tensor) and not x.is_sparse and x.dtype == np.float64:
        yield path
    for k, v in x.items() if isinstance(x, dict) else (
            enumerate(x) if type(x) in (list, tuple) else ()):
        yield from places(v, (*path, k))


@pytest.mark.share(4)
@pytest.mark.parametrize("part", range(4))
def test_lists_beside_doubles_keep_their_digits(part: int) -> None:
    warnings.simplefilter("ignore")
    wrong, count = [], 0
    rows = [(n, f) for n, f in functions() if n not in ASIDE]
    for name, f in rows[part::4] if EVERY else rows[part::8]:
        args, keywords = example(f) or ((), {})
        call = doubles(tuple(args)), doubles(dict(keywords))
        eager = outcome(lambda f=f, call=call: f(*call[0], **call[1]))
        found = list(places(call))
        for path in found if len(found) > 1 and not isinstance(eager, Exception) else ():
            args, keywords = written(call, path)
            listed = outcome(lambda f=f, a=args, k=keywords: f(*a, **k))
            for x, y in zip(eager, listed, strict=True) if isinstance(listed, list) else ():
                if isinstance(x, ag.Tensor) and x.dtype == y.dtype and x.dtype.kind in "fc":
                    count += 1
                    if x.shape != y.shape or not np.allclose(
                            x.detach(), y.detach(), 1e-12, 1e-14, equal_nan=True):
                        wrong.append((name, path, str(x), str(y)))
    assert count > 10
    assert wrong == []


D = np.array([0.1, 0.2])
BESIDE: list[Callable[[Any], Any]] = [
    lambda v: ag.lerp(v, ag.tensor(D), 0.5), lambda v: ag.addcdiv(ag.tensor(D), v, ag.tensor(D)),
    lambda v: ag.addcmul(ag.tensor(D), v, v), lambda v: ag.interp(v, ag.tensor(D), ag.tensor(D)),
    lambda v: ag.addmv(v, ag.eye(2, dtype="float64"), ag.tensor(D)),
    lambda v: ag.addmm(v, ag.eye(2, dtype="float64"), ag.eye(2, dtype="float64")),
    lambda v: ag.float_power(v, v), lambda v: ag.ldexp(ag.tensor(D), v),
    lambda v: ag.fill(ag.tensor(D), v), lambda v: ag.dist(ag.tensor(D), v),
    lambda v: ag.convolve(ag.tensor(D), v), lambda v: ag.polyval(ag.tensor(D), v),
    lambda v: ag.polyint(ag.tensor(D), k=v), lambda v: ag.polydiv(ag.tensor(D), v)[0],
    lambda v: ag.nn.functional.prelu(ag.tensor(-D), v),
    lambda v: ag.nn.functional.cosine_similarity(ag.tensor(D), v, 0),
    lambda v: ag.nn.functional.pairwise_distance(ag.tensor(D), v),
    lambda v: ag.add([v, v], D), lambda v: ag.hypot([v], np.zeros(1)),
]


@pytest.mark.parametrize("f", BESIDE)
def test_numbers_beside_doubles_keep_their_digits(f: Callable[[Any], Any]) -> None:
    want = f(np.float64(0.3)).numpy()
    for found in (f(0.3), ag.jit(lambda: f(0.3))()):
        assert np.allclose(found.numpy(), want, 1e-14, 0)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", ">i4", "int32", "float32", "float64"])
@pytest.mark.parametrize("f", [ag.add, ag.maximum, ag.power])
def test_numbers_give_way_to_arrays_of_numpy(f: Callable[[Any, Any], Any], dtype: str) -> None:
    """As in NumPy and in compiled code; integers beside integers became int64."""
    x = np.arange(3).astype(dtype)
    for a, b in ((x, 2), (2, x)):
        found, tensors = f(a, b), f(*[ag.tensor(v) if v is x else v for v in (a, b)])
        assert found.dtype == tensors.dtype == ag.jit(f)(a, b).dtype
        np.testing.assert_array_equal(found.numpy(), tensors.numpy())


OF_NUMBER: dict[str, Callable[[Any, Any], Any]] = {
    "grad": ag.grad(lambda a, b: (a * b).sum() * a),
    "value_and_grad": ag.value_and_grad(lambda a, b: (a * b).sum() * a),
    "vjp": lambda v, x: ag.vjp(lambda a, b: a * b, v, x)[0],
    "pullback": lambda v, x: ag.vjp(lambda a, b: a * b, v, x)[1](x),
    "jvp": lambda v, x: ag.jvp(lambda a, b: a * b, (v, x), (v, x)),
    "linearize": lambda v, x: ag.linearize(lambda a, b: a * b, v, x)[1](v, x),
    "hvp": lambda v, x: ag.hvp(lambda a, b: (a * b * b).sum() * a, (v, x), (v, x)),
    "hessian": ag.hessian(lambda a, b: (a * b).sum() * a),
    "jacfwd": ag.jacfwd(lambda a, b: a * b), "jacrev": ag.jacrev(lambda a, b: a * b),
    "list": lambda v, x: ag.vjp(lambda a, b: a[0] * b, [v, v], x)[0],
}


@pytest.mark.parametrize("name", OF_NUMBER)
def test_numbers_that_are_differentiated_keep_their_digits_beside_doubles(name: str) -> None:
    f, v, x = OF_NUMBER[name], 0.3123456789, ag.tensor(D)
    want = flatten(f(np.float64(v), x))[0]
    for found in (f(v, x), ag.jit(f)(v, x), ag.jit(lambda x: f(v, x))(x)):
        for a, b in zip(flatten(found)[0], want, strict=True):
            assert a.dtype == b.dtype == np.float64
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-14)


@pytest.mark.parametrize("mask", [True, [True, True, True]])
def test_masks_that_are_constants_are_counted(mask: Any) -> None:
    """Compiled code repeated the last element: nothing was left of what the check stood at."""
    x, source = ag.zeros(3), ag.tensor([1.0, 2.0])
    for run in (lambda f: f, ag.jit):
        with pytest.raises(ValueError, match="fewer elements than the mask has places"):
            run(lambda x: ag.masked_scatter(x, mask, source))(x)
