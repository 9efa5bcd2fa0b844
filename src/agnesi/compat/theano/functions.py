"""``theano.function``, ``theano.shared`` and ``theano.clone``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import SharedVariable, Variable, bare, wrapped
from agnesi.compiler.function import function as compiled
from agnesi.compiler.inputs import In as OurIn
from agnesi.compiler.shared import shared as our_shared
from agnesi.core.substitution import clone as our_clone
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast

Pairs = Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None


class In:
    """An input of a function: a default value, an update, what may be done to it.

    Parameters
    ----------
    variable : Variable
    name : str, optional
        For calls by keyword; by default the variable's.
    value : array_like, optional
        What it is where the caller gives nothing.
    update : Variable, optional
        What the default value becomes after each call.
    mutable, borrow : bool
        Whether the function may overwrite the caller's array.
    """

    def __init__(self, variable: Variable, name: str | None = None, value: Any = None,
                 update: Variable | None = None, mutable: bool | None = None,
                 strict: bool = False, allow_downcast: bool | None = None,
                 borrow: bool | None = None, **ignored: Any) -> None:
        self.variable, self.name, self.value, self.update = variable, name, value, update
        self.mutable = bool(mutable)
        self.allow_downcast = allow_downcast
        if self.name is None:
            self.name = variable.name


class Out:
    """An output of a function; ``borrow`` lets it share the function's memory."""

    def __init__(self, variable: Variable, borrow: bool = False) -> None:
        self.variable, self.borrow = variable, borrow


Param = In


