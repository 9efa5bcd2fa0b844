"""Under `fast_compile` threads of ours share a product, for which the library has none itself; nor
has it for small matrices."""

import ctypes
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.compilation import products
from agnesi.core.ir import foreign
from agnesi.core.support import host
from agnesi.core.support.config import HOOKS, config
from agnesi.ops.linalg import library
from tests.compiler.jit.runs import agree

counted = pytest.mark.skipif(library.counts() is None, reason="NumPy's library has no such count")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def cores(monkeypatch):
    """As many cores as are asked for."""
    monkeypatch.setattr(host, "cores", lambda bound=0: bound or 1)
    yield
    monkeypatch.undo()
    HOOKS.threads(config.threads)


def number():
    """How many threads NumPy's library has."""
    return ctypes.CFUNCTYPE(ctypes.c_int)(library.counts()[0])()


def set_number(count):
    place = ctypes.c_int64(count)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.counts()[1])(ctypes.addressof(place))


@pytest.fixture
def three():
    """A number of threads that nobody but this test gives to NumPy's library."""
    before = number()
    set_number(3)
    yield
    assert number() == 3
    set_number(before)


def compiled(f, *args, threads=2):
    """Results of the compiled function, and its code."""
    with ag.config(threads=threads):
        compiled = ag.jit(f, optimizer="fast_compile")
        found = compiled(*map(ag.tensor, args))
        return [np.asarray(x) for x in found], compiled.ir()


#: Batch, rows, columns and terms: cut along rows, along columns, with a rest, by members.
SIZES = [((), 520, 64, 70), ((), 40, 1003, 90), ((), 201, 200, 130), ((), 9, 700, 300),
         ((2,), 130, 140, 100), ((3, 5), 60, 70, 90), ((), 30, 40, 50)]


@pytest.mark.share(4)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_results_at_any_number_of_threads(sizes, turned, rng):
    """As they are, with an epilogue, added to other memory and to their own."""
    stack, m, n, k = sizes
    a, b, c = (rng.normal(size=(*stack, *s)) for s in ((m, k), (k, n), (m, n)))
    if turned:
        a, b = (np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) for x in (a, b))

    def f(a, b, c):
        y = a @ b
        return y, ag.tanh(a @ b + c[..., :1, :]), c - 0.5 * y, (a @ b).swapaxes(-1, -2) * 2

    y = a @ b
    expected = y, np.tanh(y + c[..., :1, :]), c - 0.5 * y, 2 * y.swapaxes(-1, -2)
    for threads in (1, 2, 3):
        found, ir = compiled(f, a, b, c, threads=threads)
        agree(found, expected)
        assert ("blas.hold" in ir) == (threads > 1 and library.counts() is not None)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_updates_in_place(threads, rng):
    w = ag.tensor(np.zeros((400, 300)))
    a, b = rng.normal(size=(64, 400)), rng.normal(size=(64, 300))

    with ag.config(threads=threads):
        @ag.jit(optimizer="fast_compile")
        def step(a, b):
            w[...] = 0.5 * w - a.T @ b

        for _ in range(3):
            step(a, b)
    np.testing.assert_allclose(w.numpy(), -1.75 * (a.T @ b), rtol=1e-9, atol=1e-9)


def test_sizes_that_calls_bring(rng):
    with ag.config(threads=2):
        f = ag.jit(lambda a, b: ag.tanh(a @ b), optimizer="fast_compile")
        b = rng.normal(size=(60, 400))
        for rows in (300, 17, 301, 1, 64, 2000):
            a = rng.normal(size=(rows, 60))
            agree([f(ag.tensor(a), ag.tensor(b)).numpy()], [np.tanh(a @ b)])


def test_the_same_again(rng):
    """Which thread does what makes no difference."""
    a, b = (rng.normal(size=s).astype("float32") for s in ((301, 90), (90, 403)))
    with ag.config(threads=3):
        f = ag.jit(lambda a, b: a @ b, optimizer="fast_compile")
        first = f(ag.tensor(a), ag.tensor(b)).numpy()
        for _ in range(50):
            np.testing.assert_array_equal(f(ag.tensor(a), ag.tensor(b)).numpy(), first)


