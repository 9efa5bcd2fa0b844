"""Every setting of the library, typed, with its environment variable; the only reader of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def _flag(text: str) -> bool:
    return text.lower() not in ("", "0", "false", "no", "off")


def _openmp_bound(text: str) -> int:
    """``OMP_NUM_THREADS`` may hold a number for each level of nesting; the first counts."""
    first = text.split(",")[0].strip()
    return int(first) if first.isdigit() else 0


#: Settings, their environment variables and how to read them; a later row wins.
_VARIABLES: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("default_float", "AGNESI_DEFAULT_FLOAT", str),
    ("symbolic_float", "AGNESI_SYMBOLIC_FLOAT", str),
    ("optimizer", "AGNESI_OPTIMIZER", str),
    ("save_dtype", "AGNESI_SAVE_DTYPE", str),
    ("algebra", "AGNESI_ALGEBRA", str),
    ("compile", "AGNESI_COMPILE", _flag),
    ("verify", "AGNESI_VERIFY", _flag),
    ("cache", "AGNESI_CACHE", _flag),
    ("cache_dir", "AGNESI_CACHE_DIR", str),
    ("conv_algorithm", "AGNESI_CONV_ALGORITHM", str),
    ("conv_forward", "AGNESI_CONV_FORWARD", str),
    ("conv_input", "AGNESI_CONV_INPUT", str),
    ("conv_weight", "AGNESI_CONV_WEIGHT", str),
    ("conv_exclude", "AGNESI_CONV_EXCLUDE", str),
    ("lapack", "AGNESI_LAPACK", str),
    ("seed", "AGNESI_SEED", int),
    ("threads", "OMP_NUM_THREADS", _openmp_bound),
    ("threads", "AGNESI_NUM_THREADS", int),
)
_DEFAULTS: dict[str, Any] = {
    "default_float": "float32",
    "symbolic_float": "float64",
    "optimizer": "fast_run",
    "save_dtype": "",
    "algebra": "exact",
    "compile": True,
    "verify": False,
    "cache": True,
    "cache_dir": "",
    "conv_algorithm": "auto",
    "conv_forward": "",
    "conv_input": "",
    "conv_weight": "",
    "conv_exclude": "",
    "lapack": "",
    "seed": None,
    "threads": 0,
}
_CONVOLVE = (
    "implicit_gemm", "direct", "unfold", "fft", "reference",
    "auto", "guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change",
)
#: What settings may be.
CHOICES = {
    "conv_algorithm": _CONVOLVE,
    **dict.fromkeys(("conv_forward", "conv_input", "conv_weight"), ("", *_CONVOLVE)),
    "default_float": ("float16", "float32", "float64"),
    "symbolic_float": ("float16", "float32", "float64"),
    "algebra": ("exact", "real"),
    "optimizer": ("None", "fast_compile", "fast_run"),
    "save_dtype": ("", "float16", "bfloat16", "float32"),
}


def _checked(name: str, value: Any) -> Any:
    if name not in _DEFAULTS:
        raise AttributeError(f"config has no setting {name!r}; there are {sorted(_DEFAULTS)}")
    if name.endswith("_float"):
        value = np.dtype(value).name
    if name == "optimizer" and value is None:
        value = "None"
    if name == "threads" and (not isinstance(value, int) or value < 0):
        raise ValueError(f"config.threads must be a number of threads or 0, not {value!r}")
    if name in CHOICES and value not in CHOICES[name]:
        raise ValueError(f"config.{name} must be one of {CHOICES[name]}, not {value!r}")
    return value


class Config:
    """Settings of the library; attributes can be set, or set for a block.

    Attributes
    ----------
    default_float : str
        dtype of Python floats and of creation functions ("float32"; also "float16", "float64").
    symbolic_float : str
        dtype of symbolic variables that name none, as in ``T.matrix()`` ("float64", as in Theano).
    optimizer : str
        Rewrite preset of compiled functions: "fast_run", "fast_compile" or "None".
    algebra : str
        What rewrite rules of ``ag.jit`` take for granted: "exact" keeps NaN, infinities and signs
        of zero as the Python computes them, but where a result nearer to the exact one exists;
        "real" simplifies as with real numbers, so that ``x / x`` is 1.
    save_dtype : str
        Type in which compiled functions keep large values that lie idle while memory is short:
        activations, mostly, between forward and backward pass.  "float16" halves that memory and
        rounds gradients; values above 65504 overflow.  "" keeps them as they are.
    compile : bool
        False runs functions of ``ag.jit`` as the Python that they are, where ``print`` and a
        debugger see values, and those of ``ag.function`` on the NumPy interpreter.
    verify : bool
        True checks the program after each pass of the scheduler, and that it computes little twice:
        for tests of the compiler, which take some longer then.
    cache, cache_dir : bool, str
        Use of the compile cache on disk, and its folder ("" means the platform's cache folder).
    conv_algorithm : str
        How convolutions are computed: "auto", "implicit_gemm", "direct", "unfold", "fft",
        "reference", or a policy: "guess_once", "guess_on_shape_change", "time_once",
        "time_on_shape_change" (see :func:`agnesi.conv2d`).
    conv_forward, conv_input, conv_weight : str
        The same for the convolution itself and for its gradients alone.
    conv_exclude : str
        Names of algorithms, with commas between them, that are not used.
    lapack : str
        Where linear algebra finds BLAS and LAPACK: "" is the library that NumPy has loaded, a file
        another one, "none" none (see ``agnesi.linalg.backend``).
    seed : int or None
        Where the default generator of random numbers begins, if it is set before the first draw;
        None takes the system's entropy.
    threads : int
        The most threads that compiled code uses, from the next call on; 0 means as many as there
        are cores, which is the most it can name.  ``ag.set_num_threads`` may ask for more.

    Examples
    --------
    >>> import agnesi as ag
    >>> with ag.config(default_float="float64"):
    ...     print(ag.ones(2).dtype)
    float64
    """

    # Slots, because native code compares what they hold.
    __slots__ = ("__dict__", "compiles", "float_dtype")

    compiles: bool
    float_dtype: np.dtype

    def __init__(self) -> None:
        values = dict(_DEFAULTS)
        for name, variable, parse in _VARIABLES:
            if variable in os.environ:
                values[name] = _checked(name, parse(os.environ[variable]))
        self.__dict__["_values"] = values
        self._tell()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(
                f"config has no setting {name!r}; there are {sorted(_DEFAULTS)}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_values"][name] = _checked(name, value)
        self._tell()
        if name == "threads":
            LENT.threads(value)

    def _tell(self) -> None:
        object.__setattr__(self, "compiles", bool(self.compile))
        object.__setattr__(self, "float_dtype", np.dtype(self.default_float))

    @contextmanager
    def __call__(self, **settings: Any) -> Iterator[Config]:
        """Change settings for the length of a ``with`` block."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __repr__(self) -> str:
        return "config(" + ", ".join(f"{k}={v!r}" for k, v in self._values.items()) + ")"


config = Config()


class State(threading.local):
    """What this thread is doing: recording for gradients, and the trace under way, if any."""

    recording: bool = True
    trace: Any = None
    #: What takes down which attributes the traced function reads, if it is traced for ``ag.jit``.
    reads: Any = None
    #: The innermost function that is evaluated on one example for many (``autodiff/vmap.py``).
    examples: Any = None
    #: Whether nodes take down the user's line; rewriting tells new ones that of what they replace.
    placing: bool = True
    #: Functions whose forward rule, given by the user, runs now.
    ruled: tuple[Any, ...] = ()
    #: Told about tensors right before they are changed in place, where somebody has to know.
    watch: Any = None


STATE = State()


class _Witnesses:
    """How many runs in all threads want to see every operation or change: traces, checkpoints.

    Compiled functions go the slow way while there are any.
    """

    __slots__ = ("running",)

    def __init__(self) -> None:
        self.running = 0


WITNESSES = _Witnesses()


class Lent:
    """What the compiler lends to operations, which stand below it; see ``compiler/eager.py``."""

    #: Runs an operation on arrays as compiled code, or gives None: ``run(op, arrays, work)``.
    run: Callable[..., np.ndarray | None] = staticmethod(lambda op, arrays, work: None)
    #: The same of a pointwise operation on arrays of one shape.
    each: Callable[..., np.ndarray | None] = staticmethod(lambda op, arrays, work: None)
    #: Compiled code of an operation, to be called with arrays.
    native: Callable[..., Callable[..., np.ndarray]] | None = None
    #: Whether there is a compiler.
    compiles: Callable[[], bool] = staticmethod(lambda: False)
    #: An array's values in order or their places, or None: ``sort(x, axis, descending, places)``.
    sort: Callable[..., np.ndarray | None] = staticmethod(lambda x, axis, descending, places: None)
    #: A condition that is looked at once the effects before it in the trace are done.
    behind_effects: Callable[[Any], Any] = staticmethod(lambda condition: condition)
    #: The operands of an operation, with Python numbers among them as tensors where it takes those.
    strong: Callable[[Any, Any], Any] = staticmethod(lambda op, xs: xs)
    #: The methods of functions of two operands, such as ``reduce``, by their names.
    folds: Callable[[], dict[str, Callable[..., Any]]] = staticmethod(dict)
    #: Calls in PyTorch's words that give what PyTorch gives, by the names of functions.
    foreign_forms: Callable[[], dict[str, Callable[..., Any]]] = staticmethod(dict)
    #: Stable forms of results, where there are others, by what they were:
    #: ``stable(roots, ends, since, exclude)``.
    stable: Callable[..., dict[Any, Any]] = staticmethod(lambda roots, ends, since, exclude: {})
    #: Told the most threads that compiled code may use from now on, 0 for all cores.
    threads: Callable[[int], None] = staticmethod(lambda most: None)
    #: Bytes of memory that this process may use.
    memory: Callable[[], int] = staticmethod(lambda: 4 << 30)


LENT = Lent()
