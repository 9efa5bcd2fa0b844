"""PyTorch's names beside formulas: eagerly, compiled, with gradients; and what has no formula."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.signal

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F
from tests.api.names import foreign

#: A call, and what it is in other words; operands are those of ``foreign``.
CALLS = """
masked_select(x, b) | x[b]
bucketize(x, ag.sort(v)) | ag.searchsorted(ag.sort(v), x)
mv(x, v) | x @ v
baddbmm(m[:2, :1, None], c, d) | m[:2, :1, None] + c @ d
baddbmm(m[:2, :1, None], c, d, beta=2, alpha=3) | 2 * m[:2, :1, None] + 3 * (c @ d)
logit(t) | ag.log(t) - ag.log(1 - t)
logit(t, 0.3) | ag.special.logit(ag.clip(t, 0.3, 0.7))
special.logit(t, 0.3) | ag.logit(ag.clip(t, 0.3, 0.7))
mvlgamma(y * y + 3.0, 2) | ag.special.multigammaln(y * y + 3.0, 2)
addbmm(m, c, d) | m + (c @ d).sum(0)
addmv(r, x, v) | r + x @ v
addr(x, r, v) | x + ag.outer(r, v)
addr(x, r, v, beta=0, alpha=2) | 2 * ag.outer(r, v)
adjoint(c) | ag.conj(c.mT)
logdet(p) | ag.log(ag.linalg.det(p))
aminmax(x) | (x.min(), x.max())
aminmax(x, dim=1, keepdim=True) | (x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True))
broadcast_tensors(x, v) | list(ag.broadcast_arrays(x, v))
cartesian_prod(v, r) | ag.stack(ag.meshgrid(v, r, indexing='ij'), -1).reshape(-1, 2)
chain_matmul(s, m, s) | s @ m @ s
cholesky_inverse(l) | ag.linalg.inv(ag.tril(l) @ ag.tril(l).T)
lu_solve(m, *ag.lu(m)) | ag.linalg.solve(m, m)
cholesky_solve(m, l) | ag.linalg.cho_solve((l, True), m)
cholesky_solve(m, l.T, upper=True) | ag.linalg.cho_solve((l, True), m)
clamp_max(x, 1) | ag.clip(x, max=1)
clamp_min(x, 1) | ag.clip(x, min=1)
combinations(v) | ag.stack([v[list(k)] for k in itertools.combinations(range(len(v)), 2)])
combinations(r, 2, True) | ag.stack([r[[a, b]] for a in range(3) for b in range(a, 3)])
conj_physical(x) | ag.conj(x)
cumulative_trapezoid(v) | ag.cumsum((v[1:] + v[:-1]) / 2, 0)
cumulative_trapezoid(x, a, dim=0) | ag.cumsum((x[1:] + x[:-1]) / 2 * (a[1:] - a[:-1]), 0)
diag_embed(v) | ag.eye(len(v)) * v
diag_embed(x, 1, 0, -1) | ag.stack([ag.diag(q, 1) for q in x]).swapaxes(0, 1)
diagonal_scatter(s, r) | s - ag.diag(s.diagonal()) + ag.diag(r)
fill(x, 5.0) | ag.full_like(x, 5.0)
frac(x) | x - ag.trunc(x)
histc(x, 5, -2, 2) | ag.histogram(x, 5, (-2, 2))[0]
histc(x, 4) | ag.histogram(x, 4)[0]
igamma(a, y * y) | ag.special.gammainc(a, y * y)
igammac(a, y * y) | ag.special.gammaincc(a, y * y)
index_copy(x, 0, j, y[:2]) | ag.index_put(x, (j,), y[:2])
index_copy(x, -1, j, y[:, :2]) | ag.index_put(x, (slice(None), j), y[:, :2])
index_fill(x, 0, j, 5.0) | ag.index_put(x, (j,), 5.0)
is_complex(x) | x.is_complex()
is_floating_point(x) | x.is_floating_point()
is_same_size(x, y) | x.shape == y.shape
is_signed(x) | x.dtype.kind != 'u'
logcumsumexp(v, 0) | ag.log(ag.cumsum(ag.exp(v), 0))
logcumsumexp(x, 1) | ag.log(ag.cumsum(ag.exp(x), 1))
masked_scatter(x, b, y) | ag.index_put(x, (b,), y.reshape(-1)[:5])
qr(c) | ag.linalg.qr(c)
lu(p)[0] | ag.linalg.lu_factor(p)[0]
lu(ag.stack([p, 0 * p]), get_infos=True)[2] | ag.tensor([0, 1])
linalg.lu_factor_ex(ag.stack([p, 0 * p])).info | ag.tensor([0, 1])
as_strided(ag.arange(6), (2, 2), (2, 1), 1) | ag.tensor([[1, 2], [3, 4]])
svd(x)[0] | ag.linalg.svd(x, full_matrices=False)[0]
svd(x)[2] | ag.linalg.svd(x, full_matrices=False)[2].T
svd_lowrank(x.T, 3)[1] | ag.linalg.svdvals(x)
pca_lowrank(x, 2)[1] | ag.linalg.svdvals(x - x.mean(0))[:2]
rsub(x, y, alpha=2) | y - 2 * x
scalar_tensor(5) | ag.tensor(5.0)
resolve_conj(x) | x
resolve_neg(x) | x
detach(x) | x.detach()
linalg.inv_ex(p) | (ag.linalg.inv(p), ag.tensor(0))
linalg.inv_ex(ag.stack([p, 0 * p]))[1] | ag.tensor([0, 1])
linalg.solve_ex(ag.stack([p, s]), r)[0] | ag.linalg.solve(ag.stack([p, s]), r)
linalg.solve_ex(0 * p, r) | (ag.full(3, ag.nan), ag.tensor(1))
linalg.vander(x, N=3) | ag.stack([x * 0 + 1, x, x * x], -1)
fft.hfft2(x) | ag.fft.irfft2(ag.conj(x), norm='forward')
fft.hfftn(c) | ag.fft.irfftn(ag.conj(c), norm='forward')
fft.ihfft2(x) | ag.conj(ag.fft.rfft2(x, norm='forward'))
fft.ihfftn(c) | ag.conj(ag.fft.rfftn(c, norm='forward'))
movedim(c, 0, 2) | ag.moveaxis(c, 0, 2)
msort(x) | ag.sort(x, axis=0)
narrow_copy(x, 1, 0, 2) | ag.narrow(x, 1, 0, 2).clone()
numel(x) | x.size
renorm(x, 2, 0, 1.0) | x * ag.minimum(1, 1.0 / ag.linalg.norm(x, axis=1, keepdims=True))
select_scatter(x, y[0], 0, 1) | ag.set_subtensor(x[1], y[0])
slice_scatter(x, y[:1], 0, 0, 1) | ag.set_subtensor(x[0:1], y[:1])
sgn(x) | ag.sign(x)
split_with_sizes(x, [1, 2]) | x.split([1, 2])
std_mean(x) | (ag.std(x, correction=1), ag.mean(x))
var_mean(x, dim=1, unbiased=False) | (ag.var(x, axis=1, correction=0), ag.mean(x, 1))
swapdims(c, 0, 1) | ag.swapaxes(c, 0, 1)
t(x) | x.T
take_along_dim(x, i, 1) | ag.take_along_axis(x, i, 1)
take_along_dim(x, i) | x.reshape(-1)[i.reshape(-1)]
tensor_split(v, 3) | ag.array_split(v, 3)
unflatten(x, 1, (2, -1)) | x.reshape(3, 2, 2)
unique_consecutive(v) | v[ag.concat([ag.tensor([True]), v[1:] != v[:-1]])]
hamming_window(6) | ag.hamming(7)[:-1]
hann_window(6, periodic=False) | ag.hanning(6)
bartlett_window(6) | ag.bartlett(7)[:-1]
blackman_window(6) | ag.blackman(7)[:-1]
kaiser_window(6) | ag.kaiser(7, 12.0)[:-1]
as_tensor(A) | ag.asarray(A)
det(s) | ag.linalg.det(s)
inverse(p) | ag.linalg.inv(p)
pinverse(x) | ag.linalg.pinv(x)
cholesky(p) | ag.linalg.cholesky(p)
block_diag(s, m) | ag.linalg.block_diag(s, m)
celu(x) | ag.where(x > 0, x, ag.expm1(x))
cosine_similarity(x, y) | (x * y).sum(1) / ag.sqrt((x * x).sum(1) * (y * y).sum(1))
pairwise_distance(x, y) | ag.linalg.norm(x - y + 1e-6, axis=1)
threshold(x, 1.0, 5.0) | ag.where(x > 1.0, x, 5.0)
"""
ROWS = list(foreign.calls(CALLS))
#: Whose results have sizes that values decide, or are no tensors.
EAGER = {"masked_select", "unique_consecutive", "is_complex", "is_floating_point", "is_same_size",
         "is_signed", "numel", "as_tensor", "masked_scatter"}


def known(**more: Any) -> dict[str, Any]:
    return {**foreign.operands(ag.tensor), "ag": ag, "nn": nn, **more}


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [f for v in value for f in flat(v)]
    return [value]


def close(found: Any, expected: Any, text: str) -> None:
    assert len(flat(found)) == len(flat(expected)), text
    for a, b in zip(flat(found), flat(expected), strict=True):
        a, b = (np.asarray(v.detach() if isinstance(v, ag.Tensor) else v) for v in (a, b))
        assert a.shape == b.shape, text
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=text)


def test_calls_beside_formulas() -> None:
    for call, code in ROWS:
        close(eval(f"ag.{call}", known()), eval(code, known()), call)


def test_calls_by_their_plans_beside_first_ones() -> None:
    given = known()
    for call, _ in ROWS:
        first = eval(f"ag.{call}", given)
        for _ in range(20):
            found = eval(f"ag.{call}", given)
        close(found, first, call)


def test_compiled_calls_beside_eager_ones() -> None:
    calls = [call for call, _ in ROWS if call.partition("(")[0] not in EAGER]
    names = sorted(foreign.arrays())

    @ag.jit
    def compiled(values: Any) -> Any:
        given = known(**dict(zip(names, values, strict=True)))
        return [eval(f"ag.{call}", given) for call in calls]

    for call, found in zip(calls, compiled([known()[n] for n in names]), strict=True):
        close(found, eval(f"ag.{call}", known()), f"jit: {call}")


def test_gradients_beside_formulas() -> None:
    for call, code in ROWS:
        if call.partition("(")[0] in EAGER - {"masked_select"}:
            continue
        grads = []
        for text in (f"ag.{call}", code):
            given = known()
            leaves = [v.requires_grad_() for v in given.values()
                      if isinstance(v, ag.Tensor) and v.dtype.kind == "f"]
            results = [f for f in flat(eval(text, given)) if isinstance(f, ag.Tensor)]
            results = [f for f in results if f.requires_grad]
            for f in results:
                (f * ag.cos(ag.arange(f.size).reshape(f.shape) * 1.0)).sum().backward()
            grads.append([np.zeros(v.shape) if v.grad is None else v.grad for v in leaves])
        close(grads[0], grads[1], f"gradient of {call}")


# -- objects ----------------------------------------------------------------------------------
def test_devices_are_the_cpu() -> None:
    device = ag.device("cuda" if ag.cuda.is_available() else "cpu")
    assert device == "cpu" and device.type == "cpu" and device.index is None
    assert ag.device("cpu:0").index == 0 and ag.device("cpu", 0) == ag.device(device)
    assert (repr(device), str(device)) == ("device(type='cpu')", "cpu")
    x = ag.ones(2, device=device).to(device)
    assert x.device == device and isinstance(x.device, ag.device)
    assert nn.Linear(2, 3).to(device)(x).device.type == "cpu"
    for made in (ag.zeros(2, device=device), ag.tensor([1.0], device=device),
                 ag.randn(2, device=device), ag.rand_like(x, device=device),
                 ag.full((2,), 1.0, device=device), ag.arange(3, device=device)):
        assert made.device == "cpu"
    for again in (pickle.loads(pickle.dumps(device)), copy.deepcopy(device)):
        assert again == device and type(again) is ag.device and again.index is None
    for wrong in ((0,), ("cpu", 1), ("cpu:x",), ("cuda:x",)):
        with pytest.raises(ValueError, match=r"there is one device, 'cpu', and not "):
            ag.device(*wrong)
    kinds = {"cuda": ag.cuda.LongTensor, "cpu": ag.LongTensor}  # of which one is used
    assert isinstance(ag.arange(2), kinds[device.type]) and not isinstance(x, kinds["cuda"])
    with pytest.raises(TypeError, match=r"cuda\.LongTensor is not there.*write ag\.LongTensor"):
        kinds["cuda"]([1, 2])
    cuda = ag.device("cuda:1")  # programs name it in defaults of parameters
    assert (cuda.type, cuda.index, cuda) == ("cuda", 1, copy.deepcopy(cuda))
    for used in (lambda: x.to(cuda), lambda: ag.ones(2, device=cuda), cuda.__enter__,
                 lambda: nn.Linear(2, 2, device=cuda), lambda: nn.Linear(2, 2).to(cuda)):
        with pytest.raises(ValueError, match=r"there is one device, 'cpu', and not .*cuda"):
            used()
    ag.backends.cudnn.benchmark = True
    assert ag.cuda.device_count() == 0 and not ag.backends.mps.is_available()


def test_dtypes_by_pytorchs_names() -> None:
    pairs = {"long": "int64", "int": "int32", "short": "int16", "half": "float16",
             "float": "float32", "double": "float64", "cfloat": "complex64",
             "cdouble": "complex128"}
    for name, dtype in pairs.items():
        assert ag.zeros(2, dtype=getattr(ag, name)).dtype == dtype
    assert isinstance(ag.long, ag.dtype) and ag.Size([1, 2]) == (1, 2)


def test_constructors_by_dtype() -> None:
    for name, dtype in (("FloatTensor", "float32"), ("LongTensor", "int64"), ("BoolTensor", "bool"),
                        ("ByteTensor", "uint8"), ("DoubleTensor", "float64")):
        kind = getattr(ag, name)
        assert kind([[1, 0]]).dtype == dtype and kind(2, 3).shape == (2, 3)
        assert isinstance(kind([1]), kind) and not isinstance(ag.ones(2, dtype="int8"), kind)
        assert kind().shape == (0,) and kind.__name__ == name
    assert ag.LongTensor(np.array([1.0, 2.0])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="one device"):
        ag.FloatTensor([1.0], device="cuda")


def test_settings_of_recording_and_dtypes() -> None:
    x = ag.ones(2, requires_grad=True)
    with ag.inference_mode():
        assert not (x * 2).requires_grad
    assert ag.inference_mode(lambda: (x * 2).requires_grad)() is False
    with ag.inference_mode(False):
        assert (x * 2).requires_grad
    with ag.no_grad():
        with ag.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
        ag.set_grad_enabled(True)
        assert (x * 2).requires_grad
    assert ag.is_grad_enabled()
    ag.set_grad_enabled(False)
    try:
        assert not ag.is_grad_enabled()
        with ag.enable_grad():
            assert ag.is_grad_enabled()
        assert not ag.is_grad_enabled()
    finally:
        ag.set_grad_enabled(True)
    assert ag.set_grad_enabled(False)(ag.is_grad_enabled)() is False and ag.is_grad_enabled()
    with ag.config(default_float="float32"):
        ag.set_default_dtype(ag.double)
        assert ag.get_default_dtype() == ag.ones(2).dtype == "float64"
    with pytest.raises(ag.DTypeError, match="floats"):
        ag.set_default_dtype(ag.long)
    with ag.config(default_float="float32"):
        for kind in (ag.DoubleTensor, "torch.FloatTensor", "torch.DoubleTensor"):
            ag.set_default_tensor_type(kind)
        assert ag.ones(2).dtype == "float64"
        for kind, error in ((ag.LongTensor, "floats"), ("torch.cuda.FloatTensor", "device"),
                            (ag.float32, "set_default")):
            with pytest.raises((ag.DTypeError, ValueError), match=error):
                ag.set_default_tensor_type(kind)


@pytest.mark.parametrize(("a", "b", "told"), [
    ([1.0], [1.000001], ""), ([1.0], [1.0001], r"1 of 1 values.* differ .* at \(0,"),
    ([1], [1.0], "dtypes.*differ"), ([1.0], [[1.0]], "shapes.*differ"),
    ([np.nan], [np.nan], "1 of 1"), ([1, 2], [1, 3], "1 of 2 values"),
])
def test_tensors_that_are_close(a: Any, b: Any, told: str) -> None:
    pairs = (ag.tensor(a), ag.tensor(b)), ({"k": [ag.tensor(a)]}, {"k": (ag.tensor(b),)})
    for found, expected in pairs:
        if not told:
            ag.testing.assert_close(found, expected)
            continue
        with pytest.raises(AssertionError, match=told):
            ag.testing.assert_close(found, expected)


def test_what_is_not_close_or_not_compared() -> None:
    for a, b, told in (([1], [1, 2], "lengths"), ({"a": 1}, {"b": 1}, "keys"), (1.0, 1, "dtypes"),
                       (ag.ones(1), np.ones(1), "kinds")):
        with pytest.raises(AssertionError, match=told):
            ag.testing.assert_close(a, b)
    ag.testing.assert_close(None, None)
    ag.testing.assert_close(ag.tensor([1.0, ag.nan]), ag.tensor([1.5, ag.nan]), rtol=0, atol=1,
                            equal_nan=True)
    with pytest.raises(AssertionError, match=r"^mine: 1 of 1"):
        ag.testing.assert_close(1.0, 2.0, msg=lambda told: f"mine: {told}")
    with pytest.raises(ValueError, match="both"):
        ag.testing.assert_close(1.0, 1.0, rtol=1)
    with pytest.raises(TypeError, match="not str"):
        ag.testing.assert_close("a", "a")
    with pytest.raises(ValueError, match=r"min\(m, n\) = 3"):
        ag.svd_lowrank(ag.ones((3, 4)))
    with pytest.raises(np.linalg.LinAlgError):
        ag.linalg.inv_ex(ag.zeros((2, 2)), check_errors=True)


# -- draws ------------------------------------------------------------------------------------
def test_draws() -> None:
    ag.manual_seed(0)
    x = ag.zeros((300, 4), dtype="float64")
    assert ag.rand_like(x).dtype == ag.randn_like(x).dtype == "float64"
    assert abs(float(ag.randn_like(x).std()) - 1) < 0.1 and ag.rand_like(x).shape == x.shape
    assert ag.randint_like(x, 2, 5).dtype == "float64"
    assert set(ag.randint_like(x, 3).unique().tolist()) == {0, 1, 2}
    assert ag.randint(3, (2, 2)).shape == (2, 2)
    assert sorted(ag.randperm(9).tolist()) == list(range(9)) and ag.randperm(3).dtype == "int64"
    p = ag.full((2000,), 0.3)
    assert ag.bernoulli(p).dtype == "float32" and abs(float(ag.bernoulli(p).mean()) - 0.3) < 0.05
    assert abs(float(ag.bernoulli(p, 0.9).mean()) - 0.9) < 0.05
    assert abs(float(ag.poisson(p * 10).mean()) - 3) < 0.2 and ag.poisson(p).dtype == "float32"
    assert abs(float(ag.binomial(p * 0 + 10, p).mean()) - 3) < 0.2
    assert ag.normal(mean=ag.zeros(3), std=ag.ones(3)).shape == ag.normal(0.0, 1.0, (3,)).shape
    w = ag.rand(2, generator=ag.Generator(0), requires_grad=True)
    assert w.requires_grad and ag.randn_like(w, requires_grad=True).requires_grad


def test_multinomial() -> None:
    ag.manual_seed(1)
    w = ag.tensor([[1.0, 3.0, 0.0, 6.0], [0.0, 1.0, 1.0, 0.0]])
    for draw in (ag.multinomial, ag.jit(ag.multinomial)):
        found = draw(w, 4000, True)
        assert found.shape == (2, 4000) and found.dtype == "int64"
        np.testing.assert_allclose(np.bincount(found[0].numpy(), minlength=4) / 4000,
                                   [0.1, 0.3, 0, 0.6], atol=0.03)
        assert set(draw(w, 2, False)[1].tolist()) == {1, 2}
    first = ag.multinomial(w[0].expand(4000, 4), 2)
    assert (first[:, 0] != first[:, 1]).all()
    np.testing.assert_allclose(np.bincount(first[:, 0].numpy(), minlength=4) / 4000,
                               [0.1, 0.3, 0, 0.6], atol=0.03)
    # one of each pair, drawn after the first: P(1, 3) = 0.3 * 0.6 / 0.7
    both = np.mean((first.numpy() == [1, 3]).all(1))
    np.testing.assert_allclose(both, 0.3 * 0.6 / 0.7, atol=0.03)
    for wrong in (w[1] - 1, w[1]):
        with pytest.raises(ValueError, match=r"weights must not be negative, and 3 or more"):
            ag.multinomial(wrong, 3)
    with pytest.raises(ValueError, match="5 places cannot be drawn of 4"):
        ag.multinomial(w, 5)
    with pytest.raises(ValueError, match="rows of floats, not int64"):
        ag.multinomial(ag.tensor([1, 2]), 1)


# -- frames and runs --------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "hop", "width", "center"),
                         [(16, 4, None, True), (16, 8, 12, True), (8, 3, 8, False)])
def test_frames_of_signals(n: int, hop: int, width: Any, center: bool) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 90))
    window = np.hanning((width or n) + 2)[1:-1]
    call = {"win_length": width, "window": ag.tensor(window), "center": center}
    found = ag.stft(ag.tensor(x), n, hop, **call)
    weights = np.pad(window, (n - len(window)) // 2)
    padded = np.pad(x, ((0, 0), (n // 2, n // 2)), "reflect") if center else x
    frames = np.lib.stride_tricks.sliding_window_view(padded, n, 1)[:, ::hop] * weights
    np.testing.assert_allclose(found, np.moveaxis(np.fft.rfft(frames), -1, 1), atol=1e-9)
    back = ag.istft(found, n, hop, length=80, **call)
    np.testing.assert_allclose(back, x[:, :80], atol=1e-9)
    both = ag.jit(lambda x: ag.istft(ag.stft(x, n, hop, **call), n, hop, length=80, **call))
    np.testing.assert_allclose(both(ag.tensor(x)), x[:, :80], atol=1e-9)
    g = ag.grad(lambda x: (ag.istft(ag.stft(x, n, hop, **call), n, hop, length=80, **call)**2)
                .sum())(ag.tensor(x))
    np.testing.assert_allclose(g[:, :80], 2 * x[:, :80], atol=1e-8)
    assert ag.stft(ag.tensor(x), n, hop, return_complex=False, **call).shape[-1] == 2


def test_frames_that_do_not_fit() -> None:
    x = ag.randn(40)
    np.testing.assert_allclose(
        np.abs(ag.stft(x, 8, 4, window=ag.hann_window(8), center=False)) / 4,
        np.abs(scipy.signal.stft(x, nperseg=8, noverlap=4, boundary=None, padded=False)[2]),
        rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="vector of 9 weights, at most n_fft = 8"):
        ag.stft(x, 8, win_length=9)
    with pytest.raises(ValueError, match="hop_length must be positive"):
        ag.stft(x, 8, 0)
    with pytest.raises(ValueError, match="overlap too little"):
        ag.istft(ag.stft(x, 8, 8, center=False, window=ag.hann_window(8)), 8, 8,
                 window=ag.hann_window(8), center=False)


def test_runs_of_equal_elements() -> None:
    x = ag.tensor([1, 1, 2, 2, 3, 1, 1])
    values, inverse, counts = ag.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 3, 1] and counts.tolist() == [2, 2, 1, 2]
    assert values[inverse].tolist() == x.tolist()
    rows = ag.tensor([[1, 2], [1, 2], [3, 2]])
    assert ag.unique_consecutive(rows, dim=0).tolist() == [[1, 2], [3, 2]]
    assert ag.unique_consecutive(rows, dim=1).tolist() == rows.tolist()
    assert ag.unique_consecutive(ag.tensor([], dtype="int64")).tolist() == []


def test_errors_name_what_does_not_fit() -> None:
    for call, text in (
        (lambda: ag.mv(ag.ones(3), ag.ones(3)), r"mv\(float32\[3\].*input must have 2 axes"),
        (lambda: ag.addr(ag.ones(2), ag.ones(2, 2), ag.ones(2)), "vec1 must have 1 axes"),
        (lambda: ag.unflatten(ag.ones(6), 0, (4, 2)), r"cannot have the sizes \(4, 2\)"),
        (lambda: ag.t(ag.ones(1, 2, 3)), "at most two axes"),
        (lambda: ag.masked_scatter(ag.ones(3), ag.ones(3) > 0, ag.ones(2)), "fewer elements"),
        (lambda: ag.histc(ag.ones(3), 3, 2, 1), "max must not be smaller"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_channels_of_matrices_are_their_elements() -> None:
    ag.manual_seed(0)
    for layer in (nn.Dropout2d(0.5), nn.Dropout3d(0.5)):
        with pytest.warns(UserWarning, match="of a matrix lets single elements be zero"):
            y = layer(ag.ones((50, 8)))
        assert set(y.unique().tolist()) == {0, 2} and 0.3 < float((y == 0).float().mean()) < 0.7


NAN = float("nan")
A = np.arange(16.0).reshape(4, 4) ** 2
#: Calls of PyTorch's own generated samples, and its answers.
SAMPLES: dict[str, tuple[Any, Any]] = {
    "gradient": (lambda t: ag.gradient(t(A), dim=(1, 0), spacing=(2.0, 1.0), edge_order=2)[0][0],
                 [0.0, 1.0, 2.0, 3.0]),
    "max": (lambda t: ag.max(t([1, 5, 3]), t(2)), [2, 5, 3]),
    "div_": (lambda t: t([7.0, -7.0]).div_(2, rounding_mode="trunc"), [3.0, -3.0]),
    "std": (lambda t: ag.std(t([1.0, 3.0, 5.0]), True), 2.0),
    "var_mean": (lambda t: ag.var_mean(t([1.0, 3.0, 5.0]), True)[0], 4.0),
    "take_along_dim": (lambda t: ag.take_along_dim(t([[1, 2]]), t([[1], [0]]), 1), [[2], [1]]),
    "conv_transpose1d": (lambda t: F.conv_transpose1d(t([[1.0, 2.0]]), t([[[1.0, 1.0]]])),
                         [[1.0, 3.0, 2.0]]),
    "prelu": (lambda t: F.prelu(t(-2.0), t([0.5])), -1.0),
    "hardtanh": (lambda t: F.hardtanh(t([-3, 0, 5])), [-1, 0, 1]),
    "sign": (lambda t: ag.sign(t([True, False])), [True, False]),
    "logsigmoid": (lambda t: F.logsigmoid(t(np.uint8([0, 200]))) < -1, [False, False]),
    "softmin": (lambda t: F.softmin(t(np.uint8([0, 200])), dim=0) > 0.5, [True, False]),
    "bincount": (lambda t: ag.bincount(t([1, 1]), t([2**53 - 1, 1])), [0.0, 2.0**53]),
    "masked_scatter": (lambda t: ag.masked_scatter(t([0, 0]), t([[True, True], [False, True]]),
                                                   t([1, 2, 3])), [[1, 2], [0, 3]]),
    "scatter": (lambda t: ag.scatter(t([2.0, 2.0]), 0, t([1, 1]), 3.0, reduce="multiply"),
                [2.0, 18.0]),
    "quantile": (lambda t: ag.quantile(t(3.0), 0.5, dim=0), 3.0),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_pytorchs(name: str) -> None:
    call, expected = SAMPLES[name]
    given: list[Any] = []
    eager = call(lambda x: given.append(x) or ag.tensor(x))
    compiled = ag.jit(lambda xs: (lambda rest: call(lambda x: next(rest)))(iter(xs)))
    for found in (eager, compiled([ag.tensor(x) for x in given])):
        assert found.tolist() == expected
        assert found.dtype.kind == np.asarray(expected).dtype.kind


def test_arguments_that_pytorch_refuses() -> None:
    x = ag.arange(4) * 1.0
    for weights in (np.ones((4, 4), int), np.full(4, 0.5), [1, -1, 1, 1]):
        with pytest.raises((TypeError, ValueError), match="fweights"):
            ag.cov(x, fweights=ag.tensor(weights))
    with pytest.raises(ValueError, match="6 frequencies"):
        ag.istft(ag.ones(5, 3) * 1j, 6)
    with pytest.warns(np.exceptions.ComplexWarning):
        ag.masked_fill(x, x > 1, ag.tensor(1j))


def test_modules_and_densities_of_pytorchs_samples() -> None:
    norm = nn.BatchNorm1d(2)
    norm(ag.zeros(0, 2))
    assert norm.running_mean.tolist() == [0, 0] and norm.num_batches_tracked.item() == 1
    assert [*nn.InstanceNorm1d(2, track_running_stats=True).state_dict()] == [
        "running_mean", "running_var", "num_batches_tracked"]
    density = ag.distributions.Wishart(ag.tensor(3.0), ag.eye(2)).expand((3,))
    assert density.log_prob(ag.eye(2)).shape == (3,)
    assert ag.linalg.matrix_rank(ag.eye(3), atol=0.5, rtol=1.0).item() == 0


def test_dtypes_of_pytorchs_functions() -> None:
    small = ag.ones(2, 1, 1, dtype="uint8")
    assert ag.addbmm(small[0], small, small).dtype == "uint8"
    assert ag.unravel_index(ag.tensor(np.uint8([1])), (2, 3))[0].dtype == "int64"
    assert ag.tensor_split(ag.arange(5), ag.tensor([1, 3]))[1].tolist() == [1, 2]
    assert ag.cdist(ag.eye(2), ag.eye(2), 2.0, "use_mm_for_euclid_dist").shape == (2, 2)
    frames = ag.tensor(np.arange(18).reshape(6, 3) * (1 + 0.5j))
    found = ag.istft(frames, 6, window=ag.ones(6), onesided=False)
    np.testing.assert_allclose(found, [-1.31445856, -0.16666667], rtol=1e-5)
