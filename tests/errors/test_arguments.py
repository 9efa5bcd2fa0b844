"""Every public function, called with what it does not take: an error of ours that names it."""

from __future__ import annotations

import contextlib
import doctest
import functools
import inspect
import io
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.op import in_user_code
from tests.share import EVERY

MODULES = (ag, ag.linalg, ag.fft, ag.special, ag.random, ag.nn.functional, ag.sparse)
#: What stands in the place of each argument in turn.
WRONG: dict[str, Any] = {
    "string": "a", "None": None, "objects": np.array([None, {}], object),
    "axes": np.ones((2, 1, 3, 2, 1)), "bool": True, "float": 1.5, "negative": -7,
    "ragged": [[1], [2, 3]], "masked": np.ma.masked_array([1.0, 2.0], [False, True]),
}
#: What hardly anybody gives: also there the error names the function, and nothing hangs.
STRANGE: dict[str, Any] = {
    "module": np, "ellipsis": ..., "huge": 10**30, "set": {1, 2}, "bytes": b"ab",
    "records": np.zeros(2, [("a", "f4"), ("b", "i4")]), "strings": np.array(["a", "b"]),
    "days": np.array(["2020-01-01"], "datetime64[D]"), "slice": slice(0, 2), "NaN": float("nan"),
    "sparse": ag.eye(2).to_sparse(), "nothing": ag.zeros(0), "one": (7,), "range": range(3),
    "bytearray": bytearray(b"xy"), "seconds": np.array([1, 2], "timedelta64[s]"),
}
#: Functions that do what is asked so many times, and errors of SciPy's.
LONG = set("""fori_loop invpascal multigammaln mvlgamma pascal pbdv pbvv pca_lowrank polyint
           svd_lowrank""".split()) | {"eval_" + name for name in """
    chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre legendre""".split()}
#: Texts of Python and NumPy that say nothing about the function that was called.
INTERNAL = (
    "object has no attribute", "'NoneType'", "unsupported operand", "not iterable", "has no len",
    "not subscriptable", "list indices", "tuple index out", "list index out", "not supported be",
    "only integer scalar", "too large to convert", "cannot unpack", "not enough values",
    "too many values", "unhashable", "as an integer", "do not fit together", "truth value of an a",
    "setting an array", "cannot convert", "zip()", "recursion",
)
#: They take functions, compile, or write files: what their arguments may be is another matter, or
#: takes time.
ASIDE = ("scaled_dot_product_attention", "while_loop", "callback", "config", "NoReturn", "public",
         "no_attribute", "set_num_threads", "limit_memory", "keep_memory", "manual_seed",
         "clear_cache", "reduced_loss", "save")
#: Their errors are of a kind of their own: other exceptions, or texts about functions.
OTHERS = {"from_dlpack": AttributeError, "elementwise": SyntaxError, "reduction": SyntaxError,
          "load": FileNotFoundError,
          "function": ag.MissingInputError if hasattr(ag, "MissingInputError") else ValueError}


def functions() -> Iterator[tuple[str, Any]]:
    seen = set()
    for module in MODULES:
        for name in sorted(dir(module)):
            f = getattr(module, name)
            known = name.startswith("_") or name in ASIDE or isinstance(f, type) or id(f) in seen
            if callable(f) and not known and getattr(f, "__doc__", None):
                seen.add(id(f))
                yield name, f


def example(f: Any) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of the first call in the docstring's example."""
    calls: list[tuple[list[Any], dict[str, Any]]] = []

    @functools.wraps(f)
    def note(*args: Any, **keywords: Any) -> Any:
        calls.append((list(args), dict(keywords)))
        return f(*args, **keywords)

    places = [(m, n) for m in MODULES for n in dir(m) if not n.startswith("_")
              and getattr(m, n, None) is f]
    for m, n in places:
        setattr(m, n, note)
    names: dict[str, Any] = {}
    try:
        for e in doctest.DocTestParser().get_examples(inspect.getdoc(f) or ""):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                exec(compile(e.source, "<example>", "single"), names)
            if calls:
                return calls[0]
    finally:
        for m, n in places:
            setattr(m, n, f)
    return None