@counted
@pytest.mark.usefixtures("three")
def test_numpy_has_its_threads_back(rng):
    a = rng.normal(size=(300, 300))
    _, ir = compiled(lambda a: (a @ a,), a)
    assert "blas.hold" in ir and number() == 3
    assert "blas.hold" not in compiled(lambda a: (a @ a,), a, threads=1)[1]


@counted
@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("n, alone", [(32, True), (190, False)])
def test_small_matrices_are_for_the_calling_thread(n, alone, rng):
    a = rng.normal(size=(2, n, n)) + n * np.eye(n)
    found, ir = compiled(lambda a: (ag.linalg.inv(a), *ag.linalg.qr(a)), a)
    assert ("blas.hold" in ir) == alone and number() == 3
    agree([found[0] @ a], [np.broadcast_to(np.eye(n), a.shape)])
    with pytest.raises(np.linalg.LinAlgError):
        compiled(ag.linalg.cholesky, -a)


@counted
@pytest.mark.usefixtures("three")
def test_python_in_a_compiled_function_has_them(rng):
    a, seen = rng.normal(size=(300, 300)), []

    def f(a):
        ag.callback(lambda x: seen.append(number()), None, a @ a)
        return (a @ (a @ a),)

    agree(compiled(f, a)[0], [a @ (a @ a)])
    assert set(seen) == {3}


@counted
@pytest.mark.usefixtures("three")
def test_a_check_that_fails(rng):
    a = rng.normal(size=(300, 300))

    def f(a, i):
        y = a @ a
        return y[i] @ y, y @ y

    with ag.config(threads=2):
        compiled = ag.jit(f, optimizer="fast_compile")
        for i in (4, 300, 7):
            if i == 300:
                with pytest.raises(IndexError):
                    compiled(ag.tensor(a), ag.tensor(np.array([i])))
            else:
                compiled(ag.tensor(a), ag.tensor(np.array([i])))
            assert number() == 3


@counted
@pytest.mark.usefixtures("three")
def test_from_several_threads_at_once(rng):
    a, b = rng.normal(size=(300, 200)), rng.normal(size=(200, 310))
    expected, wrong = np.tanh(a @ b), []
    with ag.config(threads=2):
        f = ag.jit(lambda a, b: ag.tanh(a @ b), optimizer="fast_compile")
        f(ag.tensor(a), ag.tensor(b))

        def work():
            for _ in range(15):
                close = np.allclose(f(ag.tensor(a), ag.tensor(b)).numpy(), expected)
                if not (close and np.allclose(np.tanh(a @ b), expected)):
                    wrong.append(1)

        running = [threading.Thread(target=work) for _ in range(3)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    assert not wrong


@counted
@pytest.mark.usefixtures("three")
def test_holding_is_counted_and_respects_others():
    hold, release = (
        ctypes.CFUNCTYPE(None)(foreign.address(f"blas:{name}")) for name in ("hold", "release")
    )
    hold()
    hold()
    assert number() == 1
    release()
    assert number() == 1
    release()
    assert number() == 3
    hold()
    set_number(2)
    release()
    assert number() == 2
    set_number(3)


@counted
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_meanwhile_has_them():
    script = """
        import os
        from tests.schedule.lowering.test_library_threads import ctypes, foreign, number, set_number
        set_number(3)
        hold, release = (
            ctypes.CFUNCTYPE(None)(foreign.address(f"blas:{n}")) for n in ("hold", "release")
        )
        hold()
        child = os.fork()
        if not child:
            right = number() == 3
            hold()
            right = right and number() == 1
            release()
            os._exit(0 if right and number() == 3 else 1)
        assert os.waitpid(child, 0)[1] == 0 and number() == 1
        release()
        assert number() == 3
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_a_library_whose_threads_are_not_told(monkeypatch, rng):
    """Its products are called as one, and convolutions are code of ours."""
    monkeypatch.setattr(products, "counts", lambda: None)
    a = rng.normal(size=(300, 300))
    found, ir = compiled(lambda a: (a @ a,), a)
    agree(found, [a @ a])
    assert "blas.hold" not in ir and ("dgemm(" in ir) == library.has("gemm", a.dtype)
    x, w = rng.normal(size=(2, 16, 8, 8)), rng.normal(size=(32, 16, 1, 1))
    assert "dgemm(" not in compiled(lambda x, w: (ag.nn.functional.conv2d(x, w),), x, w)[1]
