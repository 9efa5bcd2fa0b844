"""Long eager work runs beside the main thread, which signals interrupt."""

import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import agnesi as ag
import agnesi.ops
from agnesi.core.op import Op
from agnesi.core.support import worker_threads as module
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS, aside
from agnesi.ops.linalg import qr

R = np.random.default_rng(0)
V, W, M, S = (
    ag.tensor(R.normal(size=n)) for n in (4000, MIN_ASIDE_NANOSECONDS + 1, (60, 60), (600, 600))
)
LONG = ag.tensor(R.normal(size=40_000))
PLACES = ag.tensor(R.integers(0, 4000, 4000))
A = ag.tensor(R.normal(size=(30, 30)) + 10 * np.eye(30))

FAMILIES = {
    "matmul": lambda: S @ S, "linear": lambda: ag.nn.functional.linear(S, S, S[0]),
    "einsum": lambda: ag.einsum("ij,jk->ik", S, S), "sum": lambda: W.sum(), "max": lambda: W.max(),
    "sort": lambda: ag.sort(V), "argsort": lambda: ag.argsort(V), "topk": lambda: ag.topk(V, 3),
    "searchsorted": lambda: ag.searchsorted(ag.sort(V), V), "cumsum": lambda: ag.cumsum(V, 0),
    "cumprod": lambda: ag.cumprod(V, 0), "cummax": lambda: ag.cummax(V, 0),
    "fft": lambda: ag.fft.fft(V), "rfft": lambda: ag.fft.rfft(V), "eig": lambda: ag.linalg.eig(M),
    "eigh": lambda: ag.linalg.eigh(M), "svd": lambda: ag.linalg.svd(M),
    "qr": lambda: ag.linalg.qr(M),
    "solve": lambda: ag.linalg.solve(A, A), "inv": lambda: ag.linalg.inv(A),
    "det": lambda: ag.linalg.det(A), "cholesky": lambda: ag.linalg.cholesky(A @ A.T),
    "expm": lambda: ag.linalg.expm(M * 0.01), "pinv": lambda: ag.linalg.pinv(M),
    "exp": lambda: ag.exp(S), "gammaln": lambda: ag.special.gammaln(S), "add": lambda: S + S,
    "softmax": lambda: ag.softmax(LONG, 0), "logsumexp": lambda: ag.logsumexp(V, 0),
    "median": lambda: ag.median(V), "quantile": lambda: ag.quantile(V, 0.1),
    "partition": lambda: ag.partition(V, 9), "unique": lambda: ag.unique(V),
    "getitem": lambda: V[PLACES], "take": lambda: ag.take(V, PLACES),
    "gather": lambda: ag.gather(V, 0, PLACES), "index_put": lambda: ag.index_put(V, (PLACES,), V),
    "index_add": lambda: V.index_add(0, PLACES, V), "copy": lambda: ag.copy(V),
    "gradient of getitem": lambda: ag.grad(lambda v: v[PLACES].sum())(V),
    "concatenate": lambda: ag.concatenate([LONG, LONG]), "astype": lambda: V.astype("float32"),
    "arange": lambda: ag.arange(4000), "full": lambda: ag.full((4000,), 2.0),
    "acos of integers": lambda: ag.acos(PLACES), "abs": lambda: abs(W + 1j),
    "argmax": lambda: ag.argmax(V, 0), "tril": lambda: ag.tril(S), "eye": lambda: ag.eye(600),
    "linspace": lambda: ag.linspace(0, 1, 4000), "pad": lambda: ag.nn.functional.pad(V, (1, 1)),
    "scatter_reduce": lambda: V.scatter_reduce(0, PLACES, V, "amax"),
    "geomspace": lambda: ag.geomspace(1, 9, 4000), "tril_indices": lambda: ag.tril_indices(60),
    "bin edges": lambda: ag.histogram_bin_edges(V, "auto"), "hanning": lambda: ag.hanning(4000),
    "embedding": lambda: ag.nn.functional.embedding(PLACES % 600, S),
    "where": lambda: ag.where(S > 0, S, M[0, 0]),
    "out": lambda: ag.matmul(S, S, out=ag.zeros((600, 600), dtype="float64")),
}


