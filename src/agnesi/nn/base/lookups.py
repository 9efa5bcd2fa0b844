"""Entries of modules by name: find, add and freeze them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Self

from agnesi.core.op import typed
from agnesi.core.support.errors import StateError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.entries import Entries
from agnesi.nn.base.owned import is_frozen
from agnesi.nn.base.tree import children_of


def check_name(module: Any, method: str, name: Any) -> None:
    """Refuse what names no entry of a state: its names are paths, with dots between them."""
    if not isinstance(name, str) or not name or "." in name:
        raise (TypeError if not isinstance(name, str) else ValueError)(
            at(f"{type(module).__name__}.{method}: name must be a string without dots, not "
               f"{name!r}"))


class Lookups:
    """Base of modules: methods that go by names."""

    __slots__ = ()

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Modules directly inside, with their names, each once.

        :returns: In the order in which they were assigned.
        :rtype: Iterator of (str, Module)
        """
        return ((n, m) for n, m in children_of(self) if m is not None)

    @property
    def _modules(self) -> Entries:
        """Modules directly inside, as programs for PyTorch read and exchange them."""
        return Entries(partial(children_of, self), self.add_module, self.__delattr__)

    @property
    def _parameters(self) -> Entries:
        this: Any = self
        return Entries(partial(this.named_parameters, recurse=False), self.register_parameter,
                       self.__delattr__)

    @property
    def _buffers(self) -> Entries:
        this: Any = self
        return Entries(partial(this.named_buffers, recurse=False), this.register_buffer,
                       self.__delattr__)

    def _get_name(self) -> str:
        return type(self).__name__

    def _of(self, kind: str, known: dict[str, Any], target: str) -> Any:
        if target not in known:
            names = [name for name in known if name]
            raise StateError(at(f"{type(self).__name__} has no {kind} {target!r}"
                                + (f", but {names}" if names else f", and no {kind}s at all")))
        return known[target]

    def get_submodule(self, target: str) -> Any:
        """The module of a dotted name.

        :param target: The name; ``""`` is the module itself.
        :returns: The one inside.
        :rtype: Module
        :raises KeyError: If there is none.
        """
        this: Any = self
        return self._of("module", dict(this.named_modules()), target)

    def get_parameter(self, target: str) -> Tensor:
        """The parameter of a dotted name.

        :param target: The name.
        :returns: The parameter itself.
        :raises KeyError: If there is none.
        """
        this: Any = self
        found: Tensor = self._of("parameter", dict(this.named_parameters()), target)
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name.

        :param target: The name.
        :returns: The buffer itself.
        :raises KeyError: If there is none.
        """
        this: Any = self
        found: Tensor = self._of("buffer", dict(this.named_buffers()), target)
        return found

    def add_module(self, name: str, module: object) -> None:
        """Set an attribute that is a module.

        :param name: Of the attribute.
        :param module: Its value.
        :type module: Module or None
        :raises TypeError: If it is no module.
        """
        check_name(self, "add_module", name)
        if module is not None and not hasattr(module, "named_parameters"):
            raise TypeError(at(f"add_module: {name!r} must be a module, not {typed(module)}"))
        setattr(self, name, module)

    register_module = add_module

    def set_submodule(self, target: str, module: object) -> None:
        """Exchange the module of a dotted name, or add one beside its neighbours.

        :param target: The name; all but its last part must be there.
        :param module: The new one.
        :type module: Module
        :raises KeyError: If there is no module to put it into.
        :raises TypeError: If it is no module.
        :raises ValueError: If the name is empty.

        >>> net = ag.nn.Sequential(ag.nn.Linear(2, 1), ag.nn.ModuleList([ag.nn.ReLU()]))
        >>> net.set_submodule("1.0", ag.nn.Tanh())
        >>> net[1][0]
        Tanh()
        """
        where, _, name = target.rpartition(".")
        if not name:
            raise ValueError(at(f"set_submodule: {target!r} names no module inside"))
        self.get_submodule(where).add_module(name, module)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Set an attribute that is a parameter.

        :param name: Of the attribute.
        :param param: Its value.
        :type param: Tensor or None
        :raises TypeError: If it is no tensor that requires grad.
        """
        check_name(self, "register_parameter", name)
        if param is not None and not (
            isinstance(param, Tensor) and (param._requires_grad or is_frozen(param))
        ):
            raise TypeError(at(f"{type(self).__name__}.register_parameter: {name!r} must be a "
                               f"tensor that requires grad, not {typed(param)}"))
        setattr(self, name, param)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let gradients flow to all parameters inside, or to none.

        :param requires_grad: Whether they flow.
        :returns: The module itself.
        :rtype: Module

        >>> net = ag.nn.Linear(2, 1).requires_grad_(False)
        >>> [p.requires_grad for p in net.parameters()]
        [False, False]
        """
        this: Any = self
        for t in list(this.parameters()):
            t.requires_grad_(requires_grad)
        return self

    def share_memory(self) -> Self:
        """Move all parameters and buffers into memory that processes share, which are started
        after that: each sees what the others change in place.

        :returns: The module itself.
        :rtype: Module
        """
        module: Any = self
        for x in (*module.parameters(), *module.buffers()):
            x.share_memory_()
        return self
