"""Modules of parts: blocks, correlations, transforms, files, convolutions of rows; splitting."""

from __future__ import annotations

import importlib
from typing import ClassVar

import numpy as np
import pytest
import scipy.signal
import scipy.sparse

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.gof import PatternSub
from agnesi.compat.theano.graph.rewriting.utils import rewrite_graph
from agnesi.compat.theano.sparse.sandbox import sp
from agnesi.compat.theano.tensor.nnet import blocksparse, corr

RNG = np.random.RandomState(0)


@pytest.mark.parametrize(("module", "name"), [
    ("sparse.sandbox.sp", "convolve"), ("sandbox.solve", "solve"), ("tensor.fourier", "fft"),
    ("tensor.io", "load"), ("tensor.nnet.blocksparse", "sparse_block_dot"),
    ("tensor.nnet.corr", "CorrMM"), ("tensor.nnet.corr3d", "Corr3dMM"),
    ("compile.function", "function"), ("typed_list.basic", "append"),
    ("typed_list.type", "TypedListType"), ("sparse.type", "SparseType"),
    ("graph.rewriting.utils", "rewrite_graph"), ("tensor.linalg.solvers.general", "solve"),
])
def test_modules_of_parts_are_imported(module, name):
    assert hasattr(importlib.import_module(f"agnesi.compat.theano.{module}"), name)


def test_chosen_blocks_of_a_matrix_and_their_gradients():
    sizes = ((4, 5, 3, 2), (6, 2, 3), (5, 2))
    w, h, b = (RNG.randn(*n) for n in sizes)
    rows, columns = RNG.randint(0, 4, (6, 2)), RNG.randint(0, 5, (6, 3))
    given = [T.tensor4(), T.tensor3(), T.lmatrix(), T.matrix(), T.lmatrix()]
    y = blocksparse.sparse_block_dot(*given)
    found = theano.function(given, [y, *T.grad((y ** 2).sum(), [given[0], given[1]])])(
        w, h, rows, b, columns)
    wanted = b[columns].copy()
    for n, i, j in np.ndindex(6, 2, 3):
        wanted[n, j] += h[n, i] @ w[rows[n, i], columns[n, j]]
    np.testing.assert_allclose(found[0], wanted)
    outer = theano.function([], blocksparse.sparse_block_outer(
        np.zeros_like(w), h, 2 * wanted, rows, columns))()
    np.testing.assert_allclose(found[1], outer)
    theano.gradient.verify_grad(lambda x: x[rows] ** 2, [b])  # it makes a graph of constants, too
    theano.gradient.verify_grad(lambda x: blocksparse.sparse_block_dot(w, x, rows, b, columns), [h])
    with pytest.raises(TypeError, match="must have 3 axes"):
        blocksparse.sparse_block_gemv(T.matrix(), *given[:3], given[4])


def test_correlations_turn_no_filter_over():
    x, w, g = T.tensor4(), T.tensor4(), T.tensor4()
    settings = {"border_mode": (1, 1), "subsample": (2, 2)}
    y = corr.CorrMM(**settings)(x, w)
    image, filters, top = RNG.randn(2, 3, 7, 8), RNG.randn(4, 3, 3, 3), RNG.randn(2, 4, 4, 4)
    found = theano.function([x, w, g], [
        y, corr.CorrMM_gradWeights(**settings)(x, g, (3, 3)),
        corr.CorrMM_gradInputs(**settings)(w, g, (7, 8)), *T.grad((y * g).sum(), [w, x])])(
            image, filters, top)
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    np.testing.assert_allclose(found[0][1, 2], sum(scipy.signal.correlate2d(
        padded[1, c], filters[2, c], "valid") for c in range(3))[::2, ::2])
    np.testing.assert_allclose(found[1], found[3])
    np.testing.assert_allclose(found[2], found[4])


def test_transforms_along_an_axis_are_cut_and_padded():
    x, n = T.matrix(), T.iscalar()
    a = RNG.randn(4, 6)
    for size in (3, 9):
        np.testing.assert_allclose(theano.function([x, n], T.fourier.fft(x, n, 1))(a, size),
                                   np.fft.fft(a, size, 1))
    with pytest.raises(TypeError, match="axis must be from 0 to 1"):
        T.fourier.fft(x, None, 2)


def test_files_are_read_at_each_call(tmp_path):
    path = str(tmp_path / "a.npy")
    name = theano.generic()
    of_input = theano.function([name], T.io.load(name, "int64", (False,)) * 2)
    of_name = theano.function([], T.io.load(path, "int64", (False,), "c").sum())
    for n in (3, 5):
        np.save(path, np.arange(n))
        assert of_input(path).tolist() == [*range(0, 2 * n, 2)]
        assert of_name() == sum(range(n))
    with pytest.raises(TypeError, match="holds int64, not float64"):
        theano.function([], T.io.load(path, "float64", (False,)))()
    with pytest.raises(AttributeError, match="graphs do not send values"):
        _ = T.io.MPISend


