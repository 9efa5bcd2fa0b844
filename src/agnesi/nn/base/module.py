"""Modules: objects that own parameters, and functions of a batch at the same time."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, Self, TypeVar

import numpy as np

from agnesi.autodiff.recording import clear_grad
from agnesi.core.dispatch import assign
from agnesi.core.ir.dims import Sizes
from agnesi.core.op import typed
from agnesi.core.options import set_or_refuse
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import check_call, on_host, renamed, target_dtype
from agnesi.core.support.errors import StateError, TraceError, at, no_attribute, shown, warn
from agnesi.core.support.tracing import current_reads, is_tracing
from agnesi.core.tensor import Tensor
from agnesi.nn.base import whole
from agnesi.nn.base.copies import apart, attributes, begun, facts, ordered, resume
from agnesi.nn.base.fixed import Rule
from agnesi.nn.base.hooks import called
from agnesi.nn.base.loaded import LoadedKeys, renaming
from agnesi.nn.base.lookups import Lookups, check_name
from agnesi.nn.base.owned import (
    Saved,
    begins,
    by_place,
    check_new,
    check_replaced,
    followed,
    in_our_words,
    is_assigned,
    is_owned,
    is_parameter,
    is_saved,
    operands,
    refuse_mode,
    refused,
)
from agnesi.nn.base.paths import with_layer_path
from agnesi.nn.base.states import Loading, Stated, saved
from agnesi.nn.base.tree import (
    containers,
    dotted,
    entries,
    named_alone,
    refuse_depth,
    replaced,
    table,
)
from agnesi.ops.arrays.loading import check_state, snapshot, write_all

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


#: A count that PyTorch's normalizations keep even where nothing depends on it, as ours do not.
_ONLY_COUNTED = "num_batches_tracked"


class _Forward(Protocol[P, R]):
    """A module, by the type of its ``forward``."""

    def forward(self, *args: P.args, **keywords: P.kwargs) -> R: ...


def _follow(cls: type) -> None:
    """Have the ``__init__`` of a class, and those that ``super().__init__()`` calls, followed."""
    if cls.__init__ is Module.__init__:  # type: ignore[misc]
        return
    for base in (cls, *cls.__mro__[1:]):
        if base is cls or ("__init__" in vars(base) and Module in base.__mro__[1:]):
            init = followed(before := base.__init__)  # type: ignore[misc]
            if init is not before:
                base.__init__ = init  # type: ignore[misc]


#: Types of arguments that modules keep, to describe how they were made.
_PLAIN = frozenset((bool, int, float, str, tuple, Sizes, list, type(None)))


class Module(Stated, Lookups):
    """Base of layers and models: an object with tensors, and a ``forward``.

    Attributes are plain: a tensor that requires grad and was not computed is a parameter; other
    tensors that ``__init__`` or :meth:`register_buffer` put there are buffers, later ones are mere
    attributes.  Modules and tensors are also found in lists, tuples and dicts.

    :see: nn.Sequential, optim.SGD, optim.Adam, jit

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         self.factor = ag.tensor([2.0], requires_grad=True)
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> scale = Scale()
    >>> scale(ag.ones(1))
    tensor([2.], requires_grad=True)
    >>> [name for name, _ in scale.named_parameters()]
    ['factor']
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_borrowed",
        "_hooks",
        "_learned",
        "_made",
        "_made_with",
        "_owned",
        "_training",
        "_whole",
    )

    _made_with: Any  # the arguments that it was made with, where all are plain
    _hooks: tuple[Any, ...]
    _training: bool
    _made: bool  # __init__ is over
    _owned: dict[str, Saved]  # names of parameters and buffers
    _learned: set[str]  # names of what required a gradient once: parameters, frozen ones too
    _borrowed: frozenset[str]  # names of parameters that with_parameters gave other values
    _whole: Any  # what was compiled of a layer of ours, None before; False of other modules

    #: Whether it has no parameters yet, but gets them by its first call.
    _waits: ClassVar[bool] = False

    #: The advice where an option by which weights were made is written (``fixed.py``).
    _rules: ClassVar[Mapping[str, Rule]] = {}

    forward: Callable[..., Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _follow(cls)

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        check_call(cls, *by_place(cls.__init__, args, in_our_words(cls, cls.__init__, keywords)))
        self = super().__new__(cls)
        self._training, self._made = True, cls.__init__ is Module.__init__
        _follow(cls)  # again, where it was given another __init__
        self._owned, self._learned, self._borrowed, self._hooks = {}, set(), frozenset(), ()
        self._whole = None if whole.is_ours(cls) else False
        self._made_with = (args, keywords) if _PLAIN.issuperset(
            map(type, (*args, *keywords.values()))) else None
        return self

    if not TYPE_CHECKING:  # ``__new__`` has the parameters of layers

        def __init__(self) -> None:  # ends the chain: classes behind it are called by their names
            pass

    def __call__(self: _Forward[P, R], *args: P.args, **keywords: P.kwargs) -> R:
        """Run ``forward``; the types are those of ``forward``."""
        try:
            if keywords:
                keywords = operands(self.forward, keywords)  # type: ignore[assignment]
            if self._hooks:  # type: ignore[attr-defined]
                return called(self, args, keywords)
            if object.__getattribute__(self, "_whole") is not False:
                return whole.called(self, args, keywords)
            return self.forward(*args, **keywords)
        except RecursionError:
            refuse_depth(Module.__call__.__code__)
            raise
        except Exception as error:
            found = with_layer_path(error, self, args)
            if found is error:
                raise
            raise found from None

    def _eager_share(self, operands: Any) -> float:
        """What part of the calls of its single operations one takes before it is compiled."""
        return 1.0

    def __reduce_ex__(self, protocol: Any) -> Any:
        found: Any = super().__reduce_ex__(max(protocol, 2))  # older ones leave slots out
        how, kind, state, *rest = found
        if type(state) is not tuple or type(self).__setstate__ is not Module.__setstate__:
            return begun, (type(self), facts(self)), attributes(self, state), *rest
        if type(state) is tuple and state[1].get("_whole"):
            state = state[0], state[1] | {"_whole": None}  # a copy compiles its own
        if type(state) is tuple and type(state[0]) is dict and state[0]:
            state = ordered(self, state[0], lambda m: list(m.children())), *state[1:]
        return how, kind, state, *rest

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return apart(self, memo)

    def __setstate__(self, state: Any) -> None:
        """Take attributes over from a copy or a file; a class may have its own, which calls this.

        Parameters
        ----------
        state : dict or tuple
            Values by name; in a tuple with what else a module holds.
        """
        resume(self, state)

    # -- attributes -----------------------------------------------------------------------
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in vars(self):  # called by name, as programs for PyTorch do
                return object.__getattribute__(self, name)
            if name == "forward":
                held = "; call the modules in it one by one" * hasattr(type(self), "__getitem__")
                raise AttributeError(at(f"{type(self).__name__} has no forward(self, ...), which a "
                                        f"call of it runs{held}"))
            raise no_attribute("Module", name, self)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode; compiled functions follow a change."""
        return self._training

    @training.setter
    def training(self, mode: bool) -> None:
        refuse_mode(self, mode)
        self._training = bool(mode)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Module.__slots__:
            whole.CHANGES.count += 1
            object.__setattr__(self, name, value)
            return
        whole.CHANGES.count += 1
        before = object.__getattribute__(self, "__dict__").get(name, self)
        if begins(before) and not (value is None or begins(value) or isinstance(value, Module)):
            raise refused(self, name, before, value)
        if before is not self and self._made:
            check_replaced(self, name, before, value)
        elif self._made and before is self and name != "requires_grad":
            check_new(self, name, value)
        elif name == "requires_grad":
            warn(f"{type(self).__name__}.requires_grad = {value} changes no parameter: "
                 f"module.requires_grad_({value}) does")
        if is_tracing() and isinstance(value, Tensor) and value.array is None:
            self._assign_traced(name, value)
            return
        if value is None:
            self._learned.discard(name)
        elif begins(value):
            self._learned.add(name)
        set_or_refuse(self, name, value)

    def __delattr__(self, name: str) -> None:
        whole.CHANGES.count += 1
        object.__delattr__(self, name)
        self._learned.discard(name)

    def _assign_traced(self, name: str, value: Tensor) -> None:
        """Assign an attribute inside a function of ``ag.jit``: each call repeats it.

        Other graphs know tensors only: it becomes the new value of one of its type.
        """
        if current_reads() is not None:
            object.__setattr__(self, name, value)
            return
        held = object.__getattribute__(self, "__dict__").get(name)
        if (isinstance(held, Tensor) and held.array is not None
                and (held.shape, held.dtype) == (value.shape, value.dtype)):
            assign(held, value)
            return
        what = typed(held) if isinstance(held, Tensor) else "no tensor"
        raise TraceError(
            at(
                f"{type(self).__name__}.{name} is assigned {typed(value)} inside a jit-compiled "
                f"function, but it holds {what}: the value would not exist outside. Create "
                f"self.{name} in __init__ with this shape, or return the value"
            )
        )

    # -- what it owns ---------------------------------------------------------------------
    def children(self) -> Iterator[Module]:
        """Modules directly inside, each once.

        :returns: In the order in which they were assigned.
        :rtype: Iterator of Module
        """
        return (v for _, v in self.named_children())

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all modules inside, each once.

        :param remove_duplicate: Whether a module that has several names is there once only.
        :returns: In the order in which they were assigned.
        :rtype: Iterator of Module
        """
        return (module for _, module in self._walk(named=False, shared=not remove_duplicate))

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module itself (named ``""``) and all modules inside, with dotted names, each once.

        :param memo: Modules to leave out; those that are found are added.
        :type memo: set of Module, optional
        :param prefix: What the names begin with, followed by a point.
        :param remove_duplicate: Whether a module that has several names has the first one only.
        :returns: Outer modules before those inside.
        :rtype: Iterator of (str, Module)
        """
        for name, module in self._walk(shared=not remove_duplicate):
            if memo is not None and remove_duplicate:
                if module in memo:
                    continue
                memo.add(module)
            yield (dotted(prefix, name) if name else prefix), module

    def _walk(self, named: bool = True, shared: bool = False) -> Iterator[tuple[str, Module]]:
        """The module itself and all modules inside, each once unless those of ``shared`` ones are
        requested, by their names if requested."""
        seen: set[int] = set()
        alone: set[int] | None = None
        stack: list[tuple[str, Module]] = [("", self)]
        while stack:
            name, module = stack.pop()
            if id(module) in seen and not shared:
                continue
            seen.add(id(module))
            yield name, module
            inside = [(n, v) for n, v in module._entries() if isinstance(v, Module)]
            if any("." in n for n, _ in inside):
                alone = named_alone(self) if alone is None else alone
                inside = [(n, v) for n, v in inside if "." not in n or id(v) not in alone]
            stack.extend((dotted(name, n) if named else "", v) for n, v in reversed(inside))

    def _entries(self) -> Iterator[tuple[str, Any]]:
        """Tensors and modules that the attributes hold, with their names."""
        held = object.__getattribute__(self, "__dict__")
        reads = current_reads()
        if reads is not None:
            reads.answer(self, lambda: self._listed(held), lambda: [held, *containers(held)])
        return self._listed(held)

    def _listed(self, held: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """The same of what these attributes hold."""
        return _found(held)

    def _held(self, recurse: bool = True, named: bool = True,
              wanted: Callable[[Any, str, Tensor], bool] = is_owned, shared: bool = False
              ) -> Iterator[tuple[str, Tensor, Module, str]]:
        """Every parameter and buffer by each of its names, if requested, with its module and the
        name there; those of a module before those of its children.  Or what else is wanted.

        Modules that have several names count once, unless those of ``shared`` ones are requested.
        """
        seen: set[int] = set()
        alone: set[int] | None = None
        stack: list[tuple[str, Module, frozenset[int]]] = [("", self, frozenset())]
        while stack:
            prefix, module, around = stack.pop()
            if id(module) in (around if shared else seen):
                continue
            seen.add(id(module))
            if module._waits:
                raise ValueError(at(waiting(module, "before")))
            inside = []
            for name, value in module._entries():
                if "." in name:
                    alone = named_alone(self) if alone is None else alone
                    if id(value) in alone or (shared and id(value) in seen):
                        continue
                if isinstance(value, Module):
                    outer = around | {id(module)} if shared else around
                    inside.append((dotted(prefix, name) if named else "", value, outer))
                elif isinstance(value, Tensor) and wanted(module, name, value):
                    yield dotted(prefix, name) if named else name, value, module, name
            if recurse:
                stack.extend(reversed(inside))

    def _named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every parameter and buffer that is saved, by each of its names; a module's parameters
        before its buffers, as PyTorch has them."""
        held = self._held(shared=True)
        for _, found in itertools.groupby(held, key=lambda e: e[0].removesuffix(e[3])):
            entries = [e for e in found if is_saved(*e[2:])]
            entries.sort(key=lambda e: not is_parameter(e[2], e[3], e[1]))
            yield from [e[:2] for e in entries]

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Tensors that required grad when they were put there, frozen or not, with dotted names; a
        shared one once, by its first name.

        :param prefix: What the names begin with, followed by a point.
        :param recurse: Whether to look into modules inside, too.
        :param remove_duplicate: Whether a shared one has its first name only.
        :returns: In the order in which they were assigned.
        :rtype: Iterator of (str, Tensor)
        """
        held = self._held(recurse, wanted=is_parameter, shared=not remove_duplicate)
        found = ((dotted(prefix, n), t) for n, t, _, _ in held)
        return _once(found) if remove_duplicate else found

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Tensors that required grad when they were put there, frozen or not, of this module and
        (unless ``recurse=False``) all inside.

        :param recurse: Whether to look into modules inside, too.
        :returns: In the order of :meth:`named_parameters`; a shared one once.
        :rtype: Iterator of Tensor

        >>> [tuple(p.shape) for p in nn.Linear(3, 2).parameters()]
        [(2, 3), (2,)]
        """
        seen: set[int] = set()
        for _, t, _, _ in self._held(recurse, False, is_parameter):
            if id(t) not in seen:
                seen.add(id(t))
                yield t

    def with_parameters(self, values: Mapping[str, Tensor]) -> Self:
        """The same module with other tensors as parameters; buffers and all else are shared.

        :param values: Tensors by the names of :meth:`named_parameters`; parameters not named stay.
        :type values: mapping of str to Tensor
        :returns: Of the same class.
        :rtype: Module
        :raises KeyError: If a name is that of no parameter.

        >>> net = ag.nn.Linear(2, 1, bias=False)
        >>> net.with_parameters({"weight": ag.ones((1, 2))})(ag.ones(2))
        tensor([2.])
        """
        mine = dict(self.named_parameters())
        unknown = sorted(values.keys() - mine.keys())
        if unknown:
            raise StateError(
                at(f"{type(self).__name__} has no parameters {unknown}, but {list(mine)}")
            )
        tensors = {id(mine[name]): value for name, value in values.items()}
        found: Self = replaced(self, tensors, Module)
        return found

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Other tensors that ``__init__`` or :meth:`register_buffer` put there, dotted names.

        :like: Module.named_parameters
        """
        held = self._held(recurse, shared=not remove_duplicate)
        found = ((dotted(prefix, n), t) for n, t, owner, name in held
                 if not is_parameter(owner, name, t))
        return _once(found) if remove_duplicate else found

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Other tensors that belong to the module, running statistics for example.

        :param recurse: Whether to look into modules inside, too.
        :returns: In the order of :meth:`named_buffers`.
        :rtype: Iterator of Tensor
        """
        return (t for _, t in _once((n, t) for n, t, owner, name in self._held(recurse, False)
                                    if not is_parameter(owner, name, t)))

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Set an attribute that is a buffer, as other tensors are that ``__init__`` assigns.

        :param name: Of the attribute.
        :param tensor: Its value; None where one is assigned later.
        :type tensor: Tensor or None
        :param persistent: Whether :meth:`state_dict` has it.
        :raises TypeError: If it is no tensor, or would be a parameter.
        :raises ValueError: If the name is no string, or has a dot.

        >>> net = ag.nn.Tanh()
        >>> net.register_buffer("calls", ag.zeros(()))
        >>> list(net.state_dict())
        ['calls']
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(at(f"buffer {name!r} must be a Tensor or None, not {typed(tensor)}"))
        check_name(self, "register_buffer", name)
        if begins(tensor):
            raise TypeError(at(f"buffer {name!r} would be a parameter: pass tensor.detach()"))
        setattr(self, name, tensor)
        self._learned.discard(name)
        self._owned[name] = Saved.YES if persistent else Saved.NO

    # -- saving ---------------------------------------------------------------------------
    def state_dict(self, copy: bool = True, *, destination: dict[str, Any] | None = None,
                   prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """All parameters and buffers by name, with PyTorch's names and layouts.

        :param copy: Whether they are copies, which stay as they are; else they are the module's
            own.
        :param destination: Takes them, too, and is returned.
        :type destination: dict, optional
        :param prefix: What the names begin with.
        :param keep_vars: PyTorch's word for no copies.
        :returns: Copies share no memory with the module.
        :rtype: dict of str to Tensor

        >>> list(nn.Sequential(nn.Linear(3, 2), nn.Tanh()).state_dict())
        ['0.weight', '0.bias']
        """
        copy = copy and not keep_vars
        found = {name: snapshot(t) if copy else t for name, t in self._named_tensors()}
        found = saved(self, found, not copy)
        if prefix:
            found = {prefix + name: t for name, t in found.items()}
        if destination is None:
            return found
        destination.update(found)
        return destination

    @renamed(state_dict="state")
    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> LoadedKeys:
        """Copy values into the parameters and buffers, in place.

        :param state: Values by name, as :meth:`state_dict` (or PyTorch's) gives them.
        :type state: mapping of str to array_like
        :param strict: Whether the names must be exactly those of this module;
            ``num_batches_tracked``, which only counts batches, may be missing, or be there where it
            is not needed; buffers that a class of yours assigned without
            :meth:`register_buffer` may be missing, as PyTorch does not save them.
        :returns: A named tuple: ``missing_keys``, which the state lacks, and ``unexpected_keys``,
            which the module lacks; both are empty if ``strict``.
        :raises KeyError: If names are missing or unknown, and ``strict``.
        :raises ValueError: If shapes differ, or something is in read-only memory; nothing is
            changed then.
        :raises TypeError: If values are of another kind, as complex ones for floats; nothing is
            changed then.
        """
        check_state(type(self).__name__, state)
        loading = Loading(self, state, strict)
        state, mine = loading.state, dict(self._named_tensors())
        assigned = {n for n, _, owner, name in self._held(shared=True) if is_assigned(owner, name)}
        loaded = {id(t) for n, t in mine.items() if n in state}  # by any of its names
        missing = [n for n, t in mine.items() if n not in state and id(t) not in loaded
                   and n not in assigned and not n.endswith(_ONLY_COUNTED)]
        unknown = [n for n in state if n not in mine and not n.endswith(_ONLY_COUNTED)]
        keys = loading.report(LoadedKeys(loading.ours(missing), loading.ours(unknown)))
        if strict and not loading.has_hooks_behind:  # which may take names out
            self._refuse(keys)
        write_all(mine, {name: state[name] for name in loading.ours(list(mine)) if name in state})
        loading.end(keys)
        if strict:
            self._refuse(keys)
        return keys

    def _refuse(self, keys: LoadedKeys) -> None:
        """Refuse a state with names that are missing or unknown."""
        if keys.missing_keys or keys.unexpected_keys:
            raise StateError(
                at(f"state for {type(self).__name__}: missing {keys.missing_keys}, unknown "
                   f"{keys.unexpected_keys}; {renaming(*keys)}strict=False loads what fits")
            )

    # -- changing all at once -------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Switch training mode on (or off) here and in all modules inside.

        :param mode: Whether training mode is on.
        :returns: The module itself.
        :rtype: Module
        :raises TypeError: If ``mode`` is neither True nor False.
        """
        if not isinstance(mode, (int, np.bool_)):
            raise TypeError(at(f"{type(self).__name__}.train: mode must be True or False, not "
                               f"{typed(mode)}"))
        for module in [m for m in self.modules() if m._training is not bool(mode)]:
            module._training = bool(mode)
        return self

    def eval(self) -> Self:
        """Switch training mode off: no dropout, fixed statistics.

        :returns: The module itself.
        :rtype: Module
        """
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero.

        :param set_to_none: Whether ``grad`` becomes None instead of zeros.
        """
        for p in self.parameters():
            clear_grad(p, set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` with every module inside, in their order, children before those that
        hold them, and with this one.

        :param fn: Called with a module; what it returns is dropped.
        :returns: The module itself.
        :rtype: Module
        """
        found: dict[int, Module] = {}
        stack: list[Module] = [self]
        while stack:
            module = stack.pop()
            if id(module) not in found:
                found[id(module)] = module
                stack.extend(module.children())
        for module in reversed(found.values()):
            fn(module)
        return self

    def to(self, *target: Any, dtype: DTypeLike = None, device: object = None,
           non_blocking: bool = False, memory_format: object = None) -> Self:
        """Convert all float parameters and buffers to another float dtype, or to that of a tensor;
        gradients are dropped.

        The only device, "cpu", is accepted, and changes nothing; so is "meta", for a module that
        :func:`functional_call` calls with other parameters, and which keeps its own here.

        :param *target: What to become like.
        :type *target: dtype, Tensor or device
        :param dtype: A float dtype, by name.
        :param device: Only "cpu", which is the default, or "meta".
        :type device: str, optional
        :param non_blocking: Taken from PyTorch's calls, and not needed.
        :param memory_format: Likewise.
        :type memory_format: object
        :returns: The module itself.
        :rtype: Module
        :raises TypeError: If ``dtype`` is not a float dtype.
        :raises ValueError: If the device is another.

        >>> nn.Linear(3, 2).to("float64").weight.dtype
        dtype('float64')
        """
        on_host(None if isinstance(device, str) and device == "meta" else device)
        target = tuple([t for t in target if not (isinstance(t, str) and t == "meta")])
        kind = target_dtype(f"{type(self).__name__}.to", target, dtype)
        if kind is None:
            return self
        if kind.kind not in "fV":
            raise TypeError(at(f"a module is converted to a float dtype, not to {kind}"))
        for _, t, *_ in self._held(named=False):
            if t.dtype.kind in "fV" and t.dtype != kind:
                t.array, t._grad = t.array.astype(kind), None
        return self

    def half(self) -> Self:
        """Convert all float parameters and buffers to float16.

        :returns: The module itself.
        :rtype: Module
        """
        return self.to("float16")

    def bfloat16(self) -> Self:
        """Convert all float parameters and buffers to bfloat16.

        :returns: The module itself.
        :rtype: Module
        """
        return self.to("bfloat16")

    def float(self) -> Self:
        """Convert all float parameters and buffers to float32.

        :returns: The module itself.
        :rtype: Module
        """
        return self.to("float32")

    def double(self) -> Self:
        """Convert all float parameters and buffers to float64.

        :returns: The module itself.
        :rtype: Module
        """
        return self.to("float64")

    def type(self, dst_type: DTypeLike) -> Self:
        """Convert all float parameters and buffers to another float dtype.

        :param dst_type: A float dtype.
        :type dst_type: dtype
        :returns: The module itself.
        :rtype: Module
        """
        return self.to(dst_type)

    def cpu(self) -> Self:
        """Return the module itself: there is one device.

        :returns: The module itself.
        :rtype: Module
        """
        return self.to(device="cpu")

    # -- printing -------------------------------------------------------------------------
    def extra_repr(self) -> str:
        """The settings to show behind the name of the class.

        :returns: Shown between parentheses; empty by default.
        """
        return ""

    def __repr__(self) -> str:
        return table(self)


def waiting(layer: Module, where: str) -> str:
    """The advice for a layer without parameters: where it is to be called first."""
    return (f"{type(layer).__name__} has no parameters before its first call, which tells its "
            f"sizes: call the model once {where}")


def size_of(layer: Module, value: Any, what: str, least: int = 1) -> int:
    """A size that a layer is made with; errors name both."""
    if not hasattr(value, "__index__"):
        raise TypeError(at(
            f"{type(layer).__name__}: {what} must be an integer, not {shown(value)}"))
    number = operator.index(value)
    if number < least:
        raise ValueError(
            at(f"{type(layer).__name__}: {what} must be at least {least}, not {number}")
        )
    return number


def _found(held: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in held.items():
        if isinstance(value, (list, tuple, dict)):
            yield from entries(name, value, Module)
        elif isinstance(value, (Tensor, Module)):
            yield name, value


def _once(named: Iterator[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    seen: set[int] = set()
    for name, t in named:
        if id(t) not in seen:
            seen.add(id(t))
            yield name, t
