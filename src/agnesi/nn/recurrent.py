"""Recurrent layers: simple ones, LSTM and GRU; cells for one step, layers for whole sequences.

A layer multiplies all steps by the input's weights at once; what is left in the loop over time is
one product for all gates, and what follows element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from agnesi.api.loops import scan
from agnesi.core.errors import ShapeError, at
from agnesi.core.op import typed
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.functional import dropout
from agnesi.nn.module import Module
from agnesi.ops.arith import add
from agnesi.ops.convert import as_tensor
from agnesi.ops.creation import empty, zeros
from agnesi.ops.explog import sigmoid
from agnesi.ops.gates import lstm_gates
from agnesi.ops.hyperbolic import tanh
from agnesi.ops.join import concat, split, stack
from agnesi.ops.linear import linear
from agnesi.ops.movement import expand_dims, squeeze, swapaxes
from agnesi.ops.select import relu

State = tuple[Tensor, ...]


class _Kind:
    """What a step does with its gates.

    ``gates`` tells how many blocks of rows the weights have, ``states`` how many values a step
    hands to the next; the first of them is the output.
    """

    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def bias_inside(self) -> bool:
        """Whether the bias of the state's weights belongs inside of the loop."""
        return False

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        """The next state from the input's and the state's share in the gates."""
        raise NotImplementedError


class _Simple(_Kind):
    def __init__(self, nonlinearity: str) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                at(f"nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
            )
        self.function: Callable[..., Tensor] = tanh if nonlinearity == "tanh" else relu

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        return (self.function(add(x, h)),)


class _LSTM(_Kind):
    gates = 4
    states = 2

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        i, f, g, o = split(add(x, h), 4, -1)
        return lstm_gates(state[1], g, i, f, o)


class _GRU(_Kind):
    gates = 3

    def bias_inside(self) -> bool:
        return True

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        x_reset, x_update, x_new = split(x, 3, -1)
        h_reset, h_update, h_new = split(h, 3, -1)
        update: Any = sigmoid(add(x_update, h_update))
        new = tanh(x_new + sigmoid(add(x_reset, h_reset)) * h_new)
        return (new + update * (state[0] - new),)


def _uniform(shape: tuple[int, ...], hidden: int, dtype: Any) -> Tensor:
    weight = empty(shape, dtype=dtype)
    weight.requires_grad = True
    bound = 1 / math.sqrt(hidden) if hidden else 0.0
    return init.uniform_(weight, -bound, bound)


def _add_weights(module: Module, kind: _Kind, inputs: int, hidden: int, suffix: str,
                 bias: bool, dtype: Any) -> None:
    """Give a module the weights and biases of one layer in one direction."""
    rows = kind.gates * hidden
    shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, hidden)}
    if bias:
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
    for name, shape in shapes.items():
        setattr(module, name + suffix, _uniform(shape, hidden, dtype))


def _shares(module: Module, kind: _Kind, x: Tensor, suffix: str) -> tuple[Tensor, Any]:
    """The input's share in the gates, and a function for the state's share."""
    weight_hh = getattr(module, "weight_hh" + suffix)
    ours = theirs = None
    if module.bias:  # type: ignore[attr-defined]
        ours, theirs = getattr(module, "bias_ih" + suffix), getattr(module, "bias_hh" + suffix)
        if not kind.bias_inside():
            ours, theirs = ours + theirs, None
    given = linear(x, getattr(module, "weight_ih" + suffix), ours)
    return given, lambda h: linear(h, weight_hh, theirs)


def _as_state(value: Any, module: Module, kind: _Kind) -> State:
    """A state as a tuple, whether it is one tensor or several."""
    if kind.states == 1:
        return (as_tensor(value),)
    if not isinstance(value, (tuple, list)) or len(value) != kind.states:
        raise ValueError(at(
            f"{type(module).__name__}: the state must be (hidden, cell), two tensors, not "
            f"{typed(value)}"
        ))
    return tuple(map(as_tensor, value))


def _given(state: State) -> Any:
    return state[0] if len(state) == 1 else state


