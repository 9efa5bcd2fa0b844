"""``theano.function``, ``theano.shared`` and ``theano.clone``."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.base.casting import given_array
from agnesi.compat.theano.base.tags import is_mentioned
from agnesi.compat.theano.config import ON_CHANGE, config
from agnesi.compat.theano.graphs.fgraph import Maker
from agnesi.compat.theano.graphs.fgraph import inputs as leaves_of
from agnesi.compat.theano.graphs.kept import keep_names
from agnesi.compat.theano.modes import Mode, mode_of
from agnesi.compat.theano.profiling import ProfileStats
from agnesi.compat.theano.sparse_variable import (
    SparseShared,
    SparseVariable,
    check_inputs,
    inputs_of,
    matrix_of,
    outputs_of,
    values_of,
)
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.generators import (
    Generator,
    generator_of,
    random_generator_type,
    shared_generator,
    words_of,
)
from agnesi.compat.theano.variable import SharedVariable, Sizes, Variable, bare, wrapped
from agnesi.compiler.cloning import clone as our_clone
from agnesi.compiler.declaration import function as compiled
from agnesi.compiler.function import Function as OurFunction
from agnesi.compiler.inputs import In as OurIn
from agnesi.compiler.objects import ObjectVariable
from agnesi.compiler.shared import shared as our_shared
from agnesi.compiler.shared import variable_over
from agnesi.core.dispatch import apply
from agnesi.core.storage.leaves import COPY
from agnesi.core.support.config import config as our_config
from agnesi.core.support.errors import UnusedInputError, at, typed
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
    mutable : bool
        Whether the function may overwrite the caller's array.
    borrow : bool
        Whether outputs that are borrowed, too, may be views of the caller's array.
    strict : bool
        Whether arrays of the variable's dtype are taken alone.
    """

    def __init__(self, variable: Any, name: str | None = None, value: Any = None,
                 update: Variable | None = None, mutable: bool | None = None,
                 strict: bool = False, allow_downcast: bool | None = None,
                 borrow: bool | None = None, implicit: Any = None, autoname: bool = True,
                 shared: bool = False) -> None:
        self.variable, self.name, self.value, self.update = variable, name, value, update
        self.mutable, self.strict, self.borrow = bool(mutable), bool(strict), bool(borrow)
        self.allow_downcast = allow_downcast
        if self.name is None:
            held = isinstance(variable, ObjectVariable)
            self.name = variable._handle.name if held else variable.name


class Out:
    """An output of a function: the caller's own array, or with ``borrow`` a view of a borrowed
    input, where it is one."""

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        self.variable, self.borrow = variable, borrow


class Param(In):
    """An input with a default value, by the name that it had first.

    Parameters
    ----------
    variable : Variable
    default : array_like, optional
    name : str, optional
    mutable : bool
    """

    def __init__(self, variable: Variable, default: Any = None, name: str | None = None,
                 mutable: bool = False, strict: bool = False, allow_downcast: bool | None = None,
                 implicit: Any = None, borrow: bool | None = None) -> None:
        super().__init__(variable, name, default, mutable=mutable, strict=strict,
                         allow_downcast=allow_downcast, borrow=borrow)


