"""Objects among the arguments of jitted functions: a fresh one each call, known ones, what is asked
of them besides their attributes, and what is put into them."""

from __future__ import annotations

import copy
import dataclasses
import functools
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import agnesi as ag


@dataclasses.dataclass(eq=False)
class Fields:
    k: float = 1.0
    h: Any = None


class Plain:
    def __init__(self, k=1.0, h=None):
        self.k, self.h = k, h


def namespace(k=1.0, h=None):
    return SimpleNamespace(k=k, h=h)


KINDS = pytest.mark.parametrize("make", [Fields, Plain])
X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("make", [Fields, Plain, namespace])
def test_fresh_objects_do_not_compile_anew(make):
    f = ag.jit(lambda x, o: x * o.k * o.h[0])
    for i in range(20):
        assert f(X, make(float(i), [2.0])).tolist() == (X * i * 2).tolist()
    assert len(f.versions._made) <= 2


@KINDS
def test_an_object_is_found_by_identity(make):
    objects = [make(float(i)) for i in range(4)]
    numbers = {o: i for i, o in enumerate(objects)} if make is Plain else {}
    current = [objects[2]]

    def f(x, o):
        return x * (2 if o is current[0] else 3) * (5 if o in objects else 7) * numbers.get(o, 11)

    jitted = ag.jit(f)
    for o in (*objects, *objects, make(1.0), make(2.0), make(2.0)):
        assert jitted(X, o).tolist() == f(X, o).tolist()
    current[0] = objects[3]
    for o in objects:
        assert jitted(X, o).tolist() == f(X, o).tolist()


@KINDS
def test_one_object_twice(make):
    def f(x, a, b):
        a.k += 1
        b.k *= 2
        return x * a.k if a == b else x + b.k

    jitted = ag.jit(f)
    for i in range(4):
        ours, theirs = make(float(i)), make(float(i))
        assert jitted(X, ours, ours).tolist() == f(X, theirs, theirs).tolist()
        ours, theirs = [[make(float(i)), make(7.0)] for _ in range(2)]
        assert jitted(X, *ours).tolist() == f(X, *theirs).tolist()
        assert [o.k for o in ours] == [o.k for o in theirs]


@KINDS
def test_attributes_that_are_no_fields(make):
    def f(x, o):
        o.z = getattr(o, "z", 5.0) + 1
        return x * o.z * len(vars(o))

    jitted = ag.jit(f)
    for given in (None, 1.0, 3.0, None):
        ours, theirs = make(2.0), make(2.0)
        if given is not None:
            ours.z = theirs.z = given
        assert jitted(X, ours).tolist() == f(X, theirs).tolist()
        assert vars(ours) == vars(theirs)


@KINDS
def test_an_attribute_is_deleted(make):
    def f(x, o):
        k = o.k
        del o.k
        return x * k

    jitted = ag.jit(f)
    for i in range(4):
        o = make(float(i))
        assert jitted(X, o).tolist() == (X * i).tolist()
        assert vars(o) == {"h": None}


@KINDS
def test_an_object_that_holds_itself(make):
    f = ag.jit(lambda x, o: x * o.h.h.k)
    for i in range(3):
        o = make(float(i))
        o.h = o
        assert f(X, o).tolist() == (X * i).tolist()


@KINDS
def test_an_object_is_kept_and_returned(make):
    kept: list[Any] = []

    def f(x, o):
        kept.append(o)
        return o, x * o.k

    jitted = ag.jit(f)
    for i in range(4):
        o = make(float(i))
        found, product = jitted(X, o)
        assert found is o and kept[-1] is o and product.tolist() == (X * i).tolist()


def test_a_result_with_attributes_that_are_no_fields():
    def f(x):
        o = Fields(2.0, x * 2)
        o.extra = x + 1
        return o

    jitted = ag.jit(f)
    for _ in range(2):
        assert jitted(X).extra.tolist() == (X + 1).tolist()


@KINDS
def test_a_gradient_lands_in_the_object_of_the_call(make):
    def f(x, o):
        (o.h * x).sum().backward()
        return o.h.grad * o.k

    jitted = ag.jit(f)
    for i in range(3):
        o = make(float(i), ag.tensor(X, requires_grad=True))
        assert jitted(X, o).tolist() == (X * i).tolist()
        assert o.h.grad.tolist() == X.tolist()


@KINDS
def test_copies_in_the_function(make):
    f = ag.jit(lambda x, o: x * copy.copy(o).k + copy.deepcopy(o).k)
    for i in range(3):
        assert f(X, make(float(i))).tolist() == (X * i + i).tolist()


def test_results_that_a_full_cache_gave_up():
    @functools.lru_cache(maxsize=1)
    def kept(a):
        return [a]

    f = ag.jit(lambda x: x * kept(1.0)[0])
    kept(1.0)[0] = 50.0
    assert f(X).tolist() == (X * 50).tolist()
    kept(2.0)
    assert f(X).tolist() == X.tolist()
    kept(1.0)[0] = 7.0
    assert f(X).tolist() == (X * 7).tolist()


def test_what_is_put_into_results_that_a_function_keeps():
    kept = functools.cache(lambda a: [a])
    f = ag.jit(lambda x, a: x * kept(a)[0])
    for a in (1, 2, 3, 1):
        assert f(X, a).tolist() == (X * a).tolist()
    kept(1)[0] = 7
    assert f(X, 1).tolist() == (X * 7).tolist()


def test_an_array_becomes_read_only():
    array = np.ones(3)
    f = ag.jit(lambda x: x * (2 if array.flags.writeable else 3))
    for writeable, expected in ((True, 2), (False, 3), (True, 2)):
        array.flags.writeable = writeable
        assert f(X).tolist() == (X * expected).tolist()


@KINDS
def test_identity_by_id_and_weak_references(make):
    objects = [make(float(i)) for i in range(3)]
    numbers = {id(o): i + 1.0 for i, o in enumerate(objects)}
    weak = weakref.WeakKeyDictionary({o: i + 1.0 for i, o in enumerate(objects)})
    by_id = ag.jit(lambda x, o: x * numbers.get(id(o), 50.0))
    by_reference = ag.jit(lambda x, o: x * weak.get(o, 50.0))
    for o in (*objects, make(4.0), objects[1]):
        expected = numbers.get(id(o), 50.0)
        assert by_id(X, o).tolist() == by_reference(X, o).tolist() == (X * expected).tolist()


def test_a_number_of_numpy_as_a_key():
    f = ag.jit(lambda x, k: x * {0.5: 2.0, 2.0: 3.0}.get(k, 7.0))
    for k, expected in ((np.float64(2), 3), (np.float64(0.5), 2), (np.float64(1), 7)):
        assert f(X, k).tolist() == (X * expected).tolist()


@KINDS
def test_what_was_put_into_an_argument_before_an_error_stays(make):
    def f(x, o):
        o.k = 5.0
        return x.reshape(7)

    for function in (f, ag.jit(f)):
        o = make(1.0)
        with pytest.raises(ag.ShapeError):
            function(ag.tensor(X), o)
        assert o.k == 5.0
