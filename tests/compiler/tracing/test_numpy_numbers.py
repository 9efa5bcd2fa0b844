"""NumPy's numbers as arguments of jitted functions compute as NumPy's do, by one version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

KINDS = (np.int64, np.uint8, np.float32, np.float16)
OTHERS = {"python": 2.5, "whole": 3, "numpys": np.float32(2)}


def functions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, other in OTHERS.items():
        found[f"sums of {name}"] = lambda x, k, v=other: [k + v, v - k, k * v, (k + 1) * x]
        found[f"quotients of {name}"] = lambda x, k, v=other: [k / v, v / k, k // v, v % k, k**2]
    array = np.ones(3, "float32")
    found["arrays"] = lambda x, k: [k + array, k * array, k / array]
    found["functions"] = lambda x, k: [np.sqrt(k), np.exp(k) * x, abs(-k), round(k), np.add(k, 1)]
    found["bits"] = lambda x, k: [k << 1, k & 3, ~k, divmod(k, 2)[1]]
    return found


def told(found: Any) -> Any:
    return [(str(np.result_type(np.asarray(v))), np.shape(v),
             np.asarray(v).astype("float64").round(3).tolist()) for v in found]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", functions())
def test_they_compute_as_numpys_do(name: str) -> None:
    f, x = functions()[name], ag.tensor([1.0, -2.0, 3.0], dtype="float32")
    for kind in KINDS:
        jitted = ag.jit(f)
        for value in (1, 2, 3, 5, 7, 9):
            k = kind(value)
            try:
                wanted: Any = told(f(x, k))
            except TypeError:
                with pytest.raises(TypeError):
                    jitted(x, k)
                break
            assert told(jitted(x, k)) == wanted
        assert len(jitted.specialisations) <= 1


LISTS = {
    "whole": lambda k: [k, 1], "large": lambda k: (k, 1000), "fractions": lambda k: [k, 2.5],
    "nested": lambda k: [[k], [2]], "truth": lambda k: [True, k], "alone": lambda k: [k, k],
    "numpys": lambda k: [k, np.float32(2)], "computed": lambda k: [1.5, k * 2],
    "tensor": lambda k: [k, ag.tensor(1, dtype="int8")],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("convert", [ag.asarray, ag.tensor, lambda xs: ag.add(xs, 1)])
def test_lists_of_them_have_the_dtype_that_numpy_gives(name: str, convert: Any) -> None:
    for kind in (np.int8, *KINDS):
        jitted = ag.jit(lambda k: convert(LISTS[name](k)))
        assert told([jitted(kind(2))]) == told([convert(LISTS[name](kind(2)))])
    traced, given = ag.jit(convert), LISTS[name](np.float16(2))
    assert told([traced(given)]) == told([convert(given)])


def test_numbers_of_pythons_beside_them() -> None:
    x, one = ag.tensor([1.0, 2.0]), np.float32(1)
    jitted = ag.jit(lambda x: ag.asarray([x.sum().item(), one]))
    assert told([jitted(x)]) == told([ag.asarray([x.sum().item(), one])])
