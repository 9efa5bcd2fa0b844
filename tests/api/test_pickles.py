"""Pickles of everything that users make, in each protocol, and what cannot be pickled says so."""

import copy
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compat.theano.modes import NanGuardMode

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
X = np.arange(6.0).reshape(2, 3)


def graph_op():
    """An OpFromGraph that was called with several sizes, and in a graph."""
    x, y = T.vectors("x", "y")
    op = ag.OpFromGraph([x, y], [x * y + 1, x.sum()])
    op([1.0, 2.0], [3.0, 4.0])
    op([1.0], [3.0])
    return op, x, op(x, x)[0]


def of_vector(make):
    x = T.vector("x")
    return x, make(x)


def loop(x):
    return ag.scan(lambda c, v: (c + v, c * v), ag.tensor(0.0, dtype="float64"), x)[1].sum()


def branch(x):
    return ag.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)


def value(pair):
    return pair[1].eval({pair[0]: X[1]})


@ag.jit
def named(x):
    return x * 2


def plain(x):
    return x + 1


def called():
    x = T.matrix("x")
    f = ag.function([x], x.tanh().sum(0))
    f(X)
    return f


def trained():
    model = ag.nn.Sequential(ag.nn.Linear(3, 2), ag.nn.BatchNorm1d(2), ag.nn.Dropout(0.5))
    optimizer = ag.optim.Adam(model.parameters(), lr=0.1)
    (model(ag.tensor(X, dtype="float32")) ** 2).sum().backward()
    optimizer.step()
    return model.eval(), optimizer


def used(pair):
    """What a model gives after another step of its optimizer, which holds the same parameters."""
    model, optimizer = pair
    model.zero_grad()
    (model(ag.tensor(X, dtype="float32")) ** 2).sum().backward()
    optimizer.step()
    return model(ag.tensor(X, dtype="float32")).detach().numpy()


#: What is pickled, and what of it is compared.
KINDS = {
    "tensor": (lambda: ag.tensor(X, requires_grad=True), lambda t: t.detach().numpy()),
    "expression": (lambda: of_vector(lambda x: x.tanh() * 2 + ag.tensor(X[0])), value),
    "loop": (lambda: of_vector(loop), value),
    "branch": (lambda: of_vector(branch), value),
    "graph as an operation": (graph_op, lambda g: [
        *(v.numpy().tolist() for v in g[0]([1.0, 2.0], [3.0, 4.0])), g[2].eval({g[1]: [2.0]})]),
    "function": (called, lambda f: f(X)),
    "named jit": (lambda: named, lambda f: f(ag.tensor(X)).numpy()),
    "jit of a function": (lambda: ag.jit(plain), lambda f: f(ag.tensor(X)).numpy()),
    "model and optimizer": (trained, used),
    "recurrent module": (lambda: ag.nn.LSTM(3, 2),
                         lambda m: m(ag.ones((2, 1, 3)))[0].detach().numpy()),
    "sparse": (lambda: ag.sparse.csr(X), lambda m: m.todense().numpy()),
    "generator": (lambda: ag.random.Generator(3), lambda g: ag.rand(2, generator=g).numpy()),
    "configuration": (lambda: ag.config, lambda c: c is ag.config),
    "shared": (lambda: ag.shared(X, name="s"), lambda s: s.get_value()),
    "dtype": (lambda: ag.float32, str),
    "group of parameters": (lambda: trained()[1].param_groups[0], lambda g: (g["lr"], [*g])),
    "mode that refuses NaN": (lambda: NanGuardMode(True, False), lambda m: len(m._refused)),
}


@pytest.mark.parametrize("protocol", [0, 5])
def test_every_public_name(protocol):
    public = {name: getattr(ag, name) for name in dir(ag)}
    for name, thing in public.items():
        if not isinstance(thing, types.ModuleType):
            assert type(pickle.loads(pickle.dumps(thing, protocol))) is type(thing), name


@pytest.mark.share(4)
@pytest.mark.parametrize("kind", KINDS)
def test_all_protocols(kind):
    make, use = KINDS[kind]
    thing = make()
    wanted = use(copy.deepcopy(thing))
    for protocol in PROTOCOLS:
        found = use(pickle.loads(pickle.dumps(thing, protocol)))
        assert np.all(np.asarray(found, object) == np.asarray(wanted, object)), protocol


@pytest.mark.long
def test_every_module_in_the_oldest_protocol():
    """Their classes have slots, which protocols 0 and 1 know nothing of by themselves."""
    names = {n for n in dir(ag.nn) if isinstance(getattr(ag.nn, n), type)
             and issubclass(getattr(ag.nn, n), ag.nn.Module)}
    tried = 0
    for name in sorted(names):
        try:
            module = getattr(ag.nn, name)()
        except (TypeError, ValueError):  # it needs arguments
            continue
        tried += 1
        again = pickle.loads(pickle.dumps(module.eval(), 0))
        assert repr(again) == repr(module) and again.training is False, name
    assert tried > 20


@pytest.mark.parametrize("use", ["x * 2", "ag.OpFromGraph([x], x * 2)"])
def test_graphs_are_pickled_before_anything_is_compiled(use):
    program = (
        "import pickle, sys\nimport agnesi as ag\nfrom agnesi import symbolic as T\n"
        f"x = T.vector('x')\npickle.loads(pickle.dumps({use}))\n"
        "assert 'agnesi.compiler.compilation.compiled' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_jitted_lambda_says_what_to_do(monkeypatch):
    for name in [n for n in sys.modules if "cloudpickle" in n or n.startswith("dill")]:
        monkeypatch.delitem(sys.modules, name)  # as joblib's own, which scikit-learn imports
    f = ag.jit(lambda x: x + 1)
    f(ag.ones(2))

    def inner(x):
        return x

    for g, name in [(f, "<lambda>"), (ag.jit(inner), "inner")]:
        for protocol in PROTOCOLS:
            with pytest.raises(pickle.PicklingError, match=name) as found:
                pickle.dumps({"f": g}, protocol)
            told = str(found.value)
            assert "test_pickles.py" in told and "define it with def" in told
    assert float(copy.copy(f)(ag.ones(()))) == 2 and copy.deepcopy(f) is f
    # Others pickle functions by what they do; they are asked for the lambda itself.
    monkeypatch.setitem(sys.modules, "somewhere.cloudpickle", types.ModuleType("cloudpickle"))
    assert f.__reduce__()[1][0] is f.function


def test_the_configuration_is_one_object():
    for protocol in PROTOCOLS:
        assert pickle.loads(pickle.dumps(ag.config, protocol)) is ag.config
    with ag.config(default_float="float64"):
        assert copy.copy(ag.config) is copy.deepcopy(ag.config) is ag.config
        assert copy.deepcopy({"c": ag.config})["c"].default_float == "float64"