def arrays(nest):
    return [t.numpy() for t in ag.tree.flatten(nest)[0]]


@pytest.mark.share(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_families_of_operations(name, monkeypatch):
    """They run in another thread if they are long, with the same results."""
    call, seen = FAMILIES[name], []
    plain = module._Task.run
    with monkeypatch.context() as patch:  # first, as calls that come again have plans
        patch.setattr(module, "MIN_ASIDE_NANOSECONDS", 100)
        patch.setattr(module._Task, "run", lambda self: (seen.append(1), plain(self)))
        found = arrays(call())
    assert seen
    monkeypatch.setattr(module, "MIN_ASIDE_NANOSECONDS", 1 << 60)
    wanted = arrays(call())
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


#: Operations that see to it themselves, do nothing that takes long, or run bodies.
NO_WORK = frozenset((
    "Advance", "Alias", "BilinearOp", "BroadcastTo", "Conv", "ConvGradW", "ConvGradX", "Direct",
    "Elementwise", "Ensured", "FirstRows", "Fourier", "Identity", "Linear", "LinearOp", "MatMul",
    "OverRows", "Reduce", "Reference", "RowsBefore", "SetValue", "Size", "Unfolded", "_Bilinear",
    "_By",
))


def test_every_operation_tells_its_work():
    """All that compute an array at once, but views and those of ``ag.scan`` and its kin."""
    for m in pkgutil.walk_packages(ag.ops.__path__, "agnesi.ops."):
        importlib.import_module(m.name)
    every = [Op]
    for known in every:
        every += [s for s in known.__subclasses__() if s not in every]
    silent = {s.__name__ for s in every if s.work is None and not s.view
              and s.__module__.startswith("agnesi.ops.") and ".control." not in s.__module__}
    assert silent <= NO_WORK, silent - NO_WORK


def test_complete_factors_of_tall_matrices():
    """They have as many columns as rows: 8192 rows of 3 took a second that no signal ended."""
    tall = np.empty((8192, 3))
    assert qr.QR(True).work(tall) > MIN_ASIDE_NANOSECONDS > qr.QR(False).work(tall)


@pytest.mark.parametrize("f", [ag.multiply, ag.less, ag.power, ag.maximum])
def test_small_operands_that_spread_far(f, monkeypatch):
    """What is counted is the elements of the result."""
    told = []
    monkeypatch.setattr("agnesi.ops.base.elementwise.aside",
                        lambda work, function, *xs: told.append(work) or function(*xs))
    x, y = ag.tensor(R.random((3000, 1))), ag.tensor(R.random(3000))
    np.testing.assert_array_equal(f(x, y).numpy(), getattr(np, f.__name__)(x.numpy(), y.numpy()))
    assert told
    assert told[0] >= 9_000_000
    for small in (ag.ones((1, 7)), ag.ones((300, 300))):  # called as they are
        told.clear()
        f(small, small[0])
        assert not told or small.size > 32768


def test_long_work_is_written_as_a_whole(monkeypatch):
    """With ``out=``: it is computed apart, where a signal ends it."""
    x, out, told = ag.tensor(R.random(40_000) + 1j), ag.zeros(40_000, dtype="complex128"), []
    monkeypatch.setattr("agnesi.ops.base.elementwise.aside",
                        lambda work, function, *xs: told.append(work) or function(*xs))
    ag.asin(x, out=out)
    assert told == []
    monkeypatch.setattr("agnesi.ops.base.elementwise._MOST_WRITTEN_NANOSECONDS", 800_000)
    monkeypatch.setattr("agnesi.ops.base.elementwise.MIN_ASIDE_NANOSECONDS", 800_000)
    assert ag.asin(x, out=out) is out
    assert told
    np.testing.assert_array_equal(out.numpy(), np.arcsin(x.numpy()))


def test_slices_of_a_product(monkeypatch):
    monkeypatch.setattr("agnesi.ops.contractions.matmul._SLICE_NANOSECONDS", 1 << 20)
    np.testing.assert_allclose((S @ S).numpy(), S.numpy() @ S.numpy(), rtol=1e-10)


def test_sums_at_indices_look_for_signals_between_parts(monkeypatch):
    """NumPy keeps Python's lock while it adds at indices, so that no other thread would help."""
    wanted, parts, add = V.index_add(0, PLACES, V).numpy(), [], np.add

    class Add:
        @staticmethod
        def at(base, places, values):
            parts.append(len(places))
            add.at(base, places, values)

    monkeypatch.setattr("agnesi.ops.base.gather.gather_scatter._AT_ONCE", 1500)
    monkeypatch.setattr("agnesi.ops.base.gather.gather_scatter.np.add", Add)
    np.testing.assert_array_equal(V.index_add(0, PLACES, V).numpy(), wanted)
    assert parts == [1500, 1500, 1000]


def test_places_of_extremes_are_found_in_parts(monkeypatch):
    """Accumulating in place, NumPy keeps Python's lock."""
    wanted = arrays([ag.cummax(S, 0), ag.cummin(PLACES, 0), ag.cummax(M, 1)])
    monkeypatch.setattr("agnesi.ops.reductions.extremes._PART", 700)
    for a, b in zip(arrays([ag.cummax(S, 0), ag.cummin(PLACES, 0), ag.cummax(M, 1)]), wanted,
                    strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors_and_settings_go_with_the_work():
    with pytest.raises(ZeroDivisionError):
        aside(MIN_ASIDE_NANOSECONDS, lambda: 1 / 0)
    with ag.no_grad(), ag.config(default_float="float64"):
        assert aside(MIN_ASIDE_NANOSECONDS, lambda: ag.zeros(3)).dtype == np.float64
    assert (
        aside(MIN_ASIDE_NANOSECONDS, lambda: aside(MIN_ASIDE_NANOSECONDS, threading.get_ident))
        != threading.get_ident()
    )
    assert aside(1, threading.get_ident) == threading.get_ident()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
def test_an_interrupt_leaves_the_work_behind():
    class StoppedError(Exception):
        pass

    def handler(number, frame):
        raise StoppedError

    go = threading.Event()
    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(StoppedError):
            aside(MIN_ASIDE_NANOSECONDS, go.wait, 20)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        go.set()
    np.testing.assert_allclose((S @ S).numpy(), S.numpy() @ S.numpy(), rtol=1e-10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_begins_its_own_thread():
    aside(MIN_ASIDE_NANOSECONDS, len, ())
    child = os.fork()
    if child == 0:
        os._exit(0 if float(W.sum()) == float(np.add.reduce(W.array)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_where_no_thread_can_be_started_the_caller_works(monkeypatch):
    """The system limits their number; threads generate code and touch memory, too."""
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(module, "_IDLE", [])
    assert aside(MIN_ASIDE_NANOSECONDS, threading.get_ident) == threading.get_ident()
    with ag.config(cache=False):
        step = ag.jit(lambda x: ag.cumsum(ag.sort(x) @ S, 0).sum() + (x.T @ S).max() * 1.25)
        assert abs(float(step(S)) - float(step.__wrapped__(S))) < 1e-6
    assert ag.zeros((1 << 24,)).sum() == 0


DRAWS = """
import agnesi as ag
z = (700, 700)
x = ag.zeros(z)
for draw in (
    lambda: ag.rand(z), lambda: ag.randn(z), lambda: ag.random.uniform(0.0, 1.0, z),
    lambda: ag.random.normal(0.0, 1.0, z), lambda: ag.random.randint(0, 9, z),
    lambda: ag.random.bernoulli(0.5, z), lambda: ag.random.gamma(2.0, z),
    lambda: ag.random.permutation(500_000), lambda: ag.rand_like(x),
    lambda: x.uniform_(), lambda: x.normal_(), lambda: ag.nn.functional.dropout(x, 0.5),
    lambda: ag.nn.init.xavier_normal_(x), lambda: ag.nn.Linear(700, 700),
):
    for _ in range(18):
        draw()
"""


def test_long_draws_end():
    """The plan of a draw is compared with it while its generator is locked."""
    subprocess.run([sys.executable, "-c", DRAWS], check=True, timeout=100)