# -- cells --------------------------------------------------------------------------------------
class _Cell(Module):
    """One step of a recurrent network."""

    def __init__(self, kind: _Kind, input_size: int, hidden_size: int, bias: bool,
                 dtype: Any) -> None:
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._kind = kind
        _add_weights(self, kind, input_size, hidden_size, "", bias, dtype)

    def forward(self, x: Tensor, state: Any = None) -> Any:
        x = as_tensor(x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(at(
                f"{type(self).__name__}: the input must be (batch, {self.input_size}) or "
                f"({self.input_size},), not {typed(x)}"
            ))
        single = x.ndim == 1
        x = expand_dims(x, 0) if single else x
        if state is None:
            nothing = zeros((x.shape[0], self.hidden_size), dtype=x.dtype)
            before: State = (nothing,) * self._kind.states
        else:
            before = _as_state(state, self, self._kind)
            for s in before:
                if s.ndim != 2 - single or s.shape[-1] != self.hidden_size:
                    raise ShapeError(at(
                        f"{type(self).__name__}: the state of {typed(x)} must be "
                        f"{(*x.shape[:-1], self.hidden_size)[single:]}, not {typed(s)}"
                    ))
            before = tuple(expand_dims(s, 0) for s in before) if single else before
        given, own = _shares(self, self._kind, x, "")
        after = self._kind.step(given, own(before[0]), before)
        return _given(tuple(squeeze(s, 0) for s in after) if single else after)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ", bias=False" * (not self.bias)


class RNNCell(_Cell):
    """One step of a simple recurrent layer: ``tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of the input and of the state.
    bias : bool
        Whether to add biases.
    nonlinearity : {"tanh", "relu"}
        What follows the sum.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight_ih, weight_hh : Tensor
        Of shapes (hidden_size, input_size) and (hidden_size, hidden_size).
    bias_ih, bias_hh : Tensor
        Of shape (hidden_size,).

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.RNNCell(3, 4)(ag.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True,
                 nonlinearity: str = "tanh", *, dtype: Any = None) -> None:
        super().__init__(_Simple(nonlinearity), input_size, hidden_size, bias, dtype)


class LSTMCell(_Cell):
    """One step of an LSTM: from (h, c) to the next (h, c).

    ``i, f, g, o`` are the blocks of ``W_ih x + b_ih + W_hh h + b_hh`` in this order, and then
    ``c = sigmoid(f) c + sigmoid(i) tanh(g)``, ``h = sigmoid(o) tanh(c)``.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of the input and of both parts of the state.
    bias : bool
        Whether to add biases.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight_ih, weight_hh : Tensor
        Of shapes (4 hidden_size, input_size) and (4 hidden_size, hidden_size).
    bias_ih, bias_hh : Tensor
        Of shape (4 hidden_size,).

    Examples
    --------
    >>> import agnesi as ag
    >>> h, c = ag.nn.LSTMCell(3, 4)(ag.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, *,
                 dtype: Any = None) -> None:
        super().__init__(_LSTM(), input_size, hidden_size, bias, dtype)


class GRUCell(_Cell):
    """One step of a gated recurrent unit.

    ``r, z, n`` are the blocks of the weights in this order: ``r = sigmoid(x_r + h_r)``,
    ``z = sigmoid(x_z + h_z)``, ``n = tanh(x_n + r h_n)``, and the next state is
    ``(1 - z) n + z h``, where ``x_* = W_ih x + b_ih`` and ``h_* = W_hh h + b_hh``.

    Parameters
    ----------
    input_size, hidden_size, bias, dtype
        As for :class:`LSTMCell`; the weights have 3 blocks.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.GRUCell(3, 4)(ag.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, *,
                 dtype: Any = None) -> None:
        super().__init__(_GRU(), input_size, hidden_size, bias, dtype)


# -- layers -------------------------------------------------------------------------------------
class _Layers(Module):
    """Recurrent layers over whole sequences."""

    def __init__(self, kind: _Kind, input_size: int, hidden_size: int, num_layers: int,
                 bias: bool, batch_first: bool, dropout: float, bidirectional: bool,
                 dtype: Any) -> None:
        if num_layers < 1:
            raise ValueError(at(f"num_layers must be at least 1, not {num_layers}"))
        if not 0 <= dropout <= 1:
            raise ValueError(at(f"dropout is a share between 0 and 1, not {dropout}"))
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional = bidirectional
        self._kind = kind
        for layer in range(num_layers):
            inputs = hidden_size * (1 + bidirectional) if layer else input_size
            for suffix in self._suffixes(layer):
                _add_weights(self, kind, inputs, hidden_size, suffix, bias, dtype)

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse")[: 1 + self.bidirectional]

    def forward(self, x: Tensor, state: Any = None) -> Any:
        x = as_tensor(x)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise ShapeError(at(
                f"{type(self).__name__}: the input must be (length, batch, {self.input_size}), "
                f"with batch_first (batch, length, {self.input_size}), or one sequence (length, "
                f"{self.input_size}), not {typed(x)}"
            ))
        single = x.ndim == 2
        x = expand_dims(x, 1) if single else swapaxes(x, 0, 1) if self.batch_first else x
        before = self._first(x, state, single)
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer:
                x = dropout(x, self.dropout, self.training)
            x = self._layer(x, layer, before, last)
        after = tuple(stack(parts, 0) for parts in zip(*last, strict=True))
        if single:
            return squeeze(x, 1), _given(tuple(squeeze(s, 1) for s in after))
        return swapaxes(x, 0, 1) if self.batch_first else x, _given(after)

    def _first(self, x: Tensor, state: Any, single: bool) -> State:
        """The first states of all layers, of shape (layers * directions, batch, hidden)."""
        count = self.num_layers * (1 + self.bidirectional)
        shape = (count, x.shape[1], self.hidden_size)
        if state is None:
            return (zeros(shape, dtype=x.dtype),) * self._kind.states
        found = _as_state(state, self, self._kind)
        found = tuple(expand_dims(s, 1) for s in found) if single else found
        for s in found:
            if s.ndim != 3 or (s.shape[0], s.shape[2]) != (shape[0], shape[2]):
                raise ShapeError(at(
                    f"{type(self).__name__}: a first state must be {shape}, not {typed(s)}"
                ))
        return found

    def _layer(self, x: Tensor, layer: int, before: State, last: list[State]) -> Tensor:
        """The outputs of one layer, both directions side by side; notes the last states."""
        found = []
        for suffix in self._suffixes(layer):
            given, own = _shares(self, self._kind, x, suffix)
            start = tuple(s[len(last)] for s in before)

            def step(state: State, x: Tensor, own: Any = own) -> tuple[State, Tensor]:
                after = self._kind.step(x, own(state[0]), state)
                return after, after[0]

            end, outputs = scan(step, start, given, reverse=suffix.endswith("reverse"))
            last.append(end)
            found.append(outputs)
        return found[0] if len(found) == 1 else concat(found, -1)

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
                 "bidirectional": False}
        return f"{self.input_size}, {self.hidden_size}" + "".join(
            f", {n}={getattr(self, n)}" for n, v in usual.items() if getattr(self, n) != v
        )


class RNN(_Layers):
    """Simple recurrent layers over sequences; a step is that of :class:`RNNCell`.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
        Sizes of the inputs and of the states; how many layers.
    nonlinearity : {"tanh", "relu"}
        What follows the sum in a step.
    bias : bool
        Whether to add biases.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    dropout : float
        Share of each layer's outputs but the last one's that become zero in training.
    bidirectional : bool
        Whether there are weights for the other direction too; outputs lie side by side then.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 : Tensor
        Weights and biases of the first layer, with the cell's shapes; of the second one
        ``..._l1``; of the other direction ``..._l0_reverse``.

    Examples
    --------
    >>> import agnesi as ag
    >>> outputs, last = ag.nn.RNN(3, 4)(ag.ones((5, 2, 3)))
    >>> outputs.shape, last.shape
    ((5, 2, 4), (1, 2, 4))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1,
                 nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, *, dtype: Any = None) -> None:
        super().__init__(_Simple(nonlinearity), input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, dtype)


class LSTM(_Layers):
    """LSTM layers over sequences; a step is that of :class:`LSTMCell`.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype
        As for :class:`RNN`.

    Examples
    --------
    >>> import agnesi as ag
    >>> outputs, (h, c) = ag.nn.LSTM(3, 4, num_layers=2)(ag.ones((5, 2, 3)))
    >>> outputs.shape, h.shape, c.shape
    ((5, 2, 4), (2, 2, 4), (2, 2, 4))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *,
                 dtype: Any = None) -> None:
        super().__init__(_LSTM(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, dtype)


class GRU(_Layers):
    """Gated recurrent units over sequences; a step is that of :class:`GRUCell`.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype
        As for :class:`RNN`.

    Examples
    --------
    >>> import agnesi as ag
    >>> outputs, last = ag.nn.GRU(3, 4, bidirectional=True)(ag.ones((5, 2, 3)))
    >>> outputs.shape, last.shape
    ((5, 2, 8), (2, 2, 4))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *,
                 dtype: Any = None) -> None:
        super().__init__(_GRU(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, dtype)
