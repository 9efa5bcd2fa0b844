"""Modules, helpers, settings and conventions that programs on Theano import and rely on."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.config import read_settings


@pytest.mark.parametrize(("module", "name"), [
    ("sandbox.cuda", "cuda_enabled"), ("sandbox.linalg.ops", "matrix_inverse"),
    ("sandbox.neighbours", "images2neibs"), ("misc.pkl_utils", "dump"),
    ("gof.fg", "MissingInputError"), ("configdefaults", "config"),
    ("configparser", "change_flags"), ("compile.pfunc", "Param"),
    ("compile.profiling", "ProfileStats"), ("tensor.nnet.sigm", "sigmoid"),
    ("tensor.nnet.nnet", "softmax"), ("updates", "OrderedUpdates"),
    ("sparse.basic", "csr_matrix"), ("scalar.basic", "upcast"), ("gpuarray", "pygpu_activated"),
    ("gradient", "grad_not_implemented"),
])
def test_modules_have_the_names_that_programs_take(module, name):
    assert hasattr(importlib.import_module(f"agnesi.compat.theano.{module}"), name)


def test_names_of_modules_are_those_of_theano_without_an_import_of_their_own():
    code = ("import agnesi.compat.theano.tensor as T; "
            "assert T.special.softmax(T.fvector()).dtype == 'float32'")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_function_tells_its_shared_variables():
    w, u, x = theano.shared(np.ones(2)), theano.shared(0.0), T.vector("x")
    f = theano.function([x], (x * w).sum(), updates=[(u, u + 1)])
    assert [v.tensor for v in f.get_shared()] == [u.tensor, w.tensor]


def test_updates_are_joined_and_checked():
    w, u = theano.shared(1.0), theano.shared(0.0)
    both = theano.updates.OrderedUpdates([(w, w * 2)]) + {u: u + 1}
    theano.function([], [], updates=both)()
    assert (float(w.get_value()), float(u.get_value())) == (2, 1)
    with pytest.raises(TypeError, match="keys are shared variables"):
        both[T.scalar()] = w
    with pytest.raises(KeyError, match="two new values"):
        both.update({w: w * 3})


def test_arrays_and_pickles_of_misc():
    assert theano.misc.safe_asarray([1], "float32").dtype == "float32"
    file = io.BytesIO()
    theano.misc.pkl_utils.dump({"a": 1}, file)
    file.seek(0)
    assert theano.misc.pkl_utils.load(file) == {"a": 1}


def test_axes_of_size_1_go_where_a_rank_is_asked_for():
    assert T.as_tensor_variable(T.row(), ndim=1).broadcastable == (False,)
    with pytest.raises(ValueError, match="the first 1 do not have size 1"):
        T.as_tensor_variable(T.matrix(), ndim=1)
    x = T.vector("x")
    assert x.trunc().eval({x: [1.5]}).tolist() == [1]


class Product(theano.Op):
    """A product that has a derivative to its first operand only."""

    __props__ = ()

    def make_node(self, x, y):
        return theano.Apply(self, [T.as_tensor_variable(x), T.as_tensor_variable(y)], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * inputs[1]

    def grad(self, inputs, gs):
        return [gs[0] * inputs[1], theano.gradient.grad_undefined(self, 1, inputs[1])]


class Apart(Product):
    """The same, which tells that it is not connected to the second one."""

    def connection_pattern(self, node):
        return [[True], [False]]


@pytest.mark.parametrize("op", [Product, Apart])
def test_derivatives_that_there_are_not_are_told(op):
    x, y = T.vectors("xy")
    cost = op()(x, y).sum()
    slope = theano.function([x, y], theano.grad(cost, x))
    assert slope([1.0, 2.0], [3.0, 4.0]).tolist() == [3, 4]
    if op is Apart:
        with pytest.raises(theano.gradient.DisconnectedInputError, match="does not depend on y"):
            theano.grad(cost, y)
        return
    missing = theano.function([x, y], theano.grad(cost, y), on_unused_input="ignore")
    with pytest.raises(theano.gradient.NullTypeGradError, match=r"Product.grad: .* to input 1"):
        missing([1.0, 2.0], [3.0, 4.0])


def test_modules_of_loops_are_attributes_of_one_another():
    from agnesi.compat.theano.scan_module import scan_op, scan_utils

    assert scan_op.scan is scan_utils.scan is theano.scan


def preset():
    x = T.vector("x")
    f = theano.function([x], T.exp(x) * 2)
    np.testing.assert_allclose(f(np.ones(2, x.dtype)), 2 * np.e, rtol=1e-6)
    return x.dtype, f._compiled.settings.preset


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    monkeypatch.setenv("THEANORC", str(tmp_path / "none"))
    monkeypatch.setenv("THEANO_FLAGS", "")
    with theano.config.change_flags({"scan.allow_gc": False}, floatX="float64", mode="Mode",
                                    optimizer="fast_run"):
        yield


@pytest.mark.parametrize(("flags", "wanted"), [
    ("", ("float64", "fast_run")),
    ("floatX=float32,optimizer=fast_compile,device=cpu", ("float32", "fast_compile")),
    ("mode=FAST_COMPILE, lib.cnmem=0.9,of_nobody=3", ("float64", "fast_compile")),
    ("optimizer=None", ("float64", "None")),
])
def test_flags_of_the_environment(monkeypatch, flags, wanted):
    monkeypatch.setenv("THEANO_FLAGS", flags)
    read_settings()
    assert preset() == wanted


def test_files_are_read_before_flags(monkeypatch, tmp_path):
    (tmp_path / "rc").write_text("[global]\nfloatX = float32\nmode = FAST_COMPILE\n"
                                 "[scan]\nallow_gc = True\n")
    monkeypatch.setenv("THEANORC", str(tmp_path / "rc"))
    read_settings()
    assert preset() == ("float32", "fast_compile") and theano.config.scan.allow_gc is True
    monkeypatch.setenv("THEANO_FLAGS", "floatX=float64")
    read_settings()
    assert preset() == ("float64", "fast_compile")


def test_flags_that_mean_nothing_are_refused(monkeypatch):
    monkeypatch.setenv("THEANO_FLAGS", "floatX=float80")
    with pytest.raises(ValueError, match="floatX must be one of"):
        read_settings()


def test_modes_without_optimizer_do_not_rewrite():
    x = T.vector("x")
    f = theano.function([x], T.exp(x), mode=theano.Mode(optimizer=None))
    assert f._compiled.settings.preset == "None"
