"""Cells: one step of a simple recurrent layer, of an LSTM, of a gated recurrent unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from agnesi.core.calls.autocasting import in_float32
from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.shapes import fits
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.renewed import Renewed
from agnesi.ops.base.arith import add
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import empty, zeros
from agnesi.ops.base.movement import expand_dims, squeeze
from agnesi.ops.base.select import relu
from agnesi.ops.contractions.linear import linear
from agnesi.ops.elementwise.explog import sigmoid
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.indexing.join import split
from agnesi.ops.neural.gates import lstm_gates

State = tuple[Tensor, ...]

#: Layers of one stack, at most.
_MOST_LAYERS = 1 << 16


def layer_count(stack: Module, value: Any, least: int = 1) -> int:
    """The number of layers of a stack, refused where memory would end before it is made."""
    number = size_of(stack, value, "num_layers", least)
    if number > _MOST_LAYERS:
        raise ValueError(at(f"{type(stack).__name__}: num_layers must be at most {_MOST_LAYERS}, "
                            f"not {number}"))
    return number


class Kind:
    """How a recurrent step combines its gates.

    ``gates`` is the number of blocks of rows of the weights, ``states`` how many values a step
    hands to the next; the first of them is the output.
    """

    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def bias_inside(self) -> bool:
        """Return whether the bias of the state's weights belongs inside of the loop."""
        return False

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        """The next state from the input's and the state's share in the gates."""
        raise NotImplementedError


class Simple(Kind):
    """One sum and a function of it."""

    def __init__(self, nonlinearity: str) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(at(f"nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}"))
        self.function: Callable[..., Tensor] = tanh if nonlinearity == "tanh" else relu

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        return (self.function(add(x, h)),)


class LongShort(Kind):
    """An LSTM: output and cell."""

    gates = 4
    states = 2

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        i, f, g, o = split(add(x, h), 4, -1)
        return lstm_gates(state[1], g, i, f, o)


class Gated(Kind):
    """A gated recurrent unit."""

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
    weight._requires_grad = True
    bound = 1 / math.sqrt(hidden) if hidden else 0.0
    return init.uniform_(weight, -bound, bound)


def recurrent_sizes(module: Module, inputs: Any, hidden: Any) -> tuple[int, int]:
    """The sizes of the input and of the state."""
    return size_of(module, inputs, "input_size"), size_of(module, hidden, "hidden_size")


def add_weights(module: Module, gates: int, inputs: int, hidden: int, suffix: str, bias: bool,
                dtype: Any, projected: int = 0) -> None:
    """Give a module the weights and biases of one layer in one direction."""
    rows = gates * hidden
    shapes: dict[str, tuple[int, ...]] = {
        "weight_ih": (rows, inputs), "weight_hh": (rows, projected or hidden),
    }
    if bias:
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
    if projected:
        shapes["weight_hr"] = (projected, hidden)
    for name, shape in shapes.items():
        setattr(module, name + suffix, _uniform(shape, hidden, dtype))


def shares(module: Module, kind: Kind, x: Tensor, suffix: str) -> tuple[Tensor, Any]:
    """The input's share in the gates, and a function for the state's share."""
    if x.dtype.kind not in "fcV":
        raise DTypeError(at(f"{type(module).__name__}: the input must be floats, not {typed(x)}; "
                            "convert it with .astype('float32'), labels with nn.Embedding"))
    weight_hh = getattr(module, "weight_hh" + suffix)
    ours = theirs = None
    if module.bias:  # type: ignore[attr-defined]
        ours, theirs = getattr(module, "bias_ih" + suffix), getattr(module, "bias_hh" + suffix)
        if not kind.bias_inside():
            ours, theirs = ours + theirs, None
    given = linear(x, getattr(module, "weight_ih" + suffix), ours)
    return given, lambda h: linear(h, weight_hh, theirs)


def as_state(value: Any, module: Module, kind: Kind) -> State:
    """A state as a tuple, whether it is one tensor or several."""
    if kind.states == 1:
        return (as_tensor(value),)
    if not isinstance(value, (tuple, list)) or len(value) != kind.states:
        raise ValueError(at(
            f"{type(module).__name__}: the state must be (hidden, cell), two tensors, not "
            f"{typed(value)}"
        ))
    return tuple(map(as_tensor, value))


def given_as(state: State) -> Any:
    """A state as users see it: the only tensor, or the tuple."""
    return state[0] if len(state) == 1 else state


