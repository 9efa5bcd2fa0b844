"""Groups of parameters with options of their own; each has an optimizer of the same class."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

from agnesi.core.op import typed
from agnesi.core.public import check_call
from agnesi.core.support.errors import MissingKeyError, at
from agnesi.core.support.migration_hints import meant
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.optim.counts import begin_counts
from agnesi.optim.hyper import Hyper

#: What optimizers take: tensors, tensors with names, or groups of them with options.
Parameters: TypeAlias = (
    Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[Mapping[str, Any]]
)


class ParameterGroup(MutableMapping[str, Any]):
    """One group of an optimizer's parameters, with its options by name, as in PyTorch.

    Numbers (``lr``, ``weight_decay``, ``betas``, ...) may be set between steps, also of compiled
    ones, which are not compiled again; names that are no options hold whatever users put there.

    :param part: The optimizer, or the part of it that steps for this group.
    :type part: Optimizer
    :see: optim.Optimizer

    >>> w, b = ag.zeros(2, requires_grad=True), ag.zeros(1, requires_grad=True)
    >>> optimizer = ag.optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.5}], lr=0.1)
    >>> [group["lr"] for group in optimizer.param_groups]
    [0.1, 0.5]
    >>> optimizer.param_groups[1]["lr"] = 0.25
    >>> optimizer.param_groups[1]["params"]
    [tensor([0.], requires_grad=True)]
    """

    __slots__ = ("_part",)

    def __init__(self, part: object) -> None:
        self._part: Any = part

    def __getstate__(self) -> tuple[None, dict[str, Any]]:  # the oldest protocols call it
        return None, {"_part": self._part}

    def __iter__(self) -> Iterator[str]:
        return iter({"params": 0, **self._part.options, **self._part.labels})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name == "params" or name in self._part.labels or name in self._part.options

    def __getitem__(self, name: str) -> Any:
        part = self._part
        if name == "params":
            return list(part.own_parameters)
        if name in part.labels:
            return part.labels[name]
        if name not in part.options:
            kind, known = type(part).__name__, ("params", *part.options, *part.labels)
            advice = meant(kind, name, known) if isinstance(name, str) else ""
            raise MissingKeyError(at(f"{kind}: a group of parameters has no {name!r}{advice}"))
        if name == "betas":
            return part.beta1, part.beta2
        return getattr(part, name) if _is_number(part, name) else part.options[name]

    def __setitem__(self, name: str, value: Any) -> None:
        part = self._part
        if name == "betas" and name in part.options:
            if not isinstance(value, (tuple, list)) or len(value) != 2:
                raise TypeError(at(f"{type(part).__name__}: betas must be two numbers, not "
                                   f"{typed(value)}"))
            for which, beta in zip(("beta1", "beta2"), value, strict=True):
                Hyper.put(part, which, beta)
        elif _is_number(part, name):
            Hyper.put(part, name, value)
        elif name == "params" or name in part.options:
            kind = type(part).__name__
            raise ValueError(at(f"{kind}: {name!r} of a group cannot change; add_param_group makes "
                                "another group, and another optimizer other options"))
        elif name not in part.labels and (
                advice := meant(type(part).__name__, name, tuple(part.options))):
            raise MissingKeyError(at(f"{type(part).__name__}: a group of parameters has no "
                                     f"{name!r}{advice}"))
        else:
            part.labels[name] = value

    def __delitem__(self, name: str) -> None:
        del self._part.labels[name]

    def __repr__(self) -> str:
        shown = {n: f"{len(v)} tensors" if n == "params" else v for n, v in self.items()}
        return f"ParameterGroup({', '.join(f'{n}={v}' for n, v in shown.items())})"


def _is_number(part: Any, name: str) -> bool:
    return isinstance(getattr(type(part), name, None), Hyper)


#: Keywords of PyTorch's optimizers that say how a step is computed; the compiler sees to it.
IDLE = frozenset(("foreach", "fused", "capturable"))


def in_our_words(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords of PyTorch's optimizers by our names, without those that change no result."""
    if keywords.get("differentiable"):
        raise ValueError(at("differentiable=True: derivatives go through a step that is written "
                            "with with_parameters and ag.grad, not through an optimizer"))
    names = {"params": "parameters"}
    return {names.get(word, word): value for word, value in keywords.items()
            if word not in IDLE and word != "differentiable"}


