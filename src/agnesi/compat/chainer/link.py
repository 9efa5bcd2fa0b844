"""Links: variables that are learned, and chains of links."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from agnesi.compat.chainer.variable import Variable
from agnesi.core.support.errors import ShapeError, at, no_attribute, typed, warn


class Link:
    """Parameters under names, which are attributes of it.

    :param **params: Shapes of parameters; a pair of a shape and a dtype for others than float32.
    :type **params: tuple of int

    >>> from agnesi.compat.chainer import Link
    >>> link = Link(W=(2, 3))
    >>> link.W.data.shape, [name for name, _ in link.namedparams()]
    ((2, 3), ['/W'])
    """

    def __init__(self, **params: Any) -> None:
        self._params: list[str] = []
        self._persistent: list[str] = []
        self.name: str | None = None
        for name, value in params.items():
            typed_too = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple)
            shape, dtype = value if typed_too else (value, np.float32)
            self.add_param(name, shape, dtype)

    #: The module of arrays.
    xp = np

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_params", ()) and not isinstance(value, Variable):
            raise TypeError(at(f"{type(self).__name__}.{name} is a parameter, and cannot become "
                               f"{typed(value)}: write link.{name}.data = array"))
        super().__setattr__(name, value)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run ``forward``, as later versions of Chainer do; links of version 1 have their own."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise TypeError(at(f"{type(self).__name__} has no __call__(self, x) and no "
                               "forward(self, x), which a call of it runs"))
        return forward(*args, **keywords)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            error = no_attribute("chainer.Link", name, self)
            if children := vars(self).get("_children"):
                error.args = (f"{error}; its links are {', '.join(map(str, children))}",)
            raise error

    def add_param(self, name: str, shape: Any, dtype: Any = np.float32,
                  initializer: Any = None) -> None:
        """A parameter of a shape, without values that mean something unless they are given."""
        if name in self._params:
            raise AttributeError(at(f"{type(self).__name__}.add_param: {name!r} is there already"))
        data = np.full(shape, np.nan, dtype)
        if initializer is not None:
            data[...] = initializer(shape) if callable(initializer) else initializer
        self.__dict__[name] = Variable(data, volatile="auto", name=name,
                                       grad=np.full(shape, np.nan, dtype))
        self._params.append(name)

    def add_persistent(self, name: str, value: Any) -> None:
        """Something that is saved with the link, but not learned."""
        self.__dict__[name] = value
        self._persistent.append(name)

    def _own(self) -> list[Variable]:
        return [self.__dict__[name] for name in self._params]

    def children(self) -> Iterator[Link]:
        """The links inside of it."""
        return iter(())

    def _named_children(self) -> list[tuple[str, Link]]:
        return []

    def links(self, skipself: bool = False) -> Iterator[Link]:
        """The link and all inside of it."""
        if not skipself:
            yield self
        for child in self.children():
            yield from child.links()

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        """The same with paths."""
        if not skipself:
            yield "/", self
        for name, child in self._named_children():
            yield f"/{name}", child
            for path, link in child.namedlinks(True):
                yield f"/{name}{path}", link

    def params(self) -> Iterator[Variable]:
        """All parameters, those of links inside, too."""
        for _, p in self.namedparams():
            yield p

    def namedparams(self) -> Iterator[tuple[str, Variable]]:
        """The same with paths."""
        for name in self._params:
            yield f"/{name}", self.__dict__[name]
        for name, child in self._named_children():
            for path, p in child.namedparams():
                yield f"/{name}{path}", p

    def copy(self) -> Any:
        """Another link with the same parameters, by reference to their arrays; no gradients."""
        found = copy.copy(self)
        for name in self._params:
            old = self.__dict__[name]
            found.__dict__[name] = Variable(old.data, volatile="auto", name=name)
        found.name = None
        return found

    def copyparams(self, link: Link) -> None:
        """Take over the values of another link's parameters."""
        for own, other in self._paired(link):
            own.copydata(other)

    def _paired(self, link: Link) -> list[tuple[Variable, Variable]]:
        """Parameters beside those of another link, which must have the same."""
        mine, theirs = dict(self.namedparams()), dict(link.namedparams())
        for name in {**mine, **theirs}:
            kinds = [typed(ps[name].data) if name in ps else "missing" for ps in (mine, theirs)]
            if name not in mine or name not in theirs or mine[name].shape != theirs[name].shape:
                raise ShapeError(f"{name} is {kinds[0]}, and {kinds[1]} in the other link")
        return [(p, theirs[name]) for name, p in mine.items()]

    def zerograds(self) -> None:
        """Set all gradients to zero."""
        for p in self.params():
            p.zerograd()

    def cleargrads(self) -> None:
        """Forget all gradients."""
        for p in self.params():
            p.cleargrad()

    def addgrads(self, link: Link) -> None:
        """Add the gradients of another link of the same parameters."""
        for own, other in self._paired(link):
            own.addgrad(other)

    def to_gpu(self, device: Any = None) -> Any:
        """The link itself: devices are the processor."""
        return self

    def to_cpu(self) -> Any:
        """The link itself."""
        return self

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Arrays of all parameters, as function sets have them."""
        return tuple(p.data for p in self.params())

    @parameters.setter
    def parameters(self, values: Any) -> None:
        values = iter(values)
        for p in self.params():
            p.data = next(values)

    @property
    def gradients(self) -> tuple[Any, ...]:
        """Arrays of their gradients."""
        return tuple(p.grad for p in self.params())

    @gradients.setter
    def gradients(self, values: Any) -> None:
        values = iter(values)
        for p in self.params():
            p.grad = next(values)

    def serialize(self, serializer: Any) -> None:
        """Hand everything that is saved to a serializer, which may give other values."""
        for name in self._params:
            p = self.__dict__[name]
            p.data = np.asarray(serializer(name, p.data))
        for name in self._persistent:
            self.__dict__[name] = serializer(name, self.__dict__[name])
        for name, child in self._named_children():
            child.serialize(serializer[name])


def _linked(link: Any) -> Link:
    """The link in place of a function of Chainer 1.0, or the link itself."""
    found = getattr(link, "link", link)
    if not isinstance(found, Link):
        raise TypeError(at(f"a chain holds links, as links.Linear(3, 2) is, not {typed(link)}"))
    return found


class Chain(Link):
    """Links under names, which are attributes of it.

    Parameters
    ----------
    **links : Link
    """

    def __init__(self, **links: Any) -> None:
        super().__init__()
        self._children: list[str] = []
        for name, link in links.items():
            self.add_link(name, link)

    def add_link(self, name: str, link: Any) -> None:
        """Another link; a function of Chainer 1.0 is one here."""
        link = _linked(link)
        if name in self.__dict__:
            raise AttributeError(at(f"{type(self).__name__}.add_link: {name!r} is there already"))
        link.name = name
        self.__dict__[name] = link
        self._children.append(name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, Link) and name not in self.__dict__.get("_children", ()):
            warn(f"{type(self).__name__}.{name} = {typed(value)} is no link of the chain, and its "
                 f"parameters are not learned: write self.add_link({name!r}, link)")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def children(self) -> Iterator[Any]:
        return (self.__dict__[name] for name in self._children)

    def _named_children(self) -> list[tuple[str, Any]]:
        return [(name, self.__dict__[name]) for name in self._children]

    def copy(self) -> Any:
        found = super().copy()
        for name in self._children:
            found.__dict__[name] = self.__dict__[name].copy()
            found.__dict__[name].name = name
        return found


class ChainList(Link):
    """Links by their numbers.

    Parameters
    ----------
    *links : Link
    """

    def __init__(self, *links: Any) -> None:
        super().__init__()
        self._list: list[Any] = []
        for link in links:
            self.add_link(link)

    def add_link(self, link: Any) -> None:
        """Another link at the end."""
        link = _linked(link)
        link.name = str(len(self._list))
        self._list.append(link)

    append = add_link

    def __getitem__(self, index: Any) -> Any:
        try:
            return self._list[index]
        except IndexError:
            raise IndexError(at(f"{type(self).__name__}[{index}]: there are {len(self._list)} "
                                "links, counted from 0")) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def children(self) -> Iterator[Any]:
        return iter(self._list)

    def _named_children(self) -> list[tuple[str, Any]]:
        return [(str(i), link) for i, link in enumerate(self._list)]

    def copy(self) -> Any:
        found = super().copy()
        found._list = [link.copy() for link in self._list]
        for i, link in enumerate(found._list):
            link.name = str(i)
        return found
