"""The base of all optimizers: parameters, their slots, and the step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from agnesi.autodiff.recording import clear_grad, enable_grad, no_grad
from agnesi.compiler.jit import Jit, jit
from agnesi.compiler.tracing.trace_reuse import Alike, kind_of, may_repeat
from agnesi.core.op import typed
from agnesi.core.options import NotNegative, Written
from agnesi.core.public import check_call, renamed
from agnesi.core.storage.memory_order import axes_in_memory
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, STATE, switched
from agnesi.core.support.errors import at, no_attribute, user_where, warn
from agnesi.core.support.migration_hints import meant
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.loading import check_state
from agnesi.ops.base.convert import cast
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.complexes import view_as_real
from agnesi.ops.sparse.coordinates import COO
from agnesi.optim.counts import counted, is_even
from agnesi.optim.groups import (
    ParameterGroup,
    Parameters,
    begin,
    group_of,
    grouped,
    in_our_words,
    no_parameter,
)
from agnesi.optim.hooks import Hooked
from agnesi.optim.hyper import Hyper
from agnesi.optim.states import OfAll, is_worded, load_flat, load_worded, worded

#: Steps on a parameter of this many elements are compiled in eager programs at once: one pass over
#: memory, where NumPy would make several.  Those on smaller ones are after so many steps.
COMPILED_FROM, WAITING = 1 << 15, 250
#: Parameters of one kind from which their update is traced once for all.
_REPEATED = 3
_OURS = "agnesi.optim."


class Optimizer(Hooked, Written):
    """Base of optimizers: a subclass says in :meth:`update` what happens to one parameter.

    Parameters
    ----------
    parameters : iterable
        What to optimise: tensors, pairs of a name and a tensor, or dicts, each a group: its tensors
        are ``"params"``, and the rest are options that replace the constructor's for them.
    lr : float
        Learning rate.

    Attributes
    ----------
    lr : float
        Learning rate of the first group; may be set, for all groups, between steps, also of
        compiled ones.
    param_groups : list of ParameterGroup
        The groups, whose numbers may be set as well.
    parameters : list of Tensor
        What is optimised, in all groups.
    slots : dict of str to list of Tensor
        What is remembered for each parameter, by name.
    state : mapping of Tensor to mapping of str to Tensor
        The same by parameter and PyTorch's name.

    Raises
    ------
    TypeError
        If a parameter is no tensor that requires grad.
    ValueError
        If there are no parameters, or one twice.

    See Also
    --------
    optim.SGD, optim.Adam

    Examples
    --------
    >>> import agnesi as ag
    >>> class SignDescent(ag.optim.Optimizer):
    ...     def update(self, p, g):
    ...         p.sub_(self.lr * ag.sign(g))
    >>> w = ag.tensor([2.0, -3.0], requires_grad=True)
    >>> optimizer = SignDescent([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 1.5, -2.5], requires_grad=True)
    """

    lr = Hyper()
    #: Names of the tensors that are kept for each parameter, of its shape and dtype.
    slot_names: tuple[str, ...] = ()
    #: Numbers that may be 0 and have such a tensor if they are not, and all such numbers that are
    #: not 0 now.
    optional_slots: tuple[str, ...] = ()
    terms: frozenset[str] = frozenset()
    #: What PyTorch calls them.
    slot_words: Mapping[str, str] = {"mean": "exp_avg", "mean_square": "exp_avg_sq",
                                     "largest": "max_exp_avg_sq", "momentum": "momentum_buffer"}
    #: The optimizer itself, which steps for the first group, and one for each other group.
    parts: list[Optimizer]
    #: The constructor's options by name, those of the first group, and what else users noted there.
    defaults: dict[str, Any]
    options: dict[str, Any]
    labels: dict[str, Any]
    own_counts: dict[str, Tensor]
    cohorts: tuple[tuple[int, ...], ...]
    _made: bool  # once __init__ is over
    #: What is in the place of this class in those that have a step of their own.
    by_hand: ClassVar[type]
    steps_by_hand = False
    #: Whether ``step`` asks a function for the loss and the gradients, several times perhaps.
    needs_closure = False

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        check_call(cls, args, in_our_words(keywords))
        return super().__new__(cls)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        mine = Optimizer in cls.__bases__ or cls.update is Optimizer.update
        code = getattr(cls.update, "__code__", None)  # one with (p, g) is ours, with a step around
        ours = cls.update is not Optimizer.update and code is not None and (
            code.co_argcount > 2 or bool(code.co_flags & inspect.CO_VARARGS))
        if (mine and not ours and cls.step is not Optimizer.step and not cls.steps_by_hand
                and not cls.__module__.startswith(_OURS)):
            cls.__bases__ = (*(b for b in cls.__bases__ if b is not Optimizer), Optimizer.by_hand)
        elif "__init__" in vars(cls) and not cls.steps_by_hand:
            cls.__init__ = grouped(cls.__init__)  # type: ignore[method-assign]

    @grouped
    def __init__(self, parameters: Parameters, lr: NotNegative) -> None:
        name = type(self).__name__
        #: Those of the first group; parts of an optimizer have the others'.
        self.own_parameters: list[Tensor] = list(parameters)  # type: ignore[arg-type]
        for p in self.own_parameters:
            if not isinstance(p, Tensor) or p.array is None:
                raise no_parameter(name, p)
            if p.node is not None and p.node.op is not None and p.node.handle is None:
                raise TypeError(
                    at(f"{name}: {typed(p)} cannot be optimised: it is the result of "
                       f"{p.node.op.name} and gets no gradient of its own; optimise what it was "
                       "computed from, or make it a new leaf: w = w.detach().requires_grad_()")
                )
        if len(set(map(id, self.own_parameters))) < len(self.own_parameters):
            raise ValueError(at(f"{name}: a parameter is given twice, and would be updated twice"))
        if isinstance(lr, (int, float)) and lr < 0:
            raise ValueError(at(f"{name}: the learning rate must not be negative, but is {lr}"))
        self.lr = lr
        self.own_slots = {
            name: [self._empty_slot(name, p) for p in self.own_parameters]
            for name in self.slot_names
        }
        #: Parameters of 16 bits, with the digits that small steps need.
        self.masters = {
            i: wrap(p.array.astype(np.float32))
            for i, p in enumerate(self.own_parameters) if p.dtype in dtypes.HALVES
        }
        self._take_slots()
        self._compiled: dict[tuple[int, ...], Jit] = {}
        self._wait()
        #: Called by each step before parameters change, such as by what replaces their gradients.
        self.before_update: list[Callable[[], None]] = []

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if "before_update" not in vars(self) and not name.startswith("__"):
                raise AttributeError(at(
                    f"{type(self).__name__} has no {name!r}: its __init__ must call "
                    "super().__init__(parameters, lr) first"))
            raise no_attribute("Optimizer", name, self)

    def __setattr__(self, name: str, value: Any) -> None:
        held = vars(self)
        mine = name[0] == "_" or name in held or "_made" not in held or hasattr(type(self), name)
        if not mine and (
                advice := meant(type(self).__name__, name, tuple(self.options))):
            advice = "" if name in self.options else advice
            raise AttributeError(at(f"{type(self).__name__} has no attribute {name!r}{advice}; "
                                    "options are set in optimizer.param_groups, for each group"))
        super().__setattr__(name, value)

    # -- groups ---------------------------------------------------------------------------
    @property
    def parameters(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [p for part in self.parts for p in part.own_parameters]

    @property
    def slots(self) -> dict[str, list[Tensor]]:
        """The state of each parameter, by name; groups that have no such slot aside."""
        names = dict.fromkeys(name for part in self.parts for name in part.own_slots)
        return {name: [t for part in self.parts for t in part.own_slots.get(name, ())]
                for name in names}

    @property
    def state(self) -> Mapping[Tensor, Mapping[str, Tensor]]:
        """The same by parameter and PyTorch's name, ``optimizer.state[p]["exp_avg"]``: the
        optimizer's own tensors, whose elements may be changed (``.zero_()``, or by giving one
        again); ``optimizer.state.clear()``, or an empty mapping in its place, lets all start again.
        """
        return OfAll(self)

    @state.setter
    def state(self, value: Mapping[Any, Any]) -> None:
        if value:
            raise ValueError(at(f"{type(self).__name__}.state: an empty mapping lets all begin "
                                "again; other states are loaded with load_state_dict"))
        self.load_state_dict({**self.state_dict(), "state": {}})

    @property
    def param_groups(self) -> list[ParameterGroup]:
        """The groups, as mappings of options by name whose numbers may be set."""
        return [ParameterGroup(part) for part in self.parts]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Optimise more parameters, with options of their own.

        :param param_group: ``"params"`` and options; those that are not there are the optimizer's.
        :raises TypeError: If ``"params"`` is missing, or holds no tensors that require grad.
        :raises ValueError: If a parameter is in another group already, or a number out of its
            range.

        >>> optimizer = ag.optim.SGD([ag.zeros(2, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": [ag.zeros(3, requires_grad=True)], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        name = type(self).__name__
        group = group_of(name, param_group)
        if {id(p) for p in group["params"]} & {id(p) for p in self.parameters}:
            raise ValueError(at(f"{name}: a parameter is in two groups, and would be "
                                "updated twice"))
        kind = type(self)
        part = kind.__new__(kind)
        begin(part, group, self.defaults)
        self.parts.append(part)

    # -- what is kept for each parameter --------------------------------------------------
    def _take_slots(self) -> None:
        nothing: list[tuple[Tensor, ...]] = [()] * len(self.own_parameters)
        self._slots_of = list(zip(*self.own_slots.values(), strict=True)) or nothing

    def make_room(self, term: str) -> None:
        """Begin to keep what the term of a number needs; by default nothing.

        :param term: The number's name.
        """
        if term in self.optional_slots and term not in self.own_slots:
            self.own_slots = {**self.own_slots, term: [
                self._empty_slot(term, p) for p in self.own_parameters]}
            self._take_slots()

    def take_term(self, term: str, there: bool) -> None:
        """Let steps have the term of a number that was 0 so far, or leave it out from now on.

        :param term: The number's name.
        :param there: Whether it is in.
        """
        if there:
            self.make_room(term)
        self.terms = self.terms - {term} | ({term} if there else frozenset())

    # -- stepping -------------------------------------------------------------------------
    def update(self, p: Tensor, g: Tensor, *rest: Any) -> None:
        """Change one parameter in place, for its gradient; nothing is recorded meanwhile.

        ``rest`` are the parameter's slots, changed in place as well, and what :meth:`begin` gave.

        :param p: The parameter, changed in place.
        :type p: Tensor
        :param g: Its gradient.
        :type g: Tensor
        :param *rest: The parameter's slots, then what :meth:`begin` gave.
        :raises NotImplementedError: Unless a subclass has its own.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no update(self, p, g, ...), which "
                                     "changes one parameter for its gradient"))

    def update_rows(self, p: Tensor, g: COO, *rest: Any) -> None:
        """Change rows of one parameter in place, for a sparse gradient.

        :param p: The parameter, changed in place.
        :type p: Tensor
        :param g: Its gradient, with places on the first axis only.
        :param *rest: The parameter's slots, then what :meth:`begin` gave.
        :raises TypeError: Unless a subclass has its own.
        """
        raise TypeError(at(f"{type(self).__name__} takes no sparse gradients, and that of "
                           f"{typed(p)} is one: optim.SparseAdam, optim.SGD and optim.Adagrad do; "
                           "or make the layer with sparse=False"))

    def _empty_slot(self, name: str, p: Tensor) -> Tensor:
        """Zeros in the parameter's memory order."""
        shape = self.slot_shape(name, p)
        axes = axes_in_memory(p.array) if shape == tuple(p.shape) else tuple(range(len(shape)))
        zeros = np.zeros([shape[axis] for axis in axes], dtypes.computed(p.dtype))
        return wrap(zeros.transpose(np.argsort(axes)))

    def slot_shape(self, name: str, p: Tensor) -> tuple[int, ...]:
        """The shape of what is remembered for a parameter.

        :param name: Of the slot.
        :param p: The parameter.
        :returns: By default the parameter's.
        """
        return tuple(p.shape)

    def slot_word(self, name: str, p: Tensor) -> str:
        """What PyTorch calls a slot of a parameter.

        :param name: Of the slot.
        :param p: The parameter.
        :returns: By default as ``slot_words`` says.
        """
        return self.slot_words.get(name, name)

    def derived(self, i: int) -> dict[str, Tensor]:
        """Return what PyTorch keeps of a parameter and this optimizer computes from the rest.

        :param i: Which of the group's parameters.
        :returns: Tensors in PyTorch's words; none by default.
        """
        return {}

    def begin(self) -> tuple[Any, ...]:
        """Return values that the updates of one step share, computed once for all parameters.

        :returns: Passed on to :meth:`update`; empty by default.
        """
        return ()

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        :param closure: Computes the gradients first, and gives the loss.
        :returns: What ``closure`` gave; None without.
        :raises TypeError: If ``closure`` is no function.
        """
        loss = None
        if closure is not None and not callable(closure):
            raise TypeError(at(f"{type(self).__name__}.step takes nothing, or a function that "
                               f"computes the gradients, not {typed(closure)}; call "
                               "loss.backward() before it"))
        if closure is not None:
            with enable_grad():
                loss = closure()
        for act in self.before_update:
            act()
        if True not in [part._update_all() for part in self.parts]:
            warn(f"{type(self).__name__}.step changes nothing, for none of its parameters has a "
                 "gradient: call loss.backward() before it, of a loss that depends on them")
        return loss

    def _update_all(self) -> bool:
        """Update the parameters that have a gradient, and return whether there are any."""
        given = [(i, g) for i, p in enumerate(self.own_parameters) if (g := p.grad) is not None]
        if is_tracing() or not self._pays():
            self._update_each(given)
        else:
            places, gs = tuple([i for i, _ in given]), [g for _, g in given]
            self._compiled_update(places)(gs)
        return bool(given)

    def _pays(self) -> bool:
        """Whether an eager step is to be compiled; counts steps of ours on small parameters."""
        if self._recounts != HOOKS.recounts:
            self._wait()
        if self._waiting > 0:
            self._waiting -= type(self).__module__.startswith(_OURS)
        return self._waiting <= 0

    def _wait(self) -> None:
        """Let as many steps be eager as if it had just been made."""
        large = any(p.array.size >= COMPILED_FROM for p in self.own_parameters)
        self._waiting, self._recounts = 0 if large else WAITING, HOOKS.recounts

    def _update_each(self, given: Iterable[tuple[int, Tensor]]) -> None:
        """One parameter after the other, for its gradient."""
        found = dict(given)
        if not found:
            return
        if is_even(self, found):
            self._update_together(found.items())
            return
        for places in counted(self, found):
            self._update_together([(i, found[i]) for i in places])

    def _update_together(self, given: Iterable[tuple[int, Tensor]]) -> None:
        """The same for parameters that have had as many steps."""
        shared = self.begin()
        if may_repeat() and type(self).__module__.startswith(_OURS):
            given = self._update_alike(given, shared)
        for i, g in given:
            self._update_one(i, g, shared)

    def _update_alike(self, given: Iterable[tuple[int, Tensor]],
                      shared: Sequence[Any]) -> list[tuple[int, Tensor]]:
        """Update parameters that are like several others, which is traced once; those that are
        left."""
        kinds: dict[Any, list[tuple[int, Tensor]]] = {}
        parameters, slots, masters = self.own_parameters, self._slots_of, self.masters
        for i, g in given:
            p = parameters[i]
            plain = type(g) is Tensor and p.dtype.kind == "f" and i not in masters
            kind = kind_of((p, g, *slots[i])) if plain else None
            kinds.setdefault(kind, []).append((i, g))
        left = []
        for kind, members in kinds.items():
            if kind is None or len(members) < _REPEATED:
                left += members
                continue
            each: list[tuple[Any, ...]] = [(parameters[i], g, *slots[i]) for i, g in members]
            with switched(line=STATE.line or user_where()):
                Alike(lambda p, g, *rest: self.update(p, g, *rest, *shared), each[0])(each)
        return left

    def _update_one(self, i: int, g: Tensor, shared: Sequence[Any]) -> None:
        """The update; of complex parameters, that of their parts, each a parameter by itself.

        Parameters of 16 bits are copied from others in float32; what changed them meanwhile holds.
        """
        p: Any = self.own_parameters[i]
        slots: Sequence[Tensor] = self._slots_of[i]
        if isinstance(g, COO):
            if p.dtype.kind == "f" and i not in self.masters:
                self.update_rows(p, g, *slots, *shared)
                return
            g = g.to_dense()
        if p.dtype.kind == "c":
            p, g, slots = view_as_real(p), view_as_real(g), [view_as_real(s) for s in slots]
        master: Any = self.masters.get(i)
        if master is None:
            self.update(p, g, *slots, *shared)
            return
        master.copy_(where(cast(master, p.dtype) == p, master, cast(p, master.dtype)))
        self.update(master, cast(g, master.dtype), *slots, *shared)
        p.copy_(cast(master, p.dtype))

    def _compiled_update(self, places: tuple[int, ...]) -> Jit:
        """The update of so many parameters as one compiled function of their gradients."""
        found = self._compiled.get(places)
        if found is None:

            def update(gs: list[Tensor]) -> None:
                self._update_each(zip(places, gs, strict=True))

            found = self._compiled[places] = jit(update)
        return found

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or set them to zero.

        :param set_to_none: Whether ``grad`` becomes None instead of zeros.
        :raises TypeError: If ``set_to_none`` is neither True nor False.
        """
        if not isinstance(set_to_none, bool):
            raise TypeError(at(f"{type(self).__name__}.zero_grad: set_to_none must be True or "
                               f"False, not {typed(set_to_none)}"))
        for p in self.parameters:
            clear_grad(p, set_to_none)

    # -- saving ---------------------------------------------------------------------------
    def state_dict(self, copy: bool = True) -> dict[str, Any]:
        """All that the next step needs besides parameters, as PyTorch has it.

        ``"state"`` has the tensors of each parameter by its number, ``"param_groups"`` the options
        of each group, which may be edited before they are loaded.

        :param copy: Whether tensors are copies, which stay as they are; else they are the
            optimizer's own.
        :returns: Copies share no memory with the optimizer.

        >>> w = ag.zeros(2, requires_grad=True)
        >>> state = ag.optim.SGD([w], lr=0.1, momentum=0.9).state_dict()
        >>> state["state"], state["param_groups"][0]["lr"]
        ({0: {'momentum_buffer': tensor([0., 0.])}}, 0.1)
        """
        return worded(self, copy)

    @renamed(state_dict="state")
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave, in place; also what PyTorch's optimizers give.

        Tensors that the state lacks start again, numbers stay as they are.

        :param state: As :meth:`state_dict` gives it.
        :raises KeyError, ValueError, TypeError: If names, shapes or kinds of values differ; nothing
            is changed then.

        >>> w = ag.zeros(2, requires_grad=True)
        >>> optimizer = ag.optim.Adam([w], lr=0.1)
        >>> state = optimizer.state_dict()
        >>> state["param_groups"][0]["lr"] = 0.01
        >>> optimizer.load_state_dict(state)
        >>> optimizer.lr
        0.01
        """
        check_state(type(self).__name__, state)
        (load_worded if is_worded(state) else load_flat)(self, state)

    def __repr__(self) -> str:
        names = [n for n in dir(type(self)) if isinstance(getattr(type(self), n), Hyper)]
        options = ["".join(f", {n}={getattr(part, n)}" for n in names) for part in self.parts]
        if len(self.parts) == 1:
            return f"{type(self).__name__}({len(self.parameters)} parameters{options[0]})"
        groups = "".join(f"\n  group {k}: {len(part.own_parameters)} parameters{options[k]}"
                         for k, part in enumerate(self.parts))
        return f"{type(self).__name__}({groups}\n)"
