"""Public functions in declared functions whose sizes are all open: they agree with eager calls."""

import types

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import agnesi as ag
from agnesi import symbolic as T
from agnesi.api import functions, lazy_names
from agnesi.autodiff.deferred import Deferred
from agnesi.core.ir.node import toposort
from agnesi.core.support import tree
from agnesi.core.tensor import Tensor

RNG = np.random.default_rng(0)
#: Functions whose results have as many elements, or are as many, as values or sizes say.
BY_VALUE = set("""
    argwhere array_split bincount chunk compress delete extract flatnonzero histogramdd insert
    intersect1d ix_ nonzero pca_lowrank setdiff1d setxor1d split_with_sizes svd_lowrank
    tensor_split trim_zeros unbind
    union1d unique unique_all unique_consecutive unique_counts unique_inverse unique_values
    unstack where
""".split())
#: Those whose second operand may be several places or counts, as many as are known.
OF_SEVERAL = {"argpartition", "hsplit", "partition", "split", "tile"}
#: Functions that change an operand, ask about memory, take nothing apart but Python's own objects,
#: or give memory as it is.
OF_VALUES = set("""
    array_equal array_equiv copyto einsum_path empty_like fill_diagonal fromiter indices
    may_share_memory place put put_along_axis putmask ravel_multi_index resize roots shares_memory
    unravel_index
""".split())
#: What is of one element is another case where sizes are known: axes go, counts are divided by 0.
ONE_IS_SPECIAL = {"corrcoef", "cov", "histc", "histogram", "histogram2d", "histogram_bin_edges",
                  "max", "median", "min", "squeeze"}
#: Random draws: only what shapes and dtypes they have is always the same.
DRAWS = {name for name, place in lazy_names.NAMES.items()
         if place.startswith(("agnesi.api.torch.draws:", "agnesi.api.random:"))}


def vector(n):
    return RNG.uniform(0.1, 0.9, n)


def matrix(n):
    return RNG.uniform(0.1, 0.9, (n, n))


def whole(n):
    return np.arange(n) % max(n, 1)


def chosen(n):
    return RNG.uniform(size=n) > 0.5


PATTERNS = [
    (vector,), (matrix,), (vector, vector), (matrix, matrix), (vector, 1), (matrix, 0),
    (chosen, vector, vector), (matrix, vector), (vector, 0.5), (whole, whole),
]


def _eager(f, given):
    """The values of tensors that a function gives; None where it gives others, changes an operand
    (``out``), or refuses."""
    operands = [ag.tensor(a) if isinstance(a, np.ndarray) else a for a in given]
    try:
        found = f(*operands)
    except Exception:  # these operands are not for that function
        return None
    if not all(np.array_equal(x, a) for x, a in zip(operands, given, strict=True)):
        return None
    leaves = tree.flatten(found)[0]
    return [t.numpy() for t in leaves] if all(isinstance(t, Tensor) for t in leaves) else None


def _names():
    every = {**vars(functions), **dict.fromkeys(lazy_names.NAMES)}
    return [n for n in every if n[0] != "_" and n not in BY_VALUE | OF_VALUES
            and isinstance(getattr(ag, n), types.FunctionType)]


def _agree(f, found, expected):
    """Values are those expected; of random draws shapes and dtypes."""
    for a, b in zip(found, expected, strict=True):
        if f.__name__ in DRAWS:
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9, strict=True)


def _checked(f, pattern):
    """How many sizes of a pattern went right; 0 if it is not for the function."""
    cases = [[make(n) if callable(make) else make for make in pattern] for n in (4, 1, 0)]
    expected = [_eager(f, c) for c in cases]
    if expected[0] is None:
        return 0
    given = [T.tensor(a.dtype, (None,) * a.ndim) if isinstance(a, np.ndarray) else a
             for a in cases[0]]
    made = ag.function([x for x in given if isinstance(x, Tensor)], tree.flatten(f(*given))[0])
    few = f.__name__ in ONE_IS_SPECIAL
    for case, want in zip(cases[: 1 if few else 3], expected, strict=False):
        if want is not None:
            found = made(*(a for a in case if isinstance(a, np.ndarray)))
            _agree(f, found, want)
    return 1


