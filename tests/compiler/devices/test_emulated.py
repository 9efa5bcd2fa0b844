"""The emulated device: loop nests in a memory of its own; what forgets to copy fails."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.backend import BACKENDS
from agnesi.core.storage.device_tensors import PlacedTensor
from agnesi.core.support.errors import DeviceError

pytest.importorskip("llvmlite")

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((5, 7)).astype("f"), RNG.standard_normal((7, 3)).astype("f")
IMAGES, FILTERS = (RNG.standard_normal(s).astype("f") for s in ((2, 3, 6, 6), (4, 3, 3, 3)))


def there(x):
    return ag.tensor(x).to("emulated")


def on_both(function, *arrays):
    """The result computed on the device, and on the host."""
    made = function(*map(there, arrays))
    assert type(made) is PlacedTensor and made.device == "emulated"
    return made.to("cpu").numpy(), function(*map(ag.tensor, arrays)).numpy()


FUNCTIONS = {
    "elementwise": (lambda x: ag.tanh(x * 2.0 + 1) / (x.abs() + 1), A),
    "broadcast": (lambda x, y: ag.where(x > 0, x, y[:, 0]), A, B),
    "product": (lambda x, y: x @ y, A, B),
    "batched product": (lambda x, y: ag.einsum("bij,jk->bik", x, y), np.stack([A, -A]), B),
    "reduction": (lambda x: x.mean(0), A),
    "whole reduction": (lambda x: x.max(), A),
    "softmax": (lambda x: ag.softmax(x, axis=1), A),
    "movement": (lambda x: x.T[::2, 1:].reshape(-1), A),
    "integers": (lambda x: (x // 3) % 2 + x, np.arange(12).reshape(3, 4)),
    "bools": (lambda x: (x > 0) & (x < 1), A),
    "doubles": (lambda x: ag.special.erf(x) * ag.exp(x), A.astype("d")),
    "halves": (lambda x: x * x + 1, A.astype("float16")),
    "complex numbers": (lambda x: (x * 1j + x).conj(), A.astype("complex64")),
    "convolution": (lambda x, w: ag.conv2d(x, w, padding=1), IMAGES, FILTERS),
    "strided convolution": (lambda x, w: ag.conv2d(x, w, stride=2), IMAGES, FILTERS),
    "grouped convolution": (lambda x, w: ag.conv2d(x, w, groups=3), IMAGES, FILTERS[:3, :1]),
    "max-pooling": (lambda x: ag.max_pool(x, 2), IMAGES),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations_and_functions(name):
    function, *arrays = FUNCTIONS[name]
    for run in (function, ag.jit(function)):
        got, want = on_both(run, *arrays)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-3 if got.itemsize == 2 else 2e-5, atol=1e-6)


def network(w, v, x):
    y = ag.relu(ag.conv2d(x, w, padding=1)).sum((2, 3))
    return -ag.log_softmax(y @ v, axis=1)[:, 0].mean()


def test_a_whole_program_with_its_gradients_in_any_order_of_threads():
    step = ag.jit(ag.value_and_grad(network, (0, 1)))
    arrays = FILTERS, B[:4], IMAGES
    want = step(*map(ag.tensor, arrays))
    device, results = BACKENDS["emulated"](), []
    for order in (0, 1):
        device.order = order
        try:
            value, grads = step(*map(there, arrays))
            results.append([x.to("cpu").numpy() for x in (value, *grads)])
        finally:
            device.order = 0
    for one, other, host in zip(*results, (want[0], *want[1]), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, host.numpy(), rtol=2e-5, atol=1e-6)


def test_what_is_not_moved_is_refused():
    x = there(A)
    for use in (x.numpy, lambda: np.asarray(x), lambda: float(x.sum()), lambda: x[0].tolist(),
                lambda: bool((x > 0).all()), lambda: x.__iadd__(1.0), lambda: x.add_(1.0)):
        with pytest.raises(DeviceError, match=r"as if its elements were on the host; copy it"):
            use()
    with pytest.raises(DeviceError, match=r"the devices 'emulated' and 'cpu'.*move them to one"):
        x + ag.tensor(A)
    with pytest.raises(DeviceError, match="the devices 'cpu' and 'emulated'"):
        ag.jit(lambda x, y: x @ y)(ag.tensor(A), there(B))
    weight = ag.tensor(B)
    with pytest.raises(DeviceError, match="reads tensors that it was not given"):
        ag.jit(lambda x: x @ weight)(x)
    with pytest.raises(DeviceError, match="gradients do not flow to the device"):
        ag.tensor(A, requires_grad=True).to("emulated")
    assert repr(x) == "tensor(..., shape=(5, 7), dtype=float32, device='emulated')"


@pytest.mark.parametrize("text, use", [
    ("sort takes a kernel of the kind 'callback'", ag.sort),
    ("qr|geqrf takes a kernel of the kind 'callback'", lambda x: ag.linalg.qr(x)[0]),
    ("scan takes a kernel of the kind 'control'",
     lambda x: ag.scan(lambda c, v: (c * v.sum(), c), x[0], x.reshape(35, 1) + x[0])[0]),
    ("ensure takes a kernel of the kind 'control'", lambda x: ag.linalg.inv(x @ x.T)),
])
def test_what_is_no_loop_nest_is_refused_by_name(text, use):
    for run in (use, ag.jit(use)):
        with pytest.raises(DeviceError, match=text):
            run(there(A))


def test_what_is_made_of_loops_runs():
    for use in (lambda x: ag.cumsum(x, axis=0), lambda x: x[x > 0.5].sum()):
        got, want = on_both(use, A)
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_memory_is_of_its_own():
    device = BACKENDS["emulated"]()
    made = device.allocate((4,), np.dtype("float32"))
    assert made.address > 1 << 50 and made.strides == (4,)
    for address, count in ((made.address, 17), (made.address - 1, 1), (1, 1)):
        with pytest.raises(DeviceError, match="not in the memory of the device"):
            device.memory.bytes_at(address, count)
    gone = made.address
    del made
    with pytest.raises(DeviceError):
        device.memory.bytes_at(gone, 1)


def test_launches_wait_until_somebody_does():
    device, x = BACKENDS["emulated"](), there(A)
    y = x + 1.0
    before = device.memory.bytes_at(y.storage.address, y.storage.nbytes).copy()
    device.synchronize()
    after = device.memory.bytes_at(y.storage.address, y.storage.nbytes)
    assert (before == 0xA5).all()
    np.testing.assert_array_equal(after.view("f").reshape(A.shape), A + 1)


def test_copies_and_dtypes():
    x = there(A)
    assert x.to("emulated") is x and x.to("cpu").is_cpu and not x.is_cpu
    assert x.to("float64").dtype == np.float64 and x.to("float64").device == "emulated"
    assert ag.device("emulated").type == "emulated"
    np.testing.assert_array_equal(x.cpu().numpy(), A)
    turned = ag.tensor(A).T.to("emulated")
    np.testing.assert_array_equal(turned.to("cpu").numpy(), A.T)
    with pytest.raises(DeviceError, match="a symbolic tensor is on no device"):
        ag.jit(lambda x: x.to("emulated"))(ag.tensor(A))
