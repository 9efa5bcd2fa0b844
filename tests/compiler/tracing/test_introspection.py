"""What code asks of things about themselves, by names, texts and libraries, changed between calls.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

#: What is there before, what a function computes, what is changed then.
CASES = {
    "a default of getattr": ("class A: pass\na = A()", "x * getattr(a, 'z', 1.0)",
                             "A.__getattr__ = lambda self, name: 4.0"),
    "a factory": ("from collections import defaultdict\nd = defaultdict(lambda: 2.0)",
                  "x * d.default_factory()", "d.default_factory = lambda: 3.0"),
    "fields of a class made by a call": (
        "import dataclasses\nD = dataclasses.make_dataclass('D', ['a'])\nd = D(2.0)",
        "x * dataclasses.asdict(d)['a']", "d.a = 4.0"),
    "a global name that comes later": ("k = 2.0", "x * globals().get('late', k)", "late = 3.0"),
    "a shallow copy": ("import copy\nclass A: pass\na = A()\na.k = 2.0", "x * copy.copy(a).k",
                       "a.k = 3.0"),
    "a deep copy": ("import copy\nclass A: pass\na = A()\na.k = [2.0]",
                    "x * copy.deepcopy(a).k[0]", "a.k[0] = 3.0"),
    "a pickle": ("import pickle\nl = [2.0]", "x * pickle.loads(pickle.dumps(l))[0]", "l[0] = 3.0"),
    "classes made of one": ("class A: pass", "x * float(len(A.__subclasses__()))",
                            "B = type('B', (A,), {})"),
    "the names of a class": ("class A: a_x = 1.0", "x * float(sum(n[:2] == 'a_' for n in dir(A)))",
                             "A.a_y = 2.0"),
    "a property before a value": ("class A: pass\na = A()\na.k = 2.0", "x * a.k",
                                  "A.k = property(lambda self: 5.0)"),
    "a property before a slot": (
        "class A: __slots__ = 'k',\nclass B(A): pass\nb = B()\nb.k = 2.0", "x * b.k",
        "B.k = property(lambda self: 5.0)"),
    "a dict of a library's module": ("import math\nmath.zz = 2.0",
                                     "x * math.__dict__.get('zz', 1.0)", "math.zz = 3.0"),
    "a module by its text": ("import sys, math\nmath.zz = 2.0", "x * sys.modules['math'].zz",
                             "math.zz = 3.0"),
    "the names of a function": ("k = 2.0\ndef f(): pass", "x * f.__globals__['k']", "k = 3.0"),
    "whether it can be called": ("class A: pass\na = A()", "x * float(callable(a))",
                                 "A.__call__ = lambda self: 1"),
    "a function's name": ("def f(): pass", "x * float(len(f.__name__))", "f.__name__ = 'longer'"),
    "a function's text": ("def f(): 'ab'", "x * float(len(f.__doc__))", "f.__doc__ = 'abcd'"),
    "annotations": ("def f(a: int): pass", "x * float(len(f.__annotations__))",
                    "f.__annotations__['b'] = int"),
    **{f"a member of an enum {how}": (
        "import enum\nclass E(enum.Enum):\n A = 1\n B = 2\nE.A.k = 2.0", f"x * {ask}.k",
        "E.A.k = 3.0")
        for how, ask in (("by its name", "E['A']"), ("by its value", "E(1)"),
                         ("in a loop", "next(iter(E))"), ("in a list", "list(E)[0]"))},
    "what a library's block gives": (
        "from contextlib import nullcontext\nc = nullcontext(2.0)", "x * c.__enter__()",
        "c.enter_result = 3.0"),
    "an object that a library's block gives": (
        "from contextlib import nullcontext\nclass A: k = 1.0\na = A()\nc = nullcontext(a)",
        "x * c.__enter__().k", "a.k = 3.0"),
    "a list that a library's object holds": (
        "from contextlib import nullcontext\nc = nullcontext([2.0])", "x * c.__enter__()[0]",
        "c.enter_result[0] = 3.0"),
    "a log's handlers": (
        "import logging\nlog = logging.getLogger('introspection.handlers')\nlog.handlers.clear()",
        "x * float(len(log.handlers))", "log.addHandler(logging.NullHandler())"),
    "a name that a module computes": (
        "import types\nm = types.ModuleType('m')\nm.K = {'a': 2.0}\n"
        "exec('def __getattr__(n): return K[n]', vars(m))", "x * m.a", "m.K['a'] = 3.0"),
    "a name that comes before what a module computes": (
        "import types\nm = types.ModuleType('m')\n"
        "exec('def __getattr__(n): return 2.0', vars(m))", "x * m.a", "m.a = 3.0"),
    "a module that begins to compute names": (
        "import types\nm = types.ModuleType('m')", "x * getattr(m, 'a', 2.0)",
        "m.__getattr__ = lambda n: 3.0"),
    "an attribute of an exception's class": (
        "class E(Exception): code = 2.0\ne = E()", "x * e.code", "E.code = 3.0"),
    "a distribution": ("d = ag.distributions.Normal(0.0, 1.0)", "d.log_prob(x)",
                       "d.loc = ag.tensor(3.0)"),
    "a metric": ("m = ag.metrics.Accuracy()\nm.k = 1.0", "x * m.k", "m.k = 2.0"),
    "the length of an array": ("import numpy as np\nc = np.ones(2)", "x * float(len(c))",
                               "c.resize(3, refcheck=False)"),
    "a masked element": ("import numpy as np\nm = np.ma.array([1.0, 2.0], mask=[0, 1])",
                         "x * m.data[1]", "m.data[1] = 3.0"),
    "a log's level": ("import logging\nlog = logging.getLogger('introspection')",
                      "x * float(log.level)", "log.setLevel(30)"),
    "whether a parameter is frozen": ("m = nn.Linear(2, 2)",
                                      "x * (1.0 if m.weight.requires_grad else 2.0)",
                                      "m.requires_grad_(False)"),
    "the sizes of a tensor that nothing reads": (
        "t = ag.ones((2, 3))", "x * float(t.shape[0])", "t.data = np.ones((5, 3), 'f4')"),
    "the sizes of an attribute": (
        "class A: pass\na = A()\na.t = ag.ones((2, 3))", "x * float(a.t.numel())",
        "a.t.data = np.ones((5, 3), 'f4')"),
    "the dtype of a tensor": ("t = ag.ones(2)", "x * (1.0 if t.dtype == ag.float32 else 2.0)",
                              "t.data = np.ones(2)"),
    "the memory of a tensor": ("t = ag.ones(2)", "x * float(t.array[0])", "t[0] = 5.0"),
    "a sparse matrix of SciPy": (
        "from scipy import sparse\nS = sparse.csr_array(np.eye(2))",
        "x * ag.tensor(S @ np.ones(2))", "S.data[0] = 5.0"),
    "a polynomial": ("p = np.polynomial.Polynomial([1.0, 2.0])", "x * float(p(1.0))",
                     "p.coef[0] = 5.0"),
    "an interpolation": ("from scipy import interpolate\nf = interpolate.interp1d([0, 1], [0, 1])",
                         "x * float(f(0.5))", "f.y[1] = 5.0"),
    "a masked array": ("m = np.ma.array([1.0, 2.0], mask=[0, 1])", "x * float(m.sum())",
                       "m.mask = [0, 0]"),
    "a vectorized function": ("k = 2.0\nf = np.vectorize(lambda v: v * k)", "x * float(f(1.0))",
                              "k = 3.0"),
    "a universal function": ("k = 2.0\nf = np.frompyfunc(lambda v: v * k, 1, 1)",
                             "x * float(f(1.0))", "k = 3.0"),
    "a frame": ("import pandas as pd\nd = pd.DataFrame({'a': [1.0, 2.0]})",
                "x * float(d['a'].sum())", "d.loc[0, 'a'] = 5.0"),
    "an object behind another": (
        "class P:\n"
        "    def __init__(self, o): object.__setattr__(self, '_o', o)\n"
        "    def __getattr__(self, n): return getattr(object.__getattribute__(self, '_o'), n)\n"
        "class A: pass\na = A()\na.k = 2.0\np = P(a)", "x * p.k", "a.k = 3.0"),
    "a dict with attributes": (
        "class D(dict): __getattr__ = dict.__getitem__; __setattr__ = dict.__setitem__\n"
        "d = D()\nd.k = 2.0", "x * d.k", "d.k = 3.0"),
    "a file that NumPy reads": ("np.save('k.npy', np.ones(2))", "x * ag.tensor(np.load('k.npy'))",
                                "np.save('k.npy', 3 * np.ones(2))"),
    "a table of a file": ("np.savetxt('k.txt', np.ones(2))",
                          "x * ag.tensor(np.loadtxt('k.txt'))",
                          "np.savetxt('k.txt', 3 * np.ones(2))"),
    "bytes of a file": ("np.ones(2).tofile('k.bin')", "x * ag.tensor(np.fromfile('k.bin'))",
                        "(3 * np.ones(2)).tofile('k.bin')"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_code_asks_is_asked_by_each_call(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, body, change = CASES[case]
    found = []
    for compiled in (False, True):
        names = {"ag": ag, "np": np, "nn": nn, "__name__": "program"}
        exec(before, names)
        exec(f"def main(x): return {body}", names)
        f = ag.jit(names["main"]) if compiled else names["main"]
        x = ag.tensor([1.5, 2.5])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some of these run eagerly
            results = [f(x).tolist() for _ in range(2)]
            exec(change, names)
            results += [f(x).tolist() for _ in range(2)]
        found.append(results)
        __import__("math").__dict__.pop("zz", None)
        __import__("logging").getLogger("introspection").setLevel(0)
    assert found[0] == found[1] and found[0][0] != found[0][-1]


def test_other_threads_open_files_while_one_traces(tmp_path):
    import threading

    path = tmp_path / "k.npy"
    np.save(path, np.array(2))
    read = []

    @ag.jit
    def f(x):
        other = threading.Thread(target=lambda: read.append(np.load(path).item()))
        other.start()
        other.join()
        return x * 2

    assert f(ag.tensor(3.0)).item() == 6 and read == [2]
    assert open is __import__("io").open


@pytest.mark.parametrize("way", ["type(self).n += 1", "self.__class__.n += 1", "Counter.n += 1",
                                 "object.__setattr__(self, 'n', self.n + 1)"])
def test_what_a_method_counts_in_its_class_is_counted(way):
    found = []
    for compiled in (False, True):
        names = {"__name__": "program"}
        exec(f"class Counter:\n    n = 0\n    def __call__(self, x):\n        {way}\n"
             "        return x * self.n", names)
        counter = names["Counter"]()
        f = ag.jit(counter) if compiled else counter
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append([*(f(ag.tensor(2.0)).item() for _ in range(4)), counter.n])
    assert found[0] == found[1] == [2, 4, 6, 8, 4]


def test_a_metric_does_not_tell_its_sums_of_the_first_call():
    metric = ag.metrics.Accuracy()
    with pytest.raises(ag.TraceError, match="NumPy array"):
        ag.jit(lambda x: x * metric.state_dict()["total"])(ag.ones(1))


@pytest.mark.parametrize("body", [
    "o.a = o.a + x; return x * len(vars(o))",
    "o.a = o.a + x; return x * vars(o)['a']",
    "o.a = o.a + x; return x * o.__dict__['a']",
    "o.a = o.a + x; k = vars(o)['b']; o.a = o.a * 0.5; return x * len(k)",
    "import copy; o.a = o.a + x; return x * copy.copy(o).a"])
def test_all_attributes_are_looked_at_after_one_was_changed(body):
    found = []
    for compiled in (False, True):
        names = {"__name__": "program", "ag": ag}
        exec("class O: pass\no = O()\no.a, o.b = ag.ones(2), 'word'\n"
             f"def main(x): {body}", names)
        f = ag.jit(names["main"]) if compiled else names["main"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append([(f(ag.tensor([i, 2.0])).tolist(), names["o"].a.tolist())
                          for i in range(5)])
    assert found[0] == found[1]


@pytest.mark.parametrize("body", [
    "object.__setattr__(o, 'k', 3.0); return m(x) * o.k",
    "return m(x) * object.__getattribute__(o, 'k')",
    "return m(x) * Frozen(2.0).k",
    "return m(Batch(x).array)",
    "s = O(); s.array = x; return m(s.array)",
    "return m(x) * by(np)"])
def test_what_looks_like_introspection_compiles(body):
    names = {"__name__": "program", "ag": ag, "np": np, "m": nn.Linear(2, 2)}
    text = ("import dataclasses, typing\n"
            "class O: pass\no = O()\no.k = 2.0\n"
            "class Batch(typing.NamedTuple):\n    array: ag.Tensor\n"
            "@dataclasses.dataclass(frozen=True)\nclass Frozen:\n    k: float\n"
            "    def __post_init__(self): object.__setattr__(self, 'k', self.k * 2)\n"
            "def by(xp): return xp.array([1.0, 2.0], 'float32')\n"
            f"def main(x): {body}")
    exec(compile(text, "program", "exec", dont_inherit=True), names)
    x = ag.tensor([1.5, 2.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as it would warn that it runs eagerly
        np.testing.assert_allclose(ag.jit(names["main"])(x).tolist(), names["main"](x).tolist(),
                                   rtol=1e-6)
