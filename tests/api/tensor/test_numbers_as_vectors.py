"""PyTorch's calls of 0-d tensors with their axis, by name or by place."""

import numpy as np
import pytest

import agnesi as ag

T, PLACE, NUMBER = ag.tensor(2.0), ag.tensor([0]), ag.tensor(0)


@pytest.mark.parametrize(("found", "wanted"), [
    (lambda: ag.index_add(T, 0, PLACE, T, alpha=-1), 0.0),
    (lambda: ag.index_fill(T, 0, NUMBER, 3.0), 3.0),
    (lambda: ag.index_select(T, 0, PLACE), 2.0),
    (lambda: ag.gather(T, 0, PLACE), [2.0]),
    (lambda: ag.gather(T, dim=0, index=NUMBER), 2.0),
    (lambda: ag.scatter_reduce(T, 0, NUMBER, T, "sum", include_self=False), 2.0),
    (lambda: T.clone().scatter_(0, NUMBER, 5.0), 5.0),
    (lambda: ag.prod(T, 0, keepdim=True), 2.0),
    (lambda: ag.norm(T, 2, 0, True), 2.0),
    (lambda: ag.linalg.vector_norm(T, dim=0), 2.0),
    (lambda: ag.softmax(T, 0, dtype=ag.float64), 1.0),
    (lambda: ag.quantile(T, ag.tensor([0.2, 0.7]), dim=0, keepdim=True), [2.0, 2.0]),
    (lambda: ag.topk(T, 1).indices, 0),
    (lambda: ag.mode(T).values, 2.0),
    (lambda: ag.max(T, 0, True).values, 2.0),
    (lambda: T.unfold(0, 1, 1), [2.0]),
    (lambda: ag.nonzero(T, as_tuple=True)[0], [0]),
    (lambda: T.transpose(0, 0), 2.0),
    (lambda: ag.nn.PReLU()(ag.tensor(-2.0)), -0.5),
    (lambda: ag.jit(lambda t: ag.gather(t, 0, PLACE))(T), [2.0]),
])
def test_a_number_has_one_axis(found, wanted) -> None:
    assert found().tolist() == wanted


@pytest.mark.parametrize(("found", "wanted"), [
    (lambda x: ag.cat((x[0, :0], x), dim=1), [[2.0, 1.0], [1.0, 3.0]]),
    (lambda x: ag.cat([ag.zeros(0), ag.tensor([[1, 2]])]), [[1.0, 2.0]]),
    (lambda x: ag.put(x, PLACE, x[0, :1], accumulate=True), [[4.0, 1.0], [1.0, 3.0]]),
    (lambda x: ag.put(x, PLACE, x[1, 1:], False), [[3.0, 1.0], [1.0, 3.0]]),
    (lambda x: ag.histogram(x, bins=2, weight=None, density=False)[0], [2.0, 2.0]),
    (lambda x: ag.linalg.vecdot(x, x, dim=0), [5.0, 10.0]),
    (lambda x: ag.norm(3 * ag.ones(2, 2), "fro"), 6.0),
    (lambda x: ag.norm(3 * ag.ones(2, 2), p="fro", dim=(0, 1), keepdim=True), [[6.0]]),
    (lambda x: ag.round((x * 0 + ag.eye(2)).norm("nuc")), 2.0),
    (lambda x: ag.norm(x[0], p="fro", dim=0, dtype=ag.float64) ** 2 // 1, 5.0),
    (lambda x: ag.norm(3 * ag.ones(2, 2), "fro", dim=(0, 1)), 6.0),
    (lambda x: ag.jit(lambda x: ag.norm(x, p="fro"))(3 * ag.ones(2, 2)), 6.0),
    (lambda x: ag.nn.functional.hardtanh(x, 1.5, 1.5)[0], [1.5, 1.5]),
    (lambda x: ag.std_mean(x, correction=None)[1], 1.75),
])
def test_calls_that_only_pytorch_has(found, wanted) -> None:
    np.testing.assert_array_equal(found(ag.tensor([[2.0, 1.0], [1.0, 3.0]])).numpy(), wanted)
