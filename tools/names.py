"""Which functions of NumPy and SciPy agnesi has, which have gradients, which compile natively.

``make coverage`` calls this.  Every function is tried: with operands that suit it, under ``jit``
(does its plan call Python?) and under ``vjp``.  ``--list`` prints a line for each function.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.support import tree

#: Why names are left out, as patterns.
LEFT_OUT = {
    "numpy": {
        "text, files and printing": """
            array2string array_repr array_str base_repr binary_repr format_float_\\w+ fromfile
            fromregex fromstring genfromtxt \\w*printoptions load loadtxt memmap save savetxt savez
            savez_compressed typename
        """,
        "dates": "busday\\w* datetime\\w* is_busday isnat",
        "Python objects, iterators and classes of arrays": """
            asmatrix bmat frompyfunc nested_iters matrix recarray nd\\w+ nditer broadcast
        """,
        "settings and information": """
            get_include geterr\\w* getbufsize info setbufsize seterr\\w* show_config show_runtime
            test errstate
        """,
        "an order in memory, which tensors do not promise": """
            ascontiguousarray asfortranarray isfortran require
        """,
        "types that depend on values, or on NumPy's own classes": """
            common_type min_scalar_type mintypecode real_if_close
        """,
    },
    "numpy.linalg": {},
    "numpy.fft": {},
    "scipy.special": {
        "sequences of orders and degrees, for each of which there is a function": """
            stirling2 \\w+_seq lmbda lqmn lqn riccati_\\w+ mathieu_\\w+_coef legendre_p_all
            assoc_legendre_p_all sph_\\w+_all
        """,
        "polynomials as objects, where eval_ and roots_ have functions": """
            legendre chebyt chebyu chebyc chebys jacobi laguerre genlaguerre hermite hermitenorm
            gegenbauer sh_\\w+
        """,
        "older names of roots_": "\\w+_roots",
        "ellipsoidal harmonics": "ellip_harm\\w* ellip_normal",
        "settings and information": "errstate geterr seterr test \\w*Error \\w*Warning",
    },
    "scipy.linalg": {
        "access to LAPACK and BLAS by name": "get_\\w+_funcs find_best_\\w+ blas lapack",
        "test matrices": """
            fiedler_companion
        """,
        "decompositions of pencils, and updates": """
            qz ordqz qr_delete qr_insert qr_update cdf2rdf rsf2csf cossin ldl hessenberg gen\\w*
            bandwidth matrix_balance
        """,
        "equations of control": "solve_\\w+are",
        "bands, for which there are sparse matrices": """
            \\w*_banded\\w* eig\\w*_tridiagonal eig_banded eigvals_banded
        """,
        "any function of a matrix, given as Python, and condition numbers": "funm expm_cond",
        "sketches by random numbers of their own": "clarkson_woodruff_transform",
        "settings and information": "test \\w*Error \\w*Warning",
    },
}
SPACES = {
    "numpy": "agnesi", "numpy.linalg": "agnesi.linalg", "numpy.fft": "agnesi.fft",
    "scipy.special": "agnesi.special", "scipy.linalg": "agnesi.linalg",
}
R = np.random.default_rng(0)
_SQUARE = R.uniform(0.2, 0.8, (3, 3)) + np.eye(3)
X = ag.tensor(_SQUARE @ _SQUARE.T)
Y, V = ag.tensor(R.uniform(0.1, 0.9, (3, 3))), ag.tensor(np.array([0.2, 0.5, 0.7]))
I = ag.tensor(np.array([[1, 0, 2], [2, 1, 1], [0, 2, 1]]))  # noqa: E741 - integers
M, C = Y > 0.5, Y + 0.5j
#: Operands where the common ones do not suit.
OPERANDS: dict[str, tuple[Any, ...]] = {
    "apply_along_axis": (lambda row: row * 2, 0, X), "apply_over_axes": (ag.sum, X, 0),
    "arccosh": (X + 1,), "choose": (I, [X, Y, 1.0]), "compress": ([True, False, True], X),
    "copyto": (X, Y), "einsum": ("ij,jk", X, Y), "einsum_path": ("ij,jk", X, Y),
    "frombuffer": (b"abcd",), "fromfunction": (lambda i, j: i + j, (2, 3)),
    "fromiter": ([1.0], "float64"), "full": ((2,), 1.0), "heaviside": (X, 0.5),
    "histogram2d": (V, V), "interp": (X, V, V), "insert": (X, 1, 0.5), "ix_": ([0, 1], [1]),
    "linspace": (0.0, 1.0, 5), "logspace": (0.0, 1.0, 5), "geomspace": (1.0, 8.0, 4),
    "mask_indices": (3, ag.triu), "pad": (X, 1), "piecewise": (X, [M], [lambda v: v * v]),
    "place": (X, M, V), "put": (X, [0], 1.0), "putmask": (X, M, V),
    "put_along_axis": (X, I, 1.0, 0), "take_along_axis": (X, I, 0), "polyfit": (V, V, 1),
    "ravel_multi_index": ((I, I), (3, 3)), "select": ([M], [X], 0.0), "tensordot": (X, Y),
    "unravel_index": (I, (3, 3)), "vectorize": (lambda a: a * 2,), "where": (M, X, Y),
    "vecmat": (V, X), "matvec": (X, V), "arange": (5,), "issubdtype": (ag.float32, np.floating),
    "can_cast": (ag.float32, ag.float64), "promote_types": ("int8", "int16"), "lexsort": ((V, V),),
    "unpackbits": (I.astype("uint8"),), "fill_diagonal": (X, 1.0), "bincount": (I[0],),
    "cross": (X, Y), "digitize": (X, V), "searchsorted": (V, X), "ldexp": (X, I),
    "solve_triangular": (X, V), "cho_solve": ((X, True), V),
    "solve_banded": ((1, 1), X, V), "solveh_banded": (X[:2], V), "diagsvd": (V, 3, 4),
    "convolution_matrix": (V, 3),
    "lu_solve": ((X, ag.tensor(np.arange(3))), V),
    **{f"{kind}_cv": (0.0, 1.0, 0.5, 2.0, V) for kind in
       "pro_ang1 pro_rad1 pro_rad2 obl_ang1 obl_rad1 obl_rad2".split()},
    **dict.fromkeys(
        "bdtr bdtrc bdtri fdtr fdtrc fdtri nbdtr nbdtrc nbdtri eval_gegenbauer eval_genlaguerre "
        "hyp1f1 hyperu wright_bessel log_wright_bessel lpmv nctdtrit mathieu_cem mathieu_sem "
        "mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2".split(), (1.0, 2.0, V)),
    **dict.fromkeys("jn_zeros jnp_zeros yn_zeros ynp_zeros jnyn_zeros".split(), (1, 2)),
    **dict.fromkeys(("roots_jacobi", "roots_sh_jacobi"), (3, 2.0, 1.5)),
    "assoc_legendre_p": (2.0, 1.0, V), "sph_legendre_p": (2.0, 1.0, V), "zeta": (2.0, V),
    "tensorsolve": (X, V), "tensorinv": (ag.tensor(np.eye(4).reshape(2, 2, 2, 2)),),
    "multi_dot": ([X, Y, X],), "matrix_power": (X, 3), "polygamma": (1, X), "roots": (V,),
}
GUESSES: tuple[tuple[Any, ...], ...] = (
    (X,), (X, Y), (Y,), (V,), (V, V), (X, V), (I,), (I, I), (M,), (M, M), (C,), (X, 1), (X, 2, 1),
    ([X, Y],), (X, (1, 9)), (X, Y, V), (Y, Y, Y), (V, V, 1), (3,), ((2, 3),), (3, 2.0), (X, 0.3),
    (X, 0, 1), (X, "float32"), (V, (2, 3)), (X.reshape((1, 3, 3)), 1), (I[0], I[1]), (0.5, 0.5),
    (2, V), (1, 1, V), (Y, Y, Y, Y), (ag.float32,), (X, X, X, X),
)


def names(space: str) -> list[str]:
    """Public functions of a module, without classes."""
    module = importlib.import_module(space)
    found = []
    for name in getattr(module, "__all__", dir(module)):
        value = getattr(module, name, None)
        if callable(value) and not isinstance(value, type) and name[0] != "_":
            found.append(name)
    return sorted(set(found))


def reason(space: str, name: str) -> str | None:
    """Why a name is left out."""
    for why, patterns in LEFT_OUT[space].items():
        if any(re.fullmatch(p, name) for p in patterns.split()):
            return why
    return None


def ours(space: str, name: str) -> Any:
    """Our function of this name: in the module of the same purpose, or at the top."""
    place: Any = ag
    for part in SPACES[space].split(".")[1:]:
        place = getattr(place, part, None)
    return getattr(place, name, None) or getattr(ag, name, None)


def suited(name: str, f: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Operands on which the function runs."""
    guesses = itertools.chain([OPERANDS[name]] if name in OPERANDS else [], GUESSES)
    for operands in guesses:
        try:
            f(*operands)
        except Exception:
            continue
        return operands
    return None


