"""Attributes of classes, functions and modules, by names that code computes."""

from __future__ import annotations

import inspect
import operator
import subprocess
import sys
import types

import pytest

import agnesi as ag

NAME = "kept"
READS = {
    "getattr": lambda h: lambda x: x * getattr(h, NAME)[0],
    "getattr with a default": lambda h: lambda x: x * getattr(h, NAME, [7.0])[0],
    "getattr of a joined text": lambda h: lambda x: x * getattr(h, "".join(["ke", "pt"]))[0],
    "getattr of a sum": lambda h: lambda x: x * getattr(h, "ke" + NAME[2:], [7.0])[0],
    "getattr by map": lambda h: lambda x: x * next(map(getattr, [h], [NAME]))[0],
    "hasattr": lambda h: lambda x: x * (2.0 if hasattr(h, NAME) else 3.0),
    "vars": lambda h: lambda x: x * vars(h)[NAME][0],
    "entries of vars": lambda h: lambda x: x * sum(
        v[0] for v in vars(h).values() if type(v) is list),
    "dict": lambda h: lambda x: x * h.__dict__.get(NAME, [7.0])[0],
    "dir": lambda h: lambda x: x * sum(getattr(h, n)[0] for n in dir(h) if n[:4] == NAME),
    "getmembers": lambda h: lambda x: x * sum(
        v[0] for n, v in inspect.getmembers(h) if n[:4] == NAME),
    "attrgetter": lambda h: lambda x: x * GETTER(h)[0],
    "attrgetter made there": lambda h: lambda x: x * operator.attrgetter(NAME)(h)[0],
}
GETTER = operator.attrgetter("kept")


def holders():
    class Meta(type):
        pass

    class Base:
        pass

    def function():
        pass

    return {"class": Base, "metaclass": Meta("M", (), {}), "exception": type("E", (Exception,), {}),
            "subclass of tensors": type("T", (ag.Tensor,), {}), "function": function,
            "module": types.ModuleType("held"), "namespace": types.SimpleNamespace(),
            "an exception": ValueError("v"), "object": Base()}


def told(f):
    try:
        return f(ag.ones(1)).tolist()
    except (AttributeError, KeyError) as error:
        return type(error)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", holders())
def test_what_is_read_by_a_computed_name_is_followed(kind, read):
    found = []
    for way in (lambda f: f, ag.jit):
        holder = holders()[kind]
        holder.kept = [1.0]
        f = way(READS[read](holder))
        seen = [told(f)]
        holder.kept[0] = 2.0
        seen.append(told(f))
        holder.kept = [4.0]
        seen.append(told(f))
        holder.kept1 = [8.0]
        seen.append(told(f))
        del holder.kept, holder.kept1
        found.append([*seen, told(f)])
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("kind", holders())
def test_what_is_written_by_a_computed_name_is_written_by_each_call(kind):
    holder, by_map, number = holders()[kind], holders()[kind], [1]

    def count(x):
        setattr(holder, NAME, getattr(holder, NAME, 0) + 1)
        setattr(holder, NAME + "1", number[0])
        list(map(setattr, [by_map], [NAME], [number[0]]))
        return x * getattr(holder, NAME)

    f = ag.jit(count)
    for n in range(4):
        number[0] = n + 10
        assert f(ag.ones(1)).tolist() == [n + 1] and holder.kept == n + 1
        assert holder.kept1 == n + 10 == by_map.kept


def test_a_deleted_attribute_has_to_be_there():
    holder = holders()["object"]

    @ag.jit
    def forget(x):
        del holder.kept
        return x + 1

    for _ in range(3):
        holder.kept = 1
        assert forget(ag.ones(1)).tolist() == [2.0] and not hasattr(holder, "kept")
        with pytest.raises(AttributeError):
            forget(ag.ones(1))


def test_bases_and_subclasses_are_followed():
    class Base:
        w, table = 1.0, [1.0]

    class Part(Base):
        w = 2.0

        def scaled(self, x):
            return x * super().w + super().table[0]

    def of_subclasses(x):
        return x * sum(kind.w for kind in Base.__subclasses__())

    def of_bases(x):
        return x * sum(kind.w for kind in Part.__mro__[:2])

    def of_super(x):
        return Part().scaled(x)

    compiled = [ag.jit(f) for f in (of_subclasses, of_bases, of_super)]
    x = ag.ones(1)
    assert [f(x).tolist() for f in compiled] == [[2.0], [3.0], [2.0]]
    Base.w, Base.table[0] = 5.0, 3.0
    assert [f(x).tolist() for f in compiled] == [[2.0], [7.0], [8.0]]
    Part.w = 1.0
    assert [f(x).tolist() for f in compiled] == [[1.0], [6.0], [8.0]]


def test_attributes_that_annotations_name_are_followed():
    class Options:
        a: float = 1.0
        b: float = 2.0

    f = ag.jit(lambda x: x * sum(getattr(Options, name) for name in Options.__annotations__))
    assert f(ag.ones(1)).tolist() == [3.0]
    Options.a = 5.0
    assert f(ag.ones(1)).tolist() == [7.0]
    Options.__annotations__.pop("b")
    assert f(ag.ones(1)).tolist() == [5.0]


def test_what_a_library_loads_at_its_first_use_is_no_change():
    code = ("import warnings; warnings.simplefilter('error'); import agnesi as ag; "
            "print(ag.jit(lambda x: getattr(ag, 'tril')(x) if hasattr(ag, 'triu') else x)"
            "(ag.ones((2, 2))).tolist(), hasattr(ag, 'no_such_name'))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[[1.0, 0.0], [1.0, 1.0]] False\n", "")
