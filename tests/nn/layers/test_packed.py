"""Packed sequences in the middle of one compiled function, their lengths known or computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.ir.node import toposort
from agnesi.core.support.errors import TraceError
from agnesi.nn.utils import rnn

X = np.random.default_rng(5).normal(size=(3, 5, 3)).astype("float32")


def step(layer: nn.RNNBase, x: Any, lengths: Any, fall: bool, total: int | None) -> list[Any]:
    """Outputs, lengths, a loss, gradients."""
    packed = rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=fall)
    outputs, last = layer(packed)
    padded, counts = rnn.pad_packed_sequence(outputs, True, 0.5, total_length=total)
    last = last[0] if isinstance(last, tuple) else last
    layer.zero_grad()
    loss = (padded**2).sum() + (last**3).sum()
    loss.backward()
    return [padded, counts, loss, packed.data, packed.batch_sizes,
            *(p.grad for p in layer.parameters())]


@pytest.mark.native_plans
@pytest.mark.share(60)
@pytest.mark.parametrize("total", [None, 6])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("fall", [False, True])
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_packing_recurrence_and_padding_compile(kind: Any, fall: bool, known: bool,
                                                total: int | None) -> None:
    layer = kind(3, 4, bidirectional=True, batch_first=True)
    call = ag.jit(lambda x, lengths: step(layer, x, lengths, fall, total))
    for given in ([5, 4, 3], [4, 2, 1], [3, 3, 1]):
        given = given if fall else given[1:] + given[:1]
        lengths = tuple(given) if known else ag.tensor(given)
        wanted = step(layer, ag.tensor(X), lengths, fall, total)
        for one, two in zip(call(ag.tensor(X), lengths), wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), two.numpy(), atol=1e-5)
    # of computed lengths a first one, then one for all
    assert len(call.specialisations) <= (3 if known else 2)


def test_packed_sequences_go_in_and_out_of_compiled_functions() -> None:
    layer = nn.GRU(3, 4)
    packed = rnn.pack_padded_sequence(ag.tensor(X), [2, 3, 1, 3, 2], enforce_sorted=False)
    wanted, last = layer(packed)
    found, state = ag.jit(layer)(packed)
    assert isinstance(found, rnn.PackedSequence)
    for one, two in ((found.data, wanted.data), (state, last)):
        np.testing.assert_allclose(one.numpy(), two.numpy(), atol=1e-6)


def test_what_is_written_to_packed_data_counts() -> None:
    def doubled(x: Any, lengths: Any) -> Any:
        packed = rnn.pack_padded_sequence(x, lengths, True)
        packed.data.mul_(2.0)
        other = packed._replace(data=packed.data + 1)
        return rnn.pad_packed_sequence(packed)[0], rnn.pad_packed_sequence(other)[0]

    given = ag.tensor(X), ag.tensor([4, 2, 1])
    for one, two in zip(ag.jit(doubled)(*given), doubled(*given), strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_lengths_are_checked_in_compiled_code() -> None:
    @ag.jit
    def packed(x: Any, lengths: Any) -> Any:
        return rnn.pack_padded_sequence(x, lengths, True).data

    with pytest.raises(ValueError, match="do not fall"):
        packed(ag.tensor(X), ag.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match="between 1 and 5"):
        packed(ag.tensor(X), ag.tensor([9, 2, 1]))
    with pytest.raises(TraceError, match="keep them padded"):
        ag.jit(lambda x, n: rnn.unpack_sequence(rnn.pack_padded_sequence(x, n, True)))(
            ag.tensor(X), ag.tensor([3, 2, 1]))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("batch_first", [False, True])
def test_packed_layers_become_one_operation(kind: Any, batch_first: bool) -> None:
    layer = kind(3, 4, num_layers=2, bidirectional=True, batch_first=batch_first)
    x = ag.tensor(np.random.default_rng(0).normal(size=(5, 5, 3)), ag.float32)
    slopes = []
    for lengths in ([5, 4, 2, 2, 1], [2, 5, 1, 4, 2]) * 30:
        x.requires_grad_().grad = None
        packed = rnn.pack_padded_sequence(x, lengths, batch_first, False)
        y, _ = layer(packed)
        y.data.square().sum().backward()
        slopes.append((y.data.numpy(), x.grad.numpy().copy()))
    recorded = [n.op.name for n in toposort([y.data.node]) if n.op is not None]
    assert "region" in recorded and len(recorded) < 20
    for k in (0, 1):
        for first, then in zip(slopes[k], slopes[-2 + k], strict=True):
            np.testing.assert_allclose(then, first, 1e-5, 1e-6)