def _mapped(f, pattern):
    """The same of each of some rows."""
    cases = [[make(4) if callable(make) else make for make in pattern] for _ in range(3)]
    expected = [_eager(f, c) for c in cases]
    if any(e is None for e in expected):
        return 0
    places = [i for i, a in enumerate(cases[0]) if isinstance(a, np.ndarray)]
    rows = [np.stack([c[i] for c in cases]) for i in places]
    given = [T.tensor(a.dtype, (None,) * a.ndim) for a in rows]

    def one(*xs):
        left = iter(xs)
        return tuple(tree.flatten(f(*(next(left) if i in places else a
                                      for i, a in enumerate(cases[0]))))[0])

    found = ag.function(given, list(ag.vmap(one)(*given)))(*rows)
    _agree(f, found, map(np.stack, zip(*expected, strict=True)))
    return 1


def _broadcast(f, pattern):
    """The same of operands whose last axes are broadcasts of two open sizes."""
    case = [make(4) if callable(make) else make for make in pattern]
    expected = _eager(f, case)
    if expected is None:
        return 0
    given = [a for a in case if isinstance(a, np.ndarray)]
    inputs = [[T.tensor(a.dtype, (None,) * n) for n in (a.ndim, 1)] for a in given]
    left = iter([x | ag.pad(y, (1, 0)) if x.dtype == "bool" else x + ag.pad(y, (1, 0))
                 for x, y in inputs])
    outputs = tree.flatten(f(*(next(left) if isinstance(a, np.ndarray) else a for a in case)))[0]
    found = ag.function([v for pair in inputs for v in pair], outputs)(
        *(v for a in given for v in (a, np.zeros(3, a.dtype))))
    _agree(f, found, expected)
    return 1


def _as_sizes(f, pattern):
    """The shapes of results, which nobody reads, as sizes of other tensors."""
    case = [make(4) if callable(make) else make for make in pattern]
    expected = _eager(f, case)
    if expected is None:
        return 0
    given = [T.tensor(a.dtype, (None,) * a.ndim) if isinstance(a, np.ndarray) else a
             for a in case]
    made, wanted = [], []
    for y, want in zip(tree.flatten(f(*given))[0], expected, strict=True):
        n = want.shape
        made += [ag.full(y.shape, 1.0), ag.broadcast_to(1.0, y.shape),
                 ag.random.uniform(size=y.shape), ag.arange(ag.numel(y)).reshape(y.shape)]
        wanted += [n, n, n, n]
        for k, size in enumerate(n):
            made += [ag.arange(y.shape[k]), y.shape[k] * 2.0, ag.zeros((y.shape[k] + 1,))]
            wanted += [(size,), float(size * 2), (size + 1,)]
    inputs = [x for x in given if isinstance(x, Tensor)]
    found = ag.function(inputs, made, on_unused_input="ignore")(
        *(a for a in case if isinstance(a, np.ndarray)))
    assert [a.shape if isinstance(w, tuple) else float(a) for a, w in zip(
        found, wanted, strict=True)] == wanted
    return 1


@pytest.mark.share(8)
@pytest.mark.parametrize(("part", "checked"), [
    *((p, _checked) for p in range(4)),
    *(pytest.param(p, _as_sizes, marks=pytest.mark.share(4)) for p in range(4)),
    *(pytest.param(p, _mapped, marks=pytest.mark.share(4)) for p in range(4)),
    *(pytest.param(p, _broadcast, marks=pytest.mark.share(4)) for p in range(4)),
])
def test_all_public_functions(part, checked):
    met, wrong = 0, []
    with ag.config(compile=False, default_float="float64"), np.errstate(all="ignore"):
        for name in _names()[part::4]:
            count = 0
            for pattern in PATTERNS[:-1] if name in OF_SEVERAL else PATTERNS:
                try:
                    count += checked(getattr(ag, name), pattern)
                except Exception as error:
                    operands = [getattr(p, "__name__", p) for p in pattern]
                    wrong.append(f"{name}{operands}: {error}")
                    break
                if count == 2:
                    break
            met += count > 0
    assert wrong == [] and met > 50


F = ag.nn.functional
A = np.array([3.0, 1.0, 2.0, 5.0])
DEFERRED = [
    (ag.median, A), (lambda x: ag.quantile(x, ag.tensor([0.25, 0.5])), A),
    (lambda x: ag.partition(x, 1), A), (lambda x: ag.polyval(x, 2.0), A),
    (lambda x: ag.gradient(x) * x, A), (lambda x: ag.polyadd(x, [1.0, 2.0]), A),
    (lambda x: F.scaled_dot_product_attention(x, x, x), np.eye(3) + 0.5),
    (lambda x: F.group_norm(x, 2), np.arange(8.0).reshape(2, 4) ** 2),
    (lambda x: ag.concat(x), np.eye(3)),
    (lambda x: ag.delete(x, 16), np.arange(17.0)),
]


