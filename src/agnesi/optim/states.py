"""States of optimizers: as PyTorch's users read and edit them, and flat by name, as files hold
them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.support.errors import MissingKeyError, StateError, at, typed
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.loading import differing, finished, fitting, put_all, snapshot
from agnesi.optim.counts import EACH, counter, each_of, fill, regroup
from agnesi.optim.groups import IDLE, begin
from agnesi.optim.hyper import Hyper

#: What PyTorch calls our counters, which all parameters of a group share, and copies in float32.
_SHARED = {"steps": "step", "product": "mu_product", "eta": "eta"}
_MASTER = "master"
#: What PyTorch keeps, and is computed here.
_COMPUTED = frozenset(("mu",))


def is_worded(state: Mapping[str, Any]) -> bool:
    """Return whether a state is in PyTorch's words, not flat."""
    return state.keys() == {"state", "param_groups"}


# -- flat ---------------------------------------------------------------------------------------
def cells(part: Any) -> dict[str, Tensor]:
    """Everything that a step reads or changes besides parameters and gradients."""
    found = {name[1:]: t for name, t in vars(part).items() if isinstance(t, Tensor)}
    for name, tensors in part.own_slots.items():
        found.update((f"{name}.{i}", t) for i, t in enumerate(tensors))
    found.update((f"{_MASTER}.{i}", t) for i, t in part.masters.items())
    found.update((f"{name}{EACH}", t) for name, t in part.own_counts.items())
    return found


def _of_all(optimizer: Any) -> Iterator[tuple[str, Any, str, Tensor]]:
    """The cells of all groups: name in the state, group, name there, tensor."""
    for k, part in enumerate(optimizer.parts):
        for name, t in cells(part).items():
            yield f"group{k}.{name}" if k else name, part, name, t


def flat_state(optimizer: Any) -> dict[str, Tensor]:
    """An optimizer's own tensors by flat names, as files hold them."""
    return {name: t for name, _, _, t in _of_all(optimizer)}


