"""Operations in C source, in a text or a file; where there is no compiler, all of it is one error.
"""

import pathlib

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import c_source

pytestmark = pytest.mark.skipif(not c_source.compiler(), reason="no C compiler on this machine")
FILE = pathlib.Path(__file__)


def line_of(text):
    """The line of this file that is a text."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return next(k for k, line in enumerate(lines, 1) if text == line.strip())


@ag.op(like=0, vjp=lambda g, y, x: g / (1 + ag.abs(x)) ** 2, c="""
int32_t softsign(void **arrays, int64_t *sizes) {
  const double *x = arrays[0];
  double *y = arrays[1];
  for (int64_t i = 0; i < sizes[0]; i++) y[i] = x[i] / (1 + fabs(x[i]));
  return 0;
}
""")
def softsign(x):
    return x / (1 + np.abs(x))


@ag.op(outputs=2, infer=lambda x, w: ((x.shape, x.dtype), (x.shape[:1], x.dtype)), c="""
#section support_code
static double weight(double w) { return 2 * w; }
#section code
for (int64_t i = 0; i < x_shape[0]; i++) {
  y1[i] = 0;
  for (int64_t j = 0; j < x_shape[1]; j++) {
    y0[i * x_shape[1] + j] = weight(w[j]) * x[i * x_shape[1] + j];
    y1[i] += y0[i * x_shape[1] + j];
  }
}
if (w_size != x_shape[1]) return 1;
""")
def weighted(x, w):
    y = 2 * w * x
    return y, y.sum(1)


def test_plain_source_is_called_without_python():
    x = np.array([1.0, -3.0])
    f = ag.jit(lambda x: softsign(x) * 2)
    np.testing.assert_allclose(f(ag.tensor(x)), 2 * x / (1 + np.abs(x)))
    assert "C function softsign" in str(f.plan())
    slope = ag.jit(ag.grad(lambda x: softsign(x).sum()))
    np.testing.assert_allclose(slope(ag.tensor(x)), 1 / (1 + np.abs(x)) ** 2)
    ag.testing.check_op(softsign, [[x]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_sections_are_for_every_dtype(dtype):
    x, w = np.arange(6).reshape(2, 3).astype(dtype), np.arange(3).astype("float64")
    y, sums = ag.jit(weighted)(ag.tensor(x), ag.tensor(w))
    assert y.dtype == sums.dtype == dtype
    assert y.tolist() == (2 * w * x).tolist() and sums.tolist() == (2 * w * x).sum(1).tolist()
    with pytest.raises(RuntimeError, match="weighted"):
        ag.jit(weighted)(ag.tensor(x), ag.ones(4, dtype="float64"))


def test_a_file_with_sections(tmp_path):
    path = tmp_path / "cube.c"
    path.write_text("#section code\nfor (int64_t i = 0; i < x_size; i++) {\n"
                    "  y[i] = x[i] * x[i] * x[i];\n}\n")
    cube = ag.op(lambda x: x**3, like=0, c=path)
    assert ag.jit(cube)(ag.tensor([2.0, 3.0])).tolist() == [8, 27]
    path.write_text(path.read_text().replace("}", "  oops\n}"))
    broken = ag.op(lambda x: x**3, like=0, c=path)
    with pytest.raises(ValueError, match=rf"does not compile:\n  {path}:4:3: error: .*oops"):
        ag.jit(broken)(ag.ones(3))
    twice = ag.op(lambda y: y, like=0, c="#section code\ny[0] = 1;\n")
    with pytest.raises(ValueError, match="y is a result in the C source, and an operand, too"):
        ag.jit(twice)(ag.ones(3))
    for missing in (tmp_path / "none.c", f"{tmp_path}/none.c"):
        with pytest.raises(FileNotFoundError, match=r"none\.c"):
            ag.op(lambda x: x, c=missing)


@pytest.mark.parametrize("declared", ["", "double nowhere(double v);"])
def test_functions_that_are_nowhere_are_told(tmp_path, declared):
    path = tmp_path / "lost.c"
    path.write_text(f"#section support_code\n{declared}\n#section code\ny[0] = nowhere(x[0]);\n")

    @ag.op(like=0, c=str(path))
    def lost(x):
        return x

    with pytest.raises(ValueError, match="the C source of lost") as found:
        ag.jit(lost)(ag.ones(3))
    assert "nowhere" in str(found.value)
    assert bool(declared) == ("uses what no library defines: " in str(found.value))
    assert bool(declared) or f"{path}:4:" in str(found.value)


def test_errors_name_the_line_of_the_text():
    with pytest.raises(ValueError, match="does not compile") as plain:
        @ag.op(like=0, c="""
int32_t bad(void **arrays, int64_t *sizes) {
  double *x = arrays[0]
  return 0;
}
""")
        def bad(x):
            return x
    assert f"{FILE}:{line_of('double *x = arrays[0]') + 1}:3: error" in str(plain.value)

    @ag.op(like=0, c="""
#section code
for (int64_t i = 0; i < x_size; i++)
  y[i] = x[i] + strange;
""")
    def worse(x):
        return x

    with pytest.raises(ValueError, match="does not compile") as later:
        ag.jit(worse)(ag.ones(3))
    assert f"{FILE}:{line_of('y[i] = x[i] + strange;')}:" in str(later.value)
    assert "strange" in str(later.value) and "test_c_source.py" in str(later.value)
    for text, told in (("#section init\n1;", "no #section init"),
                       ("#section support_code\n", "has no #section code")):
        with pytest.raises(ValueError, match=told):
            ag.jit(ag.op(lambda x: x, like=0, c=text))(ag.ones(2))
    with pytest.raises(ValueError, match=r"defines no function f\(void"):
        @ag.op(like=0, c="int32_t g(void **arrays, int64_t *sizes) { return 0; }")
        def f(x):
            return x


def test_without_a_compiler_there_is_one_error(monkeypatch):
    monkeypatch.setattr(c_source, "COMPILERS", ("nobody's compiler",))
    c_source.compiler.cache_clear()
    c_source.compiled.cache_clear()
    try:
        same = ag.op(lambda x: x, like=0, c="int32_t same(void **a, int64_t *s) { return 0; }")
        assert same(ag.ones(2)).tolist() == [1, 1]  # on values Python runs
        with pytest.raises(RuntimeError, match=r"C source, and there is no compiler \(nobody's"):
            ag.jit(same)(ag.ones(2))
    finally:
        c_source.compiler.cache_clear()
