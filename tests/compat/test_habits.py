"""What libraries for PyTorch rely on without a word: kinds of errors, shapes, operators."""

import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.distributions import Distribution, Gamma, Normal


@pytest.mark.parametrize("call", [
    lambda x: x + ag.ones(3), lambda x: x.view(3), lambda x: x @ ag.ones(3),
    lambda x: ag.cat([x, x[None]]),
    lambda x: x < object(), lambda x: nn.Linear(3, 1)(x), lambda x: x.expand(3),
])
@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_wrong_shapes_and_types_are_runtime_errors_too(call, way):
    with pytest.raises(RuntimeError) as caught:
        way(call)(ag.ones(2))
    assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.parametrize("other", [..., slice(1), object(), print, None, "a", {}, types.ModuleType])
def test_what_holds_no_numbers_equals_no_tensor(other):
    x = ag.ones(2)
    assert (x == other) is False and (x != other) is True and (other == x) is False
    assert other in (x, other) and (x, 3, other).index(other) == 2


def test_shapes_stay_shapes():
    shape = ag.ones(2, 3).shape
    front = (4,)
    for found in (front + shape, shape + front, 2 * shape, shape * 2, shape[:1],
                  ag.broadcast_shapes((2, 1), (3,)), Normal(ag.ones(2), 1.0).batch_shape,
                  Normal(0.0, 1.0).event_shape, Gamma(ag.ones(2), 1.0)._extended_shape((5,))):
        assert type(found) is ag.Size and found.numel() == np.prod(found)
    with pytest.raises(TypeError, match="interpreted as an integer"):
        shape * 1.5


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_what_repeats_nothing_may_be_written_to(way):
    x = ag.zeros(2, 2)
    way(lambda x: x.expand(1, 2, 2)[:, :1].fill_(3))(x)
    way(lambda x: x.expand_as(ag.ones(1, 1, 2, 2)).add_(1))(x)
    assert x.tolist() == [[4, 4], [1, 1]]
    with pytest.raises(ValueError, match="read-only memory"):
        way(lambda x: x.expand(2, 2, 2).add_(1))(x)


def test_gradients_of_a_function_are_added_where_the_argument_was_broadcast():
    class Product(ag.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g * 2, g * 3

    a, b = ag.ones(1, 1, requires_grad=True), ag.ones(3, 3, requires_grad=True)
    Product.apply(a, b).sum().backward()
    assert a.grad.tolist() == [[18]] and b.grad.tolist() == [[3] * 3] * 3

    class Wrong(Product):
        @staticmethod
        def backward(ctx, g):
            return g[:2], g

    with pytest.raises(ag.GradientError, match="their shapes must agree"):
        Wrong.apply(b, b).sum().backward()


def test_a_module_may_be_a_distribution_and_checks_are_chosen_for_all():
    class Prior(nn.Module, Gamma):
        def __init__(self):
            nn.Module.__init__(self)
            Gamma.__init__(self, ag.tensor(2.0), ag.tensor(3.0))

    assert [name for name, _ in Prior().named_buffers()] == ["concentration", "rate"]
    both = {*vars(Distribution)} & {*dir(nn.Module)}
    shared = {name for name in both if not hasattr(object, name)}
    assert shared <= {"__annotations__", "__strict__", "__getattr__", "__weakref__"}
    try:
        Distribution.set_default_validate_args(False)
        assert Normal(0.0, -1.0).scale == -1
        with pytest.raises(ValueError, match="scale must be"):
            Normal(0.0, -1.0, validate_args=True)
    finally:
        Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="scale must be"):
        Normal(0.0, -1.0)


def test_nan_is_a_place_outside_of_a_sampled_image():
    grid = ag.full((1, 1, 1, 2), float("nan"))
    for mode in ("bilinear", "nearest", "bicubic"):
        for border in ("zeros", "border", "reflection"):
            found = nn.functional.grid_sample(ag.ones(1, 1, 2, 2), grid, mode, border)
            assert found.shape == (1, 1, 1, 1)


def test_words_of_mixed_precision_and_compilers_change_nothing():
    def f(x):
        return x

    assert ag.amp.custom_fwd(f) is f is ag.amp.custom_fwd(device_type="cuda")(f)
    assert ag.amp.custom_bwd(f) is f is ag.amp.custom_bwd(device_type="cuda")(f)
    assert ag.jit(lambda x: x * 2 if ag.compiler.is_compiling() else x)(ag.ones(1)) == 1


def test_keywords_by_pytorchs_names():
    x = ag.ones(3, 4)
    layer = nn.Linear(2, 2)
    twice = nn.Sequential(layer, layer)
    seen = []
    assert layer.apply(fn=seen.append) is layer and seen == [layer]
    assert len(list(twice.modules())) == 2
    assert len(list(twice.modules(remove_duplicate=False))) == 3
    assert x.copy_(src=2 * x).sum().item() == 24
    assert x[None].bmm(batch2=x.T[None]).shape == (1, 3, 3)
    assert nn.functional.gumbel_softmax(x, 1.0, True, 1e-10, -1).sum().item() == 3
    assert nn.functional.gumbel_softmax(x, hard=True, eps=1e-5, dim=0).sum().item() == 4
    for made in (ag.frombuffer(bytes(8), dtype="float32", requires_grad=True),
                 ag.fft.fftfreq(4, requires_grad=True), ag.fft.rfftfreq(4, requires_grad=True)):
        assert made.requires_grad
    with ag.random.fork_rng(devices=[], device_type="cpu"):
        ag.rand(1)
    weight = ag.tensor([2.0, 0.5], dtype="float64")
    y = ag.tensor([0.5, 1.5], dtype="float64", requires_grad=True)
    assert ag.autograd.gradgradcheck(lambda y: y * y * y, (y,), (weight,))
    with pytest.raises(ValueError):
        ag.autograd.gradgradcheck(ag.sin, (y,), grad_outputs=(weight, weight))


@pytest.mark.parametrize("made", [
    lambda p: ag.optim.SGD(p, 0.1), lambda p: ag.optim.LBFGS(p),
    lambda p: ag.optim.lr_scheduler.StepLR(ag.optim.SGD(p, 0.1), 1),
    lambda p: ag.optim.lr_scheduler.ReduceLROnPlateau(ag.optim.SGD(p, 0.1)),
    lambda p: nn.Linear(2, 2),
])
def test_states_are_loaded_by_pytorchs_keyword(made):
    one = made([ag.ones(2, requires_grad=True)])
    one.load_state_dict(state_dict=one.state_dict())


@pytest.mark.parametrize(("call", "hint"), [
    (lambda: ag.save(obj={}, f="x"), "`what`, first and without a name"),
    (lambda: ag.stft(ag.ones(64), 16, align_to_window=True), "padded signal"),
    (lambda: nn.LinearCrossEntropyLoss(2, 2, options=None), "`ag.jit` decides"),
    (lambda: ag.autograd.backward(ag.ones(()), grad_variables=None), "`grad_tensors`"),
])
def test_keywords_that_are_not_there_say_what_is(call, hint):
    with pytest.raises(TypeError, match="unexpected keyword") as caught:
        call()
    assert hint in str(caught.value)


def test_sparse_tensors_answer_what_is_asked_of_tensors():
    for x in (ag.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)), ag.sparse.csr(ag.eye(3))):
        assert x.ndimension() == x.dim() == 2 and x.nelement() == x.numel() == 3 * x.shape[0]
        assert x.is_floating_point() and not x.is_complex()
