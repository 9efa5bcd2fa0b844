"""Whole numbers among arguments: run-time values from the third one on, and the same results."""

import math
import warnings

import numpy as np
import pytest

import agnesi as ag

X = ag.tensor([0.5, -1.5, 2.0, 3.0])
VALUES = (3, 0, 1, -2, 2, 5, True, -1, 2.0, 7)

#: Programs in which the code takes the number.
TAKEN = {
    "schedule": lambda x, n: (x * 0.9 ** (n + 3), 0.1 / (1 + abs(n)), n // 2, n % 3, -n, n + 1),
    "cosine": lambda x, n: x * (0.5 * (1 + math.cos(math.pi * n / 10))),
    "every second": lambda x, n: x if n % 2 == 0 else -x,
    "first": lambda x, n: (x * 2).sum() if n == 0 else x.sum() * n,
    "element": lambda x, n: (x[int(n) % 4], x.reshape(2, 2)[:, int(n) % 2]),
    "functions": lambda x, n: (ag.sin(n), ag.add(n, 0.5), ag.add(n, n), ag.abs(n), ag.asarray(n),
                               ag.tensor([n, 1]), ag.stack([n, n]), ag.full((2,), n)),
    "dtypes": lambda x, n: (ag.tensor([1, 2]) + n, ag.tensor([1, 2], dtype="float16") * n,
                            ag.tensor([True]) * n, ag.where(x > n, x, n), ag.maximum(x, n)),
    "gradient": lambda x, n: ag.grad(lambda y: (y * y * n).sum())(x),
    "types": lambda x, n: (isinstance(n, bool), isinstance(n, int), type(n) is int, x * bool(n)),
}
#: Programs in which Python needs it.
NEEDED = {
    "count": lambda x, n: sum([x * i for i in range(abs(int(n)))], x),
    "size": lambda x, n: ag.zeros(abs(int(n))),
    "axis": lambda x, n: ag.ones((2, 3, 4)).sum(axis=int(n) % 3 - 2),
    "seed": lambda x, n: ag.random.normal(size=(2,), generator=ag.Generator(abs(int(n)))),
    "text": lambda x, n: x * len(f"{n}"),
    "key": lambda x, n: {0: x, 1: x + 1}.get(n, x * 0),
    "bits": lambda x, n: x * int(n).bit_length(),
    "numpy": lambda x, n: x * np.arange(4.0)[int(n) % 4],
}


def same(a, b):
    if isinstance(a, tuple):
        return type(a) is type(b) and all(map(same, a, b))
    if isinstance(a, ag.Tensor):
        return isinstance(b, ag.Tensor) and a.dtype == b.dtype and a.shape == b.shape and bool(
            np.allclose(a.numpy(), b.numpy(), rtol=1e-6))
    return type(a) is type(b) and (a == b or math.isclose(a, b, rel_tol=1e-14))


@pytest.mark.share(4)
@pytest.mark.parametrize("name", [*TAKEN, *NEEDED])
def test_they_give_what_the_eager_function_gives(name):
    f = {**TAKEN, **NEEDED}[name]
    g = ag.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # text of the one float runs eagerly
        for n in VALUES:
            assert same(f(X, n), g(X, n)), n
    versions = len(g.specialisations)
    for n in range(20, 33, 4):
        assert same(f(X, n), g(X, n)), n
    assert (len(g.specialisations) <= versions + 1) == (name in TAKEN)


def test_what_does_not_fit_into_an_arrays_dtype_is_refused_as_eagerly():
    f = ag.jit(lambda x, n: x + n)
    x = ag.tensor([1, 2], dtype="uint8")
    assert [f(x, n).tolist() for n in (1, 2, 3, 4, 5)] == [[n + 1, n + 2] for n in (1, 2, 3, 4, 5)]
    for bad in (-1, 300, 2 ** 62):
        with pytest.raises(ag.DTypeError, match=f"{bad} does not fit into uint8"):
            f(x, bad)
    assert f(x, 9).tolist() == [10, 11]


def test_a_call_that_fails_does_not_make_them_constants():
    f = ag.jit(lambda x, n: (x * n) @ ag.ones(4))
    for n in range(4):
        f(X, n)
    made = len(f.specialisations)
    with pytest.raises(ValueError):
        f(ag.ones(3), 5)
    for n in range(10, 20):
        assert f(X, n).item() == 4.0 * n
    assert len(f.specialisations) == made


def test_text_of_what_is_computed_is_made_by_each_call():
    kept = []
    f = ag.jit(lambda x: (kept.append(str(x)), x * 2)[1])
    with pytest.warns(RuntimeWarning, match=r"Python makes text of a computed value \(float32"):
        for n in (1.0, 2.0):
            f(ag.tensor([n]))
    assert kept == ["tensor([1.])", "tensor([2.])"]