@pytest.mark.share(8)
@pytest.mark.parametrize(("f", "value"), DEFERRED)
def test_calls_that_must_know_sizes_are_put_off(f, value):
    x = T.tensor("float64", (None,) * value.ndim, "x")
    y = f(x)
    assert any(isinstance(n.op, Deferred) for n in toposort([y.node]))
    loss = (y * y).sum()
    found = ag.function([x], [y, T.grad(loss, x), y.shape[0] if y.ndim else y])
    alike = ag.function([x], ag.full(y.shape, 2.0), on_unused_input="ignore")
    for given in (value, np.concatenate([value, value[:2]])):
        t = ag.tensor(given, requires_grad=True)
        expect = f(t)
        (expect * expect).sum().backward()
        first, grad, size = found(given)
        np.testing.assert_allclose(first, expect.detach(), rtol=1e-6)
        assert_array_equal(alike(given), np.full(expect.shape, 2.0))
        np.testing.assert_allclose(grad, t.grad, rtol=1e-6)
        assert not y.ndim or size == len(first)


def odd(x):
    return ag.delete(x, slice(0, None, 2))


def numbered(x):
    return odd(x) * ag.arange(odd(x).shape[0])


IN_BODIES = {
    "vmap": ag.vmap(numbered), "map": lambda m: ag.map(numbered, m),
    "vmap of vmap": lambda m: ag.vmap(ag.vmap(numbered))(ag.stack([m, m])),
    "vmap in map": lambda m: ag.map(ag.vmap(numbered), ag.stack([m, m])),
    "map in vmap": ag.vmap(lambda r: ag.map(numbered, ag.stack([r, r]))),
    "grad in vmap": ag.vmap(ag.grad(lambda r: (numbered(r) ** 2).sum())),
    "grad of vmap": ag.grad(lambda m: (ag.vmap(numbered)(m) ** 2).sum()),
    "jvp of vmap": lambda m: ag.jvp(ag.vmap(numbered), (m,), (m,))[1],
    "beside what is the same": lambda m: ag.vmap(lambda r: numbered(r) + odd(m[0]))(m),
    "branches": ag.vmap(lambda r: ag.cond(r.sum() > 10, numbered, lambda r: -odd(r), r)),
    "means": lambda m: ag.vmap(ag.mean)(m.astype("int64")),
    "widths": lambda m: ag.vmap(numbered)(m) * ag.arange(ag.vmap(odd)(m).shape[1]),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("f", IN_BODIES.values(), ids=IN_BODIES)
def test_calls_in_bodies_are_put_off(f):
    m = T.matrix("m")
    found = ag.function([m], f(m))
    for shape in ((3, 4), (1, 5)):
        given = np.arange(float(np.prod(shape))).reshape(shape)
        with ag.config(default_float="float64"):
            expected = f(ag.tensor(given)).numpy()
        np.testing.assert_allclose(found(given), expected, strict=True)


def test_calls_that_differ_in_the_type_of_a_number_are_two():
    x = T.lvector("x")
    f = ag.function([x], [ag.polyval(x, 2), ag.polyval(x, 2.0)])
    whole, real = f(np.arange(4))
    assert (whole, real) == (11, 11.0) and (whole.dtype, real.dtype.kind) == (np.int64, "f")
    assert odd(x).shape == odd(x).shape


def test_neighbours_that_are_equal_become_one():
    x, m = T.vector("x"), T.matrix("m")
    words = {"return_inverse": True, "return_counts": True}
    for symbol, axis, given in ((x, None, A[[0, 0, 1, 2, 2]]), (x, None, A[:0]), (m, 0, np.eye(3)),
                                (m, 1, np.ones((2, 3)))):
        found = ag.function([symbol], list(ag.unique_consecutive(symbol, axis=axis, **words)))
        expected = ag.unique_consecutive(ag.tensor(given), axis=axis, **words)
        for a, b in zip(found(given), expected, strict=True):
            assert_array_equal(a, b.numpy(), strict=True)


def test_what_follows_knows_the_sizes_that_are_born():
    x, y, m = T.vector("x"), T.vector("y"), T.matrix("m")
    f = ag.function([x], ag.convolve(x, x) * ag.arange(2 * x.shape[0] - 1))
    np.testing.assert_allclose(f(A), np.convolve(A, A) * np.arange(7))
    rows, _ = T.scan(lambda r: ag.median(r), m)
    np.testing.assert_allclose(ag.function([m], rows)(np.diag(A)), np.median(np.diag(A), 1))
    g = ag.function([y], ag.median(x), givens={x: y[1:] * 2})
    assert g(A) == 4.0
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        ag.quantile(x, 1.5)


def test_dropout_and_draws_are_other_ones_in_each_call():
    x, fixed, n = T.matrix("x"), T.matrix("y", shape=(4, 20)), T.lscalar("n")
    for y, given in ((F.dropout(x, 0.5), x), (F.dropout(fixed, 0.5), fixed)):
        f = ag.function([given], y)
        a, b = f(np.ones((4, 20))), f(np.ones((4, 20)))
        assert set(np.unique(a)) == {0.0, 2.0} and (a != b).any()
    f = ag.function([n], ag.random.normal(size=(n,)))
    assert f(3).shape == (3,) and len(np.unique([*f(50), *f(50)])) == 100
    rows, updates = T.scan(lambda r: F.dropout(r, 0.5), x)
    found = ag.function([x], rows, updates=updates)(np.ones((2, 50)))
    assert len(updates) == 1 and (found[0] != found[1]).any()
    assert F.dropout(ag.ones(3)).array is not None


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float64"])
def test_extremes_begin_with_a_number_where_there_are_no_elements(name, dtype):
    v, m = ag.symbolic.tensor(dtype, (None,)), ag.symbolic.tensor(dtype, (None, None))
    extreme = getattr(ag, name)
    one, columns = (ag.function([x], extreme(x, axis=0, initial=1)) for x in (v, m))
    calls = [(one, (0,)), (one, (2,)), *((columns, s) for s in ((0, 3), (3, 0), (2, 2)))]
    for f, shape in calls:
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        found, expected = f(x), getattr(np, name)(x, axis=0, initial=1)
        assert found.dtype == expected.dtype
        assert_array_equal(found, expected)
        assert_array_equal(ag.jit(extreme)(ag.tensor(x), axis=0, initial=1), expected)
        assert_array_equal(extreme(ag.tensor(x), axis=0, initial=1), expected)


def test_shapes_that_begin_with_numbers_are_of_the_program():
    x = T.vector("x")
    for shape in ((1, x.shape[0]), (x.shape[0], 1), [2, 3, x.shape[0]]):
        assert ag.zeros(shape).dtype == ag.random.normal(size=shape).dtype == "float64"
    with pytest.raises(TypeError, match="convolve_size0"):
        ag.save([ag.zeros(ag.convolve(x, x).shape)], "/dev/null", inputs=[x])


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2)])
def test_a_size_that_is_the_greater_of_two_is_neither(sizes):
    x, y = ag.symbolic.fvector("x"), ag.symbolic.fvector("y")
    longest = ag.maximum(x.shape[0], y.shape[0])
    padded = ag.pad(x, [(0, longest - x.shape[0])])
    found = ag.function([x, y], [padded, ag.zeros(padded.shape[0])])
    for value in found(*(np.ones(n, "float32") for n in sizes)):
        assert value.shape == (3,)


