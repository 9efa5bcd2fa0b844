"""Errors that code of the user's catches: compiled code goes the way that eager code goes."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import agnesi as ag


def of_reshape(x):
    try:
        return x.reshape(7) + 1
    except Exception:
        return -x


def of_broadcasting(x):
    try:
        return x + ag.ones(7)
    except ValueError:
        return -x


def of_products(x):
    y = -x.sum()
    with contextlib.suppress(ValueError):
        y = (x @ ag.ones((7, 2))).sum()
    return y


def of_writes(x):
    y = ag.zeros(7)
    try:
        y[:] = x
    except (KeyError, RuntimeError):
        y = -x
    finally:
        y = y * 2
    return y


def of_splits(x):
    try:
        return ag.split(x, 3)[0].sum()
    except:  # noqa: E722
        return -x.sum()


def of_loops(x):
    """One that waits for a size must end."""
    while True:
        try:
            return x.reshape(3, -1)
        except ValueError:
            x = ag.concatenate([x, x[:1]])


def of_comparisons(x):
    try:
        return x * 2 if x.shape[0] == 7 else x * 3
    except Exception:
        return -x


@pytest.mark.parametrize("function", [
    of_reshape, of_broadcasting, of_products, of_writes, of_splits, of_loops,
    of_comparisons])
@pytest.mark.parametrize("sizes", [(3, 7, 5, 2, 7, 6), (7, 3, 7, 4)], ids=["grows", "begins"])
def test_whether_an_error_is_caught_is_decided_by_present_sizes(function, sizes):
    """A version for several sizes raised for all of them what some of them do not."""
    run = ag.jit(function)
    for n in sizes:
        x = ag.arange(1.0, n + 1)
        np.testing.assert_array_equal(run(x).numpy(), function(x).numpy())


def factor(k):
    for jitter in (0.0, 1e-6, 1e-3, 1.0):
        try:
            return ag.linalg.cholesky(k + jitter * ag.eye(2)), jitter
        except np.linalg.LinAlgError:
            continue
    return k, None


def helped(x, i):
    try:
        return element(x, i)
    except IndexError:
        return x[0]


def element(x, i):
    with ag.no_grad():
        return x[i] * 2


def stated(x):
    try:
        ag.ensure(x, x.sum() > 0)
        return x * 2
    except Exception as error:
        return -x * len(type(error).__name__)


@pytest.mark.parametrize(("function", "calls"), [
    (factor, [([[2.0, 1.0], [1.0, 2.0]],), ([[1.0, 1.0], [1.0, 0.99999]],)]),
    (helped, [([1.0, 2.0], 1), ([1.0, 2.0], 7)]), (stated, [([1.0, 2.0],), ([-1.0, 0.5],)]),
], ids=["factor", "index", "ensure"])
def test_what_compiled_code_checks_inside_a_try_runs_eagerly(function, calls):
    run = ag.jit(function)
    with pytest.warns(RuntimeWarning, match=r"an except clause may catch what \w+ raises at .*py:"):
        for given in calls:
            given = [ag.tensor(a) for a in given]
            for a, b in zip(ag.tree.leaves(run(*given)), ag.tree.leaves(function(*given)),
                            strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def unrelated(x, i):
    try:
        scale = {"a": 2.0}["b"]
    except KeyError:
        scale = 3.0
    try:
        return x[i] * scale
    except (AttributeError, ImportError):
        return x
    finally:
        scale = 1.0


def test_clauses_for_other_errors_do_not_keep_code_from_being_compiled():
    run = ag.jit(unrelated)
    for i in (0, 1):
        assert float(run(ag.tensor([1.0, 2.0]), ag.tensor(i))) == 3.0 * (i + 1)
    assert "1 specialisation\n" in run.explain()
