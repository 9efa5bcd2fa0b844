"""Functions of large matrices whose results are small: as NumPy's, without Python's lock."""

import sys
import threading
import time

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.linalg import without_lock

N = 100
SQUARE = np.random.default_rng(0).normal(size=(N, N)) / 16
LARGE = np.random.default_rng(0).normal(size=(300, 300)) / 16
TALL = np.random.default_rng(1).normal(size=(100_000, 3))

CASES = {
    "det": (lambda a: [ag.linalg.det(a)], lambda a: [np.linalg.det(a)], SQUARE),
    "slogdet": (ag.linalg.slogdet, np.linalg.slogdet, SQUARE),
    "svdvals": (lambda a: [ag.linalg.svdvals(a)],
                lambda a: [np.linalg.svd(a, compute_uv=False)], SQUARE),
    "eigvals": (lambda a: [ag.linalg.eigvals(a)],
                lambda a: [np.linalg.eigvals(a).astype(a.dtype.char.upper())], SQUARE),
    "eigvalsh": (lambda a: [ag.linalg.eigvalsh(a)], lambda a: [np.linalg.eigvalsh(a)], SQUARE),
    "upper": (lambda a: [ag.linalg.eigvalsh(a, UPLO="U")],
              lambda a: [np.linalg.eigvalsh(a, "U")], SQUARE),
    "nuclear": (lambda a: [ag.linalg.matrix_norm(a, "nuc")],
                lambda a: [np.linalg.norm(a, "nuc")], SQUARE),
    "lstsq": (lambda a: [ag.linalg.lstsq(a, a[:, :2])[0]],
              lambda a: [np.linalg.lstsq(a, a[:, :2], np.finfo(a.dtype).eps * len(a))[0]], TALL),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_the_results_are_those_of_numpy(name, dtype):
    ours, theirs, x = CASES[name]
    x = x.astype(dtype)
    if dtype.startswith("complex"):
        x = x + (x[::-1] * 1j).astype(dtype)
    for a in (x, np.asfortranarray(x)):
        for found, wanted in zip(ours(ag.tensor(a)), theirs(a), strict=True):
            assert found.numpy().dtype == wanted.dtype
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(found.numpy() / scale, wanted / scale, atol=1e-6, rtol=1e-5)


def test_stacks():
    stack = np.random.default_rng(2).normal(size=(2, 3, 80, 90))
    stack[0, 1] = 0
    np.testing.assert_allclose(ag.linalg.svdvals(ag.tensor(stack))[..., :4].numpy(),
                               np.linalg.svd(stack, compute_uv=False)[..., :4], atol=1e-12)
    found = ag.linalg.slogdet(ag.tensor(stack[..., :80]))
    wanted = np.linalg.slogdet(stack[..., :80])
    np.testing.assert_array_equal(found.sign.numpy(), wanted.sign)
    np.testing.assert_allclose(found.logabsdet.numpy(), wanted.logabsdet)


def test_where_there_are_none():
    """NumPy says why, as it does for small matrices."""
    bad = np.full((N, N), np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        ag.linalg.eigvals(ag.tensor(bad))
    assert np.isnan(ag.linalg.det(ag.tensor(bad)).numpy())


@pytest.mark.parametrize("name", CASES)
def test_other_threads_go_on(name):
    """Once, at least, of many times: on a busy machine the other thread has no processor."""
    ours, _, x = CASES[name]
    a = ag.tensor(LARGE if x is SQUARE else x)
    ours(a)
    for _ in range(40):
        kept, whole = _kept(lambda: ours(a))
        if kept < whole / 2 or whole < 0.004:
            break
    assert kept < whole / 2 or whole < 0.004, f"{kept} s of {whole} s"


def _kept(work):
    """For how long another thread stood still beside ``work``, and how long that took."""
    over, longest, switch = threading.Event(), [0.0], sys.getswitchinterval()

    def watch():
        last = time.process_time()
        while not over.is_set():
            now = time.process_time()
            longest[0] = max(longest[0], now - last)
            last = now

    thread = threading.Thread(target=watch)
    sys.setswitchinterval(1e-4)
    thread.start()
    try:
        time.sleep(0.005)
        longest[0] = 0.0
        begin = time.thread_time()
        work()
        whole = time.thread_time() - begin
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(switch)
    return longest[0], whole


def test_the_loops_are_found():
    for name in ("det", "slogdet", "svd", "eigvals", "eigvalsh_lo", "eigvalsh_up"):
        assert without_lock.unlocked(name, SQUARE) is not None
    assert without_lock.unlocked("no such function", SQUARE) is None


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_stacks_of_products_with_few_results(dtype, monkeypatch):
    """NumPy keeps the lock in these, too."""
    monkeypatch.setattr("agnesi.ops.contractions.matmul.MIN_ASIDE_NANOSECONDS", 1)
    a, b = (np.random.default_rng(i).integers(0, 3, shape).astype(dtype)
            for i, shape in enumerate([(2, 1, 1, 40_000), (3, 40_000, 2)]))
    x, y = ag.tensor(a), ag.tensor(b)
    found = (x @ y).numpy()
    assert found.dtype == a.dtype
    wide = "complex128" if dtype == "complex64" else "float64"
    np.testing.assert_array_equal(found, (a.astype(wide) @ b.astype(wide)).astype(dtype))


SMALL = [(1, 1), (3, 3), (2, 3, 3), (4, 2), (3, 6, 2), (1, 3), (0, 3, 3), (0, 0)]


def _hermitian(a):
    return a @ a.swapaxes(-1, -2).conj() + np.eye(a.shape[-1], dtype=a.dtype)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("shape", SMALL)
def test_small_matrices_are_numpys_bit_for_bit(shape, dtype):
    """Also where NumPy's own functions, with their layers of Python, are not called."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape).astype(dtype)
    a = a + (rng.normal(size=shape) * 1j).astype(dtype) if dtype in "FD" else a
    pairs = [(ag.linalg.svd(ag.tensor(a), full), np.linalg.svd(a, full)) for full in (0, 1)]
    pairs += [(ag.linalg.qr(ag.tensor(a), m), np.linalg.qr(a, m)) for m in ("reduced", "complete")]
    if shape[-1] == shape[-2]:
        h, b = _hermitian(a), a[..., :1]
        pairs += [([ag.linalg.inv(ag.tensor(a))], [np.linalg.inv(a)]),
                  ([ag.linalg.solve(ag.tensor(a), ag.tensor(b))], [np.linalg.solve(a, b)]),
                  ([ag.linalg.cholesky(ag.tensor(h))], [np.linalg.cholesky(h)]),
                  (ag.linalg.eigh(ag.tensor(h)), np.linalg.eigh(h))]
    for ours, theirs in pairs:
        for found, wanted in zip(ours, theirs, strict=True):
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            assert found.numpy().tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("function, bad", [
    (ag.linalg.inv, np.stack([np.eye(2), np.zeros((2, 2))])), (ag.linalg.cholesky, -np.eye(2)),
    (ag.linalg.svd, np.full((2, 2), np.nan))])
def test_small_matrices_that_have_no_result(function, bad):
    with pytest.raises(np.linalg.LinAlgError):
        function(ag.tensor(bad))


def test_small_matrices_pass_by_numpys_functions(monkeypatch):
    for name in ("svd", "inv", "qr", "eigh", "cholesky", "solve", "det"):
        monkeypatch.setattr(np.linalg, name, lambda *call: pytest.fail("the long way"))
    a = ag.tensor([[2.0, 1.0], [1.0, 3.0]])
    for function in (ag.linalg.svd, ag.linalg.inv, ag.linalg.qr, ag.linalg.eigh,
                     ag.linalg.cholesky, ag.linalg.det):
        function(a)
    ag.linalg.solve(a, a)
