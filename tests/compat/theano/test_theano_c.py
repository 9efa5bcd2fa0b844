"""Operations whose values C code computes: ``c_code``, and ``COp`` of a file in sections."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano import gof
from agnesi.compiler import c_source

compiled = pytest.mark.skipif(
    not any(map(shutil.which, c_source.CXX_COMPILERS)), reason="there is no compiler")

SCALE = """#section support_code

double twice(double v) { return 2 * v; }

#section support_code_apply

int APPLY_SPECIFIC(scale)(PyArrayObject *x, PyArrayObject *s, PyArrayObject **out) {
  npy_intp n = PyArray_SIZE(x);
  if (n == 13) { PyErr_SetString(PyExc_ValueError, "thirteen"); return 1; }
  *out = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(x), TYPENUM_OUTPUT_0, 0);
  for (npy_intp i = 0; i < n; i++)
    ((DTYPE_OUTPUT_0 *)PyArray_DATA(*out))[i] =
        twice(*(DTYPE_INPUT_0 *)PyArray_GETPTR1(x, i)) * ((DTYPE_INPUT_1 *)PyArray_DATA(s))[0];
  return 0;
}
"""


class Affine(gof.Op):
    """``a * x + b`` of vectors, in C."""

    __props__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def c_code(self, node, name, inp, out, sub):
        (x,), (z,) = inp, out
        dtype, a, b, fail = node.inputs[0].dtype, self.a, self.b, sub["fail"]
        return """
        if (PyArray_NDIM(%(x)s) != 1) {
            PyErr_SetString(PyExc_ValueError, "expected a vector"); %(fail)s }
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(%(x)s), PyArray_TYPE(%(x)s), 0);
        if (!%(z)s) %(fail)s
        for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
            ((npy_%(dtype)s *)PyArray_DATA(%(z)s))[i] =
                %(a)s * *(npy_%(dtype)s *)PyArray_GETPTR1(%(x)s, i) + %(b)s;
        """ % locals()  # noqa: UP031 - as its authors write

    def infer_shape(self, node, shapes):
        return shapes

    def grad(self, inputs, output_grads):
        return [output_grads[0] * self.a]


def scaling(tmp_path, text, name="APPLY_SPECIFIC(scale)"):
    path = tmp_path / "scale.c"
    path.write_text(text)

    class Scale(gof.COp):
        __props__ = ()

        def __init__(self):
            super().__init__(str(path), name)

        def make_node(self, x, s):
            x, s = map(T.as_tensor_variable, (x, s))
            return gof.Apply(self, [x, s], [x.type()])

        def infer_shape(self, node, shapes):
            return [shapes[0]]

    return Scale()


@compiled
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_c_code_computes(dtype):
    x = T.TensorType(dtype, (False,))()
    f = theano.function([x], Affine(3, 2)(x * 2))
    array = np.arange(6).astype(dtype)
    assert_allclose(f(array), array * 6 + 2)
    assert f(array).dtype == dtype and f(array[:0]).shape == (0,)


@compiled
def test_c_code_has_gradients_and_errors():
    x = T.dvector()
    y = Affine(3, 2)(x)
    assert_allclose(theano.function([x], T.grad((y ** 2).sum(), x))([1.0]), [30])
    m = T.dmatrix()
    with pytest.raises(ValueError, match="expected a vector"):
        theano.function([m], Affine(3, 2)(m))(np.ones((2, 2)))


@compiled
def test_a_file_of_sections(tmp_path):
    op = scaling(tmp_path, SCALE)
    x, s = T.fvector(), T.dscalar()
    f = theano.function([x, s], op(x, s) + 1)
    assert_allclose(f(np.arange(4, dtype="float32"), 0.5), [1, 2, 3, 4])
    with pytest.raises(ValueError, match="thirteen"):
        f(np.ones(13, "float32"), 1.0)
    code = "#section code\nOUTPUT_0 = INPUT_0; Py_INCREF(INPUT_0);\nif (0) FAIL\n"
    assert_allclose(scaling(tmp_path, code, None)(x, s).eval({x: np.ones(2, "float32"), s: 1.0}), 1)


@compiled
def test_errors_name_the_file_and_line(tmp_path):
    op = scaling(tmp_path, SCALE.replace("npy_intp n =", "npy_intp m ="))
    with pytest.raises(ValueError, match=r"(?s)Scale does not compile.*scale\.c:9:"):
        theano.function([], op(T.constant([1.0]), T.constant(2.0)))()


def test_files_that_are_wrong(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        gof.ExternalCOp("/nowhere.c", "f")
    for text, name, why in (("int f;", "f", "no sections"),
                            ("#section body\n", "f", "section body"),
                            (SCALE, None, "no file has a #section code"),
                            ("#section code\n", "f", "one of them does")):
        with pytest.raises(ValueError, match=why):
            scaling(tmp_path, text, name)
    monkeypatch.setattr(c_source, "CXX_COMPILERS", ())
    with pytest.raises(RuntimeError, match="there is no compiler"):
        c_source.extension("", (), "Affine")


class Line(gof.Op):
    """``a * x + b`` with parameters: ``a`` a number, ``b`` a vector."""

    __props__ = ("a", "b")
    params_type = gof.ParamsType(a=theano.scalar.float64, b=T.TensorType("float64", (False,)))

    def __init__(self, a, b):
        self.a, self.b = a, tuple(b)

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def c_code(self, node, name, inp, out, sub):
        return f"""
        Py_XDECREF({out[0]});
        {out[0]} = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS({inp[0]}), NPY_DOUBLE, 0);
        if (!{out[0]}) {sub["fail"]}
        PARAMS_TYPE *p = {sub["params"]};
        for (npy_intp i = 0; i < PyArray_DIMS({inp[0]})[0]; i++)
            *(double *)PyArray_GETPTR1({out[0]}, i) = p->a * *(double *)PyArray_GETPTR1(
                {inp[0]}, i) + *(double *)PyArray_GETPTR1(p->b, i);
        """


class LineInPython(Line):
    """The same in Python, which gets the parameters, too."""

    def perform(self, node, inputs, outputs, params):
        outputs[0][0] = params.a * inputs[0] + params.b


SHIFT = """#section support_code_apply

