"""PyTorch's methods: changes in place by the table, draws in place, hooks, types and devices."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic
from agnesi.api.tensor import methods

X = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.2]])
Y = np.array([[0.4, 0.6, 0.8], [0.9, 0.1, 0.5]])
#: Arguments behind the first operand; by default none, or Y where that is not enough.
ARGUMENTS: dict[str, str] = {
    "addbmm": "t(X[None]), t(np.ones((1, 3, 3)))", "addmm": "t(X), t(np.ones((3, 3)))",
    "addmv": "t(Y[:, :2]), t(X[:, 0])", "addr": "t(X[:, 0]), t(Y[0])",
    "baddbmm": "t(X[None]), t(np.ones((1, 3, 3)))", "cumsum": "1", "cumprod": "1",
    "index_add": "0, t([1, 0]), t(Y)", "index_reduce": "0, t([1, 0]), t(Y), 'prod'",
    "scatter_reduce": "0, t([[1, 0, 1]]), t(Y), 'sum'",
    "index_copy": "1, t([2, 0]), t(Y[:, :2])",
    "index_fill": "1, t([2]), 5.0", "index_put": "(t([1, 0]),), t(Y)", "lerp": "t(Y), 0.25",
    "addcdiv": "t(Y), t(Y)", "addcmul": "t(Y), t(Y)", "masked_fill": "t(X > 0.4), 2.0",
    "scatter": "0, t([[0, 1, 0]]), t(Y)", "scatter_add": "0, t([[0, 1, 0]]), t(Y)",
    "ldexp": "t([[1, 2, 3], [0, 1, 2]])", "clamp_max": "0.4", "clamp_min": "0.4",
    "masked_scatter": "t(X > 0.4), t(Y)", "mvlgamma": "1", "renorm": "2, 0, 0.5", "logit": "0.01",
    "gcd": "t([[6, 4, 9], [3, 3, 8]])", "lcm": "t([[6, 4, 9], [3, 3, 8]])",
}
INTEGERS = {"gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift", "bitwise_not"}


def operand(name: str) -> Any:
    made = np.array([[5, 2, 3], [6, 1, 4]]) if name in INTEGERS else X.copy()
    if name in ("addbmm", "baddbmm", "addmv"):
        return {"addbmm": made, "baddbmm": made[None], "addmv": made[:, 0].copy()}[name]
    return made + 1 if name in ("acosh", "arccosh") else made


def arguments(name: str) -> list[Any]:
    t = ag.tensor
    if name in ARGUMENTS:
        found = eval(ARGUMENTS[name], {"t": t, "X": X, "Y": Y, "np": np})
        return list(found) if isinstance(found, tuple) else [found]
    if name in ("bitwise_left_shift", "bitwise_right_shift"):
        return [t([[1, 2, 0], [1, 1, 1]])]
    shown = inspect.signature(getattr(ag, methods.OTHER.get(name, name))).parameters.values()
    operands = [p for p in shown if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    return [t(Y)] if len(operands) > 1 else []


NAMES = methods.IN_PLACE_LATE.split()


def test_changes_in_place_are_the_functions() -> None:
    for name in NAMES:
        function, change = getattr(ag, methods.OTHER.get(name, name)), f"{name}_"
        expected = function(ag.tensor(operand(name)), *arguments(name))
        x = ag.tensor(operand(name))
        rows = ag.stack([x, x])
        given = arguments(name)
        assert getattr(x, change)(*given) is x
        np.testing.assert_allclose(x, expected, rtol=1e-12, err_msg=name)
        getattr(rows[1], change)(*given)
        np.testing.assert_allclose(rows[1], expected, rtol=1e-12, err_msg=f"view: {name}")
        np.testing.assert_array_equal(rows[0], operand(name), err_msg=name)
        assert getattr(ag.Tensor, change).__name__ == change
        leaf = ag.tensor(operand(name) * 1.0, requires_grad=True)
        if name not in INTEGERS:
            with pytest.raises(ag.GradientError, match="cannot be changed in place"):
                getattr(leaf, change)(*given)


def test_changes_in_place_compiled_and_with_gradients() -> None:
    names = [n for n in NAMES if n not in INTEGERS]
    xs = [ag.tensor(operand(n)) for n in names]

    def changed(xs: Any) -> Any:
        found = []
        for name, x in zip(names, xs, strict=True):
            y = x * 1.0
            getattr(y, f"{name}_")(*arguments(name))
            found.append(y)
        return found

    eager = changed(xs)
    for name, a, b in zip(names, ag.jit(changed)(xs), eager, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=f"jit: {name}")
    smooth = ("acosh", "addmm", "cumsum", "erfinv", "hypot", "index_copy", "lerp", "xlogy", "logit",
              "masked_scatter")
    for name in smooth:
        for way in (f"{name}_", name):
            x = ag.tensor(operand(name), requires_grad=True)
            y = x * 1.0
            other = [a.requires_grad_() if isinstance(a, ag.Tensor) and a.dtype == "float64" else a
                     for a in arguments(name)]
            g = ag.grad((getattr(y, way)(*other) ** 2).sum(), x)
            if way != name:
                kept = g
        np.testing.assert_allclose(kept, g, rtol=1e-9, err_msg=name)


def test_symbolic_tensors_do_not_change() -> None:
    v = symbolic.vector("v")
    for change in (lambda: v.arctan_(), lambda: v.clamp_min_(0), lambda: v.normal_()):
        with pytest.raises((TypeError, ag.TraceError, ValueError, RuntimeError), match="in place"):
            change()


def test_draws_in_place() -> None:
    ag.manual_seed(3)
    x = ag.zeros(20000)
    for name, args, mean in (
        ("normal_", (1.0, 2.0), 1.0), ("uniform_", (2.0, 4.0), 3.0), ("bernoulli_", (0.3,), 0.3),
        ("exponential_", (2.0,), 0.5), ("geometric_", (0.25,), 4.0), ("random_", (2, 5), 3.0),
        ("log_normal_", (0.0, 0.5), np.exp(0.125)), ("random_", (3,), 1.0),
    ):
        assert getattr(x, name)(*args) is x
        assert abs(float(x.mean()) - mean) < 0.12, name
    assert abs(float(x.cauchy_(2.0, 0.5).median()) - 2) < 0.05
    assert x.normal_(std=3.0, mean=1.0).std() > 2 and x.uniform_(**{"from": 5, "to": 6}).min() >= 5
    assert ag.zeros(9, dtype="bool").random_().dtype == "bool"
    assert ag.zeros(100, dtype="int64").random_().max() > 2**40
    rows = ag.zeros((2, 3))
    rows[1].uniform_(1, 2)
    assert rows[0].tolist() == [0, 0, 0] and rows[1].min() >= 1
    one, two = (ag.zeros(3).normal_(generator=ag.Generator(5)) for _ in range(2))
    assert (one == two).all()

    @ag.jit
    def filled(x: Any) -> Any:
        return (x * 1.0).normal_(), (x * 1.0).exponential_()

    first, second = filled(ag.zeros(4)), filled(ag.zeros(4))
    assert (first[0] != second[0]).all() and (first[1] > 0).all()
    w = ag.ones(3, requires_grad=True)
    with pytest.raises(ag.GradientError, match="cannot be changed in place"):
        w.normal_()
    with ag.no_grad():
        w.normal_()
    with pytest.raises(ValueError, match="std must be at least 0"):
        ag.zeros(3).normal_(0, -1)


# -- hooks ------------------------------------------------------------------------------------
def test_hooks_see_and_change_gradients() -> None:
    x, seen = ag.ones(2, requires_grad=True), []
    y = x * 3
    keep = y.register_hook(seen.append)
    double = x.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g + 1)
    (y * y).sum().backward()
    assert seen[0].tolist() == [6, 6] and x.grad.tolist() == [42, 42]
    keep.remove()
    double.remove()
    x.grad = None
    (x * 3).exp().log().sum().backward()
    np.testing.assert_allclose(x.grad, [3, 3], rtol=1e-6)
    assert len(seen) == 1
    with x.register_hook(lambda g: g * 10):
        assert ag.grad((x * x).sum(), x).tolist() == [20, 20]
    assert ag.grad((x * x).sum(), x).tolist() == [2, 2]


def test_hooks_in_compiled_functions() -> None:
    w = ag.ones(3, requires_grad=True)
    w.register_hook(lambda g: g * 10)

    def step(s: Any) -> Any:
        w.grad = None
        z = w * s
        z.register_hook(lambda g: ag.clip(g, -1, 1))
        (z.exp() * 2).log().sum().backward()
        (z * z * 2).sum().backward()
        return z

    for run in (step, ag.jit(step, keep_grads=True)):
        run(2.0)
        assert w.grad.tolist() == [40, 40, 40]
    w.grad = None
    ag.jit(lambda: w * 2)().sum().backward()
    assert w.grad.tolist() == [20, 20, 20]
    w.grad = None
    ag.checkpoint(lambda v: v * 2, w).sum().backward()
    assert w.grad.tolist() == [20, 20, 20]


def test_hooks_that_cannot_be() -> None:
    with pytest.raises(ag.GradientError, match="does not require grad"):
        ag.ones(2).register_hook(print)
    x = ag.ones(2, requires_grad=True)
    for wrong, text in ((lambda g: 1.0, "not 1.0"), (lambda g: g.sum(), r"not float32\[\]")):
        with x.register_hook(wrong), pytest.raises(ag.GradientError, match=text):
            (x * 2).sum().backward()



def test_a_hook_is_registered_behind_the_first_compiled_step() -> None:
    y = ag.ones(2, requires_grad=True)

    @ag.jit
    def step() -> Any:
        y.grad = None
        (y * y).sum().backward()
        return y.grad * 1

    model = ag.nn.Linear(2, 1, bias=False)
    compiled = ag.jit(model)

    def slope() -> Any:
        model.weight.grad = None
        compiled(ag.ones(2)).sum().backward()
        return model.weight.grad.tolist()

    assert step().tolist() == [2.0, 2.0] and slope() == [[1.0, 1.0]]
    handle = y.register_hook(lambda g: g * 10)
    model.weight.register_hook(lambda g: g * 3)
    assert step().tolist() == [20.0, 20.0] and slope() == [[3.0, 3.0]]
    assert "a hook of float32[2] was registered" in str(step.explain())
    handle.remove()
    assert step().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("when", [0, 2, 10, 200])
def test_hooks_of_layers_that_became_compiled_regions(when: int) -> None:
    layer, x, calls = ag.nn.Linear(3, 4), ag.ones(5, 3), []
    for i in range(300):
        if i == when:
            layer.bias.register_hook(lambda g: (calls.append(1), g * 2)[1])
        layer.zero_grad()
        layer(x).sum().backward()
        assert layer.bias.grad.tolist() == [10.0 if i >= when else 5.0] * 4
    assert len(calls) == 300 - when


# -- types, devices, sizes --------------------------------------------------------------------
def test_types_and_devices() -> None:
    x = ag.ones((2, 3))
    assert x.type() == "torch.FloatTensor" and ag.tensor([1]).type() == "torch.LongTensor"
    for kind in (ag.LongTensor, "torch.LongTensor", ag.long, "int64"):
        assert x.type(kind).dtype == "int64"
    assert x.type(ag.float) is x and x.cpu() is x and x.get_device() == -1
    assert (x.dim(), x.ndimension(), x.stride(), x.t().stride(0)) == (2, 2, (3, 1), 1)
    assert x.is_cpu and not x.is_cuda and not x.is_sparse
    z = ag.tensor([[1 + 2j, 3.0]])
    assert z.H.tolist() == z.mH.tolist() == [[1 - 2j], [3 + 0j]] and x.mH.shape == (3, 2)
    with pytest.raises(ValueError, match=r"there is one device, 'cpu', and not 'cuda'"):
        x.cuda()
    with pytest.raises(ag.DTypeError, match="unsupported dtype"):
        x.type("torch.NoTensor")


def test_triangles_of_rows_columns_and_an_offset() -> None:
    for numpys, name in ((np.triu_indices, "triu_indices"), (np.tril_indices, "tril_indices")):
        found = getattr(ag, name)(2, 4, offset=1)
        np.testing.assert_array_equal(np.stack(found), np.stack(numpys(2, 1, 4)))


@pytest.mark.parametrize(("named", "placed"), [
    ("x.reshape(shape=(3, 2))", "x.reshape(3, 2)"), ("x.view(size=(3, 2))", "x.view(3, 2)"),
    ("x.permute(dims=(1, 0))", "x.permute(1, 0)"), ("x.tile(dims=(1, 2))", "x.tile(1, 2)"),
    ("x.expand(size=(2, -1, 3))", "x.expand(2, -1, 3)"),
    ("x.view(dtype=ag.int64)", "x.view(ag.int64)"), ("x.new_zeros(size=(2,))", "x.new_zeros(2)"),
    ("ag.randn(size=(2, 3)).shape", "(2, 3)"), ("ag.rand(size=4).shape", "(4,)"),
    ("ag.arange(end=5)", "ag.arange(5)"), ("ag.arange(end=5, step=2)", "ag.arange(0, 5, 2)"),
    ("ag.randint(high=1, size=(2,))", "ag.zeros(2, dtype=int)"),
    ("x.scatter(dim=1, index=i, value=1.0)", "x.scatter(1, i, 1.0)"),
    ("ag.nn.functional.dropout(input=x, p=0.5, training=False, inplace=True)", "x"),
])
def test_sizes_and_ends_by_name(named: str, placed: str) -> None:
    names = {"ag": ag, "x": ag.tensor(X), "i": ag.tensor([[0], [2]])}
    np.testing.assert_array_equal(eval(named, names), eval(placed, names))


def test_shapes_and_places() -> None:
    x = ag.arange(6.0)
    assert x.view_as(ag.ones(2, 3)).shape == (2, 3)
    for f in (lambda y: y.view_as(x), ag.jit(lambda y: y.view_as(x))):
        with pytest.raises(ValueError, match="does not lie in memory so"):
            f(ag.ones(2, 3).T)
    assert ag.ones((2, 4, 3)).sum_to_size(4, 1).tolist() == [[6.0]] * 4
    assert x.clone().put_(ag.tensor([[0, 5]]), ag.tensor([[7.0, 8.0]])).tolist() == [
        7, 1, 2, 3, 4, 8]
    assert x.clone().put_(ag.tensor([1, 1]), ag.ones(2), accumulate=True)[1] == 3
    assert ag.zeros(2, 2).fill_diagonal_(4).tolist() == [[4, 0], [0, 4]]
    w = ag.ones(2, requires_grad=True)
    y = w * 2
    assert y.detach_() is y and not y.requires_grad and y.is_leaf
    with pytest.raises(ag.GradientError, match=r"write x = x.detach\(\)"):
        ag.jit(lambda v: (v * 2).detach_())(w)


def test_a_number_in_order_is_itself() -> None:
    for run in (lambda f: f, ag.jit):
        values, places = run(lambda x: tuple(x.sort(dim=0)))(ag.tensor(3.0))
        assert values.shape == places.shape == () and (values, places) == (3.0, 0)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_optimizers_step_when_a_gradient_has_arrived(way: Any) -> None:
    """As in PyTorch's tutorial, gradients are used up one by one."""
    x = ag.arange(12.0).reshape(4, 3) / 12

    def losses(behind: bool) -> list[float]:
        ag.manual_seed(0)
        net = ag.nn.Sequential(ag.nn.Linear(3, 4), ag.nn.Tanh(), ag.nn.Linear(4, 2))
        tools = {p: ag.optim.SGD([p], lr=0.1, momentum=0.9) for p in net.parameters()}

        def use_up(p: Any) -> None:
            tools[p].step()
            tools[p].zero_grad()

        handles = [p.register_post_accumulate_grad_hook(use_up) for p in tools if behind]

        def step(x: Any) -> Any:
            loss = (net(x) ** 2).mean()
            loss.backward()
            if not behind:
                for p in tools:
                    use_up(p)
            return loss

        step = way(step)
        found = [float(step(x)) for _ in range(4)]
        assert all(p.grad is None for p in tools)
        for handle in handles:
            handle.remove()
        return found

    assert losses(behind=True) == pytest.approx(losses(behind=False))
    with pytest.raises(ag.GradientError, match="only a parameter has a grad"):
        (ag.ones(1, requires_grad=True) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match="hook must be a function, not 3"):
        ag.ones(1, requires_grad=True).register_post_accumulate_grad_hook(3)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_a_hook_takes_the_gradients_of_others_away(way: Any) -> None:
    """What arrives behind it is not added to what it took away."""
    w, v = (ag.ones(2, requires_grad=True) for _ in range(2))

    def step() -> None:
        (w * v * 3).sum().backward()

    step()
    with w.register_post_accumulate_grad_hook(lambda p: [x.zero_grad() for x in (w, v)]):
        way(step)()
    assert w.grad is None and v.grad.tolist() == [3.0, 3.0]


