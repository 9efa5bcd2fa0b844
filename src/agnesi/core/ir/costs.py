"""About how much a scalar operation of the loop language takes, and what else is known of one."""

from __future__ import annotations

from importlib import import_module

from agnesi.core.support.host import SYSTEM

#: What planning and rules query of an operation of a graph (``Op.traits``), and what each means.
TRAITS = {
    "cheap": "takes less for an element than the element's way through memory",
    "heavy": "worth keeping rather than repeating",
    "commutative": "its two operands may be swapped",
    "comparison": "says whether its two operands are equal, or is 0, 1 or one of them where they "
                  "are",
    "relation": "says how its two operands compare, for which a Python integer beyond a dtype is "
                "more than all that it holds",
    "signed": "has no use for booleans, which NumPy refuses, too",
    "operator": "what Python's operators do to its numbers, which stay weak through it",
    "movement": "an element of the result is one of the first operand's",
    "permutation": "a movement that has each element once",
    "broadcast": "a movement that repeats elements",
    "gather": "a movement of the elements at the indices that the other operands hold",
    "transposition": "a permutation of axes; ``axes`` has their order",
    "conversion": "the same elements in another dtype",
    "unstable": "overflows, or loses digits: forms of it that do not are looked for before it is "
                "differentiated",
    "cancelling": "differences of its values at near operands lose digits",
    "beside_one": "sums of its values and of others lose digits",
    "steep": "its square root loses digits, or overflows before its root does",
    "quotient": "the first operand over the second",
    "selection": "an element of one of the operands behind the first, which decides of which",
    "convolution": "a convolution or one of its adjoints; ``kind`` says which",
    "extreme": "the greatest or the least of its operand's elements",
    "indices": "indices along the ``axis`` of its first operand",
    "alias": "the first operand itself, as another tensor",
    "shape": "an integer scalar that is a size of a shape, which ``size`` is",
    "piecewise": "a sum of regions, which may be written one by one",
    "decision": "the first operand, where Python's branch on the second was the same",
    "ordering": "the first operand, once the others are computed",
    "control": "holds graphs that run as programs of their own",
    "segment": "holds a graph that is lowered instead of it",
    "raises": "refuses some values of its operands",
    "sizes": "has steps whose sizes only the values of its operands decide",
    "draws": "takes numbers of the default generator: runs in the order of the program",
    "waits": "waits for other processes, which count on the order of the program",
    "meets": "waits for other processes when a declared graph runs: in the order of the program, "
             "which its first operand and first result are there to keep",
    "composed": "its ``perform`` makes many calls of NumPy, however few the elements",
    "multipass": "its ``perform`` goes over its operand several times, compiled code once or twice",
    "nonlinear": "sums of its operand's elements are not enough: of complex numbers, the real part "
                 "of the result is not that of the real parts",
    "unvectorized": "NumPy takes its elements one after the other, some 10 ns for each",
    "branching": "NumPy chooses for each element what to do, or converts each first",
}
_CHEAP = frozenset("""
    add subtract multiply negative abs sign maximum minimum where equal not_equal less less_equal
    greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
    bitwise_xor bitwise_invert square relu positive real imag complex conj
""".split())
_COMMUTATIVE = frozenset("""
    add multiply maximum minimum equal not_equal logical_and logical_or logical_xor bitwise_and
    bitwise_or bitwise_xor
""".split())
_COMPARISON = frozenset((
    "equal not_equal less less_equal greater greater_equal subtract divide floor_divide remainder "
    "fmod maximum minimum").split())
_RELATION = frozenset("equal not_equal less less_equal greater greater_equal".split())
_SIGNED = frozenset(("subtract", "negative", "positive"))
_OPERATOR = _RELATION | _SIGNED | frozenset(
    "add multiply divide floor_divide remainder power abs square reciprocal".split())
HEAVY = frozenset((
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh "
    "acosh atanh sigmoid softplus erf erfc erfinv power lgamma digamma cbrt logaddexp hypot "
    "sech_squared"
).split())
_UNSTABLE = frozenset((
    "exp exp2 expm1 log log2 log10 log1p sinh cosh erfc ndtr acos acosh atanh i0 i1 gamma lgamma "
    "digamma").split())
