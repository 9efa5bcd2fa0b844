"""Optimizers that write out their step over groups and states, as those for PyTorch do."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NoReturn, Self

from agnesi.core.op import typed
from agnesi.core.public import renamed
from agnesi.core.support.errors import MissingKeyError, at, no_attribute
from agnesi.core.support.tree import map_leaves
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.loading import check_state
from agnesi.optim.groups import all_groups, group_of
from agnesi.optim.optimizer import Optimizer

#: The default of an option that each group must have.
required = object()


class ByHand(Optimizer):
    """What :class:`Optimizer` is to a subclass that has a ``step`` of its own.

    ``param_groups`` is a list of dicts and ``state`` a dict of dicts by parameter, which the step
    reads and changes as it likes.
    """

    steps_by_hand = True
    # What is in vars(self) goes before these: a subclass need not call __init__.
    param_groups: Any = None
    state: Any = None
    parts: Any = ()

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        return object.__new__(cls)

    def __init__(self, params: Any, defaults: Mapping[str, Any]) -> None:
        if not isinstance(defaults, Mapping):
            raise TypeError(at(f"{type(self).__name__} has a step of its own: super().__init__ "
                               f"takes a dict of its options, not {typed(defaults)}; without one, "
                               "it has update(self, p, g)"))
        self.defaults = dict(defaults)
        self.state = defaultdict(dict)
        self.param_groups = []
        for group in all_groups(type(self).__name__, params):
            self.add_param_group(group)

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = value

    def __getattr__(self, name: str) -> NoReturn:
        raise no_attribute("Optimizer", name, self)

    @property
    def parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        name = type(self).__name__
        group = group_of(name, param_group)
        for option, value in self.defaults.items():
            if value is required and option not in group:
                raise ValueError(at(f"{name}: a group of parameters has no {option!r}, which is "
                                    "required"))
            group.setdefault(option, value)
        if {id(p) for p in group["params"]} & {id(p) for p in self.parameters}:
            raise ValueError(at(f"{name}: a parameter is in two groups, and would be "
                                "updated twice"))
        self.param_groups.append(group)

    def state_dict(self, copy: bool = True) -> dict[str, Any]:
        numbers = {id(p): k for k, p in enumerate(self.parameters)}
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]}
                  for group in self.param_groups]
        state = {numbers.get(id(p), p): held for p, held in self.state.items()}
        return {"state": _copied(state) if copy else state, "param_groups": groups}

    @renamed(state_dict="state")
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        name = type(self).__name__
        check_state(name, state)
        if not {"state", "param_groups"} <= set(state):
            raise MissingKeyError(at(f"{name}: a state has 'state' and 'param_groups'"))
        given = [len(group["params"]) for group in state["param_groups"]]
        mine = [len(group["params"]) for group in self.param_groups]
        if given != mine:
            raise ValueError(at(f"{name}: the state is of groups of {given} parameters, and there "
                                f"are {mine}"))
        owners = dict(enumerate(self.parameters))
        found: Any = defaultdict(dict)
        for k, held in _copied(dict(state["state"])).items():
            p = owners.get(int(k) if str(k).isdecimal() else k)
            found[k if p is None else p] = held if p is None else _like(p, held)
        for group, new in zip(self.param_groups, state["param_groups"], strict=True):
            group.update({option: v for option, v in new.items() if option != "params"})
        self.__setstate__({"state": found, "param_groups": self.param_groups})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        groups = [", ".join(f"{n}={v}" for n, v in group.items() if n != "params")
                for group in self.param_groups]
        return f"{type(self).__name__}({'; '.join(groups)})"


def _like(p: Tensor, held: Any) -> Any:
    """What is kept for a parameter, tensors of its dtype but for the count of steps."""
    return {name: v if name == "step" else map_leaves(
        lambda x: x.astype(p.dtype) if isinstance(x, Tensor) else x, v) for name, v in held.items()}


def _copied(state: Any) -> Any:
    return map_leaves(lambda x: x.detach().clone() if isinstance(x, Tensor) else x, state)


Optimizer.by_hand = ByHand
vars(sys.modules[Optimizer.__module__])["required"] = required  # where PyTorch has it
