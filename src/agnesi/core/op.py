"""The base class of operations: all that is known of one is declared in one place under ``ops/``.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from opcode import opmap
from types import TracebackType
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import fits
from agnesi.core.support.errors import (
    PACKAGE,
    DeclaredShapeError,
    DTypeError,
    location,
    note_error,
    oversized,
    user_where,
)
from agnesi.core.support.errors import typed as typed
from agnesi.core.support.foreign import attribute_of, has
from agnesi.core.support.migration_hints import with_keyword
from agnesi.core.support.record import record, replace
from agnesi.core.support.spelling import spelt

#: The names of the library's operations, as far as they are loaded.
OWN_NAMES: set[str] = set()
#: Users' operations (classes and instances), by name and identity.
GIVEN_NAMES: dict[str, WeakValueDictionary[int, Any]] = {}

#: What users call operations that have another name, since one of ours has theirs.
_WRITTEN: dict[str, str] = {}


def title_of(op: Op) -> str:
    """The name of an operation for people: a user's is what the user wrote."""
    return _WRITTEN.get(op.name, op.name) if op.user_defined else op.name


def give_name(op: Any, name: str) -> None:
    """Name a user's operation, with an underscore behind the name of an operation of ours.

    Rules and passes know operations by name: what is called ``exp`` must be the exponential.
    """
    written = name
    while name in OWN_NAMES:
        name += "_"
    if name != written:
        _WRITTEN[name] = written
    if isinstance(op, type):
        op.name = name  # type: ignore[attr-defined]
    else:
        op.__dict__["name"] = name  # which may be a record's
    GIVEN_NAMES.setdefault(name, WeakValueDictionary())[id(op)] = op


def reserve(name: str) -> None:
    """Take a name for an operation of ours; users' operations of that name get another one."""
    OWN_NAMES.add(name)
    for op in (*GIVEN_NAMES.pop(name, {}).values(),):
        give_name(op, name)