int APPLY_SPECIFIC(shift)(PyArrayObject *x, PyArrayObject **out, PARAMS_TYPE *params) {
  npy_intp n = PyArray_SIZE(x);
  *out = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(x), TYPENUM_OUTPUT_0, 0);
  for (npy_intp i = 0; i < n; i++)
    ((double *)PyArray_DATA(*out))[i] = *(double *)PyArray_GETPTR1(x, i) + params->k;
  return 0;
}
"""


@compiled
def test_code_gets_parameters(tmp_path):
    x = T.dvector("x")
    file = tmp_path / "shift.c"
    file.write_text(SHIFT)

    class Shift(gof.COp):
        __props__ = ("k",)
        params_type = gof.ParamsType(k=theano.scalar.int32)

        def __init__(self, k):
            self.k = k
            super().__init__(str(file), "APPLY_SPECIFIC(shift)")

        make_node = Line.make_node

    for kind in (Line, LineInPython):
        f = theano.function([x], kind(2.0, [1.0, 2.0, 3.0])(x) + kind(3.0, [0.0, 0.0, 0.0])(x))
        assert f([1.0, 1.0, 2.0]).tolist() == [6, 7, 13]
    assert theano.function([x], [Shift(4)(x), Shift(-1)(x)])([1.0])[1].tolist() == [0]


def test_parameters_that_are_wrong():
    with pytest.raises(TypeError, match="a must be a type of theano"):
        gof.ParamsType(a=3)
    assert theano.gof.params_type.ParamsType is gof.ParamsType
    kind = gof.ParamsType(a=theano.scalar.float64, b=gof.generic)
    assert kind == gof.ParamsType(b=gof.generic, a=theano.scalar.float64) and kind.length == 2
    assert kind.get_params(a=1, b="x").b == "x"
    with pytest.raises(TypeError, match="no value for b"):
        kind.get_params(a=1)