class Function:
    """A compiled function: called with values of its inputs, by position or name."""

    def __init__(self, inputs: list[In], outputs: Any, found: Any, state: list[Any],
                 downcast: bool, name: str | None) -> None:
        self.inputs, self.outputs, self.name = inputs, outputs, name
        self._compiled, self._downcast = found, downcast
        #: The default values that updates change, one for each input or None.
        self._state = state
        self.defaults = [i.value for i in inputs]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        values = [self._value(k, args, keywords) for k in range(len(self.inputs))]
        if len(args) > len(self.inputs) or keywords:
            extra = f", and no {sorted(keywords)}" if keywords else ""
            raise TypeError(f"{self.name or 'the function'} takes {len(self.inputs)} inputs, "
                            f"not {len(args)}{extra}")
        found = self._compiled(*[v for v in values if v is not None])
        if found is None:
            return []
        if isinstance(self.outputs, dict):
            return {k: _array(v) for k, v in found.items()}
        if isinstance(self.outputs, (list, tuple)):
            return [_array(v) for v in found]
        return _array(found)

    def _value(self, k: int, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        told = self.inputs[k]
        kind, down = told.variable, self._downcast or bool(told.allow_downcast)
        if k < len(args):
            value = args[k]
        elif told.name is not None and told.name in keywords:
            value = keywords.pop(told.name)
        elif self._state[k] is not None:
            return None
        elif told.value is not None:
            value = told.value
        else:
            raise TypeError(f"Missing required input: {kind!r} ({kind.type})")
        if self._state[k] is not None:
            self._state[k].set_value(_fitting(value, kind, down))
            return None
        return _fitting(value, kind, down)

    def __getitem__(self, key: Any) -> Any:
        state = self._state[self._index(key)]
        return self.defaults[self._index(key)] if state is None else state.get_value()

    def __setitem__(self, key: Any, value: Any) -> None:
        k = self._index(key)
        if self._state[k] is None:
            self.inputs[k].value = self.defaults[k] = value
        else:
            self._state[k].set_value(_fitting(value, self.inputs[k].variable, True))

    def _index(self, key: Any) -> int:
        for k, told in enumerate(self.inputs):
            if key in (k, told.name) or key is told.variable:
                return k
        raise KeyError(key)

    def copy(self, **ignored: Any) -> Function:
        """The same function."""
        return copy.copy(self)

    def free(self) -> None:
        """Nothing: memory is kept by agnesi's pool."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._compiled, name)


def _array(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, Tensor) else x


def _fitting(value: Any, kind: Variable, downcast: bool) -> Any:
    """A value for an input; Python numbers and lists take its dtype where that holds them."""
    if isinstance(value, Variable):
        raise TypeError(f"{kind!r} is given a variable, not a value")
    if not hasattr(kind.tensor, "node") or getattr(value, "format", None) is not None:
        return value
    array = np.asarray(value)
    if array.dtype == kind.dtype:
        return array
    python = not isinstance(value, (np.ndarray, np.generic, Tensor))
    floats = array.dtype.kind == "f" and np.dtype(kind.dtype).kind in "fc"
    if downcast or np.can_cast(array.dtype, kind.dtype) or (python and floats) or not array.size:
        return array.astype(kind.dtype)
    found = array.astype(kind.dtype)
    if array.dtype.kind in "iub" and np.array_equal(found, array):
        return found
    raise TypeError(f"{kind!r} is {kind.type} and takes no {array.dtype}{list(array.shape)}; "
                    "cast the value, or compile with allow_input_downcast=True")


def function(inputs: Sequence[Any], outputs: Any = None, mode: Any = None, updates: Pairs = None,
             givens: Pairs = None, no_default_updates: Any = False,
             accept_inplace: bool = False, name: str | None = None,
             rebuild_strict: bool = True, allow_input_downcast: bool | None = None,
             profile: Any = None, on_unused_input: str | None = None, **ignored: Any) -> Function:
    """Compile a function from expressions; :func:`agnesi.function` under Theano's names.

    Parameters
    ----------
    inputs : list of Variable or In
    outputs : Variable, list or dict of Variable, optional
        What the function returns: an array, a list or a dict of arrays.
    updates, givens : mapping or pairs, optional
        New values of shared variables; replacements that are made first.
    mode : str or Mode, optional
        "FAST_COMPILE" compiles quickly; all others compile fully.
    allow_input_downcast : bool, optional
        Whether values are rounded to an input's dtype.
    on_unused_input : {"raise", "warn", "ignore"}, optional
        What is done about an input that nothing depends on.

    Returns
    -------
    Function
    """
    told = [i if isinstance(i, In) else In(_input(i)) for i in inputs]
    state = [None if i.update is None else shared(_fitting(i.value, i.variable, True), i.name)
             for i in told]
    changes = _pairs(updates)
    swaps = [(_target(a), _like(a, b)) for a, b in _pairs(givens)]
    for i, s in zip(told, state, strict=True):
        if s is not None:
            swaps.append((bare(i.variable), bare(s)))
            changes.append((s, i.update))
    given = [OurIn(bare(i.variable), mutable=i.mutable)
             for i, s in zip(told, state, strict=True) if s is None]
    results = outputs
    if isinstance(outputs, Mapping):
        results = {k: _output(v) for k, v in outputs.items()}
    elif isinstance(outputs, (list, tuple)):
        results = [_output(v) for v in outputs]
    elif outputs is not None:
        results = _output(outputs)
    options: dict[str, Any] = {}
    if str(getattr(mode, "optimizer", mode)).upper() in ("FAST_COMPILE", "FAST_COMPILE_FAST"):
        options["optimizer"] = "fast_compile"
    found = compiled(
        given, results, updates=[(bare(a), _like(a, b)) for a, b in changes], givens=swaps,
        no_default_updates=bare(no_default_updates), name=name or "function", **options)
    return Function(told, outputs, found, state, bool(allow_input_downcast), name)


def _input(x: Any) -> Variable:
    if not isinstance(x, Variable):
        raise TypeError(f"Unknown parameter type: {type(x).__name__}; inputs are variables or In")
    return x


def _output(x: Any) -> Any:
    return as_tensor_variable(x.variable if isinstance(x, Out) else x)._value


def _pairs(x: Pairs) -> list[tuple[Any, Any]]:
    return [] if x is None else list(x.items() if isinstance(x, Mapping) else x)


def _target(x: Any) -> Any:
    return bare(_input(x))


def _like(target: Any, value: Any) -> Any:
    """What stands for a variable, in its dtype where no digits are lost."""
    found = as_tensor(bare(value))
    kind = bare(target).dtype
    if found.dtype != kind and (np.can_cast(found.dtype, kind) or found.weak):
        return cast(found, kind)
    return found


def shared(value: Any, name: str | None = None, strict: bool = False,
           allow_downcast: bool | None = None, borrow: bool = False,
           broadcastable: Any = None, **ignored: Any) -> SharedVariable:
    """A variable with a value that lasts between calls.

    Parameters
    ----------
    value : array_like
    name : str, optional
    borrow : bool
        Whether the variable uses the array's memory.

    Returns
    -------
    SharedVariable
    """
    if isinstance(value, Variable):
        raise TypeError("shared(): the value is a variable; give an array")
    if not isinstance(value, np.random.RandomState) and getattr(value, "format", None) is None:
        value = np.asarray(value)
    return wrapped(our_shared(value, name, borrow=borrow))


def clone(output: Any, replace: Pairs = None, strict: bool = True,
          share_inputs: bool = True, **ignored: Any) -> Any:
    """The same expressions over other variables."""
    swaps = {_target(a): _like(a, b) for a, b in _pairs(replace)}
    return wrapped(our_clone(bare(output), swaps))