class Function:
    """A compiled function: called with values of its inputs, by position or name."""

    def __init__(self, inputs: list[In], shape: _Outputs, found: Any, downcast: bool,
                 name: str | None) -> None:
        self.inputs, self.outputs, self.name = inputs, shape.given, name
        self._compiled, self._downcast, self._shape = found, downcast, shape
        #: The options that it was made with.
        self._options: dict[str, Any] = {}
        #: Theano's word for values that need no look; they are looked at here.
        self.trust_input = False
        #: The types of scalars of dense inputs, for values that need no look.
        self._types = [_scalar_type(i.variable) for i in inputs]

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        values: list[Any] = []
        for i, kind, given in zip(self.inputs, self._types, args, strict=False):
            if type(given) is kind or (type(given) is np.ndarray and given.dtype.type is kind):
                values.append(given)
            else:
                values += self._values(i, given)
        if not keywords:
            return self._shape.of(self._compiled(*values, *args[len(self.inputs):]))
        subset = keywords.pop("output_subset", None)
        known = {i.name: i for i in self.inputs}
        named: dict[str, Any] = {}
        for name, given in keywords.items():
            entry = known.get(name)
            if entry is None:
                named[name] = given
            elif isinstance(entry.variable, SparseVariable):
                parts = entry.variable.tensor.inputs
                named |= zip([p.name for p in parts], self._values(entry, given), strict=True)
            else:
                named[name], = self._values(entry, given)
        found = self._shape.of(self._compiled(*values, *args[len(self.inputs):], **named))
        return found if subset is None else [found[i] for i in subset]

    def _values(self, entry: In, value: Any) -> list[Any]:
        """The values of our inputs that stand for one."""
        if isinstance(entry.variable, SparseVariable):
            return values_of(entry.variable, value)
        if isinstance(entry.variable, ObjectVariable):
            return [value]
        if isinstance(entry.variable, Generator):
            return [words_of(random_generator_type.filter(value))]
        if entry.strict and not (isinstance(value, (np.ndarray, np.generic))
                                 and value.dtype == entry.variable.dtype):
            raise TypeError(at(f"{entry.variable!r} is strict and takes an array of "
                               f"{entry.variable.dtype} alone, not {typed(value)}"))
        return [_fitting(value, entry.variable, self._downcast or bool(entry.allow_downcast))]

    def __getitem__(self, key: Any) -> Any:
        return self._compiled[bare(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        entry = next((i for k, i in enumerate(self.inputs)
                     if key is i.variable or key in (k, i.name)), None)
        fits = value if entry is None else _fitting(value, entry.variable, True)
        self._compiled[bare(key)] = fits

    def copy(self, share_memory: bool = False, swap: Pairs = None, delete_updates: bool = False,
             name: str | None = None, profile: Any = None) -> Function:
        """The same function, with other shared variables, or one that updates none.

        :param swap: The new one for each that is replaced.
        :type swap: mapping of SharedVariable to SharedVariable, optional
        :param delete_updates: Whether the new function leaves all shared variables as they are.
        :param name:
        :returns:
        :rtype: Function
        """
        if not swap and not delete_updates:
            found = copy.copy(self)
            found.name = name or self.name
            return found
        new = dict(_pairs(swap))
        options = dict(self._options)
        updates = [] if delete_updates else [
            (new.get(a, a), clone(b, new) if new else b) for a, b in _pairs(options["updates"])]
        outputs = _each(self.outputs, lambda x: clone(x, new)) if new else self.outputs
        options |= {"updates": updates, "no_default_updates": options["no_default_updates"] or
                 delete_updates}
        if not isinstance(self._compiled, OurFunction):  # a mode that looks at values
            return function(self.inputs, outputs, name=name or self.name,
                            **{**options, "on_unused_input": "ignore"})
        other = self._compiled.copy(
            {bare(a): bare(b) for a, b in new.items()}, updates=not delete_updates,
            share_memory=share_memory, name=name or self._compiled.name)
        made = Function(self.inputs, _Outputs(outputs), other, self._downcast, name or self.name)
        made._options = options
        return made

    @property
    def maker(self) -> Maker:
        """What made it: ``maker.fgraph.toposort()`` lists the operations."""
        return Maker(self)

    @property
    def profile(self) -> ProfileStats | None:
        """Its times, where it was compiled with ``profile=True``."""
        return ProfileStats(self._compiled) if self._options.get("profile") else None

    def get_shared(self) -> list[SharedVariable]:
        """The shared variables that it reads or updates."""
        computed: list[Any] = []
        _each(self.outputs, computed.append)
        pairs = _pairs(self._options.get("updates"))
        computed += [b for _, b in pairs if isinstance(b, Variable)]
        found = [a for a, _ in pairs]
        found += leaves_of([x for x in computed if isinstance(x, Variable)])
        return list({id(x.tensor): x for x in found if isinstance(x, SharedVariable)}.values())

    def dprint(self, **options: Any) -> Any:
        """Print its graph, as ``theano.printing.debugprint`` does.

        :param **options: Those of ``debugprint``.
        """
        return importlib.import_module("agnesi.compat.theano.printing").debugprint(self, **options)

    def free(self) -> None:
        """Nothing: memory is kept by agnesi's pool."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._compiled, name)


def _scalar_type(x: Any) -> Any:
    """The type of NumPy's scalars of a dense variable's dtype; None for other variables."""
    dense = not isinstance(x, (SparseVariable, ObjectVariable)) and hasattr(x.tensor, "node")
    return np.dtype(x.dtype).type if dense else None


def _each(outputs: Any, of: Any) -> Any:
    """Outputs with a function applied to each variable."""
    if isinstance(outputs, Mapping):
        return {k: of(v) for k, v in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return [of(v) for v in outputs]
    return outputs if outputs is None else of(outputs)


def _result(x: Any, parts: Sequence[Any]) -> Any:
    """What a function returns for an output."""
    x = x.variable if isinstance(x, Out) else x
    if isinstance(x, SparseVariable):
        return matrix_of(x, parts)
    found, = parts
    if isinstance(x, Generator):
        return generator_of(np.asarray(found))
    return np.asarray(found) if isinstance(found, Tensor) else found


def check_mode(mode: Any) -> None:
    """Refuse the name of a mode that there is not."""
    if isinstance(mode, str) and mode.upper() not in _MODES:
        raise ValueError(f"there is no mode {mode!r}; there are {', '.join(_MODES)}")


ON_CHANGE["mode"] = check_mode


def _fitting(value: Any, kind: Variable, downcast: bool) -> Any:
    """A value for an input; Python numbers and lists take its dtype where that holds them."""
    if isinstance(value, Variable):
        raise TypeError(at(f"{kind!r} is given a variable, not a value, {value!r}; givens={{...}} "
                           "of theano.function puts one in its place"))
    if not hasattr(kind.tensor, "node") or getattr(value, "format", None) is not None:
        return value
    try:
        array = given_array(value)
    except ValueError as error:
        raise ValueError(at(f"{kind!r} is {kind.type} and takes no {typed(value)}: its rows differ "
                            "in length")) from error
    if array.dtype == kind.dtype:
        return array
    if array.dtype.kind in "OSUMm":
        raise TypeError(at(f"input {kind!r} of function takes numbers, not {typed(value)}"))
    python = not isinstance(value, (np.ndarray, Tensor))
    floats = array.dtype.kind == "f" and np.dtype(kind.dtype).kind in "fc"
    if downcast or np.can_cast(array.dtype, kind.dtype) or not array.size:
        return array.astype(kind.dtype)
    real = np.dtype(kind.dtype).kind != "c"  # where NumPy would warn of imaginary parts
    with np.errstate(all="ignore"):
        found = (array.real if real else array).astype(kind.dtype)
    if (python or array.dtype.kind in "iub") and np.array_equal(found, array):
        return found
    if floats and not isinstance(value, (np.ndarray, np.generic, Tensor)) and np.array_equal(
            np.isfinite(found), np.isfinite(array)):
        return found
    raise TypeError(at(f"{kind!r} is {kind.type} and takes no {array.dtype}{list(array.shape)}; "
                       "cast the value, or compile with allow_input_downcast=True"))


#: Names of Theano's modes: what they choose there is chosen here by the machine.
_MODES = ("FAST_RUN", "FAST_COMPILE", "FAST_COMPILE_FAST", "MODE", "DEBUGMODE", "DEBUG_MODE",
          "PROFILEMODE", "PROFILE_MODE", "NANGUARDMODE", "MONITORMODE", "JAX", "NUMBA", "PYTORCH",
          "CVM", "C", "VM", "MLX")


def function(inputs: Sequence[Any], outputs: Any = None, mode: Any = None, updates: Pairs = None,
             givens: Pairs = None, no_default_updates: Any = False,
             accept_inplace: bool = False, name: str | None = None,
             rebuild_strict: bool = True, allow_input_downcast: bool | None = None,
             profile: Any = None, on_unused_input: str | None = None,
             trust_input: bool = False) -> Function:
    """Compile a function from expressions; :func:`agnesi.function` under Theano's names.

    Parameters
    ----------
    inputs : list of Variable or In
    outputs : Variable, list or dict of Variable, optional
        What the function returns: an array, a list or a dict of arrays.
    updates, givens : mapping or pairs, optional
        New values of shared variables; replacements that are made first.
    mode : str or Mode, optional
        "FAST_COMPILE" compiles quickly, others compile fully; "DebugMode", "NanGuardMode" and
        MonitorMode look at values.
    allow_input_downcast : bool, optional
        Whether values are rounded to an input's dtype.
    profile : bool, optional
        Whether ``profile`` of the function reports times of its kernels; else as
        ``config.profile`` says.
    on_unused_input : {"raise", "warn", "ignore"}, optional
        What is done about an input that nothing depends on.

    Returns
    -------
    Function
    """
    if isinstance(inputs, Variable):
        raise TypeError(f"inputs must be a list of variables: write [{inputs!r}]")
    check_mode(mode)
    if not (mode is None or isinstance(mode, (str, Mode))):
        raise TypeError(f"mode must be a name such as {_MODES[0]!r}, a Mode or None, not {mode!r}")
    for i in inputs:
        if isinstance(i, SharedVariable):
            raise TypeError(f"{i!r} is a shared variable, which is no input: its value is there in "
                            "each call; set_value changes it, givens={shared: variable} replaces "
                            "it")
    declared = [i if isinstance(i, In) else In(_input(i)) for i in inputs]
    updates, givens = _pairs(updates), _pairs(givens, "function: givens")
    for a, _ in updates:
        if not isinstance(a, SharedVariable):
            raise TypeError(f"updates are of shared variables, not of {a!r}; "
                            "theano.shared(value) makes one")
    changes = [(bare(a), _given(a, b, "function: updates")) for a, b in updates]
    swaps = [(_target(a), _given(a, b, "function: givens")) for a, b in givens]
    if isinstance(outputs, tuple) and len(outputs) == 2 and isinstance(outputs[1], Mapping):
        raise TypeError("outputs are what scan returned, a pair of outputs and updates: write "
                        "outputs, updates = theano.scan(...), and give updates=updates, too")
    shape = _Outputs(outputs)
    given = [ours for i in declared for ours in _options(i, shape.borrows)]
    options: dict[str, Any] = {"profile": bool(config.profile if profile is None else profile)}
    chosen = mode_of(mode)
    options |= chosen.preset | chosen.choices()
    unused = on_unused_input or config.on_unused_input
    if len(given) > len(declared):
        check_inputs([i.variable for i in declared], [*shape.flat, *(b for _, b in changes)],
                     unused)
        unused = "ignore"
    def reference() -> Any:
        new = [(a, b) for a, b in changes if getattr(a, "array", None) is not None]
        return compiled(given, [*shape.flat, *(as_tensor(b) for _, b in new)], givens=swaps,
                        no_default_updates=True, on_unused_input="ignore", optimizer="None"), [
                            a for a, _ in new]

    found = chosen.around(_compiled(
        given, shape.asked, updates=changes, givens=swaps,
        no_default_updates=bare(no_default_updates), name=name or "function",
        on_unused_input=unused, **options), reference)
    made = Function(declared, shape, found, bool(allow_input_downcast), name)
    made._options = {
        "mode": mode, "updates": updates, "givens": givens,
        "no_default_updates": no_default_updates, "allow_input_downcast": allow_input_downcast,
        "on_unused_input": on_unused_input, "profile": options["profile"]}
    return made


def _compiled(*args: Any, **options: Any) -> Any:
    """A function of ours; inputs of which something was computed count as used."""
    try:
        return compiled(*args, **options)
    except UnusedInputError as error:
        if not error.nodes or not all(map(is_mentioned, error.nodes)):
            raise
    return compiled(*args, **{**options, "on_unused_input": "ignore"})


class _Outputs:
    """The outputs of a function: what ours computes for them, and what is made of that."""

    def __init__(self, given: Any) -> None:
        #: The variables as the user gave them: None, one, a list or a dict.
        self.given = given = given.vector() if isinstance(given, Sizes) else given
        if isinstance(given, Mapping):
            self._leaves = list(given.values())
        else:
            self._leaves = list(given) if isinstance(given, (list, tuple)) else [given]
        for v in self._leaves:
            if isinstance(v, str):
                raise TypeError(f"outputs are variables, a list or a dict of them, not {v!r}")
        #: Whether some may be views of borrowed inputs: the others are copied then.
        self.borrows = any(isinstance(v, Out) and v.borrow for v in self._leaves)
        parts = [[] if given is None else _parts(v, self.borrows) for v in self._leaves]
        #: Whether the user gets what our function returns, in a list or alone.
        self._same = given is not None and not isinstance(given, Mapping) and not any(
            isinstance(v.variable if isinstance(v, Out) else v, (SparseVariable, Generator))
            for v in self._leaves)
        self._counts = [len(p) for p in parts]
        self.flat = [v for p in parts for v in p]
        alone = given is None or not isinstance(given, (list, tuple, Mapping))
        self._objects = any(isinstance(v, ObjectVariable) for v in self.flat)
        self.asked: Any = self.flat
        if alone and len(self.flat) < 2:
            self.asked = self.flat[0] if self.flat else None

    def of(self, found: Any) -> Any:
        """Return what the user gets, of what our function returned."""
        if self._objects:
            return self._of_objects(found)
        if found is None:
            return []
        if self._same and type(found) is (tuple if type(self.given) is list else np.ndarray):
            return list(found) if type(found) is tuple else found
        values = iter(found if isinstance(found, (list, tuple)) else [found])
        made = [_result(v, [next(values) for _ in range(n)])
                for v, n in zip(self._leaves, self._counts, strict=True)]
        if isinstance(self.given, Mapping):
            return dict(zip(self.given, made, strict=True))
        return made if isinstance(self.given, (list, tuple)) else made[0]


    def _of_objects(self, found: Any) -> Any:
        """The same where objects are among the results."""
        if not isinstance(self.given, (list, tuple, Mapping)):
            return found
        return dict(zip(self.given, found, strict=True)) if isinstance(
            self.given, Mapping) else list(found)


def _options(i: In, borrows: bool) -> list[Any]:
    """An input in our words; several for a sparse matrix."""
    if isinstance(i.variable, (ObjectVariable, SparseVariable)):
        if i.value is not None or i.update is not None:
            raise TypeError(f"{i.variable!r} is no dense array and takes no value before the call")
        return inputs_of(i.variable) if isinstance(i.variable, SparseVariable) else [i.variable]
    value = words_of(i.value) if isinstance(i.value, np.random.Generator) else (
        i.value if i.value is None else _fitting(i.value, i.variable, True))
    if isinstance(i.value, SharedVariable):
        value = bare(i.value)
    update = i.update if i.update is None else _like(i.variable, i.update)
    return [OurIn(bare(i.variable), value, name=i.name, update=update, mutable=i.mutable,
                  borrow=borrows and i.borrow and value is None)]


def _input(x: Any) -> Any:
    if not isinstance(x, (Variable, ObjectVariable)):
        raise TypeError(f"Unknown parameter type: {type(x).__name__}; inputs are variables or In")
    return x


def _parts(x: Any, borrows: bool) -> list[Any]:
    """What our function computes for an output."""
    owned = borrows and not (isinstance(x, Out) and x.borrow)
    x = x.variable if isinstance(x, Out) else x
    if isinstance(x, ObjectVariable):
        return [x]
    if isinstance(x, SparseVariable):
        return outputs_of(x)
    value = as_tensor_variable(x)._value
    return [apply(COPY, as_tensor(value)) if owned else value]


def _pairs(x: Pairs, who: str = "function: updates") -> list[tuple[Any, Any]]:
    """Pairs of a mapping, or of a list of pairs."""
    one = isinstance(x, (Variable, str)) or (x is not None and not isinstance(x, Iterable))
    found: Any = [] if x is None else [x] if one else x.items() if isinstance(x, Mapping) else x
    found = list(found)
    for pair in found:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(at(f"{who} are a mapping, or a list of pairs as in [(old, new)], not "
                               f"{typed(found)}"))
    return found


def _target(x: Any) -> Any:
    if not isinstance(x, (Variable, ObjectVariable)):
        raise TypeError(f"givens are values by variables, as in givens={{x: value}}, not by "
                        f"{typed(x)}")
    return bare(_input(x))


def _like(target: Any, value: Any) -> Any:
    """Return a value as a tensor, in the dtype of ``target`` where no digits are lost."""
    kind = bare(target).dtype
    float_kind = np.finfo(kind).dtype.name if kind.kind in "fc" else our_config.symbolic_float
    with our_config(default_float=float_kind):
        found = as_tensor(bare(value))
    if found.dtype != kind and (np.can_cast(found.dtype, kind) or found.weak):
        return cast(found, kind)
    return found


def _given(target: Any, value: Any, who: str) -> Any:
    """What takes the place of a variable, in its dtype and with as many axes."""
    found = _like(target, value)
    old = bare(target)
    if found.ndim != old.ndim or found.dtype != old.dtype:
        kind = as_tensor_variable(value).type
        raise TypeError(at(f"{who} replace {target!r}, {target.type}, by {kind}: both must have "
                           "the same dtype and number of axes"))
    return found


def shared(value: Any, name: str | None = None, strict: bool = False,
           allow_downcast: bool | None = None, borrow: bool = False,
           broadcastable: Any = None, shape: Any = None, target: Any = None) -> Any:
    """A variable with a value that lasts between calls.

    Parameters
    ----------
    value : array_like
        Or a sparse matrix of SciPy's.
    name : str, optional
    shape : sequence of int or None, optional
        Sizes that no value may change; ``broadcastable`` says where they are 1.
    borrow : bool
        Whether the variable uses the array's memory.

    Returns
    -------
    SharedVariable or SparseShared
    """
    if isinstance(value, Variable):
        raise TypeError("shared(): the value is a variable; give an array")
    if getattr(value, "format", None) in ("csr", "csc"):
        return SparseShared(value, name)
    if isinstance(value, np.random.Generator):
        return shared_generator(value, name)
    if not isinstance(value, np.random.RandomState):
        value = given_array(value)
    found = our_shared(value, name, borrow=borrow)
    sizes = shape if broadcastable is None else [1 if b else None for b in broadcastable]
    if sizes is not None and any(n is not None for n in sizes):
        if len(sizes) != value.ndim or any(n not in (None, m) for n, m in zip(
                sizes, value.shape, strict=True)):
            declared = f"{shape=}" if broadcastable is None else f"{tuple(broadcastable)=}"
            raise TypeError(at(f"shared(): a value of shape {value.shape} is not what "
                               f"{declared} says"))
        found = variable_over(found.storage, list(sizes), found.requires_grad)
    return wrapped(found)


def clone(output: Any, replace: Pairs = None, strict: bool = True,
          share_inputs: bool = True, copy_inputs: bool = False) -> Any:
    """The same expressions over other variables, with their names and tags."""
    swaps = {_target(a): _given(a, b, "clone: replace would")
             for a, b in _pairs(replace, "clone: replacements")}
    several = isinstance(output, (list, tuple))
    whole = [as_tensor_variable(x) for x in (output if several else [output])]
    found = wrapped(our_clone([as_tensor(x._value) for x in whole], swaps))
    keep_names(zip(whole, found, strict=True))
    return found if several else found[0]
