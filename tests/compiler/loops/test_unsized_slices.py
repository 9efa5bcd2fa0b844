"""Slices whose length each step of a loop decides: what goes on among all that there may be."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

W = np.arange(6.0).reshape(3, 2) - 2
VALUES = np.random.default_rng(0).standard_normal((5, 3))
#: Of the first so many rows of a matrix.
OF_ROWS = {
    "dot": lambda s: ag.dot(s.sum(1), s.sum(1)), "rows": lambda s: (s @ ag.asarray(W)).sum(0),
    "row times vector": lambda s: (s @ ag.asarray(W[:, 0])).max(0),
    "columns": lambda s: (ag.asarray(W).T @ s.T).sum(1), "gram": lambda s: s.T @ s,
    "vector times rows": lambda s: s.sum(1) @ s, "transpose": lambda s: s.T.mean(1),
    "last": lambda s: s[-1], "first": lambda s: s[0] * 2, "but the last": lambda s: s[:-1].sum(0),
    "rest": lambda s: s[1:].sum(0), "middle": lambda s: s[1:-1].sum(0),
    "the last two": lambda s: s[-2:, 1].sum(), "reversed": lambda s: ag.cumsum(s[::-1], 0).max(0),
    "last reversed": lambda s: s[::-1][0], "column": lambda s: ag.cumprod(s[:, 1], 0).sum(),
    "ellipsis": lambda s: s[..., 0].sum(), "new axis": lambda s: s[..., None].sum((0, 2)),
    "columns of the transpose": lambda s: s.T[1:].sum(1), "pair": lambda s: s[0] + s[-1],
    "softmax": lambda s: (ag.softmax(s, 0) * s).sum(0), "softmax of rows": lambda s: ag.softmax(
        s, 1).sum(0),
    "log_softmax": lambda s: ag.log_softmax(s, 0).min(0), "cumsum": lambda s: ag.cumsum(s, 0)[-1],
    "under a mask": lambda s: s[s.sum(1) > 0].sum(0),
    "under masks": lambda s: (t := s[:, 0])[t > -1][t[t > -1] < 1].prod(),
    "sorted": lambda s: ag.cumsum(ag.sort(s, 0), 0).sum(0), "rows sorted": lambda s: ag.sort(
        s, 1)[-1],
    "attention": lambda s: ag.softmax(s @ ag.asarray(W[:, 1]), 0) @ s,
}


def every(s):
    return tuple(f(s) for f in OF_ROWS.values())


@pytest.mark.long
def test_values_and_gradients_are_those_of_a_python_loop():
    a = ag.tensor(VALUES, requires_grad=True)
    expected = [ag.stack(rows) for rows in zip(*(every(a[:i]) for i in range(1, 6)), strict=True)]
    sum((y**2).sum() for y in expected).backward()
    m = T.dmatrix("m")
    outputs, _ = T.scan(lambda i: every(m[:i]), sequences=T.arange(1, m.shape[0] + 1))
    loss = sum((y**2).sum() for y in outputs)
    *found, slope = ag.function([m], [*outputs, T.grad(loss, m)])(VALUES)
    jitted = ag.jit(lambda b: ag.map(lambda i: every(b[:i]), ag.arange(1, 6)))(ag.tensor(VALUES))
    for name, wanted, declared, compiled in zip(OF_ROWS, expected, found, jitted, strict=True):
        for values in (declared, compiled.numpy()):
            np.testing.assert_allclose(values, wanted.detach(), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(slope, a.grad, rtol=1e-9)


def test_places_that_there_are_not():
    m = T.dmatrix("m")
    for key in (2, -3):
        rows, _ = T.scan(lambda i, key=key: m[:i][key], sequences=T.arange(1, 4))
        with pytest.raises(IndexError, match="out of range"):
            ag.function([m], rows)(VALUES)
    with pytest.raises(ag.TraceError, match="rows are no stack: sum them up in the body"):
        T.scan(lambda i: m[:i].reshape((-1,)), sequences=T.arange(1, 4))


#: What a step writes into a matrix, at rows and columns of which there are as many as it finds.
WRITES = {
    "head": lambda c, i, m: ag.set_subtensor(c[:i], m[:i] * 2),
    "tail": lambda c, i, m: ag.inc_subtensor(c[i:], m[i:] * 2),
    "number": lambda c, i, m: ag.set_subtensor(c[i - 1:i + 1], 7.0),
    "every other": lambda c, i, m: ag.set_subtensor(c[:i:2], m[:i:2] - 1),
    "columns": lambda c, i, m: ag.set_subtensor(c[:, :i], m[:, :i] * c[0, 0]),
    "a row": lambda c, i, m: ag.inc_subtensor(c[:i], m[0]),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_is_written_there_is_in_the_place_alone(write):
    a = ag.tensor(VALUES, requires_grad=True)
    expected = a * 1.5
    for i in range(4):
        expected = write(expected, i, a)
    (expected**2).sum().backward()
    m = T.dmatrix("m")
    rows, _ = T.scan(lambda i, c: write(c, i, m), sequences=T.arange(4), outputs_info=m * 1.5)
    found, slope = ag.function([m], [rows[-1], T.grad((rows[-1]**2).sum(), m)])(VALUES)
    jitted = ag.jit(lambda b: ag.fori_loop(0, 4, lambda i, c: write(c, i, b), b * 1.5))
    np.testing.assert_allclose(found, expected.detach())
    np.testing.assert_allclose(jitted(ag.tensor(VALUES)), expected.detach())
    np.testing.assert_allclose(slope, a.grad)


def test_places_that_are_named_twice_are_added_to_twice():
    v = T.dvector("v")
    at = v.astype("int64") - 4
    rows, _ = T.scan(lambda i, c: ag.inc_subtensor(c[at[:i]], v[:i] + 1), sequences=T.arange(5),
                     outputs_info=v * 0)
    found = ag.function([v], rows[-1])([3.0, 0.0, 3.0, 2.0])
    np.testing.assert_array_equal(found, [3 * 1, 0, 3, 4 * 4 + 2 * 4])


def test_other_values_than_those_of_a_place_cannot_be_written_to():
    v = T.dvector("v")
    for write in (ag.set_subtensor, ag.inc_subtensor):
        with pytest.raises(TypeError, match="must be an indexed tensor"):
            write(v[v > 0] * 2, 1.0)
        with pytest.raises(TypeError, match="must be an indexed tensor"):
            T.scan(lambda i, write=write: write(ag.concatenate([v[:i], v]), 1.0),
                   sequences=T.arange(3))
