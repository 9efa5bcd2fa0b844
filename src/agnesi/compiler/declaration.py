"""``ag.function``: what a user declares, checked, and the compiled function that is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agnesi.compiler.borrowed_inputs import BorrowingFunction
from agnesi.compiler.cloning import replaced_by
from agnesi.compiler.compilation.compiled import Settings
from agnesi.compiler.compilation.limits import byte_count
from agnesi.compiler.function import Function, results_of
from agnesi.compiler.inputs import In, Inputs
from agnesi.compiler.objects import ObjectFunction, ObjectVariable, bare, has_objects
from agnesi.compiler.shared import Shared, each_once, fitting, with_default_updates
from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import toposort
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import higher, keyworded
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor


@higher
@keyworded
def function(
    inputs: Sequence[Tensor | In] | Tensor,
    outputs: Tensor | Sequence[Any] | Mapping[Any, Any] | None = None,
    *,
    updates: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    givens: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    no_default_updates: bool | Sequence[Shared] = False,
    on_unused_input: str = "ignore",
    name: str = "function",
    optimizer: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    memory_limit: float | str | None = None,
    save_dtype: DTypeLike = None,
    algebra: str = "real",
    profile: bool = False,
) -> Function:
    """Compile a function from tensors that say what it computes.

    :param inputs: What the caller gives.  Any tensor of the graph can be an input, intermediate
        ones too; see :class:`In` for default values and of what they become.
    :type inputs: sequence of Tensor or In
    :param outputs: What the function returns: one array, a tuple of arrays, or a dict of arrays.
    :type outputs: Tensor, sequence or dict of Tensor, optional
    :param updates: New values of shared variables (or of tensors with a value), computed from the
        old values and assigned after the outputs.
    :type updates: mapping or pairs, optional
    :param givens: Replacements made in the graph first.
    :type givens: mapping or pairs, optional
    :param no_default_updates: True, or variables: leaves out their ``default_update``, as that of
        random streams.
    :type no_default_updates: bool or sequence of Shared
    :param on_unused_input: What to do about inputs on which nothing depends, neither by value nor
        by size.
    :type on_unused_input: {"ignore", "warn", "raise"}
    :param name: Name in messages and reports.
    :param optimizer: Rewrite preset; ``config.optimizer`` by default.
    :type optimizer: {"fast_run", "fast_compile", "None"}, optional
    :param include, exclude: Rewrite rules, by name or tag, to switch on or off; ``exclude`` takes
        the names of the scheduler's passes, too, which ``plan()`` lists.
    :param memory_limit: Bytes ("512MB") that arguments, state, results and temporaries may take
        together; values are then computed again instead of being kept.
    :type memory_limit: number or str, optional
    :param save_dtype: How to keep large values that are idle while memory is short;
        ``config.save_dtype`` by default.
    :param algebra: Whether NaN, infinities and signs of zero are kept, or numbers taken for real
        ones ("real").
    :type algebra: {"exact", "real"}, optional
    :param profile: Whether the code counts how often and how long each kernel runs, for
        ``profile()``; it takes some 10 ns a kernel.
    :returns: A callable of the inputs, with ``plan()``, ``profile()`` and ``ir()``.
    :rtype: Function
    :raises MissingInputError: If the outputs depend on a variable that is neither an input nor has
        a value.
    :raises UnusedInputError: If nothing depends on an input and ``on_unused_input`` is "raise".
    :raises TypeError: If an input is no tensor, or an update is of another type than its variable.
    :raises ValueError: If an input is given twice, or there is no such preset or rule.
    :see: jit, shared, In, grad, symbolic.variable

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> a, b = T.vector("a"), T.vector("b")
    >>> f = ag.function([a, b], a * b + 1)
    >>> f([1.0, 2.0], [3.0, 4.0])
    array([4., 9.])
    >>> f(b=[1.0], a=[5.0])
    array([6.])
    """
    given = [inputs] if isinstance(inputs, (Tensor, ObjectVariable)) else list(inputs)
    if has_objects(given, outputs):
        options: dict[str, Any] = {
            "updates": updates, "no_default_updates": no_default_updates, "name": name,
            "on_unused_input": on_unused_input, "optimizer": optimizer, "include": include,
            "exclude": exclude, "memory_limit": memory_limit, "save_dtype": save_dtype,
            "algebra": algebra, "profile": profile, "givens": bare(givens)}
        made: Any = ObjectFunction(given, outputs, lambda i, o: function(i, o, **options))
        return made
    for i in given:
        if not isinstance(i, (In, Tensor)):
            raise TypeError(at("function: inputs must be symbolic variables, such as "
                               f"ag.symbolic.vector('x'), not {typed(i)}"))
    wanted = [i if isinstance(i, In) else In(i) for i in given]
    for n, i in enumerate(wanted):
        if any(i.variable is other.variable for other in wanted[:n]):
            raise ValueError(at(f"function: {i.name or typed(i.variable)} is among the inputs "
                                "twice"))
    declared = Inputs(wanted)
    changes = each_once({} if updates is None else updates)
    replaced = replaced_by(givens)
    for i in wanted:
        value = replaced.get(i.variable)
        if value is not None and graph_node(i.variable) not in toposort([graph_node(value)]):
            raise ValueError(at(f"function: givens replaces {i.name or typed(i.variable)}, which is"
                                " among the inputs, too: take it out of one of them"))
    for k, state in declared.states.items():
        changes[state] = wanted[k].update
        replaced[wanted[k].variable] = state
    new = {target: fitting(target, value) for target, value in changes.items()}
    known = [graph_node(t) for t in (*[i.variable for i in wanted], *replaced)]
    with_default_updates(results_of(outputs), new, known, no_default_updates)
    limit = byte_count(memory_limit)
    settings = Settings(optimizer, include, exclude, limit, save_dtype, algebra=algebra,
                        profile=profile)
    kind = BorrowingFunction if any(i.borrow for i in wanted) else Function
    found = kind(declared, outputs, new, replaced, name, settings, on_unused_input)
    found.compile_known()
    return found