def grouped(init: Callable[..., None]) -> Callable[..., None]:
    """``__init__`` of a class of optimizers, called with the first group; a part is made of each
    other one."""
    first, *known = list(inspect.signature(init).parameters.values())[1:]
    places = [p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD]
    usual = {p.name: p.default for p in known if p.default is not p.empty}

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807
        if self.steps_by_hand:
            init(self, *args, **keywords)
            return
        keywords = in_our_words(keywords)
        if first.name in keywords:
            args = (keywords.pop(first.name), *args)
        if not args:
            raise TypeError(at(f"{type(self).__name__}() needs {first.name}"))
        if type(self).__init__ is not __init__:  # a subclass calls
            init(self, *args, **keywords)
            return
        parameters, *rest = args
        defaults = usual | dict(zip(places, rest, strict=False)) | keywords
        groups = all_groups(type(self).__name__, parameters)
        begin(self, groups[0], defaults)
        for group in groups[1:]:
            self.add_param_group(group)

    return __init__


def begin(part: Any, group: Mapping[str, Any], defaults: dict[str, Any]) -> None:
    """Make an optimizer that steps for one group."""
    given = {name: value for name, value in group.items() if name != "params"}
    options = {name: given.pop(name, value) for name, value in defaults.items()}
    for label in given:  # its owner's own, unless it is another word for an option
        kind = type(part).__name__
        if advice := meant(kind, label, tuple(defaults)):
            raise TypeError(at(f"{kind}: a group of parameters got an unexpected keyword argument "
                               f"{label!r}{advice}"))
    part.defaults, part.options, part.labels, part.parts = defaults, options, given, [part]
    check_call(type(part), ((),), options)
    type(part).__init__.__wrapped__(part, group["params"], **options)
    begin_counts(part)
    part._made = True


def all_groups(name: str, parameters: Any) -> list[dict[str, Any]]:
    """Return the groups of parameters that an optimizer is made with."""
    layers = (hasattr(type(parameters), "named_parameters") and isinstance(parameters, Iterable)
              and not all(isinstance(p, Tensor) for p in parameters))
    if layers or isinstance(parameters, (Tensor, Mapping, str)) or (
            not isinstance(parameters, Iterable)):
        ways = f"{name}([w], ...) for one tensor, {name}(model.parameters(), ...) for a module"
        if isinstance(parameters, Mapping):
            ways = f"{name}(tensors.values(), ...) for a dict of tensors"
        raise TypeError(at(
            f"{name} optimises an iterable of tensors, not {typed(parameters)}: write {ways}"
        ))
    given = list(parameters)
    mapped = bool(given) and all(isinstance(group, Mapping) for group in given)
    groups = [group_of(name, group) for group in (given if mapped else [{"params": given}])]
    params = [p for group in groups for p in group["params"]]
    if not params:
        raise ValueError(at(f"{name}: there are no parameters to optimise" + (
            "; an iterator gives its elements once: call parameters() again"
            * isinstance(parameters, Iterator))))
    if not any(isinstance(p, Tensor) and p._requires_grad for p in params):  # some may be frozen
        raise no_parameter(name, params[0])
    return groups


def no_parameter(name: str, p: Any) -> TypeError:
    """The error that something cannot be optimised by an optimizer of that name."""
    if isinstance(p, Tensor) and is_tracing():
        return TypeError(at(
            f"{name}: {typed(p)} is made inside of the compiled function, where no optimizer can "
            "begin: make both outside, or update it by hand (w = w - lr * g)"))
    return TypeError(at(f"{name}: {typed(p)} cannot be optimised: parameters are tensors with a "
                        "value that require grad"))


def group_of(name: str, group: Any) -> dict[str, Any]:
    """A group with its tensors as a list, without their names."""
    if not isinstance(group, Mapping) or "params" not in group:
        raise TypeError(at(f"{name}: a group of parameters is a dict with 'params', and options "
                           f"such as 'lr', not {typed(group)}"))
    params = group["params"]
    if isinstance(params, (str, Mapping)) or not hasattr(params, "__iter__"):
        raise TypeError(at(f"{name}: 'params' of a group are tensors, as model.parameters(), not "
                           f"{typed(params)}"))
    params = [params] if isinstance(params, Tensor) else list(params)
    pairs = bool(params) and all(_is_named(p) for p in params)
    return {**group, "params": [p[1] for p in params] if pairs else params}


def _is_named(p: Any) -> bool:
    return isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str)