class Op:
    """Base of all operations.

    Operations are immutable; their parameters are the fields of a ``record``.
    A subclass gives ``infer`` and ``perform``, and the rules that make sense for it:

    - ``infer(*xs) -> (shape, dtype)``: xs have both; raises ShapeError or DTypeError.
    - ``perform(*arrays) -> ndarray``: the reference, in NumPy.
    - ``vjp(g, y, *xs) -> tuple``: cotangents of the inputs (Tensors or None), in public operations.
    - ``jvp(ts, y, *xs) -> Tensor``: tangent of the output; ts holds Tensors or None.
    - ``lower(at, *reads) -> Expr``: one output element in the loop language (``core.ir.loops``).
    - ``decompose(*xs) -> Tensor``: the same in simpler operations, used when compiling; None where
      it stays as it is.
    - ``batch(node, xs, rows, length) -> Tensor``: the result for many examples (``ops.batching``).
    - ``resolve(known) -> Op``: ``known(size)`` instead of sizes; those among the fields of a
      record, in tuples and in ``bodies`` are found.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__module__.startswith(f"{PACKAGE}."):
            for name in (cls.__dict__.get("name"), *cls.__dict__.get("names", ())):
                if name and isinstance(name, str):
                    reserve(name)

    name: ClassVar[str] = ""
    #: The names that there are, where a parameter decides.
    names: ClassVar[tuple[str, ...]] = ()
    #: Inputs whose values the gradient rules read; None means all of them.
    keep_inputs: ClassVar[tuple[int, ...] | None] = None
    #: Those that the rule of the second, or of the first input alone reads, where an operation with
    #: two inputs knows; see ``needs``.
    kept_by_one: tuple[tuple[int, ...], ...] = ()
    #: Whether the rule of the second, or of the first input alone reads the output's value.
    result_by_one: tuple[bool, ...] = (True, True)
    #: Whether the gradient rules read the output's value.
    keep_output: ClassVar[bool] = False
    #: Whether the result may share the first input's memory.
    view: ClassVar[bool] = False
    #: ``aliases(layout)``: whether it does where the first input has the layout of an array; always
    #: without it.
    aliases: Callable[..., bool] | None = None
    #: ``view_layout(layout, shape)``: an array with the layout of a view of such a shape, or None
    #: where values decide it; without it ``perform`` gives one.
    view_layout: Callable[..., Any] | None = None
    #: ``layout_of(*arrays)``: an array with the result's strides, whatever its elements; those of
    #: the operands must not be touched.  Without it results are in row-major order.
    layout_of: Callable[..., Any] | None = None
    differentiable: ClassVar[bool] = True
    #: Whether compiled code reads an operand's elements several times, so that they need memory.
    rereads: ClassVar[bool] = False
    #: Whether an element of the result follows from those of the operands at the same index.
    pointwise: ClassVar[bool] = False
    #: Whether it has two inputs and is linear in each.
    bilinear: ClassVar[bool] = False
    #: Tensors that its gradient rules may read although they are no inputs.
    reads: Any = ()
    #: Results per call; with more than one, ``infer`` and ``perform`` give tuples.
    outputs: ClassVar[int] = 1

    #: Whether the result has the first input's elements in the same row-major order.
    flat: ClassVar[bool] = False
    #: Whether ``decompose`` requests nothing but the operands' types.
    by_types: ClassVar[bool] = False
    #: Whether ``infer`` requests nothing but shapes and dtypes, which nodes have, too.
    of_types: ClassVar[bool] = False
    #: What to do without a derivative rule, where gradients flow all the same.
    no_rule: ClassVar[str] = ""
    #: Whether a user defined it: results of its rules and of ``perform`` are then checked.
    user_defined: ClassVar[bool] = False
    #: Whether ``perform`` gives a user's function copies of the operands, which it may keep.
    copies: ClassVar[bool] = False
    #: Parameters that hold graphs (``ops.control.body.Body``).
    bodies: ClassVar[tuple[str, ...]] = ()
    #: What planning and rules query of it, of :data:`core.ir.costs.TRAITS`.
    traits: ClassVar[frozenset[str]] = frozenset()
    #: The trait of operands over which it loses digits or range that other forms keep.
    unstable_over: ClassVar[str] = ""
    #: Name of the compiler's own template ("matmul"), if there is one.
    template: ClassVar[str] = ""

    infer: Callable[..., Any]
    perform: Callable[..., Any]
    vjp: Callable[..., tuple[Any, ...]] | None = None
    jvp: Callable[..., Any] | None = None
    lower: Callable[..., Any] | None = None
    decompose: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    #: ``parts(*reads)``: the result as regions written one after another (``core.ir.loops.Part``),
    #: or point by point in order (``core.ir.loops.Sequential``).
    parts: Callable[..., Any] | None = None
    #: ``boxes(*reads)``: the same with steps of 1, for kernels that compute what uses the result
    #: box by box, or None. Where an operand is computed elsewhere, too, ``parts`` are written.
    boxes: Callable[..., Any] | None = None
    #: Whether ``parts`` reads an element of an operand once, so that it may be computed there.
    inlines: ClassVar[bool] = False
    #: Whether the result is the first operand with some elements changed, so that it may be made
    #: where that is; else ``parts`` that inline are apart.
    changes: ClassVar[bool] = False
    #: Index of an operand, one bool, that must hold where the result is needed.
    condition: ClassVar[int | None] = None
    #: ``foreign(*xs) -> Call | None``: a C function that does it (``core.ir.foreign``).
    foreign: Callable[..., Any] | None = None
    #: ``work(*arrays) -> int``: about how many nanoseconds ``perform`` takes, if it may be many: it
    #: must have no effect then but its result (``core/support/worker_threads.py``).
    work: Callable[..., int] | None = None
    #: ``c_call(*arrays)``: for arrays of such types and sizes, a C function that does what
    #: ``perform`` does, and what it takes behind the operands; or None.  It runs without NumPy's
    #: warnings.
    c_call: Callable[..., tuple[Callable[..., Any], tuple[Any, ...]] | None] | None = None
    #: ``fill(out, *arrays) -> bool``: ``perform`` into an array of the result's type, which may be
    #: over an operand; False where that does not go.
    fill: Callable[..., bool] | None = None

    def label(self) -> str:
        """Name and parameters, for people.

        Returns
        -------
        str
            Such as "name[axis=0]".
        """
        names: tuple[str, ...] = getattr(self, "_fields", ())
        if not names:
            return self.name
        parts = ", ".join(f"{n}={getattr(self, n)}" for n in names)
        return f"{self.name}[{parts}]"

    def resolve(self, known: Callable[[Any], Any]) -> Op:
        new = {}
        for name in getattr(self, "_fields", ()):
            old = getattr(self, name)
            if type(old) in _PLAIN:
                continue
            found = old.resolve(known) if name in self.bodies else _resolved(old, known)
            if found is not old:
                new[name] = found
        return replace(self, **new) if new else self

    def needs(self, i: int, inputs: Sequence[Node]) -> bool:
        """Return whether the rules for those inputs that want a gradient read the value of input
        ``i``.

        Parameters
        ----------
        i : int
            Index of the input.
        inputs : sequence of Node
            All inputs.

        Returns
        -------
        bool
            False where the value need not be kept.
        """
        kept = self.keep_inputs is None or i in self.keep_inputs
        return kept and (not self.bilinear or inputs[1 - i].requires_grad)

    def needs_result(self, inputs: Sequence[Node]) -> bool:
        """Return whether the rules for those inputs that want a gradient read the result.

        Parameters
        ----------
        inputs : sequence of Node
            All inputs.

        Returns
        -------
        bool
            False where the value need not be kept.
        """
        return self.keep_output

    def reduction(self, *xs: Any) -> tuple[int, ...]:
        """Axes of the first operand that ``lower`` reduces over.

        Parameters
        ----------
        *xs : Tensor
            The inputs.

        Returns
        -------
        tuple of int
            Empty by default.
        """
        return ()

    def multiply_adds(self, shape: Sequence[int], operands: Sequence[Sequence[int]]) -> int:
        """Count the multiply-adds of the matrix products that it is made of.

        Parameters
        ----------
        shape : sequence of int
            Of the result.
        operands : sequence of sequence of int
            Shapes of the inputs.

        Returns
        -------
        int
            0 by default.
        """
        return 0

    def sweep(self, *xs: Any) -> Any:
        """Return a key of the loops that ``lower`` runs per element, to find operations with the
        same ones, or None.

        Parameters
        ----------
        *xs : Tensor
            The inputs.

        Returns
        -------
        object
            Comparable; None by default.
        """
        axes = self.reduction(*xs)
        return (xs[0].shape, axes) if axes else None

    def __repr__(self) -> str:
        return self.label()


#: Types of parameters in which there are no sizes to be known.
_PLAIN = frozenset((int, float, bool, str, type(None)))


def _resolved(value: Any, known: Callable[[Any], Any]) -> Any:
    """Return a parameter with sizes replaced by ``known(size)``, inside tuples too."""
    if not isinstance(value, tuple):
        return known(value) if isinstance(value, Dim) else value
    if _PLAIN.issuperset(map(type, value)):
        return value
    found = tuple([_resolved(v, known) for v in value])
    return value if all(map(operator.is_, found, value)) else found


@record
class Item(Op):
    """One result of an operation that has several."""

    index: int
    name = "item"
    traits = frozenset(("cheap",))
    keep_inputs = ()

    def label(self) -> str:
        return f"item[{self.index}]"

    def infer(self, x: Any) -> Any:
        return x.outputs[self.index]


@cache
def _item(index: int) -> Item:
    """Return the unique operation that picks result ``index``."""
    return Item(index)


def item_of(parent: Node, index: int) -> Node:
    """The node of one result of an operation that has several."""
    shape, dtype = parent.outputs[index]
    return Node(
        _item(index), (parent,), shape, dtype, where=parent.where,
        requires_grad=parent.requires_grad and dtype.kind in "fcV",
    )


def separate(found: Any, outputs: int) -> Sequence[Any]:
    """Return the results of a user's operation as a sequence. For an operation with one result, a
    list of one array means that array, and any other list is converted to an array.
    """
    if outputs == 1 and isinstance(found, list):
        return found if len(found) == 1 and isinstance(found[0], np.ndarray) else (found,)
    return found if isinstance(found, (tuple, list)) else (found,)


def check_result(found: Any, shape: Any, dtype: Any) -> None:
    """Refuse a result of another shape, or of a kind of dtype that does not fit, than declared."""
    if found.dtype.kind not in "biufcV":
        value = getattr(found, "array", found)
        shown = repr(value.item()) if value.ndim == 0 else f"an array of {found.dtype}"
        raise TypeError(f"it returned {shown}, which is no array of numbers")
    if tuple(found.shape) != tuple(shape):
        raise DeclaredShapeError(
            f"it returned shape {tuple(found.shape)} where {tuple(shape)} was declared")
    if found.dtype != dtype and not fits(found.dtype, dtype):
        raise DTypeError(f"it returned {found.dtype} where {dtype} was declared")


def called(name: str, args: Any) -> str:
    """``add(float32[3], float32[4])``: an operation with its operands' types."""
    return f"{name}({', '.join(map(typed, args))})"


