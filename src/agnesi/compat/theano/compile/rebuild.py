"""``theano.compile.rebuild``, ``pytensor.graph.replace``: expressions over other variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.compat.theano.functions import In, Pairs, clone
from agnesi.compat.theano.graphs.fgraph import ancestors
from agnesi.compat.theano.graphs.fgraph import inputs as leaves_of
from agnesi.compat.theano.tensor.elementwise import vectorize
from agnesi.compat.theano.variable import SharedVariable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at


def clone_replace(output: Any, replace: Pairs = None, **rebuild_kwds: Any) -> Any:
    """The same expressions over other variables; see :func:`~agnesi.compat.theano.clone`."""
    return clone(output, replace)


def graph_replace(outputs: Any, replace: Pairs = None, *, strict: bool = True) -> Any:
    """Expressions with variables in the place of others, which they must depend on if strict.

    :param outputs:
    :type outputs: Variable or list of Variable
    :param replace:
    :type replace: dict or pairs
    :param strict:
    :type strict: bool, optional
    :returns:
    :rtype: Variable or list of Variable
    :raises ValueError: Where nothing depends on what is replaced.
    """
    pairs = list(replace.items() if isinstance(replace, dict) else replace or ())
    whole = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    there = set(ancestors(whole))
    for x, _ in pairs:
        if strict and x not in there:
            raise ValueError(at(f"graph_replace: no output depends on {x!r}; strict=False leaves "
                                "such a replacement out"))
    return clone(outputs, [(x, y) for x, y in pairs if x in there])


def vectorize_graph(outputs: Any, replace: Pairs = None) -> Any:
    """The same expressions for stacks of what they were written for.

    :param outputs:
    :type outputs: Variable or list of Variable
    :param replace: The new variables, which may have more axes in front; those of all broadcast.
    :type replace: dict or pairs
    :returns:
    :rtype: Variable or list of Variable
    """
    pairs = list(replace.items() if isinstance(replace, dict) else replace or ())
    whole = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    kinds = [*(x for x, _ in pairs), *whole]
    axes = [f"({','.join(f'n{i}_{k}' for k in range(x.ndim))})" for i, x in enumerate(kinds)]
    signature = f"{','.join(axes[:len(pairs)])}->{','.join(axes[len(pairs):])}"

    def made(*examples: Any) -> Any:
        given = [(x, y) for (x, _), y in zip(pairs, examples, strict=True)]
        found = clone(whole, given)
        return tuple(found) if len(whole) > 1 else found[0]

    found = vectorize(made, signature)(*(y for _, y in pairs))
    stacked = list(found) if len(whole) > 1 else [found]
    return stacked if isinstance(outputs, (list, tuple)) else stacked[0]


def rebuild_collect_shared(
        outputs: Any, inputs: Sequence[Any] | None = None, replace: Pairs = None,
        updates: Pairs = None, rebuild_strict: bool = True, copy_inputs_over: bool = True,
        no_default_updates: bool = False) -> tuple[list[Any], Any, list[Any]]:
    """Copies of expressions, and the shared variables that they and their updates read.

    :returns: The inputs, the copies of the outputs, and a list of: a dict from outputs to copies, a
        dict and a list of pairs of the updates, and the shared variables.
    :rtype: tuple
    """
    given = [x.variable if isinstance(x, In) else x for x in inputs or ()]
    fresh = given if copy_inputs_over else [x.type(x.name) for x in given]
    swaps = list(replace.items() if isinstance(replace, dict) else replace or ())
    swaps += [] if copy_inputs_over else list(zip(given, fresh, strict=True))
    several = isinstance(outputs, (list, tuple))
    whole = list(outputs) if several else [] if outputs is None else [outputs]
    made = clone(whole, swaps)
    changes = dict(updates.items() if isinstance(updates, dict) else updates or ())
    changes = {x: clone(y, swaps) for x, y in changes.items()}
    shared = _shared([*made, *changes.values()])
    for x in () if no_default_updates else shared:
        if x not in changes and getattr(x.tensor, "default_update", None) is not None:
            changes[x] = clone(x.default_update, swaps)
    shared = _shared([*made, *changes, *changes.values()])
    copies = made if several else made[0] if made else None
    swapped = dict(zip(whole, made, strict=True))
    return fresh, copies, [swapped, changes, list(changes.items()), shared]


def _shared(variables: Sequence[Any]) -> list[SharedVariable]:
    """The shared variables that expressions read."""
    return [x for x in leaves_of(variables) if isinstance(x, SharedVariable)]


_strictly(__name__)