class RNNCellBase(Renewed, Module):
    """Weights of one step of a recurrent network: base of cells, whose ``forward`` uses them.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of the input and of the state.
    bias : bool
        Whether there are biases.
    num_chunks : int
        How many gates there are.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight_ih, weight_hh : Tensor
        Of shapes (num_chunks hidden_size, input_size) and (num_chunks hidden_size, hidden_size).
    bias_ih, bias_hh : Tensor
        Of shape (num_chunks hidden_size,).

    See Also
    --------
    nn.RNNCell, nn.LSTMCell, nn.GRUCell

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.RNNCellBase(3, 4, True, 2).weight_ih.shape
    (8, 3)
    """

    _rules = rules(
        "bias nonlinearity", input_size=sizes_of("weight_ih", 1),
        hidden_size=sizes_of("weight_hh", 1))

    def __init__(self, input_size: Count, hidden_size: Count, bias: bool, num_chunks: Count, *,
                 dtype: DTypeLike = None) -> None:
        self.input_size, self.hidden_size = recurrent_sizes(self, input_size, hidden_size)
        self.bias = bias
        add_weights(self, num_chunks, self.input_size, self.hidden_size, "", bias, dtype)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ", bias=False" * (not self.bias)


class _Cell(RNNCellBase):
    """One step of a recurrent network."""

    def __init__(self, kind: Kind, input_size: Count, hidden_size: Count, bias: bool,
                 dtype: Any) -> None:
        super().__init__(input_size, hidden_size, bias, kind.gates, dtype=dtype)
        self._kind = kind

    @in_float32
    def forward(self, x: Tensor, state: Any = None) -> Any:
        x = as_tensor(x)
        if x.ndim not in (1, 2) or not fits(x.shape[-1:], (self.input_size,)):
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
            before = as_state(state, self, self._kind)
            for s in before:
                wanted = (*x.shape[:-1], self.hidden_size)[single:]
                if len(s.shape) != len(wanted) or not fits(s.shape, wanted):
                    raise ShapeError(at(
                        f"{type(self).__name__}: the state of {typed(x)} must be "
                        f"{wanted}, not {typed(s)}"
                    ))
            before = tuple(expand_dims(s, 0) for s in before) if single else before
        given, own = shares(self, self._kind, x, "")
        after = self._kind.step(given, own(before[0]), before)
        return given_as(tuple(squeeze(s, 0) for s in after) if single else after)


class RNNCell(_Cell):
    """One step of a simple recurrent layer: ``tanh(W_ih x + b_ih + W_hh h + b_hh)`` (Elman, 1990).

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

    Raises
    ------
    ValueError
        If there is no such nonlinearity.

    See Also
    --------
    nn.RNN, nn.LSTMCell, nn.GRUCell

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.RNNCell(3, 4)(ag.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, input_size: Count, hidden_size: Count, bias: bool = True,
                 nonlinearity: Literal["tanh", "relu"] = "tanh", *, dtype: DTypeLike = None
                 ) -> None:
        super().__init__(Simple(nonlinearity), input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(_Cell):
    """One step of an LSTM: from (h, c) to the next (h, c) (Hochreiter and Schmidhuber, 1997).

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

    See Also
    --------
    nn.LSTM, nn.GRUCell, nn.RNNCell, nn.functional.lstm

    Examples
    --------
    >>> import agnesi as ag
    >>> h, c = ag.nn.LSTMCell(3, 4)(ag.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    def __init__(self, input_size: Count, hidden_size: Count, bias: bool = True, *,
                 dtype: DTypeLike = None) -> None:
        super().__init__(LongShort(), input_size, hidden_size, bias, dtype)


class GRUCell(_Cell):
    """One step of a gated recurrent unit (Cho et al., 2014).

    ``r, z, n`` are the blocks of the weights in this order: ``r = sigmoid(x_r + h_r)``,
    ``z = sigmoid(x_z + h_z)``, ``n = tanh(x_n + r h_n)``, and the next state is
    ``(1 - z) n + z h``, where ``x_* = W_ih x + b_ih`` and ``h_* = W_hh h + b_hh``.

    :param input_size, hidden_size: Sizes of the input and of the state.
    :param bias: Whether to add biases.
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.GRU, nn.LSTMCell, nn.RNNCell

    >>> ag.nn.GRUCell(3, 4)(ag.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, input_size: Count, hidden_size: Count, bias: bool = True, *,
                 dtype: DTypeLike = None) -> None:
        super().__init__(Gated(), input_size, hidden_size, bias, dtype)