#: What NumPy has vectors of on Linux where the processor has AVX-512, most of them by Intel's SVML;
#: elsewhere at most of float32.
_SVML = frozenset((
    "exp exp2 expm1 log log2 log10 log1p tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "cbrt"
).split())
_CANCELLING = frozenset("tanh sqrt reciprocal square power sin cos tan atan".split())
_BESIDE_ONE = frozenset(("tanh", "erf", "sqrt"))
_STEEP = _UNSTABLE | {"sigmoid", "subtract"}
#: The trait of operands over which an operation loses digits or range that other forms keep.
_UNSTABLE_OVER = {"subtract": "cancelling", "add": "beside_one", "sqrt": "steep"}
_MEDIUM = frozenset("divide sqrt rsqrt reciprocal floor_divide remainder fmod mulhi".split())


#: Nanoseconds that an element of an unvectorized operation takes longer in NumPy than in compiled
#: code, where that is far from what it is for most of them.
_SAVED = {
    **dict.fromkeys(("sigmoid", "xlogy", "radian", "rsqrt", "ndtr", "nextafter"), 1),
    **dict.fromkeys(("exp", "exp2", "log", "log2", "tanh"), 2),
    **dict.fromkeys(("hypot", "erfc", "entr", "sin", "cos", "asin", "acos", "log10"), 3),
    **dict.fromkeys(("huber", "pseudo_huber", "remainder"), 5),
    **dict.fromkeys(("atan2", "sinh", "asinh", "atanh"), 15),
    **dict.fromkeys(("k0", "k0e", "k1", "k1e", "i0", "i0e", "i1", "i1e"), 30),
    "betaln": 70, "digamma": 100, "beta": 1000,  # of negative numbers
    **dict.fromkeys(("gammainc_da", "gammainc_daa", "betainc_da", "betainc_db", "betainc_daa",
                     "betainc_dbb", "betainc_along"), 10_000),
}


#: Nanoseconds that compiled code saves in a call, from which it is requested.
FEW_NANOSECONDS = 5_000


def saved(name: str) -> int:
    """Nanoseconds that compiled code saves for each element of an unvectorized operation."""
    return _SAVED.get(name, 10)


def is_heavy(name: str) -> bool:
    """Return whether a scalar operation is worth keeping rather than repeating."""
    return name in HEAVY


def uses_svml() -> bool:
    """Return whether NumPy computes by SVML on this machine."""
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    return SYSTEM == "linux" and any(
        features.get(name, False) for name in ("X86_V4", "AVX512_SKX"))


#: What NumPy takes element by element here, though not on every machine.
_UNVECTORIZED = frozenset() if uses_svml() else _SVML


def traits(name: str) -> frozenset[str]:
    """The traits of the pointwise operation that evaluates a scalar operation for each element."""
    known = (("cheap", _CHEAP), ("heavy", HEAVY), ("commutative", _COMMUTATIVE),
             ("comparison", _COMPARISON), ("relation", _RELATION), ("signed", _SIGNED),
             ("operator", _OPERATOR), ("unstable", _UNSTABLE), ("cancelling", _CANCELLING),
             ("unvectorized", _UNVECTORIZED), ("beside_one", _BESIDE_ONE), ("steep", _STEEP),
              ("quotient", ("divide",)), ("selection", ("where",)))
    found = [trait for trait, names in known if name in names]
    return frozenset([*found, "raises"] if name == "power" else found)  # of whole numbers


def unstable_over(name: str) -> str:
    """Return the trait of operands over which a scalar operation is unstable; empty for none."""
    return _UNSTABLE_OVER.get(name, "")


def instructions_of(name: str) -> int:
    """Rough number of instructions of a scalar operation."""
    if name in HEAVY:
        return 20
    if name in _MEDIUM:
        return 5
    return 0 if name in ("const", "reduce", "size") else 1


def latency(name: str) -> int:
    """Rough number of cycles from the operands of a scalar operation to its result."""
    return 24 if name in HEAVY else 14 if name in _MEDIUM else 4
