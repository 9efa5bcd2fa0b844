"""``ag.jit``: a Python function over tensors becomes one native function per signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    overload,
)
from weakref import WeakSet

from agnesi.compiler.binding.call_adapter import MISSED
from agnesi.compiler.binding.call_stub import Direct
from agnesi.compiler.compilation.compiled import Settings
from agnesi.compiler.compilation.graph_serialization import check_named
from agnesi.compiler.compilation.limits import byte_count
from agnesi.compiler.reports.compare import compared
from agnesi.compiler.reports.report import Inspectable
from agnesi.compiler.specialization.recorded import (
    as_they_are,
    recorded,
    without_gradient,
)
from agnesi.compiler.specialization.specialization import Version
from agnesi.compiler.specialization.table import Versions
from agnesi.compiler.tracing.arguments.eager import called_with_tensors
from agnesi.compiler.tracing.arguments.objects import ArgumentObjects, ClosedError
from agnesi.compiler.tracing.decisions import INSTEAD, OtherWayError
from agnesi.compiler.tracing.obstacles import ExampleReadError, OnceEagerError, OnlyEagerError
from agnesi.core.calls.arguments import of_argument
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import higher, keyworded
from agnesi.core.storage.device_tensors import PlacedTensor
from agnesi.core.support.config import STATE, config
from agnesi.core.support.errors import TraceError, at, no_attribute
from agnesi.core.support.signal_errors import is_from_signal
from agnesi.core.support.tracing import is_tracing
from agnesi.core.support.tree import Tree
from agnesi.core.tensor import Tensor
from agnesi.core.transformed import name_of, named

if TYPE_CHECKING:
    from agnesi.compiler.c_function import CFunction

#: So often other threads may change what a version depends on before it runs.
_MAX_OVERTAKEN = 3
#: Names of what every jitted function has itself; other attributes are those of its function.
_OWN = frozenset((*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", *(
    "function keep_grads mode settings name versions objects released tangled_calls _used _placed "
    "_noted _specialisations").split()))
#: All jitted functions that there are.
_FUNCTIONS: WeakSet[Jit[..., Any]] = WeakSet()

P = ParamSpec("P")
Q = ParamSpec("Q")
S = TypeVar("S")
R = TypeVar("R", covariant=True)


class Jit(Direct, Inspectable, Generic[P, R]):
    """A function that runs as native code; made by :func:`agnesi.jit`.

    A call goes to the native function of the version in use; what that does not take, to
    :meth:`dispatch`.
    """

    public_names = f"{Inspectable.public_names} c_function function keep_grads mode"

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **keywords: P.kwargs) -> R: ...

    def __init__(self, function: Callable[P, R], *, keep_grads: bool, mode: str,
                 settings: Settings) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.keep_grads = keep_grads
        self.mode = mode
        self.settings = settings
        self.name = name_of(function)
        _FUNCTIONS.add(self)
        self._begin()

    def _begin(self) -> None:
        """Have no version yet."""
        self.versions, self.objects = Versions(self), ArgumentObjects()
        self._used: Version | None = None
        #: Programs for devices, by arguments.
        self._placed: dict[Any, Any] = {}
        #: The version that the last recorded call took.
        self._noted: Version | None = None
        self.call_directly(self.dispatch)

    def __reduce__(self) -> Any:
        """Pickle by reference to its global name, like a function; without one, as the function
        that it
        compiles with its settings.
        """
        if named(self.function) is self:
            return self.function.__qualname__
        check_named(self.function, repr(self))
        return _compiled_again, (self.function, self.keep_grads, self.mode, self.settings)

    if not TYPE_CHECKING:  # other names are errors for type checkers

        def __getattr__(self, name: str) -> Any:
            """An attribute that the user gave to the function."""
            function = self.__dict__.get("function")
            if name in getattr(function, "__dict__", ()):
                return getattr(function, name)
            raise no_attribute("Jit", name, self, f"the jitted function {name_of(function)}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Give an attribute that is none of its own to the function, whose code may read it."""
        if name in _OWN or hasattr(type(self), name) or not hasattr(self.function, "__dict__"):
            super().__setattr__(name, value)
        else:
            setattr(self.function, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self.function, name)

    def __repr__(self) -> str:
        return f"<ag.jit of {self.function!r}>"

    def __copy__(self) -> Any:
        return _compiled_again(self.function, self.keep_grads, self.mode, self.settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        function = deepcopy(self.function, memo)
        if function is self.function:
            return self
        return _compiled_again(function, self.keep_grads, self.mode, self.settings)

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...

    @overload
    def __get__(self: Jit[Concatenate[Any, Q], S], instance: object, owner: Any = None
                ) -> Callable[Q, S]: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def dispatch(self, *args: Any, **keywords: Any) -> Any:
        """Find or make the version for these arguments, and run it.

        Parameters
        ----------
        *args : object
            Arguments of the function.
        **keywords : object
            Arguments by name.

        Returns
        -------
        object
            What the function returns.
        """
        leaves: Sequence[Any]
        leaves, tree = self.objects.of_call((args, keywords))
        if any([isinstance(v, PlacedTensor) for v in leaves]) and not is_tracing():
            from agnesi.compiler.devices.executor import call

            return call(self.function, self.settings, self.name, leaves, tree, self._placed)
        if not config.compiles or _stays_eager(leaves):
            return self._eagerly(args, keywords)
        if self.mode == "compare":
            return compared(self, args, keywords)
        if self.mode == "precision":
            from agnesi.compiler.reports.precision import warn_of_losses

            return warn_of_losses(self, args, keywords)
        found, diverged, tries = MISSED, list[Version](), 0
        try:
            while found is MISSED:
                found = self._found(leaves, tree, args, keywords, diverged)
                tries += 1
                if found is MISSED and tries - len(diverged) > _MAX_OVERTAKEN:
                    return self._eagerly(args, keywords)
        except ClosedError:
            found = MISSED
        except (TypeError, AttributeError) as error:
            explained = of_argument(error, self.name, self.function, args, keywords)
            if explained is error:
                raise
            raise explained from None
        return self.dispatch(*args, **keywords) if found is MISSED else found

    def _found(self, given: Sequence[Any], tree: Tree, args: Any, keywords: Any,
               diverged: list[Version]) -> Any:
        """The result of the version for these arguments; ``MISSED`` to try again.

        Versions that found that Python would decide otherwise go to those that were ``diverged``.
        """
        if self.versions.gives_up(given, tree):
            return self._eagerly(args, keywords)
        eager, version = False, None
        try:
            version, leaves = self.versions.find_or_make(given, tree, diverged)
        except OnlyEagerError as reason:
            self.objects.refuse(True, tree)
            self.versions.give_up(str(reason), reason.instead)
            eager = True
        except OtherWayError:
            self.versions.disagree()
            eager = True
        except OnceEagerError as reason:
            self.versions.note_eager(reason)
            eager = True
        except ExampleReadError:
            eager = True
        except Exception as error:
            if not self.versions.failed(error) or is_from_signal(error):
                raise
        if eager:  # not above, where errors of the function would have those of the trace behind
            return self._eagerly(args, keywords)
        if version is None:
            return self._unlike_trace(self._eagerly(args, keywords))
        tangled = version.tangled(leaves) or version.shares((args, keywords))
        self.tangled_calls += tangled
        if (version.changes_record(leaves) or tangled or version.passing or version.open
                or version.effects.obstacle):
            return self._eagerly(args, keywords)
        result = version(leaves, (args, keywords))
        if result is MISSED:
            diverged += [version] if version.decisions else []
        elif version.direct is not None:
            self._use(version)
            self.versions.use(version)
        elif version.noted and version.recording:
            self._noted, self._used = version, None
            self.call_directly(self._unless_recording(self.ask_others))
        return result

    def _eagerly(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the function itself."""
        return called_with_tensors(self.function, args, keywords)

    def _unlike_trace(self, result: Any) -> Any:
        """A result of the function, whose trace raised an error: it needs values."""
        self.versions.give_up("its trace raised an error that it does not raise on values", INSTEAD)
        return result

    def _attempted_recorded(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """The result of a native call that becomes an operation of the record, ``MISSED`` where it
        takes more."""
        version = self._noted
        direct = None if version is None else version.compiled.direct
        if (version is None or direct is None or keywords or is_tracing()
                or STATE.watch is not None):
            return MISSED
        for v, requires in zip(args, version.assumed.requiring, strict=False):
            if (isinstance(v, Tensor) and v._requires_grad) is not requires:
                return MISSED
        given, state = (args, ()) if version.pure else as_they_are(version, args)
        found = direct(*map(without_gradient, args))
        if found is not MISSED:
            recorded(version, given, state, (found,) if isinstance(found, Tensor) else found)
        return found

    def ask_others(self, *args: Any, **keywords: Any) -> Any:
        """Run what the version in use does not accept: another version's native code may.

        Parameters
        ----------
        *args : object
            Arguments of the function.
        **keywords : object
            Arguments by name.

        Returns
        -------
        object
            What the function returns.
        """
        found = self._packed(args, keywords)
        if found is MISSED and STATE.recording:
            found = self._attempted_recorded(args, keywords)
        if found is not MISSED:
            return found
        for version in self.versions.ready:
            if version is self._used:  # it has refused
                continue
            found = self._attempted(version, args, keywords)
            if found is not MISSED:
                self._use(version)
                return found
        return self.dispatch(*args, **keywords)

    def _attempted(self, version: Version, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """The result of a version's native code, ``MISSED`` where it was not made for the call."""
        call = None if version.unrecorded and STATE.recording else version.attempt
        return MISSED if call is None else call(*args, **keywords)

    def _packed(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """The result of the version in use, given copies of what is not contiguous,
        and plain tensors for those that require gradients where nothing is recorded; ``MISSED``
        where there is no such argument, or code might see that it is another.
        """
        version = self._used
        if version is None or not version.pure or version.laid or version.assumed:
            return MISSED
        recording = STATE.recording
        given = [v if recording and isinstance(v, Tensor) and v._requires_grad
                 else without_gradient(v, in_order=True) for v in args]
        if all(a is b for a, b in zip(args, given, strict=True)):
            return MISSED
        return self._attempted(version, given, keywords)

    def _use(self, version: Version) -> None:
        """Make calls go to a specialization's native code at once."""
        self._used = version
        direct = version.direct
        self.call_directly(self._unless_recording(direct) if version.unrecorded else direct)

    def _unless_recording(self, direct: Callable[..., Any]) -> Callable[..., Any]:
        """Native calls where nothing is recorded; elsewhere the results may need a record."""

        def call(*args: Any, **keywords: Any) -> Any:
            if not STATE.recording:
                return direct(*args, **keywords)
            found = self._attempted_recorded(args, keywords)
            return self.dispatch(*args, **keywords) if found is MISSED else found

        return staticmethod(call)

    @strict
    def version(self, leaves: Sequence[Any], tree: Tree,
                diverged: Sequence[Version] = ()) -> Version:
        """The compiled version for arguments; made now if there is none.

        :param leaves: Tensors and other leaves of the arguments.
        :type leaves: sequence
        :param tree: The shape of their nest.
        :param diverged: Those that it is not, for Python decided otherwise in this call.
        :returns: The code, and what it depends on.
        :raises TraceError: If the function only runs eagerly.
        """
        try:
            version = self.versions.find_or_make(leaves, tree, diverged)[0]
            if version.computed:
                raise TraceError(at(f"{self.name} has results of data-dependent sizes"))
            return version
        except OnlyEagerError as reason:
            raise TraceError(at(f"{self.name} cannot be compiled, for {reason}")) from None
        except OnceEagerError as reason:
            raise TraceError(at(f"{self.name} runs eagerly, for {reason}: {reason.advice}"
                                )) from None

    @strict
    def c_function(self, *args: Any, form: str = "pointers") -> CFunction:
        """The compiled function for arguments like these as a plain C function.

        It runs without Python and its lock, in as many threads at once as you like, and reads
        tensors that the function uses without being given them where they are now.

        :param *args: Arguments of the types and sizes that it will get; their values do not matter.
        :param form: "pointers": ``int f(const T *in, ..., T *out, ...)``, with a pointer to a
            contiguous array for each tensor among the arguments and then the results; results must
            not be over anything else, and 0 is returned unless a check failed.  "values": ``double
            f(double, ...)`` for functions of scalars.  "vector": ``double f(int, double *)``.
        :type form: {"pointers", "values", "vector"}
        :returns: With ``address``, ``signature`` and ``ctypes``; keep it as long as the address is
            used.
        :raises TraceError: If the function changes tensors in place or needs Python.

        >>> import agnesi as ag
        >>> import numpy as np
        >>> f = ag.jit(ag.value_and_grad(lambda x: (x * x).sum()))
        >>> f.c_function(np.zeros(3)).signature
        'int (const double */*3*/, double */*1*/, double */*3*/)'
        """
        from agnesi.compiler.c_function import c_function

        fresh = self.companion(self.function)
        return c_function(fresh.version, args, form)

    @strict
    def companion(self, function: Callable[..., Any]) -> Jit[..., Any]:
        """Another function, compiled with the same settings.

        :param function: What to compile.
        :returns: Of that function.
        :rtype: Jit
        """
        return Jit(function, keep_grads=False, mode="compile", settings=self.settings)


def forget_sizes() -> None:
    """Let functions that have met several sizes find again which of them change.

    Versions for all sizes round differently from those for one.  Those of functions that take
    numbers which change stay: to find these out again takes a compilation for each value.
    """
    for function in list(_FUNCTIONS):
        v = function.versions
        several = any([family.made for family in list(v._families.values())])
        if several and not v.hidden and not any(v.dynamic.values()):
            function._begin()


def _compiled_again(function: Any, keep_grads: bool, mode: str,
                    settings: Settings) -> Jit[..., Any]:
    return Jit(function, keep_grads=keep_grads, mode=mode, settings=settings)


def _stays_eager(leaves: Sequence[Any]) -> bool:
    """Return whether the call belongs to a graph or trace around it."""
    return is_tracing() or any(isinstance(v, Tensor) and v.array is None for v in leaves)


class _OfJit:
    """An option that a compiled function was made with, and that cannot be set any more."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, jitted: Any, owner: Any = None) -> Any:
        if jitted is None:
            return self
        if self.name in vars(jitted):  # of the function that it stands for
            return vars(jitted)[self.name]
        raise AttributeError(f"a compiled function has no attribute {self.name!r}")

    def __set__(self, jitted: Jit[..., Any], value: Any) -> None:
        advice = f"ag.config.threads = {value!r} sets it for all" if self.name == "threads" else (
            f"make another one with ag.jit({jitted.name}, {self.name}={value!r})")
        raise AttributeError(at(f"{self.name} of the compiled {jitted.name} cannot be set: "
                                f"{advice}"))


for _option in ("algebra", "exclude", "include", "memory_limit", "optimizer", "save_dtype",
                "threads"):
    setattr(Jit, _option, _OfJit(_option))


@overload
def jit(
    function: Callable[P, R], *, keep_grads: bool = ..., mode: str = ...,
    optimizer: str | None = ..., include: Sequence[str] = ..., exclude: Sequence[str] = ...,
    memory_limit: float | str | None = ..., save_dtype: DTypeLike = ..., algebra: str | None = ...,
    profile: bool = ...,
) -> Jit[P, R]: ...


@overload
def jit(
    function: None = ..., *, keep_grads: bool = ..., mode: str = ...,
    optimizer: str | None = ..., include: Sequence[str] = ..., exclude: Sequence[str] = ...,
    memory_limit: float | str | None = ..., save_dtype: DTypeLike = ..., algebra: str | None = ...,
    profile: bool = ...,
) -> Callable[[Callable[P, R]], Jit[P, R]]: ...


@higher
@keyworded
def jit(
    function: Callable[..., Any] | None = None,
    *,
    keep_grads: bool = False,
    mode: str = "compile",
    optimizer: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    memory_limit: float | str | None = None,
    save_dtype: DTypeLike = None,
    algebra: str | None = None,
    profile: bool = False,
) -> Any:
    """Compile a Python function over tensors, a whole training step for example.

    The function runs once for each signature on symbols; what it computes becomes one native
    function.  Arguments may be nested lists, tuples, dicts, dataclasses and plain objects of
    tensors and arrays.
    Tensors that it uses without being given them (parameters, optimizer state, random state,
    running statistics) are found; assigning to them inside changes them as in eager code.  Python
    floats are run-time values, and so are whole numbers from their third value on, unless Python
    needs them (a size, ``range``), and texts that no code looks at; other Python values are static:
    a new value is a new version, of texts and the like the first eight, and those that come three
    times; others run eagerly.
    Float arguments divide as arrays do: ``1 / s`` of 0.0 is infinite, where Python raises.

    What it reads besides, of its module, of functions around, of objects, lists and dicts, is
    looked at again before each call, natively: a change makes another version, which
    whose cause :meth:`Jit.explain` names.  Numbers and tensors that keep changing are run-time
    values from then on, in lists, tuples and dicts, too.  Other things that do are given as
    arguments; else the function runs eagerly before long, with a warning.
    Modules of libraries, and what they keep, are taken for granted.  What it puts into objects,
    lists and dicts is put there by each call; so are elements of NumPy's arrays that are assigned
    (``losses[i] = loss``).  An entry of a dict (``h["n"]``) counts alone where code uses no more of
    it, and a list that is only appended to (``h["loss"].append(loss)``) may grow: neither makes
    another version.  Arrays that code changes otherwise make it run eagerly, with a warning.
    Calls in which one object comes as two arguments, or is one that the function knows otherwise,
    run eagerly where code compares identities (``x is y``, or containers of them by ``==`` and
    ``in``) or changes containers; so do those with gradients at arguments whose ``grad`` it reads.
    Arrays whose elements Python or NumPy reads are compared before each call; above 1 MB they make
    it run eagerly, with a warning.

    Where Python decides by a computed value (``if loss > 1``, ``while``, ``int(x.max())``,
    ``x.item()``), each way that it goes is a version of its own, with its gradients.  A version
    checks first what was decided, and hands the call on where that differs; until then nothing is
    changed.  More than 8 ways from one line are run eagerly, with a warning.  Python's numbers
    (``loss.item()``, ``float(loss)``) are computed by each call: they may be added up, compared,
    appended, kept and returned without a version for each value.  A function that makes text of one
    or prints it runs eagerly, with a warning that names the line.

    Results are in memory of their own, also where the function returns or keeps an argument, or a
    view of one or of other state, which are the same or share memory when it runs eagerly.  What it
    computes and keeps in several places, as a whole and as views, shares memory as in eager code.
    No gradient flows on from the results of a training step, which has taken it: to differentiate
    them is an error, to read them is not.  Gradients that it leaves at arguments are there after
    each call, added to what was there; to arguments that were computed the function leaves them
    eagerly, as hooks want it.  What neither results nor state come from is not computed, but what
    eager code checks of it is (that an index is in range, a matrix regular, ``ensure``): only
    bodies of loops and branches leave such checks out.  A call that such a check fails has changed
    nothing; before an error that Python raises, what the function changed stays changed, as in
    eager code.

    A leading size that changes from call to call (a batch, a length) is a run-time value of the
    second version, which then serves all sizes; so is another one that changes alone, and several
    of them are from the third version on.  Where the function needs the number
    (``range(x.shape[0])``, ``if len(x) > 3``), and for sizes 0 and 1, there are versions for
    single sizes.  ``explain()`` lists them with their reasons.

    :param function: The function or method; left out, ``jit`` returns a decorator.
    :type function: callable
    :param keep_grads: Also give out the gradients that the function both makes and uses up.
    :param mode: "compare" runs every call both ways and raises if results or state differ.
        "precision" also computes every call in many digits, by mpmath, and warns of results that
        have lost more digits than the rounding of operands explains; it takes long.
    :type mode: {"compile", "compare", "precision"}
    :param optimizer: Rewrite preset; ``config.optimizer`` by default.
    :type optimizer: {"fast_run", "fast_compile", "None"}, optional
    :param include, exclude: Rewrite rules, by name or tag, to switch on or off; ``exclude`` takes
        the names of the scheduler's passes, too, which ``plan()`` lists.
    :param memory_limit: Bytes ("512MB") that arguments, state, results and temporaries of a call
        may take together. Values are then computed again instead of being kept, the cheapest for
        their size first.
    :type memory_limit: number or str, optional
    :param save_dtype: How to keep large values that are idle while memory is short;
        ``config.save_dtype`` by default.
    :param algebra: Whether rewrite rules keep NaN, infinities and signs of zero ("exact"), or
        simplify as with real numbers: ``x / x`` is 1; ``config.algebra`` by default.
    :type algebra: {"exact", "real"}, optional
    :param profile: Whether the code counts how often and how long each kernel runs, for
        ``profile()``; it takes some 10 ns a kernel.
    :returns: A callable with ``explain()``, ``graph``, ``plan()``, ``ir()`` and ``asm()``.
    :rtype: Jit
    :raises TraceError: At the first call, if Python takes a computed array out (``x.numpy()``), or
        decides inside of ``vmap``, a loop's body or a branch.
    :raises MemoryError: At the first call, if ``memory_limit`` is out of reach; it says what is
        not.
    :raises ValueError: If there is no such mode.
    :raises TypeError: If it is no function, or one that cannot run once, as a generator.
    :see: function, vmap, checkpoint, clear_cache

    >>> w = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> @ag.jit
    ... def step(x, lr):
    ...     w.grad = None
    ...     loss = ((w * x) ** 2).sum()
    ...     loss.backward()
    ...     with ag.no_grad():
    ...         w.sub_(lr * w.grad)
    ...     return loss
    >>> [round(float(step(ag.ones(2), lr)), 4) for lr in (0.1, 0.05)]
    [5.0, 3.2]
    """
    if mode not in ("compile", "compare", "precision"):
        raise ValueError(f"mode must be 'compile', 'compare' or 'precision', not {mode!r}")
    settings = Settings(optimizer, include, exclude, byte_count(memory_limit), save_dtype,
                        algebra=algebra, profile=profile)

    def decorate(f: Callable[P, R]) -> Jit[P, R]:
        _check_runs_once(f)
        return Jit(f, keep_grads=keep_grads, mode=mode, settings=settings)

    return decorate if function is None else decorate(function)


#: Flags of code whose call computes nothing yet: generators, coroutines, and both at once.
_DEFERRED_CODE_FLAGS = 0x20 | 0x80 | 0x200


def _check_runs_once(function: Any) -> None:
    """Raise for what cannot be compiled: no function, a generator or a coroutine."""
    if not callable(function):
        raise TypeError(at(f"ag.jit takes a function, not {typed(function)}"))
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _DEFERRED_CODE_FLAGS:
        raise TypeError(at(f"{code.co_name} is a generator or coroutine, whose call computes "
                           "nothing yet: compile the function that computes one step"))


def _unchanged(obj: Any = None, **ignored: Any) -> Any:
    """PyTorch's ``jit.ignore`` and kin, with options or without: what is decorated."""
    return _unchanged if obj is None else obj


def _script(obj: Any, example_inputs: Any = None, **ignored: Any) -> Any:
    """PyTorch's ``jit.script`` and ``jit.trace``: a compiled function, or a module with a compiled
    ``forward``; one that is called again with other arguments is traced again."""
    if isinstance(obj, type):
        return obj
    if hasattr(obj, "forward"):
        obj.forward = jit(obj.forward)
        return obj
    return jit(obj)


def _instead(name: str, advice: str) -> Callable[..., NoReturn]:
    """A function that raises for a name of PyTorch's without a counterpart."""
    def refused(*args: Any, **keywords: Any) -> NoReturn:
        raise NotImplementedError(at(f"jit.{name}() is PyTorch's; use {advice}"))

    return refused


_GONE = {
    "save": "ag.save(model.state_dict(), path), or pickle.dumps(ag.jit(f))",
    "load": "model.load_state_dict(ag.load(path)), or pickle.loads",
    "trace_module": "ag.jit of each method, or ag.jit(model)",
    "fork": "concurrent.futures", "wait": "concurrent.futures",
}
for _name, _found in (("script", _script), ("trace", _script), ("freeze", _script),
                      ("optimize_for_inference", _script), ("script_if_tracing", jit),
                      ("ScriptModule", Jit), ("ScriptFunction", Jit),
                      *((name, _instead(name, advice)) for name, advice in _GONE.items()),
                      ("is_scripting", lambda: False),
                      ("is_tracing", lambda: False), ("annotate", lambda kind, value: value),
                      ("Final", Final),
                      *((name, _unchanged) for name in ("ignore", "export", "unused", "interface",
                                                         "script_method", "_overload_method"))):
    setattr(jit, _name, _found)