def changed(f: Any, given: dict[str, Any] = WRONG
            ) -> Iterator[tuple[str, str, str, list[Any], dict[str, Any]]]:
    """Calls of a function with one argument replaced: parameter, its declaration, what, arguments.
    """
    found = example(f)
    for i, p in enumerate(inspect.signature(f).parameters.values() if found else ()):
        for what, wrong in given.items():
            args, keywords = list(found[0]), dict(found[1])  # type: ignore[index]
            if p.kind is p.VAR_POSITIONAL:
                args[i:i + 1] = [wrong]
            elif p.kind is not p.KEYWORD_ONLY and i < len(args):
                args[i] = wrong
            elif p.kind is not p.POSITIONAL_ONLY and p.kind is not p.VAR_KEYWORD:
                keywords[p.name] = wrong
            else:
                continue
            yield p.name, str(p.annotation), what, args, keywords


def complaint(name: str, f: Any, error: Exception) -> str:
    """What is wrong with an error, or nothing."""
    text = str(error).partition("\n")[0]
    reason = text.partition("): ")[2] or text
    if in_user_code(error) or isinstance(error, OTHERS.get(name, ag.GradientError)):
        return ""
    if not isinstance(error, (TypeError, ValueError, IndexError, MemoryError)):
        return f"{type(error).__name__}: {text}"
    if any(words in reason for words in INTERNAL) and "it is called as" not in reason:
        return f"internal: {text}"
    if NAMED.get(name, name) in text:
        return ""
    return "" if f.__name__.strip("_") in text else f"without a name: {text}"


def refused(name: str, parameter: str, declared: str, what: str) -> bool:
    """Whether a call has to fail: numbers that are no integers, or are no sizes."""
    if what in ("bool", "float"):
        return declared in ("int", "int | None", "Axis") or parameter in ("axis", "shape")
    if what in ("string", "objects", "ragged", "masked"):
        kinds = ("int", "int | None", "Axis")
        return parameter in ("x", "x1", "x2") or declared in kinds
    return what == "negative" and parameter in ("size", "minlength", "length", "num")


#: What some functions are for the arguments of their examples.
NAMED = {"pow": "square", "polygamma": "trigamma", "to": "astype"}
#: Where a general rule does not hold, and why.
KEPT = {
    "can_cast", "result_type", "isscalar", "iterable",  # they ask what it is
    "gamma", "standard_gamma",  # the shape is that of the distribution
    "op", "scan", "checkpoint_sequential", "vmap",  # ``like=True``; lengths are of their own kind
}


def tried(rows: list[tuple[str, Any]], given: dict[str, Any] = WRONG
          ) -> Iterator[tuple[str, str, str, str, str | None]]:
    """Calls with an argument of another kind: the function, the parameter, its declaration, what
    is given, and what the error lacks; None where there is no error."""
    for name, f in rows:
        for parameter, declared, what, args, keywords in changed(f, given):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    f(*args, **keywords)
            except Exception as error:
                yield name, parameter, declared, what, complaint(name, f, error) or ""
            else:
                yield name, parameter, declared, what, None


@pytest.mark.share(2)
@pytest.mark.parametrize("part", range(6))
def test_errors_name_the_function_and_its_arguments(part: int) -> None:
    warnings.simplefilter("ignore")
    wrong, count, silent = [], 0, []
    rows = [(n, f) for n, f in functions() if f.__module__ != "agnesi.ops.elementwise.formula"]
    for name, parameter, declared, what, text in tried(rows[part::6 if EVERY else 18]):
        count += 1
        if text:
            wrong.append((name, parameter, what, text))
        elif text is None and refused(name, parameter, declared, what) and name not in KEPT:
            silent.append((name, parameter, declared, what))
    assert count > 300
    assert wrong == []
    assert silent == []


@pytest.mark.share(2)
@pytest.mark.parametrize("part", range(4))
def test_strange_arguments_are_refused_by_name(part: int) -> None:
    warnings.simplefilter("ignore")
    wrong, count = [], 0
    rows = [(n, f) for n, f in functions() if n not in LONG]
    for name, parameter, _, what, text in tried(rows[part::4 if EVERY else 40], STRANGE):
        count += 1
        if text:
            wrong.append((name, parameter, what, text))
    assert count > 300
    assert wrong == []