class Named:
    """An operand that was given by keyword, in the words of an error: ``weight=float32[3]``."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def __repr__(self) -> str:
        return f"{self.name}={typed(self.value)}"


def with_named(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The operands of a call, with the tensors among its keywords."""
    found = [Named(k, v) for k, v in keywords.items() if attribute_of(v, "shape", ()) != ()]
    return (*args, *found)


def name_at(name: str, where: Any) -> str:
    """Return ``dot: matmul``: the name of the function that the user called, and of the operation
    in it that failed.
    """
    outer = where[2] if where is not None else ""
    return f"{outer}: {name}" if outer not in ("", name) else name


def explain(error: Exception, name: str, args: tuple[Any, ...], where: Any = None,
            known: tuple[str, ...] = ()) -> Exception:
    """The error with the operation, its operands' types and the user's line in its text.

    ``where`` is the user's line as kept by a node; by default the caller's.  ``known`` are the
    keywords of the operation, for those that are misspelt.  An error that
    already has a line is returned as it is; one that no operation raises by itself gets a
    note.  What was raised in a function of the user's keeps the way there.
    """
    note_error()
    if getattr(error, "located", False):
        return error
    error = oversized(error)
    if not isinstance(error, EXPLAINED):
        line = location(where if where is not None else user_where(2))
        error.add_note(f"in {called(name, args)}\n  at {line}")
        return error
    telling = error.args and not isinstance(error, MemoryError)  # NumPy's has a type instead
    reason = with_keyword(error.args[0] if telling else str(error), known)
    message, line = _split(reason)
    return located(error, message, name, args, where, line)