def floats(nest: Any) -> Iterator[Any]:
    leaves = tree.flatten(nest)[0]
    return (t for t in leaves if isinstance(t, ag.Tensor) and t.dtype.kind in "fc")


def traced(f: Callable[..., Any],
           operands: tuple[Any, ...]) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the operands that are tensors (in lists too)."""
    leaves, shape = tree.flatten(list(operands))
    places = [i for i, t in enumerate(leaves) if isinstance(t, ag.Tensor)]

    def function(*xs: Any) -> Any:
        full = list(leaves)
        for i, x in zip(places, xs, strict=True):
            full[i] = x
        found = f(*shape.build(full))
        return [t for t in tree.flatten(list(found) if isinstance(found, tuple) else found)[0]
                if isinstance(t, ag.Tensor)]

    return function, [leaves[i] for i in places]


def compiles(f: Callable[..., Any], operands: tuple[Any, ...]) -> str:
    """How compiled code runs it: "native", "C" (libraries' functions too), "python" (calls back),
    "eager" (only), or "" (nothing to compile)."""
    function, xs = traced(f, operands)
    if not xs or not function(*xs):
        return ""
    compiled = ag.jit(function)
    try:
        compiled(*xs)
    except (ag.TraceError, ValueError, TypeError, NotImplementedError):
        return "eager"
    plan = str(compiled.plan())
    for kind, how in (("python", "python"), ("C function", "C")):
        if re.search(rf"^ *\d+: {kind}", plan, re.MULTILINE):
            return how
    return "native"


def flows(f: Callable[..., Any], operands: tuple[Any, ...]) -> str:
    """Whether there are gradients: "yes", "some" (not to all operands), "none", "zero", or "" where
    no float comes of a float."""
    function, xs = traced(f, operands)
    free = [i for i, x in enumerate(xs) if x.dtype.kind in "fc"]
    if not free or not any(True for _ in floats(function(*xs))):
        return ""
    found = slopes(function, xs, free)
    if found == "none" and len(free) > 1:
        return "some" if any(slopes(function, xs, [i]) == "yes" for i in free) else "none"
    return found


def slopes(function: Callable[..., Any], xs: list[Any], free: list[int]) -> str:
    """Whether there are gradients to the operands at the places ``free``."""
    def of_free(*values: Any) -> Any:
        full = list(xs)
        for i, v in zip(free, values, strict=True):
            full[i] = v
        total: Any = 0.0
        for t in floats(function(*full)):
            total = total + ag.sum(ag.real(t) * ag.real(t))
        return total

    try:
        _, back = ag.vjp(of_free, *[xs[i] for i in free])
        found = back(ag.ones((), dtype="float64"))
    except (ValueError, TypeError, ag.GradientError):
        return "none"
    found = found if isinstance(found, (tuple, list)) else (found,)
    return "yes" if any(s is not None and bool(ag.any(s != 0)) for s in found) else "zero"


def report(space: str, listed: bool) -> None:
    """Print what there is of one module."""
    counts: Counter[str] = Counter()
    missing: list[str] = []
    left: Counter[str] = Counter()
    rows: list[str] = []
    for name in names(space):
        why, f = reason(space, name), ours(space, name)
        if f is None:
            if why is None:
                missing.append(name)
            else:
                left[why] += 1
            continue
        counts["there"] += 1
        operands = suited(name, f)
        how = grad = "untried"
        if operands is not None:
            try:
                how, grad = compiles(f, operands), flows(f, operands)
            except Exception as error:
                how = f"failed: {error}".splitlines()[0]
        counts[f"compiled {how}"] += 1
        counts[f"gradient {grad}"] += 1
        rows.append(f"    {name:24} {how or '-':8} {grad or '-'}")
    wanted = counts["there"] + len(missing)
    print(f"{space}: {counts['there']} of {wanted} functions"
          f" ({100 * counts['there'] / max(wanted, 1):.1f} %), {sum(left.values())} left out")
    tried = {k.removeprefix("compiled "): n for k, n in counts.items() if "compiled" in k}
    print(f"  native {tried.get('native', 0)}, C functions {tried.get('C', 0)}, "
          f"through Python {tried.get('python', 0)}, eager only {tried.get('eager', 0)}, "
          f"nothing to compile {tried.get('', 0)}, untried {tried.get('untried', 0)}")
    print(f"  gradients {counts['gradient yes']}, to some operands {counts['gradient some']}, "
          f"zero {counts['gradient zero']}, none {counts['gradient none']}, "
          f"no floats {counts['gradient ']}")
    if missing:
        print("  missing:", " ".join(missing))
    for why, n in left.items():
        print(f"  left out, {n}: {why}")
    if listed:
        print("\n".join(rows))


def main() -> None:
    warnings.simplefilter("ignore")
    chosen = [a for a in sys.argv[1:] if a in SPACES] or list(SPACES)
    for space in chosen:
        report(space, "--list" in sys.argv)


if __name__ == "__main__":
    main()