def test_numbers_are_counted_where_their_greatest_is_not_known():
    x = ag.symbolic.lvector("x")
    found = ag.function([x], ag.bincount(x, minlength=2))
    assert found([2, 0, 2]).tolist() == [1, 0, 2] and found([]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="must not be negative"):
        found([-1])


@pytest.mark.parametrize("k", [-2, 0, 3])
def test_diagonals_that_a_matrix_of_open_sizes_has_not_are_empty(k: int) -> None:
    x = T.dmatrix("x")
    diagonal = ag.diagonal(x, k)
    f = ag.function([x], [diagonal, diagonal.shape[0], T.grad((diagonal**2).sum(), x)])
    for shape in ((5, 4), (1, 5), (2, 2), (0, 3)):
        matrix = np.ones(shape)
        found, size, slope = f(matrix)
        assert found.shape == (size,) == np.diagonal(matrix, k).shape
        np.testing.assert_array_equal(slope, 2 * np.eye(*shape, k))


def test_operands_that_are_smaller_than_numbers_among_the_arguments() -> None:
    x, kernel = T.dvector("x"), np.array([1.0, -2.0, 0.5, 3.0])
    same = ag.convolve(x, kernel, mode="same")
    f = ag.function([x], [same, T.grad((same**2).sum(), x)])
    for n in (5, 4, 2, 1):
        value, y = np.arange(1.0, n + 1), ag.tensor(np.arange(1.0, n + 1), requires_grad=True)
        found, slope = f(value)
        (ag.convolve(y, kernel, mode="same") ** 2).sum().backward()
        np.testing.assert_allclose(found, np.convolve(value, kernel, "same"))
        np.testing.assert_allclose(slope, y.grad)
    with pytest.raises(ag.ShapeError, match="a window of 2 does not fit an axis of size 1"):
        ag.function([x], ag.unfold(x, 0, 2))([1.0])
    matrix = T.dmatrix("m")
    rank = ag.function([matrix], ag.linalg.matrix_rank(matrix))
    assert [int(rank(np.ones(shape))) for shape in ((2, 2), (0, 3))] == [1, 0]


