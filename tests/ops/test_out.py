"""``out=`` on every function with one result (row L8)."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.ops.base.elementwise import TABLE

#: Functions that hand over memory of others, a generator's state, or PyTorch's form of another
#: function: no place for an ``out``.
FOREIGN = {"detach", "from_numpy", "from_dlpack", "get_rng_state", "resolve_conj", "resolve_neg",
           "rsub", "scalar_tensor"}
MATRIX = np.array([[0.4, 0.7, 0.2], [0.9, 0.3, 0.6], [0.1, 0.8, 0.5]])
SQUARE, OTHER = ag.tensor(MATRIX), ag.tensor(MATRIX.T + 0.05)
VECTOR, INTEGERS = ag.tensor(MATRIX[0]), ag.tensor(np.array([[2, 0, 1], [1, 1, 0], [0, 2, 2]]))
MASK, COMPLEX = SQUARE > 0.45, ag.tensor(MATRIX + 0.3j)
IMAGE, VOLUME = ag.tensor(MATRIX.reshape(1, 1, 3, 3)), ag.tensor(MATRIX.reshape(1, 1, 3, 3, 1))

#: Arguments where one matrix, or two, will not do.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "acosh": (SQUARE + 1,), "astype": (SQUARE, "float32"), "isin": (INTEGERS, INTEGERS[0]),
    "addcdiv": (SQUARE, OTHER, SQUARE), "addcmul": (SQUARE, OTHER, SQUARE),
    "alloc": (2.0, 3, 2), "arange": (5,), "asarray": (MATRIX,),
    "bmm": (SQUARE[None], OTHER[None]), "broadcast_to": (VECTOR, (2, 3)), "cat": ([SQUARE, OTHER],),
    "concat": ([SQUARE, OTHER],), "concatenate": ([SQUARE, OTHER],), "clamp": (SQUARE, 0.3, 0.6),
    "clip": (SQUARE, 0.3, 0.6), "conv1d": (IMAGE[0], IMAGE[0, :, :, :2]),
    "conv2d": (IMAGE, IMAGE[:, :, :2, :2]), "conv3d": (VOLUME, VOLUME[:, :, :2, :2]),
    "conv_transpose": (IMAGE, IMAGE[:, :, :2, :2]), "cross_entropy": (SQUARE, INTEGERS[0]),
    "dimshuffle": (SQUARE, 1, "x", 0), "dstack": ([SQUARE, OTHER],),
    "einsum": ("ij,jk", SQUARE, OTHER), "empty": ((2, 3),),
    "embedding": (INTEGERS, SQUARE), "scaled_dot_product_attention": (SQUARE, SQUARE, SQUARE),
    "ensure": (SQUARE, MASK | ~MASK), "expand": (VECTOR, 2, 3), "eye": (3,),
    "full": ((2, 3), 7.0), "full_like": (SQUARE, 7.0), "gather": (SQUARE, 0, INTEGERS),
    "hstack": ([SQUARE, OTHER],), "inc_subtensor": (SQUARE[1:], 1.0),
    "index_add": (SQUARE, 0, INTEGERS[0], OTHER), "index_put": (SQUARE, (INTEGERS[0],), 2.0),
    "layer_norm": (SQUARE, (3,)), "lerp": (SQUARE, OTHER, 0.3), "linspace": (0.0, 1.0, 5),
    "logspace": (0.0, 1.0, 5), "masked_fill": (SQUARE, MASK, 2.0),
    "moveaxis": (SQUARE, 0, 1), "narrow": (SQUARE, 0, 1, 2), "nll_loss": (SQUARE, INTEGERS[0]),
    "ones": ((2, 3),), "pad": (SQUARE, 1),
    "polygamma": (1, SQUARE), "quantile": (SQUARE, 0.3), "rand": (2, 3), "randint": (0, 9, (2, 3)),
    "randn": (2, 3), "repeat": (SQUARE, 2), "repeat_interleave": (SQUARE, 2),
    "reshape": (SQUARE, (9,)), "roll": (SQUARE, 1),
    "expand_dims": (VECTOR, 0), "unsqueeze": (VECTOR, 1),
    "scatter": (SQUARE, 0, INTEGERS, OTHER), "scatter_add": (SQUARE, 0, INTEGERS, OTHER),
    "searchsorted": (ag.sort(VECTOR), OTHER), "select": (SQUARE, 0, 1),
    "set_subtensor": (SQUARE[1:], 1.0), "squeeze": (IMAGE,), "stack": ([SQUARE, OTHER],),
    "swapaxes": (SQUARE, 0, 1), "take": (SQUARE, INTEGERS[0], 0),
    "take_along_axis": (SQUARE, INTEGERS, 0), "tensor": (MATRIX,), "tile": (VECTOR, 2),
    "tensordot": (SQUARE, OTHER), "unfold": (SQUARE, 0, 2), "as_strided": (SQUARE, (2, 2), (2, 1)),
    "vstack": ([SQUARE, OTHER],),
    "where": (MASK, SQUARE, OTHER), "zeros": ((2, 3),), "cumulative_sum": (VECTOR,),
    "cumulative_prod": (VECTOR,), "bernoulli": (SQUARE,), "choice": (5, (2,)),
    "dropout_mask": ((3, 3), 0.5), "exponential": ((2, 3),), "gumbel": ((2, 3),),
    "normal": ((2, 3),), "permutation": (5,), "uniform": ((2, 3),), "linear": (SQUARE, OTHER),
    "imag": (COMPLEX,), "real": (COMPLEX,), "angle": (COMPLEX,), "conj": (COMPLEX,),
    "ravel": (SQUARE,), "rms_norm": (SQUARE, 3),
}
ARGUMENTS |= {"group_norm": (IMAGE, 1), "instance_norm": (IMAGE,),
              "local_response_norm": (IMAGE,)}
for _name in ("max_pool", "avg_pool", "sum_pool", "lp_pool", "adaptive_max_pool",
              "adaptive_avg_pool"):
    _rest = (2, 2) if _name == "lp_pool" else (2,)
    ARGUMENTS |= {_name: (IMAGE, *_rest), f"{_name}1d": (IMAGE[0], *_rest),
                  f"{_name}2d": (IMAGE, *_rest)}
    ARGUMENTS[f"{_name}3d"] = (ag.concat([VOLUME, VOLUME], axis=-1), *_rest)
ARGUMENTS |= {"interpolate": (IMAGE, 2), "pixel_shuffle": (ag.concat([IMAGE] * 4, 1), 2),
              "pixel_unshuffle": (IMAGE, 1), "pad_sequence": ([SQUARE, OTHER],),
              "embedding_bag": (INTEGERS, SQUARE), "ctc_loss": (IMAGE[0, :, :1], [[1]], [1], [1]),
              "dropout1d": (SQUARE,), "dropout2d": (IMAGE,), "dropout3d": (IMAGE,)}
#: Of a function whose name another one has, too.
ARGUMENTS |= {"nn.functional.unfold": (IMAGE, 2),
              "nn.functional.fold": (ag.ones((1, 4, 4)), (3, 3), 2)}
ARGUMENTS |= {
    f"max_unpool{n}": (ones, ag.zeros(ones.shape, "int64"), 2)
    for n, ones in (("", ag.ones((1, 1, 2))), ("1d", ag.ones((1, 1, 1))),
                    ("2d", ag.ones((1, 1, 1, 1))), ("3d", ag.ones((1, 1, 1, 1, 1))))
}
ARGUMENTS |= {
    "append": (SQUARE, OTHER), "argpartition": (SQUARE, 1), "bartlett": (5,), "blackman": (5,),
    "complex": (SQUARE, OTHER), "convolve": (VECTOR, VECTOR), "correlate": (VECTOR, VECTOR),
    "fftconvolve": (SQUARE, OTHER), "kron": (SQUARE, OTHER), "polar": (SQUARE, OTHER),
    "array": (MATRIX,), "array_equiv": (SQUARE, OTHER), "frombuffer": (MATRIX, "float64"),
    "matvec": (SQUARE, VECTOR), "packbits": (INTEGERS,), "vdot": (SQUARE, OTHER),
    "unpackbits": (ag.tensor([7], dtype="uint8"),), "vecmat": (VECTOR, SQUARE),
    "apply_along_axis": (lambda row: row * 2, 0, SQUARE), "apply_over_axes": (ag.sum, SQUARE, 0),
    "bincount": (INTEGERS[0],), "bitwise_count": (INTEGERS,), "block": ([[SQUARE, OTHER]],),
    "choose": (INTEGERS, [SQUARE, OTHER, 1.0]), "column_stack": ([SQUARE, OTHER],),
    "compress": ([True, False, True], SQUARE, 0), "delete": (SQUARE, 1, 0),
    "digitize": (SQUARE, ag.sort(VECTOR)), "extract": (MASK, SQUARE),
    "float_power": (SQUARE, OTHER),
    "fromiter": ([1, 2], "int64"), "geomspace": (1, 8, 4), "hamming": (5,), "hanning": (5,),
    "heaviside": (SQUARE, OTHER), "identity": (3,), "insert": (SQUARE, 1, VECTOR, 0),
    "interp": (SQUARE, ag.sort(VECTOR), VECTOR), "intersect1d": (SQUARE, VECTOR),
    "isneginf": (SQUARE,), "kaiser": (5, 2.0), "lcm": (INTEGERS, INTEGERS),
    "ldexp": (SQUARE, INTEGERS), "lexsort": ((VECTOR, OTHER[0]),),
    "logaddexp2": (SQUARE, OTHER), "nanpercentile": (SQUARE, 30), "nanquantile": (SQUARE, 0.3),
    "partition": (SQUARE, 1), "percentile": (SQUARE, 30),
    "piecewise": (SQUARE, [MASK], [lambda x: x * 2]), "poly": (VECTOR,),
    "polyadd": (VECTOR, VECTOR), "polyder": (VECTOR,), "polyfit": (VECTOR, VECTOR, 1),
    "polyint": (VECTOR,), "polymul": (VECTOR, VECTOR), "polysub": (VECTOR, VECTOR),
    "polyval": (VECTOR, SQUARE), "ravel_multi_index": ((INTEGERS, INTEGERS), (3, 3)),
    "resize": (SQUARE, (2, 2)), "rollaxis": (SQUARE, 1), "roots": (VECTOR,),
    "row_stack": ([SQUARE, OTHER],), "setdiff1d": (SQUARE, VECTOR), "setxor1d": (SQUARE, VECTOR),
    "sliding_window_view": (VECTOR, 2), "tri": (3,), "trim_zeros": (INTEGERS[0],),
    "union1d": (SQUARE, VECTOR), "vander": (VECTOR,),
}
ARGUMENTS |= {
    "addmm": (SQUARE, SQUARE, OTHER), "index_select": (SQUARE, 0, INTEGERS[0]),
    "cdist": (SQUARE, OTHER), "nn.functional.pad": (SQUARE, (1, 2)), "random.uniform": (1, 2, 5),
    "random.normal": (1, 2, 5),
    "binomial": (9, 0.3, 5), "f": (3.0, 4.0, 5), "hypergeometric": (5, 4, 3, 5),
    "multinomial": (9, VECTOR / VECTOR.sum(), 5), "multivariate_hypergeometric": ([3, 4], 2, 5),
    "multivariate_normal": (VECTOR, ag.eye(3, dtype="float64"), 5), "power": (2.0, 5),
    "negative_binomial": (9, 0.3, 5), "noncentral_chisquare": (3.0, 1.0, 5),
    "noncentral_f": (3.0, 4.0, 1.0, 5), "standard_cauchy": (5,), "wald": (1.0, 2.0, 5),
    "triangular": (0.0, 0.5, 1.0, 5), "truncated_normal": (-1.0, 1.0, 0.0, 1.0, 5),
    "view_as_complex": (IMAGE.reshape(9)[:8].reshape(4, 2),), "view_as_real": (COMPLEX,),
    "bitcast": (SQUARE, "int64"), "zipf": (2.0, 5),
}
_P, _STACK = ag.tensor(MATRIX @ MATRIX.T + np.eye(3)), ag.tensor(MATRIX[None] + np.ones((2, 1, 1)))
_SIGNAL = ag.arange(16) * 1.0
#: Names of PyTorch's; those that NumPy's draws have, too, with the namespace.
ARGUMENTS |= {
    "addbmm": (SQUARE, _STACK, _STACK), "addmv": (VECTOR, SQUARE, VECTOR),
    "addr": (SQUARE, VECTOR, VECTOR), "baddbmm": (SQUARE, _STACK, _STACK),
    "bartlett_window": (5,), "blackman_window": (5,), "hamming_window": (5,), "hann_window": (5,),
    "kaiser_window": (5,), "bucketize": (SQUARE, ag.sort(VECTOR)),
    "cartesian_prod": (VECTOR, VECTOR), "cholesky": (_P,), "cholesky_inverse": (_P,),
    "cholesky_solve": (SQUARE, _P), "lu_solve": (SQUARE, _P, [0, 1, 2]), "clamp_max": (SQUARE, 0.5),
    "clamp_min": (SQUARE, 0.5), "combinations": (VECTOR,), "diagonal_scatter": (SQUARE, VECTOR),
    "fill": (SQUARE, 7.0), "igamma": (SQUARE, OTHER), "igammac": (SQUARE, OTHER),
    "index_copy": (SQUARE, 0, INTEGERS[0, :2], OTHER[:2]),
    "index_reduce": (SQUARE, 0, INTEGERS[0], OTHER, "prod"),
    "scatter_reduce": (SQUARE, 0, INTEGERS, OTHER, "sum"),
    "index_fill": (SQUARE, 0, INTEGERS[0, :2], 7.0), "istft": (ag.stft(_SIGNAL, 8), 8),
    "logcumsumexp": (SQUARE, 0), "masked_scatter": (SQUARE, MASK, OTHER),
    "masked_select": (SQUARE, MASK), "matrix_power": (SQUARE, 3), "movedim": (SQUARE, 0, 1),
    "mv": (SQUARE, VECTOR), "mvlgamma": (SQUARE + 2, 2), "narrow_copy": (SQUARE, 0, 1, 2),
    "randint_like": (SQUARE, 9), "randperm": (5,), "renorm": (SQUARE, 2, 0, 1.0),
    "select_scatter": (SQUARE, VECTOR, 0, 1), "slice_scatter": (SQUARE, OTHER[:2], 0, 1),
    "stft": (_SIGNAL, 8), "swapdims": (SQUARE, 0, 1), "take_along_dim": (SQUARE, INTEGERS, 0),
    "unflatten": (SQUARE, 0, (3, -1)), "upsample": (IMAGE, 2),
    "ag.binomial": (INTEGERS, SQUARE), "ag.multinomial": (SQUARE, 2),
    "random.integers": (INTEGERS + 1,),
}
#: Functions of two matrices that are no rows of the table under this name.
TWO = {
    "allclose", "array_equal", "copysign", "cross", "dist", "dot", "ger", "inner", "isclose", "mm",
    "matmul", "mse_loss", "outer", "vecdot", "sub", "mul", "div", "true_divide", "eq", "ne", "neq",
    "lt", "le", "gt", "ge", "mod", "arctan2", "pow",
}
#: Other names of bitwise operations.
BITS = {"bitwise_not", "gcd", "invert", "left_shift", "right_shift"}
NAMESPACES = {"ag": ag, "random": ag.random, "nn.functional": nn.functional}
FUNCTIONS = {
    f"{where}.{name}": getattr(space, name)
    for where, space in NAMESPACES.items() for name in dir(space)
    if name[0] != "_" and inspect.isroutine(getattr(space, name))
    and getattr(space, name).__module__.startswith("agnesi.")
}
WITH_OUT = sorted(n for n, f in FUNCTIONS.items() if "out" in inspect.signature(f).parameters)


def arguments(name: str) -> tuple[Any, ...]:
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    row = TABLE.get(name)
    if name.startswith("bitwise") or name in BITS:
        return (INTEGERS, INTEGERS)[: 1 if name.endswith(("invert", "not")) else 2]
    if name.startswith("logical"):
        return (MASK, ~MASK)[: 1 if name == "logical_not" else 2]
    return (SQUARE, OTHER)[: row.arity if row is not None else 2 if name in TWO else 1]


def seeded(function: Any, *args: Any, **keywords: Any) -> Any:
    ag.manual_seed(3)
    return function(*args, **keywords)


def test_every_function_with_one_result_has_out():
    helpers = {"as_tensor", "reduced_loss"}  # of the library's own modules
    without = {
        name.rpartition(".")[2] for name, f in FUNCTIONS.items()
        if inspect.signature(f).return_annotation == "Tensor" and name not in WITH_OUT
        and not f.__module__.startswith("agnesi.nn.")  # as in PyTorch
    }
    assert without - helpers == FOREIGN
    assert len(WITH_OUT) > 230


def test_functions_with_several_results_have_none():
    several = [name for name, f in FUNCTIONS.items()
               if str(inspect.signature(f).return_annotation).startswith("tuple[")]
    assert len(several) > 20 and set(several).isdisjoint(WITH_OUT)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", WITH_OUT)
def test_out_takes_what_would_have_been_returned(name):
    function = FUNCTIONS[name]
    args = arguments(name if name in ARGUMENTS else name.rpartition(".")[2])
    expected = seeded(function, *args)
    out = ag.zeros_like(expected) + ag.ones((), expected.dtype)
    memory = out.array
    assert seeded(function, *args, out=out) is out and out.array is memory
    assert out.dtype == expected.dtype
    if not name.endswith(("empty", "empty_like")):
        np.testing.assert_array_equal(memory, expected.array)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", WITH_OUT)
def test_out_may_be_an_element_of_a_tensor(name):
    """Of a tensor that a result without axes is written into, as of all that the element has."""
    function = FUNCTIONS[name]
    args = arguments(name if name in ARGUMENTS else name.rpartition(".")[2])
    if (shape := seeded(function, *args).shape) != ():
        args = [ag.tensor(x.array[(0,) * x.ndim]) if isinstance(x, ag.Tensor) else x for x in args]
        try:
            shape = seeded(function, *args).shape
        except (ValueError, TypeError, IndexError):
            return  # it needs axes
    if shape == ():
        expected = seeded(function, *args)
        base = ag.zeros((3, 2), expected.dtype)
        seeded(function, *args, out=base[2, 0])
        if not name.endswith(("empty", "empty_like")):
            np.testing.assert_array_equal(base.array[2, 0], expected.array)


@pytest.mark.parametrize("name", ["add", "exp", "where", "clip", "sum", "matmul", "cumsum", "sort"])
def test_out_of_another_layout_or_dtype(name):
    function, args = FUNCTIONS[f"ag.{name}"], arguments(name)
    expected = function(*args).array
    base = np.full((*(2 * n for n in expected.shape),), 9.0)
    strided = ag.from_numpy(base[(..., *(slice(None, None, -2) for _ in expected.shape))])
    function(*args, out=strided)
    np.testing.assert_array_equal(strided.array, expected)
    assert (base == 9).sum() >= base.size - expected.size
    single = ag.zeros(expected.shape, "float32")
    assert function(*args, out=single).dtype == ag.float32
    np.testing.assert_array_equal(single.array, expected.astype("float32"))


def test_out_may_lie_over_the_operands():
    x = np.arange(1.0, 13.0)
    for function, numpy in ((ag.exp, np.exp), (ag.rsqrt, lambda v: 1 / np.sqrt(v)),
                            (ag.cumsum, np.cumsum), (ag.relu, abs), (ag.flip, np.flip)):
        memory = x.copy()
        function(ag.from_numpy(memory[:-2]), out=ag.from_numpy(memory[2:]))
        np.testing.assert_allclose(memory, [1, 2, *numpy(x[:-2])])
    square = x[:9].reshape(3, 3).copy()
    expected, t = square @ square.T, ag.from_numpy(square)
    ag.matmul(t, t.T, out=t)
    np.testing.assert_allclose(square, expected)
    ag.where(t > 0, t.T, 0.0, out=t)
    np.testing.assert_allclose(square, expected.T)


def test_errors_name_the_function_the_shapes_and_the_fix():
    with pytest.raises(ag.ShapeError, match=r"add\(.*result has shape \(3, 3\), but out has \(3,\);"
                                            r".*ag.empty\(\(3, 3\)\)(.|\n)*test_out.py"):
        ag.add(SQUARE, OTHER, out=ag.zeros(3))
    with pytest.raises(ag.ShapeError, match=r"softmax\(.*result has shape \(3, 3\), but out"):
        ag.softmax(SQUARE, out=ag.zeros(3))
    with pytest.raises(ag.DTypeError, match=r"sum\(.*float64\[\], which does not fit into out, int"
                                            r".*out of dtype 'float64'"):
        ag.sum(SQUARE, out=ag.zeros((), "int64"))
    with pytest.raises(TypeError, match=r"exp\(.*out must be a Tensor, not ndarray"):
        ag.exp(SQUARE, out=np.zeros((3, 3)))
    with pytest.raises(TypeError, match="symbolic value cannot be written into a tensor that has"):
        ag.exp(ag.symbolic.scalar("x"), out=ag.zeros((), "float64"))


def test_gradients_pass_through_out():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for function in (ag.exp, ag.cumsum, ag.softmax):
        y = ag.zeros(2)
        direct, through = function(x), function(x, out=y)
        (wanted,), (found,) = (ag.grad((v * v).sum(), [x]) for v in (direct, through))
        np.testing.assert_allclose(found.array, wanted.array)
    y = ag.exp(x)
    z = (y * y).sum()
    with ag.no_grad():
        ag.sqrt(x, out=y)
    with pytest.raises(ag.GradientError, match="changed in place"):
        z.backward()


def test_out_in_compiled_functions_and_graphs():
    @ag.jit
    def step(x, y):
        ag.exp(x, out=y)
        ag.matmul(x, x, out=x)
        return ag.sum(y, axis=0, out=ag.zeros(3, "float64"))

    x, y = ag.copy(SQUARE), ag.zeros((3, 3), "float64")
    total = step(x, y)
    np.testing.assert_allclose(y.array, np.exp(MATRIX))
    np.testing.assert_allclose(x.array, MATRIX @ MATRIX)
    np.testing.assert_allclose(total.array, np.exp(MATRIX).sum(0))
    a = ag.symbolic.matrix("a")
    b = ag.zeros_like(a)
    ag.exp(a, out=b)
    np.testing.assert_allclose(ag.function([a], b * 2)(MATRIX), 2 * np.exp(MATRIX))


def _ufunc_rows() -> list[str]:
    return sorted(n for n, row in TABLE.items() if row.writer is not None and hasattr(ag, n))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [*_ufunc_rows(), "matmul", "cumsum", "cumprod"])
def test_a_thousand_calls_take_no_memory(name):
    function = getattr(ag, name)
    args = [
        ag.tensor(np.resize(a.array, (512, 512))) if isinstance(a, ag.Tensor) else a
        for a in arguments(name)
    ]
    out = ag.empty_like(function(*args))
    function(*args, out=out)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for _ in range(1000 if name == "add" else 2):
            function(*args, out=out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A result has 262144 bytes or more; Python itself keeps a few thousand for later.
    assert peak - before < 150_000


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
@pytest.mark.parametrize("name", [
    "linalg.eigh", "linalg.qr", "linalg.slogdet", "linalg.svd", "cummax", "linalg.lu_factor",
    "linalg.cholesky_ex", "linalg.inv_ex", "topk"])
def test_several_results_go_into_as_many_tensors(name, way):
    function = ag
    for part in name.split("."):
        function = getattr(function, part)
    x = ag.tensor([[4.0, 1.0], [1.0, 3.0]])
    more = {"cummax": (0,), "topk": (1,)}.get(name, ())
    expected = function(x, *more)
    out = tuple(ag.zeros(part.shape, dtype=part.dtype) for part in expected)

    def call(x, out):
        function(x, *more, out=out)

    way(call)(x, out)
    for written, part in zip(out, expected, strict=True):
        assert np.array_equal(written.numpy(), part.numpy())
    assert type(function(x, *more, out=out)) is type(expected)
    assert all(a is b for a, b in zip(function(x, *more, out=out), out, strict=True))
    assert np.array_equal(function(x, *more, out=None)[0].numpy(), expected[0].numpy())


def test_out_for_another_number_of_results_is_refused():
    x = ag.eye(2)
    with pytest.raises(TypeError, match="give as many tensors in a tuple"):
        ag.linalg.qr(x, out=x)
    with pytest.raises(TypeError, match=r"must be a Tensor, not tuple"):
        ag.linalg.qr(x, out=(x,))
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        ag.broadcast_shapes((2,), out=x)