def test_rows_of_a_table_arrive_as_rows() -> None:
    table, found = ag.nn.Embedding(4, 2, sparse=True), []
    table.weight.register_post_accumulate_grad_hook(lambda p: found.append(p.grad.is_sparse))
    table(ag.tensor([1, 2])).sum().backward()
    assert found == [True]


def test_new_makes_tensors_of_the_same_dtype() -> None:
    x = ag.ones((2, 3), dtype="float64")
    assert (x.new(2, 4).shape, x.new(2, 4).dtype) == ((2, 4), x.dtype) and x.new().shape == (0,)
    assert x.long().new([1, 2]).tolist() == [1, 2] and x.new(x.size(0)).zero_().shape == (2,)
    assert x.type(ag.Tensor).dtype == ag.float32
    for call in (x.new, ag.FloatTensor, ag.Tensor):
        assert call((2, 3)).tolist() == [2, 3]  # no shape of a tensor: data, as in PyTorch
        assert call(x.shape).shape == x.shape


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_tensors_get_another_shape_in_place(run: Any) -> None:
    """What looked into their memory keeps its shape, and gradients go the new way."""
    def step(v: Any) -> Any:
        z = v * 3
        row = z[0:1]
        assert z.unsqueeze_(0) is z and z.shape == (1, 2, 3) and row.shape == (1, 3)
        z.add_(1)
        row.mul_(2)
        back = (v + 1).transpose_(0, 1)
        back[0] *= ag.tensor([2.0, 3.0])
        return z.squeeze_(0).t_(), back.swapaxes_(0, 1), v.exp().swapdims_(0, 1).squeeze_(dim=0)

    v = ag.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    found = run(step)(v)
    sum(y.sum() for y in found).backward()
    x = np.arange(6.0).reshape(2, 3)
    assert found[0].tolist() == ((x * 3 + 1) * [[2], [1]]).T.tolist()
    assert found[1].tolist() == ((x + 1) * [[2, 1, 1], [3, 1, 1]]).tolist()
    np.testing.assert_allclose(np.asarray(found[2].detach()), np.exp(x).T)
    slopes = np.array([[8, 7, 7], [6, 4, 4]]) + np.exp(x)
    np.testing.assert_allclose(np.asarray(v.grad), slopes)


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_a_shape_in_place_that_is_there_already_changes_nothing(run: Any) -> None:
    @run
    def step(x: ag.Tensor, y: ag.Tensor) -> None:
        x.resize_as_(y).copy_(y)
        x.resize_(2, 1).mul_(2)

    x, y = ag.zeros(2, 1), ag.tensor([[1.0], [3.0]])
    held = x.numpy()
    for _ in range(3):
        step(x, y)
    assert held.tolist() == x.tolist() == [[2.0], [6.0]]