@pytest.mark.parametrize("cut", [
    lambda v: ag.delete(v, 1), lambda v: ag.delete(v, [1, 0]), lambda v: ag.insert(v, 1, 2.0),
    lambda v: ag.insert(v, [0, 1], 2.0)])
def test_axes_that_fit_a_multiple_of_themselves_have_size_one(cut) -> None:
    x, rows = T.dvector("x"), T.dvector("rows")
    y = ag.concat([x, x]) * x
    found = ag.function([x], cut(y))(np.array([3.0]))
    np.testing.assert_array_equal(found, cut(ag.tensor([9.0, 9.0])))
    each = ag.function([x, rows], ag.vmap(lambda r: cut(y * r))(rows))
    assert each(np.ones(1), np.ones(2)).shape == (2, *found.shape)


def test_sizes_as_tensors_of_a_dtype_keep_it() -> None:
    x = T.fvector("x")
    size = ag.asarray(x.shape[0], dtype="float64")
    assert (x * size).dtype == (ag.ones(3) * ag.asarray(3, dtype="float64")).dtype == "float64"
    draws = [ag.random.randint(x.shape[0], size=(40,)), ag.random.choice(x.shape[0], (40,)),
             ag.random.choice(x, (40,))]
    for found in ag.function([x], draws)(np.arange(3.0, dtype="float32")):
        assert set(np.unique(found)) == {0, 1, 2}


def test_lists_of_open_sizes_are_tensors() -> None:
    x = T.dmatrix("x")
    n, m = x.shape
    starts = ag.concatenate([ag.asarray([0]), ag.asarray([n, n + m])])
    f = ag.function([x], [ag.asarray(x.shape), ag.tensor([[n, 1], [2, m * n]]), starts,
                          ag.array([n, 0.5])])
    sizes, square, found, mixed = f(np.ones((3, 4)))
    assert sizes.tolist() == [3, 4] and square.tolist() == [[3, 1], [2, 12]]
    assert found.tolist() == [0, 3, 7] and found.dtype == np.int64 and mixed.tolist() == [3, 0.5]


@pytest.mark.parametrize(("f", "shapes"), [
    (lambda t, x: t.insert(x, 2, np.array([7.0, 8.0, 9.0]), axis=1), [(3, 4), (3, 2)]),
    (lambda t, x: t.insert(x, [0, -1], 5.0, axis=0), [(3, 4), (1, 2), (2, 0)]),
    (lambda t, x: t.insert(x, 3, 1.0), [(3, 4), (1, 3)]),
    (lambda t, x: t.unique(x, axis=0), [(3, 2), (3, 0), (0, 2), (1, 1)]),
])
def test_places_and_rows_of_open_sizes(f, shapes) -> None:
    """Positions that are known beside a size that is not, and rows of no elements."""
    x = T.dmatrix("x")
    made = ag.function([x], f(ag, x))
    for shape in shapes:
        assert_array_equal(made(np.ones(shape)), f(np, np.ones(shape)))
    if made(np.ones((3, 4))).shape == (3, 5):
        with pytest.raises(IndexError, match="a place is out of range"):
            made(np.ones((3, 1)))


def test_a_number_of_columns_that_decides_axes_is_named() -> None:
    x = T.dmatrix("x")
    with pytest.raises(ag.TraceError, match=r"x\.shape\[1\] is not known when the graph is"):
        ag.histogramdd(x, 3)
