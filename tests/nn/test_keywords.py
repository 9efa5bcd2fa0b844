"""Calls that PyTorch's programs write with keywords mean the same here."""

from __future__ import annotations

import pytest

import agnesi as ag
from agnesi import nn


def test_sequences_are_padded_in_front() -> None:
    sequences = [ag.tensor([1, 2, 3]), ag.tensor([4])]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=9,
                                       padding_side="left")
    assert padded.tolist() == [[1, 2, 3], [9, 9, 4]]
    found = nn.utils.rnn.unpad_sequence(padded_sequences=[[1, 2], [3, 0]], lengths=[2, 1],
                                        batch_first=True)
    assert [x.tolist() for x in found] == [[1, 2], [3]]


def test_words_without_a_meaning_here_are_taken() -> None:
    layer = nn.Linear(2, 1)
    layer.weight.grad = ag.tensor([[3.0, 4.0]])
    assert nn.utils.get_total_norm([layer.weight.grad], foreach=False).item() == 5.0
    assert nn.utils.clip_grad_norm_(layer.parameters(), 1.0, foreach=True).item() == 5.0
    nn.utils.clip_grad_value_([layer.weight], 0.1, foreach=None)
    assert layer.weight.grad.max().item() == pytest.approx(0.1)
    loader = ag.data.DataLoader(ag.data.TensorDataset(ag.arange(4)), 2, pin_memory_device="",
                                in_order=True)
    assert len(loader) == 2
    x = ag.tensor([0.5], dtype="float64", requires_grad=True)
    assert ag.autograd.gradcheck(ag.sin, x, check_batched_grad=False, check_undefined_grad=True)
    assert ag.autograd.gradgradcheck(ag.sin, x, gen_non_contig_grad_outputs=False)


def test_functions_of_functions_and_states_have_pytorchs_words() -> None:
    layer, x = nn.Linear(2, 1, bias=False), ag.ones((1, 2))
    given = {"weight": ag.ones((1, 2))}
    for words in ({"parameter_and_buffer_dicts": given}, {"parameters_and_buffers": (given, {})}):
        y = nn.utils.stateless.functional_call(layer, **words, args=x, tie_weights=True,
                                               strict=True)
        assert y.item() == 2.0
    with pytest.raises(KeyError, match=r"\['weight'\] are missing"):
        ag.func.functional_call(layer, {}, x, strict=True)
    assert ag.func.grad(func=lambda a: (a * a).sum(), argnums=0)(ag.ones(2)).tolist() == [2, 2]
    assert ag.func.jacrev(func=lambda a: a * 2)(ag.ones(2)).tolist() == [[2, 0], [0, 2]]
    layer.load_state_dict(state_dict=given, strict=True)
    assert layer.weight.tolist() == [[1, 1]]
    optimizer = ag.optim.SGD(layer.parameters(), lr=0.1)
    optimizer.load_state_dict(state_dict=optimizer.state_dict())
    schedule = ag.optim.swa_utils.SWALR(optimizer, 0.05, last_epoch=-1)
    assert schedule.last_epoch == 0
    assert ag.data.default_collate(batch=[1, 2]).tolist() == [1, 2]
    assert nn.LazyBatchNorm1d(bias=False)(ag.ones((4, 3))).shape == (4, 3)
    within = ag.distributions.constraints.interval(lower_bound=0.0, upper_bound=1.0)
    assert bool(within.check(ag.tensor(0.5)).all())


def test_gradients_go_to_the_leaves_that_are_named() -> None:
    a, b = ag.tensor([1.0, 2.0], requires_grad=True), ag.tensor(3.0, requires_grad=True)
    for backward in (lambda y: y.backward(inputs=[b]),
                     lambda y: ag.autograd.backward([y], inputs=b)):
        b.grad = None
        backward((a * b).sum())
        assert a.grad is None
        assert b.grad is not None
        assert b.grad.item() == 3.0
    with pytest.raises(ag.GradientError, match="inputs= takes leaves that require grad"):
        (a * b).sum().backward(inputs=[a * 2])

    def step(x: ag.Tensor) -> ag.Tensor:
        b.grad = None
        (x * a * b).sum().backward(inputs=[b])
        return b.grad

    assert ag.jit(step)(ag.ones(2)).item() == 3.0
    assert a.grad is None
    y = a * 2
    (rows,) = ag.autograd.grad(y, a, ag.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2, 0], [0, 2]]
    assert [g.tolist() for g in ag.autograd.grad(y.sum(), [a, b], materialize_grads=True)] == [
        [2, 2], 0]