@pytest.mark.parametrize("mode", ["valid", "full"])
def test_convolutions_of_rows_are_products_with_a_sparse_matrix(mode):
    images, kernels, bias = RNG.randn(2, 126), RNG.randn(4, 18), RNG.randn(4)
    im, ke, b = T.matrix(), T.matrix(), T.vector()
    y, shape = sp.convolve(ke, (2, 3), 4, im, (3, 6, 7), (3, 2), b, mode)
    rows, ends, size, _, places = sp.convolution_indices.conv_eval((3, 6, 7), (2, 3), (3, 2), mode)
    patches = (scipy.sparse.csc_matrix((np.ones(len(rows)), rows, ends), size) @ images.T).T
    wanted = patches.reshape(2 * places.prod(), -1) @ kernels.T + bias
    np.testing.assert_allclose(theano.function([im, ke, b], y)(images, kernels, bias),
                               wanted.reshape(2, -1, 4).transpose(0, 2, 1).reshape(2, -1))
    assert shape.tolist() == [4, *places]
    pooled, _ = sp.max_pool(im, (3, 6, 7), (2, 2))
    np.testing.assert_array_equal(
        theano.function([im], pooled)(images).reshape(2, 3, 3, 3),
        images.reshape(2, 3, 6, 7)[:, :, :, :6].reshape(2, 3, 3, 2, 3, 2).max((3, 5)))


def test_parts_of_a_split_are_all_of_it():
    m, sizes = theano.shared(RNG.rand(4, 6)), T.lvector()
    f = theano.function([sizes], T.split(m, sizes, 2))
    assert [p.shape for p in f([1, 3])] == [(1, 6), (3, 6)]
    for wrong in ([5, -1], [2, 3], [1, 1]):
        with pytest.raises(ValueError, match="must not be negative"):
            f(wrong)
        with pytest.raises(ValueError, match="must not be negative"):
            theano.function([], T.split(m, wrong, 2))()


def test_sizes_and_places_without_axes():
    x = T.vector("x")
    assert T.scalar().size.eval() == 1 and (T.size(T.scalar()) + 1).eval() == 2
    assert theano.function([x], T.max_and_argmax(x, axis=()))([1, 2])[1].tolist() == [0, 0]
    assert T.matrix("m").T.name == "m.T"
    with pytest.raises(ValueError, match="no places"):
        T.flatnonzero(T.scalar())


def test_derivatives_stop_at_constants_from_vectors_too():
    x, v = T.vector(), T.vector()
    y = x * T.exp(x)
    found = theano.function([x, v], [
        theano.gradient.pullback(y, x, v), theano.gradient.pushforward(y, x, v)])([1.0], [2.0])
    np.testing.assert_allclose(found, 4 * np.e)
    h = x ** 2
    stopped = theano.gradient.Lop(h * x, x, v, consider_constant=[h])
    np.testing.assert_allclose(theano.function([x, v], stopped)([3.0], [1.0]), 9)


@pytest.mark.parametrize("call", [
    lambda x: ag.sum(x, 3), lambda x: ag.max(x, -3), lambda x: ag.concat([x, x], 2),
    lambda x: x.sum(dim=2), lambda x: ag.flip(x, 2)])
def test_an_axis_out_of_range_is_numpys_error(call):
    with pytest.raises(np.exceptions.AxisError, match="out of range for 2 dimensions"):
        call(ag.ones((2, 2)))


def test_rules_make_an_expression_of_an_expression():
    x, y = T.vector("x"), T.vector("y")
    found = rewrite_graph(T.exp(T.log(x)) + x * y / y, include=("canonicalize", "specialize"))
    assert theano.pp(found) in ("(x + x)", "(x * 2)", "(2 * x)", "(2.0 * x)", "(x * 2.0)")
    asked = rewrite_graph([T.sin(x)], custom_rewrite=PatternSub((T.sin, "z"), (T.tanh, "z")))
    assert theano.pp(asked[0]) == "tanh(x)"
    assert theano.pp(rewrite_graph(T.sin(x))) == "sin(x)"


def test_constants_are_no_state_of_a_strict_loop():
    w, x, rows = theano.shared(np.ones(3), "w"), T.matrix(), np.arange(6.0).reshape(2, 3)
    for k in (np.full(3, 2.0), T.constant(np.full(3, 2.0))):
        y, _ = theano.scan(lambda r, w, k=k: r * k * w, x, non_sequences=w, strict=True)
        np.testing.assert_array_equal(theano.function([x], y)(rows), rows * 2)
    with pytest.raises(ag.TraceError, match="strict=True"):
        theano.scan(lambda r: r * w, x, strict=True)


def test_an_operation_that_destroys_its_input_has_a_copy():
    class AddOne(theano.Op):
        __props__ = ()
        destroy_map: ClassVar = {0: [0]}

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            inputs[0] += 1
            outputs[0][0] = inputs[0]

    x, a = T.vector(), np.array([1.0, 2.0])
    y = x * 2
    found = theano.function([x], [AddOne()(y), y * 3, AddOne()(x)])(a)
    assert [v.tolist() for v in found] == [[3, 5], [6, 12], [2, 3]] and a.tolist() == [1, 2]