def _split(reason: Any) -> tuple[Any, str]:
    """Return the message of an error, and the line that it names at its end, if it does."""
    if not isinstance(reason, str):
        return reason, ""
    message, mark, line = reason.rpartition("\n  at ")
    return (message, line) if mark else (reason, "")


#: Modules whose functions ours call: what they raise is no error of a function of the user's.
_LIBRARIES = frozenset((PACKAGE, "numpy", "scipy", "sklearn", "PIL", *sys.stdlib_module_names))
#: Errors by which NumPy and rules refuse operands.
EXPLAINED: tuple[type[Exception], ...] = (ValueError, TypeError, IndexError, MemoryError)


def in_user_code(error: Exception) -> bool:
    """Return whether a function that an operation calls raised it, rather than the operation."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
        if step.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARIES:
            return True
    return False


_RAISE = opmap["RAISE_VARARGS"]


def is_accident(error: Exception) -> bool:
    """Return whether no line of ours raised an error: it says nothing about the arguments of a
    call."""
    known: bool | None = getattr(error, "accident", None)
    if known is not None or isinstance(error, (AssertionError, MemoryError)):
        return known if known is not None else isinstance(error, AssertionError)
    step, before = error.__traceback__, None
    while step is not None and step.tb_next is not None:
        step, before = step.tb_next, step
    if step is None:
        return False
    if step.tb_frame.f_code.co_name == "__getattr__" and before is not None:
        return _is_ours(before)  # lines of ours read an attribute that an argument does not have
    return not _is_ours(step) or step.tb_frame.f_code.co_code[step.tb_lasti] != _RAISE


def _is_ours(step: TracebackType) -> bool:
    name: str = step.tb_frame.f_globals.get("__name__", "")
    return name.startswith(PACKAGE)


def located(error: Exception, reason: Any, name: str, args: tuple[Any, ...],
            where: Any, line: str = "") -> Exception:
    """An error of the same kind that names the operation, its operands and the user's line."""
    where = where if where is not None else user_where(3)
    line = line or location(where)
    shown_name = spelt(name, where, PACKAGE)
    if isinstance(reason, str):  # it may name the operation itself
        reason = of_operands(reason, args)
        reason = re.sub(rf"^{re.escape(name)}(\([^:]*\))?: ", "", reason)
        if shown_name != name:
            reason = re.sub(rf"\b{re.escape(name)}\(", f"{shown_name}(", reason)
    kind = type(error)
    if not kind.__module__.startswith(
            ("builtins", "agnesi", "numpy.linalg", "numpy.exceptions")):
        # its constructor may want more
        kind = next(k for k in kind.__mro__ if k.__module__ == "builtins")
    found_error: Any = kind(f"{called(shown_name, args)}: {reason}\n  at {line}")
    found_error.located = True
    found_error.reason = reason
    found_error.named = tuple([a for a in args if type(a) is Named])
    found_error.accident = is_accident(error)
    found: Exception = found_error
    return found.with_traceback(error.__traceback__) if in_user_code(error) else found


