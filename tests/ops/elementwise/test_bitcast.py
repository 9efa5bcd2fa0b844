"""Bits of numbers as numbers of another dtype, beside NumPy's views."""

import itertools

import numpy as np
import pytest

import agnesi as ag

_NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
          "float32", "float64", "complex64", "complex128")
_SHAPES = ((16,), (2, 3, 32), (0, 16))
SHAPE = pytest.mark.parametrize("shape", _SHAPES, ids=str)


def _numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    x = np.random.default_rng(1).standard_normal(shape) * 50
    return (np.abs(x) if dtype.startswith("uint") else x).astype(dtype)


@SHAPE
def test_all_pairs_of_dtypes_have_numpys_bits(shape: tuple[int, ...]) -> None:
    for source, target in itertools.product(("bool", *_NAMES), _NAMES):
        x = _numbers(source, shape)
        want = x.view(target)
        for found in (ag.tensor(x).view(target), ag.bitcast(x, target)):
            assert (found.shape, found.dtype) == (want.shape, want.dtype), (source, target)
            assert found.numpy().tobytes() == want.tobytes(), (source, target)


def test_all_dtypes_compiled() -> None:
    def f(x: ag.Tensor) -> list[ag.Tensor]:
        return [ag.bitcast(x, target) for target in _NAMES]

    for source in ("bool", *_NAMES):
        x = _numbers(source, (2, 32))
        for found, target in zip(ag.jit(f)(ag.tensor(x)), _NAMES, strict=True):
            assert found.numpy().tobytes() == x.view(target).tobytes(), (source, target)


def _written(x: ag.Tensor) -> tuple[ag.Tensor, ...]:
    x = x + 0
    parts, wide, pairs = x.view("uint8"), x.view("int64"), ag.view_as_complex(x)
    parts[0, 3] = 0x40
    wide[1] = 0
    pairs *= 2
    strided = ag.view_as_complex(x.T)  # copied
    strided[0] = 7
    return x, parts, wide, pairs


def test_writes_show_in_what_they_look_into() -> None:
    x = ag.ones((2, 2))
    eager, compiled = _written(x), ag.jit(_written)(x)
    np.testing.assert_array_equal(eager[0].numpy(), [[8, 2], [0, 0]])
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def _inverse_root(x: ag.Tensor) -> ag.Tensor:
    """The well-known approximation by an integer."""
    y = (0x5F3759DF - (x.view("int32") >> 1)).view("float32")
    return y * (1.5 - 0.5 * x * y * y)


def test_bits_in_formulas_gradients_and_batches() -> None:
    x = ag.tensor([4.0, 9.0, 100.0])
    want = _inverse_root(x)
    np.testing.assert_allclose(want.numpy(), [0.5, 1 / 3, 0.1], rtol=2e-3)
    for f in (ag.jit(_inverse_root), ag.vmap(_inverse_root)):
        np.testing.assert_array_equal(f(x).numpy(), want.numpy())

    def size(x: ag.Tensor) -> ag.Tensor:
        return (ag.bitcast(x, "complex64").abs() ** 2 + ag.bitcast(x, "int32")[::2]).sum()

    for f in (ag.grad(size), ag.jit(ag.grad(size))):
        np.testing.assert_allclose(f(ag.ones(4)).numpy(), [2.0] * 4, rtol=1e-6)


def test_open_sizes_and_what_does_not_fit() -> None:
    m = ag.symbolic.matrix("m", dtype="float32")
    f = ag.function([m], [ag.bitcast(m, "uint8"), ag.bitcast(m, "float64")])
    for shape in ((1, 2), (3, 6)):
        x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        for found, target in zip(f(x), ("uint8", "float64"), strict=True):
            np.testing.assert_array_equal(found, x.view(target))
    with pytest.raises(ag.ShapeError):
        f(np.ones((2, 3), "float32"))
    with pytest.raises(ag.ShapeError, match=r"float32\[3\].*the last axis must have 2 of float32"):
        ag.ones(3).view("float64")
    with pytest.raises(ag.DTypeError, match=r"write x != 0"):
        ag.ones(3).view(bool)
    with pytest.raises(ValueError, match=r"ag.bitcast copies it"):
        ag.ones((2, 3)).T.view("float64")