def test_shapes_in_place_of_what_others_hold_are_refused() -> None:
    w, b = ag.ones(2, requires_grad=True), ag.zeros((2, 3))
    with pytest.raises(ag.GradientError, match=r"leaf that requires .* write x = x.unsqueeze\(0\)"):
        w.unsqueeze_(0)
    for step in (lambda a: a.t_(), lambda a: b.t_()):
        with pytest.raises(ag.TraceError, match=r"outside of the compiled .* write x = x.t\(\)"):
            ag.jit(step)(b)
    row = b[0]
    row.unsqueeze_(0).add_(1)
    assert b.tolist() == [[1] * 3, [0] * 3] and row.shape == (1, 3)
    assert ag.vmap(lambda u: (u * 2).unsqueeze_(0))(b).shape == (2, 1, 3)


def test_tensors_are_resized_in_place() -> None:
    """The first elements stay; what looked into the memory keeps its shape."""
    x = ag.arange(6.0)
    part = x[1:3]
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    x[0, 1] = 9.0
    assert part.tolist() == [9, 2] and x.resize_((1, 3)).tolist() == [[0, 9, 2]]
    assert x.resize_(5).tolist() == [0, 9, 2, 0, 0]
    w = ag.ones((2, 3), dtype="float64")
    mask = w.new().resize_as_(w).fill_(0.5)
    assert mask.dtype == w.dtype and (mask * w).tolist() == [[0.5] * 3] * 2
    found = ag.jit(lambda v: (v * 2).resize_(2, 2) + 1)
    assert found(ag.arange(6.0)).tolist() == [[1, 3], [5, 7]]
    assert found(ag.arange(2.0)).tolist() == [[1, 3], [1, 1]]
    with pytest.raises(ag.GradientError, match=r"resize_\(\) of float32\[2\], which requires"):
        ag.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(ag.TraceError, match=r"outside of the compiled .*\[:2\].reshape\(2,\)"):
        ag.jit(lambda v: v.resize_(2))(w)


@pytest.mark.parametrize(("call", "like"), [
    (lambda: ag.tril_indices(row=3, col=4), lambda: np.tril_indices(3, 0, 4)),
    (lambda: ag.tril_indices(3, 4, offset=-1), lambda: np.tril_indices(3, -1, 4)),
    (lambda: ag.triu_indices(3, col=2, offset=1), lambda: np.triu_indices(3, 1, 2)),
    (lambda: ag.triu_indices(row=2, col=3, dtype=ag.int32), lambda: np.triu_indices(2, 0, 3)),
])
def test_triangles_by_pytorchs_words_are_a_matrix(call, like):
    assert call().tolist() == np.stack(like()).tolist()
