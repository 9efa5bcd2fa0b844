"""``theano.scan`` and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.api import symbolic
from agnesi.api.control import folds, taps
from agnesi.compat.theano.base.tags import mention
from agnesi.compat.theano.graphs.fgraph import equal_computations as equal_computations
from agnesi.compat.theano.graphs.testvalues import without_test_values
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.generators import Generator, generator_like
from agnesi.compat.theano.tensor.opclasses import Scan as Scan
from agnesi.compat.theano.variable import Variable, bare, floats, wrapped
from agnesi.compiler.objects import ObjectVariable
from agnesi.compiler.shared import Shared
from agnesi.core.support import tree
from agnesi.core.support.config import config
from agnesi.core.support.errors import DTypeError, call_user
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.select import minimum


class until:  # noqa: N801 - used as a function
    """The last of what the function of a scan returns: stop behind this step if it holds."""

    def __init__(self, condition: Any) -> None:
        self.condition = condition


def _step(fn: Callable[..., Any], models: Sequence[Any] = ()) -> Callable[..., Any]:
    """A step over variables as one over tensors; its updates are a dict beside its outputs.
    The last arguments are generators where ``models`` are."""
    def step(*tensors: Any) -> Any:
        known = [*[None] * (len(tensors) - len(models)), *models]
        given = tuple(generator_like(m, x) for m, x in zip(known, tensors, strict=True))
        drawn = [x for x in given if isinstance(x, Generator) and not hasattr(x.tag, "used")]
        with without_test_values():
            found = call_user(fn, given, {}, "scan",
                              "fn(*elements of sequences, *earlier results, *non_sequences)")
        for x in drawn:  # the same generator may be there when the step is written again
            vars(x.tag).pop("used", None)
        parts = list(found) if isinstance(found, tuple) else [found]
        if isinstance(found, (list, tuple)) and not any(isinstance(p, (list, dict, until))
                                                        or _is_updates(p) for p in found):
            return [_result(v) for v in found]
        outputs: list[Any] = []
        updates: dict[Any, Any] = {}
        stop: tuple[Any, ...] = ()
        for part in parts:
            if isinstance(part, until):
                stop = (taps.until(bare(part.condition)),)
            elif isinstance(part, Mapping) or _is_updates(part):
                updates.update((bare(k), bare(v)) for k, v in dict(part).items())
            else:
                outputs += part if isinstance(part, (list, tuple)) else [part]
        return ([_result(v) for v in outputs], updates, *stop)

    return step


def _beside_objects(fn: Callable[..., Any], non_sequences: Any) -> tuple[Any, list[Any] | None]:
    """A step and what it takes in every step, without objects, such as typed lists: loops hold
    tensors alone, and the step gets the objects where they stood."""
    if non_sequences is None:
        return fn, None
    held = _listed(non_sequences)
    rest = [x for x in held if not isinstance(x, ObjectVariable)]
    if len(rest) == len(held):
        return fn, held

    def step(*given: Any) -> Any:
        first = len(given) - len(rest)
        others = iter(given[first:])
        return fn(*given[:first], *(x if isinstance(x, ObjectVariable) else next(others)
                                    for x in held))

    return step, rest


def _result(x: Any) -> Any:
    return as_tensor(bare(x))


def _is_updates(part: Any) -> bool:
    """Return whether a list of pairs has new values of shared variables."""
    return isinstance(part, (list, tuple)) and bool(part) and all(
        isinstance(p, tuple) and len(p) == 2 and isinstance(bare(p[0]), Shared) for p in part)


def scan(fn: Callable[..., Any], sequences: Any = None, outputs_info: Any = None,
         non_sequences: Any = None, n_steps: Any = None, truncate_gradient: int = -1,
         go_backwards: bool = False, mode: Any = None, name: str | None = None,
         profile: Any = False, allow_gc: Any = None, strict: bool = False,
         return_list: bool = False, return_updates: Any = True) -> Any:
    """A loop over sequences; see :func:`agnesi.symbolic.scan`.

    Returns
    -------
    outputs : Variable or list of Variable
    updates : OrderedUpdates
        New values of shared variables, for ``updates`` of :func:`function`; left out with
        ``return_updates=False``, as PyTensor's programs want, which is an error if there are some.
    """
    fn, held = _beside_objects(fn, non_sequences)
    mention(*[x for x in tree.leaves((_tensors(sequences), bare(held))) if isinstance(x, Tensor)])
    states = [] if outputs_info is None else _listed(outputs_info)
    models = [x for state in states if state is not None for x in _taken(state)]
    with floats():
        last, rows, updates = _begun(lambda states: taps.looped(
            _step(fn, [*models, *(held or ())]), _tensors(sequences), states, bare(held),
            bare(n_steps), truncate_gradient, go_backwards, strict and "state"),
            _tensors(outputs_info))
    for i, state in enumerate(states):
        if isinstance(state, Generator):  # the last one is all that a program can do with
            rows[i] = generator_like(state, last[i])
    found = wrapped(rows[0] if len(rows) == 1 else rows)
    if return_list and not isinstance(found, list):
        found = [found]
    return _with_updates(found, updates, return_updates)


def _taken(state: Any) -> list[Any]:
    """What a step takes of an output: several earlier values, one, or none."""
    if not isinstance(state, Mapping):
        return [state]
    return [None] * len(state.get("taps") or [-1]) if state.get("initial") is not None else []


def _begun(loop: Callable[[Any], Any], states: Any) -> Any:
    """A loop; states that begin as float32, which ``T.alloc(0., n)`` is, are of floatX where its
    steps return that.  Theano refuses it."""
    try:
        return loop(states)
    except DTypeError:
        wide = [_widened(x) for x in states or ()]
        if all(a is b for a, b in zip(states or (), wide, strict=True)):
            raise
        return loop(wide)


def _widened(state: Any) -> Any:
    """An initial state of floatX, if it is a shorter float."""
    if isinstance(state, Mapping) and "initial" in state:
        found = _widened(state["initial"])
        return state if found is state["initial"] else {**state, "initial": found}
    kind = np.dtype(config.symbolic_float)
    short = isinstance(state, Tensor) and state.dtype.kind == "f" and (
        state.dtype.itemsize < kind.itemsize)
    return cast(state, kind) if short else state


def scan_checkpoints(fn: Callable[..., Any], sequences: Any = None, outputs_info: Any = None,
                     non_sequences: Any = None, name: str | None = None, n_steps: Any = None,
                     save_every_N: int = 10, padding: bool = True,
                     return_updates: Any = True) -> Any:
    """A scan of which the results of every so many steps are given, and of the last step.

    Sizes are open, so that the gradient keeps the carries of all steps; ``agnesi.scan`` with
    ``checkpoint`` keeps fewer where they are known.
    """
    if any(isinstance(v, Mapping) and "taps" in v for v in _listed(outputs_info)):
        raise RuntimeError("scan_checkpoints doesn't work with taps.")
    found, updates = scan(fn, sequences, outputs_info, non_sequences, n_steps, name=name)

    def saved(x: Any) -> Any:
        n = as_tensor(bare(x.shape[0]))
        ends = symbolic.arange((n + save_every_N - 1) // save_every_N) * save_every_N
        return x[wrapped(minimum(ends + save_every_N, n) - 1)]

    rows = [saved(x) for x in found] if isinstance(found, list) else saved(found)
    return _with_updates(rows, updates, return_updates)


def _with_updates(found: Any, updates: Any, asked: bool) -> Any:
    """Outputs and updates; without these, if they are not requested."""
    changes = OrderedUpdates(wrapped(dict(updates)))
    if asked:
        return found, changes
    if changes:
        raise ValueError(f"scan has updates of {list(changes)}: call it with return_updates=True")
    return found


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _tensors(given: Any) -> Any:
    if given is None:
        return None
    def one(x: Any) -> Any:
        if isinstance(x, Mapping):
            found = {k: bare(v) for k, v in x.items()}
            unset = found.get("initial", found.get("input")) is None
            return None if unset and found.keys() <= {"initial", "taps"} else found
        if isinstance(x, (Variable, Tensor)) or x is None:
            return bare(x)
        found = bare(as_tensor_variable(x))  # numbers have the least of the dtypes that hold them
        return as_tensor(x) if found.dtype.kind in "biu" else found

    return [one(x) for x in _listed(given)] if not isinstance(given, Mapping) else [one(given)]


class OrderedUpdates(dict[Any, Any]):
    """New values by shared variable; ``+`` joins two."""

    def __add__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates({**self, **dict(other)})

    def __radd__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates({**dict(other), **self})


def map(fn: Callable[..., Any], sequences: Any, non_sequences: Any = None,
        truncate_gradient: int = -1, go_backwards: bool = False, mode: Any = None,
        name: str | None = None, return_updates: Any = True) -> Any:
    """The function of each row."""
    return scan(fn, sequences, None, non_sequences, None, truncate_gradient, go_backwards,
                return_updates=return_updates)


def reduce(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
           go_backwards: bool = False, mode: Any = None, name: str | None = None,
           return_updates: Any = True) -> Any:
    """The last value of a loop over the rows."""
    fn, held = _beside_objects(fn, non_sequences)
    with floats():
        found, updates = _begun(lambda states: folds.reduce(
            _step(fn), _tensors(sequences), states, bare(held), go_backwards),
            _tensors(outputs_info))
    return _with_updates(wrapped(found), updates, return_updates)


def foldl(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
          mode: Any = None, name: str | None = None, return_updates: Any = True) -> Any:
    """:func:`reduce` from the first row on."""
    return reduce(fn, sequences, outputs_info, non_sequences, return_updates=return_updates)


def foldr(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
          mode: Any = None, name: str | None = None, return_updates: Any = True) -> Any:
    """:func:`reduce` from the last row on."""
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True,
                  return_updates=return_updates)
