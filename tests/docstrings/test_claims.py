"""What docstrings claim holds: it is tried on the calls that their examples make."""

import builtins
import functools
import inspect
import re
from typing import Any

import numpy as np

import agnesi as ag
from tests.docstrings.numpydoc import Doc, parse
from tests.docstrings.public import PUBLIC
from tests.testing.calls import call_of

FUNCTIONS = {
    name: f for name, f in PUBLIC.items()
    if not inspect.isclass(f) and not name.startswith(("agnesi.testing.", "agnesi.rewrite."))
}
#: An error, what is said of it, a parameter, and a value with which it must be raised.
WRONG_VALUES: tuple[tuple[type[Exception], str, str, Any], ...] = (
    (IndexError, "axis .*out of range|or the axis", "axis", 99),
    (IndexError, "axis is out of range", "axes", (98, 99)),
    (ValueError, "axis is named twice", "axis", (0, 0)),
    (ValueError, "size is negative", "shape", (2, -3)),
    (ValueError, "size is negative", "size", (2, -3)),
    (ValueError, "no such (padding or )?mode", "mode", "unknown"),
    (ValueError, "no such method", "method", "unknown"),
    (ValueError, "no such reduction", "reduction", "unknown"),
    (ValueError, 'not "cpu"', "device", "cuda"),
)


@functools.cache
def called(name: str) -> inspect.BoundArguments | None:
    """The arguments of a function in its example, if it calls it on values."""
    f = FUNCTIONS[name]
    try:
        call = call_of(name.removeprefix("agnesi."), f)
        return None if call is None else inspect.signature(f).bind(*call[0], **call[1])
    except (TypeError, ValueError):  # other spellings than the signature's
        return None


def documented(section: str) -> dict[str, Doc]:
    docs = {name: parse(inspect.getdoc(f) or "") for name, f in FUNCTIONS.items()}
    return {name: doc for name, doc in docs.items() if section in doc.sections}


def raises(error: type[Exception], f: Any, given: inspect.BoundArguments) -> bool:
    try:
        f(*given.args, **given.kwargs)
    except error:
        return True
    except Exception:
        return False
    return False


def changed(given: inspect.BoundArguments, values: dict[str, Any]) -> inspect.BoundArguments:
    return inspect.BoundArguments(given.signature, given.arguments | values)  # type: ignore


def test_wrong_values_raise_what_is_said():
    tried, wrong = 0, []
    for name, doc in documented("Raises").items():
        told = {entry.names[0]: entry.text for entry in doc.entries("Raises")}
        for error, text, parameter, value in WRONG_VALUES:
            f = FUNCTIONS[name]
            if re.search(text, told.get(error.__name__, "")) is None:
                continue
            if parameter not in inspect.signature(f).parameters or (given := called(name)) is None:
                continue
            tried += 1
            if not raises(error, f, changed(given, {parameter: value})):
                wrong.append((name, error.__name__, parameter))
    assert wrong == []
    assert tried > 130


def as_complex(x: Any) -> Any:
    if isinstance(x, list):
        return [as_complex(v) for v in x]
    number = isinstance(x, (int, float, np.ndarray, ag.Tensor)) and not isinstance(x, bool)
    return x * 1j if number else x


def test_complex_numbers_are_refused_where_it_is_said():
    tried, wrong = 0, []
    for name, doc in documented("Raises").items():
        told = [e.text for e in doc.entries("Raises") if e.names == ["DTypeError"]]
        if not any(re.match("For (floats and )?complex numbers", text) for text in told):
            continue
        if (given := called(name)) is None:
            continue
        tried += 1
        numbers = [n for e in doc.entries("Parameters") for n in e.names
                   if re.match("array_like(?! of)|Tensor$", e.kind) and n != "out"
                   and n in given.arguments]
        new = {n: as_complex(given.arguments[n]) for n in numbers}
        if not raises(ag.DTypeError, FUNCTIONS[name], changed(given, new)):
            wrong.append(name)
    assert tried > 150
    assert wrong == []


def test_shapes_that_do_not_broadcast_are_refused_where_it_is_said():
    tried, wrong = 0, []
    for name, doc in documented("Raises").items():
        told = [e.text for e in doc.entries("Raises") if e.names == ["ShapeError"]]
        if "If the shapes do not broadcast." not in told or (given := called(name)) is None:
            continue
        options = {n for e in doc.entries("Parameters") for n in e.names if e.kind == "float"}
        numbers = [k for k, v in given.arguments.items() if k not in options
                   if isinstance(v, (int, float, np.ndarray, ag.Tensor))
                   or (isinstance(v, list) and not isinstance(v[0], (list, ag.Tensor)))]
        if len(numbers) < 2 or not all(np.size(given.arguments[k]) for k in numbers):
            continue
        tried += 1
        new = {k: np.resize(np.asarray(given.arguments[k]), i + 2) for i, k in enumerate(numbers)}
        if not raises(ag.ShapeError, FUNCTIONS[name], changed(given, new)):
            wrong.append(name)
    assert tried > 150
    assert wrong == []


# -- results ------------------------------------------------------------------------------------
def result_of(name: str) -> Any:
    given: Any = called(name)
    return FUNCTIONS[name](*given.args, **given.kwargs)


def promises(doc: Doc) -> list[Any]:
    """Tests of a result by what Returns says: types, numbers of results, dtypes and shapes."""
    first = doc.entries("Returns")[0]
    names, text = first.names, first.text
    found: list[Any] = []
    if names in (["bool"], ["int"], ["str"], ["bytes"]):
        found.append(lambda r, _: isinstance(r, getattr(builtins, names[0])))
    if names == ["Tensor"]:
        found.append(lambda r, _: isinstance(r, ag.Tensor))
    if names == ["list of Tensor"]:
        found.append(lambda r, _: isinstance(r, list))
    if first.kind == "Tensor" and len(names) > 1:
        found.append(lambda r, _: len(r) == len(names))
    if kind := re.match(r"(int64|bool|uint8)\b", text):
        found.append(lambda r, _: first_of(r).dtype == kind[1])
    if re.match(r"Complex\b", text):
        found.append(lambda r, _: first_of(r).dtype.kind == "c")
    if shaped := re.match(r"(?:int64, |bool, |Complex, )?[Oo]f the shape of ``(\w+)``[.,;]"
                          r"(?! (or|but|without))", text):
        found.append(lambda r, given: shaped[1] not in given
                     or first_of(r).shape == np.shape(given[shaped[1]]))
    return found


def first_of(result: Any) -> Any:
    return result[0] if isinstance(result, (tuple, list)) else result


def test_results_are_as_is_said(tmp_path):
    """With a compile cache of its own: one of the functions empties it."""
    tried, wrong = 0, []
    for name, doc in documented("Returns").items():
        tests, given = promises(doc), called(name)
        if given is None or not tests or name.endswith("_subtensor"):  # of an indexed tensor
            continue
        try:
            with ag.config(cache_dir=str(tmp_path)):
                result = result_of(name)
        except (OSError, ag.GradientError):  # a file is not there, or nothing is recorded
            continue
        tried += len(tests)
        if not all(test(result, given.arguments) for test in tests):
            wrong.append(name)
    assert tried > 1000
    assert wrong == []