_UNFIT = re.compile(r"(sizes \S+ and \S+ differ) on axis -?\d+ and neither is 1: shapes (\(.*\)) "
                    "do not broadcast$")
_INNER = re.compile(r"(?:last axis|axis -?\d+) of (\([\w, ]*\))")


def of_operands(reason: str, args: tuple[Any, ...]) -> str:
    """Return why shapes do not fit, without shapes of values that are internal to the operation."""
    parts = [p for x in args for p in (x if isinstance(x, (list, tuple)) else (x,))]
    if any(isinstance(x, (list, tuple)) or callable(x) for x in parts):
        return reason
    mine = {str(tuple(x.shape)) if has(x, "shape") else "()" for x in parts}

    def given(found: re.Match[str]) -> str:
        sizes = found[1][1:-1].rstrip(",").split(", ")
        if found[1] in mine or len(sizes) < 2:
            return found[0]
        for axis in (len(sizes) - 1, len(sizes) - 2):  # of the 1 of a column, or of a row
            kept = ", ".join(sizes[:axis] + sizes[axis + 1:])
            if sizes[axis] == "1" and len(sizes) > 2 and f"({kept})" in mine:
                return f"last axis of ({kept})"
            if sizes[axis] == "1" and f"({kept},)" in mine:
                return f"of ({kept},)"
        return found[0]

    found = _UNFIT.match(reason)
    shapes = [f"({part.strip('()')})" for part in found[2].split(" and ")] if found else []
    if found and any("1" in re.findall(r"\w+", s) for s in shapes if s not in mine):
        return f"{found[1]}, and neither is 1"  # an axis was put in
    return _INNER.sub(given, reason)


def renamed_error(error: Exception, name: str, args: tuple[Any, ...],
           known: tuple[str, ...] = ()) -> Exception:
    """Return an inner operation's error as an error of the outer operation ``name``."""
    reason = getattr(error, "reason", None)
    if reason is not None:
        return located(error, reason, name, args, None)
    return explain(error, name, args, user_where(2), known)