def completed(optimizer: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """A flat state with what earlier versions did not save: counters of each parameter, where
    those of a group were all parameters'."""
    filled = [fill(part, state, f"group{k}." if k else "")
              for k, part in enumerate(optimizer.parts)]
    return {**state, **{name: v for found in filled for name, v in found.items()}}


def load_flat(optimizer: Any, state: Mapping[str, Any],
              labels: Iterable[Mapping[str, Any]] = ()) -> None:
    """Copy values into an optimizer's tensors, and what its groups note: into all, or into none."""
    for k, part in enumerate(optimizer.parts):
        _make_room(part, state, f"group{k}." if k else "")
    mine, state = flat_state(optimizer), completed(optimizer, state)
    if mine.keys() != state.keys():
        raise StateError(at(f"the state is not one of this {type(optimizer).__name__}: "
                            f"{differing(mine, state)}"))
    hypers = {name: (part, own) for name, part, own, _ in _of_all(optimizer)
              if isinstance(getattr(type(part), own, None), Hyper)}
    before = {name: getattr(part, own) for name, (part, own) in hypers.items()}
    arrays = fitting(mine, {n: v for n, v in state.items() if n not in before})

    def write() -> None:
        for name, (part, own) in hypers.items():
            found = np.asarray(_number(state[name]))
            Hyper.put(part, own, found.item() if found.size == 1 else state[name])
        put_all(mine, arrays)
        for part in optimizer.parts:
            regroup(part)
        for part, noted in zip(optimizer.parts, labels, strict=False):
            part.labels.update(noted)

    try:
        finished(write)
    except (TypeError, ValueError):
        for name, (part, own) in hypers.items():
            Hyper.put(part, own, before[name])
        raise


def _make_room(part: Any, numbers: Mapping[str, Any], before: str = "") -> None:
    """Let a group keep what a state has for terms that it leaves out so far."""
    for name in part.optional_slots:
        value = numbers.get(before + name, 0)
        if _is_traced(value) or np.any(np.asarray(value) != 0):
            part.make_room(name)


# -- in PyTorch's words -------------------------------------------------------------------------
class _Entries(dict[Any, Any]):
    """A dict whose entries stay the same ones."""

    def _refuse(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError(at("the state of an optimizer keeps its entries: optimizer.state.clear() "
                           "lets all start again, optimizer.state[p][name] = value writes one"))

    __setitem__: Any
    clear: Any
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class OfParameter(_Entries):
    """The tensors that are kept for a parameter; giving one again writes its elements."""

    def __missing__(self, name: str) -> Any:
        has = ", ".join(map(repr, self)) or "nothing before the first step"
        raise MissingKeyError(at(f"there is no {name!r} in this state of a parameter, which has "
                                 f"{has}"))

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self:
            self.__missing__(name)
        with no_grad():
            self[name][...] = value


class OfAll(_Entries):
    """The states of an optimizer's parameters; :meth:`clear` lets all start again."""

    def __init__(self, optimizer: Any) -> None:
        found = worded(optimizer, copy=False)["state"]
        super().__init__((p, OfParameter(found.get(i, {})))
                         for i, p in enumerate(optimizer.parameters))
        self._optimizer = optimizer

    def __missing__(self, key: Any) -> Any:
        asked = f"no parameter {key!r}"
        if isinstance(key, str):
            asked = f"{key!r} is kept for each parameter: state[p][{key!r}]"
        elif isinstance(key, Tensor):
            asked = f"{type(self._optimizer).__name__} does not have this parameter"
        raise MissingKeyError(at(f"optimizer.state: {asked}"))

    def clear(self) -> None:
        """Let the optimizer start again."""
        self._optimizer.state = {}


def worded(optimizer: Any, copy: bool) -> dict[str, Any]:
    """The state as PyTorch has it: tensors of each parameter by number, and groups of options."""

    def kept(t: Tensor) -> Tensor:
        return snapshot(t) if copy else t

    state: dict[int, dict[str, Tensor]] = {}
    groups = []
    first = 0
    for part, group in zip(optimizer.parts, optimizer.param_groups, strict=True):
        places = range(first, first + len(part.own_parameters))
        first = places.stop
        for name, word, i, t in _tensors(part):
            if name not in _SHARED or part.own_slots:
                state.setdefault(places[i], {})[word] = kept(t)
        for i, n in enumerate(places):
            if n in state:
                state[n].update(part.derived(i))
        groups.append({**{name: _number(group[name]) for name in group if name != "params"},
                       "params": list(places)})
    return {"state": dict(sorted(state.items())), "param_groups": groups}


def _number(value: Any) -> Any:
    """An option; in a trace, the number of Python's that each call computes."""
    if isinstance(value, tuple):
        return tuple(map(_number, value))
    return value.item() if isinstance(value, Tensor) and value.shape == () else value


def _tensors(part: Any) -> Iterator[tuple[str, str, int, Tensor]]:
    """What is kept for each parameter of a group: name here, PyTorch's word, its place, tensor."""
    for name, word in _SHARED.items():
        shared = vars(part).get(f"_{name}")
        for i in range(len(part.own_parameters)) if shared is not None else ():
            yield name, word, i, counter(part, name, i)
    for name, tensors in part.own_slots.items():
        for i, (t, p) in enumerate(zip(tensors, part.own_parameters, strict=True)):
            if t.array.size or not p.array.size:
                yield f"{name}.{i}", part.slot_word(name, p), i, t
    for i, t in part.masters.items():
        yield f"{_MASTER}.{i}", _MASTER, i, t


def load_worded(optimizer: Any, state: Mapping[str, Any]) -> None:
    """Take over a state in PyTorch's words, or nothing of it."""
    kind, groups = type(optimizer).__name__, state["param_groups"]
    if len(groups) != len(optimizer.parts):
        raise ValueError(at(f"{kind}.load_state_dict: the state has {len(groups)} groups of "
                            f"parameters, this {kind} has {len(optimizer.parts)}"))
    flat: dict[str, Any] = {}
    labels = []
    for k, (part, group) in enumerate(zip(optimizer.parts, groups, strict=True)):
        if len(group["params"]) != len(part.own_parameters):
            raise ValueError(at(f"{kind}.load_state_dict: group {k} of the state has "
                                f"{len(group['params'])} parameters, that of this {kind} "
                                f"{len(part.own_parameters)}"))
        labels.append(_labels(kind, k, part, group))
        _make_room(part, group)
        each = [state["state"].get(n, {}) for n in group["params"]]
        found = {**_numbers(part, group), **_kept(kind, part, each)}
        _refuse_others(optimizer, k, group, labels[-1])
        flat.update((f"group{k}.{name}" if k else name, v) for name, v in found.items())
    load_flat(optimizer, flat, labels)


def _refuse_others(optimizer: Any, k: int, group: Mapping[str, Any], labels: dict[str, Any]
                   ) -> None:
    """Raise for the options of another optimizer: they lack numbers, and have what is unknown."""
    part, kind = optimizer.parts[k], type(optimizer).__name__
    numbers = [n for n, v in optimizer.param_groups[k].items() if not isinstance(v, bool)
               and (n == "betas" or isinstance(getattr(type(part), n, None), Hyper))]
    missing = [n for n in numbers if n not in group]
    if missing and labels:
        raise StateError(at(f"{kind}.load_state_dict: group {k} of the state lacks {missing} and "
                            f"has {[*labels]}: it is not one of this {kind}"))


def _labels(kind: str, k: int, part: Any, group: Mapping[str, Any]) -> dict[str, Any]:
    """What a group notes besides options; options that are no numbers must be those here."""
    labels = {}
    for name, value in group.items():
        if name == "betas" or name == "params" or name in IDLE:
            continue
        if name not in part.options:
            labels[name] = value
        elif (not isinstance(getattr(type(part), name, None), Hyper)
              and _plain(value) not in (_plain(part.options[name]),
                                        _plain(vars(part).get(name)))):
            raise ValueError(at(
                f"{kind}.load_state_dict: group {k} of the state has {name}={value!r}, this {kind} "
                f"{name}={part.options[name]!r}, which cannot change: make the optimizer with "
                f"{name}={value!r}"))
    return labels


def _plain(value: Any) -> Any:
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        value = np.asarray(value).tolist()
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def _numbers(part: Any, group: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a group by name; those that the state lacks are as they are."""
    kind = type(part)
    found = {name: getattr(part, name) for name in dir(kind)
             if isinstance(getattr(kind, name), Hyper) and f"_{name}" in vars(part)}
    found.update((name, v) for name, v in group.items() if name in found)
    if "betas" in group and "beta1" in found:
        if np.shape(group["betas"]) != (2,):
            raise TypeError(at(f"{kind.__name__}: betas must be two numbers, not "
                               f"{typed(group['betas'])}"))
        found["beta1"], found["beta2"] = group["betas"]
    return found


def _kept(kind: str, part: Any, each: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The tensors of a group by their flat names; what the state lacks starts again."""
    fresh: Any = None
    found: dict[str, Any] = {}
    counts: dict[str, list[Any]] = {}
    for name, word, i, t in _tensors(part):
        value = each[i].get(word)
        if value is None and name == "steps" and any(v is not None for v in each[i].values()):
            value = 1  # PyTorch's SGD does not count, but what it keeps is of a step
        if value is None and name not in _SHARED:
            if name.startswith(f"{_MASTER}."):
                value = part.own_parameters[i].array.astype(np.float32)
            else:
                fresh = fresh or _anew(part)
                value = cells(fresh)[name]
        if value is not None and name in _SHARED and not _is_traced(value):
            value = np.asarray(value, t.dtype).reshape(())
            counts.setdefault(name, [_first(name)] * len(each))[i] = value
        if value is not None:
            found[name] = value
    for name, values in counts.items():
        if name in part.own_counts:
            found[f"{name}{EACH}"] = each_of(values, found[name], len(each))
    for name in cells(part).keys() - found.keys() - _numbers(part, {}).keys():
        fresh = fresh or _anew(part)  # counters, and what is empty
        found[name] = cells(fresh)[name]
    known = {word for _, word, _, _ in _tensors(part)}
    others = {word for entry in each for word, v in entry.items() if v is not None} - known
    if others - _COMPUTED - {*_SHARED.values()}:
        raise StateError(at(f"{kind}.load_state_dict: the state has {sorted(map(str, others))} of "
                            f"parameters, this {kind} keeps {sorted(known) or 'nothing'}"))
    return found


def _first(name: str) -> float:
    """A counter before the first step."""
    return {"product": 1, "eta": math.nan}.get(name, 0)


def _is_traced(value: Any) -> bool:
    return isinstance(value, Tensor) and is_tracing()


def _anew(part: Any) -> Any:
    """The optimizer of a group as it was made."""
    kind: Any = type(part)
    made = kind.__new__(kind)
    begin(made, {"params": part.own_parameters, **part.options}, part.defaults)
    return made