def test_methods_refuse_as_functions_do() -> None:
    warnings.simplefilter("ignore")
    wrong, count = [], 0
    for name in dir(ag.Tensor):
        method = inspect.getattr_static(ag.Tensor, name)
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        places = [p for p in list(inspect.signature(method).parameters.values())[1:]
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        for i, p in enumerate(places):
            for what, bad in WRONG.items():
                args = [1 if q.default is q.empty else q.default for q in places]
                args[i], count = bad, count + 1
                try:
                    method(ag.ones((2, 3)), *args[:i + 1])
                except Exception as error:
                    if text := complaint(name.rstrip("_"), method, error):
                        wrong.append((name, p.name, what, text))
    assert count > 1000
    assert wrong == []


def test_errors_are_the_same_while_a_function_is_traced() -> None:
    warnings.simplefilter("ignore")
    wrong, count = [], 0
    some = [(n, f) for n, f in functions() if zlib.crc32(n.encode()) % (10 if EVERY else 30) == 3]
    for name, f in some:  # a part of them, which stays the same when others are added
        for parameter, _, what, args, keywords in changed(f):
            if what not in ("string", "bool") or parameter == "out":
                continue
            def call(f: Any = f, args: Any = args, keywords: Any = keywords) -> Any:
                return f(*args, **keywords)
            count += 1
            errors = []
            for run in (call, ag.jit(call)):
                try:
                    run()
                except Exception as error:
                    errors.append(type(error))
                    if text := complaint(name, f, error):
                        wrong.append((name, parameter, what, text))
            if len(errors) == 1 and not issubclass(errors[0], TypeError):
                wrong.append((name, parameter, what, f"{errors} in one way only"))
    assert count > 30
    assert wrong == []


X, Q = np.ones((2, 3)), np.array([3.0, 4.0])
W = ag.ones(2, requires_grad=True)
SPARSE = ag.eye(2).to_sparse()
MASKED = np.ma.masked_array(Q, [False, True])
REFUSED: list[tuple[Any, str]] = [
    (lambda: ag.fft.fft(Q, n=-1), "n must be at least 0"),
    (lambda: ag.fft.fft(Q, n=True), "n must be an integer, not True"),
    (lambda: ag.digitize(Q, [1, 3, 2]), "bins must rise or fall"),
    (lambda: ag.sum(X, axis=True), "axis must be an integer, not True"),
    (lambda: ag.sum(X, axis=(True, 0)), "axis must be an integer, not True"),
    (lambda: ag.zeros((True, 6)), "a size must be an integer, not True"),
    (lambda: ag.select([], []), "there is no condition to select by"),
    (lambda: ag.norm(Q, axis=()), "axis names no axis"),
    (lambda: ag.linalg.norm(Q, axis=()), "axis names no axis"),
    (lambda: ag.exp(np.ma.masked_array(Q, [0, 1])), "tensors have no masks"),
    (lambda: ag.from_dlpack(np.ma.masked_array(Q, [0, 1])), "tensors have no masks"),
    (lambda: ag.grad(ag.sum)(np.ma.masked_array(Q, [0, 1])), "grad: tensors have no masks"),
    (lambda: ag.shared(np.zeros(2, "int8")).set_value([300, 1]), "300 does not fit into int8"),
    (lambda: ag.function([a := T.imatrix("a")], a + 1)([[2**40]]), "does not fit into int32"),
    (lambda: ag.unique(Q, size=-1), "size must be at least 0"),
    (lambda: ag.special.jnjnp_zeros(-1), "how many must be at least 1"),
    (lambda: ag.sparse.csr(X, (5, 5)), "the matrix has shape"),
    (lambda: ag.max_pool(X[None], 10**30, cover_all=True), "kernel 10+ must be at most"),
    (lambda: ag.avg_pool(X[None], True), "kernel True must be an integer"),
    (lambda: ag.tensor(Q) * MASKED, "tensors have no masks"),
    (lambda: ag.layer_norm(ag.tensor(Q), 2, MASKED), "tensors have no masks"),
    (lambda: ag.addr(ag.eye(2), Q, Q, alpha=MASKED), "tensors have no masks"),
    (lambda: ag.percentile(Q, MASKED), "tensors have no masks"),
    (lambda: ag.pad(Q, 1, constant_values=MASKED), "tensors have no masks"),
    (lambda: ag.compress(np.array([None, {}]), Q), "cannot make a tensor"),
    (lambda: ag.histogram_bin_edges(Q, weights=[1, 2, 3]), "weights must have the shape"),
    (lambda: ag.array([1], name=3), "name must be a string"),
    (lambda: ag.ensure(Q, Q > 0, 3), "message must be a string"),
    (lambda: ag.fft.fft2(X, axes={0, 1}), "sizes and axes are lists or tuples"),
    (lambda: ag.FloatTensor(2, device="x"), "there is one device"),
    (lambda: ag.sparse.sp_sum(ag.ones(2)), "a must be a sparse tensor"),
    (lambda: ag.sparse.softmax(ag.ones((2, 3)), 1), "input must be a sparse tensor"),
    (lambda: ag.sparse.CSC([1.0], [0], [0, 1], None), "shape must be"),
    (lambda: ag.tensor([MASKED]), "tensors have no masks"),
    (lambda: ag.stack([Q, MASKED]), "tensors have no masks"),
    (lambda: ag.sum([Q, [MASKED, Q]][1:]), "tensors have no masks"),
    (lambda: ag.hstack({1, 2}), "the tensors to join come in a list or tuple"),
    (lambda: ag.stack({1: Q}), "the tensors to join come in a list or tuple"),
    (lambda: ag.arange(300, 305, dtype="int8"), "300 does not fit into int8"),
    (lambda: ag.arange(-3, 3, dtype="uint8"), "-3 does not fit into uint8"),
    (ag.jit(lambda: ag.arange(2**63, 2**63 + 3)), "does not fit into int64"),
    (ag.jit(lambda: ag.arange(10**30, 8, 2)), "does not fit into int64"),
    (lambda: ag.ravel_multi_index(([0], [1]), (2.5, 3)), "must be an integer, not 2.5"),
    (lambda: ag.quantile(Q, ag.tensor(0.5j)), "q must be a number"),
    (lambda: ag.linalg.lu_unpack(ag.eye(2), [1, 2]),  # PyTorch's of any matrix end with its size
     r"pivots must be at least 0 \(PyTorch's count from 1: subtract 1\) and less than 2, not 2"),
    (lambda: ag.linalg.lu_solve((ag.eye(2), [0, -1]), Q), "pivots must be at least 0"),
    (ag.jit(lambda: ag.linalg.lu_unpack(ag.eye(2), [0, 3])), "pivots must be at least 0"),
    (ag.jit(lambda x=None: ag.cholesky_solve(-7, ag.eye(2))), "has too few axes"),
    (lambda: ag.nn.functional.fractional_max_pool2d(X[None, None], 2, [1, 2, 3]), "output_size"),
    (lambda: ag.pad(Q, 1, "reflect", stat_length=2), "mode 'reflect' takes no statistics"),
    (lambda: ag.randint(np.float64("nan"), 5, (3,)), "low must be an integer, not nan"),
    (lambda: ag.randint(0, np.True_, (3,)), "high must be an integer, not True"),
    (lambda: ag.randint(ag.tensor([1.5]), 5, (3,)), "low must be an integer"),
    (lambda: ag.broadcast_shapes((-5,), (1,)), "sizes must not be negative"),
    (lambda: ag.histogram(Q, []), "bins must be a number, or at least one edge"),
    (lambda: ag.histogram2d(Q, Q, 2, range=[]), "not 2 bins and 0 ranges"),
    (lambda: ag.histogramdd([Q, Q, Q], [2, 3]), "not 2 bins and 3 ranges"),
    (lambda: ag.ravel_multi_index(range(3), (2, 3)), "one index and one mode, not 3 and 2"),
    (lambda: ag.stack([Q, SPARSE]), "stack.*arrays cannot be sparse: to_dense"),
    (lambda: ag.tensor([SPARSE, W]), "arrays cannot be sparse: to_dense"),
    (lambda: ag.histogram2d(SPARSE, Q), "histogram2d.* cannot be sparse"),
    (lambda: ag.Lop(Q, SPARSE, Q), "Lop"),
    (lambda: ag.trim_zeros(Q, SPARSE), "trim must be"),
    (lambda: ag.nn.init.dirac_(ag.zeros((3, 3, 3)), 0), "0 groups do not divide 3 filters"),
    (lambda: ag.nn.init.trunc_normal_(ag.zeros(3), std=0), "std must be above 0, not 0"),
    (lambda: ag.nn.functional.group_norm(X, 0), "groups must be at least 1"),
    (lambda: ag.autograd.grad(W * 2, W, is_grads_batched=True), "needs grad_outputs"),
    (lambda: ag.autograd.grad([], Q), "outputs must be a tensor, or at least one in a list"),
    (lambda: ag.autograd.grad(W * 2, W, [ag.ones(2), ag.ones(2)]), "as many, not 1 and 2"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_was_accepted_silently(call: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        call()


def test_numpy_numbers_are_taken_where_pythons_are() -> None:
    assert ag.bincount(ag.tensor([0, 1, 1]), length=np.int64(2)).tolist() == [1, 2]
    convolve = ag.nn.Conv2d(1, 2, np.array([3, 3]), padding=np.array(1))
    assert convolve(ag.ones((1, 1, 4, 4))).shape == (1, 2, 4, 4)
    assert repr(ag.nn.AvgPool2d(np.array([2, 2]))) == "AvgPool2d([2, 2])"
    assert repr(ag.nn.Embedding(3, 2, sparse=np.bool_(True))).startswith("Embedding(3, 2, sparse")
    assert ag.diff(ag.ones(3), n=10**30).shape == (0,)
    x = ag.rand((1, 2, 3))
    assert ag.allclose(ag.nn.functional.local_response_norm(x, 10**6, alpha=1e6),
                       x / (1 + (x * x).sum(1, keepdims=True)) ** 0.75)


@pytest.mark.parametrize("mask", [[[True]], [True], np.array([[True]]), ag.tensor([True])])
def test_masks_have_the_shape_of_what_they_select_from(mask: Any) -> None:
    def assign(q: Any) -> Any:
        q = q * 1
        q[mask] = 7
        return q

    for run in (assign, ag.jit(assign)):
        with pytest.raises(IndexError, match="the axes it stands for"):
            run(ag.zeros((2, 3)))


def test_bins_are_checked_in_compiled_code() -> None:
    digitize = ag.jit(lambda x, bins: ag.digitize(x, bins))
    bins = [4.0, 3.5, 3.0]
    assert digitize(ag.tensor(Q), ag.tensor(bins)).tolist() == np.digitize(Q, bins).tolist()
    with pytest.raises(ValueError, match="bins must rise or fall"):
        digitize(ag.tensor(Q), ag.tensor([4.0, 3.0, 3.5]))


def test_what_the_users_functions_raise_passes() -> None:
    def f(x: Any) -> Any:
        return x.nothing + {}["key"]

    with pytest.raises(AttributeError, match="nothing"):
        ag.grad(f)(ag.ones(2))
    with pytest.raises(AttributeError, match="nothing"):
        ag.scan(lambda c, x: f(c), 0.0, ag.ones(3))


@pytest.mark.parametrize("size", [10**30, 2**63 - 1])
def test_layers_and_ranges_beyond_memory_say_their_size(size: int) -> None:
    for make in (lambda: ag.nn.Conv2d(size, 1, 3), lambda: ag.nn.ConvTranspose1d(1, size, 3)):
        with pytest.raises(MemoryError, match=r"no memory for .* GB, float32"):
            make()
    with pytest.raises(MemoryError, match="arange"):
        ag.arange(size)


def test_diagonals_beyond_the_matrix_are_empty() -> None:
    for run in (ag.diagonal, ag.jit(ag.diagonal)):
        assert run(ag.eye(2), 2**40).shape == (0,)


@pytest.mark.parametrize("call", [
    lambda: ag.conv2d(ag.ones((1, 1, 3, 3)), ag.ones((1, 1, 2, 2)), padding=(2**20, 2**22)),
    lambda: ag.combinations(ag.ones(70000), 3),
])
def test_results_beyond_memory_are_refused_before_anything_is_planned(call: Any) -> None:
    with pytest.raises(MemoryError, match=r"there is no memory for .* GB"):
        call()


#: Booleans where integers, sizes or orders are meant, one inside of a list.
BOOLEANS: dict[str, Any] = {
    "split": lambda: ag.split(ag.arange(3), [True, 2]),
    "fold": lambda: ag.nn.functional.fold(ag.ones((1, 1, 1)), (True, True), 1),
    "solve_triangular": lambda: ag.linalg.solve_triangular(ag.eye(2), ag.ones(2), True),
    "lu_solve": lambda: ag.linalg.lu_solve(ag.linalg.lu_factor(ag.eye(2)), ag.ones(2), True),
    "pad": lambda: ag.pad(ag.ones(3), 1, "mean", stat_length=(True, 1)),
    "sum": lambda: ag.sparse.sum(ag.eye(2).to_sparse(), True),
    "array_split": lambda: ag.array_split(ag.arange(3), True),
    "repeat": lambda: ag.repeat(X, True),
    "repeat_interleave": lambda: ag.repeat_interleave(X, True),
    "tensor_split": lambda: ag.tensor_split(ag.arange(3), (True, 2)),
    "split_with_sizes": lambda: ag.split_with_sizes(ag.arange(3), [True, 2]),
    "partition": lambda: ag.partition(X, True), "argpartition": lambda: ag.argpartition(X, [True]),
    "select": lambda: ag.select(X, 0, True), "norm": lambda: ag.linalg.norm(ag.eye(2), True),
    "matrix_norm": lambda: ag.linalg.matrix_norm(ag.eye(2), np.True_),
    "solve_banded": lambda: ag.linalg.solve_banded((True, 1), np.ones((3, 2)), np.ones(2)),
    "scan": lambda: ag.scan(lambda c, x: (c, c), ag.zeros(()), None, length=True),
    "fori_loop": lambda: ag.fori_loop(0, True, lambda i, c: c, ag.zeros(())),
    "unpad_sequence": lambda: ag.nn.functional.unpad_sequence(ag.ones((2, 1)), [True]),
    "affine_grid": lambda: ag.nn.functional.affine_grid(ag.ones((1, 2, 3)), (True, 1, 2, 2)),
    "interpolate": lambda: ag.nn.functional.interpolate(ag.ones((1, 1, 2)), scale_factor=True,
                                                        mode="linear"),
}


@pytest.mark.parametrize("name", BOOLEANS)
def test_booleans_are_no_integers(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"(?s){name}.*True"):
        BOOLEANS[name]()


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("label", [-1, 3])
def test_targets_that_are_no_labels(run: Any, label: int) -> None:
    scores, lengths = ag.log_softmax(ag.zeros((4, 1, 3))), (ag.tensor([4]), ag.tensor([2]))
    with pytest.raises(ValueError, match="targets must be labels, at least 0 and below 3"):
        run(lambda t: ag.nn.functional.ctc_loss(scores, t, *lengths))(ag.tensor([[label, 1]]))
    assert run(lambda t: ag.nn.functional.ctc_loss(scores, t, *lengths))(
        ag.tensor([[1, 2, label]])).isfinite()  # behind its length


#: Counts, sizes and orders that are no integers, or none that int64 holds; with text of the error.
NO_COUNTS: dict[str, tuple[Any, str]] = {
    "repeat": (lambda: ag.repeat(X, 1.5), "repeats must be integers, not 1.5"),
    "index_fill": (lambda: ag.index_fill(X, 0, ag.tensor(True), 1.0), "not bool"),
    "index_copy": (lambda: ag.index_copy(X, 0, [True, False], X[:1]), "not bool"),
    "assoc_legendre_p": (lambda: ag.special.assoc_legendre_p(1.5, 0, [0.3]), "whole numbers"),
    "sph_legendre_p": (lambda: ag.special.sph_legendre_p(2, [0.5], [0.3]), "whole numbers"),
    "sph_harm_y": (lambda: ag.special.sph_harm_y(float("nan"), 0, 0.3, 0.4), "whole numbers"),
    "binomial": (lambda: ag.random.binomial(float("inf"), 0.5), "less than 2"),
    "multinomial": (lambda: ag.random.multinomial(1e30, [0.5, 0.5]), "less than 2"),
    "hypergeometric": (lambda: ag.random.hypergeometric(float("inf"), 2, 1), "less than 2"),
    "negative_binomial": (lambda: ag.random.negative_binomial(5, 1e-300), "less than 2"),
    "choice": (lambda: ag.random.choice(5, np.float64(1.5)), "an integer, not"),
    "randint": (lambda: ag.randint(0, 5, np.float64(1.5)), "integers?, not"),
}


@pytest.mark.parametrize("name", NO_COUNTS)
def test_counts_are_integers(name: str) -> None:
    call, text = NO_COUNTS[name]
    with pytest.raises((TypeError, ValueError), match=rf"(?s){name}.*{text}"):
        call()
